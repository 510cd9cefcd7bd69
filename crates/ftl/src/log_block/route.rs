//! Which log a page goes to, and what must be merged before there is one.
//!
//! Layer: the writing half of [`crate::log_block`]. One question, answered for each piece of a request
//! that one log can take:
//!
//! ```text
//!   in order      the unit's block, its gap filled; a page before its end: merge, begin another
//!   sequential    first page of a unit: a log of its own; the page after its last: that log
//!   own           newest log of the unit; full: another, up to the chain, then the unit is merged;
//!                 too many units or logs: the unit used longest ago is merged
//!   shared        the newest log; full: another; too many: the oldest is merged
//! ```
//!
//! Source: the write procedures of Kim et al. (2002) and Lee et al. (2007), as [`super::policies`]
//! says. Deviation: chains longer than one log, and logs for writes in order beside a unit's own,
//! are this model's (assumed).

use super::policies::{LogCells, Logs};
use super::{AcceptedPages, Log, LogBlocks, NONE};
use crate::error::Error;
use crate::frontier::Frontier;
use crate::medium::{CellMode, Medium};
use crate::pool::Tier;
use crate::translation::Event;

impl<M: Medium> LogBlocks<M> {
    /// Index of a log that takes page `offset` of `unit`, with room.
    pub(super) fn log_for(&mut self, unit: u32, offset: u32) -> Result<usize, Error> {
        self.turn += 1;
        let at = match (self.policies.logs, self.policies.sequential) {
            (Logs::InOrder { units }, _) => self.replacing_block(unit, offset, units)?,
            (_, 0) => self.log_for_any(unit)?,
            _ => match self.sequential_log(unit, offset)? {
                Some(at) => at,
                None => self.log_for_any(unit)?,
            },
        };
        let turn = self.turn;
        let mine = self.logs.iter_mut().filter(|log| log.unit == unit);
        mine.for_each(|log| log.used = turn);
        Ok(at)
    }

    fn is_open(&self, unit: u32) -> bool {
        self.logs.iter().any(|log| log.unit == unit)
    }

    fn count(&self, takes: AcceptedPages) -> u32 {
        let logs = self.logs.iter().filter(|log| log.takes == takes).count();
        u32::try_from(logs).expect("fewer logs than blocks")
    }

    /// The block that will replace the data block of `unit`, filled up to `offset`.
    fn replacing_block(&mut self, unit: u32, offset: u32, units: u32) -> Result<usize, Error> {
        match self.logs.iter().position(|log| log.unit == unit) {
            Some(at) => {
                let Log { frontier, in_order, .. } = &self.logs[at];
                if *in_order && frontier.room() > 0 && frontier.next() <= offset {
                    self.fill_gap(at, offset);
                    return Ok(at);
                }
                self.merge_for_host(unit)?;
            }
            None => self.flash.events.add(Event::OpenUnitMiss),
        }
        if self.count(AcceptedPages::Next) == units {
            self.merge_longest_unused(|_| true)?;
        }
        let at = self.open(unit, AcceptedPages::Next)?;
        self.fill_gap(at, offset);
        Ok(at)
    }

    /// The log for writes in order, where the page is one of those.
    fn sequential_log(&mut self, unit: u32, offset: u32) -> Result<Option<usize>, Error> {
        let next = |log: &Log| log.takes == AcceptedPages::Next;
        let mine = self.logs.iter().position(|log| next(log) && log.unit == unit);
        if let Some(at) = mine {
            let Log { frontier, in_order, .. } = &self.logs[at];
            if *in_order && frontier.room() > 0 && frontier.next() == offset {
                return Ok(Some(at));
            }
        }
        if offset > 0 {
            return Ok(None);
        }
        match mine {
            Some(_) => self.merge_for_host(unit)?,
            None => self.make_way(unit)?,
        }
        if self.count(AcceptedPages::Next) == self.policies.sequential {
            self.flash.events.add(Event::LogsFull);
            self.merge_longest_unused(next)?;
        }
        self.open(unit, AcceptedPages::Next).map(Some)
    }

    /// A log that takes any page of `unit`.
    fn log_for_any(&mut self, unit: u32) -> Result<usize, Error> {
        let (owner, chain, all) = match self.policies.logs {
            Logs::Own { chain, all, .. } => (unit, chain, all),
            Logs::Shared { blocks } => (NONE, blocks, blocks),
            Logs::InOrder { .. } => unreachable!("LogBlocks::log_for_any: pages go in order"),
        };
        let any = |log: &Log| log.takes == AcceptedPages::Any;
        let newest = self.logs.iter().rposition(|log| any(log) && log.unit == owner);
        if let Some(at) = newest.filter(|&at| self.logs[at].frontier.room() > 0) {
            return Ok(at);
        }
        let mine = self.logs.iter().filter(|log| any(log) && log.unit == owner).count();
        if mine < chain as usize {
            self.make_way(unit)?;
        } else {
            self.flash.events.add(Event::LogsFull);
            match owner {
                NONE => self.merge_oldest_shared()?,
                unit => self.merge_for_host(unit)?,
            }
        }
        if self.count(AcceptedPages::Any) == all {
            self.flash.events.add(Event::LogsFull);
            self.merge_longest_unused(any)?;
        }
        self.open(owner, AcceptedPages::Any)
    }

    /// Merges another unit when `unit` is not open and no more may be.
    fn make_way(&mut self, unit: u32) -> Result<(), Error> {
        let Logs::Own { units, .. } = self.policies.logs else { return Ok(()) };
        if self.is_open(unit) {
            return Ok(());
        }
        self.flash.events.add(Event::OpenUnitMiss);
        let mut open: Vec<u32> = self.logs.iter().map(|log| log.unit).collect();
        open.sort_unstable();
        open.dedup();
        if open.len() == units as usize { self.merge_longest_unused(|_| true) } else { Ok(()) }
    }

    /// Merges the unit, of those with logs that `count`, that was written to longest ago.
    fn merge_longest_unused(&mut self, count: impl Fn(&Log) -> bool) -> Result<(), Error> {
        let logs = self.logs.iter().filter(|log| count(log));
        let oldest = logs.min_by_key(|log| log.used).map(|log| log.unit);
        self.merge_for_host(oldest.expect("there are too many logs"))
    }

    /// A free block becomes a log.
    fn open(&mut self, unit: u32, takes: AcceptedPages) -> Result<usize, Error> {
        let (mode, pages) = match (self.policies.cells, takes) {
            (LogCells::SingleBit { .. }, AcceptedPages::Any) => {
                (CellMode::SingleBit, self.policies.log_pages(&self.flash.geometry))
            }
            _ => (CellMode::Native, self.flash.geometry.pages_per_block()),
        };
        let block = match mode {
            CellMode::SingleBit if self.policies.fixed_blocks() > 0 => self.take_fixed(),
            _ => self.flash.pool.take_free(Tier::Main),
        };
        let block = block.ok_or_else(|| self.flash.refused())?;
        self.prepare(block, mode);
        self.logs.push(Log {
            unit,
            takes,
            frontier: Frontier::new(block, pages),
            in_order: mode == CellMode::Native && unit != NONE,
            whole: true,
            used: self.turn,
        });
        Ok(self.logs.len() - 1)
    }

    /// A block of those that are only ever logs; one of the others where one of them has died.
    fn take_fixed(&mut self) -> Option<u32> {
        if let Some(block) = self.flash.pool.take_free(Tier::Cache) {
            return Some(block);
        }
        let block = self.flash.pool.take_free(Tier::Main)?;
        self.flash.pool.set_tier(block, Tier::Cache);
        Some(block)
    }
}
