//! The data of a file without its OOB bytes.
//!
//! Layer: rank 7. Main type: [`FlashData`]. Data that are asked for are corrected; blocks that are looked over are
//! not.

use crate::contents::Contents;
use crate::dump::Dump;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};

/// The data of a file.
#[derive(Debug)]
pub(crate) struct FlashData {
    contents: Contents,
    /// Where the flash begins in the file.
    start: Bytes,
    /// Of a file with OOB bytes.
    dump: Option<Box<Dump>>,
    shape: Option<Shape>,
    length: Bytes,
}

impl FlashData {
    /// The data of `contents`, of a flash of this shape if that is known, which begins at `start`.
    pub(crate) fn of(
        contents: &Contents,
        start: Bytes,
        shape: Option<Shape>,
        spare: Option<Spare>,
    ) -> Self {
        let with_oob = shape.filter(|shape| !shape.oob.is_zero());
        let Some(shape) = with_oob else {
            let (length, contents) = (contents.length(), contents.clone());
            return Self { contents, start: Bytes::ZERO, dump: None, shape, length };
        };
        let start = Bytes::new(start.get() % shape.raw_block().get());
        let contents = contents.from(start);
        let length = shape.page * (contents.length() / shape.raw_page());
        let spare = spare.or_else(|| Some(Spare::uncorrected(shape, None)));
        let dump = Dump::with_spare(contents.clone(), shape, spare).ok().map(Box::new);
        Self { contents, start, dump, shape: Some(shape), length }
    }

    pub(crate) fn length(&self) -> Bytes {
        self.length
    }

    pub(crate) fn has_oob(&self) -> bool {
        self.dump.is_some()
    }

    /// The data bytes of an erase block, where they are known.
    pub(crate) fn block(&self) -> Option<Bytes> {
        self.shape.map(|shape| shape.block)
    }

    /// The steps of a walk: erase blocks of a NAND, else `smallest`, or more if that would be too many.
    pub(crate) fn step(&self, smallest: u64, most: u64) -> Bytes {
        let nand = self.shape.filter(|shape| shape.is_nand() && !shape.oob.is_zero());
        let block = nand.map_or(smallest, |shape| shape.block.get());
        let least = self.length.get().div_ceil(most).next_multiple_of(block.max(1));
        Bytes::new(block.max(least))
    }

    /// The place in the file of an offset of the data.
    pub(crate) fn in_file(&self, at: Bytes) -> Bytes {
        let with_oob = self.shape.filter(|_| self.has_oob());
        self.start + with_oob.map_or(at, |shape| shape.in_file(at))
    }

    /// The offset of the data of a place in the file; `None` for an OOB byte.
    pub(crate) fn of_file(&self, at: Bytes) -> Option<Bytes> {
        let at = Bytes::new(at.get().checked_sub(self.start.get())?);
        match self.shape.filter(|_| self.has_oob()) {
            Some(shape) => shape.in_flash(at),
            None => Some(at),
        }
    }

    /// Data from `at` on, as many as there are, corrected if that is possible.
    pub(crate) fn read(&mut self, at: Bytes, length: usize) -> Vec<u8> {
        let left = self.length - at.min(self.length);
        let length = left.min(Bytes::new(length as u64)).to_usize();
        let Some(dump) = &mut self.dump else { return self.contents.window(at, length) };
        let mut bytes = vec![0; length];
        // What is uncorrectable is there as it is.
        drop(dump.read(&mut Clock::new(), at, &mut bytes));
        bytes
    }

    /// The bytes of the file in which the data from `at` on are, with the OOB bytes between them.
    pub(crate) fn stored(&self, at: Bytes, length: Bytes) -> Vec<u8> {
        let end = (at + length).min(self.length);
        let (start, end) = (self.in_file(at) - self.start, self.in_file(end) - self.start);
        self.contents.window(start, (end - start.min(end)).to_usize())
    }
}
