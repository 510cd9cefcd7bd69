//! The block summary: the tags of a block once more, in its last chunks.
//!
//! Layer: rank 5, format. Main types: [`SummaryShape`], [`Entry`]. The chunks of a summary have the tags of an
//! object [`SUMMARY`](super::SUMMARY), chunks 1 and up. Each begins with this header:
//!
//! ```text
//!  0         4       8          12    16
//!  | version | block | sequence | sum | object, chunk, bytes of each chunk of the block: 12 bytes
//! ```
//! The entries have the encoding of [`tags`](super::tags); an entry without an object says nothing. The sum
//! adds up all bytes of all entries.
//!
//! Source: `core/yaffs_summary.c`.

use super::{ByteOrder, Tags, to_u32, to_usize};

/// The version that is written.
pub const VERSION: u32 = 1;
/// Bytes of the header of each chunk.
pub const HEADER: usize = 16;
/// Bytes of an entry.
pub const ENTRY: usize = 12;

/// Where the summary of a block lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryShape {
    /// Chunks that a summary describes: those before it.
    pub described: u32,
    /// Chunks that it takes.
    pub chunks: u32,
    /// Bytes of entries in a chunk.
    pub payload: usize,
}

impl SummaryShape {
    /// The summary of blocks of `chunks_per_block` chunks of `chunk` bytes; `None` if it fills them.
    #[must_use]
    pub fn new(chunks_per_block: u32, chunk: usize) -> Option<Self> {
        let payload = chunk.checked_sub(HEADER).filter(|&payload| payload > 0)?;
        let chunks = to_u32((to_usize(chunks_per_block) * ENTRY + chunk - 1) / payload);
        let described = chunks_per_block.checked_sub(chunks).filter(|&count| count > 0)?;
        Some(Self { described, chunks, payload })
    }

    /// Bytes of all entries.
    #[must_use]
    pub fn bytes(&self) -> usize {
        to_usize(self.described) * ENTRY
    }
}

/// The header of each chunk of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryHeader {
    /// The version.
    pub version: u32,
    /// The block, counted as checkpoints do.
    pub block: u32,
    /// The sequence number of the block.
    pub sequence: u32,
    /// The sum of all bytes of the entries.
    pub sum: u32,
}

impl SummaryHeader {
    /// The header in the first [`HEADER`] of `bytes`.
    ///
    /// # Panics
    /// When there are fewer.
    #[must_use]
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Self {
        let field = |at: usize| order.get32(bytes, at..at + 4);
        Self { version: field(0), block: field(4), sequence: field(8), sum: field(12) }
    }

    /// Writes the header into the first [`HEADER`] of `bytes`.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn emit(&self, bytes: &mut [u8], order: ByteOrder) {
        let fields = [self.version, self.block, self.sequence, self.sum];
        for (at, field) in fields.into_iter().enumerate() {
            order.put32(bytes, at * 4..at * 4 + 4, field);
        }
    }
}

/// The sum of the bytes of all entries.
#[must_use]
pub fn sum(entries: &[u8]) -> u32 {
    entries.iter().fold(0, |sum: u32, &byte| sum.wrapping_add(u32::from(byte)))
}

/// The entry of a chunk with these tags.
#[must_use]
pub fn entry(tags: &Tags, order: ByteOrder) -> [u8; ENTRY] {
    tags.emit(order)[4..].try_into().expect("the last 12 of 16 bytes")
}

/// The tags that an entry describes; `None` where it says nothing.
///
/// # Panics
/// When the entry is not [`ENTRY`] bytes long.
#[must_use]
pub fn tags(entry: &[u8], sequence: u32, order: ByteOrder) -> Option<Tags> {
    let mut packed = [0; super::tags::SIZE];
    packed[4..].copy_from_slice(entry);
    let tags = Tags::parse(&packed, order).filter(|tags| tags.object != 0)?;
    Some(Tags { sequence, ..tags })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_64_chunks_of_2_kib_has_a_summary_of_one() {
        let shape = SummaryShape::new(64, 2_048).unwrap();
        assert_eq!((shape.described, shape.chunks, shape.bytes() + HEADER), (63, 1, 0x304));
        assert_eq!(SummaryShape::new(256, 2_048).unwrap().chunks, 2);
        assert_eq!(SummaryShape::new(1, 512), None);
        assert_eq!(SummaryShape::new(8, 16), None);
    }

    #[test]
    fn entries_are_tags_without_the_sequence_number() {
        let tags_of = Tags { sequence: 9, object: 257, chunk: 4, bytes: 7, ..Tags::default() };
        let bytes = entry(&tags_of, ByteOrder::Little);
        assert_eq!(bytes, [1, 1, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(tags(&bytes, 9, ByteOrder::Little), Some(tags_of));
        assert_eq!(tags(&[0; 12], 9, ByteOrder::Little), None);
        assert_eq!(sum(&bytes), 1 + 1 + 4 + 7);
    }
}
