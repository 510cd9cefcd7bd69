//! The geometry of a managed part: superblocks of mapped pages, and how they are striped over dies
//! and planes.
//!
//! Layer: the units of every other module. Main types: [`Geometry`], [`Stripe`], [`Page`],
//! [`PageRun`]. A *block* here is a superblock: one erase block of each plane of each die, erased
//! together. A *page* is the mapped unit, of which a flash page holds one or more. Pages of a block
//! are numbered first over the planes of a die, then over dies of all channels: a run of pages
//! keeps all of them busy, and the planes of a die are always programmed together.
//!
//! Source: striping and multi-plane pairing by superpages follow the "line" of FEMU and the plane
//! allocation of MQSim; the caller provides the numbers. Left out: blocks of one superblock that
//! differ in size, and more than 2^32 - 2 pages.

use crate::error::Error;
use boardlab_sim::Bytes;
use std::fmt;

/// How the pages of a block are striped over the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// Channels, each a bus of its own.
    pub channels: u32,
    /// Dies on each channel.
    pub dies: u32,
    /// Planes of a die, programmed and erased together.
    pub planes: u32,
    /// Mapped pages in a flash page.
    pub units: u32,
}

impl Stripe {
    /// One die of one plane, whose flash page is the mapped page.
    pub const SINGLE: Self = Self { channels: 1, dies: 1, planes: 1, units: 1 };

    /// The mapped pages of one multi-plane program of a die.
    #[must_use]
    pub const fn program_pages(self) -> u32 {
        self.planes * self.units
    }

    /// Dies of the part.
    #[must_use]
    pub const fn all_dies(self) -> u32 {
        self.channels * self.dies
    }

    /// Mapped pages of one row over all dies.
    #[must_use]
    pub const fn row_pages(self) -> u32 {
        self.all_dies() * self.program_pages()
    }
}

/// A valid geometry: every number is at least one and all pages can be numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    blocks: u32,
    pages_per_block: u32,
    page: Bytes,
    logical_pages: u32,
    stripe: Stripe,
    by_block: Divisor,
    /// By the pages of one multi-plane program, by the dies and by the channels.
    by_stripe: [Divisor; 3],
}

/// A divisor with its reciprocal: one multiplication instead of a division by a variable. It is exact
/// for 32-bit numbers (Lemire, Kaser, Kurz, "Faster remainder by direct computation", 2019).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Divisor {
    by: u32,
    reciprocal: u64,
}

impl Divisor {
    const fn new(by: u32) -> Self {
        let least = if by == 0 { 1 } else { by };
        Self { by, reciprocal: (u64::MAX / least as u64).wrapping_add(1) }
    }

    /// Quotient and remainder.
    #[inline]
    const fn divide(self, number: u32) -> [u32; 2] {
        let wide = self.reciprocal as u128 * number as u128;
        #[allow(clippy::cast_possible_truncation, reason = "the quotient of a 32-bit number")]
        let quotient = if self.by == 1 { number } else { (wide >> 64) as u32 };
        [quotient, number - quotient * self.by]
    }
}

impl Stripe {
    /// The divisors of [`Geometry::place`].
    const fn divisors(self) -> [Divisor; 3] {
        let pages = self.planes.wrapping_mul(self.units);
        let dies = self.channels.wrapping_mul(self.dies);
        [Divisor::new(pages), Divisor::new(dies), Divisor::new(self.channels)]
    }
}

impl Geometry {
    /// A part of `blocks` times `pages_per_block` mapped pages, all on one plane, of which
    /// `logical_pages` are offered to the host.
    ///
    /// # Errors
    /// [`Error::Geometry`] when a number is zero, a block is not a whole number of rows, or there
    /// are more than 2^32 - 2 pages.
    pub fn new(
        blocks: u32,
        pages_per_block: u32,
        page: Bytes,
        logical_pages: u32,
    ) -> Result<Self, Error> {
        let part = Self {
            blocks,
            pages_per_block,
            page,
            logical_pages,
            stripe: Stripe::SINGLE,
            by_block: Divisor::new(pages_per_block),
            by_stripe: Stripe::SINGLE.divisors(),
        };
        part.checked()
    }

    /// The same part with its pages striped over channels, dies and planes.
    ///
    /// # Errors
    /// [`Error::Geometry`] when a number is zero or a block is not a whole number of rows.
    pub fn striped(self, stripe: Stripe) -> Result<Self, Error> {
        Self { stripe, by_stripe: stripe.divisors(), ..self }.checked()
    }

    fn checked(self) -> Result<Self, Error> {
        let Stripe { channels, dies, planes, units } = self.stripe;
        let numbers = [
            ("blocks", self.blocks),
            ("pages per block", self.pages_per_block),
            ("logical pages", self.logical_pages),
            ("channels", channels),
            ("dies", dies),
            ("planes", planes),
            ("pages per flash page", units),
        ];
        if let Some((what, _)) = numbers.iter().find(|(_, number)| *number == 0) {
            return Err(Error::Geometry { what, found: 0, needed: 1 });
        }
        if self.page.is_zero() {
            return Err(Error::Geometry { what: "bytes of a page", found: 0, needed: 1 });
        }
        let numbers = [channels, dies, planes, units].map(u64::from);
        let row = numbers.into_iter().fold(1, u64::saturating_mul);
        let pages_per_block = u64::from(self.pages_per_block);
        if row > pages_per_block || !pages_per_block.is_multiple_of(row) {
            let needed = pages_per_block.div_ceil(row).saturating_mul(row);
            return Err(Error::Geometry {
                what: "pages per block, in whole rows",
                found: pages_per_block,
                needed,
            });
        }
        let pages = u64::from(self.blocks) * pages_per_block;
        if pages >= u64::from(u32::MAX) {
            let (what, needed) = ("pages that can be numbered", u64::from(u32::MAX) - 1);
            return Err(Error::Geometry { what, found: pages, needed });
        }
        Ok(self)
    }

    /// Superblocks.
    #[must_use]
    pub const fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Mapped pages of a block.
    #[must_use]
    pub const fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Bytes of a mapped page.
    #[must_use]
    pub const fn page(&self) -> Bytes {
        self.page
    }

    /// Pages that the host sees.
    #[must_use]
    pub const fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// How the pages are striped over the part.
    #[must_use]
    pub const fn stripe(&self) -> Stripe {
        self.stripe
    }

    /// All mapped pages.
    #[must_use]
    pub const fn pages(&self) -> u32 {
        self.blocks * self.pages_per_block
    }

    /// Whole blocks that the host's pages fill.
    #[must_use]
    pub const fn logical_blocks(&self) -> u32 {
        self.logical_pages.div_ceil(self.pages_per_block)
    }

    /// The block and the offset of the page with number `index`.
    #[must_use]
    #[inline]
    pub const fn locate(&self, index: u32) -> Page {
        let [block, offset] = self.by_block.divide(index);
        Page { block, offset }
    }

    /// The number of the first page of `block`.
    #[must_use]
    #[inline]
    pub const fn first_page(&self, block: u32) -> u32 {
        block * self.pages_per_block
    }

    /// The channel, die and row of a page offset.
    #[must_use]
    #[inline]
    pub const fn place(&self, offset: u32) -> Place {
        let [by_pages, by_dies, by_channels] = self.by_stripe;
        let [slot, within] = by_pages.divide(offset);
        let [row, die] = by_dies.divide(slot);
        let [_, channel] = by_channels.divide(die);
        Place { channel, die, row, within }
    }

    /// The effective over-provisioning when `kept` blocks hold no data.
    #[must_use]
    pub const fn spare(&self, kept: u32) -> Spare {
        let data_pages = self.blocks.saturating_sub(kept) as u64 * self.pages_per_block as u64;
        let spare_pages = data_pages.saturating_sub(self.logical_pages as u64);
        Spare { kept_blocks: kept, data_pages, spare_pages }
    }
}

/// The over-provisioning of a part, without the reserve and the open blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spare {
    /// Blocks that hold no data: reserve, open blocks, bad blocks.
    pub kept_blocks: u32,
    /// Pages of all other blocks.
    pub data_pages: u64,
    /// Those beyond what the host sees.
    pub spare_pages: u64,
}

impl Spare {
    /// The spare factor 1 - logical / data in millionths, rounded down.
    #[must_use]
    pub const fn millionths(&self) -> u64 {
        match (self.spare_pages * 1_000_000).checked_div(self.data_pages) {
            Some(millionths) => millionths,
            None => 0,
        }
    }
}

impl fmt::Display for Spare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, rest) = (self.millionths() / 10_000, self.millionths() % 10_000 / 10);
        let kept = self.kept_blocks;
        write!(f, "{percent}.{rest:03} % effective spare ({kept} blocks kept free or open)")
    }
}

/// One mapped page: its block and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Page {
    /// Superblock.
    pub block: u32,
    /// Mapped page within it, in the order in which pages are programmed.
    pub offset: u32,
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} page {}", self.block, self.offset)
    }
}

/// Adjacent pages of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRun {
    /// Superblock.
    pub block: u32,
    /// First page within it.
    pub offset: u32,
    /// How many.
    pub count: u32,
}

impl From<Page> for PageRun {
    fn from(page: Page) -> Self {
        Self { block: page.block, offset: page.offset, count: 1 }
    }
}

/// The location of a page offset on the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The channel of the die.
    pub channel: u32,
    /// The die, counted over all channels.
    pub die: u32,
    /// Row of flash pages within the block of that die.
    pub row: u32,
    /// Index among the mapped pages of one multi-plane program.
    pub within: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_by_multiplication_as_by_division() {
        for pages_per_block in [1, 2, 3, 64, 100, 768, 3_000, 65_536] {
            let blocks = (u32::MAX - 2) / pages_per_block;
            let part = Geometry::new(blocks, pages_per_block, Bytes::kib(4), 1).unwrap();
            for near in [0, 1, pages_per_block, u32::MAX / 2, part.pages() - 1] {
                let page = part.locate(near);
                assert_eq!(page.block, near / pages_per_block, "{near} by {pages_per_block}");
                assert_eq!(page.offset, near % pages_per_block);
            }
        }
    }

    #[test]
    fn a_place_is_found_by_multiplication_as_by_division() {
        for (channels, dies, planes, units) in
            [(1, 1, 1, 1), (3, 5, 2, 3), (8, 4, 4, 4), (7, 1, 3, 1)]
        {
            let stripe = Stripe { channels, dies, planes, units };
            let (group, all) = (planes * units, channels * dies);
            let pages_per_block = (1 << 20) / (group * all) * (group * all);
            let part = Geometry::new(8, pages_per_block, Bytes::kib(4), 400).unwrap();
            let part = part.striped(stripe).unwrap();
            for offset in (0..1_000).chain(pages_per_block - 1_000..pages_per_block) {
                let (slot, within) = (offset / group, offset % group);
                let die = slot % all;
                let place = Place { channel: die % channels, die, row: slot / all, within };
                assert_eq!(part.place(offset), place, "{stripe:?}");
            }
        }
    }

    #[test]
    fn neighbours_lie_on_other_planes_then_dies() {
        let stripe = Stripe { channels: 2, dies: 2, planes: 2, units: 4 };
        let part = Geometry::new(8, 64, Bytes::kib(4), 400).unwrap().striped(stripe).unwrap();
        let dies: Vec<u32> = (0..64).step_by(8).map(|offset| part.place(offset).die).collect();
        assert_eq!(dies, [0, 1, 2, 3, 0, 1, 2, 3]);
        let channels: Vec<u32> =
            (0..32).step_by(8).map(|offset| part.place(offset).channel).collect();
        assert_eq!(channels, [0, 1, 0, 1]);
        assert_eq!(part.place(39), Place { channel: 0, die: 0, row: 1, within: 7 });
    }

    #[test]
    fn a_shape_that_cannot_be_is_refused_with_what_is_needed() {
        let refused = |blocks, pages_per_block| {
            Geometry::new(blocks, pages_per_block, Bytes::kib(4), 10).unwrap_err()
        };
        assert_eq!(refused(0, 64).to_string(), "0 blocks: at least 1 needed");
        assert!(matches!(refused(u32::MAX, 2), Error::Geometry { .. }));
        let part = Geometry::new(8, 60, Bytes::kib(4), 10).unwrap();
        let stripe = Stripe { channels: 1, dies: 4, planes: 2, units: 1 };
        let error = part.striped(stripe).unwrap_err();
        assert!(matches!(error, Error::Geometry { found: 60, needed: 64, .. }), "{error}");
        let all = u32::MAX;
        let stripe = Stripe { channels: all, dies: all, planes: all, units: all };
        assert!(matches!(part.striped(stripe).unwrap_err(), Error::Geometry { found: 60, .. }));
    }
}
