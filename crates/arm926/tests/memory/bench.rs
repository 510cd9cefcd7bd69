//! A memory system on a board that records each transfer, with translation tables written by the tests.

use crate::rig::board::{self, Board, Part};
use boardlab_arm926::bus::{Bus, Reply, Waits, Width};
use boardlab_arm926::memory::{Abort, Access, Effect, Memory, Statistics, Undefined, control};
use boardlab_arm926::{Config, Cycles, Physical, Ram, Virtual};

/// The first-level table of most tests.
pub(crate) const TABLE: u32 = 0x4000;

/// C and B bits of a descriptor.
pub(crate) const STRONG: u32 = 0;
pub(crate) const BUFFERED: u32 = 4;
pub(crate) const THROUGH: u32 = 8;
pub(crate) const BACK: u32 = 12;

/// A transfer on the bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Transfer {
    Read(u32, Width),
    Write(u32, Width, u32),
    Line(u32),
    Burst(u32, Vec<u8>),
}

/// A memory that records its accesses and their times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    pub(crate) transfers: Vec<(u64, Transfer)>,
}

impl Notes {
    fn note(&mut self, now: Cycles, transfer: Transfer) {
        self.transfers.push((now.0, transfer));
    }
}

impl Part for Notes {
    fn read(&mut self, at: Physical, width: Width, now: Cycles) -> Option<Reply> {
        assert_eq!(at.0 % width.bytes(), 0);
        self.note(now, Transfer::Read(at.0, width));
        None
    }

    fn write(&mut self, at: Physical, width: Width, value: u32, now: Cycles) -> Option<Waits> {
        assert_eq!(at.0 % width.bytes(), 0);
        self.note(now, Transfer::Write(at.0, width, value));
        None
    }

    fn read_line(&mut self, at: Physical, now: Cycles) {
        assert_eq!(at.0 % 32, 0);
        self.note(now, Transfer::Line(at.0));
    }

    fn write_burst(&mut self, at: Physical, data: &[u8], now: Cycles) {
        assert!(matches!((at.0 % 32, data.len()), (0, 32) | (0 | 16, 16)));
        self.note(now, Transfer::Burst(at.0, data.to_vec()));
    }
}

/// A memory system under test.
#[derive(Debug, Clone)]
pub(crate) struct Bench {
    pub(crate) memory: Memory,
    pub(crate) board: Board<Notes>,
    pub(crate) now: Cycles,
}

impl Bench {
    /// After reset: 8 MB of RAM, with two wait states before the first word of a transfer and one
    /// before each other.
    pub(crate) fn new(config: &Config) -> Self {
        let ram = Ram::new(8 << 20, Waits { first: 2, next: 1 });
        let board = Board { ram, part: Notes::default() };
        Self { memory: Memory::new(config), board, now: Cycles(0) }
    }

    /// With 8 MB of flat sections of attributes `bits`, client access, and the control bits `on`.
    pub(crate) fn mapped(config: &Config, bits: u32, on: u32) -> Self {
        let mut bench = Self::new(config);
        for megabyte in 0..8 {
            bench.section(megabyte << 20, megabyte << 20, bits);
        }
        bench.start(on | control::MMU);
        bench
    }

    /// A section with all permissions in domain 0.
    pub(crate) fn section(&mut self, at: u32, to: u32, bits: u32) {
        self.word(TABLE + (at >> 20) * 4, to & 0xFFF0_0000 | 0xC00 | bits | 2);
    }

    /// Writes a word of memory without the core.
    pub(crate) fn word(&mut self, at: u32, value: u32) {
        self.board.ram.put(at as usize, &[value]);
    }

    /// A word of the board's memory.
    pub(crate) fn memory_word(&self, at: u32) -> u32 {
        self.board.ram.peek(Physical(at)).unwrap()
    }

    /// Sets the control bits `on`, with the table of most tests and domain 0 as client.
    pub(crate) fn start(&mut self, on: u32) {
        self.write_control((2, 0, 0), TABLE);
        self.write_control((3, 0, 0), 1);
        self.write_control((1, 0, 0), on);
    }

    /// MCR p15, 0, value, crn, crm, opcode2.
    pub(crate) fn write_control(
        &mut self,
        (crn, crm, opcode2): (u8, u8, u8),
        value: u32,
    ) -> Effect {
        self.try_write((crn, crm, opcode2), value).unwrap()
    }

    pub(crate) fn try_write(
        &mut self,
        register: (u8, u8, u8),
        value: u32,
    ) -> Result<Effect, Undefined> {
        let access = board::register(register, false);
        self.memory.control_write(&access, value, &mut self.board, &mut self.now)
    }

    /// MRC p15, 0, value, crn, crm, opcode2.
    pub(crate) fn read_control(&mut self, register: (u8, u8, u8)) -> u32 {
        self.try_read(register).unwrap()
    }

    pub(crate) fn try_read(&mut self, register: (u8, u8, u8)) -> Result<u32, Undefined> {
        let access = board::register(register, true);
        self.memory.control_read(&access, &mut self.board, &mut self.now)
    }

    pub(crate) fn load(&mut self, at: u32) -> u32 {
        self.try_load(at, Width::Word, true).unwrap()
    }

    pub(crate) fn try_load(
        &mut self,
        at: u32,
        width: Width,
        privileged: bool,
    ) -> Result<u32, Abort> {
        let access = Access { at: Virtual(at), width, privileged };
        self.memory.read(access, &mut self.board, &mut self.now)
    }

    pub(crate) fn store(&mut self, at: u32, value: u32) {
        self.try_store(at, Width::Word, true, value).unwrap();
    }

    pub(crate) fn try_store(
        &mut self,
        at: u32,
        width: Width,
        privileged: bool,
        value: u32,
    ) -> Result<(), Abort> {
        let access = Access { at: Virtual(at), width, privileged };
        self.memory.write(access, value, &mut self.board, &mut self.now)
    }

    pub(crate) fn fetch(&mut self, at: u32) -> u32 {
        self.try_fetch(at, Width::Word, true).unwrap()
    }

    pub(crate) fn try_fetch(
        &mut self,
        at: u32,
        width: Width,
        privileged: bool,
    ) -> Result<u32, Abort> {
        let access = Access { at: Virtual(at), width, privileged };
        self.memory.fetch(access, &mut self.board, &mut self.now)
    }

    /// The cycles of `what`.
    pub(crate) fn cycles<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> u64 {
        let before = self.now.0;
        what(self);
        self.now.0 - before
    }

    /// The transfers on the bus during `what`.
    pub(crate) fn transfers<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> Vec<Transfer> {
        self.board.part.transfers.clear();
        what(self);
        self.board.part.transfers.drain(..).map(|(_, transfer)| transfer).collect()
    }

    pub(crate) fn counts(&self) -> Statistics {
        *self.memory.statistics()
    }

    /// Advances time until the bus is idle and the buffers are empty.
    pub(crate) fn rest(&mut self) {
        self.now.0 += 10_000;
    }
}
