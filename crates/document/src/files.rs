//! Files: how one is read, and the keys of a scenario that name others, parts and boards.
//!
//! Layer: rank 7. Functions: [`Source::from_file`], [`mounted`], [`mounts`].

use crate::error::{Error, FileProblem};
use crate::source::{Kind, SIZE_LIMIT, Source};
use crate::{Document, Node};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// The keys of a scenario that name other files, and what those describe.
const MOUNTS: [(&str, Kind); 3] =
    [("part", Kind::Part), ("board", Kind::Board), ("exec.card", Kind::Part)];
/// The section of which every key names a part.
const DRIVES: &str = "drives";

/// What the file describes that the key at the dotted `path` names; `None` when it names none.
#[must_use]
pub fn mounted(path: &str) -> Option<Kind> {
    let known = MOUNTS.iter().find(|(key, _)| *key == path).map(|(_, kind)| *kind);
    let drive =
        || path.split_once('.').filter(|(section, key)| *section == DRIVES && !key.contains('.'));
    known.or_else(|| drive().map(|_| Kind::Part))
}

/// The keys of `document` that name other files.
#[must_use]
pub fn mounts(document: &Document) -> Vec<String> {
    let drives = document.get(DRIVES).and_then(Node::as_table);
    let drives =
        drives.into_iter().flat_map(|table| table.0.keys()).map(|key| format!("{DRIVES}.{key}"));
    MOUNTS.iter().map(|(key, _)| String::from(*key)).chain(drives).collect()
}

impl Source {
    /// Reads a `kind` of file at `path`.
    ///
    /// # Errors
    /// [`Error::File`] when the file is missing, not a regular file, unreadable, not UTF-8 or
    /// larger than [`SIZE_LIMIT`].
    pub fn from_file(kind: Kind, path: &Path) -> Result<Arc<Self>, Error> {
        let name = path.display().to_string();
        let text = read_text(path).map_err(|problem| Error::File {
            path: name.clone(),
            problem,
            place: None,
        })?;
        let folder = path.parent().map(Path::to_path_buf);
        Ok(Self::in_folder(kind, name, text, folder))
    }
}

fn read_text(path: &Path) -> Result<String, FileProblem> {
    let of_io = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => FileProblem::Missing,
        _ => FileProblem::Unreadable(error.raw_os_error()),
    };
    // Asked before opening: opening a pipe that nobody writes to would wait for ever.
    let metadata = std::fs::metadata(path).map_err(of_io)?;
    if metadata.is_dir() {
        return Err(FileProblem::Directory);
    }
    if !metadata.is_file() {
        return Err(FileProblem::NotAFile);
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(of_io)?;
    // One byte beyond the limit tells a file that is too large from one that just fits.
    file.take(SIZE_LIMIT + 1).read_to_end(&mut bytes).map_err(of_io)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > SIZE_LIMIT) {
        return Err(FileProblem::TooLarge(SIZE_LIMIT));
    }
    String::from_utf8(bytes).map_err(|error| FileProblem::NotUtf8(error.utf8_error().valid_up_to()))
}
