//! The content of a file that a user names.
//!
//! Layer: rank 9. Functions: [`read`], [`contents`], [`check_kind`].

use super::failure::Failure;
use boardlab_sim::Bytes;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

/// The content of the regular file at `path`.
pub(super) fn read(path: &Path, limit: Bytes) -> Result<Vec<u8>, Failure> {
    check_kind(path)?;
    let file = File::open(path).map_err(|error| Failure::unreadable(path, &error))?;
    contents(&file, path, limit)
}

/// Refuses what is no regular file, before it is opened: opening a pipe that nobody writes to would wait for ever.
pub(super) fn check_kind(path: &Path) -> Result<(), Failure> {
    let metadata = fs::metadata(path).map_err(|error| Failure::unreadable(path, &error))?;
    let problem = "it is not a regular file".into();
    let refused = Failure::Unreadable(path.into(), problem);
    if metadata.is_file() { Ok(()) } else { Err(refused) }
}

/// The content of `file`, which was opened at `path`.
pub(super) fn contents(file: &File, path: &Path, limit: Bytes) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = file.take(limit.get() + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::unreadable(path, &error))?;
    if Bytes::of(&bytes) > limit {
        let problem = format!("it is larger than {limit}");
        return Err(Failure::Unreadable(path.into(), problem));
    }
    Ok(bytes)
}
