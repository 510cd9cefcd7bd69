//! Programs of a word or a write buffer.
//!
//! Layer: inside the chip. Main types: [`WriteBuffer`], [`Program`].
//! Source: S29GL-P data sheet, 7.7.1 to 7.7.3; S29GL-S data sheet, 5.4.1.
//!
//! A program of n of the N words of a buffer takes `buffer_overhead` plus n/N of the remaining drawn
//! time (assumed; data sheets give the time of a full buffer, some also that of a half).

use super::command::Command;
use super::span::Span;
use super::status::{DQ1, DQ5, data_polling};
use super::wiring::Address;
use super::{Chip, Work};
use crate::part::Part;
use boardlab_media::{ProgramTear, SectorIndex};
use boardlab_sim::{Bytes, Duration, Instant};

/// Largest write buffer: 512 words of 16 bits (M29EW).
const CAPACITY: usize = 1_024;

/// The data to program: a write buffer, or the word of a word program.
#[derive(Debug, Clone)]
pub(super) struct WriteBuffer {
    /// The contents of the page, overwritten by the loaded words.
    bytes: [u8; CAPACITY],
    /// The size of the page minus one.
    page_mask: u64,
    /// The number of words of a full buffer.
    words: u16,
    /// The offset of the page.
    page: u64,
    /// The number of words of this load.
    count: u16,
    /// The number of words of this load not yet written.
    remaining: u16,
    /// The last word loaded.
    last: u16,
    sector: SectorIndex,
}

/// A running or suspended program. Its data are in the write buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    /// The offset of the first byte.
    offset: Bytes,
    /// The length in bytes.
    length: usize,
    span: Span,
    /// The time to completion, which may exceed the maximum.
    time: Duration,
    /// Whether the program fails.
    fails: bool,
}

impl WriteBuffer {
    /// The write buffer of a part; one word on a part without a write buffer.
    pub(super) fn new(part: &Part) -> Self {
        let size = part.write_buffer.unwrap_or(Bytes::new(part.width.bytes()));
        Self {
            bytes: [0xFF; CAPACITY],
            page_mask: size.get() - 1,
            words: u16::try_from(size.get() / part.width.bytes()).expect("at most 512 words"),
            page: 0,
            count: 0,
            remaining: 0,
            last: 0,
            sector: SectorIndex::new(0),
        }
    }

    /// Puts a word at `offset`, which lies in the page.
    #[inline]
    fn put(&mut self, offset: u64, value: u16, wide: bool) {
        #[allow(clippy::cast_possible_truncation, reason = "masked to below 1,024")]
        let at = (offset & self.page_mask) as usize % CAPACITY;
        let [low, high] = value.to_le_bytes();
        self.bytes[at] = low;
        if wide {
            self.bytes[at | 1] = high;
        }
        self.last = value;
        self.remaining -= 1;
    }

    /// Puts words of 16 bits from `offset` on; `None`, and puts none, if one is not in the page or not of this
    /// load.
    fn put_all(&mut self, offset: u64, values: &[u16]) -> Option<()> {
        let count = u16::try_from(values.len()).ok()?;
        let remaining = self.remaining.checked_sub(count)?;
        let at = usize::try_from(offset.checked_sub(self.page)?).ok()?;
        let page = self.bytes.get_mut(..=usize::try_from(self.page_mask).ok()?)?;
        let bytes = page.get_mut(at..)?.as_chunks_mut::<2>().0.get_mut(..values.len())?;
        bytes.iter_mut().zip(values).for_each(|(bytes, value)| *bytes = value.to_le_bytes());
        self.last = *values.last()?;
        self.remaining = remaining;
        Some(())
    }
}

impl Chip {
    /// The cycle after `25`: the number of words minus one.
    pub(super) fn load_count(&mut self, sector: SectorIndex, address: Address, value: u16) {
        self.buffer.sector = sector;
        self.buffer.last = u16::MAX;
        if self.sector_at(address) != sector || value >= self.buffer.words {
            return self.abort_load();
        }
        self.buffer.count = value + 1;
        self.buffer.remaining = value + 1;
        self.command = Command::LoadFirst;
    }

    /// The first word, which selects the page; the page must be in the sector.
    pub(super) fn load_first(&mut self, address: Address, value: u16) {
        let offset = self.wiring.offset(address);
        if self.array.layout().sector_at(offset) != self.buffer.sector {
            return self.abort_load();
        }
        let page = offset.get() & !self.buffer.page_mask;
        self.buffer.page = page;
        let length = Bytes::new(self.buffer.page_mask + 1).to_usize();
        self.array.read(Bytes::new(page), &mut self.buffer.bytes[..length]);
        self.command = Command::Load;
        self.load_word(address, value);
    }

    /// A word of the selected page. The last write to an address wins.
    #[inline]
    pub(super) fn load_word(&mut self, address: Address, value: u16) {
        let offset = self.wiring.offset(address).get();
        if offset & !self.buffer.page_mask != self.buffer.page {
            return self.abort_load();
        }
        self.buffer.put(offset, self.wiring.data(value), self.wiring.is_wide());
        if self.buffer.remaining == 0 {
            self.command = Command::LoadConfirm;
        }
    }

    /// Takes further words of the selected page at consecutive addresses, as one [`Chip::write`] each; returns
    /// false, and takes none, in x8, beyond the page or beyond the words of this load.
    pub(crate) fn load_words(&mut self, first: Address, values: &[u16]) -> bool {
        let offset = self.wiring.offset(first).get();
        let takes = self.command == Command::Load
            && self.wiring.is_wide()
            && self.buffer.put_all(offset, values).is_some();
        if takes {
            self.counts.writes += values.len() as u64;
            if self.buffer.remaining == 0 {
                self.command = Command::LoadConfirm;
            }
        }
        takes
    }

    /// The cycle after the last word: `29` in the sector, or the load is aborted.
    pub(super) fn load_confirm(&mut self, now: Instant, address: Address, value: u16) {
        if value != 0x29 || self.sector_at(address) != self.buffer.sector {
            return self.abort_load();
        }
        self.command = Command::Idle;
        if !self.may_program(self.buffer.sector) {
            return;
        }
        self.counts.programs += 1;
        let status = data_polling(self.buffer.last);
        if self.protection.is_set(self.buffer.sector) {
            return self.start_protected(now, status, false);
        }
        let timing = &self.part.timing;
        let full = timing.buffer_program.time.sample(&mut self.streams.buffer);
        let share = full - timing.buffer_overhead;
        let time = timing.buffer_overhead
            + share * u64::from(self.buffer.count) / u64::from(self.buffer.words);
        let max = timing.buffer_program.max;
        let length = Bytes::new(self.buffer.page_mask + 1).to_usize();
        self.start_program(now, (Bytes::new(self.buffer.page), length), (time, max), status);
    }

    /// The cycle after `A0`: address and data of a word.
    pub(super) fn start_word(&mut self, now: Instant, address: Address, value: u16) {
        self.command = Command::Idle;
        let offset = self.wiring.offset(address);
        let sector = self.array.layout().sector_at(offset);
        if !self.may_program(sector) {
            return;
        }
        self.counts.programs += 1;
        let status = data_polling(value);
        if self.protection.is_set(sector) {
            return self.start_protected(now, status, false);
        }
        let time = self.part.timing.word_program.time.sample(&mut self.streams.word);
        let max = self.part.timing.word_program.max;
        self.buffer.bytes[..2].copy_from_slice(&value.to_le_bytes());
        let length = if self.wiring.is_wide() { 2 } else { 1 };
        self.start_program(now, (offset, length), (time, max), status);
    }

    /// Whether a sector may be programmed: not while its own erase is suspended. Such a program
    /// is dropped (assumed; data sheets forbid it).
    fn may_program(&self, sector: SectorIndex) -> bool {
        self.erase.as_ref().is_none_or(|erase| !erase.selects(sector))
    }

    /// Starts to program what the buffer holds at `place`: first byte and length; `timing` is
    /// the time it takes and the maximum.
    fn start_program(
        &mut self,
        now: Instant,
        place: (Bytes, usize),
        timing: (Duration, Duration),
        status: u16,
    ) {
        let (offset, length) = place;
        let mut fails = false;
        if !self.part.features.masks_ones || self.faults.has_bad_cells() {
            let mut held = [0; CAPACITY];
            self.array.read(offset, &mut held[..length]);
            let data = &mut self.buffer.bytes[..length];
            let sets = data.iter().zip(&held).any(|(&new, &old)| new & !old != 0);
            fails = sets && !self.part.features.masks_ones;
            fails |= self.faults.mask_bad_cells(offset, data, &held[..length]);
        }
        let (time, max) = (self.faults.time(timing.0), timing.1);
        let limit = if fails { max } else { time };
        let span = Span::new(now, self.faults.limit(limit, max));
        self.program = Some(Program { offset, length, span, time, fails: fails || time > max });
        self.status = status;
        self.run_program();
    }

    /// Runs the program that was started or resumed.
    fn run_program(&mut self) {
        self.work = Work::Program;
        self.stuck = false;
        self.event_at = self.next_event();
    }

    /// Processes the event of a running program at `at`: its end, or its suspension.
    pub(super) fn advance_program(&mut self, at: Instant) {
        let Some(program) = &mut self.program else { return self.become_idle() };
        if program.span.end() > at {
            program.span.pause(at);
            return self.become_idle();
        }
        let program = *program;
        self.apply_program(program, program.span.whole);
        self.program = None;
        self.finish();
        if program.fails {
            self.stuck = false;
            self.work = Work::Failed;
            self.status |= DQ5;
            self.register |= super::status::PROGRAM_FAILED;
        }
    }

    /// `50`, or `30`, while a program is suspended.
    pub(super) fn resume_program(&mut self, now: Instant) {
        if let Some(program) = &mut self.program {
            program.span.resumed = now;
            self.run_program();
        }
    }

    /// Applies to the cells the effect of `elapsed` of a program's time.
    fn apply_program(&mut self, program: Program, elapsed: Duration) {
        let data = &self.buffer.bytes[..program.length];
        let tear = ProgramTear::at(elapsed, program.time);
        tear.apply(&mut self.array, program.offset, data, &mut self.streams.torn);
    }

    /// Interrupts the running or suspended program and leaves it torn.
    pub(super) fn tear_program(&mut self, now: Instant) {
        if let Some(mut program) = self.program.take() {
            if self.work == Work::Program {
                program.span.pause(now);
            }
            self.apply_program(program, program.span.done);
        }
    }

    /// The end of the program, unless it is suspended.
    pub(super) fn program_end(&self) -> Instant {
        self.program.map_or(Instant::MAX, |program| program.span.end())
    }

    /// Whether `offset` is in the range of a running or suspended program.
    pub(super) fn is_being_programmed(&self, offset: Bytes) -> bool {
        self.program.is_some_and(|program| {
            let length = Bytes::new(u64::try_from(program.length).expect("at most 1,024"));
            (program.offset..program.offset + length).contains(&offset)
        })
    }

    /// Aborts a load after an invalid cycle: no program, and DQ1 until the abort reset.
    #[cold]
    fn abort_load(&mut self) {
        self.command = Command::Idle;
        self.work = Work::Aborted;
        self.status = data_polling(self.buffer.last) | DQ1;
        self.refresh();
    }
}
