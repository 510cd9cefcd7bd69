//! Random words as programs: the core continues whatever the guest does.
//!
//! A failing round is reproduced by its seed and number, since each round has its own stream.

use boardlab_arm926::{Config, Cycles, Exception, Limit, Mode, Processor, Psr, Ram, Stop, Waits};
use boardlab_sim::{Seed, Stream};
use std::env;

const SEED: u64 = 6;
const SIZE: usize = 1 << 14;
/// Bursts a round, and instructions a burst.
const BURSTS: u64 = 100;
const LENGTH: u64 = 30;

const MODES: [Mode; 7] = [
    Mode::User,
    Mode::Fiq,
    Mode::Irq,
    Mode::Supervisor,
    Mode::Abort,
    Mode::Undefined,
    Mode::System,
];

fn any(stream: &mut Stream) -> u32 {
    u32::try_from(stream.next_u64() >> 32).unwrap()
}

/// An address that is often within the memory.
fn address(stream: &mut Stream) -> u32 {
    let value = any(stream);
    if stream.chance(7, 8) { value % u32::try_from(SIZE).unwrap() } else { value }
}

/// A core with random memory and interrupts.
fn core(stream: &mut Stream) -> Processor<Ram> {
    let mut ram = Ram::new(SIZE, Waits { first: 2, next: 1 });
    for word in ram.bytes_mut().chunks_exact_mut(4) {
        let value = any(stream);
        let always = stream.chance(1, 2);
        let value = if always { value & 0x0FFF_FFFF | 0xE000_0000 } else { value };
        word.copy_from_slice(&value.to_le_bytes());
    }
    ram.irq_from = Cycles(stream.below(50_000));
    ram.fiq_from = Cycles(stream.below(50_000));
    let config = Config { stop_without_handler: false, semihosting: false, ..Config::default() };
    Processor::new(&config, ram)
}

/// Randomizes registers, mode, state and program counter.
fn scramble(core: &mut Processor<Ram>, stream: &mut Stream) {
    for mode in MODES {
        core.registers.set_cpsr(Psr(mode.bits()));
        core.registers.set_spsr(Psr(any(stream)));
        for index in 0..15 {
            core.registers.r[index] = address(stream);
        }
    }
    let mode = MODES[usize::try_from(stream.below(7)).unwrap()];
    core.registers.set_cpsr(Psr(any(stream) & !31 | mode.bits()));
    let mask = if core.registers.cpsr().thumb() { !1 } else { !3 };
    core.registers.pc = address(stream) & mask;
}

/// Bursts of random instructions on one core.
fn round(number: u64) -> Processor<Ram> {
    let mut stream = Seed::new(SEED).stream(&format!("random {number}"));
    let mut core = core(&mut stream);
    for burst in 1..=BURSTS {
        scramble(&mut core, &mut stream);
        let cycles = Cycles(core.now.0 + 100_000);
        let stop = core.run(Limit { cycles, instructions: LENGTH * burst });
        let what = format!("seed {SEED}, round {number}, burst {burst}");
        assert!(matches!(stop, Stop::Limit | Stop::Asleep), "{what}: {stop:?}");
        assert!(core.counts.instructions <= LENGTH * burst, "{what}");
        let status = core.registers.cpsr();
        assert!(Mode::from_bits(status.0).is_some(), "{what}: {status:?}");
        let low = core.registers.pc & if status.thumb() { 1 } else { 3 };
        assert_eq!(low, 0, "{what}: pc {:x}", core.registers.pc);
    }
    core
}

#[test]
fn millions_of_random_instructions_never_stop_the_core() {
    let rounds = if env::var_os("BOARDLAB_FULL").is_some() { 6_000 } else { 600 };
    let (mut instructions, mut lost) = (0, 0);
    for number in 0..rounds {
        let counts = round(number).counts;
        instructions += counts.instructions;
        lost += counts.exceptions[Exception::PrefetchAbort as usize];
    }
    assert!(instructions > 2_500 * rounds, "{instructions}");
    assert!(lost < instructions / 2, "{lost} of {instructions} could not be fetched");
}

#[test]
fn a_random_program_runs_the_same_twice() {
    for number in 0..50 {
        let [first, second] = [round(number), round(number)];
        assert_eq!(first.trace.value(), second.trace.value());
        assert_eq!((&first.registers, first.now), (&second.registers, second.now));
        assert_eq!(first.bus.bytes(), second.bus.bytes());
        assert_eq!(first.memory.statistics(), second.memory.statistics());
    }
}
