//! Generates trees of many shapes from a seed.
//!
//! Layer: rank 6, part of [`tree`](crate::tree). Main type: [`Shape`]. Each shape is a list of
//! operations with the same result in a kernel and in our filesystems. Times are set last, the
//! innermost first, so that a manifest does not depend on when the tree was created. Owners are
//! below 65,536, the limit of JFFS2.

use super::operation::{CHUNK_MAX, Line, Operation};
use crate::data::Data;
use boardlab_sim::{Seed, Stream};
use boardlab_vfs::{Device, Kind};

/// The shape of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// Sixty directories within each other, a file in each.
    Deep,
    /// 2,000 entries in one directory.
    Wide,
    /// 10,000 files of at most 1,000 bytes in a hundred directories.
    Small,
    /// Sparse files, and files that were truncated and extended again.
    Holes,
    /// Hard and symbolic links.
    Links,
    /// Pipes, sockets and devices with small and large numbers.
    Devices,
    /// Names of all lengths and bytes.
    Names,
    /// Extended attributes from empty to 3,000 bytes, some set again, some removed.
    Xattrs,
    /// Incompressible files up to 200 KiB.
    Incompressible,
    /// Compressible files up to 400 KiB, of several kinds of data.
    Compressible,
    /// Files that were overwritten in parts, renamed, replaced and removed.
    Edited,
    /// A root filesystem: 3,000 files, most of them small, about 27 MiB in all.
    Rootfs,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Deep,
        Self::Wide,
        Self::Small,
        Self::Holes,
        Self::Links,
        Self::Devices,
        Self::Names,
        Self::Xattrs,
        Self::Incompressible,
        Self::Compressible,
        Self::Edited,
        Self::Rootfs,
    ];

    /// The name in lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deep => "deep",
            Self::Wide => "wide",
            Self::Small => "small",
            Self::Holes => "holes",
            Self::Links => "links",
            Self::Devices => "devices",
            Self::Names => "names",
            Self::Xattrs => "xattrs",
            Self::Incompressible => "incompressible",
            Self::Compressible => "compressible",
            Self::Edited => "edited",
            Self::Rootfs => "rootfs",
        }
    }

    /// The operations that create a tree of this shape in an empty filesystem.
    #[must_use]
    pub fn operations(self, seed: Seed) -> Vec<Operation> {
        let mut tree = Tree::new(seed.stream(self.name()));
        match self {
            Self::Deep => deep(&mut tree),
            Self::Wide => wide(&mut tree),
            Self::Small => tree.files(100, 100, 1_000),
            Self::Holes => holes(&mut tree),
            Self::Links => links(&mut tree),
            Self::Devices => devices(&mut tree),
            Self::Names => names(&mut tree),
            Self::Xattrs => xattrs(&mut tree),
            Self::Incompressible => data(&mut tree, &[Data::Random], 200),
            Self::Compressible => {
                let kinds =
                    [Data::Text, Data::Runs, Data::Zero, Data::Percent(25), Data::Percent(50)];
                data(&mut tree, &kinds, 400);
            }
            Self::Edited => edited(&mut tree),
            Self::Rootfs => rootfs(&mut tree, 3_000),
        }
        tree.finish()
    }

    /// The same as numbered lines of a list.
    #[must_use]
    pub fn lines(self, seed: Seed) -> Vec<(usize, Line)> {
        (1..).zip(self.operations(seed).into_iter().map(Line::from)).collect()
    }
}

/// A root filesystem of another size: `files` files, about 9 KiB each.
#[must_use]
pub fn rootfs_of(files: u64, seed: Seed) -> Vec<Operation> {
    let mut tree = Tree::new(seed.stream("rootfs"));
    rootfs(&mut tree, files);
    tree.finish()
}

/// A tree under construction.
struct Tree {
    operations: Vec<Operation>,
    stream: Stream,
    /// The paths whose times are set at the end.
    dated: Vec<Vec<u8>>,
}

impl Tree {
    const fn new(stream: Stream) -> Self {
        Self { operations: Vec::new(), stream, dated: Vec::new() }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.stream.below(bound)
    }

    fn one_of<T: Clone>(&mut self, things: &[T]) -> T {
        let chosen = usize::try_from(self.stream.below(things.len() as u64));
        things[chosen.expect("an index")].clone()
    }

    /// A random number below `bound`, for an owner, a group or a device.
    fn number(&mut self, bound: u32) -> u32 {
        u32::try_from(self.stream.below(u64::from(bound))).expect("below a u32")
    }

    fn dir(&mut self, path: impl Into<Vec<u8>>) {
        let (path, mode) = (path.into(), self.one_of(&[0o755, 0o750, 0o1777, 0o2775]));
        self.operations.push(Operation::Mkdir { path: path.clone(), mode });
        self.dated.push(path);
    }

    fn empty(&mut self, path: impl Into<Vec<u8>>) {
        let (path, mode) = (path.into(), self.one_of(&[0o644, 0o600, 0o755, 0o4755, 0]));
        self.operations.push(Operation::File { path: path.clone(), mode });
        self.dated.push(path);
    }

    fn write(&mut self, path: &[u8], offset: u64, size: u64, data: Data) {
        let seed = self.stream.next_u64();
        let chunk = self.one_of(&[CHUNK_MAX, 65_536, 4_096, 10_000, 1_500]);
        let (path, data) = (path.to_vec(), (data, seed));
        self.operations.push(Operation::Write { path, offset, size, data, chunk });
    }

    fn file(&mut self, path: impl Into<Vec<u8>>, size: u64, data: Data) {
        let path = path.into();
        self.empty(path.clone());
        if size > 0 {
            self.write(&path, 0, size, data);
        }
    }

    fn own(&mut self, path: &[u8]) {
        let (uid, gid) = (self.number(65_536), self.number(65_536));
        self.operations.push(Operation::Chown { path: path.to_vec(), uid, gid });
    }

    fn symlink(&mut self, target: impl Into<Vec<u8>>, path: impl Into<Vec<u8>>) {
        let (target, path) = (target.into(), path.into());
        self.operations.push(Operation::Symlink { target, path: path.clone() });
        self.dated.push(path);
    }

    fn truncate(&mut self, path: &[u8], size: u64) {
        self.operations.push(Operation::Truncate { path: path.to_vec(), size });
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) {
        self.operations.push(Operation::Rename { old: old.to_vec(), new: new.to_vec() });
        self.dated.retain(|path| path != new);
        self.dated.iter_mut().filter(|path| *path == old).for_each(|path| *path = new.to_vec());
    }

    fn unlink(&mut self, path: &[u8]) {
        self.operations.push(Operation::Unlink { path: path.to_vec() });
        self.dated.retain(|dated| dated != path);
    }

    /// `dirs` directories of `each` files of at most `size` bytes of any kind.
    fn files(&mut self, dirs: u64, each: u64, size: u64) {
        for dir in 0..dirs {
            self.dir(format!("d{dir:03}"));
            for file in 0..each {
                let data = self.one_of(&[Data::Text, Data::Random, Data::Runs]);
                let size = self.below(size + 1);
                self.file(format!("d{dir:03}/f{file:04}"), size, data);
            }
        }
    }

    /// Sets the times of all paths in reverse order of creation, and those of the root at the end.
    fn finish(mut self) -> Vec<Operation> {
        for path in std::mem::take(&mut self.dated).into_iter().rev() {
            let seconds = 1_000_000_000 + i64::from(self.number(600_000_000));
            self.operations.push(Operation::Mtime { path, seconds });
        }
        self.operations.push(Operation::Mtime { path: b".".to_vec(), seconds: 1_000_000_000 });
        self.operations
    }
}

fn deep(tree: &mut Tree) {
    let mut path = Vec::new();
    for level in 0..60 {
        path.extend(format!("level{level}").bytes());
        tree.dir(path.clone());
        let size = tree.below(9_000);
        let file = [&path, b"/file".as_slice()].concat();
        tree.file(file.clone(), size, Data::Text);
        tree.own(&file);
        path.push(b'/');
    }
}

fn wide(tree: &mut Tree) {
    tree.dir("all");
    for number in 0..2_000 {
        let path = format!("all/entry-{number}");
        match tree.below(20) {
            0 => tree.dir(path),
            1 => tree.symlink(format!("entry-{}", number / 2), path),
            _ => {
                let size = tree.below(200);
                tree.file(path, size, Data::Text);
            }
        }
    }
}

fn holes(tree: &mut Tree) {
    for number in 0..40_u64 {
        let path = format!("sparse{number}").into_bytes();
        tree.empty(path.clone());
        for _ in 0..tree.below(6) {
            let (offset, size) = (tree.below(300_000), tree.below(9_000) + 1);
            let data = tree.one_of(&[Data::Random, Data::Text, Data::Zero]);
            tree.write(&path, offset, size, data);
        }
        match tree.below(4) {
            0 => {
                let (short, long) = (tree.below(10_000), 20_000 + tree.below(100_000));
                tree.truncate(&path, short);
                tree.truncate(&path, long);
            }
            1 => {
                let size = tree.below(400_000);
                tree.truncate(&path, size);
            }
            _ => {}
        }
    }
    tree.empty("only-a-hole");
    tree.truncate(b"only-a-hole", 1_234_567);
    tree.empty("far");
    tree.write(b"far", 3_000_000, 5, Data::Text);
}

fn links(tree: &mut Tree) {
    for dir in ["a", "a/b", "c"] {
        tree.dir(dir);
    }
    for number in 0..30 {
        let size = tree.below(6_000);
        let path = format!("a/file{number}");
        tree.file(path.clone(), size, Data::Text);
        for copy in 0..tree.below(4) {
            let dir = tree.one_of(&["", "a/", "a/b/", "c/"]);
            let new = format!("{dir}link{number}-{copy}").into_bytes();
            tree.operations.push(Operation::Link { old: path.clone().into_bytes(), new });
        }
        if number % 7 == 3 {
            let gone = path.into_bytes();
            let kept = format!("c/kept{number}").into_bytes();
            tree.operations.push(Operation::Link { old: gone.clone(), new: kept.clone() });
            tree.dated.push(kept);
            tree.unlink(&gone);
        }
    }
    tree.symlink("a/file0", "relative");
    tree.symlink("/etc/passwd", "absolute");
    tree.symlink("../../nowhere", "dangling");
    tree.symlink("itself", "itself");
    tree.symlink("x".repeat(254), "long");
    tree.symlink(b"b\xc3\xa4\xff \\".to_vec(), "a/b/bytes");
    tree.operations.push(Operation::Link { old: b"relative".to_vec(), new: b"c/same".to_vec() });
    tree.own(b"dangling");
}

fn devices(tree: &mut Tree) {
    tree.dir("dev");
    for number in 0..60 {
        let path = format!("dev/node{number}").into_bytes();
        let major = tree.one_of(&[1, 4, 8, 90, 255, 256, 4_095]);
        let minor = tree.one_of(&[0, 1, 64, 255, 256, 65_536, 1_048_575]);
        let kind = match number % 4 {
            0 => Kind::Fifo,
            1 => Kind::Socket,
            2 => Kind::Character(Device { major, minor }),
            _ => Kind::Block(Device { major, minor }),
        };
        let mode = tree.one_of(&[0o600, 0o660, 0o666, 0o1620]);
        tree.operations.push(Operation::Mknod { path: path.clone(), kind, mode });
        tree.own(&path);
        tree.dated.push(path);
    }
}

fn names(tree: &mut Tree) {
    tree.dir("names");
    for length in [1_usize, 2, 3, 4, 5, 63, 64, 100, 200, 252, 254, 255] {
        let letter = [b'a' + u8::try_from(length % 26).expect("below 26")];
        tree.file([b"names/".as_slice(), &letter.repeat(length)].concat(), 10, Data::Text);
    }
    for byte in (1..=255_u8).filter(|&byte| byte != b'/') {
        tree.empty([b"names/_".as_slice(), &[byte]].concat());
    }
    for name in [
        "Überschwemmung",
        "日本語のファイル名",
        "ελληνικά",
        "e\u{301}",
        "\u{e9}",
        "😀",
        "-",
        "...",
        " ",
    ] {
        let size = tree.below(300);
        tree.file([b"names/".as_slice(), name.as_bytes()].concat(), size, Data::Text);
    }
    tree.dir("n".repeat(255));
    let inside = [vec![b'n'; 255], b"/".to_vec(), vec![b'm'; 255]].concat();
    tree.file(inside, 100, Data::Random);
}

fn xattrs(tree: &mut Tree) {
    tree.dir("dir");
    for number in 0..40 {
        let path = format!("dir/file{number}").into_bytes();
        let size = tree.below(3_000);
        tree.file(path.clone(), size, Data::Text);
        for name in 0..tree.below(5) {
            let length = tree.one_of(&[0, 1, 20, 300, 3_000]);
            let prefix = tree.one_of(&["user", "trusted", "security"]);
            let name = format!("{prefix}.name{name}").into_bytes();
            let data = tree.one_of(&[Data::Random, Data::Text]);
            let value = data.bytes(tree.stream.next_u64(), length);
            let path = path.clone();
            tree.operations.push(Operation::SetXattr { path, name: name.clone(), value });
            let path = format!("dir/file{number}").into_bytes();
            match tree.below(5) {
                0 => tree.operations.push(Operation::RemoveXattr { path, name }),
                1 => {
                    let value = b"again".to_vec();
                    tree.operations.push(Operation::SetXattr { path, name, value });
                }
                _ => {}
            }
        }
    }
    tree.symlink("file0", "dir/link");
    for path in ["dir", "dir/link"] {
        let (path, name) = (path.as_bytes().to_vec(), b"trusted.odd =,name".to_vec());
        tree.operations.push(Operation::SetXattr { path, name, value: b"shared".to_vec() });
    }
}

fn data(tree: &mut Tree, kinds: &[Data], kib: u64) {
    for number in 0..30 {
        let (size, data) = (tree.below(kib * 1_024), tree.one_of(kinds));
        tree.file(format!("data{number}"), size, data);
    }
}

fn edited(tree: &mut Tree) {
    const KINDS: [Data; 4] = [Data::Random, Data::Text, Data::Runs, Data::Percent(50)];
    tree.dir("work");
    let path = |number: u64| format!("work/file{number}").into_bytes();
    for number in 0..24 {
        let (size, data) = (tree.below(60_000), tree.one_of(&KINDS));
        tree.file(path(number), size, data);
    }
    for _ in 0..300 {
        let (target, data) = (path(tree.stream.below(16)), tree.one_of(&KINDS));
        let (offset, size) = (tree.below(60_000), tree.below(9_000) + 1);
        match tree.below(8) {
            0 => tree.truncate(&target, offset),
            _ => tree.write(&target, offset, size, data),
        }
    }
    for number in 16..20 {
        tree.rename(&path(number), &path(number - 16));
    }
    for number in 20..24 {
        tree.unlink(&path(number));
    }
    tree.dir("work/new");
    tree.rename(&path(8), b"work/new/moved");
    tree.dir("gone");
    tree.operations.push(Operation::Rmdir { path: b"gone".to_vec() });
    tree.dated.retain(|path| path != b"gone");
}

/// Sizes of a root filesystem: of 100 files 55 have up to 4 KiB, 32 up to 16 KiB, 10 up to 64 KiB and
/// three up to 256 KiB (assumed, after small embedded distributions); one in ten names is a link.
fn rootfs(tree: &mut Tree, files: u64) {
    const DIRS: [&str; 7] = ["bin", "etc", "lib", "usr", "usr/bin", "usr/lib", "usr/share"];
    DIRS.iter().for_each(|dir| tree.dir(*dir));
    let groups = files.div_ceil(40);
    for group in 0..groups {
        tree.dir(format!("usr/share/group{group}"));
    }
    for number in 0..files {
        let dir = match tree.below(10) {
            0..6 => format!("usr/share/group{}", tree.stream.below(groups)),
            _ => tree.one_of(&DIRS).to_owned(),
        };
        let path = format!("{dir}/file{number}");
        if tree.below(10) == 0 {
            tree.symlink(format!("file{}", number / 2), path);
            continue;
        }
        let bound = match tree.below(100) {
            0..55 => 4_096,
            55..87 => 16_384,
            87..97 => 65_536,
            _ => 262_144,
        };
        let (size, data) =
            (tree.below(bound), tree.one_of(&[Data::Text, Data::Percent(70), Data::Random]));
        tree.file(path, size, data);
    }
    for (minor, name) in (0..).zip(["console", "null", "zero", "tty", "random"]) {
        let (path, kind) = (format!("etc/{name}"), Kind::Character(Device { major: 1, minor }));
        let path = path.into_bytes();
        tree.operations.push(Operation::Mknod { path: path.clone(), kind, mode: 0o666 });
        tree.dated.push(path);
    }
}
