//! Registers, flags and conditions as values.
//!
//! Layer: rank 3.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::super::frame::{at, form};
use super::super::plan::Place;
use super::{Flags, Lower, Variables};
use crate::instruction::{Condition, Register};
use crate::timing::RegisterSet;

/// The offset of register `index` in the frame.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "0 to 14")]
pub(super) const fn place_of(index: usize) -> i32 {
    at::REGISTERS + 4 * index as i32
}

/// The indices of the registers of a set, without r15.
pub(super) fn indices(set: RegisterSet) -> impl Iterator<Item = usize> {
    (0..15).filter(move |index| set >> index & 1 != 0)
}

impl Lower<'_> {
    /// A constant of 32 bits.
    pub(super) fn word(&mut self, value: u32) -> Value {
        self.b.ins().iconst(types::I32, i64::from(value))
    }

    /// A constant of 64 bits.
    pub(super) fn double(&mut self, value: i64) -> Value {
        self.b.ins().iconst(types::I64, value)
    }

    /// The value of `register` as the instruction at `place` reads it.
    pub(super) fn get(&mut self, register: Register, place: Place) -> Value {
        self.get_or(register, place.pipeline_pc())
    }

    /// Like [`Self::get`], one cycle later.
    pub(super) fn get_late(&mut self, register: Register, place: Place) -> Value {
        self.get_or(register, place.at.wrapping_add(12))
    }

    fn get_or(&mut self, register: Register, pc: u32) -> Value {
        if register == Register::PC { self.word(pc) } else { self.register(register) }
    }

    /// The value of a register other than r15.
    pub(super) fn register(&mut self, register: Register) -> Value {
        let index = register.index();
        if let Some(value) = self.path.registers[index] {
            return value;
        }
        let value = self.load_frame(types::I32, place_of(index));
        self.path.registers[index] = Some(value);
        value
    }

    /// Writes a register.
    pub(super) fn set(&mut self, register: Register, value: Value) {
        let Some(known) = self.path.registers.get_mut(register.index()) else { return };
        *known = Some(value);
        self.path.written |= 1 << register.index();
    }

    /// Stores these registers to the frame, as far as they were written.
    pub(super) fn store_registers(&mut self, registers: RegisterSet) {
        for index in indices(registers & self.path.written) {
            if let Some(value) = self.path.registers[index] {
                self.store_frame(value, place_of(index));
            }
        }
        self.path.written &= !registers;
    }

    /// Leaves all registers but these to the frame.
    pub(super) fn keep_registers(&mut self, registers: RegisterSet) {
        self.store_registers(!registers);
        for index in indices(!registers) {
            self.path.registers[index] = None;
        }
    }

    /// C as 0 or 1.
    pub(super) fn carry(&mut self) -> Value {
        self.b.use_var(self.variables.carry)
    }

    /// Sets N and Z.
    pub(super) fn set_result(&mut self, value: Value) {
        self.b.def_var(self.variables.result, value);
        self.path.flags.result = Some(value);
        self.path.compared = None;
    }

    /// Sets C to 0 or 1.
    pub(super) fn set_carry(&mut self, value: Value) {
        self.b.def_var(self.variables.carry, value);
        self.path.flags.carry = Some(value);
    }

    /// Sets V to bit 31.
    pub(super) fn set_overflow(&mut self, value: Value) {
        self.b.def_var(self.variables.overflow, value);
        self.path.flags.overflow = Some(value);
    }

    /// Sets all flags from a sum or a `difference`. The variables serve conditions of this region, and
    /// unused ones are not computed. After the exit, flags are computed from the operands.
    pub(super) fn set_flags(&mut self, (a, b): (Value, Value), result: Value, difference: bool) {
        let (carry, other) = if difference {
            let carry = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, a, b);
            (carry, self.b.ins().bxor(a, b))
        } else {
            let carry = self.b.ins().icmp(IntCC::UnsignedLessThan, result, a);
            (carry, self.b.ins().bxor(b, result))
        };
        let carry = self.b.ins().uextend(types::I32, carry);
        let own = self.b.ins().bxor(a, result);
        let overflow = self.b.ins().band(other, own);
        let Variables { result: sum, carry: c, overflow: v } = self.variables;
        for (variable, value) in [(sum, result), (c, carry), (v, overflow)] {
            self.b.def_var(variable, value);
        }
        self.path.flags = Flags { operands: Some((a, b, difference)), ..Flags::default() };
        self.path.compared = difference.then_some((a, b));
    }

    /// Stores the pending flags to the frame.
    pub(super) fn store_flags(&mut self) {
        let Flags { operands, result, carry, overflow } = std::mem::take(&mut self.path.flags);
        let mut bits = 0;
        let own = [
            (result, at::RESULT, form::RESULT),
            (carry, at::CARRY, form::CARRY),
            (overflow, at::OVERFLOW, form::OVERFLOW),
        ];
        for (value, offset, bit) in own {
            let Some(value) = value else { continue };
            self.store_frame(value, offset);
            bits |= bit;
        }
        let bits = if let Some((a, b, difference)) = operands {
            self.store_frame(a, at::A);
            self.store_frame(b, at::B);
            self.word(bits | if difference { form::DIFFERENCE } else { 0 })
        } else if bits == form::ALL {
            self.word(bits)
        } else if bits != 0 {
            let (before, bits) = (self.load_frame(types::I32, at::FORM), self.word(bits));
            self.b.ins().bor(before, bits)
        } else {
            return;
        };
        self.store_frame(bits, at::FORM);
    }

    /// Whether `condition`, which is not AL, holds.
    pub(super) fn condition(&mut self, condition: Condition) -> Value {
        if let (Some((a, b)), Some(code)) = (self.path.compared, compared(condition)) {
            return self.b.ins().icmp(code, a, b);
        }
        let (wanted, base) = positive(condition);
        let holds = self.holds(base);
        if wanted {
            return holds;
        }
        let none = self.b.ins().iconst(types::I8, 0);
        self.b.ins().icmp(IntCC::Equal, holds, none)
    }
}

impl Lower<'_> {
    /// Whether one of the conditions of [`positive`] holds.
    fn holds(&mut self, condition: Condition) -> Value {
        let Variables { result, carry, overflow } = self.variables;
        let zero = self.word(0);
        let compare = |lower: &mut Self, code, variable| {
            let value = lower.b.use_var(variable);
            lower.b.ins().icmp(code, value, zero)
        };
        match condition {
            Condition::Eq => compare(self, IntCC::Equal, result),
            Condition::Cs => compare(self, IntCC::NotEqual, carry),
            Condition::Mi => compare(self, IntCC::SignedLessThan, result),
            Condition::Vs => compare(self, IntCC::SignedLessThan, overflow),
            Condition::Hi => {
                let c = compare(self, IntCC::NotEqual, carry);
                let nz = compare(self, IntCC::NotEqual, result);
                self.b.ins().band(c, nz)
            }
            Condition::Lt => self.less(),
            _ => {
                let (z, less) = (compare(self, IntCC::Equal, result), self.less());
                self.b.ins().bor(z, less)
            }
        }
    }

    /// Whether N differs from V.
    fn less(&mut self) -> Value {
        let Variables { result, overflow, .. } = self.variables;
        let (n, v) = (self.b.use_var(result), self.b.use_var(overflow));
        let (differ, zero) = (self.b.ins().bxor(n, v), self.word(0));
        self.b.ins().icmp(IntCC::SignedLessThan, differ, zero)
    }
}

/// A condition as one of Eq, Cs, Mi, Vs, Hi, Lt and Le (true), or as the opposite of one (false).
const fn positive(condition: Condition) -> (bool, Condition) {
    match condition {
        Condition::Ne => (false, Condition::Eq),
        Condition::Cc => (false, Condition::Cs),
        Condition::Pl => (false, Condition::Mi),
        Condition::Vc => (false, Condition::Vs),
        Condition::Ls => (false, Condition::Hi),
        Condition::Ge => (false, Condition::Lt),
        Condition::Gt => (false, Condition::Le),
        same => (true, same),
    }
}

/// The comparison of `a` and `b` that the condition means after `CMP a, b`.
const fn compared(condition: Condition) -> Option<IntCC> {
    Some(match condition {
        Condition::Eq => IntCC::Equal,
        Condition::Ne => IntCC::NotEqual,
        Condition::Cs => IntCC::UnsignedGreaterThanOrEqual,
        Condition::Cc => IntCC::UnsignedLessThan,
        Condition::Hi => IntCC::UnsignedGreaterThan,
        Condition::Ls => IntCC::UnsignedLessThanOrEqual,
        Condition::Ge => IntCC::SignedGreaterThanOrEqual,
        Condition::Lt => IntCC::SignedLessThan,
        Condition::Gt => IntCC::SignedGreaterThan,
        Condition::Le => IntCC::SignedLessThanOrEqual,
        _ => return None,
    })
}
