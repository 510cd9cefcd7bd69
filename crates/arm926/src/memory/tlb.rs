//! The TLB: a main part of two ways and 32 sets, and eight lockable entries.
//!
//! Layer: rank 3. [`Tlb`] holds [`Entry`]s by MVA. A page whose sub-pages have different permissions is
//! entered by sub-page, as the manual's rule of four invalidations implies. Hits do not change the TLB.
//! Index and replacement are parameters, since the manual excludes them from the programmer's model.
//! Source: ARM DDI 0198D, chapter 2 (c8, c10) and 3.7.

use serde::{Deserialize, Serialize};

use super::cache::shift;
use crate::address::{Modified, Physical};
use crate::config::{Config, TlbIndex, TlbReplacement};

/// The number of sets of the main part.
const SETS: usize = 32;

/// The number of entries of the main part.
const MAIN: usize = 2 * SETS;

/// The number of lockable entries.
const LOCKABLE: usize = 8;

/// The number of places: the main part, then the lockable entries.
pub(crate) const PLACES: usize = MAIN + LOCKABLE;

/// The sizes as powers of two: tiny page or sub-page, small page, large sub-page, large page, section.
const SHIFTS: [u8; 5] = [10, 12, 14, 16, 20];

/// The base of an invalid entry; those of others are even.
const INVALID: u32 = 1;

/// The number of hints.
const HINTS: usize = 256;

/// The place last found for each hash of an address, which is tried first.
#[derive(Debug, Clone)]
struct Hints([u8; HINTS]);

impl Default for Hints {
    fn default() -> Self {
        Self([0; HINTS])
    }
}

impl Hints {
    const fn index(at: Modified) -> usize {
        (at.0 >> 12 ^ at.0 >> 22) as usize % HINTS
    }
}

/// The translation of a section, page or sub-page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The first MVA.
    pub(crate) base: u32,
    /// The bits of an MVA that are compared with `base`.
    pub(crate) mask: u32,
    /// The first physical address.
    pub(crate) physical: u32,
    /// The address of the first-level descriptor.
    pub(crate) first: u32,
    /// The address of the second-level descriptor; 0 for a section.
    pub(crate) second: u32,
    /// The size as a power of two.
    pub(crate) shift: u8,
    /// The permission bits.
    pub(crate) permission: u8,
    /// The domain.
    pub(crate) domain: u8,
    /// The C bit.
    pub(crate) cacheable: bool,
    /// The B bit.
    pub(crate) bufferable: bool,
    /// Whether it is a section.
    pub(crate) section: bool,
}

impl Entry {
    pub(super) const NONE: Self = Self {
        base: INVALID,
        mask: 0,
        physical: 0,
        first: 0,
        second: 0,
        shift: 0,
        permission: 0,
        domain: 0,
        cacheable: false,
        bufferable: false,
        section: false,
    };

    #[inline]
    const fn holds(&self, at: Modified) -> bool {
        at.0 & self.mask == self.base
    }

    fn is_sound(&self) -> bool {
        !self.is_valid()
            || SHIFTS.contains(&self.shift)
                && self.mask == !(self.size() - 1)
                && self.base & !self.mask == 0
                && self.domain < 16
                && self.permission < 4
    }

    const fn is_valid(&self) -> bool {
        self.base != INVALID
    }

    /// Whether the entries have a common address.
    pub(crate) const fn overlaps(&self, other: &Self) -> bool {
        (self.base ^ other.base) & self.mask & other.mask == 0
    }

    /// The physical address of `at`.
    #[inline]
    pub(crate) const fn physical(&self, at: Modified) -> Physical {
        Physical(self.physical | at.0 & !self.mask)
    }

    /// The size in bytes.
    pub(crate) const fn size(&self) -> u32 {
        1 << (self.shift & 31)
    }
}

/// A TLB.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Tlb {
    /// The entries of the main part, set by set, then the lockable ones.
    entries: Vec<Entry>,
    /// The number of main entries of each size.
    sizes: [u8; SHIFTS.len()],
    /// The number of valid lockable entries.
    locked: u8,
    /// For each set a bit: the way replaced next.
    next: u32,
    random: u16,
    index: TlbIndex,
    replacement: TlbReplacement,
    /// The lockable entry written next.
    victim: u8,
    /// Whether new entries go to the lockable part.
    preserve: bool,
    #[serde(skip)]
    hints: Hints,
    /// Whether no two entries overlap, so that any match is the right one.
    #[serde(skip)]
    distinct: bool,
}

impl Tlb {
    /// Creates an empty TLB.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            entries: vec![Entry::NONE; MAIN + LOCKABLE],
            sizes: [0; SHIFTS.len()],
            locked: 0,
            next: 0,
            random: 0xACE1,
            index: config.tlb_index,
            replacement: config.tlb_replacement,
            victim: 0,
            preserve: false,
            hints: Hints::default(),
            distinct: true,
        }
    }

    /// Computes the fields that are not saved.
    pub(crate) fn restore(&mut self) {
        let valid = |entry: &&Entry| entry.is_valid();
        let overlaps = |(index, entry): (usize, &Entry)| {
            self.entries[..index].iter().filter(valid).any(|other| other.overlaps(entry))
        };
        self.distinct =
            !self.entries.iter().enumerate().filter(|(_, entry)| entry.is_valid()).any(overlaps);
    }

    /// Whether the counts match the entries: snapshots are untrusted input.
    pub(crate) fn is_sound(&self) -> bool {
        let Some((main, lockable)) = self.entries.split_at_checked(MAIN) else { return false };
        let count =
            |shift| main.iter().filter(|entry| entry.is_valid() && entry.shift == shift).count();
        lockable.len() == LOCKABLE
            && SHIFTS.iter().zip(self.sizes).all(|(&shift, size)| count(shift) == usize::from(size))
            && self.entries.iter().all(Entry::is_sound)
            && usize::from(self.locked) == lockable.iter().filter(|entry| entry.is_valid()).count()
            && usize::from(self.victim) < LOCKABLE
            && self.random != 0
    }

    #[inline]
    fn set(&self, at: Modified, shift: u8) -> usize {
        let page = at.0 >> shift;
        let page = match self.index {
            TlbIndex::Low => page,
            TlbIndex::Folded => page ^ page >> 5 ^ page >> 10 ^ page >> 15 ^ page >> 20,
        };
        page as usize % SETS
    }

    /// The entry for `at`: of overlapping ones (unpredictable) the smallest, of the main part first.
    #[inline]
    pub(crate) fn find(&self, at: Modified) -> Option<&Entry> {
        self.place(at).map(|place| self.entry(place))
    }

    /// The entry at a place.
    #[inline]
    pub(crate) fn entry(&self, place: usize) -> &Entry {
        &self.entries[place]
    }

    /// The place of the entry that [`Tlb::find`] returns.
    #[inline(always)]
    pub(crate) fn place(&self, at: Modified) -> Option<usize> {
        let hint = usize::from(self.hints.0[Hints::index(at)]);
        if self.distinct && self.entries.get(hint)?.holds(at) {
            Some(hint)
        } else {
            self.search(at)
        }
    }

    /// Like [`Tlb::place`], and stores a hint.
    #[inline(always)]
    pub(crate) fn place_and_hint(&mut self, at: Modified) -> Option<usize> {
        let place = self.place(at)?;
        self.hint(at, place);
        Some(place)
    }

    /// Stores a hint that the entry of `at` is at `place`.
    #[inline(always)]
    pub(crate) fn hint(&mut self, at: Modified, place: usize) {
        self.hints.0[Hints::index(at)] = place.to_le_bytes()[0];
    }

    fn search(&self, at: Modified) -> Option<usize> {
        for (&shift, &count) in SHIFTS.iter().zip(&self.sizes) {
            if count == 0 {
                continue;
            }
            let first = 2 * self.set(at, shift);
            let set = self.entries.get(first..first + 2)?;
            // An entry of another size in this set may match too, but is searched for by its own size.
            let found = set.iter().position(|entry| entry.holds(at) && entry.shift == shift);
            if let Some(way) = found {
                return Some(first + way);
            }
        }
        if self.locked == 0 { None } else { self.lockable_place(at) }
    }

    #[cold]
    fn lockable_place(&self, at: Modified) -> Option<usize> {
        let holding = (MAIN..MAIN + LOCKABLE).filter(|&place| self.entries[place].holds(at));
        holding.min_by_key(|&place| self.entries[place].shift)
    }

    /// Whether no two entries overlap.
    pub(crate) const fn is_distinct(&self) -> bool {
        self.distinct
    }

    /// Whether an entry overlaps `entry`.
    fn overlaps(&self, entry: &Entry) -> bool {
        self.entries.iter().any(|other| other.is_valid() && other.overlaps(entry))
    }

    /// Inserts an entry; returns its place, and whether it overlapped another one until then.
    pub(crate) fn insert(&mut self, entry: Entry) -> (usize, bool) {
        let overlapped = self.overlaps(&entry);
        let place = if self.preserve {
            let place = MAIN + usize::from(self.victim);
            self.victim = (self.victim + 1) % 8;
            place
        } else {
            self.victim_in_set(self.set(Modified(entry.base), entry.shift))
        };
        self.remove(place);
        // The one that it replaced may have been the only one.
        self.distinct &= !(overlapped && self.overlaps(&entry));
        self.entries[place] = entry;
        self.count(place, entry.shift, true);
        (place, overlapped)
    }

    /// The place that the set replaces next: an invalid one, otherwise by the replacement policy.
    fn victim_in_set(&mut self, set: usize) -> usize {
        let first = 2 * set;
        let invalid = (0..2).find(|way| !self.entries[first + way].is_valid());
        let way = invalid.unwrap_or_else(|| match self.replacement {
            TlbReplacement::RoundRobin => (self.next >> set & 1) as usize,
            TlbReplacement::PseudoRandom => {
                self.random = shift(self.random);
                usize::from(self.random & 1)
            }
        });
        let bit = 1 << set;
        self.next = if way == 0 { self.next | bit } else { self.next & !bit };
        first + way
    }

    fn count(&mut self, place: usize, shift: u8, more: bool) {
        let count = if place >= MAIN {
            &mut self.locked
        } else {
            let index = SHIFTS.iter().position(|&other| other == shift).unwrap_or(0);
            &mut self.sizes[index]
        };
        *count = if more { *count + 1 } else { *count - 1 };
    }

    fn remove(&mut self, place: usize) {
        let entry = std::mem::replace(&mut self.entries[place], Entry::NONE);
        if entry.is_valid() {
            self.count(place, entry.shift, false);
        }
    }

    /// Invalidates the main part; lockable entries remain.
    pub(crate) fn invalidate_all(&mut self) {
        self.entries[..MAIN].fill(Entry::NONE);
        self.sizes = [0; SHIFTS.len()];
        self.restore();
    }

    /// Invalidates all entries that match `at`, in both parts.
    pub(crate) fn invalidate(&mut self, at: Modified) {
        for place in 0..MAIN + LOCKABLE {
            if self.entries[place].holds(at) {
                self.remove(place);
            }
        }
        if !self.distinct {
            self.restore();
        }
    }

    /// The lockdown register: victim in bits 28 to 26, P in bit 0.
    pub(crate) fn lockdown(&self) -> u32 {
        u32::from(self.victim) << 26 | u32::from(self.preserve)
    }

    /// Writes the lockdown register.
    pub(crate) fn set_lockdown(&mut self, value: u32) {
        self.victim = (value >> 26 & 7).to_le_bytes()[0];
        self.preserve = value & 1 != 0;
    }
}
