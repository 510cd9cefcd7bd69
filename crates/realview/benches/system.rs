//! The elapsed time of the operating system of `os/`: from the creation of the machine to the shell's
//! prompt, and for all its tests.
//!
//! `cargo bench -p boardlab-realview --bench system` prints a table: the predecoded engine, and QEMU
//! where it is installed. A boot is the best of several; the tests run once. QEMU's time includes the
//! start of its process. The compiler is left out: it compiles the code of each new process again.

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

use kernel::Shell;

const BOOTS: u32 = 10;
const PASSED: &str = "ALL TESTS PASSED";

/// Boot and tests.
fn ours(folder: &Path) -> [Duration; 2] {
    let boot = || {
        let start = Instant::now();
        let (shell, _) = Shell::start(folder, "", None);
        (start.elapsed(), shell)
    };
    let booted = (0..BOOTS).map(|_| boot().0).min().unwrap();
    let (_, mut shell) = boot();
    let start = Instant::now();
    let text = shell.command("tests");
    assert!(text.contains(PASSED), "{text}");
    [booted, start.elapsed()]
}

/// The same on QEMU, if it is installed: up to a `halt` in the input, and with `tests` before it.
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
