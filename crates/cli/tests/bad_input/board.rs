//! Wrong board files.

use crate::case::Case;

const FILE: &str = "board.toml";

/// One wrong value.
pub(crate) const CASES: &[Case] = &[
    Case::line(
        "unknown key in a board",
        [
            FILE,
            "write_cycle",
            "write_cycl = { value = \"284 ns\", origin = \"assumed\", source = \"x\" }",
        ],
        "write_cycl",
        &["unknown key `write_cycl` in `board.bus`", "did you mean `write_cycle`?"],
    ),
    Case::line(
        "no chips",
        [FILE, "chips", "chips = { value = 0, origin = \"assumed\", source = \"x\" }"],
        "0",
        &["`board.bus.chips`: `0` is not from 1 to 16"],
    ),
    Case::line(
        "more chips than a bus has",
        [FILE, "chips", "chips = { value = 17, origin = \"assumed\", source = \"x\" }"],
        "17",
        &["`board.bus.chips`: `17` is not from 1 to 16"],
    ),
    Case::line(
        "chips as text",
        [FILE, "chips", "chips = { value = \"two\", origin = \"assumed\", source = \"x\" }"],
        "\"two\"",
        &["`board.bus.chips`: `two` is a string", "expected a whole number"],
    ),
    Case::line(
        "bus without time",
        [
            FILE,
            "read_cycle",
            "read_cycle = { value = \"0 ns\", origin = \"assumed\", source = \"x\" }",
        ],
        "\"0 ns\"",
        &["`board.bus.read_cycle`: `0 ns` is not from 1 ns to 1 ms"],
    ),
    Case::line(
        "no jiffies",
        [FILE, "jiffies", "jiffies = { value = \"0 Hz\", origin = \"assumed\", source = \"x\" }"],
        "\"0 Hz\"",
        &["`board.cpu.jiffies`: `0 Hz` is zero"],
    ),
    Case::line(
        "time base without unit",
        [
            FILE,
            "time_base",
            "time_base = { value = 33300000, origin = \"assumed\", source = \"x\" }",
        ],
        "33300000",
        &["`board.cpu.time_base`: `33300000` has no unit", "expected a frequency"],
    ),
    Case::line(
        "size as a rate",
        [
            FILE,
            "copy_rate",
            "copy_rate = { value = \"4 MiB\", origin = \"assumed\", source = \"x\" }",
        ],
        "",
        &["`board.cpu.copy_rate`", "expected a rate"],
    )
    .at("board.toml:"),
    Case::line(
        "rate over no time",
        [
            FILE,
            "copy_rate",
            "copy_rate = { value = \"4 MiB / 0 ms\", origin = \"assumed\", source = \"x\" }",
        ],
        "",
        &["`board.cpu.copy_rate`", "is zero"],
    )
    .at("board.toml:"),
    Case::no_section(
        "board without a CPU",
        [FILE, "[cpu]"],
        "board.toml:1:1",
        &["missing key `cpu` in `board`"],
    ),
    Case::zeros(FILE, 1 << 30, "scenario.toml:", &["cannot read `board.toml`: it is larger"]),
];
