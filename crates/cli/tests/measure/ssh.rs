//! `boardlab measure run --over ssh`: the board is this machine, behind an `ssh` that only notes what it is asked.

use super::board::{
    PLAN, has, lines, program, scratch_with_agent, scratch_with_endless_agent, signal, wait_for,
    whole,
};
use crate::bench::{Outcome, Scratch, run_by};
use std::path::Path;
use std::process::{Command, Stdio};

const SCRIPT: &str =
    "PATH=\"$PWD/bin:$PATH\" exec \"$0\" measure run plan --save out --quiet \"$@\"";

fn measure(scratch: &Scratch, arguments: &[&str]) -> Outcome {
    run_by("sh", SCRIPT, scratch.path(), arguments)
}

/// Adds the fake `ssh`; `before` is done in front of the command.
fn add_ssh(scratch: &Scratch, before: &str) {
    std::fs::create_dir_all(scratch.path().join("bin")).unwrap();
    let here = scratch.path().display();
    let script = format!(
        "while [ \"$1\" != -- ]; do printf '%s ' \"$1\" >> {here}/asked; shift; done\n\
         printf '%s | %s\\n' \"$2\" \"$3\" >> {here}/asked\n{before}\nexec sh -c \"$3\""
    );
    program(scratch, "bin/ssh", &script);
}

/// The folders that are left on the board, of those that it said it made.
fn left(scratch: &Scratch) -> Vec<String> {
    let asked = scratch.read("asked");
    let folders = asked.split([' ', '/']).filter(|word| word.starts_with("boardlab-"));
    let folders = folders.filter(|word| *word != "boardlab-agent").map(String::from);
    let mut left: Vec<_> = folders.filter(|name| Path::new("/tmp").join(name).exists()).collect();
    left.sort_unstable();
    left.dedup();
    left
}

#[test]
fn a_plan_runs_on_the_board_with_the_agent_of_the_user() {
    let scratch = scratch_with_agent(&whole(), 0);
    add_ssh(&scratch, ":");
    let plan = "boardlab-plan 1\nstep a mtd.erase device=/dev/it%27s%20$(touch%20x)\n";
    scratch.write("plan", plan);
    let target = "/dev/it's $(touch x)";
    let outcome = measure(
        &scratch,
        &[
            "--over",
            "ssh:root@board:2222",
            "--agent",
            "agent",
            "--destroy",
            target,
            "--max-cycles",
            "5",
        ],
    );
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(outcome.stderr.contains("a word of the agent"), "{outcome:?}");
    assert_eq!((scratch.read("out"), scratch.read("got")), (whole(), plan.into()));
    let expected = format!("<--destroy>\n<{target}>\n<--max-cycles>\n<5>\n<plan>\n");
    assert_eq!(scratch.read("arguments"), expected);
    let asked = scratch.read("asked");
    assert_eq!(asked.lines().count(), 3, "{asked}");
    for line in asked.lines() {
        assert!(
            line.starts_with("-T -o ConnectTimeout=30 ") && line.contains("-p 2222 root@board | "),
            "{line}"
        );
    }
    assert_eq!(left(&scratch), Vec::<String>::new());
}

#[test]
fn the_agent_is_built_on_the_board() {
    if !has("cc") {
        eprintln!("skipped: needs cc");
        return;
    }
    let scratch = Scratch::new();
    scratch.write("plan", PLAN);
    add_ssh(&scratch, ":");
    let outcome = measure(&scratch, &["--over", "ssh:board"]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(outcome.stdout.contains("All of 2 steps ended"), "{outcome:?}");
    assert_eq!((scratch.read("asked").lines().count(), left(&scratch).len()), (2, 0));
}

#[test]
fn a_board_that_cannot_be_reached_or_cannot_compile_is_told() {
    for (before, says) in [
        (
            "echo 'Connection refused' >&2; exit 255",
            "ssh does not reach `board`: Connection refused",
        ),
        ("echo 'no space' >&2; exit 1", "`board` does not take the agent: no space"),
        ("echo nothing; exit 0", "`board` does not take the agent"),
    ] {
        let scratch = Scratch::new();
        scratch.write("plan", PLAN);
        add_ssh(&scratch, before);
        let outcome = measure(&scratch, &["--over", "ssh:board"]);
        assert_eq!(outcome.status, 1, "{outcome:?}");
        assert!(outcome.stderr.contains(says), "{says}: {outcome:?}");
        assert!(!scratch.names(".").contains(&"out".into()));
    }
    let without = scratch_with_agent(&whole(), 0);
    std::fs::create_dir(without.path().join("tools")).unwrap();
    for tool in ["sh", "mktemp", "cat", "rm"] {
        let link = format!("ln -s \"$(command -v {tool})\" tools/{tool}");
        Command::new("sh").args(["-c", &link]).current_dir(without.path()).status().unwrap();
    }
    add_ssh(&without, &format!("PATH={}/tools", without.path().display()));
    let outcome = measure(&without, &["--over", "ssh:board"]);
    assert!(outcome.stderr.contains("the board has no C compiler `cc`"), "{outcome:?}");
    assert!(outcome.stderr.contains("boardlab measure agent DIR"), "{outcome:?}");
}

#[test]
fn a_refusal_over_ssh_has_its_status() {
    let scratch = scratch_with_agent(&lines()[0], 3);
    add_ssh(&scratch, ":");
    let outcome = measure(&scratch, &["--over", "ssh:board", "--agent", "agent"]);
    assert_eq!(outcome.status, 3, "{outcome:?}");
}

#[test]
fn a_lost_connection_leaves_a_partial_measurement() {
    let scratch = scratch_with_agent(&whole(), 0);
    let here = scratch.path().display();
    // The connection that runs the agent breaks in the middle of a line.
    let breaks = format!("case \"$3\" in *run.sh) head -c 700 {here}/text; exit 255;; esac");
    add_ssh(&scratch, &breaks);
    let outcome = measure(&scratch, &["--over", "ssh:board", "--agent", "agent"]);
    assert_eq!(outcome.status, 1, "{outcome:?}");
    assert_eq!(scratch.read("out"), whole()[..700]);
    assert!(outcome.stdout.contains("The measurement is partial"), "{outcome:?}");
    // Without a connection nothing removes the folder.
    for folder in left(&scratch) {
        std::fs::remove_dir_all(Path::new("/tmp").join(folder)).unwrap();
    }
}

#[test]
fn an_interrupt_ends_the_agent_on_the_board_in_order() {
    let scratch = scratch_with_endless_agent();
    add_ssh(&scratch, ":");
    let mut child = Command::new("sh")
        .args([
            "-c",
            SCRIPT,
            env!("CARGO_BIN_EXE_boardlab"),
            "--over",
            "ssh:board",
            "--agent",
            "agent",
        ])
        .current_dir(scratch.path())
        .env("BOARDLAB_CONFIG", "")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&scratch.path().join("out"), "\"begin\":\"timer\"");
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let saved = scratch.read("out");
    assert!(saved.contains("\"end\":\"interrupted\""), "{saved}");
    assert_eq!(left(&scratch), Vec::<String>::new());
}
