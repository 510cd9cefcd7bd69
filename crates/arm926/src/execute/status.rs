//! MRS, MSR, and the registers of coprocessor 15.
//!
//! Layer: rank 3. Source: ARM DDI 0100E, A4.1 (MRS, MSR, MCR, MRC); DDI 0198D, 2.3 (privilege).

use super::{End, note_mode, read_late, write};
use crate::bus::Bus;
use crate::instruction::{CoprocessorAccess, Register};
use crate::memory::Effect;
use crate::processor::Processor;
use crate::recorder::Event;
use crate::registers::{Psr, Registers};

/// The bits of CPSR that user mode may write: the flags.
const USER: u32 = Psr::N | Psr::Z | Psr::C | Psr::V | Psr::Q;

/// MRS.
pub(super) fn read_status(registers: &mut Registers, rd: Register, saved: bool) {
    let value = if saved { registers.spsr() } else { registers.cpsr() };
    write(registers, rd, value.0);
}

/// MSR: writes the implemented bits of `mask` that the mode may write.
pub(super) fn write_status<B: Bus>(
    processor: &mut Processor<B>,
    saved: bool,
    mask: u32,
    value: u32,
) {
    let registers = &mut processor.registers;
    if saved {
        let before = registers.spsr();
        registers.set_spsr(Psr(before.0 & !mask | value & mask));
        return;
    }
    let before = registers.cpsr();
    let allowed = if before.privileged() { Psr::DEFINED & !Psr::T } else { USER };
    let mask = mask & allowed;
    registers.set_cpsr(Psr(before.0 & !mask | value & mask));
    note_mode(processor, before);
}

/// MCR and MRC.
pub(super) fn coprocessor<B: Bus>(
    processor: &mut Processor<B>,
    access: &CoprocessorAccess,
    at: u32,
) -> End {
    if access.coprocessor != 15 || !processor.registers.cpsr().privileged() {
        return End::Undefined;
    }
    let done = if access.load {
        read_control(processor, access)
    } else {
        write_control(processor, access, at)
    };
    if done.is_some() { End::EXECUTED } else { End::Undefined }
}

/// MRC; to r15 it writes the flags.
fn read_control<B: Bus>(processor: &mut Processor<B>, access: &CoprocessorAccess) -> Option<()> {
    let Processor { registers, memory, bus, now, .. } = processor;
    let value = memory.control_read(access, bus, now).ok()?;
    if access.rd == Register::PC {
        registers.set_flags(value);
    } else {
        write(registers, access.rd, value);
    }
    Some(())
}

/// MCR.
fn write_control<B: Bus>(
    processor: &mut Processor<B>,
    access: &CoprocessorAccess,
    at: u32,
) -> Option<()> {
    let Processor { registers, memory, bus, now, .. } = processor;
    let value = read_late(registers, access.rd, at);
    let effect = memory.control_write(access, value, bus, now).ok()?;
    if effect == Effect::WaitForInterrupt {
        processor.fall_asleep();
    }
    let Processor { memory, now, recorder, .. } = processor;
    let event = match (effect, access.crn, access.opcode2) {
        (Effect::WaitForInterrupt, _, _) => Event::Wait,
        (Effect::None, 13, 0) => Event::Process { pid: memory.pid() },
        (Effect::None, 2, _) => Event::Table { base: value & !0x3FFF },
        _ => return Some(()),
    };
    if let Some(recorder) = recorder {
        recorder.note(*now, event);
    }
    Some(())
}
