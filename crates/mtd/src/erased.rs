//! Flash that was erased and not programmed since.
//!
//! Layer: rank 2. Function: [`is_erased`].

/// Whether `bytes` are all `0xFF`, as erased flash reads.
#[must_use]
pub fn is_erased(bytes: &[u8]) -> bool {
    // Whole arrays are compared by vector instructions, single bytes one by one.
    let (pieces, rest) = bytes.as_chunks::<64>();
    pieces.iter().all(|piece| *piece == [0xFF; 64]) && rest.iter().all(|&byte| byte == 0xFF)
}

#[cfg(test)]
mod tests {
    use super::is_erased;

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
