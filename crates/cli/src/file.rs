//! Files that a command writes atomically: completely or not at all, even if the process is killed.
//!
//! Layer: rank 12. Main types: [`Target`], a file that the user named, checked before the run;
//! [`NewFile`], one that must not exist; and [`Part`], a temporary file in the folder of its target,
//! which is renamed to it once it is flushed.
//!
//! A killed process leaves its temporary file behind. It held a lock on the file, so the next
//! process that writes into the folder detects that the file is unused, and removes it ([`clear`]).
//! Only regular files are written, never a pipe, a device or a socket. A symbolic link is followed,
//! and is kept.

use boardlab_document::lock::{self, LockError};
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;

/// The beginning and the end of the names of temporary files, with the process and a number in between.
const PART: [&str; 2] = [".boardlab-", ".part"];
/// The bytes that are written to check for free space: a block of most filesystems.
const PROBE: [u8; 4_096] = [0; 4_096];
/// The largest number of symbolic links that are followed, as in Linux (path_resolution(7)).
const LINKS: usize = 40;

/// A file that the user named for output.
#[derive(Debug)]
pub(crate) struct Target {
    /// Its path, with symbolic links resolved.
    path: PathBuf,
}

impl Target {
    /// The file at `path`, which need not exist yet. Checked before a run, so that a wrong path
    /// does not waste one; an existing file is not changed.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let path = followed(path)?;
        if is_there(&path)? {
            // A file without write permission is not replaced either.
            File::options().write(true).open(&path)?;
        }
        let target = Self { path };
        clear(target.folder());
        Part::probe(target.folder())?;
        Ok(target)
    }

    /// Whether it is the file at `path`, possibly by another name.
    pub(crate) fn is(&self, path: &Path) -> bool {
        let file = |path: &Path| fs::metadata(path).ok().and_then(|metadata| identity(&metadata));
        match (file(&self.path), file(path)) {
            (Some(one), Some(other)) => one == other,
            _ => followed(path).is_ok_and(|path| path == self.path),
        }
    }

    /// A temporary file that will be the target.
    pub(crate) fn begin(&self) -> io::Result<Part> {
        let mut part = Part::create(self.folder())?;
        if let Ok(before) = fs::metadata(&self.path) {
            part.take_over(&before)?;
        }
        Ok(part)
    }

    /// Replaces the file by the complete `part`.
    pub(crate) fn finish(&self, mut part: Part) -> io::Result<()> {
        part.flush()?;
        // The path may have become something else during the run.
        is_there(&self.path)?;
        part.put(&self.path)?;
        sync(self.folder())
    }

    /// Writes the whole file.
    pub(crate) fn write(&self, content: &[u8]) -> io::Result<()> {
        let mut part = self.begin()?;
        part.file.write_all(content)?;
        self.finish(part)
    }

    fn folder(&self) -> &Path {
        folder_of(&self.path)
    }
}

/// A file that the user named for output and that must not exist.
#[derive(Debug)]
pub(crate) struct NewFile {
    /// Its folder, with symbolic links resolved.
    folder: PathBuf,
    path: PathBuf,
}

impl NewFile {
    /// The file at `path`. Checked before the work, so that a wrong path does not waste it.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        if path.as_os_str().to_string_lossy().ends_with('/') {
            return Err(ErrorKind::IsADirectory.into());
        }
        if fs::symlink_metadata(path).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
        let folder = fs::canonicalize(folder_of(path))?;
        clear(&folder);
        Part::probe(&folder)?;
        let path = folder.join(name);
        Ok(Self { folder, path })
    }

    /// Whether it would be somewhere in `folder`.
    pub(crate) fn is_within(&self, folder: &Path) -> bool {
        fs::canonicalize(folder).is_ok_and(|folder| self.folder.starts_with(folder))
    }

    /// A temporary file that will be the file.
    pub(crate) fn begin(&self) -> io::Result<Part> {
        Part::create(&self.folder)
    }

    /// Makes the complete `part` the file; an error if there is one of that name by now.
    pub(crate) fn finish(&self, mut part: Part) -> io::Result<()> {
        part.flush()?;
        part.put_new(&self.path)?;
        sync(&self.folder)
    }

    /// Writes the whole file.
    pub(crate) fn write(&self, content: &[u8]) -> io::Result<()> {
        let mut part = self.begin()?;
        part.file.write_all(content)?;
        self.finish(part)
    }
}

/// A temporary file, which is removed when this value is dropped, unless it was renamed.
#[derive(Debug)]
pub(crate) struct Part {
    file: File,
    path: PathBuf,
    placed: bool,
}

impl Part {
    /// A new temporary file in `folder`, locked as long as this process needs it.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let mut number = 0_u32;
        loop {
            let name = format!("{}{}-{number}{}", PART[0], process::id(), PART[1]);
            number += 1;
            let path = folder.join(name);
            let file = match File::options().read(true).write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            // Without locks a file that was left behind cannot be detected.
            let locked = lock::exclusive(&file);
            // Another process may just have locked and removed it as left behind.
            if !matches!(locked, Err(LockError::Held(_))) && is_at(&file, &path) {
                return Ok(Self { file, path, placed: false });
            }
        }
    }

    /// Checks that a file can be written in `folder`.
    pub(crate) fn probe(folder: &Path) -> io::Result<()> {
        let mut part = Self::create(folder)?;
        part.file.write_all(&PROBE)
    }

    /// The file to write to.
    pub(crate) const fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Makes the file durable.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Renames it to `path` in its folder.
    pub(crate) fn put(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.placed = true;
        Ok(())
    }

    /// Renames it to `path` in its folder, where nothing is. A link is never made over another file; a
    /// filesystem without links leaves a moment between the look and the renaming.
    fn put_new(self, path: &Path) -> io::Result<()> {
        match fs::hard_link(&self.path, path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            Ok(()) => Ok(()),
            Err(_) if path.symlink_metadata().is_ok() => Err(ErrorKind::AlreadyExists.into()),
            Err(_) => self.put(path),
        }
    }

    /// Copies the owner and the permissions of the file that it replaces.
    fn take_over(&mut self, before: &fs::Metadata) -> io::Result<()> {
        let permissions: Permissions = before.permissions();
        own(&self.file, before);
        self.file.set_permissions(permissions)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.placed {
            // A failure to remove it is not reported as a second error.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the temporary files in `folder` of processes that have ended.
pub(crate) fn clear(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_part(&entry.file_name())) {
        // Neither a link nor a pipe of that name: opening a pipe could block.
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        if let Ok(file) = File::options().read(true).write(true).open(entry.path()) {
            remove_if_left(&file, &entry.path());
        }
    }
}

/// Removes `file`, which was opened at `path`, if it is unused.
fn remove_if_left(file: &File, path: &Path) {
    // While it is locked its name cannot pass to another file, but it may have done so before.
    if lock::exclusive(file).is_ok() && is_at(file, path) {
        // This process may not be allowed to remove it.
        let _ = fs::remove_file(path);
    }
}

fn is_part(name: &OsStr) -> bool {
    let middle = name.to_str().and_then(|name| name.strip_prefix(PART[0])?.strip_suffix(PART[1]));
    let numbers = middle.and_then(|middle| middle.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

/// Makes the names in `folder` durable.
pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    // Where a folder cannot be opened, as on Windows, this is not needed.
    File::open(folder).map_or(Ok(()), |folder| folder.sync_all())
}

/// Whether a regular file is at `path`; an error if it is something else.
pub(crate) fn is_there(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(true),
        Ok(metadata) if metadata.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(_) => Err(special()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn special() -> io::Error {
    io::Error::new(
        ErrorKind::InvalidInput,
        "it is a pipe, a device or a socket, and only regular files are written",
    )
}

/// `path` with symbolic links resolved. The file need not exist, but its folder must.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        if path.as_os_str().to_string_lossy().ends_with('/') {
            return Err(ErrorKind::IsADirectory.into());
        }
        if path.file_name().is_none() {
            // `.`, `..`, `/` and the empty path.
            fs::metadata(&path)?;
            return Err(ErrorKind::IsADirectory.into());
        }
        let folder = fs::canonicalize(folder_of(&path))?;
        let Ok(link) = fs::read_link(&path) else {
            return Ok(folder.join(path.file_name().unwrap_or_default()));
        };
        // `/dev/stdout` and `/dev/fd` refer to an open file; a new file of its name would be
        // another one.
        if folder.starts_with("/proc") {
            return Err(special());
        }
        path = folder.join(link);
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// The folder of `path`.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The identity of a file: its device and inode, while it has a name.
#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    (metadata.nlink() > 0).then(|| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_metadata: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// Whether `file`, which was opened at `path`, is still there. True where files have no identity.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let [here, there] = [file.metadata(), fs::metadata(path)];
    match (here, there) {
        (Ok(here), Ok(there)) => identity(&here) == identity(&there),
        _ => false,
    }
}

/// Gives `file` the owner of the file that it replaces, if this process may do so.
#[cfg(unix)]
fn own(file: &File, before: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    // Only root may change the owner; for other users the new file is theirs.
    let _ = fchown(file, Some(before.uid()), Some(before.gid()));
}

#[cfg(not(unix))]
fn own(_file: &File, _before: &fs::Metadata) {}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("boardlab-file-{}-{name}", process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
            let mut names: Vec<_> = fs::read_dir(&self.0).unwrap().flatten().map(name).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_else_stays() {
        let scratch = Scratch::new("whole");
        let path = scratch.0.join("file");
        let target = Target::at(&path).unwrap();
        assert_eq!(scratch.names(), [""; 0], "looking leaves nothing");
        target.write(b"one").unwrap();
        let kept = File::open(&path).unwrap();
        target.write(b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(io::read_to_string(kept).unwrap(), "one", "who has it open keeps the old one");
        assert_eq!(scratch.names(), ["file"]);
        drop(target.begin().unwrap());
        assert_eq!(scratch.names(), ["file"]);
    }

    #[test]
    fn a_new_file_appears_whole_and_never_in_place_of_another() {
        let scratch = Scratch::new("new");
        let path = scratch.0.join("file");
        let [first, second] = [(); 2].map(|()| NewFile::at(&path).unwrap());
        first.write(b"one").unwrap();
        assert_eq!(second.write(b"two").unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(NewFile::at(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(scratch.names(), ["file"]);
        for wrong in [scratch.0.join("none/file"), scratch.0.join("new/"), "..".into(), "".into()] {
            assert!(NewFile::at(&wrong).is_err(), "{}", wrong.display());
        }
        let inside = NewFile::at(&scratch.0.join("other")).unwrap();
        assert!(inside.is_within(&scratch.0.join(".")) && !inside.is_within(&path));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_got_the_name_of_one_left_behind_stays() {
        let scratch = Scratch::new("name");
        let before = Part::create(&scratch.0).unwrap();
        let opened = File::options().read(true).write(true).open(&before.path).unwrap();
        drop(before);
        let needed = Part::create(&scratch.0).unwrap();
        remove_if_left(&opened, &needed.path);
        needed.put(&scratch.0.join("file")).unwrap();
        assert_eq!(scratch.names(), ["file"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let scratch = Scratch::new("links");
        let [link, other, file] = ["link", "other", "file"].map(|name| scratch.0.join(name));
        symlink("other", &link).unwrap();
        symlink(&file, &other).unwrap();
        Target::at(&link).unwrap().write(b"one").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        Target::at(&link).unwrap().write(b"two").unwrap();
        assert!(
            [&link, &other].iter().all(|link| fs::symlink_metadata(link).unwrap().is_symlink())
        );
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(Target::at(&link).unwrap().is(&file));
        fs::remove_file(&file).unwrap();
        symlink("link", &file).unwrap();
        assert!(Target::at(&link).is_err(), "a ring of links");
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        let scratch = Scratch::new("special");
        let inside = |name: &str| scratch.0.join(name);
        let wrong = [inside("none/file"), inside("file/"), inside(".."), "".into(), "/".into()];
        let devices = ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        for path in wrong.into_iter().chain(devices.map(PathBuf::from)) {
            assert!(Target::at(&path).is_err(), "{}", path.display());
        }
        assert_eq!(scratch.names(), [""; 0]);
    }

    #[test]
    fn a_file_left_behind_goes_and_one_that_is_needed_stays() {
        let scratch = Scratch::new("left");
        let needed = Part::create(&scratch.0).unwrap();
        let left = format!("{}99999-7{}", PART[0], PART[1]);
        for name in [&left, ".boardlab-x-1.part", ".boardlab-1-1.part.txt", "boardlab-1-1.part"] {
            fs::write(scratch.0.join(name), "x").unwrap();
        }
        fs::create_dir(scratch.0.join(".boardlab-1-1.part")).unwrap();
        clear(&scratch.0);
        assert!(needed.path.exists() && !scratch.names().contains(&left), "{:?}", scratch.names());
        assert_eq!(scratch.names().len(), 5);
    }
}
