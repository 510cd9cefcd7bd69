//! Extracts the files of an image into a folder, and nowhere else.
//!
//! Layer: rank 7. Main types: [`ExtractionReport`] and [`Limits`]; main function: [`extract`]. An
//! image is untrusted. Earlier tools were led out of their folders by names with `..` and `/`, by
//! absolute names, and by a symbolic link with a file behind it (CVE-2023-0592, CVE-2023-0593,
//! ubi_reader advisory GHSA-vp2x-3mc3-3cj4). Here:
//!
//! - the folder is new or empty, so it contains no links; it is not a symbolic link itself;
//! - a name that no program could have created is skipped, and so is everything below it;
//! - a path is never built from names of the image: each name goes into the folder that was created
//!   for its directory, which is reached name by name without following a link (`host`);
//! - files are created, never opened: existing ones are left alone;
//! - symbolic links are created last, when nothing is written through them any more;
//! - device nodes, named pipes and sockets are skipped, and so are owners, extended attributes and
//!   the bits set-user-ID, set-group-ID and sticky. Everything skipped is reported.
//!
//! Holes stay holes. A file that cannot be written completely is removed again. Until everything is
//! on the disk the folder contains a marker file, which identifies an interrupted run.

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
use boardlab_vfs::{Attributes, FileExtent, FileSystem, Ino, Kind};
use host::Folder;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
pub use why::{SkipReason, SkippedItem};

/// The name of the marker file of an unfinished extraction.
pub const MARK: &str = ".boardlab-extract-unfinished";
const MARK_TEXT: &str = "boardlab image extract did not come to its end: what is in this folder is not whole.\n\
                         Remove the folder and extract again.\n";
/// The number of reasons of one kind that are listed for a file; more are counted.
const REASONS: usize = 4;

/// The limits of an extraction or a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Names.
    pub names: u64,
    /// Bytes of content, without holes.
    pub content: Bytes,
}

impl Default for Limits {
    /// More than flash filesystems contain, and less than what fills a disk.
    fn default() -> Self {
        Self { names: 200_000, content: Bytes::mib(16 << 10) }
    }
}

/// What was extracted.
#[derive(Debug, Default)]
pub struct ExtractionReport {
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
    /// What was skipped, and why.
    pub skipped: Vec<SkippedItem>,
    /// The first path of each inode.
    pub paths: Paths,
    /// The limit of names at which the walk ended.
    pub ended_at: Option<u64>,
    /// Why it is uncertain that everything is on the disk.
    pub unsafe_because: Option<io::Error>,
}

impl ExtractionReport {
    /// Whether all requested names and contents are in the folder.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let lost = self.skipped.iter().any(|skipped| skipped.why.is_loss());
        !lost && self.ended_at.is_none() && self.unsafe_because.is_none()
    }
}

/// An extraction in progress.
struct Extraction<'a> {
    fs: &'a mut dyn FileSystem,
    clock: &'a mut Clock,
    folder: Folder,
    limits: Limits,
    /// Bytes of content that were written.
    written: u64,
    /// The created folders, by the directory of the image; paths relative to the target.
    made: HashMap<Ino, PathBuf>,
    /// The first name of every file, for further ones.
    first: HashMap<Ino, PathBuf>,
    /// Directories, whose permissions and times are set last.
    directories: Vec<(PathBuf, Attributes)>,
    symlinks: Vec<(PathBuf, Item)>,
    owner: (u32, u32),
    /// Inodes with several names whose attributes were reported.
    told: HashSet<Ino>,
    done: ExtractionReport,
}

/// Extracts everything below `path` of the image into `target`, which must not exist or be empty;
/// `damage` is the damage of the image.
///
/// # Errors
/// [`Error::NotEmpty`], [`Error::Unfinished`], [`Error::TargetIsALink`], [`Error::Unwritable`] for
/// the folder itself, and when there is nothing of that path. What else goes wrong is in
/// [`ExtractionReport::skipped`].
pub fn extract(
    fs: &mut dyn FileSystem,
    clock: &mut Clock,
    path: &[u8],
    target: &Path,
    damage: &Damage,
    limits: Limits,
) -> Result<ExtractionReport, Error> {
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
        done: ExtractionReport::default(),
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
        // Drops the in-memory state of the inode; a failure does not matter.
        let _ = work.fs.evict_inode(work.clock, ino);
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
            self.skip(&item.path, SkipReason::Damaged(hurt.to_owned()));
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
            self.skip(&item.path, SkipReason::Problem(problem));
        }
    }

    /// Reports the attributes of an item that are not extracted.
    fn tell_what_stays(&mut self, item: &Item) {
        let Some(attributes) = item.attributes else { return };
        // Attributes that several names share are reported once, with the first.
        if attributes.links > 1 && !self.told.insert(item.ino) {
            return;
        }
        if (attributes.uid, attributes.gid) != self.owner {
            self.skip(&item.path, SkipReason::Owner(attributes.uid, attributes.gid));
        }
        if attributes.mode & 0o7_000 != 0 {
            self.skip(&item.path, SkipReason::Bits(attributes.mode & 0o7_000));
        }
        match self.fs.listxattr(self.clock, item.ino) {
            Ok(names) if !names.is_empty() => self.skip(&item.path, SkipReason::Attributes(names)),
            _ => {}
        }
    }

    /// The target path of an item: in the folder that was created for exactly its directory.
    fn place(&self, item: &Item) -> Result<PathBuf, SkipReason> {
        let name = || host::native(item.name()).ok_or(SkipReason::Problem(Problem::Name));
        let is_directory = item.attributes.is_some_and(|found| found.kind == Kind::Directory);
        match (&item.problem, item.parent) {
            (Some(Problem::Name), _) => Err(SkipReason::Problem(Problem::Name)),
            (_, None) if is_directory => Ok(PathBuf::new()),
            (_, None) => Ok(name()?.to_owned()),
            (_, Some(parent)) => match self.made.get(&parent) {
                Some(folder) => Ok(folder.join(name()?)),
                None => Err(SkipReason::Folder),
            },
        }
    }

    fn make(&mut self, item: &Item, place: &Path) -> Result<(), SkipReason> {
        let Some(attributes) = &item.attributes else { return Ok(()) };
        match attributes.kind {
            Kind::Directory => {
                if item.parent.is_some() {
                    self.folder.make_folder(place).map_err(SkipReason::System)?;
                }
                // A directory that occurred before, by another name, stays empty here.
                self.made.entry(item.ino).or_insert_with(|| place.to_owned());
                self.directories.push((place.to_owned(), *attributes));
                self.done.directories += 1;
            }
            Kind::File => match self.first.get(&item.ino) {
                Some(first) => {
                    self.folder.link(first, place).map_err(SkipReason::System)?;
                    self.done.links += 1;
                }
                None => self.file(item.ino, attributes, place)?,
            },
            Kind::Symlink => self.symlinks.push((place.to_owned(), item.clone())),
            kind => return Err(SkipReason::Kind(kind)),
        }
        Ok(())
    }

    /// Writes a file. Unreadable parts are zeros and are reported; a file that cannot be written is
    /// removed again.
    fn file(&mut self, ino: Ino, attributes: &Attributes, place: &Path) -> Result<(), SkipReason> {
        let mut file = self.folder.file(place).map_err(SkipReason::System)?;
        let mut copy =
            Copy { file: &mut file, left: self.left(), unread: Vec::new(), stopped: None };
        let read = self.fs.read_extents(self.clock, ino, &mut |piece| copy.take(&piece));
        let Copy { left, unread, stopped, .. } = copy;
        self.written = self.limits.content.get() - left;
        let set = || file.set_len(attributes.size).and_then(|()| host::dress(&file, attributes));
        let stopped = stopped.or_else(|| set().err().map(SkipReason::System));
        if let Some(why) = stopped {
            // An incomplete file must not be mistaken for the whole.
            self.folder.remove(place).map_err(SkipReason::System)?;
            return Err(why);
        }
        self.first.insert(ino, place.to_owned());
        self.done.files += 1;
        self.done.bytes += Bytes::new(attributes.size);
        read.map_err(SkipReason::Content)?;
        if unread.is_empty() { Ok(()) } else { Err(SkipReason::Pieces(unread)) }
    }

    /// Bytes that may still be written.
    fn left(&self) -> u64 {
        self.limits.content.get() - self.written
    }

    /// Creates symbolic links, then completes the directories, innermost first; when everything is
    /// on the disk, removes the marker.
    fn finish(&mut self) {
        for (place, item) in std::mem::take(&mut self.symlinks) {
            match self.folder.symlink(&item.target, &place, item.attributes.as_ref()) {
                Ok(()) => self.done.symlinks += 1,
                Err(problem) => self.skip(&item.path, SkipReason::System(problem)),
            }
        }
        let mut directories = std::mem::take(&mut self.directories);
        let is_root = |place: &Path| place.as_os_str().is_empty();
        // The target folder comes last, because it contains the marker.
        let root = directories.iter().position(|(place, _)| is_root(place));
        let root = root.map(|at| directories.remove(at));
        for (place, attributes) in directories.iter().rev() {
            // A folder with wrong times and permissions is still usable.
            let _ = self.folder.dress_folder(place, attributes);
        }
        self.done.unsafe_because = self.folder.end().err();
        if let Some((place, attributes)) = root {
            let _ = self.folder.dress_folder(&place, &attributes);
        }
    }

    fn skip(&mut self, path: &[u8], why: SkipReason) {
        self.done.skipped.push(SkippedItem { path: path.to_vec(), why });
    }
}

/// A file being written.
struct Copy<'a> {
    file: &'a mut File,
    /// Bytes that may still be written.
    left: u64,
    /// The unreadable parts.
    unread: Vec<String>,
    /// Why nothing more can be written.
    stopped: Option<SkipReason>,
}

impl Copy<'_> {
    fn take(&mut self, piece: &FileExtent<'_>) -> ControlFlow<()> {
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
            self.stopped = Some(SkipReason::Limit);
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
                self.stopped = Some(SkipReason::System(problem));
                ControlFlow::Break(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
