//! All that is chosen about a layer that maps whole blocks, checked against the part.
//!
//! Layer: configuration of the mechanism in [`crate::log_block`]. Main types: [`LogPolicies`],
//! [`Logs`], [`LogCells`]. Sources: log blocks of one unit each, Kim et al. (IEEE Transactions on
//! Consumer Electronics 48, 2002); logs that all units share and one for writes in order, Lee et
//! al., "A log buffer-based flash translation layer using fully-associative sector translation"
//! (FAST; ACM TECS 6, 2007); the limit of open units, flashbench's README. Which a card uses, its
//! numbers, and logs of single-bit cells, are not published: assumed.

use crate::error::Error;
use crate::geometry::Geometry;
use crate::page_map::policies::LevellingTime;
use crate::policy::levelling::Levelling;

/// Which blocks take writes, and whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Logs {
    /// None but those that replace data blocks: plain block mapping. Such a block is filled in
    /// order; pages that a write leaves out are copied, and a write before its end begins another
    /// one.
    InOrder {
        /// Blocks that may be replaced at the same time.
        units: u32,
    },
    /// Each open unit has logs of its own (BAST).
    Own {
        /// Units that may be open.
        units: u32,
        /// Logs that one of them may fill before it is merged.
        chain: u32,
        /// Logs of all units together: from `units` to `units * chain`.
        all: u32,
    },
    /// All units write into the same logs, and the oldest is merged (FAST).
    Shared {
        /// How many there are.
        blocks: u32,
    },
}

/// How the cells of logs are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LogCells {
    /// With all their bits: a log that was written in order can become the data block.
    #[default]
    Ordinary,
    /// With one bit: quick, and what they hold must be folded into an ordinary block.
    SingleBit {
        /// Bits of a cell in ordinary use: a log has so many times fewer pages.
        bits: u32,
        /// Whether they are always the same blocks. Otherwise each is taken from the free ones.
        fixed: bool,
    },
}

/// All that is chosen about a layer that maps whole blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPolicies {
    /// Which blocks take writes.
    pub logs: Logs,
    /// The cells of logs; never of those for writes in order.
    pub cells: LogCells,
    /// Ordinary logs apart from the others, for units that are written from their first page on: as
    /// long as such a write goes on in order it goes there. Zero for none.
    pub sequential: u32,
    /// Whether logs are merged while the host is away, the one used longest ago first.
    pub merge_when_idle: bool,
    /// How wear is levelled. A move rewrites a unit.
    pub levelling: Levelling,
    /// When: after a merge, one move at most, or while the host is away.
    pub levelling_time: LevellingTime,
}

impl Default for LogPolicies {
    /// Two open units of one log each.
    fn default() -> Self {
        Self::own(2)
    }
}

impl LogPolicies {
    /// `units` open units of one ordinary log each.
    #[must_use]
    pub fn own(units: u32) -> Self {
        Self {
            logs: Logs::Own { units, chain: 1, all: units },
            cells: LogCells::Ordinary,
            sequential: 0,
            merge_when_idle: false,
            levelling: Levelling::Dynamic,
            levelling_time: LevellingTime::InTheWay,
        }
    }

    /// `blocks` shared logs, and one for writes in order.
    #[must_use]
    pub fn shared(blocks: u32) -> Self {
        Self { logs: Logs::Shared { blocks }, sequential: 1, ..Self::own(1) }
    }

    /// Plain block mapping with `units` blocks being replaced.
    #[must_use]
    pub fn in_order(units: u32) -> Self {
        Self { logs: Logs::InOrder { units }, ..Self::own(1) }
    }

    /// Logs for writes in any order.
    #[must_use]
    pub const fn any_order(&self) -> u32 {
        match self.logs {
            Logs::InOrder { .. } => 0,
            Logs::Own { all, .. } => all,
            Logs::Shared { blocks } => blocks,
        }
    }

    /// Blocks that are only ever logs.
    #[must_use]
    pub const fn fixed_blocks(&self) -> u32 {
        match self.cells {
            LogCells::SingleBit { fixed: true, .. } => self.any_order(),
            LogCells::SingleBit { .. } | LogCells::Ordinary => 0,
        }
    }

    /// Blocks that a part must have, bad ones not counted, to hold `logical` blocks of data: one
    /// for each, the logs, and one to merge into.
    #[must_use]
    pub const fn blocks_needed(&self, logical: u32) -> u32 {
        let logs = match self.logs {
            Logs::InOrder { units } => units,
            Logs::Own { .. } | Logs::Shared { .. } => {
                self.any_order().saturating_add(self.sequential)
            }
        };
        logical.saturating_add(logs).saturating_add(1)
    }

    /// Pages of a log for writes in any order: whole rows.
    #[must_use]
    pub fn log_pages(&self, geometry: &Geometry) -> u32 {
        let row = geometry.stripe().row_pages();
        match self.cells {
            LogCells::Ordinary => geometry.pages_per_block(),
            LogCells::SingleBit { bits, .. } => {
                geometry.pages_per_block() / bits.max(1) / row * row
            }
        }
    }

    /// The same, when its numbers make sense on this part.
    ///
    /// # Errors
    /// [`Error::Policy`], [`Error::TooFewBlocks`].
    pub fn checked(self, geometry: &Geometry) -> Result<Self, Error> {
        self.levelling.checked()?;
        let blocks = geometry.blocks();
        let within = |what, found: u32, least: u32, most: u32| {
            let error =
                Error::Policy { what, found: found.into(), least: least.into(), most: most.into() };
            if (least..=most).contains(&found) { Ok(()) } else { Err(error) }
        };
        match self.logs {
            Logs::InOrder { units } => {
                within("open units", units, 1, blocks)?;
                within("logs for writes in order beside a block map", self.sequential, 0, 0)?;
            }
            Logs::Own { units, chain, all } => {
                within("open units", units, 1, blocks)?;
                within("logs of a unit", chain, 1, blocks)?;
                within("logs of all units", all, units, units.saturating_mul(chain))?;
                within("logs for writes in order", self.sequential, 0, units)?;
            }
            Logs::Shared { blocks: shared } => {
                within("shared logs", shared, 1, blocks)?;
                within("logs for writes in order", self.sequential, 0, blocks)?;
            }
        }
        if let LogCells::SingleBit { bits, .. } = self.cells {
            let rows = geometry.pages_per_block() / geometry.stripe().row_pages();
            let most = if self.any_order() == 0 { 0 } else { rows };
            within("bits of a cell, of logs for writes in any order,", bits, 1, most)?;
        }
        let logical = geometry.logical_blocks();
        let needed = self.blocks_needed(logical);
        if blocks < needed {
            Err(Error::TooFewBlocks { blocks, needed, logical })
        } else {
            Ok(self)
        }
    }
}
