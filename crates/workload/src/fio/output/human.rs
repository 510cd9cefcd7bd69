//! fio's report for people.
//!
//! Layer: rank 6. The lines are those of fio 3.33: the job, each direction with its latencies and
//! percentiles, the classes of latency, depths, and the summary of each group.

use crate::fio::account::{Account, BOUNDS, Spread, Totals, to_f64};
use crate::fio::engine::{Report, Run};
use crate::fio::job::{Job, JobFile};
use crate::fio::output::{
    VERSION, bandwidth, description, millis, percentile, rate, requests, share,
};
use crate::fio::settings::{Blocks, Direction};
use boardlab_sim::{Duration, Phase};
use std::fmt::{self, Write};

/// The report of a run.
///
/// # Panics
/// Never: a string takes all that is written to it.
#[must_use]
pub fn human(file: &JobFile, run: &Run) -> String {
    let mut text = String::new();
    write_all(&mut text, file, run).expect("a string takes all");
    text
}

fn write_all(out: &mut String, file: &JobFile, run: &Run) -> fmt::Result {
    for note in &run.notes {
        writeln!(out, "note: {note}")?;
    }
    for (index, job) in file.jobs.iter().enumerate() {
        heading(out, job, run, index)?;
    }
    writeln!(out, "{VERSION}")?;
    for report in &run.reports {
        one(out, file, report)?;
    }
    let last = run.reports.iter().map(|report| report.group).max().unwrap_or(0);
    for group in 0..=last {
        let reports: Vec<_> = run.reports.iter().filter(|report| report.group == group).collect();
        summary(out, group, &reports)?;
    }
    Ok(())
}

/// The heading of a job: access, block sizes, engine, depth.
fn heading(out: &mut String, job: &Job, run: &Run, index: usize) -> fmt::Result {
    let settings = &job.settings;
    let group = run.reports.iter().find(|report| report.job == index).map_or(0, |r| r.group);
    write!(out, "{}: (g={group}): rw={}, bs=", job.name, settings.access.name)?;
    for (letter, blocks) in ["R", "W", "T"].into_iter().zip(&settings.blocks) {
        let (low, high) = (blocks.minimum(), blocks.maximum());
        let end = if letter == "T" { "" } else { ", " };
        write!(
            out,
            "({letter}) {}-{}{end}",
            scaled(to_f64(low), 1_024),
            scaled(to_f64(high), 1_024)
        )?;
        assert!(!matches!(blocks, Blocks::Split(list) if list.is_empty()));
    }
    let submission = &settings.submission;
    writeln!(out, ", ioengine={}, iodepth={}", submission.engine.name, submission.depth)
}

/// A size or rate with about four digits and a unit: `18.2MiB`, `4096B`.
fn scaled(value: f64, base: u32) -> String {
    let (units, step) = match base {
        1_024 => (["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 1_024.0),
        _ => (["B", "kB", "MB", "GB", "TB", "PB"], 1_000.0),
    };
    figure(value, step, &units)
}

/// A number with at most four digits before its unit and three in all after a point.
fn figure(value: f64, step: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (value, 0);
    while value >= 10_000.0 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let decimals = match value {
        _ if unit == 0 || value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}{}", units[unit])
}

fn count(value: f64) -> String {
    figure(value, 1_000.0, &["", "k", "M", "G"])
}

fn one(out: &mut String, file: &JobFile, report: &Report) -> fmt::Result {
    let (account, job) = (&report.account, &file.jobs[report.job]);
    let (name, group, copies) = (&report.name, report.group, report.copies);
    writeln!(out, "\n{name}: (groupid={group}, jobs={copies}): err= 0: virtual time")?;
    if let Some(description) = description(job) {
        writeln!(out, "  Description  : [{description}]")?;
    }
    for one in Direction::ALL {
        let totals = &account.totals[one as usize];
        if totals.requests > 0 {
            direction(out, one, totals, account, job)?;
        }
    }
    latencies(out, account)?;
    if account.syncs.count() > 0 {
        writeln!(out, "  fsync/fdatasync/sync_file_range:")?;
        let (unit, divisor) = unit(&account.sync_spread);
        spread(out, "    sync", (unit, divisor), &account.sync_spread)?;
        percentiles(out, "sync", (unit, divisor), &account.syncs, job)?;
    }
    depths(out, account)?;
    let [reads, writes, trims] = &account.totals;
    let syncs = account.syncs.count();
    let (reads, writes, trims) = (reads.requests, writes.requests, trims.requests);
    writeln!(
        out,
        "     issued rwts: total={reads},{writes},{trims},{syncs} short=0,0,0,0 dropped=0,0,0,0"
    )?;
    let depth = job.settings.submission.depth;
    writeln!(out, "     latency   : target=0, window=0, percentile=100.00%, depth={depth}")
}

fn direction(
    out: &mut String,
    which: Direction,
    totals: &Totals,
    account: &Account,
    job: &Job,
) -> fmt::Result {
    let time = account.elapsed();
    let bytes = to_f64(bandwidth(totals, time));
    let (iops, span) = (count(rate(totals, time)), duration(time));
    let (binary, decimal) = (scaled(bytes, 1_024), scaled(bytes, 1_000));
    let moved = scaled(to_f64(totals.bytes), 1_024);
    let end = if which == Direction::Write { "; 0 zone resets" } else { "" };
    let name = which.name();
    writeln!(out, "  {name}: IOPS={iops}, BW={binary}/s ({decimal}/s)({moved}/{span}){end}")?;
    let submit = to_f64(account.submission.as_nanos());
    let fixed = Spread::constant(totals.requests, submit);
    if job.settings.submission.engine.queues {
        spread(out, "    slat", unit(&fixed), &fixed)?;
    }
    let clat = &totals.spread;
    spread(out, "    clat", unit(clat), clat)?;
    let whole = clat.shifted(submit);
    spread(out, "     lat", unit(&whole), &whole)?;
    if job.settings.reporting.clat_percentiles {
        percentiles(out, "clat", unit(clat), &totals.completion, job)?;
    }
    samples(out, totals)
}

/// Bandwidth and requests a second by windows.
fn samples(out: &mut String, totals: &Totals) -> fmt::Result {
    let (bandwidth, rate) = (totals.bandwidth(), totals.rate());
    if bandwidth.count == 0 {
        return Ok(());
    }
    let kib = |bytes: f64| bytes / 1_024.0;
    let (min, max) = (kib(bandwidth.min).floor(), kib(bandwidth.max).floor());
    let (mean, deviation) = (kib(bandwidth.mean()), kib(bandwidth.deviation()));
    write!(out, "   bw (  KiB/s): min={min:>5}, max={max:>5}, avg={mean:.2}, ")?;
    writeln!(out, "stdev={deviation:.2}, samples={}", bandwidth.count)?;
    let (min, max, deviation) = (rate.min.floor(), rate.max.floor(), rate.deviation());
    write!(out, "   iops        : min={min:>5}, max={max:>5}, avg={:.2}, ", rate.mean())?;
    writeln!(out, "stdev={deviation:.2}, samples={}", rate.count)
}

/// The unit in which fio shows latencies, and its nanoseconds.
fn unit(spread: &Spread) -> (&'static str, f64) {
    let large = |divisor: f64| {
        spread.min / divisor > 2_000.0 && spread.max / divisor > 99_999.0
            || spread.min / divisor > 99_999.0
    };
    match spread {
        _ if large(1_000.0) => ("msec", 1_000_000.0),
        _ if large(1.0) => ("usec", 1_000.0),
        _ => ("nsec", 1.0),
    }
}

fn spread(
    out: &mut String,
    name: &str,
    (unit, divisor): (&str, f64),
    spread: &Spread,
) -> fmt::Result {
    let (min, max) = (count((spread.min / divisor).floor()), count((spread.max / divisor).floor()));
    let (mean, deviation) = (spread.mean() / divisor, spread.deviation() / divisor);
    writeln!(out, "{name} ({unit}): min={min}, max={max}, avg={mean:.2}, stdev={deviation:.2}")
}

fn percentiles(
    out: &mut String,
    name: &str,
    (unit, divisor): (&str, f64),
    phase: &Phase,
    job: &Job,
) -> fmt::Result {
    let list = &job.settings.reporting.percentiles;
    writeln!(out, "    {name} percentiles ({unit}):")?;
    for (row, group) in list.chunks(4).enumerate() {
        write!(out, "     |")?;
        for (index, percent) in group.iter().enumerate() {
            let value = (to_f64(percentile(phase, *percent)) / divisor).floor();
            let end = if row * 4 + index + 1 == list.len() { "" } else { "," };
            write!(out, " {percent:>5.2}th=[{value:>5}]{end}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The classes of latency that hold anything.
fn latencies(out: &mut String, account: &Account) -> fmt::Result {
    let all = requests(account);
    for (index, unit) in ["nsec", "usec", "msec"].into_iter().enumerate() {
        let first = index * 10;
        let end = if index == 2 { 32 } else { first + 10 };
        let divisor = [1, 1_000, 1_000_000][index];
        let entries: Vec<_> = (first..end)
            .filter(|class| account.latencies[*class] > 0)
            .map(|class| {
                let percent = share(account.latencies[class], all);
                match BOUNDS.get(class) {
                    Some(bound) => format!("{}={percent:.2}%", bound / divisor),
                    None => format!(">=2000={percent:.2}%"),
                }
            })
            .collect();
        for row in entries.chunks(5) {
            writeln!(out, "  lat ({unit})   : {}", row.join(", "))?;
        }
    }
    Ok(())
}

fn depths(out: &mut String, account: &Account) -> fmt::Result {
    const NAMES: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
    let all = requests(account);
    let entry = |(name, count): (&str, &u64)| format!("{name}={:.1}%", share(*count, all));
    let entries: Vec<_> = NAMES.into_iter().zip(&account.depths).map(entry).collect();
    writeln!(out, "  IO depths    : {}", entries.join(", "))
}

fn duration(time: Duration) -> String {
    format!("{}msec", millis(time))
}

/// The sums of a group, and the range of its reports.
fn summary(out: &mut String, group: usize, reports: &[&Report]) -> fmt::Result {
    if reports.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nRun status group {group} (all jobs):")?;
    for one in Direction::ALL {
        let with: Vec<_> =
            reports.iter().filter(|r| r.account.totals[one as usize].requests > 0).collect();
        let rates = with.iter().map(|report| {
            bandwidth(&report.account.totals[one as usize], report.account.elapsed())
        });
        let Some(low) = rates.clone().min() else { continue };
        let high = rates.max().unwrap_or(low);
        let bytes: u64 = with.iter().map(|r| r.account.totals[one as usize].bytes).sum();
        let (start, end) = (
            with.iter().map(|r| r.account.start).min().unwrap_or_default(),
            with.iter().map(|r| r.account.end).max().unwrap_or_default(),
        );
        let all = super::per_second(bytes, end.since(start));
        let times = with.iter().map(|report| millis(report.account.elapsed()));
        let (short, long) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
        let both = |value: u64| (scaled(to_f64(value), 1_024), scaled(to_f64(value), 1_000));
        let ((all, all_si), (low, low_si), (high, high_si)) = (both(all), both(low), both(high));
        let (io, io_si) = both(bytes);
        let name = one.name().to_uppercase();
        write!(out, "{name:>7}: bw={all}/s ({all_si}/s), {low}/s-{high}/s ")?;
        writeln!(out, "({low_si}/s-{high_si}/s), io={io} ({io_si}), run={short}-{long}msec")?;
    }
    Ok(())
}
