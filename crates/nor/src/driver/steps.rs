//! The steps of a write as named in the publication, each measured with the time base.

use boardlab_sim::Phase;

/// A step of a write. The publication names it by a number after the driver's prefix (`U-6`, `L-7`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The write function is called.
    Call,
    /// The target is checked to be erased (u-boot).
    Check,
    /// User memory is copied to the kernel (Linux).
    Copy,
    /// The data is split into write buffers.
    Split,
    /// The write-buffer command is issued.
    Command,
    /// The buffer is filled and confirmed.
    Fill,
    /// The wait for completion, from the confirming cycle on.
    Wait,
    /// The part of the wait before the first poll.
    WaitFixed,
    /// The part of the wait from the first poll on.
    WaitPoll,
}

impl Step {
    /// All steps in order; the last two are parts of `Wait`.
    pub const ALL: [Self; 9] = [
        Self::Call,
        Self::Check,
        Self::Copy,
        Self::Split,
        Self::Command,
        Self::Fill,
        Self::Wait,
        Self::WaitFixed,
        Self::WaitPoll,
    ];

    /// A short title.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Check => "check erased",
            Self::Copy => "copy to kernel",
            Self::Split => "split",
            Self::Command => "command",
            Self::Fill => "fill",
            Self::Wait => "wait",
            Self::WaitFixed => "first wait",
            Self::WaitPoll => "polling",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// Statistics of every step of a run.
#[derive(Debug, Clone)]
pub struct Steps {
    phases: [Phase; Step::ALL.len()],
}

impl Default for Steps {
    fn default() -> Self {
        Self { phases: std::array::from_fn(|_| Phase::new()) }
    }
}

impl Steps {
    /// The statistics of `step`.
    #[must_use]
    pub const fn of(&self, step: Step) -> &Phase {
        &self.phases[step.index()]
    }

    /// The statistics of `step`, to be updated.
    pub(crate) const fn of_mut(&mut self, step: Step) -> &mut Phase {
        &mut self.phases[step.index()]
    }
}
