//! `boardlab measure`: the same workloads on a real board.

use super::{opened, timed};
use crate::args::{MeasureAction, MeasurePlan, MeasureRun, Options};
use crate::error::{Error, ReadProblem, shown_path};
use crate::exit::Status;
use crate::measure::{self, problem::Problem};
use crate::output::{self, Output};
use crate::saved;
use crate::terminal;
use boardlab_measure::foreign::{self, Foreign};
use boardlab_measure::reading::{self, Reading};
use boardlab_measure::result::result;
use boardlab_report::Shown;
use boardlab_result::Reproduction;
use std::io::{BufRead as _, BufReader};
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
    let opened = opened("measure plan", scenario)?;
    let devices: Vec<_> = device.iter().chain(path).cloned().collect();
    let (plan, _) = timed(&scenario.scenario, options, |progress| {
        opened.plan(options.seed, &devices, *max_cycles, progress)
    })?;
    output::print(plan.to_string().as_bytes())?;
    Ok(Status::Done)
}

/// The exit status of an agent that refuses a plan.
const REFUSED: i32 = 3;

/// Runs a plan, and shows what it measured.
fn run(arguments: &MeasureRun, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let status = measure::run(arguments, options.quiet)?;
    let measured = match measured(&arguments.save) {
        Ok(measured) => measured,
        Err(_) if !arguments.save.exists() => return Err(Problem::NothingCame { status }.into()),
        Err(error) => return Err(error),
    };
    let shown = show(measured, &output)?;
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
    let mut all = Vec::new();
    for path in files {
        all.extend(measured(path)?);
    }
    show(all, &output)
}

/// Shows what was measured. Fails unless all of it is whole.
pub(super) fn show(measured: Vec<Foreign>, output: &Output<'_>) -> Result<Status, Error> {
    let are_whole = measured.iter().all(|one| one.is_whole);
    let mut results: Vec<_> = measured.into_iter().map(|one| one.run).collect();
    let shown = match &mut results[..] {
        [one] => output.show(Shown::Run(one)),
        _ => output.show(Shown::Reproduction(&Reproduction::new(results))),
    };
    shown.map(|status| if are_whole { status } else { Status::Failed })
}

/// The measurements in the file at `path`, at least one: of the agent, or of another program.
fn measured(path: &Path) -> Result<Vec<Foreign>, Error> {
    let unreadable = |problem| Problem::Unreadable { path: path.into(), problem };
    let system = |error| unreadable(ReadProblem::System(error));
    let (file, _) = saved::open(path).map_err(unreadable)?;
    let mut file = BufReader::with_capacity(foreign::HEAD, file);
    if let Some(form) = foreign::form_of(file.fill_buf().map_err(system)?) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let foreign = foreign::read(form, &name, file);
        let program = form.program();
        let not = |problem| Problem::NotForeign { path: path.into(), program, problem };
        return Ok(vec![foreign.map_err(not)?]);
    }
    let readings = reading::read(file).map_err(system)?;
    if readings.is_empty() {
        return Err(Problem::NoMeasurement { path: path.into() }.into());
    }
    let measured = |one: &Reading| Foreign { run: result(one), is_whole: one.is_whole() };
    Ok(readings.iter().map(measured).collect())
}
