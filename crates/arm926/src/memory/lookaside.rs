//! What the fast engine remembers of lookups that hit, and when it must forget.
//!
//! Layer: rank 3. Replacement on this core does not depend on hits, so a lookup that would hit again may be left out without
//! changing any later one. [`Lookaside`] is told by the memory system whenever a hit may no longer be one; the reference
//! interpreter never reads it. It is derived data and is not saved.

use crate::address::Modified;

/// Remembered hits.
#[derive(Debug, Clone, Default)]
pub struct Lookaside {}

impl Lookaside {
    /// A line left the data cache, or its contents moved.
    pub fn data_line_gone(&mut self, _line: Modified) {}

    /// A line of the data cache is no longer dirty, in one half or both: the next store to it must be noted.
    pub fn data_line_cleaned(&mut self, _line: Modified) {}

    /// A line left the instruction cache.
    pub fn instruction_line_gone(&mut self, _line: Modified) {}

    /// A line came into the instruction cache, with these contents.
    pub fn instruction_line_filled(&mut self, _line: Modified, _contents: &[u8; 32]) {}

    /// The TLB lost what it knew about the `size` bytes from `page` on.
    pub fn translation_gone(&mut self, _page: Modified, _size: u32) {}

    /// Anything may have changed: the control register, domains, the FCSE process number, an operation on all of a cache or TLB.
    pub fn forget_all(&mut self) {}
}
