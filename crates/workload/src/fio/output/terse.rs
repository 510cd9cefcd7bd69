//! fio's terse output, version 3: 130 fields with semicolons between, and a last one for a
//! description; a line for each report.
//!
//! Layer: rank 6. The fields are those of a run of fio 3.33 with `--minimal`: 5 of the job, 41 of
//! reads, 41 of writes, 5 of the CPU, 7 of depths, 22 of latencies, 9 of the disk. Trims have no
//! fields in version 3.

use crate::fio::account::{Spread, Totals, to_f64};
use crate::fio::engine::{Report, Run};
use crate::fio::job::JobFile;
use crate::fio::output::{
    VERSION, bandwidth, description, millis, percentile, rate, requests, share,
};
use boardlab_sim::Duration;
use std::fmt::Write;

/// Percentiles that have a field; unused fields read `0%=0`.
const PERCENTILES: usize = 20;

/// The lines of all reports.
#[must_use]
pub fn terse(file: &JobFile, run: &Run) -> String {
    run.reports.iter().map(|report| line(file, report) + "\n").collect()
}

fn line(file: &JobFile, report: &Report) -> String {
    let account = &report.account;
    let job = &file.jobs[report.job];
    let settings = &job.settings;
    let percentiles: &[f64] =
        if settings.reporting.clat_percentiles { &settings.reporting.percentiles } else { &[] };
    let time = account.elapsed();
    let submission = account.submission;
    let all = requests(account);
    let mut fields = vec![
        "3".to_owned(),
        VERSION.to_owned(),
        report.name.clone(),
        report.group.to_string(),
        "0".to_owned(),
    ];
    let whole: f64 = account.totals[..2].iter().map(|totals| totals.bandwidth().mean()).sum();
    for totals in &account.totals[..2] {
        direction(&mut fields, totals, time, submission, percentiles, whole);
    }
    fields.extend(["0.000000%", "0.000000%", "0", "0", "0"].map(str::to_owned));
    fields.extend(account.depths.iter().map(|count| format!("{:.1}%", share(*count, all))));
    let below: u64 = account.latencies[..10].iter().sum();
    let classes = &account.latencies[10..];
    // Version 3 has no classes below 2 us: what is below a microsecond falls into the first.
    let counts = classes.iter().enumerate().map(
        |(index, count)| {
            if index == 0 { count + below } else { *count }
        },
    );
    fields.extend(counts.map(|count| format!("{:.2}%", share(count, all))));
    fields.push("sim".to_owned());
    let ios = [account.totals[0].requests, account.totals[1].requests, 0, 0, 0, 0, 0];
    fields.extend(ios.map(|count| count.to_string()));
    fields.push("0.00%".to_owned());
    fields.extend(description(job).map(str::to_owned));
    fields.join(";")
}

fn direction(
    fields: &mut Vec<String>,
    totals: &Totals,
    time: Duration,
    submission: Duration,
    percentiles: &[f64],
    whole: f64,
) {
    let kib = |bytes: u64| bytes / 1_024;
    let runtime = if totals.requests == 0 { 0 } else { millis(time) };
    let iops = rate(totals, time);
    fields.push(kib(totals.bytes).to_string());
    fields.push(kib(bandwidth(totals, time)).to_string());
    fields.push(format!("{}", iops.floor()));
    fields.push(runtime.to_string());
    let submit = to_f64(submission.as_nanos());
    let fixed = if totals.requests == 0 { 0.0 } else { submit };
    latency(fields, &Spread::constant(totals.requests, fixed), 1_000.0);
    latency(fields, &totals.spread, 1_000.0);
    for index in 0..PERCENTILES {
        let mut field = "0%=0".to_owned();
        if let Some(percent) = percentiles.get(index) {
            let micros = percentile(&totals.completion, *percent) / 1_000;
            field.clear();
            write!(field, "{percent:.6}%={micros}").expect("a string takes all");
        }
        fields.push(field);
    }
    latency(fields, &totals.spread.shifted(submit), 1_000.0);
    let windows = totals.bandwidth();
    let kib = |bytes: f64| bytes / 1_024.0;
    let part = if whole > 0.0 { windows.mean() * 100.0 / whole } else { 0.0 };
    fields.push(format!("{}", kib(windows.min).floor()));
    fields.push(format!("{}", kib(windows.max).floor()));
    fields.push(format!("{part:.6}%"));
    fields.push(format!("{:.6}", kib(windows.mean())));
    fields.push(format!("{:.6}", kib(windows.deviation())));
}

/// Smallest, largest, mean and deviation, in microseconds.
fn latency(fields: &mut Vec<String>, spread: &Spread, unit: f64) {
    fields.push(format!("{}", (spread.min / unit).floor()));
    fields.push(format!("{}", (spread.max / unit).floor()));
    fields.push(format!("{:.6}", spread.mean() / unit));
    fields.push(format!("{:.6}", spread.deviation() / unit));
}
