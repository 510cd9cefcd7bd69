//! Findings of a fio bench: the causes of slow requests, and a card that is worn out.
//!
//! Layer: rank 10. Functions: [`all`], [`health`].

use super::run::device::Device;
use crate::worn;
use boardlab_block::{Cause, Kind, Stats};
use boardlab_experiment::finding::{find, find_if};
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

/// Adds the cause that slowed the jobs most, unless requests with that cause are as fast as those without.
pub(super) fn all(run: &mut RunResult, stats: &Stats, device: &str) {
    let ratio = |one: u64, other: u64| float(one) / float(other.max(1));
    for kind in [Kind::Read, Kind::Write] {
        let all: u64 = stats.of(kind).by_cause().map(|(_, slowed)| slowed.time.as_nanos()).sum();
        let most = stats.of(kind).by_cause().max_by_key(|(_, slowed)| slowed.time);
        let Some((Some(cause), slowed)) = most else { continue };
        let without = stats.of(kind).by_cause().find(|(cause, _)| cause.is_none());
        let a_byte = ratio(slowed.time.as_nanos(), slowed.bytes.get());
        let times = without.map(|(_, free)| a_byte / ratio(free.time.as_nanos(), free.bytes.get()));
        let than = match times.filter(|times| times.is_finite()) {
            Some(times) if times < SLOWER => continue,
            Some(times) => format!(" They took {times:.1} times as long a byte as the others."),
            None => String::new(),
        };
        let slowed = format!(
            "{} of the time of {}s went into requests that the {device} slowed for this cause: {}.{than}",
            percent_of(ratio(slowed.time.as_nanos(), all)),
            kind.name(),
            named(cause),
        );
        find(run, slowed);
    }
}
