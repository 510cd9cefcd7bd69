//! Limits of a product that a candidate meets or misses, and the order that follows.
//!
//! Layer: rank 10. Main types: [`Advice`], [`Ranked`], [`Held`]. First come those that miss the fewest limits; of equals,
//! those that miss them by the least; then those that use the least of them; then those with the quickest writing.

use super::candidate::{Candidate, Case, Figures, YEAR};
use super::scenario::{Product, Scenario};
use boardlab_result::prose::{float, real};
use boardlab_sim::Bytes;
use std::cmp::Ordering;

/// What a product limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Boot,
    Ram,
    Life,
    Room,
    Throughput,
    Mainline,
    PowerCuts,
}

impl Limit {
    /// Its name and its unit in a table; the name is that of the key.
    pub(super) const fn words(self) -> [&'static str; 2] {
        match self {
            Self::Boot => ["boot", "ns"],
            Self::Ram => ["ram", "bytes"],
            Self::Life => ["life", "years"],
            Self::Room => ["room", "bytes"],
            Self::Throughput => ["throughput", "bytes_per_s"],
            Self::Mainline => ["mainline", "count"],
            Self::PowerCuts => ["power_cuts", "count"],
        }
    }

    /// Whether a figure can use a share of it; others are met or missed.
    pub(super) const fn has_shares(self) -> bool {
        !matches!(self, Self::Mainline | Self::PowerCuts)
    }
}

/// A figure held against its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Held {
    pub(super) limit: Limit,
    pub(super) figure: f64,
    /// The most, or the least, as the limit is.
    pub(super) bound: f64,
    /// How much of the limit is used: above 1 it is missed.
    pub(super) used: f64,
}

/// The share that a figure uses of a limit that it must reach.
const NOTHING: f64 = 1e-9;

impl Held {
    fn most(limit: Limit, figure: f64, bound: f64) -> Self {
        Self { limit, figure, bound, used: figure / bound.max(NOTHING) }
    }

    fn least(limit: Limit, figure: f64, bound: f64) -> Self {
        Self { limit, figure, bound, used: bound / figure.max(NOTHING) }
    }

    /// One that is met with nothing, and missed with anything.
    fn none(limit: Limit, figure: f64) -> Self {
        Self { limit, figure, bound: 0.0, used: if figure > 0.0 { 2.0 } else { 0.0 } }
    }

    pub(super) fn is_met(self) -> bool {
        self.used <= 1.0
    }
}

/// Figures against the limits of a product.
pub(super) fn held(figures: &Figures, product: &Product) -> Vec<Held> {
    let boot = product.boot.map(|bound| {
        Held::most(Limit::Boot, float(figures.mount.as_nanos()), float(bound.as_nanos()))
    });
    let ram = product.ram.map(|bound| Held::most(Limit::Ram, real(figures.memory), real(bound)));
    let life =
        product.life.map(|b| Held::least(Limit::Life, figures.years, b.as_secs_f64() / YEAR));
    let room = product.room.map(|bound| Held::least(Limit::Room, real(figures.room), real(bound)));
    let throughput = product
        .throughput
        .map(|bound| Held::least(Limit::Throughput, figures.rate, bound.bytes_per_second()));
    let outside = f64::from(u8::from(!figures.in_kernel));
    let mainline = product.mainline.then(|| Held::none(Limit::Mainline, outside));
    let cuts = figures.lost.map(|lost| Held::none(Limit::PowerCuts, float(lost)));
    [boot, ram, life, room, throughput, mainline, cuts].into_iter().flatten().collect()
}

/// How many limits are missed.
pub(super) fn missed(held: &[Held]) -> usize {
    held.iter().filter(|one| !one.is_met()).count()
}

/// A share of a limit below which less makes no difference.
const LITTLE: f64 = 0.01;
/// Shares whose geometric means are so many times apart are told apart.
const APART: f64 = 1.05;

/// Which of two comes first; equal where the figures are too close to say.
fn order(one: &[Held], other: &[Held]) -> Ordering {
    // The geometric mean in steps.
    let step = |held: &[Held], missed: bool| -> i64 {
        let counted = held.iter().filter(|one| one.limit.has_shares());
        let counted = counted.filter(|one| !missed || !one.is_met());
        let logs: Vec<f64> = counted.map(|one| one.used.max(LITTLE).ln()).collect();
        let sum: f64 = logs.iter().sum();
        // Those that are missed count in all, for a second one is no relief.
        let mean = if missed { sum } else { sum / float(logs.len().max(1) as u64) };
        #[allow(clippy::cast_possible_truncation, reason = "a few hundred steps")]
        let steps = (mean / APART.ln()).round() as i64;
        steps
    };
    let by = |missed| step(one, missed).cmp(&step(other, missed));
    missed(one).cmp(&missed(other)).then(by(true)).then(by(false))
}

/// A candidate with its limits.
#[derive(Debug)]
pub(super) struct Ranked {
    pub(super) candidate: Candidate,
    pub(super) figures: Figures,
    pub(super) held: Vec<Held>,
}

impl Ranked {
    pub(super) fn name(&self) -> &str {
        &self.candidate.choice.name
    }

    pub(super) fn missed(&self) -> usize {
        missed(&self.held)
    }
}

/// Who comes first in a case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct First {
    /// What is changed.
    pub(super) case: String,
    /// Its name, and its figures against the limits; `None` if no candidate could be run.
    pub(super) best: Option<(String, Vec<Held>)>,
    /// Candidates that could not be run, with the reason.
    pub(super) refused: Vec<(String, String)>,
}

/// The candidates, the best first, and what would change that.
#[derive(Debug)]
pub(super) struct Advice {
    pub(super) ranked: Vec<Ranked>,
    /// Those that could not be run, with the reason.
    pub(super) refused: Vec<(String, String)>,
    pub(super) cases: Vec<First>,
}

impl Advice {
    /// Ranks candidates.
    pub(super) fn new(
        all: Vec<Result<Candidate, (String, String)>>,
        basis: (&Scenario, &[Case], &[Bytes]),
    ) -> Self {
        let product = &basis.0.product;
        let (mut ranked, mut refused) = (Vec::new(), Vec::new());
        for one in all {
            match one {
                Ok(candidate) => {
                    let figures = candidate.figures(product.level, product);
                    let held = held(&figures, product);
                    ranked.push(Ranked { candidate, figures, held });
                }
                Err(reason) => refused.push(reason),
            }
        }
        ranked.sort_by(|one, other| {
            let quicker = || one.candidate.durable(product).cmp(&other.candidate.durable(product));
            order(&one.held, &other.held).then_with(quicker)
        });
        let cases = firsts(&ranked, basis);
        Self { ranked, refused, cases }
    }
}

/// Who comes first in each case.
fn firsts(
    ranked: &[Ranked],
    (scenario, cases, sizes): (&Scenario, &[Case], &[Bytes]),
) -> Vec<First> {
    let Scenario { product, flash, .. } = scenario;
    let first = |case: String, figures: &dyn Fn(&Candidate) -> Result<Figures, String>| {
        let (mut best, mut refused): (Option<(String, Vec<Held>)>, _) = (None, Vec::new());
        for one in ranked {
            match figures(&one.candidate) {
                Ok(figures) => {
                    let held = held(&figures, product);
                    // Of equals the one that comes first without the change.
                    if best.as_ref().is_none_or(|(_, best)| order(&held, best).is_lt()) {
                        best = Some((one.name().to_owned(), held));
                    }
                }
                Err(reason) => refused.push((one.name().to_owned(), reason)),
            }
        }
        First { case, best, refused }
    };
    let mut all = Vec::new();
    for level in product.all_levels().into_iter().filter(|&level| level != product.level) {
        all.push(first(format!("{level} full"), &|one| Ok(one.figures(level, product))));
    }
    let own = flash.wired().size();
    for &size in sizes.iter().filter(|&&size| size != own) {
        let figures = |one: &Candidate| Ok(one.figures_of_chip(size, own, product));
        all.push(first(format!("flash of {size}"), &figures));
    }
    for case in cases.iter().filter(|case| !case.is_product()) {
        let figures = |one: &Candidate| one.figures_in(&case.name, product).map_err(str::to_owned);
        all.push(first(case.name.clone(), &figures));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boot and RAM of which so much is used, and power cuts with losses.
    fn of(boot: f64, ram: f64, lost: f64) -> Vec<Held> {
        vec![
            Held::most(Limit::Boot, boot, 1.0),
            Held::most(Limit::Ram, ram, 1.0),
            Held::none(Limit::PowerCuts, lost),
        ]
    }

    #[test]
    fn fewer_limits_missed_come_first_then_smaller_misses_then_more_room() {
        let mut all = [
            of(1.2, 1.2, 0.0),
            of(1.5, 0.1, 0.0),
            of(0.9, 0.9, 0.0),
            of(1.2, 0.9, 0.0),
            of(0.5, 0.9, 0.0),
            of(0.9, 0.9, 7.0),
        ];
        all.sort_by(|one, other| order(one, other));
        let told: Vec<_> = all.iter().map(|one| (one[0].figure, one[2].figure)).collect();
        let expected = [(0.5, 0.0), (0.9, 0.0), (0.9, 7.0), (1.2, 0.0), (1.5, 0.0), (1.2, 0.0)];
        assert_eq!(told, expected);
    }

    #[test]
    fn figures_that_are_close_are_equal_and_little_is_nothing() {
        assert_eq!(order(&of(0.500, 0.5, 0.0), &of(0.501, 0.5, 0.0)), Ordering::Equal);
        assert_eq!(order(&of(0.001, 0.5, 0.0), &of(0.009, 0.5, 0.0)), Ordering::Equal);
        assert_eq!(order(&of(0.4, 0.5, 0.0), &of(0.5, 0.5, 0.0)), Ordering::Less);
    }

    #[test]
    fn a_limit_that_is_just_reached_is_met() {
        assert!(Held::most(Limit::Ram, 1_024.0, 1_024.0).is_met());
        assert!(Held::least(Limit::Room, 1_024.0, 1_024.0).is_met());
        assert!(!Held::least(Limit::Room, 1_023.0, 1_024.0).is_met());
        assert!(!Held::most(Limit::Boot, 0.5, 0.0).is_met());
    }
}
