//! The files of this machine that become an image, and what the filesystems make of them.
//!
//! Layer: rank 7. In reading order: this file, with what a filesystem is told ([`VolumeFormat`]) and what
//! it returns ([`NewFileSystem`]); [`tree`], the files of a folder; [`error`], why no image is made.

pub mod error;
pub mod tree;

pub use boardlab_ubifs::Compressor;
pub use boardlab_ubifs::mkfs::Compression;
pub use error::{IniProblem, MakeError};
pub use tree::{LeftOut, Taking, Tree};

use crate::shape::Shape;
use boardlab_codec::ByteOrder;
use boardlab_sim::{Bytes, Seed};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlashFormat {
    /// The flash, with the spare bytes that the image has.
    pub shape: Shape,
    /// The bits that the ECC corrects, in so many bytes each; `None` where the user leaves that open.
    pub ecc: Option<(u32, Bytes)>,
    /// The place of the tags.
    pub tags: NewTags,
    /// The byte order.
    pub order: ByteOrder,
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

/// A filesystem that was made.
#[derive(Debug, Clone, Default)]
pub struct NewFileSystem {
    /// Its name in the report.
    pub name: &'static str,
    /// Whether it lies on the flash itself, and not in a volume.
    pub on_flash: bool,
    /// The volume, or the dump of a flash with OOB bytes.
    pub bytes: Vec<u8>,
    /// Its LEBs, or erase blocks.
    pub leb_count: u32,
    /// The least LEBs of a volume that it can be mounted on.
    pub volume_lebs: u32,
    /// Folders.
    pub directories: u64,
    /// Files, each counted once.
    pub files: u64,
    /// Further names of files.
    pub links: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Devices, pipes and sockets.
    pub special: u64,
    /// Bytes of content, holes included.
    pub content: u64,
}
