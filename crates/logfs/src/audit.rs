//! A walk through all objects, which compares what the filesystem says of itself with what is there.
//!
//! Layer: rank 5. [`Logfs::audit`] returns an [`Audit`] with every [`Fault`]. It reads everything, as a kernel never
//! does.

use crate::Logfs;
use crate::error::{Damage, Error, What};
use crate::format::dentry::{self, Dentry};
use crate::format::object::{ObjectHeader, ObjectKind};
use crate::format::{
    BLOCK, BlockId, DIRECT, FULL, INODE_POINTERS, MASTER, POINTERS, ROOT, SEGMENT_FILE,
    SegmentEntry, offset_of, span,
};
use crate::store::to_usize;
use crate::tree::{pointers_of, words_of};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

/// What an audit has found.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// All objects that something leads to: their bytes on the flash, and their blocks; in order.
    pub objects: Vec<(Range<u64>, BlockId)>,
}

/// A contradiction on the flash.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// An object cannot be read.
    Object(Error),
    /// Two pointers lead to the same object.
    Shared {
        /// The offset.
        at: u64,
        /// The block that the second pointer is for.
        block: BlockId,
    },
    /// A pointer says that there is no hole behind it, and there is one.
    HiddenHole(BlockId),
    /// An inode counts other bytes than its objects have.
    Used {
        /// The inode.
        ino: u64,
        /// What it says.
        found: u64,
        /// The bytes of its objects.
        expected: u64,
    },
    /// An inode has another number of links than names.
    Links {
        /// The inode.
        ino: u64,
        /// What it says.
        found: u32,
        /// The number of names.
        expected: u32,
    },
    /// An inode has no name, and nobody has it open.
    Orphan(u64),
    /// An entry names an inode that is not there.
    Dangling {
        /// The directory.
        dir: u64,
        /// The block of the entry.
        pos: u64,
        /// The inode.
        ino: u64,
    },
    /// An entry cannot be found by its name, or another one has the same.
    Misplaced {
        /// The directory.
        dir: u64,
        /// The block of the entry.
        pos: u64,
    },
    /// An entry has another type than its inode.
    Type {
        /// The directory.
        dir: u64,
        /// The block of the entry.
        pos: u64,
        /// The type of the entry.
        found: u8,
        /// The type of the inode.
        expected: u8,
    },
    /// The segment file counts other valid bytes than there are.
    Valid {
        /// The segment.
        segment: u32,
        /// What it says.
        found: u32,
        /// The bytes of valid objects.
        expected: u32,
    },
    /// The segment file has another level than the objects of the segment.
    Level {
        /// The segment.
        segment: u32,
        /// What it says.
        found: u8,
        /// The level of an object in it.
        expected: u8,
    },
    /// The journal counts other bytes in use than there are.
    TotalUsed {
        /// What it says.
        found: u64,
        /// The bytes of all objects.
        expected: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(error) => error.fmt(f),
            Self::Shared { at, block } => {
                write!(f, "offset {at:#x}, {block}: another pointer leads to this object too")
            }
            Self::HiddenHole(block) => {
                write!(f, "{block}: its pointer denies a hole that is there")
            }
            Self::Used { ino, found, expected } => {
                write!(f, "inode {ino}: it counts {found} bytes, and its objects have {expected}")
            }
            Self::Links { ino, found, expected } => {
                write!(f, "inode {ino}: it has {found} links and {expected} names")
            }
            Self::Orphan(ino) => write!(f, "inode {ino}: it has no name"),
            Self::Dangling { dir, pos, ino } => {
                write!(f, "directory {dir}, entry {pos}: it names inode {ino}, which is not there")
            }
            Self::Misplaced { dir, pos } => {
                write!(f, "directory {dir}, entry {pos}: no lookup of its name leads there")
            }
            Self::Type { dir, pos, found, expected } => {
                write!(f, "directory {dir}, entry {pos}: type {found}, its inode has {expected}")
            }
            Self::Valid { segment, found, expected } => write!(
                f,
                "segment {segment}: the segment file counts {found} valid bytes, its objects have {expected}"
            ),
            Self::Level { segment, found, expected } => {
                write!(f, "segment {segment}: level {found} with an object of level {expected}")
            }
            Self::TotalUsed { found, expected } => {
                write!(f, "the journal counts {found} bytes in use, all objects have {expected}")
            }
        }
    }
}

/// What a walk has seen.
#[derive(Debug, Default)]
struct Walk {
    faults: Vec<Fault>,
    /// Valid bytes of segments.
    valid: BTreeMap<u64, u64>,
    /// A level of an object of segments.
    level: BTreeMap<u64, u8>,
    /// The objects that pointers lead to.
    seen: BTreeMap<u64, BlockId>,
    /// Their bytes on the flash.
    stored: BTreeMap<u64, u32>,
    names: BTreeMap<u64, u32>,
    total: u64,
    /// The places of damaged objects.
    damaged: BTreeSet<u64>,
}

impl<M: Mtd> Logfs<M> {
    /// Compares everything with everything. What was written since the last commit is committed first, unless the
    /// mount is read-only.
    ///
    /// # Errors
    /// Those of the flash; damaged objects are faults.
    pub fn audit(&mut self, clock: &mut Clock) -> Result<Audit, Error> {
        if !self.options.read_only {
            self.commit(clock)?;
        }
        let mut walk = Walk::default();
        self.walk_inode(clock, MASTER, &mut walk)?;
        let inodes: Vec<u64> = walk
            .seen
            .values()
            .filter(|id| id.ino == MASTER && id.level == 0)
            .map(|id| id.index)
            .collect();
        for &ino in &inodes {
            match self.get(clock, ino) {
                Ok(inode) if inode.has_content() => self.walk_inode(clock, ino, &mut walk)?,
                Ok(_) => {}
                Err(error) => note(&mut walk, error)?,
            }
            self.trim();
        }
        // The blocks of each directory.
        let mut entries: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        for (&at, id) in walk.seen.iter().filter(|(_, id)| self.kind_of(**id) == ObjectKind::Dentry)
        {
            entries.entry(id.ino).or_default().push((id.index, at));
        }
        for &ino in &inodes {
            self.audit_directory(clock, ino, entries.remove(&ino).unwrap_or_default(), &mut walk)?;
        }
        self.audit_links(&inodes, &mut walk);
        self.audit_segments(clock, &mut walk)?;
        let (found, expected) = (self.space.used, walk.total);
        if found != expected {
            walk.faults.push(Fault::TotalUsed { found, expected });
        }
        let range = |(&at, &id)| (at..at + u64::from(walk.stored[&at]), id);
        let objects = walk.seen.iter().map(range).collect();
        Ok(Audit { faults: walk.faults, objects })
    }

    /// Walks through the blocks of an inode.
    fn walk_inode(&mut self, clock: &mut Clock, ino: u64, walk: &mut Walk) -> Result<(), Error> {
        let disk = self.inode(ino)?.disk.clone();
        let mut used = 0;
        for index in 0..INODE_POINTERS {
            let pointer = disk.pointers[index];
            if pointer == 0 {
                continue;
            }
            let id = if index < DIRECT {
                BlockId::data(ino, index as u64)
            } else {
                BlockId { ino, level: disk.height, index: 0 }
            };
            used += self.walk_block(clock, id, pointer, walk)?;
        }
        if used != disk.used {
            walk.faults.push(Fault::Used { ino, found: disk.used, expected: used });
        }
        Ok(())
    }

    /// Walks through a block and what is below it; returns the bytes of the objects.
    fn walk_block(
        &mut self,
        clock: &mut Clock,
        id: BlockId,
        pointer: u64,
        walk: &mut Walk,
    ) -> Result<u64, Error> {
        let at = offset_of(pointer);
        if walk.seen.contains_key(&at) {
            walk.faults.push(Fault::Shared { at, block: id });
            return Ok(0);
        }
        let header = match self.check_block(clock, id, at) {
            Ok(header) => header,
            Err(error) => {
                note(walk, error)?;
                return Ok(0);
            }
        };
        walk.seen.insert(at, id);
        walk.stored.insert(at, header.stored());
        let bytes = header.counted(id.gc_level());
        let segment = self.layout.segment_of(at);
        *walk.valid.entry(segment).or_default() += u64::from(bytes);
        walk.level.entry(segment).or_insert_with(|| id.gc_level());
        walk.total += u64::from(bytes);
        let mut used = u64::from(bytes);
        if id.level == 0 {
            return Ok(used);
        }
        self.load(clock, id, at)?;
        let bytes = self.nodes.get(id).unwrap_or_default();
        if pointer & FULL > 0 && pointers_of(id, bytes).any(|pointer| pointer & FULL == 0) {
            walk.faults.push(Fault::HiddenHole(id));
        }
        let words: Vec<u64> = words_of(bytes).collect();
        for (slot, pointer) in words.into_iter().enumerate().filter(|&(_, pointer)| pointer > 0) {
            let index = id.index * POINTERS as u64 + slot as u64;
            let below = BlockId { ino: id.ino, level: id.level - 1, index };
            used += self.walk_block(clock, below, pointer, walk)?;
        }
        self.trim();
        Ok(used)
    }

    /// Reads an object, data and all.
    fn check_block(
        &mut self,
        clock: &mut Clock,
        id: BlockId,
        at: u64,
    ) -> Result<ObjectHeader, Error> {
        if id.level > crate::format::HEIGHT_MAX || (id.level == 0 && id.index >= span(4)) {
            return Err(Error::damaged(at, What::Block(id), Damage::Level(id.level)));
        }
        let header = self.read_header(clock, id, at)?;
        let mut data = vec![0; self.kind_of(id).size().min(BLOCK)];
        self.read_object(clock, id, at, &mut data)?;
        Ok(header)
    }

    /// Looks at the entries of a directory, by their blocks and offsets, and counts the names of inodes.
    fn audit_directory(
        &mut self,
        clock: &mut Clock,
        dir: u64,
        entries: Vec<(u64, u64)>,
        walk: &mut Walk,
    ) -> Result<(), Error> {
        for (pos, at) in entries {
            let id = BlockId::data(dir, pos);
            self.load(clock, id, at)?;
            let entry = match Dentry::parse(self.nodes.get(id).unwrap_or_default()) {
                Ok(entry) => entry,
                Err(cause) => {
                    note(walk, Error::Impossible { ino: dir, cause })?;
                    continue;
                }
            };
            *walk.names.entry(entry.ino).or_default() += 1;
            let reached = match self.find_entry(clock, dir, &entry.name) {
                Ok(found) => found.is_some_and(|(_, found)| found == pos),
                Err(error) => {
                    // Another block of the directory is damaged, in front of this one.
                    note(walk, error)?;
                    true
                }
            };
            if !reached || self.is_beyond(dir, pos)? || entry.name.len() > dentry::NAME_MAX {
                walk.faults.push(Fault::Misplaced { dir, pos });
            }
            match self.get(clock, entry.ino) {
                Ok(inode) => {
                    let expected = inode.dirent_type();
                    let found = entry.kind;
                    if found != expected {
                        walk.faults.push(Fault::Type { dir, pos, found, expected });
                    }
                }
                Err(Error::MissingInode(ino)) => {
                    walk.faults.push(Fault::Dangling { dir, pos, ino });
                }
                Err(error) => note(walk, error)?,
            }
            self.trim();
        }
        Ok(())
    }

    /// Compares links with names, once all directories were read.
    fn audit_links(&self, inodes: &[u64], walk: &mut Walk) {
        for &ino in inodes {
            let Some(inode) = self.inodes.get(&ino) else { continue };
            if ino == ROOT || ino == SEGMENT_FILE {
                continue;
            }
            let (found, held) = (inode.disk.links, inode.held);
            let expected = walk.names.get(&ino).copied().unwrap_or_default();
            if found == 0 && expected == 0 {
                if !held {
                    walk.faults.push(Fault::Orphan(ino));
                }
            } else if found != expected {
                walk.faults.push(Fault::Links { ino, found, expected });
            }
        }
    }

    /// Compares the segment file with what is in the segments.
    fn audit_segments(&mut self, clock: &mut Clock, walk: &mut Walk) -> Result<(), Error> {
        for segment in 0..self.layout.segments {
            let entry = match self.segment_entry(clock, segment) {
                Ok(entry) => entry,
                Err(error) => {
                    note(walk, error)?;
                    continue;
                }
            };
            let sum = walk.valid.get(&u64::from(segment)).copied().unwrap_or_default();
            let expected = u32::try_from(sum).unwrap_or(u32::MAX);
            if entry.is_store() {
                let found = entry.valid;
                if found != expected {
                    walk.faults.push(Fault::Valid { segment, found, expected });
                }
                if let Some(&level) = walk.level.get(&u64::from(segment))
                    && level != entry.level()
                {
                    let found = entry.level();
                    walk.faults.push(Fault::Level { segment, found, expected: level });
                }
            } else if expected > 0 {
                let found = SegmentEntry::RESERVED;
                walk.faults.push(Fault::Valid { segment, found, expected });
            }
        }
        Ok(())
    }

    /// Bytes of valid objects by segment number, as the segment file counts them.
    ///
    /// # Errors
    /// Those of the flash, and damage of the segment file.
    pub fn segment_entries(&mut self, clock: &mut Clock) -> Result<Vec<SegmentEntry>, Error> {
        let mut entries = Vec::with_capacity(to_usize(self.layout.segments));
        for segment in 0..self.layout.segments {
            entries.push(self.segment_entry(clock, segment)?);
        }
        Ok(entries)
    }
}

/// Notes damage; passes on what the flash itself says.
fn note(walk: &mut Walk, error: Error) -> Result<(), Error> {
    match error {
        Error::Flash(_) => Err(error),
        // The names of a directory lead to one block again and again.
        Error::Damaged { at, .. } if !walk.damaged.insert(at) => Ok(()),
        error => {
            walk.faults.push(Fault::Object(error));
            Ok(())
        }
    }
}
