//! `boardlab measure`: plans, agents on fake boards, and what is read of measurements.

mod board;
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
