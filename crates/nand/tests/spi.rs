//! The chip with a serial bus: its times, its registers, its own correction.

use crate::rig;

use crate::rig::{micros, nand, nanos, serial};
use boardlab_media::{ErrorRates, Row};
use boardlab_mtd::{Error, Mtd};
use boardlab_nand::chip::spi::{BUSY, CORRECTED, UNCORRECTABLE, WRITE_ENABLED};
use boardlab_nand::chip::{Die, Phase, Refusal, Setup, SpiChip};
use boardlab_sim::{Bytes, Clock, Instant, Seed};
use std::sync::Arc;

fn chip() -> SpiChip {
    SpiChip::new(Die::new(Arc::new(serial(16)), &Setup::perfect(Seed::new(1))).unwrap()).unwrap()
}

fn feature(chip: &mut SpiChip, now: Instant, register: u8) -> u8 {
    let mut value = [0];
    chip.select(now, &[0x0F, register], Phase::Out(&mut value)).unwrap();
    value[0]
}

/// Programs `data` at the start of page 0 of block 0.
fn program(chip: &mut SpiChip, now: &mut Instant, data: &[u8]) {
    chip.select(*now, &[0x1F, 0xA0, 0], Phase::None).unwrap();
    chip.select(*now, &[0x06], Phase::None).unwrap();
    chip.select(*now, &[0x02, 0, 0], Phase::In(data)).unwrap();
    chip.select(*now, &[0x10, 0, 0, 0], Phase::None).unwrap();
    *now += micros(300);
}

/// Reads page 0 of block 0; its status and first bytes.
fn read(chip: &mut SpiChip, now: &mut Instant, bytes: &mut [u8]) -> u8 {
    chip.select(*now, &[0x13, 0, 0, 0], Phase::None).unwrap();
    *now += micros(100);
    let status = feature(chip, *now, 0xC0);
    chip.select(*now, &[0x6B, 0, 0, 0], Phase::Out(bytes)).unwrap();
    status
}

#[test]
fn the_array_is_locked_until_it_is_unlocked_and_enabled_each_time() {
    let (mut chip, now) = (chip(), Instant::ZERO);
    let erase = |chip: &mut SpiChip| chip.select(now, &[0xD8, 0, 0, 64], Phase::None);
    chip.select(now, &[0x06], Phase::None).unwrap();
    assert_eq!(erase(&mut chip), Err(Refusal::Locked));
    chip.select(now, &[0x1F, 0xA0, 0], Phase::None).unwrap();
    assert_eq!(feature(&mut chip, now, 0xC0), WRITE_ENABLED);
    erase(&mut chip).unwrap();
    assert_eq!(feature(&mut chip, now, 0xC0) & BUSY, BUSY);
    assert_eq!(erase(&mut chip), Err(Refusal::Busy));
    let program = chip.select(now + micros(2_000), &[0x10, 0, 0, 0], Phase::None);
    assert_eq!(program, Err(Refusal::Locked), "the erase took the permission");
    let later = now + micros(2_000);
    assert_eq!(feature(&mut chip, later, 0xC0), 0);
    assert_eq!(chip.select(later, &[0xD8, 0, 0, 0], Phase::None), Err(Refusal::Locked));
}

#[test]
fn one_wrong_bit_a_step_is_corrected_and_two_are_told() {
    let (mut chip, mut now) = (chip(), Instant::ZERO);
    let data: Vec<u8> = (0..=255).cycle().take(2_048).collect();
    program(&mut chip, &mut now, &data);
    let mut back = vec![0; 2_048];
    assert_eq!(read(&mut chip, &mut now, &mut back) & 0x30, 0);
    assert_eq!(back, data);
    let row = Row { block: 0, page: 0 };
    let mut page = vec![0; 2_112];
    chip.die().array().peek(row, 0, &mut page);
    for step in 0..4 {
        page[step * 512 + 99] ^= 4;
    }
    chip.die_mut().array_mut().load(row, &page);
    assert_eq!(read(&mut chip, &mut now, &mut back) & 0x30, CORRECTED);
    assert_eq!(back, data);
    page[600] ^= 1;
    chip.die_mut().array_mut().load(row, &page);
    assert_eq!(read(&mut chip, &mut now, &mut back) & 0x30, UNCORRECTABLE);
    assert_eq!(back[..512], data[..512]);
    // Without the correction the bytes come as they are.
    chip.select(now, &[0x1F, 0xB0, 0], Phase::None).unwrap();
    assert_eq!(read(&mut chip, &mut now, &mut back) & 0x30, 0);
    assert_eq!(back, page[..2_048]);
}

#[test]
fn a_page_over_four_lines_takes_its_clocks() {
    // 100 MHz: 10 ns a clock, 80 ns a byte of code and address, 20 ns a byte of data.
    let (mut nand, mut clock) = nand(serial(16));
    let start = clock.now();
    nand.read(&mut clock, Bytes::ZERO, &mut [0; 2_048]).unwrap();
    let page_read = nanos(4 * 80) + micros(25);
    let status = nanos(3 * 80);
    let data = nanos(4 * 80 + 2_048 * 20) + nanos(4 * 80 + 64 * 20);
    assert_eq!(clock.now().since(start), page_read + status + data);
}

#[test]
fn the_driver_hears_of_what_the_chip_could_not_correct() {
    let part = serial(4);
    let profile = rig::profile(&part);
    // About 30 wrong bits a page.
    let rates = ErrorRates::constant(2_000_000_000_000_000);
    let (mut nand, mut clock) = rig::nand_with(part, profile, &rig::setup(1, Some(rates)));
    let wrong = nand.read(&mut clock, Bytes::ZERO, &mut [0; 2_048]);
    assert_eq!(wrong, Ok(boardlab_mtd::ReadHealth::default()), "an erased page has only disturb");
    nand.program(&mut clock, Bytes::ZERO, &[0x5A; 2_048]).unwrap();
    let wrong = nand.read(&mut clock, Bytes::ZERO, &mut [0; 2_048]);
    assert_eq!(wrong, Err(Error::Uncorrectable { offset: Bytes::ZERO }));
    let _: &Clock = &clock;
}

#[test]
fn selections_of_no_data_sheet_are_refused() {
    let (mut chip, now) = (chip(), Instant::ZERO);
    let refused = |chip: &mut SpiChip, out: &[u8]| chip.select(now, out, Phase::None).unwrap_err();
    assert_eq!(refused(&mut chip, &[]), Refusal::NoData);
    assert_eq!(refused(&mut chip, &[0x42]), Refusal::UnknownCommand(0x42));
    assert_eq!(refused(&mut chip, &[0x13, 0]), Refusal::UnknownCommand(0x13));
    let row = Row { block: 16, page: 0 };
    assert_eq!(refused(&mut chip, &[0x13, 0, 4, 0]), Refusal::NoSuchRow(row));
    let beyond = chip.select(now, &[0x03, 8, 0, 0], Phase::Out(&mut [0; 65]));
    assert_eq!(beyond, Err(Refusal::BeyondPage { column: 2_112 }));
    let beyond = chip.select(now, &[0x1F, 0xC0, 0], Phase::None);
    assert_eq!(beyond, Err(Refusal::UnexpectedAddress));
}
