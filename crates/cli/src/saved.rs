//! Results that were saved: what `--format json` prints and `--out` writes.
//!
//! Layer: rank 9. Function: [`read`]. The files are untrusted: size, kind, encoding, form and the
//! names of attachments are checked before anything is shown.

use crate::error::{Error, ReadProblem};
use crate::folder;
use boardlab_report::json;
use boardlab_result::Reproduction;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// The largest file that is read. Our own results have less than a megabyte.
const SIZE_LIMIT: u64 = 256 << 20;

/// The results saved at `path`: a JSON file, or a folder that `--out` wrote.
pub(crate) fn read(path: &Path) -> Result<Reproduction, Error> {
    let path = if path.is_dir() { path.join(folder::RESULT) } else { path.to_path_buf() };
    let text = match read_text(&path) {
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

fn read_text(path: &Path) -> Result<String, ReadProblem> {
    // Asked before opening: opening a pipe that nobody writes to would wait for ever.
    let metadata = fs::metadata(path).map_err(ReadProblem::System)?;
    if !metadata.is_file() {
        return Err(ReadProblem::NotAFile);
    }
    let too_large = Err(ReadProblem::TooLarge { limit: SIZE_LIMIT });
    if metadata.len() > SIZE_LIMIT {
        return too_large;
    }
    let file = File::open(path).map_err(ReadProblem::System)?;
    let mut bytes = Vec::new();
    // The file may grow meanwhile, and some have more than they say. One byte beyond the limit
    // tells a file that is too large from one that just fits.
    file.take(SIZE_LIMIT + 1).read_to_end(&mut bytes).map_err(ReadProblem::System)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > SIZE_LIMIT) {
        return too_large;
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
        ReadProblem::NotUtf8 { line, column }
    })
}
