//! Every name of a filesystem, whatever is wrong with it.
//!
//! Layer: rank 7. Main types: [`Walk`] and [`Item`]; [`resolve`] finds where to begin. An image is
//! untrusted: a directory may contain itself, names may be anything, inodes may be missing. So
//! directories are entered by inode and not by path, each of them once and none below a path that
//! Linux could not name, and what cannot be read is an item that says so.

use crate::error::Error;
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, Entry, Error as FsError, FileSystem, Ino, Kind};
use std::collections::HashSet;
use std::fmt;

/// Bytes of the longest path that Linux takes, `PATH_MAX` without the NUL.
pub const PATH_LENGTH_MAX: usize = 4_095;

/// One name of a filesystem.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// From the root on; the root itself is `/`. Names may be anything, `..` and `/` included.
    pub path: Vec<u8>,
    /// Where in the path the name begins, which may contain `/` itself.
    pub name_at: usize,
    /// The directory that it is in; `None` where the walk begins.
    pub parent: Option<Ino>,
    /// The inode that it leads to.
    pub ino: Ino,
    /// What `lstat` tells.
    pub attributes: Option<Attributes>,
    /// Where a symbolic link leads; empty for everything else.
    pub target: Vec<u8>,
    /// What is wrong with it.
    pub problem: Option<Problem>,
}

impl Item {
    /// The name in its directory.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        &self.path[self.name_at..]
    }
}

/// What may be wrong with a name.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    /// The filesystem does not give the inode, or what is in it.
    Damaged(FsError),
    /// It is a directory that was entered before, by another name.
    Again,
    /// It is a directory that no path of Linux reaches.
    TooDeep,
    /// The name is empty, `.` or `..`, or it contains `/` or NUL.
    Name,
}

impl Problem {
    /// Whether a list of names with this one in it is whole.
    #[must_use]
    pub const fn is_told_whole(&self) -> bool {
        matches!(self, Self::Again | Self::Name)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(error) => write!(f, "damaged: {error}"),
            Self::Again => f.write_str("a directory that was listed before by another name"),
            Self::TooDeep => f.write_str("a directory too deep to be entered"),
            Self::Name => f.write_str("no file can have this name"),
        }
    }
}

/// Names of a directory that were read and not yet visited.
#[derive(Debug)]
struct Pending {
    /// The path of the directory, without a slash at the end.
    above: Vec<u8>,
    parent: Option<Ino>,
    /// The last of them is visited first.
    entries: Vec<Entry>,
}

/// A walk over all names below a directory, in the order of their bytes; a directory before what is
/// in it.
#[derive(Debug)]
pub struct Walk {
    pending: Vec<Pending>,
    entered: HashSet<Ino>,
}

impl Walk {
    /// A walk that begins at `start`, which `path` leads to.
    #[must_use]
    pub fn new(path: &[u8], start: Ino) -> Self {
        let (above, name) = match path.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => path.split_at(slash + 1),
            None => (&b"/"[..], path),
        };
        let above = above.strip_suffix(b"/").unwrap_or(above);
        let first = Entry { name: name.into(), ino: start, kind: Kind::Directory.dirent_type() };
        let first = Pending { above: above.into(), parent: None, entries: vec![first] };
        Self { pending: vec![first], entered: HashSet::new() }
    }

    /// The next name, until there is none.
    pub fn next(&mut self, fs: &mut dyn FileSystem, clock: &mut Clock) -> Option<Item> {
        while self.pending.last()?.entries.is_empty() {
            self.pending.pop();
        }
        let Pending { above, parent, entries } = self.pending.last_mut()?;
        let (parent, Entry { name, ino, .. }) = (*parent, entries.pop()?);
        let path = [above, &b"/"[..], &name].concat();
        let name_at = above.len() + 1;
        let problem = (parent.is_some() && !is_plain(&name)).then_some(Problem::Name);
        let mut item =
            Item { path, name_at, parent, ino, attributes: None, target: Vec::new(), problem };
        match fs.attributes(clock, ino) {
            Ok(attributes) => {
                item.attributes = Some(attributes);
                let inside = self.look_inside(fs, clock, &mut item, attributes.kind);
                item.problem = item.problem.or(inside.err());
            }
            Err(error) => item.problem = Some(Problem::Damaged(error)),
        }
        Some(item)
    }

    fn look_inside(
        &mut self,
        fs: &mut dyn FileSystem,
        clock: &mut Clock,
        item: &mut Item,
        kind: Kind,
    ) -> Result<(), Problem> {
        match kind {
            Kind::Symlink => {
                item.target = fs.read_link(clock, item.ino).map_err(Problem::Damaged)?;
            }
            Kind::Directory => {
                if item.path.len() > PATH_LENGTH_MAX {
                    return Err(Problem::TooDeep);
                }
                if !self.entered.insert(item.ino) {
                    return Err(Problem::Again);
                }
                let entries = fs.read_dir(clock, item.ino).map_err(Problem::Damaged)?;
                self.push(item, entries);
            }
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, item: &Item, mut entries: Vec<Entry>) {
        let above = item.path.strip_suffix(b"/").unwrap_or(&item.path).into();
        entries.sort_unstable_by(|one, other| other.name.cmp(&one.name));
        self.pending.push(Pending { above, parent: Some(item.ino), entries });
    }
}

/// Whether a program could have made an entry of this name.
fn is_plain(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.iter().any(|byte| matches!(byte, b'/' | 0))
}

/// The inode that `path` leads to, and the path without what is superfluous. Symbolic links are not
/// followed: the path is one within the image.
///
/// # Errors
/// [`Error::FileSystem`] with the part of the path that is not there.
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
