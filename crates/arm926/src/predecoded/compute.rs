//! The handlers of data processing, multiplication and CLZ.
//!
//! Layer: rank 3. Semantics: ARM DDI 0100E, A4.1 and A5.1, as in `execute`.

use super::port::Port;
use super::step::{Cause, Core, Exit, Handler, Step, by_condition, dispatch};
use crate::execute::arithmetic;
use crate::instruction::{Condition, DataOperation, Shift};
use crate::registers::Psr;

/// The kinds of second operand, as generic arguments.
mod kind {
    pub(super) const IMMEDIATE: u8 = 0;
    pub(super) const REGISTER: u8 = 1;
    pub(super) const LSL: u8 = 2;
    pub(super) const LSR: u8 = 3;
    pub(super) const ASR: u8 = 4;
    pub(super) const ROR: u8 = 5;
    pub(super) const RRX: u8 = 6;
    pub(super) const BY_LSL: u8 = 7;
    pub(super) const BY_LSR: u8 = 8;
    pub(super) const BY_ASR: u8 = 9;
    pub(super) const BY_ROR: u8 = 10;
    /// A constant with a carry out, 0 or 1 in `s`.
    pub(super) const ROTATED: u8 = 11;
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "the lower word is meant")]
const fn low(value: u64) -> u32 {
    value as u32
}

/// The second operand.
#[inline(always)]
fn second<const KIND: u8>(core: &Core, step: &Step) -> u32 {
    let (value, amount) = (core.get(step.m), u32::from(step.s));
    match KIND {
        kind::REGISTER => value,
        kind::LSL => value << (amount & 31),
        kind::LSR => low(u64::from(value) >> (amount & 63)),
        kind::ASR => low((i64::from(value.cast_signed()) >> (amount & 63)).cast_unsigned()),
        kind::ROR => value.rotate_right(amount),
        kind::RRX => value >> 1 | core.c << 31,
        kind::BY_LSL..=kind::BY_ROR => by_register::<KIND>(core, step).0,
        _ => step.imm,
    }
}

/// The carry out of the shifter.
#[inline(always)]
fn carry_out<const KIND: u8>(core: &Core, step: &Step) -> u32 {
    let (value, amount) = (core.get(step.m), u32::from(step.s));
    match KIND {
        kind::LSL => value >> (32u32.wrapping_sub(amount) & 31) & 1,
        kind::LSR | kind::ASR | kind::ROR => value >> (amount.wrapping_sub(1) & 31) & 1,
        kind::RRX => value & 1,
        kind::BY_LSL..=kind::BY_ROR => u32::from(by_register::<KIND>(core, step).1),
        kind::ROTATED => amount,
        _ => core.c,
    }
}

/// A register shifted by a register.
#[inline(always)]
fn by_register<const KIND: u8>(core: &Core, step: &Step) -> (u32, bool) {
    let shift = match KIND {
        kind::BY_LSL => Shift::Lsl,
        kind::BY_LSR => Shift::Lsr,
        kind::BY_ASR => Shift::Asr,
        _ => Shift::Ror,
    };
    arithmetic::shift(core.get(step.m), shift, core.get(step.s) & 0xFF, core.c != 0)
}

const AND: u8 = 0;
const EOR: u8 = 1;
const SUB: u8 = 2;
const RSB: u8 = 3;
const ADD: u8 = 4;
const ADC: u8 = 5;
const SBC: u8 = 6;
const RSC: u8 = 7;
const TST: u8 = 8;
const TEQ: u8 = 9;
const CMP: u8 = 10;
const CMN: u8 = 11;
const ORR: u8 = 12;
const MOV: u8 = 13;
const BIC: u8 = 14;
const MVN: u8 = 15;

/// `a` + `b` + `carry`; sets the flags if `S`.
#[inline(always)]
fn add<const S: bool>(core: &mut Core, a: u32, b: u32, carry: u32) -> u32 {
    if !S {
        return a.wrapping_add(b).wrapping_add(carry);
    }
    let sum = u64::from(a) + u64::from(b) + u64::from(carry);
    let result = low(sum);
    core.c = low(sum >> 32);
    core.v = (a ^ result) & (b ^ result);
    core.set_sign_and_zero(result);
    result
}

/// The result of a logical operation; sets the flags if `S`, with the shifter's carry.
#[inline(always)]
fn logical<const S: bool>(core: &mut Core, result: u32, carry: u32) -> u32 {
    if S {
        core.c = carry;
        core.set_sign_and_zero(result);
    }
    result
}

/// `a` - `b`; sets the flags if `S`.
#[inline(always)]
fn subtract<const S: bool>(core: &mut Core, a: u32, b: u32) -> u32 {
    let result = a.wrapping_sub(b);
    if S {
        core.c = u32::from(a >= b);
        core.v = (a ^ b) & (a ^ result);
        core.set_sign_and_zero(result);
    }
    result
}

#[inline(always)]
pub(super) fn combined<const OP: u8, const KIND: u8, const S: bool>(
    core: &mut Core,
    step: &Step,
) -> u32 {
    let b = second::<KIND>(core, step);
    let a = if matches!(OP, MOV | MVN) { 0 } else { core.get(step.n) };
    let result = match OP {
        SUB | CMP => return subtract::<S>(core, a, b),
        RSB => return subtract::<S>(core, b, a),
        ADD | CMN => return add::<S>(core, a, b, 0),
        ADC => return add::<S>(core, a, b, core.c),
        SBC => return add::<S>(core, a, !b, core.c),
        RSC => return add::<S>(core, b, !a, core.c),
        AND | TST => a & b,
        EOR | TEQ => a ^ b,
        ORR => a | b,
        BIC => a & !b,
        MVN => !b,
        _ => b,
    };
    let carry = if S { carry_out::<KIND>(core, step) } else { 0 };
    logical::<S>(core, result, carry)
}

/// Data processing.
fn data<const OP: u8, const KIND: u8, const S: bool>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    let result = combined::<OP, KIND, S>(core, step);
    if !matches!(OP, TST | TEQ | CMP | CMN) {
        core.set(step.d, result);
    }
    dispatch(core, rest, port)
}

/// Data processing with r15 as the result.
fn data_jump<const OP: u8, const KIND: u8, const S: bool>(
    core: &mut Core,
    steps: &[Step],
    _: &mut Port<'_>,
) -> Exit {
    let [step, ..] = steps else { return Exit::EXECUTED };
    let thumb = u32::from(step.d & 1);
    let target = combined::<OP, KIND, S>(core, step);
    core.progress.target = (target & if thumb != 0 { !1 } else { !3 }) | thumb;
    Exit::DYNAMIC
}

/// The kind of a second operand, for [`of_data`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Second {
    Immediate,
    Rotated,
    Register,
    Shifted(Shift),
    ShiftedBy(Shift),
}

macro_rules! by_kind {
    ($second:expr, $family:ident, $op:expr, $s:expr) => {
        match $second {
            Second::Immediate => $family::<{ $op }, { kind::IMMEDIATE }, $s>,
            Second::Rotated => $family::<{ $op }, { kind::ROTATED }, $s>,
            Second::Register => $family::<{ $op }, { kind::REGISTER }, $s>,
            Second::Shifted(Shift::Lsl) => $family::<{ $op }, { kind::LSL }, $s>,
            Second::Shifted(Shift::Lsr) => $family::<{ $op }, { kind::LSR }, $s>,
            Second::Shifted(Shift::Asr) => $family::<{ $op }, { kind::ASR }, $s>,
            Second::Shifted(Shift::Ror) => $family::<{ $op }, { kind::ROR }, $s>,
            Second::Shifted(Shift::Rrx) => $family::<{ $op }, { kind::RRX }, $s>,
            Second::ShiftedBy(Shift::Lsl) => $family::<{ $op }, { kind::BY_LSL }, $s>,
            Second::ShiftedBy(Shift::Lsr) => $family::<{ $op }, { kind::BY_LSR }, $s>,
            Second::ShiftedBy(Shift::Asr) => $family::<{ $op }, { kind::BY_ASR }, $s>,
            Second::ShiftedBy(_) => $family::<{ $op }, { kind::BY_ROR }, $s>,
        }
    };
}

macro_rules! by_operation {
    ($operation:expr, $family:ident) => {
        match $operation {
            DataOperation::And => $family::<AND>,
            DataOperation::Eor => $family::<EOR>,
            DataOperation::Sub => $family::<SUB>,
            DataOperation::Rsb => $family::<RSB>,
            DataOperation::Add => $family::<ADD>,
            DataOperation::Adc => $family::<ADC>,
            DataOperation::Sbc => $family::<SBC>,
            DataOperation::Rsc => $family::<RSC>,
            DataOperation::Tst => $family::<TST>,
            DataOperation::Teq => $family::<TEQ>,
            DataOperation::Cmp => $family::<CMP>,
            DataOperation::Cmn => $family::<CMN>,
            DataOperation::Orr => $family::<ORR>,
            DataOperation::Mov => $family::<MOV>,
            DataOperation::Bic => $family::<BIC>,
            DataOperation::Mvn => $family::<MVN>,
        }
    };
}

fn with_flags<const OP: u8>(second: Second) -> Handler {
    by_kind!(second, data, OP, true)
}

fn without_flags<const OP: u8>(second: Second) -> Handler {
    by_kind!(second, data, OP, false)
}

fn jumping<const OP: u8>(second: Second) -> Handler {
    by_kind!(second, data_jump, OP, false)
}

/// The handler of a data-processing instruction.
pub(super) fn of_data(operation: DataOperation, second: Second, s: bool) -> Handler {
    if s {
        by_operation!(operation, with_flags)(second)
    } else {
        by_operation!(operation, without_flags)(second)
    }
}

/// The handler of a data-processing instruction with r15 as the result; bit 0 of `d`: Thumb state.
pub(super) fn of_jump(operation: DataOperation, second: Second) -> Handler {
    by_operation!(operation, jumping)(second)
}

/// `d` = `imm`.
pub(super) fn constant(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    core.set(step.d, step.imm);
    dispatch(core, rest, port)
}

/// MRS of CPSR to `d`.
pub(super) fn read_status(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    core.set(step.d, core.status | core.flags());
    dispatch(core, rest, port)
}

/// Writes CPSR by a mask, if the mode stays. Otherwise the reference does.
pub(super) fn write_status(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    let before = core.status | core.flags();
    let after = before & !step.imm | core.get(step.m) & step.imm;
    if (before ^ after) & Psr::MODE != 0 {
        return Exit::at(steps, Cause::System);
    }
    core.set_status(after);
    if before & !after & (Psr::I | Psr::F) != 0 {
        return Exit::at(steps, Cause::Sampled);
    }
    dispatch(core, rest, port)
}

/// MUL and MLA: `d` = `n` * `m`, plus `s` with an accumulator.
pub(super) fn multiply<const ACCUMULATE: bool, const S: bool>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    let product = core.get(step.n).wrapping_mul(core.get(step.m));
    let result = if ACCUMULATE { product.wrapping_add(core.get(step.s)) } else { product };
    core.set(step.d, result);
    if S {
        core.set_sign_and_zero(result);
    }
    dispatch(core, rest, port)
}

/// The long multiplies: `d` (high), `s` (low) = `n` * `m`. `imm`: bit 0 signed, 1 accumulate, 2 flags.
pub(super) fn multiply_long(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    let (a, b) = (core.get(step.n), core.get(step.m));
    let product = if step.imm & 1 != 0 {
        (i64::from(a.cast_signed()) * i64::from(b.cast_signed())).cast_unsigned()
    } else {
        u64::from(a) * u64::from(b)
    };
    let before = if step.imm & 2 != 0 {
        u64::from(core.get(step.d)) << 32 | u64::from(core.get(step.s))
    } else {
        0
    };
    let result = product.wrapping_add(before);
    core.set(step.s, low(result));
    core.set(step.d, low(result >> 32));
    if step.imm & 4 != 0 {
        core.n = low(result >> 32);
        core.z = low(result >> 32) | low(result);
    }
    dispatch(core, rest, port)
}

/// CLZ.
pub(super) fn leading_zeros(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    core.set(step.d, core.get(step.m).leading_zeros());
    dispatch(core, rest, port)
}

/// BX and BLX to `m`; unless `s` is 0, r14 = `imm`.
pub(super) fn exchange(core: &mut Core, steps: &[Step], _: &mut Port<'_>) -> Exit {
    let [step, ..] = steps else { return Exit::EXECUTED };
    core.progress.target = canonical(core.get(step.m));
    if step.s != 0 {
        core.r[14] = step.imm;
    }
    Exit::DYNAMIC
}

/// The second half of a Thumb BL or BLX whose first half is in another block: jumps to r14 + `imm` and
/// writes the next step's `imm` to r14.
pub(super) fn suffix(core: &mut Core, steps: &[Step], _: &mut Port<'_>) -> Exit {
    let [step, link, ..] = steps else { return Exit::EXECUTED };
    let target = core.r[14].wrapping_add(step.imm);
    core.progress.target = if step.s != 0 { target & !3 } else { target | 1 };
    core.r[14] = link.imm;
    Exit::DYNAMIC
}

/// A jump target whose bit 0 is the state, aligned for ARM state.
#[inline(always)]
pub(super) const fn canonical(target: u32) -> u32 {
    if target & 1 != 0 { target } else { target & !3 }
}

/// Data processing with flags, fused with the conditional branch that ends the block.
#[inline(always)]
fn compared<const OP: u8, const KIND: u8, const CONDITION: u8>(
    core: &mut Core,
    steps: &[Step],
) -> Exit {
    let [step, ..] = steps else { return Exit::EXECUTED };
    let result = combined::<OP, KIND, true>(core, step);
    if OP == SUB {
        core.set(step.d, result);
    }
    if core.holds::<CONDITION>() {
        return Exit::EXECUTED;
    }
    core.progress.skipped += 1;
    Exit::SKIPPED
}

fn compared_with_constant<const CONDITION: u8>(
    core: &mut Core,
    steps: &[Step],
    _: &mut Port<'_>,
) -> Exit {
    compared::<CMP, { kind::IMMEDIATE }, CONDITION>(core, steps)
}

fn compared_with_register<const CONDITION: u8>(
    core: &mut Core,
    steps: &[Step],
    _: &mut Port<'_>,
) -> Exit {
    compared::<CMP, { kind::REGISTER }, CONDITION>(core, steps)
}

fn counted_down<const CONDITION: u8>(core: &mut Core, steps: &[Step], _: &mut Port<'_>) -> Exit {
    compared::<SUB, { kind::IMMEDIATE }, CONDITION>(core, steps)
}

/// The handler of data processing fused with the conditional branch after it, for frequent kinds.
pub(super) fn of_compared(
    operation: DataOperation,
    second: Second,
    condition: Condition,
) -> Option<Handler> {
    match (operation, second) {
        (DataOperation::Cmp, Second::Immediate | Second::Rotated) => {
            Some(by_condition!(condition, compared_with_constant))
        }
        (DataOperation::Cmp, Second::Register) => {
            Some(by_condition!(condition, compared_with_register))
        }
        (DataOperation::Sub, Second::Immediate | Second::Rotated) => {
            Some(by_condition!(condition, counted_down))
        }
        _ => None,
    }
}
