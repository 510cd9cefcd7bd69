//! Where data, code bits and everything else are in a page, as a controller stores it.
//!
//! Layer: rank 7. Main types: [`PageMap`]; [`Draft`], which makes one. A controller that puts the code of each
//! step behind its data mixes both in the page; the map then says how to arrange a page as data and OOB bytes, in
//! which every other part of this crate takes it. Words are counted in bits of that arranged page.

use super::bits::{self, BitOrder};
use std::ops::Range;

/// Ranges of bits, in order.
type Bits = Vec<Range<usize>>;

/// A message and its code bits, as bits of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// What the code protects, in its order.
    pub(crate) message: Vec<Range<usize>>,
    /// The code bits.
    pub(crate) code: Vec<Range<usize>>,
    /// Bytes of the word, the last one filled up.
    pub(crate) length: usize,
}

impl Word {
    /// Bits behind the last code bit.
    pub(crate) fn behind(&self) -> usize {
        self.length * 8 - bits::count(&self.message) - bits::count(&self.code)
    }

    /// Message and code bits.
    pub(crate) fn all(&self) -> Vec<Range<usize>> {
        self.message.iter().chain(&self.code).cloned().collect()
    }
}

/// A page as a controller stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageMap {
    /// Data bytes.
    pub page: usize,
    /// OOB bytes.
    pub oob: usize,
    /// The order in which bits are counted.
    pub(crate) order: BitOrder,
    /// Bits of the stored page in the order of the arranged one; empty if both are the same.
    arrangement: Vec<Range<usize>>,
    pub(crate) words: Vec<Word>,
    /// The same words as bits of the stored page.
    pub(crate) stored_words: Vec<Word>,
    /// Free bytes of the arranged OOB area, in order.
    pub(crate) free: Vec<Range<usize>>,
    /// The bad-block mark in it.
    pub(crate) mark: Range<usize>,
}

impl PageMap {
    /// Whether data and other bytes are mixed in the stored page.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        !self.arrangement.is_empty()
    }

    /// A stored page as data and OOB bytes. One that is not whole stays as it is.
    #[must_use]
    pub fn arrange(&self, stored: &[u8]) -> Vec<u8> {
        if !self.is_mixed() || stored.len() != self.page + self.oob {
            return stored.to_vec();
        }
        let mut arranged = Vec::with_capacity(stored.len());
        bits::gather(stored, &self.arrangement, self.order, &mut arranged);
        if self.order == BitOrder::Least {
            arranged.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
        }
        arranged
    }

    /// Data and OOB bytes as the controller stores them.
    #[must_use]
    pub fn store(&self, arranged: &[u8]) -> Vec<u8> {
        let mut stored = arranged.to_vec();
        if self.is_mixed() && arranged.len() == self.page + self.oob {
            let turn = |byte: &u8| match self.order {
                BitOrder::Most => *byte,
                BitOrder::Least => byte.reverse_bits(),
            };
            let arranged: Vec<u8> = arranged.iter().map(turn).collect();
            bits::scatter(&arranged, &self.arrangement, self.order, &mut stored);
        }
        stored
    }

    /// The OOB bytes with code bits, in order, each once.
    pub(crate) fn code_bytes(&self) -> Vec<Range<usize>> {
        let mut is_code = vec![false; self.oob];
        for bit in self.words.iter().flat_map(|word| word.code.iter().cloned().flatten()) {
            if let Some(slot) = (bit / 8).checked_sub(self.page).and_then(|at| is_code.get_mut(at))
            {
                *slot = true;
            }
        }
        runs(&is_code)
    }
}

/// The runs of places that are true.
fn runs(marked: &[bool]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in (0..marked.len()).filter(|&at| marked[at]) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// A page that is being described, in bits of the page as it is stored.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) page: usize,
    pub(super) oob: usize,
    pub(super) order: BitOrder,
    /// The data, in order.
    pub(super) data: Vec<Range<usize>>,
    /// The first bits of the arranged OOB area; what is not named follows in the order of the page.
    pub(super) oob_first: Vec<Range<usize>>,
    /// Messages and their code bits.
    pub(super) words: Vec<(Bits, Bits)>,
    /// Free bytes of the arranged OOB area; `None` for all that are neither code nor mark.
    pub(super) free: Option<Vec<Range<usize>>>,
    /// The bad-block mark in it.
    pub(super) mark: Range<usize>,
}

impl Draft {
    /// A page whose data are in front.
    pub(super) fn plain(page: usize, oob: usize, order: BitOrder) -> Self {
        let mark = if page <= 512 { 5..6 } else { 0..2 };
        let data = one(0..page * 8);
        Self { page, oob, order, data, oob_first: Vec::new(), words: Vec::new(), free: None, mark }
    }

    /// The map; `None` when the page has no room, or not exactly the data of a page.
    pub(super) fn finish(self) -> Option<PageMap> {
        let Self { page, oob, order, data, oob_first, words, free, mark } = self;
        if bits::count(&data) != page * 8 {
            return None;
        }
        let left = left_of(data.iter().chain(&oob_first).cloned().collect(), (page + oob) * 8)?;
        let mut arrangement: Vec<Range<usize>> = Vec::new();
        for range in data.into_iter().chain(oob_first).chain(left) {
            match arrangement.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ if range.is_empty() => {}
                _ => arrangement.push(range),
            }
        }
        let places = Places::of(&arrangement);
        let (mut made, mut stored_words) = (Vec::new(), Vec::new());
        for (message, code) in words {
            let length = (bits::count(&message) + bits::count(&code)).div_ceil(8);
            stored_words.push(Word { message: message.clone(), code: code.clone(), length });
            let word =
                Word { message: places.arranged(&message)?, code: places.arranged(&code)?, length };
            made.push(word);
        }
        if arrangement.len() == 1 {
            arrangement.clear();
        }
        let free_bytes = Vec::new();
        let mut map = PageMap {
            page,
            oob,
            order,
            arrangement,
            words: made,
            stored_words,
            free: free_bytes,
            mark,
        };
        map.free = match free {
            Some(free) => free,
            None => {
                let taken = map.code_bytes();
                let is_free = |at: &usize| {
                    !map.mark.contains(at) && !taken.iter().any(|range| range.contains(at))
                };
                runs(&(0..oob).map(|at| is_free(&at)).collect::<Vec<_>>())
            }
        };
        (map.mark.end <= oob && map.free.iter().all(|range| range.end <= oob)).then_some(map)
    }
}

/// What ranges leave of so many bits, in order; `None` where they overlap or go beyond.
fn left_of(mut ranges: Vec<Range<usize>>, size: usize) -> Option<Vec<Range<usize>>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let (mut left, mut end) = (Vec::new(), 0);
    for range in ranges {
        if range.start < end {
            return None;
        }
        left.push(end..range.start);
        end = range.end;
    }
    left.push(end..size);
    left.retain(|range| !range.is_empty());
    (end <= size).then_some(left)
}

/// A list of one range. `vec![range]` would be linted as a likely mistake.
pub(super) fn one(range: Range<usize>) -> Vec<Range<usize>> {
    std::iter::once(range).collect()
}

/// Bits of the stored page in its order, each range with its first bit in the arranged page.
struct Places(Vec<(Range<usize>, usize)>);

impl Places {
    fn of(arrangement: &[Range<usize>]) -> Self {
        let mut at = 0;
        let mut places: Vec<_> = Vec::new();
        for range in arrangement {
            places.push((range.clone(), at));
            at += range.len();
        }
        places.sort_by_key(|(range, _)| range.start);
        Self(places)
    }

    /// Where bits of the stored page are in the arranged one, in their order; `None` beyond the page.
    fn arranged(&self, stored: &[Range<usize>]) -> Option<Vec<Range<usize>>> {
        let mut arranged: Vec<Range<usize>> = Vec::new();
        for range in stored {
            let mut next = range.start;
            while next < range.end {
                let index = self.0.partition_point(|(place, _)| place.end <= next);
                let (place, first) = self.0.get(index).filter(|(place, _)| place.start <= next)?;
                let end = place.end.min(range.end);
                let start = first + (next - place.start);
                let piece = start..start + (end - next);
                match arranged.last_mut() {
                    Some(last) if last.end == piece.start => last.end = piece.end,
                    _ => arranged.push(piece),
                }
                next = end;
            }
        }
        Some(arranged)
    }
}
