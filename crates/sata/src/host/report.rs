//! What became of a job.
//!
//! Layer: the lower face of [`crate::host::Host`] towards tables. Main types: [`Report`], [`Failure`], [`Refusal`],
//! [`Mismatch`].

use crate::host::job::SectorRange;
use crate::wire::error::Error;
use crate::wire::{Speed, Tick};
use crate::{SECTOR, SECTOR_DWORDS};
use boardlab_sim::{Bytes, Duration};
use std::fmt;

/// What became of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// When the timer was first started.
    pub start: Tick,
    /// When it was stopped last.
    pub end: Tick,
    /// Ticks for which it ran.
    pub timer_ticks: u64,
    /// Commands that succeeded.
    pub commands: u64,
    /// Their sectors.
    pub sectors: u64,
    /// Commands that were sent again.
    pub reissues: u64,
    /// Resets of the link.
    pub resets: u64,
    /// Commands that the drive ended with an error, those that were sent again included.
    pub errors: u64,
    /// Frames that were damaged, refused or given up.
    pub damaged: u64,
    /// FISes that nothing had called for.
    pub unexpected: u64,
    /// What the drive said with the last error.
    pub taskfile: Option<Taskfile>,
    /// Dwords that were read otherwise than expected.
    pub mismatches: u64,
    /// How it ended.
    pub outcome: Result<(), Failure>,
    /// What was read, where it was to be kept.
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

    /// For how long the timer ran, rounded down.
    #[must_use]
    pub fn time(&self, speed: Speed) -> Duration {
        speed.time_of(self.timer_ticks)
    }

    /// Bytes that were moved.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        SECTOR * self.sectors
    }
}

/// What a drive says of a command that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Taskfile {
    /// The command code.
    pub command: u8,
    /// The command's first sector.
    pub first: u64,
    /// The command's sectors.
    pub sectors: u32,
    /// Status.
    pub status: u8,
    /// Error.
    pub error: u8,
    /// The LBA registers, and after a command of 28 bits the four in the device register: the sector that failed,
    /// where there was one.
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

/// A dword that was read otherwise than expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mismatch {
    /// Its sector.
    pub lba: u64,
    /// Its number in the sector.
    pub dword: u32,
    /// What was read.
    pub found: u32,
    /// What should have been.
    pub expected: u32,
}

impl Mismatch {
    /// Of dword `position` of what begins with sector `lba`.
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

/// Why a job did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// It was not begun.
    Refused(Refusal),
    /// The drive ended a command with an error that is not the link's.
    Drive(Taskfile),
    /// A command was sent again as often as the limits allow, and its data were damaged each time.
    Link {
        /// Its first sector.
        first: u64,
        /// Its sectors.
        sectors: u32,
        /// How often it was sent.
        tries: u32,
    },
    /// The drive did not answer, and resets of the link did not help.
    Timeout {
        /// When the host gave up.
        at: Tick,
        /// Resets that were tried.
        resets: u32,
    },
    /// The drive's IDENTIFY data cannot be used.
    Identity(Error),
    /// Everything was read, but not all of it as expected: the first dword that differs.
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

/// Why a job is not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// No sectors.
    Empty,
    /// More sectors than a command can count.
    TooManySectors {
        /// So many.
        requested: u32,
        /// What it can.
        max: u32,
    },
    /// Beyond what the commands can address.
    BeyondAddress(SectorRange),
    /// Beyond the end of the drive.
    BeyondDrive(SectorRange),
    /// A deeper queue than there is.
    Depth {
        /// So deep.
        requested: u32,
        /// What there is.
        max: u32,
    },
    /// The drive lacks this.
    Unsupported(&'static str),
    /// The build of the host lacks this.
    UnsupportedByBuild(&'static str),
    /// Not as many words as the sectors hold.
    DataLength {
        /// What they hold.
        expected: u64,
        /// What was given.
        found: u64,
    },
    /// A write without data.
    NoData,
    /// A read that is too long to be kept.
    CaptureTooLong {
        /// So many sectors.
        sectors: u64,
        /// What can be kept.
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
