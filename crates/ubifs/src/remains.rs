//! What is left on a mounted volume of inodes without a name, for tools that look for deleted files.
//!
//! Layer: rank 5. Main types: [`Remains`], [`RemainingName`], [`RemainingInode`], [`RemainingBlock`]; main
//! function: [`Ubifs::remains`]. A deletion erases nothing: it writes an entry with inode 0 and the inode with one
//! link less. The nodes stay until garbage collection takes their LEB. The sequence numbers of nodes are their ages,
//! and garbage collection keeps them.
//!
//! ```text
//!  /a -> 70 (sequence number 4)   inode 70, its blocks   /a -> 0 (9), inode 70: no links, changed at 12:00
//! ```
//! Source: Linux 6.1, `ubifs_jnl_update`, `ubifs_jnl_delete_inode` and `ubifs_jnl_truncate` of
//! `fs/ubifs/journal.c`.

use crate::error::Problem;
use crate::format::data::Data;
use crate::format::dirent::Dirent;
use crate::format::inode::{InodeNode, flag};
use crate::format::journal::Truncation;
use crate::format::key::Key;
use crate::format::{ALIGN, BLOCK_SIZE, Header, NodeType, usize_of};
use crate::scan::Scanned;
use crate::{Error, LebIndex, Lebs, Ubifs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Timestamp;
use std::collections::BTreeMap;
use std::ops::Range;

/// Names, inodes, and blocks, that are kept: a flash of 1 GiB that holds nothing else has no more.
const MOST: usize = 16 << 20;

/// What is left of inodes without a name, and all names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remains {
    /// Every directory entry, also removed ones, in the order of the flash.
    pub names: Vec<RemainingName>,
    /// The inodes without a name, each time they were written, in the order of the flash.
    pub inodes: Vec<RemainingInode>,
    /// The blocks of inodes without a name, and truncations, in the order of the flash.
    pub blocks: Vec<RemainingBlock>,
    /// The entries of extended attributes of inodes without a name, also removed ones, in the order of the flash. Their
    /// parent is the inode that they belong to.
    pub xattrs: Vec<RemainingName>,
    /// Their inodes, each time they were written, in the order of the flash.
    pub values: Vec<RemainingInode>,
    /// Whether there is more than is kept.
    pub is_cut: bool,
}

/// A directory entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemainingName {
    /// Its sequence number.
    pub sqnum: u64,
    /// The directory.
    pub parent: u32,
    /// The inode; 0 when the name was removed.
    pub ino: u32,
    /// When it was written, if the inode that was written with it is still behind it.
    pub time: Option<Timestamp>,
    /// Whether it leads to a directory.
    pub is_directory: bool,
    /// The name.
    pub name: Vec<u8>,
}

/// An inode as it was written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemainingInode {
    /// Its sequence number.
    pub sqnum: u64,
    /// The node.
    pub node: InodeNode,
}

/// Bytes of a file, or its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemainingBlock {
    /// Its sequence number.
    pub sqnum: u64,
    /// The inode.
    pub ino: u32,
    /// The bytes of the file.
    pub range: Range<u64>,
    /// The place of the node; `None` for a truncation, which has cut the bytes off.
    pub at: Option<(LebIndex, u32)>,
}

/// What was found so far.
#[derive(Debug, Default)]
struct Search {
    found: Remains,
    /// Whether inodes have a name.
    named: BTreeMap<u32, bool>,
    /// The first name whose time the next inode of the LEB tells: a group of nodes has its entries first.
    waiting: usize,
}

impl<L: Lebs> Ubifs<L> {
    /// Reads all LEBs of the main area for what is left of inodes without a name. In an older state what was
    /// written later is left out. Nothing is changed.
    ///
    /// # Errors
    /// Those of the volume, except for bit errors.
    pub fn remains(&mut self, clock: &mut Clock) -> Result<Remains, Error> {
        self.volume.remains(clock)
    }

    /// Whether an inode has a name. One that the index does not tell, because it is damaged, counts as named.
    pub fn is_named(&mut self, clock: &mut Clock, ino: u32) -> bool {
        self.volume.is_named(clock, ino)
    }

    /// The content of a block that [`Ubifs::remains`] has found; none of a truncation.
    ///
    /// # Errors
    /// [`Error::Corrupted`] when it cannot be decompressed; those of the volume.
    pub fn read_remaining(
        &mut self,
        clock: &mut Clock,
        block: &RemainingBlock,
    ) -> Result<Vec<u8>, Error> {
        self.volume.read_remaining(clock, block)
    }
}

impl<L: Lebs> Volume<L> {
    fn remains(&mut self, clock: &mut Clock) -> Result<Remains, Error> {
        let mut search = Search::default();
        let first = self.layout.main_first.0;
        for leb in (first..first + self.layout.main_lebs).map(LebIndex) {
            let bytes = self.start_scan(clock, leb, 0)?.bytes;
            search.waiting = search.found.names.len();
            let mut at = 0;
            while self.layout.leb_size - at >= ALIGN {
                let rest = &bytes[usize_of(at)..];
                at += match self.scan_a_node(clock, rest, leb, at) {
                    Scanned::Node(header) => {
                        self.look(clock, &mut search, (leb, at), (&header, rest));
                        header.len.next_multiple_of(ALIGN)
                    }
                    Scanned::Padding(count) => count,
                    _ => ALIGN,
                };
                at = at.min(self.layout.leb_size);
            }
        }
        Ok(search.found)
    }

    fn is_named(&mut self, clock: &mut Clock, ino: u32) -> bool {
        match self.tnc_lookup(clock, Key::inode(ino)) {
            Ok(Some(node)) => InodeNode::parse(&node).map_or(true, |inode| inode.nlink > 0),
            Ok(None) => false,
            Err(_) => true,
        }
    }

    fn read_remaining(
        &mut self,
        clock: &mut Clock,
        block: &RemainingBlock,
    ) -> Result<Vec<u8>, Error> {
        let Some((leb, offs)) = block.at else { return Ok(Vec::new()) };
        let bytes = self.start_scan(clock, leb, offs)?.bytes;
        let node = &bytes[usize_of(offs)..];
        let Scanned::Node(header) = self.scan_a_node(clock, node, leb, offs) else {
            return Err(Error::at(leb, offs, Problem::NotAPowerCut));
        };
        let mut content = vec![0; BLOCK_SIZE];
        self.unpack_block(clock, (leb, offs), &node[..usize_of(header.len)], &mut content)?;
        let length = block.range.end - block.range.start;
        content.truncate(usize::try_from(length).expect("a block has at most 4096 bytes"));
        Ok(content)
    }

    /// Takes a right node that `bytes` begin with.
    fn look(
        &mut self,
        clock: &mut Clock,
        search: &mut Search,
        at: (LebIndex, u32),
        (header, bytes): (&Header, &[u8]),
    ) {
        let (sqnum, node) = (header.sqnum, &bytes[..usize_of(header.len)]);
        if self.past.as_ref().is_some_and(|past| sqnum >= past.leaves_below) {
            return;
        }
        match header.node_type {
            NodeType::Dirent => {
                let Ok(entry) = Dirent::parse(node) else { return };
                search.found.keep(|found| &mut found.names, name(sqnum, entry));
            }
            NodeType::Xattr => {
                let Ok(entry) = Dirent::parse(node) else { return };
                if !self.knows(clock, search, entry.key.ino()) {
                    search.found.keep(|found| &mut found.xattrs, name(sqnum, entry));
                }
            }
            NodeType::Inode => {
                let Ok(node) = InodeNode::parse(node) else { return };
                search.tell_time(node.changed);
                if self.knows(clock, search, node.key.ino()) {
                    return;
                }
                let is_value = node.flags & flag::XATTR != 0;
                let inode = RemainingInode { sqnum, node };
                if is_value {
                    search.found.keep(|found| &mut found.values, inode);
                } else {
                    search.found.keep(|found| &mut found.inodes, inode);
                }
            }
            NodeType::Data => {
                let Ok(data) = Data::parse(node) else { return };
                let start = u64::from(data.key.low()) * BLOCK_SIZE as u64;
                let range = start..start + u64::from(data.size);
                let ino = data.key.ino();
                self.keep(clock, search, RemainingBlock { sqnum, ino, range, at: Some(at) });
            }
            NodeType::Truncation => {
                let Ok(cut) = Truncation::parse(node) else { return };
                let range = cut.new_size..cut.old_size.max(cut.new_size);
                self.keep(clock, search, RemainingBlock { sqnum, ino: cut.inum, range, at: None });
            }
            _ => {}
        }
    }

    /// [`Volume::is_named`], from memory if it was asked before.
    fn knows(&mut self, clock: &mut Clock, search: &mut Search, ino: u32) -> bool {
        *search.named.entry(ino).or_insert_with(|| self.is_named(clock, ino))
    }

    fn keep(&mut self, clock: &mut Clock, search: &mut Search, block: RemainingBlock) {
        if !self.knows(clock, search, block.ino) {
            search.found.keep(|found| &mut found.blocks, block);
        }
    }
}

impl Search {
    /// Gives the names before an inode its time.
    fn tell_time(&mut self, time: Timestamp) {
        let waiting = self.found.names[self.waiting..].iter_mut();
        waiting.for_each(|name| name.time = Some(time));
        self.waiting = self.found.names.len();
    }
}

fn name(sqnum: u64, entry: Dirent) -> RemainingName {
    RemainingName {
        sqnum,
        parent: entry.key.ino(),
        ino: u32::try_from(entry.inum).expect("the format checks it"),
        time: None,
        is_directory: entry.is_directory(),
        name: entry.name,
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
