//! The pictures of the SATA experiment, as data.
//!
//! Layer: rank 11. Rates are drawn in MB/s of 10^6 bytes, in which the publication counts.

use super::run::Measurements;
use super::run::measure::{DriveRun, Pair};
use super::run::what_if::{DepthPoint, SizePoint};
use super::scenario::{Continuous, Drives, Scenario};
use super::tables::means;
use super::tables::told::name;
use super::tables::{all_shares, kinds, rows, share};
use boardlab_experiment::reference::Reference;
use boardlab_parts::drive::part::DrivePart;
use boardlab_result::prose::{counted, float, round};
use boardlab_result::{Axis, Chart, RunResult, Style};
use boardlab_sata::SECTOR;
use boardlab_sata::arithmetic::Direction;
use boardlab_sata::device::WriteCache;

const MB: f64 = 1e6;
/// A difference of rates that is noticed, as a share.
const NOTICED: f64 = 0.01;
/// The two directions: their names and their places in a row.
const WAYS: [(&str, usize); 2] = [("write", 0), ("read", 1)];

/// All of them; with the printed rows where there are such.
pub(super) fn all(
    run: &mut RunResult,
    scenario: &Scenario,
    measured: &Measurements,
    print: Option<&Reference>,
) {
    let drives = &scenario.drives;
    let both = [
        ("x25-e", &drives.intel, "table5-1", &measured.intel),
        ("g-monster", &drives.g_monster, "table5-2", &measured.g_monster),
    ];
    for (id, part, table, tested) in both {
        let loops = &scenario.continuous.loops;
        let printed = print.and_then(|print| means::printed(print, table, loops).ok());
        throughput(run, (id, name(part)), &scenario.continuous, tested, printed.as_deref());
    }
    shares(run, drives, measured);
    sizes(run, &drives.intel, &measured.sizes);
    queue(run, scenario, &measured.queue);
}

fn mb(rate: f64) -> f64 {
    round(rate / MB, 3)
}

/// Throughput over the loops of a run.
fn throughput(
    run: &mut RunResult,
    (id, name): (&str, &str),
    continuous: &Continuous,
    tested: &DriveRun,
    printed: Option<&[[f64; 2]]>,
) {
    let (loops, command) = (&continuous.loops, SECTOR * u64::from(continuous.sectors));
    let axes = [
        Axis { log2: true, ..Axis::fitting(format!("loops of {command}")) },
        Axis::fitting("throughput (MB/s)"),
    ];
    let lines = match printed {
        Some(_) => "Lines are ours, points the print, each of which was run once; the",
        None => "The",
    };
    let caption = format!("{lines} dashed line is what the link alone allows to reads.");
    let title = format!("{name}: throughput over the length of a run");
    let mut chart = Chart::new(format!("sata-{id}"), title, caption, axes);
    let mut draw = |run: &mut RunResult, label: &str, rates: &[[f64; 2]], at: usize, style| {
        let points = loops.iter().zip(rates).map(|(&count, row)| (float(count), mb(row[at])));
        let curve = format!("{id}_{label}").replace([' ', ','], "_");
        run.plot(&mut chart, (curve, label), "mb_per_s", style, points);
    };
    let ours = rows(&tested.firmware, loops);
    for (way, at) in WAYS {
        draw(run, way, &ours, at, Style::Line);
        if let Some(printed) = printed {
            draw(run, &format!("{way}, print"), printed, at, Style::Points);
        }
    }
    let most = float(tested.link.rate(Direction::Read));
    let limit = vec![[most, most]; loops.len()];
    draw(run, "link alone, read", &limit, 1, Style::Dashed);
    for layer in &mut chart.layers {
        layer.like = layer.label.strip_suffix(", print").map(String::from);
    }
    run.charts.push(chart);
}

/// What the time of each run was spent on.
fn shares(run: &mut RunResult, drives: &Drives, measured: &Measurements) {
    let axes = [Axis::fitting("drive and build"), Axis::from_zero("share of the time")];
    let caption = "HOLD is a drive that throttles, turnaround the handshake of frames; idle is the end of a write in the drive and the \
                   sequencing of commands.";
    let title = "Where the time of the link goes";
    let mut chart = Chart::new("sata-shares", title, caption, axes);
    let all = all_shares(drives, measured);
    chart.categories = all.iter().map(|(_, title, _)| title.clone()).collect();
    for (kind, (id, label)) in kinds().into_iter().enumerate() {
        let shares = all.iter().map(|(_, _, shares)| share(shares, kind));
        let points = shares.enumerate().map(|(at, share)| (float(at), share));
        run.plot(&mut chart, (format!("share_{id}"), label), "ratio", Style::Stacked, points);
    }
    run.charts.push(chart);
}

fn rate(pair: &Pair, at: usize) -> f64 {
    pair.named()[at].1.rate()
}

/// The least size from which on nobody notices who sequences reads, where there is one.
fn unnoticed(all: &[SizePoint]) -> Option<u32> {
    let same = |one: &&SizePoint| {
        let (firmware, sequencer) = (one.firmware.read.rate(), one.sequencer.read.rate());
        (sequencer / firmware - 1.0).abs() < NOTICED
    };
    all.iter().rev().take_while(same).last().map(|one| one.sectors)
}

/// Throughput over the size of a command.
fn sizes(run: &mut RunResult, part: &DrivePart, all: &[SizePoint]) {
    let axes = [
        Axis { log2: true, ..Axis::fitting("sectors of a command") },
        Axis::from_zero("throughput (MB/s)"),
    ];
    let reads = unnoticed(all).map_or_else(String::new, |sectors| {
        format!(" From {} on nobody notices who sequences reads.", counted(sectors, "sector"))
    });
    let writes = match part.drive.write_cache {
        WriteCache::Through => " Writes end on flash, and wait for it.",
        WriteCache::Back(_) | WriteCache::Protected(_) => "",
    };
    let caption = format!("Dashed: what the link alone allows.{reads}{writes}");
    let title = format!("{}: throughput over the size of a command", name(part));
    let mut chart = Chart::new("sata-command-size", title, caption, axes);
    for (way, at) in WAYS {
        let curves = [
            ("link alone", Style::Dashed),
            ("firmware", Style::Line),
            ("state machine", Style::Line),
        ];
        for (which, (name, style)) in curves.into_iter().enumerate() {
            let points = all.iter().map(|one| {
                let (firmware, sequencer) = (&one.firmware, &one.sequencer);
                let rates = [one.link[at], rate(firmware, at), rate(sequencer, at)];
                (f64::from(one.sectors), mb(rates[which]))
            });
            let curve = format!("size_{name}_{way}").replace(' ', "_");
            run.plot(&mut chart, (curve, format!("{name}, {way}")), "mb_per_s", style, points);
        }
    }
    run.charts.push(chart);
}

/// Throughput over the depth of the queue.
fn queue(run: &mut RunResult, scenario: &Scenario, all: &[DepthPoint]) {
    if all.len() < 2 {
        return;
    }
    let axes = [Axis::fitting("commands in the queue"), Axis::from_zero("throughput (MB/s)")];
    let caption = format!(
        "Commands of {} at random places on a link of {}: with more of them at once more dies have something to do.",
        counted(scenario.what_if.queued, "sector"),
        scenario.drives.example.speed,
    );
    let title = "The example drive: throughput over the depth of its queue";
    let mut chart = Chart::new("sata-queue", title, caption, axes);
    let depth =
        |one: &DepthPoint| one.depth.map_or_else(|| "off".into(), |depth| depth.to_string());
    chart.categories = all.iter().map(depth).collect();
    for (way, at) in WAYS {
        let points = all.iter().enumerate().map(|(number, one)| (float(number), mb(one.rates[at])));
        let names = (format!("queue_{way}"), way);
        run.plot(&mut chart, names, "mb_per_s", Style::Bars, points);
    }
    run.charts.push(chart);
}
