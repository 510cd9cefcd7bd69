//! Bands: clusters of throughputs.
//!
//! Layer: rank 10, arithmetic of the experiment. Main types: [`Band`], [`Bands`]; function: [`find`].
//! The values are sorted by their logarithm, because ratios tell bands apart, and cut at the widest
//! gaps. They are cut as often as neighbouring bands are 5 % apart and half of the wider band's span
//! (otherwise one is the other's tail), and the mean silhouette of all samples indicates structure. So
//! a rare state of a card is a band of its own, and noise is none. The code knows no number of a
//! publication.
//!
//! Source: single linkage in one dimension is cutting at the widest gaps; P. J. Rousseeuw,
//! "Silhouettes: a graphical aid to the interpretation and validation of cluster analysis" (1987); 0.5
//! as the least silhouette of a reasonable structure, Kaufman and Rousseeuw, "Finding Groups in Data"
//! (1990).

use super::measure::Rates;
use boardlab_result::prose::float;
use std::ops::Range;

/// The most bands.
const MOST: usize = 8;
/// The least ratio between the nearest samples of neighbouring bands.
const APART: f64 = 1.05;
/// The least mean silhouette that indicates structure.
const STRUCTURE: f64 = 0.5;

/// Samples that lie close together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Band {
    /// The samples, by index.
    pub members: Vec<usize>,
    /// Their least, mean and greatest value.
    pub rates: Rates,
}

/// All bands of some samples, from the fastest to the slowest.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Bands {
    /// The bands.
    pub all: Vec<Band>,
    /// The mean silhouette: 1 for bands far apart; 0 where there is one band only.
    pub silhouette: f64,
}

/// Finds the bands of `values`, all of them above zero. The order of the values does not matter.
pub(crate) fn find(values: &[f64]) -> Bands {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    if order.is_empty() {
        return Bands::default();
    }
    let places: Vec<f64> = order.iter().map(|&index| values[index].ln()).collect();
    let (cuts, silhouette) = cuts(&places);
    let all = stretches(&cuts, places.len()).into_iter().map(|range| band(values, &order[range]));
    Bands { all: all.collect(), silhouette }
}

/// The ranges into which `cuts` divide so many samples.
fn stretches(cuts: &[usize], samples: usize) -> Vec<Range<usize>> {
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([samples]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

fn band(values: &[f64], members: &[usize]) -> Band {
    let rates: Vec<f64> = members.iter().map(|&index| values[index]).collect();
    let mut members = members.to_vec();
    members.sort_unstable();
    Band { members, rates: Rates::of(&rates) }
}

/// The cuts of falling `places`, in rising order, and the mean silhouette with them.
fn cuts(places: &[f64]) -> (Vec<usize>, f64) {
    let mut gaps: Vec<(f64, usize)> =
        (1..places.len()).map(|at| (places[at - 1] - places[at], at)).collect();
    gaps.retain(|(gap, _)| *gap >= APART.ln());
    gaps.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let sums = Sums::new(places);
    let mut best = (Vec::new(), 0.0);
    for count in 1..=gaps.len().min(MOST - 1) {
        let mut cuts: Vec<usize> = gaps[..count].iter().map(|&(_, at)| at).collect();
        cuts.sort_unstable();
        let silhouette = sums.silhouette(&cuts);
        if silhouette >= STRUCTURE && are_apart(places, &cuts) {
            best = (cuts, silhouette);
        }
    }
    best
}

/// Whether the gap at each cut is wider than half of the wider band beside it.
fn are_apart(places: &[f64], cuts: &[usize]) -> bool {
    let width = |range: &Range<usize>| places[range.start] - places[range.end - 1];
    stretches(cuts, places.len()).windows(2).all(|two| {
        let widest = width(&two[0]).max(width(&two[1]));
        places[two[0].end - 1] - places[two[1].start] >= widest / 2.0
    })
}

/// Sums over the first samples, so that the mean distance to a stretch of them costs no loop.
struct Sums<'p> {
    places: &'p [f64],
    sums: Vec<f64>,
}

impl<'p> Sums<'p> {
    fn new(places: &'p [f64]) -> Self {
        let mut sum = 0.0;
        let rest = places.iter().map(|place| {
            sum += place;
            sum
        });
        let sums = [0.0].into_iter().chain(rest).collect();
        Self { places, sums }
    }

    /// The sum of the distances of sample `at` to the samples of a stretch, of which it may be one.
    fn distance(&self, at: usize, stretch: &Range<usize>) -> f64 {
        let (place, from, to) = (self.places[at], stretch.start, stretch.end);
        let middle = at.clamp(from, to);
        let above = self.sums[middle] - self.sums[from] - place * float(middle - from);
        let below = place * float(to - middle) - (self.sums[to] - self.sums[middle]);
        above + below
    }

    /// The mean silhouette of all samples when they are cut at `cuts`.
    fn silhouette(&self, cuts: &[usize]) -> f64 {
        let stretches = stretches(cuts, self.places.len());
        let mut sum = 0.0;
        for (index, stretch) in stretches.iter().enumerate() {
            // Alone in its band a sample counts as zero: Rousseeuw's convention.
            if stretch.len() < 2 {
                continue;
            }
            let before = index.checked_sub(1).map(|before| &stretches[before]);
            let neighbours = || before.into_iter().chain(stretches.get(index + 1));
            for at in stretch.clone() {
                let own = self.distance(at, stretch) / float(stretch.len() - 1);
                let mean = |other: &Range<usize>| self.distance(at, other) / float(other.len());
                let next = neighbours().map(mean).fold(f64::MAX, f64::min);
                sum += (next - own) / next.max(own).max(f64::MIN_POSITIVE);
            }
        }
        sum / float(self.places.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::Seed;

    /// So many values around a mean, up to a part of it to either side.
    fn around(mean: f64, spread: f64, count: usize, stream: &str) -> Vec<f64> {
        let mut stream = Seed::new(1).stream(stream);
        let mut draw = || f64::from(u32::try_from(stream.below(2_001)).unwrap()) / 1_000.0 - 1.0;
        (0..count).map(|_| mean * (1.0 + spread * draw())).collect()
    }

    fn means(values: &[f64]) -> Vec<f64> {
        find(values).all.iter().map(|band| band.rates.mean.round()).collect()
    }

    #[test]
    fn as_many_bands_are_found_as_there_are() {
        let mut values = around(34.0, 0.02, 500, "a");
        assert_eq!(means(&values), [34.0]);
        values.extend(around(8.0, 0.05, 40, "b"));
        assert_eq!(means(&values), [34.0, 8.0]);
        values.extend(around(4.0, 0.05, 1_000, "c"));
        assert_eq!(means(&values), [34.0, 8.0, 4.0]);
        assert!(find(&values).silhouette > 0.9);
    }

    #[test]
    fn values_that_spread_evenly_are_one_band() {
        let even = around(20.0, 0.9, 400, "even");
        assert_eq!(find(&even).all.len(), 1);
        assert_eq!(find(&[5.0; 100]).all.len(), 1);
        assert_eq!(find(&[]).all.len(), 0);
        // Apart, but by less than what is told apart.
        assert_eq!(find(&[10.0, 10.0, 10.4, 10.4]).all.len(), 1);
    }

    #[test]
    fn the_order_of_the_samples_does_not_matter() {
        let mut values = around(34.0, 0.02, 50, "a");
        values.extend(around(4.0, 0.05, 50, "b"));
        let first = find(&values);
        values.reverse();
        let second = find(&values);
        let told = |bands: &Bands| {
            bands
                .all
                .iter()
                .map(|band| (band.members.len(), band.rates.least, band.rates.most))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&first), told(&second));
        assert_eq!(first.all[0].members, (0..50).collect::<Vec<_>>());
        assert_eq!(second.all[0].members, (50..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_silhouette_is_that_of_all_distances_one_by_one() {
        let places = [3.0, 2.9, 2.5, 1.2, 1.0, 0.1];
        let groups = [0..3_usize, 3..5, 5..6];
        let mean = |at: usize, group: &std::ops::Range<usize>| {
            let others: Vec<f64> = group
                .clone()
                .filter(|&other| other != at)
                .map(|other| f64::abs(places[other] - places[at]))
                .collect();
            others.iter().sum::<f64>() / others.len() as f64
        };
        let mut sum = 0.0;
        for group in &groups[..2] {
            for at in group.clone() {
                let own = mean(at, group);
                let next = groups
                    .iter()
                    .filter(|other| *other != group)
                    .map(|other| mean(at, other))
                    .fold(f64::MAX, f64::min);
                sum += (next - own) / next.max(own);
            }
        }
        let ours = Sums::new(&places).silhouette(&[3, 5]);
        assert!((ours - sum / 6.0).abs() < 1e-12, "{ours}");
    }
}
