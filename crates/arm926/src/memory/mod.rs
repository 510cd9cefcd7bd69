//! The memory system: system control coprocessor, MMU, TLB, caches that hold data, write buffer.
//!
//! Layer: rank 3. [`Memory`] answers the core's fetches, reads and writes, and adds the cycles that the core waits to the clock
//! it is given. It is generic over the [`Bus`] at each call, so that it can be copied and saved without a board.
//! Source: ARM DDI 0198D, chapters 2 to 6.

pub mod lookaside;
pub mod statistics;

use serde::{Deserialize, Serialize};

use crate::address::{Cycles, Modified, Physical, Virtual};
use crate::bus::{Bus, Width};
use crate::config::Config;
use crate::instruction::CoprocessorAccess;
pub use lookaside::Lookaside;
pub use statistics::Statistics;

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
    /// External abort on the access itself, 1000.
    External = 0b1000,
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

/// The memory system of one core.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Memory {
    config: Config,
    statistics: Statistics,
    /// A transfer went over the bus as a single read or write since it was last asked.
    touched: bool,
    #[serde(skip)]
    lookaside: Lookaside,
}

impl Memory {
    /// As after reset: MMU and caches off.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            statistics: Statistics::default(),
            touched: false,
            lookaside: Lookaside::default(),
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

    /// Whether a single transfer went over the bus since this was last asked: interrupt lines may have changed.
    pub const fn take_touched(&mut self) -> bool {
        std::mem::replace(&mut self.touched, false)
    }

    /// Exceptions go to the high vectors.
    #[must_use]
    pub const fn high_vectors(&self) -> bool {
        self.config.high_vectors
    }

    /// The FCSE process number that data accesses use.
    #[must_use]
    pub const fn pid(&self) -> u8 {
        0
    }

    /// The base of the first-level translation table: with the process number it tells processes apart.
    #[must_use]
    pub const fn table_base(&self) -> u32 {
        0
    }

    /// Tells that the instruction in execution was left behind, with the next one at the following address, or with a jump:
    /// a new FCSE process number becomes effective for fetches after two instructions, or with a jump.
    #[inline]
    pub const fn retire(&mut self, _jumped: bool) {}

    /// Fetches the word (ARM) or half-word (Thumb) at `at`.
    ///
    /// # Errors
    ///
    /// An [`Abort`], which the core takes only if the instruction is executed.
    pub fn fetch<B: Bus>(
        &mut self,
        access: Access,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        let reply = bus.read(Physical(access.at.0), access.width, *now);
        reply.map(|reply| reply.value).map_err(|_| self.external(access))
    }

    /// Reads; the value is right-aligned.
    ///
    /// # Errors
    ///
    /// An [`Abort`].
    pub fn read<B: Bus>(
        &mut self,
        access: Access,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Abort> {
        self.touched = true;
        let at = access.at.0 & !(access.width.bytes() - 1);
        let reply = bus.read(Physical(at), access.width, *now);
        reply.map(|reply| reply.value).map_err(|_| self.external(access))
    }

    /// Writes the lowest bits of `value`.
    ///
    /// # Errors
    ///
    /// An [`Abort`].
    pub fn write<B: Bus>(
        &mut self,
        access: Access,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        self.touched = true;
        let at = access.at.0 & !(access.width.bytes() - 1);
        let waits = bus.write(Physical(at), access.width, value, *now);
        waits.map(|_| ()).map_err(|_| self.external(access))
    }

    /// MRC from coprocessor 15.
    ///
    /// # Errors
    ///
    /// [`Undefined`].
    pub fn control_read<B: Bus>(
        &mut self,
        _access: &CoprocessorAccess,
        _bus: &mut B,
        _now: &mut Cycles,
    ) -> Result<u32, Undefined> {
        Err(Undefined)
    }

    /// MCR to coprocessor 15.
    ///
    /// # Errors
    ///
    /// [`Undefined`].
    pub fn control_write<B: Bus>(
        &mut self,
        _access: &CoprocessorAccess,
        _value: u32,
        _bus: &mut B,
        _now: &mut Cycles,
    ) -> Result<Effect, Undefined> {
        Err(Undefined)
    }

    /// Notes a data abort that is taken: data fault status and fault address.
    pub const fn note_data_abort(&mut self, _abort: Abort) {}

    /// Notes a prefetch abort that is taken: instruction fault status.
    pub const fn note_prefetch_abort(&mut self, _abort: Abort) {}

    /// Reads the aligned word at `at` as the program sees it, without time and without change of state: for debuggers.
    #[must_use]
    pub fn peek<B: Bus>(&self, at: Virtual, bus: &B) -> Option<u32> {
        bus.peek(Physical(at.0))
    }

    /// Replaces the aligned word at `at` as the program sees it, without time and without change of the state of lookups: for debuggers,
    /// and for what a semihosting call returns. Lines of both caches that hold the word change with memory. Tells whether there
    /// is memory. The engine must [forget](crate::Engine::forget) if code was changed.
    pub fn poke<B: Bus>(&mut self, at: Virtual, value: u32, bus: &mut B) -> bool {
        self.lookaside.forget_all();
        bus.poke(Physical(at.0), value)
    }

    /// What the fast engine remembers.
    pub const fn lookaside(&mut self) -> &mut Lookaside {
        &mut self.lookaside
    }

    /// What the fast engine remembers, and the bytes of the data cache that it points into.
    pub const fn hits(&mut self) -> (&mut Lookaside, &mut [u8]) {
        (&mut self.lookaside, &mut [])
    }

    /// Counts hits that the fast engine took from [`Lookaside`], each with its lookup of the TLB: reads and writes of the data
    /// cache, and lines entered by fetching.
    pub const fn note_hits(&mut self, _reads: u64, _writes: u64, _lines: u64) {}

    /// Whether a single transfer went over the bus that [`Memory::take_touched`] has not told yet.
    #[must_use]
    pub const fn touched(&self) -> bool {
        self.touched
    }

    /// The contents of the line that the preceding fetch was in, if a fetch at `at` were in it too and would look nothing up, and
    /// it lies in the instruction cache.
    #[must_use]
    pub fn current_line(&self, _at: Virtual, _privileged: bool) -> Option<&[u8; 32]> {
        None
    }

    /// Makes the line of `at` the current one without looking it up: the fast engine knows that it would hit.
    pub const fn enter_line(&mut self, _at: Virtual, _privileged: bool) {}

    /// The FCSE process number that fetches use, if no other one is about to become effective for them.
    #[must_use]
    pub const fn fetch_pid(&self) -> Option<u8> {
        Some(0)
    }

    /// Where in the data cache's array ([`Memory::data_array`]) the line is that an access at `at` would hit, with its translation and
    /// permission in the TLB; for `write` only if the line is written back and its half at `at` already dirty. Nothing where the
    /// access would do more than read or write those bytes and count, or where the checker of coherence watches the line.
    #[must_use]
    pub fn data_line(&self, _at: Virtual, _privileged: bool, _write: bool) -> Option<usize> {
        None
    }

    /// Whether a fetch at `at` would hit with its translation and permission in the TLB, and the line's contents.
    #[must_use]
    pub fn instruction_line(&self, _at: Virtual, _privileged: bool) -> Option<&[u8; 32]> {
        None
    }

    /// The bytes of the data cache, line after line.
    pub fn data_array(&mut self) -> &mut [u8] {
        &mut []
    }

    fn external(&self, access: Access) -> Abort {
        Abort { kind: AbortKind::External, domain: 0, at: access.at.modified(self.pid()) }
    }
}
