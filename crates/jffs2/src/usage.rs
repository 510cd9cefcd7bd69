//! Which settings the nodes on a mounted flash show, for tools that make another filesystem like it.
//!
//! Layer: rank 5. Main type: [`Usage`]; main function: [`Jffs2::usage`]. Nothing on a JFFS2 says how it compresses: only each
//! node how it is compressed. Left out: small nodes, which no compressor makes smaller.

use crate::Jffs2;
use crate::error::Error;
use crate::format::inode::Compressor;
use crate::format::{Header, InodeView, NodeType, header, pad, to_usize};
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Clock;
use boardlab_vfs::Kind;
use std::collections::BTreeMap;

/// The smallest node of data that counts.
const SIZE_MIN: u32 = 512;

/// Which settings the nodes show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Blocks with a summary.
    pub summaries: u32,
    /// Nodes with data of files, by their compressor; holes are none.
    pub compressors: BTreeMap<Compressor, u64>,
}

impl<M: Mtd> Jffs2<M> {
    /// Reads the whole flash for what its nodes show.
    ///
    /// # Errors
    /// [`Error::Flash`], except for bit errors.
    pub fn usage(&mut self, clock: &mut Clock) -> Result<Usage, Error> {
        let mut usage = Usage { summaries: self.findings().summaries, ..Usage::default() };
        let mut bytes = vec![0; to_usize(self.volume.layout.block_size)];
        for block in (0..self.volume.layout.block_count).map(BlockIndex) {
            let start = self.volume.blocks.block_offset(block);
            self.volume.read_flash(clock, start, &mut bytes)?;
            let mut at = 0;
            while bytes.len() - at >= to_usize(header::SIZE) {
                at += self.count(&mut usage, &mut bytes[at..]);
            }
        }
        Ok(usage)
    }

    /// Counts a node that `bytes` begin with. Returns how many bytes that are.
    fn count(&self, usage: &mut Usage, bytes: &mut [u8]) -> usize {
        let order = self.volume.order;
        let Ok(header) = Header::parse(bytes, order) else { return 4 };
        if header.length < header::SIZE || to_usize(header.length) > bytes.len() {
            return 4;
        }
        Header { accurate: true, ..header }.emit(bytes, order);
        let view = (header.node_type == NodeType::Inode).then(|| InodeView::new(bytes, order).ok());
        if let Some(node) = view.flatten().map(|view| view.parse()) {
            let is_file = node.mode & 0o170_000 == Kind::File.mode_bits();
            if is_file && node.dsize >= SIZE_MIN && node.compressor != Compressor::Zero {
                *usage.compressors.entry(node.compressor).or_default() += 1;
            }
        }
        to_usize(pad(header.length)).min(bytes.len())
    }
}
