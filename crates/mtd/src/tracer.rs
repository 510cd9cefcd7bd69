//! Middleware that logs the operations on a device with their times and outcomes.
//!
//! Layer: rank 2. Main types: [`Tracer`], [`Event`], [`Outcome`]. The log is bounded: when it is full,
//! the oldest event is dropped and counted. A sink, a closure, receives every event when it ends, for
//! a trace that does not fit into memory. A tracer costs no virtual time.

use crate::device::{Mtd, ReadHealth, ReadResult};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::index::{BlockIndex, PageIndex};
use crate::operation::{Kind, Operation, around_every_operation, device_below};
use boardlab_sim::{Bytes, Clock, Duration, Instant};
use std::collections::VecDeque;
use std::fmt;

/// The outcome of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A completed operation.
    Done,
    /// A completed read, with the result of its error correction.
    Read(ReadHealth),
    /// Whether the block is marked bad.
    Marked(bool),
    /// A failure.
    Failed(Error),
}

impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Self::Done
    }
}

impl From<ReadHealth> for Outcome {
    fn from(health: ReadHealth) -> Self {
        Self::Read(health)
    }
}

impl From<bool> for Outcome {
    fn from(bad: bool) -> Self {
        Self::Marked(bad)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done | Self::Read(ReadHealth { corrected: 0, .. }) => f.write_str("ok"),
            Self::Read(health) => {
                write!(f, "{} bits corrected, at most {}", health.corrected, health.worst)
            }
            Self::Marked(bad) => f.write_str(if *bad { "bad" } else { "good" }),
            Self::Failed(error) => write!(f, "failed: {error}"),
        }
    }
}

/// A completed operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The number of the operation, from zero.
    pub number: u64,
    /// The time of its start.
    pub start: Instant,
    /// Its duration.
    pub duration: Duration,
    /// The operation.
    pub operation: Operation,
    /// Its outcome.
    pub outcome: Outcome,
}

/// One line: number, start, duration, kind, place, length, outcome.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, took) = (self.start.as_nanos(), self.duration.as_nanos());
        let Operation { kind, place, length } = self.operation;
        write!(f, "{:>6} {start:>14} ns +{took:>10} ns  ", self.number)?;
        write!(f, "{kind:<11} {place:<12} {:>8} B  {}", length.get(), self.outcome)
    }
}

/// Logs the operations on the device below.
///
/// ```
/// use boardlab_mtd::{Mtd, RamMtd, Tracer};
/// use boardlab_sim::{Bytes, Clock};
///
/// let mut device = Tracer::new(RamMtd::nor(1, Bytes::kib(64)), 100);
/// device.program(&mut Clock::new(), Bytes::new(512), &[0; 256]).unwrap();
/// let line = "     0              0 ns +         0 ns  program     0x00000200        256 B  ok\n";
/// assert_eq!(device.to_string(), line);
/// ```
#[derive(Debug, Clone)]
pub struct Tracer<M, S = fn(&Event)> {
    device: M,
    sink: S,
    limit: usize,
    seen: u64,
    events: VecDeque<Event>,
}

fn nowhere(_: &Event) {}

impl<M> Tracer<M> {
    /// Wraps `device`, with a log of its last `limit` operations.
    #[must_use]
    pub fn new(device: M, limit: usize) -> Self {
        Self::with_sink(device, limit, nowhere)
    }
}

impl<M, S: FnMut(&Event)> Tracer<M, S> {
    /// Like [`Tracer::new`], and passes every event to `sink` when it ends.
    #[must_use]
    pub const fn with_sink(device: M, limit: usize, sink: S) -> Self {
        Self { device, sink, limit, seen: 0, events: VecDeque::new() }
    }

    /// The logged events, oldest first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter()
    }

    /// The number of operations, including dropped ones.
    #[must_use]
    pub const fn seen(&self) -> u64 {
        self.seen
    }

    device_below!(M, "logged");

    fn traced<T: Copy + Into<Outcome>>(
        &mut self,
        clock: &mut Clock,
        operation: Operation,
        run: impl FnOnce(&mut M, &mut Clock) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let start = clock.now();
        let answer = run(&mut self.device, clock);
        let outcome = match &answer {
            Ok(value) => (*value).into(),
            Err(error) => Outcome::Failed(error.clone()),
        };
        let duration = clock.now().since(start);
        let event = Event { number: self.seen, start, duration, operation, outcome };
        (self.sink)(&event);
        self.seen += 1;
        self.events.push_back(event);
        if self.events.len() > self.limit {
            self.events.pop_front();
        }
        answer
    }
}

/// All logged events, one per line, after a line about those dropped.
impl<M, S> fmt::Display for Tracer<M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(first) = self.events.front().filter(|first| first.number > 0) {
            writeln!(f, "(the first {} operations are not shown)", first.number)?;
        }
        self.events.iter().try_for_each(|event| writeln!(f, "{event}"))
    }
}

impl<M: Mtd, S: FnMut(&Event)> Mtd for Tracer<M, S> {
    around_every_operation!(traced);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ram::{Costs, RamMtd};

    fn timed() -> RamMtd {
        let erase = Duration::from_millis(300);
        RamMtd::nand(2, 4, Bytes::new(512), Bytes::new(16)).with_costs(Costs {
            read: Duration::from_micros(25),
            erase,
            ..Costs::default()
        })
    }

    #[test]
    fn every_method_leaves_one_line_with_its_time_and_outcome() {
        let (mut device, mut clock) = (Tracer::new(timed(), 10), Clock::new());
        device.erase(&mut clock, BlockIndex(1)).unwrap();
        device.read(&mut clock, Bytes::new(3), &mut [0; 5]).unwrap();
        device.program(&mut clock, Bytes::new(1), &[0; 512]).unwrap_err();
        device.program_oob(&mut clock, PageIndex(7), &[0; 512], &[0; 2]).unwrap();
        device.read_oob(&mut clock, PageIndex(7), &mut [0; 2]).unwrap();
        device.mark_bad(&mut clock, BlockIndex(0)).unwrap();
        device.is_bad(&mut clock, BlockIndex(0)).unwrap();
        let expected = "     \
     0              0 ns + 300000000 ns  erase       block 1             0 B  ok
     1      300000000 ns +     25000 ns  read        0x00000003          5 B  ok
     2      300025000 ns +         0 ns  program     0x00000001        512 B  \
            failed: 512 bytes at offset 0x1 are not whole units of 512 B
     3      300025000 ns +         0 ns  program_oob page 7            514 B  ok
     4      300025000 ns +     25000 ns  read_oob    page 7              2 B  ok
     5      300050000 ns +         0 ns  mark_bad    block 0             0 B  ok
     6      300050000 ns +         0 ns  is_bad      block 0             0 B  bad
";
        assert_eq!(device.to_string(), expected);
    }

    #[test]
    fn the_log_keeps_the_last_events_and_the_sink_sees_all() {
        let mut lengths = Vec::new();
        let sink = |event: &Event| lengths.push(event.operation.length.get());
        let mut device = Tracer::with_sink(timed(), 2, sink);
        for length in 1..=5 {
            device.read(&mut Clock::new(), Bytes::ZERO, &mut vec![0; length]).unwrap();
        }
        let kept: Vec<u64> = device.events().map(|event| event.number).collect();
        assert_eq!((kept, device.seen()), (vec![3, 4], 5));
        assert!(device.to_string().starts_with("(the first 3 operations are not shown)\n"));
        drop(device);
        assert_eq!(lengths, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_log_of_no_length_only_counts() {
        let mut device = Tracer::new(timed(), 0);
        device.erase(&mut Clock::new(), BlockIndex(0)).unwrap();
        assert_eq!((device.events().count(), device.seen()), (0, 1));
    }
}
