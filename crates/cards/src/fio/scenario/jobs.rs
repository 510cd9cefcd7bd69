//! Jobs from their text; an error in them has its file, line and column.
//!
//! Layer: rank 10. Functions: [`parse`], and [`failed`] for errors that only a run finds.

use crate::fio::scenario::Jobs;
use boardlab_document::error::{At, Error, Message, Other, TEXT_SHOWN};
use boardlab_experiment::Failure;
use boardlab_result::foreign::shown_at_most as shown;
use boardlab_workload::fio::{self, Diagnostic, Diagnostics, Environment, JobFile, Misfit, Place};
use std::fs;

/// The most bytes of an included file; the reader refuses more in all.
const INCLUDED: u64 = 1 << 20;

impl Environment for Jobs {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn include(&self, file: &str) -> Option<String> {
        let path = self.folder.as_ref()?.join(file);
        let small = fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= INCLUDED);
        small.then(|| fs::read_to_string(path).ok()).flatten()
    }
}

/// Parses the jobs.
pub(crate) fn parse(jobs: &Jobs) -> Result<JobFile, Error> {
    const SHOWN: usize = 10;
    let file = fio::parse(&jobs.name, jobs.text.as_bytes(), jobs);
    let file = file.map_err(|Diagnostics(all)| {
        let hidden = all.len().saturating_sub(SHOWN);
        let mut errors: Vec<_> = all.into_iter().take(SHOWN).map(wrong_text).collect();
        match (errors.len(), hidden) {
            (1, 0) => errors.remove(0),
            _ => Error::Several { errors, hidden },
        }
    })?;
    fio::check(&file).map_err(unfit)?;
    Ok(file)
}

/// The failure of a run of fio: of the job, or of the device, where `help` says what to try.
pub(crate) fn failed(failure: fio::Failure, help: &'static str) -> Failure {
    match failure {
        fio::Failure::Job(misfit) => Failure::Input(unfit(misfit)),
        failure => Failure::run("fio", failure, help),
    }
}

/// The error that a job cannot be run.
fn unfit(Misfit { place, job, what }: Misfit) -> Error {
    refused(at(place), &job, what)
}

/// The error that `job` cannot be run: `what` is wrong with it.
pub(crate) fn refused(at: At, job: &str, what: &str) -> Error {
    let title = format!("job `{}`: {}", shown(job, TEXT_SHOWN), shown(what, TEXT_SHOWN * 4));
    error(at, title, "the page `fio jobs` of the documents says which jobs can be simulated")
}

/// The error with fio's own message, the second line of which says what would be right.
pub(crate) fn wrong_text(wrong: Diagnostic) -> Error {
    let words = wrong.problem.to_string();
    let (title, help) = words.split_once('\n').unwrap_or((&words, ""));
    let help = match help {
        "" => "the page `fio jobs` of the documents lists the options, and what differs from fio",
        help => help,
    };
    error(at(wrong.place), shown(title, TEXT_SHOWN * 4), &shown(help, TEXT_SHOWN * 4))
}

/// Where a text of the user is wrong.
pub(crate) fn at(Place { file, line, column }: Place) -> At {
    At::Line { file, line, column }
}

/// The error that a text of the user is wrong.
pub(crate) fn error(at: At, title: String, help: &str) -> Error {
    let message = Message { title, label: String::new(), help: help.into() };
    Other { at, message }.into()
}
