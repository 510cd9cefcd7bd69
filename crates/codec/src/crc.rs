//! Checksums: CRC-32 and CRC-16 of Linux' on-flash formats, CRC-7 of SD cards and eMMC.
//!
//! Layer: rank 1. CRC-32 has a seed and no inversions: polynomial 0x04C11DB7, least significant bit
//! first (0xEDB88320). Source: Linux 6.1 `lib/crc32.c`, `crc32_le`. The seed of JFFS2 is 0; that of
//! UBI, UBIFS and YAFFS2 is all ones, and they do not invert the result either. The implementation is
//! `crc32fast`'s. CRC-7: SD Physical Layer Simplified Specification, section 4.5.

/// Seed of UBI and UBIFS.
pub const UBI_SEED: u32 = u32::MAX;

/// Seed of JFFS2.
pub const JFFS2_SEED: u32 = 0;

/// The CRC-32 of `data` with `seed`; neither seed nor result is inverted.
///
/// It can be continued: `crc32(crc32(seed, a), b)` is the CRC of `a` followed by `b`.
#[must_use]
pub fn crc32(seed: u32, data: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(!seed);
    hasher.update(data);
    !hasher.finalize()
}

/// The CRC-16 of UBIFS' LEB properties tree: polynomial 0x8005, least significant bit first (0xA001),
/// seed all ones, no inversion. Source: Linux 6.1 `lib/crc16.c`, called with -1.
#[must_use]
pub fn crc16(data: &[u8]) -> u16 {
    const CRC16: crc::Crc<u16> = crc::Crc::<u16>::new(&crc::CRC_16_MODBUS);
    CRC16.checksum(data)
}

/// The CRC-7 of commands and registers of SD cards and eMMC: x^7 + x^3 + 1, seed zero.
#[must_use]
pub fn crc7(data: &[u8]) -> u8 {
    const CRC7: crc::Crc<u8> = crc::Crc::<u8>::new(&crc::CRC_7_MMC);
    CRC7.checksum(data)
}

#[cfg(test)]
mod tests {
    use super::{JFFS2_SEED, UBI_SEED, crc7, crc32};

    #[test]
    fn commands_of_an_sd_card_have_the_crc_of_the_specification() {
        // CMD0, CMD17 and the response to CMD17, section 4.5 of the Physical Layer Specification.
        assert_eq!(crc7(&[0x40, 0, 0, 0, 0]), 0b100_1010);
        assert_eq!(crc7(&[0x51, 0, 0, 0, 0]), 0b010_1010);
        assert_eq!(crc7(&[0x11, 0, 0, 0x09, 0]), 0b011_0011);
    }

    /// One bit at a time, from the definition.
    fn bitwise(seed: u32, data: &[u8]) -> u32 {
        data.iter().fold(seed, |state, &byte| {
            (0..8).fold(state ^ u32::from(byte), |state, _| {
                (state >> 1) ^ if state & 1 == 1 { 0xEDB8_8320 } else { 0 }
            })
        })
    }

    #[test]
    fn published_check_value_holds() {
        assert_eq!(!crc32(UBI_SEED, b"123456789"), 0xCBF4_3926, "catalogue: CRC-32/ISO-HDLC");
        assert_eq!(crc32(UBI_SEED, b"123456789"), 0x340B_C6D9, "catalogue: CRC-32/JAMCRC");
        assert_eq!(crc32(JFFS2_SEED, b"123456789"), 0x2DFD_2D88);
    }

    #[test]
    fn cleanmarker_that_linux_writes_to_nor_has_its_header_crc() {
        // 85 19 03 20 0C 00 00 00 B1 B0 1E E4 begins every erased block of a JFFS2 image.
        let header = [0x85, 0x19, 0x03, 0x20, 0x0C, 0, 0, 0];
        assert_eq!(crc32(JFFS2_SEED, &header).to_le_bytes(), [0xB1, 0xB0, 0x1E, 0xE4]);
    }

    #[test]
    fn every_length_and_seed_agrees_with_the_definition() {
        let data: Vec<u8> = (0..300_u32).map(|i| (i * i / 7).to_le_bytes()[0]).collect();
        for length in 0..data.len() {
            for seed in [0, 1, 0x1234_5678, u32::MAX] {
                assert_eq!(crc32(seed, &data[..length]), bitwise(seed, &data[..length]));
            }
        }
    }

    #[test]
    fn remainder_is_the_seed_of_what_follows() {
        assert_eq!(crc32(crc32(0, b"jffs"), b"2 node"), crc32(0, b"jffs2 node"));
    }
}
