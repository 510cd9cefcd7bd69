//! A new filesystem with its files, as `mkfs.ubifs` makes it: every node is written once, and nothing is
//! obsolete.
//!
//! Layer: rank 5. Main types: [`Builder`], which takes names, content and inodes; [`Format`], the volume
//! that the image is for; [`Image`]. In reading order: this file, [`space`] with the LEBs of the main
//! area, `finish` with the index and all other areas.
//!
//! ```text
//!  superblock | master | commit start | LEB properties | orphans | leaf nodes ... | index ... | empty
//! ```
//! The areas have the sizes of the kernel's default filesystem on a volume of the largest size. The
//! version of the format is 4, as `mkfs.ubifs` writes it. Times are whole seconds.
//!
//! Source: mtd-utils 2.1, `mkfs.ubifs`, as far as its images show; Linux 6.1, `fs/ubifs/sb.c`.

mod finish;
mod space;

pub use space::Place;

use crate::compress::{Compressors, Packed, number};
use crate::error::MountError;
use crate::format::data::Data;
use crate::format::dirent::{Dirent, entry_type};
use crate::format::inode::{DATA_MAX, InodeNode, SIZE as INODE_SIZE, flag};
use crate::format::key::{Key, r5};
use crate::format::{BLOCK_SIZE, FIRST_INO, INUM_WATERMARK, ROOT_INO, u32_of};
use crate::inode::{SIZE_MAX, XATTR_LIST_MAX, encode_device};
use crate::layout::{LOG_LEB, Layout};
use crate::lpt::DefaultLpt;
use crate::options::{Compressor, Options};
use crate::superblock::create::Areas;
use crate::{LebIndex, Volume};
use boardlab_codec::lzo::Thorough;
use boardlab_sim::{Clock, Seed};
use boardlab_ubi::{RamLebs, Shape};
use boardlab_vfs::{Host, Kind, Timestamp};
use space::MainArea;
use std::collections::BTreeMap;
use std::fmt;

/// The most LEBs of a volume.
pub const LEBS_MAX: u32 = 1 << 22;
/// The largest file.
pub const FILE_MAX: u64 = SIZE_MAX;
/// The longest target of a symbolic link, and the longest value of an attribute.
pub const VALUE_MAX: usize = DATA_MAX;
/// Zlib must be better than LZO by so many percent to be taken in its place (`-X`).
const FAVOR_PERCENT: usize = 20;

/// The compression of file content (`-x`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// One compressor for all blocks.
    Only(Compressor),
    /// LZO, but zlib for blocks that it makes 20 % smaller than LZO (`favor_lzo`).
    FavorLzo,
}

/// The volume that an image is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Bytes of a LEB (`-e`).
    pub leb_size: u32,
    /// The smallest write (`-m`).
    pub min_io: u32,
    /// The LEBs that the filesystem may grow to (`-c`), at most [`LEBS_MAX`].
    pub max_lebs: u32,
    /// The compression.
    pub compression: Compression,
    /// Whether the first mount rewrites LEBs that are partly erased (`-F`).
    pub fix_up: bool,
    /// The seed of the identity.
    pub seed: Seed,
}

/// An inode without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inode<'a> {
    /// What it is.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Names of a file; of a directory they are counted.
    pub links: u32,
    /// Bytes of a file's content.
    pub size: u64,
    /// Last access.
    pub accessed: Timestamp,
    /// Last change of the content.
    pub modified: Timestamp,
    /// Last change of the attributes.
    pub changed: Timestamp,
    /// The target of a symbolic link.
    pub target: &'a [u8],
    /// Extended attributes: name and value, which [`Builder::takes_attribute`] takes.
    pub attributes: &'a [(Vec<u8>, Vec<u8>)],
}

/// Why no image can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MkfsError {
    /// UBIFS cannot lie on such a volume.
    Volume(MountError),
    /// The files need more LEBs than the filesystem may have.
    NoSpace {
        /// The LEBs that are needed.
        needed: u32,
        /// The most ([`Format::max_lebs`]).
        max: u32,
    },
    /// There are more inodes than numbers.
    NoNumber,
}

impl From<MountError> for MkfsError {
    fn from(error: MountError) -> Self {
        Self::Volume(error)
    }
}

impl From<crate::Error> for MkfsError {
    fn from(error: crate::Error) -> Self {
        Self::Volume(error.into())
    }
}

impl fmt::Display for MkfsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Volume(error) => error.fmt(f),
            Self::NoSpace { needed, max } => {
                write!(
                    f,
                    "the files need {needed} logical erase blocks, the filesystem may have {max}"
                )
            }
            Self::NoNumber => f.write_str("there are more files than inode numbers"),
        }
    }
}

impl std::error::Error for MkfsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Volume(error) => Some(error),
            _ => None,
        }
    }
}

/// A finished image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// All LEBs one after another, erased bytes as 0xFF.
    pub bytes: Vec<u8>,
    /// How many LEBs there are.
    pub leb_count: u32,
    /// The least LEBs of a volume that the image can be mounted on: its journal must fit.
    pub volume_lebs: u32,
}

fn length(bytes: &[u8]) -> u64 {
    u64::from(u32_of(bytes.len()))
}

/// A leaf node, for the index.
#[derive(Debug)]
struct Leaf {
    key: Key,
    /// The name of an entry, which orders those with the same key.
    name: Vec<u8>,
    at: Place,
}

/// What the entries of a directory add up to.
#[derive(Debug, Clone, Copy, Default)]
struct Entries {
    size: u64,
    directories: u32,
}

/// Makes an image. A directory comes after all of its entries, the root directory last.
#[derive(Debug)]
pub struct Builder {
    volume: Volume<RamLebs>,
    clock: Clock,
    host: Host,
    compressors: Compressors,
    lzo: Thorough,
    format: Format,
    areas: Areas,
    lpt: DefaultLpt,
    main: MainArea,
    leaves: Vec<Leaf>,
    entries: BTreeMap<u32, Entries>,
    /// The sequence numbers at the creation of inodes that are not added yet: the kernel expects those
    /// of their content above.
    created: BTreeMap<u32, u64>,
    highest_ino: u32,
}

impl Builder {
    /// An image without any node.
    ///
    /// # Errors
    /// [`MkfsError::Volume`] when UBIFS cannot lie on such a volume.
    pub fn new(format: Format) -> Result<Self, MkfsError> {
        let Format { leb_size, min_io, max_lebs, seed, .. } = format;
        let many = |problem, found: u32, limit: u32| MountError::Shape {
            problem,
            found: found.into(),
            limit: limit.into(),
        };
        if max_lebs > LEBS_MAX {
            return Err(many("the number of LEBs", max_lebs, LEBS_MAX).into());
        }
        let min_io = min_io.max(8);
        let shape =
            Shape { leb_count: max_lebs, leb_size, leb_start: 0, min_io, max_write: min_io };
        let layout = Layout::early(&shape)?;
        if !leb_size.is_multiple_of(min_io) {
            let whole = leb_size - leb_size % min_io;
            return Err(many("the size of a LEB (whole writes)", leb_size, whole).into());
        }
        let options = Options { seed, ..Options::default() };
        let mut volume = Volume::new(RamLebs::new(shape), layout, options);
        volume.layout.max_leb_count = max_lebs;
        volume.sb.lsave_count = crate::layout::LSAVE_DEFAULT;
        let areas = Areas::of(&volume.layout);
        let lpt = volume.size_new_lpt(LebIndex(LOG_LEB.0 + areas.log), areas.rest)?;
        let first = LebIndex(LOG_LEB.0 + areas.log + lpt.lpt_lebs + areas.orphans);
        volume.layout.main_first = first;
        let created = volume.next_sqnum();
        Ok(Self {
            main: MainArea::new(first, &volume.layout),
            volume,
            clock: Clock::new(),
            host: Host::free(),
            compressors: Compressors::default(),
            lzo: Thorough::default(),
            format,
            areas,
            lpt,
            leaves: Vec::new(),
            entries: BTreeMap::new(),
            created: BTreeMap::from([(ROOT_INO, created)]),
            highest_ino: FIRST_INO - 1,
        })
    }

    /// The number of the root directory.
    #[must_use]
    pub const fn root(&self) -> u32 {
        ROOT_INO
    }

    /// Whether an inode that has the attributes `before` can have one more: its name, the length of its
    /// value, and the number of attributes have limits.
    #[must_use]
    pub fn takes_attribute(
        &self,
        before: &[(Vec<u8>, Vec<u8>)],
        name: &[u8],
        value: &[u8],
    ) -> bool {
        let names: u64 = before.iter().map(|(name, _)| length(name) + 1).sum();
        crate::xattr::check_name(name).is_ok()
            && value.len() <= VALUE_MAX
            && u32_of(before.len()) < self.volume.xattr_count_max()
            && names + length(name) < XATTR_LIST_MAX
    }

    /// A number for an inode.
    ///
    /// # Errors
    /// [`MkfsError::NoNumber`].
    pub fn next_ino(&mut self) -> Result<u32, MkfsError> {
        if self.highest_ino + 1 >= INUM_WATERMARK {
            return Err(MkfsError::NoNumber);
        }
        self.highest_ino += 1;
        let sqnum = self.volume.next_sqnum();
        self.created.insert(self.highest_ino, sqnum);
        Ok(self.highest_ino)
    }

    /// Adds a name to a directory.
    ///
    /// # Errors
    /// Any of the volume in memory.
    pub fn entry(
        &mut self,
        dir: u32,
        name: &[u8],
        (ino, kind): (u32, Kind),
    ) -> Result<(), MkfsError> {
        let entries = self.entries.entry(dir).or_default();
        entries.size += u64::from(crate::dir::entry_size(name));
        entries.directories += u32::from(kind == Kind::Directory);
        let key = Key::dirent(dir, r5(name));
        let itype = entry_type(kind);
        let node = Dirent { key, inum: u64::from(ino), itype, cookie: 0, name: name.to_vec() };
        self.leaf(key, name, node.emit())
    }

    /// Adds a block of a file's content; a block of zeros becomes a hole.
    ///
    /// # Errors
    /// Any of the volume in memory.
    ///
    /// # Panics
    /// When there is none or more than one block of content.
    pub fn block(&mut self, ino: u32, block: u32, content: &[u8]) -> Result<(), MkfsError> {
        assert!((1..=BLOCK_SIZE).contains(&content.len()), "a block of {} bytes", content.len());
        if content.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        let Packed { compr_type, bytes } = self.compress(content);
        let key = Key::data(ino, block);
        let size = u32_of(content.len());
        let node = Data { key, size, compr_type, compr_size: 0, data: &bytes };
        self.leaf(key, &[], node.emit())
    }

    /// Adds an inode with its extended attributes.
    ///
    /// # Errors
    /// [`MkfsError::NoNumber`] for the attributes; any of the volume in memory.
    pub fn inode(&mut self, ino: u32, inode: &Inode<'_>) -> Result<(), MkfsError> {
        let entries = self.entries.remove(&ino).unwrap_or_default();
        let (size, nlink, data) = match inode.kind {
            Kind::Directory => {
                let own = u64::from(u32_of(INODE_SIZE));
                (own + entries.size, 2 + entries.directories, Vec::new())
            }
            Kind::Symlink => (length(inode.target), inode.links, inode.target.to_vec()),
            Kind::Character(device) | Kind::Block(device) => {
                (0, inode.links, encode_device(device))
            }
            _ => (inode.size, inode.links, Vec::new()),
        };
        let mut node = InodeNode {
            mode: inode.kind.mode_bits() | inode.mode,
            uid: inode.uid,
            gid: inode.gid,
            size,
            nlink,
            data,
            ..self.new_inode(ino, [inode.accessed, inode.changed, inode.modified])
        };
        for (name, value) in inode.attributes {
            let used = crate::dir::entry_size(name) + crate::xattr::value_size(value.len());
            node.xattr_cnt += 1;
            node.xattr_size += used;
            node.xattr_names += u32_of(name.len());
            self.attribute(&node, name, value)?;
        }
        self.leaf(node.key, &[], node.emit())
    }

    /// Adds an extended attribute: an inode with the value, and an entry of its host.
    fn attribute(&mut self, host: &InodeNode, name: &[u8], value: &[u8]) -> Result<(), MkfsError> {
        let ino = self.next_ino()?;
        let node = InodeNode {
            mode: Kind::File.mode_bits() | 0o777,
            nlink: 1,
            size: length(value),
            data: value.to_vec(),
            ..self.new_inode(ino, [host.accessed, host.changed, host.modified])
        };
        let node = InodeNode { flags: node.flags | flag::XATTR, ..node };
        self.leaf(node.key, &[], node.emit())?;
        let key = Key::xattr(host.key.ino(), r5(name));
        let itype = entry_type(Kind::File);
        let entry = Dirent { key, inum: u64::from(ino), itype, cookie: 0, name: name.to_vec() };
        self.leaf(key, name, entry.emit())
    }

    /// An inode of which only number, times and flags are filled in.
    fn new_inode(&mut self, ino: u32, times: [Timestamp; 3]) -> InodeNode {
        let [accessed, changed, modified] = times.map(|time| Timestamp::seconds(time.seconds));
        let compr_type = self.default_compressor();
        let created = self.created.remove(&ino);
        InodeNode {
            creat_sqnum: created.unwrap_or_else(|| self.volume.next_sqnum()),
            accessed,
            changed,
            modified,
            flags: if compr_type == number::NONE { 0 } else { flag::COMPR },
            compr_type,
            ..InodeNode::zeroed(Key::inode(ino))
        }
    }

    /// Writes a leaf node.
    fn leaf(&mut self, key: Key, name: &[u8], mut node: Vec<u8>) -> Result<(), MkfsError> {
        self.volume.prepare_node(&mut self.clock, &mut node, false);
        let at = self.main.append(&mut self.clock, &mut self.volume, &node)?;
        self.leaves.push(Leaf { key, name: name.to_vec(), at });
        Ok(())
    }

    /// The number of the compressor in inodes and superblock.
    const fn default_compressor(&self) -> u16 {
        match self.format.compression {
            Compression::Only(Compressor::None) => number::NONE,
            Compression::Only(Compressor::Lzo) | Compression::FavorLzo => number::LZO,
            Compression::Only(Compressor::Zlib) => number::ZLIB,
            Compression::Only(Compressor::Zstd) => number::ZSTD,
        }
    }

    fn compress(&mut self, content: &[u8]) -> Packed {
        if self.format.compression == Compression::FavorLzo {
            let (lzo, zlib) = (self.lzo(content), self.compress_with(number::ZLIB, content));
            let is_better = zlib.bytes.len() * 100 <= lzo.bytes.len() * (100 - FAVOR_PERCENT);
            return if is_better { zlib } else { lzo };
        }
        match self.default_compressor() {
            number::LZO => self.lzo(content),
            compressor => self.compress_with(compressor, content),
        }
    }

    fn compress_with(&mut self, compr_type: u16, content: &[u8]) -> Packed {
        self.compressors.compress(&mut self.host, &mut self.clock, compr_type, content)
    }

    /// LZO as `mkfs.ubifs` has it: there is more time than on a board.
    fn lzo(&mut self, content: &[u8]) -> Packed {
        Packed::of(number::LZO, content, |room| self.lzo.compress(content, room))
    }
}

#[cfg(test)]
mod tests;
