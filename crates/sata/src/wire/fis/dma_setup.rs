//! DMA Setup (41h): the data phase of a queued command begins.
//!
//! Layer: format. Main types: [`DmaSetupView`] over dwords, [`DmaSetup`].
//!
//! ```text
//!      31                     16 15 14 13 12 11   8 7          0
//!  0  | reserved                | A| I| D| -| port | 41h        |
//!  1  | buffer 31:0                                             |
//!  2  | buffer 63:32                                            |
//!  3  | reserved                                                |
//!  4  | offset                                                  |
//!  5  | count, bytes                                            |
//!  6  | reserved                                                |
//! ```
//! Source: Serial ATA Revision 3, 10.5.9.

use super::Kind;
use super::field::{Field, bits};
use super::view::{Format, View};
use std::fmt;

const PORT: Field = bits(0, 8, 4);
const TO_HOST: Field = bits(0, 13, 1);
const INTERRUPT: Field = bits(0, 14, 1);
const AUTO_ACTIVATE: Field = bits(0, 15, 1);
const BUFFER: Field = bits(1, 0, 32);
const BUFFER_HIGH: Field = bits(2, 0, 32);
const OFFSET: Field = bits(4, 0, 32);
const COUNT: Field = bits(5, 0, 32);
/// The reserved bits of each dword.
const RESERVED: [u32; 7] = [0xFFFF_1000, 0, 0, u32::MAX, 0, 0, u32::MAX];

impl Format for DmaSetup {
    const KIND: Kind = Kind::DmaSetup;
    const RESERVED: &'static [u32] = &RESERVED;
}

/// Dwords that hold a FIS of this type.
pub type DmaSetupView<'a> = View<'a, DmaSetup>;

impl DmaSetupView<'_> {
    /// DMA buffer identifier: the tag.
    #[must_use]
    pub fn buffer(&self) -> u64 {
        u64::from(BUFFER.get(self.words)) | u64::from(BUFFER_HIGH.get(self.words)) << 32
    }

    /// Parses all fields.
    #[must_use]
    pub fn parse(&self) -> DmaSetup {
        DmaSetup {
            port: PORT.byte(self.words),
            to_host: TO_HOST.flag(self.words),
            interrupt: INTERRUPT.flag(self.words),
            auto_activate: AUTO_ACTIVATE.flag(self.words),
            buffer: self.buffer(),
            offset: OFFSET.get(self.words),
            count: COUNT.get(self.words),
        }
    }
}

/// DMA Setup (41h, 7 dwords): the data phase of a queued command begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DmaSetup {
    /// Port multiplier port.
    pub port: u8,
    /// D: the data are sent to the host.
    pub to_host: bool,
    /// I: interrupt.
    pub interrupt: bool,
    /// A: the host sends the first Data FIS without a DMA Activate.
    pub auto_activate: bool,
    /// DMA buffer identifier: the tag.
    pub buffer: u64,
    /// Offset into the buffer, bytes.
    pub offset: u32,
    /// Bytes to be transferred.
    pub count: u32,
}

impl DmaSetup {
    /// Returns the dwords, without CRC.
    #[must_use]
    pub fn emit(&self) -> [u32; 7] {
        let mut words = [Kind::DmaSetup.dword(), 0, 0, 0, 0, 0, 0];
        let [a, b, c, d, e, f, g, h] = self.buffer.to_le_bytes();
        PORT.put(&mut words, self.port);
        TO_HOST.put(&mut words, self.to_host);
        INTERRUPT.put(&mut words, self.interrupt);
        AUTO_ACTIVATE.put(&mut words, self.auto_activate);
        BUFFER.put(&mut words, u32::from_le_bytes([a, b, c, d]));
        BUFFER_HIGH.put(&mut words, u32::from_le_bytes([e, f, g, h]));
        OFFSET.put(&mut words, self.offset);
        COUNT.put(&mut words, self.count);
        words
    }
}

impl fmt::Display for DmaSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.to_host { "to the host" } else { "to the device" };
        write!(f, "{} bytes {direction}, buffer {}", self.count, self.buffer)?;
        write!(f, ", offset {}", self.offset)?;
        f.write_str(if self.auto_activate { ", auto-activate" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::Error;

    const WRITE: [u32; 7] = [0x0000_8141, 0x1F, 0x0123_4567, 0, 0x400, 0x2000, 0];

    #[test]
    fn fields_are_where_the_standard_has_them() {
        let write = DmaSetup {
            port: 1,
            auto_activate: true,
            buffer: 0x0123_4567_0000_001F,
            offset: 0x400,
            count: 0x2000,
            ..DmaSetup::default()
        };
        let view = DmaSetupView::new(&WRITE).unwrap();
        assert_eq!(view.parse(), write);
        assert_eq!(view.check_reserved(), Ok(()));
        assert_eq!(write.emit(), WRITE);
        let read = DmaSetup { to_host: true, interrupt: true, ..DmaSetup::default() };
        assert_eq!(read.emit(), [0x6041, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn each_reserved_bit_is_passed_over_and_told() {
        for (dword, mask) in RESERVED.into_iter().enumerate() {
            for bits in (0..32).map(|bit| 1 << bit).filter(|bit| mask & bit != 0) {
                let mut words = WRITE;
                words[dword] |= bits;
                let view = DmaSetupView::new(&words).unwrap();
                assert_eq!(view.parse().emit(), WRITE);
                let found = Error::Reserved { fis: Kind::DmaSetup, dword, bits };
                assert_eq!(view.check_reserved(), Err(found));
            }
        }
    }

    #[test]
    fn a_wrong_length_is_refused() {
        let found = Error::FisLength { fis: Kind::DmaSetup, expected: 7, found: 6 };
        assert_eq!(DmaSetupView::new(&WRITE[..6]).unwrap_err(), found);
    }

    #[test]
    fn it_is_printed_with_bytes_and_direction() {
        let setup = DmaSetup { to_host: true, buffer: 3, count: 512, ..DmaSetup::default() };
        assert_eq!(setup.to_string(), "512 bytes to the host, buffer 3, offset 0");
        let setup = DmaSetupView::new_unchecked(&[0x8041, 3, 0, 0, 4, 8, 0]).parse();
        let expected = "8 bytes to the device, buffer 3, offset 4, auto-activate";
        assert_eq!(setup.to_string(), expected);
    }
}
