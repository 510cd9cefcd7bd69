//! Replays a trace on a block device, in virtual time.
//!
//! Layer: rank 6. Main types: [`replay`], [`Pace`], [`Replay`], [`Failure`]. At the recorded pace
//! each request is submitted at its time, whether the ones before are complete or not, so that a
//! slow device gets a queue in front of it and every gap reaches it as idle time. As fast as
//! possible, the next request is submitted when one of those in flight completes. The data are
//! random bytes that are described, not generated.
//!
//! Source: what fio does with `read_iolog`, with and without `replay_no_stall` (its HOWTO, 3.33);
//! here the recorded times are absolute, not gaps after a completion.

use super::fit::{BeyondEnd, Fit, FitCounts, UnalignedPolicy};
use super::problem::{Error, Problem};
use super::record::{Kind, Record};
use crate::fio::account::{Account, CompletedRequest};
use crate::fio::{Direction, Place, Settings};
use boardlab_block::{BlockDevice, Completion, Extent, Noise, Payload, Queue, Request, Target};
use boardlab_sim::{Clock, Duration, Instant};
use std::fmt;

/// The pace of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Pace {
    /// At the recorded times.
    #[default]
    Recorded,
    /// As soon as fewer than this many are in flight.
    Fastest(u32),
}

/// How a trace is replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The pace.
    pub pace: Pace,
    /// How requests beyond the end of the device are handled.
    pub beyond: BeyondEnd,
    /// How unaligned requests are handled.
    pub ragged: UnalignedPolicy,
    /// The seed of the data.
    pub data: u64,
    /// Name of the trace, for errors.
    pub file: String,
}

/// Why a replay failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The trace is invalid, or does not fit the device.
    Trace(Error),
    /// The device returned an error.
    Device {
        /// The request.
        place: Place,
        /// The error of the device.
        cause: boardlab_block::Error,
    },
    /// Its times reach beyond 584 years.
    TooLong {
        /// The request.
        place: Place,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::Device { place, cause } => write!(f, "{place}: the device answered: {cause}"),
            Self::TooLong { place } => write!(f, "{place}: it would come after 584 years"),
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Trace(error) => Some(error),
            Self::Device { cause, .. } => Some(cause),
            Self::TooLong { .. } => None,
        }
    }
}

/// The result of a replay.
#[derive(Debug, Clone)]
pub struct Replay {
    /// Latencies from when each request was due, bandwidth, flushes: as of a job of fio, without
    /// depths.
    pub account: Account,
    /// How requests were adapted.
    pub fitted: FitCounts,
    /// Requests of the trace.
    pub requests: u64,
    /// Discards that the device does not support.
    pub skipped: u64,
    /// Requests that had to wait because the device was still busy when they were due.
    pub waited: u64,
    /// The idle time of the device between requests.
    pub idle: Duration,
    /// From the first request of the trace to the last, as recorded.
    pub recorded: Duration,
    /// When it began.
    pub started: Instant,
    /// When the last request was done.
    pub ended: Instant,
}

struct Player<'a, D> {
    device: &'a mut D,
    options: &'a Options,
    started: Instant,
    queue: Option<Queue>,
    /// When the last request was submitted, and when all before it were complete.
    latest: Instant,
    done: Instant,
    replay: Replay,
}

/// Replays a trace from the clock's time on; the clock stands at the end of its last request.
///
/// # Errors
/// [`Failure`] at the first error; the clock stays unchanged.
pub fn replay<D: BlockDevice>(
    device: &mut D,
    clock: &mut Clock,
    trace: impl IntoIterator<Item = Result<Record, Error>>,
    options: &Options,
) -> Result<Replay, Failure> {
    let started = clock.now();
    let mut fit = Fit::new(device.geometry(), options.beyond, options.ragged);
    let queue = match options.pace {
        Pace::Recorded => None,
        Pace::Fastest(depth) => Some(Queue::new(depth.max(1))),
    };
    let account = Account::new(&Settings::default().reporting, started, Duration::ZERO);
    let mut player = Player {
        device,
        options,
        started,
        queue,
        latest: started,
        done: started,
        replay: Replay {
            account,
            fitted: FitCounts::default(),
            requests: 0,
            skipped: 0,
            waited: 0,
            idle: Duration::ZERO,
            recorded: Duration::ZERO,
            started,
            ended: started,
        },
    };
    let mut parts = Vec::with_capacity(2);
    for record in trace {
        let record = record.map_err(Failure::Trace)?;
        let fitted = fit.fit(record, |part| parts.push(part));
        fitted.map_err(|problem| player.misfit(&record, problem))?;
        player.replay.requests += 1;
        player.replay.recorded = record.at;
        for part in parts.drain(..) {
            player.play(part)?;
        }
    }
    let mut replay = player.replay;
    (replay.fitted, replay.ended) = (fit.done(), player.done);
    clock.advance_to(replay.ended);
    Ok(replay)
}

impl<D: BlockDevice> Player<'_, D> {
    fn place(&self, record: &Record) -> Place {
        let line = usize::try_from(record.line).unwrap_or(usize::MAX);
        Place { file: self.options.file.clone(), line, column: 1 }
    }

    fn misfit(&self, record: &Record, problem: Problem) -> Failure {
        Failure::Trace(Error { place: self.place(record), problem })
    }

    /// When a request comes.
    fn due(&mut self, record: &Record) -> Result<Instant, Failure> {
        let due = match &mut self.queue {
            Some(queue) => queue.accept(self.latest),
            None => self.started.saturating_add(record.at),
        };
        if due == Instant::from_nanos(u64::MAX) {
            return Err(Failure::TooLong { place: self.place(record) });
        }
        self.replay.idle += due.saturating_since(self.done);
        self.replay.waited += u64::from(due < self.done && self.queue.is_none());
        self.latest = self.latest.max(due);
        Ok(self.latest)
    }

    fn submit(
        &mut self,
        at: Instant,
        record: &Record,
        request: Request<'_>,
    ) -> Result<Completion, Failure> {
        let place = self.place(record);
        let answer = self.device.submit(at, request);
        let done = answer.map_err(|cause| Failure::Device { place, cause })?;
        self.done = self.done.max(done.ended);
        Ok(done)
    }

    fn flush(&mut self, at: Instant, record: &Record) -> Result<Completion, Failure> {
        let done = self.submit(at, record, Request::Flush)?;
        self.replay.account.sync(at, done.ended);
        Ok(done)
    }

    fn play(&mut self, record: Record) -> Result<(), Failure> {
        let due = self.due(&record)?;
        let mut ended = due;
        if record.flushed || record.kind == Kind::Flush {
            ended = self.flush(due, &record)?.ended;
        }
        if record.kind != Kind::Flush {
            ended = self.transfer(due, &record)?;
        }
        if let Some(queue) = &mut self.queue {
            queue.hold(ended);
        }
        Ok(())
    }

    /// Splits the data of a request into parts that the device accepts.
    fn transfer(&mut self, due: Instant, record: &Record) -> Result<Instant, Failure> {
        let geometry = self.device.geometry();
        let block = geometry.block;
        let (direction, largest) = match record.kind {
            Kind::Read => (Direction::Read, geometry.maximum / block),
            Kind::Write => (Direction::Write, geometry.maximum / block),
            Kind::Discard | Kind::Flush if geometry.discard.is_none() => {
                self.replay.skipped += 1;
                return Ok(due);
            }
            Kind::Discard | Kind::Flush => (Direction::Trim, u64::MAX),
        };
        let (mut first, end) = (record.offset / block, (record.offset + record.length) / block);
        let mut ended = due;
        while first < end {
            let extent = Extent::new(first, largest.clamp(1, end - first));
            first += extent.count;
            let data = Payload::Noise(Noise::new(self.options.data));
            let request = match direction {
                Direction::Read => Request::Read { extent, into: Target::Nowhere },
                Direction::Write => Request::Write { extent, data, durable: record.durable },
                Direction::Trim => Request::Discard { extent },
            };
            ended = self.submit(due, record, request)?.ended;
        }
        let (offset, bytes) = (record.offset.get(), record.length.get());
        let done = CompletedRequest { direction, offset, bytes, issued: due, ended };
        self.replay.account.done(&done);
        Ok(ended)
    }
}
