//! The host: sequencers in firmware and in hardware, patterns, verification.
//!
//! Layer: rank 4, an [`Agent`](crate::agent::Agent) above a link end. In reading order:
//!
//! - [`job`]: [`Job`] and [`Transfer`], the work of a host; [`Pattern`], the data.
//! - [`build`]: [`Build`], [`Costs`] and [`Limits`], the parameters of a host.
//! - [`report`]: [`Report`], the outcome of a job.
//! - `command`: the split of jobs into commands. `slot`: a command in flight. `protocol`: FISes.
//!
//! Jobs run one after another. Before each command the sequencer spends its [`Costs`]. It is a single
//! server: even with queued commands it issues one command at a time and handles one completion at a
//! time.
//!
//! Errors: a command whose data were damaged on the link, as reported by the drive (ICRC) or detected
//! by the host, is reissued. The transport retries FISes without data. If a command times out, the host
//! resets the link and, after the drive's signature, reissues all commands in flight. [`Limits`] bounds
//! the retries and resets. Any other error of the drive ends the job. After an NCQ error the host
//! resets the link and reissues the commands in flight one by one as unqueued commands, so that the
//! error is attributed to the right command.
//!
//! Left out: Linux instead reads the drive's log page 10h after an NCQ error; soft resets, hot plug,
//! interrupts and link power management.
//!
//! A complete example is in the crate's documentation.

pub mod build;
mod command;
pub mod job;
mod protocol;
pub mod report;
mod slot;

pub use build::{Build, Costs, Limits, Settings};
pub use job::{Addressing, Data, Direction, Job, Pattern, SectorRange, Transfer};
pub use report::{Failure, Mismatch, Refusal, Report, Taskfile};

use crate::SECTOR_DWORDS;
use crate::host::build::TickCosts;
use crate::host::command::{Command, Plan};
use crate::host::slot::{Contents, Frame, Slot};
use crate::wire::identify::{self, Identify};
use crate::wire::{Speed, Tick};
use std::collections::VecDeque;

/// The number of tags of queued commands.
const TAGS: usize = 32;

/// The data phase in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    None,
    /// The drive may send `left` more dwords of a command.
    In {
        tag: u8,
        left: u64,
    },
    /// The drive accepts `left` more dwords of a command; the next Data FIS can be sent if `is_ready`.
    Out {
        tag: u8,
        left: u64,
        is_ready: bool,
    },
}

/// The command that is sent next.
#[derive(Debug, Clone, Copy)]
struct PendingCommand {
    /// When it can be sent.
    at: Tick,
    timer: Tick,
    tag: u8,
    command: Command,
}

/// The last thing that [`Agent::next`](crate::agent::Agent::next) returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offer {
    None,
    Reset,
    Data(u32),
    Command,
}

/// The job in progress.
#[derive(Debug, Clone)]
struct ActiveJob {
    report: Report,
    plan: Plan,
    contents: Contents,
    /// The first sector.
    first: u64,
    /// The queue depth.
    depth: u32,
    /// The ticks that the sequencer spends before each command.
    update_ticks: u64,
    /// Commands to reissue, before any new command.
    reissues: VecDeque<Command>,
    /// Commands are reissued one by one and unqueued.
    is_serial: bool,
    first_mismatch: Option<Mismatch>,
}

/// A host.
#[derive(Debug, Clone)]
pub struct Host {
    speed: Speed,
    settings: Settings,
    ticks: TickCosts,
    jobs: VecDeque<Job>,
    reports: Vec<Report>,
    active: Option<ActiveJob>,
    drive: Option<Identify>,
    identity: Option<Box<[u16; identify::WORDS]>>,
    /// IDENTIFY data received so far.
    words: [u32; identify::DWORDS],
    /// The ending status of the last PIO Setup.
    ending_status: u8,
    /// The drive's signature was received.
    has_signature: bool,
    needs_reset: bool,
    /// The reset was requested but has not happened, as without a drive on the link.
    reset_sent: bool,
    /// Resets since the last successful command.
    resets: u32,
    /// When the sequencer is free.
    free_at: Tick,
    /// When the host times out.
    deadline: Tick,
    slots: Box<[Slot; TAGS]>,
    /// One bit for each slot whose command is in flight.
    in_flight: u32,
    /// The tag of a queued command that the drive has not accepted yet. Until then no other command is
    /// sent.
    unaccepted: Option<u8>,
    pending: Option<PendingCommand>,
    phase: Phase,
    frame: Frame,
    offered: Offer,
}

impl Host {
    /// Creates a host on a link of `speed`. It waits for the drive's signature before its first
    /// command.
    #[must_use]
    pub fn new(speed: Speed, settings: Settings) -> Self {
        Self {
            speed,
            settings,
            ticks: TickCosts::new(speed, &settings),
            jobs: VecDeque::new(),
            reports: Vec::new(),
            active: None,
            drive: None,
            identity: None,
            words: [0; identify::DWORDS],
            ending_status: 0,
            has_signature: false,
            needs_reset: false,
            reset_sent: false,
            resets: 0,
            free_at: Tick::ZERO,
            deadline: Tick::NEVER,
            slots: Box::new([Slot::EMPTY; TAGS]),
            in_flight: 0,
            unaccepted: None,
            pending: None,
            phase: Phase::None,
            frame: Frame::default(),
            offered: Offer::None,
        }
    }

    /// Returns the speed that its ticks are based on.
    #[must_use]
    pub const fn speed(&self) -> Speed {
        self.speed
    }

    /// Returns its settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Appends a job.
    pub fn push(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    /// Returns the reports of the finished jobs, in order.
    #[must_use]
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// Removes the reports of the finished jobs and returns them.
    pub fn take_reports(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }

    /// Whether all jobs are finished.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.active.is_none() && self.jobs.is_empty()
    }

    /// Returns the drive's parameters, known since [`Job::Identify`].
    #[must_use]
    pub const fn drive(&self) -> Option<&Identify> {
        self.drive.as_ref()
    }

    /// Returns the drive's IDENTIFY data as received.
    #[must_use]
    pub fn identity(&self) -> Option<&[u16; identify::WORDS]> {
        self.identity.as_deref()
    }

    /// Starts the next valid job at `at` or later; the jobs that are refused finish at once.
    fn start_next_job(&mut self, at: Tick) {
        self.free_at = self.free_at.max(at);
        while let Some(job) = self.jobs.pop_front() {
            let start = self.free_at;
            if let Err(refusal) = self.check(&job) {
                let outcome = Err(Failure::Refused(refusal));
                self.reports.push(Report { outcome, ..Report::new(start) });
                continue;
            }
            let is_single = self.settings.build == Build::Single;
            if !is_single {
                self.free_at = self.free_at.after(self.ticks.setup);
            }
            self.active = Some(self.activate(job));
            self.resets = 0;
            self.deadline = self.free_at.after(self.ticks.timeout);
            self.choose_command(self.free_at);
            return;
        }
    }

    fn check(&self, job: &Job) -> Result<(), Refusal> {
        let Job::Transfer(transfer) = job else { return Ok(()) };
        if self.settings.build == Build::Single
            && matches!(transfer.addressing, Addressing::Queued(_))
        {
            return Err(Refusal::UnsupportedByBuild("queued commands"));
        }
        transfer.check(self.drive.as_ref())
    }

    fn activate(&self, job: Job) -> ActiveJob {
        let extended = self.drive.as_ref().is_none_or(|drive| drive.lba_48);
        let plan = Plan::new(&job, extended);
        let (mut contents, mut first, mut depth, mut update_ticks) = (Contents::Ignored, 0, 1, 0);
        let mut report = Report::new(self.free_at);
        if let Job::Transfer(transfer) = job {
            first = transfer.first;
            if let Addressing::Queued(requested) = transfer.addressing {
                depth = requested;
            }
            update_ticks = match transfer.direction {
                Direction::Read => self.ticks.update_read,
                Direction::Write => self.ticks.update_write,
            };
            contents = match transfer.data {
                Data::Pattern(pattern) => Contents::Pattern(pattern),
                Data::Words(words) => Contents::Words(words),
                Data::Ignored => Contents::Ignored,
                Data::Captured => {
                    let dwords = transfer.sectors * u64::from(SECTOR_DWORDS);
                    report.data = vec![0; usize::try_from(dwords).expect("the length was checked")];
                    Contents::Captured
                }
            };
        }
        if self.settings.build == Build::Single {
            update_ticks = self.ticks.setup;
        }
        ActiveJob {
            report,
            plan,
            contents,
            first,
            depth,
            update_ticks,
            reissues: VecDeque::new(),
            is_serial: false,
            first_mismatch: None,
        }
    }

    /// Chooses the next command if the queue depth allows it, or finishes the job.
    fn choose_command(&mut self, now: Tick) {
        let Some(active) = &mut self.active else { return };
        if !self.has_signature || self.needs_reset || self.pending.is_some() {
            return;
        }
        if active.is_serial && active.reissues.is_empty() && self.in_flight == 0 {
            active.is_serial = false;
        }
        if self.in_flight.count_ones() >= if active.is_serial { 1 } else { active.depth } {
            return;
        }
        let reissue = active.reissues.pop_front();
        let Some(command) = reissue.or_else(|| active.plan.next_command()) else {
            if self.in_flight == 0 {
                self.finish_job();
            }
            return;
        };
        let command = if active.is_serial { command.unqueued() } else { command };
        let timer = self.free_at.max(now).after(active.update_ticks);
        let at = timer.after(self.ticks.start);
        let tag = (!self.in_flight).trailing_zeros();
        let tag = u8::try_from(tag).expect("a slot is free");
        self.free_at = at;
        self.pending = Some(PendingCommand { at, timer, tag, command });
        self.update_deadline();
    }

    /// Sets the deadline to the earliest timeout.
    fn update_deadline(&mut self) {
        let waiting =
            self.pending.map_or(Tick::NEVER, |pending| pending.at.after(self.ticks.timeout));
        let mut bits = self.in_flight;
        self.deadline = waiting;
        while bits != 0 {
            let deadline = self.slots[index(bits.trailing_zeros())].deadline;
            self.deadline = self.deadline.min(deadline);
            bits &= bits - 1;
        }
    }

    /// Finishes the active job and starts the next.
    fn finish_job(&mut self) {
        let Some(mut active) = self.active.take() else { return };
        let mut report = std::mem::replace(&mut active.report, Report::new(Tick::ZERO));
        report.end = self.free_at;
        if self.settings.build != Build::Single {
            report.timer_ticks = report.end.since(report.start);
        }
        if let (Ok(()), Some(mismatch)) = (&report.outcome, active.first_mismatch) {
            report.outcome = Err(Failure::Mismatch(mismatch));
        }
        self.reports.push(report);
        self.deadline = Tick::NEVER;
        if !self.needs_reset {
            self.start_next_job(self.free_at);
        }
    }

    /// Fails the active job with `failure`. If commands are in flight, the link is reset to abort them.
    fn fail_job(&mut self, now: Tick, failure: Failure) {
        let Some(active) = &mut self.active else { return };
        active.report.outcome = Err(failure);
        active.reissues.clear();
        if self.in_flight != 0 {
            (self.needs_reset, self.reset_sent) = (true, false);
        }
        (self.in_flight, self.pending, self.unaccepted) = (0, None, None);
        self.phase = Phase::None;
        self.free_at = self.free_at.max(now);
        self.finish_job();
    }

    /// Queues all commands in flight to be reissued.
    fn requeue_in_flight(&mut self) {
        let Some(active) = &mut self.active else { return };
        let mut bits = self.in_flight;
        active.report.reissues += u64::from(bits.count_ones());
        while bits != 0 {
            active.reissues.push_back(self.slots[index(bits.trailing_zeros())].command);
            bits &= bits - 1;
        }
        active.reissues.extend(self.pending.map(|pending| pending.command));
        // A job's commands have ascending addresses, so this restores their original order.
        active.reissues.make_contiguous().sort_by_key(|command| command.lba);
        (self.in_flight, self.pending, self.unaccepted) = (0, None, None);
        self.phase = Phase::None;
    }
}

fn index(tag: u32) -> usize {
    usize::try_from(tag).expect("there are 32 tags")
}
