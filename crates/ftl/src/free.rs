//! The free blocks, and the choice of the next one.
//!
//! Layer: part of the pool. Main types: [`FreeBlocks`], [`Allocation`]. Dynamic wear levelling is no
//! more than the choice made here: the least worn free block. Source: the free tree of Linux UBI
//! (drivers/mtd/ubi/wl.c, `ubi->free`, 6.1), ordered by erase count, which serves both ends.

use std::collections::BTreeSet;

/// Which free block is used next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Allocation {
    /// The one freed last, as from a stack: no wear levelling.
    LastFreed,
    /// The one with the lowest erase count.
    #[default]
    LeastWorn,
}

/// Erased, unused blocks.
#[derive(Debug, Clone)]
pub(crate) enum FreeBlocks {
    Stack(Vec<u32>),
    /// Erase count, block.
    ByWear(BTreeSet<(u32, u32)>),
}

impl FreeBlocks {
    pub(crate) fn new(allocation: Allocation) -> Self {
        match allocation {
            Allocation::LastFreed => Self::Stack(Vec::new()),
            Allocation::LeastWorn => Self::ByWear(BTreeSet::new()),
        }
    }

    pub(crate) fn len(&self) -> u32 {
        let len = match self {
            Self::Stack(blocks) => blocks.len(),
            Self::ByWear(blocks) => blocks.len(),
        };
        u32::try_from(len).expect("blocks are numbered by u32")
    }

    pub(crate) fn insert(&mut self, block: u32, erases: u32) {
        match self {
            Self::Stack(blocks) => blocks.push(block),
            Self::ByWear(blocks) => {
                blocks.insert((erases, block));
            }
        }
    }

    /// The block that the policy uses next.
    pub(crate) fn take(&mut self) -> Option<u32> {
        match self {
            Self::Stack(blocks) => blocks.pop(),
            Self::ByWear(blocks) => blocks.pop_first().map(|(_, block)| block),
        }
    }

    /// The erase count of the most worn block; in a stack, of the block on top.
    pub(crate) fn most_worn(&self, erases: &[u32]) -> Option<u32> {
        match self {
            Self::Stack(blocks) => blocks.last().map(|&block| erases[block as usize]),
            Self::ByWear(blocks) => blocks.last().map(|&(erases, _)| erases),
        }
    }

    pub(crate) fn take_most_worn(&mut self) -> Option<u32> {
        match self {
            Self::Stack(blocks) => blocks.pop(),
            Self::ByWear(blocks) => blocks.pop_last().map(|(_, block)| block),
        }
    }

    /// Removes a block; returns whether it was free.
    pub(crate) fn remove(&mut self, block: u32, erases: u32) -> bool {
        match self {
            Self::Stack(blocks) => match blocks.iter().position(|&free| free == block) {
                Some(at) => blocks.remove(at) == block,
                None => false,
            },
            Self::ByWear(blocks) => blocks.remove(&(erases, block)),
        }
    }
}
