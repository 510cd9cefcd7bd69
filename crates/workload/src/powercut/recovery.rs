//! What is done after each power cut: recover, compare, go on, mount once more, compare again.
//!
//! Layer: rank 6. Main functions: [`judge`], for all cuts of an action, and [`recover`]. The steps are in
//! the header of [`powercut`](super).

use super::actions::Runner;
use super::adopt::adopt;
use super::check::{self, Loss};
use super::flash::{Cut, Watched};
use super::matrix::{Failure, Matrix, Where};
use super::shadow::Shadow;
use super::{Bench, Plan};
use boardlab_mtd::Kind;
use boardlab_sim::{Clock, Seed};
use boardlab_vfs::{Error, FileSystem};
use rayon::prelude::*;

/// A background that has no end by then never has one.
const BACKGROUND_MAX: u32 = 100_000;

/// So many actions follow each cut.
const ACTIONS_AFTER: u32 = 8;

/// What the run was like when the power was cut.
#[derive(Clone, Copy)]
struct Before<'a> {
    shadow: &'a Shadow,
    live: u64,
    xattrs: bool,
}

/// Recovers from each cut, on all cores, and counts in the order of the run.
pub(super) fn judge<B: Bench>(
    bench: &B,
    plan: &Plan,
    runner: &Runner,
    cuts: Vec<Cut<B::Flash>>,
    matrix: &mut Matrix,
) {
    let before = Before { shadow: &runner.shadow, live: runner.live, xattrs: runner.xattrs };
    let judged: Vec<_> = cuts.into_par_iter().map(|cut| twice(bench, plan, before, cut)).collect();
    for Judged { at, kind, loss, seconds } in judged {
        let failure = loss.map(|loss| Failure { at, second: None, loss });
        matrix.count(false, kind, at.torn, failure);
        for Second { at: second, kind, loss } in seconds {
            let failure = loss.map(|loss| Failure { at, second: Some(second), loss });
            matrix.count(true, kind, second.torn, failure);
        }
    }
}

/// What a cut led to.
struct Judged {
    at: Where,
    kind: Kind,
    loss: Option<Loss>,
    seconds: Vec<Second>,
}

/// What a cut during a recovery led to.
struct Second {
    at: Where,
    kind: Kind,
    loss: Option<Loss>,
}

/// Recovers from a cut, and on the sample from cuts during that recovery.
fn twice<B: Bench>(bench: &B, plan: &Plan, before: Before<'_>, cut: Cut<B::Flash>) -> Judged {
    let at = Where { number: cut.number, torn: cut.torn };
    let seed = plan.seed.child(&format!("recovery from {at}"));
    let flash = Watched::new(cut.flash, seed);
    if plan.second_one_in > 0 && seed.stream("again").chance(1, plan.second_one_in) {
        flash.sample(plan.second);
    }
    let mut afterwards = Afterwards { bench, seed, flash, seconds: Vec::new() };
    let loss = afterwards.all(before, cut.clock).err();
    Judged { at, kind: cut.kind, loss, seconds: afterwards.seconds }
}

/// Steps 1 to 4 after one cut, with the cuts in them.
struct Afterwards<'a, B: Bench> {
    bench: &'a B,
    seed: Seed,
    flash: Watched<B::Flash>,
    seconds: Vec<Second>,
}

impl<B: Bench> Afterwards<'_, B> {
    fn all(&mut self, before: Before<'_>, clock: Clock) -> Result<(), Loss> {
        // A program does not wait until the filesystem has checked all there is.
        let mut stream = self.seed.stream("afterwards");
        let rest_first = stream.chance(1, 2);
        let recovered = recover(self.bench, clock, &self.flash, before.shadow, rest_first);
        self.judge_seconds(before.shadow);
        let Recovered { fs, clock, shadow } = recovered?;
        let Before { live, xattrs, .. } = before;
        let mut runner = Runner { fs, clock, shadow, stream, live, xattrs };
        let used = self.go_on(&mut runner, rest_first);
        self.judge_seconds(&runner.shadow);
        used?;
        let Runner { fs, mut clock, shadow, .. } = runner;
        drop(fs);
        let mut fs = mount(self.bench, &mut clock, &self.flash)?;
        let checked = check::check(fs.as_mut(), &mut clock, &shadow);
        self.judge_seconds(&shadow);
        checked
    }

    /// More actions, and all of it made durable.
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
            let at = Where { number: cut.number, torn: cut.torn };
            let flash = Watched::new(cut.flash, self.seed.child("second"));
            let loss = recover(self.bench, cut.clock, &flash, shadow, true).err();
            self.seconds.push(Second { at, kind: cut.kind, loss });
        }
    }
}

/// A filesystem after a power cut, and what is true in it.
pub(super) struct Recovered {
    pub(super) fs: Box<dyn FileSystem>,
    pub(super) clock: Clock,
    pub(super) shadow: Shadow,
}

/// Steps 1 and 2, and 3 unless the filesystem shall be used before.
pub(super) fn recover<B: Bench>(
    bench: &B,
    mut clock: Clock,
    flash: &Watched<B::Flash>,
    shadow: &Shadow,
    rest_first: bool,
) -> Result<Recovered, Loss> {
    let mut fs = mount(bench, &mut clock, flash)?;
    check::check(fs.as_mut(), &mut clock, shadow)?;
    let found = adopt(fs.as_mut(), &mut clock).map_err(|error| fails("reading", error))?;
    if rest_first {
        rest(fs.as_mut(), &mut clock)?;
    }
    Ok(Recovered { fs, clock, shadow: found })
}

fn mount<B: Bench>(
    bench: &B,
    clock: &mut Clock,
    flash: &Watched<B::Flash>,
) -> Result<Box<dyn FileSystem>, Loss> {
    let mounted = bench.mount(clock, flash.clone());
    mounted.map_err(|error| Loss::DoesNotMount(error.to_string()))
}

/// Lets the background work until it has nothing left to do.
fn rest(fs: &mut dyn FileSystem, clock: &mut Clock) -> Result<(), Loss> {
    for _ in 0..BACKGROUND_MAX {
        if !fs.background(clock).map_err(|error| fails("background", error))? {
            return fs.check_tables().map_err(Loss::Tables);
        }
    }
    Err(Loss::Unsteady("the background work has no end".into()))
}

fn fails(what: &'static str, error: Error) -> Loss {
    Loss::Fails { what, path: "/".into(), error }
}
