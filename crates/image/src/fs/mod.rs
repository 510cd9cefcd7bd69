//! The filesystems that can be mounted from an image, one file each: detection, the properties of
//! the flash, mount, and audit.
//!
//! Layer: rank 7. Main types: [`FileSystemType`], an entry of the list [`ALL`]; [`Detector`], which
//! searches a file; [`DetectedFileSystem`], one that was found; [`ImageFileSystem`], one mounted on
//! the flash of the image. All other operations on images use only these.

pub(crate) mod jffs2;
mod ubifs;

use crate::audit::Audit;
use crate::contents::Contents;
use crate::detection::Detection;
use crate::dump::Dump;
use crate::error::Error;
use crate::files::{MakeError, NewFileSystem, Tree, VolumeFormat};
use crate::finding::Finding;
use crate::places::Places;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_codec::ByteOrder;
use boardlab_result::RunResult;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::FileSystem;
use std::fmt;
use std::ops::Range;

/// A type of filesystem.
#[derive(Debug, Clone, Copy)]
pub struct FileSystemType {
    /// The usual name, as in [`Kind::FileSystem`](crate::Kind::FileSystem).
    pub name: &'static str,
    /// Starts a search for it.
    pub search: fn() -> Box<dyn Detector>,
    /// Makes one of the files of a folder; `None` while that is not built.
    pub create: Option<Create>,
}

/// Makes a filesystem of files for a volume. What it has no place for is noted among the files.
pub type Create = fn(&mut Tree, &VolumeFormat) -> Result<NewFileSystem, MakeError>;

/// All supported filesystems.
pub const ALL: &[FileSystemType] = &[jffs2::TYPE, ubifs::TYPE];

/// A part of a file that is not erased.
#[derive(Debug)]
pub struct Window<'a> {
    /// The bytes, and some after the part.
    pub bytes: &'a [u8],
    /// Their offset in the file.
    pub at: Bytes,
    /// The range of `bytes` in which content may begin: from the first byte that is not erased to
    /// the end of the part.
    pub begins: Range<usize>,
}

/// Searches an untrusted file for a filesystem.
pub trait Detector {
    /// Examines the next part of the file.
    fn look(&mut self, window: &Window<'_>);

    /// Whether the rest of the file would give no more information.
    fn has_enough(&self) -> bool;

    /// Examines the end of a file that was not searched completely.
    fn look_at_end(&mut self, window: &Window<'_>);

    /// Concludes the search. A filesystem within `other` content, which has a header of its own, is
    /// ignored.
    fn conclude(
        self: Box<Self>,
        contents: &Contents,
        other: &[Detection],
    ) -> Option<(Detection, Box<dyn DetectedFileSystem>)>;
}

/// What the user specifies of an image; `None` to detect it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hints {
    /// Data bytes of a page.
    pub page: Option<Bytes>,
    /// OOB bytes after each page in the file; zero for none.
    pub oob: Option<Bytes>,
    /// Data bytes of an erase block.
    pub block: Option<Bytes>,
    /// The byte order.
    pub order: Option<ByteOrder>,
    /// Whether to read a truncated file.
    pub partial: bool,
    /// The name or the number of the UBI volume.
    pub volume: Option<String>,
}

/// A filesystem that was detected in a file.
pub trait DetectedFileSystem: fmt::Debug {
    /// Its flash.
    fn shape(&self) -> Shape;

    /// The use of the OOB bytes of its flash, where it has any.
    fn spare(&self, contents: &Contents) -> Option<Spare>;

    /// Adds its tables, warnings and findings to `run`; `audit` is given when it was mounted.
    fn tell(&self, run: &mut RunResult, contents: &Contents, audit: Option<&Audit>);

    /// Whether it can be mounted without a hint which of several filesystems is meant.
    fn is_single(&self) -> bool {
        true
    }

    /// Mounts it for reading. Changes of the flash that the mount makes stay in memory.
    ///
    /// # Errors
    /// [`Error::WrongByteOrder`], [`Error::WrongPages`], [`Error::WrongBlock`], [`Error::Unsound`],
    /// [`Error::Truncated`], [`Error::Mount`].
    fn mount(&self, contents: &Contents, hints: &Hints) -> Result<MountedImage, Error>;

    /// Checks what is below it, and changes nothing. Returns the hints with which a check then mounts it,
    /// each of them once.
    ///
    /// # Errors
    /// Those of [`DetectedFileSystem::mount`] but [`Error::Mount`].
    fn check_below(
        &self,
        _contents: &Contents,
        hints: &Hints,
    ) -> Result<(Vec<Finding>, Vec<Hints>), Error> {
        Ok((Vec::new(), vec![hints.clone()]))
    }
}

/// A filesystem on the flash of an image.
pub trait ImageFileSystem: FileSystem + fmt::Debug {
    /// The flash.
    fn dump(&self) -> &Dump;

    /// Reads the whole flash and reports the damage.
    ///
    /// # Errors
    /// [`Error::Audit`] when the flash returns an error other than a bit error.
    fn audit(&mut self, clock: &mut Clock) -> Result<Audit, Error>;

    /// What its own checks find besides the audit, which has run.
    fn findings(&mut self, _clock: &mut Clock, _places: &Places) -> Vec<Finding> {
        Vec::new()
    }

    /// The inodes with data in `range` of the flash, in order.
    fn inodes_in(&self, range: Range<Bytes>) -> Vec<u32>;
}

/// A mounted image.
#[derive(Debug)]
pub struct MountedImage {
    /// The filesystem.
    pub fs: Box<dyn ImageFileSystem>,
    /// The clock of its operations, which take no time.
    pub clock: Clock,
    /// The offset of the filesystem in the file.
    pub at: Bytes,
    /// The minimum length of the file, when it is truncated and that was allowed.
    pub truncated: Option<Bytes>,
}
