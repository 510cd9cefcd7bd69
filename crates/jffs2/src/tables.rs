//! Consistency checks of the tables in memory.
//!
//! Layer: rank 5. `Jffs2::compare_tables`, for tests and explorations: these invariants hold after
//! any operation, whatever was on the flash and wherever the power was cut before.
//!
//! ```text
//!  blocks      counts and lists               the sums of their nodes
//!  inode       its list of nodes              every node of it that counts, each once, and no other's
//!  attribute   references that lead to it     as many as it counts
//!  reference   of an inode, or dead           one of both, once
//!  open inode  pieces, metadata, entries      the nodes of it that count, each in one role
//!  buffer      what is in it                  the last bytes before the free space of its block
//! ```

use crate::Jffs2;
use crate::block::{List, NodeId, NodeState, Owner};
use crate::format::{length_of, pad, to_usize};
use crate::hold::hold;
use crate::index::InodeState;
use crate::inode::OpenInode;
use crate::volume::Volume;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Bytes;
use boardlab_vfs::Contradiction;
use std::collections::{BTreeMap, BTreeSet};

impl<M: Mtd> Jffs2<M> {
    /// Compares the tables with each other.
    pub(crate) fn compare_tables(&self) -> Result<(), Contradiction> {
        self.volume.blocks.compare_accounts()?;
        self.volume.compare_lists()?;
        self.volume.compare_chains()?;
        self.volume.compare_references()?;
        self.volume.compare_buffer()?;
        for open in self.open.values() {
            self.volume.compare_open(open)?;
        }
        for slot in self.volume.inodes.slots_from(0..) {
            let inode = self.volume.inodes.get(slot);
            let (held, ino) = (self.open.contains_key(&inode.ino), inode.ino);
            let state = inode.state;
            hold!(held == (state == InodeState::Present), "inode {ino} is {state:?}: {held}");
            // A read-only mount keeps the inode of an invalid entry.
            let wanted = held || inode.links > 0 || inode.nodes.is_some() || self.volume.read_only;
            hold!(wanted, "nothing is left of inode {ino}");
        }
        Ok(())
    }
}

/// For each block, which of its nodes occurred in a list.
type VisitedNodes = Vec<Vec<bool>>;

impl<M: Mtd> Volume<M> {
    /// A block on no list is being written or emptied.
    fn compare_lists(&self) -> Result<(), Contradiction> {
        let blocks = &self.blocks;
        for block in (0..blocks.count()).map(BlockIndex) {
            let (list, space) = (blocks.block(block).list(), blocks.block(block).space());
            let in_hand = [blocks.writing, blocks.collecting].contains(&Some(block));
            hold!(in_hand == (list == List::None), "block {block} is on {list:?}: {in_hand}");
            let free = space.free + u64::from(self.layout.cleanmarker());
            let right = match list {
                List::Free => free == u64::from(blocks.size()),
                List::BadUsed => space.free == 0,
                _ => true,
            };
            hold!(right, "block {block} on {list:?} has {space:?}");
        }
        let erasing = blocks.on_list(List::Erasing);
        hold!(erasing == 0, "{erasing} blocks are being erased, and nothing is");
        let waiting = blocks.on_list(List::ErasablePendingWbuf);
        hold!(waiting == 0 || self.wbuf.is_dirty(), "{waiting} blocks wait for an empty buffer");
        Ok(())
    }

    /// Every list of nodes contains only nodes of its owner, each once, and all live ones.
    fn compare_chains(&self) -> Result<(), Contradiction> {
        let blocks = || (0..self.blocks.count()).map(BlockIndex);
        let mut met: VisitedNodes =
            blocks().map(|block| vec![false; self.blocks.block(block).refs().len()]).collect();
        for slot in self.inodes.slots_from(0..) {
            self.follow(&mut met, Owner::Inode(slot), self.inodes.get(slot).nodes)?;
        }
        for slot in self.xattrs.data_slots() {
            let first = self.xattrs.datum(slot).and_then(|datum| datum.nodes);
            self.follow(&mut met, Owner::Xattr(slot), first)?;
        }
        for slot in self.xattrs.reference_slots() {
            let first = self.xattrs.reference(slot).and_then(|reference| reference.nodes);
            self.follow(&mut met, Owner::Xref(slot), first)?;
        }
        for (block, met) in blocks().zip(met) {
            for (node, met) in self.blocks.block(block).refs().iter().zip(met) {
                let listed = met || node.owner() == Owner::Nobody || !node.state().is_live();
                hold!(listed, "{node:?} in block {block} counts, and its owner does not know it");
            }
        }
        Ok(())
    }

    fn follow(
        &self,
        met: &mut VisitedNodes,
        owner: Owner,
        first: Option<NodeId>,
    ) -> Result<(), Contradiction> {
        let mut next = first;
        while let Some(id) = next {
            let met = &mut met[to_usize(id.block().0)];
            let Some(met) = met.get_mut(to_usize(id.index())) else {
                return Err(Contradiction(format!("{owner:?} has {id:?}, which was erased")));
            };
            let found = self.blocks.node(id).owner();
            hold!(found == owner, "{owner:?} has {id:?} of {found:?}");
            hold!(!std::mem::replace(met, true), "{owner:?} has {id:?} twice");
            next = self.blocks.node(id).next();
        }
        Ok(())
    }

    /// Every reference is either in the list of its inode or dead, and every datum counts its
    /// references in lists.
    fn compare_references(&self) -> Result<(), Contradiction> {
        let mut listed = BTreeSet::new();
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for slot in self.inodes.slots_from(0..) {
            let inode = self.inodes.get(slot);
            let mut next = inode.xrefs;
            while let Some(slot) = next {
                hold!(listed.insert(slot), "reference {slot} is in lists twice");
                let Some(reference) = self.xattrs.reference(slot) else {
                    return Err(Contradiction(format!("inode {}: no reference {slot}", inode.ino)));
                };
                let own = reference.ino == inode.ino && !reference.removed;
                hold!(own, "inode {} has {reference:?}", inode.ino);
                *counts.entry(reference.xid).or_default() += 1;
                next = reference.next;
            }
        }
        for &slot in self.xattrs.dead() {
            hold!(listed.insert(slot), "reference {slot} is dead, and in a list or dead twice");
        }
        for slot in self.xattrs.reference_slots() {
            hold!(listed.contains(&slot), "reference {slot} is in no list and not dead");
            let left = self.xattrs.reference(slot).is_some_and(|entry| entry.nodes.is_some());
            hold!(left, "nothing is left of reference {slot}");
        }
        for datum in self.xattrs.data_slots().filter_map(|slot| self.xattrs.datum(slot)) {
            let found = counts.get(&datum.xid).copied().unwrap_or(0);
            let (xid, counted) = (datum.xid, datum.references);
            hold!(found == counted, "attribute {xid} has {found} references and counts {counted}");
            hold!(counted > 0 || datum.nodes.is_some(), "nothing is left of attribute {xid}");
        }
        Ok(())
    }

    /// The content of the write buffer lies directly before the free space of its block.
    fn compare_buffer(&self) -> Result<(), Contradiction> {
        let Some(at) = self.wbuf.at.filter(|_| self.wbuf.is_dirty()) else { return Ok(()) };
        let block = self.blocks.block_at(at);
        let end = at + Bytes::new(u64::from(pad(length_of(&self.wbuf.content))));
        let free =
            self.blocks.block_offset(block) + Bytes::new(u64::from(self.blocks.free_offset(block)));
        hold!(end == free, "the write buffer ends at {end}, the nodes of its block at {free}");
        Ok(())
    }

    /// An open inode refers to all of its live nodes, each once, and to no others.
    fn compare_open(&self, open: &OpenInode) -> Result<(), Contradiction> {
        let OpenInode { ino, slot, .. } = *open;
        let Some(cache) = self.inodes.try_get(slot).filter(|cache| cache.ino == ino) else {
            return Err(Contradiction(format!("inode {ino} is open and not in slot {slot}")));
        };
        let same = open.is_directory() || cache.links == open.links;
        hold!(same, "inode {ino} has {} links open, {} else", open.links, cache.links);
        let pieces = open.fragments.dnodes().map(|dnode| dnode.node);
        let entries = open.entries.values().filter_map(|entry| entry.node);
        let metadata = open.metadata_node.iter().map(|dnode| dnode.node);
        let mut named: Vec<NodeId> = pieces.chain(entries).chain(metadata).collect();
        let counts = |id: &NodeId| self.blocks.node(*id).state().is_live();
        let mut listed: Vec<NodeId> = self.blocks.chain(cache.nodes).filter(counts).collect();
        named.sort_unstable();
        listed.sort_unstable();
        hold!(named == listed, "inode {ino} names {named:?}, and {listed:?} count");
        let pristine = |id| self.blocks.node(id).state() == NodeState::Pristine;
        let removed = open.entries.values().filter(|entry| entry.ino == 0);
        let copied = removed.filter_map(|entry| entry.node).any(pristine);
        hold!(!copied, "a name removed from inode {ino} would be copied for ever");
        let newest = open.entries.values().map(|entry| entry.version).max().unwrap_or(0);
        hold!(newest <= open.highest_version, "inode {ino} has an entry of version {newest}");
        Ok(())
    }
}
