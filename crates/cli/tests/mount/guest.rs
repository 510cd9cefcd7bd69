//! Mounts in the guest of `oracles/guest.sh`, whose kernel has FUSE: all tests of mounts where this machine cannot mount,
//! or with `BOARDLAB_FULL`; else the programs on one filesystem. Without the right to mount, as in most containers:
//! `setpriv --bounding-set=-sys_admin cargo test -p boardlab-cli --test cli mount::`.

use super::files::{MUST_MOUNT, is_usable};
use super::programs;
use crate::bench::full;
use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

/// A command of this machine that will run in the guest, with its arguments to come. `None`, with what is missing on
/// standard error, where the guest cannot be had.
fn in_guest(program: &str) -> Option<Command> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (script, guest) = (root.join("oracles/guest.sh"), root.join(".setup/guest"));
    let is_there = Command::new("qemu-system-x86_64").arg("--version").output().is_ok();
    let prepared = Command::new(&script).arg("prepare").arg(&guest).output().unwrap();
    if !is_there || !prepared.status.success() {
        let message = String::from_utf8_lossy(&prepared.stderr);
        let what = "qemu-system-x86_64 and the guest's kernel (setup/setup.sh test)";
        // The test harness swallows what `eprintln!` writes.
        let _ = writeln!(io::stderr(), "skipped: needs {what} {}", message.trim());
        return None;
    }
    let mut command = Command::new(script);
    command.arg("host").arg(guest).args(["env", &format!("{MUST_MOUNT}=1"), program]);
    command.env("GUEST_SECONDS", "1800");
    Some(command)
}

#[test]
fn mounts_work_in_the_guest_too() {
    if !full() && is_usable() {
        let Some(command) = in_guest(programs::SCRIPT) else { return };
        return programs::run(command, &["ubifs"]);
    }
    let tests = env::current_exe().unwrap();
    let Some(mut command) = in_guest(tests.to_str().unwrap()) else { return };
    let output = command.args(["mount::", "--skip", "mount::guest::"]).output().unwrap();
    let [told, wrong] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    let passed = told.lines().filter(|line| line.ends_with(" ... ok")).count();
    let skipped = [&told, &wrong].iter().any(|text| text.contains("skipped:"));
    assert!(output.status.success() && passed >= 8 && !skipped, "{told}{wrong}");
}
