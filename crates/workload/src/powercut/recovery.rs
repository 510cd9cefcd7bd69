//! The steps after each power cut: recover, compare, continue, mount once more, compare again.
//!
//! Layer: rank 6. Main functions: [`judge`], for all cuts of an action, and [`recover`]. The steps
//! are in the header of [`powercut`](super).

use super::actions::Runner;
use super::adopt::adopt;
use super::check::{self, Loss};
use super::flash::{Cut, ForkingFlash};
use super::matrix::{CutPoint, Failure, Matrix};
use super::shadow::Shadow;
use super::{Bench, Plan};
use boardlab_mtd::Kind;
use boardlab_sim::{Clock, Duration, Seed};
use boardlab_vfs::{Error, FileSystem};
use rayon::prelude::*;

/// Background work that does not end within this many steps never ends.
const BACKGROUND_MAX: u32 = 100_000;

/// One recovery in this many ends with an unmount.
const UNMOUNTED_ONE_IN: u64 = 16;

/// The number of actions after each cut.
const ACTIONS_AFTER: u32 = 8;

/// The state of the run at the power cut.
#[derive(Clone, Copy)]
struct CutContext<'a> {
    shadow: &'a Shadow,
    live: u64,
    xattrs: bool,
}

/// Recovers from each cut, on all cores, and records the results in the order of the run.
pub(super) fn judge<B: Bench>(
    bench: &B,
    plan: &Plan,
    runner: &Runner,
    cuts: Vec<Cut<B::Flash>>,
    matrix: &mut Matrix,
) {
    let before = CutContext { shadow: &runner.shadow, live: runner.live, xattrs: runner.xattrs };
    let judged: Vec<_> = cuts.into_par_iter().map(|cut| twice(bench, plan, before, cut)).collect();
    for CutVerdict { at, kind, loss, seconds, mounts: [after_cut, after_unmount] } in judged {
        after_cut.into_iter().for_each(|time| matrix.after_cuts.record(time));
        after_unmount.into_iter().for_each(|time| matrix.after_unmounts.record(time));
        let failure = loss.map(|loss| Failure { at, second: None, loss });
        matrix.count(false, kind, at.torn, failure);
        for NestedCut { at: second, kind, loss } in seconds {
            let failure = loss.map(|loss| Failure { at, second: Some(second), loss });
            matrix.count(true, kind, second.torn, failure);
        }
    }
}

/// The verdict on a cut.
struct CutVerdict {
    at: CutPoint,
    kind: Kind,
    loss: Option<Loss>,
    seconds: Vec<NestedCut>,
    /// The times of the mounts after the cut and after an unmount, where there were such.
    mounts: [Option<Duration>; 2],
}

/// The verdict on a cut during a recovery.
struct NestedCut {
    at: CutPoint,
    kind: Kind,
    loss: Option<Loss>,
}

/// Recovers from a cut, and on the sample from cuts during that recovery.
fn twice<B: Bench>(
    bench: &B,
    plan: &Plan,
    before: CutContext<'_>,
    cut: Cut<B::Flash>,
) -> CutVerdict {
    let at = cut.point();
    let seed = plan.seed.child(&format!("recovery from {at}"));
    let flash = ForkingFlash::new(cut.flash, seed);
    if plan.second_one_in > 0 && seed.stream("again").chance(1, plan.second_one_in) {
        flash.sample(plan.second);
    }
    let mut afterwards = RecoveryRun { bench, seed, flash, seconds: Vec::new(), mounts: [None; 2] };
    let loss = afterwards.all(before, cut.clock).err();
    let RecoveryRun { seconds, mounts, .. } = afterwards;
    CutVerdict { at, kind: cut.kind, loss, seconds, mounts }
}

/// Steps 1 to 5 after one cut, with the cuts in them.
struct RecoveryRun<'a, B: Bench> {
    bench: &'a B,
    seed: Seed,
    flash: ForkingFlash<B::Flash>,
    seconds: Vec<NestedCut>,
    mounts: [Option<Duration>; 2],
}

impl<B: Bench> RecoveryRun<'_, B> {
    fn all(&mut self, before: CutContext<'_>, clock: Clock) -> Result<(), Loss> {
        // Programs do not wait until the filesystem has checked everything.
        let mut stream = self.seed.stream("afterwards");
        let rest_first = stream.chance(1, 2);
        let recovered = recover(self.bench, clock, &self.flash, before.shadow, rest_first);
        self.judge_seconds(before.shadow);
        let RecoveredFs { fs, clock, shadow, mount: time } = recovered?;
        self.mounts[0] = Some(time);
        let CutContext { live, xattrs, .. } = before;
        let mut runner = Runner { fs, clock, shadow, stream, live, xattrs };
        let used = self.go_on(&mut runner, rest_first);
        self.judge_seconds(&runner.shadow);
        used?;
        let Runner { fs, mut clock, shadow, .. } = runner;
        drop(fs);
        let (mut fs, _) = mount(self.bench, &mut clock, &self.flash)?;
        let checked = check::check(fs.as_mut(), &mut clock, &shadow);
        self.judge_seconds(&shadow);
        checked?;
        self.unmount(fs, clock, &shadow)
    }

    /// Unmounts some of the filesystems, and mounts them once more.
    fn unmount(
        &mut self,
        mut fs: Box<dyn FileSystem>,
        mut clock: Clock,
        shadow: &Shadow,
    ) -> Result<(), Loss> {
        if !self.seed.stream("unmount").chance(1, UNMOUNTED_ONE_IN) {
            return Ok(());
        }
        fs.unmount(&mut clock).map_err(|error| fails("unmount", error))?;
        drop(fs);
        let (mut fs, time) = mount(self.bench, &mut clock, &self.flash)?;
        self.mounts[1] = Some(time);
        let checked = check::check(fs.as_mut(), &mut clock, shadow);
        self.judge_seconds(shadow);
        checked
    }

    /// Runs more actions, and makes all of them durable.
    fn go_on(&mut self, runner: &mut Runner, rested: bool) -> Result<(), Loss> {
        for _ in 0..ACTIONS_AFTER {
            let settled = runner.step().map_err(|error| fails("use", error))?;
            self.judge_seconds(&runner.shadow);
            runner.settle(settled);
        }
        if !rested {
            rest(runner.fs.as_mut(), &mut runner.clock)?;
        }
        runner.fs.sync(&mut runner.clock).map_err(|error| fails("sync", error))?;
        runner.fs.check_tables().map_err(Loss::Tables)?;
        self.judge_seconds(&runner.shadow);
        runner.shadow.sync();
        Ok(())
    }

    /// Recovers from the cuts since the last call.
    fn judge_seconds(&mut self, shadow: &Shadow) {
        for cut in self.flash.take_cuts() {
            let at = cut.point();
            let flash = ForkingFlash::new(cut.flash, self.seed.child("second"));
            let loss = recover(self.bench, cut.clock, &flash, shadow, true).err();
            self.seconds.push(NestedCut { at, kind: cut.kind, loss });
        }
    }
}

/// A recovered filesystem, and its adopted state.
pub(super) struct RecoveredFs {
    pub(super) fs: Box<dyn FileSystem>,
    pub(super) clock: Clock,
    pub(super) shadow: Shadow,
    /// The time of the mount.
    pub(super) mount: Duration,
}

/// Steps 1 and 2, and step 3 unless the filesystem is to be used before.
pub(super) fn recover<B: Bench>(
    bench: &B,
    mut clock: Clock,
    flash: &ForkingFlash<B::Flash>,
    shadow: &Shadow,
    rest_first: bool,
) -> Result<RecoveredFs, Loss> {
    let (mut fs, mount) = mount(bench, &mut clock, flash)?;
    check::check(fs.as_mut(), &mut clock, shadow)?;
    let found = adopt(fs.as_mut(), &mut clock).map_err(|error| fails("reading", error))?;
    if rest_first {
        rest(fs.as_mut(), &mut clock)?;
    }
    Ok(RecoveredFs { fs, clock, shadow: found, mount })
}

/// Mounts; also returns the time.
fn mount<B: Bench>(
    bench: &B,
    clock: &mut Clock,
    flash: &ForkingFlash<B::Flash>,
) -> Result<(Box<dyn FileSystem>, Duration), Loss> {
    let begun = clock.now();
    let mounted = bench.mount(clock, flash.clone());
    let fs = mounted.map_err(|error| Loss::DoesNotMount(error.to_string()))?;
    Ok((fs, clock.now().since(begun)))
}

/// Runs the background work to its end.
fn rest(fs: &mut dyn FileSystem, clock: &mut Clock) -> Result<(), Loss> {
    for _ in 0..BACKGROUND_MAX {
        if !fs.background(clock).map_err(|error| fails("background", error))? {
            return fs.check_tables().map_err(Loss::Tables);
        }
    }
    Err(Loss::Endless)
}

pub(super) fn fails(what: &'static str, error: Error) -> Loss {
    Loss::Fails { what, path: "/".into(), error }
}
