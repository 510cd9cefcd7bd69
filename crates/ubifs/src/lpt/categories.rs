//! Lists and heaps of LEBs, by what they can be used for.
//!
//! Layer: rank 5. Main types: [`Category`], [`SpaceLists`]. LEBs whose properties are in memory are in
//! exactly one category. Lists take new ones at the front; heaps have the LEB with the most space at the
//! top, and at most 256 LEBs. LEBs are known here by their position in the main area.
//!
//! Source: Linux 6.1, `fs/ubifs/lprops.c`. Where the kernel replaces an entry of a full heap, it picks it
//! by a memory address; here the number of the LEB takes that part.

use crate::format::{u32_of, usize_of};
use crate::lprops::flag;
use crate::lpt::Slot;
use crate::{LebIndex, Lebs, Volume};
use boardlab_vfs::Contradiction;

/// The most LEBs of a heap (`LPT_HEAP_SZ`).
const HEAP_MAX: usize = 256;
/// No LEB.
const NONE: u32 = u32::MAX;

/// What a LEB can be used for (`LPROPS_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Category {
    /// For nothing, or it did not fit the heap.
    #[default]
    Uncategorized,
    /// Has more dirty than free space: for garbage collection.
    Dirty,
    /// Has indexing nodes, and space between them.
    DirtyIndex,
    /// Has free space.
    Free,
    /// Is empty.
    Empty,
    /// Has only free and dirty space.
    Freeable,
    /// The same, and was of the index.
    FreeableIndex,
}

impl Category {
    /// The position of its heap; `None` for a list.
    const fn heap(self) -> Option<usize> {
        match self {
            Self::Dirty => Some(0),
            Self::DirtyIndex => Some(1),
            Self::Free => Some(2),
            _ => None,
        }
    }

    /// The position of its list; `None` for a heap.
    const fn list(self) -> Option<usize> {
        match self {
            Self::Uncategorized => Some(0),
            Self::Empty => Some(1),
            Self::Freeable => Some(2),
            Self::FreeableIndex => Some(3),
            _ => None,
        }
    }

    /// What a heap is sorted by.
    const fn value(self, slot: &Slot) -> u32 {
        match self {
            Self::Free => slot.free,
            Self::DirtyIndex => slot.free + slot.dirty,
            _ => slot.dirty,
        }
    }
}

/// The lists and heaps.
#[derive(Debug, Clone)]
pub(crate) struct SpaceLists {
    /// The first LEB of each list.
    heads: [u32; 4],
    /// The heaps.
    heaps: [Vec<u32>; 3],
    /// LEBs on the list of freeable ones.
    pub(crate) freeable_count: u32,
    /// LEBs in any category.
    pub(crate) count: u32,
    /// The dirtiest index LEBs at the start of the last commit, the dirtiest last.
    pub(crate) dirtiest_index: Vec<LebIndex>,
}

impl Default for SpaceLists {
    fn default() -> Self {
        let heaps = [Vec::new(), Vec::new(), Vec::new()];
        Self { heads: [NONE; 4], heaps, freeable_count: 0, count: 0, dirtiest_index: Vec::new() }
    }
}

impl<L: Lebs> Volume<L> {
    /// The category that a LEB belongs to (`ubifs_categorize_lprops`).
    pub(crate) fn categorize(&self, slot: &Slot) -> Category {
        let (leb_size, is_index) = (self.layout.leb_size, slot.flags & flag::INDEX != 0);
        let space = slot.free + slot.dirty;
        if slot.flags & flag::TAKEN != 0 {
            Category::Uncategorized
        } else if slot.free == leb_size {
            assert!(!is_index, "an empty LEB of the index");
            Category::Empty
        } else if space == leb_size {
            if is_index { Category::FreeableIndex } else { Category::Freeable }
        } else if is_index {
            let usable = space >= self.layout.min_idx_node_sz;
            if usable { Category::DirtyIndex } else { Category::Uncategorized }
        } else if slot.dirty >= self.layout.dead_wm && slot.dirty > slot.free {
            Category::Dirty
        } else if slot.free > 0 {
            Category::Free
        } else {
            Category::Uncategorized
        }
    }

    /// Adds a LEB to a category; if its heap is full, perhaps to none (`ubifs_add_to_cat`).
    pub(crate) fn add_to_category(&mut self, index: u32, category: Category) {
        let mut category = category;
        if let Some(heap) = category.heap()
            && !self.add_to_heap(index, heap, category)
        {
            category = Category::Uncategorized;
        }
        if let Some(list) = category.list() {
            self.push_on_list(index, list);
        }
        self.lists.freeable_count += u32::from(category == Category::Freeable);
        self.lpt.slot_mut(index).category = category;
        self.lists.count += 1;
    }

    fn remove_from_category(&mut self, index: u32) {
        let category = self.lpt.slot(index).category;
        match (category.heap(), category.list()) {
            (Some(heap), _) => self.remove_from_heap(index, heap, category),
            (_, Some(list)) => self.remove_from_list(index, list),
            (None, None) => unreachable!("a category is a heap or a list"),
        }
        self.lists.freeable_count -= u32::from(category == Category::Freeable);
        self.lists.count -= 1;
    }

    /// Moves a LEB whose properties changed to its category (`change_category`).
    pub(crate) fn change_category(&mut self, index: u32) {
        let slot = *self.lpt.slot(index);
        let new = self.categorize(&slot);
        if new != slot.category {
            self.remove_from_category(index);
            self.add_to_category(index, new);
        } else if let Some(heap) = new.heap() {
            self.sift(heap, usize_of(slot.before), new);
        }
    }

    /// Adds a LEB that did not fit its heap to it, if it fits now (`ubifs_ensure_cat`).
    pub(crate) fn ensure_category(&mut self, index: u32) {
        let slot = *self.lpt.slot(index);
        let right = self.categorize(&slot);
        if slot.category == Category::Uncategorized && right != Category::Uncategorized {
            self.remove_from_category(index);
            self.add_to_category(index, right);
        }
    }

    fn push_on_list(&mut self, index: u32, list: usize) {
        let behind = std::mem::replace(&mut self.lists.heads[list], index);
        if behind != NONE {
            self.lpt.slot_mut(behind).before = index;
        }
        let slot = self.lpt.slot_mut(index);
        (slot.before, slot.behind) = (NONE, behind);
    }

    fn remove_from_list(&mut self, index: u32, list: usize) {
        let Slot { before, behind, .. } = *self.lpt.slot(index);
        if before == NONE {
            self.lists.heads[list] = behind;
        } else {
            self.lpt.slot_mut(before).behind = behind;
        }
        if behind != NONE {
            self.lpt.slot_mut(behind).before = before;
        }
    }

    /// Adds to a heap; if it is full, in place of a LEB at its bottom that has less. Returns whether it
    /// was added (`add_to_lpt_heap`).
    fn add_to_heap(&mut self, index: u32, heap: usize, category: Category) -> bool {
        let length = self.lists.heaps[heap].len();
        if length < HEAP_MAX {
            self.lists.heaps[heap].push(index);
            self.rise(heap, length, category);
            return true;
        }
        let bottom = HEAP_MAX / 2 - 1;
        let at = (usize_of(index) & bottom) + bottom;
        let other = self.lists.heaps[heap][at];
        if category.value(self.lpt.slot(index)) <= category.value(self.lpt.slot(other)) {
            return false;
        }
        self.lpt.slot_mut(other).category = Category::Uncategorized;
        self.push_on_list(other, 0);
        self.lists.heaps[heap][at] = index;
        self.rise(heap, at, category);
        true
    }

    fn remove_from_heap(&mut self, index: u32, heap: usize, category: Category) {
        let at = usize_of(self.lpt.slot(index).before);
        assert_eq!(self.lists.heaps[heap][at], index, "the position of a LEB on its heap");
        let last = self.lists.heaps[heap].pop().expect("the LEB is on the heap");
        if at < self.lists.heaps[heap].len() {
            self.lists.heaps[heap][at] = last;
            self.lpt.slot_mut(last).before = u32_of(at);
            self.sift(heap, at, category);
        }
    }

    fn heap_value(&self, heap: usize, at: usize, category: Category) -> u32 {
        category.value(self.lpt.slot(self.lists.heaps[heap][at]))
    }

    fn swap(&mut self, heap: usize, a: usize, b: usize) {
        self.lists.heaps[heap].swap(a, b);
        for at in [a, b] {
            let index = self.lists.heaps[heap][at];
            self.lpt.slot_mut(index).before = u32_of(at);
        }
    }

    /// Moves an entry up as far as it is greater than those above (`move_up_lpt_heap`). Returns whether
    /// it moved.
    fn rise(&mut self, heap: usize, mut at: usize, category: Category) -> bool {
        let start = at;
        let index = self.lists.heaps[heap][at];
        self.lpt.slot_mut(index).before = u32_of(at);
        while at > 0 {
            let above = (at - 1) / 2;
            if self.heap_value(heap, above, category) >= self.heap_value(heap, at, category) {
                break;
            }
            self.swap(heap, at, above);
            at = above;
        }
        at != start
    }

    /// Moves an entry whose value changed up or down (`adjust_lpt_heap`).
    fn sift(&mut self, heap: usize, mut at: usize, category: Category) {
        if self.rise(heap, at, category) {
            return;
        }
        let length = self.lists.heaps[heap].len();
        loop {
            let left = at * 2 + 1;
            if left >= length {
                return;
            }
            let value = |it: usize| self.heap_value(heap, it, category);
            let right = left + 1;
            let larger = if right < length && value(right) > value(left) { right } else { left };
            if value(at) >= value(larger) {
                return;
            }
            self.swap(heap, at, larger);
            at = larger;
        }
    }

    /// The LEBs of a heap, the top first.
    pub(crate) fn heap(&self, category: Category) -> &[u32] {
        category.heap().map_or(&[], |heap| &self.lists.heaps[heap])
    }

    /// Whether a heap has no room.
    pub(crate) fn heap_is_full(&self, category: Category) -> bool {
        self.heap(category).len() >= HEAP_MAX
    }

    /// The LEBs of a list, the last added first.
    pub(crate) fn list(&self, category: Category) -> impl Iterator<Item = u32> + '_ {
        let mut next = category.list().map_or(NONE, |list| self.lists.heads[list]);
        std::iter::from_fn(move || {
            let index = Some(next).filter(|&index| index != NONE)?;
            next = self.lpt.slot(index).behind;
            Some(index)
        })
    }

    /// The LEBs that are worth loading after a mount, at most `count` (`populate_lsave`).
    pub(crate) fn interesting_lebs(&self, count: usize) -> Vec<LebIndex> {
        let lists = [Category::Empty, Category::Freeable, Category::FreeableIndex];
        let heaps = [Category::DirtyIndex, Category::Dirty, Category::Free];
        let listed = lists.into_iter().flat_map(|one| self.list(one));
        let heaped = heaps.into_iter().flat_map(|one| self.heap(one).iter().copied());
        listed.chain(heaped).take(count).map(|index| self.main_leb(index)).collect()
    }

    /// The LEB at a position of the main area.
    pub(crate) const fn main_leb(&self, index: u32) -> LebIndex {
        LebIndex(self.layout.main_first.0 + index)
    }

    /// Compares lists, heaps and properties in memory (`dbg_check_cats`, `dbg_check_heap`).
    ///
    /// # Errors
    /// What contradicts what.
    pub(crate) fn compare_lists(&self) -> Result<(), Contradiction> {
        let wrong = |what: String| Err(Contradiction(what));
        let mut counted = 0;
        let lists =
            [Category::Uncategorized, Category::Empty, Category::Freeable, Category::FreeableIndex];
        for category in lists {
            let mut before = NONE;
            for index in self.list(category) {
                let slot = self.lpt.slot(index);
                let fits = category == Category::Uncategorized || self.categorize(slot) == category;
                if slot.category != category || slot.before != before || !fits {
                    return wrong(format!("LEB {} on list {category:?}", self.main_leb(index)));
                }
                (before, counted) = (index, counted + 1);
                if counted > self.layout.main_lebs {
                    return wrong(format!("list {category:?} has no end"));
                }
            }
        }
        for category in [Category::Dirty, Category::DirtyIndex, Category::Free] {
            for (at, &index) in self.heap(category).iter().enumerate() {
                let slot = self.lpt.slot(index);
                let above = self.heap(category)[at.saturating_sub(1) / 2];
                let ordered = category.value(self.lpt.slot(above)) >= category.value(slot);
                let placed = slot.category == category && usize_of(slot.before) == at;
                if !ordered || !placed || self.categorize(slot) != category {
                    return wrong(format!("LEB {} on heap {category:?}", self.main_leb(index)));
                }
                counted += 1;
            }
        }
        let freeable = u32_of(self.list(Category::Freeable).count());
        if counted != self.lists.count || freeable != self.lists.freeable_count {
            return wrong(format!(
                "{counted} LEBs in categories, {freeable} freeable; counters {} and {}",
                self.lists.count, self.lists.freeable_count
            ));
        }
        self.compare_lpt()
    }
}
