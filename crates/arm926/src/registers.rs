//! The registers: sixteen general-purpose registers, their banks, and the status registers.
//!
//! Layer: rank 3. Main types: [`Registers`], [`Psr`], [`Mode`]. Source: ARM DDI 0100E, A2.2 to A2.5.
//! r15 is stored separately as [`Registers::pc`], the address of the next instruction. The value that
//! an instruction reads as r15, that address + 8 (ARM) or + 4 (Thumb), is computed by the executor.

use serde::{Deserialize, Serialize};

/// The processor modes, by their bits in a status register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Mode {
    /// 10000: unprivileged.
    User = 0x10,
    /// 10001: fast interrupt.
    Fiq = 0x11,
    /// 10010: interrupt.
    Irq = 0x12,
    /// 10011: supervisor.
    Supervisor = 0x13,
    /// 10111: aborts.
    Abort = 0x17,
    /// 11011: undefined instructions.
    Undefined = 0x1B,
    /// 11111: privileged, with the registers of user mode.
    System = 0x1F,
}

impl Mode {
    /// The mode of the five lowest bits of a status register, if there is one.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        match bits & 31 {
            0x10 => Some(Self::User),
            0x11 => Some(Self::Fiq),
            0x12 => Some(Self::Irq),
            0x13 => Some(Self::Supervisor),
            0x17 => Some(Self::Abort),
            0x1B => Some(Self::Undefined),
            0x1F => Some(Self::System),
            _ => None,
        }
    }

    /// The mode's five bits in a status register.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "const: the discriminant is the value of the field"
    )]
    pub const fn bits(self) -> u32 {
        self as u32
    }

    /// Whether the mode is privileged: any but user mode.
    #[must_use]
    pub const fn privileged(self) -> bool {
        !matches!(self, Self::User)
    }

    /// The index of the bank with the mode's r13, r14 and SPSR; user and system mode share bank 0.
    const fn bank(self) -> usize {
        match self {
            Self::User | Self::System => 0,
            Self::Fiq => 1,
            Self::Irq => 2,
            Self::Supervisor => 3,
            Self::Abort => 4,
            Self::Undefined => 5,
        }
    }
}

/// A program status register. Bits outside [`Psr::DEFINED`] read as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Psr(pub u32);

impl Psr {
    /// Negative.
    pub const N: u32 = 1 << 31;
    /// Zero.
    pub const Z: u32 = 1 << 30;
    /// Carry.
    pub const C: u32 = 1 << 29;
    /// Overflow.
    pub const V: u32 = 1 << 28;
    /// Saturation (sticky overflow).
    pub const Q: u32 = 1 << 27;
    /// IRQs disabled.
    pub const I: u32 = 1 << 7;
    /// FIQs disabled.
    pub const F: u32 = 1 << 6;
    /// Thumb state.
    pub const T: u32 = 1 << 5;
    /// The implemented bits (Jazelle's J is left out).
    pub const DEFINED: u32 = 0xF800_00FF;
    /// The mode.
    pub(crate) const MODE: u32 = 31;

    /// The mode; an invalid pattern counts as [`Mode::System`] (unpredictable in the architecture).
    #[must_use]
    pub const fn mode(self) -> Mode {
        match Mode::from_bits(self.0) {
            Some(mode) => mode,
            None => Mode::System,
        }
    }

    /// Whether any of `bits` is set.
    #[must_use]
    pub const fn has(self, bits: u32) -> bool {
        self.0 & bits != 0
    }

    /// Whether the mode is privileged.
    #[inline]
    #[must_use]
    pub const fn privileged(self) -> bool {
        self.0 & 31 != 0x10
    }

    /// Whether the state is Thumb state.
    #[must_use]
    pub const fn thumb(self) -> bool {
        self.has(Self::T)
    }
}

/// The banked r13, r14 and SPSR of a mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Bank {
    r13: u32,
    r14: u32,
    spsr: u32,
}

/// All registers of the core.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Registers {
    /// r0 to r14 as the current mode sees them.
    pub r: [u32; 15],
    /// The address of the next instruction.
    pub pc: u32,
    /// The CPSR; only [`Registers::set_cpsr`] changes its mode.
    cpsr: Psr,
    /// The banks of all modes; r13 and r14 of the current mode's bank are stale, its SPSR is valid.
    banks: [Bank; 6],
    /// In FIQ mode, r8 to r12 of the other modes; in other modes, those of FIQ mode.
    other_high: [u32; 5],
}

impl Default for Registers {
    fn default() -> Self {
        Self::new()
    }
}

impl Registers {
    /// The registers after reset: supervisor mode, interrupts disabled, ARM state, all else zero.
    #[must_use]
    pub fn new() -> Self {
        Self {
            r: [0; 15],
            pc: 0,
            cpsr: Psr(Psr::I | Psr::F | Mode::Supervisor.bits()),
            banks: [Bank::default(); 6],
            other_high: [0; 5],
        }
    }

    /// The CPSR.
    #[must_use]
    pub const fn cpsr(&self) -> Psr {
        self.cpsr
    }

    /// Writes the CPSR and switches the banks with the mode. An invalid mode leaves the mode
    /// unchanged (unpredictable in the architecture).
    pub fn set_cpsr(&mut self, value: Psr) {
        let mode = if Mode::from_bits(value.0).is_some() { value.0 } else { self.cpsr.0 };
        let value = Psr(value.0 & Psr::DEFINED & !31 | mode & 31);
        let (old, new) = (self.cpsr.mode(), value.mode());
        self.cpsr = value;
        if old == new {
            return;
        }
        if (old == Mode::Fiq) != (new == Mode::Fiq) {
            for (seen, other) in self.r[8..13].iter_mut().zip(&mut self.other_high) {
                std::mem::swap(seen, other);
            }
        }
        if old.bank() != new.bank() {
            let bank = &mut self.banks[old.bank()];
            (bank.r13, bank.r14) = (self.r[13], self.r[14]);
            let bank = &self.banks[new.bank()];
            (self.r[13], self.r[14]) = (bank.r13, bank.r14);
        }
    }

    /// Replaces the flags N, Z, C, V by the four highest bits of `nzcv`.
    #[inline]
    pub const fn set_flags(&mut self, nzcv: u32) {
        self.cpsr.0 = (self.cpsr.0 & 0x0FFF_FFFF) | (nzcv & 0xF000_0000);
    }

    /// Replaces the CPSR except for mode and state.
    #[inline]
    pub(crate) const fn set_status(&mut self, status: u32) {
        let kept = Psr::MODE | Psr::T;
        self.cpsr.0 = self.cpsr.0 & kept | status & !kept;
    }

    /// Sets Q, which only MSR clears.
    pub const fn saturate(&mut self) {
        self.cpsr.0 |= Psr::Q;
    }

    /// Enters Thumb or ARM state.
    pub const fn set_thumb(&mut self, thumb: bool) {
        self.cpsr.0 = if thumb { self.cpsr.0 | Psr::T } else { self.cpsr.0 & !Psr::T };
    }

    /// The SPSR of the current mode; in user and system mode, which have none, the CPSR.
    #[must_use]
    pub const fn spsr(&self) -> Psr {
        match self.cpsr.mode() {
            Mode::User | Mode::System => self.cpsr,
            mode => Psr(self.banks[mode.bank()].spsr),
        }
    }

    /// Writes the SPSR of the current mode; does nothing in user and system mode.
    pub fn set_spsr(&mut self, value: Psr) {
        let bank = self.cpsr.mode().bank();
        if bank != 0 {
            self.banks[bank].spsr = value.0 & Psr::DEFINED;
        }
    }

    /// Register `index` (0 to 14) of `mode`, in any current mode.
    ///
    /// # Panics
    ///
    /// For another index.
    #[must_use]
    #[inline]
    pub fn of_mode(&self, mode: Mode, index: usize) -> u32 {
        let current = self.cpsr.mode();
        match index {
            8..=12 if (mode == Mode::Fiq) != (current == Mode::Fiq) => self.other_high[index - 8],
            13 if mode.bank() != current.bank() => self.banks[mode.bank()].r13,
            14 if mode.bank() != current.bank() => self.banks[mode.bank()].r14,
            _ => self.r[index],
        }
    }

    /// Writes register `index` (0 to 14) of `mode`, in any current mode.
    ///
    /// # Panics
    ///
    /// For another index.
    #[inline]
    pub fn set_of_mode(&mut self, mode: Mode, index: usize, value: u32) {
        let current = self.cpsr.mode();
        match index {
            8..=12 if (mode == Mode::Fiq) != (current == Mode::Fiq) => {
                self.other_high[index - 8] = value;
            }
            13 if mode.bank() != current.bank() => self.banks[mode.bank()].r13 = value,
            14 if mode.bank() != current.bank() => self.banks[mode.bank()].r14 = value,
            _ => self.r[index] = value,
        }
    }

    /// r0 to r14 of user mode, in any current mode.
    #[must_use]
    pub fn user(&self) -> [u32; 15] {
        let mut all = self.r;
        (8..15).for_each(|index| all[index] = self.of_mode(Mode::User, index));
        all
    }

    /// Writes r0 to r14 of user mode, in any current mode.
    pub fn set_user(&mut self, all: [u32; 15]) {
        self.r[..8].copy_from_slice(&all[..8]);
        (8..15).for_each(|index| self.set_of_mode(Mode::User, index, all[index]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(mode: Mode) -> Psr {
        Psr(Psr::I | Psr::F | mode.bits())
    }

    #[test]
    fn each_mode_has_its_own_stack_pointer_and_fiq_also_r8_to_r12() {
        let mut registers = Registers::new();
        let modes =
            [Mode::User, Mode::Fiq, Mode::Irq, Mode::Supervisor, Mode::Abort, Mode::Undefined];
        for (mode, value) in modes.into_iter().zip(1..) {
            registers.set_cpsr(status(mode));
            registers.r[13] = value;
            registers.r[8] = value * 100;
            registers.set_spsr(Psr(value << 28));
        }
        for (mode, value) in modes.into_iter().zip(1..) {
            registers.set_cpsr(status(mode));
            assert_eq!(registers.r[13], value, "{mode:?}");
            if mode != Mode::User {
                assert_eq!(registers.spsr(), Psr(value << 28), "{mode:?}");
            }
            let r8 = if mode == Mode::Fiq { 200 } else { 600 };
            assert_eq!(registers.r[8], r8, "{mode:?}");
            assert_eq!(registers.user()[13], 1);
            assert_eq!(registers.user()[8], 600);
        }
        for seen_from in modes {
            registers.set_cpsr(status(seen_from));
            for (mode, value) in modes.into_iter().zip(1..) {
                assert_eq!(registers.of_mode(mode, 13), value, "{mode:?} from {seen_from:?}");
                let r8 = if mode == Mode::Fiq { 200 } else { 600 };
                assert_eq!(registers.of_mode(mode, 8), r8, "{mode:?} from {seen_from:?}");
            }
        }
        registers.set_cpsr(status(Mode::System));
        assert_eq!(registers.r[13], 1, "system mode shares the registers of user mode");
    }

    #[test]
    fn what_is_written_for_a_mode_is_there_when_the_mode_is_entered() {
        let modes =
            [Mode::User, Mode::Fiq, Mode::Irq, Mode::Supervisor, Mode::Abort, Mode::Undefined];
        for written_from in modes {
            let mut registers = Registers::new();
            registers.set_cpsr(status(written_from));
            for (mode, value) in modes.into_iter().zip(10..) {
                for index in 0..15 {
                    registers.set_of_mode(mode, index, value * 100 + u32::try_from(index).unwrap());
                }
            }
            for (mode, value) in modes.into_iter().zip(10..) {
                registers.set_cpsr(status(mode));
                assert_eq!(registers.r[13..], [value * 100 + 13, value * 100 + 14], "{mode:?}");
                let high = if mode == Mode::Fiq { 11 } else { 15 };
                assert_eq!(registers.r[8], high * 100 + 8, "{mode:?}");
                assert_eq!(registers.r[0], 1500, "the last that was written");
            }
            assert_eq!(registers.of_mode(Mode::System, 13), registers.of_mode(Mode::User, 13));
        }
    }
}
