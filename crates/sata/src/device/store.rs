//! The contents of a drive's sectors, in compact form.
//!
//! Layer: below the drive. Main types: [`Data`], the data of a write; `Store`, runs of sectors in a
//! tree. Runs that continue one another are merged, so a drive filled with one pattern needs one run,
//! and a lookup takes logarithmic time. The run being written is kept outside the tree until something
//! else is written or read, so a sequential fill costs one addition per frame.
//!
//! Left out: freeing the memory of bytes that were partly overwritten.

use crate::wire::Counting;
use crate::{SECTOR, SECTOR_DWORDS};
use boardlab_block::{Extent, Noise};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The data of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data<'a> {
    /// A counting pattern that starts with the first word of the first sector.
    Counting(Counting),
    /// One byte, repeated.
    Repeated(u8),
    /// Random bytes, determined by the sector number.
    Noise(Noise),
    /// Bytes, as many as the sectors hold.
    Bytes(&'a [u8]),
    /// Little-endian words, as many as the sectors hold.
    Words(&'a [u32]),
}

/// The contents of adjacent sectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SectorData {
    Counting(Counting),
    Repeated(u8),
    Noise(Noise),
    /// The bytes of a write, and the index in them of the first of these sectors.
    Bytes(Arc<[u8]>, u64),
    /// Lost, because the flash could not return them.
    Lost,
}

impl SectorData {
    /// The contents of sectors that were never written.
    pub(crate) const ZEROS: Self = Self::Repeated(0);

    /// Returns the contents of the sectors `part` of `data`.
    pub(crate) fn part_of(data: Data<'_>, part: Range<u64>) -> Self {
        match data {
            Data::Counting(words) => Self::Counting(words.from(words_of(part.start))),
            Data::Repeated(byte) => Self::Repeated(byte),
            Data::Noise(noise) => Self::Noise(noise),
            Data::Bytes(bytes) => Self::Bytes(bytes[bytes_of(part)].into(), 0),
            Data::Words(words) => {
                let range = bytes_of(part);
                let words = &words[range.start / 4..range.end / 4];
                Self::Bytes(words.iter().flat_map(|word| word.to_le_bytes()).collect(), 0)
            }
        }
    }

    /// Returns the contents without the first `sectors` sectors.
    pub(crate) fn skip(&self, sectors: u64) -> Self {
        match self {
            Self::Counting(words) => Self::Counting(words.from(words_of(sectors))),
            Self::Bytes(bytes, first) => Self::Bytes(Arc::clone(bytes), first + sectors),
            other => other.clone(),
        }
    }

    /// Whether `next`, `sectors` sectors later, continues these contents.
    fn is_continued_by(&self, sectors: u64, next: &Self) -> bool {
        match (self, next) {
            (Self::Counting(words), Self::Counting(next)) => words.from(words_of(sectors)) == *next,
            (Self::Bytes(bytes, first), Self::Bytes(next, at)) => {
                Arc::ptr_eq(bytes, next) && first + sectors == *at
            }
            (one, other) => one == other,
        }
    }

    /// Writes the bytes of these sectors, the first of which is sector `number`. Lost sectors are
    /// written as zeros.
    pub(crate) fn fill(&self, number: u64, buffer: &mut [u8]) {
        let size = SECTOR.to_usize();
        match self {
            Self::Counting(words) => {
                let dwords = (0..).zip(buffer.chunks_exact_mut(4));
                dwords.for_each(|(at, bytes)| bytes.copy_from_slice(&words.word(at).to_le_bytes()));
            }
            Self::Repeated(byte) => buffer.fill(*byte),
            Self::Noise(noise) => {
                let sectors = (number..).zip(buffer.chunks_mut(size));
                sectors.for_each(|(number, bytes)| noise.fill(number, bytes));
            }
            Self::Bytes(bytes, first) => {
                let start = index(*first) * size;
                buffer.copy_from_slice(&bytes[start..start + buffer.len()]);
            }
            Self::Lost => buffer.fill(0),
        }
    }
}

/// Returns the words of `sectors` sectors.
const fn words_of(sectors: u64) -> u64 {
    sectors * SECTOR_DWORDS as u64
}

fn index(sectors: u64) -> usize {
    usize::try_from(sectors).expect("the sectors of a command fit memory")
}

fn bytes_of(sectors: Range<u64>) -> Range<usize> {
    let size = SECTOR.to_usize();
    index(sectors.start) * size..index(sectors.end) * size
}

#[derive(Debug, Clone)]
struct Run {
    count: u64,
    data: SectorData,
}

/// A counting pattern being written.
#[derive(Debug, Clone, Copy)]
struct OpenRun {
    first: u64,
    end: u64,
    words: Counting,
    /// The words that would continue it.
    next: Counting,
}

/// The contents of a drive's sectors.
#[derive(Debug, Clone, Default)]
pub(crate) struct Store {
    runs: BTreeMap<u64, Run>,
    /// The run being written, newer than the others.
    open: Option<OpenRun>,
    /// The counting pattern that was looked up last.
    last_lookup: Option<(Range<u64>, Counting)>,
}

impl Store {
    /// Replaces the contents of sectors.
    #[inline]
    pub(crate) fn write(&mut self, extent: Extent, data: SectorData) {
        let (first, end) = (extent.first.0, extent.blocks().end);
        let SectorData::Counting(words) = data else {
            self.close();
            return self.insert(first, extent.count, data);
        };
        let next = words.from(words_of(extent.count));
        match &mut self.open {
            Some(open) if open.end == first && open.next == words => {
                (open.end, open.next) = (end, next);
            }
            _ => {
                self.close();
                self.open = Some(OpenRun { first, end, words, next });
            }
        }
    }

    /// Moves the run being written into the tree.
    fn close(&mut self) {
        self.last_lookup = None;
        if let Some(OpenRun { first, end, words, .. }) = self.open.take() {
            self.insert(first, end - first, SectorData::Counting(words));
        }
    }

    fn insert(&mut self, first: u64, count: u64, data: SectorData) {
        self.last_lookup = None;
        let end = first + count;
        self.split(first);
        self.split(end);
        while let Some((&start, _)) = self.runs.range(first..end).next() {
            self.runs.remove(&start);
        }
        let (mut first, mut run) = (first, Run { count, data });
        if let Some((&start, before)) = self.runs.range_mut(..first).next_back()
            && start + before.count == first
            && before.data.is_continued_by(before.count, &run.data)
        {
            run = Run { count: before.count + run.count, data: before.data.clone() };
            first = start;
        }
        if let Some(after) = self.runs.get(&end)
            && run.data.is_continued_by(end - first, &after.data)
        {
            run.count += after.count;
            self.runs.remove(&end);
        }
        if run.data != SectorData::ZEROS {
            self.runs.insert(first, run);
        } else {
            self.runs.remove(&first);
        }
    }

    /// Splits a run that crosses `at`.
    fn split(&mut self, at: u64) {
        let Some((&start, run)) = self.runs.range_mut(..at).next_back() else { return };
        if start + run.count > at {
            let rest = Run { count: start + run.count - at, data: run.data.skip(at - start) };
            run.count = at - start;
            self.runs.insert(at, rest);
        }
    }

    /// Returns the words of an extent if they are a counting pattern.
    #[inline]
    pub(crate) fn counting(&mut self, extent: Extent) -> Option<Counting> {
        let (first, end) = (extent.first.0, extent.blocks().end);
        if let Some((range, words)) = &self.last_lookup
            && self.open.is_none()
            && range.start <= first
            && end <= range.end
        {
            return Some(words.from(words_of(first - range.start)));
        }
        self.close();
        let (&start, run) = self.runs.range(..=first).next_back()?;
        let SectorData::Counting(words) = run.data else { return None };
        let range = start..start + run.count;
        if end > range.end {
            return None;
        }
        self.last_lookup = Some((range, words));
        Some(words.from(words_of(first - start)))
    }

    /// Returns the contents of a sector, and the number of sectors for which they continue.
    pub(crate) fn at(&mut self, sector: u64) -> (SectorData, u64) {
        self.close();
        if let Some((&start, run)) = self.runs.range(..=sector).next_back()
            && sector < start + run.count
        {
            return (run.data.skip(sector - start), start + run.count - sector);
        }
        let next = self.runs.range(sector..).next().map_or(u64::MAX, |(&start, _)| start);
        (SectorData::ZEROS, next - sector)
    }

    /// Returns the number of runs, including the one being written.
    #[cfg(test)]
    fn runs(&mut self) -> usize {
        self.close();
        self.runs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Step;
    use boardlab_sim::Seed;

    const UP: Counting = Counting { first: 0, step: Step::Up };

    fn up(sector: u64) -> SectorData {
        SectorData::Counting(UP.from(words_of(sector)))
    }

    #[test]
    fn a_sweep_in_commands_is_one_run() {
        let mut store = Store::default();
        for frame in 0..100_000 {
            store.write(Extent::new(frame * 16, 16), up(frame * 16));
        }
        // Rewriting the same data changes nothing.
        for frame in 40_000..60_000 {
            store.write(Extent::new(frame * 16, 16), up(frame * 16));
        }
        assert_eq!(store.runs(), 1);
        let middle = Extent::new(777_777, 65_536);
        assert_eq!(store.counting(middle), Some(UP.from(words_of(777_777))));
        assert_eq!(store.counting(Extent::new(1_599_999, 2)), None, "beyond what was written");
    }

    #[test]
    fn random_writes_read_back_as_from_a_list_of_sectors() {
        const SECTORS: u64 = 200;
        let mut stream = Seed::new(3).stream("store");
        let (mut store, mut model) = (Store::default(), vec![SectorData::ZEROS; 200]);
        for round in 0_u8..200 {
            let first = stream.below(SECTORS);
            let count = 1 + stream.below((SECTORS - first).min(40));
            let data = match stream.below(5) {
                0 => up(first),
                1 => SectorData::Repeated(round % 3),
                2 => SectorData::Noise(Noise::new(7)),
                3 => SectorData::Bytes(vec![round; index(count) * 512].into(), 0),
                _ => SectorData::Lost,
            };
            store.write(Extent::new(first, count), data.clone());
            for at in 0..count {
                model[index(first + at)] = data.skip(at);
            }
            for sector in 0..SECTORS {
                let (found, _) = store.at(sector);
                assert_eq!(found, model[index(sector)], "round {round} sector {sector}");
                let counts = matches!(found, SectorData::Counting(_));
                assert_eq!(store.counting(Extent::new(sector, 1)).is_some(), counts);
            }
        }
    }

    #[test]
    fn an_extent_is_a_counting_pattern_only_as_a_whole() {
        let mut store = Store::default();
        store.write(Extent::new(0, 32), up(0));
        store.write(Extent::new(16, 1), up(17));
        assert_eq!(store.counting(Extent::new(0, 16)), Some(UP));
        assert_eq!(store.counting(Extent::new(0, 17)), None);
        assert_eq!(store.counting(Extent::new(16, 2)), None);
        assert_eq!(store.counting(Extent::new(17, 15)), Some(UP.from(words_of(17))));
    }
}
