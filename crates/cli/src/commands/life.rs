//! `boardlab life`: how long a card lives.

use super::timed;
use crate::args::{Options, Scenario};
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use boardlab_lab::registry;
use boardlab_report::Shown;

/// Computes the lives of `scenario` and shows them.
pub(super) fn perform(scenario: &Scenario, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let Scenario { scenario: name, set } = scenario;
    let (mut result, wall_time_ns) =
        timed(name, options, |progress| registry::life(name, set, options.seed, progress))?;
    result.wall_time_ns = wall_time_ns;
    output.show(Shown::Run(&result))
}
