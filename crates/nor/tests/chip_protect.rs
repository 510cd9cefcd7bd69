//! Sector protection, the status register, and identity of parts that have more or less.

use crate::chip_rig::{
    CYCLE, DQ5, DQ6, DQ7, ERASE_TIME, PROTECTED_LATENCY, Rig, SUSPEND_LATENCY, WIDTHS, WINDOW,
    WORD_TIME, part, uniform,
};
use boardlab_media::SectorIndex;
use boardlab_nor::part::{Boot, BusWidth, Cfi, Features, Identity, Part};
use boardlab_sim::{Bytes, Duration};

const SECTOR: u64 = 64 << 10;

fn with_register() -> Part {
    let part = uniform(BusWidth::X16);
    Part { features: Features { status_register: true, ..part.features }, ..part }
}

fn protect(rig: &mut Rig, offset: u64) {
    rig.unlocked(0xC0);
    rig.write(0, 0xA0);
    rig.write(offset, 0x00);
    rig.wait_ready();
    rig.write(0, 0x90);
    rig.write(0, 0x00);
}

fn register(rig: &mut Rig) -> u16 {
    rig.command(0x555, 0x70);
    rig.read(0)
}

#[test]
fn protection_bits_are_programmed_singly_and_erased_together() {
    for width in WIDTHS {
        let mut rig = Rig::new(uniform(width));
        rig.unlocked(0xC0);
        assert_eq!(rig.read(SECTOR), 1);
        for sector in [1, 5] {
            rig.write(0, 0xA0);
            rig.write(SECTOR * sector, 0x00);
            assert!(rig.toggles(0));
            assert_eq!(rig.chip.ready_at(), Some(rig.now - CYCLE * 2 + WORD_TIME));
            rig.wait_ready();
        }
        let read: Vec<u16> = (0..7).map(|sector| rig.read(SECTOR * sector)).collect();
        assert_eq!(read, [1, 0, 1, 1, 1, 0, 1]);
        rig.write(0, 0xA0);
        rig.write(SECTOR * 2, 0x01); // not the data that programs a bit
        assert!(rig.is_ready());
        assert_eq!(rig.read(SECTOR * 2), 1);
        rig.write(0, 0x80);
        rig.write(0, 0x30);
        assert!(!rig.is_ready());
        rig.wait_ready();
        assert!((0..7).all(|sector| rig.read(SECTOR * sector) == 1));
        rig.write(0, 0x90);
        rig.write(0, 0x00);
        assert_eq!(rig.read(0), rig.erased());
    }
}

#[test]
fn autoselect_shows_the_protection_of_each_sector() {
    for width in WIDTHS {
        let mut rig = Rig::new(uniform(width));
        protect(&mut rig, SECTOR * 2);
        rig.unlocked(0x90);
        let read: Vec<u16> = (0..4).map(|sector| rig.read(SECTOR * sector + 4)).collect();
        assert_eq!(read, [0, 0, 1, 0]);
    }
}

#[test]
fn a_protected_sector_takes_a_program_shows_a_status_and_does_not_change() {
    for width in WIDTHS {
        let mut rig = Rig::new(uniform(width));
        protect(&mut rig, 0);
        rig.start_program(0, 0x00);
        assert_eq!(rig.chip.ready_at(), Some(rig.now + PROTECTED_LATENCY));
        let status = rig.read(0);
        assert_eq!(status & (DQ7 | DQ5), DQ7);
        assert!(rig.toggles(0));
        rig.wait_ready();
        assert_eq!(rig.read(0), rig.erased());
        rig.load(0, &[(0, 0x00)]);
        rig.write(0, 0x29);
        assert_eq!(rig.chip.ready_at(), Some(rig.now + PROTECTED_LATENCY));
        rig.wait_ready();
        assert_eq!(rig.read(0), rig.erased());
    }
}

#[test]
fn an_erase_of_protected_sectors_alone_shows_a_status_after_the_window() {
    let mut rig = Rig::new(uniform(BusWidth::X16));
    rig.program(0, 0x1234);
    protect(&mut rig, 0);
    rig.start_erase(0);
    assert_eq!(rig.chip.ready_at(), Some(rig.now + WINDOW + PROTECTED_LATENCY));
    rig.wait(WINDOW);
    assert!(rig.toggles(0));
    assert_eq!(rig.read(0) & DQ7, 0);
    rig.wait_ready();
    assert_eq!(rig.read(0), 0x1234);
    assert_eq!(rig.chip.array().erase_count(SectorIndex::new(0)), 0);
}

#[test]
fn an_erase_of_several_sectors_leaves_out_the_protected_ones() {
    let mut rig = Rig::new(uniform(BusWidth::X16));
    for sector in 0..3 {
        rig.program(SECTOR * sector, 0);
    }
    protect(&mut rig, SECTOR);
    rig.start_erase(0);
    rig.write(SECTOR, 0x30);
    rig.write(SECTOR * 2, 0x30);
    assert_eq!(rig.chip.ready_at(), Some(rig.now + WINDOW + ERASE_TIME * 2));
    rig.wait_ready();
    let read: Vec<u16> = (0..3).map(|sector| rig.read(SECTOR * sector)).collect();
    assert_eq!(read, [0xFFFF, 0, 0xFFFF]);
    rig.program(0, 0);
    rig.start_chip_erase();
    assert_eq!(rig.chip.ready_at(), Some(rig.now + ERASE_TIME * 127));
    rig.wait_ready();
    assert_eq!((rig.read(0), rig.read(SECTOR)), (0xFFFF, 0));
}

#[test]
fn protection_survives_a_loss_of_power() {
    let mut rig = Rig::new(uniform(BusWidth::X16));
    protect(&mut rig, 0);
    rig.chip.power_cut(rig.now);
    rig.chip.power_on(rig.now);
    assert!(rig.chip.is_protected(SectorIndex::new(0)));
    rig.program(0, 0);
    assert_eq!(rig.read(0), 0xFFFF);
}

#[test]
fn a_part_without_protection_bits_ignores_their_command() {
    let part = uniform(BusWidth::X16);
    let features = Features { ppb: false, ..part.features };
    let mut rig = Rig::new(Part { features, ..part });
    rig.unlocked(0xC0);
    assert_eq!(rig.read(0), 0xFFFF);
}

#[test]
fn the_status_register_follows_a_program() {
    let mut rig = Rig::new(with_register());
    assert_eq!(register(&mut rig), 0x80);
    assert_eq!(rig.read(0), 0xFFFF, "one read, then contents again");
    rig.start_program(0, 0x0F0F);
    assert_eq!(register(&mut rig), 0x00);
    assert!(rig.toggles(0), "then the status bits again");
    rig.wait_ready();
    assert_eq!(register(&mut rig), 0x80);
    assert_eq!(rig.read(0), 0x0F0F);
}

#[test]
fn the_status_register_shows_what_is_suspended() {
    let mut rig = Rig::new(with_register());
    rig.start_erase(0);
    rig.wait(WINDOW);
    rig.write(0, 0xB0);
    rig.wait(SUSPEND_LATENCY);
    assert_eq!(register(&mut rig), 0xC0);
    rig.start_program(SECTOR, 0);
    rig.write(0, 0x51);
    rig.wait(SUSPEND_LATENCY);
    assert_eq!(register(&mut rig), 0xC4);
    rig.write(0, 0x50);
    rig.wait_ready();
    assert_eq!(register(&mut rig), 0xC0);
}

#[test]
fn the_status_register_reports_a_protected_sector_until_it_is_cleared() {
    let mut rig = Rig::new(with_register());
    protect(&mut rig, 0);
    rig.start_program(0, 0);
    assert_eq!(register(&mut rig), 0x00, "not valid while busy");
    rig.wait_ready();
    assert_eq!(register(&mut rig), 0x92);
    rig.command(0x555, 0x71);
    assert_eq!(register(&mut rig), 0x80);
    rig.start_erase(0);
    rig.wait_ready();
    assert_eq!(register(&mut rig), 0xA2);
}

#[test]
fn clearing_the_status_register_leaves_an_abort() {
    let mut rig = Rig::new(with_register());
    rig.load(0, &[(0, 1)]);
    rig.write(0, 0);
    assert_eq!(register(&mut rig), 0x98);
    rig.command(0x555, 0x71);
    assert!(rig.is_ready());
    assert_eq!(register(&mut rig), 0x80);
    assert_eq!(rig.read(0), 0xFFFF);
}

#[test]
fn a_part_without_a_status_register_ignores_its_commands() {
    let mut rig = Rig::new(uniform(BusWidth::X16));
    assert_eq!(register(&mut rig), 0xFFFF);
    rig.start_program(0, 0x0F0F);
    rig.command(0x555, 0x70);
    assert!(rig.toggles(0));
}

#[test]
fn three_device_codes_are_read_where_the_part_has_them() {
    for width in WIDTHS {
        let identity =
            Identity { manufacturer: 1, device: 0x227E, device_extended: Some([0x2228, 0x2201]) };
        let mut rig = Rig::new(Part { identity, ..uniform(width) });
        rig.unlocked(0x90);
        let read = [0x00, 0x01, 0x0E, 0x0F].map(|at| rig.query(at));
        let mask = if rig.wide { 0xFFFF } else { 0xFF };
        assert_eq!(read, [1, 0x227E, 0x2228, 0x2201].map(|code| code & mask));
        assert_eq!(rig.query(0x05), 0);
        rig.write(0, 0x12); // anything else leaves autoselect
        assert_eq!(rig.query(0), rig.erased());
    }
}

#[test]
fn the_query_holds_every_field_of_the_part() {
    let part = Part {
        write_buffer: Some(Bytes::new(512)),
        ..part(BusWidth::X16, Boot::Bottom, &[(8, 8), (127, 64)])
    };
    let mut rig = Rig::new(part);
    rig.command(0x55, 0x98);
    let read: Vec<u16> = (0x10..0x51).map(|at| rig.query(at)).collect();
    let expected: [u16; 0x41] = [
        0x51, 0x52, 0x59, 0x02, 0x00, 0x40, 0x00, 0x00, // QRY, command set, address of PRI
        0x00, 0x00, 0x00, 0x27, 0x36, 0x00, 0x00, 0x06, // Vcc, Vpp, word
        0x08, 0x08, 0x0F, 0x03, 0x02, 0x02, 0x01,
        0x17, // buffer, erase, chip, maxima, 2^23 bytes
        0x02, 0x00, 0x09, 0x00, 0x02, 0x07, 0x00, 0x20, // interface, 2^9 bytes, two regions
        0x00, 0x7E, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, // 8 x 8 KiB, 127 x 64 KiB
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, //
        0x50, 0x52, 0x49, 0x31, 0x33, 0x14, 0x02, 0x01, // PRI 1.3, unlock, suspend, groups
        0x00, 0x08, 0x00, 0x00, 0x02, 0x00, 0x00, 0x02, // PPB, page mode, bottom boot
        0x01, // program suspend
    ];
    assert_eq!(read, expected);
    assert_eq!((rig.query(0x0F), rig.query(0x51), rig.query(0xFF)), (0, 0, 0));
}

#[test]
fn a_long_region_table_pushes_the_vendor_table_on() {
    let runs = [(2, 16), (1, 32), (1, 64), (1, 128), (1, 256), (1, 512)];
    let mut rig = Rig::new(part(BusWidth::X16, Boot::Uniform, &runs));
    rig.command(0x55, 0x98);
    let primary = u32::from(rig.query(0x15));
    assert_eq!(primary, 0x2D + 4 * 6);
    assert_eq!(rig.query(primary), u16::from(b'P'));
}

#[test]
fn a_part_without_cfi_ignores_the_query() {
    for width in WIDTHS {
        let mut rig = Rig::new(Part { cfi: None::<Cfi>, ..uniform(width) });
        rig.command(0x55, 0x98);
        assert_eq!(rig.query(0x10), rig.erased());
        rig.unlocked(0x90);
        rig.command(0x55, 0x98);
        assert_eq!(rig.query(0), rig.erased(), "as any other cycle it leaves autoselect");
    }
}

#[test]
fn an_unknown_cycle_returns_to_the_mode_it_started_from() {
    for width in WIDTHS {
        let mut rig = Rig::new(uniform(width));
        rig.command(0x555, 0xAA);
        rig.command(0x555, 0x55); // wrong address
        rig.command(0x555, 0x90);
        assert_eq!(rig.query(0), rig.erased());
        rig.unlock();
        rig.command(0x554, 0x90); // wrong address
        assert_eq!(rig.query(0), rig.erased());
        rig.unlock();
        rig.reset();
        rig.command(0x555, 0x90);
        assert_eq!(rig.query(0), rig.erased());
        rig.unlocked(0x20);
        rig.write(0, 0xF0); // no reset in bypass mode
        rig.write(0, 0x12);
        rig.write(0, 0xA0);
        rig.write(0, 0x34);
        rig.wait_ready();
        assert_eq!(rig.read(0), 0x34);
    }
}

#[test]
fn reads_in_the_middle_of_a_sequence_give_contents() {
    let mut rig = Rig::new(uniform(BusWidth::X16));
    rig.program(0, 0x1234);
    rig.command(0x555, 0xAA);
    assert_eq!(rig.read(0), 0x1234);
    rig.command(0x2AA, 0x55);
    assert_eq!(rig.read(0), 0x1234);
    rig.command(0x555, 0xA0);
    assert_eq!(rig.read(0), 0x1234);
    rig.write(2, 0x5678);
    rig.wait_ready();
    assert_eq!(rig.read(2), 0x5678);
    assert_eq!(rig.read(0) & DQ6, 0x1234 & DQ6);
    rig.wait(Duration::from_secs(1));
}
