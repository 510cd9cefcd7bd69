//! `boardlab completions`: shell completions of commands, options and names.

use crate::args::{Cli, Options};
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use clap::CommandFactory;
use clap_complete::{Generator, Shell, generate};

/// Prints the completions for `shell`, or writes them under the file name that the shell expects.
pub(super) fn perform(shell: Shell, options: &Options) -> Result<Status, Error> {
    let output = Output::of_files(options)?;
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, &mut command, &name, &mut script);
    output.file(&shell.file_name(&name), &script)
}
