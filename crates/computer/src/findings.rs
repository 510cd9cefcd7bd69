//! Findings and warnings of a run.
//!
//! Layer: rank 9. Function: [`add`]. A finding names the figure that it rests on, and gives advice.

use super::tables::{Measurement, ratio, spent};
use boardlab_arm926::Exception;
use boardlab_realview::{EngineKind, Outcome, Warning};
use boardlab_result::prose::counted;
use boardlab_result::{Origin, RunResult};

/// The least share of the cycles that a finding reports.
const WORTH: f64 = 0.05;

/// Adds findings and warnings to `run`.
pub(super) fn add(run: &mut RunResult, measurement: &Measurement<'_>) {
    let findings = [largest_wait, caches_off, mmu_off, aborts];
    for finding in findings.into_iter().filter_map(|find| find(measurement)) {
        run.find(finding);
    }
    if *measurement.outcome == Outcome::Limit {
        run.warnings.push("The limit was reached before the program ended.".into());
    }
    if *measurement.outcome == Outcome::Reset {
        run.warnings.push("The program requested a reset of the board, which ends the run.".into());
    }
    for warning in measurement.session.machine.processor().bus.warnings() {
        run.warnings.push(warned(warning));
    }
    run.warnings.extend(engine_unused(measurement));
    let assumed = run.parameters.iter().filter(|one| one.origin == Origin::Assumed).count();
    if assumed > 0 {
        let all = run.parameters.len();
        run.warnings.push(format!(
            "{assumed} of {all} numbers of the board are assumed: times are those of such a board, not of a measured one."
        ));
    }
}

/// Why the reference interpreter ran instead of the chosen engine. The figures are the same with each engine.
fn engine_unused(measurement: &Measurement<'_>) -> Option<String> {
    let memory = &measurement.session.machine.processor().memory;
    let chosen = measurement.session.engine;
    let why = if chosen == Some(EngineKind::Interpreter) {
        return None;
    } else if memory.had_armv4_loads() {
        "The program set L4 (bit 15 of the control register), under which"
    } else if chosen.is_some() && memory.checker().is_some() {
        "With --check"
    } else if chosen.is_some() && measurement.profile.is_some() {
        "With --profile"
    } else {
        return None;
    };
    Some(format!(
        "{why} every instruction is executed by the reference interpreter, whatever --engine says; only the speed differs."
    ))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The wait that takes most cycles, or that no wait takes many.
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
        return Some("No wait takes 5 % of the cycles; the instructions do. `boardlab os run --profile` shows which.".into());
    }
    let advice = match id {
        "fetch" if mostly_uncached(measurement, cycles) => {
            "Most of it is with the instruction cache off, which bit 12 of the control register switches on, also without the MMU"
        }
        "fetch" => "Code that runs together should fit the instruction cache",
        "data" => "Access data in order, and keep related data in few lines of 32 bytes",
        "walk" => "Fewer and larger pages, or sections of 1 MB, need fewer walks",
        "write_buffer" => "Write less at a time, and make regions write-back, not write-through",
        _ => "Make memory cacheable, and poll devices less often",
    };
    Some(format!("Of the cycles awake, {} are {title}. {advice}.", percent(share)))
}

/// Whether `cycles` of waiting for instructions exceed those that line fills can take.
fn mostly_uncached(measurement: &Measurement<'_>, cycles: u64) -> bool {
    let settings = &measurement.session.computer.settings;
    let first = u64::from(settings.timing.read.first) + u64::from(settings.timing.read.next) * 7;
    let fill = (first + 16) * u64::from(settings.core.bus_ratio.get());
    let misses =
        measurement.session.machine.processor().memory.statistics().instruction_cache.read_misses;
    cycles / 2 > misses.saturating_mul(fill)
}

/// The caches that a run of more than 1,000 instructions never used.
fn caches_off(measurement: &Measurement<'_>) -> Option<String> {
    let processor = measurement.session.machine.processor();
    let statistics = processor.memory.statistics();
    let never = |reads: u64, writes: u64| reads == 0 && writes == 0;
    let (code, data) = (&statistics.instruction_cache, &statistics.data_cache);
    let which = match (never(code.reads, code.writes), never(data.reads, data.writes)) {
        (true, true) => "Both caches were",
        (true, false) => "The instruction cache was",
        (false, true) => "The data cache was",
        (false, false) => return None,
    };
    (processor.counts.instructions > 1_000).then(|| {
        format!(
            "{which} never used. Bit 12 of the control register switches the instruction cache on, bit 2 the data cache, \
             which needs the MMU as well."
        )
    })
}

fn mmu_off(measurement: &Measurement<'_>) -> Option<String> {
    let processor = measurement.session.machine.processor();
    let never = processor.memory.statistics().tlb_lookups == 0;
    (never && processor.counts.instructions > 1_000)
        .then(|| "The MMU was never on. So no TLB, write buffer or data cache was used.".into())
}

fn aborts(measurement: &Measurement<'_>) -> Option<String> {
    let taken = &measurement.session.machine.processor().counts.exceptions;
    let of = |exception: Exception| taken[exception as usize];
    let (data, prefetch) = (of(Exception::DataAbort), of(Exception::PrefetchAbort));
    (data + prefetch > 0).then(|| {
        let prefetch = counted(prefetch, "prefetch abort");
        format!("The program took {} and {prefetch}.", counted(data, "data abort"))
    })
}

fn warned(warning: &Warning) -> String {
    match warning {
        Warning::UartDisabled { uart } => format!(
            "UART {uart} was written while it was not enabled (UARTCR bits 0 and 8): the hardware would send nothing."
        ),
        Warning::SemihostingCall { call } => {
            format!("Semihosting call {call:#x} is not implemented: it returned -1.")
        }
        Warning::SemihostingFile => {
            "A semihosting call opened a file of the host, which is refused: it returned -1.".into()
        }
    }
}
