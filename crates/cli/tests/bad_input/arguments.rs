//! Wrong arguments, and folders that cannot be written.

use crate::case::Case;

/// Wrong commands, options and names.
pub(crate) const CASES: &[Case] = &[
    Case::arguments("unknown command", &["lits"], &["unrecognized subcommand 'lits'", "'list'"]),
    Case::arguments("unknown option", &["list", "--sed", "1"], &["'--sed'", "--seed?"]),
    Case::arguments("run without scenario", &["run"], &["<SCENARIO>", "Usage: boardlab run"]),
    Case::arguments("run of two scenarios", &["run", "a", "b"], &["unexpected argument 'b'"]),
    Case::arguments("set without argument", &["run", "a", "--set"], &["--set <KEY=VALUE>"]),
    Case::arguments(
        "seed that is no number",
        &["list", "--seed", "one"],
        &[
            "invalid value 'one' for '--seed <N>'",
            "expected a whole number from 0 to 18446744073709551615",
        ],
    ),
    Case::arguments("negative seed", &["list", "--seed", "-1"], &["'-1'", "from 0 to"]),
    Case::arguments("seed beyond u64", &["list", "--seed", "18446744073709551616"], &["from 0 to"]),
    Case::arguments("unknown form", &["list", "--format", "xml"], &["'xml'", "table, json, csv"]),
    Case::arguments("unknown colour", &["list", "--color", "blue"], &["auto, always, never"]),
    Case::arguments("unknown kind", &["list", "part"], &["'part'", "'parts'"]),
    Case::arguments(
        "unknown shell",
        &["completions", "tcsh"],
        &["'tcsh'", "fish, powershell, zsh]\n\nFor more information"],
    ),
    Case::arguments(
        "unknown evaluation",
        &["reproduce", "nro"],
        &["unknown evaluation `nro`", "did you mean `nor`?"],
    ),
    Case::arguments(
        "unknown evaluation among known ones",
        &["reproduce", "fcse", "x"],
        &["unknown evaluation `x`", "known: nor, nor-write"],
    ),
    Case::arguments(
        "tune of an unknown scenario",
        &["tune", "nor-wrte"],
        &["unknown scenario `nor-wrte`", "did you mean `nor-write`?"],
    ),
    Case::arguments(
        "tune of what cannot be tuned",
        &["tune", "context-switch"],
        &["`tune` has no meaning for `context-switch`", "boardlab list scenarios"],
    ),
    Case::arguments("report of nothing", &["report"], &["<RUN>...", "Usage: boardlab report"]),
    Case::arguments(
        "compare of one result",
        &["compare", "a.json"],
        &["<B>", "Usage: boardlab compare"],
    ),
    Case::arguments("compare of three results", &["compare", "a", "b", "c"], &["'c'"]),
    Case::arguments("man page of a command", &["man", "run"], &["unexpected argument 'run'"]),
];

/// Wrong arguments of `--out`.
pub(crate) const FOLDERS: &[Case] = &[
    Case::arguments(
        "file as a folder",
        &["list", "--out", "part.toml"],
        &["`--out`: `part.toml` is not a folder", "one that does not exist yet"],
    )
    .at("part.toml"),
    Case::arguments(
        "folder below a file",
        &["run", "nor-write", "--out", "part.toml/a/b"],
        &["`--out`: `part.toml` is not a folder"],
    )
    .at("part.toml"),
    Case::arguments("device as a folder", &["list", "--out", "/dev/null"], &["is not a folder"])
        .at("/dev/null"),
    Case::arguments("nameless folder", &["list", "--out", ""], &["--out <DIR>"]),
    Case::arguments(
        "folder that cannot be made",
        &["list", "--out", "/proc/boardlab"],
        &["cannot write `/proc/boardlab`", "name another folder with --out"],
    )
    .at("/proc/boardlab"),
    Case::arguments(
        "folder in the place of a file",
        &["list", "--out", "."],
        &["cannot write `./result.json`: is a directory"],
    )
    .folder("result.json")
    .at("./result.json"),
    Case::arguments("man pages into a file", &["man", "--out", "part.toml"], &["is not a folder"])
        .at("part.toml"),
];
