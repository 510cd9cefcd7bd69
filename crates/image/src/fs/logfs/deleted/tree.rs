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
//! What is cut off is written into the indirect block, so what has no pointer and is not cut off is newer. That holds where
//! all indirect blocks are there; where one is not, only all of the blocks can be right. Where no number of them fits, all are
//! shown, and it is told.

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

/// What is known of the holes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holes {
    /// Where they are.
    Known,
    /// Each may be a block that is gone.
    Unknown,
    /// What was cut off may be in their place.
    Filled,
}

/// The layers of a file that was deleted with this inode, whose blocks of data are `data` in the order of their numbers and
/// ages; and what is known of its holes.
pub(super) fn last(
    source: &mut Source,
    clock: &mut Clock,
    inode: &RemainingInode,
    data: Range<usize>,
) -> (Vec<Layer>, Holes) {
    let mut layers: Vec<Layer> = data.clone().map(|index| source.layer(index)).collect();
    let mut said = Said {
        ino: inode.ino,
        height: inode.disk.height.min(HEIGHT_MAX),
        blocks: BTreeSet::new(),
        is_whole: true,
    };
    if inode.disk.pointers[DIRECT] > 0 && said.height > 0 {
        let root = BlockId { ino: inode.ino, level: said.height, index: 0 };
        said.pointers(source, clock, root, offset_of(inode.disk.pointers[DIRECT]));
    }
    direct(source, &mut layers, &inode.disk, data.clone());
    let Some((blocks, is_certain)) = counted(source, &inode.disk, &said, data) else {
        return (layers, Holes::Filled);
    };
    let is_there = |layer: &Layer| {
        let block = layer.range.start / BLOCK as u64;
        block < FIRST || blocks.contains(&block)
    };
    layers.retain(is_there);
    if !is_certain {
        return (layers, Holes::Unknown);
    }
    let mut next = FIRST;
    for block in blocks.into_iter().chain([u64::MAX / BLOCK as u64]) {
        if block > next {
            layers.push(certain(next, block - next, true));
        }
        next = block + 1;
    }
    (layers, Holes::Known)
}

/// So many blocks from one on are a hole, or what they had last is gone.
fn certain(first: u64, blocks: u64, is_hole: bool) -> Layer {
    let (version, range, index) = (CERTAIN, range(first, blocks), usize::MAX);
    Layer { version, range, is_good: is_hole, is_hole, index }
}

/// Adds what the direct pointers say.
fn direct(source: &Source, layers: &mut Vec<Layer>, disk: &DiskInode, data: Range<usize>) {
    let mut places: BTreeMap<(u64, u64), &mut Layer> = layers
        .iter_mut()
        .zip(&source.blocks[data])
        .filter(|(_, block)| block.is_good)
        .map(|(layer, block)| ((block.id.index, block.at), layer))
        .collect();
    let mut others = Vec::new();
    for (index, &pointer) in (0..).zip(&disk.pointers[..DIRECT]) {
        match places.get_mut(&(index, offset_of(pointer))).filter(|_| pointer > 0) {
            // Another file that had the number later may have newer ones.
            Some(layer) => layer.version = CERTAIN,
            None => others.push(certain(index, 1, pointer == 0)),
        }
    }
    layers.extend(others);
}

/// The blocks that indirect blocks have pointers to.
struct Said {
    ino: u64,
    height: u8,
    blocks: BTreeSet<u64>,
    /// Whether every indirect block is where the pointer to it leads.
    is_whole: bool,
}

impl Said {
    /// A block of pointers that is at `at`, or was written again later.
    fn pointers(&mut self, source: &mut Source, clock: &mut Clock, id: BlockId, at: u64) {
        let (words, is_there) = newest_words(source, clock, id, at);
        self.is_whole &= is_there;
        let unused = if id.level == 1 && id.index == 0 { DIRECT } else { 0 };
        for (slot, &word) in words.iter().enumerate().skip(unused) {
            let pointer = Some(word).filter(|&word| word > 0);
            let index = id.index * POINTERS as u64 + slot as u64;
            let child = BlockId { ino: self.ino, level: id.level - 1, index };
            match pointer {
                Some(_) if child.level == 0 => drop(self.blocks.insert(index)),
                Some(pointer) => self.pointers(source, clock, child, offset_of(pointer)),
                None => self.is_whole &= child.level == 0 || all_of(source, child).is_empty(),
            }
        }
    }
}

/// The objects of a block, in the order of their ages.
fn all_of(source: &Source, id: BlockId) -> Range<usize> {
    let start = source.blocks.partition_point(|block| block.id < id);
    start..start + source.blocks[start..].partition_point(|block| block.id == id)
}

/// The newest pointers of a block from the one at `at` on, and whether that is there; else of all that are left.
fn newest_words(source: &mut Source, clock: &mut Clock, id: BlockId, at: u64) -> (Vec<u64>, bool) {
    let same = all_of(source, id);
    let is_it = |&index: &usize| source.blocks[index].at == at && source.blocks[index].is_good;
    let first = same.clone().find(is_it);
    let later = first.unwrap_or(same.start)..same.end;
    let mut words = vec![0; POINTERS];
    for index in later {
        let bytes = source.read(clock, index).unwrap_or_default();
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            let newer = u64::from_be_bytes(bytes.try_into().expect("eight bytes"));
            if newer > 0 {
                *word = newer;
            }
        }
    }
    (words, first.is_some())
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

/// The blocks without a direct pointer that the file had, if the bytes that its inode counts say so; and whether no others
/// are left.
fn counted(
    source: &Source,
    disk: &DiskInode,
    said: &Said,
    data: Range<usize>,
) -> Option<(BTreeSet<u64>, bool)> {
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
    // One that was cut off has the size of one that is gone.
    let is_certain = unsaid.is_empty();
    let is_right = count.bytes == disk.used && (said.is_whole || is_certain);
    is_right.then_some((blocks, is_certain))
}
