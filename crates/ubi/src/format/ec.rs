//! The erase counter header: the first 64 bytes of every physical erase block.
//!
//! Layer: rank 4, format. Main type: [`EcHeader`].
//!
//! ```text
//!  0      4         8           16         20          24         28       60
//!  | UBI# | 1 0 0 0 | erasures  | VID at   | data at   | sequence | 0 * 32 | crc
//! ```
//! Source: Linux 6.1, `struct ubi_ec_hdr`; `io.c`, `validate_ec_hdr`.

use super::{EC_MAX, Malformed, ORDER, VERSION, check_header, crc, get64, put64};
use std::fmt;

/// Bytes of the header.
pub const SIZE: usize = 64;
/// The same as a number of bytes on flash.
pub const SIZE_ON_FLASH: u32 = 64;
/// The magic number, `UBI#`.
pub const MAGIC: u32 = 0x5542_4923;

mod field {
    use std::ops::Range;
    pub(super) const MAGIC: Range<usize> = 0..4;
    pub(super) const VERSION: usize = 4;
    pub(super) const EC: Range<usize> = 8..16;
    pub(super) const VID_OFFSET: Range<usize> = 16..20;
    pub(super) const DATA_OFFSET: Range<usize> = 20..24;
    pub(super) const IMAGE_SEQ: Range<usize> = 24..28;
    pub(super) const CRC: Range<usize> = 60..64;
    pub(super) const END: usize = 64;
}

/// An erase counter header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcHeader {
    /// How often the block was erased, at most [`EC_MAX`].
    pub ec: u32,
    /// The offset of the VID header in the block.
    pub vid_offset: u32,
    /// The offset of the data in the block.
    pub data_offset: u32,
    /// The number of the image that the block was written with; 0 when there is none.
    pub image_seq: u32,
}

/// Bytes that are an erase counter header: the right magic number and checksum.
#[derive(Debug, Clone, Copy)]
pub struct EcView<'a> {
    bytes: &'a [u8],
}

impl<'a> EcView<'a> {
    /// The header that `bytes` begin with.
    ///
    /// # Errors
    /// All but [`Malformed::Value`].
    pub fn new(bytes: &'a [u8]) -> Result<Self, Malformed> {
        check_header(bytes, MAGIC)?;
        Ok(Self { bytes })
    }

    /// All fields.
    ///
    /// # Errors
    /// [`Malformed::Value`].
    pub fn parse(&self) -> Result<EcHeader, Malformed> {
        let version = self.bytes[field::VERSION];
        if version != VERSION {
            return Err(Malformed::value("the version", version));
        }
        let count = get64(self.bytes, field::EC);
        let ec = u32::try_from(count).ok().filter(|&ec| ec <= EC_MAX);
        let Some(ec) = ec else { return Err(Malformed::value("the erase counter", count)) };
        Ok(EcHeader {
            ec,
            vid_offset: ORDER.get32(self.bytes, field::VID_OFFSET),
            data_offset: ORDER.get32(self.bytes, field::DATA_OFFSET),
            image_seq: ORDER.get32(self.bytes, field::IMAGE_SEQ),
        })
    }
}

impl EcHeader {
    /// The bytes of the header.
    #[must_use]
    pub fn bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; field::END];
        ORDER.put32(&mut bytes, field::MAGIC, MAGIC);
        bytes[field::VERSION] = VERSION;
        put64(&mut bytes, field::EC, u64::from(self.ec));
        ORDER.put32(&mut bytes, field::VID_OFFSET, self.vid_offset);
        ORDER.put32(&mut bytes, field::DATA_OFFSET, self.data_offset);
        ORDER.put32(&mut bytes, field::IMAGE_SEQ, self.image_seq);
        let sum = crc(&bytes[..field::CRC.start]);
        ORDER.put32(&mut bytes, field::CRC, sum);
        bytes
    }
}

impl fmt::Display for EcHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ec, vid_offset, data_offset, image_seq } = self;
        write!(f, "erased {ec} times, VID header at {vid_offset}, data at {data_offset}")?;
        if *image_seq == 0 { Ok(()) } else { write!(f, ", image {image_seq}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by `ubinize -p 128KiB -m 2048 -s 512 -Q 7`.
    fn vector() -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(b"UBI#\x01\0\0\0");
        bytes[16..28].copy_from_slice(&[0, 0, 2, 0, 0, 0, 8, 0, 0, 0, 0, 7]);
        bytes[60..].copy_from_slice(&CRC);
        bytes
    }

    const CRC: [u8; 4] = [0xCE, 0x59, 0xBB, 0x5D];
    const HEADER: EcHeader = EcHeader { ec: 0, vid_offset: 512, data_offset: 2_048, image_seq: 7 };

    #[test]
    fn the_header_goes_both_ways() {
        assert_eq!(HEADER.bytes(), vector());
        assert_eq!(EcView::new(&vector()).unwrap().parse(), Ok(HEADER));
        assert_eq!(HEADER.to_string(), "erased 0 times, VID header at 512, data at 2048, image 7");
    }

    #[test]
    fn every_changed_byte_is_found() {
        for at in 0..SIZE {
            let mut bytes = vector();
            bytes[at] ^= 0x10;
            assert!(EcView::new(&bytes).is_err(), "byte {at}");
        }
        assert_eq!(EcView::new(&[0xFF; SIZE]).err(), Some(Malformed::Erased));
        let short = Malformed::Short { expected: 64, found: 63 };
        assert_eq!(EcView::new(&vector()[..63]).err(), Some(short));
    }

    #[test]
    fn a_counter_beyond_31_bits_is_illegal() {
        let bytes = EcHeader { ec: EC_MAX + 1, ..HEADER }.bytes();
        let wrong = Malformed::value("the erase counter", EC_MAX + 1);
        assert_eq!(EcView::new(&bytes).unwrap().parse(), Err(wrong));
    }
}
