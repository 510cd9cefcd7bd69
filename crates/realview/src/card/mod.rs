//! The memory card: its state machine, and its blocks on a block device.
//!
//! Layer: rank 4. Main types: [`Card`], [`Medium`]. Source: SD Physical Layer Simplified Specification
//! 6.00, chapter 4; the commands are those that a driver needs to find a card and to read and write it.
//! A card of up to 2 GiB is of standard capacity and is addressed by byte, a larger one by block. The
//! lines are infinitely fast; the time is that of the medium alone, which may be a model of a whole
//! card. Blocks of one transfer go to the medium together, up to [`TRANSFER_BLOCKS`].
//!
//! Left out: erase commands, passwords, group write protection, SPI mode, high speed, CRC errors.

mod medium;
mod registers;

use boardlab_block::Contents;
use boardlab_sim::Instant;
use serde::{Deserialize, Serialize};

use crate::error::Error;
pub(crate) use medium::BLOCK;
pub use medium::Medium;

/// The most blocks in one request to the medium: 64 KiB.
pub(crate) const TRANSFER_BLOCKS: usize = 128;
/// The relative card address (RCA) that the card publishes.
const ADDRESS: u16 = 0x4567;

/// Bits of the card status (section 4.10.1).
mod status {
    pub(super) const OUT_OF_RANGE: u32 = 1 << 31;
    pub(super) const ADDRESS_ERROR: u32 = 1 << 30;
    pub(super) const BLOCK_LENGTH_ERROR: u32 = 1 << 29;
    pub(super) const PROTECTED: u32 = 1 << 26;
    pub(super) const ILLEGAL_COMMAND: u32 = 1 << 22;
    pub(super) const ECC_FAILED: u32 = 1 << 21;
    pub(super) const ERROR: u32 = 1 << 19;
    pub(super) const READY_FOR_DATA: u32 = 1 << 8;
    pub(super) const APPLICATION: u32 = 1 << 5;
}

/// The card's state (figures 4-2 and 4-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    Idle,
    Ready,
    Identification,
    StandBy,
    Transfer,
    Sending,
    Receiving,
    Programming,
}

impl State {
    /// The CURRENT_STATE field of the card status.
    const fn number(self) -> u32 {
        match self {
            Self::Idle => 0,
            Self::Ready => 1,
            Self::Identification => 2,
            Self::StandBy => 3,
            Self::Transfer => 4,
            Self::Sending => 5,
            Self::Receiving => 6,
            Self::Programming => 7,
        }
    }

    /// Whether the card has published its relative address.
    const fn has_address(self) -> bool {
        self.number() >= Self::StandBy.number()
    }
}

/// The card's response to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Response {
    /// No response: the command has none, or it is illegal.
    None,
    /// 32 bits with a CRC.
    Short(u32),
    /// 32 bits without a CRC (R3).
    Unchecked(u32),
    /// A register of 128 bits with its CRC (R2).
    Long([u8; 16]),
}

/// The card's readiness on the data lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It can send or receive bytes.
    Ready,
    /// It is busy until then.
    ReadyAt(Instant),
    /// It waits for a command.
    Waiting,
    /// The transfer failed.
    Failed,
}

/// An SD card.
#[derive(Debug, Serialize, Deserialize)]
pub struct Card {
    #[serde(skip)]
    medium: Option<Medium>,
    blocks: u64,
    protected: bool,
    state: State,
    /// The error bits since the last response with the status.
    errors: u32,
    application: bool,
    wide: bool,
    block_length: u32,
    /// Whether the transfer has multiple blocks and continues until CMD12.
    multiple: bool,
    /// The next block of the transfer.
    next: u64,
    /// The data to send, from `position` on, or the data received.
    buffer: Vec<u8>,
    position: usize,
    /// The time in nanoseconds at which the buffer is read from or written to the medium.
    ready: u64,
    failed: bool,
}

impl Card {
    /// A card with this medium. It rejects writes if it is write-`protected`.
    ///
    /// # Errors
    ///
    /// [`Error::CardSize`] and [`Error::CardBlock`] if a card cannot have the medium's geometry.
    pub fn new(medium: Medium, protected: bool) -> Result<Self, Error> {
        let geometry = medium.geometry();
        let (size, found) = (geometry.size(), geometry.block);
        if found.to_usize() != BLOCK {
            return Err(Error::CardBlock { found });
        }
        let blocks = geometry.count;
        registers::csd(blocks).ok_or(Error::CardSize { size })?;
        Ok(Self {
            medium: Some(medium),
            blocks,
            protected,
            state: State::Idle,
            errors: 0,
            application: false,
            wide: false,
            block_length: 512,
            multiple: false,
            next: 0,
            buffer: Vec::new(),
            position: 0,
            ready: 0,
            failed: false,
        })
    }

    /// The medium; `None` in a restored card until [`Card::put_medium`].
    pub(crate) const fn medium(&self) -> Option<&Medium> {
        self.medium.as_ref()
    }

    /// Sets the medium of a restored card.
    pub(crate) fn put_medium(&mut self, medium: Medium) {
        self.medium = Some(medium);
    }

    /// The number of 512-byte blocks.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The contents, if the medium is memory. A clone is cheap.
    #[must_use]
    pub fn memory_contents(&self) -> Option<&Contents> {
        self.medium()?.memory_contents()
    }

    /// Reads the blocks from `first` on into the buffer; `None` if the medium is a device, the range
    /// is beyond the end or the buffer's length is not a multiple of the block size.
    pub fn contents(&self, first: u64, into: &mut [u8]) -> Option<()> {
        self.medium()?.contents(first, into)
    }

    pub(crate) const fn is_protected(&self) -> bool {
        self.protected
    }

    const fn high_capacity(&self) -> bool {
        registers::is_high_capacity(self.blocks)
    }

    /// Leaves the programming state if programming is complete at `now`.
    fn finish_programming(&mut self, now: Instant) {
        if self.state == State::Programming && now.as_nanos() >= self.ready {
            self.state = State::Transfer;
        }
    }

    /// The card status; reading it clears its error bits.
    fn status(&mut self) -> u32 {
        let ready = if self.state == State::Programming { 0 } else { status::READY_FOR_DATA };
        let application = if self.application { status::APPLICATION } else { 0 };
        let errors = std::mem::take(&mut self.errors);
        errors | self.state.number() << 9 | ready | application
    }

    /// Responds with the status, which shows the state before the command, and enters `state`.
    fn enter(&mut self, state: State) -> Response {
        let answer = Response::Short(self.status());
        self.state = state;
        answer
    }

    fn illegal(&mut self) -> Response {
        self.errors |= status::ILLEGAL_COMMAND;
        Response::None
    }

    /// Executes a command.
    pub(crate) fn command(&mut self, index: u8, argument: u32, now: Instant) -> Response {
        self.finish_programming(now);
        let application = self.application;
        let answer = match (application, index) {
            (true, 6 | 13 | 23 | 41 | 42 | 51) => self.application_command(index, argument),
            _ => self.basic_command(index, argument, now),
        };
        if index != 55 {
            self.application = false;
        }
        answer
    }

    fn basic_command(&mut self, index: u8, argument: u32, now: Instant) -> Response {
        let here = argument >> 16 == u32::from(ADDRESS);
        match (index, self.state) {
            (0, _) => self.reset(),
            (8, State::Idle) if argument >> 8 & 15 == 1 => Response::Short(argument & 0xFFF),
            (8, State::Idle) => Response::None,
            (2, State::Ready) => {
                self.state = State::Identification;
                Response::Long(registers::cid())
            }
            (3, State::Identification | State::StandBy) => self.send_relative_address(),
            (7, State::StandBy) if here => self.enter(State::Transfer),
            (7, State::Transfer | State::Sending | State::Programming) if !here => {
                self.state = State::StandBy;
                Response::None
            }
            (9, State::StandBy) if here => {
                registers::csd(self.blocks).map_or(Response::None, Response::Long)
            }
            (10, State::StandBy) if here => Response::Long(registers::cid()),
            (7 | 9 | 10 | 13, State::StandBy) if !here => Response::None,
            (12, State::Sending | State::Receiving) => self.stop(now),
            (13, state) if here && state.has_address() => Response::Short(self.status()),
            (55, State::Idle) => self.expect_application_command(),
            (55, state) if here && state.has_address() => self.expect_application_command(),
            (_, State::Transfer) => self.transfer_command(index, argument),
            _ => self.illegal(),
        }
    }

    /// CMD55: the next command is an application-specific one.
    fn expect_application_command(&mut self) -> Response {
        self.application = true;
        Response::Short(self.status())
    }

    /// CMD0: GO_IDLE_STATE.
    fn reset(&mut self) -> Response {
        self.state = State::Idle;
        (self.errors, self.wide, self.block_length) = (0, false, 512);
        self.reset_transfer();
        Response::None
    }

    /// CMD3: publishes the relative address. Its response, R6, has the address and part of the status.
    fn send_relative_address(&mut self) -> Response {
        let status = self.status();
        self.state = State::StandBy;
        let errors = (status >> 8 & 0xC000) | (status >> 6 & 0x2000);
        Response::Short(u32::from(ADDRESS) << 16 | errors | status & 0x1FFF)
    }

    fn application_command(&mut self, index: u8, argument: u32) -> Response {
        match (index, self.state) {
            (41, State::Idle) => self.send_operating_conditions(argument),
            (6, State::Transfer) => {
                self.wide = argument & 3 == 2;
                self.enter(State::Transfer)
            }
            (13, State::Transfer) => self.send(registers::sd_status(self.wide).to_vec()),
            (51, State::Transfer) => self.send(registers::SCR.to_vec()),
            (23 | 42, State::Transfer) => self.enter(State::Transfer),
            _ => self.illegal(),
        }
    }

    /// ACMD41: responds with the OCR. If the host requests a voltage, the card is ready at once,
    /// except a high-capacity card with a host that does not support such cards.
    fn send_operating_conditions(&mut self, argument: u32) -> Response {
        const VOLTAGES: u32 = 0x00FF_8000;
        let capacity = if self.high_capacity() { 1 << 30 } else { 0 };
        if argument & VOLTAGES == 0 {
            return Response::Unchecked(VOLTAGES);
        }
        if self.high_capacity() && argument & capacity == 0 {
            return Response::Unchecked(VOLTAGES);
        }
        self.state = State::Ready;
        Response::Unchecked(1 << 31 | capacity | VOLTAGES)
    }

    /// The commands of the transfer state.
    fn transfer_command(&mut self, index: u8, argument: u32) -> Response {
        match index {
            6 => self.send(registers::switch_status(argument).to_vec()),
            16 => {
                let valid = (1..=512).contains(&argument);
                if !valid {
                    self.errors |= status::BLOCK_LENGTH_ERROR;
                } else if !self.high_capacity() {
                    self.block_length = argument;
                }
                self.enter(State::Transfer)
            }
            17 | 18 => self.begin_read(argument, index == 18),
            24 | 25 => self.begin_write(argument, index == 25),
            _ => self.illegal(),
        }
    }

    /// Sends a register over the data lines.
    fn send(&mut self, bytes: Vec<u8>) -> Response {
        self.reset_transfer();
        self.buffer = bytes;
        self.enter(State::Sending)
    }

    fn reset_transfer(&mut self) {
        self.buffer.clear();
        (self.position, self.ready, self.next) = (0, 0, 0);
        (self.multiple, self.failed) = (false, false);
    }

    /// The block and the offset in it that an argument addresses, or the error bit of the status.
    fn locate(&self, argument: u32) -> Result<(u64, u32), u32> {
        let (block, offset) = if self.high_capacity() {
            (u64::from(argument), 0)
        } else {
            (u64::from(argument / 512), argument % 512)
        };
        if block >= self.blocks {
            return Err(status::OUT_OF_RANGE);
        }
        if offset + self.block_length > 512 {
            return Err(status::ADDRESS_ERROR);
        }
        Ok((block, offset))
    }

    /// CMD17 and CMD18. Only CMD17 can read a part of a block.
    fn begin_read(&mut self, argument: u32, multiple: bool) -> Response {
        match self.locate(argument) {
            Ok(_) if multiple && self.block_length != 512 => {
                self.errors |= status::BLOCK_LENGTH_ERROR;
                self.enter(State::Transfer)
            }
            Ok((block, offset)) => {
                self.reset_transfer();
                self.next = block;
                self.multiple = multiple;
                // The buffer is still empty: this is the offset of the partial block to be read.
                self.position = usize::try_from(offset).unwrap_or_default();
                self.enter(State::Sending)
            }
            Err(error) => {
                self.errors |= error;
                self.enter(State::Transfer)
            }
        }
    }

    /// CMD24 and CMD25.
    fn begin_write(&mut self, argument: u32, multiple: bool) -> Response {
        let error = match self.locate(argument) {
            Err(error) => error,
            Ok(_) if self.protected => status::PROTECTED,
            Ok(_) if self.block_length != 512 => status::BLOCK_LENGTH_ERROR,
            Ok((block, _)) => {
                self.reset_transfer();
                self.next = block;
                self.multiple = multiple;
                return self.enter(State::Receiving);
            }
        };
        self.errors |= error;
        self.enter(State::Transfer)
    }

    /// CMD12: ends the transfer; the data received are written.
    fn stop(&mut self, now: Instant) -> Response {
        let answer = Response::Short(self.status());
        if self.state == State::Receiving {
            self.program(now);
        } else {
            self.state = State::Transfer;
        }
        answer
    }
}

/// The data lines.
impl Card {
    /// Whether the card can send bytes to the host, which expects `expected` of them.
    pub(crate) fn poll_send(&mut self, expected: u32, now: Instant) -> Progress {
        if self.state != State::Sending {
            return Progress::Waiting;
        }
        if self.failed {
            return Progress::Failed;
        }
        if self.buffer.is_empty() && !self.fill(expected, now) {
            self.failed = true;
            return Progress::Failed;
        }
        if now.as_nanos() < self.ready {
            return Progress::ReadyAt(Instant::from_nanos(self.ready));
        }
        Progress::Ready
    }

    /// Reads from the medium as many blocks as the host expects.
    fn fill(&mut self, expected: u32, now: Instant) -> bool {
        let left =
            usize::try_from(self.blocks.saturating_sub(self.next)).unwrap_or(TRANSFER_BLOCKS);
        let asked = usize::try_from(expected).unwrap_or_default().div_ceil(BLOCK);
        let most = if self.multiple { asked.clamp(1, TRANSFER_BLOCKS) } else { 1 };
        let count = most.min(left);
        if count == 0 {
            self.errors |= status::OUT_OF_RANGE;
            return false;
        }
        self.buffer.resize(count * BLOCK, 0);
        let medium = self.medium.as_mut();
        let ended = medium.and_then(|medium| medium.read(now, self.next, &mut self.buffer));
        let Some(ended) = ended else {
            self.buffer.clear();
            self.errors |= status::ECC_FAILED;
            return false;
        };
        self.ready = ended.as_nanos();
        if !self.multiple {
            self.keep_partial_block();
        }
        self.next += u64::try_from(count).unwrap_or_default();
        true
    }

    /// Reduces the buffer to the partial block that the block length selects.
    fn keep_partial_block(&mut self) {
        let length = usize::try_from(self.block_length).unwrap_or(BLOCK);
        let end = (self.position + length).min(BLOCK);
        self.buffer.truncate(end);
        self.buffer.drain(..self.position.min(end));
        self.position = 0;
    }

    /// Sends up to four bytes; [`Card::poll_send`] must have returned [`Progress::Ready`].
    pub(crate) fn send_bytes(&mut self, most: usize) -> ([u8; 4], usize) {
        let end = (self.position + most.min(4)).min(self.buffer.len());
        let found = self.buffer.get(self.position..end).unwrap_or_default();
        let (mut bytes, count) = ([0; 4], found.len());
        bytes[..count].copy_from_slice(found);
        self.position = end;
        if self.position >= self.buffer.len() {
            self.buffer.clear();
            self.position = 0;
            if !self.multiple {
                self.state = State::Transfer;
            }
        }
        (bytes, count)
    }

    /// Whether the card can receive bytes from the host.
    pub(crate) fn poll_receive(&mut self, now: Instant) -> Progress {
        self.finish_programming(now);
        match self.state {
            State::Receiving if self.failed => Progress::Failed,
            State::Receiving if now.as_nanos() < self.ready => {
                Progress::ReadyAt(Instant::from_nanos(self.ready))
            }
            State::Receiving => Progress::Ready,
            _ => Progress::Waiting,
        }
    }

    /// Receives bytes; [`Card::poll_receive`] must have returned [`Progress::Ready`]. `last` if the
    /// host sends no more in this transfer.
    pub(crate) fn receive_bytes(&mut self, bytes: &[u8], last: bool, now: Instant) {
        self.buffer.extend_from_slice(bytes);
        if !self.multiple && self.buffer.len() >= BLOCK {
            self.program(now);
        } else if self.multiple && (last || self.buffer.len() >= TRANSFER_BLOCKS * BLOCK) {
            self.flush(now);
        }
    }

    /// Writes the whole blocks of the buffer to the medium.
    fn flush(&mut self, now: Instant) {
        let whole = self.buffer.len() / BLOCK;
        let count = u64::try_from(whole).unwrap_or_default();
        if whole == 0 {
            return;
        }
        if self.next.saturating_add(count) > self.blocks {
            self.errors |= status::OUT_OF_RANGE;
            self.failed = true;
        } else {
            let (medium, bytes) = (self.medium.as_mut(), &self.buffer[..whole * BLOCK]);
            match medium.and_then(|medium| medium.write(now, self.next, bytes)) {
                Some(ended) => self.ready = ended.as_nanos(),
                None => {
                    self.errors |= status::ERROR;
                    self.failed = true;
                }
            }
        }
        self.next += count;
        self.buffer.drain(..whole * BLOCK);
    }

    /// Writes the data received and enters the programming state until they are written. A partial
    /// block is dropped.
    fn program(&mut self, now: Instant) {
        self.flush(now);
        self.buffer.clear();
        self.state = State::Programming;
        self.finish_programming(now);
    }
}

#[cfg(test)]
mod tests;
