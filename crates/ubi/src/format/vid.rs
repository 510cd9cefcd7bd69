//! The volume identifier (VID) header: to which logical erase block a physical one is mapped.
//!
//! Layer: rank 4, format. Main types: [`VidHeader`], [`Payload`].
//!
//! ```text
//!  0      4   5      6      7        8        12     16  20          24         28       32       36
//!  | UBI! | 1 | type | copy | compat | volume | LEB | 0  | data size | used LEBs | padding | crc of data | 0
//!  40         48       60
//!  | sequence | 0 * 12 | crc
//! ```
//! Source: Linux 6.1, `struct ubi_vid_hdr`; `io.c`, `validate_vid_hdr`.

use super::vtbl::VolumeKind;
use super::{
    INTERNAL_START, Malformed, ORDER, VERSION, VOLUMES_MAX, check_header, crc, get64, is_negative,
    put64,
};
use std::fmt;

/// Bytes of the header.
pub const SIZE: usize = 64;
/// The same as a number of bytes on flash.
pub const SIZE_ON_FLASH: u32 = 64;
/// The magic number, `UBI!`.
pub const MAGIC: u32 = 0x5542_4921;
/// The largest sequence number: no device writes as many headers. The kernel takes any, and begins anew
/// behind the last one.
pub const SQNUM_MAX: u64 = u64::MAX >> 1;

mod field {
    use std::ops::Range;
    pub(super) const MAGIC: Range<usize> = 0..4;
    pub(super) const VERSION: usize = 4;
    pub(super) const KIND: usize = 5;
    pub(super) const COPY: usize = 6;
    pub(super) const COMPAT: usize = 7;
    pub(super) const VOLUME: Range<usize> = 8..12;
    pub(super) const LEB: Range<usize> = 12..16;
    pub(super) const DATA_SIZE: Range<usize> = 20..24;
    pub(super) const USED_LEBS: Range<usize> = 24..28;
    pub(super) const DATA_PAD: Range<usize> = 28..32;
    pub(super) const DATA_CRC: Range<usize> = 32..36;
    pub(super) const SQNUM: Range<usize> = 40..48;
    pub(super) const CRC: Range<usize> = 60..64;
    pub(super) const END: usize = 64;
}

/// How an implementation must treat an internal volume that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compat {
    /// A user volume.
    None,
    /// Delete the volume.
    Delete,
    /// Attach read-only.
    ReadOnly,
    /// Keep the volume's blocks as they are.
    Preserve,
    /// Refuse to attach.
    Reject,
}

impl Compat {
    /// The number on flash.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Delete => 1,
            Self::ReadOnly => 2,
            Self::Preserve => 4,
            Self::Reject => 5,
        }
    }

    /// The meaning of a number on flash.
    #[must_use]
    pub const fn of(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::None),
            1 => Some(Self::Delete),
            2 => Some(Self::ReadOnly),
            4 => Some(Self::Preserve),
            5 => Some(Self::Reject),
            _ => None,
        }
    }
}

/// The number of bytes at the beginning of a LEB, and their checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The number of bytes, at least one.
    pub size: u32,
    /// Their checksum.
    pub crc: u32,
}

/// What the header says about the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// A LEB of a dynamic volume, written in place: nothing.
    Dynamic,
    /// A LEB of a dynamic volume that was written as a whole, in place of an older copy.
    Copied(Extent),
    /// A LEB of a static volume.
    Static {
        /// Its data.
        data: Extent,
        /// The number of LEBs with data of the volume.
        used_lebs: u32,
        /// Whether it was written in place of an older copy.
        copy: bool,
    },
}

impl Payload {
    /// The type of the volume.
    #[must_use]
    pub const fn kind(&self) -> VolumeKind {
        match self {
            Self::Dynamic | Self::Copied(_) => VolumeKind::Dynamic,
            Self::Static { .. } => VolumeKind::Static,
        }
    }

    /// Whether the LEB was written in place of an older copy (`copy_flag`).
    #[must_use]
    pub const fn is_copy(&self) -> bool {
        matches!(self, Self::Copied(_) | Self::Static { copy: true, .. })
    }

    /// The data with a checksum, if any.
    #[must_use]
    pub const fn extent(&self) -> Option<Extent> {
        match self {
            Self::Dynamic => None,
            Self::Copied(data) | Self::Static { data, .. } => Some(*data),
        }
    }

    /// The number of data bytes with a checksum; 0 when there are none (`data_size`).
    #[must_use]
    pub fn size(&self) -> u32 {
        self.extent().map_or(0, |data| data.size)
    }

    /// The number of LEBs with data of a static volume; 0 for a dynamic one (`used_ebs`).
    #[must_use]
    pub const fn used_lebs(&self) -> u32 {
        match self {
            Self::Static { used_lebs, .. } => *used_lebs,
            _ => 0,
        }
    }
}

/// A VID header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VidHeader {
    /// The volume.
    pub volume: u32,
    /// The LEB in the volume.
    pub leb: u32,
    /// How to treat the volume if it is unknown.
    pub compat: Compat,
    /// The bytes at the end of the LEB that the volume's alignment leaves unused.
    pub data_pad: u32,
    /// What the header says about the data.
    pub payload: Payload,
    /// Its age: of two copies of a LEB the one with the higher number is newer.
    pub sqnum: u64,
}

/// Bytes that are a VID header: the right magic number and checksum.
#[derive(Debug, Clone, Copy)]
pub struct VidView<'a> {
    bytes: &'a [u8],
}

impl<'a> VidView<'a> {
    /// The header that `bytes` begin with.
    ///
    /// # Errors
    /// All but [`Malformed::Value`].
    pub fn new(bytes: &'a [u8]) -> Result<Self, Malformed> {
        check_header(bytes, MAGIC)?;
        Ok(Self { bytes })
    }

    /// All fields, for a device with this size of LEBs. The kernel does not check the version.
    ///
    /// # Errors
    /// [`Malformed::Value`].
    pub fn parse(&self, leb_size: u32) -> Result<VidHeader, Malformed> {
        let number = |at| ORDER.get32(self.bytes, at);
        let (volume, leb) = (number(field::VOLUME), number(field::LEB));
        let data_pad = number(field::DATA_PAD);
        for (field, value) in [("the volume", volume), ("the LEB", leb), ("the padding", data_pad)]
        {
            if is_negative(value) {
                return Err(Malformed::value(field, value));
            }
        }
        if (VOLUMES_MAX..INTERNAL_START).contains(&volume) {
            return Err(Malformed::value("the volume", volume));
        }
        let internal = volume >= INTERNAL_START;
        let compat = self.bytes[field::COMPAT];
        let known = Compat::of(compat).filter(|&compat| (compat != Compat::None) == internal);
        let compat = known.ok_or_else(|| Malformed::value("the compatibility", compat))?;
        if data_pad >= leb_size / 2 {
            return Err(Malformed::value("the padding", data_pad));
        }
        let payload = self.payload(leb_size, data_pad, leb)?;
        let sqnum = get64(self.bytes, field::SQNUM);
        if sqnum > SQNUM_MAX {
            return Err(Malformed::value("the sequence number", sqnum));
        }
        Ok(VidHeader { volume, leb, compat, data_pad, payload, sqnum })
    }

    fn payload(&self, leb_size: u32, data_pad: u32, leb: u32) -> Result<Payload, Malformed> {
        let number = |at| ORDER.get32(self.bytes, at);
        let data = Extent { size: number(field::DATA_SIZE), crc: number(field::DATA_CRC) };
        let used_lebs = number(field::USED_LEBS);
        let copy = match self.bytes[field::COPY] {
            0 => false,
            1 => true,
            other => return Err(Malformed::value("the copy flag", other)),
        };
        let kind = self.bytes[field::KIND];
        let Some(kind) = VolumeKind::of(kind) else {
            return Err(Malformed::value("the volume type", kind));
        };
        if data.size > leb_size {
            return Err(Malformed::value("the data size", data.size));
        }
        if kind == VolumeKind::Static {
            let wrong_size = data.size == 0
                || (u64::from(leb) + 1 < u64::from(used_lebs) && data.size != leb_size - data_pad);
            if used_lebs == 0 || is_negative(used_lebs) || leb >= used_lebs {
                return Err(Malformed::value("the number of used LEBs", used_lebs));
            }
            if wrong_size {
                return Err(Malformed::value("the data size", data.size));
            }
            return Ok(Payload::Static { data, used_lebs, copy });
        }
        if used_lebs != 0 {
            return Err(Malformed::value("the number of used LEBs", used_lebs));
        }
        match (copy, data) {
            (true, Extent { size: 0, .. }) => Err(Malformed::value("the data size", 0_u32)),
            (true, data) => Ok(Payload::Copied(data)),
            (false, Extent { size: 0, crc: 0 }) => Ok(Payload::Dynamic),
            (false, Extent { size: 0, crc }) => Err(Malformed::value("the data checksum", crc)),
            (false, Extent { size, .. }) => Err(Malformed::value("the data size", size)),
        }
    }
}

impl VidHeader {
    /// The bytes of the header.
    #[must_use]
    pub fn bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; field::END];
        let data = self.payload.extent().unwrap_or(Extent { size: 0, crc: 0 });
        ORDER.put32(&mut bytes, field::MAGIC, MAGIC);
        bytes[field::VERSION] = VERSION;
        bytes[field::KIND] = self.payload.kind().number();
        bytes[field::COPY] = u8::from(self.payload.is_copy());
        bytes[field::COMPAT] = self.compat.number();
        ORDER.put32(&mut bytes, field::VOLUME, self.volume);
        ORDER.put32(&mut bytes, field::LEB, self.leb);
        ORDER.put32(&mut bytes, field::DATA_SIZE, data.size);
        ORDER.put32(&mut bytes, field::USED_LEBS, self.payload.used_lebs());
        ORDER.put32(&mut bytes, field::DATA_PAD, self.data_pad);
        ORDER.put32(&mut bytes, field::DATA_CRC, data.crc);
        put64(&mut bytes, field::SQNUM, self.sqnum);
        let sum = crc(&bytes[..field::CRC.start]);
        ORDER.put32(&mut bytes, field::CRC, sum);
        bytes
    }
}

impl fmt::Display for VidHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { volume, leb, payload, sqnum, .. } = self;
        write!(f, "LEB {leb} of {} volume {volume}, sequence {sqnum}", payload.kind())?;
        if let Some(data) = payload.extent() {
            write!(f, ", {} bytes", data.size)?;
        }
        if payload.is_copy() { f.write_str(", a copy") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEB_SIZE: u32 = 129_024;
    const HEADER: VidHeader = VidHeader {
        volume: 0,
        leb: 3,
        compat: Compat::None,
        data_pad: 0,
        payload: Payload::Dynamic,
        sqnum: 0x0102,
    };
    /// The first and the last bytes of `HEADER`.
    const START: [u8; 16] = *b"UBI!\x01\x01\0\0\0\0\0\0\0\0\0\x03";

    fn parse(header: VidHeader) -> Result<VidHeader, Malformed> {
        VidView::new(&header.bytes()).unwrap().parse(LEB_SIZE)
    }

    #[test]
    fn the_header_has_the_bytes_of_the_format() {
        let bytes = HEADER.bytes();
        assert_eq!(bytes[..16], START);
        assert_eq!(bytes[16..40], [0; 24]);
        assert_eq!(bytes[40..60], [[0; 6].as_slice(), &[1, 2], &[0; 12]].concat());
        assert_eq!(bytes[60..], crc(&bytes[..60]).to_be_bytes());
        assert_eq!(HEADER.to_string(), "LEB 3 of dynamic volume 0, sequence 258");
    }

    #[test]
    fn all_payloads_go_both_ways() {
        let data = Extent { size: 4_096, crc: 5 };
        let payloads = [
            Payload::Dynamic,
            Payload::Copied(data),
            Payload::Static { data, used_lebs: 4, copy: false },
            Payload::Static { data, used_lebs: 4, copy: true },
        ];
        for payload in payloads {
            let header = VidHeader { payload, ..HEADER };
            assert_eq!(parse(header), Ok(header));
        }
        let layout = VidHeader { volume: INTERNAL_START, compat: Compat::Reject, ..HEADER };
        assert_eq!(parse(layout), Ok(layout));
    }

    #[test]
    fn every_changed_byte_is_found() {
        for at in 0..SIZE {
            let mut bytes = HEADER.bytes();
            bytes[at] ^= 0x10;
            assert!(VidView::new(&bytes).is_err(), "byte {at}");
        }
    }

    #[test]
    fn illegal_combinations_are_refused() {
        let fields = |header: VidHeader| {
            parse(header).map_err(|cause| match cause {
                Malformed::Value { field, .. } => field,
                other => panic!("{other}"),
            })
        };
        let data = |size| Extent { size, crc: 1 };
        let cases = [
            (VidHeader { volume: 128, ..HEADER }, "the volume"),
            (VidHeader { volume: u32::MAX, ..HEADER }, "the volume"),
            (VidHeader { leb: 1 << 31, ..HEADER }, "the LEB"),
            (VidHeader { compat: Compat::Reject, ..HEADER }, "the compatibility"),
            (VidHeader { volume: INTERNAL_START, ..HEADER }, "the compatibility"),
            (VidHeader { data_pad: LEB_SIZE / 2, ..HEADER }, "the padding"),
            (VidHeader { payload: Payload::Copied(data(0)), ..HEADER }, "the data size"),
            (VidHeader { payload: Payload::Copied(data(LEB_SIZE + 1)), ..HEADER }, "the data size"),
        ];
        for (header, field) in cases {
            assert_eq!(fields(header), Err(field), "{header}");
        }
        let fixed = |size, used_lebs| {
            let payload = Payload::Static { data: data(size), used_lebs, copy: false };
            fields(VidHeader { payload, ..HEADER }).map(|_| ())
        };
        assert_eq!(fixed(1, 4), Ok(()));
        assert_eq!(fixed(1, 5), Err("the data size"));
        assert_eq!(fixed(LEB_SIZE, 5), Ok(()));
        assert_eq!(fixed(1, 3), Err("the number of used LEBs"));
        assert_eq!(fixed(0, 4), Err("the data size"));
    }
}
