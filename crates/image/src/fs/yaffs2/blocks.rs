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
use boardlab_yaffs2::format::{SUMMARY, tags};
use std::collections::BTreeMap;
use std::ops::Range;

/// Pages that are looked at.
const PAGES: u64 = 16_384;
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

impl Sights {
    fn of(contents: &Contents, fit: &Fit, mark: Option<&Range<usize>>) -> Self {
        let mut sights = Self::default();
        let Pages { page, oob, order, ref place } = fit.pages;
        let start =
            if *place == Place::InBand { page - Bytes::new(tags::SIZE as u64) } else { page };
        let mut tail = vec![0; (fit.pages.raw() - start).to_usize()];
        let mut reader = Reader::new(contents.clone());
        let (mut before, mut run) = (Sight::Erased, 0);
        for number in 0..PAGES {
            let at = fit.phase + fit.pages.raw() * number;
            if reader.read(at + start, &mut tail).unwrap_or(0) < tail.len() {
                break;
            }
            let (data, spare) = tail.split_at(tail.len() - oob.to_usize());
            let sight = match place.tags(data, spare, order) {
                (None, _) => Sight::Erased,
                (_, Checked::Wrong) => Sight::Unknown,
                (Some(tags), _) => {
                    let sum = tags.object == SUMMARY && tags.chunk == 1 && place.is_yaffs2();
                    sights.summaries.extend(sum.then_some(number));
                    Sight::Sequence(tags.sequence)
                }
            };
            if let Sight::Sequence(_) = sight {
                sights.programmed += 1;
                let erased = |mark: &Range<usize>| spare[mark.clone()].iter().all(|&b| b == 0xFF);
                sights.unmarked += u64::from(mark.is_some_and(erased));
                run = if before == sight { run + 1 } else { 1 };
                sights.longest = sights.longest.max(run);
                if before != sight && before != Sight::Unknown {
                    sights.borders.push(number);
                }
            }
            before = sight;
        }
        sights
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
            _ => (USUAL, false),
        }
    }
}
