//! Files that arrive as they were, and images that try to get out of the folder.
#![cfg(unix)]

use super::*;
use crate::walk::tests::Hostile;
use boardlab_vfs::{Change, Device, Errno, MemoryFs, New, Timestamp};
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
    let dir = fs.create(&mut clock, root, b"etc", &New::of(Kind::Directory, 0o555)).unwrap();
    let file = fs.create(&mut clock, dir, b"big", &New::of(Kind::File, 0o4640)).unwrap();
    fs.write_page(&mut clock, file, 300, &[7; PAGE_SIZE], 0..10).unwrap();
    let time = Some(Timestamp::seconds(1_000_000_000));
    fs.set_attributes(&mut clock, file, &Change { modified: time, ..Change::default() }).unwrap();
    fs.link(&mut clock, file, root, b"same").unwrap();
    let link = New { target: b"/etc/big", ..New::of(Kind::Symlink, 0o777) };
    fs.create(&mut clock, root, b"link", &link).unwrap();
    let device = Kind::Character(Device { major: 1, minor: 3 });
    fs.create(&mut clock, root, b"null", &New::of(device, 0o666)).unwrap();
    let target = scratch.0.join("new/out");
    let done = extract(&mut fs, &mut clock, b"/", &target, &Damage::default()).unwrap();
    assert_eq!((done.directories, done.files, done.links, done.symlinks), (2, 1, 1, 1));
    assert_eq!(done.bytes, Bytes::new(300 * 4_096 + 10));
    assert!(matches!(done.skipped[..], [Skipped { why: Why::Kind(_), .. }]), "{done:?}");
    let big = fs::metadata(target.join("etc/big")).unwrap();
    assert_eq!((big.permissions().mode() & 0o7777, big.mtime()), (0o640, 1_000_000_000));
    assert_eq!((big.len(), big.nlink()), (300 * 4_096 + 10, 2));
    assert!(big.blocks() < 64, "the hole takes {} blocks", big.blocks());
    assert_eq!(fs::read(target.join("same")).unwrap()[300 * 4_096..], [7; 10]);
    assert_eq!(fs::read_link(target.join("link")).unwrap(), Path::new("/etc/big"));
    let etc = fs::metadata(target.join("etc")).unwrap();
    assert_eq!(etc.permissions().mode() & 0o777, 0o555);
    fs::set_permissions(target.join("etc"), PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_part_of_an_image_goes_into_the_folder_itself() {
    let (mut fs, mut clock, scratch) = (MemoryFs::new(), Clock::new(), Scratch::new("part"));
    let root = fs.root();
    let dir = fs.create(&mut clock, root, b"etc", &New::of(Kind::Directory, 0o755)).unwrap();
    fs.create(&mut clock, dir, b"motd", &New::of(Kind::File, 0o644)).unwrap();
    extract(&mut fs, &mut clock, b"/etc", &scratch.0.join("folder"), &Damage::default()).unwrap();
    extract(&mut fs, &mut clock, b"etc/motd", &scratch.0.join("file"), &Damage::default()).unwrap();
    assert_eq!(scratch.paths(), ["file", "file/motd", "folder", "folder/motd"]);
    let missing =
        extract(&mut fs, &mut clock, b"/usr", &scratch.0.join("none"), &Damage::default());
    assert!(matches!(missing, Err(Error::FileSystem { .. })));
    let again = extract(&mut fs, &mut clock, b"/", &scratch.0.join("file"), &Damage::default());
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
        &Damage::default(),
    )
    .unwrap();
    assert_eq!(scratch.paths(), ["out", "out/...", "out/a", "out/a/file"]);
    let folder = done.skipped.iter().filter(|skipped| matches!(skipped.why, Why::Folder)).count();
    assert_eq!((done.skipped.len(), folder), (7 + 6, 6), "{done:?}");
}

#[test]
fn nothing_is_written_through_a_link_of_the_image() {
    let (mut fs, mut clock, scratch) = (MemoryFs::new(), Clock::new(), Scratch::new("through"));
    let root = fs.root();
    fs::create_dir(scratch.0.join("outside")).unwrap();
    // The same name as a link and as a directory, as only a damaged index could give it: first the
    // one, then the other.
    let link = New { target: b"../outside", ..New::of(Kind::Symlink, 0o777) };
    fs.create(&mut clock, root, b"a", &link).unwrap();
    let dir = fs.create(&mut clock, root, b"b", &New::of(Kind::Directory, 0o755)).unwrap();
    fs.create(&mut clock, dir, b"file", &New::of(Kind::File, 0o644)).unwrap();
    let mut twice = Renamed(fs);
    let done =
        extract(&mut twice, &mut clock, b"/", &scratch.0.join("out"), &Damage::default()).unwrap();
    assert_eq!(scratch.paths(), ["out", "out/a", "out/a/file", "outside"]);
    assert!(matches!(done.skipped[..], [Skipped { why: Why::System(_), .. }]), "{done:?}");
}

/// A filesystem whose name `b` is given as `a` a second time.
struct Renamed(MemoryFs);

type Answer<T> = Result<T, boardlab_vfs::Error>;

macro_rules! pass {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {$(
        fn $name(&mut self, clock: &mut Clock, $($argument: $kind),*) -> Answer<$answer> {
            self.0.$name(clock, $($argument),*)
        }
    )*};
}

impl FileSystem for Renamed {
    fn caching(&self) -> boardlab_vfs::Caching {
        self.0.caching()
    }
    fn root(&self) -> Ino {
        self.0.root()
    }
    fn read_dir(&mut self, clock: &mut Clock, dir: Ino) -> Answer<Vec<boardlab_vfs::Entry>> {
        let mut entries = self.0.read_dir(clock, dir)?;
        entries
            .iter_mut()
            .filter(|entry| entry.name == b"b")
            .for_each(|entry| entry.name = b"a".into());
        Ok(entries)
    }
    pass! {
        lookup(dir: Ino, name: &[u8]) -> Ino;
        attributes(ino: Ino) -> Attributes;
        set_attributes(ino: Ino, change: &Change) -> ();
        create(dir: Ino, name: &[u8], new: &New<'_>) -> Ino;
        link(ino: Ino, dir: Ino, name: &[u8]) -> ();
        unlink(dir: Ino, name: &[u8]) -> ();
        remove_dir(dir: Ino, name: &[u8]) -> ();
        rename(from: (Ino, &[u8]), to: (Ino, &[u8])) -> ();
        read_link(ino: Ino) -> Vec<u8>;
        read_page(ino: Ino, page: u64, buffer: &mut [u8]) -> ();
        write_page(ino: Ino, page: u64, content: &[u8], changed: std::ops::Range<usize>) -> ();
        xattr(ino: Ino, name: &[u8]) -> Vec<u8>;
        set_xattr(ino: Ino, name: &[u8], value: Option<&[u8]>) -> ();
        xattr_names(ino: Ino) -> Vec<Vec<u8>>;
        fsync(ino: Ino) -> ();
        sync() -> ();
        forget(ino: Ino) -> ();
        background() -> bool;
        statfs() -> boardlab_vfs::Space;
        unmount() -> ();
    }
}

#[test]
fn a_loop_of_directories_ends_and_damage_is_told() {
    let scratch = Scratch::new("loop");
    let mut fs =
        Hostile::with(&[(1, &[(b"a", 2), (b"bad", 99), (b"half", 98)]), (2, &[(b"up", 1)])]);
    let done = extract(&mut fs, &mut Clock::new(), b"/", &scratch.0, &Damage::default()).unwrap();
    assert_eq!(scratch.paths(), ["a", "a/up", "half"]);
    let told: Vec<_> = done.skipped.iter().map(|skipped| format!("{:?}", skipped.why)).collect();
    let io = format!("{:?}", Errno::Io);
    assert!(
        told[0].contains("Again") && told[1].contains("Damaged") && told[2].contains(&io),
        "{told:?}"
    );
}
