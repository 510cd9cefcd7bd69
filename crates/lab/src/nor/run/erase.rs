//! The wait for a sector erase, which the publication left open: by timer tick and by policy.

use super::write::{attach, nanos};
use crate::nor::scenario::{Scenario, System};
use boardlab_experiment::Failure;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_nor::Pause;
use boardlab_nor::driver::{CfiInfo, Kind};
use boardlab_nor::tuner::Completion;
use boardlab_nor::wait::{FixedThenToggle, HalfTypical, ToggleOnly, WaitPolicy, cfi_udelay};
use boardlab_parts::nor::board::BoardSpec;
use boardlab_result::prose::{float, percent_of};
use boardlab_sim::{Bytes, Clock, Duration, Hertz, Seed};
use boardlab_workload::Step;
use rayon::prelude::*;

/// How many sectors are erased in each trial.
pub(crate) const SECTORS: u32 = 512;

/// How many where the driver polls all the time: each takes some 180,000 polls.
const SECTORS_SPUN: u32 = 16;

/// How closely the end of an erase is looked at.
pub(crate) const EXACT: Duration = Duration::from_micros(20);

/// The share of commands that are done when the recommended wait ends.
pub(crate) const EARLY: f64 = 0.05;

/// Timer frequencies that Linux can be built with.
const HZ: [u64; 3] = [100, 250, 1_000];

/// How the erases of one policy went.
pub(crate) struct EraseMeasurement {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) sectors: u32,
    /// Sectors that share one command sequence and one wait.
    pub(crate) queued: u32,
    /// Of a sector's time, that in which the chip was already done, to 20 us; `None` where it is
    /// less than that.
    pub(crate) overshoot: Option<Duration>,
    /// Each command sequence with its wait.
    spans: Vec<Duration>,
    pub(crate) total: Duration,
    /// Polls of all sectors.
    pub(crate) polls: u64,
    /// Share of the time in which the CPU was busy.
    pub(crate) busy: f64,
}

impl EraseMeasurement {
    /// Polls of one sector.
    pub(crate) fn polls_each(&self) -> f64 {
        float(self.polls) / f64::from(self.sectors)
    }
}

/// How a trial erases.
struct Trial {
    id: String,
    title: String,
    jiffies: u64,
    policy: fn(&Setting) -> Box<dyn WaitPolicy>,
    /// Sectors that share one command sequence and one wait.
    queued: u32,
    sectors: u32,
}

impl Trial {
    fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        jiffies: u64,
        policy: fn(&Setting) -> Box<dyn WaitPolicy>,
    ) -> Self {
        let (id, title) = (id.into(), title.into());
        Self { id, title, jiffies, policy, queued: 1, sectors: SECTORS }
    }
}

/// What a policy may know.
struct Setting {
    cfi_info: CfiInfo,
    jiffies: Hertz,
    /// A duration by which [`EARLY`] of the commands are done.
    early: Duration,
}

fn spins(_: &Setting) -> Box<dyn WaitPolicy> {
    Box::new(ToggleOnly { gap: Pause::Spin(1) })
}

fn stock(setting: &Setting) -> Box<dyn WaitPolicy> {
    Box::new(FixedThenToggle {
        wait: cfi_udelay(setting.cfi_info.erase_typical_ms * 500),
        gap: cfi_udelay(1_000_000 / setting.jiffies.get()),
    })
}

fn intel(setting: &Setting) -> Box<dyn WaitPolicy> {
    Box::new(HalfTypical {
        typical: Duration::from_millis(setting.cfi_info.erase_typical_ms),
        jiffy: setting.jiffies.time_of(1),
    })
}

/// The recommended one: sleep to an early quantile by the high-resolution timer, then look once a
/// millisecond, sleeping in between.
fn fine(setting: &Setting) -> Box<dyn WaitPolicy> {
    let gap = Pause::Sleep(Duration::from_millis(1));
    Box::new(FixedThenToggle { wait: Pause::Sleep(setting.early), gap })
}

/// All of them, on a part of so many sectors.
fn trials(sectors: u32) -> Vec<Trial> {
    let uboot = Trial::new("u-boot", "polls all the time (u-boot)", 250, spins);
    let mut all = vec![Trial { sectors: SECTORS_SPUN, ..uboot }];
    for hz in HZ {
        let title = format!("Linux as released, HZ {hz}");
        all.push(Trial::new(format!("linux-hz{hz}"), title, hz, stock));
    }
    all.push(Trial::new("half-typical", "as with Intel's command set, HZ 250", 250, intel));
    let title = format!("sleeps to the {} quantile, then 1 ms at a time", percent_of(EARLY));
    all.push(Trial::new("recommended", title, 250, fine));
    // A part with fewer sectors has no such command.
    for queued in [4, 16].into_iter().filter(|queued| *queued <= sectors) {
        let title = format!("{queued} sectors a command, else as the recommended");
        all.push(Trial { queued, ..Trial::new(format!("queued-{queued}"), title, 250, fine) });
    }
    all
}

/// Erases the same sectors under every policy.
pub(crate) fn compare(scenario: &Scenario, seed: Seed) -> Result<Vec<EraseMeasurement>, Failure> {
    // The same seed draws the same times: what a closer look finds is when the chip was done.
    let exact = Trial::new("reference", "a close look at erases", 250, |_| {
        Box::new(ToggleOnly { gap: Pause::Spin(EXACT.as_micros()) })
    });
    let sectors = scenario.part.regions.iter().map(|region| region.count).sum();
    let (exact, erased) = rayon::join(
        || erase(scenario, &exact, seed),
        || trials(sectors).par_iter().map(|trial| erase(scenario, trial, seed)).collect::<Vec<_>>(),
    );
    let exact = exact?;
    let mut all = erased.into_iter().collect::<Result<Vec<_>, _>>()?;
    for one in &mut all {
        let sectors = usize::try_from(one.sectors).expect("u32 fits usize");
        let done: Duration = exact.spans.iter().take(sectors).copied().sum();
        let late = one.total.saturating_sub(done) / u64::from(one.sectors.max(1));
        one.overshoot = Some(late).filter(|late| *late >= EXACT);
    }
    Ok(all)
}

fn erase(scenario: &Scenario, trial: &Trial, seed: Seed) -> Result<EraseMeasurement, Failure> {
    let mut board: BoardSpec = BoardSpec { chips: 1, ..scenario.board.clone() };
    board.host.jiffies = Hertz::from_hz(trial.jiffies);
    let system = System { kind: Kind::Linux34, ..scenario.linux.clone() };
    let mut clock = Clock::new();
    let mut mtd = attach(scenario, &board, &system, seed, &mut clock);
    let completion = Completion::new(&scenario.part.timing.sector_erase.time);
    mtd.driver.erase_wait = (trial.policy)(&Setting {
        cfi_info: mtd.driver.cfi_info().clone(),
        jiffies: board.host.jiffies,
        early: early(&completion, trial.queued),
    });
    // Whole commands only: a policy sleeps for all the sectors of one.
    let sectors = trial.sectors.min(mtd.geometry().block_count());
    let sectors = (sectors - sectors % trial.queued).max(1);
    let (begun, idle) = (clock.now(), mtd.board.host.idle());
    let mut spans = Vec::new();
    for first in (0..sectors).step_by(usize::try_from(trial.queued).expect("u32 fits usize")) {
        let (count, before) = (trial.queued.min(sectors - first), clock.now());
        mtd.erase_queued(&mut clock, BlockIndex(first), count)
            .map_err(|cause| failure(&trial.title, first, cause))?;
        spans.push(clock.now().since(before));
    }
    let total = clock.now().since(begun);
    let slept = mtd.board.host.idle() - idle;
    Ok(EraseMeasurement {
        id: trial.id.clone(),
        title: trial.title.clone(),
        sectors,
        queued: trial.queued,
        overshoot: None,
        spans,
        total,
        polls: mtd.driver.polls().erase,
        busy: 1.0 - slept.as_secs_f64() / total.as_secs_f64(),
    })
}

/// When `count` sectors in a row are erased in [`EARLY`] of all cases.
fn early(completion: &Completion, count: u32) -> Duration {
    if count == 1 {
        return nanos(completion.quantile(EARLY));
    }
    // The sum of independent times is close to normal: its quantile of EARLY lies 1.645 deviations low.
    let count = f64::from(count);
    nanos(completion.mean() * count - 1.645 * completion.deviation() * count.sqrt())
}

fn failure(system: &str, block: u32, cause: boardlab_mtd::Error) -> Failure {
    let offset = Bytes::new(u64::from(block));
    let error = boardlab_workload::Error::Device { step: Step::Erase, offset, cause };
    Failure::run(system, error, super::HELP)
}
