//! The payload of an incoming Data FIS, until its CRC is checked.
//!
//! Layer: below the command layer. Main type: [`Frame`]. It recognises counting patterns in words, so
//! that a drive stores them as compactly if they arrive word by word as if they arrive as a pattern.

use crate::device::store::Data;
use crate::wire::{Counting, Step};
use crate::{LARGEST_DATA, SECTOR_DWORDS};

/// The payload of a Data FIS.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    dwords: u32,
    /// The whole payload, if it is a counting pattern.
    described: Option<Counting>,
    /// The whole payload otherwise.
    words: Vec<u32>,
}

impl Frame {
    /// Begins a new frame.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.dwords = 0;
        self.described = None;
        self.words.clear();
    }

    /// Returns the number of sectors, if it is whole, not zero and within the maximum.
    #[inline]
    pub(crate) fn sectors(&self) -> Option<u64> {
        let fits = (1..=LARGEST_DATA).contains(&self.dwords);
        let whole = fits && self.dwords.is_multiple_of(SECTOR_DWORDS);
        whole.then(|| u64::from(self.dwords / SECTOR_DWORDS))
    }

    pub(crate) fn take(&mut self, words: &[u32]) {
        self.expand();
        let count = u32::try_from(words.len()).unwrap_or(u32::MAX);
        self.dwords = self.dwords.saturating_add(count);
        // A frame above the maximum is refused at its end, so the excess is not stored.
        if self.dwords <= LARGEST_DATA {
            self.words.extend_from_slice(words);
        }
    }

    #[inline]
    pub(crate) fn take_described(&mut self, dwords: u32, words: Counting) {
        match self.described {
            None if self.dwords == 0 => self.described = Some(words),
            Some(all) if all.from(self.dwords.into()) == words => {}
            _ => {
                self.expand();
                let fits = self.dwords.saturating_add(dwords) <= LARGEST_DATA;
                let count = if fits { dwords } else { 0 };
                self.words.extend((0..count.into()).map(|at| words.word(at)));
            }
        }
        self.dwords = self.dwords.saturating_add(dwords);
    }

    /// Converts a counting pattern into words.
    fn expand(&mut self) {
        if let Some(words) = self.described.take() {
            let count = self.dwords.min(LARGEST_DATA);
            self.words.extend((0..count.into()).map(|at| words.word(at)));
        }
    }

    /// Returns the payload.
    #[inline]
    pub(crate) fn data(&self) -> Data<'_> {
        if let Some(words) = self.described {
            return Data::Counting(words);
        }
        match counting_pattern(&self.words) {
            Some(words) => Data::Counting(words),
            None => Data::Words(&self.words),
        }
    }

    /// Returns the payload as words.
    pub(crate) fn words(&mut self) -> &[u32] {
        self.expand();
        &self.words
    }
}

/// Returns the words as a counting pattern, if they are one.
fn counting_pattern(words: &[u32]) -> Option<Counting> {
    let (&first, &second) = (words.first()?, words.get(1)?);
    let step = if second == first.wrapping_add(1) { Step::Up } else { Step::Down };
    let all = Counting { first, step };
    (0..).zip(words).all(|(at, &word)| all.word(at) == word).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: Counting = Counting { first: u32::MAX - 5, step: Step::Up };

    #[test]
    fn a_counting_pattern_is_recognised_in_words() {
        let mut frame = Frame::default();
        for step in [Step::Up, Step::Down] {
            frame.clear();
            let words = Counting { first: 3, step };
            let mut all = [0; 256];
            words.fill(0, &mut all);
            frame.take(&all[..100]);
            frame.take(&all[100..]);
            assert_eq!((frame.sectors(), frame.data()), (Some(2), Data::Counting(words)));
            all[255] = 0;
            frame.clear();
            frame.take(&all);
            assert_eq!(frame.data(), Data::Words(&all));
        }
    }

    #[test]
    fn patterns_and_words_of_one_frame_keep_their_order() {
        let mut frame = Frame::default();
        frame.take_described(100, UP);
        frame.take_described(28, UP.from(100));
        assert_eq!(frame.data(), Data::Counting(UP));
        frame.take(&[7; 100]);
        frame.take_described(28, UP);
        assert_eq!(frame.sectors(), Some(2));
        let words = frame.words();
        assert_eq!((words[127], words[128], words[228]), (UP.word(127), 7, UP.first));
        frame.take(&[7; 4_000]);
        assert_eq!(frame.sectors(), None, "too long");
    }
}
