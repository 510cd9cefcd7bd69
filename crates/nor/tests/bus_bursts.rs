//! Words that are written at once are those that would have been written one by one.

use crate::chip_rig::{CYCLE, WIDTHS, part};
use boardlab_nor::chip::{Address, Chip};
use boardlab_nor::part::{Boot, BusWidth};
use boardlab_nor::{Bus, BusTiming, ChipIndex, CutPoint};
use boardlab_sim::{Clock, Duration, Instant, Seed, Stream};
use std::sync::Arc;

const CHIP: ChipIndex = ChipIndex(0);

/// Two small sectors behind a bus that loses its power.
fn bus(width: BusWidth, cut: CutPoint) -> Bus {
    let small = part(width, Boot::Uniform, &[(2, 1)]);
    let chip = Chip::new(Arc::new(small), Seed::new(1)).unwrap();
    let mut bus = Bus::new(vec![chip], BusTiming { read_cycle: CYCLE, write_cycle: CYCLE });
    bus.cut_power_at(cut);
    bus
}

/// A power cut at one of the first cycles, or at its end or a moment before or behind that, or none.
fn cut(case: u32, draws: &mut Stream) -> CutPoint {
    let cycle = 5 + draws.below(40);
    let end = Instant::ZERO + CYCLE * cycle;
    match case % 6 {
        0 => CutPoint::Cycle(cycle),
        1 => CutPoint::Time(end),
        2 => CutPoint::Time(end + Duration::from_nanos(1)),
        3 => CutPoint::Time(end - Duration::from_nanos(1)),
        _ => CutPoint::Cycle(u64::MAX),
    }
}

#[test]
fn words_at_once_leave_what_single_words_leave() {
    let mut draws = Seed::new(1).stream("bursts");
    let (mut aborted, mut lost, mut whole) = (0, 0, 0);
    for case in 0..600_u32 {
        let width = WIDTHS[usize::from(case % 4 != 0)];
        let power = cut(case, &mut draws);
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
        for (address, value) in begun {
            one.write(&mut clock, CHIP, Address(address), value);
            other.write(&mut other_clock, CHIP, Address(address), value);
        }
        one.write_words(&mut clock, CHIP, Address(first), &words);
        for (&value, address) in words.iter().zip(first..) {
            other.write(&mut other_clock, CHIP, Address(address), value);
        }
        for next in [Some(0x29), Some(0xF0), None] {
            assert_eq!(clock.now(), other_clock.now(), "case {case}, seed 1");
            assert_eq!(format!("{one:?}"), format!("{other:?}"), "case {case}, seed 1");
            let Some(next) = next else { break };
            one.write(&mut clock, CHIP, Address(first), next);
            other.write(&mut other_clock, CHIP, Address(first), next);
        }
        let counters = one.chip(CHIP).counters();
        match (one.power_lost_at(), counters.programs) {
            (Some(_), _) => lost += 1,
            (None, 0) => aborted += 1,
            (None, _) => whole += 1,
        }
    }
    assert!(aborted > 20 && lost > 50 && whole > 100, "{aborted}, {lost}, {whole}");
}

#[test]
fn words_outside_of_a_load_are_commands() {
    let never = CutPoint::Cycle(u64::MAX);
    let (mut one, mut other) = (bus(BusWidth::X16, never), bus(BusWidth::X16, never));
    let (mut clock, mut other_clock) = (Clock::new(), Clock::new());
    one.write_words(&mut clock, CHIP, Address(0x555), &[]);
    assert_eq!((clock.now(), one.cycles()), (Instant::ZERO, 0));
    for values in [[0xAA, 0x98], [0xF0, 0xF0]] {
        one.write_words(&mut clock, CHIP, Address(0x54), &values);
        for (value, address) in values.into_iter().zip(0x54..) {
            other.write(&mut other_clock, CHIP, Address(address), value);
        }
        assert_eq!((clock.now(), format!("{one:?}")), (other_clock.now(), format!("{other:?}")));
    }
}
