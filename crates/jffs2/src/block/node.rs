//! References to nodes: where a node is, in which state, and whose it is.
//!
//! Layer: rank 5. Main types: [`NodeRef`] and its identifier [`NodeId`], [`NodeState`], [`Owner`].

use crate::format::to_usize;
use boardlab_mtd::BlockIndex;
use std::num::NonZeroU64;

/// The identifier of a node reference: the block, and the number within the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU64);

impl NodeId {
    pub(super) const fn new(block: u32, index: u32) -> Self {
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

/// The state of a node (`REF_*` of the kernel).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeState {
    /// The header was read; the data were not checked yet.
    Unchecked = 0,
    /// Superseded by a newer node, or damaged, or not a node.
    Obsolete = 1,
    /// Valid, and to be copied as it is.
    Pristine = 2,
    /// Valid, but garbage collection should rewrite it.
    Normal = 3,
}

impl NodeState {
    const ALL: [Self; 4] = [Self::Unchecked, Self::Obsolete, Self::Pristine, Self::Normal];

    /// The two lowest bits of a reference.
    pub(super) const fn bits(self) -> u32 {
        match self {
            Self::Unchecked => 0,
            Self::Obsolete => 1,
            Self::Pristine => 2,
            Self::Normal => 3,
        }
    }

    /// Whether the node is live, which means not obsolete.
    #[must_use]
    pub const fn is_live(self) -> bool {
        !matches!(self, Self::Obsolete)
    }
}

/// The owner of a node, as the slot of the owner in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// No owner: a cleanmarker, a summary, a node of an unknown type, a gap.
    Nobody,
    /// An inode, by its slot in [`Inodes`](crate::index::Inodes).
    Inode(u32),
    /// An extended attribute, by its slot in [`Xattrs`](crate::xattr::Xattrs).
    Xattr(u32),
    /// A reference to an extended attribute, by its slot.
    Xref(u32),
}

/// A node on flash, in 16 bytes.
#[derive(Debug, Clone, Copy)]
pub struct NodeRef {
    /// Offset in the block, with the state in the lowest two bits.
    pub(super) place: u32,
    /// The owner's slot with its kind in the lowest two bits; 0 when there is none.
    owner: u32,
    pub(super) next: Option<NodeId>,
}

impl NodeRef {
    pub(super) fn new(offset: u32, state: NodeState, owner: Owner, next: Option<NodeId>) -> Self {
        let owner = match owner {
            Owner::Nobody => 0,
            Owner::Inode(slot) => slot << 2 | 1,
            Owner::Xattr(slot) => slot << 2 | 2,
            Owner::Xref(slot) => slot << 2 | 3,
        };
        Self { place: offset | state.bits(), owner, next }
    }

    /// The offset of the node in its block.
    #[must_use]
    pub const fn offset(&self) -> u32 {
        self.place & !3
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> NodeState {
        NodeState::ALL[to_usize(self.place & 3)]
    }

    /// The owner.
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

    /// The next node in the owner's list: the one that was linked before it.
    #[must_use]
    pub const fn next(&self) -> Option<NodeId> {
        self.next
    }
}
