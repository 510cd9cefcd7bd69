//! A custom board: memory and a serial port, a program that prints, a breakpoint and a watchpoint.
//!
//! `cargo run -p boardlab-arm926 --example own_memory_map`. A board is a type that implements [`Bus`]:
//! single reads and writes, interrupt lines, and access without side effects. By default, bursts of the
//! caches consist of single transfers.

use boardlab_arm926::{
    Bus, BusFault, Config, Cycles, Engine, Limit, Lines, Mode, Physical, Predecoded, Processor,
    Reply, Stop, Virtual, Waits, WatchKind, Watchpoint, Width,
};
use std::io::{self, Write};
use std::num::NonZeroU32;

/// The address and the size of memory.
const MEMORY: u32 = 0x2000_0000;
const SIZE: usize = 64 << 10;
/// A register that sends what is written to it.
const SERIAL: u32 = 0x4000_0000;

/// Memory and a serial port.
pub(crate) struct Board {
    memory: Vec<u8>,
    sent: Vec<u8>,
}

impl Board {
    /// Creates a board with `program` at the start of memory.
    fn new(program: &[u32]) -> Self {
        let mut memory: Vec<u8> = program.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.resize(SIZE, 0);
        Self { memory, sent: Vec::new() }
    }

    /// Bytes of memory; `None` if there is no memory.
    fn part(&mut self, at: Physical, width: Width) -> Option<&mut [u8]> {
        let start = usize::try_from(at.0.checked_sub(MEMORY)?).ok()?;
        let length = usize::try_from(width.bytes()).ok()?;
        self.memory.get_mut(start..start + length)
    }
}

impl Bus for Board {
    fn read(&mut self, at: Physical, width: Width, _now: Cycles) -> Result<Reply, BusFault> {
        if at.0 == SERIAL {
            return Ok(Reply { value: 0, waits: Waits { first: 2, next: 0 } });
        }
        let part = self.part(at, width).ok_or(BusFault)?;
        let value = part.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
        Ok(Reply { value, waits: Waits { first: 1, next: 0 } })
    }

    fn write(
        &mut self,
        at: Physical,
        width: Width,
        value: u32,
        _now: Cycles,
    ) -> Result<Waits, BusFault> {
        let [low, ..] = value.to_le_bytes();
        if at.0 == SERIAL {
            self.sent.push(low);
            return Ok(Waits { first: 2, next: 0 });
        }
        let part = self.part(at, width).ok_or(BusFault)?;
        part.copy_from_slice(&value.to_le_bytes()[..part.len()]);
        Ok(Waits { first: 1, next: 0 })
    }

    fn lines(&mut self, _now: Cycles) -> Lines {
        // There are no interrupts.
        Lines { until: Cycles::NEVER, ..Lines::default() }
    }

    fn peek(&self, at: Physical) -> Option<u32> {
        let start = usize::try_from(at.0.checked_sub(MEMORY)?).ok()?;
        let word = self.memory.get(start..start.checked_add(4)?)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    }

    fn poke(&mut self, at: Physical, value: u32) -> bool {
        let part = self.part(at, Width::Word);
        part.map(|part| part.copy_from_slice(&value.to_le_bytes())).is_some()
    }
}

/// Prints the text after it and then loops at `DONE`.
const PROGRAM: [u32; 8] = [
    0xE3A0_1101, //       mov   r1, #0x40000000
    0xE28F_2010, //       add   r2, pc, #16         the text
    0xE4D2_0001, // next: ldrb  r0, [r2], #1
    0xE350_0000, //       cmp   r0, #0
    0x15C1_0000, //       strbne r0, [r1]
    0x1AFF_FFFB, //       bne   next
    0xEAFF_FFFE, // done: b     done
    0x000A_6948, // text: "Hi\n"
];
const DONE: Virtual = Virtual(MEMORY + 6 * 4);
const TEXT: Virtual = Virtual(MEMORY + 7 * 4);

/// Runs the program to its end by any engine, and writes each stop to `out`.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn show(engine: &mut dyn Engine<Board>, out: &mut dyn Write) -> io::Result<()> {
    let mut processor = Processor::new(&Config::default(), Board::new(&PROGRAM));
    processor.registers.pc = MEMORY;
    // The registers of any mode can be set before it is entered.
    processor.registers.set_of_mode(Mode::Irq, 13, MEMORY + 0x1000);
    processor.points.set_breakpoint(DONE);
    let second =
        Watchpoint { at: Virtual(TEXT.0 + 1), length: NonZeroU32::MIN, of: WatchKind::Reads };
    processor.points.set_watchpoint(second);
    loop {
        let limit = Limit::instructions(processor.counts.instructions + 1_000);
        match engine.run(&mut processor, limit) {
            Stop::Watchpoint { at, .. } => {
                let r2 = processor.registers.r[2];
                writeln!(out, "{:#x} was read, r2 is now {r2:#x}", at.0)?;
            }
            Stop::Breakpoint { at } => {
                writeln!(out, "stopped at {:#x} after {} cycles", at.0, processor.now.0)?;
                break;
            }
            other => {
                writeln!(out, "{other:?}")?;
                break;
            }
        }
    }
    write!(out, "sent: {}", String::from_utf8_lossy(&processor.bus.sent))
}

#[allow(dead_code, reason = "the tests call what it calls")]
fn main() -> io::Result<()> {
    show(&mut Predecoded::new(), &mut io::stdout().lock())
}
