//! What an advice comes to.
//!
//! Layer: rank 10. Function: [`add`].

use super::flash::ProductFlash;
use super::rank::{Advice, First, Held, Limit, Ranked};
use super::scenario::{FileSize, Scenario};
use boardlab_experiment::finding::{find, find_if};
use boardlab_experiment::limits;
use boardlab_result::RunResult;
use boardlab_result::prose::{KIB, MIB, counted, listed, percent_of, real};
use boardlab_sim::Duration;

/// Adds the findings; the first answers the run.
pub(super) fn add(run: &mut RunResult, advice: &Advice, scenario: &Scenario) {
    let ranked = &advice.ranked;
    run.answer = Some(find(run, choice(ranked)));
    find_if(run, others(ranked));
    find_if(run, order(advice));
    find_if(run, tree(ranked, scenario));
    find_if(run, lost(ranked, scenario));
    find_if(run, at_risk(ranked, scenario));
    find_if(run, outside(ranked, scenario));
    find_if(run, refused(advice));
}

/// A figure with its limit.
fn told(held: &Held) -> String {
    let Held { figure, bound, .. } = *held;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time")]
    let time = |ns: f64| Duration::from_nanos(ns as u64);
    match held.limit {
        Limit::Boot => format!("mount {} of {}", time(figure), time(bound)),
        Limit::Ram => format!("RAM {:.0} of {:.0} KiB", figure / KIB, bound / KIB),
        Limit::Life => {
            format!("life {figure:.1} years where {bound:.1} are due")
        }
        Limit::Room => {
            format!("room {:.1} MiB where {:.1} are due", figure / MIB, bound / MIB)
        }
        Limit::Throughput => {
            format!("writes {:.2} MB/s where {:.2} are due", figure / 1e6, bound / 1e6)
        }
        Limit::Mainline if held.is_met() => "in the kernel".into(),
        Limit::Mainline => "not in this kernel".into(),
        Limit::PowerCuts if held.is_met() => "nothing lost at power cuts".into(),
        Limit::PowerCuts => format!("{} with a loss", counted(whole(figure), "power cut")),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
fn whole(figure: f64) -> u64 {
    figure as u64
}

fn told_all(held: &[Held]) -> String {
    limits::told_all(held.iter(), told)
}

/// Its figures as the second sentence.
fn of_figures(one: &Ranked) -> String {
    format!("{}: {}", one.candidate.choice.filesystem, told_all(&one.held))
}

fn choice(ranked: &[Ranked]) -> String {
    let best = &ranked[0];
    let name = best.name();
    match (best.held.len(), best.missed()) {
        (0, _) => {
            format!(
                "No limit of the product was named. {name} comes first in the list; --boot \"1 s\" is one."
            )
        }
        (all, 0) => {
            format!("Take {name}: it meets {}. {}.", limits::all_of(all), of_figures(best))
        }
        (all, missed) => {
            format!(
                "No filesystem meets every limit; {name} misses {missed} of {all}. {}.",
                of_figures(best)
            )
        }
    }
}

fn others(ranked: &[Ranked]) -> Option<String> {
    let rest: Vec<_> = ranked[1..].iter().map(|one| (one.name(), &*one.held)).collect();
    limits::others(&rest, told)
}

/// What would put another one first.
fn order(advice: &Advice) -> Option<String> {
    let best = advice.ranked[0].name();
    if advice.cases.is_empty() {
        return None;
    }
    let is_other = |one: &&First| one.best.as_ref().is_none_or(|(name, _)| name != best);
    let changed = advice.cases.iter().filter(is_other).map(|one| match &one.best {
        Some((name, held)) => format!("{} {name} ({})", one.case, told_all(held)),
        None => format!("{} none, for no filesystem can be run there", one.case),
    });
    let changed: Vec<_> = changed.collect();
    let same = advice.cases.iter().filter(|one| !is_other(one)).map(|one| one.case.clone());
    let same: Vec<_> = same.collect();
    Some(match (changed.is_empty(), same.is_empty()) {
        (true, _) => format!("{best} stays first in every other case. Tried: {}.", listed(&same)),
        (false, true) => {
            format!("{best} comes first here only. Elsewhere: {}.", changed.join("; "))
        }
        (false, false) => format!(
            "{} of {} would put another one first. With {}. {best} stays first with {}.",
            changed.len(),
            counted(advice.cases.len() as u64, "change"),
            changed.join("; "),
            listed(&same),
        ),
    })
}

/// Whether the user's own files fit.
fn tree(ranked: &[Ranked], scenario: &Scenario) -> Option<String> {
    let product = &scenario.product;
    let sample = product.data.sample().filter(|_| product.file == FileSize::Tree)?;
    let best = &ranked[0];
    let (total, room) = (real(sample.total), real(best.figures.room));
    let (files, bytes) = (counted(sample.files.len() as u64, "file"), total / MIB);
    let (name, part) = (best.name(), room / MIB);
    let takes = percent_of(total / room.max(1.0));
    Some(match total > room {
        true => format!(
            "The files do not fit. They are {bytes:.1} MiB in {files}, and {name} has room for {part:.1} MiB such as they are."
        ),
        false => format!(
            "The files take {takes} of the room. They are {bytes:.1} MiB in {files}, and {name} has room for {part:.1} MiB such as they are."
        ),
    })
}

/// What power cuts took first.
fn lost(ranked: &[Ranked], scenario: &Scenario) -> Option<String> {
    let all = ranked.iter().filter_map(|one| {
        let survived = one.candidate.survived.as_ref()?;
        let first = survived.first.as_ref()?;
        Some(format!("{} {} of {}, first {first}", one.name(), survived.lost, survived.cuts))
    });
    let all: Vec<_> = all.collect();
    let more = match scenario.flash {
        ProductFlash::Nand(..) => "boardlab powercut nand-filesystems",
        ProductFlash::Nor(..) => "A higher product.cut_operations",
    };
    (!all.is_empty()).then(|| {
        let all = all.join("; ");
        format!("Power cuts took something that was synced. {all}. {more} tries more of them.")
    })
}

/// What power cuts can do on such a flash, whether any of the few did it or not.
fn at_risk(ranked: &[Ranked], scenario: &Scenario) -> Option<String> {
    let wired = scenario.flash.wired();
    let why = ranked.iter().find_map(|one| {
        let choice = &one.candidate.choice;
        Some((choice.filesystem, choice.system.at_risk(wired)?))
    });
    let (filesystem, why) = why.filter(|_| scenario.product.power_cuts)?;
    Some(format!("A power cut can make {filesystem} unusable on this flash. {why}."))
}

/// Filesystems that the kernel does not have.
fn outside(ranked: &[Ranked], scenario: &Scenario) -> Option<String> {
    let mut told: Vec<String> = Vec::new();
    for one in ranked.iter().filter(|one| !one.figures.in_kernel) {
        let choice = &one.candidate.choice;
        let text = format!("{} was {}", choice.filesystem, choice.release);
        if !told.contains(&text) {
            told.push(text);
        }
    }
    (!told.is_empty()).then(|| {
        format!(
            "The kernel of the scenario lacks {}. {}. {}.",
            counted(told.len() as u64, "filesystem"),
            told.join("; "),
            match scenario.product.mainline {
                true => "The product asks for one of the kernel",
                false => "product.mainline = true asks for one of the kernel",
            }
        )
    })
}

/// Filesystems that cannot be run on the part.
fn refused(advice: &Advice) -> Option<String> {
    let whole = advice.refused.iter().map(|(name, reason)| format!("{name}: {reason}"));
    let cases = advice.cases.iter().flat_map(|one| {
        let each = one.refused.iter();
        each.map(|(name, reason)| format!("{name} with {}: {reason}", one.case))
    });
    let all: Vec<_> = whole.chain(cases).collect();
    (!all.is_empty()).then(|| {
        format!("{} cannot be run. {}.", counted(all.len() as u64, "candidate"), all.join("; "))
    })
}
