//! Scanning of LEBs: which nodes are in one, one after another.
//!
//! Layer: rank 5. Main types: [`ScannedLeb`], [`ScannedNode`], [`Scanned`].
//!
//! ```text
//!  | node | node | 0xCE.. | node | padding node, zeros | 0xFF ... |
//! ```
//! Source: Linux 6.1, `fs/ubifs/scan.c`.

use crate::error::Problem;
use crate::format::key::Key;
use crate::format::padding::{self, Padding};
use crate::format::{ALIGN, Group, HEADER_SIZE, Header, MAGIC, NodeType, u32_of, usize_of};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// A node found (`struct ubifs_scan_node`).
#[derive(Debug, Clone)]
pub(crate) struct ScannedNode {
    /// Its offset.
    pub offs: u32,
    /// Its length.
    pub len: u32,
    /// Its kind.
    pub kind: NodeType,
    /// Its place in a group.
    pub group: Group,
    /// Its sequence number.
    pub sqnum: u64,
    /// The key of inodes, data, entries; else [`Key::LOWEST`].
    pub key: Key,
}

/// A LEB that was scanned (`struct ubifs_scan_leb`).
#[derive(Debug, Clone)]
pub(crate) struct ScannedLeb {
    /// The LEB.
    pub leb: LebIndex,
    /// Its nodes in their order; padding is left out.
    pub nodes: Vec<ScannedNode>,
    /// The end of the last node, aligned to the smallest write.
    pub endpt: u32,
    /// The whole LEB as read; zeros before the offset where the scan began.
    pub bytes: Vec<u8>,
}

impl ScannedLeb {
    /// The bytes of one of the nodes.
    pub(crate) fn node_bytes(&self, node: &ScannedNode) -> &[u8] {
        &self.bytes[usize_of(node.offs)..usize_of(node.offs + node.len)]
    }
}

/// What is at an offset (`ubifs_scan_a_node`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// A right node.
    Node(Header),
    /// Erased bytes.
    EmptySpace,
    /// Neither a node nor padding nor erased.
    Garbage,
    /// So many bytes of padding.
    Padding(u32),
    /// A node that is wrong.
    Damaged,
    /// A padding node that pads too much or not to a multiple of 8 bytes.
    BadPadding,
}

/// Padding bytes at the beginning of `bytes`.
fn scan_padding_bytes(bytes: &[u8]) -> Scanned {
    let most = &bytes[..bytes.len().min(padding::SIZE)];
    let count = u32_of(most.iter().take_while(|&&byte| byte == padding::BYTE).count());
    if count == 0 || !count.is_multiple_of(ALIGN) {
        return Scanned::Garbage;
    }
    Scanned::Padding(count)
}

impl<L: Lebs> Volume<L> {
    /// Looks at the beginning of `bytes`, which are at this offset of a LEB.
    pub(crate) fn scan_a_node(
        &mut self,
        clock: &mut Clock,
        bytes: &[u8],
        _leb: LebIndex,
        offs: u32,
    ) -> Scanned {
        let magic = bytes.first_chunk().map(|&word| u32::from_le_bytes(word));
        match magic {
            Some(u32::MAX) => return Scanned::EmptySpace,
            Some(MAGIC) if bytes.len() < HEADER_SIZE => return Scanned::Garbage,
            Some(MAGIC) => {}
            _ => return scan_padding_bytes(bytes),
        }
        let Ok(header) = self.check_node(clock, bytes, offs, true) else {
            return Scanned::Damaged;
        };
        if header.node_type != NodeType::Padding {
            return Scanned::Node(header);
        }
        let Ok(Padding { pad_len }) = Padding::parse(bytes) else { return Scanned::Damaged };
        let room = self.layout.leb_size - offs;
        match header.len.checked_add(pad_len) {
            Some(total) if total <= room && total.is_multiple_of(ALIGN) => Scanned::Padding(total),
            _ => Scanned::BadPadding,
        }
    }

    /// Reads a LEB from `offs` on, to be scanned (`ubifs_start_scan`).
    pub(crate) fn start_scan(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offs: u32,
    ) -> Result<ScannedLeb, Error> {
        let mut bytes = vec![0; usize_of(self.layout.leb_size)];
        // Uncorrectable errors are left to the checksums of the nodes.
        self.leb_read_unchecked(clock, leb, offs, &mut bytes[usize_of(offs)..])?;
        Ok(ScannedLeb { leb, nodes: Vec::new(), endpt: 0, bytes })
    }

    /// Scans a LEB from `offs` to its end (`ubifs_scan`).
    ///
    /// # Errors
    /// [`Problem::NotAPowerCut`] at the first place with a wrong node, or with bytes behind the nodes
    /// that are not erased (`-EUCLEAN`).
    pub(crate) fn scan(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offs: u32,
    ) -> Result<ScannedLeb, Error> {
        let mut scanned = self.start_scan(clock, leb, offs)?;
        let mut at = offs;
        let wrong = |offs| Error::Corrupted { leb, offs, problem: Problem::NotAPowerCut };
        while self.layout.leb_size - at >= 8 {
            match self.scan_a_node(clock, &scanned.bytes[usize_of(at)..], leb, at) {
                Scanned::Padding(count) => at += count,
                Scanned::EmptySpace => break,
                Scanned::Node(header) => {
                    scanned.add(at, &header);
                    at += header.len.next_multiple_of(ALIGN);
                    at = at.min(self.layout.leb_size);
                }
                Scanned::Garbage | Scanned::Damaged | Scanned::BadPadding => {
                    return Err(wrong(at));
                }
            }
        }
        if !at.is_multiple_of(self.layout.min_io) {
            return Err(wrong(at));
        }
        self.end_scan(&mut scanned, at);
        let free = &scanned.bytes[usize_of(at)..];
        if let Some(dirt) = free.iter().position(|&byte| byte != 0xFF) {
            return Err(wrong(at + u32_of(dirt)));
        }
        Ok(scanned)
    }

    /// Adds the node at `offs`, which [`Volume::scan_a_node`] has found right (`ubifs_add_snod`).
    pub(crate) fn add_snod(&mut self, scanned: &mut ScannedLeb, offs: u32) -> Result<(), Error> {
        let leb = scanned.leb;
        let header = Header::parse(&scanned.bytes[usize_of(offs)..])
            .map_err(|cause| Error::Node { leb, offs, cause })?;
        scanned.add(offs, &header);
        Ok(())
    }

    /// Ends a scan at `offs` (`ubifs_end_scan`).
    pub(crate) fn end_scan(&self, scanned: &mut ScannedLeb, offs: u32) {
        scanned.endpt = offs.next_multiple_of(self.layout.min_io);
    }
}

impl ScannedLeb {
    fn add(&mut self, offs: u32, header: &Header) {
        let Header { sqnum, len, node_type: kind, group } = *header;
        let key = match kind {
            NodeType::Inode | NodeType::Data | NodeType::Dirent | NodeType::Xattr => {
                Key::parse(&self.bytes[usize_of(offs) + HEADER_SIZE..])
            }
            _ => Key::LOWEST,
        };
        self.nodes.push(ScannedNode { offs, len, kind, group, sqnum, key });
    }
}

#[cfg(test)]
mod tests;
