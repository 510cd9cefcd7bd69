//! What a host is built of: who sequences its commands, what that costs, and what it bears.
//!
//! Layer: parameters of [`crate::host::Host`]. Main types: [`Build`], [`Costs`], [`Limits`]. The three builds are those
//! of the evaluation of 2009 (SATA-IP application note 1): their hardware timer runs in different places, and
//! their costs are the only other difference. Time that software takes apart from these, an interrupt's way
//! through a kernel for one, is left out.

use crate::wire::Speed;
use boardlab_sim::Duration;

/// Who sends the next command, and where the timer runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Build {
    /// Firmware sends single commands. The timer starts when a command has been set up, just before its
    /// DMA is started, and stops when its end was noticed: of several commands the times are added.
    Single,
    /// Firmware sends one command after the other. The timer starts before the first command's
    /// parameters are updated and stops when the end of the last was noticed: everything between counts.
    Firmware,
    /// The same with a state machine in the place of the firmware: other costs.
    Sequencer,
}

/// What the host's side of a command costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Costs {
    /// Firmware sets a job up: before the timer starts. [`Build::Single`] does so for every command.
    pub setup: Duration,
    /// From the start of the DMA until the command can go to the link.
    pub start: Duration,
    /// From the FIS that ends a command until its end was noticed.
    pub poll: Duration,
    /// The parameters of a read are updated: for every command of a loop, the first one too.
    /// [`Build::Single`] has none: its commands are set up.
    pub update_read: Duration,
    /// The same of a write.
    pub update_write: Duration,
}

/// How long the host waits and how often it tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Without an end, or a beginning, of a command for so long the link is reset. Linux waits 30 s.
    pub timeout: Duration,
    /// So often a command is sent again after its data were damaged on the link.
    pub reissues: u32,
    /// So many resets in a row, without a command that succeeded between them, are borne.
    pub resets: u32,
}

impl Default for Limits {
    /// Those of Linux 6.1: 30 s (`SD_TIMEOUT`) and five tries (`SD_MAX_RETRIES`, `drivers/scsi/sd.h`).
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), reissues: 5, resets: 5 }
    }
}

/// A host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Who sequences.
    pub build: Build,
    /// What it costs.
    pub costs: Costs,
    /// What it bears.
    pub limits: Limits,
}

impl Settings {
    /// A host of `build` that takes no time itself.
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
