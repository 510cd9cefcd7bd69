//! Sweeps: killed, torn, failed, on any number of threads.

use crate::bench::{Outcome, Scratch, full, run_in, spawn};
use boardlab_sim::Seed;
use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// A part that is programmed a word at a time: the fastest scenario there is.
const QUICK: [&str; 6] =
    ["sweep", "nor-write", "--set", "part=sst-8mib-top", "--set", "workload.bytes=256 B"];

fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&QUICK[..], more].concat()
}

fn sweep(folder: &Path, more: &[&str]) -> Outcome {
    run_in(folder, &arguments(more))
}

/// Every file of the folder `out` but the journal, with its bytes.
fn files(scratch: &Scratch, out: &str) -> Vec<(String, Vec<u8>)> {
    let names = scratch.names(out).into_iter().filter(|name| name != "sweep.journal");
    let read = |name: String| {
        let bytes = fs::read(scratch.path().join(out).join(&name)).unwrap();
        (name, bytes)
    };
    names.map(read).collect()
}

#[track_caller]
fn assert_same(scratch: &Scratch, expected: &str, found: &str) {
    let (expected, found) = (files(scratch, expected), files(scratch, found));
    let names = |files: &[(String, Vec<u8>)]| {
        files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&expected), names(&found));
    for ((name, expected), (_, found)) in expected.iter().zip(&found) {
        assert!(expected == found, "{name} differs");
    }
}

/// Points that the journal in `out` has.
fn recorded(scratch: &Scratch, out: &str) -> usize {
    let text = fs::read(scratch.path().join(out).join("sweep.journal")).unwrap_or_default();
    text.iter().filter(|byte| **byte == b'\n').count().saturating_sub(1)
}

#[test]
fn a_sweep_killed_twenty_times_ends_with_the_same_bytes() {
    const SEED: u64 = 20_260_704;
    const GRID: [&str; 4] = ["--grid", "linux.wait=1us,5us", "--grid", "seed=1..8"];
    let scratch = Scratch::new();
    let start = Instant::now();
    sweep(scratch.path(), &[&GRID[..], &["--out", "whole", "--quiet"]].concat()).success();
    let whole = u64::try_from(start.elapsed().as_millis()).unwrap();
    let mut instants = Seed::new(SEED).stream("kills");
    let (mut kills, mut midway) = (0, 0);
    for attempt in 0..400 {
        if kills == 20 {
            break;
        }
        let threads = ["1", "2", "5"][attempt % 3];
        let more = [&GRID[..], &["--out", "killed", "--threads", threads]].concat();
        let mut child = spawn(scratch.path(), &arguments(&more));
        // Every fourth is killed behind its first new points, as soon as they are there, however busy the host is.
        if attempt % 4 == 0 {
            let before = recorded(&scratch, "killed");
            while recorded(&scratch, "killed") == before && child.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_millis(1));
            }
        } else {
            thread::sleep(Duration::from_millis(instants.below((whole / 6).max(1))));
        }
        // SIGKILL on Unix.
        child.kill().unwrap();
        kills += usize::from(child.wait().unwrap().code().is_none());
        midway += usize::from((1..16).contains(&recorded(&scratch, "killed")));
    }
    assert_eq!(kills, 20, "seed {SEED}");
    assert!(midway > 0, "seed {SEED}: no kill between the first and the last point");
    sweep(scratch.path(), &[&GRID[..], &["--out", "killed"]].concat()).success();
    assert_same(&scratch, "whole", "killed");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let scratch = Scratch::new();
    let mut printed = Vec::new();
    for threads in ["1", "2", "5"] {
        let more = ["--grid", "seed=3,1", "--grid", "linux.wait=1us,5us", "--format", "json"];
        let more = [&more[..], &["--threads", threads, "--out", threads]].concat();
        printed.push(sweep(scratch.path(), &more).success());
    }
    assert!(printed[0] == printed[1] && printed[1] == printed[2]);
    assert_same(&scratch, "1", "2");
    assert_same(&scratch, "1", "5");
    let json: serde_json::Value = serde_json::from_str(&printed[0]).unwrap();
    assert_eq!(json.get("wall_time_ns"), None);
    let rows = json["tables"][0]["rows"].as_array().unwrap();
    let seeds: Vec<_> = rows.iter().map(|row| &row["cells"]["seed"]["value"]).collect();
    assert_eq!(seeds, [3, 3, 1, 1], "in the order of the grid");
    // Without a folder nothing is written, and the result is the same.
    let more = ["--grid", "seed=3,1", "--grid", "linux.wait=1us,5us", "--format", "json"];
    assert_eq!(sweep(scratch.path(), &more).success(), printed[0]);
    assert_eq!(scratch.names(""), ["1", "2", "5"]);
    assert!(printed[0].contains("--out DIR writes all to points.csv"), "{}", printed[0]);
    let columns = json["tables"][0]["columns"].as_array().unwrap();
    for column in columns {
        assert_eq!(column["title"], column["id"], "a heading can be given to --cell");
    }
}

#[test]
fn a_point_is_what_a_run_is() {
    let scratch = Scratch::new();
    let more = ["--grid", "linux.wait=5us", "--grid", "seed=7", "--cell", "table5/total/total_ns"];
    let swept = sweep(scratch.path(), &[&more[..], &["--format", "json"]].concat()).json();
    let set = ["run", "nor-write", "--set", "part=sst-8mib-top", "--set", "workload.bytes=256 B"];
    let set = [&set[..], &["--set", "linux.wait=5us", "--seed", "7", "--format", "json"]].concat();
    let run = run_in(scratch.path(), &set);
    let run: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let tables = run["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["id"] == "table5").unwrap();
    let total = table["rows"].as_array().unwrap().iter().find(|row| row["id"] == "total").unwrap();
    let cells = &swept["tables"][0]["rows"][0]["cells"];
    assert_eq!(cells["table5/total/total_ns"]["value"], total["cells"]["total_ns"]["value"]);
    assert_eq!(swept["virtual_time_ns"], run["virtual_time_ns"]);
}

#[test]
fn a_point_that_fails_is_told_and_the_others_are_run() {
    let scratch = Scratch::new();
    // At 9500 us the part is slower than what it says of itself, so the driver gives up.
    let slow = "part.timing.buffer_program=200 us,9500 us,210 us";
    let arguments = [
        ["sweep", "nor-write"],
        ["--set", "workload.bytes=1KiB"],
        ["--set", "part.timing.buffer_program_max=10 ms"],
        ["--grid", slow],
        ["--out", "out"],
        ["--format", "json"],
    ];
    for again in [false, true] {
        let outcome = run_in(scratch.path(), &arguments.concat());
        assert_eq!(outcome.status, 1, "{}", outcome.stderr);
        let told = outcome.stderr.contains("3 of 3 points were done already");
        assert_eq!(told, again, "{}", outcome.stderr);
        let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        let rows = json["tables"][0]["rows"].as_array().unwrap();
        let failed: Vec<_> = rows.iter().map(|row| row["cells"].get("failure").is_some()).collect();
        assert_eq!(failed, [false, true, false]);
        let message = rows[1]["cells"]["failure"]["value"].as_str().unwrap();
        assert!(message.starts_with("u-boot 2013.04: write at offset 0x0"), "{message}");
        assert_eq!(json["warnings"][0], "1 of 3 points failed; its message is in the table.");
    }
    assert!(scratch.read("out/points.csv").lines().nth(2).unwrap().contains("u-boot 2013.04"));
}

#[test]
fn a_torn_last_line_is_run_again() {
    let scratch = Scratch::new();
    let more = ["--grid", "seed=1,2", "--threads", "1", "--out", "out"];
    sweep(scratch.path(), &more).success();
    let whole = fs::read(scratch.path().join("out/sweep.journal")).unwrap();
    let expected = files(&scratch, "out");
    for torn in [1, 2, 700] {
        let journal = scratch.path().join("out/sweep.journal");
        fs::write(&journal, &whole[..whole.len() - torn]).unwrap();
        let outcome = sweep(scratch.path(), &more);
        assert!(outcome.stderr.contains("1 of 2 points were done"), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("line 3 of `out/sweep.journal` is not whole, as after a kill"),
            "{}",
            outcome.stderr
        );
        assert!(files(&scratch, "out") == expected && fs::read(&journal).unwrap() == whole);
    }
}

#[test]
fn the_journal_of_another_sweep_is_refused_and_restarted_on_demand() {
    let scratch = Scratch::new();
    sweep(scratch.path(), &["--grid", "seed=1,2", "--out", "out"]).success();
    let before = scratch.read("out/sweep.journal");
    for (more, says) in [
        (&["--grid", "seed=1,3"][..], "the grid was `seed=1,2` and is `seed=1,3` now"),
        (&["--grid", "linux.wait=1us"], "the grid was `seed=1,2` and is `linux.wait=1us` now"),
        (
            &["--grid", "seed=1,2", "--set", "linux.poll_gap=2 us"],
            "`linux.poll_gap` was `1 us` and is `2 us` now",
        ),
    ] {
        let outcome = sweep(scratch.path(), &[more, &["--out", "out"]].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""));
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("--restart"), "{}", outcome.stderr);
        assert_eq!(scratch.read("out/sweep.journal"), before);
    }
    let more = ["--grid", "seed=1,3", "--out", "out", "--restart"];
    let outcome = sweep(scratch.path(), &more);
    assert!(!outcome.stderr.contains("done already"), "{}", outcome.stderr);
    assert!(outcome.success().contains("seed=3"));
}

#[test]
fn other_cells_of_a_finished_sweep_cost_no_run() {
    let scratch = Scratch::new();
    let grid = ["--grid", "seed=1,2", "--out", "out"];
    sweep(scratch.path(), &grid).success();
    let journal = scratch.read("out/sweep.journal");
    let cell = ["--cell", "table4/total/total", "--format", "csv"];
    let csv = sweep(scratch.path(), &[&grid[..], &cell].concat()).success();
    assert!(csv.contains("nor-write,sweep,1,table4/total/total_ns,"), "{csv}");
    assert!(!csv.contains("table5"), "{csv}");
    let outcome = sweep(scratch.path(), &[&grid[..], &["--cell", "table4/total/totl_ns"]].concat());
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("did you mean `table4/total/total_ns`?"), "{}", outcome.stderr);
    assert_eq!(scratch.read("out/sweep.journal"), journal);
}

#[test]
fn a_folder_that_another_sweep_writes_is_refused() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path().join("out")).unwrap();
    let journal = File::create(scratch.path().join("out/sweep.journal")).unwrap();
    journal.lock().unwrap();
    let outcome = sweep(scratch.path(), &["--grid", "seed=1,2", "--out", "out"]);
    assert_eq!(outcome.status, 2);
    let refused = format!("is writing `out/sweep.journal`: process {} (`", std::process::id());
    assert!(outcome.stderr.contains(&refused), "{}", outcome.stderr);
    drop(journal);
    sweep(scratch.path(), &["--grid", "seed=1,2", "--out", "out"]).success();
}

#[test]
fn what_is_no_journal_or_cannot_be_verified_is_refused() {
    let scratch = Scratch::new();
    sweep(scratch.path(), &["--grid", "seed=1,2", "--out", "out"]).success();
    let journal = scratch.path().join("out/sweep.journal");
    let refused = |says: &str| {
        let before = fs::read(&journal).unwrap();
        let outcome = sweep(scratch.path(), &["--grid", "seed=1,2", "--out", "out"]);
        assert_eq!(outcome.status, 2);
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("--restart"), "{}", outcome.stderr);
        assert!(fs::read(&journal).unwrap() == before, "it stays as it was");
    };
    let whole = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, whole.replacen("nor-write", "nor-wrlte", 1)).unwrap();
    refused(
        "line 1 of `out/sweep.journal`, which says what sweep it is of, is damaged: its checksum",
    );
    fs::write(&journal, whole.replace('\n', "\r\n")).unwrap();
    refused("it ends in CR LF");
    fs::write(&journal, whole.replace('\n', "")).unwrap();
    refused("the file ends before it does");
    fs::write(&journal, "{\"journal\":\"boardlab sweep\",\"version\":\"0.1.0\"}\n").unwrap();
    refused("`out/sweep.journal` has no checksums: an earlier boardlab wrote it");
    fs::write(&journal, "my notes").unwrap();
    refused("is not the journal of a sweep");
    fs::write(&journal, "my notes\n").unwrap();
    refused("is not the journal of a sweep");
}

/// Damages the journal in `out` and makes the sweep again: what it tells on standard error, after
/// asserting that the other files are those of `whole`.
#[track_caller]
fn mended(scratch: &Scratch, more: &[&str], journal: &[u8]) -> String {
    let path = scratch.path().join("out/sweep.journal");
    fs::write(&path, journal).unwrap();
    let outcome = sweep(scratch.path(), more);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert_same(scratch, "whole", "out");
    // The next time there is nothing to tell.
    let again = sweep(scratch.path(), more);
    assert_eq!(again.status, 0, "{}", again.stderr);
    assert!(!again.stderr.contains("warning"), "{}", again.stderr);
    assert!(again.stderr.contains("3 of 3 points were done"), "{}", again.stderr);
    outcome.stderr
}

#[test]
fn a_damaged_line_is_named_and_its_point_is_run_again() {
    let scratch = Scratch::new();
    let grid = ["--grid", "seed=1,2,3", "--threads", "1"];
    sweep(scratch.path(), &[&grid[..], &["--out", "whole"]].concat()).success();
    let more = [&grid[..], &["--out", "out"]].concat();
    sweep(scratch.path(), &more).success();
    let whole = fs::read_to_string(scratch.path().join("out/sweep.journal")).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    // Every tenth digit of the second point, each made another one.
    let digits = lines[2].bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit());
    let digits: Vec<usize> = digits.map(|(at, _)| at).collect();
    let step = if full() { 1 } else { digits.len() / 10 };
    for at in digits.iter().step_by(step) {
        let mut damaged = whole.clone().into_bytes();
        let at = lines[0].len() + lines[1].len() + 2 + at;
        damaged[at] = b'0' + (damaged[at] - b'0' + 1) % 10;
        let told = mended(&scratch, &more, &damaged);
        assert!(told.contains("warning: line 3 of `out/sweep.journal` is damaged: it"), "{told}");
        assert!(told.contains("2 of 3 points were done already"), "{told}");
    }
    for (damaged, says) in [
        (
            [lines[0], lines[1], lines[2], lines[3], lines[1], ""].join("\n"),
            "line 5 of `out/sweep.journal` is doubled: line 2 has the same point; neither is believed, and point 1 (seed=1) is run again",
        ),
        (
            [lines[0], lines[1], &lines[2][..99], lines[3], ""].join("\n"),
            "and point 2 (seed=2) is run again",
        ),
        (
            [lines[0], lines[1], "\0\0\0", lines[3], ""].join("\n"),
            "it is dropped, and its point is run again",
        ),
        (
            [lines[0], lines[1], lines[2], &lines[3][..9]].join("\n"),
            "line 4 of `out/sweep.journal` is not whole, as after a kill: the file ends before it does; it is cut off, and its point is run again",
        ),
    ] {
        let told = mended(&scratch, &more, damaged.as_bytes());
        assert!(told.contains(says), "{told}");
    }
}

#[test]
fn a_wrong_cell_costs_one_point_however_many_cores_there_are() {
    let scratch = Scratch::new();
    let cell = ["--cell", "table5/total/totl_ns", "--threads", "16", "--out", "out"];
    let outcome = sweep(scratch.path(), &[&["--grid", "seed=1..12"][..], &cell].concat());
    assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("--> --cell:1:1"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("did you mean `table5/total/total_ns`?"), "{}", outcome.stderr);
    assert_eq!(recorded(&scratch, "out"), 1);
    // The first points fail, and know no cells.
    let slow = "part.timing.buffer_program=9500 us,9600 us,200 us,210 us,220 us";
    let set = ["sweep", "nor-write", "--set", "workload.bytes=1KiB", "--set"];
    let set = [&set[..], &["part.timing.buffer_program_max=10 ms", "--grid", slow]].concat();
    let cell = ["--cell", "table5/total/totl_ns", "--threads", "16", "--out", "slow"];
    let outcome = run_in(scratch.path(), &[&set[..], &cell].concat());
    assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    assert_eq!(recorded(&scratch, "slow"), 3);
}

#[test]
fn a_wrong_value_at_any_point_costs_no_run() {
    let scratch = Scratch::new();
    let more = ["--grid", "seed=1,2", "--grid", "linux.wait=1us,1KiB", "--out", "out"];
    let outcome = sweep(scratch.path(), &more);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("--> --grid:1:16"), "{}", outcome.stderr);
    assert_eq!(scratch.names(""), [""; 0]);
}
