//! Erase blocks: the nodes in them, how their bytes are accounted for, and the list each is on.
//!
//! Layer: rank 5. Main types: [`Blocks`], [`Block`], [`NodeRef`] and its identifier [`NodeId`],
//! [`NodeState`]. Of every node on flash only the offset and the state are kept. Its length is the
//! distance to the next node, so that the references of a block cover it without a gap, from the
//! beginning to its free space.
//!
//! ```text
//!  block   | node | node | obsolete | node |  free space  |
//!  refs      0      1      2          3                      bytes: used + unchecked   nodes that count
//!            |______^      |__________^                             dirty + wasted     obsolete ones
//!              next of the same inode                               free
//! ```
//! `wasted` space is obsolete but too small to justify garbage collection of the block; it becomes
//! `dirty` together with more. Counts are held for each block and for the volume;
//! [`Blocks::check_accounting`] compares them with the references.
//!
//! Source: Linux 6.1, `fs/jffs2/nodelist.h`, `nodelist.c` (`jffs2_link_node_ref`), `nodemgmt.c`
//! (`jffs2_mark_node_obsolete`). Unlike the kernel's, a reference carries its owner, so that the
//! list of an inode need not be walked to find the inode.

mod list;
mod node;

use crate::format::{inode, to_usize};
use boardlab_mtd::BlockIndex;
use boardlab_sim::Bytes;
pub use node::{NodeId, NodeRef, NodeState, Owner};

/// The bytes of one block or of the volume, by state. They add up to the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// Live nodes that were checked.
    pub used: u64,
    /// Live nodes that were not checked.
    pub unchecked: u64,
    /// Obsolete, and worth garbage collection.
    pub dirty: u64,
    /// Obsolete, and not worth garbage collection.
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

/// The lists of erase blocks. A block is on one list, or it is the one being written or garbage
/// collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum List {
    /// No list: not scanned yet, being written, being collected, or being erased.
    None,
    /// Nearly nothing in it is obsolete.
    Clean,
    /// Half or more is obsolete.
    VeryDirty,
    /// Something worth collecting is obsolete.
    Dirty,
    /// Entirely obsolete; kept back from the erase to level the wear.
    Erasable,
    /// Entirely obsolete, but what replaces it is still in the write buffer.
    ErasablePendingWbuf,
    /// To be erased next.
    ErasePending,
    /// Being erased.
    Erasing,
    /// Erased, to be checked and given a cleanmarker.
    EraseComplete,
    /// Erased, with a cleanmarker.
    Free,
    /// Bad, and never used again.
    Bad,
    /// A write failed; live nodes are still in the block.
    BadUsed,
}

/// How many lists there are.
const LISTS: usize = List::BadUsed as usize + 1;
/// The end of a list.
const END: u32 = u32::MAX;

/// Beginning, end and length of a list.
#[derive(Debug, Clone, Copy)]
struct ListHead {
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
    /// How many of `refs` garbage collection has processed.
    pub(crate) gc_position: u32,
}

impl Block {
    /// The space accounting of the block.
    #[must_use]
    pub const fn space(&self) -> &Space {
        &self.space
    }

    /// The nodes, by offset.
    #[must_use]
    pub fn refs(&self) -> &[NodeRef] {
        &self.refs
    }

    /// The list of the block.
    #[must_use]
    pub const fn list(&self) -> List {
        self.list
    }
}

/// Whether a block moves to another list when a node in it becomes obsolete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefilePolicy {
    /// It does not move: the scan is running and no block is on its list yet.
    Scanning,
    /// It moves by the state of its bytes. A block without live nodes goes to this list.
    To(List),
}

/// All erase blocks.
#[derive(Debug, Clone)]
pub struct Blocks {
    size: u32,
    blocks: Vec<Block>,
    heads: [ListHead; LISTS],
    totals: Space,
    erasing: u64,
    /// The block that is being written.
    pub(crate) writing: Option<BlockIndex>,
    /// The block that garbage collection is emptying.
    pub(crate) collecting: Option<BlockIndex>,
}

/// The state of a block after its scan (`BLK_STATE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockState {
    /// Erased, but without a cleanmarker.
    AllFf,
    /// Erased, with a cleanmarker.
    Cleanmarker,
    /// Full of live nodes.
    Clean,
    /// Some live nodes; the rest is free or obsolete.
    PartDirty,
    /// No live nodes.
    AllDirty,
    /// Marked bad.
    Bad,
}

impl Blocks {
    /// Creates `count` free blocks of `size` bytes, which are on no list.
    #[must_use]
    pub fn new(count: u32, size: u32) -> Self {
        let space = Space { free: u64::from(size), ..Space::default() };
        let block = Block {
            refs: Vec::new(),
            space,
            list: List::None,
            previous: END,
            next: END,
            gc_position: 0,
        };
        Self {
            size,
            blocks: vec![block; to_usize(count)],
            heads: [ListHead { first: END, last: END, count: 0 }; LISTS],
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

    /// The number of blocks.
    #[must_use]
    pub fn count(&self) -> u32 {
        u32::try_from(self.blocks.len()).expect("blocks are counted in u32")
    }

    /// A block.
    ///
    /// # Panics
    /// When the block does not exist.
    #[must_use]
    pub fn block(&self, index: BlockIndex) -> &Block {
        &self.blocks[to_usize(index.0)]
    }

    pub(crate) fn block_mut(&mut self, index: BlockIndex) -> &mut Block {
        &mut self.blocks[to_usize(index.0)]
    }

    /// The space accounting of all blocks that are neither bad nor being erased.
    #[must_use]
    pub const fn totals(&self) -> &Space {
        &self.totals
    }

    /// Bytes of the blocks that are being erased.
    #[must_use]
    pub const fn erasing(&self) -> u64 {
        self.erasing
    }

    /// The offset of a block on the flash.
    #[must_use]
    pub fn block_offset(&self, block: BlockIndex) -> Bytes {
        Bytes::new(u64::from(self.size)) * u64::from(block.0)
    }

    /// The offset within a block at which its free space begins.
    #[must_use]
    pub fn free_offset(&self, block: BlockIndex) -> u32 {
        self.size - narrow(self.block(block).space.free)
    }

    /// The block that holds the byte at `offset`.
    #[must_use]
    pub fn block_at(&self, offset: Bytes) -> BlockIndex {
        let block = offset / Bytes::new(u64::from(self.size));
        BlockIndex(u32::try_from(block).expect("the offset lies within the flash"))
    }

    // Nodes.

    /// A node.
    ///
    /// # Panics
    /// When the block was erased meanwhile.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &NodeRef {
        &self.block(id.block()).refs[to_usize(id.index())]
    }

    fn node_mut(&mut self, id: NodeId) -> &mut NodeRef {
        &mut self.block_mut(id.block()).refs[to_usize(id.index())]
    }

    /// The identifier of node number `index` of `block`.
    #[must_use]
    pub fn id(&self, block: BlockIndex, index: u32) -> Option<NodeId> {
        let there = to_usize(index) < self.block(block).refs.len();
        there.then(|| NodeId::new(block.0, index))
    }

    /// The offset of a node on the flash (`ref_offset`).
    #[must_use]
    pub fn flash_offset(&self, id: NodeId) -> Bytes {
        self.block_offset(id.block()) + Bytes::new(u64::from(self.node(id).offset()))
    }

    /// The bytes from a node to the next one (`ref_totlen`).
    #[must_use]
    pub fn length(&self, id: NodeId) -> u32 {
        let refs = &self.block(id.block()).refs;
        let next = refs.get(to_usize(id.index()) + 1).map(NodeRef::offset);
        next.unwrap_or_else(|| self.free_offset(id.block())) - self.node(id).offset()
    }

    /// Adds a node of `length` bytes, a multiple of four, at the beginning of the free space of
    /// `block`. `next` is the owner's node that was linked before.
    ///
    /// # Panics
    /// When there is too little free space, or the length is zero or not a multiple of four.
    pub fn link(
        &mut self,
        block: BlockIndex,
        length: u32,
        state: NodeState,
        owner: Owner,
        next: Option<NodeId>,
    ) -> NodeId {
        assert!(length > 0 && length.is_multiple_of(4), "link: a node of {length} bytes");
        let offset = self.free_offset(block);
        assert!(length <= self.size - offset, "link: {length} bytes at {offset} of {block}");
        let entry = self.block_mut(block);
        let index = u32::try_from(entry.refs.len()).expect("a block holds fewer than 2^32 nodes");
        entry.refs.push(NodeRef::new(offset, state, owner, next));
        self.adjust_space(block, |space| {
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
        // A gap may grow. An obsolete node keeps its length, by which garbage collection knows it.
        let is_gap =
            |last: &NodeRef| last.state() == NodeState::Obsolete && last.owner() == Owner::Nobody;
        if !self.block(block).refs.last().is_some_and(is_gap) {
            self.link(block, length, NodeState::Obsolete, Owner::Nobody, None);
            return;
        }
        assert!(u64::from(length) <= self.block(block).space.free, "link_dirty: beyond {block}");
        self.adjust_space(block, |space| {
            space.free -= u64::from(length);
            space.dirty += u64::from(length);
        });
    }

    /// Accounts for `length` bytes at the beginning of the free space of `block` as wasted:
    /// padding, or the rest at the end. It gets a reference of its own, since the length of an
    /// obsolete node must not change.
    pub(crate) fn link_wasted(&mut self, block: BlockIndex, length: u32) {
        if length == 0 {
            return;
        }
        self.link(block, length, NodeState::Obsolete, Owner::Nobody, None);
        self.adjust_space(block, |space| {
            space.dirty -= u64::from(length);
            space.wasted += u64::from(length);
        });
    }

    /// Records a failed erase that is to be retried.
    pub(crate) fn retry_erase(&mut self, block: BlockIndex) {
        self.finish_erase(block, List::None);
        self.link(block, self.size, NodeState::Obsolete, Owner::Nobody, None);
        self.move_to(block, List::ErasePending);
    }

    /// Applies `change` to the space accounting of a block, and the difference to that of the volume.
    pub(crate) fn adjust_space(&mut self, block: BlockIndex, change: impl FnOnce(&mut Space)) {
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

    /// Marks an unchecked or used node as [`NodeState::Pristine`] or [`NodeState::Normal`].
    ///
    /// # Panics
    /// When the node is obsolete, or when the new state is obsolete or unchecked.
    pub fn mark_used(&mut self, id: NodeId, state: NodeState) {
        let before = self.node(id).state();
        assert!(before.is_live() && !matches!(state, NodeState::Obsolete | NodeState::Unchecked));
        let node = self.node_mut(id);
        node.place = node.offset() | state.bits();
        if before == NodeState::Unchecked {
            let length = u64::from(self.length(id));
            self.adjust_space(id.block(), |space| {
                space.unchecked -= length;
                space.used += length;
            });
        }
    }

    /// Marks a checked node that shares a page of its file with others, so that garbage collection
    /// rewrites them together (`mark_ref_normal`).
    pub fn mark_normal(&mut self, id: NodeId) {
        if self.node(id).state() == NodeState::Pristine {
            self.mark_used(id, NodeState::Normal);
        }
    }

    /// Marks a node obsolete, accounts for its bytes as wasted or dirty, and moves its block to another
    /// list where necessary. Returns false when the node was obsolete before. The flash is not touched.
    pub fn mark_obsolete(&mut self, id: NodeId, refile: RefilePolicy) -> bool {
        let state = self.node(id).state();
        if !state.is_live() {
            return false;
        }
        let (block, length) = (id.block(), u64::from(self.length(id)));
        let (space, writing) = (self.block(block).space, self.writing == Some(block));
        let dirties = (space.dirty > 0 || is_dirty(space.wasted + length)) && !writing;
        let keeps_wasted = self.block(block).list == List::BadUsed;
        let mut added = 0;
        self.adjust_space(block, |space| {
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
        if let RefilePolicy::To(erasable) = refile {
            self.refile(block, added, erasable);
        }
        true
    }

    /// Makes an obsolete node live again. Its block stays on its list, unless it was to be erased.
    ///
    /// # Panics
    /// When the node is live.
    pub(crate) fn unmark_obsolete(&mut self, id: NodeId, state: NodeState) {
        assert!(
            !self.node(id).state().is_live() && state.is_live(),
            "unmark_obsolete: the node counts"
        );
        let (block, length) = (id.block(), u64::from(self.length(id)));
        self.adjust_space(block, |space| {
            let dirty = space.dirty.min(length);
            space.dirty -= dirty;
            space.wasted -= length - dirty;
            *counter(space, state) += length;
        });
        let node = self.node_mut(id);
        node.place = node.offset() | state.bits();
        if matches!(self.block(block).list, List::ErasePending | List::Erasable) {
            self.file_as_dirty(block);
        }
    }

    /// Gives up the free space of a block and moves it to one of the dirty lists.
    pub(crate) fn file_as_dirty(&mut self, block: BlockIndex) {
        let free = self.size - self.free_offset(block);
        self.link_dirty(block, free);
        self.adjust_space(block, |space| {
            space.dirty += space.wasted;
            space.wasted = 0;
        });
        let dirty = self.block(block).space.dirty;
        let list = if self.is_very_dirty(dirty) { List::VeryDirty } else { List::Dirty };
        self.move_to(block, list);
    }

    /// Moves a block, of which `added` bytes have just become dirty, to the appropriate list.
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
        // In the kernel's order: a block that becomes very dirty at once is only dirty at first.
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

    /// Classifies a scanned block. Dirty space that is too small to collect becomes wasted.
    pub(crate) fn classify(&mut self, block: BlockIndex, cleanmarker: u32) -> BlockState {
        let Block { space, refs, .. } = self.block(block);
        let good = space.used + space.unchecked;
        if good == u64::from(cleanmarker) && space.dirty == 0 && refs.len() <= 1 {
            return BlockState::Cleanmarker;
        }
        if !is_dirty(u64::from(self.size) - good) {
            self.adjust_space(block, |space| {
                space.wasted += space.dirty;
                space.dirty = 0;
            });
            return BlockState::Clean;
        }
        if good > 0 { BlockState::PartDirty } else { BlockState::AllDirty }
    }

    /// Removes a bad block from the accounting for good.
    pub(crate) fn retire_bad(&mut self, block: BlockIndex) {
        self.adjust_space(block, |space| *space = Space::default());
        self.move_to(block, List::Bad);
    }

    /// Begins to erase a block: its bytes are no longer used, dirty or free, and its references are
    /// dropped. No owner's list may refer to them any more.
    pub(crate) fn begin_erase(&mut self, block: BlockIndex) {
        self.adjust_space(block, |space| *space = Space::default());
        self.erasing += u64::from(self.size);
        let entry = self.block_mut(block);
        entry.refs = Vec::new();
        entry.gc_position = 0;
        self.move_to(block, List::Erasing);
    }

    /// Completes an erase: the block is free, and moves to `list`.
    pub(crate) fn finish_erase(&mut self, block: BlockIndex, list: List) {
        self.erasing -= u64::from(self.size);
        let size = u64::from(self.size);
        self.adjust_space(block, |space| space.free = size);
        self.move_to(block, list);
    }

    /// Records a failed erase.
    pub(crate) fn fail_erase(&mut self, block: BlockIndex) {
        self.erasing -= u64::from(self.size);
        self.move_to(block, List::Bad);
    }

    /// Releases memory that the references of a block will not need.
    pub(crate) fn shrink(&mut self, block: BlockIndex) {
        self.block_mut(block).refs.shrink_to_fit();
    }

    /// Changes the owner of a node.
    pub(crate) fn set_owner(&mut self, id: NodeId, owner: Owner) {
        let node = *self.node(id);
        *self.node_mut(id) = NodeRef::new(node.offset(), node.state(), owner, node.next);
    }

    /// Sets the node after `id` in its owner's list.
    pub(crate) fn set_next(&mut self, id: NodeId, next: Option<NodeId>) {
        self.node_mut(id).next = next;
    }

    /// The nodes of an owner's list, from its first one on.
    pub fn chain(&self, first: Option<NodeId>) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(first, |&id| self.node(id).next)
    }
}

/// Whether obsolete bytes are worth garbage collection (`ISDIRTY`): more than an inode node with
/// the minimum of data.
#[must_use]
pub const fn is_dirty(bytes: u64) -> bool {
    /// The minimum of data for which a node is written (`JFFS2_MIN_DATA_LEN`).
    const MIN_DATA: u64 = 128;
    bytes > inode::SIZE as u64 + MIN_DATA
}

/// The counter for nodes of this state.
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
