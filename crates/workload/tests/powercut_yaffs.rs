//! YAFFS1 and YAFFS2 under power cuts: every operation on the flash, every outcome, and cuts in the recovery;
//! and YAFFS2 with mistakes, each of which must be found. What the sources lose themselves is in the tests of
//! the crate `yaffs2`.

use crate::powercut_plans::{self, plan, runs};
use boardlab_mtd::{Kind, RamMtd};
use boardlab_sim::Bytes;
use boardlab_workload::powercut::{Matrix, Plan, Sampling};
use boardlab_yaffs2::format::tags1::Layout1;
use boardlab_yaffs2::{Mistake, Options, TagsPlace, Yaffs};

fn options() -> Options {
    Options { hide_lost_and_found: true, repaired: true, ..Options::default() }
}

fn nand() -> RamMtd {
    RamMtd::nand(80, 8, Bytes::kib(2), Bytes::new(64))
}

fn explored(flash: RamMtd, plan: &Plan, options: &Options) -> Matrix {
    powercut_plans::explored(flash, plan, |clock, flash| {
        Ok(Box::new(Yaffs::mount(clock, flash, options.clone())?))
    })
}

fn assert_nothing_lost(flash: &RamMtd, short: u64, options: &Options) {
    for plan in runs(short, plan) {
        let plan = Plan { brownout_one_in: 10, ..plan };
        let matrix = explored(flash.clone(), &plan, options);
        powercut_plans::assert_nothing_lost_by(Kind::ProgramOob, &matrix, &plan);
        assert!(matrix.second_cuts() > 20, "{matrix:?}");
    }
}

#[test]
fn nothing_is_lost_at_any_cut_of_yaffs2() {
    assert_nothing_lost(&nand(), 1_000, &options());
}

#[test]
fn nothing_is_lost_at_any_cut_of_yaffs2_without_checkpoints_and_summaries() {
    let options = Options { write_checkpoint: false, summary: false, ..options() };
    assert_nothing_lost(&RamMtd::nand(50, 8, Bytes::kib(2), Bytes::new(64)), 600, &options);
}

#[test]
fn nothing_is_lost_at_any_cut_of_yaffs2_where_whole_chunks_bypass_the_cache() {
    let options = Options { bypass_aligned: true, ..options() };
    assert_nothing_lost(&nand(), 600, &options);
}

#[test]
fn nothing_is_lost_at_any_cut_of_yaffs1() {
    let tags = TagsPlace::Yaffs1(Layout1::Around);
    let flash = RamMtd::nand(60, 32, Bytes::new(512), Bytes::new(16));
    assert_nothing_lost(&flash, 1_000, &Options { tags, ..options() });
}

fn assert_found(mistake: Mistake) {
    let plan = Plan { first: Sampling { exhaustive: 0, one_in: 4 }, ..plan(7, 2_500) };
    let matrix = explored(nand(), &plan, &Options { mistake: Some(mistake), ..options() });
    assert!(matrix.failed() > 0, "{mistake:?} was not found in {} cuts", matrix.cuts());
}

#[test]
fn checkpoints_that_are_kept_beside_changes_are_found() {
    assert_found(Mistake::KeepsStaleCheckpoints);
}

#[test]
fn a_scan_in_the_wrong_order_is_found() {
    assert_found(Mistake::IgnoresSequence);
}

#[test]
fn headers_that_shrink_nothing_are_found() {
    assert_found(Mistake::IgnoresShrinkHeaders);
}

#[test]
fn an_erase_before_the_copy_is_found() {
    assert_found(Mistake::ErasesBeforeCopy);
}
