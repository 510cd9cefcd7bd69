//! The content of a file that a user names.
//!
//! Layer: rank 9. Functions: [`read`], [`contents`].

use super::failure::Failure;
use boardlab_sim::Bytes;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

/// The content of the regular file at `path`.
pub(super) fn read(path: &Path, limit: Bytes) -> Result<Vec<u8>, Failure> {
    let system = |error: std::io::Error| Failure::unreadable(path, &error);
    // Asked before opening: opening a pipe that nobody writes to would wait for ever.
    if !fs::metadata(path).map_err(system)?.is_file() {
        return Err(Failure::not_a_file(path));
    }
    contents(&File::open(path).map_err(system)?, path, limit)
}

/// The content of `file`, which was opened at `path`.
pub(super) fn contents(file: &File, path: &Path, limit: Bytes) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = file.take(limit.get() + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::unreadable(path, &error))?;
    if Bytes::of(&bytes) > limit {
        let problem = format!("it is larger than {limit}");
        return Err(Failure::Unreadable { path: path.into(), problem });
    }
    Ok(bytes)
}
