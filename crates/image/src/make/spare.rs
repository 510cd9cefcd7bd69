//! An image with the spare bytes of each page: ECC as Linux computes it in software.
//!
//! Layer: rank 7. Main function: [`with_spare`].

use super::{Flash, Made};
use crate::contents::Contents;
use crate::create::write_raw;
use crate::dump::Dump;
use crate::files::MakeError;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};

/// The code of Linux that needs no option.
const DEFAULT: (u32, Bytes) = (1, Bytes::new(256));

/// The image with spare bytes, if `flash` asks for them. Pages that are erased stay erased.
pub(super) fn with_spare(made: Made, flash: &Flash) -> Result<Made, MakeError> {
    let Some(oob) = flash.oob else { return Ok(made) };
    let shape = Shape { oob, ..made.shape };
    let spare = of(shape, flash.ecc)?;
    let blocks = Bytes::of(&made.bytes).div_ceil(shape.block);
    let count = u32::try_from(blocks).expect("blocks are counted in 32 bits");
    let erased = Contents::of(vec![0xFF; shape.raw_block().to_usize()]);
    let mut dump = Dump::with_spare(erased, shape, Some(spare))?.extended(count)?;
    let mut clock = Clock::new();
    let page = shape.page.to_usize();
    let mut at = Bytes::ZERO;
    for bytes in made.bytes.chunks(page) {
        if bytes.iter().any(|&byte| byte != 0xFF) {
            dump.program(&mut clock, at, bytes).map_err(crate::Error::from)?;
        }
        at += shape.page;
    }
    let mut raw = Vec::with_capacity((shape.raw_block() * blocks).to_usize());
    write_raw(&mut dump, &mut clock, &mut raw)?;
    Ok(Made { bytes: raw, shape, ..made })
}

/// The use of the spare bytes by Linux with an ECC of so many bits in so many bytes.
pub(crate) fn of(shape: Shape, ecc: Option<(u32, Bytes)>) -> Result<Spare, MakeError> {
    let (bits, step) = ecc.unwrap_or(DEFAULT);
    let oob = shape.oob;
    let fits = shape.check().is_ok() && !oob.is_zero();
    let expected = "the spare bytes of a NAND page, such as 64".to_owned();
    let found = oob.get().to_string();
    if !fits {
        return Err(MakeError::Value { option: "--oob", found, expected });
    }
    Spare::linux(shape, bits, step).ok_or_else(|| MakeError::Value {
        option: "--ecc",
        found: format!("{bits}/{}", step.get()),
        expected: format!(
            "a code of Linux that fits {} spare bytes: 1/256 (Hamming), 4/512, 8/512 (BCH)",
            oob.get()
        ),
    })
}
