//! Mounts an image: finds the filesystem in it, and chooses the flash to read it as.
//!
//! Layer: rank 7. Main function: [`open`].

use crate::contents::Contents;
use crate::error::Error;
use crate::fs::{ALL, FileSystemType, Hints, MountedImage};
use crate::identify::identify_types;

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
    if contents.length().is_zero() {
        return Err(Error::Empty);
    }
    let identity = identify_types(contents, types);
    let other = || Error::OtherContent {
        found: Box::new(identity.main().clone()),
        expected: types.iter().map(|one| one.name).collect::<Vec<_>>().join(" or "),
    };
    identity.filesystem.as_ref().ok_or_else(other)?.mount(contents, hints)
}
