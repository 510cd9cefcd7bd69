//! Words that are written at once are those that would have been written one by one.

use crate::chip_rig::{CYCLE, WIDTHS, part};
use boardlab_nor::chip::{Address, Chip};
use boardlab_nor::part::{Boot, BusWidth};
use boardlab_nor::{Bus, BusTiming, ChipIndex, CutPoint};
use boardlab_sim::{Clock, Seed};
use std::sync::Arc;

const CHIP: ChipIndex = ChipIndex(0);

/// Two small sectors behind a bus that loses its power at a cycle.
fn bus(width: BusWidth, cut: u64) -> Bus {
    let small = part(width, Boot::Uniform, &[(2, 1)]);
    let chip = Chip::new(Arc::new(small), Seed::new(1)).unwrap();
    let mut bus = Bus::new(vec![chip], BusTiming { read_cycle: CYCLE, write_cycle: CYCLE });
    bus.cut_power_at(CutPoint::Cycle(cut));
    bus
}

#[test]
fn words_at_once_leave_what_single_words_leave() {
    let mut draws = Seed::new(1).stream("bursts");
    let (mut aborted, mut cut, mut whole) = (0, 0, 0);
    for case in 0..600_u32 {
        let width = WIDTHS[usize::from(case % 4 != 0)];
        let power = if case % 3 == 0 { 5 + draws.below(40) } else { u64::MAX };
        let (mut one, mut other) = (bus(width, power), bus(width, power));
        let (mut clock, mut other_clock) = (Clock::new(), Clock::new());
        let unlock = if width == BusWidth::X16 { [0x555, 0x2AA] } else { [0xAAA, 0x555] };
        let mut small = |limit: u64| u16::try_from(draws.below(limit)).unwrap();
        // Mostly as many words as there is room for and as the count says.
        let first = u32::from(small(2) * 32 + small(4));
        let count = small(28);
        let words: Vec<u16> =
            (0..count + 1 + u16::from(small(8) == 0)).map(|_| small(1 << 16)).collect();
        let begun = [(unlock[0], 0xAA), (unlock[1], 0x55), (first, 0x25), (first, count)];
        for (address, value) in begun.into_iter().chain([(first, words[0])]) {
            one.write(&mut clock, CHIP, Address(address), value);
            other.write(&mut other_clock, CHIP, Address(address), value);
        }
        one.write_words(&mut clock, CHIP, Address(first + 1), &words[1..]);
        for (&value, address) in words[1..].iter().zip(first + 1..) {
            other.write(&mut other_clock, CHIP, Address(address), value);
        }
        for confirm in [0x29, 0xF0] {
            assert_eq!(clock.now(), other_clock.now(), "case {case}, seed 1");
            assert_eq!(format!("{one:?}"), format!("{other:?}"), "case {case}, seed 1");
            one.write(&mut clock, CHIP, Address(first), confirm);
            other.write(&mut other_clock, CHIP, Address(first), confirm);
        }
        let counters = one.chip(CHIP).counters();
        match (one.power_lost_at(), counters.programs) {
            (Some(_), _) => cut += 1,
            (None, 0) => aborted += 1,
            (None, _) => whole += 1,
        }
    }
    assert!(aborted > 20 && cut > 50 && whole > 100, "{aborted}, {cut}, {whole}");
}
