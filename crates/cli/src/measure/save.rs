//! The file of the measurements, written as they come.
//!
//! Layer: rank 12. Main type: [`Save`]. The file is new; a measurement is never overwritten.

use super::problem::Problem;
use crate::progress::Progress;
use boardlab_experiment as experiment;
use boardlab_measure::reading::{Event, LINE_MAX};
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// A file that grows.
pub(super) struct Save {
    path: PathBuf,
    file: File,
    /// Whether anything was written.
    is_used: bool,
    /// The current line.
    line: Vec<u8>,
    /// The number of steps, those that ended, and the one that runs.
    total: usize,
    done: usize,
}

impl Save {
    /// The new file at `path`.
    pub(super) fn new(path: &Path) -> Result<Self, Problem> {
        let file = File::options().write(true).create_new(true).open(path);
        let file = file.map_err(|problem| match problem.kind() {
            ErrorKind::AlreadyExists => Problem::Exists { path: path.into() },
            _ => Problem::Unwritable { path: path.into(), problem },
        })?;
        let (path, line) = (path.into(), Vec::new());
        Ok(Self { path, file, is_used: false, line, total: 0, done: 0 })
    }

    /// Writes `bytes`, and reports the steps that begin and end in them.
    pub(super) fn take(&mut self, bytes: &[u8], progress: &Progress) -> Result<(), Problem> {
        self.is_used |= !bytes.is_empty();
        self.file.write_all(bytes).map_err(|problem| self.unwritable(problem))?;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = usize::try_from(LINE_MAX).unwrap_or(usize::MAX) - self.line.len();
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.report(progress);
                self.line.clear();
            }
        }
        Ok(())
    }

    fn report(&mut self, progress: &Progress) {
        let step = match Event::of(&self.line) {
            Event::Head(total) => {
                self.total = total;
                String::new()
            }
            Event::Begin(step) => step,
            Event::Step(step) => {
                self.done += 1;
                step
            }
            _ => return,
        };
        if self.total > 0 {
            let (done, total) = (self.done, self.total);
            progress.report(experiment::Progress { step: &step, done, total });
        }
    }

    /// Ends the file.
    pub(super) fn finish(&mut self) -> Result<(), Problem> {
        self.file.sync_all().map_err(|problem| self.unwritable(problem))
    }

    fn unwritable(&self, problem: std::io::Error) -> Problem {
        Problem::Unwritable { path: self.path.clone(), problem }
    }
}

impl Drop for Save {
    fn drop(&mut self) {
        // Nothing came: the same command shall work again.
        if !self.is_used {
            let _ = fs::remove_file(&self.path);
        }
    }
}
