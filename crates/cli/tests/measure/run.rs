//! `boardlab measure run` on this machine.

use super::board::{
    PLAN, has, line, lines, program, scratch_with_agent, scratch_with_endless_agent, signal,
    wait_for, whole,
};
use crate::bench::{Outcome, Scratch, run_in, spawn};
use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

const RUN: [&str; 6] = ["measure", "run", "plan", "--save", "out", "--quiet"];

fn measure(scratch: &Scratch, arguments: &[&str]) -> Outcome {
    run_in(scratch.path(), &[&RUN, arguments].concat())
}

#[test]
fn the_agent_gets_plan_and_permissions_and_its_lines_are_saved_and_shown() {
    let scratch = scratch_with_agent(&whole(), 0);
    let plan = "boardlab-plan 1\n# a remark\nstep a mtd.erase device=/dev/it%27s\nstep b block.write device=/dev/b\n";
    scratch.write("plan", plan);
    let named = ["--destroy", "/dev/it's", "--destroy-data", "/dev/b", "--max-cycles", "77"];
    let outcome = measure(&scratch, &[&["--agent", "agent"], &named[..]].concat());
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(outcome.stderr.contains("a word of the agent"), "{outcome:?}");
    assert!(outcome.stdout.contains("Measured on Fake"), "{outcome:?}");
    assert_eq!(scratch.read("out"), whole());
    assert_eq!(scratch.read("got"), plan);
    let arguments = scratch.read("arguments");
    let arguments: Vec<_> = arguments.lines().collect();
    let expected = named.map(|word| format!("<{word}>"));
    assert_eq!(arguments[..6], expected);
    assert_eq!(arguments.len(), 7);
}

#[test]
fn the_exit_status_of_the_agent_is_passed_on() {
    let refused = lines()[0].clone() + &line(r#"{"refused":"/dev/x is mounted""#);
    for (text, agent, expected) in [
        (whole(), 0, 0),
        (whole(), 1, 1),
        (whole(), 9, 1),
        (lines()[..4].concat(), 0, 1),
        (refused, 3, 3),
    ] {
        let scratch = scratch_with_agent(&text, agent);
        let outcome = measure(&scratch, &["--agent", "agent", "--json"]);
        assert_eq!(outcome.status, expected, "{agent}: {outcome:?}");
        assert_eq!(scratch.read("out"), text);
    }
}

#[test]
fn an_agent_that_says_nothing_leaves_no_file() {
    let scratch = scratch_with_agent("", 2);
    let outcome = measure(&scratch, &["--agent", "agent"]);
    assert_eq!(outcome.status, 1, "{outcome:?}");
    assert!(outcome.stderr.contains("ended with status 2 and measured nothing"), "{outcome:?}");
    assert!(!scratch.names(".").contains(&"out".into()));
}

/// What is refused before an agent runs, and leaves everything as it is.
#[test]
fn nothing_runs_that_is_not_permitted_or_no_plan() {
    let writes = "boardlab-plan 1\nstep a mtd.erase device=/dev/x\n";
    for (plan, arguments, status, says) in [
        (writes, &[][..], 3, "refused: the plan writes to `/dev/x`"),
        (writes, &["--destroy", "/dev/y"], 2, "no step of the plan writes to `/dev/y`"),
        (writes, &["--destroy", "/dev/x", "--agent", "none"], 2, "cannot read the agent `none`"),
        (writes, &["--destroy", "/dev/x", "--agent", "."], 2, "the agent `.` is no file"),
        (PLAN, &["--destroy", "/dev/x"], 2, "no step of the plan writes to `/dev/x`"),
        ("boardlab-plan 1\nstep a cpu.cpy\n", &[], 2, "plan:2:8"),
        ("boardlab-plan 1\n\u{fffd}\n", &[], 2, "plan:2:1"),
        (PLAN, &["--over", "ssh:-oProxyCommand=x"], 2, "expected a host"),
        (PLAN, &["--over", "telnet:x"], 2, "expected local, ssh:"),
    ] {
        let scratch = scratch_with_agent(&whole(), 0);
        scratch.write("plan", plan);
        let agent = if arguments.contains(&"--agent") { &[][..] } else { &["--agent", "agent"] };
        let outcome = measure(&scratch, &[arguments, agent].concat());
        assert_eq!(outcome.status, status, "{says}: {outcome:?}");
        assert!(outcome.stderr.contains(says), "{says}: {outcome:?}");
        let names = scratch.names(".");
        assert!(
            !names.contains(&"out".into()) && !names.contains(&"got".into()),
            "{says}: {names:?}"
        );
    }
}

#[test]
fn a_measurement_is_never_overwritten() {
    let scratch = scratch_with_agent(&whole(), 0);
    scratch.write("out", "mine");
    let outcome = measure(&scratch, &["--agent", "agent"]);
    assert!(outcome.status == 2 && outcome.stderr.contains("`out` exists already"), "{outcome:?}");
    assert_eq!(scratch.read("out"), "mine");
    assert!(!scratch.names(".").contains(&"got".into()));
}

#[test]
fn an_interrupt_ends_the_agent_in_order_and_keeps_what_came() {
    let scratch = scratch_with_endless_agent();
    for sent in ["-INT", "-TERM"] {
        let _ = fs::remove_file(scratch.path().join("out"));
        let mut child = spawn(scratch.path(), &[&RUN[..], &["--agent", "agent"]].concat());
        wait_for(&scratch.path().join("out"), "\"begin\":\"timer\"");
        signal(&child, sent);
        assert_eq!(child.wait().unwrap().code(), Some(1));
        let saved = scratch.read("out");
        assert!(saved.ends_with("}\n") && saved.contains("\"end\":\"interrupted\""), "{saved}");
    }
}

/// The terminal sends Ctrl-C to all programs of its foreground group.
#[test]
fn the_signal_of_a_terminal_reaches_the_agent_by_boardlab_alone() {
    let scratch = scratch_with_endless_agent();
    let script = scratch.read("agent").replace("TERM INT", "TERM");
    let here = scratch.path().display();
    let noted = script.replacen("trap", &format!("trap 'echo > {here}/int' INT\ntrap"), 1);
    program(&scratch, "agent", &noted);
    let mut command = Command::new(env!("CARGO_BIN_EXE_boardlab"));
    command.args(RUN).args(["--agent", "agent"]).current_dir(scratch.path()).process_group(0);
    command.env("BOARDLAB_CONFIG", "").stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    wait_for(&scratch.path().join("out"), "\"begin\":\"timer\"");
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(scratch.read("out").contains("\"end\":\"interrupted\""));
    assert!(!scratch.names(".").contains(&"int".into()));
}

#[test]
fn the_agent_ends_in_order_when_boardlab_is_killed() {
    let scratch = scratch_with_endless_agent();
    let here = scratch.path().display();
    let script = format!(
        "trap 'echo > {here}/ended; exit' TERM\ncat {here}/text\nwhile :; do sleep 0.05; done"
    );
    program(&scratch, "agent", &script);
    let mut child = spawn(scratch.path(), &[&RUN[..], &["--agent", "agent"]].concat());
    wait_for(&scratch.path().join("out"), "\"begin\":\"timer\"");
    signal(&child, "-KILL");
    assert_eq!(child.wait().unwrap().code(), None);
    wait_for(&scratch.path().join("ended"), "\n");
}

#[test]
fn a_second_interrupt_leaves_an_agent_that_does_not_end() {
    let scratch = scratch_with_endless_agent();
    let here = scratch.path().display();
    let script = format!(
        "trap 'echo > {here}/asked' TERM INT\necho $$ > {here}/number\ncat {here}/text\nwhile [ ! -e {here}/free ]; do sleep 0.05; done"
    );
    program(&scratch, "agent", &script);
    let mut child = spawn(scratch.path(), &[&RUN[..], &["--agent", "agent"]].concat());
    wait_for(&scratch.path().join("out"), "\"begin\":\"timer\"");
    signal(&child, "-INT");
    wait_for(&scratch.path().join("asked"), "\n");
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    scratch.write("free", "");
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(told.contains("the agent was left before it ended"), "{told}");
}

#[test]
fn the_agent_is_built_here_from_the_sources_that_the_program_carries() {
    if !has("cc") {
        eprintln!("skipped: needs cc");
        return;
    }
    let scratch = Scratch::new();
    scratch.write("plan", PLAN);
    let outcome = measure(&scratch, &["--out", "folder"]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(outcome.stdout.contains("All of 2 steps ended"), "{outcome:?}");
    assert!(scratch.names("folder").contains(&"index.html".into()));
}

#[test]
fn without_a_compiler_the_error_says_what_to_do() {
    let scratch = Scratch::new();
    scratch.write("plan", PLAN);
    let script = "PATH=/nowhere exec \"$0\" \"$@\"";
    let outcome = crate::bench::run_by("/bin/sh", script, scratch.path(), &RUN);
    assert_eq!(outcome.status, 1, "{outcome:?}");
    assert!(outcome.stderr.contains("cannot run `cc`"), "{outcome:?}");
    assert!(outcome.stderr.contains("or give --agent FILE"), "{outcome:?}");
}
