//! `boardlab image`: what is in a flash image.

use crate::args::{ImageAction, Options};
use crate::error::{Error, shown_path};
use crate::exit::Status;
use crate::output::Output;
use boardlab_image::{Contents, identify, tables};
use boardlab_report::Shown;
use std::path::Path;

/// Does `action`.
pub(super) fn perform(action: &ImageAction, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    match action {
        ImageAction::Info { file } => info(file, &output),
    }
}

fn info(file: &Path, output: &Output<'_>) -> Result<Status, Error> {
    let wrong = |problem| Error::Image { path: file.into(), problem };
    let contents = Contents::open(file).map_err(wrong)?;
    let identity = identify(&contents);
    output.show(Shown::Run(&tables::info(&shown_path(file), &contents, &identity)))
}
