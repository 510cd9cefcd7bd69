//! Random accesses against a flat array: a program with correct maintenance always reads what it wrote,
//! whatever caches, TLB and buffers do. The look-aside is correct at each step.

use boardlab_arm926::bus::Width;
use boardlab_arm926::config::{CacheSize, TlbIndex, TlbReplacement};
use boardlab_arm926::memory::control::{DATA_CACHE, INSTRUCTION_CACHE, MMU, ROUND_ROBIN};
use boardlab_arm926::{Config, Memory, Virtual};
use boardlab_sim::{Seed, Stream};

use super::bench::{BACK, BUFFERED, Bench, STRONG, TABLE, THROUGH};

const COARSE: u32 = 0x8000;
const SLOTS: u32 = 4;
const FIRST: u32 = 0x40_0000;
/// The bytes used in the megabyte of a slot.
const USED: u32 = 0x1_0000;

/// A machine and the expected contents of memory by slot.
struct Rig {
    bench: Bench,
    model: Vec<Vec<u8>>,
    pid: u32,
    random: Stream,
}

impl Rig {
    /// Four slots of a megabyte: sections of each kind, and the last one in small and large pages.
    fn new(seed: u64) -> Self {
        let mut random = Seed::new(seed).stream("memory");
        let mut pick = |bound| random.below(bound);
        let size = || CacheSize::from_kib(4).unwrap();
        let config = Config {
            data_cache: size(),
            instruction_cache: size(),
            tlb_index: [TlbIndex::Low, TlbIndex::Folded][usize::try_from(pick(2)).unwrap()],
            tlb_replacement: [TlbReplacement::RoundRobin, TlbReplacement::PseudoRandom]
                [usize::try_from(pick(2)).unwrap()],
            ..Config::default()
        };
        let replacement = if pick(2) == 0 { ROUND_ROBIN } else { 0 };
        let mut bench = Bench::new(&config);
        for (slot, bits) in (0..).zip([BACK, BACK, THROUGH]) {
            bench.section(slot << 25, FIRST + (slot << 20), bits);
        }
        bench.word(TABLE + (3 << 25 >> 20) * 4, COARSE | 1);
        let base = FIRST + (3 << 20);
        for page in 0..16 {
            let bits = [BACK, THROUGH, BUFFERED, STRONG][page as usize % 4];
            let parts = if page % 3 == 0 { 0x7F0 } else { 0xFF0 };
            bench.word(COARSE + page * 4, base | page << 12 | parts | bits | 2);
        }
        bench.start(MMU | DATA_CACHE | INSTRUCTION_CACHE | replacement);
        Self { bench, model: vec![vec![0; USED as usize]; SLOTS as usize], pid: 0, random }
    }

    fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.random.below(u64::from(bound))).unwrap()
    }

    /// An address in the slot, mostly near others.
    fn place(&mut self) -> u32 {
        let near = self.below(8) != 0;
        let bound = if near { 0x1800 } else { USED };
        self.below(bound)
    }

    fn slot(&mut self) -> &mut [u8] {
        &mut self.model[self.pid as usize]
    }

    fn expected(&mut self, at: u32, width: Width) -> u32 {
        let length = width.bytes();
        let at = (at & !(length - 1)) as usize;
        let bytes = &self.slot()[at..at + length as usize];
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
    }

    fn width(&mut self) -> Width {
        [Width::Byte, Width::Half, Width::Word][self.below(3) as usize]
    }

    fn load(&mut self) {
        let (at, width) = (self.place(), self.width());
        let hit = self.bench.memory.data_line(Virtual(at), true, false);
        let (before, now) = (self.bench.memory.statistics().data_cache, self.bench.now);
        self.bench.board.part.transfers.clear();
        let value = self.bench.try_load(at, width, true).unwrap();
        assert_eq!(
            value,
            self.expected(at, width),
            "load of {width:?} at {at:x}, slot {}",
            self.pid
        );
        if let Some(line) = hit {
            let offset = line + (at & 31 & !(width.bytes() - 1)) as usize;
            assert_eq!(u32::from(self.bench.memory.data_array()[offset]), value & 0xFF);
            assert!(self.bench.board.part.transfers.is_empty() && self.bench.now == now);
            assert_eq!(self.bench.memory.statistics().data_cache.read_misses, before.read_misses);
            self.bench.memory.learn(Virtual(at), 1, (true, false));
        }
    }

    fn store(&mut self) {
        let (at, width) = (self.place(), self.width());
        let value = self.below(u32::MAX);
        let hit = self.bench.memory.data_line(Virtual(at), true, true);
        let now = self.bench.now;
        self.bench.board.part.transfers.clear();
        self.bench.try_store(at, width, true, value).unwrap();
        if hit.is_some() {
            assert!(self.bench.board.part.transfers.is_empty() && self.bench.now == now);
            self.bench.memory.learn(Virtual(at), 1, (true, true));
        }
        let length = width.bytes() as usize;
        let start = (at & !(width.bytes() - 1)) as usize;
        self.slot()[start..start + length].copy_from_slice(&value.to_le_bytes()[..length]);
    }

    /// Executes new code: cleans the data side, drains, invalidates the instruction side and fetches.
    fn execute(&mut self) {
        let at = self.place() & !3;
        let modified = at | self.pid << 25;
        for operation in [(7, 10, 1), (7, 10, 4), (7, 5, 1)] {
            self.bench.write_control(operation, modified);
        }
        assert_eq!(self.bench.fetch(at), self.expected(at, Width::Word), "fetch at {at:x}");
        let hit = self.bench.memory.instruction_line(Virtual(at), true).is_some();
        assert!(hit || self.bench.memory.current_line(Virtual(at), true).is_none());
        assert!(!hit || self.bench.memory.line_hit(Virtual(at), true).is_some());
    }

    fn switch(&mut self) {
        self.pid = self.below(SLOTS);
        self.bench.write_control((13, 0, 0), self.pid << 25);
        self.bench.memory.retire(true);
    }

    /// Maintenance that a program may perform at any time.
    fn maintain(&mut self) {
        let at = self.place() | self.below(SLOTS) << 25;
        let line = self.below(4) << 30 | self.below(32) << 5;
        let (operation, value) = match self.below(14) {
            0 => ((7, 10, 1), at),
            1 => ((7, 14, 1), at),
            2 => ((7, 10, 2), line),
            3 => ((7, 14, 2), line),
            4 => ((7, 10, 4), 0),
            5 => ((8, 7, 0), 0),
            6 => ((8, 7, 1), at),
            7 => ((7, 5, 2), line),
            8 => ((7, 13, 1), at),
            9 => ((9, 0, 0), self.below(16)),
            10 => ((9, 0, 1), self.below(16)),
            11 => ((10, 0, 0), self.below(8) << 26 | self.below(2)),
            _ => {
                let crm = [10, 14][self.below(2) as usize];
                self.bench.read_control((7, crm, 3));
                return;
            }
        };
        self.bench.write_control(operation, value);
    }

    /// Checks that look-aside entries would hit.
    fn check_remembered(&mut self, at: u32) {
        let memory = &mut self.bench.memory;
        let hits = memory.lookaside().hits(true);
        let (read, write, line) = (hits.read(at, 1), hits.write(at, 1), hits.line(at).stamp() != 0);
        let offset = (at & 31) as usize;
        if let Some(read) = read {
            assert_eq!(memory.data_line(Virtual(at), true, false), Some(read - offset));
        }
        if let Some(write) = write {
            assert_eq!(memory.data_line(Virtual(at), true, true), Some(write - offset));
        }
        assert!(!line || memory.instruction_line(Virtual(at), true).is_some(), "{at:x}");
    }

    fn step(&mut self) {
        match self.below(100) {
            0..50 => self.load(),
            50..80 => self.store(),
            80..84 => self.execute(),
            84..87 => self.switch(),
            _ => self.maintain(),
        }
        for _ in 0..4 {
            let at = self.place();
            self.check_remembered(at);
        }
        let at = self.place() & !3;
        let peeked = self.bench.memory.peek(Virtual(at), &self.bench.board);
        assert_eq!(peeked, Some(self.expected(at, Width::Word)), "peek at {at:x}");
    }

    /// Cleans everything and compares memory with what the program wrote.
    fn finish(&mut self) {
        while self.bench.read_control((7, 14, 3)) == 0 {}
        for (slot, bytes) in (0..).zip(&self.model) {
            let from = (FIRST + (slot << 20)) as usize;
            assert!(
                self.bench.board.ram.bytes()[from..][..USED as usize] == bytes[..],
                "slot {slot}"
            );
        }
    }
}

/// Runs seeds; a failure names its seed.
fn run(seeds: std::ops::Range<u64>, steps: u64) {
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| {
            let mut rig = Rig::new(seed);
            (0..steps).for_each(|_| rig.step());
            rig.finish();
        });
        assert!(outcome.is_ok(), "seed {seed}, {steps} steps");
    }
}

#[test]
fn a_program_that_maintains_its_caches_sees_what_it_wrote() {
    run(0..12, 20_000);
}

#[test]
fn a_program_that_maintains_its_caches_sees_what_it_wrote_at_length() {
    if std::env::var_os("BOARDLAB_FULL").is_some() {
        run(100..200, 1_000_000);
    }
}

#[test]
fn a_copy_that_was_saved_and_restored_goes_on_alike() {
    let mut rig = Rig::new(77);
    for round in 0..20 {
        (0..500).for_each(|_| rig.step());
        let saved = serde_json::to_string(&rig.bench.memory).unwrap();
        let restored: Memory = serde_json::from_str(&saved).unwrap();
        assert_eq!(serde_json::to_string(&restored).unwrap(), saved, "round {round}");
        let mut other = Bench { memory: restored, ..rig.bench.clone() };
        for step in 0..200 {
            let at = step * 0x94 % USED;
            assert_eq!(rig.bench.load(at), other.load(at));
            assert_eq!((rig.bench.fetch(at), rig.bench.now), (other.fetch(at), other.now));
        }
        assert_eq!(rig.bench.counts(), other.counts());
    }
}

#[test]
fn a_saved_state_whose_parts_do_not_fit_is_refused() {
    let saved = serde_json::to_value(&Rig::new(1).bench.memory).unwrap();
    let refused = |change: fn(&mut serde_json::Value)| {
        let mut changed = saved.clone();
        change(&mut changed);
        assert_ne!(changed, saved);
        serde_json::from_value::<Memory>(changed).is_err()
    };
    assert!(serde_json::from_value::<Memory>(saved.clone()).is_ok());
    assert!(refused(|value| value["config"]["data_cache"] = 5.into()));
    assert!(refused(|value| value["config"]["data_cache"] = 0.into()));
    assert!(refused(|value| value["config"]["data_cache"] = 200.into()));
    assert!(refused(|value| drop(value["data"]["tags"].as_array_mut().unwrap().pop())));
    assert!(refused(|value| drop(value["data"]["bytes"].as_array_mut().unwrap().pop())));
    assert!(refused(|value| value["data"]["tags"][0] = 0x21.into()));
    assert!(refused(|value| value["data"]["next"][0] = 4.into()));
    assert!(refused(|value| value["data"]["dirty_lines"] = 1.into()));
    assert!(refused(|value| value["data"]["random"] = 0.into()));
    assert!(refused(|value| value["data"]["dirty"][0] = 7.into()));
    assert!(refused(|value| value["data"]["physical"][0] = 3.into()));
    assert!(refused(|value| value["tlb"]["sizes"][4] = 200.into()));
    assert!(refused(|value| value["tlb"]["victim"] = 9.into()));
    assert!(refused(|value| drop(value["tlb"]["entries"].as_array_mut().unwrap().pop())));
    assert!(refused(|value| value["current"] = serde_json::json!({"key": 3, "line": 128})));
    assert!(refused(|value| value["control"]["pid"] = 128.into()));
    assert!(refused(|value| value["buffer"]["ratio"] = 0.into()));
}
