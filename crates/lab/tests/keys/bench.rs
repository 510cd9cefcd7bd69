//! An experiment in a run of a second or less, and what it answers.

use super::tree::Tree;
use boardlab_lab::catalog;
use boardlab_lab::error::Error;
use boardlab_lab::misfit::Misfit;
use boardlab_lab::registry::{EXPERIMENTS, Experiment, Failure, Make, Request};
use boardlab_sim::Seed;
use serde_json::Value as Json;

/// A short run of an experiment.
#[derive(Debug)]
pub(crate) struct Bench {
    /// What failures call it.
    pub(crate) name: &'static str,
    /// The built-in scenario.
    pub(crate) scenario: &'static str,
    /// What makes it short.
    pub(crate) base: &'static [&'static str],
    /// What else is set, which is only known when the test runs; `None` where it lacks a tool, which is told.
    pub(crate) own: fn() -> Option<Vec<String>>,
    /// Other circumstances, in which keys are read or matter that do not in the first ones.
    pub(crate) contexts: &'static [(&'static str, &'static [&'static str])],
}

/// What the program says of a document before a run.
pub(crate) enum Said {
    /// It can be run.
    Legal,
    /// Something is wrong with it.
    Refused(Vec<Error>),
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Legal => f.write_str("legal"),
            Self::Refused(errors) => errors.iter().try_for_each(|error| write!(f, "{error}")),
        }
    }
}

impl Said {
    /// Whether the value of `key` is refused because the run does not use it.
    pub(crate) fn is_idle(&self, key: &str) -> bool {
        let Self::Refused(errors) = self else { return false };
        errors.iter().any(|error| match error {
            Error::Value(bad) => {
                let same = bad.key == key || bad.key.starts_with(&format!("{key}."));
                same && matches!(bad.misfit, Misfit::Idle { .. })
            }
            _ => false,
        })
    }
}

impl Bench {
    fn experiment(&self) -> &'static Experiment {
        EXPERIMENTS.iter().find(|one| one.scenario == self.scenario).unwrap()
    }

    /// What the program says of `tree` with an argument of `--set`.
    pub(crate) fn check(&self, tree: &Tree, set: &[String]) -> Said {
        let document = match catalog::compose_source(&tree.source(), set) {
            Ok(document) => document,
            Err(error) => return Said::Refused(error.all().to_vec()),
        };
        let request = Request {
            document: &document,
            scenario: "keys",
            seed: Seed::new(1),
            progress: &|_| (),
        };
        match (self.experiment().check)(&request) {
            Ok(_) => Said::Legal,
            Err(Failure::Input(error)) => Said::Refused(error.all().to_vec()),
            Err(_) => Said::Refused(Vec::new()),
        }
    }

    /// What can be done with the experiment. A life that is also what `run` does is one of them.
    pub(crate) fn actions(&self) -> Vec<Make> {
        let Experiment { run, tune, powercut, life, .. } = *self.experiment();
        let mut all = vec![run];
        all.extend(tune);
        all.extend(powercut);
        all.extend(life.filter(|life| !same(*life, run)));
        all
    }

    /// All that comes out of an action, without the inputs that it tells; of one that fails what it says.
    pub(crate) fn outcome(&self, tree: &Tree, action: Make) -> Json {
        let document = catalog::compose_source::<&str>(&tree.source(), &[]).unwrap();
        let request = Request {
            document: &document,
            scenario: "keys",
            seed: Seed::new(1),
            progress: &|_| (),
        };
        of(action(&request))
    }
}

fn same(one: Make, other: Make) -> bool {
    std::ptr::fn_addr_eq(one, other)
}

fn of(run: Result<boardlab_result::RunResult, Failure>) -> Json {
    let run = match run {
        Ok(run) => run,
        Err(failure) => return Json::String(failure.to_string()),
    };
    let mut json = serde_json::to_value(run).unwrap();
    json.as_object_mut().unwrap().remove("parameters");
    for table in json["tables"].as_array_mut().unwrap() {
        let table = table.as_object_mut().unwrap();
        for inputs in ["parameters", "fitted_count", "assumed_count"] {
            table.remove(inputs);
        }
    }
    json
}
