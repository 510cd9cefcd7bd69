//! What an advice comes to.
//!
//! Layer: rank 10. Function: [`add`].

use super::rank::{Advice, Held, Limit, Ranked, years};
use super::scenario::Scenario;
use crate::fio::findings::Slowed;
use crate::life::tables::years as rounded;
use boardlab_experiment::finding::{find, find_if};
use boardlab_experiment::limits;
use boardlab_result::RunResult;
use boardlab_result::prose::{GIB, MIB, counted, percent_of};
use boardlab_sd::Kind;
use boardlab_sim::Duration;

/// Days of a year.
const DAYS: f64 = 365.25;
/// From so many years on a life is told in years.
const SHORT: f64 = 0.1;

/// Adds the findings; the first answers the run.
pub(super) fn add(run: &mut RunResult, advice: &Advice, scenario: &Scenario) {
    let (ranked, horizon) = (&advice.ranked, years(scenario.life.horizon));
    run.answer = Some(find(run, choice(ranked, horizon)));
    find_if(run, others(ranked, horizon));
    find_if(run, slowed(ranked));
    find(run, no_filesystem());
    find_if(run, refused(advice));
}

/// Years, or days where these are few.
fn span(years: f64) -> String {
    match years {
        SHORT.. => counted(rounded(years), "year"),
        _ => counted(rounded(years * DAYS), "day"),
    }
}

/// A life, which ends at the horizon.
fn lasts(life: f64, horizon: f64) -> String {
    let more = if life < horizon { "" } else { "more than " };
    format!("{more}{}", span(life))
}

/// A figure with its limit.
fn told(held: &Held, horizon: f64) -> String {
    let Held { figure, bound, .. } = *held;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time")]
    let time = |ns: f64| Duration::from_nanos(ns as u64);
    match held.limit {
        Limit::Life => {
            format!("life {} for a limit of {}", lasts(figure, horizon), span(bound))
        }
        Limit::Room => {
            let bytes = |size: f64| match size {
                GIB.. => format!("{:.1} GiB", size / GIB),
                _ => format!("{:.0} MiB", size / MIB),
            };
            format!("capacity {} where {} are due", bytes(figure), bytes(bound))
        }
        Limit::Throughput => {
            format!("writes {:.2} MB/s where {:.2} are due", figure / 1e6, bound / 1e6)
        }
        Limit::Latency => format!("99 % of the writes in {} of {}", time(figure), time(bound)),
    }
}

fn told_all(held: &[Held], horizon: f64) -> String {
    limits::told_all(held.iter(), |one| told(one, horizon))
}

fn choice(ranked: &[Ranked], horizon: f64) -> String {
    let best = &ranked[0];
    let (name, figures) = (best.name(), told_all(&best.held, horizon));
    let kind = match best.candidate.kind {
        Kind::Sd => "SD card",
        Kind::Emmc => "eMMC",
    };
    match (best.held.len(), best.missed()) {
        (0, _) => format!(
            "No limit was named, and {name} lives longest: {}. product.life = \"5 years\" is a limit.",
            lasts(best.years, horizon)
        ),
        (all, 0) => {
            format!("Take {name}: it meets {}. The {kind}: {figures}.", limits::all_of(all))
        }
        (all, missed) => {
            format!(
                "No card meets every limit; {name} misses {missed} of {all}. The {kind}: {figures}."
            )
        }
    }
}

/// Why not another one.
fn others(ranked: &[Ranked], horizon: f64) -> Option<String> {
    let rest: Vec<_> = ranked[1..].iter().map(|one| (one.name(), &*one.held)).collect();
    limits::others(&rest, |one| told(one, horizon))
}

/// What slowed the writes of the jobs.
fn slowed(ranked: &[Ranked]) -> Option<String> {
    let each = ranked.iter().filter_map(|one| {
        let Slowed { cause, share, times, .. } = one.candidate.jobs.slowed.as_ref()?;
        let than = times.map_or_else(String::new, |times| {
            format!(", which took {times:.1} times as long a byte as the others")
        });
        let (name, share) = (one.name(), percent_of(*share));
        Some(format!("{name}: {share} of their time went into those with {cause}{than}"))
    });
    let each: Vec<_> = each.collect();
    (!each.is_empty()).then(|| {
        let cards = counted(each.len() as u64, "card");
        format!("The writes of the job were slowed on {cards}. {}.", each.join("; "))
    })
}

/// What a card cannot be chosen by.
fn no_filesystem() -> &'static str {
    "No filesystem is compared, since the controller of a card hides its flash. ext4, F2FS and FAT see the same block \
     device, and those for bare flash cannot be on it. What a filesystem changes is how much is written and where: \
     product.writes, product.write and product.places say that, and boardlab life sd-life takes a block trace of it."
}

/// Cards that were left out.
fn refused(advice: &Advice) -> Option<String> {
    let each = advice.refused.iter().map(|(name, reason)| format!("{name}: {reason}"));
    let each: Vec<_> = each.collect();
    (!each.is_empty()).then(|| {
        let were = if each.len() == 1 { "was" } else { "were" };
        let all = each.len() + advice.ranked.len();
        format!("{} of {all} cards {were} left out. {}.", each.len(), each.join("; "))
    })
}
