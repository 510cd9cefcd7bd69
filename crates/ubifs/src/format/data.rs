//! The node of a block of file content.
//!
//! Layer: rank 5, format. Main type: [`Data`].
//!
//! ```text
//!  0       24   40    44          46          48
//!  | header | key | size | compressor | 0 or size | compressed bytes
//! ```
//! Source: Linux 6.1, `ubifs-media.h`, `struct ubifs_data_node`.

use super::bytes::{Reader, Writer};
use super::key::Key;
use super::{BLOCK_SIZE, Malformed, NodeType};

/// Bytes of the node before the data.
pub const SIZE: usize = 48;

/// A block of content, compressed or not, in the bytes of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// Its key: the inode and the number of the block.
    pub key: Key,
    /// Bytes of the content before compression.
    pub size: u32,
    /// The compressor (`UBIFS_COMPR_*`: 0 none, 1 LZO, 2 zlib, 3 zstd).
    pub compr_type: u16,
    /// The compressed size of encrypted blocks; else 0.
    pub compr_size: u16,
    /// The compressed bytes.
    pub data: &'a [u8],
}

impl<'a> Data<'a> {
    /// The node at the beginning of `bytes`; its checksum is not looked at.
    ///
    /// # Errors
    /// What [`super::Header::parse`] returns, [`Malformed::Short`], and [`Malformed::Field`] for a
    /// size of 0 or more than a block.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (mut fields, _) = Reader::of_node(bytes, NodeType::Data, SIZE)?;
        let (key, size) = (fields.node_key(), fields.u32());
        let (compr_type, compr_size) = (fields.u16(), fields.u16());
        if size == 0 || usize::try_from(size).is_ok_and(|size| size > BLOCK_SIZE) {
            return Err(Malformed::Field { name: "size", value: u64::from(size) });
        }
        Ok(Self { key, size, compr_type, compr_size, data: fields.rest() })
    }

    /// The bytes, without sequence number, group and checksum.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Writer::of_node(NodeType::Data, SIZE + self.data.len());
        out.node_key(self.key);
        out.u32(self.size);
        out.u16(self.compr_type);
        out.u16(self.compr_size);
        out.bytes(self.data);
        out.finish()
    }
}
