//! The registers of a card: CID, CSD, SCR, SD status, switch status.
//!
//! Layer: rank 4. The functions return the bytes in the order in which the card sends them. Source:
//! SD Physical Layer Simplified Specification 6.00, sections 4.3.10, 4.10.2 and 5.2 to 5.6. Fields
//! that a real card chooses (speed, current, times) have the specification's values for a class 2
//! card at default speed.

/// CID: manufacturer 0, OEM "BL", product "BOARD", revision 1.0, serial number 1, November 2026.
pub(super) fn cid() -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[1..3].copy_from_slice(b"BL");
    bytes[3..8].copy_from_slice(b"BOARD");
    bytes[8] = 0x10;
    bytes[12] = 1;
    // Years since 2000 in bits 19 to 12 of the last fields, the month in bits 11 to 8.
    bytes[13] = 26 >> 4;
    bytes[14] = (26 << 4 & 0xF0) | 11;
    closed(bytes)
}

/// Puts the CRC of a register into its last byte.
fn closed(mut bytes: [u8; 16]) -> [u8; 16] {
    bytes[15] = crc7(&bytes[..15]) << 1 | 1;
    bytes
}

/// The CRC of commands and registers: x^7 + x^3 + 1 (section 4.5).
fn crc7(bytes: &[u8]) -> u8 {
    let bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    bits.fold(0, |crc, bit| {
        let feedback = crc >> 6 & 1 ^ bit;
        (crc << 1 & 0x7F) ^ (feedback * 0x09)
    })
}

/// The size of the largest standard-capacity card, 2 GiB, in blocks.
const STANDARD: u64 = 1 << 22;

/// Whether a card of `blocks` blocks is of high capacity, which is addressed by block.
pub(super) const fn is_high_capacity(blocks: u64) -> bool {
    blocks > STANDARD
}

/// The CSD of a card of `blocks` blocks; `None` if no CSD represents that size exactly.
pub(super) fn csd(blocks: u64) -> Option<[u8; 16]> {
    if is_high_capacity(blocks) { high_capacity(blocks) } else { standard_capacity(blocks) }
}

/// CSD version 2.0: capacity in units of 512 KiB.
fn high_capacity(blocks: u64) -> Option<[u8; 16]> {
    let units = u32::try_from(blocks / 1024).ok()?;
    if !blocks.is_multiple_of(1024) || units > 1 << 22 {
        return None;
    }
    let mut fields = Fields::start(1);
    fields.set(22, 48, units - 1);
    fields.set(4, 80, 9);
    fields.finish()
}

/// CSD version 1.0: capacity as (C_SIZE + 1) * 2^(C_SIZE_MULT + 2) blocks of 2^READ_BL_LEN bytes.
fn standard_capacity(blocks: u64) -> Option<[u8; 16]> {
    let bytes = blocks * 512;
    for length in [9, 10, 11] {
        for multiplier in 0..8 {
            let unit = 1_u64 << (length + multiplier + 2);
            if !bytes.is_multiple_of(unit) || bytes / unit > 4096 || bytes == 0 {
                continue;
            }
            let mut fields = Fields::start(0);
            fields.set(12, 62, u32::try_from(bytes / unit - 1).ok()?);
            fields.set(3, 47, multiplier);
            fields.set(4, 80, length);
            fields.set(1, 79, 1);
            return fields.finish();
        }
    }
    None
}

/// A CSD as a 128-bit number.
struct Fields(u128);

impl Fields {
    /// The fields that both versions share.
    fn start(version: u32) -> Self {
        let mut fields = Self(0);
        fields.set(2, 126, version);
        // TAAC 1 ms, TRAN_SPEED 25 MHz, CCC: classes 0, 2, 4, 8.
        fields.set(8, 112, 0x0E);
        fields.set(8, 96, 0x32);
        fields.set(12, 84, 0x115);
        // ERASE_BLK_EN, SECTOR_SIZE 64 KiB; R2W_FACTOR 4, WRITE_BL_LEN 512 bytes.
        fields.set(1, 46, 1);
        fields.set(7, 39, 0x7F);
        fields.set(3, 26, 2);
        fields.set(4, 22, 9);
        fields
    }

    /// Sets the field of `width` bits whose lowest bit is `lowest`.
    fn set(&mut self, width: u32, lowest: u32, value: u32) {
        let mask = (1 << width) - 1;
        self.0 |= (u128::from(value) & mask) << lowest;
    }

    #[allow(clippy::unnecessary_wraps, reason = "the last step of two functions that may fail")]
    fn finish(self) -> Option<[u8; 16]> {
        Some(closed(self.0.to_be_bytes()))
    }
}

/// SCR: specification version 2.00, erased data read as zero, bus widths 1 and 4.
pub(super) const SCR: [u8; 8] = [0x02, 0x05, 0, 0, 0, 0, 0, 0];

/// The SD status, of which only the bus width is not zero.
pub(super) fn sd_status(wide: bool) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[0] = if wide { 0x80 } else { 0 };
    bytes
}

/// The switch status of CMD6: at most 100 mA; only the default function of each group is supported,
/// and a request for another gets the result 15.
pub(super) fn switch_status(argument: u32) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[1] = 100;
    for group in 0..6 {
        // The supported functions of groups 6 to 1, from byte 2 on.
        bytes[2 + 2 * group] = 0x80;
        bytes[3 + 2 * group] = 0x01;
    }
    for group in 0..6 {
        let asked = argument >> (4 * group) & 15;
        let result = if asked == 0 || asked == 15 { 0 } else { 15 };
        // Groups 6 and 5 share byte 14, and so on.
        let place = 16 - usize::try_from(group / 2).unwrap_or_default();
        bytes[place] |= result << (4 * (group % 2));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(bytes: [u8; 16], width: u32, lowest: u32) -> u64 {
        let mask = (1_u128 << width) - 1;
        u64::try_from(u128::from_be_bytes(bytes) >> lowest & mask).unwrap()
    }

    /// The capacity in blocks as a driver works it out (section 5.3).
    fn capacity(csd: [u8; 16]) -> u64 {
        if field(csd, 2, 126) == 1 {
            return (field(csd, 22, 48) + 1) * 1024;
        }
        let blocks = (field(csd, 12, 62) + 1) << (field(csd, 3, 47) + 2);
        (blocks << field(csd, 4, 80)) / 512
    }

    #[test]
    fn a_driver_finds_the_size_of_the_card_in_its_csd() {
        let mib = 2048;
        for blocks in [128, mib, 64 * mib, 1024 * mib, 2048 * mib, 4096 * mib, 32 << 21, 2049 * mib]
        {
            let csd = csd(blocks).unwrap();
            assert_eq!(capacity(csd), blocks, "{blocks}");
            assert_eq!(field(csd, 2, 126) == 1, is_high_capacity(blocks));
        }
    }

    #[test]
    fn sizes_that_no_csd_can_say_are_refused() {
        for blocks in [0, 1, 7, STANDARD - 1, STANDARD + 1, 1 << 33] {
            assert_eq!(csd(blocks), None, "{blocks}");
        }
    }

    #[test]
    fn crc7_is_that_of_the_specification() {
        // Section 4.5: CMD0, CMD17 with argument 0, and the answer to it.
        assert_eq!(crc7(&[0x40, 0, 0, 0, 0]), 0b100_1010);
        assert_eq!(crc7(&[0x51, 0, 0, 0, 0]), 0b010_1010);
        assert_eq!(crc7(&[0x11, 0, 0, 0x09, 0]), 0b011_0011);
    }

    #[test]
    fn the_cid_tells_its_date() {
        assert_eq!(field(cid(), 8, 12), 26);
        assert_eq!(field(cid(), 4, 8), 11);
        assert_eq!(field(cid(), 8, 56), 0x10);
    }

    #[test]
    fn only_default_functions_can_be_switched_to() {
        let status = switch_status(0x80FF_FFF1);
        assert_eq!(status[16], 0x0F, "high speed is refused");
        let status = switch_status(0x80FF_FFF0);
        assert_eq!(status[16], 0);
        assert_eq!(status[13] & 1, 1);
    }
}
