//! Middleware that cuts the power, once, at a chosen request or instant.
//!
//! Layer: rank 2. Main types: [`PowerCut`], [`TearOutcome`]. The loss depends on [`Cache`]. Without
//! a cache, only the request in flight is affected. With a volatile cache, blocks written since the
//! last flush may be lost, each independently, but never more than the cache holds. Logical blocks
//! are not torn (filesystems rely on this; ATA and NVMe call it atomic write unit power fail, and
//! cards guarantee it).
//!
//! ```text
//!   powered --(numbered request | instant)--> cut: every request is Error::PowerCut
//!      ^                                        |
//!      +------ power_on() or into_inner() ------+
//! ```
//!
//! The layer keeps a second device with the durable data, and the writes whose durability is
//! uncertain. It is meant for devices without a power-cut model of their own, such as
//! [`RamBlock`](crate::RamBlock).

use crate::device::BlockDevice;
use crate::error::Error;
use crate::extent::Extent;
use crate::geometry::Cache;
use crate::layered::{Layer, Layered};
use crate::request::{Completion, Kind, Payload, Request};
use boardlab_sim::{Bytes, Instant, Seed, Stream};
use std::collections::VecDeque;

/// The state of an interrupted request after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TearOutcome {
    /// None of its blocks are changed.
    NotBegun,
    /// Some of its blocks are changed.
    Partial,
    /// All of its blocks are changed, but completion was not reported.
    Finished,
}

impl TearOutcome {
    /// All outcomes, for exhaustive exploration.
    pub const ALL: [Self; 3] = [Self::NotBegun, Self::Partial, Self::Finished];
}

/// The planned power cut.
#[derive(Debug, Clone, Copy)]
enum Plan {
    Never,
    AtRequest { number: u64, torn: TearOutcome },
    AtInstant(Instant),
}

/// A change whose durability is uncertain.
#[derive(Debug, Clone)]
enum Change {
    Bytes(Extent, Box<[u8]>),
    /// Data described without bytes.
    Described(Extent, Payload<'static>),
    Zeroes(Extent),
    Discard(Extent),
}

impl Change {
    /// The change of a request; `None` if it changes nothing.
    fn of(request: &Request<'_>) -> Option<Self> {
        Some(match request {
            Request::Write { extent, data: Payload::Bytes(bytes), .. } => {
                Self::Bytes(*extent, (*bytes).into())
            }
            Request::Write { extent, data: Payload::Repeated(byte), .. } => {
                Self::Described(*extent, Payload::Repeated(*byte))
            }
            Request::Write { extent, data: Payload::Noise(noise), .. } => {
                Self::Described(*extent, Payload::Noise(*noise))
            }
            Request::WriteZeroes { extent } => Self::Zeroes(*extent),
            Request::Discard { extent } => Self::Discard(*extent),
            Request::Read { .. } | Request::Flush => return None,
        })
    }

    const fn extent(&self) -> Extent {
        match self {
            Self::Bytes(extent, _)
            | Self::Described(extent, _)
            | Self::Zeroes(extent)
            | Self::Discard(extent) => *extent,
        }
    }

    /// The request for `count` of its blocks, from number `from` on.
    fn request(&self, from: u64, count: u64, block: Bytes) -> Request<'_> {
        let extent = Extent::new(self.extent().first.0 + from, count);
        let durable = true;
        match self {
            Self::Bytes(_, bytes) => {
                let range = (block * from).to_usize()..(block * (from + count)).to_usize();
                Request::Write { extent, data: Payload::Bytes(&bytes[range]), durable }
            }
            Self::Described(_, data) => Request::Write { extent, data: *data, durable },
            Self::Zeroes(_) => Request::WriteZeroes { extent },
            Self::Discard(_) => Request::Discard { extent },
        }
    }
}

/// Cuts the power of the device below.
#[derive(Debug, Clone)]
pub struct PowerCut<D> {
    /// A device with the durable data.
    durable_device: D,
    /// Changes whose durability is uncertain, oldest first.
    uncertain: VecDeque<Change>,
    /// The size of these changes.
    cached: Bytes,
    stream: Stream,
    plan: Plan,
    requests: u64,
    cut: Option<Instant>,
}

impl<D: BlockDevice + Clone> PowerCut<D> {
    /// Wraps `device`; one of the `cut_at` methods schedules the power cut. `seed` determines which
    /// blocks are lost.
    #[must_use]
    pub fn over(device: D, seed: Seed) -> Layered<Self, D> {
        let layer = Self {
            durable_device: device.clone(),
            uncertain: VecDeque::new(),
            cached: Bytes::ZERO,
            stream: seed.stream("block.power_cut"),
            plan: Plan::Never,
            requests: 0,
            cut: None,
        };
        Layered::new(layer, device)
    }
}

impl<D: BlockDevice> PowerCut<D> {
    /// Cuts the power at changing request `number`, counted from zero since the beginning.
    pub const fn cut_at_request(&mut self, number: u64, torn: TearOutcome) {
        self.plan = Plan::AtRequest { number, torn };
    }

    /// Cuts the power at an instant. Requests that would end later are torn.
    pub const fn cut_at_instant(&mut self, at: Instant) {
        self.plan = Plan::AtInstant(at);
    }

    /// The number of changing requests so far: explore a run by cutting it at each number below.
    #[must_use]
    pub const fn requests(&self) -> u64 {
        self.requests
    }

    /// The time of the power cut, while the power is off.
    #[must_use]
    pub const fn cut(&self) -> Option<Instant> {
        self.cut
    }

    /// Makes all uncertain changes durable.
    fn make_durable(&mut self, at: Instant) -> Result<(), Error> {
        while let Some(change) = self.uncertain.pop_front() {
            self.keep(at, &change)?;
        }
        self.cached = Bytes::ZERO;
        Ok(())
    }

    fn keep(&mut self, at: Instant, change: &Change) -> Result<(), Error> {
        let block = self.durable_device.geometry().block;
        self.durable_device.submit(at, change.request(0, change.extent().count, block)).map(|_| ())
    }

    /// Makes each block of a change durable with probability `share / 8`.
    fn persist_some(&mut self, at: Instant, change: &Change, share: u64) {
        let block = self.durable_device.geometry().block;
        for number in 0..change.extent().count {
            if self.stream.chance(share, 8) {
                // There is no caller to report an error to.
                let _ = self.durable_device.submit(at, change.request(number, 1, block));
            }
        }
    }

    /// Records a completed change, which is durable at once, or when the cache is flushed or overflows.
    fn record(&mut self, at: Instant, change: Change, durable: bool) -> Result<(), Error> {
        let geometry = self.durable_device.geometry();
        let Cache::Volatile(size) = geometry.cache else { return self.keep(at, &change) };
        let bytes = geometry.bytes(change.extent());
        if durable {
            let overlaps = |old: &Change| old.extent().overlaps(change.extent());
            if self.uncertain.iter().any(overlaps) {
                self.make_durable(at)?;
            }
            return self.keep(at, &change);
        }
        self.cached += bytes;
        self.uncertain.push_back(change);
        while self.cached > size
            && let Some(oldest) = self.uncertain.pop_front()
        {
            self.cached = self.cached - self.durable_device.geometry().bytes(oldest.extent());
            self.keep(at, &oldest)?;
        }
        Ok(())
    }

    /// Cuts the power: replaces `device` by one with the durable data.
    fn cut_power(
        &mut self,
        device: &mut D,
        at: Instant,
        hit: Option<(Change, TearOutcome)>,
    ) -> Error
    where
        D: Clone,
    {
        // From 0, where all changes are lost, to 8, where none are.
        let share = self.stream.below(9);
        while let Some(change) = self.uncertain.pop_front() {
            self.persist_some(at, &change, share);
        }
        self.cached = Bytes::ZERO;
        match hit {
            Some((change, TearOutcome::Partial)) => self.persist_some(at, &change, 4),
            Some((change, TearOutcome::Finished)) => {
                let _ = self.keep(at, &change);
            }
            Some((_, TearOutcome::NotBegun)) | None => {}
        }
        *device = self.durable_device.clone();
        self.cut = Some(at);
        Error::PowerCut { at }
    }
}

impl<D: BlockDevice + Clone> Layered<PowerCut<D>, D> {
    /// Restores the power until another cut is requested.
    pub fn power_on(&mut self) {
        let (layer, device) = self.parts_mut();
        layer.cut = None;
        layer.plan = Plan::Never;
        layer.durable_device = device.clone();
    }
}

impl<D: BlockDevice + Clone> Layer<D> for PowerCut<D> {
    fn around(
        &mut self,
        device: &mut D,
        at: Instant,
        request: Request<'_>,
    ) -> Result<Completion, Error> {
        if let Some(at) = self.cut {
            return Err(Error::PowerCut { at });
        }
        if let Plan::AtInstant(cut) = self.plan
            && cut <= at
        {
            return Err(self.cut_power(device, cut, None));
        }
        request.check(device.geometry())?;
        let change = Change::of(&request);
        let (kind, durable) =
            (request.kind(), matches!(request, Request::Write { durable: true, .. }));
        let number = self.requests;
        self.requests += u64::from(kind.changes_medium());
        if let (Plan::AtRequest { number: fatal, torn }, Some(change)) = (self.plan, &change)
            && fatal == number
        {
            return Err(self.cut_power(device, at, Some((change.clone(), torn))));
        }
        let done = device.submit(at, request)?;
        if let Plan::AtInstant(cut) = self.plan
            && cut < done.ended
        {
            return Err(self.cut_power(
                device,
                cut,
                change.map(|change| (change, TearOutcome::Partial)),
            ));
        }
        match change {
            Some(change) => self.record(at, change, durable)?,
            None if kind == Kind::Flush => self.make_durable(at)?,
            None => {}
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Geometry;
    use crate::ram::{Costs, RamBlock};
    use boardlab_sim::{Clock, Duration};

    fn flash(cache: Cache) -> RamBlock {
        let geometry = Geometry { cache, ..Geometry::of_size(Bytes::kib(64)) };
        let write = Duration::from_micros(10);
        RamBlock::new(geometry).with_costs(Costs { write, ..Costs::default() })
    }

    fn cut(cache: Cache, seed: u64) -> Layered<PowerCut<RamBlock>, RamBlock> {
        PowerCut::over(flash(cache), Seed::new(seed))
    }

    fn first_bytes<D: BlockDevice>(device: &mut D, blocks: u64) -> Vec<u8> {
        let late = Instant::from_nanos(1_000_000_000);
        let mut buffer = vec![0; usize::try_from(blocks * 512).unwrap()];
        let into = crate::Target::Buffer(&mut buffer);
        device.submit(late, Request::Read { extent: Extent::new(0, blocks), into }).unwrap();
        buffer.into_iter().step_by(512).collect()
    }

    fn write<D: BlockDevice>(
        device: &mut D,
        clock: &mut Clock,
        (first, count): (u64, u64),
        byte: u8,
    ) -> Result<Completion, Error> {
        let bytes = vec![byte; usize::try_from(count * 512).unwrap()];
        device.write(clock, Extent::new(first, count), &bytes)
    }

    #[test]
    fn without_a_cache_only_the_request_under_way_is_torn() {
        for (torn, expected) in
            [(TearOutcome::NotBegun, [1, 1, 0]), (TearOutcome::Finished, [1, 2, 2])]
        {
            let (mut device, mut clock) = (cut(Cache::None, 1), Clock::new());
            device.layer_mut().cut_at_request(1, torn);
            write(&mut device, &mut clock, (0, 2), 1).unwrap();
            let at = clock.now();
            let answer = write(&mut device, &mut clock, (1, 2), 2);
            assert_eq!(answer, Err(Error::PowerCut { at }));
            assert_eq!(device.flush(&mut clock), Err(Error::PowerCut { at }));
            assert_eq!(device.layer().cut(), Some(at));
            device.power_on();
            assert_eq!(first_bytes(&mut device, 3), expected, "{torn:?}");
        }
    }

    #[test]
    fn a_partial_write_keeps_some_blocks_whole() {
        let mut kept = 0;
        for seed in 0..20 {
            let (mut device, mut clock) = (cut(Cache::None, seed), Clock::new());
            device.layer_mut().cut_at_request(0, TearOutcome::Partial);
            write(&mut device, &mut clock, (0, 10), 7).unwrap_err();
            let mut image = vec![0; 5_120];
            device.into_inner().contents().read(Extent::new(0, 10), &mut image);
            assert!(image.chunks(512).all(|block| block == [0; 512] || block == [7; 512]));
            kept += image.chunks(512).filter(|block| block[0] == 7).count();
        }
        assert!((70..130).contains(&kept), "{kept} of 200");
    }

    #[test]
    fn what_was_flushed_lasts_and_the_rest_may_be_lost() {
        let (mut lost, mut kept) = (0, 0);
        for seed in 0..50 {
            let cache = Cache::Volatile(Bytes::kib(32));
            let (mut device, mut clock) = (cut(cache, seed), Clock::new());
            write(&mut device, &mut clock, (0, 4), 1).unwrap();
            device.flush(&mut clock).unwrap();
            write(&mut device, &mut clock, (2, 4), 2).unwrap();
            device.layer_mut().cut_at_request(2, TearOutcome::NotBegun);
            write(&mut device, &mut clock, (0, 1), 3).unwrap_err();
            let found = first_bytes(&mut device.into_inner(), 6);
            assert_eq!(found[..2], [1, 1], "seed {seed}");
            assert!(found[2..4].iter().all(|byte| [1, 2].contains(byte)), "seed {seed}");
            lost += found[4..].iter().filter(|&&byte| byte == 0).count();
            kept += found[4..].iter().filter(|&&byte| byte == 2).count();
        }
        assert!(lost > 10 && kept > 10, "{lost} lost, {kept} kept");
    }

    #[test]
    fn no_more_than_the_cache_holds_is_lost() {
        for seed in 0..50 {
            let cache = Cache::Volatile(Bytes::new(1_024));
            let (mut device, mut clock) = (cut(cache, seed), Clock::new());
            for number in 0..6 {
                write(&mut device, &mut clock, (number, 1), 9).unwrap();
            }
            device.layer_mut().cut_at_instant(clock.now());
            device.flush(&mut clock).unwrap_err();
            assert_eq!(first_bytes(&mut device.into_inner(), 4), [9; 4], "seed {seed}");
        }
    }

    #[test]
    fn a_durable_write_lasts_and_is_not_undone_by_an_older_one() {
        for seed in 0..50 {
            let cache = Cache::Volatile(Bytes::kib(32));
            let (mut device, mut clock) = (cut(cache, seed), Clock::new());
            write(&mut device, &mut clock, (0, 2), 1).unwrap();
            let (extent, data) = (Extent::new(0, 1), Payload::Repeated(2));
            device.wait(&mut clock, Request::Write { extent, data, durable: true }).unwrap();
            device.layer_mut().cut_at_instant(clock.now());
            device.flush(&mut clock).unwrap_err();
            assert_eq!(first_bytes(&mut device.into_inner(), 1), [2], "seed {seed}");
        }
    }

    #[test]
    fn an_instant_within_a_write_tears_it_and_one_after_it_does_not() {
        let (mut device, mut clock) = (cut(Cache::None, 3), Clock::new());
        let at = Instant::from_nanos(15_000);
        device.layer_mut().cut_at_instant(at);
        write(&mut device, &mut clock, (0, 1), 1).unwrap();
        assert_eq!(write(&mut device, &mut clock, (1, 8), 2), Err(Error::PowerCut { at }));
        assert_eq!(clock.now(), at);
        let found = first_bytes(&mut device.into_inner(), 9);
        assert_eq!(found[0], 1);
        assert!(found[1..].iter().all(|byte| [0, 2].contains(byte)));
    }
}
