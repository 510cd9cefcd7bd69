//! JFFS2's simple compressor "rtime": literals, each followed by a match after its last occurrence.
//!
//! Layer: rank 1. Main functions: [`compress`], [`decompress`]. The stream consists of pairs of a
//! literal and the length, 0 to 255, of a match; both sides store for every byte value the position
//! after its last occurrence. The output equals Linux' byte for byte. Source: Linux 3.6 and 6.1
//! `fs/jffs2/compr_rtime.c`. Unlike the kernel before 6.13, the decompressor checks every position
//! against its buffers.

use crate::CompressedSize;
use crate::error::Error;

/// The longest match of a pair.
const RUN: usize = 255;

/// The smallest output for which Linux tries to compress, in bytes.
const LEAST_ROOM: usize = 4;

/// Compresses as much of `input` as fits into `output`; `None` if the result is not smaller.
///
/// Positions have 16 bits in the kernel (15 in old ones), so the stream equals the kernel's for inputs
/// up to that size; JFFS2 compresses one page at a time.
#[must_use]
pub fn compress(input: &[u8], output: &mut [u8]) -> Option<CompressedSize> {
    if output.len() < LEAST_ROOM {
        return None;
    }
    let mut after = [0_usize; 256];
    let (mut position, mut produced) = (0, 0);
    // With so many pairs the result is not smaller, whatever comes after them.
    let most = input.len().div_ceil(2);
    for pair in output.as_chunks_mut::<2>().0.iter_mut().take(most) {
        let Some(&value) = input.get(position) else { break };
        position += 1;
        let back = std::mem::replace(&mut after[usize::from(value)], position);
        // In data without a pattern nearly every match is empty. Others may overlap their own bytes.
        let mut equal = 0;
        if position < input.len() && input[position] == input[back] {
            let pairs = input[position..].iter().zip(&input[back..]).take(RUN);
            equal = pairs.take_while(|(a, b)| a == b).count();
            position += equal;
        }
        *pair = [value, u8::try_from(equal).expect("at most 255")];
        produced += 2;
    }
    (produced < position).then_some(CompressedSize { consumed: position, produced })
}

/// Fills `output` from `input`.
///
/// # Errors
/// [`Error::Truncated`] if the input ends first, [`Error::OutputFull`] if a match extends beyond the
/// end of the output. Remaining input is ignored, as in Linux.
pub fn decompress(input: &[u8], output: &mut [u8]) -> Result<(), Error> {
    let mut after = [0_usize; 256];
    let mut pairs = input.chunks_exact(2);
    let mut position = 0;
    while position < output.len() {
        let Some(&[value, run]) = pairs.next() else {
            return Err(Error::Truncated { length: input.len() });
        };
        output[position] = value;
        position += 1;
        let back = std::mem::replace(&mut after[usize::from(value)], position);
        let run = usize::from(run);
        if run > output.len() - position {
            return Err(Error::OutputFull { room: output.len() });
        }
        if back + run <= position {
            output.copy_within(back..back + run, position);
        } else {
            for offset in 0..run {
                output[position + offset] = output[back + offset];
            }
        }
        position += run;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{compress, decompress};
    use crate::CompressedSize;
    use crate::error::Error;

    #[test]
    fn stream_of_a_repeated_word_is_known() {
        let mut output = [0; 32];
        let compressed = compress(b"abcabcabcabc", &mut output);
        // A first occurrence runs on as the text begins: so does c.
        assert_eq!(compressed, Some(CompressedSize { consumed: 12, produced: 6 }));
        assert_eq!(&output[..6], b"a\0b\0c\x09");
    }

    #[test]
    fn run_may_overlap_itself() {
        let mut output = [0; 32];
        let compressed = compress(&[7; 300], &mut output).expect("shrinks");
        assert_eq!(compressed, CompressedSize { consumed: 300, produced: 4 });
        // A first occurrence runs on as the text begins.
        assert_eq!(&output[..4], &[7, 255, 7, 43]);
    }

    /// The stream by the definition, of all of the text.
    fn by_definition(input: &[u8]) -> Vec<u8> {
        let (mut output, mut after, mut position) = (Vec::new(), [0; 256], 0);
        while position < input.len() {
            let value = input[position];
            position += 1;
            let back = std::mem::replace(&mut after[usize::from(value)], position);
            let pairs = input[position..].iter().zip(&input[back..]).take(255);
            let run = pairs.take_while(|(one, other)| one == other).count();
            output.extend([value, u8::try_from(run).unwrap()]);
            position += run;
        }
        output
    }

    #[test]
    fn every_text_that_becomes_smaller_is_compressed() {
        let mut stream = boardlab_sim::Seed::new(1).stream("rtime");
        let mut by_saving = [0; 4];
        for case in 0..3_000 {
            let length = 20 + usize::try_from(stream.below(40)).unwrap();
            let symbols = 2 + stream.below(5);
            let text: Vec<_> =
                (0..length).map(|_| u8::try_from(stream.below(symbols)).unwrap()).collect();
            let (expected, mut output) = (by_definition(&text), [0; 200]);
            let smaller = expected.len() < length;
            let done =
                smaller.then_some(CompressedSize { consumed: length, produced: expected.len() });
            assert_eq!(compress(&text, &mut output), done, "case {case}, seed 1: {text:?}");
            assert!(!smaller || output[..expected.len()] == expected);
            let saved = length.saturating_sub(expected.len());
            by_saving[saved.min(3)] += 1;
        }
        assert!(by_saving.iter().all(|&cases| cases > 20), "{by_saving:?}");
    }

    #[test]
    fn text_that_does_not_shrink_is_left_alone() {
        assert_eq!(compress(b"abcdefgh", &mut [0; 64]), None);
        assert_eq!(compress(&[0; 64], &mut [0; 3]), None);
    }

    #[test]
    fn small_room_takes_the_beginning_of_the_text() {
        let compressed = compress(&[0; 4096], &mut [0; 4]).expect("shrinks");
        assert_eq!(compressed, CompressedSize { consumed: 512, produced: 4 });
    }

    #[test]
    fn run_past_the_end_and_missing_input_are_errors() {
        assert_eq!(decompress(&[1, 4], &mut [0; 4]), Err(Error::OutputFull { room: 4 }));
        assert_eq!(decompress(&[1, 0, 2], &mut [0; 2]), Err(Error::Truncated { length: 3 }));
        assert_eq!(decompress(&[], &mut []), Ok(()));
    }
}
