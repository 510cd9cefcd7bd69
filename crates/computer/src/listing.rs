//! A run as text: one line an instruction.
//!
//! Layer: rank 9. Main type: [`Before`], what was before a step; [`Before::line`] gives the line of what the step did: the cycle at
//! which it began, how many it took, the address and its symbol, the code, the instruction, and the registers that changed. The code is what the
//! core executes: the instruction cache's copy where it holds one, which may be older than memory.

use super::symbols::Symbols;
use boardlab_arm926::processor::Counts;
use boardlab_arm926::{
    Bus, Exception, Instruction, Mode, Processor, Psr, Registers, Virtual, decode,
};
use boardlab_result::foreign;
use std::fmt::Write as _;

/// The heads of the columns.
pub const HEAD: &str = "     cycle  took  address   symbol                    code      instruction                         changes";

/// The state before a step.
#[derive(Debug, Clone)]
pub struct Before {
    now: u64,
    counts: Counts,
    registers: Registers,
    code: Option<u32>,
}

impl Before {
    /// Of `processor` now.
    pub fn of<B: Bus>(processor: &Processor<B>) -> Self {
        Self {
            now: processor.now.0,
            counts: processor.counts,
            registers: processor.registers.clone(),
            code: code(processor),
        }
    }

    /// What a step from here to `processor` did, without the end of the line.
    pub fn line<B: Bus>(&self, processor: &Processor<B>, symbols: &Symbols) -> String {
        let took = processor.now.0 - self.now;
        let mut line = format!("{:>10} {took:>5}  ", self.now);
        let executed = processor.counts.instructions > self.counts.instructions;
        let asleep = processor.counts.asleep - self.counts.asleep;
        if executed {
            self.instruction(&mut line, symbols);
        } else if asleep > 0 {
            line += &format!("asleep for {asleep} cycles");
        }
        let (before, after) = (&self.counts.exceptions, &processor.counts.exceptions);
        let is_taken = |one: &Exception| after[*one as usize] > before[*one as usize];
        let taken = Exception::ALL.into_iter().find(is_taken);
        let changes = changes(&self.registers, &processor.registers);
        if executed && !changes.is_empty() {
            line = format!("{line:<CHANGES$}{changes}");
        }
        if let Some(exception) = taken {
            let joint = if executed { " -> " } else { "-> " };
            let mode = mode(processor.registers.cpsr().mode());
            let _ = write!(line, "{joint}{} ({mode} mode)", exception_name(exception));
        }
        line.truncate(line.trim_end().len());
        line
    }

    /// The line of a semihosting call, which the host serves, in one cycle, instead of a step.
    #[must_use]
    pub fn call(&self, symbols: &Symbols) -> String {
        let mut line = format!("{:>10} {:>5}  ", self.now, 1);
        self.instruction(&mut line, symbols);
        let _ = write!(line, " (semihosting call {:#x})", self.registers.r[0]);
        line
    }

    fn instruction(&self, line: &mut String, symbols: &Symbols) {
        let (at, thumb) = (self.registers.pc, self.registers.cpsr().thumb());
        let name = symbols.at(at).map_or_else(String::new, |_| symbols.name(at));
        let name = foreign::shown(&name);
        let (code, instruction) = match self.code {
            Some(code) if thumb => (format!("{code:04x}"), Some(decode::thumb(half(code)))),
            Some(code) => (format!("{code:08x}"), Some(decode::arm(code))),
            None => ("????????".into(), None),
        };
        let text = instruction.as_ref().map_or_else(
            || "(not to be read)".into(),
            |one| one.disassembly(at, thumb).to_string(),
        );
        let is_skipped = |one: &Instruction| !one.condition.holds(self.registers.cpsr());
        let skipped = if instruction.as_ref().is_some_and(is_skipped) { " (skipped)" } else { "" };
        let _ = write!(line, "{at:08x}  {name:<24}  {code:<8}  {}", text + skipped);
    }
}

/// Column of the changes.
const CHANGES: usize = 99;

/// The word or half-word that is executed next.
fn code<B: Bus>(processor: &Processor<B>) -> Option<u32> {
    let status = processor.registers.cpsr();
    let at = Virtual(processor.registers.pc);
    let privileged = status.mode().privileged();
    let word = match processor.memory.instruction_line(at, privileged) {
        Some(line) => {
            let index = usize::try_from(at.0 & 0x1C).expect("within a line");
            Some(u32::from_le_bytes(line[index..index + 4].try_into().expect("four bytes")))
        }
        None => processor.memory.peek(Virtual(at.0 & !3), &processor.bus),
    }?;
    Some(if !status.thumb() {
        word
    } else if at.0 & 2 == 0 {
        word & 0xFFFF
    } else {
        word >> 16
    })
}

fn half(code: u32) -> u16 {
    u16::try_from(code & 0xFFFF).expect("masked")
}

/// The registers that differ, with their new values.
fn changes(before: &Registers, after: &Registers) -> String {
    let mut text = String::new();
    for (index, (old, new)) in before.r.iter().zip(&after.r).enumerate() {
        if old != new {
            let _ = write!(text, "r{index}={new:08x} ");
        }
    }
    let (old, new) = (before.cpsr(), after.cpsr());
    if old != new {
        let _ = write!(text, "{}", status(new));
    }
    text.truncate(text.trim_end().len());
    text
}

/// A status register as `nZCv if svc`: set flags in capitals, masks where they are on.
fn status(psr: Psr) -> String {
    let flag = |bit: u32, name: char| if psr.has(bit) { name.to_ascii_uppercase() } else { name };
    let flags = [(Psr::N, 'n'), (Psr::Z, 'z'), (Psr::C, 'c'), (Psr::V, 'v'), (Psr::Q, 'q')];
    let masks = [(Psr::I, 'i'), (Psr::F, 'f'), (Psr::T, 't')];
    let flags: String = flags.map(|(bit, name)| flag(bit, name)).into_iter().collect();
    let masks: String = masks.map(|(bit, name)| flag(bit, name)).into_iter().collect();
    format!("{flags} {masks} {}", mode(psr.mode()))
}

/// A mode by the name that it has in status registers.
#[must_use]
pub const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::User => "usr",
        Mode::Fiq => "fiq",
        Mode::Irq => "irq",
        Mode::Supervisor => "svc",
        Mode::Abort => "abt",
        Mode::Undefined => "und",
        Mode::System => "sys",
    }
}

/// An exception as people call it.
#[must_use]
pub const fn exception_name(exception: Exception) -> &'static str {
    match exception {
        Exception::Reset => "reset",
        Exception::Undefined => "undefined instruction",
        Exception::SoftwareInterrupt => "software interrupt",
        Exception::PrefetchAbort => "prefetch abort",
        Exception::DataAbort => "data abort",
        Exception::Irq => "IRQ",
        Exception::Fiq => "FIQ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_arm926::{Config, Ram, Waits};

    #[test]
    fn a_line_tells_cycle_address_instruction_and_changes() {
        let mut ram = Ram::new(0x1000, Waits::default());
        // mov r0, #5; addeq r1, r0, r0; movs r2, #0; swi 0 (with a handler that is no zero)
        ram.put(0x100, &[0xE3A0_0005, 0x0080_1000, 0xE3B0_2000, 0xEF00_0000]);
        ram.put(8, &[0xE1B0_F00E]);
        let mut processor = Processor::new(&Config::default(), ram);
        processor.registers.pc = 0x100;
        let mut lines = Vec::new();
        for _ in 0..4 {
            let before = Before::of(&processor);
            assert_eq!(processor.step(), None);
            lines.push(before.line(&processor, &Symbols::default()));
        }
        assert!(
            lines[0].contains("00000100") && lines[0].contains("e3a00005  mov r0, #5"),
            "{}",
            lines[0]
        );
        assert!(lines[0].ends_with("r0=00000005"), "{}", lines[0]);
        assert!(lines[1].ends_with("addeq r1, r0, r0 (skipped)"), "{}", lines[1]);
        assert!(lines[2].ends_with("nZcvq IFt svc"), "{}", lines[2]);
        assert!(lines[3].contains("svc 0x0"), "{}", lines[3]);
        assert!(lines[3].ends_with("-> software interrupt (svc mode)"), "{}", lines[3]);
    }
}
