//! The remainder of a polynomial by a fixed one, eight bytes of the dividend at a time.
//!
//! Layer: rank 1. Main type: [`Divider`]. The remainder is left-aligned in one, two, eight or nine words.
//! Eight tables hold the contribution of each byte of its first word when that word is shifted out.

use super::field::Polynomial;

/// A divider by a fixed polynomial, whose degree determines the width.
#[derive(Debug, Clone)]
pub struct Divider {
    degree: usize,
    width: Width,
}

#[derive(Debug, Clone)]
enum Width {
    One(Table<1>),
    Two(Table<2>),
    Eight(Table<8>),
    Nine(Table<9>),
}

impl Divider {
    /// A divider by a polynomial of degree 1 to 575.
    #[must_use]
    pub fn new(divisor: &Polynomial) -> Self {
        let width = match divisor.degree {
            ..=64 => Width::One(Table::new(divisor)),
            65..=128 => Width::Two(Table::new(divisor)),
            129..=512 => Width::Eight(Table::new(divisor)),
            _ => Width::Nine(Table::new(divisor)),
        };
        Self { degree: divisor.degree, width }
    }

    /// Bits of a remainder.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Writes the remainder of `data`, shifted left by the degree; bits behind it become 0.
    pub fn remainder(&self, data: &[u8], remainder: &mut [u8]) {
        match &self.width {
            Width::One(table) => table.remainder(data, remainder),
            Width::Two(table) => table.remainder(data, remainder),
            Width::Eight(table) => table.remainder(data, remainder),
            Width::Nine(table) => table.remainder(data, remainder),
        }
    }
}

/// Indexed by the position of a byte in the word that is shifted out, first byte first, and by its
/// value.
#[derive(Debug, Clone)]
struct Table<const WORDS: usize> {
    places: Vec<[[u64; WORDS]; 256]>,
}

impl<const WORDS: usize> Table<WORDS> {
    fn new(divisor: &Polynomial) -> Self {
        let aligned = Self::align(divisor);
        let mut last = [[0; WORDS]; 256];
        for (byte, slot) in (0_u64..).zip(&mut last) {
            slot[0] = byte << 56;
            for _ in 0..8 {
                let carry = slot[0] >> 63 == 1;
                shift(slot, 1);
                if carry {
                    add(slot, &aligned);
                }
            }
        }
        // Each byte further left is followed by one more byte of zeros.
        let mut places = vec![last];
        for _ in 1..8 {
            let mut further = *places.last().expect("begins with one");
            for slot in &mut further {
                let out = slot[0] >> 56;
                shift(slot, 8);
                add(slot, &last[index(out)]);
            }
            places.push(further);
        }
        places.reverse();
        Self { places }
    }

    /// The divisor without its highest power, the next one as the first bit.
    fn align(divisor: &Polynomial) -> [u64; WORDS] {
        let mut aligned = [0; WORDS];
        for power in (0..divisor.degree).filter(|&power| divisor.has(power)) {
            let place = divisor.degree - 1 - power;
            aligned[place / 64] |= 1 << (63 - place % 64);
        }
        aligned
    }

    fn remainder(&self, data: &[u8], remainder: &mut [u8]) {
        let mut state = [0; WORDS];
        let (words, tail) = data.as_chunks::<8>();
        let (places, _) = self.places.as_chunks::<8>();
        let places = &places[0];
        for word in words {
            let out = (state[0] ^ u64::from_be_bytes(*word)).to_be_bytes();
            state.copy_within(1.., 0);
            state[WORDS - 1] = 0;
            for (place, byte) in places.iter().zip(out) {
                add(&mut state, &place[usize::from(byte)]);
            }
        }
        for &byte in tail {
            let out = state[0] >> 56 ^ u64::from(byte);
            shift(&mut state, 8);
            add(&mut state, &places[7][index(out)]);
        }
        for (bytes, word) in remainder.chunks_mut(8).zip(state) {
            bytes.copy_from_slice(&word.to_be_bytes()[..bytes.len()]);
        }
    }
}

fn index(byte: u64) -> usize {
    usize::try_from(byte & 0xFF).expect("a byte")
}

fn add<const WORDS: usize>(state: &mut [u64; WORDS], other: &[u64; WORDS]) {
    for (word, other) in state.iter_mut().zip(other) {
        *word ^= other;
    }
}

/// Shifts left by 1 to 63 bits.
fn shift<const WORDS: usize>(state: &mut [u64; WORDS], bits: u32) {
    for place in 0..WORDS {
        let next = if place + 1 < WORDS { state[place + 1] } else { 0 };
        state[place] = state[place] << bits | next >> (64 - bits);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::field::Field, Divider};
    use boardlab_sim::Seed;

    #[test]
    fn table_division_is_the_long_one() {
        let mut stream = Seed::new(1).stream("division");
        for (order, strength) in [(5, 1), (9, 5), (13, 4), (13, 8), (13, 10), (15, 30), (13, 39)] {
            let divisor = Field::new(order).unwrap().generator(strength);
            let mut data = vec![0; 61];
            stream.fill(&mut data);
            // Schoolbook: data bits, then as many zeros as the degree.
            let mut bits: Vec<bool> =
                (0..data.len() * 8).map(|i| data[i / 8] >> (7 - i % 8) & 1 == 1).collect();
            bits.resize(bits.len() + divisor.degree, false);
            for start in 0..data.len() * 8 {
                if bits[start] {
                    for power in 0..=divisor.degree {
                        bits[start + divisor.degree - power] ^= divisor.has(power);
                    }
                }
            }
            let mut expected = vec![0_u8; divisor.degree.div_ceil(8)];
            for (i, _) in bits[data.len() * 8..].iter().enumerate().filter(|(_, bit)| **bit) {
                expected[i / 8] |= 0x80 >> (i % 8);
            }
            let mut remainder = vec![0xAA; expected.len()];
            Divider::new(&divisor).remainder(&data, &mut remainder);
            assert_eq!(remainder, expected, "order {order}, t = {strength}");
        }
    }
}
