//! The tables of the SD experiment.
//!
//! Layer: rank 10. `experiment1` and `experiment2` are compared with the print; the others are ours.

use super::run::free::Free;
use super::run::measure::{Rates, WearFigures};
use super::run::power::WearCurve;
use super::run::rewrites::{BandRow, RewriteOutcome};
use super::run::wear::VariantWear;
use super::scenario::{Controller, Scenario};
use boardlab_ftl::{Counters, Levelling};
use boardlab_result::prose::{GIB, float, real, round};
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::Bytes;

/// The greatest relative difference between a band of ours and a printed one that count as the same.
pub(super) const NEAR: f64 = 0.10;

fn bytes(size: Bytes) -> Cell {
    Cell::int(size.get())
}

fn or_never(size: Option<Bytes>) -> Cell {
    size.map_or_else(|| Cell::text("never"), bytes)
}

fn rate(value: f64) -> Cell {
    Cell::real(value.round())
}

fn count(value: usize) -> Cell {
    Cell::int(u64::try_from(value).unwrap_or(u64::MAX))
}

/// A row of a table about this card.
fn row(id: &str, title: &str, unit: &str, cell: Cell) -> Row {
    Row::new(id, title).of_unit(unit).cell("card", cell)
}

/// Experiment 1 for the comparison with the print: the job on the card, and the volume of the
/// comparison of wear levelling, which `at` names.
pub(super) fn experiment1(scenario: &Scenario, free: &Free, at: &str) -> Table {
    let (capacity, volume) = (scenario.part.face.capacity, scenario.wear.volume);
    let mut table = Table::new("experiment1", "Experiment 1: plenty of unused space")
        .column("card", "this card")
        .column("same_volume", at);
    let mean = Rates::of(&free.runs.rates).mean;
    let turned = |volume| Cell::real(round(real(volume) / real(capacity), 1));
    let errors = Cell::int(u64::from(free.runs.error.is_some()));
    table.rows = vec![
        row("iterations", "iterations", "count", count(free.runs.rates.len())),
        row("throughput", "write bandwidth, mean of all", "bytes_per_s", rate(mean)),
        row("written", "written in all", "bytes", bytes(free.runs.written))
            .cell("same_volume", bytes(volume)),
        row("capacity", "of the card", "bytes", bytes(capacity))
            .cell("same_volume", bytes(capacity)),
        row("cycles", "written in all over the capacity", "count", turned(free.runs.written))
            .cell("same_volume", turned(volume)),
        row("endurance", "cycles of a block", "count", Cell::int(scenario.wear.endurance.into())),
        row("errors", "errors of the card", "count", errors),
    ];
    at_the_head(table)
}

/// `table` with its measured rows at the head of a report.
fn at_the_head(mut table: Table) -> Table {
    const MEASURED: [&str; 6] = ["throughput", "written", "cycles", "upper", "middle", "lower"];
    let head = |row: Row| if MEASURED.contains(&row.id.as_str()) { row.at_the_head() } else { row };
    table.rows = table.rows.into_iter().map(head).collect();
    table
}

/// The work of the card for experiment 1.
pub(super) fn work(free: &Free) -> Table {
    let rates = Rates::of(&free.runs.rates);
    let (counts, counters) = (&free.counts, &free.counters);
    let title = "What the card did for experiment 1";
    let amplification = Cell::real(round(amplification(counters), 4));
    let rows = [
        ("slowest", "slowest iteration", "bytes_per_s", rate(rates.least)),
        ("mean", "all of them", "bytes_per_s", rate(rates.mean)),
        ("fastest", "fastest iteration", "bytes_per_s", rate(rates.most)),
        ("requests", "requests of fio", "count", Cell::int(free.runs.requests)),
        ("commands", "commands on the bus", "count", Cell::int(counts.commands)),
        ("bus", "commands and data on the bus", "ns", Cell::int(counts.bus_ns)),
        ("busy", "waits for the busy card", "ns", Cell::int(counts.busy_ns)),
        ("took", "all iterations and pauses", "ns", Cell::int(free.took.as_nanos())),
        ("programs", "pages programmed", "count", Cell::int(counters.programs.total())),
        ("erases", "blocks erased", "count", Cell::int(counters.erases.total())),
        ("amplification", "programs for a page of the host", "", amplification),
    ];
    let rows = rows.map(|(id, title, unit, cell)| row(id, title, unit, cell));
    Table::new("experiment1-work", title).column("card", "this card").with_rows(rows)
}

/// The write amplification factor.
pub(super) fn amplification(counters: &Counters) -> f64 {
    float(counters.amplification_millionths()) / 1e6
}

/// The cycles of the published volume with every capacity and with both meanings of KB; `printed` is
/// the capacity as printed, its GB read as GiB.
pub(super) fn units(scenario: &Scenario, physical: Bytes, printed: f64) -> Table {
    let volume = scenario.wear.volume;
    let decimal = Bytes::new(volume.get() / 1_024 * 1_000);
    let readings = [
        ("gb", "as printed, GB = 10^9 B", printed / GIB * 1e9),
        ("gib", "as printed, GB = 2^30 B", printed),
        ("card", "what this card offers", real(scenario.part.face.capacity)),
        ("flash", "all blocks of its flash", real(physical)),
    ];
    let turned = |written, capacity: &f64| Cell::real(round(real(written) / capacity, 1));
    Table::new("experiment1-units", "Cycles of the published volume, by reading")
        .of(readings.map(|(id, title, capacity)| (Row::new(id, title), capacity)))
        .column("capacity_bytes", "capacity", |capacity| rate(*capacity))
        .column("kib_count", "KB = 1,024 B", |capacity| turned(volume, capacity))
        .column("kb_count", "KB = 1,000 B", |capacity| turned(decimal, capacity))
        .table()
}

/// The wear of the blocks, and the work of the card.
fn spread<'w>(
    id: &str,
    title: impl Into<String>,
    all: impl Iterator<Item = (&'w str, WearFigures, &'w Counters)>,
) -> Table {
    let rows = all.map(|(id, figures, counters)| (Row::new(id, ""), (figures, counters)));
    let real = |value: f64, decimals: i32| Cell::real(round(value, decimals));
    Table::new(id, title)
        .of(rows)
        .column("least_count", "least", |(of, _)| Cell::int(of.least.into()))
        .column("mean", "mean", |(of, _)| real(of.mean, 1))
        .column("most_count", "most", |(of, _)| Cell::int(of.most.into()))
        .column("used_count", "cycles used", |(of, _)| Cell::int(of.used.into()))
        .column("variation_ratio", "deviation", |(of, _)| real(of.variation, 4))
        .column("most_over_mean", "most/mean", |(of, _)| real(of.most_over_mean(), 4))
        .column("gini", "Gini", |(of, _)| real(of.gini, 4))
        .column("amplification", "amplified", |(_, did)| real(amplification(did), 4))
        .column("levelled_count", "moved", |(_, did)| Cell::int(did.levelled))
        .table()
}

/// The erases of the blocks at the end, by variant of wear levelling.
pub(super) fn wear(all: &[VariantWear], at: &str) -> Table {
    let title = format!("Erases of the blocks {at}, by levelling");
    spread("wear", title, all.iter().map(|one| (one.id, one.figures, &one.counters)))
}

/// The volume that each variant reached.
pub(super) fn fates(all: &[VariantWear], limit: u32) -> Table {
    let written = |at: Option<(u64, Bytes)>| or_never(at.map(|(_, written)| written));
    let iteration = |at: Option<(u64, Bytes)>| at.map(|(iteration, _)| Cell::int(iteration));
    Table::new("wear-life", "How far the card comes, by levelling")
        .of(all.iter().map(|one| (Row::new(one.id, &one.title), one)))
        .column("written_bytes", "written", |one| bytes(one.written))
        .column("iterations_count", "iterations", |one| Cell::int(one.iterations))
        .column("passed_bytes", format!("block over {limit}"), |one| written(one.passed))
        .column("passed_count", "in iteration", |one| iteration(one.passed))
        .column("died_bytes", "read-only", |one| written(one.died))
        .column("died_count", "in iteration", |one| iteration(one.died))
        .table()
}

/// The band of `bands` nearest to `rate`, if one is near.
pub(super) fn near(bands: &[BandRow], rate: f64) -> Option<&BandRow> {
    let off = |band: &&BandRow| (band.rates.mean / rate).ln().abs();
    let nearest = bands.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
    nearest.filter(|band| (band.rates.mean / rate - 1.0).abs() <= NEAR)
}

/// Experiment 2 for the comparison with the print; `clusters` are the printed ones, by row.
pub(super) fn experiment2(first: &RewriteOutcome, clusters: &[(&str, f64)]) -> Table {
    let mut table =
        Table::new("experiment2", "Experiment 2: no unused space").column("card", "this card");
    table.rows.push(row("iterations", "iterations", "count", count(first.runs.rates.len())));
    table.rows.push(row("rewrites", "rewrites of the beginning", "count", count(first.rewrites)));
    for (id, printed) in clusters {
        let found = near(&first.bands, *printed).map(|band| rate(band.rates.mean));
        let cell = found.unwrap_or_else(|| Cell::text("no such band"));
        table.rows.push(row(id, "cluster of throughput", "bytes_per_s", cell));
    }
    let errors = Cell::int(u64::from(first.runs.error.is_some()));
    table.rows.push(row("errors", "errors of the card", "count", errors));
    at_the_head(table)
}

/// The controllers.
pub(super) fn titles(all: &[Controller]) -> Table {
    Table::new("experiment2-kinds", "What the controller may be")
        .of(all.iter().map(|one| (Row::new(&one.id, ""), one)))
        .column("what", "what it does", |one| Cell::text(&one.title))
        .table()
}

/// Every controller with both kinds of wear levelling.
pub(super) fn controllers(all: &[RewriteOutcome], clusters: &[(&str, f64)]) -> Table {
    let table =
        Table::new("experiment2-controllers", "Both experiments, by controller and levelling")
            .of(all.iter().map(|one| (Row::new(&one.id, ""), one)))
            .column("free_bytes_per_s", "experiment 1", |one| {
                rate(Rates::of(&one.probe.runs.rates).mean)
            })
            .column("bands_count", "bands of rewrites", |one| count(one.bands.len()))
            .column("silhouette", "silhouette", |one| Cell::real(round(one.silhouette, 3)))
            .column("run_bands_count", "bands of runs", |one| count(one.run_bands.len()))
            .column("run_ns", "a run", |one| Cell::int(one.run_time().as_nanos()));
    let with = clusters.iter().fold(table, |table, (id, printed)| {
        table.column(format!("{id}_bytes_per_s"), format!("{id} cluster"), |one| {
            near(&one.bands, *printed)
                .map_or_else(|| Cell::text("no"), |band| rate(band.rates.mean))
        })
    });
    with.table()
}

/// The erases of the blocks after experiment 2, by controller.
pub(super) fn rewritten_wear(all: &[RewriteOutcome]) -> Table {
    let title = "Erases of the blocks after experiment 2, by controller and levelling";
    let each = all.iter().map(|one| (one.id.as_str(), WearFigures::of(&one.wear), &one.counters));
    spread("experiment2-wear", title, each)
}

/// Bands of single rewrites or of whole runs.
pub(super) fn bands(id: &str, title: &str, all: &[(&str, &[BandRow])]) -> Table {
    let mut table = Table::new(id, title)
        .column("mean_bytes_per_s", "mean")
        .column("least_bytes_per_s", "slowest")
        .column("most_bytes_per_s", "fastest")
        .column("count", "count")
        .column("share_ratio", "share")
        .column("moved", "moved")
        .column("erases", "erases")
        .column("cause", "what took the time");
    for (name, bands) in all {
        for (number, band) in (1..).zip(bands.iter()) {
            table.rows.push(
                Row::new(format!("{name}/{number}"), "")
                    .cell("mean_bytes_per_s", rate(band.rates.mean))
                    .cell("count", count(band.count))
                    .cell("share_ratio", Cell::real(round(band.share, 4)))
                    .cell("least_bytes_per_s", rate(band.rates.least))
                    .cell("most_bytes_per_s", rate(band.rates.most))
                    .cell("cause", Cell::text(&band.cause))
                    .cell("moved", Cell::real(round(band.moved, 3)))
                    .cell("erases", Cell::real(round(band.erases, 3))),
            );
        }
    }
    table
}

/// The name of a kind of wear levelling.
pub(super) const fn levelling(levelling: Levelling) -> &'static str {
    match levelling {
        Levelling::None => "none",
        Levelling::Dynamic => "dynamic",
        _ => "static",
    }
}

/// The volume that could tell dynamic from static levelling.
pub(super) fn power(all: &[WearCurve], limit: u32) -> Table {
    let row = |one: &WearCurve| {
        let name = levelling(one.levelling);
        Row::new(format!("{name}/{}", one.spare).replace(' ', ""), "")
    };
    Table::new("power", "Which volume could tell dynamic from static levelling")
        .of(all.iter().map(|one| (row(one), one)))
        .column("spare_bytes", "spare", |one| bytes(one.spare_bytes))
        .column("published_bytes", "experiment 2", |one| bytes(one.published.0))
        .column("published_count", "most erases", |one| Cell::int(one.published.1.into()))
        .column("passed_bytes", format!("block over {limit}"), |one| or_never(one.passed))
        .column("expected_bytes", format!("{limit} x spare"), |one| {
            bytes(one.spare_bytes * u64::from(limit))
        })
        .column("end_bytes", "in the end", |one| bytes(one.end.0))
        .column("end_count", "most erases", |one| Cell::int(one.end.1.into()))
        .table()
}
