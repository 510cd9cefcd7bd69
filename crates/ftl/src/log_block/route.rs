//! Selects the log for a page, and merges a unit first if there is none.
//!
//! Layer: the write path of [`crate::log_block`]. The log of each part of a request that one log
//! can take:
//!
//! ```text
//!   in order      the unit's replacing block, its gap filled; an earlier page: merge, begin another
//!   sequential    first page of a unit: a sequential log; the page after its last: that log
//!   own           newest log of the unit; full: another, up to the chain, then the unit is merged;
//!                 too many units or logs: the least recently used unit is merged
//!   shared        the newest log; full: another; too many: the oldest is merged
//! ```
//!
//! Source: the write procedures of Kim et al. (2002) and Lee et al. (2007), see
//! [`super::policies`]. Deliberate deviation: chains longer than one log, and sequential logs
//! beside a unit's own, are this model's (assumed).

use super::policies::{LogCells, Logs};
use super::{AcceptedPages, Log, LogBlocks, NONE};
use crate::error::Error;
use crate::frontier::Frontier;
use crate::medium::{CellMode, Medium};
use crate::pool::Tier;
use crate::translation::Event;

impl<M: Medium> LogBlocks<M> {
    /// The index of a log that has room for page `offset` of `unit`.
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

    /// The index of the block that will replace the data block of `unit`, filled up to `offset`.
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
            self.merge_least_recently_used(|_| true)?;
        }
        let at = self.open(unit, AcceptedPages::Next)?;
        self.fill_gap(at, offset);
        Ok(at)
    }

    /// The index of a sequential log, if the page belongs into one.
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
            self.merge_least_recently_used(next)?;
        }
        self.open(unit, AcceptedPages::Next).map(Some)
    }

    /// The index of a log that accepts any page of `unit`.
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
            self.merge_least_recently_used(any)?;
        }
        self.open(owner, AcceptedPages::Any)
    }

    /// Merges another unit if `unit` is not open and the limit of open units is reached.
    fn make_way(&mut self, unit: u32) -> Result<(), Error> {
        let Logs::Own { units, .. } = self.policies.logs else { return Ok(()) };
        if self.is_open(unit) {
            return Ok(());
        }
        self.flash.events.add(Event::OpenUnitMiss);
        let mut open: Vec<u32> = self.logs.iter().map(|log| log.unit).collect();
        open.sort_unstable();
        open.dedup();
        if open.len() == units as usize { self.merge_least_recently_used(|_| true) } else { Ok(()) }
    }

    /// Merges the least recently written unit among those with logs for which `count` holds.
    fn merge_least_recently_used(&mut self, count: impl Fn(&Log) -> bool) -> Result<(), Error> {
        let logs = self.logs.iter().filter(|log| count(log));
        let oldest = logs.min_by_key(|log| log.used).map(|log| log.unit);
        self.merge_for_host(oldest.expect("there are too many logs"))
    }

    /// Makes a log of a free block.
    fn open(&mut self, unit: u32, takes: AcceptedPages) -> Result<usize, Error> {
        let (mode, pages) = match (self.policies.cells, takes) {
            (LogCells::Slc { .. }, AcceptedPages::Any) => {
                (CellMode::Slc, self.policies.log_pages(&self.flash.geometry))
            }
            _ => (CellMode::Native, self.flash.geometry.pages_per_block()),
        };
        let block = match mode {
            CellMode::Slc if self.policies.fixed_blocks() > 0 => self.take_fixed(),
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

    /// Takes one of the fixed log blocks, or another block if one of them has worn out.
    fn take_fixed(&mut self) -> Option<u32> {
        if let Some(block) = self.flash.pool.take_free(Tier::Cache) {
            return Some(block);
        }
        let block = self.flash.pool.take_free(Tier::Main)?;
        self.flash.pool.set_tier(block, Tier::Cache);
        Some(block)
    }
}
