//! The instruction side: the current line, the instruction cache, and uncached fetches.
//!
//! Layer: rank 3; methods of [`Memory`]. Fetches in the current line, with the same privilege, look up
//! neither TLB nor cache, like the core's. The current line is part of the state. Writes to the
//! coprocessor and a change of the fetches' PID invalidate it; exceptions and data accesses do not.
//! Uncached fetches look up each time. Source: ARM DDI 0198D, chapter 4. It is assumed that the core
//! continues with the critical word, and that the other words arrive in time.

use serde::{Deserialize, Serialize};

use super::mmu::Region;
use super::{Abort, Access, Memory, Route, control};
use crate::address::{Cycles, LINE, Modified, Physical, Virtual};
use crate::bus::Bus;

/// The line of the preceding fetch.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Current {
    /// Its virtual address, with bit 1 set, and bit 0 for privileged fetches; 0 for no line.
    key: u32,
    /// Its index in the cache.
    line: u32,
}

impl Current {
    /// No line.
    pub(super) const NONE: Self = Self { key: 0, line: 0 };

    #[inline]
    fn is(&self, at: Virtual, privileged: bool) -> bool {
        self.key == key(at, privileged)
    }

    fn place(self) -> usize {
        self.line as usize
    }
}

#[inline]
fn key(at: Virtual, privileged: bool) -> u32 {
    at.0 & !(LINE - 1) | 2 | u32::from(privileged)
}

impl Memory {
    /// Fetches the word (ARM) or half-word (Thumb) at `at`.
    ///
    /// # Errors
    ///
    /// An [`Abort`], which the core takes only if the instruction is executed.
    #[inline]
    pub fn fetch<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        if self.checker.is_some() {
            return self.fetch_checked(access, bus, now);
        }
        self.fetch_plain(access, bus, now)
    }

    #[inline]
    pub(super) fn fetch_plain<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        if self.current.is(access.at, access.privileged) {
            return Ok(self.instructions.load(self.current.place(), access.at.0, access.width));
        }
        self.fetch_elsewhere(access, bus, now)
    }

    /// Fetches from another line, or uncached.
    #[inline(never)]
    pub(super) fn fetch_elsewhere<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        self.current = Current::NONE;
        let at = self.control.fetch_modified(access.at);
        let route = self.fetch_route(at, access.privileged, bus, now)?;
        if route.region.is_cached() {
            self.statistics.instruction_cache.reads += 1;
            let line = match self.instructions.find(at) {
                Some(line) => Some(line),
                None => {
                    self.statistics.instruction_cache.read_misses += 1;
                    self.fill_instructions(at, route, bus, now)?
                }
            };
            if let Some(line) = line {
                self.make_current(access.at, access.privileged, line);
                return Ok(self.instructions.load(line, at.0, access.width));
            }
        }
        self.fetch_uncached(access, route, bus, now)
    }

    /// Fetches a line that is not in the cache, in a cached region with its translation at `place` of the
    /// TLB, and makes it current. Returns its index; `None` if all ways are locked.
    pub(super) fn fetch_missing<B: Bus + ?Sized>(
        &mut self,
        (at, modified): (Virtual, Modified),
        privileged: bool,
        place: usize,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<Option<usize>, Abort> {
        self.current = Current::NONE;
        self.statistics.tlb_lookups += 1;
        self.statistics.instruction_cache.reads += 1;
        self.statistics.instruction_cache.read_misses += 1;
        self.tlb.hint(modified, place);
        let route = Route::of((self.tlb.entry(place), place), modified, Region::of(true, false));
        let line = self.fill_instructions(modified, route, bus, now)?;
        if let Some(line) = line {
            self.make_current(at, privileged, line);
        }
        Ok(line)
    }

    /// The route of a fetch: cached if the I bit is set and, with the MMU, the region's C bit.
    #[inline(always)]
    fn fetch_route<B: Bus + ?Sized>(
        &mut self,
        at: Modified,
        privileged: bool,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<Route, Abort> {
        let on = self.control.has(control::INSTRUCTION_CACHE);
        if !self.control.has(control::MMU) {
            return Ok(Route { region: Region::of(on, false), ..Route::flat(at) });
        }
        let place = self.translate(at, privileged, false, bus, now)?;
        let entry = self.tlb.entry(place);
        Ok(Route::of((entry, place), at, Region::of(entry.cacheable && on, false)))
    }

    fn make_current(&mut self, at: Virtual, privileged: bool, line: usize) {
        self.current = Current { key: key(at, privileged), line: u32::try_from(line).unwrap_or(0) };
    }

    /// Refills a line; `None` if all ways are locked.
    #[inline(never)]
    fn fill_instructions<B: Bus + ?Sized>(
        &mut self,
        at: Modified,
        route: Route,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<Option<usize>, Abort> {
        let round_robin = self.control.has(control::ROUND_ROBIN);
        let Some(line) = self.instructions.victim(at, round_robin) else { return Ok(None) };
        let start = self.buffer.free(*now);
        let mut contents = [0; 32];
        let waits = bus
            .read_line(route.physical.line(), &mut contents, start)
            .map_err(|_| route.external(at))?;
        self.statistics.waiting.fetch += self.buffer.transfer(start, 8, waits, now);
        if let Some(old) = self.instructions.address(line) {
            self.statistics.instruction_cache.replaced += 1;
            self.lookaside.drop_instruction_line(line, old);
        }
        self.instructions.install(line, at, route.physical, &contents);
        Ok(Some(line))
    }

    fn fetch_uncached<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        route: Route,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        let at = Physical(route.physical.0 & !(access.width.bytes() - 1));
        let start = self.buffer.free(*now);
        self.touched |= !bus.is_memory(at);
        self.statistics.uncached_fetches += 1;
        let reply = bus
            .read(at, access.width, start)
            .map_err(|_| route.external(self.control.fetch_modified(access.at)))?;
        self.statistics.waiting.fetch += self.buffer.transfer(start, 1, reply.waits, now);
        Ok(reply.value)
    }

    /// Prefetches the line of `at` if its region is cached and readable (c7).
    pub(super) fn prefetch<B: Bus + ?Sized>(
        &mut self,
        at: Modified,
        bus: &mut B,
        now: &mut Cycles,
    ) {
        let Ok(route) = self.fetch_route(at, true, bus, now) else { return };
        let cached = route.region.is_cached();
        if cached && self.instructions.find(at).is_none() {
            self.statistics.instruction_cache.read_misses += 1;
            // A failed refill leaves no line; the operation cannot report it.
            let _ = self.fill_instructions(at, route, bus, now);
        }
    }

    /// The index of the current line, if it contains `at`.
    pub(super) fn current_place(&self, at: Virtual, privileged: bool) -> Option<usize> {
        self.current.is(at, privileged).then(|| self.current.place())
    }

    /// The contents of the current line, if a fetch at `at` would use it without a lookup.
    #[must_use]
    pub fn current_line(&self, at: Virtual, privileged: bool) -> Option<&[u8; 32]> {
        if self.current.is(at, privileged) {
            return self.instructions.contents(self.current.place());
        }
        None
    }

    /// Makes the line of `at` current without a lookup, since it is known to hit.
    pub fn enter_line(&mut self, at: Virtual, privileged: bool) {
        match self.instructions.find(self.control.fetch_modified(at)) {
            Some(line) => self.make_current(at, privileged, line),
            None => self.current = Current::NONE,
        }
    }

    /// Whether the current line is in the cache: snapshots are untrusted input.
    pub(super) fn current_is_sound(&self) -> bool {
        self.current.key == 0 || self.instructions.contents(self.current.place()).is_some()
    }
}
