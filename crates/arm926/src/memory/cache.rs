//! A cache with its data: four ways of 32-byte lines, indexed and tagged by MVA.
//!
//! Layer: rank 3. [`Cache`] holds the arrays and selects victims; the memory system performs refills
//! and write-backs. A line has its MVA, its physical address, a dirty bit for each half, and its bytes.
//! Hits do not change the cache. Source: ARM DDI 0198D, page 2-28 (lockdown) and 4.1; the order of
//! replacement is assumed (see docs/models/arm926-memory.md).

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::address::{LINE, Modified, Physical};
use crate::bus::Width;
use crate::config::CacheSize;

/// The number of lines in a set.
pub(crate) const WAYS: usize = 4;

/// The number of bytes in a line.
pub(crate) const LENGTH: usize = 32;

/// The valid bit of a tag.
const VALID: u32 = 1;

/// The dirty bits of both halves.
pub(crate) const BOTH: u8 = 3;

/// A cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Cache {
    /// The lines' MVAs and valid bits, set by set.
    tags: Vec<u32>,
    /// The lines' physical addresses.
    physical: Vec<u32>,
    /// The lines' dirty bits: bit 0 for the first half, bit 1 for the second.
    dirty: Vec<u8>,
    /// The lines' bytes. Never replaced: compiled code has their addresses.
    bytes: Vec<u8>,
    /// For each set the way after the one filled last.
    next: Vec<u8>,
    /// The shift register of pseudo-random replacement.
    random: u16,
    /// The L bits of the lockdown register: the ways that refills skip.
    locked: u8,
    /// The set at which the next test-and-clean begins.
    tested: u32,
    /// The number of dirty lines.
    dirty_lines: u32,
}

impl Cache {
    /// Creates a cache without valid lines.
    pub(crate) fn new(size: CacheSize) -> Self {
        let sets = size.sets() as usize;
        let lines = sets * WAYS;
        Self {
            tags: vec![0; lines],
            physical: vec![0; lines],
            dirty: vec![0; lines],
            bytes: vec![0; lines * LENGTH],
            next: vec![0; sets],
            random: 0xACE1,
            locked: 0,
            tested: 0,
            dirty_lines: 0,
        }
    }

    /// Whether the arrays are those of a cache of this `size`: snapshots are untrusted input.
    pub(crate) fn is_sound(&self, size: CacheSize) -> bool {
        let sets = size.sets() as usize;
        let lines = sets * WAYS;
        let dirty = self.dirty.iter().filter(|&&dirty| dirty != 0).count();
        self.tags.len() == lines
            && self.physical.len() == lines
            && self.dirty.len() == lines
            && self.bytes.len() == lines * LENGTH
            && self.next.len() == sets
            && self.next.iter().all(|&way| usize::from(way) < WAYS)
            && (0..lines).all(|line| self.line_is_sound(line, sets))
            && self.dirty_lines as usize == dirty
            && self.random != 0
    }

    fn line_is_sound(&self, line: usize, sets: usize) -> bool {
        let (tag, dirty) = (self.tags[line], self.dirty[line]);
        let fits = if tag & VALID == 0 {
            dirty == 0
        } else {
            dirty <= BOTH && (tag / LINE) as usize % sets == line / WAYS
        };
        fits && self.physical[line].is_multiple_of(LINE)
    }

    /// The number of sets.
    pub(crate) fn sets(&self) -> usize {
        self.next.len()
    }

    fn set(&self, at: Modified) -> usize {
        (at.0 / LINE) as usize & (self.next.len() - 1)
    }

    /// The index of the line that contains `at`.
    #[inline]
    pub(crate) fn find(&self, at: Modified) -> Option<usize> {
        let first = self.set(at) * WAYS;
        let tag = at.line().0 | VALID;
        let set = self.tags.get(first..first + WAYS)?;
        set.iter().position(|&other| other == tag).map(|way| first + way)
    }

    /// The line named by a c7 operand: the way in the two highest bits, the set from bit 5 on.
    pub(crate) fn by_set_and_way(&self, value: u32) -> usize {
        self.set(Modified(value)) * WAYS + (value >> 30) as usize
    }

    /// The line that a refill of `at` replaces, an invalid one first; `None` if all ways are locked.
    #[inline(always)]
    pub(crate) fn victim(&mut self, at: Modified, round_robin: bool) -> Option<usize> {
        let set = self.set(at);
        let first = set * WAYS;
        let locked = self.locked;
        let is_full = self.tags[first..first + WAYS].iter().fold(VALID, |all, tag| all & tag) != 0;
        let open = |way: &usize| locked >> *way & 1 == 0;
        if !is_full {
            let invalid = |way: &usize| self.tags[first + way] & VALID == 0;
            if let Some(way) = (0..WAYS).filter(open).find(invalid) {
                return Some(first + way);
            }
        }
        let start = if round_robin {
            usize::from(self.next[set])
        } else {
            self.random = shift(shift(self.random));
            usize::from(self.random) % WAYS
        };
        (0..WAYS).map(|step| (start + step) % WAYS).find(open).map(|way| first + way)
    }

    /// Refills a line, which is then clean.
    #[inline(always)]
    pub(crate) fn install(
        &mut self,
        line: usize,
        at: Modified,
        physical: Physical,
        bytes: &[u8; LENGTH],
    ) {
        self.invalidate(line);
        self.tags[line] = at.line().0 | VALID;
        self.physical[line] = physical.line().0;
        self.bytes[line * LENGTH..][..LENGTH].copy_from_slice(bytes);
        self.next[line / WAYS] = ((line + 1) % WAYS).to_le_bytes()[0];
    }

    /// The MVA of a line, if it is valid.
    pub(crate) fn address(&self, line: usize) -> Option<Modified> {
        let tag = self.tags[line];
        (tag & VALID != 0).then_some(Modified(tag & !VALID))
    }

    /// The number of lines.
    pub(crate) fn lines(&self) -> usize {
        self.tags.len()
    }

    /// The [`presence`] of each of these lines.
    pub(crate) fn presences(&self, lines: Range<usize>) -> impl Iterator<Item = u32> + '_ {
        let (tags, dirty) = (&self.tags[lines.clone()], &self.dirty[lines]);
        tags.iter().zip(dirty).map(|(&tag, &dirty)| tag | u32::from(dirty) << 1)
    }

    /// The physical address of a line.
    pub(crate) fn physical(&self, line: usize) -> Physical {
        Physical(self.physical[line])
    }

    /// The MVA of the dirty line with the physical address `physical`, unless it is `apart`.
    pub(crate) fn dirty_holder(
        &self,
        physical: Physical,
        apart: Option<Modified>,
    ) -> Option<Modified> {
        let mut lines = (0..self.tags.len()).filter(|&line| self.physical[line] == physical.0);
        lines.find_map(|line| {
            self.address(line).filter(|&at| self.dirty[line] != 0 && Some(at) != apart)
        })
    }

    /// The dirty bits of a line.
    pub(crate) fn dirty(&self, line: usize) -> u8 {
        self.dirty[line]
    }

    /// The number of dirty lines.
    pub(crate) const fn dirty_lines(&self) -> u32 {
        self.dirty_lines
    }

    /// The contents of a line.
    pub(crate) fn contents(&self, line: usize) -> Option<&[u8; LENGTH]> {
        self.bytes.get(line * LENGTH..)?.first_chunk()
    }

    /// The address of a line's bytes in this process, which is constant as long as the cache lives.
    #[inline]
    pub(crate) fn host_address(&mut self, line: usize) -> u64 {
        let bytes = self.bytes.as_mut_ptr();
        bytes.wrapping_add(line * LENGTH).expose_provenance() as u64
    }

    /// The bytes of all lines.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Loads from a line. Address bits below the width are ignored.
    #[inline]
    pub(crate) fn load(&self, line: usize, at: u32, width: Width) -> u32 {
        let offset = line * LENGTH + (at & (LINE - 1) & !(width.bytes() - 1)) as usize;
        match width {
            Width::Byte => u32::from(self.bytes[offset]),
            Width::Half => {
                u32::from(u16::from_le_bytes([self.bytes[offset], self.bytes[offset + 1]]))
            }
            Width::Word => {
                self.bytes[offset..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
            }
        }
    }

    /// Loads words in a row from a line, the first at `at`. They are in the line.
    #[inline]
    pub(crate) fn load_words(&self, line: usize, at: u32, values: &mut [u32]) {
        let offset = line * LENGTH + (at & (LINE - 1) & !3) as usize;
        let bytes = self.bytes[offset..].as_chunks::<4>().0;
        for (value, bytes) in values.iter_mut().zip(bytes) {
            *value = u32::from_le_bytes(*bytes);
        }
    }

    /// Stores to a line.
    #[inline]
    pub(crate) fn store(&mut self, line: usize, at: u32, width: Width, value: u32) {
        let offset = line * LENGTH + (at & (LINE - 1) & !(width.bytes() - 1)) as usize;
        let bytes = value.to_le_bytes();
        match width {
            Width::Byte => self.bytes[offset] = bytes[0],
            Width::Half => self.bytes[offset..offset + 2].copy_from_slice(&bytes[..2]),
            Width::Word => self.bytes[offset..offset + 4].copy_from_slice(&bytes),
        }
    }

    /// Marks the half that contains `at` as dirty.
    #[inline]
    pub(crate) fn mark_dirty(&mut self, line: usize, at: u32) {
        let dirty = &mut self.dirty[line];
        self.dirty_lines += u32::from(*dirty == 0);
        *dirty |= half(at);
    }

    /// Marks a line as clean.
    #[inline]
    pub(crate) fn clean(&mut self, line: usize) {
        self.dirty_lines -= u32::from(self.dirty[line] != 0);
        self.dirty[line] = 0;
    }

    /// Invalidates a line without cleaning it.
    pub(crate) fn invalidate(&mut self, line: usize) {
        self.clean(line);
        self.tags[line] = 0;
    }

    /// Invalidates all lines without cleaning them.
    pub(crate) fn invalidate_all(&mut self) {
        self.tags.fill(0);
        self.dirty.fill(0);
        self.dirty_lines = 0;
    }

    /// Tests up to `most` sets for a dirty line, from the last test on; returns it and the sets tested.
    pub(crate) fn test(&mut self, most: u32) -> (Option<usize>, u32) {
        for looked in 1..=most {
            let set = self.tested as usize & (self.sets() - 1);
            let first = set * WAYS;
            if let Some(line) = (first..first + WAYS).find(|&line| self.dirty[line] != 0) {
                self.tested = u32::try_from(set).unwrap_or(0);
                return (Some(line), looked);
            }
            self.tested = u32::try_from(set + 1).unwrap_or(0);
        }
        (None, most)
    }

    /// The L bits.
    pub(crate) const fn locked(&self) -> u8 {
        self.locked
    }

    /// Whether all ways are locked.
    pub(crate) const fn is_locked(&self) -> bool {
        self.locked == 0xF
    }

    /// Writes the L bits.
    pub(crate) fn lock(&mut self, ways: u8) {
        self.locked = ways & 0xF;
    }
}

/// The dirty bit of the half that contains `at`.
pub(crate) const fn half(at: u32) -> u8 {
    if at & (LINE / 2) == 0 { 1 } else { 2 }
}

/// The dirty bits of a [`presence`]: [`BOTH`] above [`VALID`].
const DIRTY: u32 = 0b110;

/// A valid line and its dirty halves in one word: the MVA, bit 0 set, and the dirty bits above. The two
/// bits below the MVA are free for others.
pub(crate) fn presence(line: Modified, dirty: u8) -> u32 {
    line.0 | VALID | u32::from(dirty) << 1
}

/// Not 0 if a line no longer matches `presumed`: it was replaced, or a dirty half was cleaned. Without a
/// branch, for vector instructions.
#[inline]
pub(crate) const fn difference(presumed: u32, found: u32) -> u32 {
    let is_presumed = (presumed & VALID).wrapping_neg();
    (presumed ^ found) & (!(LINE - 1) | VALID | DIRTY & presumed) & is_presumed
}

/// The dirty halves of a [`presence`].
pub(crate) const fn dirty_of(presence: u32) -> u8 {
    presence.to_le_bytes()[0] >> 1 & BOTH
}

/// A [`presence`] of the line without dirty halves.
pub(crate) const fn cleaned(presence: u32) -> u32 {
    presence & !DIRTY
}

/// The MVA of a [`presence`]; `None` for 0.
pub(crate) const fn line_of(presence: u32) -> Option<Modified> {
    if presence & VALID == 0 { None } else { Some(Modified(presence).line()) }
}

/// The next state of a 16-bit maximal-length LFSR (taps 16, 14, 13, 11).
pub(crate) const fn shift(state: u16) -> u16 {
    let bit = (state ^ state >> 2 ^ state >> 3 ^ state >> 5) & 1;
    state >> 1 | bit << 15
}
