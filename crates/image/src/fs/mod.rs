//! The filesystems that can be mounted from an image, a file each: how one is recognised, what is told of its
//! flash, how it is mounted, and what is wrong with it.
//!
//! Layer: rank 7. Main types: [`FileSystemType`], an entry of the list [`ALL`]; [`Search`], which looks for one in
//! a file; [`System`], one that was found; [`Mounted`], one on the flash of the image. Whatever else is done with
//! images is done with these alone.

pub(crate) mod jffs2;

use crate::audit::Audit;
use crate::contents::Contents;
use crate::dump::Dump;
use crate::error::Error;
use crate::found::Found;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_codec::ByteOrder;
use boardlab_result::RunResult;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::FileSystem;
use std::fmt;
use std::ops::Range;

/// A filesystem that an image can have.
#[derive(Debug, Clone, Copy)]
pub struct FileSystemType {
    /// What people call it, as in [`Kind::FileSystem`](crate::Kind::FileSystem).
    pub name: &'static str,
    /// Begins to look for it.
    pub search: fn() -> Box<dyn Search>,
}

/// All that are built.
pub const ALL: &[FileSystemType] = &[jffs2::TYPE];

/// A piece of a file that is not erased.
#[derive(Debug)]
pub struct Window<'a> {
    /// Its bytes, and some behind it.
    pub bytes: &'a [u8],
    /// Where in the file they are.
    pub at: Bytes,
    /// Those of `bytes` that may begin something: from the first that is not erased to the end of the piece.
    pub begins: Range<usize>,
}

/// Looks for a filesystem in a file, which is untrusted.
pub trait Search {
    /// Looks at the next piece of the file.
    fn look(&mut self, window: &Window<'_>);

    /// Whether the rest of the file would tell no more.
    fn has_enough(&self) -> bool;

    /// Looks at the end of a file that was not gone through.
    fn look_at_end(&mut self, window: &Window<'_>);

    /// What was found, unless it lies within some `other` content, which headers tell.
    fn conclude(
        self: Box<Self>,
        contents: &Contents,
        other: &[Found],
    ) -> Option<(Found, Box<dyn System>)>;
}

/// What the user says of an image; `None` to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// Data bytes of a page.
    pub page: Option<Bytes>,
    /// Spare bytes after each page in the file; zero for none.
    pub oob: Option<Bytes>,
    /// Data bytes of an erase block.
    pub block: Option<Bytes>,
    /// The byte order.
    pub order: Option<ByteOrder>,
    /// Read what there is when the file ends too early.
    pub partial: bool,
}

/// A filesystem that was found in a file.
pub trait System: fmt::Debug {
    /// Its flash.
    fn shape(&self) -> Shape;

    /// What the spare bytes of its flash are for, where it has any.
    fn spare(&self, contents: &Contents) -> Option<Spare>;

    /// Adds its tables, warnings and findings to `run`; `audit` where it was mounted.
    fn tell(&self, run: &mut RunResult, contents: &Contents, audit: Option<&Audit>);

    /// Mounts it for reading. What it would change in the flash all the same stays beside the file.
    ///
    /// # Errors
    /// [`Error::WrongByteOrder`], [`Error::WrongPages`], [`Error::WrongBlock`], [`Error::Unsound`],
    /// [`Error::Truncated`], [`Error::Mount`].
    fn mount(&self, contents: &Contents, hints: &Hints) -> Result<Opened, Error>;
}

/// A filesystem on the flash of an image.
pub trait Mounted: FileSystem + fmt::Debug {
    /// The flash.
    fn dump(&self) -> &Dump;

    /// Reads everything on the flash and says what is wrong.
    ///
    /// # Errors
    /// [`Error::Audit`] when the flash answers with an error that is no bit error.
    fn audit(&mut self, clock: &mut Clock) -> Result<Audit, Error>;

    /// The inodes that something in `range` of the flash is of, in order.
    fn inodes_in(&self, range: Range<Bytes>) -> Vec<u32>;
}

/// A mounted image.
#[derive(Debug)]
pub struct Opened {
    /// The filesystem.
    pub fs: Box<dyn Mounted>,
    /// The clock of its operations, which cost nothing.
    pub clock: Clock,
    /// Where in the file the filesystem begins.
    pub at: Bytes,
    /// How long the file should be at least, when it is too short and that was allowed.
    pub truncated: Option<Bytes>,
}
