//! The parameters of a host: what sequences its commands, what that costs, and how it handles errors.
//!
//! Layer: parameters of [`crate::host::Host`]. Main types: [`Build`], [`Costs`], [`Limits`]. The three
//! builds are those of the evaluation of 2009 (SATA-IP application note 1). They differ only in their
//! costs and in what their hardware timer measures. Left out: other time spent in software, for example
//! the interrupt path through a kernel.

use crate::wire::Speed;
use boardlab_sim::Duration;

/// What sequences the commands, and what the timer measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Build {
    /// Firmware sends single commands. The timer starts when a command has been set up, just before its
    /// DMA is started, and stops when its completion has been noticed. The times of several commands
    /// are added.
    Single,
    /// Firmware sends one command after another. The timer starts before the parameters of the first
    /// command are updated and stops when the completion of the last one has been noticed, so
    /// everything between counts.
    Firmware,
    /// As `Firmware`, with a state machine in place of the firmware and therefore other costs.
    Sequencer,
}

/// The host's time per job or command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Costs {
    /// The time in which firmware sets up a job, before the timer starts. [`Build::Single`] spends it
    /// on every command.
    pub setup: Duration,
    /// The time from the start of the DMA until the command can be sent.
    pub start: Duration,
    /// The time from the FIS that completes a command until its completion has been noticed.
    pub poll: Duration,
    /// The time to update the parameters of a read, for every command of a loop including the first.
    /// [`Build::Single`] has none: it sets up its commands.
    pub update_read: Duration,
    /// The time to update the parameters of a write.
    pub update_write: Duration,
}

/// Timeout and limits of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The time after which the link is reset if a command was not sent or not completed, or if the
    /// signature did not come. Linux waits 30 s.
    pub timeout: Duration,
    /// The maximum number of times that a command is reissued after its data were damaged on the link.
    pub reissues: u32,
    /// The maximum number of consecutive resets without a successful command between them. The next
    /// timeout fails the job.
    pub resets: u32,
}

impl Default for Limits {
    /// Returns the limits of Linux 6.1: 30 s (`SD_TIMEOUT`) and five retries (`SD_MAX_RETRIES`,
    /// `drivers/scsi/sd.h`).
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), reissues: 5, resets: 5 }
    }
}

/// The settings of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// What sequences its commands.
    pub build: Build,
    /// Its costs.
    pub costs: Costs,
    /// Its timeout and limits.
    pub limits: Limits,
}

impl Settings {
    /// Returns a host of `build` without costs and with the default limits.
    #[must_use]
    pub fn without_costs(build: Build) -> Self {
        Self { build, costs: Costs::default(), limits: Limits::default() }
    }
}

/// Costs and timeout in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TickCosts {
    pub(crate) setup: u64,
    pub(crate) start: u64,
    pub(crate) poll: u64,
    pub(crate) update_read: u64,
    pub(crate) update_write: u64,
    pub(crate) timeout: u64,
}

impl TickCosts {
    pub(crate) fn new(speed: Speed, settings: &Settings) -> Self {
        let ticks = |span| speed.ticks_in(span);
        let Costs { setup, start, poll, update_read, update_write } = settings.costs;
        Self {
            setup: ticks(setup),
            start: ticks(start),
            poll: ticks(poll),
            update_read: ticks(update_read),
            update_write: ticks(update_write),
            timeout: ticks(settings.limits.timeout).max(1),
        }
    }
}
