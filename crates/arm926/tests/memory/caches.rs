//! What the caches hold, when they fill, and what goes out of them.

use boardlab_arm926::Config;
use boardlab_arm926::memory::control::{DATA_CACHE, INSTRUCTION_CACHE};

use crate::bench::{BACK, Bench, STRONG, THROUGH, Transfer};

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
