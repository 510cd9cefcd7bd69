//! YAFFS held against its own sources: the same operations on the flash, the same bytes on it, the same trees.
//!
//! The jobs and what the sources made of them are in `oracles/yaffs/`, which explains them. Each operation on the
//! flash is compared, not only their number: by the sum of a list of all of them.
//! `BOARDLAB_YAFFS_KEEP` names a folder for these lists, the trees and the flash of a run.

mod flash;
mod glue;
mod job;

use boardlab_yaffs2::format::ByteOrder;
use boardlab_yaffs2::format::tags1::Layout1;
use boardlab_yaffs2::{Options, TagsPlace, Word};
use job::{Run, Setting};
use std::path::PathBuf;

/// The settings of the records, by name.
fn setting(name: &str) -> Setting {
    let nand = |blocks, page, tags| Setting {
        blocks,
        pages: 64,
        page,
        free: page / 32 - 2,
        options: Options { tags, ..Options::default() },
    };
    let oob = TagsPlace::Oob { ecc: true };
    let yaffs1 =
        |layout, free| Setting { pages: 32, free, ..nand(400, 512, TagsPlace::Yaffs1(layout)) };
    let large = nand(64, 2_048, oob);
    let with = |options: Options| Setting { options, ..large.clone() };
    match name {
        "2048" => large,
        "4096" => nand(48, 4_096, oob),
        "inband-2048" => nand(64, 2_048, TagsPlace::InBand),
        "inband-4096" => nand(48, 4_096, TagsPlace::InBand),
        "yaffs1" => yaffs1(Layout1::Around, 16),
        "yaffs1-packed" => yaffs1(Layout1::Packed, 8),
        "small" => nand(24, 2_048, oob),
        "small-inband" => Setting { pages: 32, ..nand(70, 2_048, TagsPlace::InBand) },
        "small-yaffs1" => Setting { blocks: 120, ..yaffs1(Layout1::Around, 16) },
        "no-tags-ecc" => nand(64, 2_048, TagsPlace::Oob { ecc: false }),
        "no-summary" => with(Options { summary: false, ..Options::default() }),
        "word64" => with(Options { word: Word::Bits64, ..Options::default() }),
        "big-endian" => with(Options { byte_order: ByteOrder::Big, ..Options::default() }),
        "no-cache" => with(Options { caches: 0, ..Options::default() }),
        "scan" => with(Options { read_checkpoint: false, ..Options::default() }),
        other => panic!("no setting is called {other}"),
    }
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "oracles", "yaffs"].iter().collect()
}

/// A record: a job, a setting, and what the oracle said.
struct Record {
    job: String,
    setting: String,
    told: String,
}

/// The records of a file: each begins with `@ JOB SETTING`.
fn records(file: &str) -> Vec<Record> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let parts = text.split("@ ").skip(1);
    let record = |part: &str| {
        let (head, told) = part.split_once('\n').unwrap();
        let (job, setting) = head.split_once(' ').unwrap();
        Record { job: job.to_owned(), setting: setting.to_owned(), told: told.to_owned() }
    };
    parts.map(record).collect()
}

/// Runs all records of a file, or every `sample`th without `BOARDLAB_FULL`.
fn assert_same(file: &str, sample: usize) {
    let step = if std::env::var_os("BOARDLAB_FULL").is_some() { 1 } else { sample };
    let mut wrong = Vec::new();
    for Record { job, setting: name, told } in records(file).into_iter().step_by(step) {
        let lines = std::fs::read_to_string(folder().join(format!("jobs/{job}.job"))).unwrap();
        let mut run = Run::new(&setting(&name));
        for part in lines.split("power\n") {
            run.perform(part);
        }
        let ours = run.finish();
        if ours != told {
            wrong.push(format!("{job} {name}: the sources\n{told}boardlab\n{ours}"));
        }
    }
    assert!(wrong.is_empty(), "{} records differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn trees_of_every_layout_are_those_of_the_sources() {
    assert_same("trees.txt", 7);
}

#[test]
fn collections_on_small_flashes_are_those_of_the_sources() {
    assert_same("collections.txt", 5);
}

#[test]
fn what_a_power_cut_leaves_is_what_the_sources_leave() {
    assert_same("cuts.txt", 5);
}
