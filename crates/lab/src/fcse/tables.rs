//! The tables of the context-switch experiment.
//!
//! Layer: rank 11. `table1` stands beside the print; the others are ours. Times are of the board's clock, from cycles of the core.

use super::run::latency::Latency;
use super::run::measure::{Measurements, OfWay, Way};
use super::run::programs::{Disk, NULL_CALLS, Starts};
use super::run::spent::{Costs, Spread, WAITING, nanoseconds};
use super::run::switches::{Point, Quantum};
use super::scenario::Scenario;
use boardlab_computer::masked;
use boardlab_result::prose::{float, real, round};
use boardlab_result::{Cell, Row, RunResult, Table, TableWithItems};
use boardlab_sim::Hertz;

/// Sections with interrupts off that are listed of each way.
const SECTIONS: usize = 3;

/// All of them.
pub(super) fn all(run: &mut RunResult, scenario: &Scenario, measured: &Measurements) {
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
fn published(measured: &Measurements, clock: Hertz) -> Table {
    let rows = [
        ("without-fcse", "page tables switched in the ordinary way", Way::Tables),
        ("with-fcse", "FCSE", Way::Fcse),
    ];
    let first = |way| measured.of(way).quanta.first().map_or(0, |one| one.cycles);
    Table::new("table1", "Switches with sys_chg, each at a timer interrupt")
        .of(rows.map(|(id, title, way)| (Row::new(id, title), first(way))))
        .column("time_ns", "time", |first| time(*first, clock))
        .table()
}

/// The same by how long after a timer interrupt they begin.
fn phases(measured: &Measurements, clock: Hertz) -> Table {
    let row = |both: (_, _)| {
        let (tables, _): (&Quantum, &Quantum) = both;
        let name = tables.phase.to_string();
        (Row::new(name.replace(' ', ""), name), both)
    };
    Table::new("phases", "The same, begun so long after a timer interrupt")
        .of(both(measured).map(row))
        .column("tables_ns", Way::Tables.title(), |(tables, _)| time(tables.cycles, clock))
        .column("fcse_ns", Way::Fcse.title(), |(_, fcse)| time(fcse.cycles, clock))
        .column("difference_ns", "difference", |(tables, fcse)| {
            time(tables.cycles.abs_diff(fcse.cycles), clock)
        })
        .column("ticks_count", "timer interrupts", |(_, fcse)| Cell::int(fcse.ticks))
        .table()
}

/// Switches that waited for the timer, without and with FCSE.
pub(super) fn both(measured: &Measurements) -> impl Iterator<Item = (&Quantum, &Quantum)> {
    measured.of(Way::Tables).quanta.iter().zip(&measured.of(Way::Fcse).quanta)
}

/// Columns of what a switch costs; `spent` says of an item what was spent in how many times.
fn of_spent<T>(
    table: TableWithItems<T>,
    spent: impl Fn(&T) -> (&Costs, u64) + Copy,
) -> TableWithItems<T> {
    type Count = fn(&Costs) -> u64;
    let columns: [(_, _, Count); 6] = [
        ("cycles_count", "cycles", |one| one.cycles),
        ("instructions_count", "instructions", |one| one.instructions),
        ("instruction_misses_count", "instruction misses", |one| one.instruction_misses),
        ("data_misses_count", "data misses", |one| one.data_misses),
        ("walks_count", "TLB misses", |one| one.walks),
        ("half_lines_count", "half lines written back", |one| one.half_lines),
    ];
    columns.into_iter().fold(table, |table, (id, title, count)| {
        table.column(id, title, |item| {
            let (one, times) = spent(item);
            Cell::real(Costs::each(count(one), times))
        })
    })
}

/// `table` with a row for each way.
fn by_way<'m>(id: &str, title: &str, measured: &'m Measurements) -> TableWithItems<&'m OfWay> {
    let row = |one: &'m OfWay| (Row::new(one.way.id(), one.way.title()), one);
    Table::new(id, title).of(measured.ways.iter().map(row))
}

fn at_once(measured: &Measurements, clock: Hertz) -> Table {
    let title = "As many switches at once: all, and what one costs";
    let table = by_way("at-once", title, measured)
        .column("total_ns", "all", |one| time(one.at_once.spent.cycles, clock))
        .column("switch_ns", "one", |OfWay { at_once, .. }| {
            let one = Costs::each(at_once.spent.cycles, at_once.switches);
            Cell::real(nanoseconds(one, clock))
        });
    of_spent(table, |one| (&one.at_once.spent, one.at_once.switches))
        .column("flushes_count", "flushes, of all", |one| Cell::int(one.at_once.flushes))
        .table()
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

fn ring(measured: &Measurements, clock: Hertz, how: usize) -> Table {
    let (id, title) = [
        ("ring-chg", "A switch at once in a ring of processes, by chg, without the work itself"),
        ("ring-pipe", "The same by pipes, as lmbench's lat_ctx has it"),
    ][how];
    let rings = measured.of(Way::Tables).rings[how].iter().enumerate();
    let row = |(index, tables)| {
        let (id, title) = named(tables);
        (Row::new(id, title), (index, tables, &measured.of(Way::Fcse).rings[how][index]))
    };
    let table =
        measured.ways.iter().fold(Table::new(id, title).of(rings.map(row)), |table, one| {
            table.column(format!("{}_ns", one.way.id()), one.way.title(), |(index, ..)| {
                Cell::real(nanoseconds(one.rings[how][*index].cycles(), clock))
            })
        });
    let or_none = |gain: Option<f64>| gain.map_or_else(Cell::none, Cell::real);
    table
        .column("gain", "gain by FCSE", |(_, tables, fcse)| or_none(gain(tables, fcse)))
        .column("whole_gain", "gain with the work", |(_, tables, fcse)| {
            Cell::real(gain_of_whole(tables, fcse))
        })
        .table()
}

/// `table` with a row for each ring by chg of the two ways that the publication compares.
fn by_chg<'m>(id: &str, title: &str, measured: &'m Measurements) -> TableWithItems<&'m Point> {
    let ways = [Way::Tables, Way::Fcse].into_iter();
    let points = ways.flat_map(|way| measured.of(way).rings[0].iter().map(move |one| (way, one)));
    let row = |(way, point): (Way, &'m Point)| {
        let (id, title) = named(point);
        (Row::new(format!("{}-{id}", way.id()), format!("{}: {title}", way.title())), point)
    };
    Table::new(id, title).of(points.map(row))
}

/// What a switch by chg costs.
fn misses(measured: &Measurements) -> Table {
    let title = "A switch at once in a ring, by chg: what it takes, without the work itself";
    of_spent(by_chg("misses", title, measured), |point| (&point.net, point.switches)).table()
}

/// What the core waits for in it.
fn waiting(measured: &Measurements) -> Table {
    let table = by_chg("waiting", "The same: cycles of waiting, by what for", measured);
    let columns = WAITING.into_iter().enumerate();
    let table = columns.fold(table, |table, (kind, (id, title))| {
        table.column(format!("{id}_count"), title, |point| {
            Cell::real(Costs::each(point.net.waiting[kind], point.switches))
        })
    });
    table.table()
}

fn latency(
    measured: &Measurements,
    clock: Hertz,
    id: &str,
    title: &str,
    of: fn(&Latency) -> &Spread,
) -> Table {
    let loads = ["idle", "loaded"].into_iter().enumerate();
    let rows = loads.flat_map(|(load, name)| {
        measured.ways.iter().map(move |OfWay { way, latency, .. }| {
            let title = format!("{}, {name}", way.title());
            let latency = &latency[load];
            (Row::new(format!("{}-{name}", way.id()), title), (of(latency), latency.overruns))
        })
    });
    Table::new(format!("latency-{id}"), title)
        .of(rows)
        .column("min_ns", "minimum", |(spread, _)| time(spread.min, clock))
        .column("mean_ns", "mean", |(spread, _)| Cell::real(nanoseconds(spread.mean, clock)))
        .column("p99_ns", "99 %", |(spread, _)| time(spread.p99, clock))
        .column("p999_ns", "99.9 %", |(spread, _)| time(spread.p999, clock))
        .column("max_ns", "maximum", |(spread, _)| time(spread.max, clock))
        .column("samples_count", "samples", |(spread, _)| Cell::int(spread.count))
        .column("overruns_count", "missed", |(_, overruns)| Cell::int(*overruns))
        .table()
}

fn sections(measured: &Measurements, clock: Hertz) -> Table {
    let of_ways = measured.ways.iter().map(|one| (one.way.id(), one.way.title(), &one.sections));
    let beside = ("beside-large", "FCSE, beside a process above 32 MB", &measured.beside_large);
    let rows = of_ways.chain([beside]).flat_map(|(id, title, sections)| {
        let numbered = (1..).zip(sections.iter().take(SECTIONS));
        numbered.map(move |(number, one)| (Row::new(format!("{id}-{number}"), title), one))
    });
    let title = "The longest stretches with interrupts off under load";
    masked::table(title, rows, &measured.symbols, |cycles| time(cycles, clock)).table()
}

/// What each size of program takes from either disk, with an empty buffer cache and again.
fn exec(measured: &Measurements, clock: Hertz) -> Table {
    let title = "Starting a program, with nothing of it in the buffer cache (cold) and again (warm): exec alone, and together with fork, exit and wait";
    let disks = Disk::ALL.into_iter().zip(&measured.started);
    let starts = disks.flat_map(|(disk, starts)| starts.iter().map(move |one| (disk, one)));
    let rows = starts.flat_map(|(disk, Starts { size, cold, warm })| {
        [("cold", cold), ("warm", warm)].map(|(state, started)| {
            let id = format!("{}-{state}-{}", disk.id(), size.get() / 1_024);
            (Row::new(id, format!("{size} from the {}, {state}", disk.title())), started)
        })
    });
    Table::new("exec", title)
        .of(rows)
        .column("min_ns", "minimum", |one| time(one.exec.min, clock))
        .column("mean_ns", "mean", |one| Cell::real(nanoseconds(one.exec.mean, clock)))
        .column("max_ns", "maximum", |one| time(one.exec.max, clock))
        .column("whole_ns", "together", |one| time(one.whole, clock))
        .column("blocks_count", "blocks read", |one| Cell::real(one.blocks))
        .table()
}

fn memory(scenario: &Scenario, measured: &Measurements) -> Table {
    let all = real(scenario.computer.settings.memory);
    let memory = &measured.memory;
    let rows = [
        ("kernel", "kernel and RAM disk", memory.kernel),
        ("disk", "of it the RAM disk", memory.disk),
        ("files", "of that the programs, which are copied to be run", memory.files),
        ("twice", "programs that run at the prompt, there as files too", memory.twice),
        ("free", "free", memory.free),
    ];
    Table::new("memory", "Where the memory is at the prompt")
        .of(rows.map(|(id, title, bytes)| (Row::new(id, title), bytes)))
        .column("size_bytes", "size", |bytes| Cell::int(*bytes))
        .column("share_ratio", "of the board's", |bytes| Cell::real(round(float(*bytes) / all, 9)))
        .table()
}

fn null_call(measured: &Measurements, clock: Hertz) -> Table {
    let table = by_way("null-call", "The shortest system call, getpid", measured);
    let table = table.column("call_ns", "one", |one| {
        Cell::real(nanoseconds(Costs::each(one.null_call.cycles, NULL_CALLS), clock))
    });
    of_spent(table, |one| (&one.null_call, NULL_CALLS)).table()
}

fn on_qemu(ran: &[super::run::qemu::QemuSwitches]) -> Table {
    let rows = ran.iter().map(|one| (Row::new(one.way.id(), one.way.title()), one));
    Table::new("qemu", "The same switches on QEMU, by its clock of 4 ns an instruction")
        .of(rows)
        .column("waiting_ns", "at timer interrupts", |one| Cell::int(one.waiting.as_nanos()))
        .column("at_once_ns", "at once", |one| Cell::int(one.at_once.as_nanos()))
        .table()
}
