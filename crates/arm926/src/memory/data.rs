//! The data side: the data cache, refills, write-backs, and uncached accesses.
//!
//! Layer: rank 3; methods of [`Memory`]. A read miss refills a line, critical word first; a write miss
//! writes to memory. Dirty halves of the victim are written back after the refill. An access to an
//! uncached region bypasses the cache even if a line has newer data. Source: ARM DDI 0198D, chapter 4.

use super::mmu::Region;
use super::{Abort, AbortKind, Access, Hit, Memory, Route, control};
use crate::address::{Cycles, LINE, Modified, Physical};
use crate::bus::{Bus, Waits, Width};

impl Memory {
    /// Reads an item, which is returned right-aligned.
    ///
    /// # Errors
    ///
    /// An [`Abort`].
    #[inline]
    pub fn read<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        if self.observed {
            return self.read_observed(access, bus, now);
        }
        self.read_plain(access, bus, now)
    }

    #[inline]
    pub(super) fn read_plain<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        let at = self.control.modified(access.at);
        let route = self.data_route(access, at, false, bus, now)?;
        if !route.region.is_cached() {
            return self.read_uncached(access, route, bus, now);
        }
        self.statistics.data_cache.reads += 1;
        let line = match self.data.find(at) {
            Some(line) => line,
            None => {
                self.statistics.data_cache.read_misses += 1;
                match self.fill_data(at, route, bus, now)? {
                    Some(line) => line,
                    None => return self.read_uncached(access, route, bus, now),
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
    pub fn write<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        if self.observed {
            return self.write_observed(access, value, bus, now);
        }
        self.write_plain(access, value, bus, now)
    }

    /// Reads words at `access` and after it, like one read each.
    ///
    /// # Errors
    ///
    /// An [`Abort`], after the preceding words are read.
    pub(crate) fn read_words<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        values: &mut [u32],
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        let (mut access, mut rest) = (access, values);
        while let Some((first, others)) = rest.split_first_mut() {
            *first = self.read(access, bus, now)?;
            let (line, others) = others.split_at_mut(others.len().min(access.words_behind()));
            match self.hit {
                Some(hit) if !self.observed => {
                    self.statistics.tlb_lookups += line.len() as u64;
                    self.statistics.data_cache.reads += line.len() as u64;
                    self.data.load_words(hit.line, access.word(1).at.0, line);
                }
                _ => {
                    for (index, value) in (1..).zip(&mut *line) {
                        *value = self.read(access.word(index), bus, now)?;
                    }
                }
            }
            access = access.word(1 + line.len());
            rest = others;
        }
        Ok(())
    }

    /// Writes words at `access` and after it, like one write each.
    ///
    /// # Errors
    ///
    /// An [`Abort`], after the preceding words are written.
    pub(crate) fn write_words<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        values: &[u32],
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        if self.observed {
            let mut words = (0..).zip(values);
            return words.try_for_each(|(index, value)| {
                self.write_observed(access.word(index), *value, bus, now)
            });
        }
        let (mut access, mut rest) = (access, values);
        while let Some((line, others)) = access.split_at_line(rest) {
            self.write_in_line(access, line, bus, now)?;
            (access, rest) = (access.word(line.len()), others);
        }
        Ok(())
    }

    /// Writes one item without an observer.
    #[inline(never)]
    pub(super) fn write_plain<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        self.write_in_line(access, &[value], bus, now)
    }

    /// Writes one item, or words in one line, with one lookup: a write replaces no line or translation.
    #[inline(always)]
    fn write_in_line<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        values: &[u32],
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        let at = self.control.modified(access.at);
        let route = self.data_route(access, at, true, bus, now)?;
        if !route.region.is_cached() {
            let [first, rest @ ..] = values else { return Ok(()) };
            self.write_uncached(access, route, *first, bus, now)?;
            let mut others = (1..).zip(rest);
            return others.try_for_each(|(index, value)| {
                self.write_plain(access.word(index), *value, bus, now)
            });
        }
        self.hit = None;
        let count = values.len() as u64;
        self.statistics.tlb_lookups += count - 1;
        self.statistics.data_cache.writes += count;
        let places = || (0..).step_by(4).zip(values);
        if let Some(line) = self.data.find(at) {
            places().for_each(|(offset, value)| {
                self.data.store(line, at.0 + offset, access.width, *value);
            });
            if route.region == Region::WriteBack {
                places().for_each(|(offset, _)| self.data.mark_dirty(line, at.0 + offset));
                self.hit = Some(Hit { line, place: route.place });
                return Ok(());
            }
        } else {
            self.statistics.data_cache.write_misses += count;
            if bus.is_memory(route.physical) {
                let context = self.control.hit_context();
                self.lookaside.add_miss(context, access, route.physical);
                self.write_to_memory(route.item(access.width), access.width, values, bus, now);
                return Ok(());
            }
        }
        for (offset, value) in places() {
            let at = Physical(route.item(access.width).0 + offset);
            self.write_buffered(at, access.width, *value, bus, now);
        }
        Ok(())
    }

    /// Writes items in a row of a cached line in memory that misses, and whose translation permits it.
    #[inline]
    pub(super) fn write_around<B: Bus + ?Sized>(
        &mut self,
        at: Physical,
        width: Width,
        values: &[u32],
        bus: &mut B,
        now: &mut Cycles,
    ) {
        self.note_around(values.len() as u64);
        self.write_to_memory(at, width, values, bus, now);
    }

    /// Writes an item, or words in a row, to a line of memory through the store buffer.
    #[inline(always)]
    fn write_to_memory<B: Bus + ?Sized>(
        &mut self,
        at: Physical,
        width: Width,
        values: &[u32],
        bus: &mut B,
        now: &mut Cycles,
    ) {
        if values.len() > 1
            && let Some(waits) = bus.write_words(at, values)
        {
            #[allow(clippy::cast_possible_truncation, reason = "the words of a line")]
            let count = values.len() as u32;
            self.statistics.buffered_writes += u64::from(count);
            self.statistics.waiting.write_buffer += self.buffer.store_words(at, count, waits, now);
            return;
        }
        for (offset, value) in (0..).step_by(4).zip(values) {
            self.write_to_board(Physical(at.0 + offset), width, *value, bus, now);
        }
    }

    /// Counts writes of a cached line that miss.
    #[inline(always)]
    pub(super) fn note_around(&mut self, count: u64) {
        self.statistics.tlb_lookups += count;
        self.statistics.data_cache.writes += count;
        self.statistics.data_cache.write_misses += count;
        self.hit = None;
    }

    /// Checks alignment, translation, domain and permission, and returns the route of a data access.
    #[inline(always)]
    fn data_route<B: Bus + ?Sized>(
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

    /// Refills a line; `None` if all ways are locked.
    #[inline(never)]
    fn fill_data<B: Bus + ?Sized>(
        &mut self,
        at: Modified,
        route: Route,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<Option<usize>, Abort> {
        let round_robin = self.control.has(control::ROUND_ROBIN);
        let Some(line) = self.data.victim(at, round_robin) else { return Ok(None) };
        // Most are clean, which spares a call.
        if self.data.dirty(line) != 0 {
            self.write_line_back(line, bus, now);
        }
        let from = route.physical.line();
        self.statistics.waiting.write_buffer += self.buffer.before_read(from, LINE, now);
        let start = self.buffer.free(*now);
        let mut contents = [0; 32];
        let waits = bus.read_line(from, &mut contents, start).map_err(|_| route.external(at))?;
        self.statistics.waiting.data += self.buffer.transfer(start, 8, waits, now);
        if let Some(old) = self.data.address(line) {
            self.statistics.data_cache.replaced += 1;
            self.lookaside.drop_data_line(line, old);
        }
        self.data.install(line, at, from, &contents);
        self.lookaside.drop_miss(at);
        Ok(Some(line))
    }

    /// Reads from the bus; in a strongly ordered region after all buffered writes.
    #[inline(never)]
    fn read_uncached<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        route: Route,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        self.hit = None;
        let length = access.width.bytes();
        let at = route.item(access.width);
        self.statistics.waiting.write_buffer += if route.region == Region::Strong {
            self.buffer.drain(now)
        } else {
            self.buffer.before_read(at, length, now)
        };
        let start = self.buffer.free(*now);
        self.statistics.uncached_reads += 1;
        let reply = bus.read(at, access.width, start);
        self.touched |= !bus.is_memory(at) && bus.lines_may_differ();
        let reply = reply.map_err(|_| route.external(self.control.modified(access.at)))?;
        self.statistics.waiting.uncached += self.buffer.transfer(start, 1, reply.waits, now);
        Ok(reply.value)
    }

    /// Writes to the bus, through the store buffer unless the region is strongly ordered.
    #[inline(never)]
    fn write_uncached<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        route: Route,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        self.hit = None;
        let at = route.item(access.width);
        if route.region != Region::Strong {
            self.write_buffered(at, access.width, value, bus, now);
            return Ok(());
        }
        self.touched |= !bus.is_memory(at);
        self.statistics.waiting.write_buffer += self.buffer.drain(now);
        let start = self.buffer.free(*now);
        self.statistics.unbuffered_writes += 1;
        let waits = bus
            .write(at, access.width, value, start)
            .map_err(|_| route.external(self.control.modified(access.at)))?;
        self.statistics.waiting.uncached += self.buffer.transfer(start, 1, waits, now);
        Ok(())
    }

    /// Writes through the store buffer.
    #[inline]
    fn write_buffered<B: Bus + ?Sized>(
        &mut self,
        at: Physical,
        width: Width,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) {
        self.touched |= !bus.is_memory(at);
        self.write_to_board(at, width, value, bus, now);
    }

    /// As [`Memory::write_buffered`], where it is known whether the board is more than memory at `at`.
    #[inline]
    fn write_to_board<B: Bus + ?Sized>(
        &mut self,
        at: Physical,
        width: Width,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) {
        match bus.write(at, width, value, *now) {
            Ok(waits) => self.time_store_apart(at, width, waits, now),
            Err(_) => {
                self.statistics.buffered_writes += 1;
                self.statistics.lost_writes += 1;
            }
        }
    }

    /// Counts and times a buffered store that the board has.
    #[inline(always)]
    pub(super) fn time_store(
        &mut self,
        at: Physical,
        width: Width,
        waits: Waits,
        now: &mut Cycles,
    ) {
        self.statistics.buffered_writes += 1;
        self.statistics.waiting.write_buffer += self.buffer.store(at, width, waits, now);
    }

    /// As [`Memory::time_store`], once for many callers.
    #[inline(never)]
    fn time_store_apart(&mut self, at: Physical, width: Width, waits: Waits, now: &mut Cycles) {
        self.time_store(at, width, waits, now);
    }
}
