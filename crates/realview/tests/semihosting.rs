//! Tests of each semihosting call, made by a program.
use boardlab_arm926::{Limit, Physical, Psr, Virtual};
use boardlab_realview::{Machine, Outcome, Settings, Warning};

const BLOCK: u32 = 0x2000;
const TEXT: u32 = 0x3000;
const FAILED: u32 = u32::MAX;

/// A program that makes these calls in sequence.
fn machine() -> Machine {
    let mut machine = Machine::new(&Settings::default()).unwrap();
    // svc 0x123456; b .-4
    let code = [0xEF12_3456_u32, 0xEAFF_FFFD].map(u32::to_le_bytes);
    machine.load_raw(Physical(0x1000), code.as_flattened()).unwrap();
    machine
}

fn put(machine: &mut Machine, at: u32, bytes: &[u8]) {
    machine.load_raw(Physical(at), bytes).unwrap();
}

fn outcome(machine: &mut Machine, number: u32, argument: u32) -> Outcome {
    let processor = machine.processor_mut();
    (processor.registers.r[0], processor.registers.r[1]) = (number, argument);
    processor.registers.pc = 0x1000;
    let next = processor.counts.instructions + 1;
    machine.run(Limit::instructions(next))
}

/// Makes a call with a parameter block; returns its result.
fn call(machine: &mut Machine, number: u32, block: &[u32]) -> u32 {
    let bytes: Vec<u8> = block.iter().flat_map(|word| word.to_le_bytes()).collect();
    put(machine, BLOCK, &bytes);
    assert_eq!(outcome(machine, number, BLOCK), Outcome::Limit, "call {number:#x}");
    machine.processor().registers.r[0]
}

fn open(machine: &mut Machine, name: &str, mode: u32) -> u32 {
    put(machine, TEXT, name.as_bytes());
    call(machine, 0x01, &[TEXT, mode, u32::try_from(name.len()).unwrap()])
}

#[test]
fn the_console_is_opened_written_and_closed() {
    let mut machine = machine();
    let output = open(&mut machine, ":tt", 4);
    assert!(output != FAILED && output != open(&mut machine, ":tt", 0));
    put(&mut machine, TEXT, b"hello");
    assert_eq!(call(&mut machine, 0x05, &[output, TEXT + 1, 4]), 0);
    assert_eq!(machine.take_console(), b"ello");
    assert_eq!(call(&mut machine, 0x09, &[output]), 1);
    assert_eq!(call(&mut machine, 0x02, &[output]), 0);
    assert_eq!(call(&mut machine, 0x09, &[output]), 0);
    assert_eq!(call(&mut machine, 0x02, &[output]), FAILED);
    assert_eq!(call(&mut machine, 0x13, &[]), 9);
    assert_eq!(call(&mut machine, 0x05, &[output, TEXT, 4]), 4, "nothing of four was written");
    assert!(machine.take_console().is_empty());
}

#[test]
fn the_features_of_the_host_are_read_as_a_file() {
    let mut machine = machine();
    let handle = open(&mut machine, ":semihosting-features", 1);
    assert_ne!(handle, FAILED);
    assert_eq!(call(&mut machine, 0x0C, &[handle]), 5);
    assert_eq!(call(&mut machine, 0x06, &[handle, TEXT, 4]), 0);
    assert_eq!(machine.peek(Virtual(TEXT)), Some(u32::from_le_bytes(*b"SHFB")));
    assert_eq!(call(&mut machine, 0x06, &[handle, TEXT, 4]), 3, "one of four was left");
    assert_eq!(machine.peek(Virtual(TEXT)).unwrap() & 0xFF, 3);
    assert_eq!(call(&mut machine, 0x06, &[handle, TEXT, 4]), 4, "the end");
    assert_eq!(call(&mut machine, 0x0A, &[handle, 4]), 0);
    assert_eq!(call(&mut machine, 0x06, &[handle, TEXT, 1]), 0);
    assert_eq!(call(&mut machine, 0x0A, &[handle, 6]), FAILED);
    assert_eq!(call(&mut machine, 0x05, &[handle, TEXT, 1]), 1, "it cannot be written");
    assert_eq!(call(&mut machine, 0x09, &[handle]), 0, "it is no terminal");
    assert_eq!(call(&mut machine, 0x02, &[handle]), 0);
    assert_eq!(call(&mut machine, 0x0C, &[handle]), FAILED);
}

#[test]
fn files_of_the_host_are_refused_with_a_warning() {
    let mut machine = machine();
    for name in ["/etc/passwd", "a.txt", ":tt2", ""] {
        assert_eq!(open(&mut machine, name, 0), FAILED, "{name}");
    }
    assert_eq!(open(&mut machine, ":tt", 12), FAILED);
    assert_eq!(call(&mut machine, 0x13, &[]), 1);
    assert_eq!(machine.processor().bus.warnings(), [Warning::SemihostingFile]);
}

#[test]
fn characters_and_strings_are_written() {
    let mut machine = machine();
    put(&mut machine, TEXT, b"one\0two");
    assert_eq!(outcome(&mut machine, 0x04, TEXT), Outcome::Limit);
    assert_eq!(outcome(&mut machine, 0x03, TEXT + 4), Outcome::Limit);
    assert_eq!(machine.take_console(), b"onet");
    assert_eq!(outcome(&mut machine, 0x04, 0x9000_0000), Outcome::Limit);
    assert_eq!(machine.processor().registers.r[0], FAILED, "there is no memory");
}

#[test]
fn a_string_without_end_stops_where_the_console_is_full() {
    let mut machine = machine();
    machine.load_raw(Physical(0x10_0000), &vec![b'x'; 4 << 20]).unwrap();
    assert_eq!(outcome(&mut machine, 0x04, 0x10_0000), Outcome::Output);
    assert_eq!(machine.take_console().len(), 1 << 20);
    assert_eq!(outcome(&mut machine, 0x03, 0x10_0000), Outcome::Limit);
}

#[test]
fn reading_waits_for_the_host_and_ends_with_the_input() {
    let mut machine = machine();
    assert_eq!(outcome(&mut machine, 0x07, 0), Outcome::Input);
    let now = machine.now();
    assert_eq!(machine.run(Limit::NONE), Outcome::Input);
    assert_eq!(machine.now(), now, "asking again takes no time");
    machine.push_semihosting_input(b"ab\ncd");
    machine.run(Limit::instructions(machine.processor().counts.instructions + 1));
    assert_eq!(machine.processor().registers.r[0], u32::from(b'a'));
    let input = open(&mut machine, ":tt", 0);
    assert_eq!(call(&mut machine, 0x06, &[input, TEXT, 10]), 8, "up to the line's end");
    assert_eq!(machine.peek(Virtual(TEXT)).unwrap() & 0xFFFF, 0x0A62);
    assert_eq!(call(&mut machine, 0x06, &[input, TEXT, 1]), 0);
    machine.close_semihosting_input();
    assert_eq!(call(&mut machine, 0x06, &[input, TEXT, 4]), 3);
    assert_eq!(call(&mut machine, 0x06, &[input, TEXT, 4]), 4, "the end");
    assert_eq!(call(&mut machine, 0x07, &[]), FAILED);
}

#[test]
fn time_is_virtual_and_the_date_is_that_of_the_board() {
    let mut machine = machine();
    machine.processor_mut().now.0 = 0x1_2345_6780;
    assert_eq!(call(&mut machine, 0x11, &[]), 946_684_800 + 24);
    let hundredths = call(&mut machine, 0x10, &[]);
    assert_eq!(hundredths, u32::try_from(0x1_2345_6780_u64 / 2_000_000).unwrap());
    assert_eq!(call(&mut machine, 0x31, &[]), 200_000_000);
    assert_eq!(call(&mut machine, 0x30, &[0, 0]), 0);
    assert_eq!(machine.peek(Virtual(BLOCK + 4)), Some(1));
    let low = machine.peek(Virtual(BLOCK)).unwrap();
    assert!((0x2345_6780..0x2345_7000).contains(&low), "{low:#x}");
}

#[test]
fn the_command_line_is_told_if_there_is_room() {
    let mut machine = machine();
    machine.set_command_line("run fast");
    assert_eq!(call(&mut machine, 0x15, &[TEXT, 8]), FAILED, "no room for the zero");
    assert_eq!(call(&mut machine, 0x15, &[TEXT, 9]), 0);
    assert_eq!(machine.peek(Virtual(BLOCK + 4)), Some(8));
    assert_eq!(machine.peek(Virtual(TEXT + 4)), Some(u32::from_le_bytes(*b"fast")));
    assert_eq!(machine.peek(Virtual(TEXT + 8)).unwrap() & 0xFF, 0);
}

#[test]
fn the_heap_lies_behind_what_was_loaded() {
    let mut machine = machine();
    machine.load_raw(Physical(0x12_3450), &[1; 8]).unwrap();
    assert_eq!(call(&mut machine, 0x16, &[TEXT]), 0);
    let words = [0, 4, 8, 12].map(|offset| machine.peek(Virtual(TEXT + offset)).unwrap());
    assert_eq!(words, [0x12_4000, 128 << 20, 128 << 20, 0x12_4000]);
}

#[test]
fn a_program_ends_with_its_reason_and_code() {
    let mut machine = machine();
    let exit = |reason, code| Outcome::Exit { reason, code };
    assert_eq!(outcome(&mut machine, 0x18, 0x2_0026), exit(0x2_0026, 0));
    assert_eq!(outcome(&mut machine, 0x18, 0x2_0023), exit(0x2_0023, 1));
    for (reason, code, expected) in [(0x2_0026, 7, 7), (0x2_0023, 7, 1)] {
        let block: Vec<u8> = [reason, code].into_iter().flat_map(u32::to_le_bytes).collect();
        put(&mut machine, BLOCK, &block);
        assert_eq!(outcome(&mut machine, 0x20, BLOCK), exit(reason, expected));
        assert_eq!(machine.run(Limit::NONE), exit(reason, expected), "it stays ended");
    }
}

#[test]
fn an_unknown_call_fails_with_a_warning_and_the_program_goes_on() {
    let mut machine = machine();
    for number in [0x0E, 0x12, 0x99, FAILED] {
        assert_eq!(call(&mut machine, number, &[0; 4]), FAILED);
    }
    let calls = [0x0E, 0x12, 0x99, FAILED].map(|call| Warning::SemihostingCall { call });
    assert_eq!(machine.processor().bus.warnings(), calls);
    assert_eq!(call(&mut machine, 0x08, &[FAILED]), 1);
    assert_eq!(call(&mut machine, 0x08, &[5]), 0);
}

#[test]
fn what_a_call_reads_and_writes_is_what_the_program_sees_in_its_caches() {
    use boardlab_arm926::{Access, Bus as _, Width};
    let mut machine = machine();
    let processor = machine.processor_mut();
    // A line of the data cache that is dirty: MMU on with one section, write-back.
    let table = 0x4000_u32;
    assert!(processor.bus.poke(Physical(table), 0x0000_0C1E));
    let mut control = |crn: u8, value: u32| {
        let access = boardlab_arm926::instruction::CoprocessorAccess {
            load: false,
            coprocessor: 15,
            opcode1: 0,
            opcode2: 0,
            crn,
            crm: 0,
            rd: boardlab_arm926::Register::field(0),
        };
        let mut now = processor.now;
        processor.memory.control_write(&access, value, &mut processor.bus, &mut now).unwrap();
    };
    control(2, table);
    control(3, 1);
    control(1, 0x0005_0078 | 5);
    let processor = machine.processor_mut();
    let access = Access { at: Virtual(TEXT), width: Width::Word, privileged: true };
    let mut now = processor.now;
    processor.memory.read(access, &mut processor.bus, &mut now).unwrap();
    let text = u32::from_le_bytes(*b"dirt");
    processor.memory.write(access, text, &mut processor.bus, &mut now).unwrap();
    assert_eq!(processor.bus.memory(Physical(TEXT), 4).unwrap(), [0; 4], "it is in the cache only");
    assert_eq!(outcome(&mut machine, 0x03, TEXT), Outcome::Limit);
    assert_eq!(machine.take_console(), b"d");
}

#[test]
fn a_call_from_user_mode_is_a_software_interrupt() {
    let mut machine = machine();
    // At the vector: b .
    put(&mut machine, 0x08, &0xEAFF_FFFE_u32.to_le_bytes());
    put(&mut machine, TEXT, b"secret\0");
    let processor = machine.processor_mut();
    let status = processor.registers.cpsr();
    processor.registers.set_cpsr(Psr(status.0 & !0x1F | 0x10));
    assert_eq!(outcome(&mut machine, 0x04, TEXT), Outcome::Limit);
    assert_eq!(machine.processor().registers.pc, 0x08);
    assert!(machine.take_console().is_empty());
}
