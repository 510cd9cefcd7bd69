//! Flash images in files.
//!
//! Layer: rank 7; faces the operating system: files are opened here and nowhere below. A file is
//! never changed. In reading order:
//!
//! - [`shape`]: [`Shape`], page, spare bytes and erase block of the flash that was dumped.
//! - [`found`]: [`Found`], one content of a file, and why it is taken for that.
//! - [`contents`]: [`Contents`], the bytes of a file or of memory, read where they are asked for.
//! - [`spare`]: [`Spare`], what each spare byte of a page is for.
//! - [`dump`]: [`Dump`], the file as a flash that can be read, programmed and erased.
//! - [`health`]: [`Health`], what its error correction met.
//! - [`audit`]: [`Audit`](audit::Audit), what a filesystem says is wrong with it.
//! - [`fs`]: the filesystems that can be mounted, a file each; [`Hints`] of the user, and [`Opened`].
//! - [`identify`](mod@identify): [`Identity`], what is in a file, of which flash, and how that is known.
//! - [`open`](mod@open): the filesystem in an image mounted.
//! - [`damage`]: [`Damage`], what is wrong with it, and which files that touches.
//! - [`walk`]: [`Walk`] over every name of a filesystem, whatever is wrong with it.
//! - [`extract`](mod@extract): the files written into a folder, and nowhere else.
//! - [`names`]: names that are untrusted, as text.
//! - [`tables`]: all of that as a typed result.
//! - [`create`]: a flash written to a file.
//! - [`error`]: [`Error`], why an image is not opened: where, what was found, what was expected,
//!   what would fit.

pub mod audit;
pub mod contents;
pub mod create;
pub mod damage;
pub mod dump;
pub mod error;
pub mod extract;
pub mod found;
pub mod fs;
pub mod health;
pub mod identify;
pub mod names;
pub mod open;
pub mod shape;
pub mod spare;
pub mod tables;
pub mod walk;

pub use boardlab_codec::ByteOrder;
pub use contents::Contents;
pub use damage::Damage;
pub use dump::Dump;
pub use error::Error;
pub use extract::{Limits, extract};
pub use found::{Confidence, Found, Kind};
pub use fs::{Hints, Opened};
pub use health::Health;
pub use identify::{Identity, identify, identify_types};
pub use open::{open, open_types};
pub use shape::Shape;
pub use spare::Spare;
pub use walk::Walk;
