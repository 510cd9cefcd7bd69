//! Padding: a node, or bytes of 0xCE where it does not fit.
//!
//! Layer: rank 5, format. Main types: [`Padding`], [`pad`].
//!
//! ```text
//!  0       24            28
//!  | header | bytes behind | zeros
//! ```
//! Source: Linux 6.1, `fs/ubifs/io.c`, `ubifs_pad`.

use super::bytes::{Reader, Writer, u32_of};
use super::{Malformed, NodeType, seal};

/// Bytes of a padding node.
pub const SIZE: usize = 28;
/// The byte that pads where no padding node fits.
pub const BYTE: u8 = 0xCE;

/// A padding node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Padding {
    /// How many bytes behind the node are unused.
    pub pad_len: u32,
}

impl Padding {
    /// The node at the beginning of `bytes`; its checksum is not looked at.
    ///
    /// # Errors
    /// What [`super::Header::parse`] returns, and [`Malformed::Short`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (mut fields, _) = Reader::of_node(bytes, NodeType::Padding, SIZE)?;
        Ok(Self { pad_len: fields.u32() })
    }

    /// The bytes, without checksum; a padding node has no sequence number.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Writer::of_node(NodeType::Padding, SIZE);
        out.u32(self.pad_len);
        out.finish()
    }
}

/// Fills `bytes` with a padding node and zeros, or where no node fits with [`BYTE`].
pub fn pad(bytes: &mut [u8]) {
    let Some(rest) = bytes.len().checked_sub(SIZE) else {
        bytes.fill(BYTE);
        return;
    };
    let mut node = Padding { pad_len: u32_of(rest) }.emit();
    seal(&mut node);
    bytes[..SIZE].copy_from_slice(&node);
    bytes[SIZE..].fill(0);
}
