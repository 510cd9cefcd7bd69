//! The index of inodes: the number, nodes and check state of every inode, open or not.
//!
//! Layer: rank 5. Main types: [`Inodes`], [`InodeCache`], [`InodeState`]. The nodes of an inode are
//! a list through the references of [`block`](crate::block). Obsolete nodes stay in it until their
//! block is erased: on NAND nothing on the flash says that they are obsolete, and a removed name
//! must be known as long as an older entry for it exists.
//!
//! Source: Linux 6.1, `struct jffs2_inode_cache`, `fs/jffs2/nodelist.c`. The kernel's hash table is
//! an ordered map here: the check after a mount and the removal of unlinked inodes proceed by
//! number, not by bucket.

use crate::block::{Blocks, NodeId, NodeState, Owner};
use crate::format::to_usize;
use boardlab_mtd::BlockIndex;
use std::collections::BTreeMap;
use std::ops::RangeFrom;

/// The number of the root directory.
pub const ROOT: u32 = 1;

/// The check state of an inode (`INO_STATE_*`). The kernel's states of work in progress are left
/// out: here nothing runs concurrently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InodeState {
    /// Its nodes are found, but not checked.
    Unchecked,
    /// Checked, and not open.
    Checked,
    /// Checked, and open with all of its fragments or entries.
    Present,
}

/// The record of an inode (`struct jffs2_inode_cache`).
#[derive(Debug, Clone)]
pub struct InodeCache {
    /// Its number.
    pub ino: u32,
    /// The node linked last; [`Blocks::chain`] yields all.
    pub nodes: Option<NodeId>,
    /// The check state.
    pub state: InodeState,
    /// The link count of anything but a directory; for a directory the number of its parent. 0
    /// means that no name is left (`pino_nlink`).
    pub links: u32,
    /// Whether a directory entry calls it a directory.
    pub is_directory: bool,
    /// Whether `links` is the number of the parent.
    pub(crate) parent_known: bool,
    /// The first of its references to extended attributes, by slot.
    pub(crate) xrefs: Option<u32>,
}

/// All inodes that have nodes.
#[derive(Debug, Clone, Default)]
pub struct Inodes {
    slots: Vec<Option<InodeCache>>,
    by_number: BTreeMap<u32, u32>,
    vacant: Vec<u32>,
    highest: u32,
}

impl Inodes {
    /// An empty index; the next new inode gets number 2.
    #[must_use]
    pub fn new() -> Self {
        Self { highest: ROOT, ..Self::default() }
    }

    /// The highest number ever used.
    #[must_use]
    pub const fn highest(&self) -> u32 {
        self.highest
    }

    /// Reserves a number: new inodes get higher ones.
    pub(crate) fn reserve_number(&mut self, ino: u32) {
        self.highest = self.highest.max(ino);
    }

    /// The number of inodes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.by_number.len()
    }

    /// The slot of an inode.
    #[must_use]
    pub fn slot(&self, ino: u32) -> Option<u32> {
        self.by_number.get(&ino).copied()
    }

    /// An inode by its number.
    #[must_use]
    pub fn find(&self, ino: u32) -> Option<&InodeCache> {
        self.slot(ino).map(|slot| self.get(slot))
    }

    /// An inode by its slot.
    ///
    /// # Panics
    /// When the slot is vacant.
    #[must_use]
    pub fn get(&self, slot: u32) -> &InodeCache {
        self.slots[to_usize(slot)].as_ref().expect("Inodes: the slot is in use")
    }

    /// An inode by its slot; `None` when the slot is vacant.
    pub(crate) fn try_get(&self, slot: u32) -> Option<&InodeCache> {
        self.slots.get(to_usize(slot))?.as_ref()
    }

    /// An inode by its slot.
    ///
    /// # Panics
    /// When the slot is vacant.
    pub fn get_mut(&mut self, slot: u32) -> &mut InodeCache {
        self.slots[to_usize(slot)].as_mut().expect("Inodes: the slot is in use")
    }

    /// The slot of an inode, which is created when missing (`scan_make_ino_cache`). The root has a
    /// name from the beginning.
    pub fn slot_or_new(&mut self, ino: u32) -> u32 {
        self.highest = self.highest.max(ino);
        if let Some(slot) = self.slot(ino) {
            return slot;
        }
        let links = u32::from(ino == ROOT);
        let state = InodeState::Unchecked;
        let entry = InodeCache {
            ino,
            nodes: None,
            state,
            links,
            is_directory: false,
            parent_known: false,
            xrefs: None,
        };
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("fewer inodes than bytes of a flash")
        });
        self.slots[to_usize(slot)] = Some(entry);
        self.by_number.insert(ino, slot);
        slot
    }

    /// Removes an inode that has no nodes left.
    pub fn remove(&mut self, slot: u32) {
        if let Some(gone) = self.slots[to_usize(slot)].take() {
            self.by_number.remove(&gone.ino);
            self.vacant.push(slot);
        }
    }

    /// The slots of all inodes from a number on, in numerical order.
    pub fn slots_from(&self, numbers: RangeFrom<u32>) -> impl Iterator<Item = u32> + '_ {
        self.by_number.range(numbers).map(|(_, &slot)| slot)
    }

    /// Adds a node at the beginning of the free space of `block` to the list of an inode.
    pub fn link(
        &mut self,
        blocks: &mut Blocks,
        slot: u32,
        block: BlockIndex,
        length: u32,
        state: NodeState,
    ) -> NodeId {
        let inode = self.get_mut(slot);
        let id = blocks.link(block, length, state, Owner::Inode(slot), inode.nodes);
        inode.nodes = Some(id);
        id
    }

    /// Removes the nodes in `block` from the lists of their inodes before it is erased, and drops
    /// inodes that have neither a name nor a node left.
    pub(crate) fn unlink_block(&mut self, blocks: &mut Blocks, block: BlockIndex) {
        let owners: Vec<u32> = blocks.block(block).refs().iter().filter_map(inode_of).collect();
        let mut done = None;
        for slot in owners {
            if done.replace(slot) == Some(slot) || self.slots[to_usize(slot)].is_none() {
                continue;
            }
            self.unlink_inode(blocks, slot, block);
        }
    }

    fn unlink_inode(&mut self, blocks: &mut Blocks, slot: u32, block: BlockIndex) {
        let mut next = self.get(slot).nodes;
        let mut kept = None;
        while let Some(id) = next {
            next = blocks.node(id).next();
            if id.block() == block {
                match kept {
                    None => self.get_mut(slot).nodes = next,
                    Some(before) => blocks.set_next(before, next),
                }
            } else {
                kept = Some(id);
            }
        }
        let inode = self.get(slot);
        if inode.nodes.is_none() && inode.links == 0 && inode.state != InodeState::Present {
            self.remove(slot);
        }
    }
}

fn inode_of(node: &crate::block::NodeRef) -> Option<u32> {
    match node.owner() {
        Owner::Inode(slot) => Some(slot),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_blocks() -> (Blocks, Inodes, u32) {
        let (mut blocks, mut inodes) = (Blocks::new(2, 1024), Inodes::new());
        let slot = inodes.slot_or_new(5);
        for block in [0, 1, 0, 1, 1] {
            inodes.link(&mut blocks, slot, BlockIndex(block), 100, NodeState::Pristine);
        }
        (blocks, inodes, slot)
    }

    #[test]
    fn the_nodes_of_an_inode_are_listed_from_the_last_linked_on() {
        let (blocks, inodes, slot) = two_blocks();
        let chain = blocks.chain(inodes.get(slot).nodes);
        let found: Vec<_> = chain.map(|id| (id.block().0, id.index())).collect();
        assert_eq!(found, [(1, 2), (1, 1), (0, 1), (1, 0), (0, 0)]);
    }

    #[test]
    fn an_erased_block_takes_its_nodes_out_of_the_lists() {
        let (mut blocks, mut inodes, slot) = two_blocks();
        inodes.unlink_block(&mut blocks, BlockIndex(1));
        let chain = blocks.chain(inodes.get(slot).nodes);
        assert_eq!(chain.map(|id| id.block().0).collect::<Vec<_>>(), [0, 0]);
        inodes.unlink_block(&mut blocks, BlockIndex(0));
        assert_eq!((inodes.find(5).is_none(), inodes.highest()), (true, 5));
    }

    #[test]
    fn an_inode_with_a_name_outlives_its_nodes() {
        let (mut blocks, mut inodes, slot) = two_blocks();
        inodes.get_mut(slot).links = 1;
        inodes.unlink_block(&mut blocks, BlockIndex(0));
        inodes.unlink_block(&mut blocks, BlockIndex(1));
        assert!(inodes.get(slot).nodes.is_none());
    }

    #[test]
    fn slots_are_used_again_and_numbers_are_not() {
        let mut inodes = Inodes::new();
        let slot = inodes.slot_or_new(9);
        inodes.remove(slot);
        assert_eq!((inodes.slot_or_new(7), inodes.highest(), inodes.count()), (slot, 9, 1));
    }

    #[test]
    fn inodes_are_listed_by_number() {
        let mut inodes = Inodes::new();
        for ino in [30, 1, 20] {
            inodes.slot_or_new(ino);
        }
        let from =
            |first| inodes.slots_from(first..).map(|slot| inodes.get(slot).ino).collect::<Vec<_>>();
        assert_eq!((from(0), from(2)), (vec![1, 20, 30], vec![20, 30]));
    }
}
