//! Ranges of bits of a page, and the bytes that they make.
//!
//! Layer: rank 7. Functions: [`gather`], [`scatter`]; [`BitOrder`]. Whole bytes are copied; single bits are for
//! controllers that store codes of a length that is no multiple of eight.

use std::ops::Range;

/// The order in which a controller takes the bits of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BitOrder {
    /// The most significant bit first, as Linux does in software.
    Most,
    /// The least significant bit first.
    Least,
}

impl BitOrder {
    /// A byte with its first bit as the most significant one, or back.
    const fn turn(self, byte: u8) -> u8 {
        match self {
            Self::Most => byte,
            Self::Least => byte.reverse_bits(),
        }
    }
}

/// Whether all of them begin and end with a byte, so that each takes whole bytes of the target.
fn are_bytes(ranges: &[Range<usize>]) -> bool {
    ranges.iter().all(|range| range.start.is_multiple_of(8) && range.end.is_multiple_of(8))
}

/// The number of bits in ranges.
pub(crate) fn count(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(ExactSizeIterator::len).sum()
}

/// Appends the bits of `page` in `ranges` to `target`, each as the next most significant one; the last byte
/// ends with zeros. Bits of `page` are counted in `order`.
pub(crate) fn gather(page: &[u8], ranges: &[Range<usize>], order: BitOrder, target: &mut Vec<u8>) {
    if are_bytes(ranges) {
        for range in ranges {
            let bytes = &page[range.start / 8..range.end / 8];
            target.extend(bytes.iter().map(|&byte| order.turn(byte)));
        }
        return;
    }
    // The bits that are no whole byte yet, as the least significant ones.
    let (mut waiting, mut count) = (0_u32, 0);
    for range in ranges {
        let mut bit = range.start;
        while bit < range.end {
            let taken = (range.end - bit).min(8 - bit % 8);
            let byte = u32::from(order.turn(page[bit / 8]));
            let bits = byte >> (8 - bit % 8 - taken) & ((1 << taken) - 1);
            waiting = waiting << taken | bits;
            count += taken;
            bit += taken;
            if count >= 8 {
                count -= 8;
                target.push((waiting >> count).to_le_bytes()[0]);
            }
        }
    }
    if count > 0 {
        target.push((waiting << (8 - count)).to_le_bytes()[0]);
    }
}

/// Puts bits into `page` that [`gather`] took out of it.
pub(crate) fn scatter(bytes: &[u8], ranges: &[Range<usize>], order: BitOrder, page: &mut [u8]) {
    if are_bytes(ranges) {
        let mut bytes = bytes.iter();
        for range in ranges {
            let target = &mut page[range.start / 8..range.end / 8];
            target.iter_mut().zip(&mut bytes).for_each(|(to, &from)| *to = order.turn(from));
        }
        return;
    }
    for (number, bit) in ranges.iter().cloned().flatten().enumerate() {
        let mask = order.turn(0x80 >> (bit % 8));
        let set = bytes[number / 8] & (0x80 >> (number % 8)) != 0;
        let byte = &mut page[bit / 8];
        *byte = if set { *byte | mask } else { *byte & !mask };
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of one range of bits are meant")]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back_to_their_places_in_both_orders() {
        let page: Vec<u8> = (0..32_u32).map(|at| (at * 73 % 251).to_le_bytes()[0]).collect();
        for order in [BitOrder::Most, BitOrder::Least] {
            for ranges in [vec![8..24, 0..8], vec![3..77, 200..213], vec![5..6], vec![0..4, 12..20]]
            {
                let mut taken = Vec::new();
                gather(&page, &ranges, order, &mut taken);
                assert_eq!(taken.len(), count(&ranges).div_ceil(8));
                let mut back = page.clone();
                for bit in ranges.iter().cloned().flatten() {
                    back[bit / 8] ^= order.turn(0x80 >> (bit % 8));
                }
                scatter(&taken, &ranges, order, &mut back);
                assert_eq!(back, page, "{order:?} {ranges:?}");
            }
        }
        let (mut most, mut least) = (Vec::new(), Vec::new());
        gather(&[0b1010_0000], &[0..3], BitOrder::Most, &mut most);
        gather(&[0b0000_0101], &[0..3], BitOrder::Least, &mut least);
        assert_eq!((&most[..], &least[..]), (&[0b1010_0000][..], &[0b1010_0000][..]));
    }
}
