//! A NOR flash chip with the AMD/CFI command set, at the level of bus cycles, in virtual time.
//!
//! Layer: the device, between the part file below and the bus above. Main types: [`Chip`],
//! [`Address`], [`Fault`]. Time is an argument of every cycle; the chip has no clock of its own.
//!
//! ```text
//!                  AA 55 20        +-----------+
//!            +-------------------> |  bypass   | A0 PD
//!            |      90 00          +-----------+
//!            | <------------------
//!   F0  +----+----+ AA 55 90, 98   +-----------+  AA 55 C0   +-------+
//!  +--> |  array  | -------------> | autoselect| ----------> |  PPB  | (from array; 90 00 back)
//!  |    +----+----+ <------------- |   / CFI   |             +-------+
//!  |         |           F0        +-----------+
//!  |         | AA 55 A0 PD | AA 55 25 count words 29 | AA 55 80 AA 55 30/10
//!  |         v
//!  |    +---------+  time is up    +---------+  B0, 51  +-----------+ reads other sectors,
//!  |    | window  | -------------> |  busy   | -------> | suspended | programs them
//!  |    | (DQ3=0) |  (erase only)  | DQ6 ~   | <------- |  DQ2 ~    |
//!  |    +---------+                +----+----+  30, 50  +-----------+
//!  |                        past the    |    \  completion time
//!  |                        maximum     v     \-------------------------> array
//!  +----------------------------- failed (DQ5)        wrong load -> abort (DQ1)
//!                                                     AA 55 F0   -> array
//! ```
//!
//! Sources: the S29GL-P data sheet (command definitions, write operation status), the S29GL-S data
//! sheet (status register, error types, state tables), M29W128G (status register), JESD68 (CFI),
//! and the drivers that must work with it: Linux `cfi_cmdset_0002`, u-boot `cfi_flash`.
//!
//! Where sources differ or are silent, the model has one rule for all parts, marked `assumed` where it
//! is applied. The general rule: an invalid cycle is ignored and returns the command interface to the
//! mode in which the sequence started, in most cases array mode. An unlock cycle compares the low 11
//! address bits, or 12 in x8, where `AAA`/`555` is expected.
//!
//! Left out: secured silicon sector, lock register, password and dynamic protection, blank check,
//! WP# and ACC pins, power-up time, and effects of wear (see [`Chip::worn_out`]).

mod cfi;
mod command;
mod erase;
mod fault;
mod power;
mod program;
mod protect;
mod span;
mod status;
mod wiring;

pub use fault::Fault;
pub use wiring::Address;

use crate::part::{Part, PartError};
use boardlab_media::{Layout, NorArray, SectorIndex};
use boardlab_sim::{Bytes, Instant, Seed, Stream};
use command::{Command, Mode};
use erase::Erase;
use fault::Faults;
use program::{Program, WriteBuffer};
use protect::Protection;
use status::View;
use std::sync::Arc;
use wiring::Wiring;

/// Counts of cycles and operations; for statistics, never for behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Read cycles, including those of [`Chip::read_array`].
    pub reads: u64,
    /// Write cycles.
    pub writes: u64,
    /// Read cycles that returned a status instead of contents.
    pub polls: u64,
    /// Programs started, of a word or of a buffer.
    pub programs: u64,
    /// Sectors erased completely.
    pub erases: u64,
}

/// The state of the embedded algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// No operation runs, or it is suspended: commands are accepted.
    Idle,
    /// A program of a word or a buffer.
    Program,
    /// The window in which further sectors may be added to an erase (DQ3 is 0).
    Window,
    /// An erase of sectors.
    Erase,
    /// The busy time of a program or erase of a protected sector, which changes nothing.
    Protected,
    /// A program of a protection bit.
    ProtectBit,
    /// An erase of all protection bits.
    UnprotectAll,
    /// An operation failed (DQ5); the chip waits for a reset.
    Failed,
    /// A write buffer load was invalid (DQ1); the chip waits for the abort reset.
    Aborted,
    /// The latency of a hardware reset during an operation.
    Reset,
    /// No power.
    Off,
}

/// Random streams, one per purpose, so that one kind of operation never changes another's times.
#[derive(Debug, Clone)]
struct Streams {
    word: Stream,
    buffer: Stream,
    erase: Stream,
    protect: Stream,
    torn: Stream,
}

/// A NOR chip. A clone has the same state, including the random streams, and is independent.
///
/// The streams are derived from the chip's seed under the names `word_program`, `buffer_program`,
/// `sector_erase`, `protection` and `torn`. One completion time is drawn per program, and one per
/// sector when it is added to an erase; none for a protected sector.
#[derive(Debug, Clone)]
pub struct Chip {
    part: Arc<Part>,
    wiring: Wiring,
    array: NorArray,
    /// What a read cycle returns; derived from the fields below ([`Chip::refresh`]).
    view: View,
    command: Command,
    mode: Mode,
    work: Work,
    /// The next event of the embedded algorithm; [`Instant::MAX`] if there is none.
    event_at: Instant,
    /// The status bits that are constant while an operation runs.
    status: u16,
    /// DQ6 and DQ2 as last read.
    toggles: u16,
    /// Sticky error bits of the status register.
    register: u16,
    /// Whether the next read returns the status register.
    register_armed: bool,
    /// The error bit that the status register will show with "protected".
    protected_error: u16,
    /// Whether an operation ended under [`Fault::StuckToggle`].
    stuck: bool,
    buffer: WriteBuffer,
    /// The running or suspended program.
    program: Option<Program>,
    /// The running, suspended or failed erase.
    erase: Option<Erase>,
    /// The time at which a suspend command will take effect.
    suspend_at: Option<Instant>,
    protection: Protection,
    faults: Faults,
    streams: Streams,
    counts: Counts,
}

impl Chip {
    /// A factory-new chip, powered, in array mode.
    ///
    /// # Errors
    /// If the part is invalid ([`Part::check`]).
    pub fn new(part: Arc<Part>, seed: Seed) -> Result<Self, PartError> {
        part.check()?;
        let runs: Vec<_> = part.regions.iter().map(|region| (region.count, region.size)).collect();
        let layout = Layout::new(&runs).ok_or_else(|| PartError::Size(part.size()))?;
        let streams = Streams {
            word: seed.stream("word_program"),
            buffer: seed.stream("buffer_program"),
            erase: seed.stream("sector_erase"),
            protect: seed.stream("protection"),
            torn: seed.stream("torn"),
        };
        Ok(Self {
            wiring: Wiring::new(part.width, part.size()),
            buffer: WriteBuffer::new(&part),
            protection: Protection::new(layout.sector_count()),
            array: NorArray::new(layout),
            part,
            view: View::Array,
            command: Command::Idle,
            mode: Mode::Array,
            work: Work::Idle,
            event_at: Instant::MAX,
            status: 0,
            toggles: 0,
            register: 0,
            register_armed: false,
            protected_error: 0,
            stuck: false,
            program: None,
            erase: None,
            suspend_at: None,
            faults: Faults::default(),
            streams,
            counts: Counts::default(),
        })
    }

    /// The chip's part.
    #[must_use]
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// A write cycle, latched at `now`.
    #[inline]
    pub fn write(&mut self, now: Instant, address: Address, value: u16) {
        self.counts.writes += 1;
        if self.command == Command::Load {
            self.load_word(address, value);
        } else {
            self.write_command(now, address, value);
        }
    }

    /// A read cycle, sampled at `now`. In x8 the high byte is zero.
    ///
    /// Without power the data lines float and read as ones (assumed).
    #[inline]
    pub fn read(&mut self, now: Instant, address: Address) -> u16 {
        self.counts.reads += 1;
        if now >= self.event_at {
            self.advance(now);
        }
        match self.view {
            View::Array => self.cells_at(address),
            View::Busy => self.poll(),
            _ => self.read_special(address),
        }
    }

    /// Reads contents from `offset` on like single cycles, all sampled at `now`. Does nothing
    /// and returns `false` if the chip is not in plain array mode.
    ///
    /// # Panics
    /// If the range ends beyond the part.
    pub fn read_array(&mut self, now: Instant, offset: Bytes, buffer: &mut [u8]) -> bool {
        if !self.in_array_mode(now) {
            return false;
        }
        self.counts.reads += Bytes::of(buffer).div_ceil(Bytes::new(self.part.width.bytes()));
        self.array.read(offset, buffer);
        true
    }

    /// Whether every read returns contents.
    pub fn in_array_mode(&mut self, now: Instant) -> bool {
        self.advance(now);
        self.view == View::Array
    }

    /// The cells. The effect of an operation is visible from the first cycle, or call of
    /// [`Chip::advance`], after its end.
    #[must_use]
    pub const fn array(&self) -> &NorArray {
        &self.array
    }

    /// The cells, to preload them.
    pub const fn array_mut(&mut self) -> &mut NorArray {
        &mut self.array
    }

    /// The counts of cycles and operations.
    #[must_use]
    pub const fn counters(&self) -> &Counts {
        &self.counts
    }

    /// Sectors erased more often than the part's endurance. They work as before: failures of worn
    /// cells are not modelled.
    pub fn worn_out(&self) -> impl Iterator<Item = SectorIndex> + '_ {
        let limit = self.part.endurance;
        self.array.layout().sectors().filter(move |&sector| self.array.erase_count(sector) > limit)
    }

    /// Processes all events up to `now`. Every cycle does so; without one, call this before
    /// inspecting [`Chip::array`].
    pub fn advance(&mut self, now: Instant) {
        while now >= self.event_at {
            let at = self.event_at;
            match self.work {
                Work::Program => self.advance_program(at),
                Work::Window => self.begin_erase(at),
                Work::Erase => self.advance_erase(at),
                Work::Protected => self.report_protected(),
                Work::ProtectBit | Work::UnprotectAll => self.finish_protection(),
                Work::Reset => self.become_idle(),
                Work::Idle | Work::Failed | Work::Aborted | Work::Off => {
                    self.event_at = Instant::MAX;
                }
            }
            self.refresh();
        }
    }

    /// Ends the embedded algorithm; the mode stays.
    fn become_idle(&mut self) {
        self.work = Work::Idle;
        self.event_at = Instant::MAX;
        self.suspend_at = None;
    }

    /// Ends an operation that completed.
    fn finish(&mut self) {
        self.become_idle();
        self.stuck = self.faults.stuck_toggle;
    }

    /// The contents at an address, as a read cycle returns them.
    #[inline]
    fn cells_at(&self, address: Address) -> u16 {
        let offset = self.wiring.offset(address);
        if self.wiring.is_wide() {
            self.array.word(offset)
        } else {
            u16::from(self.array.byte(offset))
        }
    }

    /// The sector that a bus address selects.
    #[inline]
    fn sector_at(&self, address: Address) -> SectorIndex {
        self.array.layout().sector_at(self.wiring.offset(address))
    }
}
