//! The memory system as the steps of a chain use it.
//!
//! Layer: rank 3. Main type: [`Port`]. Steps do not know the type of the board, so that there is one
//! function for each step.

use super::cache::CachedBlock;
use super::step::{Core, Exit};
use crate::address::Cycles;
use crate::bus::Bus;
use crate::memory::lookaside::{Hits, MissingLine};
use crate::memory::{Abort, Memory};

/// The memory system during a chain of blocks.
pub(super) struct Port<'a> {
    pub(super) memory: &'a mut Memory,
    pub(super) bus: &'a mut dyn Bus,
    /// The block in progress.
    pub(super) code: &'a CachedBlock,
    /// The cycle before which each block must end.
    pub(super) stop: u64,
    /// The abort that ended the chain, and when.
    pub(super) abort: Option<(Abort, Cycles)>,
}

impl Port<'_> {
    /// The entries of the look-aside, and the bytes of the data cache that they refer to.
    #[inline(always)]
    pub(super) fn hits(&mut self, core: &Core) -> (&Hits, &mut [u8]) {
        self.memory.hits(core.privileged())
    }

    /// Fetches a line `before` cycles after the base, adds the stalls to the base, and makes the line the
    /// current one.
    ///
    /// # Errors
    ///
    /// An [`Abort`].
    pub(super) fn fetch(
        &mut self,
        core: &mut Core,
        missing: MissingLine,
        before: u16,
    ) -> Result<(), Abort> {
        let begin = core.progress.base.wrapping_add(u64::from(before));
        let mut now = Cycles(begin);
        let fetched = self.memory.fetch_line(missing, self.bus, &mut now);
        core.progress.base = core.progress.base.wrapping_add(now.0 - begin);
        core.progress.line = fetched.unwrap_or_default().unwrap_or_default();
        fetched.map(drop)
    }

    /// Whether the block ends in time from the base on.
    pub(super) fn is_in_time(&self, core: &Core) -> bool {
        core.progress.base.wrapping_add(u64::from(self.code.longest)) < self.stop
    }

    /// Notes an abort at `now`, which `exit` tells.
    #[cold]
    pub(super) const fn aborted(&mut self, abort: Abort, now: Cycles, exit: Exit) -> Exit {
        self.abort = Some((abort, now));
        exit
    }
}
