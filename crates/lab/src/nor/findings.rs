//! What the runs teach, and why they differ from the print.
//!
//! Layer: rank 11. Functions: [`all`], and [`on_the_print`], whose findings explain cells.

use super::run::write::WriteMeasurement;
use super::run::{Runs, WhatIfs};
use super::scenario::{Wait, wait_call};
use boardlab_document::error::Error;
use boardlab_experiment::finding::{find, on_print};
use boardlab_experiment::reference::Reference;
use boardlab_nor::driver::Step;
use boardlab_result::RunResult;
use boardlab_sim::Duration;
use std::cmp::Ordering;

/// Indices of the findings that explain cells.
pub(super) struct Explaining {
    pub(super) first_poll: usize,
    pub(super) poll_period: usize,
    pub(super) rounded_rows: usize,
}

/// Adds what the runs teach, whatever was run.
pub(super) fn all(run: &mut RunResult, runs: &Runs<'_>, what_if: &WhatIfs) {
    let cfi_info = &runs.linux.cfi_info;
    let released = runs.scenario.linux.wait == Wait::WordTime && cfi_info.write_buffer.is_some();
    if released {
        find(run, word_time(runs));
    }
    if released && cfi_info.buffer_typical_us > cfi_info.word_typical_us {
        find(run, obvious_repair(runs, what_if));
    }
    find(run, left_open(runs, what_if));
}

/// Adds what the runs say of the print; those findings that explain a cell are returned.
pub(super) fn on_the_print(
    run: &mut RunResult,
    reference: &Reference,
    runs: &Runs<'_>,
) -> Result<Explaining, Error> {
    on_print(run, truncated(reference, runs)?);
    let first_poll = on_print(run, first_poll(reference, runs)?);
    let poll_period = on_print(run, poll_period(reference, runs)?);
    let rounded_rows = on_print(run, rounded_rows(reference, runs)?);
    Ok(Explaining { first_poll, poll_period, rounded_rows })
}

/// Mean of a step in microseconds.
fn micros(measured: &WriteMeasurement, step: Step) -> f64 {
    measured.steps.of(step).mean().unwrap_or(Duration::ZERO).as_micros_f64()
}

fn secs(measured: &WriteMeasurement) -> f64 {
    measured.total.as_secs_f64()
}

fn truncated(print: &Reference, runs: &Runs<'_>) -> Result<String, Error> {
    let frequency = runs.host.time_base().frequency();
    Ok(format!(
        "Why a wait of {} us is shorter than that: udelay spins for whole time base ticks a \
         microsecond, and {frequency} truncates to {} ticks. {} us last {:.1} us; {} us last \
         {:.1} us (printed: {} and {}).",
        runs.linux_us,
        frequency.get() / 1_000_000,
        runs.linux_us,
        micros(runs.linux, Step::WaitFixed),
        runs.improved_us,
        micros(runs.improved, Step::WaitFixed),
        print.quote("table5", "L-7", "mean_ns")?,
        print.quote("table6", "L-7-fixed", "mean_ns")?,
    ))
}

fn word_time(runs: &Runs<'_>) -> String {
    let cfi_info = &runs.linux.cfi_info;
    let (word, buffer) = (cfi_info.word_typical_us, cfi_info.buffer_typical_us);
    format!(
        "Where {word} us comes from: before it polls, Linux waits for the typical time of a single \
         word program (CFI 1Fh = {}, so 2^{} us), not of the buffer (CFI 20h = {}, so 2^{} us). \
         Linux 6.1 still does.",
        word.ilog2(),
        word.ilog2(),
        buffer.ilog2(),
        buffer.ilog2(),
    )
}

fn first_poll(print: &Reference, runs: &Runs<'_>) -> Result<String, Error> {
    Ok(format!(
        "The printed {} of L-7 is the wait before the first poll ({:.1} us, digits cut off); with \
         the one poll that follows, two reads, it is {:.1} us, and only that gives the printed \
         total of {}.",
        print.quote("table5", "L-7", "mean_ns")?,
        micros(runs.linux, Step::WaitFixed),
        micros(runs.linux, Step::Wait),
        print.quote("table5", "L-7", "total_ns")?,
    ))
}

fn poll_period(print: &Reference, runs: &Runs<'_>) -> Result<String, Error> {
    let gap = runs.improved_gap_us;
    Ok(format!(
        "What table 6 is not consistent with: {} of waiting and {} of polling are longer than the \
         {} in which u-boot saw the same programs end. With the driver's own gap of 1 us between \
         polls ({:.2} us from poll to poll) polling lasts {:.1} us, the total is {:.1} s and the \
         saving {:.1} s (table6-own-gap). The print needs a poll only every {:.0} us: the gap of \
         {gap} us is the one fitted parameter; with it polling lasts {:.1} us, the total is \
         {:.2} s and the saving {:.2} s. It is the default of table 6; \
         --set improved.poll_gap=\"1 us\" gives the driver's own.",
        print.quote("table6", "L-7-fixed", "mean_ns")?,
        print.quote("table6", "L-7-poll", "mean_ns")?,
        print.quote("table4", "U-6", "mean_ns")?,
        runs.poll_period_us,
        micros(runs.own_gap, Step::WaitPoll),
        secs(runs.own_gap),
        secs(runs.linux) - secs(runs.own_gap),
        runs.improved_period_us,
        micros(runs.improved, Step::WaitPoll),
        secs(runs.improved),
        secs(runs.linux) - secs(runs.improved),
    ))
}

fn obvious_repair(runs: &Runs<'_>, what_if: &WhatIfs) -> String {
    let (now, then) = (runs.linux.total, what_if.buffer_time.total);
    let would = match then.cmp(&now) {
        Ordering::Greater => "cost",
        Ordering::Less => "gain",
        Ordering::Equal => "change: nothing",
    };
    format!(
        "What the obvious repair would {would}: waiting for the buffer time ({} us) makes the \
         same write take {then} instead of {now}.",
        runs.linux.cfi_info.buffer_typical_us,
    )
}

/// The best wait, a faster bus and more chips: what each would still give.
fn left_open(runs: &Runs<'_>, what_if: &WhatIfs) -> String {
    let Runs { scenario, linux, .. } = runs;
    let tuned = &what_if.tuned;
    let lead = match tuned.total < linux.total {
        true => "What was left on the table",
        false => "What else there is",
    };
    let (best, chips) = (wait_call(tuned.tuned_us), scenario.board.chips);
    let best = match chips {
        1 => format!("{best} is the best wait"),
        _ => format!("for a chip alone {best} is the best wait"),
    };
    let and_the_patch = match linux.cfi_info.write_buffer {
        Some(_) => ", the wait for erases and the patch",
        None => " and the wait for erases",
    };
    format!(
        "{lead}: {best} when a poll is worth {} ({}, {:.1} polls a {}). {}{} `boardlab tune` shows what waits \
         give, the adaptive one too{and_the_patch}.",
        scenario.tune.poll_cost,
        tuned.total,
        tuned.polls_each(),
        scenario.program_unit(),
        faster_bus(runs, what_if),
        more_chips(runs, what_if),
    )
}

/// What another bus cycle would give; nothing where the cycle is that of the board.
fn faster_bus(runs: &Runs<'_>, what_if: &WhatIfs) -> String {
    let (cycle, bus) = (runs.scenario.fast_cycle, runs.scenario.board.bus);
    if bus.write_cycle == cycle && bus.read_cycle == cycle {
        return String::new();
    }
    let own = match bus.write_cycle == bus.read_cycle {
        true => bus.write_cycle.to_string(),
        false => format!("{} (writes) and {} (reads)", bus.write_cycle, bus.read_cycle),
    };
    let best = match runs.scenario.board.chips {
        1 => ", the best one there",
        _ => "",
    };
    format!(
        "With bus cycles of {cycle} instead of {own} the write takes {} with the wait as it is and {} with {}{best}. ",
        what_if.fast_bus.total,
        what_if.tuned_fast_bus.total,
        wait_call(what_if.tuned_fast_bus.tuned_us),
    )
}

/// What twice and four times the chips would give.
fn more_chips(runs: &Runs<'_>, what_if: &WhatIfs) -> String {
    let chips = runs.scenario.board.chips;
    let hide = match what_if.twice_the_chips.total < what_if.tuned.total {
        true => ", which hide programming behind filling,",
        false => "",
    };
    format!(
        "With {} and {} chips in turn{hide} it takes {}; with {}, {}.",
        wait_call(what_if.twice_the_chips.tuned_us),
        2 * chips,
        what_if.twice_the_chips.total,
        4 * chips,
        what_if.four_times_the_chips.total,
    )
}

fn rounded_rows(print: &Reference, runs: &Runs<'_>) -> Result<String, Error> {
    Ok(format!(
        "The printed totals are products and sums of printed, rounded rows: {} for L-5 is one \
         digit ({}) times the count, where the four bus cycles of the command take {:.2} us, and \
         {} for L-7 in table 6 is ({} + {}) times the count with the digits cut off.",
        print.quote("table6", "L-5", "total_ns")?,
        print.quote("table5", "L-5", "mean_ns")?,
        micros(runs.linux, Step::Command),
        print.quote("table6", "L-7", "total_ns")?,
        print.quote("table6", "L-7-fixed", "mean_ns")?,
        print.quote("table6", "L-7-poll", "mean_ns")?,
    ))
}
