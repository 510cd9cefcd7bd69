//! What a device above sees of any translation layer, whatever its mapping.
//!
//! Layer: the upper face of the crate. Main types: [`Translation`], [`Completion`], [`Extent`]. A
//! request is submitted at a point in time and answered with when it is done; because the flash
//! below keeps for each of its parts until when it is busy, requests may overlap without a queue of
//! events.
//!
//! Data are told apart by [`Version`]s: a write gives each of its pages the version that it returns,
//! a read says which version each page holds. Who needs bytes keeps them by page and version.

use crate::cause::ByCause;
use crate::counters::Counters;
use crate::error::Error;
use crate::medium::Busy;
use crate::medium::{RequestTiming, Version};
use boardlab_sim::{Bytes, Duration, Instant};
use std::fmt;

/// Neighbouring logical pages.
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

    /// The same, when it lies within `pages`.
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

/// Something that made a request slower and is not an operation of the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The cache of single-bit cells had no room.
    CacheFull,
    /// The write went on in sequence for longer than the cache takes, and past it.
    PastCache,
    /// The part of the map that was needed was not in memory.
    MapMiss,
    /// The write went to an allocation unit that was not open.
    OpenUnitMiss,
    /// There was no room in the log blocks: one of them had to be merged.
    LogsFull,
    /// A page could only be read with shifted read voltages.
    ReadRetry,
    /// A page could not be read at all: its data are lost.
    Unreadable,
}

impl Event {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::CacheFull,
        Self::PastCache,
        Self::MapMiss,
        Self::OpenUnitMiss,
        Self::LogsFull,
        Self::ReadRetry,
        Self::Unreadable,
    ];

    /// A word for tables: `cache full`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CacheFull => "cache full",
            Self::PastCache => "past the cache",
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
    /// Adds one.
    pub fn add(&mut self, event: Event) {
        self.0 |= 1 << event as usize;
    }

    /// Adds those of another request.
    #[inline]
    pub fn add_all(&mut self, others: Self) {
        self.0 |= others.0;
    }

    /// Whether it happened.
    #[must_use]
    pub const fn has(self, event: Event) -> bool {
        self.0 >> event as usize & 1 == 1
    }

    /// All that happened.
    pub fn iter(self) -> impl Iterator<Item = Event> {
        Event::ALL.into_iter().filter(move |&event| self.has(event))
    }
}

/// When a request was done, and what the flash had to do for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// When the last of its data had passed the link.
    pub transferred: Instant,
    /// When the next request's data could come: from then on the device is not busy.
    pub accepted: Instant,
    /// When everything that the request set going was finished.
    pub finished: Instant,
    /// Nanoseconds for which it kept dies busy, by cause: what it set going, perhaps at the cost of
    /// requests after it.
    pub work: ByCause,
    /// Nanoseconds for which its data waited, and for which the device was busy after them, by the
    /// cause of what was in the way: why it was slow. `Host` is earlier data of the host.
    pub waited: ByCause,
    /// What else made it slow.
    pub events: Events,
    /// The version of what was written.
    pub version: Version,
}

impl Completion {
    /// Of a request that took no time at `at`.
    #[must_use]
    pub fn at(at: Instant) -> Self {
        Self { transferred: at, accepted: at, finished: at, ..Self::default() }
    }

    /// Of a request that the medium was done with as it says.
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

/// How pages come to the layer when they do not come all at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Pages that come together: those that one die programs at once.
    pub group: u32,
    /// How long so many take to come, once the ones before were accepted.
    pub each: Duration,
}

/// A translation layer: pages in, flash operations out.
pub trait Translation {
    /// Pages that the host sees.
    fn pages(&self) -> u32;

    /// Bytes of such a page.
    fn page_size(&self) -> Bytes;

    /// Writes pages; they hold a new version, the one returned.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::ReadOnly`].
    fn write(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error>;

    /// Writes single pages, each a request of its own that begins when the one before was accepted.
    /// Returns the completion of the last.
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

    /// Writes pages that come over a link of the device above, a group at a time. The completion is
    /// that of all; its version is of the last pages, and the others may have other ones.
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

    /// Reads pages. `versions`, empty or as many as there are pages, gets what they hold: zero for
    /// a page without data, and on media that keep no versions.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    fn read(
        &mut self,
        at: Instant,
        extent: Extent,
        versions: &mut [Version],
    ) -> Result<Completion, Error>;

    /// Gives up what pages hold.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    fn trim(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error>;

    /// Makes durable all that was written and given up.
    fn flush(&mut self, at: Instant) -> Completion;

    /// The host leaves the device alone from `from` until `until`: work in the background. Returns
    /// when the last of it ends, which may be later by one step.
    fn idle(&mut self, from: Instant, until: Instant) -> Instant;

    /// What was done so far.
    fn counters(&self) -> &Counters;

    /// How worn the blocks are.
    fn wear(&self) -> Wear;

    /// What the blocks are used for now.
    fn occupancy(&self) -> Occupancy;

    /// For how long link, channels and dies were busy; nothing where time is not modelled.
    fn busy(&self) -> Busy;
}

/// What the blocks of a device are used for: why its next writes are fast or slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Occupancy {
    /// Logical pages with data.
    pub pages: u32,
    /// Free blocks, those of a fixed cache not counted.
    pub free_blocks: u32,
    /// Blocks of the cache that hold data, the one that is being filled included.
    pub cache_blocks: u32,
}

/// Wear of all blocks that are in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wear {
    /// Erases of each block; of retired ones too.
    pub erases: Vec<u32>,
    /// What they have used of each block's life, in ordinary cycles: less where cells hold one bit.
    pub worn: Vec<u32>,
    /// So many blocks, the first ones, never hold more than one bit a cell.
    pub single_bit: u32,
    /// Blocks that are bad.
    pub retired: u32,
    /// Of these, blocks that were bad from the factory.
    pub factory_bad: u32,
    /// Good blocks that may still go bad before the device is read-only.
    pub spare_blocks: u32,
    /// Whether the device takes no more data.
    pub read_only: bool,
    /// Pages that could not be read: their data are lost.
    pub unreadable: u64,
}

impl Wear {
    /// The least, the sum and the greatest.
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

/// What a table shows of wear; mean and spread follow from the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WearSummary {
    /// Erases of the least worn block.
    pub least: u32,
    /// Erases of the most worn block.
    pub most: u32,
    /// Erases of all blocks.
    pub total: u64,
    /// The sum of their squares.
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
