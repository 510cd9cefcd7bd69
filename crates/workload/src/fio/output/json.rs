//! fio's JSON, with the fields of fio 3.33 in its order.
//!
//! Layer: rank 6. Main type: [`Json`], a value whose objects keep their order.

use crate::fio::account::{Account, Spread, Totals, to_f64};
use crate::fio::engine::{Report, Run};
use crate::fio::job::JobFile;
use crate::fio::output::{
    VERSION, bandwidth, description, millis, percentile, rate, requests, share,
};
use crate::fio::settings::{Direction, Reporting};
use boardlab_sim::{Duration, Phase};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A value of JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// A whole number.
    Whole(u64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<Self>),
    /// Names with values, in order.
    Object(Vec<(String, Self)>),
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole(value) => serializer.serialize_u64(*value),
            Self::Real(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(values) => values.serialize(serializer),
            Self::Object(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (name, value) in entries {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

fn object<const N: usize>(entries: [(&str, Json); N]) -> Json {
    Json::Object(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn text(words: &str) -> Json {
    Json::Text(words.to_owned())
}

/// The whole output: `fio version`, `global options`, `jobs`, `disk_util`.
#[must_use]
pub fn json(file: &JobFile, run: &Run) -> Json {
    let jobs = run.reports.iter().map(|report| job(file, report)).collect();
    let mut entries = vec![
        ("fio version".to_owned(), text(VERSION)),
        ("timestamp".to_owned(), Json::Whole(0)),
        ("timestamp_ms".to_owned(), Json::Whole(millis(run.ended.since(run.started)))),
        ("time".to_owned(), text("virtual")),
    ];
    if !file.globals.is_empty() {
        entries.push(("global options".to_owned(), options(&file.globals)));
    }
    entries.push(("jobs".to_owned(), Json::List(jobs)));
    entries.push(("disk_util".to_owned(), Json::List(Vec::new())));
    Json::Object(entries)
}

/// The text of the output, indented.
///
/// # Panics
/// Never: numbers and texts can always be written.
#[must_use]
pub fn to_text(value: &Json) -> String {
    serde_json::to_string_pretty(value).expect("numbers and texts can be written")
}

/// Options as written. Those without a value are left out, as fio 3.33 does with options of a job file.
fn options(list: &[(&'static str, Option<String>)]) -> Json {
    let entry = |(name, value): &(&'static str, Option<String>)| {
        Some(((*name).to_owned(), text(value.as_deref()?)))
    };
    Json::Object(list.iter().filter_map(entry).collect())
}

fn job(file: &JobFile, report: &Report) -> Json {
    let account = &report.account;
    let job = &file.jobs[report.job];
    let reporting = &job.settings.reporting;
    let time = account.elapsed();
    // As of jobs on fio's command line; of those in a file fio leaves the name out.
    let mut job_options = vec![("name", Some(report.name.clone()))];
    job_options.extend(job.options.iter().filter(|(name, _)| *name != "name").cloned());
    let mut entries = vec![
        ("jobname", text(&report.name)),
        ("groupid", Json::Whole(u64::try_from(report.group).expect("u64 holds usize"))),
        ("error", Json::Whole(0)),
        ("eta", Json::Whole(0)),
        ("elapsed", Json::Whole(time.as_nanos().div_ceil(1_000_000_000))),
        ("job options", options(&job_options)),
    ];
    let whole: f64 = account.totals.iter().map(|totals| totals.bandwidth().mean()).sum();
    for one in Direction::ALL {
        let totals = &account.totals[one as usize];
        entries.push((one.name(), direction(totals, account, reporting, whole)));
    }
    let sync = object([
        ("total_ios", Json::Whole(account.syncs.count())),
        ("lat_ns", spread(&account.sync_spread, percentiles_of(&account.syncs, reporting))),
    ]);
    entries.push(("sync", sync));
    entries.push(("job_runtime", Json::Whole(millis(time) * report.copies)));
    entries.extend(["usr_cpu", "sys_cpu"].map(|name| (name, Json::Real(0.0))));
    entries.extend(["ctx", "majf", "minf"].map(|name| (name, Json::Whole(0))));
    entries.extend(distributions(account));
    entries.extend([
        ("latency_depth", Json::Whole(job.settings.submission.depth)),
        ("latency_target", Json::Whole(0)),
        ("latency_percentile", Json::Real(100.0)),
        ("latency_window", Json::Whole(0)),
    ]);
    entries.extend(description(job).map(|words| ("desc", text(words))));
    Json::Object(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Depths and latencies in percent.
fn distributions(account: &Account) -> Vec<(&'static str, Json)> {
    const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
    const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
    const STEPS: [&str; 12] =
        ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];
    let all = requests(account);
    let list = |names: &[&str], counts: &[u64]| {
        let entry =
            |(name, count): (&&str, &u64)| ((*name).to_owned(), Json::Real(share(*count, all)));
        Json::Object(names.iter().zip(counts).map(entry).collect())
    };
    let batches = [0, all, 0, 0, 0, 0, 0];
    let latencies = &account.latencies;
    vec![
        ("iodepth_level", list(&DEPTHS, &account.depths)),
        ("iodepth_submit", list(&BATCHES, &batches)),
        ("iodepth_complete", list(&BATCHES, &batches)),
        ("latency_ns", list(&STEPS[..10], &latencies[..10])),
        ("latency_us", list(&STEPS[..10], &latencies[10..20])),
        ("latency_ms", list(&STEPS, &latencies[20..])),
    ]
}

fn percentiles_of(phase: &Phase, reporting: &Reporting) -> Option<Json> {
    if phase.count() == 0 {
        return None;
    }
    let entry = |percent: &f64| (format!("{percent:.6}"), Json::Whole(percentile(phase, *percent)));
    Some(Json::Object(reporting.percentiles.iter().map(entry).collect()))
}

/// Smallest, largest, mean, deviation and number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole nanoseconds")]
fn spread(spread: &Spread, percentiles: Option<Json>) -> Json {
    let mut entries = vec![
        ("min".to_owned(), Json::Whole(spread.min as u64)),
        ("max".to_owned(), Json::Whole(spread.max as u64)),
        ("mean".to_owned(), Json::Real(spread.mean())),
        ("stddev".to_owned(), Json::Real(spread.deviation())),
        ("N".to_owned(), Json::Whole(spread.count)),
    ];
    entries.extend(percentiles.map(|percentiles| ("percentile".to_owned(), percentiles)));
    Json::Object(entries)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole figures of fio")]
fn direction(totals: &Totals, account: &Account, reporting: &Reporting, whole: f64) -> Json {
    let time = if totals.requests == 0 { Duration::ZERO } else { account.elapsed() };
    let submit = to_f64(account.submission.as_nanos());
    let fixed = Spread::constant(totals.requests, if totals.requests == 0 { 0.0 } else { submit });
    let (bytes, windows, rates) = (bandwidth(totals, time), totals.bandwidth(), totals.rate());
    let kib = |bytes: f64| bytes / 1_024.0;
    let part = if whole > 0.0 { windows.mean() * 100.0 / whole } else { 0.0 };
    let of = |wanted: bool| percentiles_of(&totals.completion, reporting).filter(|_| wanted);
    object([
        ("io_bytes", Json::Whole(totals.bytes)),
        ("io_kbytes", Json::Whole(totals.bytes / 1_024)),
        ("bw_bytes", Json::Whole(bytes)),
        ("bw", Json::Whole(bytes / 1_024)),
        ("iops", Json::Real(rate(totals, time))),
        ("runtime", Json::Whole(millis(time))),
        ("total_ios", Json::Whole(totals.requests)),
        ("short_ios", Json::Whole(0)),
        ("drop_ios", Json::Whole(0)),
        ("slat_ns", spread(&fixed, None)),
        ("clat_ns", spread(&totals.spread, of(reporting.clat_percentiles))),
        ("lat_ns", spread(&totals.spread.shifted(submit), of(reporting.lat_percentiles))),
        ("bw_min", Json::Whole(kib(windows.min) as u64)),
        ("bw_max", Json::Whole(kib(windows.max) as u64)),
        ("bw_agg", Json::Real(part)),
        ("bw_mean", Json::Real(kib(windows.mean()))),
        ("bw_dev", Json::Real(kib(windows.deviation()))),
        ("bw_samples", Json::Whole(windows.count)),
        ("iops_min", Json::Whole(rates.min as u64)),
        ("iops_max", Json::Whole(rates.max as u64)),
        ("iops_mean", Json::Real(rates.mean())),
        ("iops_stddev", Json::Real(rates.deviation())),
        ("iops_samples", Json::Whole(rates.count)),
    ])
}
