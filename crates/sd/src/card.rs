//! The card: requests become commands on the bus and pages of the translation layer.
//!
//! Layer: rank 4, the centre of the crate. Main type: [`Card`]. The host's driver splits a request
//! into transfers of at most [`crate::part::Host::largest`]; a transfer is one command, its data
//! row by row of what the flash programs at once, and for a write the wait until the card is no
//! longer busy. A row is passed to the translation layer when its last block has arrived; the next
//! one may follow when that has been accepted. Whether programs and transfers overlap is thus
//! decided below, by the buffers of the flash; its own link takes no time ([`free_link`]).
//!
//! A partly written page is read first, unless the card has a write cache and the rest of the page
//! arrives in time. A transfer as large as the cache bypasses it. Without a cache a write ends when
//! its pages are programmed. Zeros are trimmed on an eMMC whose trimmed blocks read as zeros, and
//! are sent over the bus to any other card, as `blkdiscard -z` does.
//!
//! Source: SD Physical Layer Simplified Specification 6.00, sections 4.3 and 4.14; JESD84-B51,
//! 6.6.8 for reliable writes; Linux 6.1 `drivers/mmc/core/block.c` for the order of commands and
//! `queue.c` for zeros. Left out: barriers and the command queue of eMMC 5.1, the queue of class
//! A2, packed commands, errors of the bus.

use crate::bus::{Bus, Kind};
use crate::cache::{BlockMask, Cache};
use crate::error::Error;
use crate::part::{Discard, Part, Shape};
use crate::store::Store;
use boardlab_block as block;
use boardlab_block::{BlockDevice, Completion, Extent, Geometry, Payload, Request};
use boardlab_ftl as ftl;
use boardlab_ftl::{ByCause, Event, Events, Pace, Translation, Version};
use boardlab_sim::{Bytes, Duration, Instant, Rate};

/// The link of the layer below: it takes no time, because the card's bus is modelled here.
#[must_use]
pub fn free_link() -> Rate {
    Rate::new(Bytes::mib(1 << 30), Duration::from_nanos(1)).expect("neither number is zero")
}

/// The counters of a card, besides those of its translation layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Commands, CMD23, CMD12, CMD13 and the erase commands included.
    pub commands: u64,
    /// Blocks received over the bus.
    pub blocks_in: u64,
    /// Blocks sent over the bus.
    pub blocks_out: u64,
    /// Pages that had to be read because only some of their blocks were written.
    pub merged: u64,
    /// Flushes of the write cache.
    pub flushes: u64,
    /// Discards and erases.
    pub discards: u64,
    /// Nanoseconds for which the bus was busy with commands and data.
    pub bus_ns: u64,
    /// Nanoseconds for which the host waited for a busy card.
    pub busy_ns: u64,
}

impl Counts {
    /// The difference to `earlier`.
    ///
    /// # Panics
    /// When a count has decreased.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            commands: self.commands - earlier.commands,
            blocks_in: self.blocks_in - earlier.blocks_in,
            blocks_out: self.blocks_out - earlier.blocks_out,
            merged: self.merged - earlier.merged,
            flushes: self.flushes - earlier.flushes,
            discards: self.discards - earlier.discards,
            bus_ns: self.bus_ns - earlier.bus_ns,
            busy_ns: self.busy_ns - earlier.busy_ns,
        }
    }
}

/// Which written bytes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Data {
    /// They are not kept: every read returns the content of an erased block.
    Lost,
    /// The newest ones are kept.
    Newest,
    /// All versions that a power cut could restore are kept, and the layer below says which version
    /// it holds.
    Versions,
}

/// A card over a translation layer.
#[derive(Debug, Clone)]
pub struct Card<T> {
    pub(crate) part: Part,
    pub(crate) translation: T,
    pub(crate) bus: Bus,
    pub(crate) geometry: Geometry,
    /// Blocks of a mapped page.
    pub(crate) page_blocks: u64,
    /// Blocks that a die programs at once.
    pub(crate) row_blocks: u64,
    /// Blocks of the largest transfer.
    pub(crate) largest: u64,
    /// Times of 0, 1, 2... blocks written, up to a row.
    pub(crate) write_times: Vec<Duration>,
    /// The same for reads.
    pub(crate) read_times: Vec<Duration>,
    /// The pace of pages that need no individual handling.
    pub(crate) pace: Pace,
    pub(crate) command: Duration,
    /// When the card has finished all requests so far.
    pub(crate) free: Instant,
    pub(crate) cache: Option<Cache>,
    pub(crate) store: Option<Store>,
    /// Bytes of the current write that are kept as they arrive.
    pub(crate) incoming: Option<(Extent, Vec<u8>)>,
    pub(crate) run: Vec<(u32, BlockMask)>,
    pub(crate) versions: Vec<Version>,
    pub(crate) counts: Counts,
    /// Whether everything was durable when the last request ended.
    pub(crate) settled: bool,
    pub(crate) power_ups: u32,
    /// The flash work of the current request.
    pub(crate) work: ByCause,
    pub(crate) events: Events,
}

impl<T: Translation> Card<T> {
    /// A card of `part` over `translation`, of which a die programs `row` mapped pages at once.
    ///
    /// # Errors
    /// As [`Part::check`].
    pub fn new(part: Part, translation: T, row: u32, data: Data) -> Result<Self, Error> {
        let shape = Shape { page: translation.page_size(), pages: translation.pages() };
        let bus = part.check(shape)?;
        let page_blocks = shape.page / crate::BLOCK;
        let row_blocks = page_blocks * u64::from(row.max(1));
        let largest = (part.host.largest / crate::BLOCK).max(1);
        let erased = if part.face.erased_ones { 0xFF } else { 0x00 };
        let room =
            part.face.cache.map(|cache| usize::try_from(cache / shape.page).unwrap_or(usize::MAX));
        Ok(Self {
            geometry: geometry(&part, shape.page),
            write_times: (0..=row_blocks).map(|blocks| bus.write(blocks)).collect(),
            read_times: (0..=row_blocks).map(|blocks| bus.read(blocks)).collect(),
            pace: Pace { group: row.max(1), each: bus.write(row_blocks) },
            command: bus.command(),
            store: match data {
                Data::Lost => None,
                Data::Newest => Some(Store::new(shape.page, erased, false)),
                Data::Versions => Some(Store::new(shape.page, erased, true)),
            },
            cache: room.map(Cache::new),
            incoming: None,
            versions: Vec::new(),
            run: Vec::new(),
            free: Instant::ZERO,
            counts: Counts::default(),
            settled: false,
            power_ups: 1,
            work: ByCause::default(),
            events: Events::default(),
            part,
            translation,
            bus,
            page_blocks,
            row_blocks,
            largest,
        })
    }

    /// The properties of the card.
    pub const fn part(&self) -> &Part {
        &self.part
    }

    /// The bus.
    pub const fn bus(&self) -> &Bus {
        &self.bus
    }

    /// The counters.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The layer below.
    pub const fn translation(&self) -> &T {
        &self.translation
    }

    /// The layer below, for a power cut or ageing.
    pub const fn translation_mut(&mut self) -> &mut T {
        &mut self.translation
    }

    /// When the card has finished all requests.
    pub const fn free(&self) -> Instant {
        self.free
    }

    /// The flash work of the last request, by cause, in nanoseconds of busy dies.
    pub const fn work(&self) -> &ByCause {
        &self.work
    }

    /// Other events that slowed the last request.
    pub const fn events(&self) -> Events {
        self.events
    }

    /// Restarts the card after a power cut: the content of the cache is lost, and `rebuild` makes a
    /// layer of the remains of the one below. Where bytes are kept by version, the layer is asked
    /// which versions it still holds: a read of each page, which it counts.
    ///
    /// # Errors
    /// Those of `rebuild`.
    ///
    /// # Panics
    /// When the layer that `rebuild` makes has fewer pages.
    pub fn restarted<U: Translation, E>(
        mut self,
        rebuild: impl FnOnce(T) -> Result<U, E>,
    ) -> Result<Card<U>, E> {
        if let Some(cache) = &mut self.cache {
            cache.clear();
        }
        let mut translation = rebuild(self.translation)?;
        if let Some(store) = &mut self.store {
            store.keep_held(|page| held(&mut translation, self.free, page));
        }
        Ok(Card {
            translation,
            power_ups: self.power_ups + 1,
            settled: false,
            part: self.part,
            bus: self.bus,
            geometry: self.geometry,
            page_blocks: self.page_blocks,
            row_blocks: self.row_blocks,
            largest: self.largest,
            write_times: self.write_times,
            read_times: self.read_times,
            pace: self.pace,
            command: self.command,
            free: self.free,
            cache: self.cache,
            store: self.store,
            incoming: None,
            run: self.run,
            versions: self.versions,
            counts: self.counts,
            work: self.work,
            events: self.events,
        })
    }

    /// A command with its response.
    pub(crate) fn command(&mut self, at: Instant) -> Instant {
        self.counts.commands += 1;
        self.counts.bus_ns += self.command.as_nanos();
        at + self.command
    }

    /// Commands that begin a transfer: the length, if the host announces it, then the transfer itself.
    /// One block that is `alone` has a command of its own, CMD17 or CMD24, whose length is known.
    pub(crate) fn begin(&mut self, at: Instant, alone: bool) -> Instant {
        let mut now = at + self.part.host.request;
        if self.part.host.announces && !alone {
            now = self.command(now);
        }
        self.command(now) + self.part.face.command
    }

    /// CMD12, which ends a transfer whose length was not announced.
    pub(crate) fn stop(&mut self, at: Instant, alone: bool) -> Instant {
        if self.part.host.announces || alone { at } else { self.command(at) }
    }

    /// CMD13, by which a host asks whether the card has written.
    pub(crate) fn ask_state(&mut self, at: Instant) -> Instant {
        if self.part.host.asks_state { self.command(at) } else { at }
    }

    #[inline]
    pub(crate) fn note(&mut self, done: &ftl::Completion) {
        self.work += &done.work;
        self.events.add_all(done.events);
    }

    pub(crate) fn bytes_of_page(&self) -> Bytes {
        crate::BLOCK * self.page_blocks
    }

    pub(crate) const fn erased(&self) -> u8 {
        if self.part.face.erased_ones { 0xFF } else { 0x00 }
    }

    /// The host was idle from `free` until `at`: the cache is written back, then the layer works in the
    /// background. Returns when the card is ready: its cache accepts data while the flash is busy.
    fn rest(&mut self, at: Instant) -> Result<Instant, ftl::Error> {
        if at <= self.free {
            return Ok(self.free);
        }
        let quiet = self.write_back(at)?;
        Ok(if quiet < at { self.translation.idle(quiet, at).max(at) } else { at })
    }

    fn carry_out(&mut self, start: Instant, request: Request<'_>) -> Result<Instant, ftl::Error> {
        match request {
            Request::Read { extent, into } => self.read(start, extent, into),
            Request::Write { extent, data, durable } => {
                self.store_and_write(start, extent, data, durable)
            }
            Request::WriteZeroes { extent } if self.trims_to_zeros() => self.discard(start, extent),
            Request::WriteZeroes { extent } => {
                self.store_and_write(start, extent, Payload::Repeated(0), false)
            }
            Request::Discard { extent } => self.discard(start, extent),
            Request::Flush => self.flush(start),
        }
    }

    /// Linux trims zeros on an eMMC if trimmed blocks read as zeros; an SD card is sent zeros.
    fn trims_to_zeros(&self) -> bool {
        let trims = self.part.face.kind == Kind::Emmc && self.part.face.discard == Discard::Erase;
        trims && !self.part.face.erased_ones
    }

    /// Bytes told apart by version are kept as they come, for older ones of the same page may go to
    /// flash before them; others when all were taken, so that a refused write leaves the old ones.
    fn store_and_write(
        &mut self,
        start: Instant,
        extent: Extent,
        data: Payload<'_>,
        durable: bool,
    ) -> Result<Instant, ftl::Error> {
        if self.store.as_ref().is_some_and(Store::has_versions) {
            self.incoming = Some((extent, self.bytes(extent, data)));
            let ended = self.write(start, extent, durable);
            self.incoming = None;
            return ended;
        }
        let ended = self.write(start, extent, durable)?;
        if self.store.is_some() {
            let bytes = self.bytes(extent, data);
            self.keep(extent, &bytes);
        }
        Ok(ended)
    }

    /// The cause that took most of the flash's time besides the host's own pages.
    fn cause(&self) -> Option<block::Cause> {
        let foreign =
            self.work.iter().filter(|(cause, time)| *cause != ftl::Cause::Host && *time > 0);
        let most = foreign.max_by_key(|&(_, time)| time).and_then(|(cause, _)| named(cause));
        most.or_else(|| self.events.iter().find_map(event))
    }
}

impl<T: Translation> BlockDevice for Card<T> {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn submit(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, block::Error> {
        request.check(&self.geometry)?;
        let (extent, reads) = (request.extent(), request.kind() == block::Kind::Read);
        (self.work, self.events) = (ByCause::default(), Events::default());
        if std::mem::take(&mut self.settled)
            && let Some(store) = &mut self.store
        {
            store.settle();
        }
        let refused = |error| refusal(&error, extent);
        let started = self.rest(at).map_err(refused)?;
        let ended = self.carry_out(started, request).map_err(refused)?;
        self.free = ended;
        if reads && self.events.has(Event::Unreadable) {
            return Err(block::Error::Uncorrectable { extent, ended });
        }
        Ok(Completion { accepted: started, started, ended, cause: self.cause() })
    }
}

/// The version of a page that a layer holds.
fn held(layer: &mut impl Translation, at: Instant, page: u32) -> Version {
    let mut versions = [Version(0)];
    let read = layer.read(at, ftl::Extent::new(page, 1), &mut versions);
    read.expect("the layer has all pages of the card");
    versions[0]
}

/// The card's geometry as a block device.
fn geometry(part: &Part, page: Bytes) -> Geometry {
    let reads = match part.face.discard {
        Discard::Erase if part.face.erased_ones => block::DiscardedContent::Ones,
        Discard::Erase => block::DiscardedContent::Zeros,
        Discard::Discard | Discard::None => block::DiscardedContent::Undefined,
    };
    let discard = block::Discard { granularity: crate::BLOCK, reads };
    Geometry {
        physical: page,
        optimal: part.face.allocation_unit.size(),
        discard: (part.face.discard != Discard::None).then_some(discard),
        cache: part.face.cache.map_or(block::Cache::None, block::Cache::Volatile),
        ..Geometry::of_size(part.face.capacity)
    }
}

/// An error of the layer below as one of a block device. The card has checked bounds and sizes.
fn refusal(error: &ftl::Error, extent: Extent) -> block::Error {
    match error {
        ftl::Error::ReadOnly { .. } => block::Error::ReadOnly { extent },
        error => unreachable!("the card checked the request: {error}"),
    }
}

const fn named(cause: ftl::Cause) -> Option<block::Cause> {
    match cause {
        ftl::Cause::Host | ftl::Cause::Padding => None,
        ftl::Cause::Collection => Some(block::Cause::Collection),
        ftl::Cause::Levelling => Some(block::Cause::WearLevelling),
        ftl::Cause::Fold => Some(block::Cause::Fold),
        ftl::Cause::Merge => Some(block::Cause::Merge),
        ftl::Cause::Map => Some(block::Cause::Mapping),
        ftl::Cause::Refresh => Some(block::Cause::Refresh),
        ftl::Cause::Retry => Some(block::Cause::Retry),
    }
}

const fn event(event: Event) -> Option<block::Cause> {
    Some(match event {
        Event::CacheFull | Event::CacheBypass => block::Cause::Cache,
        Event::MapMiss => block::Cause::Mapping,
        Event::OpenUnitMiss | Event::LogsFull => block::Cause::Merge,
        Event::ReadRetry | Event::Unreadable => block::Cause::Retry,
    })
}
