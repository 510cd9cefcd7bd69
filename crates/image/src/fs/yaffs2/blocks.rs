//! Derives the erase blocks of a YAFFS from the sequence numbers of its pages, which change from block to block.
//!
//! Layer: rank 7. Main type: [`Blocks`]. `mkyaffs2image` gives all blocks one number, and YAFFS1 has none: there
//! the size is a guess, which is of no consequence, for the files are the same with any.

use super::pages::{Pages, Place};
use super::survey::Fit;
use crate::contents::{Contents, Reader};
use crate::spare::Spare;
use boardlab_sim::Bytes;
use boardlab_yaffs2::format::summary::SummaryShape;
use boardlab_yaffs2::format::tags::Checked;
use boardlab_yaffs2::format::{SUMMARY, Tags, tags};
use std::collections::BTreeMap;
use std::ops::Range;

/// Pages that are looked at, and those of them that are the first.
const PAGES: u64 = 16_384;
const FIRST_PAGES: u64 = 4_096;
/// Borders that suffice among the first pages.
const BORDERS: usize = 12;
/// The distance of the pages that are looked at where the first ones have one number.
const DISTANCE: usize = 61;
/// Pages of a block that are possible, the most first.
const SIZES: [u64; 8] = [256, 128, 64, 32, 16, 8, 4, 2];
/// The usual ones, of large and of small pages.
const USUAL: u64 = 64;
const USUAL_SMALL: u64 = 32;

/// The erase blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Pages of a block.
    pub(super) pages: u64,
    /// Whether the flash shows that.
    pub(super) known: bool,
    /// Pages in front of the first block.
    pub(super) skipped: u64,
    /// The spare bytes of bad-block marks; `None` where something else is in them.
    pub(super) mark: Option<Range<usize>>,
}

/// What the tags of a page show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    Erased,
    Sequence(u32),
    Unknown,
}

/// What is seen of all pages.
#[derive(Debug, Default)]
struct Sights {
    /// Pages that begin a block.
    borders: Vec<u64>,
    /// The first pages of summaries.
    summaries: Vec<u64>,
    /// The most consecutive pages with one sequence number.
    longest: u64,
    /// Programmed pages, and those of them with an erased bad-block mark.
    programmed: u64,
    unmarked: u64,
}

impl Blocks {
    /// The blocks of a flash with such pages.
    pub(super) fn of(contents: &Contents, fit: &Fit) -> Self {
        let mark = Some(Spare::mark_of(fit.pages.page)).filter(|mark| {
            let free = |at: usize| !fit.pages.place.bytes().contains(&at);
            mark.end <= fit.pages.oob.to_usize() && mark.clone().all(free)
        });
        let sights = Sights::of(contents, fit, mark.as_ref());
        let (pages, known) = sights.size(&fit.pages);
        let (_, skipped) = sights.fitting(pages);
        let mark = mark.filter(|_| sights.unmarked * 10 >= sights.programmed * 9);
        Self { pages, known, skipped, mark }
    }
}

/// Looks at the tags of pages.
struct Viewer<'a> {
    pages: &'a Pages,
    phase: Bytes,
    /// Where the bytes with the tags begin in a raw page, and these bytes.
    start: Bytes,
    tail: Vec<u8>,
    reader: Reader,
}

impl<'a> Viewer<'a> {
    fn new(contents: &Contents, fit: &'a Fit) -> Self {
        let Fit { ref pages, phase, .. } = *fit;
        let in_band = pages.place == Place::InBand;
        let tags = if in_band { Bytes::new(tags::SIZE as u64) } else { Bytes::ZERO };
        let start = pages.page - tags;
        let tail = vec![0; (pages.raw() - start).to_usize()];
        Self { pages, phase, start, tail, reader: Reader::new(contents.clone()) }
    }

    /// The tags of a page, and whether they are right; `None` beyond the end.
    fn look(&mut self, number: u64) -> Option<(Option<Tags>, Checked)> {
        let at = self.phase + self.pages.raw() * number + self.start;
        if self.reader.read(at, &mut self.tail).unwrap_or(0) < self.tail.len() {
            return None;
        }
        let (data, spare) = self.tail.split_at(self.tail.len() - self.pages.oob.to_usize());
        Some(self.pages.place.tags(data, spare, self.pages.order))
    }

    /// The spare bytes of the page that was looked at last.
    fn spare(&self) -> &[u8] {
        &self.tail[self.tail.len() - self.pages.oob.to_usize()..]
    }
}

impl Sight {
    fn of(tags: Option<Tags>, checked: Checked) -> Self {
        match (tags, checked) {
            (None, _) => Self::Erased,
            (_, Checked::Wrong) => Self::Unknown,
            (Some(tags), _) => Self::Sequence(tags.sequence),
        }
    }
}

impl Sights {
    fn of(contents: &Contents, fit: &Fit, mark: Option<&Range<usize>>) -> Self {
        let mut sights = Self::default();
        let mut viewer = Viewer::new(contents, fit);
        let mut before = (Sight::Erased, 0);
        for number in 0..PAGES {
            if number == FIRST_PAGES && sights.are_enough(&mut viewer) {
                break;
            }
            let Some((tags, checked)) = viewer.look(number) else { break };
            let sight = Sight::of(tags, checked);
            if let (Sight::Sequence(_), Some(tags)) = (sight, tags) {
                let erased =
                    |mark: &Range<usize>| boardlab_mtd::is_erased(&viewer.spare()[mark.clone()]);
                sights.programmed += 1;
                sights.unmarked += u64::from(mark.is_some_and(erased));
                let is_yaffs2 = fit.pages.place.is_yaffs2();
                let sum = tags.object == SUMMARY && tags.chunk == 1 && is_yaffs2;
                sights.summaries.extend(sum.then_some(number));
            }
            before = sights.add(number, sight, before);
        }
        sights
    }

    /// Adds the sight of a page behind one of which there were `run` of its kind; returns the same for it.
    fn add(&mut self, number: u64, sight: Sight, (before, run): (Sight, u64)) -> (Sight, u64) {
        let Sight::Sequence(_) = sight else { return (sight, run) };
        let run = if before == sight { run + 1 } else { 1 };
        self.longest = self.longest.max(run);
        if before != sight && before != Sight::Unknown {
            self.borders.push(number);
        }
        (sight, run)
    }

    /// Whether there are many borders among the first pages, or most likely none anywhere.
    fn are_enough(&self, viewer: &mut Viewer<'_>) -> bool {
        if self.borders.len() > 1 {
            return self.borders.len() >= BORDERS;
        }
        let numbers = (0..PAGES).step_by(DISTANCE);
        let seen = numbers.map_while(|number| viewer.look(number));
        let seen = seen.map(|(tags, checked)| Sight::of(tags, checked));
        let mut sequences = seen.filter(|sight| matches!(sight, Sight::Sequence(_)));
        let first = sequences.next();
        sequences.all(|sight| Some(sight) == first)
    }

    /// How many borders are borders of blocks of so many pages, and the pages in front of the first block.
    fn fitting(&self, size: u64) -> (usize, u64) {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        for border in &self.borders {
            *counts.entry(border % size).or_default() += 1;
        }
        let most = counts.into_iter().reduce(|best, one| if one.1 > best.1 { one } else { best });
        most.map_or((0, 0), |(skipped, count)| (count, skipped))
    }

    /// Pages of a block, and whether they are known.
    fn size(&self, pages: &Pages) -> (u64, bool) {
        let fits = |size: &u64| {
            let (count, _) = self.fitting(*size);
            *size >= self.longest && count * 20 >= self.borders.len() * 19
        };
        let possible: Vec<u64> = SIZES.into_iter().filter(fits).collect();
        let by_summaries = |&size: &u64| {
            let shape = u32::try_from(size).ok().and_then(|n| SummaryShape::new(n, pages.chunk()));
            let (_, skipped) = self.fitting(size);
            let described = shape.map(|shape| u64::from(shape.described));
            let right = |at: &&u64| **at >= skipped && Some((**at - skipped) % size) == described;
            self.summaries.iter().filter(right).count()
        };
        let best = possible.iter().copied().max_by_key(by_summaries);
        if let Some(size) = best.filter(|size| by_summaries(size) > 0) {
            return (size, true);
        }
        // A block that is full has as many pages as a block.
        let full = possible.iter().find(|&&size| size == self.longest);
        match (full.or(possible.first()), self.borders.len()) {
            (Some(size), 2..) => (*size, true),
            _ if pages.page < Bytes::kib(1) => (USUAL_SMALL, false),
            // Not less than what one number was seen in.
            _ => {
                (possible.iter().rev().copied().find(|&size| size >= USUAL).unwrap_or(USUAL), false)
            }
        }
    }
}
