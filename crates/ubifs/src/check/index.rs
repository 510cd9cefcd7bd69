//! The check of the index of the last commit, which the running commit must not have changed.
//!
//! Layer: rank 5. Source: Linux 6.1, `fs/ubifs/commit.c` (`dbg_check_old_index`).

use super::compare;
use crate::error::Problem;
use crate::format::NodeType;
use crate::format::index::{Branch, IndexNode};
use crate::format::key::Key;
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;

/// An indexing node to read: its branch, the level that it must have, and the key that limits its
/// keys from above.
struct Visit {
    branch: Branch,
    level: Option<u16>,
    upper: Key,
}

impl<L: Lebs> Volume<L> {
    /// Walks the index that the master node still refers to. At the first commit after a mount of a
    /// new filesystem too, the old index must be whole until the new one is.
    pub(crate) fn check_old_index(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let root = self.master.root();
        let expected = i64::try_from(self.master.index_size).unwrap_or(i64::MAX);
        let mut size = 0;
        let mut visits = vec![Visit { branch: root, level: None, upper: Key::HIGHEST }];
        while let Some(visit) = visits.pop() {
            size += i64::from(visit.branch.len.next_multiple_of(8));
            self.check_old_node(clock, &visit, &mut visits)?;
        }
        compare("the size of the old index", 0, expected, size)
    }

    fn check_old_node(
        &mut self,
        clock: &mut Clock,
        visit: &Visit,
        visits: &mut Vec<Visit>,
    ) -> Result<(), Error> {
        let Branch { lnum, offs, len, key } = visit.branch;
        let bytes = self.read_node(clock, NodeType::Index, lnum, offs, len)?;
        let node = IndexNode::parse(&bytes, self.layout.fanout).map_err(|cause| Error::Node {
            leb: lnum,
            offs,
            cause,
        })?;
        let wrong = || Error::at(lnum, offs, Problem::Index);
        if node.branches.is_empty() || visit.level.is_some_and(|level| node.level != level) {
            return Err(wrong());
        }
        let keys: Vec<Key> = node.branches.iter().map(|branch| branch.key).collect();
        let ascending = keys.windows(2).all(|pair| below(pair[0], pair[1]));
        if !ascending || keys[0] < key || !below(keys[keys.len() - 1], visit.upper) {
            return Err(wrong());
        }
        if node.level == 0 {
            return Ok(());
        }
        for (index, &branch) in node.branches.iter().enumerate() {
            let upper = keys.get(index + 1).copied().unwrap_or(visit.upper);
            visits.push(Visit { branch, level: Some(node.level - 1), upper });
        }
        Ok(())
    }
}

/// Whether a key may stand before another one. Only entries whose names have the same hash share a
/// key.
fn below(key: Key, upper: Key) -> bool {
    key < upper || key == upper && key.is_hashed()
}
