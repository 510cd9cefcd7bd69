//! The port of the board to the chip: the cost and the number of bus cycles.
//!
//! Layer: rank 3, between driver and chip. Main types: [`Port`], [`PortTiming`], [`Counts`]. A
//! driver requests operations (load a page, transfer bytes, program, erase); the port performs
//! their cycles, on a parallel chip or one on a serial bus, and advances the clock.
//!
//! # Times
//! ```text
//!   command, address, data in   tWC a cycle         serial: 8 bits a byte for codes and addresses,
//!   data out                    tRC a cycle                 8 / lanes for data, at the slower clock
//!   + per_command for each operation, + per_byte for each data byte
//!   waits: tWB + tR | tPROG | tBERS, tRR before data out, tWHR before a status, tADL before data in
//! ```
//! The cycles of a board may be slower than the part's, never faster. The time of a whole transfer
//! is computed and rounded once.
//!
//! # What counts as a command
//! A sequence that begins with a command cycle: 00h-30h, 05h-E0h, 80h-10h (85h is one of its own),
//! 60h-D0h, 70h, 90h, ECh, FFh; on a serial bus each selection of the chip. After a wait there is
//! one status read. A driver that polls the ready line or, on a serial bus, the status would make
//! more of them, but they take no time beyond the wait.
//!
//! # Power cuts
//! The port counts the programs and erases that it starts. [`Port::cut_at_operation`] cuts the
//! power in one of them and [`Port::cut_at`] at an instant; every operation is then
//! [`PortError::PowerCut`] until [`Port::power_on`].

mod cycles;

use crate::chip::spi::{CORRECTED, ERASE_FAIL, PROGRAM_FAIL, UNCORRECTABLE};
use crate::chip::{Cut, Die, ParallelChip, Phase, Refusal, SpiChip, parallel};
use crate::part::{Interface, Part, PartError};
use boardlab_media::Row;
use boardlab_mtd::TearOutcome;
use boardlab_sim::{Clock, Duration, Hertz, Instant};
use cycles::{column_bytes, count};
use std::fmt;

/// The times that the board adds to those of the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortTiming {
    /// The shortest write cycle of the board; the part's tWC where that is longer.
    pub write_cycle: Duration,
    /// The shortest read cycle of the board; the part's tRC where that is longer.
    pub read_cycle: Duration,
    /// The fastest serial clock of the board; the part's where that is slower or this is `None`.
    pub clock: Option<Hertz>,
    /// Added to every command: software, chip select.
    pub per_command: Duration,
    /// Added to every data byte: programmed input and output.
    pub per_byte: Duration,
}

/// The totals of the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Sequences that begin with a command cycle.
    pub commands: u64,
    /// Data bytes to the chip.
    pub bytes_in: u64,
    /// Data bytes from the chip, including status and identity.
    pub bytes_out: u64,
    /// Pages loaded into the page register.
    pub page_reads: u64,
    /// Programs of a page or a part of it.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Time spent waiting for the chip.
    pub busy: Duration,
}

/// Why an operation of the port failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortError {
    /// The power is off since then.
    PowerCut(Instant),
    /// The chip refuses the sequence.
    Refused(Refusal),
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerCut(at) => write!(f, "the power was cut at {at}"),
            Self::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for PortError {}

impl From<Refusal> for PortError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The result of a program or an erase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The status reports success.
    Done,
    /// The status has the fail bit.
    Failed,
}

/// The result of the on-die ECC for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDie {
    /// No bit errors, or no on-die ECC.
    Clean,
    /// Bit errors were corrected.
    Corrected,
    /// Uncorrectable.
    Uncorrectable,
}

/// When the power is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    Never,
    AtOperation(u64, TearOutcome),
    At(Instant),
}

/// A chip by its interface.
#[derive(Debug, Clone)]
enum Wire {
    Parallel(ParallelChip),
    Serial(SpiChip),
}

/// The port to one chip. A clone is a fork of chip and counts.
#[derive(Debug, Clone)]
pub struct Port {
    wire: Wire,
    timing: PortTiming,
    counts: Counts,
    /// The row and, on a serial bus, the column of the current operation.
    row: Row,
    column: usize,
    plan: Plan,
    operations: u64,
    cut: Option<Instant>,
}

impl Port {
    /// The port to the chip around `die`, with power on.
    ///
    /// # Errors
    /// When the part's on-die ECC is invalid.
    pub fn new(die: Die, timing: PortTiming) -> Result<Self, PartError> {
        let wire = match die.part().interface {
            Interface::Parallel(_) => Wire::Parallel(ParallelChip::new(die)),
            Interface::Spi { .. } => Wire::Serial(SpiChip::new(die)?),
        };
        Ok(Self {
            wire,
            timing,
            counts: Counts::default(),
            row: Row { block: 0, page: 0 },
            column: 0,
            plan: Plan::Never,
            operations: 0,
            cut: None,
        })
    }

    /// The part behind the port.
    #[must_use]
    pub fn part(&self) -> &Part {
        self.die().part()
    }

    /// The die behind the port.
    #[must_use]
    pub const fn die(&self) -> &Die {
        match &self.wire {
            Wire::Parallel(chip) => chip.die(),
            Wire::Serial(chip) => chip.die(),
        }
    }

    /// The die behind the port; direct changes are not counted.
    pub const fn die_mut(&mut self) -> &mut Die {
        match &mut self.wire {
            Wire::Parallel(chip) => chip.die_mut(),
            Wire::Serial(chip) => chip.die_mut(),
        }
    }

    /// The totals of the port.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The number of programs and erases so far: every smaller number is a possible
    /// [`Port::cut_at_operation`].
    #[must_use]
    pub const fn operations(&self) -> u64 {
        self.operations
    }

    /// Cuts the power in program or erase `number`, counted from zero, with the outcome `torn`.
    pub const fn cut_at_operation(&mut self, number: u64, torn: TearOutcome) {
        self.plan = Plan::AtOperation(number, torn);
    }

    /// Cuts the power at an instant; the operation in progress is torn at its elapsed time.
    pub const fn cut_at(&mut self, at: Instant) {
        self.plan = Plan::At(at);
    }

    /// When the power was cut, while it is off.
    #[must_use]
    pub const fn cut(&self) -> Option<Instant> {
        self.cut
    }

    /// Restores the power until another cut is requested.
    pub fn power_on(&mut self, now: Instant) {
        self.cut = None;
        self.plan = Plan::Never;
        self.die_mut().power_on(now);
    }

    /// Resets the chip and, on a serial bus, unlocks the array.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn reset(&mut self, clock: &mut Clock) -> Result<(), PortError> {
        match self.wire {
            Wire::Parallel(_) => {
                self.command(clock, 1, 0)?;
                let now = clock.now();
                self.parallel().command(now, 0xFF)?;
                self.wait(clock)
            }
            Wire::Serial(_) => {
                self.select(clock, &[0xFF], Phase::None)?;
                self.wait(clock)?;
                self.select(clock, &[0x1F, 0xA0, 0x00], Phase::None)
            }
        }
    }

    /// Reads the identity bytes.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn read_identity(&mut self, clock: &mut Clock, buffer: &mut [u8]) -> Result<(), PortError> {
        if let Wire::Serial(_) = self.wire {
            return self.select(clock, &[0x9F, 0], Phase::Out(buffer));
        }
        self.command(clock, 1, 1)?;
        let now = clock.now();
        self.parallel().command(now, 0x90)?;
        self.parallel().address(now, 0x00)?;
        clock.advance(self.part().timing.write_to_read);
        self.data_out(clock, buffer)
    }

    /// Reads the ONFI parameter page.
    ///
    /// # Errors
    /// [`PortError`]; a chip without one, and one on a serial bus, refuses.
    pub fn read_parameter_page(
        &mut self,
        clock: &mut Clock,
        buffer: &mut [u8],
    ) -> Result<(), PortError> {
        if let Wire::Serial(_) = self.wire {
            return Err(Refusal::UnknownCommand(0xEC).into());
        }
        self.command(clock, 1, 1)?;
        let now = clock.now();
        self.parallel().command(now, 0xEC)?;
        self.parallel().address(now, 0x00)?;
        self.wait(clock)?;
        clock.advance(self.part().timing.ready_to_read);
        self.data_out(clock, buffer)
    }

    /// Loads a page into the page register and waits for it; the next output begins at `column`.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn load(&mut self, clock: &mut Clock, row: Row, column: usize) -> Result<OnDie, PortError> {
        self.row = row;
        self.column = column;
        self.counts.page_reads += 1;
        if let Wire::Serial(_) = self.wire {
            let [low, middle, high] = ParallelChip::row_address(self.part(), row);
            self.select(clock, &[0x13, high, middle, low], Phase::None)?;
            self.wait(clock)?;
            let status = self.feature(clock, 0xC0)?;
            return Ok(match status & (CORRECTED | UNCORRECTABLE) {
                0 => OnDie::Clean,
                CORRECTED => OnDie::Corrected,
                _ => OnDie::Uncorrectable,
            });
        }
        let small = self.part().is_small_page();
        let read = if small { Self::small_page_pointer(column) } else { 0x00 };
        self.command(clock, if small { 1 } else { 2 }, self.full_address_cycles())?;
        let now = clock.now();
        self.parallel().command(now, read)?;
        self.full_address(now, row, column)?;
        if !small {
            self.parallel().command(now, 0x30)?;
        }
        self.wait(clock)?;
        clock.advance(self.part().timing.ready_to_read);
        Ok(OnDie::Clean)
    }

    /// Continues at another column of the loaded page.
    ///
    /// # Errors
    /// [`PortError`]; a small page has no such command and is loaded again.
    pub fn seek(&mut self, clock: &mut Clock, column: usize) -> Result<(), PortError> {
        self.column = column;
        match self.wire {
            Wire::Serial(_) => Ok(()),
            Wire::Parallel(_) if self.part().is_small_page() => {
                self.load(clock, self.row, column).map(|_| ())
            }
            Wire::Parallel(_) => {
                self.command(clock, 2, 2)?;
                let now = clock.now();
                self.parallel().command(now, 0x05)?;
                self.column_address(now, column)?;
                self.parallel().command(now, 0xE0)?;
                clock.advance(self.part().timing.write_to_read);
                Ok(())
            }
        }
    }

    /// Reads consecutive bytes of the loaded page.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn output(&mut self, clock: &mut Clock, buffer: &mut [u8]) -> Result<(), PortError> {
        if let Wire::Parallel(_) = self.wire {
            return self.data_out(clock, buffer);
        }
        let [low, high] = column_bytes(self.column);
        let code = match self.lanes() {
            1 => 0x03,
            2 => 0x3B,
            _ => 0x6B,
        };
        self.column += buffer.len();
        self.select(clock, &[code, high, low, 0], Phase::Out(buffer))
    }

    /// Begins a program of a page: the register is all ones, and the next input begins at `column`.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn begin_program(
        &mut self,
        clock: &mut Clock,
        row: Row,
        column: usize,
    ) -> Result<(), PortError> {
        self.row = row;
        self.column = column;
        if let Wire::Serial(_) = self.wire {
            // No data yet, but from here on the buffer is all ones.
            self.select(clock, &[0x06], Phase::None)?;
            let [low, high] = column_bytes(column);
            return self.select(clock, &[0x02, high, low], Phase::In(&[]));
        }
        let small = self.part().is_small_page();
        self.command(clock, if small { 2 } else { 1 }, self.full_address_cycles())?;
        let now = clock.now();
        if small {
            let pointer = Self::small_page_pointer(column);
            self.parallel().command(now, pointer)?;
        }
        self.parallel().command(now, 0x80)?;
        self.full_address(now, row, column)?;
        clock.advance(self.part().timing.address_to_data);
        Ok(())
    }

    /// Continues the program at another column.
    ///
    /// # Errors
    /// [`PortError`]; a small page has no such command.
    pub fn seek_input(&mut self, clock: &mut Clock, column: usize) -> Result<(), PortError> {
        self.column = column;
        if let Wire::Serial(_) = self.wire {
            return Ok(());
        }
        self.command(clock, 1, 2)?;
        let now = clock.now();
        self.parallel().command(now, 0x85)?;
        self.column_address(now, column)?;
        clock.advance(self.part().timing.address_to_data);
        Ok(())
    }

    /// Writes consecutive bytes into the page register.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn input(&mut self, clock: &mut Clock, data: &[u8]) -> Result<(), PortError> {
        if let Wire::Serial(_) = self.wire {
            let [low, high] = column_bytes(self.column);
            self.column += data.len();
            let code = if self.lanes() < 4 { 0x84 } else { 0x34 };
            return self.select(clock, &[code, high, low], Phase::In(data));
        }
        self.powered(clock.now())?;
        let cycles = count(data.len()).div_ceil(self.width());
        clock.advance(self.write_cycle() * cycles + self.timing.per_byte * count(data.len()));
        self.counts.bytes_in += count(data.len());
        self.parallel().input(clock.now(), data).map_err(PortError::from)
    }

    /// Programs the page and waits for the status.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn program(&mut self, clock: &mut Clock) -> Result<Outcome, PortError> {
        match self.wire {
            Wire::Serial(_) => {
                let [low, middle, high] = ParallelChip::row_address(self.part(), self.row);
                self.select(clock, &[0x10, high, middle, low], Phase::None)?;
            }
            Wire::Parallel(_) => {
                self.powered(clock.now())?;
                clock.advance(self.write_cycle());
                let now = clock.now();
                self.parallel().command(now, 0x10)?;
            }
        }
        self.counts.programs += 1;
        self.changed(clock)?;
        self.outcome(clock)
    }

    /// Erases a block and waits for the status.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn erase(&mut self, clock: &mut Clock, block: u32) -> Result<Outcome, PortError> {
        let address = ParallelChip::row_address(self.part(), Row { block, page: 0 });
        match self.wire {
            Wire::Serial(_) => {
                let [low, middle, high] = address;
                self.select(clock, &[0x06], Phase::None)?;
                self.select(clock, &[0xD8, high, middle, low], Phase::None)?;
            }
            Wire::Parallel(_) => {
                let rows = ParallelChip::row_cycles(self.part());
                self.command(clock, 2, rows)?;
                let now = clock.now();
                let chip = self.parallel();
                chip.command(now, 0x60)?;
                chip.addresses(now, &address[..usize::try_from(rows).expect("two or three")])?;
                chip.command(now, 0xD0)?;
            }
        }
        self.counts.erases += 1;
        self.changed(clock)?;
        self.outcome(clock)
    }

    /// Reads the status register: ONFI's on a parallel bus, C0h on a serial one.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn status(&mut self, clock: &mut Clock) -> Result<u8, PortError> {
        if let Wire::Serial(_) = self.wire {
            return self.feature(clock, 0xC0);
        }
        self.command(clock, 1, 0)?;
        let now = clock.now();
        self.parallel().command(now, 0x70)?;
        clock.advance(self.part().timing.write_to_read);
        let mut status = [0];
        self.data_out(clock, &mut status)?;
        Ok(status[0])
    }

    fn feature(&mut self, clock: &mut Clock, register: u8) -> Result<u8, PortError> {
        let mut value = [0];
        self.select(clock, &[0x0F, register], Phase::Out(&mut value))?;
        Ok(value[0])
    }

    /// The outcome of the last program or erase by the status.
    fn outcome(&mut self, clock: &mut Clock) -> Result<Outcome, PortError> {
        let status = self.status(clock)?;
        let fail = match self.wire {
            Wire::Parallel(_) => parallel::FAIL,
            Wire::Serial(_) => ERASE_FAIL | PROGRAM_FAIL,
        };
        Ok(if status & fail == 0 { Outcome::Done } else { Outcome::Failed })
    }

    /// Handles a started program or erase: cuts the power if planned, else waits.
    fn changed(&mut self, clock: &mut Clock) -> Result<(), PortError> {
        let number = self.operations;
        self.operations += 1;
        if let Plan::AtOperation(at, torn) = self.plan
            && at == number
        {
            return Err(self.power_off(clock.now(), Cut::As(torn)));
        }
        self.wait(clock)
    }

    /// Waits until the chip is ready.
    fn wait(&mut self, clock: &mut Clock) -> Result<(), PortError> {
        let ready = self.die().ready_at();
        if let Plan::At(at) = self.plan
            && at < ready
        {
            let at = at.max(clock.now());
            clock.advance_to(at);
            return Err(self.power_off(at, Cut::ByTime));
        }
        self.counts.busy += ready.saturating_since(clock.now());
        clock.advance_to(ready);
        self.die_mut().advance(ready);
        Ok(())
    }

    /// Checks that power is on, and cuts it if the instant of a cut has passed.
    fn powered(&mut self, now: Instant) -> Result<(), PortError> {
        if let Some(at) = self.cut {
            return Err(PortError::PowerCut(at));
        }
        match self.plan {
            Plan::At(at) if at <= now => Err(self.power_off(now, Cut::ByTime)),
            _ => Ok(()),
        }
    }

    fn power_off(&mut self, now: Instant, cut: Cut) -> PortError {
        match &mut self.wire {
            Wire::Parallel(chip) => chip.power_cut(now, cut),
            Wire::Serial(chip) => chip.power_cut(now, cut),
        }
        self.plan = Plan::Never;
        self.cut = Some(now);
        PortError::PowerCut(now)
    }
}
