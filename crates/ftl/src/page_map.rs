//! The page-mapped translation layer: every logical page may lie anywhere.
//!
//! Layer: the mechanism; what it chooses, [`crate::policy`] says. Main types: [`PageMapped`],
//! [`Policies`]. A write goes to the next page of the open block of its stream. When no block is left
//! above the reserve, garbage collection empties one; a block in which nothing is valid any more
//! comes free at once. Both paths, single pages and runs, end in the same three steps: take room,
//! set the map, program.
//!
//! ```text
//!   write, trim ---> stream's open block ---> Medium::program
//!                      | full, no free block above the reserve
//!                      `--> Collector::choose  --> copy what is valid --> erase --> Pool
//!                           Leveller::next ------'
//! ```
//!
//! Source: Hu et al. (SYSTOR 2009) for the mechanism; the reserve, open blocks and their share of the
//! spare are accounted for as [`crate::geometry::Spare`]. Left out: the map's own place in flash
//! (see the demand-loaded map), bad blocks (see reliability).

use crate::cause::Cause;
use crate::counters::Counters;
use crate::error::Error;
use crate::free::Allocation;
use crate::frontier::Frontier;
use crate::geometry::{Geometry, Page, PageRun, Spare};
use crate::medium::{CellMode, Copies, Medium, Stamp, Version};
use crate::policy::collection::{Collection, Collector};
use crate::policy::levelling::{Leveller, Levelling, Move};
use crate::policy::streams::Streams;
use crate::pool::{Pool, State, Tier};
use crate::table::Table;
use crate::translation::{Completion, Events, Extent, Translation, Wear};
use boardlab_sim::{Bytes, Instant, Seed, Stream};

/// Levelling moves at most so many blocks whenever the host needs a new one.
const MOVES_IN_THE_WAY: u32 = 4;
/// So many single writes are looked at together before the first is done.
const LOOK_AHEAD: usize = 32;

/// What happens to a block in which nothing is valid any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Emptied {
    /// It is erased and free at once.
    #[default]
    Returned,
    /// It stays until garbage collection takes it. Dynamic wear levelling then has hardly any free
    /// blocks to choose among, and does nothing: a defect that real controllers had, for what-ifs.
    Kept,
}

/// When wear levelling moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LevellingTime {
    /// Whenever the host needs a new block.
    #[default]
    InTheWay,
    /// Only while the host leaves the device alone.
    Idle,
}

/// All that is chosen about a page-mapped layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policies {
    /// Which block is emptied next.
    pub collection: Collection,
    /// How wear is levelled.
    pub levelling: Levelling,
    /// When.
    pub levelling_time: LevellingTime,
    /// What is kept apart.
    pub streams: Streams,
    /// What happens to blocks without valid pages.
    pub emptied: Emptied,
    /// Free blocks below which garbage collection runs: at least one to copy into.
    pub reserve: u32,
    /// Free blocks above the reserve that collection makes while the host is away.
    pub idle_blocks: u32,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            collection: Collection::Greedy,
            levelling: Levelling::Dynamic,
            levelling_time: LevellingTime::InTheWay,
            streams: Streams::CopiesApart,
            emptied: Emptied::Returned,
            reserve: 1,
            idle_blocks: 0,
        }
    }
}

impl Policies {
    /// Open blocks: one for each stream, and one for data moved by levelling.
    #[must_use]
    pub const fn frontiers(&self) -> u32 {
        self.streams.count() as u32 + self.levelling.moves() as u32
    }

    /// Blocks that hold no data of the steady state: the reserve and all open blocks but the one
    /// that counts as full when its turn comes.
    #[must_use]
    pub const fn kept_blocks(&self) -> u32 {
        self.reserve + self.frontiers() - 1
    }

    /// Blocks that a part must have, bad ones not counted, to hold `logical` blocks of data: below it
    /// collection could find nothing but valid pages.
    #[must_use]
    pub const fn blocks_needed(&self, logical: u32) -> u32 {
        logical + self.reserve + self.frontiers()
    }

    fn checked(self, geometry: &Geometry) -> Result<Self, Error> {
        self.collection.checked()?;
        self.levelling.checked()?;
        self.streams.checked()?;
        if self.reserve == 0 {
            let (what, most) = ("reserve of free blocks", u64::from(geometry.blocks()));
            return Err(Error::Policy { what, found: 0, least: 1, most });
        }
        let logical = geometry.logical_blocks();
        let (blocks, needed) = (geometry.blocks(), self.blocks_needed(logical));
        if blocks < needed {
            return Err(Error::TooFewBlocks { blocks, needed, logical });
        }
        Ok(self)
    }
}

/// A page-mapped translation layer on a medium.
#[derive(Debug, Clone)]
pub struct PageMapped<M> {
    geometry: Geometry,
    policies: Policies,
    table: Table,
    pool: Pool,
    /// Streams of data, then the one of levelling.
    frontiers: Vec<Frontier>,
    /// Stream that each block was filled by.
    stream_of: Vec<u8>,
    collector: Collector,
    leveller: Leveller,
    medium: M,
    counters: Counters,
    random: Stream,
    version: Version,
    events: Events,
    /// Offsets of the valid pages of a victim, and blocks that have none: kept to keep their memory.
    offsets: Vec<u32>,
    emptied: Vec<u32>,
    ahead: Vec<u32>,
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
        Ok(Self {
            geometry,
            policies,
            table: Table::new(geometry, geometry.logical_pages()),
            pool: Pool::new(&geometry, allocation, policies.collection.needs_lists()),
            frontiers: vec![Frontier::CLOSED; policies.frontiers() as usize],
            stream_of: vec![0; blocks as usize],
            collector: Collector::new(policies.collection),
            leveller: Leveller::new(policies.levelling, blocks),
            medium,
            counters: Counters::default(),
            random: seed.stream("ftl.collection"),
            version: Version(0),
            events: Events::default(),
            offsets: Vec::with_capacity(geometry.pages_per_block() as usize),
            emptied: Vec::new(),
            ahead: Vec::with_capacity(LOOK_AHEAD),
        })
    }

    /// The shape of the part.
    #[must_use]
    pub const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// What was chosen.
    #[must_use]
    pub const fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The blocks.
    #[must_use]
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The flash below.
    #[must_use]
    pub const fn medium(&self) -> &M {
        &self.medium
    }

    /// The flash below, to ask it something.
    pub const fn medium_mut(&mut self) -> &mut M {
        &mut self.medium
    }

    /// Where a logical page lies.
    #[must_use]
    pub fn locate(&self, logical: u32) -> Option<Page> {
        self.table.get(logical)
    }

    /// What is left of the spare when reserve, open and bad blocks are deducted.
    #[must_use]
    pub fn spare(&self) -> Spare {
        self.geometry.spare(self.policies.kept_blocks() + self.pool.retired())
    }

    /// Host pages written so far: the clock of ages.
    fn clock(&self) -> u64 {
        self.counters.written
    }

    fn write_pages(&mut self, extent: Extent) {
        let Extent { mut first, mut count } = extent;
        while count > 0 {
            let done = if count == 1 || self.policies.streams.looks_back() {
                self.write_one(first);
                1
            } else {
                self.write_run(first, count)
            };
            first += done;
            count -= done;
        }
    }

    #[inline]
    fn write_one(&mut self, logical: u32) {
        let stream = match self.table.get(logical) {
            Some(page) if self.policies.streams.looks_back() => {
                self.policies.streams.of_host(self.stream_of[page.block as usize])
            }
            _ => 0,
        };
        self.make_room(stream);
        let run = self.frontiers[usize::from(stream)].take(1);
        let old = self.table.set(logical, Page { block: run.block, offset: run.offset });
        self.program(run, logical);
        if let Some(old) = old
            && self.pool.invalidate(old.block, 1)
        {
            self.return_emptied(old.block);
        }
    }

    /// Writes as much as fits into the open block; says how much.
    fn write_run(&mut self, first: u32, count: u32) -> u32 {
        self.make_room(0);
        let run = self.frontiers[0].take(count);
        self.drop_pages(first, run.count);
        self.table.set_run(first, Page { block: run.block, offset: run.offset }, run.count);
        self.program(run, first);
        // Only now, so that what replaces them was programmed before they are erased.
        while let Some(block) = self.emptied.pop() {
            self.return_emptied(block);
        }
        run.count
    }

    #[inline]
    fn program(&mut self, run: PageRun, logical: u32) {
        self.pool.add_valid(run.block, run.count);
        self.medium.program(run, Stamp { logical, version: self.version }, Cause::Host);
        self.counters.programs[Cause::Host] += u64::from(run.count);
        self.counters.written += u64::from(run.count);
    }

    /// What the logical pages held is no longer valid. Blocks without a valid page are noted.
    fn drop_pages(&mut self, first: u32, count: u32) -> u32 {
        let (mut at, mut dropped) = (first, 0);
        while at < first + count {
            let (old, same) = self.table.neighbours(at, first + count - at);
            at += same;
            let Some(old) = old else { continue };
            self.table.drop_run(old, same);
            dropped += same;
            if self.pool.invalidate(old.block, same) {
                self.emptied.push(old.block);
            }
        }
        dropped
    }

    /// A closed block in which nothing is valid comes free, unless the what-if keeps it.
    fn return_emptied(&mut self, block: u32) {
        if self.policies.emptied == Emptied::Kept {
            return;
        }
        self.pool.take_victim(block);
        self.counters.emptied += 1;
        self.erase(block, Cause::Host);
    }

    /// Makes sure that the open block of a stream of the host has room.
    #[inline]
    fn make_room(&mut self, stream: u8) {
        if self.frontiers[usize::from(stream)].room() == 0 {
            self.next_block(stream);
        }
    }

    #[cold]
    fn next_block(&mut self, stream: u8) {
        self.close(stream);
        if self.policies.levelling_time == LevellingTime::InTheWay {
            self.level(MOVES_IN_THE_WAY);
        }
        while self.frontiers[usize::from(stream)].room() == 0 {
            if self.pool.free(Tier::Main) > self.policies.reserve {
                self.open(stream);
            } else {
                self.collect_next();
            }
        }
    }

    fn close(&mut self, stream: u8) {
        let frontier =
            std::mem::replace(&mut self.frontiers[usize::from(stream)], Frontier::CLOSED);
        let Some(block) = frontier.block() else { return };
        self.pool.close(block, self.clock());
        if self.pool.valid(block) == 0 {
            self.return_emptied(block);
        }
    }

    /// Closes the block of `stream` and opens a free one, below the reserve if need be.
    fn open(&mut self, stream: u8) {
        self.close(stream);
        let levelling = u32::from(stream) >= u32::from(self.policies.streams.count());
        let block =
            if levelling { self.pool.take_most_worn() } else { self.pool.take_free(Tier::Main) };
        let block = block.expect("the reserve has a block for each collection");
        self.medium.open(block, CellMode::Native);
        self.stream_of[block as usize] = stream.min(self.policies.streams.count() - 1);
        self.frontiers[usize::from(stream)] = Frontier::new(block, self.geometry.pages_per_block());
        if levelling {
            self.leveller.holds_cold(block);
        }
    }

    fn collect_next(&mut self) {
        let (pages, clock) = (self.geometry.pages_per_block(), self.clock());
        let victim = self.collector.choose(&mut self.pool, pages, clock, &mut self.random);
        let victim = victim.expect("a part with enough blocks has closed ones");
        self.counters.victims += 1;
        self.counters.victim_pages += u64::from(self.pool.valid(victim));
        let stream = self.policies.streams.of_copy(self.stream_of[victim as usize]);
        self.empty(victim, stream, Cause::Collection);
    }

    /// Moves what is valid in `victim` into the open block of `stream` and erases it.
    fn empty(&mut self, victim: u32, stream: u8, cause: Cause) {
        self.pool.take_victim(victim);
        let mut offsets = std::mem::take(&mut self.offsets);
        offsets.clear();
        self.table.valid_offsets(victim, &mut offsets);
        let valid = self.pool.valid(victim);
        assert_eq!(offsets.len(), valid as usize, "the count of valid pages is right");
        let mut rest = &offsets[..];
        while !rest.is_empty() {
            if self.frontiers[usize::from(stream)].room() == 0 {
                self.open(stream);
            }
            let most = u32::try_from(rest.len()).expect("at most a block");
            let run = self.frontiers[usize::from(stream)].take(most);
            let (now, later) = rest.split_at(run.count as usize);
            self.copy(victim, now, run, cause);
            rest = later;
        }
        self.offsets = offsets;
        self.table.drop_block(victim);
        self.pool.invalidate(victim, valid);
        self.erase(victim, cause);
    }

    #[inline]
    fn copy(&mut self, from: u32, offsets: &[u32], to: PageRun, cause: Cause) {
        let target = Page { block: to.block, offset: to.offset };
        self.table.relocate(from, offsets, target);
        self.pool.add_valid(to.block, to.count);
        let logical = self.table.logical_run(target, to.count);
        self.medium.copy(Copies { from, offsets, logical, to }, cause);
        self.counters.reads[cause] += u64::from(to.count);
        self.counters.programs[cause] += u64::from(to.count);
    }

    /// Erases an open block, which is free then.
    fn erase(&mut self, block: u32, cause: Cause) {
        self.medium.erase(block, cause);
        self.counters.erases[cause] += 1;
        self.pool.release(block, Tier::Main);
        self.leveller.erased(block);
        self.counters.assert_conserved(self.medium.seen());
    }

    /// Does at most `most` moves of wear levelling; whether there was one.
    fn level(&mut self, most: u32) -> bool {
        let mut moved = false;
        for _ in 0..most {
            if self.pool.free(Tier::Main) < self.policies.reserve {
                break;
            }
            let Some(next) = self.leveller.next(&self.pool, &mut self.random) else { break };
            self.counters.levelled += 1;
            moved = true;
            match next {
                Move::OntoWorn(block) => {
                    let stream = self.policies.streams.count();
                    self.empty(block, stream, Cause::Levelling);
                }
                Move::Anywhere(block) => {
                    let from = self.stream_of[block as usize];
                    self.empty(block, self.policies.streams.of_copy(from), Cause::Levelling);
                }
            }
        }
        moved
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

    /// One step of work for the background; whether there was any.
    fn background(&mut self) -> bool {
        if self.policies.levelling_time == LevellingTime::Idle && self.level(1) {
            return true;
        }
        let wanted = self.policies.reserve + self.policies.idle_blocks;
        if self.policies.idle_blocks == 0 || self.pool.free(Tier::Main) >= wanted {
            return false;
        }
        let (pages, closed) = (self.geometry.pages_per_block(), self.pool.closed(Tier::Main));
        let gain = closed.iter().any(|&block| self.pool.valid(block) < pages);
        if gain {
            self.collect_next();
        }
        gain
    }

    /// Looks through all tables: every valid page is some logical page's, counts are right, and no
    /// block is lost. For tests: it takes time in proportion to the part.
    ///
    /// # Panics
    /// When something does not fit.
    pub fn assert_sound(&self) {
        let mut mapped = 0_u64;
        for logical in 0..self.geometry.logical_pages() {
            let Some(page) = self.table.get(logical) else { continue };
            assert_eq!(self.table.holder(page), Some(logical), "{page} holds what lies there");
            mapped += 1;
        }
        let blocks = 0..self.geometry.blocks();
        let valid: u64 = blocks.clone().map(|block| u64::from(self.pool.valid(block))).sum();
        assert_eq!(valid, mapped, "as many pages are valid as have data");
        let count = |state| blocks.clone().filter(|&b| self.pool.state(b) == state).count();
        let listed = self.pool.free(Tier::Main) + self.pool.free(Tier::Cache);
        assert_eq!(count(State::Free), listed as usize, "every free block is listed");
        let open = self.frontiers.iter().filter(|frontier| frontier.block().is_some()).count();
        assert_eq!(count(State::Open), open, "every open block is being filled");
        self.counters.assert_conserved(self.medium.seen());
    }
}

impl<M: Medium> Translation for PageMapped<M> {
    fn pages(&self) -> u32 {
        self.geometry.logical_pages()
    }

    fn page_size(&self) -> Bytes {
        self.geometry.page()
    }

    #[inline]
    fn write(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error> {
        let extent = extent.within(self.pages())?;
        self.begin(at);
        self.version.0 += 1;
        self.write_pages(extent);
        Ok(self.end())
    }

    fn write_each(&mut self, at: Instant, pages: &[u32]) -> Result<Completion, Error> {
        let mut last = Completion::at(at);
        for chunk in pages.chunks(LOOK_AHEAD) {
            chunk
                .iter()
                .try_for_each(|&page| Extent::new(page, 1).within(self.pages()).map(|_| ()))?;
            self.table.look_ahead(chunk, &mut self.ahead);
            self.pool.look_ahead(&mut self.ahead);
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
        let Extent { first, count } = extent.within(self.pages())?;
        self.begin(at);
        self.counters.read += u64::from(count);
        let mut next = first;
        while next < first + count {
            let (page, same) = self.table.neighbours(next, first + count - next);
            if let Some(Page { block, offset }) = page {
                self.medium.read(PageRun { block, offset, count: same }, Cause::Host);
                self.counters.reads[Cause::Host] += u64::from(same);
            }
            next += same;
        }
        for (version, logical) in versions.iter_mut().zip(first..) {
            *version = self.locate(logical).map_or(Version(0), |page| self.medium.version(page));
        }
        Ok(self.end())
    }

    fn trim(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error> {
        let Extent { first, count } = extent.within(self.pages())?;
        self.begin(at);
        self.counters.trimmed += u64::from(self.drop_pages(first, count));
        self.table.clear_run(first, count);
        while let Some(block) = self.emptied.pop() {
            self.return_emptied(block);
        }
        Ok(self.end())
    }

    fn flush(&mut self, at: Instant) -> Completion {
        self.begin(at);
        self.counters.flushes += 1;
        let units = self.geometry.stripe().units;
        for stream in 0..self.frontiers.len() {
            let Some(filler) = self.frontiers[stream].fill_up(units) else { continue };
            self.medium.program(filler, Stamp::FILLER, Cause::Padding);
            self.counters.programs[Cause::Padding] += u64::from(filler.count);
        }
        self.medium.flush();
        self.end()
    }

    fn idle(&mut self, from: Instant, until: Instant) -> Instant {
        let mut now = from;
        while now <= until {
            self.medium.background(now);
            let busy = self.background();
            let done = self.medium.end().finished;
            if !busy {
                break;
            }
            now = now.max(done);
        }
        now
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn wear(&self) -> Wear {
        Wear { erases: self.pool.wear().to_vec(), retired: self.pool.retired() }
    }
}
