//! Removing keys. Znodes are not merged; one without branches leaves its parent.
//!
//! Layer: rank 5.
//!
//! Source: Linux 6.1, `fs/ubifs/tnc.c` (`tnc_delete`, `ubifs_tnc_remove`, `ubifs_tnc_remove_nm`,
//! `ubifs_tnc_remove_dh`, `ubifs_tnc_remove_range`, `ubifs_tnc_remove_ino`).

use super::broken;
use super::lookup::{Access, Lookup};
use super::znode::{Cursor, Zbranch, ZnodeId};
use crate::format::key::Key;
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;

impl<L: Lebs> Volume<L> {
    /// Removes the branch under a cursor (`tnc_delete`).
    fn tnc_delete(&mut self, clock: &mut Clock, at: Cursor) -> Result<(), Error> {
        let branch = self.tnc.arena.under(at).branch();
        if self.is_last_branch(at.znode) {
            // Only an index without a root directory can lose its last key.
            return Err(broken(&branch));
        }
        self.tnc.arena.drop_leaf(at);
        self.add_dirt(clock, branch.lnum, branch.len)?;
        self.tnc.arena.remove(at.znode, at.slot(), 1);
        if self.tnc.arena.node(at.znode).count() > 0 {
            return Ok(());
        }
        let (parent, slot) = self.release_empty(at.znode);
        self.tnc.arena.remove(parent, slot, 1);
        if self.tnc.arena.node(parent).parent().is_none() {
            self.shrink_height(clock, parent)?;
        }
        Ok(())
    }

    /// Whether a znode and all above it have one branch.
    fn is_last_branch(&self, znode: ZnodeId) -> bool {
        let mut next = Some(znode);
        while let Some(id) = next {
            let node = self.tnc.arena.node(id);
            if node.count() > 1 {
                return false;
            }
            next = node.parent();
        }
        true
    }

    /// Frees an empty znode and those above it that have no other child. The result is the slot of the
    /// last one in the first ancestor that has.
    fn release_empty(&mut self, znode: ZnodeId) -> (ZnodeId, usize) {
        let mut id = znode;
        loop {
            let node = *self.tnc.arena.node(id);
            assert!(node.dirty, "a clean znode lost its branches");
            let parent = node.parent().expect("the root keeps a branch");
            self.tnc.remember_old(id);
            self.tnc.dirty -= 1;
            self.tnc.arena.release(id);
            if self.tnc.arena.node(parent).count() > 1 {
                return (parent, node.slot_in_parent());
            }
            id = parent;
        }
    }

    /// Removes roots that have one child.
    fn shrink_height(&mut self, clock: &mut Clock, root: ZnodeId) -> Result<(), Error> {
        let mut root = root;
        loop {
            let node = self.tnc.arena.node(root);
            if node.count() != 1 || node.level == 0 {
                return Ok(());
            }
            let child = self.child_znode(clock, root, 0)?;
            self.dirty_znode(clock, child)?;
            let zroot = self.tnc.zroot;
            self.tnc.remember_place(&zroot);
            let mut branch = *self.tnc.arena.branch(root, 0);
            branch.key = Key::LOWEST;
            self.tnc.zroot = branch;
            self.tnc.arena.set_parent(child, None);
            assert!(self.tnc.arena.node(root).dirty, "a clean root lost its branches");
            self.tnc.dirty -= 1;
            self.tnc.arena.release(root);
            root = child;
        }
    }

    /// Removes a key, if it is there (`ubifs_tnc_remove`).
    pub(crate) fn tnc_remove(&mut self, clock: &mut Clock, key: Key) -> Result<(), Error> {
        let Lookup { at, exact } = self.lookup_level0(clock, key, Access::Change)?;
        if exact {
            self.tnc_delete(clock, at)?;
        }
        self.check_tnc(clock, false)
    }

    /// Removes the entry with this name, if it is there (`ubifs_tnc_remove_nm`).
    pub(crate) fn tnc_remove_name(
        &mut self,
        clock: &mut Clock,
        key: Key,
        name: &[u8],
    ) -> Result<(), Error> {
        let Lookup { mut at, exact } = self.lookup_level0(clock, key, Access::Change)?;
        if exact && self.resolve(clock, key, &mut at, name, false)? {
            self.dirty_upwards(clock, at.znode)?;
            self.tnc_delete(clock, at)?;
        }
        self.check_tnc(clock, false)
    }

    /// Removes all keys from `from` up to `to`, both included (`ubifs_tnc_remove_range`).
    pub(crate) fn tnc_remove_range(
        &mut self,
        clock: &mut Clock,
        from: Key,
        to: Key,
    ) -> Result<(), Error> {
        loop {
            let Lookup { mut at, exact } = self.lookup_level0(clock, from, Access::Read)?;
            if !exact {
                let next = self.tnc_next(clock, &mut at)?;
                if !next || !(from..=to).contains(&self.tnc.arena.under(at).key) {
                    break;
                }
            }
            self.dirty_upwards(clock, at.znode)?;
            self.remove_behind(clock, at, from, to)?;
            self.tnc_delete(clock, at)?;
        }
        self.check_tnc(clock, false)
    }

    /// Removes the keys of a range behind a slot of one znode.
    fn remove_behind(
        &mut self,
        clock: &mut Clock,
        at: Cursor,
        from: Key,
        to: Key,
    ) -> Result<(), Error> {
        let first = at.behind();
        let in_range = |branch: &&Zbranch| (from..=to).contains(&branch.key);
        let branches = &self.tnc.arena.branches(at.znode)[first..];
        let count = branches.iter().take_while(in_range).count();
        for slot in first..first + count {
            let at = Cursor::at(at.znode, slot);
            self.tnc.arena.drop_leaf(at);
            let branch = self.tnc.arena.under(at).branch();
            self.add_dirt(clock, branch.lnum, branch.len)?;
        }
        self.tnc.arena.remove(at.znode, first, count);
        Ok(())
    }

    /// Removes an inode with all that belongs to it, its extended attributes included
    /// (`ubifs_tnc_remove_ino`).
    pub(crate) fn tnc_remove_ino(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let mut key = Key::xattr(ino, 0);
        let mut name: Option<Vec<u8>> = None;
        while let Some(entry) = self.tnc_next_entry(clock, key, name.as_deref())? {
            let xattr = u32::try_from(entry.inum).expect("an entry was checked when it was read");
            self.inodes.remove(&xattr);
            // As in the kernel, this is the key before the entry's: what remains goes with the range of
            // all keys of the inode.
            self.tnc_remove_name(clock, key, &entry.name)?;
            self.tnc_remove_range(clock, Key::lowest_of(xattr), Key::highest_of(xattr))?;
            key = entry.key;
            name = Some(entry.name);
        }
        self.tnc_remove_range(clock, Key::lowest_of(ino), Key::highest_of(ino))
    }
}
