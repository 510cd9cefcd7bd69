//! Single requests: what is refused, what is durable, what is told.

use crate::script::server;
use boardlab_fuse::{NoStore, Rename, Server, Store};
use boardlab_sim::{Clock, Instant};
use boardlab_vfs::{Errno, Kind, MemoryFs, Mount, NewInode, SetAttr};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const FILE: NewInode<'static> = NewInode::of(Kind::File, 0o644);
const DIR: NewInode<'static> = NewInode::of(Kind::Directory, 0o755);

/// A store that fails on request.
#[derive(Debug, Clone, Default)]
struct Switched {
    fails: Arc<AtomicBool>,
    syncs: Arc<AtomicU32>,
}

impl Store for Switched {
    fn sync(&mut self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        if self.fails.load(Ordering::Relaxed) { Err(io::Error::other("full")) } else { Ok(()) }
    }

    fn failure(&self) -> Option<String> {
        self.fails.load(Ordering::Relaxed).then(|| "full".into())
    }
}

fn stored(store: Switched) -> Server<MemoryFs> {
    let mount = Mount::new(MemoryFs::new());
    Server::new(mount, Clock::new(), Box::new(|| Instant::ZERO), Box::new(store), false)
}

#[test]
fn a_full_store_makes_every_change_an_error() {
    let store = Switched::default();
    let mut server = stored(store.clone());
    let file = server.create(1, b"f", &FILE).unwrap().node;
    let handle = server.open(file, true, false).unwrap();
    assert_eq!(server.write(handle, 0, b"abc"), Ok(3));
    assert_eq!(server.fsync(handle), Ok(()));
    assert_eq!(store.syncs.load(Ordering::Relaxed), 1);
    store.fails.store(true, Ordering::Relaxed);
    let change = SetAttr { mode: Some(0), ..SetAttr::default() };
    assert_eq!(server.write(handle, 0, b"abc"), Err(Errno::Io));
    assert_eq!(server.fsync(handle), Err(Errno::Io));
    assert_eq!(server.flush(handle), Err(Errno::Io));
    assert_eq!(server.sync(), Err(Errno::Io));
    assert_eq!(server.create(1, b"g", &FILE), Err(Errno::Io));
    assert_eq!(server.setattr(file, &change), Err(Errno::Io));
    assert_eq!(server.link(file, 1, b"g"), Err(Errno::Io));
    assert_eq!(server.unlink(1, b"f"), Err(Errno::Io));
    assert_eq!(server.setxattr(file, b"user.a", Some(b"b"), None), Err(Errno::Io));
    let rename = Rename { from: (1, b"f"), to: (1, b"g"), keeps: false };
    assert_eq!(server.rename(rename), Err(Errno::Io));
    assert_eq!(server.read(handle, 0, 10), Ok(b"abc".to_vec()));
    assert_eq!(server.finish(), Err("full".into()));
}

#[test]
fn synchronous_writes_reach_the_store_before_they_are_answered() {
    let store = Switched::default();
    let mut server = stored(store.clone());
    let (_, handle) = server.create_open(1, b"f", &FILE, true).unwrap();
    server.write(handle, 0, b"a").unwrap();
    server.write(handle, 1, b"b").unwrap();
    assert_eq!(store.syncs.load(Ordering::Relaxed), 2);
}

#[test]
fn a_read_only_server_changes_nothing() {
    let mut fs = Mount::new(MemoryFs::new());
    let fd = fs.create(&mut Clock::new(), "/f", 0o644).unwrap();
    fs.write(&mut Clock::new(), fd, 0, b"text").unwrap();
    fs.close(&mut Clock::new(), fd).unwrap();
    let mut server =
        Server::new(fs, Clock::new(), Box::new(|| Instant::ZERO), Box::new(NoStore), true);
    let file = server.lookup(1, b"f").unwrap().node;
    let rename = Rename { from: (1, b"f"), to: (1, b"g"), keeps: false };
    assert_eq!(server.create(1, b"g", &FILE), Err(Errno::RoFs));
    assert_eq!(server.setattr(file, &SetAttr::default()), Err(Errno::RoFs));
    assert_eq!(server.link(file, 1, b"g"), Err(Errno::RoFs));
    assert_eq!(server.unlink(1, b"f"), Err(Errno::RoFs));
    assert_eq!(server.rmdir(1, b"f"), Err(Errno::RoFs));
    assert_eq!(server.rename(rename), Err(Errno::RoFs));
    assert_eq!(server.setxattr(file, b"user.a", None, None), Err(Errno::RoFs));
    assert_eq!(server.open(file, true, false), Err(Errno::RoFs));
    let handle = server.open(file, false, false).unwrap();
    assert_eq!(server.write(handle, 0, b"a"), Err(Errno::RoFs));
    assert_eq!(server.read(handle, 1, 100), Ok(b"ext".to_vec()));
    assert_eq!(server.finish(), Ok(()));
}

#[test]
fn an_open_file_outlives_its_names_and_its_number_gets_a_new_generation() {
    let mut server = server(MemoryFs::new());
    let (found, handle) = server.create_open(1, b"f", &FILE, false).unwrap();
    server.write(handle, 0, b"abc").unwrap();
    server.unlink(1, b"f").unwrap();
    server.forget(found.node);
    assert_eq!(server.read(handle, 0, 10), Ok(b"abc".to_vec()));
    server.release(handle).unwrap();
    assert_eq!(server.read(handle, 0, 10), Err(Errno::BadF));
    assert_eq!(server.getattr(found.node), Err(Errno::Stale));
    let next = server.create(1, b"g", &FILE).unwrap();
    // A filesystem may give the number again.
    assert_ne!(next.generation, found.generation);
}

#[test]
fn renames_keep_directories_out_of_themselves_and_existing_names_if_asked() {
    let mut server = server(MemoryFs::new());
    let a = server.create(1, b"a", &DIR).unwrap().node;
    let b = server.create(a, b"b", &DIR).unwrap().node;
    let mut rename = |from, to, keeps| server.rename(Rename { from, to, keeps });
    assert_eq!(rename((1, b"a"), (b, b"c"), false), Err(Errno::Inval));
    assert_eq!(rename((1, b"a"), (a, b"c"), false), Err(Errno::Inval));
    assert_eq!(rename((a, b"b"), (1, b"a"), false), Err(Errno::NotEmpty));
    assert_eq!(rename((a, b"b"), (1, b"a"), true), Err(Errno::Exist));
    assert_eq!(rename((a, b"b"), (1, b"b"), true), Ok(()));
    // Now `b` is beside `a`, so that `a` may move into it.
    assert_eq!(rename((1, b"a"), (b, b"c"), false), Ok(()));
    assert_eq!(server.lookup(b, b"c").unwrap().node, a);
}

#[test]
fn a_directory_is_read_in_parts_and_anew_from_its_beginning() {
    let mut server = server(MemoryFs::new());
    for name in [b"a", b"b", b"c"] {
        server.create(1, name, &FILE).unwrap();
    }
    let handle = server.opendir(1).unwrap();
    assert_eq!(server.readdir(handle, 0).unwrap().len(), 3);
    server.unlink(1, b"a").unwrap();
    assert_eq!(server.readdir(handle, 1).unwrap().len(), 2);
    assert_eq!(server.readdir(handle, 0).unwrap().len(), 2);
    assert_eq!(server.readdir(handle, 99).unwrap().len(), 0);
    let file = server.lookup(1, b"b").unwrap().node;
    assert_eq!(server.opendir(file), Err(Errno::NotDir));
}

#[test]
fn an_attribute_can_be_asked_to_be_new_or_not() {
    let mut server = server(MemoryFs::new());
    let node = server.create(1, b"f", &FILE).unwrap().node;
    let mut set = |value: &[u8], exists| server.setxattr(node, b"user.a", Some(value), exists);
    assert_eq!(set(b"1", Some(true)), Err(Errno::NoData));
    assert_eq!(set(b"1", Some(false)), Ok(()));
    assert_eq!(set(b"2", Some(false)), Err(Errno::Exist));
    assert_eq!(set(b"2", Some(true)), Ok(()));
    assert_eq!(server.getxattr(node, b"user.a"), Ok(b"2".to_vec()));
    assert_eq!(server.listxattr(node), Ok(vec![b"user.a".to_vec()]));
}
