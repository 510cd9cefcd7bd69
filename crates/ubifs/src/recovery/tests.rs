//! Recovery of LEBs with torn ends.

use super::*;
use crate::format::inode::InodeNode;
use crate::format::key::Key;
use crate::format::master::Master;
use crate::layout::{Layout, MASTER_LEB};
use crate::options::Options;
use crate::wbuf::BASE_HEAD;
use boardlab_ubi::lebs::Shape;
use boardlab_ubi::{Lebs as _, RamLebs};

const MIN_IO: usize = 512;
const SECOND: LebIndex = LebIndex(MASTER_LEB.0 + 1);

/// A volume of which only the early constants are known.
fn volume() -> (Volume<RamLebs>, Clock) {
    let shape =
        Shape { leb_count: 40, leb_size: 15_872, leb_start: 512, min_io: 512, max_write: 512 };
    let mut layout = Layout::early(&shape).unwrap();
    layout.jhead_count = 3;
    let mut volume = Volume::new(RamLebs::new(shape), layout, Options::default());
    volume.alloc_wbufs();
    (volume, Clock::new())
}

/// The bytes of master nodes with these commit numbers.
fn masters(volume: &mut Volume<RamLebs>, clock: &mut Clock, numbers: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &cmt_no in numbers {
        let mut node = Master { cmt_no, ..Master::default() }.emit();
        volume.prepare_node(clock, &mut node, true);
        bytes.extend_from_slice(&node);
    }
    bytes
}

/// Recovers two master LEBs; the commit number chosen.
fn recovered(first: &[u8], second: &[u8]) -> Option<u64> {
    let (mut volume, mut clock) = volume();
    for (leb, bytes) in [(MASTER_LEB, first), (SECOND, second)] {
        if !bytes.is_empty() {
            volume.lebs.change(&mut clock, leb, bytes).unwrap();
        }
    }
    volume.recover_master(&mut clock).ok()?;
    for leb in [MASTER_LEB, SECOND] {
        let written = Master::parse(volume.lebs.content(leb).unwrap()).unwrap();
        assert_eq!(written.cmt_no, volume.master.cmt_no);
        assert_ne!(written.flags & Master::RECOVERY, 0);
    }
    Some(volume.master.cmt_no)
}

/// Bytes of whose last write unit only the beginning was written.
fn torn(bytes: &[u8]) -> Vec<u8> {
    torn_after(bytes, 64)
}

fn torn_after(bytes: &[u8], written: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let end = bytes.len() - MIN_IO + written;
    bytes[end..].fill(0xFF);
    bytes
}

#[test]
fn the_master_node_of_the_first_leb_counts_when_the_second_was_not_written() {
    let (mut volume, mut clock) = volume();
    let one = masters(&mut volume, &mut clock, &[7, 8]);
    assert_eq!(recovered(&one, &one[..MIN_IO]), Some(8));
    assert_eq!(recovered(&one, &torn(&one)), Some(8));
}

#[test]
fn a_master_node_torn_in_the_first_leb_gives_way_to_the_one_before() {
    let (mut volume, mut clock) = volume();
    let one = masters(&mut volume, &mut clock, &[7, 8]);
    assert_eq!(recovered(&torn(&one), &one[..MIN_IO]), Some(7));
}

#[test]
fn an_empty_first_master_leb_is_accepted_only_when_the_second_is_full() {
    let (mut volume, mut clock) = volume();
    let numbers: Vec<u64> = (1..=31).collect();
    let full = masters(&mut volume, &mut clock, &numbers);
    assert_eq!(recovered(&[], &full), Some(31));
    assert_eq!(recovered(&[], &full[..5 * MIN_IO]), None);
    // The first one was written again, the second one was not.
    assert_eq!(recovered(&full[..MIN_IO], &full), Some(1));
    assert_eq!(recovered(&full[..MIN_IO], &[]), Some(1));
}

#[test]
fn damage_of_master_nodes_that_no_power_cut_leaves_is_refused() {
    let (mut volume, mut clock) = volume();
    let one = masters(&mut volume, &mut clock, &[7, 8, 9]);
    let other = masters(&mut volume, &mut clock, &[17, 18, 19]);
    assert_eq!(recovered(&one, &other), None);
    assert_eq!(recovered(&one, &one[..MIN_IO]), None);
    let mut twice = one.clone();
    (twice[MIN_IO + 100], twice[2 * MIN_IO + 100]) = (1, 1);
    assert_eq!(recovered(&twice, &one), None);
    assert_eq!(recovered(&[], &[]), None);
}

/// The bytes of inode nodes in one group of `group` nodes each, padded.
fn groups(volume: &mut Volume<RamLebs>, clock: &mut Clock, groups: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut ino = 64;
    for &count in groups {
        for number in 0..count {
            let mut node = inode(ino).emit();
            volume.prepare_group_node(clock, &mut node, number == count - 1);
            bytes.extend_from_slice(&node);
            ino += 1;
        }
    }
    let end = bytes.len();
    bytes.resize(end.next_multiple_of(MIN_IO), 0);
    volume.pad(clock, &mut bytes[end..]);
    bytes
}

fn inode(ino: u32) -> InodeNode {
    InodeNode { nlink: 1, mode: 0o100_644, ..InodeNode::zeroed(Key::inode(ino)) }
}

/// Recovers a LEB with these bytes; its inodes and its end.
fn recovered_leb(bytes: &[u8], head: Option<usize>) -> Option<(Vec<u32>, u32)> {
    let ((mut volume, mut clock), leb) = (volume(), LebIndex(20));
    volume.lebs.change(&mut clock, leb, bytes).unwrap();
    let scanned = volume.recover_leb(&mut clock, leb, 0, head).ok()?;
    let again = volume.scan(&mut clock, leb, 0).unwrap();
    let inos = |scanned: &crate::scan::ScannedLeb| -> Vec<u32> {
        scanned.nodes.iter().map(|node| node.key.ino()).collect()
    };
    assert_eq!((inos(&scanned), scanned.endpt), (inos(&again), again.endpt));
    Some((inos(&scanned), scanned.endpt))
}

#[test]
fn an_incomplete_group_is_dropped_from_a_bud() {
    let (mut volume, mut clock) = volume();
    // Nodes of 160 bytes: the third group begins in the second write unit and ends in the third.
    let whole = groups(&mut volume, &mut clock, &[2, 2, 3]);
    assert_eq!(recovered_leb(&whole, Some(BASE_HEAD)).unwrap().0.len(), 7);
    let cut = &whole[..2 * MIN_IO];
    assert_eq!(recovered_leb(cut, Some(BASE_HEAD)).unwrap().0, [64, 65, 66, 67]);
    let damaged = torn(&whole);
    assert_eq!(recovered_leb(&damaged, Some(BASE_HEAD)).unwrap().0, [64, 65, 66, 67]);
    // The nodes of garbage collection are not grouped, but its last write unit goes as a whole.
    let single = groups(&mut volume, &mut clock, &[1, 1, 1, 1, 1, 1]);
    let cut = torn_after(&single, 200);
    let (inos, end) = recovered_leb(&cut, Some(GC_HEAD)).unwrap();
    assert_eq!((inos, end), (vec![64, 65, 66], 512));
}

#[test]
fn damage_in_the_middle_of_a_bud_is_refused() {
    let (mut volume, mut clock) = volume();
    let mut bytes = groups(&mut volume, &mut clock, &[2, 2, 2, 2, 2, 2]);
    bytes[700] ^= 1;
    assert_eq!(recovered_leb(&bytes, Some(BASE_HEAD)), None);
    bytes[700] ^= 1;
    assert!(recovered_leb(&bytes, Some(BASE_HEAD)).is_some());
}

#[test]
fn a_read_only_mount_notes_the_leb_and_writes_nothing() {
    let ((mut volume, mut clock), leb) = (volume(), LebIndex(20));
    let bytes = torn(&groups(&mut volume, &mut clock, &[2, 2]));
    volume.lebs.change(&mut clock, leb, &bytes).unwrap();
    volume.mode.read_only = true;
    volume.recover_leb(&mut clock, leb, 0, Some(BASE_HEAD)).unwrap();
    assert_eq!(volume.lebs.content(leb).unwrap(), bytes);
    assert_eq!(volume.recovery.unclean, [(leb, 320)]);
    volume.mode.read_only = false;
    volume.clean_lebs(&mut clock).unwrap();
    assert_eq!(volume.scan(&mut clock, leb, 0).unwrap().nodes.len(), 2);
}
