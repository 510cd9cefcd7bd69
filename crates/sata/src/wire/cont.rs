//! CONT: a repeated primitive is sent twice, then CONT, then meaningless filler.
//!
//! Layer: rules of the wire. Main types: [`Suppressor`] at the sending end, [`Expander`] at the
//! receiving one, [`Dword`] between them. Filler spreads the spectrum of a primitive that would repeat.
//! It comes from a separate scrambler that is never reset, and receivers discard its values. After
//! CONT, a receiver takes every dword that is no primitive for the primitive before CONT. So the
//! primitive is sent once more before data, which costs a slot. ALIGN passes unchanged.
//!
//! Source: Serial ATA Revision 3, 9.4.

use crate::wire::primitive::Primitive;
use crate::wire::scrambler;

/// The slots after which CONT has replaced a repeated primitive: two of the primitive, and CONT.
pub const SUPPRESSED_AFTER: u64 = 3;

/// A dword on the wire, as the decoder of line characters distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dword {
    /// A control character is its first byte.
    Primitive(Primitive),
    /// Data, or filler.
    Data(u32),
    /// A decoding error. Never sent.
    Invalid,
}

/// The source of filler: any value is legal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Filler(u32);

impl Filler {
    #[inline]
    fn dword(&mut self) -> u32 {
        self.0 = scrambler::step(self.0);
        self.0
    }
}

/// Replaces repetitions at the sending end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Suppressor {
    last: Option<Primitive>,
    /// The times that the primitive was sent, up to two; three once CONT was sent.
    repeats: u8,
    filler: Filler,
}

impl Suppressor {
    /// Creates the state at the start of a link.
    #[must_use]
    pub const fn new() -> Self {
        Self { last: None, repeats: 0, filler: Filler(u32::MAX) }
    }

    /// Returns what is sent for `primitive`.
    #[inline]
    pub fn primitive(&mut self, primitive: Primitive) -> Dword {
        if primitive == Primitive::Align {
            return Dword::Primitive(primitive);
        }
        if self.last != Some(primitive) || !primitive.is_repeatable() {
            (self.last, self.repeats) = (Some(primitive), 1);
            return Dword::Primitive(primitive);
        }
        match self.repeats {
            1 => {
                self.repeats = 2;
                Dword::Primitive(primitive)
            }
            2 => {
                self.repeats = 3;
                Dword::Primitive(Primitive::Cont)
            }
            _ => Dword::Data(self.filler.dword()),
        }
    }

    /// Returns what is sent for a data dword: the dword itself; or, if the receiver would take it for
    /// filler, the repeated primitive once more. In the latter case the data dword must be offered
    /// again.
    #[inline]
    pub const fn data(&mut self, dword: u32) -> Dword {
        match self.last.take() {
            Some(last) if self.repeats == 3 => Dword::Primitive(last),
            _ => Dword::Data(dword),
        }
    }
}

impl Default for Suppressor {
    fn default() -> Self {
        Self::new()
    }
}

/// Restores replaced repetitions at the receiving end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Expander {
    last: Option<Primitive>,
    continued: bool,
}

impl Expander {
    /// Creates the state at the start of a link.
    #[must_use]
    pub const fn new() -> Self {
        Self { last: None, continued: false }
    }

    /// Returns the meaning of a received dword. CONT without a primitive before it stands for itself.
    #[inline]
    pub const fn dword(&mut self, dword: Dword) -> Dword {
        match (dword, self.last) {
            (Dword::Primitive(Primitive::Align) | Dword::Invalid, _) => dword,
            (Dword::Primitive(Primitive::Cont), Some(last)) => {
                self.continued = true;
                Dword::Primitive(last)
            }
            (Dword::Primitive(primitive), _) => {
                self.continued = false;
                self.last = if primitive.is_repeatable() { Some(primitive) } else { None };
                dword
            }
            (Dword::Data(_), Some(last)) if self.continued => Dword::Primitive(last),
            (Dword::Data(_), _) => {
                self.last = None;
                dword
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Primitive::{Align, Cont, Eof, Hold, Holda, Sof, Sync, XRdy};
    use super::*;

    #[test]
    fn a_primitive_goes_twice_then_cont_then_filler() {
        let mut suppressor = Suppressor::new();
        let sent: Vec<_> =
            [Sync, Sync, Sync, Sync, Align, Sync, XRdy].map(|p| suppressor.primitive(p)).into();
        assert_eq!(sent[..3], [Sync, Sync, Cont].map(Dword::Primitive));
        assert!(matches!(sent[3], Dword::Data(_)));
        assert_eq!(sent[4], Dword::Primitive(Align));
        assert!(matches!(sent[5], Dword::Data(filler) if sent[3] != Dword::Data(filler)));
        assert_eq!(sent[6], Dword::Primitive(XRdy));
    }

    #[test]
    fn what_is_received_is_what_was_meant() {
        let meant = [
            [Sync; 5].map(Dword::Primitive).to_vec(),
            [Sof].map(Dword::Primitive).to_vec(),
            [0, u32::MAX, 7].map(Dword::Data).to_vec(),
            [Hold, Hold, Hold, Align, Align, Hold, Hold].map(Dword::Primitive).to_vec(),
            [1].map(Dword::Data).to_vec(),
            // As short as it can be, without CONT.
            [Hold, Hold].map(Dword::Primitive).to_vec(),
            [2].map(Dword::Data).to_vec(),
            [Holda, Holda, Holda, Eof].map(Dword::Primitive).to_vec(),
        ];
        let (mut suppressor, mut expander) = (Suppressor::new(), Expander::new());
        let mut again = 0;
        for &dword in meant.iter().flatten() {
            match dword {
                Dword::Primitive(primitive) => {
                    assert_eq!(expander.dword(suppressor.primitive(primitive)), dword);
                }
                Dword::Invalid => unreachable!("no end sends it"),
                Dword::Data(data) => {
                    let sent = suppressor.data(data);
                    if expander.dword(sent) != dword {
                        assert!(matches!(sent, Dword::Primitive(_)));
                        assert_eq!(expander.dword(suppressor.data(data)), dword);
                        again += 1;
                    }
                }
            }
        }
        assert_eq!(again, 1, "only the HOLD that was continued is sent once more before data");
    }

    #[test]
    fn a_dword_that_cannot_be_decoded_does_not_end_a_continued_primitive() {
        let mut expander = Expander::new();
        let [hold, cont] = [Hold, Cont].map(Dword::Primitive);
        let received = [hold, cont, Dword::Invalid, Dword::Data(7)].map(|d| expander.dword(d));
        assert_eq!(received, [hold, hold, Dword::Invalid, hold]);
    }

    #[test]
    fn repeated_primitives_without_cont_leave_the_data_after_them() {
        let mut expander = Expander::new();
        for dword in [Dword::Primitive(Hold), Dword::Primitive(Hold), Dword::Data(5)] {
            assert_eq!(expander.dword(dword), dword);
        }
    }
}
