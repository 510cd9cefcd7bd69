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
pub use job::{Addressing, Data, Direction, Job, Pattern, Range, Transfer};
pub use report::{Failure, Mismatch, Refusal, Report, Taskfile};

use crate::SECTOR_DWORDS;
use crate::host::build::Pace;
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
struct Issue {
    /// When it can go.
    at: Tick,
    timer: Tick,
    tag: u8,
    command: Command,
}

/// What was offered to the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offer {
    Nothing,
    Reset,
    Data(u32),
    Command,
}

/// The job under way.
#[derive(Debug, Clone)]
struct Run {
    report: Report,
    plan: Plan,
    contents: Contents,
    /// First sector.
    first: u64,
    /// Commands at once.
    depth: u32,
    /// Ticks before each command.
    update: u64,
    /// Commands to be sent again, first.
    again: VecDeque<Command>,
    /// They go one by one, without the queue.
    is_serial: bool,
    first_wrong: Option<Mismatch>,
}

/// A host.
#[derive(Debug, Clone)]
pub struct Host {
    speed: Speed,
    settings: Settings,
    pace: Pace,
    jobs: VecDeque<Job>,
    reports: Vec<Report>,
    run: Option<Run>,
    drive: Option<Identify>,
    identity: Option<Box<[u16; identify::WORDS]>>,
    /// IDENTIFY data as they come.
    words: [u32; identify::DWORDS],
    /// The status that the last PIO Setup gave for the end of its data.
    ending_status: u8,
    /// The drive's signature has come.
    is_up: bool,
    wants_reset: bool,
    /// It has asked for a reset, and none came: nobody is there.
    has_asked: bool,
    /// Resets since a command last succeeded.
    resets: u32,
    /// When the sequencer is free.
    free: Tick,
    /// When the host gives up waiting.
    deadline: Tick,
    slots: Box<[Slot; TAGS]>,
    /// A bit for each slot in use.
    busy: u32,
    /// A queued command was sent and the drive has not said that it can take the next.
    accepting: Option<u8>,
    issue: Option<Issue>,
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
            pace: Pace::new(speed, &settings),
            jobs: VecDeque::new(),
            reports: Vec::new(),
            run: None,
            drive: None,
            identity: None,
            words: [0; identify::DWORDS],
            ending_status: 0,
            is_up: false,
            wants_reset: false,
            has_asked: false,
            resets: 0,
            free: Tick::ZERO,
            deadline: Tick::NEVER,
            slots: Box::new([Slot::EMPTY; TAGS]),
            busy: 0,
            accepting: None,
            issue: None,
            phase: Phase::None,
            frame: Frame::default(),
            offered: Offer::Nothing,
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
        self.run.is_none() && self.jobs.is_empty()
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
    fn take_up(&mut self, at: Tick) {
        self.free = self.free.max(at);
        while let Some(job) = self.jobs.pop_front() {
            let start = self.free;
            if let Err(refusal) = self.check(&job) {
                let outcome = Err(Failure::Refused(refusal));
                self.reports.push(Report { outcome, ..Report::new(start) });
                continue;
            }
            let is_single = self.settings.build == Build::Single;
            if !is_single {
                self.free = self.free.after(self.pace.setup);
            }
            self.run = Some(self.run_of(job));
            self.resets = 0;
            self.deadline = self.free.after(self.pace.timeout);
            self.prepare(self.free);
            return;
        }
    }

    fn check(&self, job: &Job) -> Result<(), Refusal> {
        let Job::Transfer(transfer) = job else { return Ok(()) };
        if self.settings.build == Build::Single
            && matches!(transfer.addressing, Addressing::Queued(_))
        {
            return Err(Refusal::BuildLacks("queue"));
        }
        transfer.check(self.drive.as_ref())
    }

    fn run_of(&self, job: Job) -> Run {
        let extended = self.drive.as_ref().is_none_or(|drive| drive.lba_48);
        let plan = Plan::new(&job, extended);
        let (mut contents, mut first, mut depth, mut update) = (Contents::Ignored, 0, 1, 0);
        let mut report = Report::new(self.free);
        if let Job::Transfer(transfer) = job {
            first = transfer.first;
            if let Addressing::Queued(asked) = transfer.addressing {
                depth = asked;
            }
            update = match transfer.direction {
                Direction::Read => self.pace.update_read,
                Direction::Write => self.pace.update_write,
            };
            contents = match transfer.data {
                Data::Pattern(pattern) => Contents::Pattern(pattern),
                Data::Words(words) => Contents::Words(words),
                Data::Ignored => Contents::Ignored,
                Data::Kept => {
                    let dwords = transfer.sectors * u64::from(SECTOR_DWORDS);
                    report.data = vec![0; usize::try_from(dwords).expect("it was checked")];
                    Contents::Kept
                }
            };
        }
        if self.settings.build == Build::Single {
            update = self.pace.setup;
        }
        Run {
            report,
            plan,
            contents,
            first,
            depth,
            update,
            again: VecDeque::new(),
            is_serial: false,
            first_wrong: None,
        }
    }

    /// Chooses the next command if there is room for one, or ends the job.
    fn prepare(&mut self, now: Tick) {
        let Some(run) = &mut self.run else { return };
        if !self.is_up || self.wants_reset || self.issue.is_some() {
            return;
        }
        if run.is_serial && run.again.is_empty() && self.busy == 0 {
            run.is_serial = false;
        }
        if self.busy.count_ones() >= if run.is_serial { 1 } else { run.depth } {
            return;
        }
        let again = run.again.pop_front();
        let Some(command) = again.or_else(|| run.plan.take()) else {
            if self.busy == 0 {
                self.finish();
            }
            return;
        };
        let command = if run.is_serial { command.unqueued() } else { command };
        let timer = self.free.max(now).after(run.update);
        let at = timer.after(self.pace.start);
        let tag = (!self.busy).trailing_zeros();
        let tag = u8::try_from(tag).expect("a slot is free");
        self.free = at;
        self.issue = Some(Issue { at, timer, tag, command });
        self.renew();
    }

    /// When the host gives up: the first of what it waits for.
    fn renew(&mut self) {
        let waiting = self.issue.map_or(Tick::NEVER, |issue| issue.at.after(self.pace.timeout));
        let mut bits = self.busy;
        self.deadline = waiting;
        while bits != 0 {
            let deadline = self.slots[index(bits.trailing_zeros())].deadline;
            self.deadline = self.deadline.min(deadline);
            bits &= bits - 1;
        }
    }

    /// The job under way has ended; the next begins at once.
    fn finish(&mut self) {
        let Some(mut run) = self.run.take() else { return };
        let mut report = std::mem::replace(&mut run.report, Report::new(Tick::ZERO));
        report.end = self.free;
        if self.settings.build != Build::Single {
            report.timed = report.end.since(report.start);
        }
        if let (Ok(()), Some(mismatch)) = (&report.outcome, run.first_wrong) {
            report.outcome = Err(Failure::Mismatch(mismatch));
        }
        self.reports.push(report);
        self.deadline = Tick::NEVER;
        if !self.wants_reset {
            self.take_up(self.free);
        }
    }

    /// Ends the job under way with `failure`. What the drive still does is stopped by a reset.
    fn fail(&mut self, now: Tick, failure: Failure) {
        let Some(run) = &mut self.run else { return };
        run.report.outcome = Err(failure);
        run.again.clear();
        if self.busy != 0 {
            (self.wants_reset, self.has_asked) = (true, false);
        }
        (self.busy, self.issue, self.accepting) = (0, None, None);
        self.phase = Phase::None;
        self.free = self.free.max(now);
        self.finish();
    }

    /// All that was under way is to be sent again.
    fn recall(&mut self) {
        let Some(run) = &mut self.run else { return };
        let mut bits = self.busy;
        run.report.reissues += u64::from(bits.count_ones());
        while bits != 0 {
            run.again.push_back(self.slots[index(bits.trailing_zeros())].command);
            bits &= bits - 1;
        }
        run.again.extend(self.issue.map(|issue| issue.command));
        // Commands lie one behind the other: this is the order in which they were chosen.
        run.again.make_contiguous().sort_by_key(|command| command.lba);
        (self.busy, self.issue, self.accepting) = (0, None, None);
        self.phase = Phase::None;
    }
}

fn index(tag: u32) -> usize {
    usize::try_from(tag).expect("there are 32 tags")
}
