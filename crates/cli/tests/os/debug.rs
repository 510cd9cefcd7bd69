//! `boardlab os debug`, with the real GDB at the other end.

use crate::bench::Scratch;
use crate::guest::{build, is_there, start};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

const GDB: &str = "gdb-multiarch";

/// What GDB prints in a session with `commands`, over standard input and output of `boardlab os debug PROGRAM --stdio`.
fn session(scratch: &Scratch, program: &str, commands: &[&str]) -> String {
    let boardlab = env!("CARGO_BIN_EXE_boardlab");
    let target = format!("target remote | {boardlab} os debug {program} --stdio");
    let mut gdb = Command::new("timeout");
    gdb.args(["60", GDB, "-nx", "-batch", program, "-ex", "set confirm off", "-ex", &target]);
    for command in commands {
        gdb.args(["-ex", command]);
    }
    let output = gdb.current_dir(scratch.path()).stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    printed + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn gdb_breaks_steps_prints_and_continues_to_the_end() {
    let scratch = Scratch::new();
    if !is_there(GDB) {
        return;
    }
    let Some(_) = build(&scratch, "plain", &["-DCODE=3"]) else { return };
    let commands = [
        "break square",
        "continue",
        "print value",
        "backtrace",
        "stepi",
        "info registers pc cpsr",
        "finish",
        "delete",
        "print total",
        "monitor cycles",
        "monitor stats",
        "monitor symbol square",
        "set var total = 1000",
        "continue",
    ];
    let printed = session(&scratch, "plain.elf", &commands);
    for text in [
        "Breakpoint 1, square (value=",
        "$1 = 1",
        "in main ()",
        "Value returned is",
        "cycles, ",
        "data cache: ",
        "square",
        "1385",
        "exited with code 03",
    ] {
        assert!(printed.contains(text), "{text}:\n{printed}");
    }
}

#[test]
fn gdb_watches_a_variable_and_reads_and_writes_memory() {
    let scratch = Scratch::new();
    if !is_there(GDB) {
        return;
    }
    let Some(_) = build(&scratch, "plain", &["-DCODE=0"]) else { return };
    let commands = [
        "break main",
        "continue",
        "watch total",
        "continue",
        "continue",
        "x/2i $pc",
        "x/1xw &total",
        "delete",
        "rwatch total",
        "continue",
        "delete",
        "awatch total",
        "continue",
        "continue",
        "print/x *(int *)0xf0000000",
    ];
    let printed = session(&scratch, "plain.elf", &commands);
    for text in [
        "Hardware watchpoint 2: total",
        "New value = 1\n",
        "New value = 5\n",
        "Hardware read watchpoint 3: total",
        "Hardware access (read/write) watchpoint 4: total",
        "New value = 14\n",
        "0x00000005",
        "Cannot access memory",
    ] {
        assert!(printed.contains(text), "{text}:\n{printed}");
    }
}

#[test]
fn gdb_sees_a_program_end_badly() {
    let scratch = Scratch::new();
    if !is_there(GDB) {
        return;
    }
    let Some(_) = build(&scratch, "bad", &["-DHOW=1"]) else { return };
    let printed = session(&scratch, "bad.elf", &["continue", "info symbol $pc"]);
    assert!(printed.contains("SIGILL"), "{printed}");
    assert!(printed.contains("undefined"), "{printed}");
}

#[test]
fn gdb_comes_to_the_port_that_was_told_and_the_program_prints_here() {
    let scratch = Scratch::new();
    if !is_there(GDB) {
        return;
    }
    let Some(_) = build(&scratch, "plain", &["-DCODE=5"]) else { return };
    let mut child = start(&scratch, &["os", "debug", "plain.elf", "--listen", "127.0.0.1:0"]);
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    let place =
        line.trim_end().strip_prefix("waiting for GDB: ").unwrap_or_else(|| panic!("{line}"));
    assert!(place.starts_with("target remote 127.0.0.1:"), "{line}");
    let mut gdb = Command::new("timeout");
    gdb.args(["60", GDB, "-nx", "-batch", "plain.elf", "-ex", "set confirm off", "-ex", place]);
    for command in ["break square", "continue", "print value", "delete", "continue"] {
        gdb.args(["-ex", command]);
    }
    let output = gdb.current_dir(scratch.path()).stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("$1 = 1\n"), "{printed}");
    assert!(printed.contains("exited with code 05"), "{printed}");
    let served = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&served.stdout), "hello\n385\n");
    let mut last = String::new();
    errors.read_to_string(&mut last).unwrap();
    assert_eq!(
        (served.status.code(), last.as_str()),
        (Some(0), "the program ended with exit code 5\n")
    );
}
