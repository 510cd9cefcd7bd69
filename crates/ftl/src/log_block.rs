//! The hybrid layer of cheap cards: whole blocks are mapped, and a few open units take writes as a log.
//!
//! Layer: a mapping on pool and medium, beside [`crate::page_map`]. Main types: [`LogBlocks`],
//! [`Merges`]. A logical block has a data block, in which each page lies at its own offset, and while it is
//! one of the open units a log block, which takes its writes in the order in which they come. A write
//! elsewhere when all units are open ([`Event::OpenUnitMiss`]) merges the one used longest ago: random
//! writes over more units than may be open cost a block of copies each.
//!
//! ```text
//!   log in order and full           switch   the log is the data block
//!   log in order so far             partial  the rest is copied behind it
//!   anything else                   full     all is copied into a third block
//! ```
//!
//! Source: Kim et al., "A space-efficient flash translation layer for CompactFlash systems" (2002), for
//! log blocks and the three merges, one log a block (BAST); the limit of open units, flashbench's
//! README. Which cards do exactly this is not published: assumed. Left out: logs that blocks share (FAST), static wear
//! levelling, bad blocks, recovery.

use crate::cause::Cause;
use crate::counters::Counters;
use crate::error::Error;
use crate::free::Allocation;
use crate::geometry::{Geometry, Page, PageRun};
use crate::medium::{CellMode, Copies, Medium, Stamp, Version};
use crate::pool::{Pool, Tier};
use crate::timed::Busy;
use crate::translation::{Completion, Event, Events, Extent, Occupancy, Translation, Wear};
use boardlab_sim::{Bytes, Instant};

const NONE: u32 = u32::MAX;

/// How often log blocks were merged, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Merges {
    /// The log became the data block as it was.
    pub switches: u64,
    /// The log became the data block after the rest was copied.
    pub partial: u64,
    /// All was copied into a third block.
    pub full: u64,
}

/// An open unit.
#[derive(Debug, Clone)]
struct Log {
    unit: u32,
    block: u32,
    next: u32,
    /// By offset in the unit: where in the log the page lies.
    at: Vec<u32>,
    in_order: bool,
}

/// A hybrid layer on a medium.
#[derive(Debug, Clone)]
pub struct LogBlocks<M> {
    geometry: Geometry,
    pool: Pool,
    medium: M,
    counters: Counters,
    merges: Merges,
    /// By logical block: its data block.
    data: Vec<u32>,
    /// By logical page: whether the data block holds it.
    held: Vec<bool>,
    /// Open units, the one used longest ago first.
    logs: Vec<Log>,
    open_most: usize,
    version: Version,
    events: Events,
}

impl<M: Medium> LogBlocks<M> {
    /// A layer on an erased part with at most `open_units` log blocks.
    ///
    /// # Errors
    /// [`Error::Policy`] without open units, [`Error::TooFewBlocks`].
    pub fn new(geometry: Geometry, open_units: u32, medium: M) -> Result<Self, Error> {
        let (blocks, logical) = (geometry.blocks(), geometry.logical_blocks());
        if open_units == 0 {
            let (what, most) = ("open units", blocks.into());
            return Err(Error::Policy { what, found: 0, least: 1, most });
        }
        // Each open unit has a log besides its data block, and a merge fills one more.
        let needed = logical.saturating_add(open_units).saturating_add(1);
        if blocks < needed {
            return Err(Error::TooFewBlocks { blocks, needed, logical });
        }
        Ok(Self {
            geometry,
            pool: Pool::new(&geometry, Allocation::LeastWorn, false),
            medium,
            counters: Counters::default(),
            merges: Merges::default(),
            data: vec![NONE; logical as usize],
            held: vec![false; geometry.logical_pages() as usize],
            logs: Vec::new(),
            open_most: open_units as usize,
            version: Version(0),
            events: Events::default(),
        })
    }

    /// How often log blocks were merged.
    #[must_use]
    pub const fn merges(&self) -> Merges {
        self.merges
    }

    /// The flash below.
    #[must_use]
    pub const fn medium(&self) -> &M {
        &self.medium
    }

    /// Where a logical page lies.
    #[must_use]
    pub fn locate(&self, logical: u32) -> Option<Page> {
        let Page { block: unit, offset } = self.geometry.locate(logical);
        let log = self.logs.iter().find(|log| log.unit == unit);
        if let Some(log) = log.filter(|log| log.at[offset as usize] != NONE) {
            return Some(Page { block: log.block, offset: log.at[offset as usize] });
        }
        self.held[logical as usize].then(|| Page { block: self.data[unit as usize], offset })
    }

    fn take(&mut self) -> u32 {
        let block = self.pool.take_free(Tier::Main).expect("a free block for each log and merge");
        self.medium.open(block, CellMode::Native);
        block
    }

    fn erase(&mut self, block: u32) {
        self.medium.erase(block, Cause::Merge);
        self.counters.erases[Cause::Merge] += 1;
        self.pool.release(block, Tier::Main);
        self.counters.assert_conserved(self.medium.seen());
    }

    /// What a page held is void; whether there was anything.
    fn drop_page(&mut self, logical: u32) -> bool {
        let Some(page) = self.locate(logical) else { return false };
        self.pool.invalidate(page.block, 1);
        let Page { block: unit, offset } = self.geometry.locate(logical);
        if let Some(log) = self.logs.iter_mut().find(|log| log.unit == unit) {
            log.at[offset as usize] = NONE;
        }
        // Where the log held it, the data block did not.
        self.held[logical as usize] = false;
        true
    }

    /// Puts the log of `unit` last, opening it if need be, with room for a page.
    fn open_unit(&mut self, unit: u32) {
        let pages = self.geometry.pages_per_block();
        if let Some(at) = self.logs.iter().position(|log| log.unit == unit) {
            let log = self.logs.remove(at);
            if log.next < pages {
                self.logs.push(log);
                return;
            }
            self.merge(&log);
        } else {
            self.events.add(Event::OpenUnitMiss);
            if self.logs.len() == self.open_most {
                let oldest = self.logs.remove(0);
                self.merge(&oldest);
            }
        }
        let (block, at) = (self.take(), vec![NONE; pages as usize]);
        self.logs.push(Log { unit, block, next: 0, at, in_order: true });
    }

    fn write_page(&mut self, logical: u32) {
        let Page { block: unit, offset } = self.geometry.locate(logical);
        self.open_unit(unit);
        self.drop_page(logical);
        let log = self.logs.last_mut().expect("just opened");
        let run = PageRun { block: log.block, offset: log.next, count: 1 };
        log.in_order &= offset == log.next;
        log.at[offset as usize] = log.next;
        log.next += 1;
        self.pool.add_valid(run.block, 1);
        self.medium.program(run, Stamp { logical, version: self.version }, Cause::Host);
        self.counters.programs[Cause::Host] += 1;
        self.counters.written += 1;
    }

    /// Closes a unit that is no longer among the open ones.
    fn merge(&mut self, log: &Log) {
        let first = self.geometry.first_page(log.unit);
        let pages = self.geometry.pages_per_block().min(self.geometry.logical_pages() - first);
        let old = self.data[log.unit as usize];
        let (target, from) = if log.in_order { (log.block, log.next) } else { (self.take(), 0) };
        let place = |layer: &Self, offset: u32| match log.at[offset as usize] {
            NONE => layer.held[(first + offset) as usize].then_some(Page { block: old, offset }),
            at => Some(Page { block: log.block, offset: at }),
        };
        let end = (from..pages).rev().find(|&offset| place(self, offset).is_some());
        let end = end.map_or(from, |last| last + 1);
        for offset in from..end {
            match place(self, offset) {
                Some(source) => self.copy(source, Page { block: target, offset }, first + offset),
                None => self.fill(Page { block: target, offset }),
            }
        }
        match (log.in_order, end > from) {
            (true, false) => self.merges.switches += 1,
            (true, true) => self.merges.partial += 1,
            (false, _) => self.merges.full += 1,
        }
        for offset in 0..pages {
            let kept = place(self, offset).is_some();
            self.held[(first + offset) as usize] = kept;
        }
        self.data[log.unit as usize] = target;
        if target != log.block {
            self.erase(log.block);
        }
        if old != NONE {
            self.erase(old);
        }
    }

    fn copy(&mut self, from: Page, to: Page, logical: u32) {
        self.pool.invalidate(from.block, 1);
        self.pool.add_valid(to.block, 1);
        let (offsets, logical) = ([from.offset], [logical]);
        let copies =
            Copies { from: from.block, offsets: &offsets, logical: &logical, to: to.into() };
        self.medium.copy(copies, Cause::Merge);
        self.counters.reads[Cause::Merge] += 1;
        self.counters.programs[Cause::Merge] += 1;
    }

    fn fill(&mut self, page: Page) {
        self.medium.program(page.into(), Stamp::FILLER, Cause::Padding);
        self.counters.programs[Cause::Padding] += 1;
    }

    fn begin(&mut self, at: Instant) {
        self.events = Events::default();
        self.medium.begin(at);
    }

    fn end(&mut self) -> Completion {
        let done = self.medium.end();
        Completion {
            transferred: done.transferred,
            accepted: done.accepted,
            finished: done.finished,
            work: done.work,
            waited: done.waited,
            events: self.events,
            version: self.version,
        }
    }
}

impl<M: Medium> Translation for LogBlocks<M> {
    fn pages(&self) -> u32 {
        self.geometry.logical_pages()
    }

    fn page_size(&self) -> Bytes {
        self.geometry.page()
    }

    fn write(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error> {
        let Extent { first, count } = extent.within(self.pages())?;
        self.begin(at);
        self.version.0 += 1;
        (first..first + count).for_each(|logical| self.write_page(logical));
        Ok(self.end())
    }

    fn read(
        &mut self,
        at: Instant,
        extent: Extent,
        versions: &mut [Version],
    ) -> Result<Completion, Error> {
        let Extent { first, count } = extent.within(self.pages())?;
        self.begin(at);
        self.counters.read += u64::from(count);
        for logical in first..first + count {
            let Some(page) = self.locate(logical) else { continue };
            self.medium.read(page.into(), Cause::Host);
            self.counters.reads[Cause::Host] += 1;
        }
        for (version, logical) in versions.iter_mut().zip(first..) {
            *version = self.locate(logical).map_or(Version(0), |page| self.medium.version(page));
        }
        Ok(self.end())
    }

    fn trim(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error> {
        let Extent { first, count } = extent.within(self.pages())?;
        self.begin(at);
        for logical in first..first + count {
            self.counters.trimmed += u64::from(self.drop_page(logical));
        }
        Ok(self.end())
    }

    fn flush(&mut self, at: Instant) -> Completion {
        self.begin(at);
        self.counters.flushes += 1;
        let units = self.geometry.stripe().units;
        for log in &mut self.logs {
            let count = log.next.next_multiple_of(units) - log.next;
            if count > 0 {
                let run = PageRun { block: log.block, offset: log.next, count };
                // The pages that belong here can no longer be put here.
                (log.next, log.in_order) = (log.next + count, false);
                self.medium.program(run, Stamp::FILLER, Cause::Padding);
                self.counters.programs[Cause::Padding] += u64::from(count);
            }
        }
        self.medium.flush();
        self.end()
    }

    fn idle(&mut self, from: Instant, _: Instant) -> Instant {
        from
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn wear(&self) -> Wear {
        Wear {
            erases: self.pool.wear().to_vec(),
            retired: 0,
            factory_bad: 0,
            spare_blocks: self.pool.free(Tier::Main).saturating_sub(1),
            read_only: false,
            unreadable: 0,
        }
    }

    fn occupancy(&self) -> Occupancy {
        let pages = (0..self.pages()).filter(|&logical| self.locate(logical).is_some()).count();
        Occupancy {
            pages: u32::try_from(pages).unwrap_or(u32::MAX),
            free_blocks: self.pool.free(Tier::Main),
            cache_blocks: 0,
        }
    }

    fn busy(&self) -> Busy {
        self.medium.busy()
    }
}
