//! The start and the completion of each command.
//!
//! Layer: part of [`Ssd`]. Source and what is left out: see [`crate::device::ssd`] and
//! [`crate::device::command`].

use crate::device::command::{DataCommand, Request, Setting};
use crate::device::drive::Refusal;
use crate::device::queue::tags;
use crate::device::ssd::{Phase, READY, Ssd, TAGS};
use crate::wire::Tick;
use crate::wire::fis::{
    DmaActivate, Fis, PioSetup, RegisterD2h, RegisterH2d, SetDeviceBits, error, status,
};
use crate::wire::identify;
use boardlab_block::Extent;
use boardlab_ftl::Translation;
use boardlab_sim::Instant;

/// The bytes of a page of PIO data.
const PAGE: u16 = 512;
/// CHECK POWER MODE: active or idle.
const ACTIVE: u16 = 0xFF;
/// Log page 10h, first byte: the error is not of a queued command.
const NOT_QUEUED: u8 = 0x80;

/// The contents of the error register, and the sector that the error concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) error: u8,
    pub(crate) sector: u64,
}

impl Failure {
    /// The command is not supported or cannot be executed.
    pub(crate) const ABORTED: Self = Self { error: error::ABRT, sector: 0 };

    /// The data were damaged on the link.
    pub(crate) const fn damaged(sector: u64) -> Self {
        Self { error: error::ICRC | error::ABRT, sector }
    }

    /// Converts a refusal of the storage.
    pub(crate) const fn from_refusal(refusal: Refusal, sector: u64) -> Self {
        match refusal {
            Refusal::WornOut => Self { error: error::ABRT, sector },
            Refusal::Unreadable { sector } => Self { error: error::UNC, sector },
        }
    }
}

impl<T: Translation> Ssd<T> {
    pub(crate) fn begin_command(&mut self, now: Tick, fis: &RegisterH2d) {
        self.tally.commands += 1;
        let request = Request::of(fis, self.storage.drive());
        let tag = match request {
            Request::Transfer(command) => command.tag,
            Request::InvalidTag(tag) => Some(tag),
            _ => None,
        };
        // A command received while an unqueued one is in progress aborts both. The queue fails if an
        // unqueued command is received, or a tag that is in flight or invalid. The host waits for a
        // Register FIS: no other one clears BSY.
        let fails_queue = match tag {
            Some(tag) => {
                self.queue.in_flight() >> tag & 1 == 1 || request == Request::InvalidTag(tag)
            }
            None => self.queue.in_flight() != 0,
        };
        if self.busy || fails_queue {
            self.abort_all();
            self.command = *fis;
            if fails_queue {
                self.log_error(tag, Failure::ABORTED);
            }
            return self.abort(now);
        }
        self.command = *fis;
        if self.queue.halted && request != Request::NcqErrorLog {
            return self.abort(now);
        }
        let at = self.speed.instant(now) + self.storage.drive().command;
        match request {
            Request::Transfer(command) => self.begin_transfer(at, command),
            Request::Identify => match self.identity().emit_payload() {
                Ok(page) => self.send_page(at, page),
                Err(_) => self.abort(now),
            },
            Request::NcqErrorLog => {
                self.clear_queue(at);
                self.send_page(at, self.log);
            }
            Request::Trim(blocks) => {
                self.busy = true;
                self.phase = Phase::Trim { blocks, done: at };
                self.activate(at);
            }
            Request::Flush | Request::Standby => {
                let ended = self.storage.flush(at);
                self.complete_command(at, ended);
            }
            Request::SetFeature(setting) => self.set(at, setting),
            Request::Idle => self.complete_command(at, Ok(at)),
            Request::PowerMode => self.complete_with(at, 0, ACTIVE),
            Request::NativeMax { is_28_bit } => {
                let last = self.storage.drive().sectors - 1;
                let last = if is_28_bit { last.min(identify::SECTORS_28) } else { last };
                self.complete_with(at, last, 0);
            }
            Request::Unsupported | Request::InvalidTag(_) => self.abort(now),
        }
    }

    fn begin_transfer(&mut self, at: Instant, command: DataCommand) {
        let DataCommand { extent, is_write, tag } = command;
        let (first, sectors) = (extent.first.0, self.storage.drive().sectors);
        let tick = self.tick(at);
        if first.saturating_add(extent.count) > sectors {
            let failure = Failure { error: error::IDNF | error::ABRT, sector: first.max(sectors) };
            if tag.is_some() {
                self.abort_all();
                self.log_error(tag, failure);
            }
            return self.fail_command(tick, failure);
        }
        let slot = tag.map_or(TAGS, usize::from);
        if !is_write {
            self.storage.begin_read(&mut self.reads[slot], at, extent);
        }
        match tag {
            Some(tag) => {
                self.queue.push(tag, extent, is_write, tick);
                self.send_register(tick, RegisterD2h { status: READY, ..RegisterD2h::default() });
            }
            None if is_write => {
                self.busy = true;
                self.phase = Phase::Write { slot, remaining: extent };
                self.activate(at);
            }
            None => {
                self.busy = true;
                self.phase = Phase::Read { slot, offered: 0 };
            }
        }
    }

    fn set(&mut self, at: Instant, setting: Setting) {
        let ended = match setting {
            Setting::WriteCache(on) => {
                let ended = self.storage.set_write_cache(at, on);
                if on && !self.storage.is_write_cache_on() { Err(Refusal::WornOut) } else { ended }
            }
            Setting::LookAhead(on) => {
                self.storage.set_look_ahead(on);
                if on && !self.storage.is_look_ahead_on() { Err(Refusal::WornOut) } else { Ok(at) }
            }
            Setting::AutoActivate(on) => {
                self.auto_activate = on;
                Ok(at)
            }
            Setting::TransferMode => Ok(at),
        };
        self.complete_command(at, ended);
    }

    /// Sends a page of 512 bytes to the host.
    fn send_page(&mut self, at: Instant, page: [u32; identify::DWORDS]) {
        self.page = page;
        self.busy = true;
        self.phase = Phase::Pio { sent: 0 };
        let fis = PioSetup {
            to_host: true,
            interrupt: true,
            status: READY | status::DRQ,
            ending_status: READY,
            transfer: PAGE,
            device: self.command.device,
            ..PioSetup::default()
        };
        let tick = self.tick(at);
        self.outbox.push_back((Fis::PioSetup(fis), tick));
    }

    /// Clears all tags that the host still considers in flight with a Set Device Bits FIS, before the
    /// log page that it has requested.
    fn clear_queue(&mut self, at: Instant) {
        if std::mem::take(&mut self.queue.halted) {
            let (status, active) = (READY, u32::MAX);
            let fis = SetDeviceBits { interrupt: true, status, active, ..Default::default() };
            let tick = self.tick(at);
            self.outbox.push_back((Fis::SetDeviceBits(fis), tick));
        }
    }

    /// Sends DMA Activate for the next Data FIS of a write.
    #[inline]
    pub(crate) fn activate(&mut self, at: Instant) {
        let early = self.storage.drive().activates_early;
        let at = if early { at } else { at.max(self.storage.room_at()) };
        let tick = self.tick(at);
        self.outbox.push_back((Fis::DmaActivate(DmaActivate::default()), tick));
    }

    fn send_register(&mut self, tick: Tick, fis: RegisterD2h) {
        self.outbox.push_back((Fis::RegisterD2h(fis), tick));
    }

    /// Completes the unqueued command at the instant of `ended`, or with its error.
    pub(crate) fn complete_command(&mut self, at: Instant, ended: Result<Instant, Refusal>) {
        match ended {
            Ok(ended) => {
                self.busy = false;
                let (lba, count, device) =
                    (self.command.lba, self.command.count, self.command.device);
                let tick = self.tick(ended.max(at));
                let fis = RegisterD2h {
                    interrupt: true,
                    status: READY,
                    lba,
                    count,
                    device,
                    ..RegisterD2h::default()
                };
                self.send_register(tick, fis);
            }
            Err(refusal) => {
                let tick = self.tick(at);
                self.fail_command(tick, Failure::from_refusal(refusal, self.command.lba));
            }
        }
    }

    /// Completes the unqueued command with these values in its LBA and count registers.
    fn complete_with(&mut self, at: Instant, lba: u64, count: u16) {
        self.command = RegisterH2d { lba, count, ..self.command };
        if self.command.command == 0xF8 {
            let nibble = self.command.device & 0xF0 | nibble(lba);
            self.command = RegisterH2d { lba: lba & 0xFF_FFFF, device: nibble, ..self.command };
        }
        self.complete_command(at, Ok(at));
    }

    fn abort(&mut self, now: Tick) {
        self.fail_command(now, Failure { sector: self.command.lba, ..Failure::ABORTED });
    }

    /// Fails the unqueued command, or a queued one that was not accepted.
    pub(crate) fn fail_command(&mut self, tick: Tick, failure: Failure) {
        self.busy = false;
        self.tally.failed += 1;
        let short = matches!(self.command.command, 0xC8 | 0xCA);
        let device = self.command.device;
        let (lba, device) = match short {
            true => (failure.sector & 0xFF_FFFF, device & 0xF0 | nibble(failure.sector)),
            false => (failure.sector, device),
        };
        let (status, error) = (READY | status::ERR, failure.error);
        self.send_register(
            tick,
            RegisterD2h { interrupt: true, status, error, lba, device, ..RegisterD2h::default() },
        );
    }

    /// Fails the data phase in progress.
    pub(crate) fn fail_transfer(&mut self, now: Tick, slot: usize, failure: Failure) {
        if matches!(self.phase, Phase::Read { .. }) {
            self.storage.end_read(&mut self.reads[slot]);
        }
        self.phase = Phase::None;
        match u8::try_from(slot).ok().filter(|_| slot < TAGS) {
            None => self.fail_command(now, failure),
            Some(tag) => {
                self.queue.transferring &= !(1 << tag);
                self.abort_all();
                self.halt_queue(now, tag, failure);
            }
        }
    }

    /// Fails a queued command, and with it the queue.
    pub(crate) fn halt_queue(&mut self, now: Tick, tag: u8, failure: Failure) {
        self.tally.failed += 1;
        self.log_error(Some(tag), failure);
        let (status, error) = (READY | status::ERR, failure.error);
        let fis = SetDeviceBits { interrupt: true, status, error, ..SetDeviceBits::default() };
        self.outbox.push_back((Fis::SetDeviceBits(fis), now));
    }

    /// Writes the failed command to log page 10h and halts the queue until the host has read it.
    fn log_error(&mut self, tag: Option<u8>, failure: Failure) {
        self.queue.halted = true;
        let mut page = [0_u8; PAGE as usize];
        let lba = failure.sector.to_le_bytes();
        page[0] = tag.unwrap_or(NOT_QUEUED);
        (page[2], page[3]) = (READY | status::ERR, failure.error);
        page[4..7].copy_from_slice(&lba[..3]);
        page[7] = self.command.device;
        page[8..11].copy_from_slice(&lba[3..6]);
        let sum = page.iter().fold(0_u8, |sum, &byte| sum.wrapping_add(byte));
        page[511] = sum.wrapping_neg();
        let (words, _) = page.as_chunks::<4>();
        self.log.iter_mut().zip(words).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
    }

    /// Aborts everything in progress without notifying the host.
    pub(crate) fn abort_all(&mut self) {
        let reads = |tag: &u8| !self.queue.slots[usize::from(*tag)].is_write;
        for tag in tags(self.queue.waiting | self.queue.transferring).filter(reads) {
            self.storage.end_read(&mut self.reads[usize::from(tag)]);
        }
        if let Phase::Read { slot: TAGS, .. } = self.phase {
            self.storage.end_read(&mut self.reads[TAGS]);
        }
        self.queue.clear();
        self.phase = Phase::None;
        self.busy = false;
    }

    /// Sends the completions of queued commands, or else begins the data phase of the one that is
    /// ready.
    pub(crate) fn advance_queue(&mut self, now: Tick) {
        if self.queue.in_flight() == 0 {
            return;
        }
        let ended = self.queue.take_completed(now);
        if ended != 0 {
            let fis = SetDeviceBits {
                interrupt: true,
                status: READY,
                active: ended,
                ..SetDeviceBits::default()
            };
            return self.outbox.push_back((Fis::SetDeviceBits(fis), now));
        }
        let Some((ready, tag)) = self.first_ready() else { return };
        if ready <= now {
            self.begin_phase(now, tag);
        }
    }

    pub(crate) fn queue_wake(&self) -> Tick {
        if self.queue.in_flight() == 0 {
            return Tick::NEVER;
        }
        let ready = self.first_ready().map_or(Tick::NEVER, |(ready, _)| ready);
        ready.min(self.queue.next_completion())
    }

    /// Returns the waiting command whose data, or whose room, are available first; the oldest of
    /// several.
    fn first_ready(&self) -> Option<(Tick, u8)> {
        let of = |tag: u8| {
            let slot = &self.queue.slots[usize::from(tag)];
            let ready = match slot.is_write {
                true => self.tick(self.storage.room_at()),
                false => self.read_wake(usize::from(tag)),
            };
            (ready.max(slot.at), slot.order, tag)
        };
        tags(self.queue.waiting).map(of).min().map(|(ready, _, tag)| (ready, tag))
    }

    fn begin_phase(&mut self, now: Tick, tag: u8) {
        let slot = usize::from(tag);
        let (extent, is_write) = (self.queue.slots[slot].extent, self.queue.slots[slot].is_write);
        self.queue.waiting &= !(1 << tag);
        self.queue.transferring |= 1 << tag;
        let bytes = extent.count * crate::SECTOR.get();
        let fis = crate::wire::fis::DmaSetup {
            to_host: !is_write,
            auto_activate: is_write && self.auto_activate,
            buffer: tag.into(),
            count: u32::try_from(bytes).unwrap_or(u32::MAX),
            ..Default::default()
        };
        self.outbox.push_back((Fis::DmaSetup(fis), now));
        if is_write {
            self.phase = Phase::Write { slot, remaining: extent };
            if !self.auto_activate {
                self.activate(self.speed.instant(now));
            }
        } else {
            self.phase = Phase::Read { slot, offered: 0 };
        }
    }

    /// Ends the data phase of the command in `slot`, which completes at the instant of `ended`.
    pub(crate) fn end_transfer(&mut self, now: Tick, slot: usize, ended: Result<Instant, Refusal>) {
        let first = match self.phase {
            Phase::Write { remaining, .. } => remaining.first.0,
            _ => 0,
        };
        match (ended, u8::try_from(slot).ok().filter(|_| slot < TAGS)) {
            (Err(refusal), _) => {
                self.fail_transfer(now, slot, Failure::from_refusal(refusal, first));
            }
            (Ok(ended), None) => {
                self.phase = Phase::None;
                let at = self.speed.instant(now);
                self.complete_command(at, Ok(ended));
            }
            (Ok(ended), Some(tag)) => {
                self.phase = Phase::None;
                self.queue.slots[slot].at = self.tick(ended).max(now);
                self.queue.transferring &= !(1 << tag);
                self.queue.completing |= 1 << tag;
            }
        }
    }

    /// Trims the received ranges: 48 bits of address and 16 bits of count each. Adjacent ranges are
    /// merged, so that a page that lies partly in each of them is trimmed.
    pub(crate) fn trim_ranges(&mut self, at: Instant) -> Result<Instant, Failure> {
        let sectors = self.storage.drive().sectors;
        let mut ranges: Vec<Extent> = Vec::new();
        for pair in self.frame.words().chunks_exact(2) {
            let (low, high) = (u64::from(pair[0]), u64::from(pair[1]));
            let (first, count) = (low | (high & 0xFFFF) << 32, high >> 16);
            match ranges.last_mut() {
                _ if count == 0 => {}
                Some(last) if last.blocks().end == first => last.count += count,
                _ => ranges.push(Extent::new(first, count)),
            }
        }
        let mut done = at;
        for range in ranges {
            let (first, end) = (range.first.0, range.blocks().end);
            if end > sectors {
                let sector = first.max(sectors);
                return Err(Failure { error: error::IDNF | error::ABRT, sector });
            }
            let ended = self.storage.trim(at, range);
            done = done.max(ended.map_err(|refusal| Failure::from_refusal(refusal, first))?);
        }
        Ok(done)
    }
}

/// Returns the four highest bits of a 28-bit address.
fn nibble(lba: u64) -> u8 {
    u8::try_from(lba >> 24 & 0x0F).unwrap_or(0)
}
