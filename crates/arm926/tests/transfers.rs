//! Loads and stores: addresses, sizes, rotation, the base, lists, aborts.

use crate::rig::{DATA, PROGRAM, SIZE, arm, core, core_in_thumb, enter, run, thumb, word};
use boardlab_arm926::{Exception, Mode, Processor, Psr, Ram};

/// Fills the words around [`DATA`].
fn pattern(core: &mut Processor<Ram>) {
    let words: Vec<u32> = (0..64).map(|index| 0x8070_6000 + 4 * index).collect();
    core.bus.put((DATA - 128) as usize, &words);
}

/// The value that [`pattern`] stores at `at`.
const fn filled(at: u32) -> u32 {
    0x8070_6000 + at - (DATA - 128)
}

#[test]
fn each_form_of_address_moves_the_base_as_it_says() {
    let cases = [
        ("ldr r0, [r1]", DATA, DATA),
        ("ldr r0, [r1, #8]", DATA + 8, DATA),
        ("ldr r0, [r1, #-8]", DATA - 8, DATA),
        ("ldr r0, [r1, #8]!", DATA + 8, DATA + 8),
        ("ldr r0, [r1], #-8", DATA, DATA - 8),
        ("ldr r0, [r1, r2]", DATA + 8, DATA),
        ("ldr r0, [r1, -r2]!", DATA - 8, DATA - 8),
        ("ldr r0, [r1, r2, lsl #1]", DATA + 16, DATA),
        ("ldr r0, [r1, r2, lsr #1]", DATA + 4, DATA),
        ("ldr r0, [r1, r2, lsr #32]", DATA, DATA),
        ("ldr r0, [r1, r3, asr #29]", DATA - 4, DATA),
        ("ldr r0, [r1], -r2, ror #1", DATA, DATA - 4),
        ("ldr r0, [r1, r2, rrx]", DATA + 4, DATA),
        ("ldrt r0, [r1], #4", DATA, DATA + 4),
    ];
    for (text, from, base) in cases {
        let mut core = core(&arm(text));
        pattern(&mut core);
        core.registers.r[1..4].copy_from_slice(&[DATA, 8, 0x8000_0000]);
        run(&mut core, 1);
        assert_eq!(core.registers.r[..2], [filled(from), base], "{text}");
    }
}

#[test]
fn half_words_and_double_words_have_the_same_forms() {
    let cases = [
        ("ldrh r0, [r1, #2]!", 0x8070, DATA + 2),
        ("ldrh r0, [r1], #4", filled(DATA) & 0xFFFF, DATA + 4),
        ("ldrsh r0, [r1, #2]", 0xFFFF_8070, DATA),
        ("ldrsb r0, [r1, #3]", 0xFFFF_FF80, DATA),
        ("ldrsb r0, [r1, r2]", 0x70, DATA),
        ("ldrb r0, [r1, #3]", 0x80, DATA),
        ("ldrd r2, [r1, #-8]!", 0, DATA - 8),
    ];
    for (text, value, base) in cases {
        let mut core = core(&arm(text));
        pattern(&mut core);
        core.registers.r[1..4].copy_from_slice(&[DATA, 2, 0]);
        run(&mut core, 1);
        assert_eq!(core.registers.r[..2], [value, base], "{text}");
        if text.starts_with("ldrd") {
            assert_eq!(core.registers.r[2..4], [filled(DATA - 8), filled(DATA - 4)]);
        }
    }
}

#[test]
fn stores_write_their_size_and_leave_what_lies_beside() {
    let cases = [
        ("str r0, [r1, #4]!", [0, 0xA1B2_C3D4, 0], 4),
        ("strb r0, [r1, #1]", [0xD400, 0, 0], 0),
        ("strb r0, [r1], #4", [0xD4, 0, 0], 4),
        ("strh r0, [r1, #2]", [0xC3D4_0000, 0, 0], 0),
        ("strd r0, [r1], #8", [0xA1B2_C3D4, DATA, 0], 8),
        ("strd r0, [r1, #4]", [0, 0xA1B2_C3D4, DATA], 0),
        ("str r1, [r1, #8]!", [0, 0, DATA], 8),
    ];
    for (text, words, moved) in cases {
        let mut core = core(&arm(text));
        core.registers.r[..2].copy_from_slice(&[0xA1B2_C3D4, DATA]);
        run(&mut core, 1);
        let found = [0, 4, 8].map(|offset| word(&core, DATA + offset));
        assert_eq!(found, words, "{text}");
        assert_eq!(core.registers.r[1], DATA + moved, "{text}");
    }
}

#[test]
fn a_word_from_an_odd_address_is_rotated_and_a_store_there_truncated() {
    for (low, value) in [(1, 0x1144_3322), (2, 0x2211_4433), (3, 0x3322_1144)] {
        let mut core =
            core(&arm("ldr r0, [r1]; swp r2, r3, [r1]; str r3, [r1, #4]; strh r3, [r1, #8]"));
        core.bus.put(DATA as usize, &[0x4433_2211]);
        core.registers.r[1] = DATA + low;
        core.registers.r[3] = 0x0102_0304;
        run(&mut core, 4);
        assert_eq!(core.registers.r[0], value);
        assert_eq!(core.registers.r[2], value, "SWP rotates what it loads");
        assert_eq!(word(&core, DATA), 0x0102_0304, "and not what it stores");
        assert_eq!(word(&core, DATA + 4), 0x0102_0304);
        assert_eq!(word(&core, DATA + 8), if low < 2 { 0x0304 } else { 0x0304_0000 });
    }
}

#[test]
fn half_words_double_words_and_lists_ignore_the_lowest_bits() {
    let mut core =
        core(&arm("ldrh r0, [r1]; ldrsh r2, [r1, #2]; ldrd r4, [r1, #2]; ldm r1!, {r6, r7}"));
    core.bus.put(DATA as usize, &[0x8433_2211, 0x5566_7788]);
    core.registers.r[1] = DATA + 1;
    run(&mut core, 4);
    assert_eq!(core.registers.r[0], 0x2211);
    assert_eq!(core.registers.r[2], 0xFFFF_8433);
    assert_eq!(core.registers.r[4..8], [0x8433_2211, 0x5566_7788, 0x8433_2211, 0x5566_7788]);
    assert_eq!(core.registers.r[1], DATA + 9, "the base keeps its lowest bits");
}

#[test]
fn a_rotated_load_takes_a_cycle_longer_to_be_used() {
    let cycles = |low| {
        let mut core = core(&arm("ldr r0, [r1]; add r0, r0, r0"));
        core.registers.r[1] = DATA + low;
        run(&mut core, 2);
        core.now.0
    };
    assert_eq!(cycles(1), cycles(0) + 1);
}

#[test]
fn a_loaded_base_keeps_what_was_loaded() {
    // ldr r1, [r1], #4 and ldr r1, [r1, #0]!, which the assembler rejects.
    for word in [0xE491_1004, 0xE5B1_1000] {
        let mut core = core(&[word]);
        pattern(&mut core);
        core.registers.r[1] = DATA;
        run(&mut core, 1);
        assert_eq!(core.registers.r[1], filled(DATA), "{word:x}");
    }
}

#[test]
fn swap_exchanges_words_and_bytes() {
    let mut core = core(&arm("swp r0, r0, [r1]; swpb r2, r0, [r1]"));
    core.bus.put(DATA as usize, &[0x1122_3344]);
    core.registers.r[..2].copy_from_slice(&[0xAABB_CCDD, DATA]);
    run(&mut core, 2);
    assert_eq!((core.registers.r[0], core.registers.r[2]), (0x1122_3344, 0xDD));
    assert_eq!(word(&core, DATA), 0xAABB_CC44);
}

#[test]
fn a_list_lies_with_its_lowest_register_at_the_lowest_address() {
    let cases = [
        ("stm r0!, {r1, r2, r3}", 0, 12),
        ("stmib r0!, {r1, r2, r3}", 4, 12),
        ("stmda r0!, {r1, r2, r3}", -8, -12),
        ("stmdb r0!, {r1, r2, r3}", -12, -12),
        ("stmdb r0, {r1, r2, r3}", -12, 0),
    ];
    let loads = arm("ldm r0!, {r4, r5, r6}; ldmib r0!, {r4, r5, r6}; ldmda r0!, {r4, r5, r6}; \
                     ldmdb r0!, {r4, r5, r6}; ldmdb r0, {r4, r5, r6}");
    for ((text, first, moved), load) in cases.into_iter().zip(loads) {
        let mut core = core(&[arm(text)[0], load]);
        core.registers.r[..4].copy_from_slice(&[DATA, 1, 2, 3]);
        run(&mut core, 1);
        let first = DATA.wrapping_add_signed(first);
        let found = [0, 4, 8].map(|offset| word(&core, first + offset));
        assert_eq!(found, [1, 2, 3], "{text}");
        let moved = DATA.wrapping_add_signed(moved);
        assert_eq!(core.registers.r[0], moved, "{text}");
        core.registers.r[0] = DATA;
        run(&mut core, 1);
        assert_eq!(core.registers.r[4..7], [1, 2, 3], "{text}");
        assert_eq!(core.registers.r[0], moved);
    }
}

#[test]
fn pc_is_stored_as_12_further() {
    let mut core = core(&arm("str pc, [r1]; stm r2, {r0, pc}"));
    core.registers.r[1..3].copy_from_slice(&[DATA, DATA + 4]);
    run(&mut core, 2);
    assert_eq!(word(&core, DATA), PROGRAM + 12);
    assert_eq!(word(&core, DATA + 8), PROGRAM + 16);
}

/// LDM and STM with the base in the list, ldm r2!, {..}, which the assembler rejects or warns of.
fn list_with_base(load: bool, list: u32) -> Processor<Ram> {
    let mut core = core(&[(if load { 0xE8B2_0000 } else { 0xE8A2_0000 }) | list]);
    core.bus.put(DATA as usize, &[0x111, 0x222, 0x333]);
    core.registers.r[..4].copy_from_slice(&[10, 11, DATA, 13]);
    run(&mut core, 1);
    core
}

#[test]
fn a_base_in_its_list_is_stored_as_it_was() {
    for list in [0b0100, 0b1100, 0b0110, 0b1110] {
        let core = list_with_base(false, list);
        let offset = if list & 2 != 0 { 4 } else { 0 };
        assert_eq!(word(&core, DATA + offset), DATA, "{list:b}");
        assert_eq!(core.registers.r[2], DATA + 4 * list.count_ones());
    }
}

#[test]
fn a_base_in_its_list_is_written_back_unless_it_is_the_last_of_several() {
    for (list, base) in
        [(0b0100, DATA + 4), (0b1100, DATA + 8), (0b0110, 0x222), (0b1110, DATA + 12)]
    {
        assert_eq!(list_with_base(true, list).registers.r[2], base, "{list:b}");
    }
    let mut core = core_in_thumb(&[0xCA04 | 1]);
    core.bus.put(DATA as usize, &[0x111, 0x222]);
    core.registers.r[2] = DATA;
    run(&mut core, 1);
    assert_eq!(core.registers.r[2], 0x222, "Thumb LDMIA does not write a loaded base back");
}

#[test]
fn an_empty_list_moves_the_base_by_64_and_nothing_else() {
    for (word, base) in [(0xE8B2_0000, DATA + 64), (0xE922_0000, DATA - 64), (0xE892_0000, DATA)] {
        let mut core = core(&[word]);
        core.registers.r[2] = DATA;
        run(&mut core, 1);
        assert_eq!((core.registers.r[2], core.registers.pc), (base, PROGRAM + 4), "{word:x}");
    }
}

#[test]
fn the_s_bit_means_the_registers_of_user_mode() {
    let mut core = core(&arm("stm r0, {r1, r8, sp, lr}^; ldm r2, {r1, r8, sp, lr}^"));
    enter(&mut core, Mode::User);
    core.registers.r[8..15].copy_from_slice(&[8, 9, 10, 11, 12, 13, 14]);
    enter(&mut core, Mode::Fiq);
    core.registers.r.copy_from_slice(&[
        DATA,
        1,
        DATA + 0x80,
        0,
        0,
        0,
        0,
        0,
        80,
        90,
        0,
        0,
        0,
        130,
        140,
    ]);
    core.bus.put((DATA + 0x80) as usize, &[21, 28, 33, 34]);
    run(&mut core, 2);
    let found = [0, 4, 8, 12].map(|offset| word(&core, DATA + offset));
    assert_eq!(found, [1, 8, 13, 14]);
    assert_eq!((core.registers.r[1], core.registers.r[8], core.registers.r[13]), (21, 80, 130));
    enter(&mut core, Mode::User);
    assert_eq!((core.registers.r[8], core.registers.r[13], core.registers.r[14]), (28, 33, 34));
}

#[test]
fn loads_to_pc_take_bit_0_as_the_state() {
    for (text, value, pc, state) in [
        ("ldr pc, [r1]", 0x2001, 0x2000, true),
        ("ldr pc, [r1]", 0x2000, 0x2000, false),
        ("ldr pc, [r1]", 0x2002, 0x2000, false),
        ("ldm r1!, {r0, pc}", 0x2003, 0x2002, true),
        ("ldm r1!, {r0, pc}", 0x2004, 0x2004, false),
    ] {
        let mut core = core(&arm(text));
        core.bus.put(DATA as usize, &[value, value]);
        core.registers.r[1] = DATA;
        run(&mut core, 1);
        assert_eq!((core.registers.pc, core.registers.cpsr().thumb()), (pc, state), "{text}");
    }
    for (value, pc, state) in [(0x2000, 0x2000, false), (0x2003, 0x2002, true)] {
        let mut core = core_in_thumb(&thumb("pop {r0, pc}"));
        core.bus.put(DATA as usize, &[7, value]);
        core.registers.r[13] = DATA;
        run(&mut core, 1);
        assert_eq!((core.registers.pc, core.registers.cpsr().thumb()), (pc, state));
        assert_eq!((core.registers.r[0], core.registers.r[13]), (7, DATA + 8));
    }
}

#[test]
fn thumb_loads_and_stores_scale_their_offsets() {
    let program = thumb(
        "push {r0, r1, lr}; ldr r2, [sp, #4]; str r2, [r3, #8]; strb r2, [r3, #1]; strh r2, [r3, #2]; ldrh r4, [r3, #2]; \
         ldrsb r5, [r3, r0]; stmia r3!, {r0, r1}; add sp, #12; sub sp, #4; ldrsh r6, [r7, r0]",
    );
    let mut core = core_in_thumb(&program);
    core.registers.r[..2].copy_from_slice(&[1, 0x89AB_CDEF]);
    core.registers.r[3] = DATA;
    core.registers.r[7] = DATA + 1;
    core.registers.r[13] = 0x8000;
    core.registers.r[14] = 0x77;
    run(&mut core, 7);
    let stack = [0x7FF4, 0x7FF8, 0x7FFC].map(|at| word(&core, at));
    assert_eq!(stack, [1, 0x89AB_CDEF, 0x77]);
    assert_eq!(word(&core, DATA + 8), 0x89AB_CDEF);
    assert_eq!(word(&core, DATA), 0xCDEF_EF00);
    assert_eq!(core.registers.r[4..6], [0xCDEF, 0xFFFF_FFEF]);
    run(&mut core, 4);
    assert_eq!([word(&core, DATA), word(&core, DATA + 4)], [1, 0x89AB_CDEF]);
    assert_eq!((core.registers.r[3], core.registers.r[13]), (DATA + 8, 0x7FFC));
    assert_eq!(core.registers.r[6], 0);
}

/// Executes one instruction that accesses, by `r1`, an address beyond memory.
fn aborted(text: &str, base: u32) -> Processor<Ram> {
    let mut core = core(&arm(text));
    let registers: Vec<u32> = (0..13).map(|index| 0x50 + index).collect();
    core.registers.r[..13].copy_from_slice(&registers);
    core.registers.r[1] = base;
    run(&mut core, 1);
    assert_eq!(core.counts.exceptions[Exception::DataAbort as usize], 1, "{text}");
    assert_eq!(core.registers.r[14], PROGRAM + 8);
    assert_eq!(core.registers.spsr(), Psr(Psr::I | Psr::F | Mode::Supervisor.bits()));
    core
}

#[test]
fn an_abort_leaves_every_register() {
    let texts = [
        "ldr r0, [r1, #4]!",
        "ldr r0, [r1], #4",
        "str r0, [r1, #4]!",
        "str r0, [r1], #-4",
        "ldrh r0, [r1, #2]!",
        "ldrt r0, [r1], #4",
        "strd r2, [r1, #4]!",
        "ldrd r2, [r1, #4]!",
        "ldm r1!, {r0, pc}",
        "ldm r1, {r0, r1, r2}",
        "ldm r1!, {r0, r2, pc}^",
        "ldmdb r1!, {r0, r2, r3}",
        "stm r1!, {r0, r2}",
        "stmdb r1!, {r0, r2}",
        "swp r0, r2, [r1]",
        "swpb r0, r2, [r1]",
    ];
    for text in texts {
        let base = SIZE + 0x100;
        let core = aborted(text, base);
        for (index, &value) in (0..).zip(&core.registers.r[..13]) {
            let expected = if index == 1 { base } else { 0x50 + index };
            assert_eq!(value, expected, "{text}: r{index}");
        }
    }
}

#[test]
fn an_abort_in_the_middle_of_a_list_leaves_every_register() {
    for text in ["ldm r1!, {r0, r2, r3}", "ldrd r2, [r1], #8", "ldm r1, {r0, r1, r2}"] {
        let core = aborted(text, SIZE - 4);
        assert_eq!(core.registers.r[..4], [0x50, SIZE - 4, 0x52, 0x53], "{text}");
    }
    let core = aborted("stm r1!, {r0, r2}", SIZE - 4);
    assert_eq!(core.registers.r[1], SIZE - 4);
    assert_eq!(word(&core, SIZE - 4), 0x50, "what came before the abort is written");
}

#[test]
fn an_abort_of_a_transfer_of_user_registers_leaves_them() {
    let mut core = core(&arm("ldm r1, {r0, sp, lr}^"));
    enter(&mut core, Mode::System);
    core.registers.r[13..15].copy_from_slice(&[33, 34]);
    enter(&mut core, Mode::Supervisor);
    core.registers.r[1] = SIZE - 8;
    run(&mut core, 1);
    assert_eq!(
        (core.registers.user()[13], core.registers.user()[14], core.registers.r[0]),
        (33, 34, 0)
    );
}
