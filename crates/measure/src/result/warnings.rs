//! What is missing or damaged of a measurement, in sentences.
//!
//! Layer: rank 8. Function: [`of`].

use super::{LISTED, TEXT_SHOWN};
use crate::reading::registers::is_register;
use crate::reading::{EndKind, Reading, State};
use boardlab_result::foreign::shown_at_most;
use boardlab_result::prose::counted;

/// The warnings, the gravest first.
pub(super) fn of(reading: &Reading) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings.extend(refusal(reading));
    warnings.extend(end(reading));
    warnings.extend(steps(reading));
    warnings.extend(registers(reading));
    warnings.extend(restored(reading));
    warnings.extend(lost(reading));
    warnings.extend(damage(reading));
    warnings
}

fn shown(text: &str) -> String {
    shown_at_most(text, TEXT_SHOWN)
}

fn refusal(reading: &Reading) -> Option<String> {
    let refusal = reading.refusal.as_ref()?;
    let step = refusal.step.as_ref().map(|step| format!(" because of step `{step}`"));
    let step = step.unwrap_or_default();
    Some(format!("The agent refused the plan{step}: {}. Nothing was written.", shown(&refusal.why)))
}

/// How it ended, unless it did as it should.
fn end(reading: &Reading) -> Option<String> {
    let ended = reading.steps.len();
    match (&reading.end, &reading.unfinished) {
        (None, _) if reading.refusal.is_some() => None,
        (None, Some(step)) => Some(format!(
            "The measurement is partial: it broke off in step `{step}`, after {} that ended. The agent was killed, \
             the connection was lost, or the power went.",
            counted(ended, "step")
        )),
        (None, None) => Some(format!(
            "The measurement is partial: its end is missing, after {} that ended.",
            counted(ended, "step")
        )),
        (Some(end), _) => match end.kind {
            EndKind::Complete => None,
            EndKind::Interrupted => Some(format!(
                "The measurement was interrupted: {} of {} were done.",
                end.done,
                counted(end.steps, "step")
            )),
            EndKind::Failed => Some(format!(
                "Steps failed: {} of {} were done.",
                end.done,
                counted(end.steps, "step")
            )),
        },
    }
}

/// Steps that failed or were stopped.
fn steps(reading: &Reading) -> Vec<String> {
    let tell = |step: &crate::reading::StepReading| match &step.state {
        State::Done => None,
        State::Stopped => {
            let done = counted(step.operations, "operation");
            Some(format!(
                "Step `{}` was stopped by its limit or a signal, after {done}.",
                step.name
            ))
        }
        State::Failed(error) => Some(format!("Step `{}` failed: {}.", step.name, shown(error))),
    };
    listed(reading.steps.iter().filter_map(tell), "step ended", "steps ended")
}

/// Registers whose bytes are damaged.
fn registers(reading: &Reading) -> Vec<String> {
    let values =
        reading.steps.iter().flat_map(|step| step.values.keys().map(move |key| (step, key)));
    let unread = values.filter(|(_, name)| is_register(name)).map(|(step, name)| {
        format!(
            "`{name}` of step `{}` is not the bytes of that register: it was not read.",
            step.name
        )
    });
    listed(unread, "register was not read", "registers were not read")
}

/// The first of some sentences, and how many more there are.
fn listed(sentences: impl Iterator<Item = String>, one: &str, many: &str) -> Vec<String> {
    let mut sentences: Vec<_> = sentences.collect();
    let rest = sentences.len().saturating_sub(LISTED);
    sentences.truncate(LISTED);
    if rest > 0 {
        let what = if rest == 1 { one } else { many };
        sentences.push(format!("{rest} more {what} like that."));
    }
    sentences
}

fn restored(reading: &Reading) -> Vec<String> {
    let restored = reading.end.iter().flat_map(|end| &end.restored);
    let failed = restored.filter_map(|one| {
        let error = one.error.as_ref()?;
        Some(format!("{} could not be set back: {}.", shown(&one.what), shown(error)))
    });
    listed(failed, "thing was left", "things were left")
}

/// Lines that are lost.
fn lost(reading: &Reading) -> Vec<String> {
    let mut warnings = Vec::new();
    if reading.head.is_none() {
        warnings.push("The first line is lost: scenario, board and wear are not known.".into());
    }
    if !reading.lost.is_empty() {
        let names = reading.lost[..reading.lost.len().min(LISTED)].join("`, `");
        let count = counted(reading.lost.len(), "step");
        warnings.push(format!("The figures of {count} are lost: `{names}`."));
    }
    if reading.strays > 0 {
        let count = counted(reading.strays, "step");
        warnings.push(format!("The plan of {count} is lost, and so are the predictions."));
    }
    if let (Some(head), Some(_)) = (&reading.head, &reading.end) {
        let known = reading.steps.len() + reading.lost.len();
        let missing = head.steps.saturating_sub(known);
        let is_complete = reading.end.as_ref().is_some_and(|end| end.kind == EndKind::Complete);
        if missing > 0 && is_complete {
            let count = counted(missing, "step");
            warnings.push(format!("Nothing is known of {count}."));
        }
    }
    warnings
}

fn damage(reading: &Reading) -> Vec<String> {
    let tell = |one: &crate::reading::Damage| {
        format!("Line {} is damaged and was left out: {}.", one.line, shown(&one.flaw.to_string()))
    };
    let mut warnings: Vec<_> = reading.damage.iter().map(tell).collect();
    if reading.damage_hidden > 0 {
        let count = counted(reading.damage_hidden, "line");
        warnings.push(format!("{count} more are damaged and were left out."));
    }
    if reading.foreign > 0 {
        let count = counted(reading.foreign, "line");
        warnings.push(format!(
            "{count} that the agent did not write, such as kernel messages, were skipped."
        ));
    }
    warnings
}
