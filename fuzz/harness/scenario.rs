//! A scenario of unknown content with arguments of `--set`: composed with its part and its board, and
//! checked by every experiment, as before a run.
//!
//! An input is the text of the scenario, then, each behind a byte 0, the arguments. A text that names a
//! built-in scenario stands for that one, so that changes of single values get far.

use boardlab_document::Override;
use boardlab_document::source::{Kind, Source};
use boardlab_experiment::{NEVER, Request};
use boardlab_lab::registry::EXPERIMENTS;
use boardlab_parts::catalog;
use boardlab_sim::Seed;

/// Everything that is done with a scenario before it is run.
pub(crate) fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut parts = text.split('\0');
    let scenario = parts.next().unwrap_or_default();
    let set: Vec<&str> = parts.collect();
    for one in &set {
        let _ = Override::parse(one);
    }
    let built_in = catalog::all(Kind::Scenario).iter().find(|file| file.name == scenario.trim());
    let source = match built_in {
        Some(file) => file.source(Kind::Scenario),
        None => Source::new(Kind::Scenario, "input.toml", scenario),
    };
    let document = match catalog::compose_source(&source, &set) {
        Ok(document) => document,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let _ = document.title();
    let request = Request {
        document: &document,
        scenario: "input",
        seed: Seed::new(1),
        progress: &|_| {},
        stop: &NEVER,
    };
    for experiment in &EXPERIMENTS {
        if let Err(failure) = (experiment.check)(&request) {
            assert!(!failure.to_string().is_empty());
        }
    }
}
