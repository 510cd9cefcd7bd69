//! What a NOR part is: its shape, its identity, what it says of itself and how long it takes.
//!
//! Everything comes from a part file; nothing here has a default. A [`Part`] is checked once
//! ([`Part::check`]), so that the chip can rely on it.

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

/// Where the small boot sectors lie, as the primary CFI table tells it (PRI+0Fh).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Boot {
    /// All sectors have one size.
    Uniform,
    /// The small sectors are at the lowest addresses.
    Bottom,
    /// The small sectors are at the highest addresses.
    Top,
}

/// A run of sectors of one size, in address order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Region {
    /// How many sectors.
    pub count: u32,
    /// The size of each.
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

/// How long an operation takes and after which time the chip gives up (DQ5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed {
    /// The distribution of completion times.
    pub time: QuantileTable,
    /// The data sheet's maximum: past it the chip reports failure.
    pub max: Duration,
}

/// Times of the embedded operations and of the command interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// One word (or byte in x8).
    pub word_program: Timed,
    /// A full write buffer; meaningless on a part without one.
    pub buffer_program: Timed,
    /// The share of `buffer_program` that does not depend on the number of words.
    pub buffer_overhead: Duration,
    /// One sector, its pre-program included.
    pub sector_erase: Timed,
    /// Window after a sector erase command in which further sectors may be added (DQ3).
    pub erase_window: Duration,
    /// From a suspend command to array reads.
    pub suspend_latency: Duration,
    /// Minimum time of an erase or a program that reports a protected sector.
    pub protected_latency: Duration,
    /// From a hardware reset during an operation to array reads.
    pub reset_latency: Duration,
}

/// What the part says of itself under the CFI query (JESD68), as exponents of two.
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
    /// 1Dh, 1Eh: Vpp likewise; 0 where there is none.
    pub vpp: [u8; 2],
    /// 28h: device interface code: 0 x8, 1 x16, 2 x8/x16.
    pub interface: u16,
    /// PRI+4: minor version as an ASCII digit, `'0'` to `'5'`; the major one is `'1'`.
    pub primary_minor: u8,
    /// PRI+5: process technology and address-sensitive unlock.
    pub silicon_revision: u8,
    /// PRI+7: sectors a protection group.
    pub protection_group: u8,
    /// PRI+9: protection scheme; 8 is advanced sector protection (PPB).
    pub protection_scheme: u8,
    /// PRI+0Ch: page mode: 0 none, 1 four words, 2 eight words, 3 sixteen words.
    pub page_mode: u8,
}

/// What the part can do beyond word program and sector erase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Features {
    /// Unlock bypass: program with two cycles.
    pub unlock_bypass: bool,
    /// Erase suspend; with it, programming other sectors meanwhile.
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
    /// Name for people.
    pub name: String,
    /// Width in which it is wired.
    pub width: BusWidth,
    /// Sectors in address order.
    pub regions: Vec<Region>,
    /// Where the small sectors lie.
    pub boot: Boot,
    /// Size of the write buffer; `None` without one.
    pub write_buffer: Option<Bytes>,
    /// Autoselect codes.
    pub identity: Identity,
    /// Answers to the CFI query; `None` on a part that predates CFI.
    pub cfi: Option<Cfi>,
    /// Times.
    pub timing: Timing,
    /// Abilities.
    pub features: Features,
    /// Erase cycles a sector that the data sheet promises.
    pub endurance: u32,
}

/// Why a part cannot exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartError {
    /// There are no sectors, or one of no size.
    NoSectors,
    /// The size is not a power of two.
    Size(Bytes),
    /// A sector is not a power of two or smaller than the write buffer.
    Sector(Bytes),
    /// The write buffer is not a power of two from one bus word to 256 bytes in x8, to 512 words in
    /// x16 (M29EW): its length less one is told in one bus word.
    WriteBuffer(Bytes),
    /// A time that no operation can have.
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
            Self::NoSectors => f.write_str("a part needs sectors of at least one byte"),
            Self::Size(size) => write!(f, "the sectors add up to {size}, not a power of two"),
            Self::Sector(size) => {
                write!(f, "a sector of {size} is not a power of two that holds the write buffer")
            }
            Self::WriteBuffer(size) => {
                write!(
                    f,
                    "a write buffer of {size} is not a power of two of at most 256 bytes in x8, 512 words in x16"
                )
            }
            Self::Time { name, longest, max } => {
                write!(f, "{name} may take {longest}, longer than its maximum of {max}")
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

    /// How many sectors it has.
    #[must_use]
    pub fn sector_count(&self) -> u32 {
        self.regions.iter().map(|region| region.count).sum()
    }

    /// Checks what the chip relies on.
    ///
    /// # Errors
    /// The first thing that cannot be.
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
        for (name, Timed { time, max }) in timed {
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
