//! Bytes on the flash where the scan found no node.
//!
//! Layer: rank 5. Most of them are normal: erased flash, padding, zeros, nodes marked obsolete in
//! place. The rest was a node once. So were zeros longer than a gap, and erased flash with nodes
//! after it, perhaps an unreadable page, but not the rest of the last page of an image: Linux goes on
//! in the next one (`jffs2_scan_eraseblock`). Words that are erased or zero except for up to three bits
//! are not nodes: the first word of a node, with its magic number and type, has at least ten ones
//! and ten zeros.

use super::{Auditor, Consequence, DamageKind, HEADER, Place, View, offset};
use crate::block::Owner;
use crate::format::{
    ByteOrder, DirentView, Header, InodeView, Malformed, NodeType, SummaryView, XattrView,
    XrefView, header, pad, to_usize,
};
use crate::volume::Volume;
use boardlab_mtd::Mtd;
use std::ops::Range;

/// The bit errors that an erased or zero word may have.
const WRONG_BITS: u32 = 3;
/// The empty bytes that separate two places: a node has fewer consecutive zeros.
const APART: u32 = 64;
/// The consecutive zeros that fill a gap: for longer gaps Linux writes a padding node.
const ZEROS: u32 = 12;
/// The bit errors with which the first word of a block still counts as a header.
const LIKE_A_HEADER: u32 = 4;
/// The node types in headers, and the magic number.
const TYPES: [u16; 5] = [0xE001, 0xE002, 0xE008, 0xE009, 0x2003];
const MAGIC: u16 = 0x1985;

impl Auditor {
    /// Examines `range` of a block. `own` says whether JFFS2 wrote the block.
    pub(super) fn gap<M: Mtd>(
        &mut self,
        volume: &Volume<M>,
        view: &View<'_>,
        range: Range<u32>,
        own: bool,
    ) {
        let mut at = range.start;
        let mut strange: Option<Range<u32>> = None;
        let mut foreign = false;
        // Where the present run of zeros, and of erased words, began.
        let (mut zeros, mut erased) = (None, None);
        while at + 4 <= range.end {
            let bytes = view.at(&(at..range.end));
            let header = Header::parse(bytes, volume.order).ok();
            let header = header.filter(|header| fits(header, range.end - at));
            let word = word(bytes);
            since(&mut zeros, header.is_none() && word == Word::Zero, at);
            since(&mut erased, header.is_none() && word == Word::Erased, at);
            let lost_in_zeros = zeros.filter(|start| at + 4 - start > ZEROS);
            if let Some(start) = lost_in_zeros {
                strange.get_or_insert(start..start).end = at + 4;
            } else if header.is_none() && word == Word::Other {
                strange.get_or_insert(at..at).end = at + 4;
            } else if strange
                .as_ref()
                .is_some_and(|here| header.is_some() || at - here.end >= APART)
                && let Some(found) = strange.take()
            {
                foreign |= !self.strange(volume, view, found, own);
            }
            let Some(header) = header else {
                at += 4;
                continue;
            };
            let end = (at + pad(header.length)).min(range.end);
            self.gap_node(volume, view, header, at..end);
            at = end;
        }
        if let Some(found) = strange {
            foreign |= !self.strange(volume, view, found, own);
        }
        let among = erased.filter(|start| range.end - start >= APART && own);
        let among = among.filter(|start| !is_rest_of_a_page(volume, &(*start..range.end)));
        if let Some(start) = among.filter(|_| is_before_a_node(volume, view, range.end)) {
            self.lost_bytes(view, start..range.end, DamageKind::Erased);
        }
        if foreign && self.audit.first_foreign.is_none_or(|_| self.last_foreign != view.block.0) {
            self.audit.foreign_blocks += 1;
            self.audit.first_foreign.get_or_insert(view.block.0);
            self.last_foreign = view.block.0;
        }
    }

    /// Reports bytes between nodes where Linux leaves no such gap: a part of the log is lost.
    fn lost_bytes(&mut self, view: &View<'_>, range: Range<u32>, what: DamageKind) {
        let (at, length) = (view.start + offset(range.start), range.end - range.start);
        self.tell(Place { at, length, what, meaning: Consequence::Unknown, ino: None });
    }

    /// Reports bytes that begin no node. Returns false when they are foreign.
    fn strange<M>(
        &mut self,
        volume: &Volume<M>,
        view: &View<'_>,
        range: Range<u32>,
        own: bool,
    ) -> bool {
        if !own {
            return false;
        }
        let (bytes, length) = (view.at(&range), range.end - range.start);
        let at = view.start + offset(range.start);
        let zeros = bytes.iter().all(|&byte| byte == 0);
        if range.end == view.size() && zeros && !(view.lost)(range.clone()) {
            // Zeros after the last node of all are padding of the image.
            let (what, meaning) = (DamageKind::Zeros, Consequence::Unknown);
            self.zeros_at_end = Some(Place { at, length, what, meaning, ino: None });
            return true;
        }
        let behind = view.at(&(range.end..view.size()));
        let torn = length <= header::SIZE && boardlab_mtd::is_erased(behind);
        let meaning = if torn { Consequence::Torn } else { Consequence::Unknown };
        let ino = like_a_header(bytes, volume.order).then(|| suspect(volume, bytes)).flatten();
        if let (Some(ino), false) = (ino, torn) {
            self.audit.inode_damage.entry(ino).or_default().suspected = true;
        }
        (self.audit.nodes, self.audit.damaged) = (self.audit.nodes + 1, self.audit.damaged + 1);
        self.tell(Place { at, length, what: DamageKind::Strange, meaning, ino });
        true
    }

    /// Examines a node with a valid header that the scan did not accept.
    fn gap_node<M: Mtd>(
        &mut self,
        volume: &Volume<M>,
        view: &View<'_>,
        header: Header,
        range: Range<u32>,
    ) {
        if !header.accurate {
            return;
        }
        let (bytes, order) = (view.at(&range), volume.order);
        let (at, length) = (view.start + offset(range.start), range.end - range.start);
        let free = range.start >= volume.blocks.free_offset(view.block);
        let problem = match header.node_type {
            NodeType::Inode => InodeView::new(bytes, order).map(|_| ()),
            NodeType::Dirent => match DirentView::new(bytes, order) {
                Ok(found) if found.parse().is_err() => {
                    (self.audit.nodes, self.audit.damaged) =
                        (self.audit.nodes + 1, self.audit.damaged + 1);
                    self.wrong_name(volume, view, &range, found.with_name(found.name_so_far()));
                    return;
                }
                other => other.map(|_| ()),
            },
            NodeType::Xattr => XattrView::new(bytes, order).map(|_| ()),
            NodeType::Xref => XrefView::new(bytes, order).map(|_| ()),
            NodeType::Summary => {
                if SummaryView::new(bytes, order).is_err() {
                    let (what, meaning) = (DamageKind::Summary, Consequence::Superseded);
                    self.tell(Place { at, length, what, meaning, ino: None });
                }
                return;
            }
            NodeType::Cleanmarker | NodeType::Padding | NodeType::Unknown(_) => return,
        };
        match problem {
            Ok(()) if free => {
                let (what, meaning) = (DamageKind::Hidden, Consequence::Unknown);
                self.tell(Place { at, length, what, meaning, ino: None });
            }
            Ok(()) => {}
            Err(cause) => self.wrong_fields(volume, view, header, cause, &range),
        }
    }

    /// Reports a node of which only the header is valid.
    fn wrong_fields<M>(
        &mut self,
        volume: &Volume<M>,
        view: &View<'_>,
        header: Header,
        cause: Malformed,
        range: &Range<u32>,
    ) {
        (self.audit.nodes, self.audit.damaged) = (self.audit.nodes + 1, self.audit.damaged + 1);
        let length = range.end - range.start;
        let torn = view.is_torn(range.start, length) && !(view.lost)(range.clone());
        let meaning = if torn { Consequence::Torn } else { Consequence::Unknown };
        let ino = suspect(volume, view.at(range));
        if let (Some(ino), false) = (ino, torn) {
            self.audit.inode_damage.entry(ino).or_default().suspected = true;
        }
        let what = DamageKind::Fields(header.node_type, cause);
        let at = view.start + offset(range.start);
        self.tell(Place { at, length, what, meaning, ino });
    }
}

/// Whether a header is plausible within the remaining bytes.
fn fits(header: &Header, left: u32) -> bool {
    (header::SIZE..=left).contains(&header.length)
}

/// The inode that a damaged node suggests, if one of that number has a name.
fn suspect<M>(volume: &Volume<M>, bytes: &[u8]) -> Option<u32> {
    let number = bytes.get(HEADER..HEADER + 4)?.try_into().ok()?;
    let inode = volume.inodes.find(volume.order.u32(number))?;
    (inode.links > 0).then_some(inode.ino)
}

/// Tracks where a run began.
fn since(start: &mut Option<u32>, goes_on: bool, at: u32) {
    *start = if goes_on { Some(start.unwrap_or(at)) } else { None };
}

/// The kind of a word of four bytes, with tolerance for a few bit errors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Zero,
    Erased,
    Other,
}

/// The word that `bytes` begin with.
fn word(bytes: &[u8]) -> Word {
    let ones: u32 = bytes[..4].iter().map(|byte| byte.count_ones()).sum();
    match ones {
        0..=WRONG_BITS => Word::Zero,
        _ if ones >= 32 - WRONG_BITS => Word::Erased,
        _ => Word::Other,
    }
}

/// Whether a range ends with a page of NAND and begins within it.
fn is_rest_of_a_page<M>(volume: &Volume<M>, range: &Range<u32>) -> bool {
    let page = volume.layout.page_size;
    page.is_some_and(|page| range.end.is_multiple_of(page) && range.end - range.start < page)
}

/// Whether a node with an owner begins at `at`.
fn is_before_a_node<M>(volume: &Volume<M>, view: &View<'_>, at: u32) -> bool {
    let refs = volume.blocks.block(view.block).refs();
    let number = refs.partition_point(|node| node.offset() < at);
    refs.get(number).is_some_and(|node| node.offset() == at && node.owner() != Owner::Nobody)
}

/// Whether a block begins with a possibly damaged header.
pub(super) fn begins_like_jffs2(bytes: &[u8], order: ByteOrder) -> bool {
    like_a_header(bytes, order)
}

fn like_a_header(bytes: &[u8], order: ByteOrder) -> bool {
    let Some(bytes) = bytes.get(..4) else { return false };
    let differs = |node_type: u16| {
        let header = [order.bytes16(MAGIC), order.bytes16(node_type)].concat();
        let bits = bytes.iter().zip(&header).map(|(one, other)| (one ^ other).count_ones());
        bits.sum::<u32>()
    };
    TYPES.iter().any(|&node_type| differs(node_type) <= LIKE_A_HEADER)
}

/// Counts the inode nodes and entries in a block that is not read.
pub(super) fn count_nodes(bytes: &[u8], order: ByteOrder) -> u32 {
    let mut count = 0;
    let mut at = 0;
    while at + HEADER <= bytes.len() {
        let here = &bytes[at..];
        let header = Header::parse(here, order)
            .ok()
            .filter(|header| header.accurate && fits(header, crate::format::length_of(here)));
        let Some(header) = header else {
            at += 4;
            continue;
        };
        count += u32::from(matches!(header.node_type, NodeType::Inode | NodeType::Dirent));
        at += to_usize(pad(header.length));
    }
    count
}
