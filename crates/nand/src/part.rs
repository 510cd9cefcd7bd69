//! The properties of a NAND part: geometry, identity, timing, and requirements.
//!
//! Layer: rank 3, plain data. Main types: [`Part`], [`Timing`], [`Interface`], [`BadMarks`].
//! Everything comes from a part file; nothing here has a default. A [`Part`] is checked once
//! ([`Part::check`]), so that the chip can rely on it.
//!
//! Source of the terms: ONFI 1.0 and the data sheets of the K9F1G08U0B, the W25N01GV and their like.
//! Left out: planes, several dies behind one chip enable, cache program and read.

use boardlab_media::{CellKind, NandGeometry};
use boardlab_sim::{Bytes, Duration, Hertz, QuantileTable};
use std::fmt;

/// Width of a parallel data bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BusWidth {
    /// Eight lines.
    X8,
    /// Sixteen lines for data; commands and addresses use the low eight.
    X16,
}

impl BusWidth {
    /// The bytes of one data cycle.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::X8 => 1,
            Self::X16 => 2,
        }
    }
}

/// The bus interface of the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interface {
    /// Command latch, address latch and data lines.
    Parallel(BusWidth),
    /// A serial bus.
    Spi {
        /// The highest clock.
        clock: Hertz,
        /// Data lines in a data phase: 1, 2 or 4. Commands and addresses use one.
        lanes: u32,
    },
}

/// The duration of an operation, and the time after which the chip aborts it and reports failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeLimit {
    /// The distribution of completion times.
    pub time: QuantileTable,
    /// The data sheet's maximum.
    pub max: Duration,
}

/// The times of array and bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// tR: a page from the array into the page register.
    pub read: QuantileTable,
    /// tPROG: the page register into the array.
    pub program: TimeLimit,
    /// tBERS: one block.
    pub erase: TimeLimit,
    /// tWC: one command, address or data-in cycle; unused on a serial bus.
    pub write_cycle: Duration,
    /// tRC: one data-out cycle; unused on a serial bus.
    pub read_cycle: Duration,
    /// tWB: from the last command cycle to busy.
    pub write_to_busy: Duration,
    /// tRR: from ready to the first data-out cycle.
    pub ready_to_read: Duration,
    /// tWHR: from a command or address cycle to a data-out cycle without busy in between.
    pub write_to_read: Duration,
    /// tADL: from the last address cycle to the first data-in cycle.
    pub address_to_data: Duration,
    /// tRST: a reset of a busy chip.
    pub reset: Duration,
}

/// An ECC requirement: correctable bits per step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EccNeed {
    /// Bit errors to be corrected.
    pub bits: u32,
    /// Bytes of a step.
    pub step: Bytes,
}

/// Fields of the ONFI parameter page that do not follow from the rest of the part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Onfi {
    /// Bytes 4-5: supported revisions, bit 1 for 1.0, bit 2 for 2.0, and so on.
    pub revision: u16,
    /// Bytes 6-7: features.
    pub features: u16,
    /// Bytes 8-9: optional commands.
    pub optional_commands: u16,
    /// Bytes 32-43: manufacturer, at most 12 ASCII characters.
    pub manufacturer: String,
    /// Bytes 44-63: model, at most 20 ASCII characters.
    pub model: String,
    /// Bytes 129-130: asynchronous timing modes, bit n for mode n.
    pub timing_modes: u16,
}

/// The pages of a block that can carry the bad-block mark: a factory bad block has it on each of
/// them, and a block with the mark on any of them is bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BadMarks {
    /// The first page.
    pub first: bool,
    /// The second page.
    pub second: bool,
    /// The last page.
    pub last: bool,
}

impl BadMarks {
    /// The first page alone.
    pub const FIRST: Self = Self { first: true, second: false, last: false };
    /// The first and the second page.
    pub const FIRST_TWO: Self = Self { first: true, second: true, last: false };
    /// The last page alone.
    pub const LAST: Self = Self { first: false, second: false, last: true };
    /// The first, the second and the last page.
    pub const ALL: Self = Self { first: true, second: true, last: true };

    /// The pages that Linux 6.1 checks: by the manufacturer, the first byte of the identity, and
    /// the cells (`amd_nand_init`, `esmt_nand_init`, `hynix_nand_init`, `macronix_nand_init`,
    /// `micron_nand_init`, `samsung_nand_init`, `toshiba_nand_init`); the first one where none of
    /// them applies (`nand_bbm_get_next_page`) and on a serial bus (`spinand_isbad`).
    #[must_use]
    pub fn of_linux(identity: &[u8], cell: CellKind, page: Bytes, interface: Interface) -> Self {
        let maker = match interface {
            Interface::Spi { .. } => None,
            Interface::Parallel(_) => identity.first(),
        };
        let single = cell == CellKind::Slc;
        match maker {
            Some(0x01 | 0xC8) if single => Self::ALL,
            Some(0x98 | 0xAD | 0xC2 | 0xEC) if single => Self::FIRST_TWO,
            Some(0xAD | 0xEC) => Self::LAST,
            Some(0x2C) if page == Bytes::kib(2) => Self::FIRST_TWO,
            _ => Self::FIRST,
        }
    }

    /// The numbers of the pages in blocks of `pages_per_block`, in rising order.
    pub fn pages(self, pages_per_block: u32) -> impl Iterator<Item = u32> {
        let last = pages_per_block.saturating_sub(1);
        let early = [(self.first, 0), (self.second, 1)].into_iter();
        let early = early.filter(move |&(marked, page)| marked && page < last);
        let at_end = self.last || (self.first && last == 0) || (self.second && last <= 1);
        early.map(|(_, page)| page).chain(at_end.then_some(last))
    }
}

/// A NAND part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The name of the part.
    pub name: String,
    /// The bus interface.
    pub interface: Interface,
    /// Blocks, pages and bytes.
    pub geometry: NandGeometry,
    /// The cell type.
    pub cell: CellKind,
    /// NOP: programs of one page between two erases that the data sheet allows.
    pub programs_per_page: u32,
    /// The identity bytes that 90h returns (9Fh on a serial bus).
    pub identity: Vec<u8>,
    /// The ONFI parameter page; `None` on a part that has none.
    pub onfi: Option<Onfi>,
    /// The timing.
    pub timing: Timing,
    /// The P/E cycles that the data sheet specifies.
    pub endurance: u32,
    /// Bad blocks that the data sheet allows over the whole life.
    pub bad_blocks_max: u32,
    /// The pages with the bad-block mark.
    pub bad_marks: BadMarks,
    /// The ECC that the data sheet requires; unused with `on_die_ecc`.
    pub ecc: EccNeed,
    /// The on-die ECC.
    pub on_die_ecc: Option<EccNeed>,
}

/// Why a part is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartError {
    /// There are no blocks, pages or bytes, or the page is not a power of two from 512 bytes to
    /// 32 KiB, or a block is not 1 to 1,024 pages, or there are more than 2^24 pages.
    Geometry(NandGeometry),
    /// Fewer than 8 OOB bytes, or more than a quarter of the page.
    Oob(Bytes),
    /// Not 1 to 16 programs a page.
    Programs(u32),
    /// No page for the bad-block mark.
    NoMarks,
    /// Not 2 to 8 bytes of identity.
    Identity(usize),
    /// A serial bus with other than 1, 2 or 4 data lines.
    Lanes(u32),
    /// Text of the parameter page that is too long or not ASCII.
    Onfi(String),
    /// An ECC requirement that no implemented code meets.
    Ecc(EccNeed),
    /// A distribution of times that exceeds its maximum.
    Time {
        /// Which.
        name: &'static str,
        /// The longest completion time.
        longest: Duration,
        /// The maximum that it exceeds.
        max: Duration,
    },
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Geometry(it) => write!(
                f,
                "{} blocks of {} pages of {} cannot be: a page is a power of two from 512 B to 32 KiB, a block has 1 to 1024 pages, \
                 a part up to 2^24",
                it.blocks, it.pages_per_block, it.page
            ),
            Self::Oob(size) => {
                write!(f, "an OOB area of {size} is not from 8 B to a quarter of a page")
            }
            Self::Programs(count) => {
                write!(f, "{count} programs of a page are not 1 to 16")
            }
            Self::NoMarks => write!(f, "the bad-block mark needs a page"),
            Self::Identity(count) => write!(f, "{count} identity bytes are not 2 to 8"),
            Self::Lanes(count) => write!(f, "{count} data lines are not 1, 2 or 4"),
            Self::Onfi(text) => {
                write!(
                    f,
                    "`{text}` does not fit its field of the parameter page: 12 or 20 characters of ASCII"
                )
            }
            Self::Ecc(need) => write!(
                f,
                "no ECC here corrects {} bits in {}: 1 bit in 256 B or 512 B, up to 64 bits in 512 B or 1 KiB",
                need.bits, need.step
            ),
            Self::Time { name, longest, max } => {
                write!(f, "{name} may take {longest}, longer than its maximum of {max}")
            }
        }
    }
}

impl std::error::Error for PartError {}

impl Part {
    /// The main bytes of the part.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.geometry.size()
    }

    /// Whether pages have 512 bytes, which have commands of their own (00h, 01h, 50h).
    #[must_use]
    pub fn is_small_page(&self) -> bool {
        self.geometry.page == Bytes::new(512)
    }

    /// The column of the bad-block mark, counted from the first main byte: OOB byte 5 of a small
    /// page on eight lines, else OOB byte 0 (K9F5608U0C and K9F1G08U0A data sheets, "Initial
    /// invalid block(s)").
    #[must_use]
    pub fn bad_mark_column(&self) -> usize {
        let x8 = self.interface != Interface::Parallel(BusWidth::X16);
        let spare = if self.is_small_page() && x8 { 5 } else { 0 };
        self.geometry.page.to_usize() + spare
    }

    /// The smallest part of a page that may be programmed by itself: the page divided by the allowed
    /// programs, at most four as in Linux 6.1 (`subpage_sft`). MLC and denser cells have no sub-pages.
    #[must_use]
    pub fn subpage(&self) -> Bytes {
        let parts = match self.programs_per_page {
            _ if self.cell != CellKind::Slc => 1,
            0 | 1 => 1,
            2 | 3 => 2,
            _ => 4,
        };
        Bytes::new(self.geometry.page.get() / parts)
    }

    /// Checks what the chip relies on.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self) -> Result<(), PartError> {
        if !self.geometry.is_sound() {
            return Err(PartError::Geometry(self.geometry));
        }
        let oob = self.geometry.oob;
        if oob < Bytes::new(8) || oob.get() > self.geometry.page.get() / 4 {
            return Err(PartError::Oob(oob));
        }
        if !(1..=16).contains(&self.programs_per_page) {
            return Err(PartError::Programs(self.programs_per_page));
        }
        if self.bad_marks.pages(self.geometry.pages_per_block).next().is_none() {
            return Err(PartError::NoMarks);
        }
        if !(2..=8).contains(&self.identity.len()) {
            return Err(PartError::Identity(self.identity.len()));
        }
        if let Interface::Spi { lanes, .. } = self.interface
            && ![1, 2, 4].contains(&lanes)
        {
            return Err(PartError::Lanes(lanes));
        }
        if let Some(onfi) = &self.onfi {
            check_text(&onfi.manufacturer, 12)?;
            check_text(&onfi.model, 20)?;
        }
        for need in self.on_die_ecc.iter().chain([&self.ecc]) {
            check_ecc(*need)?;
        }
        self.check_times()
    }

    fn check_times(&self) -> Result<(), PartError> {
        for (name, TimeLimit { time, max }) in
            [("program", &self.timing.program), ("erase", &self.timing.erase)]
        {
            if time.max() > *max {
                return Err(PartError::Time { name, longest: time.max(), max: *max });
            }
        }
        Ok(())
    }
}

fn check_text(text: &str, most: usize) -> Result<(), PartError> {
    let fits = text.len() <= most && text.is_ascii();
    if fits { Ok(()) } else { Err(PartError::Onfi(text.into())) }
}

fn check_ecc(need: EccNeed) -> Result<(), PartError> {
    let fits = match need.step.get() {
        256 => need.bits <= 1,
        512 | 1_024 => need.bits <= 64,
        _ => false,
    };
    if fits { Ok(()) } else { Err(PartError::Ecc(need)) }
}
