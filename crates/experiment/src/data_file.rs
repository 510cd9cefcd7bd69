//! Data files that a scenario names: their search path, and the checks on them.
//!
//! Layer: rank 9. Functions: [`path`], [`read`], and [`sample`] for a folder of files.

use boardlab_document::error::reason;
use boardlab_document::{Read, Section};
use boardlab_sim::Bytes;
use std::fs::{self, DirEntry, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes that are taken from one place of a large sample.
const PIECE: u64 = 64 << 10;
/// The most files and folders of a sample.
const ENTRIES: usize = 1_000_000;
/// The most bytes of its files.
const TOTAL: Bytes = Bytes::mib(1 << 20);
/// The fewest: a block that a filesystem compresses would hold fewer again and again.
const LEAST: Bytes = Bytes::kib(4);

/// The path of the file that `key` of `section` names: relative to the file that has the key, or to the current folder
/// if an argument such as `--set` names it.
pub fn path(section: &Section<'_>, key: &str, named: &str) -> PathBuf {
    section.folder_of(key).unwrap_or(Path::new("")).join(named)
}

/// Reads the file at `path`, which `key` of `section` names: at most `room` bytes, the capacity of
/// `what`.
pub fn read(
    section: &Section<'_>,
    key: &str,
    path: &Path,
    room: Bytes,
    what: &str,
) -> Read<Vec<u8>> {
    let refuse = |problem: &str| {
        section.refuse(
            key,
            problem,
            &format!("a readable file of 1 to {} bytes", room.get()),
            "give the path of a regular file, from the scenario's folder, or from the current one in --set",
        )
    };
    let unreadable = |error: std::io::Error| refuse(&format!("cannot be read: {}", reason(&error)));
    let metadata = fs::metadata(path).map_err(unreadable)?;
    let problem = match metadata.len() {
        _ if metadata.is_dir() => "is a directory".into(),
        _ if !metadata.is_file() => "is not a regular file".into(),
        0 => "is empty".into(),
        size if size > room.get() => format!("has {size} bytes, which do not fit {what}"),
        _ => match fs::read(path).map_err(unreadable)? {
            bytes if bytes.is_empty() => "is empty".into(),
            bytes if Bytes::of(&bytes) > room => format!("grew beyond {what}"),
            bytes => return Ok(bytes),
        },
    };
    Err(refuse(&problem))
}

/// What the files below a folder hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderSample {
    /// Sizes of the regular files.
    pub files: Vec<Bytes>,
    /// Links, devices and the like, which are not looked into.
    pub others: usize,
    /// Bytes of all files.
    pub total: Bytes,
    /// Those that were taken: all, or pieces of 64 KiB at even distances.
    pub taken: Vec<u8>,
}

/// Reads the files at and below `path`, which `key` of `section` names, at most `limit` bytes of them: those of a
/// folder in the order of their names, and then those of its folders.
pub fn sample(section: &Section<'_>, key: &str, path: &Path, limit: Bytes) -> Read<FolderSample> {
    let refuse = |problem: &str| {
        section.refuse(
            key,
            problem,
            "sample: and a folder with files, or a file",
            "give the path from the scenario's folder, or from the current one in --set",
        )
    };
    let unreadable = |(path, error): (PathBuf, std::io::Error)| {
        refuse(&format!("cannot be read: {}: {}", path.display(), reason(&error)))
    };
    let mut found = Found::default();
    found.add(path).map_err(unreadable)?;
    if found.entries > ENTRIES {
        return Err(refuse(&format!("has more than {ENTRIES} files and folders")));
    }
    let total = found.files.iter().try_fold(0_u64, |sum, (_, size)| sum.checked_add(*size));
    let total = total.filter(|&total| total <= TOTAL.get());
    let total = total.ok_or_else(|| refuse(&format!("has files of more than {TOTAL}")))?;
    if total < LEAST.get() {
        return Err(refuse(&format!("has files of {total} bytes in all, fewer than {LEAST}")));
    }
    let mut taken = Vec::new();
    let mut start = 0;
    for (path, size) in &found.files {
        let pieces = pieces(start, *size, (total, limit.get()));
        read_pieces(path, pieces, &mut taken).map_err(|error| unreadable((path.clone(), error)))?;
        start += size;
    }
    if Bytes::of(&taken) < LEAST {
        return Err(refuse("has lost its files while they were read"));
    }
    let files = found.files.iter().map(|(_, size)| Bytes::new(*size)).collect();
    let (others, total) = (found.others, Bytes::new(total));
    Ok(FolderSample { files, others, total, taken })
}

/// The files below a folder.
#[derive(Default)]
struct Found {
    files: Vec<(PathBuf, u64)>,
    others: usize,
    /// All of these and the folders.
    entries: usize,
}

impl Found {
    /// Adds what is at `path` and below it.
    fn add(&mut self, path: &Path) -> Result<(), (PathBuf, std::io::Error)> {
        let at = |error| (path.to_owned(), error);
        let metadata = fs::metadata(path).map_err(at)?;
        if !metadata.is_dir() {
            self.add_file(path.to_owned(), &metadata);
            return Ok(());
        }
        let mut folders = vec![path.to_owned()];
        while let Some(folder) = folders.pop() {
            let at = |error| (folder.clone(), error);
            let left = ENTRIES + 1 - self.entries;
            let entries = fs::read_dir(&folder).map_err(at)?.take(left);
            let mut entries: Vec<DirEntry> = entries.collect::<Result<_, _>>().map_err(at)?;
            self.entries += entries.len();
            entries.sort_by_key(DirEntry::file_name);
            let first = folders.len();
            for entry in entries {
                // Of the entry itself: a link to a folder could lead back.
                let metadata = entry.metadata().map_err(|error| (entry.path(), error))?;
                if metadata.is_dir() {
                    folders.push(entry.path());
                } else {
                    self.add_file(entry.path(), &metadata);
                }
            }
            folders[first..].reverse();
            if self.entries > ENTRIES {
                break;
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: PathBuf, metadata: &fs::Metadata) {
        if metadata.is_file() {
            self.files.push((path, metadata.len()));
        } else {
            self.others += 1;
        }
    }
}

/// The parts of a file to read, of one that begins at `start` of `total` bytes of which `limit` are taken.
fn pieces(
    start: u64,
    size: u64,
    (total, limit): (u64, u64),
) -> impl Iterator<Item = std::ops::Range<u64>> {
    let end = start + size;
    // As many pieces as the limit has are spread over those of the whole.
    let before = move |piece: u64| {
        let all = u128::from(total.div_ceil(PIECE));
        u128::from(piece) * u128::from(limit / PIECE).min(all) / all
    };
    (start / PIECE..end.div_ceil(PIECE)).filter_map(move |piece| {
        let taken = before(piece + 1) > before(piece);
        let (from, to) = (start.max(piece * PIECE), end.min((piece + 1) * PIECE));
        (taken && from < to).then(|| from - start..to - start)
    })
}

/// Appends these parts of a file.
fn read_pieces(
    path: &Path,
    pieces: impl Iterator<Item = std::ops::Range<u64>>,
    taken: &mut Vec<u8>,
) -> std::io::Result<()> {
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return Ok(());
    }
    let mut file = File::open(path)?;
    for piece in pieces {
        file.seek(SeekFrom::Start(piece.start))?;
        file.by_ref().take(piece.end - piece.start).read_to_end(taken)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that are taken of files of these sizes.
    fn taken(sizes: &[u64], limit: u64) -> Vec<std::ops::Range<u64>> {
        let total = sizes.iter().sum();
        let mut start = 0;
        let each = sizes.iter().flat_map(|&size| {
            let begin = start;
            start += size;
            let pieces = pieces(begin, size, (total, limit));
            pieces.map(move |piece| piece.start + begin..piece.end + begin).collect::<Vec<_>>()
        });
        each.collect()
    }

    #[test]
    fn everything_is_taken_within_the_limit() {
        let sizes = [1, 0, PIECE, 3 * PIECE + 7, 100];
        let total: u64 = sizes.iter().sum();
        let all = taken(&sizes, 16 * PIECE);
        let length: u64 = all.iter().map(|piece| piece.end - piece.start).sum();
        assert_eq!(length, total);
        assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start), "{all:?}");
    }

    #[test]
    fn pieces_of_a_large_sample_are_spread_evenly() {
        let sizes = [10 * PIECE, 5, 90 * PIECE, 1_000 * PIECE];
        let all = taken(&sizes, 50 * PIECE);
        let length: u64 = all.iter().map(|piece| piece.end - piece.start).sum();
        assert!((49 * PIECE..=50 * PIECE).contains(&length), "{length}");
        let starts: Vec<_> = all.iter().map(|piece| piece.start / PIECE).collect();
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] <= 23), "{starts:?}");
        assert!(starts.first().is_some_and(|&first| first <= 23));
    }
}
