//! Instructions and the MMU: user-mode permissions, aborts at a section boundary, alignment, and the
//! instructions that are fetched after a write of the FCSE PID.

use crate::rig::{PROGRAM, arm, enter, run, word};
use boardlab_arm926::instruction::CoprocessorAccess;
use boardlab_arm926::{Config, Exception, Mode, Processor, Ram, Register, Waits};

const TABLE: u32 = 0x4000;

/// Sections of a megabyte by virtual address; all but the last map to the first megabyte of memory.
const OPEN: u32 = 0x0000_0000;
const PRIVILEGED: u32 = 0x0010_0000;
const READ_ONLY: u32 = 0x0020_0000;
const UNMAPPED: u32 = 0x0030_0000;

/// The offset in each section that the tests read and write.
const DATA: u32 = 0x8000;

/// Bits of the control register: MMU, alignment faults.
const MMU: u32 = 1;
const ALIGNMENT: u32 = 2;

fn access(crn: u8) -> CoprocessorAccess {
    let rd = Register::field(0);
    CoprocessorAccess { load: false, coprocessor: 15, opcode1: 0, crn, crm: 0, opcode2: 0, rd }
}

fn control(core: &mut Processor<Ram>, crn: u8, value: u32) {
    core.memory.control_write(&access(crn), value, &mut core.bus, &mut core.now).unwrap();
}

fn status(core: &mut Processor<Ram>) -> (u32, u32) {
    let mut read = |crn| core.memory.control_read(&access(crn), &mut core.bus, &mut core.now);
    (read(5).unwrap() & 15, read(6).unwrap())
}

/// A core before the program `words`, with the MMU enabled and `bits` set in the control register.
fn core(words: &[u32], bits: u32) -> Processor<Ram> {
    let config = Config { stop_without_handler: false, ..Config::default() };
    let mut core = Processor::new(&config, Ram::new(2 << 20, Waits::default()));
    // The permission bits are 11 (all), 01 (privileged), 10 (user mode reads); domain 0, no cache.
    for (section, entry) in [(0, 0xC12), (1, 0x412), (2, 0x812), (3, 0), (32, 0x10_0C12)] {
        core.bus.put((TABLE + 4 * section) as usize, &[entry]);
    }
    core.bus.put(PROGRAM as usize, words);
    core.bus.put(DATA as usize, &[0x1111, 0x2222, 0x3333]);
    core.registers.pc = PROGRAM;
    control(&mut core, 2, TABLE);
    control(&mut core, 3, 1);
    control(&mut core, 1, MMU | bits);
    core
}

/// Executes one instruction on `r1`; returns the status of its data abort. An abort changes only r14.
fn fault(text: &str, base: u32, mode: Mode, bits: u32) -> Option<(u32, u32)> {
    let mut core = core(&arm(text), bits);
    enter(&mut core, mode);
    core.registers.r[..4].copy_from_slice(&[0xA0, base, 0xA2, 0xA3]);
    run(&mut core, 1);
    if core.counts.exceptions[Exception::DataAbort as usize] == 0 {
        assert_eq!(core.counts.exceptions, [0; 8]);
        return None;
    }
    assert_eq!(core.registers.r[..4], [0xA0, base, 0xA2, 0xA3], "{text}");
    assert_eq!((core.registers.pc, core.registers.r[14]), (0x10, PROGRAM + 8));
    Some(status(&mut core))
}

/// The fault status of a section permission fault.
const PERMISSION: u32 = 13;
const TRANSLATION: u32 = 5;

#[test]
fn t_instructions_have_the_permissions_of_user_mode() {
    let texts = [
        ("ldr r0, [r1], #4", false, false),
        ("str r0, [r1], #4", false, true),
        ("ldrt r0, [r1], #4", true, false),
        ("strt r0, [r1], #4", true, true),
        ("ldrbt r0, [r1], #4", true, false),
        ("strbt r0, [r1], #4", true, true),
        ("swp r0, r2, [r1]", false, true),
        ("ldm r1!, {r0, r2}", false, false),
        ("stm r1!, {r0, r2}", false, true),
        ("ldm r1, {r0, sp}^", false, false),
    ];
    for (text, as_user, writes) in texts {
        for mode in [Mode::Supervisor, Mode::User, Mode::System] {
            let user = as_user || mode == Mode::User;
            for (section, forbidden) in
                [(OPEN, false), (PRIVILEGED, user), (READ_ONLY, user && writes)]
            {
                let expected = forbidden.then_some((PERMISSION, section + DATA));
                assert_eq!(fault(text, section + DATA, mode, 0), expected, "{text} {mode:?}");
            }
        }
    }
}

#[test]
fn a_swap_that_may_not_write_has_not_loaded_either() {
    let mut core = core(&arm("swp r0, r2, [r1]"), 0);
    enter(&mut core, Mode::User);
    core.registers.r[..3].copy_from_slice(&[0xA0, READ_ONLY + DATA, 0xA2]);
    run(&mut core, 1);
    assert_eq!((core.registers.r[0], word(&core, DATA)), (0xA0, 0x1111));
    assert_eq!(status(&mut core), (PERMISSION, READ_ONLY + DATA));
}

#[test]
fn a_list_across_a_border_aborts_where_it_leaves_the_section() {
    for text in ["ldm r1!, {r0, r2, r3}", "ldrd r2, [r1, #4]!", "stm r1!, {r0, r2, r3}"] {
        let expected = Some((TRANSLATION, UNMAPPED));
        assert_eq!(fault(text, UNMAPPED - 8, Mode::Supervisor, 0), expected, "{text}");
    }
    let expected = Some((TRANSLATION, UNMAPPED));
    assert_eq!(fault("strd r2, [r1], #8", UNMAPPED - 4, Mode::Supervisor, 0), expected);
    let expected = Some((TRANSLATION, UNMAPPED + 0xF_FFF8));
    assert_eq!(fault("ldmdb r1!, {r0, r2, r3}", 0x0040_0004, Mode::Supervisor, 0), expected);
}

#[test]
fn alignment_faults_come_with_words_and_half_words_only() {
    let cases = [
        ("ldr r0, [r1], #4", [true, true, true]),
        ("str r0, [r1], #4", [true, true, true]),
        ("ldrh r0, [r1], #4", [true, false, true]),
        ("strh r0, [r1], #4", [true, false, true]),
        ("ldrsh r0, [r1], #4", [true, false, true]),
        ("ldrb r0, [r1], #4", [false; 3]),
        ("swp r0, r2, [r1]", [true, true, true]),
        ("swpb r0, r2, [r1]", [false; 3]),
        ("ldm r1!, {r0, r2}", [true, true, true]),
        ("strd r2, [r1], #8", [true, true, true]),
    ];
    for (text, faults) in cases {
        for (low, faults) in (1..).zip(faults) {
            let at = OPEN + DATA + low;
            let got = fault(text, at, Mode::User, ALIGNMENT);
            assert_eq!(got, faults.then_some((1, at)), "{text} {low}");
            assert_eq!(fault(text, at, Mode::User, 0), None, "{text} {low}");
        }
        assert_eq!(fault(text, OPEN + DATA, Mode::User, ALIGNMENT), None);
    }
}

/// A program whose first instruction writes the PID. It counts in r2 in the old slot, in r3 in the new
/// one.
fn switched(text: &str) -> Processor<Ram> {
    let mut core = core(&arm(text), 0);
    core.bus.put((0x10_0000 + PROGRAM) as usize, &[arm("add r3, r3, #1")[0]; 8]);
    core.registers.r[0] = 1 << 25;
    core.registers.r[2..4].copy_from_slice(&[0, 0]);
    run(&mut core, 5);
    core
}

#[test]
fn two_instructions_follow_a_new_process_number_in_the_old_slot() {
    let core = switched(
        "mcr p15, 0, r0, c13, c0, 0; add r2, r2, #1; add r2, r2, #1; add r2, r2, #1; add r2, r2, #1",
    );
    assert_eq!(core.registers.r[2..4], [2, 2]);
    let core = switched(
        "mcr p15, 0, r0, c13, c0, 0; addeq r2, r2, #1; addeq r2, r2, #1; add r2, r2, #1; add r2, r2, #1",
    );
    assert_eq!(core.registers.r[2..4], [0, 2], "skipped ones count as well");
}

#[test]
fn a_jump_goes_to_the_new_slot_at_once() {
    let core = switched("mcr p15, 0, r0, c13, c0, 0; b .+4; add r2, r2, #1; add r2, r2, #1");
    assert_eq!(core.registers.r[2..4], [0, 3]);
    let core = switched("mcr p15, 0, r0, c13, c0, 0; svc #1; add r2, r2, #1; add r2, r2, #1");
    assert_eq!((core.registers.r[2], core.registers.cpsr().mode()), (0, Mode::Supervisor));
    assert_eq!(core.counts.exceptions[Exception::SoftwareInterrupt as usize], 1);
}
