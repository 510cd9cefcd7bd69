//! Flash that was erased and not programmed since.
//!
//! Layer: rank 2. Functions: [`is_erased`], and [`zero_bits`] for flash with bit errors.

/// Whether `bytes` are all `0xFF`, as erased flash reads.
#[must_use]
pub fn is_erased(bytes: &[u8]) -> bool {
    // Whole arrays are compared by vector instructions, single bytes one by one.
    let (pieces, rest) = bytes.as_chunks::<64>();
    pieces.iter().all(|piece| *piece == [0xFF; 64]) && rest.iter().all(|&byte| byte == 0xFF)
}

/// The zero bits of `bytes`, as erased flash with bit errors has; `None` when there are more than `most`.
pub fn zero_bits<'a>(bytes: impl IntoIterator<Item = &'a u8>, most: u32) -> Option<u32> {
    bytes.into_iter().try_fold(0, |zeros, byte| {
        let zeros = zeros + byte.count_zeros();
        (zeros <= most).then_some(zeros)
    })
}

#[cfg(test)]
mod tests {
    use super::{is_erased, zero_bits};

    #[test]
    fn zero_bits_are_counted_up_to_a_limit() {
        let bytes = [0xFF, 0xFE, 0x3F];
        assert_eq!(zero_bits(&bytes, 3), Some(3));
        assert_eq!(zero_bits(&bytes, 2), None);
        assert_eq!(zero_bits(&[0xFF; 4], 0), Some(0));
        assert_eq!(zero_bits(&[], 0), Some(0));
    }

    #[test]
    fn one_cleared_bit_anywhere_is_seen() {
        for length in [0, 1, 63, 64, 65, 200] {
            let mut bytes = vec![0xFF; length];
            assert!(is_erased(&bytes), "{length}");
            for at in 0..length {
                bytes[at] = 0xFF ^ (1 << (at % 8));
                assert!(!is_erased(&bytes), "{at} of {length}");
                bytes[at] = 0xFF;
            }
        }
    }
}
