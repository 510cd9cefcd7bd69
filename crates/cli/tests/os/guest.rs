//! Programs for the tests, built with the start-up code of the board's own test programs.

use crate::bench::Scratch;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const COMPILER: &str = "arm-none-eabi-gcc";

/// Whether `tool` is there; says so if not.
pub(crate) fn is_there(tool: &str) -> bool {
    let mut command = Command::new(tool);
    let asked = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let there = asked.is_ok_and(|status| status.success());
    if !there {
        eprintln!("skipped: needs {tool}");
    }
    there
}

/// Builds `tests/os/guests/NAME.c`, or else the board's own program of this name, into `scratch`, by the name
/// `NAME.elf`. Nothing where the compiler is absent.
pub(crate) fn build(scratch: &Scratch, name: &str, flags: &[&str]) -> Option<PathBuf> {
    if !is_there(COMPILER) {
        return None;
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let support = crates.join("realview/guests");
    let own = crates.join(format!("cli/tests/os/guests/{name}.c"));
    let source = if own.exists() { own } else { support.join(format!("{name}.c")) };
    let elf = scratch.path().join(format!("{name}.elf"));
    let output = Command::new(COMPILER)
        .args(["-mcpu=arm926ej-s", "-marm", "-O1", "-g", "-std=gnu11", "-ffreestanding"])
        .args(["-nostdlib", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(&support)
        .arg("-T")
        .arg(support.join("guest.ld"))
        .args([support.join("start.S"), support.join("support.c"), source])
        .args(flags)
        .args(["-lgcc", "-o"])
        .arg(&elf)
        .output()
        .expect("the compiler was there just now");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    Some(elf)
}

/// Starts `boardlab` in `scratch` with pipes to speak through; it is ended after a minute.
pub(crate) fn start(scratch: &Scratch, arguments: &[&str]) -> Child {
    Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_boardlab")])
        .args(arguments)
        .current_dir(scratch.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}
