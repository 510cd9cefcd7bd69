//! Read cycles: contents, status bits, the status register, identity.
//!
//! Layer: inside the chip. Main type: [`View`].
//! Source: S29GL-P data sheet, 7.8 (write operation status); S29GL-S data sheet, 5.5 and 5.6.
//!
//! Status bits are on DQ7 to DQ0; DQ15 to DQ8 of a status read as zero (assumed; not defined).

use super::command::Mode;
use super::erase::Erase;
use super::wiring::Address;
use super::{Chip, Work};
use boardlab_sim::Instant;

/// Data polling: the complement of the last word's bit; 0 in an erase.
const DQ7: u16 = 0x80;
/// Toggle bit: toggles on every read while an operation runs.
const DQ6: u16 = 0x40;
/// The maximum time is exceeded.
pub(super) const DQ5: u16 = 0x20;
/// The window for further sectors is closed.
pub(super) const DQ3: u16 = 0x08;
/// Toggles on reads in a sector selected for erase, also while the erase is suspended.
const DQ2: u16 = 0x04;
/// Write-buffer abort.
pub(super) const DQ1: u16 = 0x02;

/// Status register: no operation runs, and the other bits are valid.
const READY: u16 = 0x80;
/// Status register: an erase is suspended.
const ERASE_SUSPENDED: u16 = 0x40;
/// Status register: an erase failed.
pub(super) const ERASE_FAILED: u16 = 0x20;
/// Status register: a program failed.
pub(super) const PROGRAM_FAILED: u16 = 0x10;
/// Status register: a write buffer was aborted.
const ABORTED: u16 = 0x08;
/// Status register: a program is suspended.
const PROGRAM_SUSPENDED: u16 = 0x04;
/// Status register: the sector is protected.
pub(super) const LOCKED: u16 = 0x02;

/// What a read cycle returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// Contents.
    Array,
    /// Contents, with DQ6 replaced by a toggling bit.
    StuckArray,
    /// Contents; in the range of a suspended operation, a status.
    Suspended,
    /// A status that does not depend on the address.
    Busy,
    /// A status whose DQ2 depends on the sector.
    BusyErase,
    /// The status register, once.
    Register,
    /// Identity and protection.
    Autoselect,
    /// The CFI query.
    Query,
    /// Protection bits.
    Protection,
    /// All ones: the data lines float.
    Floating,
}

/// DQ7 of a program whose last word is `value`.
pub(super) const fn data_polling(value: u16) -> u16 {
    !value & DQ7
}

impl Chip {
    /// The RY/BY# pin: whether no operation runs. Low in the failure and abort states too
    /// (S29GL-S 5.6).
    pub fn is_ready(&mut self, now: Instant) -> bool {
        self.advance(now);
        self.work == Work::Idle
    }

    /// The end of the running operation, completed or failed, unless it is suspended or interrupted;
    /// `None` if none runs. For tests and oracles: a real chip does not show it.
    #[must_use]
    pub fn ready_at(&self) -> Option<Instant> {
        match self.work {
            Work::Idle | Work::Failed | Work::Aborted | Work::Off => None,
            Work::Program => Some(self.program_end()),
            Work::Erase => Some(self.erase_end(self.sector_end())),
            Work::Window if self.erase.as_ref().is_some_and(Erase::is_empty) => {
                Some(self.event_at.saturating_add(self.part.timing.protected_latency))
            }
            Work::Window => Some(self.erase_end(self.event_at)),
            Work::Protected | Work::ProtectBit | Work::UnprotectAll | Work::Reset => {
                Some(self.event_at)
            }
        }
    }

    /// The next event of a running program or erase: its end, a sector's end, or its suspension.
    pub(super) fn next_event(&self) -> Instant {
        let end = match self.work {
            Work::Program => self.program_end(),
            _ => self.sector_end(),
        };
        self.suspend_at.map_or(end, |suspend| end.min(suspend))
    }

    /// The moment until which every read returns the status of a running operation, if one runs.
    pub(crate) fn busy_until(&self) -> Option<Instant> {
        matches!(self.view, View::Busy | View::BusyErase).then_some(self.event_at)
    }

    /// Counts reads of that status, an even number: after these the toggle bits are as before.
    pub(crate) fn pass_reads(&mut self, count: u64) {
        self.counts.reads += count;
        self.counts.polls += count;
    }

    /// Updates [`Chip::view`] after a change.
    pub(super) fn refresh(&mut self) {
        self.view = match self.work {
            Work::Off | Work::Reset => View::Floating,
            _ if self.register_armed => View::Register,
            Work::Idle => match self.mode {
                Mode::Autoselect => View::Autoselect,
                Mode::Query { .. } => View::Query,
                Mode::Protection => View::Protection,
                Mode::Array | Mode::Bypass => {
                    if self.erase.is_some() || self.program.is_some() {
                        View::Suspended
                    } else if self.stuck {
                        View::StuckArray
                    } else {
                        View::Array
                    }
                }
            },
            _ if self.erase.is_some() => View::BusyErase,
            _ => View::Busy,
        };
    }

    /// A status read that does not depend on the address.
    #[inline]
    pub(super) fn poll(&mut self) -> u16 {
        self.counts.polls += 1;
        self.toggles ^= DQ6;
        self.status | self.toggles & DQ6
    }

    /// A read of any view; contents and plain status have faster paths.
    pub(super) fn read_special(&mut self, address: Address) -> u16 {
        match self.view {
            View::Array => self.cells_at(address),
            View::StuckArray => {
                self.toggles ^= DQ6;
                self.cells_at(address) & !DQ6 | self.toggles & DQ6
            }
            View::Suspended => self.read_suspended(address),
            View::Busy => self.poll(),
            View::BusyErase => self.poll() | self.toggle_dq2(address),
            View::Register => {
                self.register_armed = false;
                self.refresh();
                self.counts.polls += 1;
                self.status_register()
            }
            View::Autoselect => self.autoselect(address),
            View::Query => self.query(address),
            View::Protection => u16::from(!self.protection.is_set(self.sector_at(address))),
            View::Floating => self.wiring.data(u16::MAX),
        }
    }

    /// A read while an operation is suspended. In a sector selected for erase DQ7 is 1, DQ6 is
    /// constant and DQ2 toggles. In the page of a suspended program the status is constant
    /// (assumed; data sheets call such a read invalid). Elsewhere contents.
    fn read_suspended(&mut self, address: Address) -> u16 {
        let sector = self.sector_at(address);
        if self.is_being_programmed(self.wiring.offset(address)) {
            self.counts.polls += 1;
            self.status | self.toggles & DQ6
        } else if self.erase.as_ref().is_some_and(|erase| erase.selects(sector)) {
            self.counts.polls += 1;
            DQ7 | self.toggles & DQ6 | self.toggle_dq2(address)
        } else {
            self.cells_at(address)
        }
    }

    /// DQ2, which toggles only if the sector is selected for erase.
    fn toggle_dq2(&mut self, address: Address) -> u16 {
        let sector = self.sector_at(address);
        if self.erase.as_ref().is_some_and(|erase| erase.selects(sector)) {
            self.toggles ^= DQ2;
        }
        self.toggles & DQ2
    }

    /// The status register. While an operation runs only its READY bit, 0, is valid; the other
    /// bits read as zero then (assumed).
    fn status_register(&self) -> u16 {
        match self.work {
            Work::Idle | Work::Failed => {
                let erase = self.work == Work::Idle && self.erase.is_some();
                let program = self.work == Work::Idle && self.program.is_some();
                let suspended = if erase { ERASE_SUSPENDED } else { 0 };
                READY | self.register | suspended | if program { PROGRAM_SUSPENDED } else { 0 }
            }
            Work::Aborted => READY | self.register | PROGRAM_FAILED | ABORTED,
            _ => 0,
        }
    }
}
