//! The base of every translation layer: the medium, the page map, and the counters.
//!
//! Layer: mechanism. Main type: [`Flash`]. A layer adds where a write goes and how it makes space;
//! reads, corrections and completions are the same for all.

use crate::cause::Cause;
use crate::counters::Counters;
use crate::error::Error;
use crate::geometry::{Geometry, Page, PageRun};
use crate::medium::Busy;
use crate::medium::{Medium, Version};
use crate::pool::{Pool, State};
use crate::reliability::{Health, ReadPath, Reliability};
use crate::table::Table;
use crate::translation::{Completion, Events, Extent, Wear};
use boardlab_sim::{Instant, Seed};

/// A medium with its page map.
#[derive(Debug, Clone)]
pub struct Flash<M> {
    pub(crate) geometry: Geometry,
    pub(crate) table: Table,
    pub(crate) pool: Pool,
    pub(crate) medium: M,
    pub(crate) counters: Counters,
    pub(crate) version: Version,
    /// Logical pages with data.
    pub(crate) mapped: u32,
    /// When the current request began.
    pub(crate) now: Instant,
    pub(crate) events: Events,
    /// Whether the device is read-only: too few good blocks are left, or no free block was available.
    pub(crate) read_only: bool,
    pub(crate) health: Option<Box<Health>>,
}

impl<M: Medium> Flash<M> {
    /// An erased part of which `logical` pages are mapped.
    pub(crate) fn new(geometry: Geometry, logical: u32, pool: Pool, medium: M) -> Self {
        Self {
            geometry,
            table: Table::new(geometry, logical),
            pool,
            medium,
            counters: Counters::default(),
            version: Version(0),
            mapped: 0,
            now: Instant::ZERO,
            events: Events::default(),
            read_only: false,
            health: None,
        }
    }

    /// The geometry of the part.
    #[must_use]
    pub const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The blocks.
    #[must_use]
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The flash itself.
    #[must_use]
    pub const fn medium(&self) -> &M {
        &self.medium
    }

    /// The flash itself.
    pub const fn medium_mut(&mut self) -> &mut M {
        &mut self.medium
    }

    /// Where a logical page lies.
    #[must_use]
    pub fn locate(&self, logical: u32) -> Option<Page> {
        self.table.get(logical)
    }

    /// The health of the blocks, where modelled.
    #[must_use]
    pub fn health(&self) -> Option<&Health> {
        self.health.as_deref()
    }

    pub(crate) const fn refused(&self) -> Error {
        Error::ReadOnly { retired: self.pool.retired() }
    }

    pub(crate) const fn writable(&self) -> Result<(), Error> {
        if self.read_only { Err(self.refused()) } else { Ok(()) }
    }

    /// Good blocks.
    pub(crate) const fn good_blocks(&self) -> u32 {
        self.geometry.blocks() - self.pool.retired()
    }

    pub(crate) fn begin(&mut self, at: Instant) {
        self.events = Events::default();
        self.now = at;
        self.medium.begin(at);
    }

    pub(crate) fn end(&mut self) -> Completion {
        Completion::of(self.medium.end(), self.events, self.version)
    }

    /// Reads pages for the host, including those without data, and returns their versions.
    pub(crate) fn read(&mut self, Extent { first, count }: Extent, versions: &mut [Version]) {
        self.counters.read += u64::from(count);
        let mut next = first;
        while next < first + count {
            let (page, same) = self.table.neighbours(next, first + count - next);
            if let Some(Page { block, offset }) = page {
                let run = PageRun { block, offset, count: same };
                self.medium.read(run, Cause::Host);
                self.counters.reads[Cause::Host] += u64::from(same);
                self.correct(run);
            }
            next += same;
        }
        for (version, logical) in versions.iter_mut().zip(first..) {
            *version = self.locate(logical).map_or(Version(0), |page| self.medium.version(page));
        }
    }

    /// Draws the quality of an unused part: lives of blocks, and blocks that are bad from the factory.
    ///
    /// # Panics
    /// When the part has been used.
    pub(crate) fn draw_quality(&mut self, of: &Reliability, seed: Seed) -> Result<(), Error> {
        assert_eq!(self.counters.programs.total(), 0, "a part has its quality from the beginning");
        let blocks = self.geometry.blocks();
        let mut health = Health::new(of, blocks, seed)?;
        let mut draw = seed.stream("ftl.factory");
        // Block 0 is always good: every data sheet guarantees it.
        for block in 1..blocks {
            if draw.chance(of.factory_bad.into(), 65_536) {
                self.medium.mark_bad(block);
                self.pool.retire(block);
                health.factory_bad += 1;
            }
        }
        self.health = Some(Box::new(health));
        Ok(())
    }

    /// Reads adjacent pages for the host, and retries uncorrectable ones.
    #[inline]
    pub(crate) fn correct(&mut self, run: PageRun) {
        let reads = self.health.as_deref().is_some_and(Health::reads_are_corrected);
        for offset in (run.offset..run.offset + run.count).take_while(|_| reads) {
            self.correct_page(Page { block: run.block, offset }, Cause::Host);
        }
    }

    fn correct_page(&mut self, page: Page, cause: Cause) {
        let (now, bits) = (self.now, self.geometry.page().get() * 8);
        let Some(health) = self.health.as_deref_mut() else { return };
        let flash = ReadPath {
            medium: &mut self.medium,
            counters: &mut self.counters,
            events: &mut self.events,
        };
        health.correct(page, now, bits, flash, cause);
    }

    /// The next closed block to be refreshed.
    pub(crate) fn next_to_refresh(&mut self) -> Option<u32> {
        while let Some(block) = self.health.as_deref_mut().and_then(Health::next_queued) {
            if self.pool.state(block) == State::Closed {
                return Some(block);
            }
        }
        None
    }

    /// Reads the first page of each block with data that the patrol has reached by `now`.
    pub(crate) fn patrol(&mut self, now: Instant, has_data: impl Fn(&Self, u32) -> bool) {
        let blocks = self.geometry.blocks();
        let Some(health) = self.health.as_deref_mut() else { return };
        for block in health.patrolled(now, blocks) {
            if self.pool.state(block) == State::Closed && has_data(self, block) {
                let first = Page { block, offset: 0 };
                self.medium.read(first.into(), Cause::Refresh);
                self.counters.reads[Cause::Refresh] += 1;
                self.correct_page(first, Cause::Refresh);
            }
        }
    }

    /// The wear of all blocks. The first `slc` of them are always in SLC mode; `spare_blocks` may
    /// still go bad.
    pub(crate) fn wear(&self, slc: u32, spare_blocks: u32) -> Wear {
        let health = self.health();
        let erases = self.pool.wear().to_vec();
        let worn = health.map(|health| {
            let cycles = (0..self.geometry.blocks()).map(|block| health.cycles(block));
            cycles.map(|cycles| u32::try_from(cycles).unwrap_or(u32::MAX)).collect()
        });
        Wear {
            worn: worn.unwrap_or_else(|| erases.clone()),
            erases,
            slc_blocks: slc,
            retired: self.pool.retired(),
            factory_bad: health.map_or(0, |health| health.factory_bad),
            spare_blocks,
            read_only: self.read_only,
            unreadable: health.map_or(0, |health| health.unreadable),
        }
    }

    pub(crate) fn busy(&self) -> Busy {
        self.medium.busy()
    }
}
