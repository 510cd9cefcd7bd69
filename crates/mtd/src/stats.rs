//! Middleware that counts: operations, bytes and time by kind, erases and programs by block.
//!
//! Layer: rank 2. Main types: [`Stats`], [`Totals`], [`Wear`]. It costs no virtual time and, unlike
//! a [`Tracer`](crate::Tracer), no memory that grows with the run.

use crate::device::{Mtd, ReadResult};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::index::{BlockIndex, PageIndex};
use crate::operation::{Kind, Operation, around_every_operation, device_below};
use boardlab_sim::{Bytes, Clock, Phase};

/// The totals of one kind of operation.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    time: Phase,
    failures: u64,
    bytes: Bytes,
}

impl Totals {
    /// The number of operations, including failures.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.time.count()
    }

    /// The number of failures.
    #[must_use]
    pub const fn failures(&self) -> u64 {
        self.failures
    }

    /// The bytes transferred by successful operations, including OOB bytes.
    #[must_use]
    pub const fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// The durations, including those of failures.
    #[must_use]
    pub const fn time(&self) -> &Phase {
        &self.time
    }
}

/// The wear of an erase block, including failed operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wear {
    /// Erases.
    pub erases: u64,
    /// Programs in the block, including those of OOB bytes.
    pub programs: u64,
}

/// Counts the operations on the device below.
#[derive(Debug, Clone)]
pub struct Stats<M> {
    device: M,
    totals: [Totals; Kind::ALL.len()],
    wear: Vec<Wear>,
}

impl<M: Mtd> Stats<M> {
    /// Wraps a device, with all counts zero.
    #[must_use]
    pub fn new(device: M) -> Self {
        let count = usize::try_from(device.geometry().block_count()).expect("usize holds u32");
        Self { device, totals: Default::default(), wear: vec![Wear::default(); count] }
    }

    /// The totals of one kind of operation.
    #[must_use]
    pub const fn of(&self, kind: Kind) -> &Totals {
        &self.totals[kind as usize]
    }

    /// The wear of each block, by index.
    #[must_use]
    pub fn wear(&self) -> &[Wear] {
        &self.wear
    }

    /// Resets all counts.
    pub fn reset(&mut self) {
        self.totals = Default::default();
        self.wear.fill(Wear::default());
    }

    device_below!(M, "counted");

    fn counted<T>(
        &mut self,
        clock: &mut Clock,
        operation: Operation,
        run: impl FnOnce(&mut M, &mut Clock) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let start = clock.now();
        let answer = run(&mut self.device, clock);
        let totals = &mut self.totals[operation.kind as usize];
        totals.time.record(clock.now().since(start));
        match &answer {
            Ok(_) => totals.bytes += operation.length,
            Err(_) => totals.failures += 1,
        }
        self.count_wear(operation);
        answer
    }

    /// Counts wear. An operation with an invalid range causes none; a failed one causes as much as a
    /// successful one.
    fn count_wear(&mut self, operation: Operation) {
        let (erases, programs) = match operation.kind {
            Kind::Erase => (1, 0),
            Kind::Program | Kind::ProgramOob => (0, 1),
            Kind::Read | Kind::ReadOob | Kind::IsBad | Kind::MarkBad => return,
        };
        let geometry = self.device.geometry();
        let Some(range) = operation.range(geometry) else { return };
        for (block, _) in geometry.by_block(range) {
            let wear = &mut self.wear[usize::try_from(block.0).expect("usize holds u32")];
            wear.erases += erases;
            wear.programs += programs;
        }
    }
}

impl<M: Mtd> Mtd for Stats<M> {
    around_every_operation!(counted);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ram::{Costs, RamMtd};
    use boardlab_sim::Duration;

    #[test]
    fn counts_bytes_and_time_add_up_by_kind() {
        let costs = Costs { erase: Duration::from_millis(3), ..Costs::default() };
        let flash = RamMtd::nand(4, 4, Bytes::new(512), Bytes::new(16)).with_costs(costs);
        let (mut device, mut clock) = (Stats::new(flash), Clock::new());
        device.erase(&mut clock, BlockIndex(3)).unwrap();
        device.erase(&mut clock, BlockIndex(3)).unwrap();
        device.erase(&mut clock, BlockIndex(4)).unwrap_err();
        device.program_oob(&mut clock, PageIndex(5), &[0; 512], &[0; 16]).unwrap();
        device.read(&mut clock, Bytes::ZERO, &mut [0; 100]).unwrap();
        device.read(&mut clock, Bytes::kib(8), &mut [0; 100]).unwrap_err();
        let erases = device.of(Kind::Erase);
        assert_eq!((erases.count(), erases.failures()), (3, 1));
        assert_eq!(erases.time().total(), Duration::from_millis(6));
        assert_eq!(device.of(Kind::ProgramOob).bytes(), Bytes::new(528));
        assert_eq!(device.of(Kind::Read).bytes(), Bytes::new(100));
        assert_eq!(device.of(Kind::MarkBad).count(), 0);
        device.reset();
        assert_eq!(device.of(Kind::Erase).count(), 0);
        assert!(device.wear().iter().all(|wear| *wear == Wear::default()));
    }

    #[test]
    fn a_program_across_a_border_wears_both_blocks() {
        let mut device = Stats::new(RamMtd::nor(3, Bytes::new(16)));
        let mut clock = Clock::new();
        device.program(&mut clock, Bytes::new(15), &[0; 2]).unwrap();
        device.program(&mut clock, Bytes::new(47), &[0; 2]).unwrap_err();
        device.erase(&mut clock, BlockIndex(1)).unwrap();
        let wear = |erases, programs| Wear { erases, programs };
        assert_eq!(device.wear(), [wear(0, 1), wear(1, 1), wear(0, 0)]);
    }
}
