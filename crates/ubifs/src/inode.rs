//! An inode in memory: read from its node, written to it, dirty or clean.
//!
//! Layer: rank 5. Main type: [`Inode`]. UBIFS decides by itself when an inode becomes dirty, since it
//! must reserve flash before: one that is dirty holds a reservation, which its writing releases. The
//! cache above only hears of it ([`Volume::mark_inode_dirty`]).
//!
//! Source: Linux 6.1, `struct ubifs_inode`, and `struct inode` as far as UBIFS uses it;
//! `fs/ubifs/super.c` (`ubifs_iget`, `validate_inode`, `ubifs_write_inode`, `ubifs_evict_inode`),
//! `dir.c` (`ubifs_new_inode`), `journal.c` (`pack_inode`, `mark_inode_clean`).

use crate::compress::number;
use crate::error::Problem;
use crate::format::INUM_WATERMARK;
use crate::format::dirent::entry_type;
use crate::format::inode::{DATA_MAX, InodeNode, SIZE, flag};
use crate::format::key::Key;
use crate::options::Compressor;
use crate::tnc::Located;
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::{Device, Errno, Ino, Kind, Timestamp};

/// The size limit of a file: what 29 bits of block numbers reach (`key_max_inode_size`).
pub(crate) const SIZE_MAX: u64 = 1 << 41;
/// The limit of all names of an inode's attributes together (`XATTR_LIST_MAX`).
pub(crate) const XATTR_LIST_MAX: u64 = 65_536;
/// The file type bits of a mode (`S_IFMT`).
const TYPE_BITS: u32 = 0o170_000;
/// Bytes of a device number on flash.
const DEVICE_SIZE: usize = 4;

/// An inode in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Inode {
    /// Its number.
    pub ino: u32,
    /// The sequence number at its creation.
    pub creat_sqnum: u64,
    /// The number of the commit after which its last name was removed (`del_cmtno`).
    pub del_cmtno: u64,
    /// Kind and permissions, as `st_mode`.
    pub mode: u32,
    /// The number of names.
    pub nlink: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The size as programs see it (`i_size`).
    pub size: u64,
    /// The size that the inode will have on flash when it is written (`ui_size`).
    pub ui_size: u64,
    /// The size on flash (`synced_i_size`).
    pub synced_i_size: u64,
    /// The time of the last access.
    pub accessed: Timestamp,
    /// The time of the last change of the content.
    pub modified: Timestamp,
    /// The time of the last change of the inode.
    pub changed: Timestamp,
    /// Its flags (`UBIFS_*_FL`).
    pub flags: u32,
    /// The compressor of its content.
    pub compr_type: u16,
    /// The number of extended attributes.
    pub xattr_cnt: u32,
    /// Bytes that they take.
    pub xattr_size: u32,
    /// Bytes of their names.
    pub xattr_names: u32,
    /// Whether it holds the value of an extended attribute.
    pub xattr: bool,
    /// The inode whose attribute it holds, as far as that is known.
    pub host: Option<u32>,
    /// Whether it differs from the flash, so that space is budgeted for it.
    pub dirty: bool,
    /// Target of a link, device number, or value of an attribute.
    pub data: Vec<u8>,
    /// Whether bulk-read is on.
    pub bulk_read: bool,
    /// The last page read, for bulk-read.
    pub last_page_read: u64,
    /// Pages read in a row, for bulk-read.
    pub read_in_a_row: u64,
}

impl Inode {
    /// Whether it is a directory.
    pub(crate) const fn is_dir(&self) -> bool {
        self.mode & TYPE_BITS == Kind::Directory.mode_bits()
    }

    /// Whether it is a regular file.
    pub(crate) const fn is_file(&self) -> bool {
        self.mode & TYPE_BITS == Kind::File.mode_bits()
    }

    /// Whether its writes are synchronous (`IS_SYNC`).
    pub(crate) const fn is_sync(&self) -> bool {
        self.flags & flag::SYNC != 0
    }

    /// Whether changes of its entries are synchronous (`IS_DIRSYNC`).
    pub(crate) const fn is_dirsync(&self) -> bool {
        self.flags & (flag::SYNC | flag::DIRSYNC) != 0
    }

    /// Bytes of its data.
    pub(crate) fn data_len(&self) -> u32 {
        u32::try_from(self.data.len()).expect("at most 4,096 bytes")
    }

    /// Bytes of its data, padded to 8.
    pub(crate) fn data_budget(&self) -> u32 {
        self.data_len().next_multiple_of(8)
    }

    /// What it is; `None` for a mode of no known kind.
    pub(crate) fn kind(&self) -> Option<Kind> {
        Kind::of_mode(self.mode, decode_device(&self.data))
    }

    /// The kind of an entry that refers to it (`get_dent_type`).
    pub(crate) fn entry_type(&self) -> u8 {
        match self.kind() {
            Some(kind) => entry_type(kind),
            None => unreachable!("inode {} was validated", self.ino),
        }
    }

    /// Whether the fields fit each other (`validate_inode`, `ubifs_iget`).
    fn is_valid(&self) -> bool {
        let names = u64::from(self.xattr_names) + u64::from(self.xattr_cnt);
        let length = self.data.len();
        let fits = match self.kind() {
            None => false,
            Some(Kind::File) => self.xattr || length == 0,
            Some(Kind::Symlink) => length > 0,
            Some(Kind::Character(_) | Kind::Block(_)) => {
                length == DEVICE_SIZE || length == 2 * DEVICE_SIZE
            }
            Some(Kind::Directory | Kind::Fifo | Kind::Socket) => length == 0,
        };
        fits && self.size <= SIZE_MAX
            && self.compr_type < number::COUNT
            && names <= XATTR_LIST_MAX
            && length <= DATA_MAX
            && (!self.xattr || self.is_file())
    }
}

impl InodeNode {
    /// What it is; `None` for a mode of no known kind.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        Kind::of_mode(self.mode, decode_device(&self.data))
    }
}

/// The device number of 4 or 8 bytes (`new_decode_dev`, `huge_decode_dev`).
fn decode_device(data: &[u8]) -> Device {
    let Some(&bytes) = data.first_chunk::<DEVICE_SIZE>() else {
        return Device { major: 0, minor: 0 };
    };
    Device::decoded(u32::from_le_bytes(bytes))
}

/// A device number as Linux writes it (`ubifs_encode_dev`).
pub(crate) fn encode_device(device: Device) -> Vec<u8> {
    device.encoded().to_le_bytes().to_vec()
}

impl From<InodeNode> for Inode {
    fn from(node: InodeNode) -> Self {
        Self {
            ino: node.key.ino(),
            creat_sqnum: node.creat_sqnum,
            mode: node.mode,
            nlink: node.nlink,
            uid: node.uid,
            gid: node.gid,
            size: node.size,
            ui_size: node.size,
            synced_i_size: node.size,
            accessed: node.accessed,
            modified: node.modified,
            changed: node.changed,
            flags: node.flags,
            compr_type: node.compr_type,
            xattr_cnt: node.xattr_cnt,
            xattr_size: node.xattr_size,
            xattr_names: node.xattr_names,
            xattr: node.flags & flag::XATTR != 0,
            data: node.data,
            ..Self::default()
        }
    }
}

/// What a new inode is made of.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    /// Kind and permissions.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// Its data; they are its size, too.
    pub data: Vec<u8>,
}

impl<L: Lebs> Volume<L> {
    /// The inode, which must be in memory.
    pub(crate) fn inode(&self, ino: u32) -> &Inode {
        self.inodes.get(&ino).unwrap_or_else(|| panic!("inode {ino} is not in memory"))
    }

    /// As [`Volume::inode`].
    pub(crate) fn inode_mut(&mut self, ino: u32) -> &mut Inode {
        self.inodes.get_mut(&ino).unwrap_or_else(|| panic!("inode {ino} is not in memory"))
    }

    /// The inode from memory or from flash (`ubifs_iget`).
    ///
    /// # Errors
    /// ENOENT; a damaged node; any of the volume.
    pub(crate) fn iget(&mut self, clock: &mut Clock, ino: u32) -> Result<&mut Inode, Error> {
        if !self.inodes.contains_key(&ino) {
            let inode = self.read_inode(clock, ino).or_else(|error| {
                let lost = self.past.as_ref().and_then(|past| past.lost_directory(ino));
                lost.map(Inode::from).ok_or(error)
            })?;
            self.inodes.insert(ino, inode);
        }
        Ok(self.inode_mut(ino))
    }

    fn read_inode(&mut self, clock: &mut Clock, ino: u32) -> Result<Inode, Error> {
        let located = self.tnc_locate(clock, Key::inode(ino))?;
        let Located { node, leb, offs } = located.ok_or(Errno::NoEnt)?;
        let node = InodeNode::parse(&node).map_err(|cause| Error::Node { leb, offs, cause })?;
        let inode = Inode::from(node);
        if inode.is_valid() { Ok(inode) } else { Err(Error::at(leb, offs, Problem::Inode(ino))) }
    }

    /// The time that inodes are stamped with (`current_time`): in the granularity of the filesystem,
    /// which is a second unless the superblock says otherwise.
    pub(crate) fn current_time(&self, clock: &Clock) -> Timestamp {
        self.truncate_time(self.wall.at(clock.now()))
    }

    /// A time in the granularity of the filesystem (`timestamp_truncate`).
    pub(crate) fn truncate_time(&self, time: Timestamp) -> Timestamp {
        let granularity = self.sb.time_gran.max(1);
        Timestamp { nanos: time.nanos - time.nanos % granularity, ..time }
    }

    /// The compressor of new files.
    fn default_compressor(&self) -> u16 {
        match self.options.compressor {
            None => self.sb.default_compr,
            Some(Compressor::None) => number::NONE,
            Some(Compressor::Lzo) => number::LZO,
            Some(Compressor::Zlib) => number::ZLIB,
            Some(Compressor::Zstd) => number::ZSTD,
        }
    }

    /// A new inode in memory (`ubifs_new_inode`). `dir` is its directory, or the inode whose attribute
    /// it will hold.
    ///
    /// # Errors
    /// EINVAL when all numbers are used up.
    pub(crate) fn new_inode(
        &mut self,
        clock: &Clock,
        dir: u32,
        template: Template,
    ) -> Result<u32, Error> {
        let parent = self.inode(dir);
        let mut inode = Inode { mode: template.mode, nlink: 1, ..Inode::default() };
        if parent.is_dir() {
            inode.flags = parent.flags & (flag::COMPR | flag::SYNC | flag::DIRSYNC);
            if !inode.is_dir() {
                inode.flags &= !flag::DIRSYNC;
            }
        }
        let now = self.current_time(clock);
        (inode.accessed, inode.modified, inode.changed) = (now, now, now);
        (inode.uid, inode.gid, inode.data) = (template.uid, template.gid, template.data);
        inode.size = if inode.is_dir() {
            u64::try_from(SIZE).expect("160")
        } else {
            u64::from(inode.data_len())
        };
        inode.ui_size = inode.size;
        inode.compr_type = if inode.is_file() { self.default_compressor() } else { number::NONE };
        if self.highest_inum >= INUM_WATERMARK {
            return Err(Errno::Inval.into());
        }
        self.highest_inum += 1;
        inode.ino = self.highest_inum;
        if self.inodes.contains_key(&inode.ino) {
            // The master node is forged: the number is that of an inode that is there.
            let error = Error::of_inode(inode.ino);
            self.switch_to_read_only(&error);
            return Err(error);
        }
        inode.creat_sqnum = self.next_sqnum();
        let ino = inode.ino;
        self.inodes.insert(ino, inode);
        Ok(ino)
    }

    /// The node of an inode, without its header (`pack_inode`). The node of one without names has no
    /// data, and still says how many there were.
    pub(crate) fn pack_inode(&self, ino: u32) -> Vec<u8> {
        let inode = self.inode(ino);
        let node = InodeNode {
            key: Key::inode(ino),
            creat_sqnum: inode.creat_sqnum,
            size: inode.ui_size,
            accessed: inode.accessed,
            changed: inode.changed,
            modified: inode.modified,
            nlink: inode.nlink,
            uid: inode.uid,
            gid: inode.gid,
            mode: inode.mode,
            flags: inode.flags,
            xattr_cnt: inode.xattr_cnt,
            xattr_size: inode.xattr_size,
            xattr_names: inode.xattr_names,
            compr_type: inode.compr_type,
            data: inode.data.clone(),
        };
        let mut bytes = node.emit();
        if inode.nlink == 0 {
            bytes.truncate(SIZE);
        }
        bytes
    }

    /// Marks an inode as dirty, and lets the cache above know (`mark_inode_dirty`). Its space was
    /// budgeted before. Returns whether it was dirty already, so that there are two budgets now.
    pub(crate) fn mark_inode_dirty(&mut self, ino: u32) -> bool {
        self.dirtied.push(Ino(u64::from(ino)));
        std::mem::replace(&mut self.inode_mut(ino).dirty, true)
    }

    /// Marks an inode as clean and releases its budget (`mark_inode_clean`).
    pub(crate) fn mark_inode_clean(&mut self, ino: u32) {
        let inode = self.inode_mut(ino);
        if std::mem::take(&mut inode.dirty) {
            let length = inode.data_len();
            self.release_dirty_inode_budget(length);
        }
    }

    /// Notes that the size on flash is the one in memory.
    pub(crate) fn mark_size_synced(&mut self, ino: u32) {
        let inode = self.inode_mut(ino);
        inode.synced_i_size = inode.ui_size;
    }

    /// Writes an inode if it is dirty (`ubifs_write_inode`). One without names is not worth it.
    pub(crate) fn write_inode(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let Some(inode) = self.inodes.get(&ino).filter(|inode| inode.dirty) else { return Ok(()) };
        let written = if inode.nlink > 0 { self.jnl_write_inode(clock, ino) } else { Ok(()) };
        self.mark_inode_clean(ino);
        written
    }

    /// Drops an inode from memory; one without names is deleted (`ubifs_evict_inode`). As in Linux a
    /// failure of the deletion goes unheard: the orphan stays until the next mount.
    pub(crate) fn evict_inode(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let Some(inode) = self.inodes.get(&ino) else { return Ok(()) };
        let (nlink, hosts) = (inode.nlink, inode.xattr_cnt > 0);
        self.pages.forget(ino);
        if nlink > 0 {
            self.write_inode(clock, ino)?;
        } else if !self.mode.read_only {
            let inode = self.inode_mut(ino);
            (inode.size, inode.ui_size) = (0, 0);
            let deleted = self.jnl_delete_inode(clock, ino);
            deleted.or_else(Error::unless_power_cut)?;
            self.finish_deletion(ino);
        }
        if hosts {
            self.inodes.retain(|_, inode| inode.host != Some(ino) || inode.dirty);
        }
        self.inodes.remove(&ino);
        Ok(())
    }

    /// Something was deleted: its budget goes, or there may be space again.
    pub(crate) fn finish_deletion(&mut self, ino: u32) {
        if self.inode(ino).dirty {
            self.mark_inode_clean(ino);
        } else {
            self.bi.clear_no_space();
        }
    }
}

impl Error {
    /// Ignores an error, unless it is a power cut.
    pub(crate) fn unless_power_cut(self) -> Result<(), Self> {
        if self.errno().is_none() { Err(self) } else { Ok(()) }
    }
}
