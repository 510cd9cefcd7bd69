//! FCSE: the addresses that are modified, the use of a new PID, and the exempt operations.

use boardlab_arm926::bus::Width;
use boardlab_arm926::memory::AbortKind;
use boardlab_arm926::memory::control::{DATA_CACHE, HIGH_VECTORS, INSTRUCTION_CACHE, MMU};
use boardlab_arm926::{Config, Modified};

use super::bench::{BACK, Bench, STRONG};

/// Slots 0 to 3, each with its own megabyte at virtual 0x00100000, and a shared one at 0x04500000, in
/// slot 2.
fn bench(bits: u32, on: u32) -> Bench {
    let mut bench = Bench::new(&Config::default());
    for slot in 0..4 {
        bench.section(slot << 25 | 0x10_0000, (slot + 1) << 20, bits);
        for word in 0..64 {
            bench.word(((slot + 1) << 20) + word * 4, slot << 16 | word);
        }
    }
    bench.start(on | MMU);
    bench
}

fn switch(bench: &mut Bench, pid: u32) {
    bench.write_control((13, 0, 0), pid << 25);
}

#[test]
fn data_use_a_new_process_number_at_once() {
    let mut bench = bench(STRONG, 0);
    for slot in [0, 3, 1] {
        switch(&mut bench, slot);
        assert_eq!(bench.load(0x10_0004), slot << 16 | 1);
        assert_eq!(u32::from(bench.memory.pid()), slot);
    }
    assert_eq!(
        bench.load(0x0610_0004),
        3 << 16 | 1,
        "above 32 MB nothing moves: there is no protection"
    );
}

#[test]
fn fetches_use_the_old_number_for_two_more_instructions() {
    for on in [0, INSTRUCTION_CACHE] {
        let mut bench = bench(BACK, on);
        assert_eq!(bench.fetch(0x10_0000), 0);
        switch(&mut bench, 2);
        bench.memory.retire(false);
        assert_eq!(bench.memory.fetch_pid(), None);
        assert_eq!(bench.fetch(0x10_0004), 1);
        bench.memory.retire(false);
        assert_eq!(bench.fetch(0x10_0008), 2);
        bench.memory.retire(false);
        assert_eq!(bench.memory.fetch_pid(), Some(2));
        assert_eq!(bench.fetch(0x10_000C), 2 << 16 | 3, "in the middle of the line");
    }
}

#[test]
fn a_jump_ends_the_delay() {
    let mut bench = bench(BACK, INSTRUCTION_CACHE);
    bench.fetch(0x10_0000);
    switch(&mut bench, 1);
    bench.memory.retire(false);
    bench.fetch(0x10_0004);
    bench.memory.retire(true);
    assert_eq!(bench.fetch(0x10_0000), 1 << 16);
}

#[test]
fn a_second_write_within_the_delay_starts_it_anew() {
    let mut bench = bench(STRONG, 0);
    switch(&mut bench, 1);
    bench.memory.retire(false);
    switch(&mut bench, 2);
    bench.memory.retire(false);
    for word in 1..3 {
        assert_eq!(bench.fetch(0x10_0000 + word * 4), word);
        bench.memory.retire(false);
    }
    assert_eq!(bench.fetch(0x10_0000), 2 << 16);
}

#[test]
fn caches_and_tlb_keep_the_slots_apart_without_any_flush() {
    let mut bench = bench(BACK, DATA_CACHE | INSTRUCTION_CACHE);
    for round in 0..3 {
        for slot in 0..2 {
            switch(&mut bench, slot);
            bench.memory.retire(true);
            assert_eq!(bench.load(0x10_0000), slot << 16 | round);
            bench.store(0x10_0000, slot << 16 | (round + 1));
            assert_eq!(bench.fetch(0x10_0004), slot << 16 | 1);
        }
    }
    let counts = bench.counts();
    assert_eq!((counts.data_cache.read_misses, counts.instruction_cache.read_misses), (2, 2));
    assert_eq!(counts.tlb_misses, 2);
}

#[test]
fn faults_tell_the_modified_address() {
    let mut bench = bench(STRONG, 0);
    switch(&mut bench, 3);
    bench.memory.retire(true);
    let data = bench.try_load(0x50_0000, Width::Word, true).unwrap_err();
    assert_eq!((data.kind, data.at), (AbortKind::SectionTranslation, Modified(0x0650_0000)));
    let code = bench.try_fetch(0x50_0000, Width::Word, true).unwrap_err();
    assert_eq!(code.at, Modified(0x0650_0000));
    bench.memory.note_data_abort(data);
    assert_eq!(bench.read_control((6, 0, 0)), 0x0650_0000);
}

#[test]
fn operations_on_one_entry_take_modified_addresses() {
    let mut bench = bench(BACK, DATA_CACHE);
    for slot in [0, 1] {
        switch(&mut bench, slot);
        bench.load(0x10_0000);
        bench.store(0x10_0000, 0x55);
    }
    bench.write_control((7, 6, 1), 0x10_0000);
    assert_eq!(bench.load(0x10_0000), 0x55, "slot 1 keeps its line");
    switch(&mut bench, 0);
    assert_eq!(bench.load(0x10_0000), 0, "slot 0 lost it");
    let before = bench.counts().tlb_misses;
    switch(&mut bench, 1);
    bench.write_control((8, 7, 1), 0x10_0000);
    bench.load(0x10_0000);
    assert_eq!(bench.counts().tlb_misses, before, "the entry of slot 1 stays");
    bench.write_control((8, 7, 1), 0x0210_0000);
    bench.load(0x10_0000);
    assert_eq!(bench.counts().tlb_misses, before + 1);
}

#[test]
fn low_vectors_lie_in_the_slot_and_high_ones_do_not() {
    let mut bench = Bench::new(&Config::default());
    bench.section(0, 0, STRONG);
    bench.section(0x0200_0000, 0x10_0000, STRONG);
    bench.section(0xFFF0_0000, 0x20_0000, STRONG);
    for (at, value) in [(0x8, 1), (0x10_0008, 2), (0x2F_0008, 3)] {
        bench.word(at, value);
    }
    bench.start(MMU);
    assert_eq!(bench.fetch(8), 1);
    switch(&mut bench, 1);
    bench.memory.retire(true);
    assert_eq!(bench.fetch(8), 2);
    bench.write_control((1, 0, 0), MMU | HIGH_VECTORS);
    assert_eq!(bench.fetch(0xFFFF_0008), 3);
}

#[test]
fn all_128_process_numbers_have_their_slot() {
    let mut bench = Bench::new(&Config::default());
    for pid in 0..128 {
        bench.section(pid << 25, (pid % 8) << 20, STRONG);
    }
    for megabyte in 1..8 {
        bench.word(megabyte << 20, megabyte);
    }
    bench.start(MMU);
    for pid in 0..128 {
        switch(&mut bench, pid);
        let expected = pid % 8;
        assert_eq!(if expected == 0 { 0 } else { bench.load(0) }, expected);
        assert_eq!(bench.read_control((13, 0, 0)), pid << 25);
    }
}
