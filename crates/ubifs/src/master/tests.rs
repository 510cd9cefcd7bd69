//! Master nodes that are read, written and refused.

use super::*;
use crate::format::tests::{MASTER, node};
use crate::format::{Group, Header, seal};
use crate::test_volume::{default_fs, from_mkfs};
use boardlab_ubi::RamLebs;

/// Replaces both copies of the master node.
fn replace(volume: &mut Volume<RamLebs>, clock: &mut Clock, master: &Master, sqnum: u64) {
    let mut bytes = master.emit();
    Header::fill(&mut bytes, sqnum, Group::None);
    seal(&mut bytes);
    for leb in [1, 2] {
        volume.lebs.change(clock, LebIndex(leb), &bytes).unwrap();
    }
}

#[test]
fn a_master_node_is_written_behind_the_last_one_in_both_lebs() {
    let (mut clock, mut volume) = from_mkfs();
    volume.highest_inum = 1_234;
    let sqnum = volume.max_sqnum;
    volume.write_master(&mut clock).unwrap();
    assert_eq!((volume.master_offs, volume.max_sqnum), (512, sqnum + 2));
    let master = volume.master.clone();
    volume.read_master(&mut clock).unwrap();
    assert_eq!(volume.master, master);
    assert_eq!((volume.highest_inum, volume.max_sqnum), (1_234, sqnum + 1), "that of LEB 1");
}

#[test]
fn a_full_master_leb_is_begun_anew() {
    let (mut clock, mut volume) = default_fs();
    let nodes = 15_872 / 512;
    for _ in 1..nodes {
        volume.write_master(&mut clock).unwrap();
    }
    assert_eq!(volume.master_offs, 15_872 - 512);
    volume.write_master(&mut clock).unwrap();
    assert_eq!(volume.master_offs, 0);
    for leb in [1, 2] {
        assert_eq!(volume.lebs.content(LebIndex(leb)).unwrap().len(), 512);
    }
    volume.read_master(&mut clock).unwrap();
}

#[test]
fn every_value_that_cannot_be_is_named() {
    let (mut clock, mut volume) = default_fs();
    let good = volume.master.clone();
    let mut with = |change: fn(&mut Master)| {
        let mut master = good.clone();
        change(&mut master);
        replace(&mut volume, &mut clock, &master, 100);
        match volume.read_master(&mut clock) {
            Err(Error::Node { cause: Malformed::Field { name, .. }, .. }) => name,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(with(|master| master.cmt_no = 100), "cmt_no");
    assert_eq!(with(|master| master.highest_inum = 0xFFFF_FF00), "highest_inum");
    assert_eq!(with(|master| master.log_lnum.0 = 2), "log_lnum");
    assert_eq!(with(|master| master.log_lnum.0 = 9), "log_lnum");
    assert_eq!(with(|master| master.root_lnum.0 = 3), "root_lnum");
    assert_eq!(with(|master| master.root_lnum.0 = 200), "root_lnum");
    assert_eq!(with(|master| master.root_offs = 4), "root_offs");
    assert_eq!(with(|master| master.root_len = 40), "root_len");
    assert_eq!(with(|master| master.root_len = 196), "root_len");
    assert_eq!(with(|master| master.gc_lnum = None), "gc_lnum");
    assert_eq!(with(|master| master.ihead_lnum.0 = 0), "ihead_lnum");
    assert_eq!(with(|master| master.ihead_offs = 48), "ihead_offs");
    assert_eq!(with(|master| master.index_size = 4), "index_size");
    assert_eq!(with(|master| master.index_size = 1 << 40), "index_size");
    assert_eq!(with(|master| master.lpt_lnum.0 = 3), "lpt_lnum");
    assert_eq!(with(|master| master.lpt_offs = u32::MAX), "lpt_offs");
    assert_eq!(with(|master| master.nhead_lnum.0 = 3), "nhead_lnum");
    assert_eq!(with(|master| master.nhead_offs = 8), "nhead_offs");
    assert_eq!(with(|master| master.ltab_lnum.0 = 3), "ltab_lnum");
    assert_eq!(with(|master| master.ltab_offs = u32::MAX), "ltab_offs");
    assert_eq!(with(|master| master.lscan_lnum.0 = 3), "lscan_lnum");
    assert_eq!(with(|master| master.empty_lebs = 200), "empty_lebs");
    assert_eq!(with(|master| master.idx_lebs = 200), "idx_lebs");
    assert_eq!(with(|master| master.total_free += 1), "total_free");
    assert_eq!(with(|master| master.total_dirty = u64::MAX - 7), "total_dirty");
    assert_eq!(with(|master| master.total_used = 8 << 30), "total_used");
    assert_eq!(with(|master| master.total_used += master.total_free), "total_used");
    assert_eq!(with(|master| master.total_dead = master.total_free - 8), "total_used");
    assert_eq!(with(|master| master.total_dark += 4), "total_dark");
    assert_eq!(with(|master| master.leb_count = 201), "leb_cnt");
}

#[test]
fn copies_that_differ_are_recovered() {
    let (mut clock, mut volume) = default_fs();
    volume.write_master(&mut clock).unwrap();
    let first = volume.lebs.content(LebIndex(2)).unwrap()[..512].to_vec();
    volume.lebs.change(&mut clock, LebIndex(2), &first).unwrap();
    let unclean = volume.scan_for_master(&mut clock).unwrap_err();
    assert!(unclean.is_unclean(), "{unclean}");
    volume.read_master(&mut clock).unwrap();
    assert!(volume.scan_for_master(&mut clock).is_ok(), "both were written");
    assert_eq!(volume.master.flags & Master::RECOVERY, Master::RECOVERY, "on flash it is set");
}

#[test]
fn another_node_in_the_master_area_is_no_power_cut() {
    let (mut clock, mut volume) = default_fs();
    let log = volume.lebs.content(LebIndex(3)).unwrap().to_vec();
    volume.lebs.change(&mut clock, LebIndex(1), &log).unwrap();
    let error = volume.read_master(&mut clock).unwrap_err();
    let cause = Malformed::Type { found: 10, expected: Some(NodeType::Master) };
    assert_eq!(error, Error::Node { leb: LebIndex(1), offs: 0, cause });
}

#[test]
fn the_master_node_of_the_kernel_is_valid_on_its_volume() {
    let master = Master::parse(&node(MASTER)).unwrap();
    let (mut clock, mut volume) = default_fs();
    let leb_count = volume.master.leb_count;
    replace(&mut volume, &mut clock, &Master { leb_count, ..master }, 5);
    assert!(volume.read_master(&mut clock).is_err(), "the volume is smaller");
}
