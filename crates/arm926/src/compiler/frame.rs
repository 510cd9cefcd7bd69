//! What compiled code and the engine tell each other.
//!
//! Layer: rank 3. [`Frame`] has a fixed layout: compiled code reads and writes it by the offsets in [`at`]. [`Tally`] packs the counts of what was
//! executed into one word, so that a node adds one constant for all of them.

use std::ffi::c_void;

/// What a region is called with, and what it leaves.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Frame {
    /// Cycles until the region must be left or ask for more.
    pub(super) left: i64,
    /// What was executed and not yet noted: a [`Tally`].
    pub(super) counts: u64,
    /// Result of N and Z: N is its bit 31, Z is set if it is zero.
    pub(super) result: u32,
    /// C: 0 or 1.
    pub(super) carry: u32,
    /// V: bit 31.
    pub(super) overflow: u32,
    /// The line that was fetched from last.
    pub(super) line: u32,
    /// Where a jump through a register goes.
    pub(super) target: u32,
    /// The address of the access that is handed to the reference.
    pub(super) address: u32,
    /// Not 0: the region must be left.
    pub(super) status: u32,
    /// The run in progress: `compiler::run::Context` of the bus's type.
    pub(super) context: *mut c_void,
}

/// Offsets in a [`Frame`].
pub(super) mod at {
    use super::Frame;
    use std::mem::offset_of;

    macro_rules! offsets {
        ($($name:ident: $field:ident),*) => {
            $(#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a small structure")]
            pub(in crate::compiler) const $name: i32 = offset_of!(Frame, $field) as i32;)*
        };
    }
    offsets!(
        LEFT: left, COUNTS: counts, RESULT: result, CARRY: carry, OVERFLOW: overflow, LINE: line, TARGET: target,
        ADDRESS: address, STATUS: status
    );
}

/// The cycles that compiled code runs at most before it notes what it counted: a field of a [`Tally`] holds as many, and
/// nothing is counted more often than once a cycle.
pub(super) const QUANTUM: i64 = (1 << Tally::BITS) - 1;

/// Counts of twelve bits each in one word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally(pub(super) u64);

impl Tally {
    const BITS: u32 = 12;

    /// One instruction.
    pub(super) const INSTRUCTION: Self = Self(1);
    /// One instruction whose condition was not met.
    pub(super) const SKIPPED: Self = Self(1 << Self::BITS);
    /// One line entered by fetching.
    pub(super) const LINE: Self = Self(1 << (2 * Self::BITS));
    /// One read of the data cache.
    pub(super) const READ: Self = Self(1 << (3 * Self::BITS));
    /// One write of the data cache.
    pub(super) const WRITE: Self = Self(1 << (4 * Self::BITS));

    /// The counts in the order of the constants above.
    pub(super) const fn fields(self) -> [u64; 5] {
        let mask = (1 << Self::BITS) - 1;
        [
            self.0 & mask,
            self.0 >> Self::BITS & mask,
            self.0 >> (2 * Self::BITS) & mask,
            self.0 >> (3 * Self::BITS) & mask,
            self.0 >> (4 * Self::BITS) & mask,
        ]
    }

    /// So many times.
    pub(super) const fn times(self, count: u32) -> Self {
        Self(self.0 * count as u64)
    }

    /// The sum.
    pub(super) const fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// The difference, by which a sum of which the subtrahend is part is corrected.
    pub(super) const fn minus(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_keeps_its_counts_apart() {
        let sum = Tally::INSTRUCTION
            .times(4095)
            .plus(Tally::SKIPPED.times(1))
            .plus(Tally::LINE.times(4095))
            .plus(Tally::READ.times(7))
            .plus(Tally::WRITE.times(4095))
            .minus(Tally::SKIPPED);
        assert_eq!(sum.fields(), [4095, 0, 4095, 7, 4095]);
    }
}
