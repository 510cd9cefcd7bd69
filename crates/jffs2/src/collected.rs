//! The summary of a block while it is being filled.
//!
//! Layer: rank 5. Main type: [`Collected`]: what the nodes written to a block, or found in it by a scan,
//! will be in the summary at its end. Source: Linux 6.1, `fs/jffs2/summary.c`, `struct jffs2_summary`.

use crate::format::summary::{self, Entry, Frame};
use crate::format::{ByteOrder, pad, to_usize};
use std::ops::Range;

/// The entries of a summary that is not written yet.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    entries: Vec<Kept>,
    /// The names of the directory entries, one after the other.
    names: Vec<u8>,
    /// Bytes of the entries on flash.
    size: u32,
    /// Bytes of padding nodes.
    padded: u32,
    /// Whether the block shall have no summary: it has nodes that none can describe, or is too full.
    disabled: bool,
}

/// An entry with its name elsewhere.
#[derive(Debug, Clone)]
struct Kept {
    entry: Entry<'static>,
    name: Range<usize>,
}

impl Collected {
    /// How many entries there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Whether the block shall have no summary.
    #[must_use]
    pub const fn is_disabled(&self) -> bool {
        self.disabled
    }

    /// The block shall have no summary; what was collected goes.
    pub fn disable(&mut self) {
        *self = Self { disabled: true, ..Self::default() };
    }

    /// Begins again, for another block.
    pub fn reset(&mut self) {
        self.entries.clear();
        self.names.clear();
        (self.size, self.padded, self.disabled) = (0, 0, false);
    }

    /// Adds a node; its offset counts from the beginning of the block.
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
        self.entries.push(Kept { entry, name: start..self.names.len() });
    }

    /// Adds padding.
    pub const fn add_padding(&mut self, length: u32) {
        self.padded += length;
    }

    /// Bytes that a summary node with these entries takes at least, and `more` bytes of entries.
    #[must_use]
    pub fn length_with(&self, more: u32) -> u32 {
        pad(summary::FRAME_SIZE + self.size + more)
    }

    /// Bytes that a summary node with these entries takes, without what aligns it.
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

    /// The summary node that takes the last `length` bytes of a block of `block_size`, whose inline
    /// cleanmarker has `cleanmarker` bytes.
    ///
    /// # Panics
    /// When `length` is less than [`Collected::length_with`] of nothing more.
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
        let mut collected = Collected::default();
        let inode = Entry::Inode { ino: 1, version: 1, offset: 0, length: 68 };
        collected.add(inode);
        collected.add(entry(b"name"));
        collected.add_padding(16);
        assert_eq!(collected.length_with(0), 88);
        let node = collected.node(1000, 4096, 0, ByteOrder::Big);
        let view = SummaryView::new(&node, ByteOrder::Big).unwrap();
        let entries: Vec<_> = view.entries().map(Result::unwrap).collect();
        assert_eq!((entries, view.padded()), (vec![inode, entry(b"name")], 16));
    }

    #[test]
    fn nothing_is_collected_for_a_block_without_summary() {
        let mut collected = Collected::default();
        collected.disable();
        collected.add(entry(b"name"));
        assert_eq!((collected.count(), collected.is_disabled()), (0, true));
        collected.reset();
        collected.add(entry(b"name"));
        assert_eq!((collected.count(), collected.is_disabled()), (1, false));
    }
}
