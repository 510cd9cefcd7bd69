//! What is asked of flash images.
//!
//! Layer: rank 12. Functions for Python: one a command of `boardlab image`. Each gives a result, and
//! whether everything is intact.

use crate::fault::Fault;
use crate::outcome::Outcome;
use crate::work::{self, Terms};
use boardlab_image::fs::ALL;
use boardlab_image::make::{self, FileOptions, Files, Flash, MakeError, is_on_flash, report};
use boardlab_image::tables::ImageReport;
use boardlab_image::{Error as Problem, Hints, Limits, inspect};
use boardlab_result::foreign::shown_path;
use boardlab_sim::{Bytes, Seed};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// What the user knows of an image.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Known {
    page: Option<u64>,
    oob: Option<u64>,
    block: Option<u64>,
    volume: Option<String>,
    commit: Option<u64>,
    as_of: Option<u64>,
    partial: bool,
}

impl Known {
    fn hints(self) -> Hints {
        let Self { page, oob, block, volume, commit, as_of, partial } = self;
        let [page, oob, block] = [page, oob, block].map(|size| size.map(Bytes::new));
        Hints { page, oob, block, volume, commit, as_of, partial, ..Hints::default() }
    }
}

/// Asks `job` about the image at `path`, in a thread of its own.
fn ask(
    py: Python<'_>,
    what: &'static str,
    path: PathBuf,
    job: impl FnOnce(&PathBuf) -> Result<ImageReport, Problem> + Send + 'static,
) -> PyResult<(Outcome, bool)> {
    work::perform(py, what, &Terms::NONE, move |_| {
        let told = job(&path).map_err(|problem| Fault::Image(path, problem))?;
        Ok((Outcome::new(told.run, None), told.whole))
    })
}

/// What is in a file.
#[pyfunction]
pub(crate) fn image_info(
    py: Python<'_>,
    path: PathBuf,
    known: Known,
    blocks: bool,
) -> PyResult<(Outcome, bool)> {
    let hints = Hints { partial: true, ..known.hints() };
    ask(py, "image.info", path, move |path| inspect::info(path, &hints, blocks))
}

/// The names in an image.
#[pyfunction]
pub(crate) fn image_ls(
    py: Python<'_>,
    path: PathBuf,
    within: OsString,
    known: Known,
    names: u64,
) -> PyResult<(Outcome, bool)> {
    let limits = Limits { names, ..Limits::default() };
    ask(py, "image.ls", path, move |path| inspect::ls(path, &within, &known.hints(), limits))
}

/// Everything about files in an image.
#[pyfunction]
pub(crate) fn image_stat(
    py: Python<'_>,
    path: PathBuf,
    paths: Vec<OsString>,
    known: Known,
) -> PyResult<(Outcome, bool)> {
    ask(py, "image.stat", path, move |path| inspect::stat(path, &paths, &known.hints()))
}

/// Every fault of an image.
#[pyfunction]
pub(crate) fn image_check(
    py: Python<'_>,
    path: PathBuf,
    known: Known,
) -> PyResult<(Outcome, bool)> {
    ask(py, "image.check", path, move |path| inspect::check(path, &known.hints()))
}

/// Writes what is below `within` into the folder `target`.
#[pyfunction]
pub(crate) fn image_extract(
    py: Python<'_>,
    path: PathBuf,
    target: PathBuf,
    within: OsString,
    known: Known,
) -> PyResult<(Outcome, bool)> {
    work::perform(py, "image.extract", &Terms::NONE, move |_| {
        let files = [path.as_path(), target.as_path()];
        let done = inspect::extract(files, &within, &known.hints(), Limits::default(), false);
        let told = done.map_err(|problem| match problem.is_of_target() {
            true => Fault::Image(target.clone(), problem),
            false => Fault::Image(path.clone(), problem),
        })?;
        Ok((Outcome::new(told.run, None), told.whole))
    })
}

/// What differs between two images.
#[pyfunction]
pub(crate) fn image_diff(
    py: Python<'_>,
    a: PathBuf,
    b: PathBuf,
    within: OsString,
    known: Known,
) -> PyResult<(Outcome, bool)> {
    work::perform(py, "image.diff", &Terms::NONE, move |_| {
        let names = Limits::default().names;
        let told = inspect::diff([&a, &b], &within, &known.hints(), names);
        let told = told.map_err(|(path, problem)| Fault::Image(path, problem))?;
        Ok((Outcome::new(told.run, None), told.whole))
    })
}

/// The flash and the filesystem of a new image.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct New {
    fs: String,
    page: u64,
    block: u64,
    oob: Option<u64>,
    max_blocks: Option<u32>,
    volume: Option<String>,
    seed: u64,
}

impl New {
    fn flash(&self) -> Flash {
        let oob = self.oob.map(Bytes::new);
        Flash { oob, ..Flash::of(Bytes::new(self.page), Bytes::new(self.block)) }
    }

    fn options(&self) -> Result<FileOptions, MakeError> {
        let unlimited = is_on_flash(&self.fs).then_some(0);
        let max_lebs = self.max_blocks.or(unlimited).ok_or(MakeError::Missing {
            option: "--max-blocks N",
            why: "the filesystem reserves room for its tables and its journal by it",
        })?;
        let (fs, volume) = (self.fs.clone(), self.volume.clone());
        Ok(FileOptions { fs, volume, max_lebs, ..FileOptions::default() })
    }
}

/// A new image of the files in `folder`: its result, whether all files are in it, and its bytes, which
/// `target` is to have.
#[pyfunction]
pub(crate) fn image_create(
    py: Python<'_>,
    folder: PathBuf,
    target: PathBuf,
    new: New,
) -> PyResult<(Outcome, bool, Vec<u8>)> {
    work::perform(py, "image.create", &Terms::NONE, move |_| {
        let refused = |problem| Fault::Make(folder.clone(), problem);
        let unreadable =
            |problem: io::Error| MakeError::Unreadable { path: folder.clone(), problem };
        let metadata = folder.metadata().map_err(unreadable).map_err(refused)?;
        if !metadata.is_dir() {
            return Err(refused(MakeError::NoInput));
        }
        let options = new.options().map_err(refused)?;
        let seed = Seed::new(new.seed);
        let made = make::of_files(Files::Folder(&folder), &new.flash(), &options, (seed, ALL));
        let made = made.map_err(refused)?;
        let told = report::report(&shown_path(&folder), &shown_path(&target), &made);
        Ok((Outcome::new(told.run, None), told.whole, made.bytes))
    })
}
