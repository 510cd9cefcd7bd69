//! The summary of a block while it is being filled.
//!
//! Layer: rank 5. Main type: [`SummaryBuilder`], which collects the summary entries of the nodes
//! that are written to a block, or that a scan finds in it. Source: Linux 6.1,
//! `fs/jffs2/summary.c`, `struct jffs2_summary`.

use crate::format::summary::{self, Entry, Frame};
use crate::format::{ByteOrder, pad, to_usize};
use std::ops::Range;

/// The entries of a summary that is not written yet.
#[derive(Debug, Clone, Default)]
pub struct SummaryBuilder {
    entries: Vec<PendingEntry>,
    /// The names of the directory entries, one after the other.
    names: Vec<u8>,
    /// Bytes of the entries on flash.
    size: u32,
    /// Bytes of padding nodes.
    padded: u32,
    /// Whether the block gets no summary: it contains nodes that a summary cannot describe, or is
    /// too full.
    disabled: bool,
}

/// An entry whose name is stored separately.
#[derive(Debug, Clone)]
struct PendingEntry {
    entry: Entry<'static>,
    name: Range<usize>,
}

impl SummaryBuilder {
    /// The number of entries.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Whether the block gets no summary.
    #[must_use]
    pub const fn is_disabled(&self) -> bool {
        self.disabled
    }

    /// Disables the summary of the block and drops the entries.
    pub fn disable(&mut self) {
        *self = Self { disabled: true, ..Self::default() };
    }

    /// Starts over for another block.
    pub fn reset(&mut self) {
        self.entries.clear();
        self.names.clear();
        (self.size, self.padded, self.disabled) = (0, 0, false);
    }

    /// Adds a node; its offset is relative to the block.
    pub fn add(&mut self, entry: Entry<'_>) {
        if self.disabled {
            return;
        }
        self.size += entry.size();
        let start = self.names.len();
        if let Entry::Dirent { name, .. } = entry {
            self.names.extend_from_slice(name);
        }
        let entry = match entry {
            Entry::Dirent { length, offset, parent, version, ino, kind, .. } => {
                Entry::Dirent { length, offset, parent, version, ino, kind, name: &[] }
            }
            Entry::Inode { ino, version, offset, length } => {
                Entry::Inode { ino, version, offset, length }
            }
            Entry::Xattr { xid, version, offset, length } => {
                Entry::Xattr { xid, version, offset, length }
            }
            Entry::Xref { offset } => Entry::Xref { offset },
        };
        self.entries.push(PendingEntry { entry, name: start..self.names.len() });
    }

    /// Adds padding.
    pub const fn add_padding(&mut self, length: u32) {
        self.padded += length;
    }

    /// The size of a summary node with these entries and `more` bytes of entries.
    #[must_use]
    pub fn length_with(&self, more: u32) -> u32 {
        pad(summary::FRAME_SIZE + self.size + more)
    }

    /// The size of a summary node with these entries, without alignment.
    #[must_use]
    pub const fn exact_length(&self) -> u32 {
        summary::FRAME_SIZE + self.size
    }

    /// The entries.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.entries.iter().map(|kept| match kept.entry {
            Entry::Dirent { length, offset, parent, version, ino, kind, .. } => {
                let name = &self.names[kept.name.clone()];
                Entry::Dirent { length, offset, parent, version, ino, kind, name }
            }
            other => other,
        })
    }

    /// The summary node for the last `length` bytes of a block of `block_size`, whose inline
    /// cleanmarker has `cleanmarker` bytes.
    ///
    /// # Panics
    /// When `length` is less than [`SummaryBuilder::length_with`] of 0.
    #[must_use]
    pub fn node(
        &self,
        length: u32,
        block_size: u32,
        cleanmarker: u32,
        order: ByteOrder,
    ) -> Vec<u8> {
        let mut bytes = vec![0; to_usize(length)];
        let frame = Frame { offset: block_size - length, cleanmarker, padded: self.padded };
        summary::emit(&mut bytes, order, frame, self.entries());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::SummaryView;

    fn entry(name: &[u8]) -> Entry<'_> {
        Entry::Dirent { length: 41, offset: 68, parent: 1, version: 2, ino: 3, kind: 8, name }
    }

    #[test]
    fn what_was_collected_is_what_the_node_says() {
        let mut summary_builder = SummaryBuilder::default();
        let inode = Entry::Inode { ino: 1, version: 1, offset: 0, length: 68 };
        summary_builder.add(inode);
        summary_builder.add(entry(b"name"));
        summary_builder.add_padding(16);
        assert_eq!(summary_builder.length_with(0), 88);
        let node = summary_builder.node(1000, 4096, 0, ByteOrder::Big);
        let view = SummaryView::new(&node, ByteOrder::Big).unwrap();
        let entries: Vec<_> = view.entries().map(Result::unwrap).collect();
        assert_eq!((entries, view.padded()), (vec![inode, entry(b"name")], 16));
    }

    #[test]
    fn nothing_is_collected_for_a_block_without_summary() {
        let mut summary_builder = SummaryBuilder::default();
        summary_builder.disable();
        summary_builder.add(entry(b"name"));
        assert_eq!((summary_builder.count(), summary_builder.is_disabled()), (0, true));
        summary_builder.reset();
        summary_builder.add(entry(b"name"));
        assert_eq!((summary_builder.count(), summary_builder.is_disabled()), (1, false));
    }
}
