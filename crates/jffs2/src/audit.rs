//! The audit of a mounted flash: damaged nodes, and the inodes that they affect.
//!
//! Layer: rank 5. Main types: [`Audit`], [`Place`] and [`InodeDamage`]; main function:
//! [`Jffs2::audit`]. JFFS2 silently ignores nodes with a wrong checksum: a file gets shorter, shows
//! older bytes or zeros, or loses its name. The audit reads every byte of every block once more and
//! verifies each node. It reports the place of each damage and its consequence:
//!
//! ```text
//!  a node with right fields and wrong data -> its file: bytes that are missing or older
//!  an entry with a wrong name              -> its directory: a name is missing
//!  no node can be made out                 -> unknown: any name may be missing; perhaps an inode to suspect
//!  covered by newer nodes, of an inode without a name, or there twice    -> nothing is lost
//!  ends in erased bytes                    -> a write that was cut off: it never was
//! ```
//! Two facts show a loss without any damaged node: bytes of a file that no node holds, because
//! Linux writes a node for a hole too; and an entry whose inode has no node.
//!
//! In reading order: `gap`, bytes where the scan found no node; `content`, the combined nodes of an
//! inode. Source: Linux 6.1, `fs/jffs2/scan.c`, `readinode.c`, for what is accepted.

mod content;
mod gap;

use crate::Jffs2;
use crate::block::{List, NodeId, NodeRef, Owner};
use crate::error::Error;
use crate::format::{
    ByteOrder, Dirent, DirentView, Header, InodeView, Malformed, NodeType, OobCleanmarker,
    XattrView, XrefView, cleanmarker, crc, header, to_usize,
};
use crate::volume::Volume;
use boardlab_mtd::{BlockIndex, Mtd, PageIndex};
use boardlab_sim::{Bytes, Clock};
use content::VerifiedNode;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// Places that are kept; more are counted.
const PLACES: usize = 10_000;
/// Bytes of erased flash at the end of a node that tell of a write which was cut off.
const TORN: usize = 16;
/// As [`TORN`], where something was written after the node.
const TORN_WITHIN: usize = 512;

/// The damage on a flash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// Verified nodes, without cleanmarkers, padding and summaries.
    pub nodes: u64,
    /// Damaged nodes, including unrecognisable ones.
    pub damaged: u64,
    /// The damaged places, in order; at most 10,000.
    pub places: Vec<Place>,
    /// Places that are not among `places`.
    pub more: u64,
    /// What is lost, by inode.
    pub inode_damage: BTreeMap<u32, InodeDamage>,
    /// Whether unknown names or files may be missing.
    pub unknown_loss: bool,
    /// Blocks with foreign content.
    pub foreign_blocks: u32,
    /// The first of them.
    pub first_foreign: Option<u32>,
}

/// A damaged place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its offset on the flash.
    pub at: Bytes,
    /// Its length.
    pub length: u32,
    /// The kind of damage.
    pub what: DamageKind,
    /// The consequence.
    pub meaning: Consequence,
    /// The inode concerned; when uncertain, the one that its bytes suggest.
    pub ino: Option<u32>,
}

/// The kind of damage in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DamageKind {
    /// An inode node with valid fields and invalid data.
    Data {
        /// The bytes of the file.
        bytes: Range<u64>,
    },
    /// A directory entry with valid fields and an invalid name.
    Name {
        /// The name as it is there.
        name: Vec<u8>,
    },
    /// A node of which only the header is valid.
    Fields(NodeType, Malformed),
    /// An extended attribute, or a reference to one.
    Attribute,
    /// A summary, which only repeats information of the nodes.
    Summary,
    /// Bytes that begin no node.
    Strange,
    /// Erased bytes with nodes after them.
    Erased,
    /// Zeros up to the end of the block.
    Zeros,
    /// A valid node where the scan does not look: after an erased beginning of its block.
    Hidden,
    /// A block that is marked bad, although it contains nodes.
    BadBlock {
        /// Nodes with a valid header.
        nodes: u32,
    },
}

/// The consequence of a damaged place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// Data of the inode are missing or older.
    Lost,
    /// Unknown.
    Unknown,
    /// None: the place is not needed any more.
    Superseded,
    /// None: an interrupted write that never took effect.
    Torn,
}

/// The damage of an inode.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InodeDamage {
    /// Bytes whose newest node is damaged: they show an older version or zeros, or are cut off.
    pub stale: Vec<Range<u64>>,
    /// Bytes that no node holds: they are zeros, or cut off.
    pub missing: Vec<Range<u64>>,
    /// The size in the newest node, where the file is shorter.
    pub cut_from: Option<u64>,
    /// The newest node is damaged or missing: mode, owner and times are older or defaults.
    pub metadata: bool,
    /// An entry of this directory is damaged: a name is missing or refers to its former inode.
    pub names: bool,
    /// An extended attribute is damaged.
    pub attributes: bool,
    /// An unrecognisable node suggests this inode.
    pub suspected: bool,
}

impl<M: Mtd> Jffs2<M> {
    /// Reads everything and reports the damage. `is_lost` says whether the device's ECC gave up on
    /// a range of the flash. Nothing is changed.
    ///
    /// # Errors
    /// [`Error::Flash`], except for bit errors.
    pub fn audit(
        &mut self,
        clock: &mut Clock,
        is_lost: impl Fn(&M, Range<Bytes>) -> bool,
    ) -> Result<Audit, Error> {
        let mut auditor = Auditor::default();
        let mut bytes = vec![0; to_usize(self.volume.layout.block_size)];
        for block in (0..self.volume.layout.block_count).map(BlockIndex) {
            let start = self.volume.blocks.block_offset(block);
            self.volume.read_flash(clock, start, &mut bytes)?;
            let bad = self.volume.blocks.block(block).list() == List::Bad;
            let marked = !bad && self.volume.has_mark(clock, block);
            let volume = &self.volume;
            let lost = |range: Range<u32>| {
                is_lost(&volume.device, start + offset(range.start)..start + offset(range.end))
            };
            let view = View { block, start, bytes: &bytes, lost: &lost };
            if bad {
                auditor.bad_block(&view, volume.order);
            } else {
                auditor.block(volume, &view, marked);
            }
        }
        Ok(auditor.conclude(&self.volume))
    }

    /// The inodes with live nodes in a range of the flash; for a directory entry the directory.
    pub fn inodes_in(&self, range: Range<Bytes>) -> Vec<u32> {
        let volume = &self.volume;
        let block = volume.blocks.block_at(range.start);
        let start = volume.blocks.block_offset(block);
        let refs = volume.blocks.block(block).refs();
        let from = refs.partition_point(|node| start + offset(node.offset()) <= range.start);
        let mut found = Vec::new();
        for node in &refs[from.saturating_sub(1)..] {
            if start + offset(node.offset()) >= range.end {
                break;
            }
            if let (Owner::Inode(slot), true) = (node.owner(), node.state().is_live())
                && let Some(inode) = volume.inodes.try_get(slot).filter(|inode| inode.links > 0)
            {
                found.push(inode.ino);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn offset(within: u32) -> Bytes {
    Bytes::new(u64::from(within))
}

impl<M: Mtd> Volume<M> {
    /// Whether the OOB area of a block contains a cleanmarker.
    fn has_mark(&mut self, clock: &mut Clock, block: BlockIndex) -> bool {
        let Some(page_size) = self.layout.page_size else { return false };
        let mut oob = [0; cleanmarker::OOB_SIZE];
        let length = to_usize(self.layout.oob_free).min(oob.len());
        let page = self.blocks.block_offset(block) / offset(page_size);
        let Ok(page) = u32::try_from(page) else { return false };
        let read = self.device.read_oob(clock, PageIndex(page), &mut oob[..length]);
        read.is_ok() && OobCleanmarker.is_in(&oob[..length], self.order)
    }
}

/// A block with its bytes, as the audit sees it.
struct View<'a> {
    block: BlockIndex,
    start: Bytes,
    bytes: &'a [u8],
    /// Whether the device's error correction gave up on these bytes of the block.
    lost: &'a dyn Fn(Range<u32>) -> bool,
}

impl View<'_> {
    /// Bytes of the block.
    fn size(&self) -> u32 {
        crate::format::length_of(self.bytes)
    }

    fn at(&self, range: &Range<u32>) -> &[u8] {
        &self.bytes[to_usize(range.start)..to_usize(range.end)]
    }

    /// Whether a damaged node of `length` bytes at `start` was not written to its end.
    fn is_torn(&self, start: u32, length: u32) -> bool {
        let end = start.saturating_add(length).min(self.size());
        let erased = |bytes: &[u8]| bytes.iter().rev().take_while(|&&byte| byte == 0xFF).count();
        let tail = erased(self.at(&(start..end)));
        let last = erased(self.at(&(end..self.size()))) == to_usize(self.size() - end);
        tail >= TORN_WITHIN || last && tail >= TORN
    }
}

/// An audit in progress.
#[derive(Default)]
struct Auditor {
    audit: Audit,
    seen: Vec<VerifiedNode>,
    /// Directories, by slot, with the versions of their good entries.
    entries: Vec<(u32, u32)>,
    /// Damaged entries: the directory's slot, the version, and the number of the place.
    wrong_entries: Vec<(u32, u32, Option<usize>)>,
    /// Numbers of damaged attributes.
    wrong_attributes: Vec<u32>,
    /// Inodes, by slot, with a good inode node.
    has_good: HashSet<u32>,
    /// The last block with something else than JFFS2.
    last_foreign: u32,
    /// Zeros at the end of the last block of JFFS2 so far.
    zeros_at_end: Option<Place>,
}

impl Auditor {
    fn tell(&mut self, place: Place) -> Option<usize> {
        self.audit.unknown_loss |= place.meaning == Consequence::Unknown;
        if self.audit.places.len() == PLACES {
            self.audit.more += 1;
            return None;
        }
        self.audit.places.push(place);
        Some(self.audit.places.len() - 1)
    }

    fn block<M: Mtd>(&mut self, volume: &Volume<M>, view: &View<'_>, marked: bool) {
        let block = volume.blocks.block(view.block);
        let is_gap = |node: &NodeRef| node.owner() == Owner::Nobody && !node.state().is_live();
        let own = marked || gap::begins_like_jffs2(view.bytes, volume.order);
        let own = own || !block.refs().iter().all(is_gap);
        let zeros = self.zeros_at_end.take_if(|_| own && !block.refs().is_empty());
        if let Some(zeros) = zeros {
            self.tell(zeros);
        }
        for (index, node) in (0..).zip(block.refs()) {
            let Some(id) = volume.blocks.id(view.block, index) else { continue };
            let range = node.offset()..node.offset() + volume.blocks.length(id);
            match node.owner() {
                Owner::Nobody if is_gap(node) => self.gap(volume, view, range, own),
                Owner::Nobody => {}
                Owner::Inode(slot) => self.node(volume, view, id, slot, &range),
                Owner::Xattr(_) | Owner::Xref(_) => self.attribute(volume, view, &range),
            }
        }
        let free = volume.blocks.free_offset(view.block)..view.size();
        self.gap(volume, view, free, own);
    }

    /// Verifies a node that the scan assigned to an inode.
    fn node<M: Mtd>(
        &mut self,
        volume: &Volume<M>,
        view: &View<'_>,
        id: NodeId,
        slot: u32,
        range: &Range<u32>,
    ) {
        self.audit.nodes += 1;
        let bytes = view.at(range);
        let problem = match Header::parse(bytes, volume.order).map(|header| header.node_type) {
            Ok(NodeType::Dirent) => self.entry(volume, view, slot, range),
            Ok(NodeType::Inode) => self.data(volume, view, id, slot, range),
            Ok(other) => Err((other, Malformed::Value { field: "node type", found: 0 })),
            Err(_) => Err((NodeType::Unknown(0), Malformed::Value { field: "header", found: 0 })),
        };
        let Err((node_type, cause)) = problem else { return };
        // The scan accepted it only because of a summary.
        self.audit.damaged += 1;
        let ino =
            volume.inodes.try_get(slot).filter(|inode| inode.links > 0).map(|found| found.ino);
        let meaning = if ino.is_some() { Consequence::Lost } else { Consequence::Superseded };
        if let Some(ino) = ino {
            self.audit.inode_damage.entry(ino).or_default().suspected = true;
        }
        let (at, length) = (view.start + offset(range.start), range.end - range.start);
        self.tell(Place { at, length, what: DamageKind::Fields(node_type, cause), meaning, ino });
    }

    fn entry<M: Mtd>(
        &mut self,
        volume: &Volume<M>,
        view: &View<'_>,
        slot: u32,
        range: &Range<u32>,
    ) -> Result<(), (NodeType, Malformed)> {
        let of = |cause| (NodeType::Dirent, cause);
        let bytes = view.at(range);
        let found = DirentView::new(bytes, volume.order).map_err(of)?;
        let parent = found.with_name(&[]);
        if found.parse().is_ok() {
            self.entries.push((slot, parent.version));
            return Ok(());
        }
        self.audit.damaged += 1;
        self.wrong_name(volume, view, range, found.with_name(found.name_so_far()));
        Ok(())
    }

    /// Reports an entry with an invalid name; its directory is certain.
    fn wrong_name<M: Mtd>(
        &mut self,
        volume: &Volume<M>,
        view: &View<'_>,
        range: &Range<u32>,
        entry: Dirent<'_>,
    ) {
        let length = range.end - range.start;
        let torn = view.is_torn(range.start, length) && !(view.lost)(range.clone());
        let meaning = if torn { Consequence::Torn } else { Consequence::Lost };
        let at = view.start + offset(range.start);
        let what = DamageKind::Name { name: entry.name.to_vec() };
        let place = Place { at, length, what, meaning, ino: Some(entry.parent) };
        let number = self.tell(place);
        if let (false, Some(slot)) = (torn, volume.inodes.slot(entry.parent)) {
            self.wrong_entries.push((slot, entry.version, number));
        }
    }

    fn data<M: Mtd>(
        &mut self,
        volume: &Volume<M>,
        view: &View<'_>,
        id: NodeId,
        slot: u32,
        range: &Range<u32>,
    ) -> Result<(), (NodeType, Malformed)> {
        let of = |cause| (NodeType::Inode, cause);
        let found = InodeView::new(view.at(range), volume.order).map_err(of)?;
        let node = found.parse();
        let right = found.check_lengths().is_ok()
            && found.data().len() == to_usize(node.csize)
            && crc(0, found.data()) == node.data_crc
            || found.check_lengths().is_ok() && node.csize == 0;
        let mut seen = VerifiedNode { slot, node: id, good: right, place: None, fields: node };
        if !right {
            self.audit.damaged += 1;
            let (at, length) = (view.start + offset(range.start), range.end - range.start);
            let torn = view.is_torn(range.start, length) && !(view.lost)(range.clone());
            let meaning = if torn { Consequence::Torn } else { Consequence::Superseded };
            let bytes = u64::from(node.offset)..u64::from(node.offset) + u64::from(node.dsize);
            let what = DamageKind::Data { bytes };
            seen.place = self.tell(Place { at, length, what, meaning, ino: Some(node.ino) });
            if torn {
                return Ok(());
            }
        }
        if right {
            self.has_good.insert(slot);
        }
        self.seen.push(seen);
        Ok(())
    }

    fn attribute<M: Mtd>(&mut self, volume: &Volume<M>, view: &View<'_>, range: &Range<u32>) {
        self.audit.nodes += 1;
        let (bytes, order) = (view.at(range), volume.order);
        let (wrong, ino) = match Header::parse(bytes, order).map(|header| header.node_type) {
            Ok(NodeType::Xattr) => match XattrView::new(bytes, order) {
                Ok(found) if found.parse().is_ok() => return,
                Ok(found) => (Some(found.xid()), None),
                Err(_) => (None, None),
            },
            Ok(NodeType::Xref) => match XrefView::new(bytes, order) {
                Ok(_) => return,
                Err(_) => (None, None),
            },
            _ => (None, None),
        };
        self.audit.damaged += 1;
        self.wrong_attributes.extend(wrong);
        let meaning = if wrong.is_some() { Consequence::Lost } else { Consequence::Unknown };
        let (at, length) = (view.start + offset(range.start), range.end - range.start);
        self.tell(Place { at, length, what: DamageKind::Attribute, meaning, ino });
    }

    /// Reports nodes in a block that is marked bad, which JFFS2 does not read. A flash that retires
    /// a block has moved its nodes before.
    fn bad_block(&mut self, view: &View<'_>, order: ByteOrder) {
        let nodes = gap::count_nodes(view.bytes, order);
        if nodes > 0 {
            let what = DamageKind::BadBlock { nodes };
            let (at, length) = (view.start, view.size());
            self.tell(Place { at, length, what, meaning: Consequence::Superseded, ino: None });
        }
    }

    fn conclude<M>(mut self, volume: &Volume<M>) -> Audit {
        self.judge_content(volume);
        self.judge_names(volume);
        self.judge_attributes(volume);
        self.judge_inodes(volume);
        if let Some(zeros) = self.zeros_at_end.take() {
            self.tell(Place { meaning: Consequence::Superseded, ..zeros });
        }
        self.audit.places.sort_by_key(|place| place.at);
        self.audit
    }

    /// A damaged entry has no consequence when there is a valid one of its version: a mount that
    /// did not see it reused the version, or garbage collection copied it. Nor does one in a
    /// deleted directory.
    fn judge_names<M>(&mut self, volume: &Volume<M>) {
        self.entries.sort_unstable();
        for (slot, version, place) in std::mem::take(&mut self.wrong_entries) {
            let alive = volume.inodes.try_get(slot).filter(|inode| inode.links > 0);
            let twice = self.entries.binary_search(&(slot, version)).is_ok();
            match alive.filter(|_| !twice) {
                Some(inode) => self.audit.inode_damage.entry(inode.ino).or_default().names = true,
                None => self.mean(place, Consequence::Superseded),
            }
        }
    }

    fn mean(&mut self, place: Option<usize>, meaning: Consequence) {
        if let Some(place) = place.and_then(|number| self.audit.places.get_mut(number)) {
            place.meaning = meaning;
        }
    }

    fn judge_attributes<M>(&mut self, volume: &Volume<M>) {
        if self.wrong_attributes.is_empty() {
            return;
        }
        self.wrong_attributes.sort_unstable();
        for slot in volume.xattrs.reference_slots() {
            let Some(reference) = volume.xattrs.reference(slot) else { continue };
            let wrong = self.wrong_attributes.binary_search(&reference.xid).is_ok();
            let alive = volume.inodes.find(reference.ino).is_some_and(|inode| inode.links > 0);
            if wrong && alive && !reference.removed {
                self.audit.inode_damage.entry(reference.ino).or_default().attributes = true;
            }
        }
    }
}

/// Bytes of a header.
const HEADER: usize = header::SIZE as usize;
