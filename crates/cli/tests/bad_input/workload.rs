//! Data that cannot be written.

use crate::case::Case;

const RUN: &[&str] = &["run", "scenario.toml"];

const fn set(
    name: &'static str,
    argument: &'static [&'static str],
    says: &'static [&'static str],
) -> Case {
    Case::arguments(name, argument, says).at("--set:1:15")
}

/// One wrong file or size.
pub(crate) const CASES: &[Case] = &[
    set(
        "missing data file",
        &["run", "scenario.toml", "--set", "workload.file=firmware.bin"],
        &["`workload.file`: `firmware.bin` cannot be read: no such file", "give the path of"],
    ),
    set(
        "folder as data",
        &["run", "scenario.toml", "--set", "workload.file=."],
        &["`workload.file`: `.` is a directory"],
    ),
    set(
        "device as data",
        &["run", "scenario.toml", "--set", "workload.file=/dev/zero"],
        &["`workload.file`: `/dev/zero` is not a regular file"],
    ),
    set(
        "nothing as data",
        &["run", "scenario.toml", "--set", "workload.file=/dev/null"],
        &["`workload.file`: `/dev/null` is not a regular file"],
    ),
    set(
        "unreadable data",
        &["run", "scenario.toml", "--set", "workload.file=/proc/self/mem"],
        &["`workload.file`: `/proc/self/mem`", "expected a readable file"],
    ),
    set(
        "nameless data file",
        &["run", "scenario.toml", "--set", "workload.file=\"\""],
        &["`workload.file`", "is empty"],
    ),
    Case::whole("data.bin", b"", "--set:1:15", &["`workload.file`: `data.bin` is empty"])
        .with(&["run", "scenario.toml", "--set", "workload.file=data.bin"])
        .called("empty data file"),
    Case::zeros(
        "data.bin",
        (128 << 20) + 1,
        "--set:1:15",
        &["`workload.file`: `data.bin` has 134217729 bytes, which do not fit the flash of 128 MiB"],
    )
    .with(&["run", "scenario.toml", "--set", "workload.file=data.bin"]),
    Case::line(
        "size beyond the part",
        ["scenario.toml", "bytes", "bytes = \"129 MiB\""],
        "\"129 MiB\"",
        &["`workload.bytes`", "129 MiB", "fit the flash of 128 MiB"],
    )
    .with(RUN),
    Case::line(
        "data file that is a number",
        ["scenario.toml", "bytes", "bytes = \"1 KiB\"\nfile = 7"],
        "7",
        &["`workload.file`: `7` is an integer", "expected text"],
    ),
];
