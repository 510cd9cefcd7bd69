//! The charts of an advice.
//!
//! Layer: rank 10. Function: [`draw`].

use super::rank::{Advice, Ranked};
use super::scenario::Scenario;
use boardlab_result::prose::{KIB, MIB, real, round};
use boardlab_result::{Axis, Chart, Mark, RunResult, Style};

/// How many times as high as the highest figure a limit may be to be drawn; a higher one would press the lines together.
const HIGH: f64 = 2.0;

/// A line of a chart: its filesystem, its name, and its points.
type Line<'a> = (&'a str, &'a str, Vec<(f64, f64)>);

/// Draws the boot against the fill level, and RAM against the size of the flash: of each filesystem the kind of
/// compression that comes first, for it changes little of both.
pub(super) fn draw(run: &mut RunResult, advice: &Advice, scenario: &Scenario) {
    let mut drawn: Vec<&Ranked> = Vec::new();
    for one in &advice.ranked {
        let filesystem = one.candidate.choice.filesystem;
        if drawn.iter().all(|other| other.candidate.choice.filesystem != filesystem) {
            drawn.push(one);
        }
    }
    boot(run, &drawn, scenario);
    if drawn.iter().any(|one| one.candidate.chips.len() > 1) {
        ram(run, &drawn, scenario);
    }
}

fn boot(run: &mut RunResult, drawn: &[&Ranked], scenario: &Scenario) {
    let caption =
        "The mount, with the attach of UBI. Of each filesystem the compression that comes first.";
    let axes = [Axis::from_zero("fill level (%)"), Axis::from_zero("mount (s)")];
    let mut chart = Chart::new("advise-boot", "Boot against fill level", caption, axes);
    let each = drawn.iter().map(|one| {
        let points = one.candidate.mountings().iter();
        let points =
            points.map(|one| (one.level.as_f64() * 100.0, round(one.mount.time.as_secs_f64(), 4)));
        (one.candidate.choice.filesystem, one.name(), points.collect())
    });
    let lines: Vec<Line<'_>> = each.collect();
    let limit = scenario.product.boot.map(|limit| (limit.as_secs_f64(), limit.to_string()));
    plot(run, &mut chart, ("s", lines), limit);
    let x = scenario.product.level.as_f64() * 100.0;
    chart.marks.push(Mark { x, label: "the product".into() });
    run.charts.push(chart);
}

fn ram(run: &mut RunResult, drawn: &[&Ranked], scenario: &Scenario) {
    let caption = "An empty filesystem after its mount: structures of a 32-bit kernel. Of each filesystem the compression that comes first.";
    let axes = [Axis::from_zero("size of the flash (MiB)"), Axis::from_zero("RAM (KiB)")];
    let mut chart = Chart::new("advise-ram", "RAM against size of the flash", caption, axes);
    let each = drawn.iter().map(|one| {
        let points = one.candidate.chips.iter();
        let points = points.map(|one| (real(one.size) / MIB, round(real(one.memory) / KIB, 1)));
        (one.candidate.choice.filesystem, one.name(), points.collect())
    });
    let lines: Vec<Line<'_>> = each.collect();
    let limit = scenario.product.ram.map(|limit| (real(limit) / KIB, limit.to_string()));
    plot(run, &mut chart, ("KiB", lines), limit);
    let x = real(scenario.flash.wired().size()) / MIB;
    chart.marks.push(Mark { x, label: "the part".into() });
    run.charts.push(chart);
}

/// Draws lines, and their limit from the first point to the last.
fn plot(
    run: &mut RunResult,
    chart: &mut Chart,
    (unit, lines): (&str, Vec<Line<'_>>),
    limit: Option<(f64, String)>,
) {
    let points = || lines.iter().flat_map(|(_, _, points)| points);
    let highest = points().map(|point| point.1).fold(0.0, f64::max);
    let first = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let last = points().map(|point| point.0).fold(0.0, f64::max);
    for (filesystem, name, points) in lines {
        let id = format!("{}_{filesystem}", chart.id.replace('-', "_"));
        run.plot(chart, (id, name), unit, Style::Line, points);
    }
    if let Some((limit, told)) = limit.filter(|(limit, _)| *limit <= HIGH * highest) {
        let id = format!("{}_limit", chart.id.replace('-', "_"));
        let points = [(first, limit), (last, limit)];
        run.plot(chart, (id, &format!("limit: {told}")), unit, Style::Line, points);
    }
}
