//! Deleted files of LogFS, with compression and without.

use crate::scratch::Scratch;
use crate::{
    Damage, DeletedTree, Kind, Limits, content, extract, found, fs, listed, unlike, write,
};
use boardlab_image::{Contents, Hints, open};
use boardlab_logfs::format::object::ObjectHeader;
use boardlab_logfs::mkfs::Format;
use boardlab_logfs::{Logfs, Options};
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock, Duration, Seed};
use boardlab_vfs::{Device, Mount, WallClock};
use std::collections::BTreeMap;

const START: i64 = 1_700_000_000;
const SEGMENT: usize = 131_072;

/// The image after `work`, in which a page has no spare bytes; with `ends` the last commit is that of the unmount.
fn after(
    compress: bool,
    ends: bool,
    work: impl FnOnce(&mut Mount<Logfs<RamMtd>>, &mut Clock),
) -> Vec<u8> {
    let mut clock = Clock::new();
    let mut flash = RamMtd::nor(64, Bytes::kib(128));
    let format = Format { compress, ..Format::default() };
    format.make(&mut clock, &mut flash).unwrap();
    let options = Options { wall: WallClock { start: START }, ..Options::default() };
    let mut mount = Mount::new(Logfs::mount(&mut clock, flash, options).unwrap());
    work(&mut mount, &mut clock);
    mount.sync(&mut clock).unwrap();
    if ends {
        mount.unmount(&mut clock).unwrap();
    }
    mount.fs().device().image()
}

/// Files of every kind, some of which are deleted in some way.
fn work(mount: &mut Mount<Logfs<RamMtd>>, clock: &mut Clock) {
    mount.mkdir(clock, "/etc", 0o755).unwrap();
    mount.mkdir(clock, "/gone", 0o711).unwrap();
    mount.mkdir(clock, "/gone/deep", 0o700).unwrap();
    for (path, length, seed) in [
        ("/etc/keep", 9_000, 1),
        ("/etc/gone", 30_000, 2),
        ("/gone/deep/file", 3_000, 3),
        ("/replaced", 5_000, 4),
        ("/new", 100, 5),
        ("/twice", 700, 6),
        ("/moved", 1_000, 7),
        ("/linked", 1_500, 8),
        ("/large", 200_000, 10),
    ] {
        write(mount, clock, path, (0, &unlike(length, seed)));
    }
    mount.sync(clock).unwrap();
    write(mount, clock, "/etc/gone", (4_000, &unlike(2_000, 20)));
    mount.truncate(clock, "/etc/gone", 5_000).unwrap();
    write(mount, clock, "/etc/gone", (40_000, &unlike(500, 21)));
    mount.truncate(clock, "/large", 100_000).unwrap();
    mount.sync(clock).unwrap();
    write(mount, clock, "/large", (150_000, &unlike(50_000, 22)));
    write(mount, clock, "/large", (70_000, &unlike(10_000, 23)));
    mount.symlink(clock, "../target", "/etc/link").unwrap();
    let device = Kind::Character(Device { major: 5, minor: 1 });
    mount.mknod(clock, "/etc/device", device, 0o600).unwrap();
    mount.link(clock, "/linked", "/etc/linked").unwrap();
    mount.rename(clock, "/moved", "/etc/moved").unwrap();
    mount.sync(clock).unwrap();
    clock.advance(Duration::from_secs(100));
    for path in [
        "/etc/gone",
        "/gone/deep/file",
        "/twice",
        "/etc/link",
        "/etc/device",
        "/etc/moved",
        "/linked",
        "/large",
    ] {
        mount.unlink(clock, path).unwrap();
    }
    mount.rmdir(clock, "/gone/deep").unwrap();
    mount.rmdir(clock, "/gone").unwrap();
    mount.rename(clock, "/new", "/replaced").unwrap();
    clock.advance(Duration::from_secs(50));
    write(mount, clock, "/twice", (0, &unlike(800, 9)));
    mount.sync(clock).unwrap();
    mount.unlink(clock, "/twice").unwrap();
}

/// The content of `/etc/gone` when it was deleted.
fn gone() -> Vec<u8> {
    let mut bytes = unlike(30_000, 2);
    bytes[4_000..6_000].copy_from_slice(&unlike(2_000, 20));
    bytes.truncate(5_000);
    bytes.resize(40_000, 0);
    bytes.extend(unlike(500, 21));
    bytes
}

/// The content of `/large`, which has blocks of pointers.
fn large() -> Vec<u8> {
    let mut bytes = unlike(200_000, 10);
    bytes.truncate(100_000);
    bytes.resize(150_000, 0);
    bytes.extend(unlike(50_000, 22));
    bytes[70_000..80_000].copy_from_slice(&unlike(10_000, 23));
    bytes
}

/// The files of [`work`] that are deleted, with their content and the time.
fn expected() -> [(&'static str, Vec<u8>, i64); 6] {
    [
        ("/etc/gone", gone(), 100),
        ("/gone/deep/file", unlike(3_000, 3), 100),
        ("/replaced", unlike(5_000, 4), 100),
        ("/twice", unlike(800, 9), 150),
        ("/etc/moved", unlike(1_000, 7), 100),
        ("/large", large(), 100),
    ]
}

#[test]
fn deleted_files_come_back_with_their_last_content_where_they_were() {
    for (compress, ends) in [(false, false), (false, true), (true, true)] {
        let image = after(compress, ends, work);
        let (mut tree, mut clock) = found(&image);
        assert!(!tree.is_cut());
        let all = listed(&mut tree, &mut clock);
        for (path, bytes, time) in expected() {
            let (ino, file) = &all[path];
            let attributes = file.attributes.unwrap();
            assert_eq!((attributes.kind, attributes.mode), (Kind::File, 0o640), "{path}");
            assert_eq!(attributes.size, bytes.len() as u64, "{path}");
            let hole = "bytes 102400 to 147455 are gone, or a hole".to_owned();
            assert_eq!(file.loss(), (path == "/large").then_some(hole), "{path}");
            let shown = content(&mut tree, &mut clock, *ino, attributes.size);
            let wrong = (0..bytes.len()).find(|&at| shown[at] != bytes[at]);
            assert_eq!(wrong, None, "{path}");
            let deleted = file.deleted.map(|at| at.seconds - START);
            assert_eq!(deleted, Some(time), "{path}");
        }
        let twice = all.keys().filter(|path| path.starts_with("/twice#")).collect::<Vec<_>>();
        assert_eq!(twice.len(), 1, "{:?}", all.keys());
        let (ino, _) = &all[twice[0]];
        assert!(content(&mut tree, &mut clock, *ino, 700) == unlike(700, 6));
        let kind = |path: &str| all[path].1.attributes.unwrap().kind;
        assert_eq!(kind("/gone"), Kind::Directory);
        assert_eq!(kind("/gone/deep"), Kind::Directory);
        assert_eq!(kind("/etc/device"), Kind::Character(Device { major: 5, minor: 1 }));
        assert_eq!(all["/etc/link"].1.target, b"../target");
        for path in ["/etc", "/etc/keep", "/linked", "/etc/linked", "/new", "/moved"] {
            assert!(!all.contains_key(path), "{path}");
        }
        assert_eq!(all.len(), 11, "{:?}", all.keys());
    }
}

/// Extracts the deleted files into `target`; what is lost, in words.
fn lost(image: &[u8], target: &std::path::Path) -> Vec<String> {
    let (mut tree, mut clock) = found(image);
    let damage = Damage::of_deleted(&tree, None);
    let done = extract(&mut tree, &mut clock, b"/", target, damage, Limits::default()).unwrap();
    let lost = done.skipped.into_iter().filter(|one| one.why.is_loss());
    lost.map(|one| format!("{}: {}", String::from_utf8_lossy(&one.path), one.why)).collect()
}

#[test]
fn damaged_blocks_are_no_content_and_are_told() {
    let mut image = after(false, true, work);
    let scratch = Scratch::new("logfs-whole");
    let hole = "/large: damaged: bytes 102400 to 147455 are gone, or a hole";
    assert_eq!(lost(&image, &scratch.0.join("deleted")), [hole]);
    for (path, bytes, _) in expected() {
        let path = scratch.0.join("deleted").join(&path[1..]);
        assert!(fs::read(&path).unwrap() == bytes, "{path:?}");
    }
    // A block with nothing older below it, and one with an older content, whose pointer is in the inode.
    for bytes in [&unlike(3_000, 3)[..50], &gone()[4_100..4_150]] {
        let places: Vec<usize> =
            (0..image.len() - 50).filter(|&at| image[at..at + 50] == *bytes).collect();
        assert!(!places.is_empty());
        places.into_iter().for_each(|at| image[at] ^= 1);
    }
    let scratch = Scratch::new("logfs-damaged");
    let target = scratch.0.join("deleted");
    assert_eq!(
        lost(&image, &target),
        [
            "/etc/gone: damaged: bytes 4096 to 8191 are older: the newest there is damaged",
            "/gone/deep/file: damaged: bytes 0 to 2999 are gone",
            hole
        ]
    );
    assert!(fs::read(target.join("gone/deep/file")).unwrap() == vec![0; 3_000]);
    assert!(fs::read(target.join("replaced")).unwrap() == unlike(5_000, 4));
    let older = fs::read(target.join("etc/gone")).unwrap();
    assert!(older[4_096..5_000] == unlike(30_000, 2)[4_096..5_000]);
}

#[test]
fn what_was_written_after_the_last_commit_is_not_shown() {
    let mut committed = Vec::new();
    let image = after(false, false, |mount, clock| {
        write(mount, clock, "/file", (0, &unlike(9_000, 1)));
        mount.sync(clock).unwrap();
        mount.unlink(clock, "/file").unwrap();
        mount.sync(clock).unwrap();
        committed = mount.fs().device().image();
        write(mount, clock, "/other", (0, &unlike(400_000, 2)));
        mount.sync(clock).unwrap();
        // In a segment that was begun after that commit.
        write(mount, clock, "/third", (0, &unlike(100, 3)));
    });
    // The journal of the commit, with the segments of then and of later.
    let mut cut = image;
    for (now, then) in cut.chunks_mut(SEGMENT).zip(committed.chunks(SEGMENT)) {
        if then[6] == 2 || now[6] == 2 {
            now.copy_from_slice(then);
        }
    }
    let has_more =
        cut.chunks(SEGMENT).zip(committed.chunks(SEGMENT)).any(|(now, then)| now != then);
    assert!(has_more);
    let (mut tree, mut clock) = found(&cut);
    let all = listed(&mut tree, &mut clock);
    assert_eq!(all.keys().collect::<Vec<_>>(), ["/file"]);
    assert!(content(&mut tree, &mut clock, all["/file"].0, 9_000) == unlike(9_000, 1));
}

/// The offsets of the objects of an image, with their headers.
fn objects(image: &[u8]) -> Vec<(usize, ObjectHeader)> {
    let at = |at: usize| Some((at, ObjectHeader::parse(image.get(at..at + 28)?).ok()?));
    (0..image.len()).filter_map(at).collect()
}

#[test]
fn without_the_inode_the_blocks_are_there_and_what_is_not_known_is_told() {
    let mut image = after(false, true, work);
    let number = {
        let (mut tree, mut clock) = found(&image);
        listed(&mut tree, &mut clock)["/gone/deep/file"].1.ino
    };
    for (at, header) in objects(&image) {
        if header.ino == 1 && header.bix == number {
            image[at + 28] ^= 1;
        }
    }
    let (mut tree, mut clock) = found(&image);
    let all = listed(&mut tree, &mut clock);
    let (ino, file) = &all["/gone/deep/file"];
    assert_eq!((file.deleted, file.content.left), (None, 4_096));
    let bytes = content(&mut tree, &mut clock, *ino, 4_096);
    assert!(bytes[..3_000] == unlike(3_000, 3) && bytes[3_000..].iter().all(|&byte| byte == 0));
    assert!(
        file.loss().is_some_and(|loss| loss.contains("its inode is gone")),
        "{:?}",
        file.loss()
    );
}

#[test]
fn a_block_without_a_pointer_that_is_gone_is_no_hole_unless_it_is_told() {
    let whole = after(false, true, work);
    let number = {
        let (mut tree, mut clock) = found(&whole);
        listed(&mut tree, &mut clock)["/large"].1.ino
    };
    let (right, older) = (large(), unlike(200_000, 10));
    let mut told = 0;
    let data = objects(&whole).into_iter().filter(|(_, header)| header.ino == number);
    for (at, _) in data {
        let mut image = whole.clone();
        // Without its header an object is not found at all.
        image[at + 8] ^= 1;
        let (mut tree, mut clock) = found(&image);
        let all = listed(&mut tree, &mut clock);
        let (ino, file) = &all["/large"];
        let bytes = content(&mut tree, &mut clock, *ino, file.attributes.unwrap().size);
        // What is erased leaves no trace: an older content comes back, if there is one, and never zeros.
        let is_one = |at: usize| bytes[at] == right[at] || bytes[at] == older[at];
        assert!(file.loss().is_some() || (0..right.len()).all(is_one), "{at:#x}");
        told += usize::from(file.loss().is_some());
    }
    assert!(told > 20, "{told}");
}

#[test]
fn files_that_were_written_on_and_on_show_what_was_in_them_or_that_it_is_gone() {
    let (mut whole, mut lossy) = (0, 0);
    for seed in 0..8 {
        let mut stream = Seed::new(seed).stream("files");
        let mut living: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut deleted: Vec<Vec<u8>> = Vec::new();
        let image = after(seed % 3 == 0, seed % 2 == 0, |mount, clock| {
            for number in 0..400_u64 {
                let path = format!("/f{}", stream.below(6));
                if living.contains_key(&path) && stream.below(6) == 0 {
                    // What is in memory only never reaches the flash.
                    mount.sync(clock).unwrap();
                    mount.unlink(clock, &path).unwrap();
                    deleted.push(living.remove(&path).unwrap());
                    continue;
                }
                if let Some(file) = living.get_mut(&path).filter(|_| stream.below(5) == 0) {
                    let size = stream.below(file.len() as u64 + 1);
                    mount.truncate(clock, &path, size).unwrap();
                    file.truncate(usize::try_from(size).unwrap());
                    continue;
                }
                let (at, length) = (stream.below(120_000), stream.below(30_000) + 1);
                let bytes = unlike(usize::try_from(length).unwrap(), 1_000 + number);
                write(mount, clock, &path, (at, &bytes));
                let file = living.entry(path).or_default();
                let end = usize::try_from(at).unwrap() + bytes.len();
                file.resize(file.len().max(end), 0);
                file[end - bytes.len()..end].copy_from_slice(&bytes);
            }
        });
        let (mut tree, mut clock) = found(&image);
        let all = listed(&mut tree, &mut clock);
        assert!(!deleted.is_empty());
        for (path, (ino, file)) in &all {
            let size = file.attributes.map_or(0, |found| found.size);
            let bytes = content(&mut tree, &mut clock, *ino, size);
            let is_gone = |at: usize| file.content.gone.iter().any(|it| it.contains(&(at as u64)));
            let is_it = |file: &Vec<u8>| {
                file.len() == bytes.len()
                    && (0..bytes.len()).all(|at| bytes[at] == file[at] || is_gone(at))
            };
            let is_told = file.loss().is_some_and(|loss| !loss.starts_with("bytes"));
            assert!(is_told || deleted.iter().any(is_it), "{seed}: {path}: {:?}", file.loss());
            whole += usize::from(file.loss().is_none());
            lossy += usize::from(file.loss().is_some());
        }
    }
    assert!(whole > 5, "{whole} {lossy}");
}

#[test]
fn an_image_of_a_kernel_is_searched_to_its_end() {
    let packed = include_bytes!("../data/logfs/linux-3.6.deflate");
    let mut image = vec![0; 256 * 64 * 2_112];
    boardlab_codec::zlib::Inflate::new().raw(packed, &mut image).unwrap();
    let (mut tree, mut clock) = found(&image);
    // The sample has zeros in place of what nothing leads to, so of one file that was removed only headers are left.
    let all = listed(&mut tree, &mut clock);
    assert_eq!(all.keys().collect::<Vec<_>>(), ["/lost+found/#23"]);
    let file = &all["/lost+found/#23"].1;
    assert_eq!((file.attributes.unwrap().size, file.content.left), (4 << 20, 0));
    assert!(file.loss().is_some_and(|loss| loss.starts_with("its inode is gone")));
}

#[test]
fn random_bytes_in_place_of_objects_neither_end_the_search_nor_invent_content() {
    let whole = after(true, true, work);
    let used: Vec<usize> =
        (0..whole.len()).step_by(512).filter(|&at| whole[at..at + 512] != [0xFF; 512]).collect();
    let mut opened = 0;
    for round in 0..60 {
        let mut stream = Seed::new(round).stream("damage");
        let mut image = whole.clone();
        for _ in 0..20 {
            let at = used[usize::try_from(stream.below(used.len() as u64)).unwrap()];
            let at = at + usize::try_from(stream.below(512)).unwrap();
            image[at] ^= stream.next_u64().to_le_bytes()[0];
        }
        if open(&Contents::of(image.clone()), &Hints::default()).is_err() {
            continue;
        }
        opened += 1;
        let (mut tree, mut clock): (DeletedTree, _) = found(&image);
        for (path, (ino, file)) in listed(&mut tree, &mut clock) {
            let size = file.attributes.map_or(0, |found| found.size);
            let bytes = content(&mut tree, &mut clock, ino, size.min(1 << 20));
            if path == "/replaced" && file.loss().is_none() {
                assert!(bytes == unlike(5_000, 4), "{round}: {path}");
            }
        }
    }
    assert!(opened > 10, "{opened}");
}
