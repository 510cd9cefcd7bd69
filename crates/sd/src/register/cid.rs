//! CID: the identification of the card and its manufacturer.
//!
//! Layer: registers. Main type: [`Cid`]. Source: SD Physical Layer Simplified Specification 6.00,
//! section 5.2.

use super::bits::Bits;
use boardlab_codec::crc::crc7;

/// The card's identification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cid {
    /// Manufacturer, assigned by the SD Association.
    pub manufacturer: u8,
    /// Two letters of the brand.
    pub brand: [u8; 2],
    /// Five letters of the product.
    pub product: [u8; 5],
    /// The revision: two decimal digits, one in each half.
    pub revision: u8,
    /// Serial number.
    pub serial: u32,
    /// Year, 2000 to 2255.
    pub year: u16,
    /// Month, 1 to 12.
    pub month: u8,
}

impl Cid {
    /// The register, its CRC included. `None` when year or month are out of range.
    #[must_use]
    pub fn register(&self) -> Option<[u8; 16]> {
        let years = self.year.checked_sub(2_000).filter(|&years| years <= 255)?;
        let month = (1..=12).contains(&self.month).then_some(self.month)?;
        let mut bits = Bits::<16>::zero()
            .with(63, 56, u64::from(self.revision))
            .with(55, 24, u64::from(self.serial))
            .with(19, 12, u64::from(years))
            .with(11, 8, u64::from(month));
        bits.0[0] = self.manufacturer;
        bits.0[1..3].copy_from_slice(&self.brand);
        bits.0[3..8].copy_from_slice(&self.product);
        bits.0[15] = crc7(&bits.0[..15]) << 1 | 1;
        Some(bits.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Cid;

    const CARD: Cid = Cid {
        manufacturer: 0x03,
        brand: *b"SD",
        product: *b"SU08G",
        revision: 0x80,
        serial: 0x0E5C_5A6B,
        year: 2011,
        month: 12,
    };

    #[test]
    fn fields_stand_where_a_host_looks_for_them() {
        let register = CARD.register().unwrap();
        assert_eq!(&register[..9], b"\x03SDSU08G\x80");
        assert_eq!(register[9..15], [0x0E, 0x5C, 0x5A, 0x6B, 0x00, 0xBC]);
        assert_eq!(register[15] & 1, 1, "the end bit");
    }

    #[test]
    fn a_date_that_cannot_be_told_gives_none() {
        assert_eq!(Cid { month: 13, ..CARD }.register(), None);
        assert_eq!(Cid { year: 1999, ..CARD }.register(), None);
        assert_eq!(Cid { year: 2256, ..CARD }.register(), None);
    }
}
