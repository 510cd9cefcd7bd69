//! The write path: how sectors reach the flash in runs, groups and incomplete pages.
//!
//! Layer: part of [`Storage`]. Main type: [`PartialPages`], the pages of which only some sectors were
//! written. A run of consecutive sectors is submitted at each boundary of a group (what a die programs
//! at once), and when a write does not continue it. Its whole pages go to the layer below. Incomplete
//! pages wait until they are complete, until there are too many of them, or until they must be made
//! durable; then their missing sectors are read first.

use crate::SECTOR;
use crate::device::contents::Contents;
use crate::device::drive::Refusal;
use crate::device::storage::Storage;
use crate::device::store::{Data, SectorData};
use boardlab_block::Extent;
use boardlab_ftl::{Event, Translation};
use boardlab_sim::{Bytes, Instant};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// A mask of the sectors of a page.
pub(crate) type SectorMask = u128;

/// The number of journal entries above which incomplete pages are written back, since they hold back
/// later entries.
const UNSETTLED_MAX: usize = 4_096;

/// Returns the mask of a range of sectors.
const fn mask_of(sectors: Range<u64>) -> SectorMask {
    let below = if sectors.start >= 128 { SectorMask::MAX } else { (1 << sectors.start) - 1 };
    let all = if sectors.end >= 128 { SectorMask::MAX } else { (1 << sectors.end) - 1 };
    all & !below
}

/// The incomplete pages, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct PartialPages {
    /// The number of pages that may wait between commands.
    capacity: usize,
    /// The sectors of a page, and of the drive.
    page: u64,
    sectors: u64,
    pages: BTreeMap<u64, SectorMask>,
    order: VecDeque<u64>,
}

impl PartialPages {
    /// Creates an empty set for a drive of `sectors` sectors, with `size` bytes for pages of `page`
    /// sectors.
    pub(crate) fn new(page: u64, sectors: u64, size: Bytes) -> Self {
        let capacity = usize::try_from(size / (SECTOR * page)).unwrap_or(usize::MAX);
        let (pages, order) = (BTreeMap::new(), VecDeque::new());
        Self { capacity, page, sectors, pages, order }
    }

    /// Adds sectors of a page. Returns whether the page is complete now; it is then removed.
    fn insert(&mut self, page: u64, sectors: SectorMask) -> bool {
        let order = &mut self.order;
        let present = self.pages.entry(page).or_insert_with(|| {
            order.push_back(page);
            0
        });
        *present |= sectors;
        // The last page may have fewer sectors.
        let within = self.page.min(self.sectors - page * self.page);
        let whole = *present == mask_of(0..within);
        if whole {
            self.remove(page);
        }
        whole
    }

    fn remove(&mut self, page: u64) {
        if self.pages.remove(&page).is_some() {
            self.order.retain(|&other| other != page);
        }
    }

    fn remove_all(&mut self, pages: Range<u64>) {
        while let Some((&page, _)) = self.pages.range(pages.clone()).next() {
            self.remove(page);
        }
    }

    fn take_oldest(&mut self) -> Option<(u64, SectorMask)> {
        let page = self.order.pop_front()?;
        Some((page, self.pages.remove(&page)?))
    }

    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.order.clear();
    }

    /// Whether one of the pages is incomplete.
    fn contains_any(&self, pages: Range<u64>) -> bool {
        self.pages.range(pages).next().is_some()
    }

    /// Whether all these sectors of an incomplete page are present.
    fn contains(&self, page: u64, sectors: SectorMask) -> bool {
        self.pages.get(&page).is_some_and(|present| present & sectors == sectors)
    }
}

impl<T: Translation> Storage<T> {
    /// Writes sectors, the last of which arrived at `at`. Returns when the drive can accept the next
    /// ones.
    ///
    /// # Errors
    /// [`Refusal::WornOut`]; sectors that were not submitted keep their previous contents.
    ///
    /// # Panics
    /// If the extent exceeds the drive.
    #[inline]
    pub fn write(
        &mut self,
        at: Instant,
        extent: Extent,
        data: Data<'_>,
    ) -> Result<Instant, Refusal> {
        self.check(extent);
        self.catch_up(at);
        self.counts.written += extent.count;
        self.read_ahead.invalidate(extent);
        let (first, end) = (extent.first.0, extent.blocks().end);
        let boundary = self.groups.down(end);
        if self.run.count == 0 && boundary == end && self.pages.down(first) == first {
            self.write_whole(at, extent, data)?;
        } else {
            if self.run.blocks().end != first {
                self.submit_run(at)?;
                self.run = Extent::new(first, 0);
            }
            let cut = boundary.max(first);
            for piece in [first..cut, cut..end] {
                self.record(piece.clone(), first, data);
                self.run.count += piece.end - piece.start;
                if piece.end == boundary && self.run.count > 0 {
                    self.submit_run(at)?;
                    self.run = Extent::new(boundary, 0);
                }
            }
        }
        if let Some(contents) = &mut self.contents {
            contents.settle(at);
        }
        Ok(self.room_at)
    }

    /// Ends a write command after all its data arrived. Returns when it completes: at once with a write
    /// cache, otherwise when all data are on flash.
    ///
    /// # Errors
    /// [`Refusal::WornOut`].
    pub fn end_write(&mut self, at: Instant) -> Result<Instant, Refusal> {
        if !self.cache_on {
            return self.make_durable(at);
        }
        let mut now = at;
        while self.partial.order.len() > self.partial.capacity || self.is_journal_full() {
            now = self.write_back_oldest(now)?;
        }
        Ok(at)
    }

    fn is_journal_full(&self) -> bool {
        let unsettled = self.contents.as_ref().map_or(0, Contents::unsettled);
        unsettled > UNSETTLED_MAX && !self.partial.order.is_empty()
    }

    /// Writes whole pages that end at a group boundary, with no run before them.
    #[inline]
    fn write_whole(&mut self, at: Instant, extent: Extent, data: Data<'_>) -> Result<(), Refusal> {
        let pages = self.pages.index(extent.first.0)..self.pages.index(extent.blocks().end);
        let overwrites = self.partial.contains_any(pages.clone());
        if overwrites {
            self.partial.remove_all(pages);
        }
        let submitted = self.program(at, extent);
        if overwrites && let Some(contents) = &mut self.contents {
            contents.submit_or_drop(extent, submitted);
        }
        let finished = submitted?;
        if let Some(contents) = &mut self.contents {
            contents.insert_submitted(extent, SectorData::part_of(data, 0..extent.count), finished);
        }
        Ok(())
    }

    /// Records the contents of a part of a write that begins at `start`: whole pages together,
    /// incomplete ones separately.
    #[inline]
    fn record(&mut self, piece: Range<u64>, start: u64, data: Data<'_>) {
        let pages = self.pages;
        let Some(contents) = &mut self.contents else { return };
        let (mut first, end) = (piece.start, piece.end);
        while first < end {
            let (page_start, whole_end) = (pages.down(first), pages.down(end));
            let next = if page_start == first && whole_end > first {
                whole_end
            } else {
                (page_start + pages.size).min(end)
            };
            let present = SectorData::part_of(data, first - start..next - start);
            contents.insert(Extent::new(first, next - first), present);
            first = next;
        }
    }

    /// Submits the whole pages of the run; the incomplete ones wait.
    #[inline]
    fn submit_run(&mut self, at: Instant) -> Result<(), Refusal> {
        let run = std::mem::replace(&mut self.run, Extent::new(0, 0));
        if run.count == 0 {
            return Ok(());
        }
        let (start, end, page) = (run.first.0, run.blocks().end, self.pages.size);
        let (head, mut last) = (self.pages.index(start), self.pages.index(end));
        let mut first = head + u64::from(start > head * page);
        if first > head {
            let sectors = start - head * page..end.min(first * page) - head * page;
            if self.partial.insert(head, mask_of(sectors)) {
                (first, last) = (head, last.max(head + 1));
            }
        }
        if first <= last && last * page < end {
            last += u64::from(self.partial.insert(last, mask_of(0..end - last * page)));
        }
        if first >= last {
            return Ok(());
        }
        self.partial.remove_all(first..last);
        self.program_buffered(at, Extent::new(first * page, (last - first) * page))
    }

    /// Programs whole pages that are buffered.
    fn program_buffered(&mut self, at: Instant, extent: Extent) -> Result<(), Refusal> {
        let submitted = self.program(at, extent);
        if let Some(contents) = &mut self.contents {
            contents.submit_or_drop(extent, submitted);
        }
        submitted.map(|_| ())
    }

    /// Submits whole pages to the layer below. Returns when they are on flash, unless the layer waits
    /// for more.
    #[inline]
    fn program(&mut self, at: Instant, extent: Extent) -> Result<Option<Instant>, Refusal> {
        let pages = self.pages_of(extent);
        let Ok(done) = self.translation.write(at, pages) else { return Err(self.worn_out()) };
        self.work.add(&done);
        self.room_at = self.room_at.max(done.accepted);
        self.programmed_at = self.programmed_at.max(done.finished);
        self.dirty = true;
        let group = self.drive.stripe.program_pages();
        let mut position = self.group_position + pages.count;
        if position >= group {
            position %= group;
            if let Some(contents) = &mut self.contents {
                contents.program_submitted(done.finished);
            }
        }
        self.group_position = position;
        Ok((position == 0).then_some(done.finished))
    }

    /// Submits all buffered data to the layer below. Returns when it has accepted them.
    pub(crate) fn write_back(&mut self, at: Instant) -> Result<Instant, Refusal> {
        self.submit_run(at)?;
        let mut now = at;
        while !self.partial.order.is_empty() {
            now = self.write_back_oldest(now)?;
        }
        Ok(now)
    }

    /// Writes back the oldest incomplete page after reading its missing sectors.
    fn write_back_oldest(&mut self, at: Instant) -> Result<Instant, Refusal> {
        let Some((page, sectors)) = self.partial.take_oldest() else { return Ok(at) };
        let size = self.pages.size;
        let extent = Extent::new(page * size, size);
        self.counts.merged += 1;
        let read = self.translation.read(at, self.pages_of(extent), &mut []);
        let read = read.map_err(|_| Refusal::WornOut)?;
        self.work.add(&read);
        if read.events.has(Event::Unreadable) {
            self.record_lost(extent, sectors);
        }
        let now = read.finished.max(at);
        self.program_buffered(now, extent)?;
        Ok(now)
    }

    /// Records the sectors of an unreadable page that were not written as lost.
    fn record_lost(&mut self, page: Extent, sectors: SectorMask) {
        for at in 0..page.count {
            let exists = page.first.0 + at < self.drive.sectors;
            if exists && sectors >> at & 1 == 0 {
                self.counts.lost += 1;
                if let Some(contents) = &mut self.contents {
                    contents.insert(Extent::new(page.first.0 + at, 1), SectorData::Lost);
                }
            }
        }
    }

    /// Whether the buffer holds sectors of the pages of `extent`.
    pub(crate) fn overlaps_buffer(&self, extent: Extent) -> bool {
        let pages = self.pages.span(extent);
        self.run.overlaps(extent) || self.partial.contains_any(pages)
    }

    /// Whether the buffer holds all sectors of `extent`.
    pub(crate) fn is_in_buffer(&self, extent: Extent) -> bool {
        let (start, end) = (extent.first.0, extent.blocks().end);
        let open = self.run.blocks();
        if open.contains(&start) && end <= open.end {
            return true;
        }
        if self.partial.pages.is_empty() {
            return false;
        }
        self.pages.span(extent).all(|page| {
            let first = page * self.pages.size;
            let sectors = start.max(first) - first..end.min(first + self.pages.size) - first;
            self.partial.contains(page, mask_of(sectors))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::drive::{Drive, WriteCache};
    use crate::wire::{Counting, Step};
    use boardlab_ftl::{CellTimes, Geometry, PageMapped, Policies, Stripe, TimedMedium, Timing};
    use boardlab_sim::{Duration, Rate, Seed};

    /// Returns a drive of two dies with pages of 4 KiB and a write cache.
    fn cached() -> Storage<PageMapped<TimedMedium>> {
        let micros = Duration::from_micros;
        let rate = Rate::new(Bytes::new(200), micros(1)).unwrap();
        let stripe = Stripe { channels: 2, dies: 1, planes: 1, units: 1 };
        let geometry =
            Geometry::new(64, 64, Bytes::kib(4), 2_000).unwrap().striped(stripe).unwrap();
        let cells = CellTimes::uniform(micros(50), micros(400), micros(2_000));
        let timing = Timing {
            native: cells.clone(),
            slc: cells,
            channel: rate,
            link: rate,
            command: Duration::ZERO,
            slots: 8,
            cache_program: false,
        };
        let medium = TimedMedium::new(&geometry, &timing).unwrap();
        let layer = PageMapped::new(geometry, Policies::default(), medium, Seed::new(1)).unwrap();
        let drive = Drive {
            sectors: 16_000,
            lba48: true,
            queue: None,
            trims: true,
            command: Duration::ZERO,
            stripe,
            read_buffer: Bytes::kib(64),
            look_ahead: false,
            write_cache: WriteCache::Back(Bytes::kib(64)),
            idle_after: Duration::from_secs(1),
            activates_early: true,
            frame: 2_048,
            identify_frame: 128,
        };
        Storage::new(drive, layer, true).unwrap()
    }

    #[test]
    fn an_incomplete_page_no_longer_waits_once_it_is_overwritten() {
        let mut storage = cached();
        let words = |sector| Data::Counting(Counting { first: sector, step: Step::Up });
        storage.write(Instant::ZERO, Extent::new(3, 1), words(0)).unwrap();
        let mut now = storage.end_write(Instant::ZERO).unwrap();
        for frame in (1..900).chain([0]) {
            now = now.max(storage.write(now, Extent::new(frame * 16, 16), words(7)).unwrap());
        }
        now = storage.flush(now).unwrap() + Duration::from_millis(1);
        let contents = storage.contents.as_mut().unwrap();
        contents.settle(now);
        assert_eq!(contents.unsettled(), 0);
        storage.cut_power(now);
        let mut sector = [0; 512];
        storage.fill(Extent::new(3, 1), &mut sector);
        assert_eq!(sector[..4], (7_u32 + 3 * 128).to_le_bytes());
    }
}
