//! Blocks of content, and truncation. Source: Linux 6.1, `fs/ubifs/journal.c`
//! (`ubifs_jnl_write_data`, `ubifs_jnl_truncate`, `truncate_data_node`).

use super::{NodeGroup, Written};
use crate::compress::{Packed, number};
use crate::error::Problem;
use crate::format::BLOCK_SIZE;
use crate::format::data::Data;
use crate::format::inode::flag;
use crate::format::journal::Truncation;
use crate::format::key::Key;
use crate::format::usize_of;
use crate::inode::SIZE_MAX;
use crate::tnc::Located;
use crate::wbuf::{BASE_HEAD, DATA_HEAD};
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Work;

const BLOCK: u64 = BLOCK_SIZE as u64;

/// The number of the block at an offset; the index has 29 bits for it.
fn block_of(offset: u64) -> u32 {
    u32::try_from(offset / BLOCK).expect("a file has at most 2^29 blocks")
}

impl<L: Lebs> Volume<L> {
    /// Writes one block, compressed if that helps (`ubifs_jnl_write_data`).
    pub(crate) fn jnl_write_data(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        block: u32,
        content: &[u8],
    ) -> Result<(), Error> {
        let inode = self.inode(ino);
        let compressed = inode.flags & flag::COMPR != 0;
        let compr_type = if compressed { inode.compr_type } else { number::NONE };
        let packed = self.compressors.compress(&mut self.host, clock, compr_type, content);
        let key = Key::data(ino, block);
        let mut node = data_node(key, content.len(), &packed);
        let length = u32::try_from(node.len()).expect("a block is small");
        self.make_reservation(clock, DATA_HEAD, length)?;
        self.host.spend(clock, Work::Node, 0);
        self.prepare_node(clock, &mut node, false);
        let written = self.write_head(clock, DATA_HEAD, &node, false);
        let added = written.and_then(|(leb, offs)| {
            self.wbuf_add_inode(DATA_HEAD, ino);
            let written = Written { leb, places: vec![(offs, length)] };
            self.tnc_add(clock, written.branch(0, key))
        });
        self.fail_on_error(added)
    }

    /// Writes a truncation: the inode, the truncation, and the block in which the file then ends, if
    /// that is not a hole (`ubifs_jnl_truncate`).
    pub(crate) fn jnl_truncate(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        old_size: u64,
        new_size: u64,
    ) -> Result<(), Error> {
        let truncation = Truncation { inum: ino, old_size, new_size };
        let last = self.truncated_block(clock, ino, new_size)?;
        let mut group = NodeGroup::of([self.pack_inode(ino), truncation.emit()]);
        group.nodes.extend(last);
        self.make_reservation(clock, BASE_HEAD, group.length())?;
        self.prepare_group(clock, &mut group);
        let written = self.write_truncation(clock, truncation, &group);
        self.fail_on_error(written)?;
        self.mark_size_synced(ino);
        self.mark_inode_clean(ino);
        Ok(())
    }

    fn write_truncation(
        &mut self,
        clock: &mut Clock,
        truncation: Truncation,
        group: &NodeGroup,
    ) -> Result<(), Error> {
        let Truncation { inum: ino, old_size, new_size } = truncation;
        let sync = self.inode(ino).is_sync();
        let written = self.write_group(clock, group, sync, &[ino])?;
        if group.nodes.len() > 2 {
            let key = Key::data(ino, block_of(new_size));
            self.tnc_add(clock, written.branch(2, key))?;
        }
        self.tnc_add(clock, written.branch(0, Key::inode(ino)))?;
        self.add_dirt(clock, written.leb, written.length(1))?;
        let (first, last) = (new_size.next_multiple_of(BLOCK), old_size - 1);
        if first >= SIZE_MAX {
            // There are no blocks behind, and no key for them.
            return Ok(());
        }
        let (first, last) = (block_of(first), block_of(last));
        self.tnc_remove_range(clock, Key::data(ino, first), Key::data(ino, last))
    }

    /// The node of the block in which a file ends after a truncation; `None` for a hole, or a block
    /// that ends before.
    fn truncated_block(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        new_size: u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        let kept = usize::try_from(new_size % BLOCK).expect("less than a block");
        if kept == 0 {
            return Ok(None);
        }
        let key = Key::data(ino, block_of(new_size));
        let Some(Located { node, leb, offs }) = self.tnc_locate(clock, key)? else {
            return Ok(None);
        };
        let data = Data::parse(&node).map_err(|cause| Error::Node { leb, offs, cause })?;
        let bad = Error::at(leb, offs, Problem::Compressed(data.compr_type));
        let size = usize_of(data.size);
        if size == 0 || size > BLOCK_SIZE {
            return Err(bad);
        }
        if size <= kept {
            return Ok(None);
        }
        let packed = if data.compr_type == number::NONE {
            let bytes = data.data.get(..kept).ok_or(bad)?.to_vec();
            Packed { compr_type: number::NONE, bytes }
        } else {
            let mut whole = vec![0; size];
            let (codec, host) = (&mut self.compressors, &mut self.host);
            codec.decompress(host, clock, data.compr_type, data.data, &mut whole).ok_or(bad)?;
            codec.compress(host, clock, data.compr_type, &whole[..kept])
        };
        Ok(Some(data_node(key, kept, &packed)))
    }
}

/// The node of a block, without its header.
fn data_node(key: Key, length: usize, packed: &Packed) -> Vec<u8> {
    let size = u32::try_from(length).expect("a block is small");
    let compr_type = packed.compr_type;
    Data { key, size, compr_type, compr_size: 0, data: &packed.bytes }.emit()
}
