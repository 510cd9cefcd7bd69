//! From a file to a typed result: what the faces ask of an image most.
//!
//! Layer: rank 7. Functions: [`info`], [`ls`], [`stat`], [`check`], [`extract`] and [`diff`]. Paths within an image are
//! written as [`ls`] shows them; see [`within`]. Left out: what writes a new file, such as archives and new images, whose
//! writer is up to the face.

use crate::diff::{blocks, diff as differences};
use crate::files::Taking;
use crate::fs::refuse_volumes;
use crate::gather::{Gathered, gather};
use crate::tables::{self, ImageReport, Selection};
use crate::{
    Beside, Contents, Damage, Error, Hints, Limits, MountedImage, Shape, check as checks, identify,
    names, open, prepare,
};
use boardlab_result::foreign::shown_path;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The contents of `file`, and the evidence; with `blocks` a row for each block.
///
/// # Errors
/// Why the image is not read.
pub fn info(file: &Path, hints: &Hints, blocks: bool) -> Result<ImageReport, Error> {
    let contents = prepare(&Contents::open(file)?.kept(), hints)?;
    let identity = identify(&contents);
    let looked_at = match &identity.filesystem {
        Some(system) if system.is_mountable(hints)? => {
            Some(system.mount(&contents, hints).and_then(|mut image| Damage::of(&mut image)))
        }
        Some(_) => None,
        None => {
            refuse_volumes(hints)?;
            None
        }
    };
    let name = shown_path(file);
    let mut told = tables::info(&name, &contents, &identity, hints, looked_at.as_ref());
    if hints.volume.is_none() {
        tables::look(&mut told.run, &contents, &identity, hints, blocks);
    }
    Ok(told)
}

/// The names below `path`, or those that match it as a pattern.
///
/// # Errors
/// Why the image is not read.
pub fn ls(file: &Path, path: &OsStr, hints: &Hints, limits: Limits) -> Result<ImageReport, Error> {
    within(path)?;
    let mut image = open(&Contents::open(file)?.kept(), hints)?;
    let damage = Damage::of(&mut image)?;
    let MountedImage { fs, clock, .. } = &mut image;
    let what = Selection::of(path.as_encoded_bytes(), fs, clock)?;
    tables::listing(&shown_path(file), fs, clock, what, &damage, limits)
}

/// Everything about the files at `paths`.
///
/// # Errors
/// Why the image is not read.
pub fn stat(file: &Path, paths: &[OsString], hints: &Hints) -> Result<ImageReport, Error> {
    let paths: Result<Vec<_>, _> = paths.iter().map(|path| within(path)).collect();
    let paths = paths?;
    let mut image = open(&Contents::open(file)?, hints)?;
    let damage = Damage::of(&mut image)?;
    let MountedImage { fs, clock, .. } = &mut image;
    tables::stat(&shown_path(file), (fs.as_mut(), clock), &paths, &damage)
}

/// Every fault of an image.
///
/// # Errors
/// Why the image is not read.
pub fn check(file: &Path, hints: &Hints) -> Result<ImageReport, Error> {
    let findings = checks::check(&Contents::open(file)?.kept(), hints)?;
    Ok(checks::report(&shown_path(file), &findings))
}

/// Writes what is below `path` into the folder `target`, and nowhere else; `with_modes` makes all of it readable, since
/// the modes are kept elsewhere.
///
/// # Errors
/// Why the image is not read.
pub fn extract(
    [file, target]: [&Path; 2],
    path: &OsStr,
    hints: &Hints,
    limits: Limits,
    with_modes: bool,
) -> Result<ImageReport, Error> {
    let path = within(path)?;
    let mut image = open(&Contents::open(file)?.kept(), hints)?;
    let beside = Beside { is_readable: with_modes, ..Beside::of(&mut image)? };
    let MountedImage { fs, clock, .. } = &mut image;
    let done = crate::extract(fs, clock, &path, target, beside, limits)?;
    Ok(tables::extracted(&shown_path(file), &shown_path(target), &done))
}

/// Compares what is below `path` in two images, and their blocks where both have the same flash.
///
/// # Errors
/// Why one of the images is not read, and which.
pub fn diff(
    files: [&Path; 2],
    path: &OsStr,
    hints: &Hints,
    names: u64,
) -> Result<ImageReport, (PathBuf, Error)> {
    let of = |file: &Path| {
        let found =
            within(path).and_then(|path| gathered(file, &path, hints, names, &Taking::default()));
        found.map_err(|problem| (file.to_owned(), problem))
    };
    let [first, second] = files;
    let (a, shape) = of(first)?;
    let (b, other) = of(second)?;
    let found = differences(&a.tree, &b.tree);
    let block = shape.raw_block();
    let changed = if shape == other && path == "/" {
        let wrong = |problem| (second.to_owned(), problem);
        let [before, after] = files.map(|file| Contents::open(file).map(Contents::kept));
        let changed = blocks(&before.map_err(wrong)?, &after.map_err(wrong)?, block);
        changed.map_err(|problem| wrong(Error::Unreadable { problem }))?
    } else {
        Vec::new()
    };
    let names = files.map(shown_path);
    let names = [names[0].as_str(), names[1].as_str()];
    Ok(tables::differences(names, [&a, &b], &found, (&changed, block)))
}

/// Gathers the files of an image below `path`, at most so many `names`, and its flash.
///
/// # Errors
/// Why the image is not read.
pub fn gathered(
    file: &Path,
    path: &[u8],
    hints: &Hints,
    names: u64,
    taking: &Taking,
) -> Result<(Gathered, Shape), Error> {
    let image = open(&Contents::open(file)?.kept(), hints)?;
    let shape = image.fs.dump().shape();
    Ok((gather(image, path, names, taking)?, shape))
}

/// A path within the image, written as [`ls`] shows it.
///
/// # Errors
/// It has an escape that is none.
pub fn within(path: &OsStr) -> Result<Vec<u8>, Error> {
    names::unshown(path.as_encoded_bytes()).map_err(|at| Error::Escape { at })
}
