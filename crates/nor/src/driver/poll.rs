//! The loop that asks a chip whether it is done, shared by all drivers and operations.

use crate::bus::ChipIndex;
use crate::chip::Address;
use crate::driver::profile::{Ready, Recovery, Timeout};
use crate::driver::{Board, Driver};
use crate::host::Pause;
use crate::wait::{Seen, WaitPolicy};
use boardlab_sim::{Clock, Duration, Instant, Ticks};

/// An embedded operation that a chip is busy with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Running {
    pub(crate) chip: ChipIndex,
    /// Where the driver polls.
    pub(crate) address: Address,
    /// What is there when the operation is done.
    pub(crate) datum: u16,
    /// When the confirming cycle ended.
    pub(crate) started: Instant,
}

/// How an operation ended, as far as the driver's last reads tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// DQ5, or the status register's failure bits: the chip gave up.
    Failed,
    /// DQ1, or the status register's abort bit: the buffer was dropped.
    Aborted,
    /// The status register's lock bit.
    Protected,
    /// The chip is ready, but the datum is not there.
    Wrong {
        found: u16,
        expected: u16,
    },
    /// Still toggling when the driver gave up.
    TimedOut,
    /// The power went.
    Dark,
}

/// What the ends of a wait looked like on the time base.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waited {
    pub(crate) outcome: Outcome,
    /// When the first poll began.
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
    /// Waits by `policy` until `running` is done, failed or `timeout` is over.
    pub(crate) fn wait(
        &mut self,
        clock: &mut Clock,
        running: Running,
        ready: Ready,
        timeout: Timeout,
        policy: &dyn WaitPolicy,
    ) -> Waited {
        let first = remaining(policy.first(), clock.now().since(running.started).as_micros());
        self.pause(clock, first);
        // Linux sets its deadline only after the fixed wait.
        let deadline = Deadline::new(self, clock, timeout);
        let first_poll = self.host.ticks(clock);
        let mut polls = 0;
        let outcome = loop {
            // A poll sees the last two reads of the chip, which diagnosis looks at again.
            let expired = deadline.is_over(self, clock);
            let (done, reads) = self.poll(clock, running, ready);
            polls += 1;
            if self.bus.dark_since().is_some() {
                break Outcome::Dark;
            }
            if done {
                break diagnose_ready(ready, reads);
            }
            if expired {
                break diagnose_timeout(running.datum, ready, reads);
            }
            self.pause(clock, policy.gap(polls));
        };
        Waited { outcome, first_poll, polls }
    }

    #[inline]
    fn poll(&mut self, clock: &mut Clock, running: Running, ready: Ready) -> (bool, [u16; 2]) {
        let Running { chip, address, datum, .. } = running;
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
    /// Tells the policy how it went.
    pub(crate) fn learn(policy: &mut dyn WaitPolicy, waited: &Waited) {
        let failed = waited.outcome != Outcome::Done;
        policy.learn(Seen { polls: waited.polls, failed });
    }
}

/// What is left of the pause before the first poll when `elapsed_us` have passed since the start.
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

/// What the status register says of a chip that is ready; the toggle test cannot tell.
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

/// What the driver's last reads say about a chip that did not become ready.
fn diagnose_timeout(expected: u16, ready: Ready, [first, second]: [u16; 2]) -> Outcome {
    if ready == Ready::StatusRegister {
        return Outcome::TimedOut;
    }
    let toggles = (first ^ second) & DQ6 != 0;
    if !toggles && ready != Ready::Datum {
        return Outcome::Wrong { found: second, expected };
    }
    if second & DQ5 != 0 {
        Outcome::Failed
    } else if second & DQ1 != 0 {
        Outcome::Aborted
    } else {
        Outcome::TimedOut
    }
}

/// The moment at which a driver gives up, in the clock that it looks at.
enum Deadline {
    Millis { started: Instant, limit: u64 },
    Jiffies(u64),
}

impl Deadline {
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
