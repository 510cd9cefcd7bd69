//! A drive on its link as a block device: a recurrence in place of an engine.
//!
//! Layer: rank 4, beside the engines. Main types: [`Disk`], [`Driver`]. A request becomes one or more ATA commands of at
//! most [`Driver::largest`] sectors; each command is followed once, from the host's side to its end: the time
//! of the host, its FIS on the link, the controller, the flash below [`Storage`], Data FISes on the link, the FIS
//! that ends it. What others keep busy is known by instants, not by events, so that a queue of commands costs no more than
//! one. The times are those of the engines but for the place of ALIGNs; the order in which a device serves
//! its queue is that in which data are ready.
//!
//! ```text
//!   request --> queue --> host --> H2D -----> controller --> flash --.
//!                                  D2H (queued: accepted)            v
//!   ended <-- host <-- D2H or Set Device Bits <-- Data FISes, 8 KiB each
//! ```
//!
//! Source: Linux 6.1 for what becomes which command: `sd_setup_read_write_cmnd` and `ata_build_rw_tf`; FUA is off
//! (`libata.fua`), so that a durable write is followed by FLUSH CACHE EXT; zeros are written as data; a discard is
//! DATA SET MANAGEMENT with up to 64 ranges of 65,535 sectors (`ATA_MAX_TRIM_RNUM`). Flushes and discards are not
//! queued: they wait for the queue, and it for them. Left out: resets of the link, and what an error of
//! the queue costs the other commands in it.

mod bus;

use crate::device::{Data, Reading, Refusal, Storage, Work, WriteCache};
use crate::link::{Side, Wiring};
use crate::{LARGEST_DATA, SECTOR, SECTOR_DWORDS};
use boardlab_block as block;
use boardlab_block::{
    BlockDevice, Completion, DiscardedContent, Extent, Geometry, Payload, Queue, Request, Target,
};
use boardlab_ftl::{Cause, Event, Translation};
use boardlab_sim::{Duration, Instant, Stream};
use std::ops::Range;

use bus::{ACTIVATE, Bus, DEVICE_BITS, DMA_SETUP, Passed, REGISTER};

/// Sectors of the payload of a Data FIS.
const FRAME: u64 = LARGEST_DATA as u64 / SECTOR_DWORDS as u64;
/// Sectors that a block of ranges of DATA SET MANAGEMENT names at most.
const RANGES: u64 = 64 * 65_535;

/// How a host drives a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Driver {
    /// Commands in the queue at once, where queued commands are used: 1 to 32.
    pub queue: Option<u32>,
    /// Sectors of a command at most. Linux: 65,535.
    pub largest: u32,
    /// From a request to its command: the host does this for one at a time.
    pub submit: Duration,
    /// From the FIS that ends a command to the end of the request.
    pub complete: Duration,
}

/// What a disk did so far, besides its storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Commands.
    pub commands: u64,
    /// Data FISes.
    pub data: u64,
    /// Commands that were sent again because their data were damaged on the link.
    pub reissues: u64,
}

/// A drive, its link and its driver.
#[derive(Debug, Clone)]
pub struct Disk<T> {
    storage: Storage<T>,
    driver: Driver,
    geometry: Geometry,
    bus: Bus,
    queue: Queue,
    reading: Reading,
    /// When the host can make the next command: it does not wait for the drive to accept the last.
    host: Instant,
    /// When the drive has accepted the last queued command, so that the next can go to it.
    port: Instant,
    /// When a command that is not queued ends.
    barrier: Instant,
    /// One in so many Data FISes is damaged.
    damage: Option<(u64, Stream)>,
    counts: Counts,
}

/// Times that a command is sent before it is given up: those of Linux, `SD_MAX_RETRIES` and one.
const TRIES: u32 = 6;

/// Why a command came to no good end.
#[derive(Debug, Clone, Copy)]
enum Why {
    Refused(Refusal),
    /// A Data FIS was damaged.
    Damaged,
}

/// When the drive saw that, and why.
type Broken = (Instant, Why);

/// A command under way.
#[derive(Debug, Clone, Copy)]
struct Started {
    accepted: Instant,
    /// When the drive begins to do what it is asked.
    at: Instant,
}

impl<T: Translation> Disk<T> {
    /// A drive of `storage` on a link of `wiring`.
    ///
    /// A queue deeper than the drive's is cut to it, and one that the drive lacks is not used.
    #[must_use]
    pub fn new(storage: Storage<T>, wiring: &Wiring, driver: Driver) -> Self {
        let drive = *storage.drive();
        let queue = driver.queue.zip(drive.queue).map(|(ours, theirs)| ours.min(theirs).max(1));
        let command = if drive.lba48 { 65_536 } else { 256 };
        let driver = Driver { queue, largest: driver.largest.clamp(1, command), ..driver };
        let page = storage.translation().page_size();
        let discard = block::Discard { granularity: page, reads: DiscardedContent::Zeros };
        let geometry = Geometry {
            physical: page,
            optimal: page * u64::from(drive.stripe.program_pages()),
            depth: queue.unwrap_or(1),
            discard: drive.trims.then_some(discard),
            cache: match drive.write_cache {
                WriteCache::Back(size) => block::Cache::Volatile(size),
                WriteCache::Through | WriteCache::Protected(_) => block::Cache::None,
            },
            ..Geometry::of_size(SECTOR * drive.sectors)
        };
        Self {
            storage,
            driver,
            bus: Bus::new(wiring),
            queue: Queue::new(geometry.depth),
            geometry,
            reading: Reading::new(),
            host: Instant::ZERO,
            port: Instant::ZERO,
            barrier: Instant::ZERO,
            damage: None,
            counts: Counts::default(),
        }
    }

    /// The same on a link that damages one in `one_in` Data FISes: the drive ends the command with ICRC, and the host
    /// sends it again.
    ///
    /// # Panics
    /// When `one_in` is zero.
    #[must_use]
    pub fn damaged(mut self, one_in: u64, stream: Stream) -> Self {
        assert!(one_in > 0, "Disk::damaged: one in no frames");
        self.damage = Some((one_in, stream));
        self
    }

    fn is_damaged(&mut self) -> bool {
        self.damage.as_mut().is_some_and(|(one_in, stream)| stream.chance(1, *one_in))
    }

    /// What it did.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How it is driven; the queue as it is used.
    pub const fn driver(&self) -> &Driver {
        &self.driver
    }

    /// The drive without its protocol.
    pub const fn storage(&self) -> &Storage<T> {
        &self.storage
    }

    /// The same, to be worked on: an aging.
    pub const fn storage_mut(&mut self) -> &mut Storage<T> {
        &mut self.storage
    }

    /// Power is lost at `at` and comes back: see [`Storage::cut_power`]. Nothing is under way then.
    pub fn cut_power(&mut self, at: Instant) {
        self.storage.cut_power(at);
        self.queue.clear();
        self.bus.forget(Instant::MAX);
        (self.host, self.port, self.barrier) = (at, at, at);
    }

    const fn is_queued(&self) -> bool {
        self.driver.queue.is_some()
    }

    /// A command goes to the drive when there is room for it.
    fn start(&mut self, at: Instant) -> Started {
        let accepted = self.queue.accept(at.max(self.barrier));
        Started { accepted, at: self.issue(accepted) }
    }

    /// The host makes a command and sends it. Returns when the drive begins to do it.
    fn issue(&mut self, at: Instant) -> Instant {
        self.host = self.host.max(at) + self.driver.submit;
        self.counts.commands += 1;
        let command = self.bus.fis(Side::Host, self.host.max(self.port), REGISTER);
        let begun = command.came + self.storage.drive().command;
        if self.is_queued() {
            self.port = self.bus.fis(Side::Device, begun, REGISTER).came;
        }
        begun
    }

    /// The drive is done at `at` and says so. Returns when the host has noticed.
    fn tell(&mut self, at: Instant) -> Instant {
        let dwords = if self.is_queued() { DEVICE_BITS } else { REGISTER };
        self.bus.fis(Side::Device, at, dwords).came + self.driver.complete
    }

    /// A command from its start to its end; `once` moves its data, and says when the drive is done.
    fn command(
        &mut self,
        at: Instant,
        mut once: impl FnMut(&mut Self, Instant) -> Result<Instant, Broken>,
    ) -> Result<Completion, Broken> {
        let started = self.start(at);
        let (mut now, mut tries) = (started.at, 1);
        loop {
            let done = once(self, now);
            let told = self.tell(*done.as_ref().unwrap_or_else(|(at, _)| at));
            match done {
                Err((_, Why::Damaged)) if tries < TRIES => {
                    tries += 1;
                    self.counts.reissues += 1;
                    now = self.issue(told);
                }
                done => {
                    self.queue.hold(told);
                    return done.map(|_| completion(started, told)).map_err(|(_, why)| (told, why));
                }
            }
        }
    }

    /// A command that is not queued goes when all others have ended, and others when it has.
    fn start_alone(&mut self, at: Instant) -> Started {
        let accepted = self.queue.last().map_or(at, |last| last.max(at)).max(self.barrier);
        self.queue.clear();
        self.host = self.host.max(accepted) + self.driver.submit;
        self.counts.commands += 1;
        let command = self.bus.fis(Side::Host, self.host, REGISTER);
        Started { accepted, at: command.came + self.storage.drive().command }
    }

    fn end_alone(&mut self, at: Instant) -> Instant {
        self.barrier = self.bus.fis(Side::Device, at, REGISTER).came + self.driver.complete;
        self.barrier
    }

    /// Reads what one command names.
    fn read(&mut self, at: Instant, extent: Extent) -> Result<Completion, block::Error> {
        let mut reading = std::mem::take(&mut self.reading);
        let done = self.command(at, |disk, at| {
            disk.storage.begin_read(&mut reading, at, extent);
            let moved = disk.receive(&mut reading, at);
            disk.storage.end_read(&mut reading);
            moved
        });
        self.reading = reading;
        done.map_err(|(ended, why)| match why {
            Why::Refused(Refusal::Unreadable { sector }) => {
                block::Error::Uncorrectable { extent: Extent::new(sector, 1), ended }
            }
            Why::Refused(Refusal::WornOut) | Why::Damaged => {
                block::Error::Uncorrectable { extent, ended }
            }
        })
    }

    /// The Data FISes of a read, each as long as what the flash was asked for. Returns when the drive knows that the last has
    /// come; or when it saw that it cannot go on, and why.
    fn receive(&mut self, reading: &mut Reading, at: Instant) -> Result<Instant, Broken> {
        let (mut now, mut is_first) = (at, self.is_queued());
        let largest = u64::from(self.storage.drive().frame / SECTOR_DWORDS);
        while !reading.is_over() {
            let ready = reading.first().map_err(|refusal| (now, Why::Refused(refusal)))?;
            now = now.max(ready.unwrap_or(now));
            if std::mem::take(&mut is_first) {
                now = self.bus.fis(Side::Device, now, DMA_SETUP).known;
            }
            let first = reading.next();
            let end = reading.reach().min(first + largest);
            let passed = self.bus.frame(Side::Device, now, dwords(end - first), |start, bus| {
                as_ready(reading, bus, start, first..end)
            });
            self.counts.data += 1;
            now = passed.known;
            if self.is_damaged() {
                return Err((now, Why::Damaged));
            }
            self.storage.sent(reading, now, end - first);
        }
        Ok(now)
    }

    /// Writes what one command names.
    fn write(
        &mut self,
        at: Instant,
        extent: Extent,
        data: Data<'_>,
    ) -> Result<Completion, block::Error> {
        let done = self.command(at, |disk, at| {
            let came = disk.send(at, extent, data)?;
            disk.storage.end_write(came).map_err(|refusal| (came, Why::Refused(refusal)))
        });
        done.map_err(|(ended, why)| match why {
            Why::Refused(_) => block::Error::ReadOnly { extent },
            Why::Damaged => block::Error::WriteFailed { extent, ended },
        })
    }

    /// The Data FISes of a write. Returns when the last of them has come.
    fn send(&mut self, at: Instant, extent: Extent, data: Data<'_>) -> Result<Instant, Broken> {
        let (mut now, end) = (at, extent.blocks().end);
        let early = self.storage.drive().activates_early;
        if self.is_queued() {
            now = self.bus.fis(Side::Device, now, DMA_SETUP).known;
        }
        let mut first = extent.first.0;
        while first < end {
            let next = (first + FRAME).min(end);
            let room = if early { now } else { now.max(self.storage.room()) };
            let activate = self.bus.fis(Side::Device, room, ACTIVATE);
            // A Data FIS goes to flash when it has come to its end; until there is room for it, it meets HOLD.
            let (room, length) = (self.storage.room(), dwords(next - first));
            let passed = self.bus.frame(Side::Host, activate.came, length, |start, bus| {
                start.max(room) + bus.span(length)
            });
            self.counts.data += 1;
            let piece = Extent::new(first, next - first);
            let data = within(data, first - extent.first.0, piece.count);
            if self.is_damaged() {
                return Err((passed.came, Why::Damaged));
            }
            let wrote = self.storage.write(passed.came, piece, data);
            wrote.map_err(|refusal| (passed.came, Why::Refused(refusal)))?;
            (now, first) = (passed.came, next);
        }
        Ok(now)
    }

    fn flush(&mut self, at: Instant) -> Result<Completion, block::Error> {
        let started = self.start_alone(at);
        let done = self.storage.flush(started.at);
        let ended = self.end_alone(done.unwrap_or(started.at));
        match done {
            Ok(_) => Ok(completion(started, ended)),
            Err(_) => Err(block::Error::WriteFailed { extent: Extent::new(0, 0), ended }),
        }
    }

    /// Ranges go to the drive as 512 bytes of data.
    fn trim(&mut self, at: Instant, extent: Extent) -> Result<Completion, block::Error> {
        let started = self.start_alone(at);
        let activate = self.bus.fis(Side::Device, started.at, ACTIVATE);
        let flow = |start, bus: &Bus| start + bus.span(dwords(1));
        let Passed { came, .. } = self.bus.frame(Side::Host, activate.came, dwords(1), flow);
        let done = self.storage.trim(came, extent);
        let ended = self.end_alone(done.unwrap_or(came));
        match done {
            Ok(_) => Ok(completion(started, ended)),
            Err(_) => Err(block::Error::WriteFailed { extent, ended }),
        }
    }

    /// Every command of a request, of at most `most` sectors, cut at multiples of `unit`; the last to end ends it.
    fn each(
        &mut self,
        at: Instant,
        extent: Extent,
        (most, unit): (u64, u64),
        mut command: impl FnMut(&mut Self, Instant, Extent) -> Result<Completion, block::Error>,
    ) -> Result<Completion, block::Error> {
        let (mut all, end) = (None::<Completion>, extent.blocks().end);
        let mut first = extent.first.0;
        while first < end {
            let cut = first + most;
            let count = if cut < end { cut - cut % unit } else { end } - first;
            let one = command(self, at, Extent::new(first, count))?;
            let ended = all.map_or(one.ended, |all| all.ended.max(one.ended));
            all = Some(Completion { ended, ..all.unwrap_or(one) });
            first += count;
        }
        Ok(all.unwrap_or(Completion::instant(at)))
    }

    fn carry_out(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, block::Error> {
        let largest = (u64::from(self.driver.largest), 1);
        match request {
            Request::Read { extent, into } => {
                let done = self.each(at, extent, largest, Self::read)?;
                if let Target::Buffer(buffer) = into {
                    self.storage.fill(extent, buffer);
                }
                Ok(done)
            }
            Request::Write { extent, data, durable } => {
                let done = self.each(at, extent, largest, |disk, at, command| {
                    disk.write(at, command, part(extent, data, command))
                })?;
                if !durable || self.geometry.cache == block::Cache::None {
                    return Ok(done);
                }
                let flushed = self.flush(done.ended)?;
                Ok(Completion { ended: flushed.ended, ..done })
            }
            Request::WriteZeroes { extent } => {
                self.each(at, extent, largest, |disk, at, command| {
                    disk.write(at, command, Data::Repeated(0))
                })
            }
            Request::Discard { extent } => {
                // No page lies in two commands, for neither would give it up.
                let page = self.geometry.physical / SECTOR;
                self.each(at, extent, (RANGES, page), Self::trim)
            }
            Request::Flush => self.flush(at),
        }
    }
}

impl<T: Translation> BlockDevice for Disk<T> {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn submit(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, block::Error> {
        request.check(&self.geometry)?;
        self.bus.forget(at);
        self.storage.take_work();
        let before = self.counts.reissues;
        let done = self.carry_out(at, request)?;
        let again = (self.counts.reissues > before).then_some(block::Cause::Link);
        Ok(Completion { cause: again.or_else(|| cause(&self.storage.take_work())), ..done })
    }
}

/// What took most of the flash's time besides the host's own pages.
fn cause(work: &Work) -> Option<block::Cause> {
    let foreign = work.times.iter().filter(|(cause, time)| *cause != Cause::Host && *time > 0);
    let most = foreign.max_by_key(|&(_, time)| time).and_then(|(cause, _)| named(cause));
    most.or_else(|| work.events.iter().map(event).next())
}

const fn named(cause: Cause) -> Option<block::Cause> {
    Some(match cause {
        Cause::Host | Cause::Padding => return None,
        Cause::Collection => block::Cause::Collection,
        Cause::Levelling => block::Cause::WearLevelling,
        Cause::Fold => block::Cause::Fold,
        Cause::Merge => block::Cause::Merge,
        Cause::Map => block::Cause::Mapping,
        Cause::Refresh => block::Cause::Refresh,
        Cause::Retry => block::Cause::Retry,
    })
}

const fn event(event: Event) -> block::Cause {
    match event {
        Event::CacheFull | Event::CacheBypass => block::Cause::Cache,
        Event::MapMiss => block::Cause::Mapping,
        Event::OpenUnitMiss | Event::LogsFull => block::Cause::Merge,
        Event::ReadRetry | Event::Unreadable => block::Cause::Retry,
    }
}

const fn completion(started: Started, ended: Instant) -> Completion {
    Completion { accepted: started.accepted, started: started.at, ended, cause: None }
}

/// What of a request's data a command moves.
fn part<'a>(request: Extent, data: Payload<'a>, command: Extent) -> Data<'a> {
    match data {
        Payload::Repeated(byte) => Data::Repeated(byte),
        Payload::Noise(noise) => Data::Noise(noise),
        Payload::Bytes(bytes) => Data::Bytes(slice(request, bytes, command)),
    }
}

/// What a command's data are from sector `from` of it on, for `count` sectors.
fn within(data: Data<'_>, from: u64, count: u64) -> Data<'_> {
    let (whole, part) = (Extent::new(0, from + count), Extent::new(from, count));
    match data {
        Data::Counting(words) => Data::Counting(words.from(dwords(from))),
        Data::Bytes(bytes) => Data::Bytes(slice(whole, bytes, part)),
        Data::Words(words) => {
            let at = |sectors: u64| (SECTOR * sectors).to_usize() / 4;
            Data::Words(&words[at(from)..at(from + count)])
        }
        Data::Repeated(_) | Data::Noise(_) => data,
    }
}

/// The bytes of `part` among those of `whole`.
fn slice(whole: Extent, bytes: &[u8], part: Extent) -> &[u8] {
    let at = |sectors: u64| (SECTOR * sectors).to_usize();
    let start = at(part.first.0 - whole.first.0);
    &bytes[start..start + at(part.count)]
}

/// Payload dwords of so many sectors.
const fn dwords(sectors: u64) -> u64 {
    sectors * SECTOR_DWORDS as u64
}

/// When the last of the sectors has gone out, if the first can go at `start` and each when it is out of the flash.
fn as_ready(reading: &Reading, bus: &Bus, start: Instant, sectors: Range<u64>) -> Instant {
    let (mut now, mut next) = (start, sectors.start);
    while next < sectors.end {
        let Ok(Some(ready)) = reading.ready(next, now) else { break };
        let end = ready.end.min(sectors.end);
        now = now.max(ready.at) + bus.span(dwords(end - next));
        next = end;
    }
    now
}
