//! YAFFS1 and YAFFS2 on NAND in memory: remounts by checkpoint, by scan, and with a checkpoint that does not fit.
use super::{Pair, extent};
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::FileSystem;
use boardlab_yaffs2::format::tags1::Layout1;
use boardlab_yaffs2::{Options, TagsPlace, Word, Yaffs};
use std::cell::Cell;

fn mount(device: RamMtd, clock: &mut Clock, options: Options) -> Yaffs<RamMtd> {
    Yaffs::mount(clock, device, options).unwrap_or_else(|error| panic!("{error}"))
}

/// The way of one remount of three.
fn remount(
    fs: Yaffs<RamMtd>,
    clock: &mut Clock,
    options: &Options,
    last: &Cell<(u32, Word)>,
) -> Yaffs<RamMtd> {
    let (number, writer) = last.get();
    let (way, other) = match writer {
        Word::Bits32 => (number % 3, Word::Bits64),
        Word::Bits64 => (number % 3, Word::Bits32),
    };
    let word = if way == 2 { other } else { writer };
    last.set((number + 1, word));
    let options = Options { read_checkpoint: way != 1, word, ..options.clone() };
    let written = fs.is_checkpointed();
    let fs = mount(fs.into_device(), clock, options);
    assert_eq!(fs.is_checkpointed(), written && way == 0);
    fs.check_tables().unwrap();
    let findings = fs.findings();
    assert!(findings.bad_tags.is_empty() && findings.hanging.is_empty(), "{findings:?}");
    assert!(findings.dangling_links.is_empty(), "{findings:?}");
    fs
}

fn run(name: &str, device: RamMtd, options: Options) {
    let options = Options { repaired: true, hide_lost_and_found: true, ..options };
    let mut pair = Pair::new(|clock| mount(device, clock, options.clone()));
    pair.fill();
    let count = extent(8_000);
    let last = Cell::new((0, options.word));
    pair.run(name, count, |fs, clock| remount(fs, clock, &options, &last));
    pair.assert_was_full(count);
}

#[test]
fn a_full_yaffs2_is_as_a_tree_in_memory() {
    let device = RamMtd::nand(100, 16, Bytes::kib(2), Bytes::new(64));
    run("yaffs2", device, Options::default());
}

#[test]
fn a_full_yaffs2_without_summaries_is_as_a_tree_in_memory() {
    let device = RamMtd::nand(70, 32, Bytes::kib(2), Bytes::new(62));
    let tags = TagsPlace::Oob { ecc: false };
    run("yaffs2.plain", device, Options { tags, summary: false, ..Options::default() });
}

#[test]
fn a_full_yaffs2_with_tags_in_band_is_as_a_tree_in_memory() {
    let device = RamMtd::nand(64, 16, Bytes::kib(4), Bytes::new(16));
    run("yaffs2.band", device, Options { tags: TagsPlace::InBand, ..Options::default() });
}

#[test]
fn a_full_yaffs1_is_as_a_tree_in_memory() {
    let device = RamMtd::nand(200, 32, Bytes::new(512), Bytes::new(16));
    let tags = TagsPlace::Yaffs1(Layout1::Around);
    run("yaffs1", device, Options { tags, ..Options::default() });
}
