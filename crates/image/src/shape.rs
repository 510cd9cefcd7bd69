//! The shape of the flash that an image was dumped from.
//!
//! Layer: rank 7. Main type: [`Shape`]. It converts between offsets in the flash and in the file.
//! With OOB bytes in the file, each page of data is followed by its OOB bytes, as `nanddump --oob`
//! of mtd-utils writes them.

use boardlab_mtd::{EraseRegion, FlashKind, Geometry, Oob};
use boardlab_sim::Bytes;
use std::fmt;

/// The minimum and maximum erase block size of an image.
pub const BLOCK_SIZES: [Bytes; 2] = [Bytes::kib(4), Bytes::mib(64)];
/// The maximum page size of an image.
pub const PAGE_SIZE_MAX: Bytes = Bytes::kib(64);
/// The minimum and maximum OOB size of a page, if it has any.
pub const OOB_SIZES: [Bytes; 2] = [Bytes::new(8), Bytes::kib(8)];

/// Page and OOB sizes of parts that are or were on the market, small ones first.
pub(crate) const LAYOUTS: &[(u64, u64)] = &[
    (256, 8),
    (512, 16),
    (2_048, 64),
    (2_048, 112),
    (2_048, 128),
    (4_096, 128),
    (4_096, 218),
    (4_096, 224),
    (4_096, 256),
    (8_192, 256),
    (8_192, 436),
    (8_192, 448),
    (8_192, 512),
    (8_192, 640),
    (8_192, 744),
    (16_384, 1_024),
    (16_384, 1_280),
];

/// Page size, OOB size and erase block size of a flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Data bytes of a page; one byte of NOR.
    pub page: Bytes,
    /// OOB bytes that follow each page in the file; zero when there are none in it.
    pub oob: Bytes,
    /// Data bytes of an erase block: whole pages.
    pub block: Bytes,
}

/// Why a shape is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeError {
    /// The page is empty or too large.
    Page(Bytes),
    /// There are too few or too many OOB bytes, or some after pages of one byte.
    Oob(Bytes),
    /// The block is too small, too large or not whole pages.
    Block(Bytes),
}

impl Shape {
    /// NOR: no pages, erase blocks of `block` bytes.
    #[must_use]
    pub const fn nor(block: Bytes) -> Self {
        Self { page: Bytes::new(1), oob: Bytes::ZERO, block }
    }

    /// NAND with `oob` OOB bytes after each page in the file, or none.
    #[must_use]
    pub const fn nand(page: Bytes, oob: Bytes, block: Bytes) -> Self {
        Self { page, oob, block }
    }

    /// Whether there are pages.
    #[must_use]
    pub fn is_nand(&self) -> bool {
        self.page > Bytes::new(1)
    }

    /// Checks the sizes.
    ///
    /// # Errors
    /// [`ShapeError`].
    pub fn check(&self) -> Result<(), ShapeError> {
        let [smallest, largest] = BLOCK_SIZES;
        if self.page.is_zero() || self.page > PAGE_SIZE_MAX {
            return Err(ShapeError::Page(self.page));
        }
        let [fewest, most] = OOB_SIZES;
        let possible = (fewest..=most).contains(&self.oob) && self.is_nand();
        if !self.oob.is_zero() && !possible {
            return Err(ShapeError::Oob(self.oob));
        }
        let whole = self.block.is_multiple_of(self.page);
        if self.block < smallest || self.block > largest || !whole {
            return Err(ShapeError::Block(self.block));
        }
        Ok(())
    }

    /// Bytes of a page in the file, including OOB bytes.
    #[must_use]
    pub fn raw_page(&self) -> Bytes {
        self.page + self.oob
    }

    /// Pages of an erase block.
    #[must_use]
    pub fn pages_per_block(&self) -> u64 {
        self.block / self.page
    }

    /// Bytes of an erase block in the file, including OOB bytes.
    #[must_use]
    pub fn raw_block(&self) -> Bytes {
        self.raw_page() * self.pages_per_block()
    }

    /// The file offset of the byte at `offset` of the flash.
    #[must_use]
    pub fn in_file(&self, offset: Bytes) -> Bytes {
        let within = Bytes::new(offset.get() % self.page.get());
        self.raw_page() * (offset / self.page) + within
    }

    /// The flash offset of the byte at `offset` of the file; `None` for an OOB byte.
    #[must_use]
    pub fn in_flash(&self, offset: Bytes) -> Option<Bytes> {
        let within = Bytes::new(offset.get() % self.raw_page().get());
        let start = self.page * (offset / self.raw_page());
        (within < self.page).then(|| start + within)
    }

    /// The geometry of a flash of this shape for a file of `length` bytes, with the last block
    /// completed and `available` free OOB bytes per page. `None` when there are no blocks or too many.
    pub(crate) fn geometry(&self, length: Bytes, available: Bytes) -> Option<Geometry> {
        let count = u32::try_from(length.div_ceil(self.raw_block())).ok().filter(|&n| n > 0)?;
        if self.is_nand() {
            u32::try_from(u64::from(count) * self.pages_per_block()).ok()?;
        }
        let kind = if self.is_nand() { FlashKind::Nand } else { FlashKind::Nor };
        let oob = (!self.oob.is_zero()).then_some(Oob { size: self.oob, available });
        let regions = vec![EraseRegion { count, size: self.block }];
        Some(Geometry { kind, regions, write_size: self.page, write_buffer: self.page, oob })
    }
}

/// The greatest common divisor.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `2 KiB pages with 64 spare bytes, erase blocks of 128 KiB`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_nand() {
            write!(f, "{} pages ", self.page)?;
            match self.oob.get() {
                0 => f.write_str("without spare bytes, ")?,
                oob => write!(f, "with {oob} spare bytes, ")?,
            }
        }
        write!(f, "erase blocks of {}", self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_the_flash_is_found_in_the_file_and_back() {
        let shape = Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(128));
        assert_eq!(shape.check(), Ok(()));
        assert_eq!(shape.raw_block(), Bytes::new(135_168));
        for (flash, file) in [(0, 0), (2_047, 2_047), (2_048, 2_112), (131_072, 135_168)] {
            let (flash, file) = (Bytes::new(flash), Bytes::new(file));
            assert_eq!((shape.in_file(flash), shape.in_flash(file)), (file, Some(flash)));
        }
        assert_eq!(shape.in_flash(Bytes::new(2_048)), None);
        assert_eq!(shape.in_flash(Bytes::new(2_111)), None);
        let nor = Shape::nor(Bytes::kib(64));
        assert_eq!(nor.in_file(Bytes::new(77)), Bytes::new(77));
    }

    #[test]
    fn a_partial_last_block_is_filled_up() {
        let shape = Shape::nand(Bytes::new(512), Bytes::new(16), Bytes::kib(16));
        let geometry = shape.geometry(Bytes::new(16_896 + 1), Bytes::new(8)).unwrap();
        assert!(geometry.is_sound());
        assert_eq!(geometry.size(), Bytes::kib(32));
        assert_eq!(shape.geometry(Bytes::ZERO, Bytes::ZERO), None);
    }

    #[test]
    fn numbers_that_are_no_flash_are_refused() {
        let page = |page| Shape::nand(Bytes::new(page), Bytes::new(64), Bytes::kib(128)).check();
        assert_eq!(page(0), Err(ShapeError::Page(Bytes::ZERO)));
        assert_eq!(page(1), Err(ShapeError::Oob(Bytes::new(64))));
        assert_eq!(page(3_000), Err(ShapeError::Block(Bytes::kib(128))));
        assert_eq!(page(1 << 40), Err(ShapeError::Page(Bytes::new(1 << 40))));
        assert_eq!(Shape::nor(Bytes::new(1)).check(), Err(ShapeError::Block(Bytes::new(1))));
    }

    #[test]
    fn a_shape_reads_as_a_data_sheet_says_it() {
        let shape = Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(128));
        assert_eq!(shape.to_string(), "2 KiB pages with 64 spare bytes, erase blocks of 128 KiB");
        assert_eq!(Shape::nor(Bytes::kib(64)).to_string(), "erase blocks of 64 KiB");
    }
}
