//! Where the blocks of an image lie on the flash: around bad blocks, and with erased ones behind them.
//!
//! ```text
//!  --bad-blocks 1,4 --pad 7blocks     block 0 | bad | block 1 | block 2 | bad | erased | erased
//! ```
//! Layer: rank 7. Main function: [`place`]. A bad block is erased but for its mark, which is that of Linux: no bit of
//! it set, in the spare bytes of the first page.

use super::Made;
use crate::files::{MakeError, Movable};
use crate::spare::Spare;
use boardlab_sim::Bytes;

/// The largest flash.
const SIZE_MAX: Bytes = Bytes::mib(16 << 10);

/// The size that an image is padded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pad {
    /// So many bytes of data, up to the end of a block.
    Bytes(Bytes),
    /// So many erase blocks.
    Blocks(u64),
}

/// Where the blocks of an image lie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placing {
    /// The size, with bad blocks; `None` for what the content takes.
    pub pad: Option<Pad>,
    /// The bad blocks of the flash, in order.
    pub bad_blocks: Vec<u32>,
}

/// Lays out the blocks of an image.
///
/// # Errors
/// [`MakeError::Value`], [`MakeError::Missing`], [`MakeError::Useless`].
pub fn place(made: Made, placing: &Placing) -> Result<Made, MakeError> {
    let Placing { pad, ref bad_blocks } = *placing;
    if pad.is_none() && bad_blocks.is_empty() {
        return Ok(made);
    }
    let movable = check(&made, placing)?;
    if let Movable::Fixed(_) = movable {
        return Ok(Made { bad_blocks: bad_blocks.clone(), ..made });
    }
    let raw = made.shape.raw_block().to_usize();
    let bad = bad_block(&made);
    let erased = made.filesystem.as_ref().and_then(|one| one.erased.clone());
    let erased = erased.unwrap_or_else(|| vec![0xFF; raw]);
    let target = pad.map_or(Ok(0), |pad| blocks_of(pad, &made))?;
    let mut data = made.bytes.chunks(raw);
    let (mut bytes, mut is_bad) = (Vec::new(), bad_blocks.iter().copied().peekable());
    let most = Bytes::new(target).get().max(data.len() as u64 + bad_blocks.len() as u64);
    let room = Bytes::new(most) * raw as u64;
    if bytes.try_reserve_exact(room.to_usize()).is_err() {
        let (option, found) = ("--pad", shown(pad));
        return Err(MakeError::Value { option, found, expected: "less than the memory".into() });
    }
    let (mut block, mut placed) = (0_u32, Vec::new());
    while data.len() > 0 || u64::from(block) < target {
        if is_bad.next_if_eq(&block).is_some() {
            placed.push(block);
            bytes.extend_from_slice(&bad);
        } else {
            bytes.extend_from_slice(data.next().unwrap_or(&erased));
        }
        block += 1;
    }
    let needed = u64::from(block);
    if pad.is_some() && needed > target {
        let expected = format!("{needed} blocks or more, which the files take");
        return Err(MakeError::Value { option: "--pad", found: shown(pad), expected });
    }
    let beyond = is_bad.collect();
    Ok(Made { bytes, bad_blocks: placed, beyond, ..made })
}

/// Whether blocks can be moved, and bad ones marked.
fn check(made: &Made, placing: &Placing) -> Result<Movable, MakeError> {
    let filesystem = made.filesystem.as_ref();
    let movable = filesystem.map_or(Movable::Anywhere, |one| one.movable);
    let is_volume = made.layout.is_none() && filesystem.is_some_and(|one| !one.on_flash);
    let has_bad = !placing.bad_blocks.is_empty();
    let useless = |option, why| Err(MakeError::Useless { option, why });
    if is_volume {
        let option = if has_bad { "--bad-blocks" } else { "--pad" };
        return useless(option, "a volume alone has no blocks of the flash: UBI has them");
    }
    if let (Movable::Fixed(why), Some(_)) = (movable, placing.pad) {
        return useless("--pad", why);
    }
    if has_bad && made.shape.oob.is_zero() {
        let why = "the mark of a bad block lies in its spare bytes; an image without them is \
             written around bad blocks by nandwrite or the boot loader";
        return Err(MakeError::Missing { option: "--oob SIZE", why });
    }
    match movable {
        Movable::Unmarked(why) if has_bad => useless("--bad-blocks", why),
        _ => Ok(movable),
    }
}

/// The blocks that an image is padded to.
fn blocks_of(pad: Pad, made: &Made) -> Result<u64, MakeError> {
    let blocks = match pad {
        Pad::Bytes(bytes) => bytes.div_ceil(made.shape.block),
        Pad::Blocks(blocks) => blocks,
    };
    let most = SIZE_MAX / made.shape.block;
    if (1..=most).contains(&blocks) {
        return Ok(blocks);
    }
    let expected = format!("the size of a flash, up to {most} blocks");
    Err(MakeError::Value { option: "--pad", found: shown(Some(pad)), expected })
}

fn shown(pad: Option<Pad>) -> String {
    match pad {
        None => "0".into(),
        Some(Pad::Bytes(bytes)) => bytes.to_string().replace(' ', ""),
        Some(Pad::Blocks(blocks)) => format!("{blocks}blocks"),
    }
}

/// A block that is erased but for its mark.
fn bad_block(made: &Made) -> Vec<u8> {
    let shape = made.shape;
    let mut block = vec![0xFF; shape.raw_block().to_usize()];
    if !shape.oob.is_zero() {
        let mark = made.mark.clone().unwrap_or_else(|| Spare::mark_of(shape.page));
        let page = shape.page.to_usize();
        block[page + mark.start..page + mark.end].fill(0);
    }
    block
}
