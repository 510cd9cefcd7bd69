//! What QEMU's model of this command set is tested for (`tests/qtest/pflash-cfi02-test.c`, 7.2),
//! on the same three geometries and in both widths, with time that really passes.

use crate::chip_rig;

use crate::chip_rig::{DQ2, DQ3, DQ6, DQ7, Rig, WIDTHS, WINDOW, bottom_boot, top_boot, uniform};
use boardlab_nor::part::{Boot, Part};
use boardlab_sim::Duration;

/// Runs a test on every geometry and width.
fn everywhere(test: impl Fn(&mut Rig, &Part)) {
    for width in WIDTHS {
        for part in [uniform(width), top_boot(width), bottom_boot(width)] {
            test(&mut Rig::new(part.clone()), &part);
        }
    }
}

/// First byte of each sector.
fn sectors(part: &Part) -> Vec<u64> {
    let mut starts = Vec::new();
    let mut start = 0;
    for region in &part.regions {
        for _ in 0..region.count {
            starts.push(start);
            start += region.size.get();
        }
    }
    starts
}

#[test]
fn autoselect_tells_manufacturer_and_device() {
    everywhere(|rig, _| {
        rig.unlocked(0x90);
        assert_eq!(rig.query(0), 0xBF);
        assert_eq!(rig.query(1), if rig.wide { 0x236D } else { 0x6D });
        rig.reset();
        assert_eq!(rig.query(0), rig.erased());
    });
}

#[test]
fn the_query_tells_the_geometry() {
    everywhere(|rig, part| {
        rig.command(0x55, 0x98);
        let text: Vec<u16> = (0x10..0x13).map(|at| rig.query(at)).collect();
        assert_eq!(text, b"QRY".map(u16::from));
        assert_eq!(1_u64 << rig.query(0x27), 8 << 20);
        let count = usize::from(rig.query(0x2C));
        assert_eq!(count, part.regions.len());
        let mut regions = part.regions.clone();
        if part.boot == Boot::Top {
            regions.reverse(); // AMD parts list the boot sectors first, and drivers swap them.
        }
        for (base, region) in (0x2D..).step_by(4).zip(&regions) {
            let sectors = rig.query(base) + (rig.query(base + 1) << 8);
            assert_eq!(u32::from(sectors) + 1, region.count);
            let size = rig.query(base + 2) + (rig.query(base + 3) << 8);
            assert_eq!(u64::from(size) * 256, region.size.get());
        }
        let primary = u32::from(rig.query(0x15) + (rig.query(0x16) << 8));
        assert!(primary >= 0x2D + 4 * u32::try_from(count).unwrap());
        let text: Vec<u16> = (primary..primary + 3).map(|at| rig.query(at)).collect();
        assert_eq!(text, b"PRI".map(u16::from));
        assert_eq!(rig.query(primary + 6), 2, "programs during an erase suspend");
    });
}

#[test]
fn every_sector_erases_and_programs() {
    everywhere(|rig, part| {
        for start in sectors(part) {
            rig.chip.array_mut().load(boardlab_sim::Bytes::new(start), &[0; 16]);
            rig.start_erase(start);
            assert_eq!(rig.read(start) & DQ3, 0, "the window is open");
            rig.wait(WINDOW);
            let first = rig.read(start);
            let second = rig.read(start);
            assert_eq!(first & DQ3, DQ3, "the window is closed");
            assert_eq!(first & DQ7, 0);
            assert_eq!((first ^ second) & DQ6, DQ6);
            rig.wait_ready();
            assert!(!rig.toggles(start));
            assert_eq!(rig.read(start), rig.erased());
            rig.program(start, 0x55);
            assert_eq!(rig.read(start), 0x55);
            rig.program(start, 0xA5);
            assert_eq!(rig.read(start), 0x05);
        }
    });
}

#[test]
fn a_chip_erase_toggles_and_leaves_everything_erased() {
    everywhere(|rig, part| {
        for start in sectors(part) {
            rig.program(start, 0x1234);
        }
        rig.start_chip_erase();
        let status = rig.read(0);
        assert_eq!(status & DQ7, 0);
        assert_eq!((status ^ rig.read(0)) & DQ6, DQ6);
        rig.wait_ready();
        assert!(!rig.toggles(0));
        for start in sectors(part) {
            assert_eq!(rig.read(start), rig.erased());
        }
    });
}

#[test]
fn unlock_bypass_takes_the_program_command_at_any_address() {
    everywhere(|rig, _| {
        rig.unlocked(0x20);
        for (offset, value) in [(0, 0x01), (2, 0x23), (4, 0x45)] {
            rig.write(offset + 1_234, 0xA0);
            rig.write(offset, value);
            assert!(rig.toggles(offset));
            rig.wait_ready();
        }
        rig.write(0, 0x90);
        rig.write(0, 0x00);
        rig.write(6, 0xA0);
        rig.write(6, 0x67);
        assert!(!rig.toggles(6), "a program without unlock after the exit");
        let read: Vec<u16> = [0, 2, 4, 6].map(|offset| rig.read(offset)).into();
        assert_eq!(read, [0x01, 0x23, 0x45, rig.erased()]);
    });
}

#[test]
fn commands_ignore_high_address_lines() {
    everywhere(|rig, _| {
        let (first, second) = if rig.wide { (0x5555, 0x2AAA) } else { (0xAAAA, 0x5555) };
        rig.write_at(boardlab_nor::chip::Address(first), 0xAA);
        rig.write_at(boardlab_nor::chip::Address(second), 0x55);
        rig.write_at(boardlab_nor::chip::Address(first), 0x90);
        assert_eq!(rig.query(0), 0xBF);
    });
}

#[test]
fn sectors_added_in_the_window_are_erased_and_no_others() {
    everywhere(|rig, part| {
        let starts = sectors(part);
        for &start in &starts {
            rig.program(start, 0);
        }
        let chosen = [starts[0], starts[1], starts[126], starts[127]];
        rig.start_erase(chosen[0]);
        for &start in &chosen[1..] {
            rig.wait(WINDOW - Duration::from_micros(1));
            rig.write(start, 0x30);
        }
        rig.wait(WINDOW);
        rig.write(starts[2], 0x30); // too late
        assert_eq!(rig.read(0) & DQ3, DQ3);
        rig.wait_ready();
        for &start in &starts {
            let expected = if chosen.contains(&start) { rig.erased() } else { 0 };
            assert_eq!(rig.read(start), expected, "sector at {start:x}");
        }
    });
}

#[test]
fn an_erase_suspended_after_the_window_shows_dq2_in_its_sector_alone() {
    everywhere(|rig, part| suspend_and_resume(rig, part, WINDOW * 2));
}

#[test]
fn an_erase_suspended_in_the_window_shows_dq2_in_its_sector_alone() {
    everywhere(|rig, part| suspend_and_resume(rig, part, Duration::from_micros(10)));
}

fn suspend_and_resume(rig: &mut Rig, part: &Part, before: Duration) {
    let starts = sectors(part);
    let (here, there) = (starts[1], starts[2]);
    rig.program(here, 0x1111);
    rig.program(there, 0x2222);
    rig.start_erase(here);
    rig.wait(before);
    rig.write(0, 0xB0);
    rig.wait(chip_rig::SUSPEND_LATENCY);
    assert!(!rig.toggles(here), "DQ6 stands");
    assert!(rig.toggles_dq2(here), "DQ2 toggles in the suspended sector");
    assert_eq!(rig.read(here) & DQ7, DQ7);
    assert_eq!(rig.read(there), if rig.wide { 0x2222 } else { 0x22 });
    assert!(!rig.toggles_dq2(there));
    rig.write(0, 0x30);
    let first = rig.read(here);
    let second = rig.read(here);
    assert_eq!(first & DQ3, DQ3, "no window after a resume");
    assert_eq!((first ^ second) & (DQ6 | DQ2), DQ6 | DQ2);
    rig.wait_ready();
    assert_eq!(rig.read(here), rig.erased());
    assert_eq!(rig.read(there), if rig.wide { 0x2222 } else { 0x22 });
}

#[test]
fn the_query_entered_from_autoselect_returns_there() {
    everywhere(|rig, _| {
        rig.unlocked(0x90);
        rig.command(0x55, 0x98);
        assert_eq!(rig.query(0x10), u16::from(b'Q'));
        rig.reset();
        assert_eq!(rig.query(0), 0xBF, "back in autoselect");
        rig.reset();
        assert_eq!(rig.query(0), rig.erased());
    });
}
