//! The index of an image that `mkfs.ubifs` has made.
use crate::format::dirent::Dirent;
use crate::format::index::Branch;
use crate::format::inode::InodeNode;
use crate::format::key::{Key, KeyType, r5};
use crate::test_volume::from_mkfs;
use crate::{Error, Volume};
use boardlab_sim::{Clock, Seed};
use boardlab_ubi::{Lebs, RamLebs};
use std::collections::BTreeSet;

/// All branches to leaf nodes.
fn leaves(clock: &mut Clock, volume: &mut Volume<RamLebs>) -> (Vec<Branch>, u64) {
    let (mut leaves, mut size) = (Vec::new(), 0);
    let mut leaf = |_: &mut Volume<RamLebs>, _: &mut Clock, branch: Branch| {
        leaves.push(branch);
        Ok(())
    };
    let mut node = |branch: Branch| size += u64::from(branch.len.next_multiple_of(8));
    volume.walk_index(clock, &mut leaf, &mut node).unwrap();
    (leaves, size)
}

#[test]
fn the_index_of_mkfs_leads_to_nodes_with_the_keys_that_it_says() {
    let (mut clock, mut volume) = from_mkfs();
    let (found, size) = leaves(&mut clock, &mut volume);
    assert_eq!(size, volume.master.index_size);
    assert!(found.windows(2).all(|pair| pair[0].key <= pair[1].key));
    let inodes = found.iter().filter(|branch| branch.key.kind() == Some(KeyType::Inode));
    let inodes: BTreeSet<u64> = inodes.map(|branch| u64::from(branch.key.ino())).collect();
    let mut named = BTreeSet::from([1]);
    for branch in &found {
        let node = volume.tnc_read_node(&mut clock, *branch).unwrap();
        if branch.key.kind() == Some(KeyType::Dirent) {
            named.insert(Dirent::parse(&node).unwrap().inum);
        }
    }
    assert_eq!((&inodes, inodes.len()), (&named, 28), "20 files and 8 others");
    volume.options.checks.index = true;
    volume.check_tnc(&mut clock, true).unwrap();
    volume.compare_tnc().unwrap();
}

#[test]
fn each_entry_of_mkfs_is_found_by_its_name_and_in_the_listing_of_its_directory() {
    let (mut clock, mut volume) = from_mkfs();
    let (found, _) = leaves(&mut clock, &mut volume);
    for branch in found.iter().filter(|branch| branch.key.kind() == Some(KeyType::Dirent)) {
        let entry = Dirent::parse(&volume.tnc_read_node(&mut clock, *branch).unwrap()).unwrap();
        let key = Key::dirent(branch.key.ino(), r5(&entry.name));
        let by_name = volume.tnc_lookup_name(&mut clock, key, &entry.name).unwrap();
        assert_eq!(by_name, Some(entry.clone()));
        let inode = Key::inode(u32::try_from(entry.inum).unwrap());
        let inode = volume.tnc_lookup(&mut clock, inode).unwrap().unwrap();
        assert!(InodeNode::parse(&inode).unwrap().nlink > 0);
    }
    let directories: Vec<u32> = found.iter().map(|branch| branch.key.ino()).collect();
    for directory in directories {
        let (mut key, mut name, mut count) = (Key::dirent(directory, 0), None, 0);
        while let Some(entry) = volume.tnc_next_entry(&mut clock, key, name.as_deref()).unwrap() {
            count += 1;
            (key, name) = (entry.key, Some(entry.name));
        }
        let of_directory = |branch: &&Branch| {
            branch.key.ino() == directory && branch.key.kind() == Some(KeyType::Dirent)
        };
        assert_eq!(count, found.iter().filter(of_directory).count());
    }
}

#[test]
fn an_indexing_node_with_any_byte_changed_ends_in_an_error_or_reads_as_before() {
    let (mut clock, volume) = from_mkfs();
    let root = volume.tnc.zroot.branch();
    let content = volume.lebs.content(root.lnum).unwrap().to_vec();
    let (expected, _) = leaves(&mut clock, &mut volume.clone());
    let start = usize::try_from(root.offs).unwrap();
    let end = start + usize::try_from(root.len).unwrap();
    for byte in start..end {
        let mut changed = volume.clone();
        let mut content = content.clone();
        content[byte] ^= 0x41;
        let missing = content.len().next_multiple_of(512) - content.len();
        content.extend(vec![0xFF; missing]);
        changed.lebs.change(&mut clock, root.lnum, &content).unwrap();
        let mut found = Vec::new();
        let mut leaf = |_: &mut Volume<RamLebs>, _: &mut Clock, branch: Branch| {
            found.push(branch);
            Ok::<(), Error>(())
        };
        if changed.walk_index(&mut clock, &mut leaf, &mut |_| {}).is_ok() {
            assert_eq!(found, expected, "byte {byte}");
        }
    }
}

/// All that reads or changes the index, each on a copy; errors are expected, panics are not.
fn use_index(clock: &mut Clock, volume: &Volume<RamLebs>) {
    let mut walked = volume.clone();
    let mut branches = Vec::new();
    let mut leaf = |_: &mut Volume<RamLebs>, _: &mut Clock, branch: Branch| {
        branches.push(branch);
        Ok::<(), Error>(())
    };
    drop(walked.walk_index(clock, &mut leaf, &mut |_| {}));
    for branch in branches {
        drop(walked.tnc_lookup(clock, branch.key));
        let (mut key, mut name) = (Key::dirent(branch.key.ino(), 0), None);
        while let Ok(Some(entry)) = walked.tnc_next_entry(clock, key, name.as_deref()) {
            (key, name) = (entry.key, Some(entry.name));
        }
        drop(walked.tnc_get_bu_keys(clock, Key::data(branch.key.ino(), 0)));
        let place = (branch.lnum, branch.offs);
        drop(walked.tnc_has_node(clock, branch.key, 0, place, false));
        drop(walked.dirty_idx_node(clock, branch.key, 0, branch.lnum, branch.offs));
    }
    let mut replayed = volume.clone();
    replayed.mode.replaying = true;
    for ino in 2..70 {
        let key = Key::dirent(1, ino);
        let branch = Branch { lnum: replayed.tnc.ihead_lnum, offs: 0, len: 58, key };
        drop(replayed.tnc_add_name(clock, branch, b"x"));
        drop(replayed.tnc_remove_ino(clock, ino));
    }
    let mut removed = volume.clone();
    drop(removed.tnc_remove_range(clock, Key::lowest_of(2), Key::highest_of(u32::MAX)));
    drop(removed.tnc_remove_range(clock, Key::lowest_of(0), Key::highest_of(u32::MAX)));
}

#[test]
fn indexing_nodes_with_changed_bytes_and_right_checksums_end_in_errors() {
    let (mut clock, mut volume) = from_mkfs();
    volume.lpt_init(&mut clock, true, true).unwrap();
    let mut places = Vec::new();
    volume.clone().walk_index(&mut clock, &mut |_, _, _| Ok(()), &mut |b| places.push(b)).unwrap();
    let mut random = Seed::new(1).stream("damage");
    let mut below =
        |bound: usize| usize::try_from(random.below(u64::try_from(bound).unwrap())).unwrap();
    for _ in 0..400 {
        let mut changed = volume.clone();
        for _ in 0..1 + below(2) {
            let place = places[below(places.len())];
            let mut content = vec![0; usize::try_from(volume.layout.leb_size).unwrap()];
            changed.lebs.read(&mut clock, place.lnum, 0, &mut content).unwrap();
            let start = usize::try_from(place.offs).unwrap();
            let node = &mut content[start..start + usize::try_from(place.len).unwrap()];
            let byte = 24 + below(node.len() - 24);
            node[byte] = match below(3) {
                0 => node[byte] ^ 1 << below(8),
                1 => u8::try_from(below(256)).unwrap(),
                _ => node[24 + below(node.len() - 24)],
            };
            crate::format::seal(node);
            changed.lebs.change(&mut clock, place.lnum, &content).unwrap();
        }
        use_index(&mut clock, &changed);
    }
}
