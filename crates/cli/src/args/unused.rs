//! Refuses options of every command that have no effect on a certain command.
//!
//! Layer: rank 12. Function: [`refuse`]. `--quiet`, `--no-quiet`, `--no-wall-time`,
//! `--color` and `--no-pager` are always allowed: a command without such output already complies.

use super::Form;
use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// An option that has no effect on some commands.
struct Unused {
    /// The option, without dashes.
    option: &'static str,
    /// The commands, each with its action if it has one.
    commands: &'static [&'static str],
    /// The reason.
    why: &'static str,
}

const UNUSED: [Unused; 5] = [
    Unused {
        option: "seed",
        commands: &[
            "list",
            "explain",
            "doctor",
            "report",
            "compare",
            "image info",
            "image ls",
            "image extract",
            "image check",
            "image diff",
            "image cat",
            "image stat",
            "image mount",
            "image apply",
            "os run",
            "os trace",
            "os debug",
            "measure run",
            "measure read",
            "measure agent",
            "completions",
            "man",
        ],
        why: "nothing is drawn at random",
    },
    Unused {
        option: "format",
        commands: &WITHOUT_RESULT,
        why: "there is no result to be shown in a form",
    },
    Unused {
        option: "json",
        commands: &WITHOUT_RESULT,
        why: "there is no result to be shown in a form",
    },
    Unused {
        option: "out",
        commands: &["image cat", "image mount", "measure plan", "measure agent"],
        why: "there is no result for a folder",
    },
    Unused {
        option: "restart",
        commands: &["sweep"],
        why: "there is no earlier sweep without --out",
    },
];

/// Commands without a result.
const WITHOUT_RESULT: [&str; 6] =
    ["image cat", "image mount", "measure plan", "measure agent", "completions", "man"];

/// Commands whose results never have output of fio.
const WITHOUT_FIO: [&str; 21] = [
    "list",
    "explain",
    "doctor",
    "reproduce",
    "tune",
    "life",
    "powercut",
    "advise",
    "sweep",
    "compare",
    "image info",
    "image ls",
    "image extract",
    "image check",
    "image apply",
    "image create",
    "image convert",
    "image diff",
    "image stat",
    "measure run",
    "measure read",
];

/// Refuses options that have no effect on the given command.
pub(super) fn refuse(top: &mut Command, matches: &ArgMatches) -> Result<(), Error> {
    let (mut path, mut last) = (String::new(), matches);
    while let Some((name, below)) = last.subcommand() {
        path = if path.is_empty() { name.into() } else { format!("{path} {name}") };
        last = below;
    }
    let given = |option: &str| {
        let known = last.try_contains_id(option).unwrap_or(false);
        known && last.value_source(option) == Some(ValueSource::CommandLine)
    };
    // Of two on one level the later one holds; clap keeps both where one stands before the command.
    if given("quiet") && given("no_quiet") {
        let text = "`--quiet` and `--no-quiet` contradict each other; leave one out";
        return Err(top.error(ErrorKind::ArgumentConflict, text));
    }
    let mut refused = |option: &str, why: &str| {
        let text = format!("`--{option}` has no effect on `boardlab {path}`: {why}; leave it out");
        Err(top.error(ErrorKind::ArgumentConflict, text))
    };
    // `list` stands for all that it lists.
    let is_one_of = |command: &&str| *command == path || path.starts_with(&format!("{command} "));
    for one in &UNUSED {
        // A sweep with `--out` keeps its points, so it can restart.
        let kept = one.option == "restart" && given("out");
        if one.commands.iter().any(is_one_of) && given(one.option) && !kept {
            return refused(one.option, one.why);
        }
    }
    let form = given("format").then(|| last.get_one::<Form>("format")).flatten();
    let form = form.or_else(|| given("json").then_some(&Form::Json));
    let is_whole = form.is_some_and(|form| !matches!(form, Form::Table));
    if let Some(extent) = ["full", "no_full"].into_iter().find(|one| is_whole && given(one)) {
        return refused(&extent.replace('_', "-"), "this form is always whole");
    }
    let of_fio = form.is_some_and(|form| form.of_result().is_err());
    let without = WITHOUT_FIO.iter().any(is_one_of) || path == "os run";
    if of_fio && without {
        return refused("format", "fio's own forms are for jobs of fio, which `boardlab run` runs");
    }
    Ok(())
}
