//! Power cuts: at every bus cycle of a small sequence and at many instants of its busy times.
//!
//! Whatever the moment: a program never sets a bit, a sector that nobody touched keeps every byte,
//! what was finished before stays, and the chip works when the power is back.

use crate::chip_rig::{
    CYCLE, ERASE_TIME, RESET_LATENCY, Rig, SUSPEND_LATENCY, WIDTHS, WINDOW, part,
};
use boardlab_media::{NorArray, SectorIndex};
use boardlab_nor::chip::{Address, Chip};
use boardlab_nor::part::{Boot, BusWidth, Part};
use boardlab_sim::{Bytes, Duration, Instant, Seed};
use std::sync::Arc;

const SECTOR: u64 = 8 << 10;
const OLD: u8 = 0x5A;
const UNTOUCHED: [u64; 2] = [0, 3];

/// What a prepared sector holds.
fn old() -> Vec<u8> {
    vec![OLD; Bytes::new(SECTOR).to_usize()]
}

/// Four small sectors: old contents everywhere but in the third.
fn prepared(width: BusWidth) -> Rig {
    let mut rig = Rig::new(part(width, Boot::Uniform, &[(4, 8)]));
    for sector in [0, 1, 3] {
        rig.chip.array_mut().load(Bytes::new(SECTOR * sector), &old());
    }
    rig
}

/// Erases sector 1, programs a buffer into it and a word into sector 2, cycle by cycle.
fn sequence(rig: &mut Rig) {
    rig.start_erase(SECTOR);
    rig.wait_ready();
    rig.read(SECTOR);
    let words: Vec<_> = (0..16).map(|index| (SECTOR + index * 2, 0x1234)).collect();
    rig.load(SECTOR, &words);
    rig.write(SECTOR, 0x29);
    rig.wait_ready();
    rig.read(SECTOR);
    rig.start_program(SECTOR * 2, 0x0042);
    rig.wait_ready();
    rig.read(SECTOR * 2);
}

/// Runs the sequence with the power cut after `cycles` cycles, or else at `instant`.
///
/// The sequence is recorded first, so that the cut needs no help from it.
fn cut(width: BusWidth, cycles: usize, instant: Instant) -> (Rig, NorArray) {
    let mut rig = prepared(width);
    let recorded = recording(width);
    let before = rig.chip.array().clone();
    for &(now, cycle) in recorded.iter().take(cycles) {
        if now > instant {
            break;
        }
        rig.now = now;
        match cycle {
            Cycle::Write(address, value) => rig.chip.write(now, address, value),
            Cycle::Read(address) => {
                rig.chip.read(now, address);
            }
        }
    }
    let at = if instant < Instant::MAX { instant } else { rig.now };
    rig.chip.power_cut(at);
    rig.now = at;
    (rig, before)
}

#[derive(Clone, Copy)]
enum Cycle {
    Write(Address, u16),
    Read(Address),
}

/// The sequence as bus cycles, found by running it on a rig that writes down what it does.
fn recording(width: BusWidth) -> Vec<(Instant, Cycle)> {
    let mut rig = prepared(width);
    rig.log = Some(Vec::new());
    sequence(&mut rig);
    let log = rig.log.take().unwrap();
    log.into_iter()
        .map(|(now, address, value)| {
            (now, value.map_or(Cycle::Read(address), |value| Cycle::Write(address, value)))
        })
        .collect()
}

fn contents(array: &NorArray, sector: u64) -> Vec<u8> {
    let mut bytes = vec![0; old().len()];
    array.read(Bytes::new(SECTOR * sector), &mut bytes);
    bytes
}

/// What must hold after a cut at any moment.
fn assert_physics(rig: &mut Rig, before: &NorArray) {
    assert_eq!(rig.read(SECTOR), rig.erased(), "floating lines");
    rig.start_program(0, 0);
    rig.chip.power_on(rig.now);
    assert!(rig.chip.in_array_mode(rig.now));
    let array = rig.chip.array().clone();
    for sector in UNTOUCHED {
        assert_eq!(contents(&array, sector), contents(before, sector), "sector {sector}");
    }
    let word: u64 = if rig.wide { 2 } else { 1 };
    let third = contents(&array, 2);
    let (target, rest) = third.split_at(usize::try_from(word).unwrap());
    assert!(rest.iter().all(|&byte| byte == 0xFF), "only the word");
    assert_eq!(target[0] & 0x42, 0x42, "zeros only where the data has them");
    let erased = array.erase_count(SectorIndex::new(1)) > 0;
    assert!(erased || contents(&array, 1) == contents(before, 1));
    let complete = rig.chip.counters().erases > 0;
    if complete {
        let (page, rest) = (&contents(&array, 1)[..64], &contents(&array, 1)[64..]);
        assert!(rest.iter().all(|&byte| byte == 0xFF), "the erase is not undone");
        for (at, &byte) in page.iter().enumerate() {
            let data = programmed(rig.wide, at);
            assert_eq!(byte & data, data, "a program sets no bit and clears no other");
        }
    }
    assert_usable(rig);
}

/// The byte that the sequence programs at `at` of the page.
fn programmed(wide: bool, at: usize) -> u8 {
    match (wide, at) {
        (_, 32..) => 0xFF,
        (true, at) => [0x34, 0x12][at % 2],
        (false, at) => [0x34, 0xFF][at % 2],
    }
}

/// Erase and program work again, on the torn sector as well.
fn assert_usable(rig: &mut Rig) {
    for sector in [1, 2] {
        rig.start_erase(SECTOR * sector);
        rig.wait_ready();
        assert!(rig.chip.array().is_erased(SectorIndex::new(u32::try_from(sector).unwrap())));
        rig.program(SECTOR * sector + 2, 0x0033);
        assert_eq!(rig.read(SECTOR * sector + 2), 0x0033);
    }
}

#[test]
fn a_cut_after_any_bus_cycle_leaves_what_physics_leaves() {
    for width in WIDTHS {
        let count = recording(width).len();
        assert!(count > 30);
        for cycles in 0..=count {
            let (mut rig, before) = cut(width, cycles, Instant::MAX);
            assert_physics(&mut rig, &before);
        }
    }
}

#[test]
fn a_cut_at_any_instant_of_a_busy_time_leaves_what_physics_leaves() {
    for width in WIDTHS {
        let end = recording(width).last().unwrap().0;
        let mut stream = Seed::new(7).stream("cuts");
        for _ in 0..150 {
            let at = Instant::from_nanos(stream.below(end.as_nanos()));
            let (mut rig, before) = cut(width, usize::MAX, at);
            assert_physics(&mut rig, &before);
        }
        // The last millisecond holds the programs; most of the time before is the erase.
        for _ in 0..150 {
            let at = end - Duration::from_nanos(stream.below(400_000));
            let (mut rig, before) = cut(width, usize::MAX, at);
            assert_physics(&mut rig, &before);
        }
    }
}

#[test]
fn a_torn_program_has_flipped_its_share_of_the_bits() {
    let words: Vec<_> = (0..32).map(|index| (SECTOR * 2 + index * 2, 0)).collect();
    let mut rig = prepared(BusWidth::X16);
    rig.load(SECTOR * 2, &words);
    rig.write(SECTOR * 2, 0x29);
    let whole = rig.chip.ready_at().unwrap().since(rig.now);
    let mut last = 512;
    for tenth in 1..10 {
        let mut fork = rig.clone();
        fork.chip.power_cut(rig.now + whole * tenth / 10);
        let ones: u32 =
            contents(fork.chip.array(), 2)[..64].iter().map(|byte| byte.count_ones()).sum();
        let expected = u32::try_from(512 - 512 * tenth / 10).unwrap();
        assert!(ones.abs_diff(expected) < 60, "{ones} of 512 after {tenth} tenths");
        assert!(ones < last + 40);
        last = ones;
    }
}

#[test]
fn an_interrupted_erase_first_loses_ones_and_then_gains_them() {
    let mut rig = prepared(BusWidth::X16);
    rig.start_erase(SECTOR);
    let begun = rig.now + WINDOW;
    let ones_at = |percent: u64| {
        let mut fork = rig.clone();
        fork.chip.power_cut(begun + ERASE_TIME * percent / 100);
        let bytes = contents(fork.chip.array(), 1);
        bytes.iter().map(|byte| byte.count_ones()).sum::<u32>()
    };
    let whole = u32::try_from(SECTOR * 8).unwrap();
    assert_eq!(ones_at(0), whole / 2, "half the bits of the old contents are one");
    let shares = [(12, 25), (24, 2), (26, 1), (62, 49), (95, 93)];
    for (percent, expected) in shares {
        let share = ones_at(percent) * 100 / whole;
        assert!(share.abs_diff(expected) <= 2, "{share} % ones after {percent} % of the time");
    }
    let mut preprogrammed = rig.clone();
    preprogrammed.chip.power_cut(begun + ERASE_TIME / 10);
    let bytes = contents(preprogrammed.chip.array(), 1);
    assert!(bytes.iter().all(|byte| byte & !OLD == 0), "the first phase sets no bit");
}

#[test]
fn a_cut_in_the_window_changes_nothing() {
    let mut rig = prepared(BusWidth::X16);
    let before = rig.chip.array().clone();
    rig.start_erase(SECTOR);
    rig.wait(WINDOW / 2);
    rig.chip.power_cut(rig.now);
    assert_eq!(rig.chip.array().first_difference(&before), None);
}

#[test]
fn a_cut_tears_what_is_suspended() {
    let mut rig = prepared(BusWidth::X16);
    rig.start_erase(SECTOR);
    rig.wait(WINDOW + ERASE_TIME / 2);
    rig.write(0, 0xB0);
    rig.wait(SUSPEND_LATENCY);
    rig.load(SECTOR * 2, &(0..32).map(|index| (SECTOR * 2 + index * 2, 0)).collect::<Vec<_>>());
    rig.write(SECTOR * 2, 0x29);
    rig.wait(Duration::from_micros(100));
    rig.write(0, 0x51);
    rig.wait(Duration::from_secs(1));
    rig.chip.power_cut(rig.now);
    rig.chip.power_on(rig.now);
    let sectors = [1, 2].map(|sector| contents(rig.chip.array(), sector));
    assert!(sectors[0].iter().any(|&byte| byte != OLD && byte != 0xFF));
    assert!(sectors[1][..64].iter().any(|&byte| byte != 0 && byte != 0xFF));
    assert_usable(&mut rig);
}

#[test]
fn a_multi_sector_erase_leaves_done_torn_and_untouched_sectors() {
    let mut rig = prepared(BusWidth::X16);
    rig.start_erase(0);
    rig.write(SECTOR, 0x30);
    rig.write(SECTOR * 3, 0x30);
    rig.wait(WINDOW + ERASE_TIME * 3 / 2);
    rig.chip.power_cut(rig.now);
    let array = rig.chip.array();
    assert!(array.is_erased(SectorIndex::new(0)));
    assert!(!array.is_erased(SectorIndex::new(1)));
    assert_eq!(contents(array, 3), old());
}

#[test]
fn a_fork_sees_the_same_cut_as_the_chip_it_was_forked_from() {
    let mut rig = prepared(BusWidth::X16);
    rig.start_erase(SECTOR);
    rig.wait(ERASE_TIME / 2);
    let mut fork = rig.clone();
    rig.chip.power_cut(rig.now);
    assert!(fork.chip.array().first_difference(rig.chip.array()).is_some(), "not shared");
    fork.chip.power_cut(rig.now);
    assert_eq!(fork.chip.array().first_difference(rig.chip.array()), None);
}

#[test]
fn another_seed_tears_other_bits() {
    let torn = |seed| {
        let part = part(BusWidth::X16, Boot::Uniform, &[(4, 8)]);
        let chip = Chip::new(Arc::new(part), Seed::new(seed)).unwrap();
        let mut rig = Rig { chip, ..prepared(BusWidth::X16) };
        rig.start_erase(SECTOR);
        rig.chip.power_cut(rig.now + WINDOW + ERASE_TIME / 2);
        contents(rig.chip.array(), 1)
    };
    assert_eq!(torn(1), torn(1));
    assert_ne!(torn(1), torn(2));
}

#[test]
fn a_hardware_reset_tears_the_operation_and_takes_its_latency() {
    let mut rig = prepared(BusWidth::X16);
    rig.start_erase(SECTOR);
    rig.wait(ERASE_TIME / 2);
    rig.chip.hardware_reset(rig.now);
    assert_eq!(rig.chip.ready_at(), Some(rig.now + RESET_LATENCY));
    rig.start_program(0, 0);
    assert_eq!(rig.read(0), 0xFFFF);
    rig.wait(RESET_LATENCY);
    assert!(rig.is_ready());
    assert_eq!(rig.read(0), 0x5A5A);
    assert!(contents(rig.chip.array(), 1).iter().any(|&byte| byte != OLD && byte != 0xFF));
    assert_usable(&mut rig);
}

#[test]
fn a_hardware_reset_ends_every_mode_at_once() {
    for width in WIDTHS {
        let mut rig = prepared(width);
        for command in [0x90, 0x20, 0xC0, 0xA0, 0x80] {
            rig.unlocked(command);
            rig.chip.hardware_reset(rig.now);
            assert!(rig.is_ready());
            assert_eq!(rig.read(0) & 0xFF, u16::from(OLD));
            rig.program(SECTOR * 2, 0x42);
            assert_eq!(rig.read(SECTOR * 2), 0x42);
        }
        rig.load(SECTOR, &[(SECTOR, 0), (SECTOR + 2, 0)]);
        rig.chip.hardware_reset(rig.now);
        rig.write(SECTOR, 0x29);
        assert!(rig.is_ready(), "the load is forgotten");
    }
}

#[test]
fn torn_protection_bits_are_set_or_not_and_erasing_them_again_mends_them() {
    let mut seen = [false; 2];
    for seed in 0..20 {
        let part: Part = part(BusWidth::X16, Boot::Uniform, &[(4, 8)]);
        let chip = Chip::new(Arc::new(part), Seed::new(seed)).unwrap();
        let mut rig = Rig { chip, ..prepared(BusWidth::X16) };
        rig.unlocked(0xC0);
        rig.write(0, 0xA0);
        rig.write(SECTOR, 0x00);
        rig.chip.power_cut(rig.now + CYCLE * 300);
        rig.chip.power_on(rig.now + CYCLE * 300);
        rig.wait(CYCLE * 300);
        seen[usize::from(rig.chip.is_protected(SectorIndex::new(1)))] = true;
        assert!(!rig.chip.is_protected(SectorIndex::new(0)));
        rig.unlocked(0xC0);
        rig.write(0, 0x80);
        rig.write(0, 0x30);
        let mut fork = rig.clone();
        fork.chip.power_cut(rig.now + ERASE_TIME / 2);
        rig.wait_ready();
        assert!(!rig.chip.is_protected(SectorIndex::new(1)));
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn power_that_is_off_takes_nothing_and_gives_ones() {
    for width in WIDTHS {
        let mut rig = prepared(width);
        rig.chip.power_cut(rig.now);
        rig.start_program(0, 0);
        assert!(!rig.is_ready());
        assert_eq!(rig.chip.ready_at(), None);
        assert_eq!(rig.read(0), rig.erased());
        rig.chip.hardware_reset(rig.now);
        rig.chip.power_cut(rig.now);
        assert!(!rig.is_ready());
        rig.chip.power_on(rig.now);
        rig.chip.power_on(rig.now);
        assert_eq!(rig.read(0) & 0xFF, u16::from(OLD));
    }
}
