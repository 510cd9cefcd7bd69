//! Requests on open files and directories.
//!
//! Layer: rank 9, part of [`Server`].

use super::{Found, Handle, Item, Server, errno, is_shown};
use boardlab_vfs::{Errno, FileSystem, NewInode, OpenFlags};

impl<F: FileSystem> Server<F> {
    fn keep(&mut self, handle: Handle) -> u64 {
        let number = self.next_handle;
        self.next_handle += 1;
        self.handles.insert(number, handle);
        number
    }

    /// Opens a file, to write to it or not. With `sync`, every write is durable before it is answered.
    ///
    /// # Errors
    /// EROFS, ESTALE, EIO.
    pub fn open(&mut self, node: u64, writes: bool, sync: bool) -> Result<u64, Errno> {
        self.enter();
        if writes && self.read_only {
            return Err(Errno::RoFs);
        }
        let (ino, flags) = (self.ino(node), OpenFlags { sync });
        let fd = self.mount.by_inode().open(&mut self.clock, ino, flags);
        let fd = fd.map_err(|error| errno(&error))?;
        Ok(self.keep(Handle::File(fd)))
    }

    /// Creates a file and opens it.
    ///
    /// # Errors
    /// As [`Server::create`] and [`Server::open`].
    pub fn create_open(
        &mut self,
        parent: u64,
        name: &[u8],
        new: &NewInode<'_>,
        sync: bool,
    ) -> Result<(Found, u64), Errno> {
        let found = self.create(parent, name, new)?;
        let handle = self.open(found.node, true, sync)?;
        Ok((found, handle))
    }

    fn fd(&self, handle: u64) -> Result<boardlab_vfs::Fd, Errno> {
        match self.handles.get(&handle) {
            Some(Handle::File(fd)) => Ok(*fd),
            _ => Err(Errno::BadF),
        }
    }

    /// Reads from `offset` on; fewer bytes only at the end of the file.
    ///
    /// # Errors
    /// EBADF, EIO.
    pub fn read(&mut self, handle: u64, offset: u64, size: usize) -> Result<Vec<u8>, Errno> {
        self.enter();
        let fd = self.fd(handle)?;
        let mut buffer = vec![0; size];
        let read = self.mount.read(&mut self.clock, fd, offset, &mut buffer);
        buffer.truncate(read.map_err(|error| errno(&error))?);
        Ok(buffer)
    }

    /// Writes from `offset` on, and returns how many bytes.
    ///
    /// # Errors
    /// EBADF, EROFS, EFBIG, ENOSPC, EIO.
    pub fn write(&mut self, handle: u64, offset: u64, data: &[u8]) -> Result<usize, Errno> {
        self.enter_to_change()?;
        let fd = self.fd(handle)?;
        let written = self.mount.write(&mut self.clock, fd, offset, data);
        let written = self.changed(written)?;
        if self.mount.is_sync(fd) {
            self.store.sync().map_err(|_| Errno::Io)?;
        }
        Ok(written)
    }

    /// Makes earlier writes to the file durable.
    ///
    /// # Errors
    /// EBADF, ENOSPC, EIO.
    pub fn fsync(&mut self, handle: u64) -> Result<(), Errno> {
        self.enter();
        let fd = self.fd(handle)?;
        if self.read_only {
            return Ok(());
        }
        let synced = self.mount.fsync(&mut self.clock, fd);
        self.changed(synced)?;
        self.store.sync().map_err(|_| Errno::Io)
    }

    /// Tells at a close of a file that its writes may be lost.
    ///
    /// # Errors
    /// EBADF, EIO.
    pub fn flush(&mut self, handle: u64) -> Result<(), Errno> {
        self.fd(handle)?;
        if self.read_only { Ok(()) } else { self.check_store() }
    }

    /// Closes a file or a directory.
    ///
    /// # Errors
    /// EBADF, ENOSPC, EIO.
    pub fn release(&mut self, handle: u64) -> Result<(), Errno> {
        self.enter();
        match self.handles.remove(&handle) {
            Some(Handle::File(fd)) => {
                self.mount.close(&mut self.clock, fd).map_err(|error| errno(&error))
            }
            Some(Handle::Directory(..)) => Ok(()),
            None => Err(Errno::BadF),
        }
    }

    /// Opens a directory.
    ///
    /// # Errors
    /// ENOTDIR, ESTALE, EIO.
    pub fn opendir(&mut self, node: u64) -> Result<u64, Errno> {
        let attributes = self.getattr(node)?;
        if !super::is_directory(&attributes) {
            return Err(Errno::NotDir);
        }
        let ino = self.ino(node);
        Ok(self.keep(Handle::Directory(ino, Vec::new())))
    }

    /// The entries of an open directory from number `from` on. They are read anew from number 0 on.
    ///
    /// # Errors
    /// EBADF, EIO.
    pub fn readdir(&mut self, handle: u64, from: usize) -> Result<&[Item], Errno> {
        self.enter();
        let Some(Handle::Directory(dir, _)) = self.handles.get(&handle) else {
            return Err(Errno::BadF);
        };
        let dir = *dir;
        if from == 0 {
            let items = self.items(dir)?;
            self.handles.insert(handle, Handle::Directory(dir, items));
        }
        match self.handles.get(&handle) {
            Some(Handle::Directory(_, items)) => Ok(items.get(from..).unwrap_or_default()),
            _ => Err(Errno::BadF),
        }
    }

    fn items(&mut self, dir: boardlab_vfs::Ino) -> Result<Vec<Item>, Errno> {
        let entries = self.mount.by_inode().readdir(&mut self.clock, dir);
        let mut entries = entries.map_err(|error| errno(&error))?;
        let all = entries.len();
        entries.retain(is_shown);
        let unreachable = self.mount.fs_mut().unreachable_entries(&mut self.clock, dir);
        let left_out = all - entries.len() + unreachable.map_or(0, |entries| entries.len());
        if left_out > 0 && self.left_out.insert(dir) {
            let path = self.path(dir);
            let path = String::from_utf8_lossy(&path);
            let names = if left_out == 1 { "name is" } else { "names are" };
            self.notes.push(format!("{left_out} {names} left out of {}", path.escape_debug()));
        }
        let item = |entry: boardlab_vfs::Entry| {
            let node = self.node(entry.ino);
            Item { name: entry.name, node, kind: entry.kind }
        };
        Ok(entries.into_iter().map(item).collect())
    }
}
