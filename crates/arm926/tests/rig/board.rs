//! A test board: memory and a part defined by the test; and helpers for coprocessor 15.
//!
//! Main types: [`Board`], and [`Part`], the test's part. Tests include this file by path.

use boardlab_arm926::instruction::CoprocessorAccess;
use boardlab_arm926::{
    Bus, BusFault, Cycles, Lines, Physical, Processor, Ram, Register, Reply, Waits, Width,
};
use serde::{Deserialize, Serialize};

/// A part of a board besides memory, which sees each transfer and may answer it instead of memory.
pub(crate) trait Part {
    /// Whether the part ignores all accesses at `at`.
    fn is_apart(&self, _at: Physical) -> bool {
        false
    }

    /// Answers a read.
    fn read(&mut self, at: Physical, width: Width, now: Cycles) -> Option<Reply>;

    /// Answers a write.
    fn write(&mut self, at: Physical, width: Width, value: u32, now: Cycles) -> Option<Waits>;

    /// Sees the read of a line that memory answers.
    fn read_line(&mut self, _at: Physical, _now: Cycles) {}

    /// Sees a burst that memory takes.
    fn write_burst(&mut self, _at: Physical, _data: &[u8], _now: Cycles) {}

    /// The interrupt lines; by default inactive.
    fn lines(&mut self, _now: Cycles) -> Option<Lines> {
        None
    }
}

/// Memory and a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Board<P> {
    pub(crate) ram: Ram,
    pub(crate) part: P,
}

impl<P: Part> Bus for Board<P> {
    fn read(&mut self, at: Physical, width: Width, now: Cycles) -> Result<Reply, BusFault> {
        match self.part.read(at, width, now) {
            Some(reply) => Ok(reply),
            None => self.ram.read(at, width, now),
        }
    }

    fn write(
        &mut self,
        at: Physical,
        width: Width,
        value: u32,
        now: Cycles,
    ) -> Result<Waits, BusFault> {
        match self.part.write(at, width, value, now) {
            Some(waits) => Ok(waits),
            None => self.ram.write(at, width, value, now),
        }
    }

    fn read_line(
        &mut self,
        at: Physical,
        line: &mut [u8; 32],
        now: Cycles,
    ) -> Result<Waits, BusFault> {
        self.part.read_line(at, now);
        self.ram.read_line(at, line, now)
    }

    fn write_burst(&mut self, at: Physical, data: &[u8], now: Cycles) -> Result<Waits, BusFault> {
        self.part.write_burst(at, data, now);
        self.ram.write_burst(at, data, now)
    }

    fn lines(&mut self, now: Cycles) -> Lines {
        self.part.lines(now).unwrap_or_else(|| self.ram.lines(now))
    }

    fn is_memory(&self, at: Physical) -> bool {
        self.part.is_apart(at) && self.ram.peek(at).is_some()
    }

    fn write_memory(&mut self, at: Physical, width: Width, value: u32) -> Option<Waits> {
        let waits = self.is_memory(at).then(|| self.ram.write(at, width, value, Cycles(0)));
        waits?.ok()
    }

    fn write_words(&mut self, at: Physical, values: &[u32]) -> Option<Waits> {
        let places = || (0..).step_by(4).map(|offset| Physical(at.0 + offset)).zip(values);
        if !places().all(|(at, _)| self.is_memory(at)) {
            return None;
        }
        let write = |(at, value): (Physical, &u32)| self.write_memory(at, Width::Word, *value);
        places().map(write).last().flatten()
    }

    fn peek(&self, at: Physical) -> Option<u32> {
        self.ram.peek(at)
    }

    fn poke(&mut self, at: Physical, value: u32) -> bool {
        self.ram.poke(at, value)
    }
}

/// A register of coprocessor 15, as `crn`, `crm` and `opcode2` name it.
pub(crate) const fn register((crn, crm, opcode2): (u8, u8, u8), load: bool) -> CoprocessorAccess {
    let rd = Register::field(0);
    CoprocessorAccess { load, coprocessor: 15, opcode1: 0, crn, crm, opcode2, rd }
}

/// MCR p15, 0, value, crn, crm, 0.
pub(crate) fn write_control<B: Bus>(
    processor: &mut Processor<B>,
    (crn, crm): (u8, u8),
    value: u32,
) {
    let Processor { memory, bus, now, .. } = processor;
    memory.control_write(&register((crn, crm, 0), false), value, bus, now).unwrap();
}
