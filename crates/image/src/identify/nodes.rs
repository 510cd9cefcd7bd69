//! JFFS2 nodes wherever they are in a file, before anything is known of the flash.
//!
//! Layer: rank 7. Main types: [`Sweep`] and [`Node`]. A header is believed when its checksum is right,
//! whatever stands before it: images that a kernel wrote begin with erased blocks, and the byte
//! order is that of the nodes, not of the first bytes of the file.

use crate::contents::Contents;
use boardlab_jffs2::format::{ByteOrder, Header, NodeType, OobCleanmarker};
use boardlab_sim::Bytes;

/// Nodes that are enough to judge by.
const NODES: usize = 4_096;
/// Bytes of a file that are looked through at most.
const BYTES: u64 = 1 << 30;
/// Bytes that are looked through at once.
const WINDOW: usize = 256 * 1_024;
/// Bytes at the end of a file that are looked through in any case.
const TAIL: u64 = 256 * 1_024;
/// Bytes of a node's header.
const HEADER: usize = 12;

/// A header with the right checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    /// Where it is in the file.
    pub(crate) at: Bytes,
    /// The byte order of its numbers.
    pub(crate) order: ByteOrder,
    /// What it is.
    pub(crate) kind: NodeType,
    /// Its length, header included.
    pub(crate) length: u32,
}

impl Node {
    /// The node whose header is at the beginning of `bytes`, which are at `at` of the file.
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

/// What was found in a file.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    /// Headers with the right checksum, in order.
    pub(crate) nodes: Vec<Node>,
    /// Places that hold a cleanmarker as it is put into spare bytes, where it has no checksum.
    pub(crate) markers: Vec<(Bytes, ByteOrder)>,
    /// The last header in the file.
    pub(crate) last: Option<Node>,
    /// The first byte that is not erased.
    pub(crate) first_programmed: Option<Bytes>,
    /// Whether all programmed bytes that were looked at are zero.
    pub(crate) zeros: bool,
}

impl Sweep {
    /// Looks through `contents` until enough is known, and at its end.
    pub(crate) fn of(contents: &Contents) -> Self {
        let mut sweep = Self { zeros: true, ..Self::default() };
        let length = contents.length().get();
        let mut next = 0;
        while next < length.min(BYTES) && sweep.nodes.len() < NODES {
            sweep.window(contents, next);
            next += WINDOW as u64;
        }
        if next < length {
            let mut tail = Self::default();
            tail.window(contents, length.saturating_sub(TAIL));
            sweep.last = tail.last.or(sweep.last);
        }
        sweep
    }

    /// Looks through the window at `start`, with headers that begin in it.
    fn window(&mut self, contents: &Contents, start: u64) {
        let bytes = contents.window(Bytes::new(start), WINDOW + HEADER);
        let Some(first) = first_programmed(&bytes) else { return };
        self.first_programmed.get_or_insert(Bytes::new(start + first as u64));
        self.zeros &= bytes[first..].iter().all(|&byte| byte == 0 || byte == 0xFF);
        // Headers are at multiples of four in the flash, and at even places in a dump with any
        // usual number of spare bytes.
        for at in (first & !1..bytes.len().min(WINDOW)).step_by(2) {
            let here = &bytes[at..];
            let magic = matches!(here, [0x85, 0x19, ..] | [0x19, 0x85, ..]);
            if magic {
                self.note(here, Bytes::new(start + at as u64));
            }
        }
    }

    fn note(&mut self, here: &[u8], at: Bytes) {
        if let Some(node) = Node::parse(here, at) {
            self.last = Some(node);
            if self.nodes.len() < NODES {
                self.nodes.push(node);
            }
            return;
        }
        let marks = |order: &ByteOrder| here.starts_with(&OobCleanmarker.bytes(*order));
        let marker = [ByteOrder::Little, ByteOrder::Big].into_iter().find(marks);
        self.markers.extend(marker.filter(|_| self.markers.len() < NODES).map(|order| (at, order)));
    }
}

/// The first byte that is not 0xFF.
fn first_programmed(bytes: &[u8]) -> Option<usize> {
    const STEP: usize = 64;
    let chunk = bytes.chunks(STEP).position(|chunk| chunk != &[0xFF; STEP][..chunk.len()])?;
    let within = bytes[chunk * STEP..].iter().position(|&byte| byte != 0xFF)?;
    Some(chunk * STEP + within)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let sweep = Sweep::of(&Contents::of(bytes));
            let found: Vec<_> = sweep.nodes.iter().map(|n| (n.at.get(), n.order, n.kind)).collect();
            assert_eq!(
                found,
                [(300_000, order, NodeType::Inode), (524_284, order, NodeType::Dirent)]
            );
            assert_eq!(sweep.first_programmed, Some(Bytes::new(300_000)));
            assert_eq!(sweep.last, Some(sweep.nodes[1]));
        }
    }

    #[test]
    fn a_header_with_a_wrong_checksum_is_none() {
        let mut bytes = header(ByteOrder::Little, NodeType::Inode, 68).to_vec();
        bytes[4] ^= 1;
        assert_eq!(Sweep::of(&Contents::of(bytes)).nodes, []);
    }

    #[test]
    fn the_end_is_looked_at_even_when_enough_is_known_before() {
        let mut bytes = header(ByteOrder::Little, NodeType::Cleanmarker, 12).repeat(60_000);
        let end = bytes.len() - 12;
        bytes[end..].copy_from_slice(&header(ByteOrder::Little, NodeType::Inode, 5_000));
        let sweep = Sweep::of(&Contents::of(bytes));
        assert_eq!(sweep.nodes.len(), NODES);
        assert_eq!(sweep.last.map(|node| node.length), Some(5_000));
    }
}
