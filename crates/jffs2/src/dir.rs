//! Names: making inodes, linking, unlinking, renaming.
//!
//! Layer: rank 5. Methods of [`Jffs2`]. Nothing here is atomic as a whole; the order of the nodes makes every
//! beginning of it a sound filesystem:
//!
//! ```text
//!  create   inode node, then entry             an inode without a name goes at the next mount
//!  unlink   entry that removes the name        the inode's nodes are obsolete when nobody holds it open
//!  rename   new entry, then removing the old   a cut between them leaves both names
//! ```
//! On NOR without summaries a name is removed by making its entry obsolete in place, and nothing is written.
//!
//! Source: Linux 6.1, `fs/jffs2/dir.c`, `write.c` (`jffs2_do_create`, `jffs2_do_link`, `jffs2_do_unlink`),
//! `fs.c` (`jffs2_new_inode`). Left out: access control lists and security labels inherited from the
//! directory. Different on purpose: a renamed directory's cached parent is the new one at once, where the
//! kernel learns of it at the next mount; and the node of an inode for whose name there is no space is obsolete
//! at once, where the kernel keeps it until then.

use crate::Jffs2;
use crate::alloc::Priority;
use crate::block::NodeId;
use crate::error::Error;
use crate::format::dirent::NAME_MAX;
use crate::format::summary;
use crate::format::{ByteOrder, Dirent, Inode, inode, length_of};
use crate::index::{InodeCache, InodeState};
use crate::inode::{DirEntry, Metadata, OpenInode, device_number};
use crate::open::number;
use crate::write::{Mode, entry_size, node_with};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Ino, Kind, New};

/// The bit of a directory's mode that gives its group to what is made in it.
const SET_GID: u32 = 0o2_000;

/// A name to be given: in which directory, and to what.
#[derive(Clone, Copy)]
struct Naming<'a> {
    dir: u32,
    name: &'a [u8],
    ino: u32,
    kind: u8,
}

impl<M: Mtd> Jffs2<M> {
    /// Makes an inode and gives it a name.
    ///
    /// # Errors
    /// EEXIST, ENOTDIR, ENAMETOOLONG, ENOSPC, [`Error::Flash`].
    pub(crate) fn make(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &New<'_>,
    ) -> Result<u32, Error> {
        let dir = self.open_for_name(clock, dir, name)?;
        if new.target.len() > NAME_MAX {
            return Err(Errno::NameTooLong.into());
        }
        let data = data_of(new, self.volume.order);
        let length = inode::SIZE + length_of(&data);
        self.reserve(clock, length, Priority::Normal, Some(summary::INODE_SIZE))?;
        let (ino, mut node) = self.new_inode(clock, dir, new, &data)?;
        let given = self.finish_inode(clock, ino, &mut node, &data).and_then(|()| {
            let kind = new.kind.dirent_type();
            self.give_name(clock, Naming { dir, name, ino, kind })
        });
        if let Err(error) = given {
            self.let_go(clock, ino)?;
            return Err(error);
        }
        if new.kind == Kind::Directory {
            self.held_mut(dir)?.links += 1;
        }
        Ok(ino)
    }

    /// An inode that is open but not on the flash yet, and its node.
    fn new_inode(
        &mut self,
        clock: &Clock,
        dir: u32,
        new: &New<'_>,
        data: &[u8],
    ) -> Result<(u32, Inode), Error> {
        let parent = self.held(dir)?.metadata;
        let directory = new.kind == Kind::Directory;
        let inherits = parent.mode & SET_GID != 0;
        let now = self.seconds(clock);
        let size = if new.kind == Kind::Symlink { length_of(data) } else { 0 };
        let set_gid = if inherits && directory { SET_GID } else { 0 };
        let metadata = Metadata {
            mode: new.kind.mode_bits() | (new.mode & 0o7_777) | set_gid,
            uid: id16(new.uid),
            gid: if inherits { parent.gid } else { id16(new.gid) },
            size,
            atime: now,
            mtime: now,
            ctime: now,
            ..Metadata::default()
        };
        let ino = self.volume.inodes.highest().checked_add(1).ok_or(Errno::NoSpc)?;
        let slot = self.volume.inodes.slot_or_new(ino);
        let cache: &mut InodeCache = self.volume.inodes.get_mut(slot);
        cache.state = InodeState::Present;
        cache.links = if directory { dir } else { 1 };
        (cache.is_directory, cache.parent_known) = (directory, directory);
        let mut open = OpenInode::new(ino, slot, new.kind);
        (open.metadata, open.highest_version) = (metadata, 1);
        open.links = if directory { 2 } else { 1 };
        if new.kind == Kind::Symlink {
            open.target = new.target.into();
        }
        self.open.insert(ino, open);
        let node = node_with(ino, 1, &metadata);
        Ok((ino, Inode { csize: length_of(data), dsize: length_of(data), ..node }))
    }

    fn finish_inode(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        node: &mut Inode,
        data: &[u8],
    ) -> Result<(), Error> {
        let dnode = self.write_dnode(clock, node, data, Mode::Normal)?;
        self.held_mut(ino)?.metadata_node = Some(dnode);
        Ok(())
    }

    /// Forgets an inode that could not be made, or got no name.
    fn let_go(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let slot = self.held(ino)?.slot;
        self.volume.inodes.get_mut(slot).links = 0;
        self.close_inode(clock, ino)
    }

    /// Opens a directory in which a name is to be given that is not there yet.
    fn open_for_name(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<u32, Error> {
        match self.find_name(clock, dir, name) {
            Ok(_) => Err(Errno::Exist.into()),
            Err(Error::Refused(Errno::NoEnt)) => number(dir),
            Err(error) => Err(error),
        }
    }

    /// Writes an entry and files it (`jffs2_do_link`).
    fn give_name(&mut self, clock: &mut Clock, naming: Naming<'_>) -> Result<(), Error> {
        self.write_name(clock, naming, Priority::Normal)
    }

    fn write_name(
        &mut self,
        clock: &mut Clock,
        naming: Naming<'_>,
        priority: Priority,
    ) -> Result<(), Error> {
        let Naming { dir, name, ino, kind } = naming;
        let length = crate::format::dirent::SIZE + length_of(name);
        self.reserve(clock, length, priority, Some(entry_size(name)))?;
        let (now, version) = (self.seconds(clock), self.next_version(dir)?);
        let node = Dirent { parent: dir, version, ino, mctime: now, kind, name };
        let mode = if priority == Priority::Deletion { Mode::Deletion } else { Mode::Normal };
        let entry = self.write_dirent(clock, node, mode)?;
        self.file_entry(clock, dir, name, entry)?;
        self.touch(dir, now)
    }

    /// Puts an entry into an open directory; the one that had the name is obsolete
    /// (`jffs2_add_fd_to_list`).
    pub(crate) fn file_entry(
        &mut self,
        clock: &mut Clock,
        dir: u32,
        name: &[u8],
        entry: DirEntry,
    ) -> Result<(), Error> {
        let entries = &mut self.held_mut(dir)?.entries;
        let old: Option<NodeId> = match entries.get_mut(name) {
            Some(held) => std::mem::replace(held, entry).node,
            None => {
                entries.insert(name.into(), entry);
                None
            }
        };
        old.map_or(Ok(()), |old| self.volume.mark_obsolete(clock, old))
    }

    fn touch(&mut self, dir: u32, now: u32) -> Result<(), Error> {
        let metadata = &mut self.held_mut(dir)?.metadata;
        (metadata.mtime, metadata.ctime) = (now, now);
        Ok(())
    }

    /// Gives an inode another name.
    ///
    /// # Errors
    /// EPERM for a directory, EEXIST, ENOSPC, [`Error::Flash`].
    pub(crate) fn link_name(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        dir: Ino,
        name: &[u8],
    ) -> Result<(), Error> {
        let ino = number(ino)?;
        let kind = self.open_inode(clock, ino)?.kind;
        if kind == Kind::Directory {
            return Err(Errno::Perm.into());
        }
        let dir = self.open_for_name(clock, dir, name)?;
        self.give_name(clock, Naming { dir, name, ino, kind: kind.dirent_type() })?;
        self.count_link(ino, 1)
    }

    /// Changes the number of names of what is no directory.
    fn count_link(&mut self, ino: u32, by: i32) -> Result<(), Error> {
        let slot = self.held(ino)?.slot;
        let cache = self.volume.inodes.get_mut(slot);
        cache.links = cache.links.saturating_add_signed(by);
        let links = cache.links;
        self.held_mut(ino)?.links = links;
        Ok(())
    }

    /// Takes a name from a file, or removes an empty directory.
    ///
    /// # Errors
    /// ENOENT, EISDIR or ENOTDIR, ENOTEMPTY, ENOSPC, [`Error::Flash`].
    pub(crate) fn remove_name(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        directory: bool,
    ) -> Result<(), Error> {
        let ino = self.find_name(clock, dir, name)?;
        self.check_victim(clock, ino, directory)?;
        let dir = number(dir)?;
        self.take_name(clock, dir, name)?;
        self.lose_name(clock, ino)?;
        let now = self.seconds(clock);
        self.touch(dir, now)?;
        if directory {
            let parent = self.held_mut(dir)?;
            parent.links = parent.links.saturating_sub(1);
        }
        Ok(())
    }

    /// A name no longer is: says so on the flash (the first half of `jffs2_do_unlink`).
    fn take_name(&mut self, clock: &mut Clock, dir: u32, name: &[u8]) -> Result<(), Error> {
        if !self.volume.marks_obsolete() {
            let gone = Naming { dir, name, ino: 0, kind: 0 };
            return self.write_name(clock, gone, Priority::Deletion);
        }
        if self.volume.read_only {
            return Err(Errno::RoFs.into());
        }
        let Some(entry) = self.held_mut(dir)?.entries.get_mut(name) else { return Ok(()) };
        entry.ino = 0;
        let old = entry.node.take();
        old.map_or(Ok(()), |old| self.volume.mark_obsolete(clock, old))
    }

    /// An inode has one name less. Of a directory the remembered removed names go as well.
    fn lose_name(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let victim = self.held_mut(ino)?;
        if !victim.is_directory() {
            return self.count_link(ino, -1);
        }
        victim.links = 0;
        let slot = victim.slot;
        let entries = std::mem::take(&mut victim.entries);
        self.volume.inodes.get_mut(slot).links = 0;
        let nodes = entries.values().filter_map(|entry| entry.node);
        nodes.into_iter().try_for_each(|node| self.volume.mark_obsolete(clock, node))
    }

    /// Renames; what had the new name loses it.
    ///
    /// # Errors
    /// ENOENT, EISDIR, ENOTDIR, ENOTEMPTY, ENOSPC, [`Error::Flash`]. When the new name was given but the
    /// old one could not be removed, both are there.
    pub(crate) fn move_name(
        &mut self,
        clock: &mut Clock,
        from: (Ino, &[u8]),
        to: (Ino, &[u8]),
    ) -> Result<(), Error> {
        let ino = self.find_name(clock, from.0, from.1)?;
        let kind = self.open_inode(clock, ino)?.kind;
        let directory = kind == Kind::Directory;
        let new_dir = self.open_directory(clock, to.0)?.ino;
        let old_dir = number(from.0)?;
        let victim = match self.find_name(clock, to.0, to.1) {
            Ok(victim) if victim == ino => return Ok(()),
            Ok(victim) => Some(self.check_victim(clock, victim, directory)?),
            Err(Error::Refused(Errno::NoEnt)) => None,
            Err(error) => return Err(error),
        };
        let naming = Naming { dir: new_dir, name: to.1, ino, kind: kind.dirent_type() };
        self.give_name(clock, naming)?;
        if directory {
            self.held_mut(new_dir)?.links += u32::from(victim.is_none());
        }
        match victim {
            Some(victim) if directory => {
                let slot = self.held(victim)?.slot;
                self.held_mut(victim)?.links = 0;
                self.volume.inodes.get_mut(slot).links = 0;
            }
            Some(victim) => self.count_link(victim, -1)?,
            None => {}
        }
        self.leave_old_name(clock, (old_dir, from.1), new_dir, ino)
    }

    /// Whether `victim` may be removed as a directory, or as something else, or be replaced by such.
    fn check_victim(
        &mut self,
        clock: &mut Clock,
        victim: u32,
        directory: bool,
    ) -> Result<u32, Error> {
        let is_directory = self.open_inode(clock, victim)?.is_directory();
        let has_names = self.volume.sound_names(self.held(victim)?).next().is_some();
        match (is_directory, directory) {
            (true, false) => Err(Errno::IsDir.into()),
            (false, true) => Err(Errno::NotDir.into()),
            (true, true) if has_names => Err(Errno::NotEmpty.into()),
            _ => Ok(victim),
        }
    }

    /// The second half of a rename: the inode has its new name, and loses the old one.
    fn leave_old_name(
        &mut self,
        clock: &mut Clock,
        (old_dir, name): (u32, &[u8]),
        new_dir: u32,
        ino: u32,
    ) -> Result<(), Error> {
        let directory = self.held(ino)?.is_directory();
        if let Err(error) = self.take_name(clock, old_dir, name) {
            if directory {
                self.held_mut(ino)?.links += 1;
            } else {
                self.count_link(ino, 1)?;
            }
            return Err(error);
        }
        if directory {
            let old = self.held_mut(old_dir)?;
            old.links = old.links.saturating_sub(1);
            let slot = self.held(ino)?.slot;
            self.volume.inodes.get_mut(slot).links = new_dir;
        }
        let now = self.seconds(clock);
        self.touch(old_dir, now)?;
        self.touch(new_dir, now)
    }
}

/// What an inode's only node holds as data: where a link leads, or the number of a device.
pub(crate) fn data_of(new: &New<'_>, order: ByteOrder) -> Vec<u8> {
    match new.kind {
        Kind::Symlink => new.target.to_vec(),
        kind => device_data(kind, order),
    }
}

/// The number of a device as its node holds it; nothing for what is no device.
pub(crate) fn device_data(kind: Kind, order: ByteOrder) -> Vec<u8> {
    let (Kind::Character(device) | Kind::Block(device)) = kind else { return Vec::new() };
    match device_number(device) {
        (long, true) => order.bytes32(long).to_vec(),
        (short, false) => {
            let short = u16::try_from(short).expect("major and minor of a byte each");
            order.bytes16(short).to_vec()
        }
    }
}

/// An owner as JFFS2 keeps it: the lower 16 bits.
pub(crate) fn id16(id: u32) -> u16 {
    u16::try_from(id & 0xFFFF).expect("sixteen bits")
}
