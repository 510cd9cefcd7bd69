//! Exceptions: entry from each mode and state, return, priority, interrupts at any boundary, sleep.

use crate::rig::{
    DATA, PROGRAM, SIZE, arm, core, core_in_thumb, enter, put_halves, run, thumb, word,
};
use boardlab_arm926::{
    Config, Cycles, Event, Exception, Limit, Mode, Processor, Psr, Ram, Recorder, Stop, Waits,
};

const HANDLERS: [Exception; 6] = [
    Exception::Undefined,
    Exception::SoftwareInterrupt,
    Exception::PrefetchAbort,
    Exception::DataAbort,
    Exception::Irq,
    Exception::Fiq,
];

/// A core in user mode with interrupts enabled, whose next step takes `exception`; `mov r5, #1`
/// follows.
fn before(exception: Exception, in_thumb: bool, high: bool) -> Processor<Ram> {
    let config = Config { stop_without_handler: false, high_vectors: high, ..Config::default() };
    let mut core = Processor::new(&config, Ram::new(SIZE as usize, Waits::default()));
    let (words, halves) = match exception {
        Exception::Undefined => (arm("udf #0; mov r5, #1"), thumb("udf #0; movs r5, #1")),
        Exception::SoftwareInterrupt => (arm("svc #1; mov r5, #1"), thumb("svc #1; movs r5, #1")),
        Exception::PrefetchAbort => (arm("bkpt #0; mov r5, #1"), thumb("bkpt #0; movs r5, #1")),
        Exception::DataAbort => {
            (arm("ldr r0, [r1]; mov r5, #1"), thumb("ldr r0, [r1, #0]; movs r5, #1"))
        }
        _ => (arm("mov r5, #1"), thumb("movs r5, #1")),
    };
    if in_thumb {
        put_halves(&mut core, PROGRAM, &halves);
    } else {
        core.bus.put(PROGRAM as usize, &words);
    }
    match exception {
        Exception::Irq => core.bus.irq_from = Cycles(0),
        Exception::Fiq => core.bus.fiq_from = Cycles(0),
        _ => {}
    }
    core.registers.r[1] = SIZE;
    core.registers.pc = PROGRAM;
    core.registers.set_cpsr(Psr(Psr::C | Mode::User.bits()));
    core.registers.set_thumb(in_thumb);
    core
}

/// The link value of an exception at [`PROGRAM`] (DDI 0100E, A2.6).
fn link(exception: Exception, in_thumb: bool) -> u32 {
    let size = if in_thumb { 2 } else { 4 };
    match exception {
        Exception::Undefined | Exception::SoftwareInterrupt => PROGRAM + size,
        Exception::DataAbort => PROGRAM + 8,
        _ => PROGRAM + 4,
    }
}

#[test]
fn each_exception_enters_its_mode_at_its_vector_in_arm_state() {
    for (exception, vector) in HANDLERS.into_iter().zip([4, 8, 12, 16, 24, 28]) {
        for (in_thumb, high) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut core = before(exception, in_thumb, high);
            let saved = core.registers.cpsr();
            let now = core.now;
            assert_eq!(core.step(), None);
            let registers = &core.registers;
            let what = format!("{exception:?} {in_thumb} {high}");
            let base = if high { 0xFFFF_0000 } else { 0 };
            assert_eq!(registers.pc, base + vector, "{what}");
            assert_eq!(registers.cpsr().mode(), exception.mode(), "{what}");
            assert_eq!(registers.spsr(), saved, "{what}");
            assert_eq!(registers.r[14], link(exception, in_thumb), "{what}");
            let status = registers.cpsr();
            assert!(status.has(Psr::I) && !status.thumb() && status.has(Psr::C), "{what}");
            assert_eq!(status.has(Psr::F), exception == Exception::Fiq, "{what}");
            assert_eq!(core.counts.exceptions[exception as usize], 1);
            assert!(core.now > now);
        }
    }
}

#[test]
fn each_return_instruction_goes_on_where_it_should() {
    let returns = [
        ("movs pc, lr", true),
        ("movs pc, lr", true),
        ("subs pc, lr, #4", false),
        ("subs pc, lr, #8", false),
        ("subs pc, lr, #4", false),
        ("subs pc, lr, #4", false),
    ];
    for (exception, (text, behind)) in HANDLERS.into_iter().zip(returns) {
        for in_thumb in [false, true] {
            let mut core = before(exception, in_thumb, false);
            let saved = core.registers.cpsr();
            core.bus.put(exception.vector(false) as usize, &arm(text));
            assert_eq!(core.step(), None);
            (core.bus.irq_from, core.bus.fiq_from) = (Cycles::NEVER, Cycles::NEVER);
            assert_eq!(core.step(), None);
            let size = if in_thumb { 2 } else { 4 };
            let to = if behind { PROGRAM + size } else { PROGRAM };
            assert_eq!(core.registers.pc, to, "{exception:?} {in_thumb}");
            assert_eq!(core.registers.cpsr(), saved, "{exception:?} {in_thumb}");
        }
    }
}

#[test]
fn a_handler_returns_by_a_list_from_its_stack_and_to_thumb_state() {
    let handler = arm("sub lr, lr, #4; stmdb sp!, {r0, lr}; mov r0, #9; ldm sp!, {r0, pc}^");
    for in_thumb in [false, true] {
        let mut core = before(Exception::Irq, in_thumb, false);
        let saved = core.registers.cpsr();
        core.bus.put(0x18, &handler);
        core.registers.r[0] = 0x77;
        enter(&mut core, Mode::Irq);
        core.registers.r[13] = 0x8000;
        enter(&mut core, Mode::User);
        core.registers.r[13] = 0x55;
        assert_eq!(core.step(), None);
        core.bus.irq_from = Cycles::NEVER;
        run(&mut core, 4);
        assert_eq!((core.registers.pc, core.registers.cpsr()), (PROGRAM, saved));
        assert_eq!((core.registers.r[0], core.registers.r[13]), (0x77, 0x55));
        assert_eq!(word(&core, 0x7FFC), PROGRAM);
        run(&mut core, 1);
        assert_eq!(core.registers.r[5], 1);
    }
}

#[test]
fn a_return_to_user_mode_by_msr_is_noted_with_its_place() {
    let mut core = core(&arm("msr CPSR_c, r0; movs pc, lr"));
    core.recorder = Some(Recorder::new(10));
    core.registers.r[0] = Psr::I | Mode::Irq.bits();
    run(&mut core, 1);
    core.registers.set_spsr(Psr(Mode::User.bits()));
    core.registers.r[14] = 0x2000;
    run(&mut core, 1);
    let events: Vec<Event> =
        core.recorder.unwrap().events().iter().map(|(_, event)| *event).collect();
    let expected = [(Mode::Irq, PROGRAM + 4), (Mode::User, 0x2000)];
    assert_eq!(events, expected.map(|(to, at)| Event::Mode { to, at }));
}

#[test]
fn an_instruction_that_cannot_be_fetched_aborts_only_when_it_is_reached() {
    let mut core = core(&arm("b .+0x100"));
    core.registers.pc = SIZE - 4;
    core.bus.put((SIZE - 4) as usize, &arm("nop"));
    run(&mut core, 1);
    assert_eq!(core.counts.exceptions, [0; 8]);
    run(&mut core, 1);
    assert_eq!(core.counts.exceptions[Exception::PrefetchAbort as usize], 1);
    assert_eq!((core.registers.pc, core.registers.r[14]), (12, SIZE + 4));
}

#[test]
fn a_skipped_instruction_takes_no_exception() {
    let mut core = core(&arm("svceq #0; ldreq r0, [r1]; moveqs pc, lr; mov r5, #1"));
    core.registers.r[1] = SIZE;
    run(&mut core, 4);
    assert_eq!((core.counts.exceptions, core.registers.r[5]), ([0; 8], 1));
}

#[test]
fn a_fast_interrupt_comes_before_a_slow_one_and_masks_both() {
    let mut core = core(&arm("nop"));
    core.registers.set_cpsr(Psr(Mode::System.bits()));
    (core.bus.irq_from, core.bus.fiq_from) = (Cycles(0), Cycles(0));
    core.bus.put(28, &arm("nop; nop"));
    assert_eq!(core.step(), None);
    assert_eq!(core.registers.pc, 28);
    run(&mut core, 2);
    assert_eq!(core.counts.exceptions[Exception::Irq as usize], 0);
}

#[test]
fn a_slow_interrupt_can_be_interrupted_by_a_fast_one() {
    let mut core = core(&arm("nop"));
    core.registers.set_cpsr(Psr(Mode::System.bits()));
    (core.bus.irq_from, core.bus.fiq_from) = (Cycles(0), Cycles(4));
    core.bus.put(24, &arm("nop; nop"));
    assert_eq!(core.step(), None);
    assert_eq!(core.registers.pc, 24);
    core.run(Limit::instructions(2));
    assert_eq!(core.registers.cpsr().mode(), Mode::Fiq);
    assert_eq!(core.registers.spsr().mode(), Mode::Irq);
}

/// Runs to the fourth instruction of a program with an interrupt at cycle `at` that returns at once.
fn interrupted(halves: &[u16], at: u64) -> Processor<Ram> {
    let mut core = core_in_thumb(halves);
    core.registers.set_cpsr(Psr(Psr::T | Mode::System.bits()));
    core.bus.irq_from = Cycles(at);
    // The handler accesses the bus, so that the lines are sampled again; the test deasserts the
    // request.
    core.bus.put(24, &arm("str r0, [r1]; subs pc, lr, #4"));
    while core.counts.instructions < 12 || core.registers.cpsr().mode() == Mode::Irq {
        if core.registers.cpsr().mode() == Mode::Irq {
            core.bus.irq_from = Cycles::NEVER;
        }
        assert_eq!(core.step(), None);
    }
    core
}

#[test]
fn an_interrupt_may_come_between_any_two_instructions_even_the_halves_of_a_call() {
    // movs r5, #1; bl .+8 (two halves); movs r5, #9 after it; at the target: mov r6, lr; b .
    let mut halves = thumb("movs r5, #1");
    halves.extend([0xF000, 0xF801]);
    halves.extend(thumb("movs r5, #9; nop; mov r6, lr; b .+0"));
    let plain = interrupted(&halves, u64::MAX);
    let mut taken = 0;
    for at in 0..60 {
        let core = interrupted(&halves, at);
        taken += core.counts.exceptions[Exception::Irq as usize];
        assert_eq!(core.registers.r[..14], plain.registers.r[..14], "at {at}");
        assert_eq!(core.registers.pc, plain.registers.pc);
        assert_eq!(core.registers.cpsr().mode(), Mode::System);
    }
    assert!(taken > 10, "{taken}");
    assert_eq!(plain.registers.r[6], PROGRAM + 7, "behind the call, in Thumb state");
}

#[test]
fn a_masked_interrupt_waits_until_it_is_allowed() {
    let mut core = core(&arm("nop; nop; msr CPSR_c, r0; nop"));
    core.bus.irq_from = Cycles(0);
    core.registers.r[0] = Psr::F | Mode::System.bits();
    run(&mut core, 3);
    assert_eq!(core.counts.exceptions, [0; 8]);
    assert_eq!(core.step(), None);
    assert_eq!(core.registers.pc, 24);
    assert_eq!(core.registers.r[14], PROGRAM + 12 + 4);
}

#[test]
fn waiting_ends_with_an_interrupt_even_a_masked_one() {
    for (masks, handled) in [(Psr::I | Psr::F, 0), (Psr::F, 1)] {
        let mut core = core(&arm("mcr p15, 0, r0, c7, c0, 4; mov r5, #1"));
        core.recorder = Some(Recorder::new(10));
        core.registers.set_cpsr(Psr(masks | Mode::System.bits()));
        core.bus.irq_from = Cycles(100_000);
        let stop = core.run(Limit::cycles(Cycles(50_000)));
        assert_eq!((stop, core.now), (Stop::Limit, Cycles(50_000)), "sleep ends at the limit");
        assert_eq!(core.counts.instructions, 1);
        core.run(Limit::instructions(2));
        assert!(core.now >= Cycles(100_000));
        assert_eq!(core.counts.exceptions[Exception::Irq as usize], handled);
        assert_eq!(u64::from(core.registers.r[5]), 1 - handled, "the handler is empty");
        assert!(core.counts.asleep > 99_000, "{}", core.counts.asleep);
        let recorder = core.recorder.unwrap();
        assert_eq!(recorder.events()[0].1, Event::Wait);
    }
}

#[test]
fn waiting_without_any_interrupt_stops() {
    let mut core = core(&arm("mcr p15, 0, r0, c7, c0, 4"));
    assert_eq!(core.run(Limit::NONE), Stop::Asleep);
    assert_eq!(core.run(Limit::NONE), Stop::Asleep, "and going on stops again");
}

#[test]
fn an_exception_without_handler_stops_if_so_configured() {
    let mut core = Processor::new(&Config::default(), Ram::new(SIZE as usize, Waits::default()));
    core.bus.put(PROGRAM as usize, &arm("nop; udf #0"));
    core.registers.pc = PROGRAM;
    let stop = core.run(Limit::NONE);
    assert_eq!(stop, Stop::NoHandler { exception: Exception::Undefined, at: PROGRAM + 4 });
    assert_eq!(core.registers.pc, PROGRAM + 4);
    assert_eq!(core.registers.cpsr().mode(), Mode::Supervisor);
    assert_eq!(core.counts.exceptions, [0; 8]);
}

#[test]
fn a_semihosting_call_stops_before_it_and_goes_on_behind_it() {
    for in_thumb in [false, true] {
        let mut core =
            if in_thumb { core_in_thumb(&thumb("svc #0xab")) } else { core(&arm("svc #0x123456")) };
        assert_eq!(core.run(Limit::NONE), Stop::Semihosting);
        assert_eq!((core.registers.pc, core.counts.instructions), (PROGRAM, 0));
        core.return_from_call(5);
        let size = if in_thumb { 2 } else { 4 };
        assert_eq!((core.registers.pc, core.counts.instructions), (PROGRAM + size, 1));
        assert_eq!(core.registers.r[0], 5);
    }
}

#[test]
fn a_program_whose_handlers_abort_too_meets_its_limit() {
    let config = Config { stop_without_handler: false, high_vectors: true, ..Config::default() };
    let mut lost = Processor::new(&config, Ram::new(SIZE as usize, Waits::default()));
    assert_eq!(lost.run(Limit::instructions(1_000)), Stop::Limit);
    assert_eq!(lost.counts.exceptions[Exception::PrefetchAbort as usize], 1_000);
}

#[test]
fn coprocessor_15_is_there_for_privileged_modes_only_and_the_others_are_not() {
    let cases = [
        ("mrc p15, 0, r0, c0, c0, 0", Mode::Supervisor, true),
        ("mrc p15, 0, r0, c0, c0, 0", Mode::System, true),
        ("mrc p15, 0, r0, c0, c0, 0", Mode::User, false),
        ("mcr p15, 0, r0, c7, c10, 4", Mode::User, false),
        ("mrc p14, 0, r0, c0, c0, 0", Mode::Supervisor, false),
        ("mcr p10, 0, r0, c0, c0, 0", Mode::Supervisor, false),
        ("cdp p15, 0, c0, c0, c0, 0", Mode::Supervisor, false),
        ("ldc p15, c0, [r1]", Mode::Supervisor, false),
        ("stc p1, c0, [r1]", Mode::Supervisor, false),
        ("mcrr p15, 0, r0, r1, c0", Mode::Supervisor, false),
        ("mrc2 p15, 0, r0, c0, c0, 0", Mode::Supervisor, false),
        ("cdp2 p1, 0, c0, c0, c0, 0", Mode::Supervisor, false),
    ];
    for (text, mode, defined) in cases {
        let mut core = core(&arm(text));
        enter(&mut core, mode);
        core.registers.r[1] = DATA;
        run(&mut core, 1);
        let undefined = core.counts.exceptions[Exception::Undefined as usize];
        assert_eq!(undefined, u64::from(!defined), "{text} {mode:?}");
        if defined {
            assert_eq!(core.registers.r[0], 0x4106_9265, "{text}");
        }
    }
}

#[test]
fn a_coprocessor_read_to_pc_sets_the_flags() {
    // Test and clean: the data cache is off and clean, so bit 30 comes back set.
    let mut core = core(&arm("mrc p15, 0, pc, c7, c10, 3; moveq r5, #1"));
    core.registers.set_flags(Psr::N | Psr::V);
    run(&mut core, 2);
    assert_eq!(core.registers.pc, PROGRAM + 8);
    assert_eq!((core.registers.r[5], core.registers.cpsr().has(Psr::N)), (1, false));
}

#[test]
fn writes_of_process_number_and_table_are_noted() {
    let mut core = core(&arm(
        "mcr p15, 0, r0, c13, c0, 0; mcr p15, 0, r1, c2, c0, 0; mcr p15, 0, r0, c13, c0, 1",
    ));
    core.recorder = Some(Recorder::new(10));
    core.registers.r[..2].copy_from_slice(&[3 << 25, 0x8000]);
    run(&mut core, 3);
    let recorder = core.recorder.unwrap();
    let events: Vec<Event> = recorder.events().iter().map(|(_, event)| *event).collect();
    assert_eq!(events, [Event::Process { pid: 3 }, Event::Table { base: 0x8000 }]);
}

#[test]
fn loads_to_pc_keep_the_state_where_the_control_register_asks_for_armv4() {
    let mut core = core(&arm(
        "mrc p15, 0, r0, c1, c0, 0; orr r0, r0, #0x8000; mcr p15, 0, r0, c1, c0, 0; ldr pc, [r1]",
    ));
    core.registers.r[1] = DATA;
    core.bus.put(DATA as usize, &[0x2001]);
    run(&mut core, 4);
    assert_eq!((core.registers.pc, core.registers.cpsr().thumb()), (0x2000, false));
}
