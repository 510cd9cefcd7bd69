//! Middleware that logs the requests to a device with their times and outcomes.
//!
//! Layer: rank 2. Main types: [`Tracer`], [`Event`]. The log is bounded: when it is full, the oldest
//! event is dropped and counted. A sink, a closure, receives every event, for a trace that does not
//! fit into memory. A tracer costs no virtual time.

use crate::device::BlockDevice;
use crate::error::Error;
use crate::extent::Extent;
use crate::layered::{Layer, Layered};
use crate::request::{Completion, Kind, Request};
use boardlab_sim::Instant;
use std::collections::VecDeque;
use std::fmt;

/// A request and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The number of the request, from zero.
    pub number: u64,
    /// The time of submission.
    pub at: Instant,
    /// The kind.
    pub kind: Kind,
    /// The blocks.
    pub extent: Extent,
    /// The outcome.
    pub outcome: Result<Completion, Error>,
}

/// One line: number, submission, latency, kind, blocks, outcome.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, kind) = (self.at.as_nanos(), self.kind);
        let took = match &self.outcome {
            Ok(done) => done.latency(self.at).as_nanos(),
            Err(error) => error.ended().map_or(0, |end| end.saturating_since(self.at).as_nanos()),
        };
        write!(f, "{:>6} {at:>14} ns +{took:>10} ns  ", self.number)?;
        write!(f, "{kind:<12} {:<16} ", self.extent)?;
        match &self.outcome {
            Ok(Completion { cause: None, .. }) => f.write_str("ok"),
            Ok(Completion { cause: Some(cause), .. }) => write!(f, "ok, slowed by {cause}"),
            Err(error) => write!(f, "failed: {error}"),
        }
    }
}

/// Logs the requests to the device below.
///
/// ```
/// use boardlab_block::{BlockDevice, Extent, Geometry, RamBlock, Tracer};
/// use boardlab_sim::{Bytes, Clock};
///
/// let mut device = Tracer::over(RamBlock::new(Geometry::of_size(Bytes::mib(1))), 100);
/// device.write(&mut Clock::new(), Extent::new(8, 1), &[0; 512]).unwrap();
/// let line = "     0              0 ns +         0 ns  write        8+1              ok\n";
/// assert_eq!(device.layer().to_string(), line);
/// ```
#[derive(Debug, Clone)]
pub struct Tracer<S = fn(&Event)> {
    sink: S,
    limit: usize,
    seen: u64,
    events: VecDeque<Event>,
}

fn nowhere(_: &Event) {}

impl Tracer {
    /// Wraps `device`, with a log of its last `limit` requests.
    #[must_use]
    pub fn over<D: BlockDevice>(device: D, limit: usize) -> Layered<Self, D> {
        Tracer::with_sink(device, limit, nowhere as fn(&Event))
    }
}

impl<S: FnMut(&Event)> Tracer<S> {
    /// Like [`Tracer::over`], and passes every event to `sink`.
    #[must_use]
    pub const fn with_sink<D: BlockDevice>(device: D, limit: usize, sink: S) -> Layered<Self, D> {
        Layered::new(Self { sink, limit, seen: 0, events: VecDeque::new() }, device)
    }

    /// The logged events, oldest first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter()
    }

    /// The number of requests, including dropped ones.
    #[must_use]
    pub const fn seen(&self) -> u64 {
        self.seen
    }
}

/// All logged events, one per line, after a line about those dropped.
impl<S> fmt::Display for Tracer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(first) = self.events.front().filter(|first| first.number > 0) {
            writeln!(f, "(the first {} requests are not shown)", first.number)?;
        }
        self.events.iter().try_for_each(|event| writeln!(f, "{event}"))
    }
}

impl<D: BlockDevice, S: FnMut(&Event)> Layer<D> for Tracer<S> {
    fn around(
        &mut self,
        device: &mut D,
        at: Instant,
        request: Request<'_>,
    ) -> Result<Completion, Error> {
        let (kind, extent) = (request.kind(), request.extent());
        let outcome = device.submit(at, request);
        let event = Event { number: self.seen, at, kind, extent, outcome: outcome.clone() };
        (self.sink)(&event);
        self.seen += 1;
        self.events.push_back(event);
        if self.events.len() > self.limit {
            self.events.pop_front();
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Geometry;
    use crate::ram::{Costs, RamBlock};
    use boardlab_sim::{Bytes, Clock, Duration};

    fn timed() -> RamBlock {
        let write = Duration::from_micros(25);
        let flush = Duration::from_millis(1);
        RamBlock::new(Geometry::of_size(Bytes::kib(64))).with_costs(Costs {
            write,
            flush,
            ..Costs::default()
        })
    }

    #[test]
    fn every_request_leaves_one_line_with_its_time_and_outcome() {
        let (mut device, mut clock) = (Tracer::over(timed(), 10), Clock::new());
        device.write(&mut clock, Extent::new(1, 2), &[0; 1_024]).unwrap();
        device.read(&mut clock, Extent::new(127, 2), &mut [0; 1_024]).unwrap_err();
        device.flush(&mut clock).unwrap();
        device.discard(&mut clock, Extent::new(0, 8)).unwrap();
        let expected = "     \
     0              0 ns +     25000 ns  write        1+2              ok
     1          25000 ns +         0 ns  read         127+2            \
            failed: 2 blocks from block 127 on do not lie within the device of 128 blocks
     2          25000 ns +   1000000 ns  flush        0+0              ok
     3        1025000 ns +         0 ns  discard      0+8              ok
";
        assert_eq!(device.layer().to_string(), expected);
    }

    #[test]
    fn the_log_keeps_the_last_events_and_the_sink_sees_all() {
        let mut kinds = Vec::new();
        let mut device = Tracer::with_sink(timed(), 2, |event: &Event| kinds.push(event.kind));
        for _ in 0..4 {
            device.flush(&mut Clock::new()).unwrap_or(Completion::instant(Instant::ZERO));
        }
        let kept: Vec<u64> = device.layer().events().map(|event| event.number).collect();
        assert_eq!((kept, device.layer().seen()), (vec![2, 3], 4));
        assert!(device.layer().to_string().starts_with("(the first 2 requests are not shown)\n"));
        drop(device);
        assert_eq!(kinds, [Kind::Flush; 4]);
    }
}
