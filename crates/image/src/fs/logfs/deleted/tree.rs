//! Which blocks a deleted file had last.
//!
//! Layer: rank 7. Main function: [`last`]. Direct pointers of the inode are certain. A pointer in an indirect block may be
//! missing, because a pointer that changes is in the journal alone until its block is written again; and the journal forgets
//! it with the file. So a block that is left and that no pointer leads to was either written last, or was cut off. The inode
//! counts the bytes of all its objects, and that decides:
//!
//! ```text
//!  bytes of the inode = direct blocks + blocks with a pointer + so many of the newest blocks without + their indirect blocks
//! ```
//! What is cut off is written into the indirect block, so what has no pointer and is not cut off is newer. Where no number of
//! them fits, all are shown, and it is told.

use super::{Source, range};
use crate::deleted::{Layer, PieceSource};
use boardlab_logfs::format::object::HEADER_BYTES;
use boardlab_logfs::format::{
    BLOCK, BlockId, DIRECT, DiskInode, HEIGHT_MAX, POINTERS, inode::FLAG_COMPRESSED, offset_of,
    span,
};
use boardlab_logfs::remains::RemainingInode;
use boardlab_sim::Clock;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The age of what is certain: above that of all objects.
const CERTAIN: u64 = u64::MAX;
/// Bytes of an object of a whole block.
const WHOLE: u64 = HEADER_BYTES as u64 + BLOCK as u64;
/// The number of the first block with no direct pointer.
const FIRST: u64 = DIRECT as u64;

/// The layers of a file that was deleted with this inode, whose blocks of data are `data` in the order of their numbers and
/// ages; and whether its holes are known.
pub(super) fn last(
    source: &mut Source,
    clock: &mut Clock,
    inode: &RemainingInode,
    data: Range<usize>,
) -> (Vec<Layer>, bool) {
    let mut layers: Vec<Layer> = data.clone().map(|index| source.layer(index)).collect();
    let mut said =
        Said { ino: inode.ino, height: inode.disk.height.min(HEIGHT_MAX), blocks: BTreeSet::new() };
    if inode.disk.pointers[DIRECT] > 0 && said.height > 0 {
        let root = BlockId { ino: inode.ino, level: said.height, index: 0 };
        said.pointers(source, clock, root, offset_of(inode.disk.pointers[DIRECT]));
    }
    direct(source, &mut layers, &inode.disk, data.clone());
    let Some(blocks) = counted(source, &inode.disk, &said, data) else {
        return (layers, false);
    };
    let is_there = |layer: &Layer| {
        let block = layer.range.start / BLOCK as u64;
        block < FIRST || blocks.contains(&block)
    };
    layers.retain(is_there);
    let mut next = FIRST;
    for block in blocks.into_iter().chain([u64::MAX / BLOCK as u64]) {
        if block > next {
            layers.push(certain(next, block - next, true));
        }
        next = block + 1;
    }
    (layers, true)
}

/// So many blocks from one on are a hole, or what they had last is gone.
fn certain(first: u64, blocks: u64, is_hole: bool) -> Layer {
    let (version, range, index) = (CERTAIN, range(first, blocks), usize::MAX);
    Layer { version, range, is_good: is_hole, is_hole, index }
}

/// Adds what the direct pointers say.
fn direct(source: &Source, layers: &mut Vec<Layer>, disk: &DiskInode, data: Range<usize>) {
    let blocks = source.blocks[data].iter().filter(|block| block.is_good);
    let places: BTreeSet<(u64, u64)> = blocks.map(|block| (block.id.index, block.at)).collect();
    for (index, &pointer) in (0..).zip(&disk.pointers[..DIRECT]) {
        let is_hole = pointer == 0;
        if is_hole || !places.contains(&(index, offset_of(pointer))) {
            layers.push(certain(index, 1, is_hole));
        }
    }
}

/// The blocks that indirect blocks have pointers to.
struct Said {
    ino: u64,
    height: u8,
    blocks: BTreeSet<u64>,
}

impl Said {
    /// A block of pointers that is at `at`, or was written again later.
    fn pointers(&mut self, source: &mut Source, clock: &mut Clock, id: BlockId, at: u64) {
        let versions = versions(source, clock, id, at);
        let unused = if id.level == 1 && id.index == 0 { DIRECT } else { 0 };
        for slot in unused..POINTERS {
            let pointer = versions.iter().rev().map(|words| words[slot]).find(|&word| word > 0);
            let Some(pointer) = pointer else { continue };
            let index = id.index * POINTERS as u64 + slot as u64;
            if id.level > 1 {
                let child = BlockId { ino: self.ino, level: id.level - 1, index };
                self.pointers(source, clock, child, offset_of(pointer));
            } else {
                self.blocks.insert(index);
            }
        }
    }
}

/// The contents of a block of pointers from the one at `at` on; all that are left, if it is not there.
fn versions(source: &mut Source, clock: &mut Clock, id: BlockId, at: u64) -> Vec<Vec<u64>> {
    let start = source.blocks.partition_point(|block| block.id < id);
    let count = source.blocks[start..].partition_point(|block| block.id == id);
    let same = start..start + count;
    let first = same.clone().find(|&index| source.blocks[index].at == at);
    let later = first.unwrap_or(start)..same.end;
    let words = |bytes: Vec<u8>| {
        let words = bytes.chunks_exact(8);
        words.map(|word| u64::from_be_bytes(word.try_into().expect("eight bytes"))).collect()
    };
    later.filter_map(|index| source.read(clock, index).ok().map(words)).collect()
}

/// Blocks without a direct pointer, and the bytes of their objects with the indirect blocks above them.
struct Count {
    height: u8,
    /// The number of blocks below each indirect block.
    above: BTreeMap<(u8, u64), u64>,
    bytes: u64,
}

impl Count {
    fn add(&mut self, block: u64, stored: u64) {
        self.bytes = self.bytes.saturating_add(stored);
        for level in 1..=self.height {
            let below = self.above.entry((level, block / span(level))).or_default();
            *below += 1;
            if *below == 1 {
                self.bytes = self.bytes.saturating_add(WHOLE);
            }
        }
    }
}

/// The blocks without a direct pointer that the file had, if the bytes that its inode counts say so.
fn counted(
    source: &Source,
    disk: &DiskInode,
    said: &Said,
    data: Range<usize>,
) -> Option<BTreeSet<u64>> {
    // Of each block the newest object.
    let newest: BTreeMap<u64, (u64, u64)> = source.blocks[data]
        .iter()
        .map(|block| (block.id.index, (block.version, block.stored.into())))
        .collect();
    let stored = |block: u64| {
        // One that is gone had a whole block, unless it was compressed.
        let unknown = (disk.flags & FLAG_COMPRESSED == 0).then_some(WHOLE);
        newest.get(&block).map(|&(_, stored)| stored).or(unknown)
    };
    let mut count = Count { height: said.height, above: BTreeMap::new(), bytes: 0 };
    for (index, _) in (0..).zip(&disk.pointers[..DIRECT]).filter(|(_, pointer)| **pointer > 0) {
        count.bytes = count.bytes.saturating_add(stored(index)?);
    }
    for &block in &said.blocks {
        count.add(block, stored(block)?);
    }
    let is_unsaid =
        |block: &u64| (FIRST..span(said.height)).contains(block) && !said.blocks.contains(block);
    let mut unsaid: Vec<(u64, u64, u64)> = newest
        .into_iter()
        .filter(|(block, _)| is_unsaid(block))
        .map(|(block, (version, stored))| (version, block, stored))
        .collect();
    unsaid.sort_unstable();
    let mut blocks = said.blocks.clone();
    while count.bytes < disk.used
        && let Some((_, block, stored)) = unsaid.pop()
    {
        count.add(block, stored);
        blocks.insert(block);
    }
    (count.bytes == disk.used).then_some(blocks)
}
