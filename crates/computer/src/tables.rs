//! The tables of a run.
//!
//! Layer: rank 9. Function: [`result`]. Tables: `run`, `waiting`, `caches`, `tlb`, `exceptions`; with a profile `functions`, `calls` and
//! `interrupts-off`.
//! Counts are of the core, times are cycles by its clock, rounded down to nanoseconds.

use super::listing::exception_name;
use super::masked::{self, Stretch};
use super::measurement::Measurement;
use super::profile::{FunctionRow, Profile};
use crate::VERSION;
use boardlab_arm926::Exception;
use boardlab_arm926::memory::check::{Stale, Violation};
use boardlab_arm926::memory::statistics::CacheCounts;
use boardlab_realview::Outcome;
use boardlab_result::prose::float;
use boardlab_result::{Cell, Row, RunResult, Table};

/// Functions that have a row of their own; the others are summed.
const FUNCTIONS: usize = 40;

/// Stretches with interrupts masked that have a row.
const STRETCHES: usize = 10;

/// Violations of coherence that have a row.
const VIOLATIONS: usize = 100;

/// The result of a run.
pub(super) fn result(measurement: &Measurement<'_>) -> RunResult {
    let session = measurement.session;
    // What a board is made of may differ in this run: the parameters say it.
    let board = session.computer.name.split(':').next().unwrap_or_default();
    let title = format!("{} on {board}", session.name);
    let mut run = RunResult::new("os-run", &title, measurement.seed.get(), VERSION);
    let processor = session.machine.processor();
    run.virtual_time_ns = nanoseconds(measurement, processor.now.0);
    run.parameters.clone_from(&session.parameters);
    run.tables =
        vec![overview(measurement), waiting(measurement), caches(measurement), tlb(measurement)];
    run.tables.extend(exceptions(measurement));
    run.tables.extend(coherence(measurement));
    if let Some((profile, masked)) = measurement.profile {
        run.tables.push(functions(measurement, profile));
        run.tables.extend(calls(measurement, profile));
        run.tables.extend(interrupts_off(measurement, masked));
    }
    // All of them count for all tables; once is enough to say so.
    run.tables[0].parameters = run.parameters.iter().map(|one| one.key.clone()).collect();
    run.count_provenance();
    run
}

/// The figures of the run so far as lines, for a debugger.
pub(super) fn lines(measurement: &Measurement<'_>) -> Vec<String> {
    let statistics = measurement.session.machine.processor().memory.statistics();
    let cache = |name: &str, counts: &CacheCounts| {
        let CacheCounts { reads, read_misses, writes, write_misses, half_lines_written, .. } =
            counts;
        format!(
            "{name}: {reads} reads ({read_misses} missed), {writes} writes ({write_misses} missed), {half_lines_written} half-lines written back"
        )
    };
    let mut lines = vec![
        cache("instruction cache", &statistics.instruction_cache),
        cache("data cache", &statistics.data_cache),
        format!("TLB: {} lookups ({} missed)", statistics.tlb_lookups, statistics.tlb_misses),
    ];
    lines.extend(
        spent(measurement).iter().map(|(_, title, cycles)| format!("{title}: {cycles} cycles")),
    );
    lines
}

/// Virtual time of so many cycles.
fn nanoseconds(measurement: &Measurement<'_>, cycles: u64) -> u64 {
    let clock = measurement.session.machine.processor().bus.clock();
    clock.instant(boardlab_arm926::Cycles(cycles)).as_nanos()
}

/// `part` of `whole`; nothing of nothing is nothing.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { float(part) / float(whole) }
}

/// How the run ended, in a word or two.
fn ending(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Limit => "limit".into(),
        Outcome::Exit { code, .. } => format!("exit {code}"),
        Outcome::Asleep => "asleep for ever".into(),
        Outcome::NoHandler { exception, .. } => {
            format!("{}, no handler", exception_name(*exception))
        }
        Outcome::NotModelled { .. } => "part not modelled".into(),
        Outcome::Reset => "reset".into(),
        _ => "stopped".into(),
    }
}

fn overview(measurement: &Measurement<'_>) -> Table {
    let machine = &measurement.session.machine;
    let processor = machine.processor();
    let counts = &processor.counts;
    let cycles = processor.now.0;
    let awake = cycles - counts.asleep;
    let row = |id: &str, title: &str, cell| Row::new(id, title).cell("value", cell);
    let mut table = Table::new("run", "The run").column("value", "value");
    table.rows = vec![
        row("ended", "ended by", Cell::text(ending(measurement.outcome))),
        row("virtual_time", "virtual time", Cell::count(nanoseconds(measurement, cycles)))
            .of_unit("ns"),
        row("cycles", "cycles", Cell::count(cycles)).of_unit("count"),
        row("asleep", "of these asleep", Cell::count(counts.asleep)).of_unit("count"),
        row("instructions", "instructions", Cell::count(counts.instructions)).of_unit("count"),
        row("skipped", "of these skipped by condition", Cell::count(counts.skipped))
            .of_unit("count"),
        row("cpi", "cycles an instruction, awake", Cell::real(ratio(awake, counts.instructions))),
        row("trace_hash", "trace hash", Cell::text(format!("{:016x}", machine.trace_hash()))),
    ];
    table
}

/// Where the core waited, the pipeline's own cycles and sleep: all cycles of the run.
pub(super) fn spent(measurement: &Measurement<'_>) -> Vec<(&'static str, &'static str, u64)> {
    let processor = measurement.session.machine.processor();
    let waiting = &processor.memory.statistics().waiting;
    let waits = [
        ("fetch", "waiting for instructions", waiting.fetch),
        ("data", "waiting for lines of the data cache", waiting.data),
        ("walk", "waiting for translation table walks", waiting.walk),
        ("write_buffer", "waiting for the write buffer", waiting.write_buffer),
        ("uncached", "waiting for uncached data and devices", waiting.uncached),
    ];
    let waited: u64 = waits.iter().map(|(.., cycles)| cycles).sum();
    let asleep = processor.counts.asleep;
    let pipeline = processor.now.0.saturating_sub(waited).saturating_sub(asleep);
    let mut all = vec![("pipeline", "the pipeline itself", pipeline)];
    all.extend(waits);
    all.push(("asleep", "asleep", asleep));
    all
}

fn waiting(measurement: &Measurement<'_>) -> Table {
    let mut table = Table::new("waiting", "Where the cycles go")
        .column("cycles_count", "cycles")
        .column("share_ratio", "share")
        .column("time_ns", "time");
    let all = measurement.session.machine.now().0;
    let row = |(id, title, cycles): (&str, &str, u64)| {
        Row::new(id, title)
            .cell("cycles_count", Cell::count(cycles))
            .cell("share_ratio", Cell::real(ratio(cycles, all)))
            .cell("time_ns", Cell::count(nanoseconds(measurement, cycles)))
    };
    table.rows = spent(measurement).into_iter().map(row).collect();
    table
}

fn caches(measurement: &Measurement<'_>) -> Table {
    let statistics = measurement.session.machine.processor().memory.statistics();
    let mut table = Table::new("caches", "Caches (that of instructions is looked at once a line)")
        .column("reads_count", "reads")
        .column("read_misses_count", "missed")
        .column("read_miss_ratio", "of reads")
        .column("writes_count", "writes")
        .column("write_misses_count", "missed")
        .column("replaced_count", "lines replaced")
        .column("written_back_count", "half-lines written back");
    let row = |id: &str, title: &str, counts: &CacheCounts| {
        Row::new(id, title)
            .cell("reads_count", Cell::count(counts.reads))
            .cell("read_misses_count", Cell::count(counts.read_misses))
            .cell("read_miss_ratio", Cell::real(ratio(counts.read_misses, counts.reads)))
            .cell("writes_count", Cell::count(counts.writes))
            .cell("write_misses_count", Cell::count(counts.write_misses))
            .cell("replaced_count", Cell::count(counts.replaced))
            .cell("written_back_count", Cell::count(counts.half_lines_written))
    };
    table.rows = vec![
        row("instruction", "", &statistics.instruction_cache),
        row("data", "", &statistics.data_cache),
    ];
    table
}

fn tlb(measurement: &Measurement<'_>) -> Table {
    let statistics = measurement.session.machine.processor().memory.statistics();
    let mut table = Table::new("tlb", "TLB")
        .column("lookups_count", "lookups")
        .column("misses_count", "misses")
        .column("miss_ratio", "of lookups");
    let row = Row::new("tlb", "")
        .cell("lookups_count", Cell::count(statistics.tlb_lookups))
        .cell("misses_count", Cell::count(statistics.tlb_misses))
        .cell("miss_ratio", Cell::real(ratio(statistics.tlb_misses, statistics.tlb_lookups)));
    table.rows.push(row);
    table
}

/// The exceptions that were taken, if there were any.
fn exceptions(measurement: &Measurement<'_>) -> Option<Table> {
    let taken = &measurement.session.machine.processor().counts.exceptions;
    let mut table = Table::new("exceptions", "Exceptions").column("taken_count", "taken");
    let row = |exception: Exception| {
        let number = taken[exception as usize];
        let id = exception_name(exception).to_lowercase().replace(' ', "_");
        (number > 0).then(|| {
            Row::new(id, exception_name(exception)).cell("taken_count", Cell::count(number))
        })
    };
    table.rows = Exception::ALL.into_iter().filter_map(row).collect();
    (!table.rows.is_empty()).then_some(table)
}

/// What was read although it was not the newest, if that was looked for and found.
fn coherence(measurement: &Measurement<'_>) -> Option<Table> {
    let session = measurement.session;
    let mut table = Table::new("coherence", "Used although it was not the newest")
        .column("address", "address")
        .column("by", "by")
        .column("cycle_count", "at cycle")
        .column("missing", "what is missing");
    let row = |(number, violation): (usize, &Violation)| {
        let by = session.symbols.name(violation.pc).to_string();
        Row::new(format!("violation-{}", number + 1), stale_name(violation.stale))
            .cell("address", Cell::text(format!("{:#010x}", violation.at.0)))
            .cell("by", Cell::text(by))
            .cell("cycle_count", Cell::count(violation.now.0))
            .cell("missing", Cell::text(violation.stale.missing()))
    };
    let found = session.machine.processor().memory.violations();
    table.rows = found.iter().take(VIOLATIONS).enumerate().map(row).collect();
    (!table.rows.is_empty()).then_some(table)
}

const fn stale_name(stale: Stale) -> &'static str {
    match stale {
        Stale::InstructionNotCleaned(_) => "an instruction; the newer one is in the data cache",
        Stale::InstructionNotInvalidated => "an instruction; the newer one is in memory",
        Stale::DirtySynonym(_) => "data; the newer ones are in the line of another address",
        Stale::DataNotInvalidated => "data in the cache; the newer ones are in memory",
        Stale::DescriptorNotCleaned(_) => "a descriptor; the newer one is in the data cache",
        Stale::Translation(_) => "a translation whose descriptor has changed",
        Stale::Lost => "data that are nowhere any more",
    }
}

fn functions(measurement: &Measurement<'_>, profile: &Profile) -> Table {
    let all = measurement.session.machine.now().0;
    let mut table = Table::new(
        "functions",
        "Where the cycles go, by function (its own, without those that it calls)",
    )
    .column("cycles_count", "cycles")
    .column("share_ratio", "share")
    .column("instructions_count", "instructions")
    .column("cpi", "CPI")
    .column("calls_count", "calls")
    .column("instruction_misses_count", "I misses")
    .column("data_misses_count", "D misses")
    .column("tlb_misses_count", "TLB misses");
    let row = |FunctionRow { name, tally }: &FunctionRow| {
        let [instruction, data, tlb] = tally.misses;
        Row::new(name.clone(), "")
            .cell("cycles_count", Cell::count(tally.cycles))
            .cell("share_ratio", Cell::real(ratio(tally.cycles, all)))
            .cell("instructions_count", Cell::count(tally.instructions))
            .cell("cpi", Cell::real(ratio(tally.cycles, tally.instructions)))
            .cell("calls_count", Cell::count(tally.calls))
            .cell("instruction_misses_count", Cell::count(instruction))
            .cell("data_misses_count", Cell::count(data))
            .cell("tlb_misses_count", Cell::count(tlb))
    };
    let mut rows = profile.functions();
    if rows.len() > FUNCTIONS {
        let rest = rows.split_off(FUNCTIONS);
        rows.push(FunctionRow::sum(&format!("({} others)", rest.len()), &rest));
    }
    table.rows = rows.iter().map(row).collect();
    table
}

/// The longest stretches with interrupts masked, if any ended.
fn interrupts_off(measurement: &Measurement<'_>, stretches: &[Stretch]) -> Option<Table> {
    let title = "The longest stretches with interrupts off, by where they begin";
    let mut table = masked::table(title).column("after_count", "longest after instructions");
    let row = |(index, stretch): (usize, &Stretch)| {
        let row = Row::new(format!("stretch-{}", index + 1), (index + 1).to_string());
        let time = Cell::count(nanoseconds(measurement, stretch.cycles));
        stretch
            .cells(row, time, &measurement.session.symbols)
            .cell("after_count", Cell::count(stretch.after))
    };
    table.rows = stretches.iter().take(STRETCHES).enumerate().map(row).collect();
    (!table.rows.is_empty()).then_some(table)
}

/// The system calls, if there were any.
fn calls(measurement: &Measurement<'_>, profile: &Profile) -> Option<Table> {
    let calls = profile.calls(&measurement.session.calls);
    let mut table = Table::new("calls", "System calls")
        .column("calls_count", "calls")
        .column("kernel_count", "kernel cycles")
        .column("kernel_mean_ns", "kernel mean")
        .column("mean_ns", "mean")
        .column("min_ns", "min")
        .column("max_ns", "max")
        .column("open_count", "not returned");
    table.rows = calls
        .iter()
        .map(|(number, name, tally)| {
            let time = |cycles: u64| Cell::count(nanoseconds(measurement, cycles));
            let of = |span: Option<boardlab_sim::Duration>| {
                span.map_or_else(Cell::none, |span| time(span.as_nanos()))
            };
            let all = tally.elapsed.count() + tally.open;
            Row::new(format!("call-{number}"), name.clone().unwrap_or_default())
                .cell("calls_count", Cell::count(all))
                .cell("kernel_count", Cell::count(tally.kernel))
                .cell("kernel_mean_ns", time(tally.kernel / all.max(1)))
                .cell("mean_ns", of(tally.elapsed.mean()))
                .cell("min_ns", of(tally.elapsed.min()))
                .cell("max_ns", of(tally.elapsed.max()))
                .cell("open_count", Cell::count(tally.open))
        })
        .collect();
    (!table.rows.is_empty()).then_some(table)
}
