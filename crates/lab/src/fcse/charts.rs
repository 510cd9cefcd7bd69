//! The pictures of the context-switch experiment, as data.
//!
//! Layer: rank 11. Times are drawn in microseconds.

pub(super) mod picture;

use super::run::measure::{Measurements, OfWay, Way};
use super::run::programs::{Disk, Starts};
use super::run::spent::{Costs, Spread, WAITING, nanoseconds};
use super::run::switches::Point;
use super::scenario::Scenario;
use super::tables::gain;
use boardlab_result::prose::{KIB, float, round};
use boardlab_result::{Axis, Chart, RunResult, Style};
use boardlab_sim::Hertz;
use std::collections::BTreeSet;

/// All of them.
pub(super) fn all(run: &mut RunResult, scenario: &Scenario, measured: &Measurements) {
    let clock = scenario.computer.settings.core_clock;
    working_sets(run, scenario, measured, clock);
    processes(run, scenario, measured, clock);
    gains(run, scenario, measured);
    waiting(run, scenario, measured);
    latency(run, measured, clock);
    exec(run, measured, clock);
}

fn micros(cycles: f64, clock: Hertz) -> f64 {
    round(nanoseconds(cycles, clock) / 1e3, 4)
}

const fn line(way: Way) -> Style {
    match way {
        Way::Tables => Style::Dashed,
        _ => Style::Line,
    }
}

/// The points of one way by chg that `keep` keeps.
fn points(one: &OfWay, keep: impl Fn(&Point) -> bool) -> Vec<&Point> {
    one.rings[0].iter().filter(|point| keep(point)).collect()
}

/// The two ways of the publication.
fn two(measured: &Measurements) -> [&OfWay; 2] {
    [Way::Tables, Way::Fcse].map(|way| measured.of(way))
}

/// Each of `ends`, ascending and once, with the two ways of the publication.
fn curves<'m, T: Copy + Ord>(
    measured: &'m Measurements,
    ends: [Option<&T>; 2],
) -> Vec<(&'m OfWay, T)> {
    let ends: BTreeSet<T> = ends.into_iter().flatten().copied().collect();
    ends.into_iter().flat_map(|end| two(measured).map(|one| (one, end))).collect()
}

/// A switch over the working set, for the fewest and the most processes.
fn working_sets(run: &mut RunResult, scenario: &Scenario, measured: &Measurements, clock: Hertz) {
    let axes =
        [Axis::from_zero("working set of each process (KiB)"), Axis::from_zero("a switch (us)")];
    let title = "A switch over the working set";
    let caption = "By chg at once, without the work itself. Dashed: without FCSE every switch fetches everything again; with FCSE only what the others displaced. Beyond the cache the work alone misses too, and that is taken off.";
    let mut chart = Chart::new("fcse-working-set", title, caption, axes);
    let counts = &scenario.ring.processes;
    for (one, count) in curves(measured, [counts.first(), counts.last()]) {
        let points = points(one, |point| point.processes == count).into_iter();
        let points = points
            .map(|point| (float(point.working_set.get()) / KIB, micros(point.cycles(), clock)));
        let curve = format!("working_set_{}_{count}", one.way.id());
        let label = format!("{} processes, {}", count, one.way.title());
        run.plot(&mut chart, (curve, label), "us", line(one.way), points);
    }
    run.charts.push(chart);
}

/// A switch over the number of processes, with the least working set and with one between.
fn processes(run: &mut RunResult, scenario: &Scenario, measured: &Measurements, clock: Hertz) {
    let number = Axis { log2: true, ..Axis::fitting("processes in the ring") };
    let axes = [number, Axis::from_zero("a switch (us)")];
    let title = "A switch over the number of processes";
    let caption = "By chg at once, without the work itself. Slots of FCSE have the same low bits of addresses, so all processes compete for the same sets of the caches and the TLB.";
    let mut chart = Chart::new("fcse-processes", title, caption, axes);
    let sets = &scenario.ring.working_sets;
    for (one, set) in curves(measured, [sets.first(), sets.get(sets.len() / 2)]) {
        let points = points(one, |point| point.working_set == set).into_iter();
        let points =
            points.map(|point| (f64::from(point.processes), micros(point.cycles(), clock)));
        let kib = set.get() / 1_024;
        let curve = format!("processes_{}_{kib}", one.way.id());
        let label = format!("{kib} KiB each, {}", one.way.title());
        run.plot(&mut chart, (curve, label), "us", line(one.way), points);
    }
    run.charts.push(chart);
}

/// How much FCSE gains: a row for each number of processes, over the working set.
fn gains(run: &mut RunResult, scenario: &Scenario, measured: &Measurements) {
    let axes = [Axis::fitting("working set of each process"), Axis::fitting("times faster")];
    let title = "How many times faster a switch is with FCSE";
    let caption = "By chg at once. What FCSE saves is what stays in the caches: where all working sets together are larger, the processes displace each other's lines.";
    let mut chart = Chart::new("fcse-gain", title, caption, axes);
    chart.categories = scenario.ring.working_sets.iter().map(ToString::to_string).collect();
    for &count in &scenario.ring.processes {
        let [tables, fcse] = two(measured).map(|one| points(one, |point| point.processes == count));
        let gains = tables.into_iter().zip(fcse).enumerate();
        let points = gains.filter_map(|(at, (a, b))| Some((float(at), gain(a, b)?)));
        let names = (format!("gain_{count}"), format!("{count} processes"));
        run.plot(&mut chart, names, "times", Style::Heat, points);
    }
    run.charts.push(chart);
}

/// What a switch waits for, in a ring of the fewest processes.
fn waiting(run: &mut RunResult, scenario: &Scenario, measured: &Measurements) {
    let axes = [Axis::fitting("working set of each process"), Axis::from_zero("cycles a switch")];
    let title = "What a switch between the fewest processes spends its cycles on";
    let caption = "By chg at once, without the work itself: execution, and waiting by its cause. First without FCSE, then with it.";
    let mut chart = Chart::new("fcse-waiting", title, caption, axes);
    let least = scenario.ring.processes.first().copied().unwrap_or(2);
    let all: Vec<(Way, &Point)> = two(measured)
        .into_iter()
        .flat_map(|one| points(one, |p| p.processes == least).into_iter().map(|p| (one.way, p)))
        .collect();
    let name = |(way, point): &(Way, &Point)| format!("{}, {}", point.working_set, way.title());
    chart.categories = all.iter().map(name).collect();
    let executing = |spent: &Costs| spent.cycles.saturating_sub(spent.waiting.iter().sum());
    let mut layer = |run: &mut RunResult, id: &str, label: &str, of: &dyn Fn(&Costs) -> u64| {
        let each = |point: &Point| Costs::each(of(&point.net), point.switches);
        let points = all.iter().enumerate().map(|(at, (_, point))| (float(at), each(point)));
        let names = (format!("waiting_{id}"), label);
        run.plot(&mut chart, names, "cycles", Style::Stacked, points);
    };
    layer(run, "execution", "execution", &executing);
    for (index, (id, label)) in WAITING.into_iter().enumerate() {
        layer(run, id, label, &|spent| spent.waiting[index]);
    }
    run.charts.push(chart);
}

/// Takes one figure of a spread.
type Quantile = fn(&Spread) -> f64;

/// From the timer to the task, rare cases and the worst.
fn latency(run: &mut RunResult, measured: &Measurements, clock: Hertz) {
    let axes = [Axis::fitting("system"), Axis::from_zero("from timer to task (us)")];
    let title = "From the timer's zero to the task that waits for it";
    let caption = "A task of the highest priority, which sleeps from tick to tick, in an idle and in a loaded system.";
    let mut chart = Chart::new("fcse-latency", title, caption, axes);
    let loads = [(0, "idle"), (1, "loaded")];
    let systems: Vec<_> = loads
        .into_iter()
        .flat_map(|(load, name)| measured.ways.iter().map(move |one| (load, name, one)))
        .collect();
    let name = |(_, name, one): &(usize, &str, &OfWay)| format!("{}, {name}", one.way.title());
    chart.categories = systems.iter().map(name).collect();
    let values: [(_, _, Quantile); 3] = [
        ("mean", "mean", |spread| spread.mean),
        ("p999", "99.9 %", |spread| float(spread.p999)),
        ("max", "maximum", |spread| float(spread.max)),
    ];
    for (id, label, value) in values {
        let points = systems.iter().enumerate().map(|(at, (load, _, one))| {
            (float(at), micros(value(&one.latency[*load].task), clock))
        });
        let names = (format!("latency_{id}"), label);
        run.plot(&mut chart, names, "us", Style::Bars, points);
    }
    run.charts.push(chart);
}

/// Starts of programs over their size.
fn exec(run: &mut RunResult, measured: &Measurements, clock: Hertz) {
    let axes = [Axis::fitting("size of the program"), Axis::from_zero("exec (ms)")];
    let title = "Starting a program, by where it lies";
    let caption = "The mean of exec alone. Cold: nothing of the program is in the buffer cache. Warm: it was started just before, and as much of it is there as fits.";
    let mut chart = Chart::new("fcse-exec", title, caption, axes);
    chart.categories = measured.started[0].iter().map(|one| one.size.to_string()).collect();
    for (disk, starts) in Disk::ALL.into_iter().zip(&measured.started) {
        for (id, warm) in [("cold", false), ("warm", true)] {
            let started = |one: &Starts| if warm { one.warm } else { one.cold };
            let millis = |one| round(micros(started(one).exec.mean, clock) / 1e3, 4);
            let points = starts.iter().enumerate().map(|(at, one)| (float(at), millis(one)));
            let names = (format!("exec_{}_{id}", disk.id()), format!("{}, {id}", disk.title()));
            run.plot(&mut chart, names, "ms", Style::Bars, points);
        }
    }
    run.charts.push(chart);
}
