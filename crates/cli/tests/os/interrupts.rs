//! How long the operating system's interrupts are off when many processes are woken at once.

use crate::bench::{Scratch, run_fed};
use crate::guest::is_there;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Cycles that interrupts may be off, unless all of a cache is flushed at a stretch.
const MOST: u64 = 2_000;
/// Below it the system starts, with interrupts off.
const KERNEL: u32 = 0xC000_0000;
const PASSED: &str = "ALL TESTS PASSED";
/// Wakes as many processes at once as there can be, which wait for all kinds of things.
const HERDS: &str = "tests many_sleep_to_one_tick many_read_one_pipe many_see_the_end_of_a_pipe many_wait_for_a_child";

/// Cycles of the longest stretches while this is done under these options, without the start.
fn longest(folder: &Path, options: &str, typed: &str, expected: &str) -> Vec<(String, u64)> {
    let command_line = format!("kernel.elf {options}");
    let arguments = [
        "os",
        "run",
        "kernel.elf",
        "--command-line",
        &command_line,
        "--profile",
        "--format",
        "json",
    ];
    let outcome = run_fed(folder, &format!("{typed}\nhalt\n"), &arguments);
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    let result: Value = serde_json::from_str(&outcome.success()).unwrap();
    let tables = result["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["id"] == "interrupts-off").unwrap();
    let calls = tables.iter().find(|table| table["id"] == "calls").unwrap().to_string();
    assert!(calls.contains("sys_write"), "the kernel's calls have names: {calls}");
    let stretch = |row: &Value| {
        let from = row["cells"]["from"]["value"].as_str().unwrap().to_owned();
        let at = u32::from_str_radix(&from[2..10], 16).unwrap();
        (at >= KERNEL).then(|| (from, row["cells"]["cycles_count"]["value"].as_u64().unwrap()))
    };
    table["rows"].as_array().unwrap().iter().filter_map(stretch).collect()
}

#[test]
fn interrupts_are_off_for_2000_cycles_at_most_whoever_is_woken_and_however_spaces_are_switched() {
    if !is_there("arm-none-eabi-gcc") {
        return;
    }
    let scratch = Scratch::new();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../os");
    let out = format!("OUT={}", scratch.path().display());
    let made = Command::new("make").arg("-sC").arg(sources).args([&out, "all"]).status().unwrap();
    assert!(made.success());
    let pipes = "tests bytes_come_in_order several_writers";
    let beside_large = format!("bench large 40 &\n{pipes}");
    for (options, typed, expected) in [
        ("", HERDS, PASSED),
        // The large process takes its memory while the first test runs, which misses it.
        ("", &*beside_large, "ok several_writers"),
        ("slots=2", pipes, PASSED),
        ("fcse=0", pipes, PASSED),
    ] {
        let all = longest(scratch.path(), options, typed, expected);
        assert!(all.len() > 3, "{all:?}");
        for (from, cycles) in all {
            assert!(cycles <= MOST, "{options}, {typed}: {cycles} cycles from {from} on");
        }
    }
    let (_, at_a_stretch) = longest(scratch.path(), "fcse=0 ahead=0", pipes, PASSED)[0];
    assert!(at_a_stretch > MOST, "{at_a_stretch}");
}
