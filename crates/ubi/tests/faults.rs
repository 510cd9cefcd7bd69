//! Faults of the medium: bit flips, blocks that cannot be read, written or erased.

use boardlab_mtd::{BlockIndex, Fault, FaultInjector, Mtd, RamMtd, Rule, Trigger};
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_ubi::{AttachError, Error, LebIndex, Lebs, NewVolume, Options, Ubi, Volume};
use std::ops::Range;

const BLOCK: u64 = 8 * 512;
const PEBS: u32 = 48;

fn nand() -> RamMtd {
    RamMtd::nand(PEBS, 8, Bytes::new(512), Bytes::new(16))
}

fn prepared() -> RamMtd {
    let mut clock = Clock::new();
    let mut ubi = Ubi::attach(&mut clock, nand(), &Options::default()).unwrap();
    let size = Bytes::new(16 * u64::from(ubi.layout().leb_size));
    ubi.create_volume(&mut clock, &NewVolume::dynamic("data", size)).unwrap();
    let mut volume = ubi.into_volume(&mut clock, 0).unwrap();
    for leb in 0..8 {
        volume.write(&mut clock, LebIndex(leb), 0, &[7; 1_024]).unwrap();
    }
    while volume.background(&mut clock).unwrap() {}
    volume.into_ubi().into_device()
}

fn open<M: Mtd>(clock: &mut Clock, device: M) -> Volume<M> {
    Ubi::attach(clock, device, &Options::default()).unwrap().into_volume(clock, 0).unwrap()
}

fn faulty(rules: impl IntoIterator<Item = Rule>) -> FaultInjector<RamMtd> {
    rules.into_iter().fold(FaultInjector::new(prepared(), Seed::new(3)), FaultInjector::rule)
}

/// The block whose data begin with these bytes.
fn block_of(flash: &RamMtd, leb: u8) -> u64 {
    let image = flash.image();
    let is_leb = |peb: &[u8]| {
        peb[..4] == *b"UBI#"
            && peb[512..516] == *b"UBI!"
            && peb[527] == leb
            && peb[520..524] == [0; 4]
    };
    let found = image.chunks(usize::try_from(BLOCK).unwrap()).position(is_leb);
    u64::try_from(found.unwrap()).unwrap()
}

fn data_of(peb: u64) -> Range<Bytes> {
    Bytes::new(peb * BLOCK + 1_024)..Bytes::new((peb + 1) * BLOCK)
}

fn read(volume: &mut impl Lebs, clock: &mut Clock, leb: u32) -> Result<[u8; 1_024], Error> {
    let mut data = [0; 1_024];
    volume.read(clock, LebIndex(leb), 0, &mut data).map(|()| data)
}

#[test]
fn a_leb_with_corrected_bit_flips_is_moved() {
    let peb = block_of(&prepared(), 3);
    let rule = Rule::new(Fault::ReadCorrected(1), Trigger::From(0)).within(data_of(peb));
    let (mut clock, device) = (Clock::new(), faulty([rule]));
    let mut volume = open(&mut clock, device);
    assert_eq!(read(&mut volume, &mut clock, 3), Ok([7; 1_024]));
    assert_eq!(volume.ubi().counts().works, 1);
    while volume.background(&mut clock).unwrap() {}
    assert_eq!(volume.ubi().counts().moved, 1);
    volume.ubi().check_tables().unwrap();
    let flash = volume.into_ubi().into_device().into_inner();
    assert_ne!(block_of(&flash, 3), peb);
    assert_eq!(read(&mut open(&mut clock, flash), &mut clock, 3), Ok([7; 1_024]));
}

#[test]
fn a_leb_that_cannot_be_read_is_left_until_it_is_unmapped() {
    let peb = block_of(&prepared(), 3);
    let flips = Rule::new(Fault::ReadCorrected(1), Trigger::Nth(0)).within(data_of(peb));
    let lost = Rule::new(Fault::ReadUncorrectable, Trigger::From(0)).within(data_of(peb));
    let (mut clock, device) = (Clock::new(), faulty([flips, lost]));
    let mut volume = open(&mut clock, device);
    read(&mut volume, &mut clock, 3).unwrap();
    while volume.background(&mut clock).unwrap() {}
    assert_eq!(volume.ubi().counts().moved, 0);
    let leb = LebIndex(3);
    let error = Error::Uncorrectable { leb, offset: 0 };
    assert_eq!(read(&mut volume, &mut clock, 3), Err(error));
    volume.ubi().check_tables().unwrap();
    volume.unmap(&mut clock, leb).unwrap();
    volume.ubi().check_tables().unwrap();
    // The torture test reads the block too, and finds it bad.
    while volume.background(&mut clock).unwrap() {}
    assert_eq!(volume.ubi().counts().bad, 1);
    assert_eq!(volume.ubi().counts().bad_reserve, 0);
    let block = BlockIndex(u32::try_from(peb).unwrap());
    assert_eq!(volume.ubi_mut().device_mut().is_bad(&mut clock, block), Ok(true));
}

#[test]
fn a_failed_move_makes_the_device_read_only_and_its_data_stay_readable() {
    let peb = block_of(&prepared(), 3);
    let flips = Rule::new(Fault::ReadCorrected(1), Trigger::From(0)).within(data_of(peb));
    let (mut clock, device) = (Clock::new(), faulty([flips]));
    let mut volume = open(&mut clock, device);
    read(&mut volume, &mut clock, 3).unwrap();
    // Damages the VID header after the attach has read it.
    let device = volume.ubi_mut().device_mut();
    device.program(&mut clock, Bytes::new(peb * BLOCK + 512), &[0x10; 512]).unwrap();
    while volume.background(&mut clock).unwrap() {}
    assert!(volume.ubi().is_read_only());
    volume.ubi().check_tables().unwrap();
    assert_eq!(read(&mut volume, &mut clock, 3), Ok([7; 1_024]));
    assert_eq!((volume.ubi().counts().moved, volume.ubi().counts().works), (0, 0));
}

#[test]
fn a_write_that_fails_moves_the_leb_with_what_it_had() {
    let peb = block_of(&prepared(), 3);
    let rule = Rule::new(Fault::ProgramFails, Trigger::From(0)).within(data_of(peb));
    let (mut clock, device) = (Clock::new(), faulty([rule]));
    let mut volume = open(&mut clock, device);
    volume.write(&mut clock, LebIndex(3), 1_024, &[8; 512]).unwrap();
    assert_eq!(read(&mut volume, &mut clock, 3), Ok([7; 1_024]));
    while volume.background(&mut clock).unwrap() {}
    volume.ubi().check_tables().unwrap();
    let counts = volume.ubi().counts();
    assert_eq!((counts.bad, counts.good, counts.bad_reserve), (1, PEBS - 1, 0));
    let flash = volume.into_ubi().into_device().into_inner();
    let mut volume = open(&mut clock, flash);
    let mut found = [0; 1_536];
    volume.read(&mut clock, LebIndex(3), 0, &mut found).unwrap();
    assert_eq!(found, [[7; 512], [7; 512], [8; 512]].concat()[..]);
}

#[test]
fn a_new_block_that_cannot_be_written_is_replaced() {
    for fault in [Fault::ProgramFails, Fault::Hangs(boardlab_sim::Duration::from_micros(5))] {
        let rule = Rule::new(fault, Trigger::Nth(0));
        let (mut clock, device) = (Clock::new(), faulty([rule]));
        let mut volume = open(&mut clock, device);
        volume.change(&mut clock, LebIndex(3), &[9; 512]).unwrap();
        let mut found = [0; 512];
        volume.read(&mut clock, LebIndex(3), 0, &mut found).unwrap();
        assert_eq!(found, [9; 512]);
        // The block passes the torture test: it stays, and its erase counter tells of four erases.
        while volume.background(&mut clock).unwrap() {}
        assert_eq!((volume.ubi().counts().bad, volume.ubi().counts().max_ec), (0, 5));
        volume.ubi().check_tables().unwrap();
    }
}

#[test]
fn a_block_that_cannot_be_erased_is_marked_bad_and_the_last_makes_the_device_read_only() {
    let rule = Rule::new(Fault::EraseFails, Trigger::From(0));
    let (mut clock, device) = (Clock::new(), faulty([rule]));
    let mut volume = open(&mut clock, device);
    let available = volume.ubi().counts().available;
    for leb in 0..8 {
        volume.unmap(&mut clock, LebIndex(leb)).unwrap();
        while volume.background(&mut clock).unwrap() {}
        volume.ubi().check_tables().unwrap();
    }
    let counts = volume.ubi().counts();
    assert_eq!((counts.bad, counts.bad_reserve, counts.available), (8, 0, available - 7));
    assert!(!volume.ubi().is_read_only());
    for leb in (0..16).cycle().take(100) {
        let written = volume.change(&mut clock, LebIndex(leb), &[1; 512]);
        while volume.background(&mut clock).unwrap() {}
        if written.is_err() {
            break;
        }
        let _ = volume.unmap(&mut clock, LebIndex(leb));
        while volume.background(&mut clock).unwrap() {}
    }
    assert!(volume.ubi().is_read_only());
    assert_eq!(volume.unmap(&mut clock, LebIndex(9)), Err(Error::ReadOnly));
}

#[test]
fn reads_that_fail_are_repeated_three_times() {
    let peb = block_of(&prepared(), 3);
    let lost = |times| {
        let rule = Rule::new(Fault::ReadUncorrectable, Trigger::From(0)).within(data_of(peb));
        let rules = (0..times).map(|number| Rule { trigger: Trigger::Nth(number), ..rule.clone() });
        let (mut clock, device) = (Clock::new(), faulty(rules));
        read(&mut open(&mut clock, device), &mut clock, 3)
    };
    assert_eq!(lost(3), Ok([7; 1_024]));
}

#[test]
fn a_block_whose_erase_was_interrupted_is_erased_again_and_one_with_foreign_data_is_kept() {
    let mut clock = Clock::new();
    let mut flash = prepared();
    let peb = block_of(&flash, 3);
    // Damages the VID header of a LEB with data: no power cut does that.
    flash.program(&mut clock, Bytes::new(peb * BLOCK + 512), &[0x10; 512]).unwrap();
    let ubi = Ubi::attach(&mut clock, flash.clone(), &Options::default()).unwrap();
    assert_eq!((ubi.counts().corrupted, ubi.counts().works), (1, 0));
    ubi.check_tables().unwrap();
    // If its data cannot be corrected either, the erase of the block was interrupted.
    let rule = Rule::new(Fault::ReadUncorrectable, Trigger::From(0)).within(data_of(peb));
    let torn = FaultInjector::new(flash, Seed::new(1)).rule(rule);
    let ubi = Ubi::attach(&mut clock, torn, &Options::default()).unwrap();
    assert_eq!((ubi.counts().corrupted, ubi.counts().works), (0, 1));
}

#[test]
fn a_damaged_copy_of_the_volume_table_is_restored_and_two_are_refused() {
    let mut clock = Clock::new();
    let flash = prepared();
    let image = flash.image();
    let is_table = |peb: &[u8]| peb[520..524] == [0x7F, 0xFF, 0xEF, 0xFF];
    let chunks = image.chunks(usize::try_from(BLOCK).unwrap());
    let tables: Vec<u64> =
        (0..).zip(chunks).filter(|(_, peb)| is_table(peb)).map(|(number, _)| number).collect();
    assert_eq!(tables.len(), 2);
    let damage = |flash: &mut RamMtd, peb: u64| {
        flash.program(&mut Clock::new(), Bytes::new(peb * BLOCK + 1_024), &[0; 512]).unwrap();
    };
    for peb in &tables {
        let mut damaged = flash.clone();
        damage(&mut damaged, *peb);
        let mut ubi = Ubi::attach(&mut clock, damaged, &Options::default()).unwrap();
        assert_eq!(ubi.volumes().len(), 1);
        while ubi.background(&mut clock).unwrap() {}
        let mut other = ubi.into_device();
        let left = tables.iter().find(|other| *other != peb).unwrap();
        damage(&mut other, *left);
        let ubi = Ubi::attach(&mut clock, other, &Options::default()).unwrap();
        assert_eq!(ubi.volumes().len(), 1);
    }
    let mut damaged = flash;
    tables.iter().for_each(|peb| damage(&mut damaged, *peb));
    let refused = Ubi::attach(&mut clock, damaged, &Options::default()).unwrap_err();
    assert!(matches!(refused, AttachError::Table(_)), "{refused}");
}
