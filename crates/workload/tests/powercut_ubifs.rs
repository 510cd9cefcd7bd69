//! UBIFS on UBI under power cuts: every operation on the flash, every outcome, and cuts in the
//! recovery; and UBIFS with mistakes, each of which must be found.

use crate::powercut_plans::{self, plan, runs};
use boardlab_mtd::{RamMtd, Tear};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{NewVolume, Ubi, Volume};
use boardlab_ubifs::{Mistake, Options, Ubifs};
use boardlab_vfs::FileSystem;
use boardlab_workload::powercut::{
    ForkingFlash, Matrix, MountFailure, Plan, Sampling, WriteThrough,
};

/// LEBs of the volume.
const LEBS: u32 = 50;

/// UBIFS on UBI, whose volume is made at the first mount.
fn mount<M: Tear + Send + Sync + 'static>(
    clock: &mut Clock,
    flash: ForkingFlash<M>,
    options: &Options,
) -> Result<Box<dyn FileSystem>, MountFailure> {
    let mut ubi = Ubi::attach(clock, flash, &boardlab_ubi::Options::default())?;
    if ubi.volumes().is_empty() {
        let size = Bytes::new(u64::from(LEBS) * u64::from(ubi.layout().leb_size));
        ubi.create_volume(clock, &NewVolume::dynamic("root", size))?;
    }
    let volume: Volume<ForkingFlash<M>> = ubi.into_volume(clock, 0)?;
    let fs = Ubifs::mount(clock, volume, options.clone())?;
    Ok(Box::new(WriteThrough::new(fs)))
}

fn nand() -> RamMtd {
    RamMtd::nand(80, 64, Bytes::new(512), Bytes::new(16))
}

fn nor() -> RamMtd {
    RamMtd::nor(60, Bytes::kib(32))
}

fn explored<M: Tear + Send + Sync + 'static>(
    flash: M,
    plan: &Plan,
    mistake: Option<Mistake>,
) -> Matrix {
    let options = Options { mistake, ..Options::default() };
    powercut_plans::explored(flash, plan, |clock, flash| mount(clock, flash, &options))
}

fn assert_nothing_lost(matrix: &Matrix, plan: &Plan) {
    powercut_plans::assert_nothing_lost(matrix, plan);
    assert!(matrix.second_cuts() > 20, "{matrix:?}");
}

#[test]
fn nothing_is_lost_at_any_cut_on_nand() {
    for plan in runs(800, plan) {
        assert_nothing_lost(&explored(nand(), &plan, None), &plan);
    }
}

#[test]
fn nothing_is_lost_at_any_cut_on_nor() {
    for plan in runs(800, plan) {
        assert_nothing_lost(&explored(nor(), &plan, None), &plan);
    }
}

fn assert_found(mistake: Mistake) {
    let plan = Plan { first: Sampling { exhaustive: 0, one_in: 4 }, ..plan(7, 2_500) };
    let matrix = explored(nand(), &plan, Some(mistake));
    assert!(matrix.failed() > 0, "{mistake:?} was not found in {} cuts", matrix.cuts());
}

#[test]
fn a_replay_in_the_wrong_order_is_found() {
    assert_found(Mistake::ReplaysInWrongOrder);
}

#[test]
fn torn_groups_that_are_replayed_are_found() {
    assert_found(Mistake::ReplaysTornGroups);
}

#[test]
fn sizes_that_are_not_corrected_are_found() {
    assert_found(Mistake::KeepsSizes);
}
