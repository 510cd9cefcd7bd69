//! A new filesystem with its files, as `mkfs.jffs2` makes it: every node is written once, and nothing is
//! obsolete.
//!
//! Layer: rank 5. Main types: [`Builder`], which takes names, inodes, content and attributes in the order in
//! which they are to lie on the flash; [`Format`], the flash that the image is for.
//!
//! ```text
//!  cleanmarker | dirent | inode | attribute | reference | dirent ... | summary | cleanmarker | dirent ...
//!  `---------------------- an erase block ----------------------------------'
//! ```
//! A summary covers what is left of its block. A last block with space has none: the kernel goes on writing there.
//!
//! Source: mtd-utils 2.1, `mkfs.jffs2` and `sumtool`, as far as their images show. Deliberate deviations: holes are hole nodes, as Linux writes them; the data of a file end before a summary, where
//! `sumtool`, which moves whole nodes and counts the length of each twice, leaves gaps; LZO finds other matches.

use crate::acl;
use crate::compress::Compressors;
use crate::dir::device_data;
use crate::format::inode::{Compressor, Inode as InodeNode, SIZE as INODE_SIZE};
use crate::format::summary::{INODE_SIZE as INODE_ENTRY, XATTR_SIZE as XATTR_ENTRY, XREF_SIZE};
use crate::format::xattr::SIZE as XATTR_SIZE;
use crate::format::xref::SIZE as REF_SIZE;
use crate::format::{
    ByteOrder, Dirent, Xattr, XattrPrefix, Xref, cleanmarker, crc, dirent, length_of, pad, to_usize,
};
use crate::format::{Entry, summary};
use crate::options::Compression;
use crate::summary_builder::SummaryBuilder;
use boardlab_sim::Clock;
use boardlab_vfs::{Host, Kind};
use std::collections::BTreeMap;
use std::fmt;

/// The most bytes of content in a node: a page of memory of the boards that JFFS2 is for.
pub const PAGE: usize = 4_096;
/// The longest name, and the longest target of a symbolic link.
pub const NAME_MAX: usize = dirent::NAME_MAX;
/// The largest file (`JFFS2_MAX_FILE_SIZE` is the first that is too large).
pub const FILE_MAX: u64 = 0xFFFF_FFFE;
/// The inode of the root directory.
pub const ROOT: u32 = 1;
/// Where less content than this fits into a block, it goes into the next one (`JFFS2_MIN_DATA_LEN`).
const DATA_MIN: u32 = 128;
/// A last block with less space than this beside its summary ends with it, as one that is full.
const SPACE_MIN: u32 = INODE_SIZE + 2 * DATA_MIN;
/// Bytes of the longest name of an attribute behind its namespace.
const ATTRIBUTE_NAME_MAX: usize = 255;

/// The flash that an image is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Bytes of an erase block (`-e`).
    pub block: u32,
    /// The byte order (`-l`, `-b`).
    pub order: ByteOrder,
    /// Whether blocks begin with a cleanmarker node, as on NOR (not with `-n`).
    pub cleanmarkers: bool,
    /// The compression (`-m`, `-x`, `-X`).
    pub compression: Compression,
    /// Whether full blocks end with a summary (`sumtool`).
    pub summary: bool,
}

/// An inode without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inode {
    /// What it is.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u16,
    /// Group.
    pub gid: u16,
    /// Bytes of a file's content.
    pub size: u32,
    /// All three times, in seconds since 1970.
    pub time: u32,
}

/// A name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'a> {
    /// The directory.
    pub parent: u32,
    /// The name, of at most [`NAME_MAX`] bytes.
    pub name: &'a [u8],
    /// The inode that it leads to.
    pub ino: u32,
    /// What that is.
    pub kind: Kind,
    /// When the name was made; the directory's time of change, unless its inode is of a later version.
    pub time: u32,
}

/// A file whose content is being written.
#[derive(Debug)]
pub struct OpenFile {
    ino: u32,
    inode: Inode,
    version: u32,
    /// The end of what is written.
    end: u32,
}

/// Why no image can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MkfsError {
    /// A flash with JFFS2 has less than 4 GiB.
    TooLarge,
}

impl fmt::Display for MkfsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the files need more than the 4 GiB that a flash with JFFS2 can have")
    }
}

impl std::error::Error for MkfsError {}

/// Makes an image node by node.
#[derive(Debug)]
pub struct Builder {
    format: Format,
    image: Vec<u8>,
    summary: SummaryBuilder,
    compressors: Compressors,
    /// The work of compression, which takes no time.
    host: Host,
    clock: Clock,
    /// The last number of an inode.
    ino: u32,
    /// The version of the next name: they are counted over all directories.
    version: u32,
    /// The numbers of attributes by their namespace, name and value.
    attributes: BTreeMap<(u8, Vec<u8>, Vec<u8>), u32>,
    /// The sequence number of the last reference.
    sequence: u32,
}

impl Builder {
    /// An empty image.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self {
            format,
            image: Vec::new(),
            summary: SummaryBuilder::default(),
            compressors: Compressors::of_a_tool(),
            host: Host::free(),
            clock: Clock::new(),
            ino: ROOT,
            version: 0,
            attributes: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// The number of a new inode.
    pub const fn next_ino(&mut self) -> u32 {
        self.ino += 1;
        self.ino
    }

    fn offset(&self) -> u32 {
        u32::try_from(self.image.len() % to_usize(self.format.block)).expect("within a block")
    }

    /// Whether a node of `length` bytes with `entry` bytes in the summary still fits into this block.
    fn fits(&self, length: u32, entry: u32) -> bool {
        self.room(entry) >= pad(length)
    }

    /// Bytes for a node with `entry` bytes in the summary that are left in this block.
    fn room(&self, entry: u32) -> u32 {
        let summary = if self.format.summary { self.summary.exact_length() + entry } else { 0 };
        let left = self.format.block - self.offset();
        // Nodes begin at multiples of four.
        left.saturating_sub(summary) / 4 * 4
    }

    /// Begins another block unless a node of `length` bytes fits into this one.
    fn reserve(&mut self, length: u32, entry: u32) -> Result<(), MkfsError> {
        self.begin_block();
        if !self.fits(length, entry) {
            self.end_block();
            self.begin_block();
        }
        debug_assert!(self.fits(length, entry), "Builder: a node of {length} bytes");
        let end = self.image.len() as u64 + u64::from(self.format.block);
        if end > u64::from(u32::MAX) { Err(MkfsError::TooLarge) } else { Ok(()) }
    }

    fn begin_block(&mut self) {
        if self.format.cleanmarkers && self.offset() == 0 {
            let node = cleanmarker_node(self.format.order);
            self.image.extend(node);
        }
    }

    fn end_block(&mut self) {
        let Format { block, order, .. } = self.format;
        let left = block - self.offset();
        if self.format.summary && self.summary.count() > 0 {
            let marker = if self.format.cleanmarkers { cleanmarker::SIZE } else { 0 };
            self.image.extend(self.summary.node(left, block, marker, order));
        } else {
            self.image.resize(self.image.len() + to_usize(left), 0xFF);
        }
        self.summary.reset();
    }

    /// Appends a node, for which there is room, and its entry in the summary.
    fn push(&mut self, node: &[u8], entry: Entry<'_>) {
        self.image.extend_from_slice(node);
        self.image.resize(self.image.len().next_multiple_of(4), 0xFF);
        if self.format.summary {
            self.summary.add(entry);
        }
    }

    /// Adds a name.
    ///
    /// # Errors
    /// [`MkfsError`].
    ///
    /// # Panics
    /// When the name is longer than 255 bytes.
    pub fn entry(&mut self, name: &Name<'_>) -> Result<(), MkfsError> {
        let Name { parent, name, ino, kind, time } = *name;
        let (version, kind) = (self.version, kind.dirent_type());
        let node = Dirent { parent, version, ino, mctime: time, kind, name };
        self.version += 1;
        let length = node.length();
        self.reserve(length, summary::DIRENT_SIZE + length_of(name))?;
        let mut bytes = vec![0; to_usize(length)];
        node.emit(&mut bytes, self.format.order);
        let offset = self.offset();
        self.push(&bytes, Entry::Dirent { length, offset, parent, version, ino, kind, name });
        Ok(())
    }

    /// Adds an inode that is no file, with the target of a symbolic link. The version of a directory is above
    /// those of the names in it where its times are to hold, and 1 otherwise.
    ///
    /// # Errors
    /// [`MkfsError`].
    ///
    /// # Panics
    /// When the target is longer than an erase block.
    pub fn inode(
        &mut self,
        ino: u32,
        inode: &Inode,
        version: u32,
        target: &[u8],
    ) -> Result<(), MkfsError> {
        let device = device_data(inode.kind, self.format.order);
        let data = if device.is_empty() { target } else { &device };
        self.reserve(INODE_SIZE + length_of(data), INODE_ENTRY)?;
        let isize = if inode.kind == Kind::Symlink { length_of(target) } else { 0 };
        let size = length_of(data);
        let node = InodeNode { isize, csize: size, dsize: size, ..node_of(ino, inode, version) };
        self.push_inode(node, data);
        Ok(())
    }

    /// Appends an inode node, for which there is room.
    fn push_inode(&mut self, node: InodeNode, data: &[u8]) {
        let node = InodeNode { data_crc: crc(0, data), ..node };
        let mut bytes = vec![0; to_usize(INODE_SIZE)];
        node.emit(&mut bytes, self.format.order);
        bytes.extend_from_slice(data);
        let (length, offset) = (length_of(&bytes), self.offset());
        let InodeNode { ino, version, .. } = node;
        self.push(&bytes, Entry::Inode { ino, version, offset, length });
    }

    /// Begins a file, whose content follows in the order of its offsets.
    #[must_use]
    pub const fn file(ino: u32, inode: &Inode) -> OpenFile {
        OpenFile { ino, inode: *inode, version: 0, end: 0 }
    }

    /// Adds content of a file: at most a [`PAGE`], behind what was added before.
    ///
    /// # Errors
    /// [`MkfsError`].
    pub fn data(&mut self, file: &mut OpenFile, offset: u32, data: &[u8]) -> Result<(), MkfsError> {
        self.hole(file, offset)?;
        let mut rest = data;
        while !rest.is_empty() {
            self.reserve(INODE_SIZE + DATA_MIN, INODE_ENTRY)?;
            let room = to_usize(self.room(INODE_ENTRY) - INODE_SIZE).min(rest.len());
            let (how, host, clock) = (self.format.compression, &mut self.host, &mut self.clock);
            let stored = self.compressors.compress(host, clock, how, rest, room);
            let bytes = self.compressors.take(stored);
            let (piece, more) = rest.split_at(stored.consumed);
            file.version += 1;
            let node = InodeNode {
                isize: file.inode.size,
                offset: file.end,
                csize: length_of(&bytes),
                dsize: length_of(piece),
                compressor: stored.compressor,
                ..node_of(file.ino, &file.inode, file.version)
            };
            self.push_inode(node, &bytes);
            self.compressors.give_back(bytes);
            file.end += length_of(piece);
            rest = more;
        }
        Ok(())
    }

    /// Ends a file: a hole up to its size, or an empty file.
    ///
    /// # Errors
    /// [`MkfsError`].
    pub fn end(&mut self, mut file: OpenFile) -> Result<(), MkfsError> {
        let size = file.inode.size;
        self.hole(&mut file, size)?;
        if size > 0 {
            return Ok(());
        }
        self.reserve(INODE_SIZE, INODE_ENTRY)?;
        let node = node_of(file.ino, &file.inode, file.version + 1);
        self.push_inode(node, &[]);
        Ok(())
    }

    /// Adds a hole from the end of a file's content to `offset`, if there is one.
    fn hole(&mut self, file: &mut OpenFile, offset: u32) -> Result<(), MkfsError> {
        if offset <= file.end {
            return Ok(());
        }
        self.reserve(INODE_SIZE, INODE_ENTRY)?;
        file.version += 1;
        let node = InodeNode {
            isize: file.inode.size,
            offset: file.end,
            dsize: offset - file.end,
            compressor: Compressor::Zero,
            ..node_of(file.ino, &file.inode, file.version)
        };
        self.push_inode(node, &[]);
        file.end = offset;
        Ok(())
    }

    /// Namespace, name and value of an attribute as JFFS2 stores them; `None` where it has no place for it.
    #[must_use]
    pub fn stored_attribute(
        &self,
        name: &[u8],
        value: &[u8],
    ) -> Option<(XattrPrefix, Vec<u8>, Vec<u8>)> {
        let (prefix, rest) = XattrPrefix::split(name)?;
        let is_list = matches!(prefix, XattrPrefix::AclAccess | XattrPrefix::AclDefault);
        let value = if is_list { acl::stored(value, self.format.order)? } else { value.to_vec() };
        let named = is_list || (1..=ATTRIBUTE_NAME_MAX).contains(&rest.len());
        let length = u64::from(XATTR_SIZE) + (rest.len() + 1 + value.len()) as u64;
        let marker = if self.format.cleanmarkers { cleanmarker::SIZE } else { 0 };
        let summary = if self.format.summary { summary::FRAME_SIZE + XATTR_ENTRY } else { 0 };
        let room = self.format.block.saturating_sub(marker + summary) / 4 * 4;
        let fits = u16::try_from(value.len()).is_ok() && length <= u64::from(room);
        (named && fits).then(|| (prefix, rest.to_vec(), value))
    }

    /// Adds an extended attribute of an inode, as [`Builder::stored_attribute`] gives it. Inodes share equal
    /// ones.
    ///
    /// # Errors
    /// [`MkfsError`].
    pub fn attribute(
        &mut self,
        ino: u32,
        (prefix, name, value): (XattrPrefix, Vec<u8>, Vec<u8>),
    ) -> Result<(), MkfsError> {
        let key = (prefix.number(), name, value);
        let xid = match self.attributes.get(&key) {
            Some(xid) => *xid,
            None => {
                let xid = u32::try_from(self.attributes.len()).expect("few attributes") + 1;
                let node = Xattr { xid, version: 1, prefix, name: &key.1, value: &key.2 };
                let length = node.length();
                self.reserve(length, XATTR_ENTRY)?;
                let mut bytes = vec![0; to_usize(length)];
                node.emit(&mut bytes, self.format.order);
                let offset = self.offset();
                self.push(&bytes, Entry::Xattr { xid, version: 1, offset, length });
                self.attributes.insert(key, xid);
                xid
            }
        };
        self.sequence += 2;
        self.reserve(REF_SIZE, XREF_SIZE)?;
        let mut bytes = vec![0; to_usize(REF_SIZE)];
        let node = Xref { ino, xid, sequence: self.sequence, removed: false };
        node.emit(&mut bytes, self.format.order);
        let offset = self.offset();
        self.push(&bytes, Entry::Xref { offset });
        Ok(())
    }

    /// The image, up to the end of its last block.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        if self.offset() > 0 {
            if self.format.block - self.offset() >= SPACE_MIN + self.summary.exact_length() {
                self.summary.disable();
            }
            self.end_block();
        }
        self.image
    }

    /// An erased block of this flash.
    #[must_use]
    pub fn erased_block(format: &Format) -> Vec<u8> {
        let mut block =
            if format.cleanmarkers { cleanmarker_node(format.order) } else { Vec::new() };
        block.resize(to_usize(format.block), 0xFF);
        block
    }
}

fn cleanmarker_node(order: ByteOrder) -> Vec<u8> {
    let mut node = vec![0; to_usize(cleanmarker::SIZE)];
    cleanmarker::NODE.emit(&mut node, order);
    node
}

/// An inode node without data.
fn node_of(ino: u32, inode: &Inode, version: u32) -> InodeNode {
    let Inode { kind, mode, uid, gid, time, .. } = *inode;
    InodeNode {
        ino,
        version,
        mode: kind.mode_bits() | mode & 0o7777,
        uid,
        gid,
        isize: 0,
        atime: time,
        mtime: time,
        ctime: time,
        offset: 0,
        csize: 0,
        dsize: 0,
        compressor: Compressor::None,
        user_compressor: 0,
        flags: 0,
        data_crc: 0,
    }
}

#[cfg(test)]
mod tests;
