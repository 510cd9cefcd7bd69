//! The shifter and data processing.
//!
//! Layer: rank 3. Source: ARM DDI 0100E, A5.1 and A4.1. Equivalent to `execute::arithmetic`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::super::plan::{Place, Step};
use super::Lower;
use crate::instruction::{DataOperation, Operand, Operation, Shift};

/// A second operand, and the carry out of the shifter as 0 or 1 if it may change.
type Shifted = (Value, Option<Value>);

impl Lower<'_> {
    /// Generates a data operation that is not a jump.
    pub(super) fn data_operation(&mut self, step: &Step) {
        let Operation::Data { operation, s, rd, .. } = step.instruction.operation else { return };
        let result = self.data_result(step, s);
        if operation.has_result() {
            self.set(rd, result);
        }
    }

    /// The result of a data operation, which sets the flags if `s`.
    pub(super) fn data_result(&mut self, step: &Step, s: bool) -> Value {
        let Operation::Data { operation, rn, operand, .. } = step.instruction.operation else {
            return self.word(0);
        };
        let late = matches!(operand, Operand::ShiftedBy { .. });
        let unary = matches!(operation, DataOperation::Mov | DataOperation::Mvn);
        let a = match (unary, late) {
            (true, _) => self.word(0),
            (false, true) => self.get_late(rn, step.place),
            (false, false) => self.get(rn, step.place),
        };
        let logical = is_logical(operation);
        let (b, carry) = self.operand(&operand, step.place, s && logical);
        if logical {
            let result = self.logical(operation, a, b);
            if s {
                self.set_result(result);
                if let Some(carry) = carry {
                    self.set_carry(carry);
                }
            }
            return result;
        }
        match operation {
            DataOperation::Sub | DataOperation::Cmp => self.subtract(a, b, s),
            DataOperation::Rsb => self.subtract(b, a, s),
            DataOperation::Add | DataOperation::Cmn => self.add(a, b, s),
            DataOperation::Adc => self.add_with_carry(a, b, s),
            DataOperation::Sbc => {
                let b = self.b.ins().bnot(b);
                self.add_with_carry(a, b, s)
            }
            _ => {
                let a = self.b.ins().bnot(a);
                self.add_with_carry(b, a, s)
            }
        }
    }

    fn logical(&mut self, operation: DataOperation, a: Value, b: Value) -> Value {
        match operation {
            DataOperation::And | DataOperation::Tst => self.b.ins().band(a, b),
            DataOperation::Eor | DataOperation::Teq => self.b.ins().bxor(a, b),
            DataOperation::Orr => self.b.ins().bor(a, b),
            DataOperation::Bic => {
                let b = self.b.ins().bnot(b);
                self.b.ins().band(a, b)
            }
            DataOperation::Mvn => self.b.ins().bnot(b),
            _ => b,
        }
    }

    fn subtract(&mut self, a: Value, b: Value, s: bool) -> Value {
        let result = self.b.ins().isub(a, b);
        if s {
            self.set_flags((a, b), result, true);
        }
        result
    }

    fn add(&mut self, a: Value, b: Value, s: bool) -> Value {
        let result = self.b.ins().iadd(a, b);
        if s {
            self.set_flags((a, b), result, false);
        }
        result
    }

    fn add_with_carry(&mut self, a: Value, b: Value, s: bool) -> Value {
        let carry = self.carry();
        let [wide_a, wide_b, carry] =
            [a, b, carry].map(|value| self.b.ins().uextend(types::I64, value));
        let sum = self.b.ins().iadd(wide_a, wide_b);
        let sum = self.b.ins().iadd(sum, carry);
        let result = self.b.ins().ireduce(types::I32, sum);
        if s {
            let amount = self.double(32);
            let carry = self.b.ins().ushr(sum, amount);
            let carry = self.b.ins().ireduce(types::I32, carry);
            self.set_carry(carry);
            let (first, second) = (self.b.ins().bxor(a, result), self.b.ins().bxor(b, result));
            let overflow = self.b.ins().band(first, second);
            self.set_overflow(overflow);
            self.set_result(result);
        }
        result
    }

    /// A second operand, with the carry only if it is needed.
    fn operand(&mut self, operand: &Operand, place: Place, carry: bool) -> Shifted {
        match *operand {
            Operand::Immediate { value, carry } => {
                let carry = carry.map(|carry| self.word(u32::from(carry)));
                (self.word(value), carry)
            }
            Operand::Shifted { rm, shift, amount } => {
                let value = self.get(rm, place);
                self.shift_by_constant(value, shift, u32::from(amount), carry)
            }
            Operand::ShiftedBy { rm, shift, rs } => {
                let (value, amount) = (self.get_late(rm, place), self.get_late(rs, place));
                self.shift_by_register((value, amount), shift, carry)
            }
        }
    }

    /// Shifts by a constant.
    pub(super) fn shift_by_constant(
        &mut self,
        value: Value,
        shift: Shift,
        amount: u32,
        carry: bool,
    ) -> Shifted {
        if shift == Shift::Rrx {
            return self.rotate_through_carry(value);
        }
        if amount == 0 {
            return (value, None);
        }
        let count = self.word(amount & 31);
        let whole = amount >= 32;
        let shifted = match shift {
            Shift::Lsl | Shift::Lsr if whole => self.word(0),
            Shift::Lsl => self.b.ins().ishl(value, count),
            Shift::Lsr => self.b.ins().ushr(value, count),
            Shift::Asr => {
                let count = if whole { self.word(31) } else { count };
                self.b.ins().sshr(value, count)
            }
            Shift::Ror | Shift::Rrx => self.b.ins().rotr(value, count),
        };
        let last = match shift {
            Shift::Lsl => 32_u32.wrapping_sub(amount) & 31,
            _ => amount.wrapping_sub(1) & 31,
        };
        (shifted, carry.then(|| self.bit(value, last)))
    }

    /// Bit `number` as 0 or 1.
    fn bit(&mut self, value: Value, number: u32) -> Value {
        let (number, one) = (self.word(number), self.word(1));
        let bit = self.b.ins().ushr(value, number);
        self.b.ins().band(bit, one)
    }

    fn rotate_through_carry(&mut self, value: Value) -> Shifted {
        let carry = self.carry();
        let (one, top) = (self.word(1), self.word(31));
        let (high, low) = (self.b.ins().ishl(carry, top), self.b.ins().ushr(value, one));
        let out = self.b.ins().band(value, one);
        (self.b.ins().bor(high, low), Some(out))
    }

    /// Shifts by the lowest byte of a register, in 64 bits: amounts above 63 have the effect of 63.
    fn shift_by_register(
        &mut self,
        (value, amount): (Value, Value),
        shift: Shift,
        carry: bool,
    ) -> Shifted {
        let byte = self.word(0xFF);
        let amount = self.b.ins().band(amount, byte);
        let (shifted, out) = if shift == Shift::Ror {
            let rotated = self.b.ins().rotr(value, amount);
            (rotated, self.bit(rotated, 31))
        } else {
            self.shift_wide(value, shift, amount)
        };
        if !carry {
            return (shifted, None);
        }
        let before = self.carry();
        let zero = self.word(0);
        let none = self.b.ins().icmp(IntCC::Equal, amount, zero);
        (shifted, Some(self.b.ins().select(none, before, out)))
    }

    /// LSL shifts in the lower half, with the carry in bit 32; the others shift in the upper half.
    fn shift_wide(&mut self, value: Value, shift: Shift, amount: Value) -> (Value, Value) {
        let most = self.word(63);
        let amount = self.b.ins().umin(amount, most);
        let wide = self.b.ins().uextend(types::I64, value);
        let half = self.double(32);
        let (wide, low, bit) = if shift == Shift::Lsl {
            let wide = self.b.ins().ishl(wide, amount);
            (wide, wide, 32)
        } else {
            let high = self.b.ins().ishl(wide, half);
            let wide = if shift == Shift::Asr {
                self.b.ins().sshr(high, amount)
            } else {
                self.b.ins().ushr(high, amount)
            };
            (wide, self.b.ins().ushr(wide, half), 31)
        };
        let bit = self.double(bit);
        let out = self.b.ins().ushr(wide, bit);
        let out = self.b.ins().ireduce(types::I32, out);
        let one = self.word(1);
        (self.b.ins().ireduce(types::I32, low), self.b.ins().band(out, one))
    }
}

const fn is_logical(operation: DataOperation) -> bool {
    use DataOperation::{And, Bic, Eor, Mov, Mvn, Orr, Teq, Tst};
    matches!(operation, And | Eor | Tst | Teq | Orr | Mov | Bic | Mvn)
}
