//! DMA Activate (39h): the device is ready for a Data FIS of a write.
//!
//! Layer: format. Main types: [`DmaActivateView`] over a dword, [`DmaActivate`].
//!
//! ```text
//!      31                                12 11   8 7          0
//!  0  | reserved                           | port | 39h        |
//! ```
//! Source: Serial ATA Revision 3, 10.5.8.

use super::Kind;
use super::field::{Field, bits};
use super::view::{Format, View};
use std::fmt;

const PORT: Field = bits(0, 8, 4);
/// The reserved bits.
const RESERVED: [u32; 1] = [0xFFFF_F000];

impl Format for DmaActivate {
    const KIND: Kind = Kind::DmaActivate;
    const RESERVED: &'static [u32] = &RESERVED;
}

/// Dwords that hold a FIS of this type.
pub type DmaActivateView<'a> = View<'a, DmaActivate>;

impl DmaActivateView<'_> {
    /// Parses all fields.
    #[must_use]
    pub fn parse(&self) -> DmaActivate {
        DmaActivate { port: PORT.byte(self.words) }
    }
}

/// DMA Activate (39h, 1 dword): the device is ready for a Data FIS of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DmaActivate {
    /// Port multiplier port.
    pub port: u8,
}

impl DmaActivate {
    /// Returns the dword, without CRC.
    #[must_use]
    pub fn emit(&self) -> [u32; 1] {
        let mut words = [Kind::DmaActivate.dword()];
        PORT.put(&mut words, self.port);
        words
    }
}

impl fmt::Display for DmaActivate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {}", self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::Error;

    #[test]
    fn the_dword_is_that_of_the_standard() {
        assert_eq!(DmaActivate { port: 0 }.emit(), [0x39]);
        assert_eq!(DmaActivate { port: 15 }.emit(), [0x0F39]);
        assert_eq!(DmaActivateView::new(&[0x0239]).unwrap().parse(), DmaActivate { port: 2 });
        assert_eq!(DmaActivate { port: 2 }.to_string(), "port 2");
    }

    #[test]
    fn reserved_bits_are_passed_over_and_told() {
        let view = DmaActivateView::new_unchecked(&[0x8000_1039]);
        assert_eq!(view.parse().emit(), [0x39]);
        let found = Error::Reserved { fis: Kind::DmaActivate, dword: 0, bits: 0x8000_1000 };
        assert_eq!(view.check_reserved(), Err(found));
    }

    #[test]
    fn a_second_dword_is_refused() {
        let found = Error::FisLength { fis: Kind::DmaActivate, expected: 1, found: 2 };
        assert_eq!(DmaActivateView::new(&[0x39, 0]).unwrap_err(), found);
    }
}
