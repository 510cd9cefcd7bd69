//! An experiment, or a board with a program, in a run of a second or less, and what it answers.

use super::guest;
use super::tree::Tree;
use boardlab_document::error::Error;
use boardlab_document::misfit::Misfit;
use boardlab_experiment::{Experiment, Failure, Make, NEVER, Request};
use boardlab_lab::registry::EXPERIMENTS;
use boardlab_parts::catalog;
use boardlab_sim::Seed;
use serde_json::Value as Json;

/// A short run of an experiment.
#[derive(Debug)]
pub(crate) struct Bench {
    /// What failures call it.
    pub(crate) name: &'static str,
    /// The built-in scenario, or [`guest::BOARDS`].
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
                same && matches!(bad.misfit, Misfit::Idle(_))
            }
            _ => false,
        })
    }
}

/// What can be done with a bench.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    /// Something with the experiment.
    Make(Make),
    /// A program on the board.
    Guest,
}

impl Bench {
    /// The scenario with `set`.
    pub(crate) fn tree(&self, set: &[&str]) -> Tree {
        if self.scenario == guest::BOARDS {
            return Tree::of_text(guest::SCENARIO, set);
        }
        Tree::of(self.scenario, set)
    }

    fn experiment(&self) -> &'static Experiment {
        EXPERIMENTS.iter().find(|one| one.scenario == self.scenario).unwrap()
    }

    /// What the program says of `tree` with an argument of `--set`.
    pub(crate) fn check(&self, tree: &Tree, set: &[String]) -> Said {
        if self.scenario == guest::BOARDS {
            let opened = guest::check(tree, set);
            return opened
                .map_or_else(|error| Said::Refused(error.all().to_vec()), |()| Said::Legal);
        }
        let document = match catalog::compose_source(&tree.source(), set) {
            Ok(document) => document,
            Err(error) => return Said::Refused(error.all().to_vec()),
        };
        let request = Request {
            document: &document,
            scenario: "keys",
            seed: Seed::new(1),
            progress: &|_| (),
            stop: &NEVER,
        };
        match (self.experiment().check)(&request) {
            Ok(_) => Said::Legal,
            Err(Failure::Input(error)) => Said::Refused(error.all().to_vec()),
            Err(_) => Said::Refused(Vec::new()),
        }
    }

    /// What can be done with the experiment. A life that is also what `run` does is one of them.
    pub(crate) fn actions(&self) -> Vec<Action> {
        if self.scenario == guest::BOARDS {
            return vec![Action::Guest];
        }
        let mut all: Vec<Make> = Vec::new();
        for (_, make) in self.experiment().actions {
            if !all.iter().any(|one| same(*one, *make)) {
                all.push(*make);
            }
        }
        all.into_iter().map(Action::Make).collect()
    }

    /// All that comes out of an action, without the inputs that it tells; of one that fails what it says.
    pub(crate) fn outcome(&self, tree: &Tree, action: Action) -> Json {
        let Action::Make(action) = action else { return guest::outcome(tree) };
        let document = catalog::compose_source::<&str>(&tree.source(), &[]).unwrap();
        let request = Request {
            document: &document,
            scenario: "keys",
            seed: Seed::new(1),
            progress: &|_| (),
            stop: &NEVER,
        };
        match action(&request) {
            Ok(run) => without_inputs(run),
            Err(failure) => Json::String(failure.to_string()),
        }
    }
}

fn same(one: Make, other: Make) -> bool {
    std::ptr::fn_addr_eq(one, other)
}

/// A result without the inputs that it tells.
pub(crate) fn without_inputs(run: boardlab_result::RunResult) -> Json {
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
