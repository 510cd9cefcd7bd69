//! The commands, one file each: they ask `boardlab_lab` and hand the result to the output.
//!
//! Layer: rank 12. Functions: [`perform`], and [`timed`] around what may take long.

mod compare;
mod completions;
mod image;
mod list;
mod man;
mod os;
mod report;
mod reproduce;
mod run;
mod sata;
mod sweep;

use crate::args::{Cli, Command, Options};
use crate::error::Error;
use crate::exit::Status;
use crate::progress::Progress;
use boardlab_experiment::{Action, Failure};
use std::time::Instant;

/// Does what the user asked for.
pub(crate) fn perform(cli: &Cli) -> Result<Status, Error> {
    let options = &cli.options;
    match &cli.command {
        Command::List { kinds } => list::perform(kinds, options),
        Command::Run(scenario) => run::perform(Action::Run, scenario, options),
        Command::Reproduce { names } => reproduce::perform(names, options),
        Command::Tune(scenario) => run::perform(Action::Tune, scenario, options),
        Command::Life(scenario) => run::perform(Action::Life, scenario, options),
        Command::Powercut(scenario) => run::perform(Action::PowerCut, scenario, options),
        Command::Sweep(arguments) => sweep::perform(arguments, options),
        Command::Report { runs } => report::perform(runs, options),
        Command::Compare { a, b } => compare::perform(a, b, options),
        Command::Image { action } => image::perform(action, options),
        Command::Sata { action } => sata::perform(action, options),
        Command::Os { action } => os::perform(action, options),
        Command::Completions { shell } => completions::perform(*shell, options),
        Command::Man => man::perform(options),
    }
}

/// What `make` gives, and the time on the wall in nanoseconds unless the user leaves it out.
/// Meanwhile a progress bar shows `name`.
fn timed<T>(
    name: &str,
    options: &Options,
    make: impl FnOnce(&(dyn Fn(boardlab_experiment::Progress<'_>) + Sync)) -> Result<T, Failure>,
) -> Result<(T, Option<u64>), Failure> {
    let bar = Progress::begin(name, options.quiet);
    let start = Instant::now();
    let made = make(&|progress| bar.report(progress))?;
    let elapsed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok((made, Some(elapsed).filter(|_| !options.no_wall_time)))
}
