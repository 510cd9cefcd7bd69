//! Code that changes in a line after the one where its region begins.

use super::machine::{compare_steps, processor};

/// A loop over three lines that adds a constant 40 times. Then an uncached store increments the
/// constant in the third line, and the instruction line is invalidated, as programs do.
const CODE: [u32; 25] = [
    0xE3A0_1000, // mov r1, #0
    0xE3A0_6000, // mov r6, #0
    0xE59F_2050, // ldr r2, the addition below
    0xE280_3040, // add r3, r0, #0x40
    0xE3A0_5028, // mov r5, #40
    0xE1A0_0000, // nop: here the loop begins
    0xE1A0_0000,
    0xE1A0_0000,
    0xE1A0_0000, // the second line
    0xE1A0_0000,
    0xE1A0_0000,
    0xE1A0_0000,
    0xE1A0_0000,
    0xE1A0_0000,
    0xE1A0_0000,
    0xE1A0_0000,
    0xE281_1001, // add r1, r1, #1: the third line
    0xE255_5001, // subs r5, r5, #1
    0x1AFF_FFF1, // bne to the first nop
    0xE282_2001, // add r2, r2, #1
    0xE583_2000, // str r2, [r3]
    0xEE07_6F9A, // mcr p15, 0, r6, c7, c10, 4
    0xEE07_3F35, // mcr p15, 0, r3, c7, c5, 1
    0xEAFF_FFEB, // b to mov r5
    0xE281_1001,
];

/// The same with jumps between the lines: the loop calls a function in the second line, and goes on in the
/// fourth one, which changes.
const JUMPS: [(usize, u32); 18] = [
    (0, 0xE3A0_1000),  // mov r1, #0
    (1, 0xE3A0_6000),  // mov r6, #0
    (2, 0xE59F_2070),  // ldr r2, the addition below
    (3, 0xE280_3060),  // add r3, r0, #0x60
    (4, 0xE3A0_5028),  // mov r5, #40
    (5, 0xEB00_0001),  // bl the second line: here the loop begins
    (6, 0xEA00_0010),  // b the fourth line
    (8, 0xE284_4001),  // add r4, r4, #1: the second line
    (9, 0xE12F_FF1E),  // bx lr
    (24, 0xE281_1001), // add r1, r1, #1: the fourth line
    (25, 0xE255_5001), // subs r5, r5, #1
    (26, 0x1AFF_FFE9), // bne to the call
    (27, 0xE282_2001), // add r2, r2, #1
    (28, 0xE583_2000), // str r2, [r3]
    (29, 0xEE07_6F9A), // mcr p15, 0, r6, c7, c10, 4
    (30, 0xEE07_3F35), // mcr p15, 0, r3, c7, c5, 1
    (31, 0xEAFF_FFE3), // b to mov r5
    (32, 0xE281_1001),
];

/// Compares the engines on `code` after each few cycles.
fn check(code: &[u32]) {
    let code: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut reference = processor(&code, false);
    let engine = compare_steps(&mut reference, (20, 2_500));
    let (regions, executed) = (engine.size().0, engine.executed());
    assert!(regions > 3 && executed > 5_000, "{regions} regions, {executed} instructions");
    assert!(reference.registers.r[1] > 40 * (1 + 2 + 3), "the constant has grown");
}

#[test]
fn code_that_changes_in_a_later_line_of_a_region_is_not_executed_as_it_was() {
    check(&CODE);
}

#[test]
fn code_that_changes_in_a_line_that_a_region_jumps_to_is_not_executed_as_it_was() {
    let mut code = [0xE1A0_0000; 33];
    JUMPS.iter().for_each(|&(at, word)| code[at] = word);
    check(&code);
}
