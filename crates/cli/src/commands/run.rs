//! `boardlab run`, `tune`, `powercut` and `life`: the actions on one scenario.

use super::timed;
use crate::args::{Options, Scenario};
use crate::error::Error;
use crate::exit::Status;
use crate::output::{self, Output};
use boardlab_experiment::{Action, Failure};
use boardlab_lab::registry;
use boardlab_report::Shown;

/// Does `action` with `scenario` and shows its result.
pub(super) fn perform(
    action: Action,
    scenario: &Scenario,
    options: &Options,
) -> Result<Status, Error> {
    let Scenario { scenario: name, set } = scenario;
    let expected = |error| registry::scenario_expected(action.command(), name, error);
    let opened = registry::open(name, set).map_err(expected).map_err(Failure::from)?;
    output::expect_fio(options, action == Action::Run && opened.experiment.prints_fio)?;
    let output = Output::open(options, None)?;
    let (mut result, wall_time_ns) =
        timed(name, options, |progress| opened.perform(action, options.seed, progress))?;
    result.wall_time_ns = wall_time_ns;
    output.show(Shown::Run(&result))
}
