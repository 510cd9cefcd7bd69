//! The combined content of all nodes of an inode, including damaged ones.
//!
//! Layer: rank 5. The content of a file is assembled as if damaged nodes were valid. What is
//! visible of them at the end is lost, and what no node holds is missing. All nodes of a flash are
//! sorted once, so the work does not grow quadratically.

use super::{Auditor, Consequence, InodeDamage};
use crate::block::NodeId;
use crate::format::Inode;
use crate::fragments::{Fragment, Fragments};
use crate::index::ROOT;
use crate::volume::Volume;
use boardlab_vfs::Kind;
use std::collections::BTreeMap;
use std::ops::Range;

/// An inode node with valid fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct VerifiedNode {
    pub(super) slot: u32,
    pub(super) node: NodeId,
    pub(super) good: bool,
    /// The number of its place when it is damaged.
    pub(super) place: Option<usize>,
    pub(super) fields: Inode,
}

impl Auditor {
    /// Determines the damage of each inode with a name.
    pub(super) fn judge_content<M>(&mut self, volume: &Volume<M>) {
        let mut seen = std::mem::take(&mut self.seen);
        seen.sort_unstable_by_key(|node| (node.slot, node.fields.version, node.good, node.node));
        for nodes in seen.chunk_by(|one, other| one.slot == other.slot) {
            let inode = volume.inodes.try_get(nodes[0].slot).filter(|inode| inode.links > 0);
            if let Some(inode) = inode {
                let damage = self.judge_inode(nodes);
                if damage != InodeDamage::default() {
                    self.audit.inode_damage.insert(inode.ino, damage);
                }
            }
        }
    }

    /// Determines the damage of one inode. `nodes` are sorted from the oldest; of two nodes of a
    /// version the valid one is last.
    fn judge_inode(&mut self, nodes: &[VerifiedNode]) -> InodeDamage {
        let mut damage = InodeDamage::default();
        let Some(newest) = nodes.last() else { return damage };
        let mut fragments = Fragments::default();
        let mut damaged = BTreeMap::new();
        let mut effects = Vec::new();
        for same in nodes.chunk_by(|one, other| one.fields.version == other.fields.version) {
            // A mount that did not see the damaged node reused its version, or garbage collection
            // copied it.
            let any_good = same.last().is_some_and(|last| last.good);
            for node in same.iter().filter(|node| node.good || !any_good) {
                if !node.good {
                    damaged.insert(node.node, node.place);
                }
                effects.clear();
                let Inode { offset, dsize, .. } = node.fields;
                fragments.add(node.node, offset, dsize, &mut effects);
            }
        }
        if !newest.good {
            damage.metadata = true;
            self.mean(newest.place, Consequence::Lost);
        }
        let is_file = newest.fields.mode & 0o170_000 == Kind::File.mode_bits();
        if is_file {
            cut(&mut fragments, newest.fields.isize, &mut damage);
        } else if damaged.is_empty() {
            return damage;
        }
        for piece in fragments.iter() {
            let node = piece.dnode.map(|dnode| fragments.dnode(dnode).node);
            match node.map(|node| damaged.get(&node)) {
                Some(None) => {}
                Some(Some(place)) => {
                    self.mean(*place, Consequence::Lost);
                    push(&mut damage.stale, range(&piece));
                }
                None if is_file => push(&mut damage.missing, range(&piece)),
                None => {}
            }
        }
        damage
    }

    /// Determines names whose inode has no valid node, and directories that lost theirs.
    pub(super) fn judge_inodes<M>(&mut self, volume: &Volume<M>) {
        for slot in volume.inodes.slots_from(ROOT + 1..) {
            let inode = volume.inodes.get(slot);
            if inode.links == 0 || self.has_good.contains(&slot) {
                continue;
            }
            self.audit.inode_damage.entry(inode.ino).or_default().metadata = true;
        }
    }
}

/// Truncates the file to the size in its newest node, and records missing bytes.
fn cut(fragments: &mut Fragments, size: u32, damage: &mut InodeDamage) {
    let there = fragments.truncate(size, &mut Vec::new());
    if there < size {
        damage.cut_from = Some(u64::from(size));
        damage.missing.push(u64::from(there)..u64::from(size));
    }
}

fn range(piece: &Fragment) -> Range<u64> {
    u64::from(piece.offset)..piece.end()
}

/// Adds a range; what touches the last one grows it.
fn push(ranges: &mut Vec<Range<u64>>, next: Range<u64>) {
    match ranges.last_mut() {
        Some(last) if last.end == next.start => last.end = next.end,
        _ => ranges.push(next),
    }
}
