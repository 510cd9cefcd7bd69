//! Findings of a fio bench: the causes of slow requests, and a card that is worn out.
//!
//! Layer: rank 10. Functions: [`all`], [`health`]; [`slowed`], for other experiments.

use super::run::device::Device;
use crate::worn;
use boardlab_block::{Cause, Kind, Stats};
use boardlab_experiment::finding::find_if;
use boardlab_result::RunResult;
use boardlab_result::prose::{float, percent_of};

/// The least ratio of the time of a byte with a cause to that without one, from which the cause is
/// reported.
const SLOWER: f64 = 1.05;

/// A cause in words.
fn named(cause: Cause) -> String {
    match cause {
        Cause::Collection => "garbage collection".into(),
        other => other.name().replace('_', " "),
    }
}

/// Adds that the card is worn out, if it is.
pub(super) fn health(run: &mut RunResult, device: &Device) {
    if let Device::Card(card) = device {
        find_if(run, worn::told(card));
    }
}

/// A cause that slowed requests.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slowed {
    /// The cause, in words.
    pub(crate) cause: String,
    /// The share of their time that went into requests with it.
    pub(crate) share: f64,
    /// How many times as long a byte of those took as one of the others, if there are others.
    pub(crate) times: Option<f64>,
    /// Whether requests without any cause took less time in all.
    is_most: bool,
}

/// The cause that slowed the requests of a kind most; `None` if there is none, or if requests with it are as fast as those
/// without.
pub(crate) fn slowed(kind: Kind, stats: &Stats) -> Option<Slowed> {
    let ratio = |one: u64, other: u64| float(one) / float(other.max(1));
    let by_cause = || stats.of(kind).by_cause();
    let all: u64 = by_cause().map(|(_, slowed)| slowed.time.as_nanos()).sum();
    let caused = by_cause().filter_map(|(cause, slowed)| Some((cause?, slowed)));
    let (cause, slowed) = caused.max_by_key(|(_, slowed)| slowed.time)?;
    let without = by_cause().find(|(cause, _)| cause.is_none()).map(|(_, free)| free);
    let a_byte = ratio(slowed.time.as_nanos(), slowed.bytes.get());
    let times = without.map(|free| a_byte / ratio(free.time.as_nanos(), free.bytes.get()));
    let times = times.filter(|times| times.is_finite());
    let share = ratio(slowed.time.as_nanos(), all);
    let is_most = without.is_none_or(|free| free.time < slowed.time);
    let one = Slowed { cause: named(cause), share, times, is_most };
    times.is_none_or(|times| times >= SLOWER).then_some(one)
}

/// Adds the cause that slowed the jobs most, if it took most of their time.
pub(super) fn all(run: &mut RunResult, stats: &Stats, device: &str) {
    for kind in [Kind::Read, Kind::Write] {
        let most = slowed(kind, stats).filter(|slowed| slowed.is_most);
        let told = most.map(|Slowed { cause, share, times, .. }| {
            let than = times.map_or_else(String::new, |times| {
                format!(" They took {times:.1} times as long a byte as the others.")
            });
            format!(
                "{} of the time of {}s went into requests that the {device} slowed for this cause: {cause}.{than}",
                percent_of(share),
                kind.name(),
            )
        });
        find_if(run, told);
    }
}
