//! Loads and stores: the data transferred, and the address arithmetic.
//!
//! Layer: rank 3. [`Transfer`] loads or stores one item, [`BlockTransfer`] a list of registers. All
//! engines share the address arithmetic and the rules of write-back here. Source: ARM DDI 0100E, A5.2
//! to A5.4; an empty list, and the base in its own list, are unpredictable there: see
//! [`crate::execute`].

use serde::{Deserialize, Serialize};

use super::{Register, Shift};
use crate::bus::Width;

/// The item of a single transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Item {
    /// A word.
    Word,
    /// A byte, zero-extended.
    Byte,
    /// A half-word, zero-extended.
    Half,
    /// A byte, sign-extended; loads only.
    SignedByte,
    /// A half-word, sign-extended; loads only.
    SignedHalf,
    /// Two words, in an even register and the next.
    Double,
}

impl Item {
    /// The number of bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Byte | Self::SignedByte => 1,
            Self::Half | Self::SignedHalf => 2,
            Self::Word => 4,
            Self::Double => 8,
        }
    }

    /// The width of each access.
    #[must_use]
    pub const fn width(self) -> Width {
        match self {
            Self::Byte | Self::SignedByte => Width::Byte,
            Self::Half | Self::SignedHalf => Width::Half,
            Self::Word | Self::Double => Width::Word,
        }
    }

    /// The value loaded, from the zero-extended bits read.
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

    /// The part of a register that a store writes.
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
    /// A constant relative to `r15` with its lowest two bits cleared: Thumb literal loads.
    Literal(i32),
    /// A register, shifted as in [`Operand::Shifted`](super::Operand::Shifted), added or subtracted.
    Register {
        /// The register.
        rm: Register,
        /// The kind of shift.
        shift: Shift,
        /// The shift amount.
        amount: u8,
        /// Whether it is subtracted.
        subtract: bool,
    },
}

/// The addressing mode of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Index {
    /// Offset addressing: base plus offset; the base is unchanged.
    Offset,
    /// Pre-indexed: base plus offset, which is written back to the base.
    Pre,
    /// Post-indexed: the base; base plus offset is written back to the base.
    Post,
    /// Like `Post`, with the permissions of user mode (LDRT, STRT, LDRBT, STRBT).
    PostUser,
}

/// A load or store of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transfer {
    /// Whether it is a load; otherwise a store.
    pub load: bool,
    /// The item.
    pub item: Item,
    /// The register loaded or stored.
    pub rd: Register,
    /// The base.
    pub rn: Register,
    /// The offset.
    pub offset: Offset,
    /// The addressing mode.
    pub index: Index,
}

impl Transfer {
    /// The address of the transfer, from the base without and with the offset.
    #[must_use]
    pub fn address<T>(&self, base: T, moved: T) -> T {
        match self.index {
            Index::Offset | Index::Pre => moved,
            Index::Post | Index::PostUser => base,
        }
    }

    /// Whether the transfer has write-back.
    #[must_use]
    pub const fn writes_base(&self) -> bool {
        !matches!(self.index, Index::Offset)
    }
}

/// A load or store of several words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlockTransfer {
    /// Whether it is a load; otherwise a store.
    pub load: bool,
    /// The base.
    pub rn: Register,
    /// The register list: bit n for register n.
    pub list: u16,
    /// The U bit: whether addresses ascend from the base; otherwise they descend.
    pub up: bool,
    /// The P bit: whether the word at the base address is excluded.
    pub before: bool,
    /// The W bit: whether the base is written back.
    pub writeback: bool,
    /// The S bit: user mode registers; for a load with r15 in the list, CPSR from SPSR.
    pub user: bool,
}

/// The change of the base in bytes for an empty list.
const EMPTY: i32 = 0x40;

impl BlockTransfer {
    /// The number of words.
    #[must_use]
    pub const fn words(&self) -> u32 {
        self.list.count_ones()
    }

    /// The registers of the list in the order of their addresses.
    pub fn registers(&self) -> impl Iterator<Item = Register> + use<> {
        let mut list = self.list;
        std::iter::from_fn(move || {
            let lowest = (list != 0).then(|| Register::field(list.trailing_zeros()))?;
            list &= list - 1;
            Some(lowest)
        })
    }

    /// The change of the base in bytes.
    #[must_use]
    pub const fn moved(&self) -> i32 {
        let bytes = if self.list == 0 { EMPTY } else { 4 * self.words().cast_signed() };
        if self.up { bytes } else { -bytes }
    }

    /// The offset from the base of the first word, which has the lowest address.
    #[must_use]
    pub const fn first(&self) -> i32 {
        let lowest = if self.up { 0 } else { self.moved() };
        if self.before == self.up { lowest + 4 } else { lowest }
    }

    /// Whether the base is written back; not if it is the last of several registers loaded.
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
