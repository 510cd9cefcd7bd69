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
    /// The bits that the ECC corrects, in so many bytes each; `None` without spare bytes.
    pub(crate) ecc: Option<(u32, Bytes)>,
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
        ecc: Option<(u32, Bytes)>,
        content: impl FnOnce(FlashFormat) -> RecipeContent,
    ) -> Self {
        let blocks = (contents.length() - at).div_ceil(shape.raw_block());
        let bad_blocks = bad_blocks(device);
        let format = FlashFormat { ecc, bad_blocks: bad_blocks.clone(), ..FlashFormat::of(shape) };
        Self { at, shape, blocks, may_grow: false, bad_blocks, ecc, content: content(format) }
    }
}

/// The ECC of Linux in the spare bytes, if there are any.
///
/// # Errors
/// [`Error::NoRecipe`] where nobody but a controller writes such spare bytes.
pub(super) fn linux_ecc(
    shape: Shape,
    spare: Option<&Spare>,
) -> Result<Option<(u32, Bytes)>, Error> {
    if shape.oob.is_zero() {
        return Ok(None);
    }
    if let Some((bits, step)) = spare.and_then(Spare::linux_code) {
        return Ok(Some((bits, Bytes::new(step as u64))));
    }
    let found = spare.map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let why = format!("its spare bytes are not those of Linux' software, but: {found}");
    Err(Error::NoRecipe { why })
}

fn bad_blocks(device: &mut impl Mtd) -> Vec<u32> {
    let (count, mut clock) = (device.geometry().block_count(), Clock::new());
    let mut is_bad = |block| device.is_bad(&mut clock, BlockIndex(block)).unwrap_or(false);
    (0..count).filter(|&block| is_bad(block)).collect()
}
