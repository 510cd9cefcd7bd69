//! Accesses with the coherence checker or watchpoints.
//!
//! Layer: rank 3; methods of [`Memory`]. Each performs the plain access, at the same cost in cycles,
//! and then compares the translation with the newest descriptors, the line with the current mapping,
//! and the value with the one last written. With a checker all engines run instruction by instruction.

use super::check::{Checker, Holder, Stale, Use, Violation};
use super::tlb::Entry;
use super::{Abort, Access, Memory, control, mmu};
use crate::address::{Cycles, Modified, Physical};
use crate::bus::{Bus, Width};

impl Memory {
    /// The violations that the coherence checker found; none without a checker.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        self.checker.as_ref().map_or(&[], |checker| checker.violations())
    }

    /// The coherence checker, if the configuration enables it.
    #[must_use]
    pub fn checker(&self) -> Option<&Checker> {
        self.checker.as_deref()
    }

    /// Sets the instruction to which the next accesses belong.
    #[inline]
    pub(crate) fn note_instruction(&mut self, pc: u32, now: Cycles) {
        if let Some(checker) = &mut self.checker {
            checker.instruction(pc, now);
        }
    }

    /// Like [`Memory::read`], with a checker, a watcher or both.
    #[inline(never)]
    pub(super) fn read_observed<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        let result = if self.checker.is_some() {
            self.read_checked(access, bus, now)
        } else {
            self.read_plain(access, bus, now)
        };
        if result.is_ok() {
            self.observe(access, false);
        }
        result
    }

    /// Like [`Memory::write`], with a checker, a watcher or both.
    #[inline(never)]
    pub(super) fn write_observed<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        let result = if self.checker.is_some() {
            self.write_checked(access, value, bus, now)
        } else {
            self.write_plain(access, value, bus, now)
        };
        if result.is_ok() {
            self.observe(access, true);
        }
        result
    }

    /// Compares an access with the watchpoints.
    fn observe(&mut self, access: Access, write: bool) {
        if let Some(watcher) = &mut self.watcher {
            watcher.observe(access.at, access.width, write);
        }
    }

    /// Like [`Memory::read`], with the checker.
    pub(super) fn read_checked<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        let at = self.control.modified(access.at);
        let (before, hit) = (self.statistics.tlb_misses, self.data.find(at));
        let result = self.read_plain(access, bus, now);
        self.compare(|memory, checker| {
            memory.check_translation(checker, at, before, bus);
            let Ok(value) = result else { return };
            let Some((physical, cached)) = memory.place(at, bus) else { return };
            let physical = aligned(physical, access.width);
            if !memory.is_moved(checker, at, physical, hit.filter(|_| cached))
                && checker.differs(physical, access.width, value)
            {
                let holder = memory.holder(Some(at), physical, bus);
                checker.stale(Use::Data, at, physical, &holder);
            }
        });
        result
    }

    /// Like [`Memory::write`], with the checker.
    pub(super) fn write_checked<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        let at = self.control.modified(access.at);
        let (before, hit) = (self.statistics.tlb_misses, self.data.find(at));
        let result = self.write_plain(access, value, bus, now);
        self.compare(|memory, checker| {
            memory.check_translation(checker, at, before, bus);
            if result.is_err() {
                return;
            }
            let Some((physical, cached)) = memory.place(at, bus) else { return };
            let physical = aligned(physical, access.width);
            memory.is_moved(checker, at, physical, hit.filter(|_| cached));
            checker.wrote(physical, access.width, value, bus);
        });
        result
    }

    /// Like [`Memory::fetch`], with the checker.
    pub(super) fn fetch_checked<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        self.note_instruction(access.at.0, *now);
        let at = self.control.fetch_modified(access.at);
        let (before, looked) = (self.statistics.tlb_misses, self.statistics.tlb_lookups);
        let result = self.fetch_plain(access, bus, now);
        self.compare(|memory, checker| {
            if memory.statistics.tlb_lookups != looked {
                memory.check_translation(checker, at, before, bus);
            }
            let Ok(value) = result else { return };
            let mapped = memory.place(at, bus).map(|(physical, _)| physical);
            let place = memory.current_place(access.at, access.privileged);
            let line = place.map(|place| memory.instructions.physical(place));
            let from = line.map(|line| Physical(line.0 | at.0 & 31));
            let Some(physical) = from.or(mapped) else { return };
            let physical = aligned(physical, access.width);
            if mapped.is_some_and(|mapped| mapped.line() != physical.line()) {
                checker.report(Stale::InstructionNotInvalidated, at, physical);
            } else if checker.differs(physical, access.width, value) {
                let holder = memory.holder(None, physical, bus);
                checker.stale(Use::Instruction, at, physical, &holder);
            }
        });
        result
    }

    /// Records a debugger's write, which also goes to memory and caches.
    pub(super) fn note_poke<B: Bus + ?Sized>(&mut self, physical: Physical, value: u32, bus: &B) {
        if let Some(checker) = &mut self.checker {
            checker.wrote(physical, Width::Word, value, bus);
        }
    }

    /// Calls `check` with the checker, if there is one.
    fn compare(&mut self, check: impl FnOnce(&Self, &mut Checker)) {
        if let Some(mut checker) = self.checker.take() {
            check(self, &mut checker);
            self.checker = Some(checker);
        }
    }

    /// Compares the last translation: after a walk its descriptors in memory, otherwise the TLB entry.
    fn check_translation<B: Bus + ?Sized>(
        &self,
        checker: &mut Checker,
        at: Modified,
        misses_before: u64,
        bus: &B,
    ) {
        if !self.control.has(control::MMU) {
            return;
        }
        let table = self.control.table;
        if self.statistics.tlb_misses != misses_before {
            // The TLB holds the result of the walk, or it faulted: only its descriptors matter.
            let _ = mmu::walk(table, at, |descriptor| {
                let found = bus.peek(descriptor)?;
                if checker.differs(descriptor, Width::Word, found) {
                    let holder = self.holder(None, descriptor, bus);
                    checker.stale(Use::Descriptor, at, descriptor, &holder);
                }
                Some(found)
            });
        } else if let Some(entry) = self.tlb.find(at) {
            let newest = |descriptor| {
                checker.newest(descriptor, Width::Word).or_else(|| bus.peek(descriptor))
            };
            let fresh = mmu::walk(table, at, newest);
            if !fresh.is_ok_and(|fresh| same(&fresh, entry)) {
                let from = if entry.section { entry.first } else { entry.second };
                checker.report(Stale::Translation(Physical(from)), at, Physical(from));
            }
        }
    }

    /// Whether the line that was hit is no longer that of its address, which was remapped; reports it.
    fn is_moved(
        &self,
        checker: &mut Checker,
        at: Modified,
        physical: Physical,
        hit: Option<usize>,
    ) -> bool {
        let moved = hit.is_some_and(|line| self.data.physical(line) != physical.line());
        if moved {
            checker.report(Stale::DataNotInvalidated, at, physical);
        }
        moved
    }

    /// Finds the newest contents of the line at `physical`, except in the data cache line `read`.
    fn holder<B: Bus + ?Sized>(
        &self,
        read: Option<Modified>,
        physical: Physical,
        bus: &B,
    ) -> Holder {
        let dirty = self.data.dirty_holder(physical.line(), read.map(Modified::line));
        Holder { dirty, memory: bus.peek(Physical(physical.0 & !3)) }
    }
}

/// The first byte of an access; the low bits of an unaligned address are ignored.
const fn aligned(physical: Physical, width: Width) -> Physical {
    Physical(physical.0 & !(width.bytes() - 1))
}

/// Whether two entries translate alike.
fn same(one: &Entry, other: &Entry) -> bool {
    let key = |entry: &Entry| {
        (entry.base, entry.mask, entry.physical, entry.permission, entry.domain, entry.section)
    };
    key(one) == key(other) && (one.cacheable, one.bufferable) == (other.cacheable, other.bufferable)
}
