//! The data that compiled code and the engine share.
//!
//! Layer: rank 3. [`Frame`] has a fixed layout: compiled code accesses it by the offsets in [`at`].
//! [`Tally`] packs several counts into one word, so that a path adds them all with one addition.

use std::ffi::c_void;

use crate::instruction::Item;
use crate::registers::Psr;

/// The state of a region on entry and exit.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Frame {
    /// The cycle budget: the region exits or requests more before it is exceeded. Within a loop that carries
    /// it, only host functions and exits have it here.
    pub(super) left: i64,
    /// A [`Tally`] of what was executed and is not yet in the statistics.
    pub(super) counts: u64,
    /// N and Z as a result: N is bit 31, and Z is set if it is zero.
    pub(super) result: u32,
    /// C: 0 or 1.
    pub(super) carry: u32,
    /// V: bit 31.
    pub(super) overflow: u32,
    /// Which flags derive from `a` and `b` instead: see [`form`].
    pub(super) form: u32,
    /// The first operand of the last operation that set flags.
    pub(super) a: u32,
    /// Its second operand.
    pub(super) b: u32,
    /// The target of an indirect jump.
    pub(super) target: u32,
    /// The address of the access that the reference performs.
    pub(super) address: u32,
    /// The value that it stores or loaded.
    pub(super) value: u32,
    /// The arguments of a host function.
    pub(super) arguments: [u32; 2],
    /// The status of a host function: one of [`status`].
    pub(super) status: u32,
    /// Whether the region runs in a privileged mode.
    pub(super) privileged: bool,
    /// r0 to r14, in place of the processor's.
    pub(super) r: [u32; 15],
    /// The `compiler::run::Context` of the run.
    pub(super) context: *mut c_void,
}

impl Frame {
    /// N, Z, C and V at their positions in a status register.
    pub(super) fn flags(&self) -> u32 {
        let Self { a, b, .. } = *self;
        let difference = self.form & form::DIFFERENCE != 0;
        let (sum, carry) =
            if difference { (a.wrapping_sub(b), a >= b) } else { a.overflowing_add(b) };
        let overflow = (if difference { a ^ b } else { !(a ^ b) }) & (a ^ sum);
        let own = |bit| self.form & bit != 0;
        let result = if own(form::RESULT) { self.result } else { sum };
        let carry = if own(form::CARRY) { self.carry } else { u32::from(carry) };
        let overflow = if own(form::OVERFLOW) { self.overflow } else { overflow };
        let zero = if result == 0 { Psr::Z } else { 0 };
        let carry = if carry == 0 { 0 } else { Psr::C };
        result & Psr::N | zero | carry | overflow >> 3 & Psr::V
    }
}

/// The offsets of the fields of [`Frame`].
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
        LEFT: left, COUNTS: counts, RESULT: result, CARRY: carry, OVERFLOW: overflow, FORM: form, A: a, B: b,
        TARGET: target, ADDRESS: address, VALUE: value, ARGUMENTS: arguments, STATUS: status, REGISTERS: r
    );
}

/// The terms of an access, as one word: what the host needs if the region continues after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) item: Item,
    /// Cycles not yet subtracted from the budget.
    pub(super) cycles: u32,
    /// The budget that is required up to the next check, without stalls.
    pub(super) ahead: u32,
}

impl Terms {
    /// The items by their numbers.
    const ITEMS: [Item; 8] = [
        Item::Word,
        Item::Byte,
        Item::Half,
        Item::SignedByte,
        Item::SignedHalf,
        Item::Double,
        Item::Double,
        Item::Double,
    ];
    /// The bits of a number of cycles: a node takes 1,408 at most, 64 instructions of 22.
    const BITS: u32 = 13;
    const CYCLES_MAX: u32 = (1 << Self::BITS) - 1;

    /// Packs them.
    pub(super) fn pack(self) -> u32 {
        assert!(self.ahead <= Self::CYCLES_MAX && self.cycles <= self.ahead, "a budget's cycles");
        let item = (0..).zip(Self::ITEMS).find(|(_, item)| *item == self.item);
        item.map_or(0, |(number, _)| number) | self.cycles << 3 | self.ahead << (3 + Self::BITS)
    }

    /// Unpacks them.
    #[inline(always)]
    pub(super) const fn unpack(word: u32) -> Self {
        let item = Self::ITEMS[(word & 7) as usize];
        Self { item, cycles: word >> 3 & Self::CYCLES_MAX, ahead: word >> (3 + Self::BITS) }
    }
}

/// The results of a host function: [`Frame::status`].
pub(super) mod status {
    /// The region continues.
    pub(in crate::compiler) const CONTINUE: u32 = 0;
    /// The region must exit.
    pub(in crate::compiler) const LEAVE: u32 = 1;
    /// The region must write the registers of the access and then exit.
    pub(in crate::compiler) const WRITE_AND_LEAVE: u32 = 2;
}

/// The bits of [`Frame::form`]. Flags are stored as operands and computed when the region exits.
pub(super) mod form {
    /// The operands are those of a difference, otherwise of a sum.
    pub(in crate::compiler) const DIFFERENCE: u32 = 1;
    /// N and Z are in `result`.
    pub(in crate::compiler) const RESULT: u32 = 2;
    /// C is in `carry`.
    pub(in crate::compiler) const CARRY: u32 = 4;
    /// V is in `overflow`.
    pub(in crate::compiler) const OVERFLOW: u32 = 8;
    /// No flag derives from the operands.
    pub(in crate::compiler) const ALL: u32 = RESULT | CARRY | OVERFLOW;
}

/// The largest cycle budget: a [`Tally`] field holds as many events, and none occurs twice a cycle.
pub(super) const QUANTUM: i64 = (1 << Tally::BITS) - 1;

/// Counts of twelve bits each, in one word. Those of most paths are in its lower half, so that the sum of one
/// is a constant within an instruction of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally(pub(super) u64);

impl Tally {
    const BITS: u32 = 12;

    /// One instruction.
    pub(super) const INSTRUCTION: Self = Self(1);
    /// One read of the data cache.
    pub(super) const READ: Self = Self(1 << Self::BITS);
    /// One fetch from another line.
    pub(super) const LINE: Self = Self(1 << (2 * Self::BITS));
    /// One write of the data cache.
    pub(super) const WRITE: Self = Self(1 << (3 * Self::BITS));
    /// One instruction whose condition failed.
    pub(super) const SKIPPED: Self = Self(1 << (4 * Self::BITS));

    /// The counts: instructions, skipped ones, lines, reads and writes.
    pub(super) const fn fields(self) -> [u64; 5] {
        let mask = (1 << Self::BITS) - 1;
        let [instructions, reads, lines, writes, skipped] = [
            self.0 & mask,
            self.0 >> Self::BITS & mask,
            self.0 >> (2 * Self::BITS) & mask,
            self.0 >> (3 * Self::BITS) & mask,
            self.0 >> (4 * Self::BITS) & mask,
        ];
        [instructions, skipped, lines, reads, writes]
    }

    /// The tally of `count` such events.
    pub(super) const fn times(self, count: u32) -> Self {
        Self(self.0 * count as u64)
    }

    /// The sum of two tallies.
    pub(super) const fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// The difference, as a correction of a sum that contains `other`.
    pub(super) const fn minus(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_come_back_from_their_word() {
        for item in Terms::ITEMS {
            for (cycles, ahead) in [(0, 1), (17, 4095), (4095, 4095), (0, Terms::CYCLES_MAX)] {
                let terms = Terms { item, cycles, ahead };
                assert_eq!(Terms::unpack(terms.pack()), terms);
            }
        }
    }

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
