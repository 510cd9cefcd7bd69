//! The host: sequencers in firmware and in hardware, patterns, verification.
//!
//! Layer: rank 4, an [`Agent`](crate::agent::Agent) above a link end. In reading order:
//!
//! - [`job`]: [`Job`] and [`Transfer`], what it is told; [`Pattern`], the data.
//! - [`build`]: [`Build`], [`Costs`] and [`Limits`], what it is built of.
//! - [`report`]: [`Report`], what became of a job.
//! - `command`: jobs cut into commands. `slot`: a command under way. `protocol`: FISes.
//!
//! Jobs are done one after the other. Before each command the sequencer spends its [`Costs`]; it is one server, so
//! that with a queue it issues one command at a time, and notices the end of one at a time.
//!
//! Errors: a command whose data were damaged on the link, which the drive says (ICRC) or the host has seen, is sent
//! again; FISes without data are retried by the transport. A command that does not end in time has the link reset, and
//! all that was under way is sent again when the drive's signature has come. All of that is bounded by
//! [`Limits`]. Any other error of the drive ends the job. After an error of the queue the link is
//! reset and what was under way is sent one by one without the queue, so that the error is told of the right command;
//! Linux reads the log page 10h of the drive instead, which is left out. So are soft resets, hot plug, interrupts and
//! power management of the link.
//!
//! A complete example is at the head of the crate.

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

/// Tags of queued commands.
const TAGS: usize = 32;

/// Where data are being moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    None,
    /// The drive may send so many dwords of a command.
    In {
        tag: u8,
        left: u64,
    },
    /// The drive takes so many; the next Data FIS can go if it `is_ready`.
    Out {
        tag: u8,
        left: u64,
        is_ready: bool,
    },
}

/// A command that has been chosen.
#[derive(Debug, Clone, Copy)]
struct PendingCommand {
    /// When it can go.
    at: Tick,
    timer: Tick,
    tag: u8,
    command: Command,
}

/// What was offered to the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offer {
    None,
    Reset,
    Data(u32),
    Command,
}

/// The job under way.
#[derive(Debug, Clone)]
struct ActiveJob {
    report: Report,
    plan: Plan,
    contents: Contents,
    /// First sector.
    first: u64,
    /// Commands at once.
    depth: u32,
    /// Ticks before each command.
    update_ticks: u64,
    /// Commands to be sent again, first.
    reissues: VecDeque<Command>,
    /// They go one by one, without the queue.
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
    /// IDENTIFY data as they come.
    words: [u32; identify::DWORDS],
    /// The status that the last PIO Setup gave for the end of its data.
    ending_status: u8,
    /// The drive's signature has come.
    has_signature: bool,
    needs_reset: bool,
    /// It has asked for a reset, and none came: nobody is there.
    reset_sent: bool,
    /// Resets since a command last succeeded.
    resets: u32,
    /// When the sequencer is free.
    free_at: Tick,
    /// When the host gives up waiting.
    deadline: Tick,
    slots: Box<[Slot; TAGS]>,
    /// A bit for each slot in use.
    busy: u32,
    /// A queued command was sent and the drive has not said that it can take the next.
    unaccepted: Option<u8>,
    pending: Option<PendingCommand>,
    phase: Phase,
    frame: Frame,
    offered: Offer,
}

impl Host {
    /// A host on a link of `speed`. It waits for the drive's signature before its first command.
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
            busy: 0,
            unaccepted: None,
            pending: None,
            phase: Phase::None,
            frame: Frame::default(),
            offered: Offer::None,
        }
    }

    /// The speed that it counts time with.
    #[must_use]
    pub const fn speed(&self) -> Speed {
        self.speed
    }

    /// What it is built of.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Gives it one more job, after all others.
    pub fn push(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    /// What became of the jobs that have ended, in their order.
    #[must_use]
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// The same, taken away.
    pub fn take_reports(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }

    /// Whether all jobs have ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.active.is_none() && self.jobs.is_empty()
    }

    /// What is known of the drive since [`Job::Identify`].
    #[must_use]
    pub const fn drive(&self) -> Option<&Identify> {
        self.drive.as_ref()
    }

    /// Its IDENTIFY data, as they came.
    #[must_use]
    pub fn identity(&self) -> Option<&[u16; identify::WORDS]> {
        self.identity.as_deref()
    }

    /// Takes up the next job that can be done; from `at` on.
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
                    report.data = vec![0; usize::try_from(dwords).expect("it was checked")];
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

    /// Chooses the next command if there is room for one, or ends the job.
    fn choose_command(&mut self, now: Tick) {
        let Some(active) = &mut self.active else { return };
        if !self.has_signature || self.needs_reset || self.pending.is_some() {
            return;
        }
        if active.is_serial && active.reissues.is_empty() && self.busy == 0 {
            active.is_serial = false;
        }
        if self.busy.count_ones() >= if active.is_serial { 1 } else { active.depth } {
            return;
        }
        let reissue = active.reissues.pop_front();
        let Some(command) = reissue.or_else(|| active.plan.next_command()) else {
            if self.busy == 0 {
                self.finish_job();
            }
            return;
        };
        let command = if active.is_serial { command.unqueued() } else { command };
        let timer = self.free_at.max(now).after(active.update_ticks);
        let at = timer.after(self.ticks.start);
        let tag = (!self.busy).trailing_zeros();
        let tag = u8::try_from(tag).expect("a slot is free");
        self.free_at = at;
        self.pending = Some(PendingCommand { at, timer, tag, command });
        self.update_deadline();
    }

    /// When the host gives up: the first of what it waits for.
    fn update_deadline(&mut self) {
        let waiting = self.pending.map_or(Tick::NEVER, |issue| issue.at.after(self.ticks.timeout));
        let mut bits = self.busy;
        self.deadline = waiting;
        while bits != 0 {
            let deadline = self.slots[index(bits.trailing_zeros())].deadline;
            self.deadline = self.deadline.min(deadline);
            bits &= bits - 1;
        }
    }

    /// The job under way has ended; the next begins at once.
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

    /// Ends the job under way with `failure`. What the drive still does is stopped by a reset.
    fn fail_job(&mut self, now: Tick, failure: Failure) {
        let Some(active) = &mut self.active else { return };
        active.report.outcome = Err(failure);
        active.reissues.clear();
        if self.busy != 0 {
            (self.needs_reset, self.reset_sent) = (true, false);
        }
        (self.busy, self.pending, self.unaccepted) = (0, None, None);
        self.phase = Phase::None;
        self.free_at = self.free_at.max(now);
        self.finish_job();
    }

    /// All that was under way is to be sent again.
    fn requeue_in_flight(&mut self) {
        let Some(active) = &mut self.active else { return };
        let mut bits = self.busy;
        active.report.reissues += u64::from(bits.count_ones());
        while bits != 0 {
            active.reissues.push_back(self.slots[index(bits.trailing_zeros())].command);
            bits &= bits - 1;
        }
        active.reissues.extend(self.pending.map(|issue| issue.command));
        // Commands lie one behind the other: this is the order in which they were chosen.
        active.reissues.make_contiguous().sort_by_key(|command| command.lba);
        (self.busy, self.pending, self.unaccepted) = (0, None, None);
        self.phase = Phase::None;
    }
}

fn index(tag: u32) -> usize {
    usize::try_from(tag).expect("there are 32 tags")
}
