//! Reservations of pages, bulk-read, and what a read-only mount refuses.
use super::*;
use crate::test_volume::shape;
use crate::{Options, Ubifs};
use boardlab_ubi::RamLebs;
use boardlab_vfs::{FileSystem, Mount};

type Mounted = Mount<Ubifs<RamLebs>>;

fn mounted(options: Options) -> (Clock, Mounted) {
    let mut clock = Clock::new();
    let fs = Ubifs::mount(&mut clock, RamLebs::new(shape(300, 15_872)), options).unwrap();
    (clock, Mount::new(fs))
}

/// Reserved: growth of the index, new data, data that replace others.
fn reserved(mount: &Mounted) -> (i64, i64, i64) {
    let bi = &mount.fs().volume.bi;
    mount.fs().check_tables().unwrap();
    (bi.idx_growth, bi.data_growth, bi.dd_growth)
}

/// A file of `length` bytes that is on flash, and in no cache.
fn file_on_flash(clock: &mut Clock, mount: &mut Mounted, length: usize) -> boardlab_vfs::Fd {
    let fd = mount.create(clock, "/f", 0o644).unwrap();
    mount.write(clock, fd, 0, &vec![7; length]).unwrap();
    mount.fsync(clock, fd).unwrap();
    mount.drop_caches(clock).unwrap();
    fd
}

const INDEX: i64 = 188 + 4;
const PAGE_COST: i64 = 4_144;

#[test]
fn a_page_is_reserved_as_new_unless_it_was_read_from_flash() {
    let (mut clock, mut mount) = mounted(Options::default());
    let fd = file_on_flash(&mut clock, &mut mount, 3 * 4_096);
    assert_eq!(reserved(&mount), (0, 0, 0));
    mount.write(&mut clock, fd, 0, b"part").unwrap();
    assert_eq!(reserved(&mount), (0, 0, PAGE_COST));
    // Overwritten as a whole, a page is not read, and counts as new.
    mount.write(&mut clock, fd, 4_096, &[1; 4_096]).unwrap();
    assert_eq!(reserved(&mount), (INDEX, PAGE_COST, PAGE_COST));
    // A dirty page costs nothing more.
    mount.write(&mut clock, fd, 10, b"part").unwrap();
    assert_eq!(reserved(&mount), (INDEX, PAGE_COST, PAGE_COST));
    // Appending makes the inode dirty, too.
    mount.write(&mut clock, fd, 3 * 4_096, b"more").unwrap();
    assert_eq!(reserved(&mount), (2 * INDEX, 2 * PAGE_COST, PAGE_COST + 160));
    mount.fsync(&mut clock, fd).unwrap();
    assert_eq!(reserved(&mount), (0, 0, 0));
}

#[test]
fn a_page_in_a_hole_is_reserved_as_new() {
    let (mut clock, mut mount) = mounted(Options::default());
    let fd = file_on_flash(&mut clock, &mut mount, 10);
    mount.ftruncate(&mut clock, fd, 20_000).unwrap();
    mount.fsync(&mut clock, fd).unwrap();
    mount.write(&mut clock, fd, 8_200, b"part").unwrap();
    assert_eq!(reserved(&mount), (INDEX, PAGE_COST, 0));
    mount.fsync(&mut clock, fd).unwrap();
    // Now it is on flash.
    mount.write(&mut clock, fd, 8_300, b"part").unwrap();
    assert_eq!(reserved(&mount), (0, 0, PAGE_COST));
}

#[test]
fn dirty_pages_that_are_truncated_or_deleted_release_their_reservation() {
    let (mut clock, mut mount) = mounted(Options::default());
    let fd = mount.create(&mut clock, "/f", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, &[1; 20_000]).unwrap();
    assert_eq!(reserved(&mount).1, 5 * PAGE_COST);
    mount.ftruncate(&mut clock, fd, 4_096).unwrap();
    assert_eq!(reserved(&mount), (INDEX, PAGE_COST, 0));
    mount.close(&mut clock, fd).unwrap();
    mount.unlink(&mut clock, "/f").unwrap();
    assert_eq!(reserved(&mount), (0, 0, 0));
}

#[test]
fn times_are_whole_seconds_and_change_once_a_second() {
    let (mut clock, mut mount) = mounted(Options::default());
    clock.advance(boardlab_sim::Duration::from_millis(1_500));
    let fd = mount.create(&mut clock, "/f", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, b"a").unwrap();
    let stat = mount.fstat(&mut clock, fd).unwrap();
    assert_eq!(stat.modified.nanos, 0);
    mount.fsync(&mut clock, fd).unwrap();
    clock.advance(boardlab_sim::Duration::from_millis(100));
    mount.write(&mut clock, fd, 0, b"b").unwrap();
    assert!(!mount.fs().volume.inode(65).dirty);
    clock.advance(boardlab_sim::Duration::from_secs(1));
    mount.write(&mut clock, fd, 0, b"c").unwrap();
    assert!(mount.fs().volume.inode(65).dirty);
}

#[test]
fn times_with_more_nanoseconds_than_a_second_has_are_cut() {
    let (mut clock, mut mount) = mounted(Options::default());
    mount.create(&mut clock, "/f", 0o644).unwrap();
    let fs = mount.fs_mut();
    fs.volume.inode_mut(65).modified.nanos = 4_000_000_000;
    let attributes = fs.getattr(&mut clock, boardlab_vfs::Ino(65)).unwrap();
    assert_eq!(attributes.modified.nanos, 999_999_999);
}

#[test]
fn bulk_read_begins_at_the_third_page_in_a_row_and_reads_the_same() {
    let read = |bulk_read: bool| {
        let (mut clock, mut mount) = mounted(Options { bulk_read, ..Options::default() });
        let fd = mount.create(&mut clock, "/f", 0o644).unwrap();
        let content: Vec<u8> = (0..30_000_u16).flat_map(u16::to_le_bytes).collect();
        mount.write(&mut clock, fd, 0, &content).unwrap();
        mount.fsync(&mut clock, fd).unwrap();
        mount.drop_caches(&mut clock).unwrap();
        let mut bytes = vec![0; 4_096];
        let mut ahead = Vec::new();
        for page in 0..15 {
            let before = mount.cache_counts().read;
            let length = mount.read(&mut clock, fd, page * 4_096, &mut bytes).unwrap();
            let start = usize::try_from(page).unwrap() * 4_096;
            assert_eq!(bytes[..length], content[start..start + length]);
            ahead.push(mount.cache_counts().read - before);
        }
        ahead
    };
    let single = read(false);
    let bulk = read(true);
    assert!(single.iter().sum::<u64>() >= 15, "{single:?}");
    assert!(bulk.iter().sum::<u64>() < single.iter().sum(), "{bulk:?}");
}

#[test]
fn a_read_only_mount_refuses_every_change() {
    let (mut clock, mut mount) = mounted(Options::default());
    let fd = file_on_flash(&mut clock, &mut mount, 5_000);
    mount.close(&mut clock, fd).unwrap();
    mount.unmount(&mut clock).unwrap();
    let lebs = mount.into_fs().into_lebs();
    let options = Options { read_only: true, ..Options::default() };
    let mut mount = Mount::new(Ubifs::mount(&mut clock, lebs, options).unwrap());
    let fd = mount.open(&mut clock, "/f").unwrap();
    let refused = Err(boardlab_vfs::Error::from(Errno::RoFs));
    assert_eq!(mount.write(&mut clock, fd, 0, b"x").map(|_| ()), refused);
    assert_eq!(mount.ftruncate(&mut clock, fd, 0), refused);
    assert_eq!(mount.mkdir(&mut clock, "/d", 0o755), refused);
    assert_eq!(mount.unlink(&mut clock, "/f"), refused);
    assert_eq!(mount.rename(&mut clock, "/f", "/g"), refused);
    assert_eq!(mount.chmod(&mut clock, "/f", 0o600), refused);
    assert_eq!(mount.setxattr(&mut clock, "/f", "user.a", b"1"), refused);
    assert_eq!(mount.fsync(&mut clock, fd), Ok(()));
    let mut bytes = [0; 5_000];
    assert_eq!(mount.read(&mut clock, fd, 0, &mut bytes), Ok(5_000));
    assert_eq!(bytes, [7; 5_000]);
}

#[test]
fn a_file_ends_at_two_tebibytes() {
    let (mut clock, mut mount) = mounted(Options::default());
    let fd = mount.create(&mut clock, "/f", 0o644).unwrap();
    mount.write(&mut clock, fd, SIZE_MAX - 4, b"last").unwrap();
    let refused = Err(boardlab_vfs::Error::from(Errno::FBig));
    assert_eq!(mount.write(&mut clock, fd, SIZE_MAX, b"x").map(|_| ()), refused);
    assert_eq!(mount.ftruncate(&mut clock, fd, SIZE_MAX + 1), refused);
    mount.write(&mut clock, fd, 0, b"first").unwrap();
    mount.fsync(&mut clock, fd).unwrap();
    mount.ftruncate(&mut clock, fd, SIZE_MAX - 1).unwrap();
    mount.drop_caches(&mut clock).unwrap();
    let mut bytes = [0; 5];
    mount.read(&mut clock, fd, 0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"first");
    assert_eq!(mount.read(&mut clock, fd, SIZE_MAX - 4, &mut bytes), Ok(3));
    assert_eq!(&bytes[..3], b"las");
    mount.fs().check_tables().unwrap();
}

#[test]
fn statfs_says_less_for_each_dirty_page_and_about_the_same_after_a_sync() {
    let (mut clock, mut mount) = mounted(Options::default());
    let empty = mount.statfs(&mut clock).unwrap();
    assert_eq!((empty.block_size, empty.name_max), (4_096, 255));
    assert!(empty.available <= empty.free && empty.free <= empty.blocks);
    let fd = mount.create(&mut clock, "/f", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, &[0; 200_000]).unwrap();
    let dirty = mount.statfs(&mut clock).unwrap();
    assert!(dirty.free + 45 < empty.free, "{} and {}", dirty.free, empty.free);
    mount.sync(&mut clock).unwrap();
    // Zeros take next to nothing.
    let synced = mount.statfs(&mut clock).unwrap();
    assert!(synced.free + 10 > empty.free, "{} and {}", synced.free, empty.free);
}

#[test]
fn statfs_of_an_empty_volume_is_what_linux_says() {
    // Measured with Linux 6.1: LEBs, their bytes, bytes of a page; blocks, free, available.
    let measured = [
        ((114, 129_024, 2_048), (2_873, 2_869, 2_714)),
        ((114, 126_976, 2_048), (2_781, 2_775, 2_622)),
        ((55, 258_048, 4_096), (2_251, 2_245, 2_111)),
        ((940, 15_872, 512), (2_637, 2_632, 2_462)),
        ((32, 129_024, 2_048), (444, 439, 407)),
    ];
    for ((leb_count, leb_size, page), expected) in measured {
        let shape = boardlab_ubi::Shape {
            leb_count,
            leb_size,
            leb_start: page,
            min_io: page,
            max_write: page,
        };
        let mut clock = Clock::new();
        let fs = Ubifs::mount(&mut clock, RamLebs::new(shape), Options::default()).unwrap();
        let stat = Mount::new(fs).statfs(&mut clock).unwrap();
        assert_eq!((stat.blocks, stat.free, stat.available), expected, "{shape:?}");
    }
}
