//! The drive without its protocol: sectors in, pages of the translation layer out, and when.
//!
//! Layer: between the command layer, or a block device, and `boardlab-ftl`. Main type: [`Storage`]. All times are
//! instants; nothing here knows ticks, FISes or tags.
//!
//! A write comes in pieces ([`Storage::write`]), each answered with when the next one can come, and ends with
//! [`Storage::end_write`]. Pieces gather to what a die programs at once, and go to the layer when that
//! is complete; a page of which only some sectors came is read first. A read ([`Storage::begin_read`]) asks
//! the flash for so much as the buffer holds, and for more as the host takes it ([`Storage::sent`]);
//! [`ReadOp::ready`](crate::device::Reading::ready) says when which sectors are there.
//!
//! ```text
//!   write --> run of sectors --> groups --------> Translation::write --> accepted: room
//!                  `--> pages that are not whole --^ (after a read)  `-> finished: on flash
//!   begin_read --> groups of the window --> Translation::read --> ready --> sent --> next group
//! ```
//!
//! Left out: a buffer that reads and writes share, and reads that are answered from data of a finished write.

use crate::SECTOR;
use crate::device::contents::Contents;
use crate::device::drive::{Drive, Refusal, WriteCache};
use crate::device::read_path::{DATA_FIS_SECTORS, ReadAhead};
use crate::device::store::SectorData;
use crate::device::write_path::PartialPages;
use crate::wire::Counting;
use crate::wire::error::Error;
use boardlab_block::Extent;
use boardlab_ftl as ftl;
use boardlab_ftl::{ByCause, Events, Translation};
use boardlab_sim::Instant;
use std::ops::Range;

/// What a drive did so far, besides what its translation layer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Sectors written.
    pub written: u64,
    /// Sectors that went to the host.
    pub read: u64,
    /// Sectors given up.
    pub trimmed: u64,
    /// Pages that were read because only some of their sectors were written.
    pub merged: u64,
    /// Sectors that a merge found unreadable: the drive will say so when they are read.
    pub lost: u64,
    /// Flushes.
    pub flushes: u64,
    /// Reads that found their first sectors in the buffer.
    pub read_ahead_hits: u64,
}

/// What the flash was made to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Nanoseconds of busy dies.
    pub times: ByCause,
    /// What else was slow.
    pub events: Events,
}

impl Work {
    #[inline]
    pub(crate) fn add(&mut self, done: &ftl::Completion) {
        self.times += &done.work;
        self.events.add_all(done.events);
    }
}

/// Lines a number of sectors apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) size: u64,
    /// Of sizes that are powers of two, nearly all: shifting is ten times as fast as dividing.
    shift: Option<u32>,
}

impl Grid {
    pub(crate) const fn new(size: u64) -> Self {
        let shift = if size.is_power_of_two() { Some(size.trailing_zeros()) } else { None };
        Self { size, shift }
    }

    /// The number of lines up to `sector`, the first one not counted.
    #[inline]
    pub(crate) const fn index(self, sector: u64) -> u64 {
        match self.shift {
            Some(shift) => sector >> shift,
            None => sector / self.size,
        }
    }

    /// The last line that is not beyond `sector`.
    #[inline]
    pub(crate) const fn down(self, sector: u64) -> u64 {
        self.index(sector) * self.size
    }

    /// What lies between lines, by number, of which `extent` has sectors.
    #[inline]
    pub(crate) const fn span(self, extent: Extent) -> Range<u64> {
        let end = extent.blocks().end;
        self.index(extent.first.0)..self.index(end + self.size - 1)
    }
}

/// A drive without its protocol.
#[derive(Debug, Clone)]
pub struct Storage<T> {
    pub(crate) drive: Drive,
    pub(crate) translation: T,
    /// Lines between mapped pages, between what dies program at once, and between what is read at once.
    pub(crate) pages: Grid,
    pub(crate) groups: Grid,
    pub(crate) fetch_grid: Grid,
    /// Sectors of the read buffer.
    pub(crate) read_buffer: u64,
    /// None where nothing is kept.
    pub(crate) contents: Option<Contents>,
    /// Sectors that came last, one after the other, and were not handed over.
    pub(crate) run: Extent,
    pub(crate) partial: PartialPages,
    /// The layer's place in what its die programs at once.
    pub(crate) group_position: u32,
    /// When more data can come.
    pub(crate) room_at: Instant,
    /// When all that was handed over is on flash.
    pub(crate) programmed_at: Instant,
    /// When the drive was last asked for something, or will be done.
    pub(crate) last_activity: Instant,
    pub(crate) cache_on: bool,
    pub(crate) look_ahead: bool,
    /// Something was handed over since all was durable.
    pub(crate) dirty: bool,
    /// Data of the cache were refused; said once.
    pub(crate) write_failed: bool,
    pub(crate) read_ahead: ReadAhead,
    pub(crate) counts: Counts,
    pub(crate) work: Work,
}

impl<T: Translation> Storage<T> {
    /// A drive of `drive` over `translation`. Without `keep_contents` no contents are remembered, and every read gives
    /// zeros.
    ///
    /// # Errors
    /// As [`Drive::check`].
    pub fn new(drive: Drive, translation: T, keep_contents: bool) -> Result<Self, Error> {
        drive.check(translation.page_size(), translation.pages())?;
        let page = translation.page_size() / SECTOR;
        let group = page * u64::from(drive.stripe.program_pages());
        Ok(Self {
            pages: Grid::new(page),
            groups: Grid::new(group),
            fetch_grid: Grid::new(group * DATA_FIS_SECTORS.div_ceil(group)),
            read_buffer: drive.read_buffer / SECTOR,
            contents: keep_contents.then(Contents::default),
            run: Extent::new(0, 0),
            partial: PartialPages::new(page, drive.sectors, drive.write_cache.size()),
            group_position: 0,
            room_at: Instant::ZERO,
            programmed_at: Instant::ZERO,
            last_activity: Instant::ZERO,
            cache_on: drive.write_cache != WriteCache::Through,
            look_ahead: drive.look_ahead,
            dirty: false,
            write_failed: false,
            read_ahead: ReadAhead::default(),
            counts: Counts::default(),
            work: Work::default(),
            drive,
            translation,
        })
    }

    /// What the drive is.
    pub const fn drive(&self) -> &Drive {
        &self.drive
    }

    /// What it did.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What the flash was made to do since this was last asked for.
    pub fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.work)
    }

    /// The layer below.
    pub const fn translation(&self) -> &T {
        &self.translation
    }

    /// The layer below, to be worked on: an aging.
    pub const fn translation_mut(&mut self) -> &mut T {
        &mut self.translation
    }

    /// When more data of a write can come.
    #[inline]
    pub const fn room_at(&self) -> Instant {
        self.room_at
    }

    /// When the drive has done all that it was asked for.
    pub fn idle_from(&self) -> Instant {
        self.last_activity.max(self.programmed_at)
    }

    /// Whether a write command ends when its data are in the buffer.
    pub const fn is_write_cache_on(&self) -> bool {
        self.cache_on
    }

    /// Turns the write cache on, where the drive has one, or off; off, what it holds goes to flash. Returns when
    /// that is done.
    ///
    /// # Errors
    /// [`Refusal::WornOut`].
    pub fn set_write_cache(&mut self, at: Instant, on: bool) -> Result<Instant, Refusal> {
        let ended = if self.cache_on && !on { self.flush(at)? } else { at };
        self.cache_on = on && self.drive.write_cache != WriteCache::Through;
        Ok(ended)
    }

    /// Turns look-ahead on, where the drive has it, or off.
    pub const fn set_look_ahead(&mut self, on: bool) {
        self.look_ahead = on && self.drive.look_ahead;
    }

    /// Whether the drive goes on reading where a command ended.
    pub const fn is_look_ahead_on(&self) -> bool {
        self.look_ahead
    }

    /// Makes durable all that was written. Returns when it is.
    ///
    /// # Errors
    /// [`Refusal::WornOut`], also when data of the cache were refused since the last flush.
    pub fn flush(&mut self, at: Instant) -> Result<Instant, Refusal> {
        self.catch_up(at);
        self.counts.flushes += 1;
        let ended = self.make_durable(at);
        match std::mem::take(&mut self.write_failed) {
            true => Err(Refusal::WornOut),
            false => ended,
        }
    }

    pub(crate) fn make_durable(&mut self, at: Instant) -> Result<Instant, Refusal> {
        let now = self.write_back(at)?;
        if !std::mem::take(&mut self.dirty) {
            return Ok(self.programmed_at.max(now));
        }
        let done = self.translation.flush(now);
        self.work.add(&done);
        let units = self.drive.stripe.units;
        self.group_position =
            self.group_position.next_multiple_of(units) % self.drive.stripe.program_pages();
        self.programmed_at = self.programmed_at.max(done.finished);
        if let Some(contents) = &mut self.contents {
            contents.program_submitted(self.programmed_at);
        }
        Ok(self.programmed_at.max(now))
    }

    /// Gives up what sectors hold: those of whole pages read as zeros then, others keep what they hold. Returns when that is done.
    ///
    /// # Errors
    /// [`Refusal::WornOut`].
    pub fn trim(&mut self, at: Instant, extent: Extent) -> Result<Instant, Refusal> {
        self.check(extent);
        self.catch_up(at);
        let page = self.pages.size;
        let first = extent.first.0.next_multiple_of(page);
        let mut end = self.pages.down(extent.blocks().end);
        if extent.blocks().end == self.drive.sectors {
            end = self.drive.sectors.next_multiple_of(page);
        }
        if first >= end {
            return Ok(at);
        }
        let whole = Extent::new(first, end - first);
        let at = if self.overlaps_buffer(whole) { self.write_back(at)? } else { at };
        self.read_ahead.invalidate(whole);
        let done = self.translation.trim(at, self.pages_of(whole)).map_err(|_| Refusal::WornOut)?;
        self.work.add(&done);
        self.programmed_at = self.programmed_at.max(done.finished);
        self.counts.trimmed += whole.count;
        if let Some(contents) = &mut self.contents {
            contents.insert(whole, SectorData::ZEROS);
            contents.submit(whole, Some(done.finished));
            contents.settle(at);
        }
        Ok(done.finished.max(at))
    }

    /// Power is lost at `at` and comes back: what was not on flash holds what it held before, unless capacitors
    /// keep the buffer alive.
    pub fn cut_power(&mut self, at: Instant) {
        if let Some(contents) = &mut self.contents {
            let buffer = matches!(self.drive.write_cache, WriteCache::Protected(_));
            contents.cut_power(at, buffer);
        }
        self.run = Extent::new(0, 0);
        self.partial.clear();
        self.dirty = false;
        self.read_ahead = ReadAhead::default();
        self.cache_on = self.drive.write_cache != WriteCache::Through;
        self.look_ahead = self.drive.look_ahead;
        self.write_failed = false;
        (self.room_at, self.programmed_at, self.last_activity) = (at, at, at);
    }

    /// The words that an extent holds, where they count throughout.
    #[inline]
    pub fn counting(&mut self, extent: Extent) -> Option<Counting> {
        self.contents.as_mut()?.counting(extent)
    }

    /// Writes the bytes that an extent holds into a buffer of its size.
    pub fn fill(&mut self, extent: Extent, buffer: &mut [u8]) {
        match &mut self.contents {
            Some(contents) => contents.fill(extent, buffer),
            None => buffer.fill(0),
        }
    }

    /// The host asks for something at `at`: if it was away for long enough, the drive has worked on its own.
    #[inline]
    pub(crate) fn catch_up(&mut self, at: Instant) {
        let from = self.idle_from() + self.drive.idle_after;
        if at > from {
            self.run_in_background(from, at);
        }
        self.last_activity = self.last_activity.max(at);
    }

    #[cold]
    fn run_in_background(&mut self, from: Instant, until: Instant) {
        // What is refused stays refused: the next flush says so.
        self.write_failed |= self.make_durable(from).is_err();
        let from = self.programmed_at.max(from);
        if from < until {
            self.last_activity = self.translation.idle(from, until).min(until);
        }
    }

    /// # Panics
    /// When the drive has fewer sectors: the layer above has checked that.
    pub(crate) fn check(&self, extent: Extent) {
        let end = extent.blocks().end;
        assert!(end <= self.drive.sectors, "Storage: sector {end} is beyond the end");
    }

    /// The pages that an extent touches.
    #[inline]
    pub(crate) fn pages_of(&self, extent: Extent) -> ftl::Extent {
        let pages = self.pages.span(extent);
        let number = |page| u32::try_from(page).expect("the layer numbers its pages in 32 bits");
        ftl::Extent::new(number(pages.start), number(pages.end - pages.start))
    }

    /// Forgets which pages wait, for the layer below takes no more.
    pub(crate) const fn worn_out(&mut self) -> Refusal {
        self.write_failed |= self.cache_on;
        Refusal::WornOut
    }
}
