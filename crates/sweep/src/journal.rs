//! The journal: every completed point, in the order of completion, so that a killed sweep resumes.
//!
//! Layer: rank 10. Main type: [`Journal`]. [`crate::record`] describes its lines; each is forced to the
//! disk before its point counts as done.
//!
//! What a kill or a power cut can leave is a last line without its end: it is cut off. A line with
//! its end that is damaged or doubled was made so by something else: a journal without it is
//! written beside the old one and takes its place, so that a kill at any moment leaves the one or
//! the other, and what was whole stays. Both are reported, and their points are run again. Without a
//! first line to go by nothing is touched. A lock held by the process keeps a second sweep out and
//! goes away with a kill. Without a file the lines are kept in memory.

use crate::figures::Line;
use crate::problem::{JournalProblem, LineFlaw};
use crate::record::{self, Contents, Header, JournalContent, Stretch, as_u64};
use boardlab_document::error::Error;
use boardlab_document::lock::{LockError, exclusive};
use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The completed points.
#[derive(Debug)]
pub(crate) struct Journal {
    /// The path of the file; empty for a journal in memory.
    path: PathBuf,
    store: Box<dyn Store>,
    /// The bytes of all lines.
    length: u64,
    /// The damaged file that this one took the place of, whose lock excludes processes that opened it.
    _replaced: Option<File>,
    /// What the checksums of the points begin with.
    seal: u32,
    /// Where the line of each point is.
    lines: Vec<Option<Stretch>>,
}

/// What holds the lines: a file that this process has locked, or memory.
trait Store: Read + Write + Seek + Debug + Send {
    /// Forces what was written to the disk.
    fn sync(&self) -> io::Result<()>;
}

impl Store for File {
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

impl Store for Cursor<Vec<u8>> {
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Journal {
    /// A journal in memory, for `points` points.
    pub(crate) fn in_memory(points: usize) -> Self {
        let (store, lines) = (Box::<Cursor<_>>::default(), vec![None; points]);
        Self { path: PathBuf::new(), store, length: 0, _replaced: None, seal: 0, lines }
    }

    /// Opens the journal at `path` of the sweep `header`, and creates it with its folder if it is
    /// missing. `tell` gets its content with the rejected lines before these are dropped. With
    /// `restart`, all lines are discarded.
    pub(crate) fn open(
        path: &Path,
        header: &Header,
        restart: bool,
        tell: &dyn Fn(&Contents),
    ) -> Result<Self, Error> {
        let open = || -> Result<Self, JournalProblem> {
            let file = locked(path)?;
            let found = if restart {
                JournalContent::Nothing
            } else {
                record::scan(BufReader::new(&file))?
            };
            match found {
                JournalContent::Contents(contents) => {
                    header.difference(&contents.header).map_or(Ok(()), Err)?;
                    tell(&contents);
                    Ok(Self::go_on(path, file, *contents)?)
                }
                // Nothing was done when a first line was not written to its end; but only one of this
                // very sweep is known to be that and no more.
                JournalContent::Begun(text) if !header.seal().1.as_bytes().starts_with(&text) => {
                    Err(JournalProblem::Header(LineFlaw::Torn))
                }
                JournalContent::Begun(_) | JournalContent::Nothing => {
                    Ok(Self::begin(path, file, header)?)
                }
            }
        };
        open().map_err(|problem| problem.of(&path.display().to_string()))
    }

    /// Writes the first line of an empty journal.
    fn begin(path: &Path, file: File, header: &Header) -> io::Result<Self> {
        file.set_len(0)?;
        let (seal, text) = header.seal();
        let lines = vec![None; header.points().unwrap_or_default()];
        let (path, store) = (path.to_owned(), Box::new(file));
        let mut journal = Self { path, store, length: 0, _replaced: None, seal, lines };
        journal.write(&text)?;
        sync_folder(&journal.path)?;
        Ok(journal)
    }

    /// Resumes with `contents`, without the rejected lines.
    fn go_on(path: &Path, file: File, contents: Contents) -> io::Result<Self> {
        let seal = contents.seal;
        let (file, length, lines, _replaced) = if contents.holes {
            let (clean, length, lines) = cleaned(path, &file, &contents)?;
            (clean, length, lines, Some(file))
        } else {
            file.set_len(contents.ended)?;
            (file, contents.ended, contents.lines, None)
        };
        Ok(Self { path: path.into(), store: Box::new(file), length, _replaced, seal, lines })
    }

    /// The remaining points, in order.
    pub(crate) fn rest(&self) -> Vec<usize> {
        (0..self.lines.len()).filter(|point| self.lines[*point].is_none()).collect()
    }

    /// Records a point durably.
    pub(crate) fn append(&mut self, line: &Line) -> Result<(), Error> {
        let stretch = self.write(&record::write(self.seal, line));
        let stretch = stretch.map_err(|error| self.failed(&error.into()))?;
        self.lines[line.point] = Some(stretch);
        Ok(())
    }

    fn write(&mut self, text: &str) -> io::Result<Stretch> {
        let bytes = [text.as_bytes(), b"\n"].concat();
        let stretch = Stretch { offset: self.length, length: as_u64(text.len()) };
        self.store.seek(SeekFrom::Start(self.length))?;
        self.store.write_all(&bytes)?;
        self.store.sync()?;
        self.length += as_u64(bytes.len());
        Ok(stretch)
    }

    /// The recorded line of `point`; `None` if the point remains.
    pub(crate) fn line(&mut self, point: usize) -> Result<Option<Line>, Error> {
        let Some(stretch) = self.lines[point] else { return Ok(None) };
        let text = self.read(stretch).map_err(|error| self.failed(&error.into()))?;
        let flaw = match record::read(self.seal, &text) {
            Ok(line) if line.point == point => return Ok(Some(line)),
            Ok(_) => LineFlaw::Content,
            Err(flaw) => flaw,
        };
        Err(self.failed(&JournalProblem::Changed(point, flaw)))
    }

    fn read(&mut self, Stretch { offset, length }: Stretch) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        self.store.seek(SeekFrom::Start(offset))?;
        Read::by_ref(&mut self.store).take(length).read_to_end(&mut text)?;
        Ok(text)
    }

    fn failed(&self, problem: &JournalProblem) -> Error {
        problem.of(&self.path.display().to_string())
    }
}

/// Opens and locks the file at `path`, and creates it with its folder if it is missing.
fn locked(path: &Path) -> Result<File, JournalProblem> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Asked before opening: opening a pipe may wait for ever.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(JournalProblem::NotAJournal);
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
    lock(&file)?;
    Ok(file)
}

fn lock(file: &File) -> Result<(), JournalProblem> {
    match exclusive(file) {
        Err(LockError::Held(holder)) => Err(JournalProblem::Busy(holder)),
        // Some network filesystems know no locks: then it is for the user to start one sweep.
        Ok(()) | Err(LockError::System(_)) => Ok(()),
    }
}

/// Replaces `file` by a journal with the lines of `contents` alone. Returns the new file, locked, with
/// its length and the places of its lines. The lock on the old file excludes processes that opened it
/// before.
fn cleaned(
    path: &Path,
    file: &File,
    contents: &Contents,
) -> io::Result<(File, u64, Vec<Option<Stretch>>)> {
    // A link stays one.
    let path = fs::canonicalize(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.part"));
    // Left by a kill; whatever it is, nothing is written through it.
    let _ = fs::remove_file(&part);
    let clean = OpenOptions::new().read(true).write(true).create_new(true).open(&part)?;
    lock(&clean).map_err(|_| io::ErrorKind::WouldBlock)?;
    let copied = copied(file, contents, &clean);
    let (length, lines) = copied
        .and_then(|copied| {
            fs::rename(&part, &path)?;
            Ok(copied)
        })
        // The old one stays; what is left of the new one is of no use.
        .inspect_err(|_| drop(fs::remove_file(&part)))?;
    sync_folder(&path)?;
    Ok((clean, length, lines))
}

/// Copies the lines of `contents` from `file` to `clean`, and forces them to the disk.
fn copied(
    mut file: &File,
    contents: &Contents,
    mut clean: &File,
) -> io::Result<(u64, Vec<Option<Stretch>>)> {
    clean.set_permissions(file.metadata()?.permissions())?;
    let mut copy = |from: u64, length: u64| {
        file.seek(SeekFrom::Start(from))?;
        io::copy(&mut file.take(length), &mut clean)
    };
    let mut length = copy(0, contents.header_length)?;
    let mut lines = contents.lines.clone();
    // In the order of the file.
    let mut whole: Vec<&mut Stretch> = lines.iter_mut().flatten().collect();
    whole.sort_by_key(|line| line.offset);
    for line in whole {
        let offset = length;
        // With its end.
        length += copy(line.offset, line.length + 1)?;
        line.offset = offset;
    }
    clean.sync_all()?;
    Ok((length, lines))
}

/// Forces the name of a new file to the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // What cannot be opened as a folder, as on Windows, needs no such thing.
    File::open(folder.unwrap_or(Path::new("."))).map_or(Ok(()), |folder| folder.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Outcome;
    use crate::record::tests::header;
    use std::cell::RefCell;

    fn line(point: usize) -> Line {
        Line { point, outcome: Outcome::Failed(format!("point {point} \n\"")) }
    }

    /// A journal with all points, and its bytes.
    fn whole(scratch: &Scratch) -> Vec<u8> {
        let mut journal = Journal::open(&scratch.0, &header(), true, &|_| {}).unwrap();
        for point in [2, 0, 1] {
            journal.append(&line(point)).unwrap();
        }
        drop(journal);
        fs::read(&scratch.0).unwrap()
    }

    /// A path that no other test uses; what is there goes away with the value.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("boardlab-journal-{}-{name}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_journal_torn_at_any_byte_goes_on_with_its_whole_lines() {
        let scratch = Scratch::new("torn");
        let whole = whole(&scratch);
        let ends: Vec<usize> =
            (1..=whole.len()).filter(|length| whole[length - 1] == b'\n').collect();
        for length in 0..=whole.len() {
            fs::write(&scratch.0, &whole[..length]).unwrap();
            let mut journal = Journal::open(&scratch.0, &header(), false, &|_| {}).unwrap();
            let kept = ends.iter().filter(|end| **end <= length).count().saturating_sub(1);
            let missing = &[2, 0, 1][kept..];
            let mut rest = journal.rest();
            rest.sort_unstable_by_key(|point| missing.iter().position(|one| one == point));
            assert_eq!(rest, missing, "{length} bytes");
            for point in rest {
                journal.append(&line(point)).unwrap();
            }
            for point in 0..3 {
                assert_eq!(journal.line(point).unwrap(), Some(line(point)), "{length} bytes");
            }
            drop(journal);
            assert_eq!(fs::read(&scratch.0).unwrap(), whole, "{length} bytes");
        }
    }

    #[test]
    fn a_journal_in_memory_gives_back_what_it_got() {
        let mut journal = Journal::in_memory(2);
        journal.append(&line(1)).unwrap();
        assert_eq!(journal.rest(), [0]);
        assert_eq!((journal.line(0).unwrap(), journal.line(1).unwrap()), (None, Some(line(1))));
    }

    #[test]
    fn a_damaged_journal_is_mended_once_or_left_alone() {
        let scratch = Scratch::new("damaged");
        let whole = whole(&scratch);
        let header_length = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for bit in (0..whole.len() * 8).step_by(29) {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            fs::write(&scratch.0, &damaged).unwrap();
            let told = RefCell::new(Vec::new());
            let tell = |contents: &Contents| told.borrow_mut().extend(contents.damage.clone());
            let opened = Journal::open(&scratch.0, &header(), false, &tell);
            if bit / 8 < header_length {
                assert!(matches!(opened, Err(Error::Other(_))), "bit {bit}");
                assert_eq!(fs::read(&scratch.0).unwrap(), damaged, "bit {bit}");
                continue;
            }
            let mut journal = opened.unwrap();
            assert_eq!(told.take().len(), 1, "bit {bit}");
            for point in journal.rest() {
                journal.append(&line(point)).unwrap();
            }
            drop(journal);
            // The second time there is nothing to tell, and no byte more than there was.
            let mut journal = Journal::open(&scratch.0, &header(), false, &tell).unwrap();
            assert_eq!((told.take(), journal.rest()), (vec![], vec![]), "bit {bit}");
            for point in 0..3 {
                assert_eq!(journal.line(point).unwrap(), Some(line(point)), "bit {bit}");
            }
            assert_eq!(fs::read(&scratch.0).unwrap().len(), whole.len(), "bit {bit}");
        }
    }

    #[test]
    fn a_mended_journal_stays_locked_and_linked() {
        let (scratch, target) = (Scratch::new("linked"), Scratch::new("target"));
        let whole = whole(&target);
        fs::write(&target.0, [&whole[..], b"{}\n"].concat()).unwrap();
        // Left by a kill: a link that must not be followed.
        let name = target.0.file_name().unwrap().to_str().unwrap();
        let part = Scratch(target.0.with_file_name(format!(".{name}.part")));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&target.0, &scratch.0).unwrap();
            std::os::unix::fs::symlink("/dev/full", &part.0).unwrap();
        }
        #[cfg(not(unix))]
        fs::rename(&target.0, &scratch.0).unwrap();
        let before = File::open(&scratch.0).unwrap();
        let journal = Journal::open(&scratch.0, &header(), false, &|_| {}).unwrap();
        assert!(fs::symlink_metadata(&scratch.0).unwrap().is_symlink() || cfg!(not(unix)));
        assert_eq!(fs::read(&scratch.0).unwrap(), whole);
        assert!(!part.0.exists());
        for file in [before, File::open(&scratch.0).unwrap()] {
            assert!(matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)));
        }
        drop(journal);
        assert!(File::open(&scratch.0).unwrap().try_lock().is_ok());
    }

    #[test]
    fn the_beginning_of_another_first_line_is_not_overwritten() {
        let scratch = Scratch::new("begun");
        let whole = whole(&scratch);
        let end = whole.iter().position(|byte| *byte == b'\n').unwrap();
        // All line ends lost; a first line of which the end is another.
        let joined: Vec<u8> = whole.iter().copied().filter(|byte| *byte != b'\n').collect();
        let other = [&whole[..end - 1], b"x"].concat();
        for damaged in [joined, other] {
            fs::write(&scratch.0, &damaged).unwrap();
            let refused = Journal::open(&scratch.0, &header(), false, &|_| {}).unwrap_err();
            let text = refused.to_string();
            assert!(text.contains("the file ends before it does"), "{text}");
            assert_eq!(fs::read(&scratch.0).unwrap(), damaged);
        }
    }

    #[test]
    fn a_line_that_changes_under_the_sweep_is_not_believed() {
        let scratch = Scratch::new("changed");
        let whole = whole(&scratch);
        let mut journal = Journal::open(&scratch.0, &header(), false, &|_| {}).unwrap();
        let mut damaged = whole;
        let last = damaged.len() - 8;
        damaged[last] ^= 1;
        fs::write(&scratch.0, &damaged).unwrap();
        assert_eq!(journal.line(2).unwrap(), Some(line(2)));
        let text = journal.line(1).unwrap_err().to_string();
        assert!(text.contains("in the line of point 2, its checksum is"), "{text}");
    }
}
