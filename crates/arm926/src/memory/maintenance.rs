//! The operations of c7 and c8: on cache lines, buffers and the TLB.
//!
//! Layer: rank 3; methods of [`Memory`]. Line operations take an MVA, without FCSE, or a set and way,
//! and work also on a disabled cache. Source: ARM DDI 0198D, pages 2-21 to 2-24 (c7). Assumed:
//! test-and-clean tests one set a cycle, at most [`TESTED_SETS`] ("a number of lines" in the manual).

use super::cache::{BOTH, LENGTH};
use super::{Effect, Memory, Undefined};
use crate::address::{Cycles, LINE, Modified, Physical};
use crate::bus::Bus;
use crate::instruction::CoprocessorAccess;

/// The number of sets that one test-and-clean tests (assumed).
pub const TESTED_SETS: u32 = 8;

/// The Z flag in the result of an MRC to r15.
const ZERO: u32 = 1 << 30;

/// Whether an access of c7 operates on one line, drains the buffers, or tests and cleans. Such an access
/// is defined in privileged modes.
pub(crate) const fn is_line_operation(access: &CoprocessorAccess) -> bool {
    let CoprocessorAccess { load, coprocessor, opcode1, crn, crm, opcode2, .. } = *access;
    matches!((coprocessor, opcode1, crn), (15, 0, 7))
        && match (load, crm) {
            (false, 5 | 6 | 14) => matches!(opcode2, 1 | 2),
            (false, 10) => matches!(opcode2, 1 | 2 | 4),
            (true, 10 | 14) => opcode2 == 3,
            _ => false,
        }
}

/// An operation on a line.
#[derive(Clone, Copy)]
enum Operation {
    Invalidate,
    Clean,
    CleanAndInvalidate,
}

impl Memory {
    /// A write to c7.
    pub(super) fn operate<B: Bus + ?Sized>(
        &mut self,
        access: &CoprocessorAccess,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<Effect, Undefined> {
        use Operation::{Clean, CleanAndInvalidate, Invalidate};
        match (access.crm, access.opcode2) {
            (0, 4) => {
                self.drain(now);
                return Ok(Effect::WaitForInterrupt);
            }
            (5, 0) => self.invalidate_instructions(),
            (5, 1) => {
                if let Some(line) = self.instructions.find(Modified(value)) {
                    self.invalidate_instruction_line(line);
                }
            }
            (5, 2) => self.invalidate_instruction_line(self.instructions.by_set_and_way(value)),
            (6, 0) => self.invalidate_data(),
            (7, 0) => {
                self.invalidate_instructions();
                self.invalidate_data();
            }
            (10, 4) => self.drain(now),
            (13, 1) => self.prefetch(Modified(value), bus, now),
            (6, by @ (1 | 2)) => self.line_operation(Invalidate, by == 1, value, bus, now),
            (10, by @ (1 | 2)) => self.line_operation(Clean, by == 1, value, bus, now),
            (14, by @ (1 | 2)) => self.line_operation(CleanAndInvalidate, by == 1, value, bus, now),
            _ => return Err(Undefined),
        }
        Ok(Effect::None)
    }

    /// Waits until both buffers are empty.
    pub(super) fn drain(&mut self, now: &mut Cycles) {
        self.statistics.waiting.write_buffer += self.buffer.drain(now);
    }

    fn invalidate_instructions(&mut self) {
        self.instructions.invalidate_all();
        self.lookaside.invalidate_instructions();
    }

    fn invalidate_data(&mut self) {
        self.data.invalidate_all();
        self.lookaside.invalidate_data();
    }

    fn invalidate_instruction_line(&mut self, line: usize) {
        if let Some(at) = self.instructions.address(line) {
            self.instructions.invalidate(line);
            self.lookaside.drop_instruction_line(line, at);
        }
    }

    fn line_operation<B: Bus + ?Sized>(
        &mut self,
        operation: Operation,
        by_address: bool,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) {
        let line = if by_address {
            self.data.find(Modified(value))
        } else {
            Some(self.data.by_set_and_way(value))
        };
        let Some((line, at)) = line.and_then(|line| Some((line, self.data.address(line)?))) else {
            return;
        };
        if !matches!(operation, Operation::Invalidate) {
            self.write_line_back(line, bus, now);
        }
        if !matches!(operation, Operation::Clean) {
            self.data.invalidate(line);
            self.lookaside.drop_data_line(line, at);
        }
    }

    /// Moves the dirty halves of a line to the write-back buffer and marks the line clean.
    pub(super) fn write_line_back<B: Bus + ?Sized>(
        &mut self,
        line: usize,
        bus: &mut B,
        now: &mut Cycles,
    ) {
        let dirty = self.data.dirty(line);
        let Some(contents) = self.data.contents(line) else { return };
        let (offset, bytes) = match dirty {
            0 => return,
            1 => (0, &contents[..LENGTH / 2]),
            2 => (LINE / 2, &contents[LENGTH / 2..]),
            _ => (0, &contents[..]),
        };
        let at = Physical(self.data.physical(line).0 + offset);
        self.statistics.waiting.write_buffer += self.buffer.before_write_back(now);
        self.statistics.data_cache.half_lines_written += if dirty == BOTH { 2 } else { 1 };
        match bus.write_burst(at, bytes, *now) {
            Ok(waits) => {
                let length = if dirty == BOTH { LINE } else { LINE / 2 };
                self.buffer.write_back(at, length, waits, *now);
            }
            Err(_) => self.statistics.lost_writes += 1,
        }
        self.data.clean(line);
        if let Some(at) = self.data.address(line) {
            self.lookaside.clean_data_line(line, at);
        }
    }

    /// A read of c7: test and clean, or test, clean and invalidate. Z is set if no line remains dirty.
    pub(super) fn test_and_clean<B: Bus + ?Sized>(
        &mut self,
        access: &CoprocessorAccess,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<u32, Undefined> {
        let invalidate = match (access.crm, access.opcode2) {
            (10, 3) => false,
            (14, 3) => true,
            _ => return Err(Undefined),
        };
        let most = TESTED_SETS.min(self.config.data_cache.sets());
        let (line, looked) = self.data.test(most);
        let waited = u64::from(looked - 1);
        self.statistics.waiting.maintenance += waited;
        now.0 += waited;
        if let Some(line) = line {
            self.write_line_back(line, bus, now);
        }
        if self.data.dirty_lines() > 0 {
            return Ok(0);
        }
        if invalidate {
            self.invalidate_data();
        }
        Ok(ZERO)
    }

    /// A write to c8. The TLB is unified, so instruction and data operations are the same.
    pub(super) fn invalidate_translation(
        &mut self,
        access: &CoprocessorAccess,
        value: u32,
    ) -> Result<Effect, Undefined> {
        match (access.crm, access.opcode2) {
            (5..=7, 0) => self.tlb.invalidate_all(),
            (5..=7, 1) => self.tlb.invalidate(Modified(value)),
            _ => return Err(Undefined),
        }
        self.lookaside.invalidate_translations();
        Ok(Effect::None)
    }
}
