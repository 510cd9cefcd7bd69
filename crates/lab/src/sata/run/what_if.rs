//! Beyond the publication: smaller commands, other speeds of the link, a write cache, a queue.
//!
//! Layer: rank 11. Main types: [`SizePoint`], [`SpeedPoint`], [`CachePoint`], [`DepthPoint`]. Each point moves little data on a drive that was cut to
//! a few gigabytes, which changes neither its times nor those of its link. Where commands are smaller than 32 MB, a write costs
//! the sequencer what a read does, as in the sweeps of whole drives. The queue is tried with places at random, on
//! the drive as a block device.

use super::bench::{Bench, whole};
use super::measure::Pair;
use crate::sata::scenario::Scenario;
use boardlab_block::{BlockDevice as _, Extent, Payload, Request, Target};
use boardlab_experiment::Cause;
use boardlab_parts::drive::board::SataHost;
use boardlab_parts::drive::compose::{DriveOnHost, age, compose};
use boardlab_parts::drive::part::DrivePart;
use boardlab_result::prose::{float, real};
use boardlab_sata::arithmetic::{self, Link};
use boardlab_sata::device::WriteCache;
use boardlab_sata::disk::{Disk, Driver};
use boardlab_sata::host::{Addressing, Build, Data, Direction, Limits};
use boardlab_sata::{SECTOR, Speed};
use boardlab_sim::{Bytes, Duration, Instant, Seed};

/// Sectors of the drives that are tried: 4 GiB.
const SECTORS: u64 = 8 << 20;
/// How much more is moved with a cache than elsewhere: so much that what it still holds in the end does not count.
const CACHED: u64 = 8;

/// Commands of one size.
#[derive(Debug, Clone)]
pub(crate) struct SizePoint {
    pub(crate) sectors: u32,
    /// What the link alone would allow: write and read.
    pub(crate) link: [f64; 2],
    pub(crate) firmware: Pair,
    pub(crate) sequencer: Pair,
}

/// One speed of the link.
#[derive(Debug, Clone)]
pub(crate) struct SpeedPoint {
    pub(crate) speed: Speed,
    /// What the link alone would allow: write and read.
    pub(crate) link: [f64; 2],
    pub(crate) pair: Pair,
}

/// One kind of write cache.
#[derive(Debug, Clone)]
pub(crate) struct CachePoint {
    pub(crate) cache: WriteCache,
    pub(crate) firmware: Pair,
    pub(crate) sequencer: Pair,
}

/// One depth of the queue; none where commands are not queued.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DepthPoint {
    pub(crate) depth: Option<u32>,
    /// Bytes a second: write and read.
    pub(crate) rates: [f64; 2],
}

/// Commands of each direction at random places.
const REQUESTS: u64 = 4_096;

/// `part`, cut to a few gigabytes.
pub(crate) fn small(part: &DrivePart) -> DrivePart {
    let mut part = part.clone();
    part.drive.sectors = part.drive.sectors.min(SECTORS);
    part
}

/// A drive that is tried.
struct Trial<'s> {
    scenario: &'s Scenario,
    bench: Bench,
    volume: Bytes,
}

impl<'s> Trial<'s> {
    fn new(
        scenario: &'s Scenario,
        part: &DrivePart,
        host: &SataHost,
        seed: Seed,
    ) -> Result<Self, Cause> {
        let bench = Bench::new(&small(part), host, scenario.continuous.rest, seed)?;
        Ok(Self { scenario, bench, volume: scenario.what_if.volume })
    }

    /// A write and a read of everything in commands of `each` sectors.
    fn pair(&mut self, build: Build, each: u32) -> Result<Pair, Cause> {
        let data = Data::Pattern(self.scenario.continuous.pattern);
        let mut settings = self.scenario.host.settings(build, Limits::default());
        if each < self.scenario.continuous.sectors {
            settings.costs.update_write = settings.costs.update_read;
        }
        let mut run = |direction| {
            let all = whole(direction, self.volume / SECTOR, each, Addressing::Lba48, &data);
            self.bench.run_with(settings, vec![all])
        };
        let write = run(Direction::Write)?;
        Ok(Pair { write, read: run(Direction::Read)? })
    }

    fn link(&self, sectors: u32) -> [f64; 2] {
        let link = Link::of(self.bench.wiring());
        let rate = |direction| link.command_rate(direction, sectors.into(), Duration::ZERO);
        [arithmetic::Direction::Write, arithmetic::Direction::Read].map(|way| float(rate(way)))
    }
}

/// Commands of every size on the drive of table 5-1.
pub(crate) fn sizes(scenario: &Scenario, seed: Seed) -> Result<Vec<SizePoint>, Cause> {
    let part = &scenario.drives.intel;
    let mut trial = Trial::new(scenario, part, &scenario.host, seed)?;
    let each = scenario.what_if.commands.iter().map(|&sectors| {
        let firmware = trial.pair(Build::Firmware, sectors)?;
        let sequencer = trial.pair(Build::Sequencer, sectors)?;
        Ok(SizePoint { sectors, link: trial.link(sectors), firmware, sequencer })
    });
    each.collect()
}

/// The drive of table 5-1 with every speed of its link.
pub(crate) fn speeds(scenario: &Scenario, seed: Seed) -> Result<Vec<SpeedPoint>, Cause> {
    let sectors = scenario.continuous.sectors;
    let each = Speed::ALL.into_iter().map(|speed| {
        let part = DrivePart { speed, ..scenario.drives.intel.clone() };
        let host = SataHost { speed, ..scenario.host.clone() };
        let mut trial = Trial::new(scenario, &part, &host, seed)?;
        let pair = trial.pair(Build::Sequencer, sectors)?;
        Ok(SpeedPoint { speed, link: trial.link(sectors), pair })
    });
    each.collect()
}

/// The drive of table 6-1 as it is, and with a write cache.
pub(crate) fn caches(scenario: &Scenario, seed: Seed) -> Result<Vec<CachePoint>, Cause> {
    let sectors = scenario.continuous.sectors;
    let part = &scenario.drives.g_monster;
    let group = part.managed.page * u64::from(part.drive.stripe.program_pages());
    let size = scenario.what_if.cache;
    let each = [WriteCache::Through, WriteCache::Back(size)].into_iter().map(|cache| {
        let mut part = part.clone();
        part.drive.write_cache = cache;
        if cache != WriteCache::Through {
            let slots = u32::try_from(size / group).unwrap_or(u32::MAX);
            part.managed.flash.slots = part.managed.flash.slots.max(slots);
        }
        let mut trial = Trial::new(scenario, &part, &scenario.host, seed)?;
        trial.volume = (scenario.what_if.volume * CACHED).min(SECTOR * SECTORS);
        let firmware = trial.pair(Build::Firmware, sectors)?;
        let sequencer = trial.pair(Build::Sequencer, sectors)?;
        Ok(CachePoint { cache, firmware, sequencer })
    });
    each.collect()
}

/// The example on a link as fast as its own, with every depth of its queue: single commands at places drawn at random.
pub(crate) fn queue(scenario: &Scenario, seed: Seed) -> Result<Vec<DepthPoint>, Cause> {
    let part = small(&scenario.drives.example);
    let host = SataHost { speed: part.speed, ..scenario.host.clone() };
    let most = part.drive.queue.unwrap_or(0);
    let depths = scenario.what_if.queue.iter().copied().filter(|&depth| depth <= most);
    let depths = [None].into_iter().chain(depths.map(Some));
    let mut drive = compose(&part, host.port(), false, seed)?;
    let aged = age(drive.storage.translation_mut(), &part)?;
    depths.map(|depth| at_random(scenario, (&drive, aged), depth, seed)).collect()
}

/// Writes and reads at random places with so many commands queued.
fn at_random(
    scenario: &Scenario,
    (drive, aged): (&DriveOnHost, Instant),
    depth: Option<u32>,
    seed: Seed,
) -> Result<DepthPoint, Cause> {
    let host = &scenario.host;
    let (submit, complete) = (host.start + host.sequencer.read, host.poll);
    let driver = Driver { queue: depth, largest: 65_535, submit, complete };
    let sectors = u64::from(scenario.what_if.queued);
    let mut disk = Disk::new(drive.storage.clone(), &drive.wiring, driver);
    let places = drive.storage.drive().sectors / sectors;
    let mut stream = seed.stream("queue");
    let mut now = aged;
    let mut run = |is_write: bool| {
        let start = now + scenario.continuous.rest;
        now = start;
        for _ in 0..REQUESTS {
            let extent = Extent::new(stream.below(places) * sectors, sectors);
            let request = if is_write {
                let data = Payload::Repeated(0x5A);
                Request::Write { extent, data, durable: false }
            } else {
                Request::Read { extent, into: Target::Nowhere }
            };
            now = now.max(disk.submit(start, request)?.ended);
        }
        Ok::<f64, Cause>(real(SECTOR * sectors * REQUESTS) / now.since(start).as_secs_f64())
    };
    let rates = [run(true)?, run(false)?];
    Ok(DepthPoint { depth, rates })
}
