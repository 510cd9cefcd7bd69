//! Limits of a product that a candidate meets or misses, and the order that follows.
//!
//! Layer: rank 10. Main types: [`Advice`], [`Ranked`], [`Held`]. First come those that miss the fewest limits; of equals,
//! those that miss them by the least; then those that use the least of them, as [`limits`] has it; then those with the
//! quickest writing.

use super::candidate::{Candidate, Case, Figures};
use super::scenario::{Product, Scenario};
use boardlab_experiment::limits::{self, missed, order};
use boardlab_result::prose::{YEAR, float, real};
use boardlab_sim::Bytes;

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

impl limits::Limit for Limit {
    fn words(self) -> [&'static str; 2] {
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

    fn has_shares(self) -> bool {
        !matches!(self, Self::Mainline | Self::PowerCuts)
    }
}

/// A figure held against its limit.
pub(super) type Held = limits::Held<Limit>;

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
