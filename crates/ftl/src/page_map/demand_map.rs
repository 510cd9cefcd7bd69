//! A page map that does not fit into memory: translation pages in flash, and a bounded cache of them.
//!
//! Layer: a stream of the mechanism. Main types: [`MapMemory`], the policy, and [`DemandMap`], the
//! cache. The map is split into translation pages, which are written like data, to blocks of their
//! own. They are logical pages after the host's, so garbage collection and wear levelling need no
//! special case. The cache holds segments of translation pages and evicts the least recently used.
//!
//! ```text
//!   request --> segment cached?  -- no --> read its translation page (Cause::Map, Event::MapMiss)
//!                    |                     evict: when changed, read, merge and program its page
//!   collection moves a page --> cached: changed; else its translation page is stale, and written
//!                               later, when too many are
//! ```
//!
//! Source: Gupta, Kim, Urgaonkar, "DFTL: a flash translation layer employing demand-based selective
//! caching of page-level address mappings" (ASPLOS 2009): segments of one entry are its cached mapping
//! table, and changes of one translation page are written together as there. Deviations: plain LRU
//! instead of the segmented one, and moves of collection are remembered until there are many (after a
//! power cut they could be read from the OOB bytes of the flash). Left out: prefetching.

use crate::cause::Cause;
use crate::error::Error;
use crate::geometry::{Geometry, Page};
use crate::medium::{Medium, Stamp};
use crate::order::Order;
use crate::page_map::PageMapped;
use crate::translation::Event;
use boardlab_sim::Bytes;
use std::collections::VecDeque;

/// Bytes of an entry.
const ENTRY: u64 = 4;
/// The limit of stale translation pages that are written at a time.
const STALE_AT_A_TIME: u32 = 2;

/// Where the page map is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MapMemory {
    /// Entirely in memory.
    #[default]
    Whole,
    /// In flash, with a cache.
    Cached {
        /// Bytes of entries that the cache holds.
        cache: Bytes,
        /// Entries that are cached together; one is DFTL's own.
        segment: u32,
    },
}

impl MapMemory {
    /// Translation pages of a part.
    #[must_use]
    pub fn pages(self, geometry: &Geometry) -> u32 {
        match self {
            Self::Whole => 0,
            Self::Cached { .. } => geometry.logical_pages().div_ceil(entries(geometry)),
        }
    }

    /// Checks the policy for this part.
    ///
    /// # Errors
    /// [`Error::Policy`] for segments that do not fit into a page, or a cache of less than two.
    pub fn checked(self, geometry: &Geometry) -> Result<Self, Error> {
        let Self::Cached { cache, segment } = self else { return Ok(self) };
        let most = entries(geometry);
        if segment == 0 || segment > most || !most.is_multiple_of(segment) {
            let (what, found) = ("entries of a segment of the map", segment.into());
            return Err(Error::Policy { what, found, least: 1, most: most.into() });
        }
        let least = 2 * ENTRY * u64::from(segment);
        if cache.get() < least {
            let (what, found) = ("bytes of the cache of the map", cache.get());
            return Err(Error::Policy { what, found, least, most: u64::MAX });
        }
        Ok(self)
    }
}

/// Entries of a translation page.
fn entries(geometry: &Geometry) -> u32 {
    u32::try_from(geometry.page().get() / ENTRY).unwrap_or(u32::MAX).max(1)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cached {
    No,
    Clean,
    Changed,
}

/// The cache, and the pending writes.
#[derive(Debug, Clone)]
pub struct DemandMap {
    /// Entries of a segment and segments of a translation page.
    segment: u32,
    per_page: u32,
    capacity: u32,
    cached: u32,
    /// By segment.
    state: Vec<Cached>,
    /// Cached segments in the order of their last use.
    used: Order<1>,
    /// Translation pages with an evicted dirty segment: to be written at once.
    due: Vec<u32>,
    /// Translation pages that garbage collection made stale, and those in order.
    stale: Vec<bool>,
    queue: VecDeque<u32>,
    stale_most: usize,
    /// Cache hits.
    pub hits: u64,
    /// Cache misses.
    pub misses: u64,
}

impl DemandMap {
    /// An empty cache for a part; `None` when the whole map is in memory.
    #[must_use]
    pub fn new(memory: MapMemory, geometry: &Geometry) -> Option<Self> {
        let MapMemory::Cached { cache, segment } = memory else { return None };
        let (pages, per_page) = (memory.pages(geometry), entries(geometry) / segment);
        let segments = (pages * per_page) as usize;
        let capacity = cache.get() / (ENTRY * u64::from(segment));
        Some(Self {
            segment,
            per_page,
            capacity: u32::try_from(capacity).unwrap_or(u32::MAX),
            cached: 0,
            state: vec![Cached::No; segments],
            used: Order::new(segments),
            due: Vec::new(),
            stale: vec![false; pages as usize],
            queue: VecDeque::new(),
            stale_most: (pages as usize / 4).max(1),
            hits: 0,
            misses: 0,
        })
    }

    /// Uses a segment; returns whether it was cached.
    fn touch(&mut self, segment: u32, changed: bool) -> bool {
        let before = self.state[segment as usize];
        let hit = before != Cached::No;
        if hit {
            self.hits += 1;
            self.used.remove(0, segment);
        } else {
            self.misses += 1;
            if self.cached == self.capacity {
                self.evict();
            }
            self.cached += 1;
        }
        let page = (segment / self.per_page) as usize;
        // Stale entries are corrected in memory when the whole page is there.
        let merged = self.per_page == 1 && std::mem::replace(&mut self.stale[page], false);
        let changed = changed || merged || before == Cached::Changed;
        self.state[segment as usize] = if changed { Cached::Changed } else { Cached::Clean };
        self.used.push(0, segment);
        hit
    }

    fn evict(&mut self) {
        let Some(segment) = self.used.iter(0).next() else { return };
        self.used.remove(0, segment);
        self.cached -= 1;
        let state = std::mem::replace(&mut self.state[segment as usize], Cached::No);
        let page = segment / self.per_page;
        if state == Cached::Changed && !self.due.contains(&page) {
            self.due.push(page);
        }
    }

    /// Records that garbage collection moved a logical page.
    fn moved(&mut self, logical: u32) {
        let segment = logical / self.segment;
        let page = segment / self.per_page;
        if self.state[segment as usize] != Cached::No {
            self.state[segment as usize] = Cached::Changed;
        } else if !std::mem::replace(&mut self.stale[page as usize], true) {
            self.queue.push_back(page);
        }
    }

    /// The next translation page to be written; `stale` is the limit of stale ones.
    fn next_due(&mut self, stale: &mut u32) -> Option<u32> {
        if let Some(page) = self.due.pop() {
            return Some(page);
        }
        while self.queue.len() > self.stale_most && *stale > 0 {
            let page = self.queue.pop_front()?;
            if self.stale[page as usize] {
                *stale -= 1;
                return Some(page);
            }
        }
        None
    }

    /// Marks a written translation page as clean.
    fn written(&mut self, page: u32) {
        self.stale[page as usize] = false;
        let first = (page * self.per_page) as usize;
        for state in &mut self.state[first..first + self.per_page as usize] {
            if *state == Cached::Changed {
                *state = Cached::Clean;
            }
        }
    }
}

impl<M: Medium> PageMapped<M> {
    /// The cache of the map, where it does not fit into memory.
    #[must_use]
    pub fn demand_map(&self) -> Option<&DemandMap> {
        self.map.as_deref()
    }

    /// Looks up the pages from `first` on in the map; entries that are not cached are read.
    #[inline]
    pub(crate) fn look_up(&mut self, first: u32, count: u32, changes: bool) {
        if self.map.is_some() && count > 0 {
            self.look_up_segments(first, count, changes);
        }
    }

    fn look_up_segments(&mut self, first: u32, count: u32, changes: bool) {
        let Some(map) = self.map.as_deref() else { return };
        let (size, per_page) = (map.segment, map.per_page);
        for segment in first / size..=(first + count - 1) / size {
            let hit = self.map.as_deref_mut().is_none_or(|map| map.touch(segment, changes));
            if !hit {
                self.flash.events.add(Event::MapMiss);
                self.read_map_page(segment / per_page);
            }
        }
        self.settle_map();
    }

    fn read_map_page(&mut self, page: u32) {
        if let Some(place) = self.flash.table.get(self.flash.geometry.logical_pages() + page) {
            self.flash.medium.read(place.into(), Cause::Map);
            self.flash.counters.reads[Cause::Map] += 1;
        }
    }

    /// Writes the translation pages that are due. It is never called from garbage collection, which
    /// only marks pages: a write here may collect, and cannot recurse.
    fn settle_map(&mut self) {
        let mut stale = STALE_AT_A_TIME;
        while let Some(page) = self.map.as_deref_mut().and_then(|map| map.next_due(&mut stale)) {
            self.read_map_page(page);
            let stream = self.policies.map_stream();
            if !self.make_room(stream) {
                return;
            }
            self.write_map_page(page, stream);
        }
    }

    fn write_map_page(&mut self, page: u32, stream: u8) {
        let logical = self.flash.geometry.logical_pages() + page;
        let run = self.frontiers[usize::from(stream)].take(1);
        let old = self.flash.table.set(logical, Page { block: run.block, offset: run.offset });
        self.flash.pool.add_valid(run.block, 1);
        self.flash.medium.program(run, Stamp { logical, version: self.flash.version }, Cause::Map);
        self.flash.counters.programs[Cause::Map] += 1;
        if let Some(map) = self.map.as_deref_mut() {
            map.written(page);
        }
        match old {
            None => self.flash.mapped += 1,
            Some(old) if self.flash.pool.invalidate(old.block, 1) => self.return_emptied(old.block),
            Some(_) => {}
        }
    }

    /// Records that pages were moved to a run of a block.
    #[inline]
    pub(crate) fn note_moved(&mut self, to: Page, count: u32) {
        let Some(map) = self.map.as_deref_mut() else { return };
        let logical = self.flash.table.logical_run(to, count).iter();
        let host = self.flash.geometry.logical_pages();
        logical.filter(|&&logical| logical < host).for_each(|&logical| map.moved(logical));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 translation pages of two segments; two segments are cached.
    fn map() -> DemandMap {
        let part = Geometry::new(64, 16, Bytes::new(64), 128).unwrap();
        let memory = MapMemory::Cached { cache: Bytes::new(64), segment: 8 };
        DemandMap::new(memory, &part).unwrap()
    }

    #[test]
    fn only_a_changed_segment_is_written_when_it_leaves() {
        let mut map = map();
        assert!(!map.touch(0, false));
        assert!(!map.touch(2, true));
        assert!(map.touch(0, false), "used last, so the other one leaves first");
        map.touch(4, false);
        assert_eq!(map.next_due(&mut 0), Some(1), "the page of segment 2");
        map.touch(6, false);
        assert_eq!(map.next_due(&mut 0), None, "segment 0 was read only");
    }

    #[test]
    fn a_segment_that_collection_changed_is_written_when_it_leaves() {
        let mut map = map();
        map.touch(0, false);
        map.moved(3);
        assert!(map.queue.is_empty(), "what is cached is not stale");
        map.touch(2, false);
        map.touch(4, false);
        assert_eq!(map.next_due(&mut 0), Some(0));
    }

    #[test]
    fn a_page_is_stale_once_until_it_is_written() {
        let mut map = map();
        (0..48).for_each(|logical| map.moved(logical));
        assert_eq!(map.queue, [0, 1, 2]);
        assert_eq!(map.next_due(&mut 2), Some(0), "two may be stale");
        map.written(0);
        map.moved(0);
        assert_eq!(map.queue, [1, 2, 0]);
    }
}
