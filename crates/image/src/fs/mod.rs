//! The filesystems that can be mounted from an image, one file each: detection, the properties of
//! the flash, mount, and audit.
//!
//! Layer: rank 7. Main types: [`FileSystemType`], an entry of the list [`ALL`]; [`Detector`], which
//! searches a file; [`DetectedFileSystem`], one that was found; [`ImageFileSystem`], one mounted on
//! the flash of the image. All other operations on images use only these.

pub(crate) mod jffs2;
mod logfs;
mod recipe;
mod ubifs;
mod yaffs2;

pub use recipe::Recipe;
pub(crate) use recipe::{RecipeContent, RecipeVolume};
pub use ubifs::RawVolumeReport;

use crate::audit::Audit;
use crate::contents::Contents;
use crate::controller::CodePattern;
use crate::deleted::Remnants;
use crate::detection::Detection;
use crate::dump::Dump;
use crate::error::Error;
use crate::files::{FlashFormat, MakeError, NewFileSystem, Tree, VolumeFormat};
use crate::finding::Finding;
use crate::places::Places;
use crate::rebuild::RebuildStep;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_codec::ByteOrder;
use boardlab_result::RunResult;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{FileSystem, WallClock};
use std::fmt;
use std::io;
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
    /// Makes one that lies on the flash itself; `None` for one in a volume, and while that is not built.
    pub create_dump: Option<CreateDump>,
}

/// Makes a filesystem of files for a volume. What it has no place for is noted among the files.
pub type Create = fn(&mut Tree, &VolumeFormat) -> Result<NewFileSystem, MakeError>;

/// Makes a filesystem of files as a dump of a flash. What it has no place for is noted among the files.
pub type CreateDump = fn(&mut Tree, &FlashFormat) -> Result<NewFileSystem, MakeError>;

/// All supported filesystems.
pub const ALL: &[FileSystemType] = &[jffs2::TYPE, ubifs::TYPE, yaffs2::TYPE, logfs::TYPE];

/// Searches an untrusted file for a filesystem: it judges each place with one of its magic numbers.
pub trait Detector {
    /// The magic numbers that its headers begin with, of at most [`HEADER_MAX`] bytes.
    fn magics(&self) -> &'static [&'static [u8]];

    /// Judges a place in the file, each one after those before it. `head` are its first [`HEADER_MAX`]
    /// bytes, fewer at the end of the file.
    fn look(&mut self, at: Bytes, head: &[u8]);

    /// Whether the rest of the file would give no more information.
    fn has_enough(&self) -> bool;

    /// Judges a place at the end of a file that was not searched completely.
    fn look_at_end(&mut self, at: Bytes, head: &[u8]);

    /// What covers the whole file and begins with a header that says so: such a file need not be searched.
    fn covers(&self, _contents: &Contents) -> Option<Box<dyn DetectedFileSystem>> {
        None
    }

    /// Concludes the search. A filesystem within `other` content, which has a header of its own, is
    /// ignored.
    fn conclude(
        self: Box<Self>,
        contents: &Contents,
        other: &[Detection],
    ) -> Option<(Detection, Box<dyn DetectedFileSystem>)>;
}

/// The bytes of a place that a [`Detector`] sees: the longest header.
pub const HEADER_MAX: usize = 12;

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
    /// The number of an older commit of UBIFS.
    pub commit: Option<u64>,
    /// The last sequence number of an older state of YAFFS, or the time of one of JFFS2, in seconds since 1970.
    pub as_of: Option<u64>,
    /// Mount for writing, with the calendar time at the beginning; `None` mounts for reading.
    pub write: Option<WallClock>,
    /// The name of the layout of the OOB bytes.
    pub spare: Option<String>,
    /// The code of the data.
    pub ecc: Option<CodePattern>,
}

impl Hints {
    /// Whether it is mounted for reading.
    const fn reads_only(&self) -> bool {
        self.write.is_none()
    }

    /// The calendar time at the beginning of the mount.
    fn wall(&self) -> WallClock {
        self.write.unwrap_or_default()
    }

    /// The flash that was found, with what the user says of it instead.
    fn shape_over(&self, found: Shape) -> Result<Shape, Error> {
        let shape = Shape {
            page: self.page.unwrap_or(found.page),
            oob: self.oob.unwrap_or(found.oob),
            block: self.block.unwrap_or(found.block),
        };
        shape.check().map_err(|problem| Error::Unsound { problem })?;
        Ok(shape)
    }
}

/// A filesystem that was detected in a file.
pub trait DetectedFileSystem: fmt::Debug {
    /// The same filesystem, at the same place of the same flash, in an image that was changed: nothing is looked
    /// for anew, for a changed filesystem may hold anything, and images of others in its files.
    fn of_changed(&self, contents: &Contents) -> Box<dyn DetectedFileSystem>;

    /// Its flash.
    fn shape(&self) -> Shape;

    /// The use of the OOB bytes of its flash, where it has any.
    fn spare(&self, contents: &Contents) -> Option<Spare>;

    /// Adds its tables, warnings and findings to `run`; `audit` is given when it was mounted. With a
    /// volume in `hints`, only those of that volume.
    fn tell(&self, run: &mut RunResult, contents: &Contents, hints: &Hints, audit: Option<&Audit>);

    /// The commands that would make an image like it of a folder with its files.
    fn rebuild(&self, _contents: &Contents) -> Vec<RebuildStep> {
        Vec::new()
    }

    /// How an image like it is made of its files.
    ///
    /// # Errors
    /// [`Error::NoRecipe`], and those of [`mount`](Self::mount) but [`Error::Mount`].
    fn recipe(&self, _contents: &Contents, _hints: &Hints) -> Result<Recipe, Error> {
        Err(Error::NoRecipe { why: "its filesystem is not written yet".into() })
    }

    /// Whether there is one filesystem that can be meant by `hints`.
    ///
    /// # Errors
    /// [`Error::Volume`], [`Error::NotFor`].
    fn is_mountable(&self, hints: &Hints) -> Result<bool, Error> {
        refuse_volumes(hints)?;
        Ok(true)
    }

    /// What is damaged of what `hints` mean besides the filesystem that is mounted, in sentences.
    fn damage(&self, _hints: &Hints) -> Vec<String> {
        Vec::new()
    }

    /// Writes the bytes of a UBI volume to `file`, without reading what is in it. With
    /// [`Hints::partial`], what is damaged is written as it is.
    ///
    /// # Errors
    /// [`Error::Volume`], [`Error::NotFor`], [`Error::Unwritable`].
    fn carve(
        &self,
        _contents: &Contents,
        _hints: &Hints,
        _limit: Bytes,
        _file: &mut dyn io::Write,
    ) -> Result<RawVolumeReport, Error> {
        Err(Error::NotFor { option: "--raw", what: NO_VOLUMES })
    }

    /// Mounts it, for reading unless `hints` say otherwise. Changes of the flash that the mount makes stay in
    /// memory.
    ///
    /// # Errors
    /// [`Error::WrongByteOrder`], [`Error::WrongPages`], [`Error::WrongBlock`], [`Error::Unsound`],
    /// [`Error::Truncated`], [`Error::Mount`], [`Error::Volume`], [`Error::NotFor`].
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

/// Why an image has no volumes to choose from.
pub(crate) const NO_VOLUMES: &str = "an image without UBI";

/// Refuses a volume where there are none.
///
/// # Errors
/// [`Error::NotFor`].
pub fn refuse_volumes(hints: &Hints) -> Result<(), Error> {
    match hints.volume {
        Some(_) => Err(Error::NotFor { option: "--volume", what: NO_VOLUMES }),
        None => Ok(()),
    }
}

/// Refuses to write blocks of a size that is a guess, unless the user gives it.
///
/// # Errors
/// [`Error::Mount`].
fn refuse_guessed_block(is_known: bool, hints: &Hints) -> Result<(), Error> {
    let why = "nothing in it shows how large an erase block is, which must be known to write: give --block";
    if is_known || hints.block.is_some() { Ok(()) } else { Err(Error::Mount(why.into())) }
}

/// Refuses `--as-of` where there are no older states.
///
/// # Errors
/// [`Error::NotFor`].
pub fn refuse_as_of(hints: &Hints, what: &'static str) -> Result<(), Error> {
    match hints.as_of {
        Some(_) => Err(Error::NotFor { option: "--as-of", what }),
        None => Ok(()),
    }
}

/// A filesystem on the flash of an image.
pub trait ImageFileSystem: FileSystem + fmt::Debug + Send {
    /// The flash.
    fn dump(&self) -> &Dump;

    /// The flash. Whoever changes it changes what the filesystem lies on.
    fn dump_mut(&mut self) -> &mut Dump;

    /// The same filesystem once more, which shares nothing that changes; `None` where that would take
    /// much memory.
    fn copy(&self) -> Option<Box<dyn ImageFileSystem>> {
        None
    }

    /// Reads the whole flash and reports the damage.
    ///
    /// # Errors
    /// [`Error::Audit`] when the flash returns an error other than a bit error.
    fn audit(&mut self, clock: &mut Clock) -> Result<Audit, Error>;

    /// What its own checks find besides the audit, which has run.
    fn findings(&mut self, _clock: &mut Clock, _places: &Places) -> Vec<Finding> {
        Vec::new()
    }

    /// What is left of deleted files. Refused by a filesystem for which that is not built.
    ///
    /// # Errors
    /// [`Error::NoDeleted`], [`Error::Audit`].
    fn deleted(self: Box<Self>, _clock: &mut Clock) -> Result<Remnants, Error> {
        let (what, instead) = ("this filesystem", "leave out --deleted");
        Err(Error::NoDeleted { what, instead })
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

impl MountedImage {
    /// The same image once more, which shares nothing that changes; `None` where that would take much
    /// memory.
    #[must_use]
    pub fn copy(&self) -> Option<Self> {
        let Self { ref fs, ref clock, at, truncated } = *self;
        Some(Self { fs: fs.copy()?, clock: clock.clone(), at, truncated })
    }
}
