//! The content of an open file as fragments of nodes.
//!
//! Layer: rank 5. Main types: [`Fragments`], [`Fragment`], [`FullDnode`], and [`Effect`], the
//! consequence of a change for nodes on flash. Fragments are contiguous from the beginning of the
//! file; a fragment without a node is a hole. A newer node replaces what it covers of older ones.
//!
//! ```text
//!  node 1  |-----------------------|             fragments   |1111|2222222|111|  hole  |3333|
//!  node 2       |-------|                                     0    5      13  17       26
//!  node 3                                 |----|
//! ```
//! Which nodes share a page of the file determines what garbage collection may copy as it is:
//! [`Effect::Normal`] marks the others.
//!
//! Source: Linux 6.1, `fs/jffs2/nodelist.c` (`jffs2_add_full_dnode_to_inode`,
//! `jffs2_truncate_fragtree`).

use crate::block::NodeId;
use crate::format::to_usize;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

/// Bytes of a page of a file; nodes do not cross its end.
pub const PAGE: u32 = 4_096;

/// A node that holds a part of a file, or the metadata of an inode (`struct jffs2_full_dnode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullDnode {
    /// The node on flash.
    pub node: NodeId,
    /// The offset of its data in the file.
    pub offset: u32,
    /// Bytes of the data in the file.
    pub size: u32,
    /// How many fragments refer to it.
    pub fragments: u32,
}

/// The number of a [`FullDnode`] in [`Fragments`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DnodeId(u32);

/// A fragment of a file (`struct jffs2_node_frag`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Its offset in the file.
    pub offset: u32,
    /// Its bytes.
    pub size: u32,
    /// The node that holds them; `None` for a hole.
    pub dnode: Option<DnodeId>,
}

impl Fragment {
    /// Its end in the file.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset as u64 + self.size as u64
    }
}

/// The effect of a change of fragments on a node on flash. The caller applies the effects in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// No part of the node is visible any more.
    Obsolete(NodeId),
    /// The node shares a page, or only a part of it is visible: garbage collection rewrites it.
    Normal(NodeId),
    /// The node is the whole last page: it may be copied as it is.
    Pristine(NodeId),
}

/// The fragments of a file.
#[derive(Debug, Clone, Default)]
pub struct Fragments {
    by_offset: BTreeMap<u32, (u32, Option<DnodeId>)>,
    dnodes: Vec<Option<FullDnode>>,
    vacant: Vec<u32>,
}

impl Fragments {
    /// The number of fragments, including holes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.by_offset.len()
    }

    /// The number of nodes with a fragment.
    #[must_use]
    pub fn dnode_count(&self) -> usize {
        self.dnodes.len() - self.vacant.len()
    }

    /// The node of a fragment.
    ///
    /// # Panics
    /// When it is no longer part of the file.
    #[must_use]
    pub fn dnode(&self, id: DnodeId) -> &FullDnode {
        self.dnodes[to_usize(id.0)].as_ref().expect("Fragments: the node is part of the file")
    }

    /// Replaces the node on flash after garbage collection moved it.
    pub fn set_node(&mut self, id: DnodeId, node: NodeId) {
        if let Some(dnode) = &mut self.dnodes[to_usize(id.0)] {
            dnode.node = node;
        }
    }

    /// All fragments, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Fragment> + '_ {
        self.by_offset.iter().map(fragment)
    }

    /// The last fragment that begins at `offset` or before (`jffs2_lookup_node_frag`).
    #[must_use]
    pub fn at(&self, offset: u32) -> Option<Fragment> {
        self.by_offset.range(..=offset).next_back().map(fragment)
    }

    /// The fragment after the one that begins at `offset`.
    #[must_use]
    pub fn after(&self, offset: u32) -> Option<Fragment> {
        self.by_offset.range((Excluded(offset), Unbounded)).next().map(fragment)
    }

    /// The fragment before the one that begins at `offset`.
    #[must_use]
    pub fn before(&self, offset: u32) -> Option<Fragment> {
        self.by_offset.range(..offset).next_back().map(fragment)
    }

    /// The last fragment.
    #[must_use]
    pub fn last(&self) -> Option<Fragment> {
        self.by_offset.last_key_value().map(fragment)
    }

    /// Adds a node that is newer than all nodes that it covers; one without data adds nothing.
    pub fn add(&mut self, node: NodeId, offset: u32, size: u32, effects: &mut Vec<Effect>) {
        let size = size.min(u32::MAX - offset);
        if size == 0 {
            return;
        }
        let id = self.hold(FullDnode { node, offset, size, fragments: 1 });
        let new = Fragment { offset, size, dnode: Some(id) };
        self.place(new, effects);
        if !offset.is_multiple_of(PAGE)
            && let Some(before) = self.before(offset)
        {
            effects.push(Effect::Normal(node));
            self.mark_normal(before.dnode, effects);
        }
        if !new.end().is_multiple_of(u64::from(PAGE))
            && let Some(after) = self.after(offset)
        {
            effects.push(Effect::Normal(node));
            self.mark_normal(after.dnode, effects);
        }
    }

    /// Truncates the file to `size` and returns the size that fragments cover then: `size`, or less
    /// when the file was shorter.
    pub fn truncate(&mut self, size: u32, effects: &mut Vec<Effect>) -> u32 {
        let beyond: Vec<u32> = self.by_offset.range(size..).map(|(&offset, _)| offset).collect();
        for offset in beyond {
            if let Some((_, dnode)) = self.by_offset.remove(&offset) {
                self.release(dnode, effects);
            }
        }
        let Some(last) = self.last() else { return 0 };
        if last.end() < u64::from(size) {
            return last.offset + last.size;
        }
        self.by_offset.insert(last.offset, (size - last.offset, last.dnode));
        if let Some(id) = last.dnode
            && last.offset.is_multiple_of(PAGE)
        {
            effects.push(Effect::Pristine(self.dnode(id).node));
        }
        size
    }

    /// Removes the only fragment, whose node becomes the metadata of a symbolic link or device
    /// (`None` when there is not exactly one fragment with a node).
    pub fn take_only(&mut self) -> Option<FullDnode> {
        let only = self.last().filter(|_| self.by_offset.len() == 1)?;
        let dnode = *self.dnode(only.dnode?);
        *self = Self::default();
        Some(dnode)
    }

    /// The nodes with a fragment in the file.
    pub fn dnodes(&self) -> impl Iterator<Item = &FullDnode> {
        self.dnodes.iter().flatten()
    }

    /// The nodes with a fragment in the file, with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (DnodeId, &FullDnode)> {
        (0..).zip(&self.dnodes).filter_map(|(id, dnode)| Some((DnodeId(id), dnode.as_ref()?)))
    }

    fn hold(&mut self, dnode: FullDnode) -> DnodeId {
        if let Some(id) = self.vacant.pop() {
            self.dnodes[to_usize(id)] = Some(dnode);
            return DnodeId(id);
        }
        self.dnodes.push(Some(dnode));
        DnodeId(u32::try_from(self.dnodes.len() - 1).expect("fewer nodes than bytes of a flash"))
    }

    fn mark_normal(&self, dnode: Option<DnodeId>, effects: &mut Vec<Effect>) {
        if let Some(id) = dnode {
            effects.push(Effect::Normal(self.dnode(id).node));
        }
    }

    /// Releases a fragment's reference to its node.
    fn release(&mut self, dnode: Option<DnodeId>, effects: &mut Vec<Effect>) {
        let Some(id) = dnode else { return };
        let Some(entry) = &mut self.dnodes[to_usize(id.0)] else { return };
        entry.fragments -= 1;
        let node = entry.node;
        if entry.fragments > 0 {
            effects.push(Effect::Normal(node));
            return;
        }
        effects.push(Effect::Obsolete(node));
        self.dnodes[to_usize(id.0)] = None;
        self.vacant.push(id.0);
    }

    /// Inserts `new` over all that it covers (`jffs2_add_frag_to_fragtree`).
    fn place(&mut self, new: Fragment, effects: &mut Vec<Effect>) {
        let under = self.at(new.offset);
        let covered = under.map_or(0, |under| under.end());
        match under {
            Some(under) if covered > u64::from(new.offset) => self.cut(new, under, effects),
            _ => self.append(new, under, covered, effects),
        }
        self.by_offset.insert(new.offset, (new.size, new.dnode));
        self.cover(new, effects);
    }

    /// Appends `new`, which begins where there is nothing; a hole may precede it.
    fn append(
        &mut self,
        new: Fragment,
        last: Option<Fragment>,
        covered: u64,
        effects: &mut Vec<Effect>,
    ) {
        let shares = covered > 0 && (covered - 1) / u64::from(PAGE) == u64::from(new.offset / PAGE);
        if shares {
            self.mark_normal(last.and_then(|last| last.dnode), effects);
            self.mark_normal(new.dnode, effects);
        }
        if covered < u64::from(new.offset) {
            let start = u32::try_from(covered).expect("below an offset of 32 bits");
            self.by_offset.insert(start, (new.offset - start, None));
        }
    }

    /// Inserts `new`, which begins within `under` or at its beginning.
    fn cut(&mut self, new: Fragment, under: Fragment, effects: &mut Vec<Effect>) {
        let rest = under.end().saturating_sub(new.end());
        let rest = u32::try_from(rest).expect("less than the size of a fragment");
        let before = new.offset - under.offset;
        if before > 0 {
            self.mark_normal(new.dnode, effects);
            self.mark_normal(under.dnode, effects);
            self.by_offset.insert(under.offset, (before, under.dnode));
        } else {
            self.by_offset.remove(&under.offset);
        }
        if rest > 0 {
            self.by_offset.insert(new.offset + new.size, (rest, under.dnode));
        }
        match (before > 0, rest > 0) {
            (true, true) => self.split(under.dnode),
            (false, false) => self.release(under.dnode, effects),
            _ => {}
        }
    }

    /// Adds a fragment's reference to a node.
    fn split(&mut self, dnode: Option<DnodeId>) {
        if let Some(entry) = dnode.and_then(|id| self.dnodes[to_usize(id.0)].as_mut()) {
            entry.fragments += 1;
        }
    }

    /// Removes what the inserted `new` covers after its beginning.
    fn cover(&mut self, new: Fragment, effects: &mut Vec<Effect>) {
        while let Some(next) = self.after(new.offset) {
            if u64::from(next.offset) >= new.end() {
                return;
            }
            self.by_offset.remove(&next.offset);
            if next.end() <= new.end() {
                self.release(next.dnode, effects);
                continue;
            }
            let start = u32::try_from(new.end()).expect("within a fragment of 32 bits");
            let size = next.size - (start - next.offset);
            self.by_offset.insert(start, (size, next.dnode));
            self.mark_normal(next.dnode, effects);
            self.mark_normal(new.dnode, effects);
            return;
        }
    }
}

fn fragment((&offset, &(size, dnode)): (&u32, &(u32, Option<DnodeId>))) -> Fragment {
    Fragment { offset, size, dnode }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Blocks, NodeState, Owner};
    use boardlab_mtd::BlockIndex;

    /// Names of nodes to speak of.
    fn nodes<const N: usize>() -> [NodeId; N] {
        let mut blocks = Blocks::new(1, 65_536);
        [(); N].map(|()| blocks.link(BlockIndex(0), 4, NodeState::Normal, Owner::Nobody, None))
    }

    /// Offset, size and index of the node of each fragment.
    fn shape(fragments: &Fragments, nodes: &[NodeId]) -> Vec<(u32, u32, Option<usize>)> {
        let name = |id| nodes.iter().position(|&node| node == fragments.dnode(id).node);
        fragments
            .iter()
            .map(|piece| (piece.offset, piece.size, piece.dnode.and_then(name)))
            .collect()
    }

    #[test]
    fn a_node_in_the_middle_splits_the_older_one() {
        let (mut fragments, mut effects, n) = (Fragments::default(), Vec::new(), nodes::<3>());
        fragments.add(n[0], 0, 100, &mut effects);
        assert_eq!(effects, []);
        fragments.add(n[1], 20, 30, &mut effects);
        let expected = [(0, 20, Some(0)), (20, 30, Some(1)), (50, 50, Some(0))];
        assert_eq!(shape(&fragments, &n), expected);
        assert!(effects.contains(&Effect::Normal(n[0])) && effects.contains(&Effect::Normal(n[1])));
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Obsolete(_))));
        effects.clear();
        fragments.add(n[2], 0, 100, &mut effects);
        assert_eq!(shape(&fragments, &n), [(0, 100, Some(2))]);
        assert!(effects.contains(&Effect::Obsolete(n[0])));
        assert!(effects.contains(&Effect::Obsolete(n[1])));
        assert_eq!(fragments.dnode_count(), 1);
    }

    #[test]
    fn what_lies_between_two_nodes_is_a_hole() {
        let (mut fragments, mut effects, n) = (Fragments::default(), Vec::new(), nodes::<2>());
        fragments.add(n[0], 8192, 4096, &mut effects);
        assert_eq!(shape(&fragments, &n), [(0, 8192, None), (8192, 4096, Some(0))]);
        fragments.add(n[1], 4096, 4096, &mut effects);
        let expected = [(0, 4096, None), (4096, 4096, Some(1)), (8192, 4096, Some(0))];
        assert_eq!(shape(&fragments, &n), expected);
        // The kernel marks a node that cuts into anything, even a hole.
        assert_eq!(effects, [Effect::Normal(n[1])]);
    }

    #[test]
    fn whole_pages_stay_pristine_and_parts_of_one_page_do_not() {
        let (mut fragments, mut effects, n) = (Fragments::default(), Vec::new(), nodes::<3>());
        fragments.add(n[0], 0, 4096, &mut effects);
        fragments.add(n[1], 4096, 100, &mut effects);
        assert_eq!(effects, []);
        fragments.add(n[2], 4196, 100, &mut effects);
        assert!(effects.contains(&Effect::Normal(n[1])) && effects.contains(&Effect::Normal(n[2])));
        assert!(!effects.contains(&Effect::Normal(n[0])));
    }

    #[test]
    fn a_file_cut_off_loses_what_lies_beyond() {
        let (mut fragments, mut effects, n) = (Fragments::default(), Vec::new(), nodes::<2>());
        fragments.add(n[0], 0, 4096, &mut effects);
        fragments.add(n[1], 4096, 4096, &mut effects);
        assert_eq!(fragments.truncate(1000, &mut effects), 1000);
        assert_eq!(shape(&fragments, &n), [(0, 1000, Some(0))]);
        assert_eq!(effects, [Effect::Obsolete(n[1]), Effect::Pristine(n[0])]);
        assert_eq!(fragments.truncate(5000, &mut effects), 1000);
        assert_eq!(fragments.truncate(0, &mut effects), 0);
        assert_eq!(fragments.count(), 0);
    }

    #[test]
    fn a_node_at_the_end_of_the_32_bits_does_not_overflow() {
        let (mut fragments, mut effects, n) = (Fragments::default(), Vec::new(), nodes::<2>());
        fragments.add(n[0], u32::MAX - 10, u32::MAX, &mut effects);
        fragments.add(n[1], u32::MAX, 1, &mut effects);
        let expected = [(0, u32::MAX - 10, None), (u32::MAX - 10, 10, Some(0))];
        assert_eq!(shape(&fragments, &n), expected);
    }

    #[test]
    fn random_nodes_give_the_bytes_of_a_plain_array() {
        let n = nodes::<400>();
        let mut stream = boardlab_sim::Seed::new(1).stream("fragments");
        let (mut fragments, mut effects) = (Fragments::default(), Vec::new());
        let mut plain: Vec<Option<usize>> = Vec::new();
        for index in 0..n.len() {
            let offset = u32::try_from(stream.below(500)).unwrap();
            let size = u32::try_from(stream.below(60)).unwrap();
            fragments.add(n[index], offset, size, &mut effects);
            if size > 0 {
                let end = to_usize(offset + size);
                plain.resize(plain.len().max(end), None);
                plain[to_usize(offset)..end].fill(Some(index));
            }
            if stream.below(10) == 0 {
                let size = stream.below(500);
                let new = fragments.truncate(u32::try_from(size).unwrap(), &mut effects);
                plain.truncate(usize::try_from(size).unwrap());
                assert_eq!(to_usize(new), plain.len(), "step {index}");
            }
            let mut found = Vec::new();
            for (offset, size, node) in shape(&fragments, &n) {
                assert_eq!(found.len(), to_usize(offset), "step {index}");
                found.extend(vec![node; to_usize(size)]);
            }
            assert_eq!(found, plain, "step {index}");
        }
        let obsolete = effects.iter().filter(|effect| matches!(effect, Effect::Obsolete(_)));
        let live = fragments.dnode_count();
        assert!(obsolete.count() + live <= n.len());
    }
}
