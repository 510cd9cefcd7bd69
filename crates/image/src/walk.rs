//! Walks over every name of a filesystem, however damaged it is.
//!
//! Layer: rank 7. Main types: [`Walk`] and [`Item`]; [`resolve`] finds the starting point. An image
//! is untrusted: a directory may contain itself, names may be anything, inodes may be missing. So
//! directories are entered by inode and not by path, each of them once and none below a path that
//! exceeds the limit of Linux. An unreadable inode is an item that says so.

use crate::error::Error;
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, Entry, Error as FsError, FileSystem, Ino, Kind, is_plain_name};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// The length limit of a path: `PATH_MAX` without the NUL.
pub const PATH_LENGTH_MAX: usize = 4_095;

/// One name of a filesystem.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The absolute path; the root itself is `/`. Names may be anything, including `..` and `/`.
    pub path: Vec<u8>,
    /// The offset of the name in the path; the name may contain `/` itself.
    pub name_at: usize,
    /// The parent directory; `None` where the walk begins.
    pub parent: Option<Ino>,
    /// The inode.
    pub ino: Ino,
    /// The attributes that `lstat` shows.
    pub attributes: Option<Attributes>,
    /// The target of a symbolic link; empty for all other kinds.
    pub target: Vec<u8>,
    /// The problem, if any.
    pub problem: Option<Problem>,
}

impl Item {
    /// The name in its directory.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        &self.path[self.name_at..]
    }
}

/// A problem with a name.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    /// The filesystem cannot read the inode or its content.
    Damaged(FsError),
    /// A directory that was entered before, by another name.
    Again,
    /// A directory beyond the path limit of Linux.
    TooDeep {
        /// The number of names below it.
        names: u64,
    },
    /// The name is empty, `.` or `..`, or it contains `/` or NUL.
    Name,
    /// The entry is not followed, because its target does not exist or belongs to another entry.
    NotFollowed(&'static str),
}

impl Problem {
    /// Whether a listing with this item is complete.
    #[must_use]
    pub const fn is_told_whole(&self) -> bool {
        matches!(self, Self::Again | Self::Name | Self::NotFollowed(_))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(error) => write!(f, "damaged: {error}"),
            Self::Again => f.write_str("a directory that was listed before by another name"),
            Self::TooDeep { names } => {
                write!(f, "a directory too deep to be entered, with {names} names in it and below")
            }
            Self::Name => f.write_str("no file can have this name"),
            Self::NotFollowed(reason) => write!(f, "not followed: {reason}"),
        }
    }
}

/// A directory whose names were read but not all visited.
#[derive(Debug)]
struct OpenDirectory {
    /// The path of the directory, without a slash at the end.
    above: Vec<u8>,
    parent: Option<Ino>,
    /// Visited from the last to the first.
    entries: Vec<Entry>,
    /// Why some of them are not followed, by name.
    not_followed: HashMap<Vec<u8>, &'static str>,
}

/// The cached information about an inode with several names.
#[derive(Debug, Clone)]
struct InodeInfo {
    attributes: Result<Attributes, FsError>,
    target: Result<Vec<u8>, FsError>,
}

/// A walk over all names below a directory, in byte order; a directory comes before its contents.
/// Each inode is read once, however many names it has.
#[derive(Debug)]
pub struct Walk {
    pending: Vec<OpenDirectory>,
    entered: HashSet<Ino>,
    known: HashMap<Ino, InodeInfo>,
}

impl Walk {
    /// A walk that begins at `start`, whose path is `path`.
    #[must_use]
    pub fn new(path: &[u8], start: Ino) -> Self {
        let (above, name) = match path.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => path.split_at(slash + 1),
            None => (&b"/"[..], path),
        };
        let above = above.strip_suffix(b"/").unwrap_or(above);
        let first = Entry { name: name.into(), ino: start, kind: Kind::Directory.dirent_type() };
        let (above, not_followed) = (above.into(), HashMap::new());
        let first = OpenDirectory { above, parent: None, entries: vec![first], not_followed };
        Self { pending: vec![first], entered: HashSet::new(), known: HashMap::new() }
    }

    /// The next name; `None` at the end.
    pub fn next(&mut self, fs: &mut dyn FileSystem, clock: &mut Clock) -> Option<Item> {
        while self.pending.last()?.entries.is_empty() {
            self.pending.pop();
        }
        let OpenDirectory { above, parent, entries, not_followed } = self.pending.last_mut()?;
        let (parent, Entry { name, ino, .. }) = (*parent, entries.pop()?);
        let not_followed = not_followed.get(&name).copied();
        let path = [above, &b"/"[..], &name].concat();
        let name_at = above.len() + 1;
        let named = parent.is_none() || is_plain_name(&name);
        let problem =
            if named { not_followed.map(Problem::NotFollowed) } else { Some(Problem::Name) };
        let mut item =
            Item { path, name_at, parent, ino, attributes: None, target: Vec::new(), problem };
        if not_followed.is_some() {
            return Some(item);
        }
        let InodeInfo { attributes, target } = self.look(fs, clock, ino);
        match attributes {
            Ok(attributes) => {
                item.attributes = Some(attributes);
                let inside = match target {
                    Ok(target) => {
                        item.target = target;
                        self.look_inside(fs, clock, &item, attributes.kind)
                    }
                    Err(error) => Err(Problem::Damaged(error)),
                };
                item.problem = item.problem.or(inside.err());
            }
            Err(error) => item.problem = Some(Problem::Damaged(error)),
        }
        Some(item)
    }

    /// Reads an inode. The result is cached when it has other names.
    fn look(&mut self, fs: &mut dyn FileSystem, clock: &mut Clock, ino: Ino) -> InodeInfo {
        if let Some(known) = self.known.get(&ino) {
            return known.clone();
        }
        let attributes = fs.getattr(clock, ino);
        let kind = attributes.as_ref().ok().map(|found| found.kind);
        let target =
            if kind == Some(Kind::Symlink) { fs.readlink(clock, ino) } else { Ok(Vec::new()) };
        let known = InodeInfo { attributes, target };
        let single = known.attributes.as_ref().is_ok_and(|found| found.links <= 1);
        if !single || kind == Some(Kind::Directory) {
            self.known.insert(ino, known.clone());
        }
        known
    }

    /// Enters a directory.
    fn look_inside(
        &mut self,
        fs: &mut dyn FileSystem,
        clock: &mut Clock,
        item: &Item,
        kind: Kind,
    ) -> Result<(), Problem> {
        if kind != Kind::Directory {
            return Ok(());
        }
        if self.entered.contains(&item.ino) {
            return Err(Problem::Again);
        }
        if item.path.len() > PATH_LENGTH_MAX {
            return Err(Problem::TooDeep { names: self.count_below(fs, clock, item.ino) });
        }
        self.entered.insert(item.ino);
        let mut entries = fs.readdir(clock, item.ino).map_err(Problem::Damaged)?;
        let mut not_followed = HashMap::new();
        for (entry, why) in fs.unreachable_entries(clock, item.ino).map_err(Problem::Damaged)? {
            if let Some(why) = why {
                not_followed.insert(entry.name.clone(), why);
            }
            entries.push(entry);
        }
        let above = item.path.strip_suffix(b"/").unwrap_or(&item.path).into();
        entries.sort_unstable_by(|one, other| other.name.cmp(&one.name));
        self.pending.push(OpenDirectory { above, parent: Some(item.ino), entries, not_followed });
        Ok(())
    }

    /// Counts the names below a directory that the walk does not enter.
    fn count_below(&mut self, fs: &mut dyn FileSystem, clock: &mut Clock, start: Ino) -> u64 {
        let (mut left, mut count) = (vec![start], 0);
        while let Some(directory) = left.pop() {
            if !self.entered.insert(directory) {
                continue;
            }
            for entry in fs.readdir(clock, directory).unwrap_or_default() {
                count += 1;
                if entry.kind == Kind::Directory.dirent_type() {
                    left.push(entry.ino);
                }
            }
            // Drops the in-memory state of the inode; a failure does not matter.
            let _ = fs.evict_inode(clock, directory);
        }
        count
    }
}

/// Resolves `path` to an inode, and normalises the path. Symbolic links are not followed: the path
/// is one within the image.
///
/// # Errors
/// [`Error::FileSystem`] with the part of the path that does not exist.
pub fn resolve(
    fs: &mut dyn FileSystem,
    clock: &mut Clock,
    path: &[u8],
) -> Result<(Vec<u8>, Ino), Error> {
    let (mut reached, mut inodes) = (Vec::new(), vec![fs.root()]);
    for name in path.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                let parent = reached.iter().rposition(|&byte| byte == b'/');
                reached.truncate(parent.unwrap_or(0));
                inodes.truncate((inodes.len() - 1).max(1));
            }
            _ => {
                reached.push(b'/');
                reached.extend_from_slice(name);
                let found = fs.lookup(clock, inodes[inodes.len() - 1], name);
                let refused = |problem| Error::FileSystem { problem, path: reached.clone() };
                inodes.push(found.map_err(refused)?);
            }
        }
    }
    if reached.is_empty() {
        reached.push(b'/');
    }
    Ok((reached, inodes[inodes.len() - 1]))
}

#[cfg(test)]
pub(crate) mod tests;
