//! Wear levelling: which data are moved so that blocks wear equally.
//!
//! Layer: policy. Main types: [`Levelling`], the policy, and [`Leveller`], which keeps its state
//! and proposes one [`Move`] at a time. Sources:
//!
//! | policy | source |
//! |---|---|
//! | dynamic | the free block with the least wear, as every controller does; see [`crate::free`] |
//! | threshold | Linux UBI, drivers/mtd/ubi/wl.c `wear_leveling_worker` (6.1): when the most worn free block and the least worn used one are `UBI_WL_THRESHOLD` (4,096 unless configured) apart, the data go from the one to the other |
//! | SW Leveler | Chang, Hsieh, Kuo, "Endurance enhancement of flash-memory storage systems: an efficient static wear leveling design" (DAC 2007): block erasing table, one bit for 2^k blocks |
//! | dual pool | Chang, "On efficient wear leveling for large-scale flash-memory storage systems" (SAC 2007) |
//! | random swap | Ban, patent US 6,732,221 (2004); JFFS2 collects a clean block in one of 128 cases |
//!
//! Deliberate deviations: dual pool takes its hot block from the free ones, as the threshold policy
//! does, so it needs no second move; and a block of the cold pool returns to the hot one when it is
//! erased, not when its erases since it joined exceed those of others. Left out: progressive
//! thresholds.

use crate::error::Error;
use crate::pool::{Pool, State, Tier};
use boardlab_sim::Stream;

/// The wear-levelling policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Levelling {
    /// None: free blocks are used as a stack.
    None,
    /// Dynamic: the least worn free block is used next; cold data stay where they are.
    #[default]
    Dynamic,
    /// Dynamic; in addition the data of the least worn block are moved to the most worn free one
    /// when their erase counts differ by this much (static levelling).
    Threshold(u32),
    /// Dynamic; in addition sets of 2^`shift` blocks without an erase are collected when there are
    /// `threshold` erases for each set with one.
    SwLeveler {
        /// The binary logarithm of the number of blocks in a set.
        shift: u8,
        /// Erases for each set with an erase.
        threshold: u32,
    },
    /// Dynamic; in addition blocks are in a hot or a cold pool, half of them in each at first. The
    /// data of the least worn cold block are moved to the most worn free one when their erase
    /// counts differ by this much. A hot block that is behind by twice as much becomes cold.
    DualPool(u32),
    /// Dynamic; in addition a random block is collected after this many erases, at least one of
    /// them besides that of the last swap.
    RandomSwap(u32),
}

impl Levelling {
    /// Returns the policy if its numbers are valid.
    ///
    /// # Errors
    /// [`Error::Policy`] for a threshold or an interval of zero, or sets of more than 2^16 blocks.
    pub fn checked(self) -> Result<Self, Error> {
        let (what, found, most) = match self {
            Self::None | Self::Dynamic => return Ok(self),
            Self::Threshold(spread) | Self::DualPool(spread) => {
                ("spread of erase counts", spread, u32::MAX)
            }
            Self::RandomSwap(every) => ("erases between two swaps", every, u32::MAX),
            Self::SwLeveler { shift, .. } if shift > 16 => {
                ("logarithm of blocks", shift.into(), 16)
            }
            Self::SwLeveler { threshold, .. } => ("erases for each set", threshold, u32::MAX),
        };
        let refused = found == 0 || found > most;
        let error = Error::Policy { what, found: found.into(), least: 1, most: most.into() };
        if refused { Err(error) } else { Ok(self) }
    }

    /// Whether the policy ever moves data.
    #[must_use]
    pub const fn moves(self) -> bool {
        !matches!(self, Self::None | Self::Dynamic)
    }
}

/// A move of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// From this block to the most worn free one.
    OntoWorn(u32),
    /// From this block to the stream of copies.
    Anywhere(u32),
}

/// A policy with its state.
#[derive(Debug, Clone)]
pub struct Leveller {
    policy: Levelling,
    /// SW Leveler: sets with an erase. Dual pool: cold blocks.
    marked: Vec<bool>,
    /// Erases since the marks were cleared, or since the last swap.
    erases: u64,
    marks: u64,
    /// SW Leveler: the next block to examine.
    cursor: u32,
}

impl Leveller {
    /// A policy in its initial state, for a part of `blocks` blocks.
    #[must_use]
    pub fn new(policy: Levelling, blocks: u32) -> Self {
        let marks = match policy {
            Levelling::SwLeveler { shift, .. } => blocks.div_ceil(1 << shift),
            Levelling::DualPool(_) => blocks,
            _ => 0,
        };
        let half = matches!(policy, Levelling::DualPool(_));
        let marked = (0..marks).map(|mark| half && mark % 2 == 1).collect();
        Self { policy, marked, erases: 0, marks: 0, cursor: 0 }
    }

    /// Records the erase of a block.
    #[inline]
    pub fn erased(&mut self, block: u32) {
        match self.policy {
            Levelling::None | Levelling::Dynamic | Levelling::Threshold(_) => {}
            Levelling::SwLeveler { shift, .. } => {
                self.erases += 1;
                self.mark(block >> shift);
            }
            Levelling::DualPool(_) => self.marked[block as usize] = false,
            Levelling::RandomSwap(_) => self.erases += 1,
        }
    }

    fn mark(&mut self, set: u32) {
        let mark = &mut self.marked[set as usize];
        self.marks += u64::from(!*mark);
        *mark = true;
    }

    /// Returns the next move, if one is due.
    pub fn next(&mut self, pool: &Pool, random: &mut Stream) -> Option<Move> {
        match self.policy {
            Levelling::None | Levelling::Dynamic => None,
            Levelling::Threshold(spread) => {
                let (worn, least) = (pool.most_worn_free()?, pool.least_worn_closed()?);
                let coldest = || pool.settled().find(|&block| pool.erases(block) == least);
                if worn >= least.saturating_add(spread) {
                    coldest().map(Move::OntoWorn)
                } else {
                    None
                }
            }
            Levelling::DualPool(spread) => self.dual_pool(pool, spread),
            Levelling::SwLeveler { shift, threshold } => self.next_unmarked(pool, shift, threshold),
            Levelling::RandomSwap(every) => {
                let closed = pool.closed(Tier::Main);
                // The erase of a swap alone never triggers the next swap, or idle work would not end.
                if self.erases < u64::from(every).max(2) || closed.is_empty() {
                    return None;
                }
                self.erases = 0;
                let at = random.below(u64::try_from(closed.len()).expect("blocks fit u64"));
                closed
                    .get(usize::try_from(at).expect("a block"))
                    .map(|&block| Move::Anywhere(block))
            }
        }
    }

    fn dual_pool(&mut self, pool: &Pool, spread: u32) -> Option<Move> {
        let worn = pool.most_worn_free()?;
        if worn < pool.least_worn_closed()?.saturating_add(spread) {
            return None;
        }
        // A hot block that is far behind the others holds cold data and joins the cold pool.
        let hot = (0..pool.blocks()).filter(|&block| !self.marked[block as usize]);
        let behind = hot.min_by_key(|&block| pool.erases(block))?;
        if worn > pool.erases(behind).saturating_add(2 * spread) {
            self.marked[behind as usize] = true;
        }
        let closed = pool.settled().filter(|&block| self.marked[block as usize]);
        let coldest = closed.min_by_key(|&block| pool.erases(block))?;
        (worn >= pool.erases(coldest).saturating_add(spread)).then_some(Move::OntoWorn(coldest))
    }

    /// Records that a block now holds cold data.
    pub(crate) fn holds_cold(&mut self, block: u32) {
        if matches!(self.policy, Levelling::DualPool(_)) {
            self.marked[block as usize] = true;
        }
    }

    /// Steps cyclically to the next closed block of a set without an erase.
    fn next_unmarked(&mut self, pool: &Pool, shift: u8, threshold: u32) -> Option<Move> {
        if self.erases < u64::from(threshold) * self.marks.max(1) {
            return None;
        }
        for _ in 0..pool.blocks() {
            let block = self.cursor;
            let set = block >> shift;
            self.cursor = (block + 1) % pool.blocks();
            if !self.marked[set as usize] && pool.state(block) == State::Closed {
                return Some(Move::Anywhere(block));
            }
            if self.cursor >> shift != set {
                // No block of the set can be moved, so it is marked.
                self.mark(set);
            }
        }
        self.marked.fill(false);
        (self.erases, self.marks) = (0, 0);
        None
    }
}
