//! The journal: every point that was done, in the order in which they were, so that a sweep that
//! was killed goes on where it was.
//!
//! Layer: rank 8. Main types: [`Header`], which sweep it is, and [`Journal`]. A file of JSON lines:
//! the header, then a line a point, each forced to the disk before the point counts as done.
//!
//! What a kill or a power cut can leave is a last line without its end: it is cut off, and its
//! point is run again. A line with its end that cannot be read was damaged by something else, and
//! is refused. A lock held by the process keeps a second sweep out and goes away with a kill.
//! Without a file the lines are kept in memory.

use super::figures::Line;
use crate::error::{Error, JournalProblem, reason};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What the first line of a journal begins with.
const MAGIC: &str = "{\"journal\":\"boardlab sweep\",";

/// The longest line that is read; ours have some ten KiB.
const LINE_MAX: u64 = 64 << 20;

/// Which sweep a journal is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    /// Always `boardlab sweep`.
    pub(crate) journal: String,
    /// The version of boardlab that makes the points.
    pub(crate) version: String,
    /// Name of the scenario.
    pub(crate) scenario: String,
    /// The seed of all points, where the grid has none.
    pub(crate) seed: Option<u64>,
    /// The keys and their values.
    pub(crate) grid: Vec<(String, Vec<String>)>,
    /// Every value of the scenario with its part and its board.
    pub(crate) inputs: IndexMap<String, String>,
    /// Checksum of all points' inputs, data files included.
    pub(crate) checksum: u32,
}

impl Header {
    /// How this sweep differs from the one that `there` is of.
    fn difference(&self, there: &Self) -> Option<JournalProblem> {
        let differs = |what: &str, there: String, here: String| {
            (there != here).then(|| JournalProblem::Differs { what: what.into(), there, here })
        };
        let quoted = |text: &String| format!("`{text}`");
        let seed = |header: &Self| match header.seed {
            Some(seed) => seed.to_string(),
            None => "in the grid".into(),
        };
        differs("the version of boardlab", quoted(&there.version), quoted(&self.version))
            .or_else(|| differs("the scenario", quoted(&there.scenario), quoted(&self.scenario)))
            .or_else(|| differs("the grid", shown(&there.grid), shown(&self.grid)))
            .or_else(|| differs("the seed", seed(there), seed(self)))
            .or_else(|| {
                let keys = there.inputs.keys().chain(self.inputs.keys());
                let value = |header: &Self, key: &str| {
                    header.inputs.get(key).map_or_else(|| "nothing".into(), quoted)
                };
                keys.map(|key| (key, value(there, key), value(self, key)))
                    .find_map(|(key, there, here)| differs(&format!("`{key}`"), there, here))
            })
            .or_else(|| {
                let sum = |header: &Self| format!("{:08x}", header.checksum);
                differs("the checksum of the files that it names", sum(there), sum(self))
            })
    }
}

fn shown(grid: &[(String, Vec<String>)]) -> String {
    let axes = grid.iter().map(|(key, values)| format!("`{key}={}`", values.join(",")));
    axes.collect::<Vec<_>>().join(" ")
}

/// The points that were done.
#[derive(Debug)]
pub(crate) struct Journal {
    store: Store,
    /// Where the line of each point is.
    lines: Vec<Option<Stretch>>,
}

/// A stretch of bytes.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    offset: u64,
    length: u64,
}

#[derive(Debug)]
enum Store {
    /// The bytes of all lines.
    Memory(Vec<u8>),
    /// A file that this process has locked, with its length.
    File { path: PathBuf, file: File, length: u64 },
}

impl Journal {
    /// Without a file, for `points` points.
    pub(crate) fn in_memory(points: usize) -> Self {
        Self { store: Store::Memory(Vec::new()), lines: vec![None; points] }
    }

    /// The journal at `path` of the sweep `header` with `points` points, made with its folder
    /// where it lacks. With `restart`, what was done is forgotten.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub(crate) fn open(
        path: &Path,
        header: &Header,
        points: usize,
        restart: bool,
    ) -> Result<Self, Error> {
        let opened = Self::opened(path, header, points, restart);
        opened.map_err(|problem| Error::Journal { path: path.display().to_string(), problem })
    }

    fn opened(
        path: &Path,
        header: &Header,
        points: usize,
        restart: bool,
    ) -> Result<Self, JournalProblem> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| refused(&error))?;
        }
        // Asked before opening: opening a pipe may wait for ever.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(JournalProblem::NotAJournal);
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| refused(&error))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(JournalProblem::Busy),
            // Some network filesystems know no locks: then it is for the user to start one sweep.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let (lines, whole) = match restart {
            true => (vec![None; points], 0),
            false => scan(&file, header, points)?,
        };
        file.set_len(whole).map_err(|error| refused(&error))?;
        let store = Store::File { path: path.into(), file, length: whole };
        let mut journal = Self { store, lines };
        if whole == 0 {
            let text = serde_json::to_string(header).expect("a header has text keys");
            journal.write(&text).map_err(|error| refused(&error))?;
            sync_folder(path).map_err(|error| refused(&error))?;
        }
        Ok(journal)
    }

    /// The points that are not done yet, in order.
    pub(crate) fn rest(&self) -> Vec<usize> {
        let lines = self.lines.iter().enumerate();
        lines.filter(|(_, line)| line.is_none()).map(|(point, _)| point).collect()
    }

    /// Puts a point on record; when this returns, it survives a power cut.
    ///
    /// # Errors
    /// [`Error::Journal`] when the file cannot be written; its last line may be torn then.
    pub(crate) fn append(&mut self, line: &Line) -> Result<(), Error> {
        let stretch = self.write(&line.write());
        let stretch = stretch.map_err(|error| self.failed(refused(&error)))?;
        self.lines[line.point] = Some(stretch);
        Ok(())
    }

    fn write(&mut self, text: &str) -> io::Result<Stretch> {
        let bytes = [text.as_bytes(), b"\n"].concat();
        let length = as_u64(text.len());
        let offset = match &mut self.store {
            Store::Memory(all) => {
                let offset = as_u64(all.len());
                all.extend_from_slice(&bytes);
                offset
            }
            Store::File { file, length, .. } => {
                let offset = *length;
                file.seek(SeekFrom::Start(offset))?;
                file.write_all(&bytes)?;
                file.sync_data()?;
                *length += as_u64(bytes.len());
                offset
            }
        };
        Ok(Stretch { offset, length })
    }

    /// What was put on record of `point`; `None` when it is not done.
    ///
    /// # Errors
    /// [`Error::Journal`] when the file cannot be read any more.
    pub(crate) fn line(&mut self, point: usize) -> Result<Option<Line>, Error> {
        let Some(stretch) = self.lines[point] else { return Ok(None) };
        let text = self.read(stretch).map_err(|error| self.failed(refused(&error)))?;
        match Line::read(&text) {
            Some(line) => Ok(Some(line)),
            None => Err(self.failed(JournalProblem::NotAJournal)),
        }
    }

    fn read(&mut self, Stretch { offset, length }: Stretch) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        match &mut self.store {
            Store::Memory(all) => {
                let [from, to] = [offset, offset + length].map(|at| usize::try_from(at).ok());
                let lines = from.zip(to).and_then(|(from, to)| all.get(from..to));
                text.extend_from_slice(lines.unwrap_or_default());
            }
            Store::File { file, .. } => {
                file.seek(SeekFrom::Start(offset))?;
                file.take(length).read_to_end(&mut text)?;
            }
        }
        Ok(text)
    }

    fn failed(&self, problem: JournalProblem) -> Error {
        let path = match &self.store {
            Store::Memory(_) => String::new(),
            Store::File { path, .. } => path.display().to_string(),
        };
        Error::Journal { path, problem }
    }
}

/// The lines of a journal, and how many bytes are whole lines.
fn scan(
    file: &File,
    header: &Header,
    points: usize,
) -> Result<(Vec<Option<Stretch>>, u64), JournalProblem> {
    let mut reader = BufReader::new(file);
    let mut lines = vec![None; points];
    let (mut offset, mut number) = (0, 0);
    loop {
        let mut text = Vec::new();
        let read = (&mut reader).take(LINE_MAX).read_until(b'\n', &mut text);
        read.map_err(|error| refused(&error))?;
        let length = as_u64(text.len());
        number += 1;
        if text.pop_if(|end| *end == b'\n').is_none() {
            // Torn, and nothing follows.
            let ours = number > 1 || MAGIC.as_bytes().starts_with(&text) || is_header(&text);
            let ends = length < LINE_MAX;
            return match ours && ends {
                true => Ok((lines, offset)),
                false => Err(JournalProblem::NotAJournal),
            };
        }
        if number == 1 {
            let there = is_header(&text).then(|| serde_json::from_slice(&text).ok());
            let there: Header = there.flatten().ok_or(JournalProblem::NotAJournal)?;
            header.difference(&there).map_or(Ok(()), Err)?;
        } else {
            let line = Line::read(&text).filter(|line| line.point < points);
            let line = line.ok_or(JournalProblem::Damaged { line: number })?;
            lines[line.point] = Some(Stretch { offset, length: length - 1 });
        }
        offset += length;
    }
}

fn is_header(text: &[u8]) -> bool {
    text.starts_with(MAGIC.as_bytes())
}

/// Forces the name of a new file to the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // What cannot be opened as a folder, as on Windows, needs no such thing.
    File::open(folder.unwrap_or(Path::new("."))).map_or(Ok(()), |folder| folder.sync_all())
}

fn refused(error: &io::Error) -> JournalProblem {
    JournalProblem::System(reason(error))
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).expect("a length in memory has at most 64 bits")
}

#[cfg(test)]
mod tests {
    use super::super::figures::Outcome;
    use super::*;

    fn header() -> Header {
        Header {
            journal: "boardlab sweep".into(),
            version: "0".into(),
            scenario: "x".into(),
            seed: Some(1),
            grid: vec![("a".into(), vec!["1".into(), "2".into(), "3".into()])],
            inputs: IndexMap::from([("a".into(), "1".into())]),
            checksum: 7,
        }
    }

    fn line(point: usize) -> Line {
        Line { point, outcome: Outcome::Failed(format!("point {point} \n\"")) }
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
        let mut journal = Journal::open(&scratch.0, &header(), 3, true).unwrap();
        for point in [2, 0, 1] {
            journal.append(&line(point)).unwrap();
        }
        drop(journal);
        let whole = fs::read(&scratch.0).unwrap();
        let ends: Vec<usize> =
            (1..=whole.len()).filter(|length| whole[length - 1] == b'\n').collect();
        for length in 0..=whole.len() {
            fs::write(&scratch.0, &whole[..length]).unwrap();
            let mut journal = Journal::open(&scratch.0, &header(), 3, false).unwrap();
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
    fn every_part_of_a_header_tells_sweeps_apart() {
        let here = header();
        assert_eq!(here.difference(&here), None);
        let mut others = vec![header(); 6];
        others[0].version = "1".into();
        others[1].scenario = "y".into();
        others[2].grid[0].1.push("4".into());
        others[3].seed = None;
        others[4].inputs.insert("b".into(), "2".into());
        others[5].checksum = 8;
        let what = ["version", "scenario", "grid", "seed", "`b`", "files"];
        for (there, what) in others.iter().zip(what) {
            let Some(JournalProblem::Differs { what: found, .. }) = here.difference(there) else {
                panic!("{what}")
            };
            assert!(found.contains(what), "{found}");
        }
    }
}
