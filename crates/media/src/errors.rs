//! Bit errors of NAND as an overlay over the data written: wear, retention and read disturb.
//!
//! Layer: physics below the chip. Main types: [`ErrorRates`], the bit error rates; [`BitErrors`],
//! the bit errors. The bit errors of a page are a pure function of seed, block, page, erase count
//! and stress. The stored data stay unchanged, so errors can be switched off, and a fork of the
//! device has the same errors.
//!
//! # How
//! The rates give the mean number of bit errors of a page, `m`, which only grows between two erases.
//! Bit errors are the events of a Poisson process of rate 1 on the interval from 0 to `m`. A hash of
//! the page's position determines the number of events between two whole numbers, their positions, and
//! the bit that each flips. A page under more stress keeps all its bit errors and may get more.
//! The arithmetic is integer: the counts come from a table of the Poisson distribution's quantiles in
//! 2^-64.
//!
//! # Rates
//! `rate = program(erases) + retention(erases) share(hours) + disturb(erases) reads`, where each
//! function is piecewise linear ([`Curve`]). The form is that of Kim, Choi, Min, "Design tradeoffs for
//! SSD reliability" (FAST 2019): wear, retention and read disturb add up. [`ErrorRates::typical`] has
//! the sources of the points.
//!
//! Left out: differences between the pages of a block, layers of 3D NAND, recovery (of an erased page,
//! or by rest between erases), dependence on the data and on temperature.

use crate::nand::{CellKind, Row, Stress, mix};
use boardlab_sim::{Duration, Seed};
use std::sync::Arc;

/// Parts of one in which rates are counted: 10^-18.
const ATTO: u128 = 1_000_000_000_000_000_000;

/// The quantiles of the Poisson distribution with mean 1, in 2^-64: entry k is the chance of at most k.
const POISSON: [u64; 20] = [
    6_786_177_901_268_885_274,
    13_572_355_802_537_770_549,
    16_965_444_753_172_213_186,
    18_096_474_403_383_694_065,
    18_379_231_815_936_564_285,
    18_435_783_298_447_138_329,
    18_445_208_545_532_234_003,
    18_446_555_009_401_533_385,
    18_446_723_317_385_195_808,
    18_446_742_018_272_269_410,
    18_446_743_888_360_976_771,
    18_446_744_058_369_041_076,
    18_446_744_072_536_379_768,
    18_446_744_073_626_175_052,
    18_446_744_073_704_017_573,
    18_446_744_073_709_207_074,
    18_446_744_073_709_531_418,
    18_446_744_073_709_550_497,
    18_446_744_073_709_551_557,
    18_446_744_073_709_551_613,
];

/// A piecewise linear, non-decreasing curve; beyond the last point it continues the last segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curve {
    points: Arc<[(u64, u64)]>,
}

impl Curve {
    /// The curve through `points`, in ascending order of `x`.
    ///
    /// `None` if there are no points, two have the same `x`, or the curve falls.
    #[must_use]
    pub fn new(points: &[(u64, u64)]) -> Option<Self> {
        let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        (!points.is_empty() && rises).then(|| Self { points: points.into() })
    }

    /// A constant curve.
    #[must_use]
    pub fn flat(value: u64) -> Self {
        Self { points: Arc::new([(0, value)]) }
    }

    /// The curve with all values multiplied by `numerator / denominator`, rounded down.
    ///
    /// # Panics
    /// When the denominator is zero.
    #[must_use]
    pub fn scaled(&self, numerator: u64, denominator: u64) -> Self {
        let scale = |value: u64| {
            let wide = u128::from(value) * u128::from(numerator) / u128::from(denominator);
            u64::try_from(wide).unwrap_or(u64::MAX)
        };
        Self { points: self.points.iter().map(|&(x, y)| (x, scale(y))).collect() }
    }

    /// The value at `x`, rounded down; before the first point, the first point's value.
    #[must_use]
    pub fn at(&self, x: u64) -> u64 {
        let after = self.points.partition_point(|point| point.0 <= x);
        let (low, high) = match after {
            0 => return self.points[0].1,
            _ if self.points.len() == 1 => return self.points[0].1,
            _ if after == self.points.len() => (self.points[after - 2], self.points[after - 1]),
            _ => (self.points[after - 1], self.points[after]),
        };
        let (rise, run) = (u128::from(high.1 - low.1), u128::from(high.0 - low.0));
        let value = u128::from(low.1) + rise * u128::from(x - low.0) / run;
        u64::try_from(value).unwrap_or(u64::MAX)
    }
}

/// The bit error rate (RBER), in 10^-18.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorRates {
    /// By P/E cycles of the block: the rate immediately after the program.
    pub program: Curve,
    /// By erases: the additional rate after a year.
    pub retention: Curve,
    /// By hours since the program: the fraction of the year's rate, in thousandths; may exceed 1,000.
    pub retention_share: Curve,
    /// By erases: the additional rate for each read of a page of the block.
    pub disturb: Curve,
}

impl ErrorRates {
    /// Rates without errors.
    #[must_use]
    pub fn none() -> Self {
        let none = Curve::flat(0);
        let [program, retention, retention_share] = [none.clone(), none.clone(), none.clone()];
        Self { program, retention, retention_share, disturb: none }
    }

    /// A constant rate in 10^-18, independent of stress: for tests.
    #[must_use]
    pub fn constant(rate: u64) -> Self {
        Self { program: Curve::flat(rate), ..Self::none() }
    }

    /// All rates multiplied by `numerator / denominator`, as for a read with other read voltages.
    ///
    /// # Panics
    /// When the denominator is zero.
    #[must_use]
    pub fn scaled(&self, numerator: u64, denominator: u64) -> Self {
        Self {
            program: self.program.scaled(numerator, denominator),
            retention: self.retention.scaled(numerator, denominator),
            retention_share: self.retention_share.clone(),
            disturb: self.disturb.scaled(numerator, denominator),
        }
    }

    /// The rates of a kind of cell. Only the points marked as published are published.
    ///
    /// | | source |
    /// |---|---|
    /// | MLC, read disturb | published: Cai, Luo, Ghose, Haratsch, Mai, Mutlu, "Read disturb errors in MLC NAND flash memory" (DSN 2015), figure 3: slopes of 1.00, 1.63, 2.37, 3.74, 7.50, 9.10 and 19.0 times 10^-9 a read at 2, 3, 4, 5, 8, 10 and 15 thousand erases |
    /// | MLC, program and retention | assumed: of the order of Cai, Haratsch, Mutlu, Mai, "Error patterns in MLC NAND flash memory" (DATE 2012): retention the largest, 10^-4 and more at some thousand erases and a year; not read off |
    /// | SLC | assumed: MLC's at a twentieth of the erases and a hundredth of the rate; Grupp, Davis, Swanson, "The bleak future of NAND flash memory" (FAST 2012) gives 10 to 20 times fewer erases for each bit a cell |
    /// | TLC, QLC | assumed: MLC's at 3 and 10 times the erases |
    /// | share of retention by time | assumed: grows with the logarithm of time, 30 % in a day, 60 % in a month |
    #[must_use]
    pub fn typical(cell: CellKind) -> Self {
        let (erases, divisor) = match cell {
            CellKind::Slc => ((20, 1), 100),
            CellKind::Mlc => ((1, 1), 1),
            CellKind::Tlc => ((1, 3), 1),
            CellKind::Qlc => ((1, 10), 1),
        };
        let curve = |points: &[(u64, u64)]| {
            let point = |&(x, y): &(u64, u64)| (x * erases.0 / erases.1, y / divisor);
            let points: Vec<_> = points.iter().map(point).collect();
            Curve::new(&points).expect("a rising table stays so when it is scaled")
        };
        const NANO: u64 = 1_000_000_000;
        let share = [(0, 0), (1, 100), (24, 300), (720, 600), (8_760, 1_000), (87_600, 1_400)];
        Self {
            program: curve(&[
                (0, 10 * NANO),
                (3_000, 1_000 * NANO),
                (10_000, 20_000 * NANO),
                (20_000, 100_000 * NANO),
            ]),
            retention: curve(&[
                (0, 1_000 * NANO),
                (3_000, 100_000 * NANO),
                (10_000, 1_000_000 * NANO),
                (20_000, 4_000_000 * NANO),
            ]),
            retention_share: Curve::new(&share).expect("the table rises"),
            disturb: curve(&[
                (0, NANO / 2),
                (2_000, NANO),
                (3_000, 1_630_000_000),
                (4_000, 2_370_000_000),
                (5_000, 3_740_000_000),
                (8_000, 7_500_000_000),
                (10_000, 9_100_000_000),
                (15_000, 19_000_000_000),
            ]),
        }
    }

    /// The probability of a bit error, in 10^-18; at most one.
    #[must_use]
    pub fn rate(&self, stress: Stress) -> u64 {
        let erases = u64::from(stress.erases);
        let disturb = u128::from(self.disturb.at(erases)) * u128::from(stress.reads);
        let written = if stress.programmed { self.written(erases, stress.retention) } else { 0 };
        let rate = (disturb + written).min(ATTO);
        u64::try_from(rate).expect("at most 10^18")
    }

    /// The rate that a page with data has in addition to read disturb.
    fn written(&self, erases: u64, retention: Duration) -> u128 {
        const HOUR: u64 = 3_600_000_000_000;
        let (hours, rest) = (retention.as_nanos() / HOUR, retention.as_nanos() % HOUR);
        let (low, high) = (self.retention_share.at(hours), self.retention_share.at(hours + 1));
        // Linear within an hour, so that the rate never falls.
        let within = u128::from(high - low) * u128::from(rest) / u128::from(HOUR);
        let share = u128::from(low) + within;
        u128::from(self.program.at(erases)) + u128::from(self.retention.at(erases)) * share / 1_000
    }
}

/// The bit errors of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitErrors {
    key: u64,
    rates: ErrorRates,
}

impl BitErrors {
    /// The bit errors of a part with these rates; `seed` selects the bits.
    #[must_use]
    pub fn new(seed: Seed, rates: ErrorRates) -> Self {
        Self { key: seed.child("media.bit_errors").get(), rates }
    }

    /// The rates.
    #[must_use]
    pub const fn rates(&self) -> &ErrorRates {
        &self.rates
    }

    /// The bit errors of a page of `bits` bits, including OOB bits, in ascending order.
    ///
    /// # Panics
    /// When `bits` is zero.
    #[must_use]
    pub fn wrong_bits(&self, row: Row, stress: Stress, bits: u64) -> Vec<u64> {
        assert!(bits > 0, "BitErrors::wrong_bits: a page without bits");
        // The mean in fixed point, with 32 fractional bits.
        let mean = ((u128::from(self.rates.rate(stress)) * u128::from(bits)) << 32) / ATTO;
        let mean = u64::try_from(mean).unwrap_or(u64::MAX);
        let page = mix(self.key ^ mix(u64::from(row.block) << 32 | u64::from(row.page)));
        let page = mix(page ^ u64::from(stress.erases));
        let mut wrong = Vec::new();
        for unit in 0..mean.div_ceil(1 << 32) {
            let key = mix(page ^ mix(unit));
            let count = POISSON.partition_point(|&most| most < key);
            for event in (1_u64..).take(count) {
                let drawn = mix(key ^ mix(event));
                let (place, bit) = (unit << 32 | drawn >> 32, mix(drawn));
                if place < mean {
                    let bit = (u128::from(bit) * u128::from(bits)) >> 64;
                    wrong.push(u64::try_from(bit).expect("below the number of bits"));
                }
            }
        }
        // Two events at one bit are one bit error.
        wrong.sort_unstable();
        wrong.dedup();
        wrong
    }

    /// Applies the bit errors to a whole page. Returns their number.
    ///
    /// # Panics
    /// When `page` is empty.
    pub fn apply(&self, row: Row, stress: Stress, page: &mut [u8]) -> usize {
        let bits = u64::try_from(page.len() * 8).expect("a page fits u64");
        let wrong = self.wrong_bits(row, stress, bits);
        for &bit in &wrong {
            let at = usize::try_from(bit / 8).expect("a place within the page");
            page[at] ^= 1 << (bit % 8);
        }
        wrong.len()
    }
}

/// The lifetimes of the blocks of a part in P/E cycles.
///
/// The lifetime of a block is drawn once. It is zero for a factory bad block. For a fraction `early`
/// of the blocks it is uniform up to the endurance; for the others, assumed, uniform from one to
/// three times the endurance, so that the failure rate grows beyond the endurance. Programs fail
/// later than erases, after up to twice as many cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    key: u64,
    /// The endurance in the data sheet, in erases.
    endurance: u32,
    /// The fraction of factory bad blocks, in 65,536ths.
    factory: u32,
    /// The fraction of blocks that do not reach the endurance, in 65,536ths.
    early: u32,
}

impl Lifetime {
    /// Lifetimes for an endurance, with the fractions of factory bad blocks and of blocks that fail
    /// before the endurance, in 65,536ths; `seed` selects the blocks.
    #[must_use]
    pub fn new(seed: Seed, endurance: u32, factory: u32, early: u32) -> Self {
        Self { key: seed.child("media.lifetime").get(), endurance, factory, early }
    }

    /// Whether a block is a factory bad block. Block 0 never is: every data sheet guarantees it.
    #[must_use]
    pub fn is_bad_from_the_factory(&self, block: u32) -> bool {
        block != 0 && self.draw(block, 0) >> 48 < u64::from(self.factory)
    }

    /// Whether an erase fails on a block with `erases` earlier erases.
    #[must_use]
    pub fn erase_fails(&self, block: u32, erases: u32) -> bool {
        u64::from(erases) >= self.life(block)
    }

    /// Whether a program fails on a block with `erases` erases.
    #[must_use]
    pub fn program_fails(&self, block: u32, erases: u32) -> bool {
        let life = self.life(block);
        let more = below(self.draw(block, 3), life.max(1));
        u64::from(erases) >= life + more
    }

    /// The erases of a block after which the next one fails; zero for a factory bad block.
    #[must_use]
    pub fn life(&self, block: u32) -> u64 {
        if self.is_bad_from_the_factory(block) {
            return 0;
        }
        let endurance = u64::from(self.endurance);
        let drawn = self.draw(block, 2);
        if block != 0 && self.draw(block, 1) >> 48 < u64::from(self.early) {
            return below(drawn, endurance.max(1));
        }
        endurance + below(drawn, 2 * endurance + 1)
    }

    fn draw(&self, block: u32, what: u64) -> u64 {
        mix(self.key ^ mix(u64::from(block) << 8 | what))
    }
}

/// `drawn` as a number below `bound`.
fn below(drawn: u64, bound: u64) -> u64 {
    let wide = (u128::from(drawn) * u128::from(bound)) >> 64;
    u64::try_from(wide).expect("below the bound")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Row = Row { block: 3, page: 5 };
    const BITS: u64 = 2_112 * 8;

    fn stress(erases: u32, hours: u64, reads: u64) -> Stress {
        let retention = Duration::from_secs(hours * 3_600);
        Stress { erases, retention, reads, programmed: true }
    }

    #[test]
    fn a_curve_goes_straight_between_its_points_and_on_after_them() {
        let curve = Curve::new(&[(10, 100), (20, 200), (40, 300)]).unwrap();
        let values = [0, 10, 15, 20, 30, 40, 60].map(|x| curve.at(x));
        assert_eq!(values, [100, 100, 150, 200, 250, 300, 400]);
        assert_eq!(Curve::flat(7).at(u64::MAX), 7);
        assert!(Curve::new(&[]).is_none());
        assert!(Curve::new(&[(1, 1), (1, 2)]).is_none());
        assert!(Curve::new(&[(1, 2), (2, 1)]).is_none());
    }

    #[test]
    fn wrong_bits_are_as_many_as_the_rate_says() {
        for per_million in [1_u64, 30, 1_000] {
            let rate = per_million * 1_000_000_000_000;
            let errors = BitErrors::new(Seed::new(1), ErrorRates::constant(rate));
            let wrong: u64 = (0..20_000)
                .map(|page| {
                    let row = Row { block: page / 64, page: page % 64 };
                    u64::try_from(errors.wrong_bits(row, stress(1, 0, 0), BITS).len()).unwrap()
                })
                .sum();
            let expected = 20_000 * BITS * per_million / 1_000_000;
            let spread = 5 * expected.isqrt() + expected / 500;
            assert!(wrong.abs_diff(expected) < spread, "{wrong} instead of {expected}");
        }
    }

    #[test]
    fn a_wrong_bit_stays_wrong_until_the_erase() {
        let errors = BitErrors::new(Seed::new(2), ErrorRates::typical(CellKind::Mlc));
        let mut before = Vec::new();
        for step in 0..2_000 {
            let stress = stress(9_000, step * 10, step * 5_000);
            let now = errors.wrong_bits(ROW, stress, BITS);
            assert!(before.iter().all(|bit| now.contains(bit)), "at step {step}");
            before = now;
        }
        assert!(before.len() > 1_000, "{}", before.len());
        let erased = errors.wrong_bits(ROW, stress(9_001, 20_000, 10_000_000), BITS);
        assert_ne!(before, erased);
    }

    #[test]
    fn an_erased_page_suffers_from_reads_only() {
        let errors = BitErrors::new(Seed::new(2), ErrorRates::typical(CellKind::Mlc));
        let mut stress = stress(20_000, 100_000, 0);
        assert!(!errors.wrong_bits(ROW, stress, BITS).is_empty());
        stress.programmed = false;
        assert!(errors.wrong_bits(ROW, stress, BITS).is_empty());
        stress.reads = 10_000_000;
        assert!(!errors.wrong_bits(ROW, stress, BITS).is_empty());
    }

    #[test]
    fn errors_depend_on_the_seed_and_on_the_place() {
        let of = |seed, block, page| {
            let errors =
                BitErrors::new(Seed::new(seed), ErrorRates::constant(1_000_000_000_000_000));
            errors.wrong_bits(Row { block, page }, stress(1, 0, 0), BITS)
        };
        assert_eq!(of(1, 3, 5), of(1, 3, 5));
        for other in [of(2, 3, 5), of(1, 4, 5), of(1, 3, 4)] {
            assert_ne!(of(1, 3, 5), other);
        }
    }

    #[test]
    fn rates_never_fall_with_stress_and_end_at_one() {
        for cell in [CellKind::Slc, CellKind::Mlc, CellKind::Tlc, CellKind::Qlc] {
            let rates = ErrorRates::typical(cell);
            let mut before = 0;
            for step in 0..1_000_u32 {
                let more = u64::from(step);
                let rate = rates.rate(stress(step * 50, more * 7, more * 1_000));
                assert!(rate >= before, "{cell:?} at step {step}");
                before = rate;
            }
            let worst = rates.rate(stress(u32::MAX, 5_000_000, u64::MAX));
            assert_eq!(u128::from(worst), ATTO);
        }
    }

    #[test]
    fn blocks_live_for_one_to_three_times_the_endurance_but_for_a_share() {
        let life = Lifetime::new(Seed::new(1), 1_000, 0, 655);
        let dies = |block, erases| life.erase_fails(block, erases);
        let early = (0..10_000).filter(|&block| dies(block, 999)).count();
        assert!((70..130).contains(&early), "{early}");
        let middle = (0..10_000).filter(|&block| dies(block, 2_000)).count();
        assert!((4_700..5_400).contains(&middle), "{middle}");
        assert!((0..10_000).all(|block| dies(block, 3_001)));
        assert!((0..10_000).all(|block| !life.program_fails(block, 500) || dies(block, 500)));
    }

    #[test]
    fn the_factory_leaves_its_share_of_bad_blocks_and_block_0_good() {
        let bad = |factory| {
            let life = Lifetime::new(Seed::new(1), 1_000, factory, 0);
            (0..65_536).filter(|&block| life.is_bad_from_the_factory(block)).count()
        };
        assert_eq!(bad(0), 0);
        assert!((500..800).contains(&bad(655)), "{}", bad(655));
        assert_eq!(bad(65_536), 65_535);
    }
}
