//! One drive on one host, run after run.
//!
//! Layer: rank 11. Main types: [`Bench`], [`BenchRun`]. Time never goes back: a run follows the one before, after a rest in which
//! the drive does what it does when it is left alone. Each run has a host of its own, which resets the link first.

use boardlab_experiment::Cause;
use boardlab_parts::drive::board::SataHost;
use boardlab_parts::drive::compose::{DriveOnHost, Flash, age, compose};
use boardlab_parts::drive::part::DrivePart;
use boardlab_sata::agent::Agent;
use boardlab_sata::device::Ssd;
use boardlab_sata::fast::Engine;
use boardlab_sata::host::{
    Addressing, Build, Data, Direction, Host, Job, Limits, Report, Settings, Transfer,
};
use boardlab_sata::link::Wiring;
use boardlab_sata::shares::Shares;
use boardlab_sata::{SECTOR, Speed, Tick};
use boardlab_sim::{Bytes, Duration, Seed};

/// A drive on a host.
pub(crate) struct Bench {
    host: SataHost,
    wiring: Wiring,
    engine: Engine<Host, Ssd<Flash>>,
    rest: Duration,
}

/// A run that ended well.
#[derive(Debug, Clone)]
pub(crate) struct BenchRun {
    speed: Speed,
    /// A report for each transfer, in their order.
    reports: Vec<Report>,
    /// Where the timed ticks went.
    pub(crate) shares: Shares,
}

impl Bench {
    /// A used drive of `part` at rest, on `host`.
    pub(crate) fn new(
        part: &DrivePart,
        host: &SataHost,
        rest: Duration,
        seed: Seed,
    ) -> Result<Self, Cause> {
        let DriveOnHost { wiring, mut storage, identify } = compose(part, host.port(), true, seed)?;
        let aged = age(storage.translation_mut(), part)?;
        let settings = host.settings(Build::Single, Limits::default());
        let mut ssd = Ssd::new(wiring.speed, storage, identify)?;
        ssd.reset(wiring.speed.tick_from(aged));
        let engine = Engine::new(wiring, Host::new(wiring.speed, settings), ssd);
        let mut bench = Self { host: host.clone(), wiring, engine, rest };
        // The host only waits for the signature: the drive is there.
        bench.engine.run(Tick::NEVER);
        Ok(bench)
    }

    /// The link.
    pub(crate) const fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// Time since the drive was new.
    pub(crate) fn took(&self) -> Duration {
        let now = self.wiring.speed.instant(self.engine.now());
        now.since(boardlab_sim::Instant::ZERO)
    }

    /// Transfers one behind the other, after a rest, sequenced as `build` does.
    pub(crate) fn run(
        &mut self,
        build: Build,
        transfers: Vec<Transfer>,
    ) -> Result<BenchRun, Cause> {
        let mut settings = self.host.settings(build, Limits::default());
        if build != Build::Single {
            // The transfers of one run are the stretches of one loop.
            settings.costs.setup = Duration::ZERO;
        }
        self.run_with(settings, transfers)
    }

    /// The same with a host of these settings.
    pub(crate) fn run_with(
        &mut self,
        settings: Settings,
        transfers: Vec<Transfer>,
    ) -> Result<BenchRun, Cause> {
        let speed = self.wiring.speed;
        let start = self.engine.now().after(speed.ticks_in(self.rest));
        *self.engine.host_mut() = Host::new(speed, settings);
        self.engine.device_mut().reset(start);
        // The signature and IDENTIFY DEVICE go before the timer.
        self.engine.host_mut().push(Job::Identify);
        self.engine.run(Tick::NEVER);
        let before = self.engine.shares();
        for transfer in transfers {
            self.engine.host_mut().push(Job::Transfer(transfer));
        }
        self.engine.run(Tick::NEVER);
        let mut reports = self.engine.host_mut().take_reports();
        reports.remove(0).outcome?;
        for report in &reports {
            report.outcome.clone()?;
        }
        let timed = reports.iter().map(|report| report.timer_ticks).sum();
        let moved = self.engine.shares() - before;
        // What was not timed is idle time of the link.
        let busy = Shares { overhead: 0, ..moved };
        let shares = Shares { overhead: u64::saturating_sub(timed, busy.total()), ..busy };
        Ok(BenchRun { speed, reports, shares })
    }
}

impl BenchRun {
    /// Bytes and time of the first transfers, up to `count` of them.
    pub(crate) fn first(&self, count: usize) -> (Bytes, Duration) {
        let reports = || self.reports.iter().take(count);
        let sectors = reports().map(|report| report.sectors).sum::<u64>();
        let timed = reports().map(|report| report.timer_ticks).sum();
        (SECTOR * sectors, self.speed.time_of(timed))
    }

    /// Bytes a second of the first transfers.
    pub(crate) fn rate_of(&self, count: usize) -> f64 {
        let (bytes, time) = self.first(count);
        boardlab_result::prose::real(bytes) / time.as_secs_f64()
    }

    /// Bytes a second of all transfers.
    pub(crate) fn rate(&self) -> f64 {
        self.rate_of(self.reports.len())
    }

    /// Bytes and time of all transfers.
    pub(crate) fn all(&self) -> (Bytes, Duration) {
        self.first(self.reports.len())
    }
}

/// The stretches of a loop of the last of `loops`, each of which ends with one of them: commands of `sectors` from
/// sector `first` on.
pub(crate) fn stretches(
    direction: Direction,
    first: u64,
    sectors: u32,
    loops: &[u64],
    data: &Data,
) -> Vec<Transfer> {
    let starts = [0].into_iter().chain(loops.iter().copied());
    let each = starts.zip(loops).map(|(start, &end)| {
        let at = first + start * u64::from(sectors);
        Transfer::looped(direction, at, sectors, end - start).with_data(data.clone())
    });
    each.collect()
}

/// All of the first `sectors` sectors in commands of `each`.
pub(crate) fn whole(
    direction: Direction,
    sectors: u64,
    each: u32,
    addressing: Addressing,
    data: &Data,
) -> Transfer {
    let one = Transfer::looped(direction, 0, each, 1).with_data(data.clone());
    Transfer { sectors, ..one.with_addressing(addressing) }
}
