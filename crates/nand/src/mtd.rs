//! A NAND chip behind a driver, as a [`boardlab_mtd::Mtd`].
//!
//! Layer: rank 3. Main type: [`Nand`]. A clone is a cheap fork of the whole device. A power cut is that
//! of the chip ([`Port::cut_at_operation`], [`Port::cut_at`], or [`Tear`] for whoever explores cuts).
//!
//! A program may also begin and end at sub-pages ([`Nand::subpage`]), as UBI does with its headers,
//! though the write size of the geometry is the page.

use crate::chip::{Die, Setup};
use crate::driver::{Driver, Mark, Profile, ProfileError};
use crate::part::Part;
use crate::port::{Counts, Port, PortTiming};
use boardlab_media::Row;
use boardlab_mtd::{
    BlockIndex, Change, EraseRegion, Error, FlashKind, Geometry, Kind, Mtd, Oob, PageIndex,
    RawPages, ReadHealth, ReadResult, Tear, TearOutcome,
};
use boardlab_sim::{Bytes, Clock, Seed, Stream};
use std::sync::Arc;

/// A board's NAND as one device.
#[derive(Debug, Clone)]
pub struct Nand {
    /// The port to the chip, with its counts.
    pub port: Port,
    /// The driver, with its table of bad blocks.
    pub driver: Driver,
    geometry: Geometry,
}

impl Nand {
    /// Attaches a driver to the chip behind `port`.
    ///
    /// # Errors
    /// When the profile does not fit the part, the identity differs, or the power is cut.
    pub fn attach(
        mut port: Port,
        profile: Profile,
        clock: &mut Clock,
    ) -> Result<Self, ProfileError> {
        let driver = Driver::attach(profile, &mut port, clock)?;
        let shape = port.part().geometry;
        let free = u64::try_from(driver.profile().layout.free_bytes()).expect("a layout fits u64");
        let geometry = Geometry {
            kind: FlashKind::Nand,
            regions: vec![EraseRegion { count: shape.blocks, size: shape.block_size() }],
            write_size: shape.page,
            write_buffer: shape.page,
            oob: Some(Oob { size: shape.oob, available: Bytes::new(free) }),
        };
        Ok(Self { port, driver, geometry })
    }

    /// A new, perfect chip of `part` on a port that adds nothing to the part's times, with the
    /// driver of Linux 2.6 (Hamming over 256 bytes).
    ///
    /// # Errors
    /// When the part is invalid or has no space for the ECC bytes.
    pub fn perfect(part: Arc<Part>, seed: Seed, clock: &mut Clock) -> Result<Self, ProfileError> {
        let profile = Profile::linux_2_6(&part)?;
        let die = Die::new(part, &Setup::perfect(seed)).map_err(ProfileError::Part)?;
        let port = Port::new(die, PortTiming::default()).map_err(ProfileError::Part)?;
        Self::attach(port, profile, clock)
    }

    /// The totals of the port, including the attach.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        self.port.counts()
    }

    /// The smallest part of a page that may be programmed by itself: the part's sub-page, or an ECC
    /// step if that is larger.
    #[must_use]
    pub fn subpage(&self) -> Bytes {
        self.port.part().subpage().max(self.driver.step())
    }

    /// Restores the power and attaches the same driver again.
    ///
    /// # Errors
    /// As [`Nand::attach`].
    pub fn power_on(&mut self, clock: &mut Clock) -> Result<(), ProfileError> {
        self.port.power_on(clock.now());
        let profile = self.driver.profile().clone();
        self.driver = Driver::attach(profile, &mut self.port, clock)?;
        Ok(())
    }

    fn block(&self, block: BlockIndex) -> Result<u32, Error> {
        self.geometry.block_range(block)?;
        Ok(block.0)
    }

    fn row(&self, page: PageIndex) -> Result<Row, Error> {
        let count = self.geometry.page_count();
        self.port.part().geometry.row(page.0).ok_or(Error::NoSuchPage { page, count })
    }

    fn is_known_bad(&self, block: u32) -> bool {
        self.driver.bad_blocks().mark(block) != Mark::Good
    }

    /// Checks the bytes of a program: whole sub-pages.
    fn check_program(&self, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        let length = Bytes::of(data);
        self.geometry.range(offset, length)?;
        let unit = self.subpage();
        if offset.is_multiple_of(unit) && length.is_multiple_of(unit) {
            return Ok(());
        }
        Err(Error::Misaligned { offset, length, unit })
    }

    /// Checks the lengths of an access to raw pages: all or nothing of either.
    fn check_raw(&self, page: PageIndex, data: &[u8], oob: &[u8]) -> Result<Row, Error> {
        let row = self.row(page)?;
        let shape = self.port.part().geometry;
        if !data.is_empty() && Bytes::of(data) != shape.page {
            let offset = shape.page * u64::from(page.0);
            return Err(Error::Misaligned { offset, length: Bytes::of(data), unit: shape.page });
        }
        if Bytes::of(oob) > shape.oob {
            let length = Bytes::of(oob);
            return Err(Error::OobOutOfRange { page, length, size: shape.oob });
        }
        Ok(row)
    }
}

impl Mtd for Nand {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        self.geometry.range(offset, Bytes::of(buffer))?;
        self.driver.read(&mut self.port, clock, offset, buffer)
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        self.check_program(offset, data)?;
        self.driver.program(&mut self.port, clock, offset, data)
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        let number = self.block(block)?;
        if self.is_known_bad(number) {
            return Err(Error::BadBlock { block });
        }
        self.driver.erase(&mut self.port, clock, number)
    }

    fn read_oob(&mut self, clock: &mut Clock, page: PageIndex, buffer: &mut [u8]) -> ReadResult {
        self.geometry.oob_range(page, Bytes::of(buffer))?;
        let row = self.row(page)?;
        self.driver.read_oob(&mut self.port, clock, row, buffer)?;
        Ok(ReadHealth::default())
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> ReadResult {
        self.geometry.oob_range(page, Bytes::of(oob))?;
        let row = self.check_raw(page, data, &[])?;
        self.driver.read_page_and_oob(&mut self.port, clock, row, data, oob)
    }

    fn program_oob(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), Error> {
        self.geometry.oob_range(page, Bytes::of(oob))?;
        let row = self.check_raw(page, data, &[])?;
        if data.is_empty() && oob.is_empty() {
            return Ok(());
        }
        self.driver.program_page(&mut self.port, clock, row, data, oob)
    }

    fn is_bad(&mut self, _clock: &mut Clock, block: BlockIndex) -> Result<bool, Error> {
        self.block(block).map(|block| self.is_known_bad(block))
    }

    fn mark_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        let number = self.block(block)?;
        if matches!(self.driver.bad_blocks().mark(number), Mark::Worn | Mark::Factory) {
            return Ok(());
        }
        self.driver.mark_bad(&mut self.port, clock, number)
    }
}

impl RawPages for Nand {
    fn read_raw(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> Result<(), Error> {
        let row = self.check_raw(page, data, oob)?;
        self.driver.read_raw(&mut self.port, clock, row, data, oob).map(|_| ())
    }

    fn program_raw(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), Error> {
        let row = self.check_raw(page, data, oob)?;
        if data.is_empty() && oob.is_empty() {
            return Ok(());
        }
        self.driver.program_raw(&mut self.port, clock, row, data, oob)
    }
}

/// The physics of the chip: one of several programs is interrupted, those before it are complete.
impl Tear for Nand {
    fn outcomes(&self, kind: Kind) -> &'static [TearOutcome] {
        const ERASE: [TearOutcome; 4] =
            [TearOutcome::NotBegun, TearOutcome::Partial, TearOutcome::Weak, TearOutcome::Finished];
        if kind == Kind::Erase { &ERASE } else { &TearOutcome::PLAIN }
    }

    fn tear(
        &mut self,
        clock: &mut Clock,
        change: Change<'_>,
        torn: TearOutcome,
        stream: &mut Stream,
    ) {
        let length = match change {
            Change::Program(_, data) => Bytes::of(data).div_ceil(self.geometry.write_size),
            // An erase, which comes first, and a mark on each of two pages.
            Change::MarkBad(_) => 3,
            Change::ProgramOob(..) | Change::Erase(_) => 1,
        };
        let hit = match torn {
            TearOutcome::NotBegun => 0,
            TearOutcome::Finished => length.saturating_sub(1),
            TearOutcome::Partial | TearOutcome::Weak => stream.below(length.max(1)),
        };
        let bits = Seed::new(stream.next_u64()).stream("nand.torn");
        self.port.die_mut().set_torn_stream(bits);
        self.port.cut_at_operation(self.port.operations() + hit, torn);
        // Errors are ignored, because nobody can receive them.
        let _ = change.apply(self, clock);
        if matches!(change, Change::MarkBad(_)) {
            // The table in RAM is lost as well: only the flash is valid.
            let _ = self.power_on(clock);
        } else {
            self.port.power_on(clock.now());
            self.driver.forget();
            let _ = self.port.reset(clock);
        }
    }
}
