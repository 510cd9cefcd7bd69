//! Blocks in place of those of an image.
//!
//! Layer: rank 7. Main type: [`Patches`].

use boardlab_sim::Bytes;
use std::collections::BTreeMap;

/// Blocks in place of those of the file, each with its OOB bytes. Bytes that are in no block, and that no
/// file has, are erased.
#[derive(Debug, Clone)]
pub struct Patches {
    /// Where the first block begins in the file.
    at: u64,
    /// Bytes of a block in the file.
    raw: u64,
    /// By number; an erased one is empty.
    blocks: BTreeMap<u32, Vec<u8>>,
    /// Bytes of all of them.
    held: u64,
}

impl Patches {
    /// None, of blocks of `raw` bytes, of which the first begins at `at`.
    pub(crate) const fn new(at: Bytes, raw: Bytes) -> Self {
        Self { at: at.get(), raw: raw.get(), blocks: BTreeMap::new(), held: 0 }
    }

    /// How many blocks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The blocks, by number; an erased one is empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.blocks.iter().map(|(number, bytes)| (*number, bytes.as_slice()))
    }

    /// Bytes in memory.
    pub(crate) const fn bytes(&self) -> u64 {
        self.held
    }

    fn put(&mut self, block: u32, bytes: Vec<u8>) {
        self.held += bytes.len() as u64;
        if let Some(before) = self.blocks.insert(block, bytes) {
            self.held -= before.len() as u64;
        }
    }

    /// Erases a block.
    pub(crate) fn erase(&mut self, block: u32) {
        self.put(block, Vec::new());
    }

    /// Erases a block and programs `data` from its first byte on.
    pub(crate) fn replace(&mut self, block: u32, data: &[u8]) {
        let mut bytes = data.to_vec();
        bytes.resize(Bytes::new(self.raw).to_usize(), 0xFF);
        self.put(block, bytes);
    }

    /// Programs data in one block, `at` bytes from the first byte of the first block on: bits become 0. `file`
    /// fills a buffer with the bytes of the file at an offset, as far as there are any.
    pub(crate) fn program<E>(
        &mut self,
        at: Bytes,
        data: &[u8],
        file: impl FnOnce(Bytes, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let number = at.get() / self.raw;
        let block = u32::try_from(number).expect("blocks are counted in u32");
        let size = Bytes::new(self.raw).to_usize();
        if self.blocks.get(&block).is_none_or(Vec::is_empty) {
            let mut bytes = vec![0xFF; size];
            if !self.blocks.contains_key(&block) {
                file(Bytes::new(self.at + number * self.raw), &mut bytes)?;
            }
            self.put(block, bytes);
        }
        let bytes = self.blocks.entry(block).or_default();
        let start = Bytes::new(at.get() % self.raw).to_usize();
        bytes[start..].iter_mut().zip(data).for_each(|(old, new)| *old &= new);
        Ok(())
    }

    /// The bytes of a file of `length` bytes with these blocks in it: longer if something is programmed
    /// beyond its end.
    pub(crate) fn length_over(&self, length: u64) -> u64 {
        let programmed = |bytes: &[u8], from: u64| {
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            bytes.get(from..).is_some_and(|beyond| beyond.iter().any(|&byte| byte != 0xFF))
        };
        let ends = self.blocks.iter().rev().find_map(|(number, bytes)| {
            let start = self.at + u64::from(*number) * self.raw;
            let end = start + self.raw;
            programmed(bytes, length.saturating_sub(start)).then_some(end)
        });
        length.max(ends.unwrap_or(0))
    }

    /// The part of `offset..end` of the file that comes first: in one block, or between blocks. The bytes are
    /// `None` where they are those of the file, and empty where they are erased.
    pub(crate) fn piece(&self, offset: u64, end: u64) -> (u64, Option<&[u8]>) {
        let (at, raw) = (self.at, self.raw);
        if offset < at {
            return (end.min(at), None);
        }
        let number = (offset - at) / raw;
        let start = at + number * raw;
        let stop = end.min(start + raw);
        let block = u32::try_from(number).ok().and_then(|number| self.blocks.get(&number));
        let bytes = block.map(|bytes| {
            let within = |place: u64| usize::try_from(place - start).expect("within a block");
            if bytes.is_empty() { &[][..] } else { &bytes[within(offset)..within(stop)] }
        });
        (stop, bytes)
    }
}
