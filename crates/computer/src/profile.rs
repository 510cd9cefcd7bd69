//! Where the cycles go: by function, and by system call.
//!
//! Layer: rank 9. Main type: [`Profile`], which is told of each step of the reference interpreter, so that its figures are exact:
//! every cycle of the run is in one row. A function's cycles are its own, without those that it calls. A call of a
//! function is counted when its first instruction is executed. A system call's kernel cycles are those of privileged modes
//! while its process is the current one; its duration is from the software interrupt to the return to user mode, other
//! processes included. Processes are told apart by FCSE process number and translation table.

use super::calls::CallNames;
use super::symbols::Symbols;
use boardlab_arm926::{Bus, Exception, Processor};
use boardlab_sim::{Duration, Phase};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Processes and calls that are kept apart: a guest may write any numbers.
const MOST: usize = 4_096;

/// What counters stood at, at a boundary between two instructions.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    now: u64,
    pc: u32,
    user: bool,
    process: (u8, u32),
    call: u32,
    instructions: u64,
    asleep: u64,
    calls: u64,
    misses: [u64; 3],
}

impl Mark {
    /// Of `processor` now.
    pub fn of<B: Bus>(processor: &Processor<B>) -> Self {
        let counts = &processor.counts;
        let statistics = processor.memory.statistics();
        let data = &statistics.data_cache;
        Self {
            now: processor.now.0,
            pc: processor.registers.pc,
            user: !processor.registers.cpsr().mode().privileged(),
            process: (processor.memory.pid(), processor.memory.table_base()),
            call: processor.registers.r[7],
            instructions: counts.instructions,
            asleep: counts.asleep,
            calls: counts.exceptions[Exception::SoftwareInterrupt as usize],
            misses: [
                statistics.instruction_cache.read_misses,
                data.read_misses + data.write_misses,
                statistics.tlb_misses,
            ],
        }
    }
}

/// What one function took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Its own cycles.
    pub cycles: u64,
    /// Its own instructions.
    pub instructions: u64,
    /// How often it was entered at its first instruction.
    pub calls: u64,
    /// Misses of the instruction cache, of the data cache and of the TLB.
    pub misses: [u64; 3],
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.cycles += other.cycles;
        self.instructions += other.instructions;
        self.calls += other.calls;
        for (sum, more) in self.misses.iter_mut().zip(other.misses) {
            *sum += more;
        }
    }

    fn between(before: &Mark, after: &Mark) -> Self {
        let (cycles, misses) = (after.now - before.now, [0, 1, 2]);
        let misses = misses.map(|at| after.misses[at] - before.misses[at]);
        let instructions = after.instructions - before.instructions;
        Self { cycles, instructions, calls: 0, misses }
    }
}

/// What one system call took.
#[derive(Debug, Clone, Default)]
pub struct CallTally {
    /// Cycles in privileged modes.
    pub kernel: u64,
    /// Cycles from the software interrupt to the return, as a phase of so many nanoseconds: one a cycle.
    pub elapsed: Phase,
    /// How many had not returned at the end.
    pub open: u64,
}

/// A system call that has not returned.
#[derive(Debug, Clone, Copy)]
struct Open {
    number: u32,
    since: u64,
    kernel: u64,
}

/// A profile in the making.
#[derive(Debug, Clone)]
pub struct Profile {
    symbols: Arc<Symbols>,
    functions: Vec<Tally>,
    outside: BTreeMap<(u8, u32), Tally>,
    asleep: u64,
    /// The function that the last instruction was in, which is likely that of the next.
    last: Option<usize>,
    open: HashMap<(u8, u32), Open>,
    calls: BTreeMap<u32, CallTally>,
    /// Where the last run ended.
    paused: Option<Mark>,
}

impl Profile {
    /// Of code with `symbols`.
    #[must_use]
    pub fn new(symbols: Arc<Symbols>) -> Self {
        Self {
            functions: vec![Tally::default(); symbols.code().len()],
            symbols,
            outside: BTreeMap::new(),
            asleep: 0,
            last: None,
            open: HashMap::new(),
            calls: BTreeMap::new(),
            paused: None,
        }
    }

    /// Goes on at `now`: what happened since [`Profile::pause`], a semihosting call, belongs to where it was made.
    pub fn resume(&mut self, now: &Mark) {
        if let Some(paused) = self.paused.take() {
            self.step(&paused, now);
        }
    }

    /// A run ended at `now`.
    pub const fn pause(&mut self, now: Mark) {
        self.paused = Some(now);
    }

    /// Takes one step: an instruction, the entry of an interrupt or a span of sleep.
    pub fn step(&mut self, before: &Mark, after: &Mark) {
        let asleep = after.asleep - before.asleep;
        self.asleep += asleep;
        let mut tally = Tally::between(before, after);
        tally.cycles -= asleep;
        let function = self.function(before.pc);
        let of_start = |index: usize| self.symbols.code()[index].start == before.pc;
        tally.calls = u64::from(tally.instructions > 0 && function.is_some_and(of_start));
        match function {
            Some(index) => self.functions[index].add(&tally),
            None => self.outside(before.process).add(&tally),
        }
        self.call(before, after);
    }

    fn function(&mut self, at: u32) -> Option<usize> {
        let inside = |index: usize| {
            let symbol = &self.symbols.code()[index];
            symbol.start <= at && u64::from(at) < symbol.end
        };
        if !self.last.is_some_and(inside) {
            self.last = self.symbols.index_of(at);
        }
        self.last
    }

    fn outside(&mut self, process: (u8, u32)) -> &mut Tally {
        let full = self.outside.len() >= MOST && !self.outside.contains_key(&process);
        self.outside.entry(if full { (0, 0) } else { process }).or_default()
    }

    fn call(&mut self, before: &Mark, after: &Mark) {
        if !before.user
            && let Some(open) = self.open.get_mut(&before.process)
        {
            open.kernel += after.now - before.now - (after.asleep - before.asleep);
        }
        if after.calls > before.calls && before.user && self.open.len() < MOST {
            let open =
                Open { number: before.call, since: before.now, kernel: after.now - before.now };
            self.open.insert(before.process, open);
        } else if after.user
            && !before.user
            && let Some(open) = self.open.remove(&after.process)
            && (self.calls.len() < MOST || self.calls.contains_key(&open.number))
        {
            let tally = self.calls.entry(open.number).or_default();
            tally.kernel += open.kernel;
            tally.elapsed.record(Duration::from_nanos(after.now - open.since));
        }
    }

    /// The functions by their cycles, those with most first; what is outside of any symbol and sleep have rows too.
    #[must_use]
    pub fn functions(&self) -> Vec<(String, Tally)> {
        let named = self.symbols.code().iter().map(|symbol| symbol.name.clone());
        let named = named.zip(self.functions.iter().copied());
        let outside = self.outside.iter().map(|((pid, base), tally)| {
            let name = match (pid, base) {
                (0, 0) => "(no symbol)".into(),
                (pid, base) => format!("(no symbol, PID {pid}, table {base:#010x})"),
            };
            (name, *tally)
        });
        let asleep = Tally { cycles: self.asleep, ..Tally::default() };
        let all = named.chain(outside).chain([("(asleep)".into(), asleep)]);
        let mut rows: Vec<_> = all.filter(|(_, tally)| *tally != Tally::default()).collect();
        rows.sort_by(|(a, tally), (b, other)| other.cycles.cmp(&tally.cycles).then(a.cmp(b)));
        rows
    }

    /// The system calls by number, with their names where those are known.
    #[must_use]
    pub fn calls(&self, names: &CallNames) -> Vec<(u32, Option<String>, CallTally)> {
        let mut calls = self.calls.clone();
        for open in self.open.values() {
            let tally = calls.entry(open.number).or_default();
            tally.open += 1;
            tally.kernel += open.kernel;
        }
        let row = |(number, tally)| (number, names.of(number).map(String::from), tally);
        calls.into_iter().map(row).collect()
    }
}
