//! The page-mapped translation layer: every logical page may lie anywhere.
//!
//! Layer: the mechanism; [`crate::page_map::policies`] has its policies. Main type: [`PageMapped`].
//! A write goes to the next page of the open block of its stream. When no block is left above the
//! reserve, garbage collection empties one; a block without valid pages becomes free at once. Both
//! paths, single pages and runs, end in the same three steps: allocate, set the map, program.
//!
//! ```text
//!   write, trim ---> stream's open block ---> Medium::program
//!                      | full, no free block above the reserve
//!                      `--> Collector::choose  --> copy what is valid --> erase --> Pool
//!                           Leveller::next ------'
//! ```
//!
//! Source: Hu et al. (SYSTOR 2009) for the mechanism; [`crate::geometry::Spare`] accounts for the
//! reserve and the open blocks. Left out: the storage of the map in flash (see
//! [`crate::page_map::demand_map`]).

mod collect;
pub mod demand_map;
pub mod policies;
pub mod power;
pub mod recovery;
pub mod slc_cache;
mod wear;

use crate::cause::Cause;
use crate::counters::Counters;
use crate::error::Error;
use crate::flash::Flash;
use crate::free::Allocation;
use crate::frontier::Frontier;
use crate::geometry::{Geometry, Page, PageRun, Spare};
use crate::medium::Busy;
use crate::medium::{CellMode, Medium, Stamp, Version};
use crate::page_map::demand_map::DemandMap;
use crate::page_map::policies::{EmptyBlocks, LevellingTime, Policies};
use crate::page_map::power::Trims;
use crate::policy::admission::Runs;
use crate::policy::collection::Collector;
use crate::policy::levelling::{Leveller, Levelling};
use crate::policy::streams::Streams;
use crate::pool::{Pool, State, Tier};
use crate::translation::{Completion, Event, Extent, Occupancy, Pace, Translation, Wear};
use boardlab_sim::{Bytes, Duration, Instant, OwnPolicy, Seed, Stream};

/// The limit of blocks that wear levelling moves whenever the host needs a new one.
const FOREGROUND_MOVES: u32 = 4;
/// The number of single writes whose map entries are prefetched together.
const PREFETCHED: usize = 32;

/// A page-mapped translation layer on a medium.
#[derive(Debug, Clone)]
pub struct PageMapped<M> {
    pub(crate) flash: Flash<M>,
    pub(crate) policies: Policies,
    /// Streams of data, then the ones of levelling and of the cache.
    pub(crate) frontiers: Vec<Frontier>,
    /// Stream that each block was filled by.
    pub(crate) stream_of: Vec<u8>,
    pub(crate) collector: Collector,
    pub(crate) leveller: Leveller,
    pub(crate) random: Stream,
    /// When the last request of the host was accepted.
    pub(crate) last_request: Instant,
    /// Sequential runs of the host, for cache admission.
    runs: Option<Box<Runs>>,
    pub(crate) map: Option<Box<DemandMap>>,
    /// The power-cut safety, where the part has it.
    pub(crate) trims: Option<Box<Trims>>,
    /// Offsets of the valid pages of a victim, and blocks that have none; kept to reuse their memory.
    pub(crate) offsets: Vec<u32>,
    pub(crate) emptied: Vec<u32>,
    pub(crate) ahead: Vec<u32>,
}

impl<M: Medium> PageMapped<M> {
    /// A layer on an erased part.
    ///
    /// # Errors
    /// [`Error::TooFewBlocks`] with the number that is needed, [`Error::Policy`].
    pub fn new(
        geometry: Geometry,
        policies: Policies,
        medium: M,
        seed: Seed,
    ) -> Result<Self, Error> {
        let policies = policies.checked(&geometry)?;
        let allocation = match policies.levelling {
            Levelling::None => Allocation::LastFreed,
            _ => Allocation::LeastWorn,
        };
        let blocks = geometry.blocks();
        let mut pool = Pool::new(&geometry, allocation, policies.collection.needs_lists());
        (0..policies.cache.fixed_blocks()).for_each(|block| pool.assign(block, Tier::Cache));
        let frontiers = usize::from(policies.map_stream()) + 1;
        let mapped = geometry.logical_pages() + policies.map.pages(&geometry);
        Ok(Self {
            flash: Flash::new(geometry, mapped, pool, medium),
            policies,
            frontiers: vec![Frontier::CLOSED; frontiers],
            stream_of: vec![0; blocks as usize],
            collector: Collector::new(policies.collection),
            leveller: Leveller::new(policies.levelling, blocks),
            random: seed.stream("ftl.collection"),
            last_request: Instant::ZERO,
            runs: Runs::new(policies.cache.admission).map(Box::new),
            map: DemandMap::new(policies.map, &geometry).map(Box::new),
            trims: None,
            offsets: Vec::with_capacity(geometry.pages_per_block() as usize),
            emptied: Vec::new(),
            ahead: Vec::with_capacity(PREFETCHED),
        })
    }

    /// With the policy for [`Collection::Own`](crate::Collection::Own), in its initial state. Without one the block with
    /// the fewest valid pages is collected.
    #[must_use]
    pub fn with_own_collection(mut self, own: Option<&OwnPolicy>) -> Self {
        if let Some(own) = own {
            self.collector = self.collector.with_own(own);
        }
        self
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
    pub const fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The over-provisioning after reserve, open and bad blocks are deducted.
    #[must_use]
    pub fn spare(&self) -> Spare {
        let trims = u32::from(self.trims.is_some());
        self.flash.geometry.spare(self.policies.kept_blocks() + trims + self.flash.pool.retired())
    }

    /// Host pages written so far: the clock of ages.
    pub(crate) fn clock(&self) -> u64 {
        self.flash.counters.written
    }

    fn write_pages(&mut self, extent: Extent) -> Result<(), Error> {
        let Extent { first, count } = extent;
        if !self.policies.cache.is_on() {
            return self.write_to(extent, Tier::Main);
        }
        let admitted = self.runs.as_deref_mut().map_or(count, |runs| runs.admit(extent));
        if admitted < count {
            self.flash.events.add(Event::CacheBypass);
        }
        self.write_to(Extent::new(first, admitted), Tier::Cache)?;
        self.write_to(Extent::new(first + admitted, count - admitted), Tier::Main)
    }

    #[inline]
    fn write_to(&mut self, extent: Extent, tier: Tier) -> Result<(), Error> {
        let Extent { mut first, mut count } = extent;
        while count > 0 {
            let one = count == 1 || self.policies.streams.looks_back();
            let done =
                if one { self.write_one(first, tier) } else { self.write_run(first, count, tier) };
            if done == 0 {
                return Err(self.flash.refused());
            }
            first += done;
            count -= done;
        }
        Ok(())
    }

    /// Writes one page; returns zero when there is no space left.
    #[inline]
    fn write_one(&mut self, logical: u32, tier: Tier) -> u32 {
        self.look_up(logical, 1, true);
        let class = self.policies.streams.of_class(logical);
        let stream = match self.flash.table.get(logical) {
            _ if tier == Tier::Cache => self.cache_or_main(),
            _ if class.is_some() => class.unwrap_or(0),
            Some(page) if self.policies.streams.looks_back() => {
                self.policies.streams.of_host(self.stream_of[page.block as usize])
            }
            _ => 0,
        };
        if !self.make_room(stream) {
            return 0;
        }
        let run = self.frontiers[usize::from(stream)].take(1);
        let old = self.flash.table.set(logical, Page { block: run.block, offset: run.offset });
        self.program(run, logical);
        match old {
            None => self.flash.mapped += 1,
            Some(old) if self.flash.pool.invalidate(old.block, 1) => self.return_emptied(old.block),
            Some(_) => {}
        }
        1
    }

    /// Writes as much as fits into the open block; returns how much.
    fn write_run(&mut self, first: u32, count: u32, tier: Tier) -> u32 {
        let room = self.frontiers[0].room().max(1);
        let count = if self.map.is_some() { count.min(room) } else { count };
        self.look_up(first, count, true);
        let class = self.policies.streams.of_class(first);
        let stream = if tier == Tier::Cache { self.cache_or_main() } else { class.unwrap_or(0) };
        let count = match self.policies.streams {
            Streams::ByClass { hot_pages, .. } if first < hot_pages => count.min(hot_pages - first),
            _ => count,
        };
        if !self.make_room(stream) {
            return 0;
        }
        let run = self.frontiers[usize::from(stream)].take(count);
        let dropped = self.drop_pages(first, run.count);
        self.flash.mapped = self.flash.mapped + run.count - dropped;
        self.flash.table.set_run(first, Page { block: run.block, offset: run.offset }, run.count);
        self.program(run, first);
        // Only now, so that the replacements are programmed before the old pages are erased.
        while let Some(block) = self.emptied.pop() {
            self.return_emptied(block);
        }
        run.count
    }

    #[inline]
    fn program(&mut self, run: PageRun, logical: u32) {
        self.flash.pool.add_valid(run.block, run.count);
        self.flash.medium.program(run, Stamp { logical, version: self.flash.version }, Cause::Host);
        self.flash.counters.programs[Cause::Host] += u64::from(run.count);
        self.flash.counters.written += u64::from(run.count);
        if let Some(trims) = &mut self.trims {
            trims.written(logical, run.count);
        }
    }

    /// Invalidates the pages of logical pages. Blocks without a valid page are recorded.
    fn drop_pages(&mut self, first: u32, count: u32) -> u32 {
        let (mut at, mut dropped) = (first, 0);
        while at < first + count {
            let (old, same) = self.flash.table.neighbours(at, first + count - at);
            at += same;
            let Some(old) = old else { continue };
            self.flash.table.drop_run(old, same);
            dropped += same;
            if self.flash.pool.invalidate(old.block, same) {
                self.emptied.push(old.block);
            }
        }
        dropped
    }

    /// Frees a closed block without valid pages, unless [`EmptyBlocks::Kept`] is chosen.
    pub(crate) fn return_emptied(&mut self, block: u32) {
        if self.policies.emptied == EmptyBlocks::Kept || !self.write_due_trims() {
            return;
        }
        self.flash.pool.take_victim(block);
        self.flash.counters.emptied += 1;
        self.erase(block, Cause::Host);
    }

    /// Ensures that the open block of a host stream has space; returns whether it has.
    #[inline]
    pub(crate) fn make_room(&mut self, stream: u8) -> bool {
        self.frontiers[usize::from(stream)].room() > 0 || self.next_block(stream)
    }

    #[cold]
    fn next_block(&mut self, stream: u8) -> bool {
        self.close(stream);
        self.shrink_cache();
        self.refresh_next();
        if self.policies.levelling_time == LevellingTime::Foreground {
            self.level(FOREGROUND_MOVES);
        }
        while self.frontiers[usize::from(stream)].room() == 0 {
            let opened =
                self.flash.pool.free(Tier::Main) > self.policies.reserve && self.open(stream);
            if self.flash.read_only || !(opened || self.collect_next()) {
                self.flash.read_only = true;
                return false;
            }
        }
        !self.flash.read_only
    }

    pub(crate) fn close(&mut self, stream: u8) {
        if let Some(block) = self.shut(stream).filter(|&block| self.flash.pool.valid(block) == 0) {
            self.return_emptied(block);
        }
    }

    /// Closes the block of a stream without an erase; returns it.
    pub(crate) fn shut(&mut self, stream: u8) -> Option<u32> {
        let open = &mut self.frontiers[usize::from(stream)];
        let frontier = std::mem::replace(open, Frontier::CLOSED);
        let block = frontier.block()?;
        if frontier.room() == 0 {
            self.try_failing_program(block);
        }
        self.flash.pool.close(block, self.clock());
        Some(block)
    }

    /// Closes the block of `stream` and opens a free one, from the reserve if necessary; returns
    /// whether there was one.
    pub(crate) fn open(&mut self, stream: u8) -> bool {
        self.close(stream);
        if !self.can_open(1) {
            return false;
        }
        let levelling = stream == self.policies.streams.count() && self.policies.levelling.moves();
        let block = if levelling {
            self.flash.pool.take_most_worn()
        } else {
            self.flash.pool.take_free(Tier::Main)
        };
        let Some(block) = block else {
            assert!(self.flash.pool.retired() > 0, "the reserve has a block for each collection");
            return false;
        };
        self.fill(block, stream, CellMode::Native);
        if levelling {
            self.leveller.holds_cold(block);
        }
        true
    }

    /// The stream for data copied out of a block.
    pub(crate) fn stream_of_copy(&self, block: u32) -> u8 {
        match self.stream_of[block as usize] {
            map if map == self.policies.map_stream() => map,
            stream => self.policies.streams.of_copy(stream),
        }
    }

    /// Makes an erased block the open one of a stream.
    pub(crate) fn fill(&mut self, block: u32, stream: u8, mode: CellMode) {
        self.flash.medium.open(block, mode);
        let mut pages = match mode {
            CellMode::Native => self.flash.geometry.pages_per_block(),
            CellMode::Slc => self.policies.cache.pages(&self.flash.geometry),
        };
        if let Some(health) = &mut self.flash.health {
            health.open(block, mode, self.flash.now);
            pages = health.failures.sound_pages(block, pages, self.flash.geometry.stripe().units);
        }
        if stream == 0 && matches!(self.policies.streams, Streams::ByClass { .. }) {
            self.flash.pool.set_tier(block, Tier::Hot);
        }
        let (data, map) = (self.policies.streams.count(), self.policies.map_stream());
        self.stream_of[block as usize] = match mode {
            CellMode::Native if stream < data || stream == map => stream,
            CellMode::Native => data - 1,
            CellMode::Slc => 0,
        };
        self.frontiers[usize::from(stream)] = Frontier::new(block, pages);
    }

    fn end(&mut self) -> Completion {
        let done = self.flash.end();
        self.last_request = done.accepted;
        done
    }

    /// Checks all tables: every valid page belongs to a logical page, counts are right, and no
    /// block is lost. For tests: the time is proportional to the size of the part.
    ///
    /// # Panics
    /// When a table is inconsistent.
    pub fn assert_sound(&self) {
        let mut mapped = 0_u64;
        for logical in 0..self.flash.table.len() {
            let Some(page) = self.flash.table.get(logical) else { continue };
            assert_eq!(
                self.flash.table.holder(page),
                Some(logical),
                "{page} holds what lies there"
            );
            mapped += 1;
        }
        let blocks = 0..self.flash.geometry.blocks();
        let valid: u64 = blocks.clone().map(|block| u64::from(self.flash.pool.valid(block))).sum();
        assert_eq!(valid, mapped, "as many pages are valid as have data");
        assert_eq!(mapped, self.flash.mapped.into(), "as many logical pages have data");
        let count = |state| blocks.clone().filter(|&b| self.flash.pool.state(b) == state).count();
        let listed = self.flash.pool.free(Tier::Main) + self.flash.pool.free(Tier::Cache);
        assert_eq!(count(State::Free), listed as usize, "every free block is listed");
        let open = self.frontiers.iter().filter(|frontier| frontier.block().is_some()).count();
        assert_eq!(count(State::Open), open, "every open block is being filled");
        self.flash.counters.assert_conserved(self.flash.medium.operations());
    }
}

impl<M: Medium> Translation for PageMapped<M> {
    fn pages(&self) -> u32 {
        self.flash.geometry.logical_pages()
    }

    fn page_size(&self) -> Bytes {
        self.flash.geometry.page()
    }

    #[inline]
    fn write(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error> {
        let extent = extent.within(self.pages())?;
        self.flash.writable()?;
        self.flash.begin(at);
        self.flash.version.0 += 1;
        self.write_pages(extent)?;
        Ok(self.end())
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

    fn write_each(&mut self, at: Instant, pages: &[u32]) -> Result<Completion, Error> {
        let mut last = Completion::at(at);
        for chunk in pages.chunks(PREFETCHED) {
            chunk
                .iter()
                .try_for_each(|&page| Extent::new(page, 1).within(self.pages()).map(|_| ()))?;
            self.flash.table.prefetch(chunk, &mut self.ahead);
            self.flash.pool.prefetch(&mut self.ahead);
            for &page in chunk {
                last = self.write(last.accepted, Extent::new(page, 1))?;
            }
        }
        Ok(last)
    }

    fn read(
        &mut self,
        at: Instant,
        extent: Extent,
        versions: &mut [Version],
    ) -> Result<Completion, Error> {
        let extent = extent.within(self.pages())?;
        self.flash.begin(at);
        self.look_up(extent.first, extent.count, false);
        self.flash.read(extent, versions);
        Ok(self.end())
    }

    fn trim(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error> {
        let Extent { first, count } = extent.within(self.pages())?;
        self.flash.writable()?;
        self.flash.begin(at);
        self.make_room_for_trims()?;
        self.look_up(first, count, true);
        let dropped = self.drop_pages(first, count);
        self.flash.mapped -= dropped;
        self.flash.counters.trimmed += u64::from(dropped);
        self.flash.table.clear_run(first, count);
        if dropped > 0 {
            self.note_trim(first, count);
        }
        while let Some(block) = self.emptied.pop() {
            self.return_emptied(block);
        }
        Ok(self.end())
    }

    fn flush(&mut self, at: Instant) -> Completion {
        self.flash.begin(at);
        self.flash.counters.flushes += 1;
        self.make_all_durable();
        let units = self.flash.geometry.stripe().units;
        for stream in 0..self.frontiers.len() {
            let Some(filler) = self.frontiers[stream].fill_up(units) else { continue };
            self.flash.medium.program(filler, Stamp::FILLER, Cause::Padding);
            self.flash.counters.programs[Cause::Padding] += u64::from(filler.count);
        }
        self.flash.medium.flush();
        self.end()
    }

    fn idle(&mut self, from: Instant, until: Instant) -> Instant {
        let mut now = from;
        self.flash.now = until;
        self.flash.medium.background(from);
        self.flash.patrol(until, |flash, block| flash.pool.valid(block) > 0);
        while now <= until && !self.flash.read_only {
            self.flash.medium.background(now);
            let busy = self.background(now);
            let done = self.flash.medium.end().finished;
            if busy {
                now = now.max(done);
                continue;
            }
            // Nothing to do before the cache may be folded.
            let Some(due) = self.fold_due().filter(|&due| due > now && due <= until) else { break };
            now = due;
        }
        now
    }

    fn counters(&self) -> &Counters {
        &self.flash.counters
    }

    fn wear(&self) -> Wear {
        self.flash.wear(self.policies.cache.fixed_blocks(), self.spare_blocks())
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy {
            pages: self.flash.mapped,
            free_blocks: self.flash.pool.free(Tier::Main),
            cache_blocks: self.cache_blocks(),
        }
    }

    fn busy(&self) -> Busy {
        self.flash.busy()
    }
}
