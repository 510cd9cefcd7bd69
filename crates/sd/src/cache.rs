//! The volatile write cache of an eMMC or of a card of performance class A2.
//!
//! Layer: below the card. Main type: [`Cache`]. It holds whole pages of the map, some of them only
//! in part, and evicts them oldest first. Its content is lost at a power cut.

use boardlab_sim::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Which blocks of a page were written.
pub(crate) type BlockMask = u128;

/// The largest page: it has no more blocks than [`BlockMask`] has bits.
pub(crate) const LARGEST_PAGE: Bytes = Bytes::kib(64);

/// The bits of the blocks in `blocks`.
pub(crate) fn filled(blocks: Range<u32>) -> BlockMask {
    let ones = |count: u32| if count >= 128 { BlockMask::MAX } else { (1 << count) - 1 };
    ones(blocks.end) & !ones(blocks.start)
}

/// Pages that are not on flash yet, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    /// The number of pages that fit.
    room: usize,
    pages: BTreeMap<u32, BlockMask>,
    order: VecDeque<u32>,
}

impl Cache {
    pub(crate) const fn new(room: usize) -> Self {
        Self { room, pages: BTreeMap::new(), order: VecDeque::new() }
    }

    /// Whether it holds more pages than fit.
    pub(crate) fn is_over(&self) -> bool {
        self.order.len() > self.room
    }

    /// Whether it holds nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Prepares for `count` whole pages from `first` on. If they would evict everything else they
    /// bypass the cache, and their cached copies are dropped. Returns whether they do.
    pub(crate) fn yields(&mut self, first: u32, count: u32) -> bool {
        if (count as usize) < self.room {
            return false;
        }
        let end = first + count;
        if self.pages.range(first..end).next().is_some() {
            self.pages.retain(|page, _| !(first..end).contains(page));
            self.order.retain(|page| !(first..end).contains(page));
        }
        true
    }

    /// Adds written blocks of a page.
    pub(crate) fn put(&mut self, page: u32, blocks: BlockMask) {
        let order = &mut self.order;
        let held = self.pages.entry(page).or_insert_with(|| {
            order.push_back(page);
            0
        });
        *held |= blocks;
    }

    /// The cached blocks of a page.
    pub(crate) fn holds(&self, page: u32) -> BlockMask {
        self.pages.get(&page).copied().unwrap_or(0)
    }

    /// Removes a page out of order, because the host discarded it or made it durable.
    pub(crate) fn remove(&mut self, page: u32) -> Option<BlockMask> {
        let blocks = self.pages.remove(&page)?;
        self.order.retain(|&held| held != page);
        Some(blocks)
    }

    /// Takes the oldest page and those that follow it, up to `most` in all, and which blocks of
    /// each were written.
    pub(crate) fn take(&mut self, most: u32, run: &mut Vec<(u32, BlockMask)>) -> bool {
        run.clear();
        while let Some(&page) = self.order.front() {
            let follows = run.last().is_none_or(|&(last, _)| page == last + 1);
            if !follows || run.len() >= most as usize {
                break;
            }
            self.order.pop_front();
            run.push((page, self.pages.remove(&page).unwrap_or(0)));
        }
        !run.is_empty()
    }

    /// Drops everything at a power cut.
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.order.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{Cache, filled};

    #[test]
    fn blocks_of_a_page_are_bits() {
        assert_eq!(filled(0..3), 0b111);
        assert_eq!(filled(2..4), 0b1100);
        assert_eq!(filled(0..128), u128::MAX);
        assert_eq!(filled(5..5), 0);
    }

    #[test]
    fn pages_leave_in_the_order_in_which_they_came_and_in_runs() {
        let mut cache = Cache::new(3);
        for (page, blocks) in [(8, 1), (9, 1), (4, 1), (8, 2)] {
            cache.put(page, blocks);
        }
        assert!(!cache.is_over(), "three pages fit");
        cache.put(10, 2);
        assert!(cache.is_over(), "four do not");
        let mut run = Vec::new();
        assert!(cache.take(8, &mut run));
        assert_eq!(run, [(8, 3), (9, 1)]);
        assert_eq!(cache.remove(4), Some(1));
        assert!(cache.take(8, &mut run));
        assert_eq!(run, [(10, 2)]);
        assert!(!cache.take(8, &mut run));
    }
}
