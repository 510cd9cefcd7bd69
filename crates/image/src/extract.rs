//! The files of an image written into a folder, and nowhere else.
//!
//! Layer: rank 7. Main type: [`Extracted`]; main function: [`extract`]. An image is untrusted, and the
//! tools before this one were led out of their folders by names with `..` and `/`, by absolute names,
//! and by a symbolic link with a file behind it (CVE-2023-0592, CVE-2023-0593, ubi_reader advisory
//! GHSA-vp2x-3mc3-3cj4). Here
//!
//! - the folder is new, or empty, so nothing in it leads anywhere;
//! - a name that no program could have given to a file is left out, and so is what is in it;
//! - a path is never put together from the image: each name goes into the folder that was made for its
//!   directory;
//! - files are made, never opened: one that is there already is left alone;
//! - symbolic links are made last, when nothing is written through them any longer;
//! - devices, pipes and sockets are left out, and of permissions the bits of set-user-ID, set-group-ID
//!   and sticky.
//!
//! Holes stay holes. Owners are left as they are: they belong to the board and not to this machine.

use crate::damage::{Damage, Paths, in_words};
use crate::error::Error;
use crate::tables::shown;
use crate::walk::{Item, Problem, Walk, resolve};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{Attributes, FileSystem, Ino, Kind, PAGE_SIZE};
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What was written.
#[derive(Debug, Default)]
pub struct Extracted {
    /// Directories.
    pub directories: u64,
    /// Regular files, hard links not counted.
    pub files: u64,
    /// Further names of files.
    pub links: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Bytes of the files, holes included.
    pub bytes: Bytes,
    /// What was left out, and why.
    pub skipped: Vec<Skipped>,
    /// The first path of each inode.
    pub paths: Paths,
}

impl Extracted {
    /// Whether all names and contents that were asked for are in the folder.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.skipped.iter().any(|skipped| skipped.why.is_loss())
    }
}

/// A name that was left out.
#[derive(Debug)]
pub struct Skipped {
    /// Its path in the image.
    pub path: Vec<u8>,
    /// Why.
    pub why: Why,
}

/// Why a name was left out.
#[derive(Debug)]
pub enum Why {
    /// Something is wrong with it.
    Problem(Problem),
    /// It is a device, a pipe or a socket.
    Kind(Kind),
    /// The folder that it is in was left out.
    Folder,
    /// The operating system does not take it.
    System(io::Error),
    /// Its content cannot be read to the end: what is there was written.
    Content(boardlab_vfs::Error),
    /// Something of it is missing or older: what is there was written.
    Damaged(String),
}

impl Why {
    /// Whether that is lost which was asked for, and not only left to the board.
    #[must_use]
    pub const fn is_loss(&self) -> bool {
        !matches!(self, Self::Kind(_))
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problem(problem) => problem.fmt(f),
            Self::Kind(Kind::Character(_)) => f.write_str("a character device"),
            Self::Kind(Kind::Block(_)) => f.write_str("a block device"),
            Self::Kind(Kind::Fifo) => f.write_str("a named pipe"),
            Self::Kind(_) => f.write_str("a socket"),
            Self::Folder => f.write_str("its directory was left out"),
            Self::System(problem) => {
                let text = problem.to_string();
                f.write_str(&text.split(" (os error").next().unwrap_or(&text).to_lowercase())
            }
            Self::Content(problem) => write!(f, "not whole: {problem}"),
            Self::Damaged(words) => write!(f, "damaged: {words}"),
        }
    }
}

/// A piece of work in progress.
struct Extraction<'a> {
    fs: &'a mut dyn FileSystem,
    clock: &'a mut Clock,
    target: &'a Path,
    /// The folders that were made, by the directory of the image.
    made: HashMap<Ino, PathBuf>,
    /// The first name of every file, for further ones.
    first: HashMap<Ino, PathBuf>,
    /// Directories, whose permissions and times come last.
    directories: Vec<(PathBuf, Attributes)>,
    symlinks: Vec<(PathBuf, Item)>,
    done: Extracted,
}

/// Writes everything below `path` of the image into `target`, which must not exist or be empty.
///
/// # Errors
/// [`Error::NotEmpty`], [`Error::Unwritable`] for the folder itself, and when there is nothing of that
/// path. What else goes wrong is in [`Extracted::skipped`].
pub fn extract(
    fs: &mut dyn FileSystem,
    clock: &mut Clock,
    path: &[u8],
    target: &Path,
    damage: &Damage,
) -> Result<Extracted, Error> {
    let (path, start) = resolve(fs, clock, path)?;
    prepare(target)?;
    let mut walk = Walk::new(&path, start);
    let mut work = Extraction {
        fs,
        clock,
        target,
        made: HashMap::new(),
        first: HashMap::new(),
        directories: Vec::new(),
        symlinks: Vec::new(),
        done: Extracted::default(),
    };
    while let Some(item) = walk.next(work.fs, work.clock) {
        let ino = item.ino;
        let hurt = damage.of_inode(ino).map(in_words);
        if let Ok(number) = u32::try_from(ino.0) {
            work.done.paths.entry(number).or_insert_with(|| shown(&item.path));
        }
        if let Some(hurt) = hurt {
            work.skip(item.path.clone(), Why::Damaged(hurt));
        }
        work.take(item);
        // What was kept of the inode in memory may go; nothing depends on it.
        let _ = work.fs.forget(work.clock, ino);
    }
    work.finish();
    Ok(work.done)
}

/// Makes the folder, or takes one that is empty.
fn prepare(target: &Path) -> Result<(), Error> {
    let unwritable = |problem| Error::Unwritable { problem };
    fs::create_dir_all(target).map_err(unwritable)?;
    match fs::read_dir(target).map_err(unwritable)?.next() {
        Some(_) => Err(Error::NotEmpty),
        None => Ok(()),
    }
}

impl Extraction<'_> {
    fn take(&mut self, item: Item) {
        let made = match self.place(&item) {
            Ok(place) => self.make(&item, &place),
            Err(why) => Err(why),
        };
        if let Err(why) = made {
            self.skip(item.path.clone(), why);
        } else if let Some(problem) = item.problem {
            self.skip(item.path, Why::Problem(problem));
        }
    }

    /// Where the item goes: into the folder that was made for its directory, and for that very one.
    fn place(&self, item: &Item) -> Result<PathBuf, Why> {
        let name = || native(item.name()).ok_or(Why::Problem(Problem::Name));
        let is_directory = item.attributes.is_some_and(|found| found.kind == Kind::Directory);
        match (&item.problem, item.parent) {
            (Some(Problem::Name), _) => Err(Why::Problem(Problem::Name)),
            (_, None) if is_directory => Ok(self.target.to_owned()),
            (_, None) => Ok(self.target.join(name()?)),
            (_, Some(parent)) => match self.made.get(&parent) {
                Some(folder) => Ok(folder.join(name()?)),
                None => Err(Why::Folder),
            },
        }
    }

    fn make(&mut self, item: &Item, place: &Path) -> Result<(), Why> {
        let Some(attributes) = &item.attributes else { return Ok(()) };
        match attributes.kind {
            Kind::Directory => {
                if item.parent.is_some() {
                    fs::create_dir(place).map_err(Why::System)?;
                }
                // A directory that was met before, by another name, stays empty here.
                self.made.entry(item.ino).or_insert_with(|| place.to_owned());
                self.directories.push((place.to_owned(), *attributes));
                self.done.directories += 1;
            }
            Kind::File => match self.first.get(&item.ino) {
                Some(first) => {
                    fs::hard_link(first, place).map_err(Why::System)?;
                    self.done.links += 1;
                }
                None => self.file(item.ino, attributes, place)?,
            },
            Kind::Symlink => self.symlinks.push((place.to_owned(), item.clone())),
            kind => return Err(Why::Kind(kind)),
        }
        Ok(())
    }

    fn file(&mut self, ino: Ino, attributes: &Attributes, place: &Path) -> Result<(), Why> {
        let mut file =
            OpenOptions::new().write(true).create_new(true).open(place).map_err(Why::System)?;
        self.first.insert(ino, place.to_owned());
        self.done.files += 1;
        self.done.bytes += Bytes::new(attributes.size);
        let copied = self.copy(ino, attributes.size, &mut file);
        let set = file.set_len(attributes.size).and_then(|()| dress(&file, attributes));
        copied.and(set.map_err(Why::System))
    }

    /// Writes the pages of a file that are not zeros.
    fn copy(&mut self, ino: Ino, size: u64, file: &mut File) -> Result<(), Why> {
        let mut page = vec![0; PAGE_SIZE];
        let step = PAGE_SIZE as u64;
        for number in 0..size.div_ceil(step) {
            self.fs.read_page(self.clock, ino, number, &mut page).map_err(Why::Content)?;
            let length = Bytes::new((size - number * step).min(step)).to_usize();
            if page[..length].iter().any(|&byte| byte != 0) {
                file.seek(SeekFrom::Start(number * step)).map_err(Why::System)?;
                file.write_all(&page[..length]).map_err(Why::System)?;
            }
        }
        Ok(())
    }

    /// Symbolic links, and then the directories, the innermost first.
    fn finish(&mut self) {
        for (place, item) in std::mem::take(&mut self.symlinks) {
            match symlink(&item.target, &place) {
                Ok(()) => self.done.symlinks += 1,
                Err(problem) => self.skip(item.path, Why::System(problem)),
            }
        }
        for (place, attributes) in std::mem::take(&mut self.directories).iter().rev() {
            // A folder without the right times and permissions is still the folder.
            let _ = File::open(place).and_then(|folder| dress(&folder, attributes));
        }
    }

    fn skip(&mut self, path: Vec<u8>, why: Why) {
        self.done.skipped.push(Skipped { path, why });
    }
}

/// Gives a file its time and its permissions.
fn dress(file: &File, attributes: &Attributes) -> io::Result<()> {
    let seconds = u64::try_from(attributes.modified.seconds).unwrap_or(0);
    let modified = SystemTime::UNIX_EPOCH + Duration::new(seconds, attributes.modified.nanos);
    file.set_times(FileTimes::new().set_modified(modified))?;
    permit(file, attributes.mode & 0o777)
}

#[cfg(unix)]
fn permit(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn permit(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

/// A name of the image as one of this machine.
#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other machines have no such names")]
fn native(name: &[u8]) -> Option<&Path> {
    let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(name);
    Some(Path::new(name))
}

#[cfg(not(unix))]
fn native(name: &[u8]) -> Option<&Path> {
    let plain = |name: &str| !name.contains(['\\', ':', '<', '>', '"', '|', '?', '*']);
    std::str::from_utf8(name).ok().filter(|name| plain(name)).map(Path::new)
}

#[cfg(unix)]
fn symlink(target: &[u8], place: &Path) -> io::Result<()> {
    let target: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(target);
    std::os::unix::fs::symlink(target, place)
}

#[cfg(not(unix))]
fn symlink(_: &[u8], _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests;
