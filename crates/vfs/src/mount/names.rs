//! The operations on names and attributes.
//!
//! Layer: rank 2, part of [`Mount`]. Source: Linux 6.1, `fs/namei.c` (`vfs_rename`, `lock_rename`,
//! `may_delete`, `do_mknodat`), `fs/xattr.c`. Owners, times and extended attributes are changed as
//! lchown, utimensat with AT_SYMLINK_NOFOLLOW and lsetxattr do, as tools that copy trees use them.

use super::Mount;
use super::walk::{self, Last, PATH_MAX, Parent};
use crate::error::{Errno, Error};
use crate::filesystem::FileSystem;
use crate::mount::Fd;
use crate::node::{Attributes, Change, Entry, Ino, Kind, New, Timestamp};
use boardlab_sim::Clock;

/// Bytes of the value of an extended attribute (`XATTR_SIZE_MAX`).
const XATTR_SIZE_MAX: usize = 65_536;

/// Bytes of the name of an extended attribute (`XATTR_NAME_MAX`).
const XATTR_NAME_MAX: usize = 255;

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;
const GROUP_EXECUTES: u32 = 0o010;

/// Permissions and the sticky bit, all that `vfs_mkdir` takes.
const MKDIR_BITS: u32 = 0o1777;

impl<F: FileSystem> Mount<F> {
    /// Makes a file, which must not be there yet, and opens it (`O_CREAT | O_EXCL`).
    ///
    /// # Errors
    /// EEXIST, those of resolving the path, and those of the filesystem.
    pub fn create(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        mode: u32,
    ) -> Result<Fd, Error> {
        let ino = self.make(clock, path.as_ref(), &New::of(Kind::File, mode))?;
        self.open_inode(clock, ino)
    }

    /// Makes a directory; of the bits above the nine permissions only the sticky one is taken.
    ///
    /// # Errors
    /// As [`Mount::create`].
    pub fn mkdir(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        mode: u32,
    ) -> Result<(), Error> {
        self.make(clock, path.as_ref(), &New::of(Kind::Directory, mode & MKDIR_BITS)).map(|_| ())
    }

    /// Makes a symbolic link at `path` that leads to `target`.
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
        match target.len() {
            0 => return Err(Errno::NoEnt.into()),
            PATH_MAX.. => return Err(Errno::NameTooLong.into()),
            _ => {}
        }
        let new = New { kind: Kind::Symlink, mode: 0o777, uid: 0, gid: 0, target };
        self.make(clock, path.as_ref(), &new).map(|_| ())
    }

    /// Makes a device, a pipe, a socket or an empty file.
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
            Kind::Directory => Err(Errno::Perm.into()),
            Kind::Symlink => Err(Errno::Inval.into()),
            Kind::Character(device) | Kind::Block(device) if !device.is_valid() => {
                Err(Errno::Inval.into())
            }
            _ => self.make(clock, path.as_ref(), &New::of(kind, mode)).map(|_| ()),
        }
    }

    fn make(&mut self, clock: &mut Clock, path: &[u8], new: &New<'_>) -> Result<Ino, Error> {
        self.enter(clock)?;
        let parent = self.parent(clock, path, Errno::Exist)?;
        self.must_be_free(clock, &parent)?;
        let (dir, name) = (parent.dir(), parent.name);
        let new = &inherited(&self.inode(clock, dir)?.attributes, new);
        let ino = self.fs.create(clock, dir, name, new)?;
        self.touch(dir);
        self.names.entry(dir).or_default().insert(name.to_vec(), ino);
        self.inode(clock, ino)?;
        Ok(ino)
    }

    fn must_be_free(&mut self, clock: &mut Clock, parent: &Parent<'_>) -> Result<(), Error> {
        match self.find(clock, parent.dir(), parent.name) {
            Ok(_) => Err(Errno::Exist.into()),
            Err(Error::Refused(Errno::NoEnt)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Gives a file a second name. A symbolic link at the end of `existing` is not followed.
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
        let ino = self.resolve(clock, existing.as_ref(), Last::Keep)?;
        let parent = self.parent(clock, path.as_ref(), Errno::Exist)?;
        self.must_be_free(clock, &parent)?;
        if self.kind(clock, ino)? == Kind::Directory {
            return Err(Errno::Perm.into());
        }
        let (dir, name) = (parent.dir(), parent.name);
        self.fs.link(clock, ino, dir, name)?;
        self.touch(dir);
        self.touch(ino);
        self.names.entry(dir).or_default().insert(name.to_vec(), ino);
        Ok(())
    }

    /// Takes a name away; what it led to goes with its last name and its last open file.
    ///
    /// # Errors
    /// ENOENT, EISDIR, those of resolving the path, and those of the filesystem.
    pub fn unlink(&mut self, clock: &mut Clock, path: impl AsRef<[u8]>) -> Result<(), Error> {
        self.enter(clock)?;
        let parent = self.parent(clock, path.as_ref(), Errno::IsDir)?;
        let ino = self.find(clock, parent.dir(), parent.name)?;
        if self.kind(clock, ino)? == Kind::Directory {
            return Err(Errno::IsDir.into());
        }
        self.fs.unlink(clock, parent.dir(), parent.name)?;
        self.removed(clock, &parent, ino)
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
        let parent = self.parent(clock, path, special)?;
        let ino = self.find(clock, parent.dir(), parent.name)?;
        if self.kind(clock, ino)? != Kind::Directory {
            return Err(Errno::NotDir.into());
        }
        self.fs.remove_dir(clock, parent.dir(), parent.name)?;
        self.removed(clock, &parent, ino)
    }

    /// Puts the caches in order after a name went.
    fn removed(&mut self, clock: &mut Clock, parent: &Parent<'_>, ino: Ino) -> Result<(), Error> {
        self.forget_name(parent);
        self.touch(ino);
        self.release(clock, ino)
    }

    fn forget_name(&mut self, parent: &Parent<'_>) {
        if let Some(names) = self.names.get_mut(&parent.dir()) {
            names.remove(parent.name);
        }
        self.touch(parent.dir());
    }

    /// Renames, and replaces what has the new name.
    ///
    /// # Errors
    /// EINVAL when a directory would come to lie within itself, ENOENT, EISDIR, ENOTDIR, ENOTEMPTY,
    /// EBUSY for the root, those of resolving the paths, and those of the filesystem.
    pub fn rename(
        &mut self,
        clock: &mut Clock,
        from: impl AsRef<[u8]>,
        to: impl AsRef<[u8]>,
    ) -> Result<(), Error> {
        self.enter(clock)?;
        let from = self.parent(clock, from.as_ref(), Errno::Busy)?;
        let to = self.parent(clock, to.as_ref(), Errno::Busy)?;
        let source = self.find(clock, from.dir(), from.name)?;
        let target = match self.find(clock, to.dir(), to.name) {
            Ok(ino) => Some(ino),
            Err(Error::Refused(Errno::NoEnt)) => None,
            Err(error) => return Err(error),
        };
        if target == Some(source) {
            return Ok(());
        }
        self.check_rename(clock, (source, &to), (target, &from))?;
        self.fs.rename(clock, (from.dir(), from.name), (to.dir(), to.name))?;
        self.forget_name(&from);
        self.forget_name(&to);
        self.names.entry(to.dir()).or_default().insert(to.name.to_vec(), source);
        self.touch(source);
        let Some(target) = target else { return Ok(()) };
        self.touch(target);
        self.release(clock, target)
    }

    /// A directory may not come to lie within itself, nor replace one that it lies in; a directory
    /// replaces a directory only, and nothing else does.
    fn check_rename(
        &mut self,
        clock: &mut Clock,
        (source, to): (Ino, &Parent<'_>),
        (target, from): (Option<Ino>, &Parent<'_>),
    ) -> Result<(), Error> {
        if to.trail.contains(&source) {
            return Err(Errno::Inval.into());
        }
        let Some(target) = target else { return Ok(()) };
        if from.trail.contains(&target) {
            return Err(Errno::NotEmpty.into());
        }
        let is_dir = |kind| kind == Kind::Directory;
        match (is_dir(self.kind(clock, source)?), is_dir(self.kind(clock, target)?)) {
            (false, true) => Err(Errno::IsDir.into()),
            (true, false) => Err(Errno::NotDir.into()),
            _ => Ok(()),
        }
    }

    /// All entries of a directory, in the filesystem's order.
    ///
    /// # Errors
    /// ENOTDIR, those of resolving the path, and those of the filesystem.
    pub fn read_dir(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
    ) -> Result<Vec<Entry>, Error> {
        self.enter(clock)?;
        let dir = self.resolve(clock, path.as_ref(), Last::Follow)?;
        if self.kind(clock, dir)? != Kind::Directory {
            return Err(Errno::NotDir.into());
        }
        self.fs.read_dir(clock, dir)
    }

    /// Where a symbolic link leads.
    ///
    /// # Errors
    /// EINVAL for what is none, those of resolving the path, and those of the filesystem.
    pub fn read_link(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
    ) -> Result<Vec<u8>, Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, path.as_ref(), Last::Keep)?;
        if self.kind(clock, ino)? != Kind::Symlink {
            return Err(Errno::Inval.into());
        }
        self.fs.read_link(clock, ino)
    }

    /// Changes the permission bits of what a path leads to, symbolic links followed.
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
        let ino = self.resolve(clock, path.as_ref(), Last::Follow)?;
        self.change(clock, ino, &Change { mode: Some(mode & 0o7777), ..Change::default() })
    }

    /// Changes owner and group, of a symbolic link itself; what is no directory loses set-user-ID,
    /// and set-group-ID if its group may execute it.
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
        let ino = self.resolve(clock, path.as_ref(), Last::Keep)?;
        let old = self.inode(clock, ino)?.attributes;
        let mode = Some(without_privileges(&old)).filter(|&mode| mode != old.mode);
        let (uid, gid) = (Some(uid), Some(gid));
        self.change(clock, ino, &Change { mode, uid, gid, ..Change::default() })
    }

    /// Sets the times of access and of the content's change, of a symbolic link itself.
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
        let ino = self.resolve(clock, path.as_ref(), Last::Keep)?;
        let (accessed, modified) = (Some(accessed), Some(modified));
        self.change(clock, ino, &Change { accessed, modified, ..Change::default() })
    }

    fn change(&mut self, clock: &mut Clock, ino: Ino, change: &Change) -> Result<(), Error> {
        self.fs.set_attributes(clock, ino, change)?;
        self.touch(ino);
        Ok(())
    }

    /// The value of an extended attribute, of a symbolic link itself.
    ///
    /// # Errors
    /// ENODATA, ERANGE for a name that is empty or too long, those of resolving the path, and those
    /// of the filesystem.
    pub fn xattr(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
    ) -> Result<Vec<u8>, Error> {
        self.enter(clock)?;
        let name = name.as_ref();
        check_xattr_name(name)?;
        let ino = self.resolve(clock, path.as_ref(), Last::Keep)?;
        self.check_user(clock, ino, name, Errno::NoData)?;
        self.fs.xattr(clock, ino, name)
    }

    /// Sets an extended attribute, of a symbolic link itself.
    ///
    /// # Errors
    /// EPERM for a `user.` attribute of what is neither a file nor a directory, E2BIG, ERANGE, those
    /// of resolving the path, and those of the filesystem.
    pub fn set_xattr(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
        value: &[u8],
    ) -> Result<(), Error> {
        if value.len() > XATTR_SIZE_MAX {
            return Err(Errno::TooBig.into());
        }
        self.put_xattr(clock, path.as_ref(), name.as_ref(), Some(value))
    }

    /// Removes an extended attribute, of a symbolic link itself.
    ///
    /// # Errors
    /// ENODATA, EPERM, ERANGE, those of resolving the path, and those of the filesystem.
    pub fn remove_xattr(
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
        let ino = self.resolve(clock, path, Last::Keep)?;
        self.check_user(clock, ino, name, Errno::Perm)?;
        self.fs.set_xattr(clock, ino, name, value)?;
        self.touch(ino);
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

    /// The names of all extended attributes, of a symbolic link itself.
    ///
    /// # Errors
    /// Those of resolving the path, and those of the filesystem.
    pub fn xattr_names(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, path.as_ref(), Last::Keep)?;
        self.fs.xattr_names(clock, ino)
    }
}

/// What is made in a directory with set-group-ID gets its group, and a directory the bit too
/// (`inode_init_owner`, `fs/inode.c`).
fn inherited<'a>(dir: &Attributes, new: &New<'a>) -> New<'a> {
    let mut new = new.clone();
    if dir.mode & SET_GROUP_ID != 0 {
        new.gid = dir.gid;
        new.mode |= if new.kind == Kind::Directory { SET_GROUP_ID } else { 0 };
    }
    new
}

/// The permission bits after a change of the owner (`chown_common`, `fs/open.c`).
const fn without_privileges(old: &Attributes) -> u32 {
    if matches!(old.kind, Kind::Directory) {
        return old.mode;
    }
    let group = if old.mode & GROUP_EXECUTES != 0 { SET_GROUP_ID } else { 0 };
    old.mode & !(SET_USER_ID | group)
}

fn check_xattr_name(name: &[u8]) -> Result<(), Error> {
    if name.is_empty() || name.len() > XATTR_NAME_MAX {
        return Err(Errno::Range.into());
    }
    Ok(())
}
