//! Flash images in files.
//!
//! Layer: rank 7; faces the operating system: no lower crate opens files. A file is never changed.
//! In reading order:
//!
//! - [`shape`]: [`Shape`], page size, OOB size and erase block size of the dumped flash.
//! - [`detection`]: [`Detection`], one content of a file, and the evidence for it.
//! - [`patches`]: blocks in place of those of a file.
//! - [`controller`]: ECC and OOB layouts of controllers, by name.
//! - Not public, `file`: a file whose bytes may stay in memory.
//! - [`contents`]: [`Contents`], the bytes of a file or of memory, read on demand.
//! - [`spare`]: [`Spare`], the use of each OOB byte of a page.
//! - [`ecc`]: finds the code and the layout of a dump by looking.
//! - [`dump`]: [`Dump`], the file as a flash that can be read, programmed and erased.
//! - [`overlay`]: the changes of a dump, in a file beside it.
//! - [`health`]: [`Health`], the results of its error correction.
//! - [`audit`]: [`Audit`](audit::Audit), the damage that a filesystem reports.
//! - [`fs`]: the filesystems that can be mounted, one file each; [`Hints`] of the user, and
//!   [`MountedImage`].
//! - Not public, `magic`: the headers of other content.
//! - [`identify`](mod@identify): [`Identity`], the contents of a file, the flash it was taken from,
//!   and the evidence.
//! - [`partitions`](mod@partitions): what is in a flash, one piece behind the other.
//! - [`rebuild`]: the commands that would make such an image.
//! - [`block_map`](mod@block_map): entropy and erased pages of each block.
//! - [`open`](mod@open): mounts the filesystem in an image.
//! - [`places`]: [`Places`](places::Places), block, page and offset in the file.
//! - [`damage`]: [`Damage`], the damage of an image, and the files that it affects; [`PendingDamage`],
//!   which is determined while files are read.
//! - [`walk`]: [`Walk`] over every name of a filesystem, however damaged it is.
//! - [`extract`](mod@extract): the files written into a folder, and nowhere else; the report does not
//!   depend on its threads.
//! - [`deleted`]: files that were deleted, as far as they are still on the flash.
//! - [`gather`](mod@gather): the files of an image as a tree, for archives and other images.
//! - [`diff`](mod@diff): what differs between two trees, and between the blocks of two files.
//! - [`convert`](mod@convert): an image of the files of another one, compared with it.
//! - [`metadata`](mod@metadata): owners, devices and attributes as JSON.
//! - [`pages`]: pages corrected, without spare bytes, or with other ones.
//! - [`cat`](mod@cat): the content of one file. [`pattern`]: patterns of names.
//! - [`names`]: untrusted names as text; [`date`]: times.
//! - [`tables`]: all of this as a typed result.
//! - [`inspect`]: from a file to such a result, for the faces.
//! - [`create`]: writes a flash to a file.
//! - [`check`](mod@check): every fault of an image, each a [`Finding`](finding::Finding).
//! - [`repair`](mod@repair): a new image of everything that can be read of a damaged one.
//! - [`files`]: the files that become an image, of a folder, an archive or an image. [`make`]: new images of
//!   them, or of volumes.
//! - [`error`]: [`Error`], why an image is not opened: where, what was found, what was expected,
//!   what would fit.

pub mod audit;
pub mod block_map;
pub mod cat;
pub mod check;
pub mod contents;
pub mod controller;
pub mod convert;
pub mod create;
pub mod damage;
pub mod date;
pub mod deleted;
pub mod detection;
pub mod diff;
pub mod dump;
pub mod ecc;
pub mod error;
pub mod extract;
mod file;
pub mod files;
pub mod finding;
pub mod fs;
pub mod gather;
pub mod health;
pub mod identify;
pub mod inspect;
mod magic;
pub mod make;
pub mod metadata;
pub mod names;
pub mod open;
pub mod overlay;
pub mod pages;
pub mod partitions;
pub mod patches;
pub mod pattern;
pub mod places;
pub mod rebuild;
pub mod repair;
pub mod shape;
pub mod spare;
pub mod tables;
pub mod walk;

pub use boardlab_codec::ByteOrder;
pub use contents::Contents;
pub use damage::{Damage, PendingDamage};
pub use detection::{Confidence, Detection, Kind};
pub use dump::{Change, Dump, Journal};
pub use error::{Error, VolumeError};
pub use extract::{Beside, Limits, extract};
pub use fs::{Hints, MountedImage};
pub use health::Health;
pub use identify::{Identity, identify, identify_types};
pub use open::{carve, detect, open, open_types, prepare};
pub use shape::Shape;
pub use spare::Spare;
pub use walk::Walk;
