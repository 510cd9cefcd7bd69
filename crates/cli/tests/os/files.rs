//! Files that `boardlab os` writes: `--save`, `--timeline`, and `--file` of a trace.

use crate::bench::{Scratch, full, limited, run_by, run_in};
use crate::guest::build;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A program, and a file `kept` of the user's.
fn program() -> Option<Scratch> {
    let scratch = Scratch::new();
    build(&scratch, "plain", &["-DCODE=0"])?;
    scratch.write("kept", "mine");
    Some(scratch)
}

/// The options that name a file, with the command that has them.
const OPTIONS: [[&str; 2]; 3] = [["run", "--save"], ["run", "--timeline"], ["trace", "--file"]];

#[test]
fn pipes_devices_and_what_is_read_are_refused_before_the_run() {
    let Some(scratch) = program() else { return };
    assert!(Command::new("mkfifo").arg(scratch.path().join("pipe")).status().unwrap().success());
    for [command, option] in OPTIONS {
        for (path, says) in [
            ("pipe", "cannot write `pipe`: it is a pipe, a device or a socket"),
            ("/dev/null", "cannot write `/dev/null`: it is a pipe, a device or a socket"),
            ("/dev/stdout", "cannot write `/dev/stdout`: it is a pipe, a device or a socket"),
            ("none/kept", "cannot write `none/kept`: no such file"),
            (".", "cannot write `.`: is a directory"),
            ("kept/", "cannot write `kept/`: is a directory"),
            ("plain.elf", "`plain.elf` would be written over `plain.elf`"),
            ("./plain.elf", "`./plain.elf` would be written over `plain.elf`"),
        ] {
            let arguments = ["os", command, "plain.elf", option, path];
            let outcome = run_in(scratch.path(), &arguments);
            assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "{option} {path}");
            assert!(outcome.stderr.contains(says), "{option} {path}: {}", outcome.stderr);
        }
    }
    let arguments = ["os", "run", "plain.elf", "--save", "one", "--timeline", "./one"];
    let outcome = run_in(scratch.path(), &arguments);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("`one` would be written over `./one`"), "{}", outcome.stderr);
    let arguments = ["os", "run", "plain.elf", "--out", "out", "--save", "out/result.json"];
    let outcome = run_in(scratch.path(), &arguments);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("would be written over `out/result.json`"));
    assert_eq!(scratch.names(""), ["kept", "pipe", "plain.elf"]);
}

#[test]
fn a_file_that_is_there_is_replaced_as_a_whole_or_stays() {
    for [command, option] in OPTIONS {
        let Some(scratch) = program() else { return };
        let arguments = ["os", command, "plain.elf", option, "kept"];
        // The disk is full: 1 KiB fits.
        let outcome = limited(2, scratch.path(), &arguments);
        assert_eq!(outcome.status, 2, "{option}: there is no room for a probe: {}", outcome.stderr);
        let more: &[&str] = if command == "trace" { &["--count", "1000000"] } else { &[] };
        // A timeline as short as this one fits.
        if option != "--timeline" {
            let outcome = limited(9, scratch.path(), &[&arguments, more].concat());
            assert_eq!(outcome.status, 1, "{option}: {}", outcome.stderr);
            let says = "cannot write `kept`: file too large";
            assert!(outcome.stderr.contains(says), "{option}: {}", outcome.stderr);
        }
        assert_eq!(scratch.read("kept"), "mine", "{option}");
        // A program that cannot be run, too.
        let outcome = run_in(scratch.path(), &["os", command, "kept", option, "new"]);
        assert_eq!(outcome.status, 2, "{option}");
        assert_eq!(scratch.names(""), ["kept", "plain.elf"], "{option}");
        std::os::unix::fs::symlink("kept", scratch.path().join("link")).unwrap();
        let arguments = ["os", command, "plain.elf", option, "link", "--quiet"];
        let outcome = run_in(scratch.path(), &arguments);
        assert_eq!(outcome.status, 0, "{option}: {}", outcome.stderr);
        assert!(fs::symlink_metadata(scratch.path().join("link")).unwrap().is_symlink());
        assert!(fs::metadata(scratch.path().join("kept")).unwrap().len() > 100, "{option}");
        assert_eq!(scratch.names(""), ["kept", "link", "plain.elf"], "{option}");
    }
}

#[test]
fn a_full_device_or_a_reader_that_goes_away_costs_no_file_silently() {
    let Some(scratch) = program() else { return };
    let shell = |redirected: &str, arguments: &[&str]| {
        run_by("sh", &format!("\"$0\" \"$@\" {redirected}"), scratch.path(), arguments)
    };
    let run = shell("> /dev/full", &["os", "run", "plain.elf", "--quiet"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("the console: no space left on device"), "{}", run.stderr);
    let trace = shell("> /dev/full", &["os", "trace", "plain.elf"]);
    assert_eq!(trace.status, 1, "{}", trace.stderr);
    let says = "cannot write to standard output: no space left on device";
    assert!(trace.stderr.contains(says), "{}", trace.stderr);
    let run = shell("> /dev/full", &["os", "run", "plain.elf", "--format", "json"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains(says), "{}", run.stderr);
    // One file that cannot be written costs no other.
    let arguments = ["os", "run", "plain.elf", "--quiet", "--save", "state", "--timeline", "line"];
    let kib = limited(64, scratch.path(), &arguments);
    assert_eq!(kib.status, 1, "{}", kib.stderr);
    assert!(kib.stderr.contains("cannot write `state`: file too large"), "{}", kib.stderr);
    assert_eq!(scratch.names(""), ["kept", "line", "plain.elf"]);
}

#[test]
fn a_kill_while_a_state_is_saved_leaves_the_file_before_or_the_new_one() {
    let Some(scratch) = program() else { return };
    // The state has the card in it, so writing it takes a while.
    scratch.write("card", vec![0xA5; 8 << 20]);
    let arguments = ["os", "run", "plain.elf", "--quiet", "--card", "card", "--save", "kept"];
    let start = Instant::now();
    assert_eq!(run_in(scratch.path(), &arguments).status, 0);
    let whole = start.elapsed();
    let kept = scratch.path().join("kept");
    let new = fs::read(&kept).unwrap();
    for step in 0..if full() { 100 } else { 8 } {
        scratch.write("kept", "mine");
        let mut child = Command::new(env!("CARGO_BIN_EXE_boardlab"))
            .args(arguments)
            .current_dir(scratch.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        if step % 2 == 0 {
            // As soon as the file is another one.
            let begun = Instant::now();
            while fs::metadata(&kept).is_ok_and(|kept| kept.len() == 4) {
                assert!(begun.elapsed() < Duration::from_secs(100), "it is written at all");
            }
        } else {
            thread::sleep(whole / 8 * (step % 8));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let found = fs::read(&kept).unwrap();
        assert!(found == b"mine" || found == new, "{} bytes", found.len());
    }
    assert_eq!(run_in(scratch.path(), &arguments).status, 0);
    assert_eq!(scratch.names(""), ["card", "kept", "plain.elf"], "nothing is left of those killed");
}
