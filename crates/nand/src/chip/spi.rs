//! A chip with a serial bus and on-die ECC.
//!
//! Layer: inside the chip. Main types: [`SpiChip`], [`Phase`]. Each call is one selection of the
//! chip: an operation code with address and dummy bytes, then data in one direction.
//!
//! | code | what follows | does |
//! |---|---|---|
//! | FFh | | reset |
//! | 9Fh | 1 dummy | identity out |
//! | 0Fh, 1Fh | register (and value) | get, set feature: A0h protection, B0h configuration, C0h status |
//! | 06h, 04h | | write enable, disable |
//! | 13h | 3 row | page into the buffer, corrected |
//! | 03h, 0Bh, 3Bh, 6Bh | 2 column, 1 dummy | data out on 1, 1, 2, 4 lines |
//! | 02h, 32h | 2 column | buffer to ones, data in |
//! | 84h, 34h | 2 column | data in, the rest of the buffer stays |
//! | 10h | 3 row | program |
//! | D8h | 3 row | erase |
//!
//! Source: W25N01GV data sheet revision L, section 8. The array is locked after power-on, as there.
//! Assumed: the ECC, since data sheets do not publish it. Here it is Hamming for one bit and BCH
//! for more, with its bytes at the positions of [`Layout::on_die`]. A program corrects nothing: the
//! ECC bytes are calculated from the contents of the buffer. Left out: continuous read, bad block
//! links, one-time area.

use super::die::{Cut, Die};
use super::{ParallelChip, Refusal};
use crate::ecc::{Code, Engine};
use crate::oob::Layout;
use crate::part::{Part, PartError};
use boardlab_media::Row;
use boardlab_sim::Instant;
use std::ops::Range;

/// Status: an operation runs.
pub const BUSY: u8 = 0x01;
/// Status: programs and erases are allowed.
pub const WRITE_ENABLED: u8 = 0x02;
/// Status: the last erase failed.
pub const ERASE_FAIL: u8 = 0x04;
/// Status: the last program failed.
pub const PROGRAM_FAIL: u8 = 0x08;
/// Status: the last page read had bit errors, all corrected.
pub const CORRECTED: u8 = 0x10;
/// Status: the last page read could not be corrected.
pub const UNCORRECTABLE: u8 = 0x20;
/// Configuration: on-die ECC is enabled.
pub const ECC_ENABLE: u8 = 0x10;
/// Protection: the bits that lock blocks.
const LOCKED: u8 = 0x7C;

/// The data of a selection.
#[derive(Debug)]
pub enum Phase<'a> {
    /// None.
    None,
    /// To the chip.
    In(&'a [u8]),
    /// From the chip.
    Out(&'a mut [u8]),
}

/// The on-die ECC.
#[derive(Debug, Clone)]
struct OnDie {
    engine: Engine,
    layout: Layout,
    codes: Vec<u8>,
}

/// A chip with a serial bus.
#[derive(Debug, Clone)]
pub struct SpiChip {
    die: Die,
    on_die: Option<OnDie>,
    protection: u8,
    configuration: u8,
    write_enabled: bool,
    /// The ECC status of the last page read: [`CORRECTED`], [`UNCORRECTABLE`] or zero.
    ecc: u8,
    erased_last: bool,
    /// The columns that data were written to.
    loaded: Range<usize>,
}

impl SpiChip {
    /// A chip with `die`, after power-on: the array is locked, the ECC enabled.
    ///
    /// # Errors
    /// When the ECC bytes do not fit the OOB area.
    pub fn new(die: Die) -> Result<Self, PartError> {
        let part = die.part();
        let on_die = match part.on_die_ecc {
            None => None,
            Some(need) => {
                let unfit = PartError::Ecc(need);
                let engine = Code::for_need(need).and_then(|code| Engine::new(code).ok());
                let engine = engine.ok_or_else(|| unfit.clone())?;
                let steps = part.geometry.page.to_usize() / engine.step();
                let layout =
                    Layout::on_die(part.geometry.oob.to_usize(), steps, engine.code_bytes());
                let layout = layout.map_err(|_| unfit)?;
                let codes = vec![0; steps * engine.code_bytes()];
                Some(OnDie { engine, layout, codes })
            }
        };
        Ok(Self {
            die,
            on_die,
            protection: LOCKED,
            configuration: ECC_ENABLE,
            write_enabled: false,
            ecc: 0,
            erased_last: false,
            loaded: 0..0,
        })
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

    /// Cuts the power; the registers are lost.
    pub fn power_cut(&mut self, now: Instant, cut: Cut) {
        self.die.power_cut(now, cut);
        self.protection = LOCKED;
        self.configuration = ECC_ENABLE;
        self.write_enabled = false;
        self.ecc = 0;
        self.loaded = 0..0;
    }

    /// Performs one selection that ends at `now`; `out` is the operation code with its address and
    /// dummy bytes.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn select(&mut self, now: Instant, out: &[u8], phase: Phase<'_>) -> Result<(), Refusal> {
        if !self.die.is_powered() {
            return Err(Refusal::Off);
        }
        match (out, phase) {
            ([0x0F, register], Phase::Out(buffer)) => {
                self.die.advance(now);
                let value = self.feature(now, *register)?;
                buffer.fill(value);
                Ok(())
            }
            ([0xFF], Phase::None) => {
                self.die.reset(now);
                self.write_enabled = false;
                self.ecc = 0;
                Ok(())
            }
            (out, phase) => {
                self.die.idle(now)?;
                self.when_ready(now, out, phase)
            }
        }
    }

    fn when_ready(&mut self, now: Instant, out: &[u8], phase: Phase<'_>) -> Result<(), Refusal> {
        match (out, phase) {
            ([0x9F, _], Phase::Out(buffer)) => {
                let identity = self.die.part().identity.iter().cycle();
                buffer.iter_mut().zip(identity).for_each(|(byte, &given)| *byte = given);
                Ok(())
            }
            (&[0x1F, register, value], Phase::None) => self.set_feature(register, value),
            ([0x06], Phase::None) => {
                self.write_enabled = true;
                Ok(())
            }
            ([0x04], Phase::None) => {
                self.write_enabled = false;
                Ok(())
            }
            (&[0x13, high, middle, low], Phase::None) => self.page_read(now, [high, middle, low]),
            (&[0x03 | 0x0B | 0x3B | 0x6B, high, low, _], Phase::Out(buffer)) => {
                let columns = self.columns([high, low], buffer.len())?;
                buffer.copy_from_slice(&self.die.register()[columns]);
                Ok(())
            }
            (&[code @ (0x02 | 0x32 | 0x84 | 0x34), high, low], Phase::In(data)) => {
                self.program_load(matches!(code, 0x02 | 0x32), [high, low], data)
            }
            (&[0x10, high, middle, low], Phase::None) => self.execute(now, [high, middle, low]),
            (&[0xD8, high, middle, low], Phase::None) => self.erase(now, [high, middle, low]),
            ([code, ..], _) => Err(Refusal::UnknownCommand(*code)),
            ([], _) => Err(Refusal::NoData),
        }
    }

    fn feature(&self, now: Instant, register: u8) -> Result<u8, Refusal> {
        match register {
            0xA0 => Ok(self.protection),
            0xB0 => Ok(self.configuration),
            0xC0 => Ok(self.status(now)),
            _ => Err(Refusal::UnexpectedAddress),
        }
    }

    fn status(&self, now: Instant) -> u8 {
        let busy = now < self.die.ready_at();
        let fail = match (self.die.failed(), self.erased_last) {
            (false, _) => 0,
            (true, true) => ERASE_FAIL,
            (true, false) => PROGRAM_FAIL,
        };
        let enabled = if self.write_enabled || busy { WRITE_ENABLED } else { 0 };
        if busy { BUSY | enabled } else { fail | enabled | self.ecc }
    }

    fn set_feature(&mut self, register: u8, value: u8) -> Result<(), Refusal> {
        match register {
            0xA0 => self.protection = value,
            0xB0 => self.configuration = value,
            _ => return Err(Refusal::UnexpectedAddress),
        }
        Ok(())
    }

    fn page_read(&mut self, now: Instant, address: [u8; 3]) -> Result<(), Refusal> {
        let row = self.row(address)?;
        self.die.load(now, row)?;
        self.ecc = 0;
        if self.configuration & ECC_ENABLE == 0 {
            return Ok(());
        }
        let main = self.die.part().geometry.page.to_usize();
        let Some(OnDie { engine, layout, codes }) = &mut self.on_die else { return Ok(()) };
        let (data, spare) = self.die.register_mut().split_at_mut(main);
        layout.gather_ecc(spare, 0, codes);
        let met = engine.correct(data, codes);
        layout.scatter_ecc(codes, 0, spare);
        self.ecc = match (met.failed_steps, met.corrected) {
            (0, 0) => 0,
            (0, _) => CORRECTED,
            _ => UNCORRECTABLE,
        };
        Ok(())
    }

    fn program_load(&mut self, fresh: bool, column: [u8; 2], data: &[u8]) -> Result<(), Refusal> {
        let columns = self.columns(column, data.len())?;
        let register = self.die.register_mut();
        if fresh {
            register.fill(0xFF);
            self.loaded = columns.clone();
        }
        register[columns.clone()].copy_from_slice(data);
        self.loaded = self.loaded.start.min(columns.start)..self.loaded.end.max(columns.end);
        Ok(())
    }

    fn execute(&mut self, now: Instant, address: [u8; 3]) -> Result<(), Refusal> {
        let row = self.row(address)?;
        self.unlocked()?;
        let main = self.die.part().geometry.page.to_usize();
        let mut columns = self.loaded.clone();
        // The ECC bytes of steps without data are all ones and change nothing.
        let corrects = self.configuration & ECC_ENABLE != 0 && columns.start < main;
        if let (true, Some(OnDie { engine, layout, codes })) = (corrects, &mut self.on_die) {
            let (data, spare) = self.die.register_mut().split_at_mut(main);
            engine.calculate(data, codes);
            layout.scatter_ecc(codes, 0, spare);
            columns.end = self.die.register().len();
        }
        self.die.program(now, row, columns)?;
        self.write_enabled = false;
        self.erased_last = false;
        Ok(())
    }

    fn erase(&mut self, now: Instant, address: [u8; 3]) -> Result<(), Refusal> {
        let row = self.row(address)?;
        self.unlocked()?;
        self.die.erase(now, row.block)?;
        self.write_enabled = false;
        self.erased_last = true;
        Ok(())
    }

    fn unlocked(&self) -> Result<(), Refusal> {
        let open = self.write_enabled && self.protection & LOCKED == 0;
        if open { Ok(()) } else { Err(Refusal::Locked) }
    }

    fn row(&self, [high, middle, low]: [u8; 3]) -> Result<Row, Refusal> {
        let part: &Part = self.die.part();
        let number = u32::from_be_bytes([0, high, middle, low]);
        let bits = ParallelChip::page_bits(part);
        let row = Row { block: number >> bits, page: number & ((1 << bits) - 1) };
        if part.geometry.contains(row) { Ok(row) } else { Err(Refusal::NoSuchRow(row)) }
    }

    fn columns(&self, column: [u8; 2], length: usize) -> Result<Range<usize>, Refusal> {
        let start = usize::from(u16::from_be_bytes(column));
        let size = self.die.part().geometry.row_bytes();
        let columns = start..start + length;
        if columns.end > size {
            return Err(Refusal::BeyondPage { column: size });
        }
        Ok(columns)
    }
}
