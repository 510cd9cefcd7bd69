//! A drive on its link as a block device, computed by a recurrence instead of an engine.
//!
//! Layer: rank 4, beside the engines. Main types: [`Disk`], [`Driver`]. A request becomes one or more
//! ATA commands of at most [`Driver::largest`] sectors. Each command is followed once from submission
//! to completion: the time of the host, its FIS on the link, the controller, the flash below
//! [`Storage`], Data FISes on the link, and the FIS that completes it. The resources that other
//! commands occupy are represented by instants, not by events, so a queue of commands costs no more
//! time to compute than a single one. The times equal those of the engines except for the position of
//! ALIGNs. A device serves its queue in the order in which data are ready.
//!
//! ```text
//!   request --> queue --> host --> H2D -----> controller --> flash --.
//!                                  D2H (queued: accepted)            v
//!   ended <-- host <-- D2H or Set Device Bits <-- Data FISes, 8 KiB each
//! ```
//!
//! Source: Linux 6.1 for the choice of commands: `sd_setup_read_write_cmnd` and `ata_build_rw_tf`. FUA
//! is off (`libata.fua`), so FLUSH CACHE EXT follows a durable write. Zeros are written as data. A
//! discard is DATA SET MANAGEMENT with up to 64 ranges of 65,535 sectors (`ATA_MAX_TRIM_RNUM`). Flushes
//! and discards are not queued: they wait for the queue to drain, and later commands wait for them.
//! Left out: resets of the link, and the cost of an NCQ error for the other commands in the queue.

mod bus;

use crate::device::{Data, ReadOp, Refusal, Storage, Work, WriteCache};
use crate::link::{Side, Wiring};
use crate::{LARGEST_DATA, SECTOR, SECTOR_DWORDS};
use boardlab_block as block;
use boardlab_block::{
    BlockDevice, Completion, DiscardedContent, Extent, Geometry, Payload, Queue, Request, Target,
};
use boardlab_ftl::{Cause, Event, Translation};
use boardlab_sim::{Duration, Instant, Stream};
use std::ops::Range;

use bus::{Bus, DMA_ACTIVATE, DMA_SETUP, Delivery, REGISTER, SET_DEVICE_BITS};

/// The sectors in the payload of a Data FIS of maximum size.
const FRAME_SECTORS: u64 = LARGEST_DATA as u64 / SECTOR_DWORDS as u64;
/// The maximum number of sectors in one block of ranges of DATA SET MANAGEMENT.
const TRIM_SECTORS_MAX: u64 = 64 * 65_535;

/// The parameters of the driver and its controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Driver {
    /// The queue depth, 1 to 32, if queued commands are used.
    pub queue: Option<u32>,
    /// The maximum number of sectors per command. Linux: 65,535.
    pub largest: u32,
    /// The host's time per command, from the request to the command; one command at a time.
    pub submit: Duration,
    /// The time from the FIS that completes a command to the completion of the request.
    pub complete: Duration,
}

/// Counters of a disk, besides those of its storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Commands sent, reissued ones included.
    pub commands: u64,
    /// Data FISes.
    pub data_fises: u64,
    /// Commands reissued because their data were damaged on the link.
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
    reading: ReadOp,
    /// When the host can build the next command. It does not wait for the drive to accept the last one.
    host_free: Instant,
    /// When the drive has accepted the last queued command, so that the next one can be sent.
    drive_free: Instant,
    /// When the last unqueued command completes.
    barrier: Instant,
    /// The link damages one in this many Data FISes, drawn from the stream.
    link_damage: Option<(u64, Stream)>,
    counts: Counts,
}

/// The maximum number of attempts of a command: Linux' `SD_MAX_RETRIES` and the first one.
const TRIES_MAX: u32 = 6;

/// Why a command failed.
#[derive(Debug, Clone, Copy)]
enum FailureCause {
    /// The storage refused it.
    Refused(Refusal),
    /// A Data FIS was damaged on the link.
    Damaged,
}

/// A failed attempt of a command.
#[derive(Debug, Clone, Copy)]
struct Failure {
    /// When the failure was detected: by the drive, or after completion by the host.
    at: Instant,
    cause: FailureCause,
}

/// How a request is split into commands.
#[derive(Debug, Clone, Copy)]
struct Split {
    /// The maximum number of sectors of a command.
    max: u64,
    /// All commands but the last end at a multiple of this number of sectors.
    align: u64,
}

/// A command in flight.
#[derive(Debug, Clone, Copy)]
struct ActiveCommand {
    accepted: Instant,
    /// When the drive begins to execute it.
    at: Instant,
}

impl<T: Translation> Disk<T> {
    /// Creates a drive of `storage` on a link of `wiring`.
    ///
    /// The queue depth is limited to the drive's; if the drive does not support queued commands, none
    /// are used.
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
            reading: ReadOp::new(),
            host_free: Instant::ZERO,
            drive_free: Instant::ZERO,
            barrier: Instant::ZERO,
            link_damage: None,
            counts: Counts::default(),
        }
    }

    /// Adds damage: the link damages one in `one_in` Data FISes. The drive then aborts the command with
    /// ICRC, and the host reissues it.
    ///
    /// # Panics
    /// If `one_in` is zero.
    #[must_use]
    pub fn with_link_damage(mut self, one_in: u64, stream: Stream) -> Self {
        assert!(one_in > 0, "Disk::with_link_damage: `one_in` is zero");
        self.link_damage = Some((one_in, stream));
        self
    }

    fn draw_damage(&mut self) -> bool {
        self.link_damage.as_mut().is_some_and(|(one_in, stream)| stream.chance(1, *one_in))
    }

    /// Returns the counters.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the driver, with the queue depth that is used.
    pub const fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Returns the drive without its protocol.
    pub const fn storage(&self) -> &Storage<T> {
        &self.storage
    }

    /// Returns the drive without its protocol, to prepare it before a run.
    pub const fn storage_mut(&mut self) -> &mut Storage<T> {
        &mut self.storage
    }

    /// Cuts the power at `at` and restores it; see [`Storage::cut_power`]. No command is in flight
    /// then.
    pub fn cut_power(&mut self, at: Instant) {
        self.storage.cut_power(at);
        self.queue.clear();
        self.bus.prune(Instant::MAX);
        (self.host_free, self.drive_free, self.barrier) = (at, at, at);
    }

    const fn is_queued(&self) -> bool {
        self.driver.queue.is_some()
    }

    /// Starts a command as soon as the queue has room for it.
    fn start(&mut self, at: Instant) -> ActiveCommand {
        let accepted = self.queue.accept(at.max(self.barrier));
        ActiveCommand { accepted, at: self.issue(accepted) }
    }

    /// Builds a command and sends it. Returns when the drive begins to execute it.
    fn issue(&mut self, at: Instant) -> Instant {
        self.host_free = self.host_free.max(at) + self.driver.submit;
        self.counts.commands += 1;
        let command = self.bus.fis(Side::Host, self.host_free.max(self.drive_free), REGISTER);
        let begun = command.received + self.storage.drive().command;
        if self.is_queued() {
            self.drive_free = self.bus.fis(Side::Device, begun, REGISTER).received;
        }
        begun
    }

    /// Sends the completion of a command that the drive has finished at `at`. Returns when the host has
    /// noticed.
    fn send_completion(&mut self, at: Instant) -> Instant {
        let dwords = if self.is_queued() { SET_DEVICE_BITS } else { REGISTER };
        self.bus.fis(Side::Device, at, dwords).received + self.driver.complete
    }

    /// Executes a command and its retries. `transfer` moves the data and returns when the drive has
    /// finished.
    fn command(
        &mut self,
        at: Instant,
        mut transfer: impl FnMut(&mut Self, Instant) -> Result<Instant, Failure>,
    ) -> Result<Completion, Failure> {
        let started = self.start(at);
        let (mut now, mut tries) = (started.at, 1);
        loop {
            let done = transfer(self, now);
            let known = done.unwrap_or_else(|failure| failure.at);
            let completed = self.send_completion(known);
            match done {
                Err(Failure { cause: FailureCause::Damaged, .. }) if tries < TRIES_MAX => {
                    tries += 1;
                    self.counts.reissues += 1;
                    now = self.issue(completed);
                }
                done => {
                    self.queue.hold(completed);
                    return match done {
                        Ok(_) => Ok(completion(started, completed)),
                        Err(failure) => Err(Failure { at: completed, ..failure }),
                    };
                }
            }
        }
    }

    /// Starts an unqueued command: it waits for all others to complete, and later ones wait for it.
    fn start_unqueued(&mut self, at: Instant) -> ActiveCommand {
        let accepted = self.queue.last().map_or(at, |last| last.max(at)).max(self.barrier);
        self.queue.clear();
        self.host_free = self.host_free.max(accepted) + self.driver.submit;
        self.counts.commands += 1;
        let command = self.bus.fis(Side::Host, self.host_free, REGISTER);
        ActiveCommand { accepted, at: command.received + self.storage.drive().command }
    }

    fn end_unqueued(&mut self, at: Instant) -> Instant {
        self.barrier = self.bus.fis(Side::Device, at, REGISTER).received + self.driver.complete;
        self.barrier
    }

    /// Reads the sectors of one command.
    fn read(&mut self, at: Instant, extent: Extent) -> Result<Completion, block::Error> {
        let mut reading = std::mem::take(&mut self.reading);
        let done = self.command(at, |disk, at| {
            disk.storage.begin_read(&mut reading, at, extent);
            let moved = disk.receive(&mut reading, at);
            disk.storage.end_read(&mut reading);
            moved
        });
        self.reading = reading;
        done.map_err(|Failure { at: ended, cause }| match cause {
            FailureCause::Refused(Refusal::Unreadable { sector }) => {
                block::Error::Uncorrectable { extent: Extent::new(sector, 1), ended }
            }
            FailureCause::Refused(Refusal::WornOut) | FailureCause::Damaged => {
                block::Error::Uncorrectable { extent, ended }
            }
        })
    }

    /// Sends the Data FISes of a read. Each contains what was requested from the flash so far, up to
    /// the drive's maximum. Returns when the drive has received R_OK for the last one.
    fn receive(&mut self, reading: &mut ReadOp, at: Instant) -> Result<Instant, Failure> {
        let (mut now, mut is_first) = (at, self.is_queued());
        let largest = u64::from(self.storage.drive().frame / SECTOR_DWORDS);
        while !reading.is_complete() {
            let ready = reading
                .next_ready()
                .map_err(|refusal| Failure { at: now, cause: FailureCause::Refused(refusal) })?;
            now = now.max(ready.unwrap_or(now));
            if std::mem::take(&mut is_first) {
                now = self.bus.fis(Side::Device, now, DMA_SETUP).acknowledged;
            }
            let first = reading.next_sector();
            let end = reading.readable_end().min(first + largest);
            let passed = self.bus.frame(Side::Device, now, dwords(end - first), |start, bus| {
                last_sent(reading, bus, start, first..end)
            });
            self.counts.data_fises += 1;
            now = passed.acknowledged;
            if self.draw_damage() {
                return Err(Failure { at: now, cause: FailureCause::Damaged });
            }
            self.storage.consume(reading, now, end - first);
        }
        Ok(now)
    }

    /// Writes the sectors of one command.
    fn write(
        &mut self,
        at: Instant,
        extent: Extent,
        data: Data<'_>,
    ) -> Result<Completion, block::Error> {
        let done = self.command(at, |disk, at| {
            let received = disk.send(at, extent, data)?;
            disk.storage
                .end_write(received)
                .map_err(|refusal| Failure { at: received, cause: FailureCause::Refused(refusal) })
        });
        done.map_err(|Failure { at: ended, cause }| match cause {
            FailureCause::Refused(_) => block::Error::ReadOnly { extent },
            FailureCause::Damaged => block::Error::WriteFailed { extent, ended },
        })
    }

    /// Sends the Data FISes of a write. Returns when the drive has received the last one.
    fn send(&mut self, at: Instant, extent: Extent, data: Data<'_>) -> Result<Instant, Failure> {
        let (mut now, end) = (at, extent.blocks().end);
        let early = self.storage.drive().activates_early;
        if self.is_queued() {
            now = self.bus.fis(Side::Device, now, DMA_SETUP).acknowledged;
        }
        let mut first = extent.first.0;
        while first < end {
            let next = (first + FRAME_SECTORS).min(end);
            let room = if early { now } else { now.max(self.storage.room_at()) };
            let activate = self.bus.fis(Side::Device, room, DMA_ACTIVATE);
            // A Data FIS is passed to the flash once it is complete. Until there is room for it, the
            // drive sends HOLD.
            let (room, length) = (self.storage.room_at(), dwords(next - first));
            let passed = self.bus.frame(Side::Host, activate.received, length, |start, bus| {
                start.max(room) + bus.span(length)
            });
            self.counts.data_fises += 1;
            let piece = Extent::new(first, next - first);
            let data = data_of(data, first - extent.first.0, piece.count);
            if self.draw_damage() {
                return Err(Failure { at: passed.received, cause: FailureCause::Damaged });
            }
            let written = self.storage.write(passed.received, piece, data);
            written.map_err(|refusal| Failure {
                at: passed.received,
                cause: FailureCause::Refused(refusal),
            })?;
            (now, first) = (passed.received, next);
        }
        Ok(now)
    }

    fn flush(&mut self, at: Instant) -> Result<Completion, block::Error> {
        let started = self.start_unqueued(at);
        let done = self.storage.flush(started.at);
        let ended = self.end_unqueued(done.unwrap_or(started.at));
        match done {
            Ok(_) => Ok(completion(started, ended)),
            Err(_) => Err(block::Error::WriteFailed { extent: Extent::new(0, 0), ended }),
        }
    }

    /// Sends the ranges to the drive as 512 bytes of data.
    fn trim(&mut self, at: Instant, extent: Extent) -> Result<Completion, block::Error> {
        let started = self.start_unqueued(at);
        let activate = self.bus.fis(Side::Device, started.at, DMA_ACTIVATE);
        let flow = |start, bus: &Bus| start + bus.span(dwords(1));
        let Delivery { received, .. } =
            self.bus.frame(Side::Host, activate.received, dwords(1), flow);
        let done = self.storage.trim(received, extent);
        let ended = self.end_unqueued(done.unwrap_or(received));
        match done {
            Ok(_) => Ok(completion(started, ended)),
            Err(_) => Err(block::Error::WriteFailed { extent, ended }),
        }
    }

    /// Runs every command of a request, split as `split` says. The request completes with the last
    /// command.
    fn split(
        &mut self,
        at: Instant,
        extent: Extent,
        split: Split,
        mut command: impl FnMut(&mut Self, Instant, Extent) -> Result<Completion, block::Error>,
    ) -> Result<Completion, block::Error> {
        let (mut all, end) = (None::<Completion>, extent.blocks().end);
        let mut first = extent.first.0;
        while first < end {
            let cut = first + split.max;
            let count = if cut < end { cut - cut % split.align } else { end } - first;
            let one = command(self, at, Extent::new(first, count))?;
            let ended = all.map_or(one.ended, |all| all.ended.max(one.ended));
            all = Some(Completion { ended, ..all.unwrap_or(one) });
            first += count;
        }
        Ok(all.unwrap_or(Completion::instant(at)))
    }

    fn execute(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, block::Error> {
        let largest = Split { max: u64::from(self.driver.largest), align: 1 };
        match request {
            Request::Read { extent, into } => {
                let done = self.split(at, extent, largest, Self::read)?;
                if let Target::Buffer(buffer) = into {
                    self.storage.fill(extent, buffer);
                }
                Ok(done)
            }
            Request::Write { extent, data, durable } => {
                let done = self.split(at, extent, largest, |disk, at, command| {
                    disk.write(at, command, payload_of(extent, data, command))
                })?;
                if !durable || self.geometry.cache == block::Cache::None {
                    return Ok(done);
                }
                let flushed = self.flush(done.ended)?;
                Ok(Completion { ended: flushed.ended, ..done })
            }
            Request::WriteZeroes { extent } => {
                self.split(at, extent, largest, |disk, at, command| {
                    disk.write(at, command, Data::Repeated(0))
                })
            }
            Request::Discard { extent } => {
                // No page is divided between two commands, since neither would trim it.
                let page = self.geometry.physical / SECTOR;
                self.split(at, extent, Split { max: TRIM_SECTORS_MAX, align: page }, Self::trim)
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
        self.bus.prune(at);
        self.storage.take_work();
        let before = self.counts.reissues;
        let done = self.execute(at, request)?;
        let again = (self.counts.reissues > before).then_some(block::Cause::Link);
        Ok(Completion {
            cause: again.or_else(|| dominant_cause(&self.storage.take_work())),
            ..done
        })
    }
}

/// Returns the cause of most of the flash's busy time besides the host's own pages.
fn dominant_cause(work: &Work) -> Option<block::Cause> {
    let foreign = work.times.iter().filter(|(cause, time)| *cause != Cause::Host && *time > 0);
    let most = foreign.max_by_key(|&(_, time)| time).and_then(|(cause, _)| block_cause(cause));
    most.or_else(|| work.events.iter().map(event_cause).next())
}

const fn block_cause(cause: Cause) -> Option<block::Cause> {
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

const fn event_cause(event: Event) -> block::Cause {
    match event {
        Event::CacheFull | Event::CacheBypass => block::Cause::Cache,
        Event::MapMiss => block::Cause::Mapping,
        Event::OpenUnitMiss | Event::LogsFull => block::Cause::Merge,
        Event::ReadRetry | Event::Unreadable => block::Cause::Retry,
    }
}

const fn completion(started: ActiveCommand, ended: Instant) -> Completion {
    Completion { accepted: started.accepted, started: started.at, ended, cause: None }
}

/// Returns the part of a request's payload that a command transfers.
fn payload_of<'a>(request: Extent, data: Payload<'a>, command: Extent) -> Data<'a> {
    match data {
        Payload::Repeated(byte) => Data::Repeated(byte),
        Payload::Noise(noise) => Data::Noise(noise),
        Payload::Bytes(bytes) => Data::Bytes(slice(request, bytes, command)),
    }
}

/// Returns `count` sectors of a command's data, beginning with sector `from`.
fn data_of(data: Data<'_>, from: u64, count: u64) -> Data<'_> {
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

/// Returns the bytes of `part`, given those of `whole`.
fn slice(whole: Extent, bytes: &[u8], part: Extent) -> &[u8] {
    let at = |sectors: u64| (SECTOR * sectors).to_usize();
    let start = at(part.first.0 - whole.first.0);
    &bytes[start..start + at(part.count)]
}

/// Returns the payload dwords of `sectors` sectors.
const fn dwords(sectors: u64) -> u64 {
    sectors * SECTOR_DWORDS as u64
}

/// Returns when the last of the sectors has been sent, if the first can be sent at `start` and each
/// later one once it has been read from the flash.
fn last_sent(reading: &ReadOp, bus: &Bus, start: Instant, sectors: Range<u64>) -> Instant {
    let (mut now, mut next) = (start, sectors.start);
    while next < sectors.end {
        let Ok(Some(ready)) = reading.ready(next, now) else { break };
        let end = ready.end.min(sectors.end);
        now = now.max(ready.at) + bus.span(dwords(end - next));
        next = end;
    }
    now
}
