//! YAFFS1 and YAFFS2 under power cuts: every operation on the flash, every outcome, and cuts in the recovery;
//! and YAFFS2 with mistakes, each of which must be found. What the sources lose themselves is in the tests of
//! the crate `yaffs2`.

use crate::powercut_plans::{plan, runs};
use boardlab_mtd::{RamMtd, Tear};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::FileSystem;
use boardlab_workload::powercut::{
    Bench, ForkingFlash, Matrix, MountFailure, Plan, Sampling, explore,
};
use boardlab_yaffs2::format::tags1::Layout1;
use boardlab_yaffs2::{Mistake, Options, TagsPlace, Yaffs};

/// YAFFS on forks of one device.
struct OnFlash<M> {
    flash: M,
    options: Options,
}

impl<M: Tear + Send + Sync + 'static> Bench for OnFlash<M> {
    type Flash = M;

    fn flash(&self) -> M {
        self.flash.clone()
    }

    fn mount(
        &self,
        clock: &mut Clock,
        flash: ForkingFlash<M>,
    ) -> Result<Box<dyn FileSystem>, MountFailure> {
        Ok(Box::new(Yaffs::mount(clock, flash, self.options.clone())?))
    }
}

fn options() -> Options {
    Options { hide_lost_and_found: true, repaired: true, ..Options::default() }
}

fn nand() -> RamMtd {
    RamMtd::nand(80, 8, Bytes::kib(2), Bytes::new(64))
}

fn explored(flash: RamMtd, plan: &Plan, options: Options) -> Matrix {
    explore(&OnFlash { flash, options }, plan, &|_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn assert_nothing_lost(flash: &RamMtd, short: u64, options: &Options) {
    for plan in runs(short, plan) {
        let matrix = explored(flash.clone(), &plan, options.clone());
        let lines: Vec<String> = matrix.failures.iter().map(ToString::to_string).collect();
        assert_eq!(matrix.failed(), 0, "{plan:?}:\n{}", lines.join("\n"));
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
fn nothing_is_lost_at_any_cut_of_yaffs1() {
    let tags = TagsPlace::Yaffs1(Layout1::Around);
    let flash = RamMtd::nand(60, 32, Bytes::new(512), Bytes::new(16));
    assert_nothing_lost(&flash, 1_000, &Options { tags, ..options() });
}

fn assert_found(mistake: Mistake) {
    let plan = Plan { first: Sampling { exhaustive: 0, one_in: 4 }, ..plan(7, 2_500) };
    let matrix = explored(nand(), &plan, Options { mistake: Some(mistake), ..options() });
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
