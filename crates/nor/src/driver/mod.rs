//! Flash drivers: the steps of a write and of an erase, each timed as the publication timed them.
//!
//! Layer: above [`crate::bus`] and [`crate::host`], below [`crate::mtd::NorMtd`]. One mechanism
//! serves all drivers; what differs is a [`Profile`] of values and two [`WaitPolicy`]s.
//!
//! ```text
//! write   Call -> [Copy] -> for each buffer: [Check] -> Split -> Command -> Fill -> Wait
//!                                                    AA 55 25 n-1   n words, 29
//! erase   AA 55 80 AA 55 30 -> wait
//! ```
//!
//! With several chips on the bus a buffer goes to each in turn, and the wait for a chip comes only
//! before its next buffer.
//!
//! Left out: interrupts and other users of the CPU and of the chip; the erase-suspend that Linux
//! makes for a reader in between; of word programs, the read before each and the retries.

pub mod probe;
pub mod profile;
pub mod steps;

mod erase;
mod poll;
mod program;

pub use probe::{ProbeError, Probed, probe};
pub use profile::{Kind, Profile, Ready, Recovery, Timeout};
pub use steps::{Step, Steps};

use crate::bus::{Bus, ChipIndex};
use crate::chip::Address;
use crate::host::Host;
use crate::wait::WaitPolicy;
use boardlab_mtd::{BlockIndex, Error};
use boardlab_sim::{Bytes, Clock, Duration, Phase};
use poll::{Outcome, Waited};

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

/// A driver that serves the chips of one board.
#[derive(Debug, Clone)]
pub struct Driver {
    kind: Kind,
    /// What it does.
    pub profile: Profile,
    /// When it polls for the end of a program.
    pub program_wait: Box<dyn WaitPolicy>,
    /// When it polls for the end of an erase.
    pub erase_wait: Box<dyn WaitPolicy>,
    probed: Probed,
    program_timeout: Timeout,
    erase_timeout: Timeout,
    steps: Steps,
    erase: Phase,
    polls: Polls,
    /// Where the sectors of a chip start.
    sectors: Vec<Bytes>,
    /// Sectors that refuse writes, by chip; read once, as u-boot does.
    protected: Vec<Vec<bool>>,
}

/// How often a driver asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Polls {
    /// For the end of programs.
    pub program: u64,
    /// For the end of erases.
    pub erase: u64,
}

impl Driver {
    /// The driver `kind` as it was released, after asking the chips of `board` what they are.
    ///
    /// # Errors
    /// When the part does not answer the CFI query.
    pub fn attach(kind: Kind, board: &mut Board, clock: &mut Clock) -> Result<Self, ProbeError> {
        let probed = probe(&mut board.bus, clock)?;
        let host = board.host.timing();
        let sectors = sector_starts(&probed.regions);
        let mut driver = Self {
            kind,
            profile: kind.profile(),
            program_wait: kind.program_wait(&probed),
            erase_wait: kind.erase_wait(&probed, host),
            program_timeout: kind.program_timeout(&probed, host),
            erase_timeout: kind.erase_timeout(&probed, host),
            probed,
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

    /// Which driver it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// What the chip told it.
    #[must_use]
    pub const fn probed(&self) -> &Probed {
        &self.probed
    }

    /// When it gives up a program.
    #[must_use]
    pub const fn program_timeout(&self) -> Timeout {
        self.program_timeout
    }

    /// When it gives up an erase.
    #[must_use]
    pub const fn erase_timeout(&self) -> Timeout {
        self.erase_timeout
    }

    /// How long each step of the writes took, by the time base.
    #[must_use]
    pub const fn steps(&self) -> &Steps {
        &self.steps
    }

    /// How long the erases took, a sector of each chip at once, by the time base.
    #[must_use]
    pub const fn erase_phase(&self) -> &Phase {
        &self.erase
    }

    /// How often it asked.
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

    /// Turns the outcome of a wait into the error that the driver's user sees.
    fn error(&self, board: &Board, at: Bytes, waited: &Waited, span: Duration) -> Error {
        let block = || BlockIndex(u32::try_from(self.sector_of(at)).expect("fewer than 2^32"));
        match waited.outcome {
            Outcome::Done => unreachable!("Driver::error: nothing went wrong"),
            Outcome::Failed => Error::ProgramFailed { offset: at },
            Outcome::Aborted => Error::ProgramAborted { offset: at },
            Outcome::Protected => Error::Protected { block: block() },
            Outcome::Wrong { found, expected } => {
                let low = usize::from(found.to_le_bytes()[0] == expected.to_le_bytes()[0]);
                let byte = |word: u16| word.to_le_bytes()[low];
                Error::VerifyFailed { offset: at, expected: byte(expected), found: byte(found) }
            }
            Outcome::TimedOut => Error::Timeout { offset: at, waited: span },
            Outcome::Dark => dark(board),
        }
    }
}

/// The error of a board without power.
pub(crate) fn dark(board: &Board) -> Error {
    Error::PowerCut { at: board.bus.dark_since().expect("asked after the power went") }
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
