//! `boardlab image`: the contents of a flash image.

use crate::args::{ImageAction, Options};
use crate::error::{Error, shown_path};
use crate::exit::Status;
use crate::file::NewFile;
use crate::output::Output;
use boardlab_image::fs::refuse_volumes;
use boardlab_image::tables::ImageReport;
use boardlab_image::{
    Beside, Contents, Damage, Error as Problem, Hints, Limits, MountedImage, check, identify,
    names, open, tables,
};
use boardlab_report::Shown;
use boardlab_sim::Bytes;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Does `action`.
pub(super) fn perform(action: &ImageAction, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let (file, made) = match action {
        ImageAction::Check { file, flash } => (file, check(file, &flash.into())),
        ImageAction::Create(create) => return super::create::perform(create, &output, options),
        ImageAction::Info { file, volume } => (file, info(file, volume.as_deref())),
        ImageAction::Ls { file, path, state, max_names } => {
            let limits = Limits { names: *max_names, ..Limits::default() };
            (file, ls(file, path, &state.into(), limits))
        }
        ImageAction::Extract { file, target, path, state, raw, max_names, max_size } => {
            let limits = Limits { names: *max_names, content: *max_size };
            let made = if *raw {
                carve([file, target], &state.into(), *max_size)
            } else {
                extract([file, target], path, &state.into(), limits)
            };
            match made {
                // The error is not about the image.
                made @ Err(
                    Problem::NotEmpty
                    | Problem::Exists
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

fn info(file: &Path, volume: Option<&str>) -> Result<ImageReport, Problem> {
    let contents = Contents::open(file)?;
    let identity = identify(&contents);
    let hints = Hints { partial: true, volume: volume.map(str::to_owned), ..Hints::default() };
    let looked_at = match &identity.filesystem {
        Some(system) if system.is_mountable(&hints)? => {
            Some(system.mount(&contents, &hints).and_then(|mut image| Damage::of(&mut image)))
        }
        Some(_) => None,
        None => {
            refuse_volumes(&hints)?;
            None
        }
    };
    Ok(tables::info(&shown_path(file), &contents, &identity, &hints, looked_at.as_ref()))
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
    let beside = Beside::of(&mut image)?;
    let MountedImage { fs, clock, .. } = &mut image;
    let done = boardlab_image::extract(fs, clock, &path, target, beside, limits)?;
    Ok(tables::extracted(&shown_path(file), &shown_path(target), &done))
}

/// Writes the bytes of a volume to a new file: all of them, or none.
fn carve(
    [file, target]: [&PathBuf; 2],
    hints: &Hints,
    limit: Bytes,
) -> Result<ImageReport, Problem> {
    let contents = Contents::open(file)?;
    let unwritable = |problem: io::Error| match problem.kind() {
        ErrorKind::AlreadyExists => Problem::Exists,
        _ => Problem::Unwritable { problem },
    };
    let place = NewFile::at(target).map_err(unwritable)?;
    let mut part = place.begin().map_err(unwritable)?;
    let done = boardlab_image::carve(&contents, hints, limit, part.file())?;
    place.finish(part).map_err(unwritable)?;
    Ok(tables::carved(&shown_path(file), &shown_path(target), &done))
}

/// A path within the image, written as `ls` shows it.
fn within(path: &OsStr) -> Result<Vec<u8>, Problem> {
    names::unshown(path.as_encoded_bytes()).map_err(|at| Problem::Escape { at })
}
