//! The page map: the physical page of each logical page, the reverse, and which physical pages are
//! valid.
//!
//! Layer: tables of the page map; no policy. Main type: [`Table`]. It has 4 bytes for each logical
//! and each physical page, and a valid bit for each physical page. Garbage collection reads the
//! bits of its victim, 64 pages at a time. An overwrite clears one bit and leaves the reverse entry
//! as it is, which saves a write to distant memory.
//!
//! Left out: the reverse map in the OOB bytes of the flash, which survives a power cut; see
//! [`crate::page_map::recovery`].

use crate::geometry::{Geometry, Page};

/// The entry of a logical page without data, and of a physical page without any.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// How many of `pages`, from the first one on, are adjacent.
#[inline]
fn adjacent(pages: &[u32]) -> u32 {
    /// So many are compared at once, by vector instructions.
    const STEPS: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
    let Some(&first) = pages.first() else { return 0 };
    let mut next = first;
    for some in pages.as_chunks::<{ STEPS.len() }>().0 {
        let pairs = some.iter().zip(STEPS);
        if !pairs.fold(true, |all, (&page, step)| all & (page == next + step)) {
            break;
        }
        next += 8;
    }
    for &page in &pages[(next - first) as usize..] {
        if page != next {
            break;
        }
        next += 1;
    }
    next - first
}

/// The page map and its reverse.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    geometry: Geometry,
    /// By logical page: the number of the physical page.
    physical: Vec<u32>,
    /// By physical page: the logical page; meaningful where the bit in `valid` is set.
    logical: Vec<u32>,
    /// The valid bits; each block begins at a word.
    valid: Vec<u64>,
    words: usize,
}

impl Table {
    /// A map of `pages` logical pages, none with data.
    pub(crate) fn new(geometry: Geometry, pages: u32) -> Self {
        let words = geometry.pages_per_block().div_ceil(64) as usize;
        Self {
            geometry,
            physical: vec![NOWHERE; pages as usize],
            logical: vec![NOWHERE; geometry.pages() as usize],
            valid: vec![0; words * geometry.blocks() as usize],
            words,
        }
    }

    /// Logical pages.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.physical.len()).expect("pages are numbered by u32")
    }

    /// The physical page of a logical page.
    #[inline]
    pub(crate) fn get(&self, logical: u32) -> Option<Page> {
        match self.physical[logical as usize] {
            NOWHERE => None,
            physical => Some(self.geometry.locate(physical)),
        }
    }

    /// The logical page that a valid page holds.
    pub(crate) fn holder(&self, page: Page) -> Option<u32> {
        let physical = self.geometry.first_page(page.block) + page.offset;
        self.is_valid(page).then(|| self.logical[physical as usize])
    }

    #[inline]
    fn is_valid(&self, page: Page) -> bool {
        self.valid[self.word(page.block, page.offset)] >> (page.offset % 64) & 1 == 1
    }

    #[inline]
    fn word(&self, block: u32, offset: u32) -> usize {
        block as usize * self.words + (offset / 64) as usize
    }

    /// Prefetches what an overwrite of each of `pages` needs, so that the distant reads overlap.
    /// The blocks of the pages are appended to `found`.
    #[inline]
    pub(crate) fn prefetch(&self, pages: &[u32], found: &mut Vec<u32>) {
        found.clear();
        found.extend(pages.iter().map(|&page| self.physical[page as usize]));
        found.retain_mut(|physical| {
            let page = self.geometry.locate(*physical);
            let valid = *physical != NOWHERE && self.is_valid(page);
            *physical = page.block;
            valid
        });
    }

    /// Maps a logical page to `to`. Returns its former physical page, which is no longer valid.
    #[inline]
    pub(crate) fn set(&mut self, logical: u32, to: Page) -> Option<Page> {
        let physical = self.geometry.first_page(to.block) + to.offset;
        let old = std::mem::replace(&mut self.physical[logical as usize], physical);
        self.logical[physical as usize] = logical;
        let word = self.word(to.block, to.offset);
        self.valid[word] |= 1 << (to.offset % 64);
        self.dropped(old)
    }

    #[inline]
    fn dropped(&mut self, old: u32) -> Option<Page> {
        if old == NOWHERE {
            return None;
        }
        let page = self.geometry.locate(old);
        let word = self.word(page.block, page.offset);
        self.valid[word] &= !(1 << (page.offset % 64));
        Some(page)
    }

    /// The physical page of `first`, and how many of the `count` logical pages from it on are
    /// adjacent in that block, or have no data either: at least one.
    #[inline]
    pub(crate) fn neighbours(&self, first: u32, count: u32) -> (Option<Page>, u32) {
        let run = &self.physical[first as usize..(first + count) as usize];
        let Some(page) = self.get(first) else {
            let some = run.iter().position(|&physical| physical != NOWHERE);
            return (None, some.map_or(count, |some| u32::try_from(some).expect("at most count")));
        };
        let most = count.min(self.geometry.pages_per_block() - page.offset);
        (Some(page), adjacent(&run[..most as usize]))
    }

    /// Invalidates `count` physical pages from `first` on.
    #[inline]
    pub(crate) fn drop_run(&mut self, first: Page, count: u32) {
        self.each_word(first, count, |word, mask| *word &= !mask);
    }

    /// Unmaps the logical pages from `first` on.
    pub(crate) fn clear_run(&mut self, first: u32, count: u32) {
        self.physical[first as usize..(first + count) as usize].fill(NOWHERE);
    }

    /// Maps the logical pages from `logical` on to the pages from `to` on.
    #[inline]
    pub(crate) fn set_run(&mut self, logical: u32, to: Page, count: u32) {
        let physical = self.geometry.first_page(to.block) + to.offset;
        let forward = &mut self.physical[logical as usize..(logical + count) as usize];
        // Ranges with an end: what `physical..` and `count()` do about overflow is the choice of
        // the crate that compiles them.
        forward.iter_mut().zip(physical..physical + count).for_each(|(entry, page)| *entry = page);
        let back = &mut self.logical[physical as usize..(physical + count) as usize];
        back.iter_mut().zip(logical..logical + count).for_each(|(entry, page)| *entry = page);
        self.each_word(to, count, |word, mask| *word |= mask);
    }

    /// Calls `change` with each word of valid bits of `count` pages from `first` on, and with the
    /// mask of those pages.
    #[inline]
    fn each_word(&mut self, first: Page, count: u32, change: impl Fn(&mut u64, u64)) {
        let (mut offset, end) = (first.offset, first.offset + count);
        while offset < end {
            let bits = (64 - offset % 64).min(end - offset);
            let mask = (u64::MAX >> (64 - bits)) << (offset % 64);
            let word = self.word(first.block, offset);
            change(&mut self.valid[word], mask);
            offset += bits;
        }
    }

    /// Appends the offsets of all valid pages of `block`, in order.
    #[inline]
    pub(crate) fn valid_offsets(&self, block: u32, offsets: &mut Vec<u32>) {
        let from = block as usize * self.words;
        for (word, first) in self.valid[from..from + self.words].iter().zip((0_u32..).step_by(64)) {
            let mut rest = *word;
            while rest != 0 {
                offsets.push(first + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
    }

    /// Maps the logical pages at `offsets` of the block `from` to the pages from `to` on. The old
    /// pages stay marked as valid until [`Table::drop_block`].
    #[inline]
    pub(crate) fn relocate(&mut self, from: u32, offsets: &[u32], to: Page) {
        let count = u32::try_from(offsets.len()).expect("at most a block");
        let source = self.geometry.first_page(from);
        let target = self.geometry.first_page(to.block) + to.offset;
        for (&offset, physical) in offsets.iter().zip(target..target + count) {
            let logical = self.logical[(source + offset) as usize];
            self.logical[physical as usize] = logical;
        }
        // A loop of its own, so that the distant writes of many pages overlap.
        let moved = &self.logical[target as usize..(target + count) as usize];
        for (&logical, physical) in moved.iter().zip(target..target + count) {
            self.physical[logical as usize] = physical;
        }
        self.each_word(to, count, |word, mask| *word |= mask);
    }

    /// As [`Table::relocate`], with stale pages among them, whose copies belong to no logical page.
    /// Returns how many were valid.
    pub(crate) fn relocate_all(&mut self, from: u32, offsets: &[u32], to: Page) -> u32 {
        let (source, target) = (self.geometry.first_page(from), self.geometry.first_page(to.block));
        let mut valid = 0;
        for (&offset, offset_to) in offsets.iter().zip(to.offset..) {
            let physical = target + offset_to;
            if !self.is_valid(Page { block: from, offset }) {
                self.logical[physical as usize] = NOWHERE;
                continue;
            }
            let logical = self.logical[(source + offset) as usize];
            self.logical[physical as usize] = logical;
            self.physical[logical as usize] = physical;
            let word = self.word(to.block, offset_to);
            self.valid[word] |= 1 << (offset_to % 64);
            valid += 1;
        }
        valid
    }

    /// The logical pages of a run of physical ones.
    pub(crate) fn logical_run(&self, first: Page, count: u32) -> &[u32] {
        let physical = self.geometry.first_page(first.block) + first.offset;
        &self.logical[physical as usize..(physical + count) as usize]
    }

    /// Invalidates all pages of `block`.
    pub(crate) fn drop_block(&mut self, block: u32) {
        let from = block as usize * self.words;
        self.valid[from..from + self.words].fill(0);
    }
}
