//! The commands, one file each: they call `boardlab_lab` and pass the result to the output.
//!
//! Layer: rank 12. Functions: [`perform`], and [`timed`] for long work.

mod compare;
mod completions;
mod create;
mod doctor;
mod explain;
mod image;
mod list;
mod man;
mod measure;
mod mount;
mod os;
mod overlay;
mod report;
mod reproduce;
mod run;
mod sata;
mod start;
mod sweep;

use crate::args::{Cli, Command, Options, Scenario};
use crate::defaults;
use crate::error::Error;
use crate::exit::Status;
use crate::progress::Progress;
use boardlab_experiment::{Action, Failure};
use boardlab_lab::registry::{self, OpenScenario};
use std::time::Instant;

/// Performs the user's command, with the user's defaults for what `cli` leaves out.
pub(crate) fn perform(cli: &mut Cli) -> Result<Status, Error> {
    match defaults::read() {
        Ok(defaults) => defaults.apply(cli),
        // `doctor` says so itself; the others have no use for defaults, and shells call them as they start.
        Err(_)
            if matches!(
                cli.command,
                None | Some(Command::Doctor | Command::Completions { .. } | Command::Man)
            ) => {}
        Err(error) => return Err(error),
    }
    let options = &cli.options;
    let Some(command) = &cli.command else { return start::perform(options) };
    match command {
        Command::List { topic } => list::perform(topic.as_ref(), options),
        Command::Explain { words } => explain::perform(words, options),
        Command::Doctor => doctor::perform(options),
        Command::Run(arguments) => run::run(arguments, options),
        Command::Reproduce { names, extent } => reproduce::perform(names, extent.full, options),
        Command::Tune(scenario) => run::perform(Action::Tune, scenario, options),
        Command::Life(scenario) => run::perform(Action::Life, scenario, options),
        Command::Powercut(scenario) => run::perform(Action::PowerCut, scenario, options),
        Command::Advise(asked) => run::perform(Action::Advise, &asked.scenario(), options),
        Command::Sweep(arguments) => sweep::perform(arguments, options),
        Command::Report { runs, extent } => report::perform(runs, extent.full, options),
        Command::Compare { a, b } => compare::perform(a, b, options),
        Command::Image { action } => image::perform(action, options),
        Command::Measure { action } => measure::perform(action, options),
        Command::Sata { action } => sata::perform(action, options),
        Command::Os { action } => os::perform(action, options),
        Command::Completions { shell } => completions::perform(*shell, options),
        Command::Man => man::perform(options),
    }
}

/// The scenario, opened for the command `typed`.
fn opened(typed: &str, scenario: &Scenario) -> Result<OpenScenario, Failure> {
    let Scenario { scenario: name, set } = scenario;
    let expected = |error| registry::scenario_expected(typed, name, error);
    Ok(registry::open(name, set).map_err(expected)?)
}

/// Calls `make` with a progress bar called `name`. Returns its result and the wall time in
/// nanoseconds, unless the user omits it.
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
