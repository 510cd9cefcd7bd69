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

/// What a leaf node says about inodes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Statement {
    /// An inode, about itself.
    Inode(InodeFacts),
    /// Content that ends here.
    Data { end: u64 },
    /// An entry of a directory or an attribute; `name` is the length of its name.
    Entry { target: u32, name: usize, itype: u8 },
}

/// The fields of an inode that are checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct InodeFacts {
    mode: u32,
    nlink: u32,
    size: u64,
    /// Number, size and names.
    xattrs: (u32, u32, u32),
    creat_sqnum: u64,
}

impl From<&InodeNode> for InodeFacts {
    fn from(node: &InodeNode) -> Self {
        let xattrs = (node.xattr_cnt, node.xattr_size, node.xattr_names);
        let InodeNode { mode, nlink, size, creat_sqnum, .. } = *node;
        Self { mode, nlink, size, xattrs, creat_sqnum }
    }
}

/// An inode, and what entries and nodes say about it.
struct Counted {
    facts: InodeFacts,
    references: u32,
    children: u32,
    size: u64,
    xattr_count: u32,
    xattr_size: u64,
    xattr_names: u64,
}

impl Counted {
    /// The inode in memory counts, if there is one: a read-only mount corrects sizes only there.
    fn new(facts: InodeFacts, cached: Option<&Inode>) -> Self {
        let facts = cached.map_or(facts, |inode| InodeFacts {
            mode: inode.mode,
            nlink: inode.nlink,
            size: inode.size,
            xattrs: (inode.xattr_cnt, inode.xattr_size, inode.xattr_names),
            ..facts
        });
        // A directory counts itself: its inode, "." and "..".
        let directory = facts.mode & KIND_MASK == DIRECTORY;
        let (children, size) = if directory { (2, length(inode::SIZE)) } else { (0, 0) };
        let (references, xattr_count, xattr_size, xattr_names) = (0, 0, 0, 0);
        Self { facts, references, children, size, xattr_count, xattr_size, xattr_names }
    }

    const fn is_directory(&self) -> bool {
        self.facts.mode & KIND_MASK == DIRECTORY
    }
}

/// The inodes of a check.
#[derive(Default)]
struct Inodes {
    /// Those that were read before; others are looked up.
    known: BTreeMap<u32, InodeFacts>,
    counted: BTreeMap<u32, Counted>,
}

impl<L: Lebs> Volume<L> {
    /// Reads all nodes of the index and checks all inodes (`dbg_check_filesystem`).
    pub(crate) fn check_filesystem(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let mut inodes = Inodes::default();
        let mut leaf = |volume: &mut Self, clock: &mut Clock, branch: Branch| {
            let statement = volume.read_statement(clock, branch)?;
            volume.count(clock, branch.key, statement, &mut inodes)
        };
        self.walk_index(clock, &mut leaf, &mut |_| {})?;
        inodes.check()
    }

    /// As [`Volume::check_filesystem`], of all nodes of the index as they were read before, in order.
    pub(super) fn check_statements(
        &mut self,
        clock: &mut Clock,
        statements: &[(Key, Statement)],
    ) -> Result<(), Error> {
        let inode = |(key, statement): &(Key, Statement)| match statement {
            Statement::Inode(facts) => Some((key.ino(), *facts)),
            _ => None,
        };
        let known = statements.iter().filter_map(inode).collect();
        let mut inodes = Inodes { known, ..Inodes::default() };
        for (key, statement) in statements {
            self.count(clock, *key, *statement, &mut inodes)?;
        }
        inodes.check()
    }

    /// Reads the leaf node of a branch (`check_leaf`).
    pub(super) fn read_statement(
        &mut self,
        clock: &mut Clock,
        branch: Branch,
    ) -> Result<Statement, Error> {
        let bytes = self.tnc_read_node(clock, branch)?;
        let malformed = |cause| node_error(branch, cause);
        Ok(match branch.key.kind() {
            Some(KeyType::Inode) => {
                let node = InodeNode::parse(&bytes).map_err(malformed)?;
                Statement::Inode(InodeFacts::from(&node))
            }
            Some(KeyType::Data) => {
                let data = Data::parse(&bytes).map_err(malformed)?;
                let start = u64::from(branch.key.low()) * length(BLOCK_SIZE);
                Statement::Data { end: start + u64::from(data.size) }
            }
            Some(KeyType::Dirent | KeyType::Xattr) => {
                let entry = Dirent::parse(&bytes).map_err(malformed)?;
                let wrong = Error::at(branch.lnum, branch.offs, Problem::WrongKey);
                let target = u32::try_from(entry.inum).map_err(|_| wrong)?;
                Statement::Entry { target, name: entry.name.len(), itype: entry.itype }
            }
            _ => return Err(Error::at(branch.lnum, branch.offs, Problem::WrongKey)),
        })
    }

    /// Adds what a node says to the counts.
    fn count(
        &mut self,
        clock: &mut Clock,
        key: Key,
        statement: Statement,
        inodes: &mut Inodes,
    ) -> Result<(), Error> {
        let ino = key.ino();
        match statement {
            Statement::Inode(facts) => self.add_counted(ino, facts, inodes),
            Statement::Data { end } => {
                let size = self.count_inode(clock, ino, inodes)?.facts.size;
                compare("the end of the content of inode", ino, signed(end.min(size)), signed(end))
            }
            Statement::Entry { target, name, itype } => {
                let target = self.count_inode(clock, target, inodes)?;
                target.references += 1;
                let value = target.facts.size;
                let space = length((dirent::SIZE + name + 1).next_multiple_of(8));
                let parent = self.count_inode(clock, ino, inodes)?;
                if key.kind() == Some(KeyType::Xattr) {
                    parent.xattr_count += 1;
                    parent.xattr_size +=
                        space + (length(inode::SIZE) + value + 1).next_multiple_of(8);
                    parent.xattr_names += length(name);
                } else {
                    parent.size += space;
                    parent.children += u32::from(itype == ITYPE_DIR);
                }
                Ok(())
            }
        }
    }

    /// The counts of an inode, which is read unless it was before (`read_add_inode`).
    fn count_inode<'a>(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        inodes: &'a mut Inodes,
    ) -> Result<&'a mut Counted, Error> {
        if !inodes.counted.contains_key(&ino) {
            let facts = match inodes.known.get(&ino) {
                Some(facts) => *facts,
                None => self.lookup_facts(clock, ino)?,
            };
            self.add_counted(ino, facts, inodes)?;
        }
        Ok(inodes.counted.get_mut(&ino).expect("it was added"))
    }

    fn lookup_facts(&mut self, clock: &mut Clock, ino: u32) -> Result<InodeFacts, Error> {
        let missing = Error::of_inode(ino);
        let bytes = self.tnc_lookup(clock, Key::inode(ino))?.ok_or_else(|| missing.clone())?;
        let node = InodeNode::parse(&bytes).map_err(|_| missing)?;
        Ok(InodeFacts::from(&node))
    }

    fn add_counted(&self, ino: u32, facts: InodeFacts, inodes: &mut Inodes) -> Result<(), Error> {
        let cached = || Counted::new(facts, self.inodes.get(&ino));
        inodes.counted.entry(ino).or_insert_with(cached);
        compare(
            "the highest inode number, below",
            ino,
            self.highest_inum.max(ino),
            self.highest_inum,
        )?;
        let sqnum = signed(facts.creat_sqnum);
        compare("the sequence number of inode", ino, sqnum, sqnum.min(signed(self.max_sqnum)))
    }
}

impl Inodes {
    fn check(&self) -> Result<(), Error> {
        self.counted.iter().try_for_each(|(&ino, counted)| check_inode(ino, counted))
    }
}

fn check_inode(ino: u32, counted: &Counted) -> Result<(), Error> {
    if counted.is_directory() {
        compare("references to directory", ino, counted.references, u32::from(ino != ROOT_INO))?;
        compare("the size of directory", ino, signed(counted.facts.size), signed(counted.size))?;
        compare("the links of directory", ino, counted.facts.nlink, counted.children)?;
    } else {
        compare("the links of inode", ino, counted.facts.nlink, counted.references)?;
    }
    let (count, size, names) = counted.facts.xattrs;
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
