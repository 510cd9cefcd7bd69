//! Bit fields of a register, numbered as the specifications number them: bit 0 is the last one sent.
//!
//! Layer: below the registers. Main type: [`Bits`]. A register of N bytes has bits `8 N - 1` to 0; bit
//! `8 N - 1` is the most significant of byte 0.

/// A register of `N` bytes under construction or inspection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits<const N: usize>(pub [u8; N]);

impl<const N: usize> Bits<N> {
    /// All bits zero.
    #[must_use]
    pub const fn zero() -> Self {
        Self([0; N])
    }

    /// The field from bit `high` down to bit `low`.
    ///
    /// # Panics
    /// When the field is not inside the register or wider than 64 bits.
    #[must_use]
    pub fn get(&self, high: usize, low: usize) -> u64 {
        check::<N>(high, low);
        (low..=high).rev().fold(0, |value, bit| value << 1 | u64::from(self.bit(bit)))
    }

    /// The register with the field from bit `high` down to bit `low` set to `value`.
    ///
    /// # Panics
    /// When the field is not inside the register, wider than 64 bits, or too small for `value`.
    #[must_use]
    pub fn with(mut self, high: usize, low: usize, value: u64) -> Self {
        check::<N>(high, low);
        let width = high - low + 1;
        assert!(width == 64 || value >> width == 0, "{value} does not fit into {width} bits");
        for bit in low..=high {
            let byte = &mut self.0[N - 1 - bit / 8];
            let mask = 1 << (bit % 8);
            *byte = if value >> (bit - low) & 1 == 1 { *byte | mask } else { *byte & !mask };
        }
        self
    }

    fn bit(&self, bit: usize) -> u8 {
        self.0[N - 1 - bit / 8] >> (bit % 8) & 1
    }
}

fn check<const N: usize>(high: usize, low: usize) {
    assert!(low <= high && high < 8 * N, "bits {high}:{low} of a register of {N} bytes");
    assert!(high - low < 64, "bits {high}:{low} are more than 64");
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn the_highest_bit_is_the_first_of_the_first_byte() {
        assert_eq!(Bits::<16>::zero().with(127, 126, 1).0[0], 0x40);
        assert_eq!(Bits::<16>::zero().with(0, 0, 1).0[15], 0x01);
    }

    #[test]
    fn a_field_across_bytes_comes_back_and_leaves_its_neighbours() {
        let bits = Bits([0xFF; 8]).with(45, 20, 0x155_5555);
        assert_eq!(bits.get(45, 20), 0x155_5555);
        assert_eq!((bits.get(63, 46), bits.get(19, 0)), (0x3_FFFF, 0xF_FFFF));
    }

    #[test]
    #[should_panic(expected = "does not fit into 3 bits")]
    fn a_value_that_is_too_large_is_not_cut_off() {
        let _ = Bits::<4>::zero().with(2, 0, 8);
    }
}
