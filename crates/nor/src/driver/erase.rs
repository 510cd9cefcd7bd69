//! Erases: one sector at a time, or several queued in the chip's erase window.

use crate::bus::ChipIndex;
use crate::driver::poll::{EmbeddedOperation, Outcome};
use crate::driver::{Board, Driver, power_cut_error};
use boardlab_mtd::{BlockIndex, Error};
use boardlab_sim::{Bytes, Clock};

impl Driver {
    /// Erases `count` sectors from `first` on, of every chip: the same sector of all chips at once.
    ///
    /// With more than one sector the further ones are added within the chip's erase window (DQ3),
    /// and one wait serves all.
    ///
    /// # Errors
    /// As [`boardlab_mtd::Mtd::erase`].
    pub fn erase(
        &mut self,
        board: &mut Board,
        clock: &mut Clock,
        first: BlockIndex,
        count: u32,
    ) -> Result<(), Error> {
        let begun = board.host.ticks(clock);
        let index = |block: u32| usize::try_from(block).expect("u32 fits usize");
        let starts = &self.sectors[index(first.0)..][..index(count)];
        let chips = (0..board.bus.chip_count()).map(ChipIndex);
        let locked =
            |chip| starts.iter().any(|&start| self.is_protected(chip, self.sector_of(start)));
        if chips.clone().any(locked) {
            return Err(Error::Protected { block: first });
        }
        let starts = starts.to_vec();
        let operation: Vec<EmbeddedOperation> =
            chips.map(|chip| send(board, clock, chip, &starts)).collect();
        let mut result = Ok(());
        for mut operation in operation {
            let mut erased = self.complete_erase(board, clock, operation, first);
            for _ in 0..self.profile.erase_retries {
                if erased.is_ok() || board.bus.power_lost_at().is_some() {
                    break;
                }
                operation = send(board, clock, operation.chip, &starts);
                erased = self.complete_erase(board, clock, operation, first);
            }
            result = result.and(erased);
        }
        if board.bus.power_lost_at().is_some() {
            return Err(power_cut_error(board));
        }
        let ticks = board.host.ticks(clock).since(begun);
        self.erase.record(board.host.time_base().duration(ticks));
        result
    }

    fn complete_erase(
        &mut self,
        board: &mut Board,
        clock: &mut Clock,
        operation: EmbeddedOperation,
        block: BlockIndex,
    ) -> Result<(), Error> {
        let (ready, timeout) = (self.profile.erase_ready, self.erase_timeout);
        let waited = board.wait(clock, operation, ready, timeout, &*self.erase_wait);
        self.polls.erase += waited.polls;
        Self::learn(&mut *self.erase_wait, &waited);
        let error = match waited.outcome {
            Outcome::Done if self.is_erased(board, clock, operation) => return Ok(()),
            Outcome::Done => Error::EraseFailed { block },
            Outcome::PowerLost => return Err(power_cut_error(board)),
            Outcome::Failed | Outcome::Aborted => Error::EraseFailed { block },
            Outcome::Protected => Error::Protected { block },
            // The chip is ready, but the sector was not erased.
            Outcome::Mismatch { .. } => Error::EraseFailed { block },
            Outcome::TimedOut => {
                let offset = self.sectors[usize::try_from(block.0).expect("u32 fits usize")];
                Error::Timeout { offset, waited: clock.now().since(operation.started) }
            }
        };
        board.recover(clock, operation.chip, self.profile.recovery);
        Err(error)
    }

    /// Whether the driver accepts the erase of a chip that became ready.
    fn is_erased(
        &self,
        board: &mut Board,
        clock: &mut Clock,
        operation: EmbeddedOperation,
    ) -> bool {
        let mut read = || board.bus.read(clock, operation.chip, operation.address);
        !self.profile.erase_verified || (read() == operation.datum && read() == operation.datum)
    }
}

/// Sends the erase command for all of `starts`.
fn send(
    board: &mut Board,
    clock: &mut Clock,
    chip: ChipIndex,
    starts: &[Bytes],
) -> EmbeddedOperation {
    let first = board.bus.address(starts[0]);
    board.unlocked(clock, chip, board.unlock[0], 0x80);
    board.unlocked(clock, chip, first, 0x30);
    for &start in &starts[1..] {
        let address = board.bus.address(start);
        board.bus.write(clock, chip, address, 0x30);
    }
    let datum = if board.bus.word() == Bytes::new(1) { 0xFF } else { 0xFFFF };
    EmbeddedOperation { chip, address: first, datum, started: clock.now() }
}
