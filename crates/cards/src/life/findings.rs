//! Findings about lives.
//!
//! Layer: rank 10. Function: [`add`].

use super::run::factors::Factor;
use super::run::live::{CardLife, Point};
use super::run::model::Model;
use super::run::study::Study;
use super::scenario::Scenario;
use super::tables::years;
use boardlab_experiment::finding::find;
use boardlab_result::RunResult;
use boardlab_result::prose::{counted, float, round};

fn size(bytes: f64) -> String {
    let (value, unit) = if bytes >= 1e12 { (bytes / 1e12, "TB") } else { (bytes / 1e9, "GB") };
    format!("{} {unit}", years(value))
}

fn said(point: Option<Point>, horizon: f64) -> String {
    point.map_or_else(
        || format!("more than {} years", years(horizon)),
        |point| format!("{} years ({} written)", years(point.years), size(point.bytes)),
    )
}

/// Adds all findings.
pub(super) fn add(run: &mut RunResult, scenario: &Scenario, study: &Study, factors: &[Factor]) {
    let horizon = scenario.life.horizon.as_secs_f64() / (365.25 * 86_400.0);
    let [early, median, late] = study.band(CardLife::first).0;
    let of = counted(study.cards.len(), "card");
    let end = match study.cards.len() {
        1 => format!(
            "The card is at its end after {} ({of}: how cards differ is not known).",
            said(median, horizon)
        ),
        _ => format!(
            "Half of the cards are at their end after {}; 5 % after {}, 95 % after {} ({of}).",
            said(median, horizon),
            said(early, horizon),
            said(late, horizon),
        ),
    };
    find(run, end);
    find(run, ends(scenario, study));
    shortened(run, study, factors);
    find(run, method(study));
    a_day(run, scenario, study, factors);
    gains(run);
}

/// Which end comes first: read-only, or lost data.
fn ends(scenario: &Scenario, study: &Study) -> String {
    let lost = study.cards.iter().filter(|card| card.uncorrectable.is_some()).count();
    let ended = study.cards.iter().filter(|card| card.first().is_some()).count();
    let all = study.cards.len();
    match (scenario.part.managed.reads.is_some(), lost) {
        (false, _) => {
            "The part tells of no wrong bits: the end is when the card takes no more data."
                .to_owned()
        }
        (true, 0) if ended == 0 => {
            "No card loses data up to the horizon, nor stops taking them.".into()
        }
        (true, 0) => "No card loses data before it takes no more: what wear, age and reads do to \
                      it can be corrected."
            .into(),
        (true, _) if all == 1 => {
            "The card loses data that cannot be corrected while it still takes data.".into()
        }
        (true, lost) => format!(
            "{lost} of {all} cards {} data that cannot be corrected while still taking data.",
            if lost == 1 { "loses" } else { "lose" },
        ),
    }
}

/// Adds the ideal life, and what shortens it most.
fn shortened(run: &mut RunResult, study: &Study, factors: &[Factor]) {
    let (Some(ideal), Some(last)) = (factors.first(), factors.last()) else { return };
    if study.median().first().is_none() {
        run.warnings.push(
            "The median card is not at its end at the horizon: the factors are those until then."
                .into(),
        );
        return;
    }
    let shorter = factors[1..].iter().filter(|one| one.factor < 0.995);
    let worst = strongest(shorter.map(|one| (one.factor - 1.0, one.title)), " less");
    let because = match worst.is_empty() {
        true => "nothing shortens it".to_owned(),
        false => format!("what shortens it: {}", worst[..worst.len().min(3)].join("; ")),
    };
    let share = round(last.years / ideal.years.max(1e-12) * 100.0, 1);
    let shortened = format!(
        "The rated cycles of the capacity alone would last {} years; the median card lives for {} \
         ({share} %); {because}.",
        years(ideal.years),
        years(last.years),
    );
    find(run, shortened);
    if last.years > ideal.years {
        let longer = factors[1..].iter().filter(|one| one.factor > 1.005);
        let longer = strongest(longer.map(|one| (one.factor - 1.0, one.title)), " more");
        find(run, format!("Longer than the ideal by: {}.", longer.join("; ")));
    }
}

/// Changes of the life in words, the greatest first.
fn strongest<'t>(changes: impl Iterator<Item = (f64, &'t str)>, way: &str) -> Vec<String> {
    let mut changes: Vec<_> = changes.collect();
    changes.sort_by(|(one, _), (other, _)| other.abs().total_cmp(&one.abs()));
    let told =
        |(change, title): (f64, &str)| format!("{title} ({:.0} %{way})", change.abs() * 100.0);
    changes.into_iter().map(told).collect()
}

fn method(study: &Study) -> String {
    let Model { scale, .. } = study.model;
    match scale.is_full() {
        true => "Every program and every erase of each card was simulated.".to_owned(),
        false => format!(
            "Lives were extrapolated: on a scaled card each page stands for {} and each erase for \
             {} of the real one, with the wear a page of the host measured on the card in full (table pace). On small \
             cards this agrees with the simulation in full within 5 %: docs/models/life.md.",
            years(scale.pages()),
            scale.step
        ),
    }
}

/// Warns if the card cannot take the writes of a day.
fn a_day(run: &mut RunResult, scenario: &Scenario, study: &Study, factors: &[Factor]) {
    let flash = &scenario.part.managed.flash;
    let times = &flash.native.program;
    let total: u64 = times.iter().map(|time| time.as_nanos()).sum();
    let each = float(total) / float(times.len() as u64) / 1e9;
    let row = f64::from(flash.stripe(scenario.part.managed.page).row_pages());
    let more =
        |id: &str| factors.iter().find(|one| one.id == id).map_or(1.0, |one| 1.0 / one.factor);
    let pages = study.work.bytes_a_day / float(scenario.part.managed.page.get());
    let busy = pages * more("requests") * more("programs") * each / row;
    let powered = scenario.days.powered.as_secs_f64();
    if busy > powered {
        run.warnings.push(format!(
            "The programs of a day take {:.1} hours of the flash, which has power for {:.1}: the card \
             cannot take {} a day.",
            busy / 3_600.0,
            powered / 3_600.0,
            size(study.work.bytes_a_day)
        ));
    }
}

/// Adds the alternatives that gain and cost most.
fn gains(run: &mut RunResult) {
    let Some(table) = run.table("what-if") else { return };
    let mut changes: Vec<(f64, String)> = table
        .rows
        .iter()
        .skip(1)
        .filter_map(|row| Some((row.cells.get("change_ratio")?.value.as_f64()?, row.title.clone())))
        .collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let told = |(change, title): &(f64, String)| {
        let percent = change.abs() * 100.0;
        let way = if *change < 0.0 { "less" } else { "more" };
        format!("{title}: {percent:.0} % {way}")
    };
    let most: Vec<String> =
        changes.iter().rev().take(2).filter(|one| one.0 > 0.01).map(told).collect();
    let least: Vec<String> = changes.iter().take(2).filter(|one| one.0 < -0.01).map(told).collect();
    if !most.is_empty() {
        find(run, format!("Gives most: {}.", most.join("; ")));
    }
    if !least.is_empty() {
        find(run, format!("Costs most: {}.", least.join("; ")));
    }
}
