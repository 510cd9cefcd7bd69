//! `boardlab measure`: the same workloads on a real board.

use crate::args::{Form, MeasureAction, MeasurePlan, Options};
use crate::error::Error;
use crate::exit::Status;
use crate::output;
use boardlab_experiment::Failure;
use boardlab_lab::registry;

/// Does `action`.
pub(super) fn perform(action: &MeasureAction, options: &Options) -> Result<Status, Error> {
    match action {
        MeasureAction::Plan(arguments) => plan(arguments, options),
    }
}

/// Prints the plan of a scenario.
fn plan(arguments: &MeasurePlan, options: &Options) -> Result<Status, Error> {
    if options.out.is_some() || !matches!(options.form(), Form::Table) {
        return Err(Error::NoResult(
            "redirect the plan: boardlab measure plan nor-write > board.plan",
        ));
    }
    output::expect_stdout()?;
    let MeasurePlan { scenario, device, path, max_cycles } = arguments;
    let name = scenario.scenario.as_str();
    let expected = |error| registry::scenario_expected("measure plan", name, error);
    let opened = registry::open(name, &scenario.set).map_err(expected).map_err(Failure::from)?;
    let devices: Vec<_> = device.iter().chain(path).cloned().collect();
    let plan = opened.plan(options.seed, &devices, *max_cycles)?;
    output::print(plan.to_string().as_bytes())?;
    Ok(Status::Done)
}
