//! The compressors of file content: when one is used, and when its result is kept.
//!
//! Layer: rank 5. Main type: [`Compressors`], which owns the memory of all of them. The algorithms
//! are in `boardlab_codec`. A block shorter than [`MIN_LENGTH`] is not compressed, and a result that
//! saves less than [`MIN_SAVING`] is not kept: reading it would take longer.
//!
//! Source: Linux 6.1, `fs/ubifs/compress.c` (`ubifs_compress`, `ubifs_decompress`).

use crate::format::BLOCK_SIZE;
use boardlab_codec::lzo::{self, Lzo};
use boardlab_codec::zlib::{Inflate, RawDeflate};
use boardlab_codec::zstd;
use boardlab_sim::Clock;
use boardlab_vfs::{Host, Work};

/// The numbers of compressors on flash (`UBIFS_COMPR_*`).
pub(crate) mod number {
    pub(crate) const NONE: u16 = 0;
    pub(crate) const LZO: u16 = 1;
    pub(crate) const ZLIB: u16 = 2;
    pub(crate) const ZSTD: u16 = 3;
    /// How many there are.
    pub(crate) const COUNT: u16 = 4;
}

/// The shortest block that is compressed (`UBIFS_MIN_COMPR_LEN`).
const MIN_LENGTH: usize = 128;
/// The least that compression must save (`UBIFS_MIN_COMPRESS_DIFF`).
const MIN_SAVING: usize = 64;
/// The room for a compressed block (`WORST_COMPR_FACTOR`).
const ROOM: usize = 2 * BLOCK_SIZE;

/// All compressors, with their working memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Compressors {
    lzo: Option<Box<Lzo>>,
    deflate: Option<Box<RawDeflate>>,
    inflate: Option<Box<Inflate>>,
    zstd: Option<Box<zstd::Compressor>>,
    unzstd: Option<Box<zstd::Decompressor>>,
}

/// A block as a data node holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packed {
    /// The compressor that was used in the end.
    pub compr_type: u16,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Packed {
    /// A block as `compress` packs it into the room that it is given, or as it is: if it is too short, if
    /// `compress` gives no length, or if too little is saved.
    pub(crate) fn of(
        compr_type: u16,
        input: &[u8],
        compress: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) -> Self {
        let as_it_is = || Self { compr_type: number::NONE, bytes: input.to_vec() };
        if compr_type == number::NONE || input.len() < MIN_LENGTH {
            return as_it_is();
        }
        let mut room = [0; ROOM];
        match compress(&mut room).filter(|length| length + MIN_SAVING <= input.len()) {
            Some(length) => Self { compr_type, bytes: room[..length].to_vec() },
            None => as_it_is(),
        }
    }
}

impl Compressors {
    /// Compresses a block with the compressor of this number, or keeps it as it is.
    pub(crate) fn compress(
        &mut self,
        host: &mut Host,
        clock: &mut Clock,
        compr_type: u16,
        input: &[u8],
    ) -> Packed {
        let packed = Packed::of(compr_type, input, |room| {
            self.attempt((host, clock), compr_type, input, room)
        });
        if packed.compr_type == number::NONE {
            host.spend(clock, Work::Copy, input.len());
        }
        packed
    }

    fn attempt(
        &mut self,
        (host, clock): (&mut Host, &mut Clock),
        compr_type: u16,
        input: &[u8],
        output: &mut [u8],
    ) -> Option<usize> {
        match compr_type {
            number::LZO => {
                host.spend(clock, Work::LzoCompress, input.len());
                self.lzo.get_or_insert_default().compress(input, output)
            }
            number::ZLIB => {
                host.spend(clock, Work::Deflate, input.len());
                let deflate = self.deflate.get_or_insert_with(|| Box::new(RawDeflate::ubifs()));
                deflate.compress(input, output)
            }
            number::ZSTD => {
                host.spend(clock, Work::ZstdCompress, input.len());
                let zstd = self.zstd.get_or_insert_with(|| Box::new(zstd::Compressor::new()));
                zstd.compress(input, output)
            }
            _ => None,
        }
    }

    /// Decompresses a block; returns its length, or `None` for data that are damaged or compressed in
    /// an unknown way.
    pub(crate) fn decompress(
        &mut self,
        host: &mut Host,
        clock: &mut Clock,
        compr_type: u16,
        input: &[u8],
        output: &mut [u8],
    ) -> Option<usize> {
        let (work, length) = match compr_type {
            number::NONE => {
                output.get_mut(..input.len())?.copy_from_slice(input);
                (Work::Copy, input.len())
            }
            number::LZO => (Work::LzoDecompress, lzo::decompress(input, output).ok()?),
            number::ZLIB => {
                let inflate = self.inflate.get_or_insert_default();
                (Work::Inflate, inflate.raw(input, output).ok()?)
            }
            number::ZSTD => {
                let unzstd = self.unzstd.get_or_insert_with(|| Box::new(zstd::Decompressor::new()));
                (Work::ZstdDecompress, unzstd.decompress(input, output).ok()?)
            }
            _ => return None,
        };
        host.spend(clock, work, length);
        Some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block that begins with `random` bytes without pattern and ends with zeros.
    fn block(length: usize, random: usize) -> Vec<u8> {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        (0..length).map(|at| if at < random { next() } else { 0 }).collect()
    }

    fn compress(compr_type: u16, input: &[u8]) -> Packed {
        let (mut host, mut clock) = (Host::free(), Clock::new());
        Compressors::default().compress(&mut host, &mut clock, compr_type, input)
    }

    #[test]
    fn a_block_of_less_than_128_bytes_is_not_compressed() {
        for compr_type in [number::LZO, number::ZLIB, number::ZSTD] {
            assert_eq!(compress(compr_type, &[0; 127]).compr_type, number::NONE);
            assert_eq!(compress(compr_type, &[0; 128]).compr_type, compr_type);
        }
    }

    #[test]
    fn compression_that_saves_less_than_64_bytes_is_not_kept() {
        // 4,096 bytes: the shorter the zeros at the end, the less compression saves.
        for compr_type in [number::LZO, number::ZLIB, number::ZSTD] {
            let mut kept = [false; 2];
            for zeros in 40..600 {
                let input = block(BLOCK_SIZE, BLOCK_SIZE - zeros);
                let packed = compress(compr_type, &input);
                if packed.compr_type == compr_type {
                    kept[1] = true;
                    assert!(packed.bytes.len() <= BLOCK_SIZE - 64, "{zeros} zeros");
                } else {
                    kept[0] = true;
                    assert_eq!(packed, Packed { compr_type: number::NONE, bytes: input });
                }
            }
            assert_eq!(kept, [true; 2]);
        }
    }

    #[test]
    fn what_was_compressed_is_decompressed() {
        let (mut host, mut clock) = (Host::free(), Clock::new());
        let mut compressors = Compressors::default();
        for compr_type in [number::NONE, number::LZO, number::ZLIB, number::ZSTD] {
            let input = block(3_000, 700);
            let packed = compressors.compress(&mut host, &mut clock, compr_type, &input);
            assert_eq!(packed.compr_type, compr_type);
            let mut output = vec![1; BLOCK_SIZE];
            let length = compressors.decompress(
                &mut host,
                &mut clock,
                compr_type,
                &packed.bytes,
                &mut output,
            );
            assert_eq!(length, Some(3_000));
            assert_eq!(output[..3_000], input);
        }
    }

    #[test]
    fn damaged_and_unknown_data_are_not_decompressed() {
        let (mut host, mut clock) = (Host::free(), Clock::new());
        let mut compressors = Compressors::default();
        let mut output = [0; BLOCK_SIZE];
        for (compr_type, input) in
            [(number::LZO, &[0xFF; 9][..]), (number::ZLIB, &[0xFF; 9]), (7, &[0; 9])]
        {
            let length =
                compressors.decompress(&mut host, &mut clock, compr_type, input, &mut output);
            assert_eq!(length, None, "{compr_type}");
        }
        let long = [0; BLOCK_SIZE + 1];
        let length =
            compressors.decompress(&mut host, &mut clock, number::NONE, &long, &mut output);
        assert_eq!(length, None);
    }
}
