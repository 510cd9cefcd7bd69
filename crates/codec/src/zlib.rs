//! Deflate in JFFS2, UBIFS and LogFS.
//!
//! Layer: rank 1. Main types: [`Jffs2Deflate`], [`RawDeflate`] and [`ZlibDeflate`], which compress, and [`Inflate`].
//! Each reuses its memory between calls, but no state, so a clone is a new object. The first and the last keep the
//! stream that they made last: many a file holds the same page again and again. Source: Linux 6.1
//! `fs/jffs2/compr_zlib.c` and `crypto/deflate.c`. They use zlib 1.3; Linux has its ancestor 1.1.3.
//! With the same level, window (32 KiB) and memory (level 8), both find the same matches.
//!
//! Left out: two differences of old zlib, and so of Linux. At a partial flush it writes a second empty
//! block, 10 bits, if the code of the last end of block was very short; and a match of the second
//! round cannot reach the last two bytes of the first.

mod bound;

use crate::CompressedSize;
use crate::error::Error;
use bound::Bound;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The bytes that JFFS2 reserves for the end of the stream.
const STREAM_END: usize = 12;

/// JFFS2's level, which uses no lazy matching (`deflate_fast`).
const JFFS2_LEVEL: u32 = 3;

/// The binary logarithm of the largest window in a zlib header.
const WINDOW_MAX: u8 = 15;

/// JFFS2's compressor: a zlib stream of as much of the input as fits into the output.
#[derive(Debug)]
pub struct Jffs2Deflate {
    stream: Compress,
    bound: Bound,
    last: Last,
}

/// What was compressed last.
#[derive(Debug, Default)]
struct Last {
    input: Vec<u8>,
    /// Bytes of the output that could be used.
    room: usize,
    /// Bytes of the input in the stream; `None` if there is none.
    consumed: Option<usize>,
    stream: Vec<u8>,
}

impl Last {
    /// Whether the same was asked for.
    fn is(&self, input: &[u8], room: usize) -> bool {
        self.room == room && self.input == input
    }

    /// Keeps what came of it.
    fn keep(&mut self, input: &[u8], room: usize, made: Option<(usize, &[u8])>) {
        self.room = room;
        self.consumed = made.map(|(consumed, _)| consumed);
        for (kept, bytes) in [
            (&mut self.input, input),
            (&mut self.stream, made.map_or(&[][..], |(_, stream)| stream)),
        ] {
            kept.clear();
            kept.extend_from_slice(bytes);
        }
    }
}

impl Default for Jffs2Deflate {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Jffs2Deflate {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Jffs2Deflate {
    /// Allocates its 400 KiB of memory.
    #[must_use]
    pub fn new() -> Self {
        let stream = Compress::new(Compression::new(JFFS2_LEVEL), true);
        Self { stream, bound: Bound::new(), last: Last::default() }
    }

    /// Compresses as much of `input` as fits into `output`; `None` if the result is not smaller.
    ///
    /// Each round passes at most as much input as there is output space, and flushes all of it. The
    /// space after the last round, at least 12 bytes, must hold the end of the stream. Input that
    /// provably does not become smaller is not compressed; the result is the same.
    #[must_use]
    pub fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Option<CompressedSize> {
        let limit = output.len().checked_sub(STREAM_END).filter(|&limit| limit > 0)?;
        if self.bound.is_hopeless(&input[..limit.min(input.len())]) {
            return None;
        }
        if !self.last.is(input, limit) {
            let made = self.attempt(input, output, limit);
            let kept = made.map(|made| (made.consumed, &output[..made.produced]));
            self.last.keep(input, limit, kept);
            return made;
        }
        let Last { stream, consumed, .. } = &self.last;
        let consumed = (*consumed)?;
        output[..stream.len()].copy_from_slice(stream);
        Some(CompressedSize { consumed, produced: stream.len() })
    }

    fn attempt(&mut self, input: &[u8], output: &mut [u8], limit: usize) -> Option<CompressedSize> {
        self.stream.reset();
        let (mut consumed, mut produced) = (0, 0);
        while produced < limit && consumed < input.len() {
            let room = limit - produced;
            let offer = room.min(input.len() - consumed);
            let (took, gave) = self.step(
                &input[consumed..consumed + offer],
                &mut output[produced..limit],
                FlushCompress::Partial,
                Status::Ok,
            )?;
            consumed += took;
            produced += gave;
        }
        let rest = &mut output[produced..];
        let (_, gave) = self.step(&[], rest, FlushCompress::Finish, Status::StreamEnd)?;
        produced += gave;
        (produced < consumed).then_some(CompressedSize { consumed, produced })
    }

    /// Calls deflate once; returns the bytes consumed and produced, or `None` for an unexpected status.
    fn step(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        flush: FlushCompress,
        expected: Status,
    ) -> Option<(usize, usize)> {
        let (took, gave) = (self.stream.total_in(), self.stream.total_out());
        let status = self.stream.compress(input, output, flush).ok()?;
        let took = usize::try_from(self.stream.total_in() - took).ok()?;
        let gave = usize::try_from(self.stream.total_out() - gave).ok()?;
        (status == expected).then_some((took, gave))
    }
}

/// Deflate without header and checksum, as in UBIFS.
#[derive(Debug)]
pub struct RawDeflate {
    stream: Compress,
    level: u32,
    window: u8,
}

impl Clone for RawDeflate {
    fn clone(&self) -> Self {
        Self::new(self.level, self.window)
    }
}

impl RawDeflate {
    /// The parameters of Linux' cryptographic interface, and so of UBIFS: level 6, a window of 2 KiB.
    #[must_use]
    pub fn ubifs() -> Self {
        Self::new(6, 11)
    }

    /// A compressor of level 0 to 9 with a window of 2^`window` bytes, 9 to 15.
    ///
    /// # Panics
    /// If a parameter is out of range.
    #[must_use]
    pub fn new(level: u32, window: u8) -> Self {
        assert!(level <= 9 && (9..=WINDOW_MAX).contains(&window), "level {level}, window {window}");
        let stream = Compress::new_with_window_bits(Compression::new(level), false, window);
        Self { stream, level, window }
    }

    /// Compresses all of `input`; returns the length, or `None` if the output is too small.
    #[must_use]
    pub fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        finish(&mut self.stream, input, output)
    }
}

/// Deflate with header and checksum, as in LogFS.
#[derive(Debug)]
pub struct ZlibDeflate {
    stream: Compress,
    level: u32,
    bound: Bound,
    last: Last,
}

impl Clone for ZlibDeflate {
    fn clone(&self) -> Self {
        Self::new(self.level)
    }
}

impl ZlibDeflate {
    /// A compressor of level 0 to 9 with a window of 32 KiB.
    #[must_use]
    pub fn new(level: u32) -> Self {
        let stream = Compress::new(Compression::new(level), true);
        Self { stream, level, bound: Bound::new(), last: Last::default() }
    }

    /// A stream of all of `input`, if it is smaller and has at most `limit` bytes. Input that provably does not
    /// become smaller is not compressed; the result is the same.
    #[must_use]
    pub fn shrink(&mut self, input: &[u8], limit: usize) -> Option<Vec<u8>> {
        if self.bound.is_hopeless(input) {
            return None;
        }
        let room = limit.min(input.len().saturating_sub(1));
        if self.last.is(input, room) {
            return self.last.consumed.map(|_| self.last.stream.clone());
        }
        let mut output = vec![0; room];
        let made = finish(&mut self.stream, input, &mut output);
        self.last.keep(input, room, made.map(|length| (input.len(), &output[..length])));
        output.truncate(made?);
        Some(output)
    }
}

/// Compresses all of `input` at once.
fn finish(stream: &mut Compress, input: &[u8], output: &mut [u8]) -> Option<usize> {
    stream.reset();
    let status = stream.compress(input, output, FlushCompress::Finish).ok()?;
    (status == Status::StreamEnd).then(|| usize::try_from(stream.total_out()).ok())?
}

/// The decompressor of all formats.
#[derive(Debug)]
pub struct Inflate {
    stream: Decompress,
}

impl Default for Inflate {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Inflate {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Inflate {
    /// Allocates the memory of zlib.
    #[must_use]
    pub fn new() -> Self {
        Self { stream: Decompress::new(false) }
    }

    /// Decompresses a zlib stream as JFFS2 does; returns the number of bytes written.
    ///
    /// JFFS2 skips a valid header, and then the checksum at the end as well, because the node has a
    /// CRC. With any other header, zlib gets the whole stream, and rejects it or verifies its checksum.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::OutputFull`] or [`Error::Corrupt`]. Linux does not report these
    /// errors: it returns a page that is only partly written.
    pub fn jffs2(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, Error> {
        match jffs2_body(input)? {
            Some(body) => self.run(false, body, output),
            None => self.run(true, input, output),
        }
    }

    /// Decompresses a deflate stream without header; returns the number of bytes written.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::OutputFull`] or [`Error::Corrupt`].
    pub fn raw(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, Error> {
        self.run(false, input, output)
    }

    /// Decompresses a zlib stream and verifies its checksum; returns the number of bytes written.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::OutputFull`] or [`Error::Corrupt`].
    pub fn zlib(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, Error> {
        self.run(true, input, output)
    }

    fn run(&mut self, header: bool, input: &[u8], output: &mut [u8]) -> Result<usize, Error> {
        self.stream.reset(header);
        let status = self.stream.decompress(input, output, FlushDecompress::Finish);
        let corrupt = Error::Corrupt { length: input.len() };
        let produced = usize::try_from(self.stream.total_out()).map_err(|_| corrupt)?;
        match status {
            Ok(Status::StreamEnd) => Ok(produced),
            Ok(_) if produced == output.len() => Err(Error::OutputFull { room: output.len() }),
            Ok(_) => Err(Error::Truncated { length: input.len() }),
            Err(_) => Err(corrupt),
        }
    }
}

/// The stream after a header that JFFS2 skips; `None` if JFFS2 passes the whole stream to zlib.
fn jffs2_body(input: &[u8]) -> Result<Option<&[u8]>, Error> {
    const DEFLATED: u8 = 8;
    const PRESET_DICTIONARY: u8 = 0x20;
    let &[method, flags, ref body @ ..] = input else { return Ok(None) };
    let sane = !body.is_empty()
        && flags & PRESET_DICTIONARY == 0
        && method & 0x0F == DEFLATED
        && u16::from_be_bytes([method, flags]) % 31 == 0;
    if !sane {
        return Ok(None);
    }
    // The window size is the header's. It has no other effect, because all output is in one buffer.
    if (method >> 4) + 8 > WINDOW_MAX {
        return Err(Error::Corrupt { length: input.len() });
    }
    Ok(Some(body))
}

#[cfg(test)]
mod tests {
    use super::{Inflate, Jffs2Deflate, RawDeflate, ZlibDeflate, finish};
    use crate::error::Error;
    use crate::samples::text;
    use boardlab_sim::Seed;

    fn random(length: usize) -> Vec<u8> {
        let mut data = vec![0; length];
        Seed::new(1).stream("zlib").fill(&mut data);
        data
    }

    /// A page whose first half is random and whose second half is zero.
    fn half() -> Vec<u8> {
        let mut data = random(2048);
        data.resize(4096, 0);
        data
    }

    #[test]
    fn page_of_zeros_has_the_size_that_linux_writes() {
        let mut output = [0; 4096];
        let done = Jffs2Deflate::new().compress(&[0; 4096], &mut output).unwrap();
        assert_eq!(done.consumed, 4096);
        assert_eq!(output[..2], [0x78, 0x5E], "header of level 3");
        let mut page = [1; 4096];
        assert_eq!(Inflate::new().jffs2(&output[..done.produced], &mut page), Ok(4096));
        assert_eq!(page, [0; 4096]);
    }

    #[test]
    fn random_page_does_not_shrink() {
        assert_eq!(Jffs2Deflate::new().compress(&random(4096), &mut [0; 4096]), None);
    }

    #[test]
    fn compressor_keeps_nothing_between_pages() {
        let mut used = Jffs2Deflate::new();
        let (mut first, mut second) = ([0; 4096], [0; 4096]);
        for page in [random(4096), vec![0; 4096], half(), random(100)] {
            let once = used.compress(&page, &mut first);
            let fresh = Jffs2Deflate::new().compress(&page, &mut second);
            assert_eq!(once, fresh);
            let produced = once.map_or(0, |done| done.produced);
            assert_eq!(first[..produced], second[..produced]);
        }
    }

    #[test]
    fn small_room_takes_the_beginning_of_the_page() {
        let page = half();
        for room in 13..2200 {
            let mut output = vec![0; room];
            let Some(done) = Jffs2Deflate::new().compress(&page, &mut output) else { continue };
            let mut back = vec![0; done.consumed];
            let stream = &output[..done.produced];
            assert_eq!(Inflate::new().jffs2(stream, &mut back), Ok(done.consumed));
            assert_eq!(back, page[..done.consumed]);
        }
    }

    /// Pages about the border between shrinking and not: slightly uneven bytes, a few repetitions.
    fn border(stream: &mut boardlab_sim::Stream) -> Vec<u8> {
        let lengths = [4096, 4096, 4084, 2500, 600, 8192, 8204];
        let mut page = vec![0; lengths[usize::try_from(stream.below(7)).unwrap()]];
        stream.fill(&mut page);
        let (even, spread) = (stream.below(200), stream.below(150) + 4);
        for byte in &mut page {
            if stream.chance(even, 400) {
                *byte = u8::try_from(stream.below(spread)).unwrap();
            }
        }
        for _ in 0..stream.below(12) {
            let length = usize::try_from(stream.below(9)).unwrap();
            let from = usize::try_from(stream.below(500)).unwrap();
            let to = usize::try_from(stream.below(500)).unwrap();
            page.copy_within(from..from + length, to);
        }
        page
    }

    #[test]
    fn whatever_is_called_hopeless_fails_when_it_is_tried() {
        let full = std::env::var_os("BOARDLAB_FULL").is_some();
        let mut stream = Seed::new(1).stream("border");
        let mut deflate = Jffs2Deflate::new();
        let mut output = vec![0; 10_000];
        let (mut hopeless, mut hard, mut shrinks) = (0, 0, 0);
        let case_count = if full { 400_000 } else { 4_000 };
        for case in 0..case_count {
            let page = border(&mut stream);
            let length = u64::try_from(page.len()).unwrap();
            let room = match stream.below(3) {
                0 => length,
                1 => length + stream.below(30),
                _ => length - stream.below(500),
            };
            let limit = usize::try_from(room).unwrap() - 12;
            let claim = deflate.bound.is_hopeless(&page[..limit.min(page.len())]);
            let tried = deflate.attempt(&page, &mut output[..limit + 12], limit);
            assert!(!(claim && tried.is_some()), "case {case}, seed 1: {tried:?} of {length}");
            hopeless += u32::from(claim);
            hard += u32::from(!claim && tried.is_none());
            shrinks += u32::from(tried.is_some());
        }
        assert!(
            hopeless > case_count / 25 && shrinks > case_count / 10,
            "{hopeless} hopeless, {hard} hard, {shrinks} shrink"
        );
    }

    #[test]
    fn a_stream_is_given_where_it_is_smaller_and_nowhere_else() {
        let full = std::env::var_os("BOARDLAB_FULL").is_some();
        let mut stream = Seed::new(2).stream("border");
        for level in [1, 3, 9] {
            let (mut deflate, mut hopeless) = (ZlibDeflate::new(level), 0);
            for case in 0..if full { 100_000 } else { 1_500 } {
                let page = border(&mut stream);
                hopeless += u32::from(deflate.bound.is_hopeless(&page));
                let mut whole = vec![0; page.len() + 100];
                let length = finish(&mut deflate.stream, &page, &mut whole).unwrap();
                let expected = (length < page.len()).then_some(&whole[..length]);
                let shrunk = deflate.shrink(&page, page.len());
                assert_eq!(shrunk.as_deref(), expected, "level {level}, case {case}, seed 2");
                if let Some(shrunk) = shrunk {
                    assert_eq!(deflate.shrink(&page, length), Some(shrunk));
                    assert_eq!(deflate.shrink(&page, length - 1), None, "a byte too few");
                }
            }
            assert!(hopeless > 60, "{hopeless} hopeless at level {level}");
        }
    }

    #[test]
    fn raw_stream_comes_back() {
        let page = half();
        let mut output = [0; 4096];
        let length = RawDeflate::ubifs().compress(&page, &mut output).unwrap();
        let mut back = [0; 4096];
        assert_eq!(Inflate::new().raw(&output[..length], &mut back), Ok(4096));
        assert_eq!(back[..], page);
        assert_eq!(RawDeflate::ubifs().compress(&page, &mut [0; 2000]), None);
    }

    #[test]
    fn raw_streams_are_those_of_the_kernel() {
        // Length and CRC of what the kernel's own source makes of the same texts; zlib of Python too.
        for (letters, length, size, crc) in [
            (1, 26, 5, 0x096C989B),
            (2, 4096, 703, 0xEFF0C783),
            (4, 4096, 1326, 0x1DF1CB73),
            (16, 4096, 2281, 0xEFEBBCBE),
            (200, 4096, 3959, 0x801E12D6),
            (3, 100_000, 24203, 0x94F42A03),
        ] {
            let mut output = vec![0; length + 100];
            let page = text(letters, length);
            let produced = RawDeflate::ubifs().compress(&page, &mut output).unwrap();
            let found = (produced, crate::crc32(0, &output[..produced]));
            assert_eq!(found, (size, crc), "{length} of {letters} letters");
        }
    }

    #[test]
    fn raw_stream_of_another_level_and_window_is_read() {
        // Python: zlib.compressobj(9, zlib.DEFLATED, -15, 9)
        let stream = [
            0x4B, 0xCB, 0x49, 0x2C, 0xCE, 0x50, 0x48, 0x2D, 0x4A, 0x2C, 0x4E, 0x55, 0x48, 0x03,
            0xB3, 0x0B, 0x8A, 0xF2, 0xD3, 0x8B, 0x12, 0x73, 0xA1, 0xBC, 0xA2, 0xD4, 0xC4, 0x14,
            0x28, 0x93, 0x1A, 0x8A, 0x00,
        ];
        let mut output = [0; 200];
        assert_eq!(Inflate::new().raw(&stream, &mut output), Ok(111));
        assert_eq!(output[..111], b"flash erase flash program flash read ".repeat(3));
    }

    #[test]
    fn damaged_streams_are_errors() {
        let mut output = [0; 4096];
        let done = Jffs2Deflate::new().compress(&half(), &mut output).unwrap();
        let stream = &output[..done.produced];
        let mut inflate = Inflate::new();
        let full = Err(Error::OutputFull { room: 4095 });
        assert_eq!(inflate.jffs2(stream, &mut [0; 4095]), full);
        let truncated = Err(Error::Truncated { length: 998 });
        assert_eq!(inflate.jffs2(&stream[..1000], &mut [0; 4096]), truncated);
        assert_eq!(inflate.jffs2(&[], &mut [0; 8]), Err(Error::Truncated { length: 0 }));
        let corrupt = Err(Error::Corrupt { length: 6 });
        assert_eq!(inflate.jffs2(&[0x78, 0x5F, 1, 2, 3, 4], &mut [0; 8]), corrupt, "header");
        assert_eq!(inflate.jffs2(&[0x78, 0x5E, 7, 2, 3, 4, 5, 6], &mut [0; 8]), corrupt, "block");
        assert_eq!(inflate.jffs2(&[0x88, 0x1C, 3, 0, 0, 0], &mut [0; 8]), corrupt, "window");
    }

    #[test]
    fn wrong_check_sum_is_not_looked_at() {
        let mut output = [0; 4096];
        let done = Jffs2Deflate::new().compress(&half(), &mut output).unwrap();
        output[done.produced - 1] ^= 0xFF;
        assert_eq!(Inflate::new().jffs2(&output[..done.produced], &mut [0; 4096]), Ok(4096));
    }
}
