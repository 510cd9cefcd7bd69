//! Compression of node data: which compressors are tried, and which is chosen.
//!
//! Layer: rank 5. Main type: [`Compressors`], which owns the memory of all of them. The algorithms
//! are in `boardlab_codec`. Here is how Linux uses them: their order, the modes, and that zlib and
//! rtime may consume only a part of the data, so that the rest goes into another node.
//!
//! ```text
//!  priority    LZO (80), zlib (60), rtime (50): the first that makes the data smaller
//!  size        all of them: the smallest
//!  favour LZO  as size, but LZO wins when the other is not below 80 % of it
//! ```
//! Zeros are compressed like any data: the compressor "zero" is for holes only.
//!
//! Source: Linux 6.1, `fs/jffs2/compr.c`, `compr.h`. Left out: the Rubin coders, which no kernel
//! writes, and the compressor "copy" of tests.

use crate::format::inode::Compressor;
use crate::options::{Compression, CompressionMode};
use boardlab_codec::zlib::{Inflate, Jffs2Deflate};
use boardlab_codec::{CompressedSize, lzo, rtime};
use boardlab_sim::Clock;
use boardlab_vfs::{Host, Work};

/// LZO is chosen when another compressor needs at least this share of its size (`FAVOUR_LZO_PERCENT`).
const FAVOUR_LZO_PERCENT: usize = 80;

/// The order in which compressors are tried.
const BY_PRIORITY: [Compressor; 3] = [Compressor::Lzo, Compressor::Zlib, Compressor::Rtime];

/// Data in the form that a node stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredData {
    /// How they are stored.
    pub compressor: Compressor,
    /// The input bytes that they represent.
    pub consumed: usize,
    /// The bytes that they occupy.
    pub produced: usize,
}

/// All compressors, with their working memory.
#[derive(Debug, Clone, Default)]
pub struct Compressors {
    deflate: Option<Box<Jffs2Deflate>>,
    inflate: Option<Box<Inflate>>,
    lzo: Option<Box<lzo::Lzo>>,
    /// LZO of a tool that has time, in place of the kernel's.
    thorough_lzo: Option<Box<lzo::Thorough>>,
    /// The result of the last call.
    output: Vec<u8>,
    /// The output of the last compressor tried.
    attempt: Vec<u8>,
}

impl Compressors {
    /// Those of a tool, whose LZO looks for the longest matches.
    #[must_use]
    pub fn of_a_tool() -> Self {
        Self { thorough_lzo: Some(Box::default()), ..Self::default() }
    }

    /// Compresses as much of `input` as fits into `room` bytes. Where no compressor makes it smaller,
    /// the first `room` bytes are stored as they are. [`Compressors::take`] gives the bytes.
    pub fn compress(
        &mut self,
        host: &mut Host,
        clock: &mut Clock,
        settings: Compression,
        input: &[u8],
        room: usize,
    ) -> StoredData {
        let mut best: Option<StoredData> = None;
        for compressor in BY_PRIORITY {
            if !settings.tries(compressor) {
                continue;
            }
            host.spend(clock, work_to_compress(compressor), input.len());
            let Some(done) = self.attempt(compressor, input, room) else { continue };
            let new = StoredData { compressor, consumed: done.consumed, produced: done.produced };
            let Some(old) = best else {
                if settings.takes_first() || new.produced < new.consumed {
                    best = Some(new);
                    std::mem::swap(&mut self.output, &mut self.attempt);
                }
                if settings.takes_first() {
                    break;
                }
                continue;
            };
            if is_better(settings.mode, new, old) && new.produced < new.consumed {
                best = Some(new);
                std::mem::swap(&mut self.output, &mut self.attempt);
            }
        }
        best.unwrap_or_else(|| self.keep(input, room))
    }

    /// Takes the bytes of the last [`Compressors::compress`] out, so that they can be written while
    /// `self` is borrowed; [`Compressors::give_back`] returns their memory.
    #[must_use]
    pub fn take(&mut self, stored: StoredData) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.output);
        bytes.truncate(stored.produced);
        bytes
    }

    /// Returns the memory of taken bytes for reuse.
    pub fn give_back(&mut self, bytes: Vec<u8>) {
        self.output = bytes;
    }

    fn keep(&mut self, input: &[u8], room: usize) -> StoredData {
        let length = input.len().min(room);
        self.output.clear();
        self.output.extend_from_slice(&input[..length]);
        StoredData { compressor: Compressor::None, consumed: length, produced: length }
    }

    fn attempt(
        &mut self,
        compressor: Compressor,
        input: &[u8],
        room: usize,
    ) -> Option<CompressedSize> {
        if compressor == Compressor::Lzo {
            return self.attempt_lzo(input, room);
        }
        self.attempt.resize(room, 0);
        let output = &mut self.attempt[..];
        match compressor {
            Compressor::Zlib => {
                let deflate = self.deflate.get_or_insert_default();
                deflate.compress(input, output)
            }
            Compressor::Rtime => rtime::compress(input, output),
            _ => None,
        }
    }

    /// LZO consumes all or nothing, in a buffer of the worst case; its size is compared only
    /// afterwards.
    fn attempt_lzo(&mut self, input: &[u8], room: usize) -> Option<CompressedSize> {
        self.attempt.resize(lzo::worst_case(input.len()), 0);
        let produced = match &mut self.thorough_lzo {
            Some(thorough) => thorough.compress(input, &mut self.attempt)?,
            None => self.lzo.get_or_insert_default().compress(input, &mut self.attempt)?,
        };
        (produced <= room).then_some(CompressedSize { consumed: input.len(), produced })
    }

    /// Decompresses the data of a node to exactly `output`; false when they are damaged or the
    /// compressor is unknown.
    #[must_use]
    pub fn decompress(&mut self, compressor: Compressor, data: &[u8], output: &mut [u8]) -> bool {
        match compressor {
            Compressor::None => {
                let same = data.len() == output.len();
                if same {
                    output.copy_from_slice(data);
                }
                same
            }
            Compressor::Zero => {
                output.fill(0);
                true
            }
            Compressor::Rtime => rtime::decompress(data, output).is_ok(),
            Compressor::Zlib => {
                let inflate = self.inflate.get_or_insert_default();
                inflate.jffs2(data, output).is_ok_and(|length| length == output.len())
            }
            Compressor::Lzo => {
                lzo::decompress(data, output).is_ok_and(|length| length == output.len())
            }
            _ => false,
        }
    }
}

impl Compression {
    /// Whether a compressor is tried at all.
    fn tries(self, compressor: Compressor) -> bool {
        let enabled = match compressor {
            Compressor::Lzo => self.lzo,
            Compressor::Zlib => self.zlib,
            Compressor::Rtime => self.rtime,
            _ => false,
        };
        match self.mode {
            CompressionMode::None => false,
            CompressionMode::Only(only) => enabled && only == compressor,
            _ => enabled,
        }
    }

    /// Whether the first compressor that succeeds is chosen, even when LZO did not make the data
    /// smaller.
    const fn takes_first(self) -> bool {
        matches!(self.mode, CompressionMode::Priority | CompressionMode::Only(_))
    }
}

/// Whether `new` is chosen instead of `old` (`jffs2_is_best_compression`).
fn is_better(mode: CompressionMode, new: StoredData, old: StoredData) -> bool {
    let smaller = new.produced < old.produced;
    if mode != CompressionMode::FavourLzo {
        return smaller;
    }
    let share = |bytes: usize| bytes * FAVOUR_LZO_PERCENT / 100;
    let lzo = |stored: StoredData| stored.compressor == Compressor::Lzo;
    (lzo(new) && old.produced > share(new.produced))
        || (!lzo(old) && smaller)
        || share(old.produced) > new.produced
}

/// The CPU work of trying a compressor.
const fn work_to_compress(compressor: Compressor) -> Work {
    match compressor {
        Compressor::Lzo => Work::LzoCompress,
        Compressor::Zlib => Work::Deflate,
        _ => Work::RtimeCompress,
    }
}

/// The CPU work of decompression; `None` for data that are only copied or cleared.
#[must_use]
pub const fn work_to_decompress(compressor: Compressor) -> Option<Work> {
    match compressor {
        Compressor::Lzo => Some(Work::LzoDecompress),
        Compressor::Zlib => Some(Work::Inflate),
        Compressor::Rtime => Some(Work::RtimeDecompress),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::Seed;

    fn noise(length: usize) -> Vec<u8> {
        let mut stream = Seed::new(1).stream("noise");
        (0..length).map(|_| u8::try_from(stream.below(256)).unwrap()).collect()
    }

    fn text(length: usize) -> Vec<u8> {
        b"the quick brown fox jumps over the lazy dog, "
            .iter()
            .copied()
            .cycle()
            .take(length)
            .collect()
    }

    fn run(settings: Compression, input: &[u8], room: usize) -> (StoredData, Vec<u8>, Host) {
        let (mut host, mut clock) = (Host::free(), Clock::new());
        let mut compressors = Compressors::default();
        let stored = compressors.compress(&mut host, &mut clock, settings, input, room);
        let bytes = compressors.take(stored);
        let mut back = vec![0xEE; stored.consumed];
        assert!(compressors.decompress(stored.compressor, &bytes, &mut back));
        assert_eq!(back, input[..stored.consumed]);
        (stored, bytes, host)
    }

    const ALL: Compression =
        Compression { mode: CompressionMode::Priority, zlib: true, lzo: true, rtime: true };

    #[test]
    fn the_first_in_order_of_priority_is_taken() {
        let of = |settings| run(settings, &text(4096), 4096).0.compressor;
        assert_eq!(of(ALL), Compressor::Lzo);
        assert_eq!(of(Compression { lzo: false, ..ALL }), Compressor::Zlib);
        assert_eq!(of(Compression { lzo: false, zlib: false, ..ALL }), Compressor::Rtime);
        assert_eq!(of(Compression { mode: CompressionMode::None, ..ALL }), Compressor::None);
        let only = CompressionMode::Only(Compressor::Zlib);
        assert_eq!(of(Compression { mode: only, ..ALL }), Compressor::Zlib);
    }

    #[test]
    fn what_nothing_makes_smaller_is_kept_and_every_compressor_was_tried() {
        let (stored, bytes, host) = run(ALL, &noise(4096), 4096);
        assert_eq!((stored.compressor, stored.consumed), (Compressor::None, 4096));
        assert_eq!(bytes, noise(4096));
        for work in [Work::LzoCompress, Work::Deflate, Work::RtimeCompress] {
            assert_eq!(
                (host.work_total(work).count, host.work_total(work).bytes),
                (1, 4096),
                "{work:?}"
            );
        }
    }

    #[test]
    fn in_little_room_zlib_takes_a_part_and_lzo_nothing() {
        let mut half = noise(2048);
        half.extend(text(2048));
        let (stored, _, _) = run(ALL, &half, 1024);
        assert_eq!(stored.compressor, Compressor::None, "noise at the beginning");
        half.rotate_left(2048);
        half[..1024]
            .copy_from_slice(&noise(1024).iter().map(|byte| byte & 0x0F).collect::<Vec<_>>());
        let (stored, _, _) = run(ALL, &half, 700);
        assert_eq!(stored.compressor, Compressor::Zlib);
        assert!(stored.consumed > 700 && stored.consumed < 4096, "{stored:?}");
    }

    #[test]
    fn by_size_the_smallest_is_taken_and_lzo_is_favoured_when_nearly_as_small() {
        let input: Vec<u8> = text(4096).iter().zip(noise(4096)).map(|(a, b)| a ^ (b & 1)).collect();
        let of = |mode| run(Compression { mode, ..ALL }, &input, 4096).0;
        let lzo = of(CompressionMode::Only(Compressor::Lzo)).produced;
        let zlib = of(CompressionMode::Only(Compressor::Zlib)).produced;
        assert!(zlib < lzo, "{zlib} {lzo}");
        assert_eq!(of(CompressionMode::Size).compressor, Compressor::Zlib);
        let favoured = of(CompressionMode::FavourLzo).compressor;
        let nearly = lzo * FAVOUR_LZO_PERCENT / 100 <= zlib;
        assert_eq!(favoured == Compressor::Lzo, nearly, "{zlib} {lzo}");
        let page = |lzo, other| {
            let stored = |compressor, produced| StoredData { compressor, consumed: 4096, produced };
            let new = stored(Compressor::Zlib, other);
            is_better(CompressionMode::FavourLzo, new, stored(Compressor::Lzo, lzo))
        };
        assert!(page(1000, 799) && !page(1000, 800));
    }

    #[test]
    fn a_page_of_zeros_is_compressed_as_any_other() {
        let (stored, _, _) = run(Compression { lzo: false, ..ALL }, &[0; 4096], 4096);
        assert_eq!(stored.compressor, Compressor::Zlib);
        assert!(stored.produced < 64, "{}", stored.produced);
    }

    #[test]
    fn damaged_data_and_unknown_compressors_are_refused() {
        let mut compressors = Compressors::default();
        let mut output = [0; 16];
        for compressor in [Compressor::Lzo, Compressor::Zlib, Compressor::Rtime] {
            assert!(!compressors.decompress(compressor, &[1, 2, 3], &mut output), "{compressor}");
        }
        assert!(!compressors.decompress(Compressor::None, &[0; 15], &mut output));
        assert!(!compressors.decompress(Compressor::Unknown(9), &[0; 16], &mut output));
        assert!(compressors.decompress(Compressor::Zero, &[], &mut output));
    }
}
