//! Dropping znodes when memory is short.
//!
//! Layer: rank 5. Only clean znodes are dropped, with all below them, level by level from the root: what
//! is old at the top is at least as old below.
//!
//! Source: Linux 6.1, `fs/ubifs/shrinker.c` (`shrink_tnc`, `ubifs_shrink_scan`), `tnc_misc.c`
//! (`ubifs_tnc_levelorder_next`, `ubifs_destroy_tnc_subtree`).

use super::znode::{Cursor, Zbranch, ZnodeId};
use super::{Tnc, second};
use crate::{Lebs, Ubifs, Volume};
use boardlab_sim::{Clock, Instant};

/// The ages in seconds that are tried one after another (`OLD_ZNODE_AGE`, `YOUNG_ZNODE_AGE`, all).
const AGES: [u32; 3] = [20, 5, 0];

impl<L: Lebs> Ubifs<L> {
    /// Drops clean indexing nodes from memory, as the kernel does when memory is short: `count` of them
    /// or as many as there are, those unused for longest first. The result is how many were dropped.
    pub fn shrink_index(&mut self, clock: &Clock, count: u64) -> u64 {
        self.volume.shrink_tnc(clock.now(), count)
    }
}

impl<L: Lebs> Volume<L> {
    /// Drops clean znodes until `count` are gone or none is left, the old ones first. The result is how
    /// many were dropped; 0 with dirty znodes present says that a commit would help.
    pub(crate) fn shrink_tnc(&mut self, now: Instant, count: u64) -> u64 {
        let mut freed = 0;
        for age in AGES {
            if freed < count {
                freed += self.tnc.shrink(second(now), count - freed, age);
            }
        }
        freed
    }
}

impl Tnc {
    fn shrink(&mut self, now: u32, count: u64, age: u32) -> u64 {
        let mut freed = 0;
        let mut level: Vec<ZnodeId> = self.zroot.child().into_iter().collect();
        while !level.is_empty() {
            let mut kept = Vec::with_capacity(level.len());
            for id in level {
                if freed >= count || self.clean == 0 {
                    return freed;
                }
                let node = self.arena.node(id);
                if node.dirty || now.abs_diff(node.time) < age {
                    kept.push(id);
                    continue;
                }
                self.own_branch_mut(id).set_child(None);
                let gone = self.destroy(id);
                self.clean -= gone;
                freed += gone;
            }
            level = kept.into_iter().flat_map(|id| self.children(id)).collect();
        }
        freed
    }

    fn children(&self, id: ZnodeId) -> Vec<ZnodeId> {
        if self.arena.node(id).level == 0 {
            return Vec::new();
        }
        self.arena.branches(id).iter().filter_map(Zbranch::child).collect()
    }

    /// Frees a clean znode and all below it, and returns how many; the depth is that of the index.
    fn destroy(&mut self, id: ZnodeId) -> u64 {
        let node = *self.arena.node(id);
        assert!(!node.dirty, "a dirty znode below a clean one");
        let mut gone = 1;
        for slot in 0..node.count() {
            if node.level == 0 {
                self.arena.drop_leaf(Cursor::at(id, slot));
            } else if let Some(child) = self.arena.branch(id, slot).child() {
                gone += self.destroy(child);
            }
        }
        self.arena.release(id);
        gone
    }
}
