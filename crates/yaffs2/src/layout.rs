//! The numbers that follow from the geometry of the flash and the place of the tags.
//!
//! Layer: rank 5. Main types: [`Layout`]; [`Chunk`], the number of a chunk in memory and in checkpoints.
//! YAFFS counts blocks from 1 where the flash begins with block 0, so that no chunk has the number 0, which
//! means none. Source: `yaffs_guts_ll_init` and `yaffs_guts_initialise` in `core/yaffs_guts.c`.

use crate::error::MountError;
use crate::format::summary::SummaryShape;
use crate::format::{BLOCK_CHUNKS_MAX, tags, tags1, to_u32, to_usize};
use crate::options::{Options, TagsPlace, Word};
use boardlab_mtd::{BlockIndex, Geometry, PageIndex};
use boardlab_sim::Bytes;

/// Entries of a lowest node of a tree, and of a higher one.
pub(crate) const LEAF: usize = 16;
pub(crate) const BRANCH: usize = 8;

/// The number of a chunk: that of its page, and the chunks of a block more. Zero is none.
pub type Chunk = u32;
/// The number of a block: that of the flash, and one more.
pub type Block = u32;

/// The numbers of a mounted flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of a page.
    pub page: usize,
    /// Data bytes of a chunk.
    pub chunk: usize,
    /// Chunks in a block.
    pub chunks_per_block: u32,
    /// Blocks.
    pub blocks: u32,
    /// Bits of an entry in a lowest node of a tree.
    pub entry_bits: u32,
    /// Bytes of a node in memory and in checkpoints.
    pub node: usize,
    /// The summary of a block; `None` where there is none.
    pub summary: Option<SummaryShape>,
}

impl Layout {
    /// The first block.
    pub const FIRST: Block = 1;

    /// The numbers of a flash of this geometry.
    ///
    /// # Errors
    /// All of [`MountError`] but [`MountError::Flash`].
    pub fn new(geometry: &Geometry, options: &Options) -> Result<Self, MountError> {
        let [region] = geometry.regions[..] else { return Err(MountError::NoPages) };
        let page = geometry.write_size;
        let pages = region.size / page;
        if page < Bytes::new(256) || !region.size.is_multiple_of(page) || pages < 2 {
            return Err(MountError::NoPages);
        }
        let available = geometry.oob.map_or(Bytes::ZERO, |oob| oob.available).get();
        check_page(page.get(), available, options.tags)?;
        let chunks_per_block =
            u32::try_from(pages).ok().filter(|&chunks| chunks <= BLOCK_CHUNKS_MAX).ok_or({
                MountError::LargeBlock { chunks: u32::try_from(pages).unwrap_or(u32::MAX) }
            })?;
        let least = options.reserved_blocks + 4;
        if region.count < least {
            return Err(MountError::FewBlocks { blocks: region.count, least });
        }
        let page = page.to_usize();
        let in_band = options.tags == TagsPlace::InBand;
        let chunk = if in_band { page - tags::SIZE } else { page };
        let summary = options.tags.is_yaffs2() && options.summary;
        let entry_bits = entry_bits(chunks_per_block, region.count);
        let pointers = match options.word {
            Word::Bits32 => 4 * BRANCH,
            Word::Bits64 => 8 * BRANCH,
        };
        Ok(Self {
            page,
            chunk,
            chunks_per_block,
            blocks: region.count,
            entry_bits,
            node: (to_usize(entry_bits) * LEAF / 8).max(pointers),
            summary: if summary { SummaryShape::new(chunks_per_block, chunk) } else { None },
        })
    }

    /// The last block.
    #[must_use]
    pub const fn last(&self) -> Block {
        self.blocks
    }

    /// All blocks.
    pub(crate) fn all(&self) -> std::ops::RangeInclusive<Block> {
        Self::FIRST..=self.last()
    }

    /// The chunk at `page` of `block`.
    #[must_use]
    pub const fn chunk_of(&self, block: Block, page: u32) -> Chunk {
        block * self.chunks_per_block + page
    }

    /// The block of a chunk, and its page in it.
    #[must_use]
    pub const fn place(&self, chunk: Chunk) -> (Block, u32) {
        (chunk / self.chunks_per_block, chunk % self.chunks_per_block)
    }

    /// Whether a chunk lies within the flash.
    #[must_use]
    pub const fn has(&self, chunk: Chunk) -> bool {
        let block = chunk / self.chunks_per_block;
        block >= Self::FIRST && block <= self.last()
    }

    /// The page of a chunk.
    #[must_use]
    pub const fn page_of(&self, chunk: Chunk) -> PageIndex {
        PageIndex(chunk - self.chunks_per_block)
    }

    /// The block of the flash.
    #[must_use]
    pub const fn block_of(block: Block) -> BlockIndex {
        BlockIndex(block - Self::FIRST)
    }

    /// The chunk of a file at an offset, counted from 0, and the offset in it.
    #[must_use]
    pub fn split(&self, offset: u64) -> (u64, usize) {
        let chunk = Bytes::new(self.chunk as u64).get();
        let within = usize::try_from(offset % chunk).expect("less than a chunk");
        (offset / chunk, within)
    }

    /// Bytes of a chunk, for sizes of files.
    #[must_use]
    pub const fn chunk_bytes(&self) -> u64 {
        self.chunk as u64
    }
}

/// The bits of an entry that can name every chunk: an even number from 16 on, so that nodes are whole words.
fn entry_bits(chunks_per_block: u32, blocks: u32) -> u32 {
    let chunks = u64::from(chunks_per_block) * (u64::from(blocks) + 1);
    let bits = chunks.next_power_of_two().trailing_zeros();
    bits.next_multiple_of(2).max(16)
}

fn check_page(page: u64, available: u64, place: TagsPlace) -> Result<(), MountError> {
    let needed = match place {
        TagsPlace::Oob { ecc: true } => tags::PROTECTED,
        TagsPlace::Oob { ecc: false } => tags::SIZE,
        TagsPlace::InBand => 0,
        TagsPlace::Yaffs1(tags1::Layout1::Around) => tags1::SPARE,
        TagsPlace::Yaffs1(tags1::Layout1::Packed) => tags1::SIZE,
    };
    let needed = u64::from(to_u32(needed));
    match place {
        TagsPlace::Yaffs1(_) if page != 512 => Err(MountError::Yaffs1Page { page }),
        TagsPlace::Oob { .. } if page < 1_024 => Err(MountError::SmallPage { page, least: 1_024 }),
        TagsPlace::InBand if page < 1_024 => Err(MountError::SmallPage { page, least: 1_024 }),
        _ if available < needed => Err(MountError::NoRoomForTags { available, needed }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flash_of_256_mib_has_entries_of_18_bits() {
        assert_eq!(entry_bits(64, 2_048), 18);
        assert_eq!(entry_bits(64, 256), 16);
        assert_eq!(entry_bits(64, 4_096), 20);
        assert_eq!(entry_bits(32, 16), 16);
    }
}
