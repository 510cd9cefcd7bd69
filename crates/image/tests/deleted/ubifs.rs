//! Deleted files of UBIFS, before and after commits.

use crate::{
    Damage, DeletedTree, Kind, Limits, assert_xattrs, content, extract, found, fs, listed,
    scratch::Scratch, unlike, work_with_xattrs, write,
};
use boardlab_image::{Contents, Hints, open};
use boardlab_sim::{Clock, Duration, Seed};
use boardlab_ubi::{LebIndex, RamLebs, Shape};
use boardlab_ubifs::{History, Options, Ubifs};
use boardlab_vfs::{Device, Mount, WallClock};
use std::collections::BTreeMap;

const START: i64 = 1_700_000_000;
const LEB: u32 = 15_872;
const LEBS: u32 = 120;
const SHAPE: Shape =
    Shape { leb_count: LEBS, leb_size: LEB, leb_start: 0, min_io: 512, max_write: 512 };

/// The image after `work`; the journal is committed at the end, or replayed by who reads it.
fn after(commits: bool, work: impl FnOnce(&mut Mount<Ubifs<RamLebs>>, &mut Clock)) -> Vec<u8> {
    let mut clock = Clock::new();
    let options = Options { wall: WallClock { start: START }, ..Options::default() };
    let fs = Ubifs::mount(&mut clock, RamLebs::new(SHAPE), options).unwrap();
    let mut mount = Mount::new(fs);
    work(&mut mount, &mut clock);
    mount.sync(&mut clock).unwrap();
    if commits {
        mount.unmount(&mut clock).unwrap();
    }
    let lebs = mount.fs().lebs();
    let whole = |leb| {
        let mut bytes = lebs.content(LebIndex(leb)).unwrap_or_default().to_vec();
        bytes.resize(usize::try_from(LEB).unwrap(), 0xFF);
        bytes
    };
    (0..LEBS).flat_map(whole).collect()
}

/// The LEBs of an image.
fn lebs_of(image: &[u8]) -> RamLebs {
    RamLebs::with_image(SHAPE, image)
}

/// Files of every kind, some of which are deleted in some way.
fn work(mount: &mut Mount<Ubifs<RamLebs>>, clock: &mut Clock) {
    mount.mkdir(clock, "/etc", 0o755).unwrap();
    mount.mkdir(clock, "/gone", 0o711).unwrap();
    mount.mkdir(clock, "/gone/deep", 0o700).unwrap();
    for (path, length, seed) in [
        ("/etc/keep", 9_000, 1),
        ("/etc/gone", 10_000, 2),
        ("/gone/deep/file", 3_000, 3),
        ("/replaced", 5_000, 4),
        ("/new", 100, 5),
        ("/twice", 700, 6),
        ("/moved", 1_000, 7),
        ("/linked", 1_500, 8),
    ] {
        write(mount, clock, path, (0, &unlike(length, seed)));
    }
    mount.sync(clock).unwrap();
    write(mount, clock, "/etc/gone", (4_000, &unlike(2_000, 20)));
    mount.truncate(clock, "/etc/gone", 5_000).unwrap();
    write(mount, clock, "/etc/gone", (20_000, &unlike(500, 21)));
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
    let mut bytes = unlike(10_000, 2);
    bytes[4_000..6_000].copy_from_slice(&unlike(2_000, 20));
    bytes.truncate(5_000);
    bytes.resize(20_000, 0);
    bytes.extend(unlike(500, 21));
    bytes
}

#[test]
fn deleted_files_come_back_with_their_last_content_where_they_were() {
    for commits in [false, true] {
        let image = after(commits, work);
        let (mut tree, mut clock) = found(&image);
        assert!(!tree.is_cut());
        let all = listed(&mut tree, &mut clock);
        for (path, bytes, time) in [
            ("/etc/gone", gone(), 100),
            ("/gone/deep/file", unlike(3_000, 3), 100),
            ("/replaced", unlike(5_000, 4), 100),
            ("/twice", unlike(800, 9), 150),
            ("/etc/moved", unlike(1_000, 7), 100),
        ] {
            let (ino, file) = &all[path];
            let attributes = file.attributes.unwrap();
            assert_eq!((attributes.kind, attributes.mode), (Kind::File, 0o640), "{path}");
            assert_eq!(attributes.size, bytes.len() as u64, "{path}");
            assert!(content(&mut tree, &mut clock, *ino, attributes.size) == bytes, "{path}");
            // A hole behind what was cut off has nothing on the flash.
            let hole = "bytes 10000 to 16383 are gone, or a hole".to_owned();
            assert_eq!(file.loss(), (path == "/etc/gone").then_some(hole), "{path}");
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
        assert_eq!(all.len(), 10, "{:?}", all.keys());
    }
}

#[test]
fn deleted_files_have_the_extended_attributes_that_they_had_last() {
    for commits in [false, true] {
        let mut image = after(commits, work_with_xattrs);
        assert_xattrs(&image);
        // The inode counts them, also those whose value is gone.
        let value = unlike(300, 7);
        let places = (0..image.len() - 300).filter(|&at| image[at..at + 300] == value);
        let places: Vec<usize> = places.collect();
        assert!(!places.is_empty());
        places.into_iter().for_each(|at| image[at] ^= 1);
        let (mut tree, mut clock) = found(&image);
        let loss = listed(&mut tree, &mut clock)["/a"].1.loss();
        assert_eq!(loss, Some("an extended attribute is gone".into()));
    }
}

#[test]
fn an_older_commit_knows_of_no_later_deletion() {
    let image = after(true, |mount, clock| {
        for path in ["/first", "/second", "/third"] {
            write(mount, clock, path, (0, &unlike(2_000, path.len() as u64)));
        }
        mount.unlink(clock, "/first").unwrap();
        mount.unmount(clock).unwrap();
        mount.fs_mut().remount_writable(clock).unwrap();
        mount.unlink(clock, "/second").unwrap();
        mount.sync(clock).unwrap();
    });
    let commits = History::read(&mut Clock::new(), lebs_of(&image), Options::default()).unwrap();
    let commits: Vec<u64> = commits.commits().iter().map(|commit| commit.number).collect();
    let mut seen = Vec::new();
    for number in commits {
        let hints = Hints { commit: Some(number), ..Hints::default() };
        let mut older = open(&Contents::of(image.clone()), &hints).unwrap();
        let mut tree = DeletedTree::of(older.fs.deleted(&mut older.clock).unwrap());
        seen.push(listed(&mut tree, &mut older.clock).into_keys().collect::<Vec<_>>());
    }
    assert_eq!(seen.last().unwrap(), &["/first", "/second"]);
    assert!(seen.iter().any(|paths| paths == &["/first"]), "{seen:?}");
}

#[test]
fn damaged_nodes_are_no_content_and_are_told() {
    let mut image = after(true, work);
    let bytes = &unlike(3_000, 3)[..50];
    let places: Vec<usize> =
        (0..image.len() - 50).filter(|&at| &image[at..at + 50] == bytes).collect();
    assert_eq!(places.len(), 1, "one node");
    image[places[0]] ^= 1;
    let (mut tree, mut clock) = found(&image);
    let mut damage = Damage::default();
    let losses = tree.losses().map(|(ino, words)| (u32::try_from(ino.0).unwrap(), words));
    damage.audit.inode_damage.extend(losses);
    let scratch = Scratch::new("ubifs");
    let target = scratch.0.join("deleted");
    let done = extract(&mut tree, &mut clock, b"/", &target, damage, Limits::default()).unwrap();
    let lost: Vec<String> = done
        .skipped
        .into_iter()
        .filter(|one| one.why.is_loss())
        .map(|one| format!("{}: {}", String::from_utf8_lossy(&one.path), one.why))
        .collect();
    assert!(
        lost.iter()
            .any(|one| one == "/gone/deep/file: damaged: bytes 0 to 2999 are gone, or a hole"),
        "{lost:?}"
    );
    assert!(fs::read(target.join("gone/deep/file")).unwrap() == vec![0; 3_000]);
    assert!(fs::read(target.join("replaced")).unwrap() == unlike(5_000, 4));
}

#[test]
fn files_that_were_written_on_and_on_show_what_was_in_them_or_that_it_is_gone() {
    let (mut whole, mut lossy) = (0, 0);
    for seed in 0..6 {
        let mut stream = Seed::new(seed).stream("files");
        let mut living: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut deleted: Vec<Vec<u8>> = Vec::new();
        let image = after(seed % 2 == 0, |mount, clock| {
            for number in 0..40_u64 {
                let path = format!("/f{}", stream.below(6));
                if living.contains_key(&path) && stream.below(3) == 0 {
                    mount.sync(clock).unwrap();
                    mount.unlink(clock, &path).unwrap();
                    deleted.push(living.remove(&path).unwrap());
                    continue;
                }
                let (at, length) = (stream.below(9_000), stream.below(6_000) + 1);
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
        assert_eq!(all.len(), deleted.len(), "{:?}", all.keys());
        for (path, (ino, file)) in &all {
            let size = file.attributes.map_or(0, |found| found.size);
            let bytes = content(&mut tree, &mut clock, *ino, size);
            let is_gone = |at: usize| file.content.gone.iter().any(|it| it.contains(&(at as u64)));
            let is_it = |file: &Vec<u8>| {
                file.len() == bytes.len()
                    && (0..bytes.len()).all(|at| bytes[at] == file[at] || is_gone(at))
            };
            assert!(deleted.iter().any(is_it), "{seed}: {path}");
            whole += usize::from(file.loss().is_none());
            lossy += usize::from(file.loss().is_some());
        }
    }
    assert!(whole > 5 && lossy > 5, "{whole} {lossy}");
}

#[test]
fn random_bytes_in_place_of_nodes_neither_end_the_search_nor_invent_files() {
    let whole = after(true, work);
    for round in 0..60 {
        let mut stream = Seed::new(round).stream("damage");
        let mut image = whole.clone();
        for _ in 0..20 {
            let at = usize::try_from(stream.below(image.len() as u64)).unwrap();
            image[at] ^= stream.next_u64().to_le_bytes()[0];
        }
        if open(&Contents::of(image.clone()), &Hints::default()).is_err() {
            continue;
        }
        let (mut tree, mut clock) = found(&image);
        for (path, (ino, file)) in listed(&mut tree, &mut clock) {
            let size = file.attributes.map_or(0, |found| found.size);
            let bytes = content(&mut tree, &mut clock, ino, size.min(1 << 20));
            if path == "/replaced" && file.loss().is_none() {
                assert!(bytes == unlike(5_000, 4), "{round}: {path}");
            }
        }
    }
}
