//! The charts of the SD experiment.
//!
//! Layer: rank 10. Function: [`all`]. Rates are drawn in MiB/s, the unit of the publication. A long
//! series is thinned to at most 1,000 points, each with the least, the mean and the greatest value, so
//! that no fluctuation is lost.

use super::run::Measurements;
use super::run::free::Free;
use super::run::measure::Rates;
use super::run::power::WearCurve;
use super::run::rewrites::RewriteOutcome;
use super::run::wear::VariantWear;
use super::scenario::Scenario;
use super::tables::levelling;
use boardlab_result::prose::{MIB, counted, float, listed, real, round};
use boardlab_result::{Axis, Chart, Mark, RunResult, Style};
use boardlab_sim::Bytes;

/// The most points of a curve.
const POINTS: usize = 1_000;
/// Groups of neighbouring blocks in a map of wear.
const GROUPS: usize = 16;
/// Classes of a histogram.
const CLASSES: u32 = 20;

/// Draws all charts; `clusters` are the printed ones of experiment 2 by row, and `at` names the volume
/// of the comparison.
pub(super) fn all(
    run: &mut RunResult,
    scenario: &Scenario,
    measured: &Measurements,
    (at, clusters): (&str, &[(&str, f64)]),
) {
    throughput(run, &measured.free);
    let drawn = ["none", "dynamic", "static", "kept"].map(|id| measured.worn(id));
    let title = format!("Erases of all blocks {at}");
    let most = drawn.iter().map(|one| format!("{} {:.1}", one.id, one.figures.most_over_mean()));
    let caption = format!(
        "Blocks from the least to the most worn; with `kept`, emptied blocks wait for collection. The most worn block has so many \
         times the mean: {}.",
        listed(&most.collect::<Vec<_>>()),
    );
    let curves = drawn.iter().map(|one| (one.id.to_owned(), one.wear.erases.as_slice()));
    sorted(run, ("wear-sorted", &title, &caption), &curves.collect::<Vec<_>>());
    histogram(run, &drawn, at);
    for (id, title) in [("none", "without levelling"), ("dynamic", "with dynamic levelling")] {
        map_over_time(run, measured.worn(id), title);
    }
    bands(run, &measured.rewritten, clusters);
    first(run, scenario, &measured.rewritten);
    let two = &measured.rewritten[..measured.rewritten.len().min(2)];
    let erased = two.iter().map(|one| {
        let some = one.wear.erases.iter().filter(|erases| **erases > 0).count();
        format!("{} of {} with {}", some, counted(one.wear.erases.len(), "block"), one.id)
    });
    let caption = format!(
        "Blocks from the least to the most worn. Erased at least once: {}.",
        listed(&erased.collect::<Vec<_>>())
    );
    let curves: Vec<_> =
        two.iter().map(|one| (one.id.clone(), one.wear.erases.as_slice())).collect();
    let title = "Erases of all blocks after experiment 2";
    sorted(run, ("rewritten-sorted", title, &caption), &curves);
    let caption = "Each field is the most worn of neighbouring blocks, after all rewrites.";
    map(run, ("rewritten-map", "Wear map after experiment 2", caption), &curves);
    power(run, &measured.power, scenario.wear.endurance);
}

/// Draws the bandwidth of the iterations of experiment 1.
fn throughput(run: &mut RunResult, free: &Free) {
    let rates = free.runs.rates.as_slice();
    let step = rates.len().div_ceil(POINTS).max(1);
    let bins: Vec<Rates> = rates.chunks(step).map(Rates::of).collect();
    let tenth = rates.len() / 10;
    let mean = |rates: &[f64]| Rates::of(rates).mean;
    let change = mean(&rates[rates.len() - tenth..]) / mean(&rates[..tenth]) - 1.0;
    let change = match round(change * 100.0, 1) {
        _ if tenth == 0 => String::new(),
        0.0 => " The mean of the last tenth is that of the first.".into(),
        change => format!(" The mean of the last tenth is {change:+.1} % off that of the first."),
    };
    let each = match step {
        1 => "an iteration a point".to_owned(),
        _ => format!("{step} iterations a point with their fastest, mean and slowest"),
    };
    let caption = format!("Bandwidth as fio reports it, {each}.{change}");
    let axes = [Axis::fitting("iteration"), Axis::from_zero("write bandwidth (MiB/s)")];
    let title = "Experiment 1: throughput of each iteration";
    let mut chart = Chart::new("sd-throughput", title, caption, axes);
    let mut line = |id, label, of: fn(&Rates) -> f64| {
        let points = bins.iter().enumerate();
        let points = points.map(|(bin, rates)| (float(bin * step + 1), round(of(rates) / MIB, 3)));
        run.plot(&mut chart, (id, label), "mib_per_s", Style::Line, points);
    };
    line("iteration_most", "fastest", |rates| rates.most);
    line("iteration_mean", "mean", |rates| rates.mean);
    line("iteration_least", "slowest", |rates| rates.least);
    run.charts.push(chart);
}

/// Draws curves over the blocks in the order of their wear.
fn sorted(run: &mut RunResult, (id, title, caption): (&str, &str, &str), all: &[(String, &[u32])]) {
    let axes = [Axis::from_zero("blocks, least worn first (%)"), Axis::from_zero("erases")];
    let mut chart = Chart::new(format!("sd-{id}"), title, caption, axes);
    for (name, erases) in all {
        let mut erases = erases.to_vec();
        erases.sort_unstable();
        let last = erases.len().saturating_sub(1).max(1);
        let step = erases.len().div_ceil(200).max(1);
        let at = (0..erases.len()).step_by(step).chain([last]);
        let share = |index: usize| round(float(index) / float(last) * 100.0, 2);
        let points = at.filter_map(|index| Some((share(index), f64::from(*erases.get(index)?))));
        let curve = format!("{id}_{name}").replace('/', "_");
        run.plot(&mut chart, (curve, name), "count", Style::Line, points);
    }
    run.charts.push(chart);
}

/// Draws the number of blocks by their erases.
fn histogram(run: &mut RunResult, all: &[&VariantWear], at: &str) {
    let most = all.iter().map(|one| one.figures.most).max().unwrap_or(0);
    let width = (most / CLASSES + 1).next_multiple_of(if most < 100 { 1 } else { 100 });
    let axes = [Axis::fitting("erases"), Axis::from_zero("blocks")];
    let title = format!("Histogram of erase counts {at}");
    let mut chart = Chart::new("sd-wear-histogram", title, "Blocks by their erases.", axes);
    let last = most / width;
    chart.categories = (0..=last)
        .map(|class| format!("{} to {}", class * width, (class + 1) * width - 1))
        .collect();
    for one in all {
        let mut classes = vec![0_u32; chart.categories.len()];
        for erases in &one.wear.erases {
            classes[usize::try_from(erases / width).unwrap_or(0)] += 1;
        }
        let points = (0_u32..).zip(&classes).map(|(at, blocks)| (at.into(), f64::from(*blocks)));
        let names = (format!("erases_{}", one.id), one.id);
        run.plot(&mut chart, names, "count", Style::Bars, points);
    }
    run.charts.push(chart);
}

/// Draws the most worn block of each group of neighbours, with a row for each state of a card.
fn map(run: &mut RunResult, (id, title, caption): (&str, &str, &str), rows: &[(String, &[u32])]) {
    let blocks = rows.first().map_or(0, |(_, erases)| erases.len());
    let group = blocks.div_ceil(GROUPS).max(1);
    let axes = [Axis::fitting("blocks"), Axis::fitting("erases of the most worn")];
    let mut chart = Chart::new(format!("sd-{id}"), title, caption, axes);
    chart.categories = (0..blocks).step_by(group).map(|first| format!("from {first}")).collect();
    for (number, (label, erases)) in rows.iter().enumerate() {
        let fields = erases.chunks(group).map(|group| group.iter().copied().max().unwrap_or(0));
        let points = fields.enumerate().map(|(at, most)| (float(at), most.into()));
        let names = (format!("{id}_{number}"), label);
        run.plot(&mut chart, names, "count", Style::Heat, points);
    }
    run.charts.push(chart);
}

/// Draws a map of wear as the volume grows.
fn map_over_time(run: &mut RunResult, worn: &VariantWear, title: &str) {
    let label = |written: &Bytes| format!("{:.2} TB", real(*written) / 1e12);
    let rows = worn.snapshots.iter().map(|(written, erases)| (label(written), erases.as_slice()));
    let (id, title) = (format!("wear-map-{}", worn.id), format!("Wear map over time, {title}"));
    let caption =
        "Each field is the most worn of neighbouring blocks; from row to row the volume grows.";
    map(run, (&id, &title, caption), &rows.collect::<Vec<_>>());
}

/// Draws the bands of every controller, the most frequent first, and the printed clusters.
fn bands(run: &mut RunResult, all: &[RewriteOutcome], clusters: &[(&str, f64)]) {
    let axes = [Axis::fitting("controller and levelling"), log_rate()];
    let caption = "Bands of single rewrites; nothing was tuned towards the dashed lines, the clusters as printed.";
    let title = "Experiment 2: bands of throughput by controller";
    let mut chart = Chart::new("sd-bands", title, caption, axes);
    chart.categories = all.iter().map(|one| one.id.replace('/', " ")).collect();
    for (id, rate) in clusters {
        let points = (0..all.len()).map(|at| (float(at), rate / MIB));
        let names = (format!("cluster_{id}"), format!("{id} cluster, print"));
        run.plot(&mut chart, names, "mib_per_s", Style::Dashed, points);
    }
    let ranks = ["most frequent band", "second", "third", "fourth"];
    for (rank, name) in ranks.into_iter().enumerate() {
        let points: Vec<(f64, f64)> = all
            .iter()
            .enumerate()
            .filter_map(|(at, one)| {
                let mut bands: Vec<_> = one.bands.iter().collect();
                bands.sort_by_key(|band| std::cmp::Reverse(band.count));
                Some((float(at), round(bands.get(rank)?.rates.mean / MIB, 3)))
            })
            .collect();
        if !points.is_empty() {
            let names = (format!("band_{rank}"), name);
            run.plot(&mut chart, names, "mib_per_s", Style::Points, points);
        }
    }
    run.charts.push(chart);
}

fn log_rate() -> Axis {
    Axis { log2: true, ..Axis::fitting("throughput (MiB/s)") }
}

/// Draws the first rewrites in their order, with static levelling.
fn first(run: &mut RunResult, scenario: &Scenario, all: &[RewriteOutcome]) {
    let axes = [Axis::from_zero("rewrite"), log_rate()];
    let title = "Experiment 2: the first rewrites";
    let write = Bytes::new(scenario.full.rewrites.job.jobs[0].settings.largest_block());
    let caption = format!(
        "Each point is one write of {write}, with static levelling. Caches and logs that are full at first are those that the \
         filling of the card left."
    );
    let mut chart = Chart::new("sd-first-rewrites", title, caption, axes);
    for one in all.iter().filter(|one| one.id.ends_with("/static")) {
        let rates = one.first.iter().enumerate();
        let points = rates.map(|(at, rate)| (float(at + 1), round(rate / MIB, 3)));
        let names = (format!("first_{}", one.controller), &one.controller);
        run.plot(&mut chart, names, "mib_per_s", Style::Points, points);
    }
    run.charts.push(chart);
}

/// Draws the most worn block as experiment 2 goes on beyond its end.
fn power(run: &mut RunResult, all: &[WearCurve], limit: u32) {
    let axes = [Axis::from_zero("written (TB)"), Axis::from_zero("erases of the most worn block")];
    let most = all.iter().map(|one| one.published.1).max().unwrap_or(0);
    let caption = format!(
        "Experiment 2 continued until a block passes the limit of {limit} with dynamic levelling alone. After its own volume the \
         most worn block of all has {most} erases."
    );
    let title = "Which volume could tell dynamic from static levelling";
    let mut chart = Chart::new("sd-power", title, caption, axes);
    let mut last = 0.0_f64;
    for one in all {
        let step = one.points.len().div_ceil(200).max(1);
        let curve = one.points.iter().step_by(step).chain(one.points.last());
        let points: Vec<(f64, f64)> = curve
            .map(|(written, most)| (round(real(*written) / 1e12, 4), f64::from(*most)))
            .collect();
        last = points.last().map_or(last, |(end, _)| last.max(*end));
        let name = format!("{}, {} spare", levelling(one.levelling), one.spare);
        let id = format!("power_{}_{}", levelling(one.levelling), one.spare.millionths());
        let style = if levelling(one.levelling) == "dynamic" { Style::Line } else { Style::Dashed };
        run.plot(&mut chart, (id, name), "count", style, points);
    }
    let (names, ends) = (("power_limit", format!("limit of {limit}")), [0.0, last]);
    run.plot(&mut chart, names, "count", Style::Dashed, ends.map(|at| (at, limit.into())));
    let published = all.first().map(|one| real(one.published.0) / 1e12);
    chart.marks.extend(published.map(|x| Mark { x, label: "volume of experiment 2".into() }));
    run.charts.push(chart);
}
