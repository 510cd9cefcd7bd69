//! Images of YAFFS that hold one thing very often, so that anything that looks at all of them for each of
//! them takes minutes, and objects in every page, so that what each one takes in memory counts.
//!
//! Every image is identified, checked, listed and read within time and within four times its size of memory.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "the helpers of a test panic and print like the test"
)]
#![allow(dead_code, reason = "the maker serves other tests too")]

#[path = "yaffs2/maker.rs"]
mod maker;

use boardlab_codec::ByteOrder;
use boardlab_image::check::check;
use boardlab_image::{Contents, Damage, Hints, MountedImage, Walk, open};
use boardlab_vfs::{FileSystem, PAGE_SIZE};
use boardlab_yaffs2::format::tags1::{self, Layout1};
use boardlab_yaffs2::format::{ObjectHeader, Tags, header};
use maker::{Maker, directory, file, link};
use peak_alloc::PeakAlloc;
use std::time::{Duration, Instant};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Pages of an image of YAFFS1, and of YAFFS2.
const SMALL: u32 = 40_000;
const LARGE: u32 = 20_000;
/// Far above what any image takes, also on a busy machine.
const LONGEST: Duration = Duration::from_secs(40);
/// What every image takes: numbers of objects, buffers, windows of a file.
const FIXED: usize = 8 << 20;

/// Reads everything; the number of names.
fn read(bytes: Vec<u8>) -> usize {
    let contents = Contents::of(bytes);
    let hints = Hints { partial: true, ..Hints::default() };
    drop(check(&contents, &hints).unwrap());
    let mut image = open(&contents, &hints).unwrap();
    drop(Damage::of(&mut image).unwrap());
    let MountedImage { fs, clock, .. } = &mut image;
    let mut walk = Walk::new(b"/", fs.root());
    let (mut page, mut names) = ([0; PAGE_SIZE], 0);
    while let Some(item) = walk.next(fs, clock) {
        names += 1;
        let size = item.attributes.map_or(0, |found| found.size);
        for number in [0, size / 4_096] {
            let _ = fs.read_page(clock, item.ino, number, &mut page);
        }
        let _ = fs.evict_inode(clock, item.ino);
    }
    names
}

fn within_limits(what: &str, bytes: Vec<u8>, least: usize) {
    let size = bytes.len();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let start = Instant::now();
    let names = read(bytes);
    let (time, memory) = (start.elapsed(), MEMORY.peak_usage().saturating_sub(before));
    eprintln!("{what}: {size} bytes, {names} names, {time:?}, {memory} bytes of memory");
    assert!(names >= least, "{what}: {names} names");
    assert!(time < LONGEST, "{what}: {time:?}");
    assert!(memory <= 4 * size + FIXED, "{what}: {memory} bytes of memory for {size}");
}

/// Pages of YAFFS1 with packed tags.
fn small(pages: impl Iterator<Item = (u32, u32, u8, ObjectHeader)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (object, chunk, serial, content) in pages {
        let start = bytes.len();
        bytes.resize(start + 528, 0xFF);
        if chunk == 0 {
            let mut head = [0; header::SIZE];
            content.emit(&mut head, ByteOrder::Little, false);
            bytes[start..start + 512].copy_from_slice(&head);
        }
        let tags = Tags { object, chunk, bytes: 512, serial, ..Tags::default() };
        let tags = tags1::emit(&tags, ByteOrder::Little, Layout1::Packed);
        bytes[start + 520..start + 528].copy_from_slice(&tags);
    }
    bytes
}

fn name(number: u32) -> Vec<u8> {
    format!("a name longer than fifteen bytes {number}").into_bytes()
}

type Page = (u32, u32, u8, ObjectHeader);

/// What comes before the pages of one kind.
fn first() -> impl Iterator<Item = Page> {
    let etc = (257, 0, 1, directory(1, b"etc"));
    std::iter::once(etc).chain((258..270).map(|object| (object, 0, 1, file(1, &name(object), 9))))
}

fn small_images() {
    let numbers = || 300..300 + SMALL;
    let cases: [(&str, Box<dyn Iterator<Item = Page>>, usize); 7] = [
        ("files", Box::new(numbers().map(|at| (at, 0, 1, file(1, &name(at), 9)))), 40_000),
        ("parents", Box::new(numbers().map(|at| (at, 0, 1, file(at + 100_000, b"x", 9)))), 40_000),
        ("pieces", Box::new(numbers().map(|at| (at, 0xF_FFFF, 1, file(1, b"", 0)))), 40_000),
        ("links", Box::new(numbers().map(|at| (at, 0, 1, link(1, &name(at), 258)))), 40_000),
        (
            "links of one",
            Box::new(
                numbers().map(|at| (300, 0, u8::try_from(at & 3).unwrap(), link(1, b"l", 258))),
            ),
            10,
        ),
        ("chain", Box::new(numbers().map(|at| (at, 0, 1, directory(at - 1, b"d")))), 1_000),
        ("one name", Box::new(numbers().map(|at| (at, 0, 1, file(257, b"same", 9)))), 10),
    ];
    for (what, pages, least) in cases {
        within_limits(what, small(first().chain(pages)), least);
    }
}

fn large_images() {
    let mut files = Maker::usual();
    files.header(257, &directory(1, b"etc"));
    let mut pieces = files.clone();
    let mut one = files.clone();
    for number in 0..LARGE {
        files.header(300 + number, &file(257, &name(number), 1 << 40));
        let chunk = (number + 1).wrapping_mul(0x9E_3779) & 0xFFF_FFFF;
        pieces.chunk(b"piece", &Tags { object: 300 + number, chunk, bytes: 5, ..Tags::default() });
        one.chunk(b"piece", &Tags { object: 300, chunk, bytes: 5, ..Tags::default() });
    }
    for maker in [&mut pieces, &mut one] {
        (0..9).for_each(|number| maker.header(270 + number, &file(1, &name(number), 5)));
    }
    one.header(300, &file(1, b"one", 1 << 39));
    within_limits("large files", files.bytes, 20_000);
    within_limits("large pieces", pieces.bytes, 20_000);
    within_limits("large pieces of one", one.bytes, 10);
}

// One test, because the memory of all threads is counted together.
#[test]
fn crowded_images_are_read_within_limits() {
    small_images();
    large_images();
}
