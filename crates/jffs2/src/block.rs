//! Erase blocks: the nodes in them, how their bytes are accounted for, and the list each is on.
//!
//! Layer: rank 5. Main types: [`Blocks`], [`Block`], [`NodeRef`] and its name [`NodeId`], [`NodeState`].
//! Of every node on flash only its place and state are kept; its length is the distance to the next
//! one, so that the references of a block cover it from the beginning to its free space without a gap.
//!
//! ```text
//!  block   | node | node | obsolete | node |  free space  |
//!  refs      0      1      2          3                      bytes: used + unchecked   nodes that count
//!            |______^      |__________^                             dirty + wasted     obsolete ones
//!              next of the same inode                               free
//! ```
//! `wasted` is what is obsolete but too little to make garbage collection of the block worth while; it
//! becomes `dirty` together with more. Counts are held for each block and for all together;
//! [`Blocks::check_accounting`] compares them with the references.
//!
//! Source: Linux 6.1, `fs/jffs2/nodelist.h`, `nodelist.c` (`jffs2_link_node_ref`), `nodemgmt.c`
//! (`jffs2_mark_node_obsolete`). Unlike the kernel's, a reference carries its owner, so that the list of
//! an inode need not be walked to find the inode.

mod list;

use crate::format::{inode, to_usize};
use boardlab_mtd::BlockIndex;
use boardlab_sim::Bytes;
use std::num::NonZeroU64;

/// The name of a node reference: block, and number within the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU64);

impl NodeId {
    const fn new(block: u32, index: u32) -> Self {
        let packed = ((block as u64 + 1) << 32) | index as u64;
        Self(NonZeroU64::new(packed).expect("a block number plus one is not zero"))
    }

    /// The block that holds the node.
    #[must_use]
    pub fn block(self) -> BlockIndex {
        BlockIndex(u32::try_from((self.0.get() >> 32) - 1).expect("the upper half fits u32"))
    }

    /// The number within the block, in order of place.
    #[must_use]
    pub fn index(self) -> u32 {
        u32::try_from(self.0.get() & 0xFFFF_FFFF).expect("the lower half fits u32")
    }
}

/// What is known of a node (`REF_*` of the kernel).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeState {
    /// Its header was seen, its data were not checked yet.
    Unchecked = 0,
    /// A newer one took its place, or it is damaged, or there is no node.
    Obsolete = 1,
    /// Good, and to be copied as it is.
    Pristine = 2,
    /// Good, but garbage collection had better write it anew.
    Normal = 3,
}

impl NodeState {
    const ALL: [Self; 4] = [Self::Unchecked, Self::Obsolete, Self::Pristine, Self::Normal];

    /// The two lowest bits of a reference.
    const fn bits(self) -> u32 {
        match self {
            Self::Unchecked => 0,
            Self::Obsolete => 1,
            Self::Pristine => 2,
            Self::Normal => 3,
        }
    }

    /// Whether the node counts: it is not obsolete.
    #[must_use]
    pub const fn counts(self) -> bool {
        !matches!(self, Self::Obsolete)
    }
}

/// Whose node it is, as the number of the owner in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// Nobody's: a cleanmarker, a summary, a node of an unknown type, a gap.
    Nobody,
    /// An inode's, by its slot in [`Inodes`](crate::index::Inodes).
    Inode(u32),
    /// That of an extended attribute, by its slot in [`Xattrs`](crate::xattr::Xattrs).
    Xattr(u32),
    /// That of a reference to one, by its slot.
    Xref(u32),
}

/// A node on flash, in 16 bytes.
#[derive(Debug, Clone, Copy)]
pub struct NodeRef {
    /// Offset in the block, with the state in the lowest two bits.
    place: u32,
    /// The owner's slot with its kind in the lowest two bits; 0 when there is none.
    owner: u32,
    next: Option<NodeId>,
}

impl NodeRef {
    fn new(offset: u32, state: NodeState, owner: Owner, next: Option<NodeId>) -> Self {
        let owner = match owner {
            Owner::Nobody => 0,
            Owner::Inode(slot) => slot << 2 | 1,
            Owner::Xattr(slot) => slot << 2 | 2,
            Owner::Xref(slot) => slot << 2 | 3,
        };
        Self { place: offset | state.bits(), owner, next }
    }

    /// Where the node begins in its block.
    #[must_use]
    pub const fn offset(&self) -> u32 {
        self.place & !3
    }

    /// What is known of it.
    #[must_use]
    pub fn state(&self) -> NodeState {
        NodeState::ALL[to_usize(self.place & 3)]
    }

    /// Whose it is.
    #[must_use]
    pub const fn owner(&self) -> Owner {
        let slot = self.owner >> 2;
        match self.owner & 3 {
            0 => Owner::Nobody,
            1 => Owner::Inode(slot),
            2 => Owner::Xattr(slot),
            _ => Owner::Xref(slot),
        }
    }

    /// The next node of the same owner: the one linked before it.
    #[must_use]
    pub const fn next(&self) -> Option<NodeId> {
        self.next
    }
}

/// Bytes of one block or of all, by what they are. They add up to the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// Nodes that count and were checked.
    pub used: u64,
    /// Nodes that count but were not checked.
    pub unchecked: u64,
    /// Obsolete, and worth collecting.
    pub dirty: u64,
    /// Obsolete, and not worth it.
    pub wasted: u64,
    /// Not written.
    pub free: u64,
}

impl Space {
    /// All of it.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.used + self.unchecked + self.dirty + self.wasted + self.free
    }
}

/// The lists that blocks are on; a block is on one, or is the one being written or collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum List {
    /// On none: not scanned yet, being written, being collected, or in the hands of the erase code.
    None,
    /// Nearly nothing in it is obsolete.
    Clean,
    /// Half or more is obsolete.
    VeryDirty,
    /// Something worth collecting is obsolete.
    Dirty,
    /// All is obsolete; kept back from erasing to spread the wear.
    Erasable,
    /// All is obsolete, but what replaces it is still in the write buffer.
    ErasablePendingWbuf,
    /// To be erased next.
    ErasePending,
    /// Being erased.
    Erasing,
    /// Erased, to be checked and given a cleanmarker.
    EraseComplete,
    /// Erased, with a cleanmarker.
    Free,
    /// Bad: never used again.
    Bad,
    /// Failed to be written; good nodes are still in it.
    BadUsed,
}

/// How many lists there are.
const LISTS: usize = List::BadUsed as usize + 1;
/// The end of a list.
const END: u32 = u32::MAX;

/// Beginning, end and length of a list.
#[derive(Debug, Clone, Copy)]
struct Head {
    first: u32,
    last: u32,
    count: u32,
}

/// An erase block.
#[derive(Debug, Clone)]
pub struct Block {
    refs: Vec<NodeRef>,
    space: Space,
    list: List,
    previous: u32,
    next: u32,
    /// How many of `refs` garbage collection is through with.
    pub(crate) collected: u32,
}

impl Block {
    /// What its bytes are.
    #[must_use]
    pub const fn space(&self) -> &Space {
        &self.space
    }

    /// Its nodes in order of place.
    #[must_use]
    pub fn refs(&self) -> &[NodeRef] {
        &self.refs
    }

    /// The list it is on.
    #[must_use]
    pub const fn list(&self) -> List {
        self.list
    }
}

/// What makes the kernel put a block elsewhere when a node in it becomes obsolete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refile {
    /// Nothing: the scan goes on and no block is on its list yet.
    Scanning,
    /// The state of its bytes. A block that became all obsolete waits where this says.
    To(List),
}

/// All erase blocks.
#[derive(Debug, Clone)]
pub struct Blocks {
    size: u32,
    blocks: Vec<Block>,
    heads: [Head; LISTS],
    totals: Space,
    erasing: u64,
    /// The block that is being written.
    pub(crate) writing: Option<BlockIndex>,
    /// The block that garbage collection empties.
    pub(crate) collecting: Option<BlockIndex>,
}

/// What a scan made of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Erased, but no cleanmarker says so.
    AllFf,
    /// Erased, with a cleanmarker.
    Cleanmarker,
    /// Full of nodes that count.
    Clean,
    /// Some nodes count; the rest is free or obsolete.
    PartDirty,
    /// Nothing counts.
    AllDirty,
    /// Marked bad.
    Bad,
}

impl Blocks {
    /// `count` blocks of `size` bytes, all of which are free; none is on a list.
    #[must_use]
    pub fn new(count: u32, size: u32) -> Self {
        let space = Space { free: u64::from(size), ..Space::default() };
        let block = Block {
            refs: Vec::new(),
            space,
            list: List::None,
            previous: END,
            next: END,
            collected: 0,
        };
        Self {
            size,
            blocks: vec![block; to_usize(count)],
            heads: [Head { first: END, last: END, count: 0 }; LISTS],
            totals: Space { free: u64::from(size) * u64::from(count), ..Space::default() },
            erasing: 0,
            writing: None,
            collecting: None,
        }
    }

    /// Bytes of a block.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// How many blocks there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        u32::try_from(self.blocks.len()).expect("blocks are counted in u32")
    }

    /// A block.
    ///
    /// # Panics
    /// When there is none of this number.
    #[must_use]
    pub fn block(&self, index: BlockIndex) -> &Block {
        &self.blocks[to_usize(index.0)]
    }

    pub(crate) fn block_mut(&mut self, index: BlockIndex) -> &mut Block {
        &mut self.blocks[to_usize(index.0)]
    }

    /// What the bytes of all blocks are that are neither bad nor being erased.
    #[must_use]
    pub const fn totals(&self) -> &Space {
        &self.totals
    }

    /// Bytes of the blocks that are being erased.
    #[must_use]
    pub const fn erasing(&self) -> u64 {
        self.erasing
    }

    /// Where a block begins on the flash.
    #[must_use]
    pub fn start(&self, block: BlockIndex) -> Bytes {
        Bytes::new(u64::from(self.size)) * u64::from(block.0)
    }

    /// The offset in a block where its free space begins.
    #[must_use]
    pub fn end_of_nodes(&self, block: BlockIndex) -> u32 {
        self.size - narrow(self.block(block).space.free)
    }

    /// The block that holds the byte at `offset`.
    #[must_use]
    pub fn at(&self, offset: Bytes) -> BlockIndex {
        let block = offset / Bytes::new(u64::from(self.size));
        BlockIndex(u32::try_from(block).expect("the offset lies within the flash"))
    }

    // Nodes.

    /// A node.
    ///
    /// # Panics
    /// When its block was erased since.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &NodeRef {
        &self.block(id.block()).refs[to_usize(id.index())]
    }

    fn node_mut(&mut self, id: NodeId) -> &mut NodeRef {
        &mut self.block_mut(id.block()).refs[to_usize(id.index())]
    }

    /// The name of the node number `index` of `block`.
    #[must_use]
    pub fn id(&self, block: BlockIndex, index: u32) -> Option<NodeId> {
        let there = to_usize(index) < self.block(block).refs.len();
        there.then(|| NodeId::new(block.0, index))
    }

    /// Where a node begins on the flash.
    #[must_use]
    pub fn place(&self, id: NodeId) -> Bytes {
        self.start(id.block()) + Bytes::new(u64::from(self.node(id).offset()))
    }

    /// Bytes from a node to the next one.
    #[must_use]
    pub fn length(&self, id: NodeId) -> u32 {
        let refs = &self.block(id.block()).refs;
        let next = refs.get(to_usize(id.index()) + 1).map(NodeRef::offset);
        next.unwrap_or_else(|| self.end_of_nodes(id.block())) - self.node(id).offset()
    }

    /// Adds a node of `length` bytes, a multiple of four, where the free space of `block` begins.
    /// `next` is the owner's node linked before.
    ///
    /// # Panics
    /// When there is not so much free space, or the length is not a multiple of four or zero.
    pub fn link(
        &mut self,
        block: BlockIndex,
        length: u32,
        state: NodeState,
        owner: Owner,
        next: Option<NodeId>,
    ) -> NodeId {
        assert!(length > 0 && length.is_multiple_of(4), "link: a node of {length} bytes");
        let offset = self.end_of_nodes(block);
        assert!(length <= self.size - offset, "link: {length} bytes at {offset} of {block}");
        let entry = self.block_mut(block);
        let index = u32::try_from(entry.refs.len()).expect("a block holds fewer than 2^32 nodes");
        entry.refs.push(NodeRef::new(offset, state, owner, next));
        self.shift(block, |space| {
            space.free -= u64::from(length);
            *counter(space, state) += u64::from(length);
        });
        NodeId::new(block.0, index)
    }

    /// Accounts for `length` bytes at the beginning of the free space of `block` as dirty.
    ///
    /// # Panics
    /// As [`Blocks::link`]; a length of zero is allowed.
    pub fn link_dirty(&mut self, block: BlockIndex, length: u32) {
        if length == 0 {
            return;
        }
        // A gap grows; an obsolete node keeps its length, by which garbage collection knows it.
        let is_gap =
            |last: &NodeRef| last.state() == NodeState::Obsolete && last.owner() == Owner::Nobody;
        if !self.block(block).refs.last().is_some_and(is_gap) {
            self.link(block, length, NodeState::Obsolete, Owner::Nobody, None);
            return;
        }
        assert!(u64::from(length) <= self.block(block).space.free, "link_dirty: beyond {block}");
        self.shift(block, |space| {
            space.free -= u64::from(length);
            space.dirty += u64::from(length);
        });
    }

    /// Accounts for `length` bytes at the beginning of the free space of `block` as wasted: padding, or what is
    /// left at the end. It stays a piece of its own, since the length of an obsolete entry must not change.
    pub(crate) fn waste(&mut self, block: BlockIndex, length: u32) {
        if length == 0 {
            return;
        }
        self.link(block, length, NodeState::Obsolete, Owner::Nobody, None);
        self.shift(block, |space| {
            space.dirty -= u64::from(length);
            space.wasted += u64::from(length);
        });
    }

    /// A block could not be erased and shall be tried again.
    pub(crate) fn retry_erase(&mut self, block: BlockIndex) {
        self.finish_erase(block, List::None);
        self.link(block, self.size, NodeState::Obsolete, Owner::Nobody, None);
        self.move_to(block, List::ErasePending);
    }

    /// Applies `change` to the bytes of a block, and the difference to those of all.
    pub(crate) fn shift(&mut self, block: BlockIndex, change: impl FnOnce(&mut Space)) {
        let before = self.block(block).space;
        let mut after = before;
        change(&mut after);
        self.block_mut(block).space = after;
        let totals = &mut self.totals;
        for (total, before, after) in [
            (&mut totals.used, before.used, after.used),
            (&mut totals.unchecked, before.unchecked, after.unchecked),
            (&mut totals.dirty, before.dirty, after.dirty),
            (&mut totals.wasted, before.wasted, after.wasted),
            (&mut totals.free, before.free, after.free),
        ] {
            *total = *total - before + after;
        }
    }

    /// Says of a node that was unchecked, or is used, what it is now: [`NodeState::Pristine`] or
    /// [`NodeState::Normal`].
    ///
    /// # Panics
    /// When the node is, or shall be, obsolete, or shall be unchecked again.
    pub fn set_used(&mut self, id: NodeId, state: NodeState) {
        let before = self.node(id).state();
        assert!(before.counts() && !matches!(state, NodeState::Obsolete | NodeState::Unchecked));
        let node = self.node_mut(id);
        node.place = node.offset() | state.bits();
        if before == NodeState::Unchecked {
            let length = u64::from(self.length(id));
            self.shift(id.block(), |space| {
                space.unchecked -= length;
                space.used += length;
            });
        }
    }

    /// A checked node that lies in a page of its file together with others is to be written anew with
    /// them by garbage collection (`mark_ref_normal`).
    pub fn set_normal(&mut self, id: NodeId) {
        if self.node(id).state() == NodeState::Pristine {
            self.set_used(id, NodeState::Normal);
        }
    }

    /// Makes a node obsolete, accounts for its bytes as wasted or dirty, and puts its block on another
    /// list when that follows. Gives false when the node was obsolete before. The flash is not touched.
    pub fn obsolete(&mut self, id: NodeId, refile: Refile) -> bool {
        let state = self.node(id).state();
        if !state.counts() {
            return false;
        }
        let (block, length) = (id.block(), u64::from(self.length(id)));
        let (space, writing) = (self.block(block).space, self.writing == Some(block));
        let dirties = (space.dirty > 0 || is_dirty(space.wasted + length)) && !writing;
        let keeps_wasted = self.block(block).list == List::BadUsed;
        let mut added = 0;
        self.shift(block, |space| {
            *counter(space, state) -= length;
            if !dirties {
                space.wasted += length;
                return;
            }
            space.dirty += length;
            if !keeps_wasted {
                added = length + space.wasted;
                space.dirty += space.wasted;
                space.wasted = 0;
            }
        });
        let node = self.node_mut(id);
        node.place = node.offset() | NodeState::Obsolete.bits();
        if let Refile::To(erasable) = refile {
            self.refile(block, added, erasable);
        }
        true
    }

    /// A node that was made obsolete counts after all. Its block stays where it is, unless it was to be
    /// erased.
    ///
    /// # Panics
    /// When the node counts.
    pub(crate) fn revive(&mut self, id: NodeId, state: NodeState) {
        assert!(!self.node(id).state().counts() && state.counts(), "revive: the node counts");
        let (block, length) = (id.block(), u64::from(self.length(id)));
        self.shift(block, |space| {
            let dirty = space.dirty.min(length);
            space.dirty -= dirty;
            space.wasted -= length - dirty;
            *counter(space, state) += length;
        });
        let node = self.node_mut(id);
        node.place = node.offset() | state.bits();
        if matches!(self.block(block).list, List::ErasePending | List::Erasable) {
            self.file_dirty(block);
        }
    }

    /// Gives the free space of a block up and puts it on one of the dirty lists.
    pub(crate) fn file_dirty(&mut self, block: BlockIndex) {
        let free = self.size - self.end_of_nodes(block);
        self.link_dirty(block, free);
        self.shift(block, |space| {
            space.dirty += space.wasted;
            space.wasted = 0;
        });
        let dirty = self.block(block).space.dirty;
        let list = if self.is_very_dirty(dirty) { List::VeryDirty } else { List::Dirty };
        self.move_to(block, list);
    }

    /// Puts a block of which `added` bytes have just become dirty on the list where it belongs.
    fn refile(&mut self, block: BlockIndex, added: u64, erasable: List) {
        let space = self.block(block).space;
        let before = space.dirty - added.min(space.dirty);
        if self.writing == Some(block) || self.block(block).list == List::Bad {
            return;
        }
        if space.used == 0 && space.unchecked == 0 {
            if self.collecting == Some(block) {
                self.collecting = None;
            }
            self.move_to(block, erasable);
            return;
        }
        if self.collecting == Some(block) {
            return;
        }
        // In this order, as the kernel has it: what becomes very dirty at once is only dirty at first.
        if is_dirty(space.dirty) && !is_dirty(before) {
            self.move_to(block, List::Dirty);
        } else if self.is_very_dirty(space.dirty) && !self.is_very_dirty(before) {
            self.move_to(block, List::VeryDirty);
        }
    }

    /// Whether half a block or more is dirty (`VERYDIRTY`).
    #[must_use]
    pub const fn is_very_dirty(&self, dirty: u64) -> bool {
        dirty >= self.size as u64 / 2
    }

    /// What a scanned block is; what is too little to collect becomes wasted on the way.
    pub(crate) fn classify(&mut self, block: BlockIndex, cleanmarker: u32) -> Verdict {
        let Block { space, refs, .. } = self.block(block);
        let good = space.used + space.unchecked;
        if good == u64::from(cleanmarker) && space.dirty == 0 && refs.len() <= 1 {
            return Verdict::Cleanmarker;
        }
        if !is_dirty(u64::from(self.size) - good) {
            self.shift(block, |space| {
                space.wasted += space.dirty;
                space.dirty = 0;
            });
            return Verdict::Clean;
        }
        if good > 0 { Verdict::PartDirty } else { Verdict::AllDirty }
    }

    /// Takes a block out of the accounting for good.
    pub(crate) fn retire(&mut self, block: BlockIndex) {
        self.shift(block, |space| *space = Space::default());
        self.move_to(block, List::Bad);
    }

    /// A block goes to be erased: its bytes are no longer used, dirty or free, and its references go.
    /// No list of an owner may lead to them any longer.
    pub(crate) fn begin_erase(&mut self, block: BlockIndex) {
        self.shift(block, |space| *space = Space::default());
        self.erasing += u64::from(self.size);
        let entry = self.block_mut(block);
        entry.refs = Vec::new();
        entry.collected = 0;
        self.move_to(block, List::Erasing);
    }

    /// A block was erased: all of it is free, and it is on `list`.
    pub(crate) fn finish_erase(&mut self, block: BlockIndex, list: List) {
        self.erasing -= u64::from(self.size);
        let size = u64::from(self.size);
        self.shift(block, |space| space.free = size);
        self.move_to(block, list);
    }

    /// A block could not be erased.
    pub(crate) fn fail_erase(&mut self, block: BlockIndex) {
        self.erasing -= u64::from(self.size);
        self.move_to(block, List::Bad);
    }

    /// Gives memory back that the references of a block will not need.
    pub(crate) fn shrink(&mut self, block: BlockIndex) {
        self.block_mut(block).refs.shrink_to_fit();
    }

    /// Makes a node another owner's.
    pub(crate) fn set_owner(&mut self, id: NodeId, owner: Owner) {
        let node = *self.node(id);
        *self.node_mut(id) = NodeRef::new(node.offset(), node.state(), owner, node.next);
    }

    /// Makes `next` the node after `id` in its owner's list.
    pub(crate) fn set_next(&mut self, id: NodeId, next: Option<NodeId>) {
        self.node_mut(id).next = next;
    }

    /// The nodes of a list, from its first one on.
    pub fn chain(&self, first: Option<NodeId>) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(first, |&id| self.node(id).next)
    }
}

/// Whether obsolete bytes are worth collecting (`ISDIRTY`): more than an inode node with the least data.
#[must_use]
pub const fn is_dirty(bytes: u64) -> bool {
    /// The least data that a node is written for (`JFFS2_MIN_DATA_LEN`).
    const MIN_DATA: u64 = 128;
    bytes > inode::SIZE as u64 + MIN_DATA
}

/// What a node in this state is counted as.
const fn counter(space: &mut Space, state: NodeState) -> &mut u64 {
    match state {
        NodeState::Unchecked => &mut space.unchecked,
        NodeState::Obsolete => &mut space.dirty,
        NodeState::Pristine | NodeState::Normal => &mut space.used,
    }
}

fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).expect("bytes of one block fit u32")
}
