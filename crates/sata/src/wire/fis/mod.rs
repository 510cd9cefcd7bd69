//! The frame information structures (FIS): the messages between the two ends.
//!
//! Layer: format. Main types: [`Kind`]; [`View`], a FIS in its dwords; and [`Fis`], any FIS but Data,
//! whose payload never passes through a representation.
//!
//! Each type has a file of five parts: field ranges, view, representation, printer, tests on literal
//! dwords. What all views have in common, the check of type, length and reserved bits, is in `view`.
//! Field ranges are repeated where two types agree, such as Register - Device to Host and PIO Setup:
//! each file can be compared with its clause of the standard by itself, and a correction to one type
//! does not change another.
//!
//! Source: Serial ATA Revision 3, 10.5.

mod bist;
pub mod data;
mod dma_activate;
mod dma_setup;
mod field;
mod pio_setup;
mod register_d2h;
mod register_h2d;
mod set_device_bits;
mod view;

pub use bist::{Bist, BistView};
pub use data::{DataHeader, DataView};
pub use dma_activate::{DmaActivate, DmaActivateView};
pub use dma_setup::{DmaSetup, DmaSetupView};
pub use pio_setup::{PioSetup, PioSetupView};
pub use register_d2h::{RegisterD2h, RegisterD2hView};
pub use register_h2d::{RegisterH2d, RegisterH2dView};
pub use set_device_bits::{SetDeviceBits, SetDeviceBitsView};
pub use view::{Format, View};

use crate::wire::error::Error;
use std::fmt;
use std::ops::RangeInclusive;

/// Any FIS without payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fis {
    /// 27h.
    RegisterH2d(RegisterH2d),
    /// 34h.
    RegisterD2h(RegisterD2h),
    /// 39h.
    DmaActivate(DmaActivate),
    /// 41h.
    DmaSetup(DmaSetup),
    /// 58h.
    Bist(Bist),
    /// 5Fh.
    PioSetup(PioSetup),
    /// A1h.
    SetDeviceBits(SetDeviceBits),
}

/// The type of a FIS: its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// 27h.
    RegisterH2d,
    /// 34h.
    RegisterD2h,
    /// 39h.
    DmaActivate,
    /// 41h.
    DmaSetup,
    /// 46h.
    Data,
    /// 58h.
    Bist,
    /// 5Fh.
    PioSetup,
    /// A1h.
    SetDeviceBits,
}

impl Kind {
    /// All types, ordered by code.
    pub const ALL: [Self; 8] = [
        Self::RegisterH2d,
        Self::RegisterD2h,
        Self::DmaActivate,
        Self::DmaSetup,
        Self::Data,
        Self::Bist,
        Self::PioSetup,
        Self::SetDeviceBits,
    ];

    /// The first byte of such a FIS.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::RegisterH2d => 0x27,
            Self::RegisterD2h => 0x34,
            Self::DmaActivate => 0x39,
            Self::DmaSetup => 0x41,
            Self::Data => 0x46,
            Self::Bist => 0x58,
            Self::PioSetup => 0x5F,
            Self::SetDeviceBits => 0xA1,
        }
    }

    /// The name in the standard.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RegisterH2d => "Register - Host to Device",
            Self::RegisterD2h => "Register - Device to Host",
            Self::DmaActivate => "DMA Activate",
            Self::DmaSetup => "DMA Setup",
            Self::Data => "Data",
            Self::Bist => "BIST Activate",
            Self::PioSetup => "PIO Setup",
            Self::SetDeviceBits => "Set Device Bits",
        }
    }

    /// The lengths that a FIS of this type may have, in dwords without CRC. Only that of Data varies.
    #[must_use]
    pub const fn lengths(self) -> RangeInclusive<usize> {
        match self {
            Self::RegisterH2d | Self::RegisterD2h | Self::PioSetup => 5..=5,
            Self::DmaActivate => 1..=1,
            Self::DmaSetup => 7..=7,
            Self::Data => 2..=data::LARGEST,
            Self::Bist => 3..=3,
            Self::SetDeviceBits => 2..=2,
        }
    }

    /// The type in the first dword of a FIS.
    ///
    /// # Errors
    /// [`Error::UnknownFis`].
    pub fn of(dword: u32) -> Result<Self, Error> {
        let found = dword.to_le_bytes()[0];
        let kind = Self::ALL.into_iter().find(|kind| kind.code() == found);
        kind.ok_or(Error::UnknownFis { found })
    }

    fn dword(self) -> u32 {
        u32::from(self.code())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Bits of the status register.
pub mod status {
    /// The device executes a command.
    pub const BSY: u8 = 0x80;
    /// The device is ready.
    pub const DRDY: u8 = 0x40;
    /// Device fault.
    pub const DF: u8 = 0x20;
    /// Obsolete, and set by every device: seek complete.
    pub const DSC: u8 = 0x10;
    /// The device requests a data transfer.
    pub const DRQ: u8 = 0x08;
    /// The command has failed; the error register says why.
    pub const ERR: u8 = 0x01;
}

/// Bits of the error register.
pub mod error {
    /// A CRC error on the link.
    pub const ICRC: u8 = 0x80;
    /// Uncorrectable data.
    pub const UNC: u8 = 0x40;
    /// The sector does not exist.
    pub const IDNF: u8 = 0x10;
    /// The command was aborted.
    pub const ABRT: u8 = 0x04;
}

impl Fis {
    /// The length of the longest FIS without payload in dwords, without CRC.
    pub const LONGEST: usize = 7;

    /// The type.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::RegisterH2d(_) => Kind::RegisterH2d,
            Self::RegisterD2h(_) => Kind::RegisterD2h,
            Self::DmaActivate(_) => Kind::DmaActivate,
            Self::DmaSetup(_) => Kind::DmaSetup,
            Self::Bist(_) => Kind::Bist,
            Self::PioSetup(_) => Kind::PioSetup,
            Self::SetDeviceBits(_) => Kind::SetDeviceBits,
        }
    }

    /// Its length in dwords, without CRC.
    #[must_use]
    #[inline]
    pub fn dwords(&self) -> u32 {
        u32::try_from(*self.kind().lengths().end()).expect("seven dwords at most")
    }

    /// The name in the standard.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// Parses the FIS in `words`, which exclude the CRC. Reserved bits are ignored, as the standard
    /// requires.
    ///
    /// # Errors
    /// [`Error::ShortFrame`], [`Error::UnknownFis`], [`Error::FisLength`]; [`Error::WrongFis`] for a
    /// Data FIS, which is no `Fis`.
    pub fn parse(words: &[u32]) -> Result<Self, Error> {
        let first = *words.first().ok_or(Error::ShortFrame { found: 0 })?;
        Ok(match Kind::of(first)? {
            Kind::RegisterH2d => Self::RegisterH2d(RegisterH2dView::new(words)?.parse()),
            Kind::RegisterD2h => Self::RegisterD2h(RegisterD2hView::new(words)?.parse()),
            Kind::DmaActivate => Self::DmaActivate(DmaActivateView::new(words)?.parse()),
            Kind::DmaSetup => Self::DmaSetup(DmaSetupView::new(words)?.parse()),
            found @ Kind::Data => {
                return Err(Error::WrongFis { expected: Kind::RegisterH2d, found });
            }
            Kind::Bist => Self::Bist(BistView::new(words)?.parse()),
            Kind::PioSetup => Self::PioSetup(PioSetupView::new(words)?.parse()),
            Kind::SetDeviceBits => Self::SetDeviceBits(SetDeviceBitsView::new(words)?.parse()),
        })
    }

    /// Writes the dwords without CRC to the start of `words`, and returns their number.
    ///
    /// # Panics
    /// If an LBA needs more than 48 bits.
    pub fn emit(&self, words: &mut [u32; Self::LONGEST]) -> usize {
        match self {
            Self::RegisterH2d(fis) => copy(words, fis.emit()),
            Self::RegisterD2h(fis) => copy(words, fis.emit()),
            Self::DmaActivate(fis) => copy(words, fis.emit()),
            Self::DmaSetup(fis) => copy(words, fis.emit()),
            Self::Bist(fis) => copy(words, fis.emit()),
            Self::PioSetup(fis) => copy(words, fis.emit()),
            Self::SetDeviceBits(fis) => copy(words, fis.emit()),
        }
    }
}

fn copy<const N: usize>(words: &mut [u32; Fis::LONGEST], from: [u32; N]) -> usize {
    words[..N].copy_from_slice(&from);
    N
}

impl fmt::Display for Fis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name())?;
        match self {
            Self::RegisterH2d(fis) => fis.fmt(f),
            Self::RegisterD2h(fis) => fis.fmt(f),
            Self::DmaActivate(fis) => fis.fmt(f),
            Self::DmaSetup(fis) => fis.fmt(f),
            Self::Bist(fis) => fis.fmt(f),
            Self::PioSetup(fis) => fis.fmt(f),
            Self::SetDeviceBits(fis) => fis.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_is_read_back_from_its_dwords() {
        let all = [
            Fis::RegisterH2d(RegisterH2d { command: 0x25, is_command: true, ..Default::default() }),
            Fis::RegisterD2h(RegisterD2h { status: status::DRDY, ..Default::default() }),
            Fis::DmaActivate(DmaActivate { port: 1 }),
            Fis::DmaSetup(DmaSetup { count: 512, ..Default::default() }),
            Fis::Bist(Bist { pattern: 0x80, ..Default::default() }),
            Fis::PioSetup(PioSetup { transfer: 512, ..Default::default() }),
            Fis::SetDeviceBits(SetDeviceBits { active: 2, ..Default::default() }),
        ];
        for fis in all {
            let mut words = [u32::MAX; Fis::LONGEST];
            let length = fis.emit(&mut words);
            assert_eq!(u32::try_from(length).unwrap(), fis.dwords());
            assert_eq!(fis.kind().lengths(), length..=length);
            assert_eq!(Fis::parse(&words[..length]), Ok(fis));
            assert!(fis.to_string().starts_with(fis.name()));
        }
    }

    #[test]
    fn each_first_byte_is_a_type_or_an_error() {
        for code in 0..=u8::MAX {
            let words = [u32::from(code), 0, 0, 0, 0, 0, 0, 0];
            let known = Kind::ALL.into_iter().find(|kind| kind.code() == code);
            for length in 1..=8 {
                let parsed = Fis::parse(&words[..length]);
                let lengths = known.filter(|&kind| kind != Kind::Data).map(Kind::lengths);
                let good = lengths.is_some_and(|lengths| lengths.contains(&length));
                assert_eq!(parsed.is_ok(), good, "{code:02X}h of {length} dwords");
                if known.is_none() {
                    assert_eq!(parsed, Err(Error::UnknownFis { found: code }));
                }
            }
        }
        assert_eq!(Fis::parse(&[]), Err(Error::ShortFrame { found: 0 }));
    }
}
