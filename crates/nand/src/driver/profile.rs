//! The behaviour of a driver: which kernel, which ECC, which layout of the OOB area.
//!
//! Layer: rank 3. Main type: [`Profile`]. Source: as for the driver; `subpage_read` is
//! `NAND_SUBPAGE_READ` of Linux 6.1 (set for software ECC on large pages; with it the last page is
//! not cached).

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
    /// The layout of the OOB area.
    pub layout: Layout,
    /// Whether a partial read of a page transfers only the ECC steps that it touches; otherwise it
    /// transfers and caches the whole page.
    pub subpage_read: bool,
    /// Whether every program is read back and compared (`CONFIG_MTD_NAND_VERIFY_WRITE`, until Linux
    /// 3.5).
    pub verify_write: bool,
    /// The rate at which the host calculates ECC bytes; at no cost when `None`.
    pub ecc_rate: Option<Rate>,
    /// Whether the bad-block table is kept on the flash, in its last blocks.
    pub flash_table: bool,
    /// Whether a program that the data sheet does not allow is an error. Real chips report nothing,
    /// but the data have more bit errors.
    pub strict: bool,
}

/// Why a driver cannot attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileError {
    /// The part is invalid.
    Part(PartError),
    /// There is no such ECC.
    Code(UnknownCode),
    /// The part requires an ECC that is not implemented.
    Need(EccNeed),
    /// The page is not a whole number of ECC steps.
    Step {
        /// Bytes of a step.
        step: usize,
        /// Main bytes of a page.
        page: usize,
    },
    /// The layout is invalid.
    Layout(LayoutError),
    /// The layout has another number of OOB bytes or of ECC bytes.
    Spare {
        /// The numbers of OOB bytes and of ECC bytes of part and ECC.
        expected: (usize, usize),
        /// The numbers of the layout.
        found: (usize, usize),
    },
    /// The identity of the chip differs from that of the part.
    Identity {
        /// The identity of the part.
        expected: Vec<u8>,
        /// The identity of the chip.
        found: Vec<u8>,
    },
    /// The port failed.
    Port(PortError),
    /// The scan for bad blocks failed.
    Mtd(Error),
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part(error) => error.fmt(f),
            Self::Code(error) => error.fmt(f),
            Self::Need(need) => {
                write!(f, "no ECC here corrects {} bits in {}", need.bits, need.step)
            }
            Self::Step { step, page } => {
                write!(f, "a page of {page} bytes is not a whole number of steps of {step} bytes")
            }
            Self::Layout(error) => error.fmt(f),
            Self::Spare { expected, found } => write!(
                f,
                "the layout has {} OOB bytes, {} of them ECC bytes; part and ECC have {} and {}",
                found.0, found.1, expected.0, expected.1
            ),
            Self::Identity { expected, found } => {
                write!(f, "the chip's identity is {found:02X?}, not {expected:02X?}")
            }
            Self::Port(error) => error.fmt(f),
            Self::Mtd(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ProfileError {}

impl Profile {
    /// Linux 2.6.20 to 2.6.26 with software ECC: Hamming over 256 bytes, whole pages.
    ///
    /// # Errors
    /// When the layout does not fit the part.
    pub fn linux_2_6(part: &Part) -> Result<Self, ProfileError> {
        Self::with(part, Code::Hamming(Step::Bytes256), false)
    }

    /// Linux 6.1: on-die ECC if the chip has it, Hamming where one bit is sufficient, else BCH;
    /// partial reads are by ECC steps.
    ///
    /// # Errors
    /// When no ECC or layout fits the part.
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

    /// The profile with Linux' layout for a part and an ECC.
    ///
    /// # Errors
    /// When the ECC does not fit the part, or its bytes do not fit the OOB area.
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

    /// Checks that the profile fits the part, and returns the ECC engine.
    pub(super) fn check(&self, part: &Part) -> Result<Engine, ProfileError> {
        let (page, oob) = (part.geometry.page.to_usize(), part.geometry.oob.to_usize());
        let engine = Engine::new(self.code).map_err(ProfileError::Code)?;
        if !page.is_multiple_of(engine.step()) {
            return Err(ProfileError::Step { step: engine.step(), page });
        }
        let codes = page / engine.step() * engine.code_bytes();
        // The ECC bytes of on-die ECC are in the layout too, but the driver does not use them.
        let found = (self.layout.size(), self.layout.ecc_bytes());
        let expected = (oob, if self.code == Code::OnDie { found.1 } else { codes });
        if found == expected { Ok(engine) } else { Err(ProfileError::Spare { expected, found }) }
    }

    /// The OOB bytes from the first to the last that hold the given ECC bytes; all of them where
    /// the ECC bytes have gaps, as Linux does.
    pub(super) fn code_places(&self, from: usize, length: usize) -> Range<usize> {
        match self.layout.ecc() {
            [all] => all.start + from..all.start + from + length,
            _ => 0..self.layout.size(),
        }
    }
}
