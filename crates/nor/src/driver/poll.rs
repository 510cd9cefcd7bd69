//! The poll loop of all drivers and operations, and the diagnosis of the last status.

use crate::bus::ChipIndex;
use crate::chip::Address;
use crate::driver::profile::{Ready, Recovery, Timeout};
use crate::driver::{Board, Driver};
use crate::host::Pause;
use crate::wait::{Feedback, WaitPolicy};
use boardlab_sim::{Clock, Duration, Instant, Ticks};

/// An embedded operation in progress.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmbeddedOperation {
    pub(crate) chip: ChipIndex,
    /// The address that the driver polls.
    pub(crate) address: Address,
    /// The word at that address after completion.
    pub(crate) datum: u16,
    /// The end of the confirming cycle.
    pub(crate) started: Instant,
}

/// The outcome of an operation, as the driver's last reads show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// DQ5, or the status register's failure bits: the operation failed.
    Failed,
    /// DQ1, or the status register's abort bit: the buffer program was aborted.
    Aborted,
    /// The status register's lock bit.
    Protected,
    /// The chip is ready, but the word read differs from the datum.
    Mismatch {
        found: u16,
        expected: u16,
    },
    /// The chip was still busy at the driver's timeout.
    TimedOut,
    /// The power was cut.
    PowerLost,
}

/// The result of a wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitResult {
    pub(crate) outcome: Outcome,
    /// The start of the first poll.
    pub(crate) first_poll: Ticks,
    pub(crate) polls: u64,
}

/// Bits of a status read during an embedded operation.
const DQ1: u16 = 1 << 1;
const DQ5: u16 = 1 << 5;
const DQ6: u16 = 1 << 6;
/// Bits of the status register.
const SR_READY: u16 = 1 << 7;
const SR_ERASE_FAILED: u16 = 1 << 5;
const SR_PROGRAM_FAILED: u16 = 1 << 4;
const SR_ABORTED: u16 = 1 << 3;
const SR_LOCKED: u16 = 1 << 1;

impl Board {
    /// Polls by `policy` until `operation` has completed or failed, or `timeout` expires.
    pub(crate) fn wait(
        &mut self,
        clock: &mut Clock,
        operation: EmbeddedOperation,
        ready: Ready,
        timeout: Timeout,
        policy: &dyn WaitPolicy,
    ) -> WaitResult {
        let first = remaining(policy.first(), clock.now().since(operation.started).as_micros());
        self.pause(clock, first);
        // Linux sets its deadline only after the fixed wait.
        let deadline = Deadline::new(self, clock, timeout);
        let first_poll = self.host.ticks(clock);
        let mut polls = 0;
        let outcome = loop {
            // A poll returns its last two reads of the chip for the diagnosis.
            let expired = deadline.is_over(self, clock);
            let (done, reads) = self.poll(clock, operation, ready);
            polls += 1;
            if self.bus.power_lost_at().is_some() {
                break Outcome::PowerLost;
            }
            if done {
                break diagnose_ready(ready, reads);
            }
            if expired {
                break diagnose_timeout(operation.datum, ready, reads);
            }
            self.pause(clock, policy.gap(polls));
            if polls > 1 && matches!(ready, Ready::Toggle | Ready::ToggleAndDatum) {
                polls += self.pass_polls(clock, operation.chip, policy.steady(), &deadline);
            }
        };
        WaitResult { outcome, first_poll, polls }
    }

    #[inline]
    fn poll(
        &mut self,
        clock: &mut Clock,
        operation: EmbeddedOperation,
        ready: Ready,
    ) -> (bool, [u16; 2]) {
        let EmbeddedOperation { chip, address, datum, .. } = operation;
        match ready {
            Ready::Toggle | Ready::ToggleAndDatum => {
                let first = self.bus.read(clock, chip, address);
                let second = self.bus.read(clock, chip, address);
                let done = first == second && (ready == Ready::Toggle || second == datum);
                (done, [first, second])
            }
            Ready::Datum => {
                let read = self.bus.read(clock, chip, address);
                (read == datum, [read; 2])
            }
            Ready::StatusRegister => {
                self.bus.write(clock, chip, self.unlock[0], 0x70);
                let status = self.bus.read(clock, chip, address);
                (status & SR_READY != 0, [status; 2])
            }
        }
    }

    /// Sends what the driver sends to a chip that did not become ready.
    pub(crate) fn recover(&mut self, clock: &mut Clock, chip: ChipIndex, recovery: Recovery) {
        match recovery {
            Recovery::Reset => self.bus.write(clock, chip, Address(0), 0xF0),
            Recovery::AbortReset => self.unlocked(clock, chip, self.unlock[0], 0xF0),
            Recovery::ClearStatus => {
                self.bus.write(clock, chip, self.unlock[0], 0x71);
                self.unlocked(clock, chip, self.unlock[0], 0xF0);
            }
        }
    }

    /// Writes the two unlock cycles and `command` at `address` of a chip.
    pub(crate) fn unlocked(
        &mut self,
        clock: &mut Clock,
        chip: ChipIndex,
        address: Address,
        command: u16,
    ) {
        self.bus.write(clock, chip, self.unlock[0], 0xAA);
        self.bus.write(clock, chip, self.unlock[1], 0x55);
        self.bus.write(clock, chip, address, command);
    }

    /// Pauses; a power cut in the middle takes effect.
    pub(crate) fn pause(&mut self, clock: &mut Clock, pause: Pause) {
        self.host.pause(clock, pause);
        self.bus.pass_time(clock);
    }
}

impl Driver {
    /// Passes the result to the policy.
    pub(crate) fn learn(policy: &mut dyn WaitPolicy, waited: &WaitResult) {
        let failed = waited.outcome != Outcome::Done;
        policy.learn(Feedback { polls: waited.polls, failed });
    }
}

/// The remainder of the pause before the first poll, `elapsed_us` after the start of the operation.
fn remaining(first: Pause, elapsed_us: u64) -> Pause {
    match first {
        Pause::None => Pause::None,
        Pause::Spin(micros) if micros <= elapsed_us => Pause::None,
        Pause::Spin(micros) => Pause::Spin(micros - elapsed_us),
        Pause::Jiffies(millis) if millis * 1_000 <= elapsed_us => Pause::None,
        Pause::Jiffies(millis) => Pause::Jiffies(millis - elapsed_us / 1_000),
        Pause::Sleep(span) => {
            let left = span.saturating_sub(Duration::from_micros(elapsed_us));
            if left.is_zero() { Pause::None } else { Pause::Sleep(left) }
        }
    }
}

/// The outcome of a ready chip: from the status register if the driver uses it; the toggle test shows
/// no failure.
fn diagnose_ready(ready: Ready, [_, status]: [u16; 2]) -> Outcome {
    if ready != Ready::StatusRegister {
        Outcome::Done
    } else if status & SR_LOCKED != 0 {
        Outcome::Protected
    } else if status & SR_ABORTED != 0 {
        Outcome::Aborted
    } else if status & (SR_PROGRAM_FAILED | SR_ERASE_FAILED) != 0 {
        Outcome::Failed
    } else {
        Outcome::Done
    }
}

/// The outcome of a chip that did not become ready, from the driver's last reads.
fn diagnose_timeout(expected: u16, ready: Ready, [first, second]: [u16; 2]) -> Outcome {
    if ready == Ready::StatusRegister {
        return Outcome::TimedOut;
    }
    let toggles = (first ^ second) & DQ6 != 0;
    if !toggles && ready != Ready::Datum {
        return Outcome::Mismatch { found: second, expected };
    }
    if second & DQ5 != 0 {
        Outcome::Failed
    } else if second & DQ1 != 0 {
        Outcome::Aborted
    } else {
        Outcome::TimedOut
    }
}

/// The end of a driver's timeout, in the clock that the driver uses.
pub(super) enum Deadline {
    Millis { started: Instant, limit: u64 },
    Jiffies(u64),
}

impl Deadline {
    /// The first moment at which it is over.
    pub(super) fn ends(&self, board: &Board) -> Instant {
        match self {
            Self::Millis { started, limit } => {
                started.saturating_add(Duration::from_micros((limit + 1) * 1_000 + 1))
            }
            Self::Jiffies(last) => board.host.jiffy(*last + 1),
        }
    }

    fn new(board: &Board, clock: &Clock, timeout: Timeout) -> Self {
        match timeout {
            Timeout::Millis(limit) => Self::Millis { started: clock.now(), limit },
            Timeout::Jiffies(limit) => Self::Jiffies(board.host.jiffies(clock).get() + limit),
        }
    }

    #[inline]
    fn is_over(&self, board: &Board, clock: &Clock) -> bool {
        match self {
            Self::Millis { started, limit } => {
                clock.now().since(*started).as_micros() > (limit + 1) * 1_000
            }
            Self::Jiffies(last) => board.host.jiffies(clock).get() > *last,
        }
    }
}
