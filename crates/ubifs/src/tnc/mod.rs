//! The tree node cache (TNC): the index of the filesystem, as far as it is in memory.
//!
//! Layer: rank 5. Main types: [`Tnc`], [`Located`], [`BulkRead`]. The index is a B+ tree from keys to
//! places of leaf nodes. Its nodes are read when they are needed (`load`), and changes stay in memory
//! until the commit writes them (`commit`, `gaps`).
//!
//! ```text
//!   zroot -> znode (level 2) -> znode (level 1) -> znode (level 0) -> leaf nodes on flash
//!            dirty: differs from its node on flash; then all above it are dirty, too
//! ```
//!
//! Entries may have equal keys, since a key holds a hash of the name. They lie next to each other in
//! the order of their names, perhaps in two znodes (`collision`).
//!
//! The index of the last commit must stay intact on flash until the next commit is complete. An
//! indexing node belongs to it if a znode still remembers its place, or if it is in `old_index`.
//!
//! Left out: the copies of znodes that change while a commit writes them, since our commit is one step.
//!
//! Source: Linux 6.1, `fs/ubifs/tnc.c`, `tnc_misc.c`, `tnc_commit.c`, `shrinker.c`, `debug.c`.

mod build;
mod bulk;
mod check;
mod collision;
mod commit;
mod entry;
mod gaps;
mod insert;
mod load;
mod lookup;
mod place;
mod remove;
mod shrink;
mod znode;

#[cfg(test)]
mod tests;

pub(crate) use load::{key_of, kind_of};

use crate::error::Problem;
use crate::format::index::Branch;
use crate::format::master::Master;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::{Clock, Instant};
use std::collections::BTreeSet;
use znode::{Arena, Zbranch, ZnodeId};

/// The index in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tnc {
    /// The LEB of the index head, where the commit writes.
    pub(crate) ihead_lnum: LebIndex,
    /// Its first free byte.
    pub(crate) ihead_offs: u32,
    /// The branch to the root.
    pub(crate) zroot: Zbranch,
    arena: Arena,
    /// Nodes of the last commit's index that no znode remembers.
    old_index: BTreeSet<(LebIndex, u32)>,
    dirty: u64,
    clean: u64,
    plan: commit::Plan,
    /// The buffer of the commit. Its content persists, since the alignment between nodes is not
    /// cleared.
    buffer: Vec<u8>,
}

/// A node that was located.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    /// Its bytes.
    pub node: Vec<u8>,
    /// Its LEB.
    pub leb: LebIndex,
    /// Its offset.
    pub offs: u32,
}

/// Data nodes of consecutive keys that lie one after another (`struct bu_info`).
#[derive(Debug, Clone, Default)]
pub(crate) struct BulkRead {
    /// Where they are.
    pub branches: Vec<Branch>,
    /// Blocks of the file that they cover, holes included.
    pub block_count: u32,
    /// The count of garbage collection when they were looked up.
    pub gc_seq: u32,
    /// The file has no data behind them.
    pub eof: bool,
    /// The nodes, each aligned, as read.
    pub buffer: Vec<u8>,
}

/// An index whose nodes contradict each other.
const fn broken(branch: &Branch) -> Error {
    Error::at(branch.lnum, branch.offs, Problem::Index)
}

/// The second of an instant, for the age of znodes.
fn second(now: Instant) -> u32 {
    u32::try_from(now.as_nanos() / 1_000_000_000).unwrap_or(u32::MAX)
}

impl Tnc {
    /// The branch that leads to a znode.
    fn own_branch(&self, id: ZnodeId) -> &Zbranch {
        let node = self.arena.node(id);
        match node.parent() {
            Some(parent) => self.arena.branch(parent, node.slot_in_parent()),
            None => &self.zroot,
        }
    }

    fn own_branch_mut(&mut self, id: ZnodeId) -> &mut Zbranch {
        let node = self.arena.node(id);
        match node.parent() {
            Some(parent) => {
                let slot = node.slot_in_parent();
                self.arena.branch_mut(parent, slot)
            }
            None => &mut self.zroot,
        }
    }

    /// Notes that the node of a znode belongs to the index of the last commit
    /// (`insert_old_idx_znode`).
    fn remember_old(&mut self, id: ZnodeId) {
        let place = *self.own_branch(id);
        self.remember_place(&place);
    }

    fn remember_place(&mut self, place: &Zbranch) {
        if place.len != 0 {
            self.old_index.insert((place.lnum(), place.offs));
        }
    }

    fn new_dirty(&mut self, level: u16) -> ZnodeId {
        let id = self.arena.add(level);
        self.arena.node_mut(id).dirty = true;
        self.dirty += 1;
        id
    }

    /// Begins at the index of a master node, with nothing in memory.
    pub(crate) fn load_master(&mut self, master: &Master) {
        *self = Self {
            ihead_lnum: master.ihead_lnum,
            ihead_offs: master.ihead_offs,
            zroot: master.root().into(),
            ..Self::default()
        };
    }
}

impl<L: Lebs> Volume<L> {
    /// Whether a commit has indexing nodes to write.
    pub(crate) fn tnc_root_is_dirty(&self) -> bool {
        self.tnc.zroot.child().is_some_and(|root| self.tnc.arena.node(root).dirty)
    }

    /// Dirty and clean znodes (`dirty_zn_cnt`, `clean_zn_cnt`).
    pub(crate) fn znode_counts(&self) -> (u64, u64) {
        (self.tnc.dirty, self.tnc.clean)
    }

    /// Bytes of entries in the leaf node cache.
    pub(crate) const fn leaf_cache_bytes(&self) -> u64 {
        self.tnc.arena.leaf_bytes()
    }

    /// Nodes of the last commit's index that only the table of them remembers (`old_idx`).
    #[allow(dead_code, reason = "for the memory of the kernel")]
    pub(crate) fn old_index_count(&self) -> u64 {
        u64::try_from(self.tnc.old_index.len()).expect("a count fits u64")
    }

    /// Forgets the old index, after a commit (`destroy_old_idx`).
    pub(crate) fn destroy_old_index(&mut self) {
        self.tnc.old_index.clear();
    }

    /// Makes a znode differ from its node on flash, which thus becomes dirty space
    /// (`dirty_cow_znode`, `add_idx_dirt`).
    fn dirty_znode(&mut self, clock: &mut Clock, id: ZnodeId) -> Result<(), Error> {
        let node = self.tnc.arena.node_mut(id);
        if node.dirty {
            return Ok(());
        }
        node.dirty = true;
        self.tnc.dirty += 1;
        self.tnc.clean -= 1;
        let branch = self.tnc.own_branch(id).branch();
        let size = u64::from(branch.len.next_multiple_of(8));
        self.calc_idx_sz = self.calc_idx_sz.checked_sub(size).ok_or_else(|| broken(&branch))?;
        self.add_dirt(clock, branch.lnum, branch.len)
    }

    /// Makes a znode and all above it dirty, the highest one first (`dirty_cow_bottom_up`).
    fn dirty_upwards(&mut self, clock: &mut Clock, id: ZnodeId) -> Result<(), Error> {
        let mut node = self.tnc.arena.node(id);
        if node.dirty {
            return Ok(());
        }
        let mut path = vec![id];
        while let (false, Some(parent)) = (node.dirty, node.parent()) {
            path.push(parent);
            node = self.tnc.arena.node(parent);
        }
        path.into_iter().rev().try_for_each(|id| self.dirty_znode(clock, id))
    }
}
