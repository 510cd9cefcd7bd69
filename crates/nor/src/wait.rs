//! Wait policies: when a driver polls an operation for the first time, and how often afterwards.
//!
//! A policy is a few lines. The poll loop is in [`crate::driver`], the chip in [`crate::chip`].
//! Sources: Linux 3.4 and 6.1 `drivers/mtd/chips/cfi_cmdset_0001.c`, `_0002.c`, `_0020.c`. The
//! theory of the adaptive policy is in `docs/models/nor.md`.

use crate::host::Pause;
use boardlab_sim::{Decide, Duration, OwnPolicy};
use std::fmt::Debug;
use std::mem;

/// The result of one operation, from which a policy learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    /// The number of polls; unless the operation failed, the last one found the chip ready.
    pub polls: u64,
    /// Whether the operation failed or timed out.
    pub failed: bool,
}

/// A policy that decides when to poll.
pub trait WaitPolicy: Debug + Send + Sync {
    /// The pause from the start of the operation to the first poll.
    fn first(&self) -> Pause;

    /// The pause after the poll numbered `polls` (from 1) found the chip busy.
    fn gap(&self, polls: u64) -> Pause;

    /// The pause after every poll from the second on, if that is always the same: such polls need not be gone through
    /// one by one.
    fn steady(&self) -> Option<Pause> {
        None
    }

    /// Adapts the policy to the result of an operation.
    fn learn(&mut self, _feedback: Feedback) {}

    /// A copy with the same state.
    fn boxed_clone(&self) -> Box<dyn WaitPolicy>;
}

impl Clone for Box<dyn WaitPolicy> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// Linux' `cfi_udelay`: spins below a millisecond, otherwise sleeps whole milliseconds.
#[must_use]
pub fn cfi_udelay(micros: u64) -> Pause {
    match micros {
        0 => Pause::None,
        1..1_000 => Pause::Spin(micros),
        _ => Pause::Jiffies(micros.div_ceil(1_000)),
    }
}

/// Polls from the start of the operation, as u-boot does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToggleOnly {
    /// The pause between two polls.
    pub gap: Pause,
}

/// Waits a fixed time, then polls, as Linux does with the AMD command set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedThenToggle {
    /// The pause before the first poll.
    pub wait: Pause,
    /// The pause between two polls.
    pub gap: Pause,
}

/// Intel's command set in Linux: polls at once, then sleeps half the typical time where that is a
/// timer tick or more, then a timer tick at a time; else spins a microsecond at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HalfTypical {
    /// Typical time of the operation.
    pub typical: Duration,
    /// A timer tick.
    pub jiffy: Duration,
}

/// ST's command set in Linux: one microsecond less when the first poll found the chip ready, one
/// more when it took more than one further poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staircase {
    /// The current wait in microseconds.
    pub micros: u64,
    /// The pause between two polls.
    pub gap: Pause,
}

/// Tracks a quantile of the completion time with one bit per operation (Robbins and Monro 1951):
/// after each operation the wait grows by `step * quantile` and, if the first poll found the chip
/// ready, shrinks by `step`.
///
/// In equilibrium the first poll finds the chip ready in `quantile` of all operations. The policy
/// follows drift, and cannot end an operation early: it only decides when to poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adaptive {
    /// The current wait.
    pub wait: Duration,
    /// The decrement after a first poll that found the chip ready.
    pub step: Duration,
    /// The quantile, in millionths.
    pub millionths: u64,
    /// The lower limit of the wait.
    pub floor: Duration,
    /// The upper limit of the wait.
    pub ceiling: Duration,
    /// The wait after a failed operation.
    pub restart: Duration,
    /// The pause between two polls.
    pub gap: Pause,
}

/// A policy of somebody else. It sees the polls of many operations at a time, and says how long to wait before the first
/// poll of the following ones, in microseconds.
#[derive(Debug, Clone)]
pub struct Own {
    policy: Box<dyn Decide>,
    batch: usize,
    micros: u64,
    gap: Pause,
    /// Of each operation since it was last asked: the number of polls, and 1 if it failed.
    polls: Vec<u64>,
    failed: Vec<u64>,
}

impl Own {
    /// The longest wait, in microseconds.
    pub const MOST_MICROS: u64 = 1_000_000;

    /// A copy of `policy` in its initial state; it waits so many `micros` unless that says otherwise.
    #[must_use]
    pub fn start(policy: &OwnPolicy, micros: u64, gap: Pause) -> Self {
        let (polls, failed) = (Vec::new(), Vec::new());
        let batch = policy.batch();
        let mut own = Self { policy: policy.start(), batch, micros, gap, polls, failed };
        own.ask();
        own
    }

    fn ask(&mut self) {
        let (polls, failed) = (mem::take(&mut self.polls), mem::take(&mut self.failed));
        let said = self.policy.decide(&[("polls", &polls), ("failed", &failed)]);
        if let Some(&micros) = said.first() {
            self.micros = micros.min(Self::MOST_MICROS);
        }
    }
}

impl WaitPolicy for Own {
    fn first(&self) -> Pause {
        cfi_udelay(self.micros)
    }

    fn gap(&self, _polls: u64) -> Pause {
        self.gap
    }

    fn steady(&self) -> Option<Pause> {
        Some(self.gap)
    }

    fn learn(&mut self, feedback: Feedback) {
        self.polls.push(feedback.polls);
        self.failed.push(feedback.failed.into());
        if self.polls.len() >= self.batch {
            self.ask();
        }
    }

    fn boxed_clone(&self) -> Box<dyn WaitPolicy> {
        Box::new(self.clone())
    }
}

impl WaitPolicy for ToggleOnly {
    fn first(&self) -> Pause {
        Pause::None
    }

    fn gap(&self, _polls: u64) -> Pause {
        self.gap
    }

    fn steady(&self) -> Option<Pause> {
        Some(self.gap)
    }

    fn boxed_clone(&self) -> Box<dyn WaitPolicy> {
        Box::new(*self)
    }
}

impl WaitPolicy for FixedThenToggle {
    fn first(&self) -> Pause {
        self.wait
    }

    fn gap(&self, _polls: u64) -> Pause {
        self.gap
    }

    fn steady(&self) -> Option<Pause> {
        Some(self.gap)
    }

    fn boxed_clone(&self) -> Box<dyn WaitPolicy> {
        Box::new(*self)
    }
}

impl WaitPolicy for HalfTypical {
    fn first(&self) -> Pause {
        Pause::None
    }

    fn gap(&self, polls: u64) -> Pause {
        let half = self.typical / 2;
        let millis = |span: Duration| Pause::Jiffies(span.as_nanos() / 1_000_000);
        match polls {
            _ if half < self.jiffy => Pause::Spin(1),
            1 => millis(half),
            _ => millis(self.jiffy),
        }
    }

    fn steady(&self) -> Option<Pause> {
        Some(self.gap(2))
    }

    fn boxed_clone(&self) -> Box<dyn WaitPolicy> {
        Box::new(*self)
    }
}

impl WaitPolicy for Staircase {
    fn first(&self) -> Pause {
        cfi_udelay(self.micros)
    }

    fn gap(&self, _polls: u64) -> Pause {
        self.gap
    }

    fn steady(&self) -> Option<Pause> {
        Some(self.gap)
    }

    fn learn(&mut self, feedback: Feedback) {
        match feedback.polls {
            0 => {}
            1 => self.micros = self.micros.saturating_sub(1),
            2 => {}
            _ => self.micros += 1,
        }
    }

    fn boxed_clone(&self) -> Box<dyn WaitPolicy> {
        Box::new(*self)
    }
}

impl WaitPolicy for Adaptive {
    fn first(&self) -> Pause {
        cfi_udelay(self.wait.as_micros())
    }

    fn gap(&self, _polls: u64) -> Pause {
        self.gap
    }

    fn steady(&self) -> Option<Pause> {
        Some(self.gap)
    }

    fn learn(&mut self, feedback: Feedback) {
        if feedback.failed {
            self.wait = self.restart.clamp(self.floor, self.ceiling);
            return;
        }
        let risen = self.wait + self.step * self.millionths / 1_000_000;
        let moved = if feedback.polls <= 1 { risen.saturating_sub(self.step) } else { risen };
        self.wait = moved.clamp(self.floor, self.ceiling);
    }

    fn boxed_clone(&self) -> Box<dyn WaitPolicy> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_sleeps_from_a_millisecond_on() {
        assert_eq!(cfi_udelay(0), Pause::None);
        assert_eq!(cfi_udelay(999), Pause::Spin(999));
        assert_eq!(cfi_udelay(128_001), Pause::Jiffies(129));
    }

    #[test]
    fn intel_sleeps_half_the_typical_time_only_when_that_is_a_timer_tick() {
        let jiffy = Duration::from_millis(4);
        let erase = HalfTypical { typical: Duration::from_millis(256), jiffy };
        assert_eq!((erase.gap(1), erase.gap(2)), (Pause::Jiffies(128), Pause::Jiffies(4)));
        let program = HalfTypical { typical: Duration::from_micros(512), jiffy };
        assert_eq!((program.first(), program.gap(1)), (Pause::None, Pause::Spin(1)));
    }

    #[test]
    fn the_staircase_rests_where_one_further_poll_is_needed() {
        let mut stairs = Staircase { micros: 200, gap: Pause::Spin(1) };
        for (polls, micros) in [(1, 199), (2, 199), (3, 200), (9, 201)] {
            stairs.learn(Feedback { polls, failed: false });
            assert_eq!(stairs.micros, micros);
        }
    }

    /// Waits as many microseconds longer as operations needed several polls.
    #[derive(Clone)]
    struct Counting(u64);

    impl Decide for Counting {
        fn name(&self) -> &'static str {
            "counting"
        }

        fn batch(&self) -> usize {
            3
        }

        fn decide(&mut self, seen: &[(&'static str, &[u64])]) -> Vec<u64> {
            let [("polls", polls), ("failed", failed)] = seen else { return vec![] };
            assert_eq!(polls.len(), failed.len());
            self.0 += polls.iter().filter(|&&polls| polls > 1).count() as u64;
            if polls.is_empty() { vec![] } else { vec![100 + self.0] }
        }

        fn boxed_clone(&self) -> Box<dyn Decide> {
            Box::new(self.clone())
        }
    }

    #[test]
    fn an_own_policy_sees_a_batch_at_a_time_and_a_copy_goes_its_own_way() {
        let policy = OwnPolicy::new(Counting(0));
        let mut own = Own::start(&policy, 50, Pause::Spin(1));
        assert_eq!((own.first(), own.gap(1)), (Pause::Spin(50), Pause::Spin(1)));
        let learn = |own: &mut dyn WaitPolicy, polls| own.learn(Feedback { polls, failed: false });
        (1..3).for_each(|polls| learn(&mut own, polls));
        assert_eq!(own.first(), Pause::Spin(50), "two of three");
        let mut copy = own.boxed_clone();
        learn(&mut own, 1);
        learn(&mut *copy, 9);
        assert_eq!((own.first(), copy.first()), (Pause::Spin(101), Pause::Spin(102)));
        assert_eq!(Own::start(&policy, 50, Pause::None).first(), Pause::Spin(50));
    }

    #[test]
    fn the_adaptive_wait_stays_within_its_rails_and_starts_over_after_a_failure() {
        let micros = Duration::from_micros;
        let mut adaptive = Adaptive {
            wait: micros(256),
            step: micros(1),
            millionths: 50_000,
            floor: micros(64),
            ceiling: micros(256),
            restart: micros(128),
            gap: Pause::Spin(1),
        };
        adaptive.learn(Feedback { polls: 1, failed: false });
        assert_eq!(adaptive.wait.as_nanos(), 255_050);
        (0..1_000).for_each(|_| adaptive.learn(Feedback { polls: 1, failed: false }));
        assert_eq!(adaptive.wait, micros(64));
        (0..10_000).for_each(|_| adaptive.learn(Feedback { polls: 2, failed: false }));
        assert_eq!(adaptive.wait, micros(256));
        adaptive.learn(Feedback { polls: 7, failed: true });
        assert_eq!(adaptive.wait, micros(128));
    }
}
