//! LogFS under power cuts: every operation on the flash, every outcome, and cuts in the recovery; and LogFS with
//! mistakes, each of which must be found.

use crate::powercut_plans::{self, plan, runs};
use boardlab_logfs::mkfs::Format;
use boardlab_logfs::{Logfs, Mistake, MountError, Options};
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_workload::powercut::{Matrix, Plan, Sampling, WriteThrough};

/// A flash of small segments, which the runs fill again and again.
fn nand(format: Format) -> RamMtd {
    let mut flash = RamMtd::nand(60, 64, Bytes::new(512), Bytes::new(16));
    format.make(&mut Clock::new(), &mut flash).unwrap_or_else(|error| panic!("{error}"));
    flash
}

fn small() -> Format {
    Format { segment_shift: Some(15), write_shift: Some(9), ..Format::default() }
}

fn explored(flash: RamMtd, plan: &Plan, options: &Options) -> Matrix {
    powercut_plans::explored(flash, plan, |clock, flash| {
        let fs: Result<_, MountError> = Logfs::mount(clock, flash, options.clone());
        Ok(Box::new(WriteThrough::new(fs?)))
    })
}

fn assert_nothing_lost(flash: &RamMtd, short: u64) {
    for plan in runs(short, plan) {
        let matrix = explored(flash.clone(), &plan, &Options::default());
        powercut_plans::assert_nothing_lost(&matrix, &plan);
        assert!(matrix.second_cuts() > 20, "{matrix:?}");
    }
}

#[test]
fn nothing_is_lost_at_any_cut() {
    assert_nothing_lost(&nand(small()), 800);
}

#[test]
fn nothing_is_lost_at_any_cut_with_compression() {
    assert_nothing_lost(&nand(Format { compress: true, ..small() }), 800);
}

#[test]
fn nothing_is_lost_at_any_cut_on_nor() {
    let mut flash = RamMtd::nor(60, Bytes::kib(32));
    let format = Format { write_shift: Some(6), segment_shift: Some(15), ..Format::default() };
    format.make(&mut Clock::new(), &mut flash).unwrap_or_else(|error| panic!("{error}"));
    assert_nothing_lost(&flash, 800);
}

fn assert_found(mistake: Mistake) {
    let plan = Plan { first: Sampling { exhaustive: 0, one_in: 4 }, ..plan(7, 2_500) };
    let options = Options { mistake: Some(mistake), ..Options::default() };
    let matrix = explored(nand(small()), &plan, &options);
    assert!(matrix.failed() > 0, "{mistake:?} was not found in {} cuts", matrix.cuts());
}

#[test]
fn mounts_that_ignore_older_segments_of_the_journal_are_found() {
    assert_found(Mistake::IgnoresOlderSegments);
}

#[test]
fn commits_before_their_data_are_found() {
    assert_found(Mistake::CommitsBeforeData);
}

#[test]
fn open_segments_that_were_written_to_are_found() {
    assert_found(Mistake::TrustsOpenSegments);
}

#[test]
fn forgotten_aliases_are_found() {
    assert_found(Mistake::ForgetsAliases);
}
