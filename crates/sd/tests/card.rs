//! A card as its host sees it: times by hand, bytes that come back, discards, the cache.
use crate::small::{PAGE, PROGRAM, READ, ROW, blocks, face, in_slot, layer, part, write};
use boardlab_block::{BlockDevice, Cache, Cause, Error, Extent, Payload, Request, Target};
use boardlab_ftl as ftl;
use boardlab_ftl::{PageMapped, TimedMedium, Translation};
use boardlab_sd::{Card, Data, Discard, Face, Kind, Part, Shape, Width};
use boardlab_sim::{Bytes, Clock, Duration, Instant, Seed};

fn card(part: Part, slots: u32) -> Card<PageMapped<TimedMedium>> {
    Card::new(part, layer(slots), 2, Data::Newest).unwrap()
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

#[test]
fn a_write_takes_request_commands_transfers_and_programs_one_after_the_other() {
    let mut card = card(part(), 0);
    let ended = write(&mut card, Instant::ZERO, 0, 2 * ROW);
    // CMD23, CMD25, CMD13: 106 clocks of 20 ns each. A block: 539 clocks.
    let command = Duration::from_nanos(106 * 20);
    let transfer = Duration::from_nanos(blocks(ROW) * 539 * 20);
    let expected = Duration::from_micros(50)
        + command * 3
        + Duration::from_micros(10)
        + (transfer + PROGRAM) * 2;
    assert_eq!(ended.since(Instant::ZERO), expected);
    let counts = *card.counts();
    assert_eq!((counts.commands, counts.blocks_in), (3, blocks(2 * ROW)));
    let bus = command * 3 + transfer * 2;
    assert_eq!((counts.bus_ns, counts.busy_ns), (bus.as_nanos(), (PROGRAM * 2).as_nanos()));
}

/// The same random writes of whole pages, with bytes kept by version and with no bytes kept: the
/// first goes row by row, the second passes whole transfers on. Collection within a transfer then
/// begins when the last row before it has come, not when the first row after it has: never later,
/// and by two rows at most.
#[test]
fn a_transfer_passed_on_in_one_piece_takes_as_long_as_row_by_row() {
    let row = Duration::from_nanos(blocks(ROW) * 539 * 20);
    for slots in [0, 1, 3] {
        let mut slow = Card::new(part(), layer(slots), 2, Data::Versions).unwrap();
        let mut fast = Card::new(part(), layer(slots), 2, Data::Lost).unwrap();
        let mut stream = Seed::new(11).stream("rows");
        let mut now = Instant::ZERO;
        let mut same = 0;
        for request in 0..3_000 {
            let bytes = ROW * (1 + stream.below(16));
            let first = stream.below((64 << 20) / ROW - 16) * blocks(ROW);
            let (rows, whole) =
                (write(&mut slow, now, first, bytes), write(&mut fast, now, first, bytes));
            assert!(
                whole <= rows && rows.since(whole) <= row * 2,
                "{slots}: request {request} of {bytes} bytes: {rows:?}, {whole:?}"
            );
            assert_eq!(slow.work(), fast.work(), "{slots}: request {request}");
            same += u32::from(rows == whole);
            now = rows + PROGRAM * 20;
        }
        assert!(same > 2_000, "{slots}: only {same} requests take exactly as long");
        let counts =
            |card: &Card<PageMapped<TimedMedium>>| (card.counts().blocks_in, card.counts().bus_ns);
        assert_eq!(counts(&slow), counts(&fast));
        assert_eq!(slow.translation().counters(), fast.translation().counters());
        assert!(
            slow.translation().counters().programs[ftl::Cause::Collection] > 0,
            "collection has run"
        );
    }
}

#[test]
fn a_buffer_lets_the_next_row_come_while_the_cells_are_programmed() {
    let (mut serial, mut overlapped) = (card(part(), 0), card(part(), 2));
    let size = 64 * ROW;
    let slow = write(&mut serial, Instant::ZERO, 0, size);
    let fast = write(&mut overlapped, Instant::ZERO, 0, size);
    let programs = PROGRAM * 64;
    assert!(fast < slow && fast.since(Instant::ZERO) > programs);
    assert!(fast.since(Instant::ZERO) < programs + PROGRAM * 6, "the cells set the pace");
}

#[test]
fn a_request_is_split_into_what_the_host_moves_at_once() {
    let mut card = card(part(), 0);
    write(&mut card, Instant::ZERO, 0, 1 << 20);
    assert_eq!(card.counts().commands, 2 * 3);
    let mut small = part();
    small.host.largest = Bytes::kib(64);
    small.host.announces = false;
    let mut small = self::card(small, 0);
    write(&mut small, Instant::ZERO, 0, 1 << 20);
    assert_eq!(small.counts().commands, 16 * 3, "CMD25, CMD12 and CMD13");
}

#[test]
fn what_was_written_is_read_back_in_any_pieces() {
    for cache in [None, Some(Bytes::kib(256))] {
        let mut card = card(in_slot(Face { cache, ..face() }), 1);
        let mut shadow = vec![0_u8; 4 << 20];
        let mut clock = Clock::new();
        let mut stream = Seed::new(7).stream("pieces");
        for round in 0..400 {
            let first = stream.below(blocks(shadow.len() as u64) - 200);
            let count = 1 + stream.below(200);
            let extent = Extent::new(first, count);
            let range = index(first * 512)..index((first + count) * 512);
            match stream.below(8) {
                0 => {
                    card.discard(&mut clock, extent).unwrap();
                    shadow[range].fill(0);
                }
                1 => {
                    card.write_zeroes(&mut clock, extent).unwrap();
                    shadow[range].fill(0);
                }
                2 => {
                    card.flush(&mut clock).unwrap();
                }
                3 | 4 => {
                    let mut found = vec![1; range.len()];
                    card.read(&mut clock, extent, &mut found).unwrap();
                    assert_eq!(found, shadow[range], "round {round}: {extent}, cache {cache:?}");
                }
                _ => {
                    stream.fill(&mut shadow[range.clone()]);
                    card.write(&mut clock, extent, &shadow[range]).unwrap();
                }
            }
        }
        let whole = Extent::new(0, blocks(shadow.len() as u64));
        let mut found = vec![1; shadow.len()];
        card.read(&mut clock, whole, &mut found).unwrap();
        assert!(found == shadow, "everything at the end, cache {cache:?}");
    }
}

#[test]
fn a_piece_of_a_page_makes_the_card_read_the_rest() {
    let mut card = card(part(), 0);
    let filled = write(&mut card, Instant::ZERO, 0, ROW);
    let before = card.counts().merged;
    let ended = write(&mut card, filled, 3, 512);
    assert_eq!(card.counts().merged, before + 1);
    let taken = ended.since(filled);
    assert!(taken > READ + PROGRAM && taken < READ + PROGRAM * 2, "{taken}");
}

#[test]
fn a_cache_ends_a_write_before_the_program_and_a_flush_after_it() {
    let cached = in_slot(Face { cache: Some(Bytes::kib(512)), ..face() });
    let mut card = card(cached, 0);
    assert!(matches!(card.geometry().cache, Cache::Volatile(_)));
    let written = write(&mut card, Instant::ZERO, 0, 4 * 512);
    assert!(written.since(Instant::ZERO) < PROGRAM);
    let flushed = card.submit(written, Request::Flush).unwrap().ended;
    assert!(flushed.since(written) > PROGRAM);
    let again = card.submit(flushed, Request::Flush).unwrap().ended;
    assert!(again.since(flushed) < PROGRAM, "there is nothing left to write");
    assert_eq!(card.counts().flushes, 2);
}

#[test]
fn a_cache_that_is_full_takes_no_more_than_the_flash_programs() {
    let cached = in_slot(Face { cache: Some(Bytes::new(2 * ROW)), ..face() });
    let mut card = card(cached, 0);
    // Not from the beginning of a page, so that it goes through the cache.
    let written = write(&mut card, Instant::ZERO, 1, 8 * ROW);
    assert!(written.since(Instant::ZERO) > PROGRAM * 5, "{written:?}");
    assert!(card.counts().busy_ns > (PROGRAM * 5).as_nanos(), "{:?}", card.counts());
}

#[test]
fn small_writes_that_follow_each_other_are_joined_in_the_cache() {
    let cached = in_slot(Face { cache: Some(Bytes::kib(512)), ..face() });
    let mut card = card(cached, 0);
    let mut now = Instant::ZERO;
    for block in 0..blocks(ROW) {
        now = write(&mut card, now, block, 512);
    }
    card.submit(now, Request::Flush).unwrap();
    assert_eq!((card.counts().merged, card.translation().counters().written), (0, 2));
}

#[test]
fn a_read_waits_for_the_cells_once_and_then_for_the_bus() {
    let mut card = card(part(), 1);
    let start = write(&mut card, Instant::ZERO, 0, 16 * ROW);
    let extent = Extent::new(0, blocks(16 * ROW));
    let read = Request::Read { extent, into: Target::Nowhere };
    let taken = card.submit(start, read).unwrap().ended.since(start);
    let bus = Duration::from_nanos(blocks(16 * ROW) * 532 * 20);
    assert!(taken > bus + READ && taken < bus + READ + Duration::from_micros(100), "{taken}");
}

#[test]
fn collection_is_named_as_what_made_a_write_slow() {
    let mut card = card(part(), 0);
    let mut stream = Seed::new(3).stream("random");
    let (mut now, mut named) = (Instant::ZERO, false);
    for _ in 0..9_000 {
        let first = stream.below(4_096) * blocks(PAGE);
        let extent = Extent::new(first, blocks(PAGE));
        let data = Payload::Repeated(1);
        let done = card.submit(now, Request::Write { extent, data, durable: false }).unwrap();
        named |= done.cause == Some(Cause::Collection);
        now = done.ended;
    }
    assert!(named);
}

#[test]
fn a_card_that_cannot_be_is_refused_with_what_would_fit() {
    let refused = |part: Part| Card::new(part, layer(0), 2, Data::Lost).unwrap_err().to_string();
    let odd = in_slot(Face { capacity: Bytes::mib(63), ..face() });
    assert_eq!(
        refused(odd),
        "a capacity of 66060288 bytes is not a multiple of the allocation unit of 4 MiB: 15 units and 3145728 bytes"
    );
    let large = in_slot(Face { capacity: Bytes::mib(128), ..face() });
    assert_eq!(
        refused(large),
        "the translation layer has 4096 pages of 16 KiB: the capacity takes 8192"
    );
    let mut wide = part();
    wide.wiring.width = Width::Eight;
    assert_eq!(refused(wide), "an SD card has no mode ddr50 on 8 lines");
    let tiny = in_slot(Face { cache: Some(Bytes::kib(4)), ..face() });
    assert_eq!(refused(tiny), "the write cache of 4 KiB: at least 16 KiB");
    let long = Shape { page: Bytes::kib(128), pages: 512 };
    let error = part().check(long).unwrap_err().to_string();
    assert!(error.ends_with("of 128 KiB is not a whole number of blocks of 512 B, at most 64 KiB"));
}

#[test]
fn a_request_beyond_the_end_is_refused_and_changes_nothing() {
    let mut card = card(part(), 0);
    let extent = Extent::new(card.geometry().count, 1);
    let request = Request::Write { extent, data: Payload::Repeated(1), durable: false };
    assert!(matches!(card.submit(Instant::ZERO, request), Err(Error::OutOfRange { .. })));
    assert_eq!(card.counts().commands, 0);
}

#[test]
fn a_transfer_of_unknown_length_is_stopped_before_the_card_is_busy() {
    let mut open_ended = part();
    open_ended.host.announces = false;
    let (mut announced, mut stopped) = (card(part(), 0), card(open_ended, 0));
    let lasts = |card: &mut Card<_>| write(card, Instant::ZERO, 0, ROW).since(Instant::ZERO);
    // One command either way, CMD23 before or CMD12 behind.
    assert_eq!(lasts(&mut announced), lasts(&mut stopped));
    assert_eq!(announced.counts().busy_ns, stopped.counts().busy_ns);
}

#[test]
fn one_block_needs_neither_its_length_nor_a_stop() {
    let mut open_ended = part();
    open_ended.host.announces = false;
    for slot in [part(), open_ended] {
        let mut card = card(slot, 0);
        card.read(&mut Clock::new(), Extent::new(0, 1), &mut [0; 512]).unwrap();
        assert_eq!(card.counts().commands, 1, "CMD17");
        write(&mut card, Instant::from_nanos(1 << 40), 0, 512);
        assert_eq!(card.counts().commands, 3, "CMD24 and CMD13");
    }
}

#[test]
fn what_is_to_be_zero_is_sent_to_an_sd_card_and_trimmed_on_an_emmc() {
    let mut sd = card(part(), 0);
    let mut emmc = part();
    emmc.face.kind = Kind::Emmc;
    emmc.wiring.mode = boardlab_sd::Mode::HighSpeed;
    let mut emmc = card(emmc, 0);
    let extent = Extent::new(0, blocks(4 << 20));
    for (card, pages) in [(&mut sd, 2 * 256), (&mut emmc, 256)] {
        let now = write(card, Instant::ZERO, 0, 4 << 20);
        card.submit(now, Request::WriteZeroes { extent }).unwrap();
        assert_eq!(card.translation().counters().written, pages);
        let mut found = vec![1; 512];
        card.read(&mut Clock::new(), Extent::new(77, 1), &mut found).unwrap();
        assert!(found.iter().all(|&byte| byte == 0));
    }
    assert_eq!(emmc.translation().counters().trimmed, 256);
}

#[test]
fn a_durable_write_puts_its_own_pages_on_the_flash_of_an_emmc_and_all_on_that_of_an_sd_card() {
    for (kind, left) in [(Kind::Sd, 0), (Kind::Emmc, 1)] {
        let mut cached = in_slot(Face { cache: Some(Bytes::kib(512)), kind, ..face() });
        cached.wiring.mode = boardlab_sd::Mode::HighSpeed;
        let mut card = card(cached, 0);
        let now = write(&mut card, Instant::ZERO, 0, 512);
        let extent = Extent::new(blocks(10 * PAGE), blocks(PAGE));
        let request = Request::Write { extent, data: Payload::Repeated(1), durable: true };
        let done = card.submit(now, request).unwrap();
        assert!(done.ended.since(now) > PROGRAM, "{kind:?}");
        assert_eq!(card.translation().counters().written, 2 - left, "{kind:?}");
        card.submit(done.ended, Request::WriteZeroes { extent: Extent::new(0, 3) }).unwrap();
        assert_eq!(card.counts().flushes, 1 - left, "{kind:?}: zeros are not durable at once");
    }
}

#[test]
fn a_discard_forgets_whole_pages_and_an_erase_writes_the_rest() {
    for (discard, written) in [(Discard::Discard, 0), (Discard::Erase, 2)] {
        let mut card = card(in_slot(Face { discard, ..face() }), 0);
        let now = write(&mut card, Instant::ZERO, 0, 4 * PAGE);
        let extent = Extent::new(1, blocks(4 * PAGE) - 2);
        let before = card.translation().counters().written;
        let commands = card.counts().commands;
        card.submit(now, Request::Discard { extent }).unwrap();
        assert_eq!(card.counts().commands - commands, 4, "CMD32, CMD33, CMD38, CMD13");
        assert_eq!(card.translation().counters().trimmed, 2, "{discard:?}");
        assert_eq!(card.translation().counters().written - before, written, "{discard:?}");
    }
}

#[test]
fn what_was_erased_reads_as_the_card_says() {
    for (erased_ones, expected) in [(false, 0), (true, 0xFF)] {
        let mut card = card(in_slot(Face { erased_ones, ..face() }), 0);
        let now = write(&mut card, Instant::ZERO, 0, 4 * PAGE);
        let extent = Extent::new(1, blocks(4 * PAGE) - 2);
        card.submit(now, Request::Discard { extent }).unwrap();
        let never_written = blocks(9 * PAGE);
        for block in [1, blocks(2 * PAGE), blocks(4 * PAGE) - 2, never_written] {
            let mut found = [1; 512];
            card.read(&mut Clock::new(), Extent::new(block, 1), &mut found).unwrap();
            assert_eq!(found, [expected; 512], "block {block}");
        }
    }
}

#[test]
fn a_request_that_comes_while_the_card_is_busy_waits() {
    let mut card = card(part(), 0);
    let ended = write(&mut card, Instant::ZERO, 0, ROW);
    let request = Request::Discard { extent: Extent::new(0, 1) };
    let done = card.submit(Instant::ZERO, request).unwrap();
    assert!(done.started >= ended, "{:?} before {ended:?}", done.started);
}

#[test]
fn a_refused_write_leaves_what_was_there() {
    let mut card = card(part(), 0);
    write(&mut card, Instant::ZERO, 0, ROW);
    let beyond = Extent::new(card.geometry().count - 1, 2);
    let request = Request::Write { extent: beyond, data: Payload::Repeated(9), durable: false };
    assert!(card.submit(Instant::ZERO, request).is_err());
    let mut found = vec![0; 512];
    card.read(&mut Clock::new(), Extent::new(0, 1), &mut found).unwrap();
    assert!(found.iter().all(|&byte| byte == 0x5A));
}

#[test]
fn a_cache_takes_writes_while_the_flash_is_busy_with_those_before() {
    let mut card = card(in_slot(Face { cache: Some(Bytes::kib(512)), ..face() }), 1);
    let mut now = write(&mut card, Instant::ZERO, 0, 8 * ROW);
    for step in 0..6 {
        // Long enough for one row to be written back, and for the next to begin.
        let at = now + Duration::from_millis(1) + PROGRAM;
        now = write(&mut card, at, blocks(32 * PAGE) + step, 512);
        assert!(now.since(at) < PROGRAM / 2, "step {step}: {}", now.since(at));
    }
    let written = card.translation().counters().written;
    assert!(written > 2, "{written} pages are on flash");
}

#[test]
fn small_writes_with_short_pauses_are_joined_and_long_pauses_empty_the_cache() {
    let cached = in_slot(Face { cache: Some(Bytes::kib(512)), ..face() });
    for (pause, merged) in [(500, 0), (50_000, 30)] {
        let mut card = card(cached.clone(), 0);
        let mut now = Instant::ZERO;
        for block in 0..blocks(PAGE) {
            now = write(&mut card, now, block, 512) + Duration::from_micros(pause);
        }
        card.submit(now, Request::Flush).unwrap();
        assert!(card.counts().merged >= merged, "{pause}: {}", card.counts().merged);
        assert_eq!(card.counts().merged == 0, merged == 0, "{pause}: {}", card.counts().merged);
    }
}

#[test]
fn a_transfer_as_large_as_the_cache_goes_past_it_and_supersedes_what_it_held() {
    let mut card = card(in_slot(Face { cache: Some(Bytes::kib(512)), ..face() }), 1);
    let mut clock = Clock::new();
    let extent = Extent::new(3, 1);
    card.write(&mut clock, extent, &[1; 512]).unwrap();
    let elsewhere = Extent::new(blocks(40 * PAGE), 1);
    card.write(&mut clock, elsewhere, &[2; 512]).unwrap();
    assert_eq!(card.translation().counters().written, 0);
    let now = write(&mut card, clock.now(), 0, 512 << 10);
    assert_eq!(card.translation().counters().written, 32);
    let mut found = [0; 512];
    for (extent, byte) in [(extent, 0x5A), (elsewhere, 2)] {
        card.read(&mut clock, extent, &mut found).unwrap();
        assert_eq!(found, [byte; 512]);
    }
    card.submit(now, Request::Flush).unwrap();
    assert_eq!(card.translation().counters().written, 33, "the other page was still cached");
}
