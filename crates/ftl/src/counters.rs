//! The counters of a translation layer, by cause, and the conservation laws between them.
//!
//! Layer: bookkeeping of the mechanism. Main type: [`Counters`]. The laws are assertions in every
//! build; they run once for each filled or erased block.

use crate::cause::{ByCause, Cause};
use crate::medium::OperationCounts;

/// Operations of the flash and of the host so far, in mapped pages and blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Pages programmed.
    pub programs: ByCause,
    /// Pages read.
    pub reads: ByCause,
    /// Blocks erased.
    pub erases: ByCause,
    /// Pages that the host wrote.
    pub written: u64,
    /// Pages that the host read, those without data included.
    pub read: u64,
    /// Pages with data that the host trimmed.
    pub trimmed: u64,
    /// Flushes requested by the host.
    pub flushes: u64,
    /// Victims of garbage collection.
    pub victims: u64,
    /// Valid pages of those victims.
    pub victim_pages: u64,
    /// Blocks that became free because the host overwrote or trimmed all of their pages.
    pub emptied: u64,
    /// Blocks that wear levelling moved.
    pub levelled: u64,
}

impl Counters {
    /// The write amplification factor (WAF) in millionths: programs per page that the host wrote,
    /// rounded down; zero before the first.
    #[must_use]
    pub fn amplification_millionths(&self) -> u64 {
        let wide = u128::from(self.programs.total()) * 1_000_000;
        let ratio = wide.checked_div(u128::from(self.written)).unwrap_or(0);
        u64::try_from(ratio).unwrap_or(u64::MAX)
    }

    /// The difference to `earlier`.
    ///
    /// # Panics
    /// When a count has decreased.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            programs: self.programs.since(&earlier.programs),
            reads: self.reads.since(&earlier.reads),
            erases: self.erases.since(&earlier.erases),
            written: self.written - earlier.written,
            read: self.read - earlier.read,
            trimmed: self.trimmed - earlier.trimmed,
            flushes: self.flushes - earlier.flushes,
            victims: self.victims - earlier.victims,
            victim_pages: self.victim_pages - earlier.victim_pages,
            emptied: self.emptied - earlier.emptied,
            levelled: self.levelled - earlier.levelled,
        }
    }

    /// Checks the laws: the operations of the medium are the sum of the causes, and every page of
    /// the host was programmed for the host.
    ///
    /// # Panics
    /// When a law is violated.
    pub fn assert_conserved(&self, seen: OperationCounts) {
        assert_eq!(self.programs.total(), seen.programs, "programs have causes");
        assert_eq!(self.reads.total(), seen.reads, "reads have causes");
        assert_eq!(self.erases.total(), seen.erases, "erases have causes");
        assert_eq!(
            self.programs[Cause::Host],
            self.written,
            "a page of the host is programmed once"
        );
    }
}
