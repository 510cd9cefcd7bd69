//! Register, host to device (27h): a command, or a change of the control register.
//!
//! Layer: format. Main types: [`RegisterH2dView`] over dwords, [`RegisterH2d`].
//!
//! ```text
//!      31        24 23        16 15  14    12 11   8 7          0
//!  0  | features   | command    | C | reserved | port | 27h       |
//!  1  | device     | LBA 23:0                                     |
//!  2  | features hi| LBA 47:24                                    |
//!  3  | control    | icc        | count                           |
//!  4  | reserved                                                  |
//! ```
//! Source: Serial ATA Revision 3, 10.5.5.

use super::Kind;
use super::field::{self, Field, bits};
use super::view::{Format, View};
use std::fmt;

const PORT: Field = bits(0, 8, 4);
const IS_COMMAND: Field = bits(0, 15, 1);
const COMMAND: Field = bits(0, 16, 8);
const FEATURES: Field = bits(0, 24, 8);
const LBA: Field = bits(1, 0, 24);
const DEVICE: Field = bits(1, 24, 8);
const LBA_HIGH: Field = bits(2, 0, 24);
const FEATURES_HIGH: Field = bits(2, 24, 8);
const COUNT: Field = bits(3, 0, 16);
const ICC: Field = bits(3, 16, 8);
const CONTROL: Field = bits(3, 24, 8);
/// The reserved bits of each dword.
const RESERVED: [u32; 5] = [0x7000, 0, 0, 0, u32::MAX];

impl Format for RegisterH2d {
    const KIND: Kind = Kind::RegisterH2d;
    const RESERVED: &'static [u32] = &RESERVED;
}

/// Dwords that hold a FIS of this type.
pub type RegisterH2dView<'a> = View<'a, RegisterH2d>;

impl RegisterH2dView<'_> {
    /// C.
    #[must_use]
    pub const fn is_command(&self) -> bool {
        IS_COMMAND.flag(self.words)
    }

    /// Command.
    #[must_use]
    pub fn command(&self) -> u8 {
        COMMAND.byte(self.words)
    }

    /// LBA, 48 bits.
    #[must_use]
    pub fn lba(&self) -> u64 {
        field::lba(self.words, LBA, LBA_HIGH)
    }

    /// Sector count, both bytes.
    #[must_use]
    pub fn count(&self) -> u16 {
        COUNT.half(self.words)
    }

    /// Parses all fields.
    #[must_use]
    pub fn parse(&self) -> RegisterH2d {
        RegisterH2d {
            port: PORT.byte(self.words),
            is_command: self.is_command(),
            command: self.command(),
            features: u16::from_le_bytes([
                FEATURES.byte(self.words),
                FEATURES_HIGH.byte(self.words),
            ]),
            lba: self.lba(),
            device: DEVICE.byte(self.words),
            count: self.count(),
            icc: ICC.byte(self.words),
            control: CONTROL.byte(self.words),
        }
    }
}

/// Register, host to device (27h, 5 dwords): a command, or a change of the control register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RegisterH2d {
    /// Port multiplier port.
    pub port: u8,
    /// C: a command; otherwise only `control` is valid.
    pub is_command: bool,
    /// Command.
    pub command: u8,
    /// Features, both bytes.
    pub features: u16,
    /// LBA, 48 bits.
    pub lba: u64,
    /// Device register.
    pub device: u8,
    /// Sector count, both bytes.
    pub count: u16,
    /// Isochronous command completion.
    pub icc: u8,
    /// Device control: SRST is bit 2.
    pub control: u8,
}

impl RegisterH2d {
    /// Returns the dwords, without CRC.
    ///
    /// # Panics
    /// If the LBA needs more than 48 bits.
    #[must_use]
    pub fn emit(&self) -> [u32; 5] {
        let mut words = [Kind::RegisterH2d.dword(), 0, 0, 0, 0];
        let [low, high] = self.features.to_le_bytes();
        PORT.put(&mut words, self.port);
        IS_COMMAND.put(&mut words, self.is_command);
        COMMAND.put(&mut words, self.command);
        FEATURES.put(&mut words, low);
        FEATURES_HIGH.put(&mut words, high);
        field::put_lba(&mut words, LBA, LBA_HIGH, self.lba);
        DEVICE.put(&mut words, self.device);
        COUNT.put(&mut words, self.count);
        ICC.put(&mut words, self.icc);
        CONTROL.put(&mut words, self.control);
        words
    }
}

impl fmt::Display for RegisterH2d {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_command {
            return write!(f, "control {:02X}h", self.control);
        }
        write!(f, "command {:02X}h, LBA {}, count {}", self.command, self.lba, self.count)?;
        write!(f, ", features {:04X}h, device {:02X}h", self.features, self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::Error;

    /// WRITE DMA EXT of 2,048 sectors at LBA 0123456789ABh.
    const WRITE: [u32; 5] = [0x0035_8027, 0x4067_89AB, 0x0001_2345, 0x0000_0800, 0];

    #[test]
    fn fields_are_where_the_standard_has_them() {
        let write = RegisterH2d {
            is_command: true,
            command: 0x35,
            lba: 0x0123_4567_89AB,
            device: 0x40,
            count: 0x0800,
            ..RegisterH2d::default()
        };
        assert_eq!(RegisterH2dView::new(&WRITE).unwrap().parse(), write);
        assert_eq!(write.emit(), WRITE);
        let all = [0x1122_8527, 0xE033_4455, 0x6677_8899, 0xAABB_CCDD, 0];
        let view = RegisterH2dView::new(&all).unwrap();
        let fields = view.parse();
        assert_eq!((fields.port, fields.features, fields.lba), (5, 0x6611, 0x7788_9933_4455));
        assert_eq!((fields.count, fields.icc, fields.control), (0xCCDD, 0xBB, 0xAA));
        assert_eq!(fields.emit(), all);
        assert_eq!(view.check_reserved(), Ok(()));
    }

    #[test]
    fn reserved_bits_are_passed_over_and_told() {
        let mut words = WRITE;
        words[0] |= 0x2000;
        words[4] = 1;
        let view = RegisterH2dView::new(&words).unwrap();
        assert_eq!(view.parse().emit(), WRITE);
        let found = Error::Reserved { fis: Kind::RegisterH2d, dword: 0, bits: 0x2000 };
        assert_eq!(view.check_reserved(), Err(found));
    }

    #[test]
    fn a_wrong_length_is_refused() {
        for words in [&WRITE[..4], &[WRITE.as_slice(), &[0]].concat()] {
            let found =
                Error::FisLength { fis: Kind::RegisterH2d, expected: 5, found: words.len() };
            assert_eq!(RegisterH2dView::new(words).unwrap_err(), found);
        }
    }

    #[test]
    fn it_is_printed_with_its_command_or_its_control() {
        let view = RegisterH2dView::new_unchecked(&WRITE);
        let expected = "command 35h, LBA 1250999896491, count 2048, features 0000h, device 40h";
        assert_eq!(view.parse().to_string(), expected);
        let reset = RegisterH2d { control: 4, ..RegisterH2d::default() };
        assert_eq!(reset.to_string(), "control 04h");
    }
}
