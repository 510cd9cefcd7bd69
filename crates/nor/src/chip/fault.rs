//! Faults that a test or a scenario can put into a chip.
//!
//! Layer: inside the chip. Main type: [`Fault`]. A fault is data, never an error: the chip reports
//! it the way the data sheets say, and the driver has to notice.

use super::Chip;
use boardlab_media::SectorIndex;
use boardlab_sim::{Bytes, Duration};

/// What is wrong with a chip. Each stays until [`Chip::heal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The cells of a range no longer take a charge: they keep what they hold, and a program that
    /// touches them fails after its maximum time (DQ5).
    ProgramFails {
        /// First byte.
        first: Bytes,
        /// Last byte.
        last: Bytes,
    },
    /// The cells of a sector erase too slowly: its erase fails after the maximum time (DQ5) and
    /// leaves a mixture.
    EraseFails {
        /// Which.
        sector: SectorIndex,
    },
    /// The internal controller hangs in the next program or erase: busy for ever, without DQ5.
    /// Only a hardware reset or a power cycle ends it.
    NeverReady,
    /// Operations take this share of their time; past the maximum they fail (DQ5).
    Slow {
        /// 100 is normal.
        percent: u32,
    },
    /// DQ6 goes on toggling when an operation has ended, over the contents, until a reset command.
    StuckToggle,
}

/// The faults of one chip.
#[derive(Debug, Clone)]
pub(super) struct Faults {
    /// First and last byte of the ranges that cannot be programmed.
    ranges: Vec<(Bytes, Bytes)>,
    /// Sectors that cannot be erased.
    sectors: Vec<SectorIndex>,
    never_ready: bool,
    percent: u32,
    /// See [`Fault::StuckToggle`].
    pub(super) stuck_toggle: bool,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            ranges: Vec::new(),
            sectors: Vec::new(),
            never_ready: false,
            percent: 100,
            stuck_toggle: false,
        }
    }
}

impl Faults {
    /// The time that an operation needs on this chip when a healthy one needs `time`.
    pub(super) fn time(&self, time: Duration) -> Duration {
        if self.never_ready {
            return Duration::MAX;
        }
        if self.percent == 100 {
            return time;
        }
        let scaled = u128::from(time.as_nanos()) * u128::from(self.percent) / 100;
        u64::try_from(scaled).map_or(Duration::MAX, Duration::from_nanos)
    }

    /// The time that the erase of `sector` needs; a bad one would take twice the maximum.
    pub(super) fn erase_time(
        &self,
        sector: SectorIndex,
        time: Duration,
        max: Duration,
    ) -> Duration {
        if self.sectors.contains(&sector) { self.time(max * 2) } else { self.time(time) }
    }

    /// Time after which an operation of `time` ends, done or failed.
    pub(super) fn limit(&self, time: Duration, max: Duration) -> Duration {
        if self.never_ready { Duration::MAX } else { time.min(max) }
    }

    /// Turns the bytes of `data` that hit bad cells to ones, which leave the cells as they are.
    /// Returns whether there were any that should have changed.
    pub(super) fn spare_bad_cells(&self, offset: Bytes, data: &mut [u8], held: &[u8]) -> bool {
        let mut hit = false;
        for &(first, last) in &self.ranges {
            for (index, byte) in (0..).zip(data.iter_mut()) {
                let place = offset + Bytes::new(index);
                if (first..=last).contains(&place) {
                    let at = Bytes::new(index).to_usize();
                    hit |= held[at] & !*byte != 0;
                    *byte = 0xFF;
                }
            }
        }
        hit
    }

    /// Whether any cell cannot be programmed.
    pub(super) const fn has_bad_cells(&self) -> bool {
        !self.ranges.is_empty()
    }
}

impl Chip {
    /// Puts a fault into the chip. It acts on operations that start, or end, from now on.
    pub fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::ProgramFails { first, last } => self.faults.ranges.push((first, last)),
            Fault::EraseFails { sector } => self.faults.sectors.push(sector),
            Fault::NeverReady => self.faults.never_ready = true,
            Fault::Slow { percent } => self.faults.percent = percent,
            Fault::StuckToggle => self.faults.stuck_toggle = true,
        }
    }

    /// Takes all faults out of the chip. An operation that hangs goes on hanging.
    pub fn heal(&mut self) {
        self.faults = Faults::default();
    }
}
