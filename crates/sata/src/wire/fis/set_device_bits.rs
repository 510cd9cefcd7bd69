//! Set Device Bits (A1h): queued commands have completed.
//!
//! Layer: format. Main types: [`SetDeviceBitsView`] over dwords, [`SetDeviceBits`].
//!
//! ```text
//!      31        24 23 22   20 19 18   16 15 14 13 12 11   8 7    0
//!  0  | error      | -| st 6:4| -| st 2:0| N| I| -  -| port | A1h  |
//!  1  | SActive                                                   |
//! ```
//! Only the bits 6 to 4 and 2 to 0 of the status are transferred: BSY and DRQ stay as they are.
//!
//! Source: Serial ATA Revision 3, 10.5.7.

use super::Kind;
use super::field::{Field, bits};
use super::view::{Format, View};
use std::fmt;

const PORT: Field = bits(0, 8, 4);
const INTERRUPT: Field = bits(0, 14, 1);
const NOTIFICATION: Field = bits(0, 15, 1);
const STATUS: Field = bits(0, 16, 8);
const ERROR: Field = bits(0, 24, 8);
const ACTIVE: Field = bits(1, 0, 32);
/// The reserved bits of each dword.
const RESERVED: [u32; 2] = [0x0088_3000, 0];
/// The status bits that are transferred.
const STATUS_MASK: u8 = 0x77;

impl Format for SetDeviceBits {
    const KIND: Kind = Kind::SetDeviceBits;
    const RESERVED: &'static [u32] = &RESERVED;
}

/// Dwords that hold a FIS of this type.
pub type SetDeviceBitsView<'a> = View<'a, SetDeviceBits>;

impl SetDeviceBitsView<'_> {
    /// SActive: a bit for each tag whose command has completed.
    #[must_use]
    pub const fn active(&self) -> u32 {
        ACTIVE.get(self.words)
    }

    /// Parses all fields.
    #[must_use]
    pub fn parse(&self) -> SetDeviceBits {
        SetDeviceBits {
            port: PORT.byte(self.words),
            interrupt: INTERRUPT.flag(self.words),
            notification: NOTIFICATION.flag(self.words),
            status: STATUS.byte(self.words) & STATUS_MASK,
            error: ERROR.byte(self.words),
            active: self.active(),
        }
    }
}

/// Set Device Bits (A1h, 2 dwords): queued commands have completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SetDeviceBits {
    /// Port multiplier port.
    pub port: u8,
    /// I: interrupt.
    pub interrupt: bool,
    /// N: notification.
    pub notification: bool,
    /// Status, of which bits 6 to 4 and 2 to 0 are transferred.
    pub status: u8,
    /// Error.
    pub error: u8,
    /// SActive: a bit for each tag whose command has completed.
    pub active: u32,
}

impl SetDeviceBits {
    /// Returns the dwords, without CRC.
    #[must_use]
    pub fn emit(&self) -> [u32; 2] {
        let mut words = [Kind::SetDeviceBits.dword(), 0];
        PORT.put(&mut words, self.port);
        INTERRUPT.put(&mut words, self.interrupt);
        NOTIFICATION.put(&mut words, self.notification);
        STATUS.put(&mut words, self.status & STATUS_MASK);
        ERROR.put(&mut words, self.error);
        ACTIVE.put(&mut words, self.active);
        words
    }
}

impl fmt::Display for SetDeviceBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {:02X}h, error {:02X}h", self.status, self.error)?;
        write!(f, ", SActive {:08X}h", self.active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::Error;

    #[test]
    fn fields_are_where_the_standard_has_them() {
        let words = [0x8441_C1A1, 0x8000_0001];
        let view = SetDeviceBitsView::new(&words).unwrap();
        let expected = SetDeviceBits {
            port: 1,
            interrupt: true,
            notification: true,
            status: 0x41,
            error: 0x84,
            active: 0x8000_0001,
        };
        assert_eq!(view.parse(), expected);
        assert_eq!(view.check_reserved(), Ok(()));
        assert_eq!(expected.emit(), words);
        assert_eq!(expected.to_string(), "status 41h, error 84h, SActive 80000001h");
    }

    #[test]
    fn busy_and_data_request_do_not_travel() {
        let bits = SetDeviceBits { status: 0xFF, ..SetDeviceBits::default() };
        assert_eq!(bits.emit(), [0x0077_00A1, 0]);
        let view = SetDeviceBitsView::new(&[0x00FF_30A1, 0]).unwrap();
        assert_eq!(view.parse().status, 0x77);
        let found = Error::Reserved { fis: Kind::SetDeviceBits, dword: 0, bits: 0x0088_3000 };
        assert_eq!(view.check_reserved(), Err(found));
    }

    #[test]
    fn a_wrong_length_is_refused() {
        let found = Error::FisLength { fis: Kind::SetDeviceBits, expected: 2, found: 3 };
        assert_eq!(SetDeviceBitsView::new(&[0xA1, 0, 0]).unwrap_err(), found);
    }
}
