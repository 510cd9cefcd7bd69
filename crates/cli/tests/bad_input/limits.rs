//! Values with the right unit that no device has: the models would run out of numbers or memory.

use crate::case::Case;

macro_rules! beyond {
    ($key:literal, $value:literal) => {
        Case::arguments(
            concat!("beyond any device: ", $key, "=", $value),
            &[
                "run",
                "nor-write",
                "--set",
                "workload.bytes=1KiB",
                "--set",
                concat!($key, "=", $value),
            ],
            &[concat!("`", $key, "`")],
        )
        .at("--set:1:")
    };
}

/// One value that is too large each.
pub(crate) const CASES: &[Case] = &[
    beyond!("board.bus.write_cycle", "100000 days"),
    beyond!("board.bus.read_cycle", "100000 days"),
    beyond!("board.cpu.call", "100000 days"),
    beyond!("board.cpu.split", "100000 days"),
    beyond!("board.cpu.context_switch", "100000 days"),
    beyond!("board.cpu.wake_latency", "100000 days"),
    beyond!("board.cpu.copy_rate", "1 B / 100000 days"),
    beyond!("linux.wait", "sleep 100000 days"),
    beyond!("tune.step", "100000 days"),
    beyond!("tune.quantile", "101 %"),
    beyond!("what_if.bus_cycle", "100000 days"),
    beyond!("part.timing.buffer_program_max", "100000 days"),
    beyond!("part.timing.sector_erase_max", "100000 days"),
    beyond!("part.timing.erase_window", "100000 days"),
    beyond!("part.timing.suspend_latency", "100000 days"),
    beyond!("part.timing.protected_latency", "100000 days"),
    beyond!("part.timing.reset_latency", "100000 days"),
    Case::arguments(
        "beyond any device: a part of 1 TiB",
        &[
            "run",
            "nor-write",
            "--set",
            "part.geometry.region.0.count=65536",
            "--set",
            "part.geometry.region.0.size=16 MiB",
        ],
        &["`part.geometry", "1 TiB"],
    )
    .at(""),
];
