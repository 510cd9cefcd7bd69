//! The layout of the OOB area (spare area) of a page.
//!
//! Layer: rank 3, plain data. Main type: [`Layout`]: the positions of the ECC bytes, of the free
//! bytes in their order, and of the bad-block mark.
//!
//! Source: Linux 6.1 `drivers/mtd/nand/raw/nand_base.c`, `nand_ooblayout_sp_ops` and
//! `nand_ooblayout_lp_ops`; Linux 2.6.26, the same file, `nand_oob_16`, `nand_oob_64` and
//! `nand_oob_128`, which agree with them for these sizes; `drivers/mtd/nand/spi/winbond.c` for
//! [`Layout::on_die`]. Left out: layouts of single controllers, which a free layout can describe.

use std::fmt;
use std::ops::Range;

/// Why a layout is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutError {
    /// A range is empty or ends beyond the OOB area.
    Beyond {
        /// The range.
        range: Range<usize>,
        /// The OOB size.
        size: usize,
    },
    /// Two uses of one byte.
    Overlap {
        /// The byte.
        position: usize,
    },
    /// The OOB area is too small for the ECC bytes.
    Crowded {
        /// Bytes of the ECC and of the mark.
        needed: usize,
        /// The OOB size.
        size: usize,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beyond { range, size } => write!(
                f,
                "OOB bytes {} to {} are not within {size}",
                range.start,
                range.end.saturating_sub(1)
            ),
            Self::Overlap { position } => write!(f, "OOB byte {position} has two uses"),
            Self::Crowded { needed, size } => {
                write!(f, "{needed} bytes of ECC and mark do not fit {size} OOB bytes")
            }
        }
    }
}

impl std::error::Error for LayoutError {}

/// The layout of the OOB area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    size: usize,
    ecc: Vec<Range<usize>>,
    free: Vec<Range<usize>>,
    mark: Range<usize>,
}

impl Layout {
    /// Any layout: `ecc` in the order of the codes, `free` in the order of the user's bytes, `mark`
    /// of a bad block.
    ///
    /// # Errors
    /// When ranges are empty, lie beyond `size` or overlap.
    pub fn new(
        size: usize,
        ecc: Vec<Range<usize>>,
        free: Vec<Range<usize>>,
        mark: Range<usize>,
    ) -> Result<Self, LayoutError> {
        let mut used = vec![false; size];
        for range in ecc.iter().chain(&free).chain([&mark]) {
            if range.is_empty() || range.end > size {
                return Err(LayoutError::Beyond { range: range.clone(), size });
            }
            for position in range.clone() {
                if std::mem::replace(&mut used[position], true) {
                    return Err(LayoutError::Overlap { position });
                }
            }
        }
        Ok(Self { size, ecc, free, mark })
    }

    /// Linux' layout for 16 OOB bytes and six ECC bytes: ECC in 0-3 and 6-7, mark in 5, free 8-15.
    #[must_use]
    pub fn small_page() -> Self {
        Self { size: 16, ecc: vec![0..4, 6..8], free: one(8..16), mark: 5..6 }
    }

    /// Linux' layout for large pages: mark in 0-1, then free bytes, `codes` ECC bytes at the end.
    ///
    /// # Errors
    /// [`LayoutError::Crowded`].
    pub fn large_page(size: usize, codes: usize) -> Result<Self, LayoutError> {
        let Some(end) = size.checked_sub(codes).filter(|&end| end >= 2) else {
            return Err(LayoutError::Crowded { needed: codes + 2, size });
        };
        let ecc = if codes == 0 { Vec::new() } else { one(end..size) };
        let free = if end == 2 { Vec::new() } else { one(2..end) };
        Ok(Self { size, ecc, free, mark: 0..2 })
    }

    /// The layout of a chip with on-die ECC. The OOB area has one equal part for each ECC step. A
    /// part begins with two bytes, which are the bad-block mark in the first one and unused in the
    /// others; then come free bytes, and the ECC bytes in the second half (W25N01GV data sheet
    /// revision L, 8.2.28: spare area).
    ///
    /// # Errors
    /// [`LayoutError::Crowded`].
    pub fn on_die(size: usize, steps: usize, code: usize) -> Result<Self, LayoutError> {
        let part = size / steps.max(1);
        if steps == 0 || part < 4 || code > part / 2 {
            return Err(LayoutError::Crowded { needed: steps * (code * 2).max(4), size });
        }
        let starts = (0..steps).map(|step| step * part);
        let ecc = starts.clone().map(|start| start + part / 2..start + part / 2 + code).collect();
        let free = starts.map(|start| start + 2..start + part / 2).collect();
        Self::new(size, ecc, free, 0..2)
    }

    /// The layout of Linux' software ECC for pages of this size.
    ///
    /// # Errors
    /// [`LayoutError::Crowded`].
    pub fn linux(page: usize, size: usize, codes: usize) -> Result<Self, LayoutError> {
        if page > 512 {
            return Self::large_page(size, codes);
        }
        match (size, codes) {
            (16, 6) => Ok(Self::small_page()),
            (16, 0..6) => {
                let ecc = [0..codes.min(4), 6..6 + codes.saturating_sub(4)];
                let ecc = ecc.into_iter().filter(|range| !range.is_empty()).collect();
                Ok(Self { ecc, ..Self::small_page() })
            }
            _ => Err(LayoutError::Crowded { needed: codes + 1, size }),
        }
    }

    /// The OOB size.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The positions of the ECC bytes, in order.
    #[must_use]
    pub fn ecc(&self) -> &[Range<usize>] {
        &self.ecc
    }

    /// The positions of the free bytes, in order.
    #[must_use]
    pub fn free(&self) -> &[Range<usize>] {
        &self.free
    }

    /// The position of the bad-block mark: anything but FFh.
    #[must_use]
    pub const fn mark(&self) -> &Range<usize> {
        &self.mark
    }

    /// The number of ECC bytes.
    #[must_use]
    pub fn ecc_bytes(&self) -> usize {
        self.ecc.iter().map(ExactSizeIterator::len).sum()
    }

    /// The number of free bytes.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.free.iter().map(ExactSizeIterator::len).sum()
    }

    /// Copies ECC bytes out of the OOB area, from ECC byte `from` on.
    pub fn gather_ecc(&self, spare: &[u8], from: usize, codes: &mut [u8]) {
        gather(&self.ecc, spare, from, codes);
    }

    /// Copies ECC bytes into the OOB area, from ECC byte `from` on.
    pub fn scatter_ecc(&self, codes: &[u8], from: usize, spare: &mut [u8]) {
        scatter(&self.ecc, codes, from, spare);
    }

    /// Copies the first free bytes out of the OOB area.
    pub fn gather_free(&self, spare: &[u8], bytes: &mut [u8]) {
        gather(&self.free, spare, 0, bytes);
    }

    /// Copies bytes into the first free bytes of the OOB area.
    pub fn scatter_free(&self, bytes: &[u8], spare: &mut [u8]) {
        scatter(&self.free, bytes, 0, spare);
    }
}

/// A list of one range. `vec![range]` would be linted as a likely mistake.
fn one(range: Range<usize>) -> Vec<Range<usize>> {
    std::iter::once(range).collect()
}

/// The pieces of `ranges` that hold the `length` bytes from byte `from` on, each with its position
/// among those bytes.
fn pieces(
    ranges: &[Range<usize>],
    from: usize,
    length: usize,
) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + '_ {
    let mut before = 0;
    ranges.iter().filter_map(move |range| {
        let here = before..before + range.len();
        before = here.end;
        let (start, end) = (here.start.max(from), here.end.min(from + length));
        let at = range.start + start.saturating_sub(here.start);
        (start < end).then(|| (at..at + (end - start), start - from..end - from))
    })
}

fn gather(ranges: &[Range<usize>], spare: &[u8], from: usize, bytes: &mut [u8]) {
    for (place, piece) in pieces(ranges, from, bytes.len()) {
        bytes[piece].copy_from_slice(&spare[place]);
    }
}

fn scatter(ranges: &[Range<usize>], bytes: &[u8], from: usize, spare: &mut [u8]) {
    for (place, piece) in pieces(ranges, from, bytes.len()) {
        spare[place].copy_from_slice(&bytes[piece]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_layouts_have_their_known_positions() {
        let small = Layout::linux(512, 16, 6).unwrap();
        assert_eq!(
            (small.ecc(), small.free(), small.mark()),
            (&[0..4, 6..8][..], &one(8..16)[..], &(5..6))
        );
        let large = Layout::linux(2_048, 64, 24).unwrap();
        assert_eq!((large.ecc(), large.free()), (&one(40..64)[..], &one(2..40)[..]));
        let four = Layout::linux(4_096, 128, 48).unwrap();
        assert_eq!((four.ecc(), four.free()), (&one(80..128)[..], &one(2..80)[..]));
        let none = Layout::linux(2_048, 64, 0).unwrap();
        assert_eq!((none.ecc_bytes(), none.free_bytes()), (0, 62));
        let full = Layout::linux(2_048, 64, 62).unwrap();
        assert_eq!((full.ecc_bytes(), full.free_bytes()), (62, 0));
        assert!(Layout::linux(2_048, 64, 63).is_err());
        assert!(Layout::linux(512, 16, 7).is_err());
    }

    #[test]
    fn the_layout_of_a_correcting_chip_is_that_of_winbond() {
        let layout = Layout::on_die(64, 4, 8).unwrap();
        assert_eq!(layout.free(), &[2..8, 18..24, 34..40, 50..56]);
        assert_eq!(layout.ecc(), &[8..16, 24..32, 40..48, 56..64]);
        assert!(Layout::on_die(64, 4, 9).is_err());
    }

    #[test]
    fn layouts_with_two_uses_of_a_byte_or_beyond_the_page_are_refused() {
        let refused = |ecc: Range<usize>, free: Range<usize>| {
            Layout::new(16, one(ecc), one(free), 5..6).unwrap_err()
        };
        assert_eq!(refused(0..4, 3..5), LayoutError::Overlap { position: 3 });
        assert_eq!(refused(0..4, 6..17), LayoutError::Beyond { range: 6..17, size: 16 });
        assert_eq!(refused(0..4, 6..6), LayoutError::Beyond { range: 6..6, size: 16 });
        assert_eq!(refused(4..6, 8..9), LayoutError::Overlap { position: 5 });
    }

    #[test]
    fn bytes_go_to_their_positions_and_come_back() {
        let layout = Layout::new(16, vec![6..8, 0..4], vec![12..16, 8..10], 5..6).unwrap();
        let mut spare = [0xFF; 16];
        layout.scatter_ecc(&[1, 2, 3, 4, 5, 6], 0, &mut spare);
        layout.scatter_free(&[7, 8, 9, 10, 11], &mut spare);
        assert_eq!(spare, [3, 4, 5, 6, 255, 255, 1, 2, 11, 255, 255, 255, 7, 8, 9, 10]);
        let mut some = [0; 3];
        layout.gather_ecc(&spare, 1, &mut some);
        assert_eq!(some, [2, 3, 4]);
        let mut free = [0; 5];
        layout.gather_free(&spare, &mut free);
        assert_eq!(free, [7, 8, 9, 10, 11]);
        layout.scatter_ecc(&[42, 43], 3, &mut spare);
        assert_eq!(spare[1..3], [42, 43]);
    }
}
