//! Register, device to host (34h): the end of a command, or the signature after a reset.
//!
//! Layer: format. Main types: [`RegisterD2hView`] over dwords, [`RegisterD2h`].
//!
//! ```text
//!      31        24 23        16 15 14 13 12 11   8 7          0
//!  0  | error      | status     | -| I| -  -| port | 34h        |
//!  1  | device     | LBA 23:0                                   |
//!  2  | reserved   | LBA 47:24                                  |
//!  3  | reserved                | count                         |
//!  4  | reserved                                                |
//! ```
//! Source: Serial ATA Revision 3, 10.5.6.

use super::Kind;
use super::field::{self, Field, bits};
use super::view::{Format, View};
use std::fmt;

const PORT: Field = bits(0, 8, 4);
const INTERRUPT: Field = bits(0, 14, 1);
const STATUS: Field = bits(0, 16, 8);
const ERROR: Field = bits(0, 24, 8);
const LBA: Field = bits(1, 0, 24);
const DEVICE: Field = bits(1, 24, 8);
const LBA_HIGH: Field = bits(2, 0, 24);
const COUNT: Field = bits(3, 0, 16);
/// The reserved bits of each dword.
const RESERVED: [u32; 5] = [0xB000, 0, 0xFF00_0000, 0xFFFF_0000, u32::MAX];

impl Format for RegisterD2h {
    const KIND: Kind = Kind::RegisterD2h;
    const RESERVED: &'static [u32] = &RESERVED;
}

/// Dwords that hold a FIS of this type.
pub type RegisterD2hView<'a> = View<'a, RegisterD2h>;

impl RegisterD2hView<'_> {
    /// Status.
    #[must_use]
    pub fn status(&self) -> u8 {
        STATUS.byte(self.words)
    }

    /// Error.
    #[must_use]
    pub fn error(&self) -> u8 {
        ERROR.byte(self.words)
    }

    /// Parses all fields.
    #[must_use]
    pub fn parse(&self) -> RegisterD2h {
        RegisterD2h {
            port: PORT.byte(self.words),
            interrupt: INTERRUPT.flag(self.words),
            status: self.status(),
            error: self.error(),
            lba: field::lba(self.words, LBA, LBA_HIGH),
            device: DEVICE.byte(self.words),
            count: COUNT.half(self.words),
        }
    }
}

/// Register, device to host (34h, 5 dwords): the end of a command, or the signature after a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RegisterD2h {
    /// Port multiplier port.
    pub port: u8,
    /// I: interrupt.
    pub interrupt: bool,
    /// Status.
    pub status: u8,
    /// Error.
    pub error: u8,
    /// LBA, 48 bits.
    pub lba: u64,
    /// Device register.
    pub device: u8,
    /// Sector count, both bytes.
    pub count: u16,
}

impl RegisterD2h {
    /// Returns the dwords, without CRC.
    ///
    /// # Panics
    /// If the LBA needs more than 48 bits.
    #[must_use]
    pub fn emit(&self) -> [u32; 5] {
        let mut words = [Kind::RegisterD2h.dword(), 0, 0, 0, 0];
        PORT.put(&mut words, self.port);
        INTERRUPT.put(&mut words, self.interrupt);
        STATUS.put(&mut words, self.status);
        ERROR.put(&mut words, self.error);
        field::put_lba(&mut words, LBA, LBA_HIGH, self.lba);
        DEVICE.put(&mut words, self.device);
        COUNT.put(&mut words, self.count);
        words
    }
}

impl fmt::Display for RegisterD2h {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {:02X}h, error {:02X}h", self.status, self.error)?;
        write!(f, ", LBA {}, count {}", self.lba, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::Error;

    #[test]
    fn fields_are_where_the_standard_has_them() {
        let good = RegisterD2h { interrupt: true, status: 0x50, ..RegisterD2h::default() };
        assert_eq!(good.emit(), [0x0050_4034, 0, 0, 0, 0]);
        let all = [0x8451_4334, 0xE033_4455, 0x0077_8899, 0x0000_CCDD, 0];
        let view = RegisterD2hView::new(&all).unwrap();
        let expected = RegisterD2h {
            port: 3,
            interrupt: true,
            status: 0x51,
            error: 0x84,
            lba: 0x7788_9933_4455,
            device: 0xE0,
            count: 0xCCDD,
        };
        assert_eq!(view.parse(), expected);
        assert_eq!(expected.emit(), all);
        assert_eq!(view.check_reserved(), Ok(()));
    }

    #[test]
    fn each_reserved_bit_is_passed_over_and_told() {
        let good = [0x0050_4034, 0, 0, 0, 0];
        for (dword, mask) in RESERVED.into_iter().enumerate() {
            for bits in (0..32).map(|bit| 1 << bit).filter(|bit| mask & bit != 0) {
                let mut words = good;
                words[dword] |= bits;
                let view = RegisterD2hView::new(&words).unwrap();
                assert_eq!(view.parse().emit(), good);
                let found = Error::Reserved { fis: Kind::RegisterD2h, dword, bits };
                assert_eq!(view.check_reserved(), Err(found));
            }
        }
    }

    #[test]
    fn another_type_is_refused() {
        let found = RegisterD2hView::new(&[0x0000_0027, 0, 0, 0, 0]).unwrap_err();
        let expected = Kind::RegisterD2h;
        assert_eq!(found, Error::WrongFis { expected, found: Kind::RegisterH2d });
    }

    #[test]
    fn it_is_printed_with_status_and_error() {
        let failed = RegisterD2h { status: 0x51, error: 0x84, lba: 7, ..RegisterD2h::default() };
        assert_eq!(failed.to_string(), "status 51h, error 84h, LBA 7, count 0");
    }
}
