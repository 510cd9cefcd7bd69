//! The tree of a file: which chunk of the flash holds each chunk of the file.
//!
//! Layer: rank 5. Main type: [`Tree`]. Lowest nodes have sixteen entries, higher ones eight; a tree is as high
//! as its highest chunk needs, and becomes lower only when its file is truncated. The number of nodes decides
//! how many blocks a checkpoint takes and how much memory YAFFS needs, so it is kept as in YAFFS. Source:
//! `core/yaffs_guts.c`, from `yaffs_find_tnode_0` to `yaffs_prune_tree`.

use crate::format::{CHUNK_MAX, to_usize};
use crate::layout::{BRANCH, Chunk, LEAF};

/// Nodes of all trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NodeCount(pub(crate) u32);

#[derive(Debug, Clone)]
enum Node {
    Leaf([Chunk; LEAF]),
    Branch([Option<Box<Self>>; BRANCH]),
}

impl Node {
    fn leaf(count: &mut NodeCount) -> Box<Self> {
        count.0 += 1;
        Box::new(Self::Leaf([0; LEAF]))
    }

    fn branch(count: &mut NodeCount) -> Box<Self> {
        count.0 += 1;
        Box::new(Self::Branch([const { None }; BRANCH]))
    }
}

/// The tree of a file. An empty one has a lowest node.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    top: Option<Box<Node>>,
    /// Levels above the lowest nodes.
    level: u32,
}

/// The levels that a chunk of the file needs.
const fn levels(chunk: u32) -> u32 {
    let mut rest = chunk >> 4;
    let mut levels = 0;
    while rest > 0 {
        rest >>= 3;
        levels += 1;
    }
    levels
}

fn branch_at(chunk: u32, level: u32) -> usize {
    to_usize(chunk >> (4 + (level - 1) * 3) & 7)
}

fn leaf_at(chunk: u32) -> usize {
    to_usize(chunk & 15)
}

impl Tree {
    pub(crate) fn new(count: &mut NodeCount) -> Self {
        Self { top: Some(Node::leaf(count)), level: 0 }
    }

    /// The lowest node of a chunk of the file, if there is one.
    fn leaf(&self, chunk: u32) -> Option<&[Chunk; LEAF]> {
        if chunk > CHUNK_MAX || levels(chunk) > self.level {
            return None;
        }
        let (mut node, mut level) = (self.top.as_ref()?, self.level);
        loop {
            match &**node {
                Node::Leaf(entries) => return Some(entries),
                Node::Branch(below) => node = below[branch_at(chunk, level)].as_ref()?,
            }
            level -= 1;
        }
    }

    /// Where a chunk of the file lies; `None` without its lowest node, 0 in a hole.
    pub(crate) fn get(&self, chunk: u32) -> Option<Chunk> {
        self.leaf(chunk).map(|entries| entries[leaf_at(chunk)])
    }

    /// The first chunk of the file from `chunk` on that has a place; `None` behind the last.
    pub(crate) fn next(&self, chunk: u32) -> Option<u32> {
        next(self.top.as_deref()?, (0, self.level), chunk)
    }

    /// The entry of a chunk of the file, with all nodes that lead there; `None` beyond the last number.
    pub(crate) fn entry(&mut self, chunk: u32, count: &mut NodeCount) -> Option<&mut Chunk> {
        if chunk > CHUNK_MAX {
            return None;
        }
        while self.level < levels(chunk) {
            let mut top = Node::branch(count);
            if let Node::Branch(below) = &mut *top {
                below[0] = self.top.take();
            }
            self.top = Some(top);
            self.level += 1;
        }
        let mut level = self.level;
        let mut node = self.top.get_or_insert_with(|| Node::leaf(count));
        loop {
            match &mut **node {
                Node::Leaf(entries) => return Some(&mut entries[leaf_at(chunk)]),
                Node::Branch(below) => {
                    let next = &mut below[branch_at(chunk, level)];
                    level -= 1;
                    node = next.get_or_insert_with(|| {
                        if level == 0 { Node::leaf(count) } else { Node::branch(count) }
                    });
                }
            }
        }
    }

    /// Takes a chunk out of the tree, if it is in it.
    pub(crate) fn take(&mut self, chunk: u32, count: &mut NodeCount) -> Chunk {
        match self.get(chunk) {
            None | Some(0) => 0,
            Some(_) => self.entry(chunk, count).map_or(0, std::mem::take),
        }
    }

    /// Removes nodes without chunks, but the first lowest one, and levels with nothing beyond it.
    pub(crate) fn prune(&mut self, count: &mut NodeCount) {
        if self.level == 0 {
            return;
        }
        self.top = self.top.take().and_then(|top| prune(top, false, count));
        while self.level > 0 {
            let Some(Node::Branch(below)) = self.top.as_deref_mut() else { return };
            if below[1..].iter().any(Option::is_some) {
                return;
            }
            self.top = below[0].take();
            self.level -= 1;
            count.0 -= 1;
        }
    }

    /// Removes all nodes and passes their chunks on, from the last chunk of the file to the first.
    pub(crate) fn dismantle(&mut self, count: &mut NodeCount, mut take: impl FnMut(Chunk)) {
        if let Some(top) = self.top.take() {
            dismantle(*top, count, &mut take);
        }
        self.level = 0;
    }

    /// The lowest nodes with the number of the first chunk of each, in order.
    pub(crate) fn leaves(&self) -> Vec<(u32, [Chunk; LEAF])> {
        let mut found = Vec::new();
        if let Some(top) = &self.top {
            leaves(top, 0, &mut found);
        }
        found
    }

    /// The nodes of this tree.
    pub(crate) fn nodes(&self) -> u32 {
        fn nodes(node: &Node) -> u32 {
            match node {
                Node::Leaf(_) => 1,
                Node::Branch(below) => {
                    1 + below.iter().flatten().map(|node| nodes(node)).sum::<u32>()
                }
            }
        }
        self.top.as_ref().map_or(0, |top| nodes(top))
    }
}

/// `removable` says whether the node goes when it has nothing: the first lowest node and those above it stay.
fn prune(mut node: Box<Node>, removable: bool, count: &mut NodeCount) -> Option<Box<Node>> {
    let empty = match &mut *node {
        Node::Leaf(entries) => entries.iter().all(|&chunk| chunk == 0),
        Node::Branch(below) => {
            for (at, next) in below.iter_mut().enumerate() {
                *next = next.take().and_then(|next| prune(next, removable || at > 0, count));
            }
            below.iter().all(Option::is_none)
        }
    };
    if empty && removable {
        count.0 -= 1;
        return None;
    }
    Some(node)
}

fn dismantle(node: Node, count: &mut NodeCount, take: &mut dyn FnMut(Chunk)) {
    count.0 -= 1;
    match node {
        Node::Leaf(entries) => {
            entries.into_iter().rev().filter(|&chunk| chunk != 0).for_each(take);
        }
        Node::Branch(below) => {
            for next in below.into_iter().rev().flatten() {
                dismantle(*next, count, take);
            }
        }
    }
}

/// As [`Tree::next`] below a node, whose first chunk is `position` times those of a node of its level.
fn next(node: &Node, (position, level): (u32, u32), chunk: u32) -> Option<u32> {
    match node {
        Node::Leaf(entries) => {
            let numbers = (position << 4..).zip(entries);
            numbers
                .filter(|(_, entry)| **entry > 0)
                .map(|(number, _)| number)
                .find(|at| *at >= chunk)
        }
        Node::Branch(below) => {
            let shift = 4 + (level - 1) * 3;
            let below = (position << 3..).zip(below);
            // The last chunk below each decides whether it is searched.
            let below = below.filter(|(at, _)| (u64::from(*at) + 1) << shift > u64::from(chunk));
            let mut found =
                below.filter_map(|(at, one)| next(one.as_deref()?, (at, level - 1), chunk));
            found.next()
        }
    }
}

fn leaves(node: &Node, position: u32, found: &mut Vec<(u32, [Chunk; LEAF])>) {
    match node {
        Node::Leaf(entries) => found.push((position << 4, *entries)),
        Node::Branch(below) => {
            for (at, next) in (0..).zip(below) {
                if let Some(next) = next {
                    leaves(next, (position << 3) + at, found);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn trees_hold_what_a_map_holds_and_count_their_nodes() {
        let mut count = NodeCount::default();
        let mut tree = Tree::new(&mut count);
        let mut map = BTreeMap::new();
        let mut stream = boardlab_sim::Seed::new(1).stream("tree");
        for step in 1..4_000_u32 {
            let bits = 1 + stream.below(28);
            let chunk = u32::try_from(stream.below(1 << bits)).unwrap();
            if stream.chance(1, 3) {
                let expected = map.remove(&chunk).unwrap_or(0);
                assert_eq!(tree.take(chunk, &mut count), expected);
                tree.prune(&mut count);
            } else {
                *tree.entry(chunk, &mut count).unwrap() = step;
                map.insert(chunk, step);
            }
            assert_eq!(tree.get(chunk).unwrap_or(0), map.get(&chunk).copied().unwrap_or(0));
            assert_eq!(tree.nodes(), count.0);
        }
        let mut listed = Vec::new();
        for (first, entries) in tree.leaves() {
            let entries = (first..).zip(entries).filter(|&(_, chunk)| chunk != 0);
            listed.extend(entries);
        }
        assert_eq!(listed, map.iter().map(|(&at, &chunk)| (at, chunk)).collect::<Vec<_>>());
        let mut taken = Vec::new();
        tree.dismantle(&mut count, |chunk| taken.push(chunk));
        assert_eq!(taken, map.values().rev().copied().collect::<Vec<_>>());
        assert_eq!(count, NodeCount(0));
    }

    #[test]
    fn pruning_leaves_the_first_lowest_node() {
        let mut count = NodeCount::default();
        let mut tree = Tree::new(&mut count);
        *tree.entry(5_000, &mut count).unwrap() = 7;
        assert_eq!((tree.level, count.0), (3, 1 + 3 + 3));
        assert_eq!(tree.take(5_000, &mut count), 7);
        tree.prune(&mut count);
        assert_eq!((tree.level, count.0), (0, 1));
        assert!(tree.entry(CHUNK_MAX + 1, &mut count).is_none());
        assert_eq!(tree.get(CHUNK_MAX), None);
    }
}
