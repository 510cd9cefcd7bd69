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
use boardlab_parts::card::part::CardPart;
use boardlab_result::RunResult;
use boardlab_result::prose::{YEAR, counted, float, round};
use boardlab_sim::Duration;

/// The row of the table of health at which the rated life is exceeded.
const EXCEEDED: &str = "life_0b";

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
    let horizon = scenario.life.horizon.as_secs_f64() / YEAR;
    let [early, median, late] = study.band(CardLife::first).0;
    let of = counted(study.cards.len(), "card");
    let end = match study.cards.len() {
        1 => format!(
            "The card reaches its end of life after {}. How cards differ is not known from {of}.",
            said(median, horizon)
        ),
        _ => format!(
            "Half of the cards reach their end of life after {}. 5 % reach it after {}, and 95 % after {} ({of}).",
            said(median, horizon),
            said(early, horizon),
            said(late, horizon),
        ),
    };
    find(run, end);
    find(run, ends(scenario, study));
    shortened(run, study, factors);
    registers(run, median, horizon);
    find(run, method(study));
    a_day(run, scenario, study, factors);
    gains(run);
}

/// The end that comes first: the card is read-only, or data are lost.
fn ends(scenario: &Scenario, study: &Study) -> String {
    let lost = study.cards.iter().filter(|card| card.uncorrectable.is_some()).count();
    let ended = study.cards.iter().filter(|card| card.first().is_some()).count();
    let all = study.cards.len();
    match (scenario.part.managed.reads.is_some(), lost) {
        (false, _) => {
            "The part file describes no bit errors, so a card ends when it takes no more writes."
                .to_owned()
        }
        (true, 0) if ended == 0 => {
            "No card loses data up to the horizon, and none stops taking writes.".into()
        }
        (true, 0) => {
            "No card loses data before it takes no more writes. The bit errors of wear, age and \
                      reads can be corrected until then."
                .into()
        }
        (true, _) if all == 1 => {
            "The card loses data by uncorrectable errors while it still takes writes.".into()
        }
        (true, lost) => format!(
            "{lost} of {all} cards {} data by uncorrectable errors while still taking writes.",
            if lost == 1 { "loses" } else { "lose" },
        ),
    }
}

/// Adds when the health register of the median card says that its rated life is exceeded.
fn registers(run: &mut RunResult, end: Option<Point>, horizon: f64) {
    let row = run.table("health").and_then(|table| table.row(EXCEEDED));
    let Some(after) = row.and_then(|row| row.cells.get("years")?.value.as_f64()) else { return };
    let told = format!(
        "The health register of the median card says after {after} years that its rated life is exceeded (0x0B). The card \
         reaches its end after {}.",
        said(end, horizon)
    );
    find(run, told);
}

/// Adds the ideal life and the factors that shorten it most.
fn shortened(run: &mut RunResult, study: &Study, factors: &[Factor]) {
    let (Some(ideal), Some(last)) = (factors.first(), factors.last()) else { return };
    if study.median().first().is_none() {
        run.warnings.push(
            "The median card has not reached its end of life at the horizon, so the factors are those until then."
                .into(),
        );
        return;
    }
    let shorter = factors[1..].iter().filter(|one| one.factor < 0.995);
    let worst = strongest(shorter.map(|one| (one.factor - 1.0, one.title)), " less");
    let because = match worst.is_empty() {
        true => "Nothing shortens it".to_owned(),
        false => format!("These shorten it most: {}", worst[..worst.len().min(3)].join("; ")),
    };
    let share = round(last.years / ideal.years.max(1e-12) * 100.0, 1);
    let shortened = format!(
        "The median card lives for {} years, {share} % of what its rated P/E cycles alone would last. Those, \
         over its capacity, would last {} years. {because}.",
        years(last.years),
        years(ideal.years),
    );
    find(run, shortened);
    if last.years > ideal.years {
        let longer = factors[1..].iter().filter(|one| one.factor > 1.005);
        let longer = strongest(longer.map(|one| (one.factor - 1.0, one.title)), " more");
        find(
            run,
            format!("The card outlives its rated cycles. It gains by: {}.", longer.join("; ")),
        );
    }
}

/// The changes of the life in words, the largest first.
fn strongest<'t>(changes: impl Iterator<Item = (f64, &'t str)>, way: &str) -> Vec<String> {
    let mut changes: Vec<_> = changes.collect();
    changes.sort_by(|(one, _), (other, _)| other.abs().total_cmp(&one.abs()));
    let told =
        |(change, title): (f64, &str)| format!("{title} ({:.0} %{way})", change.abs() * 100.0);
    changes.into_iter().map(told).collect()
}

/// Whether lives were simulated in full or extrapolated.
fn method(study: &Study) -> String {
    let Model { scale, .. } = study.model;
    match scale.is_full() {
        true => "Every program and every erase of each card was simulated.".to_owned(),
        false => format!(
            "Lives were extrapolated from scaled cards: a page stands for {} and an erase for {} of the real card. The wear \
             for each page of the host was measured on the full card (table pace). On small cards this agrees with the full \
             simulation within 5 %.",
            years(scale.pages()),
            scale.step
        ),
    }
}

/// Warns if the card cannot take the writes of a day.
fn a_day(run: &mut RunResult, scenario: &Scenario, study: &Study, factors: &[Factor]) {
    let too_much = too_much(&scenario.part, scenario.days.powered, study, factors);
    run.warnings.extend(too_much.map(|reason| format!("The card {reason}.")));
}

/// Why the card cannot take the writes of a day, if it cannot: their programs take longer than it has power.
pub(crate) fn too_much(
    part: &CardPart,
    powered: Duration,
    study: &Study,
    factors: &[Factor],
) -> Option<String> {
    let flash = &part.managed.flash;
    let times = &flash.native.program;
    let total: u64 = times.iter().map(|time| time.as_nanos()).sum();
    let each = float(total) / float(times.len() as u64) / 1e9;
    let row = f64::from(flash.stripe(part.managed.page).row_pages());
    let more =
        |id: &str| factors.iter().find(|one| one.id == id).map_or(1.0, |one| 1.0 / one.factor);
    let pages = study.work.bytes_a_day / float(part.managed.page.get());
    let busy = pages * more("requests") * more("programs") * each / row;
    let powered = powered.as_secs_f64();
    (busy > powered).then(|| {
        format!(
            "cannot take {} a day: their programs take {:.1} hours of the flash, which has power for {:.1}",
            size(study.work.bytes_a_day),
            busy / 3_600.0,
            powered / 3_600.0,
        )
    })
}

/// Adds the alternatives with the longest and the shortest lives.
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
        let way = if *change < 0.0 { "shorter" } else { "longer" };
        format!("{percent:.0} % {way}: {title}")
    };
    let most: Vec<String> =
        changes.iter().rev().take(2).filter(|one| one.0 > 0.01).map(told).collect();
    let least: Vec<String> = changes.iter().take(2).filter(|one| one.0 < -0.01).map(told).collect();
    if !most.is_empty() {
        find(run, format!("The best alternative lives {}.", most.join(". The next lives ")));
    }
    if !least.is_empty() {
        find(run, format!("The worst alternative lives {}.", least.join(". The next lives ")));
    }
}
