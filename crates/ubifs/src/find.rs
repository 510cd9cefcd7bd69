//! The choice of a LEB: for garbage collection, for new nodes, for the index.
//!
//! Layer: rank 5. First the [lists and heaps](crate::lpt::categories) are asked; then what is in memory but
//! did not fit a heap; at last the LEB properties tree is scanned on flash.
//!
//! Source: Linux 6.1, `fs/ubifs/find.c`, and `lib/sort.c` for the order of index LEBs of equal space.

use crate::lprops::{Lprops, flag};
use crate::lpt::ScanStep;
use crate::lpt::categories::Category;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// What a LEB for garbage collection must have.
#[derive(Debug, Clone, Copy)]
struct DirtyNeed {
    /// The least free and dirty bytes.
    min_space: u32,
    /// Whether it may have only free and dirty space.
    pick_free: bool,
    /// Whether it must not be of the index.
    exclude_index: bool,
}

/// Sorts as the kernel's `sort` does, whose order of equal values decides which LEB is used. Bottom-up
/// heapsort: an item first sinks to a leaf along the greater children, then rises to its place.
fn heap_sort<T>(items: &mut [T], key: impl Fn(&T) -> u32) {
    let (mut unsorted, mut root) = (items.len(), items.len() / 2);
    while unsorted > 1 || root > 0 {
        if root > 0 {
            root -= 1;
        } else {
            unsorted -= 1;
            items.swap(0, unsorted);
        }
        let mut at = root;
        while 2 * at + 2 < unsorted {
            let left = 2 * at + 1;
            at = if key(&items[left]) >= key(&items[left + 1]) { left } else { left + 1 };
        }
        if 2 * at + 2 == unsorted {
            at = 2 * at + 1;
        }
        while at != root && key(&items[root]) >= key(&items[at]) {
            at = (at - 1) / 2;
        }
        let place = at;
        while at != root {
            at = (at - 1) / 2;
            items.swap(at, place);
        }
    }
}

impl<L: Lebs> Volume<L> {
    /// The properties of the LEB at a position of the main area, in memory.
    fn main_lprops(&self, index: u32) -> Lprops {
        self.lprops(self.main_leb(index))
    }

    /// The first LEB of a list, or the top of a heap.
    fn first_of(&self, category: Category) -> Option<Lprops> {
        let top = self.heap(category).first().copied();
        top.or_else(|| self.list(category).next()).map(|index| self.main_lprops(index))
    }

    /// The LEB with the most free space (`ubifs_fast_find_free`).
    pub(crate) fn fast_find_free(&self) -> Option<Lprops> {
        self.first_of(Category::Free)
    }

    /// An empty LEB (`ubifs_fast_find_empty`).
    pub(crate) fn fast_find_empty(&self) -> Option<Lprops> {
        self.first_of(Category::Empty)
    }

    /// A LEB with only free and dirty space (`ubifs_fast_find_freeable`).
    pub(crate) fn fast_find_freeable(&self) -> Option<Lprops> {
        self.first_of(Category::Freeable)
    }

    /// The same of the index (`ubifs_fast_find_frdi_idx`).
    pub(crate) fn fast_find_frdi_idx(&self) -> Option<Lprops> {
        self.first_of(Category::FreeableIndex)
    }

    /// LEBs with only free and dirty space that are known (`freeable_cnt`).
    pub(crate) const fn freeable_count(&self) -> u32 {
        self.lists.freeable_count
    }

    /// Whether properties that a scan has read are worth keeping in memory (`valuable`).
    fn is_valuable(&self, lp: Lprops) -> bool {
        let Lprops { free, dirty, flags, .. } = lp;
        let category =
            self.categorize(&crate::lpt::Slot { free, dirty, flags, ..Default::default() });
        match category {
            Category::Dirty | Category::DirtyIndex | Category::Free => {
                !self.heap_is_full(category) || free + dirty >= self.layout.dark_wm
            }
            Category::Empty => {
                let known = self.lst.empty_lebs + i64::from(self.lists.freeable_count);
                known - self.lst.taken_empty_lebs < i64::from(self.sb.lsave_count)
            }
            Category::Freeable | Category::FreeableIndex => true,
            Category::Uncategorized => false,
        }
    }

    /// Scans the tree from behind the last find on for a LEB that `fits`, and makes it dirty there.
    fn scan_for(
        &mut self,
        clock: &mut Clock,
        fits: &dyn Fn(&Self, Lprops) -> bool,
    ) -> Result<Option<Lprops>, Error> {
        let last = self.lpt.lscan_lnum;
        let found = self.lpt_scan(clock, None, last, &mut |volume, lp, in_memory| {
            if lp.is_taken() {
                ScanStep::Continue
            } else if fits(volume, lp) {
                ScanStep::Stop
            } else if !in_memory && volume.is_valuable(lp) {
                ScanStep::Add
            } else {
                ScanStep::Continue
            }
        })?;
        let Some(lp) = found else { return Ok(None) };
        self.lpt.lscan_lnum = lp.leb;
        self.lpt_lookup_dirty(clock, lp.leb).map(Some)
    }

    /// Marks a LEB as taken.
    fn take(&mut self, clock: &mut Clock, lp: Lprops) -> Result<Lprops, Error> {
        self.change_lp(clock, lp, None, None, lp.flags | flag::TAKEN)
    }

    /// Takes a dirty LEB for garbage collection (`ubifs_find_dirty_leb`). `pick_free` 1 also takes empty
    /// ones if the index has its share, 2 the same but none of the index. `None` when there is none.
    ///
    /// # Errors
    /// A damaged node of the LEB properties tree, and any of the LEBs.
    pub(crate) fn find_dirty_leb(
        &mut self,
        clock: &mut Clock,
        min_space: u32,
        pick_free: u8,
    ) -> Result<Option<Lprops>, Error> {
        let (min_idx, idx_lebs) = (i64::from(self.bi.min_idx_lebs), self.lst.idx_lebs);
        let is_short = min_idx >= idx_lebs;
        let mut need = DirtyNeed {
            min_space,
            pick_free: pick_free > 0,
            exclude_index: pick_free == 2 || is_short,
        };
        if need.pick_free {
            let reserved = if is_short { min_idx - idx_lebs } else { 0 };
            let free =
                self.lst.empty_lebs + self.gc.idx_gc_cnt() + i64::from(self.lists.freeable_count)
                    - self.lst.taken_empty_lebs;
            if reserved < free {
                if let Some(lp) = self.fast_find_empty().or_else(|| self.fast_find_freeable()) {
                    return self.take(clock, lp).map(Some);
                }
            } else {
                need.pick_free = false;
            }
        }
        let found = match self.dirtiest(need) {
            Some(lp) => Some(lp),
            None => self.scan_for_dirty(clock, need)?,
        };
        found.map(|lp| self.take(clock, lp)).transpose()
    }

    /// The better of the tops of the two heaps of dirty LEBs.
    fn dirtiest(&self, need: DirtyNeed) -> Option<Lprops> {
        let space = |lp: &Lprops| lp.free + lp.dirty;
        // An index LEB is worth it only if half of it is space: the index is also cleaned by commits.
        let least = need.min_space.max(self.layout.half_leb_size);
        let index = self.first_of(Category::DirtyIndex).filter(|_| !need.exclude_index);
        let index = index.filter(|lp| space(lp) >= least);
        let data = self.first_of(Category::Dirty).filter(|lp| space(lp) >= need.min_space);
        match (index, data) {
            (Some(index), Some(data)) if space(&index) >= space(&data) => Some(index),
            (index, None) => index,
            (_, data) => data,
        }
    }

    fn scan_for_dirty(
        &mut self,
        clock: &mut Clock,
        need: DirtyNeed,
    ) -> Result<Option<Lprops>, Error> {
        let (dead_wm, leb_size) = (self.layout.dead_wm, self.layout.leb_size);
        let dirty = |lp: &Lprops| lp.free + lp.dirty >= need.min_space && lp.dirty >= dead_wm;
        let free_heap = self.heap(Category::Free).iter().map(|&index| self.main_lprops(index));
        if let Some(lp) = free_heap.into_iter().find(dirty) {
            return Ok(Some(lp));
        }
        let other = self.list(Category::Uncategorized).map(|index| self.main_lprops(index));
        let usable = |lp: &Lprops| !(lp.is_taken() || need.exclude_index && lp.is_index());
        if let Some(lp) = other.into_iter().find(|lp| usable(lp) && dirty(lp)) {
            return Ok(Some(lp));
        }
        if self.lpt.is_complete() {
            return Ok(None);
        }
        self.scan_for(clock, &|_, lp| {
            let space = lp.free + lp.dirty;
            let clean = if space == leb_size { !need.pick_free } else { lp.dirty < dead_wm };
            space >= need.min_space && !(need.exclude_index && lp.is_index()) && !clean
        })
    }

    /// Takes a LEB with free space for new nodes (`ubifs_find_free_space`). `squeeze` prefers LEBs that
    /// are partly used. Returns the LEB, the offset, and its free bytes; `None` when there is none.
    ///
    /// # Errors
    /// As [`Volume::find_dirty_leb`].
    pub(crate) fn find_free_space(
        &mut self,
        clock: &mut Clock,
        min_space: u32,
        squeeze: bool,
    ) -> Result<Option<(LebIndex, u32, u32)>, Error> {
        let reserved = (i64::from(self.bi.min_idx_lebs) - self.lst.idx_lebs).max(0);
        let empty = self.lst.empty_lebs - self.lst.taken_empty_lebs;
        let free = empty + i64::from(self.lists.freeable_count) + self.gc.idx_gc_cnt();
        let pick_free = reserved < free && empty > 0;
        // The one that is searched for counts as taken meanwhile.
        self.lst.taken_empty_lebs += i64::from(pick_free);
        let found = self.do_find_free_space(clock, min_space, (pick_free, squeeze));
        self.lst.taken_empty_lebs -= i64::from(pick_free);
        let Some(lp) = found? else { return Ok(None) };
        self.take(clock, lp)?;
        let offs = self.layout.leb_size - lp.free;
        if offs == 0 {
            // After an unclean unmount an empty LEB may be mapped.
            self.leb_unmap(clock, lp.leb)?;
        }
        Ok(Some((lp.leb, offs, lp.free)))
    }

    fn do_find_free_space(
        &mut self,
        clock: &mut Clock,
        min_space: u32,
        (pick_free, squeeze): (bool, bool),
    ) -> Result<Option<Lprops>, Error> {
        let leb_size = self.layout.leb_size;
        let roomy = |lp: &Lprops| lp.free >= min_space;
        let partly = self.fast_find_free().filter(roomy);
        let empty = self.fast_find_empty().filter(|_| pick_free);
        let first = if squeeze { partly.or(empty) } else { empty.or(partly) };
        if first.is_some() {
            return Ok(first);
        }
        let dirty = self.heap(Category::Dirty).iter().map(|&index| self.main_lprops(index));
        if let Some(lp) = dirty.into_iter().find(roomy) {
            return Ok(Some(lp));
        }
        let other = self.list(Category::Uncategorized).map(|index| self.main_lprops(index));
        let usable = |lp: &Lprops| !lp.is_taken() && !lp.is_index();
        if let Some(lp) = other.into_iter().find(|lp| usable(lp) && roomy(lp)) {
            return Ok(Some(lp));
        }
        if self.lpt.is_complete() {
            return Ok(None);
        }
        self.scan_for(clock, &|_, lp| {
            // What is only free and dirty may be unmapped, or obsolete by nodes in a write buffer.
            let freeable = lp.free + lp.dirty == leb_size && lp.dirty > 0;
            let empty = lp.free == leb_size && !pick_free;
            !lp.is_index() && lp.free >= min_space && !freeable && !empty
        })
    }

    /// Takes an empty LEB for the index (`ubifs_find_free_leb_for_idx`).
    ///
    /// # Errors
    /// As [`Volume::find_dirty_leb`].
    pub(crate) fn find_free_leb_for_idx(
        &mut self,
        clock: &mut Clock,
    ) -> Result<Option<LebIndex>, Error> {
        let leb_size = self.layout.leb_size;
        let mut found = self.fast_find_empty().or_else(|| self.fast_find_freeable());
        let unknown = self.lists.count != self.layout.main_lebs
            || self.lst.empty_lebs - self.lst.taken_empty_lebs > 0;
        if found.is_none() && unknown {
            found =
                self.scan_for(clock, &|_, lp| !lp.is_index() && lp.free + lp.dirty == leb_size)?;
        }
        let Some(lp) = found else { return Ok(None) };
        let flags = lp.flags | flag::TAKEN | flag::INDEX;
        self.change_lp(clock, lp, Some(leb_size), Some(0), flags)?;
        if let Err(error) = self.leb_unmap(clock, lp.leb) {
            let clean = (0, flag::TAKEN | flag::INDEX);
            self.change_one_lp(clock, lp.leb, None, None, clean)?;
            return Err(error);
        }
        Ok(Some(lp.leb))
    }

    /// Notes the dirtiest index LEBs at the start of a commit (`ubifs_save_dirty_idx_lnums`).
    pub(crate) fn save_dirty_idx_lnums(&mut self) {
        let heap = self.heap(Category::DirtyIndex).iter();
        let mut all: Vec<Lprops> = heap.map(|&index| self.main_lprops(index)).collect();
        heap_sort(&mut all, |lp| lp.free + lp.dirty);
        self.lists.dirtiest_index = all.into_iter().map(|lp| lp.leb).collect();
    }

    /// Takes a dirty LEB of the index, for nodes in its gaps (`ubifs_find_dirty_idx_leb`).
    ///
    /// # Errors
    /// As [`Volume::find_dirty_leb`].
    pub(crate) fn find_dirty_idx_leb(
        &mut self,
        clock: &mut Clock,
    ) -> Result<Option<LebIndex>, Error> {
        while let Some(leb) = self.lists.dirtiest_index.pop() {
            let lp = self.lpt_lookup(clock, leb)?;
            if !lp.is_taken() && lp.is_index() {
                self.take(clock, lp)?;
                return Ok(Some(leb));
            }
        }
        if let Some(lp) = self.scan_for_dirty_index(clock)? {
            self.take(clock, lp)?;
            return Ok(Some(lp.leb));
        }
        let Some(leb) = self.get_idx_gc_leb() else { return Ok(None) };
        // It was to be unmapped after this commit.
        let lp = self.lpt_lookup_dirty(clock, leb)?;
        self.change_lp(clock, lp, None, None, lp.flags | flag::INDEX)?;
        Ok(Some(leb))
    }

    fn scan_for_dirty_index(&mut self, clock: &mut Clock) -> Result<Option<Lprops>, Error> {
        let least = self.layout.min_idx_node_sz;
        let fits = move |lp: Lprops| lp.is_index() && lp.free + lp.dirty >= least;
        let heap = self.heap(Category::DirtyIndex).iter().copied();
        let lists = [Category::FreeableIndex, Category::Uncategorized];
        let lists = lists.into_iter().flat_map(|list| self.list(list));
        let mut known = heap.chain(lists).map(|index| self.main_lprops(index));
        if let Some(lp) = known.find(|&lp| !lp.is_taken() && fits(lp)) {
            drop(known);
            self.lpt.lscan_lnum = lp.leb;
            return self.lpt_lookup_dirty(clock, lp.leb).map(Some);
        }
        drop(known);
        if self.lpt.is_complete() {
            return Ok(None);
        }
        self.scan_for(clock, &move |_, lp| fits(lp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::Seed;

    #[test]
    fn the_sort_of_the_kernel_sorts_any_number_of_items() {
        let mut stream = Seed::new(3).stream("sort");
        for length in 0..70 {
            let mut items: Vec<u32> = (0..length)
                .map(|_| u32::try_from(stream.below(20)).expect("less than 20"))
                .collect();
            let mut sorted = items.clone();
            sorted.sort_unstable();
            heap_sort(&mut items, |&item| item);
            assert_eq!(items, sorted);
        }
    }

    #[test]
    fn the_sort_of_the_kernel_is_not_stable() {
        // What `sort_r` of Linux 6.1 makes of these pairs of key and position.
        let mut items = [(5, 0), (3, 1), (5, 2), (3, 3), (5, 4)];
        heap_sort(&mut items, |&(key, _)| key);
        assert_eq!(items.map(|(_, position)| position), [1, 3, 2, 4, 0]);
    }
}
