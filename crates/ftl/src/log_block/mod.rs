//! Block mapping with log blocks for writes: the translation layers of cheap cards.
//!
//! Layer: a mapping on pool, table and medium, beside [`crate::page_map`]. Main types:
//! [`LogBlocks`], [`LogPolicies`], [`Merges`]. A *unit* is a logical block. In its data block each
//! page lies at its own offset. Writes go to log blocks ([`route`]), which are emptied by merging
//! all pages of a unit into one block ([`merge`]). The published layers differ in which units share
//! a log, and in the order in which a log accepts pages:
//!
//! ```text
//!   Logs::InOrder   block mapping: a sequentially written block replaces the data block
//!   Logs::Own       BAST: an open unit has logs of its own; a write elsewhere merges the least recently used unit
//!   Logs::Shared    FAST: all units write into the same logs; the oldest is merged with all units in it
//! ```
//!
//! Sources: see [`policies`]. Left out: the storage of the block map in flash, and garbage
//! collection without a merge (superblocks, LAST).

pub mod life;
pub mod merge;
pub mod policies;
pub mod power;
pub mod recovery;
pub mod route;

use crate::cause::Cause;
use crate::counters::Counters;
use crate::error::Error;
use crate::flash::Flash;
use crate::free::Allocation;
use crate::frontier::Frontier;
use crate::geometry::{Geometry, Page};
use crate::medium::Busy;
use crate::medium::{CellMode, Medium, Stamp, Version};
use crate::page_map::power::PowerSafety;
use crate::policy::levelling::{Leveller, Levelling};
use crate::pool::{Pool, State, Tier};
use crate::translation::{Completion, Extent, Occupancy, Pace, Translation, Wear};
use boardlab_sim::{Bytes, Duration, Instant, Seed, Stream};
use policies::{LogCells, LogPolicies};
use std::collections::BTreeSet;

const NONE: u32 = u32::MAX;

/// The number of merges, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Merges {
    /// Switch merges: the log became the data block.
    pub switches: u64,
    /// Partial merges: the log became the data block after the remaining pages were copied to it.
    pub partial: u64,
    /// Full merges: all pages were copied into a third block.
    pub full: u64,
}

/// The pages that a log accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AcceptedPages {
    Any,
    /// Only the next page of its unit.
    Next,
}

/// A log block.
#[derive(Debug, Clone)]
struct Log {
    /// The unit; [`NONE`] where all units share the log.
    unit: u32,
    takes: AcceptedPages,
    frontier: Frontier,
    /// Whether each programmed page is at its own offset of the unit.
    in_order: bool,
    /// Whether all programmed pages are valid.
    whole: bool,
    /// When its unit was last written.
    used: u64,
}

impl Log {
    fn block(&self) -> u32 {
        self.frontier.block().expect("a log is an open block")
    }
}

/// A block-mapped translation layer on a medium.
#[derive(Debug, Clone)]
pub struct LogBlocks<M> {
    flash: Flash<M>,
    policies: LogPolicies,
    leveller: Leveller,
    merges: Merges,
    random: Stream,
    /// By unit: its data block.
    data: Vec<u32>,
    /// By block: the unit whose data block it is, and its cell mode.
    unit_of: Vec<u32>,
    mode_of: Vec<CellMode>,
    /// The logs in the order in which they were opened.
    logs: Vec<Log>,
    /// The number of request parts so far: the clock of [`Log::used`].
    turn: u64,
    /// The power-cut safety, where the part has it.
    safety: Option<PowerSafety>,
    /// Units with trimmed pages that are still present in the flash.
    due: BTreeSet<u32>,
    /// Buffers, kept to reuse their memory.
    offsets: Vec<u32>,
    logical: Vec<u32>,
}

impl<M: Medium> LogBlocks<M> {
    /// A layer on an erased part. `seed` is for random wear levelling.
    ///
    /// # Errors
    /// [`Error::Policy`]; [`Error::TooFewBlocks`] with the required number.
    pub fn new(
        geometry: Geometry,
        policies: LogPolicies,
        medium: M,
        seed: Seed,
    ) -> Result<Self, Error> {
        let policies = policies.checked(&geometry)?;
        let allocation = match policies.levelling {
            Levelling::None => Allocation::LastFreed,
            _ => Allocation::LeastWorn,
        };
        let mut pool = Pool::new(&geometry, allocation, false);
        (0..policies.fixed_blocks()).for_each(|block| pool.assign(block, Tier::Cache));
        let blocks = geometry.blocks() as usize;
        Ok(Self {
            flash: Flash::new(geometry, geometry.logical_pages(), pool, medium),
            policies,
            leveller: Leveller::new(policies.levelling, geometry.blocks()),
            merges: Merges::default(),
            random: seed.stream("ftl.levelling"),
            data: vec![NONE; geometry.logical_blocks() as usize],
            unit_of: vec![NONE; blocks],
            mode_of: vec![CellMode::Native; blocks],
            logs: Vec::new(),
            turn: 0,
            safety: None,
            due: BTreeSet::new(),
            offsets: Vec::new(),
            logical: Vec::new(),
        })
    }

    /// The flash behind it.
    #[must_use]
    pub const fn flash(&self) -> &Flash<M> {
        &self.flash
    }

    /// The flash behind it.
    pub const fn flash_mut(&mut self) -> &mut Flash<M> {
        &mut self.flash
    }

    /// The policies.
    #[must_use]
    pub const fn policies(&self) -> &LogPolicies {
        &self.policies
    }

    /// The number of merges.
    #[must_use]
    pub const fn merges(&self) -> Merges {
        self.merges
    }

    /// The first logical page of a unit, and its number of pages.
    fn pages_of(&self, unit: u32) -> (u32, u32) {
        let first = self.flash.geometry.first_page(unit);
        (first, self.flash.geometry.pages_per_block().min(self.pages() - first))
    }

    /// Writes the pages of an extent within one unit, or the first of them. Returns how many.
    fn write_part(&mut self, first: u32, count: u32) -> Result<u32, Error> {
        let Page { block: unit, offset } = self.flash.geometry.locate(first);
        let count = count.min(self.flash.geometry.pages_per_block() - offset);
        let at = self.log_for(unit, offset)?;
        let log = &mut self.logs[at];
        log.in_order &= offset == log.frontier.next();
        let run = log.frontier.take(count);
        self.flash.mapped = self.flash.mapped + run.count - self.drop_pages(first, run.count);
        self.flash.table.set_run(first, Page { block: run.block, offset: run.offset }, run.count);
        self.flash.pool.add_valid(run.block, run.count);
        self.flash.medium.program(
            run,
            Stamp { logical: first, version: self.flash.version },
            Cause::Host,
        );
        self.flash.counters.programs[Cause::Host] += u64::from(run.count);
        self.flash.counters.written += u64::from(run.count);
        Ok(run.count)
    }

    /// Unmaps logical pages. Returns how many had data.
    fn drop_pages(&mut self, first: u32, count: u32) -> u32 {
        let (mut at, mut dropped) = (first, 0);
        while at < first + count {
            let (old, same) = self.flash.table.neighbours(at, first + count - at);
            at += same;
            let Some(old) = old else { continue };
            self.flash.table.drop_run(old, same);
            self.flash.pool.invalidate(old.block, same);
            let mut logs = self.logs.iter_mut();
            if let Some(log) = logs.find(|log| log.frontier.block() == Some(old.block)) {
                log.whole = false;
            }
            dropped += same;
        }
        dropped
    }

    /// Pads a log to the next multiple of `pages`.
    fn fill_up(&mut self, at: usize, pages: u32) {
        let log = &mut self.logs[at];
        if let Some(run) = log.frontier.fill_up(pages).filter(|run| run.count > 0) {
            // The pages of these offsets can no longer be written here.
            log.in_order = false;
            self.flash.medium.program(run, Stamp::FILLER, Cause::Padding);
            self.flash.counters.programs[Cause::Padding] += u64::from(run.count);
        }
    }

    /// Checks all tables: every valid page belongs to a logical page, in a log or at its own offset
    /// in the data block of its unit, counts are right, and no block is lost. For tests: the time
    /// is proportional to the size of the part.
    ///
    /// # Panics
    /// When a table is inconsistent.
    pub fn assert_sound(&self) {
        let mut mapped = 0_u32;
        for logical in 0..self.flash.table.len() {
            let Some(page) = self.flash.table.get(logical) else { continue };
            assert_eq!(
                self.flash.table.holder(page),
                Some(logical),
                "{page} holds what lies there"
            );
            let own = self.flash.geometry.locate(logical);
            let in_data = self.data[own.block as usize] == page.block && own.offset == page.offset;
            let mut logs = self.logs.iter().filter(|log| [own.block, NONE].contains(&log.unit));
            let in_log = logs.any(|log| log.block() == page.block);
            assert!(in_data || in_log, "{page} is no place for logical page {logical}");
            mapped += 1;
        }
        assert_eq!(mapped, self.flash.mapped, "as many logical pages have data");
        let blocks = 0..self.flash.geometry.blocks();
        let valid: u32 = blocks.clone().map(|block| self.flash.pool.valid(block)).sum();
        assert_eq!(valid, mapped, "as many pages are valid as have data");
        let count = |state| blocks.clone().filter(|&b| self.flash.pool.state(b) == state).count();
        let listed = self.flash.pool.free(Tier::Main) + self.flash.pool.free(Tier::Cache);
        assert_eq!(count(State::Free), listed as usize, "every free block is listed");
        assert_eq!(count(State::Open), self.logs.len(), "every open block is a log");
        let data = self.data.iter().filter(|&&block| block != NONE).count();
        assert_eq!(count(State::Closed), data, "every closed block is a data block");
        self.flash.counters.assert_conserved(self.flash.medium.operations());
    }
}

impl<M: Medium> Translation for LogBlocks<M> {
    fn pages(&self) -> u32 {
        self.flash.geometry.logical_pages()
    }

    fn page_size(&self) -> Bytes {
        self.flash.geometry.page()
    }

    fn write(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error> {
        let Extent { mut first, mut count } = extent.within(self.pages())?;
        self.flash.writable()?;
        self.flash.begin(at);
        self.flash.version.0 += 1;
        while count > 0 {
            let done = self.write_part(first, count)?;
            first += done;
            count -= done;
        }
        Ok(self.flash.end())
    }

    fn write_paced(
        &mut self,
        at: Instant,
        extent: Extent,
        pace: Pace,
    ) -> Result<Completion, Error> {
        self.flash.medium.pace(pace.each);
        let done = self.write(at, extent);
        self.flash.medium.pace(Duration::ZERO);
        done
    }

    fn read(
        &mut self,
        at: Instant,
        extent: Extent,
        versions: &mut [Version],
    ) -> Result<Completion, Error> {
        let extent = extent.within(self.pages())?;
        self.flash.begin(at);
        self.flash.read(extent, versions);
        Ok(self.flash.end())
    }

    fn trim(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error> {
        let Extent { first, count } = extent.within(self.pages())?;
        self.flash.writable()?;
        self.flash.begin(at);
        self.flash.version.0 += 1;
        let dropped = self.drop_pages(first, count);
        self.flash.mapped -= dropped;
        self.flash.counters.trimmed += u64::from(dropped);
        self.flash.table.clear_run(first, count);
        if dropped > 0 {
            let last = self.flash.geometry.locate(first + count - 1).block;
            let units = self.flash.geometry.locate(first).block..=last;
            match self.safety {
                None => units.for_each(|unit| self.return_emptied(unit)),
                Some(_) => self.due.extend(units),
            }
        }
        Ok(self.flash.end())
    }

    fn flush(&mut self, at: Instant) -> Completion {
        self.flash.begin(at);
        self.flash.counters.flushes += 1;
        self.make_durable();
        let units = self.flash.geometry.stripe().units;
        for at in 0..self.logs.len() {
            self.fill_up(at, units);
        }
        self.flash.medium.flush();
        self.flash.end()
    }

    fn idle(&mut self, from: Instant, until: Instant) -> Instant {
        let (mut now, mut moves) = (from, self.flash.geometry.blocks());
        self.flash.now = until;
        self.flash.medium.background(from);
        self.flash
            .patrol(until, |flash, block| flash.table.holder(Page { block, offset: 0 }).is_some());
        while now <= until && !self.flash.read_only {
            self.flash.medium.background(now);
            let busy = self.background(&mut moves);
            let done = self.flash.medium.end().finished;
            if !busy {
                break;
            }
            now = now.max(done);
        }
        now
    }

    fn counters(&self) -> &Counters {
        &self.flash.counters
    }

    fn wear(&self) -> Wear {
        self.flash.wear(self.policies.fixed_blocks(), self.spare_blocks())
    }

    fn occupancy(&self) -> Occupancy {
        let logs = match self.policies.cells {
            LogCells::Slc { .. } => {
                self.logs.iter().filter(|l| l.takes == AcceptedPages::Any).count()
            }
            LogCells::Ordinary => 0,
        };
        Occupancy {
            pages: self.flash.mapped,
            free_blocks: self.flash.pool.free(Tier::Main),
            cache_blocks: u32::try_from(logs).unwrap_or(u32::MAX),
        }
    }

    fn busy(&self) -> Busy {
        self.flash.busy()
    }
}
