//! Sector protection: persistent protection bits (PPB), and operations on protected sectors.
//!
//! Layer: inside the chip. Main type: [`Protection`]. Source: S29GL-P data sheet, 8 and table 12.2;
//! S29GL-S data sheet, 5.6.2; Linux `cfi_cmdset_0002` `do_ppb_xxlock()`.
//!
//! A program or an erase of a protected sector is accepted, shows a status for the part's
//! `protected_latency` and changes nothing; DQ5 stays 0. A part with a status register reports it
//! there afterwards. An erase of several sectors skips the protected ones without a report.
//!
//! Assumed: a program of a bit takes as long as that of a word, an erase of all bits as long as that
//! of a sector, drawn from a separate stream; protection commands are refused during a suspension.

use super::command::Command;
use super::span::Span;
use super::status::{DQ3, ERASE_FAILED, LOCKED, PROGRAM_FAILED, data_polling};
use super::wiring::Address;
use super::{Chip, Work};
use boardlab_media::{EraseTear, ProgramTear, SectorIndex};
use boardlab_sim::{Duration, Instant};

/// The protection bits, one per sector; they are non-volatile.
#[derive(Debug, Clone)]
pub(super) struct Protection {
    bits: Box<[bool]>,
    /// Whether any bit is set.
    any: bool,
    /// The sector whose bit is being programmed.
    target: SectorIndex,
    span: Span,
}

impl Protection {
    /// Protection bits that are all clear.
    pub(super) fn new(sector_count: u32) -> Self {
        Self {
            bits: vec![false; SectorIndex::new(sector_count).to_usize()].into(),
            any: false,
            target: SectorIndex::new(0),
            span: Span::new(Instant::ZERO, Duration::ZERO),
        }
    }

    /// Whether a sector is protected.
    #[inline]
    pub(super) fn is_set(&self, sector: SectorIndex) -> bool {
        self.any && self.bits[sector.to_usize()]
    }

    fn set(&mut self, sector: SectorIndex, protected: bool) {
        self.bits[sector.to_usize()] = protected;
        self.any = self.bits.contains(&true);
    }
}

impl Chip {
    /// Whether a sector is protected.
    #[must_use]
    pub fn is_protected(&self, sector: SectorIndex) -> bool {
        self.protection.is_set(sector)
    }

    /// The cycle after `A0` in protection mode.
    pub(super) fn start_protect_bit(&mut self, now: Instant, address: Address, value: u16) {
        self.command = Command::Idle;
        if value == 0x00 {
            self.protection.target = self.sector_at(address);
            let time = self.part.timing.word_program.time.sample(&mut self.streams.protect);
            self.start_protection(now, Work::ProtectBit, time, data_polling(value));
        }
    }

    /// The cycle after `80` in protection mode.
    pub(super) fn start_unprotect_all(&mut self, now: Instant, value: u16) {
        self.command = Command::Idle;
        if value == 0x30 {
            let time = self.part.timing.sector_erase.time.sample(&mut self.streams.protect);
            self.start_protection(now, Work::UnprotectAll, time, DQ3);
        }
    }

    fn start_protection(&mut self, now: Instant, work: Work, time: Duration, status: u16) {
        self.protection.span = Span::new(now, time);
        self.work = work;
        self.status = status;
        self.event_at = self.protection.span.end();
    }

    /// Completes a program or erase of protection bits.
    pub(super) fn finish_protection(&mut self) {
        if self.work == Work::ProtectBit {
            self.protection.set(self.protection.target, true);
        } else {
            self.protection.bits.fill(false);
            self.protection.any = false;
        }
        self.become_idle();
    }

    /// Interrupts a program or erase of protection bits.
    pub(super) fn tear_protection(&mut self, now: Instant) {
        let span = self.protection.span;
        let elapsed = span.elapsed(now);
        match self.work {
            Work::ProtectBit => {
                let set = match ProgramTear::at(elapsed, span.whole) {
                    ProgramTear::Untouched => false,
                    ProgramTear::Partial(fraction) => fraction.chance(&mut self.streams.torn),
                    ProgramTear::Complete => true,
                };
                let before = self.protection.is_set(self.protection.target);
                self.protection.set(self.protection.target, before || set);
            }
            Work::UnprotectAll => {
                self.tear_unprotect_all(EraseTear::at(elapsed, span.whole));
            }
            _ => {}
        }
    }

    /// All bits are programmed first, then erased together.
    fn tear_unprotect_all(&mut self, tear: EraseTear) {
        let stream = &mut self.streams.torn;
        for bit in &mut self.protection.bits {
            *bit = match tear {
                EraseTear::Untouched => *bit,
                EraseTear::Preprogram(fraction) => fraction.chance(stream) || *bit,
                EraseTear::Erase(fraction) => !fraction.chance(stream),
                EraseTear::Complete => false,
            };
        }
        self.protection.any = self.protection.bits.contains(&true);
    }

    /// Starts a program or erase whose sectors are all protected.
    pub(super) fn start_protected(&mut self, now: Instant, status: u16, is_erase: bool) {
        self.work = Work::Protected;
        self.stuck = false;
        self.status = status;
        self.protected_error = if is_erase { ERASE_FAILED } else { PROGRAM_FAILED };
        self.event_at = now.saturating_add(self.part.timing.protected_latency);
    }

    /// Ends the busy time of an operation on a protected sector, and sets the status register.
    pub(super) fn report_protected(&mut self) {
        self.register |= LOCKED | self.protected_error;
        self.become_idle();
    }
}
