//! The interface of all translation layers, independent of their mapping.
//!
//! Layer: the interface to devices above. Main types: [`Translation`], [`Completion`], [`Extent`]. A
//! request is submitted at an instant, and the result says when it completes. Since the flash below
//! stores for each resource until when it is busy, requests may overlap without an event queue.
//!
//! A [`Version`] identifies data: a write gives its pages the version that it returns, and a read
//! returns the version of each page. A device that needs bytes stores them by page and version.

use crate::cause::ByCause;
use crate::counters::Counters;
use crate::error::Error;
use crate::medium::Busy;
use crate::medium::{RequestTiming, Version};
use boardlab_sim::{Bytes, Duration, Instant};
use std::fmt;

/// Adjacent logical pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extent {
    /// First logical page.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl Extent {
    /// `count` pages from `first` on.
    #[must_use]
    pub const fn new(first: u32, count: u32) -> Self {
        Self { first, count }
    }

    /// Returns the extent if it lies within `pages`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn within(self, pages: u32) -> Result<Self, Error> {
        let Self { first, count } = self;
        match first.checked_add(count) {
            Some(end) if end <= pages => Ok(self),
            _ => Err(Error::OutOfRange { first, count, pages }),
        }
    }
}

/// A reason for a slow request that is not an operation of the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The SLC cache was full.
    CacheFull,
    /// The write continued a run beyond the length that the SLC cache admits, and bypassed it.
    CacheBypass,
    /// A part of the map was not cached.
    MapMiss,
    /// The write was to a unit that was not open.
    OpenUnitMiss,
    /// The log blocks were full, so a unit had to be merged.
    LogsFull,
    /// A page was readable only with shifted read voltages.
    ReadRetry,
    /// A page was unreadable: its data are lost.
    Unreadable,
}

impl Event {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::CacheFull,
        Self::CacheBypass,
        Self::MapMiss,
        Self::OpenUnitMiss,
        Self::LogsFull,
        Self::ReadRetry,
        Self::Unreadable,
    ];

    /// The name in tables, such as `cache full`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CacheFull => "cache full",
            Self::CacheBypass => "past the cache",
            Self::MapMiss => "map miss",
            Self::OpenUnitMiss => "open unit miss",
            Self::LogsFull => "logs full",
            Self::ReadRetry => "read retry",
            Self::Unreadable => "unreadable",
        }
    }
}

/// The events of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Events(u8);

impl Events {
    /// Adds an event.
    pub fn add(&mut self, event: Event) {
        self.0 |= 1 << event as usize;
    }

    /// Adds those of another request.
    #[inline]
    pub fn add_all(&mut self, others: Self) {
        self.0 |= others.0;
    }

    /// Whether `event` occurred.
    #[must_use]
    pub const fn has(self, event: Event) -> bool {
        self.0 >> event as usize & 1 == 1
    }

    /// Iterates over the events that occurred.
    pub fn iter(self) -> impl Iterator<Item = Event> {
        Event::ALL.into_iter().filter(move |&event| self.has(event))
    }
}

/// The completion of a request: its instants and its cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// When the last of its data had passed the link.
    pub transferred: Instant,
    /// When the device could accept the next request's data; from then on it is not busy.
    pub accepted: Instant,
    /// When all operations that the request caused were complete.
    pub finished: Instant,
    /// Nanoseconds of die time that it caused, by cause; they may delay later requests.
    pub work: ByCause,
    /// Nanoseconds for which its data waited, or the device waited for space after them, by the
    /// cause of the delay. `Host` stands for earlier data of the host.
    pub waited: ByCause,
    /// Other reasons for slowness.
    pub events: Events,
    /// The version of the written data.
    pub version: Version,
}

impl Completion {
    /// The completion of a request that took no time at `at`.
    #[must_use]
    pub fn at(at: Instant) -> Self {
        Self { transferred: at, accepted: at, finished: at, ..Self::default() }
    }

    /// The completion of a request with the timing of the medium.
    #[must_use]
    pub(crate) fn of(done: RequestTiming, events: Events, version: Version) -> Self {
        Self {
            transferred: done.transferred,
            accepted: done.accepted,
            finished: done.finished,
            work: done.work,
            waited: done.waited,
            events,
            version,
        }
    }
}

/// The rate at which pages of one write arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Pages that arrive together: as many as a die programs at once.
    pub group: u32,
    /// The time in which a group arrives, after the group before it was accepted.
    pub each: Duration,
}

/// A translation layer: pages in, flash operations out.
pub trait Translation {
    /// Pages that the host sees.
    fn pages(&self) -> u32;

    /// Bytes of a page.
    fn page_size(&self) -> Bytes;

    /// Writes pages and returns their new version.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::ReadOnly`].
    fn write(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error>;

    /// Writes single pages, each as a request of its own that begins when the one before is
    /// accepted. Returns the completion of the last.
    ///
    /// # Errors
    /// As for [`Translation::write`]; the pages before have been written.
    fn write_each(&mut self, at: Instant, pages: &[u32]) -> Result<Completion, Error> {
        let mut last = Completion::at(at);
        for &page in pages {
            last = self.write(last.accepted, Extent::new(page, 1))?;
        }
        Ok(last)
    }

    /// Writes pages that arrive in groups over a link of the device above. The completion is that of
    /// all groups; its version is that of the last pages, and earlier pages may have other versions.
    ///
    /// # Errors
    /// As for [`Translation::write`]; the pages before have been written.
    fn write_paced(
        &mut self,
        at: Instant,
        extent: Extent,
        pace: Pace,
    ) -> Result<Completion, Error> {
        let mut all = Completion::at(at);
        let (mut first, end) = (extent.first, extent.first + extent.count);
        while first < end {
            let count = (pace.group - first % pace.group).min(end - first);
            let came = pace.each * u64::from(count) / u64::from(pace.group);
            let one = self.write(all.accepted + came, Extent::new(first, count))?;
            all.work += &one.work;
            all.waited += &one.waited;
            all.events.add_all(one.events);
            (all.transferred, all.accepted) = (one.transferred, one.accepted);
            all.finished = all.finished.max(one.finished);
            all.version = one.version;
            first += count;
        }
        Ok(all)
    }

    /// Reads pages. `versions`, empty or one for each page, receives their versions: zero for a
    /// page without data, and on media without versions.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    fn read(
        &mut self,
        at: Instant,
        extent: Extent,
        versions: &mut [Version],
    ) -> Result<Completion, Error>;

    /// Trims pages.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    fn trim(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error>;

    /// Makes all writes and trims durable.
    fn flush(&mut self, at: Instant) -> Completion;

    /// Does background work while the host is idle from `from` until `until`. Returns when it ends,
    /// at most one step later than `until`.
    fn idle(&mut self, from: Instant, until: Instant) -> Instant;

    /// The counters.
    fn counters(&self) -> &Counters;

    /// The wear of the blocks.
    fn wear(&self) -> Wear;

    /// What the blocks currently hold.
    fn occupancy(&self) -> Occupancy;

    /// The busy time of link, channels and dies; empty where time is not modelled.
    fn busy(&self) -> Busy;
}

/// What the blocks of a device hold, which decides how fast its next writes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Occupancy {
    /// Logical pages with data.
    pub pages: u32,
    /// Free blocks, without those of a fixed cache.
    pub free_blocks: u32,
    /// SLC cache blocks that hold data, including the open one.
    pub cache_blocks: u32,
}

/// The wear of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wear {
    /// The erase count of each block, retired ones included.
    pub erases: Vec<u32>,
    /// Wear of each block in P/E cycles of its native mode: an erase in SLC mode counts less than one.
    pub worn: Vec<u32>,
    /// The number of blocks, the first ones, that are always in SLC mode.
    pub slc_blocks: u32,
    /// The number of bad blocks.
    pub retired: u32,
    /// The number of factory bad blocks among them.
    pub factory_bad: u32,
    /// Good blocks that may still go bad before the device is read-only.
    pub spare_blocks: u32,
    /// Whether the device is read-only.
    pub read_only: bool,
    /// The number of unreadable pages, whose data are lost.
    pub unreadable: u64,
}

impl Wear {
    /// Summarises the erase counts.
    #[must_use]
    pub fn summary(&self) -> WearSummary {
        WearSummary {
            least: self.erases.iter().copied().min().unwrap_or(0),
            most: self.erases.iter().copied().max().unwrap_or(0),
            total: self.erases.iter().copied().map(u64::from).sum(),
            squares: self.erases.iter().map(|&e| u128::from(e) * u128::from(e)).sum(),
            blocks: self.erases.len(),
        }
    }
}

/// A summary of erase counts; mean and deviation follow from the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WearSummary {
    /// The least erase count.
    pub least: u32,
    /// The greatest erase count.
    pub most: u32,
    /// The sum of all erase counts.
    pub total: u64,
    /// The sum of the squares of the erase counts.
    pub squares: u128,
    /// Blocks.
    pub blocks: usize,
}

impl fmt::Display for WearSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks = u64::try_from(self.blocks).unwrap_or(u64::MAX).max(1);
        let tenths = self.total * 10 / blocks;
        write!(f, "{}/{}.{}/{} erases", self.least, tenths / 10, tenths % 10, self.most)
    }
}
