//! Finding keys, and walking along level 0.
//!
//! Layer: rank 5. Main types: [`Lookup`], [`Access`].
//!
//! Source: Linux 6.1, `fs/ubifs/tnc.c` (`ubifs_lookup_level0`, `lookup_level0_dirty`, `tnc_next`,
//! `tnc_prev`, `ubifs_tnc_locate`).

use super::znode::Cursor;
use super::{Located, second};
use crate::format::key::Key;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// Why a key is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// To read.
    Read,
    /// To change what is found: all znodes on the way become dirty.
    Change,
}

/// Where a key is, or the slot before the place where it would be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lookup {
    pub at: Cursor,
    pub exact: bool,
}

impl<L: Lebs> Volume<L> {
    /// Finds a key at level 0.
    pub(super) fn lookup_level0(
        &mut self,
        clock: &mut Clock,
        key: Key,
        access: Access,
    ) -> Result<Lookup, Error> {
        let lookup = self.descend(clock, key, access)?;
        if lookup.exact || !key.is_hashed() || lookup.at.n != -1 {
            return Ok(lookup);
        }
        // The first entry with this key may be the last one of the znode to the left: a split does not
        // keep equal keys together, and the parent's key stays when the first one is removed.
        let mut left = lookup.at;
        if !self.tnc_prev(clock, &mut left)? || self.tnc.arena.under(left).key != key {
            return Ok(lookup);
        }
        if access == Access::Change {
            self.dirty_upwards(clock, left.znode)?;
        }
        Ok(Lookup { at: left, exact: true })
    }

    fn descend(&mut self, clock: &mut Clock, key: Key, access: Access) -> Result<Lookup, Error> {
        let now = second(clock.now());
        let mut znode = self.root_znode(clock)?;
        self.tnc.arena.node_mut(znode).time = now;
        loop {
            if access == Access::Change {
                self.dirty_znode(clock, znode)?;
            }
            let (exact, n) = self.tnc.arena.search(znode, key);
            let at = Cursor { znode, n };
            if self.tnc.arena.node(znode).level == 0 {
                return Ok(Lookup { at, exact });
            }
            let slot = Cursor { znode, n: n.max(0) }.slot();
            znode = match self.tnc.arena.branch(znode, slot).child() {
                Some(child) => {
                    self.tnc.arena.node_mut(znode).time = now;
                    child
                }
                None => self.load_znode(clock, Some((znode, slot)))?,
            };
        }
    }

    /// Moves a cursor one slot to the right. False: there is none, and the cursor stays.
    pub(super) fn tnc_next(&mut self, clock: &mut Clock, at: &mut Cursor) -> Result<bool, Error> {
        let mut slot = at.behind();
        let mut znode = at.znode;
        while slot == self.tnc.arena.node(znode).count() {
            let node = self.tnc.arena.node(znode);
            let Some(parent) = node.parent() else { return Ok(false) };
            slot = node.slot_in_parent() + 1;
            znode = parent;
        }
        while self.tnc.arena.node(znode).level != 0 {
            znode = self.child_znode(clock, znode, slot)?;
            slot = 0;
        }
        *at = Cursor::at(znode, slot);
        Ok(true)
    }

    /// Moves a cursor one slot to the left. False: there is none, and the cursor stays.
    pub(super) fn tnc_prev(&mut self, clock: &mut Clock, at: &mut Cursor) -> Result<bool, Error> {
        if at.n > 0 {
            at.n -= 1;
            return Ok(true);
        }
        let (mut slot, mut znode) = (0, at.znode);
        while slot == 0 {
            let node = self.tnc.arena.node(znode);
            let Some(parent) = node.parent() else { return Ok(false) };
            slot = node.slot_in_parent();
            znode = parent;
        }
        slot -= 1;
        while self.tnc.arena.node(znode).level != 0 {
            znode = self.child_znode(clock, znode, slot)?;
            slot = self.tnc.arena.node(znode).count() - 1;
        }
        *at = Cursor::at(znode, slot);
        Ok(true)
    }

    /// Reads the node of a key; `None`: there is none. Of several entries with this key it is any.
    pub(crate) fn tnc_lookup(
        &mut self,
        clock: &mut Clock,
        key: Key,
    ) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.tnc_locate(clock, key)?.map(|located| located.node))
    }

    /// As [`Volume::tnc_lookup`], with the place of the node.
    pub(crate) fn tnc_locate(
        &mut self,
        clock: &mut Clock,
        key: Key,
    ) -> Result<Option<Located>, Error> {
        let Lookup { at, exact } = self.lookup_level0(clock, key, Access::Read)?;
        if !exact {
            return Ok(None);
        }
        let branch = self.tnc.arena.under(at).branch();
        let located = |node| Located { node, leb: branch.lnum, offs: branch.offs };
        if key.is_hashed() {
            return Ok(self.read_entry(clock, at)?.map(located));
        }
        if self.head_of(branch.lnum).is_none() {
            // The kernel reads without its lock, and again with it when that did not work.
            if let Ok(Some(node)) = self.fallible_read_node(clock, &branch) {
                return Ok(Some(located(node)));
            }
            self.lookup_level0(clock, key, Access::Read)?;
        }
        Ok(Some(located(self.tnc_read_node(clock, branch)?)))
    }

    /// Whether garbage collection may have moved nodes of a LEB since its count was `gc_seq`
    /// (`maybe_leb_gced`).
    pub(super) fn may_be_collected(&self, leb: LebIndex, gc_seq: u32) -> bool {
        if self.gc.gc_seq == gc_seq {
            return false;
        }
        gc_seq.wrapping_add(1) != self.gc.gc_seq || self.gc.gced_lnum == Some(leb)
    }
}
