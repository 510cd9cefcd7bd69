//! Measurements as results: tables, predictions beside what was measured, findings and warnings.
//!
//! Layer: rank 8. Function: [`result`]. In reading order: `tables`, [`predictions`], `charts`, `warnings`.
//! The same measurement gives the same result, whenever and wherever it is read.

pub(crate) mod charts;
pub mod predictions;
mod tables;
mod warnings;

use crate::reading::{Reading, Told};
use boardlab_result::foreign::shown_at_most;
use boardlab_result::prose::counted;
use boardlab_result::{Origin, Parameter, RunResult};
use boardlab_sim::Duration;
use predictions::Prediction;

/// The name of the scenario where a plan names none.
const NO_SCENARIO: &str = "measurement";
/// How far a prediction may be off what was measured and count as right.
pub const BAND: f64 = 0.1;
/// The number of steps or figures that a sentence lists.
const LISTED: usize = 10;
/// The number of characters of a text of the agent that a sentence repeats.
const TEXT_SHOWN: usize = 400;

/// The result of a measurement.
#[must_use]
pub fn result(reading: &Reading) -> RunResult {
    let scenario = reading.head.as_ref().map(|head| head.scenario.as_str());
    let scenario = scenario.filter(|name| !name.is_empty()).unwrap_or(NO_SCENARIO);
    let title = match reading.head.as_ref().and_then(|head| named_board(&head.board)) {
        Some(board) => format!("Measured on {board}"),
        None => "Measured on a board".into(),
    };
    let mut run = RunResult::new(scenario, &title, 0, env!("CARGO_PKG_VERSION"));
    let predictions = predictions::of(reading);
    run.tables.extend(predictions::table(&predictions));
    run.tables.extend(tables::of(reading));
    run.findings.extend(findings(reading, &predictions));
    charts::draw(&mut run, reading, &predictions);
    run.parameters = parameters(reading);
    run.warnings = warnings::of(reading);
    run.warnings.extend(predictions::warnings(&predictions));
    run
}

/// What names a board best.
fn named_board(board: &indexmap::IndexMap<String, Told>) -> Option<String> {
    let texts = ["model", "hostname", "machine"].iter().filter_map(|key| match board.get(*key) {
        Some(Told::Text(text)) if !text.trim().is_empty() => Some(text.trim()),
        _ => None,
    });
    texts.into_iter().next().map(|text| shown_at_most(text, 80))
}

/// What was found out about the board, for comparisons and for a calibration.
pub(crate) fn parameters(reading: &Reading) -> Vec<Parameter> {
    let Some(head) = &reading.head else { return Vec::new() };
    let source = format!("told by the agent, version {}", head.agent);
    let parameter = |group: &str, (key, value): (&String, &Told)| Parameter {
        key: format!("{group}.{key}"),
        value: match value {
            Told::Number(number) => number.to_string(),
            Told::Text(text) => text.clone(),
        },
        origin: Origin::Measured,
        source: source.clone(),
    };
    let board = head.board.iter().map(|field| parameter("board", field));
    board.chain(head.clock.iter().map(|field| parameter("clock", field))).collect()
}

fn findings(reading: &Reading, predictions: &[Prediction<'_>]) -> Vec<String> {
    let mut findings = Vec::new();
    if reading.head.is_some() || !reading.steps.is_empty() {
        findings.push(extent(reading));
    }
    findings.extend(agreement(predictions));
    findings
}

/// How much was done.
fn extent(reading: &Reading) -> String {
    let done = reading.steps.len();
    let planned = reading.head.as_ref().map_or(done, |head| head.steps.max(done));
    let elapsed = reading.steps.iter().map(|step| step.elapsed_ns);
    let elapsed = Duration::from_nanos(elapsed.fold(0, u64::saturating_add));
    let steps = counted(planned, "step");
    match done {
        0 => format!("Nothing was measured of {steps}."),
        done if done == planned => format!("All of {steps} ended, in {elapsed}."),
        done => format!("{done} of {steps} ended, in {elapsed}."),
    }
}

/// How many predictions are right, which are not, and the worst.
pub(crate) fn agreement(predictions: &[Prediction<'_>]) -> Vec<String> {
    let mut known: Vec<(&Prediction<'_>, f64)> =
        predictions.iter().filter_map(|one| Some((one, one.off()?))).collect();
    // The worst first; of equal ones the one that the plan has first.
    known.sort_by(|(_, one), (_, other)| other.abs().total_cmp(&one.abs()));
    let Some((worst, off)) = known.first() else { return Vec::new() };
    let beyond: Vec<_> = known.iter().filter(|(_, off)| off.abs() > BAND).collect();
    let within = known.len() - beyond.len();
    let share = match (within, known.len()) {
        (_, 1) if within == 1 => "The prediction is within 10 % of what was measured.".into(),
        (_, 1) => "The prediction is not within 10 % of what was measured.".into(),
        (within, all) if within == all => {
            format!("All {all} predictions are within 10 % of what was measured.")
        }
        (0, all) => format!("None of {all} predictions is within 10 % of what was measured."),
        (within, all) => {
            format!("{within} of {all} predictions are within 10 % of what was measured.")
        }
    };
    let mut findings = vec![format!("{share} The worst is {}.", worst.sentence(*off))];
    if beyond.len() > 1 {
        let names = beyond.iter().take(LISTED);
        let names: Vec<_> =
            names.map(|(one, off)| format!("{} ({})", one.id(), percent(*off))).collect();
        let rest = beyond.len() - names.len();
        let rest = if rest > 0 { format!(", and {rest} more") } else { String::new() };
        findings.push(format!("Off by more than 10 %: {}{rest}.", names.join(", ")));
    }
    findings
}

/// A share with its sign, in percent.
fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

#[cfg(test)]
mod tests;
