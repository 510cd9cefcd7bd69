//! Conclusions of the runs, and why they differ from the print.
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

/// Adds the findings of any run.
pub(super) fn all(run: &mut RunResult, runs: &Runs<'_>, what_if: &WhatIfs) {
    let cfi_info = &runs.linux.cfi_info;
    let released = runs.scenario.linux.wait == Wait::WordTime && cfi_info.write_buffer.is_some();
    if released {
        find(run, word_time(runs));
    }
    if released && cfi_info.buffer_typical_us > cfi_info.word_typical_us {
        find(run, obvious_repair(runs, what_if));
    }
    run.answer = Some(find(run, left_open(runs, what_if)));
}

/// Adds the findings about the print, and returns those that explain a cell.
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
        "udelay({}) lasts {:.1} us, because it spins for whole time base ticks a microsecond. At {frequency} a microsecond truncates to {} \
         ticks. Likewise udelay({}) lasts {:.1} us (printed: {} and {}).",
        runs.linux_us,
        micros(runs.linux, Step::WaitFixed),
        frequency.get() / 1_000_000,
        runs.improved_us,
        micros(runs.improved, Step::WaitFixed),
        print.quote("table5", "L-7", "mean_ns")?,
        print.quote("table6", "L-7-fixed", "mean_ns")?,
    ))
}

fn word_time(runs: &Runs<'_>) -> String {
    let cfi_info = &runs.linux.cfi_info;
    let [cfi_1f, cfi_20] =
        [cfi_info.word_typical_us, cfi_info.buffer_typical_us].map(|micros| micros.ilog2());
    format!(
        "Linux waits {} us before it polls, the typical time of a single word program. The part gives that as CFI 1Fh = {cfi_1f}, so \
         2^{cfi_1f} us. The time of the buffer would be CFI 20h = {cfi_20}, so 2^{cfi_20} us. Linux 6.1 still waits for the word.",
        cfi_info.word_typical_us,
    )
}

fn first_poll(print: &Reference, runs: &Runs<'_>) -> Result<String, Error> {
    Ok(format!(
        "The printed {} of L-7 is only the wait before the first poll, {:.1} us with its digits cut off. With the one poll that follows, \
         two reads, L-7 lasts {:.1} us. Only that gives the printed total of {}.",
        print.quote("table5", "L-7", "mean_ns")?,
        micros(runs.linux, Step::WaitFixed),
        micros(runs.linux, Step::Wait),
        print.quote("table5", "L-7", "total_ns")?,
    ))
}

fn poll_period(print: &Reference, runs: &Runs<'_>) -> Result<String, Error> {
    let gap = runs.improved_gap_us;
    Ok(format!(
        "Table 6 contradicts table 4: {} of waiting and {} of polling exceed the {} of a program. u-boot saw the same programs end within \
         that time. With the driver's own gap of 1 us between polls ({:.2} us from poll to poll) polling lasts {:.1} us, the total is \
         {:.1} s and the saving {:.1} s (table6-own-gap). The print implies a poll only every {:.0} us. The gap of {gap} us is therefore \
         fitted, as the only parameter: with it polling lasts {:.1} us, the total is {:.2} s and the saving {:.2} s. Table 6 has it by \
         default; --set improved.poll_gap=\"1 us\" gives the driver's own.",
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
    let change = match then.cmp(&now) {
        Ordering::Greater => "slower",
        Ordering::Less => "faster",
        Ordering::Equal => "no faster",
    };
    format!(
        "The obvious repair would make the write {change}: it would take {then} instead of {now}. \
         Linux would then wait for the typical time of the buffer, {} us.",
        runs.linux.cfi_info.buffer_typical_us,
    )
}

/// The gains of the best wait, a faster bus and more chips.
fn left_open(runs: &Runs<'_>, what_if: &WhatIfs) -> String {
    let Runs { scenario, linux, .. } = runs;
    let tuned = &what_if.tuned;
    let shortens = match tuned.total < linux.total {
        true => "would shorten the write",
        false => "would not shorten the write",
    };
    let of = if scenario.board.chips == 1 { "" } else { " for one chip alone" };
    let and_the_patch = match linux.cfi_info.write_buffer {
        Some(_) => " and the patch for Linux",
        None => "",
    };
    format!(
        "{}, the best wait{of} if a poll costs {}, {shortens}: {} against {}. This is the CPU time that a poll is worth; there are then \
         {:.1} polls a {}. {}{} `boardlab tune` compares the waits for a program, the adaptive one included, and shows the wait for \
         erases{and_the_patch}.",
        wait_call(tuned.tuned_us),
        scenario.tune.poll_cost,
        tuned.total,
        linux.total,
        tuned.polls_each(),
        scenario.program_unit(),
        faster_bus(runs, what_if),
        more_chips(runs, what_if),
    )
}

/// The gain of another bus cycle; empty if that cycle is the board's own.
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
        1 => ", the best wait there",
        _ => "",
    };
    format!(
        "With bus cycles of {cycle} instead of {own} the write takes {} with the present wait and {} with {}{best}. ",
        what_if.fast_bus.total,
        what_if.tuned_fast_bus.total,
        wait_call(what_if.tuned_fast_bus.tuned_us),
    )
}

/// The gain of twice and four times the chips.
fn more_chips(runs: &Runs<'_>, what_if: &WhatIfs) -> String {
    let chips = runs.scenario.board.chips;
    let hide = match what_if.twice_the_chips.total < what_if.tuned.total {
        true => ", which hide programming behind filling,",
        false => "",
    };
    format!(
        "With {} and {} chips in turn{hide} it takes {}; with {} chips it takes {}.",
        wait_call(what_if.twice_the_chips.tuned_us),
        2 * chips,
        what_if.twice_the_chips.total,
        4 * chips,
        what_if.four_times_the_chips.total,
    )
}

fn rounded_rows(print: &Reference, runs: &Runs<'_>) -> Result<String, Error> {
    Ok(format!(
        "The printed totals come from printed, rounded rows: {} for L-5 is one digit, {}, times the count. The four bus cycles of that \
         command take {:.2} us. Likewise {} for L-7 in table 6 is ({} + {}) times the count, with the digits cut off.",
        print.quote("table6", "L-5", "total_ns")?,
        print.quote("table5", "L-5", "mean_ns")?,
        micros(runs.linux, Step::Command),
        print.quote("table6", "L-7", "total_ns")?,
        print.quote("table6", "L-7-fixed", "mean_ns")?,
        print.quote("table6", "L-7-poll", "mean_ns")?,
    ))
}
