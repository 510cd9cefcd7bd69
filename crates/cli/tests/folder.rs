//! The folder of `--out` as a whole: its manifest, one writer at a time, kills and full disks.

use crate::bench::{Outcome, Scratch, full, limited, run_in, spawn};
use crate::results::{result, with_attachment};
use boardlab_sim::Seed;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const NAMES: [&str; 5] = ["cells.csv", "index.html", "manifest.json", "result.json", "series.csv"];

/// A folder `out` of the result `a.json`.
fn saved() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("a.json", result("x", 1, "pass").to_string());
    report(&scratch, &["a.json", "--out", "out"]);
    scratch
}

fn report(scratch: &Scratch, arguments: &[&str]) {
    let outcome = run_in(scratch.path(), &[&["report", "--quiet"], arguments].concat());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{arguments:?}");
}

/// What `report` and `compare` say of the folder `out`: the same.
fn refusal(scratch: &Scratch) -> String {
    let mut said = Vec::new();
    for arguments in [&["report", "out"][..], &["compare", "a.json", "out"]] {
        let outcome = run_in(scratch.path(), arguments);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "{}", outcome.stderr);
        said.push(outcome.stderr);
    }
    assert_eq!(said[0], said[1]);
    said.remove(0)
}

/// A saved result that makes large files.
fn large(name: &str, value: u64) -> String {
    let mut large = result(name, value, "pass");
    let text = format!("{value}\n").repeat(40_000);
    large["attachments"] = (0..6)
        .map(|number| json!({"name": format!("{number}.txt"), "title": "large", "text": text}))
        .collect();
    large.to_string()
}

#[test]
fn the_manifest_names_every_file_with_its_size_and_digest() {
    let scratch = saved();
    assert_eq!(scratch.names("out"), NAMES);
    let manifest: Value = serde_json::from_str(&scratch.read("out/manifest.json")).unwrap();
    assert_eq!(manifest["schema"], 1);
    let mut names: Vec<_> = NAMES.into_iter().filter(|name| *name != "manifest.json").collect();
    for file in manifest["files"].as_array().unwrap() {
        let name = file["name"].as_str().unwrap();
        names.retain(|other| *other != name);
        assert_eq!(file["bytes"], scratch.read(&format!("out/{name}")).len(), "{name}");
        let sum = Command::new("sha256sum").arg(scratch.path().join("out").join(name)).output();
        let sum = String::from_utf8(sum.unwrap().stdout).unwrap();
        assert_eq!(sum.split(' ').next(), file["sha256"].as_str(), "{name}");
    }
    assert_eq!(names, [""; 0]);
}

#[test]
fn a_folder_that_is_not_whole_is_refused_with_what_is_missing() {
    let scratch = saved();
    scratch.write("b.json", result("x", 2, "pass").to_string());
    report(&scratch, &["b.json", "--out", "other"]);
    let files: Vec<_> = NAMES.map(|name| (name, scratch.read(&format!("out/{name}")))).into();
    for (name, content) in files.iter().filter(|(name, _)| *name != "manifest.json") {
        let path = format!("out/{name}");
        fs::remove_file(scratch.path().join(&path)).unwrap();
        let said = refusal(&scratch);
        assert!(said.contains(&format!("`out` is not whole: {name} is missing\n")), "{said}");
        scratch.write(&path, &content[..content.len() - 1]);
        let said = refusal(&scratch);
        let sizes = format!("{name} has {} bytes in place of {}", content.len() - 1, content.len());
        assert!(said.contains(&sizes) && said.contains("--> out\n"), "{said}");
        scratch.write(&path, content.replacen('x', "y", 1).replacen('m', "n", 1));
        let said = refusal(&scratch);
        assert!(said.contains(&format!("{name} has other content")), "{said}");
        // One file of another run.
        scratch.write(&path, scratch.read(&format!("other/{name}")));
        if scratch.read(&path) != *content {
            assert!(refusal(&scratch).contains(name));
        }
        scratch.write(&path, content);
    }
    let mixed = fs::copy(
        scratch.path().join("other/manifest.json"),
        scratch.path().join("out/manifest.json"),
    );
    mixed.unwrap();
    let said = refusal(&scratch);
    for text in ["result.json has", "; cells.csv has", "out/result.json"] {
        assert!(said.contains(text), "{text}: {said}");
    }
    // A file that is named itself is read as it is.
    report(&scratch, &["out/result.json", "--out", "again"]);
}

#[test]
fn a_folder_without_a_manifest_is_read_with_a_warning() {
    let scratch = saved();
    fs::remove_file(scratch.path().join("out/manifest.json")).unwrap();
    let outcome = run_in(scratch.path(), &["report", "out", "--quiet"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(
        outcome.stderr.starts_with("warning: `out` has no manifest.json"),
        "{}",
        outcome.stderr
    );
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
}

#[test]
fn a_manifest_is_not_believed() {
    let scratch = saved();
    let of = |name: &str| {
        let zeros = "0".repeat(64);
        let file = json!({"name": name, "bytes": 0, "sha256": zeros});
        json!({"schema": 1, "version": "0", "files": [file]}).to_string()
    };
    for (content, says) in [
        (of("../a.json"), "`../a.json` is not the name of a plain file"),
        (of("/etc/passwd"), "is not the name of a plain file"),
        (of("manifest.json"), "is not the name of a plain file"),
        (of("none.txt"), "none.txt is missing"),
        (json!({"schema": 1, "version": "0", "files": []}).to_string(), "result.json is missing"),
        (json!({"schema": 9}).to_string(), "`schema`: found 9, expected 1"),
        ("{".into(), "not a manifest of --out: EOF"),
        (String::new(), "not a manifest of --out: EOF"),
        ("[".repeat(100_000), "not a manifest of --out"),
    ] {
        scratch.write("out/manifest.json", &content);
        let said = refusal(&scratch);
        assert!(said.contains(says) && !said.contains("panicked"), "{says}: {said}");
    }
    fs::remove_file(scratch.path().join("out/manifest.json")).unwrap();
    let made = Command::new("mkfifo").arg(scratch.path().join("out/manifest.json")).status();
    assert!(made.unwrap().success());
    assert!(refusal(&scratch).contains("it is not a regular file"));
    // Nor is a new result put in the place of a pipe.
    let outcome = run_in(scratch.path(), &["report", "a.json", "--out", "out"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("cannot write `out/manifest.json`: it is a pipe"));
}

#[test]
fn what_the_result_before_left_goes_and_what_is_the_users_stays() {
    let scratch = Scratch::new();
    let mut before = with_attachment("wait.patch");
    for name in ["kept.txt", "gone.txt"] {
        let one = json!({"name": name, "title": "", "text": "x"});
        before["attachments"].as_array_mut().unwrap().push(one);
    }
    scratch.write("a.json", before.to_string());
    scratch.write("b.json", result("b", 1, "pass").to_string());
    report(&scratch, &["a.json", "--out", "out"]);
    scratch.write("out/kept.txt", "y");
    scratch.write("out/notes.txt", "mine");
    report(&scratch, &["b.json", "--out", "out"]);
    let mut names = NAMES.to_vec();
    names.extend(["kept.txt", "notes.txt"]);
    names.sort_unstable();
    assert_eq!(scratch.names("out"), names);
    report(&scratch, &["out", "--out", "again"]);
}

#[test]
fn a_second_process_is_refused_at_once_and_told_who_writes() {
    let scratch = saved();
    let folder = File::open(scratch.path().join("out")).unwrap();
    folder.lock().unwrap();
    let long: [&[&str]; 5] = [
        &["reproduce"],
        &["sweep", "nor-write", "--grid", "seed=1..1000"],
        &["report", "a.json"],
        &["man"],
        &["os", "run", "none.elf"],
    ];
    for arguments in long {
        let outcome = run_in(scratch.path(), &[arguments, &["--out", "out"]].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "{arguments:?}");
        let says = format!("`--out`: `out` is in use by process {}", std::process::id());
        assert!(outcome.stderr.contains(&says), "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.took < Duration::from_secs(5), "{arguments:?}: {:?}", outcome.took);
        assert_eq!(scratch.names("out"), NAMES);
    }
    report(&scratch, &["out", "--out", "read"]);
    fs::remove_file(scratch.path().join("out/cells.csv")).unwrap();
    assert!(refusal(&scratch).contains("writes there just now"), "{}", refusal(&scratch));
    drop(folder);
    report(&scratch, &["a.json", "--out", "out"]);
    // Single files, each of which is whole, may be written beside each other, and not beside a result.
    let folder = File::open(scratch.path().join("out")).unwrap();
    folder.lock_shared().unwrap();
    assert_eq!(run_in(scratch.path(), &["man", "--out", "out"]).status, 0);
    assert_eq!(run_in(scratch.path(), &["report", "a.json", "--out", "out"]).status, 2);
}

/// Which of the results a folder holds as a whole; nothing if it is refused as not whole.
fn held(scratch: &Scratch, outcome: &Outcome) -> Option<u64> {
    if outcome.status == 0 {
        assert!(!outcome.stderr.contains("warning"), "{}", outcome.stderr);
        let json: Value = serde_json::from_str(&outcome.stdout).expect("it prints JSON");
        return json["results"][0]["tables"][0]["rows"][0]["cells"]["mean_ns"]["value"].as_u64();
    }
    let nothing_yet = !scratch.path().join("out/manifest.json").exists();
    let says = if nothing_yet { "no such file" } else { "is not whole: " };
    assert!(outcome.status == 2 && outcome.stderr.contains(says), "{}", outcome.stderr);
    None
}

fn read_back(scratch: &Scratch) -> Outcome {
    let arguments = ["report", "out", "--format", "json", "--quiet", "--out", "read"];
    run_in(scratch.path(), &arguments)
}

#[test]
fn processes_that_race_for_a_folder_leave_the_files_of_one() {
    let scratch = Scratch::new();
    for value in 0..4 {
        scratch.write(&format!("{value}.json"), large("x", value));
    }
    let (mut done, mut refused) = (0, 0);
    for _ in 0..if full() { 60 } else { 4 } {
        let start = |value| {
            let input = format!("{value}.json");
            spawn(scratch.path(), &["report", &input, "--out", "out", "--quiet"])
        };
        let children: Vec<_> = (0..4).map(start).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            match output.status.code() {
                Some(0) => done += 1,
                Some(2) => refused += usize::from(said.contains("`out` is in use by process")),
                other => panic!("{other:?}: {said}"),
            }
        }
        assert!(held(&scratch, &read_back(&scratch)).is_some(), "whole");
        assert_eq!(scratch.names("out").len(), NAMES.len() + 6, "{:?}", scratch.names("out"));
    }
    assert_eq!(done + refused, if full() { 240 } else { 16 });
    assert!(refused > 0);
}

#[test]
fn a_kill_at_any_instant_leaves_the_old_files_the_new_ones_or_a_folder_that_is_refused() {
    let scratch = Scratch::new();
    for value in 0..2 {
        scratch.write(&format!("{value}.json"), large("x", value));
    }
    let whole_again = || report(&scratch, &["0.json", "--out", "out"]);
    let start = Instant::now();
    whole_again();
    let whole = start.elapsed();
    let mut instants = Seed::new(17).stream("kills");
    let (mut counts, mut killed) = ([0; 3], 0);
    for _ in 0..if full() { 300 } else { 15 } {
        let mut child = spawn(scratch.path(), &["report", "1.json", "--out", "out", "--quiet"]);
        let percent = u32::try_from(instants.below(100)).unwrap();
        thread::sleep(whole * percent / 100);
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        killed += u32::from(!ended.success());
        match held(&scratch, &read_back(&scratch)) {
            None => counts[2] += 1,
            Some(value) => counts[usize::try_from(value).unwrap()] += 1,
        }
        // The next one makes it whole, and leaves nothing of the one before.
        whole_again();
        assert_eq!(scratch.names("out").len(), NAMES.len() + 6, "{:?}", scratch.names("out"));
        assert_eq!(held(&scratch, &read_back(&scratch)), Some(0));
    }
    assert!(killed > 0, "old, new, refused: {counts:?}");
}

#[test]
fn a_full_disk_is_told_before_the_run_or_leaves_the_files_before() {
    let scratch = saved();
    let long = ["reproduce", "--out", "out"];
    let outcome = limited(1, scratch.path(), &long);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("cannot write `out`: file too large"), "{}", outcome.stderr);
    assert!(outcome.took < Duration::from_secs(5), "{:?}", outcome.took);
    let new = limited(1, scratch.path(), &["reproduce", "--out", "new/folder"]);
    assert_eq!(new.status, 2, "{}", new.stderr);
    assert_eq!(scratch.names(""), ["a.json", "out"], "nothing is left of it");
    // Room for the probe, and not for the results.
    scratch.write("b.json", large("x", 2));
    let outcome = limited(64, scratch.path(), &["report", "b.json", "--out", "out"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("cannot write `out/result.json`: file too large"));
    assert!(outcome.stdout.contains("253 us"), "it is printed all the same");
    assert_eq!(scratch.names("out"), NAMES);
    assert_eq!(held(&scratch, &read_back(&scratch)), Some(1));
}
