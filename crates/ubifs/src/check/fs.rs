//! The check of the filesystem: all nodes of the index, and counts and sizes of all inodes.
//!
//! Layer: rank 5. Source: Linux 6.1, `fs/ubifs/debug.c` (`dbg_check_filesystem`, `check_leaf`,
//! `check_inodes`).

use super::{compare, node_error};
use crate::error::Problem;
use crate::format::data::Data;
use crate::format::dirent::{self, Dirent};
use crate::format::index::Branch;
use crate::format::inode::{self, InodeNode};
use crate::format::key::{Key, KeyType};
use crate::format::{BLOCK_SIZE, ROOT_INO};
use crate::inode::Inode;
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;
use std::collections::BTreeMap;

/// `S_IFMT` and `S_IFDIR`.
const KIND_MASK: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
/// The kind of a directory in an entry (`UBIFS_ITYPE_DIR`).
const ITYPE_DIR: u8 = 1;

/// An inode, and what entries and nodes say about it.
struct Counted {
    mode: u32,
    nlink: u32,
    node_size: u64,
    node_xattrs: (u32, u32, u32),
    references: u32,
    children: u32,
    size: u64,
    xattr_count: u32,
    xattr_size: u64,
    xattr_names: u64,
}

impl Counted {
    /// The inode in memory counts, if there is one: a read-only mount corrects sizes only there.
    fn new(node: &InodeNode, cached: Option<&Inode>) -> Self {
        let mode = cached.map_or(node.mode, |inode| inode.mode);
        let xattrs = (node.xattr_cnt, node.xattr_size, node.xattr_names);
        // A directory counts itself: its inode, "." and "..".
        let directory = mode & KIND_MASK == DIRECTORY;
        let (children, size) = if directory { (2, length(inode::SIZE)) } else { (0, 0) };
        Self {
            mode,
            nlink: cached.map_or(node.nlink, |inode| inode.nlink),
            node_size: cached.map_or(node.size, |inode| inode.size),
            node_xattrs: cached
                .map_or(xattrs, |inode| (inode.xattr_cnt, inode.xattr_size, inode.xattr_names)),
            references: 0,
            children,
            size,
            xattr_count: 0,
            xattr_size: 0,
            xattr_names: 0,
        }
    }

    const fn is_directory(&self) -> bool {
        self.mode & KIND_MASK == DIRECTORY
    }
}

type Inodes = BTreeMap<u32, Counted>;

impl<L: Lebs> Volume<L> {
    /// Reads all nodes of the index and checks all inodes (`dbg_check_filesystem`).
    pub(crate) fn check_filesystem(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let mut inodes = Inodes::new();
        let mut leaf = |volume: &mut Self, clock: &mut Clock, branch: Branch| {
            volume.check_leaf(clock, branch, &mut inodes)
        };
        self.walk_index(clock, &mut leaf, &mut |_| {})?;
        inodes.iter().try_for_each(|(&ino, counted)| check_inode(ino, counted))
    }

    fn check_leaf(
        &mut self,
        clock: &mut Clock,
        branch: Branch,
        inodes: &mut Inodes,
    ) -> Result<(), Error> {
        let bytes = self.tnc_read_node(clock, branch)?;
        let malformed = |cause| node_error(branch, cause);
        let ino = branch.key.ino();
        match branch.key.kind() {
            Some(KeyType::Inode) => {
                let node = InodeNode::parse(&bytes).map_err(malformed)?;
                self.add_counted(ino, &node, inodes)
            }
            Some(KeyType::Data) => {
                let data = Data::parse(&bytes).map_err(malformed)?;
                let end = u64::from(branch.key.low()) * length(BLOCK_SIZE) + u64::from(data.size);
                let size = self.count_inode(clock, ino, inodes)?.node_size;
                compare("the end of the content of inode", ino, signed(end.min(size)), signed(end))
            }
            Some(KeyType::Dirent | KeyType::Xattr) => {
                let entry = Dirent::parse(&bytes).map_err(malformed)?;
                self.count_entry(clock, branch, &entry, inodes)
            }
            _ => Err(Error::at(branch.lnum, branch.offs, Problem::WrongKey)),
        }
    }

    fn count_entry(
        &mut self,
        clock: &mut Clock,
        branch: Branch,
        entry: &Dirent,
        inodes: &mut Inodes,
    ) -> Result<(), Error> {
        let wrong = Error::at(branch.lnum, branch.offs, Problem::WrongKey);
        let ino = u32::try_from(entry.inum).map_err(|_| wrong)?;
        let target = self.count_inode(clock, ino, inodes)?;
        target.references += 1;
        let value = target.node_size;
        let names = length(entry.name.len());
        let space = length((dirent::SIZE + entry.name.len() + 1).next_multiple_of(8));
        let parent = self.count_inode(clock, branch.key.ino(), inodes)?;
        if branch.key.kind() == Some(KeyType::Xattr) {
            parent.xattr_count += 1;
            parent.xattr_size += space + (length(inode::SIZE) + value + 1).next_multiple_of(8);
            parent.xattr_names += names;
        } else {
            parent.size += space;
            parent.children += u32::from(entry.itype == ITYPE_DIR);
        }
        Ok(())
    }

    /// The counts of an inode, which is read unless it was before (`read_add_inode`).
    fn count_inode<'a>(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        inodes: &'a mut Inodes,
    ) -> Result<&'a mut Counted, Error> {
        if !inodes.contains_key(&ino) {
            let missing = Error::at(crate::LebIndex(0), 0, Problem::Inode(ino));
            let bytes = self.tnc_lookup(clock, Key::inode(ino))?.ok_or_else(|| missing.clone())?;
            let node = InodeNode::parse(&bytes).map_err(|_| missing)?;
            self.add_counted(ino, &node, inodes)?;
        }
        Ok(inodes.get_mut(&ino).expect("it was added"))
    }

    fn add_counted(&self, ino: u32, node: &InodeNode, inodes: &mut Inodes) -> Result<(), Error> {
        inodes.entry(ino).or_insert_with(|| Counted::new(node, self.inodes.get(&ino)));
        compare(
            "the highest inode number, below",
            ino,
            self.highest_inum.max(ino),
            self.highest_inum,
        )?;
        let sqnum = signed(node.creat_sqnum);
        compare("the sequence number of inode", ino, sqnum, sqnum.min(signed(self.max_sqnum)))
    }
}

fn check_inode(ino: u32, counted: &Counted) -> Result<(), Error> {
    if counted.is_directory() {
        compare("references to directory", ino, counted.references, u32::from(ino != ROOT_INO))?;
        compare("the size of directory", ino, signed(counted.node_size), signed(counted.size))?;
        compare("the links of directory", ino, counted.nlink, counted.children)?;
    } else {
        compare("the links of inode", ino, counted.nlink, counted.references)?;
    }
    let (count, size, names) = counted.node_xattrs;
    compare("the attributes' size of inode", ino, size, signed(counted.xattr_size))?;
    compare("the attributes of inode", ino, count, counted.xattr_count)?;
    compare("the attributes' names of inode", ino, names, signed(counted.xattr_names))
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn length(value: usize) -> u64 {
    u64::try_from(value).expect("a length fits u64")
}
