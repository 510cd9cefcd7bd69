//! The look-aside tables of one context.
//!
//! Layer: rank 3. [`Tables`] are the [`Hits`] of user mode and of privileged modes, and what they
//! presume of the TLB and the data cache. A translation is often replaced in the TLB and comes back
//! before its lines are evicted, so its entries wait aside, where evictions find them too.

use super::Context;
use super::hits::{DataLine, Hits, LineHit, Marks, Page, set_bits};
use crate::address::{Modified, SLOT, Virtual};
use crate::memory::cache::{self, Cache};
use crate::memory::tlb::{self, Entry as Translation, Tlb};

/// The number of data cache lines compared together.
const COMPARE_GROUP: usize = 32;

/// The bits of a word, in their order.
const BITS: [u32; COMPARE_GROUP] = {
    let (mut bits, mut bit) = ([0; COMPARE_GROUP], 0);
    while bit < COMPARE_GROUP {
        bits[bit] = 1 << bit;
        bit += 1;
    }
    bits
};

/// The number of translations whose entries wait aside, a power of two.
const WAITING: usize = 1 << WAITING_BITS;
const WAITING_BITS: u32 = 6;

/// The bit that a line has entries at a privilege, beside its presence.
const fn entries_at(privileged: bool) -> u32 {
    if privileged { 1 << 4 } else { 1 << 3 }
}

/// The marks of a translation in user mode and in privileged modes.
type PageMarks = Box<[Marks; 2]>;

/// A translation that entries presume, and its entries.
type Presumed = Option<(Translation, PageMarks)>;

/// The entries of a context at both privileges.
#[derive(Debug)]
pub(super) struct Tables {
    /// Those of user mode, and those of privileged modes.
    pub(super) hits: [Box<Hits>; 2],
    /// Those of translations that were replaced.
    aside: [Box<Hits>; 2],
    /// For each line of the data cache the [`cache::presence`] that entries presume, with [`entries_at`] of
    /// their privileges; 0 without entries.
    presumed: Box<[u32]>,
    /// For each place of the TLB the translation with entries in `hits`.
    translations: Box<[Presumed; tlb::PLACES]>,
    /// Translations with entries in `aside`, by [`waiting_place`].
    waiting: Box<[Presumed; WAITING]>,
    /// Marks that nobody uses, all clear.
    spare: Vec<PageMarks>,
    pub(super) context: Context,
}

/// The index of a translation that waits. Those that replace each other in the TLB have common bits.
const fn waiting_place(translation: &Translation) -> usize {
    (translation.base.wrapping_mul(0x9E37_79B9) >> (u32::BITS - WAITING_BITS)) as usize
}

impl Tables {
    /// Creates empty tables, for a data cache with this number of lines.
    pub(super) fn new(context: Context, lines: usize) -> Self {
        let hits = || [(); 2].map(|()| Box::new(Hits::NONE));
        Self {
            hits: hits(),
            aside: hits(),
            presumed: vec![0; lines].into(),
            translations: Box::new([const { None }; tlb::PLACES]),
            waiting: Box::new([const { None }; WAITING]),
            spare: Vec::new(),
            context,
        }
    }

    /// The number of lines of the data cache.
    pub(super) fn data_lines(&self) -> usize {
        self.presumed.len()
    }

    /// All entries.
    fn all_hits(&mut self) -> impl Iterator<Item = &mut Box<Hits>> {
        self.hits.iter_mut().chain(&mut self.aside)
    }

    /// Calls `change` with the tables that may have entries of a line of which they presume this.
    #[inline]
    fn change_each(&mut self, presumed: u32, mut change: impl FnMut(&mut Hits)) {
        let tables = self.hits.iter_mut().zip(&mut self.aside);
        for ((hits, aside), privileged) in tables.zip([false, true]) {
            if presumed & entries_at(privileged) != 0 {
                change(hits);
                change(aside);
            }
        }
    }

    /// Invalidates all entries.
    pub(super) fn clear(&mut self) {
        self.clear_data();
        self.clear_lines();
        let presumed = self.translations.iter_mut().chain(&mut *self.waiting);
        for (_, mut marks) in presumed.filter_map(Option::take) {
            marks.iter_mut().for_each(Marks::clear);
            self.spare.push(marks);
        }
    }

    /// Invalidates all data entries.
    pub(super) fn clear_data(&mut self) {
        self.all_hits().for_each(|hits| hits.clear_data());
        self.presumed.fill(0);
    }

    /// Invalidates all instruction lines.
    pub(super) fn clear_lines(&mut self) {
        self.all_hits().for_each(|hits| hits.clear_lines());
    }

    /// Records that there are entries that presume this translation at its place of the TLB. Returns
    /// their marks.
    #[inline]
    fn presume_translation(
        &mut self,
        (place, translation): (usize, &Translation),
        privileged: bool,
    ) -> &mut Marks {
        // While there are entries, it is the one that they presume.
        let (_, marks) = self.translations[place]
            .get_or_insert_with(|| (*translation, self.spare.pop().unwrap_or_else(no_marks)));
        &mut marks[usize::from(privileged)]
    }

    /// The addresses of a translation.
    fn page(&self, Translation { base, mask, .. }: Translation) -> Page {
        let in_slot = Virtual(base % SLOT);
        let aliased = in_slot.modified(self.context.pid) == Modified(base);
        Page { at: [base, if aliased { in_slot.0 } else { base }], mask }
    }

    /// Whether the translation at a place of the TLB may have entries of instruction lines.
    pub(super) fn has_lines(&self, place: usize) -> bool {
        let presumed = self.translations[place].as_ref();
        presumed.is_some_and(|(_, marks)| marks.iter().any(Marks::has_lines))
    }

    /// Puts the entries of the translation at a place of the TLB aside. A mark of a privilege means that an
    /// access hit by this translation. So while no translations overlap, an entry of its page there is valid
    /// by it; if they do, it may be one of another translation, and is forgotten with its context.
    pub(super) fn drop_translation(&mut self, place: usize) {
        let Some((translation, mut marks)) = self.translations[place].take() else { return };
        let at = waiting_place(&translation);
        self.forget(at);
        let page = self.page(translation);
        let tables = self.hits.iter_mut().zip(&mut self.aside);
        tables
            .zip(&mut *marks)
            .for_each(|((hits, aside), marks)| hits.move_page(aside, page, marks));
        self.waiting[at] = Some((translation, marks));
    }

    /// Forgets the translation that waits at an index, and its entries.
    fn forget(&mut self, at: usize) {
        let Some((translation, mut marks)) = self.waiting[at].take() else { return };
        let page = self.page(translation);
        let aside = self.aside.iter_mut().zip(&mut *marks);
        aside.for_each(|(aside, marks)| aside.drop_page(page, marks));
        self.spare.push(marks);
    }

    /// Whether entries of a translation wait.
    #[inline(always)]
    fn waits(&self, translation: &Translation) -> bool {
        let waiting = &self.waiting[waiting_place(translation)];
        waiting.as_ref().is_some_and(|(waiting, _)| waiting == translation)
    }

    /// Brings the entries back of the translation that is at a place of the TLB again. The place has no
    /// entries, and no other translation in the TLB overlaps it.
    pub(super) fn restore_translation(&mut self, place: usize, translation: &Translation) {
        if !self.waits(translation) {
            return;
        }
        let at = waiting_place(translation);
        // Their entries may be at the same indices.
        for other in (0..WAITING).filter(|other| *other != at) {
            if self.waiting[other].as_ref().is_some_and(|(other, _)| other.overlaps(translation)) {
                self.forget(other);
            }
        }
        let Some((_, mut marks)) = self.waiting[at].take() else { return };
        let page = self.page(*translation);
        let tables = self.aside.iter_mut().zip(&mut self.hits);
        tables
            .zip(&mut *marks)
            .for_each(|((aside, hits), marks)| aside.move_page(hits, page, marks));
        self.translations[place] = Some((*translation, marks));
    }

    /// Adds the entry of a line that hits when fetched, with its translation in the TLB, if there is one.
    pub(super) fn add_line(
        &mut self,
        line: LineHit,
        privileged: bool,
        translation: Option<(usize, &Translation)>,
    ) {
        self.hits[usize::from(privileged)].add_line(line);
        if let Some(translation) = translation {
            self.presume_translation(translation, privileged).add_line(line);
        }
    }

    /// Adds the entry of a line that hits when read or, for a `write`, of a half-line that hits when
    /// written, with its translation in the TLB.
    pub(super) fn add_data(
        &mut self,
        at: Virtual,
        (privileged, write): (bool, bool),
        line: DataLine,
        translation: (usize, &Translation),
    ) {
        let hits = &mut self.hits[usize::from(privileged)];
        hits.add_data(at, write, line);
        let halves = if write { cache::half(at.0) } else { 0 };
        self.presume_translation(translation, privileged).add_data(at);
        self.presume(line.index, line.at, (halves, privileged));
    }

    /// Records that entries at a privilege presume the line at `address` in the data cache, with these halves
    /// dirty.
    fn presume(&mut self, line: usize, address: Modified, (halves, privileged): (u8, bool)) {
        let presence = cache::presence(address, halves) | entries_at(privileged);
        if let Some(presumed) = self.presumed.get_mut(line) {
            let same = cache::line_of(*presumed) == Some(address);
            *presumed = presence | if same { *presumed } else { 0 };
        }
    }

    /// Invalidates the entries whose presumed data cache line has changed, puts those of replaced
    /// translations aside, and brings those back of translations that are in the TLB again.
    pub(super) fn reconcile(&mut self, tlb: &Tlb, data: &Cache) {
        for place in 0..tlb::PLACES {
            let presumed = self.translations[place].as_ref();
            if presumed.is_some_and(|(presumed, _)| presumed != tlb.entry(place)) {
                self.drop_translation(place);
            }
        }
        self.reconcile_data(data);
        if !tlb.is_distinct() {
            return;
        }
        for place in 0..tlb::PLACES {
            let translation = tlb.entry(place);
            if self.translations[place].is_none() && self.waits(translation) {
                self.restore_translation(place, translation);
            }
        }
    }

    /// Invalidates the entries whose presumed data cache line has changed.
    fn reconcile_data(&mut self, data: &Cache) {
        let all = self.data_lines();
        for first in (0..all).step_by(COMPARE_GROUP) {
            let lines = first..all.min(first + COMPARE_GROUP);
            let found = data.presences(lines.clone()).zip(&self.presumed[lines.clone()]);
            // Most lines are unchanged, which is found without a branch per line.
            let differs = found.zip(BITS).fold(0, |differs, ((found, presumed), bit)| {
                differs | if cache::difference(*presumed, found) == 0 { 0 } else { bit }
            });
            for index in set_bits(differs.into()).map(|line| first + line) {
                let Some(line) = cache::line_of(self.presumed[index]) else { continue };
                if data.address(index) == Some(line) {
                    self.clean_data_line(index, line);
                } else {
                    self.drop_data_line(index, line);
                }
            }
        }
    }

    /// Invalidates the entries of line `index` of the data cache, at `line`.
    #[inline]
    pub(super) fn drop_data_line(&mut self, index: usize, line: Modified) {
        let presumed = std::mem::take(&mut self.presumed[index]);
        let pid = self.context.pid;
        self.change_each(presumed, |hits| hits.drop_data_line(line, pid));
    }

    /// Invalidates the write entries of line `index` of the data cache, at `line`.
    pub(super) fn clean_data_line(&mut self, index: usize, line: Modified) {
        let presumed = self.presumed[index];
        let pid = self.context.pid;
        if cache::dirty_of(presumed) != 0 {
            self.presumed[index] = cache::cleaned(presumed);
            self.change_each(presumed, |hits| hits.drop_writes(line, pid));
        }
    }

    /// Invalidates the entries of an instruction line.
    #[inline]
    pub(super) fn drop_instruction_line(&mut self, line: Modified) {
        let pid = self.context.pid;
        self.all_hits().for_each(|hits| hits.drop_instruction_line(line, pid));
    }
}

/// No marks.
#[cold]
fn no_marks() -> PageMarks {
    Box::new([Marks::NONE, Marks::NONE])
}
