//! LZO1X-1 as in the kernel.
//!
//! Layer: rank 1. Main items: [`Lzo`], the compressor; [`Thorough`], that of tools; and [`decompress`].
//! The compressor makes the same parse as Linux 6.1 `lib/lzo/lzo1x_compress.c` (bitstream version 0), so
//! that the bytes equal the kernel's: JFFS2 calls `lzo1x_1_compress`, UBIFS `lzo1x_1_compress_safe` through `crypto/lzo.c`.
//! Left out: the run-length variant of the stream (`lzo-rle`), which no flash filesystem writes.
//!
//! The compressor looks a position up by a hash of its next four bytes in a table of last positions,
//! and uses the first match. Without a match, the stride of the search grows.

mod decompress;

pub use decompress::decompress;

/// Slots of the table, a power of two.
const SLOTS: usize = 1 << 13;

/// The longest part of the input that is parsed with one table; a match reaches no further back.
const PART: usize = 0xC000;

/// The number of last bytes of a part that no match covers.
const TAIL: usize = 20;

/// The fewest bytes, literals of the part before included, in which matches are looked for: the check
/// of `lzogeneric1x_1_compress` for an overflow of its pointer fails below.
const SHORTEST_PARSED: usize = 32;

/// Shortest match.
const SHORTEST: usize = 4;

/// The largest output for `length` bytes of input.
#[must_use]
pub const fn worst_case(length: usize) -> usize {
    length + length / 16 + 64 + 3
}

/// The compressor. It reuses the memory of its table between calls.
#[derive(Debug, Clone)]
pub struct Lzo {
    /// The last position of each hash in the part.
    table: Box<[u16; SLOTS]>,
}

impl Default for Lzo {
    fn default() -> Self {
        Self::new()
    }
}

impl Lzo {
    /// Allocates the table of 16 KiB.
    #[must_use]
    pub fn new() -> Self {
        Self { table: Box::new([0; SLOTS]) }
    }

    /// Compresses all of `input`; returns the length, or `None` if the output is too small.
    ///
    /// [`worst_case`] bytes always suffice.
    #[must_use]
    pub fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        let mut sink = Sink { output, length: 0 };
        // All input before `literals` is written.
        let mut literals = 0;
        let mut start = 0;
        while input.len() - start > TAIL {
            let end = input.len().min(start + PART);
            if end - literals < SHORTEST_PARSED {
                break;
            }
            literals = self.parse(&input[..end], start, literals, &mut sink)?;
            start = end;
        }
        let rest = &input[literals..];
        match rest.len() {
            0 => {}
            length @ 1..=238 if sink.length == 0 => {
                sink.put(byte(17 + length))?;
                sink.extend(rest)?;
            }
            _ => sink.literals(rest)?,
        }
        sink.extend(&[0x11, 0, 0])?;
        Some(sink.length)
    }

    /// Compresses the part of the input from `start` on; returns the start of the literals not yet
    /// written.
    fn parse(
        &mut self,
        input: &[u8],
        start: usize,
        mut literals: usize,
        sink: &mut Sink<'_>,
    ) -> Option<usize> {
        self.table.fill(0);
        let end = input.len() - TAIL;
        // The end of the last match of this part; the stride grows with the distance from it.
        let mut anchor = start;
        // The first run of literals of a stream has at least four bytes.
        let mut position = start + SHORTEST.saturating_sub(start - literals);
        position += 1 + ((position - anchor) >> 5);
        while position < end {
            let next = four(input, position);
            let slot = &mut self.table[hash(next)];
            let candidate = start + usize::from(*slot);
            *slot = u16::try_from(position - start).expect("a part has less than 64 KiB");
            if next != four(input, candidate) {
                position += 1 + ((position - anchor) >> 5);
                continue;
            }
            if literals < position {
                sink.literals(&input[literals..position])?;
            }
            let length = match_length(input, position, candidate, end);
            sink.copy(length, position - candidate)?;
            position += length;
            literals = position;
            anchor = position;
        }
        Some(literals)
    }
}

/// A compressor that looks for the longest matches, as `lzo1x_999` of `mkfs.ubifs` does: slower, and
/// its output smaller. The parse is that of `lzokay`. It reuses its memory between calls.
pub struct Thorough {
    dictionary: Box<lzokay::compress::Dict>,
}

impl Default for Thorough {
    fn default() -> Self {
        Self { dictionary: lzokay::compress::Dict::new() }
    }
}

/// The memory keeps nothing from one call to the next.
impl Clone for Thorough {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Thorough {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Thorough").finish_non_exhaustive()
    }
}

impl Thorough {
    /// Compresses all of `input`; returns the length, or `None` if the output is too small.
    ///
    /// [`worst_case`] bytes always suffice.
    #[must_use]
    pub fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        lzokay::compress::compress_no_alloc(input, output, &mut self.dictionary).ok()
    }
}

fn hash(next: u32) -> usize {
    (next.wrapping_mul(0x1824_429D) >> 19) as usize
}

fn four(input: &[u8], position: usize) -> u32 {
    let bytes = input[position..position + 4].try_into().expect("four bytes");
    u32::from_le_bytes(bytes)
}

/// The number of equal bytes at two positions, compared eight at a time: beyond `end` only in whole
/// steps.
fn match_length(input: &[u8], position: usize, candidate: usize, end: usize) -> usize {
    let differ = |length: usize| {
        let at = |start: usize| {
            let bytes = input[start + length..start + length + 8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes)
        };
        at(position) ^ at(candidate)
    };
    let mut length = SHORTEST;
    let mut difference = differ(length);
    while difference == 0 {
        length += 8;
        difference = differ(length);
        if position + length >= end {
            return length;
        }
    }
    length + difference.trailing_zeros() as usize / 8
}

fn byte(value: usize) -> u8 {
    u8::try_from(value).expect("a field of the instruction")
}

/// The output so far.
struct Sink<'a> {
    output: &'a mut [u8],
    length: usize,
}

impl Sink<'_> {
    fn put(&mut self, value: u8) -> Option<()> {
        self.extend(&[value])
    }

    fn extend(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.length + bytes.len();
        self.output.get_mut(self.length..end)?.copy_from_slice(bytes);
        self.length = end;
        Some(())
    }

    /// Writes the excess of a length over its field: a zero for every 255, and the rest, 1 to 255.
    fn long(&mut self, mut length: usize) -> Option<()> {
        while length > 255 {
            self.put(0)?;
            length -= 255;
        }
        self.put(byte(length))
    }

    /// Writes a run of literals; the last two bits of the preceding match hold a count of up to three.
    fn literals(&mut self, bytes: &[u8]) -> Option<()> {
        match bytes.len() {
            length @ ..=3 => self.output[self.length - 2] |= byte(length),
            length @ 4..=18 => self.put(byte(length - 3))?,
            length => {
                self.put(0)?;
                self.long(length - 18)?;
            }
        }
        self.extend(bytes)
    }

    /// Writes a match of `length` bytes, `distance` bytes back.
    fn copy(&mut self, length: usize, distance: usize) -> Option<()> {
        if length <= 8 && distance <= 0x800 {
            let back = distance - 1;
            return self.extend(&[byte((length - 1) << 5 | (back & 7) << 2), byte(back >> 3)]);
        }
        let (marker, most, back) = if distance <= 0x4000 {
            (0x20, 33, distance - 1)
        } else {
            let back = distance - 0x4000;
            (0x10 | byte(back >> 11 & 8), 9, back)
        };
        if length <= most {
            self.put(marker | byte(length - 2))?;
        } else {
            self.put(marker)?;
            self.long(length - most)?;
        }
        self.extend(&[byte((back << 2) & 0xFF), byte((back >> 6) & 0xFF)])
    }
}

#[cfg(test)]
mod tests {
    use super::{Lzo, Thorough, decompress, worst_case};
    use crate::error::Error;
    use crate::samples::text;

    fn round(input: &[u8]) -> usize {
        let mut output = vec![0; worst_case(input.len())];
        let length = Lzo::new().compress(input, &mut output).unwrap();
        let mut back = vec![0; input.len()];
        assert_eq!(decompress(&output[..length], &mut back), Ok(input.len()));
        assert_eq!(back, input);
        length
    }

    #[test]
    fn page_of_zeros_is_one_match() {
        let mut output = [0; 64];
        let length = Lzo::new().compress(&[0; 4096], &mut output).unwrap();
        // 5 literals, a match of 4081 - 33 = 4048 = 15 * 255 + 223 one byte back, 10 literals, the end
        assert_eq!(output[..6], [2, 0, 0, 0, 0, 0]);
        assert!(length < 64);
        assert_eq!(output[length - 3..length], [0x11, 0, 0]);
    }

    #[test]
    fn streams_come_back_through_another_decompressor() {
        for letters in [1, 2, 3, 4, 8, 16, 64, 256] {
            for length in (0..60).chain([255, 256, 257, 4096, 49_151, 49_152, 49_153, 200_000]) {
                round(&text(letters, length));
            }
        }
    }

    #[test]
    fn the_thorough_compressor_makes_less_of_text_and_does_not_depend_on_what_was_before() {
        let mut compressor = Thorough::default();
        let compress = |compressor: &mut Thorough, input: &[u8]| {
            let mut output = vec![0; worst_case(input.len())];
            let length = compressor.compress(input, &mut output).unwrap();
            output.truncate(length);
            let mut back = vec![0; input.len()];
            assert_eq!(decompress(&output, &mut back), Ok(input.len()));
            assert_eq!(back, input);
            output
        };
        for letters in [1, 2, 3, 4, 8, 16, 64, 256] {
            for length in (1..60).chain([127, 128, 238, 239, 300, 4_095, 4_096]) {
                let input = text(letters, length);
                let output = compress(&mut compressor, &input);
                assert_eq!(output, compress(&mut Thorough::default(), &input), "{length}");
            }
            let page = text(letters, 4_096);
            let (thorough, fast) = (compress(&mut compressor, &page).len(), round(&page));
            assert!(letters > 8 || thorough <= fast, "{letters} letters: {thorough}, {fast}");
        }
        assert_eq!(compressor.compress(&text(256, 4_096), &mut [0; 100]), None);
    }

    #[test]
    fn streams_are_those_of_the_kernel() {
        // Length and CRC of what the kernel's own source makes of the same texts.
        for (letters, length, size, crc) in [
            (1, 31, 35, 0xCDEA059A),
            (1, 32, 28, 0xAA2E4CB5),
            (1, 100, 34, 0x9E81D4C4),
            (2, 4096, 1683, 0xC109D639),
            (4, 4096, 2115, 0x2939B4E3),
            (16, 4096, 4116, 0x1688C0DF),
            (3, 49_177, 22056, 0x02172A42),
            (3, 100_000, 44811, 0x99A2A383),
        ] {
            let input = text(letters, length);
            let mut output = vec![0; worst_case(length)];
            let produced = Lzo::new().compress(&input, &mut output).unwrap();
            let found = crate::crc32(0, &output[..produced]);
            assert_eq!((produced, found), (size, crc), "{length} of {letters} letters");
        }
    }

    #[test]
    fn far_matches_come_back() {
        for distance in [2_048, 2_049, 16_384, 16_385, 32_768, 49_000] {
            let mut input = text(256, distance);
            input.extend_from_within(..600);
            round(&input);
        }
    }

    #[test]
    fn too_small_an_output_is_no_stream() {
        let page = text(4, 4096);
        let length = round(&page);
        assert_eq!(Lzo::new().compress(&page, &mut vec![0; length]), Some(length));
        assert_eq!(Lzo::new().compress(&page, &mut vec![0; length - 1]), None);
    }

    #[test]
    fn damaged_streams_are_errors() {
        let page = text(4, 4096);
        let mut output = [0; 8192];
        let length = Lzo::new().compress(&page, &mut output).unwrap();
        let truncated = Err(Error::Truncated { length: 1000 });
        assert_eq!(decompress(&output[..1000], &mut [0; 4096]), truncated);
        let full = Err(Error::OutputFull { room: 4095 });
        assert_eq!(decompress(&output[..length], &mut [0; 4095]), full);
        // One literal, then a match from before the beginning.
        let corrupt = Err(Error::Corrupt { length: 7 });
        assert_eq!(decompress(&[18, 7, 0x5C, 0xFF, 0x11, 0, 0], &mut [0; 16]), corrupt);
    }
}
