//! Deleted files: what comes back is what is still there, byte for byte, and what is missing is told.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking and says so")]

#[path = "deleted/jffs2.rs"]
mod jffs2;
#[path = "deleted/logfs.rs"]
mod logfs;
#[allow(dead_code, reason = "files are extracted only")]
mod scratch;
#[path = "deleted/ubifs.rs"]
mod ubifs;
#[path = "deleted/yaffs2.rs"]
mod yaffs2;

use boardlab_image::deleted::{DeletedFile, DeletedTree};
use boardlab_image::{Contents, Damage, Error, Hints, Limits, MountedImage, Walk, extract, open};
use boardlab_sim::{Clock, Seed};
use boardlab_vfs::{FileSystem, Kind, Mount};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The deleted files of an image.
fn found(image: &[u8]) -> (DeletedTree, Clock) {
    let mut image = open(&Contents::of(image.to_vec()), &Hints::default()).unwrap();
    let found = image.fs.deleted(&mut image.clock).unwrap();
    (DeletedTree::of(found), image.clock)
}

/// An older state of an image.
fn past(image: &[u8], as_of: u64) -> Result<MountedImage, Error> {
    let hints = Hints { as_of: Some(as_of), ..Hints::default() };
    open(&Contents::of(image.to_vec()), &hints)
}

/// The content of a file of a state, if it is there.
fn living(image: &mut MountedImage, name: &str) -> Option<Vec<u8>> {
    let (fs, clock) = (image.fs.as_mut(), &mut image.clock);
    let root = fs.root();
    let ino = fs.lookup(clock, root, name.as_bytes()).ok()?;
    let size = fs.getattr(clock, ino).unwrap().size;
    Some(content(fs, clock, ino, size))
}

/// Why an image has none.
fn refused(image: &[u8]) -> String {
    let mut image = open(&Contents::of(image.to_vec()), &Hints::default()).unwrap();
    let refused = image.fs.deleted(&mut image.clock).unwrap_err();
    assert!(!refused.help().is_empty());
    refused.to_string()
}

/// The deleted files by their paths, with their inodes in the tree.
fn listed(
    tree: &mut DeletedTree,
    clock: &mut Clock,
) -> BTreeMap<String, (boardlab_vfs::Ino, DeletedFile)> {
    let mut walk = Walk::new(b"/", tree.root());
    let mut all = BTreeMap::new();
    while let Some(item) = walk.next(tree, clock) {
        if let Some(file) = tree.file(item.ino) {
            let path = String::from_utf8_lossy(&item.path).into_owned();
            assert!(all.insert(path, (item.ino, file.clone())).is_none());
        }
    }
    all
}

/// The content of a file of the tree; what cannot be read is zeros.
fn content(
    tree: &mut dyn FileSystem,
    clock: &mut Clock,
    ino: boardlab_vfs::Ino,
    size: u64,
) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(size).unwrap()];
    tree.read_extents(clock, ino, &mut |extent| {
        let at = usize::try_from(extent.offset).unwrap();
        if let Ok(part) = extent.bytes {
            bytes[at..at + part.len()].copy_from_slice(part);
        }
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    bytes
}

/// Writes `bytes` at `offset` of a file, which is made if it is not there.
fn write<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    path: &str,
    (offset, bytes): (u64, &[u8]),
) {
    let fd = match mount.open(clock, path) {
        Ok(fd) => fd,
        Err(_) => mount.create(clock, path, 0o640).unwrap(),
    };
    assert_eq!(mount.write(clock, fd, offset, bytes).unwrap(), bytes.len());
    mount.close(clock, fd).unwrap();
}

/// Deletes files whose extended attributes were set, changed and removed.
fn work_with_xattrs<F: FileSystem>(mount: &mut Mount<F>, clock: &mut Clock) {
    for path in ["/a", "/b", "/keep", "/plain"] {
        write(mount, clock, path, (0, &unlike(3_000, 1)));
    }
    for (path, name, value) in [
        ("/a", "user.one", &b"1"[..]),
        ("/a", "user.two", b"2"),
        ("/b", "user.one", b"1"),
        ("/keep", "user.one", b"1"),
        ("/keep", "user.kept", b"kept"),
        ("/a", "user.one", b"another value"),
        ("/a", "trusted.three", &unlike(300, 7)),
        ("/b", "user.one", b""),
    ] {
        mount.setxattr(clock, path, name, value).unwrap();
    }
    mount.removexattr(clock, "/a", "user.two").unwrap();
    mount.sync(clock).unwrap();
    for path in ["/a", "/b", "/plain"] {
        mount.unlink(clock, path).unwrap();
    }
    mount.sync(clock).unwrap();
}

/// Whether what [`work_with_xattrs`] deleted comes back with its last attributes.
fn assert_xattrs(image: &[u8]) {
    let (mut tree, mut clock) = found(image);
    let all = listed(&mut tree, &mut clock);
    assert_eq!(all.keys().collect::<Vec<_>>(), ["/a", "/b", "/plain"]);
    let mut of = |path: &str| {
        let ino = all[path].0;
        let names = tree.listxattr(&mut clock, ino).unwrap();
        let value = |name: Vec<u8>| {
            let value = tree.getxattr(&mut clock, ino, &name).unwrap();
            (String::from_utf8(name).unwrap(), value)
        };
        names.into_iter().map(value).collect::<Vec<_>>()
    };
    let three = ("trusted.three".to_owned(), unlike(300, 7));
    assert_eq!(of("/a"), [three, ("user.one".to_owned(), b"another value".to_vec())]);
    assert_eq!(of("/b"), [("user.one".to_owned(), Vec::new())]);
    assert_eq!(of("/plain"), []);
    assert!(all.values().all(|(_, file)| file.loss().is_none()), "{all:?}");
    let missing = tree.getxattr(&mut clock, all["/a"].0, b"user.two");
    assert!(missing.is_err());
}

/// Bytes that are nowhere else.
fn unlike(length: usize, seed: u64) -> Vec<u8> {
    let mut stream = Seed::new(seed).stream("content");
    (0..length).map(|_| stream.next_u64().to_le_bytes()[0]).collect()
}
