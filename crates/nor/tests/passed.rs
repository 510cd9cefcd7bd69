//! Polls that are passed at once are those that would have been done one by one: the same moments, counts and outcomes.

use crate::driver_bench::{bus_timing, data, host, micros, part, table};
use boardlab_mtd::{BlockIndex, Error, Mtd};
use boardlab_nor::chip::{Chip, Fault};
use boardlab_nor::driver::{Board, Kind};
use boardlab_nor::wait::{Feedback, FixedThenToggle, WaitPolicy};
use boardlab_nor::{Bus, BusTiming, ChipIndex, CutPoint, Host, HostTiming, NorMtd, Pause};
use boardlab_sim::{Bytes, Clock, Duration, Hertz, Instant, Seed, Stream};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// A policy whose polls nobody may pass.
#[derive(Debug, Clone)]
struct Each(Box<dyn WaitPolicy>);

impl WaitPolicy for Each {
    fn first(&self) -> Pause {
        self.0.first()
    }

    fn gap(&self, polls: u64) -> Pause {
        self.0.gap(polls)
    }

    fn learn(&mut self, feedback: Feedback) {
        self.0.learn(feedback);
    }

    fn boxed_clone(&self) -> Box<dyn WaitPolicy> {
        Box::new(self.clone())
    }
}

/// What can be told of a device from outside.
fn told(mtd: &NorMtd, clock: &Clock, results: &[Result<(), Error>]) -> String {
    let (chip, driver) = (mtd.board.bus.chip(ChipIndex(0)), &mtd.driver);
    let (counts, polls) = (chip.counters(), driver.polls());
    let (cycles, idle) = (mtd.board.bus.cycles(), mtd.board.host.idle());
    // Their histograms are long.
    let mut steps = DefaultHasher::new();
    format!("{:?} {:?}", driver.steps(), driver.erase_phase()).hash(&mut steps);
    let (now, steps) = (clock.now(), steps.finish());
    format!("{now} {counts:?} {polls:?} {cycles} {idle} {results:?} {steps}")
}

/// A board with a counter, timers, bus cycles and times of the part that are drawn.
fn drawn(draws: &mut Stream) -> (Board, Pause) {
    let frequencies = [1_000_000, 33_300_000, 999_999_937, 1_000_000_000, 3_300_000_000];
    let frequency = frequencies[usize::try_from(draws.below(5)).unwrap()] + draws.below(1_000);
    let mut small = part();
    let longest = 200 + draws.below(500);
    small.timing.buffer_program.time = table(&[100, longest]);
    small.timing.sector_erase.time = table(&[2_000, 9_000]);
    let timing = HostTiming {
        time_base: Hertz::from_hz(frequency),
        jiffies: Hertz::from_hz([100, 250, 1_000][usize::try_from(draws.below(3)).unwrap()]),
        ..host().timing().clone()
    };
    let read_cycle = Duration::from_nanos(1 + draws.below(600));
    let chip = Chip::new(Arc::new(small), Seed::new(draws.next_u64())).unwrap();
    let bus = Bus::new(vec![chip], BusTiming { read_cycle, ..bus_timing() });
    let host = Host::new(timing, Seed::new(3).stream("nor.host"));
    (Board::new(bus, host), Pause::Spin(draws.below(20)))
}

#[test]
fn polls_that_are_passed_change_nothing() {
    let mut draws = Seed::new(7).stream("passed");
    let kinds = [Kind::UBoot2013, Kind::Linux34, Kind::Linux61];
    for round in 0..300 {
        let (board, gap) = drawn(&mut draws);
        let kind = kinds[usize::try_from(draws.below(3)).unwrap()];
        let (trouble, at) = (draws.below(6), draws.below(20_000));
        let run = |each: bool| {
            let mut clock = Clock::new();
            let mut mtd = NorMtd::attach(kind, board.clone(), &mut clock).unwrap();
            let policy = FixedThenToggle { wait: Pause::Spin(30), gap };
            let kept = |policy: Box<dyn WaitPolicy>| -> Box<dyn WaitPolicy> {
                if each { Box::new(Each(policy)) } else { policy }
            };
            mtd.driver.program_wait = kept(Box::new(policy));
            mtd.driver.erase_wait = kept(Box::new(policy));
            let chip = mtd.board.bus.chip_mut(ChipIndex(0));
            match trouble {
                0 => chip.inject(Fault::NeverReady),
                1 => chip.inject(Fault::Slow { percent: 900 }),
                2 => mtd.board.bus.cut_power_at(CutPoint::Time(clock.now() + micros(at))),
                3 => mtd.board.bus.cut_power_at(CutPoint::Cycle(mtd.board.bus.cycles() + at)),
                _ => {}
            }
            let mut results = vec![mtd.program(&mut clock, Bytes::new(100), &data(900))];
            // An erase that never ends is waited for for seconds.
            if trouble > 0 {
                results.push(mtd.erase(&mut clock, BlockIndex(1)));
                results.push(mtd.program(&mut clock, Bytes::kib(64), &data(600)));
            }
            told(&mtd, &clock, &results)
        };
        assert_eq!(run(true), run(false), "round {round}: {kind:?}, {gap:?}, trouble {trouble}");
    }
}

/// Both ways end at the same moment where a counter runs for years.
#[test]
fn a_chip_that_never_gets_ready_is_waited_for_until_the_deadline() {
    let mut clock = Clock::new();
    clock.advance_to(Instant::from_nanos(9_000_000_000_000_000_000));
    let chip = Chip::new(Arc::new(part()), Seed::new(1)).unwrap();
    let board = Board::new(Bus::new(vec![chip], bus_timing()), host());
    let mut mtd = NorMtd::attach(Kind::Linux61, board, &mut clock).unwrap();
    mtd.board.bus.chip_mut(ChipIndex(0)).inject(Fault::NeverReady);
    let error = mtd.program(&mut clock, Bytes::ZERO, &[0; 8]).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
}
