//! The TLB: entries, replacement, lockdown and invalidation.

use boardlab_arm926::Config;
use boardlab_arm926::config::{TlbIndex, TlbReplacement};
use boardlab_arm926::memory::control::MMU;

use super::bench::{Bench, STRONG, TABLE};

const COARSE: u32 = 0x8000;

/// Small pages from 0x70000000 on, 256 of them, all mapped to 0x300000.
fn pages(config: &Config) -> Bench {
    let mut bench = Bench::new(config);
    bench.word(TABLE + 0x700 * 4, COARSE | 0b01);
    for page in 0..256 {
        bench.word(COARSE + page * 4, 0x0030_0FF2);
    }
    bench.start(MMU);
    bench
}

fn page(number: u32) -> u32 {
    0x7000_0000 + number * 0x1000
}

/// Whether a load at `at` causes a walk.
fn walks(bench: &mut Bench, at: u32) -> bool {
    let before = bench.counts();
    bench.load(at);
    let after = bench.counts();
    assert_eq!(after.tlb_lookups, before.tlb_lookups + 1);
    after.tlb_misses > before.tlb_misses
}

/// Whether the page is in the TLB, tested without refilling it: its descriptor is removed meanwhile.
fn holds(bench: &Bench, at: u32) -> bool {
    let mut copy = bench.clone();
    copy.word(TABLE + (at >> 20) * 4, 0);
    copy.try_load(at, boardlab_arm926::Width::Word, true).is_ok()
}

#[test]
fn a_translation_is_used_until_it_is_invalidated_even_if_the_table_says_otherwise() {
    let mut bench = pages(&Config::default());
    assert!(walks(&mut bench, page(0)));
    bench.word(TABLE + 0x700 * 4, 0);
    assert!(!walks(&mut bench, page(0)));
    bench.write_control((2, 0, 0), 0);
    assert!(!walks(&mut bench, page(0)), "a new table base does not flush");
    bench.write_control((8, 6, 1), page(0));
    assert!(!holds(&bench, page(0)));
}

#[test]
fn sixty_four_pages_in_sequence_stay() {
    let mut bench = pages(&Config::default());
    assert!((0..64).all(|number| walks(&mut bench, page(number))));
    assert!(!(0..64).any(|number| walks(&mut bench, page(number))));
}

#[test]
fn the_third_page_of_a_set_replaces_the_first_by_turn() {
    let mut bench = pages(&Config::default());
    for number in [5, 5 + 32, 5 + 64] {
        bench.load(page(number));
    }
    let held = |bench: &Bench| [5, 37, 69, 101].map(|number| holds(bench, page(number)));
    assert_eq!(held(&bench), [false, true, true, false]);
    bench.load(page(37));
    bench.load(page(101));
    assert_eq!(held(&bench), [false, false, true, true], "a hit does not save an entry");
    bench.load(page(5));
    assert_eq!(held(&bench), [true, false, false, true]);
}

#[test]
fn the_folded_index_spreads_pages_that_are_32_apart() {
    let mut bench = pages(&Config { tlb_index: TlbIndex::Folded, ..Config::default() });
    for number in [5, 5 + 32, 5 + 64, 5 + 96] {
        bench.load(page(number));
    }
    assert!([5, 37, 69, 101].into_iter().all(|number| holds(&bench, page(number))));
}

#[test]
fn the_same_page_of_three_fcse_slots_fits_only_with_the_folded_index() {
    for (tlb_index, fits) in [(TlbIndex::Low, false), (TlbIndex::Folded, true)] {
        let mut bench = Bench::new(&Config { tlb_index, ..Config::default() });
        let slots = [0, 1, 2].map(|slot| slot << 25 | 0x10_0000);
        for at in slots {
            bench.section(at, 0x10_0000, STRONG);
        }
        bench.start(MMU);
        for at in slots {
            bench.load(at);
        }
        assert_eq!(slots.into_iter().all(|at| holds(&bench, at)), fits);
    }
}

#[test]
fn pseudo_random_replacement_uses_both_ways_and_repeats_itself() {
    let config = Config { tlb_replacement: TlbReplacement::PseudoRandom, ..Config::default() };
    let run = || {
        let mut bench = pages(&config);
        let mut history = Vec::new();
        for step in 0..64 {
            bench.load(page(step % 3 * 32));
            history.push([0, 32, 64].map(|number| holds(&bench, page(number))));
        }
        history
    };
    let history = run();
    assert_eq!(history, run());
    let by_turn = (2..64).all(|step| !history[step][(step + 1) % 3]);
    assert!(!by_turn, "chance must once in a while keep the older entry");
    assert!(history[2..].iter().all(|held| held.iter().filter(|&&held| held).count() == 2));
}

#[test]
fn locked_entries_survive_all_but_an_invalidation_of_their_address() {
    let mut bench = pages(&Config::default());
    bench.write_control((10, 0, 0), 6 << 26 | 1);
    for number in 0..3 {
        bench.load(page(number));
    }
    assert_eq!(
        bench.read_control((10, 0, 0)),
        1 << 26 | 1,
        "the victim moved on, past the last one"
    );
    bench.write_control((10, 0, 0), 0);
    bench.load(page(3));
    for number in 0..3 {
        for conflict in 1..4 {
            bench.load(page(number + 32 * conflict));
        }
    }
    bench.write_control((8, 7, 0), 0);
    let held = |bench: &Bench| [0, 1, 2, 3].map(|number| holds(bench, page(number)));
    assert_eq!(held(&bench), [true, true, true, false]);
    bench.write_control((8, 5, 1), page(1));
    assert_eq!(held(&bench), [true, false, true, false]);
}

#[test]
fn a_locked_entry_is_overwritten_when_the_victim_comes_to_it_again() {
    let mut bench = pages(&Config::default());
    bench.write_control((10, 0, 0), 1);
    for number in 0..9 {
        bench.load(page(number));
    }
    let held: Vec<bool> = (0..9).map(|number| holds(&bench, page(number))).collect();
    assert_eq!(held, [vec![false], vec![true; 8]].concat());
}

#[test]
fn a_page_with_equal_permissions_is_one_entry_and_one_with_different_ones_comes_by_parts() {
    for (base, size) in [(0x0030_0001, 0x1_0000), (0x0030_0002, 0x1000)] {
        let mut bench = pages(&Config::default());
        for (permissions, walks_of_four) in [(0xFF0, 1), (0xFB0, 4)] {
            for entry in 0..16 {
                bench.word(COARSE + (32 + entry) * 4, base | permissions);
            }
            bench.write_control((8, 7, 0), 0);
            let before = bench.counts().tlb_misses;
            for part in 0..4 {
                bench.load(page(32) + part * size / 4);
            }
            assert_eq!(bench.counts().tlb_misses - before, walks_of_four);
        }
        bench.write_control((8, 7, 1), page(32) + size / 4);
        let parts: Vec<bool> =
            (0..4).map(|part| holds(&bench, page(32) + part * size / 4)).collect();
        assert_eq!(parts, [true, false, true, true], "four operations are due, one for each part");
    }
}

#[test]
fn an_invalidation_drops_the_entry_that_holds_the_address_whatever_its_size() {
    let mut bench = pages(&Config::default());
    bench.section(0x0120_0000, 0x30_0000, STRONG);
    bench.load(0x0120_0000);
    bench.load(page(9));
    bench.write_control((8, 7, 1), 0x012F_FFFF);
    assert_eq!((holds(&bench, 0x0120_0000), holds(&bench, page(9))), (false, true));
    bench.load(0x0120_0000);
    bench.write_control((8, 5, 0), 0);
    assert_eq!((holds(&bench, 0x0120_0000), holds(&bench, page(9))), (false, false));
}

#[test]
fn a_failed_walk_leaves_nothing_behind() {
    let mut bench = pages(&Config::default());
    bench.word(COARSE + 7 * 4, 0);
    assert!(bench.try_load(page(7), boardlab_arm926::Width::Word, true).is_err());
    bench.word(COARSE + 7 * 4, 0x0030_0FF2);
    assert!(walks(&mut bench, page(7)));
}
