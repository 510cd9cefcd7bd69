//! Worn-out blocks and unreadable pages: endurance, bad blocks, ECC, refresh.
//!
//! Layer: part of the mechanism; the physics are those of `boardlab-media`. Main types:
//! [`Reliability`] describes the cells and the ECC, [`Health`] tracks their state. Every block has
//! a life of its own, drawn from a table of quantiles. An erase beyond it fails, and the block is
//! retired; when too few are left the device is read-only.
//!
//! ```text
//!   host read --> bit errors of each codeword <= t ? -- yes --> data;  >= refresh_at: block is queued
//!                   |  no: read again with shifted voltages, each step leaves fewer bit errors
//!                   `- no step left: unreadable
//!   queue, patrol --> block's data are rewritten (Cause::Refresh)
//! ```
//!
//! Sources: rates by wear, retention and read disturb as [`ErrorRates`] says; retries and their
//! gain, Cai, Ghose, Haratsch, Luo, Mutlu, "Error characterization, mitigation, and recovery in
//! flash-memory-based solid-state drives" (Proceedings of the IEEE, 2017). Programs that fail:
//! [`crate::failures`]. Left out: bit errors in pages that garbage collection reads, and cells that
//! recover.

use crate::cause::Cause;
use crate::counters::Counters;
use crate::error::Error;
use crate::failures::Failures;
use crate::geometry::Page;
use crate::medium::{CellMode, Medium};
use crate::translation::{Event, Events};
use boardlab_media::{BitErrors, ErrorRates, Row, Stress};
use boardlab_sim::{Bytes, Duration, Instant, Seed, Stream};

/// The P/E cycles that the blocks of a part survive: quantiles at equal steps of probability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endurance {
    points: Box<[u32]>,
}

impl Endurance {
    /// The distribution with these quantiles from probability 0 to 1, linear between them.
    ///
    /// # Errors
    /// [`Error::Policy`] when `points` is empty, or one of them is zero or less than the one before.
    pub fn new(points: &[u32]) -> Result<Self, Error> {
        let sound = points.first().is_some_and(|&first| first > 0) && points.is_sorted();
        let found = points.first().copied().unwrap_or(0).into();
        let what = "endurance in P/E cycles, rising with the quantile,";
        let error = Error::Policy { what, found, least: 1, most: u32::MAX.into() };
        if sound { Ok(Self { points: points.into() }) } else { Err(error) }
    }

    /// Draws the P/E cycles that one block survives.
    #[must_use]
    pub fn draw(&self, stream: &mut Stream) -> u32 {
        let steps = u64::try_from(self.points.len() - 1).expect("a length fits u64");
        let scaled = u128::from(stream.next_u64()) * u128::from(steps);
        let step = usize::try_from(scaled >> 64).expect("below the number of steps");
        let low = self.points[step];
        let high = self.points.get(step + 1).copied().unwrap_or(low);
        let within = scaled & u128::from(u64::MAX);
        let rise = (u128::from(high - low) * within) >> 64;
        low + u32::try_from(rise).expect("less than the next quantile")
    }
}

/// The behaviour at the end of life, when too few good blocks are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EndOfLife {
    /// The device accepts no more data.
    #[default]
    ReadOnly,
    /// Blocks never wear out: for experiments that count cycles beyond the rated ones.
    Ignored,
}

/// The bit errors of reads, and their handling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadErrors {
    /// The bit error rates.
    pub rates: ErrorRates,
    /// The size of a codeword, ECC bytes included.
    pub codeword: Bytes,
    /// The number of bit errors that the ECC corrects in a codeword.
    pub correctable: u32,
    /// The share of the bit errors that each step of the retry ladder leaves, in thousandths.
    pub retries: Vec<u32>,
    /// The number of bit errors of a codeword from which on its block is refreshed.
    pub refresh_at: u32,
    /// The period in which an idle-time patrol reads each block once; zero for none.
    pub patrol: Duration,
}

/// The reliability of the cells and the ECC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reliability {
    /// The P/E cycles that blocks survive.
    pub endurance: Endurance,
    /// The wear of an erase in SLC mode, in thousandths of a P/E cycle.
    pub slc_wear: u32,
    /// The share of factory bad blocks, in 65,536ths.
    pub factory_bad: u32,
    /// The number of failures in 10^12 programs of a flash page. Block-mapped layers refuse any but 0.
    pub program_failures: u64,
    /// The behaviour at the end of life.
    pub end_of_life: EndOfLife,
    /// The bit errors of reads, if they are modelled.
    pub reads: Option<ReadErrors>,
}

/// The health of the blocks.
#[derive(Debug, Clone)]
pub struct Health {
    end_of_life: EndOfLife,
    slc_wear: u64,
    /// The endurance and the wear of each block, in thousandths of a P/E cycle.
    life: Vec<u64>,
    worn: Vec<u64>,
    mode: Vec<CellMode>,
    reader: Option<Reader>,
    /// When each block was opened, and the page reads since.
    opened: Vec<Instant>,
    reads: Vec<u64>,
    /// Blocks to be refreshed.
    queue: Vec<u32>,
    pub(crate) failures: Failures,
    patrolled: u64,
    /// The number of factory bad blocks.
    pub factory_bad: u32,
    /// Pages that could not be read, by the host or on patrol.
    pub unreadable: u64,
    /// The number of read retries.
    pub retries: u64,
    /// The number of failed programs.
    pub failed_programs: u64,
}

/// What a read retry goes through: the flash, its operation counters and the events of the request.
pub(crate) struct ReadPath<'a, M> {
    pub(crate) medium: &'a mut M,
    pub(crate) counters: &'a mut Counters,
    pub(crate) events: &'a mut Events,
}

/// The error model of each step of the retry ladder, the plain read first.
#[derive(Debug, Clone)]
struct Reader {
    steps: Vec<BitErrors>,
    codeword_bits: u64,
    correctable: usize,
    refresh_at: usize,
    patrol: Duration,
}

/// The outcome of a page read.
struct Outcome {
    retries: u32,
    readable: bool,
    refresh: bool,
}

impl Reader {
    fn new(errors: &ReadErrors, seed: Seed) -> Result<Self, Error> {
        let codeword_bits = errors.codeword.get() * 8;
        if codeword_bits == 0 {
            let what = "bytes of a codeword";
            return Err(Error::Policy { what, found: 0, least: 1, most: u32::MAX.into() });
        }
        let rates = |thousandths: &u32| errors.rates.scaled(u64::from(*thousandths), 1_000);
        let steps = std::iter::once(&1_000).chain(&errors.retries);
        Ok(Self {
            steps: steps.map(|share| BitErrors::new(seed, rates(share))).collect(),
            codeword_bits,
            correctable: errors.correctable as usize,
            refresh_at: errors.refresh_at as usize,
            patrol: errors.patrol,
        })
    }

    /// The greatest number of bit errors in a codeword of a page.
    fn worst(&self, step: usize, row: Row, stress: Stress, bits: u64) -> usize {
        let wrong = self.steps[step].wrong_bits(row, stress, bits);
        let same = |a: &u64, b: &u64| a / self.codeword_bits == b / self.codeword_bits;
        wrong.chunk_by(same).map(<[u64]>::len).max().unwrap_or(0)
    }

    fn read(&self, row: Row, stress: Stress, bits: u64) -> Outcome {
        let plain = self.worst(0, row, stress, bits);
        let refresh = plain >= self.refresh_at;
        let mut retries = 0;
        let mut readable = plain <= self.correctable;
        for step in 1..self.steps.len() {
            if readable {
                break;
            }
            retries += 1;
            readable = self.worst(step, row, stress, bits) <= self.correctable;
        }
        Outcome { retries, readable, refresh }
    }
}

impl Health {
    pub(crate) fn new(of: &Reliability, blocks: u32, seed: Seed) -> Result<Self, Error> {
        let mut draw = seed.stream("ftl.endurance");
        let life = (0..blocks).map(|_| u64::from(of.endurance.draw(&mut draw)) * 1_000).collect();
        let reader = of.reads.as_ref().map(|errors| Reader::new(errors, seed)).transpose()?;
        let rate = match of.end_of_life {
            EndOfLife::ReadOnly => of.program_failures,
            EndOfLife::Ignored => 0,
        };
        let failures = Failures::new(rate, blocks, seed.stream("ftl.failed programs"));
        let blocks = blocks as usize;
        Ok(Self {
            end_of_life: of.end_of_life,
            slc_wear: of.slc_wear.into(),
            life,
            worn: vec![0; blocks],
            mode: vec![CellMode::Native; blocks],
            reader,
            opened: vec![Instant::ZERO; blocks],
            reads: vec![0; blocks],
            queue: Vec::new(),
            failures,
            patrolled: 0,
            factory_bad: 0,
            unreadable: 0,
            retries: 0,
            failed_programs: 0,
        })
    }

    /// Opens a block at `now`.
    pub(crate) fn open(&mut self, block: u32, mode: CellMode, now: Instant) {
        self.mode[block as usize] = mode;
        self.opened[block as usize] = now;
        self.reads[block as usize] = 0;
    }

    /// Counts an erase of a block. Returns whether it failed, because the block has reached its
    /// endurance.
    pub(crate) fn erase_fails(&mut self, block: u32) -> bool {
        let worn = &mut self.worn[block as usize];
        *worn += match self.mode[block as usize] {
            CellMode::Native => 1_000,
            CellMode::Slc => self.slc_wear,
        };
        self.end_of_life == EndOfLife::ReadOnly && *worn > self.life[block as usize]
    }

    /// The whole P/E cycles of wear of a block.
    #[must_use]
    pub fn cycles(&self, block: u32) -> u64 {
        self.worn[block as usize] / 1_000
    }

    /// Whether bit errors are modelled.
    #[inline]
    pub(crate) const fn reads_are_corrected(&self) -> bool {
        self.reader.is_some()
    }

    /// Reads a page of `bits` bits. Returns the number of retries, and whether the page was
    /// readable. Queues its block if it should be refreshed.
    fn read_page(&mut self, page: Page, now: Instant, bits: u64) -> (u32, bool) {
        let Some(reader) = &self.reader else { return (0, true) };
        let row = Row { block: page.block, page: page.offset };
        let outcome = reader.read(row, self.stress(page.block, now), bits);
        self.reads[page.block as usize] += 1 + u64::from(outcome.retries);
        self.retries += u64::from(outcome.retries);
        self.unreadable += u64::from(!outcome.readable);
        if outcome.refresh {
            self.queue(page.block);
        }
        (outcome.retries, outcome.readable)
    }

    /// Reads a page of `bits` bits at `now` for `cause`, and repeats the read until its ECC
    /// corrects it.
    pub(crate) fn correct<M: Medium>(
        &mut self,
        page: Page,
        now: Instant,
        bits: u64,
        ReadPath { medium, counters, events }: ReadPath<'_, M>,
        cause: Cause,
    ) {
        let (retries, readable) = self.read_page(page, now, bits);
        if !readable && cause == Cause::Host {
            events.add(Event::Unreadable);
        }
        for _ in 0..retries {
            events.add(Event::ReadRetry);
            medium.read(page.into(), Cause::Retry);
            counters.reads[Cause::Retry] += 1;
        }
    }

    /// Drops the volatile state of the controller after a power cut; the state of the cells remains.
    pub(crate) fn drop_volatile(&mut self) {
        self.queue.clear();
        self.patrolled = 0;
        self.failures.drop_volatile();
    }

    /// Queues a block for refresh.
    pub(crate) fn queue(&mut self, block: u32) {
        if !self.queue.contains(&block) {
            self.queue.push(block);
        }
    }

    /// The next block to be refreshed.
    pub(crate) fn next_queued(&mut self) -> Option<u32> {
        self.queue.pop()
    }

    /// The blocks of `blocks` that the patrol has reached by `now`, each at most once.
    pub(crate) fn patrolled(
        &mut self,
        now: Instant,
        blocks: u32,
    ) -> impl Iterator<Item = u32> + use<> {
        let period = self.reader.as_ref().map_or(Duration::ZERO, |reader| reader.patrol);
        let (blocks, period) = (u64::from(blocks), u128::from(period.as_nanos()));
        let turns = u128::from(now.as_nanos()) * u128::from(blocks);
        let due = u64::try_from(turns.checked_div(period).unwrap_or(0)).unwrap_or(u64::MAX);
        let from = std::mem::replace(&mut self.patrolled, due).max(due.saturating_sub(blocks));
        (from..due).map(move |turn| u32::try_from(turn % blocks).expect("a block"))
    }

    /// The endurance that was drawn for a block, in thousandths of a P/E cycle.
    #[must_use]
    pub fn life(&self, block: u32) -> u64 {
        self.life[block as usize]
    }

    /// The wear of a block, in thousandths of a P/E cycle.
    #[must_use]
    pub fn worn(&self, block: u32) -> u64 {
        self.worn[block as usize]
    }

    /// The stress of a block's pages at `now`, since it was opened.
    #[must_use]
    pub fn stress(&self, block: u32, now: Instant) -> Stress {
        Stress {
            erases: u32::try_from(self.cycles(block)).unwrap_or(u32::MAX),
            reads: self.reads[block as usize],
            retention: now.saturating_since(self.opened[block as usize]),
            programmed: true,
        }
    }
}
