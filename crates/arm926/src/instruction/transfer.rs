//! Loads and stores: what they move, and the arithmetic of their addresses.
//!
//! Layer: rank 3. [`Transfer`] moves one item, [`BlockTransfer`] a list of registers. What all engines must agree on (where the words of a list lie,
//! when the base changes) stands here once. Source: ARM DDI 0100E, A5.2 to A5.4; an empty list, and the base in its own list, are unpredictable
//! there: see [`crate::execute`].

use serde::{Deserialize, Serialize};

use super::{Register, Shift};
use crate::bus::Width;

/// What a single transfer moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Item {
    /// A word.
    Word,
    /// A byte, extended with zeros.
    Byte,
    /// A half-word, extended with zeros.
    Half,
    /// A byte, extended with its sign; loads only.
    SignedByte,
    /// A half-word, extended with its sign; loads only.
    SignedHalf,
    /// Two words into or from an even register and the next.
    Double,
}

impl Item {
    /// How many bytes move.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Byte | Self::SignedByte => 1,
            Self::Half | Self::SignedHalf => 2,
            Self::Word => 4,
            Self::Double => 8,
        }
    }

    /// The width of each access that moves it.
    #[must_use]
    pub const fn width(self) -> Width {
        match self {
            Self::Byte | Self::SignedByte => Width::Byte,
            Self::Half | Self::SignedHalf => Width::Half,
            Self::Word | Self::Double => Width::Word,
        }
    }

    /// What a load makes of the bits that were read, which are extended with zeros.
    #[inline]
    #[must_use]
    pub const fn loaded(self, bits: u32) -> u32 {
        let above = match self {
            Self::SignedByte => 24,
            Self::SignedHalf => 16,
            _ => return bits,
        };
        (bits.cast_signed() << above >> above).cast_unsigned()
    }

    /// What a store writes of a register.
    #[inline]
    #[must_use]
    pub const fn stored(self, value: u32) -> u32 {
        match self.width() {
            Width::Byte => value & 0xFF,
            Width::Half => value & 0xFFFF,
            Width::Word => value,
        }
    }
}

/// The offset of a single transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Offset {
    /// A signed constant.
    Immediate(i32),
    /// A constant to `r15` whose lowest two bits count as zero: Thumb literal loads.
    Literal(i32),
    /// A register, shifted by a constant as in [`Operand::Shifted`](super::Operand::Shifted), added or subtracted.
    Register {
        /// The register.
        rm: Register,
        /// How it is shifted.
        shift: Shift,
        /// By how many bits.
        amount: u8,
        /// Subtracted instead of added.
        subtract: bool,
    },
}

/// When the base of a transfer changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Index {
    /// The offset counts; the base stays.
    Offset,
    /// The offset counts, and its sum becomes the base.
    Pre,
    /// The base alone counts, and the sum becomes the base.
    Post,
    /// As `Post`, with the permissions of user mode (LDRT, STRT, LDRBT, STRBT).
    PostUser,
}

/// A load or store of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transfer {
    /// Load; store otherwise.
    pub load: bool,
    /// What moves.
    pub item: Item,
    /// From or to.
    pub rd: Register,
    /// The base.
    pub rn: Register,
    /// The offset.
    pub offset: Offset,
    /// What happens to the base.
    pub index: Index,
}

impl Transfer {
    /// The address, of a base before and after it is moved by the offset.
    #[must_use]
    pub fn address<T>(&self, base: T, moved: T) -> T {
        match self.index {
            Index::Offset | Index::Pre => moved,
            Index::Post | Index::PostUser => base,
        }
    }

    /// Whether the base changes.
    #[must_use]
    pub const fn writes_base(&self) -> bool {
        !matches!(self.index, Index::Offset)
    }
}

/// A load or store of several words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlockTransfer {
    /// Load; store otherwise.
    pub load: bool,
    /// The base.
    pub rn: Register,
    /// Bit n: register n.
    pub list: u16,
    /// Addresses rise from the base; fall otherwise.
    pub up: bool,
    /// The base itself is left out, before the first or after the last word.
    pub before: bool,
    /// The base is written back.
    pub writeback: bool,
    /// The S bit: user registers, or with r15 in the list of a load: CPSR from SPSR.
    pub user: bool,
}

/// Bytes that an empty list moves the base.
const EMPTY: i32 = 0x40;

impl BlockTransfer {
    /// How many words move.
    #[must_use]
    pub const fn words(&self) -> u32 {
        self.list.count_ones()
    }

    /// The registers of the list in the order of their addresses.
    pub fn registers(&self) -> impl Iterator<Item = Register> + use<> {
        let list = self.list;
        (0..16).filter(move |&number| list >> number & 1 != 0).map(Register::field)
    }

    /// How far the base moves.
    #[must_use]
    pub const fn moved(&self) -> i32 {
        let bytes = if self.list == 0 { EMPTY } else { 4 * self.words().cast_signed() };
        if self.up { bytes } else { -bytes }
    }

    /// How far from the base its first word lies, which has the lowest address.
    #[must_use]
    pub const fn first(&self) -> i32 {
        let lowest = if self.up { 0 } else { self.moved() };
        if self.before == self.up { lowest + 4 } else { lowest }
    }

    /// Whether the base changes by its distance. What a load brings into it stays if it is the last of several.
    #[must_use]
    pub const fn writes_base(&self) -> bool {
        let last = self.list >> self.rn.index() == 1 && self.words() > 1;
        self.writeback && !(self.load && last)
    }

    /// Whether r15 is loaded.
    #[must_use]
    pub const fn jumps(&self) -> bool {
        self.load && self.list >> 15 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(load: bool, list: u16, up: bool, before: bool) -> BlockTransfer {
        let rn = Register::field(4);
        BlockTransfer { load, rn, list, up, before, writeback: true, user: false }
    }

    #[test]
    fn the_words_of_a_list_rise_from_the_lowest_address_in_all_four_ways() {
        let cases = [
            (true, false, 0, 12),
            (true, true, 4, 12),
            (false, false, -8, -12),
            (false, true, -12, -12),
        ];
        for (up, before, first, moved) in cases {
            let transfer = block(true, 0x8003, up, before);
            assert_eq!((transfer.first(), transfer.moved()), (first, moved), "{up} {before}");
            assert_eq!(transfer.registers().map(Register::number).collect::<Vec<_>>(), [0, 1, 15]);
        }
        assert_eq!(block(false, 0, false, true).moved(), -64);
    }

    #[test]
    fn a_loaded_base_stays_only_if_it_is_the_last_of_several() {
        let writes = |load, list| block(load, list, true, false).writes_base();
        assert!(!writes(true, 0b1_0001), "last of two");
        assert!(writes(true, 0b1_0000), "alone");
        assert!(writes(true, 0b11_0000), "first of two");
        assert!(writes(true, 0b0_0011), "not in the list");
        assert!(writes(false, 0b1_0001), "stored");
        let kept = BlockTransfer { writeback: false, ..block(true, 0b0_0011, true, false) };
        assert!(!kept.writes_base());
    }
}
