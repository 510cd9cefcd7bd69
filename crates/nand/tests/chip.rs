//! The parallel chip: what cycles cost, what they give, what is refused.

use crate::rig::{large, micros, mlc, nanos, small, timed};
use boardlab_media::Row;
use boardlab_nand::chip::parallel::{FAIL, READY, UNPROTECTED};
use boardlab_nand::chip::{Die, Fault, ParallelChip, Refusal, Setup, parameter};
use boardlab_nand::part::{BusWidth, Interface, Part};
use boardlab_nand::port::{Outcome, Port, PortTiming};
use boardlab_sim::{Clock, Duration, Instant, QuantileTable, Seed};
use std::sync::Arc;

fn chip(part: Part) -> ParallelChip {
    ParallelChip::new(Die::new(Arc::new(part), &Setup::perfect(Seed::new(1))).unwrap())
}

fn port(part: Part, timing: PortTiming) -> Port {
    Port::new(Die::new(Arc::new(part), &Setup::perfect(Seed::new(1))).unwrap(), timing).unwrap()
}

fn took(clock: &mut Clock, run: impl FnOnce(&mut Clock)) -> Duration {
    let start = clock.now();
    run(clock);
    clock.now().since(start)
}

const ROW: Row = Row { block: 1, page: 2 };

#[test]
fn a_page_of_2_kib_takes_25_us_and_its_cycles() {
    // 131,072 rows: three row cycles. 2 commands, 5 addresses, 2,048 data cycles of 50 ns.
    let (mut port, mut clock) = (port(large(2_048), PortTiming::default()), Clock::new());
    let time = took(&mut clock, |clock| {
        port.load(clock, ROW, 0).unwrap();
        port.output(clock, &mut [0; 2_048]).unwrap();
    });
    let cycles = nanos(50) * (2 + 5 + 2_048);
    let waits = nanos(100) + micros(25) + nanos(20);
    assert_eq!(time, cycles + waits);
    assert_eq!(time.as_nanos(), 127_870);
    assert_eq!(port.counts().busy, nanos(100) + micros(25));
}

#[test]
fn a_program_and_an_erase_take_their_cycles_their_time_and_a_status() {
    let (mut port, mut clock) = (port(large(2_048), PortTiming::default()), Clock::new());
    let status = nanos(50 + 60 + 50);
    let program = took(&mut clock, |clock| {
        port.begin_program(clock, ROW, 0).unwrap();
        port.input(clock, &[0x5A; 2_112]).unwrap();
        assert_eq!(port.program(clock).unwrap(), Outcome::Done);
    });
    let cycles = nanos(50) * (2 + 5 + 2_112);
    // tADL before data, tWB before busy.
    assert_eq!(program, cycles + nanos(100) + nanos(100) + micros(200) + status);
    let erase = took(&mut clock, |clock| {
        assert_eq!(port.erase(clock, 1).unwrap(), Outcome::Done);
    });
    assert_eq!(erase, nanos(50) * (2 + 3) + nanos(100) + micros(2_000) + status);
    let counts = port.counts();
    assert_eq!((counts.commands, counts.bytes_in, counts.bytes_out), (4, 2_112, 2));
    assert_eq!((counts.programs, counts.erases, counts.page_reads), (1, 1, 0));
}

#[test]
fn a_board_adds_to_each_command_and_each_byte_and_is_never_faster_than_the_part() {
    let read = |timing| {
        let (mut port, mut clock) = (port(large(2_048), timing), Clock::new());
        let time = took(&mut clock, |clock| {
            port.load(clock, ROW, 2_048).unwrap();
            port.output(clock, &mut [0; 64]).unwrap();
            port.seek(clock, 0).unwrap();
            port.output(clock, &mut [0; 256]).unwrap();
        });
        (time, *port.counts())
    };
    let (plain, counts) = read(PortTiming::default());
    assert_eq!((counts.commands, counts.bytes_out), (2, 320));
    let dear =
        PortTiming { per_command: micros(30), per_byte: nanos(700), ..PortTiming::default() };
    assert_eq!(read(dear).0, plain + micros(30) * 2 + nanos(700) * 320);
    let slow = PortTiming { read_cycle: nanos(80), ..PortTiming::default() };
    assert_eq!(read(slow).0, plain + nanos(30) * 320);
    let fast = PortTiming { read_cycle: nanos(1), write_cycle: nanos(1), ..PortTiming::default() };
    assert_eq!(read(fast).0, plain);
}

#[test]
fn sixteen_lines_halve_the_data_cycles_and_count_columns_in_words() {
    let wide = Part { interface: Interface::Parallel(BusWidth::X16), ..large(16) };
    let read = |part| {
        let (mut port, mut clock) = (port(part, PortTiming::default()), Clock::new());
        port.begin_program(&mut clock, ROW, 1_000).unwrap();
        port.input(&mut clock, &[1, 2, 3, 4]).unwrap();
        assert_eq!(port.program(&mut clock).unwrap(), Outcome::Done);
        let mut back = [0; 1_000];
        let time = took(&mut clock, |clock| {
            port.load(clock, ROW, 998).unwrap();
            port.output(clock, &mut back).unwrap();
        });
        assert_eq!(back[..8], [255, 255, 1, 2, 3, 4, 255, 255]);
        time
    };
    assert_eq!(read(large(16)), read(wide) + nanos(50) * 500);
}

#[test]
fn the_identity_repeats_and_the_parameter_page_is_that_of_the_part() {
    let (mut port, mut clock) = (port(mlc(64), PortTiming::default()), Clock::new());
    let mut identity = [0; 6];
    port.read_identity(&mut clock, &mut identity).unwrap();
    assert_eq!(identity, [0x20, 0xDA, 0x10, 0x95, 0x20, 0xDA]);
    let mut pages = [0; 2 * parameter::LENGTH];
    let time = took(&mut clock, |clock| port.read_parameter_page(clock, &mut pages).unwrap());
    let waits = nanos(100) + micros(25) + nanos(20);
    assert_eq!(time, nanos(50) * (2 + 512) + waits);
    let page = &pages[..256];
    assert_eq!(page, &pages[256..], "further copies follow");
    assert_eq!(&page[..4], b"ONFI");
    assert_eq!(&page[32..44], b"BOARDLAB    ");
    let word = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().unwrap());
    assert_eq!((word(80), word(92), word(96)), (4_096, 128, 64));
    assert_eq!((page[84], page[101], page[102], page[110], page[112]), (224, 0x22, 2, 1, 8));
    assert_eq!(page[105..107], [5, 3], "5,000 cycles");
    assert_eq!(u16::from_le_bytes([page[133], page[134]]), 700);
    assert_eq!(parameter::crc(&page[..254]).to_le_bytes(), page[254..]);
}

/// Every field of the parameter page of ONFI 1.0 up to its check sum: first byte, length, name, and the
/// value that the part of the test below has there; `None` for bytes that are zero.
const FIELDS: [(usize, usize, &str, Option<u64>); 41] = [
    (0, 4, "signature", Some(0x4946_4E4F)),
    (4, 2, "revision", Some(0x0102)),
    (6, 2, "features", Some(0x0304)),
    (8, 2, "optional commands", Some(0x0506)),
    (10, 22, "reserved", None),
    (32, 8, "manufacturer", Some(u64::from_le_bytes(*b"BOARDLAB"))),
    (40, 4, "its padding", Some(0x2020_2020)),
    (44, 8, "model", Some(u64::from_le_bytes(*b"TEST    "))),
    (52, 8, "its padding", Some(0x2020_2020_2020_2020)),
    (60, 4, "its padding", Some(0x2020_2020)),
    (64, 1, "manufacturer's identity", Some(0x20)),
    (65, 2, "date code", None),
    (67, 13, "reserved", None),
    (80, 4, "main bytes of a page", Some(4_096)),
    (84, 2, "spare bytes of a page", Some(224)),
    (86, 4, "main bytes of a partial page", None),
    (90, 2, "spare bytes of a partial page", None),
    (92, 4, "pages of a block", Some(128)),
    (96, 4, "blocks of a unit", Some(66_048)),
    (100, 1, "units", Some(1)),
    (101, 1, "address cycles: 2 of columns, 3 of rows", Some(0x23)),
    (102, 1, "bits of a cell", Some(2)),
    (103, 2, "bad blocks at most", Some(0x0708)),
    (105, 2, "endurance: 5 times 10^3", Some(0x0305)),
    (107, 1, "good blocks at the beginning", Some(1)),
    (108, 2, "their endurance", None),
    (110, 1, "programs of a page", Some(1)),
    (111, 1, "partial programming", None),
    (112, 1, "bits to correct in 512 bytes", Some(8)),
    (113, 1, "interleaved address bits", None),
    (114, 1, "interleaved operations", None),
    (115, 13, "reserved", None),
    (128, 1, "pin capacitance", None),
    (129, 2, "timing modes", Some(0x001F)),
    (131, 2, "timing modes of the program cache", None),
    (133, 2, "tPROG at most, us", Some(701)),
    (135, 2, "tBERS at most, us", Some(3_002)),
    (137, 2, "tR at most, us", Some(53)),
    (139, 2, "tCCS at least, ns", Some(104)),
    (141, 23, "reserved", None),
    (164, 90, "the maker's own", None),
];

#[test]
fn every_field_of_the_parameter_page_is_where_the_specification_has_it() {
    let mut part = Part { bad_blocks_max: 0x0708, ..mlc(66_048) };
    let onfi = part.onfi.as_mut().unwrap();
    (onfi.revision, onfi.features, onfi.optional_commands) = (0x0102, 0x0304, 0x0506);
    part.timing.program = timed(micros(600), micros(701));
    part.timing.erase = timed(micros(2_000), micros(3_002));
    part.timing.read = QuantileTable::constant(micros(53));
    (part.timing.write_to_read, part.timing.address_to_data) = (nanos(104), nanos(70));
    let page = parameter::page(&part).unwrap();
    let mut next = 0;
    for (from, length, name, value) in FIELDS {
        assert_eq!(from, next, "{name} follows the field before it");
        next = from + length;
        let found = page[from..next].iter().rev();
        let wanted = value.unwrap_or(0);
        if value.is_none() {
            assert!(found.clone().all(|&byte| byte == 0), "{name}: {:?}", &page[from..next]);
            continue;
        }
        let found = found.fold(0, |number, &byte| number << 8 | u64::from(byte));
        assert_eq!(found, wanted, "{name} at {from}");
    }
    assert_eq!(next, 254, "the check sum ends the page");
    assert_eq!(parameter::crc(&page[..254]).to_le_bytes(), page[254..]);
    part.timing.address_to_data = nanos(300);
    let page = parameter::page(&part).unwrap();
    assert_eq!(page[139..141], 300_u16.to_le_bytes(), "the longer of the two waits");
}

#[test]
fn the_check_sum_is_that_of_the_specification() {
    // CRC-16 with polynomial 8005h: one byte of zeros after the start value, worked out by hand.
    let by_bits = |bytes: &[u8]| {
        let mut crc = 0x4F4E_u32;
        for bit in bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)) {
            let top = crc >> 15 & 1;
            crc = crc << 1 & 0xFFFF;
            if top != u32::from(bit) {
                crc ^= 0x8005;
            }
        }
        u16::try_from(crc).unwrap()
    };
    for bytes in [&[][..], &[0], b"ONFI", &[0xFF; 254]] {
        assert_eq!(parameter::crc(bytes), by_bits(bytes));
    }
}

#[test]
fn a_busy_chip_gives_its_status_and_takes_nothing_else() {
    let (mut chip, mut now) = (chip(large(16)), Instant::ZERO);
    chip.command(now, 0x60).unwrap();
    chip.address(now, 64).unwrap();
    chip.address(now, 0).unwrap();
    chip.command(now, 0xD0).unwrap();
    now += micros(1_000);
    assert_eq!(chip.command(now, 0x00), Err(Refusal::Busy));
    assert_eq!(chip.address(now, 0x00), Err(Refusal::Busy));
    assert_eq!(chip.input(now, &[0]), Err(Refusal::Busy));
    let mut status = [0; 2];
    assert_eq!(chip.output(now, &mut status), Err(Refusal::Busy));
    chip.command(now, 0x70).unwrap();
    chip.output(now, &mut status).unwrap();
    assert_eq!(status, [UNPROTECTED; 2]);
    now += micros(1_000) + nanos(100);
    chip.output(now, &mut status).unwrap();
    assert_eq!(status, [UNPROTECTED | READY; 2]);
    assert_eq!(chip.die().array().erase_count(1), 1);
}

#[test]
fn a_failed_erase_takes_its_maximum_and_shows_in_the_status() {
    let (mut port, mut clock) = (port(large(16), PortTiming::default()), Clock::new());
    port.die_mut().inject(Fault::EraseFails(3));
    let time = took(&mut clock, |clock| {
        assert_eq!(port.erase(clock, 3).unwrap(), Outcome::Failed);
    });
    assert!(time > micros(3_000));
    assert_eq!(port.status(&mut clock).unwrap() & FAIL, FAIL);
    assert_eq!(port.erase(&mut clock, 4).unwrap(), Outcome::Done);
    port.die_mut().heal();
    assert_eq!(port.erase(&mut clock, 3).unwrap(), Outcome::Done);
}

#[test]
fn sequences_of_no_data_sheet_are_refused_and_change_nothing() {
    let (mut chip, now) = (chip(large(16)), Instant::ZERO);
    let refused = |chip: &mut ParallelChip, code| chip.command(now, code).unwrap_err();
    for code in [0x10, 0x30, 0x05, 0xE0, 0x85, 0xD0] {
        assert_eq!(refused(&mut chip, code), Refusal::OutOfSequence(code));
    }
    assert_eq!(refused(&mut chip, 0x42), Refusal::UnknownCommand(0x42));
    assert_eq!(chip.address(now, 0), Err(Refusal::UnexpectedAddress));
    assert_eq!(chip.input(now, &[0]), Err(Refusal::UnexpectedData));
    assert_eq!(chip.output(now, &mut [0]), Err(Refusal::NoData));
    chip.command(now, 0x00).unwrap();
    for _ in 0..3 {
        chip.address(now, 0).unwrap();
    }
    let short = Refusal::AddressIncomplete { expected: 4, found: 3 };
    assert_eq!(refused(&mut chip, 0x30), short);
    chip.address(now, 4).unwrap();
    assert_eq!(chip.address(now, 0), Err(Refusal::UnexpectedAddress));
    let beyond = Refusal::NoSuchRow(Row { block: 16, page: 0 });
    assert_eq!(refused(&mut chip, 0x30), beyond);
    chip.command(now, 0x80).unwrap();
    for byte in [0x40, 0x08, 0, 0] {
        let last = chip.address(now, byte);
        assert!(last.is_ok() || last == Err(Refusal::BeyondPage { column: 2_112 }), "{last:?}");
    }
    assert_eq!(chip.input(now, &[0]), Err(Refusal::UnexpectedData));
    assert_eq!(refused(&mut chip, 0x10), Refusal::OutOfSequence(0x10));
    assert_eq!(chip.die().array().stored_pages(), 0);
}

#[test]
fn random_input_and_output_reach_any_column() {
    let (mut port, mut clock) = (port(large(16), PortTiming::default()), Clock::new());
    port.begin_program(&mut clock, ROW, 10).unwrap();
    port.input(&mut clock, &[1, 2]).unwrap();
    port.seek_input(&mut clock, 2_048).unwrap();
    port.input(&mut clock, &[3, 4]).unwrap();
    assert_eq!(port.program(&mut clock).unwrap(), Outcome::Done);
    port.load(&mut clock, ROW, 2_047).unwrap();
    let mut some = [0; 4];
    port.output(&mut clock, &mut some).unwrap();
    assert_eq!(some, [255, 3, 4, 255]);
    port.seek(&mut clock, 9).unwrap();
    port.output(&mut clock, &mut some).unwrap();
    assert_eq!(some, [255, 1, 2, 255]);
    // A status in between, and 00h to go on.
    assert_eq!(port.status(&mut clock).unwrap(), UNPROTECTED | READY);
}

#[test]
fn a_status_does_not_lose_the_place_in_the_page() {
    let (mut chip, mut now) = (chip(large(16)), Instant::ZERO);
    chip.command(now, 0x00).unwrap();
    for byte in [0, 0, 0, 0] {
        chip.address(now, byte).unwrap();
    }
    chip.command(now, 0x30).unwrap();
    now += micros(30);
    let mut some = [0; 3];
    chip.output(now, &mut some).unwrap();
    chip.command(now, 0x70).unwrap();
    chip.output(now, &mut some).unwrap();
    assert_eq!(some, [0xE0; 3]);
    chip.command(now, 0x00).unwrap();
    chip.output(now, &mut some).unwrap();
    assert_eq!(some, [0xFF; 3]);
}

#[test]
fn a_small_page_has_pointers_to_its_halves_and_its_spare_bytes() {
    let (mut chip, mut now) = (chip(small(16)), Instant::ZERO);
    let address = |chip: &mut ParallelChip, now, column| {
        for byte in [column, 5, 0] {
            chip.address(now, byte).unwrap();
        }
    };
    for (pointer, data) in [(0x50, [1, 2]), (0x01, [3, 4]), (0x00, [5, 6])] {
        chip.command(now, pointer).unwrap();
        chip.command(now, 0x80).unwrap();
        address(&mut chip, now, 2);
        chip.input(now, &data).unwrap();
        chip.command(now, 0x10).unwrap();
        now += micros(300);
    }
    let mut some = [0; 4];
    for (pointer, data) in [(0x50, [1, 2]), (0x01, [3, 4]), (0x00, [5, 6])] {
        chip.command(now, pointer).unwrap();
        address(&mut chip, now, 1);
        now += micros(30);
        chip.output(now, &mut some).unwrap();
        assert_eq!(some, [255, data[0], data[1], 255], "pointer {pointer:02X}h");
    }
    // 01h holds for one operation: without a pointer the program goes to the first half.
    chip.command(now, 0x01).unwrap();
    address(&mut chip, now, 0);
    now += micros(30);
    chip.command(now, 0x80).unwrap();
    address(&mut chip, now, 7);
    chip.input(now, &[9]).unwrap();
    chip.command(now, 0x10).unwrap();
    now += micros(300);
    let mut page = [0; 528];
    chip.die_mut().advance(now);
    chip.die().array().peek(Row { block: 0, page: 5 }, 0, &mut page);
    assert_eq!((page[7], page[256 + 7]), (9, 255));
}

#[test]
fn reads_do_not_change_the_times_of_erases() {
    let spread = |micros: u64| {
        boardlab_sim::QuantileTable::new(&[self::micros(micros), self::micros(micros * 2)]).unwrap()
    };
    let part = || {
        let mut part = large(16);
        part.timing.read = spread(20);
        part.timing.erase.time = spread(1_000);
        part
    };
    let erase = |reads: u32| {
        let (mut port, mut clock) = (port(part(), PortTiming::default()), Clock::new());
        for _ in 0..reads {
            port.load(&mut clock, ROW, 0).unwrap();
        }
        took(&mut clock, |clock| {
            assert_eq!(port.erase(clock, 1).unwrap(), Outcome::Done);
        })
    };
    assert_eq!(erase(0), erase(17));
}
