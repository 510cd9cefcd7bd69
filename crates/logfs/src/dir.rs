//! Directories: an entry in a block, found by the hash of its name.
//!
//! Layer: rank 5. An operation on names takes several writes, and a
//! commit may come between any two of them. The kernel therefore notes in the journal what is left to do, and
//! does it at the next mount; but it notes that when the inode of the directory is written, which is not
//! when the entry is. Here no commit comes between the writes of one operation, unless the mount is faithful.
//!
//! Source: Linux 3.12, `fs/logfs/dir.c`, and `logfs_handle_transaction` in `readwrite.c`.

use crate::Logfs;
use crate::error::Error;
use crate::format::dentry::{self, Dentry};
use crate::format::{BLOCK, BLOCK_SHIFT, BlockId};
use crate::transaction::{Pending, Transaction};
use crate::tree::Target;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{Entry, Errno, Ino, Kind, NewInode};

/// Objects that an operation on names adds at most: two inodes, two entries, and their ways.
const OBJECTS: u64 = 12;
/// The most names of an inode.
const LINKS_MAX: u32 = 1 << 30;

/// An entry and the block that it is in.
pub(crate) type Found = (Dentry, u64);

impl<M: Mtd> Logfs<M> {
    /// Notes in the next commit what a written inode stands for.
    pub(crate) const fn apply(&mut self, transaction: Transaction) {
        match transaction {
            Transaction::Victim(ino) => self.pending.victim = ino,
            Transaction::NoVictim => self.pending.victim = 0,
            Transaction::Rename { dir, pos, victim } => {
                self.pending = Pending { victim, rename_dir: dir, rename_pos: pos };
            }
            Transaction::Renamed => {
                (self.pending.rename_dir, self.pending.rename_pos) = (0, 0);
            }
        }
    }

    fn attach(&mut self, ino: u64, transaction: Transaction) {
        if self.options.faithful {
            self.aliases.attach(BlockId::of_inode(ino), transaction);
        }
    }

    /// Begins an operation on names that adds at most [`OBJECTS`] objects.
    fn begin(&mut self, clock: &mut Clock, adds: bool) -> Result<(), Error> {
        self.check_writable()?;
        self.delete_orphans(clock)?;
        self.collect(clock)?;
        if adds && !self.options.faithful {
            let room = self.check_objects(OBJECTS);
            if room.is_err() && !self.space.pages.is_empty() {
                return Err(Error::NeedsWriteBack { pages: 1 });
            }
            room?;
        }
        Ok(())
    }

    /// Between two writes of one operation the kernel may collect garbage, and commit.
    fn pause(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.options.faithful { self.collect(clock) } else { Ok(()) }
    }

    fn check_directory(&mut self, clock: &mut Clock, dir: u64) -> Result<(), Error> {
        if self.hold(clock, dir)?.is_directory() { Ok(()) } else { Err(Errno::NotDir.into()) }
    }

    fn entry_at(&mut self, clock: &mut Clock, dir: u64, pos: u64) -> Result<Option<Dentry>, Error> {
        let id = BlockId::data(dir, pos);
        let Some(at) = self.find(clock, id)? else { return Ok(None) };
        self.load(clock, id, at)?;
        let bytes = self.nodes.get(id).unwrap_or_default();
        Dentry::parse(bytes).map(Some).map_err(|cause| Error::Impossible { ino: dir, cause })
    }

    /// Whether a block lies behind the end of a directory.
    pub(crate) fn is_beyond(&self, dir: u64, pos: u64) -> Result<bool, Error> {
        Ok(pos >= self.inode(dir)?.disk.size.div_ceil(BLOCK as u64))
    }

    /// The entry of a name (`logfs_get_dd_page`). Names that are not ASCII lie elsewhere when a CPU with
    /// unsigned characters made them.
    pub(crate) fn find_entry(
        &mut self,
        clock: &mut Clock,
        dir: u64,
        name: &[u8],
    ) -> Result<Option<Found>, Error> {
        let hashes = [dentry::hash(name, true), dentry::hash(name, false)];
        let count = if hashes[0] == hashes[1] { 1 } else { 2 };
        for hash in &hashes[..count] {
            for round in 0..dentry::ROUNDS {
                let pos = dentry::position(*hash, round);
                if self.is_beyond(dir, pos)? {
                    break;
                }
                if let Some(entry) = self.entry_at(clock, dir, pos)?
                    && entry.name == name
                {
                    return Ok(Some((entry, pos)));
                }
            }
        }
        Ok(None)
    }

    fn find_or_refuse(&mut self, clock: &mut Clock, dir: u64, name: &[u8]) -> Result<Found, Error> {
        self.find_entry(clock, dir, name)?.ok_or_else(|| Errno::NoEnt.into())
    }

    pub(crate) fn do_lookup(
        &mut self,
        clock: &mut Clock,
        dir: u64,
        name: &[u8],
    ) -> Result<u64, Error> {
        self.check_directory(clock, dir)?;
        let (entry, _) = self.find_or_refuse(clock, dir, name)?;
        let ino = Self::number(Ino(entry.ino)).map_err(|_| Error::MissingInode(entry.ino))?;
        self.hold(clock, ino)?;
        self.trim();
        Ok(ino)
    }

    pub(crate) fn do_readdir(&mut self, clock: &mut Clock, dir: u64) -> Result<Vec<Entry>, Error> {
        self.check_directory(clock, dir)?;
        let mut entries = Vec::new();
        let mut pos = 0;
        while !self.is_beyond(dir, pos)? {
            if let Some(entry) = self.entry_at(clock, dir, pos)? {
                entries.push(Entry { name: entry.name, ino: Ino(entry.ino), kind: entry.kind });
                pos += 1;
            } else {
                let next = self.seek_data(clock, dir, pos)?;
                pos = next.max(pos + 1);
            }
            self.trim();
        }
        Ok(entries)
    }

    fn is_empty(&mut self, clock: &mut Clock, dir: u64) -> Result<bool, Error> {
        let pos = self.seek_data(clock, dir, 0)?;
        Ok(self.is_beyond(dir, pos)? || self.find(clock, BlockId::data(dir, pos))?.is_none())
    }

    /// The target of a link: a block, up to its first zero.
    pub(crate) fn target_of(&mut self, clock: &mut Clock, ino: u64) -> Result<Vec<u8>, Error> {
        let size = self.get(clock, ino)?.disk.size;
        let id = BlockId::data(ino, 0);
        if !self.nodes.contains(id) {
            match self.find(clock, id)? {
                Some(at) => self.load(clock, id, at)?,
                None => return Ok(Vec::new()),
            }
        }
        let bytes = self.nodes.get(id).unwrap_or_default();
        let limit = usize::try_from(size).unwrap_or(BLOCK).min(bytes.len());
        let target = &bytes[..limit];
        let end = target.iter().position(|&byte| byte == 0).unwrap_or(limit);
        Ok(target[..end].to_vec())
    }

    pub(crate) fn do_readlink(&mut self, clock: &mut Clock, ino: u64) -> Result<Vec<u8>, Error> {
        if !self.hold(clock, ino)?.is_symlink() {
            return Err(Errno::Inval.into());
        }
        self.target_of(clock, ino)
    }

    /// Writes an entry into a block that [`Logfs::free_position`] has found (`logfs_write_dir`).
    fn add_entry(
        &mut self,
        clock: &mut Clock,
        (dir, pos): (u64, u64),
        name: &[u8],
        ino: u64,
    ) -> Result<(), Error> {
        self.write_entry(clock, (dir, pos), name, ino)?;
        let disk = &mut self.inode_mut(dir)?.disk;
        disk.size = disk.size.max((pos + 1) << BLOCK_SHIFT);
        Ok(())
    }

    fn write_entry(
        &mut self,
        clock: &mut Clock,
        (dir, pos): (u64, u64),
        name: &[u8],
        ino: u64,
    ) -> Result<(), Error> {
        let entry = Dentry { ino, kind: self.inode(ino)?.dirent_type(), name: name.to_vec() };
        self.pause(clock)?;
        let id = BlockId::data(dir, pos);
        self.nodes.insert(id, entry.emit().into());
        let written = self.change(clock, Target { id, data: None }, true);
        if written.is_err() {
            self.nodes.remove(id);
        }
        written
    }

    fn remove_entry(&mut self, clock: &mut Clock, dir: u64, pos: u64) -> Result<(), Error> {
        self.pause(clock)?;
        let id = BlockId::data(dir, pos);
        self.change(clock, Target { id, data: None }, false)?;
        self.nodes.remove(id);
        Ok(())
    }

    fn write_inode_step(&mut self, clock: &mut Clock, ino: u64) -> Result<(), Error> {
        self.pause(clock)?;
        self.write_inode_block(clock, ino)
    }

    /// Sets the times of a directory that an operation changes.
    fn touch(&mut self, clock: &Clock, dir: u64) -> Result<(), Error> {
        let now = self.now(clock);
        let disk = &mut self.inode_mut(dir)?.disk;
        (disk.changed, disk.modified) = (now, now);
        Ok(())
    }

    fn touch_inode(&mut self, clock: &Clock, ino: u64) -> Result<(), Error> {
        let now = self.now(clock);
        self.inode_mut(ino)?.disk.changed = now;
        Ok(())
    }

    /// An operation that failed in the middle leaves tables that must not be committed.
    fn settle<T>(&mut self, done: Result<T, Error>) -> Result<T, Error> {
        match done {
            Err(error @ (Error::Refused(_) | Error::NeedsWriteBack { .. })) => Err(error),
            Err(error) => {
                self.failed = true;
                Err(error)
            }
            done => done,
        }
    }

    /// Creates an inode of any kind with a name.
    pub(crate) fn do_create(
        &mut self,
        clock: &mut Clock,
        dir: u64,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<u64, Error> {
        self.check_directory(clock, dir)?;
        if name.len() > dentry::NAME_MAX {
            return Err(Errno::NameTooLong.into());
        }
        if new.target.len() >= BLOCK {
            return Err(Errno::NameTooLong.into());
        }
        if self.find_entry(clock, dir, name)?.is_some() {
            return Err(Errno::Exist.into());
        }
        self.begin(clock, true)?;
        let pos = self.free_position(clock, dir, name)?;
        let ino = self.new_inode(clock, dir, new)?;
        let done = self.create_named(clock, (dir, pos), name, (ino, new));
        self.settle(done)?;
        self.trim();
        Ok(ino)
    }

    /// The first free block for the entry of a name. Refuses a name all of whose blocks are taken.
    fn free_position(&mut self, clock: &mut Clock, dir: u64, name: &[u8]) -> Result<u64, Error> {
        let hash = dentry::hash(name, true);
        for round in 0..dentry::ROUNDS {
            let pos = dentry::position(hash, round);
            if self.find(clock, BlockId::data(dir, pos))?.is_none() {
                return Ok(pos);
            }
        }
        Err(Errno::NoSpc.into())
    }

    fn create_named(
        &mut self,
        clock: &mut Clock,
        place: (u64, u64),
        name: &[u8],
        (ino, new): (u64, &NewInode<'_>),
    ) -> Result<(), Error> {
        self.attach(ino, Transaction::Victim(ino));
        if new.kind == Kind::Symlink {
            self.pause(clock)?;
            self.write_target(clock, ino, new.target)?;
        }
        self.give_name(clock, place, name, ino)
    }

    /// Writes an inode, which counts the name already, and then its entry.
    fn give_name(
        &mut self,
        clock: &mut Clock,
        (dir, pos): (u64, u64),
        name: &[u8],
        ino: u64,
    ) -> Result<(), Error> {
        self.write_inode_step(clock, ino)?;
        self.attach(dir, Transaction::NoVictim);
        self.add_entry(clock, (dir, pos), name, ino)?;
        self.touch(clock, dir)?;
        self.write_inode_step(clock, dir)
    }

    fn write_target(&mut self, clock: &mut Clock, ino: u64, target: &[u8]) -> Result<(), Error> {
        let id = BlockId::data(ino, 0);
        let mut bytes = target.to_vec();
        bytes.resize(BLOCK, 0);
        self.nodes.insert(id, bytes.into());
        let block = if self.options.faithful { BLOCK } else { target.len() };
        self.inode_mut(ino)?.disk.size = block as u64;
        self.change(clock, Target { id, data: None }, true)
    }

    pub(crate) fn do_link(
        &mut self,
        clock: &mut Clock,
        ino: u64,
        dir: u64,
        name: &[u8],
    ) -> Result<(), Error> {
        self.check_directory(clock, dir)?;
        let inode = self.hold(clock, ino)?;
        if inode.is_directory() {
            return Err(Errno::Perm.into());
        }
        if inode.disk.links >= LINKS_MAX {
            return Err(Errno::MLink.into());
        }
        if self.find_entry(clock, dir, name)?.is_some() {
            return Err(Errno::Exist.into());
        }
        self.begin(clock, true)?;
        let pos = self.free_position(clock, dir, name)?;
        let done = self.link_named(clock, (dir, pos), name, ino);
        self.settle(done)?;
        self.trim();
        Ok(())
    }

    fn link_named(
        &mut self,
        clock: &mut Clock,
        place: (u64, u64),
        name: &[u8],
        ino: u64,
    ) -> Result<(), Error> {
        self.touch_inode(clock, ino)?;
        self.inode_mut(ino)?.disk.links += 1;
        self.attach(ino, Transaction::Victim(ino));
        self.give_name(clock, place, name, ino)
    }

    /// Takes a name from an inode and writes it (`logfs_remove_inode`).
    pub(crate) fn unname(&mut self, clock: &mut Clock, ino: u64) -> Result<(), Error> {
        let disk = &mut self.inode_mut(ino)?.disk;
        disk.links = disk.links.saturating_sub(1);
        self.write_inode_step(clock, ino)
    }

    /// Removes a name (`logfs_unlink`, `logfs_rmdir`).
    pub(crate) fn do_unlink(
        &mut self,
        clock: &mut Clock,
        dir: u64,
        name: &[u8],
        directory: bool,
    ) -> Result<(), Error> {
        self.check_directory(clock, dir)?;
        let (entry, pos) = self.find_or_refuse(clock, dir, name)?;
        let inode = match self.hold(clock, entry.ino) {
            // A kernel cannot remove such a name.
            Err(Error::MissingInode(_)) if !directory => {
                self.begin(clock, false)?;
                let done = self.remove_dangling(clock, dir, pos);
                return self.settle(done);
            }
            inode => inode?,
        };
        match (inode.is_directory(), directory) {
            (true, false) => return Err(Errno::IsDir.into()),
            (false, true) => return Err(Errno::NotDir.into()),
            _ => {}
        }
        if directory && !self.is_empty(clock, entry.ino)? {
            return Err(Errno::NotEmpty.into());
        }
        self.begin(clock, false)?;
        let done = self.unlink_named(clock, dir, pos, entry.ino);
        self.settle(done)?;
        self.trim();
        Ok(())
    }

    fn remove_dangling(&mut self, clock: &mut Clock, dir: u64, pos: u64) -> Result<(), Error> {
        self.touch(clock, dir)?;
        self.remove_entry(clock, dir, pos)?;
        self.write_inode_step(clock, dir)
    }

    fn unlink_named(
        &mut self,
        clock: &mut Clock,
        dir: u64,
        pos: u64,
        ino: u64,
    ) -> Result<(), Error> {
        self.touch(clock, dir)?;
        self.touch_inode(clock, ino)?;
        self.attach(dir, Transaction::Victim(ino));
        self.remove_entry(clock, dir, pos)?;
        self.write_inode_step(clock, dir)?;
        self.attach(ino, Transaction::NoVictim);
        self.unname(clock, ino)
    }

    /// Renames (`logfs_rename_cross`, `logfs_rename_target`).
    pub(crate) fn do_rename(
        &mut self,
        clock: &mut Clock,
        (old_dir, old_name): (u64, &[u8]),
        (new_dir, new_name): (u64, &[u8]),
    ) -> Result<(), Error> {
        self.check_directory(clock, old_dir)?;
        self.check_directory(clock, new_dir)?;
        let (moved, pos) = self.find_or_refuse(clock, old_dir, old_name)?;
        let is_directory = self.hold(clock, moved.ino)?.is_directory();
        let target = self.find_entry(clock, new_dir, new_name)?;
        if let Some((entry, _)) = &target {
            if entry.ino == moved.ino {
                return Ok(());
            }
            match (is_directory, self.hold(clock, entry.ino)?.is_directory()) {
                (true, false) => return Err(Errno::NotDir.into()),
                (false, true) => return Err(Errno::IsDir.into()),
                (true, true) if !self.is_empty(clock, entry.ino)? => {
                    return Err(Errno::NotEmpty.into());
                }
                _ => {}
            }
        }
        self.begin(clock, true)?;
        let done = match target {
            Some(target) => self.rename_over(clock, (old_dir, pos), (new_dir, target), moved.ino),
            None => {
                let new_pos = self.free_position(clock, new_dir, new_name)?;
                let (old, new) = ((old_dir, pos), (new_dir, new_pos));
                self.rename_to(clock, old, (new, new_name), moved.ino)
            }
        };
        self.settle(done)?;
        self.trim();
        Ok(())
    }

    fn rename_to(
        &mut self,
        clock: &mut Clock,
        (old_dir, pos): (u64, u64),
        ((new_dir, new_pos), new_name): ((u64, u64), &[u8]),
        ino: u64,
    ) -> Result<(), Error> {
        self.attach(new_dir, Transaction::Rename { dir: old_dir, pos, victim: 0 });
        self.add_entry(clock, (new_dir, new_pos), new_name, ino)?;
        self.touch(clock, new_dir)?;
        self.write_inode_step(clock, new_dir)?;
        self.remove_old_entry(clock, old_dir, pos)
    }

    fn remove_old_entry(&mut self, clock: &mut Clock, old_dir: u64, pos: u64) -> Result<(), Error> {
        self.attach(old_dir, Transaction::Renamed);
        self.touch(clock, old_dir)?;
        self.remove_entry(clock, old_dir, pos)?;
        self.write_inode_step(clock, old_dir)
    }

    fn rename_over(
        &mut self,
        clock: &mut Clock,
        (old_dir, pos): (u64, u64),
        (new_dir, (target, target_pos)): (u64, Found),
        ino: u64,
    ) -> Result<(), Error> {
        let victim = target.ino;
        self.attach(new_dir, Transaction::Rename { dir: old_dir, pos, victim });
        self.write_entry(clock, (new_dir, target_pos), &target.name, ino)?;
        self.touch(clock, new_dir)?;
        self.write_inode_step(clock, new_dir)?;
        self.remove_old_entry(clock, old_dir, pos)?;
        self.attach(victim, Transaction::NoVictim);
        self.touch_inode(clock, victim)?;
        self.unname(clock, victim)
    }

    /// Finishes what a power cut has interrupted (`logfs_replay_journal`).
    pub(crate) fn finish_pending(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let Pending { victim, rename_dir, rename_pos } = self.pending;
        self.pending = Pending::default();
        let faithful = self.options.faithful;
        if victim > 0 {
            match self.get(clock, victim) {
                Ok(_) => {
                    self.unname(clock, victim)?;
                    if self.inode(victim)?.disk.links == 0 {
                        self.delete_inode(clock, victim)?;
                    }
                }
                Err(Error::MissingInode(_)) if !faithful => {}
                Err(error) => return Err(error),
            }
            self.findings.victim = Some(victim);
        }
        if rename_dir > 0 {
            self.get(clock, rename_dir)?;
            if self.is_beyond(rename_dir, rename_pos)? {
                let cause =
                    crate::format::Malformed::Field { name: "ds_rename_pos", value: rename_pos };
                return Err(Error::Impossible { ino: rename_dir, cause });
            }
            if self.find(clock, BlockId::data(rename_dir, rename_pos))?.is_some() {
                self.remove_entry(clock, rename_dir, rename_pos)?;
                self.write_inode_block(clock, rename_dir)?;
            }
            self.findings.renamed = Some((rename_dir, rename_pos));
        }
        Ok(())
    }
}
