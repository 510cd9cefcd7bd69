//! Copies the content of a file.
//!
//! Layer: rank 7. Main function: [`copy`].

use super::SkipReason;
use boardlab_sim::Clock;
use boardlab_vfs::{FileExtent, FileSystem, Ino};
use std::ops::ControlFlow;

/// The unreadable parts that are listed for a file; more are counted.
const LISTED: usize = 4;

/// A file of a filesystem.
pub(super) struct Source<'a> {
    pub(super) fs: &'a mut dyn FileSystem,
    /// The clock of its operations.
    pub(super) clock: &'a mut Clock,
    pub(super) ino: Ino,
}

/// What was copied.
pub(super) struct Content {
    /// Bytes, without holes.
    pub(super) bytes: u64,
    /// Whether it ended at the limit.
    pub(super) is_beyond: bool,
    /// What is wrong with it nevertheless.
    pub(super) wrong: Option<SkipReason>,
}

/// Gives the content of a file to `write`, each part with its offset and at most `limit` bytes in all.
/// Holes and unreadable parts are left out.
pub(super) fn copy(
    Source { fs, clock, ino }: Source<'_>,
    limit: u64,
    mut write: impl FnMut(u64, &[u8]),
) -> Content {
    let (mut bytes, mut is_beyond) = (0, false);
    let (mut unread, mut more) = (Vec::new(), 0_u64);
    let read = fs.read_extents(clock, ino, &mut |FileExtent { offset, length, bytes: piece }| {
        let piece = match piece {
            Ok(piece) => piece,
            Err(problem) => {
                if unread.len() < LISTED {
                    let last = offset + length.saturating_sub(1);
                    unread.push(format!("bytes {offset} to {last}: {problem}"));
                } else {
                    more += 1;
                }
                return ControlFlow::Continue(());
            }
        };
        if piece.iter().all(|&byte| byte == 0) {
            return ControlFlow::Continue(());
        }
        is_beyond = length > limit - bytes;
        if is_beyond {
            return ControlFlow::Break(());
        }
        bytes += length;
        write(offset, piece);
        ControlFlow::Continue(())
    });
    if more > 0 {
        unread.push(format!("{more} parts more"));
    }
    let wrong = match read {
        Err(problem) => Some(SkipReason::Content(problem)),
        Ok(()) => (!unread.is_empty()).then_some(SkipReason::Pieces(unread)),
    };
    Content { bytes, is_beyond, wrong }
}
