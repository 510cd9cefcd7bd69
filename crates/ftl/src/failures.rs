//! Programs that fail, and blocks that are marked bad.
//!
//! Layer: cells, beside [`crate::reliability`]; `page_map` handles the failures. Main type:
//! [`Failures`]. When a block is opened, a random draw decides whether one of its programs will
//! fail, and which. One draw per block is cheap, and a failed block is not filled any further, so
//! it fails at most once.
//!
//! ```text
//!   open block --> ... pages ... --> program fails: tried (Cause::Retry), block closed
//!                                       |   the data go to the next open block of the stream
//!                                       `-> queued: valid pages are moved (Cause::Refresh), block marked bad
//! ```
//!
//! Source: JEDEC JESD47 and the data sheets' rule for a failed program: copy the pages before it
//! elsewhere and mark the block bad (Micron TN-29-17, "Design and use considerations for NAND flash
//! memory"). The rate is the part's. Left out: earlier pages that the failed program corrupts, and
//! single blocks of a superblock that fail: the whole superblock is retired. A failed program is
//! forgotten when power is lost before the block is marked.

use boardlab_sim::Stream;

const NEVER: u32 = u32::MAX;
/// The denominator of the failure rate.
const PARTS: u64 = 1_000_000_000_000;

/// The programs that will fail.
#[derive(Debug, Clone)]
pub(crate) struct Failures {
    /// The number of failures in [`PARTS`] programs of a flash page.
    rate: u64,
    draw: Stream,
    /// By block: the page whose program will fail.
    fails_at: Vec<u32>,
    /// By block: whether its program failed and the block is not yet retired.
    failed: Vec<bool>,
}

impl Failures {
    pub(crate) fn new(rate: u64, blocks: u32, draw: Stream) -> Self {
        let blocks = blocks as usize;
        Self { rate, draw, fails_at: vec![NEVER; blocks], failed: vec![false; blocks] }
    }

    /// Whether programs can fail.
    pub(crate) const fn any(&self) -> bool {
        self.rate > 0
    }

    /// Draws for a block that is opened, and returns how many of its pages can be programmed.
    /// `units` pages fail together.
    pub(crate) fn sound_pages(&mut self, block: u32, pages: u32, units: u32) -> u32 {
        let fails_at = &mut self.fails_at[block as usize];
        *fails_at = NEVER;
        if self.rate == 0 {
            return pages;
        }
        let programs = u64::from(pages / units);
        if self.draw.chance(self.rate.saturating_mul(programs).min(PARTS), PARTS) {
            let at = u32::try_from(self.draw.below(programs)).expect("a page of the block");
            *fails_at = at * units;
        }
        pages.min(*fails_at)
    }

    /// Tries the next program of `block`; returns the page at which it fails, if it does.
    pub(crate) fn try_next(&mut self, block: u32) -> Option<u32> {
        let at = std::mem::replace(&mut self.fails_at[block as usize], NEVER);
        self.failed[block as usize] |= at != NEVER;
        (at != NEVER).then_some(at)
    }

    /// Whether a program of `block` failed since it was opened.
    pub(crate) fn has_failed(&self, block: u32) -> bool {
        self.failed[block as usize]
    }

    /// Drops the volatile state after a power cut.
    pub(crate) fn drop_volatile(&mut self) {
        self.failed.fill(false);
        self.fails_at.fill(NEVER);
    }
}
