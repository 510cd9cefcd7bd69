//! Commits into the gaps of index LEBs leave the index of the last commit intact.
use super::{Bench, LEB_SIZE};
use crate::LebIndex;
use crate::format::key::Key;

/// Commits `before`, moves the index head to another LEB, applies `change`, and commits into gaps of
/// the first LEB. The nodes of the last commit must all be there.
fn old_index_survives(before: &[u32], change: impl Fn(&mut Bench)) {
    let mut bench = Bench::new(3, 100, 8);
    for &ino in before {
        bench.add(Key::inode(ino), 4);
    }
    let first = bench.volume.tnc.ihead_lnum;
    bench.commit();
    // Only with little room there the commit needs LEBs. The way to the highest key is written again
    // and again; what is beside it stays.
    let room = |bench: &Bench| LEB_SIZE - bench.volume.tnc.ihead_offs;
    while bench.volume.tnc.ihead_lnum == first || room(&bench) > 600 {
        bench.add(Key::inode(u32::MAX), 4);
        bench.commit();
    }
    let root = bench.volume.tnc.zroot.branch();
    let head = (bench.volume.tnc.ihead_lnum, bench.volume.tnc.ihead_offs);
    let (leaves, _) = bench.walk();
    change(&mut bench);
    let (expected, _) = bench.walk();
    bench.volume.options.checks.index = true;
    bench.volume.cmt_no = 8;
    let used = nodes_in(&mut bench, first);
    bench.volume.tnc_start_commit(&mut bench.clock).unwrap();
    bench.volume.tnc_end_commit(&mut bench.clock).unwrap();
    assert_ne!(nodes_in(&mut bench, first), used, "no gap was filled");
    let mut old = bench.clone();
    old.open(&root, head);
    assert_eq!(old.walk().0, leaves);
    bench.reopen();
    let (found, size) = bench.walk();
    assert_eq!((found, size), (expected, bench.volume.calc_idx_sz));
}

/// The places and sequence numbers of nodes.
fn nodes_in(bench: &mut Bench, leb: LebIndex) -> Vec<(u32, u64)> {
    let scanned = bench.volume.scan(&mut bench.clock, leb, 0).unwrap();
    scanned.nodes.iter().map(|node| (node.offs, node.sqnum)).collect()
}

fn tens() -> Vec<u32> {
    (1..=40).map(|number| number * 10).collect()
}

fn remove(bench: &mut Bench, ino: u32) {
    bench.volume.tnc_remove(&mut bench.clock, Key::inode(ino)).unwrap();
}

#[test]
fn a_node_whose_znode_has_only_changed_survives() {
    old_index_survives(&tens(), |bench| {
        for ino in [100, 200, 300] {
            bench.add(Key::inode(ino), 4);
        }
    });
}

#[test]
fn a_node_whose_znode_got_a_lower_first_key_and_was_split_survives() {
    old_index_survives(&tens(), |bench| {
        for ino in tens() {
            remove(bench, ino);
            for lower in [4, 3, 2, 1] {
                bench.add(Key::inode(ino - lower), 4);
            }
        }
    });
}

#[test]
fn nodes_below_a_lower_first_key_survive() {
    let leaves: Vec<u32> = (1..=40).map(|number| 1_000 + number * 10).collect();
    old_index_survives(&leaves, |bench| {
        // Without the root directory, the first znode of each level gets lower keys.
        remove(bench, 1);
        for ino in (500..800).rev() {
            bench.add(Key::inode(ino), 4);
        }
    });
}

#[test]
fn nodes_of_removed_znodes_and_roots_survive() {
    old_index_survives(&tens(), |bench| {
        for ino in tens().into_iter().filter(|&ino| ino > 20) {
            remove(bench, ino);
        }
    });
}
