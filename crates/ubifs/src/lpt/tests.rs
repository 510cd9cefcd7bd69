//! The tree against a plain vector: random changes, commits, and reading it again from flash.

use super::geometry::Geometry;
use crate::format::superblock::Superblock;
use crate::format::{u32_of, usize_of};
use crate::lprops::{Lprops, flag};
use crate::lpt::categories::Category;
use crate::options::Options;
use crate::test_volume::{default_fs, unread};
use crate::{LebIndex, Volume};
use boardlab_sim::{Clock, Seed};
use boardlab_ubi::{RamLebs, Shape};

/// A volume with a new tree, ready to be written.
fn volume(leb_count: u32, leb_size: u32) -> (Clock, Volume<RamLebs>) {
    let shape = Shape { leb_count, leb_size, leb_start: 0, min_io: 512, max_write: 512 };
    let (mut clock, mut volume) = (Clock::new(), unread(RamLebs::new(shape), Options::default()));
    volume.mode.empty = true;
    volume.read_superblock(&mut clock).unwrap();
    volume.init_constants_sb().unwrap();
    volume.alloc_wbufs();
    volume.read_master(&mut clock).unwrap();
    volume.lpt_init(&mut clock, true, true).unwrap();
    volume.mode.mounting = false;
    (clock, volume)
}

/// All properties, read one by one.
fn all(volume: &mut Volume<RamLebs>, clock: &mut Clock) -> Vec<Lprops> {
    let first = volume.layout.main_first.0;
    let lebs = (first..volume.layout.leb_count).map(LebIndex).collect::<Vec<_>>();
    lebs.into_iter().map(|leb| volume.lpt_lookup(clock, leb).unwrap()).collect()
}

fn commit(volume: &mut Volume<RamLebs>, clock: &mut Clock) {
    volume.lpt_start_commit(clock).unwrap();
    volume.lpt_end_commit(clock).unwrap();
    volume.lpt_post_commit(clock).unwrap();
    assert_eq!(volume.compare_lists(), Ok(()));
}

/// The same volume as after a mount of what is on flash.
fn reopened(old: &Volume<RamLebs>, clock: &mut Clock) -> Volume<RamLebs> {
    let mut new = unread(old.lebs.clone(), Options::default());
    new.read_superblock(clock).unwrap();
    new.init_constants_sb().unwrap();
    let mut master = old.master.clone();
    old.lpt.store_in_master(&mut master);
    new.lpt.load_master(&master);
    new.lpt_init(clock, true, true).unwrap();
    new
}

/// Changes the properties of random LEBs, commits after some, and compares after each commit.
fn compare_with_a_vector(leb_count: u32, leb_size: u32, big: bool, rounds: u32) {
    let (mut clock, mut volume) = volume(leb_count, leb_size);
    assert_eq!(volume.sb.flags & Superblock::BIGLPT != 0, big);
    let mut model = all(&mut volume, &mut clock);
    let mut stream = Seed::new(u64::from(leb_count)).stream("lpt");
    for round in 0..rounds {
        for _ in 0..stream.below(40) {
            let at =
                usize_of(u32::try_from(stream.below(u64::from(volume.layout.main_lebs))).unwrap());
            let units = |stream: &mut boardlab_sim::Stream, most: u32, unit: u32| {
                u32::try_from(stream.below(u64::from(most / unit) + 1)).unwrap() * unit
            };
            let free = units(&mut stream, leb_size, 512);
            let dirty = units(&mut stream, leb_size - free, 8);
            let index = free < leb_size && stream.below(3) == 0;
            let flags = if index { flag::INDEX } else { 0 };
            let lp = model[at];
            let lp = volume.change_lp(&mut clock, lp, Some(free), Some(dirty), flags).unwrap();
            model[at] = lp;
        }
        assert_eq!(volume.compare_lists(), Ok(()));
        commit(&mut volume, &mut clock);
        if round % 7 == 0 {
            volume = reopened(&volume, &mut clock);
        }
        if round % 20 == 0 {
            assert_eq!(all(&mut reopened(&volume, &mut clock), &mut clock), model, "{round}");
        }
    }
    assert_eq!(all(&mut volume, &mut clock), model);
}

#[test]
fn a_small_tree_is_read_as_it_was_written() {
    compare_with_a_vector(60, 15_872, false, 300);
}

#[test]
fn a_small_tree_of_many_lebs_is_read_as_it_was_written() {
    compare_with_a_vector(2_000, 126_976, false, 200);
}

#[test]
fn a_large_tree_whose_area_is_cleaned_is_read_as_it_was_written() {
    compare_with_a_vector(6_000, 15_872, true, 400);
}

#[test]
fn the_totals_are_those_of_all_lebs() {
    let (mut clock, mut volume) = volume(60, 15_872);
    let before = volume.lst;
    let lp = all(&mut volume, &mut clock)[5];
    let taken = lp.flags | flag::TAKEN;
    let lp = volume.change_lp(&mut clock, lp, None, None, taken).unwrap();
    assert_eq!(volume.lst.taken_empty_lebs, before.taken_empty_lebs + 1);
    let lp = volume.change_lp(&mut clock, lp, Some(15_360), Some(9), flag::TAKEN).unwrap();
    assert_eq!((lp.free, lp.dirty), (15_360, 16));
    assert_eq!(volume.lst.empty_lebs, before.empty_lebs - 1);
    assert_eq!(volume.lst.total_used, before.total_used + 512 - 16);
    volume.change_lp(&mut clock, lp, Some(15_872), Some(0), 0).unwrap();
    assert_eq!(volume.lst, before);
}

#[test]
fn a_scan_finds_what_is_not_in_memory_and_keeps_only_that() {
    let (mut clock, mut volume) = volume(2_000, 126_976);
    let lp = all(&mut volume, &mut clock)[1_203];
    volume.change_lp(&mut clock, lp, Some(0), Some(4_096), 0).unwrap();
    commit(&mut volume, &mut clock);
    let mut again = reopened(&volume, &mut clock);
    assert_eq!(again.lpt_node_counts(), (0, 0));
    let found = again
        .lpt_scan(&mut clock, None, LebIndex(again.layout.main_first.0), &mut |_, lp, in_memory| {
            assert!(!in_memory);
            if lp.dirty == 4_096 { super::ScanStep::Stop } else { super::ScanStep::Continue }
        })
        .unwrap();
    assert_eq!(found.map(|lp| lp.leb), Some(lp.leb));
    assert_eq!(again.lpt_node_counts().0, 1);
}

#[test]
fn heaps_and_lists_give_the_best_leb_first() {
    let (mut clock, mut volume) = volume(2_000, 126_976);
    let lebs = all(&mut volume, &mut clock);
    for (at, lp) in lebs.iter().enumerate().skip(10).take(700) {
        let free = u32_of(at * 37 % 200) * 512;
        volume.change_lp(&mut clock, *lp, Some(free), Some(8), 0).unwrap();
        assert_eq!(volume.compare_lists(), Ok(()), "{at}");
    }
    assert_eq!(volume.heap(Category::Free).len(), 256);
    // The LEB with the root directory has most.
    let most = volume.fast_find_free().unwrap();
    assert_eq!(most.free, 126_976 - 512);
    let (leb, offs, free) = volume.find_free_space(&mut clock, 4_096, true).unwrap().unwrap();
    assert_eq!((leb, offs, free), (most.leb, 512, 126_976 - 512));
    let taken = volume.read_one_lp(&mut clock, leb).unwrap();
    assert!(taken.is_taken());
    volume.return_leb(&mut clock, leb).unwrap();
    assert_eq!(volume.compare_lists(), Ok(()));
}

#[test]
fn a_changed_byte_of_the_tree_is_an_error_with_its_place() {
    let (mut clock, mut fresh) = volume(60, 15_872);
    fresh.lpt.nnodes.clear();
    let (leb, root) = (fresh.lpt.lpt_lnum, fresh.lpt.lpt_offs);
    for at in 0..root + fresh.lpt.nnode_sz {
        let mut bytes = fresh.lebs.content(leb).unwrap().to_vec();
        bytes[usize_of(at)] ^= 0x10;
        let mut damaged = reopened(&fresh, &mut clock);
        boardlab_ubi::Lebs::change(&mut damaged.lebs, &mut clock, leb, &bytes).unwrap();
        let lebs = (damaged.layout.main_first.0..damaged.layout.leb_count).map(LebIndex);
        let refused = lebs.filter(|&one| damaged.lpt_lookup(&mut clock, one).is_err()).count();
        assert!(refused > 0, "byte {at}");
    }
}

#[test]
fn an_inner_node_with_a_leaf_beyond_the_last_is_damaged() {
    let (_, volume) = volume(60, 15_872);
    let (lpt, layout) = (&volume.lpt, &volume.layout);
    let last = lpt.pnode_count - 1;
    assert_eq!((lpt.height, last % 4), (2, 0));
    let number = lpt.child_number((1, 2), last / 4);
    let place = Some((layout.lpt_first, 0));
    for (places, is_whole) in
        [([place, None, None, None], true), ([place, place, None, None], false)]
    {
        let bytes = lpt.pack_nnode(layout, number, &places);
        let found = lpt.unpack_nnode(layout, &bytes, (number, 1));
        assert_eq!(found, is_whole.then_some(places));
    }
}

#[test]
fn a_default_filesystem_counts_its_own_lebs() {
    let (mut clock, mut volume) = default_fs();
    volume.lpt_init(&mut clock, true, true).unwrap();
    let lebs = all(&mut volume, &mut clock);
    assert!(lebs[0].is_index() && !lebs[1].is_index());
    assert!(lebs[2..].iter().all(|lp| lp.free == volume.layout.leb_size));
    let free: i64 = lebs.iter().map(|lp| i64::from(lp.free)).sum();
    assert_eq!(volume.lst.total_free, free);
    assert_eq!(volume.lpt.geometry, Geometry::of(&volume.lpt_inputs()));
}
