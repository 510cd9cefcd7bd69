//! The entries of an archive, one by one, each with what its extended headers say of it.
//!
//! Layer: rank 7. Main types: [`Entries`], [`Entry`].

use super::pax::Records;
use super::problem::ArchiveProblem;
use super::sparse::{self, Sparse};
use crate::files::content::Part;
use crate::files::error::MakeError;
use crate::files::host;
use boardlab_vfs::{Device, Kind, Timestamp};
use std::fs::File;
use std::io;
use tar::{EntryType, Header};

/// Bytes of a block, of which everything in an archive takes whole ones.
const BLOCK: u64 = 512;
/// The longest extended header: attributes of a file have 64 KiB each in Linux.
const EXTENDED_MAX: u64 = 16 << 20;
/// What compressed files begin with, and what decompresses them.
const COMPRESSED: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "gzip"), (b"\xfd7zXZ", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bzip2")];
/// The prefix of an extended attribute among the records of a file.
const ATTRIBUTE: &[u8] = b"SCHILY.xattr.";
/// The prefix of access control lists, which are text.
const LISTS: &[u8] = b"SCHILY.acl.";

/// What an entry says.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its path as it stands there.
    pub(super) path: Vec<u8>,
    pub(super) what: What,
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) modified: Timestamp,
    /// The target of a link.
    pub(super) target: Vec<u8>,
    /// Extended attributes in the order of their names.
    pub(super) attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// Records that say something of the file and that are not taken.
    pub(super) refused: Vec<Vec<u8>>,
}

/// What an entry is.
#[derive(Debug)]
pub(super) enum What {
    /// A regular file.
    File { size: u64, parts: Vec<Part> },
    /// Anything else with a name.
    Kind(Kind),
    /// A further name of a file.
    Link,
    /// An entry of a type that is unknown.
    Other(u8),
}

/// The entries of an archive.
pub(super) struct Entries<'a> {
    file: &'a File,
    length: u64,
    at: u64,
    /// The records that hold for all entries.
    global: Records,
}

impl<'a> Entries<'a> {
    /// The entries in `file`.
    pub(super) fn of(file: &'a File) -> Result<Self, MakeError> {
        let at = |problem| MakeError::Archive { at: 0, problem };
        let length = file.metadata().map_err(ArchiveProblem::Unreadable).map_err(at)?.len();
        let entries = Self { file, length, at: 0, global: Records::default() };
        let head = entries.bytes(0, length.min(8)).map_err(at)?;
        if let Some((_, by)) = COMPRESSED.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Err(at(ArchiveProblem::Compressed { by }));
        }
        Ok(entries)
    }

    /// The next entry; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, MakeError> {
        let mut extended = Extended::default();
        loop {
            let begin = self.at;
            let step = self.step(&mut extended);
            match step.map_err(|problem| MakeError::Archive { at: begin, problem })? {
                Step::End => return Ok(None),
                Step::Extended => {}
                Step::Entry(entry) => return Ok(Some(entry)),
            }
        }
    }

    /// Reads the next header and passes what it is of.
    fn step(&mut self, extended: &mut Extended) -> Result<Step, ArchiveProblem> {
        if self.at == self.length {
            return Err(ArchiveProblem::NoEnd);
        }
        let block = self.block(self.at)?;
        if block.iter().all(|&byte| byte == 0) {
            return Ok(Step::End);
        }
        let header = checked(&block)?;
        let data = self.at + BLOCK;
        let kind = header.entry_type();
        let number = |field| ArchiveProblem::Number { field };
        let mut size = header.entry_size().map_err(|_| number("size"))?;
        let is_header = matches!(
            kind,
            EntryType::XHeader
                | EntryType::XGlobalHeader
                | EntryType::GNULongName
                | EntryType::GNULongLink
        );
        if is_header {
            if size > EXTENDED_MAX {
                return Err(ArchiveProblem::Long { found: size, most: EXTENDED_MAX });
            }
            let bytes = self.bytes(data, size)?;
            let text = || bytes.split(|&byte| byte == 0).next().unwrap_or_default().to_vec();
            match kind {
                EntryType::XHeader => extended.records.add(&bytes)?,
                EntryType::XGlobalHeader => self.global.add(&bytes)?,
                EntryType::GNULongName => extended.name = Some(text()),
                _ => extended.link = Some(text()),
            }
            self.pass(data, size)?;
            return Ok(Step::Extended);
        }
        extended.records = self.global.over(&extended.records);
        size = extended.records.number("size")?.unwrap_or(size);
        if kind == EntryType::Link {
            // As GNU tar has it, whatever the header says.
            size = 0;
        }
        let entry = self.entry(header, extended, (data, size))?;
        Ok(Step::Entry(entry))
    }

    /// The entry of a header, with its data at an offset; passes them.
    fn entry(
        &mut self,
        header: &Header,
        extended: &Extended,
        (mut data, size): (u64, u64),
    ) -> Result<Entry, ArchiveProblem> {
        let records = &extended.records;
        let mut sparse = sparse::of_records(records, |at| self.block(data + at))?;
        let mut stored = size;
        match (&sparse, header.entry_type(), header.as_gnu()) {
            (None, EntryType::GNUSparse, Some(gnu)) => {
                let mut next = data;
                let found = sparse::of_header(gnu, || {
                    next += BLOCK;
                    self.block(next - BLOCK)
                })?;
                // Here the size is that of the data alone.
                data += found.before;
                sparse = Some(Sparse { before: 0, ..found });
            }
            (Some(found), ..) => {
                stored = size.checked_sub(found.before).ok_or(ArchiveProblem::Sparse)?;
            }
            _ => {}
        }
        self.pass(data, size)?;
        let path = records.get("GNU.sparse.name").or_else(|| records.get("path"));
        let path = path.map(<[u8]>::to_vec).or_else(|| extended.name.clone());
        let path = path.unwrap_or_else(|| header.path_bytes().into_owned());
        let target = records.get("linkpath").map(<[u8]>::to_vec).or_else(|| extended.link.clone());
        let target = target.or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned));
        let what = match (kind_of(header, &path)?, sparse) {
            (What::File { .. }, None) => {
                let whole = Part { offset: 0, at: data, length: size };
                What::File { size, parts: if size > 0 { vec![whole] } else { Vec::new() } }
            }
            (What::File { .. }, Some(sparse)) => {
                let parts = sparse::placed(&sparse, data + sparse.before, stored)?;
                What::File { size: sparse.size, parts }
            }
            (what, _) => what,
        };
        let mode = header.mode().map_err(|_| ArchiveProblem::Number { field: "mode" })?;
        let (attributes, refused) = attributes(records);
        Ok(Entry {
            path,
            what,
            mode: mode & 0o7777,
            uid: id(records.number("uid")?, header.uid(), "uid")?,
            gid: id(records.number("gid")?, header.gid(), "gid")?,
            modified: modified(records, header)?,
            target: target.unwrap_or_default(),
            attributes,
            refused,
        })
    }

    /// Goes on behind data.
    fn pass(&mut self, data: u64, size: u64) -> Result<(), ArchiveProblem> {
        let needed = size.checked_next_multiple_of(BLOCK).and_then(|size| data.checked_add(size));
        let needed = needed.ok_or(ArchiveProblem::Number { field: "size" })?;
        if needed > self.length {
            return Err(ArchiveProblem::Short { length: self.length, needed });
        }
        self.at = needed;
        Ok(())
    }

    fn block(&self, at: u64) -> Result<[u8; 512], ArchiveProblem> {
        let bytes = self.bytes(at, BLOCK)?;
        Ok(bytes.try_into().expect("a block was read"))
    }

    fn bytes(&self, at: u64, length: u64) -> Result<Vec<u8>, ArchiveProblem> {
        let needed = at.saturating_add(length);
        if needed > self.length {
            return Err(ArchiveProblem::Short { length: self.length, needed });
        }
        let mut bytes = vec![0; usize::try_from(length).expect("headers are short")];
        let read = host::read_at(self.file, &mut bytes, at);
        read.map(|()| bytes).map_err(ArchiveProblem::Unreadable)
    }
}

/// What a header is.
enum Step {
    End,
    Extended,
    Entry(Entry),
}

/// What extended headers say of the entry behind them.
#[derive(Debug, Default)]
struct Extended {
    records: Records,
    /// The long name of GNU tar.
    name: Option<Vec<u8>>,
    /// Its long target.
    link: Option<Vec<u8>>,
}

/// A header whose checksum is right.
fn checked(block: &[u8; 512]) -> Result<&Header, ArchiveProblem> {
    let header = Header::from_byte_slice(block);
    let found = header.cksum().map_err(|_| ArchiveProblem::NoHeader)?;
    // The checksum itself counts as eight spaces.
    let sum =
        |range: std::ops::Range<usize>| block[range].iter().map(|&b| u32::from(b)).sum::<u32>();
    let expected = sum(0..148) + 8 * u32::from(b' ') + sum(156..512);
    if found == expected { Ok(header) } else { Err(ArchiveProblem::Checksum { found, expected }) }
}

fn kind_of(header: &Header, path: &[u8]) -> Result<What, ArchiveProblem> {
    let device = || {
        let number = |found: io::Result<Option<u32>>| found.ok().flatten();
        let (major, minor) = (number(header.device_major()), number(header.device_minor()));
        let numbers = major.zip(minor).ok_or(ArchiveProblem::Number { field: "device" })?;
        Ok(Device { major: numbers.0, minor: numbers.1 })
    };
    Ok(match header.entry_type() {
        // Before POSIX folders were files whose names end so.
        EntryType::Regular if path.ends_with(b"/") => What::Kind(Kind::Directory),
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            What::File { size: 0, parts: Vec::new() }
        }
        EntryType::Link => What::Link,
        EntryType::Symlink => What::Kind(Kind::Symlink),
        EntryType::Char => What::Kind(Kind::Character(device()?)),
        EntryType::Block => What::Kind(Kind::Block(device()?)),
        EntryType::Directory => What::Kind(Kind::Directory),
        EntryType::Fifo => What::Kind(Kind::Fifo),
        other => What::Other(other.as_byte()),
    })
}

fn id(
    record: Option<u64>,
    header: io::Result<u64>,
    field: &'static str,
) -> Result<u32, ArchiveProblem> {
    let found = record.or(header.ok()).and_then(|number| u32::try_from(number).ok());
    found.ok_or(ArchiveProblem::Number { field })
}

fn modified(records: &Records, header: &Header) -> Result<Timestamp, ArchiveProblem> {
    if let Some(time) = records.time("mtime")? {
        return Ok(time);
    }
    let seconds = match &header.as_old().mtime {
        // Before 1970 GNU tar writes the number itself, as two's complement.
        [0xFF, .., a, b, c, d, e, f, g, h] => {
            Some(i64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]))
        }
        _ => header.mtime().ok().and_then(|seconds| i64::try_from(seconds).ok()),
    };
    seconds.map(Timestamp::seconds).ok_or(ArchiveProblem::Number { field: "mtime" })
}

/// The extended attributes among records, and what is known and not taken.
#[allow(clippy::type_complexity, reason = "one caller")]
fn attributes(records: &Records) -> (Vec<(Vec<u8>, Vec<u8>)>, Vec<Vec<u8>>) {
    let mut attributes: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut refused = Vec::new();
    for (key, value) in records.iter() {
        if let Some(name) = key.strip_prefix(ATTRIBUTE) {
            attributes.retain(|(known, _)| known != name);
            attributes.push((name.to_vec(), value.to_vec()));
        } else if key.starts_with(LISTS) {
            refused.push(key.to_vec());
        }
    }
    attributes.sort();
    (attributes, refused)
}
