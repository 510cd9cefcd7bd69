//! Lists a whole filesystem, and compares two.
//!
//! Layer: rank 2. Main types: [`TreeEntry`], [`survey`], [`compare`]. Everything goes through the
//! operations of [`Mount`], so a survey costs as much as `find` and `cat`. A directory that occurs
//! twice, which only a damaged image has, is listed but not entered again.

use crate::error::Error;
use crate::filesystem::FileSystem;
use crate::mount::Mount;
use crate::node::{Attributes, Ino, Kind};
use boardlab_sim::Clock;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A name of a tree, and all that is known without reading the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// The absolute path, such as `/etc/passwd`; the root itself is `/`.
    pub path: Vec<u8>,
    /// The attributes that `lstat` shows.
    pub attributes: Attributes,
    /// The target of a symbolic link; empty for all other kinds.
    pub target: Vec<u8>,
    /// Extended attributes.
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// Lists everything from the root down, in the byte order of paths.
///
/// # Errors
/// Those of the filesystem.
pub fn survey<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
) -> Result<Vec<TreeEntry>, Error> {
    let mut found = Vec::new();
    let mut entered = BTreeSet::new();
    let mut open = vec![b"/".to_vec()];
    while let Some(path) = open.pop() {
        let here = look(mount, clock, path)?;
        if here.attributes.kind == Kind::Directory && entered.insert(here.attributes.ino) {
            for entry in mount.readdir(clock, &here.path)? {
                open.push(join(&here.path, &entry.name));
            }
        }
        found.push(here);
    }
    found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let dir = if dir == b"/" { &[] } else { dir };
    [dir, b"/", name].concat()
}

fn look<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    path: Vec<u8>,
) -> Result<TreeEntry, Error> {
    let attributes = mount.lstat(clock, &path)?;
    let target = match attributes.kind {
        Kind::Symlink => mount.readlink(clock, &path)?,
        _ => Vec::new(),
    };
    let mut xattrs = BTreeMap::new();
    for name in mount.listxattr(clock, &path)? {
        let value = mount.getxattr(clock, &path, &name)?;
        xattrs.insert(name, value);
    }
    Ok(TreeEntry { path, attributes, target, xattrs })
}

/// A difference between two filesystems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The path; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// What differs.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// The first difference between two filesystems in names, kinds, modes, owners, sizes, links,
/// targets, extended attributes and content. It ignores times, the link count of the root and of
/// directories whose filesystem does not count them, and inode numbers, but compares which names share an inode.
///
/// # Errors
/// Those of the filesystems.
pub fn compare<A: FileSystem, B: FileSystem>(
    one: &mut Mount<A>,
    other: &mut Mount<B>,
    clock: &mut Clock,
) -> Result<Option<Difference>, Error> {
    let (mine, theirs) = (survey(one, clock)?, survey(other, clock)?);
    let (first, second) = (groups(&mine), groups(&theirs));
    for (mine, theirs) in mine.iter().zip(&theirs) {
        let differ = |what| Some(Difference { path: text(&mine.path), what });
        if mine.path != theirs.path {
            return Ok(differ(format!("only in one, where the other has {}", text(&theirs.path))));
        }
        let (ours, other_group) = (first[&mine.attributes.ino], second[&theirs.attributes.ino]);
        if ours != other_group {
            return Ok(differ(format!("the inode of {} and of {}", text(ours), text(other_group))));
        }
        if let Some(what) = found_difference(mine, theirs) {
            return Ok(differ(what));
        }
        if mine.attributes.kind == Kind::File
            && let Some(at) = content_difference(one, other, clock, mine)?
        {
            return Ok(differ(format!("different bytes at offset {at}")));
        }
    }
    let longer = if mine.len() > theirs.len() { &mine } else { &theirs };
    let extra = longer.get(mine.len().min(theirs.len()));
    let extra = extra.map(|extra| text(&extra.path));
    Ok(extra.map(|path| Difference { path, what: "only in one".to_owned() }))
}

/// The first path of each inode.
fn groups(found: &[TreeEntry]) -> BTreeMap<Ino, &[u8]> {
    let mut groups = BTreeMap::new();
    for found in found {
        groups.entry(found.attributes.ino).or_insert(found.path.as_slice());
    }
    groups
}

fn found_difference(mine: &TreeEntry, theirs: &TreeEntry) -> Option<String> {
    // A filesystem that does not count the links of directories says 1 (YAFFS).
    let uncounted =
        |found: &TreeEntry| found.attributes.kind == Kind::Directory && found.attributes.links == 1;
    let uncounted = uncounted(mine) || uncounted(theirs);
    let told = |found: &TreeEntry| {
        let told = found.attributes;
        // A directory has whatever size the filesystem says; a device has one of 4 bytes in UBIFS.
        let sized = matches!(told.kind, Kind::File | Kind::Symlink);
        let size = if sized { told.size } else { 0 };
        // JFFS2 counts one more for its root than there are names.
        let links = if found.path == b"/" || uncounted { 0 } else { told.links };
        format!(
            "{:?} {:o} {}:{} {links} links {size} bytes",
            told.kind, told.mode, told.uid, told.gid
        )
    };
    if told(mine) != told(theirs) {
        return Some(format!("{} and {}", told(mine), told(theirs)));
    }
    if mine.target != theirs.target {
        return Some(format!("leads to {} and {}", text(&mine.target), text(&theirs.target)));
    }
    xattr_difference(&mine.xattrs, &theirs.xattrs)
}

/// The extended attributes that differ, by the beginning of their names and the lengths of their
/// values.
fn xattr_difference(
    mine: &BTreeMap<Vec<u8>, Vec<u8>>,
    theirs: &BTreeMap<Vec<u8>, Vec<u8>>,
) -> Option<String> {
    const SHOWN: usize = 24;
    let names: BTreeSet<_> = mine.keys().chain(theirs.keys()).collect();
    let told = |name: &Vec<u8>| {
        let shown = text(&name[..name.len().min(SHOWN)]);
        let cut = if name.len() > SHOWN { "..." } else { "" };
        let length = |value: Option<&Vec<u8>>| {
            value.map_or_else(|| "none".to_owned(), |value| format!("{} bytes", value.len()))
        };
        let (one, other) = (length(mine.get(name)), length(theirs.get(name)));
        format!("{shown}{cut} ({one} and {other})")
    };
    let differ = names.into_iter().filter(|&name| mine.get(name) != theirs.get(name));
    let differ: Vec<_> = differ.map(told).collect();
    (!differ.is_empty()).then(|| format!("different xattrs: {}", differ.join(", ")))
}

/// The first byte at which the contents of a file differ.
fn content_difference<A: FileSystem, B: FileSystem>(
    one: &mut Mount<A>,
    other: &mut Mount<B>,
    clock: &mut Clock,
    found: &TreeEntry,
) -> Result<Option<u64>, Error> {
    const STEP: usize = 65_536;
    let (here, there) = (one.open(clock, &found.path)?, other.open(clock, &found.path)?);
    let (mut mine, mut theirs) = (vec![0; STEP], vec![0; STEP]);
    let mut offset = 0;
    let mut differs = None;
    while offset < found.attributes.size && differs.is_none() {
        let count = one.read(clock, here, offset, &mut mine)?;
        let counted = other.read(clock, there, offset, &mut theirs)?;
        let (mine, theirs) = (&mine[..count], &theirs[..counted]);
        let equal = mine.iter().zip(theirs).take_while(|(mine, theirs)| mine == theirs).count();
        if equal < count.max(counted) || count == 0 {
            differs = Some(offset + equal as u64);
        }
        offset += count as u64;
    }
    one.close(clock, here)?;
    other.close(clock, there)?;
    Ok(differs)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
