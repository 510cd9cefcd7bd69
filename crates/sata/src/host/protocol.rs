//! The host's side of the protocol: which FISes the host sends, and how it handles those of the drive.
//!
//! Layer: part of [`Host`]. Source: Serial ATA Revision 3, chapter 11 (the host's side of the command
//! layer) and 10.5; LiteSATA's observation that drives may split IDENTIFY data into several Data FISes.

use crate::LARGEST_DATA;
use crate::SECTOR_DWORDS;
use crate::agent::{Agent, Gate, Outcome, Outgoing, Reception};
use crate::host::command::Code;
use crate::host::report::{Failure, Taskfile};
use crate::host::slot::{self, Contents, Frame, Slot, Source};
use crate::host::{Build, Host, Offer, PendingCommand, Phase, index};
use crate::wire::fis::{DmaSetup, Fis, PioSetup, RegisterD2h, SetDeviceBits, error, status};
use crate::wire::identify::{self, Identify};
use crate::wire::{Counting, Tick};

const FAILED: u8 = status::ERR | status::DF;

impl Host {
    /// Returns what can be sent, and from when on.
    #[inline]
    fn offer(&self) -> (Tick, Offer) {
        let reset = (self.deadline, Offer::Reset);
        if self.needs_reset {
            return if self.reset_sent { reset } else { (Tick::ZERO, Offer::Reset) };
        }
        if !self.has_signature {
            return reset;
        }
        if let Phase::Out { left, is_ready: true, .. } = self.phase {
            let dwords = u32::try_from(left).unwrap_or(LARGEST_DATA).min(LARGEST_DATA);
            return (Tick::ZERO, Offer::Data(dwords));
        }
        match &self.pending {
            Some(pending) if self.unaccepted.is_none() && pending.at < self.deadline => {
                (pending.at, Offer::Command)
            }
            _ => reset,
        }
    }

    fn slot(&mut self, tag: u8) -> &mut Slot {
        &mut self.slots[usize::from(tag)]
    }

    /// Handles a timeout: requests a reset, or fails the job if the limit of resets is reached.
    fn time_out(&mut self, now: Tick) {
        if self.reset_sent {
            self.count_reset();
        }
        (self.needs_reset, self.reset_sent) = (true, false);
        if self.resets >= self.settings.limits.resets {
            self.fail_job(now, Failure::Timeout { at: now, resets: self.resets });
        }
    }

    fn count_reset(&mut self) {
        let Some(active) = &mut self.active else { return };
        active.report.resets += 1;
        self.resets += 1;
    }

    const fn is_in_flight(&self, tag: u8) -> bool {
        self.in_flight >> tag & 1 == 1
    }

    /// Whether the commands in flight are queued commands.
    fn is_queued(&self) -> bool {
        self.in_flight != 0
            && self.slots[index(self.in_flight.trailing_zeros())].command.is_queued()
    }

    fn refuse(&mut self) -> Reception {
        if let Some(active) = &mut self.active {
            active.report.unexpected += 1;
        }
        Reception::Refuse
    }

    fn count_damage(&mut self) {
        if let Some(active) = &mut self.active {
            active.report.damaged += 1;
        }
    }

    /// Handles the outcome of sending the pending command.
    fn command_sent(&mut self, now: Tick, outcome: Outcome) {
        let Some(pending) = self.pending.take() else { return };
        if outcome != Outcome::Accepted {
            return self.command_damaged(now, pending);
        }
        let PendingCommand { tag, command, timer, .. } = pending;
        *self.slot(tag) = Slot::new(command, timer, now.after(self.ticks.timeout));
        if self.in_flight == 0
            && self.settings.build == Build::Single
            && let Some(active) = &mut self.active
            && active.report.timer_ticks == 0
        {
            active.report.start = timer;
        }
        self.in_flight |= 1 << tag;
        let left = command.dwords();
        if command.is_queued() {
            self.unaccepted = Some(tag);
        } else {
            self.phase = match command.code {
                Code::Transfer { .. } if command.is_write() => {
                    Phase::Out { tag, left, is_ready: false }
                }
                Code::Transfer { .. } => Phase::In { tag, left },
                _ => Phase::None,
            };
        }
        self.update_deadline();
        self.choose_command(now);
    }

    /// Retries a command that the transport failed to send.
    fn command_damaged(&mut self, now: Tick, mut pending: PendingCommand) {
        self.count_damage();
        pending.command.tries += 1;
        if pending.command.tries > self.settings.limits.reissues {
            let (first, sectors) = (pending.command.lba, pending.command.sectors);
            let tries = pending.command.tries;
            return self.fail_job(now, Failure::Link { first, sectors, tries });
        }
        if let Some(active) = &mut self.active {
            active.report.reissues += 1;
        }
        self.pending = Some(PendingCommand { at: now, ..pending });
    }

    /// Handles the outcome of sending a Data FIS.
    #[inline]
    fn data_sent(&mut self, dwords: u32, outcome: Outcome) {
        let Phase::Out { tag, left, .. } = self.phase else { return };
        let dwords = u64::from(dwords);
        if outcome == Outcome::Accepted {
            self.slot(tag).moved += dwords;
            self.phase = Phase::Out { tag, left: left - dwords, is_ready: false };
        } else {
            self.count_damage();
            self.slot(tag).is_damaged = true;
            self.phase = Phase::Out { tag, left, is_ready: false };
        }
    }

    /// Handles a Register FIS: completion of an unqueued command, acceptance of a queued one, or a
    /// signature.
    fn register(&mut self, now: Tick, fis: &RegisterD2h) -> Reception {
        if fis.status & status::BSY != 0 {
            return Reception::Accept;
        }
        if !self.has_signature || is_signature(fis) {
            self.signature_received(now);
            return Reception::Accept;
        }
        if self.in_flight == 0 {
            // A drive may complete a PIO command this way after its data. It carries no new
            // information.
            return Reception::Accept;
        }
        if !self.is_queued() {
            let tag = u8::try_from(self.in_flight.trailing_zeros()).expect("there are 32 tags");
            self.complete(now, tag, fis);
            return Reception::Accept;
        }
        if fis.status & FAILED != 0 {
            self.fail_queue(fis.status, fis.error, fis.lba);
            return Reception::Accept;
        }
        if self.unaccepted.take().is_none() {
            return self.refuse();
        }
        self.choose_command(now);
        Reception::Accept
    }

    /// Handles the drive's signature: the link came up, or the drive was power-cycled.
    fn signature_received(&mut self, now: Tick) {
        if self.has_signature {
            self.requeue_in_flight();
        }
        self.has_signature = true;
        (self.needs_reset, self.reset_sent) = (false, false);
        self.free_at = self.free_at.max(now);
        self.choose_command(now);
    }

    fn taskfile(&self, tag: u8, fis: &RegisterD2h) -> Taskfile {
        let command = &self.slots[usize::from(tag)].command;
        let lba = match command.is_28_bit() {
            true => fis.lba & 0xFF_FFFF | u64::from(fis.device & 0x0F) << 24,
            false => fis.lba,
        };
        Taskfile {
            command: command.opcode(),
            first: command.lba,
            sectors: command.sectors,
            status: fis.status,
            error: fis.error,
            lba,
        }
    }

    /// Completes a command with the status of `fis`.
    fn complete(&mut self, now: Tick, tag: u8, fis: &RegisterD2h) {
        self.phase = Phase::None;
        let failed = fis.status & FAILED != 0;
        if failed {
            let taskfile = self.taskfile(tag, fis);
            let slot = *self.slot(tag);
            self.release_slot(now, tag);
            let Some(active) = &mut self.active else { return };
            active.report.errors += 1;
            active.report.taskfile = Some(taskfile);
            // Bits besides ICRC only report consequences of the missing data.
            if fis.error & error::ICRC == 0 && !slot.is_damaged {
                return self.fail_job(now, Failure::Drive(taskfile));
            }
            return self.reissue(now, &slot);
        }
        self.complete_good(now, tag);
    }

    /// Frees the slot and notices the completion.
    fn release_slot(&mut self, now: Tick, tag: u8) {
        self.in_flight &= !(1 << tag);
        self.free_at = self.free_at.max(now).after(self.ticks.poll);
        let timer = self.slot(tag).timer;
        if self.settings.build == Build::Single
            && let Some(active) = &mut self.active
        {
            active.report.timer_ticks += self.free_at.since(timer);
        }
    }

    /// Completes a command that the drive reports as successful.
    #[inline]
    fn complete_good(&mut self, now: Tick, tag: u8) {
        self.release_slot(now, tag);
        let slot = *self.slot(tag);
        if !slot.is_complete() {
            return self.reissue(now, &slot);
        }
        if slot.command.code == Code::Identify && !self.store_identity(now) {
            return;
        }
        self.resets = 0;
        let Some(active) = &mut self.active else { return };
        active.report.commands += 1;
        active.report.sectors += u64::from(slot.command.sectors);
        active.report.mismatches += slot.mismatches;
        active.first_mismatch = active.first_mismatch.or(slot.first_mismatch);
        self.update_deadline();
        self.choose_command(now);
    }

    /// Stores the IDENTIFY data. Returns false and fails the job if they are invalid.
    fn store_identity(&mut self, now: Tick) -> bool {
        self.identity = identify::words(&self.words).ok().map(Box::new);
        match Identify::parse(&self.words) {
            Ok(drive) => {
                self.drive = Some(drive);
                true
            }
            Err(error) => {
                self.fail_job(now, Failure::Identity(error));
                false
            }
        }
    }

    /// Reissues a command whose data were damaged or missing, unless its retries are used up.
    fn reissue(&mut self, now: Tick, slot: &Slot) {
        let mut command = slot.command;
        command.tries += 1;
        let Some(active) = &mut self.active else { return };
        if command.tries > self.settings.limits.reissues {
            let (first, sectors, tries) = (command.lba, command.sectors, command.tries);
            return self.fail_job(now, Failure::Link { first, sectors, tries });
        }
        active.report.reissues += 1;
        active.reissues.push_back(command);
        self.update_deadline();
        self.choose_command(now);
    }

    /// Handles an NCQ error, with which the drive has aborted its queue.
    fn fail_queue(&mut self, status: u8, error: u8, lba: u64) {
        let tag = u8::try_from(self.in_flight.trailing_zeros()).expect("there are 32 tags");
        let fis = RegisterD2h { status, error, lba, ..RegisterD2h::default() };
        let taskfile = self.taskfile(tag, &fis);
        if let Some(active) = &mut self.active {
            active.report.errors += 1;
            active.report.taskfile = Some(taskfile);
            active.is_serial = true;
        }
        self.requeue_in_flight();
        (self.needs_reset, self.reset_sent) = (true, false);
    }

    fn set_device_bits(&mut self, now: Tick, fis: &SetDeviceBits) -> Reception {
        if !self.is_queued() || fis.active & !self.in_flight != 0 {
            return self.refuse();
        }
        let mut bits = fis.active;
        while bits != 0 {
            let tag = u8::try_from(bits.trailing_zeros()).expect("there are 32 tags");
            bits &= bits - 1;
            if matches!(self.phase, Phase::In { tag: moving, .. } | Phase::Out { tag: moving, .. } if moving == tag)
            {
                self.phase = Phase::None;
            }
            self.complete_good(now, tag);
        }
        if fis.status & FAILED != 0 && self.in_flight != 0 {
            self.fail_queue(fis.status, fis.error, 0);
        }
        Reception::Accept
    }

    /// Begins the data phase of a queued command.
    fn dma_setup(&mut self, fis: &DmaSetup) -> Reception {
        let Some(tag) =
            u8::try_from(fis.buffer).ok().filter(|&tag| tag < 32 && self.is_in_flight(tag))
        else {
            return self.refuse();
        };
        let slot = self.slots[usize::from(tag)];
        let left = u64::from(fis.count / 4);
        let fits = slot.command.is_queued()
            && slot.command.is_write() != fis.to_host
            && u64::from(fis.offset) == slot.moved * 4
            && (1..=slot.total - slot.moved).contains(&left);
        if !fits {
            return self.refuse();
        }
        self.phase = if fis.to_host {
            Phase::In { tag, left }
        } else {
            Phase::Out { tag, left, is_ready: fis.auto_activate }
        };
        Reception::Accept
    }

    fn dma_activate(&mut self) -> Reception {
        match self.phase {
            Phase::Out { tag, left, is_ready: false } if left > 0 => {
                self.phase = Phase::Out { tag, left, is_ready: true };
                Reception::Accept
            }
            _ => self.refuse(),
        }
    }

    fn pio_setup(&mut self, fis: &PioSetup) -> Reception {
        let tag = 0;
        let slot = self.slots[0];
        let left = u64::from(fis.transfer / 4);
        let fits = self.is_in_flight(tag)
            && slot.command.code == Code::Identify
            && fis.to_host
            && (1..=slot.total - slot.moved).contains(&left);
        if !fits {
            return self.refuse();
        }
        self.ending_status = fis.ending_status;
        self.phase = Phase::In { tag, left };
        Reception::Accept
    }

    /// Handles payload of the incoming frame.
    #[inline]
    fn receive_words(&mut self, dwords: u32, source: Source<'_>) {
        let Some(tag) = self.frame.tag else { return };
        let before = self.frame.taken;
        if !self.frame.accept(dwords) {
            return;
        }
        let slot = &self.slots[usize::from(tag)];
        let position = slot.moved + u64::from(before);
        if slot.command.code == Code::Identify {
            return slot::copy_words(part(&mut self.words, position, dwords), source);
        }
        let Some(active) = &mut self.active else { return };
        let lba = slot.command.lba;
        let in_job = (lba - active.first) * u64::from(SECTOR_DWORDS) + position;
        match &active.contents {
            Contents::Pattern(pattern) => {
                let expected = pattern.at(lba).from(position);
                self.frame.compare_pattern(lba, position, dwords, expected, source);
            }
            Contents::Words(words) => {
                let at = usize::try_from(in_job).expect("the words are in memory");
                let expected = &words[at..at + slot::size(dwords)];
                self.frame.compare_words(lba, position, expected, source);
            }
            Contents::Captured => {
                slot::copy_words(part(&mut active.report.data, in_job, dwords), source);
            }
            Contents::Ignored => {}
        }
    }
}

/// Returns `dwords` words from `position` on.
fn part(words: &mut [u32], position: u64, dwords: u32) -> &mut [u32] {
    let at = usize::try_from(position).expect("the words are in memory");
    &mut words[at..at + slot::size(dwords)]
}

/// Whether the FIS is the signature of a drive after a reset (ACS-2, 9.12): diagnostics passed, count
/// and LBA of one.
fn is_signature(fis: &RegisterD2h) -> bool {
    fis.status & FAILED == 0 && fis.error == 1 && fis.lba == 1 && fis.count == 1
}

impl Agent for Host {
    #[inline]
    fn wake(&self) -> Tick {
        if self.active.is_none() && !self.jobs.is_empty() {
            return Tick::ZERO;
        }
        self.offer().0
    }

    #[inline]
    fn next(&mut self, now: Tick) -> Option<Outgoing> {
        let may_begin = !self.needs_reset || self.reset_sent;
        if self.active.is_none() && may_begin && !self.jobs.is_empty() {
            self.start_next_job(now);
        }
        if self.deadline <= now {
            self.time_out(now);
        }
        let (at, offer) = self.offer();
        if at > now {
            return None;
        }
        self.offered = offer;
        match offer {
            Offer::Reset => {
                self.reset_sent = true;
                let waits = self.active.is_some();
                self.deadline = if waits { now.after(self.ticks.timeout) } else { Tick::NEVER };
                Some(Outgoing::Reset)
            }
            Offer::Data(dwords) => Some(Outgoing::Data(dwords)),
            Offer::Command => self
                .pending
                .map(|pending| Outgoing::Fis(Fis::RegisterH2d(pending.command.fis(pending.tag)))),
            Offer::None => None,
        }
    }

    fn requests_reset(&self, now: Tick) -> bool {
        // A frame may have hung while the host had no job. It is detected once there is one: the host
        // then treats the job as started, and its timeout runs.
        let waits = self.active.is_none() && !self.jobs.is_empty();
        let idle = if waits { self.free_at.after(self.ticks.timeout) } else { Tick::NEVER };
        let at = self.deadline.min(idle);
        (self.needs_reset && !self.reset_sent) || (at != Tick::NEVER && at <= now)
    }

    #[inline]
    fn sent(&mut self, now: Tick, outcome: Outcome) {
        match std::mem::replace(&mut self.offered, Offer::None) {
            Offer::Data(dwords) => self.data_sent(dwords, outcome),
            Offer::Command => self.command_sent(now, outcome),
            Offer::Reset | Offer::None => {}
        }
    }

    #[inline]
    fn received(&mut self, now: Tick, fis: &Fis) -> Reception {
        match fis {
            Fis::DmaActivate(_) => self.dma_activate(),
            Fis::RegisterD2h(fis) => self.register(now, fis),
            Fis::SetDeviceBits(fis) => self.set_device_bits(now, fis),
            Fis::DmaSetup(fis) => self.dma_setup(fis),
            Fis::PioSetup(fis) => self.pio_setup(fis),
            Fis::RegisterH2d(_) | Fis::Bist(_) => self.refuse(),
        }
    }

    #[inline]
    fn supply(&mut self, _now: Tick, _sent: u32) -> Gate {
        Gate::OPEN
    }

    fn fill(&mut self, first: u32, words: &mut [u32]) {
        let Phase::Out { tag, .. } = self.phase else { return words.fill(0) };
        let slot = &self.slots[usize::from(tag)];
        let position = slot.moved + u64::from(first);
        let Some(active) = &self.active else { return words.fill(0) };
        let in_job = (slot.command.lba - active.first) * u64::from(SECTOR_DWORDS) + position;
        match (
            &active.contents,
            slot::counting_pattern(&active.contents, slot.command.lba, position),
        ) {
            (_, Some(counting)) => counting.fill(0, words),
            (Contents::Words(all), None) => {
                let at = usize::try_from(in_job).expect("the words are in memory");
                words.copy_from_slice(&all[at..at + words.len()]);
            }
            _ => words.fill(0),
        }
    }

    #[inline]
    fn describe(&mut self) -> Option<Counting> {
        let Phase::Out { tag, .. } = self.phase else { return None };
        let slot = &self.slots[usize::from(tag)];
        let active = self.active.as_ref()?;
        slot::counting_pattern(&active.contents, slot.command.lba, slot.moved)
    }

    #[inline]
    fn begin(&mut self, _now: Tick) {
        self.frame = match self.phase {
            Phase::In { tag, left } => Frame::new(tag, left),
            _ => Frame::default(),
        };
    }

    #[inline]
    fn drain(&mut self, _now: Tick, _taken: u32) -> Gate {
        Gate::OPEN
    }

    #[inline]
    fn take(&mut self, words: &[u32]) {
        let dwords = u32::try_from(words.len()).expect("a frame holds few words");
        self.receive_words(dwords, Source::Words(words));
    }

    #[inline]
    fn take_described(&mut self, dwords: u32, words: Counting) {
        self.receive_words(dwords, Source::Counting(words));
    }

    #[inline]
    fn end(&mut self, now: Tick, good: bool) -> Reception {
        let frame = std::mem::take(&mut self.frame);
        let (Some(tag), Phase::In { left, .. }) = (frame.tag, self.phase) else {
            return self.refuse();
        };
        if !good || frame.overflows {
            self.count_damage();
            self.slot(tag).is_damaged = true;
            return Reception::Refuse;
        }
        let slot = self.slot(tag);
        slot.add_frame(&frame);
        let identified = slot.command.code == Code::Identify && slot.is_complete();
        self.phase = Phase::In { tag, left: left - u64::from(frame.taken) };
        if identified {
            let status = self.ending_status;
            self.complete(now, tag, &RegisterD2h { status, ..RegisterD2h::default() });
        }
        Reception::Accept
    }

    fn reset(&mut self, now: Tick) {
        self.has_signature = false;
        (self.needs_reset, self.reset_sent) = (false, false);
        self.frame = Frame::default();
        self.offered = Offer::None;
        self.deadline = Tick::NEVER;
        self.requeue_in_flight();
        self.free_at = self.free_at.max(now);
        self.count_reset();
        if self.active.is_some() {
            self.deadline = now.after(self.ticks.timeout);
        }
    }
}
