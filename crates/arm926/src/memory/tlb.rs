//! The TLB: two ways of 32 entries, and eight entries that can be locked.
//!
//! Layer: rank 3. [`Tlb`] keeps [`Entry`] by modified virtual address. A page whose four parts have different permissions comes in by
//! parts, as the manual's rule of four invalidations says. Hits change nothing. The manual excludes index and replacement from the
//! programmer's model: both are parameters. Source: ARM DDI 0198D, chapter 2 (c8, c10) and 3.7.

use serde::{Deserialize, Serialize};

use super::cache::shift;
use crate::address::{Modified, Physical};
use crate::config::{Config, TlbIndex, TlbReplacement};

/// Sets of the main part.
const SETS: usize = 32;

/// Entries of the main part: two a set.
const MAIN: usize = 2 * SETS;

/// Entries that can be locked.
const LOCKABLE: usize = 8;

/// Places of entries: the main part, then those that can be locked.
pub(crate) const PLACES: usize = MAIN + LOCKABLE;

/// Sizes of entries as powers of two: tiny page, part of a small page; small page; part of a large page; large page; section.
const SHIFTS: [u8; 5] = [10, 12, 14, 16, 20];

/// No entry begins at an odd address.
const INVALID: u32 = 1;

/// Places for hints.
const HINTS: usize = 256;

/// The place that was found last for addresses of a hash: tried first.
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

/// What the TLB knows about a section, a page, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The first MVA.
    pub(crate) base: u32,
    /// The bits of an MVA that must equal those of `base`.
    pub(crate) mask: u32,
    /// The first physical address.
    pub(crate) physical: u32,
    /// The first-level descriptor's address.
    pub(crate) first: u32,
    /// The second-level descriptor's address; 0 for a section.
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
    /// It is a section, or a part of a page.
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

    /// Whether some address lies in both.
    const fn meets(&self, other: &Self) -> bool {
        (self.base ^ other.base) & self.mask & other.mask == 0
    }

    /// Where `at` lies.
    #[inline]
    pub(crate) const fn physical(&self, at: Modified) -> Physical {
        Physical(self.physical | at.0 & !self.mask)
    }

    /// Bytes.
    pub(crate) const fn size(&self) -> u32 {
        1 << (self.shift & 31)
    }
}

/// The TLB.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Tlb {
    /// The two of a set side by side, then those that can be locked.
    entries: Vec<Entry>,
    /// How many entries of each size are in the main part.
    sizes: [u8; SHIFTS.len()],
    /// How many of the lockable entries are valid.
    locked: u8,
    /// A bit for each set: the way that is next.
    next: u32,
    random: u16,
    index: TlbIndex,
    replacement: TlbReplacement,
    /// The lockable entry that is written next.
    victim: u8,
    /// New entries go to the lockable part.
    preserve: bool,
    #[serde(skip)]
    hints: Hints,
    /// No address is known to have two entries, so that any entry that is found is the right one.
    #[serde(skip)]
    distinct: bool,
}

impl Tlb {
    /// Empty.
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

    /// Finds out what is not saved.
    pub(crate) fn restore(&mut self) {
        let valid = |entry: &&Entry| entry.is_valid();
        let meets = |(index, entry): (usize, &Entry)| {
            self.entries[..index].iter().filter(valid).any(|other| other.meets(entry))
        };
        self.distinct =
            !self.entries.iter().enumerate().filter(|(_, entry)| entry.is_valid()).any(meets);
    }

    /// Whether the counts are those of the entries: a saved TLB may say anything.
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

    /// The entry for `at`. Where several overlap (unpredictable) the smallest is taken, one of the main part first.
    #[inline]
    pub(crate) fn find(&self, at: Modified) -> Option<&Entry> {
        self.place(at).map(|place| self.entry(place))
    }

    /// The entry at a place.
    #[inline]
    pub(crate) fn entry(&self, place: usize) -> &Entry {
        &self.entries[place]
    }

    /// The place of the entry for `at`, as [`Tlb::find`] takes it.
    #[inline(always)]
    pub(crate) fn place(&self, at: Modified) -> Option<usize> {
        let hint = usize::from(self.hints.0[Hints::index(at)]);
        if self.distinct && self.entries.get(hint)?.holds(at) {
            Some(hint)
        } else {
            self.search(at)
        }
    }

    /// As [`Tlb::place`], which finds it faster the next time.
    #[inline(always)]
    pub(crate) fn place_and_hint(&mut self, at: Modified) -> Option<usize> {
        let place = self.place(at)?;
        self.hints.0[Hints::index(at)] = place.to_le_bytes()[0];
        Some(place)
    }

    fn search(&self, at: Modified) -> Option<usize> {
        for (&shift, &count) in SHIFTS.iter().zip(&self.sizes) {
            if count == 0 {
                continue;
            }
            let first = 2 * self.set(at, shift);
            let set = self.entries.get(first..first + 2)?;
            // An entry of another size may be in this set and hold it too: its turn depends on its own size.
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

    /// Whether part of `entry` is translated already, by an entry of another size.
    pub(crate) fn overlaps(&self, entry: &Entry) -> bool {
        self.entries.iter().any(|other| other.is_valid() && other.meets(entry))
    }

    /// Puts an entry in; its place.
    pub(crate) fn insert(&mut self, entry: Entry) -> usize {
        let place = if self.preserve {
            let place = MAIN + usize::from(self.victim);
            self.victim = (self.victim + 1) % 8;
            place
        } else {
            self.victim_in_set(self.set(Modified(entry.base), entry.shift))
        };
        self.remove(place);
        self.distinct &= !self.overlaps(&entry);
        self.entries[place] = entry;
        self.count(place, entry.shift, true);
        place
    }

    /// The place of the set that is replaced next: an invalid one, else by turn or by chance.
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

    /// Drops the entries of the main part; those that can be locked stay.
    pub(crate) fn invalidate_all(&mut self) {
        self.entries[..MAIN].fill(Entry::NONE);
        self.sizes = [0; SHIFTS.len()];
        self.restore();
    }

    /// Drops each entry that holds `at`, in both parts.
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
