//! Older states of a YAFFS2: without the blocks that were begun later.
//!
//! Layer: rank 7. Main function: [`mount`]. Each block has a sequence number, and chunks are never overwritten.
//! So the blocks up to a number are the filesystem as it was when the next block was begun, except for what
//! garbage collection has moved since.

use super::Flash;
use super::flash::{ImageFlash, PastState};
use crate::error::Error;
use crate::fs::Hints;
use boardlab_mtd::BlockIndex;
use boardlab_yaffs2::block::State;
use boardlab_yaffs2::format::{SEQUENCE_END, SEQUENCE_FIRST};
use boardlab_yaffs2::{Layout, Yaffs};

/// The blocks with chunks, and their sequence numbers.
pub(super) fn sequences(fs: &Yaffs<ImageFlash>) -> Vec<(BlockIndex, u32)> {
    let numbered = fs.blocks().iter().filter(|(_, info)| {
        let used = !matches!(info.state, State::Empty | State::Dead | State::Checkpoint);
        used && (SEQUENCE_FIRST..SEQUENCE_END).contains(&info.sequence)
    });
    numbered.map(|(block, info)| (Layout::block_of(block), info.sequence)).collect()
}

/// The oldest and the newest sequence number; `None` on an empty flash.
pub(super) fn range(fs: &Yaffs<ImageFlash>) -> Option<(u32, u32)> {
    let all = sequences(fs);
    let of = || all.iter().map(|(_, sequence)| *sequence);
    Some((of().min()?, of().max()?))
}

/// Mounts once more what was mounted, without the blocks with a larger sequence number than `wanted`.
///
/// # Errors
/// [`Error::NoState`], [`Error::NotFor`].
pub(super) fn mount(
    flash: &Flash,
    fs: Yaffs<ImageFlash>,
    wanted: u64,
) -> Result<Yaffs<ImageFlash>, Error> {
    if !flash.fit.pages.place.is_yaffs2() {
        let what = "YAFFS1, whose blocks have no sequence numbers";
        return Err(Error::NotFor { option: "--as-of", what });
    }
    let found = range(&fs).unwrap_or((SEQUENCE_FIRST, SEQUENCE_FIRST));
    let sequence = u32::try_from(wanted).ok().filter(|wanted| (found.0..=found.1).contains(wanted));
    let sequence = sequence.ok_or(Error::NoState { wanted, found })?;
    let all = sequences(&fs);
    let mut device = fs.into_device();
    for (block, _) in all.into_iter().filter(|(_, number)| *number > sequence) {
        device.blank(block);
    }
    device.past = Some(PastState { sequence, newest: found.1 });
    flash.mount(device, flash.options(&Hints::default()))
}
