//! Lock-step with Unicorn: random blocks of ARM and Thumb code lead to the same registers and memory.
//!
//! [`classes::Table`] generates the blocks, with one generator for each class of ARMv5TE encodings; the
//! other side is `oracles/arm/unicorn_server.py` with Unicorn's ARM926. MMU and caches are disabled.
//! Cases in which Unicorn differs from hardware, or the architecture defines no result, are not
//! generated: each generator names them, and `docs/models/arm926-and-qemu.md` quotes the manual.
//! `BOARDLAB_FULL` runs 10^8 instructions instead of a sample.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "tests")]

mod arm;
mod arm_branches;
mod arm_memory;
mod block;
mod cached;
mod classes;
mod oracle;
mod simulated;
mod thumb;
mod thumb_branches;
mod verdicts;

use std::fmt::Write as _;
use std::io::Write as _;
use std::thread;

#[cfg(feature = "compiler")]
use boardlab_arm926::Compiled;
use boardlab_arm926::Predecoded;
use boardlab_arm926::decode;
use boardlab_sim::Seed;

use cached::Cached;
use classes::Table;
use oracle::{Answer, Case, Server, State};
use simulated::Simulated;

const SEED: u64 = 926;
const SAMPLE: u64 = 1_000_000;
const FULL: u64 = 100_000_000;
/// The minimum number of executions of each class.
const EACH: u64 = 1_000;
const BATCH: usize = 256;
/// The address of the first case of a batch.
const FIRST: u32 = 0x1_0000;
const STRIDE: u32 = 0x1000;
const PROCESSES: u64 = 2;

fn full() -> bool {
    std::env::var_os("BOARDLAB_FULL").is_some()
}

/// One case in this number is also compiled, which takes a thousand times as long as running it.
#[cfg(feature = "compiler")]
fn compiled_each() -> usize {
    if full() { 64 } else { BATCH }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A case, and the class of each of its instructions by address.
type Made = (Case, Vec<(u32, usize)>);

fn batch(table: &Table, seed: Seed, number: u64) -> Vec<Made> {
    let mut stream = seed.stream(&format!("batch {number}"));
    (0..BATCH)
        .map(|n| table.block(&mut stream, FIRST + STRIDE * u32::try_from(n).unwrap()))
        .collect()
}

/// The number of executions of each class.
struct Tally {
    classes: Vec<u64>,
    instructions: u64,
}

impl Tally {
    fn new(table: &Table) -> Self {
        Self { classes: vec![0; table.classes.len()], instructions: 0 }
    }

    /// Runs a case here, and counts its instructions.
    fn run(&mut self, here: &mut Simulated, (case, classes): &Made) -> Answer {
        let mut next = 0;
        here.run(case, |at| {
            self.instructions += 1;
            while next < classes.len() && classes[next].0 < at {
                next += 1;
            }
            if next < classes.len() && classes[next].0 == at {
                self.classes[classes[next].1] += 1;
            }
        })
    }
}

/// Fails if the sides differ.
fn check(answer: &Answer, case: &Case, there: &Answer, place: &str) {
    assert!(answer == there, "{place}: {}", explain(answer, case, there));
}

/// Runs `instructions` instructions of the blocks of `seed`.
fn run(table: &Table, seed: Seed, instructions: u64) -> Option<Tally> {
    let (server, mut here) = (Server::start()?, Simulated::new());
    let mut fast = Cached::new(Predecoded::new(), 2, Predecoded::stepped);
    #[cfg(feature = "compiler")]
    let mut compiled = Cached::new(Compiled::with_threshold(1), 4, Compiled::executed);
    let mut tally = Tally::new(table);
    let mut waiting: Option<(u64, Vec<Made>)> = None;
    for number in 0.. {
        let made = batch(table, seed, number);
        let cases: Vec<Case> = made.iter().map(|(case, _)| case.clone()).collect();
        server.send(&cases);
        let Some((number, made)) = waiting.replace((number, made)) else { continue };
        let cases: Vec<Case> = made.iter().map(|(case, _)| case.clone()).collect();
        for (n, (made, there)) in made.iter().zip(server.receive(&cases)).enumerate() {
            let place = format!("seed {}, batch {number}, case {n}", seed.get());
            check(&tally.run(&mut here, made), &made.0, &there, &place);
            check(&fast.run(&made.0), &made.0, &there, &format!("fast engine, {place}"));
            #[cfg(feature = "compiler")]
            if n % compiled_each() == 0 {
                check(&compiled.run(&made.0), &made.0, &there, &format!("compiler, {place}"));
            }
        }
        if tally.instructions >= instructions {
            break;
        }
    }
    let (all, left) = (fast.instructions, fast.counted);
    say(&format!("fast engine: {all} instructions, {left} left to the reference"));
    assert!(left < all / 2, "the fast engine executes most");
    #[cfg(feature = "compiler")]
    {
        let (all, done) = (compiled.instructions, compiled.counted);
        say(&format!("compiler: {all} instructions, {done} of them compiled"));
        assert!(done > all / 2, "most is compiled");
    }
    Some(tally)
}

/// The difference, and the code.
fn explain(answer: &Answer, case: &Case, there: &Answer) -> String {
    let mut addresses = Vec::new();
    Simulated::new().run(case, |at| addresses.push(at));
    let mut text =
        format!("entry {:#x}, end {:#x}, CPSR {:#x}\n", case.entry, case.end, case.state.cpsr);
    let _ = writeln!(text, "          before / here / Unicorn");
    let _ = writeln!(text, "status {:?} / {:?}", answer.status, there.status);
    let _ = writeln!(text, "pc {:#x} / {:#x}", answer.pc, there.pc);
    let words = |state: &State| [[state.cpsr, state.spsr].as_slice(), &state.r].concat();
    let rows = words(&case.state).into_iter().zip(words(&answer.state)).zip(words(&there.state));
    for (n, ((before, here), there)) in rows.enumerate() {
        let name = match n {
            0 => "CPSR".to_string(),
            1 => "SPSR".to_string(),
            n => format!("r{}", n - 2),
        };
        let mark = if here == there { "" } else { "  <---" };
        let _ = writeln!(text, "{name:5} {before:08x} / {here:08x} / {there:08x}{mark}");
    }
    if answer.banks != there.banks {
        let _ = writeln!(text, "banks {:x?}\n      {:x?}", answer.banks, there.banks);
    }
    for (n, (here, there)) in answer.data.iter().zip(&there.data).enumerate() {
        if here != there {
            let _ = writeln!(text, "data + {n:#x}: {here:02x} / {there:02x}");
        }
    }
    for at in addresses {
        let _ = writeln!(text, "{at:x}: {}", listing(case, at));
    }
    text
}

/// The instruction at `at` in both states.
fn listing(case: &Case, at: u32) -> String {
    let from = (at - case.base) as usize;
    let word = u32::from_le_bytes(case.memory[from..from + 4].try_into().unwrap());
    let half = u16::from_le_bytes(case.memory[from..from + 2].try_into().unwrap());
    format!("{word:08x}  {:32} | {}", decode::arm(word).to_string(), decode::thumb(half))
}

#[test]
fn random_blocks_of_every_class_end_as_in_unicorn() {
    let table = Table::new();
    let total = if full() { FULL } else { SAMPLE };
    let seeds = (0..PROCESSES).map(|n| Seed::new(SEED + n));
    let tallies: Vec<Option<Tally>> = thread::scope(|scope| {
        let table = &table;
        let runs: Vec<_> =
            seeds.map(|seed| scope.spawn(move || run(table, seed, total / PROCESSES))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let Some(tallies) = tallies.into_iter().collect::<Option<Vec<Tally>>>() else { return };
    let mut rare = Vec::new();
    for (n, class) in table.classes.iter().enumerate() {
        let count: u64 = tallies.iter().map(|tally| tally.classes[n]).sum();
        say(&format!("{count:9}  {}", class.name));
        if count < EACH {
            rare.push(&class.name);
        }
    }
    let instructions: u64 = tallies.iter().map(|tally| tally.instructions).sum();
    say(&format!("{instructions} instructions, {} classes, no difference", table.classes.len()));
    assert!(instructions >= total);
    assert!(rare.is_empty(), "executed less than {EACH} times: {rare:?}");
}
