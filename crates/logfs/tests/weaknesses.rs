//! What LogFS of Linux loses or stops on, with a faithful mount, and that the default keeps it. Those marked "seen" were
//! seen on Linux 3.12; `docs/models/logfs.md` lists them all.

use boardlab_logfs::format::SegmentHeader;
use boardlab_logfs::format::segment::SegmentKind;
use boardlab_logfs::mkfs::Format;
use boardlab_logfs::{Logfs, MountError, Options};
use boardlab_mtd::{Fault, FaultInjector, Mtd, RamMtd, Rule, Trigger};
use boardlab_sim::{Bytes, Clock, Duration, Seed};
use boardlab_vfs::{Errno, FileSystem, Mount};

const BLOCK: usize = 4_096;

fn nand() -> RamMtd {
    RamMtd::nand(64, 64, Bytes::kib(2), Bytes::new(64))
}

fn made(format: Format) -> (Clock, RamMtd) {
    let (mut clock, mut flash) = (Clock::new(), nand());
    format.make(&mut clock, &mut flash).unwrap();
    (clock, flash)
}

fn options(faithful: bool) -> Options {
    Options { faithful, ..Options::default() }
}

fn mounted<M: Mtd>(clock: &mut Clock, flash: M, faithful: bool) -> Mount<Logfs<M>> {
    let fs =
        Logfs::mount(clock, flash, options(faithful)).unwrap_or_else(|error| panic!("{error}"));
    Mount::new(fs)
}

fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Seed::new(1).stream("logfs.weaknesses").fill(&mut bytes);
    bytes
}

fn write<F: FileSystem>(mount: &mut Mount<F>, clock: &mut Clock, path: &str, at: u64, data: &[u8]) {
    let fd = mount.open(clock, path).or_else(|_| mount.create(clock, path, 0o644)).unwrap();
    assert_eq!(mount.write(clock, fd, at, data).unwrap(), data.len());
    mount.close(clock, fd).unwrap();
}

fn read<F: FileSystem>(mount: &mut Mount<F>, clock: &mut Clock, path: &str) -> Vec<u8> {
    let size = mount.stat(clock, path).unwrap().size;
    let fd = mount.open(clock, path).unwrap();
    let mut data = vec![0; usize::try_from(size).unwrap()];
    assert_eq!(mount.read(clock, fd, 0, &mut data).unwrap(), data.len());
    mount.close(clock, fd).unwrap();
    data
}

/// The flash as a power cut leaves it now.
fn cut<M: Mtd + Clone>(mount: &Mount<Logfs<M>>) -> M {
    mount.fs().device().clone()
}

/// Where `content` begins on the flash.
fn place(clock: &mut Clock, flash: &mut RamMtd, content: &[u8]) -> u64 {
    let mut all = vec![0; flash.geometry().size().to_usize()];
    flash.read(clock, Bytes::ZERO, &mut all).unwrap();
    let found = all.windows(content.len()).position(|window| window == content);
    found.expect("it is on the flash, as it is") as u64
}

/// Clears `bytes` within a page, as damage does.
fn clear(clock: &mut Clock, flash: &mut RamMtd, at: u64, bytes: usize) {
    let (page, within) = (at / 2_048 * 2_048, usize::try_from(at % 2_048).unwrap());
    let mut all = vec![0xFF; 2_048];
    all[within..(within + bytes).min(2_048)].fill(0);
    flash.program(clock, Bytes::new(page), &all).unwrap();
}

/// A flash with one file, unmounted.
fn with_file(path: &str, data: &[u8]) -> (Clock, RamMtd) {
    let (mut clock, flash) = made(Format::default());
    let mut mount = mounted(&mut clock, flash, false);
    write(&mut mount, &mut clock, path, 0, data);
    mount.unmount(&mut clock).unwrap();
    (clock, mount.into_fs().into_device())
}

/// Seen.
#[test]
fn the_last_block_is_lost_when_a_file_is_cut_at_its_end() {
    for faithful in [true, false] {
        let (mut clock, flash) = made(Format::default());
        let mut mount = mounted(&mut clock, flash, faithful);
        let data = noise(40 * BLOCK);
        for (path, blocks) in [("/direct", 10), ("/indirect", 40)] {
            write(&mut mount, &mut clock, path, 0, &data[..blocks * BLOCK]);
        }
        mount.sync(&mut clock).unwrap();
        mount.truncate(&mut clock, "/indirect", 3 * BLOCK as u64).unwrap();
        mount.sync(&mut clock).unwrap();
        mount.drop_caches(&mut clock).unwrap();
        let found = read(&mut mount, &mut clock, "/indirect");
        assert!(found[..2 * BLOCK] == data[..2 * BLOCK]);
        assert_eq!(found[2 * BLOCK..] == data[2 * BLOCK..3 * BLOCK], !faithful);
        assert_eq!(found[2 * BLOCK..].iter().all(|&byte| byte == 0), faithful);
    }
}

/// Seen.
#[test]
fn old_bytes_come_back_when_a_short_file_shrinks_and_grows() {
    for faithful in [true, false] {
        let (mut clock, flash) = made(Format::default());
        let mut mount = mounted(&mut clock, flash, faithful);
        write(&mut mount, &mut clock, "/file", 0, &noise(10 * BLOCK));
        mount.sync(&mut clock).unwrap();
        mount.truncate(&mut clock, "/file", 8_200).unwrap();
        mount.truncate(&mut clock, "/file", 10 * BLOCK as u64).unwrap();
        mount.sync(&mut clock).unwrap();
        mount.drop_caches(&mut clock).unwrap();
        let found = read(&mut mount, &mut clock, "/file");
        assert_eq!(found[4 * BLOCK..].iter().all(|&byte| byte == 0), !faithful);
    }
}

/// Seen. What such a kernel left is cleared when the file grows under a default mount.
#[test]
fn old_bytes_that_a_kernel_has_left_do_not_come_back() {
    let (mut clock, flash) = made(Format::default());
    let mut mount = mounted(&mut clock, flash, true);
    write(&mut mount, &mut clock, "/file", 0, &noise(10 * BLOCK));
    mount.sync(&mut clock).unwrap();
    mount.truncate(&mut clock, "/file", 8_192).unwrap();
    mount.unmount(&mut clock).unwrap();
    let mut mount = mounted(&mut clock, mount.into_fs().into_device(), false);
    mount.truncate(&mut clock, "/file", 10 * BLOCK as u64).unwrap();
    mount.sync(&mut clock).unwrap();
    mount.drop_caches(&mut clock).unwrap();
    let found = read(&mut mount, &mut clock, "/file");
    assert!(found[2 * BLOCK..].iter().all(|&byte| byte == 0));
    assert_eq!(mount.fs_mut().audit(&mut clock).unwrap().faults, []);
}

/// Seen.
#[test]
fn fsync_forgets_a_size_that_grew_within_the_last_block() {
    for faithful in [true, false] {
        let (mut clock, flash) = made(Format::default());
        let mut mount = mounted(&mut clock, flash, faithful);
        write(&mut mount, &mut clock, "/file", 0, b"hello");
        mount.sync(&mut clock).unwrap();
        let fd = mount.open(&mut clock, "/file").unwrap();
        mount.write(&mut clock, fd, 5, b" world").unwrap();
        mount.fsync(&mut clock, fd).unwrap();
        let flash = cut(&mount);
        let mut mount = mounted(&mut clock, flash, faithful);
        let found = read(&mut mount, &mut clock, "/file");
        assert_eq!(found, if faithful { &b"hello"[..] } else { b"hello world" });
    }
}

/// What such a kernel left behind the end of a file comes back when it grows, and is cleared under a default mount.
#[test]
fn bytes_behind_a_forgotten_size_come_back() {
    let (mut clock, flash) = made(Format::default());
    let mut mount = mounted(&mut clock, flash, true);
    write(&mut mount, &mut clock, "/file", 0, b"hello");
    mount.sync(&mut clock).unwrap();
    let fd = mount.open(&mut clock, "/file").unwrap();
    mount.write(&mut clock, fd, 5, b" world").unwrap();
    mount.fsync(&mut clock, fd).unwrap();
    let left = cut(&mount);
    for faithful in [true, false] {
        let mut mount = mounted(&mut clock, left.clone(), faithful);
        mount.truncate(&mut clock, "/file", 11).unwrap();
        mount.sync(&mut clock).unwrap();
        mount.drop_caches(&mut clock).unwrap();
        let found = read(&mut mount, &mut clock, "/file");
        assert_eq!(found, if faithful { b"hello world" } else { b"hello\0\0\0\0\0\0" });
    }
}

/// Seen: ten empty files and one of 28 blocks leave a write buffer of 4,068 bytes.
#[test]
fn a_write_buffer_that_does_not_compress_makes_the_next_mount_fail() {
    for faithful in [true, false] {
        let (mut clock, flash) = made(Format::default());
        let mut mount = mounted(&mut clock, flash, faithful);
        for number in 0..10 {
            write(&mut mount, &mut clock, &format!("/f{number}"), 0, b"");
        }
        let data = noise(28 * BLOCK);
        write(&mut mount, &mut clock, "/big", 0, &data);
        mount.unmount(&mut clock).unwrap();
        let flash = mount.into_fs().into_device();
        let again = Logfs::mount(&mut clock, flash.clone(), options(true));
        assert_eq!(again.is_err(), faithful);
        // A mount of ours reads both.
        let mut mount = mounted(&mut clock, flash, false);
        assert!(read(&mut mount, &mut clock, "/big") == data);
        assert_eq!(mount.fs_mut().audit(&mut clock).unwrap().faults, []);
    }
}

/// The power fails between the first page of a new segment of the journal and its first commit.
#[test]
fn a_new_journal_segment_without_a_commit_makes_the_next_mount_fail() {
    for faithful in [true, false] {
        let (mut clock, flash) = made(Format::default());
        let mut mount = mounted(&mut clock, flash, faithful);
        write(&mut mount, &mut clock, "/file", 0, b"hello");
        mount.sync(&mut clock).unwrap();
        let mut flash = cut(&mount);
        // The segment with the commit is 2, the next is 3.
        let header = SegmentHeader {
            kind: SegmentKind::Journal,
            level: 0,
            segment: 3,
            erase_count: 1,
            gec: 0x2000,
        };
        let mut page = vec![0xFF; 2_048];
        page[..24].copy_from_slice(&header.emit());
        flash.program(&mut clock, Bytes::new(3 << 17), &page).unwrap();
        let again = Logfs::mount(&mut clock, flash, options(faithful));
        if faithful {
            assert!(matches!(again, Err(MountError::NoCommit { .. })));
            continue;
        }
        let mut mount = Mount::new(again.unwrap());
        assert_eq!(mount.fs().findings().journal_segments_without_commit, 1);
        assert_eq!(read(&mut mount, &mut clock, "/file"), b"hello");
    }
}

/// The power fails in the page that has the end of a commit: the list of its entries can be read, another entry cannot.
#[test]
fn a_torn_page_with_a_whole_list_of_entries_stops_the_next_mount() {
    for faithful in [true, false] {
        let (mut clock, flash) = made(Format::default());
        let mut mount = mounted(&mut clock, flash, faithful);
        write(&mut mount, &mut clock, "/file", 0, b"hello");
        mount.sync(&mut clock).unwrap();
        write(&mut mount, &mut clock, "/more", 0, b"world");
        mount.sync(&mut clock).unwrap();
        let mut flash = cut(&mount);
        let last = mounted(&mut clock, flash.clone(), faithful).fs().findings().commit;
        assert!(last % 2_048 > 64, "the list begins its page at {}", last % 2_048);
        // The end of the entry before it.
        clear(&mut clock, &mut flash, last - 64, 64);
        let again = Logfs::mount(&mut clock, flash, options(faithful));
        if faithful {
            assert!(again.is_err_and(|error| error.to_string().contains("entry of the journal")));
            continue;
        }
        let mut mount = Mount::new(again.unwrap());
        assert_eq!(mount.fs().findings().torn_commit, Some(last));
        assert!(mount.fs().findings().commit < last);
        assert_eq!(read(&mut mount, &mut clock, "/file"), b"hello");
        assert_eq!(mount.stat(&mut clock, "/more").unwrap_err().errno(), Some(Errno::NoEnt));
        write(&mut mount, &mut clock, "/more", 0, b"again");
        mount.sync(&mut clock).unwrap();
        let mut mount = mounted(&mut clock, cut(&mount), faithful);
        assert_eq!(mount.fs().findings().torn_commit, None);
        assert_eq!(read(&mut mount, &mut clock, "/more"), b"again");
    }
}

/// The end of the last commit is damaged, after something was written behind it: an older commit may lead to segments
/// that are used anew, so the mount is refused.
#[test]
fn damage_in_a_commit_that_was_not_the_last_thing_written_is_no_torn_one() {
    for journal in [true, false] {
        let (mut clock, flash) = made(Format::default());
        let mut mount = mounted(&mut clock, flash, false);
        write(&mut mount, &mut clock, "/file", 0, b"hello");
        mount.sync(&mut clock).unwrap();
        write(&mut mount, &mut clock, "/more", 0, b"world");
        mount.sync(&mut clock).unwrap();
        let last = mounted(&mut clock, cut(&mount), false).fs().findings().commit;
        let mut flash = if journal {
            cut(&mount)
        } else {
            // Whole units of data, of which no commit tells.
            write(&mut mount, &mut clock, "/large", 0, &noise(40 * BLOCK));
            let later = clock.now() + Duration::from_secs(60);
            mount.idle(&mut clock, later).unwrap();
            cut(&mount)
        };
        clear(&mut clock, &mut flash, last - 64, 64);
        if journal {
            clear(&mut clock, &mut flash, (last / 2_048 + 1) * 2_048, 2_048);
        }
        let again = Logfs::mount(&mut clock, flash, options(false));
        assert!(again.is_err_and(|error| error.to_string().contains("entry of the journal")));
    }
}

/// An entry in another page than the end of its commit was whole when the commit was: that is damage and no cut.
#[test]
fn damage_in_an_earlier_page_of_a_commit_is_no_torn_commit() {
    let (mut clock, flash) = made(Format::default());
    let mut mount = mounted(&mut clock, flash, false);
    // Files enough for a commit of several pages.
    for file in 0..400 {
        write(&mut mount, &mut clock, &format!("/file{file}"), 0, &noise(100));
    }
    mount.sync(&mut clock).unwrap();
    let flash = cut(&mount);
    let last = mounted(&mut clock, flash.clone(), false).fs().findings().commit;
    let refused = |pages_before: &u64| {
        let mut clock = Clock::new();
        let mut flash = flash.clone();
        clear(&mut clock, &mut flash, (last / 2_048 - pages_before) * 2_048, 2_048);
        let again = Logfs::mount(&mut clock, flash, options(false));
        again.is_err_and(|error| error.to_string().contains("entry of the journal"))
    };
    let all: Vec<_> = (2..6).filter(refused).collect();
    assert_eq!(all, [2], "the pages with entries of the commit alone, but for the last two");
}

/// The power fails while blocks are written that no commit has yet.
#[test]
fn an_interrupted_write_stops_the_next_mount() {
    for faithful in [true, false] {
        let (mut clock, flash) = made(Format::default());
        let mut mount = mounted(&mut clock, flash, faithful);
        write(&mut mount, &mut clock, "/file", 0, &noise(3 * BLOCK));
        mount.sync(&mut clock).unwrap();
        let mut flash = cut(&mount);
        let open = (0..64_u64).rev().map(|segment| segment << 17).find(|&start| {
            let mut head = [0; 24];
            flash.read(&mut clock, Bytes::new(start), &mut head).unwrap();
            let header = SegmentHeader::parse(&head);
            header.is_ok_and(|header| header.level == 0 && header.gec > 0x1000)
        });
        // Its first three blocks are written; the fourth page was being programmed.
        let next = Bytes::new(open.unwrap() + 3 * BLOCK as u64);
        flash.program(&mut clock, next, &noise(2_048)).unwrap();
        let again = Logfs::mount(&mut clock, flash, options(faithful));
        if faithful {
            // It looks for a free segment before it knows any.
            let error = again.map(|_| ()).unwrap_err().to_string();
            assert_eq!(error, "no segment is free, and none can be made free");
            continue;
        }
        let mut mount = Mount::new(again.unwrap_or_else(|error| panic!("{error}")));
        assert_eq!(mount.fs().findings().interrupted_segments.len(), 1);
        assert!(read(&mut mount, &mut clock, "/file") == noise(3 * BLOCK));
        assert_eq!(mount.fs_mut().audit(&mut clock).unwrap().faults, []);
    }
}

/// Seen: the kernel dereferences a null pointer.
#[test]
fn an_unformatted_flash_is_refused() {
    let refused = Logfs::mount(&mut Clock::new(), nand(), Options::default()).unwrap_err();
    assert!(matches!(refused, MountError::NotLogfs { .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("magic 0xffffffffffffffff instead of 0x7a3a8e5cb9d5bf67"), "{text}");
}

/// Seen: pages are programmed twice. `RamMtd` lets that happen as NAND does, and the bits that both cleared remain.
#[test]
fn small_write_units_are_programmed_once() {
    let format = Format { write_shift: Some(11), ..Format::default() };
    let (mut clock, flash) = made(format);
    let mut mount = mounted(&mut clock, flash, false);
    let data = noise(20 * BLOCK);
    for block in 0..20 {
        let at = block * BLOCK;
        write(&mut mount, &mut clock, "/file", at as u64, &data[at..at + BLOCK]);
        mount.sync(&mut clock).unwrap();
    }
    mount.unmount(&mut clock).unwrap();
    let mut mount = mounted(&mut clock, mount.into_fs().into_device(), false);
    assert!(read(&mut mount, &mut clock, "/file") == data);
    assert_eq!(mount.fs_mut().audit(&mut clock).unwrap().faults, []);
}

/// The kernel stops; here there is no space, and what is there stays.
#[test]
fn a_full_flash_refuses_and_goes_on() {
    let (mut clock, flash) = made(Format::default());
    let mut mount = mounted(&mut clock, flash, false);
    let mut files = 0;
    let data = noise(50_000);
    let refused = loop {
        let path = format!("/f{files}");
        let fd = match mount.create(&mut clock, &path, 0o644) {
            Ok(fd) => fd,
            Err(error) => break error,
        };
        let written = mount.write(&mut clock, fd, 0, &data);
        mount.fsync(&mut clock, fd).unwrap();
        mount.close(&mut clock, fd).unwrap();
        match written {
            Ok(count) if count == data.len() => files += 1,
            Ok(_) => {
                mount.unlink(&mut clock, &path).unwrap();
                break Errno::NoSpc.into();
            }
            Err(error) => {
                mount.unlink(&mut clock, &path).unwrap();
                break error;
            }
        }
    };
    assert_eq!(refused.errno(), Some(Errno::NoSpc));
    assert!(files > 40, "{files}");
    for number in 0..files / 2 {
        mount.unlink(&mut clock, format!("/f{number}")).unwrap();
    }
    mount.sync(&mut clock).unwrap();
    write(&mut mount, &mut clock, "/new", 0, &data);
    mount.unmount(&mut clock).unwrap();
    let mut mount = mounted(&mut clock, mount.into_fs().into_device(), false);
    assert!(read(&mut mount, &mut clock, &format!("/f{}", files - 1)) == data);
    assert_eq!(mount.fs_mut().audit(&mut clock).unwrap().faults, []);
}

#[test]
fn pages_above_4_kib_and_small_flashes_are_refused() {
    let mut clock = Clock::new();
    for (mut flash, text) in [
        (RamMtd::nand(64, 64, Bytes::kib(8), Bytes::new(256)), "write size is 4096, expected 8192"),
        (RamMtd::nand(20, 64, Bytes::kib(2), Bytes::new(64)), "segments is 20, expected 28"),
    ] {
        let refused = Format::default().make(&mut clock, &mut flash).unwrap_err();
        assert_eq!(refused.to_string(), text);
    }
}

/// The kernel lets a file grow to 8 TiB, and stops when a page behind 512 GiB is written.
#[test]
fn a_file_ends_at_512_gib() {
    let (mut clock, flash) = made(Format::default());
    let mut mount = mounted(&mut clock, flash, false);
    let fd = mount.create(&mut clock, "/file", 0o644).unwrap();
    let end = 512_u64 << 30;
    assert_eq!(mount.write(&mut clock, fd, end - 4, b"last").unwrap(), 4);
    let refused = mount.write(&mut clock, fd, end, b"x").unwrap_err();
    assert_eq!(refused.errno(), Some(Errno::FBig));
    mount.close(&mut clock, fd).unwrap();
    mount.unmount(&mut clock).unwrap();
    let mut mount = mounted(&mut clock, mount.into_fs().into_device(), false);
    assert_eq!(mount.stat(&mut clock, "/file").unwrap().size, end);
    assert_eq!(mount.fs_mut().audit(&mut clock).unwrap().faults, []);
}

/// The kernel does not look whether a program succeeded.
#[test]
fn a_program_that_fails_loses_nothing() {
    let (mut clock, flash) = made(Format::default());
    let rule = Rule::new(Fault::ProgramFails, Trigger::Chance { numerator: 1, denominator: 40 });
    let faulty = FaultInjector::new(flash, Seed::new(1)).rule(rule);
    let mut mount = mounted(&mut clock, faulty, false);
    let data = noise(60 * BLOCK);
    write(&mut mount, &mut clock, "/file", 0, &data);
    mount.sync(&mut clock).unwrap();
    mount.unmount(&mut clock).unwrap();
    let bad = mount.fs().counts().bad_segments;
    assert!(bad > 0);
    let flash = mount.into_fs().into_device().into_inner();
    let mut mount = mounted(&mut clock, flash, false);
    assert!(read(&mut mount, &mut clock, "/file") == data);
    assert_eq!(mount.fs_mut().audit(&mut clock).unwrap().faults, []);
}

/// The kernel goes through the hole in steps of 8 MiB, and writes the inode after each.
#[test]
fn a_long_hole_is_cut_off_at_once() {
    const FAR: u64 = 1 << 38;
    let (mut clock, flash) = made(Format::default());
    let mut mount = mounted(&mut clock, flash, false);
    let (first, middle) = (noise(3 * BLOCK), noise(2 * BLOCK));
    write(&mut mount, &mut clock, "/sparse", 0, &first);
    write(&mut mount, &mut clock, "/sparse", FAR, &middle);
    mount.truncate(&mut clock, "/sparse", FAR + FAR / 2).unwrap();
    mount.truncate(&mut clock, "/sparse", FAR + BLOCK as u64).unwrap();
    mount.sync(&mut clock).unwrap();
    let fd = mount.open(&mut clock, "/sparse").unwrap();
    let mut found = vec![0; BLOCK];
    assert_eq!(mount.read(&mut clock, fd, FAR, &mut found).unwrap(), BLOCK);
    assert_eq!(found, middle[..BLOCK]);
    mount.close(&mut clock, fd).unwrap();
    let before = mount.fs().counts().objects;
    mount.truncate(&mut clock, "/sparse", first.len() as u64).unwrap();
    let written = mount.fs().counts().objects - before;
    assert!(written < 50, "{written} objects");
    assert_eq!(read(&mut mount, &mut clock, "/sparse"), first);
    let used = |mount: &mut Mount<_>, clock: &mut Clock| {
        let space = mount.statfs(clock).unwrap();
        space.blocks - space.free
    };
    mount.unlink(&mut clock, "/sparse").unwrap();
    mount.sync(&mut clock).unwrap();
    let empty = used(&mut mount, &mut clock);
    write(&mut mount, &mut clock, "/far", FAR, &middle);
    mount.unlink(&mut clock, "/far").unwrap();
    mount.sync(&mut clock).unwrap();
    assert_eq!(used(&mut mount, &mut clock), empty, "its blocks are free again");
}

/// The kernel becomes read-only and stops; here the block is an error, which says where, and the others are read.
#[test]
fn a_damaged_block_is_an_error_with_its_place() {
    let data = noise(10 * BLOCK);
    let (mut clock, mut flash) = with_file("/file", &data);
    let at = place(&mut clock, &mut flash, &data[5 * BLOCK..5 * BLOCK + 64]);
    clear(&mut clock, &mut flash, at, 16);
    let mut mount = mounted(&mut clock, flash, false);
    let fd = mount.open(&mut clock, "/file").unwrap();
    let mut found = vec![0; BLOCK];
    for block in 0..10 {
        let outcome = mount.read(&mut clock, fd, (block * BLOCK) as u64, &mut found);
        if block == 5 {
            let error = outcome.unwrap_err();
            assert_eq!(error.errno(), Some(Errno::Io));
            // The header of the object is in front of its data.
            assert!(error.to_string().contains(&format!("{:#x}", at - 28)), "{error}");
        } else {
            assert_eq!(outcome.unwrap(), BLOCK);
            assert!(found == data[block * BLOCK..][..BLOCK], "block {block}");
        }
    }
}

/// The kernel stops; here the segment stays as it is, and its blocks are read.
#[test]
fn garbage_collection_leaves_a_damaged_header_alone() {
    let data = noise(25 * BLOCK);
    // Most of the segment is free after the file is written anew, so that it is worth collecting.
    let (mut clock, flash) = with_file("/other", &data);
    let mut mount = mounted(&mut clock, flash, false);
    let keep = noise(27 * BLOCK)[25 * BLOCK..].to_vec();
    write(&mut mount, &mut clock, "/keep", 0, &keep);
    // No other segment has as much.
    for file in 0..32 {
        write(&mut mount, &mut clock, &format!("/full{file}"), 0, &noise(30 * BLOCK));
    }
    mount.unmount(&mut clock).unwrap();
    let mut flash = mount.into_fs().into_device();
    let segment = place(&mut clock, &mut flash, &keep[..64]) >> 17;
    clear(&mut clock, &mut flash, segment << 17, 4);
    let mut mount = mounted(&mut clock, flash, false);
    for _ in 0..200 {
        write(&mut mount, &mut clock, "/other", 0, &data);
        mount.sync(&mut clock).unwrap();
    }
    let found = &mount.fs().findings().damaged_segments;
    assert!(found.iter().all(|&one| u64::from(one) == segment) && !found.is_empty(), "{found:?}");
    assert!(read(&mut mount, &mut clock, "/keep") == keep);
}

/// The kernel of 3.12 lists names several times.
#[test]
fn a_directory_lists_each_name_once() {
    let (mut clock, flash) = made(Format::default());
    let mut mount = mounted(&mut clock, flash, false);
    let mut names: Vec<_> = (0..700).map(|number| format!("file{number}")).collect();
    for name in &names {
        write(&mut mount, &mut clock, &format!("/{name}"), 0, b"x");
    }
    let listed = mount.readdir(&mut clock, "/").unwrap();
    let mut listed: Vec<_> =
        listed.into_iter().map(|entry| String::from_utf8(entry.name).unwrap()).collect();
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, names);
}

/// The kernel writes no superblock on MTD, so that one copy or both would lead to a journal that was moved.
#[test]
fn both_superblocks_know_a_journal_that_was_moved() {
    let (mut clock, flash) = made(Format::default());
    let quick = Options { wear_delta: 2, ..Options::default() };
    let mut mount = Mount::new(Logfs::mount(&mut clock, flash, quick).unwrap());
    let before: Vec<_> = mount.fs().journal_segments().collect();
    let data = noise(BLOCK);
    let mut syncs = 0;
    while mount.fs().journal_segments().eq(before.iter().copied()) {
        assert!(syncs < 4_000, "the journal is never moved");
        write(&mut mount, &mut clock, "/file", 0, &data);
        mount.sync(&mut clock).unwrap();
        syncs += 1;
    }
    // What the old journal knows nothing of.
    let data = noise(3 * BLOCK);
    write(&mut mount, &mut clock, "/file", 0, &data);
    mount.unmount(&mut clock).unwrap();
    let flash = mount.into_fs().into_device();
    let last = flash.geometry().size().get() - BLOCK as u64;
    for copy in [0, last] {
        let mut flash = flash.clone();
        // The segment of the first superblock has a header of 24 bytes in front of it.
        clear(&mut clock, &mut flash, copy, 2_048);
        let mut mount = mounted(&mut clock, flash, false);
        assert!(read(&mut mount, &mut clock, "/file") == data, "without the copy at {copy:#x}");
    }
}

/// The kernel stops when the used bytes of an open segment are all of it at a commit.
#[test]
fn objects_may_end_where_their_segment_ends() {
    const BLOCKS: usize = 40;
    let written = |data: &[u8]| {
        let (mut clock, flash) = made(Format { compress: true, ..Format::default() });
        let mut mount = mounted(&mut clock, flash, false);
        write(&mut mount, &mut clock, "/file", 0, data);
        mount.sync(&mut clock).unwrap();
        write(&mut mount, &mut clock, "/more", 0, &data[..3 * BLOCK]);
        mount.unmount(&mut clock).unwrap();
        (clock, mount.into_fs().into_device())
    };
    let data = noise(BLOCKS * BLOCK);
    let (mut clock, mut flash) = written(&data);
    let mut at = |block: usize| place(&mut clock, &mut flash, &data[block * BLOCK..][..64]);
    let end = ((at(0) >> 17) + 1) << 17;
    // The first block that found no room, and the room that was there for its data.
    let next = (1..BLOCKS).find(|&block| at(block) >= end).expect("more than a segment");
    let room = usize::try_from(end - at(next - 1)).unwrap() - BLOCK - 28;
    let mut ended_there = 0;
    // zlib adds some 66 bytes to noise and zeros.
    let each = (room - 80..room - 60).flat_map(|random| [0, 1, 2].map(|last| (random, last)));
    for (random, last) in each {
        let mut data = data.clone();
        data[next * BLOCK..][random..BLOCK].fill(0);
        data[(next + 1) * BLOCK - 1] = last;
        let (mut clock, mut flash) = written(&data);
        let mut bytes = [0; 1];
        flash.read(&mut clock, Bytes::new(end - 1), &mut bytes).unwrap();
        ended_there += u32::from(bytes != [0xFF]);
        let mut mount = mounted(&mut clock, flash, false);
        assert!(read(&mut mount, &mut clock, "/file") == data, "{random}, {last}");
        assert!(read(&mut mount, &mut clock, "/more") == data[..3 * BLOCK]);
        assert_eq!(mount.fs_mut().audit(&mut clock).unwrap().faults, []);
    }
    assert!(ended_there > 0, "{room} bytes of room");
}
