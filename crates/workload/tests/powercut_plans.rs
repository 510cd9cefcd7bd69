//! What the power-cut tests of all filesystems run, and what must come of it.

use boardlab_mtd::{Kind, Tear, TearOutcome};
use boardlab_sim::{Clock, Seed};
use boardlab_vfs::FileSystem;
use boardlab_workload::powercut::{
    Bench, ForkingFlash, Matrix, MountFailure, Plan, Sampling, explore,
};
use std::ops::ControlFlow;

/// A device, and how a filesystem is mounted on its forks.
struct OnFlash<M, F> {
    flash: M,
    mount: F,
}

impl<M, F> Bench for OnFlash<M, F>
where
    M: Tear + Send + Sync + 'static,
    F: Fn(&mut Clock, ForkingFlash<M>) -> Result<Box<dyn FileSystem>, MountFailure> + Sync,
{
    type Flash = M;

    fn flash(&self) -> M {
        self.flash.clone()
    }

    fn mount(
        &self,
        clock: &mut Clock,
        flash: ForkingFlash<M>,
    ) -> Result<Box<dyn FileSystem>, MountFailure> {
        (self.mount)(clock, flash)
    }
}

/// Explores the filesystem that `mount` gives on forks of a device.
pub(crate) fn explored<M, F>(flash: M, plan: &Plan, mount: F) -> Matrix
where
    M: Tear + Send + Sync + 'static,
    F: Fn(&mut Clock, ForkingFlash<M>) -> Result<Box<dyn FileSystem>, MountFailure> + Sync,
{
    let bench = OnFlash { flash, mount };
    explore(&bench, plan, &|_| ControlFlow::Continue(())).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs that must lose nothing: 6,000 operations of each of three seeds with `BOARDLAB_FULL`, else
/// `short` operations of one.
pub(crate) fn runs(short: u64, plan: impl Fn(u64, u64) -> Plan) -> Vec<Plan> {
    if std::env::var_os("BOARDLAB_FULL").is_some() {
        [7, 11, 12].map(|seed| plan(seed, 6_000)).to_vec()
    } else {
        vec![plan(7, short)]
    }
}

/// All of the first operations of a run, with cuts in a sample of the recoveries.
pub(crate) fn plan(seed: u64, operations: u64) -> Plan {
    Plan {
        seed: Seed::new(seed),
        operations,
        first: Sampling { exhaustive: operations, one_in: 0 },
        second_one_in: 50,
        second: Sampling { exhaustive: 3, one_in: 8 },
        life_one_in: 30,
        brownout_one_in: 0,
        live_bytes: 330_000,
    }
}

/// The cuts in operations of a kind that were torn in this way.
pub(crate) fn cuts(matrix: &Matrix, kind: Kind, torn: TearOutcome) -> u64 {
    matrix.first.get(&(kind, torn)).map_or(0, |tally| tally.cuts)
}

/// No cut has lost anything, and there were enough of them.
pub(crate) fn assert_nothing_lost(matrix: &Matrix, plan: &Plan) {
    assert_nothing_lost_by(Kind::Program, matrix, plan);
}

/// The same of a filesystem that programs by operations of this kind.
pub(crate) fn assert_nothing_lost_by(program: Kind, matrix: &Matrix, plan: &Plan) {
    let lines: Vec<String> = matrix.failures.iter().map(ToString::to_string).collect();
    assert_eq!(matrix.failed(), 0, "{plan:?}:\n{}", lines.join("\n"));
    let programs = cuts(matrix, program, TearOutcome::Partial);
    assert!(programs > 100, "{matrix:?}");
}
