//! `boardlab measure`: the same workloads on a real board.

use crate::args::{MeasureAction, MeasurePlan, MeasureRun, Options};
use crate::error::{Error, ReadProblem, shown_path};
use crate::exit::Status;
use crate::measure::{self, problem::Problem};
use crate::output::{self, Output};
use crate::saved;
use crate::terminal;
use boardlab_experiment::Failure;
use boardlab_lab::registry;
use boardlab_measure::reading::{self, Reading};
use boardlab_measure::result::result;
use boardlab_report::Shown;
use boardlab_result::Reproduction;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Does `action`.
pub(super) fn perform(action: &MeasureAction, options: &Options) -> Result<Status, Error> {
    match action {
        MeasureAction::Plan(arguments) => plan(arguments, options),
        MeasureAction::Run(arguments) => run(arguments, options),
        MeasureAction::Read { files } => read(files, options),
        MeasureAction::Agent { folder } => agent(folder, options),
    }
}

/// Prints the plan of a scenario.
fn plan(arguments: &MeasurePlan, options: &Options) -> Result<Status, Error> {
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

/// The exit status of an agent that refuses a plan.
const REFUSED: i32 = 3;

/// Runs a plan, and shows what it measured.
fn run(arguments: &MeasureRun, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let status = measure::run(arguments, options.quiet)?;
    let readings = match readings_of(&arguments.save) {
        Ok(readings) => readings,
        Err(_) if !arguments.save.exists() => return Err(Problem::NothingCame { status }.into()),
        Err(error) => return Err(error),
    };
    let shown = show(&readings, &output)?;
    Ok(match status {
        Some(0) => shown,
        Some(REFUSED) => Status::Refused,
        _ => Status::Failed,
    })
}

/// Writes the sources of the agent.
fn agent(folder: &Path, options: &Options) -> Result<Status, Error> {
    measure::agent::write_new(folder)?;
    if !options.quiet {
        terminal::tell(&format!(
            "wrote the agent into {0}; build it: make -C {0} BUILD=build",
            shown_path(folder)
        ));
    }
    Ok(Status::Done)
}

/// Shows the measurements of `files`.
fn read(files: &[PathBuf], options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let mut readings = Vec::new();
    for path in files {
        readings.extend(readings_of(path)?);
    }
    show(&readings, &output)
}

/// Shows `readings`. Fails unless all of them are whole.
fn show(readings: &[Reading], output: &Output<'_>) -> Result<Status, Error> {
    let mut results: Vec<_> = readings.iter().map(result).collect();
    let shown = match &mut results[..] {
        [one] => output.show(Shown::Run(one)),
        _ => output.show(Shown::Reproduction(&Reproduction::new(results))),
    };
    let are_whole = readings.iter().all(Reading::is_whole);
    shown.map(|status| if are_whole { status } else { Status::Failed })
}

/// The measurements in the file at `path`, at least one.
fn readings_of(path: &Path) -> Result<Vec<Reading>, Error> {
    let unreadable = |problem| Problem::Unreadable { path: path.into(), problem };
    let (file, _) = saved::open(path).map_err(unreadable)?;
    let readings = reading::read(BufReader::new(file));
    let readings = readings.map_err(|error| unreadable(ReadProblem::System(error)))?;
    match readings.is_empty() {
        true => Err(Problem::NoMeasurement { path: path.into() }.into()),
        false => Ok(readings),
    }
}
