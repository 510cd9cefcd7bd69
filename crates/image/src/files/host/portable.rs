//! What the standard library says of files where there is no Unix: no owners, devices and attributes.
//!
//! Layer: rank 7.

use super::Found;
use boardlab_vfs::Kind;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// What is needed of `metadata`.
pub(in crate::files) fn found(metadata: &Metadata) -> Found {
    let kind = metadata.file_type();
    let kinds = [
        (kind.is_symlink(), Kind::Symlink, 0o777),
        (kind.is_dir(), Kind::Directory, 0o755),
        (kind.is_file(), Kind::File, 0o644),
    ];
    let found = kinds.into_iter().find(|(is, ..)| *is);
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Found {
        kind: found.map(|(_, kind, _)| kind),
        mode: found.map_or(0, |(_, _, mode)| mode),
        owner: (0, 0),
        modified: since.and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(0),
        identity: None,
    }
}

/// Opens a regular file.
pub(in crate::files) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Reads all of `buffer`.
pub(in crate::files) fn read_at(mut file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(buffer)
}

/// Holes are not known.
pub(in crate::files) fn next_data(_file: &File, at: u64) -> Option<u64> {
    Some(at)
}

/// There are none.
pub(in crate::files) fn attributes(_path: &Path) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    Ok(Vec::new())
}
