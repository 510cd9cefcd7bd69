//! Path resolution.
//!
//! Layer: rank 2, part of [`Mount`]. Source: Linux 6.1, `link_path_walk` and `step_into` in
//! `fs/namei.c`; `MAXSYMLINKS` in `include/linux/namei.h`. Paths begin at the root. Slashes at the
//! end are ignored, where Linux insists on a directory.

use super::Mount;
use crate::error::{Errno, Error};
use crate::filesystem::FileSystem;
use crate::host::Work;
use crate::node::{Ino, Kind, NAME_MAX};
use boardlab_sim::Clock;

/// The limit of symbolic links in one resolution.
const LINKS_MAX: u32 = 40;

/// Bytes of a path, including the NUL at its end (`PATH_MAX`).
pub(super) const PATH_MAX: usize = 4_096;

/// What to do with a symbolic link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinalSymlink {
    /// Follow it.
    Follow,
    /// Resolve to the link itself.
    NoFollow,
}

/// A walk in progress.
struct Walk {
    /// The directories from the root down, and the present inode last.
    trail: Vec<Ino>,
    /// The components still to be walked, the next one last.
    rest: Vec<Vec<u8>>,
    links: u32,
}

impl Walk {
    /// Puts the components of `path` before the remaining ones.
    fn push(&mut self, path: &[u8]) {
        let components = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
        self.rest.extend(components.rev().map(<[u8]>::to_vec));
    }

    fn here(&self) -> Ino {
        *self.trail.last().expect("a trail begins at the root and never loses it")
    }
}

/// A name in a directory: the last component of a path.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    /// The directories above that are known, from the root down.
    above: Vec<Ino>,
    dir: Ino,
    pub(super) name: &'a [u8],
}

impl<'a> Place<'a> {
    /// `name` in `dir`. No directory may move into itself: `above` are those in which `dir` lies, as far as
    /// the caller has not made sure of that.
    #[must_use]
    pub const fn new(above: Vec<Ino>, dir: Ino, name: &'a [u8]) -> Self {
        Self { above, dir, name }
    }

    /// The directory that has the name.
    #[must_use]
    pub const fn dir(&self) -> Ino {
        self.dir
    }

    /// Whether `ino` is the directory, or one above it.
    pub(super) fn is_within(&self, ino: Ino) -> bool {
        self.dir == ino || self.above.contains(&ino)
    }
}

pub(super) fn check_name(name: &[u8]) -> Result<(), Error> {
    if name.len() > NAME_MAX {
        return Err(Errno::NameTooLong.into());
    }
    if name.contains(&0) {
        return Err(Errno::Inval.into());
    }
    Ok(())
}

/// The last component of a path and where it begins; empty for the root.
pub(super) fn last_of(path: &[u8]) -> (&[u8], usize) {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    let start = path[..end].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    (&path[start..end], start)
}

fn check_path(path: &[u8]) -> Result<(), Error> {
    match path {
        [] => Err(Errno::NoEnt.into()),
        _ if path.len() >= PATH_MAX => Err(Errno::NameTooLong.into()),
        [b'/', ..] => Ok(()),
        _ => Err(Errno::Inval.into()),
    }
}

impl<F: FileSystem> Mount<F> {
    /// Resolves a path to an inode.
    pub(super) fn resolve(
        &mut self,
        clock: &mut Clock,
        path: &[u8],
        last: FinalSymlink,
    ) -> Result<Ino, Error> {
        check_path(path)?;
        self.walk(clock, path, last).map(|walk| walk.here())
    }

    /// Resolves the parent directory of the last component. `special` is the error when that
    /// component cannot be created or removed: the root, `.` and `..`.
    pub(super) fn parent<'a>(
        &mut self,
        clock: &mut Clock,
        path: &'a [u8],
        special: Errno,
    ) -> Result<Place<'a>, Error> {
        check_path(path)?;
        let (name, start) = last_of(path);
        if matches!(name, b"" | b"." | b"..") {
            return Err(special.into());
        }
        let mut walk = self.walk(clock, &path[..start], FinalSymlink::Follow)?;
        check_name(name)?;
        let dir = walk.here();
        self.must_be_directory(clock, dir)?;
        walk.trail.pop();
        Ok(Place::new(walk.trail, dir, name))
    }

    /// Refuses what is no directory.
    pub(super) fn must_be_directory(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        if self.kind(clock, ino)? == Kind::Directory { Ok(()) } else { Err(Errno::NotDir.into()) }
    }

    fn walk(&mut self, clock: &mut Clock, path: &[u8], last: FinalSymlink) -> Result<Walk, Error> {
        let mut walk = Walk { trail: vec![self.fs.root()], rest: Vec::new(), links: 0 };
        walk.push(path);
        while let Some(name) = walk.rest.pop() {
            match name.as_slice() {
                b"." => self.host.spend(clock, Work::Lookup, 0),
                b".." => {
                    self.host.spend(clock, Work::Lookup, 0);
                    walk.trail.truncate(walk.trail.len().max(2) - 1);
                }
                name => self.step(clock, &mut walk, name, last)?,
            }
        }
        Ok(walk)
    }

    fn step(
        &mut self,
        clock: &mut Clock,
        walk: &mut Walk,
        name: &[u8],
        last: FinalSymlink,
    ) -> Result<(), Error> {
        check_name(name)?;
        let ino = self.lookup(clock, walk.here(), name)?;
        let stays = walk.rest.is_empty() && last == FinalSymlink::NoFollow;
        if stays || self.kind(clock, ino)? != Kind::Symlink {
            walk.trail.push(ino);
            return Ok(());
        }
        walk.links += 1;
        if walk.links > LINKS_MAX {
            return Err(Errno::Loop.into());
        }
        let target = self.ask(clock, |fs, clock| fs.readlink(clock, ino))?;
        match target.first() {
            None => return Err(Errno::NoEnt.into()),
            Some(b'/') => walk.trail.truncate(1),
            Some(_) => {}
        }
        walk.push(&target);
        Ok(())
    }

    /// Looks up one name, in the cache first.
    pub(super) fn lookup(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
    ) -> Result<Ino, Error> {
        self.host.spend(clock, Work::Lookup, 0);
        if let Some(&ino) = self.names.get(&dir).and_then(|names| names.get(name)) {
            return Ok(ino);
        }
        if self.kind(clock, dir)? != Kind::Directory {
            return Err(Errno::NotDir.into());
        }
        let ino = self.ask(clock, |fs, clock| fs.lookup(clock, dir, name))?;
        self.inode(clock, ino)?;
        self.names.entry(dir).or_default().insert(name.to_vec(), ino);
        Ok(ino)
    }
}
