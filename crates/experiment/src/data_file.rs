//! Data files that a scenario names: their search path, and the checks on them.
//!
//! Layer: rank 9. Functions: [`path`], [`read`].

use boardlab_document::error::reason;
use boardlab_document::{Read, Section, SourcedValue};
use boardlab_sim::Bytes;
use std::path::{Path, PathBuf};

/// The path of the file that `key` of `section` names: relative to the file that has the key, or to the current folder
/// if an argument such as `--set` names it.
pub fn path(section: &Section<'_>, key: &str, named: &SourcedValue<String>) -> PathBuf {
    section.folder_of(key).unwrap_or(Path::new("")).join(&named.value)
}

/// Reads the file at `path`, which `key` of `section` names: at most `room` bytes, the capacity of
/// `what`.
pub fn read(
    section: &Section<'_>,
    key: &str,
    path: &Path,
    room: Bytes,
    what: &str,
) -> Read<Vec<u8>> {
    let refuse = |problem: &str| {
        section.refuse(
            key,
            problem,
            &format!("a readable file of 1 to {} bytes", room.get()),
            "give the path of a regular file, from the scenario's folder, or from the current one in --set",
        )
    };
    let unreadable = |error: std::io::Error| refuse(&format!("cannot be read: {}", reason(&error)));
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    let problem = match metadata.len() {
        _ if metadata.is_dir() => "is a directory".into(),
        _ if !metadata.is_file() => "is not a regular file".into(),
        0 => "is empty".into(),
        size if size > room.get() => format!("has {size} bytes, which do not fit {what}"),
        _ => match std::fs::read(path).map_err(unreadable)? {
            bytes if bytes.is_empty() => "is empty".into(),
            bytes if Bytes::of(&bytes) > room => format!("grew beyond {what}"),
            bytes => return Ok(bytes),
        },
    };
    Err(refuse(&problem))
}
