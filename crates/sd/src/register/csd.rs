//! CSD: the card-specific data, from which a host learns capacity and command classes.
//!
//! Layer: registers. Main type: [`Csd`]. Both structures of SD are here: version 1 for standard
//! capacity (up to 2 GiB) and version 2 for high and extended capacity.
//!
//! Source: SD Physical Layer Simplified Specification 6.00, section 5.3 (fields, fixed values of
//! version 2); Linux 6.1 `drivers/mmc/core/sd.c`, `mmc_decode_csd`, reads the same fields. Left
//! out: version 3 (ultra capacity, above 2 TiB).

use super::bits::Bits;
use boardlab_codec::crc::crc7;
use boardlab_sim::Bytes;

/// The size of a unit of `C_SIZE` in version 2.
const UNIT: Bytes = Bytes::kib(512);
/// Largest standard capacity: 4,096 units of 512 blocks of 1,024 bytes.
const STANDARD: Bytes = Bytes::mib(2_048);
/// The largest capacity that version 2 can represent: 2^22 units.
const LARGEST: Bytes = Bytes::mib(2_097_152);

/// Command classes that a card of the evaluation's kind has: basic, block read, block write, erase,
/// write protection of groups none, lock, application, switch.
const CLASSES: u64 = 0b0101_1011_0101;

/// The card-specific data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Csd {
    /// What the host can address.
    pub capacity: Bytes,
    /// Transfer rate code `TRAN_SPEED`: 0x32 is 25 MHz, 0x5A 50 MHz, 0x0B 100 Mbit/s, 0x2B 200 Mbit/s.
    pub speed: u8,
    /// Whether the card is write-protected, at least until the host lifts it.
    pub write_protected: bool,
}

impl Csd {
    /// The register, its CRC included.
    ///
    /// `None` when a CSD cannot represent the capacity: it must be a multiple of 512 KiB up to 2
    /// TiB, or at most 2 GiB in whole units of 2 KiB times a power of two.
    #[must_use]
    pub fn register(&self) -> Option<[u8; 16]> {
        let fields = if self.capacity > STANDARD { self.version2()? } else { self.version1()? };
        let bits = fields
            .with(103, 96, u64::from(self.speed))
            .with(95, 84, CLASSES)
            .with(46, 46, 1) // ERASE_BLK_EN: single blocks can be erased
            .with(45, 39, 0x7F) // SECTOR_SIZE: 64 KiB
            .with(28, 26, 0b010) // R2W_FACTOR
            .with(12, 12, u64::from(self.write_protected));
        let mut bytes = bits.0;
        bytes[15] = crc7(&bytes[..15]) << 1 | 1;
        Some(bytes)
    }

    fn version2(&self) -> Option<Bits<16>> {
        let fits = self.capacity.is_multiple_of(UNIT) && self.capacity <= LARGEST;
        fits.then(|| {
            Bits::zero()
                .with(127, 126, 1)
                .with(119, 112, 0x0E) // TAAC is fixed to 1 ms
                .with(83, 80, 9)
                .with(69, 48, self.capacity / UNIT - 1)
                .with(25, 22, 9)
        })
    }

    /// `(C_SIZE + 1) 2^(C_SIZE_MULT + 2) 2^READ_BL_LEN` bytes.
    fn version1(&self) -> Option<Bits<16>> {
        let bytes = self.capacity.get();
        let shift = |(length, multiple): &(u64, u64)| length + multiple + 2;
        let choices = (9..=11).flat_map(|length| (0..=7).map(move |multiple| (length, multiple)));
        let fits = |choice: &(u64, u64)| {
            let units = bytes >> shift(choice);
            units << shift(choice) == bytes && (1..=4_096).contains(&units)
        };
        let choice = choices.filter(fits).min_by_key(|choice| (choice.0, choice.1))?;
        Some(
            Bits::zero()
                .with(119, 112, 0x26)
                .with(83, 80, choice.0)
                .with(79, 79, 1)
                .with(73, 62, (bytes >> shift(&choice)) - 1)
                .with(49, 47, choice.1)
                .with(25, 22, choice.0),
        )
    }

    /// Reads a register as a host does.
    ///
    /// # Errors
    /// [`CsdError`] for a wrong CRC, a wrong last bit, or an unknown structure.
    pub fn parse(register: &[u8; 16]) -> Result<Self, CsdError> {
        let expected = crc7(&register[..15]) << 1 | 1;
        if register[15] != expected {
            return Err(CsdError::Crc { found: register[15], expected });
        }
        let bits = Bits(*register);
        let capacity = match bits.get(127, 126) {
            0 => {
                let shift = bits.get(83, 80) + bits.get(49, 47) + 2;
                Bytes::new((bits.get(73, 62) + 1) << shift)
            }
            1 => UNIT * (bits.get(69, 48) + 1),
            structure => return Err(CsdError::Structure(structure)),
        };
        Ok(Self { capacity, speed: register[3], write_protected: bits.get(13, 12) != 0 })
    }
}

/// Why 16 bytes are not a valid CSD of versions 1 and 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsdError {
    /// The last byte, which holds CRC and end bit, is wrong.
    Crc {
        /// The byte that was found.
        found: u8,
        /// The byte that was expected.
        expected: u8,
    },
    /// `CSD_STRUCTURE` is neither 0 nor 1.
    Structure(u64),
}

impl std::fmt::Display for CsdError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Crc { found, expected } => {
                write!(f, "CSD: the last byte is {found:#04x}, CRC and end bit are {expected:#04x}")
            }
            Self::Structure(found) => {
                write!(f, "CSD: structure {found}; 0 (standard) and 1 (high capacity) are known")
            }
        }
    }
}

impl std::error::Error for CsdError {}

#[cfg(test)]
mod tests {
    use super::{Csd, CsdError};
    use boardlab_sim::Bytes;

    fn csd(capacity: Bytes) -> Csd {
        Csd { capacity, speed: 0x32, write_protected: false }
    }

    #[test]
    fn a_high_capacity_card_has_the_fixed_fields_of_version_2() {
        let register = csd(Bytes::mib(14_744)).register().unwrap();
        // 29,488 units of 512 KiB; C_SIZE is one less: 0x732F.
        assert_eq!(register[..8], [0x40, 0x0E, 0x00, 0x32, 0x5B, 0x59, 0x00, 0x00]);
        assert_eq!(register[8..15], [0x73, 0x2F, 0x7F, 0x80, 0x0A, 0x40, 0x00]);
    }

    #[test]
    fn every_capacity_that_fits_comes_back() {
        let standard = [8, 16, 100, 960, 1_024, 2_048];
        let high = [2_049, 3_800, 14_744, 30_436, 2_097_152];
        for mebibytes in standard.into_iter().chain(high) {
            let card = csd(Bytes::mib(mebibytes));
            let register = card.register().unwrap_or_else(|| panic!("{mebibytes} MiB"));
            assert_eq!(Csd::parse(&register).unwrap(), card, "{mebibytes} MiB");
        }
    }

    #[test]
    fn a_capacity_that_no_csd_can_tell_gives_none() {
        assert_eq!(csd(Bytes::mib(4_096) + Bytes::kib(4)).register(), None);
        assert_eq!(csd(Bytes::mib(2_097_153)).register(), None);
        assert_eq!(csd(Bytes::ZERO).register(), None);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let register = csd(Bytes::mib(14_744)).register().unwrap();
        for bit in 0..128 {
            let mut bad = register;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(Csd::parse(&bad), Err(CsdError::Crc { .. })), "bit {bit}");
        }
    }
}
