//! `boardlab reproduce`: the published evaluations, compared with the published figures.

use super::timed;
use crate::args::Options;
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use boardlab_experiment::{Experiment, Failure};
use boardlab_lab::registry;
use boardlab_report::Shown;
use boardlab_result::{Reproduction, RunResult};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// Reproduces the evaluations called `names`, all of them when there are none, and prints them in `full` or in brief.
pub(super) fn perform(names: &[String], full: bool, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?.in_full(full);
    let chosen: Vec<&Experiment> = match names {
        [] => registry::published().collect(),
        names => {
            let each = names.iter().map(|name| registry::experiment(name));
            each.collect::<Result<_, _>>().map_err(Failure::from)?
        }
    };
    let mut results = Vec::new();
    for (at, experiment) in chosen.iter().enumerate() {
        let made = reproduce(experiment, options)?;
        if chosen.len() > 1 && !io::stderr().is_terminal() {
            let time = made.iter().find_map(|run| run.wall_time_ns).map(Duration::from_nanos);
            let time =
                time.map_or_else(String::new, |time| format!(", {:.1} s", time.as_secs_f64()));
            output.say(&format!("{} of {}: {}{time}", at + 1, chosen.len(), experiment.name));
        }
        results.extend(made);
    }
    output.show(Shown::Reproduction(&Reproduction::new(results)))
}

/// Runs one evaluation by itself, so that it has its own wall time.
fn reproduce(experiment: &Experiment, options: &Options) -> Result<Vec<RunResult>, Error> {
    let name = experiment.name;
    let (made, wall_time_ns) =
        timed(name, options, |progress| registry::reproduce(&[name], options.seed, progress))?;
    let mut results = made.results;
    results.iter_mut().for_each(|result| result.wall_time_ns = wall_time_ns);
    Ok(results)
}
