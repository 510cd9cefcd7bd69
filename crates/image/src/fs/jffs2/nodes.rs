//! Finds JFFS2 nodes anywhere in a file, before anything is known of the flash.
//!
//! Layer: rank 7. Main types: [`Nodes`] and [`Node`]. A header with a valid checksum is accepted,
//! whatever precedes it: images that a kernel wrote begin with erased blocks, and the byte order is
//! that of the nodes, not of the first bytes of the file.

use super::recognise;
use crate::contents::Contents;
use crate::detection::Detection;
use crate::fs::{DetectedFileSystem, Detector};
use boardlab_jffs2::format::{ByteOrder, Header, NodeType, OobCleanmarker};
use boardlab_sim::Bytes;

/// The number of nodes that suffices.
const NODES: usize = 4_096;

/// A header with a valid checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node {
    /// Its offset in the file.
    pub(super) at: Bytes,
    /// Its byte order.
    pub(super) order: ByteOrder,
    /// Its type.
    pub(super) kind: NodeType,
    /// Its length, header included.
    pub(super) length: u32,
}

impl Node {
    /// Parses the header at the beginning of `bytes`, which is at `at` of the file.
    fn parse(bytes: &[u8], at: Bytes) -> Option<Self> {
        let order = match bytes {
            [0x85, 0x19, ..] => ByteOrder::Little,
            [0x19, 0x85, ..] => ByteOrder::Big,
            _ => return None,
        };
        let header = Header::parse(bytes, order).ok()?;
        Some(Self { at, order, kind: header.node_type, length: header.length })
    }
}

/// The nodes of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Nodes {
    /// Headers with a valid checksum, in order.
    pub(super) headers: Vec<Node>,
    /// Offsets of cleanmarkers in the form for the OOB area, which has no checksum.
    pub(super) markers: Vec<(Bytes, ByteOrder)>,
    /// The last header in the file.
    pub(super) last: Option<Node>,
}

impl Nodes {
    fn note(&mut self, here: &[u8], at: Bytes) {
        if let Some(node) = Node::parse(here, at) {
            self.last = Some(node);
            if self.headers.len() < NODES {
                self.headers.push(node);
            }
            return;
        }
        let marks = |order: &ByteOrder| here.starts_with(&OobCleanmarker.bytes(*order));
        let marker = [ByteOrder::Little, ByteOrder::Big].into_iter().find(marks);
        self.markers.extend(marker.filter(|_| self.markers.len() < NODES).map(|order| (at, order)));
    }
}

impl Detector for Nodes {
    fn magics(&self) -> &'static [&'static [u8]] {
        &[&[0x85, 0x19], &[0x19, 0x85]]
    }

    /// Headers are at multiples of four in the flash, and at even places in a dump with any usual number
    /// of spare bytes.
    fn look(&mut self, at: Bytes, head: &[u8]) {
        if at.get().is_multiple_of(2) {
            self.note(head, at);
        }
    }

    fn has_enough(&self) -> bool {
        self.headers.len() >= NODES
    }

    fn look_at_end(&mut self, at: Bytes, head: &[u8]) {
        let node = Node::parse(head, at).filter(|_| at.get().is_multiple_of(2));
        self.last = node.or(self.last);
    }

    fn conclude(
        self: Box<Self>,
        contents: &Contents,
        other: &[Detection],
    ) -> Option<(Detection, Box<dyn DetectedFileSystem>)> {
        let (found, image) = recognise(*self, contents, other)?;
        Some((found, Box::new(image)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::sweep::Sweep;

    fn swept(bytes: Vec<u8>) -> (Nodes, Sweep) {
        let mut nodes = Nodes::default();
        let sweep = Sweep::of(&Contents::of(bytes), &mut [&mut nodes]);
        (nodes, sweep)
    }

    fn header(order: ByteOrder, kind: NodeType, length: u32) -> [u8; 12] {
        let mut bytes = [0; 12];
        Header::new(kind, length).emit(&mut bytes, order);
        bytes
    }

    #[test]
    fn nodes_are_found_behind_erased_blocks_in_either_byte_order() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let mut bytes = vec![0xFF; 600_000];
            bytes[300_000..300_012].copy_from_slice(&header(order, NodeType::Inode, 68));
            // The header lies across the border of a window.
            bytes[524_284..524_296].copy_from_slice(&header(order, NodeType::Dirent, 44));
            let (nodes, sweep) = swept(bytes);
            let found: Vec<_> =
                nodes.headers.iter().map(|n| (n.at.get(), n.order, n.kind)).collect();
            assert_eq!(
                found,
                [(300_000, order, NodeType::Inode), (524_284, order, NodeType::Dirent)]
            );
            assert_eq!(sweep.first_programmed, Some(Bytes::new(300_000)));
            assert_eq!(nodes.last, Some(nodes.headers[1]));
        }
    }

    #[test]
    fn a_header_with_a_wrong_checksum_is_none() {
        let mut bytes = header(ByteOrder::Little, NodeType::Inode, 68).to_vec();
        bytes[4] ^= 1;
        assert_eq!(swept(bytes).0.headers, []);
    }

    #[test]
    fn the_end_is_looked_at_even_when_enough_is_known_before() {
        let mut bytes = header(ByteOrder::Little, NodeType::Cleanmarker, 12).repeat(60_000);
        let end = bytes.len() - 12;
        bytes[end..].copy_from_slice(&header(ByteOrder::Little, NodeType::Inode, 5_000));
        let (nodes, _) = swept(bytes);
        assert_eq!(nodes.headers.len(), NODES);
        assert_eq!(nodes.last.map(|node| node.length), Some(5_000));
    }
}
