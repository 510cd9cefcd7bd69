//! Faults that a test or a scenario can inject into a chip.
//!
//! Layer: inside the chip. Main type: [`Fault`]. A fault is not an [error](std::error::Error): the
//! chip reports it as the data sheets say, and the driver has to detect it.

use super::Chip;
use boardlab_media::SectorIndex;
use boardlab_sim::{Bytes, Duration};

/// A fault of a chip. It lasts until [`Chip::clear_faults`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The cells of a range cannot be programmed: they keep their contents, and a program that would
    /// change them fails after its maximum time (DQ5).
    ProgramFails {
        /// First byte.
        first: Bytes,
        /// Last byte.
        last: Bytes,
    },
    /// The cells of a sector erase too slowly: its erase fails after the maximum time (DQ5) and
    /// leaves the sector partially erased.
    EraseFails {
        /// The sector.
        sector: SectorIndex,
    },
    /// The internal controller hangs in the next program or erase: busy for ever, without DQ5.
    /// Only a hardware reset or a power cycle ends it.
    NeverReady,
    /// Operations take this percentage of their time; beyond the maximum they fail (DQ5).
    Slow {
        /// The percentage; 100 is normal.
        percent: u32,
    },
    /// DQ6 toggles in reads of contents after the end of an operation, until a reset command.
    StuckToggle,
}

/// The faults of one chip.
#[derive(Debug, Clone)]
pub(super) struct Faults {
    /// The first and last byte of each range that cannot be programmed.
    ranges: Vec<(Bytes, Bytes)>,
    /// The sectors that cannot be erased.
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
    /// The time of an operation on this chip that takes `time` on a chip without faults.
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

    /// The time of an erase of `sector`; a faulty sector would take twice the maximum.
    pub(super) fn erase_time(
        &self,
        sector: SectorIndex,
        time: Duration,
        max: Duration,
    ) -> Duration {
        if self.sectors.contains(&sector) { self.time(max * 2) } else { self.time(time) }
    }

    /// The time after which an operation of `time` ends, completed or failed.
    pub(super) fn limit(&self, time: Duration, max: Duration) -> Duration {
        if self.never_ready { Duration::MAX } else { time.min(max) }
    }

    /// Sets the bytes of `data` at faulty cells to ones, which leave the cells unchanged. Returns
    /// whether a program of `data` would have changed such a cell.
    pub(super) fn mask_bad_cells(&self, offset: Bytes, data: &mut [u8], held: &[u8]) -> bool {
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

    /// Whether there are cells that cannot be programmed.
    pub(super) const fn has_bad_cells(&self) -> bool {
        !self.ranges.is_empty()
    }
}

impl Chip {
    /// Injects a fault. It affects operations that start, or end, from now on.
    pub fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::ProgramFails { first, last } => self.faults.ranges.push((first, last)),
            Fault::EraseFails { sector } => self.faults.sectors.push(sector),
            Fault::NeverReady => self.faults.never_ready = true,
            Fault::Slow { percent } => self.faults.percent = percent,
            Fault::StuckToggle => self.faults.stuck_toggle = true,
        }
    }

    /// Removes all faults. An operation that hangs already continues to hang.
    pub fn clear_faults(&mut self) {
        self.faults = Faults::default();
    }
}
