//! A chip with command, address and data cycles.
//!
//! Layer: inside the chip. Main type: [`ParallelChip`].
//!
//! ```text
//!   large page   00h, 2 column, 2-3 row, 30h -> busy -> data out; 05h, 2 column, E0h -> data out
//!                80h, 2 column, 2-3 row, data in; 85h, 2 column, data in; 10h -> busy
//!   small page   00h | 01h | 50h, 1 column, 2-3 row -> busy -> data out
//!                00h | 01h | 50h, 80h, 1 column, 2-3 row, data in; 10h -> busy
//!   both         60h, 2-3 row, D0h -> busy;  70h -> status out;  FFh -> busy
//!                90h, 00h | 20h -> identity out;  ECh, 00h -> busy -> parameter page out
//! ```
//!
//! On a small page 01h and 50h select the origin of the column: the second half of the page, or its
//! OOB bytes. 01h applies to one operation, 00h and 50h until the next such command. After a status
//! a 00h without address returns to data out.
//!
//! Source: ONFI 1.0, section 5; K9F5608U0C data sheet, "Pointer operation".

use super::die::Die;
use super::{Refusal, parameter};
use crate::part::{BusWidth, Interface, Part};
use boardlab_media::Row;
use boardlab_sim::Instant;
use std::ops::Range;

/// Status bit 0: the last program or erase failed.
pub const FAIL: u8 = 0x01;
/// Status bits 6 and 5: ready, and nothing runs behind a cache.
pub const READY: u8 = 0x60;
/// Status bit 7: not write-protected.
pub const UNPROTECTED: u8 = 0x80;

/// The state of the command interface: what it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A command.
    Idle,
    /// Address cycles of this command, then the command that ends it.
    Address(u8),
    /// Data in, 85h or 10h, for a page whose address is complete.
    DataIn(Row),
}

/// The source of data-out cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Nothing,
    Register,
    Status,
    Identity,
    OnfiSignature,
    ParameterPage,
}

/// A chip with a parallel bus.
#[derive(Debug, Clone)]
pub struct ParallelChip {
    die: Die,
    state: State,
    output: Output,
    cycles: Vec<u8>,
    /// The next column of the register, or the next byte of another output.
    column: usize,
    /// The columns that data were written to since 80h.
    loaded: Range<usize>,
    /// Small page: the command that selected the origin of the column.
    pointer: u8,
    /// Whether the register was being read before the status.
    resumes: bool,
    /// The page of a program whose column is being changed (85h).
    pending: Option<Row>,
    width: BusWidth,
}

impl ParallelChip {
    /// A chip with `die`, ready for commands. A part with a serial bus gets eight data lines.
    #[must_use]
    pub fn new(die: Die) -> Self {
        let width = match die.part().interface {
            Interface::Parallel(width) => width,
            Interface::Spi { .. } => BusWidth::X8,
        };
        Self {
            die,
            state: State::Idle,
            output: Output::Nothing,
            cycles: Vec::with_capacity(5),
            column: 0,
            loaded: 0..0,
            pointer: 0x00,
            resumes: false,
            pending: None,
            width,
        }
    }

    /// The die.
    #[must_use]
    pub const fn die(&self) -> &Die {
        &self.die
    }

    /// The die, for faults, bit errors and contents.
    pub const fn die_mut(&mut self) -> &mut Die {
        &mut self.die
    }

    /// The number of bits of a row address that select the page; those above select the block.
    #[must_use]
    pub const fn page_bits(part: &Part) -> u32 {
        part.geometry.pages_per_block.next_power_of_two().trailing_zeros()
    }

    /// Row address cycles: two up to 65,536 rows, else three.
    #[must_use]
    pub fn row_cycles(part: &Part) -> u32 {
        let blocks = part.geometry.blocks.next_power_of_two().trailing_zeros();
        if Self::page_bits(part) + blocks > 16 { 3 } else { 2 }
    }

    /// Column address cycles: two, or one on a small page.
    #[must_use]
    pub fn column_cycles(part: &Part) -> u32 {
        if part.is_small_page() { 1 } else { 2 }
    }

    /// The address cycles of a row, lowest first; three, of which the first [`Self::row_cycles`] count.
    #[must_use]
    pub fn row_address(part: &Part, row: Row) -> [u8; 3] {
        let number = (row.block << Self::page_bits(part)) | row.page;
        let [low, middle, high, _] = number.to_le_bytes();
        [low, middle, high]
    }

    /// Cuts the power; the state of the command interface is lost.
    pub fn power_cut(&mut self, now: Instant, cut: super::Cut) {
        self.die.power_cut(now, cut);
        self.forget();
        self.pointer = 0x00;
    }

    /// A command cycle that ends at `now`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn command(&mut self, now: Instant, code: u8) -> Result<(), Refusal> {
        if !self.die.is_powered() {
            return Err(Refusal::Off);
        }
        match code {
            0x70 => {
                self.resumes |= self.output == Output::Register;
                self.output = Output::Status;
                return Ok(());
            }
            0xFF => {
                self.die.reset(now);
                self.forget();
                self.pointer = 0x00;
                return Ok(());
            }
            _ => self.die.idle(now)?,
        }
        if self.die.part().is_small_page() {
            self.small_page_command(now, code)
        } else {
            self.large_page_command(now, code)
        }
    }

    /// An address cycle that ends at `now`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn address(&mut self, now: Instant, byte: u8) -> Result<(), Refusal> {
        self.addresses(now, &[byte])
    }

    /// Address cycles, of which there is at least one, and the last of which ends at `now`.
    ///
    /// # Errors
    /// [`Refusal`]; the cycles before the refused one are taken.
    pub fn addresses(&mut self, now: Instant, bytes: &[u8]) -> Result<(), Refusal> {
        self.die.idle(now)?;
        let State::Address(code) = self.state else { return Err(Refusal::UnexpectedAddress) };
        let left = self.taken(code).saturating_sub(self.cycles.len());
        if left == 0 {
            return Err(Refusal::UnexpectedAddress);
        }
        let (own, beyond) = bytes.split_at(bytes.len().min(left));
        self.cycles.extend_from_slice(own);
        if own.len() < left {
            return Ok(());
        }
        let done = self.address_complete(now, code);
        if done.is_err() {
            self.forget();
        }
        if beyond.is_empty() { done } else { done.and_then(|()| self.addresses(now, beyond)) }
    }

    /// Data-in cycles, the last of which ends at `now`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn input(&mut self, now: Instant, data: &[u8]) -> Result<(), Refusal> {
        self.die.idle(now)?;
        if !matches!(self.state, State::DataIn(_)) {
            return Err(Refusal::UnexpectedData);
        }
        let columns = self.column..self.column + data.len();
        let size = self.die.part().geometry.row_bytes();
        if columns.end > size {
            return Err(Refusal::BeyondPage { column: size });
        }
        self.die.register_mut()[columns.clone()].copy_from_slice(data);
        self.loaded = if self.loaded.is_empty() {
            columns.clone()
        } else {
            self.loaded.start.min(columns.start)..self.loaded.end.max(columns.end)
        };
        self.column = columns.end;
        Ok(())
    }

    /// Data-out cycles, the last of which ends at `now`.
    ///
    /// # Errors
    /// [`Refusal`]; a status can be read at any time.
    pub fn output(&mut self, now: Instant, buffer: &mut [u8]) -> Result<(), Refusal> {
        if !self.die.is_powered() {
            return Err(Refusal::Off);
        }
        if self.output == Output::Status {
            self.die.advance(now);
            buffer.fill(self.status(now));
            return Ok(());
        }
        self.die.idle(now)?;
        // After a status, 00h without an address goes back to the register.
        let resumed = self.state == State::Address(0x00) && self.cycles.is_empty();
        match self.output {
            Output::Register if self.state == State::Idle || resumed => self.give_register(buffer),
            Output::Identity => {
                let identity = self.die.part().identity.clone();
                self.give_again_and_again(&identity, buffer);
                Ok(())
            }
            Output::OnfiSignature => {
                let known = self.die.part().onfi.is_some();
                self.give_again_and_again(if known { b"ONFI" } else { &[0; 4] }, buffer);
                Ok(())
            }
            Output::ParameterPage => {
                let page = parameter::page(self.die.part()).ok_or(Refusal::NoData)?;
                self.give_again_and_again(&page, buffer);
                Ok(())
            }
            _ => Err(Refusal::NoData),
        }
    }

    fn large_page_command(&mut self, now: Instant, code: u8) -> Result<(), Refusal> {
        match (code, self.state) {
            (0x00, _) => {
                self.expect_read_address(code);
                Ok(())
            }
            (0x30, State::Address(0x00)) => {
                let (column, row) = self.addressed()?;
                self.die.load(now, row)?;
                self.ready_to_give(column);
                Ok(())
            }
            (0x05, State::Idle) if self.output == Output::Register => {
                self.expect_address(code);
                self.output = Output::Register;
                Ok(())
            }
            (0xE0, State::Address(0x05)) => {
                let column = self.column_address()?;
                self.ready_to_give(column);
                Ok(())
            }
            (0x85, State::DataIn(row)) => {
                self.cycles.clear();
                self.state = State::Address(0x85);
                self.pending = Some(row);
                Ok(())
            }
            _ => self.shared_command(now, code),
        }
    }

    fn small_page_command(&mut self, now: Instant, code: u8) -> Result<(), Refusal> {
        match code {
            0x00 | 0x01 | 0x50 => {
                self.expect_read_address(code);
                self.pointer = code;
                Ok(())
            }
            _ => self.shared_command(now, code),
        }
    }

    fn shared_command(&mut self, now: Instant, code: u8) -> Result<(), Refusal> {
        match (code, self.state) {
            (0x80, _) => {
                self.expect_address(code);
                self.die.register_mut().fill(0xFF);
                self.loaded = 0..0;
                Ok(())
            }
            (0x10, State::DataIn(row)) => {
                self.die.program(now, row, self.loaded.clone())?;
                self.forget();
                self.one_shot_pointer();
                Ok(())
            }
            (0x60 | 0x90 | 0xEC, _) => {
                self.expect_address(code);
                Ok(())
            }
            (0xD0, State::Address(0x60)) => {
                let row = self.row_address_of(0)?;
                self.die.erase(now, row.block)?;
                self.forget();
                Ok(())
            }
            (0x10 | 0x30 | 0x05 | 0xE0 | 0x85 | 0xD0, _) => Err(Refusal::OutOfSequence(code)),
            _ => Err(Refusal::UnknownCommand(code)),
        }
    }

    /// Handles the last address cycle of `code`.
    fn address_complete(&mut self, now: Instant, code: u8) -> Result<(), Refusal> {
        match code {
            0x00 | 0x01 | 0x50 if self.die.part().is_small_page() => {
                let (column, row) = self.addressed()?;
                self.die.load(now, row)?;
                self.ready_to_give(column);
                self.one_shot_pointer();
                Ok(())
            }
            0x80 => {
                let (column, row) = self.addressed()?;
                self.state = State::DataIn(row);
                self.column = column;
                Ok(())
            }
            0x85 => {
                let column = self.column_address()?;
                let row = self.pending.take().ok_or(Refusal::OutOfSequence(code))?;
                self.state = State::DataIn(row);
                self.column = column;
                Ok(())
            }
            0x90 => {
                let signature = self.cycles[0] == 0x20;
                self.ready_to_give(0);
                self.output = if signature { Output::OnfiSignature } else { Output::Identity };
                Ok(())
            }
            0xEC => {
                let time = self.die.part().timing.read.max();
                self.die.hold(now, time);
                self.ready_to_give(0);
                self.output = Output::ParameterPage;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The number of address cycles that a command takes.
    fn taken(&self, code: u8) -> usize {
        let part = self.die.part();
        let (columns, rows) = (Self::column_cycles(part), Self::row_cycles(part));
        let cycles = match code {
            0x05 | 0x85 => columns,
            0x60 => rows,
            0x90 | 0xEC => 1,
            _ => columns + rows,
        };
        usize::try_from(cycles).expect("a few cycles")
    }

    /// Column and row of complete address cycles.
    fn addressed(&self) -> Result<(usize, Row), Refusal> {
        let columns = Self::column_cycles(self.die.part());
        let row = self.row_address_of(usize::try_from(columns).expect("one or two"))?;
        Ok((self.column_address()?, row))
    }

    fn row_address_of(&self, skip: usize) -> Result<Row, Refusal> {
        let part = self.die.part();
        let rows = Self::row_cycles(part);
        let expected = skip + usize::try_from(rows).expect("two or three");
        self.complete(expected)?;
        let bytes = self.cycles[skip..expected].iter().rev();
        let number = bytes.fold(0_u32, |number, &byte| number << 8 | u32::from(byte));
        let bits = Self::page_bits(part);
        let row = Row { block: number >> bits, page: number & ((1 << bits) - 1) };
        if part.geometry.contains(row) { Ok(row) } else { Err(Refusal::NoSuchRow(row)) }
    }

    fn column_address(&self) -> Result<usize, Refusal> {
        let part = self.die.part();
        let column = if part.is_small_page() {
            self.complete(1)?;
            let base = match self.pointer {
                0x01 => 256,
                0x50 => 512,
                _ => 0,
            };
            // Four address bits select one of the 16 OOB bytes.
            let mask = if base == 512 { part.geometry.oob.to_usize() - 1 } else { 0xFF };
            base + (usize::from(self.cycles[0]) & mask)
        } else {
            self.complete(2)?;
            let units = usize::from(u16::from_le_bytes([self.cycles[0], self.cycles[1]]));
            units * usize::try_from(self.width.bytes()).expect("one or two")
        };
        let size = part.geometry.row_bytes();
        if column < size { Ok(column) } else { Err(Refusal::BeyondPage { column }) }
    }

    fn complete(&self, expected: usize) -> Result<(), Refusal> {
        if self.cycles.len() >= expected {
            return Ok(());
        }
        let count = |cycles: usize| u32::try_from(cycles).expect("a few cycles");
        let (expected, found) = (count(expected), count(self.cycles.len()));
        Err(Refusal::AddressIncomplete { expected, found })
    }

    fn expect_address(&mut self, code: u8) {
        self.cycles.clear();
        self.state = State::Address(code);
        self.output = Output::Nothing;
        self.resumes = false;
    }

    /// Expects the address of a read command; without one the command returns from a status to the
    /// register.
    fn expect_read_address(&mut self, code: u8) {
        let back = self.resumes || self.output == Output::Register;
        self.expect_address(code);
        self.output = if back { Output::Register } else { Output::Nothing };
    }

    fn ready_to_give(&mut self, column: usize) {
        self.state = State::Idle;
        self.output = Output::Register;
        self.column = column;
        self.cycles.clear();
    }

    fn one_shot_pointer(&mut self) {
        if self.pointer == 0x01 {
            self.pointer = 0x00;
        }
    }

    fn forget(&mut self) {
        self.state = State::Idle;
        self.output = Output::Nothing;
        self.resumes = false;
        self.cycles.clear();
        self.loaded = 0..0;
    }

    fn give_register(&mut self, buffer: &mut [u8]) -> Result<(), Refusal> {
        let end = self.column + buffer.len();
        let Some(columns) = self.die.register().get(self.column..end) else {
            return Err(Refusal::BeyondPage { column: self.die.register().len() });
        };
        buffer.copy_from_slice(columns);
        self.column = end;
        self.state = State::Idle;
        Ok(())
    }

    /// Outputs `bytes`, repeated if the buffer is longer.
    fn give_again_and_again(&mut self, bytes: &[u8], buffer: &mut [u8]) {
        let given = bytes.iter().cycle().skip(self.column);
        buffer.iter_mut().zip(given).for_each(|(byte, &given)| *byte = given);
        self.column = (self.column + buffer.len()) % bytes.len().max(1);
    }

    fn status(&self, now: Instant) -> u8 {
        let ready = if now >= self.die.ready_at() { READY } else { 0 };
        let fail = if ready != 0 && self.die.failed() { FAIL } else { 0 };
        UNPROTECTED | ready | fail
    }
}
