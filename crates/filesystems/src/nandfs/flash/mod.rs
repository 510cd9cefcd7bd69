//! Raw flash behind its driver, whatever its kind: what filesystems are mounted on.
//!
//! Layer: rank 10. Main types: [`Flash`], a device, and [`Counts`] of its work; [`Wired`], a part on a board, of which devices are made.

mod wired;

pub(crate) use wired::{FlashPart, NAND, Wired};

use boardlab_media::SectorIndex;
use boardlab_mtd::{
    BlockIndex, Change, Error, Geometry, Kind, Mtd, PageIndex, ReadResult, Tear, TearOutcome,
};
use boardlab_nand::Nand;
use boardlab_nor::{ChipIndex, NorMtd};
use boardlab_sim::{Bytes, Clock, Stream};
use std::ops::Sub;

/// A flash behind the driver of a kernel. A clone is a cheap fork.
#[derive(Debug, Clone)]
pub(crate) enum Flash {
    Nand(Box<Nand>),
    Nor(Box<Nor>),
}

/// NOR chips behind their driver, with a count of the bytes that are programmed.
#[derive(Debug, Clone)]
pub(crate) struct Nor {
    mtd: NorMtd,
    programmed: Bytes,
}

/// The work of the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Commands: sequences that begin with a command cycle; on NOR programs and erases.
    pub commands: u64,
    /// Bytes over the bus: in data cycles of a NAND, in all cycles of a NOR.
    pub bytes: u64,
    /// Pages read into the page register of a NAND.
    pub reads: u64,
    /// Programs of a page or a part of it; on NOR of a write buffer or a word.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Bit errors that the ECC corrected.
    pub corrected: u64,
}

impl Counts {
    /// The work of `flash` so far.
    pub(crate) fn of(flash: &Flash) -> Self {
        match flash {
            Flash::Nand(nand) => {
                let counts = nand.counts();
                Self {
                    commands: counts.commands,
                    bytes: counts.bytes_in + counts.bytes_out,
                    reads: counts.page_reads,
                    programs: counts.programs,
                    erases: counts.erases,
                    corrected: nand.driver.ecc().corrected,
                }
            }
            Flash::Nor(nor) => {
                let bus = &nor.mtd.board.bus;
                let chips = (0..bus.chip_count()).map(|chip| bus.chip(ChipIndex(chip)).counters());
                let (programs, erases) = chips.fold((0, 0), |(programs, erases), one| {
                    (programs + one.programs, erases + one.erases)
                });
                Self {
                    commands: programs + erases,
                    bytes: bus.cycles() * bus.word().get(),
                    reads: 0,
                    programs,
                    // Every chip erases its sector of a block.
                    erases: erases / (bus.chip_count() as u64),
                    corrected: 0,
                }
            }
        }
    }
}

impl Sub for Counts {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        Self {
            commands: self.commands - earlier.commands,
            bytes: self.bytes - earlier.bytes,
            reads: self.reads - earlier.reads,
            programs: self.programs - earlier.programs,
            erases: self.erases - earlier.erases,
            corrected: self.corrected - earlier.corrected,
        }
    }
}

impl Flash {
    /// Main bytes.
    pub(crate) fn size(&self) -> Bytes {
        self.geometry().size()
    }

    /// The smallest part of a page that may be programmed by itself.
    pub(crate) fn sub_page(&self) -> Bytes {
        match self {
            Self::Nand(nand) => nand.subpage(),
            Self::Nor(_) => self.geometry().write_size,
        }
    }

    /// Blocks that are marked bad.
    pub(crate) fn bad_blocks(&self) -> u64 {
        match self {
            Self::Nand(nand) => nand.driver.bad_blocks().count() as u64,
            Self::Nor(_) => 0,
        }
    }

    /// The erases of each block.
    pub(crate) fn erase_counts(&self) -> Vec<u32> {
        match self {
            Self::Nand(nand) => {
                let array = nand.port.die().array();
                (0..array.geometry().blocks).map(|block| array.erase_count(block)).collect()
            }
            Self::Nor(nor) => {
                // A block is the same sector of every chip.
                let array = nor.mtd.board.bus.chip(ChipIndex(0)).array();
                let sectors = 0..array.layout().sector_count();
                sectors.map(|sector| array.erase_count(SectorIndex::new(sector))).collect()
            }
        }
    }

    /// Main bytes that were programmed, whole pages on NAND.
    pub(crate) fn programmed(&self) -> Bytes {
        match self {
            Self::Nand(nand) => self.geometry().write_size * nand.counts().programs,
            Self::Nor(nor) => nor.programmed,
        }
    }

    fn device(&self) -> &dyn Mtd {
        match self {
            Self::Nand(nand) => &**nand,
            Self::Nor(nor) => &nor.mtd,
        }
    }

    fn device_mut(&mut self) -> &mut dyn Mtd {
        match self {
            Self::Nand(nand) => &mut **nand,
            Self::Nor(nor) => &mut nor.mtd,
        }
    }
}

impl From<Nand> for Flash {
    fn from(nand: Nand) -> Self {
        Self::Nand(Box::new(nand))
    }
}

impl From<NorMtd> for Flash {
    fn from(mtd: NorMtd) -> Self {
        Self::Nor(Box::new(Nor { mtd, programmed: Bytes::ZERO }))
    }
}

impl Mtd for Flash {
    fn geometry(&self) -> &Geometry {
        self.device().geometry()
    }

    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        self.device_mut().read(clock, offset, buffer)
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        if let Self::Nor(nor) = self {
            nor.programmed += Bytes::of(data);
        }
        self.device_mut().program(clock, offset, data)
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.device_mut().erase(clock, block)
    }

    fn read_oob(&mut self, clock: &mut Clock, page: PageIndex, buffer: &mut [u8]) -> ReadResult {
        self.device_mut().read_oob(clock, page, buffer)
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> ReadResult {
        self.device_mut().read_page(clock, page, data, oob)
    }

    fn program_oob(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), Error> {
        self.device_mut().program_oob(clock, page, data, oob)
    }

    fn is_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<bool, Error> {
        self.device_mut().is_bad(clock, block)
    }

    fn mark_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.device_mut().mark_bad(clock, block)
    }
}

impl Tear for Flash {
    fn outcomes(&self, kind: Kind) -> &'static [TearOutcome] {
        match self {
            Self::Nand(nand) => nand.outcomes(kind),
            Self::Nor(nor) => nor.mtd.outcomes(kind),
        }
    }

    fn tear(
        &mut self,
        clock: &mut Clock,
        change: Change<'_>,
        torn: TearOutcome,
        stream: &mut Stream,
    ) {
        match self {
            Self::Nand(nand) => nand.tear(clock, change, torn, stream),
            Self::Nor(nor) => nor.mtd.tear(clock, change, torn, stream),
        }
    }
}
