//! The tables of the SATA experiment.
//!
//! Layer: rank 11. `figure4`, `table2-1` and `table5-1` to `table7-1` stand beside the print, with how far ours are off; the others are
//! ours.

pub(super) mod means;
pub(super) mod told;

use super::run::Measurements;
use super::run::measure::{DriveRun, Pair};
use super::run::what_if::{CachePoint, DepthPoint, SizePoint, SpeedPoint};
use super::scenario::{Drives, Scenario};
use super::verdicts::off;
use boardlab_document::error::Error;
use boardlab_experiment::reference::Reference;
use boardlab_result::prose::{counted, float, real, round};
use boardlab_result::{Cell, Column, Origin, Row, RunResult, Table, TableWithItems};
use boardlab_sata::SECTOR;
use boardlab_sata::device::WriteCache;
use boardlab_sata::shares::Shares;
use told::{name, short};

/// All of them.
pub(super) fn all(
    run: &mut RunResult,
    scenario: &Scenario,
    measured: &Measurements,
    print: Option<&Reference>,
) -> Result<(), Error> {
    let (loops, drives) = (&scenario.continuous.loops, &scenario.drives);
    let both = [
        ("table5-1", &drives.intel, &measured.intel),
        ("table5-2", &drives.g_monster, &measured.g_monster),
    ];
    let mut tables = vec![rated(scenario, measured, print.is_some()), single(drives, measured)];
    tables.extend(both.map(|(id, part, tested)| continuous(id, name(part), tested, loops)));
    tables.extend(sequencers(drives, measured, loops));
    tables.extend([overheads(scenario), whole_drives(scenario, measured)]);
    if let Some(reference) = print {
        for table in &mut tables {
            add_off(table, reference)?;
        }
        tables.push(means::table(measured, reference, loops)?);
    }
    tables.push(shares(drives, measured));
    let (intel, g_monster) = (short(&drives.intel), short(&drives.g_monster));
    tables.extend([sizes(intel, &measured.sizes), speeds(intel, &measured.speeds)]);
    tables.extend([caches(g_monster, &measured.caches), queue(&measured.queue)]);
    tables.push(fitted(run));
    run.tables = tables;
    Ok(())
}

fn rate(value: f64) -> Cell {
    Cell::real(value.round())
}

/// A row of rates, one for each direction.
fn pair(id: impl Into<String>, title: impl Into<String>, rates: [f64; 2]) -> Row {
    let [write, read] = rates;
    let row = Row::new(id, title).of_unit("bytes_per_s");
    row.cell("write", rate(write)).cell("read", rate(read))
}

fn rates(pair: &Pair) -> [f64; 2] {
    [pair.write.rate(), pair.read.rate()]
}

fn directions(id: &str, title: &str) -> Table {
    Table::new(id, title).column("write", "write").column("read", "read")
}

/// What the makers promise, where that was printed, beside what the drives do.
fn rated(scenario: &Scenario, measured: &Measurements, with_print: bool) -> Table {
    let title = match with_print {
        true => "What the drives do, beside what their makers promise",
        false => "What the drives do",
    };
    let ([transcend, _], drives) = (&measured.swept, &scenario.drives);
    let all = match scenario.sweep.part {
        None => "the whole drive".to_owned(),
        Some(sectors) => format!("its first {}", counted(sectors, "sector")),
    };
    let one = |part| format!("{}, one command", name(part));
    let swept = format!("{}, {all}", short(&drives.transcend));
    directions("table2-1", title).with_rows([
        pair("intel-x25-e", one(&drives.intel), rates(&measured.intel.single)),
        pair("g-monster-v2", one(&drives.g_monster), rates(&measured.g_monster.single)),
        pair("transcend", swept, rates(&transcend.firmware)),
    ])
}

fn single(drives: &Drives, measured: &Measurements) -> Table {
    let row =
        |id, part, tested: &DriveRun| pair(id, name(part), rates(&tested.single)).at_the_head();
    directions("figure4", "A single command").with_rows([
        row("intel-x25-e", &drives.intel, &measured.intel),
        row("g-monster-v2", &drives.g_monster, &measured.g_monster),
    ])
}

/// The rates of each row of a table of loops.
pub(super) fn rows(pair: &Pair, loops: &[u64]) -> Vec<[f64; 2]> {
    let each = 1..=loops.len();
    each.map(|count| [pair.write.rate_of(count), pair.read.rate_of(count)]).collect()
}

fn continuous(id: &str, name: &str, tested: &DriveRun, loops: &[u64]) -> Table {
    let title = format!("{name}, commands one after the other, sequenced by firmware");
    let rates = rows(&tested.firmware, loops);
    let each = loops.iter().enumerate().map(|(at, &count)| {
        let (bytes, _) = tested.firmware.write.first(at + 1);
        pair(count.to_string(), format!("{}, {bytes}", counted(count, "loop")), rates[at])
    });
    let mean = pair("mean", "mean of the rows", means::arithmetic(&rates)).at_the_head();
    directions(id, &title).with_rows(each.chain([mean]))
}

fn sequencers(drives: &Drives, measured: &Measurements, loops: &[u64]) -> Option<Table> {
    let tested = &measured.g_monster;
    let sequencer = tested.sequencer.as_ref()?;
    let most = loops.last().copied().unwrap_or(0);
    let (drive, most) = (name(&drives.g_monster), counted(most, "loop"));
    let title = format!("{drive}, {most}, by who sequences the commands");
    Some(directions("table6-1", &title).with_rows([
        pair("firmware", "firmware", rates(&tested.firmware)).at_the_head(),
        pair("sequencer", "state machine", rates(sequencer)).at_the_head(),
    ]))
}

/// The costs of the builds, and what they are of a command at the two rates of the text.
fn overheads(scenario: &Scenario) -> Table {
    const RATES: [f64; 2] = [150e6, 220e6];
    let bytes = real(SECTOR * u64::from(scenario.continuous.sectors));
    let host = &scenario.host;
    let of = |overhead: &boardlab_parts::drive::board::Overhead| {
        [overhead.write, overhead.read].map(|span| float(span.as_nanos()))
    };
    let (firmware, sequencer) = (of(&host.firmware), of(&host.sequencer));
    let command = RATES.map(|rate| bytes / rate * 1e9);
    let share = |costs: [f64; 2]| [0, 1].map(|at| round(costs[at] / command[at], 8));
    let rows = [
        ("firmware", "firmware, a command", "ns", firmware),
        ("sequencer", "state machine, a command", "ns", sequencer),
        ("command", "a command at 150 and 220 MB/s", "ns", command.map(f64::round)),
        ("firmware_share", "firmware, of that", "ratio", share(firmware)),
        ("sequencer_share", "state machine, of that", "ratio", share(sequencer)),
    ];
    let row = |(id, title, unit, [write, read]): (&str, &str, &str, [f64; 2])| {
        let row = Row::new(id, title).of_unit(unit);
        row.cell("write", Cell::real(write)).cell("read", Cell::real(read))
    };
    directions("table6-2", "Overhead of a command, and its share at 150 and 220 MB/s")
        .with_rows(rows.map(row))
}

fn whole_drives(scenario: &Scenario, measured: &Measurements) -> Table {
    let ([transcend, buffalo], drives) = (&measured.swept, &scenario.drives);
    let what = match scenario.sweep.part {
        None => "Whole drives",
        Some(_) => "The first sectors of drives",
    };
    let sectors = match (transcend.sectors, buffalo.sectors) {
        (first, second) if first == second => counted(first, "sector"),
        (first, second) => format!("{first} and {second} sectors"),
    };
    let title = format!("{what} with 28-bit commands: {sectors}");
    directions("table7-1", &title).with_rows([
        pair("transcend", name(&drives.transcend), rates(&transcend.firmware)).at_the_head(),
        pair("buffalo", name(&drives.buffalo), rates(&buffalo.firmware)).at_the_head(),
    ])
}

/// Says beside each printed rate how far ours is off.
fn add_off(table: &mut Table, reference: &Reference) -> Result<(), Error> {
    if table.id == "table6-2" {
        return Ok(());
    }
    let published = reference.table(&table.id)?;
    for column in ["write", "read"] {
        let (id, title) = (format!("{column}_off_ratio"), format!("{column}, off by"));
        table.columns.push(Column { id: id.clone(), title });
        for row in &mut table.rows {
            let ours = row.cells.get(column).and_then(|cell| cell.value.as_f64());
            let print = published.cell(&row.id, column).ok();
            let print = print.and_then(|cell| cell.published.as_f64());
            let off = ours.zip(print).map(|(ours, print)| round(off(ours, print), 6));
            row.cells.extend(off.map(|off| (id.clone(), Cell::real(off))));
        }
    }
    Ok(())
}

/// What the time of the link is spent on: ids and titles, in the order of [`Shares::named`].
pub(super) fn kinds() -> [(String, &'static str); 6] {
    let title = |name| if name == "overhead" { "idle" } else { name };
    Shares::default().named().map(|(name, _)| (name.to_lowercase(), title(name)))
}

/// The share that the kind with this index has in all time.
pub(super) fn share(shares: &Shares, kind: usize) -> f64 {
    round(float(shares.named()[kind].1) / float(shares.total().max(1)), 5)
}

/// Where the time of the runs went.
fn shares(drives: &Drives, measured: &Measurements) -> Table {
    let rows = all_shares(drives, measured).into_iter();
    let rows = rows.map(|(id, title, shares)| (Row::new(id, title), shares));
    let table = Table::new("shares", "Where the time of the link goes").of(rows);
    let table = kinds().into_iter().enumerate().fold(table, |table, (kind, (id, title))| {
        table.column(format!("{id}_ratio"), title, |one| Cell::real(share(one, kind)))
    });
    table.table()
}

/// The runs whose time is looked into: id, title and shares.
pub(super) fn all_shares(
    drives: &Drives,
    measured: &Measurements,
) -> Vec<(String, String, Shares)> {
    let Measurements { intel, g_monster, swept, .. } = measured;
    let mut runs = vec![
        ("intel-x25-e", &drives.intel, "firmware", &intel.firmware),
        ("g-monster-v2", &drives.g_monster, "firmware", &g_monster.firmware),
    ];
    let id = "g-monster-v2-sequencer";
    let sequencer = g_monster.sequencer.as_ref();
    runs.extend(sequencer.map(|pair| (id, &drives.g_monster, "state machine", pair)));
    runs.push(("transcend", &drives.transcend, "28-bit", &swept[0].firmware));
    runs.push(("buffalo", &drives.buffalo, "28-bit", &swept[1].firmware));
    let both = runs.into_iter().flat_map(|(id, part, build, pair)| {
        let title = format!("{}, {build}", short(part));
        pair.named()
            .map(|(way, ran)| (format!("{id}/{way}"), format!("{title}, {way}"), ran.shares))
    });
    both.collect()
}

/// Four columns of rates, of link and drive, each way: `rates` says of an item what the link allows, and ours.
fn against_link<T>(
    table: TableWithItems<T>,
    rates: impl Fn(&T) -> ([f64; 2], [f64; 2]) + Copy,
) -> TableWithItems<T> {
    table
        .column("link_write_bytes_per_s", "link alone, write", |one| rate(rates(one).0[0]))
        .column("write_bytes_per_s", "write", |one| rate(rates(one).1[0]))
        .column("link_read_bytes_per_s", "link alone, read", |one| rate(rates(one).0[1]))
        .column("read_bytes_per_s", "read", |one| rate(rates(one).1[1]))
}

fn sizes(drive: &str, all: &[SizePoint]) -> Table {
    let title = format!("{drive} by the size of its commands, and what the link alone would allow");
    let rows = all.iter().map(|one| {
        let bytes = SECTOR * u64::from(one.sectors);
        let title = format!("{}, {bytes}", counted(one.sectors, "sector"));
        (Row::new(one.sectors.to_string(), title), one)
    });
    let table = Table::new("command-size", title).of(rows);
    against_link(table, |one| (one.link, rates(&one.firmware)))
        .column("sequencer_write_bytes_per_s", "state machine, write", |one| {
            rate(one.sequencer.write.rate())
        })
        .column("sequencer_read_bytes_per_s", "state machine, read", |one| {
            rate(one.sequencer.read.rate())
        })
        .table()
}

fn speeds(drive: &str, all: &[SpeedPoint]) -> Table {
    let title = format!("{drive} by the speed of its link, sequenced by the state machine");
    let rows = all.iter().map(|one| {
        let name = one.speed.to_string();
        (Row::new(name.replace([' ', '/'], ""), name), one)
    });
    let table = Table::new("link-speed", title).of(rows);
    against_link(table, |one| (one.link, rates(&one.pair))).table()
}

/// What the cache of a row is.
pub(super) fn cache_name(cache: WriteCache) -> (String, String) {
    match cache {
        WriteCache::Through => ("through".into(), "a write ends on flash".into()),
        WriteCache::Back(size) | WriteCache::Protected(size) => {
            ("back".into(), format!("a write ends in a buffer of {size}"))
        }
    }
}

fn caches(drive: &str, all: &[CachePoint]) -> Table {
    let rows = all.iter().map(|one| {
        let (id, title) = cache_name(one.cache);
        (Row::new(id, title), (one.firmware.write.rate(), one.sequencer.write.rate()))
    });
    let title = format!("{drive}, writes by what ends them and who sequences them");
    Table::new("write-cache", title)
        .of(rows)
        .column("firmware_bytes_per_s", "firmware", |(firmware, _)| rate(*firmware))
        .column("sequencer_bytes_per_s", "state machine", |(_, sequencer)| rate(*sequencer))
        .column("gain_ratio", "gain", |(firmware, sequencer)| {
            Cell::real(round(sequencer / firmware - 1.0, 6))
        })
        .table()
}

fn queue(all: &[DepthPoint]) -> Table {
    let title = "The example at random places, by the depth of its queue";
    directions("queue", title).with_rows(all.iter().map(|one| match one.depth {
        None => pair("off", "not queued", one.rates),
        Some(depth) => pair(depth.to_string(), format!("{depth} queued"), one.rates),
    }))
}

/// Every fitted parameter by the drive that it belongs to.
fn fitted(run: &RunResult) -> Table {
    let fitted = run.parameters.iter().filter(|one| one.origin == Origin::Fitted);
    Table::new("fitted", "What was fitted, and to what")
        .of(fitted.map(|one| (Row::new(&one.key, ""), one)))
        .column("value", "value", |one| Cell::text(&one.value))
        .column("source", "to what", |one| Cell::text(&one.source))
        .table()
}
