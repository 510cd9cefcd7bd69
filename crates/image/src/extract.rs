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
//! Two threads share the work. Where the filesystem can be copied, this one walks the names, both read
//! and write files (`copy_thread`), and the audit runs beside; elsewhere this one reads all files and
//! `writer` writes them. The report does not depend on which of them is first: what became of each item is
//! noted in the order of the walk, and damage is added at the end. Files are read side by side only while
//! all that were begun, as large as they claim to be, are within the limit of content; so each file is
//! written that would be if they were read in turn.
//!
//! Holes stay holes. A file that cannot be written completely is removed again. Until everything is
//! on the disk the folder contains a marker file, which identifies an interrupted run.

mod content;
mod copier;
mod copy_thread;
#[cfg(unix)]
mod host;
#[cfg(not(unix))]
#[path = "extract/portable.rs"]
mod host;
mod open_file;
mod why;
mod writer;

use crate::damage::{Damage, Paths, PendingDamage};
use crate::error::Error;
use crate::fs::MountedImage;
use crate::names::shown;
use crate::walk::{Item, Problem, Walk, resolve};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{Attributes, FileSystem, Ino, Kind};
use content::Source;
use copier::Copier;
pub use copy_thread::Reader;
use copy_thread::{Answer, CopyThread};
use host::Folder;
use open_file::OpenFile;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
pub use why::{SkipReason, SkippedItem};
use writer::Writer;

/// The name of the marker file of an unfinished extraction.
pub const MARK: &str = ".boardlab-extract-unfinished";
const MARK_TEXT: &str = "boardlab image extract did not come to its end: what is in this folder is not whole.\n\
                         Remove the folder and extract again.\n";
/// The most items whose files are still being written.
const OUTSTANDING: usize = 256;

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
    /// The damage of the image.
    pub damage: Damage,
}

impl ExtractionReport {
    /// Whether all requested names and contents are in the folder.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let lost = self.skipped.iter().any(|skipped| skipped.why.is_loss());
        !lost && self.ended_at.is_none() && self.unsafe_because.is_none()
    }
}

/// What runs beside an extraction, on threads of its own.
#[derive(Debug)]
pub struct Beside {
    /// The damage of the image, or its audit, which has time until the last file is read.
    pub damage: PendingDamage,
    /// What reads further files.
    pub reader: Option<Reader>,
    /// Whether the modes are written beside the folder: its files then are readable for their owner here, so that an image can
    /// be made of them again.
    pub is_readable: bool,
}

impl Beside {
    /// An audit and a second reader of `image`, where its filesystem can be copied; else its damage.
    ///
    /// # Errors
    /// Those of [`Damage::of`], where it is determined at once.
    pub fn of(image: &mut MountedImage) -> Result<Self, Error> {
        let copy = image.copy().map(|MountedImage { fs, clock, .. }| Reader { fs, clock });
        Ok(Self { damage: PendingDamage::of(image)?, reader: copy, is_readable: false })
    }
}

impl<T: Into<PendingDamage>> From<T> for Beside {
    fn from(damage: T) -> Self {
        Self { damage: damage.into(), reader: None, is_readable: false }
    }
}

/// The second thread of an extraction.
enum Second {
    /// It writes what this one reads.
    Writer(Writer),
    /// It reads and writes files, as this one does; `None` where there can be no further thread.
    Copies(Option<CopyThread>, Copier),
}

impl Second {
    /// What became of the next file that it was given, once that is known; it is awaited when `is_due`.
    fn answer(&mut self, is_due: bool) -> Option<Answer> {
        match self {
            Self::Writer(writer) if is_due => Some(writer.answer().into()),
            Self::Writer(writer) => writer.try_answer().map(Answer::from),
            Self::Copies(thread, _) if is_due => thread.as_mut().map(CopyThread::answer),
            Self::Copies(thread, _) => thread.as_mut().and_then(CopyThread::try_answer),
        }
    }
}

/// An extraction in progress.
struct Extraction<'a> {
    fs: &'a mut dyn FileSystem,
    clock: &'a mut Clock,
    folder: Folder,
    second: Second,
    /// The items that were made, or whose files are being written, in order.
    outstanding: VecDeque<Outstanding>,
    limits: Limits,
    /// Whether files and folders are readable for their owner here, whatever their modes.
    is_readable: bool,
    /// Bytes of content that were written.
    written: u64,
    /// The sizes of the files that the second thread still has.
    claimed: u64,
    /// The created folders, by the directory of the image; paths relative to the target.
    made: HashMap<Ino, PathBuf>,
    /// The files that were begun.
    begun: HashSet<Ino>,
    /// The first name of every file, for further ones.
    first: HashMap<Ino, PathBuf>,
    /// Directories, whose permissions and times are set last.
    directories: Vec<(PathBuf, Attributes)>,
    symlinks: Vec<(PathBuf, Item)>,
    owner: (u32, u32),
    /// Inodes with several names whose attributes were reported.
    told: HashSet<Ino>,
    /// All items so far, in order.
    taken: Vec<Taken>,
    done: ExtractionReport,
}

/// Extracts everything below `path` of the image into `target`, which must not exist or be empty.
///
/// # Errors
/// [`Error::NotEmpty`], [`Error::Unfinished`], [`Error::TargetIsALink`], [`Error::Unwritable`] for
/// the folder itself, when there is nothing of that path, and those of the audit, which leave the
/// folder unfinished. What else goes wrong is in [`ExtractionReport::skipped`].
pub fn extract(
    fs: &mut dyn FileSystem,
    clock: &mut Clock,
    path: &[u8],
    target: &Path,
    beside: impl Into<Beside>,
    limits: Limits,
) -> Result<ExtractionReport, Error> {
    let (path, start) = resolve(fs, clock, path)?;
    let folder = Folder::begin(target)?;
    let Beside { damage, reader, is_readable } = beside.into();
    let second = match reader {
        Some(reader) => {
            let [there, here] = [(); 2].map(|()| Copier::new(folder.share()));
            Second::Copies(CopyThread::start(reader, there).ok(), here)
        }
        None => {
            let writer = Writer::start(folder.share());
            Second::Writer(writer.map_err(|problem| Error::Unwritable { problem })?)
        }
    };
    let mut walk = Walk::new(&path, start);
    let mut work = Extraction {
        fs,
        clock,
        folder,
        second,
        outstanding: VecDeque::new(),
        limits,
        is_readable,
        written: 0,
        claimed: 0,
        made: HashMap::new(),
        begun: HashSet::new(),
        first: HashMap::new(),
        directories: Vec::new(),
        symlinks: Vec::new(),
        owner: host::owner(),
        told: HashSet::new(),
        taken: Vec::new(),
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
        work.take(item);
        // Drops the in-memory state of the inode; a failure does not matter.
        let _ = work.fs.evict_inode(work.clock, ino);
    }
    work.finish(damage)?;
    Ok(work.done)
}

/// An item, and why it was skipped besides its damage, which is known at the end.
struct Taken {
    path: Vec<u8>,
    ino: Ino,
    why: Vec<SkipReason>,
}

/// An item of which it is open whether it was skipped.
struct Outstanding {
    path: Vec<u8>,
    ino: Ino,
    made: Made,
    written: Written,
    /// The attributes that are not extracted.
    stays: Vec<SkipReason>,
    problem: Option<SkipReason>,
}

/// What became of an item.
enum Made {
    Done,
    /// A file is written.
    File(FileToWrite),
    /// A file beyond the limit is removed.
    Beyond,
    Failed(SkipReason),
}

/// Whether an item was written; `None` while the second thread has it.
type Written = Option<io::Result<()>>;

/// A file that is on its way.
struct FileToWrite {
    ino: Ino,
    place: PathBuf,
    size: u64,
    /// What is wrong with it nevertheless.
    wrong: Option<SkipReason>,
}

impl Extraction<'_> {
    fn take(&mut self, mut item: Item) {
        if let Some(attributes) = item.attributes.as_mut().filter(|_| self.is_readable) {
            attributes.mode |= match attributes.kind {
                Kind::Directory => 0o500,
                Kind::File => 0o400,
                _ => 0,
            };
        }
        if let Ok(number) = u32::try_from(item.ino.0) {
            self.done.paths.entry(number).or_insert_with(|| shown(&item.path));
        }
        let made = self.place(&item).and_then(|place| self.make(&item, place));
        let (made, written) = made.unwrap_or_else(|why| (Made::Failed(why), Some(Ok(()))));
        let stays = match made {
            Made::Failed(_) => Vec::new(),
            _ => self.what_stays(&item),
        };
        let problem = item.problem.filter(|problem| *problem != Problem::Name);
        self.outstanding.push_back(Outstanding {
            path: item.path,
            ino: item.ino,
            made,
            written,
            stays,
            problem: problem.map(SkipReason::Problem),
        });
        self.settle(OUTSTANDING);
    }

    /// Notes what became of items, in the order of the walk, until at most `left` items are
    /// outstanding.
    fn settle(&mut self, left: usize) {
        loop {
            let is_due = self.outstanding.len() > left;
            let Some(next) = self.outstanding.front_mut() else { return };
            let written = next.written.take().or_else(|| {
                let Answer { content, written } = self.second.answer(is_due)?;
                if let (Second::Copies(..), Made::File(file)) = (&self.second, &mut next.made) {
                    self.claimed -= file.size;
                    if let Some(content) = content {
                        self.written += content.bytes;
                        file.wrong = content.wrong;
                    }
                }
                Some(written)
            });
            let Some(written) = written else { return };
            let Some(next) = self.outstanding.pop_front() else { return };
            self.note(next, written);
        }
    }

    fn note(&mut self, item: Outstanding, written: io::Result<()>) {
        let why = match (item.made, written) {
            (Made::Done, _) => None,
            (Made::Failed(why), _) => Some(why),
            (Made::File(file), Ok(())) => self.file_written(file),
            (Made::Beyond, Ok(())) => Some(SkipReason::Limit),
            (Made::File(_) | Made::Beyond, Err(problem)) => Some(SkipReason::System(problem)),
        };
        let mut why = match why {
            Some(why) => vec![why],
            None => item.stays,
        };
        why.extend(item.problem);
        self.taken.push(Taken { path: item.path, ino: item.ino, why });
    }

    /// Puts all items that were skipped or are damaged into the report.
    fn report(&mut self, damage: Damage) {
        for Taken { path, ino, why } in std::mem::take(&mut self.taken) {
            let hurt = damage.of_inode(ino).map(|hurt| SkipReason::Damaged(hurt.to_owned()));
            for why in hurt.into_iter().chain(why) {
                self.skip(&path, why);
            }
        }
        self.done.damage = damage;
    }

    /// Counts a file that is on the disk. Returns what is wrong with it.
    fn file_written(&mut self, file: FileToWrite) -> Option<SkipReason> {
        self.first.insert(file.ino, file.place);
        self.done.files += 1;
        self.done.bytes += Bytes::new(file.size);
        file.wrong
    }

    /// The attributes of an item that are not extracted.
    fn what_stays(&mut self, item: &Item) -> Vec<SkipReason> {
        let mut stays = Vec::new();
        let Some(attributes) = item.attributes else { return stays };
        // Attributes that several names share are reported once, with the first.
        if attributes.links > 1 && !self.told.insert(item.ino) {
            return stays;
        }
        if (attributes.uid, attributes.gid) != self.owner {
            stays.push(SkipReason::Owner(attributes.uid, attributes.gid));
        }
        if attributes.mode & 0o7_000 != 0 {
            stays.push(SkipReason::Bits(attributes.mode & 0o7_000));
        }
        match self.fs.listxattr(self.clock, item.ino) {
            Ok(names) if !names.is_empty() => stays.push(SkipReason::Attributes(names)),
            _ => {}
        }
        stays
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

    fn make(&mut self, item: &Item, place: PathBuf) -> Result<(Made, Written), SkipReason> {
        let done = (Made::Done, Some(Ok(())));
        let Some(attributes) = &item.attributes else { return Ok(done) };
        match attributes.kind {
            Kind::Directory => {
                if item.parent.is_some() {
                    self.folder.make_folder(&place).map_err(SkipReason::System)?;
                }
                // A directory that occurred before, by another name, stays empty here.
                self.made.entry(item.ino).or_insert_with(|| place.clone());
                self.directories.push((place, *attributes));
                self.done.directories += 1;
            }
            Kind::File => return self.file_or_link(item.ino, attributes, place),
            Kind::Symlink => self.symlinks.push((place, item.clone())),
            kind => return Err(SkipReason::Kind(kind)),
        }
        Ok(done)
    }

    fn file_or_link(
        &mut self,
        ino: Ino,
        attributes: &Attributes,
        place: PathBuf,
    ) -> Result<(Made, Written), SkipReason> {
        if !self.begun.insert(ino) {
            // Whether the first name became a file decides what this one becomes.
            self.settle(0);
        }
        let Some(first) = self.first.get(&ino) else {
            return Ok(self.file(ino, attributes, place));
        };
        self.folder.link(first, &place).map_err(SkipReason::System)?;
        self.done.links += 1;
        Ok((Made::Done, Some(Ok(()))))
    }

    /// Reads and writes a file, both here or one of them there, or all of it there. Unreadable parts are
    /// zeros and are reported; a file beyond the limit is removed again.
    fn file(&mut self, ino: Ino, attributes: &Attributes, place: PathBuf) -> (Made, Written) {
        let size = attributes.size;
        let file = |place, wrong| Made::File(FileToWrite { ino, place, size, wrong });
        let is_within = self.left().is_some_and(|left| size <= left);
        if !is_within {
            // Which file is the first one beyond the limit must not depend on who is faster.
            self.settle(0);
        }
        let left = self.left().unwrap_or(0);
        let source = Source { fs: self.fs, clock: self.clock, ino };
        let (content, written) = match &mut self.second {
            Second::Copies(thread, copier) => {
                // In the order of the walk: of two names that are one on this machine the first is made.
                let open = OpenFile::create(&mut self.folder, place.clone());
                let open = match thread {
                    Some(thread) if is_within => thread.offer(ino, open, attributes),
                    _ => Err(open),
                };
                let Err(open) = open else {
                    self.claimed += size;
                    return (file(place, None), None);
                };
                let (content, written) = copier.copy(source, open, attributes, left);
                (content, Some(written))
            }
            Second::Writer(writer) => (writer.copy(source, &place, attributes, left), None),
        };
        self.written += content.bytes;
        let made = if content.is_beyond { Made::Beyond } else { file(place, content.wrong) };
        (made, written)
    }

    /// Bytes that may still be written, if its files are as large as they claim; `None` where those
    /// alone are beyond the limit.
    fn left(&self) -> Option<u64> {
        self.limits.content.get().checked_sub(self.written)?.checked_sub(self.claimed)
    }

    /// Creates symbolic links, then completes the directories, innermost first; when everything is
    /// on the disk, removes the marker.
    fn finish(&mut self, damage: PendingDamage) -> Result<(), Error> {
        self.settle(0);
        self.report(damage.wait()?);
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
        Ok(())
    }

    fn skip(&mut self, path: &[u8], why: SkipReason) {
        self.done.skipped.push(SkippedItem { path: path.to_vec(), why });
    }
}

#[cfg(test)]
mod tests;
