//! The manifest of a tree, its canonical text; and the times of a scan.
//!
//! Layer: rank 6, part of [`tree`](crate::tree). Main types: [`manifest`], [`scan`], [`Scan`]. The
//! format is docs/formats/file-tree.md, "Manifest".

use super::field::{escape, hex};
use super::operation::special;
use crate::error::Error;
use boardlab_sim::{Bytes, Clock, Duration};
use boardlab_vfs::{Error as FsError, FileSystem, Kind, Mount, TreeEntry, survey};
use std::fmt::Write;

/// Bytes of one read call.
const STEP: usize = 65_536;

/// One line for each entry, the root first.
///
/// # Errors
/// [`Error::File`] when the tree cannot be walked; the line of an unreadable file has its error.
pub fn manifest<F: FileSystem>(mount: &mut Mount<F>, clock: &mut Clock) -> Result<String, Error> {
    let found = survey(mount, clock).map_err(|cause| Error::file("survey", b"/", cause))?;
    let mut text = String::new();
    for found in &found {
        let path = found.path.strip_prefix(b"/").filter(|path| !path.is_empty());
        escape(path.unwrap_or(b"."), &[], &mut text);
        attributes(found, &mut text);
        match found.attributes.kind {
            Kind::File => match checksum(mount, clock, &found.path) {
                Ok(crc) => _ = write!(text, " {crc:08x}"),
                Err(error) => match error.errno() {
                    Some(errno) => _ = write!(text, " {}", errno.symbol()),
                    None => return Err(Error::file("read", &found.path, error)),
                },
            },
            _ => text.push_str(" -"),
        }
        text.push('\n');
    }
    Ok(text)
}

/// All fields between the path and the checksum, each with a space in front.
fn attributes(found: &TreeEntry, text: &mut String) {
    let told = &found.attributes;
    let (letter, device) = special(told.kind);
    let _ = write!(text, " {letter} {:04o} {} {} {} ", told.mode, told.uid, told.gid, told.links);
    match told.kind {
        Kind::File | Kind::Symlink => _ = write!(text, "{}", told.size),
        _ => text.push('-'),
    }
    let _ = write!(text, " {} ", told.modified.seconds);
    match told.kind {
        Kind::Character(_) | Kind::Block(_) => {
            let _ = write!(text, "{}:{}", device.major, device.minor);
        }
        _ => text.push('-'),
    }
    text.push(' ');
    match told.kind {
        Kind::Symlink => escape(&found.target, &[], text),
        _ => text.push('-'),
    }
    text.push(' ');
    if found.xattrs.is_empty() {
        text.push('-');
    }
    for (index, (name, value)) in found.xattrs.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { "," });
        escape(name, b"=,", text);
        text.push('=');
        hex(value, text);
    }
}

fn checksum<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    path: &[u8],
) -> Result<u32, FsError> {
    let mut hasher = crc32fast::Hasher::new();
    read_all(mount, clock, path, &mut |bytes| hasher.update(bytes))?;
    Ok(hasher.finalize())
}

/// Reads a file from its beginning to its end.
fn read_all<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    path: &[u8],
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), FsError> {
    let fd = mount.open(clock, path)?;
    let mut buffer = vec![0; STEP];
    let mut offset = 0;
    loop {
        match mount.read(clock, fd, offset, &mut buffer) {
            Ok(0) => return mount.close(clock, fd),
            Ok(count) => {
                sink(&buffer[..count]);
                offset += Bytes::of(&buffer[..count]).get();
            }
            Err(error) => {
                if error.errno().is_some() {
                    mount.close(clock, fd)?;
                }
                return Err(error);
            }
        }
    }
}

/// The result of a scan of a whole tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scan {
    /// Entries, the root included.
    pub entries: u64,
    /// Bytes of files that were read.
    pub bytes: Bytes,
    /// The time of `ls -lR`, which lists every directory and gets the attributes of every entry.
    pub list: Duration,
    /// The time of reading every file after that.
    pub read: Duration,
}

/// Lists a tree as `ls -lR` does, and then reads every file, each once.
///
/// # Errors
/// [`Error::File`].
pub fn scan<F: FileSystem>(mount: &mut Mount<F>, clock: &mut Clock) -> Result<Scan, Error> {
    let start = clock.now();
    let files = walk(mount, clock)?;
    let listed = clock.now();
    let mut scan = Scan { entries: files.entries, ..Scan::default() };
    for path in &files.paths {
        let mut count = |bytes: &[u8]| scan.bytes += Bytes::of(bytes);
        let read = read_all(mount, clock, path, &mut count);
        read.map_err(|cause| Error::file("read", path, cause))?;
    }
    scan.list = listed.since(start);
    scan.read = clock.now().since(listed);
    Ok(scan)
}

/// Lists a tree as `ls -lR` does, and returns the number of entries, the root included.
///
/// # Errors
/// [`Error::File`].
pub fn list<F: FileSystem>(mount: &mut Mount<F>, clock: &mut Clock) -> Result<u64, Error> {
    walk(mount, clock).map(|listed| listed.entries)
}

/// The result of a listing.
struct ListedFile {
    entries: u64,
    /// The paths of files.
    paths: Vec<Vec<u8>>,
}

/// Lists all directories, depth first as `ls -lR` does, and gets the attributes of every entry.
fn walk<F: FileSystem>(mount: &mut Mount<F>, clock: &mut Clock) -> Result<ListedFile, Error> {
    let mut listed = ListedFile { entries: 1, paths: Vec::new() };
    let mut open = vec![Vec::new()];
    while let Some(dir) = open.pop() {
        let root = if dir.is_empty() { b"/" } else { dir.as_slice() };
        let entries = mount.readdir(clock, root);
        let entries = entries.map_err(|cause| Error::file("list", root, cause))?;
        let below = open.len();
        for entry in entries {
            let path = [&dir, b"/".as_slice(), &entry.name].concat();
            let told = mount.lstat(clock, &path);
            let told = told.map_err(|cause| Error::file("stat", &path, cause))?;
            listed.entries += 1;
            match told.kind {
                Kind::Directory => open.push(path),
                Kind::File => listed.paths.push(path),
                Kind::Symlink => {
                    let target = mount.readlink(clock, &path);
                    target.map_err(|cause| Error::file("read the link", &path, cause))?;
                }
                _ => {}
            }
        }
        open[below..].reverse();
    }
    Ok(listed)
}
