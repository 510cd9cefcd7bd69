//! Middleware that injects faults by rules: requests that fail or hang, and bit flips.
//!
//! Layer: rank 2. Main types: [`FaultInjector`], [`Rule`], [`Fault`], [`Trigger`]. Each fault
//! states in one line what happens in the device. Each rule has its own random stream, named by the
//! rule's number, so a rule added at the end never changes the effect of an earlier one.
//!
//! Left out: faults due to wear, retention time and read counts (crates `media` and `ftl`).

use crate::device::BlockDevice;
use crate::error::Error;
use crate::extent::Extent;
use crate::geometry::Geometry;
use crate::layered::{Layer, Layered};
use crate::request::{Cause, Completion, Kind, Payload, Request, Target};
use boardlab_sim::{Duration, Instant, Seed, Stream, Trigger, TriggerState};

/// The fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// More bit errors than the device can correct: [`Error::Uncorrectable`] after the read's normal
    /// time.
    ReadUncorrectable,
    /// This many undetected bit flips in the data of one read, on the path to the host.
    ReadFlips(u32),
    /// The device has no good block left for part of the data: [`Error::WriteFailed`], with only the
    /// first blocks written.
    WriteFails,
    /// This many undetected bit flips in the data of one write, on the path to the medium.
    WriteFlips(u32),
    /// The firmware hangs and does nothing until the host's timeout after this time:
    /// [`Error::Timeout`].
    Hangs(Duration),
    /// The completion is delayed by this time, because the link was reset and the request reissued.
    Delays(Duration),
    /// The device fails permanently: [`Error::Gone`].
    Dies,
}

impl Fault {
    /// Whether requests of this kind can have the fault.
    #[must_use]
    pub const fn applies_to(self, kind: Kind) -> bool {
        match self {
            Self::ReadUncorrectable | Self::ReadFlips(_) => matches!(kind, Kind::Read),
            Self::WriteFails | Self::WriteFlips(_) => matches!(kind, Kind::Write),
            Self::Hangs(_) | Self::Delays(_) | Self::Dies => true,
        }
    }
}

/// A fault with its trigger and place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The fault.
    pub fault: Fault,
    /// The trigger.
    pub trigger: Trigger,
    /// Only requests that touch these blocks; all, including flushes, when `None`.
    pub within: Option<Extent>,
}

impl Rule {
    /// A rule for the whole device.
    #[must_use]
    pub const fn new(fault: Fault, trigger: Trigger) -> Self {
        Self { fault, trigger, within: None }
    }

    /// This rule for the blocks of `extent` only.
    #[must_use]
    pub const fn within(mut self, extent: Extent) -> Self {
        self.within = Some(extent);
        self
    }

    fn concerns(&self, kind: Kind, extent: Extent) -> bool {
        self.fault.applies_to(kind) && self.within.is_none_or(|within| within.overlaps(extent))
    }
}

/// Injects faults by rules.
///
/// ```
/// use boardlab_block::{
///     BlockDevice, Error, Extent, Fault, FaultInjector, Geometry, RamBlock, Rule, Trigger,
/// };
/// use boardlab_sim::{Bytes, Clock, Seed};
///
/// let rule = Rule::new(Fault::ReadUncorrectable, Trigger::From(0)).within(Extent::new(3, 1));
/// let device = RamBlock::new(Geometry::of_size(Bytes::mib(1)));
/// let mut device = FaultInjector::over(device, Seed::new(1), &[rule]);
/// let mut clock = Clock::new();
/// device.read(&mut clock, Extent::new(4, 1), &mut [0; 512]).unwrap();
/// let failed = device.read(&mut clock, Extent::new(2, 2), &mut [0; 1_024]);
/// assert!(matches!(failed, Err(Error::Uncorrectable { .. })));
/// ```
#[derive(Debug, Clone)]
pub struct FaultInjector {
    rules: Vec<(Rule, TriggerState)>,
}

impl FaultInjector {
    /// Wraps `device` with these rules. When several apply to one request, the first wins.
    ///
    /// # Panics
    /// When a probability has the denominator zero.
    #[must_use]
    pub fn over<D: BlockDevice>(device: D, seed: Seed, rules: &[Rule]) -> Layered<Self, D> {
        let watched = |(number, &rule): (usize, &Rule)| {
            let stream = seed.stream(&format!("block.fault.{number}"));
            (rule, TriggerState::new(rule.trigger, stream))
        };
        Layered::new(Self { rules: rules.iter().enumerate().map(watched).collect() }, device)
    }

    /// The number of times that each rule fired, in the given order.
    pub fn counts(&self) -> impl Iterator<Item = (&Rule, u64)> {
        self.rules.iter().map(|(rule, state)| (rule, state.fired()))
    }

    /// The fault that applies to this request, with the stream of its rule.
    fn choose(&mut self, kind: Kind, extent: Extent) -> Option<(Fault, &mut Stream)> {
        let concerned = self.rules.iter_mut().filter(|(rule, _)| rule.concerns(kind, extent));
        TriggerState::first_to_fire(concerned.map(|(rule, state)| (rule.fault, state)))
    }
}

fn flip(bytes: &mut [u8], count: u32, stream: &mut Stream) {
    let bits = u64::try_from(bytes.len()).expect("u64 holds usize") * 8;
    for _ in 0..if bits == 0 { 0 } else { count } {
        let bit = stream.below(bits);
        bytes[usize::try_from(bit / 8).expect("within the buffer")] ^= 1 << (bit % 8);
    }
}

/// Writes data with flipped bits to the medium.
fn write_flipped<D: BlockDevice>(
    device: &mut D,
    at: Instant,
    extent: Extent,
    data: Payload<'_>,
    durable: bool,
    flip: impl FnOnce(&mut [u8]),
) -> Result<Completion, Error> {
    let geometry: &Geometry = device.geometry();
    let mut bytes = vec![0; geometry.bytes(extent).to_usize()];
    data.copy_to(geometry, extent, &mut bytes);
    flip(&mut bytes);
    device.submit(at, Request::Write { extent, data: Payload::Bytes(&bytes), durable })
}

/// Writes only the first blocks of a request to the medium.
fn write_some<D: BlockDevice>(
    device: &mut D,
    at: Instant,
    extent: Extent,
    data: Payload<'_>,
    durable: bool,
    stream: &mut Stream,
) -> Result<Completion, Error> {
    let count = stream.below(extent.count.max(1));
    let data = match data {
        Payload::Bytes(bytes) => {
            let length = (device.geometry().block * count).to_usize();
            Payload::Bytes(&bytes[..length])
        }
        described => described,
    };
    let first = Extent { count, ..extent };
    let done = device.submit(at, Request::Write { extent: first, data, durable })?;
    Err(Error::WriteFailed { extent, ended: done.ended })
}

impl<D: BlockDevice> Layer<D> for FaultInjector {
    fn around(
        &mut self,
        device: &mut D,
        at: Instant,
        request: Request<'_>,
    ) -> Result<Completion, Error> {
        request.check(device.geometry())?;
        let (kind, extent) = (request.kind(), request.extent());
        let Some((fault, stream)) = self.choose(kind, extent) else {
            return device.submit(at, request);
        };
        match (fault, request) {
            (Fault::Dies, _) => Err(Error::Gone),
            (Fault::Hangs(span), _) => Err(Error::Timeout { extent, ended: at + span }),
            (Fault::Delays(span), request) => device.submit(at, request).map(|done| Completion {
                ended: done.ended + span,
                cause: Some(Cause::Link),
                ..done
            }),
            (Fault::WriteFails, Request::Write { extent, data, durable }) => {
                write_some(device, at, extent, data, durable, stream)
            }
            (Fault::WriteFlips(count), Request::Write { extent, data, durable }) => {
                let flip = |bytes: &mut [u8]| flip(bytes, count, stream);
                write_flipped(device, at, extent, data, durable, flip)
            }
            (Fault::ReadFlips(count), Request::Read { extent, into: Target::Buffer(buffer) }) => {
                let into = Target::Buffer(&mut *buffer);
                let done = device.submit(at, Request::Read { extent, into })?;
                flip(buffer, count, stream);
                Ok(done)
            }
            (Fault::ReadUncorrectable, request) => {
                let ended = device.submit(at, request)?.ended;
                Err(Error::Uncorrectable { extent, ended })
            }
            (_, request) => device.submit(at, request),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ram::{Costs, RamBlock};
    use boardlab_sim::{Bytes, Clock};

    fn device(fault: Fault, trigger: Trigger) -> Layered<FaultInjector, RamBlock> {
        let costs = Costs { read: Duration::from_micros(5), ..Costs::default() };
        let flash = RamBlock::new(Geometry::of_size(Bytes::kib(64))).with_costs(costs);
        FaultInjector::over(flash, Seed::new(1), &[Rule::new(fault, trigger)])
    }

    fn ones(bytes: &[u8]) -> u32 {
        bytes.iter().map(|byte| byte.count_ones()).sum()
    }

    #[test]
    fn a_failed_read_tells_when_it_failed() {
        let mut device = device(Fault::ReadUncorrectable, Trigger::Nth(1));
        let mut clock = Clock::new();
        let extent = Extent::new(0, 1);
        device.read(&mut clock, extent, &mut [0; 512]).unwrap();
        let ended = Instant::from_nanos(10_000);
        let answer = device.read(&mut clock, extent, &mut [0; 512]);
        assert_eq!(answer, Err(Error::Uncorrectable { extent, ended }));
        assert_eq!(clock.now(), ended);
        device.read(&mut clock, extent, &mut [0; 512]).unwrap();
        assert_eq!(device.layer().counts().next().map(|(_, count)| count), Some(1));
    }

    #[test]
    fn flipped_reads_leave_the_medium_alone_and_flipped_writes_do_not() {
        let extent = Extent::new(5, 1);
        let mut clock = Clock::new();
        let mut reads = device(Fault::ReadFlips(1), Trigger::Nth(0));
        let mut found = [0; 512];
        reads.read(&mut clock, extent, &mut found).unwrap();
        assert_eq!(ones(&found), 1);
        reads.read(&mut clock, extent, &mut found).unwrap();
        assert_eq!(ones(&found), 0);
        let mut writes = device(Fault::WriteFlips(1), Trigger::Nth(0));
        writes.write(&mut clock, extent, &[0; 512]).unwrap();
        writes.read(&mut clock, extent, &mut found).unwrap();
        assert_eq!(ones(&found), 1);
    }

    #[test]
    fn a_failed_write_leaves_only_first_blocks() {
        let mut device = device(Fault::WriteFails, Trigger::From(0));
        let extent = Extent::new(0, 16);
        let failed = device.write(&mut Clock::new(), extent, &[1; 16 * 512]);
        assert!(matches!(failed, Err(Error::WriteFailed { .. })));
        let mut image = vec![0; 16 * 512];
        device.into_inner().contents().read(extent, &mut image);
        let written: Vec<u8> = image.into_iter().step_by(512).collect();
        assert!(written.is_sorted_by(|a, b| a >= b) && written[15] == 0, "{written:?}");
    }

    #[test]
    fn a_hanging_device_costs_the_time_of_waiting() {
        let mut device = device(Fault::Hangs(Duration::from_secs(30)), Trigger::Nth(0));
        let mut clock = Clock::new();
        assert!(matches!(device.flush(&mut clock), Err(Error::Timeout { .. })));
        assert_eq!(clock.now(), Instant::from_nanos(30_000_000_000));
        device.flush(&mut clock).unwrap();
    }

    #[test]
    fn a_rule_for_a_place_leaves_others_alone() {
        let rule = Rule::new(Fault::Dies, Trigger::From(0)).within(Extent::new(8, 8));
        let flash = RamBlock::new(Geometry::of_size(Bytes::kib(64)));
        let mut device = FaultInjector::over(flash, Seed::new(1), &[rule]);
        let mut clock = Clock::new();
        device.discard(&mut clock, Extent::new(0, 8)).unwrap();
        assert_eq!(device.discard(&mut clock, Extent::new(0, 9)), Err(Error::Gone));
    }

    #[test]
    fn a_delay_is_named() {
        let span = Duration::from_millis(2);
        let mut device =
            device(Fault::Delays(span), Trigger::Chance { numerator: 1, denominator: 1 });
        let done = device.flush(&mut Clock::new()).unwrap();
        assert_eq!((done.ended, done.cause), (Instant::ZERO + span, Some(Cause::Link)));
    }
}
