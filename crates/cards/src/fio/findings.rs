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

/// What slowed requests most.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slowed {
    /// The cause, in words.
    pub(crate) cause: String,
    /// The share of their time that went into requests with it.
    pub(crate) share: f64,
    /// How many times as long a byte of those took as one of the others, if there are others.
    pub(crate) times: Option<f64>,
}

/// What slowed the requests of a kind most; `None` if nothing did, or if requests with that cause are as fast as those
/// without.
pub(crate) fn slowed(kind: Kind, stats: &Stats) -> Option<Slowed> {
    let ratio = |one: u64, other: u64| float(one) / float(other.max(1));
    let all: u64 = stats.of(kind).by_cause().map(|(_, slowed)| slowed.time.as_nanos()).sum();
    let (cause, slowed) = stats.of(kind).by_cause().max_by_key(|(_, slowed)| slowed.time)?;
    let cause = named(cause?);
    let without = stats.of(kind).by_cause().find(|(cause, _)| cause.is_none());
    let a_byte = ratio(slowed.time.as_nanos(), slowed.bytes.get());
    let times = without.map(|(_, free)| a_byte / ratio(free.time.as_nanos(), free.bytes.get()));
    let times = times.filter(|times| times.is_finite());
    let share = ratio(slowed.time.as_nanos(), all);
    times.is_none_or(|times| times >= SLOWER).then_some(Slowed { cause, share, times })
}

/// Adds the cause that slowed the jobs most, unless requests with that cause are as fast as those without.
pub(super) fn all(run: &mut RunResult, stats: &Stats, device: &str) {
    for kind in [Kind::Read, Kind::Write] {
        let told = slowed(kind, stats).map(|Slowed { cause, share, times }| {
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
