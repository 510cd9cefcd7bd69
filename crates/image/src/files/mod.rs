//! The files of this machine that become an image, and what the filesystems make of them.
//!
//! Layer: rank 7. In reading order: this file, with what a filesystem is told ([`VolumeFormat`]) and what
//! it returns ([`NewFileSystem`]); [`tree`], the files with their names, which `folder`, `image` and
//! `archive` gather; `devices`, what a table of devices adds to them; `content`, their bytes, and `host`, those of
//! this machine; [`why`], what is left out; [`error`], why no image is made, and [`problem`], what is wrong in a
//! table or a list.

pub mod archive;
pub(crate) mod content;
mod counts;
pub(crate) mod devices;
pub mod error;
mod folder;
mod host;
mod image;
pub mod problem;
pub mod tree;
pub mod why;

pub use archive::problem::ArchiveProblem;
pub use counts::FileCounts;
pub use error::{IniProblem, MakeError};
pub use problem::FileProblem;
pub use tree::{Taking, Tree};
pub use why::{LeftOut, Why};

use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_codec::ByteOrder;
use boardlab_sim::{Bytes, Seed};
use std::fmt;

/// How content is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// LZO.
    Lzo,
    /// Deflate of zlib.
    Zlib,
    /// Zstandard.
    Zstd,
    /// JFFS2's repeats since the same byte.
    Rtime,
    /// LZO, but zlib where that is much smaller.
    FavorLzo,
    /// The first of zlib and rtime that makes the data smaller.
    Priority,
    /// The one of zlib and rtime that makes the data smallest.
    Size,
}

/// The name of the option's value.
impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "none",
            Self::Lzo => "lzo",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
            Self::Rtime => "rtime",
            Self::FavorLzo => "favor-lzo",
            Self::Priority => "priority",
            Self::Size => "size",
        })
    }
}

impl Compression {
    /// That a filesystem takes the `expected` ones only.
    pub(crate) fn refused(self, expected: &str) -> MakeError {
        let (option, found) = ("--compression", self.to_string());
        MakeError::Value { option, found, expected: expected.into() }
    }
}

/// The volume that a filesystem is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeFormat {
    /// Bytes of a LEB.
    pub leb_size: u32,
    /// The smallest write.
    pub min_io: u32,
    /// The LEBs that the filesystem may grow to.
    pub max_lebs: u32,
    /// The compression.
    pub compression: Compression,
    /// Whether the first mount rewrites LEBs that are partly erased.
    pub fix_up: bool,
    /// The seed of the identity.
    pub seed: Seed,
}

/// The flash that a filesystem is made for.
#[derive(Debug, Clone)]
pub struct FlashFormat {
    /// The flash, with the spare bytes that the image has.
    pub shape: Shape,
    /// The bits that the ECC corrects, in so many bytes each; `None` where the user leaves that open.
    pub ecc: Option<(u32, Bytes)>,
    /// The use of the spare bytes where that is not the one of Linux' software.
    pub spare: Option<Spare>,
    /// The place of the tags.
    pub tags: NewTags,
    /// The byte order.
    pub order: ByteOrder,
    /// The erase blocks of the flash; 0 where the user leaves that open.
    pub blocks: u32,
    /// The compression; `None` where the user leaves that open.
    pub compression: Option<Compression>,
    /// What JFFS2 has besides.
    pub jffs2: Jffs2Options,
    /// What LogFS has besides; the compression is the one above.
    pub logfs: boardlab_logfs::mkfs::Format,
    /// The bad blocks of the flash, in order.
    pub bad_blocks: Vec<u32>,
}

impl FlashFormat {
    /// For a flash, with everything else left open.
    pub(crate) fn of(shape: Shape) -> Self {
        Self {
            shape,
            ecc: None,
            spare: None,
            tags: NewTags::Free,
            order: ByteOrder::Little,
            blocks: 0,
            compression: None,
            jffs2: Jffs2Options::default(),
            logfs: boardlab_logfs::mkfs::Format::default(),
            bad_blocks: Vec::new(),
        }
    }

    /// The use of the spare bytes.
    ///
    /// # Errors
    /// Those of [`linux_spare`].
    pub(crate) fn spare(&self) -> Result<Spare, MakeError> {
        self.spare.clone().map_or_else(|| linux_spare(self.shape, self.ecc), Ok)
    }
}

/// What JFFS2 writes besides nodes of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jffs2Options {
    /// Whether full blocks end with a summary.
    pub summary: bool,
    /// Whether there are cleanmarkers, where the flash has a place for them.
    pub cleanmarkers: bool,
}

impl Default for Jffs2Options {
    fn default() -> Self {
        Self { summary: false, cleanmarkers: true }
    }
}

/// What may be done with the blocks of a new filesystem, for padding and bad blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Movable {
    /// They may lie anywhere on the flash, and erased ones behind them.
    #[default]
    Anywhere,
    /// As before, but a bad block cannot be marked, for this reason.
    Unmarked(&'static str),
    /// Each has its place, for this reason. Bad blocks are left out already.
    Fixed(&'static str),
}

/// Where the tags of a new YAFFS2 lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NewTags {
    /// In the spare bytes that the ECC of Linux leaves free.
    #[default]
    Free,
    /// From the first spare byte on, without ECC of the data, as mkyaffs2image writes them.
    Start,
    /// At the end of each page.
    InBand,
}

/// The code of Linux that needs no option.
const ECC: (u32, Bytes) = (1, Bytes::new(256));

/// The use of the spare bytes by Linux with an ECC of so many bits in so many bytes.
pub fn linux_spare(shape: Shape, ecc: Option<(u32, Bytes)>) -> Result<Spare, MakeError> {
    let (bits, step) = ecc.unwrap_or(ECC);
    let oob = shape.oob;
    let fits = shape.check().is_ok() && !oob.is_zero();
    let expected = "the spare bytes of a NAND page, such as 64".to_owned();
    let found = oob.get().to_string();
    if !fits {
        return Err(MakeError::Value { option: "--oob", found, expected });
    }
    Spare::linux(shape, bits, step).ok_or_else(|| MakeError::Value {
        option: "--ecc",
        found: format!("{bits}/{}", step.get()),
        expected: format!(
            "a code of Linux that fits {} spare bytes: 1/256 (Hamming), 4/512, 8/512 (BCH)",
            oob.get()
        ),
    })
}

/// A filesystem that was made.
#[derive(Debug, Clone, Default)]
pub struct NewFileSystem {
    /// Its name in the report.
    pub name: &'static str,
    /// Whether it lies on the flash itself, and not in a volume.
    pub on_flash: bool,
    /// What every one of its kind has besides, by path.
    pub implied: &'static [&'static [u8]],
    /// The volume, or the dump of a flash with OOB bytes.
    pub bytes: Vec<u8>,
    /// Its LEBs, or erase blocks.
    pub leb_count: u32,
    /// The least LEBs of a volume that it can be mounted on.
    pub volume_lebs: u32,
    /// What it holds.
    pub files: FileCounts,
    /// What may be done with its blocks.
    pub movable: Movable,
    /// An erased block as the filesystem leaves it in a dump; `None` where all of its bytes are 0xFF.
    pub erased: Option<Vec<u8>>,
}
