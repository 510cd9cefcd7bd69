//! The factors of a life, whose product is exactly the simulated life.
//!
//! Layer: rank 10. Main type: [`Factor`]; function: [`factors`]. With U cycles used by all blocks at
//! the end, N blocks that the factory left good, b pages a block, p bytes a page, C the capacity, R the
//! rated cycles and D the bytes of a day:
//!
//! ```text
//!   ideal        C R / D                               days that the rated cycles of the capacity alone would last
//!   spare        N b p / C                             blocks that the host does not see wear too
//!   endurance    mean life of a block / R              drawn lives against the rating
//!   weakest      even use / all lives                  the card ends when its spare is used up, others still live
//!   spread       U / even use                          wear that is not even
//!   requests     p / bytes of the host a page          requests smaller than a page
//!   programs     pages programmed / pages of the host  collection, folding, levelling, map, refresh
//!   cells        rest                                  cycles that cost less (SLC mode), blocks not filled
//!
//!   life = ideal spare endurance weakest spread / (requests programs cells)
//! ```
//!
//! `even use` is what would be used if all blocks wore equally until as many as the spare holds were
//! dead. A card that first loses data ends earlier: the factor `retention`.

use super::live::CardLife;
use super::model::Model;
use super::study::Study;
use boardlab_ftl::Cause;
use boardlab_result::prose::float;

/// A factor of a life.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// The name of its row.
    pub id: &'static str,
    /// Its cause.
    pub title: &'static str,
    /// The number that multiplies the life.
    pub factor: f64,
    /// The years of life with it and all before it.
    pub years: f64,
}

/// The factors of the life of one card of `study`, the ideal one first.
#[must_use]
pub fn factors(lived: &CardLife, study: &Study) -> Vec<Factor> {
    let (model, work) = (&study.model, &study.work);
    let rated = f64::from(model.rated.max(1));
    let good = f64::from(model.geometry.blocks() - lived.factory_bad);
    let page = float(model.geometry.page().get());
    let block = f64::from(model.scale.per) * page;
    let capacity = float(model.capacity.get());
    let ideal = capacity * rated / work.bytes_a_day / 365.25;
    let used: f64 = lived.worn.iter().sum();
    let (lives, even) = even_use(lived);
    let requests = page / work.bytes_a_page(model);
    let programs = float(lived.counters.programs.total()) / float(lived.counters.written.max(1));
    let amplification = used * block / lived.end.bytes.max(1.0);
    let programs = corrected(programs, lived, model, amplification / requests);
    let cells = amplification / (requests * programs);
    let end = lived.first().map_or(lived.end.years, |first| first.years);
    let factors = [
        ("ideal", "rated cycles of the capacity", 1.0),
        ("spare", "blocks beyond the capacity", good * block / capacity),
        ("endurance", "mean life of blocks against the rating", lives / (good * rated)),
        ("weakest", "the weakest blocks use up the spare", even / lives.max(1.0)),
        ("spread", "wear is not even", used / even.max(1e-9)),
        ("requests", "requests smaller than a page", 1.0 / requests),
        ("programs", "programs besides those of the host", 1.0 / programs),
        ("cells", "cheaper cycles, blocks not filled", 1.0 / cells.max(1e-12)),
        ("retention", "data are lost before the card is full", end / lived.end.years.max(1e-12)),
    ];
    let mut years = ideal;
    let with = |(id, title, factor): (&'static str, &'static str, f64)| {
        years *= factor;
        Factor { id, title, factor, years }
    };
    factors.into_iter().map(with).collect()
}

/// All lives, and what is used of them when wear is even until the spare is used up.
fn even_use(lived: &CardLife) -> (f64, f64) {
    let mut lives = lived.lives.clone();
    lives.sort_by(f64::total_cmp);
    // Blocks that are bad from the factory are any of them.
    let last = lives.get(lived.spare as usize).copied().unwrap_or(f64::INFINITY);
    let share = 1.0 - f64::from(lived.factory_bad) / float(lives.len() as u64).max(1.0);
    let sum: f64 = lives.iter().sum();
    let even: f64 = lives.iter().map(|life| life.min(last)).sum();
    (sum * share, even * share)
}

/// Programs for each page of the host on the real card: the scaled one's excess, as far as the wear was
/// put right.
fn corrected(programs: f64, lived: &CardLife, model: &Model, wear: f64) -> f64 {
    if model.scale.is_full() {
        return programs;
    }
    let pages = f64::from(model.scale.of);
    let step = f64::from(model.scale.step);
    let own: f64 = lived.worn.iter().sum::<f64>() / step * pages;
    let scaled = own / float(lived.counters.written.max(1));
    // Cycles for each program are those of the scaled card; what is left is programs.
    (wear * programs / scaled.max(1e-12)).max(1.0)
}

/// Programs by cause, for each of the host, on the real card: shares of the scaled one's excess.
pub(crate) fn causes(lived: &CardLife, programs: f64) -> Vec<(&'static str, f64)> {
    let causes = [Cause::Collection, Cause::Levelling, Cause::Fold, Cause::Map, Cause::Refresh];
    let counts = causes.map(|cause| (cause.name(), float(lived.counters.programs[cause])));
    let excess: f64 = counts.iter().map(|(_, count)| count).sum();
    let each = |(name, count): (&'static str, f64)| match excess > 0.0 {
        true => (name, count / excess * (programs - 1.0)),
        false => (name, 0.0),
    };
    counts.into_iter().map(each).collect()
}
