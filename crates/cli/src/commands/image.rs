//! `boardlab image`: what is in a flash image.

use crate::args::{ImageAction, Options};
use crate::error::{Error, shown_path};
use crate::exit::Status;
use crate::output::Output;
use boardlab_image::{Contents, Error as Problem, Hints, identify, open, tables};
use boardlab_report::Shown;
use boardlab_result::RunResult;
use std::path::{Path, PathBuf};

/// Does `action`.
pub(super) fn perform(action: &ImageAction, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let (file, made) = match action {
        ImageAction::Info { file } => (file, info(file)),
        ImageAction::Ls { file, path, flash } => (file, ls(file, path, &flash.into())),
        ImageAction::Extract { file, target, path, flash } => {
            match extract([file, target], path, &flash.into()) {
                // The image is not to blame.
                made @ Err(Problem::NotEmpty | Problem::Unwritable { .. }) => (target, made),
                made => (file, made),
            }
        }
    };
    let result = made.map_err(|problem| Error::Image { path: file.clone(), problem })?;
    output.show(Shown::Run(&result))
}

fn info(file: &Path) -> Result<RunResult, Problem> {
    let contents = Contents::open(file)?;
    Ok(tables::info(&shown_path(file), &contents, &identify(&contents)))
}

fn ls(file: &Path, path: &str, hints: &Hints) -> Result<RunResult, Problem> {
    let mut image = open(&Contents::open(file)?, hints)?;
    tables::listing(&shown_path(file), &mut image.fs, &mut image.clock, path.as_bytes())
}

fn extract([file, target]: [&PathBuf; 2], path: &str, hints: &Hints) -> Result<RunResult, Problem> {
    let mut image = open(&Contents::open(file)?, hints)?;
    let done = boardlab_image::extract(&mut image.fs, &mut image.clock, path.as_bytes(), target)?;
    Ok(tables::extracted(&shown_path(file), &shown_path(target), &done))
}
