//! The parameters of a NOR part: geometry, identity, CFI data, timing and features.
//!
//! Everything comes from a part file; nothing here has a default. [`Part::check`] validates a
//! [`Part`] once, so that the chip can rely on it.

use boardlab_sim::{Bytes, Duration, QuantileTable};
use std::fmt;

/// Width of the data bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BusWidth {
    /// Eight lines; a bus address counts bytes.
    X8,
    /// Sixteen lines; a bus address counts 16-bit words.
    X16,
}

impl BusWidth {
    /// Bytes that one bus cycle moves.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::X8 => 1,
            Self::X16 => 2,
        }
    }
}

/// The location of the small boot sectors, as in the primary CFI table (PRI+0Fh).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Boot {
    /// All sectors have one size.
    Uniform,
    /// The small sectors are at the lowest addresses.
    Bottom,
    /// The small sectors are at the highest addresses.
    Top,
}

/// An erase region: consecutive sectors of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Region {
    /// The number of sectors.
    pub count: u32,
    /// The size of a sector.
    pub size: Bytes,
}

/// Autoselect codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Manufacturer, read at 00h.
    pub manufacturer: u16,
    /// Device code, read at 01h.
    pub device: u16,
    /// Second and third device cycles, read at 0Eh and 0Fh; `None` on a part with one device cycle.
    pub device_extended: Option<[u16; 2]>,
}

/// The duration of an embedded operation, and the maximum after which the chip reports failure (DQ5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationTime {
    /// The distribution of completion times.
    pub time: QuantileTable,
    /// The data sheet's maximum: beyond it the chip reports failure.
    pub max: Duration,
}

/// Times of the embedded operations and of the command interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// Program of one word (or byte in x8).
    pub word_program: OperationTime,
    /// Program of a full write buffer; without meaning for a part that has none.
    pub buffer_program: OperationTime,
    /// The part of `buffer_program` that does not depend on the number of words.
    pub buffer_overhead: Duration,
    /// Erase of one sector, including its pre-program.
    pub sector_erase: OperationTime,
    /// The window after a sector erase command in which further sectors may be added (DQ3).
    pub erase_window: Duration,
    /// Latency from a suspend command to array reads.
    pub suspend_latency: Duration,
    /// Busy time of a program or erase of a protected sector.
    pub protected_latency: Duration,
    /// Latency from a hardware reset during an operation to array reads.
    pub reset_latency: Duration,
}

/// The times in the CFI query table (JESD68), as exponents of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CfiTimes {
    /// 1Fh: typical single word program, 2^n us.
    pub word_typical: u8,
    /// 20h: typical full buffer program, 2^n us; 0 when there is no buffer.
    pub buffer_typical: u8,
    /// 21h: typical sector erase, 2^n ms.
    pub erase_typical: u8,
    /// 22h: typical chip erase, 2^n ms; 0 when not supported.
    pub chip_typical: u8,
    /// 23h: maximum word program, 2^n times typical.
    pub word_max: u8,
    /// 24h: maximum buffer program, 2^n times typical.
    pub buffer_max: u8,
    /// 25h: maximum sector erase, 2^n times typical.
    pub erase_max: u8,
    /// 26h: maximum chip erase, 2^n times typical; 0 when not supported.
    pub chip_max: u8,
}

/// The rest of the CFI query and the primary vendor table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cfi {
    /// Times, 1Fh to 26h.
    pub times: CfiTimes,
    /// 1Bh, 1Ch: lowest and highest Vcc, volts in the high nibble, tenths in the low one (BCD).
    pub vcc: [u8; 2],
    /// 1Dh, 1Eh: lowest and highest Vpp in the same form; 0 on a part without Vpp.
    pub vpp: [u8; 2],
    /// 28h: device interface code: 0 x8, 1 x16, 2 x8/x16.
    pub interface: u16,
    /// PRI+4: minor version as an ASCII digit, `'0'` to `'5'`; the major one is `'1'`.
    pub primary_minor: u8,
    /// PRI+5: process technology and address-sensitive unlock.
    pub silicon_revision: u8,
    /// PRI+7: sectors per protection group.
    pub protection_group: u8,
    /// PRI+9: protection scheme; 8 is advanced sector protection (PPB).
    pub protection_scheme: u8,
    /// PRI+0Ch: page mode: 0 none, 1 four words, 2 eight words, 3 sixteen words.
    pub page_mode: u8,
}

/// Features beyond word program and sector erase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Features {
    /// Unlock bypass: a program with two cycles.
    pub unlock_bypass: bool,
    /// Erase suspend, including programs of other sectors during the suspension.
    pub erase_suspend: bool,
    /// Program suspend.
    pub program_suspend: bool,
    /// Status register (70h, 71h).
    pub status_register: bool,
    /// Advanced sector protection with persistent bits (C0h).
    pub ppb: bool,
    /// A one programmed over a zero is ignored (S29GL-P data sheet, 7.8.5). Otherwise the program
    /// clears what it can and fails after its maximum time (M29W128G data sheet, 7.2.4: DQ5).
    pub masks_ones: bool,
}

/// A NOR part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Name for display.
    pub name: String,
    /// Width of the data bus it is connected to.
    pub width: BusWidth,
    /// Sectors in address order.
    pub regions: Vec<Region>,
    /// Location of the small sectors.
    pub boot: Boot,
    /// Size of the write buffer; `None` without one.
    pub write_buffer: Option<Bytes>,
    /// Autoselect codes.
    pub identity: Identity,
    /// CFI data; `None` on a part that predates CFI.
    pub cfi: Option<Cfi>,
    /// Timing.
    pub timing: Timing,
    /// Features.
    pub features: Features,
    /// Endurance: the erase cycles per sector in the data sheet.
    pub endurance: u32,
}

/// Why the parameters of a part are invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartError {
    /// There are no sectors, or a sector has size zero.
    NoSectors,
    /// The size is not a power of two.
    Size(Bytes),
    /// A sector is not a power of two or smaller than the write buffer.
    Sector(Bytes),
    /// The write buffer is not a power of two from one bus word to 256 bytes in x8, to 512 words in
    /// x16 (M29EW): the command gives its number of words minus one in one bus word.
    WriteBuffer(Bytes),
    /// A time that exceeds its maximum.
    Time {
        /// The parameter's name.
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
            Self::NoSectors => f.write_str("a part needs sectors of at least one byte"),
            Self::Size(size) => {
                write!(f, "the sectors add up to {size}: expected a power of two")
            }
            Self::Sector(size) => write!(
                f,
                "a sector of {size}: expected a power of two, at least the write buffer's size"
            ),
            Self::WriteBuffer(size) => {
                write!(
                    f,
                    "a write buffer of {size}: expected a power of two, at most 256 bytes in x8 or 512 words in x16"
                )
            }
            Self::Time { name, longest, max } => {
                write!(f, "{name} takes up to {longest}: expected at most its maximum of {max}")
            }
        }
    }
}

impl std::error::Error for PartError {}

impl Part {
    /// The size of the part.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.regions.iter().map(|region| region.size * u64::from(region.count)).sum()
    }

    /// The number of sectors.
    #[must_use]
    pub fn sector_count(&self) -> u32 {
        self.regions.iter().map(|region| region.count).sum()
    }

    /// Validates the parameters that the chip relies on.
    ///
    /// # Errors
    /// The first invalid parameter.
    pub fn check(&self) -> Result<(), PartError> {
        let sizes = self.regions.iter().map(|region| region.size);
        if self.sector_count() == 0 || sizes.clone().any(Bytes::is_zero) {
            return Err(PartError::NoSectors);
        }
        if !self.size().get().is_power_of_two() {
            return Err(PartError::Size(self.size()));
        }
        let buffer = self.write_buffer.unwrap_or(Bytes::new(self.width.bytes()));
        let words = buffer.get() / self.width.bytes();
        let most = if self.width == BusWidth::X8 { 256 } else { 512 };
        if !buffer.get().is_power_of_two() || !(1..=most).contains(&words) {
            return Err(PartError::WriteBuffer(buffer));
        }
        let unfit = |size: &Bytes| !size.get().is_power_of_two() || *size < buffer;
        if let Some(size) = sizes.clone().find(unfit) {
            return Err(PartError::Sector(size));
        }
        self.check_times()
    }

    fn check_times(&self) -> Result<(), PartError> {
        let timed = [
            ("word_program", &self.timing.word_program),
            ("buffer_program", &self.timing.buffer_program),
            ("sector_erase", &self.timing.sector_erase),
        ];
        for (name, OperationTime { time, max }) in timed {
            if time.max() > *max {
                return Err(PartError::Time { name, longest: time.max(), max: *max });
            }
        }
        let full = self.timing.buffer_program.time.min();
        if self.timing.buffer_overhead > full {
            let longest = self.timing.buffer_overhead;
            return Err(PartError::Time { name: "buffer_overhead", longest, max: full });
        }
        Ok(())
    }
}
