//! As `host`, for machines without directory handles: by paths.
//!
//! Layer: rank 7. Main type: [`Folder`]. Symbolic links are left out, and files have no permissions.

use super::{Error, MARK, MARK_TEXT};
use boardlab_vfs::Attributes;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The target folder.
pub(super) struct Folder {
    root: PathBuf,
}

impl Folder {
    /// Creates the folder, or takes an empty one, and writes the marker of an unfinished extraction.
    pub(super) fn begin(target: &Path) -> Result<Self, Error> {
        let unwritable = |problem| Error::Unwritable { problem };
        let target: PathBuf = target.components().collect();
        if target.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(Error::TargetIsALink);
        }
        fs::create_dir_all(&target).map_err(unwritable)?;
        if target.join(MARK).symlink_metadata().is_ok() {
            return Err(Error::Unfinished);
        }
        if fs::read_dir(&target).map_err(unwritable)?.next().is_some() {
            return Err(Error::NotEmpty);
        }
        let mut folder = Self { root: target };
        let mark = folder.file(Path::new(MARK)).and_then(|mut mark| {
            mark.write_all(MARK_TEXT.as_bytes())?;
            mark.sync_all()
        });
        mark.map_err(unwritable)?;
        Ok(folder)
    }

    /// The same folder, to be used beside this one.
    pub(super) fn share(&self) -> Self {
        Self { root: self.root.clone() }
    }

    /// Removes the marker.
    pub(super) fn end(&self) -> io::Result<()> {
        fs::remove_file(self.root.join(MARK))
    }

    /// Creates a folder.
    pub(super) fn make_folder(&mut self, place: &Path) -> io::Result<()> {
        fs::create_dir(self.root.join(place))
    }

    /// Creates a file.
    pub(super) fn file(&mut self, place: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.root.join(place))
    }

    /// Removes a file that was created here.
    pub(super) fn remove(&mut self, place: &Path) -> io::Result<()> {
        fs::remove_file(self.root.join(place))
    }

    /// Creates a hard link to the file at `first`.
    pub(super) fn link(&mut self, first: &Path, place: &Path) -> io::Result<()> {
        fs::hard_link(self.root.join(first), self.root.join(place))
    }

    /// Symbolic links are not supported.
    pub(super) fn symlink(&mut self, _: &[u8], _: &Path, _: Option<&Attributes>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// A folder keeps its creation time.
    pub(super) fn dress_folder(&mut self, _: &Path, _: &Attributes) -> io::Result<()> {
        Ok(())
    }
}

/// Sets the time of a file.
pub(super) fn dress(file: &File, attributes: &Attributes) -> io::Result<()> {
    let seconds = u64::try_from(attributes.modified.seconds).unwrap_or(0);
    let since = std::time::Duration::new(seconds, attributes.modified.nanos);
    let modified = std::time::SystemTime::UNIX_EPOCH + since;
    file.set_times(fs::FileTimes::new().set_modified(modified))
}

/// Nobody: owners are not compared.
pub(super) const fn owner() -> (u32, u32) {
    (0, 0)
}

/// A name of the image as one of this machine.
pub(super) fn native(name: &[u8]) -> Option<&Path> {
    let plain = |name: &str| !name.contains(['\\', ':', '<', '>', '"', '|', '?', '*']);
    std::str::from_utf8(name).ok().filter(|name| plain(name)).map(Path::new)
}
