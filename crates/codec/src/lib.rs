//! Error correction codes, compression, checksums and numbers of flash storage.
//!
//! Layer: rank 1; uses `sim` (tests only). In reading order:
//!
//! - [`byte_order`]: [`ByteOrder`], that of the CPU that wrote the flash.
//! - [`crc`]: [`crc::crc32`], the check sum of every on-flash node.
//! - [`hamming`]: one wrong bit in 256 or 512 bytes, Linux' software ECC.
//! - [`bch`]: [`Bch`], up to `t` wrong bits in a step, Linux' software BCH.
//! - [`rtime`], [`zlib`], [`lzo`]: JFFS2's compressors (zlib and LZO are UBIFS' too).
//! - [`error`]: [`Error`], why there is no answer.
//!
//! Every decoder takes untrusted bytes: it never panics on them, and never writes outside the slice
//! that it is given. Compressors that may give up answer `None`. What is expensive to make is an object
//! that is used again; none of them allocates while it works.
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
pub mod zlib;

pub use bch::Bch;
pub use byte_order::ByteOrder;
pub use crc::crc32;
pub use error::Error;

/// What a compressor did that takes as much input as fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Compressed {
    /// Bytes of the input that are in the output.
    pub consumed: usize,
    /// Bytes of the output.
    pub produced: usize,
}
