//! The results of the error correction of an image, by ECC step.
//!
//! Layer: rank 7. Main types: [`Health`] and [`Step`]. A page that is read twice counts once.

use boardlab_sim::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// An ECC step with bit errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The page, counted from the beginning of the flash.
    pub page: u64,
    /// The step within the page.
    pub step: u64,
    /// The number of corrected bits; `None` when uncorrectable.
    pub bits: Option<u32>,
}

/// All ECC steps with bit errors, and the pages that the operating system cannot read.
#[derive(Debug, Clone, Default)]
pub struct Health {
    steps: BTreeMap<(u64, u32), Option<u32>>,
    unreadable: BTreeSet<u64>,
}

impl Health {
    pub(crate) fn note(&mut self, page: u64, step: usize, bits: Option<u32>) {
        let step = u32::try_from(step).expect("a page has at most 256 steps");
        self.steps.insert((page, step), bits);
    }

    pub(crate) fn note_unreadable(&mut self, page: u64) {
        self.unreadable.insert(page);
    }

    /// All ECC steps with bit errors, in order.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let step = |(&(page, step), &bits): (&(u64, u32), &Option<u32>)| Step {
            page,
            step: step.into(),
            bits,
        };
        self.steps.iter().map(step)
    }

    /// Corrected bits.
    #[must_use]
    pub fn corrected_bits(&self) -> u64 {
        self.steps.values().flatten().map(|&bits| u64::from(bits)).sum()
    }

    /// Corrected ECC steps.
    #[must_use]
    pub fn corrected_steps(&self) -> u64 {
        self.steps.values().flatten().count() as u64
    }

    /// Uncorrectable ECC steps.
    #[must_use]
    pub fn uncorrectable_steps(&self) -> u64 {
        self.steps.len() as u64 - self.corrected_steps()
    }

    /// Pages that the operating system cannot read.
    pub fn unreadable(&self) -> impl Iterator<Item = u64> + '_ {
        self.unreadable.iter().copied()
    }

    /// Whether something of `range` is lost, in a flash of such pages and steps.
    pub(crate) fn is_lost(&self, range: &Range<Bytes>, page: Bytes, step: Bytes) -> bool {
        if page.is_zero() || range.is_empty() {
            return false;
        }
        let (first, last) = (range.start / page, (range.end - Bytes::new(1)) / page);
        if self.unreadable.range(first..=last).next().is_some() {
            return true;
        }
        let lost =
            self.steps.range((first, 0)..=(last, u32::MAX)).filter(|(_, bits)| bits.is_none());
        lost.into_iter().any(|(&(number, index), _)| {
            let start = page * number + step * u64::from(index);
            start < range.end && range.start < start + step
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_counts_once_and_is_found_by_its_bytes() {
        let mut health = Health::default();
        for _ in 0..2 {
            health.note(3, 1, Some(2));
            health.note(3, 2, None);
        }
        assert_eq!((health.corrected_bits(), health.corrected_steps()), (2, 1));
        assert_eq!(health.uncorrectable_steps(), 1);
        let lost = |start: u64, end: u64| {
            let range = Bytes::new(start)..Bytes::new(end);
            health.is_lost(&range, Bytes::kib(2), Bytes::new(256))
        };
        let step = 3 * 2_048 + 512;
        assert!(lost(step, step + 1) && lost(0, step + 1) && lost(step + 255, step + 256));
        assert!(!lost(0, step) && !lost(step + 256, 1 << 20) && !lost(step, step));
        health.note_unreadable(9);
        let page = Bytes::kib(2);
        assert!(health.is_lost(&(page * 9..page * 10), page, Bytes::ZERO));
    }
}
