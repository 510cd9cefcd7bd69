//! The cycles of each transfer, the stalls of the core, and the effect of the buffers, computed by
//! hand.
//!
//! A bus cycle is two core cycles. A transfer takes one bus cycle for the address, one per word, two
//! wait states before the first word and one before each other: a single transfer 2 (2 + 2) = 8 core
//! cycles, a line 2 (1 + 8 + 2 + 7) = 36, a half-line 2 (1 + 4 + 2 + 3) = 20. The critical word of a
//! line arrives after 8.

use std::num::NonZeroU8;

use boardlab_arm926::Config;
use boardlab_arm926::bus::Width;
use boardlab_arm926::memory::control::{DATA_CACHE, INSTRUCTION_CACHE, MMU, ROUND_ROBIN};

use super::bench::{BACK, BUFFERED, Bench, STRONG, THROUGH};

const SINGLE: u64 = 8;
const LINE: u64 = 36;
const HALF: u64 = 20;

/// Megabytes 1 write-back, 2 write-through, 3 buffered, 4 strongly ordered; all in the TLB, the bus
/// idle.
fn bench() -> Bench {
    let mut bench = Bench::new(&Config::default());
    for (megabyte, bits) in [(1, BACK), (2, THROUGH), (3, BUFFERED), (4, STRONG)] {
        bench.section(megabyte << 20, megabyte << 20, bits);
    }
    bench.start(MMU | DATA_CACHE | INSTRUCTION_CACHE | ROUND_ROBIN);
    for megabyte in 1..5 {
        bench.load((megabyte << 20) + 0xF_0000);
    }
    bench.rest();
    bench
}

const WRITTEN_BACK: u32 = 0x10_0000;
const WRITTEN_THROUGH: u32 = 0x20_0000;
const BUFFERED_AT: u32 = 0x30_0000;
const STRONG_AT: u32 = 0x40_0000;

fn load(bench: &mut Bench, at: u32) -> u64 {
    bench.cycles(|bench| bench.load(at))
}

fn store(bench: &mut Bench, at: u32) -> u64 {
    bench.cycles(|bench| bench.store(at, 1))
}

#[test]
fn a_hit_costs_nothing_beyond_the_pipeline() {
    let mut bench = bench();
    bench.load(WRITTEN_BACK);
    assert_eq!((load(&mut bench, WRITTEN_BACK + 4), store(&mut bench, WRITTEN_BACK)), (0, 0));
}

#[test]
fn a_fill_holds_the_core_until_its_word_and_the_bus_until_the_last_one() {
    let mut bench = bench();
    assert_eq!(load(&mut bench, WRITTEN_BACK), SINGLE);
    assert_eq!(load(&mut bench, WRITTEN_BACK + 32), LINE - SINGLE + SINGLE);
    bench.rest();
    bench.load(WRITTEN_BACK + 64);
    bench.now.0 += 10;
    assert_eq!(load(&mut bench, WRITTEN_BACK + 96), LINE - SINGLE - 10 + SINGLE);
    bench.rest();
    assert_eq!(bench.cycles(|bench| bench.fetch(WRITTEN_BACK)), SINGLE);
    assert_eq!(load(&mut bench, WRITTEN_BACK + 128), LINE, "the two sides share the bus");
}

#[test]
fn the_words_of_a_transfer_cost_by_the_ratio_of_the_clocks() {
    for ratio in [1, 2, 3, 8] {
        let bus_ratio = NonZeroU8::new(ratio).unwrap();
        let mut bench = Bench::new(&Config { bus_ratio, ..Config::default() });
        assert_eq!(load(&mut bench, 0x100), 4 * u64::from(ratio));
        assert_eq!(bench.cycles(|bench| bench.fetch(0x100)), 4 * u64::from(ratio));
    }
}

#[test]
fn a_walk_costs_one_or_two_single_reads() {
    let mut bench = bench();
    bench.word(0x4000 + 0x700 * 4, 0x8000 | 1);
    bench.word(0x8000, 0x0040_0FF2);
    bench.section(0x7010_0000, 0x40_0000, STRONG);
    let before = bench.counts().waiting.walk;
    assert_eq!(load(&mut bench, 0x7010_0000), SINGLE + SINGLE);
    assert_eq!(load(&mut bench, 0x7000_0000), 2 * SINGLE + SINGLE);
    assert_eq!(bench.counts().waiting.walk - before, 3 * SINGLE);
}

#[test]
fn a_buffered_store_costs_nothing_and_occupies_the_bus_behind_the_core() {
    for at in [WRITTEN_BACK, WRITTEN_THROUGH, BUFFERED_AT] {
        let mut bench = bench();
        assert_eq!(store(&mut bench, at), 0);
        bench.now.0 += 3;
        let wait = SINGLE - 3;
        assert_eq!(
            load(&mut bench, WRITTEN_BACK + 0x100),
            wait + SINGLE,
            "behind what is on the bus"
        );
    }
}

#[test]
fn an_unbuffered_store_waits_for_what_is_buffered_and_for_itself() {
    let mut bench = bench();
    assert_eq!(store(&mut bench, STRONG_AT), SINGLE);
    assert_eq!(store(&mut bench, STRONG_AT), SINGLE);
    bench.store(BUFFERED_AT, 1);
    bench.store(BUFFERED_AT + 0x100, 1);
    assert_eq!(store(&mut bench, STRONG_AT), 3 * SINGLE);
    bench.store(BUFFERED_AT, 1);
    bench.store(BUFFERED_AT + 0x100, 1);
    assert_eq!(load(&mut bench, STRONG_AT), 3 * SINGLE, "so do reads there");
}

#[test]
fn four_addresses_fit_and_the_fifth_waits_for_the_first_to_be_written() {
    let mut bench = bench();
    for number in 0..4 {
        assert_eq!(store(&mut bench, BUFFERED_AT + number * 0x40), 0, "{number}");
    }
    assert_eq!(store(&mut bench, BUFFERED_AT + 0x400), SINGLE);
    assert_eq!(store(&mut bench, BUFFERED_AT + 0x440), SINGLE);
    assert_eq!(bench.counts().waiting.write_buffer, 2 * SINGLE);
    bench.now.0 += 5;
    assert_eq!(store(&mut bench, BUFFERED_AT + 0x480), SINGLE - 5);
}

#[test]
fn words_in_sequence_are_one_burst_with_one_address() {
    let mut bench = bench();
    for word in 0..8 {
        assert_eq!(store(&mut bench, BUFFERED_AT + word * 4), 0);
    }
    assert_eq!(bench.cycles(|bench| bench.write_control((7, 10, 4), 0)), LINE);
    for word in 0..3 {
        bench.store(BUFFERED_AT + word * 8, 1);
    }
    let drain = bench.cycles(|bench| bench.write_control((7, 10, 4), 0));
    assert_eq!(drain, 3 * SINGLE, "words apart are not");
    for word in 0..2 {
        bench.try_store(BUFFERED_AT + word * 2, Width::Half, true, 1).unwrap();
    }
    let drain = bench.cycles(|bench| bench.write_control((7, 10, 4), 0));
    assert_eq!(drain, 2 * SINGLE, "nor are half-words");
}

#[test]
fn a_burst_ends_at_a_kilobyte_and_when_it_goes_on_the_bus() {
    let mut bench = bench();
    bench.store(BUFFERED_AT + 0x3FC, 1);
    bench.store(BUFFERED_AT + 0x400, 1);
    assert_eq!(bench.cycles(|bench| bench.write_control((7, 10, 4), 0)), 2 * SINGLE);
    bench.store(BUFFERED_AT, 1);
    bench.now.0 += 1;
    bench.store(BUFFERED_AT + 4, 1);
    assert_eq!(bench.cycles(|bench| bench.write_control((7, 10, 4), 0)), 2 * SINGLE - 1);
}

#[test]
fn sixteen_words_fit_and_the_next_waits_for_the_burst_on_the_bus() {
    let mut bench = bench();
    for word in 0..16 {
        assert_eq!(store(&mut bench, BUFFERED_AT + word * 4), 0, "{word}");
    }
    let burst = 2 * (1 + 16 + 2 + 15);
    assert_eq!(store(&mut bench, BUFFERED_AT + 64), burst);
    assert_eq!(bench.cycles(|bench| bench.write_control((7, 10, 4), 0)), SINGLE);
}

#[test]
fn a_read_of_what_is_buffered_drains_first_and_another_overtakes() {
    let queue = |bench: &mut Bench| {
        for number in 0..3 {
            bench.store(BUFFERED_AT + number * 0x100, 1);
        }
    };
    let mut bench = bench();
    queue(&mut bench);
    assert_eq!(load(&mut bench, WRITTEN_BACK), SINGLE, "nothing was on the bus yet");
    bench.rest();
    queue(&mut bench);
    assert_eq!(load(&mut bench, BUFFERED_AT + 0x104), SINGLE);
    bench.rest();
    queue(&mut bench);
    assert_eq!(load(&mut bench, BUFFERED_AT + 0x100), 3 * SINGLE + SINGLE);
    bench.rest();
    bench.store(WRITTEN_BACK + 0x11C, 1);
    assert_eq!(load(&mut bench, WRITTEN_BACK + 0x100), SINGLE + SINGLE, "in the line to fill");
}

#[test]
fn fetches_do_not_look_into_the_buffer() {
    let mut bench = bench();
    bench.store(WRITTEN_BACK + 0x104, 1);
    assert_eq!(bench.cycles(|bench| bench.fetch(WRITTEN_BACK + 0x100)), SINGLE);
}

/// Fills all ways of the set of `at`; the first line has these dirty halves.
fn full_set(bench: &mut Bench, dirty: &[u32]) {
    for number in 0..4 {
        bench.load(WRITTEN_BACK + number * 0x1000);
    }
    for &at in dirty {
        bench.store(WRITTEN_BACK + at, 1);
    }
    bench.rest();
}

#[test]
fn an_eviction_goes_out_behind_the_fill_half_by_half() {
    for (dirty, behind) in [(&[][..], 0), (&[0], HALF), (&[16], HALF), (&[0, 16], LINE)] {
        let mut bench = bench();
        full_set(&mut bench, dirty);
        assert_eq!(load(&mut bench, WRITTEN_BACK + 0x4000), SINGLE);
        let drained = bench.cycles(|bench| bench.write_control((7, 10, 4), 0));
        let rest = if behind == 0 { 0 } else { LINE - SINGLE + behind };
        assert_eq!(drained, rest, "{dirty:?}");
    }
}

#[test]
fn a_second_eviction_waits_for_the_write_back_buffer() {
    let mut bench = bench();
    full_set(&mut bench, &[0, 0x1000, 0x1010]);
    assert_eq!(load(&mut bench, WRITTEN_BACK + 0x4000), SINGLE);
    let waits = LINE - SINGLE + HALF;
    assert_eq!(load(&mut bench, WRITTEN_BACK + 0x5000), waits + SINGLE);
    assert_eq!(bench.counts().waiting.write_buffer, waits);
}

#[test]
fn cleaning_line_after_line_waits_for_the_buffer_between_them() {
    let mut bench = bench();
    full_set(&mut bench, &[0, 0x1000, 0x2000, 0x2010]);
    let mut clean = |at| bench.cycles(|bench| bench.write_control((7, 10, 1), WRITTEN_BACK + at));
    assert_eq!([clean(0), clean(0x1000), clean(0x2000), clean(0x3000)], [0, HALF, HALF, 0]);
    assert_eq!(bench.cycles(|bench| bench.write_control((7, 10, 4), 0)), LINE);
}

#[test]
fn sleep_waits_for_the_buffers() {
    let mut bench = bench();
    bench.store(BUFFERED_AT, 1);
    assert_eq!(bench.cycles(|bench| bench.write_control((7, 0, 4), 0)), SINGLE);
}

#[test]
fn test_and_clean_takes_a_cycle_for_each_further_set_that_it_looks_at() {
    let mut bench = bench();
    let at = WRITTEN_BACK + 11 * 32;
    bench.load(at);
    bench.store(at, 1);
    bench.rest();
    let mut test = || bench.cycles(|bench| bench.read_control((7, 10, 3)));
    assert_eq!(test(), 7, "sets 0 to 7");
    assert_eq!(test(), 3, "sets 8 to 11");
}

#[test]
fn waiting_adds_up_to_all_cycles_that_pass() {
    let mut bench = bench();
    let mut state = 1_u32;
    for _ in 0..5000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = ((state >> 12 & 3) + 1) << 20 | state >> 14 & 0xFFFC;
        match state >> 8 & 7 {
            0..3 => drop(bench.load(at)),
            3..5 => bench.store(at, state),
            5 => drop(bench.fetch(at)),
            6 => drop(bench.write_control((7, 14, 1), at)),
            _ => drop(bench.write_control((8, 7, 1), at)),
        }
    }
    let rests = 10_000;
    let waiting = bench.counts().waiting;
    let sum = waiting.fetch + waiting.data + waiting.walk + waiting.write_buffer + waiting.uncached;
    assert_eq!(sum, bench.now.0 - rests);
    assert_eq!(waiting.maintenance, 0);
}
