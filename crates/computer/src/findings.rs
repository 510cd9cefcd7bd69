//! What a run teaches, in sentences.
//!
//! Layer: rank 9. Function: [`add`]. Each finding names the figure that it rests on and what to do about it.

use super::tables::{Measurement, ratio, spent};
use boardlab_arm926::Exception;
use boardlab_realview::{EngineKind, Outcome, Warning};
use boardlab_result::{Origin, RunResult};

/// A share of the cycles that is worth a sentence.
const WORTH: f64 = 0.05;

/// Adds findings and warnings to `run`.
pub(super) fn add(run: &mut RunResult, measurement: &Measurement<'_>) {
    let findings = [largest_wait, caches_off, mmu_off, aborts];
    for finding in findings.into_iter().filter_map(|find| find(measurement)) {
        run.find(finding);
    }
    if *measurement.outcome == Outcome::Limit {
        run.warnings.push("the limit was reached before the program ended".into());
    }
    if *measurement.outcome == Outcome::Reset {
        run.warnings.push("the program asked for a reset of the board; the run ends there".into());
    }
    for warning in measurement.session.machine.processor().bus.warnings() {
        run.warnings.push(warned(warning));
    }
    run.warnings.extend(engine_unused(measurement));
    let assumed = run.parameters.iter().filter(|one| one.origin == Origin::Assumed).count();
    if assumed > 0 {
        let all = run.parameters.len();
        run.warnings.push(format!(
            "{assumed} of {all} numbers of the board are assumed: times are those of such a board, not of one that was measured"
        ));
    }
}

/// Why the engine that runs instructions was not the one that the user thinks it was. The figures are the same with each.
fn engine_unused(measurement: &Measurement<'_>) -> Option<String> {
    let memory = &measurement.session.machine.processor().memory;
    let chosen = measurement.session.engine;
    let why = if chosen == Some(EngineKind::Interpreter) {
        return None;
    } else if memory.had_armv4_loads() {
        "the program set L4 (bit 15 of the control register), under which"
    } else if chosen.is_some() && memory.checker().is_some() {
        "with --check"
    } else if chosen.is_some() && measurement.profile.is_some() {
        "with --profile"
    } else {
        return None;
    };
    Some(format!(
        "{why} every instruction is executed by the reference interpreter, whatever --engine says; only the speed differs"
    ))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The wait that takes most, or that none is worth mentioning.
fn largest_wait(measurement: &Measurement<'_>) -> Option<String> {
    let spent = spent(measurement);
    let asleep = spent.last().map_or(0, |(.., cycles)| *cycles);
    let awake = measurement.session.machine.now().0 - asleep;
    if awake == 0 {
        return None;
    }
    let waits = spent.iter().filter(|(id, ..)| *id != "pipeline" && *id != "asleep");
    let &(id, title, cycles) = waits.max_by_key(|(.., cycles)| *cycles)?;
    let share = ratio(cycles, awake);
    if share < WORTH {
        return Some("no wait takes 5 % of the cycles: the instructions themselves do, see `boardlab os run --profile`".into());
    }
    let advice = match id {
        "fetch" if mostly_uncached(measurement, cycles) => {
            "most of it with the instruction cache off, which bit 12 of the control register switches on, also without the MMU"
        }
        "fetch" => "code that runs together should fit the instruction cache",
        "data" => {
            "touch data in the order of memory, and keep what is used together in few lines of 32 bytes"
        }
        "walk" => "fewer and larger pages, or sections of 1 MB, need fewer walks",
        "write_buffer" => {
            "write less at a time, and let regions be written back instead of through"
        }
        _ => "let memory be cached, and ask devices less often",
    };
    Some(format!("{title} takes {} of the cycles awake: {advice}", percent(share)))
}

/// Whether so many cycles of waiting for instructions are more than the fills of lines can be.
fn mostly_uncached(measurement: &Measurement<'_>, cycles: u64) -> bool {
    let settings = &measurement.session.computer.settings;
    let first = u64::from(settings.timing.read.first) + u64::from(settings.timing.read.next) * 7;
    let fill = (first + 16) * u64::from(settings.core.bus_ratio.get());
    let misses =
        measurement.session.machine.processor().memory.statistics().instruction_cache.read_misses;
    cycles / 2 > misses.saturating_mul(fill)
}

/// A run that never looked in a cache although it was long enough to be worth it.
fn caches_off(measurement: &Measurement<'_>) -> Option<String> {
    let processor = measurement.session.machine.processor();
    let statistics = processor.memory.statistics();
    let never = |reads: u64, writes: u64| reads == 0 && writes == 0;
    let (code, data) = (&statistics.instruction_cache, &statistics.data_cache);
    let which = match (never(code.reads, code.writes), never(data.reads, data.writes)) {
        (true, true) => "both caches were",
        (true, false) => "the instruction cache was",
        (false, true) => "the data cache was",
        (false, false) => return None,
    };
    (processor.counts.instructions > 1_000).then(|| {
        format!("{which} never used: they are switched on by bits 12 and 2 of the control register, the data cache needs the MMU as well")
    })
}

fn mmu_off(measurement: &Measurement<'_>) -> Option<String> {
    let processor = measurement.session.machine.processor();
    let never = processor.memory.statistics().tlb_lookups == 0;
    (never && processor.counts.instructions > 1_000)
        .then(|| "the MMU was never on: no TLB, no write buffer, no data cache".into())
}

fn aborts(measurement: &Measurement<'_>) -> Option<String> {
    let taken = &measurement.session.machine.processor().counts.exceptions;
    let of = |exception: Exception| taken[exception as usize];
    let (data, prefetch) = (of(Exception::DataAbort), of(Exception::PrefetchAbort));
    (data + prefetch > 0)
        .then(|| format!("{data} data aborts and {prefetch} prefetch aborts were taken"))
}

fn warned(warning: &Warning) -> String {
    match warning {
        Warning::UartDisabled { uart } => format!(
            "UART {uart} was written while it was not enabled (UARTCR bits 0 and 8): the hardware would send nothing"
        ),
        Warning::SemihostingCall { call } => {
            format!("semihosting call {call:#x} is not served: it returned -1")
        }
        Warning::SemihostingFile => {
            "a semihosting call asked for a file, which a guest is not given: it returned -1".into()
        }
    }
}
