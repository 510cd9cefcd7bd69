//! The tables of the context-switch experiment.
//!
//! Layer: rank 11. `table1` stands beside the print; the others are ours. Times are of the board's clock, from cycles of the core.

use super::run::latency::Latency;
use super::run::measure::{Measured, OfWay, Way};
use super::run::programs::{Disk, NULL_CALLS, Starts};
use super::run::spent::{Spent, Spread, WAITING, nanoseconds};
use super::run::switches::{Point, Quantum};
use super::scenario::Scenario;
use boardlab_computer::masked;
use boardlab_result::prose::{float, round};
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::{Duration, Hertz};

/// Sections with interrupts off that are listed of each way.
const SECTIONS: usize = 3;

/// All of them.
pub(super) fn all(run: &mut RunResult, scenario: &Scenario, measured: &Measured) {
    let clock = scenario.computer.settings.core_clock;
    run.tables = vec![
        published(measured, clock),
        phases(measured, clock),
        at_once(measured, clock),
        ring(measured, clock, 0),
        ring(measured, clock, 1),
        misses(measured),
        waiting(measured),
        latency(
            measured,
            clock,
            "handler",
            "Timer to the first instruction of its handler",
            |one| &one.handler,
        ),
        latency(measured, clock, "task", "Timer to the task that waits for it", |one| &one.task),
        sections(measured, clock),
        exec(measured, clock),
        memory(scenario, measured),
        null_call(measured, clock),
    ];
    if let Ok(qemu) = &measured.qemu {
        run.tables.push(on_qemu(qemu));
    }
}

fn time(cycles: u64, clock: Hertz) -> Cell {
    Cell::real(nanoseconds(float(cycles), clock))
}

/// Table 1: the switches that begin at a timer interrupt.
fn published(measured: &Measured, clock: Hertz) -> Table {
    let title = "Switches with sys_chg, each at a timer interrupt";
    let mut table = Table::new("table1", title).column("time_ns", "time");
    for (id, title, way) in [
        ("without-fcse", "page tables switched in the ordinary way", Way::Tables),
        ("with-fcse", "FCSE", Way::Fcse),
    ] {
        let first = measured.of(way).quanta.first().map_or(0, |one| one.cycles);
        table.rows.push(Row::new(id, title).cell("time_ns", time(first, clock)));
    }
    table
}

/// The same by how long after a timer interrupt they begin.
fn phases(measured: &Measured, clock: Hertz) -> Table {
    let title = "The same, begun so long after a timer interrupt";
    let mut table = Table::new("phases", title)
        .column("tables_ns", Way::Tables.title())
        .column("fcse_ns", Way::Fcse.title())
        .column("difference_ns", "difference")
        .column("ticks_count", "timer interrupts");
    for (tables, fcse) in both(measured) {
        let difference = nanoseconds(float(tables.cycles.abs_diff(fcse.cycles)), clock);
        let name = tables.phase.to_string();
        table.rows.push(
            Row::new(name.replace(' ', ""), name)
                .cell("tables_ns", time(tables.cycles, clock))
                .cell("fcse_ns", time(fcse.cycles, clock))
                .cell("difference_ns", Cell::real(difference))
                .cell("ticks_count", Cell::int(fcse.ticks)),
        );
    }
    table
}

/// Switches that waited for the timer, without and with FCSE.
pub(super) fn both(measured: &Measured) -> impl Iterator<Item = (&Quantum, &Quantum)> {
    measured.of(Way::Tables).quanta.iter().zip(&measured.of(Way::Fcse).quanta)
}

/// Columns of what a switch costs.
fn of_spent(table: Table) -> Table {
    table
        .column("cycles_count", "cycles")
        .column("instructions_count", "instructions")
        .column("instruction_misses_count", "instruction misses")
        .column("data_misses_count", "data misses")
        .column("walks_count", "TLB misses")
        .column("half_lines_count", "half lines written back")
}

fn spent(row: Row, spent: &Spent, times: u64) -> Row {
    let each = |count| Cell::real(Spent::each(count, times));
    row.cell("cycles_count", each(spent.cycles))
        .cell("instructions_count", each(spent.instructions))
        .cell("instruction_misses_count", each(spent.instruction_misses))
        .cell("data_misses_count", each(spent.data_misses))
        .cell("walks_count", each(spent.walks))
        .cell("half_lines_count", each(spent.half_lines))
}

fn at_once(measured: &Measured, clock: Hertz) -> Table {
    let title = "As many switches at once: all, and what one costs";
    let table = Table::new("at-once", title).column("total_ns", "all").column("switch_ns", "one");
    let mut table = of_spent(table).column("flushes_count", "flushes, of all");
    for OfWay { way, at_once, .. } in &measured.ways {
        let one = nanoseconds(Spent::each(at_once.spent.cycles, at_once.switches), clock);
        let row = Row::new(way.id(), way.title())
            .cell("total_ns", time(at_once.spent.cycles, clock))
            .cell("switch_ns", Cell::real(one));
        let row = spent(row, &at_once.spent, at_once.switches);
        table.rows.push(row.cell("flushes_count", Cell::int(at_once.flushes)));
    }
    table
}

/// Id and name of a point.
fn named(point: &Point) -> (String, String) {
    let kib = point.working_set.get() / 1_024;
    (format!("{}x{kib}", point.processes), format!("{} processes, {kib} KiB each", point.processes))
}

/// How much faster the second is; nothing where it costs nothing.
pub(super) fn gain(tables: &Point, fcse: &Point) -> Option<f64> {
    (fcse.net.cycles > 0).then(|| round(tables.cycles() / fcse.cycles(), 4))
}

/// The same with the work, which no switch makes faster.
pub(super) fn gain_of_whole(tables: &Point, fcse: &Point) -> f64 {
    round(float(tables.whole) / float(fcse.whole.max(1)), 4)
}

fn ring(measured: &Measured, clock: Hertz, how: usize) -> Table {
    let (id, title) = [
        ("ring-chg", "A switch at once in a ring of processes, by chg, without the work itself"),
        ("ring-pipe", "The same by pipes, as lmbench's lat_ctx has it"),
    ][how];
    let mut table = Table::new(id, title);
    for way in Way::ALL {
        table = table.column(format!("{}_ns", way.id()), way.title());
    }
    table = table.column("gain", "gain by FCSE").column("whole_gain", "gain with the work");
    for (index, tables) in measured.of(Way::Tables).rings[how].iter().enumerate() {
        let (id, title) = named(tables);
        let mut row = Row::new(id, title);
        for OfWay { way, rings, .. } in &measured.ways {
            let cycles = rings[how][index].cycles();
            row = row.cell(format!("{}_ns", way.id()), Cell::real(nanoseconds(cycles, clock)));
        }
        let fcse = &measured.of(Way::Fcse).rings[how][index];
        let gain = gain(tables, fcse).map_or_else(Cell::none, Cell::real);
        let whole = Cell::real(gain_of_whole(tables, fcse));
        table.rows.push(row.cell("gain", gain).cell("whole_gain", whole));
    }
    table
}

/// A row for each ring by chg of the two ways that the publication compares.
fn by_chg(measured: &Measured, of: impl Fn(Row, &Point) -> Row) -> Vec<Row> {
    let ways = [Way::Tables, Way::Fcse].map(|way| measured.of(way));
    let row = |way: Way, point: &Point| {
        let (id, title) = named(point);
        of(Row::new(format!("{}-{id}", way.id()), format!("{}: {title}", way.title())), point)
    };
    let rows = |one: &OfWay| one.rings[0].iter().map(|point| row(one.way, point)).collect();
    ways.into_iter().flat_map(|one| -> Vec<Row> { rows(one) }).collect()
}

/// What a switch by chg costs.
fn misses(measured: &Measured) -> Table {
    let title = "A switch at once in a ring, by chg: what it takes, without the work itself";
    let mut table = of_spent(Table::new("misses", title));
    table.rows = by_chg(measured, |row, point| spent(row, &point.net, point.switches));
    table
}

/// What the core waits for in it.
fn waiting(measured: &Measured) -> Table {
    let title = "The same: cycles of waiting, by what for";
    let mut table = Table::new("waiting", title);
    for (id, title) in WAITING {
        table = table.column(format!("{id}_count"), title);
    }
    table.rows = by_chg(measured, |row, point| {
        WAITING.iter().zip(point.net.waiting).fold(row, |row, ((id, _), waited)| {
            let each = Spent::each(waited, point.switches);
            row.cell(format!("{id}_count"), Cell::real(each))
        })
    });
    table
}

fn spread(row: Row, spread: &Spread, clock: Hertz) -> Row {
    row.cell("min_ns", time(spread.min, clock))
        .cell("mean_ns", Cell::real(nanoseconds(spread.mean, clock)))
        .cell("p99_ns", time(spread.p99, clock))
        .cell("p999_ns", time(spread.p999, clock))
        .cell("max_ns", time(spread.max, clock))
}

fn spread_columns(table: Table) -> Table {
    table
        .column("min_ns", "minimum")
        .column("mean_ns", "mean")
        .column("p99_ns", "99 %")
        .column("p999_ns", "99.9 %")
        .column("max_ns", "maximum")
}

fn latency(
    measured: &Measured,
    clock: Hertz,
    id: &str,
    title: &str,
    of: fn(&Latency) -> &Spread,
) -> Table {
    let mut table = spread_columns(Table::new(format!("latency-{id}"), title))
        .column("samples_count", "samples")
        .column("overruns_count", "missed");
    for (load, name) in ["idle", "loaded"].into_iter().enumerate() {
        for OfWay { way, latency, .. } in &measured.ways {
            let title = format!("{}, {name}", way.title());
            let row = Row::new(format!("{}-{name}", way.id()), title);
            let samples = of(&latency[load]);
            table.rows.push(
                spread(row, samples, clock)
                    .cell("samples_count", Cell::int(samples.count))
                    .cell("overruns_count", Cell::int(latency[load].overruns)),
            );
        }
    }
    table
}

fn sections(measured: &Measured, clock: Hertz) -> Table {
    let title = "The longest stretches with interrupts off under load";
    let mut table = masked::table(title);
    let of_ways = measured.ways.iter().map(|one| (one.way.id(), one.way.title(), &one.sections));
    let beside = ("beside-large", "FCSE, beside a process above 32 MB", &measured.beside_large);
    for (id, title, sections) in of_ways.chain([beside]) {
        for (index, section) in sections.iter().take(SECTIONS).enumerate() {
            let row = Row::new(format!("{id}-{}", index + 1), title);
            table.rows.push(section.cells(row, time(section.cycles, clock), &measured.symbols));
        }
    }
    table
}

/// What each size of program takes from either disk, with an empty buffer cache and again.
fn exec(measured: &Measured, clock: Hertz) -> Table {
    let title = "Starting a program, with nothing of it in the buffer cache (cold) and again (warm): exec alone, and together with fork, exit and wait";
    let mut table = Table::new("exec", title)
        .column("min_ns", "minimum")
        .column("mean_ns", "mean")
        .column("max_ns", "maximum")
        .column("whole_ns", "together")
        .column("blocks_count", "blocks read");
    for (disk, starts) in Disk::ALL.into_iter().zip(&measured.started) {
        for Starts { size, cold, warm } in starts {
            for (state, started) in [("cold", cold), ("warm", warm)] {
                let id = format!("{}-{state}-{}", disk.id(), size.get() / 1_024);
                let row = Row::new(id, format!("{size} from the {}, {state}", disk.title()));
                let mean = nanoseconds(started.exec.mean, clock);
                table.rows.push(
                    row.cell("min_ns", time(started.exec.min, clock))
                        .cell("mean_ns", Cell::real(mean))
                        .cell("max_ns", time(started.exec.max, clock))
                        .cell("whole_ns", time(started.whole, clock))
                        .cell("blocks_count", Cell::real(started.blocks)),
                );
            }
        }
    }
    table
}

fn memory(scenario: &Scenario, measured: &Measured) -> Table {
    let all = scenario.computer.settings.memory;
    let mut table = Table::new("memory", "Where the memory is at the prompt")
        .column("size_bytes", "size")
        .column("share_ratio", "of the board's");
    let memory = &measured.memory;
    for (id, title, bytes) in [
        ("kernel", "kernel and RAM disk", memory.kernel),
        ("disk", "of it the RAM disk", memory.disk),
        ("files", "of that the programs, which are copied to be run", memory.files),
        ("twice", "programs that run at the prompt, there as files too", memory.twice),
        ("free", "free", memory.free),
    ] {
        let share = round(float(bytes) / float(all.get()), 9);
        let row = Row::new(id, title).cell("size_bytes", Cell::int(bytes));
        table.rows.push(row.cell("share_ratio", Cell::real(share)));
    }
    table
}

fn null_call(measured: &Measured, clock: Hertz) -> Table {
    let title = "The shortest system call, getpid";
    let mut table = of_spent(Table::new("null-call", title).column("call_ns", "one"));
    for OfWay { way, null_call, .. } in &measured.ways {
        let one = nanoseconds(Spent::each(null_call.cycles, NULL_CALLS), clock);
        let row = Row::new(way.id(), way.title()).cell("call_ns", Cell::real(one));
        table.rows.push(spent(row, null_call, NULL_CALLS));
    }
    table
}

fn on_qemu(ran: &[super::run::qemu::Ran]) -> Table {
    let title = "The same switches on QEMU, by its clock of 4 ns an instruction";
    let mut table = Table::new("qemu", title)
        .column("waiting_ns", "at timer interrupts")
        .column("at_once_ns", "at once");
    let cell = |time: Duration| Cell::int(time.as_nanos());
    for one in ran {
        let row = Row::new(one.way.id(), one.way.title());
        let row = row.cell("waiting_ns", cell(one.waiting));
        table.rows.push(row.cell("at_once_ns", cell(one.at_once)));
    }
    table
}
