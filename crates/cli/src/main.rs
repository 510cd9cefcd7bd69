//! The `boardlab` command: from arguments to files, text and an exit status.
//!
//! Layer: rank 12, on top of `lab` and `report`; the only crate that prints. In reading order:
//!
//! - [`args`]: every command and option, once; help, man pages and completions derive from it.
//! - [`commands`]: one file a command.
//! - [`completion`]: what a shell completes.
//! - [`measure`]: the agent on a board.
//! - [`saved`]: results that `report` and `compare` read back.
//! - [`defaults`]: the file of the user's defaults.
//! - [`output`]: standard output, [`pager`]: where it is tall, and [`closed`]: whether it is open; [`progress`]: the bar on
//!   standard error; [`terminal`]: the escapes for untrusted text.
//! - [`file`]: files written atomically; [`folder`]: the folder of `--out`, and [`manifest`]: the
//!   list of its files.
//! - [`error`]: the errors of the program, and [`exit`]: the exit status.
//!
//! Results go to standard output and everything else to standard error, so that `--format json` can
//! be piped. No figure is computed here.

mod args;
mod closed;
mod commands;
mod completion;
mod defaults;
mod error;
mod exit;
mod file;
mod folder;
mod manifest;
mod measure;
mod output;
mod pager;
mod progress;
mod saved;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = completion::answer() {
        return code;
    }
    match args::Cli::parse_or_explain() {
        Ok(mut cli) => exit::report(commands::perform(&mut cli), &cli.options),
        Err(code) => code,
    }
}
