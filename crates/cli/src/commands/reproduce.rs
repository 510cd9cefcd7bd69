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

/// Reproduces the evaluations called `names`, all of them when there are none.
pub(super) fn perform(names: &[String], options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let chosen: Vec<&Experiment> = match names {
        [] => registry::published().collect(),
        names => {
            let each = names.iter().map(|name| registry::experiment(name));
            each.collect::<Result<_, _>>().map_err(Failure::from)?
        }
    };
    let mut results = Vec::new();
    for experiment in chosen {
        results.extend(reproduce(experiment, options)?);
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
