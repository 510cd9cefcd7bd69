//! Data (46h): up to 8 KiB of payload.
//!
//! Layer: format. Main types: [`DataView`] over dwords, [`DataHeader`]. The payload itself never passes
//! through a representation.
//!
//! ```text
//!      31                                12 11   8 7          0
//!  0  | reserved                           | port | 46h        |
//!  1.. | payload: 1 to 2,048 dwords                             |
//! ```
//! Source: Serial ATA Revision 3, 10.5.12.

use super::Kind;
use super::field::{Field, bits};
use super::view::{Format, View};
use crate::LARGEST_DATA;
use std::fmt;

const PORT: Field = bits(0, 8, 4);
/// The reserved bits of the header.
const RESERVED: [u32; 1] = [0xFFFF_F000];
/// The length of the longest Data FIS in dwords.
pub const LARGEST: usize = LARGEST_DATA as usize + 1;

impl Format for DataHeader {
    const KIND: Kind = Kind::Data;
    const RESERVED: &'static [u32] = &RESERVED;
}

/// Dwords that hold a Data FIS.
pub type DataView<'a> = View<'a, DataHeader>;

impl<'a> DataView<'a> {
    /// The header.
    #[must_use]
    pub fn header(&self) -> DataHeader {
        DataHeader { port: PORT.byte(self.words) }
    }

    /// The payload.
    #[must_use]
    pub fn payload(&self) -> &'a [u32] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// The dword before the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DataHeader {
    /// Port multiplier port.
    pub port: u8,
}

impl DataHeader {
    /// Returns the dword.
    #[must_use]
    pub fn emit(&self) -> u32 {
        let mut words = [Kind::Data.dword()];
        PORT.put(&mut words, self.port);
        words[0]
    }
}

impl fmt::Display for DataHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {}", self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::Error;

    #[test]
    fn a_header_and_its_payload() {
        assert_eq!(DataHeader::default().emit(), 0x46);
        let view = DataView::new(&[0x0346, 5, 6]).unwrap();
        assert_eq!(view.header(), DataHeader { port: 3 });
        assert_eq!(view.header().emit(), 0x0346);
        assert_eq!(view.payload(), [5, 6]);
        assert_eq!(view.check_reserved(), Ok(()));
        assert_eq!(view.header().to_string(), "port 3");
    }

    #[test]
    fn a_payload_is_1_to_2048_dwords() {
        let mut words = vec![0; LARGEST + 1];
        words[0] = 0x46;
        for (length, good) in [(1, false), (2, true), (LARGEST, true), (LARGEST + 1, false)] {
            assert_eq!(DataView::new(&words[..length]).is_ok(), good, "{length} dwords");
        }
        let error = DataView::new(&words).unwrap_err().to_string();
        assert_eq!(error, "a FIS Data (46h) of 2050 dwords: expected 2 to 2049");
    }

    #[test]
    fn reserved_bits_are_told() {
        let found = Error::Reserved { fis: Kind::Data, dword: 0, bits: 0x0100_0000 };
        assert_eq!(DataView::new_unchecked(&[0x0100_0046, 0]).check_reserved(), Err(found));
    }
}
