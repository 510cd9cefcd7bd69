//! `boardlab completions`: the script by which a shell completes commands, options, names and keys.

use crate::args::Options;
use crate::completion;
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use clap_complete::{Generator, Shell};

/// Prints the script for `shell`, or writes it under the file name that the shell expects.
pub(super) fn perform(shell: Shell, options: &Options) -> Result<Status, Error> {
    let output = Output::of_files(options)?;
    let script = completion::registration(&shell.to_string());
    let script = script.expect("completion::SHELLS has each shell of clap_complete");
    output.file(&shell.file_name("boardlab"), &script)
}
