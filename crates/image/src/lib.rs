//! Flash images in files.
//!
//! Layer: rank 7; faces the operating system: files are opened here and nowhere below. A file is
//! never changed. In reading order:
//!
//! - [`contents`]: [`Contents`], the bytes of a file or of memory, read where they are asked for.
//! - [`shape`]: [`Shape`], page, spare bytes and erase block of the flash that was dumped.
//! - [`spare`]: [`Spare`], what each spare byte of a page is for.
//! - [`dump`]: [`Dump`], the file as a flash that can be read, programmed and erased.
//! - [`health`]: [`Health`], what its error correction met.
//! - [`identify`]: [`Identity`], what is in a file, of which flash, and how that is known.
//! - [`choose`]: [`Hints`] of the user against what the nodes say.
//! - [`open`](mod@open): [`Opened`], the image mounted.
//! - [`damage`]: [`Damage`], what is wrong with it, and which files that touches.
//! - [`walk`]: [`Walk`] over every name of a filesystem, whatever is wrong with it.
//! - [`extract`](mod@extract): the files written into a folder, and nowhere else.
//! - [`names`]: names that are untrusted, as text.
//! - [`tables`]: all of that as a typed result.
//! - [`create`]: a flash written to a file.
//! - [`error`]: [`Error`], why an image is not opened: where, what was found, what was expected,
//!   what would fit.

pub mod choose;
pub mod contents;
pub mod create;
pub mod damage;
pub mod dump;
pub mod error;
pub mod extract;
pub mod health;
pub mod identify;
pub mod names;
pub mod open;
pub mod shape;
pub mod spare;
pub mod tables;
pub mod walk;

pub use choose::{Choice, Hints};
pub use contents::Contents;
pub use damage::Damage;
pub use dump::Dump;
pub use error::Error;
pub use extract::{Limits, extract};
pub use health::Health;
pub use identify::{ByteOrder, Confidence, Found, Identity, Kind, identify};
pub use open::{Opened, open};
pub use shape::Shape;
pub use spare::Spare;
pub use walk::Walk;
