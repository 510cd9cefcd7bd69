//! The contents of a device's blocks, in compact form.
//!
//! Layer: rank 2. Main type: [`Contents`]. A device of 16 GB written with a repeated byte or with
//! described noise takes a few megabytes; actual bytes are stored in chunks of [`CHUNK`] where they
//! are written. A clone shares all chunks until one side changes them. [`Contents::none`] stores
//! nothing, for runs in which only the time matters.

use crate::extent::Extent;
use crate::geometry::Geometry;
use crate::request::{Noise, Payload};
use boardlab_sim::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// The unit of bookkeeping, at least a logical block.
pub const CHUNK: Bytes = Bytes::kib(64);

/// The contents of a block, described without bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Repeated(u8),
    Noise(Noise),
}

/// The contents of a chunk.
#[derive(Debug, Clone)]
enum Chunk {
    /// All blocks have the same description.
    Whole(Cell),
    /// Each block has its own description.
    Described(Arc<[Cell]>),
    /// Bytes.
    Bytes(Arc<[u8]>),
}

/// The contents of the blocks of a device.
#[derive(Debug, Clone)]
pub struct Contents {
    block: Bytes,
    /// The number of blocks per chunk.
    blocks: u64,
    /// Empty if nothing is stored.
    chunks: Vec<Chunk>,
    /// The value of bytes that were never written.
    initial: u8,
}

impl Contents {
    /// The contents of a device of this geometry, all bytes `initial`.
    #[must_use]
    pub fn new(geometry: &Geometry, initial: u8) -> Self {
        let blocks = (CHUNK / geometry.block).max(1);
        let count = geometry.count.div_ceil(blocks);
        let count = usize::try_from(count).expect("chunks of a device fit memory");
        let chunks = vec![Chunk::Whole(Cell::Repeated(initial)); count];
        Self { block: geometry.block, blocks, chunks, initial }
    }

    /// Contents that store nothing: every read returns zeros.
    #[must_use]
    pub fn none(geometry: &Geometry) -> Self {
        Self { block: geometry.block, blocks: 1, chunks: Vec::new(), initial: 0 }
    }

    /// Whether the contents are stored.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// The parts of an extent that lie in one chunk each: chunk, first block, blocks within it.
    fn by_chunk(&self, extent: Extent) -> impl Iterator<Item = (usize, u64, Range<usize>)> + use<> {
        let (range, unit) = (extent.blocks(), self.blocks);
        let mut next = range.start;
        std::iter::from_fn(move || {
            let first = next;
            let chunk = first / unit;
            let end = ((chunk + 1) * unit).min(range.end);
            next = end;
            let within = index(first % unit)..index(end - chunk * unit);
            (first < end).then(|| (index(chunk), first, within))
        })
    }

    /// Writes blocks that lie within the device.
    ///
    /// # Panics
    /// When they do not, or when given bytes are not as many as the blocks hold.
    pub fn write(&mut self, extent: Extent, data: Payload<'_>) {
        if !self.is_kept() {
            return;
        }
        match data {
            Payload::Repeated(byte) => self.describe(extent, Cell::Repeated(byte)),
            Payload::Noise(noise) => self.describe(extent, Cell::Noise(noise)),
            Payload::Bytes(bytes) => self.write_bytes(extent, bytes),
        }
    }

    fn describe(&mut self, extent: Extent, cell: Cell) {
        let (unit, block) = (index(self.blocks), self.block.to_usize());
        for (number, first, within) in self.by_chunk(extent) {
            let chunk = &mut self.chunks[number];
            if within.len() == unit {
                *chunk = Chunk::Whole(cell);
                continue;
            }
            match chunk {
                Chunk::Whole(old) if *old == cell => {}
                Chunk::Whole(old) => {
                    let mut cells = vec![*old; unit];
                    cells[within].fill(cell);
                    *chunk = Chunk::Described(cells.into());
                }
                Chunk::Described(cells) => Arc::make_mut(cells)[within].fill(cell),
                Chunk::Bytes(bytes) => {
                    let bytes = &mut Arc::make_mut(bytes)[bytes_of(within, block)];
                    let blocks = bytes.chunks_mut(block);
                    (first..).zip(blocks).for_each(|(number, bytes)| cell.fill(number, bytes));
                }
            }
        }
    }

    fn write_bytes(&mut self, extent: Extent, bytes: &[u8]) {
        let block = self.block.to_usize();
        assert_eq!(bytes.len(), index(extent.count) * block, "Contents: a buffer of another size");
        let mut rest = bytes;
        for (number, _, within) in self.by_chunk(extent) {
            let (part, after) = rest.split_at(within.len() * block);
            self.bytes_mut(number)[bytes_of(within, block)].copy_from_slice(part);
            rest = after;
        }
    }

    /// The bytes of a chunk, converted from a description and unshared.
    fn bytes_mut(&mut self, number: usize) -> &mut [u8] {
        if !matches!(self.chunks[number], Chunk::Bytes(_)) {
            let mut bytes = vec![0; index(self.blocks) * self.block.to_usize()];
            self.copy_out(number, 0..index(self.blocks), &mut bytes);
            self.chunks[number] = Chunk::Bytes(bytes.into());
        }
        let Chunk::Bytes(bytes) = &mut self.chunks[number] else {
            unreachable!("the chunk was made bytes just now")
        };
        Arc::make_mut(bytes)
    }

    fn copy_out(&self, number: usize, within: Range<usize>, buffer: &mut [u8]) {
        let block = self.block.to_usize();
        let start = u64::try_from(number).expect("u64 holds usize") * self.blocks;
        let numbers = within.clone().map(|at| start + u64::try_from(at).expect("u64 holds usize"));
        let blocks = numbers.zip(buffer.chunks_mut(block));
        match &self.chunks[number] {
            Chunk::Bytes(bytes) => buffer.copy_from_slice(&bytes[bytes_of(within, block)]),
            Chunk::Whole(cell) => blocks.for_each(|(number, bytes)| cell.fill(number, bytes)),
            Chunk::Described(cells) => {
                let cells = cells[within].iter();
                blocks.zip(cells).for_each(|((number, bytes), cell)| cell.fill(number, bytes));
            }
        }
    }

    /// Reads blocks that lie within the device into a buffer of their size.
    ///
    /// # Panics
    /// When they do not, or the buffer has another size.
    pub fn read(&self, extent: Extent, buffer: &mut [u8]) {
        if !self.is_kept() {
            return buffer.fill(self.initial);
        }
        let block = self.block.to_usize();
        assert_eq!(buffer.len(), index(extent.count) * block, "Contents: a buffer of another size");
        let mut rest = buffer;
        for (number, _, within) in self.by_chunk(extent) {
            let (part, after) = rest.split_at_mut(within.len() * block);
            self.copy_out(number, within, part);
            rest = after;
        }
    }

    /// The blocks whose contents differ from those in `before`, an earlier clone, in order. Chunks
    /// that both still share are skipped.
    ///
    /// # Panics
    /// When `before` is of another shape.
    pub fn changed_since<'c>(&'c self, before: &'c Self) -> impl Iterator<Item = u64> + 'c {
        let shape = |contents: &Self| (contents.block, contents.blocks, contents.chunks.len());
        assert_eq!(shape(self), shape(before), "Contents: a device of another shape");
        let chunks = self.chunks.iter().zip(&before.chunks).enumerate();
        let changed = chunks.filter(|(_, (now, then))| !now.is_surely(then));
        changed.flat_map(|(number, _)| self.changed_blocks(before, number))
    }

    /// The blocks of one chunk that differ.
    fn changed_blocks(&self, before: &Self, number: usize) -> Vec<u64> {
        let (block, count) = (self.block.to_usize(), index(self.blocks));
        let [now, then] = [self, before].map(|contents| {
            let mut bytes = vec![0; count * block];
            contents.copy_out(number, 0..count, &mut bytes);
            bytes
        });
        let first = u64::try_from(number).expect("u64 holds usize") * self.blocks;
        let pairs = (first..).zip(now.chunks(block).zip(then.chunks(block)));
        pairs.filter(|(_, (now, then))| now != then).map(|(number, _)| number).collect()
    }

    /// The memory of the contents in bytes; shared chunks are counted in full.
    #[must_use]
    pub fn memory(&self) -> Bytes {
        let whole = std::mem::size_of::<Chunk>() * self.chunks.len();
        let more = self.chunks.iter().map(|chunk| match chunk {
            Chunk::Whole(_) => 0,
            Chunk::Described(cells) => std::mem::size_of_val(&**cells),
            Chunk::Bytes(bytes) => bytes.len(),
        });
        Bytes::new(u64::try_from(whole + more.sum::<usize>()).expect("u64 holds usize"))
    }
}

impl Chunk {
    /// Whether both are known to be equal without comparing bytes.
    fn is_surely(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one == other,
            (Self::Described(one), Self::Described(other)) => Arc::ptr_eq(one, other),
            (Self::Bytes(one), Self::Bytes(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Cell {
    fn fill(self, number: u64, bytes: &mut [u8]) {
        match self {
            Self::Repeated(byte) => bytes.fill(byte),
            Self::Noise(noise) => noise.fill(number, bytes),
        }
    }
}

fn index(count: u64) -> usize {
    usize::try_from(count).expect("blocks of a device fit memory")
}

fn bytes_of(blocks: Range<usize>, block: usize) -> Range<usize> {
    blocks.start * block..blocks.end * block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents() -> (Geometry, Contents) {
        let geometry = Geometry::of_size(Bytes::kib(200));
        let contents = Contents::new(&geometry, 0xFF);
        (geometry, contents)
    }

    fn read(contents: &Contents, extent: Extent) -> Vec<u8> {
        let mut buffer = vec![0; index(extent.count) * 512];
        contents.read(extent, &mut buffer);
        buffer
    }

    #[test]
    fn bytes_survive_across_chunks_and_beside_descriptions() {
        let (geometry, mut contents) = contents();
        let bytes: Vec<u8> = (0..=255).cycle().take(512 * 4).collect();
        contents.write(Extent::new(120, 20), Payload::Noise(Noise::new(9)));
        contents.write(Extent::new(126, 4), Payload::Bytes(&bytes));
        contents.write(Extent::new(127, 1), Payload::Repeated(3));
        let mut expected = vec![0; 512 * 20];
        Payload::Noise(Noise::new(9)).copy_to(&geometry, Extent::new(120, 20), &mut expected);
        expected[512 * 6..512 * 10].copy_from_slice(&bytes);
        expected[512 * 7..512 * 8].fill(3);
        assert_eq!(read(&contents, Extent::new(120, 20)), expected);
        assert_eq!(read(&contents, Extent::new(399, 1)), [0xFF; 512]);
    }

    #[test]
    fn what_is_described_takes_little_memory() {
        let geometry = Geometry::of_size(Bytes::mib(16 * 1_024));
        let mut contents = Contents::new(&geometry, 0);
        contents.write(geometry.whole(), Payload::Noise(Noise::new(1)));
        assert!(contents.memory() < Bytes::mib(9), "{}", contents.memory());
    }

    #[test]
    fn a_clone_keeps_what_was_there() {
        let (_, mut contents) = contents();
        let before = contents.clone();
        contents.write(Extent::new(0, 1), Payload::Bytes(&[1; 512]));
        let between = contents.clone();
        contents.write(Extent::new(0, 1), Payload::Repeated(2));
        assert_eq!(read(&before, Extent::new(0, 1)), [0xFF; 512]);
        assert_eq!(read(&between, Extent::new(0, 1)), [1; 512]);
        assert_eq!(read(&contents, Extent::new(0, 1)), [2; 512]);
    }

    #[test]
    fn blocks_that_changed_are_told_and_those_written_with_the_same_are_not() {
        let (_, mut contents) = contents();
        contents.write(Extent::new(0, 130), Payload::Bytes(&[7; 512 * 130]));
        let before = contents.clone();
        assert_eq!(contents.changed_since(&before).count(), 0);
        contents.write(Extent::new(126, 4), Payload::Bytes(&[8; 512 * 4]));
        contents.write(Extent::new(5, 1), Payload::Bytes(&[7; 512]));
        contents.write(Extent::new(399, 1), Payload::Repeated(0));
        contents.write(Extent::new(300, 20), Payload::Repeated(0xFF));
        let changed: Vec<u64> = contents.changed_since(&before).collect();
        assert_eq!(changed, [126, 127, 128, 129, 399]);
        contents.write(Extent::new(126, 4), Payload::Bytes(&[7; 512 * 4]));
        assert_eq!(contents.changed_since(&before).collect::<Vec<_>>(), [399]);
    }

    #[test]
    fn contents_that_keep_nothing_read_as_zeros() {
        let mut contents = Contents::none(&Geometry::of_size(Bytes::kib(4)));
        contents.write(Extent::new(0, 1), Payload::Bytes(&[1; 512]));
        assert_eq!(read(&contents, Extent::new(0, 1)), [0; 512]);
        assert!(contents.memory().is_zero());
    }
}
