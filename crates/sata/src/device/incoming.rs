//! How sectors reach the flash: runs, groups, and pages that are not whole.
//!
//! Layer: part of [`Storage`]. Main type: [`Partial`], the pages of which only some sectors came. A run of sectors
//! that follow each other is handed over at each boundary of what a die programs at once, and when
//! something else comes. Its whole pages go to the layer; the others wait until they are whole, until there
//! are too many, or until they must be on flash: then what is missing is read first.

use crate::SECTOR;
use crate::device::contents::Contents;
use crate::device::drive::Refusal;
use crate::device::storage::Storage;
use crate::device::store::{Data, Held};
use boardlab_block::Extent;
use boardlab_ftl::{Event, Translation};
use boardlab_sim::{Bytes, Instant};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Which sectors of a page came.
pub(crate) type Filled = u128;

/// Entries of the journal above which pages that wait are written out, for they hold back what came after them.
const MOST_UNSETTLED: usize = 4_096;

/// The bits of the sectors in `sectors`.
const fn filled(sectors: Range<u64>) -> Filled {
    let below = if sectors.start >= 128 { Filled::MAX } else { (1 << sectors.start) - 1 };
    let all = if sectors.end >= 128 { Filled::MAX } else { (1 << sectors.end) - 1 };
    all & !below
}

/// Pages of which only some sectors came, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Partial {
    /// Pages that may wait between commands.
    room: usize,
    /// Sectors of a page, and of the drive.
    page: u64,
    sectors: u64,
    pages: BTreeMap<u64, Filled>,
    order: VecDeque<u64>,
}

impl Partial {
    /// None, of a drive of `sectors`, with room for so many bytes of pages of `page` sectors.
    pub(crate) fn new(page: u64, sectors: u64, size: Bytes) -> Self {
        let room = usize::try_from(size / (SECTOR * page)).unwrap_or(usize::MAX);
        let (pages, order) = (BTreeMap::new(), VecDeque::new());
        Self { room, page, sectors, pages, order }
    }

    /// Sectors of a page came; whether it is whole now, and no longer here.
    fn put(&mut self, page: u64, sectors: Filled) -> bool {
        let order = &mut self.order;
        let held = self.pages.entry(page).or_insert_with(|| {
            order.push_back(page);
            0
        });
        *held |= sectors;
        // Of the last page there may be less.
        let within = self.page.min(self.sectors - page * self.page);
        let whole = *held == filled(0..within);
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

    fn take_oldest(&mut self) -> Option<(u64, Filled)> {
        let page = self.order.pop_front()?;
        Some((page, self.pages.remove(&page)?))
    }

    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.order.clear();
    }

    /// Whether one of these pages waits.
    fn holds_any(&self, pages: Range<u64>) -> bool {
        self.pages.range(pages).next().is_some()
    }

    /// Whether all these sectors of a page wait.
    fn holds(&self, page: u64, sectors: Filled) -> bool {
        self.pages.get(&page).is_some_and(|held| held & sectors == sectors)
    }
}

impl<T: Translation> Storage<T> {
    /// Sectors came, the last of them at `at`. Returns when the next can come.
    ///
    /// # Errors
    /// [`Refusal::WornOut`]: what was not handed over holds what it held before.
    ///
    /// # Panics
    /// When the drive has fewer sectors.
    #[inline]
    pub fn write(
        &mut self,
        at: Instant,
        extent: Extent,
        data: Data<'_>,
    ) -> Result<Instant, Refusal> {
        self.check(extent);
        self.rest(at);
        self.counts.written += extent.count;
        self.ahead.drop_overlap(extent);
        let (first, end) = (extent.first.0, extent.blocks().end);
        let boundary = self.groups.down(end);
        if self.open.count == 0 && boundary == end && self.pages.down(first) == first {
            self.write_whole(at, extent, data)?;
        } else {
            if self.open.blocks().end != first {
                self.hand_over(at)?;
                self.open = Extent::new(first, 0);
            }
            let cut = boundary.max(first);
            for piece in [first..cut, cut..end] {
                self.keep(piece.clone(), first, data);
                self.open.count += piece.end - piece.start;
                if piece.end == boundary && self.open.count > 0 {
                    self.hand_over(at)?;
                    self.open = Extent::new(boundary, 0);
                }
            }
        }
        if let Some(contents) = &mut self.contents {
            contents.settle(at);
        }
        Ok(self.room)
    }

    /// A write command's data have all come. Returns when the command is over: with a cache now, otherwise when
    /// all is on flash.
    ///
    /// # Errors
    /// [`Refusal::WornOut`].
    pub fn end_write(&mut self, at: Instant) -> Result<Instant, Refusal> {
        if !self.cache_on {
            return self.make_durable(at);
        }
        let mut now = at;
        while self.partial.order.len() > self.partial.room || self.is_held_back() {
            now = self.write_oldest(now)?;
        }
        Ok(at)
    }

    fn is_held_back(&self) -> bool {
        let unsettled = self.contents.as_ref().map_or(0, Contents::unsettled);
        unsettled > MOST_UNSETTLED && !self.partial.order.is_empty()
    }

    /// Whole pages up to the end of a group came, and nothing before them waits.
    #[inline]
    fn write_whole(&mut self, at: Instant, extent: Extent, data: Data<'_>) -> Result<(), Refusal> {
        let pages = self.pages.index(extent.first.0)..self.pages.index(extent.blocks().end);
        let overwrites = self.partial.holds_any(pages.clone());
        if overwrites {
            self.partial.remove_all(pages);
        }
        let handed = self.program(at, extent);
        if overwrites && let Some(contents) = &mut self.contents {
            contents.left_waiting(extent, handed);
        }
        let finished = handed?;
        if let Some(contents) = &mut self.contents {
            contents.came_on_its_way(extent, Held::of(data, 0..extent.count), finished);
        }
        Ok(())
    }

    /// Keeps what sectors hold that neighbours of a write from `start` on, page by page where they are not whole.
    #[inline]
    fn keep(&mut self, piece: Range<u64>, start: u64, data: Data<'_>) {
        let pages = self.pages;
        let Some(contents) = &mut self.contents else { return };
        let (mut first, end) = (piece.start, piece.end);
        while first < end {
            let (line, whole_end) = (pages.down(first), pages.down(end));
            let to = if line == first && whole_end > first {
                whole_end
            } else {
                (line + pages.size).min(end)
            };
            let held = Held::of(data, first - start..to - start);
            contents.came(Extent::new(first, to - first), held);
            first = to;
        }
    }

    /// Hands the whole pages of the open run over; the others wait.
    #[inline]
    fn hand_over(&mut self, at: Instant) -> Result<(), Refusal> {
        let run = std::mem::replace(&mut self.open, Extent::new(0, 0));
        if run.count == 0 {
            return Ok(());
        }
        let (start, end, page) = (run.first.0, run.blocks().end, self.pages.size);
        let (head, mut last) = (self.pages.index(start), self.pages.index(end));
        let mut first = head + u64::from(start > head * page);
        if first > head {
            let sectors = start - head * page..end.min(first * page) - head * page;
            if self.partial.put(head, filled(sectors)) {
                (first, last) = (head, last.max(head + 1));
            }
        }
        if first <= last && last * page < end {
            last += u64::from(self.partial.put(last, filled(0..end - last * page)));
        }
        if first >= last {
            return Ok(());
        }
        self.partial.remove_all(first..last);
        self.program_waiting(at, Extent::new(first * page, (last - first) * page))
    }

    /// Whole pages, which wait, go to the layer below.
    fn program_waiting(&mut self, at: Instant, extent: Extent) -> Result<(), Refusal> {
        let handed = self.program(at, extent);
        if let Some(contents) = &mut self.contents {
            contents.left_waiting(extent, handed);
        }
        handed.map(|_| ())
    }

    /// Whole pages go to the layer below. Returns when they are on flash, unless it waits for more.
    #[inline]
    fn program(&mut self, at: Instant, extent: Extent) -> Result<Option<Instant>, Refusal> {
        let pages = self.pages_of(extent);
        let Ok(done) = self.translation.write(at, pages) else { return Err(self.worn_out()) };
        self.work.add(&done);
        self.room = self.room.max(done.accepted);
        self.finished = self.finished.max(done.finished);
        self.dirty = true;
        let group = self.drive.stripe.program_pages();
        let mut position = self.position + pages.count;
        if position >= group {
            position %= group;
            if let Some(contents) = &mut self.contents {
                contents.programmed(done.finished);
            }
        }
        self.position = position;
        Ok((position == 0).then_some(done.finished))
    }

    /// All that waits goes to the layer below. Returns when it was handed over.
    pub(crate) fn write_out(&mut self, at: Instant) -> Result<Instant, Refusal> {
        self.hand_over(at)?;
        let mut now = at;
        while !self.partial.order.is_empty() {
            now = self.write_oldest(now)?;
        }
        Ok(now)
    }

    /// The page that has waited longest is read, and written with what came of it.
    fn write_oldest(&mut self, at: Instant) -> Result<Instant, Refusal> {
        let Some((page, sectors)) = self.partial.take_oldest() else { return Ok(at) };
        let size = self.pages.size;
        let extent = Extent::new(page * size, size);
        self.counts.merged += 1;
        let read = self.translation.read(at, self.pages_of(extent), &mut []);
        let read = read.map_err(|_| Refusal::WornOut)?;
        self.work.add(&read);
        if read.events.has(Event::Unreadable) {
            self.lose(extent, sectors);
        }
        let now = read.finished.max(at);
        self.program_waiting(now, extent)?;
        Ok(now)
    }

    /// What did not come of a page, and could not be read, is lost.
    fn lose(&mut self, page: Extent, sectors: Filled) {
        for at in 0..page.count {
            let exists = page.first.0 + at < self.drive.sectors;
            if exists && sectors >> at & 1 == 0 {
                self.counts.lost += 1;
                if let Some(contents) = &mut self.contents {
                    contents.came(Extent::new(page.first.0 + at, 1), Held::Lost);
                }
            }
        }
    }

    /// Whether sectors wait that lie in one of the pages of `extent`.
    pub(crate) fn touches_buffer(&self, extent: Extent) -> bool {
        let pages = self.pages.span(extent);
        self.open.overlaps(extent) || self.partial.holds_any(pages)
    }

    /// Whether all sectors of `extent` wait.
    pub(crate) fn is_in_buffer(&self, extent: Extent) -> bool {
        let (start, end) = (extent.first.0, extent.blocks().end);
        let open = self.open.blocks();
        if open.contains(&start) && end <= open.end {
            return true;
        }
        if self.partial.pages.is_empty() {
            return false;
        }
        self.pages.span(extent).all(|page| {
            let first = page * self.pages.size;
            let sectors = start.max(first) - first..end.min(first + self.pages.size) - first;
            self.partial.holds(page, filled(sectors))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::drive::{Drive, WriteCache};
    use crate::wire::{Counting, Step};
    use boardlab_ftl::{CellTimes, Geometry, PageMapped, Policies, Stripe, Timed, Timing};
    use boardlab_sim::{Duration, Rate, Seed};

    /// A drive of two dies with pages of 4 KiB and a write cache.
    fn cached() -> Storage<PageMapped<Timed>> {
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
        let medium = Timed::new(&geometry, &timing).unwrap();
        let layer = PageMapped::new(geometry, Policies::default(), medium, Seed::new(1)).unwrap();
        let drive = Drive {
            sectors: 16_000,
            lba48: true,
            queue: None,
            trims: true,
            command: Duration::ZERO,
            stripe,
            window: Bytes::kib(64),
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
    fn what_waited_of_a_page_does_not_wait_on_when_the_page_is_overwritten() {
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
