//! A flash that keeps, of each operation that changes it, what a power cut there would leave.
//!
//! Layer: rank 6. Main types: [`Watched`], an [`Mtd`] around a device that can be torn, and [`Cut`], a
//! fork of the device as the cut leaves it. Forks are copy-on-write, so a run is made once and not
//! again for every cut.

use boardlab_mtd::{BlockIndex, Change, Error, Geometry, Kind, Mtd, PageIndex, ReadHealth};
use boardlab_mtd::{Tear, Torn};
use boardlab_sim::{Bytes, Clock, Seed};
use std::cell::RefCell;
use std::rc::Rc;

/// What a power cut at one operation left.
#[derive(Debug, Clone)]
pub struct Cut<M> {
    /// The operation, counted from zero among those that change the medium.
    pub number: u64,
    /// What it was.
    pub kind: Kind,
    /// How it was torn.
    pub torn: Torn,
    /// When.
    pub clock: Clock,
    /// The device afterwards.
    pub flash: M,
}

/// Which operations are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Every operation below this number,
    pub exhaustive: u64,
    /// and of the others one in so many; none when zero.
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
}

/// A device that forks at every operation that changes it. A clone is another handle of the same one:
/// the filesystem owns one, the explorer another.
#[derive(Debug)]
pub struct Watched<M> {
    geometry: Geometry,
    state: Rc<RefCell<State<M>>>,
}

impl<M> Clone for Watched<M> {
    fn clone(&self) -> Self {
        Self { geometry: self.geometry.clone(), state: Rc::clone(&self.state) }
    }
}

impl<M: Tear> Watched<M> {
    /// Watches `device`; nothing is cut before [`Watched::sample`]. `seed` decides how a partial
    /// operation is torn.
    #[must_use]
    pub fn new(device: M, seed: Seed) -> Self {
        let geometry = device.geometry().clone();
        let sampling = Sampling::NONE;
        let state = State { device, seed, sampling, operations: 0, cuts: Vec::new() };
        Self { geometry, state: Rc::new(RefCell::new(state)) }
    }

    /// From now on these operations are cut, counted from here.
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

    /// A fork of the device as it is.
    #[must_use]
    pub fn fork(&self) -> M {
        self.state.borrow().device.clone()
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
        change.apply(&mut state.device, clock)
    }
}

impl<M: Tear> Mtd for Watched<M> {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn read(
        &mut self,
        clock: &mut Clock,
        offset: Bytes,
        buffer: &mut [u8],
    ) -> Result<ReadHealth, Error> {
        self.state.borrow_mut().device.read(clock, offset, buffer)
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        self.change(clock, Change::Program(offset, data))
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.change(clock, Change::Erase(block))
    }

    fn read_oob(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        buffer: &mut [u8],
    ) -> Result<ReadHealth, Error> {
        self.state.borrow_mut().device.read_oob(clock, page, buffer)
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
