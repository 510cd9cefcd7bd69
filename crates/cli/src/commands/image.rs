//! `boardlab image`: what is in a flash image.

use crate::args::{ImageAction, Options};
use crate::error::{Error, shown_path};
use crate::exit::Status;
use crate::output::Output;
use boardlab_image::{Contents, Hints, identify, open, tables};
use boardlab_report::Shown;
use boardlab_result::RunResult;
use std::path::Path;

/// Does `action`.
pub(super) fn perform(action: &ImageAction, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let (file, made) = match action {
        ImageAction::Info { file } => (file, info(file)),
        ImageAction::Ls { file, path, flash } => (file, ls(file, path, &flash.into())),
    };
    let result = made.map_err(|problem| Error::Image { path: file.clone(), problem })?;
    output.show(Shown::Run(&result))
}

fn info(file: &Path) -> Result<RunResult, boardlab_image::Error> {
    let contents = Contents::open(file)?;
    Ok(tables::info(&shown_path(file), &contents, &identify(&contents)))
}

fn ls(file: &Path, path: &str, hints: &Hints) -> Result<RunResult, boardlab_image::Error> {
    let mut image = open(&Contents::open(file)?, hints)?;
    tables::listing(&shown_path(file), &mut image.fs, &mut image.clock, path.as_bytes())
}
