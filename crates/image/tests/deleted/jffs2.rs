//! Deleted files of JFFS2, on NOR, where their nodes are marked, and on NAND.

use crate::scratch::Scratch;
use crate::{
    Damage, DeletedTree, Error, Kind, Limits, Path, assert_xattrs, content, extract, found, fs,
    listed, living, past, unlike, work_with_xattrs, write,
};
use boardlab_image::make::{FileOptions, Flash, of_folder};
use boardlab_image::{Contents, Hints, open};
use boardlab_jffs2::format::inode::Compressor;
use boardlab_jffs2::format::{ByteOrder, Dirent, Inode, InodeView, crc};
use boardlab_jffs2::{Jffs2, Options};
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock, Duration, Seed};
use boardlab_vfs::{Device, FileSystem, Mount, WallClock};
use std::collections::BTreeMap;

const START: i64 = 1_700_000_000;

fn nor() -> RamMtd {
    RamMtd::nor(24, Bytes::kib(16))
}

fn nand() -> RamMtd {
    RamMtd::nand(24, 32, Bytes::new(512), Bytes::new(16))
}

/// The image after `work`.
fn after(flash: RamMtd, work: impl FnOnce(&mut Mount<Jffs2<RamMtd>>, &mut Clock)) -> Vec<u8> {
    let mut clock = Clock::new();
    let options = Options { wall: WallClock { start: START }, ..Options::default() };
    let mut mount = Mount::new(Jffs2::mount(&mut clock, flash, options).unwrap());
    work(&mut mount, &mut clock);
    mount.unmount(&mut clock).unwrap();
    mount.fs().device().image()
}

/// Files of every kind, some of which are deleted in some way.
fn work(mount: &mut Mount<Jffs2<RamMtd>>, clock: &mut Clock) {
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
    write(mount, clock, "/etc/gone", (4_000, &unlike(2_000, 20)));
    mount.truncate(clock, "/etc/gone", 9_000).unwrap();
    mount.truncate(clock, "/etc/gone", 9_500).unwrap();
    mount.symlink(clock, "../target", "/etc/link").unwrap();
    let device = Kind::Character(Device { major: 5, minor: 1 });
    mount.mknod(clock, "/etc/device", device, 0o600).unwrap();
    mount.link(clock, "/linked", "/etc/linked").unwrap();
    mount.rename(clock, "/moved", "/etc/moved").unwrap();
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
    mount.unlink(clock, "/twice").unwrap();
    mount.sync(clock).unwrap();
}

/// The content of `/etc/gone` when it was deleted.
fn gone() -> Vec<u8> {
    let mut bytes = unlike(10_000, 2);
    bytes[4_000..6_000].copy_from_slice(&unlike(2_000, 20));
    bytes.truncate(9_000);
    bytes.resize(9_500, 0);
    bytes
}

/// The files of [`work`] that are deleted, with their content.
fn expected() -> BTreeMap<&'static str, Vec<u8>> {
    BTreeMap::from([
        ("/etc/gone", gone()),
        ("/gone/deep/file", unlike(3_000, 3)),
        ("/replaced", unlike(5_000, 4)),
        ("/twice", unlike(800, 9)),
        ("/etc/moved", unlike(1_000, 7)),
    ])
}

#[test]
fn deleted_files_come_back_with_their_last_content_where_they_were() {
    for flash in [nor(), nand()] {
        let image = after(flash, work);
        let (mut tree, mut clock) = found(&image);
        assert!(!tree.is_cut());
        let all = listed(&mut tree, &mut clock);
        for (path, bytes) in expected() {
            let (ino, file) = &all[path];
            let attributes = file.attributes.unwrap();
            assert_eq!((attributes.kind, attributes.mode), (Kind::File, 0o640), "{path}");
            assert_eq!(file.loss(), None, "{path}");
            assert_eq!(file.content.left, attributes.size, "{path}");
            assert!(content(&mut tree, &mut clock, *ino, attributes.size) == bytes, "{path}");
            let deleted = file.deleted.map(|time| time.seconds - START);
            assert_eq!(deleted, Some(if path == "/twice" { 150 } else { 100 }), "{path}");
        }
        let twice = all.keys().filter(|path| path.starts_with("/twice#")).collect::<Vec<_>>();
        assert_eq!(twice.len(), 1, "{twice:?}");
        let (ino, first) = &all[twice[0]];
        let size = first.attributes.unwrap().size;
        assert!(content(&mut tree, &mut clock, *ino, size) == unlike(700, 6));
        let kind = |path: &str| all[path].1.attributes.unwrap().kind;
        assert_eq!(kind("/gone"), Kind::Directory);
        assert_eq!(kind("/gone/deep"), Kind::Directory);
        assert_eq!(kind("/etc/device"), Kind::Character(Device { major: 5, minor: 1 }));
        assert_eq!(all["/etc/link"].1.target, b"../target");
        // What has another name, or is not deleted, is not among them.
        for path in ["/etc", "/etc/keep", "/linked", "/etc/linked", "/new", "/moved"] {
            assert!(!all.contains_key(path), "{path}");
        }
        assert_eq!(all.len(), 10, "{:?}", all.keys());
    }
}

/// Extracts the deleted files; what is left out, by path.
fn extracted(image: &[u8], target: &Path) -> Vec<(String, String)> {
    let (mut tree, mut clock) = found(image);
    let mut damage = Damage::default();
    let losses = tree.losses().map(|(ino, words)| (u32::try_from(ino.0).unwrap(), words));
    damage.audit.inode_damage.extend(losses);
    let done = extract(&mut tree, &mut clock, b"/", target, damage, Limits::default()).unwrap();
    let lost = done.skipped.into_iter().filter(|one| one.why.is_loss());
    lost.map(|one| (String::from_utf8_lossy(&one.path).into_owned(), one.why.to_string())).collect()
}

/// A file that is written at 0 and 100 seconds, and deleted at 200.
fn work_in_time(mount: &mut Mount<Jffs2<RamMtd>>, clock: &mut Clock) {
    write(mount, clock, "/f", (0, &unlike(6_000, 1)));
    write(mount, clock, "/keep", (0, &unlike(900, 9)));
    clock.advance(Duration::from_secs(100));
    write(mount, clock, "/f", (1_000, &unlike(3_000, 2)));
    mount.truncate(clock, "/f", 5_000).unwrap();
    clock.advance(Duration::from_secs(100));
    mount.unlink(clock, "/f").unwrap();
    clock.advance(Duration::from_secs(100));
    write(mount, clock, "/late", (0, &unlike(20, 3)));
    write(mount, clock, "/keep", (0, &unlike(900, 8)));
    mount.sync(clock).unwrap();
}

#[test]
fn an_older_state_has_the_older_content_of_a_deleted_file() {
    let start = u64::try_from(START).unwrap();
    let mut second = unlike(6_000, 1);
    second[1_000..4_000].copy_from_slice(&unlike(3_000, 2));
    second.truncate(5_000);
    for (is_nor, flash) in [(true, nor()), (false, nand())] {
        let mut image = after(flash, work_in_time);
        // As Linux marks nodes on NOR that are not needed any more: those of the first file. They count again.
        for at in (0..image.len() - 16).step_by(4).filter(|_| is_nor) {
            if image[at..at + 4] == [0x85, 0x19, 0x02, 0xE0]
                && image[at + 12..at + 16] == [2, 0, 0, 0]
            {
                image[at + 3] = 0xC0;
            }
        }
        for (time, f, keep, late) in [
            (0, Some(unlike(6_000, 1)), 9, false),
            (99, Some(unlike(6_000, 1)), 9, false),
            (100, Some(second.clone()), 9, false),
            (199, Some(second.clone()), 9, false),
            (200, None, 9, false),
            (300, None, 8, true),
            (9_000, None, 8, true),
        ] {
            // Nodes that do not count now say nothing of the blocks.
            let block = is_nor.then_some(Bytes::kib(16));
            let hints = Hints { as_of: Some(start + time), block, ..Hints::default() };
            let mut state = open(&Contents::of(image.clone()), &hints).unwrap();
            assert!(living(&mut state, "f") == f, "{time}");
            assert!(living(&mut state, "keep") == Some(unlike(900, keep)), "{time}");
            assert_eq!(living(&mut state, "late").is_some(), late, "{time}");
            let audit = state.fs.audit(&mut state.clock).unwrap();
            assert_eq!((audit.damaged, audit.unknown_loss), (0, time < 300), "{time}");
            assert!(audit.foreign.is_some_and(|told| told.starts_with("This is the state at")));
            assert!(audit.inode_damage.is_empty(), "{time}: {:?}", audit.inode_damage);
            // What the state had deleted.
            let mut tree = DeletedTree::of(state.fs.deleted(&mut state.clock).unwrap());
            let all = listed(&mut tree, &mut state.clock);
            assert_eq!(all.keys().collect::<Vec<_>>().len(), usize::from(f.is_none()), "{time}");
            if let Some((ino, _)) = all.get("/f") {
                assert!(content(&mut tree, &mut state.clock, *ino, 5_000) == second, "{time}");
            }
        }
        let block = is_nor.then_some(Bytes::kib(16));
        let hints = Hints { as_of: Some(start - 1), block, ..Hints::default() };
        let early = open(&Contents::of(image), &hints).unwrap_err();
        let says = "the nodes were written from 2023-11-14 22:13:20 to 2023-11-14 22:18:20, and none by 2023-11-14 22:13:19";
        assert_eq!(early.to_string(), says);
        assert!(early.help().contains("--as-of"));
    }
}

/// Without summaries a removal on NOR marks the entry, and writes nothing.
#[test]
fn a_removal_that_left_no_trace_is_told_in_an_older_state_and_stays_in_the_present_one() {
    let mut clock = Clock::new();
    let options =
        Options { wall: WallClock { start: START }, summary: false, ..Options::default() };
    let mut mount = Mount::new(Jffs2::mount(&mut clock, nor(), options).unwrap());
    for (path, seed) in [("/gone", 1), ("/kept", 2)] {
        write(&mut mount, &mut clock, path, (0, &unlike(300, seed)));
    }
    clock.advance(Duration::from_secs(60));
    mount.unlink(&mut clock, "/gone").unwrap();
    clock.advance(Duration::from_secs(60));
    write(&mut mount, &mut clock, "/late", (0, b"later"));
    mount.unmount(&mut clock).unwrap();
    let image = mount.fs().device().image();
    let look = |seconds: i64| {
        let as_of = Some(u64::try_from(START + seconds).unwrap());
        let hints = Hints { as_of, ..Hints::default() };
        let mut image = open(&Contents::of(image.clone()), &hints).unwrap();
        let root = image.fs.root();
        let names = image.fs.readdir(&mut image.clock, root).unwrap();
        let mut names: Vec<_> =
            names.into_iter().map(|entry| String::from_utf8(entry.name).unwrap()).collect();
        names.sort();
        let audit = image.fs.audit(&mut image.clock).unwrap();
        (names, audit.unknown_loss, audit.foreign.unwrap().contains("Names count again"))
    };
    assert_eq!(look(30), (vec!["gone".into(), "kept".into()], true, true));
    // Nothing says when it was removed.
    assert_eq!(look(90), (vec!["gone".into(), "kept".into()], true, true));
    for present in [120, 10_000, 9_000_000_000] {
        assert_eq!(look(present), (vec!["kept".into(), "late".into()], false, false));
    }
}

#[test]
fn an_older_state_of_a_dump_with_codes_has_right_codes() {
    let scratch = Scratch::new("past");
    let set = |name: &str, seconds: u64, seed: u64| {
        let path = scratch.0.join(name);
        fs::write(&path, unlike(9_000, seed)).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    set("early", 1_000_000, 1);
    set("late", 2_000_000, 2);
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(500_000);
    fs::File::open(&scratch.0).unwrap().set_modified(time).unwrap();
    let oob = Some(Bytes::new(64));
    let ecc = Some((4, Bytes::new(512)));
    let flash = Flash { oob, ecc, ..Flash::of(Bytes::kib(2), Bytes::kib(128)) };
    let options = FileOptions { fs: "jffs2".into(), ..FileOptions::default() };
    let image = of_folder(&scratch.0, &flash, &options, Seed::new(1)).unwrap().bytes;
    for (time, late) in [(1_500_000, false), (2_000_000, true)] {
        let mut state = past(&image, time).unwrap();
        assert!(living(&mut state, "early") == Some(unlike(9_000, 1)));
        assert_eq!(living(&mut state, "late").is_some(), late);
        let damage = Damage::of(&mut state).unwrap();
        assert_eq!((damage.audit.damaged, damage.uncorrectable_steps), (0, 0), "{time}");
        assert_eq!(damage.corrected_bits, 0, "{time}");
    }
}

/// Where `bytes` are in the image; they are there once.
fn place(image: &[u8], bytes: &[u8]) -> usize {
    let at = memchr(image, bytes);
    assert!(memchr(&image[at + 1..], bytes) == image.len() - at - 1, "there twice");
    at
}

/// The offset of `bytes`, or the length where they are not there.
fn memchr(image: &[u8], bytes: &[u8]) -> usize {
    image.windows(bytes.len()).position(|window| window == bytes).unwrap_or(image.len())
}

#[test]
fn deleted_files_have_the_extended_attributes_that_they_had_last() {
    for flash in [nor(), nand()] {
        let mut image = after(flash, work_with_xattrs);
        assert_xattrs(&image);
        // Of a value that is damaged only the reference is left.
        let at = place(&image, &unlike(300, 7)[..200]);
        image[at] ^= 1;
        let (mut tree, mut clock) = found(&image);
        let loss = listed(&mut tree, &mut clock)["/a"].1.loss();
        assert_eq!(loss, Some("an extended attribute is gone".into()));
    }
}

#[test]
fn what_is_damaged_or_overwritten_is_told_and_the_rest_is_right() {
    for flash in [nor(), nand()] {
        let mut image = after(flash, work);
        let scratch = Scratch::new("whole");
        assert_eq!(extracted(&image, &scratch.0.join("deleted")), []);
        for (path, bytes) in expected() {
            let path = scratch.0.join("deleted").join(&path[1..]);
            assert!(fs::read(&path).unwrap() == bytes, "{path:?}");
        }
        // A byte of the only node with these data, and of one over older data.
        for bytes in [&unlike(3_000, 3)[..50], &unlike(2_000, 20)[200..250]] {
            let at = place(&image, bytes);
            image[at] ^= 1;
        }
        let scratch = Scratch::new("damaged");
        let target = scratch.0.join("deleted");
        let lost = extracted(&image, &target);
        assert_eq!(lost.len(), 2, "{lost:?}");
        assert_eq!(lost[0].0, "/etc/gone");
        assert!(lost[0].1.contains("are older: the newest there is damaged"), "{lost:?}");
        assert_eq!(lost[1], ("/gone/deep/file".into(), "damaged: bytes 0 to 2999 are gone".into()));
        let older = fs::read(target.join("etc/gone")).unwrap();
        let (before, last) = (unlike(10_000, 2), gone());
        let is_one = |at: usize| older[at] == last[at] || older[at] == before[at];
        assert!(older.len() == 9_500 && (0..9_500).all(is_one) && older != last);
        assert!(fs::read(target.join("gone/deep/file")).unwrap() == vec![0; 3_000]);
        assert!(fs::read(target.join("replaced")).unwrap() == unlike(5_000, 4));
    }
}

#[test]
fn of_erased_blocks_the_files_that_were_in_them_say_so() {
    let whole = after(nor(), work);
    let is_used =
        |block: &usize| whole[block * 16_384..][..16_384].iter().any(|&byte| byte != 0xFF);
    let used: Vec<_> = (0..24).filter(is_used).collect();
    let mut stream = Seed::new(3).stream("erased");
    let mut lossy = 0;
    for round in 0..40 {
        let mut image = whole.clone();
        for _ in 0..=stream.below(2) {
            let block = used[usize::try_from(stream.below(used.len() as u64)).unwrap()] * 16_384;
            image[block..block + 16_384].fill(0xFF);
        }
        let (mut tree, mut clock) = match open(&Contents::of(image.clone()), &Hints::default()) {
            Ok(_) => found(&image),
            Err(_) => continue,
        };
        for (path, (ino, file)) in listed(&mut tree, &mut clock) {
            lossy += usize::from(file.loss().is_some());
            // Written once, so that nothing older can be in its place.
            for seed in [3, 4, 6, 7, 9] {
                let (first, size) =
                    (unlike(8, seed), file.attributes.map_or(0, |found| found.size));
                let bytes = content(&mut tree, &mut clock, ino, size);
                if !bytes.starts_with(&first) {
                    continue;
                }
                let right = unlike(bytes.len(), seed);
                let is_gone =
                    |at: usize| file.content.gone.iter().any(|gone| gone.contains(&(at as u64)));
                let wrong = (0..bytes.len()).find(|&at| bytes[at] != right[at] && !is_gone(at));
                assert_eq!(wrong, None, "{round}: {path}");
            }
        }
    }
    assert!(lossy > 10, "{lossy}");
}

/// A flash of nodes that nobody would write.
struct Forged(Vec<u8>);

impl Forged {
    fn inode(&mut self, (ino, version): (u32, u32), (offset, isize): (u32, u32), data: &[u8]) {
        let length = u32::try_from(data.len()).unwrap();
        let (csize, dsize, compressor) = (length, length, Compressor::None);
        let data_crc = crc(0, data);
        let mut node = vec![0; 68];
        Inode {
            ino,
            version,
            mode: 0o100_600,
            uid: 1,
            gid: 2,
            isize,
            atime: 0,
            mtime: 5,
            ctime: 0,
            offset,
            csize,
            dsize,
            compressor,
            user_compressor: 0,
            flags: 0,
            data_crc,
        }
        .emit(&mut node, ByteOrder::Little);
        node.extend(data);
        self.put(&node);
    }

    fn name(&mut self, parent: u32, version: u32, ino: u32, (kind, name): (Kind, &[u8])) {
        let entry = Dirent { parent, version, ino, mctime: 9, kind: kind.dirent_type(), name };
        let mut node = vec![0; usize::try_from(entry.length()).unwrap()];
        entry.emit(&mut node, ByteOrder::Little);
        self.put(&node);
    }

    fn put(&mut self, node: &[u8]) {
        self.0.extend(node);
        self.0.resize(self.0.len().next_multiple_of(4), 0xFF);
    }

    fn image(mut self) -> Vec<u8> {
        self.0.resize(self.0.len().next_multiple_of(65_536), 0xFF);
        self.0
    }
}

#[test]
fn hostile_names_sizes_and_folders_stay_within_and_are_told() {
    let mut forged = Forged(Vec::new());
    let (file, directory) = (Kind::File, Kind::Directory);
    // Living: /keep.
    forged.inode((2, 1), (0, 4), b"keep");
    forged.name(1, 1, 2, (file, b"keep"));
    // Deleted: folders within each other, names that lead out, a file of 4 GiB, one without a name, one of whose folder
    // nothing is known, and one in a file.
    for (version, (ino, parent, name)) in (10..).step_by(2).zip([
        (20, 21, &b"a"[..]),
        (21, 20, b"b"),
        (30, 1, b".."),
        (31, 1, b"x/../../y"),
        (32, 1, b"large"),
        (34, 99, b"orphan"),
        (35, 32, b"inside"),
        (36, 1, b"lost+found"),
        (37, 1, b"only-a-name"),
    ]) {
        let kind = if ino < 30 { directory } else { file };
        forged.name(parent, version, ino, (kind, name));
        forged.name(parent, version + 1, 0, (kind, name));
        if ino != 37 {
            let (offset, size) = if ino == 32 { (u32::MAX - 9, u32::MAX) } else { (0, 3) };
            forged.inode((ino, 1), (offset, size), b"abc");
        }
    }
    forged.inode((33, 1), (0, 3), b"xyz");
    let image = forged.image();
    let (mut tree, mut clock): (DeletedTree, _) = found(&image);
    let all = listed(&mut tree, &mut clock);
    let paths: Vec<&str> = all.keys().map(String::as_str).collect();
    for path in ["/large", "/only-a-name", "/lost+found", "/lost+found#unknown/#99/orphan"] {
        assert!(paths.contains(&path), "{path}: {paths:?}");
    }
    assert!(paths.iter().any(|path| path.ends_with("/#33")), "{paths:?}");
    assert_eq!(
        all["/large"].1.content.gone,
        [0..u64::from(u32::MAX) - 9, u64::from(u32::MAX) - 6..u64::from(u32::MAX)]
    );
    let scratch = Scratch::new("hostile");
    let target = scratch.0.join("in/deleted");
    let lost = extracted(&image, &target);
    let why = |path: &str| {
        lost.iter().filter(|one| one.0 == path).map(|one| one.1.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(why("/.."), ["no file can have this name"]);
    assert_eq!(why("/x/../../y"), ["no file can have this name"]);
    assert!(why("/only-a-name")[0].contains("nothing but its name is left"), "{lost:?}");
    let names: Vec<_> = fs::read_dir(scratch.0.join("in")).unwrap().collect();
    assert_eq!(names.len(), 1);
    assert!(!scratch.0.join("y").exists());
    assert_eq!(fs::read(target.join("lost+found")).unwrap(), b"abc");
    // A second time nothing is written over it.
    let (mut tree, mut clock) = found(&image);
    let again = extract(&mut tree, &mut clock, b"/", &target, Damage::default(), Limits::default());
    assert!(matches!(again, Err(Error::NotEmpty)));
}

#[test]
fn damaged_images_never_panic() {
    let whole = after(nor(), work);
    let mut stream = Seed::new(8).stream("damage");
    for _ in 0..300 {
        let mut image = whole.clone();
        for _ in 0..=stream.below(40) {
            let at = usize::try_from(stream.below(5 * 16_384)).unwrap();
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

/// The image of the documents, which [`work`] has nothing to do with: a password and a log were deleted, and a byte of the
/// log was changed by hand.
const SAMPLE: &str = "tests/data/deleted.jffs2";

fn sample() -> Vec<u8> {
    let log: String =
        (0..200).map(|second| format!("kernel: [{second:5}] eth0: link up\n")).collect();
    let whole = after(RamMtd::nor(12, Bytes::kib(8)), |mount, clock| {
        for folder in ["/etc", "/var", "/var/log"] {
            mount.mkdir(clock, folder, 0o755).unwrap();
        }
        write(mount, clock, "/etc/motd", (0, b"Welcome to the board.\n"));
        write(mount, clock, "/etc/wpa.conf", (0, b"ssid=workshop\npsk=correct horse\n"));
        write(mount, clock, "/var/log/messages", (0, log.as_bytes()));
        clock.advance(Duration::from_secs(86_400));
        mount.unlink(clock, "/etc/wpa.conf").unwrap();
        mount.unlink(clock, "/var/log/messages").unwrap();
        mount.rmdir(clock, "/var/log").unwrap();
    });
    // Erased blocks say nothing.
    let is_used = |block: &&[u8]| block[64..].iter().any(|&byte| byte != 0xFF);
    let mut image = whole.chunks(8_192).filter(is_used).collect::<Vec<_>>().concat();
    let is_tail = |at: &usize| {
        let mut node = image[*at..].to_vec();
        node[3] |= 0x20;
        InodeView::new(&node, ByteOrder::Little).is_ok_and(|node| node.parse().offset == 4_096)
    };
    let at = (0..image.len() - 68).step_by(4).find(is_tail).unwrap();
    image[at + 70] ^= 1;
    image
}

#[test]
fn the_image_of_the_documents_is_what_our_mount_writes() {
    let image = sample();
    if std::env::var_os("BOARDLAB_WRITE_SAMPLE").is_some() {
        fs::write(SAMPLE, &image).unwrap();
    }
    assert!(fs::read(SAMPLE).unwrap() == image, "BOARDLAB_WRITE_SAMPLE=1 writes it");
    let (mut tree, mut clock) = found(&image);
    let all = listed(&mut tree, &mut clock);
    let paths: Vec<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(paths, ["/etc/wpa.conf", "/var/log", "/var/log/messages"]);
    assert!(
        all["/var/log/messages"].1.loss().is_some_and(|loss| loss.starts_with("bytes 4096 to"))
    );
}
