//! Splits extents of blocks at page and row boundaries.
//!
//! Layer: arithmetic below the card. Main type: [`Pages`], the pages that an extent touches.

use crate::cache::{BlockMask, filled};
use boardlab_block::Extent;
use boardlab_ftl as ftl;

/// Converts a page number to 32 bits: [`crate::part::Part::check`] has refused larger cards.
pub(crate) fn number(page: u64) -> u32 {
    u32::try_from(page).expect("the layer below numbers its pages in 32 bits")
}

/// The byte offset of a piece within its page, and its length in bytes.
pub(crate) fn within_page(piece: Extent, page_blocks: u64) -> (usize, usize) {
    let size = crate::BLOCK.get();
    let bytes = |blocks: u64| usize::try_from(blocks * size).expect("a page fits in memory");
    (bytes(piece.first.0 % page_blocks), bytes(piece.count))
}

/// Splits an extent into pieces of at most `most` blocks that do not cross a multiple of `grid`
/// blocks; there is no grid if it is zero.
pub(crate) fn pieces(extent: Extent, most: u64, grid: u64) -> impl Iterator<Item = Extent> {
    let (mut next, end) = (extent.first.0, extent.first.0 + extent.count);
    std::iter::from_fn(move || {
        let to_line = if grid == 0 { most } else { grid - next % grid };
        let count = most.min(to_line).min(end - next);
        let piece = Extent::new(next, count);
        next += count;
        (count > 0).then_some(piece)
    })
}

/// The parts of `extent` before and behind `inner`.
pub(crate) fn edges(extent: Extent, inner: Extent) -> impl Iterator<Item = Extent> {
    let (start, end) = (extent.first.0, extent.first.0 + extent.count);
    let (from, to) = match inner.count {
        0 => (end, end),
        count => (inner.first.0, inner.first.0 + count),
    };
    [Extent::new(start, from - start), Extent::new(to, end - to)]
        .into_iter()
        .filter(|edge| edge.count > 0)
}

/// The pages that an extent of blocks touches.
#[derive(Clone, Copy)]
pub(crate) struct Pages {
    pub(crate) extent: Extent,
    pub(crate) page_blocks: u64,
}

impl Pages {
    /// Iterates over the pages and which blocks of each the extent covers.
    pub(crate) fn iter(self) -> impl Iterator<Item = (u32, BlockMask)> {
        let blocks = self.page_blocks;
        pieces(self.extent, blocks, blocks).map(move |piece| {
            let from = piece.first.0 % blocks;
            let bits = filled(number(from)..number(from + piece.count));
            (number(piece.first.0 / blocks), bits)
        })
    }

    /// All of these pages, if the extent covers every block of each.
    pub(crate) fn exactly(self) -> Option<ftl::Extent> {
        let Self { extent, page_blocks } = self;
        let (first, count) = (extent.first.0 / page_blocks, extent.count / page_blocks);
        let covered = [first * page_blocks, count * page_blocks] == [extent.first.0, extent.count];
        covered.then(|| ftl::Extent::new(number(first), number(count)))
    }

    /// All of these pages.
    pub(crate) fn whole(self) -> ftl::Extent {
        let Self { extent, page_blocks } = self;
        let first = extent.first.0 / page_blocks;
        let end = (extent.first.0 + extent.count).div_ceil(page_blocks);
        ftl::Extent::new(number(first), number(end - first))
    }
}

#[cfg(test)]
mod tests {
    use super::{Pages, edges, pieces};
    use boardlab_block::Extent;
    use boardlab_ftl as ftl;

    #[test]
    fn pieces_end_at_the_lines_and_cover_everything_once() {
        let cut = |extent, most, grid| {
            pieces(extent, most, grid).map(|p| (p.first.0, p.count)).collect::<Vec<_>>()
        };
        assert_eq!(cut(Extent::new(5, 10), 4, 4), [(5, 3), (8, 4), (12, 3)]);
        assert_eq!(cut(Extent::new(5, 10), 4, 0), [(5, 4), (9, 4), (13, 2)]);
        assert_eq!(cut(Extent::new(5, 0), 4, 4), []);
    }

    #[test]
    fn edges_are_what_whole_pages_leave() {
        let around = |inner| {
            edges(Extent::new(3, 10), inner).map(|e| (e.first.0, e.count)).collect::<Vec<_>>()
        };
        assert_eq!(around(Extent::new(4, 8)), [(3, 1), (12, 1)]);
        assert_eq!(around(Extent::new(0, 0)), [(3, 10)]);
    }

    #[test]
    fn pages_say_which_of_their_blocks_are_meant() {
        let pages = Pages { extent: Extent::new(3, 3), page_blocks: 4 };
        assert_eq!(pages.iter().collect::<Vec<_>>(), [(0, 0b1000), (1, 0b11)]);
        assert_eq!((pages.whole().first, pages.whole().count), (0, 2));
        assert_eq!(pages.exactly(), None);
        let pages = Pages { extent: Extent::new(8, 12), page_blocks: 4 };
        assert_eq!(pages.exactly(), Some(ftl::Extent::new(2, 3)));
    }
}
