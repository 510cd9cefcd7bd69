//! The tables of a run.
//!
//! Layer: rank 9. Main type: [`Measurement`]; function: [`result`]. Tables: `run`, `waiting`, `caches`, `tlb`, `exceptions`; with a profile `functions`, `calls` and
//! `interrupts-off`.
//! Counts are of the core, times are cycles by its clock, rounded down to nanoseconds.

use super::listing::exception_name;
use super::masked::{self, Stretch};
use super::profile::{Profile, Tally};
use super::session::Session;
use crate::VERSION;
use boardlab_arm926::Exception;
use boardlab_arm926::memory::check::Stale;
use boardlab_arm926::memory::statistics::CacheCounts;
use boardlab_realview::Outcome;
use boardlab_result::prose::float;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::Seed;

/// Functions that have a row of their own; the others are summed.
const FUNCTIONS: usize = 40;

/// Stretches with interrupts masked that have a row.
const STRETCHES: usize = 10;

/// Violations of coherence that have a row.
const VIOLATIONS: usize = 100;

/// A run that has ended: what its tables and findings are made of.
pub(super) struct Measurement<'a> {
    pub(super) session: &'a Session,
    pub(super) outcome: &'a Outcome,
    /// Where cycles went, and how long interrupts were masked.
    pub(super) profile: Option<&'a (Profile, Vec<Stretch>)>,
    pub(super) seed: Seed,
}

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
    Table::new("run", "The run").column("value", "value").with_rows([
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
    ])
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
    let all = measurement.session.machine.now().0;
    let rows = spent(measurement).into_iter();
    Table::new("waiting", "Where the cycles go")
        .of(rows.map(|(id, title, cycles)| (Row::new(id, title), cycles)))
        .column("cycles_count", "cycles", |cycles| Cell::count(*cycles))
        .column("share_ratio", "share", |cycles| Cell::real(ratio(*cycles, all)))
        .column("time_ns", "time", |cycles| Cell::count(nanoseconds(measurement, *cycles)))
        .table()
}

fn caches(measurement: &Measurement<'_>) -> Table {
    let statistics = measurement.session.machine.processor().memory.statistics();
    let both = [("instruction", &statistics.instruction_cache), ("data", &statistics.data_cache)];
    Table::new("caches", "Caches (that of instructions is looked at once a line)")
        .of(both.map(|(id, counts)| (Row::new(id, ""), counts)))
        .column("reads_count", "reads", |one| Cell::count(one.reads))
        .column("read_misses_count", "missed", |one| Cell::count(one.read_misses))
        .column("read_miss_ratio", "of reads", |one| Cell::real(ratio(one.read_misses, one.reads)))
        .column("writes_count", "writes", |one| Cell::count(one.writes))
        .column("write_misses_count", "missed", |one| Cell::count(one.write_misses))
        .column("replaced_count", "lines replaced", |one| Cell::count(one.replaced))
        .column("written_back_count", "half-lines written back", |one| {
            Cell::count(one.half_lines_written)
        })
        .table()
}

fn tlb(measurement: &Measurement<'_>) -> Table {
    let statistics = measurement.session.machine.processor().memory.statistics();
    let (lookups, misses) = (statistics.tlb_lookups, statistics.tlb_misses);
    Table::new("tlb", "TLB")
        .of([(Row::new("tlb", ""), ())])
        .column("lookups_count", "lookups", |()| Cell::count(lookups))
        .column("misses_count", "misses", |()| Cell::count(misses))
        .column("miss_ratio", "of lookups", |()| Cell::real(ratio(misses, lookups)))
        .table()
}

/// The exceptions that were taken, if there were any.
fn exceptions(measurement: &Measurement<'_>) -> Option<Table> {
    let taken = &measurement.session.machine.processor().counts.exceptions;
    let taken = Exception::ALL.into_iter().map(|exception| (exception, taken[exception as usize]));
    let rows = taken.filter(|(_, number)| *number > 0).map(|(exception, number)| {
        let name = exception_name(exception);
        (Row::new(name.to_lowercase().replace(' ', "_"), name), number)
    });
    Table::new("exceptions", "Exceptions")
        .of(rows)
        .column("taken_count", "taken", |number| Cell::count(*number))
        .unless_empty()
}

/// What was read although it was not the newest, if that was looked for and found.
fn coherence(measurement: &Measurement<'_>) -> Option<Table> {
    let session = measurement.session;
    let found = session.machine.processor().memory.violations();
    let rows = (1..)
        .zip(found.iter().take(VIOLATIONS))
        .map(|(number, one)| (Row::new(format!("violation-{number}"), stale_name(one.stale)), one));
    Table::new("coherence", "Used although it was not the newest")
        .of(rows)
        .column("address", "address", |one| Cell::text(format!("{:#010x}", one.at.0)))
        .column("by", "by", |one| Cell::text(session.symbols.name(one.pc)))
        .column("cycle_count", "at cycle", |one| Cell::count(one.now.0))
        .column("missing", "what is missing", |one| Cell::text(one.stale.missing()))
        .unless_empty()
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
    let mut rows = profile.functions();
    if rows.len() > FUNCTIONS {
        let rest = rows.split_off(FUNCTIONS);
        let mut sum = Tally::default();
        rest.iter().for_each(|(_, tally)| sum.add(tally));
        rows.push((format!("({} others)", rest.len()), sum));
    }
    let title = "Where the cycles go, by function (its own, without those that it calls)";
    let missed = |cache: usize| move |one: &Tally| Cell::count(one.misses[cache]);
    Table::new("functions", title)
        .of(rows.into_iter().map(|(name, tally)| (Row::new(name, ""), tally)))
        .column("cycles_count", "cycles", |one| Cell::count(one.cycles))
        .column("share_ratio", "share", |one| Cell::real(ratio(one.cycles, all)))
        .column("instructions_count", "instructions", |one| Cell::count(one.instructions))
        .column("cpi", "CPI", |one| Cell::real(ratio(one.cycles, one.instructions)))
        .column("calls_count", "calls", |one| Cell::count(one.calls))
        .column("instruction_misses_count", "I misses", missed(0))
        .column("data_misses_count", "D misses", missed(1))
        .column("tlb_misses_count", "TLB misses", missed(2))
        .table()
}

/// The longest stretches with interrupts masked, if any ended.
fn interrupts_off(measurement: &Measurement<'_>, stretches: &[Stretch]) -> Option<Table> {
    let title = "The longest stretches with interrupts off, by where they begin";
    let rows = (1..).zip(stretches.iter().take(STRETCHES)).map(|(number, stretch)| {
        (Row::new(format!("stretch-{number}"), number.to_string()), stretch)
    });
    let time = |cycles| Cell::count(nanoseconds(measurement, cycles));
    masked::table(title, rows, &measurement.session.symbols, time)
        .column("after_count", "longest after instructions", |one| Cell::count(one.after))
        .unless_empty()
}

/// The system calls, if there were any.
fn calls(measurement: &Measurement<'_>, profile: &Profile) -> Option<Table> {
    let calls = profile.calls(&measurement.session.calls);
    let time = |cycles: u64| Cell::count(nanoseconds(measurement, cycles));
    let of = |span: Option<boardlab_sim::Duration>| {
        span.map_or_else(Cell::none, |span| time(span.as_nanos()))
    };
    let rows = calls.into_iter().map(|(number, name, tally)| {
        let all = tally.elapsed.count() + tally.open;
        (Row::new(format!("call-{number}"), name.unwrap_or_default()), (tally, all))
    });
    Table::new("calls", "System calls")
        .of(rows)
        .column("calls_count", "calls", |(_, all)| Cell::count(*all))
        .column("kernel_count", "kernel cycles", |(one, _)| Cell::count(one.kernel))
        .column("kernel_mean_ns", "kernel mean", |(one, all)| time(one.kernel / (*all).max(1)))
        .column("mean_ns", "mean", |(one, _)| of(one.elapsed.mean()))
        .column("min_ns", "min", |(one, _)| of(one.elapsed.min()))
        .column("max_ns", "max", |(one, _)| of(one.elapsed.max()))
        .column("open_count", "not returned", |(one, _)| Cell::count(one.open))
        .unless_empty()
}
