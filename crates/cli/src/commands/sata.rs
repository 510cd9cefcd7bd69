//! `boardlab sata`: a SATA drive behind the host of the SATA evaluation.

use crate::args::{Form, Options, SataAction};
use crate::error::Error;
use crate::exit::Status;
use crate::output;
use crate::terminal::{self, Escaping};
use boardlab_lab::sata::console::{Console, ConsoleError, bench};
use std::io::{self, IsTerminal};

/// Does `action`.
pub(super) fn perform(action: &SataAction, options: &Options) -> Result<Status, Error> {
    let SataAction::Console { part, set } = action;
    if options.out.is_some() || !matches!(options.form(), Form::Table) {
        return Err(Error::NoResult(
            "redirect what it prints, such as: boardlab sata console < answers > printed",
        ));
    }
    output::expect_stdout()?;
    let machine = bench::open(part, set, options.seed)?;
    let (input, output) = (io::stdin().lock(), Escaping::new(io::stdout().lock()));
    let on_terminal = input.is_terminal();
    if on_terminal && !options.quiet {
        terminal::tell("a simulated drive; q or Ctrl-D ends");
    }
    match Console::new(machine, input, output, !on_terminal).run() {
        Ok(()) => Ok(Status::Done),
        Err(ConsoleError::Input(error)) => Err(Error::Stdin(error)),
        Err(ConsoleError::Output(error)) => output::finished(Err(error)),
    }
}
