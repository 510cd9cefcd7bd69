//! How znodes split, where the commit writes, and what is read.
use super::{Bench, LEB_SIZE};
use crate::LebIndex;
use crate::format::index::{Branch, IndexNode};
use crate::format::key::Key;
use boardlab_ubi::Lebs;
use boardlab_vfs::Work;

/// The numbers of branches of all indexing nodes, as written.
fn counts(bench: &mut Bench) -> Vec<usize> {
    let mut places = Vec::new();
    let mut node = |branch: Branch| places.push(branch);
    bench.volume.walk_index(&mut bench.clock, &mut |_, _, _| Ok(()), &mut node).unwrap();
    let len = |branch: &Branch| (branch.len - 28) / 20;
    places.iter().map(|branch| usize::try_from(len(branch)).unwrap()).collect()
}

#[test]
fn appending_to_a_file_fills_znodes_and_other_keys_halve_them() {
    let mut bench = Bench::new(8, 100, 8);
    for block in 0..31 {
        bench.add(Key::data(2, block), 4);
    }
    // The root directory's inode and 7 blocks, then 8 each.
    assert_eq!(counts(&mut bench), [8, 8, 8, 8, 4]);
    let mut bench = Bench::new(8, 100, 8);
    for ino in 2..=32 {
        bench.add(Key::inode(ino), 4);
    }
    assert_eq!(counts(&mut bench), [4, 4, 4, 4, 4, 4, 8, 7]);
}

#[test]
fn a_node_of_another_file_does_not_split_a_run_of_data() {
    let mut bench = Bench::new(8, 100, 8);
    for block in 0..7 {
        bench.add(Key::data(3, block), 4);
    }
    bench.volume.tnc_remove(&mut bench.clock, super::ROOT).unwrap();
    bench.add(Key::data(9, 0), 4);
    // 7 blocks of one file and one of another: a new block of the first one keeps the run together.
    bench.add(Key::data(3, 7), 4);
    assert_eq!(counts(&mut bench), [8, 1, 2]);
}

#[test]
fn a_commit_writes_children_before_parents_and_pads_at_its_end() {
    let mut bench = Bench::new(8, 100, 512);
    for block in 0..31 {
        bench.add(Key::data(2, block), 4);
    }
    let before = (bench.volume.tnc.ihead_lnum, bench.volume.tnc.ihead_offs);
    let root = bench.commit();
    assert_eq!((root.lnum, root.offs, root.len), (before.0, before.1 + 4 * 192, 28 + 4 * 20));
    let end = before.1 + (4 * 192u32 + 112).next_multiple_of(512);
    assert_eq!((bench.volume.tnc.ihead_lnum, bench.volume.tnc.ihead_offs), (before.0, end));
    let mut first = vec![0; 188];
    bench.volume.lebs.read(&mut bench.clock, before.0, before.1, &mut first).unwrap();
    assert_eq!(IndexNode::parse(&first, 8).unwrap().branches.len(), 8);
    let lp = bench.volume.read_one_lp(&mut bench.clock, before.0).unwrap();
    assert_eq!(lp.free, LEB_SIZE - end);
    // The padding of both writes, and the first root.
    assert_eq!(lp.dirty, 512 - 48 + 48 + (end - before.1 - 4 * 192 - 112));
}

#[test]
fn an_index_that_outgrows_a_leb_continues_in_the_next_and_returns_the_full_one() {
    let mut bench = Bench::new(8, 400, 512);
    for ino in 2..=1_500 {
        bench.add(Key::inode(ino), 4);
    }
    let first = bench.volume.tnc.ihead_lnum;
    bench.commit();
    assert_ne!(bench.volume.tnc.ihead_lnum, first);
    let full = bench.volume.read_one_lp(&mut bench.clock, first).unwrap();
    assert!(full.is_index() && !full.is_taken() && full.free < 188, "{full:?}");
    bench.reopen();
    let (leaves, size) = bench.walk();
    assert_eq!((leaves.len(), size), (1_500, bench.volume.calc_idx_sz));
}

#[test]
fn an_entry_is_read_once_and_a_shrunken_cache_reads_it_again() {
    let mut bench = Bench::new(8, 100, 8);
    let key = Key::dirent(1, 77);
    bench.add_name(key, b"b", 5, 0);
    bench.add_name(key, b"a", 6, 0);
    bench.commit();
    bench.reopen();
    let sums = |bench: &Bench| bench.volume.host.work_total(Work::Crc).count;
    let look = |bench: &mut Bench, name: &[u8]| {
        bench.volume.tnc_lookup_name(&mut bench.clock, key, name).unwrap().map(|found| found.inum)
    };
    let before = sums(&bench);
    assert_eq!((look(&mut bench, b"a"), look(&mut bench, b"b")), (Some(6), Some(5)));
    assert_eq!(sums(&bench) - before, 3, "an indexing node and two entries");
    assert_eq!((look(&mut bench, b"b"), look(&mut bench, b"c")), (Some(5), None));
    assert_eq!(sums(&bench) - before, 3);
    assert!(bench.volume.leaf_cache_bytes() > 0);
    let now = bench.clock.now();
    assert_eq!(bench.volume.shrink_tnc(now, u64::MAX), 1);
    assert_eq!((bench.volume.znode_counts(), bench.volume.leaf_cache_bytes()), ((0, 0), 0));
    assert_eq!(look(&mut bench, b"a"), Some(6));
}

#[test]
fn a_bulk_read_ends_where_nodes_are_not_side_by_side() {
    let mut bench = Bench::new(8, 100, 8);
    for block in [0, 1, 2, 5, 6] {
        bench.add(Key::data(2, block), 64);
    }
    bench.add(Key::inode(7), 0);
    bench.add(Key::data(2, 8), 64);
    let mut bulk = bench.volume.tnc_get_bu_keys(&mut bench.clock, Key::data(2, 1)).unwrap();
    let blocks: Vec<u32> = bulk.branches.iter().map(|branch| branch.key.low()).collect();
    assert_eq!((blocks, bulk.block_count, bulk.eof), (vec![1, 2, 5, 6], 6, false));
    assert!(bench.volume.tnc_bulk_read(&mut bench.clock, &mut bulk).unwrap());
    assert_eq!(bulk.buffer.len(), 4 * 112);
    bench.volume.gc.gc_seq += 1;
    bench.volume.gc.gced_lnum = Some(bulk.branches[0].lnum);
    assert!(!bench.volume.tnc_bulk_read(&mut bench.clock, &mut bulk).unwrap());
    let last = bench.volume.tnc_get_bu_keys(&mut bench.clock, Key::data(2, 8)).unwrap();
    assert_eq!((last.block_count, last.eof), (1, true));
}

#[test]
fn an_indexing_node_is_found_by_its_first_key_until_its_znode_changes() {
    let mut bench = Bench::new(4, 100, 8);
    for ino in 2..=40 {
        bench.add(Key::inode(ino), 4);
    }
    bench.commit();
    let mut nodes = Vec::new();
    for leb in bench.volume.layout.main_first.0..100 {
        let scanned = bench.volume.scan(&mut bench.clock, LebIndex(leb), 0).unwrap();
        for node in scanned.nodes.iter().filter(|node| node.len == 28 + 4 * 20) {
            if let Ok(index) = bench.volume.scanned_index(&scanned, node) {
                nodes.push((index.branches[0].key, index.level, LebIndex(leb), node.offs));
            }
        }
    }
    assert!(!nodes.is_empty());
    for &(key, level, leb, offs) in &nodes {
        let (volume, clock) = (&mut bench.volume, &mut bench.clock);
        assert!(volume.tnc_has_node(clock, key, level, (leb, offs), true).unwrap());
        assert!(!volume.tnc_has_node(clock, key, level, (leb, offs + 8), true).unwrap());
    }
    for (key, level, leb, offs) in nodes {
        let (volume, clock) = (&mut bench.volume, &mut bench.clock);
        volume.dirty_idx_node(clock, key, level, leb, offs).unwrap();
        assert!(!volume.tnc_has_node(clock, key, level, (leb, offs), true).unwrap());
        volume.compare_tnc().unwrap();
    }
}

#[test]
fn a_large_index_takes_little_memory() {
    use crate::tnc::znode::{Zbranch, Znode};
    assert_eq!((size_of::<Zbranch>(), size_of::<Znode>()), (24, 16));
    let mut bench = Bench::new(8, 1_200, 8);
    for block in 0..100_000 {
        bench
            .volume
            .tnc_add(
                &mut bench.clock,
                Branch { lnum: LebIndex(20), offs: 0, len: 56, key: Key::data(2, block) },
            )
            .unwrap();
    }
    // Appending fills znodes: 12,501 + 1,563 + 196 + 25 + 4 + 1.
    let (dirty, clean) = bench.volume.znode_counts();
    assert_eq!((dirty, clean), (14_290, 0));
}
