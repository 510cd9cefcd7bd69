//! How bus addresses and data lines reach the chip in x8 and in x16.
//!
//! Layer: inside the chip. Main types: [`Address`], [`Wiring`].
//!
//! In x8 the lowest line is A-1: commands that the x16 tables put at a word address lie at twice
//! that byte address, and the second unlock cycle at 555h (S29GL-P data sheet, table 12.3).
//! High address lines that the part does not have are not connected.

use crate::part::BusWidth;
use boardlab_sim::Bytes;

/// A bus address: counts words in x16 and bytes in x8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address(pub u32);

/// What follows from the bus width.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wiring {
    /// Size of the part less one.
    mask: u64,
    /// Logarithm of the bytes that a cycle moves.
    shift: u32,
    /// Address lines that commands look at.
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

    /// Whether a cycle moves a word.
    #[inline]
    pub(super) const fn is_wide(&self) -> bool {
        self.shift == 1
    }

    /// The byte that an address selects, in x16 the low one of its word.
    #[inline]
    pub(super) const fn offset(&self, address: Address) -> Bytes {
        Bytes::new(((address.0 as u64) << self.shift) & self.mask)
    }

    /// The lines that carry a value.
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

    /// The place in the autoselect or CFI table that an address selects: the low eight bits of the
    /// word address. A-1 is ignored.
    pub(super) const fn table_index(&self, address: Address) -> u32 {
        (address.0 >> (1 - self.shift)) & 0xFF
    }
}
