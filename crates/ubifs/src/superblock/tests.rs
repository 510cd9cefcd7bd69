//! Superblocks that are read and refused, and a default filesystem.

use super::*;
use crate::format::index::IndexNode;
use crate::format::inode::InodeNode;
use crate::format::key::Key;
use crate::format::master::Master;
use crate::format::tests::{INDEX, MASTER, ROOT, SUPERBLOCK, node};
use crate::layout::MASTER_LEB;
use crate::options::{Options, Profile};
use crate::test_volume::{default_fs, from_mkfs, mkfs_lebs, shape, unread};
use crate::{LebIndex, Volume};
use boardlab_sim::Seed;
use boardlab_ubi::RamLebs;
use boardlab_vfs::WallClock;

/// The bytes that a LEB begins with.
fn begin(volume: &Volume<RamLebs>, leb: u32, length: usize) -> &[u8] {
    &volume.lebs.content(LebIndex(leb)).unwrap()[..length]
}

/// A default filesystem, on a volume and at a time at which a kernel has made one.
fn as_the_kernel() -> Volume<RamLebs> {
    let wall = WallClock { start: 0x6B07_6D17 };
    let lebs = RamLebs::new(shape(940, 15_872));
    let mut volume = unread(lebs, Options { wall, ..Options::default() });
    volume.create_default_fs(&mut Clock::new()).unwrap();
    volume
}

#[test]
fn a_default_filesystem_has_the_nodes_of_the_kernel() {
    let volume = as_the_kernel();
    let sb = Superblock::parse(begin(&volume, 0, 4_096)).unwrap();
    let mut expected = Superblock::parse(&node(SUPERBLOCK)).unwrap();
    expected.uuid = sb.uuid;
    assert_eq!(sb, expected);
    assert_eq!(Header::parse(begin(&volume, 0, 24)).unwrap().sqnum, 2);
    assert_eq!(begin(&volume, 13, 48), node(INDEX));
    assert_eq!(begin(&volume, 14, 160), node(ROOT));
    assert_eq!(begin(&volume, 1, 512), node(MASTER));
    let second = Master::parse(begin(&volume, 2, 512)).unwrap();
    assert_eq!(second, Master::parse(&node(MASTER)).unwrap());
    let starts =
        [0, 1, 2, 3, 13, 14].map(|leb| Header::parse(begin(&volume, leb, 32)).unwrap().sqnum);
    assert_eq!(starts, [2, 5, 6, 7, 4, 3], "the order of the writes");
    for leb in [4, 8, 11, 12, 15, 939] {
        assert_eq!(volume.lebs.content(LebIndex(leb)), None, "LEB {leb}");
    }
}

#[test]
fn the_properties_tree_of_a_default_filesystem_has_the_bytes_of_the_kernel() {
    let volume = as_the_kernel();
    // The kernel's LEB 9 up to the head that its first master node names.
    let tree = begin(&volume, 9, 4_608);
    assert_eq!(tree[..8], [0x6E, 0x57, 0x00, 0x78, 0x1D, 0x04, 0x3C, 0x0B]);
    assert_eq!(format::checksum(&[&[0; 8], tree].concat()), 0x40EE_1FF0);
}

#[test]
fn the_sizes_of_areas_are_those_of_the_kernel_on_every_kind_of_nand() {
    // Page, LEB, LEBs of the volume; then bytes of buds, LEBs of the log, bytes of the pool.
    for (page, leb_size, count, buds, log, pool) in [
        (512, 15_872, 940, 650_752, 6, 735_667),
        (2_048, 129_024, 114, 387_072, 3, 670_924),
        (2_048, 126_976, 114, 380_928, 3, 660_275),
        (4_096, 258_048, 55, 774_144, 3, 580_608),
    ] {
        let shape = boardlab_ubi::Shape { min_io: page, max_write: page, ..shape(count, leb_size) };
        let mut volume = unread(RamLebs::new(shape), Options::default());
        volume.create_default_fs(&mut Clock::new()).unwrap();
        let sb = &volume.sb;
        assert_eq!((sb.max_bud_bytes, sb.log_lebs, sb.rp_size), (buds, log, pool), "{shape:?}");
        assert_eq!((sb.lpt_lebs, sb.orph_lebs, sb.flags), (2, 2, Superblock::DOUBLE_HASH));
    }
}

#[test]
fn an_old_profile_makes_the_old_format() {
    let lebs = RamLebs::new(shape(200, 15_872));
    let options = Options { profile: Profile::LINUX_2_6, ..Options::default() };
    let mut volume = unread(lebs, options);
    volume.create_default_fs(&mut Clock::new()).unwrap();
    let sb = &volume.sb;
    assert_eq!((sb.fmt_version, sb.flags, sb.hash_algo), (4, 0, 0));
}

#[test]
fn the_identity_comes_from_the_seed() {
    let uuid = |seed| {
        let lebs = RamLebs::new(shape(200, 15_872));
        let mut volume = unread(lebs, Options { seed: Seed::new(seed), ..Options::default() });
        volume.create_default_fs(&mut Clock::new()).unwrap();
        volume.sb.uuid
    };
    assert_eq!(uuid(1), uuid(1));
    assert_ne!(uuid(1), uuid(2));
    assert_eq!((uuid(1)[6] >> 4, uuid(1)[8] >> 6), (4, 2), "version and variant");
}

#[test]
fn the_smallest_and_small_volumes_get_a_filesystem() {
    for count in [17, 18, 19, 20, 25, 26, 27, 40, 100] {
        let lebs = RamLebs::new(shape(count, 15_872));
        let (mut clock, mut volume) = (Clock::new(), unread(lebs, Options::default()));
        volume.mode.empty = true;
        crate::test_volume::read_roots(&mut clock, &mut volume);
        let areas = (volume.layout.log_lebs, volume.layout.orph_lebs, volume.layout.main_lebs);
        match count {
            17 => assert_eq!(areas, (2, 1, 9)),
            19 => assert_eq!(areas, (2, 2, 10)),
            26 => assert_eq!(areas, (3, 2, 16)),
            _ => {}
        }
    }
}

#[test]
fn a_new_filesystem_is_read_with_the_values_that_were_written() {
    let (_, volume) = default_fs();
    assert_eq!((volume.max_sqnum, volume.cmt_no, volume.highest_inum), (5, 0, 64));
    assert_eq!(volume.log.head, LebIndex(3));
    assert_eq!(volume.lst.total_used, 160);
    let main = volume.layout.main_first.0;
    let index = IndexNode::parse(begin(&volume, main, 48), 8).unwrap();
    assert_eq!(index.branches[0].key, Key::inode(1));
    let root = InodeNode::parse(begin(&volume, main + 1, 160)).unwrap();
    assert_eq!((root.mode, root.size, root.flags), (0o40_755, 160, 1));
}

#[test]
fn an_image_of_mkfs_grows_to_the_size_of_the_volume() {
    let (_, volume) = from_mkfs();
    assert!(volume.mode.superblock_changed);
    assert_eq!(
        (volume.sb.leb_count, volume.layout.leb_count, volume.master.leb_count),
        (40, 40, 40)
    );
    let main = volume.layout.main_first;
    assert_eq!(volume.layout.main_lebs, 40 - main.0);
    let free = volume.lst.total_free;
    assert!(free > 26 * 15_360, "{free}");
}

#[test]
fn the_superblock_is_written_with_the_next_sequence_number() {
    let (mut clock, mut volume) = from_mkfs();
    let before = volume.sb.clone();
    let sqnum = volume.max_sqnum;
    volume.write_superblock(&mut clock).unwrap();
    assert_eq!(read_superblock(&mut clock, &mut volume.lebs), Ok(before));
    assert_eq!(Header::parse(begin(&volume, 0, 24)).unwrap().sqnum, sqnum + 1);
    assert_eq!(volume.lebs.content(LebIndex(0)).unwrap().len(), 4_096);
}

#[test]
fn a_volume_without_a_superblock_is_refused_with_what_is_there() {
    let mut clock = Clock::new();
    let mut lebs = RamLebs::with_image(shape(40, 15_360), b"hsqs and other bytes");
    let found = u32::from_le_bytes(*b"hsqs");
    assert_eq!(read_superblock(&mut clock, &mut lebs), Err(MountError::NotUbifs { found }));
}

#[test]
fn a_newer_format_is_read_only() {
    for (read_only, read, ok) in [(false, 0, false), (true, 0, true), (true, 1, false)] {
        let mut clock = Clock::new();
        let mut volume = unread(mkfs_lebs(), Options { read_only, ..Options::default() });
        let mut sb = read_superblock(&mut clock, &mut volume.lebs).unwrap();
        (sb.fmt_version, sb.ro_compat_version) = (6, read);
        sb.flags |= Superblock::DOUBLE_HASH;
        let mut bytes = sb.emit();
        format::seal(&mut bytes);
        volume.lebs = RamLebs::with_image(shape(40, 15_360), &bytes);
        volume.mode.read_only = read_only;
        let result = volume.read_superblock(&mut clock);
        let expected = if ok { Ok(()) } else { Err(MountError::Version { write: 6, read }) };
        assert_eq!(result, expected);
    }
}

#[test]
fn every_changed_byte_of_a_superblock_is_found() {
    let bytes = node(SUPERBLOCK);
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x40;
        let mut lebs = RamLebs::with_image(shape(40, 15_360), &bytes);
        assert!(read_superblock(&mut Clock::new(), &mut lebs).is_err(), "byte {at}");
    }
}

#[test]
fn the_copies_of_a_new_master_node_are_equal() {
    let (mut clock, mut volume) = default_fs();
    for leb in [MASTER_LEB, LebIndex(MASTER_LEB.0 + 1)] {
        let scanned = volume.scan(&mut clock, leb, 0).unwrap();
        assert_eq!((scanned.nodes.len(), scanned.endpt), (1, 512));
    }
}
