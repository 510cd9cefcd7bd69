//! What each spare byte of a page is for: bad block mark, error correction, free.
//!
//! Layer: rank 7. Main types: [`Spare`] and the trait [`Correction`]. A dump does not say how its
//! flash was driven; this is what has to be known of it.
//!
//! Source: Linux 6.1, `drivers/mtd/nand/raw/nand_base.c` (`nand_ooblayout_sp_ops`,
//! `nand_ooblayout_lp_ops`, `nand_block_isbad`): small pages have the mark in byte 5, large ones in
//! the first two bytes and the error correction at the end.

use boardlab_mtd::ReadHealth;
use boardlab_sim::Bytes;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The largest page that Linux calls small.
const SMALL_PAGE: Bytes = Bytes::new(512);

/// An error correction over a page.
pub trait Correction: fmt::Debug + Send + Sync {
    /// What it is called: `Hamming, 256 bytes`.
    fn name(&self) -> String;

    /// Corrects `data` by the bytes in `oob`, both of one page; `None` when more is wrong than can be
    /// corrected.
    fn correct(&self, data: &mut [u8], oob: &mut [u8]) -> Option<ReadHealth>;

    /// Writes the error correction of `data` into `oob`.
    fn protect(&self, data: &[u8], oob: &mut [u8]);
}

/// What each spare byte of a page is for.
#[derive(Debug, Clone)]
pub struct Spare {
    /// Not 0xFF in the first or the second page of a bad block.
    pub mark: Range<usize>,
    /// What the driver leaves to its user, in order.
    pub free: Vec<Range<usize>>,
    /// The error correction; `None` to take the data as they are.
    pub correction: Option<Arc<dyn Correction>>,
}

impl Spare {
    /// All bytes are free but those of the mark, where Linux has it: no error correction.
    #[must_use]
    pub fn uncorrected(page: Bytes, oob: Bytes) -> Self {
        let size = oob.to_usize();
        let mark = if page <= SMALL_PAGE { 5..6 } else { 0..2 };
        let mark = mark.start.min(size)..mark.end.min(size);
        let free = [0..mark.start, mark.end..size];
        let free = free.into_iter().filter(|range| !range.is_empty()).collect();
        Self { mark, free, correction: None }
    }

    /// How many bytes are free.
    #[must_use]
    pub fn available(&self) -> Bytes {
        Bytes::new(self.free.iter().map(|range| range.len() as u64).sum())
    }

    /// Whether all of it lies within `oob` spare bytes.
    #[must_use]
    pub fn fits(&self, oob: Bytes) -> bool {
        let ends = self.free.iter().map(|range| range.end).chain([self.mark.end]);
        ends.max().unwrap_or(0) <= oob.to_usize()
    }

    /// Copies the first free bytes of `oob` to `buffer`.
    pub(crate) fn take(&self, oob: &[u8], buffer: &mut [u8]) {
        let free = self.free.iter().flat_map(|range| &oob[range.clone()]);
        buffer.iter_mut().zip(free).for_each(|(target, &byte)| *target = byte);
    }

    /// Programs `bytes` into the first free ones of `oob`: bits go from 1 to 0 only.
    pub(crate) fn program(&self, oob: &mut [u8], bytes: &[u8]) {
        let places = self.free.iter().flat_map(Clone::clone);
        places.zip(bytes).for_each(|(place, byte)| oob[place] &= byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_bytes_leave_the_mark_alone() {
        let small = Spare::uncorrected(Bytes::new(512), Bytes::new(16));
        assert_eq!((small.mark.clone(), small.available()), (5..6, Bytes::new(15)));
        let large = Spare::uncorrected(Bytes::kib(2), Bytes::new(64));
        assert_eq!((large.mark.clone(), large.free.clone()), (0..2, vec![2..64; 1]));
        let tiny = Spare::uncorrected(Bytes::kib(2), Bytes::new(1));
        assert!(tiny.fits(Bytes::new(1)) && tiny.available().is_zero());
        let mut oob = [0xFF; 16];
        small.program(&mut oob, &[0x0F, 1, 2, 3, 4, 6]);
        small.program(&mut oob, &[0xF0]);
        assert_eq!(oob[..8], [0, 1, 2, 3, 4, 0xFF, 6, 0xFF]);
        let mut taken = [0; 6];
        small.take(&oob, &mut taken);
        assert_eq!(taken, [0, 1, 2, 3, 4, 6]);
    }
}
