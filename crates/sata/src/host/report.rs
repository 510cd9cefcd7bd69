//! The outcome of a job.
//!
//! Layer: results of [`crate::host::Host`]. Main types: [`Report`], [`Failure`], [`Refusal`],
//! [`Mismatch`].

use crate::host::job::SectorRange;
use crate::wire::error::Error;
use crate::wire::{Speed, Tick};
use crate::{SECTOR, SECTOR_DWORDS};
use boardlab_sim::{Bytes, Duration};
use std::fmt;

/// The outcome of a job, with its counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// When the timer was first started.
    pub start: Tick,
    /// When the timer was last stopped.
    pub end: Tick,
    /// Ticks for which the timer ran.
    pub timer_ticks: u64,
    /// Successful commands.
    pub commands: u64,
    /// The sectors of the successful commands.
    pub sectors: u64,
    /// Commands reissued.
    pub reissues: u64,
    /// Resets of the link.
    pub resets: u64,
    /// Commands that the drive completed with an error, including those that were then reissued.
    pub errors: u64,
    /// Frames that were damaged, refused or aborted.
    pub damaged: u64,
    /// Unexpected FISes.
    pub unexpected: u64,
    /// The registers of the last error that the drive reported.
    pub taskfile: Option<Taskfile>,
    /// Dwords that differ from the expected data.
    pub mismatches: u64,
    /// Success, or the failure.
    pub outcome: Result<(), Failure>,
    /// The data of a read, if they were captured.
    pub data: Vec<u32>,
}

impl Report {
    pub(crate) const fn new(start: Tick) -> Self {
        Self {
            start,
            end: start,
            timer_ticks: 0,
            commands: 0,
            sectors: 0,
            reissues: 0,
            resets: 0,
            errors: 0,
            damaged: 0,
            unexpected: 0,
            taskfile: None,
            mismatches: 0,
            outcome: Ok(()),
            data: Vec::new(),
        }
    }

    /// Returns the time for which the timer ran, rounded down.
    #[must_use]
    pub fn time(&self, speed: Speed) -> Duration {
        speed.time_of(self.timer_ticks)
    }

    /// Returns the bytes of the successful commands.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        SECTOR * self.sectors
    }
}

/// The registers of a failed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Taskfile {
    /// The command code.
    pub command: u8,
    /// The first sector of the command.
    pub first: u64,
    /// The number of sectors of the command.
    pub sectors: u32,
    /// The status register.
    pub status: u8,
    /// The error register.
    pub error: u8,
    /// The LBA registers, with the four bits of the device register after a 28-bit command: the sector
    /// that failed, if the error concerns one.
    pub lba: u64,
}

impl fmt::Display for Taskfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "command {:02X}h of {} sectors at sector {} ended with status {:02X}h, error {:02X}h, sector {}",
            self.command, self.sectors, self.first, self.status, self.error, self.lba
        )
    }
}

/// A dword that differs from the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mismatch {
    /// The sector.
    pub lba: u64,
    /// The index of the dword in the sector.
    pub dword: u32,
    /// The dword that was read.
    pub found: u32,
    /// The expected dword.
    pub expected: u32,
}

impl Mismatch {
    /// Creates a mismatch of dword `position`, counted from the beginning of sector `lba`.
    pub(crate) fn new(lba: u64, position: u64, found: u32, expected: u32) -> Self {
        let sector = u64::from(SECTOR_DWORDS);
        let dword = u32::try_from(position % sector).expect("there are 128 dwords in a sector");
        Self { lba: lba + position / sector, dword, found, expected }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lba, dword, found, expected } = self;
        write!(f, "dword {dword} of sector {lba} is {found:08X}h, expected {expected:08X}h")
    }
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The job was invalid and did not start.
    Refused(Refusal),
    /// The drive completed a command with an error that is not caused by the link.
    Drive(Taskfile),
    /// The data of a command were damaged at every attempt, and its retries are used up.
    Link {
        /// The first sector of the command.
        first: u64,
        /// The number of sectors of the command.
        sectors: u32,
        /// The number of attempts.
        tries: u32,
    },
    /// The drive did not respond, not even after resets of the link.
    Timeout {
        /// When the last timeout expired.
        at: Tick,
        /// The number of resets.
        resets: u32,
    },
    /// The drive's IDENTIFY data are invalid.
    Identity(Error),
    /// All data were read, but differ from the expected data. This is the first dword that differs.
    Mismatch(Mismatch),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Drive(taskfile) => taskfile.fmt(f),
            Self::Link { first, sectors, tries } => write!(
                f,
                "the data of {sectors} sectors at sector {first} were damaged on the link {tries} times"
            ),
            Self::Timeout { at, resets } => {
                write!(f, "the drive did not answer by tick {at}, after {resets} resets")
            }
            Self::Identity(error) => error.fmt(f),
            Self::Mismatch(mismatch) => mismatch.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

/// Why a job is not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The transfer has no sectors.
    Empty,
    /// More sectors than a command can transfer.
    TooManySectors {
        /// The requested number.
        requested: u32,
        /// The maximum.
        max: u32,
    },
    /// Sectors beyond the address range of the commands.
    BeyondAddress(SectorRange),
    /// Sectors beyond the end of the drive.
    BeyondDrive(SectorRange),
    /// An invalid queue depth.
    Depth {
        /// The requested depth.
        requested: u32,
        /// The maximum.
        max: u32,
    },
    /// A feature that the drive does not support.
    Unsupported(&'static str),
    /// A feature that the build of the host does not support.
    UnsupportedByBuild(&'static str),
    /// The number of words does not match the sectors.
    DataLength {
        /// The words that the sectors need.
        expected: u64,
        /// The words given.
        found: u64,
    },
    /// A write without data.
    NoData,
    /// A read that is too long to be captured.
    CaptureTooLong {
        /// The sectors of the read.
        sectors: u64,
        /// The maximum.
        max: u64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a transfer of zero sectors"),
            Self::TooManySectors { requested, max } => {
                write!(f, "{requested} sectors per command: the command allows at most {max}")
            }
            Self::BeyondAddress(SectorRange { first, sectors, limit }) => write!(
                f,
                "{sectors} sectors from sector {first} on: the command can address only sectors below {limit}"
            ),
            Self::BeyondDrive(SectorRange { first, sectors, limit }) => write!(
                f,
                "{sectors} sectors from sector {first} on: the drive has only {limit} sectors"
            ),
            Self::Depth { requested, max } => {
                write!(f, "a queue depth of {requested}: expected 1 to {max}")
            }
            Self::Unsupported(what) => write!(f, "the drive does not support {what}"),
            Self::UnsupportedByBuild(what) => {
                write!(f, "this build of the host does not support {what}")
            }
            Self::DataLength { expected, found } => {
                write!(f, "{found} words of data: the sectors need {expected}")
            }
            Self::NoData => f.write_str("a write without data"),
            Self::CaptureTooLong { sectors, max } => {
                write!(f, "a read of {sectors} sectors cannot be captured: at most {max}")
            }
        }
    }
}

impl std::error::Error for Refusal {}
