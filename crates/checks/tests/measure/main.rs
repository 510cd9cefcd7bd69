//! The agent in the guest of `oracles/`: devices whose latency the guest sets are measured, and predicted; and what must
//! not be written is refused. [`killed`]: what is left of a measurement that broke off; [`systems`]: ARM and MIPS.
//!
//! In `make test` the devices are those whose time is QEMU's instruction counter, and a sample of the refusals runs; with
//! `BOARDLAB_FULL` set all refusals, and disks that QEMU throttles in real time.
#![allow(clippy::unwrap_used, reason = "tests")]

mod killed;
mod systems;

use boardlab_checks::binary::{Boardlab, Scratch};
use boardlab_checks::guest::Guest;
use boardlab_checks::repository::Repository;
use boardlab_sim::Seed;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn full() -> bool {
    std::env::var_os("BOARDLAB_FULL").is_some()
}

/// Runs a script of `oracles/measure`, which leaves its measurements in `out`.
fn measure(guest: &Guest, script: &str, out: &Path) {
    let script = Repository::here().root().join("oracles/measure").join(script);
    let mut command = Command::new(&script);
    command.arg(guest.folder()).arg(Boardlab::built().path()).arg(out);
    let output = command.env("GUEST_SECONDS", "1800").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// The result of a measurement.
fn read(out: &Path, name: &str) -> Value {
    let file = out.join(format!("{name}.jsonl"));
    let arguments = ["measure", "read", file.to_str().unwrap(), "--format", "json"];
    serde_json::from_str(&Boardlab::built().stdout(&arguments)).unwrap()
}

/// The rows of a table.
fn rows<'r>(result: &'r Value, table: &str) -> Vec<&'r Value> {
    let tables = result["tables"].as_array().unwrap();
    let table = tables.iter().find(|one| one["id"] == table);
    table.map_or_else(Vec::new, |table| table["rows"].as_array().unwrap().iter().collect())
}

fn figure(row: &Value, column: &str) -> f64 {
    let cell = &row["cells"][column]["value"];
    cell.as_f64().unwrap_or_else(|| panic!("no {column} in {row}"))
}

/// Every prediction with the share by which it is off; none is missing.
fn off(result: &Value, name: &str, predictions: usize) -> Vec<(String, f64)> {
    let rows = rows(result, "predictions");
    assert_eq!(rows.len(), predictions, "{name}: {result}");
    let off = |row: &&Value| (format!("{name} {}", row["id"]), figure(row, "off_ratio"));
    rows.iter().map(off).collect()
}

/// What is asked of one command at a time, in the smallest units: its time is what was set.
const SINGLE: [&str; 6] = ["erase.", "program.", "read.", "write.", "read-random.", "read-oob."];

#[test]
fn what_the_guest_sets_is_measured_within_5_percent_and_predicted_within_10() {
    let Some(guest) = Guest::find() else { return };
    let out = Scratch::new();
    measure(guest, "guest.sh", out.path());
    for (name, predictions) in
        [("nandsim", 7), ("null_blk", 5), ("loop-null_blk", 5), ("scsi_debug", 5)]
    {
        let result = read(out.path(), name);
        for (row, off) in off(&result, name, predictions) {
            let limit = if SINGLE.iter().any(|single| row.contains(&format!("\"{single}"))) {
                0.05
            } else {
                0.10
            };
            assert!(off.abs() <= limit, "{row}: off by {off}");
        }
        let (base, delayed) = (read(out.path(), &format!("{name}-base")), rows(&result, "steps"));
        for (base, delayed) in rows(&base, "steps").into_iter().zip(delayed) {
            let single = SINGLE
                .iter()
                .any(|single| format!("{}.", base["id"].as_str().unwrap()) == **single);
            let times = figure(delayed, "mean_ns") / figure(base, "mean_ns");
            assert!(
                !single || times >= 50.0,
                "{name} {}: {times} times as long with delays",
                base["id"]
            );
        }
    }
    for (name, predictions) in [("mtdram-line", 6), ("cpu-line", 9)] {
        for (row, off) in off(&read(out.path(), name), name, predictions) {
            assert!(off.abs() <= 0.10, "{row}: off by {off}");
        }
    }
    for name in ["mtdram", "cpu", "loop"] {
        let steps = read(out.path(), name);
        assert!(
            rows(&steps, "steps").iter().all(|row| row["cells"]["state"]["value"] == "done"),
            "{steps}"
        );
    }
}

/// `boardlab run JOBS --on` refuses what the agent refuses; otherwise fio and the agent measure the same.
#[test]
fn fio_and_the_agent_measure_the_same_latency_of_the_same_device() {
    let Some(guest) = Guest::find() else { return };
    let out = Scratch::new();
    measure(guest, "fio.sh", out.path());
    let agent = read(out.path(), "agent");
    let fio = std::fs::read_to_string(out.path().join("fio.json")).unwrap();
    let fio: Value = serde_json::from_str(&fio).unwrap();
    let names = ["write.0.write", "read.1.read"];
    let jobs = rows(&fio, "fio");
    assert_eq!(jobs.iter().map(|row| &row["id"]).collect::<Vec<_>>(), names);
    for (job, step) in jobs.into_iter().zip(rows(&agent, "steps")) {
        let latencies = [job, step].map(|row| figure(row, "mean_ns"));
        for ns in latencies {
            assert!((4.75e6..5.25e6).contains(&ns), "{ns} ns where 5 ms were set:\n{job}\n{step}");
        }
    }
    assert_eq!(rows(&fio, "predictions").len(), 8, "{fio}");
    let attached: Vec<_> =
        fio["attachments"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(attached, ["fio.json", "pace_bw.1.log"]);
}

/// The round trip of docs/tasks/measure-a-board.md: a plan over ssh to a board with a slow card, and back.
#[test]
fn a_plan_runs_over_ssh_on_a_board_with_a_card_and_is_compared_with_the_prediction() {
    let Some(guest) = Guest::find() else { return };
    let out = Scratch::new();
    measure(guest, "ssh.sh", out.path());
    let result = read(out.path(), "card");
    let steps = rows(&result, "steps");
    assert_eq!(steps.len(), 5, "{result}");
    assert!(steps.iter().all(|row| row["cells"]["state"]["value"] == "done"), "{result}");
    for (row, off) in off(&result, "card", 5) {
        // In real time: a busy host makes a command longer, and lets the throttle make up for what it held back.
        let limits = if full() { -0.10..=0.10 } else { -0.30..=0.20 };
        assert!(limits.contains(&off), "{row}: off by {off}");
    }
}

/// Steps of which the CPU takes a part that the model does not know: it charges for zeros what compressing other data
/// takes, and zstd takes a fifth of that for them.
const ZEROS: [(&str, f64); 2] =
    [("ubifs.zero.sequential_write.", 0.50), ("ubifs.zero.random_write.", 0.15)];

#[test]
fn filesystems_of_linux_take_what_the_same_steps_take_on_the_model() {
    if !full() {
        return;
    }
    let Some(guest) = Guest::find() else { return };
    let out = Scratch::new();
    measure(guest, "filesystems.sh", out.path());
    for (row, off) in off(&read(out.path(), "filesystems"), "filesystems", 30) {
        let zeros = ZEROS.iter().find(|(step, _)| row.contains(step));
        assert!(off.abs() <= zeros.map_or(0.08, |(_, limit)| *limit), "{row}: off by {off}");
    }
}

#[test]
fn disks_that_qemu_throttles_are_predicted_within_10_percent() {
    if !full() {
        return;
    }
    let Some(guest) = Guest::find() else { return };
    let out = Scratch::new();
    measure(guest, "throttle.sh", out.path());
    for (name, predictions) in [("virtio", 5), ("ahci", 5), ("sata", 3), ("sd", 5)] {
        for (row, off) in off(&read(out.path(), name), name, predictions) {
            assert!(off.abs() <= 0.10, "{row}: off by {off}");
        }
    }
}

/// A sample of the families of cases in `agent/tests/safety.sh`, which says what each is.
#[test]
fn what_must_not_be_written_is_refused_and_stays_as_it_is() {
    const ALWAYS: [&str; 6] =
        ["not_named", "mounted_writable", "partitions", "swap", "changed_to_link", "flash_cases"];
    const SOMETIMES: [&str; 10] = [
        "another_name",
        "mounted_read_only",
        "mounted_as_other",
        "md_member",
        "looped",
        "wrong_kinds",
        "read_only",
        "wear",
        "mounted_later",
        "removed",
    ];
    let Some(guest) = Guest::find() else { return };
    let mut stream = Seed::new(20).stream("refusals");
    let drawn = SOMETIMES.iter().filter(|_| stream.chance(1, 3));
    let cases: Vec<&str> = ALWAYS.iter().chain(drawn).copied().collect();
    let script = Repository::here().root().join("agent/tests/safety-guest.sh");
    let mut command = Command::new(script);
    command.arg(guest.folder()).env("GUEST_SECONDS", "1800");
    if !full() {
        command.env("CASES", cases.join(" "));
    }
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    let passed = told.lines().filter(|line| line.trim_start().starts_with("ok ")).count();
    assert!(passed >= if full() { 80 } else { 12 }, "only {passed} cases:\n{told}");
}
