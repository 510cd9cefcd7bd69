//! Error correction codes, compression, checksums and byte orders of flash storage.
//!
//! Layer: rank 1; uses `sim` (tests only). In reading order:
//!
//! - [`byte_order`]: [`ByteOrder`], that of the CPU that wrote the flash.
//! - [`crc`]: [`crc::crc32`], the checksum of every on-flash node.
//! - [`hamming`]: Linux' software Hamming ECC, which corrects one bit in 256 or 512 bytes.
//! - [`bch`]: [`Bch`], Linux' software BCH ECC, which corrects up to `t` bits in a step.
//! - [`rtime`], [`zlib`], [`lzo`]: JFFS2's compressors (zlib and LZO are UBIFS' too); [`mod@zstd`]: the
//!   third of UBIFS.
//! - [`error`]: [`Error`], the errors of decoders.
//!
//! Decoders accept untrusted input: they neither panic on it nor write outside the slice given.
//! Compressors return `None` for incompressible data. Codecs that need memory or tables are reusable
//! objects, which do not allocate after their creation.
//!
//! ```
//! use boardlab_codec::{hamming, zlib};
//!
//! // A page that JFFS2 compresses, with room for a node of 1 KiB ...
//! let page: Vec<u8> = b"flash ".iter().copied().cycle().take(4096).collect();
//! let mut data = [0; 1024];
//! let done = zlib::Jffs2Deflate::new().compress(&page, &mut data).expect("it repeats");
//! assert_eq!(done.consumed, 4096);
//!
//! // ... goes to NAND with a code for each 256 bytes; a bit flips there.
//! let step = hamming::Step::Bytes256;
//! let code = hamming::calculate(step, &data[..256]);
//! data[100] ^= 0x10;
//! let calculated = hamming::calculate(step, &data[..256]);
//! let found = hamming::correct(step, &mut data[..256], code, calculated)?;
//! assert_eq!(found, hamming::Correction::Data { byte: 100, bit: 4 });
//!
//! let mut back = [0; 4096];
//! let length = zlib::Inflate::new().jffs2(&data[..done.produced], &mut back)?;
//! assert_eq!(back[..length], page);
//! # Ok::<(), boardlab_codec::Error>(())
//! ```

pub mod bch;
pub mod byte_order;
pub mod crc;
pub mod error;
pub mod hamming;
pub mod lzo;
pub mod rtime;
#[cfg(test)]
mod samples;
pub mod zlib;
pub mod zstd;

pub use bch::Bch;
pub use byte_order::ByteOrder;
pub use crc::crc32;
pub use error::Error;

/// The result of a compressor that consumes as much input as fits into its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CompressedSize {
    /// Bytes of the input that are in the output.
    pub consumed: usize,
    /// Bytes of the output.
    pub produced: usize,
}
