//! LEBs that are scanned whole, cut off and damaged.

use super::*;
use crate::format::dirent::Dirent;
use crate::format::key::r5;
use crate::format::tests::emitted_again;
use crate::options::Options;
use crate::test_volume::{MKFS_LEB_SIZE, from_mkfs, mkfs_image, shape, unread};
use boardlab_ubi::RamLebs;

/// A volume whose first LEB begins with these bytes.
fn volume(content: &[u8]) -> (Clock, Volume<RamLebs>) {
    let lebs = RamLebs::with_image(shape(40, MKFS_LEB_SIZE), content);
    (Clock::new(), unread(lebs, Options::default()))
}

fn scan(content: &[u8]) -> Result<ScannedLeb, Error> {
    let (mut clock, mut volume) = volume(content);
    volume.scan(&mut clock, LebIndex(0), 0)
}

/// A padding node for this many bytes in all, and the padding.
fn padding_of(total: usize) -> Vec<u8> {
    let mut bytes = vec![0; total];
    padding::pad(&mut bytes);
    bytes
}

fn unclean(offs: u32) -> Error {
    Error::Corrupted { leb: LebIndex(0), offs, problem: Problem::NotAPowerCut }
}

#[test]
fn every_node_of_an_image_of_mkfs_is_emitted_with_the_same_bytes() {
    let (mut clock, mut volume) = from_mkfs();
    let (mut count, mut kinds) = (0, std::collections::BTreeSet::new());
    let main = volume.layout.main_first.0..13;
    for leb in (1..4).chain(main) {
        let scanned = volume.scan(&mut clock, LebIndex(leb), 0).unwrap();
        for node in &scanned.nodes {
            let bytes = scanned.node_bytes(node);
            let mut again = emitted_again(bytes).unwrap().unwrap();
            Header::fill(&mut again, node.sqnum, node.group);
            crate::format::seal(&mut again);
            assert_eq!(again, bytes, "LEB {leb}, offset {}", node.offs);
            count += 1;
            kinds.insert(node.kind);
        }
    }
    let expected = [
        NodeType::Inode,
        NodeType::Data,
        NodeType::Dirent,
        NodeType::Master,
        NodeType::Index,
        NodeType::CommitStart,
    ];
    assert_eq!(kinds, expected.into_iter().collect());
    assert_eq!(count, 28 + 27 + 28 + 2 + 14 + 1);
}

#[test]
fn the_keys_of_an_image_hold_the_hashes_of_the_names() {
    let (mut clock, mut volume) = from_mkfs();
    let scanned = volume.scan(&mut clock, LebIndex(10), 0).unwrap();
    let mut names = Vec::new();
    for node in scanned.nodes.iter().filter(|node| node.kind == NodeType::Dirent) {
        let entry = Dirent::parse(scanned.node_bytes(node)).unwrap();
        assert_eq!(node.key, entry.key);
        assert_eq!(node.key.low(), r5(&entry.name));
        names.push(entry.name);
    }
    assert_eq!(names.len(), 28);
    assert!(names.contains(&"naïve".as_bytes().to_vec()), "characters are signed");
}

#[test]
fn the_volume_of_mkfs_ends_its_superblock_with_a_node_that_is_none() {
    // mkfs.ubifs 2.1.5 leaves the place of a signature, without a type, behind the superblock.
    let error = scan(&mkfs_image()).unwrap_err();
    assert_eq!(error, unclean(4_096));
}

#[test]
fn padding_of_both_kinds_is_left_out() {
    let mut content = padding_of(504);
    content.extend([padding::BYTE; 8]);
    content.extend(padding_of(512));
    let scanned = scan(&content).unwrap();
    assert_eq!((scanned.nodes.len(), scanned.endpt), (0, 1_024));
}

#[test]
fn an_erased_leb_has_no_nodes() {
    let (mut clock, mut volume) = volume(&[]);
    let scanned = volume.scan(&mut clock, LebIndex(5), 512).unwrap();
    assert_eq!((scanned.nodes.len(), scanned.endpt), (0, 512));
}

#[test]
fn garbage_is_reported_with_its_place() {
    assert_eq!(scan(&[0x55; 512]).unwrap_err(), unclean(0));
    let mut content = padding_of(512);
    content.extend([padding::BYTE; 12]);
    assert_eq!(scan(&content).unwrap_err(), unclean(512), "12 is no multiple of 8");
    let mut content = padding_of(512);
    content.resize(2_000, 0xFF);
    content[1_234] = 0xFE;
    assert_eq!(scan(&content).unwrap_err(), unclean(1_234));
    let content = padding_of(504);
    assert_eq!(scan(&content).unwrap_err(), unclean(504), "not aligned to a page");
}

#[test]
fn a_padding_node_that_pads_too_much_is_reported() {
    for pad_len in [4_u32, MKFS_LEB_SIZE - 24, u32::MAX] {
        let mut node = Padding { pad_len }.emit();
        crate::format::seal(&mut node);
        let (mut clock, mut volume) = volume(&[]);
        node.resize(64, 0);
        let found = volume.scan_a_node(&mut clock, &node, LebIndex(0), 0);
        let expected = if pad_len == 4 { Scanned::Padding(32) } else { Scanned::BadPadding };
        assert_eq!(found, expected, "{pad_len}");
    }
}

#[test]
fn no_truncation_and_no_changed_byte_of_an_image_panics() {
    let image = mkfs_image();
    let size = usize_of(MKFS_LEB_SIZE);
    let (mut clock, mut volume) = from_mkfs();
    for leb in [1, 3, 10, 12] {
        let content = &image[leb * size..(leb + 1) * size];
        let used = content.iter().rposition(|&byte| byte != 0xFF).unwrap() + 1;
        let mut found = 0;
        for at in (0..used).step_by(7) {
            let mut bytes = content.to_vec();
            bytes[at] ^= 0x10;
            found += u32::from(volume.walk_nodes(&mut clock, &bytes).is_err());
            bytes.truncate(at);
            let _ = volume.walk_nodes(&mut clock, &bytes);
        }
        assert!(found > 0, "LEB {leb}: no change was found");
    }
}

impl Volume<RamLebs> {
    /// Walks over the nodes at the beginning of `bytes`, and parses each of them.
    fn walk_nodes(&mut self, clock: &mut Clock, bytes: &[u8]) -> Result<(), Scanned> {
        let mut at = 0;
        while at + 8 <= bytes.len() {
            match self.scan_a_node(clock, &bytes[at..], LebIndex(9), u32_of(at)) {
                Scanned::Node(header) => {
                    drop(emitted_again(&bytes[at..]));
                    at += usize_of(header.len.next_multiple_of(ALIGN));
                }
                Scanned::Padding(count) => at += usize_of(count),
                Scanned::EmptySpace => return Ok(()),
                other => return Err(other),
            }
        }
        Ok(())
    }
}
