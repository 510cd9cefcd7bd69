//! Saved results: the output of `--format json` and the files of `--out`.
//!
//! Layer: rank 12. Function: [`read`]. The files are untrusted input: size, kind, encoding, form
//! and the names of attachments are checked before anything is shown. All files of a folder are
//! checked against its [manifest](crate::manifest); a file named directly is not.

use crate::error::{Error, ReadProblem, shown_path};
use crate::folder;
use crate::manifest::{self, Difference, Manifest};
use crate::terminal;
use boardlab_document::lock::{self, Holder, LockError};
use boardlab_report::json;
use boardlab_result::Reproduction;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

/// The largest file that is read. Our own results have less than a megabyte.
const SIZE_LIMIT: u64 = 256 << 20;
/// How often an incomplete folder is checked, and the pause between: another process may be
/// renaming its files.
const LOOKS: usize = 3;
const PAUSE: Duration = Duration::from_millis(30);

/// The results saved at `path`: a JSON file, or a folder that `--out` wrote.
pub(crate) fn read(path: &Path) -> Result<Reproduction, Error> {
    let (path, bytes) = if path.is_dir() {
        (path.join(folder::RESULT), read_folder(path)?)
    } else {
        (path.to_path_buf(), read_file(path)?)
    };
    let text = match text(bytes) {
        Ok(text) => text,
        Err(problem) => return Err(Error::Unreadable { path, problem }),
    };
    let saved = match json::read(&text) {
        Ok(saved) => saved,
        Err(problem) => return Err(Error::NotAResult { path, problem }),
    };
    let attachments = saved.results.iter().flat_map(|result| &result.attachments);
    let hostile = attachments.map(|one| &one.name).find(|name| !folder::is_plain(name)).cloned();
    match hostile {
        Some(name) => Err(Error::AttachmentName { path: Some(path), name }),
        None => Ok(saved),
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    read_bytes(path).map_err(|problem| Error::Unreadable { path: path.into(), problem })
}

/// The result in `folder`, all files of which agree with its manifest.
fn read_folder(folder: &Path) -> Result<Vec<u8>, Error> {
    let mut differences = Vec::new();
    for look in 0..LOOKS {
        if look > 0 {
            thread::sleep(PAUSE);
        }
        let Some(manifest) = read_manifest(folder)? else {
            let result = read_file(&folder.join(folder::RESULT))?;
            warn_of_no_manifest(folder);
            return Ok(result);
        };
        let mut result = None;
        differences.clear();
        for file in &manifest.files {
            match file.read(folder) {
                Ok(content) if file.name == folder::RESULT => result = Some(content),
                Ok(_) => {}
                Err(difference) => differences.push(difference),
            }
        }
        match result.filter(|_| differences.is_empty()) {
            Some(result) => return Ok(result),
            None if differences.is_empty() => {
                differences.push(Difference::Missing(folder::RESULT.into()));
            }
            None => {}
        }
    }
    Err(Error::NotWhole { path: folder.into(), differences, writer: writer(folder) })
}

/// The manifest in `folder`, if there is one.
fn read_manifest(folder: &Path) -> Result<Option<Manifest>, Error> {
    let path = folder.join(manifest::NAME);
    match read_bytes(&path) {
        Err(ReadProblem::System(error)) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(Error::Unreadable { path, problem }),
        Ok(text) => match Manifest::parse(&text) {
            Ok(manifest) => Ok(Some(manifest)),
            Err(problem) => Err(Error::NotAManifest { path, problem }),
        },
    }
}

/// The other process that is currently writing into `folder`.
fn writer(folder: &Path) -> Option<Holder> {
    match lock::shared(&File::open(folder).ok()?) {
        Err(LockError::Held(holder)) => {
            Some(holder).filter(|one| one.process != Some(process::id()))
        }
        _ => None,
    }
}

fn warn_of_no_manifest(folder: &Path) {
    terminal::tell(&format!(
        "warning: `{}` has no {}, as older versions left it: whether its files are of one run is not known",
        shown_path(folder),
        manifest::NAME
    ));
}

/// Opens the regular file at `path`, and tells its length.
pub(crate) fn open(path: &Path) -> Result<(File, u64), ReadProblem> {
    // Checked before opening: opening a pipe without a writer would block forever.
    let metadata = fs::metadata(path).map_err(ReadProblem::System)?;
    if !metadata.is_file() {
        return Err(ReadProblem::NotAFile);
    }
    Ok((File::open(path).map_err(ReadProblem::System)?, metadata.len()))
}

/// The content of the regular file at `path`.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, ReadProblem> {
    let (file, length) = open(path)?;
    let too_large = Err(ReadProblem::TooLarge { limit: SIZE_LIMIT });
    if length > SIZE_LIMIT {
        return too_large;
    }
    let mut bytes = Vec::new();
    // The file may grow meanwhile, and some are longer than their metadata say. One byte beyond the
    // limit distinguishes a file that is too large from one that just fits.
    file.take(SIZE_LIMIT + 1).read_to_end(&mut bytes).map_err(ReadProblem::System)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > SIZE_LIMIT) {
        return too_large;
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> Result<String, ReadProblem> {
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
        ReadProblem::NotUtf8 { line, column }
    })
}
