//! The interface to the flash, and a medium that only counts.
//!
//! Layer: between mapping and cells. Main types: [`Medium`], [`Cells`], [`UntimedMedium`]. The
//! mechanism operates on mapped pages and superblocks and gives a cause for each operation; the medium
//! provides time, contents or neither. It is a type parameter, so that counting alone costs nothing.
//!
//! Every medium asserts the rules of the cells ([`Cells`]): pages of a block in order, none twice
//! between two erases, no read beyond the programmed pages.
//!
//! Left out: failures. The layer above decides which block fails, because it can save the data.

use crate::cause::{ByCause, Cause};
use crate::geometry::{Geometry, Page, PageRun};
use boardlab_sim::{Duration, Instant};

/// The sequence number of a write, which identifies the content of a page. Zero means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version(pub u64);

/// How many bits each cell of a block stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CellMode {
    /// As many as they can hold.
    #[default]
    Native,
    /// One (SLC mode): fast, durable, and with fewer pages.
    Slc,
}

/// What is programmed into the OOB bytes besides the data: logical page and version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The logical page of the first page of the run; the others follow. [`Stamp::NOTHING`] where a
    /// page holds no logical page.
    pub logical: u32,
    /// The version.
    pub version: Version,
}

impl Stamp {
    /// In place of the logical page where a page holds none.
    pub const NOTHING: u32 = u32::MAX;
    /// A padding page.
    pub const FILLER: Self = Self { logical: Self::NOTHING, version: Version(0) };
}

/// Pages of one block that are copied, in order, to adjacent pages of another.
#[derive(Debug, Clone, Copy)]
pub struct Copies<'a> {
    /// The source block.
    pub from: u32,
    /// The offsets of the pages in it.
    pub offsets: &'a [u32],
    /// The logical page of each; [`Stamp::NOTHING`] for a stale page, whose copy is stale as well.
    pub logical: &'a [u32],
    /// The target; as many pages as there are offsets.
    pub to: PageRun,
}

/// A record in the OOB bytes of a block into which a unit is merged. Once the first `pages` pages
/// of the block are programmed, older data of the unit in other blocks are void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Logical block.
    pub unit: u32,
    /// Data of a lower version are older.
    pub version: Version,
    /// The number of pages that complete the block.
    pub pages: u32,
}

/// Operation counts of a medium, in mapped pages and superblocks.
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
    /// When the device could accept the next request's data; from then on it is not busy.
    pub accepted: Instant,
    /// When all programs and reads of the request were complete.
    pub finished: Instant,
    /// Nanoseconds of busy dies, by cause.
    pub work: ByCause,
    /// Nanoseconds for which its data waited, or the device waited for space after them, by the
    /// cause of the delay.
    pub waited: ByCause,
}

/// The flash below a translation layer.
pub trait Medium {
    /// Programs a run of erased pages in order; `stamp` is that of the first.
    fn program(&mut self, run: PageRun, stamp: Stamp, cause: Cause);

    /// Programs one page with a record of the layer itself, which media without contents discard.
    fn program_record(&mut self, page: Page, stamp: Stamp, words: &[u64], cause: Cause) {
        let _ = words;
        self.program(page.into(), stamp, cause);
    }

    /// Copies pages. Counts as reads and as programs.
    fn copy(&mut self, copies: Copies<'_>, cause: Cause);

    /// Reads a run of pages.
    fn read(&mut self, run: PageRun, cause: Cause);

    /// Erases a superblock.
    fn erase(&mut self, block: u32, cause: Cause);

    /// Marks a retired superblock bad, so that it is recognised after a restart.
    fn mark_bad(&mut self, block: u32) {
        let _ = block;
    }

    /// Opens an erased superblock in `mode`.
    fn open(&mut self, block: u32, mode: CellMode) {
        let _ = (block, mode);
    }

    /// Sets the label of the pages that will be programmed in a superblock.
    fn label(&mut self, block: u32, label: Label) {
        let _ = (block, label);
    }

    /// The counts of all operations so far.
    fn operations(&self) -> OperationCounts;

    /// The pages of a block that were programmed since its erase.
    fn programmed(&self, block: u32) -> u32;

    /// The version of a page; [`Version`] zero where the medium keeps none.
    fn version(&self, page: Page) -> Version {
        let _ = page;
        Version(0)
    }

    /// Begins a request of the host at `at`; operations until [`Medium::end`] belong to it.
    fn begin(&mut self, at: Instant) {
        let _ = at;
    }

    /// As [`Medium::begin`], for background work instead of a request of the host.
    fn background(&mut self, at: Instant) {
        self.begin(at);
    }

    /// Ends the request and returns its timing.
    fn end(&mut self) -> RequestTiming {
        RequestTiming::default()
    }

    /// Sets the time in which one group of pages, as many as a die programs at once, arrives over a
    /// link outside of the medium; zero when the data are already there.
    fn pace(&mut self, each: Duration) {
        let _ = each;
    }

    /// Programs data that wait in the buffer for a complete group.
    fn flush(&mut self) {}

    /// When all operations will have ended.
    fn quiet(&self) -> Instant {
        Instant::ZERO
    }

    /// The busy time of each resource; empty on media without timing.
    fn busy(&self) -> Busy {
        Busy::default()
    }

    /// Lets `span` pass without the flash, for work of the controller.
    fn delay(&mut self, span: Duration) {
        let _ = span;
    }
}

/// The rules of the cells: pages of a block in order, and none twice.
#[derive(Debug, Clone)]
pub struct Cells {
    pages_per_block: u32,
    /// For each block, the next page that may be programmed.
    next: Vec<u32>,
    seen: OperationCounts,
}

impl Cells {
    /// A medium with all blocks erased.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        let next = vec![0; geometry.blocks() as usize];
        Self { pages_per_block: geometry.pages_per_block(), next, seen: OperationCounts::default() }
    }

    /// Records the program of a run of pages.
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

    /// Records the read of a run of pages.
    ///
    /// # Panics
    /// When one of them was not programmed.
    #[inline]
    pub fn read(&mut self, run: PageRun) {
        let end = run.offset + run.count;
        assert!(end <= self.next[run.block as usize], "only what was programmed is read");
        self.seen.reads += u64::from(run.count);
    }

    /// Records a copy of pages.
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

    /// Records the erase of a block.
    #[inline]
    pub fn erase(&mut self, block: u32) {
        self.next[block as usize] = 0;
        self.seen.erases += 1;
    }

    /// Assumes that the first `used` pages of `block` are programmed, as found after a power cut.
    ///
    /// # Panics
    /// When a block has fewer.
    pub fn assume(&mut self, block: u32, used: u32) {
        assert!(used <= self.pages_per_block, "a block has no more pages");
        self.next[block as usize] = used;
    }

    /// The first erased page of `block`.
    #[must_use]
    pub fn next(&self, block: u32) -> u32 {
        self.next[block as usize]
    }

    /// The counts of all operations so far.
    #[must_use]
    pub const fn operations(&self) -> OperationCounts {
        self.seen
    }
}

/// The busy time of each resource.
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

/// A medium that asserts the rules and counts, without timing or contents.
#[derive(Debug, Clone)]
pub struct UntimedMedium {
    cells: Cells,
}

impl UntimedMedium {
    /// A medium with all blocks erased.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        Self { cells: Cells::new(geometry) }
    }
}

impl Medium for UntimedMedium {
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

    fn operations(&self) -> OperationCounts {
        self.cells.operations()
    }

    fn programmed(&self, block: u32) -> u32 {
        self.cells.next(block)
    }
}
