//! A case on the simulated core with MMU and caches enabled, run several times by a fast engine.
//!
//! The first runs warm up caches and TLB, so that in the last one the engine executes its own code
//! instead of the reference. Memory is mapped flat, write-back.

use boardlab_arm926::bus::Waits;
use boardlab_arm926::memory::control::{DATA_CACHE, INSTRUCTION_CACHE, MMU};
use boardlab_arm926::{Config, Cycles, Engine, Limit, Processor, Ram, Stop, Virtual};

use super::oracle::{Answer, CODE, Case, Status};
use super::simulated::{load_registers, registers_after, stopped};
use crate::rig::board::write_control;

const TABLE: u32 = 0x4000;
/// A megabyte, write-back, for everyone.
const SECTION: u32 = 0xC1E;
/// The maximum number of instructions of a block.
const STEPS: u64 = 1000;

/// The core and the engine.
pub struct Cached<E> {
    processor: Processor<Ram>,
    engine: E,
    /// The number of runs of a case.
    times: u32,
    /// The engine's count of instructions: those that it executed, or those that it did not.
    count: fn(&E) -> u64,
    /// The instructions of last runs.
    pub instructions: u64,
    /// The engine's count of them.
    pub counted: u64,
}

impl<E: Engine<Ram>> Cached<E> {
    pub fn new(engine: E, times: u32, count: fn(&E) -> u64) -> Self {
        let config = Config { semihosting: false, stop_without_handler: true, ..Config::default() };
        let mut ram = Ram::new(1 << 21, Waits::default());
        let table: Vec<u32> = (0..4096).map(|section| section << 20 | SECTION).collect();
        ram.put(TABLE as usize, &table);
        let processor = Processor::new(&config, ram);
        let mut cached = Self { processor, engine, times, count, instructions: 0, counted: 0 };
        write_control(&mut cached.processor, (2, 0), TABLE);
        write_control(&mut cached.processor, (3, 0), 1);
        write_control(&mut cached.processor, (1, 0), MMU | DATA_CACHE | INSTRUCTION_CACHE);
        cached
    }

    /// Runs a case several times; returns the answer of the last run.
    pub fn run(&mut self, case: &Case) -> Answer {
        let base = case.base as usize;
        write_control(&mut self.processor, (7, 7), 0);
        self.processor.bus.bytes_mut()[base..base + case.memory.len()]
            .copy_from_slice(&case.memory);
        self.engine.forget();
        for _ in 1..self.times {
            self.once(case);
            self.restore(case);
        }
        let (instructions, counted) =
            (self.processor.counts.instructions, (self.count)(&self.engine));
        let status = self.once(case);
        self.instructions += self.processor.counts.instructions - instructions;
        self.counted += (self.count)(&self.engine) - counted;
        self.answer(case, status)
    }

    /// Restores the data of the case, in the caches as well.
    fn restore(&mut self, case: &Case) {
        let Processor { memory, bus, .. } = &mut self.processor;
        let words = case.memory.chunks_exact(4).zip((case.base..).step_by(4));
        for (word, at) in words.skip(CODE / 4) {
            assert!(memory.poke(Virtual(at), u32::from_le_bytes(word.try_into().unwrap()), bus));
        }
    }

    fn once(&mut self, case: &Case) -> Status {
        load_registers(&mut self.processor.registers, case);
        let limit = Limit {
            cycles: Cycles::NEVER,
            instructions: self.processor.counts.instructions + STEPS,
        };
        let stop = self.engine.run(&mut self.processor, limit);
        match stop {
            Stop::NoHandler { at, .. } if at == case.end => Status::Reached,
            stop => stopped(stop),
        }
    }

    fn answer(&mut self, case: &Case, status: Status) -> Answer {
        let Processor { memory, bus, .. } = &self.processor;
        let words = (case.base..).step_by(4).take(case.memory.len() / 4).skip(CODE / 4);
        let data = words.flat_map(|at| memory.peek(Virtual(at), bus).unwrap().to_le_bytes());
        let data = data.collect();
        let pc = self.processor.registers.pc;
        let (state, banks) = registers_after(&mut self.processor.registers, case);
        Answer { status, pc, state, banks, data }
    }
}
