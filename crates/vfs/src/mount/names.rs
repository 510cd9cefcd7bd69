//! The operations on names and attributes.
//!
//! Layer: rank 2, part of [`Mount`]. Source: Linux 6.1, `fs/namei.c` (`vfs_rename`, `lock_rename`,
//! `may_delete`, `do_mknodat`), `fs/xattr.c`. Owners, times and extended attributes are changed as
//! lchown, utimensat with AT_SYMLINK_NOFOLLOW and lsetxattr do, as tools that copy trees use them.

use super::Mount;
use super::walk::{self, FinalSymlink, PATH_MAX, Place};
use crate::error::{Errno, Error};
use crate::filesystem::FileSystem;
use crate::mount::{Fd, OpenFlags};
use crate::node::{Attributes, Entry, Ino, Kind, NewInode, SetAttr, Timestamp, XATTR_NAME_MAX};
use boardlab_sim::Clock;

/// The size limit of an extended attribute's value (`XATTR_SIZE_MAX`).
const XATTR_SIZE_MAX: usize = 65_536;

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;
const GROUP_EXECUTES: u32 = 0o010;

/// The permissions and the sticky bit: all that `vfs_mkdir` accepts.
pub(super) const MKDIR_BITS: u32 = 0o1777;

impl<F: FileSystem> Mount<F> {
    /// Creates a file and opens it (`O_CREAT | O_EXCL`).
    ///
    /// # Errors
    /// EEXIST, those of resolving the path, and those of the filesystem.
    pub fn create(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        mode: u32,
    ) -> Result<Fd, Error> {
        self.create_with(clock, path, mode, OpenFlags::default())
    }

    /// As [`Mount::create`], with flags.
    ///
    /// # Errors
    /// As [`Mount::create`].
    pub fn create_with(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        mode: u32,
        flags: OpenFlags,
    ) -> Result<Fd, Error> {
        let ino = self.make(clock, path.as_ref(), &NewInode::of(Kind::File, mode))?;
        self.open_inode(clock, ino, flags)
    }

    /// Creates a file without a name on the filesystem of the directory `dir`, and opens it
    /// (`O_TMPFILE`). [`Mount::link_open`] may name it; otherwise it is deleted when it is closed.
    ///
    /// # Errors
    /// ENOTDIR, EOPNOTSUPP, those of resolving the path, and those of the filesystem.
    pub fn tmpfile(
        &mut self,
        clock: &mut Clock,
        dir: impl AsRef<[u8]>,
        mode: u32,
    ) -> Result<Fd, Error> {
        self.enter(clock)?;
        let dir = self.resolve(clock, dir.as_ref(), FinalSymlink::Follow)?;
        let above = self.inode(clock, dir)?.attributes;
        if above.kind != Kind::Directory {
            return Err(Errno::NotDir.into());
        }
        let new = &inherited(&above, &NewInode::of(Kind::File, mode));
        let ino = self.ask(clock, |fs, clock| fs.tmpfile(clock, new))?;
        self.inode(clock, ino)?.linkable = true;
        self.open_inode(clock, ino, OpenFlags::default())
    }

    /// Creates a directory; of the bits above the nine permissions only the sticky bit is used.
    ///
    /// # Errors
    /// As [`Mount::create`].
    pub fn mkdir(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        mode: u32,
    ) -> Result<(), Error> {
        self.make(clock, path.as_ref(), &NewInode::of(Kind::Directory, mode & MKDIR_BITS))
            .map(|_| ())
    }

    /// Creates a symbolic link at `path` with the target `target`.
    ///
    /// # Errors
    /// ENOENT for an empty target, ENAMETOOLONG, and as [`Mount::create`].
    pub fn symlink(
        &mut self,
        clock: &mut Clock,
        target: impl AsRef<[u8]>,
        path: impl AsRef<[u8]>,
    ) -> Result<(), Error> {
        let target = target.as_ref();
        check_target(target)?;
        let new = NewInode { kind: Kind::Symlink, mode: 0o777, uid: 0, gid: 0, target };
        self.make(clock, path.as_ref(), &new).map(|_| ())
    }

    /// Creates a device node, a named pipe, a socket or an empty file.
    ///
    /// # Errors
    /// EPERM for a directory, EINVAL for a symbolic link and for a device whose number has more than 12
    /// bits of major or 20 of minor, and as [`Mount::create`].
    pub fn mknod(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        kind: Kind,
        mode: u32,
    ) -> Result<(), Error> {
        match kind {
            Kind::Directory => return Err(Errno::Perm.into()),
            Kind::Symlink => return Err(Errno::Inval.into()),
            _ => check_device(kind)?,
        }
        self.make(clock, path.as_ref(), &NewInode::of(kind, mode)).map(|_| ())
    }

    fn make(&mut self, clock: &mut Clock, path: &[u8], new: &NewInode<'_>) -> Result<Ino, Error> {
        self.enter(clock)?;
        let place = self.parent(clock, path, Errno::Exist)?;
        self.make_at(clock, place.dir(), place.name, new)
    }

    /// Creates an inode with a name.
    pub(super) fn make_at(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<Ino, Error> {
        self.must_be_free(clock, dir, name)?;
        let new = &inherited(&self.inode(clock, dir)?.attributes, new);
        let ino = self.ask(clock, |fs, clock| fs.create(clock, dir, name, new))?;
        self.invalidate_attributes(dir);
        self.names.entry(dir).or_default().insert(name.to_vec(), ino);
        self.inode(clock, ino)?;
        Ok(ino)
    }

    fn must_be_free(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        match self.lookup(clock, dir, name) {
            Ok(_) => Err(Errno::Exist.into()),
            Err(Error::Refused(Errno::NoEnt)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Creates a hard link. A symbolic link at the end of `existing` is not followed.
    ///
    /// # Errors
    /// EPERM for a directory, and as [`Mount::create`].
    pub fn link(
        &mut self,
        clock: &mut Clock,
        existing: impl AsRef<[u8]>,
        path: impl AsRef<[u8]>,
    ) -> Result<(), Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, existing.as_ref(), FinalSymlink::NoFollow)?;
        self.link_inode(clock, ino, path.as_ref())
    }

    /// Adds a hard link to an open file, also to one of [`Mount::tmpfile`] (`linkat` with
    /// `AT_EMPTY_PATH`).
    ///
    /// # Errors
    /// EBADF, ENOENT for a file whose names were all removed, and as [`Mount::link`].
    pub fn link_open(
        &mut self,
        clock: &mut Clock,
        fd: Fd,
        path: impl AsRef<[u8]>,
    ) -> Result<(), Error> {
        self.enter(clock)?;
        let ino = self.file(fd)?.ino;
        self.link_inode(clock, ino, path.as_ref())
    }

    fn link_inode(&mut self, clock: &mut Clock, ino: Ino, path: &[u8]) -> Result<(), Error> {
        let place = self.parent(clock, path, Errno::Exist)?;
        self.link_at(clock, ino, place.dir(), place.name)
    }

    /// Adds a name to an inode.
    pub(super) fn link_at(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        dir: Ino,
        name: &[u8],
    ) -> Result<(), Error> {
        self.must_be_free(clock, dir, name)?;
        let inode = self.inode(clock, ino)?;
        if inode.attributes.kind == Kind::Directory {
            return Err(Errno::Perm.into());
        }
        if inode.attributes.links == 0 && !inode.linkable {
            return Err(Errno::NoEnt.into());
        }
        self.ask(clock, |fs, clock| fs.link(clock, ino, dir, name))?;
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.linkable = false;
        }
        self.invalidate_attributes(dir);
        self.invalidate_attributes(ino);
        self.names.entry(dir).or_default().insert(name.to_vec(), ino);
        Ok(())
    }

    /// Removes a name. The inode is deleted with its last name and its last open file.
    ///
    /// # Errors
    /// ENOENT, EISDIR, those of resolving the path, and those of the filesystem.
    pub fn unlink(&mut self, clock: &mut Clock, path: impl AsRef<[u8]>) -> Result<(), Error> {
        self.enter(clock)?;
        let place = self.parent(clock, path.as_ref(), Errno::IsDir)?;
        self.unlink_at(clock, place.dir(), place.name)
    }

    /// Removes a name of anything but a directory.
    pub(super) fn unlink_at(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
    ) -> Result<(), Error> {
        let ino = self.lookup(clock, dir, name)?;
        if self.kind(clock, ino)? == Kind::Directory {
            return Err(Errno::IsDir.into());
        }
        self.ask(clock, |fs, clock| fs.unlink(clock, dir, name))?;
        self.removed(clock, (dir, name), ino)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ENOTEMPTY (for `..` always), EINVAL for `.`, EBUSY for the root, and those of
    /// the filesystem.
    pub fn rmdir(&mut self, clock: &mut Clock, path: impl AsRef<[u8]>) -> Result<(), Error> {
        self.enter(clock)?;
        let path = path.as_ref();
        let special = match walk::last_of(path).0 {
            b"." => Errno::Inval,
            b".." => Errno::NotEmpty,
            _ => Errno::Busy,
        };
        let place = self.parent(clock, path, special)?;
        self.rmdir_at(clock, place.dir(), place.name)
    }

    /// Removes an empty directory.
    pub(super) fn rmdir_at(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
    ) -> Result<(), Error> {
        let ino = self.lookup(clock, dir, name)?;
        if self.kind(clock, ino)? != Kind::Directory {
            return Err(Errno::NotDir.into());
        }
        self.ask(clock, |fs, clock| fs.rmdir(clock, dir, name))?;
        self.removed(clock, (dir, name), ino)
    }

    /// Updates the caches after a name was removed.
    fn removed(
        &mut self,
        clock: &mut Clock,
        (dir, name): (Ino, &[u8]),
        ino: Ino,
    ) -> Result<(), Error> {
        self.forget_name(dir, name);
        self.invalidate_attributes(ino);
        self.release(clock, ino)
    }

    fn forget_name(&mut self, dir: Ino, name: &[u8]) {
        if let Some(names) = self.names.get_mut(&dir) {
            names.remove(name);
        }
        self.invalidate_attributes(dir);
    }

    /// Renames, and replaces what has the new name.
    ///
    /// # Errors
    /// EINVAL when a directory would move into itself, ENOENT, EISDIR, ENOTDIR, ENOTEMPTY, EBUSY
    /// for the root, those of resolving the paths, and those of the filesystem.
    pub fn rename(
        &mut self,
        clock: &mut Clock,
        from: impl AsRef<[u8]>,
        to: impl AsRef<[u8]>,
    ) -> Result<(), Error> {
        self.enter(clock)?;
        let from = self.parent(clock, from.as_ref(), Errno::Busy)?;
        let to = self.parent(clock, to.as_ref(), Errno::Busy)?;
        self.rename_at(clock, &from, &to)
    }

    /// Renames one name to another.
    pub(super) fn rename_at(
        &mut self,
        clock: &mut Clock,
        from: &Place<'_>,
        to: &Place<'_>,
    ) -> Result<(), Error> {
        let source = self.lookup(clock, from.dir(), from.name)?;
        let target = match self.lookup(clock, to.dir(), to.name) {
            Ok(ino) => Some(ino),
            Err(Error::Refused(Errno::NoEnt)) => None,
            Err(error) => return Err(error),
        };
        if target == Some(source) {
            return Ok(());
        }
        self.check_rename(clock, source, from, target, to)?;
        self.ask(clock, |fs, clock| fs.rename(clock, from.dir(), from.name, to.dir(), to.name))?;
        self.forget_name(from.dir(), from.name);
        self.forget_name(to.dir(), to.name);
        self.names.entry(to.dir()).or_default().insert(to.name.to_vec(), source);
        self.invalidate_attributes(source);
        let Some(target) = target else { return Ok(()) };
        self.invalidate_attributes(target);
        self.release(clock, target)
    }

    /// A directory may neither move into itself nor replace one of its ancestors. Only a directory
    /// replaces a directory.
    fn check_rename(
        &mut self,
        clock: &mut Clock,
        source: Ino,
        from: &Place<'_>,
        target: Option<Ino>,
        to: &Place<'_>,
    ) -> Result<(), Error> {
        if to.is_within(source) {
            return Err(Errno::Inval.into());
        }
        let Some(target) = target else { return Ok(()) };
        if from.is_within(target) {
            return Err(Errno::NotEmpty.into());
        }
        let is_dir = |kind| kind == Kind::Directory;
        match (is_dir(self.kind(clock, source)?), is_dir(self.kind(clock, target)?)) {
            (false, true) => Err(Errno::IsDir.into()),
            (true, false) => Err(Errno::NotDir.into()),
            _ => Ok(()),
        }
    }

    /// Reads all entries of a directory, in the filesystem's order.
    ///
    /// # Errors
    /// ENOTDIR, those of resolving the path, and those of the filesystem.
    pub fn readdir(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
    ) -> Result<Vec<Entry>, Error> {
        self.enter(clock)?;
        let dir = self.resolve(clock, path.as_ref(), FinalSymlink::Follow)?;
        self.readdir_of(clock, dir)
    }

    /// Reads all entries of a directory.
    pub(super) fn readdir_of(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
        if self.kind(clock, dir)? != Kind::Directory {
            return Err(Errno::NotDir.into());
        }
        self.ask(clock, |fs, clock| fs.readdir(clock, dir))
    }

    /// Reads the target of a symbolic link.
    ///
    /// # Errors
    /// EINVAL for anything but a symbolic link, those of resolving the path, and those of the
    /// filesystem.
    pub fn readlink(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
    ) -> Result<Vec<u8>, Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, path.as_ref(), FinalSymlink::NoFollow)?;
        self.readlink_of(clock, ino)
    }

    /// Reads the target of a symbolic link.
    pub(super) fn readlink_of(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error> {
        if self.kind(clock, ino)? != Kind::Symlink {
            return Err(Errno::Inval.into());
        }
        self.ask(clock, |fs, clock| fs.readlink(clock, ino))
    }

    /// Changes the permission bits; symbolic links are followed.
    ///
    /// # Errors
    /// Those of resolving the path, and those of the filesystem.
    pub fn chmod(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        mode: u32,
    ) -> Result<(), Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, path.as_ref(), FinalSymlink::Follow)?;
        self.change(clock, ino, &SetAttr { mode: Some(mode & 0o7777), ..SetAttr::default() })
    }

    /// Changes owner and group; symbolic links are not followed. Anything but a directory loses
    /// set-user-ID, and set-group-ID if its group may execute it.
    ///
    /// # Errors
    /// Those of resolving the path, and those of the filesystem.
    pub fn chown(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        uid: u32,
        gid: u32,
    ) -> Result<(), Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, path.as_ref(), FinalSymlink::NoFollow)?;
        let old = self.inode(clock, ino)?.attributes;
        let mode = Some(without_privileges(&old)).filter(|&mode| mode != old.mode);
        let (uid, gid) = (Some(uid), Some(gid));
        self.change(clock, ino, &SetAttr { mode, uid, gid, ..SetAttr::default() })
    }

    /// Sets the access and modification times; symbolic links are not followed.
    ///
    /// # Errors
    /// Those of resolving the path, and those of the filesystem.
    pub fn utimes(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        accessed: Timestamp,
        modified: Timestamp,
    ) -> Result<(), Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, path.as_ref(), FinalSymlink::NoFollow)?;
        let (accessed, modified) = (Some(accessed), Some(modified));
        self.change(clock, ino, &SetAttr { accessed, modified, ..SetAttr::default() })
    }

    /// Changes anything but the size.
    pub(super) fn change(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        change: &SetAttr,
    ) -> Result<(), Error> {
        self.ask(clock, |fs, clock| fs.setattr(clock, ino, change))?;
        self.invalidate_attributes(ino);
        Ok(())
    }

    /// Reads the value of an extended attribute; symbolic links are not followed.
    ///
    /// # Errors
    /// ENODATA, ERANGE for a name that is empty or too long, those of resolving the path, and those
    /// of the filesystem.
    pub fn getxattr(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
    ) -> Result<Vec<u8>, Error> {
        self.enter(clock)?;
        let name = name.as_ref();
        check_xattr_name(name)?;
        let ino = self.resolve(clock, path.as_ref(), FinalSymlink::NoFollow)?;
        self.getxattr_of(clock, ino, name)
    }

    /// Reads the value of an extended attribute of an inode.
    pub(super) fn getxattr_of(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
    ) -> Result<Vec<u8>, Error> {
        self.check_user(clock, ino, name, Errno::NoData)?;
        self.ask(clock, |fs, clock| fs.getxattr(clock, ino, name))
    }

    /// Sets an extended attribute; symbolic links are not followed.
    ///
    /// # Errors
    /// EPERM for a `user.` attribute of anything but a file or a directory, E2BIG, ERANGE, those of
    /// resolving the path, and those of the filesystem.
    pub fn setxattr(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
        value: &[u8],
    ) -> Result<(), Error> {
        check_xattr_value(value)?;
        self.put_xattr(clock, path.as_ref(), name.as_ref(), Some(value))
    }

    /// Removes an extended attribute; symbolic links are not followed.
    ///
    /// # Errors
    /// ENODATA, EPERM, ERANGE, those of resolving the path, and those of the filesystem.
    pub fn removexattr(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
    ) -> Result<(), Error> {
        self.put_xattr(clock, path.as_ref(), name.as_ref(), None)
    }

    fn put_xattr(
        &mut self,
        clock: &mut Clock,
        path: &[u8],
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        self.enter(clock)?;
        check_xattr_name(name)?;
        let ino = self.resolve(clock, path, FinalSymlink::NoFollow)?;
        self.put_xattr_of(clock, ino, name, value)
    }

    /// Sets or removes an extended attribute of an inode.
    pub(super) fn put_xattr_of(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        self.check_user(clock, ino, name, Errno::Perm)?;
        self.ask(clock, |fs, clock| fs.setxattr(clock, ino, name, value))?;
        self.invalidate_attributes(ino);
        Ok(())
    }

    /// `user.` attributes are for files and directories (`xattr_permission`, `fs/xattr.c`).
    fn check_user(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        refusal: Errno,
    ) -> Result<(), Error> {
        let holds = matches!(self.kind(clock, ino)?, Kind::File | Kind::Directory);
        if holds || !name.starts_with(b"user.") { Ok(()) } else { Err(refusal.into()) }
    }

    /// Lists the names of all extended attributes; symbolic links are not followed.
    ///
    /// # Errors
    /// Those of resolving the path, and those of the filesystem.
    pub fn listxattr(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, path.as_ref(), FinalSymlink::NoFollow)?;
        self.ask(clock, |fs, clock| fs.listxattr(clock, ino))
    }
}

/// An inode created in a directory with set-group-ID inherits its group, and a directory the bit
/// too (`inode_init_owner`, `fs/inode.c`).
fn inherited<'a>(dir: &Attributes, new: &NewInode<'a>) -> NewInode<'a> {
    let mut new = new.clone();
    if dir.mode & SET_GROUP_ID != 0 {
        new.gid = dir.gid;
        new.mode |= if new.kind == Kind::Directory { SET_GROUP_ID } else { 0 };
    }
    new
}

/// The permission bits after a change of the owner (`chown_common`, `fs/open.c`).
pub(super) const fn without_privileges(old: &Attributes) -> u32 {
    if matches!(old.kind, Kind::Directory) {
        return old.mode;
    }
    let group = if old.mode & GROUP_EXECUTES != 0 { SET_GROUP_ID } else { 0 };
    old.mode & !(SET_USER_ID | group)
}

/// Refuses targets that no symbolic link can have.
pub(super) fn check_target(target: &[u8]) -> Result<(), Error> {
    match target.len() {
        0 => Err(Errno::NoEnt.into()),
        PATH_MAX.. => Err(Errno::NameTooLong.into()),
        _ => Ok(()),
    }
}

/// Refuses devices whose numbers Linux cannot represent.
pub(super) fn check_device(kind: Kind) -> Result<(), Error> {
    match kind {
        Kind::Character(device) | Kind::Block(device) if !device.is_valid() => {
            Err(Errno::Inval.into())
        }
        _ => Ok(()),
    }
}

pub(super) fn check_xattr_value(value: &[u8]) -> Result<(), Error> {
    if value.len() > XATTR_SIZE_MAX {
        return Err(Errno::TooBig.into());
    }
    Ok(())
}

pub(super) fn check_xattr_name(name: &[u8]) -> Result<(), Error> {
    if name.is_empty() || name.len() > XATTR_NAME_MAX {
        return Err(Errno::Range.into());
    }
    Ok(())
}
