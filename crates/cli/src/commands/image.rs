//! `boardlab image`: the contents of a flash image.

use crate::args::{ImageAction, Options};
use crate::error::{Error, shown_path};
use crate::exit::Status;
use crate::output::Output;
use boardlab_image::tables::ImageReport;
use boardlab_image::{
    Contents, Damage, Error as Problem, Hints, Limits, MountedImage, check, identify, names, open,
    tables,
};
use boardlab_report::Shown;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Does `action`.
pub(super) fn perform(action: &ImageAction, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let (file, made) = match action {
        ImageAction::Check { file, flash } => (file, check(file, &flash.into())),
        ImageAction::Create(create) => return super::create::perform(create, &output, options),
        ImageAction::Info { file } => (file, info(file)),
        ImageAction::Ls { file, path, flash, max_names } => {
            let limits = Limits { names: *max_names, ..Limits::default() };
            (file, ls(file, path, &flash.into(), limits))
        }
        ImageAction::Extract { file, target, path, flash, max_names, max_size } => {
            let limits = Limits { names: *max_names, content: *max_size };
            match extract([file, target], path, &flash.into(), limits) {
                // The error is not about the image.
                made @ Err(
                    Problem::NotEmpty
                    | Problem::Unfinished
                    | Problem::TargetIsALink
                    | Problem::Unwritable { .. },
                ) => (target, made),
                made => (file, made),
            }
        }
    };
    let told = made.map_err(|problem| Error::Image { path: file.clone(), problem })?;
    let shown = output.show(Shown::Run(&told.run))?;
    Ok(if told.whole { shown } else { Status::Failed })
}

fn info(file: &Path) -> Result<ImageReport, Problem> {
    let contents = Contents::open(file)?;
    let identity = identify(&contents);
    let looked_at =
        identity.filesystem.as_ref().filter(|system| system.is_single()).map(|system| {
            let hints = Hints { partial: true, ..Hints::default() };
            Damage::of(&mut system.mount(&contents, &hints)?)
        });
    Ok(tables::info(&shown_path(file), &contents, &identity, looked_at.as_ref()))
}

fn check(file: &Path, hints: &Hints) -> Result<ImageReport, Problem> {
    let findings = check::check(&Contents::open(file)?, hints)?;
    Ok(check::report(&shown_path(file), &findings))
}

fn ls(file: &Path, path: &OsStr, hints: &Hints, limits: Limits) -> Result<ImageReport, Problem> {
    let path = within(path)?;
    let mut image = open(&Contents::open(file)?, hints)?;
    let damage = Damage::of(&mut image)?;
    let MountedImage { fs, clock, .. } = &mut image;
    tables::listing(&shown_path(file), fs, clock, &path, &damage, limits)
}

fn extract(
    [file, target]: [&PathBuf; 2],
    path: &OsStr,
    hints: &Hints,
    limits: Limits,
) -> Result<ImageReport, Problem> {
    let path = within(path)?;
    let mut image = open(&Contents::open(file)?, hints)?;
    let damage = Damage::of(&mut image)?;
    let MountedImage { fs, clock, .. } = &mut image;
    let done = boardlab_image::extract(fs, clock, &path, target, &damage, limits)?;
    Ok(tables::extracted(&shown_path(file), &shown_path(target), &done, &damage))
}

/// A path within the image, written as `ls` shows it.
fn within(path: &OsStr) -> Result<Vec<u8>, Problem> {
    names::unshown(path.as_encoded_bytes()).map_err(|at| Problem::Escape { at })
}
