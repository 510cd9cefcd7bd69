//! The decompressor of LZO1X.
//!
//! Layer: rank 1. Function: [`decompress`]. A stream is a sequence of instructions: a run of literals, or
//! a match (a length, a distance back in the output) that up to three literals follow. What the smallest
//! instructions mean depends on how many literals came just before.
//!
//! Most runs and matches are a few bytes, and a copy of a fixed size takes less time than one of their
//! size. So where input and output have room, whole steps are copied; what they write too much is
//! overwritten by what follows, or lies behind the end.
//!
//! Source: Linux 6.1, `Documentation/staging/lzo.rst`, and the checks of `lzo1x_decompress_safe`.

use crate::error::Error;

/// Bytes that are copied at once.
const STEP: usize = 8;

/// Distance of the farthest of the near matches after three literals or less (`M2_MAX_OFFSET`).
const NEAR: usize = 0x800;
/// The same of the far matches (`M3_MAX_OFFSET`).
const FAR: usize = 0x4000;

/// State after a run of literals, in place of the number of literals after a match.
const RUN: usize = 4;

/// Decompresses all of `input` and returns the length; bytes of `output` behind it have no meaning.
///
/// # Errors
/// [`Error::Truncated`], [`Error::OutputFull`]; [`Error::Corrupt`] for a match from before the
/// beginning, and for bytes after the end of the stream.
pub fn decompress(input: &[u8], output: &mut [u8]) -> Result<usize, Error> {
    let mut decoder = Decoder { input, next: 0, output, length: 0 };
    let mut literals = decoder.first_run()?;
    loop {
        let instruction = usize::from(decoder.byte()?);
        if instruction < 16 && literals == 0 {
            let length = decoder.long(instruction, 15)? + 3;
            decoder.copy_run(length)?;
            literals = RUN;
            continue;
        }
        let Some(found) = decoder.parse(instruction, literals)? else { break };
        decoder.copy_match(found.length, found.distance)?;
        literals = found.literals;
        decoder.copy_literals(literals)?;
    }
    decoder.end()
}

/// A match, and the number of literals after it.
struct Match {
    length: usize,
    distance: usize,
    literals: usize,
}

struct Decoder<'a> {
    input: &'a [u8],
    /// The next byte of the input.
    next: usize,
    output: &'a mut [u8],
    /// Bytes of the output so far.
    length: usize,
}

impl Decoder<'_> {
    /// A stream may begin with a run whose length is in its first byte. Returns the state after it.
    fn first_run(&mut self) -> Result<usize, Error> {
        let Some(first @ 18..) = self.input.first().copied() else { return Ok(0) };
        self.next = 1;
        let length = usize::from(first) - 17;
        self.copy_run(length)?;
        Ok(length.min(RUN))
    }

    /// The match of `instruction`, which is 16 or more, or follows `literals`; `None` for the end of the
    /// stream.
    #[inline(always)]
    fn parse(&mut self, instruction: usize, literals: usize) -> Result<Option<Match>, Error> {
        let (length, distance, last) = match instruction {
            64.. => {
                let distance = (usize::from(self.byte()?) << 3) + ((instruction >> 2) & 7) + 1;
                ((instruction >> 5) + 1, distance, instruction)
            }
            32..=63 => {
                let length = self.long(instruction & 31, 31)? + 2;
                let pair = self.pair()?;
                (length, (pair >> 2) + 1, pair)
            }
            16..=31 => {
                let length = self.long(instruction & 7, 7)? + 2;
                let pair = self.pair()?;
                let beyond = ((instruction & 8) << 11) + (pair >> 2);
                if beyond == 0 {
                    return if length == 3 { Ok(None) } else { Err(self.corrupt()) };
                }
                (length, beyond + FAR, pair)
            }
            _ => {
                let distance = (usize::from(self.byte()?) << 2) + (instruction >> 2) + 1;
                match literals {
                    RUN => (3, distance + NEAR, instruction),
                    _ => (2, distance, instruction),
                }
            }
        };
        Ok(Some(Match { length, distance, literals: last & 3 }))
    }

    #[inline(always)]
    fn byte(&mut self) -> Result<u8, Error> {
        let byte = *self.input.get(self.next).ok_or(self.truncated())?;
        self.next += 1;
        Ok(byte)
    }

    /// Two bytes, little-endian.
    #[inline(always)]
    fn pair(&mut self) -> Result<usize, Error> {
        Ok(usize::from(self.byte()?) | usize::from(self.byte()?) << 8)
    }

    /// A length: `short` unless that is zero, otherwise `most`, 255 for each zero byte, and the byte after
    /// them.
    #[inline(always)]
    fn long(&mut self, short: usize, most: usize) -> Result<usize, Error> {
        if short != 0 {
            return Ok(short);
        }
        let mut length = most;
        loop {
            match self.byte()? {
                0 => length += 255,
                last => return Ok(length + usize::from(last)),
            }
        }
    }

    /// Copies the literals after a match, three at most.
    #[inline(always)]
    fn copy_literals(&mut self, count: usize) -> Result<(), Error> {
        if self.copy_step(count) { Ok(()) } else { self.copy_bytes(count) }
    }

    /// Copies a run of literals.
    #[inline(always)]
    fn copy_run(&mut self, count: usize) -> Result<(), Error> {
        let short = count <= STEP && self.copy_step(count);
        if short { Ok(()) } else { self.copy_bytes(count) }
    }

    /// Copies a step, of which `count` bytes count, unless the input or the output has too few left.
    #[inline(always)]
    fn copy_step(&mut self, count: usize) -> bool {
        let from = self.input.get(self.next..self.next + STEP);
        let to = self.output.get_mut(self.length..self.length + STEP);
        let (Some(from), Some(to)) = (from, to) else { return false };
        to.copy_from_slice(from);
        self.next += count;
        self.length += count;
        true
    }

    fn copy_bytes(&mut self, count: usize) -> Result<(), Error> {
        let from = self.input.get(self.next..self.next + count).ok_or(self.truncated())?;
        let full = self.full();
        let to = self.output.get_mut(self.length..self.length + count).ok_or(full)?;
        to.copy_from_slice(from);
        self.next += count;
        self.length += count;
        Ok(())
    }

    /// Copies `length` bytes from `distance` bytes back; they may overlap.
    #[inline(always)]
    fn copy_match(&mut self, length: usize, distance: usize) -> Result<(), Error> {
        let start = self.length.checked_sub(distance).ok_or(self.corrupt())?;
        let to = self.length;
        if distance >= STEP && length <= 2 * STEP && to + 2 * STEP <= self.output.len() {
            self.output.copy_within(start..start + STEP, to);
            if length > STEP {
                self.output.copy_within(start + STEP..start + 2 * STEP, to + STEP);
            }
            self.length += length;
            return Ok(());
        }
        self.copy_overlapping(start, length)
    }

    fn copy_overlapping(&mut self, start: usize, length: usize) -> Result<(), Error> {
        let end = self.length + length;
        if end > self.output.len() {
            return Err(self.full());
        }
        // What is copied doubles with each part.
        while self.length < end {
            let part = (self.length - start).min(end - self.length);
            self.output.copy_within(start..start + part, self.length);
            self.length += part;
        }
        Ok(())
    }

    fn end(self) -> Result<usize, Error> {
        if self.next == self.input.len() { Ok(self.length) } else { Err(self.corrupt()) }
    }

    const fn truncated(&self) -> Error {
        Error::Truncated { length: self.input.len() }
    }

    const fn full(&self) -> Error {
        Error::OutputFull { room: self.output.len() }
    }

    const fn corrupt(&self) -> Error {
        Error::Corrupt { length: self.input.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::decompress;
    use crate::error::Error;
    use crate::lzo::{Lzo, worst_case};
    use crate::samples::text;
    use lzokay::Error as Cause;

    /// What another decompressor makes of a stream.
    fn theirs(input: &[u8], output: &mut [u8]) -> Result<usize, Error> {
        let (length, room) = (input.len(), output.len());
        lzokay::decompress::decompress(input, output).map_err(|cause| match cause {
            Cause::InputOverrun => Error::Truncated { length },
            Cause::OutputOverrun => Error::OutputFull { room },
            _ => Error::Corrupt { length },
        })
    }

    /// Both decompressors give the same bytes, or neither any.
    fn assert_agreement(input: &[u8], room: usize) {
        let (mut ours, mut other) = (vec![0xA5; room], vec![0x5A; room]);
        let found = decompress(input, &mut ours);
        let expected = theirs(input, &mut other);
        assert_eq!(found.is_ok(), expected.is_ok(), "{found:?}, not {expected:?}: {input:?}");
        if let (Ok(found), Ok(expected)) = (found, expected) {
            assert_eq!(ours[..found], other[..expected], "{input:?}");
        }
    }

    fn compressed(input: &[u8]) -> Vec<u8> {
        let mut output = vec![0; worst_case(input.len())];
        let length = Lzo::new().compress(input, &mut output).unwrap();
        output.truncate(length);
        output
    }

    #[test]
    fn damaged_streams_fail_here_where_they_fail_elsewhere() {
        let mut random = 1_u64;
        for (letters, length) in [(1, 300), (2, 600), (4, 900), (16, 700), (256, 200)] {
            let stream = compressed(&text(letters, length));
            for cut in 0..stream.len() {
                assert_agreement(&stream[..cut], length);
            }
            for room in 0..=length {
                assert_agreement(&stream, room);
            }
            for at in 0..stream.len() {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let mut damaged = stream.clone();
                damaged[at] ^= random.to_be_bytes()[0] | 1;
                assert_agreement(&damaged, 2 * length);
            }
        }
    }

    #[test]
    fn every_kind_of_instruction_is_decoded() {
        let long = [0, 0, 0, 200];
        let streams: [&[u8]; 7] = [
            // Three literals of the first byte, then two bytes from 3 back, one literal, the end.
            &[20, b'a', b'b', b'c', 0b1001, 0, b'd', 0x11, 0, 0],
            // A run of four literals, then seven bytes from 2 back.
            &[1, b'a', b'b', b'c', b'd', 0xC4, 0, 0x11, 0, 0],
            // A match of its own length again and again.
            &[18, b'x', 0x20, long[0], long[1], long[2], long[3], 0, 0, 0x11, 0, 0],
            // Nothing.
            &[0x11, 0, 0],
            // An end of another length.
            &[0x12, 0, 0],
            // Bytes after the end.
            &[0x11, 0, 0, 0],
            // A match from before the beginning.
            &[18, 7, 0x5C, 0xFF, 0x11, 0, 0],
        ];
        for stream in streams {
            assert_agreement(stream, 4_096);
        }
        let mut output = [0; 16];
        assert_eq!(decompress(streams[0], &mut output), Ok(6));
        assert_eq!(output[..6], *b"abcabd");
        assert_eq!(decompress(streams[1], &mut output), Ok(11));
        assert_eq!(output[..11], *b"abcdcdcdcdc");
    }
}
