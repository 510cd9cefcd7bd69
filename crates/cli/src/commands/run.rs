//! `boardlab run`, `tune`, `powercut`, `life` and `advise`: the actions on one scenario.

use super::{opened, timed};
use crate::args::{Form, OnDevice, Options, Run, Scenario};
use crate::error::Error;
use crate::exit::Status;
use crate::measure::fio;
use crate::measure::problem::Problem;
use crate::output::{self, Output};
use boardlab_cards::fio::DeviceJobs;
use boardlab_experiment::Action;
use boardlab_report::Shown;

/// Runs a scenario, or its fio jobs on a device of this machine.
pub(super) fn run(arguments: &Run, options: &Options) -> Result<Status, Error> {
    let Run { scenario, device } = arguments;
    match &device.on {
        Some(name) => on_device(name, device, scenario, options),
        None => perform(Action::Run, scenario, options),
    }
}

/// Predicts the jobs of `scenario`, runs fio with them, and shows both.
fn on_device(
    name: &str,
    device: &OnDevice,
    scenario: &Scenario,
    options: &Options,
) -> Result<Status, Error> {
    if matches!(options.form(), Form::Fio | Form::FioTerse) {
        return Err(Problem::OnlyJson.into());
    }
    let opened = opened(Action::Run.command(), scenario)?;
    let typed = &scenario.scenario;
    if !opened.experiment.prints_fio {
        return Err(Problem::NoJobs { scenario: typed.clone() }.into());
    }
    let output = Output::open(options, None)?;
    let (jobs, _) = timed(typed, options, |progress| {
        DeviceJobs::read(&opened.request(options.seed, progress))
    })?;
    let measured = fio::run(name, device, &jobs, options.quiet)?;
    super::measure::show(vec![measured], &output)
}

/// Does `action` with `scenario` and shows its result.
pub(super) fn perform(
    action: Action,
    scenario: &Scenario,
    options: &Options,
) -> Result<Status, Error> {
    let opened = opened(action.command(), scenario)?;
    output::expect_fio(options, action == Action::Run && opened.experiment.prints_fio)?;
    let output = Output::open(options, None)?;
    let (mut result, wall_time_ns) = timed(&scenario.scenario, options, |progress| {
        opened.perform(action, options.seed, progress)
    })?;
    result.wall_time_ns = wall_time_ns;
    output.show(Shown::Run(&result))
}
