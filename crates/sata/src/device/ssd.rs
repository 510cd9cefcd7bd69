//! The device end of a link: the protocol of an SSD.
//!
//! Layer: an [`Agent`] over [`Storage`]. Main type: [`Ssd`]. It sends the FISes of its outbox first, in
//! order; then the data phase in progress; if there is none, the completions of queued commands; then
//! it begins the data phase of the queued command that is ready first.
//!
//! ```text
//!   reads:   H2D -> Data ... -> D2H                    a Data FIS begins when its first group is in the buffer,
//!                                                      and continues as later groups arrive (supply)
//!   writes:  H2D -> [DMA Activate -> Data] ... -> D2H  a Data FIS is accepted when there is room (drain)
//!   queued:  H2D -> D2H ...  DMA Setup -> data phase as above ... Set Device Bits
//! ```
//!
//! A Data FIS waits in a buffer of its own until its CRC is checked. Data with a wrong CRC are never
//! written: the command is aborted with ICRC, and its earlier frames stay written. An error of a queued
//! command aborts all of them. Until the host has read log page 10h or has reset the drive, other
//! commands are aborted as well. The drive sends its signature at tick 0, after COMRESET and after a
//! soft reset.
//!
//! Source: Serial ATA Revision 3, clauses 11 (device command layer) and 13.6 (queueing); ATA8-ACS. Left
//! out: PIO data other than IDENTIFY and the log, interrupts, link power management, and the duration
//! of a reset.

use crate::agent::{Agent, Gate, Outcome, Outgoing, Reception};
use crate::device::drive::{Drive, WriteCache};
use crate::device::frame::Frame;
use crate::device::queue::Queue;
use crate::device::read_path::ReadOp;
use crate::device::storage::Storage;
use crate::device::transfer::PayloadBuffer;
use crate::wire::error::Error;
use crate::wire::fis::{Fis, RegisterD2h, RegisterH2d, status};
use crate::wire::identify::{self, Feature, Identify};
use crate::wire::{Counting, Speed, Tick};
use boardlab_block::Extent;
use boardlab_ftl::Translation;
use boardlab_sim::Instant;
use std::collections::VecDeque;

/// The number of tags, which have 5 bits. The slot after the last tag belongs to the unqueued command.
pub(crate) const TAGS: usize = 32;
/// The status of a drive that is ready.
pub(crate) const READY: u8 = status::DRDY | status::DSC;
/// Device control: the soft reset bit.
const SRST: u8 = 0x04;

/// The data phase in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    None,
    /// The dwords of [`Ssd::page`] sent so far.
    Pio {
        sent: u32,
    },
    /// The slot of the read, and the dwords of the Data FIS that was offered to the link.
    Read {
        slot: usize,
        offered: u32,
    },
    /// The slot of the write, and the sectors still to be received.
    Write {
        slot: usize,
        remaining: Extent,
    },
    /// The blocks of ranges still to be received, and when the trims so far are done.
    Trim {
        blocks: u64,
        done: Instant,
    },
}

/// Counters of a drive's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Commands received.
    pub commands: u64,
    /// Commands aborted or completed with an error.
    pub failed: u64,
    /// Data FISes received with a wrong CRC.
    pub damaged: u64,
    /// Soft resets and COMRESETs.
    pub resets: u64,
}

/// The device end of a link.
#[derive(Debug, Clone)]
pub struct Ssd<T> {
    pub(crate) speed: Speed,
    pub(crate) storage: Storage<T>,
    pub(crate) identity: Identify,
    /// The FISes to send, in order, each with the earliest tick.
    pub(crate) outbox: VecDeque<(Fis, Tick)>,
    pub(crate) phase: Phase,
    /// The current unqueued command, or the last command received.
    pub(crate) command: RegisterH2d,
    pub(crate) busy: bool,
    pub(crate) queue: Queue,
    pub(crate) reads: Box<[ReadOp; TAGS + 1]>,
    /// The payload of IDENTIFY data, or of a log page.
    pub(crate) page: [u32; identify::DWORDS],
    /// Log page 10h, the NCQ command error log.
    pub(crate) log: [u32; identify::DWORDS],
    pub(crate) frame: Frame,
    pub(crate) payload: PayloadBuffer,
    /// The last thing offered to the link is a Data FIS.
    offered_data: bool,
    pub(crate) auto_activate: bool,
    /// The host holds the soft reset bit.
    in_soft_reset: bool,
    pub(crate) tally: Tally,
}

impl<T: Translation> Ssd<T> {
    /// Creates a drive on a link of `speed` with the IDENTIFY data `identity`. Sectors, command sets
    /// and caches in them are replaced by those of the drive.
    ///
    /// # Errors
    /// Those of [`Identify::emit`].
    pub fn new(speed: Speed, storage: Storage<T>, identity: Identify) -> Result<Self, Error> {
        let drive = *storage.drive();
        let depth = drive.queue.and_then(|depth| u8::try_from(depth).ok());
        let identity = Identify {
            sectors: drive.sectors,
            lba_48: drive.lba48,
            queue_depth: depth,
            flush: true,
            flush_ext: drive.lba48,
            trims: drive.trims,
            ..identity
        };
        identity.emit_payload()?;
        let mut ssd = Self {
            speed,
            storage,
            identity,
            outbox: VecDeque::with_capacity(TAGS + 4),
            phase: Phase::None,
            command: RegisterH2d::default(),
            busy: false,
            queue: Queue::default(),
            reads: Box::new(std::array::from_fn(|_| ReadOp::new())),
            page: [0; identify::DWORDS],
            log: [0; identify::DWORDS],
            frame: Frame::default(),
            payload: PayloadBuffer::default(),
            offered_data: false,
            auto_activate: false,
            in_soft_reset: false,
            tally: Tally::default(),
        };
        ssd.send_signature(Tick::ZERO);
        Ok(ssd)
    }

    /// Returns the drive without its protocol.
    pub const fn storage(&self) -> &Storage<T> {
        &self.storage
    }

    /// Returns the drive without its protocol, to prepare it before a run.
    pub const fn storage_mut(&mut self) -> &mut Storage<T> {
        &mut self.storage
    }

    /// Returns the counters of its link.
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Cuts the power at `now` and restores it: commands in progress and data that are not durable are
    /// lost.
    pub fn cut_power(&mut self, now: Tick) {
        self.storage.cut_power(self.speed.instant(now));
        self.auto_activate = false;
        self.in_soft_reset = false;
        self.restart(now);
    }

    /// Returns the current IDENTIFY data.
    #[must_use]
    pub fn identity(&self) -> Identify {
        let drive: &Drive = self.storage.drive();
        let feature = |has: bool, on: bool| match (has, on) {
            (false, _) => Feature::Absent,
            (true, false) => Feature::Off,
            (true, true) => Feature::On,
        };
        let caches = drive.write_cache != WriteCache::Through;
        Identify {
            write_cache: feature(caches, self.storage.is_write_cache_on()),
            look_ahead: feature(drive.look_ahead, self.storage.is_look_ahead_on()),
            ..self.identity.clone()
        }
    }

    /// Sends the signature of a drive that is not a packet device.
    fn send_signature(&mut self, now: Tick) {
        let fis = RegisterD2h { status: READY, error: 1, lba: 1, count: 1, ..Default::default() };
        self.outbox.push_back((Fis::RegisterD2h(fis), now));
    }

    /// Aborts everything in progress and starts again with the signature.
    fn restart(&mut self, now: Tick) {
        self.abort_all();
        self.outbox.clear();
        self.queue.halted = false;
        self.send_signature(now);
    }

    /// Handles a change of the device control register.
    fn control(&mut self, now: Tick, control: u8) {
        let held = control & SRST != 0;
        if held && !self.in_soft_reset {
            self.abort_all();
            self.outbox.clear();
            self.tally.resets += 1;
        } else if !held && self.in_soft_reset {
            self.restart(now);
        }
        self.in_soft_reset = held;
    }

    /// Returns the first tick that does not begin before `at`.
    #[inline]
    pub(crate) fn tick(&self, at: Instant) -> Tick {
        self.speed.tick_from(at)
    }
}

impl<T: Translation> Agent for Ssd<T> {
    #[inline]
    fn wake(&self) -> Tick {
        if let Some(&(_, at)) = self.outbox.front() {
            return at;
        }
        match self.phase {
            Phase::None => self.queue_wake(),
            Phase::Pio { .. } => Tick::ZERO,
            Phase::Read { slot, .. } => self.read_wake(slot),
            Phase::Write { .. } | Phase::Trim { .. } => Tick::NEVER,
        }
    }

    #[inline]
    fn next(&mut self, now: Tick) -> Option<Outgoing> {
        if self.outbox.is_empty() && self.phase == Phase::None {
            self.advance_queue(now);
        }
        if self.outbox.is_empty()
            && let Some(data) = self.offer_data(now)
        {
            self.offered_data = true;
            return Some(data);
        }
        self.offered_data = false;
        let &(fis, at) = self.outbox.front()?;
        (at <= now).then_some(Outgoing::Fis(fis))
    }

    #[inline]
    fn sent(&mut self, now: Tick, outcome: Outcome) {
        // A FIS that is refused despite the transport's retries is dropped; the host times out and
        // resets the link.
        if self.offered_data {
            self.data_sent(now, outcome);
        } else {
            self.outbox.pop_front();
        }
    }

    fn received(&mut self, now: Tick, fis: &Fis) -> Reception {
        match fis {
            Fis::RegisterH2d(fis) if fis.is_command => {
                // During a soft reset, a drive reacts only to the device control register.
                if !self.in_soft_reset {
                    self.begin_command(now, fis);
                }
                Reception::Accept
            }
            Fis::RegisterH2d(fis) => {
                self.control(now, fis.control);
                Reception::Accept
            }
            _ => Reception::Refuse,
        }
    }

    #[inline]
    fn supply(&mut self, now: Tick, sent: u32) -> Gate {
        match self.phase {
            Phase::Read { slot, .. } => self.read_gate(slot, now, sent),
            _ => Gate::OPEN,
        }
    }

    fn fill(&mut self, first: u32, words: &mut [u32]) {
        self.fill_data(first, words);
    }

    #[inline]
    fn describe(&mut self) -> Option<Counting> {
        self.describe_data()
    }

    #[inline]
    fn begin(&mut self, _now: Tick) {
        self.frame.clear();
    }

    #[inline]
    fn drain(&mut self, now: Tick, _taken: u32) -> Gate {
        let at = match self.phase {
            Phase::Write { .. } => self.tick(self.storage.room_at()).max(now),
            _ => now,
        };
        Gate { until: u32::MAX, at }
    }

    fn take(&mut self, words: &[u32]) {
        self.frame.take(words);
    }

    #[inline]
    fn take_described(&mut self, dwords: u32, words: Counting) {
        self.frame.take_described(dwords, words);
    }

    #[inline]
    fn end(&mut self, now: Tick, good: bool) -> Reception {
        self.data_received(now, good)
    }

    fn reset(&mut self, now: Tick) {
        self.tally.resets += 1;
        self.in_soft_reset = false;
        self.restart(now);
    }
}
