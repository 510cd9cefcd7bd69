//! The theory of the wait against the poll loop, and the poll loop against the bus-cycle model.

use crate::driver_bench::{attach, bus_timing, host, micros, part};
use boardlab_mtd::Mtd;
use boardlab_nor::driver::{Kind, Step};
use boardlab_nor::tuner::{Completion, PollLoop, Replay};
use boardlab_nor::wait::{Adaptive, FixedThenToggle, Staircase, ToggleOnly};
use boardlab_nor::{ChipIndex, Pause, WaitPolicy};
use boardlab_sim::{Bytes, Duration, QuantileTable, Seed};

const POLL_COST: f64 = 0.57;

/// The quantile function of a triangular distribution, in microseconds.
fn triangular(low: f64, mode: f64, high: f64) -> QuantileTable {
    let split = (mode - low) / (high - low);
    let point = |index: u32| {
        let p = f64::from(index) / 4_096.0;
        let micros = if p < split {
            low + (p * (high - low) * (mode - low)).sqrt()
        } else {
            high - ((1.0 - p) * (high - low) * (high - mode)).sqrt()
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
        Duration::from_nanos((micros * 1_000.0).round() as u64)
    };
    QuantileTable::new(&(0..=4_096).map(point).collect::<Vec<_>>()).unwrap()
}

fn silicon() -> QuantileTable {
    triangular(169.8, 202.9, 224.1)
}

fn replay(count: usize) -> Replay {
    let mut stream = Seed::new(1).stream("tuner");
    Replay::new(&silicon(), &mut stream, count, bus_timing(), host())
}

fn poll_loop() -> PollLoop {
    PollLoop::toggle(&host(), bus_timing(), 1)
}

fn fixed(micros: u64) -> FixedThenToggle {
    let wait = if micros == 0 { Pause::None } else { Pause::Spin(micros) };
    FixedThenToggle { wait, gap: Pause::Spin(1) }
}

/// The wait as it really lasts.
fn lasted(wait_us: u64) -> f64 {
    host().udelay(wait_us).as_micros_f64()
}

#[test]
fn the_theory_agrees_with_the_poll_loop_within_a_tenth_of_a_microsecond() {
    let replay = replay(400_000);
    let completion = Completion::new(&silicon());
    for micros in [0, 100, 160, 170, 180, 190, 200, 210, 226, 256, 340, 512] {
        let tried = replay.run(&mut fixed(micros));
        let expected = poll_loop().expected(&completion, lasted(micros));
        let (time, polls) = (tried.time - expected.time, tried.polls - expected.polls);
        assert!(time.abs() < 0.1, "{micros} us: {time:+.3} us");
        assert!(polls.abs() < 0.1, "{micros} us: {polls:+.3} polls");
    }
}

#[test]
fn the_poll_loop_agrees_with_the_bus_cycle_model() {
    let mut part = part();
    part.timing.buffer_program.time = silicon();
    for micros in [0, 170, 192, 256] {
        let (mut mtd, mut clock) = attach(Kind::Linux34, &part, 1);
        mtd.driver.program_wait = Box::new(fixed(micros));
        let begun = clock.now();
        // Two rounds of the whole part: 4,096 programs, zeros over zeros the second time.
        for _ in 0..2 {
            mtd.program(&mut clock, Bytes::ZERO, &vec![0; 1 << 20]).unwrap();
        }
        assert!(clock.now() > begun);
        let wait = mtd.driver.steps().of(Step::Wait);
        let expected = poll_loop().expected(&Completion::new(&silicon()), lasted(micros));
        let difference = wait.mean().unwrap().as_micros_f64() - expected.time;
        // 4,096 draws of a deviation of 11 us: three standard errors.
        assert!(difference.abs() < 0.55, "{micros} us: {difference:+.3} us");
        #[allow(clippy::cast_precision_loss, reason = "thousands")]
        let polls = mtd.driver.polls().program as f64 / wait.count() as f64;
        assert!((polls - expected.polls).abs() < 0.4, "{micros} us: {polls} polls");
    }
}

#[test]
fn the_recommended_wait_is_within_a_microsecond_of_brute_force() {
    let replay = replay(100_000);
    let completion = Completion::new(&silicon());
    for cost in [0.1, POLL_COST, 2.0] {
        let best = poll_loop().best_wait(&completion, cost);
        let (brute, tried) = replay.brute_force(160..=230, Pause::Spin(1), cost);
        let reached = lasted(brute);
        let expected = poll_loop().expected(&completion, best).cost(cost);
        let regret = expected - (tried.time + cost * tried.polls);
        assert!((best - reached).abs() <= 1.0, "cost {cost}: {best:.2} against {reached:.2} us");
        assert!(regret.abs() < 0.15, "cost {cost}: {regret}");
    }
}

fn adaptive() -> Adaptive {
    Adaptive {
        wait: micros(256),
        step: micros(1),
        millionths: 50_000,
        floor: micros(64),
        ceiling: micros(512),
        restart: micros(128),
        gap: Pause::Spin(1),
    }
}

#[test]
fn the_adaptive_wait_is_within_one_percent_of_the_best_after_256_operations() {
    let replay = replay(50_256);
    let (mut total, mut count) = (Duration::ZERO, 0);
    let mut policy = adaptive();
    let tried = replay.run_observed(&mut policy, |at, span| {
        if at >= 256 {
            total += span;
            count += 1;
        }
    });
    let best = poll_loop().expected(&Completion::new(&silicon()), 0.0).time;
    let mean = total.as_micros_f64() / f64::from(count);
    assert!(mean <= best * 1.01, "{mean:.2} against {best:.2} us");
    assert!(policy.wait < micros(190), "{}", policy.wait);
    assert_eq!(tried.early, 0);
}

#[test]
fn the_adaptive_wait_follows_a_drift_of_sixty_microseconds() {
    for sign in [1, -1_i64] {
        // The part becomes 60 us slower, or faster, over 20,000 operations and stays there.
        let drift = |at: usize, span: Duration| {
            let moved = Duration::from_nanos(u64::try_from(at.min(20_000)).unwrap() * 3);
            if sign > 0 { span + moved } else { span - moved }
        };
        let replay = replay(40_000).shifted(drift);
        let best = replay.run(&mut ToggleOnly { gap: Pause::Spin(1) });
        let tried = replay.run(&mut adaptive());
        assert!(tried.time - best.time < 2.0, "{sign}: {:.2}", tried.time - best.time);
        assert_eq!(tried.early, 0);
    }
}

#[test]
fn no_policy_ever_reports_an_operation_done_before_it_is() {
    // Ten million operations in the full run.
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    let replay = replay(if full { 10_000_000 } else { 500_000 });
    let policies: [Box<dyn WaitPolicy>; 3] = [
        Box::new(adaptive()),
        Box::new(Staircase { micros: 256, gap: Pause::Spin(1) }),
        Box::new(FixedThenToggle { wait: Pause::Sleep(micros(150)), gap: Pause::Spin(1) }),
    ];
    for mut policy in policies {
        assert_eq!(replay.run(&mut *policy).early, 0);
    }
}

#[test]
fn the_chip_is_ready_whenever_the_driver_says_so() {
    // Single words keep the bus short; all of a program's time is overhead, so it is the buffer's.
    let mut part = part();
    part.timing.buffer_program.time = silicon();
    part.timing.buffer_overhead = part.timing.buffer_program.time.min();
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    let count: u64 = if full { 10_000_000 } else { 200_000 };
    let (mut mtd, mut clock) = attach(Kind::Linux34, &part, 1);
    mtd.driver.program_wait = Box::new(adaptive());
    let words = part.size().get() / 2;
    for operation in 0..count {
        mtd.program(&mut clock, Bytes::new(operation % words * 2), &[0, 0]).unwrap();
        let now = clock.now();
        assert!(mtd.board.bus.chip_mut(ChipIndex(0)).is_ready(now), "operation {operation}");
    }
    assert_eq!(mtd.driver.steps().of(Step::Wait).count(), count);
}

#[test]
fn sleeping_instead_of_spinning_frees_most_of_the_cpu() {
    let replay = replay(20_000);
    let spun = replay.run(&mut fixed(180));
    let wait = Pause::Sleep(micros(150));
    let slept = replay.run(&mut FixedThenToggle { wait, gap: Pause::Spin(1) });
    assert_eq!(spun.busy, 1.0);
    assert!(slept.busy < 0.4, "{}", slept.busy);
    assert!(slept.time < spun.time + 2.0);
}
