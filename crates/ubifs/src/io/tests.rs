//! Nodes that are read and written one by one.

use super::*;
use crate::format::data::Data;
use crate::format::inode::InodeNode;
use crate::format::journal::CommitStart;
use crate::format::key::Key;
use crate::format::tests::{INDEX, ROOT, node};
use crate::options::Options;
use crate::test_volume::{shape, unread};
use boardlab_sim::Hertz;
use boardlab_ubi::RamLebs;
use boardlab_vfs::{Cost, Host};

const LEB: LebIndex = LebIndex(20);

fn volume(options: Options) -> (Clock, Volume<RamLebs>) {
    let mut volume = unread(RamLebs::new(shape(40, 15_360)), options);
    volume.mode.mounting = false;
    (Clock::new(), volume)
}

/// A data node with one wrong byte of content.
fn damaged_data() -> Vec<u8> {
    let content = [5; 100];
    let data =
        Data { key: Key::data(64, 0), size: 100, compr_type: 0, compr_size: 0, data: &content };
    let mut bytes = data.emit();
    Header::fill(&mut bytes, 9, Group::None);
    format::seal(&mut bytes);
    bytes[60] ^= 1;
    bytes
}

#[test]
fn the_first_write_error_ends_all_writes() {
    let (mut clock, mut volume) = volume(Options::default());
    let beyond = LebIndex(40);
    let missing = boardlab_ubi::Error::NoSuchLeb { leb: beyond, count: 40 };
    assert_eq!(volume.leb_unmap(&mut clock, beyond), Err(missing.into()));
    assert!(volume.mode.failed);
    let refused = Err(Errno::RoFs.into());
    assert_eq!(volume.leb_write(&mut clock, LEB, 0, &[0; 512]), refused);
    assert_eq!(volume.leb_change(&mut clock, LEB, &[0; 512]), refused);
    assert_eq!(volume.leb_map(&mut clock, LEB), refused);
    assert_eq!(volume.lebs.is_mapped(LEB), Ok(false));
}

#[test]
fn a_read_error_does_not_end_writes() {
    let (mut clock, mut volume) = volume(Options::default());
    assert!(volume.leb_read(&mut clock, LebIndex(40), 0, &mut [0; 8]).is_err());
    assert!(!volume.mode.failed);
}

#[test]
fn a_node_is_written_with_the_next_number_and_padding_up_to_a_page() {
    let (mut clock, mut volume) = volume(Options::default());
    volume.max_sqnum = 7;
    volume.write_node(&mut clock, CommitStart { cmt_no: 3 }.emit(), LEB, 512).unwrap();
    let content = volume.lebs.content(LEB).unwrap();
    assert_eq!(content.len(), 1_024);
    let header = Header::parse(&content[512..]).unwrap();
    assert_eq!((header.sqnum, header.len, header.group), (8, 32, Group::None));
    let padding = Header::parse(&content[544..]).unwrap();
    assert_eq!((padding.sqnum, padding.node_type), (0, NodeType::Padding));
    format::check_checksum(&content[544..], &padding).unwrap();
    let read = volume.read_node(&mut clock, NodeType::CommitStart, LEB, 512, 32).unwrap();
    assert_eq!(CommitStart::parse(&read), Ok(CommitStart { cmt_no: 3 }));
}

#[test]
fn the_nodes_of_a_group_say_so_and_the_last_one_too() {
    let (mut clock, mut volume) = volume(Options::default());
    let mut bytes = InodeNode::parse(&node(ROOT)).unwrap().emit();
    for (last, group) in [(false, Group::In), (true, Group::Last)] {
        volume.prepare_group_node(&mut clock, &mut bytes, last);
        let header = volume.check_node(&mut clock, &bytes, 0, true).unwrap();
        assert_eq!(header.group, group);
    }
    assert_eq!(volume.max_sqnum, 2);
}

#[test]
fn the_checksum_of_data_is_verified_when_something_asks_for_it() {
    let bytes = damaged_data();
    for (name, ok, set) in [
        ("read", true, None),
        ("mount", false, Some(0)),
        ("after an error", false, Some(1)),
        ("option", false, Some(2)),
    ] {
        let options = Options { check_data_crc: set == Some(2), ..Options::default() };
        let (mut clock, mut volume) = volume(options);
        volume.mode.mounting = set == Some(0);
        volume.mode.failed = set == Some(1);
        assert_eq!(volume.check_node(&mut clock, &bytes, 0, false).is_ok(), ok, "{name}");
        assert!(volume.check_node(&mut clock, &bytes, 0, true).is_err(), "{name}");
    }
}

#[test]
fn a_node_must_be_within_its_leb_and_its_fanout() {
    let (mut clock, mut volume) = volume(Options::default());
    let bytes = node(INDEX);
    assert!(volume.check_node(&mut clock, &bytes, 15_360 - 48, true).is_ok());
    let found = volume.check_node(&mut clock, &bytes, 15_360 - 40, true);
    assert_eq!(found, Err(Malformed::Length { found: 48, min: 48, max: 40 }));
    (volume.layout.fanout, volume.layout.max_idx_node_sz) = (8, 192);
    let mut long = vec![0; 300];
    long[20] = NodeType::Index.number();
    Header::fill(&mut long, 1, Group::None);
    format::seal(&mut long);
    let found = volume.check_node(&mut clock, &long, 0, true);
    assert_eq!(found, Err(Malformed::Length { found: 300, min: 48, max: 188 }));
}

#[test]
fn another_node_than_the_expected_one_is_an_error_with_its_place() {
    let (mut clock, mut volume) = volume(Options::default());
    let mut page = node(ROOT);
    page.resize(512, 0);
    volume.leb_write(&mut clock, LEB, 0, &page).unwrap();
    let found = volume.read_node(&mut clock, NodeType::Dirent, LEB, 0, 160);
    let cause = Malformed::Type { found: 0, expected: Some(NodeType::Dirent) };
    assert_eq!(found, Err(Error::Node { leb: LEB, offs: 0, cause }));
    let found = volume.read_node(&mut clock, NodeType::Inode, LEB, 0, 168);
    let cause = Malformed::Length { found: 160, min: 168, max: 168 };
    assert_eq!(found, Err(Error::Node { leb: LEB, offs: 0, cause }));
    for (offs, len) in [(0, 15_361), (u32::MAX, 1), (0, u32::MAX)] {
        let found = volume.read_node(&mut clock, NodeType::Inode, LEB, offs, len);
        assert!(matches!(found, Err(Error::Lebs(boardlab_ubi::Error::Range { .. }))));
    }
}

#[test]
fn the_last_sequence_numbers_end_the_life_of_a_volume() {
    let (_, mut volume) = volume(Options::default());
    volume.max_sqnum = SQNUM_WATERMARK - 2;
    assert_eq!((volume.next_sqnum(), volume.mode.failed), (SQNUM_WATERMARK - 1, false));
    assert_eq!((volume.next_sqnum(), volume.mode.failed), (SQNUM_WATERMARK, true));
}

#[test]
fn checksums_take_time() {
    let host = Host::new(Hertz::from_hz(1_024), |work| match work {
        Work::Crc => Cost { each: 0, per_kib: 1_024 },
        _ => Cost::default(),
    });
    let (mut clock, mut volume) = volume(Options { host, ..Options::default() });
    let mut bytes = CommitStart { cmt_no: 3 }.emit();
    volume.prepare_node(&mut clock, &mut bytes, true);
    let total = volume.host.work_total(Work::Crc);
    assert_eq!((total.count, total.bytes), (2, 24 + 20), "the node and its padding");
    volume.check_node(&mut clock, &bytes, 0, true).unwrap();
    assert_eq!(volume.host.work_total(Work::Crc).bytes, 24 + 20 + 24);
    assert!(clock.now() > boardlab_sim::Instant::ZERO);
}
