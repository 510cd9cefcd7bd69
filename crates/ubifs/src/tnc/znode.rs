//! Znodes: indexing nodes in memory, in an arena.
//!
//! Layer: rank 5. Main types: [`Arena`], [`ZnodeId`], [`Zbranch`], [`Cursor`]. A znode is a header of
//! 16 bytes and as many branches of 24 bytes as the index has by its fanout; ids are positions in the
//! arena. At level 0 a branch may hold the entry that it leads to (the leaf node cache).
//!
//! Source: Linux 6.1, `fs/ubifs/ubifs.h` (`struct ubifs_znode`, `ubifs_zbranch`), `tnc_misc.c`
//! (`ubifs_search_zbranch`).

use crate::LebIndex;
use crate::format::index::Branch;
use crate::format::key::Key;
use std::cmp::Ordering;

/// Neither a znode nor a leaf.
const NONE: u32 = u32::MAX;

/// A znode's place in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ZnodeId(u32);

/// A branch of a znode: the place on flash, and what of it is in memory. A place of length 0 says
/// that the node has never been written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zbranch {
    lnum: u32,
    pub offs: u32,
    pub len: u32,
    /// A znode above level 0, a leaf at level 0, or [`NONE`].
    link: u32,
    pub key: Key,
}

/// The header of a znode.
#[derive(Debug, Clone, Copy)]
pub(super) struct Znode {
    parent: u32,
    /// The second of the last use.
    pub time: u32,
    pub level: u16,
    /// The slot in the parent.
    pub iip: u16,
    count: u16,
    pub dirty: bool,
    /// The first key has been lowered since the last commit.
    pub alt: bool,
}

/// A slot of a znode at level 0, or -1 for the place before the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    pub znode: ZnodeId,
    pub n: i32,
}

/// All znodes and cached entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Arena {
    fanout: usize,
    nodes: Vec<Znode>,
    slots: Vec<Zbranch>,
    free_nodes: Vec<u32>,
    leaves: Vec<Box<[u8]>>,
    free_leaves: Vec<u32>,
    leaf_bytes: u64,
}

/// A slot number as the signed number of a cursor.
pub(super) fn signed(slot: usize) -> i32 {
    i32::try_from(slot).expect("a slot number is small")
}

/// A count of branches as the header keeps it.
fn small(count: usize) -> u16 {
    u16::try_from(count).expect("a znode has at most 65,535 branches")
}

fn position(id: u32) -> usize {
    usize::try_from(id).expect("a u32 fits the address space")
}

impl Cursor {
    pub(super) fn at(znode: ZnodeId, slot: usize) -> Self {
        Self { znode, n: signed(slot) }
    }

    /// The slot.
    pub(super) fn slot(self) -> usize {
        usize::try_from(self.n).expect("the cursor is not on a slot")
    }

    /// The slot behind it, where a new branch goes.
    pub(super) fn behind(self) -> usize {
        usize::try_from(self.n + 1).expect("a cursor is at least -1")
    }
}

impl Default for Zbranch {
    fn default() -> Self {
        Self { lnum: 0, offs: 0, len: 0, link: NONE, key: Key::LOWEST }
    }
}

impl From<Branch> for Zbranch {
    fn from(branch: Branch) -> Self {
        let Branch { lnum, offs, len, key } = branch;
        Self { lnum: lnum.0, offs, len, link: NONE, key }
    }
}

impl Zbranch {
    /// A branch to a znode that has never been written.
    pub(super) const fn unwritten(key: Key, child: ZnodeId) -> Self {
        Self { lnum: 0, offs: 0, len: 0, link: child.0, key }
    }

    pub(super) const fn branch(&self) -> Branch {
        Branch { lnum: LebIndex(self.lnum), offs: self.offs, len: self.len, key: self.key }
    }

    pub(crate) const fn lnum(&self) -> LebIndex {
        LebIndex(self.lnum)
    }

    /// The znode that it leads to; of no meaning at level 0.
    pub(crate) fn child(&self) -> Option<ZnodeId> {
        (self.link != NONE).then_some(ZnodeId(self.link))
    }

    pub(super) fn set_child(&mut self, child: Option<ZnodeId>) {
        self.link = child.map_or(NONE, |child| child.0);
    }

    pub(super) fn is_at(&self, leb: LebIndex, offs: u32) -> bool {
        self.lnum == leb.0 && self.offs == offs
    }

    pub(super) fn set_place(&mut self, leb: LebIndex, offs: u32, len: u32) {
        (self.lnum, self.offs, self.len) = (leb.0, offs, len);
    }
}

impl Znode {
    pub(super) fn parent(&self) -> Option<ZnodeId> {
        (self.parent != NONE).then_some(ZnodeId(self.parent))
    }

    pub(super) fn count(&self) -> usize {
        usize::from(self.count)
    }

    pub(super) fn slot_in_parent(&self) -> usize {
        usize::from(self.iip)
    }
}

impl Arena {
    pub(super) fn new(fanout: u32) -> Self {
        Self { fanout: position(fanout), ..Self::default() }
    }

    pub(super) const fn fanout(&self) -> usize {
        self.fanout
    }

    pub(super) fn node(&self, id: ZnodeId) -> &Znode {
        &self.nodes[position(id.0)]
    }

    pub(super) fn node_mut(&mut self, id: ZnodeId) -> &mut Znode {
        &mut self.nodes[position(id.0)]
    }

    fn first_slot(&self, id: ZnodeId) -> usize {
        position(id.0) * self.fanout
    }

    pub(super) fn branches(&self, id: ZnodeId) -> &[Zbranch] {
        let first = self.first_slot(id);
        &self.slots[first..first + self.node(id).count()]
    }

    pub(super) fn branch(&self, id: ZnodeId, slot: usize) -> &Zbranch {
        &self.branches(id)[slot]
    }

    pub(super) fn branch_mut(&mut self, id: ZnodeId, slot: usize) -> &mut Zbranch {
        assert!(slot < self.node(id).count(), "the znode has no slot {slot}");
        let first = self.first_slot(id);
        &mut self.slots[first + slot]
    }

    /// The branch under a cursor.
    pub(super) fn under(&self, at: Cursor) -> &Zbranch {
        self.branch(at.znode, at.slot())
    }

    /// A new clean znode without branches, in no parent.
    pub(super) fn add(&mut self, level: u16) -> ZnodeId {
        let node =
            Znode { parent: NONE, time: 0, level, iip: 0, count: 0, dirty: false, alt: false };
        if let Some(id) = self.free_nodes.pop() {
            self.nodes[position(id)] = node;
            return ZnodeId(id);
        }
        let id = u32::try_from(self.nodes.len()).expect("fewer than 2^32 znodes");
        self.nodes.push(node);
        self.slots.resize(self.nodes.len() * self.fanout, Zbranch::default());
        ZnodeId(id)
    }

    /// Frees a znode that is in no parent any more.
    pub(super) fn release(&mut self, id: ZnodeId) {
        self.free_nodes.push(id.0);
        if self.free_nodes.len() == self.nodes.len() {
            let fanout = self.fanout;
            *self = Self { fanout, ..Self::default() };
        }
    }

    pub(super) fn set_parent(&mut self, id: ZnodeId, parent: Option<(ZnodeId, usize)>) {
        let node = self.node_mut(id);
        node.parent = parent.map_or(NONE, |(parent, _)| parent.0);
        node.iip = parent.map_or(0, |(_, slot)| small(slot));
    }

    /// Finds the slot of `key`, and whether it is exactly this key; otherwise the slot before the place
    /// where it would be, -1 when that is before all. Of several slots with this key it is any: the one
    /// that the search meets first.
    pub(super) fn search(&self, id: ZnodeId, key: Key) -> (bool, i32) {
        let branches = self.branches(id);
        let (mut begin, mut end) = (0, branches.len());
        while begin < end {
            let middle = usize::midpoint(begin, end);
            match key.cmp(&branches[middle].key) {
                Ordering::Greater => begin = middle + 1,
                Ordering::Less => end = middle,
                Ordering::Equal => return (true, signed(middle)),
            }
        }
        (false, signed(end) - 1)
    }

    /// Appends a branch while a znode is loaded.
    pub(super) fn push(&mut self, id: ZnodeId, branch: Zbranch) {
        let count = self.node(id).count();
        self.insert(id, count, branch);
    }

    /// Makes room at `slot` and puts the branch there. Children that move learn their new slot.
    pub(super) fn insert(&mut self, id: ZnodeId, slot: usize, branch: Zbranch) {
        let (first, count) = (self.first_slot(id), self.node(id).count());
        assert!(count < self.fanout, "the znode is full");
        self.slots.copy_within(first + slot..first + count, first + slot + 1);
        self.slots[first + slot] = branch;
        self.node_mut(id).count += 1;
        self.renumber(id, slot);
    }

    /// Takes `count` branches from `slot` on out of a znode.
    pub(super) fn remove(&mut self, id: ZnodeId, slot: usize, count: usize) {
        let (first, have) = (self.first_slot(id), self.node(id).count());
        self.slots.copy_within(first + slot + count..first + have, first + slot);
        self.node_mut(id).count = small(have - count);
        self.renumber(id, slot);
    }

    /// Moves the branches from `keep` on to the empty znode `to`, whose children they become.
    pub(super) fn split(&mut self, from: ZnodeId, keep: usize, to: ZnodeId) {
        let (source, target) = (self.first_slot(from), self.first_slot(to));
        let have = self.node(from).count();
        self.slots.copy_within(source + keep..source + have, target);
        self.node_mut(to).count = small(have - keep);
        self.node_mut(from).count = small(keep);
        self.renumber(to, 0);
    }

    /// Tells the children from `slot` on where they are.
    fn renumber(&mut self, id: ZnodeId, slot: usize) {
        if self.node(id).level == 0 {
            return;
        }
        for slot in slot..self.node(id).count() {
            if let Some(child) = self.branch(id, slot).child() {
                self.set_parent(child, Some((id, slot)));
            }
        }
    }

    /// The cached entry of a branch of level 0.
    pub(super) fn leaf(&self, at: Cursor) -> Option<&[u8]> {
        let link = self.under(at).link;
        (link != NONE).then(|| &*self.leaves[position(link)])
    }

    pub(super) fn set_leaf(&mut self, at: Cursor, node: Vec<u8>) {
        assert!(self.leaf(at).is_none(), "the entry is cached already");
        self.leaf_bytes += u64::try_from(node.len()).expect("a length fits u64");
        let node = node.into_boxed_slice();
        let id = match self.free_leaves.pop() {
            Some(id) => {
                self.leaves[position(id)] = node;
                id
            }
            None => {
                self.leaves.push(node);
                u32::try_from(self.leaves.len() - 1).expect("fewer than 2^32 leaves")
            }
        };
        self.branch_mut(at.znode, at.slot()).link = id;
    }

    pub(super) fn drop_leaf(&mut self, at: Cursor) {
        let branch = self.branch_mut(at.znode, at.slot());
        let link = std::mem::replace(&mut branch.link, NONE);
        if link != NONE {
            let node = std::mem::take(&mut self.leaves[position(link)]);
            self.leaf_bytes -= u64::try_from(node.len()).expect("a length fits u64");
            self.free_leaves.push(link);
        }
    }

    /// The slot to the left on the same level, if its znode is in memory.
    pub(super) fn loaded_left(&self, (id, slot): (ZnodeId, usize)) -> Option<(ZnodeId, usize)> {
        let level = self.node(id).level;
        let (mut id, mut slot) = (id, slot);
        while slot == 0 {
            let node = self.node(id);
            (id, slot) = (node.parent()?, node.slot_in_parent());
        }
        slot -= 1;
        while self.node(id).level != level {
            id = self.branch(id, slot).child()?;
            slot = self.node(id).count() - 1;
        }
        Some((id, slot))
    }

    /// The slot to the right on the same level, if its znode is in memory.
    pub(super) fn loaded_right(&self, (id, slot): (ZnodeId, usize)) -> Option<(ZnodeId, usize)> {
        let level = self.node(id).level;
        let (mut id, mut slot) = (id, slot + 1);
        while slot == self.node(id).count() {
            let node = self.node(id);
            (id, slot) = (node.parent()?, node.slot_in_parent() + 1);
        }
        while self.node(id).level != level {
            id = self.branch(id, slot).child()?;
            slot = 0;
        }
        Some((id, slot))
    }

    /// Bytes of cached entries.
    pub(super) const fn leaf_bytes(&self) -> u64 {
        self.leaf_bytes
    }
}
