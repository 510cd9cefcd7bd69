//! How fast programs run: the reference interpreter, the fast engine, the compiler, and QEMU, on a mix of sorting, CRC and matrix product.
//!
//! `cargo bench -p boardlab-realview --bench speed` prints a table: guest instructions a second of processor time. Ours with MMU, caches and all cycles
//! counted; QEMU models no time. QEMU's figure is from two runs of different length, so that its start is not counted.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a benchmark")]

#[path = "../tests/guest/mod.rs"]
mod guest;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use boardlab_arm926::compiler::Compiled;
use boardlab_arm926::fast::Fast;
use boardlab_arm926::{Engine, Interpreter, Limit};
use boardlab_realview::{Board, Machine, Outcome, Program, Settings};

/// Rounds of the mix.
const ROUNDS: u32 = 40;

/// One run: instructions, cycles, hash, processor time.
struct Run {
    instructions: u64,
    cycles: u64,
    hash: u64,
    time: Duration,
}

/// The processor time that this process has used, which other programs do not add to: Linux counts it in nanoseconds.
fn used() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

/// The processor time that its finished children have used, in ticks of 10 ms: fields 16 and 17 of its status.
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

/// The best of several, as other programs share the host.
fn best<E: Engine<Board> + Send + 'static>(elf: &[u8], engine: fn() -> E) -> Run {
    (0..5).map(|_| run(elf, engine())).min_by_key(|run| run.time).unwrap()
}

/// The processor time that Unicorn takes for a program; nothing where it is absent.
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

fn main() {
    let flags = [format!("-DROUNDS={ROUNDS}"), format!("-DROUNDS={}", 51 * ROUNDS)];
    let Some(elf) = guest::build("mix.c", &[&flags[0]]) else { return };
    let bytes = std::fs::read(&elf).unwrap();
    let reference = best(&bytes, || Interpreter);
    let fast = best(&bytes, Fast::new);
    let compiled = best(&bytes, Compiled::new);
    let runs = [("interpreter", &reference), ("fast", &fast), ("compiled", &compiled)];
    for (name, run) in runs {
        let rate = run.instructions as f64 / run.time.as_secs_f64() / 1e6;
        println!("{name:12} {rate:8.1} million instructions a second ({:?})", run.time);
        let equal = (run.instructions, run.cycles, run.hash)
            == (reference.instructions, reference.cycles, reference.hash);
        assert!(equal, "{name} differs");
    }
    if let Some(time) = unicorn(&elf) {
        let rate = fast.instructions as f64 / time.as_secs_f64() / 1e6;
        println!("{:12} {rate:8.1} million instructions a second, without time", "Unicorn");
    }
    let Some(long) = guest::build("mix.c", &[&flags[1]]) else { return };
    let time = |elf| {
        let start = used_by_children();
        guest::qemu(elf, &[]).map(|_| used_by_children() - start)
    };
    let (Some(short), Some(long)) = (time(&elf), time(&long)) else { return };
    let spent = (long - short).as_secs_f64();
    let rate = fast.instructions as f64 * 50.0 / spent / 1e6;
    println!("{:12} {rate:8.1} million instructions a second, without time", "QEMU");
}
