//! The write buffer: every length, its borders, and every way to load it wrongly.

use crate::chip_rig::{
    BUFFER_OVERHEAD, BUFFER_TIME, CYCLE, DQ1, DQ5, DQ6, DQ7, Rig, WIDTHS, uniform,
};
use boardlab_nor::part::{BusWidth, Part};
use boardlab_sim::Bytes;

const SECTOR: u64 = 64 << 10;

/// A part with the largest buffer of its width: 256 bus words.
fn largest(width: BusWidth) -> Part {
    Part { write_buffer: Some(Bytes::new(256 * width.bytes())), ..uniform(width) }
}

/// A word that names its place, never erased.
fn word(rig: &Rig, index: u64) -> u16 {
    let value = u16::try_from((index * 0x0107) & 0x7FFF).unwrap();
    if rig.wide { value } else { value & 0x7F }
}

fn words(rig: &Rig, page: u64, count: u64) -> Vec<(u64, u16)> {
    let step = if rig.wide { 2 } else { 1 };
    (0..count).map(|index| (page + index * step, word(rig, index))).collect()
}

/// The rig must be in the abort state, with `last` loaded last, and nothing may be programmed.
fn assert_aborted(rig: &mut Rig, last: u16) {
    let status = rig.read(0);
    assert_eq!(status & (DQ1 | DQ5), DQ1);
    assert_eq!(status & DQ7, !last & DQ7, "data polling shows the last loaded word");
    assert!(rig.toggles(0));
    assert!(!rig.is_ready());
    rig.reset();
    assert_eq!(rig.read(0) & DQ1, DQ1, "a plain reset does not help");
    rig.abort_reset();
    assert!(rig.is_ready());
    let sectors: Vec<_> = rig.chip.array().layout().sectors().collect();
    assert!(sectors.iter().all(|&sector| rig.chip.array().is_erased(sector)));
    rig.program(4, 0x12);
    assert_eq!(rig.read(4), 0x12, "the chip works as before");
}

#[test]
fn one_to_all_words_of_the_buffer_are_programmed_in_their_share_of_the_time() {
    for width in WIDTHS {
        let mut rig = Rig::new(largest(width));
        let page = 256 * width.bytes();
        for count in 1..=256 {
            let base = page * count;
            let words = words(&rig, base, count);
            rig.load(base, &words);
            rig.write(base, 0x29);
            let share = (BUFFER_TIME - BUFFER_OVERHEAD) * count / 256;
            assert_eq!(rig.chip.ready_at(), Some(rig.now + BUFFER_OVERHEAD + share));
            let last = words[words.len() - 1];
            assert_eq!(rig.read(last.0) & DQ7, !last.1 & DQ7);
            rig.wait_ready();
            for (offset, value) in words {
                assert_eq!(rig.read(offset), value, "{count} words");
            }
            let after = base + count * width.bytes();
            assert_eq!(rig.read(after), rig.erased(), "nothing after {count} words");
        }
    }
}

#[test]
fn the_status_ends_at_the_nanosecond_of_the_completion() {
    let mut rig = Rig::new(largest(BusWidth::X16));
    let words = words(&rig, 0, 256);
    rig.load(0, &words);
    rig.write(0, 0x29);
    let end = rig.chip.ready_at().unwrap();
    rig.now = end - CYCLE * 3 - boardlab_sim::Duration::from_nanos(1);
    assert!(rig.toggles(0));
    assert!(!rig.is_ready());
    assert_eq!(rig.chip.read(end, rig.at(2)), word(&rig, 1));
}

#[test]
fn words_may_come_in_any_order_and_leave_gaps() {
    for width in WIDTHS {
        let mut rig = Rig::new(uniform(width));
        rig.program(SECTOR + 8, 0x0F);
        rig.buffer_program(&[(SECTOR + 62, 0x11), (SECTOR, 0x22), (SECTOR + 30, 0x33)]);
        let erased = rig.erased();
        for (offset, value) in [(62, 0x11), (0, 0x22), (30, 0x33), (2, erased), (8, 0x0F)] {
            assert_eq!(rig.read(SECTOR + offset), value);
        }
    }
}

#[test]
fn the_last_write_to_an_address_wins_and_each_counts() {
    for width in WIDTHS {
        let mut rig = Rig::new(uniform(width));
        rig.buffer_program(&[(0, 0x00), (2, 0x44), (0, 0x7F)]);
        assert_eq!((rig.read(0), rig.read(2)), (0x7F, 0x44));
    }
}

#[test]
fn a_page_begins_where_its_size_divides_the_address() {
    for width in WIDTHS {
        let step = width.bytes();
        let mut rig = Rig::new(uniform(width));
        rig.load(SECTOR, &[(SECTOR + 64 - step, 0x01), (SECTOR + 64, 0x02)]);
        assert_aborted(&mut rig, 0x01);
        let mut rig = Rig::new(uniform(width));
        rig.load(SECTOR, &[(SECTOR + 64, 0x81), (SECTOR + 64 - step, 0x02)]);
        assert_aborted(&mut rig, 0x81);
    }
}

#[test]
fn a_count_for_another_sector_aborts() {
    for width in WIDTHS {
        let mut rig = Rig::new(uniform(width));
        rig.unlock();
        rig.write(0, 0x25);
        rig.write(SECTOR, 0);
        assert_aborted(&mut rig, u16::MAX);
    }
}

#[test]
fn a_count_larger_than_the_buffer_aborts() {
    for width in WIDTHS {
        let words = u16::try_from(64 / width.bytes()).unwrap();
        for count in [words, words + 1, 0xFE] {
            let mut rig = Rig::new(uniform(width));
            rig.unlock();
            rig.write(0, 0x25);
            rig.write(0, count);
            assert_aborted(&mut rig, u16::MAX);
        }
    }
}

#[test]
fn a_first_word_in_another_sector_aborts() {
    for width in WIDTHS {
        let mut rig = Rig::new(uniform(width));
        rig.load(0, &[(SECTOR, 0x01)]);
        assert_aborted(&mut rig, u16::MAX);
    }
}

#[test]
fn more_words_than_the_count_abort() {
    for width in WIDTHS {
        let mut rig = Rig::new(uniform(width));
        rig.load(0, &[(0, 0x01), (2, 0x82)]);
        rig.write(4, 0x03);
        assert_aborted(&mut rig, 0x82);
    }
}

#[test]
fn fewer_words_than_the_count_make_the_confirmation_data() {
    let mut rig = Rig::new(uniform(BusWidth::X16));
    rig.unlock();
    rig.write(0, 0x25);
    rig.write(0, 2);
    rig.write(0, 0x01);
    rig.write(2, 0x02);
    rig.write(4, 0x29); // still a word
    assert!(rig.is_ready());
    rig.write(0, 0x29);
    assert!(!rig.is_ready());
    rig.wait_ready();
    assert_eq!(rig.read(4), 0x29);
}

#[test]
fn anything_but_the_confirmation_aborts() {
    for value in [0x00, 0x28, 0xF0, 0xAA, 0xB0, 0x70] {
        let mut rig = Rig::new(uniform(BusWidth::X16));
        rig.load(0, &[(0, 0x01)]);
        rig.write(0, value);
        assert_aborted(&mut rig, 0x01);
    }
}

#[test]
fn a_confirmation_in_another_sector_aborts_and_one_elsewhere_in_the_sector_does_not() {
    for width in WIDTHS {
        let mut rig = Rig::new(uniform(width));
        rig.load(0, &[(0, 0x01)]);
        rig.write(SECTOR, 0x29);
        assert_aborted(&mut rig, 0x01);
        rig.load(0, &[(2, 0x01)]);
        rig.write(SECTOR - 2, 0x29);
        rig.wait_ready();
        assert_eq!(rig.read(2), 0x01);
    }
}

#[test]
fn the_abort_reset_needs_all_its_cycles_in_order() {
    let mut rig = Rig::new(uniform(BusWidth::X16));
    rig.load(0, &[(0, 0x01)]);
    rig.write(0, 0x00);
    for (first, second, third) in [(0x55, 0xAA, 0xF0), (0xAA, 0x54, 0xF0), (0xAA, 0x55, 0xF1)] {
        rig.command(0x555, first);
        rig.command(0x2AA, second);
        rig.command(0x555, third);
        assert_eq!(rig.read(0) & DQ1, DQ1);
    }
    rig.abort_reset();
    assert_eq!(rig.read(0), 0xFFFF);
}

#[test]
fn a_reset_among_the_words_is_a_word() {
    let mut rig = Rig::new(uniform(BusWidth::X16));
    rig.buffer_program(&[(0, 0xF0), (2, 0xAA), (4, 0x29)]);
    assert_eq!([0, 2, 4].map(|offset| rig.read(offset)), [0xF0, 0xAA, 0x29]);
}

#[test]
fn a_part_without_a_buffer_ignores_the_command() {
    for width in WIDTHS {
        let mut rig = Rig::new(Part { write_buffer: None, ..uniform(width) });
        rig.load(0, &[(0, 0x01), (2, 0x02)]);
        rig.write(0, 0x29);
        assert!(rig.is_ready());
        assert_eq!(rig.read(0), rig.erased());
        rig.program(0, 0x12);
        assert_eq!(rig.read(0), 0x12);
    }
}

#[test]
fn a_buffer_of_one_word_takes_one_word() {
    for width in WIDTHS {
        let buffer = Some(Bytes::new(width.bytes()));
        let mut rig = Rig::new(Part { write_buffer: buffer, ..uniform(width) });
        rig.buffer_program(&[(6, 0x17)]);
        assert_eq!(rig.read(6), 0x17);
        assert!(!rig.toggles(6) && rig.read(6) & DQ6 == 0);
    }
}

#[test]
fn the_first_word_chooses_the_page_even_when_the_command_named_another() {
    for width in WIDTHS {
        let mut rig = Rig::new(uniform(width));
        rig.load(0, &[(640, 0x31), (642, 0x32)]);
        rig.write(0, 0x29);
        rig.wait_ready();
        assert_eq!((rig.read(640), rig.read(642)), (0x31, 0x32));
    }
}
