//! SCR: the optional features of the card.
//!
//! Layer: registers. Main type: [`Scr`]. Source: SD Physical Layer Simplified Specification 6.00,
//! section 5.6.

use super::bits::Bits;

/// The configuration register of an SD card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scr {
    /// Whether an erased block reads as ones; otherwise it reads as zeros.
    pub erased_reads_as_ones: bool,
    /// Whether the card supports CMD23, which fixes the length of a transfer, so that no CMD12 has
    /// to end it.
    pub set_block_count: bool,
    /// Whether the card supports CMD48 and CMD49, and with them the extension registers (the write
    /// cache has one).
    pub extension_registers: bool,
}

impl Scr {
    /// The register.
    #[must_use]
    pub fn register(&self) -> [u8; 8] {
        let commands =
            u64::from(self.extension_registers) << 2 | u64::from(self.set_block_count) << 1;
        Bits::<8>::zero()
            .with(59, 56, 2) // SD_SPEC, SD_SPEC3 and SD_SPECX: 2, 1, 2 is version 6.xx
            .with(55, 55, u64::from(self.erased_reads_as_ones))
            .with(51, 48, 0b0101) // one line and four lines
            .with(47, 47, 1)
            .with(41, 38, 2)
            .with(35, 32, commands)
            .0
    }
}

#[cfg(test)]
mod tests {
    use super::Scr;

    #[test]
    fn what_an_erased_block_reads_as_is_the_top_bit_of_the_second_byte() {
        let scr = |erased_reads_as_ones| Scr {
            erased_reads_as_ones,
            set_block_count: true,
            extension_registers: false,
        };
        assert_eq!(scr(false).register(), [0x02, 0x05, 0x80, 0x82, 0, 0, 0, 0]);
        assert_eq!(scr(true).register()[1], 0x85);
    }
}
