//! The read path: groups of sectors that the drive requests from the flash ahead of the link.
//!
//! Layer: part of [`Storage`]. Main types: [`ReadOp`], a read in progress; `ReadAhead`, sectors read
//! beyond the end of the last command. The drive requests from the flash what a die reads at once, as
//! far as the read buffer has room. When the host has received a group, its room is free for the next.
//! A command that begins where the last one ended finds the sectors read ahead, and makes the drive
//! read beyond its own end.

use crate::device::drive::Refusal;
use crate::device::storage::Storage;
use crate::{LARGEST_DATA, SECTOR_DWORDS};
use boardlab_block::Extent;
use boardlab_ftl::{Event, Translation};
use boardlab_sim::Instant;
use std::collections::VecDeque;
use std::ops::Range;

/// The sectors of a Data FIS of maximum size.
pub(crate) const DATA_FIS_SECTORS: u64 = (LARGEST_DATA / SECTOR_DWORDS) as u64;

/// Adjacent sectors that the flash returns together.
#[derive(Debug, Clone, Copy)]
struct Group {
    end: u64,
    at: Instant,
    /// The first unreadable sector.
    bad: Option<u64>,
}

impl Group {
    /// One past the last sector before which all are readable.
    #[inline]
    fn readable_end(&self) -> u64 {
        self.bad.unwrap_or(self.end)
    }
}

/// A read in progress. A value can be reused, so that a read allocates nothing.
#[derive(Debug, Clone, Default)]
pub struct ReadOp {
    extent: Extent,
    /// The first sector that was not sent to the host, and the first not requested from the flash.
    sent: u64,
    requested: u64,
    /// The end of what is requested from the flash.
    limit: u64,
    /// One past the last sector that was requested and is readable.
    readable_end: u64,
    groups: VecDeque<Group>,
}

/// Sectors read beyond the end of the last command.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadAhead {
    /// The first of these sectors, and one past the last.
    first: u64,
    end: u64,
    readable_end: u64,
    groups: VecDeque<Group>,
    /// Where the last read ended.
    expected: Option<u64>,
    /// The number of reads in progress.
    active: u32,
    /// The range from the first to the last sector written while reads were in progress.
    written: Option<Range<u64>>,
}

impl ReadAhead {
    /// Invalidates sectors read ahead that overlap a write.
    #[inline]
    pub(crate) fn invalidate(&mut self, extent: Extent) {
        let (first, end) = (extent.first.0, extent.blocks().end);
        if !self.groups.is_empty() && first < self.end && self.first < end {
            self.groups.clear();
        }
        if self.active > 0 {
            let before = self.written.take().unwrap_or(first..end);
            self.written = Some(before.start.min(first)..before.end.max(end));
        }
    }

    /// Whether sectors of `range` may have been written since the reads in progress began.
    fn may_be_written(&self, range: Range<u64>) -> bool {
        self.written.as_ref().is_some_and(|all| all.start < range.end && range.start < all.end)
    }
}

/// Sectors that are in the read buffer at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadySectors {
    /// One past the last of the sectors.
    pub end: u64,
    /// The instant.
    pub at: Instant,
}

impl ReadOp {
    /// Creates a value without a read in progress.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the extent of the read.
    #[must_use]
    pub const fn extent(&self) -> Extent {
        self.extent
    }

    /// Returns the first sector that was not sent.
    #[must_use]
    pub const fn next_sector(&self) -> u64 {
        self.sent
    }

    /// Whether all sectors were sent.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.sent >= self.extent.blocks().end
    }

    /// Returns one past the last sector requested from the flash, up to the first unreadable one.
    #[must_use]
    #[inline]
    pub fn readable_end(&self) -> u64 {
        self.readable_end.min(self.extent.blocks().end)
    }

    /// Returns when the next sector is in the buffer, or `None` if it was not requested.
    ///
    /// # Errors
    /// [`Refusal::Unreadable`].
    #[inline]
    pub fn next_ready(&self) -> Result<Option<Instant>, Refusal> {
        match self.groups.front() {
            Some(group) if group.readable_end() <= self.sent => {
                Err(Refusal::Unreadable { sector: self.sent })
            }
            Some(group) => Ok(Some(group.at)),
            None => Ok(None),
        }
    }

    /// Returns when `sector`, which was not sent yet, is in the buffer, and the end of its range.
    /// Adjacent groups that are in the buffer by `now` are included.
    ///
    /// # Errors
    /// [`Refusal::Unreadable`].
    #[inline]
    pub fn ready(&self, sector: u64, now: Instant) -> Result<Option<ReadySectors>, Refusal> {
        let mut found: Option<ReadySectors> = None;
        let last = self.extent.blocks().end;
        for group in self.groups.iter().filter(|group| group.end > sector) {
            match &mut found {
                None if group.readable_end() <= sector => {
                    return Err(Refusal::Unreadable { sector });
                }
                None => {
                    found =
                        Some(ReadySectors { end: group.readable_end().min(last), at: group.at });
                }
                Some(ready) if group.at.max(ready.at) <= now => {
                    ready.end = group.readable_end().min(last);
                }
                Some(_) => break,
            }
            if group.bad.is_some() {
                break;
            }
            if group.end >= last.min(sector + DATA_FIS_SECTORS) {
                break;
            }
        }
        Ok(found)
    }
}

impl<T: Translation> Storage<T> {
    /// Begins a read at `at`.
    ///
    /// # Panics
    /// If the extent exceeds the drive.
    pub fn begin_read(&mut self, op: &mut ReadOp, at: Instant, extent: Extent) {
        self.check(extent);
        self.catch_up(at);
        self.settle(at);
        let (first, end) = (extent.first.0, extent.blocks().end);
        op.groups.clear();
        (op.extent, op.sent, op.requested) = (extent, first, first);
        op.readable_end = first;
        if !self.read_ahead.groups.is_empty() && self.read_ahead.first == first {
            std::mem::swap(&mut op.groups, &mut self.read_ahead.groups);
            (op.requested, op.readable_end) = (self.read_ahead.end, self.read_ahead.readable_end);
            // The drive looks them up only once the command is decoded.
            op.groups.iter_mut().for_each(|group| group.at = group.at.max(at));
            self.counts.read_ahead_hits += 1;
        }
        self.read_ahead.groups.clear();
        let is_sequential = self.look_ahead
            && self.read_ahead.active == 0
            && self.read_ahead.expected == Some(first);
        op.limit = if is_sequential { self.drive.sectors } else { end }.max(op.requested);
        if self.read_ahead.active == 0 {
            self.read_ahead.written = None;
        }
        self.read_ahead.active += 1;
        self.read_ahead.expected = Some(end);
        self.request(op, at);
    }

    /// Removes the next `sectors` sectors, which the host has received; their room is free at `at`.
    #[inline]
    pub fn consume(&mut self, op: &mut ReadOp, at: Instant, sectors: u64) {
        op.sent += sectors;
        self.counts.read += sectors;
        while op.groups.front().is_some_and(|group| group.end <= op.sent) {
            op.groups.pop_front();
        }
        self.last_activity = self.last_activity.max(at);
        self.settle(at);
        self.request(op, at);
    }

    /// Moves written data that are on flash out of the journal, which makes lookups shorter.
    #[inline]
    fn settle(&mut self, at: Instant) {
        if let Some(contents) = &mut self.contents {
            contents.settle(at);
        }
    }

    /// Ends or aborts a read. Sectors read beyond its end are kept for the next read.
    pub fn end_read(&mut self, op: &mut ReadOp) {
        self.read_ahead.active = self.read_ahead.active.saturating_sub(1);
        let is_new = !self.read_ahead.may_be_written(op.sent..op.requested);
        if op.is_complete() && !op.groups.is_empty() && is_new {
            std::mem::swap(&mut op.groups, &mut self.read_ahead.groups);
            (self.read_ahead.first, self.read_ahead.end) = (op.sent, op.requested);
            self.read_ahead.readable_end = op.readable_end;
        }
        op.groups.clear();
    }

    /// Reads sectors at once, regardless of the read buffer. Returns when the flash has returned the
    /// last one.
    ///
    /// # Errors
    /// [`Refusal::Unreadable`].
    ///
    /// # Panics
    /// If the extent exceeds the drive.
    pub fn read(&mut self, at: Instant, extent: Extent) -> Result<Instant, Refusal> {
        self.check(extent);
        self.catch_up(at);
        self.settle(at);
        self.counts.read += extent.count;
        let (mut first, end) = (extent.first.0, extent.blocks().end);
        let mut ready = at;
        while first < end {
            let boundary = (self.fetch_grid.down(first) + self.fetch_grid.size).min(end);
            let group = self.fetch(at, Extent::new(first, boundary - first));
            if let Some(sector) = group.bad {
                return Err(Refusal::Unreadable { sector });
            }
            ready = ready.max(group.at);
            first = boundary;
        }
        self.read_ahead.expected = Some(end);
        Ok(ready)
    }

    /// Requests from the flash as much as the buffer has room for.
    #[inline]
    fn request(&mut self, op: &mut ReadOp, at: Instant) {
        // Without read-ahead: other reads would wait for sectors that no command requested.
        if self.read_ahead.active > 1 {
            op.limit = op.extent.blocks().end.max(op.requested);
        }
        while op.requested < op.limit {
            let boundary = self.fetch_grid.down(op.requested) + self.fetch_grid.size;
            let end = boundary.min(op.limit);
            if end > op.sent + self.read_buffer && !op.groups.is_empty() {
                break;
            }
            let group = self.fetch(at, Extent::new(op.requested, end - op.requested));
            op.groups.push_back(group);
            if op.readable_end == op.requested {
                op.readable_end = group.readable_end();
            }
            op.requested = end;
        }
    }

    /// Requests adjacent sectors from the flash.
    #[inline]
    fn fetch(&mut self, at: Instant, extent: Extent) -> Group {
        let end = extent.blocks().end;
        if self.is_in_buffer(extent) {
            return Group { end, at, bad: None };
        }
        let lost = self.contents.as_mut().and_then(|contents| contents.first_lost(extent));
        let read = self.translation.read(at, self.pages_of(extent), &mut []);
        let read = read.expect("the layer has all pages of the drive");
        self.work.add(&read);
        let mut at = read.finished;
        let unreadable =
            read.events.has(Event::Unreadable).then(|| self.first_unreadable(&mut at, extent));
        self.last_activity = self.last_activity.max(at);
        let bad = unreadable.into_iter().chain(lost).min();
        Group { end, at, bad }
    }

    /// Finds the first unreadable sector of an extent that could not be read as a whole, by reading
    /// page by page.
    #[cold]
    fn first_unreadable(&mut self, now: &mut Instant, extent: Extent) -> u64 {
        let (size, first) = (self.pages.size, extent.first.0);
        let bad = self.pages.span(extent).find(|page| {
            let page = self.pages_of(Extent::new(page * size, 1));
            let read = self.translation.read(*now, page, &mut []);
            let read = read.expect("the layer has all pages of the drive");
            self.work.add(&read);
            *now = read.finished.max(*now);
            read.events.has(Event::Unreadable)
        });
        // If every page is readable at the second attempt, the read fails all the same, at its first
        // sector.
        bad.map_or(first, |page| first.max(page * size))
    }
}
