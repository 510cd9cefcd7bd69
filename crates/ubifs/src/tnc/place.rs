//! Finding out whether the index refers to a node on flash.
//!
//! Layer: rank 5. Main type: [`InIndex`]. Garbage collection and the commit scan LEBs, and ask for each
//! node that they find. An indexing node is found by the first key in it and its place. The znode may
//! have another first key by now; one that has changed too much is in `Tnc::old_index`.
//!
//! Source: Linux 6.1, `fs/ubifs/tnc.c` (`left_znode`, `right_znode`, `lookup_znode`,
//! `is_idx_node_in_tnc`, `is_leaf_node_in_tnc`, `ubifs_tnc_has_node`, `ubifs_dirty_idx_node`).

use super::lookup::{Access, Lookup};
use super::znode::{Cursor, ZnodeId};
use crate::format::key::Key;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// How the index refers to an indexing node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InIndex {
    /// Not at all.
    No,
    /// The znode has changed: the node is only part of the last commit's index.
    Dirty,
    /// The node is what is in memory.
    Clean,
}

impl<L: Lebs> Volume<L> {
    /// Moves a cursor to the last slot of the znode to the left on the same level.
    fn left_of(&mut self, clock: &mut Clock, at: &mut Cursor) -> Result<bool, Error> {
        let level = self.tnc.arena.node(at.znode).level;
        let (mut slot, mut znode) = (0, at.znode);
        while slot == 0 {
            let node = self.tnc.arena.node(znode);
            let Some(parent) = node.parent() else { return Ok(false) };
            slot = node.slot_in_parent();
            znode = parent;
        }
        slot -= 1;
        while self.tnc.arena.node(znode).level != level {
            znode = self.child_znode(clock, znode, slot)?;
            slot = self.tnc.arena.node(znode).count() - 1;
        }
        *at = Cursor::at(znode, slot);
        Ok(true)
    }

    /// Moves a cursor to the first slot of the znode to the right on the same level.
    fn right_of(&mut self, clock: &mut Clock, at: &mut Cursor) -> Result<bool, Error> {
        let level = self.tnc.arena.node(at.znode).level;
        let (mut slot, mut znode) = (usize::MAX, at.znode);
        while slot >= self.tnc.arena.node(znode).count() {
            let node = self.tnc.arena.node(znode);
            let Some(parent) = node.parent() else { return Ok(false) };
            slot = node.slot_in_parent() + 1;
            znode = parent;
        }
        while self.tnc.arena.node(znode).level != level {
            znode = self.child_znode(clock, znode, slot)?;
            slot = 0;
        }
        *at = Cursor::at(znode, 0);
        Ok(true)
    }

    /// The znode of the indexing node at a place (`lookup_znode`).
    fn lookup_znode(
        &mut self,
        clock: &mut Clock,
        key: Key,
        level: u16,
        place: (LebIndex, u32),
    ) -> Result<Option<ZnodeId>, Error> {
        let root = self.root_znode(clock)?;
        if self.tnc.zroot.is_at(place.0, place.1) {
            return Ok(Some(root));
        }
        if level >= self.tnc.arena.node(root).level {
            return Ok(None);
        }
        let Some(at) = self.descend_above(clock, root, key, level)? else { return Ok(None) };
        let is_it = |volume: &Self, at: Cursor| volume.tnc.arena.under(at).is_at(place.0, place.1);
        if is_it(self, at) {
            return self.child_znode(clock, at.znode, at.slot()).map(Some);
        }
        if !key.is_hashed() {
            return Ok(None);
        }
        let mut left = at;
        while self.step_left(clock, &mut left)? {
            if is_it(self, left) {
                return self.child_znode(clock, left.znode, left.slot()).map(Some);
            }
            if self.tnc.arena.under(left).key < key {
                break;
            }
        }
        let mut right = at;
        while self.step_right(clock, &mut right)? {
            if is_it(self, right) {
                return self.child_znode(clock, right.znode, right.slot()).map(Some);
            }
            if self.tnc.arena.under(right).key > key {
                break;
            }
        }
        Ok(None)
    }

    /// Descends to the slot for `key` one level above `level`.
    fn descend_above(
        &mut self,
        clock: &mut Clock,
        root: ZnodeId,
        key: Key,
        level: u16,
    ) -> Result<Option<Cursor>, Error> {
        let mut znode = root;
        loop {
            let (_, n) = self.tnc.arena.search(znode, key);
            let mut at = Cursor { znode, n };
            if n < 0 {
                // All keys here are greater: the node can only be to the left.
                if !self.left_of(clock, &mut at)? {
                    return Ok(None);
                }
                at.n = self.tnc.arena.search(at.znode, key).1;
                if at.n < 0 {
                    return Ok(None);
                }
            }
            if self.tnc.arena.node(at.znode).level == level + 1 {
                return Ok(Some(at));
            }
            znode = self.child_znode(clock, at.znode, at.slot())?;
        }
    }

    fn step_left(&mut self, clock: &mut Clock, at: &mut Cursor) -> Result<bool, Error> {
        if at.n > 0 {
            at.n -= 1;
            return Ok(true);
        }
        self.left_of(clock, at)
    }

    fn step_right(&mut self, clock: &mut Clock, at: &mut Cursor) -> Result<bool, Error> {
        if at.behind() < self.tnc.arena.node(at.znode).count() {
            at.n += 1;
            return Ok(true);
        }
        self.right_of(clock, at)
    }

    /// Whether the index refers to an indexing node; `key` is its first one (`is_idx_node_in_tnc`).
    pub(super) fn find_index_node(
        &mut self,
        clock: &mut Clock,
        key: Key,
        level: u16,
        place: (LebIndex, u32),
    ) -> Result<InIndex, Error> {
        Ok(match self.lookup_znode(clock, key, level, place)? {
            None => InIndex::No,
            Some(id) if self.tnc.arena.node(id).dirty => InIndex::Dirty,
            Some(_) => InIndex::Clean,
        })
    }

    fn has_leaf(
        &mut self,
        clock: &mut Clock,
        key: Key,
        place: (LebIndex, u32),
    ) -> Result<bool, Error> {
        let Lookup { mut at, exact } = self.lookup_level0(clock, key, Access::Read)?;
        if !exact {
            return Ok(false);
        }
        if !key.is_hashed() {
            return Ok(self.tnc.arena.under(at).is_at(place.0, place.1));
        }
        self.resolve_by_place(clock, key, &mut at, place)
    }

    /// Whether the node at a place is in the index. An indexing node is in it only while its znode has
    /// not changed; `key` is then the first key in it (`ubifs_tnc_has_node`).
    pub(crate) fn tnc_has_node(
        &mut self,
        clock: &mut Clock,
        key: Key,
        level: u16,
        at: (LebIndex, u32),
        index: bool,
    ) -> Result<bool, Error> {
        if index {
            return Ok(self.find_index_node(clock, key, level, at)? == InIndex::Clean);
        }
        self.has_leaf(clock, key, at)
    }

    /// Makes the znode of an indexing node dirty, so that the commit writes it elsewhere
    /// (`ubifs_dirty_idx_node`).
    pub(crate) fn dirty_idx_node(
        &mut self,
        clock: &mut Clock,
        key: Key,
        level: u16,
        leb: LebIndex,
        offs: u32,
    ) -> Result<(), Error> {
        match self.lookup_znode(clock, key, level, (leb, offs))? {
            Some(id) => self.dirty_upwards(clock, id),
            None => Ok(()),
        }
    }
}
