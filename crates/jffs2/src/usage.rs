//! Which settings the nodes on a mounted flash show, for tools that make another filesystem like it.
//!
//! Layer: rank 5. Main type: [`Usage`]; main function: [`Jffs2::usage`]. Nothing on a JFFS2 says how it compresses: only each
//! node how it is compressed. Left out: small nodes, which no compressor makes smaller.

use crate::Jffs2;
use crate::error::Error;
use crate::format::inode::Compressor;
use crate::format::{InodeView, NodeType};
use boardlab_mtd::Mtd;
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
        self.each_node_on_flash(clock, |fs, _, header, node| {
            let is_inode = header.node_type == NodeType::Inode;
            let view = is_inode.then(|| InodeView::new(node, fs.volume.order).ok()).flatten();
            let Some(node) = view.map(|view| view.parse()) else { return };
            let is_file = node.mode & 0o170_000 == Kind::File.mode_bits();
            if is_file && node.dsize >= SIZE_MIN && node.compressor != Compressor::Zero {
                *usage.compressors.entry(node.compressor).or_default() += 1;
            }
        })?;
        Ok(usage)
    }
}
