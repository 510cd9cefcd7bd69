//! Opens inodes, and reads the attributes, names and content of open ones.
//!
//! Layer: rank 5. Names and attributes come from open inodes, content from their fragments; opening an
//! inode reads all of its nodes. Source: Linux 6.1, `fs/jffs2/dir.c`, `file.c`, `fs.c`.

use crate::Jffs2;
use crate::error::Error;
use crate::format::XattrPrefix;
use crate::format::dirent::NAME_MAX;
use crate::index::{InodeState, ROOT};
use crate::inode::{DirEntry, OpenInode};
use crate::mount::DIRECTORY;
use crate::volume::Volume;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, Entry, Errno, FileExtent, Ino, Kind, StatFs, Timestamp};
use std::ops::ControlFlow;

impl<M: Mtd> Jffs2<M> {
    /// Opens an inode by reading all of its nodes, unless it is open (`jffs2_iget`).
    ///
    /// # Errors
    /// ESTALE when the inode does not exist or has no name, [`Error::Inode`], [`Error::Flash`].
    pub(crate) fn open_inode(
        &mut self,
        clock: &mut Clock,
        ino: u32,
    ) -> Result<&mut OpenInode, Error> {
        if !self.open.contains_key(&ino) {
            let slot = match self.volume.inodes.slot(ino) {
                Some(slot) if self.volume.inodes.get(slot).links > 0 => slot,
                None if ino == ROOT => self.volume.inodes.slot_or_new(ROOT),
                _ => return Err(Errno::Stale.into()),
            };
            let inode = self.volume.read_inode(clock, slot, false);
            let state = if inode.is_ok() { InodeState::Present } else { InodeState::Checked };
            self.volume.inodes.get_mut(slot).state = state;
            self.open.insert(ino, inode?);
        }
        let inode = self.open.get_mut(&ino).expect("the inode was opened just now");
        inode.unused = false;
        Ok(inode)
    }

    /// Opens an inode for garbage collection. It stays open, as in the inode cache of Linux, until
    /// [`Jffs2::close_unused`].
    ///
    /// # Errors
    /// As [`Jffs2::open_inode`].
    pub(crate) fn open_to_collect(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let unused = self.open.get(&ino).is_none_or(|inode| inode.unused);
        self.open_inode(clock, ino)?.unused = unused;
        Ok(())
    }

    /// Closes the inodes that garbage collection opened and nobody has used since.
    pub(crate) fn close_unused(&mut self) {
        for inode in self.open.extract_if(.., |_, inode| inode.unused).map(|(_, inode)| inode) {
            self.volume.inodes.get_mut(inode.slot).state = InodeState::Checked;
        }
    }

    /// Opens an inode that must be a directory.
    pub(crate) fn open_directory(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
    ) -> Result<&mut OpenInode, Error> {
        let inode = self.open_inode(clock, number(ino)?)?;
        if inode.is_directory() { Ok(inode) } else { Err(Errno::NotDir.into()) }
    }

    /// Looks up a name in a directory.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ENAMETOOLONG, and those of opening the directory.
    pub(crate) fn do_lookup(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
    ) -> Result<u32, Error> {
        let directory = self.open_directory(clock, dir)?;
        if name.len() > NAME_MAX {
            return Err(Errno::NameTooLong.into());
        }
        let entry = *directory.entries.get(name).ok_or(Errno::NoEnt)?;
        let ino = directory.ino;
        if self.volume.is_sound(ino, name, &entry) {
            Ok(entry.ino)
        } else {
            Err(Errno::NoEnt.into())
        }
    }

    pub(crate) fn do_readdir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
        let ino = self.open_directory(clock, dir)?.ino;
        let directory = self.held(ino)?;
        Ok(self
            .volume
            .sound_names(directory)
            .map(|(name, entry)| Entry {
                name: name.to_vec(),
                ino: Ino(u64::from(entry.ino)),
                kind: entry.kind,
            })
            .collect())
    }

    /// The entries that [`Jffs2::do_readdir`] leaves out.
    pub(crate) fn do_unreachable_entries(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
    ) -> Result<Vec<(Entry, Option<&'static str>)>, Error> {
        let ino = self.open_directory(clock, dir)?.ino;
        let directory = self.held(ino)?;
        let odd = directory.names().filter(|(name, entry)| !self.volume.is_sound(ino, name, entry));
        Ok(odd
            .map(|(name, entry)| {
                let (number, kind) = (Ino(u64::from(entry.ino)), entry.kind);
                let why = self.volume.why_not_followed(ino, entry);
                (Entry { name: name.to_vec(), ino: number, kind }, why)
            })
            .collect())
    }

    pub(crate) fn do_getattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        let inode = self.open_inode(clock, number(ino)?)?;
        let metadata = &inode.metadata;
        let time = |seconds: u32| Timestamp::seconds(i64::from(seconds));
        let size = if matches!(inode.kind, Kind::File | Kind::Symlink) { metadata.size } else { 0 };
        Ok(Attributes {
            ino,
            kind: inode.kind,
            mode: metadata.mode & 0o7_777,
            links: inode.links,
            uid: u32::from(metadata.uid),
            gid: u32::from(metadata.gid),
            size: u64::from(size),
            accessed: time(metadata.atime),
            modified: time(metadata.mtime),
            changed: time(metadata.ctime),
        })
    }

    pub(crate) fn do_readlink(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error> {
        let inode = self.open_inode(clock, number(ino)?)?;
        if inode.kind == Kind::Symlink {
            return Ok(inode.target.to_vec());
        }
        Err(Errno::Inval.into())
    }

    pub(crate) fn do_read_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let ino = number(ino)?;
        self.open_inode(clock, ino)?;
        let inode = &self.open[&ino];
        match inode.kind {
            Kind::File => self.volume.read_page(clock, inode, page, buffer),
            Kind::Directory => Err(Errno::IsDir.into()),
            _ => Err(Errno::Inval.into()),
        }
    }

    pub(crate) fn do_read_extents(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        take: &mut dyn FnMut(FileExtent<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let ino = number(ino)?;
        self.open_inode(clock, ino)?;
        let inode = &self.open[&ino];
        match inode.kind {
            Kind::File => {
                self.volume.read_extents(clock, inode, take);
                Ok(())
            }
            Kind::Directory => Err(Errno::IsDir.into()),
            _ => Err(Errno::Inval.into()),
        }
    }

    pub(crate) fn do_getxattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let slot = self.open_inode(clock, number(ino)?)?.slot;
        let (prefix, rest) = XattrPrefix::split(name).ok_or(Errno::OpNotSupp)?;
        let found = self.volume.find_xattr(clock, slot, prefix, rest)?;
        let datum = found.and_then(|(_, datum)| self.volume.xattrs.datum(datum));
        let content = datum.and_then(|datum| datum.content.as_ref()).ok_or(Errno::NoData)?;
        if matches!(prefix, XattrPrefix::AclAccess | XattrPrefix::AclDefault) {
            let list = crate::acl::seen(&content.value, self.volume.order);
            return Ok(list.ok_or(Errno::Inval)?);
        }
        Ok(content.value.to_vec())
    }

    pub(crate) fn do_listxattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let slot = self.open_inode(clock, number(ino)?)?.slot;
        let all = self.volume.xattrs_of(clock, slot)?;
        let content = |&(_, datum): &(u32, u32)| {
            let content = self.volume.xattrs.datum(datum)?.content.as_ref()?;
            let prefix = content.prefix.text();
            let name = [prefix.as_bytes(), &content.name].concat();
            (!prefix.is_empty()).then_some(name)
        };
        Ok(all.iter().filter_map(content).collect())
    }

    /// The free space that `statfs` shows: free and dirty space without the reserves.
    pub(crate) fn do_statfs(&self) -> StatFs {
        let (volume, totals) = (&self.volume, self.volume.blocks.totals());
        let block = u64::from(volume.layout.block_size);
        let reserve = u64::from(volume.reserves.write) * block;
        let free = (totals.dirty + totals.free).saturating_sub(reserve);
        let page = 4_096;
        StatFs {
            block_size: page,
            blocks: volume.layout.size().get() / u64::from(page),
            free: free / u64::from(page),
            available: free / u64::from(page),
            name_max: 254,
        }
    }
}

impl<M> Volume<M> {
    /// Whether an entry of `directory` may be followed. An entry that would make a directory its own
    /// ancestor, or give it a second parent, is invalid; so is one whose name no path can contain. An
    /// invalid entry is treated as absent: its name is free, and its directory can be removed.
    pub(crate) fn is_sound(&self, directory: u32, name: &[u8], entry: &DirEntry) -> bool {
        entry.ino != 0 && is_name(name) && self.why_not_followed(directory, entry).is_none()
    }

    /// Why an entry of `directory` is not followed, regardless of its name.
    fn why_not_followed(&self, directory: u32, entry: &DirEntry) -> Option<&'static str> {
        if entry.ino == ROOT {
            return Some("it leads to the root");
        }
        let inode = self.inodes.find(entry.ino).filter(|inode| inode.links > 0);
        let Some(inode) = inode else { return Some("there is no such inode") };
        if inode.is_directory != (entry.kind == DIRECTORY) {
            return Some("its inode is a directory in one entry and none in another");
        }
        let elsewhere = inode.parent_known && inode.links != directory;
        elsewhere.then_some("its directory is in another one already")
    }

    /// The entries of a directory that may be followed.
    pub(crate) fn sound_names<'a>(
        &'a self,
        directory: &'a OpenInode,
    ) -> impl Iterator<Item = (&'a [u8], &'a DirEntry)> {
        let sound = |(name, entry): &(&[u8], &DirEntry)| self.is_sound(directory.ino, name, entry);
        directory.names().filter(sound)
    }
}

/// Whether a path can contain a name.
fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/')
}

/// The number of an inode on flash.
pub(crate) fn number(ino: Ino) -> Result<u32, Error> {
    u32::try_from(ino.0).map_err(|_| Errno::Stale.into())
}
