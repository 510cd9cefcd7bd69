//! The policies of a block-mapped layer, checked against the part.
//!
//! Layer: configuration of the mechanism in [`crate::log_block`]. Main types: [`LogPolicies`],
//! [`Logs`], [`LogCells`]. Sources: log blocks of one unit each, Kim et al. (IEEE Transactions on
//! Consumer Electronics 48, 2002); shared logs and one for sequential writes, Lee et al., "A log
//! buffer-based flash translation layer using fully-associative sector translation" (FAST; ACM TECS
//! 6, 2007); the limit of open units, flashbench's README. Which of them a card uses, with which
//! numbers and whether with logs in SLC mode, is not published: assumed.

use crate::error::Error;
use crate::geometry::Geometry;
use crate::page_map::policies::LevellingTime;
use crate::policy::levelling::Levelling;

/// The log blocks, and which units share them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Logs {
    /// Only blocks that replace data blocks: plain block mapping. Such a block is filled sequentially;
    /// pages that a write skips are copied, and a write to an earlier page begins another block.
    InOrder {
        /// The number of data blocks that may be replaced at the same time.
        units: u32,
    },
    /// Each open unit has its own logs (BAST).
    Own {
        /// The number of units that may be open.
        units: u32,
        /// The number of logs that a unit may fill before it is merged.
        chain: u32,
        /// The number of logs of all units together, from `units` to `units * chain`.
        all: u32,
    },
    /// All units share the logs, and the oldest is merged (FAST).
    Shared {
        /// The number of logs.
        blocks: u32,
    },
}

/// The cell mode of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LogCells {
    /// Native mode: a sequentially written log can become the data block.
    #[default]
    Ordinary,
    /// SLC mode: fast, but the data must be folded into an ordinary block.
    Slc {
        /// Bits of a cell in native mode: a log has this many times fewer pages than an ordinary block.
        bits: u32,
        /// Whether the logs are always the same blocks. Otherwise each is taken from the free blocks.
        fixed: bool,
    },
}

/// The policies of a block-mapped layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPolicies {
    /// The log blocks.
    pub logs: Logs,
    /// The cell mode of logs; sequential logs are always in native mode.
    pub cells: LogCells,
    /// The number of sequential logs: ordinary logs for units that are written from their first
    /// page on, as long as the writes remain sequential.
    pub sequential: u32,
    /// Whether logs are merged while the host is idle, the least recently used first.
    pub merge_when_idle: bool,
    /// Wear levelling. A move rewrites a unit.
    pub levelling: Levelling,
    /// When wear levelling runs: after a merge, at most one move, or while the host is idle.
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
            levelling_time: LevellingTime::Foreground,
        }
    }

    /// `blocks` shared logs, and one sequential log.
    #[must_use]
    pub fn shared(blocks: u32) -> Self {
        Self { logs: Logs::Shared { blocks }, sequential: 1, ..Self::own(1) }
    }

    /// Plain block mapping with up to `units` data blocks being replaced.
    #[must_use]
    pub fn in_order(units: u32) -> Self {
        Self { logs: Logs::InOrder { units }, ..Self::own(1) }
    }

    /// The number of logs for writes in any order.
    #[must_use]
    pub const fn any_order(&self) -> u32 {
        match self.logs {
            Logs::InOrder { .. } => 0,
            Logs::Own { all, .. } => all,
            Logs::Shared { blocks } => blocks,
        }
    }

    /// The number of blocks that are always logs.
    #[must_use]
    pub const fn fixed_blocks(&self) -> u32 {
        match self.cells {
            LogCells::Slc { fixed: true, .. } => self.any_order(),
            LogCells::Slc { .. } | LogCells::Ordinary => 0,
        }
    }

    /// The number of good blocks that a part needs to hold `logical` blocks of data: one for each,
    /// the logs, and one to merge into.
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

    /// The pages of a log for writes in any order, in whole rows.
    #[must_use]
    pub fn log_pages(&self, geometry: &Geometry) -> u32 {
        let row = geometry.stripe().row_pages();
        match self.cells {
            LogCells::Ordinary => geometry.pages_per_block(),
            LogCells::Slc { bits, .. } => geometry.pages_per_block() / bits.max(1) / row * row,
        }
    }

    /// Returns the policies if their numbers are valid on this part.
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
                within("sequential logs beside a block map", self.sequential, 0, 0)?;
            }
            Logs::Own { units, chain, all } => {
                within("open units", units, 1, blocks)?;
                within("logs of a unit", chain, 1, blocks)?;
                within("logs of all units", all, units, units.saturating_mul(chain))?;
                within("sequential logs", self.sequential, 0, units)?;
            }
            Logs::Shared { blocks: shared } => {
                within("shared logs", shared, 1, blocks)?;
                within("sequential logs", self.sequential, 0, blocks)?;
            }
        }
        if let LogCells::Slc { bits, .. } = self.cells {
            let rows = geometry.pages_per_block() / geometry.stripe().row_pages();
            let most = if self.any_order() == 0 { 0 } else { rows };
            within("bits of a cell, in logs for writes in any order,", bits, 1, most)?;
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
