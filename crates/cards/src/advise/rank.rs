//! Limits of a product that a card meets or misses, and the order that follows.
//!
//! Layer: rank 10. Main types: [`Advice`], [`Ranked`], [`Held`]. Of cards that [`limits`] holds equal the one with the
//! longest life comes first.

use super::candidate::Candidate;
use super::scenario::{Product, Scenario};
use boardlab_experiment::limits::{self, order};
use boardlab_result::prose::{YEAR, float, real};
use boardlab_sim::Duration;

/// Years of a time.
pub(super) fn years(time: Duration) -> f64 {
    time.as_secs_f64() / YEAR
}

/// What a product limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Life,
    Room,
    Throughput,
    Latency,
}

impl limits::Limit for Limit {
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Life => ["life", "years"],
            Self::Room => ["room", "bytes"],
            Self::Throughput => ["throughput", "bytes_per_s"],
            Self::Latency => ["latency", "ns"],
        }
    }
}

/// A figure held against its limit.
pub(super) type Held = limits::Held<Limit>;

/// A card with its limits.
#[derive(Debug)]
pub(super) struct Ranked {
    pub(super) candidate: Candidate,
    /// Years that the first of the cards lasts, up to the horizon.
    pub(super) years: f64,
    pub(super) held: Vec<Held>,
}

impl Ranked {
    fn new(candidate: Candidate, scenario: &Scenario) -> Self {
        let years = candidate.lived.earliest.unwrap_or_else(|| years(scenario.life.horizon));
        let held = held(&candidate, years, &scenario.product);
        Self { candidate, years, held }
    }

    pub(super) fn name(&self) -> &str {
        &self.candidate.name
    }

    pub(super) fn missed(&self) -> usize {
        limits::missed(&self.held)
    }
}

/// Figures against the limits of a product.
fn held(candidate: &Candidate, lasted: f64, product: &Product) -> Vec<Held> {
    let Candidate { capacity, jobs, .. } = candidate;
    let life = product.life.map(|bound| Held::least(Limit::Life, lasted, years(bound)));
    let room = product.room.map(|bound| Held::least(Limit::Room, real(*capacity), real(bound)));
    let rate = float(jobs.rate);
    let throughput = product
        .throughput
        .map(|bound| Held::least(Limit::Throughput, rate, bound.bytes_per_second()));
    let latency = product.latency.map(|bound| {
        Held::most(Limit::Latency, float(jobs.latency.as_nanos()), float(bound.as_nanos()))
    });
    [life, room, throughput, latency].into_iter().flatten().collect()
}

/// The cards, the best first.
#[derive(Debug)]
pub(super) struct Advice {
    pub(super) ranked: Vec<Ranked>,
    /// Those that were left out, with the reason.
    pub(super) refused: Vec<(String, String)>,
}

impl Advice {
    /// Ranks cards.
    pub(super) fn new(all: Vec<Result<Candidate, (String, String)>>, scenario: &Scenario) -> Self {
        let (mut ranked, mut refused) = (Vec::new(), Vec::new());
        for one in all {
            match one {
                Ok(candidate) => ranked.push(Ranked::new(candidate, scenario)),
                Err(reason) => refused.push(reason),
            }
        }
        ranked.sort_by(|one, other| {
            order(&one.held, &other.held).then(other.years.total_cmp(&one.years))
        });
        Self { ranked, refused }
    }
}
