//! Mounts an image: finds the filesystem in it, and chooses the flash to read it as.
//!
//! Layer: rank 7. Main functions: [`open`]; [`carve`] writes out a volume without reading what is in it.

use crate::contents::Contents;
use crate::error::Error;
use crate::fs::{ALL, DetectedFileSystem, FileSystemType, Hints, MountedImage, RawVolumeReport};
use crate::identify::identify_types;
use boardlab_sim::Bytes;
use std::io::Write;

/// Mounts the first filesystem in `contents`, for reading.
///
/// # Errors
/// [`Error::Empty`], [`Error::OtherContent`], and those of
/// [`DetectedFileSystem::mount`](crate::fs::System::mount).
pub fn open(contents: &Contents, hints: &Hints) -> Result<MountedImage, Error> {
    open_types(contents, hints, ALL)
}

/// As [`open`], with another list of filesystems.
///
/// # Errors
/// Those of [`open`].
pub fn open_types(
    contents: &Contents,
    hints: &Hints,
    types: &[FileSystemType],
) -> Result<MountedImage, Error> {
    found(contents, types)?.mount(contents, hints)
}

/// The first filesystem in `contents`.
///
/// # Errors
/// [`Error::Empty`], [`Error::OtherContent`].
pub fn detect(contents: &Contents) -> Result<Box<dyn DetectedFileSystem>, Error> {
    found(contents, ALL)
}

/// Writes the bytes of the UBI volume that `hints` name to `file`, whatever is in it.
///
/// # Errors
/// [`Error::Empty`], [`Error::OtherContent`], and those of
/// [`DetectedFileSystem::carve`](crate::fs::DetectedFileSystem::carve).
pub fn carve(
    contents: &Contents,
    hints: &Hints,
    limit: Bytes,
    file: &mut dyn Write,
) -> Result<RawVolumeReport, Error> {
    found(contents, ALL)?.carve(contents, hints, limit, file)
}

/// The first filesystem in `contents`.
fn found(
    contents: &Contents,
    types: &[FileSystemType],
) -> Result<Box<dyn DetectedFileSystem>, Error> {
    if contents.length().is_zero() {
        return Err(Error::Empty);
    }
    if let Some(found) = types.iter().find_map(|one| (one.search)().covers(contents)) {
        return Ok(found);
    }
    let mut identity = identify_types(contents, types);
    let found = identity.filesystem.take();
    found.ok_or_else(|| Error::OtherContent {
        found: Box::new(identity.main().clone()),
        expected: types.iter().map(|one| one.name).collect::<Vec<_>>().join(" or "),
    })
}
