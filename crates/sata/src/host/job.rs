//! The jobs of a host.
//!
//! Layer: the upper interface of [`crate::host::Host`]. Main types: [`Job`], [`Transfer`],
//! [`Addressing`], [`Pattern`].
//!
//! Source: ATA/ATAPI-8 ACS for commands; Linux 6.1 `ata_build_rw_tf` and `lba_28_ok`
//! (`drivers/ata/libata-core.c`, `include/linux/ata.h`) for [`Addressing::LinuxChoice`]. Left out:
//! forced unit access, PIO reads and writes, power management.

pub use crate::arithmetic::Direction;

use crate::host::report::Refusal;
use crate::wire::identify::Identify;
use crate::wire::{Counting, Step};
use crate::{SECTOR, SECTOR_DWORDS};
use boardlab_sim::Bytes;

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    /// IDENTIFY DEVICE. The host keeps the drive's data and checks later jobs against them.
    Identify,
    /// Reads or writes sectors.
    Transfer(Transfer),
    /// FLUSH CACHE EXT, or FLUSH CACHE if the drive is known not to support 48-bit commands.
    Flush,
    /// SET FEATURES.
    SetFeatures {
        /// The subcommand, in the features register. 02h and 82h turn the write cache on and off, 03h
        /// sets the transfer mode.
        feature: u8,
        /// The value, in the count register.
        value: u8,
    },
}

/// The commands that address the sectors of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Addressing {
    /// READ DMA and WRITE DMA: at most 256 sectors per command, below sector 2^28 - 1.
    Lba28,
    /// READ DMA EXT and WRITE DMA EXT: at most 65,536 sectors per command.
    Lba48,
    /// The choice of Linux: 28-bit commands for up to 256 sectors that end before sector 2^28 - 1,
    /// 48-bit commands otherwise.
    LinuxChoice,
    /// READ and WRITE FPDMA QUEUED with this queue depth: 1 to 32.
    Queued(u32),
}

/// Data determined by their position: dword `i` of sector `s` is `128 s + i`, or its negation, modulo
/// 2^32. Commands on adjacent sectors continue the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Inc32: incrementing words.
    Increment,
    /// Dec32: decrementing words.
    Decrement,
}

impl Pattern {
    /// Returns the words from the first one of sector `lba` on.
    #[must_use]
    pub const fn at(self, lba: u64) -> Counting {
        let (first, step) = match self {
            Self::Increment => (0, Step::Up),
            Self::Decrement => (0, Step::Down),
        };
        // Words wrap at 2^32, so the index of the first one may wrap as well.
        Counting { first, step }.from(lba.wrapping_mul(SECTOR_DWORDS as u64))
    }
}

/// The data to write, or the data expected from a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// A pattern.
    Pattern(Pattern),
    /// The words of the whole transfer, little-endian.
    Words(Vec<u32>),
    /// The words of a read go unverified into its report.
    Captured,
    /// The words of a read are ignored.
    Ignored,
}

/// A read or write of adjacent sectors in one or more commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// The direction.
    pub direction: Direction,
    /// The first sector.
    pub first: u64,
    /// The total number of sectors.
    pub sectors: u64,
    /// The sectors of each command; the last one may have fewer.
    pub command_sectors: u32,
    /// The commands used.
    pub addressing: Addressing,
    /// The data.
    pub data: Data,
}

/// The longest transfer whose words are captured: a quarter of a gibibyte.
const CAPTURE_SECTORS_MAX: u64 = 1 << 19;
/// The first sector that 28-bit commands do not reach: FFFFFFFh is not a valid address.
const LBA28_LIMIT: u64 = (1 << 28) - 1;

impl Transfer {
    /// Returns a transfer of `loops` commands of `command_sectors` sectors, one after another from
    /// sector `first` on.
    #[must_use]
    pub const fn looped(
        direction: Direction,
        first: u64,
        command_sectors: u32,
        loops: u64,
    ) -> Self {
        Self {
            direction,
            first,
            sectors: (command_sectors as u64).saturating_mul(loops),
            command_sectors,
            addressing: Addressing::Lba48,
            data: Data::Pattern(Pattern::Increment),
        }
    }

    /// Returns the transfer with other commands.
    #[must_use]
    pub fn with_addressing(self, addressing: Addressing) -> Self {
        Self { addressing, ..self }
    }

    /// Returns the transfer with other data.
    #[must_use]
    pub fn with_data(self, data: Data) -> Self {
        Self { data, ..self }
    }

    /// Returns the number of commands.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.sectors.div_ceil(u64::from(self.command_sectors.max(1)))
    }

    /// Returns the number of bytes.
    ///
    /// # Panics
    /// If it exceeds u64.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        SECTOR * self.sectors
    }

    /// Checks that the transfer is valid, also for `drive` if its data are known.
    ///
    /// # Errors
    /// Why it is not valid.
    pub fn check(&self, drive: Option<&Identify>) -> Result<(), Refusal> {
        let max = self.addressing.sectors_max();
        if self.sectors == 0 || self.command_sectors == 0 {
            return Err(Refusal::Empty);
        }
        if self.command_sectors > max {
            return Err(Refusal::TooManySectors { requested: self.command_sectors, max });
        }
        self.check_end(self.addressing.lba_limit(), Refusal::BeyondAddress)?;
        self.check_data()?;
        if let Addressing::Queued(depth) = self.addressing
            && !(1..=32).contains(&depth)
        {
            return Err(Refusal::Depth { requested: depth, max: 32 });
        }
        drive.map_or(Ok(()), |drive| self.check_drive(drive))
    }

    fn check_end(&self, end: u64, refusal: fn(SectorRange) -> Refusal) -> Result<(), Refusal> {
        let Self { first, sectors, .. } = *self;
        match first.checked_add(sectors) {
            Some(last) if last <= end => Ok(()),
            _ => Err(refusal(SectorRange { first, sectors, limit: end })),
        }
    }

    fn check_data(&self) -> Result<(), Refusal> {
        match &self.data {
            Data::Words(words) => {
                let found = u64::try_from(words.len()).unwrap_or(u64::MAX);
                let expected = self.sectors.saturating_mul(u64::from(SECTOR_DWORDS));
                if found == expected {
                    Ok(())
                } else {
                    Err(Refusal::DataLength { expected, found })
                }
            }
            Data::Captured | Data::Ignored if self.direction == Direction::Write => {
                Err(Refusal::NoData)
            }
            Data::Captured if self.sectors > CAPTURE_SECTORS_MAX => {
                Err(Refusal::CaptureTooLong { sectors: self.sectors, max: CAPTURE_SECTORS_MAX })
            }
            _ => Ok(()),
        }
    }

    fn check_drive(&self, drive: &Identify) -> Result<(), Refusal> {
        self.check_end(drive.sectors, Refusal::BeyondDrive)?;
        match self.addressing {
            Addressing::Lba48 if !drive.lba_48 => Err(Refusal::Unsupported("48-bit commands")),
            Addressing::Queued(requested) => match drive.queue_depth.map(u32::from) {
                None => Err(Refusal::Unsupported("queued commands")),
                Some(max) if requested > max => Err(Refusal::Depth { requested, max }),
                Some(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// Requested sectors that exceed a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SectorRange {
    /// The first sector.
    pub first: u64,
    /// The number of sectors.
    pub sectors: u64,
    /// The first sector that does not exist or cannot be addressed.
    pub limit: u64,
}

impl Addressing {
    /// Returns the maximum number of sectors per command.
    #[must_use]
    pub const fn sectors_max(self) -> u32 {
        match self {
            Self::Lba28 => 256,
            Self::Lba48 | Self::LinuxChoice | Self::Queued(_) => 65_536,
        }
    }

    /// Returns the first sector that these commands cannot address.
    #[must_use]
    pub const fn lba_limit(self) -> u64 {
        match self {
            Self::Lba28 => LBA28_LIMIT,
            Self::Lba48 | Self::LinuxChoice | Self::Queued(_) => 1 << 48,
        }
    }

    /// Whether `sectors` sectors from `lba` on are transferred by a 28-bit command.
    pub(crate) fn is_28_bit(self, lba: u64, sectors: u32) -> bool {
        match self {
            Self::Lba28 => true,
            // Linux requires strictly less, so it uses a 48-bit command for the last sector.
            Self::LinuxChoice => sectors <= 256 && lba + u64::from(sectors) < LBA28_LIMIT,
            Self::Lba48 | Self::Queued(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_sectors_continue_a_pattern() {
        for pattern in [Pattern::Increment, Pattern::Decrement] {
            for lba in [0, 1, 62_586_879, (1 << 25) - 1, 1 << 40] {
                let next = pattern.at(lba).from(u64::from(SECTOR_DWORDS));
                assert_eq!(next, pattern.at(lba + 1), "{pattern:?} {lba}");
            }
        }
        assert_eq!(Pattern::Increment.at(2).word(3), 259);
        assert_eq!(Pattern::Decrement.at(2).word(3), 259_u32.wrapping_neg());
    }
}
