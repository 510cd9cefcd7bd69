//! The execution speed of the three engines, QEMU and Unicorn on a mix of sorting, CRC and matrix
//! product, and the time to the first output of a small image.
//!
//! `cargo bench -p boardlab-realview --bench speed` prints a table: guest instructions per second of
//! processor time, with the ratios to QEMU and Unicorn in the same run. Our engines model MMU, caches
//! and all cycles; the others model no time. Our engines must agree on cycles and hash. The compiler
//! runs the longer program, compilation included. `steady` excludes the start, as QEMU's figure does:
//! it is computed from runs of different length. These alternate with QEMU's, 9 times or as often as
//! `BOARDLAB_TURNS` says, since other programs and machines slow single runs down by a half; the figure
//! is of the faster half of the runs, and the last line has it of the fastest and of all.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a benchmark")]

#[path = "../tests/guest/mod.rs"]
mod guest;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use boardlab_arm926::Compiled;
use boardlab_arm926::Predecoded;
use boardlab_arm926::{Engine, Interpreter, Limit};
use boardlab_realview::{Board, Machine, Outcome, Program, Settings};

/// Rounds of the mix.
const ROUNDS: u32 = 40;

/// The ratio of the rounds of the longer program to those of the shorter.
const LONGER: u32 = 21;

/// One run: instructions, cycles, hash, processor time.
struct Run {
    instructions: u64,
    cycles: u64,
    hash: u64,
    time: Duration,
}

/// The processor time of this process, which other programs do not affect: Linux counts it in
/// nanoseconds.
fn used() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

/// The processor time of the finished child processes, in ticks of 10 ms: fields 16 and 17 of `stat`.
fn used_by_children() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = text.rsplit_once(')').unwrap();
    let ticks =
        fields.split_whitespace().skip(13).take(2).map(|field| field.parse::<u64>().unwrap());
    Duration::from_millis(10 * ticks.sum::<u64>())
}

fn run(elf: &[u8], engine: impl Engine<Board> + Send + 'static) -> Run {
    let mut machine = Machine::new(&Settings::default()).unwrap().with_engine(engine);
    machine.load(&Program::parse(elf).unwrap()).unwrap();
    let start = used();
    let outcome = machine.run(Limit::NONE);
    let time = used() - start;
    assert!(matches!(outcome, Outcome::Exit { code: 0, .. }), "{outcome}");
    let instructions = machine.processor().counts.instructions;
    Run { instructions, cycles: machine.now().0, hash: machine.trace_hash(), time }
}

/// The best of several runs, because other programs share the host.
fn best<E: Engine<Board> + Send + 'static>(elf: &[u8], engine: fn() -> E) -> Run {
    (0..5).map(|_| run(elf, engine())).min_by_key(|run| run.time).unwrap()
}

/// The processor time of Unicorn for a program; `None` if Unicorn is not installed.
fn unicorn(elf: &Path) -> Option<Duration> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = repository.join(".setup/python/bin/python");
    let script = repository.join("oracles/arm/unicorn_speed.py");
    let Ok(output) = Command::new(python).arg(script).arg(elf).output() else {
        eprintln!("skipped: needs the Python packages of setup/setup.sh");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(Duration::from_nanos(text.trim().parse().unwrap()))
}

/// A row of the table.
struct Row {
    name: &'static str,
    /// Guest instructions a second.
    rate: f64,
    /// The time to the first output of a small image.
    first: Option<Duration>,
}

/// The elapsed time to the first output of a small image, including the creation of the machine and
/// loading.
fn first_output<E: Engine<Board> + Send + 'static>(elf: &[u8], engine: fn() -> E) -> Duration {
    let once = || {
        let start = Instant::now();
        let mut machine = Machine::new(&Settings::default()).unwrap().with_engine(engine());
        machine.load(&Program::parse(elf).unwrap()).unwrap();
        while machine.take_console().is_empty() {
            let reach = Limit::cycles(machine.now().plus(1000));
            assert!(matches!(machine.run(reach), Outcome::Limit));
        }
        start.elapsed()
    };
    (0..5).map(|_| once()).min().unwrap()
}

/// Guest instructions a second.
fn rate(instructions: u64, time: Duration) -> f64 {
    instructions as f64 / time.as_secs_f64()
}

/// The times of short and of long runs.
#[derive(Default)]
struct Turns([Vec<Duration>; 2]);

impl Turns {
    /// Adds a run of each length.
    fn add(&mut self, [short, long]: [Duration; 2]) {
        self.0[0].push(short);
        self.0[1].push(long);
    }

    /// The time of the steady part, by this percentage of the runs of each length, the fastest ones.
    fn steady(&self, percentage: usize) -> Duration {
        let [short, long] = self.0.each_ref().map(|times| {
            let mut times = times.clone();
            times.sort_unstable();
            let count = (times.len() * percentage / 100).max(1);
            times[..count].iter().sum::<Duration>() / u32::try_from(count).unwrap()
        });
        long.saturating_sub(short)
    }
}

/// The times of the compiled engine and of QEMU in turn; `None` for QEMU if it is not installed.
fn in_turn(paths: [&Path; 2], elves: [&[u8]; 2]) -> (Turns, Option<Turns>) {
    let turns = std::env::var("BOARDLAB_TURNS").map_or(9, |turns| turns.parse().unwrap()).max(1);
    let (mut compiled, mut qemu) = (Turns::default(), Some(Turns::default()));
    for _ in 0..turns {
        compiled.add(elves.map(|elf| run(elf, Compiled::new()).time));
        let [short, long] = paths.map(|path| {
            let start = used_by_children();
            guest::qemu(path, &[]).map(|_| used_by_children() - start)
        });
        match (&mut qemu, short.zip(long)) {
            (Some(qemu), Some((short, long))) => qemu.add([short, long]),
            _ => qemu = None,
        }
    }
    (compiled, qemu)
}

fn print_table(rows: &[Row], qemu: Option<f64>, unicorn: Option<f64>) {
    println!(
        "{:22} {:>9} {:>9} {:>10} {:>13}",
        "", "million/s", "to QEMU", "to Unicorn", "first output"
    );
    for &Row { name, rate, first } in rows {
        let ratio = |other: Option<f64>| other.map_or("-".into(), |b| format!("{:.2}", rate / b));
        let first = first.map_or("-".into(), |time| format!("{:.2} ms", 1e3 * time.as_secs_f64()));
        let (to_qemu, to_unicorn) = (ratio(qemu), ratio(unicorn));
        println!("{name:22} {:9.1} {to_qemu:>9} {to_unicorn:>10} {first:>13}", rate / 1e6);
    }
}

fn main() {
    let rounds = [ROUNDS, LONGER * ROUNDS].map(|rounds| format!("-DROUNDS={rounds}"));
    let [Some(short_elf), Some(long_elf)] = rounds.map(|flag| guest::build("mix.c", &[&flag]))
    else {
        return;
    };
    let Some(hello) = guest::build_bytes("hello.c", &[]) else { return };
    let (short, long) = (std::fs::read(&short_elf).unwrap(), std::fs::read(&long_elf).unwrap());
    let reference = best(&short, || Interpreter);
    let predecoded = best(&short, Predecoded::new);
    let compiled_short = best(&short, Compiled::new);
    let compiled = best(&long, Compiled::new);
    for (name, run) in [("predecoded", &predecoded), ("compiled", &compiled_short)] {
        let of = |run: &Run| (run.instructions, run.cycles, run.hash);
        assert_eq!(of(run), of(&reference), "{name} differs from the reference");
    }
    let more = compiled.instructions - compiled_short.instructions;
    let (steady, qemu_turns) = in_turn([&short_elf, &long_elf], [&short, &long]);
    let qemu = qemu_turns.as_ref().map(|turns| rate(more, turns.steady(50)));
    let unicorn = unicorn(&short_elf).map(|time| rate(reference.instructions, time));
    let row = |name, rate, first| Row { name, rate, first };
    let first = [
        first_output(&hello, || Interpreter),
        first_output(&hello, Predecoded::new),
        first_output(&hello, Compiled::new),
    ]
    .map(Some);
    let of = |run: &Run| rate(run.instructions, run.time);
    let mut rows = vec![
        row("reference interpreter", of(&reference), first[0]),
        row("predecoded blocks", of(&predecoded), first[1]),
        row("compiled", of(&compiled), first[2]),
        row("compiled, steady", rate(more, steady.steady(50)), None),
    ];
    rows.extend(unicorn.map(|rate| row("Unicorn, no time", rate, None)));
    rows.extend(qemu.map(|rate| row("QEMU, no time", rate, None)));
    print_table(&rows, qemu, unicorn);
    let (short, long) = (reference.instructions, compiled.instructions);
    println!("{short} instructions; compiled: {long} in {:.2} s", compiled.time.as_secs_f64());
    if let Some(turns) = qemu_turns {
        let ratio = |part| turns.steady(part).as_secs_f64() / steady.steady(part).as_secs_f64();
        let [fastest, quarter, half, all] = [0, 25, 50, 100].map(ratio);
        println!(
            "compiled, steady, to QEMU: {fastest:.2} by the fastest runs, {quarter:.2} by the \
             fastest quarter, {half:.2} by the faster half, {all:.2} by all"
        );
    }
}
