//! The dwords of a frame between SOF and EOF: the FIS and its CRC, scrambled.
//!
//! Layer: bytes only. Main functions: [`encode`] before the wire, [`decode`] after it.

use crate::wire::crc::{Crc, crc};
use crate::wire::error::Error;
use crate::wire::scrambler::Scrambler;

/// Appends the CRC to the dwords of a FIS, and scrambles them.
pub fn encode(words: &mut Vec<u32>) {
    words.push(crc(words));
    Scrambler::new().apply(words);
}

/// Descrambles a frame and checks its CRC. Returns the dwords of the FIS.
///
/// # Errors
/// [`Error::ShortFrame`], [`Error::Crc`].
pub fn decode(words: &mut [u32]) -> Result<&[u32], Error> {
    Scrambler::new().apply(words);
    check(words)
}

/// Checks the CRC of a descrambled frame. Returns the dwords of the FIS.
///
/// # Errors
/// [`Error::ShortFrame`], [`Error::Crc`].
pub fn check(words: &[u32]) -> Result<&[u32], Error> {
    let Some((&found, fis)) = words.split_last().filter(|(_, fis)| !fis.is_empty()) else {
        return Err(Error::ShortFrame { found: words.len() });
    };
    let mut sum = Crc::new();
    sum.extend(words);
    if sum.is_residue() {
        return Ok(fis);
    }
    Err(Error::Crc { expected: crc(fis), found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_frame_is_decoded() {
        let mut words = vec![0x39];
        encode(&mut words);
        assert_eq!(words, [0xC2D2_76B4, 0xDA49_1BE7]);
        assert_eq!(decode(&mut words), Ok([0x39].as_slice()));
    }

    #[test]
    fn a_frame_without_a_fis_is_refused() {
        assert_eq!(decode(&mut []), Err(Error::ShortFrame { found: 0 }));
        // The CRC of nothing, so that only the missing FIS is wrong.
        assert_eq!(check(&[0x5232_5032]), Err(Error::ShortFrame { found: 1 }));
    }
}
