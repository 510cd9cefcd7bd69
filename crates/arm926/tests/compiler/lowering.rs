//! Each operation that the compiler translates, in a short loop over random operands, compared with the
//! reference.
//!
//! A loop loads its operands and accumulates all results and flags, so that an error persists until the
//! comparison.

use boardlab_arm926::Compiled;
use boardlab_arm926::{Engine, Interpreter, Limit, Psr};
use boardlab_sim::Seed;

use super::machine::{CODE, difference, processor};

const ALWAYS: u32 = 0xE000_0000;

/// The address of a page of random operands, and of the data that the code under test stores.
const OPERANDS: u32 = 0x1_0000;

/// The number of instructions of each loop.
const INSTRUCTIONS: u64 = 10_000;

/// Accumulates r5, r6 and the four flags in r9; preserves the flags.
const TAKE_IN: [u32; 7] = [
    0xE0A9_9005, // adc r9,r9,r5
    0x4289_9C01, // addmi r9,r9,#0x100
    0x0289_9A01, // addeq r9,r9,#0x1000
    0x6289_9801, // addvs r9,r9,#0x10000
    0x2289_9601, // addcs r9,r9,#0x100000
    0xE029_92E6, // eor r9,r9,r6,ror #5
    0xE1A0_99E9, // mov r9,r9,ror #19
];

/// A sample of `tests`: a third, at least one, since compilation takes nearly all the time.
/// `BOARDLAB_FULL` selects all.
fn sampled(name: &str, tests: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut stream = Seed::new(926).stream(name);
    let mut left = tests.to_vec();
    if std::env::var_os("BOARDLAB_FULL").is_none() {
        let certain = stream.below(tests.len() as u64) as usize;
        let mut number = 0..;
        left.retain(|_| number.next() == Some(certain) || stream.chance(1, 3));
    }
    left
}

/// Compares the engines on a loop over a sample of `tests`, each with new operands in r0 to r4, and
/// flags computed from them.
fn check(name: &str, tests: &[Vec<u32>]) {
    let tests = sampled(name, tests);
    // bic r12,r12,#0x1000
    let mut words = vec![0xE3CC_CA01];
    for test in tests {
        words.extend([
            0xE8BC_001F, // ldmia r12!,{r0-r4}
            0xE1A0_5000, // mov r5,r0
            0xE1A0_6001, // mov r6,r1
            0xE3A0_8905, // mov r8,#0x14000
            0xE204_A03C, // and r10,r4,#0x3c
            0xE093_7002, // adds r7,r3,r2
        ]);
        words.extend(test);
        words.extend(TAKE_IN);
    }
    let back = 0u32.wrapping_sub(words.len() as u32 + 2) & 0x00FF_FFFF;
    words.push(0xEA00_0000 | back);
    run(name, &words, false);
}

/// Compares the engines on `words`, which begin with a loop, in ARM or Thumb state.
fn run(name: &str, words: &[u32], thumb: bool) {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut reference = processor(&code, thumb);
    let mut stream = Seed::new(1).stream("lowering");
    stream.fill(&mut reference.bus.bytes_mut()[OPERANDS as usize..][..0x8000]);
    reference.registers.pc = CODE;
    reference.registers.set_cpsr(Psr(if thumb { 0xF3 } else { 0xD3 }));
    reference.registers.r[12] = OPERANDS;
    reference.registers.r[13] = OPERANDS + 0x6000;
    let mut other = reference.clone();
    let mut engine = Compiled::with_threshold(1).verified();
    while reference.counts.instructions < INSTRUCTIONS {
        let limit = Limit::instructions(reference.counts.instructions + 1000 + stream.below(4000));
        let stop = Interpreter.run(&mut reference, limit);
        assert_eq!(engine.run(&mut other, limit), stop, "{name}");
        if let Some(difference) = difference(&reference, &other) {
            panic!("{name}: {difference}");
        }
    }
    let share = engine.executed() * 100 / other.counts.instructions;
    assert!(share >= 50, "{name}: {share} of 100 instructions ran in compiled code");
}

/// Each condition of an instruction, including AL.
fn conditions() -> impl Iterator<Item = u32> {
    (0..15).map(|condition| condition << 28)
}

#[test]
fn data_operations_with_all_shifts_go_as_in_the_reference() {
    let names = "and eor sub rsb add adc sbc rsc tst teq cmp cmn orr mov bic mvn";
    for (number, name) in (0..).zip(names.split(' ')) {
        for s in [0, 1 << 20] {
            if s == 0 && (8..12).contains(&number) {
                continue;
            }
            // r5 = r0 op ...
            let word = ALWAYS | number << 21 | s | 5 << 12;
            let immediate = [0x0FF, 0x4FF, 0x102].map(|value| word | 1 << 25 | value);
            let constant = (0..4)
                .flat_map(|kind| [0, 1, 13, 31].map(|amount| word | amount << 7 | kind << 5 | 1));
            let by_register = (0..4).map(|kind| word | 2 << 8 | kind << 5 | 0x11);
            // By r7, which is reduced to a small value.
            let by_small = (0..4).map(|kind| word | 7 << 8 | kind << 5 | 0x11);
            let with_pc = [word | 15 << 16 | 1, word | 15];
            let plain = immediate.into_iter().chain(constant).chain(by_register).chain(with_pc);
            let mut tests: Vec<Vec<u32>> = plain.map(|word| vec![word]).collect();
            // and r7,r2,#0x2f
            tests.extend(by_small.map(|word| vec![0xE202_702F, word]));
            check(name, &tests);
        }
    }
}

#[test]
fn conditional_operations_and_branches_go_as_in_the_reference() {
    for condition in conditions() {
        let tests = [
            vec![condition | 0x0260_5001],              // rsb r5,r0,#1
            vec![condition | 0x0290_5001],              // adds r5,r0,#1
            vec![condition | 0x01B0_5041],              // movs r5,r1,asr #32
            vec![condition | 0x0A00_0000, 0xE285_5001], // b over add r5,r5,#1
            vec![0xE150_0001, condition | 0x0285_5003], // cmp r0,r1; add r5,r5,#3
            vec![0xE150_0001, condition | 0x0A00_0000, 0xE245_5003],
            vec![0xE110_0001, condition | 0x0245_5003], // tst r0,r1; sub r5,r5,#3
            vec![0xE150_0001, condition | 0x0040_5001, 0xE0A5_5000], // cmp; sub; adc r5,r5,r0
            vec![condition | 0x0588_0004],              // str r0,[r8,#4]
            vec![condition | 0x0598_5004],              // ldr r5,[r8,#4]
        ];
        check(&format!("condition {}", condition >> 28), &tests);
    }
}

#[test]
fn paths_over_many_branches_go_as_in_the_reference() {
    // Registers and flags that are not in the frame yet, before branches of all kinds.
    for [one, other] in [[0x1A00_0000, 0x0A00_0000], [0x3A00_0000, 0xCA00_0000]] {
        let test = (0..150).flat_map(|number| {
            let end = |at: u32| 300 - (2 * number + at) + 3;
            let count = 0xE285_5001; // add r5,r5,#1
            [one | end(0), if number % 3 == 0 { other } else { count }]
        });
        // cmp r0,r1; add r6,r6,r0; the branches, some over one instruction; eor r5,r5,r6; nop
        let mut words = vec![0xE150_0001, 0xE086_6000];
        words.extend(test);
        words.extend([0xE025_5006, 0xE1A0_0000, 0xE1A0_0000, 0xE1A0_0000, 0xE1A0_0000]);
        check("branches", std::slice::from_ref(&words));
    }
}

#[test]
fn loops_carry_registers_as_the_reference_does() {
    let tests = [
        // A loop of four passes: mov r7,#4; add r5,r5,r5,ror #3; subs r7,r7,#1; bne
        vec![0xE3A0_7004, 0xE085_51E5, 0xE257_7001, 0x1AFF_FFFC],
        // With an access that misses at first, and a condition: ldr r4,[r8],#0x60; addmi r5,r5,r4
        vec![0xE3A0_7006, 0xE498_4060, 0x4085_5004, 0xE257_7001, 0x1AFF_FFFB],
        // With stores and a base that is written back: str r5,[r8,#0x24]!
        vec![0xE3A0_7006, 0xE085_5007, 0xE5A8_5024, 0xE257_7001, 0x1AFF_FFFB],
        // Of two nodes on one path: subs r7,r7,#1; beq out; eor r5,r5,r7; b to add r5,r5,r5,ror #3
        vec![0xE3A0_7005, 0xE085_51E5, 0xE257_7001, 0x0A00_0001, 0xE025_5007, 0xEAFF_FFFA],
        // With a branch within: tst r7,#1; beq over sub r5,r5,#3; subs r5,r5,#1
        vec![
            0xE3A0_7007,
            0xE317_0001,
            0x0A00_0000,
            0xE245_5003,
            0xE255_5001,
            0xE257_7001,
            0x1AFF_FFF9,
        ],
        // Around a loop: two passes of one of three, which the outer one continues.
        vec![
            0xE3A0_8002,
            0xE3A0_7003,
            0xE085_5007,
            0xE257_7001,
            0x1AFF_FFFC,
            0xE258_8001,
            0x1AFF_FFF9,
        ],
        // With what the reference executes: qadd r5,r5,r7
        vec![0xE3A0_7003, 0xE107_5055, 0xE257_7001, 0x1AFF_FFFC],
        // With several registers at once: ldmia r8!,{r2,r4}; eor r5,r5,r4
        vec![0xE3A0_7005, 0xE8B8_0014, 0xE025_5004, 0xE257_7001, 0x1AFF_FFFB],
    ];
    for (number, test) in tests.iter().enumerate() {
        check(&format!("loop {number}"), std::slice::from_ref(test));
    }
}

#[test]
fn loops_behind_calls_carry_registers_as_the_reference_does() {
    let words = [
        0xEA00_0001, // b over the function
        0xE285_5001, // the function: add r5,r5,#1
        0xE12F_FF1E, // bx lr
        0xE3A0_7003, // mov r7,#3
        0xEBFF_FFFB, // bl the function
        0xE085_5007, // add r5,r5,r7: a loop
        0xE257_7001, // subs r7,r7,#1
        0x1AFF_FFFC, // bne to the addition
        0xE3A0_7004, // mov r7,#4
        0xEBFF_FFF6, // bl the function
        0xE025_5007, // eor r5,r5,r7: a loop
        0xE257_7001, // subs r7,r7,#1
        0x1AFF_FFFC, // bne to the eor
    ];
    check("loops behind calls", &[words.to_vec()]);
}

#[test]
fn multiplications_go_as_in_the_reference() {
    let mut tests = Vec::new();
    for s in [0, 1 << 20] {
        // r5 = r0 * r1, + r2; r6:r5 = r0 * r1, + r6:r5.
        tests.extend([0xE005_0190, 0xE025_2190].map(|word| vec![word | s]));
        let long = [0xE086_5190, 0xE0A6_5190, 0xE0C6_5190, 0xE0E6_5190];
        tests.extend(long.map(|word| vec![word | s]));
    }
    for halves in 0..4 {
        let halves = halves << 5;
        tests.push(vec![0xE165_0180 | halves]); // smulxy r5,r0,r1
        tests.push(vec![0xE146_5180 | halves]); // smlalxy r5,r6,r0,r1
        tests.push(vec![0xE105_2180 | halves]); // smlaxy r5,r0,r1,r2
    }
    tests.extend([0xE125_01A0, 0xE125_01E0].map(|word| vec![word])); // smulwy r5,r0,r1
    tests.extend([0xE16F_5F10, 0xE100_5051, 0xE160_5051].map(|word| vec![word])); // clz, qadd, qdsub
    for test in &tests {
        check(&format!("{:08x}", test[0]), std::slice::from_ref(test));
    }
}

/// Loads and stores of one item at `base` plus r10 or a constant: word, byte, and the other items.
fn items(base: u32, rd: u32) -> Vec<u32> {
    let mut words = Vec::new();
    // Post-indexed, offset, pre-indexed; upwards and downwards.
    for index in [0, 1 << 24, 1 << 24 | 1 << 21] {
        for up in [0, 1 << 23] {
            let common = ALWAYS | index | up | base << 16 | rd << 12;
            for kind in [0, 1 << 20, 1 << 22, 1 << 22 | 1 << 20] {
                words.extend(
                    [0x0400_0024, 0x0600_000A, 0x0600_008A].map(|bits| common | kind | bits),
                );
            }
            // strh, ldrd, strd, ldrh, ldrsb, ldrsh
            for kind in [0xB0, 0xD0, 0xF0, 0x10_00B0, 0x10_00D0, 0x10_00F0] {
                words.extend([0x40_0208, 0x0A].map(|bits| common | kind | bits));
            }
        }
    }
    words
}

/// Follows an access: the base is part of the result.
const TAKE_BASE: u32 = 0xE085_5008; // add r5,r5,r8

#[test]
fn loads_and_stores_go_as_in_the_reference() {
    // The item is r0, with r1 for a double word; r5 and r6 accumulate it.
    let test = |offset: &[u32], word| {
        let behind = [word, 0xE085_5000, 0xE086_6001, TAKE_BASE];
        offset.iter().copied().chain(behind).collect::<Vec<u32>>()
    };
    for words in items(8, 0).chunks(6) {
        let name = format!("{words:08x?}");
        // bic r10,r10,#7; or in 128 KB: bic r10,r3,#0xff000000; bic r10,r10,#0xfe0000; bic r10,r10,#7
        let near = words.iter().map(|&word| test(&[0xE3CA_A007], word));
        let far = words.iter().map(|&word| test(&[0xE3C3_A4FF, 0xE3CA_A8FE, 0xE3CA_A007], word));
        check(&name, &near.chain(far).collect::<Vec<_>>());
        // Unaligned, and r10,r3,#0x3f: the region exits there, so blocks execute most of it.
        let unaligned = words.iter().map(|&word| test(&[0xE203_A03F], word));
        let other = std::iter::repeat_n(vec![0xE285_5001], 12);
        check(&name, &unaligned.chain(other).collect::<Vec<_>>());
    }
}

#[test]
fn transfers_of_several_go_as_in_the_reference() {
    for list in [0x0001, 0x002A, 0x00FF, 0x040F, 0x0100, 0x0103, 0x0303 & !0x200] {
        let mut tests = Vec::new();
        for form in 0..16 {
            // From DA without write-back to IB with write-back, STM and LDM, at a base that r10 moves
            // across lines.
            let (load, writeback, order) = (form & 1, form >> 1 & 1, form >> 2);
            let word = 0xE808_0000 | load << 20 | writeback << 21 | order << 23 | list;
            tests.push(vec![0xE088_800A, word, 0xE085_5008, 0xE086_6003, 0xE085_5007]);
        }
        check(&format!("list {list:04x}"), &tests);
    }
}

#[test]
fn calls_and_returns_go_as_in_the_reference() {
    // At the end of each is where its function would be: b over; function; bl function.
    let function = |body: &[u32]| {
        let length = body.len() as u32;
        let mut words = vec![0xEA00_0000 | (length - 1)];
        words.extend(body);
        words.push(0xEB00_0000 | 0u32.wrapping_sub(length + 2) & 0x00FF_FFFF);
        words.push(0xE085_500E); // add r5,r5,lr
        words
    };
    let tests = [
        function(&[0xE285_5001, 0xE12F_FF1E]), // add r5,r5,#1; bx lr
        function(&[0xE285_5002, 0xE1A0_F00E]), // add r5,r5,#2; mov pc,lr
        function(&[0xE92D_4081, 0xE8BD_8081]), // push {r0,r7,lr}; pop {r0,r7,pc}
        function(&[0xE52D_E004, 0xE285_5003, 0xE49D_F004]), // push {lr}; ...; ldr pc,[sp],#4
        function(&[0x112F_FF1E, 0xE285_5004, 0xE24E_F000]), // bxne lr; add; sub pc,lr,#0
    ];
    for (number, test) in tests.iter().enumerate() {
        check(&format!("call {number}"), std::slice::from_ref(test));
    }
}

#[test]
fn thumb_calls_literals_and_stacks_go_as_in_the_reference() {
    let halves: [u16; 16] = [
        0xB41F, // push {r0-r4}
        0x4B06, // ldr r3,[pc,#24]
        0xA106, // add r1,pc,#24
        0x180A, // add r2,r1,r0
        0xF000, 0xF805, // bl function
        0xBC1F, // pop {r0-r4}
        0x1C40, // add r0,r0,#1
        0xE7F6, // b loop
        0x46C0, 0x46C0, // nop
        0xB510, // function: push {r4,lr}
        0x4044, // eor r4,r0
        0x0220, // lsl r0,r4,#8
        0xBD10, // pop {r4,pc}
        0x46C0,
    ];
    let mut words: Vec<u32> =
        halves.chunks(2).map(|pair| u32::from(pair[0]) | u32::from(pair[1]) << 16).collect();
    words.extend([0x1234_5678, 0x9ABC_DEF0]);
    run("thumb", &words, true);
}
