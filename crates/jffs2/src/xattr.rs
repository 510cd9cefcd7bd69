//! Extended attributes: names with values, and which inode has which.
//!
//! Layer: rank 5. Main types: [`Xattrs`], [`Datum`] (a name with its value, shared by any number of
//! inodes), [`Reference`] (this inode has that datum). Both have nodes on flash; of several nodes
//! of one number, or of one pair of inode and number, the newest is valid.
//!
//! A pair never has more than one [`Reference`], dead or alive: a mount cannot tell two of them
//! apart. Deliberate deviation: Linux creates a second reference when a value is set again, and
//! reuses the number of a deleted datum although a reference on flash still names it.
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
    /// Its newest node, from which [`Blocks::chain`] yields the others.
    pub nodes: Option<NodeId>,
    /// The number of references to it.
    pub references: u32,
    /// Namespace, name and value, once read.
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

/// The fact that an inode has a datum.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The inode.
    pub ino: u32,
    /// The number of the datum.
    pub xid: u32,
    /// The sequence number, without the removal bit.
    pub sequence: u32,
    /// Whether the datum was removed from the inode.
    pub removed: bool,
    /// Whether its newest node on flash records the removal.
    pub marked: bool,
    /// Its newest node, from which [`Blocks::chain`] yields the others.
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
    /// References that only record the removal of an attribute, or whose inode is deleted.
    dead: Vec<u32>,
    highest_xid: u32,
    highest_sequence: u32,
}

impl Xattrs {
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.data.is_empty() && self.references.is_empty()
    }

    /// The highest datum number in any node.
    #[must_use]
    pub const fn highest_xid(&self) -> u32 {
        self.highest_xid
    }

    /// The highest sequence number ever used.
    #[must_use]
    pub const fn highest_sequence(&self) -> u32 {
        self.highest_sequence
    }

    /// The numbers of data and references.
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

    /// The slot of the datum with a number, which is created with version 0 when missing.
    pub fn slot_or_new(&mut self, xid: u32) -> u32 {
        self.reserve_xid(xid);
        if let Some(slot) = self.slot(xid) {
            return slot;
        }
        let datum = Datum { xid, version: 0, nodes: None, references: 0, content: None };
        let slot = put(&mut self.data, datum);
        self.by_number.insert(xid, slot);
        slot
    }

    /// Reserves the number of a datum that a reference names; no other datum may get it.
    pub(crate) fn reserve_xid(&mut self, xid: u32) {
        self.highest_xid = self.highest_xid.max(xid);
    }

    /// Reserves the sequence number of a reference.
    pub(crate) fn reserve_sequence(&mut self, sequence: u32) {
        self.highest_sequence = self.highest_sequence.max(sequence);
    }

    /// Marks a reference dead; its nodes stay until no older one can become valid again.
    pub(crate) fn mark_dead(&mut self, slot: u32) {
        if let Some(reference) = self.reference_mut(slot) {
            reference.removed = true;
        }
        self.dead.push(slot);
    }

    /// Dead references of an inode whose newest node does not record the removal.
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

    /// The dead reference of an inode to a datum, with its nodes, or else a new one; returns its slot.
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

    /// Undoes [`Self::revive`].
    pub(crate) fn abandon(&mut self, slot: u32) {
        if self.reference(slot).is_some_and(|reference| reference.nodes.is_some()) {
            self.mark_dead(slot);
        } else {
            self.remove_reference(slot);
        }
    }

    /// The dead references.
    #[must_use]
    pub fn dead(&self) -> &[u32] {
        &self.dead
    }

    /// Adds a reference without a node and returns its slot.
    pub fn add_reference(&mut self, ino: u32, xid: u32, sequence: u32, removed: bool) -> u32 {
        self.reserve_sequence(sequence);
        self.reserve_xid(xid);
        let marked = removed;
        let reference = Reference { ino, xid, sequence, removed, marked, nodes: None, next: None };
        put(&mut self.references, reference)
    }

    /// Removes a datum.
    pub fn remove_datum(&mut self, slot: u32) {
        if let Some(gone) = self.data[to_usize(slot)].take() {
            self.by_number.remove(&gone.xid);
        }
    }

    /// Removes a reference.
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

/// Slots are not reused: obsolete nodes name their owner until their block is erased.
fn put<T>(slots: &mut Vec<Option<T>>, entry: T) -> u32 {
    slots.push(Some(entry));
    u32::try_from(slots.len() - 1).expect("fewer attributes than bytes of a flash")
}
