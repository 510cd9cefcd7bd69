//! Random accesses and random code neither panic nor hang the board, and the frequency of its polling
//! changes no result.
use boardlab_arm926::Compiled;
use boardlab_arm926::Predecoded;
use boardlab_arm926::{Bus, Config, Cycles, Limit, Physical, Width};
use boardlab_realview::{Board, Card, Machine, Medium, Outcome, Settings};
use boardlab_sim::{Bytes, Seed, Stream};

fn random(name: &str) -> Stream {
    let seed = std::env::var("BOARDLAB_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    eprintln!("BOARDLAB_SEED={seed}");
    Seed::new(seed).stream(name)
}

/// Ten times as much where time does not matter.
fn times(count: u64) -> u64 {
    if std::env::var_os("BOARDLAB_FULL").is_some() { 10 * count } else { count }
}

fn low(value: u64) -> u32 {
    u32::try_from(value & 0xFFFF_FFFF).unwrap()
}

fn board() -> Board {
    let settings = Settings { memory: Bytes::mib(1), ..Settings::default() };
    let mut board = Board::new(&settings).unwrap();
    board.insert_card(Card::new(Medium::empty(Bytes::mib(1)).unwrap(), false).unwrap());
    board
}

const DEVICES: [u32; 11] = [
    0x1000_0000,
    0x1000_5000,
    0x1000_9000,
    0x1000_A000,
    0x1001_1000,
    0x1001_2000,
    0x1001_7000,
    0x1004_0000,
    0x1004_1000,
    0x1000_B000,
    0x1000_C000,
];

/// An address, mostly that of an existing register.
fn address(random: &mut Stream) -> u32 {
    let device = DEVICES[usize::try_from(random.below(11)).unwrap()];
    match random.below(8) {
        0 => low(random.next_u64()) & !3 | 0x1000_0000,
        1 => device + low(random.below(1024)) * 4,
        2 => device + 0x100 * low(random.below(16)) + 4 * low(random.below(6)),
        _ => device + 4 * low(random.below(20)),
    }
}

/// A value, mostly one that drivers write.
fn value(random: &mut Stream) -> u32 {
    match random.below(4) {
        0 => low(random.next_u64()),
        1 => 1 << random.below(32),
        2 => low(random.below(256)),
        _ => 1 << 10 | 1 << 6 | low(random.below(64)),
    }
}

/// One random access.
fn access(board: &mut Board, random: &mut Stream, now: Cycles) -> Option<u32> {
    let at = address(random);
    let width = [Width::Byte, Width::Half, Width::Word, Width::Word];
    let width = width[usize::try_from(random.below(4)).unwrap()];
    let at = Physical(at + low(random.below(4)) / width.bytes() * width.bytes());
    match random.below(5) {
        0 | 1 => board.write(at, width, value(random), now).ok().map(|_| 0),
        2 => {
            let mut line = [0; 32];
            board.read_line(Physical(at.0 & !31), &mut line, now).ok().map(|_| u32::from(line[0]))
        }
        _ => board.read(at, width, now).ok().map(|reply| reply.value),
    }
}

#[test]
fn random_accesses_never_panic_and_the_next_change_is_always_ahead() {
    let mut random = random("accesses");
    let mut board = board();
    let mut now = Cycles(0);
    for step in 0..times(200_000) {
        access(&mut board, &mut random, now);
        let lines = board.lines(now);
        assert!(lines.until > now, "step {step}: {lines:?} at {now:?}");
        now = match random.below(20) {
            0 => lines.until.min(now.plus(1 << 40)),
            1 => now.plus(random.below(1 << 36)),
            _ => now.plus(random.below(300)),
        };
        for uart in 0..4 {
            if step % 1_000 == 0 {
                board.push_input(uart, b"typed");
                board.take_output(uart);
            }
        }
    }
}

#[test]
fn asking_for_the_lines_more_often_changes_nothing() {
    let mut random = random("asking");
    for round in 0..times(30) {
        let (mut seldom, mut often) = (board(), board());
        let mut now = Cycles(0);
        let mut same = random.clone();
        for step in 0..1_000 {
            let one = access(&mut seldom, &mut random, now);
            let other = access(&mut often, &mut same, now);
            assert_eq!(one, other, "round {round}, step {step}");
            let next = now.plus(random.below(100_000));
            for _ in 0..=same.below(100_000) % 3 {
                let between = now.0 + (next.0 - now.0) / 2;
                often.lines(Cycles(between));
            }
            same = random.clone();
            now = next;
        }
        assert_eq!(seldom.trace(), often.trace());
        assert_eq!(seldom.lines(now), often.lines(now));
    }
}

/// A random instruction, often one with much effect: register loads and stores, branches, coprocessor
/// 15, semihosting.
fn code(random: &mut Stream) -> u32 {
    let word = low(random.next_u64());
    match random.below(8) {
        0 => word & 0x0FFF_FFFF | 0xE000_0000,
        1 => 0xE590_0000 | word & 0x000F_F07F,
        2 => 0xE580_0000 | word & 0x000F_F07F,
        3 => 0xEA00_0000 | word & 0x3F,
        4 => 0xEE00_0F10 | word & 0x00FF_F0EF,
        5 => 0xE3A0_0000 | word & 0x0000_FFFF,
        6 if word & 7 == 0 => 0xEF12_3456,
        _ => word,
    }
}

/// A machine with random code, and registers that point to devices and memory.
fn wild(random: &mut Stream) -> Machine {
    let settings = Settings {
        memory: Bytes::mib(1),
        core: Config {
            stop_without_handler: random.chance(1, 4),
            check_coherence: random.chance(1, 4),
            ..Config::default()
        },
        ..Settings::default()
    };
    let mut machine = Machine::new(&settings).unwrap();
    let words: Vec<u8> = (0..0x4000).flat_map(|_| code(random).to_le_bytes()).collect();
    machine.load_raw(Physical(0), &words).unwrap();
    machine.insert_card(Card::new(Medium::empty(Bytes::mib(1)).unwrap(), false).unwrap());
    for index in 0..15 {
        let value = match random.below(3) {
            0 => DEVICES[usize::try_from(random.below(11)).unwrap()],
            1 => low(random.below(1 << 20)),
            _ => low(random.next_u64()),
        };
        machine.processor_mut().registers.r[index] = value;
    }
    machine.processor_mut().registers.pc = low(random.below(0x4000)) * 4;
    machine
}

/// Runs for this number of cycles through all outcomes, and returns them.
fn survive(machine: &mut Machine, cycles: u64) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for _ in 0..50 {
        let outcome = machine.run(Limit { cycles: Cycles(cycles), instructions: cycles });
        outcomes.push(outcome);
        machine.take_console();
        match outcome {
            Outcome::Limit => break,
            Outcome::Input => machine.close_semihosting_input(),
            Outcome::Asleep => machine.push_input(0, b"x"),
            Outcome::Exit { .. } | Outcome::NoHandler { .. } => {
                let processor = machine.processor_mut();
                processor.registers.pc = processor.registers.pc.wrapping_add(4);
            }
            _ => {}
        }
    }
    outcomes
}

#[test]
fn random_code_neither_panics_nor_hangs_and_is_the_same_in_all_engines() {
    let mut random = random("code");
    let mut instructions = 0;
    for round in 0..times(300) {
        let mut same = random.clone();
        let mut plain = wild(&mut random);
        let mut fast = wild(&mut same.clone()).with_engine(Predecoded::new());
        let mut compiled = wild(&mut same).with_engine(Compiled::with_threshold(3));
        let outcomes = survive(&mut plain, 100_000);
        for other in [&mut fast, &mut compiled] {
            assert_eq!(survive(other, 100_000), outcomes, "round {round}");
            assert_eq!(other.trace_hash(), plain.trace_hash(), "round {round}");
            assert!(other.snapshot().unwrap() == plain.snapshot().unwrap(), "round {round}");
        }
        instructions += plain.processor().counts.instructions;
    }
    assert!(instructions > 60 * 1_000, "{instructions} were executed");
}
