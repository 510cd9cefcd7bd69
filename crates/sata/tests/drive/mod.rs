//! A small drive for tests: four dies on two channels, each with two planes of pages of 4 KiB.
#![allow(dead_code, reason = "each test uses what it needs")]
#![allow(unreachable_pub, reason = "each test is a crate of its own")]

pub mod rig;

use boardlab_ftl::{
    Busy, CellTimes, Completion, Counters, Error, Event, Extent, Geometry, Occupancy, PageMapped,
    Policies, Stripe, TimedMedium, Timing, Translation, Version, Wear,
};
use boardlab_sata::Speed;
use boardlab_sata::device::Ssd;
use boardlab_sata::device::{Drive, Storage, WriteCache};
use boardlab_sata::link::{End, Wiring};
use boardlab_sata::wire::identify::Identify;
use boardlab_sim::{Bytes, Duration, Instant, Rate, Seed};

/// The sectors of a mapped page.
pub const PAGE: u64 = 8;
/// The pages of a superblock: 16 rows of 8.
pub const BLOCK: u32 = 128;

pub type Layer = PageMapped<TimedMedium>;

pub const STRIPE: Stripe = Stripe { channels: 2, dies: 2, planes: 2, units: 1 };

pub fn micros(count: u64) -> Duration {
    Duration::from_micros(count)
}

/// A link of 3 Gb/s with equal ends.
pub fn wiring() -> Wiring {
    let end =
        End { latency: 12, holda_after: 10, fifo: 128, hold_from: 64, hold_to: 32, cont: true };
    Wiring { speed: Speed::Gen2, host: end, device: end }
}

/// Returns the rate of a link that takes no time.
pub fn no_link() -> Rate {
    Rate::new(Bytes::mib(1 << 30), Duration::from_nanos(1)).unwrap()
}

/// Read 50 us, program 400 us, erase 2 ms, channels of 200 MB/s, a buffer of 8 groups.
pub fn timing() -> Timing {
    let cells = CellTimes::uniform(micros(50), micros(400), micros(2_000));
    Timing {
        native: cells.clone(),
        slc: cells,
        channel: Rate::new(Bytes::new(200), micros(1)).unwrap(),
        link: no_link(),
        command: Duration::ZERO,
        slots: 8,
        cache_program: false,
    }
}

/// Returns a layer of `blocks` superblocks, 70 % of which the host can address.
pub fn layer(blocks: u32, policies: Policies) -> Layer {
    let pages = blocks * BLOCK / 10 * 7;
    let geometry = Geometry::new(blocks, BLOCK, Bytes::kib(4), pages).unwrap();
    let geometry = geometry.striped(STRIPE).unwrap();
    let medium = TimedMedium::new(&geometry, &timing()).unwrap();
    PageMapped::new(geometry, policies, medium, Seed::new(1)).unwrap()
}

/// Returns the sectors of the pages of [`layer`] with `blocks` superblocks.
pub fn sectors(blocks: u32) -> u64 {
    u64::from(blocks * BLOCK / 10 * 7) * PAGE
}

pub fn drive(sectors: u64, write_cache: WriteCache) -> Drive {
    Drive {
        sectors,
        lba48: true,
        queue: Some(32),
        trims: true,
        command: micros(5),
        stripe: STRIPE,
        read_buffer: Bytes::kib(128),
        look_ahead: true,
        write_cache,
        idle_after: micros(20_000),
        activates_early: true,
        frame: 2_048,
        identify_frame: 128,
    }
}

pub fn storage(blocks: u32, write_cache: WriteCache) -> Storage<Layer> {
    let drive = drive(sectors(blocks), write_cache);
    Storage::new(drive, layer(blocks, Policies::default()), true).unwrap()
}

/// Returns a drive on a link of 3 Gb/s whose signature was received.
pub fn rig(drive: Drive, blocks: u32) -> rig::Rig {
    let storage = Storage::new(drive, layer(blocks, Policies::default()), true).unwrap();
    let identity = Identify::new("BOARDLAB TEST", 1, Speed::Gen2);
    let mut rig = rig::Rig::new(Ssd::new(Speed::Gen2, storage, identity).unwrap());
    let signature = rig.receive_all();
    assert_eq!((signature.completions[0].lba, signature.completions[0].count), (1, 1));
    rig
}

/// A layer with unreadable pages.
#[derive(Debug, Clone)]
pub struct UnreadablePages<T> {
    pub layer: T,
    pub pages: std::collections::BTreeSet<u32>,
}

impl<T: Translation> Translation for UnreadablePages<T> {
    fn pages(&self) -> u32 {
        self.layer.pages()
    }

    fn page_size(&self) -> Bytes {
        self.layer.page_size()
    }

    fn write(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error> {
        let done = self.layer.write(at, extent)?;
        self.pages.retain(|page| !(extent.first..extent.first + extent.count).contains(page));
        Ok(done)
    }

    fn read(
        &mut self,
        at: Instant,
        extent: Extent,
        versions: &mut [Version],
    ) -> Result<Completion, Error> {
        let mut done = self.layer.read(at, extent, versions)?;
        if self.pages.range(extent.first..extent.first + extent.count).next().is_some() {
            done.events.add(Event::Unreadable);
        }
        Ok(done)
    }

    fn trim(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error> {
        self.layer.trim(at, extent)
    }

    fn flush(&mut self, at: Instant) -> Completion {
        self.layer.flush(at)
    }

    fn idle(&mut self, from: Instant, until: Instant) -> Instant {
        self.layer.idle(from, until)
    }

    fn counters(&self) -> &Counters {
        self.layer.counters()
    }

    fn wear(&self) -> Wear {
        self.layer.wear()
    }

    fn occupancy(&self) -> Occupancy {
        self.layer.occupancy()
    }

    fn busy(&self) -> Busy {
        self.layer.busy()
    }
}
