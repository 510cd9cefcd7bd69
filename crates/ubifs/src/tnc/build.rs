//! An index in memory of leaf nodes that are given, for volumes whose index on flash is not whole.
//!
//! Layer: rank 5. Nothing of it is written: its nodes have no place on flash.

use super::Tnc;
use super::znode::{Arena, Zbranch, ZnodeId};
use crate::format::index::Branch;
use crate::format::key::Key;
use crate::{Lebs, Volume};

impl<L: Lebs> Volume<L> {
    /// Takes an index of `leaves`, of which there is at least one, in the order of their keys.
    pub(crate) fn stand_in(&mut self, leaves: &[Branch]) {
        self.tnc = Tnc { arena: Arena::new(self.layout.fanout), ..Tnc::default() };
        let mut branches: Vec<Zbranch> = leaves.iter().copied().map(Zbranch::from).collect();
        let mut level = 0;
        loop {
            let nodes = self.tnc.add_level(level, &branches);
            if let [(key, root)] = nodes[..] {
                self.tnc.zroot = Zbranch::unwritten(key, root);
                return;
            }
            branches = nodes.into_iter().map(|(key, id)| Zbranch::unwritten(key, id)).collect();
            level += 1;
        }
    }
}

impl Tnc {
    /// The nodes of a level, full from the first on, with their lowest keys. They count as dirty, so
    /// that they stay in memory.
    fn add_level(&mut self, level: u16, branches: &[Zbranch]) -> Vec<(Key, ZnodeId)> {
        let mut nodes = Vec::new();
        for chunk in branches.chunks(self.arena.fanout()) {
            let id = self.new_dirty(level);
            for &branch in chunk {
                self.arena.push(id, branch);
            }
            nodes.push((chunk[0].key, id));
        }
        nodes
    }
}
