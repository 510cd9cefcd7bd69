//! Jobs from their text; what is wrong with them becomes an error with file, line and column.
//!
//! Layer: rank 8. Functions: [`parse`], and [`unfit`] for what only a run can tell.

use super::scenario::Jobs;
use crate::error::Error;
use boardlab_workload::fio::{self, Diagnostics, JobFile, Misfit, Surroundings};
use std::fs;

/// The most that an included file may have, in bytes; the reader refuses more in all.
const INCLUDED: u64 = 1 << 20;

impl Surroundings for Jobs {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn include(&self, file: &str) -> Option<String> {
        let path = self.folder.as_ref()?.join(file);
        let small = fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= INCLUDED);
        small.then(|| fs::read_to_string(path).ok()).flatten()
    }
}

/// The jobs.
///
/// # Errors
/// All that is wrong with the text, at most ten of it.
pub(crate) fn parse(jobs: &Jobs) -> Result<JobFile, Error> {
    const SHOWN: usize = 10;
    let file = fio::parse(&jobs.name, jobs.text.as_bytes(), jobs);
    let file = file.map_err(|Diagnostics(all)| {
        let hidden = all.len().saturating_sub(SHOWN);
        let mut errors: Vec<_> = all.into_iter().take(SHOWN).map(Error::from).collect();
        match (errors.len(), hidden) {
            (1, 0) => errors.remove(0),
            _ => Error::Several { errors, hidden },
        }
    })?;
    fio::check(&file).map_err(unfit)?;
    Ok(file)
}

/// The error that a job cannot be run.
pub(crate) fn unfit(Misfit { place, job, what }: Misfit) -> Error {
    let at = Some((place.line, place.column));
    Error::Job { file: place.file, place: at, job, what: what.into() }
}
