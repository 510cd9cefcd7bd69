//! Data processing, multiplication, branches and status registers, one instruction at a time.

use crate::rig::encodings::{ARM, THUMB};
use crate::rig::{PROGRAM, arm, core, core_in_thumb, enter, nzcv, run, thumb};
use boardlab_arm926::{Condition, Mode, Psr};
use boardlab_sim::Seed;
use std::process::Command;
use std::{env, fs};

const EDGES: [u32; 9] =
    [0, 1, 2, 0x7FFF_FFFE, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF];

/// The bytes that the assembler produces; `None` without an assembler.
fn assembled(state: &str, lines: &[&str]) -> Option<Vec<u8>> {
    let path = |end: &str| {
        env::temp_dir().join(format!("boardlab-encodings-{state}-{}{end}", std::process::id()))
    };
    fs::write(path(".s"), format!(".syntax unified\n.{state}\n{}\n", lines.join("\n"))).unwrap();
    let mut assembler = Command::new("arm-none-eabi-as");
    assembler.args(["-mcpu=arm926ej-s", "-o"]).arg(path(".o")).arg(path(".s"));
    let Ok(output) = assembler.output() else {
        eprintln!("skipped: needs arm-none-eabi-as");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut copy = Command::new("arm-none-eabi-objcopy");
    copy.args(["-O", "binary", "-j", ".text"]).arg(path(".o")).arg(path(".bin"));
    assert!(copy.status().unwrap().success());
    let bytes = fs::read(path(".bin")).unwrap();
    for end in [".s", ".o", ".bin"] {
        fs::remove_file(path(end)).unwrap();
    }
    Some(bytes)
}

#[test]
fn the_table_is_what_the_assembler_makes() {
    let lines: Vec<&str> = ARM.iter().map(|(line, _)| *line).collect();
    let Some(bytes) = assembled("arm", &lines) else { return };
    for (theirs, (line, ours)) in bytes.chunks_exact(4).zip(ARM) {
        assert_eq!(u32::from_le_bytes(theirs.try_into().unwrap()), *ours, "{line}");
    }
    let lines: Vec<&str> = THUMB.iter().map(|(line, _)| *line).collect();
    let bytes = assembled("thumb", &lines).unwrap();
    for (theirs, (line, ours)) in bytes.chunks_exact(2).zip(THUMB) {
        assert_eq!(u16::from_le_bytes(theirs.try_into().unwrap()), *ours, "{line}");
    }
}

#[test]
fn conditions_after_a_comparison_tell_how_two_numbers_compare() {
    let [compare, conditional] = arm("cmp r0, r1; moveq r2, #1")[..] else { unreachable!() };
    for a in EDGES {
        for b in EDGES {
            let (x, y) = (a.cast_signed(), b.cast_signed());
            let difference = a.wrapping_sub(b).cast_signed();
            let overflow = i64::from(x) - i64::from(y) != i64::from(difference);
            let expected = [
                a == b,
                a != b,
                a >= b,
                a < b,
                difference < 0,
                difference >= 0,
                overflow,
                !overflow,
                a > b,
                a <= b,
                x >= y,
                x < y,
                x > y,
                x <= y,
                true,
            ];
            for (number, holds) in (0..).zip(expected) {
                let mut core = core(&[compare, conditional & 0x0FFF_FFFF | number << 28]);
                (core.registers.r[0], core.registers.r[1]) = (a, b);
                run(&mut core, 2);
                assert_eq!(core.registers.r[2], u32::from(holds), "{number}: {a:x} {b:x}");
                assert_eq!(core.counts.skipped, u64::from(!holds));
            }
        }
    }
}

#[test]
fn each_condition_reads_its_flags_and_its_opposite_the_contrary() {
    for flags in 0..16 {
        for pair in Condition::ALL[..14].chunks_exact(2) {
            let status = Psr(flags << 28 | Mode::User.bits());
            assert_ne!(pair[0].holds(status), pair[1].holds(status), "{pair:?} {flags:x}");
        }
        let singles = [Condition::Mi, Condition::Eq, Condition::Cs, Condition::Vs];
        for (bit, condition) in (0..4).zip(singles) {
            assert_eq!(condition.holds(Psr(flags << 28)), flags >> (3 - bit) & 1 != 0);
        }
    }
}

/// The result and carry of a shift by a register's lowest byte, computed bit by bit.
fn shifted(kind: usize, mut value: u32, amount: u32, mut carry: bool) -> (u32, bool) {
    for _ in 0..amount & 0xFF {
        (value, carry) = match kind {
            0 => (value << 1, value >> 31 != 0),
            1 => (value >> 1, value & 1 != 0),
            2 => (value >> 1 | value & 0x8000_0000, value & 1 != 0),
            _ => (value.rotate_right(1), value & 1 != 0),
        };
    }
    (value, carry)
}

#[test]
fn shifts_by_a_register_take_its_lowest_byte() {
    let words =
        arm("movs r0, r1, lsl r2; movs r0, r1, lsr r2; movs r0, r1, asr r2; movs r0, r1, ror r2");
    let set = arm("msr CPSR_f, r3")[0];
    for (kind, move_) in words.into_iter().enumerate() {
        for amount in [0, 1, 2, 15, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 257, 0xFFFF_FF20] {
            for value in EDGES.into_iter().chain([0x1234_5678, 0xA5A5_5A5A]) {
                for carry in [false, true] {
                    let mut core = core(&[set, move_]);
                    core.registers.r[1] = value;
                    core.registers.r[2] = amount;
                    core.registers.r[3] = u32::from(carry) << 29 | Psr::V;
                    run(&mut core, 2);
                    let (result, carry) = shifted(kind, value, amount, carry);
                    let flags =
                        result >> 31 << 3 | u32::from(result == 0) << 2 | u32::from(carry) << 1 | 1;
                    let got = (core.registers.r[0], nzcv(&core));
                    assert_eq!(got, (result, flags), "{kind} {value:x} by {amount}");
                }
            }
        }
    }
}

#[test]
fn shifts_by_a_constant_of_zero_mean_32_or_rrx() {
    let cases = [
        ("movs r0, r1", 0x8000_0001, true),
        ("movs r0, r1, lsl #1", 2, true),
        ("movs r0, r1, lsl #31", 0x8000_0000, false),
        ("movs r0, r1, lsr #1", 0x4000_0000, true),
        ("movs r0, r1, lsr #32", 0, true),
        ("movs r0, r1, asr #1", 0xC000_0000, true),
        ("movs r0, r1, asr #32", 0xFFFF_FFFF, true),
        ("movs r0, r1, ror #1", 0xC000_0000, true),
        ("movs r0, r1, ror #31", 3, false),
        ("movs r0, r1, rrx", 0xC000_0000, true),
    ];
    for (text, result, carry) in cases {
        let mut core = core(&arm(text));
        core.registers.set_flags(Psr::C);
        core.registers.r[1] = 0x8000_0001;
        run(&mut core, 1);
        assert_eq!(core.registers.r[0], result, "{text}");
        assert_eq!(core.registers.cpsr().has(Psr::C), carry, "{text}");
    }
}

#[test]
fn a_rotated_constant_sets_the_carry_and_one_that_is_not_leaves_it() {
    for (text, before, after) in [
        ("movs r0, #0xff", true, true),
        ("movs r0, #0xff", false, false),
        ("movs r0, #0xf000000f", false, true),
        ("movs r0, #0x0ff00000", true, false),
        ("tst r0, #0x80000000", false, true),
    ] {
        let mut core = core(&arm(text));
        core.registers.set_flags(if before { Psr::C } else { 0 });
        run(&mut core, 1);
        assert_eq!(core.registers.cpsr().has(Psr::C), after, "{text}");
    }
}

/// The sum of two signed and two unsigned readings: result, carry and overflow by wide arithmetic.
fn wide(a: u32, b: u32, negated: bool, carry: bool) -> (u32, bool, bool) {
    let (sign, one) = if negated { (-1, -i64::from(!carry)) } else { (1, i64::from(carry)) };
    let unsigned = i64::from(a) + sign * i64::from(b) + one;
    let signed = i64::from(a.cast_signed()) + sign * i64::from(b.cast_signed()) + one;
    let result = u32::try_from(unsigned & 0xFFFF_FFFF).unwrap();
    let carry = if negated { unsigned >= 0 } else { unsigned > 0xFFFF_FFFF };
    (result, carry, signed != i64::from(result.cast_signed()))
}

/// The expected result and flags N Z C V of a data operation with S, from the flags C and V before.
fn expected(opcode: usize, a: u32, b: u32, (c, v): (bool, bool)) -> (u32, u32) {
    let (result, c, v) = match opcode {
        0 | 8 => (a & b, c, v),
        1 | 9 => (a ^ b, c, v),
        2 | 10 => wide(a, b, true, true),
        3 => wide(b, a, true, true),
        4 | 11 => wide(a, b, false, false),
        5 => wide(a, b, false, c),
        6 => wide(a, b, true, c),
        7 => wide(b, a, true, c),
        12 => (a | b, c, v),
        13 => (b, c, v),
        14 => (a & !b, c, v),
        _ => (!b, c, v),
    };
    let bit = |set: bool, place: u32| u32::from(set) << place;
    (result, bit(result >> 31 != 0, 3) | bit(result == 0, 2) | bit(c, 1) | bit(v, 0))
}

#[test]
fn data_operations_make_the_flags_of_wide_arithmetic() {
    let seed = 6;
    let mut stream = Seed::new(seed).stream("data");
    let template = arm("ands r0, r1, r2")[0];
    for opcode in 0..16 {
        let number = u32::try_from(opcode).unwrap();
        let mut core = core(&[template & !(15 << 21) | number << 21]);
        for round in 0..2_000 {
            let mut value = || match stream.below(3) {
                0 => EDGES[usize::try_from(stream.below(9)).unwrap()],
                _ => u32::try_from(stream.next_u64() >> 32).unwrap(),
            };
            let (a, b) = (value(), value());
            core.registers.pc = PROGRAM;
            core.registers.r[..3].copy_from_slice(&[0xDEAD_BEEF, a, b]);
            let flags = round % 16;
            core.registers.set_flags(flags << 28);
            run(&mut core, 1);
            let (result, set) = expected(opcode, a, b, (flags & 2 != 0, flags & 1 != 0));
            let kept = if (8..12).contains(&opcode) { 0xDEAD_BEEF } else { result };
            let got = (core.registers.r[0], nzcv(&core));
            assert_eq!(got, (kept, set), "seed {seed}: {opcode} {a:x} {b:x} {flags:x}");
        }
    }
}

#[test]
fn without_s_no_flag_changes() {
    let mut core = core(&arm("add r0, r1, r2; mul r0, r1, r2; mov r0, #0"));
    core.registers.set_flags(0xA000_0000);
    core.registers.r[1] = 0x8000_0000;
    core.registers.r[2] = 0x8000_0000;
    run(&mut core, 3);
    assert_eq!(nzcv(&core), 0xA);
}

#[test]
fn pc_reads_as_8_further_and_as_12_beside_a_shift_by_register() {
    for (text, offset) in [
        ("mov r0, pc", 8),
        ("add r0, pc, #0", 8),
        ("mov r0, pc, lsl r1", 12),
        ("add r0, pc, r1, lsl r1", 12),
    ] {
        let mut core = core(&arm(text));
        run(&mut core, 1);
        assert_eq!(core.registers.r[0], PROGRAM + offset, "{text}");
    }
}

#[test]
fn in_thumb_state_pc_reads_as_4_further_and_aligned_as_base() {
    let mut core = core_in_thumb(&thumb("nop; mov r0, pc; nop; add r1, pc, #4; ldr r2, [pc, #0]"));
    core.bus.put(0x100C, &[0x1234_5678]);
    run(&mut core, 5);
    assert_eq!(core.registers.r[0], PROGRAM + 6);
    assert_eq!(core.registers.r[1], PROGRAM + 8 + 4, "at 1006: 100A, aligned 1008");
    assert_eq!(core.registers.r[2], 0x1234_5678, "at 1008: 100C");
}

#[test]
fn a_result_in_pc_is_a_jump_without_change_of_state() {
    for text in ["mov pc, r0", "add pc, r0, #0"] {
        let mut core = core(&arm(text));
        core.registers.r[0] = 0x2003;
        run(&mut core, 1);
        assert_eq!((core.registers.pc, core.registers.cpsr().thumb()), (0x2000, false), "{text}");
    }
    let mut core = core_in_thumb(&thumb("mov pc, r0"));
    core.registers.r[0] = 0x2002;
    run(&mut core, 1);
    assert_eq!((core.registers.pc, core.registers.cpsr().thumb()), (0x2002, true));
    let mut core = core_in_thumb(&thumb("add pc, r0"));
    core.registers.r[0] = 0x101;
    run(&mut core, 1);
    assert_eq!(core.registers.pc, 0x1104);
}

#[test]
fn multiplies_make_the_products_of_wide_arithmetic() {
    let cases = arm("umulls r0, r1, r2, r3; smulls r0, r1, r2, r3; umlals r0, r1, r2, r3; \
                     smlals r0, r1, r2, r3; muls r0, r2, r3; mlas r0, r2, r3, r1");
    for (case, word) in cases.into_iter().enumerate() {
        for a in EDGES {
            for b in EDGES {
                let mut core = core(&[word]);
                core.registers.set_flags(Psr::C | Psr::V);
                core.registers.r[..4].copy_from_slice(&[0xFFFF_FFF0, 5, a, b]);
                run(&mut core, 1);
                let (unsigned, signed) = (
                    u128::from(a) * u128::from(b),
                    (i128::from(a.cast_signed()) * i128::from(b.cast_signed())).cast_unsigned(),
                );
                let sum = 0x5_FFFF_FFF0;
                let (product, bits) = match case {
                    0 => (unsigned, 64),
                    1 => (signed, 64),
                    2 => (unsigned + sum, 64),
                    3 => (signed.wrapping_add(sum), 64),
                    4 => (unsigned, 32),
                    _ => (unsigned + 5, 32),
                };
                let product = product & ((1 << bits) - 1);
                let flags = product >> (bits - 1) << 3 | u128::from(product == 0) << 2 | 3;
                let high = if bits == 64 { core.registers.r[1] } else { 0 };
                let got = u128::from(high) << 32 | u128::from(core.registers.r[0]);
                assert_eq!(got, product, "{case} {a:x} {b:x}");
                assert_eq!(u128::from(nzcv(&core)), flags, "{case} {a:x} {b:x}");
            }
        }
    }
}

#[test]
fn sixteen_bit_multiplies_take_halves_and_note_overflow_of_the_sum() {
    let (a, b) = (0x8000_7FFF, 0x0002_8000); // r1: -32768 and 32767; r2: 2 and -32768
    let cases = [
        ("smulbb r0, r1, r2", 0xC000_8000, false),
        ("smulbt r0, r1, r2", 0x0000_FFFE, false),
        ("smultb r0, r1, r2", 0x4000_0000, false),
        ("smultt r0, r1, r2", 0xFFFF_0000, false),
        ("smlatb r0, r1, r2, r3", 0xBFFF_FFFF, true),
        ("smlatt r0, r1, r2, r3", 0x7FFE_FFFF, false),
        ("smulwt r0, r1, r2", 0xFFFF_0000, false),
        ("smulwb r0, r1, r2", 0x3FFF_C000, false),
        ("smlawb r0, r1, r2, r3", 0xBFFF_BFFF, true),
        ("smlawt r0, r1, r2, r3", 0x7FFE_FFFF, false),
    ];
    for (text, result, overflow) in cases {
        let mut core = core(&arm(text));
        core.registers.r[..4].copy_from_slice(&[9, a, b, 0x7FFF_FFFF]);
        run(&mut core, 1);
        assert_eq!(core.registers.r[0], result, "{text}");
        assert_eq!(core.registers.cpsr().has(Psr::Q), overflow, "{text}");
    }
    let mut core = core(&arm("smlaltb r0, r3, r1, r2"));
    core.registers.r[..4].copy_from_slice(&[0xFFFF_FFFF, a, b, 0x7FFF_FFFF]);
    run(&mut core, 1);
    assert_eq!((core.registers.r[3], core.registers.r[0]), (0x8000_0000, 0x3FFF_FFFF));
    assert!(!core.registers.cpsr().has(Psr::Q));
}

#[test]
fn saturating_sums_stay_in_range_and_q_stays_set() {
    let (max, min) = (0x7FFF_FFFF, 0x8000_0000);
    let cases = [
        ("qadd r0, r1, r2", max, 1, max, true),
        ("qadd r0, r1, r2", min, 0xFFFF_FFFF, min, true),
        ("qadd r0, r1, r2", 5, 6, 11, false),
        ("qsub r0, r1, r2", min, 1, min, true),
        ("qsub r0, r1, r2", 0, min, max, true),
        ("qsub r0, r1, r2", 5, 6, 0xFFFF_FFFF, false),
        ("qdadd r0, r1, r2", 1, 0x4000_0000, max, true),
        ("qdadd r0, r1, r2", 0xFFFF_FFFF, 0x4000_0000, 0x7FFF_FFFE, true),
        ("qdadd r0, r1, r2", 1, 3, 7, false),
        ("qdsub r0, r1, r2", 0, 0xC000_0000, max, true),
        ("qdsub r0, r1, r2", 0, 0xBFFF_FFFF, max, true),
        ("qdsub r0, r1, r2", 1, 3, 0xFFFF_FFFB, false),
    ];
    for (text, a, b, result, saturated) in cases {
        let mut core = core(&[arm(text), arm("qadd r3, r3, r3")].concat());
        (core.registers.r[1], core.registers.r[2]) = (a, b);
        run(&mut core, 2);
        assert_eq!(core.registers.r[0], result, "{text} {a:x} {b:x}");
        assert_eq!(core.registers.cpsr().has(Psr::Q), saturated, "{text} {a:x} {b:x}");
        assert_eq!(nzcv(&core), 0);
    }
}

#[test]
fn leading_zeros_are_counted_to_32() {
    for (value, zeros) in [(0, 32), (1, 31), (0x8000_0000, 0), (0x0001_0000, 15)] {
        let mut core = core(&arm("clz r0, r1"));
        core.registers.r[1] = value;
        run(&mut core, 1);
        assert_eq!(core.registers.r[0], zeros);
    }
}

#[test]
fn branches_go_relative_to_pc_and_link_the_next_instruction() {
    let cases: [(&str, u32, u32, bool); 6] = [
        ("b .+0x100", 0x1100, 7, false),
        ("bl .-0x100", 0xF00, 0x1004, false),
        ("blx .+0x102", 0x1102, 0x1004, true),
        ("blx .+0x100", 0x1100, 0x1004, true),
        ("bx r0", 0x2002, 7, true),
        ("blx r0", 0x2002, 0x1004, true),
    ];
    for (text, target, link, state) in cases {
        let mut core = core(&arm(text));
        (core.registers.r[0], core.registers.r[14]) = (0x2003, 7);
        run(&mut core, 1);
        let registers = &core.registers;
        let got = (registers.pc, registers.r[14], registers.cpsr().thumb());
        assert_eq!(got, (target, link, state), "{text}");
    }
}

#[test]
fn a_call_through_the_link_register_reads_it_first() {
    let mut core = core(&arm("blx lr"));
    core.registers.r[14] = 0x2001;
    run(&mut core, 1);
    assert_eq!((core.registers.pc, core.registers.r[14]), (0x2000, 0x1004));
}

#[test]
fn thumb_branches_go_relative_to_pc() {
    let cases: [(&str, u32, bool); 6] = [
        ("b .+0x100", 0x1100, true),
        ("b .-0x100", 0xF00, true),
        ("beq .+0x20", 0x1020, true),
        ("bne .-0x20", 0x1002, true),
        ("bx r0", 0x2000, false),
        ("bx pc", 0x1004, false),
    ];
    for (text, target, state) in cases {
        let mut core = core_in_thumb(&thumb(text));
        core.registers.set_flags(Psr::Z);
        core.registers.r[0] = 0x2000;
        run(&mut core, 1);
        assert_eq!((core.registers.pc, core.registers.cpsr().thumb()), (target, state), "{text}");
    }
    let mut core = core_in_thumb(&thumb("blx r0"));
    core.registers.r[0] = 0x2001;
    run(&mut core, 1);
    assert_eq!((core.registers.pc, core.registers.r[14]), (0x2000, 0x1003));
}

#[test]
fn a_thumb_call_is_two_instructions() {
    // From 0x1000: bl to 0x1000 + 4 + 0x1000 + 0x22; blx likewise to a multiple of four.
    for (halves, target, state) in [
        ([0xF001, 0xF811], 0x2026, true),
        ([0xF001, 0xE812], 0x2028, false),
        ([0xF7FF, 0xFFFE], 0x1000, true),
    ] {
        let mut core = core_in_thumb(&halves);
        run(&mut core, 1);
        assert_eq!(core.registers.pc, 0x1002, "the first half only makes the upper part");
        run(&mut core, 1);
        let registers = &core.registers;
        assert_eq!((registers.pc, registers.cpsr().thumb()), (target, state));
        assert_eq!(registers.r[14], 0x1005);
    }
}

#[test]
fn thumb_arithmetic_sets_flags_and_high_registers_do_not() {
    let mut core = core_in_thumb(&thumb(
        "movs r0, #0; subs r0, #1; adds r1, r0, r0; negs r2, r1; muls r2, r1; mov r8, r2; add r8, r1; cmp r8, r1; lsrs r3, r0, #32; rors r0, r1",
    ));
    run(&mut core, 1);
    assert_eq!(nzcv(&core), 0b0100);
    run(&mut core, 1);
    assert_eq!((core.registers.r[0], nzcv(&core)), (0xFFFF_FFFF, 0b1000));
    run(&mut core, 1);
    assert_eq!((core.registers.r[1], nzcv(&core)), (0xFFFF_FFFE, 0b1010));
    run(&mut core, 1);
    assert_eq!((core.registers.r[2], nzcv(&core)), (2, 0b0000));
    run(&mut core, 1);
    assert_eq!((core.registers.r[2], nzcv(&core)), (0xFFFF_FFFC, 0b1000));
    run(&mut core, 2);
    assert_eq!((core.registers.r[8], nzcv(&core)), (0xFFFF_FFFA, 0b1000), "flags as before");
    run(&mut core, 1);
    assert_eq!(nzcv(&core), 0b1000, "FFFFFFFA is below FFFFFFFE");
    run(&mut core, 1);
    assert_eq!((core.registers.r[3], nzcv(&core)), (0, 0b0110));
}

#[test]
fn user_mode_writes_the_flags_of_its_status_only() {
    let mut core = core(&arm("msr CPSR_fsxc, r0; mrs r1, CPSR"));
    enter(&mut core, Mode::User);
    core.registers.r[0] = 0xFFFF_FFFF;
    run(&mut core, 2);
    let status = 0xF800_0000 | Psr::I | Psr::F | Mode::User.bits();
    assert_eq!(core.registers.cpsr(), Psr(status));
    assert_eq!(core.registers.r[1], status);
}

#[test]
fn the_field_mask_names_the_bytes_that_are_written() {
    let before = Psr(Psr::I | Psr::F | Mode::Supervisor.bits());
    let value = Psr::N | Psr::Q | Mode::Irq.bits();
    for (text, after) in [
        ("msr CPSR_c, r0", Mode::Irq.bits()),
        ("msr CPSR_f, r0", before.0 | Psr::N | Psr::Q),
        ("msr CPSR_sx, r0", before.0),
        ("msr CPSR_fc, r0", value),
    ] {
        let mut core = core(&arm(text));
        core.registers.r[0] = value;
        run(&mut core, 1);
        assert_eq!(core.registers.cpsr(), Psr(after), "{text}");
    }
}

#[test]
fn a_status_write_changes_neither_the_state_nor_to_a_mode_that_there_is_not() {
    let mut core = core(&arm("msr CPSR_c, r0; msr CPSR_c, r1; mov r2, #1"));
    core.registers.r[0] = Psr::T | Mode::Irq.bits();
    core.registers.r[1] = Psr::F | 0x14;
    run(&mut core, 3);
    assert_eq!(core.registers.cpsr(), Psr(Psr::F | Mode::Irq.bits()));
    assert_eq!(core.registers.r[2], 1);
}

#[test]
fn each_privileged_mode_has_its_own_saved_status_and_user_mode_none() {
    let write = arm("msr SPSR_fsxc, r0; mrs r1, SPSR");
    for mode in [Mode::Fiq, Mode::Irq, Mode::Supervisor, Mode::Abort, Mode::Undefined] {
        let mut core = core(&write);
        enter(&mut core, mode);
        core.registers.r[0] = 0x6000_0030;
        run(&mut core, 2);
        assert_eq!(core.registers.r[1], 0x6000_0030, "{mode:?}");
        enter(&mut core, Mode::System);
        assert_eq!(core.registers.spsr(), core.registers.cpsr());
    }
}

#[test]
fn preloads_and_words_that_should_be_hints_do_nothing() {
    let mut core = core(&arm("pld [r0, #4]; pld [r0, -r1, lsl #2]; mov r2, #1"));
    core.registers.r[0] = 0xFFFF_0000;
    run(&mut core, 3);
    assert_eq!((core.registers.r[2], core.counts.exceptions), (1, [0; 8]));
}
