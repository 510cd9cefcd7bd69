//! The driver over the chip: data, spare bytes, bad blocks, what a read moves.

use crate::rig;

use crate::rig::{large, mlc, nand, nand_with, serial, small};
use boardlab_codec::hamming::Step;
use boardlab_media::{CellKind, Row};
use boardlab_mtd::{BlockIndex, Error, Mtd, PageIndex, RawPages, TearOutcome};
use boardlab_nand::chip::{Die, Fault, Setup};
use boardlab_nand::driver::{Driver, Mark};
use boardlab_nand::ecc::Code;
use boardlab_nand::part::{BadMarks, BusWidth, Interface, Part, PartError};
use boardlab_nand::{Nand, Port, Profile};
use boardlab_sim::{Bytes, Clock, Duration, Rate, Seed};

fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut data = vec![0; length];
    Seed::new(seed).stream("pattern").fill(&mut data);
    data
}

fn parts() -> [Part; 4] {
    [large(16), small(16), mlc(8), serial(16)]
}

fn page(nand: &Nand) -> Bytes {
    nand.geometry().write_size
}

#[test]
fn what_was_programmed_reads_back_on_every_kind_of_part() {
    for part in parts() {
        let (mut nand, mut clock) = nand(part);
        let unit = page(&nand).to_usize();
        let data = pattern(1, 5 * unit);
        nand.program(&mut clock, page(&nand) * 3, &data).unwrap();
        let mut back = vec![0; 7 * unit];
        let health = nand.read(&mut clock, page(&nand) * 2, &mut back).unwrap();
        assert_eq!((health.corrected, health.worst), (0, 0));
        assert!(back[..unit].iter().all(|&byte| byte == 0xFF));
        assert_eq!(back[unit..6 * unit], data);
        assert!(back[6 * unit..].iter().all(|&byte| byte == 0xFF));
        let mut some = vec![0; unit + 7];
        nand.read(&mut clock, page(&nand) * 3 + Bytes::new(100), &mut some).unwrap();
        assert_eq!(some, data[100..107 + unit]);
        nand.erase(&mut clock, BlockIndex(0)).unwrap();
        nand.read(&mut clock, page(&nand) * 3, &mut some).unwrap();
        assert!(some.iter().all(|&byte| byte == 0xFF));
    }
}

#[test]
fn free_spare_bytes_are_kept_beside_data_and_codes() {
    for part in parts() {
        let mlc = part.cell != boardlab_media::CellKind::Slc;
        let (mut nand, mut clock) = nand(part);
        let free = nand.geometry().oob.unwrap().available.to_usize();
        let (data, oob) = (pattern(1, page(&nand).to_usize()), pattern(2, free));
        // First the spare bytes alone, where a page may be programmed twice: JFFS2's cleanmarker.
        if !mlc {
            nand.program_oob(&mut clock, PageIndex(5), &[], &oob[..2]).unwrap();
        }
        nand.program_oob(&mut clock, PageIndex(5), &data, &oob).unwrap();
        let mut back = vec![0; free];
        nand.read_oob(&mut clock, PageIndex(5), &mut back).unwrap();
        assert_eq!(back, oob);
        let mut read = vec![0; data.len()];
        nand.read(&mut clock, page(&nand) * 5, &mut read).unwrap();
        assert_eq!(read, data);
        let more = vec![0; free + 1];
        let refused = nand.program_oob(&mut clock, PageIndex(6), &[], &more);
        assert!(matches!(refused, Err(Error::OobOutOfRange { .. })), "{refused:?}");
    }
}

/// Bytes 2 to 9 of the spare bytes, as nandsim shows them for JFFS2's cleanmarker.
#[test]
fn a_cleanmarker_lies_where_linux_puts_it() {
    let (mut nand, mut clock) = nand(large(4));
    let marker = [0x85, 0x19, 0x03, 0x20, 0x08, 0, 0, 0];
    nand.program_oob(&mut clock, PageIndex(64), &[], &marker).unwrap();
    let mut spare = [0; 64];
    nand.read_raw(&mut clock, PageIndex(64), &mut [], &mut spare).unwrap();
    assert_eq!(spare[2..10], marker);
    assert!(spare[..2].iter().chain(&spare[10..]).all(|&byte| byte == 0xFF));
    assert!(!nand.is_bad(&mut clock, BlockIndex(1)).unwrap());
}

#[test]
fn sub_pages_are_programmed_one_by_one() {
    let (mut nand, mut clock) = nand(large(4));
    let data = pattern(1, 2_048);
    for part in [2_usize, 0, 3, 1] {
        let offset = Bytes::new(2_048 * 7 + 512 * part as u64);
        nand.program(&mut clock, offset, &data[512 * part..512 * (part + 1)]).unwrap();
    }
    let mut back = vec![0; 2_048];
    nand.read(&mut clock, Bytes::new(2_048 * 7), &mut back).unwrap();
    assert_eq!(back, data);
    let again = nand.program(&mut clock, Bytes::new(2_048 * 7), &data[..512]);
    assert_eq!(again, Err(Error::AlreadyProgrammed { page: PageIndex(7) }));
    let odd = nand.program(&mut clock, Bytes::new(256), &data[..512]);
    assert!(matches!(odd, Err(Error::Misaligned { .. })));
}

#[test]
fn pages_of_mlc_go_upwards() {
    let (mut nand, mut clock) = nand(mlc(4));
    let data = pattern(1, 4_096);
    nand.program(&mut clock, Bytes::new(4_096 * 9), &data).unwrap();
    let refused = nand.program(&mut clock, Bytes::new(4_096 * 8), &data);
    assert_eq!(refused, Err(Error::OutOfOrder { page: PageIndex(8), after: PageIndex(9) }));
}

#[test]
fn a_failed_program_or_erase_is_told_and_a_marked_block_is_bad_for_good() {
    for part in [large(8), serial(8), small(8)] {
        let (mut nand, mut clock) = nand(part);
        let (unit, count) = (page(&nand), nand.port.part().geometry.pages_per_block);
        let row = Row { block: 2, page: 1 };
        nand.port.die_mut().inject(Fault::ProgramFails(row));
        nand.port.die_mut().inject(Fault::EraseFails(3));
        let offset = unit * u64::from(2 * count + 1);
        let failed = nand.program(&mut clock, offset, &pattern(1, unit.to_usize()));
        assert_eq!(failed, Err(Error::ProgramFailed { offset }));
        let block = BlockIndex(3);
        assert_eq!(nand.erase(&mut clock, block), Err(Error::EraseFailed { block }));
        nand.mark_bad(&mut clock, block).unwrap();
        assert_eq!(nand.is_bad(&mut clock, block), Ok(true));
        assert_eq!(nand.erase(&mut clock, block), Err(Error::BadBlock { block }));
        let again = Nand::attach(nand.port.clone(), nand.driver.profile().clone(), &mut clock);
        let mut again = again.unwrap();
        assert_eq!(again.is_bad(&mut clock, block), Ok(true));
        assert_eq!(again.driver.bad_blocks().count(), 1);
    }
}

#[test]
fn blocks_that_are_bad_from_the_factory_are_found() {
    for part in parts() {
        let profile = rig::profile(&part);
        let setup = Setup { factory_bad: 16_384, ..Setup::perfect(Seed::new(3)) };
        let (nand, _) = nand_with(Part { ..part }, profile, &setup);
        let bad = nand.driver.bad_blocks();
        assert!(bad.count() > 0, "a quarter of the blocks is bad");
        assert_eq!(bad.mark(0), Mark::Good);
    }
}

/// Pages that may be marked, and their numbers in blocks of 64.
const PLACES: [(BadMarks, &[u32]); 5] = [
    (BadMarks::FIRST, &[0]),
    (BadMarks::FIRST_TWO, &[0, 1]),
    (BadMarks::LAST, &[63]),
    (BadMarks::ALL, &[0, 1, 63]),
    (BadMarks { first: true, second: false, last: true }, &[0, 63]),
];

#[test]
fn the_factory_marks_the_pages_that_the_part_names_and_the_scan_looks_at_no_others() {
    for (bad_marks, pages) in PLACES {
        let part = Part { bad_marks, ..large(16) };
        let column = part.bad_mark_column();
        let setup = Setup { factory_bad: 16_384, ..Setup::perfect(Seed::new(3)) };
        let (nand, _) = nand_with(part.clone(), rig::profile(&part), &setup);
        let bad = nand.driver.bad_blocks();
        assert!(bad.count() > 0, "a quarter of the blocks is bad");
        for row in (0..16).flat_map(|block| (0..64).map(move |page| Row { block, page })) {
            let mut mark = [0; 1];
            nand.port.die().array().peek(row, column, &mut mark);
            let marked = bad.mark(row.block) == Mark::Factory && pages.contains(&row.page);
            assert_eq!(mark == [0], marked, "{bad_marks:?}: {row}");
        }
        // Whatever the factory did: one mark is enough, on any page that is looked at and no other.
        for page in [0, 1, 2, 62, 63] {
            let mut port = rig::port(part.clone(), &Setup::perfect(Seed::new(1)));
            let mut bytes = vec![0xFF; part.geometry.row_bytes()];
            bytes[column] = 0;
            port.die_mut().array_mut().load(Row { block: 5, page }, &bytes);
            let nand = Nand::attach(port, rig::profile(&part), &mut Clock::new()).unwrap();
            let found = nand.driver.bad_blocks().mark(5) == Mark::Factory;
            assert_eq!(found, pages.contains(&page), "{bad_marks:?}: page {page}");
        }
    }
}

#[test]
fn a_block_marked_in_use_has_the_mark_on_the_pages_that_the_part_names() {
    for (bad_marks, pages) in PLACES {
        let (mut nand, mut clock) = nand(Part { bad_marks, ..large(16) });
        nand.mark_bad(&mut clock, BlockIndex(5)).unwrap();
        let column = nand.port.part().bad_mark_column();
        for page in 0..64 {
            let mut mark = [0; 1];
            nand.port.die().array().peek(Row { block: 5, page }, column, &mut mark);
            assert_eq!(mark == [0], pages.contains(&page), "{bad_marks:?}: page {page}");
        }
    }
}

#[test]
fn marks_are_where_linux_looks_for_parts_of_the_maker_unless_the_part_says_otherwise() {
    let parallel = Interface::Parallel(BusWidth::X8);
    let serial = serial(1).interface;
    let (two, four) = (Bytes::kib(2), Bytes::kib(4));
    for (maker, cell, page, interface, expected) in [
        (0xEC, CellKind::Slc, two, parallel, BadMarks::FIRST_TWO),
        (0xEC, CellKind::Mlc, four, parallel, BadMarks::LAST),
        (0xAD, CellKind::Slc, two, parallel, BadMarks::FIRST_TWO),
        (0xAD, CellKind::Mlc, four, parallel, BadMarks::LAST),
        (0x2C, CellKind::Slc, two, parallel, BadMarks::FIRST_TWO),
        (0x2C, CellKind::Mlc, four, parallel, BadMarks::FIRST),
        (0x98, CellKind::Slc, two, parallel, BadMarks::FIRST_TWO),
        (0x98, CellKind::Mlc, four, parallel, BadMarks::FIRST),
        (0x01, CellKind::Slc, two, parallel, BadMarks::ALL),
        (0xC8, CellKind::Slc, two, parallel, BadMarks::ALL),
        (0xC2, CellKind::Slc, two, parallel, BadMarks::FIRST_TWO),
        (0x20, CellKind::Slc, two, parallel, BadMarks::FIRST),
        (0xEC, CellKind::Slc, two, serial, BadMarks::FIRST),
    ] {
        let found = BadMarks::of_linux(&[maker, 0xDA], cell, page, interface);
        assert_eq!(found, expected, "{maker:02X} {cell:?} {interface:?}");
    }
}

#[test]
fn the_pages_of_the_marks_are_within_the_block_and_each_is_named_once() {
    for (marks, [one, two, three]) in [
        (BadMarks::FIRST, [&[0][..], &[0], &[0]]),
        (BadMarks::FIRST_TWO, [&[0], &[0, 1], &[0, 1]]),
        (BadMarks::LAST, [&[0], &[1], &[2]]),
        (BadMarks::ALL, [&[0], &[0, 1], &[0, 1, 2]]),
    ] {
        for (count, expected) in [(1, one), (2, two), (3, three)] {
            assert_eq!(marks.pages(count).collect::<Vec<_>>(), expected, "{marks:?} of {count}");
        }
    }
    let none = BadMarks { first: false, ..BadMarks::FIRST };
    assert_eq!(Part { bad_marks: none, ..large(4) }.check(), Err(PartError::NoMarks));
}

#[test]
fn the_table_on_the_flash_outlives_the_marks() {
    let part = large(64);
    let profile = Profile { flash_table: true, ..rig::profile(&part) };
    let (mut nand, mut clock) = nand_with(part, profile.clone(), &Setup::perfect(Seed::new(1)));
    nand.mark_bad(&mut clock, BlockIndex(17)).unwrap();
    nand.mark_bad(&mut clock, BlockIndex(62)).unwrap();
    // Somebody erases the mark; the table still knows.
    nand.port.die_mut().array_mut().erase(17);
    for reserved in [63, 61] {
        assert_eq!(nand.driver.bad_blocks().mark(reserved), Mark::Reserved);
    }
    let before = nand.counts().page_reads;
    let again = Nand::attach(nand.port.clone(), profile, &mut clock).unwrap();
    assert!(again.counts().page_reads - before < 10, "no scan");
    let marks = [16, 17, 62, 63].map(|block| again.driver.bad_blocks().mark(block));
    assert_eq!(marks, [Mark::Good, Mark::Worn, Mark::Worn, Mark::Reserved]);
    let mut spare = [0; 64];
    nand.read_raw(&mut clock, PageIndex(63 * 64), &mut [], &mut spare).unwrap();
    assert_eq!(&spare[8..12], b"Bbt0");
    nand.read_raw(&mut clock, PageIndex(61 * 64), &mut [], &mut spare).unwrap();
    assert_eq!(&spare[8..12], b"1tbB");
}

/// What `read` moves over the port: commands, page reads, bytes out.
fn moved(nand: &mut Nand, clock: &mut Clock, offset: u64, length: usize) -> [u64; 3] {
    let before = *nand.counts();
    nand.read(clock, Bytes::new(offset), &mut vec![0; length]).unwrap();
    let after = nand.counts();
    [
        after.commands - before.commands,
        after.page_reads - before.page_reads,
        after.bytes_out - before.bytes_out,
    ]
}

#[test]
fn linux_2_6_reads_whole_pages_and_keeps_the_last_one() {
    let part = large(4);
    let profile = Profile::linux_2_6(&part).unwrap();
    let (mut nand, mut clock) = nand_with(part, profile, &Setup::perfect(Seed::new(1)));
    assert_eq!(moved(&mut nand, &mut clock, 100, 12), [1, 1, 2_112]);
    assert_eq!(moved(&mut nand, &mut clock, 200, 12), [0, 0, 0]);
    assert_eq!(moved(&mut nand, &mut clock, 0, 2_048), [0, 0, 0]);
    assert_eq!(moved(&mut nand, &mut clock, 2_048, 4_096), [2, 2, 4_224]);
    assert_eq!(moved(&mut nand, &mut clock, 100, 12), [0, 0, 0]);
    nand.program(&mut clock, Bytes::ZERO, &pattern(1, 2_048)).unwrap();
    assert_eq!(moved(&mut nand, &mut clock, 100, 12), [1, 1, 2_112]);
    let before = nand.counts().bytes_out;
    nand.read_oob(&mut clock, PageIndex(0), &mut [0; 8]).unwrap();
    assert_eq!(nand.counts().bytes_out - before, 64);
}

#[test]
fn linux_6_1_reads_the_steps_that_it_needs_and_keeps_nothing() {
    let (mut nand, mut clock) = nand(large(4));
    assert_eq!(moved(&mut nand, &mut clock, 100, 12), [2, 1, 256 + 3]);
    assert_eq!(moved(&mut nand, &mut clock, 250, 12), [2, 1, 512 + 6]);
    assert_eq!(moved(&mut nand, &mut clock, 0, 2_048), [1, 1, 2_112]);
    assert_eq!(moved(&mut nand, &mut clock, 0, 2_049), [3, 2, 2_112 + 259]);
}

#[test]
fn the_host_spends_time_on_the_codes_of_what_it_reads_and_writes() {
    let part = large(4);
    let rate = Rate::new(Bytes::mib(10), Duration::from_secs(1));
    let free = Profile::linux_2_6(&part).unwrap();
    let dear = Profile { ecc_rate: rate, ..free.clone() };
    let took = |profile: Profile| {
        let (mut nand, mut clock) = nand_with(large(4), profile, &Setup::perfect(Seed::new(1)));
        let start = clock.now();
        nand.program(&mut clock, Bytes::ZERO, &pattern(1, 2_048)).unwrap();
        nand.read(&mut clock, Bytes::ZERO, &mut [0; 2_048]).unwrap();
        (clock.now().since(start), nand.driver.ecc().time)
    };
    let step = rate.unwrap().time_for(Bytes::new(2_048)) * 2;
    let (free, dear) = (took(free), took(dear));
    assert_eq!((free.1, dear.1), (Duration::ZERO, step));
    assert_eq!(dear.0, free.0 + step);
}

#[test]
fn a_program_that_did_not_hold_is_found_where_writes_are_verified() {
    let part = large(4);
    let base = Profile::with(&part, Code::None, false).unwrap();
    let profile = Profile { verify_write: true, strict: false, ..base };
    let (mut nand, mut clock) = nand_with(part, profile, &Setup::perfect(Seed::new(1)));
    nand.program(&mut clock, Bytes::ZERO, &[0xF0; 2_048]).unwrap();
    let wrong = nand.program(&mut clock, Bytes::ZERO, &[0x1F; 2_048]);
    let offset = Bytes::ZERO;
    assert_eq!(wrong, Err(Error::VerifyFailed { offset, expected: 0x1F, found: 0x10 }));
}

#[test]
fn ranges_beyond_the_device_are_refused() {
    let (mut nand, mut clock) = nand(large(4));
    let size = nand.geometry().size();
    let mut byte = [0];
    assert!(matches!(nand.read(&mut clock, size, &mut byte), Err(Error::OutOfRange { .. })));
    let refused = nand.program(&mut clock, size, &[0; 2_048]);
    assert!(matches!(refused, Err(Error::OutOfRange { .. })));
    let refused = nand.erase(&mut clock, BlockIndex(4));
    assert!(matches!(refused, Err(Error::NoSuchBlock { .. })));
    let refused = nand.read_oob(&mut clock, PageIndex(256), &mut byte);
    assert!(matches!(refused, Err(Error::NoSuchPage { .. })));
    let refused = nand.program_oob(&mut clock, PageIndex(0), &[0; 100], &[]);
    assert!(matches!(refused, Err(Error::Misaligned { .. })));
}

#[test]
fn blocks_wear_out_past_their_endurance_and_not_before() {
    let part = Part { endurance: 50, ..large(8) };
    let (mut nand, mut clock) = nand(part);
    for block in (0..8).map(BlockIndex) {
        let lived = (0..200).find(|_| nand.erase(&mut clock, block).is_err());
        assert!((50..=150).contains(&lived.unwrap()), "block {block} lived {lived:?}");
        assert_eq!(nand.erase(&mut clock, block), Err(Error::EraseFailed { block }));
        // Some of these blocks fail to program as well; half of a mark's bits are a mark.
        let marked = nand.mark_bad(&mut clock, block);
        assert!(matches!(marked, Ok(()) | Err(Error::ProgramFailed { .. })), "{marked:?}");
        assert_eq!(nand.is_bad(&mut clock, block), Ok(true));
    }
    nand.power_on(&mut clock).unwrap();
    assert_eq!(nand.driver.bad_blocks().count(), 8);
}

#[test]
fn a_sub_page_is_never_less_than_a_step_of_the_code() {
    let subpage = |part: Part, code| {
        let profile = Profile::with(&part, code, false).unwrap();
        nand_with(part, profile, &Setup::perfect(Seed::new(1))).0.subpage().get()
    };
    let hamming = |step| Code::Hamming(step);
    assert_eq!(subpage(large(2), hamming(Step::Bytes256)), 512);
    assert_eq!(subpage(small(2), hamming(Step::Bytes256)), 256);
    assert_eq!(subpage(small(2), hamming(Step::Bytes512)), 512);
    assert_eq!(subpage(mlc(2), Code::Bch { step: 512, bits: 8 }), 4_096);
    assert_eq!(subpage(large(2), Code::Bch { step: 1_024, bits: 4 }), 1_024);
}

#[test]
fn a_cut_while_the_table_is_written_leaves_the_old_one_or_the_new_one() {
    let part = large(64);
    let profile = Profile { flash_table: true, ..rig::profile(&part) };
    let (mut base, clock) = nand_with(part, profile.clone(), &Setup::perfect(Seed::new(1)));
    base.mark_bad(&mut clock.clone(), BlockIndex(5)).unwrap();
    let mut whole = base.clone();
    whole.mark_bad(&mut clock.clone(), BlockIndex(17)).unwrap();
    let count = whole.port.operations() - base.port.operations();
    assert!(count >= 7, "an erase, two marks, twice an erase and a program: {count}");
    for number in 0..count {
        for torn in
            [TearOutcome::NotBegun, TearOutcome::Partial, TearOutcome::Weak, TearOutcome::Finished]
        {
            let (mut fork, mut clock) = (base.clone(), clock.clone());
            fork.port.cut_at_operation(base.port.operations() + number, torn);
            let cut = fork.mark_bad(&mut clock, BlockIndex(17));
            assert!(matches!(cut, Err(Error::PowerCut { .. })), "{cut:?}");
            fork.port.power_on(clock.now());
            let again = Nand::attach(fork.port, profile.clone(), &mut clock).unwrap();
            let bad = again.driver.bad_blocks();
            let told = format!("operation {number} {torn:?}: {}", bad.count());
            assert_eq!(bad.mark(5), Mark::Worn, "{told}");
            let both = bad.mark(17) == Mark::Worn;
            assert_eq!(bad.count(), 1 + usize::from(both), "{told}");
            // From the end of the first copy on it is the new one.
            let written = number > 4 || (number, torn) == (4, TearOutcome::Finished);
            assert!(both || !written, "{told}");
        }
    }
}

/// Attaches a driver and marks a block; the power may go at any time.
fn mark_after_attachment(port: &mut Port, profile: &Profile, clock: &mut Clock) -> Option<()> {
    let mut driver = Driver::attach(profile.clone(), port, clock).ok()?;
    driver.mark_bad(port, clock, 17).ok()
}

/// Something that happens to a die.
type Damage = fn(&mut Die);

#[test]
fn a_table_is_never_without_a_whole_copy_while_the_other_is_repaired_or_moved() {
    let part = large(64);
    let profile = Profile { flash_table: true, ..rig::profile(&part) };
    let (mut base, clock) = nand_with(part, profile.clone(), &Setup::perfect(Seed::new(1)));
    base.mark_bad(&mut clock.clone(), BlockIndex(5)).unwrap();
    // Only the table knows of block 5 now.
    base.port.die_mut().array_mut().erase(5);
    let damages: [(&str, Damage); 4] = [
        ("no second copy", |die| die.array_mut().erase(62)),
        ("no first copy", |die| die.array_mut().erase(63)),
        ("first copy worn out", |die| die.inject(Fault::EraseFails(63))),
        ("second copy worn out", |die| die.inject(Fault::EraseFails(62))),
    ];
    for (name, damage) in damages {
        let mut damaged = base.port.clone();
        damage(damaged.die_mut());
        let mut whole = damaged.clone();
        mark_after_attachment(&mut whole, &profile, &mut clock.clone()).unwrap();
        let count = whole.operations() - damaged.operations();
        for number in 0..count {
            let (mut port, mut clock) = (damaged.clone(), clock.clone());
            port.cut_at_operation(damaged.operations() + number, TearOutcome::Partial);
            let done = mark_after_attachment(&mut port, &profile, &mut clock);
            assert_eq!(done, None, "{name}: the power goes");
            port.power_on(clock.now());
            let again = Driver::attach(profile.clone(), &mut port, &mut clock).unwrap();
            let mark = again.bad_blocks().mark(5);
            assert_eq!(mark, Mark::Worn, "{name}, cut at operation {number} of {count}");
        }
    }
}
