//! Array, page register, ready/busy and power of a chip, independent of its bus.
//!
//! Layer: inside the chip. Main type: [`Die`].
//!
//! ```text
//!            load            program, erase        the time is over
//!   ready ----------> busy <--------------- ready ------------------> ready, status
//!                       |
//!                       | power_cut: a program or an erase is left torn
//!                       v
//!                      off --power_on--> ready
//! ```
//!
//! A program or an erase changes the cells at its end; until then a power cut leaves them torn by
//! the physics of [`boardlab_media::nand_torn`]. Completion times are drawn when the operation
//! starts, from one stream for each kind, so that reads never change the times of erases.
//!
//! In a worn-out block ([`boardlab_media::Lifetime`]) or with an injected [`Fault`] a program or an
//! erase fails after its maximum time: it changes half of the bits and sets the fail bit of the status.

use super::Refusal;
use crate::part::{Part, PartError};
use boardlab_media::{
    BitErrors, ErrorRates, Fraction, Lifetime, NandArray, NandEraseTear, ProgramRules, ProgramTear,
    Row, Violation,
};
use boardlab_mtd::TearOutcome;
use boardlab_sim::{Duration, Instant, Seed, Stream};
use std::ops::Range;
use std::sync::Arc;

/// The settings of a chip besides its part.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The seed of all random properties.
    pub seed: Seed,
    /// Bit errors; none when `None`.
    pub errors: Option<ErrorRates>,
    /// The share of factory bad blocks, in 65,536ths.
    pub factory_bad: u32,
    /// The share of blocks that do not reach the endurance, in 65,536ths.
    pub early_bad: u32,
}

impl Setup {
    /// A chip without bit errors, all of whose blocks are good and reach the endurance.
    #[must_use]
    pub const fn perfect(seed: Seed) -> Self {
        Self { seed, errors: None, factory_bad: 0, early_bad: 0 }
    }
}

/// An injected fault of a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Programs of this page fail.
    ProgramFails(Row),
    /// Erases of this block fail.
    EraseFails(u32),
}

/// How a power cut hits an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The outcome depends on the elapsed time.
    ByTime,
    /// The outcome is this one.
    As(TearOutcome),
}

/// The operation in progress on a die.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Work {
    Idle,
    /// A load of the register, a reset or another operation that does not change cells.
    Wait,
    Program {
        row: Row,
        columns: Range<usize>,
        fails: bool,
    },
    Erase {
        block: u32,
        fails: bool,
    },
}

/// Violations of the data sheet, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Violations {
    /// Their number.
    pub count: u64,
    /// The last violation.
    pub last: Option<Violation>,
}

#[derive(Debug, Clone)]
struct Streams {
    read: Stream,
    program: Stream,
    erase: Stream,
    torn: Stream,
}

/// A die with its page register.
#[derive(Debug, Clone)]
pub struct Die {
    part: Arc<Part>,
    array: NandArray,
    /// The page register: main bytes, then OOB bytes.
    register: Vec<u8>,
    errors: Option<BitErrors>,
    lifetime: Lifetime,
    faults: Vec<Fault>,
    streams: Streams,
    work: Work,
    started: Instant,
    ready_at: Instant,
    failed: bool,
    powered: bool,
    violations: Violations,
}

impl Die {
    /// A new die, with its factory bad blocks marked.
    ///
    /// # Errors
    /// When the part cannot exist.
    pub fn new(part: Arc<Part>, setup: &Setup) -> Result<Self, PartError> {
        part.check()?;
        let rules = ProgramRules::of(part.cell, part.programs_per_page);
        let array = NandArray::new(part.geometry, rules);
        let seed = setup.seed;
        let lifetime = Lifetime::new(seed, part.endurance, setup.factory_bad, setup.early_bad);
        let errors = setup.errors.clone().map(|rates| BitErrors::new(seed, rates));
        let streams = Streams {
            read: seed.stream("nand.read"),
            program: seed.stream("nand.program"),
            erase: seed.stream("nand.erase"),
            torn: seed.stream("nand.torn"),
        };
        let mut die = Self {
            register: vec![0xFF; part.geometry.row_bytes()],
            part,
            array,
            errors,
            lifetime,
            faults: Vec::new(),
            streams,
            work: Work::Idle,
            started: Instant::ZERO,
            ready_at: Instant::ZERO,
            failed: false,
            powered: true,
            violations: Violations::default(),
        };
        die.mark_factory_bad_blocks();
        Ok(die)
    }

    /// The part.
    #[must_use]
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// The cells.
    #[must_use]
    pub const fn array(&self) -> &NandArray {
        &self.array
    }

    /// The cells, to be changed by a test or a loader of images; nothing is checked or counted.
    pub const fn array_mut(&mut self) -> &mut NandArray {
        &mut self.array
    }

    /// The violations of the data sheet so far.
    #[must_use]
    pub const fn violations(&self) -> Violations {
        self.violations
    }

    /// The bit errors; `None` when they are off.
    #[must_use]
    pub const fn errors(&self) -> Option<&BitErrors> {
        self.errors.as_ref()
    }

    /// Switches bit errors on with these rates, or off.
    pub fn set_errors(&mut self, seed: Seed, rates: Option<ErrorRates>) {
        self.errors = rates.map(|rates| BitErrors::new(seed, rates));
    }

    /// Injects a fault, which affects operations that start from now on.
    pub fn inject(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Draws the bits of torn and failed operations from `stream` from now on.
    pub fn set_torn_stream(&mut self, stream: Stream) {
        self.streams.torn = stream;
    }

    /// Removes all injected faults.
    pub fn heal(&mut self) {
        self.faults.clear();
    }

    /// The page register, main bytes first.
    #[must_use]
    pub fn register(&self) -> &[u8] {
        &self.register
    }

    /// The page register, to be filled before a program.
    pub(super) fn register_mut(&mut self) -> &mut [u8] {
        &mut self.register
    }

    /// When the die is, or was, ready.
    #[must_use]
    pub const fn ready_at(&self) -> Instant {
        self.ready_at
    }

    /// Whether the last program or erase failed.
    #[must_use]
    pub const fn failed(&self) -> bool {
        self.failed
    }

    /// Whether power is on.
    #[must_use]
    pub const fn is_powered(&self) -> bool {
        self.powered
    }

    /// Completes a program or an erase whose time has passed.
    pub fn advance(&mut self, now: Instant) {
        if self.work == Work::Idle || now < self.ready_at {
            return;
        }
        match std::mem::replace(&mut self.work, Work::Idle) {
            Work::Program { row, columns, fails } => {
                let tear = if fails { half_program() } else { ProgramTear::Complete };
                self.finish_program(row, columns, tear);
                self.failed = fails;
            }
            Work::Erase { block, fails } => {
                let tear = if fails { half_erase() } else { NandEraseTear::Complete };
                tear.apply(&mut self.array, block, &mut self.streams.torn);
                self.failed = fails;
            }
            Work::Idle | Work::Wait => {}
        }
    }

    /// Checks that the die accepts a new operation at `now`.
    ///
    /// # Errors
    /// [`Refusal::Off`], [`Refusal::Busy`].
    pub(super) fn idle(&mut self, now: Instant) -> Result<(), Refusal> {
        if !self.powered {
            return Err(Refusal::Off);
        }
        self.advance(now);
        if self.work == Work::Idle { Ok(()) } else { Err(Refusal::Busy) }
    }

    /// Begins to load a page into the register, bit errors included.
    ///
    /// # Errors
    /// [`Refusal`] when off, busy, or there is no such page.
    pub(super) fn load(&mut self, now: Instant, row: Row) -> Result<(), Refusal> {
        self.idle(now)?;
        self.check(row)?;
        self.array.peek(row, 0, &mut self.register);
        if let Some(errors) = &self.errors {
            errors.apply(row, self.array.stress(row, now), &mut self.register);
        }
        self.array.count_read(row);
        let time = self.part.timing.read.sample(&mut self.streams.read);
        self.begin(now, Work::Wait, time);
        Ok(())
    }

    /// Keeps the die busy for `time`, without a change of cells or register.
    pub(super) fn hold(&mut self, now: Instant, time: Duration) {
        self.begin(now, Work::Wait, time);
    }

    /// Begins to program the columns of a page from the register.
    ///
    /// # Errors
    /// [`Refusal`] when off, busy, or there is no such page.
    pub(super) fn program(
        &mut self,
        now: Instant,
        row: Row,
        columns: Range<usize>,
    ) -> Result<(), Refusal> {
        self.idle(now)?;
        self.check(row)?;
        let erases = self.array.erase_count(row.block);
        let fails = self.faults.contains(&Fault::ProgramFails(row))
            || self.lifetime.program_fails(row.block, erases);
        let drawn = self.part.timing.program.time.sample(&mut self.streams.program);
        let time = if fails { self.part.timing.program.max } else { drawn };
        self.failed = false;
        self.begin(now, Work::Program { row, columns, fails }, time);
        Ok(())
    }

    /// Begins to erase a block.
    ///
    /// # Errors
    /// [`Refusal`] when off, busy, or there is no such block.
    pub(super) fn erase(&mut self, now: Instant, block: u32) -> Result<(), Refusal> {
        self.idle(now)?;
        self.check(Row { block, page: 0 })?;
        let erases = self.array.erase_count(block);
        let fails = self.faults.contains(&Fault::EraseFails(block))
            || self.lifetime.erase_fails(block, erases);
        let drawn = self.part.timing.erase.time.sample(&mut self.streams.erase);
        let time = if fails { self.part.timing.erase.max } else { drawn };
        self.failed = false;
        self.begin(now, Work::Erase { block, fails }, time);
        Ok(())
    }

    /// Resets the die; an operation in progress is torn.
    pub(super) fn reset(&mut self, now: Instant) {
        self.advance(now);
        let busy = self.work != Work::Idle;
        self.tear(now, Cut::ByTime);
        self.failed = false;
        let time = if busy { self.part.timing.reset } else { Duration::ZERO };
        self.begin(now, Work::Wait, time);
    }

    /// Cuts the power: an operation in progress is torn, and nothing works until [`Die::power_on`].
    pub fn power_cut(&mut self, now: Instant, cut: Cut) {
        if !self.powered {
            return;
        }
        // A given outcome is applied even if the operation has just completed.
        if cut == Cut::ByTime {
            self.advance(now);
        }
        self.tear(now, cut);
        self.powered = false;
    }

    /// Restores the power.
    pub fn power_on(&mut self, now: Instant) {
        if !self.powered {
            self.powered = true;
            self.failed = false;
            self.ready_at = now;
            self.register.fill(0xFF);
        }
    }

    fn begin(&mut self, now: Instant, work: Work, time: Duration) {
        self.work = work;
        self.started = now;
        let busy = self.part.timing.write_to_busy;
        self.ready_at = now.saturating_add(busy).saturating_add(time);
    }

    fn check(&self, row: Row) -> Result<(), Refusal> {
        if self.part.geometry.contains(row) { Ok(()) } else { Err(Refusal::NoSuchRow(row)) }
    }

    fn finish_program(&mut self, row: Row, columns: Range<usize>, tear: ProgramTear) {
        let data = &self.register[columns.clone()];
        let place = (row, columns.start);
        let stream = &mut self.streams.torn;
        let broken = tear.apply_to_page(&mut self.array, self.started, place, data, stream);
        if broken.is_some() {
            self.violations.count += 1;
            self.violations.last = broken;
        }
    }

    /// Tears the operation in progress and leaves the die idle.
    fn tear(&mut self, now: Instant, cut: Cut) {
        let whole = self.ready_at.saturating_since(self.started);
        let elapsed = now.saturating_since(self.started);
        match std::mem::replace(&mut self.work, Work::Idle) {
            Work::Program { row, columns, .. } => {
                let tear = match cut {
                    Cut::ByTime => ProgramTear::at(elapsed, whole),
                    Cut::As(torn) => self.program_tear(torn),
                };
                self.finish_program(row, columns, tear);
            }
            Work::Erase { block, .. } => {
                let tear = match cut {
                    Cut::ByTime => NandEraseTear::at(elapsed, whole),
                    Cut::As(torn) => self.erase_tear(torn),
                };
                tear.apply(&mut self.array, block, &mut self.streams.torn);
            }
            Work::Idle | Work::Wait => {}
        }
    }

    fn program_tear(&mut self, torn: TearOutcome) -> ProgramTear {
        match torn {
            TearOutcome::NotBegun => ProgramTear::Untouched,
            TearOutcome::Partial => ProgramTear::Partial(self.any_fraction()),
            // All bits but a few.
            TearOutcome::Weak => ProgramTear::Partial(share(65_000, 65_536)),
            TearOutcome::Finished => ProgramTear::Complete,
        }
    }

    fn erase_tear(&mut self, torn: TearOutcome) -> NandEraseTear {
        match torn {
            TearOutcome::NotBegun => NandEraseTear::Untouched,
            TearOutcome::Partial => NandEraseTear::Partial(self.any_fraction()),
            TearOutcome::Weak => NandEraseTear::Weak,
            TearOutcome::Finished => NandEraseTear::Complete,
        }
    }

    /// A random fraction between zero and one, both excluded.
    fn any_fraction(&mut self) -> Fraction {
        share(1 + self.streams.torn.below(65_535), 65_536)
    }

    fn mark_factory_bad_blocks(&mut self) {
        let mut page = vec![0xFF; self.part.geometry.row_bytes()];
        page[self.part.bad_mark_column()] = 0;
        let count = self.part.geometry.pages_per_block;
        for block in 0..self.part.geometry.blocks {
            if self.lifetime.is_bad_from_the_factory(block) {
                for number in self.part.bad_marks.pages(count) {
                    self.array.load(Row { block, page: number }, &page);
                }
            }
        }
    }
}

fn share(part: u64, whole: u64) -> Fraction {
    Fraction::of(Duration::from_nanos(part), Duration::from_nanos(whole))
}

/// The result of a program that fails: half of its bits.
const fn half_program() -> ProgramTear {
    ProgramTear::Partial(Fraction::HALF)
}

/// The result of an erase that fails: half of its bits.
const fn half_erase() -> NandEraseTear {
    NandEraseTear::Partial(Fraction::HALF)
}
