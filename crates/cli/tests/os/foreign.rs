//! Names in a program reach nobody's terminal raw; what a program prints does, unless it is asked not to.

use crate::bench::{Outcome, Scratch, run_in};
use crate::guest::{build, start};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// A name that clears the screen, begins a line, turns the direction of text and hides a character.
const EVIL: &str = "\u{1b}[2Jevil\nname\u{202e}\u{200b}\u{9b}31m\u{7f}";
/// How it is shown.
const SHOWN: &str = "\\u{1b}[2Jevil\\u{a}name\\u{202e}\\u{200b}\\u{9b}31m\\u{7f}";

/// Builds the test program with a hostile name for its function `square`, as `evil.elf`.
fn build_evil(scratch: &Scratch) -> Option<()> {
    build(scratch, "plain", &["-DCODE=3"])?;
    rename(scratch.path(), "plain.elf", "square");
    Some(())
}

fn rename(folder: &Path, program: &str, symbol: &str) {
    let status = Command::new("arm-none-eabi-objcopy")
        .args(["--redefine-sym", &format!("{symbol}={EVIL}"), program, "evil.elf"])
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(status.success());
}

/// Neither stream has anything that a terminal would not simply draw.
fn is_harmless(outcome: &Outcome) {
    for text in [&outcome.stdout, &outcome.stderr] {
        let bad = text
            .chars()
            .find(|&c| (c.is_control() && c != '\n') || matches!(c, '\u{200b}' | '\u{202e}'));
        assert_eq!(bad, None, "{text:?}");
    }
}

#[test]
fn a_trace_and_its_file_and_errors_show_hostile_names_as_escapes() {
    let scratch = Scratch::new();
    let Some(()) = build_evil(&scratch) else { return };
    let arguments = ["os", "trace", "evil.elf", "--from", EVIL, "--count", "3"];
    let outcome = run_in(scratch.path(), &arguments);
    is_harmless(&outcome);
    assert!(outcome.stdout.contains(&format!("  {SHOWN}  ")), "{}", outcome.stdout);
    assert_eq!(outcome.success().lines().count(), 4);
    run_in(scratch.path(), &[&arguments[..], &["--file", "lines"]].concat()).success();
    assert!(scratch.read("lines").contains(SHOWN) && !scratch.read("lines").contains('\u{1b}'));
    let near = EVIL.replace("evil", "evli");
    let outcome = run_in(scratch.path(), &["os", "trace", "evil.elf", "--from", &near]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains(&format!("did you mean `{SHOWN}`?")), "{}", outcome.stderr);
    is_harmless(&outcome);
}

#[test]
fn a_profile_shows_hostile_names_as_escapes_and_its_json_has_them_exactly() {
    let scratch = Scratch::new();
    let Some(()) = build_evil(&scratch) else { return };
    let outcome =
        run_in(scratch.path(), &["os", "run", "evil.elf", "--profile", "--color", "always"]);
    assert_eq!(outcome.status, 1, "it ends with code 3");
    assert!(outcome.stderr.contains("\\u{1b}[2Jevil\\u{a}"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("\u{1b}[2J"), "{}", outcome.stderr);
    let outcome =
        run_in(scratch.path(), &["os", "run", "evil.elf", "--profile", "--format", "json"]);
    is_harmless(&outcome);
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let tables = json["tables"].as_array().unwrap();
    let functions = tables.iter().find(|table| table["id"] == "functions").unwrap();
    let rows = functions["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["id"] == EVIL || row["title"] == EVIL), "{functions:#}");
}

#[test]
fn gdbs_monitor_and_the_console_of_the_debugger_show_hostile_names_as_escapes() {
    let scratch = Scratch::new();
    let Some(()) = build_evil(&scratch) else { return };
    let address =
        run_in(scratch.path(), &["os", "trace", "evil.elf", "--from", EVIL, "--count", "1"]);
    let address =
        address.success().lines().nth(1).unwrap().split_whitespace().nth(2).unwrap().to_owned();
    let boardlab = env!("CARGO_BIN_EXE_boardlab");
    let target = format!("target remote | {boardlab} os debug evil.elf --stdio");
    let monitor = format!("monitor symbol 0x{address}");
    let output = Command::new("timeout")
        .args(["60", "gdb-multiarch", "-nx", "-batch", "-ex", &target, "-ex", &monitor])
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(printed.contains(SHOWN) && !printed.contains('\u{1b}'), "{printed}");
}

#[test]
fn what_the_program_prints_is_raw_and_with_safe_console_it_is_not() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "echo", &[]) else { return };
    let input = "\u{1b}[2Jtext 書\r\n.";
    let run = |arguments: &[&str]| {
        let arguments =
            [&["os", "run", "echo.elf", "--limit", "2 s", "--quiet"], arguments].concat();
        let mut child = start(&scratch, &arguments);
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    let (raw, safe) = (run(&[]), run(&["--safe-console"]));
    assert!(raw.contains("\u{1b}[2J"), "{raw:?}");
    assert!(safe.contains("\\u{1b}[2Jtext 書") && !safe.contains('\u{1b}'), "{safe:?}");
}

#[test]
fn a_debugger_tells_its_own_words_and_a_hostile_program_name_as_escapes() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "bad", &["-DHOW=1"]) else { return };
    let program = "\u{1b}[2J.elf";
    std::fs::copy(scratch.path().join("bad.elf"), scratch.path().join(program)).unwrap();
    let outcome = run_in(scratch.path(), &["os", "run", program]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    is_harmless(&outcome);
    assert!(outcome.stderr.contains("\\u{1b}[2J.elf on "), "{}", outcome.stderr);
    let outcome = run_in(scratch.path(), &["os", "run", "no\u{1b}such\n"]);
    assert!(outcome.stderr.contains("no\\u{1b}such\\u{a}"), "{}", outcome.stderr);
    is_harmless(&outcome);
    let outcome = run_in(scratch.path(), &["os", "run", "--x\u{1b}[2J", "--color", "always"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("--x\\u{1b}[2J"), "{}", outcome.stderr);
    is_harmless(&outcome);
    let mut child = start(&scratch, &["os", "debug", "bad.elf", "--listen", "\u{1b}[2J"]);
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    child.wait().unwrap();
    assert!(line.contains("cannot listen at `\\u{1b}[2J`"), "{line}");
}
