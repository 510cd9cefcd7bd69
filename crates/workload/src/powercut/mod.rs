//! Power cuts at every operation of a flash: explores what survives.
//!
//! Layer: rank 6. A seeded mixture of actions runs on a filesystem once. At each operation that
//! changes the flash the device is forked. Each fork is torn in one of the ways that the device
//! supports, mounted again, and compared with all permitted states. In reading order: [`flash`]
//! (forks), `shadow` (the permitted states), `adopt` (the state after a mount), `actions` (the
//! run), [`check`] (the comparison), `recovery` (the steps after each cut), [`matrix`] (the
//! results), [`through`] (filesystems with write-back). Main types: [`Bench`], the filesystem under
//! test; [`Plan`], the extent; [`explore`].
//!
//! After each cut, in this order:
//!
//! 1. The filesystem mounts.
//! 2. Nothing durable is lost or changed, no file has foreign data, no name is foreign, link counts
//!    equal the numbers of names. Durable is what a sync, or an fsync of the file, returned for.
//!    The state found becomes the truth: no later mount may show anything else.
//! 3. The background work (checks, garbage collection) runs to its end.
//! 4. The run continues: more actions on the existing files and names (on half of the forks before
//!    step 3), a sync, one more mount. Everything found or done persists.
//! 5. On a sample, the filesystem is unmounted, and one more mount must show the same.
//! 6. On another, the power is cut again at operations of steps 1 to 5, and steps 1 to 3 follow.
//!
//! The first mount after a cut and that after an unmount are timed.
//!
//! After each step the tables that the filesystem keeps in memory are consistent
//! ([`FileSystem::check_tables`]).
//!
//! The run has several lives: occasionally it continues from one of its own cuts, so that later
//! cuts hit a flash with torn pages and blocks that was mounted and used again. And occasionally an
//! erase is interrupted by a dip of the supply that only the chip notices (a brownout): the chip
//! reports success, although the erase is incomplete.
//!
//! Left out: programs that the device loses after it reported success, and actions through a page
//! cache (the actions call the filesystem directly).

pub mod check;
pub mod flash;
pub mod matrix;
pub mod through;

mod actions;
mod adopt;
mod recovery;
mod shadow;

pub use check::Loss;
pub use flash::{Cut, ForkingFlash, Sampling};
pub use matrix::{CutPoint, Failure, Matrix, Mounts, Tally};
pub use through::WriteThrough;

use actions::Runner;
use boardlab_mtd::Tear;
use boardlab_sim::{Clock, Seed, Stream};
use boardlab_vfs::{Errno, Error, FileSystem};
use recovery::{judge, recover};
use shadow::Shadow;
use std::fmt;
use std::ops::ControlFlow;

/// Why a filesystem did not mount.
pub type MountFailure = Box<dyn std::error::Error + Send + Sync>;

/// A filesystem on a device, under test.
pub trait Bench: Sync {
    /// The device.
    type Flash: Tear + Send + Sync;

    /// The device, ready to be mounted for the first time.
    fn flash(&self) -> Self::Flash;

    /// Mounts it.
    ///
    /// # Errors
    /// The error of the filesystem.
    fn mount(
        &self,
        clock: &mut Clock,
        flash: ForkingFlash<Self::Flash>,
    ) -> Result<Box<dyn FileSystem>, MountFailure>;
}

/// The plan of an exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The seed of all random choices.
    pub seed: Seed,
    /// The run ends after this number of operations that change the flash.
    pub operations: u64,
    /// Which of them are cut.
    pub first: Sampling,
    /// One in this many recoveries is cut itself; none when zero.
    pub second_one_in: u64,
    /// Which operations of such a recovery are cut.
    pub second: Sampling,
    /// One in this many actions that change the flash is the last of its life: the run continues
    /// from one of the cuts in it. Never when zero.
    pub life_one_in: u64,
    /// One in this many erases is interrupted by a brownout, each block once: only for filesystems
    /// that verify erases. None when zero.
    pub brownout_one_in: u64,
    /// The approximate amount of data in files.
    pub live_bytes: u64,
}

/// Why an exploration failed.
#[derive(Debug)]
pub enum ExplorationError {
    /// The filesystem does not mount without any cut.
    Mount(MountFailure),
    /// The filesystem failed without any cut.
    Run {
        /// How many operations had changed the flash.
        operations: u64,
        /// What it said.
        error: Error,
    },
    /// The caller broke it off.
    Stopped,
}

impl fmt::Display for ExplorationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mount(error) => write!(f, "does not mount without a power cut: {error}"),
            Self::Run { operations, error } => {
                write!(f, "failed without a power cut after {operations} operations: {error}")
            }
            Self::Stopped => f.write_str("was stopped"),
        }
    }
}

impl std::error::Error for ExplorationError {}

/// Runs the actions once and cuts the power by the plan. `progress` is called with the number of
/// operations done, and may break it off.
///
/// # Errors
/// [`ExplorationError`] when the filesystem fails even without a cut, or `progress` broke it off.
pub fn explore<B: Bench>(
    bench: &B,
    plan: &Plan,
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<Matrix, ExplorationError> {
    let mut clock = Clock::new();
    let flash = ForkingFlash::new(bench.flash(), plan.seed.child("first"));
    let mut fs = bench.mount(&mut clock, flash.clone()).map_err(ExplorationError::Mount)?;
    let broken = |error| ExplorationError::Run { operations: flash.operations(), error };
    let root = fs.root();
    let attributes = fs.getattr(&mut clock, root).map_err(broken)?;
    let xattrs = !matches!(
        fs.getxattr(&mut clock, root, b"user.x0"),
        Err(error) if error.errno() == Some(Errno::OpNotSupp)
    );
    let shadow = Shadow::new(root, shadow::owner(&attributes));
    let stream = plan.seed.stream("actions");
    let mut matrix = Matrix::default();
    let mut runner = Runner { fs, clock, shadow, stream, live: plan.live_bytes, xattrs };
    runner.begin().map_err(broken)?;
    flash.sample(plan.first);
    flash.brown_out(plan.brownout_one_in);
    let mut lives = plan.seed.stream("lives");
    let mut life = None;
    while flash.operations() < plan.operations {
        let step = runner.step();
        let step =
            step.and_then(|it| runner.fs.check_tables().map_err(Error::damaged).map(|()| it));
        let settled = match (step, life) {
            (Ok(settled), _) => settled,
            (Err(error), None) => return Err(broken(error)),
            (Err(error), Some((at, kind))) => {
                // What this life began with, or what it had of earlier ones.
                let loss = recovery::fails("use", error);
                let failure = Failure { at, second: None, loss };
                // One more trial of this cut.
                matrix.count(false, kind, at.torn, Some(failure));
                matrix.ended = Some(flash.operations());
                break;
            }
        };
        let cuts = flash.take_cuts();
        let last = last_of_a_life(&cuts, plan.life_one_in, &mut lives);
        judge(bench, plan, &runner, cuts, &mut matrix);
        let begins = last.as_ref().map(|cut| (cut.point(), cut.kind));
        if let Some(cut) = last
            && live_on(bench, plan, &flash, cut, &mut runner, &mut matrix)
        {
            matrix.lives += 1;
            life = begins;
        } else {
            // Data are durable from the return of a sync on, not during it.
            runner.settle(settled);
        }
        if progress(flash.operations()).is_break() {
            return Err(ExplorationError::Stopped);
        }
    }
    matrix.brownouts = flash.brownouts();
    Ok(matrix)
}

/// Draws whether one of these cuts ends a life of the run.
fn last_of_a_life<M: Tear>(cuts: &[Cut<M>], one_in: u64, lives: &mut Stream) -> Option<Cut<M>> {
    if cuts.is_empty() || one_in == 0 || !lives.chance(1, one_in) {
        return None;
    }
    let at = lives.below(u64::try_from(cuts.len()).expect("few cuts"));
    usize::try_from(at).ok().and_then(|at| cuts.get(at)).cloned()
}

/// Continues the run from this cut. When that fails, the verdict on the cut has recorded it, and
/// the run stays where it was. Returns whether it succeeded.
fn live_on<B: Bench>(
    bench: &B,
    plan: &Plan,
    flash: &ForkingFlash<B::Flash>,
    cut: Cut<B::Flash>,
    runner: &mut Runner,
    matrix: &mut Matrix,
) -> bool {
    let before = flash.replace(cut.flash);
    let recovered = recover(bench, cut.clock, flash, &runner.shadow, true);
    judge(bench, plan, runner, flash.take_cuts(), matrix);
    match recovered {
        Ok(recovered) => {
            (runner.fs, runner.clock) = (recovered.fs, recovered.clock);
            runner.shadow = recovered.shadow;
            true
        }
        Err(_) => {
            flash.replace(before);
            false
        }
    }
}
