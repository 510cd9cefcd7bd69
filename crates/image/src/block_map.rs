//! How much each erase block of a file says: entropy, and the share of erased pages.
//!
//! Layer: rank 7. Main function: [`block_map`]; main types: [`BlockRun`], blocks of one kind behind each other;
//! [`BlockMap`]. The entropy is that of single bytes, 0 to 8 bits: compressed and encrypted data have nearly 8.

use crate::contents::Contents;
use crate::shape::Shape;
use boardlab_result::prose::float;
use boardlab_sim::Bytes;

/// The blocks that are looked at, each larger than an erase block if a file has more.
const BLOCKS: u64 = 16_384;
/// The bytes of a block of a file whose erase blocks are not known.
const BLOCK: Bytes = Bytes::kib(64);
/// The bytes of a page where there are none.
const PAGE: Bytes = Bytes::new(512);
/// The entropy from which on bytes are compressed or encrypted.
const DENSE: f64 = 7.8;
/// The share of printable bytes in text.
const TEXT: f64 = 0.97;

/// What the bytes of a block are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// 0xFF alone.
    Erased,
    /// Zeros alone.
    Zeros,
    /// Printable bytes.
    Text,
    /// Compressed or encrypted bytes.
    Dense,
    /// Anything else.
    Data,
}

impl BlockKind {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Erased => "erased",
            Self::Zeros => "zeros",
            Self::Text => "text",
            Self::Dense => "compressed or encrypted",
            Self::Data => "data",
        }
    }
}

/// A block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// Bits a byte of the bytes that are not in erased pages.
    pub entropy: f64,
    /// The share of erased pages.
    pub erased: f64,
    /// What its bytes are like.
    pub kind: BlockKind,
}

/// Blocks of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockRun {
    /// The number of the first one.
    pub first: u64,
    /// How many there are.
    pub count: u64,
    /// The means of entropy and of erased pages.
    pub mean: Block,
}

/// The blocks of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockMap {
    /// Bytes of a block in the file.
    pub size: Bytes,
    /// The blocks, in order.
    pub blocks: Vec<Block>,
}

/// Looks at all of `contents`, of a flash of this shape if that is known.
#[must_use]
pub fn block_map(contents: &Contents, shape: Option<Shape>) -> BlockMap {
    let raw = shape.map_or(BLOCK, |shape| shape.raw_block());
    let size = raw * contents.length().div_ceil(raw * BLOCKS).max(1);
    let (page, oob) =
        shape.filter(Shape::is_nand).map_or((PAGE, Bytes::ZERO), |shape| (shape.page, shape.oob));
    let mut blocks = Vec::new();
    let mut at = Bytes::ZERO;
    while at < contents.length() {
        let bytes = contents.window(at, size.to_usize());
        blocks.push(block(&bytes, page.to_usize(), (page + oob).to_usize()));
        at += size;
    }
    BlockMap { size, blocks }
}

/// Looks at the data of pages, `page` of every `raw` bytes.
fn block(bytes: &[u8], page: usize, raw: usize) -> Block {
    let (mut counts, mut pages, mut erased) = ([0_u32; 256], 0_u32, 0_u32);
    for bytes in bytes.chunks(raw) {
        let data = &bytes[..bytes.len().min(page)];
        pages += 1;
        if boardlab_mtd::is_erased(data) {
            erased += 1;
            continue;
        }
        data.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    }
    let all: u32 = counts.iter().sum();
    let share = |count: u32, of: u32| f64::from(count) / f64::from(of.max(1));
    let entropy: f64 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|&count| {
            let share = share(count, all);
            -share * share.log2()
        })
        .sum();
    let printable =
        (0_u8..=255).filter(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let printable: u32 = printable.map(|byte| counts[usize::from(byte)]).sum();
    let kind = match () {
        () if all == 0 => BlockKind::Erased,
        () if counts[0] == all => BlockKind::Zeros,
        () if share(printable, all) >= TEXT => BlockKind::Text,
        () if entropy >= DENSE => BlockKind::Dense,
        () => BlockKind::Data,
    };
    // A sum of nothing is a negative zero.
    Block { entropy: entropy.max(0.0), erased: share(erased, pages), kind }
}

impl BlockMap {
    /// Runs of blocks of one kind.
    #[must_use]
    pub fn runs(&self) -> Vec<BlockRun> {
        let mut runs: Vec<BlockRun> = Vec::new();
        for (number, block) in (0..).zip(&self.blocks) {
            match runs.last_mut() {
                Some(run) if run.mean.kind == block.kind => {
                    run.count += 1;
                    // Sums, until all are known.
                    run.mean.entropy += block.entropy;
                    run.mean.erased += block.erased;
                }
                _ => runs.push(BlockRun { first: number, count: 1, mean: *block }),
            }
        }
        for run in &mut runs {
            let count = float(run.count);
            run.mean.entropy /= count;
            run.mean.erased /= count;
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::Seed;

    #[test]
    fn blocks_are_told_apart_by_their_bytes() {
        let mut noise = vec![0; 65_536];
        Seed::new(1).stream("noise").fill(&mut noise);
        let text = b"a line of text\n".repeat(5_000)[..65_536].to_vec();
        let half = [
            vec![7; 16_384],
            (0..16_384_u32).map(|n| n.to_le_bytes()[0]).collect(),
            vec![0xFF; 32_768],
        ]
        .concat();
        let file = [vec![0xFF; 131_072], noise, text, vec![0; 65_536], half].concat();
        let map = block_map(&Contents::of(file), None);
        let runs = map.runs();
        let kinds: Vec<_> = runs.iter().map(|run| (run.mean.kind.words(), run.count)).collect();
        let known =
            [("erased", 2), ("compressed or encrypted", 1), ("text", 1), ("zeros", 1), ("data", 1)];
        assert_eq!(kinds, known);
        assert!(runs[1].mean.entropy > 7.99 && runs[2].mean.entropy < 4.0);
        assert!(
            (runs[4].mean.erased - 0.5).abs() < 1e-9 && (runs[4].mean.entropy - 5.0).abs() < 0.1
        );
        assert_eq!((runs[0].mean.entropy, runs[0].mean.erased), (0.0, 1.0));
    }

    #[test]
    fn spare_bytes_do_not_count() {
        let page = [vec![0; 2_048], vec![0x55; 64]].concat();
        let shape = Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(128));
        let map = block_map(&Contents::of(page.repeat(128)), Some(shape));
        assert_eq!((map.size, map.blocks.len()), (shape.raw_block(), 2));
        assert_eq!(map.runs()[0].mean.kind, BlockKind::Zeros);
    }
}
