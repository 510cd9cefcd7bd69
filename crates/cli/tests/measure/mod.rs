//! `boardlab measure`: plans, agents on fake boards, and what is read of measurements.

mod board;
mod fio;
mod read;
mod run;
mod serial;
mod ssh;

use crate::bench::{Scratch, run, run_in};
use board::has;
use std::process::Command;

#[test]
fn a_scenario_without_a_plan_says_which_have_one() {
    let outcome = run(&["measure", "plan", "sd-life"]);
    assert_eq!(outcome.status, 2, "{outcome:?}");
    assert!(outcome.stderr.contains("`sd-life` has no plan for a board"), "{outcome:?}");
    assert!(
        outcome.stderr.contains("docs/formats/") || outcome.stderr.contains("with a plan:"),
        "{outcome:?}"
    );
    let unknown = run(&["measure", "plan", "no-such"]);
    assert!(
        unknown.status == 2 && unknown.stderr.contains("unknown scenario `no-such`"),
        "{unknown:?}"
    );
}

/// Each option changes the plan, which stays one that `measure run` reads.
#[test]
fn every_option_of_a_plan_changes_it() {
    let plan = |arguments: &[&str]| run(&[&["measure", "plan"], arguments].concat()).success();
    let bytes = ["--set", "workload.bytes=64KiB"];
    for (scenario, option, value, has) in [
        ("nor-write", "--device", "/dev/mtd7", "step device mtd.info device=/dev/mtd7\n"),
        ("nor-write", "--device", "device=/dev/mtd8", "endurance /dev/mtd8 "),
        ("nor-write", "--set", "workload.bytes=128KiB", "length=131072"),
        ("nor-write", "--seed", "9", "predict.mean_ns="),
        ("nor-write", "--path", "device=/dev/my mtd", "device=/dev/my%20mtd "),
        ("sd-wear", "--max-cycles", "3", "With 3 cycles"),
    ] {
        let base: &[&str] = if scenario == "nor-write" { &bytes } else { &[] };
        let before = plan(&[&[scenario], base].concat());
        let after = plan(&[&[scenario], base, &[option, value]].concat());
        assert!(before != after && after.contains(has), "{option} {value}:\n{after}");
    }
    let foreign = run(&["measure", "plan", "nor-write", bytes[0], bytes[1], "--path", "/mnt/x"]);
    let says = "no step of the plan is about `/mnt/x`, given as `path`";
    assert!(foreign.status == 2 && foreign.stderr.contains(says), "{foreign:?}");
    assert!(foreign.stderr.contains("the plan is about /dev/mtd0"), "{foreign:?}");
}

#[test]
fn devices_of_a_plan_are_absolute_paths_with_names() {
    for (option, value) in
        [("--device", "mtd0"), ("--device", "=/dev/x"), ("--path", "mnt"), ("--path", "a=b")]
    {
        let outcome = run(&["measure", "plan", "nor-write", option, value]);
        let says = "expected an absolute path of the board";
        assert!(outcome.status == 2 && outcome.stderr.contains(says), "{value}: {outcome:?}");
    }
    let none = run(&["measure", "plan", "nor-write", "--max-cycles", "0"]);
    assert_eq!(none.status, 2, "{none:?}");
}

#[test]
fn the_agent_is_written_into_a_new_folder_where_make_builds_it() {
    let scratch = Scratch::new();
    let outcome = run_in(scratch.path(), &["measure", "agent", "agent"]);
    assert!(outcome.stderr.contains("build it: make -C agent"), "{outcome:?}");
    assert_eq!(outcome.success(), "");
    let names = scratch.names("agent");
    assert!(names.contains(&"main.c".into()) && names.contains(&"Makefile".into()), "{names:?}");
    let again = run_in(scratch.path(), &["measure", "agent", "agent"]);
    assert!(again.status != 0 && again.stderr.contains("cannot write `agent`"), "{again:?}");
    if !has("make") || !has("cc") {
        eprintln!("skipped: needs make and cc");
        return;
    }
    let made = Command::new("make")
        .args(["-s", "-C", "agent", "BUILD=build"])
        .current_dir(scratch.path())
        .output();
    let made = made.unwrap();
    assert!(made.status.success(), "{made:?}");
    let version =
        Command::new(scratch.path().join("agent/build/boardlab-agent")).arg("--version").output();
    assert!(version.unwrap().stdout.starts_with(b"boardlab-agent "));
}
