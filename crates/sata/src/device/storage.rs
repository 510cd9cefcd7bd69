//! The drive without its protocol: sectors in, operations on mapped pages and their times out.
//!
//! Layer: between the command layer, or a block device, and `boardlab-ftl`. Main type: [`Storage`]. All
//! times are instants; this module does not know ticks, FISes or tags.
//!
//! A write arrives in pieces ([`Storage::write`]) and ends with [`Storage::end_write`]. Each piece
//! returns when the next one can arrive. Pieces are gathered to groups, the data that a die programs at
//! once, and a complete group goes to the layer below. A page of which only some sectors were written
//! is read first. A read ([`Storage::begin_read`]) requests from the flash as much as the read buffer
//! holds, and more as the host receives it ([`Storage::consume`]).
//! [`ReadOp::ready`](crate::device::ReadOp::ready) says when which sectors are available.
//!
//! ```text
//!   write --> run of sectors --> groups ---------> Translation::write --> accepted: room
//!                  `--> incomplete pages (read)--^                    `-> finished: on flash
//!   begin_read --> groups of the read buffer --> Translation::read --> ready --> consume --> next group
//! ```
//!
//! Left out: a buffer shared by reads and writes, and reads served from the data of a completed write.

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

/// Counters of a drive, besides those of its translation layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Sectors written.
    pub written: u64,
    /// Sectors sent to the host.
    pub read: u64,
    /// Sectors trimmed.
    pub trimmed: u64,
    /// Pages read because only some of their sectors were written.
    pub merged: u64,
    /// Sectors that such a read found unreadable. The drive reports them when they are read.
    pub lost: u64,
    /// Flushes.
    pub flushes: u64,
    /// Reads whose first sectors were read ahead.
    pub read_ahead_hits: u64,
}

/// The work of the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// The busy time of dies in nanoseconds.
    pub times: ByCause,
    /// Other events that cost time.
    pub events: Events,
}

impl Work {
    #[inline]
    pub(crate) fn add(&mut self, done: &ftl::Completion) {
        self.times += &done.work;
        self.events.add_all(done.events);
    }
}

/// A division of the sectors into cells of equal size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) size: u64,
    /// For sizes that are powers of two, which is nearly always: shifting is ten times as fast as
    /// dividing.
    shift: Option<u32>,
}

impl Grid {
    pub(crate) const fn new(size: u64) -> Self {
        let shift = if size.is_power_of_two() { Some(size.trailing_zeros()) } else { None };
        Self { size, shift }
    }

    /// Returns the index of the cell of `sector`.
    #[inline]
    pub(crate) const fn index(self, sector: u64) -> u64 {
        match self.shift {
            Some(shift) => sector >> shift,
            None => sector / self.size,
        }
    }

    /// Returns the first sector of the cell of `sector`.
    #[inline]
    pub(crate) const fn down(self, sector: u64) -> u64 {
        self.index(sector) * self.size
    }

    /// Returns the indices of the cells that `extent` overlaps.
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
    /// The cells of mapped pages, of what a die programs at once, and of what is read at once.
    pub(crate) pages: Grid,
    pub(crate) groups: Grid,
    pub(crate) fetch_grid: Grid,
    /// The sectors of the read buffer.
    pub(crate) read_buffer: u64,
    /// None if contents are not kept.
    pub(crate) contents: Option<Contents>,
    /// The last consecutive sectors, which were not submitted yet.
    pub(crate) run: Extent,
    pub(crate) partial: PartialPages,
    /// The position of the layer below in the group that its die programs next.
    pub(crate) group_position: u32,
    /// When the drive can accept more data.
    pub(crate) room_at: Instant,
    /// When all submitted data are on flash.
    pub(crate) programmed_at: Instant,
    /// The last request, or the end of the reads and background work so far if that is later.
    pub(crate) last_activity: Instant,
    pub(crate) cache_on: bool,
    pub(crate) look_ahead: bool,
    /// Data were submitted since all data were last durable.
    pub(crate) dirty: bool,
    /// Cached data were refused; the next flush reports it, once.
    pub(crate) write_failed: bool,
    pub(crate) read_ahead: ReadAhead,
    pub(crate) counts: Counts,
    pub(crate) work: Work,
}

impl<T: Translation> Storage<T> {
    /// Creates a drive of `drive` over `translation`. Without `keep_contents`, contents are dropped and
    /// every read returns zeros.
    ///
    /// # Errors
    /// Those of [`Drive::check`].
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

    /// Returns the parameters of the drive.
    pub const fn drive(&self) -> &Drive {
        &self.drive
    }

    /// Returns the counters.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the work of the flash since the last call.
    pub fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.work)
    }

    /// Returns the layer below.
    pub const fn translation(&self) -> &T {
        &self.translation
    }

    /// Returns the layer below, to prepare it before a run.
    pub const fn translation_mut(&mut self) -> &mut T {
        &mut self.translation
    }

    /// Returns when the drive can accept more data of a write.
    #[inline]
    pub const fn room_at(&self) -> Instant {
        self.room_at
    }

    /// Returns when the drive has finished all requests.
    pub fn idle_from(&self) -> Instant {
        self.last_activity.max(self.programmed_at)
    }

    /// Whether a write command completes when its data are in the buffer.
    pub const fn is_write_cache_on(&self) -> bool {
        self.cache_on
    }

    /// Turns the write cache on, if the drive has one, or off. Turning it off flushes it. Returns when
    /// that is done.
    ///
    /// # Errors
    /// [`Refusal::WornOut`].
    pub fn set_write_cache(&mut self, at: Instant, on: bool) -> Result<Instant, Refusal> {
        let ended = if self.cache_on && !on { self.flush(at)? } else { at };
        self.cache_on = on && self.drive.write_cache != WriteCache::Through;
        Ok(ended)
    }

    /// Turns read-ahead on, if the drive supports it, or off.
    pub const fn set_look_ahead(&mut self, on: bool) {
        self.look_ahead = on && self.drive.look_ahead;
    }

    /// Whether the drive reads ahead.
    pub const fn is_look_ahead_on(&self) -> bool {
        self.look_ahead
    }

    /// Makes all written data durable. Returns when they are.
    ///
    /// # Errors
    /// [`Refusal::WornOut`], also if cached data were refused since the last flush.
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

    /// Discards the contents of sectors. Whole pages read as zeros afterwards; sectors of other pages
    /// keep their contents. Returns when that is done.
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

    /// Cuts the power at `at` and restores it. Sectors whose data were not on flash keep their previous
    /// contents, unless capacitors preserve the buffer.
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

    /// Returns the words of an extent if they are a counting pattern.
    #[inline]
    pub fn counting(&mut self, extent: Extent) -> Option<Counting> {
        self.contents.as_mut()?.counting(extent)
    }

    /// Writes the bytes of an extent into a buffer of its size.
    pub fn fill(&mut self, extent: Extent, buffer: &mut [u8]) {
        match &mut self.contents {
            Some(contents) => contents.fill(extent, buffer),
            None => buffer.fill(0),
        }
    }

    /// Catches up at a request at `at`: if no request came for long enough, the drive has done
    /// background work.
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
        // Refused data stay refused; the next flush reports it.
        self.write_failed |= self.make_durable(from).is_err();
        let from = self.programmed_at.max(from);
        if from < until {
            self.last_activity = self.translation.idle(from, until).min(until);
        }
    }

    /// Checks that an extent lies within the drive, as the layer above guarantees.
    ///
    /// # Panics
    /// If it does not.
    pub(crate) fn check(&self, extent: Extent) {
        let end = extent.blocks().end;
        assert!(end <= self.drive.sectors, "Storage: sector {end} is beyond the end");
    }

    /// Returns the pages that an extent overlaps.
    #[inline]
    pub(crate) fn pages_of(&self, extent: Extent) -> ftl::Extent {
        let pages = self.pages.span(extent);
        let number = |page| u32::try_from(page).expect("the layer numbers its pages in 32 bits");
        ftl::Extent::new(number(pages.start), number(pages.end - pages.start))
    }

    /// Records that data of the write cache were refused, if it is on. Returns the refusal.
    pub(crate) const fn worn_out(&mut self) -> Refusal {
        self.write_failed |= self.cache_on;
        Refusal::WornOut
    }
}
