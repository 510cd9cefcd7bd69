//! Code that loses its translation to data while it runs.

use super::machine::{compare_steps, processor, put_section};

/// A loop over two lines that reads from sections in the TLB's set of the code, more of them than the set
/// has ways. At first it reads from one section only, so that it is compiled before it loses anything.
const CODE: [u32; 21] = [
    0xE3A0_6000, // mov r6, #0: the step from section to section
    0xE3A0_7064, // mov r7, #100
    0xE3A0_4000, // mov r4, #0
    0xE3A0_5014, // mov r5, #20: here the outer loop begins
    0xE1A0_0000, // nop
    0xE1A0_0000,
    0xE1A0_0000, // nop: here the inner loop begins
    0xE5D4_1000, // ldrb r1, [r4]
    0xE084_4006, // add r4, r4, r6: the second line
    0xE204_43FE, // and r4, r4, #0xF8000003
    0xE083_3001, // add r3, r3, r1
    0xE5C4_3000, // strb r3, [r4]
    0xE255_5001, // subs r5, r5, #1
    0x1AFF_FFF7, // bne to the inner loop
    0xE257_7001, // subs r7, r7, #1
    0x1AFF_FFF2, // bne to the outer loop
    0xE226_6302, // eor r6, r6, #0x08000000: the third line
    0xE3A0_7032, // mov r7, #50
    0xE3A0_4000, // mov r4, #0
    0xEAFF_FFEE, // b to the outer loop
    0xE1A0_0000,
];

/// Compares the engines on `code` after each few cycles.
fn check(code: &[u32]) {
    let code: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut reference = processor(&code, false);
    // Sections of the same memory, 128 MB apart.
    (1..32).for_each(|number| put_section(&mut reference, 128 * number, 0xC1E));
    put_section(&mut reference, 16, 0xC1E);
    let engine = compare_steps(&mut reference, (100, 2_000));
    assert!(engine.executed() > 20_000, "{} compiled instructions", engine.executed());
    let misses = reference.memory.statistics().tlb_misses;
    assert!(misses > 1_000, "{misses} misses of the TLB");
}

#[test]
fn code_that_loses_its_translation_to_data_waits_as_in_the_reference() {
    check(&CODE);
}

#[test]
fn code_that_loses_the_translation_of_its_current_line_waits_when_it_comes_back() {
    let mut code = CODE;
    // Right behind the load, in the same line, it jumps to the second line by way of another section,
    // which it does not lose. The load alone loses translations.
    (code[6], code[7], code[11]) = (CODE[7], 0xEA3F_FFFF, CODE[4]);
    [13, 15, 19].iter().for_each(|&jump| code[jump] -= 0x40_0000);
    check(&code);
    // The same with a load that the reference executes: ldmia r4, {r1, r2}.
    code[6] = 0xE894_0006;
    check(&code);
}
