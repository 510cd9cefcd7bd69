//! What an image is made of, to make another one like it of the same files.
//!
//! Layer: rank 7. Main type: [`Recipe`], which [`DetectedFileSystem::recipe`](super::DetectedFileSystem::recipe)
//! returns. It has what is known of the flash and of the volumes; settings of a filesystem that nothing in an image
//! shows are those of a new one.

use super::{Create, CreateDump};
use crate::contents::Contents;
use crate::error::Error;
use crate::files::{FlashFormat, VolumeFormat};
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::NewVolume;
use boardlab_ubi::create::Format;

/// How an image is made again.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Where it begins in the file.
    pub(crate) at: Bytes,
    /// Its flash.
    pub(crate) shape: Shape,
    /// Its erase blocks in the file, with bad ones.
    pub(crate) blocks: u64,
    /// Whether it may have more: it is no dump of a flash.
    pub(crate) may_grow: bool,
    /// The bad ones, in order.
    pub(crate) bad_blocks: Vec<u32>,
    /// The use of the spare bytes; `None` without any, and where it goes without saying.
    pub(crate) spare: Option<Spare>,
    /// What lies on it.
    pub(crate) content: RecipeContent,
}

/// What lies on the flash of a [`Recipe`].
#[derive(Debug, Clone)]
pub(crate) enum RecipeContent {
    /// A filesystem on the flash itself.
    Flash(CreateDump, FlashFormat),
    /// A volume with a filesystem, without its flash.
    Volume(Create, VolumeFormat),
    /// UBI.
    Ubi(Format, Vec<RecipeVolume>),
}

/// A volume of UBI.
#[derive(Debug, Clone)]
pub(crate) struct RecipeVolume {
    pub(crate) new: NewVolume,
    /// Whether it takes all free blocks at the first attach.
    pub(crate) autoresize: bool,
    /// The filesystem in it; `None` for bytes of any kind.
    pub(crate) filesystem: Option<(Create, VolumeFormat)>,
    /// Why its bytes are of little use, in a sentence.
    pub(crate) damage: Option<String>,
}

impl Recipe {
    /// Of a flash that begins at `at` of the file.
    pub(super) fn new(
        contents: &Contents,
        (at, shape): (Bytes, Shape),
        device: &mut impl Mtd,
        spare: Option<Spare>,
        content: impl FnOnce(FlashFormat) -> RecipeContent,
    ) -> Self {
        let blocks = (contents.length() - at).div_ceil(shape.raw_block());
        let bad_blocks = bad_blocks(device);
        let known = (spare.clone(), bad_blocks.clone());
        let format = FlashFormat { spare: known.0, bad_blocks: known.1, ..FlashFormat::of(shape) };
        Self { at, shape, blocks, may_grow: false, bad_blocks, spare, content: content(format) }
    }
}

/// The use of the spare bytes, if there are any: that of Linux' software, or of a controller whose code is known.
///
/// # Errors
/// [`Error::NoRecipe`] where nobody knows how such spare bytes are made.
pub(super) fn known_spare(shape: Shape, spare: Option<&Spare>) -> Result<Option<Spare>, Error> {
    if shape.oob.is_zero() {
        return Ok(None);
    }
    if let Some(spare) = spare.filter(|spare| spare.corrects()) {
        return Ok(Some(spare.clone()));
    }
    let found = spare.map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let why = format!("the code in its spare bytes is not known; they are: {found}");
    Err(Error::NoRecipe { why })
}

fn bad_blocks(device: &mut impl Mtd) -> Vec<u32> {
    let (count, mut clock) = (device.geometry().block_count(), Clock::new());
    let mut is_bad = |block| device.is_bad(&mut clock, BlockIndex(block)).unwrap_or(false);
    (0..count).filter(|&block| is_bad(block)).collect()
}
