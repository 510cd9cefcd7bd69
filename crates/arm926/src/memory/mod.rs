//! The memory system: system control coprocessor, MMU, TLB, caches that hold data, write buffer.
//!
//! Layer: rank 3. [`Memory`] answers the core's fetches, reads and writes, and adds the cycles that the core waits to the clock
//! it is given. It is generic over the [`Bus`] at each call, so that it can be copied and saved without a board. What the caches hold is
//! what the program sees: a line that memory no longer agrees with stays as it is. In reading order: `control` (the coprocessor's
//! registers), `mmu` (tables and permissions), `tlb`, `cache`, `write_buffer` (and the bus in time), `data` and `fetch` (the two
//! sides), `maintenance` (the operations of c7 and c8), `view` (looking without touching, for debuggers and the fast engine),
//! `check` and `checked` (the checker of coherence).
//! Equations, parameters and known errors: docs/models/arm926-memory.md. Source: ARM DDI 0198D, chapters 2 to 6.

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

use crate::address::{Cycles, Modified, Physical, Virtual};
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
    /// Where. May be unaligned: that is an alignment fault if those are on, else the lowest bits are ignored.
    pub at: Virtual,
    /// How much.
    pub width: Width,
    /// With the permissions of a privileged mode.
    pub privileged: bool,
}

impl Access {
    /// The same, `index` words further on.
    #[allow(clippy::cast_possible_truncation, reason = "an index below 16")]
    const fn word(self, index: usize) -> Self {
        Self { at: Virtual(self.at.0.wrapping_add(4 * index as u32)), ..self }
    }
}

/// Why an access failed: the status field of a fault status register.
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

/// An access that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Abort {
    /// Why.
    pub kind: AbortKind,
    /// The domain, where the kind of fault has one; 0 otherwise.
    pub domain: u8,
    /// The modified virtual address.
    pub at: Modified,
}

/// A coprocessor access that is not defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Undefined;

/// What a write to the system control coprocessor asks of the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing more.
    None,
    /// To wait for an interrupt.
    WaitForInterrupt,
}

/// Where an access goes.
#[derive(Debug, Clone, Copy)]
struct Route {
    physical: Physical,
    region: Region,
    section: bool,
    domain: u8,
    /// The place of the translation in the TLB; 0 also without the MMU.
    place: usize,
}

impl Route {
    /// Without the MMU.
    const fn flat(at: Modified) -> Self {
        Self {
            physical: Physical(at.0),
            region: Region::Strong,
            section: true,
            domain: 0,
            place: 0,
        }
    }

    /// By the entry of the TLB at a place, into a region.
    #[inline]
    const fn of((entry, place): (&Entry, usize), at: Modified, region: Region) -> Self {
        let Entry { section, domain, .. } = *entry;
        Self { physical: entry.physical(at), region, section, domain, place }
    }

    /// Where an item begins: its lowest address bits are ignored.
    #[inline]
    const fn item(&self, width: Width) -> Physical {
        Physical(self.physical.0 & !(width.bytes() - 1))
    }

    /// The bus answered with an error.
    const fn external(&self, at: Modified) -> Abort {
        let kind = if self.section { AbortKind::External } else { AbortKind::PageExternal };
        Abort { kind, domain: self.domain, at }
    }
}

/// The memory system of one core.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
pub struct Memory {
    config: Config,
    control: Control,
    tlb: Tlb,
    instructions: Cache,
    data: Cache,
    buffer: WriteBuffer,
    current: Current,
    statistics: Statistics,
    /// A single read or write of something else than memory went over the bus since it was last asked.
    touched: bool,
    checker: Option<Box<Checker>>,
    /// Watchpoints, while a run goes to points.
    #[serde(skip)]
    watcher: Option<Box<Watcher>>,
    /// There is a checker or a watcher.
    #[serde(skip)]
    looked_at: bool,
    #[serde(skip)]
    lookaside: Lookaside,
    /// The last data access, if it was one of a line of the cache that it leaves dirty if it wrote.
    #[serde(skip)]
    hit: Option<Hit>,
}

/// What a data access hit.
#[derive(Debug, Clone, Copy)]
struct Hit {
    /// Its line in the data cache.
    line: usize,
    /// Its translation in the TLB.
    place: usize,
}

/// A memory system as it was saved, by whomever: its parts may not fit together.
#[derive(Deserialize)]
struct Saved {
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

impl TryFrom<Saved> for Memory {
    type Error = &'static str;

    fn try_from(saved: Saved) -> Result<Self, Self::Error> {
        let Saved { config, control, mut tlb, instructions, data, buffer, current, .. } = saved;
        let sound = instructions.is_sound(config.instruction_cache)
            && data.is_sound(config.data_cache)
            && tlb.is_sound()
            && control.is_sound()
            && buffer.is_sound(config.bus_ratio);
        tlb.restore();
        let lookaside = Lookaside::new(control.decisive(), [instructions.lines(), data.lines()]);
        let memory = Self {
            config,
            control,
            tlb,
            instructions,
            data,
            buffer,
            current,
            statistics: saved.statistics,
            touched: saved.touched,
            looked_at: saved.checker.is_some(),
            checker: saved.checker,
            watcher: None,
            lookaside,
            hit: None,
        };
        if sound && memory.current_is_sound() {
            Ok(memory)
        } else {
            Err("the saved caches, TLB and configuration of the core do not fit together")
        }
    }
}

impl Memory {
    /// As after reset: MMU and caches off, nothing in them.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let control = Control::new(config);
        let (instructions, data) =
            (Cache::new(config.instruction_cache), Cache::new(config.data_cache));
        let lookaside = Lookaside::new(control.decisive(), [instructions.lines(), data.lines()]);
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
            looked_at: config.check_coherence,
            lookaside,
            hit: None,
        }
    }

    /// How it is made.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What was counted since reset.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Looks at data accesses for the watchpoints of `points` until [`Memory::stop_watching`].
    pub(crate) fn watch(&mut self, points: &Points) {
        self.watcher = Some(Box::new(Watcher::new(points)));
        self.looked_at = true;
    }

    /// The first access that was watched since this was last asked.
    #[inline]
    pub(crate) fn take_seen(&mut self) -> Option<WatchHit> {
        self.watcher.as_mut().and_then(|watcher| watcher.take())
    }

    /// Looks at data accesses no more.
    pub(crate) fn stop_watching(&mut self) {
        self.watcher = None;
        self.looked_at = self.checker.is_some();
    }

    /// Whether a single transfer went over the bus since this was last asked: interrupt lines may have changed.
    pub const fn take_touched(&mut self) -> bool {
        std::mem::replace(&mut self.touched, false)
    }

    /// Whether a single transfer went over the bus that [`Memory::take_touched`] has not told yet.
    #[must_use]
    pub const fn touched(&self) -> bool {
        self.touched
    }

    /// Exceptions go to the high vectors.
    #[must_use]
    pub const fn high_vectors(&self) -> bool {
        self.control.has(control::HIGH_VECTORS)
    }

    /// Loads of the pc do not change to Thumb state (the control register's L4).
    #[must_use]
    pub const fn armv4_loads(&self) -> bool {
        self.control.has(control::ARMV4_LOADS)
    }

    /// Whether L4 was set at any time since the core was made or restored: all engines left those instructions to the reference.
    #[must_use]
    pub const fn had_armv4_loads(&self) -> bool {
        self.control.had_armv4_loads || self.armv4_loads()
    }

    /// The FCSE process number that data accesses use.
    #[must_use]
    pub const fn pid(&self) -> u8 {
        self.control.pid
    }

    /// The FCSE process number that fetches use, if no other one is about to become effective for them.
    #[must_use]
    pub const fn fetch_pid(&self) -> Option<u8> {
        if self.control.pid_delay == 0 { Some(self.control.fetch_pid) } else { None }
    }

    /// The base of the first-level translation table: with the process number it tells processes apart.
    #[must_use]
    pub const fn table_base(&self) -> u32 {
        self.control.table
    }

    /// Tells that the instruction in execution was left behind, with the next one at the following address, or with a jump:
    /// a new FCSE process number becomes effective for fetches after two instructions, or with a jump.
    #[inline]
    pub fn retire(&mut self, jumped: bool) {
        if self.control.pid_delay > 0 {
            self.change_pid(jumped);
        }
    }

    /// Moves on towards the new process number; the current line lies in the old one's slot.
    fn change_pid(&mut self, jumped: bool) {
        self.control.retire(jumped);
        if self.control.pid_delay == 0 {
            self.current = Current::NONE;
            self.lookaside.enter(self.control.decisive(), &self.tlb, &self.data);
        }
    }

    /// The place of the translation of `at`, by the TLB or a walk, if domain and permission allow the access.
    #[inline(always)]
    fn translate<B: Bus>(
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

    /// Whether domain and permission allow an access. Domain value 2, which is reserved, allows none.
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

    /// Reads descriptors from memory, one single transfer each, and keeps what they say in the TLB: where.
    #[cold]
    fn walk<B: Bus>(
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
        if self.tlb.overlaps(&entry) {
            // Which of the two translates an address depends on their sizes and places.
            self.lookaside.invalidate_all();
        }
        let place = self.tlb.insert(entry);
        self.lookaside.translation_gone(place);
        Ok(place)
    }

    /// Notes a data abort that is taken: data fault status and fault address.
    pub fn note_data_abort(&mut self, abort: Abort) {
        self.control.data_status = status(abort);
        self.control.fault_address = abort.at.0;
    }

    /// Notes a prefetch abort that is taken: instruction fault status.
    pub fn note_prefetch_abort(&mut self, abort: Abort) {
        self.control.instruction_status = status(abort);
    }
}

/// A fault status register.
#[allow(clippy::cast_possible_truncation, reason = "the discriminant is the value of the field")]
fn status(abort: Abort) -> u32 {
    u32::from(abort.domain) << 4 | abort.kind as u32
}
