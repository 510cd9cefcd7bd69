//! The operations by inode, for a caller that resolves paths itself, as the kernel does above FUSE.
//!
//! Layer: rank 2, part of [`Mount`]. Main type: [`ByInode`]. The operations are those of paths, which only
//! resolve more: the same caches, the same calls of the filesystem.

use super::names::{
    MKDIR_BITS, check_device, check_target, check_xattr_name, check_xattr_value, without_privileges,
};
use super::walk::{Place, check_name};
use super::{Fd, Mount, OpenFlags};
use crate::error::{Errno, Error};
use crate::filesystem::FileSystem;
use crate::node::{Attributes, Entry, Ino, Kind, NewInode, SetAttr, is_plain_name};
use boardlab_sim::Clock;

/// The operations of a [`Mount`] by inode. Those on open files and on the whole filesystem have no paths and
/// are those of [`Mount`].
///
/// ```
/// use boardlab_sim::Clock;
/// use boardlab_vfs::{Kind, MemoryFs, Mount, NewInode};
///
/// let (mut mount, mut clock) = (Mount::new(MemoryFs::new()), Clock::new());
/// let root = mount.by_inode().root();
/// let etc = mount.by_inode().create(&mut clock, root, b"etc", &NewInode::of(Kind::Directory, 0o755))?;
/// assert_eq!(mount.by_inode().lookup(&mut clock, root, b"etc")?, etc);
/// assert_eq!(mount.stat(&mut clock, "/etc")?.ino, etc);
/// # Ok::<(), boardlab_vfs::Error>(())
/// ```
#[derive(Debug)]
pub struct ByInode<'a, F> {
    mount: &'a mut Mount<F>,
}

impl<F: FileSystem> Mount<F> {
    /// The operations by inode.
    pub const fn by_inode(&mut self) -> ByInode<'_, F> {
        ByInode { mount: self }
    }
}

/// Refuses what is no name of an entry: an empty one, `.`, `..`, one with a slash or NUL, one that is too long.
fn check_entry(name: &[u8]) -> Result<(), Error> {
    if !is_plain_name(name) {
        return Err(Errno::Inval.into());
    }
    check_name(name)
}

impl<F: FileSystem> ByInode<'_, F> {
    /// The root directory.
    #[must_use]
    pub fn root(&self) -> Ino {
        self.mount.fs.root()
    }

    /// Looks up a name.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, EINVAL and ENAMETOOLONG for what is no name, and those of the filesystem.
    pub fn lookup(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<Ino, Error> {
        self.mount.enter(clock)?;
        check_entry(name)?;
        self.mount.lookup(clock, dir, name)
    }

    /// The attributes.
    ///
    /// # Errors
    /// ESTALE when there is no such inode, and those of the filesystem.
    pub fn stat(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        self.mount.enter(clock)?;
        self.mount.stat_inode(clock, ino)
    }

    /// Changes attributes: the size first. As [`Mount::chown`] does, a new owner takes set-user-ID away.
    ///
    /// # Errors
    /// As [`Mount::truncate`] and [`Mount::chmod`].
    pub fn set(&mut self, clock: &mut Clock, ino: Ino, change: &SetAttr) -> Result<(), Error> {
        self.mount.enter(clock)?;
        if let Some(size) = change.size {
            self.mount.resize(clock, ino, size)?;
        }
        let mut change = SetAttr { size: None, ..*change };
        change.mode = change.mode.map(|mode| mode & 0o7777);
        if change.mode.is_none() && (change.uid.is_some() || change.gid.is_some()) {
            let old = self.mount.inode(clock, ino)?.attributes;
            change.mode = Some(without_privileges(&old)).filter(|&mode| mode != old.mode);
        }
        if change == SetAttr::default() { Ok(()) } else { self.mount.change(clock, ino, &change) }
    }

    /// Creates an inode of any kind with a name.
    ///
    /// # Errors
    /// As [`Mount::create`], [`Mount::symlink`] and [`Mount::mknod`]; EINVAL for what is no name.
    pub fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<Ino, Error> {
        let mut new = new.clone();
        match new.kind {
            Kind::Symlink => check_target(new.target)?,
            Kind::Directory => new.mode &= MKDIR_BITS,
            kind => check_device(kind)?,
        }
        self.mount.enter(clock)?;
        self.check_place(clock, dir, name)?;
        self.mount.make_at(clock, dir, name, &new)
    }

    /// Creates a hard link.
    ///
    /// # Errors
    /// As [`Mount::link`]; EINVAL for what is no name.
    pub fn link(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        dir: Ino,
        name: &[u8],
    ) -> Result<(), Error> {
        self.mount.enter(clock)?;
        self.check_place(clock, dir, name)?;
        self.mount.link_at(clock, ino, dir, name)
    }

    /// Removes a name of anything but a directory.
    ///
    /// # Errors
    /// As [`Mount::unlink`]; EINVAL for what is no name.
    pub fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.mount.enter(clock)?;
        self.check_place(clock, dir, name)?;
        self.mount.unlink_at(clock, dir, name)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// As [`Mount::rmdir`]; EINVAL for what is no name.
    pub fn rmdir(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.mount.enter(clock)?;
        self.check_place(clock, dir, name)?;
        self.mount.rmdir_at(clock, dir, name)
    }

    /// Renames, and replaces what has the new name.
    ///
    /// # Errors
    /// As [`Mount::rename`]; EINVAL for what is no name.
    pub fn rename(
        &mut self,
        clock: &mut Clock,
        from: &Place<'_>,
        to: &Place<'_>,
    ) -> Result<(), Error> {
        self.mount.enter(clock)?;
        self.check_place(clock, from.dir(), from.name)?;
        self.check_place(clock, to.dir(), to.name)?;
        self.mount.rename_at(clock, from, to)
    }

    /// Reads all entries of a directory, in the filesystem's order. From an untrusted image they may have
    /// any name.
    ///
    /// # Errors
    /// As [`Mount::readdir`].
    pub fn readdir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
        self.mount.enter(clock)?;
        self.mount.readdir_of(clock, dir)
    }

    /// Reads the target of a symbolic link.
    ///
    /// # Errors
    /// As [`Mount::readlink`].
    pub fn readlink(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error> {
        self.mount.enter(clock)?;
        self.mount.readlink_of(clock, ino)
    }

    /// Opens a file.
    ///
    /// # Errors
    /// As [`ByInode::stat`].
    pub fn open(&mut self, clock: &mut Clock, ino: Ino, flags: OpenFlags) -> Result<Fd, Error> {
        self.mount.enter(clock)?;
        self.mount.open_inode(clock, ino, flags)
    }

    /// Reads the value of an extended attribute.
    ///
    /// # Errors
    /// As [`Mount::getxattr`].
    pub fn getxattr(&mut self, clock: &mut Clock, ino: Ino, name: &[u8]) -> Result<Vec<u8>, Error> {
        self.mount.enter(clock)?;
        check_xattr_name(name)?;
        self.mount.getxattr_of(clock, ino, name)
    }

    /// Sets an extended attribute, or removes it when `value` is `None`.
    ///
    /// # Errors
    /// As [`Mount::setxattr`] and [`Mount::removexattr`].
    pub fn setxattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        value.map_or(Ok(()), check_xattr_value)?;
        self.mount.enter(clock)?;
        check_xattr_name(name)?;
        self.mount.put_xattr_of(clock, ino, name, value)
    }

    /// Lists the names of all extended attributes.
    ///
    /// # Errors
    /// As [`Mount::listxattr`].
    pub fn listxattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<Vec<u8>>, Error> {
        self.mount.enter(clock)?;
        self.mount.ask(clock, |fs, clock| fs.listxattr(clock, ino))
    }

    /// Drops an inode and the names below it from the caches, unless it is open or dirty, or is the root.
    ///
    /// # Errors
    /// Those of the filesystem.
    pub fn forget(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        let mount = &mut *self.mount;
        let busy = |inode: &super::Inode| inode.opens > 0 || inode.lost.is_some();
        let Some(inode) = mount.inodes.get(&ino) else { return Ok(()) };
        if busy(inode) || ino == mount.fs.root() || mount.cache.is_dirty(ino) {
            return Ok(());
        }
        mount.names.remove(&ino);
        mount.inodes.remove(&ino);
        mount.ask(clock, |fs, clock| fs.evict_inode(clock, ino))
    }

    fn check_place(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        check_entry(name)?;
        self.mount.must_be_directory(clock, dir)
    }
}
