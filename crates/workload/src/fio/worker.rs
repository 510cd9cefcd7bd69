//! One copy of a job at work: what it asks next, and when.
//!
//! Layer: rank 6. Main type: [`Worker`]. The order of a pass is fio's (`backend.c` of 3.33 as its
//! runs show it): open, requests until the size is moved, wait for all, flush at the end or when
//! closing. Each pass of `loops` but the last is followed by a second open and close without
//! requests; with `fsync_on_close` that is a second flush (strace of fio 3.33: 199 fsync and 401
//! openat for 100 loops).
//!
//! ```text
//!   Begin -> Issue <-> (queue full: wait for one) -> Drain -> Close <-> (flush) -> Begin | Done
//! ```
//!
//! A step submits at most one request, at the instant for which it was called plus the host's cost: so
//! several copies that take turns by time never submit out of order.

use crate::fio::account::{Account, CompletedRequest};
use crate::fio::data::WriteData;
use crate::fio::engine::{Failure, Host};
use crate::fio::job::Job;
use crate::fio::places::{Places, Span};
use crate::fio::reading::Amount;
use crate::fio::settings::{Direction, Service, SyncMode};
use boardlab_block::{BlockDevice, Request, Target};
use boardlab_sim::{Bytes, Duration, Instant, Seed, Stream};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What all workers share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tools {
    /// The host.
    pub(super) host: Host,
    /// So many requests may take no time.
    pub(super) most: u64,
}

/// A request under way; the one that ends first is the greatest.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    done: CompletedRequest,
    number: u64,
}

impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for InFlight {}

impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.done.ended, other.number).cmp(&(self.done.ended, self.number))
    }
}

/// Where a pass stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begin,
    Issue,
    Drain,
    Close,
    /// The second open and close after a pass.
    Reopen,
    Done,
}

/// One copy of a job.
pub(super) struct Worker<'j> {
    job: &'j Job,
    files: Vec<Places>,
    /// Which files have nothing left in this pass.
    over: Vec<bool>,
    file: usize,
    filling: WriteData,
    stream: Stream,
    account: Account,
    stage: Stage,
    /// Flushes left in a stage of closing.
    flushes: usize,
    now: Instant,
    /// The instant for which the step was called.
    ready: Instant,
    start: Instant,
    stop: Option<Instant>,
    /// Whether the ramp is still going on.
    ramping: bool,
    depth: usize,
    under_way: BinaryHeap<InFlight>,
    /// Bytes to move in a pass, and those moved in all passes.
    limit: u64,
    moved: u64,
    requests: u64,
    passes: u64,
    writes_since: [u64; 2],
    since_think: u64,
    /// When each direction may go on, under a rate.
    due: [Instant; 3],
    /// A trim that its write follows.
    trimmed: Option<Span>,
    opens: u64,
    /// Requests when the pass began.
    before: u64,
    /// Since when no time has passed, and how many requests ago.
    idle: (Instant, u64),
}

/// No job goes on beyond this: times of devices must still fit behind it.
pub(super) const LATEST: Instant = Instant::from_nanos(u64::MAX / 2);

impl<'j> Worker<'j> {
    pub(super) fn new(job: &'j Job, spans: &[Span], seed: Seed, filling: WriteData) -> Self {
        let settings = &job.settings;
        let files: Vec<Places> = spans
            .iter()
            .enumerate()
            .map(|(index, span)| Places::new(settings, *span, seed.child(&format!("file{index}"))))
            .collect();
        let size = spans.iter().fold(0_u64, |size, span| size.saturating_add(span.length));
        let limit = match settings.area.io_size {
            Some(Amount::Bytes(bytes)) => bytes,
            Some(percent) => percent.of(size),
            None => size,
        };
        let depth = if settings.submission.engine.queues { settings.submission.depth } else { 1 };
        let account = Account::new(&settings.reporting, Instant::ZERO, Duration::ZERO);
        Self {
            job,
            over: vec![false; files.len()],
            files,
            file: 0,
            filling,
            stream: seed.stream("fio.mix"),
            account,
            stage: Stage::Begin,
            flushes: 0,
            now: Instant::ZERO,
            ready: Instant::ZERO,
            start: Instant::ZERO,
            stop: None,
            ramping: false,
            depth: usize::try_from(depth).unwrap_or(usize::MAX),
            under_way: BinaryHeap::new(),
            limit,
            moved: 0,
            requests: 0,
            passes: 0,
            writes_since: [0; 2],
            since_think: 0,
            due: [Instant::ZERO; 3],
            trimmed: None,
            opens: 0,
            before: 0,
            idle: (Instant::ZERO, 0),
        }
    }

    /// Begins at `at`.
    pub(super) fn start(&mut self, at: Instant, tools: &Tools) {
        let timing = &self.job.settings.timing;
        (self.now, self.ready, self.start, self.due) = (at, at, at, [at; 3]);
        let counted = at.saturating_add(timing.ramp);
        self.stop = timing.runtime.map(|runtime| counted.saturating_add(runtime));
        self.ramping = !timing.ramp.is_zero();
        self.account = Account::new(&self.job.settings.reporting, at, tools.host.submit);
    }

    pub(super) const fn now(&self) -> Instant {
        self.now
    }

    /// What was counted, and how often files were opened.
    pub(super) fn finish(self) -> (Account, u64) {
        (self.account, self.opens)
    }

    /// Takes one step, and tells when the next can be taken; `None` when all is done.
    #[inline]
    pub(super) fn step<D: BlockDevice>(
        &mut self,
        device: &mut D,
        tools: &Tools,
    ) -> Result<Option<Instant>, Failure> {
        match self.stage {
            Stage::Begin => self.begin(),
            Stage::Issue => self.issue(device, tools)?,
            Stage::Drain => {
                while self.reap(tools) {}
                self.close();
            }
            Stage::Close | Stage::Reopen if self.flushes > 0 => {
                self.flushes -= 1;
                self.flush(device, tools)?;
            }
            Stage::Close => self.closed(),
            Stage::Reopen => self.stage = Stage::Begin,
            Stage::Done => return Ok(None),
        }
        let full = self.stage == Stage::Issue && self.under_way.len() >= self.depth;
        let earliest = self.under_way.peek().filter(|_| full || self.stage == Stage::Drain);
        self.ready = earliest.map_or(self.now, |first| first.done.ended.max(self.now));
        Ok(Some(self.ready))
    }

    fn begin(&mut self) {
        self.opens += u64::try_from(self.files.len()).expect("u64 holds usize") * 2;
        self.over.fill(false);
        self.before = self.requests;
        if self.passes > 0 {
            self.files.iter_mut().for_each(Places::restart);
        }
        self.stage = Stage::Issue;
    }

    /// Whether the time or the requests are used up.
    fn is_over(&self) -> bool {
        let number = self.job.settings.area.number_ios;
        self.now >= self.stop.map_or(LATEST, |stop| stop.min(LATEST))
            || (number > 0 && self.requests >= number)
    }

    fn issue<D: BlockDevice>(&mut self, device: &mut D, tools: &Tools) -> Result<(), Failure> {
        if self.under_way.len() >= self.depth {
            self.reap_batch(tools);
            if self.now > self.ready {
                return Ok(());
            }
        }
        let time_based = self.job.settings.timing.time_based;
        let all = self.limit.saturating_mul(self.job.settings.loops);
        if self.is_over() || (!time_based && self.moved >= all) {
            self.stage = Stage::Drain;
            return Ok(());
        }
        if self.is_flush_due() {
            return self.flush(device, tools);
        }
        let direction = self.direction();
        let wait = self.due[direction as usize];
        if wait > self.now {
            self.now = wait.min(self.stop.unwrap_or(LATEST)).max(self.now);
            self.collect(tools);
            return Ok(());
        }
        let Some(span) = self.place(direction) else {
            self.stage = Stage::Drain;
            return Ok(());
        };
        self.submit(device, tools, direction, span)
    }

    /// Reads or writes, as the mix says; a trim comes before its write.
    #[inline]
    fn direction(&mut self) -> Direction {
        let access = &self.job.settings.access;
        if access.trim_first {
            return if self.trimmed.is_some() { Direction::Write } else { Direction::Trim };
        }
        match access.directions {
            [true, true, _] => {
                let read = self.stream.below(100) < self.job.settings.randomness.mix_read;
                if read { Direction::Read } else { Direction::Write }
            }
            [true, ..] => Direction::Read,
            [_, true, _] => Direction::Write,
            _ => Direction::Trim,
        }
    }

    /// The next place, in the file whose turn it is; `None` when no file has one.
    #[inline]
    fn place(&mut self, direction: Direction) -> Option<Span> {
        if let Some(span) = self.trimmed.take() {
            return Some(span);
        }
        let count = self.files.len();
        for _ in 0..count {
            let file = self.file;
            if !self.over[file] {
                match self.files[file].next(direction) {
                    Some(span) => {
                        self.turn(count);
                        return Some(span);
                    }
                    None => self.over[file] = true,
                }
            }
            self.file = (file + 1) % count;
        }
        // All files are at their end: a job that goes by time begins again.
        if !self.job.settings.timing.time_based {
            return None;
        }
        self.over.fill(false);
        self.files.iter_mut().for_each(Places::restart);
        self.files[self.file].next(direction)
    }

    #[inline]
    fn turn(&mut self, count: usize) {
        if count > 1 {
            self.file = match self.job.settings.area.service {
                Service::Sequential => self.file,
                Service::RoundRobin => (self.file + 1) % count,
                Service::Random => {
                    let count = u64::try_from(count).expect("u64 holds usize");
                    usize::try_from(self.stream.below(count)).expect("below the number of files")
                }
            };
        }
    }

    fn submit<D: BlockDevice>(
        &mut self,
        device: &mut D,
        tools: &Tools,
        direction: Direction,
        span: Span,
    ) -> Result<(), Failure> {
        self.now += tools.host.submit;
        let issued = self.now;
        let ended = if self.job.settings.submission.engine.null {
            issued
        } else {
            self.ask(device, direction, span)?
        };
        self.requests += 1;
        let trim_first = self.job.settings.access.trim_first;
        if trim_first && direction == Direction::Trim {
            self.trimmed = Some(span);
        } else {
            self.moved = self.moved.saturating_add(span.length);
        }
        if direction == Direction::Write {
            self.writes_since.iter_mut().for_each(|count| *count += 1);
        }
        let done =
            CompletedRequest { direction, offset: span.start, bytes: span.length, issued, ended };
        self.pace(direction, span.length);
        self.under_way.push(InFlight { done, number: self.requests });
        self.account.issue(self.under_way.len());
        if self.depth == 1 {
            self.reap(tools);
        }
        self.think(tools);
        self.check_progress(tools)
    }

    #[inline]
    fn ask<D: BlockDevice>(
        &mut self,
        device: &mut D,
        direction: Direction,
        span: Span,
    ) -> Result<Instant, Failure> {
        let (name, now) = (&self.job.name, self.now);
        let failed = |cause| {
            let (job, what) = (name.clone(), direction.name());
            Failure::Device { job, what, offset: span.start, cause }
        };
        let (offset, length) = (Bytes::new(span.start), Bytes::new(span.length));
        let extent = device.geometry().extent(offset, length).map_err(failed)?;
        let request = match direction {
            Direction::Read => Request::Read { extent, into: Target::Nowhere },
            Direction::Write => {
                let durable = self.job.settings.submission.sync != SyncMode::None;
                Request::Write { extent, data: self.filling.next(span.length), durable }
            }
            Direction::Trim => Request::Discard { extent },
        };
        device.submit(now, request).map(|done| done.ended).map_err(failed)
    }

    /// `fsync=N` and `fdatasync=N` flush before the next request after N writes.
    #[inline]
    fn is_flush_due(&mut self) -> bool {
        let submission = &self.job.settings.submission;
        let every = [submission.fsync, submission.fdatasync];
        for (since, every) in self.writes_since.iter_mut().zip(every) {
            if every > 0 && *since >= every {
                *since = 0;
                return true;
            }
        }
        false
    }

    fn flush<D: BlockDevice>(&mut self, device: &mut D, tools: &Tools) -> Result<(), Failure> {
        self.now += tools.host.submit;
        let issued = self.now;
        if !self.job.settings.submission.engine.null {
            let failed = |cause| Failure::Device {
                job: self.job.name.clone(),
                what: "flush",
                offset: 0,
                cause,
            };
            self.now = device.submit(issued, Request::Flush).map_err(failed)?.ended;
        }
        if !self.ramping {
            self.account.sync(issued, self.now);
        }
        Ok(())
    }

    /// The end of a pass: `end_fsync` and `fsync_on_close` flush once for each file.
    fn close(&mut self) {
        self.passes += 1;
        let settings = &self.job.settings;
        let at_end = settings.submission.end_fsync && settings.access.directions[1];
        let on_close = settings.submission.fsync_on_close;
        self.flushes = self.files.len() * (usize::from(at_end) + usize::from(on_close));
        self.stage = Stage::Close;
    }

    /// fio lays the files out again before another pass: they are opened and closed once more.
    fn closed(&mut self) {
        if !self.goes_on() {
            self.stage = Stage::Done;
            return;
        }
        self.opens += u64::try_from(self.files.len()).expect("u64 holds usize") * 2;
        if self.job.settings.submission.fsync_on_close {
            self.flushes = self.files.len();
        }
        self.stage = Stage::Reopen;
    }

    /// Whether another pass follows.
    fn goes_on(&self) -> bool {
        if self.is_over() || self.requests == self.before {
            return false;
        }
        let settings = &self.job.settings;
        if settings.timing.time_based || self.passes < settings.loops {
            return true;
        }
        let left = self.limit.saturating_mul(settings.loops).saturating_sub(self.moved);
        settings.area.io_size.is_some() && left >= settings.largest_block() && self.moved > 0
    }

    /// Takes the request that ends first; false when there is none.
    #[inline]
    fn reap(&mut self, tools: &Tools) -> bool {
        let Some(first) = self.under_way.pop() else { return false };
        self.now = self.now.max(first.done.ended) + tools.host.complete;
        self.count(&first.done);
        true
    }

    fn count(&mut self, done: &CompletedRequest) {
        if self.ramping {
            let begin = self.start.saturating_add(self.job.settings.timing.ramp);
            if done.ended < begin {
                return;
            }
            self.ramping = false;
            let submit = self.account.submission;
            self.account = Account::new(&self.job.settings.reporting, begin, submit);
        }
        self.account.done(done);
        self.since_think += 1;
    }

    /// Waits until there is room again, and takes all that is done by then.
    fn reap_batch(&mut self, tools: &Tools) {
        let submission = &self.job.settings.submission;
        let low = match submission.low {
            0 => usize::MAX,
            low => usize::try_from(low).unwrap_or(usize::MAX),
        };
        let least = usize::try_from(submission.complete_min).unwrap_or(usize::MAX).max(1);
        let (mut taken, depth) = (0, self.depth);
        let target = low.min(depth.saturating_sub(1));
        while (taken < least || self.under_way.len() > target) && self.reap(tools) {
            taken += 1;
        }
        let most = match submission.complete_max {
            0 => usize::MAX,
            most => usize::try_from(most).unwrap_or(usize::MAX),
        };
        while taken < most
            && self.under_way.peek().is_some_and(|first| first.done.ended <= self.now)
            && self.reap(tools)
        {
            taken += 1;
        }
    }

    /// Takes what is done by now.
    fn collect(&mut self, tools: &Tools) {
        while self.under_way.peek().is_some_and(|first| first.done.ended <= self.now) {
            self.reap(tools);
        }
    }

    /// Sets when the direction may go on, under `rate` or `rate_iops`.
    #[inline]
    fn pace(&mut self, direction: Direction, bytes: u64) {
        let timing = &self.job.settings.timing;
        let index = direction as usize;
        let (amount, rate) = match (timing.rate[index], timing.rate_iops[index]) {
            (0, 0) => return,
            (0, rate) => (1, rate),
            (rate, _) => (bytes, rate),
        };
        let nanos = u128::from(amount) * 1_000_000_000 / u128::from(rate);
        let mut span = u64::try_from(nanos).unwrap_or(u64::MAX);
        if timing.poisson {
            span = exponential(span, &mut self.stream);
        }
        self.due[index] = self.due[index].saturating_add(Duration::from_nanos(span));
    }

    /// `thinktime` after every so many blocks.
    #[inline]
    fn think(&mut self, tools: &Tools) {
        let timing = &self.job.settings.timing;
        if timing.think.is_zero() {
            return;
        }
        let blocks = if timing.think_on_issue { self.requests } else { self.since_think };
        if blocks == 0 || !blocks.is_multiple_of(timing.think_blocks) {
            return;
        }
        if !timing.think_on_issue {
            while self.reap(tools) {}
            self.since_think = 0;
        }
        let timing = &self.job.settings.timing;
        self.now = self.now.saturating_add(timing.think).min(LATEST).max(self.now);
        if timing.rate_ignores_think {
            self.due = self.due.map(|due| due.max(self.now));
        }
    }

    /// A job that goes by time on a device that takes none would never end.
    #[inline]
    fn check_progress(&mut self, tools: &Tools) -> Result<(), Failure> {
        if self.idle.0 < self.now || !self.under_way.is_empty() {
            self.idle = (self.now, 0);
            return Ok(());
        }
        self.idle.1 += 1;
        if self.idle.1 > tools.most && self.job.settings.timing.time_based {
            let (job, requests) = (self.job.name.clone(), self.idle.1);
            return Err(Failure::NoProgress { job, requests });
        }
        Ok(())
    }
}

/// A time with an exponential distribution and this mean.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time drawn at random; a float becomes the nearest u64"
)]
fn exponential(mean: u64, stream: &mut Stream) -> u64 {
    let uniform = ((stream.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    (-uniform.ln() * mean as f64) as u64
}
