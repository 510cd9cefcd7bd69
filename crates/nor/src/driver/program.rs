//! Writes: from the call to the last completed buffer.

use crate::bus::ChipIndex;
use crate::driver::poll::{EmbeddedOperation, Outcome};
use crate::driver::steps::Step;
use crate::driver::{Board, Driver, power_cut_error};
use boardlab_mtd::{BlockIndex, Error};
use boardlab_sim::{Bytes, Clock, Ticks};

/// The most bus words of a write buffer (M29EW: 1 KiB in x16).
const WORDS_MAX: usize = 512;

/// A buffer that a chip is programming.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    operation: EmbeddedOperation,
    /// Linear offset of the buffer.
    offset: Bytes,
    /// Time base value at the end of the fill, where the wait begins.
    filled: Ticks,
}

/// A part of a write that fits one write buffer of one chip.
struct Chunk<'data> {
    chip: ChipIndex,
    /// Linear offset, for errors.
    offset: Bytes,
    /// Offset in the chip, aligned to a bus word.
    start: Bytes,
    /// Unused bytes of the first word.
    lead: usize,
    bytes: &'data [u8],
}

impl Chunk<'_> {
    /// The bus words to program, stored in `words`; bytes that are not written are all ones.
    fn words<'w>(&self, word: usize, words: &'w mut [u16; WORDS_MAX]) -> &'w [u16] {
        let count = (self.lead + self.bytes.len()).div_ceil(word);
        let words = &mut words[..count];
        if word == 1 {
            words.iter_mut().zip(self.bytes).for_each(|(word, &byte)| *word = u16::from(byte));
            return words;
        }
        words.fill(u16::MAX);
        let (head, rest) = self.bytes.split_at(self.lead.min(self.bytes.len()));
        if let [byte] = head {
            words[0] = u16::from_le_bytes([0xFF, *byte]);
        }
        let (pairs, odd) = rest.as_chunks::<2>();
        words[self.lead..]
            .iter_mut()
            .zip(pairs)
            .for_each(|(w, &pair)| *w = u16::from_le_bytes(pair));
        if let ([byte], Some(last)) = (odd, words.last_mut()) {
            *last = u16::from_le_bytes([*byte, 0xFF]);
        }
        words
    }
}

impl Driver {
    /// Writes `data` at linear `offset` and returns when the last buffer is programmed.
    ///
    /// # Errors
    /// As [`boardlab_mtd::Mtd::program`]; later buffers are not written.
    pub fn write(
        &mut self,
        board: &mut Board,
        clock: &mut Clock,
        offset: Bytes,
        data: &[u8],
    ) -> Result<(), Error> {
        let unit = self.profile.copy_unit.map_or(data.len(), Bytes::to_usize).max(1);
        self.timed(board, clock, Step::Call, |board, clock| {
            board.host.work(clock, board.host.timing().call);
        });
        let mut pending = vec![None; board.bus.chip_count()];
        let mut at = offset;
        let mut written = Ok(());
        for copied in data.chunks(unit) {
            if self.profile.copy_unit.is_some() {
                self.timed(board, clock, Step::Copy, |board, clock| {
                    board.host.copy(clock, Bytes::of(copied));
                });
            }
            written = written.and_then(|()| self.buffers(board, clock, at, copied, &mut pending));
            at += Bytes::of(copied);
        }
        for pending in pending.into_iter().flatten() {
            written = written.and(self.complete(board, clock, pending));
        }
        written
    }

    /// Splits `data` into buffers and writes them to the chips in turn.
    fn buffers(
        &mut self,
        board: &mut Board,
        clock: &mut Clock,
        offset: Bytes,
        data: &[u8],
        pending: &mut [Option<Pending>],
    ) -> Result<(), Error> {
        let word = board.bus.word();
        let buffer = self.cfi_info.write_buffer.unwrap_or(word).get();
        let (mut at, mut left) = (offset, data);
        while !left.is_empty() {
            let space = usize::try_from(buffer - at.get() % buffer).expect("at most 512 bytes");
            let (bytes, rest) = left.split_at(space.min(left.len()));
            let (chip, within) = board.bus.locate(at);
            let lead = within.get() % word.get();
            let start = within - Bytes::new(lead);
            let lead = usize::try_from(lead).expect("less than a word");
            let chunk = Chunk { chip, offset: at, start, lead, bytes };
            if let Some(before) = pending[chip.0].take() {
                self.complete(board, clock, before)?;
            }
            let begun = self.begin(board, clock, &chunk)?;
            match board.bus.chip_count() {
                1 => self.complete(board, clock, begun)?,
                _ => pending[chip.0] = Some(begun),
            }
            at += Bytes::of(bytes);
            left = rest;
        }
        Ok(())
    }

    /// Performs all steps of a buffer up to the confirming cycle.
    fn begin(
        &mut self,
        board: &mut Board,
        clock: &mut Clock,
        chunk: &Chunk<'_>,
    ) -> Result<Pending, Error> {
        if self.profile.refuses_protected {
            let sector = self.sector_of(chunk.start);
            if self.is_protected(chunk.chip, sector) {
                let block = BlockIndex(u32::try_from(sector).expect("fewer than 2^32 sectors"));
                return Err(Error::Protected { block });
            }
        }
        if self.profile.check_erased {
            self.timed(board, clock, Step::Check, |board, clock| read_target(board, clock, chunk));
        }
        self.timed(board, clock, Step::Split, |board, clock| {
            board.host.work(clock, board.host.timing().split);
        });
        let operation = if self.cfi_info.write_buffer.is_some() {
            self.begin_buffer(board, clock, chunk)
        } else {
            self.begin_word(board, clock, chunk)
        };
        if board.bus.power_lost_at().is_some() {
            return Err(power_cut_error(board));
        }
        Ok(Pending { operation, offset: chunk.offset, filled: board.host.ticks(clock) })
    }

    fn begin_buffer(
        &mut self,
        board: &mut Board,
        clock: &mut Clock,
        chunk: &Chunk<'_>,
    ) -> EmbeddedOperation {
        let word = board.bus.word().to_usize();
        let first = board.bus.address(chunk.start);
        let mut words = [0; WORDS_MAX];
        let words = chunk.words(word, &mut words);
        let last = u16::try_from(words.len() - 1).expect("at most 512 words");
        self.timed(board, clock, Step::Command, |board, clock| {
            board.unlocked(clock, chunk.chip, first, 0x25);
            board.bus.write(clock, chunk.chip, first, last);
        });
        let mut operation =
            EmbeddedOperation { chip: chunk.chip, address: first, datum: 0, started: clock.now() };
        self.timed(board, clock, Step::Fill, |board, clock| {
            board.bus.write_words(clock, chunk.chip, first, words);
            operation.address.0 += u32::from(last);
            operation.datum = words[usize::from(last)];
            board.bus.write(clock, chunk.chip, first, 0x29);
            operation.started = clock.now();
        });
        operation
    }

    fn begin_word(
        &mut self,
        board: &mut Board,
        clock: &mut Clock,
        chunk: &Chunk<'_>,
    ) -> EmbeddedOperation {
        let address = board.bus.address(chunk.start);
        let datum = chunk.words(board.bus.word().to_usize(), &mut [0; WORDS_MAX])[0];
        self.timed(board, clock, Step::Command, |board, clock| {
            board.unlocked(clock, chunk.chip, board.unlock[0], 0xA0);
        });
        self.timed(board, clock, Step::Fill, |board, clock| {
            board.bus.write(clock, chunk.chip, address, datum);
        });
        EmbeddedOperation { chip: chunk.chip, address, datum, started: clock.now() }
    }

    /// Waits for the completion of a buffer and records the durations.
    fn complete(
        &mut self,
        board: &mut Board,
        clock: &mut Clock,
        pending: Pending,
    ) -> Result<(), Error> {
        // With several chips the wait begins now, not when the chip started to program.
        let begun = match board.bus.chip_count() {
            1 => pending.filled,
            _ => board.host.ticks(clock),
        };
        let policy = &*self.program_wait;
        let (ready, timeout) = (self.profile.ready, self.program_timeout);
        let waited = board.wait(clock, pending.operation, ready, timeout, policy);
        let end = board.host.ticks(clock);
        self.polls.program += waited.polls;
        Self::learn(&mut *self.program_wait, &waited);
        let base = board.host.time_base();
        self.steps.of_mut(Step::Wait).record(base.duration(end.since(begun)));
        let fixed = waited.first_poll.since(begun);
        self.steps.of_mut(Step::WaitFixed).record(base.duration(fixed));
        self.steps.of_mut(Step::WaitPoll).record(base.duration(end.since(waited.first_poll)));
        if waited.outcome == Outcome::Done {
            return Ok(());
        }
        if waited.outcome != Outcome::PowerLost {
            board.recover(clock, pending.operation.chip, self.profile.recovery);
        }
        Err(self.error(board, pending.offset, &waited, base.duration(end.since(begun))))
    }

    /// Runs one step and records its duration, measured with the time base.
    fn timed(
        &mut self,
        board: &mut Board,
        clock: &mut Clock,
        step: Step,
        work: impl FnOnce(&mut Board, &mut Clock),
    ) {
        let before = board.host.ticks(clock);
        work(board, clock);
        let ticks = board.host.ticks(clock).since(before);
        self.steps.of_mut(step).record(board.host.time_base().duration(ticks));
    }
}

/// Reads the target of a program, which u-boot compares with the data.
fn read_target(board: &mut Board, clock: &mut Clock, chunk: &Chunk<'_>) {
    let mut target = vec![0; chunk.lead + chunk.bytes.len()];
    board.bus.read_range(clock, chunk.chip, chunk.start, &mut target);
}
