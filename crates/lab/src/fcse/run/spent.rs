//! What a piece of a run cost: cycles, instructions, misses, waiting.
//!
//! Layer: rank 11. Main types: [`Costs`], counts since reset or between two marks; [`Spread`], many values of one kind.

use boardlab_realview::Machine;
use boardlab_result::prose::{float, round};
use boardlab_sim::Hertz;

/// Counts since reset, or from one mark to another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Costs {
    pub(crate) cycles: u64,
    pub(crate) instructions: u64,
    /// Lines of the instruction cache that were filled.
    pub(crate) instruction_misses: u64,
    /// Lines of the data cache that were filled.
    pub(crate) data_misses: u64,
    /// Translation table walks.
    pub(crate) walks: u64,
    /// Half lines of the data cache that were written back.
    pub(crate) half_lines: u64,
    /// Cycles of waiting: for instructions, data, walks, write buffers, uncached accesses, maintenance.
    pub(crate) waiting: [u64; 6],
}

/// Names of [`Costs::waiting`].
pub(crate) const WAITING: [(&str, &str); 6] = [
    ("fetch", "instruction lines"),
    ("data", "data lines"),
    ("walk", "table walks"),
    ("write_buffer", "write buffers"),
    ("uncached", "uncached accesses"),
    ("maintenance", "maintenance"),
];

impl Costs {
    /// What a machine spent since reset.
    pub(crate) fn of(machine: &Machine) -> Self {
        let processor = machine.processor();
        let statistics = processor.memory.statistics();
        let all = &statistics.waiting;
        Self {
            cycles: machine.now().0,
            instructions: processor.counts.instructions,
            instruction_misses: statistics.instruction_cache.read_misses,
            data_misses: statistics.data_cache.read_misses,
            walks: statistics.tlb_misses,
            half_lines: statistics.data_cache.half_lines_written,
            waiting: [
                all.fetch,
                all.data,
                all.walk,
                all.write_buffer,
                all.uncached,
                all.maintenance,
            ],
        }
    }

    /// What was spent after `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        self.with(before, |after, before| after - before)
    }

    /// Without `count` times `other`, but never below nothing.
    pub(crate) fn without(&self, other: &Self, count: u64) -> Self {
        self.with(other, |mine, other| mine.saturating_sub(other * count))
    }

    /// Count by count, what `combine` makes of this one's and the other's.
    fn with(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            cycles: combine(self.cycles, other.cycles),
            instructions: combine(self.instructions, other.instructions),
            instruction_misses: combine(self.instruction_misses, other.instruction_misses),
            data_misses: combine(self.data_misses, other.data_misses),
            walks: combine(self.walks, other.walks),
            half_lines: combine(self.half_lines, other.half_lines),
            waiting: std::array::from_fn(|kind| combine(self.waiting[kind], other.waiting[kind])),
        }
    }

    /// A count of each of `times` times, with two decimals.
    pub(crate) fn each(count: u64, times: u64) -> f64 {
        round(float(count) / float(times.max(1)), 2)
    }
}

/// Nanoseconds of so many cycles.
pub(crate) fn nanoseconds(cycles: f64, clock: Hertz) -> f64 {
    round(cycles * 1e9 / float(clock.get()), 1)
}

/// Values of one kind: their ends, mean and rare large ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) count: u64,
    pub(crate) min: u64,
    pub(crate) mean: f64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) max: u64,
}

impl Spread {
    /// Of at least one value. A percentile is the least value that so many are not above (the nearest rank).
    pub(crate) fn of(mut values: Vec<u64>) -> Option<Self> {
        values.sort_unstable();
        let (min, max) = (*values.first()?, *values.last()?);
        let rank = |per_mille: usize| {
            values[(values.len() * per_mille).div_ceil(1_000).clamp(1, values.len()) - 1]
        };
        let count = u64::try_from(values.len()).unwrap_or(u64::MAX);
        let sum: u64 = values.iter().sum();
        let (p99, p999) = (rank(990), rank(999));
        Some(Self { count, min, mean: float(sum) / float(count), p99, p999, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_nearest_rank() {
        let spread = Spread::of((1..=1_000).rev().collect()).unwrap();
        let Spread { count, min, p99, p999, max, .. } = spread;
        assert_eq!((count, min, p99, p999, max), (1_000, 1, 990, 999, 1_000));
        assert!((spread.mean - 500.5).abs() < 1e-9);
        let one = Spread::of(vec![7]).unwrap();
        assert_eq!((one.min, one.p99, one.p999, one.max), (7, 7, 7, 7));
        assert_eq!(Spread::of(Vec::new()), None);
        let rare = Spread::of([vec![5; 998], vec![90, 100]].concat()).unwrap();
        assert_eq!((rare.p99, rare.p999, rare.max), (5, 90, 100));
    }

    #[test]
    fn what_passed_is_the_difference_without_the_work_alone() {
        let mut early = Costs { cycles: 10, ..Costs::default() };
        early.waiting[2] = 1;
        let mut later = Costs { cycles: 1_010, instructions: 400, data_misses: 9, ..early };
        later.waiting[2] = 31;
        let spent = later.since(&early);
        assert_eq!((spent.cycles, spent.data_misses, spent.waiting[2]), (1_000, 9, 30));
        let alone = Costs { cycles: 100, data_misses: 5, ..Costs::default() };
        let net = spent.without(&alone, 2);
        assert_eq!((net.cycles, net.data_misses, net.instructions), (800, 0, 400));
    }
}
