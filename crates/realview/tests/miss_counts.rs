//! The counts of lookups, misses and write-backs equal those of an independent model exactly.
//!
//! The model is `oracles/arm/caches.py`, written from the manuals. Its input is the addresses of a
//! run: fetches, data accesses, coprocessor operations, and the translation tables in memory. The
//! addresses of data accesses are computed here from the registers before each instruction, not taken
//! from the memory system under test.
use crate::guest;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use boardlab_arm926::config::{CacheSize, TlbIndex, TlbReplacement};
use boardlab_arm926::instruction::{BlockTransfer, Index, Item, Offset, Shift, Transfer};
use boardlab_arm926::memory::Statistics;
use boardlab_arm926::{
    Config, Instruction, Limit, Operation, Physical, Psr, Register, Virtual, decode,
};
use boardlab_realview::{Machine, Outcome, Program, Settings};

/// The limit of instructions of a program.
const STEPS: u64 = 2_000_000;

const FETCH: u8 = 0;
const READ: u8 = 1;
const WRITE: u8 = 2;
const CONTROL_WRITE: u8 = 3;
const TEST_AND_CLEAN: u8 = 4;
const WORD: u8 = 5;

/// The events of a run.
#[derive(Default)]
struct Trace {
    bytes: Vec<u8>,
    accesses: u64,
    /// The translation table as last sent to the model, and its address.
    table: Vec<(u32, u32)>,
    base: u32,
}

impl Trace {
    fn event(&mut self, (kind, size): (u8, u8), privileged: bool, at: u32, value: u32) {
        self.accesses += u64::from(kind <= WRITE);
        self.bytes.extend([kind, size, u8::from(privileged), 0]);
        self.bytes.extend(at.to_le_bytes());
        self.bytes.extend(value.to_le_bytes());
    }

    /// Sends the contents of the tables in memory, not in the cache, to the model.
    fn tables(&mut self, machine: &Machine) {
        let board = &machine.processor().bus;
        let words = |at: u32, count: u32| -> Vec<(u32, u32)> {
            let bytes = board.memory(Physical(at), 4 * count as usize).unwrap_or_default();
            let words =
                bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
            (at..).step_by(4).zip(words).collect()
        };
        let mut table = words(self.base, 4096);
        for (_, descriptor) in table.clone() {
            if descriptor & 3 == 1 {
                table.extend(words(descriptor & !0x3FF, 256));
            }
        }
        if table != self.table {
            for &(at, word) in &table {
                self.event((WORD, 4), true, at, word);
            }
            self.table = table;
        }
    }
}

/// The value that an instruction reads from a register.
fn value(machine: &Machine, register: Register, at: u32) -> u32 {
    let registers = &machine.processor().registers;
    let ahead = if registers.cpsr().thumb() { 4 } else { 8 };
    registers.r.get(register.index()).copied().unwrap_or(at.wrapping_add(ahead))
}

fn shifted(value: u32, shift: Shift, amount: u8, carry: bool) -> u32 {
    let amount = u32::from(amount);
    match shift {
        Shift::Lsl => value << amount,
        Shift::Lsr => value.checked_shr(amount).unwrap_or(0),
        Shift::Asr => (value.cast_signed() >> amount.min(31)).cast_unsigned(),
        Shift::Ror => value.rotate_right(amount),
        Shift::Rrx => value >> 1 | u32::from(carry) << 31,
    }
}

fn single(trace: &mut Trace, machine: &Machine, transfer: &Transfer, at: u32) {
    let status = machine.processor().registers.cpsr();
    let base = value(machine, transfer.rn, at);
    let (base, offset) = match transfer.offset {
        Offset::Immediate(offset) => (base, offset.cast_unsigned()),
        Offset::Literal(offset) => (base & !3, offset.cast_unsigned()),
        Offset::Register { rm, shift, amount, subtract } => {
            let offset = shifted(value(machine, rm, at), shift, amount, status.has(Psr::C));
            (base, if subtract { offset.wrapping_neg() } else { offset })
        }
    };
    let post = matches!(transfer.index, Index::Post | Index::PostUser);
    let address = if post { base } else { base.wrapping_add(offset) };
    let privileged = status.mode().privileged() && transfer.index != Index::PostUser;
    let kind = if transfer.load { READ } else { WRITE };
    trace.event((kind, 4), privileged, address, 0);
    if transfer.item == Item::Double {
        trace.event((kind, 4), privileged, address.wrapping_add(4), 0);
    }
}

fn several(trace: &mut Trace, machine: &Machine, transfer: &BlockTransfer, at: u32) {
    let base = value(machine, transfer.rn, at);
    let count = transfer.list.count_ones();
    let lowest = match (transfer.up, transfer.before) {
        (true, false) => base,
        (true, true) => base.wrapping_add(4),
        (false, false) => base.wrapping_sub(4 * count).wrapping_add(4),
        (false, true) => base.wrapping_sub(4 * count),
    };
    let privileged = machine.processor().registers.cpsr().mode().privileged();
    let kind = if transfer.load { READ } else { WRITE };
    for n in 0..count {
        trace.event((kind, 4), privileged, lowest.wrapping_add(4 * n), 0);
    }
}

/// Records the accesses that the next instruction will make.
fn note(trace: &mut Trace, machine: &Machine) {
    let registers = &machine.processor().registers;
    let (at, status) = (registers.pc, registers.cpsr());
    let word = machine.peek(Virtual(at & !3)).unwrap();
    let half = if at & 2 == 0 { word & 0xFFFF } else { word >> 16 };
    let (size, instruction): (u8, Instruction) = if status.thumb() {
        (2, decode::thumb(u16::try_from(half).unwrap()))
    } else {
        (4, decode::arm(word))
    };
    trace.event((FETCH, size), status.mode().privileged(), at, 0);
    if !instruction.condition.holds(status) {
        return;
    }
    match instruction.operation {
        Operation::Transfer(transfer) => single(trace, machine, &transfer, at),
        Operation::BlockTransfer(transfer) => several(trace, machine, &transfer, at),
        Operation::Swap { rn, .. } => {
            for kind in [READ, WRITE] {
                trace.event((kind, 4), status.mode().privileged(), value(machine, rn, at), 0);
            }
        }
        Operation::Coprocessor(access) => {
            let [crn, crm, opcode2] = [access.crn, access.crm, access.opcode2].map(u32::from);
            let register = crn << 8 | crm << 4 | opcode2;
            let value = value(machine, access.rd, at);
            if !access.load {
                if crn == 2 {
                    trace.base = value & !0x3FFF;
                }
                trace.tables(machine);
                trace.event((CONTROL_WRITE, 0), true, register, value);
            } else if crn == 7 {
                trace.event((TEST_AND_CLEAN, 0), true, register, 0);
            }
        }
        _ => {}
    }
}

/// The events of a whole run, and the machine's counts.
fn traced(elf: &[u8], core: &Config) -> (Trace, Statistics) {
    let settings = Settings { core: core.clone(), ..Settings::default() };
    let mut machine = Machine::new(&settings).unwrap();
    machine.load(&Program::parse(elf).unwrap()).unwrap();
    let mut trace = Trace::default();
    for step in 1..STEPS {
        note(&mut trace, &machine);
        match machine.run(Limit::instructions(step)) {
            Outcome::Limit => {}
            Outcome::Exit { code: 0, .. } => {
                return (trace, *machine.processor().memory.statistics());
            }
            outcome => panic!("{outcome}"),
        }
    }
    panic!("the program does not end");
}

/// The model's counts as JSON; `None` if Python is not installed.
fn model(trace: &Trace, core: &Config) -> Option<String> {
    let index = match core.tlb_index {
        TlbIndex::Low => "low",
        TlbIndex::Folded => "folded",
    };
    let replacement = match core.tlb_replacement {
        TlbReplacement::RoundRobin => "round_robin",
        TlbReplacement::PseudoRandom => "pseudo_random",
    };
    let (instructions, data) = (core.instruction_cache.kib(), core.data_cache.kib());
    let head = format!(
        "{{\"instruction_kib\": {instructions}, \"data_kib\": {data}, \
         \"tlb_index\": \"{index}\", \"tlb_replacement\": \"{replacement}\"}}\n"
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../oracles/arm/caches.py");
    let child =
        Command::new("python3").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        let _ = writeln!(std::io::stderr(), "skipped: needs python3");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(head.as_bytes()).unwrap();
    stdin.write_all(&trace.bytes).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The number of `key` after `place` in the model's output.
fn number(json: &str, place: &str, key: &str) -> u64 {
    let part = &json[json.find(place).unwrap_or(0)..];
    let from = &part[part.find(&format!("\"{key}\": ")).unwrap() + key.len() + 4..];
    from[..from.find(|c: char| !c.is_ascii_digit()).unwrap()].parse().unwrap()
}

/// Both sides, by name.
fn rows(here: &Statistics, json: &str) -> Vec<(String, u64, u64)> {
    let mut rows = Vec::new();
    let caches = [("instruction_cache", here.instruction_cache), ("data_cache", here.data_cache)];
    for (name, counts) in caches {
        for (key, value) in [
            ("reads", counts.reads),
            ("read_misses", counts.read_misses),
            ("writes", counts.writes),
            ("write_misses", counts.write_misses),
            ("replaced", counts.replaced),
            ("half_lines_written", counts.half_lines_written),
        ] {
            rows.push((format!("{name}.{key}"), value, number(json, name, key)));
        }
    }
    for (key, value) in [
        ("tlb_lookups", here.tlb_lookups),
        ("tlb_misses", here.tlb_misses),
        ("descriptors", here.descriptors),
        ("uncached_fetches", here.uncached_fetches),
        ("uncached_reads", here.uncached_reads),
        ("unbuffered_writes", here.unbuffered_writes),
        ("buffered_writes", here.buffered_writes),
    ] {
        rows.push((key.to_string(), value, number(json, "", key)));
    }
    rows
}

fn size(kib: u32) -> CacheSize {
    CacheSize::from_kib(kib).unwrap()
}

/// Compares one program; returns whether it was possible.
fn compare(name: &str, flags: &[&str], core: &Config) -> bool {
    let Some(elf) = guest::build_bytes("misses.c", flags) else { return false };
    let (trace, here) = traced(&elf, core);
    let Some(json) = model(&trace, core) else { return false };
    let mut text = format!("{name}: {} accesses", trace.accesses);
    let rows = rows(&here, &json);
    for (key, here, there) in &rows {
        text.push_str(&format!("\n  {key:36} {here:9} {there:9}"));
    }
    let _ = writeln!(std::io::stderr(), "{text}");
    assert!(rows.iter().all(|(_, here, there)| here == there), "the counts differ: {text}");
    let lines = here.instruction_cache.read_misses > 0 && here.data_cache.read_misses > 0;
    assert!(lines && here.tlb_misses > 0, "{name} has something to count");
    true
}

const ROUND_ROBIN: &str = "-DCONTROL=CONTROL_ROUND_ROBIN";

#[test]
fn ten_programs_miss_as_often_as_in_an_independent_model() {
    let normal = Config::default();
    let caches = |instructions, data| Config {
        instruction_cache: size(instructions),
        data_cache: size(data),
        ..Config::default()
    };
    let folded = Config { tlb_index: TlbIndex::Folded, ..caches(8, 4) };
    let chance = Config { tlb_replacement: TlbReplacement::PseudoRandom, ..caches(4, 8) };
    let programs: [(&str, &[&str], &Config); 10] = [
        ("sorting in pages, 4 KB and 4 KB", &["-DPROGRAM=0", "-DPAGES"], &caches(4, 4)),
        ("CRC, round robin", &["-DPROGRAM=1", ROUND_ROBIN], &normal),
        ("matrices, 4 KB and 8 KB, round robin", &["-DPROGRAM=2", ROUND_ROBIN], &caches(4, 8)),
        ("strings", &["-DPROGRAM=3"], &normal),
        ("a list in pages, round robin", &["-DPROGRAM=4", ROUND_ROBIN, "-DPAGES"], &normal),
        ("strides in pages, 32 KB of data", &["-DPROGRAM=5", "-DPAGES"], &caches(16, 32)),
        ("recursion in pages, TLB folded", &["-DPROGRAM=6", "-DPAGES"], &folded),
        ("Thumb code", &["-DPROGRAM=7"], &normal),
        ("FCSE and write-through", &["-DPROGRAM=8"], &normal),
        ("pages of each kind, TLB by chance", &["-DPROGRAM=9"], &chance),
    ];
    for (name, flags, core) in programs {
        if !compare(name, flags, core) {
            return;
        }
    }
}
