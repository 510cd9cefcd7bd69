//! The memory system: system control coprocessor, MMU, TLB, caches with data, write buffer.
//!
//! Layer: rank 3. [`Memory`] performs the core's fetches, reads and writes, and advances the clock by
//! the core's stalls. It is generic over the [`Bus`] at each call, so that it can be copied and saved
//! without a board. Caches hold data: a stale line stays stale. In reading order: `control`
//! (coprocessor registers), `mmu` (tables and permissions), `tlb`, `cache`, `write_buffer` (and bus
//! timing), `data` and `fetch` (the two sides), `maintenance` (c7 and c8), `view` (access without side
//! effects), `lookaside` (known hits), `check` and `checked` (coherence checker). Equations, parameters
//! and known errors: docs/models/arm926-memory.md. Source: ARM DDI 0198D, chapters 2 to 6.

mod cache;
pub mod check;
mod checked;
pub mod control;
mod data;
mod fetch;
pub mod lookaside;
pub mod maintenance;
mod mmu;
pub mod statistics;
mod tlb;
mod view;
mod write_buffer;

use serde::{Deserialize, Serialize};

use crate::address::{Cycles, LINE, Modified, Physical, Virtual};
use crate::bus::{Bus, Width};
use crate::config::Config;
use crate::points::{Points, WatchHit, Watcher};
use cache::Cache;
use check::Checker;
use control::Control;
use fetch::Current;
pub use lookaside::Lookaside;
use mmu::Region;
pub use statistics::Statistics;
use tlb::{Entry, Tlb};
use write_buffer::WriteBuffer;

/// A data access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// The address. If unaligned, it faults with alignment checking; else its low bits are ignored.
    pub at: Virtual,
    /// The width.
    pub width: Width,
    /// Whether with the permissions of a privileged mode.
    pub privileged: bool,
}

impl Access {
    /// The access `index` words further on.
    #[allow(clippy::cast_possible_truncation, reason = "an index below 16")]
    const fn word(self, index: usize) -> Self {
        Self { at: Virtual(self.at.0.wrapping_add(4 * index as u32)), ..self }
    }

    /// The number of words of its line behind the one at this address.
    const fn words_behind(self) -> usize {
        ((LINE - 1 - self.at.0 % LINE) / 4) as usize
    }

    /// Splits words to be written at this address behind those of its line; `None` without words.
    fn split_at_line(self, values: &[u32]) -> Option<(&[u32], &[u32])> {
        let room = 1 + self.words_behind();
        (!values.is_empty()).then(|| values.split_at(room.min(values.len())))
    }
}

/// The kind of an abort, as the status field of a fault status register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum AbortKind {
    /// Alignment, 0001.
    Alignment = 0b0001,
    /// Translation of a section, 0101.
    SectionTranslation = 0b0101,
    /// Translation of a page, 0111.
    PageTranslation = 0b0111,
    /// Domain of a section, 1001.
    SectionDomain = 0b1001,
    /// Domain of a page, 1011.
    PageDomain = 0b1011,
    /// Permission of a section, 1101.
    SectionPermission = 0b1101,
    /// Permission of a page, 1111.
    PagePermission = 0b1111,
    /// External abort on a first-level walk, 1100.
    FirstLevelExternal = 0b1100,
    /// External abort on a second-level walk, 1110.
    SecondLevelExternal = 0b1110,
    /// External abort on the access itself, of a section or without the MMU, 1000.
    External = 0b1000,
    /// External abort on the access itself, of a page, 1010.
    PageExternal = 0b1010,
}

/// An aborted access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Abort {
    /// The kind.
    pub kind: AbortKind,
    /// The domain, if the kind has one, otherwise 0.
    pub domain: u8,
    /// The address of the access.
    pub at: Modified,
}

/// An undefined coprocessor access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Undefined;

/// The effect of a coprocessor write on the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// No effect.
    None,
    /// The core waits for an interrupt.
    WaitForInterrupt,
}

/// The destination of an access.
#[derive(Debug, Clone, Copy)]
struct Route {
    physical: Physical,
    region: Region,
    section: bool,
    domain: u8,
    /// The place of the translation in the TLB; 0 without the MMU.
    place: usize,
}

impl Route {
    /// The route without the MMU.
    const fn flat(at: Modified) -> Self {
        Self {
            physical: Physical(at.0),
            region: Region::Strong,
            section: true,
            domain: 0,
            place: 0,
        }
    }

    /// The route by a TLB entry.
    #[inline]
    const fn of((entry, place): (&Entry, usize), at: Modified, region: Region) -> Self {
        let Entry { section, domain, .. } = *entry;
        Self { physical: entry.physical(at), region, section, domain, place }
    }

    /// The address of an item; the low bits are ignored.
    #[inline]
    const fn item(&self, width: Width) -> Physical {
        Physical(self.physical.0 & !(width.bytes() - 1))
    }

    /// The abort for a bus error.
    const fn external(&self, at: Modified) -> Abort {
        let kind = if self.section { AbortKind::External } else { AbortKind::PageExternal };
        Abort { kind, domain: self.domain, at }
    }
}

/// The memory system of one core.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Snapshot")]
pub struct Memory {
    config: Config,
    control: Control,
    tlb: Tlb,
    instructions: Cache,
    data: Cache,
    buffer: WriteBuffer,
    current: Current,
    statistics: Statistics,
    /// Whether a single transfer to other than memory occurred since the last query, after which the
    /// interrupt lines may differ.
    touched: bool,
    checker: Option<Box<Checker>>,
    /// The watcher, while a run has points.
    #[serde(skip)]
    watcher: Option<Box<Watcher>>,
    /// Whether there is a checker or a watcher.
    #[serde(skip)]
    observed: bool,
    #[serde(skip)]
    lookaside: Lookaside,
    /// The cache line of the last data access, if there is one and, after a write, it is dirty.
    #[serde(skip)]
    hit: Option<Hit>,
}

/// A hit of a data access.
#[derive(Debug, Clone, Copy)]
struct Hit {
    /// The index of the line in the data cache.
    line: usize,
    /// The place of the translation in the TLB.
    place: usize,
}

/// A snapshot of a memory system. Snapshots are untrusted input: the parts may be inconsistent.
#[derive(Deserialize)]
struct Snapshot {
    config: Config,
    control: Control,
    tlb: Tlb,
    instructions: Cache,
    data: Cache,
    buffer: WriteBuffer,
    current: Current,
    statistics: Statistics,
    touched: bool,
    checker: Option<Box<Checker>>,
}

impl TryFrom<Snapshot> for Memory {
    type Error = &'static str;

    fn try_from(parts: Snapshot) -> Result<Self, Self::Error> {
        let Snapshot { config, control, mut tlb, instructions, data, buffer, current, .. } = parts;
        let sound = instructions.is_sound(config.instruction_cache)
            && data.is_sound(config.data_cache)
            && tlb.is_sound()
            && control.is_sound()
            && buffer.is_sound(config.bus_ratio);
        tlb.restore();
        let lookaside = Lookaside::new(control.hit_context(), [instructions.lines(), data.lines()]);
        let memory = Self {
            config,
            control,
            tlb,
            instructions,
            data,
            buffer,
            current,
            statistics: parts.statistics,
            touched: parts.touched,
            observed: parts.checker.is_some(),
            checker: parts.checker,
            watcher: None,
            lookaside,
            hit: None,
        };
        if sound && memory.current_is_sound() {
            Ok(memory)
        } else {
            Err("the caches, TLB and configuration of the core in the snapshot are inconsistent")
        }
    }
}

impl Memory {
    /// Creates a memory system after reset: MMU and caches disabled and empty.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let control = Control::new(config);
        let (instructions, data) =
            (Cache::new(config.instruction_cache), Cache::new(config.data_cache));
        let lookaside = Lookaside::new(control.hit_context(), [instructions.lines(), data.lines()]);
        Self {
            config: config.clone(),
            control,
            tlb: Tlb::new(config),
            instructions,
            data,
            buffer: WriteBuffer::new(config.bus_ratio),
            current: Current::NONE,
            statistics: Statistics::default(),
            touched: false,
            checker: config.check_coherence.then(Box::default),
            watcher: None,
            observed: config.check_coherence,
            lookaside,
            hit: None,
        }
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The counts since reset.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Compares data accesses with the watchpoints of `points` until [`Memory::stop_watching`].
    pub(crate) fn watch(&mut self, points: &Points) {
        self.watcher = Some(Box::new(Watcher::new(points)));
        self.observed = true;
    }

    /// Takes the first hit of a watchpoint since the last call.
    #[inline]
    pub(crate) fn take_watch_hit(&mut self) -> Option<WatchHit> {
        self.watcher.as_mut().and_then(|watcher| watcher.take())
    }

    /// Stops comparing data accesses.
    pub(crate) fn stop_watching(&mut self) {
        self.watcher = None;
        self.observed = self.checker.is_some();
    }

    /// Returns and clears [`Memory::touched`].
    pub const fn take_touched(&mut self) -> bool {
        std::mem::replace(&mut self.touched, false)
    }

    /// Whether a single transfer to other than memory occurred since [`Memory::take_touched`], after which
    /// the interrupt lines may differ.
    #[must_use]
    pub const fn touched(&self) -> bool {
        self.touched
    }

    /// Whether the vectors are high.
    #[must_use]
    pub const fn high_vectors(&self) -> bool {
        self.control.has(control::HIGH_VECTORS)
    }

    /// Whether loads of r15 do not change the state (L4 of the control register).
    #[must_use]
    pub const fn armv4_loads(&self) -> bool {
        self.control.has(control::ARMV4_LOADS)
    }

    /// Whether L4 was set since the core was created or restored, so that engines used the reference.
    #[must_use]
    pub const fn had_armv4_loads(&self) -> bool {
        self.control.had_armv4_loads || self.armv4_loads()
    }

    /// The FCSE PID of data accesses.
    #[must_use]
    pub const fn pid(&self) -> u8 {
        self.control.pid
    }

    /// The FCSE PID of fetches, unless a new one is about to take effect.
    #[must_use]
    pub const fn fetch_pid(&self) -> Option<u8> {
        if self.control.pid_delay == 0 { Some(self.control.fetch_pid) } else { None }
    }

    /// The translation table base, which together with the FCSE PID identifies a process.
    #[must_use]
    pub const fn table_base(&self) -> u32 {
        self.control.table
    }

    /// Completes an instruction. Fetches use a new FCSE PID after two instructions or a jump.
    #[inline]
    pub fn retire(&mut self, jumped: bool) {
        if self.control.pid_delay > 0 {
            self.change_pid(jumped);
        }
    }

    /// Advances towards the new PID. The current line belongs to the old one's slot.
    fn change_pid(&mut self, jumped: bool) {
        self.control.retire(jumped);
        if self.control.pid_delay == 0 {
            self.current = Current::NONE;
            self.lookaside.enter(self.control.hit_context(), &self.tlb, &self.data);
        }
    }

    /// The place of the translation of `at`, after a walk if need be, if the access is permitted.
    #[inline(always)]
    fn translate<B: Bus + ?Sized>(
        &mut self,
        at: Modified,
        privileged: bool,
        write: bool,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<usize, Abort> {
        self.statistics.tlb_lookups += 1;
        let place = match self.tlb.place_and_hint(at) {
            Some(place) => place,
            None => self.walk(at, bus, now)?,
        };
        let entry = self.tlb.entry(place);
        match self.allows(entry, privileged, write) {
            Ok(()) => Ok(place),
            Err(kind) => Err(Abort { kind, domain: entry.domain, at }),
        }
    }

    /// Checks domain and permission. The reserved domain value 2 allows no access.
    #[inline(always)]
    fn allows(&self, entry: &Entry, privileged: bool, write: bool) -> Result<(), AbortKind> {
        let system_rom = self.control.bits >> 8 & 3;
        match self.control.domains >> (2 * u32::from(entry.domain)) & 3 {
            3 => Ok(()),
            1 if mmu::permits(entry.permission, system_rom, privileged, write) => Ok(()),
            1 if entry.section => Err(AbortKind::SectionPermission),
            1 => Err(AbortKind::PagePermission),
            _ if entry.section => Err(AbortKind::SectionDomain),
            _ => Err(AbortKind::PageDomain),
        }
    }

    /// Walks the tables, one single transfer per descriptor; returns the place of the new entry.
    #[cold]
    fn walk<B: Bus + ?Sized>(
        &mut self,
        at: Modified,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<usize, Abort> {
        let Self { buffer, statistics, touched, .. } = self;
        statistics.tlb_misses += 1;
        let walked = mmu::walk(self.control.table, at, |descriptor| {
            statistics.waiting.write_buffer += buffer.before_read(descriptor, 4, now);
            let start = buffer.free(*now);
            *touched |= !bus.is_memory(descriptor);
            statistics.descriptors += 1;
            let reply = bus.read(descriptor, Width::Word, start).ok()?;
            statistics.waiting.walk += buffer.transfer(start, 1, reply.waits, now);
            Some(reply.value)
        });
        let entry = walked.map_err(|fault| Abort { kind: fault.kind, domain: fault.domain, at })?;
        let (place, overlapped) = self.tlb.insert(entry);
        if overlapped {
            // Which of the translations applies depends on their sizes and places.
            self.lookaside.invalidate_all();
        }
        self.lookaside.replace_translation(place, &self.tlb);
        Ok(place)
    }

    /// Records a data abort: data fault status and fault address.
    pub fn note_data_abort(&mut self, abort: Abort) {
        self.control.data_status = status(abort);
        self.control.fault_address = abort.at.0;
    }

    /// Records a prefetch abort: instruction fault status.
    pub fn note_prefetch_abort(&mut self, abort: Abort) {
        self.control.instruction_status = status(abort);
    }
}

/// A fault status register.
#[allow(clippy::cast_possible_truncation, reason = "the discriminant is the value of the field")]
fn status(abort: Abort) -> u32 {
    u32::from(abort.domain) << 4 | abort.kind as u32
}
