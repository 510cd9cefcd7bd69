//! The target folder on this machine; nothing outside of it is written.
//!
//! Layer: rank 7. Main type: [`Folder`]. Paths are walked name by name from the folder on, and no
//! step follows a symbolic link. So nobody who changes the folder concurrently can redirect a
//! write, and no path is too long. Only new files are created: existing ones are left alone.

use super::{Error, MARK, MARK_TEXT};
use boardlab_vfs::{Attributes, Timestamp};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, fchmod, fsync, futimens, linkat,
    mkdirat, openat, statat, symlinkat, syncfs, unlinkat, utimensat,
};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The number of folders that are kept open, so that their paths need not be walked again.
const OPEN: usize = 16;

/// The target folder.
pub(super) struct Folder {
    root: Arc<OwnedFd>,
    /// The most recently used folders, the last one at the end, by their paths relative to the target.
    open: Vec<(PathBuf, Arc<OwnedFd>)>,
}

impl Folder {
    /// Creates the folder, or takes an empty one, and writes the marker of an unfinished extraction.
    pub(super) fn begin(target: &Path) -> Result<Self, Error> {
        let unwritable = |problem| Error::Unwritable { problem };
        // Without a trailing slash, which would follow a link.
        let target: PathBuf = target.components().collect();
        if target.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(Error::TargetIsALink);
        }
        fs::create_dir_all(&target).map_err(unwritable)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = openat(rustix::fs::CWD, &target, flags, Mode::empty());
        let root = root.map_err(|error| unwritable(error.into()))?;
        if statat(&root, MARK, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Err(Error::Unfinished);
        }
        if fs::read_dir(&target).map_err(unwritable)?.next().is_some() {
            return Err(Error::NotEmpty);
        }
        let mut folder = Self { root: Arc::new(root), open: Vec::new() };
        let mark = folder.file(Path::new(MARK)).and_then(|mut mark| {
            mark.write_all(MARK_TEXT.as_bytes())?;
            mark.sync_all()
        });
        mark.map_err(unwritable)?;
        Ok(folder)
    }

    /// The same folder, to be used beside this one.
    pub(super) fn share(&self) -> Self {
        Self { root: Arc::clone(&self.root), open: Vec::new() }
    }

    /// Waits until everything is on the disk, and removes the marker.
    pub(super) fn end(&self) -> io::Result<()> {
        syncfs(&*self.root)?;
        unlinkat(&*self.root, MARK, AtFlags::empty())?;
        Ok(fsync(&*self.root)?)
    }

    /// The folder that `place` is in, and its name there.
    fn parent<'p>(&mut self, place: &'p Path) -> io::Result<(Arc<OwnedFd>, &'p OsStr)> {
        let name = place.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let above = place.parent().unwrap_or_else(|| Path::new(""));
        Ok((self.folder(above)?, name))
    }

    fn folder(&mut self, path: &Path) -> io::Result<Arc<OwnedFd>> {
        if path.as_os_str().is_empty() {
            return Ok(Arc::clone(&self.root));
        }
        if let Some((_, folder)) = self.open.last().filter(|(known, _)| known == path) {
            return Ok(Arc::clone(folder));
        }
        let under = self.open.iter().filter(|(known, _)| path.starts_with(known));
        let known = under.max_by_key(|(known, _)| known.as_os_str().len());
        let (mut reached, mut folder) = match known {
            Some((known, folder)) => (known.clone(), Arc::clone(folder)),
            None => (PathBuf::new(), Arc::clone(&self.root)),
        };
        let rest = path.strip_prefix(&reached).map_err(|_| io::ErrorKind::InvalidInput)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for component in rest.components() {
            let Component::Normal(name) = component else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            folder = Arc::new(openat(&*folder, name, flags, Mode::empty())?);
            reached.push(name);
        }
        self.open.retain(|(known, _)| known != path);
        if self.open.len() == OPEN {
            self.open.remove(0);
        }
        self.open.push((reached, Arc::clone(&folder)));
        Ok(folder)
    }

    /// Creates a folder that only its owner may use, until [`Folder::dress_folder`].
    pub(super) fn make_folder(&mut self, place: &Path) -> io::Result<()> {
        let (folder, name) = self.parent(place)?;
        Ok(mkdirat(&*folder, name, Mode::RWXU)?)
    }

    /// Creates a file.
    pub(super) fn file(&mut self, place: &Path) -> io::Result<File> {
        let (folder, name) = self.parent(place)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&*folder, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Removes a file that was created here.
    pub(super) fn remove(&mut self, place: &Path) -> io::Result<()> {
        let (folder, name) = self.parent(place)?;
        Ok(unlinkat(&*folder, name, AtFlags::empty())?)
    }

    /// Creates a hard link to the file at `first`.
    pub(super) fn link(&mut self, first: &Path, place: &Path) -> io::Result<()> {
        let (from, old) = self.parent(first)?;
        let (to, new) = self.parent(place)?;
        Ok(linkat(&*from, old, &*to, new, AtFlags::empty())?)
    }

    /// Creates a symbolic link, with its time.
    pub(super) fn symlink(
        &mut self,
        target: &[u8],
        place: &Path,
        attributes: Option<&Attributes>,
    ) -> io::Result<()> {
        let target: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(target);
        let (folder, name) = self.parent(place)?;
        symlinkat(target, &*folder, name)?;
        if let Some(attributes) = attributes {
            let times = times(attributes.modified);
            utimensat(&*folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    }

    /// Sets the permissions and the time of a folder.
    pub(super) fn dress_folder(&mut self, place: &Path, attributes: &Attributes) -> io::Result<()> {
        let folder = self.folder(place)?;
        dress(&*folder, attributes)
    }
}

/// Sets the permissions and the time of a file.
pub(super) fn dress(file: impl rustix::fd::AsFd, attributes: &Attributes) -> io::Result<()> {
    fchmod(&file, Mode::from_raw_mode(attributes.mode & 0o777))?;
    Ok(futimens(&file, &times(attributes.modified))?)
}

/// The access time is not changed.
fn times(modified: Timestamp) -> Timestamps {
    let nanos = modified.nanos.into();
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: modified.seconds, tv_nsec: nanos },
    }
}

/// The owner and group of this process.
pub(super) fn owner() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

/// A name of the image as one of this machine.
#[allow(clippy::unnecessary_wraps, reason = "other machines have no such names")]
pub(super) fn native(name: &[u8]) -> Option<&Path> {
    let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(name);
    Some(Path::new(name))
}
