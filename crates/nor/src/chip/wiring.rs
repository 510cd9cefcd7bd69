//! The connection of address and data lines to the chip in x8 and in x16.
//!
//! Layer: inside the chip. Main types: [`Address`], [`Wiring`].
//!
//! In x8 the lowest line is A-1: the byte address of a command is twice the word address in the x16
//! tables, except 555h for the second unlock cycle (S29GL-P data sheet, table 12.3). Address lines
//! above the part's size are not connected.

use crate::part::BusWidth;
use boardlab_sim::Bytes;

/// A bus address: counts words in x16 and bytes in x8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address(pub u32);

/// The address decoding of a bus width.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wiring {
    /// The size of the part minus one.
    mask: u64,
    /// The binary logarithm of the bytes per cycle.
    shift: u32,
    /// The address lines that commands compare.
    command_mask: u32,
    unlock: [u32; 2],
    query: u32,
}

impl Wiring {
    /// The wiring of a part of `size`, a power of two.
    pub(super) fn new(width: BusWidth, size: Bytes) -> Self {
        let mask = size.get() - 1;
        match width {
            BusWidth::X16 => {
                let unlock = [0x555, 0x2AA];
                Self { mask, shift: 1, command_mask: 0x7FF, unlock, query: 0x55 }
            }
            BusWidth::X8 => {
                let unlock = [0xAAA, 0x555];
                Self { mask, shift: 0, command_mask: 0xFFF, unlock, query: 0xAA }
            }
        }
    }

    /// Whether a cycle transfers a 16-bit word.
    #[inline]
    pub(super) const fn is_wide(&self) -> bool {
        self.shift == 1
    }

    /// The byte offset of an address; in x16 that of the word's low byte.
    #[inline]
    pub(super) const fn offset(&self, address: Address) -> Bytes {
        Bytes::new(((address.0 as u64) << self.shift) & self.mask)
    }

    /// The part of a value on the data lines.
    #[inline]
    pub(super) const fn data(&self, value: u16) -> u16 {
        if self.is_wide() { value } else { value & 0xFF }
    }

    /// Whether the address is that of the first unlock cycle and of most commands.
    pub(super) const fn is_unlock1(&self, address: Address) -> bool {
        address.0 & self.command_mask == self.unlock[0]
    }

    /// Whether the address is that of the second unlock cycle.
    pub(super) const fn is_unlock2(&self, address: Address) -> bool {
        address.0 & self.command_mask == self.unlock[1]
    }

    /// Whether the address is that of the CFI query command.
    pub(super) const fn is_query(&self, address: Address) -> bool {
        address.0 & self.command_mask == self.query
    }

    /// The index of an address in the autoselect or CFI table: the low eight bits of the word
    /// address. A-1 is ignored.
    pub(super) const fn table_index(&self, address: Address) -> u32 {
        (address.0 >> (1 - self.shift)) & 0xFF
    }
}
