//! Files that arrive as they were, and images that try to get out of the folder.
#![cfg(unix)]

use super::*;
use crate::audit::Audit;
use crate::walk::tests::Hostile;
use boardlab_vfs::{Device, MemoryFs, NewInode, PAGE_SIZE, SetAttr, Timestamp, pass_on};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// A folder of this test, which goes with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("boardlab-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Every path below the folder.
    fn paths(&self) -> Vec<String> {
        let (mut paths, mut open) = (Vec::new(), vec![self.0.clone()]);
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                paths.push(path.strip_prefix(&self.0).unwrap().to_str().unwrap().to_owned());
                if path.is_dir() && !path.is_symlink() {
                    open.push(path);
                }
            }
        }
        paths.sort();
        paths
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_arrive_with_content_holes_links_permissions_and_times() {
    let (mut fs, mut clock, scratch) = (MemoryFs::new(), Clock::new(), Scratch::new("arrive"));
    let root = fs.root();
    let dir = fs.create(&mut clock, root, b"etc", &NewInode::of(Kind::Directory, 0o555)).unwrap();
    let file = fs.create(&mut clock, dir, b"big", &NewInode::of(Kind::File, 0o4640)).unwrap();
    fs.write_page(&mut clock, file, 300, &[7; PAGE_SIZE], 0..10).unwrap();
    let time = Some(Timestamp::seconds(1_000_000_000));
    fs.setattr(&mut clock, file, &SetAttr { modified: time, ..SetAttr::default() }).unwrap();
    fs.link(&mut clock, file, root, b"same").unwrap();
    let link = NewInode { target: b"/etc/big", ..NewInode::of(Kind::Symlink, 0o777) };
    let link = fs.create(&mut clock, root, b"link", &link).unwrap();
    fs.setattr(&mut clock, link, &SetAttr { modified: time, ..SetAttr::default() }).unwrap();
    let device = Kind::Character(Device { major: 1, minor: 3 });
    fs.create(&mut clock, root, b"null", &NewInode::of(device, 0o666)).unwrap();
    let target = scratch.0.join("new/out");
    let done =
        extract(&mut fs, &mut clock, b"/", &target, Damage::default(), Limits::default()).unwrap();
    assert_eq!((done.directories, done.files, done.links, done.symlinks), (2, 1, 1, 1));
    assert_eq!(done.bytes, Bytes::new(300 * 4_096 + 10));
    assert!(done.is_whole(), "{done:?}");
    let bits: Vec<_> =
        done.skipped.iter().filter(|one| matches!(one.why, SkipReason::Bits(_))).collect();
    assert!(bits.len() == 1 && bits[0].why.to_string() == "its bits set-user-ID", "{bits:?}");
    assert!(done.skipped.iter().any(|one| matches!(one.why, SkipReason::Kind(_))), "{done:?}");
    let big = fs::metadata(target.join("etc/big")).unwrap();
    assert_eq!((big.permissions().mode() & 0o7777, big.mtime()), (0o640, 1_000_000_000));
    assert_eq!((big.len(), big.nlink()), (300 * 4_096 + 10, 2));
    assert!(big.blocks() < 64, "the hole takes {} blocks", big.blocks());
    assert_eq!(fs::read(target.join("same")).unwrap()[300 * 4_096..], [7; 10]);
    assert_eq!(fs::read_link(target.join("link")).unwrap(), Path::new("/etc/big"));
    let link = fs::symlink_metadata(target.join("link")).unwrap();
    assert_eq!(link.mtime(), 1_000_000_000);
    let etc = fs::metadata(target.join("etc")).unwrap();
    assert_eq!(etc.permissions().mode() & 0o777, 0o555);
    fs::set_permissions(target.join("etc"), PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_part_of_an_image_goes_into_the_folder_itself() {
    let (mut fs, mut clock, scratch) = (MemoryFs::new(), Clock::new(), Scratch::new("part"));
    let root = fs.root();
    let dir = fs.create(&mut clock, root, b"etc", &NewInode::of(Kind::Directory, 0o755)).unwrap();
    fs.create(&mut clock, dir, b"motd", &NewInode::of(Kind::File, 0o644)).unwrap();
    extract(
        &mut fs,
        &mut clock,
        b"/etc",
        &scratch.0.join("folder"),
        Damage::default(),
        Limits::default(),
    )
    .unwrap();
    extract(
        &mut fs,
        &mut clock,
        b"etc/motd",
        &scratch.0.join("file"),
        Damage::default(),
        Limits::default(),
    )
    .unwrap();
    assert_eq!(scratch.paths(), ["file", "file/motd", "folder", "folder/motd"]);
    let missing = extract(
        &mut fs,
        &mut clock,
        b"/usr",
        &scratch.0.join("none"),
        Damage::default(),
        Limits::default(),
    );
    assert!(matches!(missing, Err(Error::FileSystem { .. })));
    let again = extract(
        &mut fs,
        &mut clock,
        b"/",
        &scratch.0.join("file"),
        Damage::default(),
        Limits::default(),
    );
    assert!(matches!(again, Err(Error::NotEmpty)));
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let scratch = Scratch::new("hostile");
    let absolute = scratch.0.join("absolute").to_str().unwrap().to_owned().into_bytes();
    let absolute: &'static [u8] = absolute.leak();
    let names: &[(&'static [u8], u64)] = &[
        (b"..", 2),
        (b"../up", 3),
        (b"", 4),
        (b".", 5),
        (absolute, 6),
        (b"a/b", 7),
        (b"a", 8),
        (b"n\0l", 9),
        (b"...", 10),
    ];
    // Directories with such names contain files with good ones.
    let inside: &[(&'static [u8], u64)] = &[(b"file", 50), (b"escaped", 51)];
    let directories = [(1, names), (2, inside), (6, inside), (7, inside), (8, &inside[..1])];
    let target = scratch.0.join("out");
    let done = extract(
        &mut Hostile::with(&directories),
        &mut Clock::new(),
        b"/",
        &target,
        Damage::default(),
        Limits::default(),
    )
    .unwrap();
    assert_eq!(scratch.paths(), ["out", "out/...", "out/a", "out/a/file"]);
    let lost = done.skipped.iter().filter(|skipped| skipped.why.is_loss());
    let folder = lost.clone().filter(|skipped| matches!(skipped.why, SkipReason::Folder)).count();
    assert_eq!((lost.count(), folder), (7 + 6, 6), "{done:?}");
}

#[test]
fn nothing_is_written_through_a_link_of_the_image() {
    let (mut fs, mut clock, scratch) = (MemoryFs::new(), Clock::new(), Scratch::new("through"));
    let root = fs.root();
    fs::create_dir(scratch.0.join("outside")).unwrap();
    // The same name as a link and as a directory, as only a damaged index could give it: first the
    // one, then the other.
    let link = NewInode { target: b"../outside", ..NewInode::of(Kind::Symlink, 0o777) };
    fs.create(&mut clock, root, b"a", &link).unwrap();
    let dir = fs.create(&mut clock, root, b"b", &NewInode::of(Kind::Directory, 0o755)).unwrap();
    fs.create(&mut clock, dir, b"file", &NewInode::of(Kind::File, 0o644)).unwrap();
    let mut twice = Renamed(fs);
    let done = extract(
        &mut twice,
        &mut clock,
        b"/",
        &scratch.0.join("out"),
        Damage::default(),
        Limits::default(),
    )
    .unwrap();
    assert_eq!(scratch.paths(), ["out", "out/a", "out/a/file", "outside"]);
    let lost: Vec<_> = done.skipped.iter().filter(|skipped| skipped.why.is_loss()).collect();
    assert!(matches!(lost[..], [SkippedItem { why: SkipReason::System(_), .. }]), "{done:?}");
}

/// A filesystem whose name `b` is given as `a` a second time, and `f03` as `f02`.
struct Renamed(MemoryFs);

macro_rules! inner {
    ($this:ident, $call:ident($($argument:expr),*)) => { $this.0.$call($($argument),*) };
}

impl FileSystem for Renamed {
    fn readdir(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
    ) -> Result<Vec<boardlab_vfs::Entry>, boardlab_vfs::Error> {
        let mut entries = self.0.readdir(clock, dir)?;
        entries.iter_mut().for_each(|entry| match &entry.name[..] {
            b"b" => entry.name = b"a".into(),
            b"f03" => entry.name = b"f02".into(),
            _ => {}
        });
        Ok(entries)
    }

    pass_on! { inner:
        caching root lookup getattr setattr create link unlink rmdir rename readlink read_page write_page
        getxattr setxattr listxattr fsync sync evict_inode background statfs unmount
    }
}

#[test]
fn a_loop_of_directories_ends_and_damage_is_told() {
    let scratch = Scratch::new("loop");
    let mut fs =
        Hostile::with(&[(1, &[(b"a", 2), (b"bad", 99), (b"half", 98)]), (2, &[(b"up", 1)])]);
    let done =
        extract(&mut fs, &mut Clock::new(), b"/", &scratch.0, Damage::default(), Limits::default())
            .unwrap();
    assert_eq!(scratch.paths(), ["a", "a/up", "half"]);
    let lost = done.skipped.iter().filter(|skipped| skipped.why.is_loss());
    let told: Vec<_> = lost.map(|skipped| format!("{:?}", skipped.why)).collect();
    let io = "bytes 0 to 4: ";
    assert!(
        told[0].contains("Again") && told[1].contains("Damaged") && told[2].contains(io),
        "{told:?}"
    );
}

#[test]
fn a_folder_that_was_not_finished_says_so_and_takes_nothing_more() {
    let (mut fs, mut clock, scratch) = (MemoryFs::new(), Clock::new(), Scratch::new("unfinished"));
    let target = scratch.0.join("out");
    drop(Folder::begin(&target).unwrap());
    let text = fs::read_to_string(target.join(MARK)).unwrap();
    assert!(text.contains("did not come to its end"), "{text}");
    let limits = Limits::default();
    let again = extract(&mut fs, &mut clock, b"/", &target, Damage::default(), limits);
    assert!(matches!(again, Err(Error::Unfinished)), "{again:?}");
    std::os::unix::fs::symlink(&scratch.0, scratch.0.join("link")).unwrap();
    for name in ["link", "link/"] {
        let through =
            extract(&mut fs, &mut clock, b"/", &scratch.0.join(name), Damage::default(), limits);
        assert!(matches!(through, Err(Error::TargetIsALink)), "{through:?}");
    }
}

#[test]
fn nothing_is_written_over_or_through_what_somebody_puts_into_the_folder() {
    let scratch = Scratch::new("meanwhile");
    let (target, outside) = (scratch.0.join("out"), scratch.0.join("outside"));
    fs::create_dir(&outside).unwrap();
    let mut folder = Folder::begin(&target).unwrap();
    std::os::unix::fs::symlink(&outside, target.join("etc")).unwrap();
    std::os::unix::fs::symlink(outside.join("file"), target.join("file")).unwrap();
    for place in ["etc/file", "file", MARK] {
        assert!(folder.file(Path::new(place)).is_err(), "{place}");
    }
    assert!(folder.make_folder(Path::new("etc/folder")).is_err());
    assert!(folder.symlink(b"x", Path::new("etc/link"), None).is_err());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn limits_end_an_extraction_and_are_told() {
    let (mut fs, mut clock, scratch) = (MemoryFs::new(), Clock::new(), Scratch::new("limits"));
    let root = fs.root();
    for name in [b"a", b"b", b"c"] {
        let file = fs.create(&mut clock, root, name, &NewInode::of(Kind::File, 0o644)).unwrap();
        fs.write_page(&mut clock, file, 0, &[7; PAGE_SIZE], 0..PAGE_SIZE).unwrap();
    }
    let limits = Limits { content: Bytes::kib(9), ..Limits::default() };
    let target = scratch.0.join("size");
    let done = extract(&mut fs, &mut clock, b"/", &target, Damage::default(), limits).unwrap();
    assert_eq!((done.files, done.is_whole()), (2, false));
    assert!(
        done.skipped.iter().any(|one| one.path == b"/c" && matches!(one.why, SkipReason::Limit))
    );
    assert!(!target.join("c").exists() && !target.join(MARK).exists());
    let limits = Limits { names: 2, ..Limits::default() };
    let target = scratch.0.join("names");
    let done = extract(&mut fs, &mut clock, b"/", &target, Damage::default(), limits).unwrap();
    assert_eq!((done.files, done.ended_at, done.is_whole()), (1, Some(2), false));
}

/// Twelve files of one to three pages, some with a hole, and one with the name of the marker, which cannot be
/// created; a further name of the first file and of that one.
fn files_of_all_kinds() -> (MemoryFs, Clock) {
    let (mut fs, mut clock) = (MemoryFs::new(), Clock::new());
    let root = fs.root();
    for number in 0..12_u8 {
        let name = if number == 5 { MARK.to_owned() } else { format!("f{number:02}") };
        let new = NewInode::of(Kind::File, 0o644);
        let file = fs.create(&mut clock, root, name.as_bytes(), &new).unwrap();
        let pages = u64::from(number % 3) + 1;
        for page in (0..pages).filter(|page| number % 4 != 1 || *page > 0) {
            let bytes = [number + 1; PAGE_SIZE];
            fs.write_page(&mut clock, file, page, &bytes, 0..PAGE_SIZE).unwrap();
        }
        if number == 0 || number == 5 {
            fs.link(&mut clock, file, root, format!("f{number:02}-too").as_bytes()).unwrap();
        }
    }
    (fs, clock)
}

#[test]
fn a_second_reader_changes_nothing_that_is_written_or_reported() {
    let scratch = Scratch::new("reader");
    let extracted = |name: &str, content: Bytes, with_reader: bool| {
        let (fs, mut clock) = files_of_all_kinds();
        let mut fs = Renamed(fs);
        let target = scratch.0.join(name);
        let reader = || {
            let (fs, clock) = files_of_all_kinds();
            Reader { fs: Box::new(fs), clock }
        };
        let damage = Damage::default().into();
        let beside = Beside { damage, reader: with_reader.then(reader), is_readable: false };
        let limits = Limits { content, ..Limits::default() };
        let done = extract(&mut fs, &mut clock, b"/", &target, beside, limits).unwrap();
        let paths = scratch.paths();
        let files = paths.iter().map(|path| (path, fs::read(scratch.0.join(path)).ok()));
        let told = format!("{done:?} {:?}", files.collect::<Vec<_>>());
        fs::remove_dir_all(&target).unwrap();
        told
    };
    for pages in 0..=24 {
        let content = Bytes::kib(4 * pages) + Bytes::new(pages % 2);
        let alone = extracted("out", content, false);
        for _ in 0..8 {
            assert_eq!(extracted("out", content, true), alone, "{pages} pages");
        }
    }
}

#[test]
#[should_panic(expected = "broken")]
fn a_reader_that_breaks_ends_the_extraction() {
    struct Broken(MemoryFs);
    impl FileSystem for Broken {
        fn read_page(
            &mut self,
            _: &mut Clock,
            _: Ino,
            _: u64,
            _: &mut [u8],
        ) -> Result<(), boardlab_vfs::Error> {
            panic!("broken")
        }
        pass_on! { inner:
            caching root lookup getattr setattr create link unlink rmdir rename readdir readlink write_page
            getxattr setxattr listxattr fsync sync evict_inode background statfs unmount
        }
    }
    let ((mut fs, mut clock), scratch) = (files_of_all_kinds(), Scratch::new("broken"));
    let (copy, time) = files_of_all_kinds();
    let reader = Some(Reader { fs: Box::new(Broken(copy)), clock: time });
    let beside = Beside { damage: Damage::default().into(), reader, is_readable: false };
    let target = scratch.0.join("out");
    let _ = extract(&mut fs, &mut clock, b"/", &target, beside, Limits::default());
}

#[test]
fn damage_that_is_known_late_is_told_before_what_else_is_wrong_with_an_item() {
    let scratch = Scratch::new("late");
    let audit = |ino: u32| {
        let inode_damage = [(ino, "bytes 0 to 4 are lost".to_owned())].into();
        Damage { audit: Audit { inode_damage, ..Audit::default() }, ..Damage::default() }
    };
    let extracted = |name: &str, damage: PendingDamage| {
        let mut fs = Hostile::with(&[(1, &[(b"a", 2), (b"bad", 99), (b"half", 98)]), (2, &[])]);
        let target = scratch.0.join(name);
        let limits = Limits::default();
        let done = extract(&mut fs, &mut Clock::new(), b"/", &target, damage, limits).unwrap();
        format!("{:?} {:?}", done.skipped, done.damage)
    };
    let at_once = extracted("at once", audit(98).into());
    let (tell, told) = std::sync::mpsc::channel();
    let late = PendingDamage::Audit(std::thread::spawn(move || {
        told.recv().unwrap();
        Ok(audit(98))
    }));
    let late = std::thread::scope(|scope| {
        let late = scope.spawn(|| extracted("late", late));
        // Files are written before the audit ends.
        while !scratch.0.join("late/half").exists() {
            std::thread::yield_now();
        }
        tell.send(()).unwrap();
        late.join().unwrap()
    });
    assert_eq!(late, at_once);
    let place = |words| late.find(words).unwrap();
    assert!(place("bytes 0 to 4 are lost") < place("bytes 0 to 4: "), "{late}");
}

#[test]
fn an_audit_that_fails_leaves_the_folder_unfinished() {
    let (mut fs, mut clock, scratch) = (MemoryFs::new(), Clock::new(), Scratch::new("audit"));
    let failed = PendingDamage::Audit(std::thread::spawn(|| Err(Error::Empty)));
    let target = scratch.0.join("out");
    let done = extract(&mut fs, &mut clock, b"/", &target, failed, Limits::default());
    assert!(matches!(done, Err(Error::Empty)), "{done:?}");
    assert!(target.join(MARK).exists());
}
