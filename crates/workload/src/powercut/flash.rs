//! A flash that records, for each operation that changes it, the result of a power cut there.
//!
//! Layer: rank 6. Main types: [`ForkingFlash`], an [`Mtd`] around a device that can be torn, and
//! [`Cut`], a fork of the device as the cut leaves it. Forks are copy-on-write, so one run serves
//! all cuts.

use super::matrix::CutPoint;
use boardlab_mtd::{BlockIndex, Change, Error, Geometry, Kind, Mtd, PageIndex, ReadResult};
use boardlab_mtd::{Tear, TearOutcome};
use boardlab_sim::{Bytes, Clock, Seed, Stream};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The result of a power cut at one operation.
#[derive(Debug, Clone)]
pub struct Cut<M> {
    /// The operation, counted from zero among those that change the medium.
    pub number: u64,
    /// What it was.
    pub kind: Kind,
    /// How it was torn.
    pub torn: TearOutcome,
    /// When.
    pub clock: Clock,
    /// The device afterwards.
    pub flash: M,
}

impl<M> Cut<M> {
    /// The operation, and how it was torn.
    pub(super) const fn point(&self) -> CutPoint {
        CutPoint { number: self.number, torn: self.torn }
    }
}

/// Which operations are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Every operation below this number is cut,
    pub exhaustive: u64,
    /// and one in this many of the others; none when zero.
    pub one_in: u64,
}

impl Sampling {
    /// No operation.
    pub const NONE: Self = Self { exhaustive: 0, one_in: 0 };

    fn takes(self, number: u64, seed: Seed) -> bool {
        let drawn = || seed.stream(&format!("sample {number}")).chance(1, self.one_in);
        number < self.exhaustive || (self.one_in > 0 && drawn())
    }
}

#[derive(Debug)]
struct State<M> {
    device: M,
    seed: Seed,
    sampling: Sampling,
    operations: u64,
    cuts: Vec<Cut<M>>,
    brownout_one_in: u64,
    /// Blocks that had a brownout.
    brownouts: BTreeSet<BlockIndex>,
}

impl<M: Tear> State<M> {
    /// Runs the erase with a brownout shortly before its end, if one occurs here. Returns whether
    /// it did.
    fn brown_out(&mut self, clock: &mut Clock, change: Change<'_>, number: u64) -> bool {
        let Change::Erase(block) = change else { return false };
        if self.brownout_one_in == 0 || self.brownouts.contains(&block) {
            return false;
        }
        let mut stream = self.seed.stream(&format!("brownout {number}"));
        if !stream.chance(1, self.brownout_one_in) {
            return false;
        }
        let mut device = self.device.clone();
        let Some((offset, left)) = what_stays(&mut device, &mut clock.clone(), block, &mut stream)
        else {
            return false;
        };
        let mut after = clock.clone();
        if device.erase(&mut after, block).is_err()
            || device.program(&mut after.clone(), offset, &left).is_err()
        {
            return false;
        }
        self.brownouts.insert(block);
        (self.device, *clock) = (device, after);
        true
    }
}

/// The limit of bits that an interrupted erase leaves unchanged.
const BITS_LEFT: u64 = 32;
/// The bytes that count as a page on a flash without pages.
const PIECE: Bytes = Bytes::new(256);

/// Draws some zeros of one page of the block to be erased, and their offset; `None` if there are none.
fn what_stays<M: Mtd>(
    device: &mut M,
    clock: &mut Clock,
    block: BlockIndex,
    stream: &mut Stream,
) -> Option<(Bytes, Vec<u8>)> {
    let range = device.geometry().block_range(block).ok()?;
    let piece = device.geometry().write_size.max(PIECE).min(range.end - range.start);
    let count = (range.end - range.start) / piece;
    let first = stream.below(count);
    for number in (first..count).chain(0..first) {
        let offset = range.start + piece * number;
        let mut old = vec![0xFF; piece.to_usize()];
        if device.read(clock, offset, &mut old).is_err() {
            continue;
        }
        let mut zeros: Vec<(usize, u8)> = Vec::new();
        for (at, &byte) in old.iter().enumerate() {
            zeros.extend(
                (0..8).map(|bit| 1 << bit).filter(|bit| byte & bit == 0).map(|bit| (at, bit)),
            );
        }
        if zeros.is_empty() {
            continue;
        }
        let mut left = vec![0xFF; old.len()];
        for _ in 0..BITS_LEFT {
            let drawn = stream.below(u64::try_from(zeros.len()).expect("bits of a page"));
            let (at, bit) = zeros[usize::try_from(drawn).expect("bits of a page")];
            left[at] &= !bit;
        }
        return Some((offset, left));
    }
    None
}

/// A device that forks at every operation that changes it. A clone is another handle of the same
/// device: the filesystem owns one, the explorer another.
#[derive(Debug)]
pub struct ForkingFlash<M> {
    geometry: Geometry,
    state: Rc<RefCell<State<M>>>,
}

impl<M> Clone for ForkingFlash<M> {
    fn clone(&self) -> Self {
        Self { geometry: self.geometry.clone(), state: Rc::clone(&self.state) }
    }
}

impl<M: Tear> ForkingFlash<M> {
    /// Wraps `device`; nothing is cut before [`ForkingFlash::sample`]. `seed` decides how a partial
    /// operation is torn.
    #[must_use]
    pub fn new(device: M, seed: Seed) -> Self {
        let geometry = device.geometry().clone();
        let sampling = Sampling::NONE;
        let (cuts, brownouts) = (Vec::new(), BTreeSet::new());
        let (operations, brownout_one_in) = (0, 0);
        let state = State { device, seed, sampling, operations, cuts, brownout_one_in, brownouts };
        Self { geometry, state: Rc::new(RefCell::new(state)) }
    }

    /// Asks the device as it is now.
    pub fn ask<T>(&self, question: impl FnOnce(&M) -> T) -> T {
        question(&self.state.borrow().device)
    }

    /// Cuts these operations from now on, counted from here.
    pub fn sample(&self, sampling: Sampling) {
        let mut state = self.state.borrow_mut();
        state.sampling = sampling;
        state.operations = 0;
    }

    /// How many operations changed the medium since the sampling began.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state.borrow().operations
    }

    /// The cuts since the last call.
    #[must_use]
    pub fn take_cuts(&self) -> Vec<Cut<M>> {
        std::mem::take(&mut self.state.borrow_mut().cuts)
    }

    /// From now on one in this many erases has a brownout, each block once; none when zero. The
    /// supply dips so briefly that only the chip notices: it stops the erase near the end, leaves
    /// some bits of a page unchanged, and reports ready.
    pub fn brown_out(&self, one_in: u64) {
        self.state.borrow_mut().brownout_one_in = one_in;
    }

    /// How many erases a brownout interrupted.
    #[must_use]
    pub fn brownouts(&self) -> u64 {
        u64::try_from(self.state.borrow().brownouts.len()).unwrap_or(u64::MAX)
    }

    /// Replaces the device by another of the same geometry, and returns the former one.
    pub fn replace(&self, device: M) -> M {
        std::mem::replace(&mut self.state.borrow_mut().device, device)
    }

    fn change(&mut self, clock: &mut Clock, change: Change<'_>) -> Result<(), Error> {
        let state = &mut *self.state.borrow_mut();
        let number = state.operations;
        state.operations += 1;
        if state.sampling.takes(number, state.seed) {
            let kind = change.kind();
            for &torn in state.device.outcomes(kind) {
                let (mut flash, mut clock) = (state.device.clone(), clock.clone());
                let mut stream = state.seed.stream(&format!("cut {number} {}", torn.name()));
                flash.tear(&mut clock, change, torn, &mut stream);
                state.cuts.push(Cut { number, kind, torn, clock, flash });
            }
        }
        if state.brown_out(clock, change, number) {
            return Ok(());
        }
        change.apply(&mut state.device, clock)
    }
}

impl<M: Tear> Mtd for ForkingFlash<M> {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        self.state.borrow_mut().device.read(clock, offset, buffer)
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        self.change(clock, Change::Program(offset, data))
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.change(clock, Change::Erase(block))
    }

    fn read_oob(&mut self, clock: &mut Clock, page: PageIndex, buffer: &mut [u8]) -> ReadResult {
        self.state.borrow_mut().device.read_oob(clock, page, buffer)
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> ReadResult {
        self.state.borrow_mut().device.read_page(clock, page, data, oob)
    }

    fn program_oob(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), Error> {
        self.change(clock, Change::ProgramOob(page, data, oob))
    }

    fn is_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<bool, Error> {
        self.state.borrow_mut().device.is_bad(clock, block)
    }

    fn mark_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.change(clock, Change::MarkBad(block))
    }
}
