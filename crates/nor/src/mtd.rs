//! NOR chips with their driver as a [`boardlab_mtd::Mtd`]. Main type: [`NorMtd`].

use crate::bus::CutPoint;
use crate::driver::{Board, Driver, Kind, ProbeError, power_cut_error};
use boardlab_mtd::{
    BlockIndex, Change, EraseRegion, Error, FlashKind, Geometry, Kind as Operation, Mtd,
    ReadHealth, ReadResult, Tear, TearOutcome,
};
use boardlab_sim::{Bytes, Clock, Duration, Seed, Stream};

/// The NOR chips of a board as one device.
///
/// With several chips an erase block is the same sector of every chip, and consecutive write
/// buffers lie on consecutive chips.
#[derive(Debug, Clone)]
pub struct NorMtd {
    /// The CPU, the bus and the chips.
    pub board: Board,
    /// The driver, with its statistics.
    pub driver: Driver,
    geometry: Geometry,
}

impl NorMtd {
    /// Attaches the driver `kind` to `board`.
    ///
    /// # Errors
    /// If the part has no valid CFI query table.
    pub fn attach(kind: Kind, mut board: Board, clock: &mut Clock) -> Result<Self, ProbeError> {
        let driver = Driver::attach(kind, &mut board, clock)?;
        let chips = board.bus.chip_count() as u64;
        let cfi_info = driver.cfi_info();
        let region = |&(count, size): &(u32, Bytes)| EraseRegion { count, size: size * chips };
        let geometry = Geometry {
            kind: FlashKind::Nor,
            regions: cfi_info.regions.iter().map(region).collect(),
            write_size: Bytes::new(1),
            write_buffer: cfi_info.write_buffer.unwrap_or(board.bus.word()),
            oob: None,
        };
        Ok(Self { board, driver, geometry })
    }

    /// Erases `count` blocks from `first` on with one command sequence and one wait.
    ///
    /// # Errors
    /// As [`Mtd::erase`].
    pub fn erase_queued(
        &mut self,
        clock: &mut Clock,
        first: BlockIndex,
        count: u32,
    ) -> Result<(), Error> {
        let last = BlockIndex(first.0.saturating_add(count).saturating_sub(1));
        for block in [first, last] {
            self.geometry.block(block).ok_or_else(|| self.beyond(block))?;
        }
        self.driver.erase(&mut self.board, clock, first, count)
    }

    fn beyond(&self, block: BlockIndex) -> Error {
        let size = self.geometry.size();
        let length = self.geometry.regions.last().map_or(Bytes::ZERO, |region| region.size);
        Error::OutOfRange {
            offset: size + length * u64::from(block.0 - self.geometry.block_count()),
            length,
            size,
        }
    }

    fn check(&self, offset: Bytes, length: Bytes) -> Result<(), Error> {
        let size = self.geometry.size();
        match offset.checked_add(length) {
            Some(end) if end <= size => Ok(()),
            _ => Err(Error::OutOfRange { offset, length, size }),
        }
    }
}

impl Mtd for NorMtd {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        self.check(offset, Bytes::of(buffer))?;
        let unit = self.geometry.write_buffer;
        let (mut at, mut left) = (offset, buffer);
        while !left.is_empty() {
            // A single chip is linear; several are interleaved in units of a write buffer.
            let space = match self.board.bus.chip_count() {
                1 => left.len(),
                _ => (unit - Bytes::new(at.get() % unit.get())).to_usize().min(left.len()),
            };
            let (head, tail) = left.split_at_mut(space);
            let (chip, within) = self.board.bus.locate(at);
            self.board.bus.read_range(clock, chip, within, head);
            at += Bytes::of(head);
            left = tail;
        }
        match self.board.bus.power_lost_at() {
            Some(_) => Err(power_cut_error(&self.board)),
            None => Ok(ReadHealth::default()),
        }
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        self.check(offset, Bytes::of(data))?;
        if self.board.bus.power_lost_at().is_some() {
            return Err(power_cut_error(&self.board));
        }
        self.driver.write(&mut self.board, clock, offset, data)
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.erase_queued(clock, block, 1)
    }
}

/// The physics of the chip: the power is cut at a moment of the operation. The waits of the driver are a part of it, so
/// that a moment may come when the chip has ended already, or not begun.
impl Tear for NorMtd {
    fn outcomes(&self, _kind: Operation) -> &'static [TearOutcome] {
        &TearOutcome::PLAIN
    }

    fn tear(
        &mut self,
        clock: &mut Clock,
        change: Change<'_>,
        torn: TearOutcome,
        stream: &mut Stream,
    ) {
        match torn {
            TearOutcome::NotBegun => return,
            TearOutcome::Partial => {
                let (mut whole, mut ended) = (self.clone(), clock.clone());
                // Errors are ignored here and below, because nobody can receive them.
                let _ = change.apply(&mut whole, &mut ended);
                let lasts = ended.now().since(clock.now()).as_nanos();
                let moment = Duration::from_nanos(stream.below(lasts.max(1)));
                self.board.bus.set_torn_streams(Seed::new(stream.next_u64()));
                self.board.bus.cut_power_at(CutPoint::Time(clock.now() + moment));
            }
            TearOutcome::Weak | TearOutcome::Finished => {}
        }
        let _ = change.apply(self, clock);
        self.board.bus.power_on(clock);
    }
}
