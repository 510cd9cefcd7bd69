//! Erasing sectors: one at a time, or several queued in the chip's erase window.

use crate::bus::ChipIndex;
use crate::driver::poll::{Outcome, Running};
use crate::driver::{Board, Driver, dark};
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
        let running: Vec<Running> = chips.map(|chip| send(board, clock, chip, &starts)).collect();
        let mut result = Ok(());
        for mut running in running {
            let mut erased = self.complete_erase(board, clock, running, first);
            for _ in 0..self.profile.erase_retries {
                if erased.is_ok() || board.bus.dark_since().is_some() {
                    break;
                }
                running = send(board, clock, running.chip, &starts);
                erased = self.complete_erase(board, clock, running, first);
            }
            result = result.and(erased);
        }
        if board.bus.dark_since().is_some() {
            return Err(dark(board));
        }
        let ticks = board.host.ticks(clock).since(begun);
        self.erase.record(board.host.time_base().duration(ticks));
        result
    }

    fn complete_erase(
        &mut self,
        board: &mut Board,
        clock: &mut Clock,
        running: Running,
        block: BlockIndex,
    ) -> Result<(), Error> {
        let (ready, timeout) = (self.profile.erase_ready, self.erase_timeout);
        let waited = board.wait(clock, running, ready, timeout, &*self.erase_wait);
        self.polls.erase += waited.polls;
        Self::learn(&mut *self.erase_wait, &waited);
        let error = match waited.outcome {
            Outcome::Done if self.is_erased(board, clock, running) => return Ok(()),
            Outcome::Done => Error::EraseFailed { block },
            Outcome::Dark => return Err(dark(board)),
            Outcome::Failed | Outcome::Aborted => Error::EraseFailed { block },
            Outcome::Protected => Error::Protected { block },
            // The sector was not erased although the chip is ready: it refused.
            Outcome::Wrong { .. } => Error::EraseFailed { block },
            Outcome::TimedOut => {
                let offset = self.sectors[usize::try_from(block.0).expect("u32 fits usize")];
                Error::Timeout { offset, waited: clock.now().since(running.started) }
            }
        };
        board.recover(clock, running.chip, self.profile.recovery);
        Err(error)
    }

    /// Whether the driver is content with a chip that became ready.
    fn is_erased(&self, board: &mut Board, clock: &mut Clock, running: Running) -> bool {
        let mut read = || board.bus.read(clock, running.chip, running.address);
        !self.profile.erase_verified || (read() == running.datum && read() == running.datum)
    }
}

/// Sends the erase command for all of `starts`.
fn send(board: &mut Board, clock: &mut Clock, chip: ChipIndex, starts: &[Bytes]) -> Running {
    let first = board.bus.address(starts[0]);
    board.unlocked(clock, chip, board.unlock[0], 0x80);
    board.unlocked(clock, chip, first, 0x30);
    for &start in &starts[1..] {
        let address = board.bus.address(start);
        board.bus.write(clock, chip, address, 0x30);
    }
    let datum = if board.bus.word() == Bytes::new(1) { 0xFF } else { 0xFFFF };
    Running { chip, address: first, datum, started: clock.now() }
}
