//! A scenario as Python hands it over, and what is known of it before a run.
//!
//! Layer: rank 12. Main type: [`Spec`]; functions for Python: [`find`], [`check`], [`describe`] and
//! [`keys`]. A scenario of the command line is a name or a path, and so it is here; besides, it may be
//! a text that was read before, so that it stays the same when its file changes.

use crate::fault::Fault;
use crate::guard::guarded;
use boardlab_document::source::{Kind, Source};
use boardlab_experiment::{Experiment, Failure};
use boardlab_lab::guide;
use boardlab_lab::registry::{self, OpenScenario};
use boardlab_parts::catalog;
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// A scenario: its name or its path; its text and the folder of its file, where it was read; and the
/// arguments of `--set`.
#[derive(FromPyObject)]
pub(crate) struct Spec(String, Option<String>, Option<PathBuf>, Vec<String>);

impl Spec {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// The arguments of `--set`.
    pub(crate) fn set(&self) -> &[String] {
        &self.3
    }

    /// Its text, where it was read.
    pub(crate) fn source(&self) -> Option<Arc<Source>> {
        let text = self.1.as_ref()?;
        let folder = self.2.clone().unwrap_or_default();
        Some(Source::in_folder(Kind::Scenario, self.name(), text, Some(folder)))
    }

    /// Opens it for the command `typed`.
    pub(crate) fn open(&self, typed: &str) -> Result<OpenScenario, Failure> {
        let opened = match self.source() {
            Some(source) => registry::open_source(self.name(), &source, self.set()),
            None => registry::open(self.name(), self.set()),
        };
        Ok(opened.map_err(|error| registry::scenario_expected(typed, self.name(), error))?)
    }
}

/// Finds the scenario `name`, a built-in one or a path: its name, its text, and its folder where it
/// is a file. A file of fio jobs has no text.
#[pyfunction]
pub(crate) fn find(
    py: Python<'_>,
    name: &str,
) -> PyResult<(String, Option<String>, Option<PathBuf>)> {
    guarded(py, "Scenario.load", || {
        // What is wrong with it, as `run` says it.
        registry::open::<&str>(name, &[])
            .map_err(|error| registry::scenario_expected("run", name, error))?;
        if name.ends_with(".fio") {
            return Ok((name.into(), None, None));
        }
        let name = registry::scenario_of(name);
        let source = catalog::find(Kind::Scenario, name, None)?;
        let folder = source.folder().map(PathBuf::from);
        Ok((name.into(), Some(source.text().into()), folder))
    })
}

/// Checks a scenario, as before a run.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, spec: Spec) -> PyResult<()> {
    guarded(py, "Scenario.check", || Ok(spec.open("run")?.check()?))
}

/// What is known of a scenario, as JSON.
#[pyfunction]
pub(crate) fn describe(py: Python<'_>, spec: Spec) -> PyResult<String> {
    guarded(py, "Scenario", || {
        let open = spec.open("run")?;
        let Experiment { name, scenario, title, published, .. } = open.experiment;
        let actions: Vec<_> = open.experiment.commands().collect();
        let title = open.title().unwrap_or_else(|_| (*title).into());
        let evaluation = published.then_some(name);
        let known = json!({
            "title": title, "experiment": scenario, "actions": actions, "evaluation": evaluation,
        });
        Ok(known.to_string())
    })
}

/// The keys of a scenario, as JSON.
#[pyfunction]
pub(crate) fn keys(py: Python<'_>, spec: Spec) -> PyResult<String> {
    guarded(py, "Scenario.keys", || listed(spec.open("list keys")?))
}

fn listed(open: OpenScenario) -> Result<String, Fault> {
    let keys = guide::keys_in_full(open)?.into_iter().map(|key| {
        let asked = key.asked;
        json!({
            "key": key.key, "meaning": key.meaning, "values": key.values, "holds": asked.expected,
            "units": asked.hint, "example": asked.example, "limits": asked.limits,
            "default": asked.default, "value": asked.value, "file": asked.file, "idle": asked.idle,
            "origin": asked.origin.map(|origin| origin.to_string()), "source": asked.source,
        })
    });
    Ok(serde_json::Value::from(keys.collect::<Vec<_>>()).to_string())
}
