//! Zstandard in UBIFS.
//!
//! Layer: rank 1. Main types: [`Compressor`] and [`Decompressor`]. Each reuses its memory between
//! calls, but no state, so a clone is a new object. Source: Linux 6.1 `crypto/zstd.c`, which passes the
//! parameters of level 3 for input of unknown length to `zstd_compress_cctx`
//! (`lib/zstd/zstd_compress_module.c`); the library then reduces them to the length of the input.
//!
//! The library is zstd 1.4.9, and Linux 6.1 has 1.4.10: the bytes are equal. Later versions search for
//! matches in another way, so that every third page has another size.

use crate::error::Error;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use zstd_safe::{CCtx, CParameter, DCtx, ErrorCode, Strategy, create_cctx, create_dctx};

/// The parameters of level 3, first column of `ZSTD_defaultCParameters`
/// (`lib/zstd/compress/zstd_compress.c`).
const LEVEL_3: [CParameter; 7] = [
    CParameter::WindowLog(21),
    CParameter::ChainLog(16),
    CParameter::HashLog(17),
    CParameter::SearchLog(1),
    CParameter::MinMatch(5),
    CParameter::TargetLength(0),
    CParameter::Strategy(Strategy::ZSTD_dfast),
];

/// The compressor: one frame with the length of its content and without a checksum.
pub struct Compressor {
    /// Never locked: it makes the object one that threads may share.
    context: Mutex<CCtx<'static>>,
}

impl Default for Compressor {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Compressor {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}

impl Compressor {
    /// Allocates the context. The first input allocates its tables, which grow with the input.
    ///
    /// # Panics
    /// If there is no memory.
    #[must_use]
    pub fn new() -> Self {
        let mut context = create_cctx();
        for parameter in LEVEL_3 {
            context.set_parameter(parameter).expect("a parameter within its limits");
        }
        Self { context: Mutex::new(context) }
    }

    /// Compresses all of `input`; returns the length, or `None` if the output is too small.
    ///
    /// [`worst_case`] bytes always suffice.
    #[must_use]
    pub fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        let context = self.context.get_mut().unwrap_or_else(PoisonError::into_inner);
        context.compress2(output, input).ok()
    }
}

/// The largest output for `length` bytes of input (`ZSTD_COMPRESSBOUND`).
#[must_use]
pub fn worst_case(length: usize) -> usize {
    zstd_safe::compress_bound(length)
}

/// The decompressor. It writes into the output given and needs no memory besides its context.
pub struct Decompressor {
    /// Never locked, as that of [`Compressor`].
    context: Mutex<DCtx<'static>>,
}

impl Default for Decompressor {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Decompressor {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}

impl Decompressor {
    /// Allocates the context.
    ///
    /// # Panics
    /// If there is no memory.
    #[must_use]
    pub fn new() -> Self {
        Self { context: Mutex::new(create_dctx()) }
    }

    /// Decompresses all frames of `input`; returns the number of bytes written.
    ///
    /// # Errors
    /// [`Error::Truncated`], also for other bytes after a frame, [`Error::OutputFull`] or
    /// [`Error::Corrupt`].
    pub fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, Error> {
        let room = output.len();
        let context = self.context.get_mut().unwrap_or_else(PoisonError::into_inner);
        context.decompress(output, input).map_err(|code| reason(code, input.len(), room))
    }
}

/// The meaning of an error of the library: the negative number of `ZSTD_ErrorCode`, which is stable
/// (`zstd_errors.h`).
fn reason(code: ErrorCode, length: usize, room: usize) -> Error {
    const OUTPUT_TOO_SMALL: usize = 70;
    const INPUT_SIZE_WRONG: usize = 72;
    match code.wrapping_neg() {
        OUTPUT_TOO_SMALL => Error::OutputFull { room },
        INPUT_SIZE_WRONG => Error::Truncated { length },
        _ => Error::Corrupt { length },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::text;

    const SENTENCE: &[u8] = b"flash erase flash program flash read ";

    fn compressed(input: &[u8]) -> Vec<u8> {
        let mut output = vec![0; worst_case(input.len())];
        let length = Compressor::new().compress(input, &mut output).unwrap();
        output.truncate(length);
        output
    }

    #[test]
    fn frames_are_those_of_the_kernel() {
        // Length and CRC of what the kernel's own source makes of the same texts.
        for (letters, length, size, crc) in [
            (1, 26, 17, 0xB388CA46),
            (2, 4096, 845, 0x610C9746),
            (4, 4096, 1357, 0xC1F7F808),
            (16, 4096, 2082, 0x66BAE6D9),
            (64, 4096, 3130, 0xF8FF4674),
            (200, 4096, 4106, 0xF4EF4F47),
            (3, 100_000, 26336, 0x1F0FB912),
        ] {
            let frame = compressed(&text(letters, length));
            let found = (frame.len(), crate::crc32(0, &frame));
            assert_eq!(found, (size, crc), "{length} of {letters} letters");
        }
    }

    #[test]
    fn frames_come_back() {
        let mut decompressor = Decompressor::new();
        for letters in [1, 2, 3, 16, 256] {
            for length in [0, 1, 2, 127, 128, 4095, 4096, 200_000] {
                let page = text(letters, length);
                let mut back = vec![1; length];
                assert_eq!(decompressor.decompress(&compressed(&page), &mut back), Ok(length));
                assert_eq!(back, page);
            }
        }
    }

    #[test]
    fn frames_of_the_command_line_tool_are_read() {
        // zstd 1.5.4 from its standard input: -19 --no-check, and -3 with a checksum.
        let level_19 = [
            0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x68, 0x1D, 0x01, 0x00, 0xC0, 0x66, 0x6C, 0x61, 0x73,
            0x68, 0x20, 0x65, 0x72, 0x61, 0x73, 0x65, 0x20, 0x70, 0x72, 0x6F, 0x67, 0x72, 0x61,
            0x6D, 0x72, 0x65, 0x61, 0x64, 0x20, 0x03, 0x00, 0x87, 0x14, 0xD2, 0x31, 0x9D, 0x39,
            0x56, 0x92,
        ];
        let mut level_3 = [
            0x28, 0xB5, 0x2F, 0xFD, 0x04, 0x58, 0x2D, 0x01, 0x00, 0xB8, 0x66, 0x6C, 0x61, 0x73,
            0x68, 0x20, 0x65, 0x72, 0x61, 0x73, 0x65, 0x20, 0x70, 0x72, 0x6F, 0x67, 0x72, 0x61,
            0x6D, 0x72, 0x65, 0x61, 0x64, 0x04, 0x00, 0x81, 0x14, 0x02, 0x2E, 0x8E, 0xC4, 0x74,
            0xE6, 0x58, 0x49, 0x02, 0x02, 0xBA, 0x09, 0xC2,
        ];
        let mut decompressor = Decompressor::new();
        for frame in [&level_19[..], &level_3] {
            let mut output = [0; 200];
            assert_eq!(decompressor.decompress(frame, &mut output), Ok(111));
            assert_eq!(output[..111], SENTENCE.repeat(3));
        }
        level_3[49] ^= 1;
        let corrupt = Err(Error::Corrupt { length: 50 });
        assert_eq!(decompressor.decompress(&level_3, &mut [0; 200]), corrupt);
    }

    #[test]
    fn an_object_keeps_nothing_between_pages() {
        let mut used = Compressor::new();
        for length in [100_000, 4096, 1, 300] {
            let page = text(5, length);
            let mut output = vec![0; worst_case(length)];
            let produced = used.compress(&page, &mut output).unwrap();
            assert_eq!(output[..produced], compressed(&page));
            assert_eq!(used.compress(&page, &mut output[..produced - 1]), None);
        }
    }

    #[test]
    fn damaged_frames_are_errors() {
        let page = text(4, 4096);
        let frame = compressed(&page);
        let mut decompressor = Decompressor::new();
        let full = Err(Error::OutputFull { room: 4095 });
        assert_eq!(decompressor.decompress(&frame, &mut [0; 4095]), full);
        let truncated = Err(Error::Truncated { length: 1000 });
        assert_eq!(decompressor.decompress(&frame[..1000], &mut [0; 4096]), truncated);
        let corrupt = Err(Error::Corrupt { length: 20 });
        assert_eq!(decompressor.decompress(&[7; 20], &mut [0; 16]), corrupt);
        assert_eq!(decompressor.decompress(&frame, &mut [0; 4096]), Ok(4096));
    }

    #[test]
    fn a_frame_that_claims_a_huge_content_needs_no_memory() {
        // A window of 2 GiB and a content of 2^63 bytes, then a block of one byte.
        let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0xC0, 0xA8];
        frame.extend((1_u64 << 63).to_le_bytes());
        frame.extend([0x09, 0, 0, 0x55]);
        let found = Decompressor::new().decompress(&frame, &mut [0; 16]);
        assert_eq!(found, Err(Error::Corrupt { length: frame.len() }));
    }
}
