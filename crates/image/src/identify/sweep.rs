//! One pass over a file that searches for all filesystems.
//!
//! Layer: rank 7. Main type: [`Sweep`], the information that does not depend on a filesystem.

use crate::contents::Contents;
use crate::fs::{Detector, Window};
use boardlab_sim::Bytes;
use std::ops::ControlFlow;

/// The limit of bytes that are searched.
const BYTES: u64 = 1 << 30;
/// The bytes that are searched at once.
const WINDOW: usize = 256 * 1_024;
/// The bytes at the end of a file that are always searched.
const TAIL: u64 = 256 * 1_024;
/// The bytes after a window that a detector also sees: the longest header.
const HEADER: usize = 12;

/// The result of the pass.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// The first byte that is not erased.
    pub(crate) first_programmed: Option<Bytes>,
    /// Whether all examined programmed bytes are zero.
    pub(crate) zeros: bool,
}

impl Sweep {
    /// Searches `contents` until one of `searches` has enough information, and at its end.
    pub(crate) fn of(contents: &Contents, searches: &mut [&mut dyn Detector]) -> Self {
        let mut sweep = Self { first_programmed: None, zeros: true };
        let length = contents.length().get();
        let mut next = 0;
        contents.for_each_piece((WINDOW, HEADER), |at, bytes| {
            if at.get() >= BYTES || searches.iter().any(|search| search.has_enough()) {
                return ControlFlow::Break(());
            }
            if let Some(window) = window(at, bytes) {
                let first = window.begins.start;
                sweep.first_programmed.get_or_insert(window.at + Bytes::new(first as u64));
                sweep.zeros &= bytes[first..].iter().all(|&byte| byte == 0 || byte == 0xFF);
                searches.iter_mut().for_each(|search| search.look(&window));
            }
            next = at.get() + WINDOW as u64;
            ControlFlow::Continue(())
        });
        if next < length {
            let at = Bytes::new(length.saturating_sub(TAIL));
            let bytes = contents.window(at, WINDOW + HEADER);
            if let Some(window) = window(at, &bytes) {
                searches.iter_mut().for_each(|search| search.look_at_end(&window));
            }
        }
        sweep
    }
}

/// The window of `bytes`, which are at `at`, unless they are erased.
fn window(at: Bytes, bytes: &[u8]) -> Option<Window<'_>> {
    let first = first_programmed(bytes)?;
    Some(Window { bytes, at, begins: first..bytes.len().min(WINDOW) })
}

/// The first byte that is not 0xFF.
fn first_programmed(bytes: &[u8]) -> Option<usize> {
    const STEP: usize = 64;
    let chunk = bytes.chunks(STEP).position(|chunk| chunk != &[0xFF; STEP][..chunk.len()])?;
    let within = bytes[chunk * STEP..].iter().position(|&byte| byte != 0xFF)?;
    Some(chunk * STEP + within)
}
