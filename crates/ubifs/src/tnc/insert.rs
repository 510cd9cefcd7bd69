//! Adding and replacing keys, and splitting znodes.
//!
//! Layer: rank 5. A full znode is split in the middle; but data keys of one inode are kept together
//! where that is possible, and appending to a file fills znodes completely.
//!
//! Source: Linux 6.1, `fs/ubifs/tnc.c` (`ubifs_tnc_add`, `ubifs_tnc_replace`, `ubifs_tnc_add_nm`,
//! `tnc_insert`, `insert_zbranch`, `correct_parent_keys`).

use super::Tnc;
use super::lookup::{Access, Lookup};
use super::znode::{Cursor, Zbranch, ZnodeId};
use crate::format::index::Branch;
use crate::format::key::{Key, KeyType};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// A name that no entry has: names on flash have no zero bytes.
const NO_NAME: &[u8] = &[0];

/// How a full znode is split.
struct Split {
    /// Branches that stay.
    keep: usize,
    /// Whether the new branch goes to the old znode.
    into_old: bool,
    /// Its slot there.
    slot: usize,
}

fn is_data_of(key: Key, other: Key) -> bool {
    key.ino() == other.ino() && key.kind() == Some(KeyType::Data)
}

impl Tnc {
    /// Inserts a branch at a slot of a dirty znode, and splits znodes up to the root if need be.
    fn insert(&mut self, at: ZnodeId, branch: Zbranch, slot: usize) {
        let (mut znode, mut branch, mut slot) = (at, branch, slot);
        let mut appending = false;
        loop {
            let parent = self.arena.node(znode).parent();
            if self.arena.node(znode).count() < self.arena.fanout() {
                self.insert_branch(znode, slot, branch);
                if slot == 0 {
                    self.lower_parent_keys(znode);
                }
                return;
            }
            let split = self.choose_split(znode, &branch, slot, &mut appending);
            let new = self.split(znode, &branch, &split);
            let Some(parent) = parent else { return self.grow(znode, new) };
            if split.into_old && split.slot == 0 {
                self.lower_parent_keys(znode);
            }
            slot = self.arena.node(znode).slot_in_parent() + 1;
            branch = Zbranch::unwritten(self.arena.branch(new, 0).key, new);
            znode = parent;
        }
    }

    /// Puts a branch into a znode that has room. A first key that becomes lower may later hide the
    /// znode from a search by the key that is in its node on flash.
    fn insert_branch(&mut self, znode: ZnodeId, slot: usize, branch: Zbranch) {
        assert!(self.arena.node(znode).dirty, "a clean znode gets a branch");
        self.arena.insert(znode, slot, branch);
        if slot == 0 {
            self.arena.node_mut(znode).alt = true;
        }
    }

    /// Lowers the keys of the parents to the first key of a znode, as far as it is their first child
    /// (`correct_parent_keys`).
    fn lower_parent_keys(&mut self, znode: ZnodeId) {
        let key = self.arena.branch(znode, 0).key;
        let mut node = *self.arena.node(znode);
        while let (0, Some(parent)) = (node.iip, node.parent()) {
            let first = self.arena.branch_mut(parent, 0);
            if key >= first.key {
                return;
            }
            first.key = key;
            self.arena.node_mut(parent).alt = true;
            node = *self.arena.node(parent);
        }
    }

    fn choose_split(
        &self,
        znode: ZnodeId,
        branch: &Zbranch,
        slot: usize,
        appending: &mut bool,
    ) -> Split {
        let branches = self.arena.branches(znode);
        let fanout = branches.len();
        let key = branch.key;
        let mut together = false;
        if self.arena.node(znode).level == 0 && key.kind() == Some(KeyType::Data) {
            if slot == fanout {
                *appending = is_data_of(branches[slot - 1].key, key);
            } else {
                together = true;
            }
        } else if *appending && slot != fanout {
            *appending = false;
            together = true;
        }
        let middle = fanout.div_ceil(2);
        let ends_run =
            |slot: usize| is_data_of(branches[0].key, key) && !is_data_of(branches[slot].key, key);
        if together && slot >= middle && ends_run(slot) {
            return Split { keep: slot, into_old: true, slot };
        }
        let keep = if *appending { fanout } else { middle };
        if slot < keep {
            return Split { keep: keep - 1, into_old: true, slot };
        }
        Split { keep, into_old: false, slot: slot - keep }
    }

    /// Moves the branches behind `keep` to a new znode, which is not in the parent yet, and inserts the
    /// new branch into one of them.
    fn split(&mut self, znode: ZnodeId, branch: &Zbranch, split: &Split) -> ZnodeId {
        if self.arena.node(znode).alt {
            self.remember_old(znode);
            self.own_branch_mut(znode).set_place(LebIndex(0), 0, 0);
        }
        let level = self.arena.node(znode).level;
        let new = self.new_dirty(level);
        self.arena.split(znode, split.keep, new);
        let target = if split.into_old { znode } else { new };
        self.insert_branch(target, split.slot, *branch);
        new
    }

    /// Adds a level: a new root above the old one and its new neighbour.
    fn grow(&mut self, old: ZnodeId, new: ZnodeId) {
        let level = self.arena.node(old).level + 1;
        let root = self.new_dirty(level);
        let mut first = self.zroot;
        first.key = self.arena.branch(old, 0).key;
        first.set_child(Some(old));
        self.arena.push(root, first);
        let key = self.arena.branch(new, 0).key;
        self.arena.push(root, Zbranch::unwritten(key, new));
        self.zroot = Zbranch::unwritten(Key::LOWEST, root);
    }
}

impl<L: Lebs> Volume<L> {
    /// Makes the branch under a cursor lead to a new node; the old one is dirty space.
    fn redirect(&mut self, clock: &mut Clock, at: Cursor, new: &Branch) -> Result<(), Error> {
        self.tnc.arena.drop_leaf(at);
        let old = self.tnc.arena.under(at).branch();
        self.add_dirt(clock, old.lnum, old.len)?;
        let branch = self.tnc.arena.branch_mut(at.znode, at.slot());
        branch.set_place(new.lnum, new.offs, new.len);
        Ok(())
    }

    /// Adds a key or redirects it to a new node (`ubifs_tnc_add`).
    pub(crate) fn tnc_add(&mut self, clock: &mut Clock, branch: Branch) -> Result<(), Error> {
        let Lookup { at, exact } = self.lookup_level0(clock, branch.key, Access::Change)?;
        if exact {
            self.redirect(clock, at, &branch)?;
        } else {
            self.tnc.insert(at.znode, branch.into(), at.behind());
        }
        self.check_tnc(clock, false)
    }

    /// Redirects a key from the node at `old` to a new one. If the index does not lead to `old`, the
    /// new node is dirty space (`ubifs_tnc_replace`).
    pub(crate) fn tnc_replace(
        &mut self,
        clock: &mut Clock,
        old: (LebIndex, u32),
        new: Branch,
    ) -> Result<(), Error> {
        let Lookup { mut at, exact } = self.lookup_level0(clock, new.key, Access::Change)?;
        let mut found = exact && self.tnc.arena.under(at).is_at(old.0, old.1);
        if exact && !found && new.key.is_hashed() {
            found = self.resolve_by_place(clock, new.key, &mut at, old)?;
            if found {
                self.dirty_upwards(clock, at.znode)?;
            }
        }
        if found {
            self.redirect(clock, at, &new)?;
        } else {
            self.add_dirt(clock, new.lnum, new.len)?;
        }
        self.check_tnc(clock, false)
    }

    /// Adds an entry or redirects the one with this name (`ubifs_tnc_add_nm`).
    pub(crate) fn tnc_add_name(
        &mut self,
        clock: &mut Clock,
        branch: Branch,
        name: &[u8],
    ) -> Result<(), Error> {
        let key = branch.key;
        let Lookup { mut at, exact } = self.lookup_level0(clock, key, Access::Change)?;
        if exact {
            let found = self.resolve(clock, key, &mut at, name, true)?;
            self.dirty_upwards(clock, at.znode)?;
            if found {
                self.redirect(clock, at, &branch)?;
                return self.check_tnc(clock, false);
            }
        }
        self.tnc.insert(at.znode, branch.into(), at.behind());
        self.check_tnc(clock, false)?;
        if self.mode.replaying {
            // The entry may have been there under a branch whose node is missing now.
            return self.tnc_remove_name(clock, key, NO_NAME);
        }
        Ok(())
    }
}
