//! What a life says, in sentences.
//!
//! Layer: rank 8. Function: [`find`].

use super::factors::Factor;
use super::live::{Lived, Point};
use super::model::Model;
use super::places::real;
use super::scenario::Scenario;
use super::study::Study;
use super::tables::years;
use crate::told::round;
use boardlab_result::RunResult;

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

/// All that there is to say.
pub(super) fn find(run: &mut RunResult, scenario: &Scenario, study: &Study, factors: &[Factor]) {
    let horizon = scenario.life.horizon.as_secs_f64() / (365.25 * 86_400.0);
    let [early, median, late] = study.band(Lived::first).0;
    run.find(format!(
        "Half of the cards are at their end after {}; 5 % after {}, 95 % after {} ({} cards).",
        said(median, horizon),
        said(early, horizon),
        said(late, horizon),
        study.cards.len(),
    ));
    ends(run, scenario, study);
    shortened(run, study, factors);
    method(run, study);
    a_day(run, scenario, study, factors);
}

/// Which of the two ends comes first.
fn ends(run: &mut RunResult, scenario: &Scenario, study: &Study) {
    let lost = study.cards.iter().filter(|card| card.uncorrectable.is_some()).count();
    run.find(match (scenario.part.managed.reads.is_some(), lost) {
        (false, _) => {
            "The part tells of no wrong bits: the end is when the card takes no more data."
                .to_owned()
        }
        (true, 0) => "No card loses data before it takes no more: the code, its retries and the \
                      patrol correct all that wear, age and reads do."
            .to_owned(),
        (true, lost) => format!(
            "{lost} of {} cards lose data that cannot be corrected while they still take data.",
            study.cards.len()
        ),
    });
}

/// The ideal, and what takes most of it.
fn shortened(run: &mut RunResult, study: &Study, factors: &[Factor]) {
    let (Some(ideal), Some(last)) = (factors.first(), factors.last()) else { return };
    if study.median().first().is_none() {
        run.warnings.push(
            "The median card is not at its end at the horizon: the factors are those until then."
                .into(),
        );
        return;
    }
    let mut shorter: Vec<&Factor> = factors[1..].iter().filter(|one| one.factor < 0.995).collect();
    shorter.sort_by(|a, b| a.factor.total_cmp(&b.factor));
    let worst: Vec<String> = shorter
        .iter()
        .take(3)
        .map(|one| format!("{} ({:.0} % less)", one.title, (1.0 - one.factor) * 100.0))
        .collect();
    let because = match worst.is_empty() {
        true => "nothing shortens it".to_owned(),
        false => format!("what shortens it: {}", worst.join("; ")),
    };
    let share = round(last.years / ideal.years.max(1e-12) * 100.0, 1);
    run.find(format!(
        "The rated cycles of the capacity alone would last {} years; the median card lives for {} \
         ({share} %); {because}.",
        years(ideal.years),
        years(last.years),
    ));
    if last.years > ideal.years {
        let (more, lives) = (&factors[1], &factors[2]);
        run.find(format!(
            "Longer than the ideal: blocks beyond the capacity give {:.1} % more, and blocks live \
             for {:.1} % of the rating on average.",
            (more.factor - 1.0) * 100.0,
            lives.factor * 100.0
        ));
    }
}

fn method(run: &mut RunResult, study: &Study) {
    let Model { scale, .. } = study.model;
    run.find(match scale.is_full() {
        true => "Every program and every erase of each card was simulated.".to_owned(),
        false => format!(
            "Lives were extrapolated: on a scaled card each page stands for {} and each erase for \
             {}, with the wear a page of the host measured on the card in full (table pace). On small \
             cards this agrees with the simulation in full within 5 %: docs/models/life.md.",
            years(scale.pages()),
            scale.step
        ),
    });
}

/// Whether the card can take so much in a day.
fn a_day(run: &mut RunResult, scenario: &Scenario, study: &Study, factors: &[Factor]) {
    let flash = &scenario.part.managed.flash;
    let times = &flash.native.program;
    let total: u64 = times.iter().map(|time| time.as_nanos()).sum();
    let each = real(total) / real(times.len() as u64) / 1e9;
    let row = f64::from(flash.stripe(scenario.part.managed.page).row_pages());
    let more =
        |id: &str| factors.iter().find(|one| one.id == id).map_or(1.0, |one| 1.0 / one.factor);
    let pages = study.work.bytes_a_day / real(scenario.part.managed.page.get());
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
