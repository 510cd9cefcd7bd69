//! Tables of devices, as mtd-utils take them: files that are not in the folder, and owners and modes of those that
//! are.
//!
//! ```text
//!  # name     type mode uid gid major minor start inc count
//!  /dev       d    755  0   0   -     -     -     -   -
//!  /dev/tty   c    666  0   0   4     0     0     1   4       /dev/tty0 (4:0) to /dev/tty3 (4:3)
//!  /bin/su    f    4755 0   0   -     -     -     -   -       changes the file
//! ```
//! Layer: rank 7. Main function: [`apply`]. Types are `f`, a file of the folder; `d`, a folder; `c` and `b`, devices;
//! `p`, a pipe; `l`, a symbolic link of the folder. What is there keeps its content and its time; what is new has the
//! time of the table. A count is one, as in `mkfs.ubifs`; `mkfs.jffs2` takes it for the first number that is left out.
//!
//! Source: mtd-utils 2.1, what `mkfs.jffs2` and `mkfs.ubifs` make of tables. Unlike there, what they would skip or
//! ignore is refused with its place.

use super::content::Source;
use super::error::MakeError;
use super::problem::FileProblem;
use super::tree::{Node, Taking, Tree};
use boardlab_vfs::{Device, Kind, NAME_MAX, Timestamp, is_plain_name};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The most devices of a line.
const COUNT_MAX: u32 = 65_536;

/// A line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry<'a> {
    /// Its place: line, and column of the name.
    at: (usize, usize),
    path: &'a str,
    kind: Type,
    mode: u32,
    owner: (u32, u32),
    device: Device,
    /// First number, distance of the minor numbers, and count; `None` for one file without a number.
    range: Option<(u32, u32, u32)>,
}

/// A type of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    File,
    Directory,
    Character,
    Block,
    Pipe,
    Link,
}

impl Type {
    fn of(text: &str) -> Option<Self> {
        Some(match text {
            "f" => Self::File,
            "d" => Self::Directory,
            "c" => Self::Character,
            "b" => Self::Block,
            "p" => Self::Pipe,
            "l" => Self::Link,
            _ => return None,
        })
    }

    const fn is_device(self) -> bool {
        matches!(self, Self::Character | Self::Block)
    }

    /// What a new file is; `None` where the folder must have it.
    const fn kind(self, device: Device) -> Option<Kind> {
        match self {
            Self::Directory => Some(Kind::Directory),
            Self::Character => Some(Kind::Character(device)),
            Self::Block => Some(Kind::Block(device)),
            Self::Pipe => Some(Kind::Fifo),
            Self::File | Self::Link => None,
        }
    }

    /// The type of a file of the tree.
    const fn of_kind(kind: Kind) -> Option<Self> {
        match kind {
            Kind::File => Some(Self::File),
            Kind::Directory => Some(Self::Directory),
            Kind::Character(_) => Some(Self::Character),
            Kind::Block(_) => Some(Self::Block),
            Kind::Fifo => Some(Self::Pipe),
            Kind::Symlink => Some(Self::Link),
            Kind::Socket => None,
        }
    }

    const fn words(kind: Option<Self>) -> &'static str {
        match kind {
            Some(Self::File) => "a file",
            Some(Self::Directory) => "a folder",
            Some(Self::Character) => "a character device",
            Some(Self::Block) => "a block device",
            Some(Self::Pipe) => "a pipe",
            Some(Self::Link) => "a symbolic link",
            None => "a socket",
        }
    }
}

/// Applies the table in the file `table` to `tree`.
///
/// # Errors
/// [`MakeError::Unreadable`], [`MakeError::InFile`].
pub(crate) fn apply(tree: &mut Tree, table: &Path, taking: &Taking) -> Result<(), MakeError> {
    let unreadable = |problem| MakeError::UnreadableTable { path: table.into(), problem };
    let text = fs::read(table).map_err(unreadable)?;
    let modified = modified(table).map_err(unreadable)?;
    let time = Timestamp::seconds(taking.latest.map_or(modified, |latest| latest.min(modified)));
    let in_file = |((line, column), problem)| MakeError::InFile {
        path: table.into(),
        line,
        column,
        problem: Box::new(problem),
    };
    let mut known: BTreeMap<Vec<u8>, usize> =
        (0..tree.nodes.len()).map(|index| (tree.nodes[index].path.clone(), index)).collect();
    let text = text_of(&text).map_err(in_file)?;
    for (number, line) in (1..).zip(text.lines()) {
        let Some(entry) = parse(number, line).map_err(in_file)? else { continue };
        apply_line(tree, &mut known, &entry, time)
            .map_err(|problem| in_file((entry.at, problem)))?;
    }
    Ok(())
}

/// The seconds since 1970 of the last change of a file.
fn modified(path: &Path) -> io::Result<i64> {
    let since = fs::metadata(path)?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// A place and what is wrong there.
type Found = ((usize, usize), FileProblem);

/// Bytes as text.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, Found> {
    std::str::from_utf8(bytes)
        .map_err(|problem| (place_of(&bytes[..problem.valid_up_to()]), FileProblem::NotText))
}

/// Line and column in characters, both from 1, of what comes behind `before`.
pub(crate) fn place_of(before: &[u8]) -> (usize, usize) {
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let line = before[..start].iter().filter(|&&byte| byte == b'\n').count() + 1;
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

/// The fields of a line with their columns; none for a comment.
fn fields(line: &str) -> Vec<(usize, &str)> {
    if line.trim_start().starts_with('#') {
        return Vec::new();
    }
    let mut rest = line;
    let mut fields = Vec::new();
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        let text = &rest[start..];
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let column = line[..line.len() - text.len()].chars().count() + 1;
        fields.push((column, &text[..end]));
        rest = &text[end..];
    }
    fields
}

fn parse(number: usize, line: &str) -> Result<Option<Entry<'_>>, Found> {
    let fields = fields(line);
    let [(first, path), ref rest @ ..] = fields[..] else { return Ok(None) };
    if !(4..=9).contains(&rest.len()) {
        return Err(((number, first), FileProblem::Fields { found: fields.len() }));
    }
    let at = |index: usize| rest.get(index).copied().unwrap_or((first, "-"));
    let wrong = |index: usize, name: &'static str, expected: &'static str| {
        let (column, found) = at(index);
        ((number, column), FileProblem::Field { name, found: found.into(), expected })
    };
    let types = "f (file), d (folder), c or b (devices), p (pipe) or l (symbolic link)";
    let kind = Type::of(at(0).1).ok_or_else(|| wrong(0, "type", types))?;
    let octal = "an octal number up to 7777, such as 755";
    let mode = u32::from_str_radix(at(1).1, 8).ok().filter(|mode| *mode <= 0o7777);
    let mode = mode.ok_or_else(|| wrong(1, "mode", octal))?;
    if kind == Type::Link && mode != 0o777 {
        return Err(wrong(1, "mode", "777, which every symbolic link has"));
    }
    // What has no meaning may be left out.
    let value = |index: usize, name, most: u32, expected| match at(index).1 {
        "-" => Ok(0),
        text => {
            let found = text.parse().ok().filter(|found| *found <= most);
            found.ok_or_else(|| wrong(index, name, expected))
        }
    };
    let owner = "a number of a user or group";
    let owner = (value(2, "uid", u32::MAX, owner)?, value(3, "gid", u32::MAX, owner)?);
    let major = value(4, "major", 0xFFF, "a number up to 4095")?;
    let minor = value(5, "minor", 0xF_FFFF, "a number up to 1048575")?;
    let start = value(6, "start", u32::MAX / 2, "a number")?;
    let increment = value(7, "inc", 0xF_FFFF, "a number up to 1048575")?;
    let count = value(8, "count", COUNT_MAX, "a number up to 65536")?;
    let names = ["major", "minor", "start", "inc", "count"];
    if !kind.is_device() {
        let given = (4..9).find(|index| !matches!(at(*index).1, "-" | "0"));
        if let Some(index) = given {
            return Err(wrong(index, names[index - 4], "- or 0: only devices have it"));
        }
    }
    let last = u64::from(count.saturating_sub(1)) * u64::from(increment) + u64::from(minor);
    if last > 0xF_FFFF {
        return Err(wrong(8, "count", "so many that the last minor number is at most 1048575"));
    }
    if count == 0 && (start, increment) != (0, 0) {
        return Err(wrong(8, "count", "a number above 0, where there is a start or an inc"));
    }
    let range = (count > 0).then_some((start, increment, count));
    let device = Device { major, minor };
    Ok(Some(Entry { at: (number, first), path, kind, mode, owner, device, range }))
}

/// A path in the form of those of the tree; `None` when it leads elsewhere.
fn tree_path(path: &str) -> Option<Vec<u8>> {
    let names = path.strip_prefix('/')?.split('/').filter(|name| !name.is_empty());
    let mut whole = Vec::new();
    for name in names {
        if !is_plain_name(name.as_bytes()) || name.len() > NAME_MAX {
            return None;
        }
        whole.push(b'/');
        whole.extend_from_slice(name.as_bytes());
    }
    Some(if whole.is_empty() { b"/".to_vec() } else { whole })
}

fn apply_line(
    tree: &mut Tree,
    known: &mut BTreeMap<Vec<u8>, usize>,
    entry: &Entry<'_>,
    time: Timestamp,
) -> Result<(), FileProblem> {
    let Some((start, increment, count)) = entry.range else {
        return apply_file(tree, known, entry, time);
    };
    for number in 0..count {
        let path = format!("{}{}", entry.path.trim_end_matches('/'), start + number);
        let device = Device { minor: entry.device.minor + number * increment, ..entry.device };
        let one = Entry { path: &path, device, ..entry.clone() };
        apply_file(tree, known, &one, time)?;
    }
    Ok(())
}

fn apply_file(
    tree: &mut Tree,
    known: &mut BTreeMap<Vec<u8>, usize>,
    entry: &Entry<'_>,
    time: Timestamp,
) -> Result<(), FileProblem> {
    let shown = || entry.path.to_owned();
    let path = tree_path(entry.path).ok_or_else(|| FileProblem::Outside { path: shown() })?;
    if let Some(&index) = known.get(&path) {
        return change(tree, index, entry);
    }
    let slash = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    let folder = if slash == 0 { &b"/"[..] } else { &path[..slash] };
    let parent = known.get(folder).copied();
    let is_folder = |index: usize| tree.nodes[index].kind == Kind::Directory;
    let Some(parent) = parent.filter(|index| is_folder(*index)) else {
        let folder = String::from_utf8_lossy(folder).into_owned();
        return Err(FileProblem::NoFolder { path: shown(), folder, is_other: parent.is_some() });
    };
    let kind = entry.kind.kind(entry.device);
    let kind = kind.ok_or_else(|| FileProblem::NoFile { path: shown() })?;
    let name = path[slash + 1..].to_vec();
    known.insert(path.clone(), tree.nodes.len());
    tree.nodes.push(new_node(path, name, (parent, kind), entry, time));
    Ok(())
}

fn new_node(
    path: Vec<u8>,
    name: Vec<u8>,
    (parent, kind): (usize, Kind),
    entry: &Entry<'_>,
    time: Timestamp,
) -> Node {
    Node {
        source: Source::Host(PathBuf::new()),
        path,
        name,
        parent,
        same: None,
        kind,
        mode: entry.mode,
        uid: entry.owner.0,
        gid: entry.owner.1,
        links: 1,
        modified: time,
        target: Vec::new(),
        attributes: Vec::new(),
    }
}

/// Changes a file of the tree, under all of its names.
fn change(tree: &mut Tree, index: usize, entry: &Entry<'_>) -> Result<(), FileProblem> {
    let found = Type::of_kind(tree.nodes[index].kind);
    if found != Some(entry.kind) {
        let (found, expected) = (Type::words(found), Type::words(Some(entry.kind)));
        return Err(FileProblem::Type { path: entry.path.into(), found, expected });
    }
    let first = tree.nodes[index].same.unwrap_or(index);
    let is_same = |number: usize, node: &Node| number == first || node.same == Some(first);
    for (number, node) in tree.nodes.iter_mut().enumerate() {
        if is_same(number, node) {
            node.mode = entry.mode;
            (node.uid, node.gid) = entry.owner;
            node.kind = entry.kind.kind(entry.device).unwrap_or(node.kind);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
