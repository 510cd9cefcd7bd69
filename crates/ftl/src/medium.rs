//! The flash as the mechanism uses it, and a flash that only counts.
//!
//! Layer: between mapping and cells. Main types: [`Medium`], [`Cells`], [`Untimed`]. The mechanism
//! operates on mapped pages and superblocks and gives a cause for each operation; the medium
//! provides time, contents or neither. It is a type parameter, so that counting alone costs
//! nothing.
//!
//! Every medium asserts the rules of the cells ([`Cells`]): pages of a block in order, none twice
//! between two erases, no read beyond the programmed pages.
//!
//! Left out: failures. The layer above decides which block fails, because it can save the data.

use crate::cause::{ByCause, Cause};
use crate::geometry::{Geometry, Page, PageRun};
use boardlab_sim::{Duration, Instant};

/// The number of a write of a logical page, by which contents are distinguished. Zero is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version(pub u64);

/// How many bits the cells of a block are used with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CellMode {
    /// As many as they can hold.
    #[default]
    Native,
    /// One (SLC mode): fast, durable, and with fewer pages.
    SingleBit,
}

/// What is programmed besides the data: which logical pages, from which write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Logical page of the first page of the run; the others follow. [`Stamp::NOTHING`] where a page
    /// holds no data of anyone.
    pub logical: u32,
    /// Which write.
    pub version: Version,
}

impl Stamp {
    /// The logical page of a page that holds no data.
    pub const NOTHING: u32 = u32::MAX;
    /// A padding page.
    pub const FILLER: Self = Self { logical: Self::NOTHING, version: Version(0) };
}

/// Pages of one block that are moved, in order, to neighbouring pages of another.
#[derive(Debug, Clone, Copy)]
pub struct Copies<'a> {
    /// Block that they come from.
    pub from: u32,
    /// Their offsets there.
    pub offsets: &'a [u32],
    /// The logical page of each; [`Stamp::NOTHING`] of a stale one, whose copy is nobody's either.
    pub logical: &'a [u32],
    /// Where they go; as many pages as there are offsets.
    pub to: PageRun,
}

/// What the spare bytes of a block's pages say besides their stamps, where a unit is gathered in
/// it: once its first `pages` pages are programmed, what other blocks hold of the unit and is older
/// is void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Logical block.
    pub unit: u32,
    /// What was written with a version less than this one is older.
    pub version: Version,
    /// Pages that make it whole.
    pub pages: u32,
}

/// The operations of a medium, in mapped pages and superblocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OperationCounts {
    /// Pages programmed.
    pub programs: u64,
    /// Pages read.
    pub reads: u64,
    /// Superblocks erased.
    pub erases: u64,
}

/// The instants of a request, and its cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestTiming {
    /// When the last of its data had passed the link.
    pub transferred: Instant,
    /// When the device could accept the next request's data: from then on it is not busy.
    pub accepted: Instant,
    /// When all that the request programmed or read had been finished.
    pub finished: Instant,
    /// Nanoseconds of busy dies, by cause.
    pub work: ByCause,
    /// Nanoseconds for which its data, or the device for space afterwards, waited, by the cause of
    /// the delay.
    pub waited: ByCause,
}

/// The flash below a translation layer.
pub trait Medium {
    /// Programs a run of pages that were erased, in order; `stamp` is that of the first.
    fn program(&mut self, run: PageRun, stamp: Stamp, cause: Cause);

    /// Programs one page with a record of the layer itself, which a medium without contents forgets.
    fn program_record(&mut self, page: Page, stamp: Stamp, words: &[u64], cause: Cause) {
        let _ = words;
        self.program(page.into(), stamp, cause);
    }

    /// Reads pages and programs what they held to others. Counts as reads and as programs.
    fn copy(&mut self, copies: Copies<'_>, cause: Cause);

    /// Reads a run of pages.
    fn read(&mut self, run: PageRun, cause: Cause);

    /// Erases a superblock.
    fn erase(&mut self, block: u32, cause: Cause);

    /// Marks a retired superblock bad, so that it is known after a restart.
    fn mark_bad(&mut self, block: u32) {
        let _ = block;
    }

    /// An erased superblock will be programmed, its cells used in `mode`.
    fn open(&mut self, block: u32, mode: CellMode) {
        let _ = (block, mode);
    }

    /// Pages of a superblock that are programmed from now on say so.
    fn label(&mut self, block: u32, label: Label) {
        let _ = (block, label);
    }

    /// The operations so far.
    fn seen(&self) -> OperationCounts;

    /// Pages of a block that were programmed since its erase.
    fn programmed(&self, block: u32) -> u32;

    /// The version of a page; [`Version`] zero where the medium keeps none.
    fn version(&self, page: Page) -> Version {
        let _ = page;
        Version(0)
    }

    /// A request of the host begins at `at`; operations until [`Medium::end`] belong to it.
    fn begin(&mut self, at: Instant) {
        let _ = at;
    }

    /// As [`Medium::begin`], without a request of the host: work in the background.
    fn background(&mut self, at: Instant) {
        self.begin(at);
    }

    /// The request is over; says when.
    fn end(&mut self) -> RequestTiming {
        RequestTiming::default()
    }

    /// Until further notice pages of the host come over a link outside, and so long it takes for as
    /// many as a die programs at once; zero when they are there.
    fn pace(&mut self, each: Duration) {
        let _ = each;
    }

    /// Programs data that still wait for a full flash page or its planes.
    fn flush(&mut self) {}

    /// When all operations have ended.
    fn quiet(&self) -> Instant {
        Instant::ZERO
    }

    /// For how long each resource was busy; nothing on media that take no time.
    fn busy(&self) -> Busy {
        Busy::default()
    }

    /// Time that passes without the flash: work of the controller.
    fn delay(&mut self, span: Duration) {
        let _ = span;
    }
}

/// The rules of the cells: order within a block, and nothing twice.
#[derive(Debug, Clone)]
pub struct Cells {
    pages_per_block: u32,
    /// For each block, the page that may be programmed next.
    next: Vec<u32>,
    seen: OperationCounts,
}

impl Cells {
    /// All blocks erased.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        let next = vec![0; geometry.blocks() as usize];
        Self { pages_per_block: geometry.pages_per_block(), next, seen: OperationCounts::default() }
    }

    /// A run of pages is programmed.
    ///
    /// # Panics
    /// When the run does not begin at the first erased page of its block, or leaves it.
    #[inline]
    pub fn program(&mut self, run: PageRun) {
        let next = &mut self.next[run.block as usize];
        assert!(*next == run.offset, "a block is programmed in order and no page twice");
        *next += run.count;
        assert!(*next <= self.pages_per_block, "a block is not programmed beyond its end");
        self.seen.programs += u64::from(run.count);
    }

    /// A run of pages is read.
    ///
    /// # Panics
    /// When one of them was not programmed.
    #[inline]
    pub fn read(&mut self, run: PageRun) {
        let end = run.offset + run.count;
        assert!(end <= self.next[run.block as usize], "only what was programmed is read");
        self.seen.reads += u64::from(run.count);
    }

    /// Pages are moved.
    ///
    /// # Panics
    /// As for their reads and programs.
    #[inline]
    pub fn copy(&mut self, copies: Copies<'_>) {
        if let Some(&last) = copies.offsets.last() {
            assert!(last < self.next[copies.from as usize], "only what was programmed is moved");
        }
        assert_eq!(copies.offsets.len(), copies.to.count as usize, "a page for each page");
        self.seen.reads += u64::from(copies.to.count);
        self.program(copies.to);
    }

    /// A block is erased.
    #[inline]
    pub fn erase(&mut self, block: u32) {
        self.next[block as usize] = 0;
        self.seen.erases += 1;
    }

    /// The first `used` pages of `block` are taken for programmed: what is found when power comes back.
    ///
    /// # Panics
    /// When a block has fewer.
    pub fn assume(&mut self, block: u32, used: u32) {
        assert!(used <= self.pages_per_block, "a block has no more pages");
        self.next[block as usize] = used;
    }

    /// The first page of `block` that is still erased.
    #[must_use]
    pub fn next(&self, block: u32) -> u32 {
        self.next[block as usize]
    }

    /// What was asked for so far.
    #[must_use]
    pub const fn seen(&self) -> OperationCounts {
        self.seen
    }
}

/// Time for which each resource was busy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Busy {
    /// The link.
    pub link: Duration,
    /// Each channel.
    pub channels: Vec<Duration>,
    /// Each die.
    pub dies: Vec<Duration>,
    /// Dies, in nanoseconds by cause.
    pub by_cause: ByCause,
}

/// A medium that holds the rules and counts, and takes no time.
#[derive(Debug, Clone)]
pub struct Untimed {
    cells: Cells,
}

impl Untimed {
    /// All blocks erased.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        Self { cells: Cells::new(geometry) }
    }
}

impl Medium for Untimed {
    #[inline]
    fn program(&mut self, run: PageRun, _: Stamp, _: Cause) {
        self.cells.program(run);
    }

    #[inline]
    fn copy(&mut self, copies: Copies<'_>, _: Cause) {
        self.cells.copy(copies);
    }

    #[inline]
    fn read(&mut self, run: PageRun, _: Cause) {
        self.cells.read(run);
    }

    #[inline]
    fn erase(&mut self, block: u32, _: Cause) {
        self.cells.erase(block);
    }

    fn seen(&self) -> OperationCounts {
        self.cells.seen()
    }

    fn programmed(&self, block: u32) -> u32 {
        self.cells.next(block)
    }
}
