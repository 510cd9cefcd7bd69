//! Requests on names and attributes.
//!
//! Layer: rank 9, part of [`Server`].

use super::{Found, Reached, Server, errno, is_directory};
use boardlab_vfs::{Attributes, Errno, FileSystem, Ino, NewInode, Place, SetAttr, XATTR_NAME_MAX};

/// The most directories above one: no path of Linux is deeper.
const DEPTH_MAX: usize = 2_048;

/// A rename.
#[derive(Debug, Clone, Copy)]
pub struct Rename<'a> {
    /// The node of the directory, and the name in it.
    pub from: (u64, &'a [u8]),
    /// The node of the other directory, and the new name in it.
    pub to: (u64, &'a [u8]),
    /// Whether nothing may have the new name (`RENAME_NOREPLACE`).
    pub keeps: bool,
}

impl<F: FileSystem> Server<F> {
    /// The directories that `dir` lies in, the nearest first, itself included.
    fn above(&self, dir: Ino) -> Vec<Ino> {
        let mut above = vec![dir];
        let mut here = dir;
        while let Some(reached) = self.reached.get(&here) {
            here = reached.parent;
            if above.contains(&here) || above.len() > DEPTH_MAX {
                break;
            }
            above.push(here);
        }
        above
    }

    /// The path of a directory, as far as it is known.
    pub(super) fn path(&self, dir: Ino) -> Vec<u8> {
        let mut path = Vec::new();
        for ino in self.above(dir).iter().rev() {
            if let Some(reached) = self.reached.get(ino) {
                path.push(b'/');
                path.extend(&reached.name);
            }
        }
        if path.is_empty() { vec![b'/'] } else { path }
    }

    /// What an inode is to the kernel that was just found in `dir`.
    fn found(&mut self, dir: Ino, name: &[u8], ino: Ino) -> Result<Found, Errno> {
        let attributes = self.attributes(ino)?;
        if is_directory(&attributes) {
            // The root, or a directory in itself: only a damaged image has that.
            if ino == self.mount.fs().root() || self.above(dir).contains(&ino) {
                return Err(Errno::Loop);
            }
            self.reached.insert(ino, Reached { parent: dir, name: name.to_vec() });
        }
        let node = self.node(ino);
        if node == 0 {
            return Err(Errno::Io);
        }
        let generation = self.generations.get(&ino).copied().unwrap_or(0);
        Ok(Found { node, generation, attributes })
    }

    /// Looks up a name.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, EINVAL for what is no name, ELOOP for a directory in itself, EIO.
    pub fn lookup(&mut self, parent: u64, name: &[u8]) -> Result<Found, Errno> {
        self.enter();
        let dir = self.ino(parent);
        let found = self.mount.by_inode().lookup(&mut self.clock, dir, name);
        let ino = found.map_err(|error| errno(&error))?;
        self.found(dir, name, ino)
    }

    /// The kernel knows a node no more.
    pub fn forget(&mut self, node: u64) {
        let ino = self.ino(node);
        self.reached.remove(&ino);
        // What it holds in memory stays there if that fails.
        let _ = self.mount.by_inode().forget(&mut self.clock, ino);
    }

    /// What an entry of a directory is, as [`Server::lookup`] of its name tells it.
    ///
    /// # Errors
    /// As [`Server::lookup`].
    pub fn found_in(&mut self, parent: u64, name: &[u8], node: u64) -> Result<Found, Errno> {
        let (dir, ino) = (self.ino(parent), self.ino(node));
        self.found(dir, name, ino)
    }

    /// Changes attributes.
    ///
    /// # Errors
    /// EROFS, EISDIR, EINVAL, EFBIG, ENOSPC, EIO.
    pub fn setattr(&mut self, node: u64, change: &SetAttr) -> Result<Attributes, Errno> {
        self.enter_to_change()?;
        let ino = self.ino(node);
        let set = self.mount.by_inode().set(&mut self.clock, ino, change);
        self.changed(set)?;
        self.attributes(ino)
    }

    /// Reads the target of a symbolic link.
    ///
    /// # Errors
    /// EINVAL, EIO.
    pub fn readlink(&mut self, node: u64) -> Result<Vec<u8>, Errno> {
        self.enter();
        let ino = self.ino(node);
        let target = self.mount.by_inode().readlink(&mut self.clock, ino);
        let target = target.map_err(|error| errno(&error))?;
        // The kernel takes a target as a string that ends with NUL.
        if target.is_empty() || target.contains(&0) { Err(Errno::Io) } else { Ok(target) }
    }

    /// Creates an inode of any kind with a name.
    ///
    /// # Errors
    /// EROFS, EEXIST, ENOTDIR, EINVAL, ENAMETOOLONG, ENOSPC, EIO.
    pub fn create(&mut self, parent: u64, name: &[u8], new: &NewInode<'_>) -> Result<Found, Errno> {
        self.enter_to_change()?;
        let dir = self.ino(parent);
        let created = self.mount.by_inode().create(&mut self.clock, dir, name, new);
        let ino = self.changed(created)?;
        self.created += 1;
        self.generations.insert(ino, self.created);
        self.found(dir, name, ino)
    }

    /// Creates a hard link.
    ///
    /// # Errors
    /// EROFS, EPERM for a directory, EEXIST, ENOSPC, EIO.
    pub fn link(&mut self, node: u64, parent: u64, name: &[u8]) -> Result<Found, Errno> {
        self.enter_to_change()?;
        let (ino, dir) = (self.ino(node), self.ino(parent));
        let linked = self.mount.by_inode().link(&mut self.clock, ino, dir, name);
        self.changed(linked)?;
        self.found(dir, name, ino)
    }

    /// Removes a name of anything but a directory.
    ///
    /// # Errors
    /// EROFS, ENOENT, EISDIR, EIO.
    pub fn unlink(&mut self, parent: u64, name: &[u8]) -> Result<(), Errno> {
        self.enter_to_change()?;
        let dir = self.ino(parent);
        let removed = self.mount.by_inode().unlink(&mut self.clock, dir, name);
        self.changed(removed)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// EROFS, ENOENT, ENOTDIR, ENOTEMPTY, EIO.
    pub fn rmdir(&mut self, parent: u64, name: &[u8]) -> Result<(), Errno> {
        self.enter_to_change()?;
        let dir = self.ino(parent);
        let gone = self.mount.by_inode().lookup(&mut self.clock, dir, name);
        let removed = self.mount.by_inode().rmdir(&mut self.clock, dir, name);
        self.changed(removed)?;
        if let Ok(ino) = gone {
            self.reached.remove(&ino);
        }
        Ok(())
    }

    /// Renames, and replaces what has the new name.
    ///
    /// # Errors
    /// EROFS, ENOENT, EEXIST, EISDIR, ENOTDIR, ENOTEMPTY, EINVAL for a directory into itself, ENOSPC, EIO.
    pub fn rename(&mut self, rename: Rename<'_>) -> Result<(), Errno> {
        self.enter_to_change()?;
        let (from_dir, to_dir) = (self.ino(rename.from.0), self.ino(rename.to.0));
        let (clock, mount) = (&mut self.clock, &mut self.mount);
        if rename.keeps && mount.by_inode().lookup(clock, to_dir, rename.to.1).is_ok() {
            return Err(Errno::Exist);
        }
        let moved = mount.by_inode().lookup(clock, from_dir, rename.from.1);
        let moved = moved.map_err(|error| errno(&error))?;
        let from = Place::new(self.above(from_dir), from_dir, rename.from.1);
        let to = Place::new(self.above(to_dir), to_dir, rename.to.1);
        let renamed = self.mount.by_inode().rename(&mut self.clock, &from, &to);
        self.changed(renamed)?;
        if let Some(reached) = self.reached.get_mut(&moved) {
            *reached = Reached { parent: to_dir, name: rename.to.1.to_vec() };
        }
        Ok(())
    }

    /// Reads the value of an extended attribute.
    ///
    /// # Errors
    /// ENODATA, EOPNOTSUPP, ERANGE, EIO.
    pub fn getxattr(&mut self, node: u64, name: &[u8]) -> Result<Vec<u8>, Errno> {
        self.enter();
        let ino = self.ino(node);
        let value = self.mount.by_inode().getxattr(&mut self.clock, ino, name);
        value.map_err(|error| errno(&error))
    }

    /// Sets an extended attribute, or removes it when `value` is `None`. `exists` says whether there must be one
    /// before, if that matters.
    ///
    /// # Errors
    /// EROFS, ENODATA, EEXIST, EOPNOTSUPP, EPERM, ERANGE, E2BIG, ENOSPC, EIO.
    pub fn setxattr(
        &mut self,
        node: u64,
        name: &[u8],
        value: Option<&[u8]>,
        exists: Option<bool>,
    ) -> Result<(), Errno> {
        self.enter_to_change()?;
        let ino = self.ino(node);
        if let Some(expected) = exists {
            match (expected, self.getxattr(node, name)) {
                (true, Err(error)) => return Err(error),
                (false, Ok(_)) => return Err(Errno::Exist),
                _ => {}
            }
        }
        let set = self.mount.by_inode().setxattr(&mut self.clock, ino, name, value);
        self.changed(set)
    }

    /// Lists the names of all extended attributes.
    ///
    /// # Errors
    /// EIO.
    pub fn listxattr(&mut self, node: u64) -> Result<Vec<Vec<u8>>, Errno> {
        self.enter();
        let ino = self.ino(node);
        let names = self.mount.by_inode().listxattr(&mut self.clock, ino);
        let mut names = names.map_err(|error| errno(&error))?;
        // The kernel takes them as strings that end with NUL.
        names.retain(|name| !name.is_empty() && name.len() <= XATTR_NAME_MAX && !name.contains(&0));
        Ok(names)
    }
}
