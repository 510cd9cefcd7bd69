//! The outputs of jobs beside those of fio itself: the same fields in the same order, and our figures.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests")]

use boardlab_block::{Costs, Geometry, RamBlock};
use boardlab_sim::{Bytes, Clock, Duration};
use boardlab_workload::fio::account::Log;
use boardlab_workload::fio::output::{human, json, log, table, terse};
use boardlab_workload::fio::{Host, JobFile, Run, parse_arguments, run};
use std::process::{Command, Stdio};

const MIX: &str = "--name=j --filename=/dev/x --direct=1 --size=8m --rw=randrw --fsync=16";

fn ran(options: &str) -> (JobFile, Run) {
    let words: Vec<_> = options.split(' ').map(str::to_owned).collect();
    let file = parse_arguments(&words).unwrap_or_else(|wrong| panic!("{wrong}"));
    let each = Duration::from_millis(1);
    let costs = Costs { read: each / 2, write: each, flush: each * 2, ..Costs::default() };
    let mut device = RamBlock::new(Geometry::of_size(Bytes::mib(16))).with_costs(costs);
    let host = Host { submit: Duration::from_micros(3), ..Host::default() };
    let run = run(&mut device, &mut Clock::new(), &file, &host).unwrap();
    (file, run)
}

/// What fio prints about a file of 8 MiB, or nothing without fio.
fn fio(format: &str) -> Option<String> {
    let folder =
        std::env::temp_dir().join(format!("boardlab-fio-out-{format}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let output = Command::new("fio")
        .args(["--name=j", "--size=8m", "--rw=randrw", "--fsync=16", "--eta=never"])
        .arg(format!("--output-format={format}"))
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output();
    std::fs::remove_dir_all(&folder).unwrap();
    let text = output.ok().filter(|output| output.status.success());
    if text.is_none() {
        eprintln!("skipped: needs fio");
    }
    text.map(|output| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_terse_line_has_the_fields_of_version_3() {
    let (file, run) = ran(MIX);
    let text = terse::terse(&file, &run);
    let fields: Vec<_> = text.trim_end().split(';').collect();
    assert_eq!(fields.len(), 130);
    let writes = &run.reports[0].account.totals[1];
    let seconds = run.reports[0].account.elapsed().as_secs_f64();
    assert_eq!(fields[..5], ["3", concat!("boardlab-", env!("CARGO_PKG_VERSION")), "j", "0", "0"]);
    assert_eq!(fields[46], (writes.bytes >> 10).to_string());
    let bandwidth: f64 = fields[47].parse().unwrap();
    #[allow(clippy::cast_precision_loss, reason = "a check to a per cent")]
    let expected = (writes.bytes >> 10) as f64 / seconds;
    assert!((bandwidth / expected - 1.0).abs() < 0.01, "{bandwidth} {expected}");
    assert_eq!(fields[54..56], ["1000", "1000"]); // completion, the shortest and the longest
    assert_eq!(fields[64], "50.000000%=1000");
    assert_eq!(fields[78..80], ["1003", "1003"]);
    let Some(theirs) = fio("terse") else { return };
    let theirs: Vec<_> = theirs.trim_end().split(';').collect();
    assert_eq!(theirs.len(), fields.len());
    // The same kind of field at each place: percent, percentile, decimals, whole.
    let kind = |field: &str| {
        let decimals = field.trim_end_matches('%').split_once('.').map(|(_, after)| after.len());
        (field.ends_with('%'), field.contains("%="), decimals.filter(|_| !field.contains('=')))
    };
    for (index, (ours, theirs)) in fields.iter().zip(&theirs).enumerate().skip(4) {
        let same = kind(ours) == kind(theirs) || ours.contains("%=") && theirs.contains("%=");
        assert!(same, "field {}: {ours} and {theirs}", index + 1);
    }
}

/// All names in a value, as paths.
fn paths(value: &serde_json::Value, path: &str, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(entries) => {
            for (name, value) in entries {
                let path = format!("{path}/{name}");
                found.push(path.clone());
                paths(value, &path, found);
            }
        }
        serde_json::Value::Array(values) => {
            if let Some(first) = values.first() {
                paths(first, path, found);
            }
        }
        _ => {}
    }
}

#[test]
fn the_json_has_the_fields_of_fio() {
    let (file, run) = ran(MIX);
    let text = json::to_text(&json::json(&file, &run));
    let ours: serde_json::Value = serde_json::from_str(&text).unwrap();
    let job = &ours["jobs"][0];
    assert_eq!(job["write"]["clat_ns"]["min"], 1_000_000);
    assert_eq!(job["write"]["lat_ns"]["max"], 1_003_000);
    assert_eq!(job["write"]["clat_ns"]["percentile"]["99.000000"], 1_000_000);
    assert_eq!(job["read"]["slat_ns"]["mean"], 3_000.0);
    assert!(job["sync"]["total_ios"].as_u64().unwrap() > 10);
    let Some(theirs) = fio("json") else { return };
    let theirs: serde_json::Value = serde_json::from_str(&theirs).unwrap();
    let names = |value: &serde_json::Value| {
        let mut found = Vec::new();
        paths(value, "", &mut found);
        found.retain(|path| !path.starts_with("/disk_util/") && !path.contains("/job options/"));
        found.sort();
        found
    };
    let (ours, theirs) = (names(&ours), names(&theirs));
    let missing: Vec<_> = theirs.iter().filter(|path| !ours.contains(path)).collect();
    let more: Vec<_> = ours.iter().filter(|path| !theirs.contains(path)).collect();
    assert!(missing.is_empty() && more.is_empty(), "missing {missing:?}, more {more:?}");
}

#[test]
fn the_text_for_people_has_the_lines_of_fio() {
    let (file, run) = ran(MIX);
    let text = human::human(&file, &run);
    for line in [
        "j: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1",
        "    clat (usec): min=1000, max=1000, avg=1000.00, stdev=0.00",
        "     |  1.00th=[ 1000],  5.00th=[ 1000], 10.00th=[ 1000], 20.00th=[ 1000],",
        "     | 99.99th=[ 1000]",
        "  IO depths    : 1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%",
        "Run status group 0 (all jobs):",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let Some(theirs) = fio("normal") else { return };
    // Each line of fio begins as one of ours, but for those of the kernel and of its own process.
    let begin =
        |line: &str| line.split([':', '(', '=']).next().unwrap_or_default().trim().to_owned();
    let ours: Vec<_> = text.lines().map(begin).collect();
    for line in theirs.lines() {
        let own = [
            "fio-",
            "Starting",
            "cpu",
            "submit",
            "complete",
            "Disk stats",
            "...",
            "j: Laying",
            "lat ",
        ];
        let trimmed = line.trim();
        let ignored = own.iter().any(|own| trimmed.starts_with(own)) || line.contains("ios=");
        let wide = ["bw", "iops", "|"].iter().any(|own| trimmed.starts_with(own));
        assert!(ignored || wide || ours.contains(&begin(line)), "{line}\n{text}");
    }
}

#[test]
fn logs_and_tables_hold_what_was_done() {
    let options = format!("{MIX} --write_lat_log=x --write_bw_log=x --log_offset=1");
    let (_, run) = ran(&options);
    let report = &run.reports[0];
    let lines = log::text(report, Log::Latency);
    assert_eq!(lines.lines().count(), 2_048);
    let first: Vec<u64> =
        lines.lines().next().unwrap().split(", ").map(|n| n.parse().unwrap()).collect();
    assert!(first[1] == 1_000_000 && first[2] == 1 || first[1] == 500_000 && first[2] == 0);
    assert_eq!(first[3], 4_096);
    assert!(log::text(report, Log::Rate).is_empty());
    let table = table::table("fio", "a job", &run);
    let bytes = table.cell("j.0.write", "moved_bytes").unwrap().value.as_f64();
    let reads = table.cell("j.0.read", "moved_bytes").unwrap().value.as_f64();
    assert_eq!(bytes.unwrap() + reads.unwrap(), 8_388_608.0);
    let averaged = ran(&format!("{MIX} --write_iops_log=x --log_avg_msec=100")).1;
    let lines = log::text(&averaged.reports[0], Log::Rate);
    assert!((10..60).contains(&lines.lines().count()), "{lines}");
}
