//! The cycles of short instruction sequences, compared with sums computed by hand from the manuals'
//! tables.
//!
//! `timing/sequences.txt` has each sequence as text and as words; the assembler, if installed, confirms
//! that they agree. The cycles are checked with `Pipeline` alone, and with `Processor` with MMU and
//! caches enabled and warm. Sources: see docs/models/arm926-pipeline.md.
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use boardlab_arm926::decode;
use boardlab_arm926::instruction::CoprocessorAccess;
use boardlab_arm926::timing::Outcome;
use boardlab_arm926::{
    Access, Config, Pipeline, Processor, Psr, Ram, Register, Virtual, Waits, Width,
};

/// An executed instruction: its outcome, and its cycles including the interlock before it.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Its index among the words.
    place: usize,
    outcome: Outcome,
    cycles: u32,
}

/// One sequence.
#[derive(Debug)]
struct Sequence {
    text: &'static str,
    thumb: bool,
    words: Vec<u32>,
    steps: Vec<Step>,
    source: &'static str,
    why: &'static str,
}

impl Sequence {
    fn parse(line: &'static str) -> Self {
        let mut fields = line.split('|').map(str::trim);
        let mut field = || fields.next().unwrap();
        let (text, words, cycles, source, why) = (field(), field(), field(), field(), field());
        let path: Vec<usize> =
            fields.flat_map(str::split_whitespace).map(|place| place.parse().unwrap()).collect();
        let thumb = words.split_whitespace().all(|word| word.len() == 4);
        let words = words.split_whitespace().map(|word| u32::from_str_radix(word, 16).unwrap());
        let steps = cycles.split_whitespace().enumerate().map(|(number, cycles)| Step {
            place: path.get(number).copied().unwrap_or(number),
            outcome: match cycles.trim_start_matches(|digit: char| digit.is_ascii_digit()) {
                "" => Outcome::Executed,
                "s" => Outcome::Skipped,
                "u" => Outcome::Unaligned,
                other => panic!("{other} in {line}"),
            },
            cycles: cycles.trim_end_matches(['s', 'u']).parse().unwrap(),
        });
        Self { text, thumb, words: words.collect(), steps: steps.collect(), source, why }
    }

    fn width(&self) -> u32 {
        if self.thumb { 2 } else { 4 }
    }

    fn name(&self, step: Step) -> String {
        format!("place {} of {} ({}: {})", step.place, self.text, self.source, self.why)
    }
}

fn all() -> Vec<Sequence> {
    let lines = include_str!("timing/sequences.txt").lines();
    lines.filter(|line| !line.starts_with('#')).map(Sequence::parse).collect()
}

#[test]
fn each_sequence_takes_the_cycles_of_the_manuals_in_the_pipeline() {
    for sequence in all() {
        let mut pipeline = Pipeline::IDLE;
        for &step in &sequence.steps {
            let code = sequence.words[step.place];
            let instruction = if sequence.thumb {
                decode::thumb(u16::try_from(code).unwrap())
            } else {
                decode::arm(code)
            };
            let cycles = pipeline.advance(&instruction, step.outcome);
            assert_eq!(cycles, step.cycles, "{}", sequence.name(step));
        }
    }
}

const CODE: u32 = 0x1000;
const LANDING: u32 = 0x1200;
const DATA: u32 = 0x2000;
const STACK: u32 = 0x3000;
const TABLE: u32 = 0x4000;
const MEGABYTE: u32 = 0x10_0000;

fn memory(sequence: &Sequence) -> Ram {
    let mut ram = Ram::new(MEGABYTE as usize, Waits { first: 3, next: 1 });
    let nop = if sequence.thumb { 0x46C0_46C0 } else { 0xE1A0_0000 };
    ram.put(4, &[0xE1A0_0000; 8]);
    ram.put(LANDING as usize, &[nop; 8]);
    ram.put(DATA as usize, &[DATA + 0x40; 0x400]);
    ram.put(STACK as usize, &[LANDING | u32::from(sequence.thumb); 0x100]);
    // A section of one megabyte, for all, cached and buffered.
    ram.put(TABLE as usize, &[0x0000_0C1E]);
    let width = sequence.width() as usize;
    for (place, word) in sequence.words.iter().enumerate() {
        let at = CODE as usize + width * place;
        ram.bytes_mut()[at..at + width].copy_from_slice(&word.to_le_bytes()[..width]);
    }
    ram
}

fn write_control(processor: &mut Processor<Ram>, crn: u8, value: u32) {
    let rd = Register::field(0);
    let access =
        CoprocessorAccess { load: false, coprocessor: 15, opcode1: 0, crn, crm: 0, opcode2: 0, rd };
    let Processor { memory, bus, now, .. } = processor;
    memory.control_write(&access, value, bus, now).unwrap();
}

/// MMU and caches enabled; all lines of code and data that a sequence can access are cached.
fn warm(sequence: &Sequence) -> Processor<Ram> {
    let config = Config { semihosting: false, stop_without_handler: false, ..Config::default() };
    let mut processor = Processor::new(&config, memory(sequence));
    write_control(&mut processor, 2, TABLE);
    write_control(&mut processor, 3, 1);
    write_control(&mut processor, 1, 0x0005_107D);
    let Processor { memory, bus, now, .. } = &mut processor;
    for line in [CODE, DATA, STACK].into_iter().flat_map(|from| (from..from + 0x400).step_by(32)) {
        let access = Access { at: Virtual(line), width: Width::Word, privileged: true };
        memory.read(access, bus, now).unwrap();
    }
    for line in [0, CODE, CODE + 32, LANDING, CODE] {
        let access = Access { at: Virtual(line), width: Width::Half, privileged: true };
        memory.fetch(access, bus, now).unwrap();
    }
    processor
}

fn start(processor: &mut Processor<Ram>, thumb: bool) {
    let landing = LANDING | u32::from(thumb);
    let registers = &mut processor.registers;
    for (number, register) in (0..).zip(registers.r.iter_mut()) {
        *register = DATA + 0x20 * number;
    }
    registers.r[7] = 4;
    registers.r[8] = 0;
    registers.r[9] = landing;
    registers.r[12] = 3;
    registers.r[13] = STACK;
    registers.r[14] = landing;
    registers.set_cpsr(Psr(Psr::I | Psr::F | 0x13));
    registers.set_thumb(thumb);
    registers.pc = CODE;
    processor.pipeline = Pipeline::IDLE;
}

#[test]
fn each_sequence_takes_the_same_cycles_in_a_processor_with_everything_in_its_caches() {
    for sequence in &all() {
        let mut processor = warm(sequence);
        start(&mut processor, sequence.thumb);
        let waited = processor.memory.statistics().waiting;
        for &step in &sequence.steps {
            let name = sequence.name(step);
            let place = u32::try_from(step.place).unwrap();
            assert_eq!(processor.registers.pc, CODE + sequence.width() * place, "{name}");
            let (before, skipped) = (processor.now.0, processor.counts.skipped);
            assert_eq!(processor.step(), None, "{name}");
            assert_eq!(processor.now.0 - before, u64::from(step.cycles), "{name}");
            let skips = u64::from(step.outcome == Outcome::Skipped);
            assert_eq!(processor.counts.skipped - skipped, skips, "{name}");
        }
        assert_eq!(processor.memory.statistics().waiting, waited, "{}", sequence.text);
    }
}

#[test]
fn a_data_abort_takes_six_cycles_to_its_vector_and_an_undefined_instruction_three() {
    // r1 holds an unmapped address.
    for line in ["ldr r0, [r1] | E5910000 | 6 | ARM9E-S | 5.3", "udf #0 | E7F000F0 | 3 | | 9.18"] {
        let sequence = Sequence::parse(line);
        let mut processor = warm(&sequence);
        start(&mut processor, false);
        processor.registers.r[1] = 0xFFFF_0000;
        let (now, before) = (processor.now.0, processor.memory.statistics().waiting);
        assert_eq!(processor.step(), None);
        let after = processor.memory.statistics().waiting;
        let waited = after.walk + after.write_buffer - before.walk - before.write_buffer;
        let cycles = u64::from(sequence.steps[0].cycles);
        assert_eq!(processor.now.0 - waited - now, cycles, "{line}");
        assert!(processor.registers.pc < 0x20, "{line}");
    }
}

/// The bytes that the assembler produces from `source`; `None` without an assembler.
fn assemble(source: &str) -> Option<Vec<u8>> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [text, object, binary] =
        ["timing.s", "timing.o", "timing.bin"].map(|name| directory.join(name));
    std::fs::write(&text, source).unwrap();
    let assembler = Command::new("arm-none-eabi-as")
        .args(["-mcpu=arm926ej-s", "-o"])
        .args([&object, &text])
        .output()
        .ok()?;
    assert!(assembler.status.success(), "{}", String::from_utf8_lossy(&assembler.stderr));
    let copied = Command::new("arm-none-eabi-objcopy")
        .args(["-O", "binary"])
        .args([&object, &binary])
        .status()
        .ok()?;
    assert!(copied.success());
    Some(std::fs::read(&binary).unwrap())
}

#[test]
fn the_assembler_makes_the_words_of_the_texts() {
    let mut source = String::from(".syntax unified\n");
    let mut expected = Vec::new();
    let mut ends = Vec::new();
    for sequence in &all() {
        let state = if sequence.thumb { ".thumb" } else { ".arm" };
        let text = sequence.text.replace("; ", "\n");
        source += &format!("{state}\n{text}\n.balign 4, 0\n");
        for word in &sequence.words {
            expected.extend(&word.to_le_bytes()[..sequence.width() as usize]);
        }
        expected.resize(expected.len().next_multiple_of(4), 0);
        ends.push((expected.len(), sequence.text));
    }
    let Some(made) = assemble(&source) else {
        eprintln!("skipped: needs arm-none-eabi-as");
        return;
    };
    assert_eq!(made.len(), expected.len());
    for (place, (one, other)) in made.iter().zip(&expected).enumerate() {
        let text = ends.iter().find(|(end, _)| *end > place).unwrap().1;
        assert_eq!(one, other, "byte {place:#x} in {text}");
    }
}

/// The cycles of ADD, STR and MLA with each register as operand, stored data and accumulator.
fn probe(pipeline: Pipeline) -> Vec<u32> {
    let probes = |register: u32| {
        [0xE083_4000 | register, 0xE58F_0000 | register << 12, 0xE024_0F9F | register << 12]
    };
    let words = (0..15).flat_map(probes);
    words.map(|word| pipeline.clone().advance(&decode::arm(word), Outcome::Executed)).collect()
}

#[test]
fn states_that_differ_make_cycles_that_differ() {
    let mut seen = BTreeMap::new();
    let sequences = all();
    let codes: Vec<_> = sequences
        .iter()
        .filter(|sequence| !sequence.thumb)
        .flat_map(|sequence| &sequence.words)
        .map(|&word| decode::arm(word))
        .collect();
    for first in &codes {
        for second in &codes {
            for outcome in [Outcome::Executed, Outcome::Skipped, Outcome::Unaligned] {
                let mut pipeline = Pipeline::IDLE;
                pipeline.advance(first, Outcome::Executed);
                pipeline.advance(second, outcome);
                let other = *seen.entry(probe(pipeline)).or_insert(pipeline);
                assert_eq!(other, pipeline, "{first:?} {second:?} {outcome:?}");
            }
        }
    }
    assert!(seen.len() > 20, "{} states", seen.len());
}

#[test]
fn most_sequences_come_from_the_manuals_of_the_core_itself() {
    let sequences = all();
    let count = |source| sequences.iter().filter(|one| one.source == source).count();
    let of_the_core = count("ARM9EJ-S") + count("ARM9E-S");
    let related = count("ARM7EJ-S") + count("GCC");
    assert_eq!((of_the_core, related, count("assumed")), (101, 32, 35));
    assert_eq!(sequences.len(), 168);
}
