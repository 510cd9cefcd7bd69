//! Power cuts at every operation of a flash: what survives.
//!
//! Layer: rank 6. A seeded mixture of actions runs on a filesystem once. At each operation that changes
//! the flash the device is forked, each fork is torn in one of the ways that the device can be, mounted
//! again, and compared with everything that may be true. In reading order: [`flash`] (forks), `shadow` (what may be true), `actions`
//! (the run), [`check`] (the comparison), [`matrix`] (the results). Main types: [`Bench`], what is
//! tried; [`Plan`], how long; [`explore`].
//!
//! After each cut, in this order:
//!
//! 1. The filesystem mounts.
//! 2. Nothing that was durable is lost or changed, no file has foreign data, no name is foreign, link
//!    counts are the numbers of names. Durable is what a sync, or an fsync of the file, returned for.
//! 3. The work of the background (checks, collection) runs to its end.
//! 4. The filesystem can be used on: a file is made, written, synced and read, and what was there still
//!    stands after one more mount.
//! 5. On a sample, the power is cut again at operations of steps 1 to 4, and steps 1 to 3 follow.
//!
//! Left out: programs that the device lost although it said that it was done, and actions through a
//! page cache (the actions call the filesystem itself).

pub mod check;
pub mod flash;
pub mod matrix;

mod actions;
mod shadow;

pub use check::Loss;
pub use flash::{Cut, Sampling, Watched};
pub use matrix::{Failure, Matrix, Tally, Where};

use actions::{Runner, Settled};
use boardlab_mtd::Tear;
use boardlab_sim::{Clock, Seed};
use boardlab_vfs::{Errno, Error, FileSystem, Kind, New, PAGE_SIZE};
use check::OWN_PREFIX;
use rayon::prelude::*;
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
    let mut shadow = Shadow::new(root, shadow::owner(&attributes));
    let mut stream = plan.seed.stream("actions");
    let mut matrix = Matrix::default();
    let (fs, clock, live) = (fs.as_mut(), &mut clock, plan.live_bytes);
    let mut runner = Runner { fs, clock, shadow: &mut shadow, stream: &mut stream, live, xattrs };
    runner.begin().map_err(broken)?;
    flash.sample(plan.first);
    while flash.operations() < plan.operations {
        let settled = runner.step().map_err(broken)?;
        judge(bench, plan, runner.shadow, flash.take_cuts(), &mut matrix);
        // What was synced is durable from the return of the sync on, not within it.
        match settled {
            Settled::Nothing => {}
            Settled::All => runner.shadow.sync(),
            Settled::File(id) => runner.shadow.fsync(id),
        }
        progress(flash.operations());
    }
    Ok(matrix)
}

/// Recovers from each cut, on all cores, and counts in the order of the run.
fn judge<B: Bench>(
    bench: &B,
    plan: &Plan,
    shadow: &Shadow,
    cuts: Vec<Cut<B::Flash>>,
    matrix: &mut Matrix,
) {
    let judged: Vec<_> = cuts.into_par_iter().map(|cut| twice(bench, plan, shadow, cut)).collect();
    for (at, kind, first, seconds) in judged {
        let failure = first.map(|loss| Failure { at, second: None, loss });
        matrix.count(false, kind, at.torn, failure);
        for (second, kind, loss) in seconds {
            let failure = loss.map(|loss| Failure { at, second: Some(second), loss });
            matrix.count(true, kind, second.torn, failure);
        }
    }
}

/// What a cut during a recovery led to.
type Second = (Where, boardlab_mtd::Kind, Option<Loss>);

/// Recovers from a cut, and on the sample from cuts during that recovery.
fn twice<B: Bench>(
    bench: &B,
    plan: &Plan,
    shadow: &Shadow,
    cut: Cut<B::Flash>,
) -> (Where, boardlab_mtd::Kind, Option<Loss>, Vec<Second>) {
    let at = Where { number: cut.number, torn: cut.torn };
    let seed = plan.seed.child(&format!("recovery from {at}"));
    let flash = Watched::new(cut.flash, seed);
    if plan.second_one_in > 0 && seed.stream("again").chance(1, plan.second_one_in) {
        flash.sample(plan.second);
    }
    let first = recover(bench, cut.clock, &flash, shadow)
        .and_then(|clock| use_on(bench, clock, &flash, shadow));
    let again = |cut: Cut<B::Flash>| {
        let at = Where { number: cut.number, torn: cut.torn };
        let flash = Watched::new(cut.flash, seed.child("second"));
        (at, cut.kind, recover(bench, cut.clock, &flash, shadow).err())
    };
    let seconds = flash.take_cuts().into_iter().map(again).collect();
    (at, cut.kind, first.err(), seconds)
}

/// A background that has no end by then never has one.
const BACKGROUND_MAX: u32 = 100_000;

/// Steps 1 to 3.
fn recover<B: Bench>(
    bench: &B,
    mut clock: Clock,
    flash: &Watched<B::Flash>,
    shadow: &Shadow,
) -> Result<Clock, Loss> {
    let mounted = bench.mount(&mut clock, flash.clone());
    let mut fs = mounted.map_err(|error| Loss::DoesNotMount(error.to_string()))?;
    check::check(fs.as_mut(), &mut clock, shadow)?;
    let fails = |error| Loss::Fails { what: "background", path: "/".into(), error };
    for _ in 0..BACKGROUND_MAX {
        if !fs.background(&mut clock).map_err(fails)? {
            return Ok(clock);
        }
    }
    Err(Loss::Unsteady("the background work has no end".into()))
}

/// Step 4.
fn use_on<B: Bench>(
    bench: &B,
    mut clock: Clock,
    flash: &Watched<B::Flash>,
    shadow: &Shadow,
) -> Result<(), Loss> {
    let mounted = bench.mount(&mut clock, flash.clone());
    let mut fs = mounted.map_err(|error| Loss::DoesNotMount(error.to_string()))?;
    let fails = |error| Loss::Fails { what: "use", path: "/.after-the-cut".into(), error };
    let written = match write_file(fs.as_mut(), &mut clock) {
        Err(error) if error.errno() == Some(Errno::NoSpc) => None,
        written => Some(written.map_err(fails)?),
    };
    drop(fs);
    let mounted = bench.mount(&mut clock, flash.clone());
    let mut fs = mounted.map_err(|error| Loss::DoesNotMount(error.to_string()))?;
    check::check(fs.as_mut(), &mut clock, shadow)?;
    if let Some(content) = written {
        let mut found = vec![0; PAGE_SIZE];
        let root = fs.root();
        let ino = fs.lookup(&mut clock, root, OWN_PREFIX).map_err(fails)?;
        fs.read_page(&mut clock, ino, 1, &mut found).map_err(fails)?;
        if found != content {
            return Err(Loss::ContentForeign { path: "/.after-the-cut".into(), offset: 4_096 });
        }
    }
    Ok(())
}

/// Writes and syncs two pages; gives the content of the second.
fn write_file(fs: &mut dyn FileSystem, clock: &mut Clock) -> Result<Vec<u8>, Error> {
    let root = fs.root();
    let ino = match fs.lookup(clock, root, OWN_PREFIX) {
        Ok(ino) => ino,
        Err(_) => fs.create(clock, root, OWN_PREFIX, &New::of(Kind::File, 0o600))?,
    };
    let mut content = vec![0; PAGE_SIZE];
    for page in 0..2 {
        Seed::new(page).stream("after the cut").fill(&mut content);
        fs.write_page(clock, ino, page, &content, 0..PAGE_SIZE)?;
    }
    fs.sync(clock)?;
    Ok(content)
}
