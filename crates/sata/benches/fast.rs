//! The FIS engine by the Data FIS of 8 KiB, the DMA Activate of a write and the waits included.
//!
//! Target: 100 ns for a described one on one core, so that the 37 million of `boardlab reproduce sata` take less
//! than 4 s. Agents here do next to nothing. Criterion measures wall time: run it on a machine that does
//! nothing else.

use boardlab_sata::fast::Engine;
use boardlab_sata::link::{End, Wiring};
use boardlab_sata::wire::Step;
use boardlab_sata::wire::fis::DmaActivate;
use boardlab_sata::{
    Agent, Counting, Fis, Gate, LARGEST_DATA, Outcome, Outgoing, Reception, Speed, Tick,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Data FISes of one iteration: 32 MiB.
const FRAMES: u32 = 4_096;

/// How an end of the benchmark gives and takes data.
#[derive(Debug, Clone, Copy)]
enum Pace {
    /// At once.
    Open,
    /// All of a frame, so many ticks after it began.
    Late(u64),
    /// A quarter of a frame at a time, so many ticks after the one before.
    Quarters(u64),
}

impl Pace {
    fn gate(self, now: Tick, passed: u32) -> Gate {
        match self {
            Self::Open => Gate::OPEN,
            Self::Late(ticks) => Gate { until: u32::MAX, at: now.after(ticks) },
            Self::Quarters(ticks) => {
                Gate { until: passed + LARGEST_DATA / 4, at: now.after(ticks) }
            }
        }
    }
}

/// Sends Data FISes, each after an Activate where there are such; or takes them.
#[derive(Debug, Clone)]
struct Party {
    pace: Pace,
    described: bool,
    left: u32,
    sends: Option<Outgoing>,
    /// Sends an Activate for every Data FIS that it wants.
    activates: bool,
    sum: u64,
}

impl Party {
    fn new(pace: Pace, described: bool) -> Self {
        Self { pace, described, left: 0, sends: None, activates: false, sum: 0 }
    }

    fn proceed(&mut self) {
        self.sends = match (self.left, self.activates) {
            (0, _) => None,
            (_, true) => Some(Outgoing::Fis(Fis::DmaActivate(DmaActivate::default()))),
            (_, false) => Some(Outgoing::Data(LARGEST_DATA)),
        };
    }
}

impl Agent for Party {
    fn wake(&self) -> Tick {
        if self.sends.is_some() { Tick::ZERO } else { Tick::NEVER }
    }
    fn next(&mut self, _now: Tick) -> Option<Outgoing> {
        self.sends
    }
    fn sent(&mut self, _now: Tick, _outcome: Outcome) {
        self.sends = None;
        if self.left > 0 && !self.activates {
            self.left -= 1;
            self.proceed();
        }
    }
    fn received(&mut self, _now: Tick, _fis: &Fis) -> Reception {
        // An Activate; the next Data FIS waits for another one.
        self.sends = Some(Outgoing::Data(LARGEST_DATA));
        Reception::Accept
    }
    fn supply(&mut self, now: Tick, sent: u32) -> Gate {
        self.pace.gate(now, sent)
    }
    fn fill(&mut self, first: u32, words: &mut [u32]) {
        (first..).zip(words).for_each(|(at, word)| *word = at);
    }
    fn describe(&mut self) -> Option<Counting> {
        self.described.then_some(Counting { first: self.left, step: Step::Up })
    }
    fn begin(&mut self, _now: Tick) {}
    fn drain(&mut self, now: Tick, taken: u32) -> Gate {
        self.pace.gate(now, taken)
    }
    fn take(&mut self, words: &[u32]) {
        self.sum += words.iter().map(|&word| u64::from(word)).sum::<u64>();
    }
    fn take_described(&mut self, dwords: u32, words: Counting) {
        self.sum += u64::from(dwords) + u64::from(words.first);
    }
    fn end(&mut self, _now: Tick, _good: bool) -> Reception {
        if self.activates {
            self.left -= 1;
            self.proceed();
        }
        Reception::Accept
    }
    fn reset(&mut self, _now: Tick) {}
}

fn wiring() -> Wiring {
    let end = |latency| End {
        latency,
        holda_after: End::LONGEST_HOLDA,
        fifo: 256,
        hold_from: 128,
        hold_to: 64,
        cont: true,
    };
    Wiring { speed: Speed::Gen2, host: end(13), device: end(12) }
}

/// A read or a write of 32 MiB with a device of `pace`.
fn transfer(write: bool, pace: Pace, described: bool) -> Tick {
    let host = Party::new(Pace::Open, described);
    let mut device = Party::new(pace, described);
    device.left = FRAMES;
    device.activates = write;
    device.proceed();
    let mut engine = Engine::new(wiring(), host, device);
    engine.run(Tick::NEVER);
    assert_eq!(engine.shares().payload, u64::from(FRAMES * LARGEST_DATA));
    engine.now()
}

fn fast(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("Data FIS");
    group.throughput(Throughput::Elements(FRAMES.into()));
    for (name, write, pace) in [
        ("read", false, Pace::Open),
        ("read, data late", false, Pace::Late(600)),
        ("write", true, Pace::Open),
        ("write, drained late", true, Pace::Late(600)),
        ("write, drained in quarters", true, Pace::Quarters(200)),
    ] {
        group.bench_function(name, |bencher| bencher.iter(|| transfer(write, pace, true)));
    }
    group.bench_function("read of words", |bencher| {
        bencher.iter(|| transfer(false, Pace::Open, false));
    });
    group.finish();
}

criterion_group!(benches, fast);
criterion_main!(benches);
