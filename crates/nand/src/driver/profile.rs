//! The behaviour of a driver: which kernel, which ECC, which layout of the OOB area.
//!
//! Layer: rank 3. Main type: [`Profile`]. Source: as for the driver; `subpage_read` is
//! `NAND_SUBPAGE_READ` of Linux 6.1 (set for software codes on large pages; with it the last page
//! is not kept).

use crate::ecc::{Code, Engine, UnknownCode};
use crate::oob::{Layout, LayoutError};
use crate::part::{EccNeed, Part, PartError};
use crate::port::PortError;
use boardlab_codec::hamming::Step;
use boardlab_mtd::Error;
use boardlab_sim::Rate;
use std::fmt;
use std::ops::Range;

/// The behaviour of a driver.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The error correction.
    pub code: Code,
    /// The use of the spare bytes.
    pub layout: Layout,
    /// A read of a part of a page moves only the steps of the code that it touches; otherwise it moves
    /// the whole page and keeps it for the next read.
    pub subpage_read: bool,
    /// Every program is read back and compared (`CONFIG_MTD_NAND_VERIFY_WRITE`, until Linux 3.5).
    pub verify_write: bool,
    /// How fast the host calculates codes; at no cost when `None`.
    pub ecc_rate: Option<Rate>,
    /// The table of bad blocks is kept on the flash, in its last blocks.
    pub flash_table: bool,
    /// A program that the data sheet does not allow is an error. Real chips say nothing, and hold the
    /// data less well.
    pub strict: bool,
}

/// Why a driver does not attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileError {
    /// The part cannot exist.
    Part(PartError),
    /// There is no such code.
    Code(UnknownCode),
    /// The part asks for a code that there is not here.
    Need(EccNeed),
    /// The page is not whole steps of the code.
    Step {
        /// Bytes of a step.
        step: usize,
        /// Main bytes of a page.
        page: usize,
    },
    /// The layout cannot be.
    Layout(LayoutError),
    /// The layout is for another number of spare bytes, or of bytes of codes.
    Spare {
        /// Of the part and the code: spare bytes, bytes of codes.
        expected: (usize, usize),
        /// Of the layout.
        found: (usize, usize),
    },
    /// The chip is another one than the part.
    Identity {
        /// Of the part.
        expected: Vec<u8>,
        /// Of the chip.
        found: Vec<u8>,
    },
    /// The port failed.
    Port(PortError),
    /// The look for bad blocks failed.
    Mtd(Error),
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part(error) => error.fmt(f),
            Self::Code(error) => error.fmt(f),
            Self::Need(need) => {
                write!(f, "no code here corrects {} bits in {}", need.bits, need.step)
            }
            Self::Step { step, page } => {
                write!(f, "a page of {page} bytes is not whole steps of {step} bytes")
            }
            Self::Layout(error) => error.fmt(f),
            Self::Spare { expected, found } => write!(
                f,
                "the layout has {} spare bytes, {} of them codes; part and code have {} and {}",
                found.0, found.1, expected.0, expected.1
            ),
            Self::Identity { expected, found } => {
                write!(f, "the chip says it is {found:02X?}, not {expected:02X?}")
            }
            Self::Port(error) => error.fmt(f),
            Self::Mtd(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ProfileError {}

impl Profile {
    /// Linux 2.6.20 to 2.6.26 with software correction: Hamming over 256 bytes, whole pages.
    ///
    /// # Errors
    /// When the layout does not fit the part.
    pub fn linux_2_6(part: &Part) -> Result<Self, ProfileError> {
        Self::with(part, Code::Hamming(Step::Bytes256), false)
    }

    /// Linux 6.1: the chip's own correction where there is one, Hamming where one bit is enough,
    /// else BCH; parts of pages are read by steps.
    ///
    /// # Errors
    /// When no code or layout fits the part.
    pub fn linux_6_1(part: &Part) -> Result<Self, ProfileError> {
        if part.on_die_ecc.is_some() {
            return Self::with(part, Code::OnDie, false);
        }
        let code = match part.ecc.bits {
            0 | 1 => Code::Hamming(Step::Bytes256),
            _ => Code::for_need(part.ecc).ok_or(ProfileError::Need(part.ecc))?,
        };
        Self::with(part, code, !part.is_small_page())
    }

    /// Linux' layout for a part and a code.
    ///
    /// # Errors
    /// When the code is not one of the part, or its bytes do not fit the spare bytes.
    pub fn with(part: &Part, code: Code, subpage_read: bool) -> Result<Self, ProfileError> {
        let (page, oob) = (part.geometry.page.to_usize(), part.geometry.oob.to_usize());
        let engine = Engine::new(code).map_err(ProfileError::Code)?;
        let layout = match (code, part.on_die_ecc) {
            (Code::OnDie, Some(need)) => {
                let chip = Code::for_need(need).and_then(|code| Engine::new(code).ok());
                let chip = chip.ok_or(ProfileError::Need(need))?;
                Layout::on_die(oob, page / chip.step(), chip.code_bytes())
            }
            (Code::OnDie, None) => return Err(ProfileError::Code(UnknownCode(code))),
            _ => Layout::linux(page, oob, page / engine.step() * engine.code_bytes()),
        };
        let layout = layout.map_err(ProfileError::Layout)?;
        Ok(Self {
            code,
            layout,
            subpage_read,
            verify_write: false,
            ecc_rate: None,
            flash_table: false,
            strict: true,
        })
    }

    /// Whether it fits the part; the engine if so.
    pub(super) fn check(&self, part: &Part) -> Result<Engine, ProfileError> {
        let (page, oob) = (part.geometry.page.to_usize(), part.geometry.oob.to_usize());
        let engine = Engine::new(self.code).map_err(ProfileError::Code)?;
        if !page.is_multiple_of(engine.step()) {
            return Err(ProfileError::Step { step: engine.step(), page });
        }
        let codes = page / engine.step() * engine.code_bytes();
        // A chip's own codes lie in the layout as well, but are none of the driver's business.
        let found = (self.layout.size(), self.layout.ecc_bytes());
        let expected = (oob, if self.code == Code::OnDie { found.1 } else { codes });
        if found == expected { Ok(engine) } else { Err(ProfileError::Spare { expected, found }) }
    }

    /// The spare bytes from the first to the last of those that hold bytes of codes; all of them where
    /// the codes have gaps, as Linux does.
    pub(super) fn code_places(&self, from: usize, length: usize) -> Range<usize> {
        match self.layout.ecc() {
            [all] => all.start + from..all.start + from + length,
            _ => 0..self.layout.size(),
        }
    }
}
