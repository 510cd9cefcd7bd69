//! The ELF reader accepts programs for this board and rejects everything else with a message that
//! says where the error is.
use crate::guest;

use boardlab_arm926::{Limit, Physical, Virtual};
use boardlab_realview::{Error, Machine, Program, Settings, SymbolKind};
use boardlab_sim::{Bytes, Seed, Stream};

/// A segment: physical address, bytes in memory, bytes in the file.
#[derive(Clone, Copy)]
struct Part {
    at: u32,
    size: u32,
    length: u32,
}

/// An ELF file with these segments, whose contents follow the headers.
fn elf(entry: u32, parts: &[Part]) -> Vec<u8> {
    let half = |value: u16| value.to_le_bytes().to_vec();
    let word = |value: u32| value.to_le_bytes().to_vec();
    let count = u16::try_from(parts.len()).unwrap();
    let mut file = vec![0x7F, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for field in [half(2), half(40), word(1), word(entry), word(52), word(0), word(0x0500_0000)] {
        file.extend(field);
    }
    for field in [52, 32, count, 40, 0, 0] {
        file.extend(half(field));
    }
    let mut offset = 52 + 32 * u32::from(count);
    for part in parts {
        for field in [1, offset, part.at, part.at, part.length, part.size, 7, 4] {
            file.extend(word(field));
        }
        offset += part.length;
    }
    for part in parts {
        file.extend((0..part.length).map(|at| (at ^ part.at >> 12).to_le_bytes()[0]));
    }
    file
}

const GOOD: Part = Part { at: 0x8000, size: 64, length: 32 };

fn refused(file: &[u8]) -> Error {
    match Program::parse(file) {
        Err(error) => error,
        Ok(program) => {
            let mut machine = Machine::new(&Settings::default()).unwrap();
            machine.load(&program).unwrap_err()
        }
    }
}

fn changed(at: usize, byte: u8) -> Vec<u8> {
    let mut file = elf(0x8000, &[GOOD]);
    file[at] = byte;
    file
}

#[test]
fn a_good_program_is_loaded_and_what_is_not_in_the_file_is_zero() {
    let program = Program::parse(&elf(0x8000, &[GOOD])).unwrap();
    let mut machine = Machine::new(&Settings::default()).unwrap();
    machine.load_raw(Physical(0x8000), &[0xFF; 64]).unwrap();
    machine.load(&program).unwrap();
    assert_eq!(machine.peek(Virtual(0x8000)), Some(0x0B0A_0908));
    assert_eq!(machine.peek(Virtual(0x8020)), Some(0));
    assert_eq!(machine.processor().registers.pc, 0x8000);
    assert_eq!(program.end(), 0x8040);
}

#[test]
fn an_odd_entry_starts_in_thumb_state() {
    let mut machine = Machine::new(&Settings::default()).unwrap();
    machine.load(&Program::parse(&elf(0x8011, &[GOOD])).unwrap()).unwrap();
    assert_eq!(machine.processor().registers.pc, 0x8010);
    assert!(machine.processor().registers.cpsr().thumb());
}

#[test]
fn what_is_not_an_elf_file_for_arm_is_refused() {
    assert_eq!(refused(b""), Error::NotElf { found: [0; 4] });
    assert_eq!(refused(b"#!/bin/sh\n"), Error::NotElf { found: *b"#!/b" });
    assert_eq!(refused(&changed(4, 2)), Error::ElfClass { found: 2 });
    assert_eq!(refused(&changed(5, 2)), Error::ElfByteOrder { found: 2 });
    assert_eq!(refused(&changed(18, 62)), Error::ElfMachine { found: 62 });
    assert_eq!(refused(&changed(16, 1)), Error::ElfKind { found: 1 });
    assert_eq!(refused(&elf(0, &[])), Error::ElfEmpty);
    let text = refused(&changed(18, 62)).to_string();
    assert_eq!(text, "an ELF file for machine 62: expected 40, ARM");
}

#[test]
fn a_segment_must_lie_in_the_file_and_in_memory() {
    let file = elf(0x8000, &[GOOD]);
    let cut = refused(&file[..file.len() - 1]);
    assert_eq!(
        cut,
        Error::SegmentBeyondFile { segment: 0, offset: 84, length: 32, file: file.len() - 1 }
    );
    let part = Part { at: 0x800_0000 - 32, ..GOOD };
    let memory = 128 << 20;
    assert_eq!(
        refused(&elf(0x8000, &[GOOD, part])),
        Error::SegmentBeyondMemory { segment: 1, at: part.at, length: 64, memory }
    );
    let wide = Part { at: 0x9000, size: u32::MAX, length: 0 };
    assert!(matches!(refused(&elf(0x8000, &[GOOD, wide])), Error::SegmentBeyondMemory { .. }));
    let full = Part { size: 31, ..GOOD };
    assert_eq!(
        refused(&elf(0x8000, &[full])),
        Error::SegmentTooFull { segment: 0, contents: 32, memory: 31 }
    );
}

#[test]
fn segments_may_touch_but_not_overlap() {
    let next = Part { at: 0x8040, ..GOOD };
    let mut machine = Machine::new(&Settings::default()).unwrap();
    machine.load(&Program::parse(&elf(0x8000, &[next, GOOD])).unwrap()).unwrap();
    let over = Part { at: 0x803F, ..GOOD };
    assert_eq!(
        refused(&elf(0x8000, &[over, GOOD])),
        Error::SegmentsOverlap { segments: [1, 0], at: 0x803F }
    );
}

#[test]
fn an_entry_outside_memory_is_refused() {
    let memory = 128 << 20;
    for entry in [0x0800_0000, 0x1000_9000, 0xFFFF_FFFC] {
        assert_eq!(
            refused(&elf(entry, &[GOOD])),
            Error::EntryBeyondMemory { entry, memory },
            "{entry:#x}"
        );
    }
}

#[test]
fn an_image_beyond_memory_is_refused_and_one_up_to_the_end_is_not() {
    let mut machine = Machine::new(&Settings::default()).unwrap();
    let (at, memory) = (0x7FF_FFFC, 128 << 20);
    machine.load_raw(Physical(at), &[1; 4]).unwrap();
    assert_eq!(
        machine.load_raw(Physical(at), &[1; 5]),
        Err(Error::ImageBeyondMemory { at, length: 5, memory })
    );
    assert!(machine.load_raw(Physical(u32::MAX), &[1; 5]).is_err());
}

#[test]
fn a_board_that_cannot_be_is_refused() {
    for memory in
        [Bytes::mib(200), Bytes::mib(512), Bytes::ZERO, Bytes::kib(512), Bytes::new(u64::MAX)]
    {
        let settings = Settings { memory, ..Settings::default() };
        assert_eq!(Machine::new(&settings).unwrap_err(), Error::Memory { asked: memory });
    }
    let settings = Settings { memory: Bytes::mib(200), ..Settings::default() };
    assert_eq!(
        Machine::new(&settings).unwrap_err().to_string(),
        "200 MiB of SDRAM: expected a power of two from 1 to 256 MiB; 128 MiB is the default"
    );
}

#[test]
fn symbols_tell_functions_and_data_with_their_sizes() {
    let Some(file) = guest::build_bytes("board.c", &[]) else { return };
    let program = Program::parse(&file).unwrap();
    let main = program.symbols.address("main").unwrap();
    let (symbol, offset) = program.symbols.at(main + 8).unwrap();
    assert_eq!((symbol.name.as_str(), offset, symbol.kind), ("main", 8, SymbolKind::Function));
    assert!(symbol.size > 16 && symbol.size < 4096);
    let (symbol, _) = program.symbols.at(program.entry).unwrap();
    assert_eq!(symbol.name, "start", "a label of assembly");
    let table = program.symbols.address("on_exception").unwrap();
    assert_eq!(program.symbols.at(table).unwrap().0.kind, SymbolKind::Object);
    assert!(program.symbols.all().iter().all(|symbol| !symbol.name.starts_with('$')));
    assert_eq!(program.symbols.at(0x0400_0000), None);
}

fn random(name: &str) -> Stream {
    let seed = std::env::var("BOARDLAB_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    eprintln!("BOARDLAB_SEED={seed}");
    Seed::new(seed).stream(name)
}

#[test]
fn damaged_files_give_errors_or_programs_and_nothing_else() {
    let Some(real) = guest::build_bytes("hello.c", &[]) else { return };
    let mut random = random("programs");
    let mut machine =
        Machine::new(&Settings { memory: Bytes::mib(1), ..Settings::default() }).unwrap();
    let mut good = 0;
    for _ in 0..3_000 {
        let mut file = real.clone();
        for _ in 0..=random.below(4) {
            let length = Bytes::of(&file).get();
            // The headers at the front, the section headers at the end, or anywhere.
            let at = match random.below(3) {
                0 => random.below(116),
                1 => length - 1 - random.below(800),
                _ => random.below(length),
            };
            file[usize::try_from(at).unwrap()] = random.next_u64().to_le_bytes()[0];
        }
        if random.chance(1, 4) {
            file.truncate(usize::try_from(random.below(Bytes::of(&real).get())).unwrap());
        }
        let Ok(program) = Program::parse(&file) else { continue };
        if machine.load(&program).is_ok() {
            good += 1;
            let now = machine.processor().counts.instructions;
            machine.run(Limit { cycles: machine.now().plus(5_000), instructions: now + 500 });
            machine.take_console();
        }
    }
    assert!(good > 100, "{good} were loaded");
}
