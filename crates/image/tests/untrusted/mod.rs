//! What a fuzzer's input stands for, and everything that is done with a flash of unknown content.
//!
//! Shared by the targets in `fuzz/targets`, which search, and `tests/fuzzed_flash.rs`, which runs again
//! what was found. [`jffs2`], [`logfs`], [`ubi`], [`ubifs`] and [`yaffs2`] are the kinds of flash;
//! [`pieces`] is what the inputs of UBI and UBIFS consist of.

#![allow(dead_code, reason = "every user needs another part")]

pub(crate) mod jffs2;
pub(crate) mod logfs;
pub(crate) mod pieces;
pub(crate) mod ubi;
pub(crate) mod ubifs;
pub(crate) mod yaffs2;

use boardlab_image::Walk;
use boardlab_mtd::stats::Stats;
use boardlab_mtd::{Kind as Operation, Mtd};
use boardlab_sim::Clock;
use boardlab_vfs::{FileSystem, Ino, Kind, NewInode, PAGE_SIZE, SetAttr};
use peak_alloc::PeakAlloc;
use std::collections::BTreeSet;

/// What was found in a flash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WalkCounts {
    /// Whether it was mounted, or attached.
    pub(crate) mounted: bool,
    pub(crate) names: u64,
    pub(crate) targets: u64,
    pub(crate) values: u64,
    pub(crate) bytes: u64,
    pub(crate) flash_reads: u64,
    pub(crate) flash_bytes: u64,
}

impl WalkCounts {
    /// Adds what was read of a device.
    fn count_reads<M: Mtd>(&mut self, device: &Stats<M>) {
        for kind in [Operation::Read, Operation::ReadOob] {
            self.flash_reads += device.of(kind).count();
            self.flash_bytes += device.of(kind).bytes().get();
        }
    }
}

/// Pages read from the beginning of a file; of a longer one some further ones, up to the last.
const PAGES: u64 = 64;

/// A background that never comes to an end is a hang.
fn background(fs: &mut dyn FileSystem, clock: &mut Clock) {
    let mut steps = 0;
    while fs.background(clock) == Ok(true) {
        steps += 1;
        assert!(steps < 100_000, "the background check does not come to an end");
    }
}

fn walk(fs: &mut dyn FileSystem, clock: &mut Clock, found: &mut WalkCounts) {
    let mut walk = Walk::new(b"/", fs.root());
    let mut read = BTreeSet::new();
    while let Some(item) = walk.next(fs, clock) {
        found.names += 1;
        found.targets += u64::from(!item.target.is_empty());
        let Some(attributes) = item.attributes else { continue };
        if read.insert(item.ino.0) {
            if attributes.kind == Kind::File {
                read_file(fs, clock, (item.ino, attributes.size), found);
            }
            for name in fs.listxattr(clock, item.ino).unwrap_or_default() {
                found.values += u64::from(fs.getxattr(clock, item.ino, &name).is_ok());
            }
        }
        if let Some(name) = item.path.rsplit(|&byte| byte == b'/').next() {
            let _ = fs.lookup(clock, fs.root(), name);
        }
        let _ = fs.evict_inode(clock, item.ino);
    }
}

fn read_file(fs: &mut dyn FileSystem, clock: &mut Clock, file: (Ino, u64), found: &mut WalkCounts) {
    let (ino, size) = file;
    let last = size.div_ceil(PAGE_SIZE as u64);
    let far = (6..52).map(|power| 1 << power).take_while(|&page| page < last);
    let pages = (0..last.min(PAGES)).chain(far).chain(last.saturating_sub(2)..=last);
    let mut buffer = [0; PAGE_SIZE];
    for page in pages {
        if fs.read_page(clock, ino, page, &mut buffer).is_ok() {
            found.bytes += PAGE_SIZE as u64;
        }
    }
}

/// Every operation that writes, on names that were there and on new ones; whether they succeed is
/// the image's affair.
fn write_on(fs: &mut dyn FileSystem, clock: &mut Clock) {
    let root = fs.root();
    let names: Vec<_> = fs.readdir(clock, root).unwrap_or_default();
    let content: Vec<u8> = (0..PAGE_SIZE).map(|at| (at * at / 7).to_le_bytes()[0]).collect();
    for (index, entry) in names.iter().take(6).enumerate() {
        let new = [b"new", &entry.name[..entry.name.len().min(100)]].concat();
        let _ = match index % 4 {
            0 => fs.unlink(clock, root, &entry.name),
            1 => fs.rename(clock, root, &entry.name, root, &new),
            2 => fs.link(clock, entry.ino, root, &new),
            _ => fs.rmdir(clock, root, &entry.name),
        };
        let cut = SetAttr { size: Some(5_000), mode: Some(0o600), ..SetAttr::default() };
        let _ = fs.setattr(clock, entry.ino, &cut);
        let _ = fs.write_page(clock, entry.ino, 1, &content, 100..2_000);
        let _ = fs.setxattr(clock, entry.ino, b"user.colour", Some(b"blue"));
        let _ = fs.evict_inode(clock, entry.ino);
    }
    if let Ok(file) = fs.create(clock, root, b"a new file", &NewInode::of(Kind::File, 0o644)) {
        for page in 0..4 {
            let _ = fs.write_page(clock, file, page, &content, 0..PAGE_SIZE);
        }
        let _ = fs.fsync(clock, file);
        let _ = fs.evict_inode(clock, file);
    }
    background(fs, clock);
    let _ = fs.sync(clock);
    let _ = fs.unmount(clock);
}

/// Does `work` with a flash of `size` bytes. Fails when it takes more memory than four times the size
/// and `fixed`, or reads out of all proportion.
fn within_limits((size, fixed): (usize, usize), work: impl FnOnce() -> WalkCounts) -> WalkCounts {
    let before = PeakAlloc.current_usage();
    PeakAlloc.reset_peak_usage();
    let found = work();
    let memory = PeakAlloc.peak_usage() - before;
    assert!(memory <= 4 * size + fixed, "{memory} bytes of memory for a flash of {size}");
    let most = 2_000 * (size as u64 + found.names * PAGE_SIZE as u64);
    assert!(found.flash_bytes <= most, "{found:?} of a flash of {size}");
    found
}
