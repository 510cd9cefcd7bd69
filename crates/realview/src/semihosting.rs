//! Semihosting: calls of a program to its debugger.
//!
//! Layer: rank 4. Main type: [`Semihosting`]. Source: ARM DUI 0203J, chapter 8 "Semihosting";
//! `SYS_EXIT_EXTENDED` and `SYS_TICKFREQ` from ARM's "Semihosting for AArch32 and AArch64", 2.0.
//! Implemented are console, time, command line, heap information, exit, and the feature file
//! (`:semihosting-features`), which C libraries read before they exit with a code. Other files are
//! refused, so that a guest cannot access the host. Memory is read and written as the program sees
//! it, without using time and without changing the caches' state.

use boardlab_arm926::{Processor, Virtual};
use serde::{Deserialize, Serialize};

use crate::board::{Board, OUTPUT, Warning};

/// The result of a failed call.
const FAILED: u32 = u32::MAX;
/// The reason code of an ordinary exit (`ADP_Stopped_ApplicationExit`).
pub const APPLICATION_EXIT: u32 = 0x2_0026;
/// The contents of the feature file: its magic number, then SH_EXT_EXIT_EXTENDED and
/// SH_EXT_STDOUT_STDERR.
const FEATURES: [u8; 5] = [0x53, 0x48, 0x46, 0x42, 0b11];
/// The name of the feature file, and its handle.
const FEATURES_NAME: &[u8] = b":semihosting-features";
const FEATURES_HANDLE: u32 = 4;
/// The values of `errno` in use: EPERM and EBADF.
const NOT_PERMITTED: u32 = 1;
const BAD_HANDLE: u32 = 9;

mod call {
    pub(super) const OPEN: u32 = 0x01;
    pub(super) const CLOSE: u32 = 0x02;
    pub(super) const WRITE_CHARACTER: u32 = 0x03;
    pub(super) const WRITE_STRING: u32 = 0x04;
    pub(super) const WRITE: u32 = 0x05;
    pub(super) const READ: u32 = 0x06;
    pub(super) const READ_CHARACTER: u32 = 0x07;
    pub(super) const IS_ERROR: u32 = 0x08;
    pub(super) const IS_TERMINAL: u32 = 0x09;
    pub(super) const SEEK: u32 = 0x0A;
    pub(super) const LENGTH: u32 = 0x0C;
    pub(super) const CLOCK: u32 = 0x10;
    pub(super) const TIME: u32 = 0x11;
    pub(super) const ERROR_NUMBER: u32 = 0x13;
    pub(super) const COMMAND_LINE: u32 = 0x15;
    pub(super) const HEAP: u32 = 0x16;
    pub(super) const EXIT: u32 = 0x18;
    pub(super) const EXIT_EXTENDED: u32 = 0x20;
    pub(super) const ELAPSED: u32 = 0x30;
    pub(super) const TICK_RATE: u32 = 0x31;
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The call returns this value in r0.
    Return(u32),
    /// The program exits.
    Exit {
        /// The reason code.
        reason: u32,
        /// The exit code.
        code: u32,
    },
    /// The call reads, and there is no input yet.
    Wait,
}

/// The state of semihosting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Semihosting {
    /// Input that was not read yet.
    typed: std::collections::VecDeque<u8>,
    /// Whether the input is closed.
    closed: bool,
    /// Open handles, one bit each: 1 reads the console, 2 and 3 write to it, 4 reads the feature file.
    open: u8,
    /// The position in the feature file.
    position: u8,
    error: u32,
    /// The address of a call that has not returned: it waits for input, or it ended the program.
    pub(crate) pending: Option<u32>,
    pub(crate) command_line: String,
    /// The end address of the program.
    pub(crate) heap: u32,
}

impl Semihosting {
    /// Appends input from the host.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.typed.extend(bytes);
    }

    /// Closes the input.
    pub(crate) const fn close_input(&mut self) {
        self.closed = true;
    }

    /// Executes the call at the program counter of `processor`.
    pub(crate) fn serve(&mut self, processor: &mut Processor<Board>) -> Answer {
        let [number, block, ..] = processor.registers.r;
        let answer = match number {
            call::WRITE_CHARACTER => write_character(processor, block),
            call::WRITE_STRING => write_string(processor, block),
            call::READ_CHARACTER => return self.read_character(),
            call::READ => return self.read(processor, block).unwrap_or(Answer::Return(FAILED)),
            call::EXIT => {
                let code = u32::from(block != APPLICATION_EXIT);
                return Answer::Exit { reason: block, code };
            }
            call::EXIT_EXTENDED => return exit_extended(processor, block),
            call::OPEN => self.open(processor, block),
            call::CLOSE => self.close(processor, block),
            call::WRITE => self.write(processor, block),
            call::IS_ERROR => word(processor, block).map(|status| status >> 31),
            call::IS_TERMINAL => word(processor, block)
                .map(|handle| (self.is_open(handle) && handle != FEATURES_HANDLE).into()),
            call::SEEK => self.seek(processor, block),
            call::LENGTH => self.length(processor, block),
            call::ERROR_NUMBER => Some(self.error),
            call::COMMAND_LINE => self.get_command_line(processor, block),
            call::HEAP => self.heap_info(processor, block),
            _ => time(processor, number, block),
        };
        if answer.is_none() && !is_known(number) {
            processor.bus.warn(Warning::SemihostingCall { call: number });
        }
        Answer::Return(answer.unwrap_or(FAILED))
    }

    fn is_open(&self, handle: u32) -> bool {
        (1..=FEATURES_HANDLE).contains(&handle) && self.open >> handle & 1 == 1
    }

    fn fail(&mut self, error: u32) -> Option<u32> {
        self.error = error;
        None
    }

    /// SYS_OPEN of `:tt` (for reading, writing or appending, by the mode) or the feature file.
    fn open(&mut self, processor: &mut Processor<Board>, block: u32) -> Option<u32> {
        let [name, mode, length] = words(processor, block)?;
        let is = |file: &[u8]| {
            usize::try_from(length).is_ok_and(|length| length == file.len())
                && bytes(processor, name, length).is_some_and(|found| found == file)
        };
        if is(FEATURES_NAME) && mode < 2 {
            self.open |= 1 << FEATURES_HANDLE;
            self.position = 0;
            return Some(FEATURES_HANDLE);
        }
        if !is(b":tt") || mode > 11 {
            processor.bus.warn(Warning::SemihostingFile);
            return self.fail(NOT_PERMITTED);
        }
        let handle = 1 + mode / 4;
        self.open |= 1 << handle;
        Some(handle)
    }

    fn close(&mut self, processor: &Processor<Board>, block: u32) -> Option<u32> {
        let handle = word(processor, block)?;
        if !self.is_open(handle) {
            return self.fail(BAD_HANDLE);
        }
        self.open &= !(1 << handle);
        Some(0)
    }

    /// SYS_WRITE: writes to the console; returns the number of bytes not written.
    fn write(&mut self, processor: &mut Processor<Board>, block: u32) -> Option<u32> {
        let [handle, from, length] = words(processor, block)?;
        if !self.is_open(handle) || !(2..FEATURES_HANDLE).contains(&handle) {
            self.error = BAD_HANDLE;
            return Some(length);
        }
        let part = u32::try_from(OUTPUT).map_or(length, |most| length.min(most));
        let text = bytes(processor, from, part)?;
        processor.bus.append_output(0, &text);
        Some(length - part)
    }

    fn read_character(&mut self) -> Answer {
        match self.typed.pop_front() {
            Some(byte) => Answer::Return(byte.into()),
            None if self.closed => Answer::Return(FAILED),
            None => Answer::Wait,
        }
    }

    /// SYS_READ: reads at most a line of the input; returns the number of bytes of the buffer not
    /// filled.
    fn read(&mut self, processor: &mut Processor<Board>, block: u32) -> Option<Answer> {
        let [handle, to, length] = words(processor, block)?;
        if handle == FEATURES_HANDLE && self.is_open(handle) {
            return self.read_features(processor, to, length).map(Answer::Return);
        }
        if handle != 1 || !self.is_open(handle) {
            self.error = BAD_HANDLE;
            return None;
        }
        if self.typed.is_empty() && !self.closed && length > 0 {
            return Some(Answer::Wait);
        }
        let line = self.typed.iter().position(|&byte| byte == b'\n').map(|at| at + 1);
        let ready = line.unwrap_or(self.typed.len());
        let count = usize::try_from(length).map_or(ready, |length| ready.min(length));
        let text: Vec<u8> = self.typed.drain(..count).collect();
        put_bytes(processor, to, &text)?;
        Some(Answer::Return(length - u32::try_from(count).unwrap_or(length)))
    }

    fn read_features(
        &mut self,
        processor: &mut Processor<Board>,
        to: u32,
        length: u32,
    ) -> Option<u32> {
        let rest = FEATURES.get(usize::from(self.position)..)?;
        let count = usize::try_from(length).map_or(rest.len(), |length| rest.len().min(length));
        put_bytes(processor, to, rest.get(..count)?)?;
        let count = u8::try_from(count).ok()?;
        self.position += count;
        Some(length - u32::from(count))
    }

    /// SYS_SEEK: sets the position in the feature file.
    fn seek(&mut self, processor: &Processor<Board>, block: u32) -> Option<u32> {
        let [handle, to] = words(processor, block)?;
        let to = u8::try_from(to).ok().filter(|&to| usize::from(to) <= FEATURES.len());
        match to.filter(|_| handle == FEATURES_HANDLE && self.is_open(handle)) {
            Some(to) => self.position = to,
            None => return self.fail(BAD_HANDLE),
        }
        Some(0)
    }

    /// SYS_FLEN: the length of the feature file; the console has no length.
    fn length(&mut self, processor: &Processor<Board>, block: u32) -> Option<u32> {
        let handle = word(processor, block)?;
        if handle != FEATURES_HANDLE || !self.is_open(handle) {
            return self.fail(BAD_HANDLE);
        }
        u32::try_from(FEATURES.len()).ok()
    }

    /// SYS_GET_CMDLINE: fills the program's buffer with the zero-terminated command line and returns
    /// its length.
    fn get_command_line(&self, processor: &mut Processor<Board>, block: u32) -> Option<u32> {
        let [buffer, room] = words(processor, block)?;
        let mut text = self.command_line.clone().into_bytes();
        let length = u32::try_from(text.len()).ok()?;
        if room <= length {
            return None;
        }
        text.push(0);
        put_bytes(processor, buffer, &text)?;
        put_word(processor, block.wrapping_add(4), length)?;
        Some(0)
    }

    /// SYS_HEAPINFO, four words: heap base and limit, stack base and limit. Both lie between the
    /// program's end and the end of memory.
    fn heap_info(&self, processor: &mut Processor<Board>, block: u32) -> Option<u32> {
        let target = word(processor, block)?;
        let (low, high) = (self.heap.next_multiple_of(4096), processor.bus.memory_size());
        for (index, value) in (0..).zip([low, high, high, low]) {
            put_word(processor, target.wrapping_add(4 * index), value)?;
        }
        Some(0)
    }
}

fn is_known(number: u32) -> bool {
    matches!(number, 0x01..=0x0A | 0x0C | 0x10 | 0x11 | 0x13 | 0x15 | 0x16 | 0x30 | 0x31)
}

fn write_character(processor: &mut Processor<Board>, at: u32) -> Option<u32> {
    let text = bytes(processor, at, 1)?;
    processor.bus.append_output(0, &text);
    Some(processor.registers.r[0])
}

/// SYS_WRITE0: writes a zero-terminated string, truncated to the output buffer's size.
fn write_string(processor: &mut Processor<Board>, at: u32) -> Option<u32> {
    let mut text = Vec::new();
    for offset in (0..).take(OUTPUT) {
        match byte(processor, at.wrapping_add(offset))? {
            0 => break,
            byte => text.push(byte),
        }
    }
    processor.bus.append_output(0, &text);
    Some(processor.registers.r[0])
}

fn exit_extended(processor: &Processor<Board>, block: u32) -> Answer {
    let Some([reason, code]) = words(processor, block) else { return Answer::Return(FAILED) };
    let code = if reason == APPLICATION_EXIT { code } else { 1 };
    Answer::Exit { reason, code }
}

/// The calls about time: since reset in hundredths of a second, of the real-time clock, and in core
/// cycles.
fn time(processor: &mut Processor<Board>, number: u32, block: u32) -> Option<u32> {
    let (now, clock) = (processor.now, processor.bus.clock());
    match number {
        call::CLOCK => {
            let hundredths = clock.ticks(boardlab_sim::Hertz::from_hz(100), now);
            u32::try_from(hundredths % (1 << 31)).ok()
        }
        call::TIME => Some(processor.bus.seconds(now)),
        call::ELAPSED => {
            let [low, high] = [now.0 & 0xFFFF_FFFF, now.0 >> 32].map(u32::try_from);
            put_word(processor, block, low.ok()?)?;
            put_word(processor, block.wrapping_add(4), high.ok()?)?;
            Some(0)
        }
        call::TICK_RATE => u32::try_from(clock.rate().get()).ok(),
        _ => None,
    }
}

/// Reads the byte at `at` as the program sees it.
fn byte(processor: &Processor<Board>, at: u32) -> Option<u8> {
    let word = processor.memory.peek(Virtual(at & !3), &processor.bus)?;
    word.to_le_bytes().get(usize::try_from(at & 3).ok()?).copied()
}

fn bytes(processor: &Processor<Board>, at: u32, count: u32) -> Option<Vec<u8>> {
    (0..count).map(|offset| byte(processor, at.wrapping_add(offset))).collect()
}

fn word(processor: &Processor<Board>, at: u32) -> Option<u32> {
    let bytes = bytes(processor, at, 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn words<const COUNT: usize>(processor: &Processor<Board>, at: u32) -> Option<[u32; COUNT]> {
    let mut values = [0; COUNT];
    for (offset, value) in (0..).step_by(4).zip(&mut values) {
        *value = word(processor, at.wrapping_add(offset))?;
    }
    Some(values)
}

fn put_bytes(processor: &mut Processor<Board>, at: u32, bytes: &[u8]) -> Option<()> {
    for (offset, &byte) in (0..).zip(bytes) {
        let address = at.wrapping_add(offset);
        let (aligned, shift) = (Virtual(address & !3), (address & 3) * 8);
        let Processor { memory, bus, .. } = processor;
        let old = memory.peek(aligned, bus)?;
        let new = (old & !(0xFF << shift)) | u32::from(byte) << shift;
        memory.poke(aligned, new, bus).then_some(())?;
    }
    Some(())
}

fn put_word(processor: &mut Processor<Board>, at: u32, value: u32) -> Option<()> {
    put_bytes(processor, at, &value.to_le_bytes())
}
