//! Wrong scenario files.

use crate::case::Case;

const FILE: &str = "scenario.toml";

/// One wrong value.
pub(crate) const VALUES: &[Case] = &[
    Case::line(
        "unknown key in a scenario",
        [FILE, "check_erased", "check_erasd = false"],
        "check_erasd",
        &["unknown key `check_erasd` in `uboot`", "did you mean `check_erased`?"],
    ),
    Case::line(
        "unknown section",
        [FILE, "step =", "step = \"1 us\"\n[colour]"],
        "colour",
        &["unknown key `colour`", "known: title, experiment"],
    ),
    Case::line(
        "missing key",
        [FILE, "quantile", ""],
        "",
        &["missing key `quantile` in `tune`", "add a line like quantile = \"10 %\""],
    )
    .at("scenario.toml:"),
    Case::no_section(
        "missing section",
        [FILE, "[tune]"],
        "scenario.toml:1:1",
        &["missing key `tune`", "expected", "[tune]"],
    ),
    Case::line(
        "missing unit",
        [FILE, "poll_cost", "poll_cost = \"0.57\""],
        "\"0.57\"",
        &["`tune.poll_cost`: `0.57` has no unit", "expected a duration", "units: ns us ms"],
    ),
    Case::line(
        "bare number",
        [FILE, "step", "step = 1"],
        "1",
        &["`tune.step`: `1` has no unit", "write it like \"256 us\""],
    ),
    Case::line(
        "wrong unit",
        [FILE, "bytes", "bytes = \"64 us\""],
        "\"64 us\"",
        &["`workload.bytes`: `64 us` has `us`, a unit of time", "expected a size"],
    ),
    Case::line(
        "unknown unit",
        [FILE, "bytes", "bytes = \"64 Mib\""],
        "\"64 Mib\"",
        &["unknown unit `Mib`", "did you mean `MiB`?"],
    ),
    Case::line(
        "negative time",
        [FILE, "step", "step = \"-1 us\""],
        "\"-1 us\"",
        &["`tune.step`: `-1 us` is negative", "never below zero"],
    ),
    Case::line(
        "zero bytes",
        [FILE, "bytes", "bytes = \"0 B\""],
        "\"0 B\"",
        &["`workload.bytes`: `0 B` is zero", "use a value above zero"],
    ),
    Case::line(
        "time beyond u64 nanoseconds",
        [FILE, "step", "step = \"18446744073709551616 ns\""],
        "\"18446744073709551616 ns\"",
        &["`tune.step`", "is larger than 9223372036854775807 nanoseconds"],
    ),
    Case::line(
        "size beyond u64 bytes",
        [FILE, "bytes", "bytes = \"16777217 TiB\""],
        "\"16777217 TiB\"",
        &["`workload.bytes`", "is larger than 9223372036854775807 bytes"],
    ),
    Case::line(
        "integer beyond 128 bits",
        [FILE, "step", "step = 999999999999999999999999999999999999999999"],
        "9999",
        &["`tune.step`", "has no unit"],
    ),
    Case::line(
        "ratio without unit",
        [FILE, "quantile", "quantile = 0.05"],
        "0.05",
        &["`tune.quantile`: `0.05` has no unit", "units: % ppm"],
    ),
    Case::line(
        "time with a decimal too many",
        [FILE, "step", "step = \"0.5 ns\""],
        "\"0.5 ns\"",
        &["`0.5 ns` is not a whole number of nanoseconds"],
    ),
    Case::line(
        "unknown driver",
        [FILE, "driver = \"linux", "driver = \"linux-3.5\""],
        "\"linux-3.5\"",
        &["`linux.driver`: `linux-3.5` is not known", "did you mean `linux-3.4`?"],
    ),
    Case::line(
        "unknown wait",
        [FILE, "wait = \"word-time\"", "wait = \"word-tme\""],
        "\"word-tme\"",
        &["`linux.wait`: `word-tme` is not known", "did you mean `word-time`?"],
    ),
    Case::line(
        "wait without unit",
        [FILE, "wait = \"word-time\"", "wait = \"170\""],
        "\"170\"",
        &["`linux.wait`: `170` has no unit"],
    ),
    Case::line(
        "wait in parts of a microsecond",
        [FILE, "wait = \"word-time\"", "wait = \"170.5 us\""],
        "\"170.5 us\"",
        &["`linux.wait`: `170.5 us` cannot be waited with udelay", "whole microseconds"],
    ),
    Case::line(
        "wait longer than udelay takes",
        [FILE, "wait = \"word-time\"", "wait = \"2 s\""],
        "\"2 s\"",
        &["`linux.wait`: `2 s` cannot be waited with udelay", "up to 1 s"],
    ),
    Case::line(
        "wait of another type",
        [FILE, "wait = \"word-time\"", "wait = true"],
        "true",
        &["`linux.wait`: `true` is a boolean"],
    ),
    Case::line(
        "sleep without a time",
        [FILE, "wait = \"word-time\"", "wait = \"sleep\""],
        "\"sleep\"",
        &["`linux.wait`"],
    ),
    Case::line(
        "poll gap in parts of a microsecond",
        [FILE, "poll_gap", "poll_gap = \"1.5 us\""],
        "\"1.5 us\"",
        &["`uboot.poll_gap`: `1.5 us` cannot be waited with udelay", "write poll_gap = \"1 us\""],
    ),
    Case::line(
        "unknown pattern",
        [FILE, "pattern", "pattern = \"zeroes\""],
        "\"zeroes\"",
        &["`workload.pattern`: `zeroes` is not known", "did you mean `zeros`?"],
    ),
    Case::line(
        "unknown experiment in a scenario",
        [FILE, "experiment", "experiment = \"nor-writ\""],
        "\"nor-writ\"",
        &["`experiment`: `nor-writ` is not known", "did you mean `nor-write`?"],
    ),
    Case::line(
        "empty title",
        [FILE, "title", "title = \" \""],
        "\" \"",
        &["`title`", "is empty", "expected text"],
    ),
    Case::line(
        "unknown part",
        [FILE, "part", "part = \"nor-evaluatoin\""],
        "\"nor-evaluatoin\"",
        &["unknown part `nor-evaluatoin`", "did you mean `nor-evaluation`?"],
    ),
    Case::line(
        "unknown board",
        [FILE, "board", "board = \"z80\""],
        "\"z80\"",
        &["unknown board `z80`", "known: ", "powerpc-800"],
    ),
    Case::line(
        "part file that is missing",
        [FILE, "part", "part = \"parts/mine.toml\""],
        "\"parts/mine.toml\"",
        &["cannot read `parts/mine.toml`: there is no such file", "boardlab list"],
    ),
    Case::line(
        "folder as a part",
        [FILE, "part", "part = \"./\""],
        "\"./\"",
        &["it is a directory", "name a .toml file"],
    ),
    Case::line(
        "number as a part",
        [FILE, "part", "part = 7"],
        "7",
        &["`part`: `7` is an integer", "part = \"NAME\""],
    ),
    Case::line(
        "device as a board",
        [FILE, "board", "board = \"/dev/zero\""],
        "\"/dev/zero\"",
        &["it is not a regular file"],
    ),
    Case::line(
        "key written twice",
        [FILE, "step", "step = \"1 us\"\nstep = \"2 us\""],
        "step = \"2 us\"",
        &["duplicate key", "write each key and each section once"],
    ),
    Case::line(
        "section written twice",
        [FILE, "step", "step = \"1 us\"\n[linux]"],
        "linux]",
        &["duplicate key", "write each key and each section once"],
    ),
    Case::line(
        "text without a closing quote",
        [FILE, "pattern", "pattern = \"zeros"],
        "",
        &["not TOML: invalid basic string", "expected `\"`"],
    )
    .at("scenario.toml:"),
    Case::line(
        "text without quotes",
        [FILE, "pattern", "pattern = zeros"],
        "zeros",
        &["not TOML", "text and quantities stand in quotes"],
    ),
];

/// Other files in place of a scenario.
pub(crate) const FILES: &[Case] = &[
    Case::whole(FILE, b"", "scenario.toml:1:1", &["missing key `experiment`", "expected"])
        .called("empty file"),
    Case::whole(FILE, b"a = 1\nb = \"\xff\"\n", FILE, &["byte 11 is not UTF-8", "UTF-8"])
        .called("file in another encoding"),
    Case::whole(FILE, b"\x7fELF\x02\x01\x01\0\0\0", "scenario.toml:1:1", &["not TOML"])
        .called("program as a scenario"),
    Case::zeros(FILE, (1 << 20) + 1, FILE, &["it is larger than 1048576 bytes", "a few KiB"]),
    Case::whole(FILE, DEEP.as_bytes(), "scenario.toml:1:", &["not TOML"]).called("deep nesting"),
    Case::arguments(
        "missing scenario file",
        &["run", "mine.toml"],
        &["cannot read `mine.toml`: there is no such file", "boardlab list"],
    )
    .at("mine.toml"),
    Case::arguments(
        "folder as a scenario",
        &["run", "./"],
        &["cannot read `./`: it is a directory"],
    )
    .at("./"),
    Case::arguments("device as a scenario", &["run", "/dev/zero"], &["it is not a regular file"])
        .at("/dev/zero"),
    Case::arguments("unreadable scenario", &["run", "/proc/self/mem"], &["cannot read"])
        .at("/proc/self/mem"),
    Case::arguments(
        "unknown scenario",
        &["run", "nor-wirte"],
        &["unknown scenario `nor-wirte`", "did you mean `nor-write`?"],
    ),
    Case::arguments(
        "nameless scenario",
        &["run", ""],
        &["unknown scenario ``", "known: ", "nor-write"],
    ),
    Case::arguments(
        "scenario whose kernel is not there",
        &["run", "context-switch", "--set", "kernel=no-such.elf"],
        &["`kernel`", "no-such.elf", "no such file"],
    ),
];

/// Lists in lists, deeper than any document.
const DEEP: &str = "\
    a = [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\
    [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[";
