//! The command interface: decodes write cycles by state.
//!
//! Layer: inside the chip. Main types: [`Mode`], the mode that a complete sequence selects;
//! [`Command`], the progress of the current sequence.
//! Source: S29GL-P data sheet, tables 12.1 to 12.4; S29GL-S data sheet, command state transitions.

use super::erase::Erase;
use super::wiring::Address;
use super::{Chip, Work};
use boardlab_media::SectorIndex;
use boardlab_sim::Instant;

/// The mode of the command interface: what reads return, and which commands are accepted, while idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Contents; all commands.
    Array,
    /// Unlock bypass. Contents; only `A0`, `90 00`, and the resumption of a program that was
    /// suspended in this mode. A reset is not valid (S29GL-P 7.7.8).
    Bypass,
    /// Identity and protection.
    Autoselect,
    /// The CFI query; a reset returns to autoselect if the query was entered from there.
    Query {
        /// Whether it was entered from autoselect.
        from_autoselect: bool,
    },
    /// Persistent protection bits.
    Protection,
}

/// The progress of the current command sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// No sequence has begun.
    Idle,
    /// `AA`.
    Unlock1,
    /// `AA 55`.
    Unlock2,
    /// `A0`: the next cycle is address and data of a word.
    Program,
    /// `80`: an erase, which needs two further unlock cycles.
    EraseSetup,
    /// `80 AA`.
    EraseUnlock1,
    /// `80 AA 55`.
    EraseUnlock2,
    /// `25`: the next cycle is the number of words minus one.
    LoadCount(SectorIndex),
    /// The next cycle is the first word, which selects the page.
    LoadFirst,
    /// The next cycle is a further word.
    Load,
    /// All words are loaded: `29` starts the program.
    LoadConfirm,
    /// `90` as the first cycle of an exit.
    Exit,
    /// `A0` in protection mode: `00` programs the bit of the addressed sector.
    ProtectBit,
    /// `80` in protection mode: `30` erases all bits.
    UnprotectAll,
}

impl Chip {
    /// A write cycle other than a further word of a write buffer.
    pub(super) fn write_command(&mut self, now: Instant, address: Address, value: u16) {
        self.advance(now);
        let value = self.wiring.data(value);
        match self.work {
            Work::Idle => self.write_idle(now, address, value),
            Work::Window => self.write_window(now, address, value),
            Work::Program | Work::Erase => self.write_busy(now, address, value),
            Work::Protected | Work::ProtectBit | Work::UnprotectAll => {
                self.write_register_command(address, value);
            }
            Work::Failed => self.write_failed(address, value),
            Work::Aborted => self.write_aborted(address, value),
            Work::Reset | Work::Off => {}
        }
        self.refresh();
    }

    /// A write while no embedded algorithm runs.
    fn write_idle(&mut self, now: Instant, address: Address, value: u16) {
        match self.command {
            Command::Idle => self.write_first(now, address, value),
            Command::Unlock1 => {
                let fits = value == 0x55 && self.wiring.is_unlock2(address);
                self.command = if fits { Command::Unlock2 } else { Command::Idle };
            }
            Command::Unlock2 => self.write_third(address, value),
            Command::EraseSetup => {
                let fits = value == 0xAA && self.wiring.is_unlock1(address);
                self.command = if fits { Command::EraseUnlock1 } else { Command::Idle };
            }
            Command::EraseUnlock1 => {
                let fits = value == 0x55 && self.wiring.is_unlock2(address);
                self.command = if fits { Command::EraseUnlock2 } else { Command::Idle };
            }
            Command::EraseUnlock2 => self.write_erase(now, address, value),
            Command::Program => self.start_word(now, address, value),
            Command::LoadCount(sector) => self.load_count(sector, address, value),
            Command::LoadFirst => self.load_first(address, value),
            Command::Load => self.load_word(address, value),
            Command::LoadConfirm => self.load_confirm(now, address, value),
            Command::Exit => {
                self.command = Command::Idle;
                if value == 0x00 {
                    self.mode = Mode::Array;
                }
            }
            Command::ProtectBit => self.start_protect_bit(now, address, value),
            Command::UnprotectAll => self.start_unprotect_all(now, value),
        }
    }

    /// The first cycle of a sequence.
    fn write_first(&mut self, now: Instant, address: Address, value: u16) {
        let has_register_command = !matches!(self.mode, Mode::Autoselect | Mode::Query { .. });
        if has_register_command && self.write_register_command(address, value) {
            return;
        }
        match self.mode {
            Mode::Array => self.write_first_in_array(now, address, value),
            Mode::Bypass => match value {
                0x30 | 0x50 if self.program.is_some() => self.resume_program(now),
                0xA0 if self.program.is_none() => self.command = Command::Program,
                0x90 => self.command = Command::Exit,
                _ => {}
            },
            Mode::Autoselect => {
                let query = value == 0x98 && self.answers_query(address);
                self.mode = if query { Mode::Query { from_autoselect: true } } else { Mode::Array };
            }
            Mode::Query { from_autoselect } => match value {
                0x98 if self.answers_query(address) => {}
                0xF0 if from_autoselect => self.mode = Mode::Autoselect,
                _ => self.mode = Mode::Array,
            },
            Mode::Protection => match value {
                0xA0 => self.command = Command::ProtectBit,
                0x80 => self.command = Command::UnprotectAll,
                0x90 => self.command = Command::Exit,
                _ => self.mode = Mode::Array,
            },
        }
    }

    /// The first cycle of a sequence in array mode.
    fn write_first_in_array(&mut self, now: Instant, address: Address, value: u16) {
        match value {
            0xAA if self.wiring.is_unlock1(address) => self.command = Command::Unlock1,
            0x98 if self.answers_query(address) => {
                self.mode = Mode::Query { from_autoselect: false };
            }
            0x30 if self.program.is_some() => self.resume_program(now),
            0x30 if self.erase.is_some() => self.resume_erase(now),
            0x50 if self.program.is_some() => self.resume_program(now),
            0xF0 => self.stuck = false,
            _ => {}
        }
    }

    /// The cycle after `AA 55`.
    ///
    /// While a program is suspended, only autoselect is accepted; while an erase is suspended,
    /// autoselect and programs. Bypass and protection mode are assumed to be refused then.
    fn write_third(&mut self, address: Address, value: u16) {
        self.command = Command::Idle;
        let (no_program, no_erase) = (self.program.is_none(), self.erase.is_none());
        if value == 0x25 && no_program && self.part.write_buffer.is_some() {
            self.command = Command::LoadCount(self.sector_at(address));
            return;
        }
        if !self.wiring.is_unlock1(address) {
            return;
        }
        let features = self.part.features;
        match value {
            0x90 => self.mode = Mode::Autoselect,
            0xA0 if no_program => self.command = Command::Program,
            0x80 if no_program && no_erase => self.command = Command::EraseSetup,
            0x20 if no_program && no_erase && features.unlock_bypass => self.mode = Mode::Bypass,
            0xC0 if no_program && no_erase && features.ppb => self.mode = Mode::Protection,
            _ => {}
        }
    }

    /// A write in the failure state. `F0` and a clear of the status register leave it (S29GL-S 5.6.1).
    fn write_failed(&mut self, address: Address, value: u16) {
        let cleared = self.write_register_command(address, value) && value == 0x71;
        if value == 0xF0 || cleared {
            if self.erase.as_ref().is_some_and(Erase::has_failed) {
                self.erase = None;
            }
            self.become_idle();
        }
    }

    /// A write after a write-buffer abort. Only `AA 55 F0` and a clear of the status register leave
    /// this state. The address of the last cycle is ignored: x8 tables print 555h and AAAh.
    fn write_aborted(&mut self, address: Address, value: u16) {
        if self.command == Command::Idle && self.write_register_command(address, value) {
            if value == 0x71 {
                self.become_idle();
            }
            return;
        }
        self.command = match self.command {
            Command::Idle if value == 0xAA && self.wiring.is_unlock1(address) => Command::Unlock1,
            Command::Unlock1 if value == 0x55 && self.wiring.is_unlock2(address) => {
                Command::Unlock2
            }
            Command::Unlock2 if value == 0xF0 => {
                self.become_idle();
                Command::Idle
            }
            _ => Command::Idle,
        };
    }

    /// A write while a program or an erase runs: all but suspend and status register commands are
    /// ignored.
    fn write_busy(&mut self, now: Instant, address: Address, value: u16) {
        if self.write_register_command(address, value) || self.suspend_at.is_some() {
            return;
        }
        let features = self.part.features;
        let suspends = match (self.work, value) {
            (Work::Program, 0x51 | 0xB0) => features.program_suspend,
            (Work::Erase, 0xB0) => {
                let whole_chip = self.erase.as_ref().is_some_and(Erase::is_whole_chip);
                features.erase_suspend && !whole_chip
            }
            _ => false,
        };
        if suspends {
            self.suspend_at = Some(now.saturating_add(self.part.timing.suspend_latency));
            self.event_at = self.next_event();
        }
    }

    /// `70` and `71` on a part with a status register. Returns whether the cycle was one of them.
    pub(super) fn write_register_command(&mut self, address: Address, value: u16) -> bool {
        if !self.part.features.status_register || !self.wiring.is_unlock1(address) {
            return false;
        }
        match value {
            0x70 => self.register_armed = true,
            0x71 => self.register = 0,
            _ => return false,
        }
        true
    }

    /// Whether the part has CFI and the cycle's address is that of the query command.
    fn answers_query(&self, address: Address) -> bool {
        self.part.cfi.is_some() && self.wiring.is_query(address)
    }
}
