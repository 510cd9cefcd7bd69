//! `boardlab` alone: what to try.

use crate::args::{Form, Options};
use crate::error::Error;
use crate::exit::Status;
use crate::output;

/// The words for somebody who has just installed the program.
const WORDS: &str = "\
boardlab predicts how fast flash, drivers and boards are, and compares with published figures.

Try:
  boardlab reproduce nor               a published evaluation: print, our figures, differences
  boardlab run nor-write               the same model, with settings of your own:
  boardlab run nor-write --set linux.wait=tuned
  boardlab tune nor-write              the best settings for a part
  boardlab life sd-life                how long a card lives under a load
  boardlab powercut nand-filesystems   what a power cut leaves of a filesystem

Find your way:
  boardlab list                        parts, boards and scenarios
  boardlab list keys nor-write         all that --set can change
  boardlab explain over-provisioning   a term, a key, a verdict or a table
  boardlab doctor                      what is installed beside boardlab, and what for
  boardlab COMMAND --help              options and examples of a command
";

/// Prints what to try.
pub(super) fn perform(options: &Options) -> Result<Status, Error> {
    if options.out.is_some() || !matches!(options.form(), Form::Table) {
        return Err(Error::NoResult(
            "name a command, such as: boardlab list --json, or boardlab run nor-write --out DIR",
        ));
    }
    output::print(WORDS.as_bytes())?;
    Ok(Status::Done)
}
