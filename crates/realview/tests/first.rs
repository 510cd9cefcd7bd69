//! First runs of a machine: output, exit, an access to a part that is not modelled, and sleep without
//! a wakeup.
use boardlab_arm926::{Limit, Physical};
use boardlab_realview::{Access, Machine, Outcome, Part, Settings};

fn machine(code: &[u32]) -> Machine {
    let mut machine = Machine::new(&Settings::default()).unwrap();
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    machine.load_raw(Physical(0x1_0000), &bytes).unwrap();
    machine.processor_mut().registers.pc = 0x1_0000;
    machine
}

const LIMIT: Limit = Limit::instructions(1_000);

#[test]
fn a_program_prints_through_the_uart_and_semihosting_and_tells_its_exit_code() {
    let mut machine = machine(&[
        0xE59F_001C, // ldr r0, =0x10009000
        0xE3A0_1048, // mov r1, #'H'
        0xE580_1000, // str r1, [r0]
        0xE3A0_0004, // mov r0, #4
        0xE28F_1010, // add r1, pc, #16: the text
        0xEF12_3456, // svc 0x123456
        0xE3A0_0020, // mov r0, #32
        0xE28F_1008, // add r1, pc, #8: the block
        0xEF12_3456, // svc 0x123456
        0x1000_9000,
        0x000A_2169, // "i!\n"
        0x0002_0026,
        42,
    ]);
    assert_eq!(machine.run(LIMIT), Outcome::Exit { reason: 0x2_0026, code: 42 });
    assert_eq!(machine.take_console(), b"Hi!\n");
    assert!(machine.take_console().is_empty());
}

#[test]
fn touching_a_part_that_is_not_modelled_names_it_and_the_instruction() {
    let mut machine = machine(&[
        0xE3A0_044E, // mov r0, #0x4E000000
        0xE590_1004, // ldr r1, [r0, #4]
        0xEAFF_FFFE, // b .
    ]);
    let access = Access { part: Part::Ethernet, at: 0x4E00_0004, write: false };
    assert_eq!(machine.run(LIMIT), Outcome::NotModelled { access, at: 0x1_0004 });
    let outcome = Outcome::NotModelled { access, at: 0x1_0004 };
    assert_eq!(
        outcome.to_string(),
        "a read of 0x4e000004 at 0x00010004: the Ethernet controller (SMC 91C111) is not modelled"
    );
}

#[test]
fn sleeping_without_anything_that_could_wake_ends_the_run() {
    let mut machine = machine(&[
        0xE3A0_0000, // mov r0, #0
        0xEE07_0F90, // mcr p15, 0, r0, c7, c0, 4
        0xEAFF_FFFE, // b .
    ]);
    assert_eq!(machine.run(LIMIT), Outcome::Asleep);
}
