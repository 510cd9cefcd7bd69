//! Middleware that cuts the power, once, at a chosen operation or instant.
//!
//! Layer: rank 2. Main type: [`PowerCut`]. Only operations that change the medium are numbered,
//! since a cut during a read equals a cut before the next of them. [`TearOutcome`] and
//! [`tear`](crate::tear) describe the torn states. A device that models power cuts itself, such as
//! a chip at bus cycle level, does not need this layer.
//!
//! ```text
//!   powered --(numbered operation | instant)--> cut: every operation is Error::PowerCut
//!      ^                                          |
//!      +------ power_on() or into_inner() --------+
//! ```
//!
//! The time to write the torn state does not count: it passes while the power is off.

use crate::device::{Mtd, ReadResult};
use crate::error::{Error, TearOutcome};
use crate::geometry::Geometry;
use crate::index::{BlockIndex, PageIndex};
use crate::operation::device_below;
use crate::tear::{Change, Progress};
use boardlab_sim::{Bytes, Clock, Instant, Seed, Stream};

/// The planned power cut.
#[derive(Debug)]
enum Plan<M> {
    Never,
    AtOperation {
        number: u64,
        torn: TearOutcome,
    },
    /// Each operation runs on a copy of the device first, which shows its end. If that is after the
    /// cut, the operation on the original is torn. The function makes the copy.
    AtInstant {
        at: Instant,
        copy: fn(&M) -> M,
    },
}

impl<M> Clone for Plan<M> {
    fn clone(&self) -> Self {
        *self
    }
}

/// Not derived, since the derived implementation would require a device that is [`Copy`].
impl<M> Copy for Plan<M> {}

/// A device with a planned power cut.
#[derive(Debug, Clone)]
pub struct PowerCut<M> {
    device: M,
    stream: Stream,
    plan: Plan<M>,
    operations: u64,
    cut: Option<Instant>,
}

impl<M: Mtd> PowerCut<M> {
    /// Wraps a device; one of the `cut_at` methods schedules the power cut. `seed` determines how a
    /// partial operation is torn.
    #[must_use]
    pub fn new(device: M, seed: Seed) -> Self {
        let stream = seed.stream("mtd.power_cut");
        Self { device, stream, plan: Plan::Never, operations: 0, cut: None }
    }

    /// Cuts the power at changing operation `number`, counted from zero since the beginning, with
    /// this outcome. [`TearOutcome::Partial`] stops anywhere within.
    pub const fn cut_at_operation(&mut self, number: u64, torn: TearOutcome) {
        self.plan = Plan::AtOperation { number, torn };
    }

    /// Cuts the power at an instant. An operation in progress is interrupted in proportion to its
    /// elapsed time. From now on each changing operation runs on a copy first.
    pub fn cut_at_instant(&mut self, at: Instant)
    where
        M: Clone,
    {
        self.plan = Plan::AtInstant { at, copy: M::clone };
    }

    /// The number of changing operations so far: explore a run by cutting it at each number below.
    #[must_use]
    pub const fn operations(&self) -> u64 {
        self.operations
    }

    /// The time of the power cut, while the power is off.
    #[must_use]
    pub const fn cut(&self) -> Option<Instant> {
        self.cut
    }

    /// Restores the power until another cut is requested.
    pub const fn power_on(&mut self) {
        self.cut = None;
        self.plan = Plan::Never;
    }

    device_below!(M, "cut");

    /// Checks the power, and cuts it if the instant of the cut has passed.
    fn powered(&mut self, now: Instant) -> Result<(), Error> {
        if let Plan::AtInstant { at, .. } = self.plan
            && at <= now
        {
            self.cut = self.cut.or(Some(at));
        }
        self.cut.map_or(Ok(()), |at| Err(Error::PowerCut { at }))
    }

    /// Runs a read. It changes nothing, so it may complete although its result is discarded after a
    /// power cut.
    fn observe<T>(
        &mut self,
        clock: &mut Clock,
        run: impl FnOnce(&mut M, &mut Clock) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.powered(clock.now())?;
        let answer = run(&mut self.device, clock);
        if let Plan::AtInstant { at, .. } = self.plan
            && at < clock.now()
        {
            self.powered(clock.now())?;
        }
        answer
    }

    fn change(&mut self, clock: &mut Clock, change: Change<'_>) -> Result<(), Error> {
        self.powered(clock.now())?;
        let number = self.operations;
        self.operations += 1;
        match self.plan {
            Plan::AtOperation { number: fatal, torn } if fatal == number => {
                let progress = Progress::random(&mut self.stream);
                self.stop(clock, change, torn, progress);
                let at = clock.now();
                self.cut = Some(at);
                Err(Error::PowerCut { at })
            }
            Plan::AtInstant { at, copy } => {
                let (mut ahead, mut device) = (clock.clone(), copy(&self.device));
                let answer = change.apply(&mut device, &mut ahead);
                let (passed, all) = (at.since(clock.now()), ahead.now().since(clock.now()));
                let Some(progress) = Progress::after(passed, all) else {
                    (self.device, *clock) = (device, ahead);
                    return answer;
                };
                self.stop(clock, change, TearOutcome::Partial, progress);
                clock.advance_to(at);
                self.cut = Some(at);
                Err(Error::PowerCut { at })
            }
            Plan::Never | Plan::AtOperation { .. } => change.apply(&mut self.device, clock),
        }
    }

    /// Cuts the power during an operation and writes its torn state. Errors are ignored, because there
    /// is no caller to report them to.
    fn stop(
        &mut self,
        clock: &mut Clock,
        change: Change<'_>,
        torn: TearOutcome,
        progress: Progress,
    ) {
        let _ = match torn {
            TearOutcome::NotBegun => Ok(()),
            TearOutcome::Partial => {
                change.tear(&mut self.device, clock, progress, &mut self.stream)
            }
            TearOutcome::Weak | TearOutcome::Finished => change.apply(&mut self.device, clock),
        };
    }
}

impl<M: Mtd> Mtd for PowerCut<M> {
    fn geometry(&self) -> &Geometry {
        self.device.geometry()
    }

    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        self.observe(clock, |device, clock| device.read(clock, offset, buffer))
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        self.change(clock, Change::Program(offset, data))
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.change(clock, Change::Erase(block))
    }

    fn read_oob(&mut self, clock: &mut Clock, page: PageIndex, buffer: &mut [u8]) -> ReadResult {
        self.observe(clock, |device, clock| device.read_oob(clock, page, buffer))
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> ReadResult {
        self.observe(clock, |device, clock| device.read_page(clock, page, data, oob))
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
        self.observe(clock, |device, clock| device.is_bad(clock, block))
    }

    fn mark_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.change(clock, Change::MarkBad(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ram::{Costs, RamMtd};
    use boardlab_sim::Duration;

    const SIZE: usize = 64;

    /// Program costs 10 us a write buffer of 16 bytes, an erase 100 us, a read 1 us.
    fn timed() -> RamMtd {
        let geometry = Geometry {
            write_buffer: Bytes::new(16),
            ..RamMtd::nor(2, Bytes::new(64)).geometry().clone()
        };
        RamMtd::new(geometry).with_costs(Costs {
            read: Duration::from_micros(1),
            program: Duration::from_micros(10),
            erase: Duration::from_micros(100),
            transfer: None,
        })
    }

    fn cut_program(torn: TearOutcome, seed: u64) -> Vec<u8> {
        let mut device = PowerCut::new(timed(), Seed::new(seed));
        device.cut_at_operation(0, torn);
        let answer = device.program(&mut Clock::new(), Bytes::ZERO, &[0; SIZE]);
        assert!(matches!(answer, Err(Error::PowerCut { .. })));
        device.into_inner().image()
    }

    #[test]
    fn a_program_is_not_begun_partial_or_finished() {
        assert_eq!(cut_program(TearOutcome::NotBegun, 1), [0xFF; 128]);
        assert_eq!(cut_program(TearOutcome::Finished, 1)[..SIZE], [0; SIZE]);
        let images: Vec<_> = (0..32).map(|seed| cut_program(TearOutcome::Partial, seed)).collect();
        for image in &images {
            let done = image.iter().take_while(|&&byte| byte == 0).count();
            assert!(image[done + 1..].iter().all(|&byte| byte == 0xFF), "{image:?}");
        }
        let distinct: std::collections::BTreeSet<_> = images.iter().collect();
        assert!(distinct.len() > 20, "{}", distinct.len());
    }

    #[test]
    fn the_same_seed_tears_the_same_way() {
        assert_eq!(cut_program(TearOutcome::Partial, 7), cut_program(TearOutcome::Partial, 7));
    }

    #[test]
    fn nothing_works_until_the_power_is_back() {
        let (mut device, mut clock) = (PowerCut::new(timed(), Seed::new(1)), Clock::new());
        device.cut_at_operation(1, TearOutcome::NotBegun);
        device.program(&mut clock, Bytes::ZERO, &[1]).unwrap();
        device.read(&mut clock, Bytes::ZERO, &mut [0]).unwrap();
        let gone = Err(Error::PowerCut { at: Instant::from_nanos(11_000) });
        assert_eq!(device.erase(&mut clock, BlockIndex(0)), gone);
        assert_eq!(device.program(&mut clock, Bytes::ZERO, &[1]), gone);
        assert_eq!(device.mark_bad(&mut clock, BlockIndex(0)), gone);
        assert_eq!(device.read(&mut clock, Bytes::ZERO, &mut [0]).err(), gone.clone().err());
        assert_eq!(device.is_bad(&mut clock, BlockIndex(0)).err(), gone.err());
        assert_eq!(device.operations(), 2);
        device.power_on();
        assert_eq!(device.cut(), None);
        device.erase(&mut clock, BlockIndex(0)).unwrap();
    }

    #[test]
    fn an_instant_stops_the_operation_in_progress_at_its_share_of_time() {
        let (mut device, mut clock) = (PowerCut::new(timed(), Seed::new(1)), Clock::new());
        device.cut_at_instant(Instant::from_nanos(10_000 + 30_000));
        device.program(&mut clock, Bytes::new(64), &[3; 16]).unwrap();
        let at = Instant::from_nanos(40_000);
        let answer = device.program(&mut clock, Bytes::ZERO, &[0; SIZE]);
        assert_eq!(answer, Err(Error::PowerCut { at }));
        let image = device.device().image();
        assert_eq!(image[..48], [0; 48]);
        assert_eq!(image[49..64], [0xFF; 15]);
        assert_eq!(image[64..80], [3; 16]);
        assert!(clock.now() >= at);
    }

    #[test]
    fn an_instant_between_operations_leaves_both_whole() {
        let (mut device, mut clock) = (PowerCut::new(timed(), Seed::new(1)), Clock::new());
        let at = Instant::from_nanos(10_000);
        device.cut_at_instant(at);
        device.program(&mut clock, Bytes::ZERO, &[0; 16]).unwrap();
        let next = device.program(&mut clock, Bytes::new(16), &[0; 16]);
        assert_eq!(next, Err(Error::PowerCut { at }));
        assert_eq!(device.into_inner().image()[..32], [[0; 16], [0xFF; 16]].concat());
    }

    #[test]
    fn a_read_in_progress_at_the_instant_is_lost() {
        let (mut device, mut clock) = (PowerCut::new(timed(), Seed::new(1)), Clock::new());
        let at = Instant::from_nanos(500);
        device.cut_at_instant(at);
        let answer = device.read(&mut clock, Bytes::ZERO, &mut [0]);
        assert_eq!(answer, Err(Error::PowerCut { at }));
        assert_eq!(device.cut(), Some(at));
    }

    #[test]
    fn a_torn_erase_is_sometimes_early_and_leaves_other_blocks_alone() {
        let mut flash = timed();
        let mut clock = Clock::new();
        flash.program(&mut clock, Bytes::ZERO, &[0x5A; 128]).unwrap();
        let results: Vec<Vec<u8>> = (0..64)
            .map(|seed| {
                let mut device = PowerCut::new(flash.clone(), Seed::new(seed));
                device.cut_at_operation(0, TearOutcome::Partial);
                device.erase(&mut Clock::new(), BlockIndex(0)).unwrap_err();
                device.into_inner().image()
            })
            .collect();
        assert!(results.iter().all(|image| image[64..] == [0x5A; 64]));
        let zeroed = results.iter().filter(|image| image[63] == 0x5A).count();
        assert!((6..30).contains(&zeroed), "{zeroed} of 64 were cut while zeroing");
    }

    #[test]
    fn marking_a_block_bad_happens_or_not() {
        let marked = |seed| {
            let flash = RamMtd::nand(1, 1, Bytes::new(16), Bytes::new(1));
            let mut device = PowerCut::new(flash, Seed::new(seed));
            device.cut_at_operation(0, TearOutcome::Partial);
            device.mark_bad(&mut Clock::new(), BlockIndex(0)).unwrap_err();
            device.device_mut().is_bad(&mut Clock::new(), BlockIndex(0)).unwrap()
        };
        let count = (0..64).filter(|&seed| marked(seed)).count();
        assert!((16..48).contains(&count), "{count}");
    }
}
