//! The contents of a drive, and what a power cut removes of them.
//!
//! Layer: below the drive, above [`crate::device::store`]. Main type: [`Contents`]. Written data are
//! recorded in a journal, in the order of arrival. Once they are on flash, they move to the store. A
//! read consults the journal first. At a power cut, the entries on flash at that time are kept, in
//! order, and all others are dropped, so their sectors keep their previous contents.
//!
//! ```text
//!   write --> buffered --> submitted --> programmed, at ... --> store
//!             in the       accepted by   its program
//!             buffer       the layer     completes
//! ```
//!
//! Left out: the effect of an interrupted program on the flash itself. The mapping is assumed to
//! survive, and a page whose program was interrupted reads as before. `boardlab-ftl` models torn pages
//! and the rebuilding of the mapping.

use crate::SECTOR;
use crate::device::drive::Refusal;
use crate::device::store::{SectorData, Store};
use crate::wire::Counting;
use boardlab_block::Extent;
use boardlab_sim::Instant;
use std::collections::VecDeque;

/// The progress of written data on their way to flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// In the buffer of the drive.
    Buffered,
    /// Accepted by the layer below, which waits for more data before it programs.
    Submitted,
    /// On flash from this instant on.
    Programmed(Instant),
}

#[derive(Debug, Clone)]
struct Entry {
    extent: Extent,
    data: SectorData,
    progress: Progress,
}

/// The contents of all sectors, in the buffer and on flash.
#[derive(Debug, Clone, Default)]
pub(crate) struct Contents {
    store: Store,
    journal: VecDeque<Entry>,
    /// The numbers of buffered and of submitted entries.
    buffered: usize,
    submitted: usize,
    /// A lost sector was recorded at least once.
    any_lost: bool,
}

impl Contents {
    /// Records written sectors, which are in the buffer.
    #[inline]
    pub(crate) fn insert(&mut self, extent: Extent, data: SectorData) {
        self.buffered += 1;
        self.any_lost |= data == SectorData::Lost;
        self.journal.push_back(Entry { extent, data, progress: Progress::Buffered });
    }

    /// Records written sectors that the layer below has already accepted; see [`Contents::submit`].
    #[inline]
    pub(crate) fn insert_submitted(
        &mut self,
        extent: Extent,
        data: SectorData,
        finished: Option<Instant>,
    ) {
        let progress = finished.map_or(Progress::Submitted, Progress::Programmed);
        self.submitted += usize::from(finished.is_none());
        self.journal.push_back(Entry { extent, data, progress });
    }

    /// Records that the layer below accepted the buffered data of `extent`. The program completes at
    /// `finished`, or the layer waits for more data. No entry crosses the ends of `extent`.
    #[inline]
    pub(crate) fn submit(&mut self, extent: Extent, finished: Option<Instant>) {
        let progress = finished.map_or(Progress::Submitted, Progress::Programmed);
        let submitted = usize::from(finished.is_none());
        let mut left = self.buffered;
        for entry in self.journal.iter_mut().rev() {
            if left == 0 {
                break;
            }
            if entry.progress != Progress::Buffered {
                continue;
            }
            left -= 1;
            if entry.extent.overlaps(extent) {
                entry.progress = progress;
                self.buffered -= 1;
                self.submitted += submitted;
            }
        }
    }

    /// Records that the layer below accepted or refused the buffered data of `extent`, or data that
    /// overwrite them.
    pub(crate) fn submit_or_drop(
        &mut self,
        extent: Extent,
        submitted: Result<Option<Instant>, Refusal>,
    ) {
        match submitted {
            Ok(finished) => self.submit(extent, finished),
            Err(_) => self.drop_buffered(extent),
        }
    }

    /// Records that the program of all submitted data completes at `finished`.
    #[inline]
    pub(crate) fn program_submitted(&mut self, finished: Instant) {
        if self.submitted == 0 {
            return;
        }
        let mut left = std::mem::take(&mut self.submitted);
        for entry in self.journal.iter_mut().rev() {
            if left == 0 {
                break;
            }
            if entry.progress == Progress::Submitted {
                entry.progress = Progress::Programmed(finished);
                left -= 1;
            }
        }
    }

    /// Drops the buffered data of `extent`, which the layer below refused. The sectors keep their
    /// previous contents.
    pub(crate) fn drop_buffered(&mut self, extent: Extent) {
        let refused =
            |entry: &Entry| entry.progress == Progress::Buffered && entry.extent.overlaps(extent);
        self.journal.retain(|entry| !refused(entry));
        let waits = |entry: &&Entry| entry.progress == Progress::Buffered;
        self.buffered = self.journal.iter().filter(waits).count();
    }

    /// Moves entries that are on flash at `now` to the store.
    #[inline]
    pub(crate) fn settle(&mut self, now: Instant) {
        while let Some(Entry { progress: Progress::Programmed(finished), .. }) =
            self.journal.front()
            && *finished <= now
        {
            let Some(Entry { extent, data, .. }) = self.journal.pop_front() else { return };
            self.store.write(extent, data);
        }
    }

    /// Returns the number of entries in the journal.
    pub(crate) fn unsettled(&self) -> usize {
        self.journal.len()
    }

    /// Cuts the power at `at`. If `buffer` is set, data in the buffer are still written.
    pub(crate) fn cut_power(&mut self, at: Instant, buffer: bool) {
        for Entry { extent, data, progress } in self.journal.drain(..) {
            let durable = matches!(progress, Progress::Programmed(finished) if finished <= at);
            if durable || buffer {
                self.store.write(extent, data);
            }
        }
        (self.buffered, self.submitted) = (0, 0);
    }

    /// Returns the words of an extent if they are a counting pattern.
    #[inline]
    pub(crate) fn counting(&mut self, extent: Extent) -> Option<Counting> {
        if self.is_settled(extent) {
            return self.store.counting(extent);
        }
        let (mut all, mut at, end) = (None, extent.first.0, extent.blocks().end);
        while at < end {
            let (SectorData::Counting(words), count) = self.at(at) else { return None };
            let before = (at - extent.first.0) * u64::from(crate::SECTOR_DWORDS);
            let whole = *all.get_or_insert(words);
            if whole.from(before) != words {
                return None;
            }
            at += count;
        }
        all
    }

    /// Writes the bytes of an extent to `buffer`.
    pub(crate) fn fill(&mut self, extent: Extent, buffer: &mut [u8]) {
        let (mut at, mut rest) = (extent.first.0, buffer);
        let end = extent.blocks().end;
        while at < end && !rest.is_empty() {
            let (data, count) = self.at(at);
            let count = count.min(end - at);
            let size = usize::try_from(count * SECTOR.get()).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at_mut(size.min(rest.len()));
            data.fill(at, now);
            (at, rest) = (at + count, later);
        }
    }

    /// Returns the first lost sector of an extent.
    pub(crate) fn first_lost(&mut self, extent: Extent) -> Option<u64> {
        if !self.any_lost {
            return None;
        }
        let (mut at, end) = (extent.first.0, extent.blocks().end);
        while at < end {
            let (data, count) = self.at(at);
            if data == SectorData::Lost {
                return Some(at);
            }
            at += count;
        }
        None
    }

    #[inline]
    fn is_settled(&self, extent: Extent) -> bool {
        self.journal.iter().all(|entry| !entry.extent.overlaps(extent))
    }

    /// Returns the contents of a sector, and a number of sectors for which they continue.
    fn at(&mut self, sector: u64) -> (SectorData, u64) {
        let mut limit = u64::MAX;
        for entry in self.journal.iter().rev() {
            let range = entry.extent.blocks();
            if range.contains(&sector) {
                let count = range.end.min(limit) - sector;
                return (entry.data.skip(sector - range.start), count);
            }
            if range.start > sector {
                limit = limit.min(range.start);
            }
        }
        let (data, count) = self.store.at(sector);
        (data, count.min(limit - sector))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Instant = Instant::from_nanos(100);

    fn byte(contents: &mut Contents, sector: u64) -> u8 {
        let mut buffer = [9; 512];
        contents.fill(Extent::new(sector, 1), &mut buffer);
        buffer[0]
    }

    #[test]
    fn a_power_cut_keeps_data_on_flash_and_restores_older_data_elsewhere() {
        let mut contents = Contents::default();
        let write = |contents: &mut Contents, first, count, byte, finished| {
            contents.insert(Extent::new(first, count), SectorData::Repeated(byte));
            contents.submit(Extent::new(first, count), finished);
        };
        write(&mut contents, 0, 8, 1, Some(Instant::ZERO));
        write(&mut contents, 0, 4, 2, Some(LATER));
        write(&mut contents, 2, 4, 3, Some(Instant::from_nanos(50)));
        write(&mut contents, 6, 1, 4, None);
        contents.insert(Extent::new(7, 1), SectorData::Repeated(5));
        let now: Vec<u8> = (0..8).map(|sector| byte(&mut contents, sector)).collect();
        assert_eq!(now, [2, 2, 3, 3, 3, 3, 4, 5]);
        let mut protected = contents.clone();
        contents.cut_power(Instant::from_nanos(50), false);
        let then: Vec<u8> = (0..8).map(|sector| byte(&mut contents, sector)).collect();
        assert_eq!(then, [1, 1, 3, 3, 3, 3, 1, 1]);
        protected.cut_power(Instant::from_nanos(50), true);
        let kept: Vec<u8> = (0..8).map(|sector| byte(&mut protected, sector)).collect();
        assert_eq!(kept, now);
    }

    #[test]
    fn entries_move_to_the_store_in_order() {
        let mut contents = Contents::default();
        contents.insert(Extent::new(0, 1), SectorData::Repeated(1));
        contents.insert(Extent::new(1, 1), SectorData::Repeated(2));
        contents.submit(Extent::new(1, 1), Some(Instant::ZERO));
        contents.settle(LATER);
        assert_eq!(contents.unsettled(), 2, "the first is not on flash");
        contents.submit(Extent::new(0, 1), None);
        contents.program_submitted(LATER);
        contents.settle(LATER);
        assert_eq!(contents.unsettled(), 0);
        assert_eq!((byte(&mut contents, 0), byte(&mut contents, 1)), (1, 2));
    }

    #[test]
    fn a_read_combines_older_and_newer_writes() {
        let mut contents = Contents::default();
        contents.insert(Extent::new(0, 8), SectorData::Repeated(1));
        contents.insert(Extent::new(2, 2), SectorData::Repeated(2));
        let mut buffer = [0; 10 * 512];
        contents.fill(Extent::new(0, 10), &mut buffer);
        let found: Vec<u8> = buffer.chunks(512).map(|sector| sector[511]).collect();
        assert_eq!(found, [1, 1, 2, 2, 1, 1, 1, 1, 0, 0]);
        let up =
            |sector: u64| Counting { first: 0, step: crate::wire::Step::Up }.from(sector * 128);
        contents.insert(Extent::new(0, 4), SectorData::Counting(up(0)));
        contents.insert(Extent::new(4, 4), SectorData::Counting(up(4)));
        assert_eq!(contents.counting(Extent::new(1, 6)), Some(up(1)));
        contents.insert(Extent::new(3, 1), SectorData::Counting(up(4)));
        assert_eq!(contents.counting(Extent::new(1, 6)), None);
        assert_eq!(contents.counting(Extent::new(1, 2)), Some(up(1)));
    }

    #[test]
    fn a_refused_write_keeps_the_previous_contents() {
        let mut contents = Contents::default();
        contents.insert(Extent::new(0, 2), SectorData::Repeated(1));
        contents.insert(Extent::new(4, 2), SectorData::Repeated(2));
        contents.drop_buffered(Extent::new(0, 2));
        contents.submit(Extent::new(4, 2), Some(Instant::ZERO));
        contents.settle(Instant::ZERO);
        assert_eq!((byte(&mut contents, 0), byte(&mut contents, 4)), (0, 2));
        assert_eq!(contents.unsettled(), 0);
    }
}
