//! `boardlab os run --live`: what is typed reaches the program while it runs.

use crate::bench::Scratch;
use crate::guest::{build, start};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command};

/// Reads what `child` prints up to `end`.
fn read_to(child: &mut Child, end: &str) -> String {
    let (mut read, mut byte) = (Vec::new(), [0]);
    let out = child.stdout.as_mut().unwrap();
    while !read.ends_with(end.as_bytes()) {
        let some = out.read(&mut byte).unwrap();
        assert!(some == 1, "no {end:?}: {}", String::from_utf8_lossy(&read));
        read.push(byte[0]);
    }
    String::from_utf8(read).unwrap()
}

fn type_in(child: &mut Child, text: &str) {
    let input = child.stdin.as_mut().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    input.flush().unwrap();
}

/// The exit status, and the rest of what `child` prints on both streams.
fn rest(mut child: Child) -> (Option<i32>, String, String) {
    child.stdin.take();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_program_answers_before_the_next_is_typed() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "echo", &[]) else { return };
    for engine in ["interpreter", "predecoded", "compiled"] {
        let arguments = ["os", "run", "echo.elf", "--live", "--quiet", "--engine", engine];
        let mut child = start(&scratch, &arguments);
        for text in ["one", "two"] {
            type_in(&mut child, text);
            assert_eq!(read_to(&mut child, text), text);
        }
        type_in(&mut child, "three. not read");
        assert_eq!(rest(child), (Some(0), "three.".into(), String::new()), "{engine}");
    }
}

#[test]
fn a_program_that_sleeps_is_woken_by_typing() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "board", &[]) else { return };
    scratch.write("card", vec![0; 4 << 20]);
    let arguments = ["os", "run", "board.elf", "--live", "--card", "card", "--quiet"];
    let mut child = start(&scratch, &arguments);
    assert!(read_to(&mut child, "\n!").starts_with("hello\n"));
    for text in [" ", "ty", "ped"] {
        type_in(&mut child, text);
    }
    type_in(&mut child, ".");
    let (status, printed, error) = rest(child);
    assert!(printed.contains("received: yped.interrupts 36: "), "{printed}");
    assert_eq!(status, Some(1), "{error}");
    assert!(error.contains("ended with exit code 42"), "{error}");
}

#[test]
fn a_program_that_sleeps_when_the_input_has_ended_is_told_of() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "bad", &["-DHOW=3"]) else { return };
    let child = start(&scratch, &["os", "run", "bad.elf", "--live", "--quiet"]);
    let (status, printed, error) = rest(child);
    assert_eq!((status, printed.as_str()), (Some(1), ""));
    assert!(error.contains("sleeps for ever"), "{error}");
}

#[test]
fn a_system_that_waits_at_the_end_of_its_input_says_how_to_end_it() {
    let scratch = Scratch::new();
    let mut child = start(&scratch, &["os", "run", "built-in"]);
    child.stdin.take();
    let mut told = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    // `timeout` hands on what ends it, but for SIGKILL.
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    child.wait().unwrap();
    assert!(told.contains("`halt`") && told.contains("--limit"), "{told}");
}
