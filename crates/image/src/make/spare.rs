//! An image with the spare bytes of each page: ECC as Linux computes it in software.
//!
//! Layer: rank 7. Main function: [`with_spare`].

use super::Made;
use crate::contents::Contents;
use crate::create::write_raw;
use crate::dump::Dump;
use crate::files::{MakeError, linux_spare};
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};

/// The image with so many spare bytes a page, if any, and an ECC of so many bits in so many bytes. Pages that are
/// erased stay erased.
///
/// # Errors
/// [`MakeError::Value`] for an ECC that has no place.
pub fn with_spare(
    made: Made,
    oob: Option<Bytes>,
    ecc: Option<(u32, Bytes)>,
) -> Result<Made, MakeError> {
    let Some(oob) = oob else { return Ok(made) };
    let shape = Shape { oob, ..made.shape };
    with_pages(made, shape, linux_spare(shape, ecc)?)
}

/// The image with the spare bytes of such pages.
///
/// # Errors
/// Those of the flash.
pub(crate) fn with_pages(made: Made, shape: Shape, spare: Spare) -> Result<Made, MakeError> {
    let mark = Some(spare.mark());
    let blocks = Bytes::of(&made.bytes).div_ceil(shape.block);
    let count = u32::try_from(blocks).expect("blocks are counted in 32 bits");
    let erased = Contents::of(vec![0xFF; shape.raw_block().to_usize()]);
    let mut dump = Dump::with_spare(erased, shape, Some(spare))?.extended(count)?;
    let mut clock = Clock::new();
    let page = shape.page.to_usize();
    let mut at = Bytes::ZERO;
    for bytes in made.bytes.chunks(page) {
        if !boardlab_mtd::is_erased(bytes) {
            dump.program(&mut clock, at, bytes).map_err(crate::Error::from)?;
        }
        at += shape.page;
    }
    let mut raw = Vec::with_capacity((shape.raw_block() * blocks).to_usize());
    write_raw(&mut dump, &mut clock, &mut raw)?;
    Ok(Made { bytes: raw, shape, mark, ..made })
}
