//! `boardlab sweep`: one scenario at every point of a grid.
//!
//! With `--out` the folder also has the journal of the completed points, so that the same command
//! resumes after a kill. The wall time is omitted, so that a resumed sweep has the same result as
//! an uninterrupted one.

use crate::args::{Options, Sweep};
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use crate::progress::Progress;
use boardlab_experiment::{Action, Failure, NEVER};
use boardlab_lab::registry::{self, EXPERIMENTS};
use boardlab_report::Shown;
use boardlab_sweep::{Order, sweep};

/// The journal in the folder of `--out`.
const JOURNAL: &str = "sweep.journal";

/// Runs all remaining points, and shows the result of all.
pub(super) fn perform(arguments: &Sweep, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let journal = options.out.as_ref().map(|folder| folder.join(JOURNAL));
    let swept = {
        let bar = Progress::begin(&arguments.scenario.scenario, options.quiet);
        sweep(&Order {
            experiments: &EXPERIMENTS,
            scenario: &arguments.scenario.scenario,
            source: None,
            set: &arguments.scenario.set,
            grid: &arguments.grid,
            cells: &arguments.cell,
            action: Action::Run,
            seed: options.seed,
            threads: arguments.threads,
            journal: journal.as_deref(),
            restart: arguments.restart,
            progress: &|progress| bar.report(progress),
            warn: &|words| bar.warn(words),
            stop: &NEVER,
        })
        .map_err(|failure| match failure {
            Failure::Input(error) => Failure::Input(registry::scenario_expected(
                "sweep",
                &arguments.scenario.scenario,
                error,
            )),
            other => other,
        })?
    };
    if swept.resumed > 0 {
        output.say(&format!("{} of {} points were done already", swept.resumed, swept.points));
    }
    output.show(Shown::Run(&swept.result))
}
