//! What is left on a mounted flash of inodes that are deleted, for tools that look for them.
//!
//! Layer: rank 5. Main types: [`Remains`], [`RemainingName`], [`RemainingInode`], [`RemainingBlock`]; main function:
//! [`Logfs::remains`]. A deletion erases nothing: the inode is written without a name, then shorter, and nothing leads to its
//! objects any more. They stay until their segment is erased to be written anew. One segment of a level is written after the
//! other, so that the global erase count of the segment and the offset in it are the age of an object:
//!
//! ```text
//!  level 0   /a -> 20   block 0 of 20   block 1 of 20   block 0 of 20 (newer)
//!  level 6   inode 20 with a name   inode 20 without, with all pointers   inode 20 without pointers
//! ```
//! Garbage collection moves what is valid, so a copy is never older than it looks. What was written after the last commit is
//! left out. Source: Linux 3.12, `logfs_remove_inode` of `fs/logfs/dir.c`, `logfs_evict_inode` of `readwrite.c`.

use crate::Logfs;
use crate::error::Error;
use crate::format::object::{self, ObjectHeader, ObjectKind};
use crate::format::segment::{self, SegmentKind};
use crate::format::{
    BLOCK, BlockId, Dentry, DiskInode, FILE_LEVELS, FIRST_INO, MASTER, ROOT, SegmentHeader, crc,
    dentry, inode,
};
use crate::inode::{PERMISSIONS, device_of, timestamp};
use crate::store::to_usize;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, Ino, Kind};
use std::collections::BTreeMap;

/// Names, inodes, and blocks, that are kept: a flash of 1 GiB that holds nothing else has no more.
const MOST: usize = 16 << 20;

/// What is left of deleted inodes, and all names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remains {
    /// Every directory entry, also removed ones, in the order of the flash.
    pub names: Vec<RemainingName>,
    /// The deleted inodes, each time they were written, in the order of the flash.
    pub inodes: Vec<RemainingInode>,
    /// Their blocks, in the order of the flash.
    pub blocks: Vec<RemainingBlock>,
    /// Whether there is more than is kept.
    pub is_cut: bool,
}

/// A directory entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemainingName {
    /// Its age among all entries and blocks of data.
    pub version: u64,
    /// The directory.
    pub parent: u64,
    /// The inode.
    pub ino: u64,
    /// The type byte of the inode (`DT_*`).
    pub kind: u8,
    /// Whether it is in the directory now.
    pub is_current: bool,
    /// The name.
    pub name: Vec<u8>,
}

/// An inode as it was written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemainingInode {
    /// Its age among all inodes.
    pub version: u64,
    /// The inode.
    pub ino: u64,
    /// Its fields.
    pub disk: DiskInode,
}

impl RemainingInode {
    /// Its attributes, with the size that it says; `None` for a type that Linux does not know.
    #[must_use]
    pub fn attributes(&self) -> Option<Attributes> {
        let disk = &self.disk;
        let kind = Kind::of_mode(disk.mode.into(), device_of(disk.pointers[0]))?;
        Some(Attributes {
            ino: Ino(self.ino),
            kind,
            mode: u32::from(disk.mode & PERMISSIONS),
            links: disk.links,
            uid: disk.uid,
            gid: disk.gid,
            size: disk.size,
            accessed: timestamp(disk.accessed),
            modified: timestamp(disk.modified),
            changed: timestamp(disk.changed),
        })
    }
}

/// A block of data, or of pointers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemainingBlock {
    /// Its age among all objects of its level.
    pub version: u64,
    /// Its offset on the flash.
    pub at: u64,
    /// Which block of which inode it is.
    pub id: BlockId,
    /// Bytes on the flash, with its header.
    pub stored: u32,
    /// Whether the checksum of its content is right.
    pub is_good: bool,
}

/// What was found so far.
#[derive(Debug, Default)]
struct Search {
    found: Remains,
    /// Whether inodes have a name.
    named: BTreeMap<u64, bool>,
}

impl<M: Mtd> Logfs<M> {
    /// Reads all segments for what is left of deleted inodes. Nothing is changed.
    ///
    /// # Errors
    /// Those of the flash, except for bit errors.
    pub fn remains(&mut self, clock: &mut Clock) -> Result<Remains, Error> {
        let mut search = Search::default();
        for segment in 0..self.layout.segments {
            let mut bytes = vec![0; to_usize(self.end_of(segment))];
            self.read_bytes(clock, self.layout.at(segment, 0), &mut bytes)?;
            let header = SegmentHeader::parse(&bytes);
            // One that was begun after the last commit has nothing of it.
            let is_store = |one: &SegmentHeader| {
                let is_committed = one.gec <= self.collector.gec;
                one.kind == SegmentKind::Objects && one.segment == segment && is_committed
            };
            if let Some(header) = header.ok().filter(is_store) {
                self.search_segment(clock, &mut search, &header, &bytes);
                self.trim();
            }
        }
        Ok(search.found)
    }

    /// Whether an inode has a name. One that cannot be read counts as named.
    pub fn is_named(&mut self, clock: &mut Clock, ino: u64) -> bool {
        match self.get(clock, ino) {
            Ok(inode) => inode.disk.links > 0,
            Err(Error::MissingInode(_)) => false,
            Err(_) => true,
        }
    }

    /// The content of a block that [`Logfs::remains`] has found.
    ///
    /// # Errors
    /// [`Error::Damaged`], those of the flash.
    pub fn read_remaining(
        &mut self,
        clock: &mut Clock,
        block: &RemainingBlock,
    ) -> Result<Vec<u8>, Error> {
        let mut content = vec![0; BLOCK];
        self.read_object(clock, block.id, block.at, &mut content)?;
        Ok(content)
    }

    /// Where a segment ends: one that is being written ends where the last commit says.
    fn end_of(&self, segment: u32) -> u32 {
        let mut open = self.areas.iter().filter(|area| area.open && area.segment == segment);
        open.next().map_or(self.layout.segment_size, |area| area.used)
    }

    fn search_segment(
        &mut self,
        clock: &mut Clock,
        search: &mut Search,
        segment: &SegmentHeader,
        bytes: &[u8],
    ) {
        let age = segment.gec.min(u32::MAX.into()) << 32;
        let mut within = segment::HEADER;
        while let Some(rest) = bytes.get(within..).filter(|rest| rest.len() >= object::HEADER) {
            let header = ObjectHeader::parse(rest);
            let end = |header: &ObjectHeader| to_usize(header.stored());
            // Behind damage the next object begins at any byte.
            let Some(header) = header.ok().filter(|header| end(header) <= rest.len()) else {
                within += 1;
                continue;
            };
            let offset = u32::try_from(within).expect("a segment has fewer bytes");
            let place = (age | u64::from(offset), self.layout.at(segment.segment, offset));
            let stored = &rest[object::HEADER..end(&header)];
            self.take_object(clock, search, (segment.level, &header, stored), place);
            within += end(&header);
        }
    }

    /// Takes an object of a segment of a level, with its age and its offset.
    fn take_object(
        &mut self,
        clock: &mut Clock,
        search: &mut Search,
        (level, header, stored): (u8, &ObjectHeader, &[u8]),
        (version, at): (u64, u64),
    ) {
        let ObjectHeader { ino, bix, .. } = *header;
        match (header.kind, level) {
            (ObjectKind::Inode, FILE_LEVELS) if ino == MASTER => {
                let mut bytes = [0; inode::SIZE];
                let read = self.read_object(clock, BlockId::of_inode(bix), at, &mut bytes);
                let disk = read.ok().and_then(|()| DiskInode::parse(&bytes).ok());
                if let Some(disk) = disk.filter(|_| self.is_gone(clock, search, bix)) {
                    let inode = RemainingInode { version, ino: bix, disk };
                    search.found.keep(|found| &mut found.inodes, inode);
                }
            }
            (ObjectKind::Dentry, 0) => {
                let mut bytes = [0; dentry::SIZE];
                let id = BlockId::data(ino, bix);
                let read = self.read_object(clock, id, at, &mut bytes);
                let Some(entry) = read.ok().and_then(|()| Dentry::parse(&bytes).ok()) else {
                    return;
                };
                let is_current = self.get(clock, ino).is_ok()
                    && self.find(clock, id).is_ok_and(|now| now == Some(at));
                let Dentry { ino: child, kind, name } = entry;
                let name =
                    RemainingName { version, parent: ino, ino: child, kind, is_current, name };
                search.found.keep(|found| &mut found.names, name);
            }
            (ObjectKind::Block, 0..FILE_LEVELS) if self.is_gone(clock, search, ino) => {
                let id = BlockId::leading_to(ino, level, bix);
                let is_good = crc(stored) == header.data_crc;
                let block = RemainingBlock { version, at, id, stored: header.stored(), is_good };
                search.found.keep(|found| &mut found.blocks, block);
            }
            _ => {}
        }
    }

    /// Whether a number is that of a deleted file, from memory if it was asked before.
    fn is_gone(&mut self, clock: &mut Clock, search: &mut Search, ino: u64) -> bool {
        if ino < FIRST_INO && ino != ROOT || ino > u64::from(u32::MAX) {
            return false;
        }
        !*search.named.entry(ino).or_insert_with(|| self.is_named(clock, ino))
    }
}

impl Remains {
    fn keep<T>(&mut self, list: impl Fn(&mut Self) -> &mut Vec<T>, item: T) {
        if list(self).len() < MOST {
            list(self).push(item);
        } else {
            self.is_cut = true;
        }
    }
}
