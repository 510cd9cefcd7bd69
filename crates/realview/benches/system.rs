//! How long the operating system of `os/` takes on the host's clock: from the making of the machine to the shell's prompt, and all its tests.
//!
//! `cargo bench -p boardlab-realview --bench system` prints a table: the predecoded engine, and QEMU where it is installed. A boot is the best of several,
//! the tests run once. QEMU's start includes that of its process. The compiler is left out: code of ever new processes is compiled again and again.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark"
)]

#[path = "../tests/kernel/mod.rs"]
mod kernel;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use boardlab_arm926::Limit;
use boardlab_realview::{Machine, Outcome, Settings};

/// Cycles between two looks at the console.
const LOOK: u64 = 1_000_000;
const BOOTS: u32 = 10;
const PASSED: &str = "ALL TESTS PASSED";

/// Runs until the console ends with the shell's prompt; all that it had.
fn to_prompt(machine: &mut Machine) -> String {
    let mut text = String::new();
    while !text.ends_with(kernel::PROMPT) {
        let outcome = machine.run(Limit::cycles(machine.now().plus(LOOK)));
        assert_eq!(outcome, Outcome::Limit, "{text}");
        text += &String::from_utf8_lossy(&machine.take_console());
    }
    text
}

fn boot(folder: &Path) -> Machine {
    let mut machine = kernel::machine(&Settings::default(), folder, "");
    to_prompt(&mut machine);
    machine
}

/// Boot and tests.
fn ours(folder: &Path) -> [Duration; 2] {
    let once = || {
        let start = Instant::now();
        boot(folder);
        start.elapsed()
    };
    let booted = (0..BOOTS).map(|_| once()).min().unwrap();
    let mut machine = boot(folder);
    let start = Instant::now();
    machine.push_input(0, b"tests\n");
    let text = to_prompt(&mut machine);
    assert!(text.contains(PASSED), "{text}");
    [booted, start.elapsed()]
}

/// The same on QEMU, if that is there: until a `halt` that was typed before, and with `tests` before that.
fn qemu(folder: &Path) -> Option<[Duration; 2]> {
    let run = |typed: &str| {
        let start = Instant::now();
        let mut child = Command::new("qemu-system-arm")
            .args(["-M", "realview-eb", "-cpu", "arm926", "-m", "128", "-nographic"])
            .args(["-semihosting", "-kernel"])
            .arg(folder.join("kernel.elf"))
            .env("QEMU_AUDIO_DRV", "none")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), typed.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        Some((start.elapsed(), String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    let booted = (0..BOOTS).map(|_| run("halt\n")).collect::<Option<Vec<_>>>()?;
    let booted = booted.into_iter().map(|(time, _)| time).min().unwrap();
    let (all, text) = run("tests\nhalt\n")?;
    assert!(text.contains(PASSED), "{text}");
    Some([booted, all.saturating_sub(booted)])
}

fn main() {
    let Some(folder) = kernel::build() else { return };
    println!("{:12} {:>14} {:>10}", "", "boot to shell", "all tests");
    let print = |name: &str, [booted, tests]: [Duration; 2]| {
        let milliseconds = 1e3 * booted.as_secs_f64();
        println!("{name:12} {milliseconds:11.1} ms {:8.1} s", tests.as_secs_f64());
    };
    print("predecoded", ours(folder));
    match qemu(folder) {
        Some(times) => print("QEMU", times),
        None => eprintln!("skipped: needs qemu-system-arm"),
    }
}
