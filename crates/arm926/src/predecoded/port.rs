//! The memory system as the steps of a chain use it.
//!
//! Layer: rank 3. Main types: [`Port`], [`NoEntry`]. Steps do not know the type of the board, so that
//! there is one function for each step.

use super::cache::CachedBlock;
use super::step::Core;
use crate::address::{Cycles, Virtual};
use crate::bus::Bus;
use crate::memory::lookaside::{Hits, LineHit, LineLookup, MissingLine};
use crate::memory::{Abort, Memory};

/// The memory system during a chain of blocks.
pub(super) struct Port<'a> {
    pub(super) memory: &'a mut Memory,
    pub(super) bus: &'a mut dyn Bus,
    /// The block in progress.
    pub(super) code: &'a CachedBlock,
    /// The cycle before which each block must end.
    pub(super) stop: u64,
    /// The abort of the step that ended the chain.
    pub(super) abort: Option<Abort>,
}

/// Why a block is not entered at a boundary.
#[derive(Debug, Clone, Copy)]
pub(super) enum NoEntry {
    /// It is unknown or may not run now.
    Missing,
    /// Its line was fetched, and the boundary after its first instruction has work.
    Fetched,
    /// The fetch of its line aborted.
    Aborted(Abort),
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

    /// The line of `at` at a boundary, fetched if it misses. A fetched line is the current one.
    ///
    /// # Errors
    ///
    /// [`NoEntry::Missing`], with nothing done, if a fetch would do more than miss.
    pub(super) fn line(&mut self, core: &mut Core, at: Virtual) -> Result<LineHit, NoEntry> {
        let missing = match self.memory.find_line(at, core.privileged()) {
            LineLookup::Hit(line) => return Ok(line),
            LineLookup::Miss(missing) if core.progress.base < self.stop => missing,
            _ => return Err(NoEntry::Missing),
        };
        self.fetch(core, missing, 0).map_err(NoEntry::Aborted)?;
        let is_due = core.progress.base >= self.stop || self.memory.touched();
        match core.progress.line {
            line if line != LineHit::NONE && !is_due => Ok(line),
            _ => Err(NoEntry::Fetched),
        }
    }

    /// Whether the block in progress ends in time from the base on.
    pub(super) fn is_in_time(&self, core: &Core) -> bool {
        self.code.ends_before(self.stop, core.progress.base)
    }
}
