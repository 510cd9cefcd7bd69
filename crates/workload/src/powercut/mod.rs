//! Power cuts at every operation of a flash: what survives.
//!
//! Layer: rank 6. A seeded mixture of actions runs on a filesystem once. At each operation that changes
//! the flash the device is forked, each fork is torn in one of the ways that the device can be, mounted
//! again, and compared with everything that may be true. In reading order: [`flash`] (forks), `shadow` (what
//! may be true), `adopt` (what is true after a mount), `actions` (the run), [`check`] (the comparison),
//! `recovery` (what is done after each cut), [`matrix`] (the results). Main types: [`Bench`], what is tried;
//! [`Plan`], how long; [`explore`].
//!
//! After each cut, in this order:
//!
//! 1. The filesystem mounts.
//! 2. Nothing that was durable is lost or changed, no file has foreign data, no name is foreign, link
//!    counts are the numbers of names. Durable is what a sync, or an fsync of the file, returned for.
//!    What is found becomes the truth: no later mount may show anything else.
//! 3. The work of the background (checks, collection) runs to its end.
//! 4. The run goes on: more actions on the files and names that are there (on half of the forks before step 3),
//!    a sync, one more mount. Everything that was found or done stands.
//! 5. On a sample, the power is cut again at operations of steps 1 to 4, and steps 1 to 3 follow.
//!
//! After each of them the tables that the filesystem keeps in memory fit together
//! ([`FileSystem::check_tables`]).
//!
//! The run has more than one life: now and then it goes on from one of its own cuts, so that later cuts hit a
//! flash with torn pages and blocks on it that was mounted and used again. And an erase now and then is
//! broken off by a dip of the supply that the chip alone feels (a brownout): it says that it is done, and is not.
//!
//! Left out: programs that the device lost although it said that it was done, and actions through a
//! page cache (the actions call the filesystem itself).

pub mod check;
pub mod flash;
pub mod matrix;

mod actions;
mod adopt;
mod recovery;
mod shadow;

pub use check::Loss;
pub use flash::{Cut, Sampling, Watched};
pub use matrix::{Failure, Matrix, Tally, Where};

use actions::Runner;
use boardlab_mtd::Tear;
use boardlab_sim::{Clock, Seed, Stream};
use boardlab_vfs::{Errno, Error, FileSystem};
use recovery::{judge, recover};
use shadow::Shadow;
use std::fmt;

/// Why a filesystem did not mount.
pub type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// A filesystem on a device, to be tried.
pub trait Bench: Sync {
    /// The device.
    type Flash: Tear + Send + Sync;

    /// The device, ready to be mounted for the first time.
    fn flash(&self) -> Self::Flash;

    /// Mounts it.
    ///
    /// # Errors
    /// What the filesystem says.
    fn mount(
        &self,
        clock: &mut Clock,
        flash: Watched<Self::Flash>,
    ) -> Result<Box<dyn FileSystem>, Refusal>;
}

/// What is done and what is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Decides about everything.
    pub seed: Seed,
    /// The run ends when so many operations changed the flash.
    pub operations: u64,
    /// Which of them are cut.
    pub first: Sampling,
    /// One recovery in so many is cut itself; none when zero.
    pub second_one_in: u64,
    /// Which operations of such a recovery are cut.
    pub second: Sampling,
    /// One action in so many, of those that change the flash, is the last of its life: the run goes on from
    /// one of the cuts in it. Never when zero.
    pub life_one_in: u64,
    /// One erase in so many is broken off by a brownout, each block once: only for filesystems that look
    /// whether an erase did what it said. None when zero.
    pub brownout_one_in: u64,
    /// About so many bytes are kept in files.
    pub live_bytes: u64,
}

/// Why an exploration could not be made.
#[derive(Debug)]
pub enum Broken {
    /// The filesystem does not mount without any cut.
    Mount(Refusal),
    /// The filesystem failed without any cut.
    Run {
        /// How many operations had changed the flash.
        operations: u64,
        /// What it said.
        error: Error,
    },
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mount(error) => write!(f, "does not mount without a power cut: {error}"),
            Self::Run { operations, error } => {
                write!(f, "failed without a power cut after {operations} operations: {error}")
            }
        }
    }
}

impl std::error::Error for Broken {}

/// Runs the actions once and cuts the power as the plan says. `progress` is told how many operations were
/// done.
///
/// # Errors
/// [`Broken`] when the filesystem fails even without a cut.
pub fn explore<B: Bench>(
    bench: &B,
    plan: &Plan,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Matrix, Broken> {
    let mut clock = Clock::new();
    let flash = Watched::new(bench.flash(), plan.seed.child("first"));
    let mut fs = bench.mount(&mut clock, flash.clone()).map_err(Broken::Mount)?;
    let broken = |error| Broken::Run { operations: flash.operations(), error };
    let root = fs.root();
    let attributes = fs.attributes(&mut clock, root).map_err(broken)?;
    let xattrs = !matches!(
        fs.xattr(&mut clock, root, b"user.x0"),
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
    while flash.operations() < plan.operations {
        let settled = runner.step().map_err(broken)?;
        runner.fs.check_tables().map_err(Error::damaged).map_err(broken)?;
        let cuts = flash.take_cuts();
        let last = last_of_a_life(&cuts, plan.life_one_in, &mut lives);
        judge(bench, plan, &runner, cuts, &mut matrix);
        if let Some(cut) = last
            && live_on(bench, plan, &flash, (cut, &mut runner), &mut matrix)
        {
            matrix.lives += 1;
        } else {
            // What was synced is durable from the return of the sync on, not within it.
            runner.settle(settled);
        }
        progress(flash.operations());
    }
    matrix.brownouts = flash.brownouts();
    Ok(matrix)
}

/// The cut that ends a life of the run, if one of these does.
fn last_of_a_life<M: Tear>(cuts: &[Cut<M>], one_in: u64, lives: &mut Stream) -> Option<Cut<M>> {
    if cuts.is_empty() || one_in == 0 || !lives.chance(1, one_in) {
        return None;
    }
    let at = lives.below(u64::try_from(cuts.len()).expect("few cuts"));
    usize::try_from(at).ok().and_then(|at| cuts.get(at)).cloned()
}

/// The run goes on from this cut. Where that fails, the judgement of the cut has said so, and the run
/// stays where it was. Says which.
fn live_on<B: Bench>(
    bench: &B,
    plan: &Plan,
    flash: &Watched<B::Flash>,
    (cut, runner): (Cut<B::Flash>, &mut Runner),
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
