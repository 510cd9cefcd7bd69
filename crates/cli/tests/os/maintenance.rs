//! The operating system's maintenance of caches and TLB: what happens when a call of it is missing.

use crate::bench::full;
use crate::guest::is_there;
use std::path::Path;
use std::process::Command;

/// Lines of data, and the cleaning that shortens the time with interrupts off; all calls in the long form.
const SAMPLE: [&str; 4] = ["--only", "7", "--only", "10"];

#[test]
fn a_missing_call_of_maintenance_is_found_here_and_not_on_qemu() {
    if !["arm-none-eabi-gcc", "qemu-system-arm"].into_iter().all(is_there) {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../os/tests/maintenance.py");
    let output = Command::new("python3")
        .arg(script)
        .args(["--simulator", env!("CARGO_BIN_EXE_boardlab")])
        .args(if full() { &[] } else { &SAMPLE[..] })
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let caches = text.lines().find(|line| line.starts_with("caches: ")).unwrap();
    assert!(caches.ends_with("by QEMU 0"), "{text}");
}
