//! Standard output that is closed, full, or not read.

use crate::bench::{Outcome, Scratch, run_by};
use crate::results::result;
use std::fs::File;
use std::process::{Command, Stdio};

/// Every command that prints, each with what it needs.
const PRINTING: [&[&str]; 16] = [
    &["list"],
    &["list", "--format", "json"],
    &["run", "nor-write", "--set", "workload.bytes=1KiB"],
    &["reproduce", "nor"],
    &["report", "a.json"],
    &["compare", "a.json", "a.json", "--format", "csv"],
    &["completions", "bash"],
    &["completions", "zsh"],
    &["man"],
    &["sata", "console"],
    &["image", "info", "a.json"],
    &["sweep", "nor-write", "--set", "workload.bytes=1KiB", "--grid", "seed=1,2"],
    &["--help"],
    &["run", "--help"],
    &["help", "sweep"],
    &["--version"],
];

/// Runs `boardlab` with its streams redirected as a shell does.
fn redirected(arguments: &[&str], how: &str) -> Outcome {
    let scratch = Scratch::new();
    scratch.write("a.json", result("x", 1, "pass").to_string());
    run_by("sh", &format!("exec \"$0\" \"$@\" {how}"), scratch.path(), arguments)
}

#[test]
fn closed_standard_output_is_an_error_of_every_command_that_prints() {
    for arguments in PRINTING {
        for how in [">&-", "<&- >&-"] {
            let outcome = redirected(arguments, how);
            assert_eq!(outcome.status, 1, "{arguments:?} {how}: {}", outcome.stderr);
            assert!(outcome.stderr.contains("standard output is closed"), "{}", outcome.stderr);
        }
        assert_eq!(redirected(arguments, ">&- 2>&-").status, 1, "{arguments:?}");
    }
    // Those that take time say so before.
    let long: [&[&str]; 4] = [
        &["reproduce"],
        &["sweep", "nor-write", "--grid", "seed=1..1000"],
        &["os", "run", "none.elf"],
        &["os", "debug", "none.elf"],
    ];
    for arguments in long.iter().chain([&&["os", "trace", "none.elf"][..]]) {
        let outcome = redirected(arguments, ">&-");
        assert!(outcome.took.as_secs() < 5, "{arguments:?}: {:?}", outcome.took);
        assert!(outcome.stderr.contains("standard output is closed"), "{}", outcome.stderr);
    }
    // What goes to files alone needs none, nor do errors.
    for (arguments, status) in [
        (&["man", "--out", "pages"][..], 0),
        (&["completions", "fish", "--out", "fish", "--quiet"], 0),
        (&["--nothing"], 2),
    ] {
        let outcome = redirected(arguments, ">&-");
        assert_eq!(outcome.status, status, "{arguments:?}: {}", outcome.stderr);
    }
}

#[test]
fn a_full_device_is_an_error_of_every_command_that_prints() {
    for arguments in PRINTING {
        let outcome = redirected(arguments, "> /dev/full");
        assert_eq!(outcome.status, 1, "{arguments:?}: {}", outcome.stderr);
        let says = "cannot write to standard output: no space left on device";
        assert!(outcome.stderr.contains(says), "{arguments:?}: {}", outcome.stderr);
    }
}

#[test]
fn output_to_nowhere_is_no_error_however_it_was_opened() {
    for arguments in PRINTING {
        // As Python's `DEVNULL`, which is what the runtime opens for a closed stream.
        let null = File::options().read(true).write(true).open("/dev/null").unwrap();
        let scratch = Scratch::new();
        scratch.write("a.json", result("x", 1, "pass").to_string());
        let mut command = Command::new(env!("CARGO_BIN_EXE_boardlab"));
        command.args(arguments).current_dir(scratch.path()).stdin(Stdio::null());
        let output = command.stdout(null).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some_and(|status| status == 0), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("standard output"), "{arguments:?}: {stderr}");
        assert_eq!(redirected(arguments, "> /dev/null").status, 0, "{arguments:?}");
    }
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_boardlab"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
