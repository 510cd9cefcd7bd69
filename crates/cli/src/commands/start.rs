//! `boardlab` alone: what to try.

use crate::args::{Form, Options};
use crate::error::Error;
use crate::exit::Status;
use crate::output;
use std::fmt::Write as _;

/// What boardlab is, in lines for a terminal of 60 columns.
const OPENING: &str = "\
boardlab predicts how fast flash, drivers and boards are,
and compares with published figures.
";

/// The commands for somebody who has just installed the program, each with what it shows.
const ADVICE: [(&str, &[(&str, &str)]); 2] = [
    (
        "Try:",
        &[
            ("boardlab reproduce nor", "a published evaluation, with our figures"),
            ("boardlab run nor-write", "the same model, with settings of your own:"),
            ("boardlab run nor-write --set linux.wait=tuned", ""),
            ("boardlab tune nor-write", "the best settings for a part"),
            ("boardlab life sd-life", "how long a card lives under a load"),
            ("boardlab powercut nand-filesystems", "what a power cut leaves of a filesystem"),
        ],
    ),
    (
        "Find your way:",
        &[
            ("boardlab list", "parts, boards and scenarios"),
            ("boardlab list keys nor-write", "all that --set can change"),
            ("boardlab explain over-provisioning", "a term, a key, a verdict or a table"),
            ("boardlab doctor", "what is installed, and what for"),
            ("boardlab COMMAND --help", "options and examples of a command"),
        ],
    ),
];

/// The columns of the commands where their words stand beside them.
const BESIDE: usize = 34;
/// The width from which all words fit beside the commands.
const WIDE: usize = 80;

/// Prints what to try.
pub(super) fn perform(options: &Options) -> Result<Status, Error> {
    if options.out.is_some() || !matches!(options.form(), Form::Table) {
        return Err(Error::NoResult(
            "name a command, such as: boardlab list --json, or boardlab run nor-write --out DIR",
        ));
    }
    output::print(words(output::width() >= WIDE).as_bytes())?;
    Ok(Status::Done)
}

/// The advice, with the words beside the commands or, on a narrow terminal, below them.
fn words(wide: bool) -> String {
    let mut text = String::from(OPENING);
    for (heading, lines) in ADVICE {
        let _ = write!(text, "\n{heading}\n");
        for (command, words) in lines {
            let _ = match (words.is_empty(), wide) {
                (true, _) => writeln!(text, "  {command}"),
                (false, true) => writeln!(text, "  {command:BESIDE$}  {words}"),
                (false, false) => writeln!(text, "  {command}\n      {words}"),
            };
        }
    }
    text
}
