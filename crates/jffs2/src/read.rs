//! Reads the content of files.
//!
//! Layer: rank 5. `Volume::read_page` assembles a page from fragments; `Volume::read_dnode` reads a
//! node, verifies its data and decompresses them. A node is read in two steps, the header and then
//! the data, each time that a page shows a part of it. Source: Linux 6.1, `fs/jffs2/read.c`.

use crate::block::NodeId;
use crate::compress::work_to_decompress;
use crate::error::Error;
use crate::format::inode::Compressor;
use crate::format::{Inode, InodeView, Malformed, crc, inode, to_usize};
use crate::fragments::Fragment;
use crate::inode::OpenInode;
use crate::volume::Volume;
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{FileExtent, PAGE_SIZE, Work};
use std::ops::ControlFlow;

/// The limit of a node's decompressed data: the largest page of any kernel. A node that claims more
/// is damaged.
pub(crate) const DATA_MAX: u32 = 65_536;

impl<M: Mtd> Volume<M> {
    /// Reads page number `page` of a file into `buffer`, a page long. Holes and bytes beyond the
    /// end read as zeros.
    ///
    /// # Errors
    /// [`Error::Flash`], [`Error::Node`], [`Error::Compressed`].
    pub(crate) fn read_page(
        &mut self,
        clock: &mut Clock,
        file: &OpenInode,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let start = page.checked_mul(u64_of(PAGE_SIZE)).and_then(|start| u32::try_from(start).ok());
        let Some(start) = start else {
            buffer.fill(0);
            return Ok(());
        };
        self.read_range(clock, file, start, buffer)
    }

    /// Reads the bytes of a file from `start` on (`jffs2_read_inode_range`).
    pub(crate) fn read_range(
        &mut self,
        clock: &mut Clock,
        file: &OpenInode,
        start: u32,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let mut offset = u64::from(start);
        let mut rest = buffer;
        while !rest.is_empty() {
            let end = offset + u64_of(rest.len());
            // Fragments are contiguous, so there is nothing after the last one.
            let here = u32::try_from(offset).ok().and_then(|offset| file.fragments.at(offset));
            let here = here.filter(|piece| offset < piece.end());
            let until = here.map_or(end, |piece| piece.end().min(end));
            let (piece, behind) = rest.split_at_mut(Bytes::new(until - offset).to_usize());
            match here.and_then(|fragment| fragment.dnode) {
                Some(dnode) => {
                    let dnode = *file.fragments.dnode(dnode);
                    let within = offset - u64::from(dnode.offset);
                    let within = u32::try_from(within).expect("within a node of 32 bits");
                    self.read_dnode(clock, dnode.node, within, piece)?;
                }
                None => piece.fill(0),
            }
            rest = behind;
            offset = until;
        }
        Ok(())
    }

    /// Passes the content of a file node by node. Each node is read and decompressed once, however
    /// many of its fragments are visible.
    pub(crate) fn read_extents(
        &mut self,
        clock: &mut Clock,
        file: &OpenInode,
        take: &mut dyn FnMut(FileExtent<'_>) -> ControlFlow<()>,
    ) {
        let held = |piece: Fragment| Some((piece.dnode?, piece));
        let mut pieces: Vec<_> = file.fragments.iter().filter_map(held).collect();
        // By the first fragment of each node, so that a file is written forwards where possible.
        pieces.sort_by_key(|(dnode, piece)| {
            (file.fragments.dnode(*dnode).offset, *dnode, piece.offset)
        });
        for same in pieces.chunk_by(|one, other| one.0 == other.0) {
            let dnode = *file.fragments.dnode(same[0].0);
            let whole = self.read_whole(clock, dnode.node);
            let Some(bytes) = whole.as_ref().map_or(Some(&[][..]), |found| found.as_deref()) else {
                continue;
            };
            for (_, piece) in same {
                let from = to_usize(piece.offset - dnode.offset);
                let bytes = match &whole {
                    Ok(_) => bytes.get(from..from + to_usize(piece.size)).ok_or_else(|| {
                        let (at, found) = (self.blocks.flash_offset(dnode.node), piece.size);
                        Error::Node { at, cause: Malformed::Value { field: "dsize", found } }
                    }),
                    Err(error) => Err(error.clone()),
                };
                let (offset, length) = (u64::from(piece.offset), u64::from(piece.size));
                let bytes = bytes.map_err(Into::into);
                if take(FileExtent { offset, length, bytes }).is_break() {
                    return;
                }
            }
        }
    }

    /// The data of a node; `None` for a hole, whose zeros are not stored.
    fn read_whole(&mut self, clock: &mut Clock, id: NodeId) -> Result<Option<Vec<u8>>, Error> {
        let (at, node) = self.read_dnode_header(clock, id)?;
        if node.compressor == Compressor::Zero {
            return Ok(None);
        }
        let most = DATA_MAX.max(node.csize);
        if node.dsize > most {
            let cause = Malformed::Value { field: "dsize", found: node.dsize };
            return Err(Error::Node { at, cause });
        }
        let mut whole = vec![0; to_usize(node.dsize)];
        self.read_dnode(clock, id, 0, &mut whole)?;
        Ok(Some(whole))
    }

    /// Reads the header of a node with data.
    fn read_dnode_header(
        &mut self,
        clock: &mut Clock,
        id: NodeId,
    ) -> Result<(Bytes, Inode), Error> {
        let at = self.blocks.flash_offset(id);
        let damaged = |cause| Error::Node { at, cause };
        let mut header = [0; 68];
        self.read_flash(clock, at, &mut header)?;
        self.host.spend(clock, Work::Crc, 60);
        self.host.spend(clock, Work::Node, 0);
        let view = InodeView::new(&header, self.order).map_err(damaged)?;
        let node = view.parse();
        if u64::from(node.csize) + u64::from(inode::SIZE) > u64::from(self.blocks.length(id)) {
            let (total, needed) = (self.blocks.length(id), u64::from(node.csize));
            return Err(damaged(Malformed::Length { total, needed }));
        }
        Ok((at, node))
    }

    /// Reads the data of a node from `offset` on, verified and decompressed (`jffs2_read_dnode`).
    pub(crate) fn read_dnode(
        &mut self,
        clock: &mut Clock,
        id: NodeId,
        offset: u32,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let (at, node) = self.read_dnode_header(clock, id)?;
        let damaged = |cause| Error::Node { at, cause };
        let data = at + Bytes::new(u64::from(inode::SIZE));
        if node.compressor == Compressor::Zero {
            buffer.fill(0);
            return Ok(());
        }
        let from = to_usize(offset);
        let inside = from.checked_add(buffer.len()).is_some_and(|end| end <= to_usize(node.dsize));
        if !inside {
            return Err(damaged(Malformed::Value { field: "dsize", found: node.dsize }));
        }
        if node.compressor == Compressor::None && node.csize == node.dsize && from == 0 {
            // The common case needs no intermediate buffer, if all of the data are wanted.
            if buffer.len() == to_usize(node.csize) {
                self.read_flash(clock, data, buffer)?;
                return self.check_data(clock, &node, buffer).map_err(damaged);
            }
        }
        let mut stored = vec![0; to_usize(node.csize)];
        self.read_flash(clock, data, &mut stored)?;
        self.check_data(clock, &node, &stored).map_err(damaged)?;
        self.unpack(clock, &node, &stored, from, buffer)
            .ok_or(Error::Compressed { at, compressor: node.compressor.number() })
    }

    fn check_data(
        &mut self,
        clock: &mut Clock,
        node: &Inode,
        stored: &[u8],
    ) -> Result<(), Malformed> {
        self.host.spend(clock, Work::Crc, stored.len());
        let (expected, found) = (node.data_crc, crc(0, stored));
        if expected == found { Ok(()) } else { Err(Malformed::DataCrc { expected, found }) }
    }

    /// Decompresses `stored` and copies the wanted part, from `from` on.
    fn unpack(
        &mut self,
        clock: &mut Clock,
        node: &Inode,
        stored: &[u8],
        from: usize,
        buffer: &mut [u8],
    ) -> Option<()> {
        let size = to_usize(node.dsize);
        if node.dsize > DATA_MAX && node.compressor != Compressor::None {
            return None;
        }
        if from == 0 && buffer.len() == size {
            return self.decompress(clock, node.compressor, stored, buffer);
        }
        let mut whole = vec![0; size.min(stored.len().max(to_usize(DATA_MAX)))];
        self.decompress(clock, node.compressor, stored, &mut whole)?;
        buffer.copy_from_slice(whole.get(from..from + buffer.len())?);
        self.host.spend(clock, Work::Copy, buffer.len());
        Some(())
    }

    /// Decompresses to exactly the length of `output`.
    fn decompress(
        &mut self,
        clock: &mut Clock,
        compressor: Compressor,
        stored: &[u8],
        output: &mut [u8],
    ) -> Option<()> {
        if let Some(work) = work_to_decompress(compressor) {
            self.host.spend(clock, work, output.len());
        }
        self.compressors.decompress(compressor, stored, output).then_some(())
    }
}

fn u64_of(length: usize) -> u64 {
    u64::try_from(length).expect("u64 holds usize")
}
