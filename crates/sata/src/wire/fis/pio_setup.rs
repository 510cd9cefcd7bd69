//! PIO Setup (5Fh): a Data FIS of a PIO command follows.
//!
//! Layer: format. Main types: [`PioSetupView`] over dwords, [`PioSetup`].
//!
//! ```text
//!      31        24 23        16 15 14 13 12 11   8 7          0
//!  0  | error      | status     | -| I| D| -| port | 5Fh        |
//!  1  | device     | LBA 23:0                                   |
//!  2  | reserved   | LBA 47:24                                  |
//!  3  | ending st. | reserved   | count                         |
//!  4  | reserved                | transfer, bytes               |
//! ```
//! Source: Serial ATA Revision 3, 10.5.11.

use super::Kind;
use super::field::{self, Field, bits};
use super::view::{Format, View};
use std::fmt;

const PORT: Field = bits(0, 8, 4);
const TO_HOST: Field = bits(0, 13, 1);
const INTERRUPT: Field = bits(0, 14, 1);
const STATUS: Field = bits(0, 16, 8);
const ERROR: Field = bits(0, 24, 8);
const LBA: Field = bits(1, 0, 24);
const DEVICE: Field = bits(1, 24, 8);
const LBA_HIGH: Field = bits(2, 0, 24);
const COUNT: Field = bits(3, 0, 16);
const ENDING_STATUS: Field = bits(3, 24, 8);
const TRANSFER: Field = bits(4, 0, 16);
/// The reserved bits of each dword.
const RESERVED: [u32; 5] = [0x9000, 0, 0xFF00_0000, 0x00FF_0000, 0xFFFF_0000];

impl Format for PioSetup {
    const KIND: Kind = Kind::PioSetup;
    const RESERVED: &'static [u32] = &RESERVED;
}

/// Dwords that hold a FIS of this type.
pub type PioSetupView<'a> = View<'a, PioSetup>;

impl PioSetupView<'_> {
    /// Bytes to be transferred.
    #[must_use]
    pub fn transfer(&self) -> u16 {
        TRANSFER.half(self.words)
    }

    /// Parses all fields.
    #[must_use]
    pub fn parse(&self) -> PioSetup {
        PioSetup {
            port: PORT.byte(self.words),
            to_host: TO_HOST.flag(self.words),
            interrupt: INTERRUPT.flag(self.words),
            status: STATUS.byte(self.words),
            error: ERROR.byte(self.words),
            lba: field::lba(self.words, LBA, LBA_HIGH),
            device: DEVICE.byte(self.words),
            count: COUNT.half(self.words),
            ending_status: ENDING_STATUS.byte(self.words),
            transfer: self.transfer(),
        }
    }
}

/// PIO Setup (5Fh, 5 dwords): a Data FIS of a PIO command follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PioSetup {
    /// Port multiplier port.
    pub port: u8,
    /// D: the data are sent to the host.
    pub to_host: bool,
    /// I: interrupt.
    pub interrupt: bool,
    /// Status at the beginning of the transfer.
    pub status: u8,
    /// Error.
    pub error: u8,
    /// LBA, 48 bits.
    pub lba: u64,
    /// Device register.
    pub device: u8,
    /// Sector count, both bytes.
    pub count: u16,
    /// Status at the end of the transfer.
    pub ending_status: u8,
    /// Bytes to be transferred.
    pub transfer: u16,
}

impl PioSetup {
    /// Returns the dwords, without CRC.
    ///
    /// # Panics
    /// If the LBA needs more than 48 bits.
    #[must_use]
    pub fn emit(&self) -> [u32; 5] {
        let mut words = [Kind::PioSetup.dword(), 0, 0, 0, 0];
        PORT.put(&mut words, self.port);
        TO_HOST.put(&mut words, self.to_host);
        INTERRUPT.put(&mut words, self.interrupt);
        STATUS.put(&mut words, self.status);
        ERROR.put(&mut words, self.error);
        field::put_lba(&mut words, LBA, LBA_HIGH, self.lba);
        DEVICE.put(&mut words, self.device);
        COUNT.put(&mut words, self.count);
        ENDING_STATUS.put(&mut words, self.ending_status);
        TRANSFER.put(&mut words, self.transfer);
        words
    }
}

impl fmt::Display for PioSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.to_host { "to the host" } else { "to the device" };
        write!(f, "{} bytes {direction}, status {:02X}h", self.transfer, self.status)?;
        write!(f, " and then {:02X}h", self.ending_status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::Error;

    /// Before the 512 bytes of IDENTIFY DEVICE.
    const IDENTIFY: [u32; 5] = [0x0058_605F, 0xE000_0000, 0, 0x5000_0001, 0x0200];

    #[test]
    fn fields_are_where_the_standard_has_them() {
        let identify = PioSetup {
            to_host: true,
            interrupt: true,
            status: 0x58,
            device: 0xE0,
            count: 1,
            ending_status: 0x50,
            transfer: 512,
            ..PioSetup::default()
        };
        assert_eq!(PioSetupView::new(&IDENTIFY).unwrap().parse(), identify);
        assert_eq!(identify.emit(), IDENTIFY);
        let all = [0x1122_475F, 0x6633_4455, 0x0077_8899, 0xAA00_CCDD, 0xEEFF];
        let fields = PioSetupView::new(&all).unwrap().parse();
        assert_eq!((fields.port, fields.error, fields.lba), (7, 0x11, 0x7788_9933_4455));
        assert_eq!((fields.device, fields.transfer), (0x66, 0xEEFF));
        assert_eq!(fields.emit(), all);
    }

    #[test]
    fn each_reserved_bit_is_passed_over_and_told() {
        for (dword, mask) in RESERVED.into_iter().enumerate() {
            for bits in (0..32).map(|bit| 1 << bit).filter(|bit| mask & bit != 0) {
                let mut words = IDENTIFY;
                words[dword] |= bits;
                let view = PioSetupView::new(&words).unwrap();
                assert_eq!(view.parse().emit(), IDENTIFY);
                let found = Error::Reserved { fis: Kind::PioSetup, dword, bits };
                assert_eq!(view.check_reserved(), Err(found));
            }
        }
    }

    #[test]
    fn a_wrong_length_is_refused() {
        let found = Error::FisLength { fis: Kind::PioSetup, expected: 5, found: 4 };
        assert_eq!(PioSetupView::new(&IDENTIFY[..4]).unwrap_err(), found);
    }

    #[test]
    fn it_is_printed_with_bytes_and_both_states() {
        let setup = PioSetupView::new_unchecked(&IDENTIFY).parse();
        assert_eq!(setup.to_string(), "512 bytes to the host, status 58h and then 50h");
    }
}
