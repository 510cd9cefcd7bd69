//! Directory operations: create, link, unlink, rename.
//!
//! Layer: rank 5. Methods of [`Jffs2`]. No operation is atomic as a whole; the order of the nodes
//! makes every prefix of it a consistent filesystem:
//!
//! ```text
//!  create   inode node, then entry             an inode without a name goes at the next mount
//!  unlink   entry that removes the name        the inode's nodes are obsolete when nobody holds it open
//!  rename   new entry, then removing the old   a cut between them leaves both names
//! ```
//! On NOR without summaries a name is removed by marking its entry obsolete in place, and nothing
//! is written.
//!
//! Source: Linux 6.1, `fs/jffs2/dir.c`, `write.c` (`jffs2_do_create`, `jffs2_do_link`,
//! `jffs2_do_unlink`), `fs.c` (`jffs2_new_inode`). Left out: access control lists and security labels
//! inherited from the directory. Deliberate deviations: the cached parent of a renamed directory
//! changes at once, where the kernel updates it at the next mount; and the node of an inode without
//! space for its name is obsolete at once, where the kernel keeps it until the next mount.

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
use crate::write::{AllocMode, entry_size, node_with};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Ino, Kind, NewInode};

/// The set-group-ID bit of a directory, by which new inodes inherit its group.
const SET_GID: u32 = 0o2_000;

/// A directory entry to be written: its directory, name, and inode.
#[derive(Clone, Copy)]
struct NewDirent<'a> {
    dir: u32,
    name: &'a [u8],
    ino: u32,
    kind: u8,
}

impl<M: Mtd> Jffs2<M> {
    /// Creates an inode with a name (`jffs2_do_create`).
    ///
    /// # Errors
    /// EEXIST, ENOTDIR, ENAMETOOLONG, ENOSPC, [`Error::Flash`].
    pub(crate) fn do_create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<u32, Error> {
        let dir = self.lookup_free_name(clock, dir, name)?;
        if new.target.len() > NAME_MAX {
            return Err(Errno::NameTooLong.into());
        }
        let data = data_of(new, self.volume.order);
        let length = inode::SIZE + length_of(&data);
        self.reserve(clock, length, Priority::Normal, Some(summary::INODE_SIZE))?;
        let (ino, mut node) = self.new_inode(clock, dir, new, &data)?;
        let given = self.finish_inode(clock, ino, &mut node, &data).and_then(|()| {
            let kind = new.kind.dirent_type();
            self.add_dirent(clock, NewDirent { dir, name, ino, kind })
        });
        if let Err(error) = given {
            self.abandon_inode(clock, ino)?;
            return Err(error);
        }
        if new.kind == Kind::Directory {
            self.held_mut(dir)?.links += 1;
        }
        Ok(ino)
    }

    /// Opens a new inode that is not on the flash yet, and prepares its node.
    fn new_inode(
        &mut self,
        clock: &Clock,
        dir: u32,
        new: &NewInode<'_>,
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
        let dnode = self.write_dnode(clock, node, data, AllocMode::Normal)?;
        self.held_mut(ino)?.metadata_node = Some(dnode);
        Ok(())
    }

    /// Drops an inode that could not be created, or got no name.
    fn abandon_inode(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let slot = self.held(ino)?.slot;
        self.volume.inodes.get_mut(slot).links = 0;
        self.do_evict_inode(clock, ino)
    }

    /// Opens a directory and checks that it does not contain `name` yet.
    fn lookup_free_name(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<u32, Error> {
        match self.do_lookup(clock, dir, name) {
            Ok(_) => Err(Errno::Exist.into()),
            Err(Error::Refused(Errno::NoEnt)) => number(dir),
            Err(error) => Err(error),
        }
    }

    /// Writes an entry and adds it to the open directory (`jffs2_do_link`).
    fn add_dirent(&mut self, clock: &mut Clock, dirent: NewDirent<'_>) -> Result<(), Error> {
        self.write_new_dirent(clock, dirent, Priority::Normal)
    }

    fn write_new_dirent(
        &mut self,
        clock: &mut Clock,
        dirent: NewDirent<'_>,
        priority: Priority,
    ) -> Result<(), Error> {
        let NewDirent { dir, name, ino, kind } = dirent;
        let length = crate::format::dirent::SIZE + length_of(name);
        self.reserve(clock, length, priority, Some(entry_size(name)))?;
        let (now, version) = (self.seconds(clock), self.next_version(dir)?);
        let node = Dirent { parent: dir, version, ino, mctime: now, kind, name };
        let mode =
            if priority == Priority::Deletion { AllocMode::Deletion } else { AllocMode::Normal };
        let entry = self.write_dirent(clock, node, mode)?;
        self.add_to_directory(clock, dir, name, entry)?;
        self.update_times(dir, now)
    }

    /// Adds an entry to an open directory; the former entry of the name becomes obsolete
    /// (`jffs2_add_fd_to_list`).
    pub(crate) fn add_to_directory(
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

    fn update_times(&mut self, dir: u32, now: u32) -> Result<(), Error> {
        let metadata = &mut self.held_mut(dir)?.metadata;
        (metadata.mtime, metadata.ctime) = (now, now);
        Ok(())
    }

    /// Adds a hard link to an inode.
    ///
    /// # Errors
    /// EPERM for a directory, EEXIST, ENOSPC, [`Error::Flash`].
    pub(crate) fn do_link(
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
        let dir = self.lookup_free_name(clock, dir, name)?;
        self.add_dirent(clock, NewDirent { dir, name, ino, kind: kind.dirent_type() })?;
        self.adjust_links(ino, 1)
    }

    /// Adjusts the link count of anything but a directory.
    fn adjust_links(&mut self, ino: u32, by: i32) -> Result<(), Error> {
        let slot = self.held(ino)?.slot;
        let cache = self.volume.inodes.get_mut(slot);
        cache.links = cache.links.saturating_add_signed(by);
        let links = cache.links;
        self.held_mut(ino)?.links = links;
        Ok(())
    }

    /// Removes a name of a file, or an empty directory.
    ///
    /// # Errors
    /// ENOENT, EISDIR or ENOTDIR, ENOTEMPTY, ENOSPC, [`Error::Flash`].
    pub(crate) fn do_unlink(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        directory: bool,
    ) -> Result<(), Error> {
        let ino = self.do_lookup(clock, dir, name)?;
        self.check_victim(clock, ino, directory)?;
        let dir = number(dir)?;
        self.remove_dirent(clock, dir, name)?;
        self.drop_link(clock, ino)?;
        let now = self.seconds(clock);
        self.update_times(dir, now)?;
        if directory {
            let parent = self.held_mut(dir)?;
            parent.links = parent.links.saturating_sub(1);
        }
        Ok(())
    }

    /// Removes a name on the flash (the first half of `jffs2_do_unlink`).
    fn remove_dirent(&mut self, clock: &mut Clock, dir: u32, name: &[u8]) -> Result<(), Error> {
        if !self.volume.marks_obsolete() {
            let gone = NewDirent { dir, name, ino: 0, kind: 0 };
            return self.write_new_dirent(clock, gone, Priority::Deletion);
        }
        if self.volume.read_only {
            return Err(Errno::RoFs.into());
        }
        let Some(entry) = self.held_mut(dir)?.entries.get_mut(name) else { return Ok(()) };
        entry.ino = 0;
        let old = entry.node.take();
        old.map_or(Ok(()), |old| self.volume.mark_obsolete(clock, old))
    }

    /// Drops a link of an inode. The entries of a directory, all of removed names, become obsolete
    /// as well.
    fn drop_link(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let victim = self.held_mut(ino)?;
        if !victim.is_directory() {
            return self.adjust_links(ino, -1);
        }
        victim.links = 0;
        let slot = victim.slot;
        let entries = std::mem::take(&mut victim.entries);
        self.volume.inodes.get_mut(slot).links = 0;
        let nodes = entries.values().filter_map(|entry| entry.node);
        nodes.into_iter().try_for_each(|node| self.volume.mark_obsolete(clock, node))
    }

    /// Renames, and replaces what has the new name.
    ///
    /// # Errors
    /// ENOENT, EISDIR, ENOTDIR, ENOTEMPTY, ENOSPC, [`Error::Flash`]. When the new name was written
    /// but the old one could not be removed, both exist.
    pub(crate) fn do_rename(
        &mut self,
        clock: &mut Clock,
        old_dir: Ino,
        old_name: &[u8],
        new_dir: Ino,
        new_name: &[u8],
    ) -> Result<(), Error> {
        let ino = self.do_lookup(clock, old_dir, old_name)?;
        let kind = self.open_inode(clock, ino)?.kind;
        let directory = kind == Kind::Directory;
        let parent = self.open_directory(clock, new_dir)?.ino;
        let old_parent = number(old_dir)?;
        let victim = match self.do_lookup(clock, new_dir, new_name) {
            Ok(victim) if victim == ino => return Ok(()),
            Ok(victim) => Some(self.check_victim(clock, victim, directory)?),
            Err(Error::Refused(Errno::NoEnt)) => None,
            Err(error) => return Err(error),
        };
        let dirent = NewDirent { dir: parent, name: new_name, ino, kind: kind.dirent_type() };
        self.add_dirent(clock, dirent)?;
        if directory {
            self.held_mut(parent)?.links += u32::from(victim.is_none());
        }
        match victim {
            Some(victim) if directory => {
                let slot = self.held(victim)?.slot;
                self.held_mut(victim)?.links = 0;
                self.volume.inodes.get_mut(slot).links = 0;
            }
            Some(victim) => self.adjust_links(victim, -1)?,
            None => {}
        }
        self.unlink_old_name(clock, old_parent, old_name, parent, ino)
    }

    /// Checks whether `victim` may be removed, or replaced, as a directory or as something else.
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

    /// The second half of a rename: removes the old name.
    fn unlink_old_name(
        &mut self,
        clock: &mut Clock,
        old_dir: u32,
        name: &[u8],
        new_dir: u32,
        ino: u32,
    ) -> Result<(), Error> {
        let directory = self.held(ino)?.is_directory();
        if let Err(error) = self.remove_dirent(clock, old_dir, name) {
            if directory {
                self.held_mut(ino)?.links += 1;
            } else {
                self.adjust_links(ino, 1)?;
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
        self.update_times(old_dir, now)?;
        self.update_times(new_dir, now)
    }
}

/// The data of the only node of an inode: the target of a symbolic link, or a device number.
pub(crate) fn data_of(new: &NewInode<'_>, order: ByteOrder) -> Vec<u8> {
    match new.kind {
        Kind::Symlink => new.target.to_vec(),
        kind => device_data(kind, order),
    }
}

/// The encoded device number of a device node; empty for all other kinds.
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

/// A user or group ID in the format of JFFS2: the lower 16 bits.
pub(crate) fn id16(id: u32) -> u16 {
    u16::try_from(id & 0xFFFF).expect("sixteen bits")
}
