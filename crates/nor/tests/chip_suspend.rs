//! Suspend and resume: of an erase, of a program, and of a program within an erase.

use crate::chip_rig::{
    CYCLE, DQ2, DQ3, DQ6, DQ7, ERASE_TIME, Rig, SUSPEND_LATENCY, WINDOW, WORD_TIME, uniform,
};
use boardlab_nor::part::{BusWidth, Features, Part};
use boardlab_sim::{Bytes, Duration};

const SECTOR: u64 = 64 << 10;

fn rig() -> Rig {
    Rig::new(uniform(BusWidth::X16))
}

/// An erase of sector 0 that was suspended in the middle.
fn suspended() -> Rig {
    let mut rig = rig();
    rig.program(0, 0x1111);
    rig.program(SECTOR, 0x2222);
    rig.start_erase(0);
    rig.wait(ERASE_TIME / 2);
    rig.write(0, 0xB0);
    rig.wait(SUSPEND_LATENCY);
    assert!(rig.is_ready());
    rig
}

#[test]
fn the_chip_stays_busy_for_the_suspend_latency() {
    let mut rig = rig();
    rig.start_erase(0);
    rig.wait(WINDOW * 2);
    rig.write(0, 0xB0);
    let obeyed = rig.now + SUSPEND_LATENCY;
    rig.now = obeyed - CYCLE * 2 - Duration::from_nanos(1);
    assert!(rig.toggles(SECTOR));
    assert!(!rig.is_ready());
    rig.now = obeyed - CYCLE;
    assert_eq!(rig.read(SECTOR), 0xFFFF);
    assert!(rig.is_ready());
}

#[test]
fn a_suspend_in_the_window_is_obeyed_at_once() {
    let mut rig = rig();
    rig.start_erase(0);
    rig.write(0, 0xB0);
    assert!(rig.is_ready());
    assert!(rig.toggles_dq2(0));
    rig.write(0, 0x30);
    assert_eq!(rig.chip.ready_at(), Some(rig.now + ERASE_TIME));
}

#[test]
fn a_suspended_erase_takes_exactly_its_time_in_all() {
    let mut rig = rig();
    rig.start_erase(0);
    let begun = rig.now + WINDOW;
    rig.now = begun;
    let mut asleep = Duration::ZERO;
    for turn in 1..=20 {
        rig.wait(Duration::from_micros(777 * turn));
        rig.write(0, 0xB0);
        let obeyed = rig.now + SUSPEND_LATENCY;
        rig.wait(Duration::from_millis(turn));
        rig.write(0, 0x30);
        asleep += rig.now.since(obeyed);
        assert_eq!(rig.chip.ready_at(), Some(begun + ERASE_TIME + asleep));
    }
    rig.wait_ready();
    assert!(rig.is_ready());
    assert_eq!(rig.read(0), 0xFFFF);
}

#[test]
fn an_erase_that_ends_before_the_suspend_is_obeyed_is_done() {
    let mut rig = rig();
    rig.program(0, 0);
    rig.start_erase(0);
    rig.now = rig.chip.ready_at().unwrap() - SUSPEND_LATENCY / 2;
    rig.write(0, 0xB0);
    rig.wait(SUSPEND_LATENCY);
    assert_eq!(rig.read(0), 0xFFFF);
    rig.write(0, 0x30);
    assert!(rig.is_ready(), "there is nothing to resume");
}

#[test]
fn other_sectors_program_while_an_erase_is_suspended() {
    let mut rig = suspended();
    rig.start_program(SECTOR + 2, 0x00FF);
    let status = rig.read(SECTOR + 2);
    assert_eq!(status & DQ7, 0);
    assert!(rig.toggles(0));
    assert!(rig.toggles_dq2(0), "DQ2 still shows the suspended sector");
    rig.wait_ready();
    assert_eq!(rig.read(SECTOR + 2), 0x00FF);
    rig.buffer_program(&[(SECTOR * 3, 0x0303)]);
    assert_eq!(rig.read(SECTOR * 3), 0x0303);
    assert!(rig.toggles_dq2(0), "the erase is still suspended");
    rig.write(0, 0x30);
    rig.wait_ready();
    assert_eq!(rig.read(0), 0xFFFF);
}

#[test]
fn the_suspended_sector_itself_does_not_program() {
    let mut rig = suspended();
    rig.start_program(4, 0x0000);
    assert!(rig.is_ready());
    rig.load(0, &[(4, 0x0000)]);
    rig.write(0, 0x29);
    assert!(rig.is_ready());
    rig.write(0, 0x30);
    rig.wait_ready();
    assert_eq!(rig.read(4), 0xFFFF);
}

#[test]
fn erases_bypass_and_protection_are_refused_while_an_erase_is_suspended() {
    let mut rig = suspended();
    rig.start_erase(SECTOR);
    assert!(rig.is_ready());
    rig.start_chip_erase();
    assert!(rig.is_ready());
    for command in [0x20, 0xC0] {
        rig.unlocked(command);
        assert_eq!(rig.read(SECTOR), 0x2222);
        rig.write(SECTOR + 8, 0xA0);
        rig.write(SECTOR + 8, 0x00);
        assert!(rig.is_ready());
    }
    assert!(rig.toggles_dq2(0));
}

#[test]
fn autoselect_and_query_work_while_an_erase_is_suspended() {
    let mut rig = suspended();
    rig.unlocked(0x90);
    assert_eq!(rig.query(0), 0xBF);
    rig.reset();
    rig.command(0x55, 0x98);
    assert_eq!(rig.query(0x10), u16::from(b'Q'));
    rig.reset();
    assert!(rig.toggles_dq2(0));
    rig.write(0, 0x30);
    rig.wait_ready();
    assert_eq!(rig.read(0), 0xFFFF);
}

#[test]
fn a_chip_erase_is_not_suspended() {
    let mut rig = rig();
    rig.start_chip_erase();
    let end = rig.chip.ready_at();
    rig.wait(Duration::from_millis(1));
    rig.write(0, 0xB0);
    rig.wait(SUSPEND_LATENCY * 2);
    assert!(!rig.is_ready());
    assert_eq!(rig.chip.ready_at(), end);
}

#[test]
fn a_program_is_suspended_by_either_command_and_resumed_by_either() {
    for (suspend, resume) in [(0x51, 0x50), (0x51, 0x30), (0xB0, 0x50), (0xB0, 0x30)] {
        let mut rig = rig();
        rig.program(SECTOR, 0x2222);
        rig.start_program(0, 0x0F0F);
        let begun = rig.now;
        rig.wait(WORD_TIME / 3);
        rig.write(0, suspend);
        let obeyed = rig.now + SUSPEND_LATENCY;
        rig.wait(Duration::from_millis(3));
        assert!(rig.is_ready());
        assert_eq!(rig.read(SECTOR), 0x2222);
        let half = rig.read(0);
        assert_eq!(half & DQ7, DQ7, "still the complement");
        assert_eq!(rig.read(0), half, "and nothing toggles");
        rig.write(0, resume);
        let asleep = rig.now.since(obeyed);
        assert_eq!(rig.chip.ready_at(), Some(begun + WORD_TIME + asleep));
        rig.wait_ready();
        assert_eq!(rig.read(0), 0x0F0F);
    }
}

#[test]
fn a_program_suspended_in_bypass_is_resumed_there() {
    for resume in [0x30, 0x50] {
        let mut rig = rig();
        rig.unlocked(0x20);
        rig.write(0, 0xA0);
        rig.write(0, 0x0F0F);
        rig.write(0, 0x51);
        rig.wait(SUSPEND_LATENCY);
        rig.write(2, 0xA0); // refused: the first program is not lost
        rig.write(2, 0x1111);
        assert!(rig.is_ready());
        rig.write(0, resume);
        rig.wait_ready();
        rig.write(0, 0xA0);
        rig.write(4, 0x2222);
        rig.wait_ready();
        assert_eq!([0, 2, 4].map(|offset| rig.read(offset)), [0x0F0F, 0xFFFF, 0x2222]);
    }
}

#[test]
fn while_a_program_is_suspended_only_autoselect_is_accepted() {
    let mut rig = rig();
    rig.start_program(0, 0x0F0F);
    rig.wait(WORD_TIME / 3);
    rig.write(0, 0x51);
    rig.wait(SUSPEND_LATENCY);
    rig.start_program(SECTOR, 0x0000);
    assert!(rig.is_ready());
    rig.load(SECTOR, &[(SECTOR, 0x0000)]);
    rig.write(SECTOR, 0x29);
    rig.start_erase(SECTOR);
    assert!(rig.is_ready());
    rig.unlocked(0x90);
    assert_eq!(rig.query(0), 0xBF);
    rig.reset();
    rig.write(0, 0x50);
    rig.wait_ready();
    assert_eq!((rig.read(0), rig.read(SECTOR)), (0x0F0F, 0xFFFF));
}

#[test]
fn a_program_within_a_suspended_erase_is_suspended_and_resumed_first() {
    let mut rig = suspended();
    rig.start_program(SECTOR + 2, 0x0055);
    rig.wait(WORD_TIME / 4);
    rig.write(0, 0xB0);
    rig.wait(SUSPEND_LATENCY);
    assert!(rig.is_ready());
    assert_eq!(rig.read(SECTOR), 0x2222);
    assert!(rig.toggles_dq2(0));
    rig.write(0, 0x30);
    rig.wait_ready();
    assert_eq!(rig.read(SECTOR + 2), 0x0055, "the program ended");
    assert!(rig.toggles_dq2(0), "the erase has not");
    rig.write(0, 0x30);
    let status = rig.read(0);
    assert_eq!(status & DQ3, DQ3);
    rig.wait_ready();
    assert_eq!(rig.read(0), 0xFFFF);
}

#[test]
fn parts_without_suspend_ignore_the_commands() {
    let features = Features {
        erase_suspend: false,
        program_suspend: false,
        ..uniform(BusWidth::X16).features
    };
    let mut rig = Rig::new(Part { features, ..uniform(BusWidth::X16) });
    rig.start_program(0, 0x0F0F);
    let end = rig.chip.ready_at();
    rig.write(0, 0x51);
    rig.write(0, 0xB0);
    assert_eq!(rig.chip.ready_at(), end);
    rig.wait_ready();
    rig.start_erase(0);
    rig.wait(WINDOW);
    rig.write(0, 0xB0);
    rig.wait(SUSPEND_LATENCY);
    assert!(!rig.is_ready());
    rig.command(0x55, 0x98);
    rig.wait_ready();
    rig.command(0x55, 0x98);
    assert_eq!(rig.query(0x46), 0, "PRI+6: no erase suspend");
    assert_eq!(rig.query(0x50), 0, "PRI+10h: no program suspend");
}

#[test]
fn a_suspended_multi_sector_erase_shows_all_its_sectors_and_goes_on_where_it_was() {
    let mut rig = rig();
    for sector in 0..4 {
        rig.program(sector * SECTOR, 0);
    }
    rig.start_erase(0);
    rig.write(SECTOR, 0x30);
    rig.write(SECTOR * 2, 0x30);
    rig.write(SECTOR, 0x30); // named twice, erased once
    let end = rig.chip.ready_at().unwrap();
    assert_eq!(end, rig.now + WINDOW + ERASE_TIME * 3);
    rig.wait(WINDOW + ERASE_TIME * 3 / 2);
    rig.write(0, 0xB0);
    rig.wait(SUSPEND_LATENCY);
    for sector in 0..3 {
        assert!(rig.toggles_dq2(sector * SECTOR));
    }
    assert_eq!(rig.read(SECTOR * 3), 0);
    rig.write(0, 0x30);
    rig.wait_ready();
    let read: Vec<u16> = (0..4).map(|sector| rig.read(sector * SECTOR)).collect();
    assert_eq!(read, [0xFFFF, 0xFFFF, 0xFFFF, 0]);
    let erases: Vec<u32> = (0..4)
        .map(|sector| rig.chip.array().erase_count(boardlab_media::SectorIndex::new(sector)))
        .collect();
    assert_eq!(erases, [1, 1, 1, 0]);
}

#[test]
fn any_other_command_in_the_window_gives_the_erase_up() {
    for value in [0xF0, 0xAA, 0x98, 0x00, 0x29] {
        let mut rig = rig();
        rig.program(0, 0x1234);
        rig.start_erase(0);
        rig.write(0, value);
        assert!(rig.is_ready(), "{value:02x}");
        rig.wait(ERASE_TIME * 2);
        assert_eq!(rig.read(0), 0x1234);
        assert_eq!(rig.chip.array().erase_count(boardlab_media::SectorIndex::new(0)), 0);
    }
}

#[test]
fn dq2_of_a_running_erase_toggles_in_its_sector_alone() {
    let mut rig = rig();
    rig.start_erase(0);
    rig.wait(WINDOW);
    assert!(rig.toggles_dq2(2));
    assert!(!rig.toggles_dq2(SECTOR));
    let pair = (rig.read(SECTOR), rig.read(SECTOR));
    assert_eq!((pair.0 ^ pair.1) & (DQ6 | DQ2), DQ6);
}

#[test]
fn a_bulk_read_is_refused_while_anything_is_suspended() {
    let mut rig = suspended();
    let mut buffer = [0; 4];
    assert!(!rig.chip.read_array(rig.now, Bytes::new(SECTOR), &mut buffer));
    rig.write(0, 0x30);
    rig.wait_ready();
    assert!(rig.chip.read_array(rig.now, Bytes::new(SECTOR), &mut buffer));
    assert_eq!(buffer, [0x22, 0x22, 0xFF, 0xFF]);
}
