//! The data side: the data cache, fills, write-backs, and accesses past it.
//!
//! Layer: rank 3; methods of [`Memory`]. A read that misses fills a line, the word that is wanted first; a write that misses goes to
//! memory only. What a fill replaces goes into the write-back buffer first, half by half as far as it is dirty, and on the bus behind
//! the fill. An access to a region that is not cached does not look into the cache, and finds memory
//! even where a line has newer data. Source: ARM DDI 0198D, chapter 4.

use super::mmu::Region;
use super::{Abort, AbortKind, Access, Hit, Memory, Route, control};
use crate::address::{Cycles, LINE, Modified, Physical};
use crate::bus::Bus;

impl Memory {
    /// Reads; the value is right-aligned.
    ///
    /// # Errors
    ///
    /// An [`Abort`].
    #[inline]
    pub fn read<B: Bus>(
        &mut self,
        access: Access,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        if self.looked_at {
            return self.read_looked_at(access, bus, now);
        }
        self.read_plain(access, bus, now)
    }

    #[inline]
    pub(super) fn read_plain<B: Bus>(
        &mut self,
        access: Access,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        let at = self.control.modified(access.at);
        let route = self.data_route(access, at, false, bus, now)?;
        if !route.region.is_cached() {
            return self.read_past(access, route, bus, now);
        }
        self.statistics.data_cache.reads += 1;
        let line = match self.data.find(at) {
            Some(line) => line,
            None => {
                self.statistics.data_cache.read_misses += 1;
                match self.fill_data(at, route, bus, now)? {
                    Some(line) => line,
                    None => return self.read_past(access, route, bus, now),
                }
            }
        };
        self.hit = Some(Hit { line, place: route.place });
        Ok(self.data.load(line, at.0, access.width))
    }

    /// Writes the lowest bits of `value`.
    ///
    /// # Errors
    ///
    /// An [`Abort`].
    #[inline]
    pub fn write<B: Bus>(
        &mut self,
        access: Access,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        if self.looked_at {
            return self.write_looked_at(access, value, bus, now);
        }
        self.write_plain(access, value, bus, now)
    }

    #[inline]
    pub(super) fn write_plain<B: Bus>(
        &mut self,
        access: Access,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        let at = self.control.modified(access.at);
        let route = self.data_route(access, at, true, bus, now)?;
        if route.region.is_cached() {
            self.statistics.data_cache.writes += 1;
            if let Some(line) = self.data.find(at) {
                self.data.store(line, at.0, access.width, value);
                if route.region == Region::WriteBack {
                    self.data.soil(line, at.0);
                    self.hit = Some(Hit { line, place: route.place });
                    return Ok(());
                }
            } else {
                self.statistics.data_cache.write_misses += 1;
            }
        }
        self.write_past(access, route, value, bus, now)
    }

    /// Where a data access goes, after the checks of alignment, translation, domain and permission.
    #[inline(always)]
    fn data_route<B: Bus>(
        &mut self,
        access: Access,
        at: Modified,
        write: bool,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<Route, Abort> {
        let misaligned = at.0 & (access.width.bytes() - 1) != 0;
        if misaligned && self.control.has(control::ALIGNMENT) {
            return Err(Abort { kind: AbortKind::Alignment, domain: 0, at });
        }
        if !self.control.has(control::MMU) {
            return Ok(Route::flat(at));
        }
        let on = self.control.has(control::DATA_CACHE);
        let place = self.translate(at, access.privileged, write, bus, now)?;
        let entry = self.tlb.entry(place);
        Ok(Route::of((entry, place), at, Region::of(entry.cacheable && on, entry.bufferable)))
    }

    /// Fills a line; none if all ways are locked.
    #[inline(never)]
    fn fill_data<B: Bus>(
        &mut self,
        at: Modified,
        route: Route,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<Option<usize>, Abort> {
        let round_robin = self.control.has(control::ROUND_ROBIN);
        let Some(line) = self.data.victim(at, round_robin) else { return Ok(None) };
        self.write_line_back(line, bus, now);
        let from = route.physical.line();
        self.statistics.waiting.write_buffer += self.buffer.before_read(from, LINE, now);
        let start = self.buffer.free(*now);
        let mut contents = [0; 32];
        let waits = bus.read_line(from, &mut contents, start).map_err(|_| route.external(at))?;
        self.statistics.waiting.data += self.buffer.transfer(start, 8, waits, now);
        if let Some(old) = self.data.address(line) {
            self.statistics.data_cache.replaced += 1;
            self.lookaside.data_line_gone(line, old);
        }
        self.data.install(line, at, from, &contents);
        Ok(Some(line))
    }

    /// Reads from the bus: behind all buffered writes if the region is neither cached nor buffered.
    #[inline(never)]
    fn read_past<B: Bus>(
        &mut self,
        access: Access,
        route: Route,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        self.hit = None;
        let length = access.width.bytes();
        let at = Physical(route.physical.0 & !(length - 1));
        self.statistics.waiting.write_buffer += if route.region == Region::Strong {
            self.buffer.drain(now)
        } else {
            self.buffer.before_read(at, length, now)
        };
        let start = self.buffer.free(*now);
        self.touched |= !bus.is_memory(at);
        self.statistics.uncached_reads += 1;
        let reply = bus
            .read(at, access.width, start)
            .map_err(|_| route.external(self.control.modified(access.at)))?;
        self.statistics.waiting.uncached += self.buffer.transfer(start, 1, reply.waits, now);
        Ok(reply.value)
    }

    /// Writes to the bus, through the store buffer unless the region is neither cached nor buffered.
    #[inline(never)]
    fn write_past<B: Bus>(
        &mut self,
        access: Access,
        route: Route,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        self.hit = None;
        let at = Physical(route.physical.0 & !(access.width.bytes() - 1));
        self.touched |= !bus.is_memory(at);
        if route.region != Region::Strong {
            self.statistics.buffered_writes += 1;
            match bus.write(at, access.width, value, *now) {
                Ok(waits) => {
                    let waited = self.buffer.store(at, access.width, waits, now);
                    self.statistics.waiting.write_buffer += waited;
                }
                Err(_) => self.statistics.lost_writes += 1,
            }
            return Ok(());
        }
        self.statistics.waiting.write_buffer += self.buffer.drain(now);
        let start = self.buffer.free(*now);
        self.statistics.unbuffered_writes += 1;
        let waits = bus
            .write(at, access.width, value, start)
            .map_err(|_| route.external(self.control.modified(access.at)))?;
        self.statistics.waiting.uncached += self.buffer.transfer(start, 1, waits, now);
        Ok(())
    }
}
