//! The registers of the system control coprocessor.
//!
//! Layer: rank 3. [`Control`] holds the registers that other parts read: control, table base, domains,
//! faults and FCSE PID. MRC and MCR are methods of [`Memory`] here; `maintenance` has those of c7 and
//! c8. Source: ARM DDI 0198D, chapter 2. Accesses that are unpredictable there are undefined
//! instructions here. Left out: big-endian operation (the B bit reads as zero), tightly coupled
//! memories, and the effects of region remap and the test registers of c15.

use serde::{Deserialize, Serialize};

use super::lookaside::Context;
use super::{Effect, Memory, Undefined};
use crate::address::{Cycles, Modified, Virtual};
use crate::bus::Bus;
use crate::config::{CacheSize, Config};
use crate::instruction::CoprocessorAccess;

/// M: the MMU is on.
pub const MMU: u32 = 1;
/// A: alignment is checked.
pub const ALIGNMENT: u32 = 1 << 1;
/// C: the data cache is on.
pub const DATA_CACHE: u32 = 1 << 2;
/// S: system protection.
pub const SYSTEM: u32 = 1 << 8;
/// R: ROM protection.
pub const ROM: u32 = 1 << 9;
/// I: the instruction cache is on.
pub const INSTRUCTION_CACHE: u32 = 1 << 12;
/// V: the vectors are at 0xFFFF0000.
pub const HIGH_VECTORS: u32 = 1 << 13;
/// RR: the caches use round-robin replacement.
pub const ROUND_ROBIN: u32 = 1 << 14;
/// L4: loads of r15 do not change the state.
pub const ARMV4_LOADS: u32 = 1 << 15;

/// The writable bits.
const WRITABLE: u32 = MMU
    | ALIGNMENT
    | DATA_CACHE
    | SYSTEM
    | ROM
    | INSTRUCTION_CACHE
    | HIGH_VECTORS
    | ROUND_ROBIN
    | ARMV4_LOADS;

/// The control register after reset with VINITHI low. Of the reserved bits, 3 to 6, 16 and 18 read as
/// one (DDI 0198D, c1, table 2-10). Linux prints `cr=00053177` on parts; QEMU has bit 19 instead of 18.
const RESET: u32 = 0x0005_0078;

/// The main ID: ARM926EJ-S r0p5.
const MAIN_ID: u32 = 0x4106_9265;

/// The number of instructions until fetches use a new FCSE PID, including the MCR.
const PID_DELAY: u8 = 3;

/// The registers of coprocessor 15.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Control {
    /// c1.
    pub(super) bits: u32,
    /// c2.
    pub(super) table: u32,
    /// c3.
    pub(super) domains: u32,
    /// c5, data.
    pub(super) data_status: u32,
    /// c5, instructions.
    pub(super) instruction_status: u32,
    /// c6.
    pub(super) fault_address: u32,
    /// c13: the FCSE PID of data accesses.
    pub(super) pid: u8,
    /// The FCSE PID of fetches.
    pub(super) fetch_pid: u8,
    /// The number of instructions until fetches use the new PID; 0 if they do.
    pub(super) pid_delay: u8,
    /// c13: the context ID.
    context: u32,
    /// c15: debug override, debug and test address, region remap.
    test: [u32; 3],
    /// Whether L4 was set since this was created or restored.
    #[serde(skip)]
    pub(super) had_armv4_loads: bool,
}

impl Control {
    /// The registers after reset.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            bits: RESET | if config.high_vectors { HIGH_VECTORS } else { 0 },
            table: 0,
            domains: 0,
            data_status: 0,
            instruction_status: 0,
            fault_address: 0,
            pid: 0,
            fetch_pid: 0,
            pid_delay: 0,
            context: 0,
            test: [0; 3],
            had_armv4_loads: false,
        }
    }

    /// Whether each field has a possible value: snapshots are untrusted input.
    pub(super) const fn is_sound(&self) -> bool {
        self.pid < 128 && self.fetch_pid < 128 && self.pid_delay <= PID_DELAY
    }

    #[inline]
    pub(super) const fn has(&self, bit: u32) -> bool {
        self.bits & bit != 0
    }

    /// The MVA of a data access. FCSE requires the MMU.
    #[inline]
    pub(super) const fn modified(&self, at: Virtual) -> Modified {
        if self.has(MMU) { at.modified(self.pid) } else { Modified(at.0) }
    }

    /// The MVA of a fetch.
    #[inline]
    pub(super) const fn fetch_modified(&self, at: Virtual) -> Modified {
        if self.has(MMU) { at.modified(self.fetch_pid) } else { Modified(at.0) }
    }

    /// The state besides TLB and caches that determines whether an access hits.
    pub(super) const fn hit_context(&self) -> Context {
        let pid = if self.has(MMU) { self.pid } else { 0 };
        Context { pid, domains: self.domains, control: self.bits }
    }

    /// Writes the FCSE PID. Data accesses use it at once, fetches after two instructions.
    fn set_pid(&mut self, value: u32) {
        self.pid = (value >> 25).to_le_bytes()[0];
        self.pid_delay = PID_DELAY;
    }

    /// Completes an instruction.
    #[inline]
    pub(super) const fn retire(&mut self, jumped: bool) {
        self.pid_delay = if jumped { 0 } else { self.pid_delay - 1 };
        if self.pid_delay == 0 {
            self.fetch_pid = self.pid;
        }
    }
}

/// The cache type register: write-back, c7 operations, lockdown format C; four ways, 32-byte lines.
fn cache_type(config: &Config) -> u32 {
    let field = |size: CacheSize| (size.kib().trailing_zeros() + 1) << 6 | 0b010 << 3 | 0b10;
    0b1110 << 25 | 1 << 24 | field(config.data_cache) << 12 | field(config.instruction_cache)
}

impl Memory {
    /// MRC from coprocessor 15.
    ///
    /// # Errors
    ///
    /// [`Undefined`].
    pub fn control_read<B: Bus + ?Sized>(
        &mut self,
        access: &CoprocessorAccess,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Undefined> {
        if access.coprocessor != 15 {
            return Err(Undefined);
        }
        let control = &self.control;
        let value = match (access.crn, access.opcode1, access.crm, access.opcode2) {
            (0, 0, 0, 1) => cache_type(&self.config),
            (0, 0, 0, 2) => 0,
            (0, 0, 0, _) => MAIN_ID,
            (1, 0, 0, 0) => control.bits,
            (2, 0, 0, 0) => control.table,
            (3, 0, 0, 0) => control.domains,
            (5, 0, 0, 0) => control.data_status,
            (5, 0, 0, 1) => control.instruction_status,
            (6, 0, 0, 0) => control.fault_address,
            (7, 0, _, _) => return self.test_and_clean(access, bus, now),
            (9, 0, 0, 0) => 0xFFF0 | u32::from(self.data.locked()),
            (9, 0, 0, 1) => 0xFFF0 | u32::from(self.instructions.locked()),
            (9, 0, 1, 0 | 1) => 0,
            (10, 0, 0, 0) => self.tlb.lockdown(),
            (13, 0, 0, 0) => u32::from(control.pid) << 25,
            (13, 0, 0, 1) => control.context,
            (15, 0, 0..=2, 0) => control.test[usize::from(access.crm) % 3],
            _ => return Err(Undefined),
        };
        Ok(value)
    }

    /// MCR to coprocessor 15.
    ///
    /// # Errors
    ///
    /// [`Undefined`].
    pub fn control_write<B: Bus + ?Sized>(
        &mut self,
        access: &CoprocessorAccess,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<Effect, Undefined> {
        if access.coprocessor != 15 || access.opcode1 != 0 {
            return Err(Undefined);
        }
        self.current = super::fetch::Current::NONE;
        let [low, ..] = value.to_le_bytes();
        let control = &mut self.control;
        match (access.crn, access.crm, access.opcode2) {
            (1, 0, 0) => {
                control.bits = control.bits & !WRITABLE | value & WRITABLE;
                control.had_armv4_loads |= control.has(ARMV4_LOADS);
            }
            (2, 0, 0) => control.table = value & !0x3FFF,
            (3, 0, 0) => control.domains = value,
            (5, 0, 0) => control.data_status = value & 0xFF,
            (5, 0, 1) => control.instruction_status = value & 0xFF,
            (6, 0, 0) => control.fault_address = value,
            (7, ..) => return self.operate(access, value, bus, now),
            (8, ..) => return self.invalidate_translation(access, value),
            (9, 0, 0) => self.data.lock(low),
            (9, 0, 1) => self.instructions.lock(low),
            (9, 1, 0 | 1) => {}
            (10, 0, 0) => self.tlb.set_lockdown(value),
            (13, 0, 0) => control.set_pid(value),
            (13, 0, 1) => control.context = value,
            (15, 0..=2, 0) => control.test[usize::from(access.crm) % 3] = value,
            _ => return Err(Undefined),
        }
        // A new PID takes effect when fetches use it; until then no engine uses the look-aside.
        if control.pid_delay == 0 {
            self.lookaside.enter(control.hit_context(), &self.tlb, &self.data);
        }
        Ok(Effect::None)
    }
}
