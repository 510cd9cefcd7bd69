//! Wrong `--set` arguments.

use crate::case::Case;

macro_rules! set {
    ($name:literal, $argument:literal, $place:literal, $says:expr $(,)?) => {
        Case::arguments($name, &["run", "nor-write", "--set", $argument], $says).at($place)
    };
}

/// One wrong argument.
pub(crate) const CASES: &[Case] = &[
    set!("set without value", "linux.wait", "--set:1:1", &["`linux.wait` has no `=`", "KEY=VALUE"]),
    set!("set of nothing", "", "--set:1:1", &["has no `=`", "KEY=VALUE"]),
    set!("set without key", "=170us", "--set:1:1", &["empty", "write --set SECTION.KEY=VALUE"]),
    set!("set with an empty part", "linux..wait=170us", "--set:1:7", &["empty"]),
    set!("set to nothing", "linux.wait=", "--set:1:12", &["`linux.wait`: the value is"]),
    set!(
        "set of an unknown key",
        "linux.wayt=170us",
        "--set:1:7",
        &["unknown key `wayt` in `linux`", "did you mean `wait`?",]
    ),
    set!(
        "set of an unknown section",
        "linus.wait=170us",
        "--set:1:1",
        &["unknown key `linus`", "did you mean `linux",]
    ),
    set!(
        "set without section",
        "write_cycle=100ns",
        "--set:1:1",
        &["unknown key `write_cycle`", "did you mean `board.bus.write_cycle`?",]
    ),
    set!(
        "set below a value",
        "linux.wait.x=1",
        "--set:1:12",
        &["`linux.wait` is a string and has no keys"]
    ),
    set!("set of a section", "linux=1", "--set:1:7", &["`linux`: `1` is an integer", "a section"]),
    set!(
        "set to another type",
        "board.bus.chips=two",
        "--set:1:17",
        &["`board.bus.chips`: `two` is a string", "expected a whole number",]
    ),
    set!(
        "set to another unit",
        "linux.wait=170KiB",
        "--set:1:12",
        &["`linux.wait`: `170KiB` has `KiB`, a unit of size",]
    ),
    set!(
        "set to a bare number",
        "linux.poll_gap=1",
        "--set:1:16",
        &["`linux.poll_gap`: `1` has no unit",]
    ),
    set!("set to a negative time", "linux.poll_gap=-1us", "--set:1:16", &["`-1us` is negative"]),
    set!(
        "set beyond the limits",
        "board.bus.chips=17",
        "--set:1:17",
        &["`17` is not from 1 to 16",]
    ),
    set!(
        "set of an entry that is not there",
        "part.geometry.region.1.count=4",
        "--set:1:22",
        &["`part.geometry.region`", "expected",]
    ),
    set!(
        "set of an unknown part",
        "part=nor-eval",
        "--set:1:6",
        &["unknown part `nor-eval`", "did you mean `nor-evaluation`?",]
    ),
    set!(
        "set of a missing board file",
        "board=mine.toml",
        "--set:1:7",
        &["cannot read `mine.toml`: there is no such file",]
    ),
    set!("set of a deep key", "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=1", "--set:1:33", &["16"]),
    set!("set of a hostile key", "\u{1b}[2J=1", "--set:1:1", &["unknown key `\\u{1b}[2J`"]),
    set!("set to a hostile value", "linux.wait=\u{1b}[2J", "--set:1:12", &["`linux.wait`"]),
];
