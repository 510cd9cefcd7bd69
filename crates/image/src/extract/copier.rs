//! Reads files and writes them on the same thread.
//!
//! Layer: rank 7. Main type: [`Copier`].

use super::content::{self, Content, Source};
use super::host::Folder;
use super::open_file::OpenFile;
use boardlab_vfs::Attributes;
use std::io;

/// Bytes that are gathered before they are written: a filesystem gives its content by the page.
const CHUNK: usize = 128 << 10;

/// A thread's way of copying files.
pub(super) struct Copier {
    folder: Folder,
    /// What is not written yet.
    gathered: Vec<u8>,
}

impl Copier {
    pub(super) const fn new(folder: Folder) -> Self {
        Self { folder, gathered: Vec::new() }
    }

    /// Copies a file to `file`, at most `limit` bytes of its content; one beyond the limit is removed.
    ///
    /// # Errors
    /// Those of [`OpenFile::complete`] and [`OpenFile::abandon`], beside what was read.
    pub(super) fn copy(
        &mut self,
        source: Source<'_>,
        mut file: OpenFile,
        attributes: &Attributes,
        limit: u64,
    ) -> (Content, io::Result<()>) {
        let Self { folder, gathered } = self;
        let mut start = 0;
        gathered.clear();
        let content = content::copy(source, limit, |offset, bytes| {
            let goes_on = offset == start + gathered.len() as u64;
            if !goes_on || gathered.len() + bytes.len() > CHUNK {
                file.write(folder, start, gathered);
                gathered.clear();
                start = offset;
            }
            gathered.extend_from_slice(bytes);
        });
        if content.is_beyond {
            return (content, file.abandon(folder));
        }
        file.write(folder, start, gathered);
        (content, file.complete(folder, attributes))
    }
}
