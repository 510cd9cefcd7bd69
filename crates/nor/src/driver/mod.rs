//! Flash drivers: the steps of a write and of an erase, timed as in the publication.
//!
//! Layer: above [`crate::bus`] and [`crate::host`], below [`crate::mtd::NorMtd`]. Main type:
//! [`Driver`]. All drivers share one implementation; they differ in a [`Profile`] of values and two
//! [`WaitPolicy`]s.
//!
//! ```text
//! write   Call -> [Copy] -> for each buffer: [Check] -> Split -> Command -> Fill -> Wait
//!                                                    AA 55 25 n-1   n words, 29
//! erase   AA 55 80 AA 55 30 -> wait
//! ```
//!
//! With several chips on the bus each gets a buffer in turn, and the driver waits for a chip only
//! before its next buffer.
//!
//! Left out: interrupts and other users of the CPU and of the chip; the erase suspend that Linux
//! makes for a concurrent read; for word programs, the read before each and the retries.

pub mod probe;
pub mod profile;
pub mod steps;

mod erase;
mod pass;
mod poll;
mod program;

pub use probe::{CfiInfo, ProbeError, probe};
pub use profile::{Kind, Profile, Ready, Recovery, Timeout};
pub use steps::{Step, Steps};

use crate::bus::{Bus, ChipIndex};
use crate::chip::Address;
use crate::host::Host;
use crate::wait::WaitPolicy;
use boardlab_mtd::{BlockIndex, Error};
use boardlab_sim::{Bytes, Clock, Duration, Phase};
use poll::{Outcome, WaitResult};

/// A CPU and its NOR chips.
#[derive(Debug, Clone)]
pub struct Board {
    /// The bus with its chips.
    pub bus: Bus,
    /// The CPU.
    pub host: Host,
    /// Addresses of the two unlock cycles.
    unlock: [Address; 2],
}

impl Board {
    /// A board of `bus` and `host`.
    #[must_use]
    pub fn new(bus: Bus, host: Host) -> Self {
        let unlock = match bus.word() {
            word if word == Bytes::new(1) => [Address(0xAAA), Address(0x555)],
            _ => [Address(0x555), Address(0x2AA)],
        };
        Self { bus, host, unlock }
    }
}

/// A driver of the chips of one board.
#[derive(Debug, Clone)]
pub struct Driver {
    kind: Kind,
    /// The driver's parameters.
    pub profile: Profile,
    /// The wait policy for programs.
    pub program_wait: Box<dyn WaitPolicy>,
    /// The wait policy for erases.
    pub erase_wait: Box<dyn WaitPolicy>,
    cfi_info: CfiInfo,
    program_timeout: Timeout,
    erase_timeout: Timeout,
    steps: Steps,
    erase: Phase,
    polls: Polls,
    /// The start offsets of the sectors of a chip.
    sectors: Vec<Bytes>,
    /// Whether each sector is protected, by chip; read once, as in u-boot.
    protected: Vec<Vec<bool>>,
}

/// The number of polls of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Polls {
    /// Polls of programs.
    pub program: u64,
    /// Polls of erases.
    pub erase: u64,
}

impl Driver {
    /// Probes the chips of `board` and returns the driver `kind` with its released parameters.
    ///
    /// # Errors
    /// If the part has no valid CFI query table.
    pub fn attach(kind: Kind, board: &mut Board, clock: &mut Clock) -> Result<Self, ProbeError> {
        let cfi_info = probe(&mut board.bus, clock)?;
        let host = board.host.timing();
        let sectors = sector_starts(&cfi_info.regions);
        let mut driver = Self {
            kind,
            profile: kind.profile(),
            program_wait: kind.program_wait(&cfi_info),
            erase_wait: kind.erase_wait(&cfi_info, host),
            program_timeout: kind.program_timeout(&cfi_info, host),
            erase_timeout: kind.erase_timeout(&cfi_info, host),
            cfi_info,
            steps: Steps::default(),
            erase: Phase::new(),
            polls: Polls::default(),
            sectors,
            protected: Vec::new(),
        };
        if driver.profile.refuses_protected {
            driver.scan_protection(board, clock);
        }
        Ok(driver)
    }

    /// The kind of driver.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The chip's CFI data.
    #[must_use]
    pub const fn cfi_info(&self) -> &CfiInfo {
        &self.cfi_info
    }

    /// The timeout of a program.
    #[must_use]
    pub const fn program_timeout(&self) -> Timeout {
        self.program_timeout
    }

    /// The timeout of an erase.
    #[must_use]
    pub const fn erase_timeout(&self) -> Timeout {
        self.erase_timeout
    }

    /// The durations of each step of the writes, measured with the time base.
    #[must_use]
    pub const fn steps(&self) -> &Steps {
        &self.steps
    }

    /// The durations of the erases, one sector of each chip at once, measured with the time base.
    #[must_use]
    pub const fn erase_phase(&self) -> &Phase {
        &self.erase
    }

    /// The number of polls.
    #[must_use]
    pub const fn polls(&self) -> Polls {
        self.polls
    }

    /// Reads the protection of every sector, as u-boot does when it starts.
    pub fn scan_protection(&mut self, board: &mut Board, clock: &mut Clock) {
        let sectors = &self.sectors;
        self.protected = (0..board.bus.chip_count())
            .map(ChipIndex)
            .map(|chip| {
                board.unlocked(clock, chip, board.unlock[0], 0x90);
                let scale = if board.bus.word() == Bytes::new(1) { 2 } else { 1 };
                let locked = |start: &Bytes| {
                    let address = Address(board.bus.address(*start).0 + 2 * scale);
                    board.bus.read(clock, chip, address) & 1 != 0
                };
                let sectors = sectors.iter().map(locked).collect();
                board.bus.write(clock, chip, Address(0), 0xF0);
                sectors
            })
            .collect();
    }

    /// The number of the sector that holds `offset` of a chip.
    fn sector_of(&self, offset: Bytes) -> usize {
        self.sectors.partition_point(|&start| start <= offset) - 1
    }

    fn is_protected(&self, chip: ChipIndex, sector: usize) -> bool {
        self.protected.get(chip.0).is_some_and(|sectors| sectors[sector])
    }

    /// Converts the outcome of a wait to the error that the driver returns.
    fn error(&self, board: &Board, at: Bytes, waited: &WaitResult, span: Duration) -> Error {
        let block = || BlockIndex(u32::try_from(self.sector_of(at)).expect("fewer than 2^32"));
        match waited.outcome {
            Outcome::Done => unreachable!("Driver::error: the operation succeeded"),
            Outcome::Failed => Error::ProgramFailed { offset: at },
            Outcome::Aborted => Error::ProgramAborted { offset: at },
            Outcome::Protected => Error::Protected { block: block() },
            Outcome::Mismatch { found, expected } => {
                let low = usize::from(found.to_le_bytes()[0] == expected.to_le_bytes()[0]);
                let byte = |word: u16| word.to_le_bytes()[low];
                Error::VerifyFailed { offset: at, expected: byte(expected), found: byte(found) }
            }
            Outcome::TimedOut => Error::Timeout { offset: at, waited: span },
            Outcome::PowerLost => power_cut_error(board),
        }
    }
}

/// The error of a board without power.
pub(crate) fn power_cut_error(board: &Board) -> Error {
    Error::PowerCut { at: board.bus.power_lost_at().expect("called after a power cut") }
}

fn sector_starts(regions: &[(u32, Bytes)]) -> Vec<Bytes> {
    let sizes = regions.iter().flat_map(|&(count, size)| (0..count).map(move |_| size));
    let starts = sizes.scan(Bytes::ZERO, |next, size| {
        let start = *next;
        *next += size;
        Some(start)
    });
    starts.collect()
}
