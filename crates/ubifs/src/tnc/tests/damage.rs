//! An index that is damaged on flash ends every operation with an error.
use super::{Bench, ROOT, entry_node, leaf_node};
use crate::error::Problem;
use crate::format::index::{Branch, IndexNode};
use crate::format::key::Key;
use crate::format::u32_of;
use crate::{Error, LebIndex, Volume};
use boardlab_sim::Clock;
use boardlab_ubi::RamLebs;

/// Writes an indexing node and makes it the root.
fn plant(bench: &mut Bench, level: u16, branches: Vec<Branch>) -> Branch {
    let node = IndexNode { level, branches }.emit();
    let key = Key::LOWEST;
    let mut place = bench.write_leaf(key, node.clone());
    place.len = u32_of(node.len());
    bench.open(&place, (LebIndex(20), 0));
    place
}

fn walk(bench: &mut Bench) -> Result<(), Error> {
    let mut leaf = |_: &mut Volume<RamLebs>, _: &mut Clock, _: Branch| Ok(());
    bench.volume.walk_index(&mut bench.clock, &mut leaf, &mut |_| {})
}

fn broken(place: &Branch) -> Result<(), Error> {
    Err(Error::at(place.lnum, place.offs, Problem::Index))
}

#[test]
fn levels_that_do_not_descend_are_refused() {
    let mut bench = Bench::new(8, 100, 8);
    let leaf = bench.write_leaf(ROOT, leaf_node(ROOT, 0));
    let child = plant(&mut bench, 0, vec![leaf]);
    plant(&mut bench, 2, vec![Branch { key: ROOT, ..child }]);
    assert_eq!(walk(&mut bench), broken(&child));
    plant(&mut bench, 1, vec![Branch { key: ROOT, ..child }]);
    assert_eq!(walk(&mut bench), Ok(()));
}

#[test]
fn keys_that_do_not_ascend_or_leave_the_range_of_the_parent_are_refused() {
    let mut bench = Bench::new(8, 100, 8);
    let at = |bench: &mut Bench, key| bench.write_leaf(key, leaf_node(key, 0));
    let (low, high) = (at(&mut bench, Key::inode(4)), at(&mut bench, Key::inode(9)));
    let root = plant(&mut bench, 0, vec![high, low]);
    assert_eq!(walk(&mut bench), broken(&root));
    let root = plant(&mut bench, 0, vec![low, low]);
    assert_eq!(walk(&mut bench), broken(&root));
    let child = plant(&mut bench, 0, vec![low, high]);
    plant(&mut bench, 1, vec![Branch { key: Key::inode(5), ..child }]);
    assert_eq!(walk(&mut bench), broken(&child));
    let next = Branch { key: Key::inode(8), ..child };
    plant(&mut bench, 1, vec![Branch { key: Key::inode(4), ..child }, next]);
    assert_eq!(walk(&mut bench), broken(&child));
}

#[test]
fn branches_to_impossible_places_are_refused_with_the_node() {
    let mut bench = Bench::new(8, 100, 8);
    let leaf = bench.write_leaf(ROOT, leaf_node(ROOT, 0));
    let wrong = |change: fn(&mut Branch)| {
        let mut branch = leaf;
        change(&mut branch);
        branch
    };
    let places: [fn(&mut Branch); 4] = [
        |branch| branch.lnum = LebIndex(1),
        |branch| branch.lnum = LebIndex(100),
        |branch| branch.offs = u32::MAX - 7,
        |branch| branch.offs += 4,
    ];
    for change in places {
        let root = plant(&mut bench, 0, vec![wrong(change)]);
        assert_eq!(walk(&mut bench), Err(Error::at(root.lnum, root.offs, Problem::Area)));
    }
    let others: [fn(&mut Branch); 2] =
        [|branch| branch.len = 24, |branch| branch.key = Key::truncation(3)];
    for change in others {
        let root = plant(&mut bench, 0, vec![wrong(change)]);
        assert_eq!(walk(&mut bench), broken(&root));
    }
}

#[test]
fn an_index_that_leads_to_the_same_nodes_again_and_again_does_not_hang() {
    let mut bench = Bench::new(8, 100, 8);
    bench.volume.layout.main_bytes = 1 << 50;
    let key = Key::dirent(1, 50);
    let leaf = bench.write_leaf(key, entry_node(key, b"x", 2, 0));
    let mut pair = [plant(&mut bench, 0, vec![leaf; 8]), plant(&mut bench, 0, vec![leaf; 7])];
    for level in 1..40 {
        let [first, second] = pair.map(|place| Branch { key, ..place });
        let crossed = [vec![first, second], vec![second, first]];
        pair = crossed.map(|branches| plant(&mut bench, level, branches));
    }
    let error = walk(&mut bench).unwrap_err();
    assert!(matches!(error, Error::Corrupted { problem: Problem::Index, .. }), "{error}");
    assert!(bench.volume.znode_counts().1 < 200);
}

#[test]
fn a_listing_of_entries_in_the_wrong_order_ends() {
    let mut bench = Bench::new(8, 100, 8);
    let key = Key::dirent(1, 50);
    let names: [&[u8]; 3] = [b"b", b"c", b"a"];
    let entries = names.map(|name| bench.write_leaf(key, entry_node(key, name, 2, 0)));
    plant(&mut bench, 0, entries.to_vec());
    let (mut from, mut name) = (Key::dirent(1, 0), None);
    let result = loop {
        match bench.volume.tnc_next_entry(&mut bench.clock, from, name.as_deref()) {
            Ok(Some(entry)) => (from, name) = (entry.key, Some(entry.name)),
            other => break other,
        }
    };
    assert!(result.is_err());
}

#[test]
fn removing_the_last_key_is_an_error() {
    let mut bench = Bench::new(8, 100, 8);
    let (low, high) = (Key::lowest_of(0), Key::highest_of(u32::MAX));
    let result = bench.volume.tnc_remove_range(&mut bench.clock, low, high);
    assert!(result.is_err());
    bench.volume.compare_tnc().unwrap();
}

#[test]
fn a_leaf_node_of_another_key_is_refused() {
    let mut bench = Bench::new(8, 100, 8);
    let leaf = bench.write_leaf(Key::inode(4), leaf_node(Key::inode(4), 0));
    plant(&mut bench, 0, vec![Branch { key: Key::inode(5), ..leaf }]);
    let result = bench.volume.tnc_lookup(&mut bench.clock, Key::inode(5));
    assert_eq!(result, Err(Error::at(leaf.lnum, leaf.offs, Problem::WrongKey)));
}

#[test]
fn a_replay_works_around_entries_that_are_missing_on_flash() {
    let mut bench = Bench::new(8, 100, 8);
    let key = Key::dirent(1, 50);
    bench.volume.mode.replaying = true;
    let mut dangling = bench.write_leaf(key, entry_node(key, b"old", 2, 0));
    // The place holds something else by now.
    dangling.offs += 8;
    bench.volume.tnc_add(&mut bench.clock, dangling).unwrap();
    let new = bench.add_name(key, b"new", 3, 0);
    let (leaves, _) = bench.walk();
    assert_eq!(leaves[1..], [new], "the dangling branch is gone");
    bench.volume.tnc_remove_name(&mut bench.clock, key, b"new").unwrap();
    assert_eq!(bench.walk().0.len(), 1);
}
