//! The lines that writes are known to miss.
//!
//! Layer: rank 3. Main type: [`Misses`]. A write that misses does not fill its line on this core, so
//! further writes to the line miss as well, until a read fills it. Like the hits, the entries are
//! those of the current context, indexed by address bits that FCSE leaves unchanged.

use crate::address::{LINE, Modified, Physical, Virtual};

/// The number of entries.
const ENTRIES: usize = 64;

/// The privileged bit of a key.
const PRIVILEGED: u32 = 1;

/// The valid bit of a key.
const VALID: u32 = 2;

/// A line in memory that writes miss.
#[derive(Debug, Clone, Copy, Default)]
struct Miss {
    /// The virtual address of the line, with [`VALID`] and, if so, [`PRIVILEGED`]; 0 for none.
    key: u32,
    /// The physical address of the line.
    physical: u32,
}

/// The lines that writes of the current context miss.
#[derive(Debug)]
pub(super) struct Misses {
    lines: [Miss; ENTRIES],
    is_empty: bool,
}

impl Default for Misses {
    fn default() -> Self {
        Self { lines: [Miss::default(); ENTRIES], is_empty: true }
    }
}

const fn place(at: u32) -> usize {
    (at / LINE) as usize % ENTRIES
}

#[inline]
fn key(at: Virtual, privileged: bool) -> u32 {
    at.0 & !(LINE - 1) | VALID | if privileged { PRIVILEGED } else { 0 }
}

impl Misses {
    /// The physical address of `at`, if writes are known to miss its line.
    #[inline]
    pub(super) fn find(&self, at: Virtual, privileged: bool) -> Option<Physical> {
        let line = self.lines[place(at.0)];
        (line.key == key(at, privileged)).then_some(Physical(line.physical | at.0 & (LINE - 1)))
    }

    /// Adds the line of `at`, which is at `physical` in memory.
    #[inline]
    pub(super) fn add(&mut self, at: Virtual, privileged: bool, physical: Physical) {
        let physical = physical.line().0;
        self.lines[place(at.0)] = Miss { key: key(at, privileged), physical };
        self.is_empty = false;
    }

    /// Removes the line at a modified address, under each of its virtual addresses.
    #[inline]
    pub(super) fn drop_line(&mut self, line: Modified) {
        self.lines[place(line.0)].key = 0;
    }

    /// Removes all lines.
    #[inline]
    pub(super) fn clear(&mut self) {
        if !self.is_empty {
            *self = Self::default();
        }
    }
}
