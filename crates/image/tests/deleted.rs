//! Deleted files: what comes back is what is still there, byte for byte, and what is missing is told.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking and says so")]

#[path = "deleted/jffs2.rs"]
mod jffs2;
#[allow(dead_code, reason = "files are extracted only")]
mod scratch;
#[path = "deleted/ubifs.rs"]
mod ubifs;
#[path = "deleted/yaffs2.rs"]
mod yaffs2;

use boardlab_image::deleted::{DeletedFile, DeletedTree};
use boardlab_image::{Contents, Damage, Error, Hints, Limits, Walk, extract, open};
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
    tree: &mut DeletedTree,
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

/// Bytes that are nowhere else.
fn unlike(length: usize, seed: u64) -> Vec<u8> {
    let mut stream = Seed::new(seed).stream("content");
    (0..length).map(|_| stream.next_u64().to_le_bytes()[0]).collect()
}
