//! BIST Activate (58h): a self-test of the link.
//!
//! Layer: format; the test itself is not modelled. Main types: [`BistView`] over dwords, [`Bist`].
//!
//! ```text
//!      31        24 23 22 21 20 19 18 17 16 15   12 11   8 7    0
//!  0  | reserved   | T  A  S  L  F  P  -  V| reserved | port | 58h |
//!  1  | data 1                                                    |
//!  2  | data 2                                                    |
//! ```
//! Source: Serial ATA Revision 3, 10.5.10.

use super::Kind;
use super::field::{Field, bits};
use super::view::{Format, View};
use std::fmt;

const PORT: Field = bits(0, 8, 4);
const PATTERN: Field = bits(0, 16, 8);
const DATA: [Field; 2] = [bits(1, 0, 32), bits(2, 0, 32)];
/// The reserved bits of each dword.
const RESERVED: [u32; 3] = [0xFF02_F000, 0, 0];
/// Letters of the pattern bits from bit 7 down.
const LETTERS: [char; 8] = ['T', 'A', 'S', 'L', 'F', 'P', '-', 'V'];
/// The pattern bit that is reserved.
const UNUSED: u8 = 0x02;

impl Format for Bist {
    const KIND: Kind = Kind::Bist;
    const RESERVED: &'static [u32] = &RESERVED;
}

/// Dwords that hold a FIS of this type.
pub type BistView<'a> = View<'a, Bist>;

impl BistView<'_> {
    /// Parses all fields.
    #[must_use]
    pub fn parse(&self) -> Bist {
        Bist {
            port: PORT.byte(self.words),
            pattern: PATTERN.byte(self.words) & !UNUSED,
            data: DATA.map(|field| field.get(self.words)),
        }
    }
}

/// BIST Activate (58h, 3 dwords): a self-test of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bist {
    /// Port multiplier port.
    pub port: u8,
    /// Pattern bits T, A, S, L, F, P, a reserved one and V from bit 7 down to bit 0.
    pub pattern: u8,
    /// The two data dwords.
    pub data: [u32; 2],
}

impl Bist {
    /// Returns the dwords, without CRC.
    #[must_use]
    pub fn emit(&self) -> [u32; 3] {
        let mut words = [Kind::Bist.dword(), 0, 0];
        PORT.put(&mut words, self.port);
        PATTERN.put(&mut words, self.pattern & !UNUSED);
        DATA.into_iter().zip(self.data).for_each(|(field, data)| field.put(&mut words, data));
        words
    }
}

impl fmt::Display for Bist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("pattern ")?;
        for (bit, letter) in (0..8).rev().zip(LETTERS) {
            write!(f, "{}", if self.pattern >> bit & 1 == 1 { letter } else { '-' })?;
        }
        write!(f, ", data {:08X}h {:08X}h", self.data[0], self.data[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::Error;

    #[test]
    fn fields_are_where_the_standard_has_them() {
        let words = [0x0091_0258, 0x4A4A_4A4A, 0x7878_7878];
        let view = BistView::new(&words).unwrap();
        let expected = Bist { port: 2, pattern: 0x91, data: [0x4A4A_4A4A, 0x7878_7878] };
        assert_eq!(view.parse(), expected);
        assert_eq!(view.check_reserved(), Ok(()));
        assert_eq!(expected.emit(), words);
        assert_eq!(expected.to_string(), "pattern T--L---V, data 4A4A4A4Ah 78787878h");
    }

    #[test]
    fn reserved_bits_are_passed_over_and_told() {
        let view = BistView::new(&[0x0112_1058, 0, 0]).unwrap();
        assert_eq!(view.parse().emit(), [0x0010_0058, 0, 0]);
        let found = Error::Reserved { fis: Kind::Bist, dword: 0, bits: 0x0102_1000 };
        assert_eq!(view.check_reserved(), Err(found));
        assert_eq!(Bist { pattern: 0xFF, ..Bist::default() }.emit()[0], 0x00FD_0058);
    }

    #[test]
    fn a_wrong_length_is_refused() {
        let found = Error::FisLength { fis: Kind::Bist, expected: 3, found: 1 };
        assert_eq!(BistView::new(&[0x58]).unwrap_err(), found);
    }
}
