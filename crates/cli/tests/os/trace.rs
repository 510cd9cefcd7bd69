//! `boardlab os trace`.

use crate::bench::{Scratch, run_in};
use crate::guest::build;

fn trace(scratch: &Scratch, arguments: &[&str]) -> Vec<String> {
    let outcome = run_in(scratch.path(), &[&["os", "trace", "plain.elf"], arguments].concat());
    outcome.success().lines().map(Into::into).collect()
}

#[test]
fn a_trace_begins_at_the_function_and_has_as_many_lines_as_asked() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "plain", &["-DCODE=0"]) else { return };
    let lines = trace(&scratch, &["--from", "square", "--count", "3"]);
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(lines[0].contains("cycle") && lines[0].contains("changes"), "{}", lines[0]);
    assert!(lines[1].contains("  square  "), "{}", lines[1]);
    assert!(lines[1..].iter().any(|line| line.contains("  mul ")), "{lines:#?}");
    let start = trace(&scratch, &["--count", "1"]);
    assert!(start[1].contains("  start  ") && start[1].contains("msr CPSR_c, #209"), "{start:?}");
}

#[test]
fn a_stretch_is_the_same_from_its_middle_on() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "plain", &["-DCODE=0"]) else { return };
    let whole = trace(&scratch, &["--count", "200"]);
    let rest = trace(&scratch, &["--from", "150", "--count", "50"]);
    assert_eq!(whole[151..], rest[1..]);
}

#[test]
fn a_trace_goes_into_a_file_and_an_unknown_place_is_refused() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "plain", &["-DCODE=0"]) else { return };
    let arguments = ["os", "trace", "plain.elf", "--file", "lines", "--count", "1000000"];
    let outcome = run_in(scratch.path(), &arguments);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""));
    assert!(outcome.stderr.contains("hello\n385\n"), "{}", outcome.stderr);
    assert!(scratch.read("lines").lines().count() > 100);
    let outcome = run_in(scratch.path(), &["os", "trace", "plain.elf", "--from", "squar"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("did you mean `square`?"), "{}", outcome.stderr);
    let outcome = run_in(scratch.path(), &["os", "trace", "plain.elf", "--from", "90000000"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("before the stretch began"), "{}", outcome.stderr);
}
