//! Ticks a second of wall time of the dword engine: both ends, CRC, scrambling, real bytes.
//!
//! A READ DMA EXT of 32 MiB: 8.76 million ticks, each a dword either way. The target is forty million ticks
//! a second on one core.

#![allow(missing_docs, reason = "criterion's macros make public items")]

use boardlab_sata::link::{End, Engine, Stop, Wiring};
use boardlab_sata::wire::fis::{RegisterD2h, RegisterH2d};
use boardlab_sata::{Agent, Counting, Fis, Gate, LARGEST_DATA, Outcome, Outgoing, Reception};
use boardlab_sata::{Speed, Tick};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

/// Data FISes of 32 MiB.
const FRAMES: u64 = 4_096;

/// Sends a command, or frames of data and their end; adds up what it gets.
#[derive(Clone)]
struct Party {
    posts: u64,
    command: bool,
    sum: u64,
    frame: Vec<u32>,
    /// Dwords in so many ticks that it takes, so that the link holds; in pieces of so many.
    drain: (u64, u64),
    piece: u32,
    begun: Tick,
}

impl Party {
    fn new(posts: u64, command: bool) -> Self {
        let frame = (0..LARGEST_DATA).map(|at| at.wrapping_mul(0x9E37_79B9)).collect();
        Self { posts, command, sum: 0, frame, drain: (1, 1), piece: 1, begun: Tick::ZERO }
    }
}

impl Agent for Party {
    fn wake(&self) -> Tick {
        if self.posts == 0 { Tick::NEVER } else { Tick::ZERO }
    }

    fn next(&mut self, _now: Tick) -> Option<Outgoing> {
        match (self.command, self.posts) {
            (true, _) => Some(Outgoing::Fis(Fis::RegisterH2d(RegisterH2d::default()))),
            (false, 1) => Some(Outgoing::Fis(Fis::RegisterD2h(RegisterD2h::default()))),
            (false, _) => Some(Outgoing::Data(LARGEST_DATA)),
        }
    }

    fn sent(&mut self, _now: Tick, outcome: Outcome) {
        assert_eq!(outcome, Outcome::Accepted);
        self.posts -= 1;
    }

    fn received(&mut self, _now: Tick, _fis: &Fis) -> Reception {
        if !self.command {
            self.posts = FRAMES + 1;
        }
        Reception::Accept
    }

    fn supply(&mut self, _now: Tick, _sent: u32) -> Gate {
        Gate::OPEN
    }

    fn fill(&mut self, first: u32, words: &mut [u32]) {
        let first = usize::try_from(first).expect("within a frame");
        words.copy_from_slice(&self.frame[first..first + words.len()]);
    }

    fn describe(&mut self) -> Option<Counting> {
        None
    }

    fn begin(&mut self, now: Tick) {
        self.begun = now;
    }

    fn drain(&mut self, _now: Tick, taken: u32) -> Gate {
        if self.drain.1 == 1 {
            return Gate::OPEN;
        }
        let at = self.begun.after((u64::from(taken) * self.drain.1).div_ceil(self.drain.0));
        Gate { until: taken + self.piece, at }
    }

    fn take(&mut self, words: &[u32]) {
        self.sum += words.iter().copied().map(u64::from).sum::<u64>();
    }

    fn take_described(&mut self, _dwords: u32, _words: Counting) {}

    fn end(&mut self, _now: Tick, good: bool) -> Reception {
        assert!(good);
        Reception::Accept
    }

    fn reset(&mut self, _now: Tick) {}
}

fn end() -> End {
    End { latency: 12, holda_after: 20, fifo: 128, hold_from: 64, hold_to: 32, cont: true }
}

fn read(drain: (u64, u64), piece: u32) -> Engine<Party, Party> {
    let wiring = Wiring { speed: Speed::Gen2, host: end(), device: end() };
    let host = Party { drain, piece, ..Party::new(1, true) };
    Engine::new(wiring, host, Party::new(0, false))
}

fn run(mut engine: Engine<Party, Party>, singly: bool) -> u64 {
    engine.step_singly(singly);
    assert_eq!(engine.run(Tick::NEVER), Stop::Idle);
    assert!(engine.host().sum > 0);
    engine.now().0
}

fn link(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("32 MiB read");
    group.sample_size(10);
    for (name, drain, piece, singly) in [
        ("link-limited", (1, 1), 1, false),
        ("link-limited, tick by tick", (1, 1), 1, true),
        ("three quarters of the rate by sectors", (3, 4), 128, false),
        ("three quarters of the rate by dwords", (3, 4), 1, false),
    ] {
        let engine = read(drain, piece);
        group.throughput(Throughput::Elements(run(engine.clone(), singly)));
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(run(engine.clone(), singly)));
        });
    }
    group.finish();
}

criterion_group!(benches, link);
criterion_main!(benches);
