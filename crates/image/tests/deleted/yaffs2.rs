//! Deleted files of YAFFS2, whose lives a number of an object has several of.

use crate::{
    Kind, assert_xattrs, content, found, listed, living, past, refused, unlike, work_with_xattrs,
    write,
};
use boardlab_image::{Contents, Hints, open};
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{Device, FileSystem, Mount, WallClock};
use boardlab_yaffs2::{Options, TagsPlace, Yaffs};
use std::collections::BTreeMap;

const PAGE: usize = 2_048;
/// Bytes of data of a page whose tags are in band.
const CHUNK: usize = PAGE - 16;
const TIME: i64 = 1_700_000_000;

/// The image after `work`, with tags in band.
fn after(work: impl FnOnce(&mut Mount<Yaffs<RamMtd>>, &mut Clock)) -> Vec<u8> {
    let mut clock = Clock::new();
    let flash = RamMtd::nand(24, 64, Bytes::new(PAGE as u64), Bytes::new(64));
    let wall = WallClock { start: TIME };
    let options = Options { tags: TagsPlace::InBand, wall, ..Options::default() };
    let mut mount = Mount::new(Yaffs::mount(&mut clock, flash, options).unwrap());
    work(&mut mount, &mut clock);
    mount.sync(&mut clock).unwrap();
    mount.fs().device().image()
}

fn work(mount: &mut Mount<Yaffs<RamMtd>>, clock: &mut Clock) {
    mount.mkdir(clock, "/etc", 0o755).unwrap();
    mount.mkdir(clock, "/gone", 0o711).unwrap();
    for (path, length, seed) in [
        ("/etc/keep", 9_000, 1),
        ("/etc/gone", 10_000, 2),
        ("/gone/file", 3_000, 3),
        ("/replaced", 5_000, 4),
        ("/new", 100, 5),
        ("/twice", 700, 6),
    ] {
        write(mount, clock, path, (0, &unlike(length, seed)));
    }
    write(mount, clock, "/etc/gone", (4_000, &unlike(2_000, 20)));
    mount.truncate(clock, "/etc/gone", 5_000).unwrap();
    write(mount, clock, "/etc/gone", (20_000, &unlike(500, 21)));
    mount.symlink(clock, "../target", "/etc/link").unwrap();
    let device = Kind::Character(Device { major: 5, minor: 1 });
    mount.mknod(clock, "/etc/device", device, 0o600).unwrap();
    for path in ["/etc/gone", "/gone/file", "/twice", "/etc/link", "/etc/device"] {
        mount.unlink(clock, path).unwrap();
    }
    mount.rmdir(clock, "/gone").unwrap();
    mount.rename(clock, "/new", "/replaced").unwrap();
    write(mount, clock, "/twice", (0, &unlike(800, 9)));
    mount.unlink(clock, "/twice").unwrap();
}

fn gone() -> Vec<u8> {
    let mut bytes = unlike(10_000, 2);
    bytes[4_000..6_000].copy_from_slice(&unlike(2_000, 20));
    bytes.truncate(5_000);
    bytes.resize(20_000, 0);
    bytes.extend(unlike(500, 21));
    bytes
}

fn expected() -> BTreeMap<&'static str, Vec<u8>> {
    BTreeMap::from([
        ("/etc/gone", gone()),
        ("/gone/file", unlike(3_000, 3)),
        ("/replaced", unlike(5_000, 4)),
        ("/twice", unlike(800, 9)),
    ])
}

#[test]
fn deleted_files_come_back_with_their_last_content_where_they_were() {
    let image = after(work);
    let (mut tree, mut clock) = found(&image);
    let all = listed(&mut tree, &mut clock);
    for (path, bytes) in expected() {
        let (ino, file) = &all[path];
        let attributes = file.attributes.unwrap();
        assert_eq!((attributes.kind, attributes.mode), (Kind::File, 0o640), "{path}");
        assert_eq!(attributes.size, bytes.len() as u64, "{path}");
        let hole = "bytes 5000 to 18287 are gone, or a hole".to_owned();
        assert_eq!(file.loss(), (path == "/etc/gone").then_some(hole));
        assert!(content(&mut tree, &mut clock, *ino, attributes.size) == bytes, "{path}");
        assert_eq!(file.deleted, None, "YAFFS does not write it");
    }
    // The first life of an object that had the number twice.
    let twice: Vec<_> = all.keys().filter(|path| path.starts_with("/twice#")).collect();
    assert_eq!(twice.len(), 1, "{:?}", all.keys());
    let (ino, _) = &all[twice[0]];
    assert!(content(&mut tree, &mut clock, *ino, 700) == unlike(700, 6));
    let kind = |path: &str| all[path].1.attributes.unwrap().kind;
    assert_eq!(kind("/gone"), Kind::Directory);
    assert_eq!(kind("/etc/device"), Kind::Character(Device { major: 5, minor: 1 }));
    assert_eq!(all["/etc/link"].1.target, b"../target");
    for path in ["/etc", "/etc/keep", "/new"] {
        assert!(!all.contains_key(path), "{path}");
    }
    assert_eq!(all.len(), 8, "{:?}", all.keys());
}

#[test]
fn deleted_files_have_the_extended_attributes_that_they_had_last() {
    assert_xattrs(&after(work_with_xattrs));
}

#[test]
fn pages_that_are_erased_are_told_and_the_rest_is_right() {
    let whole = after(work);
    let mut stream = Seed::new(5).stream("erased");
    let is_used = |page: &usize| whole[page * PAGE..][..PAGE].iter().any(|&byte| byte != 0xFF);
    let used: Vec<_> = (0..whole.len() / PAGE).filter(is_used).collect();
    let mut lossy = 0;
    for round in 0..60 {
        let mut image = whole.clone();
        let page = used[usize::try_from(stream.below(used.len() as u64)).unwrap()];
        image[page * PAGE..][..PAGE].fill(0xFF);
        if open(&Contents::of(image.clone()), &Hints::default()).is_err() {
            continue;
        }
        let (mut tree, mut clock) = found(&image);
        let all = listed(&mut tree, &mut clock);
        for (path, seed, length) in
            [("/gone/file", 3, 3_000), ("/replaced", 4, 5_000), ("/twice", 9, 800)]
        {
            let Some((ino, file)) = all.get(path) else { continue };
            let size = file.attributes.map_or(0, |found| found.size);
            let bytes = content(&mut tree, &mut clock, *ino, size);
            let right = unlike(length, seed);
            if bytes.len() != right.len() {
                // The header with the size is the page that was erased.
                continue;
            }
            lossy += usize::from(file.loss().is_some());
            let is_gone =
                |at: usize| file.content.gone.iter().any(|gone| gone.contains(&(at as u64)));
            // Of `/twice` the name may be that of the first life.
            let wrong = (0..bytes.len()).find(|&at| bytes[at] != right[at] && !is_gone(at));
            assert_eq!(wrong, None, "{round}: {path}");
            let lost = (0..bytes.len()).filter(|&at| is_gone(at)).count();
            assert!(lost == 0 || lost == CHUNK.min(length) || lost == length % CHUNK, "{lost}");
        }
    }
    assert!(lossy > 2, "{lossy}");
}

#[test]
fn files_that_were_written_on_and_on_never_show_what_was_not_in_them() {
    for seed in 0..6 {
        let mut stream = Seed::new(seed).stream("files");
        let mut last: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let image = after(|mount, clock| {
            for number in 0..40_u64 {
                let path = format!("/f{}", stream.below(6));
                if last.contains_key(&path) && stream.below(3) == 0 {
                    mount.unlink(clock, &path).unwrap();
                    let content = last.remove(&path).unwrap();
                    last.insert(format!("{path} {number}"), content);
                    continue;
                }
                let (at, length) = (stream.below(9_000), stream.below(6_000) + 1);
                let bytes = unlike(usize::try_from(length).unwrap(), 1_000 + number);
                write(mount, clock, &path, (at, &bytes));
                let file = last.entry(path).or_default();
                let end = usize::try_from(at).unwrap() + bytes.len();
                file.resize(file.len().max(end), 0);
                file[end - bytes.len()..end].copy_from_slice(&bytes);
            }
        });
        let deleted: Vec<_> = last.iter().filter(|(path, _)| path.contains(' ')).collect();
        let (mut tree, mut clock) = found(&image);
        let all = listed(&mut tree, &mut clock);
        assert!(!deleted.is_empty());
        let mut whole = 0;
        for (path, (ino, file)) in &all {
            let size = file.attributes.map_or(0, |found| found.size);
            let bytes = content(&mut tree, &mut clock, *ino, size);
            let is_gone =
                |at: usize| file.content.gone.iter().any(|gone| gone.contains(&(at as u64)));
            // Some file that was deleted under this path had these bytes.
            let name = path.split('#').next().unwrap();
            let fits = deleted.iter().any(|(other, content)| {
                let is_same = |at: usize| bytes[at] == content[at] || is_gone(at);
                other.starts_with(&format!("{name} "))
                    && content.len() == bytes.len()
                    && (0..bytes.len()).all(is_same)
            });
            let is_cut = file.loss().is_some() || size == 0;
            assert!(fits || is_cut, "{seed}: {path} of {size}: {:?}", file.loss());
            whole += usize::from(fits && !is_cut);
        }
        assert!(whole * 2 > deleted.len(), "{seed}: {whole} of {}", deleted.len());
    }
}

#[test]
fn an_older_state_has_the_older_content_of_a_deleted_file() {
    let image = after(|mount, clock| {
        write(mount, clock, "/f", (0, &unlike(5_000, 1)));
        write(mount, clock, "/filler1", (0, &unlike(200_000, 11)));
        write(mount, clock, "/f", (1_000, &unlike(3_000, 2)));
        write(mount, clock, "/filler2", (0, &unlike(200_000, 12)));
        mount.unlink(clock, "/f").unwrap();
        write(mount, clock, "/filler3", (0, &unlike(200_000, 13)));
    });
    let mut second = unlike(5_000, 1);
    second[1_000..4_000].copy_from_slice(&unlike(3_000, 2));
    let Err(boardlab_image::Error::NoState { found: (first, last), .. }) = past(&image, 1) else {
        panic!("there is no block 1")
    };
    let mut states = Vec::new();
    for number in first..=last {
        let mut state = past(&image, number.into()).unwrap();
        let now = living(&mut state, "f");
        let found = state.fs.deleted(&mut state.clock).unwrap();
        let mut tree = boardlab_image::deleted::DeletedTree::of(found);
        let all = listed(&mut tree, &mut state.clock);
        assert_eq!(all.contains_key("/f"), now.is_none(), "{number}");
        if let Some((ino, _)) = all.get("/f") {
            assert!(content(&mut tree, &mut state.clock, *ino, 5_000) == second, "{number}");
        }
        states.push(match now {
            Some(bytes) if bytes == unlike(5_000, 1) => 1,
            Some(bytes) if bytes == second => 2,
            Some(_) => 0,
            None => 3,
        });
    }
    states.dedup();
    assert_eq!(states, [1, 2, 3]);
}

#[test]
fn yaffs1_says_why_it_has_none() {
    let packed = include_bytes!("../data/yaffs2/yaffs1.deflate");
    let mut image = vec![0; 64 * 32 * 528];
    boardlab_codec::zlib::Inflate::new().raw(packed, &mut image).unwrap();
    let refused = refused(&image);
    assert!(refused.starts_with("deleted files are not found in YAFFS1"), "{refused}");
}

#[test]
fn a_real_image_shows_what_was_removed() {
    let packed = include_bytes!("../data/yaffs2/2048.deflate");
    let mut image = vec![0; 64 * 16 * 2_112];
    boardlab_codec::zlib::Inflate::new().raw(packed, &mut image).unwrap();
    let (mut tree, mut clock) = found(&image);
    let all = listed(&mut tree, &mut clock);
    let paths: Vec<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(paths, ["/gone", "/hard", "/y", "/z"]);
    let mut living = open(&Contents::of(image), &Hints::default()).unwrap();
    let root = living.fs.root();
    assert!(living.fs.lookup(&mut living.clock, root, b"gone").is_err());
}

#[test]
fn damaged_images_never_panic() {
    let whole = after(work);
    let mut stream = Seed::new(11).stream("damage");
    for _ in 0..150 {
        let mut image = whole.clone();
        for _ in 0..=stream.below(60) {
            // Headers and tags are where most can go wrong.
            let page = usize::try_from(stream.below(50)).unwrap() * PAGE;
            let within =
                if stream.below(2) == 0 { stream.below(512) } else { 2_032 + stream.below(16) };
            let at = page + usize::try_from(within).unwrap();
            image[at] = u8::try_from(stream.below(256)).unwrap();
        }
        if open(&Contents::of(image.clone()), &Hints::default()).is_err() {
            continue;
        }
        let (mut tree, mut clock) = found(&image);
        for (_, (ino, file)) in listed(&mut tree, &mut clock) {
            drop(file.loss());
            let take = &mut |_: boardlab_vfs::FileExtent<'_>| std::ops::ControlFlow::Continue(());
            let _ = tree.read_extents(&mut clock, ino, take);
        }
    }
}
