//! The operations of a list as the oracle performs them: in the way of the module for Linux, without its caches
//! of pages and names.

use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Error, FileSystem, Ino, Kind, NewInode, SetAttr, Timestamp};
use boardlab_workload::tree::Operation;

/// Bytes of a page of the page cache: no write reaches the filesystem in larger pieces.
const PAGE: usize = 4_096;

/// Where a path leads.
struct Found {
    dir: Ino,
    name: Vec<u8>,
    ino: Option<Ino>,
}

/// Operations on a mounted filesystem.
pub(super) struct Glue<'a, F> {
    pub(super) fs: &'a mut F,
    pub(super) clock: &'a mut Clock,
}

impl<F: FileSystem> Glue<'_, F> {
    fn walk(&mut self, path: &[u8], follow: bool) -> Result<Found, Error> {
        let root = self.fs.root();
        let mut found = Found { dir: root, name: Vec::new(), ino: Some(root) };
        for part in path.split(|&byte| byte == b'/').filter(|part| *part != b".") {
            let dir = found.ino.ok_or(Errno::NoEnt)?;
            if self.kind(dir)? != Kind::Directory {
                return Err(Errno::NotDir.into());
            }
            let ino = match self.fs.lookup(self.clock, dir, part) {
                Err(error) if error.errno() == Some(Errno::NoEnt) => None,
                other => Some(other?),
            };
            found = Found { dir, name: part.to_vec(), ino };
        }
        match found.ino {
            Some(link) if follow && self.kind(link)? == Kind::Symlink => {
                let target = self.fs.readlink(self.clock, link)?;
                let above = path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
                self.walk(&[&path[..above], &target].concat(), true)
            }
            _ => Ok(found),
        }
    }

    fn kind(&mut self, ino: Ino) -> Result<Kind, Error> {
        Ok(self.fs.getattr(self.clock, ino)?.kind)
    }

    fn find(&mut self, path: &[u8], follow: bool) -> Result<Ino, Error> {
        self.walk(path, follow)?.ino.ok_or(Error::Refused(Errno::NoEnt))
    }

    /// The directory and the name of what is to be made.
    fn place(&mut self, path: &[u8]) -> Result<Found, Error> {
        let found = self.walk(path, false)?;
        if found.ino.is_some() { Err(Errno::Exist.into()) } else { Ok(found) }
    }

    fn create(&mut self, path: &[u8], new: &NewInode<'_>) -> Result<Ino, Error> {
        let Found { dir, name, .. } = self.place(path)?;
        self.fs.create(self.clock, dir, &name, new)
    }

    /// The inode of an object without names goes when nobody has it open.
    fn forget(&mut self, ino: Ino) -> Result<(), Error> {
        if self.fs.getattr(self.clock, ino)?.links == 0 {
            self.fs.evict_inode(self.clock, ino)?;
        }
        Ok(())
    }

    fn set(&mut self, ino: Ino, change: &SetAttr) -> Result<(), Error> {
        self.fs.setattr(self.clock, ino, change)
    }

    pub(super) fn perform(&mut self, operation: &Operation) -> Result<(), Error> {
        match operation {
            Operation::Mkdir { path, mode } => {
                self.create(path, &NewInode::of(Kind::Directory, *mode)).map(drop)
            }
            Operation::File { path, mode } => {
                let ino = self.create(path, &NewInode::of(Kind::File, *mode))?;
                self.fs.closed(self.clock, ino).map(drop)
            }
            Operation::Mknod { path, kind, mode } => {
                self.create(path, &NewInode::of(*kind, *mode)).map(drop)
            }
            Operation::Symlink { target, path } => {
                let new = NewInode { target, ..NewInode::of(Kind::Symlink, 0o777) };
                self.create(path, &new).map(drop)
            }
            Operation::Link { old, new } => {
                let ino = self.find(old, false)?;
                let Found { dir, name, .. } = self.place(new)?;
                self.fs.link(self.clock, ino, dir, &name)
            }
            Operation::Rename { old, new } => self.rename(old, new),
            Operation::Unlink { path } => self.remove(path, false),
            Operation::Rmdir { path } => self.remove(path, true),
            Operation::Sync => self.fs.sync(self.clock),
            Operation::Write { path, offset, size, data, chunk } => {
                let length = usize::try_from(*size).expect("a small file");
                let bytes = data.0.bytes(data.1, length);
                self.write(path, *offset, &bytes, usize::try_from(*chunk).expect("a small chunk"))
            }
            Operation::Read { path, offset, size, .. } => self.read(path, *offset, *size),
            _ => self.change(operation),
        }
    }

    fn change(&mut self, operation: &Operation) -> Result<(), Error> {
        match operation {
            Operation::Fsync { path } => {
                let ino = self.find(path, true)?;
                self.fs.fsync(self.clock, ino)
            }
            Operation::Truncate { path, size } => {
                let ino = self.find(path, true)?;
                self.set(ino, &SetAttr { size: Some(*size), ..SetAttr::default() })
            }
            Operation::Chmod { path, mode } => {
                let ino = self.find(path, true)?;
                self.set(ino, &SetAttr { mode: Some(*mode), ..SetAttr::default() })
            }
            Operation::Chown { path, uid, gid } => {
                let ino = self.find(path, false)?;
                self.set(ino, &SetAttr { uid: Some(*uid), gid: Some(*gid), ..SetAttr::default() })
            }
            Operation::Mtime { path, seconds } => {
                let ino = self.find(path, false)?;
                let time = Some(Timestamp::seconds(*seconds));
                self.set(ino, &SetAttr { accessed: time, modified: time, ..SetAttr::default() })
            }
            Operation::SetXattr { path, name, value } => {
                let ino = self.find(path, false)?;
                if !matches!(self.kind(ino)?, Kind::File | Kind::Directory) {
                    return Err(Errno::Perm.into());
                }
                self.fs.setxattr(self.clock, ino, name, Some(value))
            }
            Operation::RemoveXattr { path, name } => {
                let ino = self.find(path, false)?;
                self.fs.setxattr(self.clock, ino, name, None)
            }
            other => panic!("{other} is not for the oracle"),
        }
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Result<(), Error> {
        let from = self.walk(old, false)?;
        let ino = from.ino.ok_or(Errno::NoEnt)?;
        let to = self.walk(new, false)?;
        if to.ino == Some(ino) {
            return Ok(());
        }
        self.fs.rename(self.clock, from.dir, &from.name, to.dir, &to.name)?;
        to.ino.map_or(Ok(()), |replaced| self.forget(replaced))
    }

    fn remove(&mut self, path: &[u8], directory: bool) -> Result<(), Error> {
        let Found { dir, name, ino } = self.walk(path, false)?;
        let ino = ino.ok_or(Errno::NoEnt)?;
        match (self.kind(ino)? == Kind::Directory, directory) {
            (true, false) => return Err(Errno::IsDir.into()),
            (false, true) => return Err(Errno::NotDir.into()),
            (true, true) => self.fs.rmdir(self.clock, dir, &name)?,
            (false, false) => self.fs.unlink(self.clock, dir, &name)?,
        }
        self.forget(ino)
    }

    fn write(&mut self, path: &[u8], offset: u64, bytes: &[u8], chunk: usize) -> Result<(), Error> {
        let ino = self.find(path, true)?;
        if self.kind(ino)? == Kind::Directory {
            return Err(Errno::IsDir.into());
        }
        let mut at = usize::try_from(offset).expect("a small file");
        let mut done = Ok(());
        'call: for call in bytes.chunks(chunk) {
            let mut rest = call;
            while !rest.is_empty() {
                let within = at % PAGE;
                let (piece, later) = rest.split_at(rest.len().min(PAGE - within));
                let mut page = vec![0; PAGE];
                let range = within..within + piece.len();
                page[range.clone()].copy_from_slice(piece);
                let number = u64::try_from(at / PAGE).expect("a small file");
                done = self.fs.write_page(self.clock, ino, number, &page, range);
                if done.is_err() {
                    break 'call;
                }
                at += piece.len();
                rest = later;
            }
        }
        self.fs.closed(self.clock, ino)?;
        done
    }

    fn read(&mut self, path: &[u8], offset: u64, size: u64) -> Result<(), Error> {
        let ino = self.find(path, true)?;
        let attributes = self.fs.getattr(self.clock, ino)?;
        if attributes.kind != Kind::File {
            return Err(Errno::IsDir.into());
        }
        let page = u64::try_from(PAGE).expect("a page is small");
        let end = (offset + size).min(attributes.size);
        let mut buffer = vec![0; PAGE];
        for number in offset / page..end.div_ceil(page) {
            self.fs.read_page(self.clock, ino, number, &mut buffer)?;
        }
        self.fs.closed(self.clock, ino).map(drop)
    }
}
