//! The contents of the caches, refills and write-backs.

use boardlab_arm926::bus::Width;
use boardlab_arm926::config::CacheSize;
use boardlab_arm926::memory::Memory;
use boardlab_arm926::memory::control::{DATA_CACHE, INSTRUCTION_CACHE, MMU, ROUND_ROBIN};
use boardlab_arm926::{Config, Virtual};

use super::bench::{BACK, BUFFERED, Bench, STRONG, THROUGH, Transfer};

fn cached(bits: u32) -> Bench {
    let mut bench = Bench::mapped(&Config::default(), bits, DATA_CACHE | INSTRUCTION_CACHE);
    bench.load(0x10_0000);
    bench.transfers(|_| ());
    bench.rest();
    bench
}

#[test]
fn a_read_that_misses_fills_a_line_and_the_next_ones_hit() {
    let mut bench = cached(BACK);
    bench.word(0x10_0044, 0x1234_5678);
    assert_eq!(bench.transfers(|bench| bench.load(0x10_0044)), [Transfer::Line(0x10_0040)]);
    assert_eq!(bench.load(0x10_0044), 0x1234_5678);
    assert_eq!(bench.transfers(|bench| bench.load(0x10_005C)), []);
}

#[test]
fn a_line_stays_as_it_is_when_memory_changes_behind_it() {
    let mut bench = cached(BACK);
    bench.word(0x10_0000, 7);
    assert_eq!(bench.load(0x10_0000), 0);
    bench.write_control((7, 6, 1), 0x10_0000);
    assert_eq!(bench.load(0x10_0000), 7);
}

#[test]
fn a_written_line_goes_out_by_dirty_halves() {
    let mut bench = cached(BACK);
    bench.store(0x10_0014, 0xAABB_CCDD);
    assert_eq!(bench.memory_word(0x10_0014), 0);
    let mut half = vec![0; 16];
    half[4..8].copy_from_slice(&[0xDD, 0xCC, 0xBB, 0xAA]);
    let clean = |bench: &mut Bench| bench.write_control((7, 10, 1), 0x10_0000);
    assert_eq!(bench.transfers(clean), [Transfer::Burst(0x10_0010, half)]);
    assert_eq!(bench.transfers(clean), []);
}

#[test]
fn a_write_that_misses_does_not_fill_a_line() {
    let mut bench = cached(BACK);
    bench.store(0x10_0100, 9);
    assert_eq!(bench.memory_word(0x10_0100), 9);
    assert_eq!(bench.transfers(|bench| bench.load(0x10_0100)), [Transfer::Line(0x10_0100)]);
}

#[test]
fn a_write_through_hit_changes_line_and_memory() {
    let mut bench = cached(THROUGH);
    bench.store(0x10_0000, 9);
    assert_eq!((bench.load(0x10_0000), bench.memory_word(0x10_0000)), (9, 9));
}

#[test]
fn an_uncached_access_does_not_look_into_the_cache() {
    let mut bench = cached(BACK);
    bench.store(0x10_0000, 9);
    bench.section(0x20_0000, 0x10_0000, STRONG);
    assert_eq!(bench.load(0x20_0000), 0);
}

#[test]
fn code_in_the_instruction_cache_stays_until_it_is_invalidated() {
    let mut bench = cached(BACK);
    bench.word(0x10_0000, 1);
    assert_eq!(bench.fetch(0x10_0000), 1);
    bench.word(0x10_0000, 2);
    assert_eq!((bench.fetch(0x10_0000), bench.fetch(0x10_0020), bench.fetch(0x10_0000)), (1, 0, 1));
    bench.write_control((7, 5, 0), 0);
    assert_eq!(bench.fetch(0x10_0000), 2);
}

/// A 16 KB cache has 128 sets: addresses 4 KB apart share one.
fn in_set(number: u32) -> u32 {
    0x10_0000 + number * 0x1000
}

/// The lines of the set that are in the data cache.
fn held(bench: &Bench, numbers: std::ops::Range<u32>) -> Vec<u32> {
    let hits =
        |&number: &u32| bench.memory.data_line(Virtual(in_set(number)), true, false).is_some();
    numbers.filter(hits).collect()
}

fn on(replacement: u32) -> Bench {
    Bench::mapped(&Config::default(), BACK, DATA_CACHE | INSTRUCTION_CACHE | replacement)
}

#[test]
fn round_robin_replaces_the_lines_of_a_set_in_the_order_they_came() {
    let mut bench = on(ROUND_ROBIN);
    for number in 0..4 {
        bench.load(in_set(number));
    }
    assert_eq!(held(&bench, 0..6), [0, 1, 2, 3]);
    bench.load(in_set(0));
    bench.load(in_set(4));
    assert_eq!(held(&bench, 0..6), [1, 2, 3, 4], "a hit does not save a line");
    bench.load(in_set(5));
    assert_eq!(held(&bench, 0..6), [2, 3, 4, 5]);
}

#[test]
fn an_invalid_line_is_filled_before_a_valid_one_is_replaced() {
    for replacement in [0, ROUND_ROBIN] {
        let mut bench = on(replacement);
        for number in 0..4 {
            bench.load(in_set(number));
        }
        bench.write_control((7, 6, 1), in_set(2));
        bench.load(in_set(4));
        assert_eq!(held(&bench, 0..6), [0, 1, 3, 4]);
    }
}

#[test]
fn pseudo_random_replacement_comes_to_every_way_and_repeats_itself() {
    let run = || {
        let mut bench = on(0);
        let mut evicted = Vec::new();
        for number in 0..200 {
            bench.load(in_set(number % 8 + 4 * (number % 3)));
            evicted.push(held(&bench, 0..16));
        }
        evicted
    };
    let history = run();
    assert_eq!(history, run());
    assert!(history[4..].iter().all(|lines| lines.len() == 4));
    let mut survivors = on(0);
    for number in 0..4 {
        survivors.load(in_set(number));
    }
    let mut first_to_go = [0; 4];
    for number in 4..400 {
        let before = held(&survivors, 0..400);
        survivors.load(in_set(number));
        let gone = before.iter().position(|line| !held(&survivors, 0..400).contains(line));
        first_to_go[gone.unwrap()] += 1;
    }
    assert!(first_to_go.iter().all(|&count| count > 50), "{first_to_go:?}");
}

#[test]
fn locked_ways_are_neither_filled_nor_replaced_but_hit() {
    for replacement in [0, ROUND_ROBIN] {
        let mut bench = on(replacement);
        bench.load(in_set(0));
        bench.load(in_set(1));
        bench.write_control((9, 0, 0), 0b0011);
        for number in 2..40 {
            bench.load(in_set(number));
            let lines = held(&bench, 0..40);
            assert_eq!(lines[..2], [0, 1]);
            assert!(lines.contains(&number) && lines.len() <= 4);
        }
        bench.store(in_set(0), 9);
        assert_eq!((bench.load(in_set(0)), bench.memory_word(in_set(0))), (9, 0));
        bench.write_control((7, 6, 0), 0);
        assert!(held(&bench, 0..40).is_empty(), "locked lines can be invalidated");
    }
}

#[test]
fn a_locked_instruction_way_keeps_its_line() {
    let mut bench = on(ROUND_ROBIN);
    bench.write_control((9, 0, 1), 0b1110);
    bench.fetch(in_set(0));
    bench.write_control((9, 0, 1), 0b0001);
    for number in 1..9 {
        bench.fetch(in_set(number));
    }
    assert_eq!(bench.transfers(|bench| bench.fetch(in_set(0))), []);
    assert_eq!(bench.transfers(|bench| bench.fetch(in_set(5))), [Transfer::Line(in_set(5))]);
}

#[test]
fn with_all_ways_locked_accesses_go_past_the_cache() {
    let mut bench = on(ROUND_ROBIN);
    bench.write_control((9, 0, 0), 0xF);
    bench.write_control((9, 0, 1), 0xF);
    bench.word(in_set(1) + 4, 7);
    for _ in 0..2 {
        assert_eq!((bench.load(in_set(1) + 4), bench.fetch(in_set(1) + 4)), (7, 7));
    }
    assert!(held(&bench, 1..2).is_empty());
}

#[test]
fn each_size_has_its_number_of_sets() {
    for kib in [4, 8, 16, 32, 64, 128] {
        let size = CacheSize::from_kib(kib).unwrap();
        let config = Config { data_cache: size, instruction_cache: size, ..Config::default() };
        let mut bench = Bench::mapped(&config, BACK, DATA_CACHE | INSTRUCTION_CACHE | ROUND_ROBIN);
        let lines = kib * 1024 / 32;
        for line in 0..lines {
            bench.load(0x10_0000 + line * 32);
            bench.fetch(0x10_0000 + line * 32);
        }
        let first = bench.counts();
        assert_eq!(first.data_cache.read_misses, u64::from(lines));
        for line in 0..lines {
            bench.load(0x10_0000 + line * 32);
            bench.fetch(0x10_0000 + line * 32);
        }
        let second = bench.counts();
        assert_eq!(second.data_cache.read_misses, u64::from(lines), "all fit");
        assert_eq!(second.instruction_cache.read_misses, u64::from(lines), "all fit");
        bench.load(0x10_0000 + lines * 32);
        bench.load(0x10_0000);
        assert_eq!(
            bench.counts().data_cache.read_misses,
            u64::from(lines) + 2,
            "one more does not"
        );
    }
}

/// A line in way 0 of set 0, with these dirty halves.
fn line_state(dirty: u32) -> Bench {
    let mut bench = on(ROUND_ROBIN);
    for word in 0..8 {
        bench.word(0x10_0000 + word * 4, 0x100 + word);
    }
    bench.load(0x10_0000);
    if dirty & 1 != 0 {
        bench.store(0x10_0004, 0xA);
    }
    if dirty & 2 != 0 {
        bench.store(0x10_0018, 0xB);
    }
    bench
}

/// The write-back of such a line.
fn dirty_bytes(dirty: u32) -> Vec<Transfer> {
    let mut words: Vec<u32> = (0x100..0x108).collect();
    (words[1], words[6]) = (0xA, 0xB);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    match dirty {
        0 => vec![],
        1 => vec![Transfer::Burst(0x10_0000, bytes[..16].to_vec())],
        2 => vec![Transfer::Burst(0x10_0010, bytes[16..].to_vec())],
        _ => vec![Transfer::Burst(0x10_0000, bytes)],
    }
}

/// An operation of c7: CRm, opcode 2, operand; whether it cleans; whether it invalidates.
type Operation = ((u8, u8), u32, bool, bool);

/// The operations on the line of [`line_state`].
const REACHING: [Operation; 10] = [
    ((6, 0), 0, false, true),
    ((7, 0), 0, false, true),
    ((6, 1), 0x10_0000, false, true),
    ((6, 1), 0x10_001F, false, true),
    ((6, 2), 0, false, true),
    ((10, 1), 0x10_0010, true, false),
    ((10, 2), 0, true, false),
    ((14, 1), 0x10_0000, true, true),
    ((14, 2), 0x1F, true, true),
    ((10, 4), 0, false, false),
];

#[test]
fn each_operation_on_the_data_cache_does_its_part_to_each_state_of_a_line() {
    for ((crm, opcode2), value, cleans, invalidates) in REACHING {
        for dirty in 0..4 {
            let mut bench = line_state(dirty);
            let out = bench.transfers(|bench| bench.write_control((7, crm, opcode2), value));
            let name = format!("c{crm}, {opcode2}, dirty {dirty}");
            assert_eq!(out, if cleans { dirty_bytes(dirty) } else { vec![] }, "{name}");
            let again = bench.transfers(|bench| bench.write_control((7, 10, 1), 0x10_0000));
            let left = if cleans || invalidates { vec![] } else { dirty_bytes(dirty) };
            assert_eq!(again, left, "{name}: what is still dirty");
            let refilled = bench.transfers(|bench| bench.load(0x10_0000)).len() == 1;
            assert_eq!(refilled, invalidates, "{name}");
        }
    }
}

#[test]
fn operations_on_other_lines_leave_a_line_alone() {
    let others = [
        ((6, 1), 0x10_0020),
        ((6, 1), 0x20_0000),
        ((6, 2), 0x20),
        ((6, 2), 1 << 30),
        ((10, 1), 0x10_1000),
        ((10, 2), 3 << 30),
        ((14, 1), 0x20_0000),
        ((14, 2), 2 << 30),
        ((5, 0), 0),
        ((5, 1), 0x10_0000),
        ((5, 2), 0),
        ((13, 1), 0x10_0000),
    ];
    for ((crm, opcode2), value) in others {
        let mut bench = line_state(3);
        bench.write_control((7, 13, 1), 0x10_0000);
        let out = bench.transfers(|bench| bench.write_control((7, crm, opcode2), value));
        assert_eq!(out, [], "c{crm}, {opcode2}");
        let clean = bench.transfers(|bench| bench.write_control((7, 10, 1), 0x10_0000));
        assert_eq!(clean, dirty_bytes(3), "c{crm}, {opcode2}");
    }
}

#[test]
fn set_and_way_name_the_line_by_bits_31_and_30_and_from_5_on() {
    let mut bench = on(ROUND_ROBIN);
    for number in 0..4 {
        bench.load(in_set(number) + 7 * 32);
    }
    for way in [2, 0, 3, 1] {
        assert!(
            !bench.transfers(|bench| bench.load(in_set(way) + 7 * 32)).contains(&Transfer::Line(0))
        );
        bench.write_control((7, 6, 2), way << 30 | 7 << 5);
        let at = in_set(way) + 7 * 32;
        assert_eq!(bench.transfers(|bench| bench.load(at)), [Transfer::Line(at)]);
    }
}

#[test]
fn operations_on_the_instruction_cache_drop_what_they_name() {
    for ((crm, opcode2), value) in [((5, 0), 0), ((5, 1), 0x10_001C), ((5, 2), 0), ((7, 0), 0)] {
        let mut bench = on(ROUND_ROBIN);
        bench.fetch(0x10_0000);
        bench.word(0x10_0000, 5);
        bench.write_control((7, 10, 4), 0);
        assert_eq!(bench.fetch(0x10_0000), 0);
        bench.write_control((7, crm, opcode2), value);
        assert_eq!(bench.fetch(0x10_0000), 5, "c{crm}, {opcode2}");
    }
}

#[test]
fn a_prefetched_line_is_there() {
    let mut bench = on(0);
    let fill = bench.transfers(|bench| bench.write_control((7, 13, 1), 0x10_0048));
    assert_eq!(fill[1..], [Transfer::Line(0x10_0040)], "behind the walk");
    assert_eq!(bench.transfers(|bench| bench.fetch(0x10_0048)), []);
    bench.write_control((7, 13, 1), 0x7000_0000);
    assert_eq!(
        bench.counts().instruction_cache.read_misses,
        1,
        "no translation, no line, no fault"
    );
}

#[test]
fn test_and_clean_cleans_one_line_a_call_and_tells_by_bit_30_when_none_is_dirty() {
    for (crm, invalidates) in [(10, false), (14, true)] {
        let mut bench = on(ROUND_ROBIN);
        for number in [3, 50, 51, 127] {
            bench.load(0x10_0000 + number * 32);
            bench.store(0x10_0000 + number * 32, number);
        }
        let mut cleaned = Vec::new();
        let mut calls = 0;
        loop {
            let out = bench.transfers(|bench| {
                calls += 1;
                bench.read_control((7, crm, 3))
            });
            assert!(out.len() <= 1);
            for transfer in out {
                let Transfer::Burst(at, _) = transfer else { panic!("{transfer:?}") };
                cleaned.push((at - 0x10_0000) / 32);
            }
            let dirty = cleaned.len() < 4;
            let mut copy = bench.clone();
            let value = copy.read_control((7, 10, 3));
            assert!(dirty || value == 1 << 30);
            if !dirty {
                break;
            }
        }
        assert_eq!(cleaned, [3, 50, 51, 127], "in the order of the sets");
        assert!(calls <= 4 + 128 / 8, "{calls} calls");
        let held = bench.transfers(|bench| bench.load(0x10_0000 + 3 * 32)).is_empty();
        assert_eq!(held, !invalidates, "invalidated when all is clean");
        assert_eq!(bench.memory_word(0x10_0000 + 127 * 32), 127);
    }
}

#[test]
fn replacement_writes_back_what_is_dirty_before_the_line_is_gone() {
    for dirty in 0..4 {
        let mut bench = line_state(dirty);
        for number in 1..4 {
            bench.load(in_set(number));
        }
        let mut expected = dirty_bytes(dirty);
        expected.push(Transfer::Line(in_set(4)));
        assert_eq!(bench.transfers(|bench| bench.load(in_set(4))), expected);
        let counts = bench.counts().data_cache;
        let halves = [0, 1, 1, 2][dirty as usize];
        assert_eq!((counts.half_lines_written, counts.replaced), (halves, 1));
    }
}

#[test]
fn two_addresses_of_one_byte_have_lines_of_their_own() {
    let mut bench = on(0);
    bench.section(0x0120_0000, 0x10_0000, BACK);
    bench.load(0x0120_0000);
    bench.load(0x10_0000);
    bench.store(0x0120_0000, 1);
    bench.store(0x10_0004, 2);
    assert_eq!((bench.load(0x10_0000), bench.load(0x0120_0004)), (0, 0), "neither sees the other");
    bench.write_control((7, 14, 1), 0x0120_0000);
    bench.write_control((7, 14, 1), 0x10_0000);
    let words = [bench.memory_word(0x10_0000), bench.memory_word(0x10_0004)];
    assert_eq!(words, [0, 2], "the line that goes out last takes its stale word along");
}

#[test]
fn a_line_that_is_written_back_needs_no_translation() {
    let mut bench = line_state(3);
    bench.word(super::bench::TABLE + 4, 0);
    bench.write_control((8, 7, 0), 0);
    let clean = bench.transfers(|bench| bench.write_control((7, 10, 1), 0x10_0000));
    assert_eq!(clean, dirty_bytes(3));
}

#[test]
fn half_words_and_bytes_change_their_part_of_a_line() {
    let mut bench = on(0);
    bench.word(0x10_0000, 0x4433_2211);
    bench.load(0x10_0000);
    bench.try_store(0x10_0001, Width::Byte, true, 0xFFFF_FFAA).unwrap();
    bench.try_store(0x10_0002, Width::Half, true, 0xFFFF_CCBB).unwrap();
    assert_eq!(bench.load(0x10_0000), 0xCCBB_AA11);
    assert_eq!(bench.try_load(0x10_0001, Width::Byte, true), Ok(0xAA));
    assert_eq!(bench.try_load(0x10_0003, Width::Half, true), Ok(0xCCBB));
    assert_eq!(bench.load(0x10_0003), 0xCCBB_AA11);
}

#[test]
fn counts_tell_lookups_and_misses() {
    let mut bench = on(0);
    bench.load(0x10_0000);
    bench.load(0x10_0004);
    bench.store(0x10_0000, 1);
    bench.store(0x20_0000, 1);
    for offset in [0, 4, 8, 0x20, 0x24, 0] {
        bench.fetch(0x30_0000 + offset);
    }
    let counts = bench.counts();
    let data = counts.data_cache;
    assert_eq!((data.reads, data.read_misses, data.writes, data.write_misses), (2, 1, 2, 1));
    let code = counts.instruction_cache;
    assert_eq!((code.reads, code.read_misses), (3, 2), "one lookup a line that is entered");
    assert_eq!(counts.tlb_lookups, 4 + 3);
    assert_eq!((counts.buffered_writes, counts.uncached_reads), (1, 0));
}

#[test]
fn fetches_within_a_line_look_nothing_up_until_the_coprocessor_is_written_or_privilege_changes() {
    let mut bench = on(0);
    let lookups = |bench: &Bench| bench.counts().instruction_cache.reads;
    bench.fetch(0x10_0000);
    bench.load(0x10_0000);
    bench.fetch(0x10_001C);
    assert_eq!(lookups(&bench), 1);
    bench.try_fetch(0x10_0000, Width::Half, false).unwrap();
    assert_eq!(lookups(&bench), 2, "in user mode permissions may differ");
    bench.write_control((13, 0, 1), 0);
    bench.try_fetch(0x10_0002, Width::Half, false).unwrap();
    assert_eq!(lookups(&bench), 3);
    bench.read_control((7, 10, 3));
    bench.try_fetch(0x10_0004, Width::Half, false).unwrap();
    assert_eq!(lookups(&bench), 3);
}

#[test]
fn half_words_are_fetched_from_their_place_in_the_line() {
    for cache in [INSTRUCTION_CACHE, 0] {
        let mut bench = Bench::mapped(&Config::default(), BACK, cache);
        bench.word(0x10_0004, 0x4433_2211);
        assert_eq!(bench.try_fetch(0x10_0004, Width::Half, true), Ok(0x2211));
        assert_eq!(bench.try_fetch(0x10_0006, Width::Half, true), Ok(0x4433));
    }
}

#[test]
fn regions_cache_data_only_with_both_their_bit_and_the_control_registers() {
    for (bits, on, fills) in [
        (BACK, 0, false),
        (THROUGH, 0, false),
        (BUFFERED, DATA_CACHE, false),
        (STRONG, DATA_CACHE, false),
    ] {
        let mut bench = Bench::mapped(&Config::default(), bits, on);
        let out = bench.transfers(|bench| bench.load(0x10_0000));
        assert_eq!(out.contains(&Transfer::Line(0x10_0000)), fills);
        assert_eq!(out.last(), Some(&Transfer::Read(0x10_0000, Width::Word)));
    }
}

#[test]
fn regions_cache_code_by_their_c_bit_alone() {
    for (bits, fills) in [(BACK, true), (THROUGH, true), (BUFFERED, false), (STRONG, false)] {
        let mut bench = Bench::mapped(&Config::default(), bits, INSTRUCTION_CACHE);
        let out = bench.transfers(|bench| bench.fetch(0x10_0000));
        assert_eq!(out.contains(&Transfer::Line(0x10_0000)), fills);
    }
}

#[test]
fn a_cache_that_is_switched_off_keeps_its_lines_and_nobody_looks() {
    let mut bench = line_state(1);
    bench.write_control((1, 0, 0), MMU);
    assert_eq!(bench.load(0x10_0004), 0x101);
    bench.write_control((1, 0, 0), MMU | DATA_CACHE);
    assert_eq!(bench.load(0x10_0004), 0xA);
}

#[test]
fn a_debugger_sees_what_the_program_sees_and_changes_all_of_it() {
    let mut bench = line_state(1);
    let peek = |bench: &Bench, at| bench.memory.peek(Virtual(at), &bench.board);
    assert_eq!(peek(&bench, 0x10_0004), Some(0xA));
    assert_eq!(peek(&bench, 0x20_0000), Some(0));
    assert_eq!(peek(&bench, 0x7000_0000), None);
    bench.fetch(0x10_0004);
    let before = bench.counts();
    let Bench { memory, board, .. } = &mut bench;
    assert!(memory.poke(Virtual(0x10_0004), 0xC, board));
    assert!(!memory.poke(Virtual(0x7000_0000), 0xC, board));
    assert_eq!(before, bench.counts());
    assert_eq!(
        (bench.load(0x10_0004), bench.fetch(0x10_0004), bench.memory_word(0x10_0004)),
        (0xC, 0xC, 0xC)
    );
}

#[test]
fn a_debugger_s_write_leaves_the_known_hits_and_gives_a_changed_line_another_stamp() {
    let mut bench = line_state(1);
    bench.fetch(0x10_0004);
    bench.fetch(0x10_0024);
    let Bench { memory, board, .. } = &mut bench;
    let line = |memory: &mut Memory, at| memory.line_hit(Virtual(at), true).unwrap();
    memory.learn(Virtual(0x10_0004), 4, (true, false));
    memory.learn(Virtual(0x10_0004), 4, (true, true));
    let hits = |memory: &mut Memory| {
        let hits = memory.lookaside().hits(true);
        [hits.read(0x10_0004, 4).is_some(), hits.write(0x10_0004, 4).is_some()]
    };
    let (own, other) = (line(memory, 0x10_0004), line(memory, 0x10_0024));
    assert_eq!(hits(memory), [true; 2]);
    assert!(memory.poke(Virtual(0x10_0004), 0xC, board));
    assert_eq!(hits(memory), [true; 2]);
    let changed = line(memory, 0x10_0004);
    assert_ne!(changed, own);
    assert_eq!(line(memory, 0x10_0024), other);
    assert!(memory.poke(Virtual(0x10_0004), 0xC, board));
    assert_eq!(line(memory, 0x10_0004), changed, "the same contents");
}
