//! The frame information structures (FIS): what the two ends tell each other.
//!
//! One file a type, each of the same five parts: field ranges, view, representation, printer, tests on
//! literal dwords. Main type: [`Fis`], everything but Data, whose payload never passes through a
//! representation.
//!
//! Source: Serial ATA Revision 3, 10.5.

use std::fmt;

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

/// Register, host to device (27h, 5 dwords): a command, or a change of the control register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RegisterH2d {
    /// Port multiplier port.
    pub port: u8,
    /// C: a command; otherwise only `control` counts.
    pub is_command: bool,
    /// Command.
    pub command: u8,
    /// Features, both bytes.
    pub features: u16,
    /// LBA, 48 bits.
    pub lba: u64,
    /// Device register.
    pub device: u8,
    /// Sector count, both bytes.
    pub count: u16,
    /// Isochronous command completion.
    pub icc: u8,
    /// Device control: SRST is bit 2.
    pub control: u8,
}

/// Register, device to host (34h, 5 dwords): the end of a command, or the signature after a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RegisterD2h {
    /// Port multiplier port.
    pub port: u8,
    /// I: interrupt.
    pub interrupt: bool,
    /// Status.
    pub status: u8,
    /// Error.
    pub error: u8,
    /// LBA, 48 bits.
    pub lba: u64,
    /// Device register.
    pub device: u8,
    /// Sector count, both bytes.
    pub count: u16,
}

/// DMA Activate (39h, 1 dword): the device takes a Data FIS of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DmaActivate {
    /// Port multiplier port.
    pub port: u8,
}

/// DMA Setup (41h, 7 dwords): the data phase of a queued command begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DmaSetup {
    /// Port multiplier port.
    pub port: u8,
    /// D: data go to the host.
    pub to_host: bool,
    /// I: interrupt.
    pub interrupt: bool,
    /// A: the host sends the first Data FIS without a DMA Activate.
    pub auto_activate: bool,
    /// DMA buffer identifier: the tag.
    pub buffer: u64,
    /// Offset into the buffer, bytes.
    pub offset: u32,
    /// Bytes to be moved.
    pub count: u32,
}

/// BIST Activate (58h, 3 dwords): a self-test of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bist {
    /// Port multiplier port.
    pub port: u8,
    /// Pattern bits T, A, S, L, F, P, V from bit 7 down to bit 0.
    pub pattern: u8,
    /// The two data dwords.
    pub data: [u32; 2],
}

/// PIO Setup (5Fh, 5 dwords): a Data FIS of a PIO command follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PioSetup {
    /// Port multiplier port.
    pub port: u8,
    /// D: data go to the host.
    pub to_host: bool,
    /// I: interrupt.
    pub interrupt: bool,
    /// Status at the beginning of the transfer.
    pub status: u8,
    /// Error.
    pub error: u8,
    /// LBA, 48 bits.
    pub lba: u64,
    /// Device register.
    pub device: u8,
    /// Sector count, both bytes.
    pub count: u16,
    /// Status at its end.
    pub ending_status: u8,
    /// Bytes to be moved.
    pub transfer: u16,
}

/// Set Device Bits (A1h, 2 dwords): queued commands have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SetDeviceBits {
    /// Port multiplier port.
    pub port: u8,
    /// I: interrupt.
    pub interrupt: bool,
    /// N: notification.
    pub notification: bool,
    /// Status, of which bits 6 to 4 and 2 to 0 travel.
    pub status: u8,
    /// Error.
    pub error: u8,
    /// SActive: a bit for each tag that has ended.
    pub active: u32,
}

/// Bits of the status register.
pub mod status {
    /// The device works on a command.
    pub const BSY: u8 = 0x80;
    /// The device is ready.
    pub const DRDY: u8 = 0x40;
    /// The device has failed.
    pub const DF: u8 = 0x20;
    /// Obsolete, and set by every device: seek complete.
    pub const DSC: u8 = 0x10;
    /// Data are to be moved.
    pub const DRQ: u8 = 0x08;
    /// The command has failed; see the error register.
    pub const ERR: u8 = 0x01;
}

/// Bits of the error register.
pub mod error {
    /// A CRC error on the link.
    pub const ICRC: u8 = 0x80;
    /// Data could not be read.
    pub const UNC: u8 = 0x40;
    /// There is no such sector.
    pub const IDNF: u8 = 0x10;
    /// The command was aborted.
    pub const ABRT: u8 = 0x04;
}

impl Fis {
    /// Dwords of it, without CRC.
    #[must_use]
    pub const fn dwords(&self) -> u32 {
        match self {
            Self::RegisterH2d(_) | Self::RegisterD2h(_) | Self::PioSetup(_) => 5,
            Self::DmaActivate(_) => 1,
            Self::DmaSetup(_) => 7,
            Self::Bist(_) => 3,
            Self::SetDeviceBits(_) => 2,
        }
    }

    /// Its name in the standard.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RegisterH2d(_) => "Register - Host to Device",
            Self::RegisterD2h(_) => "Register - Device to Host",
            Self::DmaActivate(_) => "DMA Activate",
            Self::DmaSetup(_) => "DMA Setup",
            Self::Bist(_) => "BIST Activate",
            Self::PioSetup(_) => "PIO Setup",
            Self::SetDeviceBits(_) => "Set Device Bits",
        }
    }
}

impl fmt::Display for Fis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
