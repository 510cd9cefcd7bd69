//! A block device in memory: any geometry, constant latencies, no physics.
//!
//! Layer: rank 2. Main types: [`RamBlock`] and [`Costs`]. Parallel lanes execute the requests, each
//! lane one at a time; a flush waits for all lanes. The user gives the latencies, zero by default.
//! Left out: the effect of a cache on timing, and of a power cut on a cache
//! ([`PowerCut`](crate::PowerCut) models the loss of data).

use crate::contents::Contents;
use crate::device::BlockDevice;
use crate::error::Error;
use crate::geometry::{DiscardedContent, Geometry};
use crate::queue::Queue;
use crate::request::{Completion, Payload, Request, Target};
use boardlab_sim::{Duration, Instant, Rate};

/// The constant latencies of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// The latency of a read.
    pub read: Duration,
    /// The latency of a write.
    pub write: Duration,
    /// The latency of a discard and of a write of zeros.
    pub discard: Duration,
    /// The latency of a flush.
    pub flush: Duration,
    /// The transfer rate of the bytes of a read or a write, whose time is added; infinite if `None`.
    pub transfer: Option<Rate>,
    /// The number of requests executed in parallel, at least one.
    pub lanes: u32,
}

impl Default for Costs {
    fn default() -> Self {
        let [read, write, discard, flush] = [Duration::ZERO; 4];
        Self { read, write, discard, flush, transfer: None, lanes: 1 }
    }
}

/// A block device in memory.
#[derive(Debug, Clone)]
pub struct RamBlock {
    geometry: Geometry,
    costs: Costs,
    contents: Contents,
    held: Queue,
    lanes: Queue,
    last: Instant,
}

impl RamBlock {
    /// A device of this geometry, all zero.
    ///
    /// # Panics
    /// If the geometry is inconsistent, see [`Geometry::is_sound`].
    #[must_use]
    pub fn new(geometry: Geometry) -> Self {
        assert!(geometry.is_sound(), "RamBlock: a geometry that is not sound: {geometry:?}");
        let contents = Contents::new(&geometry, 0);
        let held = Queue::new(geometry.depth);
        let (costs, last) = (Costs::default(), Instant::ZERO);
        Self { geometry, costs, contents, held, lanes: Queue::new(costs.lanes), last }
    }

    /// This device with these latencies.
    ///
    /// # Panics
    /// When there is no lane.
    #[must_use]
    pub fn with_costs(mut self, costs: Costs) -> Self {
        self.lanes = Queue::new(costs.lanes);
        self.costs = costs;
        self
    }

    /// This device without stored contents: every read returns zeros, and no memory is used.
    #[must_use]
    pub fn without_contents(mut self) -> Self {
        self.contents = Contents::none(&self.geometry);
        self
    }

    /// The contents of the blocks.
    #[must_use]
    pub const fn contents(&self) -> &Contents {
        &self.contents
    }

    fn cost(&self, request: &Request<'_>) -> Duration {
        let costs = &self.costs;
        let fixed = match request {
            Request::Read { .. } => costs.read,
            Request::Write { .. } => costs.write,
            Request::WriteZeroes { .. } | Request::Discard { .. } => costs.discard,
            Request::Flush => costs.flush,
        };
        let bytes = request.bytes(&self.geometry);
        costs.transfer.map_or(fixed, |rate| fixed + rate.time_for(bytes))
    }

    /// Changes or reads the contents.
    #[inline]
    fn apply(&mut self, request: Request<'_>) {
        match request {
            Request::Read { extent, into: Target::Buffer(buffer) } => {
                self.contents.read(extent, buffer);
            }
            Request::Write { extent, data, .. } => self.contents.write(extent, data),
            Request::WriteZeroes { extent } => self.contents.write(extent, Payload::Repeated(0)),
            Request::Discard { extent } => self.forget(extent),
            Request::Read { into: Target::Nowhere, .. } | Request::Flush => {}
        }
    }

    fn forget(&mut self, extent: crate::Extent) {
        let Some(discard) = self.geometry.discard else { return };
        let whole = self.geometry.aligned_within(extent, discard.granularity);
        match discard.reads {
            DiscardedContent::Zeros => self.contents.write(whole, Payload::Repeated(0)),
            DiscardedContent::Ones => self.contents.write(whole, Payload::Repeated(0xFF)),
            DiscardedContent::Undefined => {}
        }
    }
}

impl BlockDevice for RamBlock {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline]
    fn submit(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, Error> {
        assert!(at >= self.last, "RamBlock: a request earlier than the one before");
        request.check(&self.geometry)?;
        self.last = at;
        let accepted = self.held.accept(at);
        let mut started = self.lanes.accept(accepted);
        if matches!(request, Request::Flush) {
            started = started.max(self.lanes.last().unwrap_or(started));
        }
        let ended = started + self.cost(&request);
        self.lanes.hold(ended);
        self.held.hold(ended);
        self.apply(request);
        Ok(Completion { accepted, started, ended, cause: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extent::Extent;
    use crate::geometry::Discard;
    use boardlab_sim::{Bytes, Clock};

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn read(first: u64) -> Request<'static> {
        Request::Read { extent: Extent::new(first, 1), into: Target::Nowhere }
    }

    fn device(depth: u32, lanes: u32) -> RamBlock {
        let geometry = Geometry { depth, ..Geometry::of_size(Bytes::mib(1)) };
        let read = Duration::from_nanos(100);
        let flush = Duration::from_nanos(10);
        RamBlock::new(geometry).with_costs(Costs { read, flush, lanes, ..Costs::default() })
    }

    #[test]
    fn lanes_work_at_once_and_the_queue_bounds_what_is_held() {
        let mut device = device(3, 2);
        let ends: Vec<_> = (0..5).map(|n| device.submit(at(n), read(n)).unwrap()).collect();
        let times =
            |done: &Completion| [done.accepted, done.started, done.ended].map(Instant::as_nanos);
        let times: Vec<_> = ends.iter().map(times).collect();
        let expected = [[0, 0, 100], [1, 1, 101], [2, 100, 200], [100, 101, 201], [101, 200, 300]];
        assert_eq!(times, expected);
    }

    #[test]
    fn a_flush_waits_for_all_lanes() {
        let mut device = device(8, 4);
        device.submit(at(0), read(0)).unwrap();
        device.submit(at(50), read(1)).unwrap();
        let flush = device.submit(at(60), Request::Flush).unwrap();
        assert_eq!((flush.started, flush.ended), (at(150), at(160)));
    }

    #[test]
    fn a_transfer_takes_the_time_of_its_bytes() {
        let transfer = Rate::new(Bytes::new(512), Duration::from_nanos(1_000));
        let costs = Costs { transfer, write: Duration::from_nanos(7), ..Costs::default() };
        let mut device = RamBlock::new(Geometry::of_size(Bytes::kib(64))).with_costs(costs);
        let mut clock = Clock::new();
        device.write(&mut clock, Extent::new(0, 4), &[1; 2_048]).unwrap();
        assert_eq!(clock.now(), at(4_007));
        device.write_zeroes(&mut clock, Extent::new(0, 4)).unwrap();
        assert_eq!(clock.now(), at(4_007));
    }

    #[test]
    fn a_discard_reads_as_the_geometry_says_in_whole_units() {
        for (reads, expected) in [
            (DiscardedContent::Zeros, 0),
            (DiscardedContent::Ones, 0xFF),
            (DiscardedContent::Undefined, 5),
        ] {
            let discard = Some(Discard { granularity: Bytes::kib(4), reads });
            let geometry = Geometry { discard, ..Geometry::of_size(Bytes::kib(64)) };
            let (mut device, mut clock) = (RamBlock::new(geometry), Clock::new());
            device.write(&mut clock, Extent::new(0, 24), &[5; 24 * 512]).unwrap();
            device.discard(&mut clock, Extent::new(1, 20)).unwrap();
            let mut found = [0; 24 * 512];
            device.read(&mut clock, Extent::new(0, 24), &mut found).unwrap();
            assert_eq!(found[..4_096], [5; 4_096]);
            assert_eq!(found[4_096..8_192], [expected; 4_096]);
            assert_eq!(found[8_192..], [5; 4_096]);
        }
    }

    #[test]
    #[should_panic(expected = "earlier than the one before")]
    fn time_does_not_run_backwards() {
        let mut device = device(1, 1);
        device.submit(at(5), read(0)).unwrap();
        let _ = device.submit(at(4), read(0));
    }
}
