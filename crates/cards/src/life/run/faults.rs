//! When data become uncorrectable: bit errors, the ECC and the read retries, over the whole card.
//!
//! Layer: rank 10. Main types: [`Faults`]; function: [`beyond`]. For each block the rate of wrong bits
//! follows from its erases, its reads and the age of its data, by the same curves that the translation
//! layer reads with ([`boardlab_media::ErrorRates`]). A codeword is lost when more bits are wrong at
//! the last step of the ladder than the code corrects. Wrong bits of a codeword are Poisson
//! distributed, and a codeword that was readable fails later exactly when its bits pass the limit: so
//! what is expected to be lost grows by the rise of the tail. The first loss is an event of that
//! process: it comes when the sum passes a number that is drawn once for each card, from the
//! exponential distribution.
//!
//! Reading bit by bit, as the layer does, gives the same distribution and cannot be done for the ten
//! billion codewords of a life. Left out: dependence of the rates on temperature, and pages of a block
//! that differ.

use super::model::Scale;
use crate::life::scenario::{DAY, Days};
use boardlab_ftl::{Health, PageMapped, ReadErrors, UntimedMedium};
use boardlab_media::{ErrorRates, Stress};
use boardlab_result::prose::float;
use boardlab_sim::{Duration, Instant, Seed};

/// 10^18: what rates count in.
const ATTO: f64 = 1e18;

/// What of a card can no longer be read.
#[derive(Debug, Clone)]
pub(crate) struct Faults {
    rates: ErrorRates,
    /// Bits of a codeword, wrong ones that are corrected, codewords of a real page.
    bits: f64,
    correctable: u32,
    codewords: f64,
    scale: Scale,
    /// Page reads of a block in a nanosecond.
    reads: f64,
    shelf: Duration,
    /// Erases of each block at the last look, and the tail then.
    before: Vec<(u64, f64)>,
    looked: Instant,
    /// Codewords that are expected to be lost so far, and at how many the first is.
    expected: f64,
    first: f64,
}

impl Faults {
    /// No losses yet, of a card whose host reads `reads_a_day` pages of a block in a day.
    pub(crate) fn new(
        errors: &ReadErrors,
        layer: &PageMapped<UntimedMedium>,
        scale: Scale,
        days: &Days,
        reads_a_day: f64,
        seed: Seed,
    ) -> Self {
        let last = errors.retries.iter().copied().min().unwrap_or(1_000).min(1_000);
        let page = layer.flash().geometry().page();
        let drawn = seed.stream("life.uncorrectable").next_u64();
        let uniform = (float(drawn >> 11) + 0.5) / 9_007_199_254_740_992.0;
        Self {
            rates: errors.rates.scaled(last.into(), 1_000),
            bits: float(errors.codeword.get() * 8),
            correctable: errors.correctable,
            codewords: float(page.div_ceil(errors.codeword)),
            scale,
            reads: reads_a_day / float(DAY.as_nanos()),
            shelf: days.shelf,
            before: vec![(0, 0.0); layer.flash().geometry().blocks() as usize],
            looked: Instant::ZERO,
            expected: 0.0,
            first: -uniform.ln(),
        }
    }

    /// Looks at all blocks; whether something was lost since the beginning.
    pub(crate) fn look(&mut self, layer: &PageMapped<UntimedMedium>, now: Instant) -> bool {
        let Some(health) = layer.flash().health() else { return false };
        let passed = now.saturating_since(self.looked);
        self.looked = now;
        for block in 0..layer.flash().geometry().blocks() {
            let valid = f64::from(layer.flash().pool().valid(block)) * self.scale.pages();
            self.expected += self.rise(health, block, (now, passed)) * valid * self.codewords;
        }
        self.expected >= self.first || health.unreadable > 0
    }

    /// The rise of the chance that a codeword of the block is lost.
    fn rise(&mut self, health: &Health, block: u32, (now, passed): (Instant, Duration)) -> f64 {
        let stress = health.stress(block, now);
        let erases = health.worn(block);
        let (erased, tail) = self.before[block as usize];
        let rounds = (erases - erased) / 1_000;
        if rounds == 0 && erases == erased {
            let now = self.tail(stress, stress.retention);
            self.before[block as usize] = (erases, now);
            return (now - tail).max(0.0);
        }
        // Filled anew since the last look, perhaps several times: each time for about as long.
        let lasted = passed / (rounds + 1);
        let each = self.tail(stress, lasted.max(stress.retention));
        let rest = self.tail(stress, stress.retention);
        self.before[block as usize] = (erases, rest);
        each * float(rounds.max(1))
    }

    /// The chance that a codeword in a block under such stress is lost, after `age`.
    fn tail(&self, stress: Stress, age: Duration) -> f64 {
        let age = Duration::from_nanos(age.as_nanos().saturating_add(self.shelf.as_nanos()));
        let read = float(age.as_nanos()) * self.reads;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let reads = stress.reads.saturating_add(read as u64);
        let erases = stress.erases.saturating_mul(self.scale.step);
        let rate = self.rates.rate(Stress { erases, reads, retention: age, ..stress });
        beyond(float(rate) / ATTO * self.bits, self.correctable)
    }
}

/// The chance that a Poisson distributed number with this mean is more than `most`.
#[must_use]
pub fn beyond(mean: f64, most: u32) -> f64 {
    let next = f64::from(most) + 1.0;
    if mean <= 0.0 {
        return 0.0;
    }
    // Chernoff's bound: nothing that could matter among 10^15 codewords.
    if mean < next && next * (next / mean).ln() - next + mean > 60.0 {
        return 0.0;
    }
    let logarithm = |count: f64| count * mean.ln() - mean - gamma(count + 1.0);
    if mean > next {
        let below: f64 = (0..=most).map(|count| logarithm(f64::from(count)).exp()).sum();
        return (1.0 - below).clamp(0.0, 1.0);
    }
    let (mut term, mut sum, mut count) = (logarithm(next).exp(), 0.0, next);
    while term > sum * 1e-17 && term > 0.0 {
        sum += term;
        count += 1.0;
        term *= mean / count;
    }
    sum.min(1.0)
}

/// The logarithm of the gamma function: Stirling's series, from 8 on after the recurrence.
fn gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 8.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse / 1_260.0)) / x;
    shift + (x - 0.5) * x.ln() - x + 0.918_938_533_204_672_8 + series
}

#[cfg(test)]
mod tests {
    use super::beyond;

    #[test]
    fn the_tail_is_that_of_the_poisson_distribution() {
        // P(N > 0) = 1 - exp(-m), P(N > 1) = 1 - (1 + m) exp(-m).
        for mean in [1e-6_f64, 0.1, 1.0, 5.0] {
            let none = (-mean).exp();
            assert!((beyond(mean, 0) / -(-mean).exp_m1() - 1.0).abs() < 1e-9, "{mean}");
            if mean > 0.01 {
                assert!((beyond(mean, 1) / (1.0 - (1.0 + mean) * none) - 1.0).abs() < 1e-9);
            }
        }
        // Means 40 and 8: R's ppois(72, 40, lower = FALSE) and ppois(72, 8, lower = FALSE) by
        // summation.
        let sum = |mean: f64, from: u32| -> f64 {
            let mut term = (-mean).exp();
            let mut all = 0.0;
            for count in 1..1_000 {
                term *= mean / f64::from(count);
                all += if count >= from { term } else { 0.0 };
            }
            all
        };
        for (mean, most) in [(40.0, 72), (8.0, 30), (90.0, 72)] {
            assert!((beyond(mean, most) / sum(mean, most + 1) - 1.0).abs() < 1e-9, "{mean}");
        }
        assert!(beyond(1.0, 100) < 1e-20);
        assert!((0..200).map(|m| beyond(f64::from(m), 72)).is_sorted());
    }
}
