//! Images that hold one kind of node very often, so that anything that looks at all of them for each
//! of them takes minutes: what fuzzing cannot find, because its inputs are small.
//!
//! Every image is read within time and within four times its size of memory.

#![allow(clippy::unwrap_used, reason = "the helpers of a test panic like the test")]

mod untrusted;

use boardlab_jffs2::Options;
use boardlab_jffs2::format::header::Header;
use boardlab_jffs2::format::inode::Compressor;
use boardlab_jffs2::format::{ByteOrder, Dirent, Inode, NodeType, Xref, crc};
use boardlab_mtd::{Mtd, RamMtd};
use boardlab_sim::{Bytes, Clock, Seed};
use peak_alloc::PeakAlloc;
use std::time::{Duration, Instant};
use untrusted::jffs2::Flash;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Nodes of an image. What grows with their square takes minutes.
const NODES: u32 = 60_000;

/// Far above what any image takes, also on a busy machine.
const LONGEST: Duration = Duration::from_secs(30);

const ORDER: ByteOrder = ByteOrder::Little;
const BLOCK: usize = 64 << 10;

type Node = Vec<u8>;

fn dirent(ino: u32, version: u32, name: &str) -> Node {
    let dirent = Dirent { parent: 1, version, ino, mctime: 0, kind: 8, name: name.as_bytes() };
    let mut bytes = vec![0xFF; (40 + name.len()).next_multiple_of(4)];
    dirent.emit(&mut bytes, ORDER);
    bytes
}

fn inode(ino: u32, version: u32, offset: u32) -> Node {
    let data = b"abcdefgh";
    let mut bytes = vec![0xFF; 68 + data.len()];
    let node = Inode {
        ino,
        version,
        mode: 0o100_644,
        uid: 0,
        gid: 0,
        isize: 4 * NODES,
        atime: 0,
        mtime: 0,
        ctime: 0,
        offset,
        csize: 8,
        dsize: 8,
        compressor: Compressor::None,
        user_compressor: 0,
        flags: 0,
        data_crc: crc(0, data),
    };
    node.emit(&mut bytes, ORDER);
    bytes[68..].copy_from_slice(data);
    bytes
}

fn xref(ino: u32, xid: u32, sequence: u32) -> Node {
    let mut bytes = vec![0xFF; 28];
    Xref { ino, xid, sequence, removed: false }.emit(&mut bytes, ORDER);
    bytes
}

fn header(node_type: NodeType) -> Node {
    let mut bytes = vec![0; 12];
    Header::new(node_type, 12).emit(&mut bytes, ORDER);
    bytes
}

/// A NOR just large enough for the nodes, each block with its cleanmarker; and its size.
fn flash(nodes: impl Iterator<Item = Node>) -> (Flash, usize) {
    let mut image = Vec::new();
    for node in nodes {
        let left = BLOCK - image.len() % BLOCK;
        if left < node.len() {
            image.resize(image.len() + left, 0xFF);
        }
        if image.len().is_multiple_of(BLOCK) {
            image.extend(header(NodeType::Cleanmarker));
        }
        image.extend(node);
    }
    let blocks = u32::try_from(image.len().div_ceil(BLOCK)).unwrap().max(5);
    let mut device = RamMtd::nor(blocks, Bytes::of(&[0; BLOCK]));
    device.program(&mut Clock::new(), Bytes::ZERO, &image).unwrap();
    let options = Options { read_only: true, ..Options::default() };
    (Flash::new(device, options), blocks as usize * BLOCK)
}

fn read(what: &str, nodes: impl Iterator<Item = Node>) {
    let (mut flash, size) = flash(nodes);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let start = Instant::now();
    let found = flash.read_everything();
    let (time, memory) = (start.elapsed(), MEMORY.peak_usage() - before);
    assert!(found.mounted, "{what} is not mounted");
    assert!(time < LONGEST, "{what}: {time:?}");
    assert!(memory <= 4 * size, "{what}: {memory} bytes of memory for a flash of {size}");
    assert!(found.flash_bytes < 20 * size as u64, "{what}: {found:?} of {size}");
}

// One test, because the memory of all threads is counted together.
#[test]
fn crowded_images_are_read_within_limits() {
    let all = || 1..=NODES;
    let name = |at: u32| format!("{at:05x}");
    let file = || std::iter::once(dirent(2, 1, "file"));
    let content = || std::iter::once(inode(2, 1, 0));
    let mut stream = Seed::new(1).stream("crowded");
    let anywhere: Vec<_> = all()
        .map(|version| inode(2, version, 4 * u32::try_from(stream.below(NODES.into())).unwrap()))
        .collect();
    read("one reference", all().map(|at| xref(1, at % 5, at)));
    read("many references", all().map(|at| xref(1, at, at)));
    read("one name", all().map(|at| dirent(at % 7 + 2, at, "same")));
    read("one name of one version", all().map(|at| dirent(at + 2, 1, "same")));
    read("many names of one file", content().chain(all().map(|at| dirent(2, at, &name(at)))));
    read("many inodes without names", all().map(|at| inode(at + 1, 1, 0)));
    read("inodes far apart", all().map(|at| inode(at << 7, 1, 0)));
    read("a file, forwards", file().chain(all().map(|at| inode(2, at, 8 * at))));
    read("a file, backwards", file().chain(all().map(|at| inode(2, at, 8 * (NODES - at)))));
    read("a file, anywhere", file().chain(anywhere));
    read("one place, newest first", file().chain(all().map(|at| inode(2, NODES - at, 0))));
    read("one place, one version", file().chain(all().map(|_| inode(2, 1, 0))));
    read("headers alone", all().map(|_| header(NodeType::Padding)));
    let others = || 1..=NODES / 2;
    let names = others().map(|at| dirent(2, at, &name(at)));
    read("names and nodes of one file", names.chain(others().map(|at| inode(2, at, 8 * at))));
    let damaged = |at: u32| {
        let mut node = inode(2, at, 8 * at);
        node[70] ^= 1;
        node
    };
    let names = others().map(|at| dirent(2, at, &name(at)));
    read("names and damaged nodes", names.chain(others().map(damaged)));
    let files = all().take(NODES as usize / 4);
    read("files", files.flat_map(|at| [dirent(at + 1, 1, &name(at)), inode(at + 1, 1, 0)]));
}
