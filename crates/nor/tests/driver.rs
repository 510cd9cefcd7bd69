//! The drivers against the chip: what they write, how long they wait, and what they do when the
//! chip misbehaves or the power goes.

use crate::driver_bench;

use crate::driver_bench::{attach, board, data, micros, part};
use boardlab_mtd::{BlockIndex, Change, Error, Mtd, Tear, TearOutcome};
use boardlab_nor::chip::Fault;
use boardlab_nor::driver::{Kind, ProbeError, Step};
use boardlab_nor::part::{Boot, BusWidth, Part, Region};
use boardlab_nor::wait::FixedThenToggle;
use boardlab_nor::{ChipIndex, CutPoint, NorMtd, Pause};
use boardlab_sim::{Bytes, Clock, Duration, Seed};

const ALL: [Kind; 3] = [Kind::UBoot2013, Kind::Linux34, Kind::Linux61];

fn written(mtd: &mut NorMtd, clock: &mut Clock, offset: u64, bytes: &[u8]) -> Vec<u8> {
    mtd.program(clock, Bytes::new(offset), bytes).unwrap();
    let mut back = vec![0; bytes.len()];
    mtd.read(clock, Bytes::new(offset), &mut back).unwrap();
    back
}

#[test]
fn every_driver_writes_what_it_was_given_at_any_offset_and_length() {
    for kind in ALL {
        for (offset, length) in [(0, 1), (1, 1), (511, 2), (3, 1_029), (65_000, 5_000), (7, 512)] {
            let (mut mtd, mut clock) = attach(kind, &part(), 1);
            let bytes = data(length);
            assert_eq!(written(&mut mtd, &mut clock, offset, &bytes), bytes, "{kind:?} {offset}");
            let mut around = vec![0; length + 2];
            let before = offset.saturating_sub(1);
            mtd.read(&mut clock, Bytes::new(before), &mut around).unwrap();
            let after = usize::try_from(offset - before).unwrap() + length;
            assert_eq!(around[after], 0xFF, "{kind:?} wrote beyond {offset}+{length}");
        }
    }
}

#[test]
fn x8_parts_and_parts_without_a_write_buffer_and_boot_sectors_work_alike() {
    let mut narrow = part();
    (narrow.width, narrow.write_buffer) = (BusWidth::X8, Some(Bytes::new(64)));
    let mut words = part();
    words.write_buffer = None;
    words.cfi.as_mut().unwrap().times.buffer_typical = 0;
    let mut boot = part();
    boot.regions =
        vec![Region { count: 8, size: Bytes::kib(8) }, Region { count: 15, size: Bytes::kib(64) }];
    boot.boot = Boot::Bottom;
    let mut top = boot.clone();
    top.regions.reverse();
    top.boot = Boot::Top;
    for part in [narrow, words, boot, top] {
        for kind in ALL {
            let (mut mtd, mut clock) = attach(kind, &part, 1);
            assert_eq!(mtd.geometry().size(), part.size());
            let sizes = mtd.geometry().regions.iter().map(|region| region.size);
            assert!(sizes.eq(part.regions.iter().map(|region| region.size)), "{kind:?}");
            let bytes = data(3_001);
            assert_eq!(written(&mut mtd, &mut clock, 8_000, &bytes), bytes, "{kind:?}");
            mtd.erase(&mut clock, BlockIndex(0)).unwrap();
            let block = mtd.geometry().block(BlockIndex(0)).unwrap().1;
            let mut back = vec![0; 3_001];
            mtd.read(&mut clock, Bytes::new(8_000), &mut back).unwrap();
            let erased = usize::try_from(block.get().saturating_sub(8_000)).unwrap().min(3_001);
            assert!(back[..erased].iter().all(|&byte| byte == 0xFF), "{kind:?}");
            assert_eq!(back[erased..], bytes[erased..], "{kind:?}");
        }
    }
}

#[test]
fn linux_waits_the_truncated_word_time_whatever_the_buffer_took() {
    let (mut mtd, mut clock) = attach(Kind::Linux34, &part(), 1);
    mtd.program(&mut clock, Bytes::ZERO, &vec![0; 512 * 1_024]).unwrap();
    let steps = mtd.driver.steps();
    let fixed = steps.of(Step::WaitFixed);
    assert_eq!(fixed.min(), fixed.max());
    assert_eq!(fixed.min().unwrap().as_nanos(), 253_694);
    let wait = steps.of(Step::Wait);
    assert_eq!((wait.count(), wait.min()), (1_024, wait.max()));
    assert_eq!(mtd.driver.polls().program, 1_024);
}

#[test]
fn u_boot_sees_the_end_of_a_program_within_one_poll_period() {
    let (mut mtd, mut clock) = attach(Kind::UBoot2013, &part(), 1);
    mtd.driver.profile.check_erased = false;
    mtd.program(&mut clock, Bytes::ZERO, &vec![0; 512 * 1_024]).unwrap();
    let wait = mtd.driver.steps().of(Step::Wait);
    assert!(wait.min().unwrap() >= micros(170), "{:?}", wait.min());
    assert!(wait.max().unwrap() <= micros(226 + 2), "{:?}", wait.max());
    assert_eq!(mtd.driver.steps().of(Step::Check).count(), 0);
}

#[test]
fn bus_cycles_are_counted_one_by_one() {
    let (mut mtd, mut clock) = attach(Kind::Linux34, &part(), 1);
    let before = mtd.board.bus.cycles();
    mtd.program(&mut clock, Bytes::ZERO, &[0; 1_024]).unwrap();
    // Two buffers: 4 command cycles, 256 words, the confirming cycle and one poll of two reads.
    assert_eq!(mtd.board.bus.cycles() - before, 2 * (4 + 256 + 1 + 2));
    let command = mtd.driver.steps().of(Step::Command);
    assert!(command.max().unwrap() <= Duration::from_nanos(4 * 284 + 30));
}

#[test]
fn several_chips_in_turn_hold_the_same_bytes_in_less_time() {
    let bytes = data(256 * 1_024);
    let mut times = Vec::new();
    for chips in [1, 2, 4] {
        let (mut mtd, mut clock) = attach(Kind::Linux34, &part(), chips);
        mtd.driver.program_wait =
            Box::new(FixedThenToggle { wait: Pause::Spin(170), gap: Pause::Spin(1) });
        let begun = clock.now();
        mtd.program(&mut clock, Bytes::ZERO, &bytes).unwrap();
        times.push(clock.now().since(begun).as_micros());
        let mut back = vec![0; bytes.len()];
        mtd.read(&mut clock, Bytes::ZERO, &mut back).unwrap();
        assert!(back == bytes, "{chips} chips");
        assert_eq!(mtd.geometry().size(), Bytes::mib(chips));
    }
    assert!(times[1] * 100 < times[0] * 55, "{times:?}");
    assert!(times[2] * 100 < times[0] * 32, "{times:?}");
}

#[test]
fn a_part_without_cfi_is_not_attached() {
    let mut old = part();
    old.cfi = None;
    for kind in ALL {
        let error = NorMtd::attach(kind, board(&old, 1), &mut Clock::new()).unwrap_err();
        assert!(matches!(error, ProbeError::NoCfi { .. }), "{error}");
    }
}

#[test]
fn a_failed_program_is_reported_with_its_place_and_the_next_one_works() {
    for kind in ALL {
        let (mut mtd, mut clock) = attach(kind, &part(), 1);
        let bad = Fault::ProgramFails { first: Bytes::new(1_030), last: Bytes::new(1_031) };
        mtd.board.bus.chip_mut(ChipIndex(0)).inject(bad);
        let error = mtd.program(&mut clock, Bytes::ZERO, &[0; 2_048]).unwrap_err();
        assert_eq!(error, Error::ProgramFailed { offset: Bytes::new(1_024) }, "{kind:?}");
        assert_eq!(written(&mut mtd, &mut clock, 4_096, &[0x5A; 600]), [0x5A; 600], "{kind:?}");
    }
}

#[test]
fn a_failed_erase_is_reported_with_its_block() {
    for kind in ALL {
        let (mut mtd, mut clock) = attach(kind, &part(), 1);
        mtd.program(&mut clock, Bytes::kib(192), &[0; 600]).unwrap();
        let sector = boardlab_media::SectorIndex::new(3);
        mtd.board.bus.chip_mut(ChipIndex(0)).inject(Fault::EraseFails { sector });
        let error = mtd.erase(&mut clock, BlockIndex(3)).unwrap_err();
        assert_eq!(error, Error::EraseFailed { block: BlockIndex(3) }, "{kind:?}");
        // The chip toggles on after DQ5, so each try lasts as long as the driver waits at the
        // most; Linux 6.1 tries three times more.
        let seconds = match kind {
            Kind::UBoot2013 => 2,
            Kind::Linux34 => 20,
            _ => 4 * 20,
        };
        assert_eq!(clock.now().as_nanos() / 1_000_000_000, seconds, "{kind:?}");
        mtd.erase(&mut clock, BlockIndex(4)).unwrap();
    }
}

#[test]
fn a_chip_that_never_becomes_ready_ends_in_a_timeout() {
    for (kind, longest) in
        [(Kind::UBoot2013, 5_000), (Kind::Linux34, 9_000), (Kind::Linux61, 9_000)]
    {
        for fault in [Fault::NeverReady, Fault::StuckToggle] {
            let (mut mtd, mut clock) = attach(kind, &part(), 1);
            mtd.board.bus.chip_mut(ChipIndex(0)).inject(fault);
            let begun = clock.now();
            let error = mtd.program(&mut clock, Bytes::new(512), &[0; 512]).unwrap_err();
            let Error::Timeout { offset, waited } = error else { panic!("{kind:?}: {error}") };
            assert_eq!(offset, Bytes::new(512));
            assert!(waited <= micros(longest), "{kind:?} {fault:?} {waited}");
            assert!(clock.now().since(begun) <= micros(longest + 100));
        }
    }
}

#[test]
fn a_slow_part_is_waited_for_as_long_as_its_cfi_allows() {
    for kind in ALL {
        let (mut mtd, mut clock) = attach(kind, &part(), 1);
        mtd.board.bus.chip_mut(ChipIndex(0)).inject(Fault::Slow { percent: 300 });
        mtd.program(&mut clock, Bytes::ZERO, &[0; 512]).unwrap();
    }
}

/// Sets the persistent protection bit of the sector at `start`, as a boot loader would.
fn protect(mtd: &mut NorMtd, clock: &mut Clock, start: Bytes) {
    let (bus, chip) = (&mut mtd.board.bus, ChipIndex(0));
    let address = bus.address(start);
    let word = boardlab_nor::chip::Address;
    for (at, value) in [(word(0x555), 0xAA), (word(0x2AA), 0x55), (word(0x555), 0xC0)] {
        bus.write(clock, chip, at, value);
    }
    bus.write(clock, chip, word(0), 0xA0);
    bus.write(clock, chip, address, 0x00);
    clock.advance(micros(1_000));
    bus.write(clock, chip, word(0), 0x90);
    bus.write(clock, chip, word(0), 0x00);
}

#[test]
fn a_protected_sector_is_refused_by_u_boot_and_linux_6_1_and_missed_by_linux_3_4() {
    for kind in ALL {
        let (mut mtd, mut clock) = attach(kind, &part(), 1);
        protect(&mut mtd, &mut clock, Bytes::kib(128));
        if mtd.driver.profile.refuses_protected {
            mtd.driver.scan_protection(&mut mtd.board, &mut clock);
        }
        let result = mtd.program(&mut clock, Bytes::kib(128), &[0x0F; 512]);
        let mut back = [0; 512];
        mtd.read(&mut clock, Bytes::kib(128), &mut back).unwrap();
        assert_eq!(back, [0xFF; 512], "{kind:?}");
        match kind {
            Kind::UBoot2013 => {
                assert_eq!(result, Err(Error::Protected { block: BlockIndex(2) }));
            }
            // Its toggle test is content with a chip that ignored the command.
            Kind::Linux34 => assert_eq!(result, Ok(())),
            _ => {
                let offset = Bytes::kib(128);
                let error = Error::VerifyFailed { offset, expected: 0x0F, found: 0xFF };
                assert_eq!(result, Err(error));
            }
        }
        assert_eq!(written(&mut mtd, &mut clock, 0, &[0x33; 512]), [0x33; 512], "{kind:?}");
    }
}

#[test]
fn only_the_abort_reset_leaves_a_write_buffer_abort() {
    for kind in ALL {
        let (mut mtd, mut clock) = attach(kind, &part(), 1);
        // Another CPU broke into a buffer load: the chip stands in abort when the driver comes.
        let word = boardlab_nor::chip::Address;
        for (at, value) in [(0x555, 0xAA), (0x2AA, 0x55), (0, 0x25), (0, 3), (0x4000, 0)] {
            mtd.board.bus.write(&mut clock, ChipIndex(0), word(at), value);
        }
        let error = mtd.program(&mut clock, Bytes::ZERO, &[0; 512]).unwrap_err();
        assert_eq!(error, Error::ProgramAborted { offset: Bytes::ZERO }, "{kind:?}");
        let again = mtd.program(&mut clock, Bytes::ZERO, &[0; 512]);
        match kind {
            Kind::Linux61 => assert_eq!(again, Ok(()), "{kind:?}"),
            _ => assert_eq!(again, Err(error), "{kind:?}: plain F0 must not help"),
        }
    }
}

#[test]
fn ranges_beyond_the_device_are_refused_without_a_bus_cycle() {
    let (mut mtd, mut clock) = attach(Kind::Linux34, &part(), 1);
    let cycles = mtd.board.bus.cycles();
    for offset in [Bytes::mib(1), Bytes::new(1_048_065), Bytes::new(u64::MAX)] {
        let error = mtd.program(&mut clock, offset, &[0; 512]).unwrap_err();
        assert!(matches!(error, Error::OutOfRange { .. }), "{error}");
        let error = mtd.read(&mut clock, offset, &mut [0; 512]).unwrap_err();
        assert!(matches!(error, Error::OutOfRange { .. }), "{error}");
    }
    for block in [16, u32::MAX] {
        let error = mtd.erase(&mut clock, BlockIndex(block)).unwrap_err();
        assert!(matches!(error, Error::OutOfRange { .. }), "{error}");
    }
    assert_eq!(mtd.board.bus.cycles(), cycles);
}

/// Writes, erases and writes again until the power goes; returns what stands in the first sector.
fn interrupted(kind: Kind, part: &Part, point: CutPoint) -> (Result<(), Error>, NorMtd, Clock) {
    let (mut mtd, mut clock) = attach(kind, part, 1);
    mtd.driver.profile.check_erased = false;
    mtd.program(&mut clock, Bytes::kib(64), &[0xA5; 64]).unwrap();
    mtd.board.bus.cut_power_at(match point {
        CutPoint::Cycle(cycle) => CutPoint::Cycle(mtd.board.bus.cycles() + cycle),
        CutPoint::Time(at) => CutPoint::Time(clock.now() + at.since(boardlab_sim::Instant::ZERO)),
    });
    let result = mtd
        .program(&mut clock, Bytes::ZERO, &[0x0F; 70])
        .and_then(|()| mtd.erase(&mut clock, BlockIndex(0)))
        .and_then(|()| mtd.program(&mut clock, Bytes::new(64), &[0x3C; 12]));
    (result, mtd, clock)
}

fn check_after_cut(mut mtd: NorMtd, mut clock: Clock, context: &str) {
    let mut buffer = [0; 64];
    assert!(matches!(mtd.read(&mut clock, Bytes::ZERO, &mut buffer), Err(Error::PowerCut { .. })));
    mtd.board.bus.power_on(&clock);
    mtd.read(&mut clock, Bytes::kib(64), &mut buffer).unwrap();
    assert_eq!(buffer, [0xA5; 64], "{context}: another sector changed");
    mtd.erase(&mut clock, BlockIndex(0)).unwrap();
    let back = written(&mut mtd, &mut clock, 0, &[0x5A; 100]);
    assert_eq!(back, [0x5A; 100], "{context}: the sector can not be used again");
}

#[test]
fn the_power_may_go_at_any_bus_cycle() {
    let mut small = part();
    small.write_buffer = Some(Bytes::new(32));
    small.timing.sector_erase.time = driver_bench::table(&[2_000, 3_000]);
    for kind in ALL {
        let mut cycle = 1;
        loop {
            let (result, mtd, clock) = interrupted(kind, &small, CutPoint::Cycle(cycle));
            if result.is_ok() {
                break;
            }
            assert!(matches!(result, Err(Error::PowerCut { .. })), "{kind:?} {cycle} {result:?}");
            check_after_cut(mtd, clock, &format!("{kind:?}, cycle {cycle}"));
            // u-boot polls all through the erase; some of those cycles stand for the others.
            cycle += if kind == Kind::UBoot2013 && cycle > 1_200 { 37 } else { 1 };
        }
        assert!(cycle > 70, "{kind:?}: only {cycle} cycles");
    }
}

#[test]
fn the_power_may_go_in_the_middle_of_a_wait() {
    for kind in [Kind::Linux34, Kind::Linux61] {
        for at in (0..400).map(|step| micros(step * 997)) {
            let point = CutPoint::Time(boardlab_sim::Instant::ZERO + at);
            let (result, mtd, clock) = interrupted(kind, &part(), point);
            match result {
                Err(Error::PowerCut { .. }) => {
                    check_after_cut(mtd, clock, &format!("{kind:?} {at}"));
                }
                Ok(()) => assert!(at > micros(200_000), "{kind:?} {at}: nothing was cut"),
                Err(error) => panic!("{kind:?} {at}: {error}"),
            }
        }
    }
}

/// The power fails in an operation whose caller is gone: what was there before, a part of it, or all of it.
#[test]
fn a_torn_operation_leaves_something_in_between() {
    let (mut whole, mut clock) = attach(Kind::Linux61, &part(), 1);
    whole.program(&mut clock, Bytes::kib(64), &[0xA5; 64]).unwrap();
    whole.program(&mut clock, Bytes::kib(128), &[0; 3_000]).unwrap();
    let mut draws = Seed::new(4).stream("torn");
    let data = [0x0F; 700];
    let changes = [Change::Program(Bytes::ZERO, &data), Change::Erase(BlockIndex(2))];
    for (change, place) in changes.into_iter().zip([Bytes::ZERO, Bytes::kib(128)]) {
        let mut left = std::collections::BTreeSet::new();
        let torn = |outcome, draws: &mut _| {
            let (mut mtd, mut clock) = (whole.clone(), clock.clone());
            mtd.tear(&mut clock, change, outcome, draws);
            let mut buffer = [0; 64];
            mtd.read(&mut clock, Bytes::kib(64), &mut buffer).unwrap();
            assert_eq!(buffer, [0xA5; 64], "another sector changed");
            let mut found = vec![0; 700];
            mtd.read(&mut clock, place, &mut found).unwrap();
            let block = BlockIndex(u32::try_from(place / Bytes::kib(64)).unwrap());
            mtd.erase(&mut clock, block).unwrap();
            found
        };
        let before = torn(TearOutcome::NotBegun, &mut draws);
        let after = torn(TearOutcome::Finished, &mut draws);
        assert_ne!(before, after);
        for _ in 0..30 {
            left.insert(torn(TearOutcome::Partial, &mut draws));
        }
        left.remove(&before);
        left.remove(&after);
        assert!(left.len() > 5, "{change:?}: {}", left.len());
    }
}

/// A part with a status register.
fn with_register() -> Part {
    let mut part = part();
    part.features.status_register = true;
    part.cfi.as_mut().unwrap().primary_minor = b'5';
    part
}

#[test]
fn the_status_register_and_the_datum_are_as_good_as_the_toggle_bit() {
    for kind in [Kind::Linux61StatusRegister, Kind::UBoot2013StatusPoll] {
        let (mut mtd, mut clock) = attach(kind, &with_register(), 1);
        let bytes = data(70_001);
        assert_eq!(written(&mut mtd, &mut clock, 3, &bytes), bytes, "{kind:?}");
        mtd.erase(&mut clock, BlockIndex(0)).unwrap();
        let mut back = vec![0; 65_536];
        mtd.read(&mut clock, Bytes::ZERO, &mut back).unwrap();
        assert!(back.iter().all(|&byte| byte == 0xFF), "{kind:?}");
        let wait = mtd.driver.steps().of(Step::Wait);
        assert!(wait.min().unwrap() >= micros(90), "{kind:?} {:?}", wait.min());
    }
}

#[test]
fn the_status_register_tells_what_went_wrong_at_once() {
    let kind = Kind::Linux61StatusRegister;
    let (mut mtd, mut clock) = attach(kind, &with_register(), 1);
    let bad = Fault::ProgramFails { first: Bytes::new(1_030), last: Bytes::new(1_031) };
    mtd.board.bus.chip_mut(ChipIndex(0)).inject(bad);
    let error = mtd.program(&mut clock, Bytes::ZERO, &[0; 2_048]).unwrap_err();
    assert_eq!(error, Error::ProgramFailed { offset: Bytes::new(1_024) });
    assert_eq!(written(&mut mtd, &mut clock, 4_096, &[0x5A; 600]), [0x5A; 600]);
    protect(&mut mtd, &mut clock, Bytes::kib(128));
    let error = mtd.program(&mut clock, Bytes::kib(128), &[0x0F; 512]).unwrap_err();
    assert_eq!(error, Error::Protected { block: BlockIndex(2) });
    assert_eq!(written(&mut mtd, &mut clock, 8_192, &[0x33; 512]), [0x33; 512]);
}

#[test]
fn queued_sectors_are_erased_with_one_wait() {
    let (mut mtd, mut clock) = attach(Kind::Linux34, &part(), 1);
    let bytes = data(256 * 1_024);
    mtd.program(&mut clock, Bytes::ZERO, &bytes).unwrap();
    mtd.erase_queued(&mut clock, BlockIndex(0), 3).unwrap();
    let mut back = vec![0; bytes.len()];
    mtd.read(&mut clock, Bytes::ZERO, &mut back).unwrap();
    assert!(back[..192 * 1_024].iter().all(|&byte| byte == 0xFF));
    assert!(back[192 * 1_024..] == bytes[192 * 1_024..]);
    assert_eq!(mtd.driver.erase_phase().count(), 1);
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let run = || {
        let (mut mtd, mut clock) = attach(Kind::UBoot2013, &part(), 2);
        mtd.program(&mut clock, Bytes::ZERO, &data(100_000)).unwrap();
        (clock.now(), mtd.driver.polls())
    };
    assert_eq!(run(), run());
}
