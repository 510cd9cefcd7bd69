//! Access without side effects, and the hits that fast engines take from the look-aside.
//!
//! Layer: rank 3; methods of [`Memory`]. [`Memory::peek`] and [`Memory::poke`], for debuggers, take no
//! time and do not affect later lookups. Fast engines take hits from [`Lookaside`] and count them here.

use super::lookaside::Hits;
use super::mmu::{self, Region};
use super::tlb::Entry;
use super::{Hit, Lookaside, Memory, control};
use crate::address::{LINE, Modified, Physical, Virtual};
use crate::bus::{Bus, Width};

impl Memory {
    /// Reads the aligned word at `at` as the program sees it, without time or side effects.
    #[must_use]
    pub fn peek<B: Bus + ?Sized>(&self, at: Virtual, bus: &B) -> Option<u32> {
        let at = Modified(self.control.modified(at).0 & !3);
        let (physical, cached) = self.place(at, bus)?;
        match self.data.find(at).filter(|_| cached) {
            Some(line) => Some(self.data.load(line, at.0, Width::Word)),
            None => bus.peek(physical),
        }
    }

    /// Writes the aligned word at `at` as the program sees it, to memory and to lines of both caches,
    /// without time: for debuggers and semihosting. Returns whether there is memory. If code changed,
    /// the engine must [discard](crate::Engine::forget) its derived data.
    pub fn poke<B: Bus + ?Sized>(&mut self, at: Virtual, value: u32, bus: &mut B) -> bool {
        let at = Modified(self.control.modified(at).0 & !3);
        let Some((physical, _)) = self.place(at, bus) else { return false };
        if let Some(line) = self.data.find(at) {
            self.data.store(line, at.0, Width::Word, value);
        }
        if let Some(line) = self.instructions.find(at) {
            self.instructions.store(line, at.0, Width::Word, value);
            // Other contents have another stamp.
            self.lookaside.drop_instruction_line(line, at.line());
        }
        self.note_poke(physical, value, bus);
        bus.poke(physical, value)
    }

    /// The physical address of `at`, by the TLB or tables in memory, and whether its data are cached.
    pub(super) fn place<B: Bus + ?Sized>(&self, at: Modified, bus: &B) -> Option<(Physical, bool)> {
        if !self.control.has(control::MMU) {
            return Some((Physical(at.0), false));
        }
        let entry = match self.tlb.find(at) {
            Some(entry) => *entry,
            None => mmu::walk(self.control.table, at, |descriptor| bus.peek(descriptor)).ok()?,
        };
        Some((entry.physical(at), self.data_region(&entry).is_cached()))
    }

    /// The attributes of a region for data accesses.
    #[inline]
    pub(super) const fn data_region(&self, entry: &Entry) -> Region {
        Region::of(entry.cacheable && self.control.has(control::DATA_CACHE), entry.bufferable)
    }

    /// The look-aside of the fast engines.
    #[must_use]
    pub const fn lookaside(&self) -> &Lookaside {
        &self.lookaside
    }

    /// The look-aside's entries at a privilege, and the bytes of the data cache that they refer to.
    #[inline(always)]
    pub(crate) fn hits(&mut self, privileged: bool) -> (&Hits, &mut [u8]) {
        (self.lookaside.hits(privileged), self.data.bytes_mut())
    }

    /// Counts hits taken from [`Lookaside`], each with its TLB lookup if the MMU is on: data reads,
    /// data writes, and instruction lines entered.
    pub const fn note_hits(&mut self, reads: u64, writes: u64, lines: u64) {
        self.statistics.data_cache.reads += reads;
        self.statistics.data_cache.writes += writes;
        self.statistics.instruction_cache.reads += lines;
        if self.control.has(control::MMU) {
            self.statistics.tlb_lookups += reads + writes + lines;
        }
    }

    /// The number of write misses of the data cache.
    pub(crate) const fn write_misses(&self) -> u64 {
        self.statistics.data_cache.write_misses
    }

    /// The offset in [`Memory::data_array`] of the line that an access at `at` would hit, with its
    /// translation in the TLB. A `write` also requires write-back and a dirty half. `None` if the
    /// access would do more than transfer and count.
    #[must_use]
    pub fn data_line(&self, at: Virtual, privileged: bool, write: bool) -> Option<usize> {
        self.data_place(at, privileged, write).map(|hit| hit.line * LINE as usize)
    }

    /// Like [`Memory::data_line`]: the line, and the place of the translation in the TLB.
    pub(super) fn data_place(&self, at: Virtual, privileged: bool, write: bool) -> Option<Hit> {
        if !self.control.has(control::MMU) {
            return None;
        }
        let at = self.control.modified(at);
        let place = self.tlb.place(at)?;
        let entry = self.tlb.entry(place);
        self.allows(entry, privileged, write).ok()?;
        let region = self.data_region(entry);
        if !region.is_cached() || write && region != Region::WriteBack {
            return None;
        }
        let line = self.data.find(at)?;
        if write && self.data.dirty(line) & super::cache::half(at.0) == 0 {
            return None;
        }
        Some(Hit { line, place })
    }

    /// The MVA of a cached fetch at `at`, and the place of its translation in the TLB: without the MMU
    /// there is none. `None` if the fetch would be uncached, abort, or walk the tables.
    #[inline(always)]
    pub(super) fn instruction_translation(
        &self,
        at: Virtual,
        privileged: bool,
    ) -> Option<(Modified, Option<usize>)> {
        if !self.control.has(control::INSTRUCTION_CACHE) {
            return None;
        }
        let at = self.control.fetch_modified(at);
        if !self.control.has(control::MMU) {
            return Some((at, None));
        }
        let place = self.tlb.place(at)?;
        let entry = self.tlb.entry(place);
        self.allows(entry, privileged, false).ok()?;
        entry.cacheable.then_some((at, Some(place)))
    }

    /// The contents of the line that a fetch at `at` would hit, with its translation in the TLB.
    #[must_use]
    pub fn instruction_line(&self, at: Virtual, privileged: bool) -> Option<&[u8; 32]> {
        let (at, _) = self.instruction_translation(at, privileged)?;
        self.instructions.contents(self.instructions.find(at)?)
    }

    /// The bytes of the data cache, line by line.
    pub fn data_array(&mut self) -> &mut [u8] {
        self.data.bytes_mut()
    }
}
