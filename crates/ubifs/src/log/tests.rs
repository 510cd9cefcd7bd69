//! The log of a default filesystem: buds, commits, consolidation.

use super::*;
use crate::test_volume::default_fs;
use crate::wbuf::{BASE_HEAD, DATA_HEAD};
use boardlab_ubi::RamLebs;

/// A volume whose log is at its beginning, as after a replay.
fn replayed() -> (Clock, Volume<RamLebs>) {
    let (clock, mut volume) = default_fs();
    volume.log.tail = volume.log.head;
    volume.log.head_offs = 512;
    (clock, volume)
}

/// The kinds of nodes in a LEB of the log.
fn kinds(clock: &mut Clock, volume: &mut Volume<RamLebs>, leb: u32) -> Vec<NodeType> {
    let scanned = volume.scan(clock, LebIndex(leb), 0).unwrap();
    scanned.nodes.iter().map(|node| node.kind).collect()
}

#[test]
fn a_bud_is_in_the_log_and_its_leb_is_mapped_before_anything_is_written_to_it() {
    let (mut clock, mut volume) = replayed();
    let leb = LebIndex(50);
    assert_eq!(volume.add_bud_to_log(&mut clock, DATA_HEAD, leb, 0), Ok(Some(())));
    assert_eq!(volume.lebs.is_mapped(leb), Ok(true));
    let scanned = volume.scan(&mut clock, LebIndex(3), 0).unwrap();
    let reference = Reference::parse(scanned.node_bytes(&scanned.nodes[1])).unwrap();
    assert_eq!(reference, Reference { lnum: leb, offs: 0, jhead: 2 });
    assert_eq!((volume.log.head_offs, volume.log.bud_bytes), (1_024, 15_872));
    assert_eq!(volume.search_bud(leb).unwrap().jhead, DATA_HEAD);
    assert_eq!(volume.head_of(leb), Some(DATA_HEAD));
    let other = LebIndex(51);
    volume.add_bud_to_log(&mut clock, BASE_HEAD, other, 512).unwrap();
    assert_eq!(volume.lebs.is_mapped(other), Ok(false), "it has content already");
    assert_eq!(volume.log.bud_bytes, 2 * 15_872 - 512);
    assert_eq!(volume.heads[BASE_HEAD].buds, [other]);
}

#[test]
fn a_full_journal_wants_a_commit() {
    let (mut clock, mut volume) = replayed();
    volume.log.bud_bytes = volume.layout.max_bud_bytes - 15_871;
    assert_eq!(volume.add_bud_to_log(&mut clock, DATA_HEAD, LebIndex(50), 0), Ok(None));
    assert_eq!(volume.commit, CommitState::Required);
    assert!(volume.log.buds.is_empty());
}

#[test]
fn a_journal_that_is_nearly_full_wants_a_commit_in_the_background() {
    let (mut clock, mut volume) = replayed();
    volume.layout.bg_bud_bytes = 15_872;
    volume.add_bud_to_log(&mut clock, DATA_HEAD, LebIndex(50), 0).unwrap();
    assert_eq!(volume.commit, CommitState::Resting);
    volume.add_bud_to_log(&mut clock, DATA_HEAD, LebIndex(51), 0).unwrap();
    assert_eq!(volume.commit, CommitState::Background);
}

#[test]
fn a_full_log_wants_a_commit_with_one_leb_left_for_it() {
    let (mut clock, mut volume) = replayed();
    volume.layout.max_bud_bytes = u64::MAX;
    let lebs = u64::from(volume.layout.log_lebs);
    let mut count = 0;
    for leb in volume.layout.main_first.0 + 3.. {
        if volume.add_bud_to_log(&mut clock, DATA_HEAD, LebIndex(leb), 512).unwrap().is_none() {
            break;
        }
        count += 1;
    }
    assert_eq!(count, (lebs - 1) * 31 - 1, "31 pages a LEB, one for the commit start");
    assert_eq!(volume.empty_log_bytes(), 15_872);
}

#[test]
fn a_commit_begins_a_leb_of_the_log_with_the_buds_that_are_still_written() {
    let (mut clock, mut volume) = replayed();
    for (head, leb) in [(DATA_HEAD, 50), (DATA_HEAD, 51), (BASE_HEAD, 52)] {
        volume.add_bud_to_log(&mut clock, head, LebIndex(leb), 0).unwrap();
    }
    volume.wbuf_seek(&mut clock, DATA_HEAD, LebIndex(51), 1_024).unwrap();
    volume.wbuf_seek(&mut clock, BASE_HEAD, LebIndex(52), 15_872).unwrap();
    let tail = volume.log_start_commit(&mut clock).unwrap();
    assert_eq!((tail, volume.log.head, volume.log.head_offs), (LebIndex(4), LebIndex(4), 512));
    let expected = [NodeType::CommitStart, NodeType::Reference];
    assert_eq!(kinds(&mut clock, &mut volume, 4), expected, "that of LEB 52 is full");
    assert_eq!(volume.log.cmt_bud_bytes, 15_872 + 1_024 + 15_872);
    assert_eq!(volume.search_bud(LebIndex(51)).unwrap().start, 1_024);
    let old: Vec<u32> = volume.log.old_buds.iter().map(|bud| bud.leb.0).collect();
    assert_eq!(old, [50]);
    volume.log_end_commit(&mut clock, tail).unwrap();
    assert_eq!(volume.log.bud_bytes, 15_872 - 1_024);
    assert_eq!((volume.log.tail, volume.master_offs), (LebIndex(4), 512));
    volume.log.old_buds.clear();
    volume.log_post_commit(&mut clock, LebIndex(3)).unwrap();
    assert_eq!(volume.lebs.is_mapped(LebIndex(3)), Ok(false));
}

#[test]
fn consolidation_keeps_the_first_reference_of_each_bud() {
    let (mut clock, mut volume) = replayed();
    let last = volume.layout.log_last.0;
    volume.layout.max_bud_bytes = u64::MAX;
    volume.layout.min_log_bytes = 0;
    while volume.log.head.0 < last {
        for leb in [50, 51] {
            volume.add_bud_to_log(&mut clock, DATA_HEAD, LebIndex(leb), 512).unwrap().unwrap();
        }
        volume.log.buds.clear();
    }
    volume.consolidate_log(&mut clock).unwrap();
    assert_eq!((volume.log.head, volume.log.head_offs), (LebIndex(3), 512));
    let expected = [NodeType::CommitStart, NodeType::Reference, NodeType::Reference];
    assert_eq!(kinds(&mut clock, &mut volume, 3), expected);
    for leb in 4..=last {
        assert_eq!(volume.lebs.is_mapped(LebIndex(leb)), Ok(false), "LEB {leb}");
    }
}

#[test]
fn consolidation_of_one_leb_makes_no_room() {
    let (mut clock, mut volume) = replayed();
    let error = volume.consolidate_log(&mut clock).unwrap_err();
    assert_eq!(error, Error::at(LebIndex(3), 512, Problem::Log));
}

#[test]
fn empty_bytes_of_the_log_are_counted_around_its_end() {
    let (_, mut volume) = replayed();
    let size = u64::from(volume.layout.leb_size);
    let total = volume.layout.log_bytes;
    let mut with = |head: u32, offs: u32, tail: u32| {
        (volume.log.head, volume.log.head_offs, volume.log.tail) =
            (LebIndex(head), offs, LebIndex(tail));
        volume.empty_log_bytes()
    };
    assert_eq!(with(3, 0, 3), total);
    assert_eq!(with(3, 512, 3), total - 512);
    assert_eq!(with(3, 512, 5), 2 * size - 512);
    assert_eq!(with(3, 15_872, 4), 0);
    assert_eq!(with(5, 0, 3), total - 2 * size);
}

#[test]
fn buds_that_a_commit_has_taken_over_are_released() {
    let (mut clock, mut volume) = replayed();
    volume.lpt_init(&mut clock, true, true).unwrap();
    for leb in [50, 51] {
        let taken = (crate::lprops::flag::TAKEN, 0);
        volume.change_one_lp(&mut clock, LebIndex(leb), None, None, taken).unwrap();
        volume.add_bud_to_log(&mut clock, DATA_HEAD, LebIndex(leb), 0).unwrap();
    }
    let tail = volume.log_start_commit(&mut clock).unwrap();
    volume.log_end_commit(&mut clock, tail).unwrap();
    volume.log_post_commit(&mut clock, LebIndex(3)).unwrap();
    for leb in [50, 51] {
        assert!(!volume.read_one_lp(&mut clock, LebIndex(leb)).unwrap().is_taken());
        assert!(volume.search_bud(LebIndex(leb)).is_none());
    }
    assert_eq!((volume.log.bud_bytes, volume.heads[DATA_HEAD].buds.len()), (0, 0));
}
