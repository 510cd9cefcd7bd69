//! This side: a case on the simulated core, with plain memory, MMU and caches disabled.

use boardlab_arm926::bus::Waits;
use boardlab_arm926::{Config, Exception, Mode, Processor, Psr, Ram, Registers, Stop};

use super::oracle::{Answer, BANKED, Banks, CODE, Case, State, Status};

/// The maximum number of steps of a block.
const STEPS: usize = 1000;

/// The core that runs all cases.
pub struct Simulated {
    processor: Processor<Ram>,
}

impl Simulated {
    pub fn new() -> Self {
        let config = Config { semihosting: false, stop_without_handler: true, ..Config::default() };
        let ram = Ram::new(1 << 21, Waits::default());
        Self { processor: Processor::new(&config, ram) }
    }

    /// Runs a case; `executed` receives the address of each instruction that took effect.
    pub fn run(&mut self, case: &Case, mut executed: impl FnMut(u32)) -> Answer {
        load_registers(&mut self.processor.registers, case);
        let base = case.base as usize;
        self.processor.bus.bytes_mut()[base..base + case.memory.len()]
            .copy_from_slice(&case.memory);
        let processor = &mut self.processor;
        let mut status = Status::Other(0);
        for _ in 0..STEPS {
            let (at, skipped) = (processor.registers.pc, processor.counts.skipped);
            if at == case.end {
                status = Status::Reached;
                break;
            }
            if let Some(stop) = processor.step() {
                status = stopped(stop);
                executed(at);
                break;
            }
            if processor.counts.skipped == skipped {
                executed(at);
            }
        }
        self.answer(case, status)
    }

    fn answer(&mut self, case: &Case, status: Status) -> Answer {
        let pc = self.processor.registers.pc;
        let (state, banks) = registers_after(&mut self.processor.registers, case);
        let data = case.base as usize + CODE..case.base as usize + case.memory.len();
        Answer { status, pc, state, banks, data: self.processor.bus.bytes()[data].to_vec() }
    }
}

/// Sets the initial registers of a case.
pub fn load_registers(registers: &mut Registers, case: &Case) {
    if let Some(banks) = &case.banks {
        for (mode, bank) in BANKED.into_iter().zip(banks.single) {
            registers.set_cpsr(Psr(mode | Psr::I | Psr::F));
            if mode == Mode::Fiq.bits() {
                registers.r[8..13].copy_from_slice(&banks.fiq);
            } else if mode == Mode::System.bits() {
                registers.r[8..13].copy_from_slice(&banks.other);
            }
            (registers.r[13], registers.r[14]) = (bank[0], bank[1]);
            registers.set_spsr(Psr(bank[2]));
        }
    }
    registers.set_cpsr(Psr(case.state.cpsr));
    registers.r = case.state.r;
    registers.set_spsr(Psr(case.state.spsr));
    registers.pc = case.entry & !1;
}

/// Returns the final registers; changes the mode.
pub fn registers_after(registers: &mut Registers, case: &Case) -> (State, Option<Banks>) {
    let saved = |registers: &Registers| {
        if has_spsr(registers.cpsr().0) { registers.spsr().0 } else { 0 }
    };
    let state = State { cpsr: registers.cpsr().0, r: registers.r, spsr: saved(registers) };
    let banks = case.banks.is_some().then(|| {
        let mut banks = Banks::default();
        for (mode, bank) in BANKED.into_iter().zip(&mut banks.single) {
            registers.set_cpsr(Psr(mode | Psr::I | Psr::F));
            *bank = [registers.r[13], registers.r[14], saved(registers)];
            if mode == Mode::Fiq.bits() {
                banks.fiq.copy_from_slice(&registers.r[8..13]);
            } else if mode == Mode::System.bits() {
                banks.other.copy_from_slice(&registers.r[8..13]);
            }
        }
        banks
    });
    (state, banks)
}

/// Whether the mode of a status has an SPSR.
pub const fn has_spsr(cpsr: u32) -> bool {
    !matches!(Psr(cpsr).mode(), Mode::User | Mode::System)
}

/// The status of a run that did not reach its end.
pub const fn stopped(stop: Stop) -> Status {
    match stop {
        Stop::NoHandler { exception: Exception::Undefined, .. } => Status::Undefined,
        Stop::NoHandler { exception: Exception::SoftwareInterrupt, .. } => {
            Status::SoftwareInterrupt
        }
        Stop::NoHandler { exception: Exception::PrefetchAbort, .. } => Status::Breakpoint,
        _ => Status::Other(1),
    }
}
