//! The files of an image written into a folder, and nowhere else.
//!
//! Layer: rank 7. Main types: [`Extracted`] and [`Limits`]; main function: [`extract`]. An image is untrusted, and the
//! tools before this one were led out of their folders by names with `..` and `/`, by absolute names,
//! and by a symbolic link with a file behind it (CVE-2023-0592, CVE-2023-0593, ubi_reader advisory
//! GHSA-vp2x-3mc3-3cj4). Here
//!
//! - the folder is new, or empty, so nothing in it leads anywhere; it is no symbolic link;
//! - a name that no program could have given to a file is left out, and so is what is in it;
//! - a path is never put together from the image: each name goes into the folder that was made for its
//!   directory, and the way there is walked name by name without following a link (`host`);
//! - files are made, never opened: what is there already is left alone;
//! - symbolic links are made last, when nothing is written through them any longer;
//! - devices, pipes and sockets are left out, and so are owners, extended attributes and the bits of set-user-ID,
//!   set-group-ID and sticky. All of it is told.
//!
//! Holes stay holes. A file that cannot be written to its end is removed again. Until all is on the disk a mark stands
//! in the folder, so that an interrupted run is known by it.

#[cfg(unix)]
mod host;
#[cfg(not(unix))]
#[path = "extract/portable.rs"]
mod host;
mod why;

use crate::damage::{Damage, Paths};
use crate::error::Error;
use crate::names::shown;
use crate::walk::{Item, Problem, Walk, resolve};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{Attributes, FileSystem, Ino, Kind, Piece};
use host::Folder;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
pub use why::{Skipped, Why};

/// The name of the file that stands in the folder until all is written.
pub const MARK: &str = ".boardlab-extract-unfinished";
const MARK_TEXT: &str = "boardlab image extract did not come to its end: what is in this folder is not whole.\n\
                         Remove the folder and extract again.\n";
/// Reasons of one kind for one file that are told; more are counted.
const REASONS: usize = 4;

/// What an extraction, or a list, may come to at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Names.
    pub names: u64,
    /// Bytes of content that are written, holes not counted.
    pub content: Bytes,
}

impl Default for Limits {
    /// More than the filesystems of flash hold, and less than what fills a disk.
    fn default() -> Self {
        Self { names: 200_000, content: Bytes::mib(16 << 10) }
    }
}

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
    /// The limit of names that the walk was ended by.
    pub ended_at: Option<u64>,
    /// Why it is not known that all is on the disk.
    pub unsafe_because: Option<io::Error>,
}

impl Extracted {
    /// Whether all names and contents that were asked for are in the folder.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let lost = self.skipped.iter().any(|skipped| skipped.why.is_loss());
        !lost && self.ended_at.is_none() && self.unsafe_because.is_none()
    }
}

/// A piece of work in progress.
struct Extraction<'a> {
    fs: &'a mut dyn FileSystem,
    clock: &'a mut Clock,
    folder: Folder,
    limits: Limits,
    /// Bytes of content that were written.
    written: u64,
    /// The folders that were made, by the directory of the image; paths from the target on.
    made: HashMap<Ino, PathBuf>,
    /// The first name of every file, for further ones.
    first: HashMap<Ino, PathBuf>,
    /// Directories, whose permissions and times come last.
    directories: Vec<(PathBuf, Attributes)>,
    symlinks: Vec<(PathBuf, Item)>,
    owner: (u32, u32),
    /// Inodes of several names whose attributes were told.
    told: HashSet<Ino>,
    done: Extracted,
}

/// Writes everything below `path` of the image into `target`, which must not exist or be empty; `damage` says what
/// is wrong with the image.
///
/// # Errors
/// [`Error::NotEmpty`], [`Error::Unfinished`], [`Error::TargetIsALink`], [`Error::Unwritable`] for the folder itself, and
/// when there is nothing of that path. What else goes wrong is in [`Extracted::skipped`].
pub fn extract(
    fs: &mut dyn FileSystem,
    clock: &mut Clock,
    path: &[u8],
    target: &Path,
    (damage, limits): (&Damage, Limits),
) -> Result<Extracted, Error> {
    let (path, start) = resolve(fs, clock, path)?;
    let folder = Folder::begin(target)?;
    let mut walk = Walk::new(&path, start);
    let mut work = Extraction {
        fs,
        clock,
        folder,
        limits,
        written: 0,
        made: HashMap::new(),
        first: HashMap::new(),
        directories: Vec::new(),
        symlinks: Vec::new(),
        owner: host::owner(),
        told: HashSet::new(),
        done: Extracted::default(),
    };
    let mut names = 0;
    while let Some(item) = walk.next(work.fs, work.clock) {
        if names == limits.names {
            work.done.ended_at = Some(names);
            break;
        }
        names += 1;
        let ino = item.ino;
        work.take(item, damage);
        // What was kept of the inode in memory may go; nothing depends on it.
        let _ = work.fs.forget(work.clock, ino);
    }
    work.finish();
    Ok(work.done)
}

impl Extraction<'_> {
    fn take(&mut self, item: Item, damage: &Damage) {
        if let Ok(number) = u32::try_from(item.ino.0) {
            self.done.paths.entry(number).or_insert_with(|| shown(&item.path));
        }
        if let Some(hurt) = damage.of_inode(item.ino) {
            self.skip(&item.path, Why::Damaged(hurt.to_owned()));
        }
        let made = match self.place(&item) {
            Ok(place) => self.make(&item, &place),
            Err(why) => Err(why),
        };
        match made {
            Err(why) => self.skip(&item.path, why),
            Ok(()) => self.tell_what_stays(&item),
        }
        if let Some(problem) = item.problem.filter(|problem| *problem != Problem::Name) {
            self.skip(&item.path, Why::Problem(problem));
        }
    }

    /// What of an item no file of this machine gets.
    fn tell_what_stays(&mut self, item: &Item) {
        let Some(attributes) = item.attributes else { return };
        // What several names share is told once, with the first.
        if attributes.links > 1 && !self.told.insert(item.ino) {
            return;
        }
        if (attributes.uid, attributes.gid) != self.owner {
            self.skip(&item.path, Why::Owner(attributes.uid, attributes.gid));
        }
        if attributes.mode & 0o7_000 != 0 {
            self.skip(&item.path, Why::Bits(attributes.mode & 0o7_000));
        }
        match self.fs.xattr_names(self.clock, item.ino) {
            Ok(names) if !names.is_empty() => self.skip(&item.path, Why::Attributes(names)),
            _ => {}
        }
    }

    /// Where the item goes: into the folder that was made for its directory, and for that very one.
    fn place(&self, item: &Item) -> Result<PathBuf, Why> {
        let name = || host::native(item.name()).ok_or(Why::Problem(Problem::Name));
        let is_directory = item.attributes.is_some_and(|found| found.kind == Kind::Directory);
        match (&item.problem, item.parent) {
            (Some(Problem::Name), _) => Err(Why::Problem(Problem::Name)),
            (_, None) if is_directory => Ok(PathBuf::new()),
            (_, None) => Ok(name()?.to_owned()),
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
                    self.folder.make_folder(place).map_err(Why::System)?;
                }
                // A directory that was met before, by another name, stays empty here.
                self.made.entry(item.ino).or_insert_with(|| place.to_owned());
                self.directories.push((place.to_owned(), *attributes));
                self.done.directories += 1;
            }
            Kind::File => match self.first.get(&item.ino) {
                Some(first) => {
                    self.folder.link(first, place).map_err(Why::System)?;
                    self.done.links += 1;
                }
                None => self.file(item.ino, attributes, place)?,
            },
            Kind::Symlink => self.symlinks.push((place.to_owned(), item.clone())),
            kind => return Err(Why::Kind(kind)),
        }
        Ok(())
    }

    /// Writes a file. What cannot be read of it is zeros and told; one that cannot be written goes again.
    fn file(&mut self, ino: Ino, attributes: &Attributes, place: &Path) -> Result<(), Why> {
        let mut file = self.folder.file(place).map_err(Why::System)?;
        let mut copy =
            Copy { file: &mut file, left: self.left(), unread: Vec::new(), stopped: None };
        let read = self.fs.read_pieces(self.clock, ino, &mut |piece| copy.take(&piece));
        let Copy { left, unread, stopped, .. } = copy;
        self.written = self.limits.content.get() - left;
        let set = || file.set_len(attributes.size).and_then(|()| host::dress(&file, attributes));
        let stopped = stopped.or_else(|| set().err().map(Why::System));
        if let Some(why) = stopped {
            // Nobody shall take it for the file.
            self.folder.remove(place).map_err(Why::System)?;
            return Err(why);
        }
        self.first.insert(ino, place.to_owned());
        self.done.files += 1;
        self.done.bytes += Bytes::new(attributes.size);
        read.map_err(Why::Content)?;
        if unread.is_empty() { Ok(()) } else { Err(Why::Pieces(unread)) }
    }

    /// Bytes that may still be written.
    fn left(&self) -> u64 {
        self.limits.content.get() - self.written
    }

    /// Symbolic links, then the directories, the innermost first; and when all is on the disk, the mark goes.
    fn finish(&mut self) {
        for (place, item) in std::mem::take(&mut self.symlinks) {
            match self.folder.symlink(&item.target, &place, item.attributes.as_ref()) {
                Ok(()) => self.done.symlinks += 1,
                Err(problem) => self.skip(&item.path, Why::System(problem)),
            }
        }
        let mut directories = std::mem::take(&mut self.directories);
        let is_root = |place: &Path| place.as_os_str().is_empty();
        // The folder itself comes last: the mark is in it.
        let root = directories.iter().position(|(place, _)| is_root(place));
        let root = root.map(|at| directories.remove(at));
        for (place, attributes) in directories.iter().rev() {
            // A folder without the right times and permissions is still the folder.
            let _ = self.folder.dress_folder(place, attributes);
        }
        self.done.unsafe_because = self.folder.end().err();
        if let Some((place, attributes)) = root {
            let _ = self.folder.dress_folder(&place, &attributes);
        }
    }

    fn skip(&mut self, path: &[u8], why: Why) {
        self.done.skipped.push(Skipped { path: path.to_vec(), why });
    }
}

/// A file that is being written.
struct Copy<'a> {
    file: &'a mut File,
    /// Bytes that may still be written.
    left: u64,
    /// What cannot be read.
    unread: Vec<String>,
    /// Why nothing more can be written.
    stopped: Option<Why>,
}

impl Copy<'_> {
    fn take(&mut self, piece: &Piece<'_>) -> ControlFlow<()> {
        let bytes = match &piece.bytes {
            Ok(bytes) => *bytes,
            Err(problem) => {
                if self.unread.len() < REASONS {
                    let last = piece.offset + piece.length.saturating_sub(1);
                    self.unread.push(format!("bytes {} to {last}: {problem}", piece.offset));
                }
                return ControlFlow::Continue(());
            }
        };
        if bytes.iter().all(|&byte| byte == 0) {
            return ControlFlow::Continue(());
        }
        let Some(left) = self.left.checked_sub(piece.length) else {
            self.stopped = Some(Why::Limit);
            return ControlFlow::Break(());
        };
        let place = SeekFrom::Start(piece.offset);
        let written = self.file.seek(place).and_then(|_| self.file.write_all(bytes));
        match written {
            Ok(()) => {
                self.left = left;
                ControlFlow::Continue(())
            }
            Err(problem) => {
                self.stopped = Some(Why::System(problem));
                ControlFlow::Break(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
