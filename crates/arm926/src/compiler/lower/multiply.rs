//! Multiplication, and the count of leading zeros.
//!
//! Layer: rank 3. Source: ARM DDI 0100E, A3.3 and A10. Equivalent to `execute::multiply`, without r15.

use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::Lower;
use crate::instruction::{Half, HalfMultiply, Operation, Register};

impl Lower<'_> {
    /// Generates an instruction of this class; PLD has no effect.
    pub(super) fn multiplication(&mut self, operation: &Operation) {
        match *operation {
            Operation::Multiply { s, rd, rm, rs, rn } => {
                let (a, b) = (self.register(rm), self.register(rs));
                let mut result = self.b.ins().imul(a, b);
                if let Some(rn) = rn {
                    let before = self.register(rn);
                    result = self.b.ins().iadd(result, before);
                }
                self.set(rd, result);
                if s {
                    self.set_result(result);
                }
            }
            Operation::MultiplyLong { .. } => self.long(operation),
            Operation::MultiplyHalf { kind, rd, rm, rs } => self.halves(kind, rd, rm, rs),
            Operation::Clz { rd, rm } => {
                let value = self.register(rm);
                let zeros = self.b.ins().clz(value);
                self.set(rd, zeros);
            }
            _ => {}
        }
    }

    fn long(&mut self, operation: &Operation) {
        let Operation::MultiplyLong { signed, accumulate, s, high, low, rm, rs } = *operation
        else {
            return;
        };
        let [a, b] = [rm, rs].map(|register| {
            let value = self.register(register);
            if signed {
                self.b.ins().sextend(types::I64, value)
            } else {
                self.b.ins().uextend(types::I64, value)
            }
        });
        let mut sum = self.b.ins().imul(a, b);
        if accumulate {
            let before = self.pair(high, low);
            sum = self.b.ins().iadd(sum, before);
        }
        let (upper, lower) = self.set_pair(high, low, sum);
        if s {
            // N is the sign of the upper word; the lower word only contributes to Z.
            let one = self.word(1);
            let (rest, last) = (self.b.ins().ushr(lower, one), self.b.ins().band(lower, one));
            let rest = self.b.ins().bor(rest, last);
            let result = self.b.ins().bor(upper, rest);
            self.set_result(result);
        }
    }

    /// The 64-bit number in two registers.
    fn pair(&mut self, high: Register, low: Register) -> Value {
        let [high, low] = [high, low].map(|register| {
            let value = self.register(register);
            self.b.ins().uextend(types::I64, value)
        });
        let half = self.double(32);
        let high = self.b.ins().ishl(high, half);
        self.b.ins().bor(high, low)
    }

    /// Writes a 64-bit number, the high word last; returns both words.
    fn set_pair(&mut self, high: Register, low: Register, value: Value) -> (Value, Value) {
        let half = self.double(32);
        let lower = self.b.ins().ireduce(types::I32, value);
        let upper = self.b.ins().ushr(value, half);
        let upper = self.b.ins().ireduce(types::I32, upper);
        self.set(low, lower);
        self.set(high, upper);
        (upper, lower)
    }

    /// The 16-bit multiplies without 32-bit accumulation, which leave Q unchanged.
    fn halves(&mut self, kind: HalfMultiply, rd: Register, rm: Register, rs: Register) {
        let (a, b) = (self.register(rm), self.register(rs));
        match kind {
            HalfMultiply::Short { x, y, .. } => {
                let (a, b) = (self.half(a, x), self.half(b, y));
                let product = self.b.ins().imul(a, b);
                self.set(rd, product);
            }
            HalfMultiply::Wide { y, .. } => {
                let b = self.half(b, y);
                let [a, b] = [a, b].map(|value| self.b.ins().sextend(types::I64, value));
                let (product, half) = (self.b.ins().imul(a, b), self.double(16));
                let product = self.b.ins().sshr(product, half);
                let product = self.b.ins().ireduce(types::I32, product);
                self.set(rd, product);
            }
            HalfMultiply::Long { x, y, low } => {
                let (a, b) = (self.half(a, x), self.half(b, y));
                let product = self.b.ins().imul(a, b);
                let product = self.b.ins().sextend(types::I64, product);
                let before = self.pair(rd, low);
                let sum = self.b.ins().iadd(before, product);
                self.set_pair(rd, low, sum);
            }
        }
    }

    /// A half as a signed number.
    fn half(&mut self, value: Value, half: Half) -> Value {
        let amount = self.word(16);
        let value = match half {
            Half::Bottom => self.b.ins().ishl(value, amount),
            Half::Top => value,
        };
        self.b.ins().sshr(value, amount)
    }
}
