//! How long the operating system's interrupts are off when many processes are woken at once.

use crate::bench::{Scratch, run_fed};
use crate::guest::is_there;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Cycles that interrupts may be off with FCSE.
const MOST: u64 = 2_000;
/// Below it the system starts, with interrupts off.
const KERNEL: u32 = 0xC000_0000;

#[test]
fn interrupts_are_off_for_2000_cycles_at_most_also_when_50_processes_are_woken() {
    if !is_there("arm-none-eabi-gcc") {
        return;
    }
    let scratch = Scratch::new();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../os");
    let out = format!("OUT={}", scratch.path().display());
    let made = Command::new("make").arg("-sC").arg(sources).args([&out, "all"]).status().unwrap();
    assert!(made.success());
    let typed =
        "tests many_sleep_to_one_tick many_read_one_pipe many_see_the_end_of_a_pipe\nhalt\n";
    let arguments = ["os", "run", "kernel.elf", "--profile", "--format", "json"];
    let outcome = run_fed(scratch.path(), typed, &arguments);
    assert!(outcome.stderr.contains("ALL TESTS PASSED"), "{}", outcome.stderr);
    let result: Value = serde_json::from_str(&outcome.success()).unwrap();
    let tables = result["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["id"] == "interrupts-off").unwrap();
    let mut seen = 0;
    for row in table["rows"].as_array().unwrap() {
        let from = row["cells"]["from"]["value"].as_str().unwrap();
        let cycles = row["cells"]["cycles_count"]["value"].as_u64().unwrap();
        let at = u32::from_str_radix(&from[2..10], 16).unwrap();
        assert!(at < KERNEL || cycles <= MOST, "{from}: {cycles} cycles");
        seen += u32::from(at >= KERNEL);
    }
    assert!(seen > 3, "{table}");
}
