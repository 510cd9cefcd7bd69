//! What is left of deleted files, listed and written out.
//!
//! Layer: rank 12.

use crate::error::shown_path;
use boardlab_image::deleted::DeletedTree;
use boardlab_image::gather::{Gathered, gather_deleted};
use boardlab_image::inspect::within;
use boardlab_image::tables::{self, ImageReport, Selection};
use boardlab_image::{
    Beside, Contents, Damage, Error as Problem, Hints, Limits, MountedImage, open,
};
use boardlab_sim::{Bytes, Clock};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The folder for deleted files in the folder that was named.
pub(super) fn folder(target: &Path) -> PathBuf {
    target.join("deleted")
}

/// The deleted files of an image, and how long it should be where it is truncated.
fn found(file: &Path, hints: &Hints) -> Result<(DeletedTree, Clock, Option<Bytes>), Problem> {
    let image = open(&Contents::open(file)?.kept(), hints)?;
    let MountedImage { fs, mut clock, truncated, .. } = image;
    let found = fs.deleted(&mut clock)?;
    Ok((DeletedTree::of(found), clock, truncated))
}

/// Lists them.
pub(super) fn list(
    file: &Path,
    path: &[u8],
    hints: &Hints,
    limits: Limits,
) -> Result<ImageReport, Problem> {
    let (mut tree, mut clock, truncated) = found(file, hints)?;
    let what = Selection::of(path, &mut tree, &mut clock)?;
    let mut told = tables::deleted(&shown_path(file), &mut tree, &mut clock, what, limits)?;
    if let Some(needed) = truncated {
        told.run.warnings.push(format!("The file is truncated: {needed} would be whole."));
        told.whole = false;
    }
    Ok(told)
}

/// Writes them into a new folder within `target`.
pub(super) fn extract(
    [file, target]: [&PathBuf; 2],
    path: &OsStr,
    hints: &Hints,
    limits: Limits,
    with_modes: bool,
) -> Result<ImageReport, Problem> {
    let path = within(path)?;
    let (mut tree, mut clock, truncated) = found(file, hints)?;
    if target.is_symlink() {
        return Err(Problem::TargetIsALink);
    }
    let target = folder(target);
    let damage = Damage::of_deleted(&tree, truncated);
    let beside = Beside { is_readable: with_modes, ..Beside::from(damage) };
    let done = boardlab_image::extract(&mut tree, &mut clock, &path, &target, beside, limits)?;
    Ok(tables::extracted(&shown_path(file), &shown_path(&target), &done))
}

/// Gathers them as a tree.
pub(super) fn gathered(
    file: &Path,
    path: &[u8],
    hints: &Hints,
    names: u64,
) -> Result<Gathered, Problem> {
    let (tree, clock, truncated) = found(file, hints)?;
    gather_deleted((tree, clock), truncated, path, names)
}
