//! Middleware that counts: requests, bytes and time, by kind and by cause of slowness.
//!
//! Layer: rank 2. Main types: [`Stats`], [`Totals`], [`CauseTotals`]. It costs no virtual time and, unlike a
//! [`Tracer`](crate::Tracer), no memory that grows with the run.

use crate::device::BlockDevice;
use crate::error::Error;
use crate::layered::{Layer, Layered};
use crate::request::{Cause, Completion, Kind, Request};
use boardlab_sim::{Bytes, Duration, Instant, Phase};

/// The totals of one kind of request.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    latency: Phase,
    failures: u64,
    bytes: Bytes,
    /// By cause; the last is of those that nothing slowed.
    causes: [CauseTotals; Cause::ALL.len() + 1],
}

/// The requests of one kind that one cause slowed, failures excluded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CauseTotals {
    /// The number of requests.
    pub requests: u64,
    /// Bytes of their blocks.
    pub bytes: Bytes,
    /// Their time on the device, from start to end, added up.
    pub time: Duration,
    /// The longest of these times.
    pub slowest: Duration,
}

impl Totals {
    /// The number of requests, including failures.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.latency.count() + self.failures
    }

    /// The number of failures.
    #[must_use]
    pub const fn failures(&self) -> u64 {
        self.failures
    }

    /// The bytes of the blocks of successful requests, whether transferred or not.
    #[must_use]
    pub const fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// The latencies of successful requests.
    #[must_use]
    pub const fn latency(&self) -> &Phase {
        &self.latency
    }

    /// The causes that slowed requests, and `None` for requests that nothing slowed.
    pub fn by_cause(&self) -> impl Iterator<Item = (Option<Cause>, CauseTotals)> {
        let causes = Cause::ALL.into_iter().map(Some).chain([None]);
        causes.zip(self.causes).filter(|(_, totals)| totals.requests > 0)
    }
}

/// Counts the requests to the device below.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    totals: [Totals; Kind::ALL.len()],
}

impl Stats {
    /// Wraps `device`, with all counts zero.
    #[must_use]
    pub fn over<D: BlockDevice>(device: D) -> Layered<Self, D> {
        Layered::new(Self::default(), device)
    }

    /// The totals of one kind of request.
    #[must_use]
    pub const fn of(&self, kind: Kind) -> &Totals {
        &self.totals[kind as usize]
    }

    /// Resets all counts.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

impl<D: BlockDevice> Layer<D> for Stats {
    fn around(
        &mut self,
        device: &mut D,
        at: Instant,
        request: Request<'_>,
    ) -> Result<Completion, Error> {
        let (kind, extent) = (request.kind(), request.extent());
        let answer = device.submit(at, request);
        let totals = &mut self.totals[kind as usize];
        match &answer {
            Ok(done) => {
                let (bytes, time) =
                    (device.geometry().bytes(extent), done.ended.since(done.started));
                totals.latency.record(done.latency(at));
                totals.bytes += bytes;
                let cause = done.cause.map_or(Cause::ALL.len(), |cause| cause as usize);
                let slowed = &mut totals.causes[cause];
                slowed.requests += 1;
                slowed.bytes += bytes;
                slowed.time += time;
                slowed.slowest = slowed.slowest.max(time);
            }
            Err(_) => totals.failures += 1,
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extent::Extent;
    use crate::geometry::Geometry;
    use crate::ram::{Costs, RamBlock};
    use boardlab_sim::Clock;

    #[test]
    fn counts_bytes_and_time_add_up_by_kind() {
        let write = Duration::from_micros(3);
        let flash = RamBlock::new(Geometry::of_size(Bytes::kib(64)))
            .with_costs(Costs { write, ..Costs::default() });
        let (mut device, mut clock) = (Stats::over(flash), Clock::new());
        device.write(&mut clock, Extent::new(0, 2), &[0; 1_024]).unwrap();
        device.write(&mut clock, Extent::new(9, 1), &[0; 512]).unwrap();
        device.write(&mut clock, Extent::new(128, 1), &[0; 512]).unwrap_err();
        device.discard(&mut clock, Extent::new(0, 64)).unwrap();
        let writes = device.layer().of(Kind::Write);
        assert_eq!((writes.count(), writes.failures()), (3, 1));
        assert_eq!((writes.bytes(), writes.latency().total()), (Bytes::new(1_536), write * 2));
        let (time, bytes) = (write * 2, Bytes::new(1_536));
        let slowed = CauseTotals { requests: 2, bytes, time, slowest: write };
        assert_eq!(writes.by_cause().collect::<Vec<_>>(), [(None, slowed)]);
        assert_eq!(device.layer().of(Kind::Discard).bytes(), Bytes::kib(32));
        assert_eq!(device.layer().of(Kind::Read).count(), 0);
        device.layer_mut().reset();
        assert_eq!(device.layer().of(Kind::Write).count(), 0);
    }

    #[test]
    fn causes_are_indexed_by_their_discriminant() {
        for (index, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, index);
        }
    }
}
