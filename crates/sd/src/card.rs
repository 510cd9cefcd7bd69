//! The card: requests become commands on the bus and pages of the translation layer.
//!
//! Layer: rank 4, the crate's reason. Main type: [`Card`]. The host's driver splits a request into transfers
//! of at most [`crate::part::Host::largest`]; a transfer is one command, its data row by row of what
//! the flash programs at once, and for a write the wait until the card is no longer busy. A row
//! is handed to the translation layer when its last block has arrived; the next one may come when that
//! has been accepted. Whether programs and transfers overlap is thus decided below, by the buffers of the
//! flash; its own link takes no time ([`free_link`]).
//!
//! A page of which only some blocks are written is read first, unless the card has a write cache
//! and the rest of the page arrives in time. Without a cache a write ends when its pages are
//! programmed. `WriteZeroes` moves zeros over the bus: neither SD cards nor Linux' driver for them
//! have anything better.
//!
//! Source: SD Physical Layer Simplified Specification 6.00, sections 4.3 and 4.14; Linux 6.1
//! `drivers/mmc/core/block.c` for the order of commands. Left out: the command queue of eMMC 5.1 and of
//! class A2, packed commands, errors of the bus.

use crate::bus::Bus;
use crate::cache::{Cache, Filled, filled};
use crate::error::Error;
use crate::part::{Discard, Part, Shape};
use crate::pieces::{Pages, edges, number, pieces, within_page};
use crate::store::Store;
use boardlab_block as block;
use boardlab_block::{BlockDevice, Completion, Extent, Geometry, Payload, Request, Target};
use boardlab_ftl as ftl;
use boardlab_ftl::{ByCause, Event, Events, Pace, Translation, Version};
use boardlab_sim::{Bytes, Duration, Instant, Rate};

/// The link that the layer below is given: it takes no time, because the card's bus is modelled here.
#[must_use]
pub fn free_link() -> Rate {
    Rate::new(Bytes::mib(1 << 30), Duration::from_nanos(1)).expect("neither number is zero")
}

/// What a card did so far, besides what its translation layer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Commands, CMD23, CMD12, CMD13 and the erase commands included.
    pub commands: u64,
    /// Blocks that came over the bus.
    pub blocks_in: u64,
    /// Blocks that went over the bus.
    pub blocks_out: u64,
    /// Pages that had to be read because only some of their blocks were written.
    pub merged: u64,
    /// Flushes of the write cache.
    pub flushes: u64,
    /// Discards and erases.
    pub discards: u64,
    /// Nanoseconds of the bus: commands and data.
    pub bus_ns: u64,
    /// Nanoseconds for which the host waited for a busy card.
    pub busy_ns: u64,
}

/// What becomes of the bytes that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Data {
    /// They are not kept: every read gives what an erased block reads as.
    Lost,
    /// The newest ones are kept.
    Newest,
    /// All are kept that a power cut could bring back, and the layer below says by version which it holds.
    Versions,
}

/// A card over a translation layer.
#[derive(Debug, Clone)]
pub struct Card<T> {
    part: Part,
    translation: T,
    bus: Bus,
    geometry: Geometry,
    /// Blocks of a mapped page.
    page_blocks: u64,
    /// Blocks that a die programs at once.
    row_blocks: u64,
    /// Blocks of the largest transfer.
    largest: u64,
    /// Times of 0, 1, 2... blocks written, up to a row.
    write_times: Vec<Duration>,
    /// The same for reads.
    read_times: Vec<Duration>,
    /// How pages come that need not be looked at one by one.
    pace: Pace,
    command: Duration,
    /// When the card is done with everything so far.
    free: Instant,
    cache: Option<Cache>,
    store: Option<Store>,
    run: Vec<(u32, Filled)>,
    versions: Vec<Version>,
    counts: Counts,
    /// Of the request under way.
    work: ByCause,
    events: Events,
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
        let erased = if part.erased_ones { 0xFF } else { 0x00 };
        let room =
            part.cache.map(|cache| usize::try_from(cache / shape.page).unwrap_or(usize::MAX));
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
            versions: Vec::new(),
            run: Vec::new(),
            free: Instant::ZERO,
            counts: Counts::default(),
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

    /// What the card is.
    pub const fn part(&self) -> &Part {
        &self.part
    }

    /// The bus that it is on.
    pub const fn bus(&self) -> &Bus {
        &self.bus
    }

    /// What it did.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The layer below.
    pub const fn translation(&self) -> &T {
        &self.translation
    }

    /// The layer below, to be worked on: a power cut, an aging.
    pub const fn translation_mut(&mut self) -> &mut T {
        &mut self.translation
    }

    /// When the card has done all that it was asked for.
    pub const fn free(&self) -> Instant {
        self.free
    }

    /// What the last request made the flash do, by cause, in nanoseconds of busy dies.
    pub const fn work(&self) -> &ByCause {
        &self.work
    }

    /// What else made the last request slow.
    pub const fn events(&self) -> Events {
        self.events
    }

    /// The card loses power: what the cache held is gone. The layer below is the caller's.
    pub fn lose_power(&mut self) {
        if let Some(cache) = &mut self.cache {
            cache.clear();
        }
        if let Some(store) = &mut self.store {
            store.lose_unnamed();
        }
    }

    /// A command with its response.
    fn command(&mut self, at: Instant) -> Instant {
        self.counts.commands += 1;
        self.counts.bus_ns += self.command.as_nanos();
        at + self.command
    }

    /// Commands that begin a transfer: the length, if the host announces it, then the transfer itself.
    fn begin(&mut self, at: Instant) -> Instant {
        let mut now = at + self.part.host.request;
        if self.part.host.announces {
            now = self.command(now);
        }
        self.command(now) + self.part.command
    }

    /// Commands that end one: CMD12 where the length was not announced, CMD13 after a write.
    fn end(&mut self, at: Instant, write: bool) -> Instant {
        let mut now = at;
        if !self.part.host.announces {
            now = self.command(now);
        }
        if write && self.part.host.asks_state {
            now = self.command(now);
        }
        now
    }

    #[inline]
    fn note(&mut self, done: &ftl::Completion) {
        self.work += &done.work;
        self.events.add_all(done.events);
    }

    /// Reads a page because only some of its blocks are new.
    fn merge(&mut self, at: Instant, page: u32) -> Result<Instant, ftl::Error> {
        self.counts.merged += 1;
        let done = self.translation.read(at, ftl::Extent::new(page, 1), &mut [])?;
        self.note(&done);
        Ok(done.finished)
    }

    /// Whole pages go to the layer below; those that are not whole are read first. Returns when the next
    /// may come, and when all is programmed.
    fn program(
        &mut self,
        at: Instant,
        pages: &[(u32, Filled)],
    ) -> Result<(Instant, Instant), ftl::Error> {
        let Some(&(first, _)) = pages.first() else { return Ok((at, at)) };
        let whole = filled(0..u32::try_from(self.page_blocks).unwrap_or(128));
        let mut now = at;
        for &(page, blocks) in pages {
            if blocks != whole {
                now = self.merge(now, page)?;
            }
        }
        let count = u32::try_from(pages.len()).unwrap_or(u32::MAX);
        self.program_whole(now, ftl::Extent::new(first, count))
    }

    /// Pages of which every block is new go to the layer below.
    #[inline]
    fn program_whole(
        &mut self,
        at: Instant,
        pages: ftl::Extent,
    ) -> Result<(Instant, Instant), ftl::Error> {
        let done = self.translation.write(at, pages)?;
        self.note(&done);
        if let Some(store) = &mut self.store {
            (pages.first..pages.first + pages.count)
                .for_each(|page| store.name(page, done.version));
        }
        Ok((done.accepted, done.finished))
    }

    /// Gives up cached pages, a row at a time, until there are no more than fit, or none.
    fn destage(&mut self, at: Instant, all: bool) -> Result<(Instant, Instant), ftl::Error> {
        let row = u32::try_from(self.row_blocks / self.page_blocks).unwrap_or(1);
        let (mut accepted, mut finished) = (at, at);
        let mut run = std::mem::take(&mut self.run);
        while let Some(cache) = &mut self.cache {
            if !(all || cache.is_over()) || !cache.take(row, &mut run) {
                break;
            }
            let (next, done) = self.program(accepted, &run)?;
            (accepted, finished) = (next, finished.max(done));
        }
        self.run = run;
        Ok((accepted, finished))
    }

    /// A piece of a write within one row has arrived.
    fn arrived(&mut self, at: Instant, blocks: Extent) -> Result<(Instant, Instant), ftl::Error> {
        let pages = Pages { extent: blocks, page_blocks: self.page_blocks };
        if let Some(cache) = &mut self.cache {
            for (page, part) in pages.iter() {
                cache.put(page, part);
            }
            let (accepted, _) = self.destage(at, false)?;
            return Ok((accepted, at));
        }
        if pages.are_whole() {
            return self.program_whole(at, pages.whole());
        }
        let mut run = std::mem::take(&mut self.run);
        run.clear();
        run.extend(pages.iter());
        let done = self.program(at, &run);
        self.run = run;
        done
    }

    fn write(
        &mut self,
        start: Instant,
        extent: Extent,
        durable: bool,
    ) -> Result<Instant, ftl::Error> {
        let mut now = start;
        for transfer in pieces(extent, self.largest, 0) {
            now = self.begin(now);
            let (accepted, mut finished) = match self.passes_on(transfer) {
                Some(pages) => self.write_paced(now, pages)?,
                None => self.write_rows(now, transfer)?,
            };
            now = accepted;
            if self.cache.is_none() {
                let done = self.translation.flush(now);
                self.note(&done);
                finished = finished.max(done.finished);
                self.counts.busy_ns += finished.max(now).since(now).as_nanos();
                now = now.max(finished);
            }
            now = self.end(now, true);
        }
        if durable { self.flush(now) } else { Ok(now) }
    }

    /// The pages of a transfer whose bytes concern nobody but the layer below.
    fn passes_on(&self, transfer: Extent) -> Option<ftl::Extent> {
        let pages = Pages { extent: transfer, page_blocks: self.page_blocks };
        let versions = self.store.as_ref().is_some_and(Store::has_versions);
        (self.cache.is_none() && !versions && pages.are_whole()).then(|| pages.whole())
    }

    /// All pages of a transfer as they come, in one piece. Returns when the last was accepted, and when
    /// all are programmed.
    fn write_paced(
        &mut self,
        at: Instant,
        pages: ftl::Extent,
    ) -> Result<(Instant, Instant), ftl::Error> {
        let pace = self.pace;
        let done = self.translation.write_paced(at, pages, pace)?;
        self.note(&done);
        let bus = pace.each * u64::from(pages.count) / u64::from(pace.group);
        self.counts.bus_ns += bus.as_nanos();
        self.counts.blocks_in += u64::from(pages.count) * self.page_blocks;
        self.counts.busy_ns += done.accepted.since(at).saturating_sub(bus).as_nanos();
        if let Some(store) = &mut self.store {
            (pages.first..pages.first + pages.count)
                .for_each(|page| store.name(page, done.version));
        }
        Ok((done.accepted, done.finished))
    }

    /// The same row by row.
    fn write_rows(
        &mut self,
        at: Instant,
        transfer: Extent,
    ) -> Result<(Instant, Instant), ftl::Error> {
        let (mut now, mut finished) = (at, at);
        for piece in pieces(transfer, self.row_blocks, self.row_blocks) {
            let time = self.write_times[usize::try_from(piece.count).unwrap_or(0)];
            self.counts.bus_ns += time.as_nanos();
            self.counts.blocks_in += piece.count;
            let arrived = now + time;
            let (accepted, done) = self.arrived(arrived, piece)?;
            self.counts.busy_ns += accepted.max(arrived).since(arrived).as_nanos();
            now = accepted.max(arrived);
            finished = finished.max(done);
        }
        Ok((now, finished))
    }

    /// Empties the cache. Without one there is nothing to do, and no command that would do it.
    fn flush(&mut self, at: Instant) -> Result<Instant, ftl::Error> {
        if self.cache.is_none() {
            return Ok(at);
        }
        self.counts.flushes += 1;
        let asked = self.command(at + self.part.host.request) + self.part.command;
        let (accepted, finished) = self.destage(asked, true)?;
        let done = self.translation.flush(accepted);
        self.note(&done);
        let ended = finished.max(done.finished).max(asked);
        self.counts.busy_ns += ended.since(asked).as_nanos();
        if let Some(store) = &mut self.store {
            store.settle();
        }
        Ok(ended)
    }

    fn read(
        &mut self,
        start: Instant,
        extent: Extent,
        mut into: Target<'_>,
    ) -> Result<Instant, ftl::Error> {
        let mut now = start;
        for transfer in pieces(extent, self.largest, 0) {
            now = self.begin(now);
            let mut asked = now;
            for piece in pieces(transfer, self.row_blocks, self.row_blocks) {
                let pages = Pages { extent: piece, page_blocks: self.page_blocks };
                let mut ready = asked;
                if !self.is_cached(pages) {
                    let whole = pages.whole();
                    self.versions.resize(whole.count as usize, Version(0));
                    let done = self.translation.read(asked, whole, &mut self.versions)?;
                    self.note(&done);
                    (asked, ready) = (done.accepted, done.finished);
                }
                if let Target::Buffer(buffer) = &mut into {
                    self.fetch(extent, piece, buffer);
                }
                let time = self.read_times[usize::try_from(piece.count).unwrap_or(0)];
                self.counts.busy_ns += ready.max(now).since(now).as_nanos();
                self.counts.bus_ns += time.as_nanos();
                self.counts.blocks_out += piece.count;
                now = now.max(ready) + time;
            }
            now = self.end(now, false);
        }
        Ok(now)
    }

    fn is_cached(&self, pages: Pages) -> bool {
        self.cache.as_ref().is_some_and(|cache| {
            pages.iter().all(|(page, blocks)| cache.holds(page) & blocks == blocks)
        })
    }

    /// CMD32, CMD33 and CMD38. An erase also writes the pages of which it covers only a part.
    fn discard(&mut self, start: Instant, extent: Extent) -> Result<Instant, ftl::Error> {
        self.counts.discards += 1;
        let mut now = start + self.part.host.request;
        for _ in 0..3 {
            now = self.command(now);
        }
        now += self.part.command;
        let page = self.bytes_of_page();
        let inner = self.geometry.aligned_within(extent, page);
        if inner.count > 0 {
            let whole = Pages { extent: inner, page_blocks: self.page_blocks }.whole();
            let done = self.translation.trim(now, whole)?;
            self.note(&done);
            now = now.max(done.finished);
            for page in whole.first..whole.first + whole.count {
                self.forget(page);
            }
        }
        if self.part.discard == Discard::Erase {
            for edge in edges(extent, inner) {
                self.keep(edge, Payload::Repeated(self.erased()));
                let (accepted, finished) = self.arrived(now, edge)?;
                now = accepted.max(finished);
            }
        }
        Ok(self.end(now, true))
    }

    fn forget(&mut self, page: u32) {
        if let Some(cache) = &mut self.cache {
            cache.forget(page);
        }
        if let Some(store) = &mut self.store {
            store.forget(page);
        }
    }

    fn bytes_of_page(&self) -> Bytes {
        crate::BLOCK * self.page_blocks
    }

    const fn erased(&self) -> u8 {
        if self.part.erased_ones { 0xFF } else { 0x00 }
    }

    /// Puts the bytes of a write where reads will find them.
    fn keep(&mut self, extent: Extent, data: Payload<'_>) {
        let Some(store) = &mut self.store else { return };
        let mut bytes = vec![0; self.geometry.bytes(extent).to_usize()];
        data.copy_to(&self.geometry, extent, &mut bytes);
        let mut rest = bytes.as_slice();
        for piece in pieces(extent, self.page_blocks, self.page_blocks) {
            let (within, length) = within_page(piece, self.page_blocks);
            let (now, later) = rest.split_at(length);
            store.write(number(piece.first.0 / self.page_blocks), within, now);
            rest = later;
        }
    }

    /// The bytes of `piece`, into the buffer of a read of `extent`; the layer below has said which versions of its
    /// pages it holds.
    fn fetch(&mut self, extent: Extent, piece: Extent, buffer: &mut [u8]) {
        let size = crate::BLOCK.to_usize();
        let start = usize::try_from(piece.first.0 - extent.first.0).unwrap_or(0) * size;
        let mut offset = start;
        let first = piece.first.0 / self.page_blocks;
        for part in pieces(piece, self.page_blocks, self.page_blocks) {
            let page = part.first.0 / self.page_blocks;
            let (within, length) = within_page(part, self.page_blocks);
            let bytes = &mut buffer[offset..offset + length];
            let cached = self.cache.as_ref().is_some_and(|cache| cache.holds(number(page)) != 0);
            match &self.store {
                Some(store) if cached => store.newest(number(page), within, bytes),
                Some(store) => {
                    let index = usize::try_from(page - first).unwrap_or(0);
                    store.read(number(page), self.versions[index], within, bytes);
                }
                None => bytes.fill(self.erased()),
            }
            offset += length;
        }
    }

    /// The host was away from `free` until `at`.
    fn rest(&mut self, at: Instant) -> Result<Instant, ftl::Error> {
        if at <= self.free {
            return Ok(self.free);
        }
        let (accepted, finished) = self.destage(self.free, true)?;
        let done = accepted.max(finished);
        Ok(if done < at { self.translation.idle(done, at).max(at) } else { done })
    }

    fn carry_out(&mut self, start: Instant, request: Request<'_>) -> Result<Instant, ftl::Error> {
        match request {
            Request::Read { extent, into } => self.read(start, extent, into),
            Request::Write { extent, data, durable } => {
                self.keep(extent, data);
                self.write(start, extent, durable)
            }
            Request::WriteZeroes { extent } => {
                self.keep(extent, Payload::Repeated(0));
                self.write(start, extent, false)
            }
            Request::Discard { extent } => self.discard(start, extent),
            Request::Flush => self.flush(start),
        }
    }

    /// What took most of the flash's time besides the host's own pages.
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

/// The face of the card as a block device.
fn geometry(part: &Part, page: Bytes) -> Geometry {
    let reads = match part.discard {
        Discard::Erase if part.erased_ones => block::Discarded::Ones,
        Discard::Erase => block::Discarded::Zeros,
        Discard::Discard | Discard::None => block::Discarded::Undefined,
    };
    let discard = block::Discard { granularity: crate::BLOCK, reads };
    Geometry {
        physical: page,
        optimal: part.allocation_unit.size(),
        discard: (part.discard != Discard::None).then_some(discard),
        cache: part.cache.map_or(block::Cache::None, block::Cache::Volatile),
        ..Geometry::of_size(part.capacity)
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
        Event::CacheFull | Event::PastCache => block::Cause::Cache,
        Event::MapMiss => block::Cause::Mapping,
        Event::OpenUnitMiss | Event::LogsFull => block::Cause::Merge,
        Event::ReadRetry | Event::Unreadable => block::Cause::Retry,
    })
}
