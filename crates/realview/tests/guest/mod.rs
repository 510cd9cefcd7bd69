//! Builds the guest programs of `guests/` with arm-none-eabi-gcc, and runs them on QEMU's board.
//!
//! Included by the tests and benchmarks that need one. Without the compiler, [`build`] reports the
//! test as skipped.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests: each uses a part of it"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The compiler, a Debian package.
const COMPILER: &str = "arm-none-eabi-gcc";

/// The folder of the guest programs.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../realview/guests")
}

/// A temporary file.
fn file(name: &str, ending: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = name.replace('/', "-");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(folder).unwrap();
    folder.join(format!("guest-{name}-{}-{count}.{ending}", std::process::id()))
}

/// Builds `guests/NAME` (with `.c` or `.S`) with start-up code and support; `flags` come last.
/// Returns the ELF's path, or `None` if the compiler is not installed.
///
/// # Panics
///
/// If the program does not compile without warnings.
pub(crate) fn build(name: &str, flags: &[&str]) -> Option<PathBuf> {
    if Command::new(COMPILER).arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: needs {COMPILER}");
        return None;
    }
    let folder = sources();
    let elf = file(name, "elf");
    let output = Command::new(COMPILER)
        .args(["-mcpu=arm926ej-s", "-marm", "-O2", "-std=gnu11", "-ffreestanding", "-nostdlib"])
        .args(["-Wall", "-Wextra", "-Werror", "-g1", "-I"])
        .arg(&folder)
        .arg("-T")
        .arg(folder.join("guest.ld"))
        .args([folder.join("start.S"), folder.join("support.c"), folder.join(name)])
        .args(flags)
        .arg("-lgcc")
        .arg("-o")
        .arg(&elf)
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    Some(elf)
}

/// As [`build`], and the ELF's bytes.
pub(crate) fn build_bytes(name: &str, flags: &[&str]) -> Option<Vec<u8>> {
    let elf = build(name, flags)?;
    let bytes = fs::read(&elf).unwrap();
    fs::remove_file(elf).unwrap();
    Some(bytes)
}

/// Runs an ELF on QEMU's RealView EB with 128 MB and these further arguments, for at most a minute.
/// `None` if QEMU is not installed.
pub(crate) fn qemu(elf: &Path, arguments: &[&str]) -> Option<Output> {
    let output = Command::new("timeout")
        .args(["60", "qemu-system-arm", "-M", "realview-eb", "-cpu", "arm926", "-m", "128"])
        .args(["-nographic", "-semihosting", "-kernel"])
        .arg(elf)
        .args(arguments)
        .env("QEMU_AUDIO_DRV", "none")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if output.status.code() == Some(127) {
        eprintln!("skipped: needs qemu-system-arm");
        return None;
    }
    Some(output)
}
