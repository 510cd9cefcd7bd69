//! Extended attributes: names with values, and which inode has which.
//!
//! Layer: rank 5. Main types: [`Xattrs`], [`Datum`] (a name with its value, shared by any number of
//! inodes), [`Reference`] (this inode has that datum). Both have nodes of their own on flash; of several
//! nodes of one number, or of one pair of inode and number, the newest counts.
//!
//! Of one pair there is never more than one [`Reference`], dead or not: a mount cannot tell two of them apart.
//! Different on purpose: Linux makes a second one when a value is set again, and gives the number of a datum
//! that is gone a second time though a reference on flash still names it.
//!
//! Source: Linux 6.1, `fs/jffs2/xattr.c`, `xattr.h`.

use crate::block::{Blocks, NodeId, NodeState, Owner};
use crate::format::{XattrPrefix, to_usize};
use boardlab_mtd::BlockIndex;
use std::collections::BTreeMap;

/// A name with its value.
#[derive(Debug, Clone)]
pub struct Datum {
    /// Its number.
    pub xid: u32,
    /// The version of its newest node.
    pub version: u32,
    /// Its newest node, from which [`Blocks::chain`] gives the others.
    pub nodes: Option<NodeId>,
    /// How many references lead to it.
    pub references: u32,
    /// Namespace, name and value, once they were read.
    pub content: Option<Content>,
}

/// Namespace, name and value of a [`Datum`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The namespace.
    pub prefix: XattrPrefix,
    /// The name after the namespace.
    pub name: Box<[u8]>,
    /// The value.
    pub value: Box<[u8]>,
}

/// That an inode has a datum.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The inode.
    pub ino: u32,
    /// The number of the datum.
    pub xid: u32,
    /// Its age, without the bit of removal.
    pub sequence: u32,
    /// Whether the inode no longer has the datum.
    pub removed: bool,
    /// Whether its newest node on flash says so.
    pub marked: bool,
    /// Its newest node, from which [`Blocks::chain`] gives the others.
    pub nodes: Option<NodeId>,
    /// The next reference of the same inode, by slot.
    pub(crate) next: Option<u32>,
}

/// All extended attributes of a flash.
#[derive(Debug, Clone, Default)]
pub struct Xattrs {
    data: Vec<Option<Datum>>,
    by_number: BTreeMap<u32, u32>,
    references: Vec<Option<Reference>>,
    /// References that say no more than that an attribute was removed, or whose inode is gone.
    dead: Vec<u32>,
    highest_xid: u32,
    highest_sequence: u32,
}

impl Xattrs {
    /// Whether there is none at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.data.is_empty() && self.references.is_empty()
    }

    /// The highest number of a datum that any node has named.
    #[must_use]
    pub const fn highest_xid(&self) -> u32 {
        self.highest_xid
    }

    /// The highest sequence number of a reference there ever was.
    #[must_use]
    pub const fn highest_sequence(&self) -> u32 {
        self.highest_sequence
    }

    /// How many data and references there are.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.by_number.len(), self.references.iter().flatten().count())
    }

    /// The slot of the datum of a number.
    #[must_use]
    pub fn slot(&self, xid: u32) -> Option<u32> {
        self.by_number.get(&xid).copied()
    }

    /// A datum by its slot.
    #[must_use]
    pub fn datum(&self, slot: u32) -> Option<&Datum> {
        self.data.get(to_usize(slot))?.as_ref()
    }

    /// A datum by its slot.
    pub fn datum_mut(&mut self, slot: u32) -> Option<&mut Datum> {
        self.data.get_mut(to_usize(slot))?.as_mut()
    }

    /// A reference by its slot.
    #[must_use]
    pub fn reference(&self, slot: u32) -> Option<&Reference> {
        self.references.get(to_usize(slot))?.as_ref()
    }

    /// A reference by its slot.
    pub fn reference_mut(&mut self, slot: u32) -> Option<&mut Reference> {
        self.references.get_mut(to_usize(slot))?.as_mut()
    }

    /// The slots of all data.
    pub fn data_slots(&self) -> impl Iterator<Item = u32> + use<> {
        in_use(&self.data).into_iter()
    }

    /// The slots of all references.
    pub fn reference_slots(&self) -> impl Iterator<Item = u32> + use<> {
        in_use(&self.references).into_iter()
    }

    /// The slot of the datum of a number, which is made when there is none, with version 0.
    pub fn slot_or_new(&mut self, xid: u32) -> u32 {
        self.note_xid(xid);
        if let Some(slot) = self.slot(xid) {
            return slot;
        }
        let datum = Datum { xid, version: 0, nodes: None, references: 0, content: None };
        let slot = put(&mut self.data, datum);
        self.by_number.insert(xid, slot);
        slot
    }

    /// A reference to the datum of this number was found; no other datum may get it.
    pub(crate) fn note_xid(&mut self, xid: u32) {
        self.highest_xid = self.highest_xid.max(xid);
    }

    /// A reference of this sequence number was found.
    pub(crate) fn note_sequence(&mut self, sequence: u32) {
        self.highest_sequence = self.highest_sequence.max(sequence);
    }

    /// A reference leads nowhere any longer; its nodes stay until nothing older can come back.
    pub(crate) fn bury(&mut self, slot: u32) {
        if let Some(reference) = self.reference_mut(slot) {
            reference.removed = true;
        }
        self.dead.push(slot);
    }

    /// References of an inode that lead nowhere any longer, while their newest node says otherwise.
    pub(crate) fn unmarked(&self, ino: u32) -> Vec<u32> {
        let unmarked = |&slot: &u32| {
            let reference = self.reference(slot);
            reference
                .is_some_and(|entry| entry.ino == ino && !entry.marked && entry.nodes.is_some())
        };
        self.dead.iter().copied().filter(unmarked).collect()
    }

    /// Whether a reference is of this inode and this datum.
    pub(crate) fn is_pair(&self, slot: u32, ino: u32, xid: u32) -> bool {
        self.reference(slot).is_some_and(|entry| (entry.ino, entry.xid) == (ino, xid))
    }

    /// The reference of an inode to a datum that was buried, with its nodes, or else a new one; its slot.
    pub(crate) fn revive(&mut self, ino: u32, xid: u32) -> u32 {
        let Some(at) = self.dead.iter().position(|&slot| self.is_pair(slot, ino, xid)) else {
            return self.add_reference(ino, xid, 0, false);
        };
        let slot = self.dead.swap_remove(at);
        if let Some(reference) = self.reference_mut(slot) {
            reference.removed = false;
        }
        slot
    }

    /// Takes [`Self::revive`] back.
    pub(crate) fn abandon(&mut self, slot: u32) {
        if self.reference(slot).is_some_and(|reference| reference.nodes.is_some()) {
            self.bury(slot);
        } else {
            self.remove_reference(slot);
        }
    }

    /// References that lead nowhere any longer.
    #[must_use]
    pub fn dead(&self) -> &[u32] {
        &self.dead
    }

    /// Adds a reference without a node and gives its slot.
    pub fn add_reference(&mut self, ino: u32, xid: u32, sequence: u32, removed: bool) -> u32 {
        self.note_sequence(sequence);
        self.note_xid(xid);
        let marked = removed;
        let reference = Reference { ino, xid, sequence, removed, marked, nodes: None, next: None };
        put(&mut self.references, reference)
    }

    /// Forgets a datum.
    pub fn remove_datum(&mut self, slot: u32) {
        if let Some(gone) = self.data[to_usize(slot)].take() {
            self.by_number.remove(&gone.xid);
        }
    }

    /// Forgets a reference.
    pub fn remove_reference(&mut self, slot: u32) {
        self.references[to_usize(slot)] = None;
        self.dead.retain(|&dead| dead != slot);
    }

    /// Adds a node of `version` at the beginning of the free space of `block` to a datum.
    pub(crate) fn link_datum(
        &mut self,
        blocks: &mut Blocks,
        slot: u32,
        version: u32,
        piece: (BlockIndex, u32, NodeState),
    ) -> NodeId {
        let (block, length, state) = piece;
        let datum = self.data[to_usize(slot)].as_mut().expect("Xattrs: the slot is in use");
        let Some(newest) = datum.nodes.filter(|_| datum.version > version) else {
            let id = blocks.link(block, length, state, Owner::Xattr(slot), datum.nodes);
            (datum.nodes, datum.version) = (Some(id), version);
            return id;
        };
        let next = blocks.node(newest).next();
        let id = blocks.link(block, length, state, Owner::Xattr(slot), next);
        blocks.set_next(newest, Some(id));
        id
    }

    /// Adds a node at the beginning of the free space of `block` to a reference, as its newest.
    pub(crate) fn link_reference(
        &mut self,
        blocks: &mut Blocks,
        slot: u32,
        piece: (BlockIndex, u32, NodeState),
    ) -> NodeId {
        let (block, length, state) = piece;
        let entry = self.references[to_usize(slot)].as_mut().expect("Xattrs: the slot is in use");
        let id = blocks.link(block, length, state, Owner::Xref(slot), entry.nodes);
        entry.nodes = Some(id);
        id
    }
}

fn in_use<T>(slots: &[Option<T>]) -> Vec<u32> {
    (0..).zip(slots).filter(|(_, entry)| entry.is_some()).map(|(slot, _)| slot).collect()
}

/// Slots are not used again: obsolete nodes name their owner until their block is erased.
fn put<T>(slots: &mut Vec<Option<T>>, entry: T) -> u32 {
    slots.push(Some(entry));
    u32::try_from(slots.len() - 1).expect("fewer attributes than bytes of a flash")
}
