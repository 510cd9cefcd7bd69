//! Latencies: histograms with their percentiles, and every latency, reduced.
//!
//! Layer: rank 8. Main types: [`Latencies`], [`Histogram`], [`Each`]. Source: `docs/formats/measurement.md`;
//! the classes are those of the agent's `record.c`.

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// Latencies below this are classes of their own.
const EXACT: u64 = 128;
/// The highest bits that latencies of a class share.
const BITS: u32 = 7;
/// The most groups of [`Each`].
pub const GROUPS_MAX: usize = 1_024;

/// The latencies of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latencies {
    /// Their sum.
    pub sum_ns: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// All of them, by class.
    pub histogram: Histogram,
}

/// How many latencies are in each class: the lowest latency of the class and the number, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram(Vec<(u64, u64)>);

impl Histogram {
    /// The histogram with these classes; `None` unless they are classes, ascending, none empty, and have
    /// `operations` latencies in all.
    #[must_use]
    pub fn new(classes: Vec<(u64, u64)>, operations: u64) -> Option<Self> {
        let ascend = classes.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let are_classes = classes.iter().all(|(low, count)| *count > 0 && low % width(*low) == 0);
        let mut counts = classes.iter().map(|(_, count)| *count);
        let sum = counts.try_fold(0, u64::checked_add)?;
        (ascend && are_classes && sum == operations).then_some(Self(classes))
    }

    /// The classes: the lowest latency and the number.
    #[must_use]
    pub fn classes(&self) -> &[(u64, u64)] {
        &self.0
    }
}

/// How many latencies share a class with `low`.
const fn width(low: u64) -> u64 {
    if low < EXACT { 1 } else { 1 << (u64::BITS - low.leading_zeros() - BITS) }
}

impl Latencies {
    /// The latency that `share` of 1,000 do not exceed: the middle of its class, within 0.8 %.
    #[must_use]
    pub fn quantile_ns(&self, share: u16) -> u64 {
        let classes = self.histogram.classes();
        let count: u128 = classes.iter().map(|(_, count)| u128::from(*count)).sum();
        let rank = (count * u128::from(share.min(1_000))).div_ceil(1_000).max(1);
        let mut below = 0;
        let class = classes.iter().find(|(_, count)| {
            below += u128::from(*count);
            below >= rank
        });
        let low = class.map_or(self.max_ns, |(low, _)| *low);
        (low + (width(low) - 1) / 2).clamp(self.min_ns, self.max_ns.max(self.min_ns))
    }
}

/// Latencies that are counted one after the other.
#[derive(Debug, Clone, Default)]
pub struct Counter {
    classes: BTreeMap<u64, u64>,
    sum_ns: u64,
    extremes: Option<(u64, u64)>,
}

impl Counter {
    /// Counts one.
    pub fn record(&mut self, ns: u64) {
        *self.classes.entry(ns - ns % width(ns)).or_default() += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        let (least, most) = self.extremes.unwrap_or((ns, ns));
        self.extremes = Some((least.min(ns), most.max(ns)));
    }

    /// All of them; `None` if there was none.
    #[must_use]
    pub fn latencies(&self) -> Option<Latencies> {
        let (min_ns, max_ns) = self.extremes?;
        let histogram = Histogram(self.classes.iter().map(|(low, count)| (*low, *count)).collect());
        Some(Latencies { sum_ns: self.sum_ns, min_ns, max_ns, histogram })
    }
}

/// Every latency in order, in at most [`GROUPS_MAX`] groups of equally many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Each {
    /// The number of latencies.
    pub count: u64,
    /// The number of latencies of a group; the last one may have fewer.
    pub group: u64,
    /// The shortest and the longest latency of each group.
    pub extremes: Vec<(u64, u64)>,
}

impl Each {
    fn push(&mut self, ns: u64) {
        self.group = self.group.max(1);
        if self.count.is_multiple_of(self.group) {
            if self.extremes.len() == GROUPS_MAX {
                self.halve();
            }
            self.extremes.push((ns, ns));
        }
        if let Some((least, most)) = self.extremes.last_mut() {
            (*least, *most) = ((*least).min(ns), (*most).max(ns));
        }
        self.count += 1;
    }

    /// Joins every two groups.
    fn halve(&mut self) {
        let join = |pair: &[(u64, u64)]| {
            let (least, most) =
                (pair.iter().map(|one| one.0).min(), pair.iter().map(|one| one.1).max());
            least.zip(most)
        };
        self.extremes = self.extremes.chunks(2).filter_map(join).collect();
        self.group *= 2;
    }
}

impl<'de> Deserialize<'de> for Each {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reducer;

        impl<'de> Visitor<'de> for Reducer {
            type Value = Each;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of latencies")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Each, A::Error> {
                let mut each = Each::default();
                while let Some(ns) = list.next_element()? {
                    each.push(ns);
                }
                match each.count {
                    0 => Err(A::Error::custom("no latency")),
                    _ => Ok(each),
                }
            }
        }

        deserializer.deserialize_seq(Reducer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(values: &[u64]) -> Latencies {
        let mut classes: Vec<(u64, u64)> = Vec::new();
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        for value in sorted {
            let low = value - value % width(value);
            match classes.last_mut() {
                Some((last, count)) if *last == low => *count += 1,
                _ => classes.push((low, 1)),
            }
        }
        let operations = u64::try_from(values.len()).unwrap();
        Latencies {
            sum_ns: values.iter().sum(),
            min_ns: *values.iter().min().unwrap(),
            max_ns: *values.iter().max().unwrap(),
            histogram: Histogram::new(classes, operations).unwrap(),
        }
    }

    #[test]
    fn classes_are_those_of_the_agent() {
        assert_eq!([0, 127, 128, 129, 130, 255, 256].map(width), [1, 1, 2, 2, 2, 2, 4]);
        assert_eq!(width(u64::MAX), 1 << 57);
        for wrong in [
            vec![(129, 1)],
            vec![(258, 1)],
            vec![(5, 0)],
            vec![(5, 1), (5, 1)],
            vec![(6, 1), (5, 1)],
        ] {
            let count = wrong.iter().map(|(_, count)| count).sum();
            assert_eq!(Histogram::new(wrong.clone(), count), None, "{wrong:?}");
        }
        assert_eq!(Histogram::new(vec![(5, 2)], 3), None);
        assert_eq!(Histogram::new(vec![(5, u64::MAX), (6, 1)], 0), None);
        assert!(Histogram::new(vec![(5, 1), (128, 1), (130, 1), (256, 1)], 4).is_some());
    }

    #[test]
    fn quantiles_are_within_a_class_of_the_exact_ones() {
        let values: Vec<u64> = (1..=1_000).map(|n| n * n * 37).collect();
        let latencies = latencies(&values);
        for share in [1, 10, 500, 900, 990, 999, 1_000] {
            let exact = values[usize::from(share) - 1];
            let told = latencies.quantile_ns(share);
            assert!(told.abs_diff(exact) * 1_000 <= exact * 8, "{share}: {told} {exact}");
        }
    }

    #[test]
    fn quantiles_of_few_latencies_are_among_them() {
        let few = latencies(&[1_000_003]);
        assert_eq!([0, 500, 1_000].map(|share| few.quantile_ns(share)), [1_000_003; 3]);
        let few = latencies(&[3, 90]);
        assert_eq!([0, 500, 501, 999].map(|share| few.quantile_ns(share)), [3, 3, 90, 90]);
        let huge = latencies(&[u64::MAX]);
        assert_eq!(huge.quantile_ns(999), u64::MAX);
    }

    #[test]
    fn every_latency_is_reduced_to_few_groups() {
        let mut each = Each::default();
        for ns in 0..100_000 {
            each.push(ns);
        }
        assert_eq!((each.count, each.group, each.extremes.len()), (100_000, 128, 782));
        assert_eq!(each.extremes[1], (128, 255));
        assert_eq!(each.extremes[781], (99_968, 99_999));
        let mut few = Each::default();
        [7, 3, 9].into_iter().for_each(|ns| few.push(ns));
        assert_eq!((few.group, few.extremes), (1, vec![(7, 7), (3, 3), (9, 9)]));
    }
}
