//! The driver: pages with ECC, OOB bytes, bad blocks.
//!
//! Layer: rank 3, between the `Mtd` and the port. In reading order:
//!
//! - [`profile`]: [`Profile`], the behaviour of a kernel, its ECC and its layout of the OOB area.
//! - this file: [`Driver`], the read, program and erase paths.
//! - [`bad_blocks`]: [`BadBlocks`], the table in RAM, the scan that makes it, and the marks.
//! - [`table`]: the same table on the flash.
//!
//! Source: Linux 2.6.26 and 6.1, `nand_base.c` and `nand_bbt.c`: `nand_do_read_ops`,
//! `nand_read_page_swecc`, `nand_read_subpage`, `nand_write_page_swecc`, `nand_read_oob_std`,
//! `nand_write_oob_std`, `nand_erase_nand`. As there, a read continues after an uncorrectable page
//! and reports it at its end, the last partly read page is cached, and OOB bytes are always
//! transferred as a whole. The ECC does not cover them.
//!
//! Left out: read retries, vendors' bad-block tables on flash, cache programs (disabled in 2.6),
//! locks, writes during a panic.

pub mod bad_blocks;
pub mod profile;
pub mod table;

pub use bad_blocks::{BadBlocks, Mark};
pub use profile::{Profile, ProfileError};

use crate::ecc::{Code, Corrections, Engine};
use crate::port::{OnDie, Outcome, Port, PortError};
use boardlab_media::{Row, Violation};
use boardlab_mtd::{Error, PageIndex, ReadHealth, ReadResult};
use boardlab_sim::{Bytes, Clock, Duration};
use std::ops::Range;

/// The totals of the error correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EccCounts {
    /// Corrected bits.
    pub corrected: u64,
    /// Uncorrectable ECC steps.
    pub failed: u64,
    /// Data bytes of which the host calculated ECC bytes.
    pub bytes: u64,
    /// The time of these calculations.
    pub time: Duration,
}

/// A driver with its buffers and its bad-block table.
#[derive(Debug, Clone)]
pub struct Driver {
    profile: Profile,
    engine: Engine,
    bad: BadBlocks,
    ecc: EccCounts,
    /// Main bytes of a page.
    page: usize,
    data: Vec<u8>,
    spare: Vec<u8>,
    codes: Vec<u8>,
    /// The page whose contents `data` caches.
    cached: Option<Row>,
}

impl Driver {
    /// Attaches to the chip behind `port`: resets it, compares its identity, and finds bad blocks.
    ///
    /// # Errors
    /// When the profile does not fit the part, the identity differs, or the power is cut.
    pub fn attach(
        profile: Profile,
        port: &mut Port,
        clock: &mut Clock,
    ) -> Result<Self, ProfileError> {
        let engine = profile.check(port.part())?;
        let geometry = port.part().geometry;
        let page = geometry.page.to_usize();
        let steps = page / engine.step();
        let mut driver = Self {
            bad: BadBlocks::all_good(geometry.blocks),
            ecc: EccCounts::default(),
            page,
            data: vec![0xFF; page],
            spare: vec![0xFF; geometry.oob.to_usize()],
            codes: vec![0xFF; steps * engine.code_bytes()],
            cached: None,
            profile,
            engine,
        };
        port.reset(clock).map_err(ProfileError::Port)?;
        driver.identify(port, clock)?;
        driver.find_bad_blocks(port, clock).map_err(ProfileError::Mtd)?;
        Ok(driver)
    }

    /// The profile.
    #[must_use]
    pub const fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The totals of the error correction.
    #[must_use]
    pub const fn ecc(&self) -> &EccCounts {
        &self.ecc
    }

    /// The size of an ECC step.
    #[must_use]
    pub fn step(&self) -> Bytes {
        Bytes::new(u64::try_from(self.engine.step()).expect("a step fits u64"))
    }

    /// The bad-block table.
    #[must_use]
    pub const fn bad_blocks(&self) -> &BadBlocks {
        &self.bad
    }

    /// Drops cached contents after an external change of the flash.
    pub const fn forget(&mut self) {
        self.cached = None;
    }

    /// Reads bytes that lie within the device.
    ///
    /// # Errors
    /// [`Error::Uncorrectable`] at the end of the whole read, [`Error::PowerCut`].
    pub fn read(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        offset: Bytes,
        buffer: &mut [u8],
    ) -> ReadResult {
        let mut health = ReadHealth::default();
        let mut failed = None;
        let (mut at, mut left) = (offset, buffer);
        while !left.is_empty() {
            let (row, column) = self.place(port, at);
            let (part, rest) = left.split_at_mut(left.len().min(self.page - column));
            let met = self.read_part(port, clock, row, column, part)?;
            health.add(met.corrected, met.worst);
            if met.failed_steps > 0 && failed.is_none() {
                failed = Some(at);
            }
            at += Bytes::of(part);
            left = rest;
        }
        match failed {
            Some(offset) => Err(Error::Uncorrectable { offset }),
            None => Ok(health),
        }
    }

    /// Reads a whole page with its first free OOB bytes (`nand_do_read_ops` with both buffers).
    ///
    /// # Errors
    /// [`Error::Uncorrectable`], [`Error::PowerCut`].
    pub fn read_page_and_oob(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        row: Row,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> ReadResult {
        let met = self.read_page(port, clock, row, data)?;
        self.profile.layout.gather_free(&self.spare, oob);
        if met.failed_steps > 0 {
            return Err(Error::Uncorrectable { offset: self.offset(port, row) });
        }
        Ok(ReadHealth { corrected: met.corrected, worst: met.worst })
    }

    /// Reads the first free OOB bytes of a page.
    ///
    /// # Errors
    /// [`Error::PowerCut`].
    pub fn read_oob(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        row: Row,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        self.load_spare(port, clock, row)?;
        self.profile.layout.gather_free(&self.spare, buffer);
        Ok(())
    }

    /// Programs bytes that lie within the device: whole sub-pages.
    ///
    /// # Errors
    /// [`Error::ProgramFailed`], [`Error::VerifyFailed`], [`Error::PowerCut`]; with a strict profile
    /// [`Error::AlreadyProgrammed`], [`Error::OutOfOrder`].
    pub fn program(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        offset: Bytes,
        data: &[u8],
    ) -> Result<(), Error> {
        let (mut at, mut left) = (offset, data);
        while !left.is_empty() {
            let (row, column) = self.place(port, at);
            let (part, rest) = left.split_at(left.len().min(self.page - column));
            if part.len() == self.page {
                self.program_page(port, clock, row, part, &[])?;
            } else {
                // The rest of the page is ones, which change nothing.
                let mut page = std::mem::take(&mut self.data);
                self.cached = None;
                page.fill(0xFF);
                page[column..column + part.len()].copy_from_slice(part);
                let done = self.program_page(port, clock, row, &page, &[]);
                self.data = page;
                done?;
            }
            at += Bytes::of(part);
            left = rest;
        }
        Ok(())
    }

    /// Programs a whole page, or nothing of it, and its first free OOB bytes at once.
    ///
    /// # Errors
    /// As [`Driver::program`].
    pub fn program_page(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        row: Row,
        data: &[u8],
        free: &[u8],
    ) -> Result<(), Error> {
        let mut spare = std::mem::take(&mut self.spare);
        spare.fill(0xFF);
        self.profile.layout.scatter_free(free, &mut spare);
        if !data.is_empty() {
            self.calculate(clock, data);
            self.profile.layout.scatter_ecc(&self.codes, 0, &mut spare);
        }
        let done = self.program_raw(port, clock, row, data, &spare);
        self.spare = spare;
        done?;
        if self.profile.verify_write && !data.is_empty() {
            self.verify(port, clock, row, data)?;
        }
        Ok(())
    }

    /// Programs main bytes, a whole page or none, and OOB bytes as given.
    ///
    /// # Errors
    /// As [`Driver::program`].
    pub fn program_raw(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        row: Row,
        data: &[u8],
        spare: &[u8],
    ) -> Result<(), Error> {
        if self.cached == Some(row) {
            self.cached = None;
        }
        let broken = port.die().violations().count;
        let column = if data.is_empty() { self.page } else { 0 };
        let outcome = (|| {
            port.begin_program(clock, row, column)?;
            for bytes in [data, spare] {
                if !bytes.is_empty() {
                    port.input(clock, bytes)?;
                }
            }
            port.program(clock)
        })();
        let outcome = outcome.map_err(driver_error)?;
        if outcome == Outcome::Failed {
            return Err(Error::ProgramFailed { offset: self.offset(port, row) });
        }
        if self.profile.strict && port.die().violations().count != broken {
            return Err(self.violation(port, row));
        }
        Ok(())
    }

    /// Reads main bytes, a whole page or none, and all OOB bytes as the cells return them.
    ///
    /// # Errors
    /// [`Error::PowerCut`].
    pub fn read_raw(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        row: Row,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<OnDie, Error> {
        let column = if data.is_empty() { self.page } else { 0 };
        let met = port.load(clock, row, column).map_err(driver_error)?;
        for bytes in [data, spare] {
            if !bytes.is_empty() {
                port.output(clock, bytes).map_err(driver_error)?;
            }
        }
        Ok(met)
    }

    /// Erases a block, bad or not.
    ///
    /// # Errors
    /// [`Error::EraseFailed`], [`Error::PowerCut`].
    pub fn erase(&mut self, port: &mut Port, clock: &mut Clock, block: u32) -> Result<(), Error> {
        if self.cached.is_some_and(|row| row.block == block) {
            self.cached = None;
        }
        match port.erase(clock, block).map_err(driver_error)? {
            Outcome::Done => Ok(()),
            Outcome::Failed => Err(Error::EraseFailed { block: boardlab_mtd::BlockIndex(block) }),
        }
    }

    fn identify(&self, port: &mut Port, clock: &mut Clock) -> Result<(), ProfileError> {
        let mut found = vec![0; port.part().identity.len()];
        port.read_identity(clock, &mut found).map_err(ProfileError::Port)?;
        let expected = &port.part().identity;
        if &found == expected {
            return Ok(());
        }
        Err(ProfileError::Identity { expected: expected.clone(), found })
    }

    /// Reads a part of a page, or all of it.
    fn read_part(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        row: Row,
        column: usize,
        buffer: &mut [u8],
    ) -> Result<Corrections, Error> {
        if self.cached == Some(row) {
            buffer.copy_from_slice(&self.data[column..column + buffer.len()]);
            return Ok(Corrections::default());
        }
        if buffer.len() == self.page {
            return self.read_page(port, clock, row, buffer);
        }
        let mut data = std::mem::take(&mut self.data);
        self.cached = None;
        let met = if self.profile.subpage_read && self.engine.is_software() {
            self.read_steps(port, clock, row, column..column + buffer.len(), &mut data)
        } else {
            let met = self.read_page(port, clock, row, &mut data);
            if met.as_ref().is_ok_and(|met| met.failed_steps == 0) && !self.profile.subpage_read {
                self.cached = Some(row);
            }
            met
        };
        buffer.copy_from_slice(&data[column..column + buffer.len()]);
        self.data = data;
        met
    }

    /// Reads a whole page and its OOB bytes, and corrects it.
    fn read_page(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        row: Row,
        data: &mut [u8],
    ) -> Result<Corrections, Error> {
        let mut spare = std::mem::take(&mut self.spare);
        let on_die = self.read_raw(port, clock, row, &mut *data, &mut spare);
        self.profile.layout.gather_ecc(&spare, 0, &mut self.codes);
        self.spare = spare;
        let met = match (self.engine.code(), on_die?) {
            (Code::OnDie, OnDie::Corrected) => {
                Corrections { corrected: 1, worst: 1, failed_steps: 0 }
            }
            (Code::OnDie, OnDie::Uncorrectable) => {
                Corrections { failed_steps: 1, ..Corrections::default() }
            }
            (Code::OnDie, OnDie::Clean) => Corrections::default(),
            _ => {
                self.spend(clock, data.len());
                let mut codes = std::mem::take(&mut self.codes);
                let met = self.engine.correct(data, &mut codes);
                self.codes = codes;
                met
            }
        };
        self.count(met);
        Ok(met)
    }

    /// Reads only the ECC steps that `columns` touch, and their ECC bytes: `nand_read_subpage`.
    fn read_steps(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        row: Row,
        columns: Range<usize>,
        data: &mut [u8],
    ) -> Result<Corrections, Error> {
        let (step, code) = (self.engine.step(), self.engine.code_bytes());
        let steps = columns.start / step..columns.end.div_ceil(step);
        let data = &mut data[steps.start * step..steps.end * step];
        let mut codes = vec![0; steps.len() * code];
        let places = self.profile.code_places(steps.start * code, codes.len());
        let spare = &mut self.spare[places.clone()];
        let moved = (|| {
            port.load(clock, row, steps.start * step)?;
            port.output(clock, data)?;
            port.seek(clock, self.page + places.start)?;
            port.output(clock, spare)
        })();
        moved.map_err(driver_error)?;
        self.profile.layout.gather_ecc(&self.spare, steps.start * code, &mut codes);
        self.spend(clock, data.len());
        let met = self.engine.correct(data, &mut codes);
        self.count(met);
        Ok(met)
    }

    /// Reads all OOB bytes of a page.
    pub(crate) fn load_spare(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        row: Row,
    ) -> Result<&[u8], Error> {
        let mut spare = std::mem::take(&mut self.spare);
        let read = self.read_raw(port, clock, row, &mut [], &mut spare);
        self.spare = spare;
        read.map(|_| &self.spare[..])
    }

    /// Reads a page back and compares it, as `CONFIG_MTD_NAND_VERIFY_WRITE` of Linux 2.6 does,
    /// without ECC.
    fn verify(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        row: Row,
        data: &[u8],
    ) -> Result<(), Error> {
        let mut back = vec![0; self.page];
        self.read_raw(port, clock, row, &mut back, &mut [])?;
        let wrong = back.iter().zip(data).position(|(found, expected)| found != expected);
        match wrong {
            None => Ok(()),
            Some(at) => Err(Error::VerifyFailed {
                offset: self.offset(port, row) + Bytes::of(&data[..at]),
                expected: data[at],
                found: back[at],
            }),
        }
    }

    /// Calculates the ECC bytes of a page into their buffer.
    fn calculate(&mut self, clock: &mut Clock, data: &[u8]) {
        self.engine.calculate(data, &mut self.codes);
        self.spend(clock, data.len());
    }

    /// Spends the host's time for the ECC bytes of `bytes` of data.
    fn spend(&mut self, clock: &mut Clock, bytes: usize) {
        if !self.engine.is_software() {
            return;
        }
        let bytes = Bytes::new(u64::try_from(bytes).expect("a page fits u64"));
        let time = self.profile.ecc_rate.map_or(Duration::ZERO, |rate| rate.time_for(bytes));
        clock.advance(time);
        self.ecc.bytes += bytes.get();
        self.ecc.time += time;
    }

    fn count(&mut self, met: Corrections) {
        self.ecc.corrected += u64::from(met.corrected);
        self.ecc.failed += u64::from(met.failed_steps);
    }

    /// The page and the column of an offset within the device.
    fn place(&self, port: &Port, offset: Bytes) -> (Row, usize) {
        let page = port.part().geometry.page;
        let index = u32::try_from(offset / page).expect("pages are counted in u32");
        let row = port.part().geometry.row(index).expect("the offset lies within the device");
        (row, offset.to_usize() % self.page)
    }

    fn offset(&self, port: &Port, row: Row) -> Bytes {
        port.part().geometry.page * u64::from(index(port, row).0)
    }

    fn violation(&self, port: &Port, row: Row) -> Error {
        let page = index(port, row);
        match port.die().violations().last {
            Some(Violation::OutOfOrder { after, .. }) => {
                let after = index(port, Row { page: after, ..row });
                Error::OutOfOrder { page, after }
            }
            _ => Error::AlreadyProgrammed { page },
        }
    }
}

/// The number of a page, counted from the start of the device.
fn index(port: &Port, row: Row) -> PageIndex {
    PageIndex(row.block * port.part().geometry.pages_per_block + row.page)
}

/// Converts an error of the port: a power cut is an error; a refused sequence is a bug of this driver.
pub(crate) fn driver_error(error: PortError) -> Error {
    match error {
        PortError::PowerCut(at) => Error::PowerCut { at },
        PortError::Refused(refusal) => panic!("nand::Driver: the chip refuses: {refusal}"),
    }
}
