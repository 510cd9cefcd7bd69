//! Faults: what the chip shows, what it leaves, and how the driver gets it back.

use crate::chip_rig::{
    BUFFER_MAX, CYCLE, DQ2, DQ5, DQ6, DQ7, ERASE_MAX, ERASE_TIME, RESET_LATENCY, Rig, WIDTHS,
    WINDOW, WORD_MAX, WORD_TIME, uniform,
};
use boardlab_media::SectorIndex;
use boardlab_nor::chip::Fault;
use boardlab_nor::part::{BusWidth, Features, Part};
use boardlab_sim::{Bytes, Duration};

const SECTOR: u64 = 64 << 10;

fn rig() -> Rig {
    Rig::new(uniform(BusWidth::X16))
}

fn failing(width: BusWidth) -> Part {
    let part = uniform(width);
    Part { features: Features { masks_ones: false, ..part.features }, ..part }
}

/// The rig must show DQ5 from `begun + max` on, until a reset.
fn assert_fails(rig: &mut Rig, begun: boardlab_sim::Instant, max: Duration) {
    rig.now = begun + max - CYCLE * 2 - Duration::from_nanos(1);
    assert!(rig.toggles(0));
    assert_eq!(rig.chip.read(rig.now, rig.at(0)) & DQ5, 0);
    rig.now = begun + max;
    for _ in 0..3 {
        assert_eq!(rig.read(0) & DQ5, DQ5);
        assert!(rig.toggles(0), "DQ6 goes on");
        assert!(!rig.is_ready());
        rig.wait(Duration::from_secs(1));
    }
    rig.unlocked(0x90);
    assert_eq!(rig.read(0) & DQ5, DQ5, "only a reset helps");
    rig.reset();
    assert!(rig.is_ready());
}

#[test]
fn a_one_over_a_zero_is_ignored_where_the_part_masks_it() {
    let mut rig = rig();
    rig.program(0, 0xFF55);
    rig.start_program(0, 0xFFA5);
    assert_eq!(rig.chip.ready_at(), Some(rig.now + WORD_TIME));
    rig.wait_ready();
    assert_eq!(rig.read(0), 0xFF05);
}

#[test]
fn a_one_over_a_zero_fails_where_the_part_does_not_mask_it() {
    for width in WIDTHS {
        let mut rig = Rig::new(failing(width));
        rig.program(0, 0x55);
        rig.start_program(0, 0xA5);
        let begun = rig.now;
        assert_fails(&mut rig, begun, WORD_MAX);
        assert_eq!(rig.read(0), 0x05, "bits that could be cleared are");
        rig.load(0, &[(0, 0x04), (2, 0x03)]);
        rig.write(0, 0x29);
        rig.wait_ready();
        assert_eq!((rig.read(0), rig.read(2)), (0x04, 0x03), "neighbours in the page do not fail");
        rig.load(0, &[(0, 0x80), (4, 0x03)]);
        rig.write(0, 0x29);
        let begun = rig.now;
        assert_fails(&mut rig, begun, BUFFER_MAX);
        assert_eq!((rig.read(0), rig.read(4)), (0x00, 0x03));
    }
}

#[test]
fn bad_cells_keep_their_contents_and_the_program_fails() {
    let mut rig = rig();
    rig.chip.inject(Fault::ProgramFails { first: Bytes::new(2), last: Bytes::new(3) });
    rig.program(0, 0x1111);
    assert_eq!(rig.read(0), 0x1111, "a good word beside them");
    rig.start_program(2, 0x2222);
    let begun = rig.now;
    assert_fails(&mut rig, begun, WORD_MAX);
    assert_eq!(rig.read(2), 0xFFFF);
    rig.load(0, &[(0, 0x1010), (2, 0x2020), (4, 0x3030)]);
    rig.write(0, 0x29);
    let begun = rig.now;
    assert_fails(&mut rig, begun, BUFFER_MAX);
    assert_eq!([0, 2, 4].map(|offset| rig.read(offset)), [0x1010, 0xFFFF, 0x3030]);
    rig.program(2, 0xFFFF);
    assert!(rig.is_ready(), "nothing to change, nothing fails");
    rig.chip.clear_faults();
    rig.program(2, 0x2222);
    assert_eq!(rig.read(2), 0x2222);
}

#[test]
fn a_sector_that_does_not_erase_fails_and_leaves_a_mixture() {
    let mut rig = rig();
    for sector in 0..3 {
        rig.program(SECTOR * sector, 0);
    }
    rig.chip.inject(Fault::EraseFails { sector: SectorIndex::new(1) });
    rig.start_erase(0);
    rig.write(SECTOR, 0x30);
    rig.write(SECTOR * 2, 0x30);
    let begun = rig.now + WINDOW;
    assert_eq!(rig.chip.ready_at(), Some(begun + ERASE_TIME + ERASE_MAX));
    rig.wait_ready();
    let pair = (rig.read(SECTOR), rig.read(SECTOR));
    assert_eq!(pair.0 & (DQ7 | DQ5), DQ5);
    assert_eq!((pair.0 ^ pair.1) & (DQ6 | DQ2), DQ6 | DQ2, "DQ2 names the sector");
    let pair = (rig.read(0), rig.read(0));
    assert_eq!((pair.0 ^ pair.1) & (DQ6 | DQ2), DQ6);
    rig.reset();
    assert_eq!((rig.read(0), rig.read(SECTOR * 2)), (0xFFFF, 0));
    assert!(!rig.chip.array().is_erased(SectorIndex::new(1)));
    rig.chip.clear_faults();
    rig.start_erase(SECTOR);
    rig.wait_ready();
    assert!(rig.chip.array().is_erased(SectorIndex::new(1)), "a second erase mends it");
}

#[test]
fn a_chip_that_hangs_is_busy_without_dq5_until_a_hardware_reset() {
    let mut rig = rig();
    rig.chip.inject(Fault::NeverReady);
    rig.start_program(0, 0);
    for _ in 0..5 {
        rig.wait(Duration::from_secs(3_600));
        assert!(rig.toggles(0));
        assert_eq!(rig.read(0) & DQ5, 0);
        rig.reset();
    }
    assert!(!rig.is_ready());
    rig.chip.clear_faults();
    rig.wait(Duration::from_secs(3_600));
    assert!(!rig.is_ready(), "the running operation is lost");
    rig.chip.hardware_reset(rig.now);
    assert!(!rig.is_ready());
    assert_eq!(rig.read(0), 0xFFFF);
    rig.wait(RESET_LATENCY);
    assert!(rig.is_ready());
    rig.program(0, 0x77);
    assert_eq!(rig.read(0), 0x77);
}

#[test]
fn a_slow_chip_takes_its_share_and_fails_beyond_the_maximum() {
    let mut rig = rig();
    rig.chip.inject(Fault::Slow { percent: 150 });
    rig.start_program(0, 0x00FF);
    assert_eq!(rig.chip.ready_at(), Some(rig.now + WORD_TIME * 3 / 2));
    rig.wait_ready();
    assert_eq!(rig.read(0), 0x00FF);
    rig.chip.inject(Fault::Slow { percent: 1_000 });
    rig.start_program(2, 0x0000);
    let begun = rig.now;
    assert_fails(&mut rig, begun, WORD_MAX);
    let torn = rig.read(2);
    assert!(torn != 0xFFFF, "some bits moved: {torn:04x}");
}

#[test]
fn a_stuck_toggle_bit_lies_over_the_contents_until_a_reset() {
    let mut rig = rig();
    rig.chip.inject(Fault::StuckToggle);
    rig.program(0, 0x1234);
    assert!(rig.is_ready());
    assert!(rig.toggles(0));
    assert!(!rig.chip.in_array_mode(rig.now));
    assert_eq!(rig.read(0) & !DQ6, 0x1234 & !DQ6, "data polling sees the end");
    rig.reset();
    assert_eq!(rig.read(0), 0x1234);
    assert!(rig.chip.in_array_mode(rig.now));
}

#[test]
fn a_failed_program_in_an_erase_suspend_returns_there() {
    let mut rig = rig();
    rig.chip.inject(Fault::ProgramFails { first: Bytes::new(SECTOR), last: Bytes::new(SECTOR) });
    rig.start_erase(0);
    rig.write(0, 0xB0);
    rig.start_program(SECTOR, 0);
    rig.wait_ready();
    assert_eq!(rig.read(SECTOR) & DQ5, DQ5);
    assert!(rig.toggles_dq2(0));
    rig.reset();
    assert!(rig.toggles_dq2(0) && !rig.toggles(0));
    rig.write(0, 0x30);
    rig.wait_ready();
    assert_eq!(rig.read(0), 0xFFFF);
}

#[test]
fn a_failed_program_in_bypass_returns_there() {
    let mut rig = Rig::new(failing(BusWidth::X16));
    rig.program(0, 0);
    rig.unlocked(0x20);
    rig.write(0, 0xA0);
    rig.write(0, 1);
    rig.wait_ready();
    assert_eq!(rig.read(0) & DQ5, DQ5);
    rig.reset();
    rig.write(0, 0xA0);
    rig.write(2, 0x33);
    rig.wait_ready();
    assert_eq!(rig.read(2), 0x33);
}

#[test]
fn commands_are_ignored_while_an_operation_runs() {
    let mut rig = rig();
    rig.program(SECTOR, 0x2222);
    rig.start_program(0, 0x0F0F);
    let end = rig.chip.ready_at();
    for value in [0xF0, 0xAA, 0x55, 0x98, 0x30, 0x29, 0x50, 0x70, 0x71] {
        rig.command(0x555, value);
        assert_eq!(rig.chip.ready_at(), end);
    }
    rig.wait_ready();
    rig.start_erase(0);
    rig.wait(WINDOW);
    let end = rig.chip.ready_at();
    rig.write(SECTOR, 0x30);
    rig.reset();
    rig.start_program(SECTOR, 0);
    assert_eq!(rig.chip.ready_at(), end);
    rig.wait_ready();
    assert_eq!((rig.read(0), rig.read(SECTOR)), (0xFFFF, 0x2222));
}

#[test]
fn wear_is_counted_and_told_and_does_not_stop_the_chip() {
    let part = Part { endurance: 2, ..uniform(BusWidth::X16) };
    let mut rig = Rig::new(part);
    for turn in 0..4 {
        rig.program(0, turn);
        rig.start_erase(0);
        rig.wait_ready();
        let worn: Vec<_> = rig.chip.worn_out().collect();
        assert_eq!(worn.is_empty(), turn < 2);
    }
    let sector = SectorIndex::new(0);
    assert_eq!(rig.chip.array().erase_count(sector), 4);
    assert_eq!(rig.chip.array().program_count(sector), 4);
    assert_eq!(rig.chip.counters().erases, 4);
    assert_eq!(rig.chip.counters().programs, 4);
}

#[test]
fn counters_tell_cycles_and_polls() {
    let mut rig = rig();
    rig.start_program(0, 0);
    rig.read(0);
    rig.read(0);
    rig.wait_ready();
    rig.read(0);
    let counts = *rig.chip.counters();
    assert_eq!((counts.writes, counts.reads, counts.polls), (4, 3, 2));
    assert!(rig.chip.read_array(rig.now, Bytes::ZERO, &mut [0; 7]));
    assert_eq!(rig.chip.counters().reads, 7);
}
