//! The translation of blocks to steps.
//!
//! Layer: rank 3. [`lower`] returns the steps of a block and the first step of each piece. It computes
//! values that depend only on the address: r15 as an operand, return and literal addresses.

use super::access::{self, OffsetKind};
use super::block::{Block, Exit, Piece};
use super::class;
use super::compute::{self, Second};
use super::missed;
use super::step::{self, Step};
use crate::instruction::{
    BlockTransfer, Condition, DataOperation, Index, Offset, Operand, Operation, Register, Shift,
    Transfer,
};
use crate::registers::Psr;

/// The steps of a block, and the index of each piece's first step.
pub(super) struct LoweredBlock {
    pub(super) steps: Vec<Step>,
    pub(super) firsts: Vec<u16>,
    /// The source of each step.
    pub(super) sources: Vec<Source>,
}

/// The piece of a step, side by side for all steps of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    /// The index of the piece.
    pub(super) piece: u8,
    /// [`Piece::executed`].
    pub(super) executed: u16,
    /// [`Piece::before`].
    pub(super) before: u16,
}

/// The steps of `block`.
pub(super) fn lower(block: &Block) -> LoweredBlock {
    let mut lowered = LoweredBlock { steps: Vec::new(), firsts: Vec::new(), sources: Vec::new() };
    let mut line = 0;
    for (index, piece) in block.pieces.iter().enumerate() {
        let last = index + 1 == block.pieces.len();
        lowered.firsts.push(u16::try_from(lowered.steps.len()).unwrap_or(u16::MAX));
        if piece.line != line {
            line = piece.line;
            lowered.steps.push(step::line_entry(block.lines[line]));
        }
        let own = of_piece(piece, block.key.thumb, last && block.executed.is_some_and(known));
        let condition = piece.instruction.condition;
        if condition != Condition::Al && last {
            if own.is_empty()
                && let Some(before) = index.checked_sub(1)
            {
                fuse(&mut lowered.steps, &block.pieces[before], piece);
            }
            lowered.steps.push(step::exit_if_not(condition));
        } else if condition != Condition::Al {
            let count = u8::try_from(own.len()).unwrap_or(0);
            lowered.steps.push(step::skip_if_not(condition, count, piece.executed - piece.skipped));
        }
        lowered.steps.extend(own);
        let source = Source {
            piece: u8::try_from(index).expect("a block is short"),
            executed: u16::try_from(piece.executed).expect("an instruction takes few cycles"),
            before: u16::try_from(piece.before).expect("a block takes few cycles"),
        };
        lowered.sources.resize(lowered.steps.len(), source);
    }
    lowered
}

/// Fuses the step of `before`, if it is a frequent comparison in the same line, with the branch
/// `piece`. The branch keeps its own step for chains that start there.
fn fuse(steps: &mut [Step], before: &Piece, piece: &Piece) {
    let Operation::Data { operation, s: true, rd, rn, operand } = before.instruction.operation
    else {
        return;
    };
    let plain = before.instruction.condition == Condition::Al && before.line == piece.line;
    let compares = operation == DataOperation::Cmp || rd != Register::PC;
    if let Some(step) = steps.last_mut()
        && plain
        && compares
        && rn != Register::PC
        && let Some(handler) =
            compute::of_compared(operation, second(operand), piece.instruction.condition)
    {
        step.handler = handler;
    }
}

/// The kind of a second operand.
const fn second(operand: Operand) -> Second {
    match operand {
        Operand::Immediate { carry: None, .. } => Second::Immediate,
        Operand::Immediate { carry: Some(_), .. } => Second::Rotated,
        Operand::Shifted { shift: Shift::Lsl, amount: 0, .. } => Second::Register,
        Operand::Shifted { shift, .. } => Second::Shifted(shift),
        Operand::ShiftedBy { shift, .. } => Second::ShiftedBy(shift),
    }
}

/// Whether the target of an exit is static.
const fn known(exit: Exit) -> bool {
    exit.to.is_some()
}

/// The steps of a piece without its condition; `known` if its target is static.
fn of_piece(piece: &Piece, thumb: bool, known: bool) -> Vec<Step> {
    let at = piece.at.0;
    let following = at.wrapping_add(class::size(thumb));
    let r15 = at.wrapping_add(if thumb { 4 } else { 8 });
    let mut steps = Vec::with_capacity(2);
    match piece.instruction.operation {
        Operation::Data { operation, s, rd, rn, operand } => {
            if rn == Register::PC || matches!(operand, Operand::Shifted { rm: Register::PC, .. }) {
                steps.push(constant(Register::PC, r15));
            }
            steps.push(of_data(operation, s, [rd, rn], operand, thumb));
        }
        Operation::Address { rd, offset } => {
            steps.push(constant(rd, (r15 & !3).wrapping_add(offset)));
        }
        Operation::Multiply { .. } | Operation::MultiplyLong { .. } | Operation::Clz { .. } => {
            steps.push(of_product(piece.instruction.operation));
        }
        Operation::Transfer(transfer) => {
            let base = if matches!(transfer.offset, Offset::Literal(_)) { r15 & !3 } else { r15 };
            let of_index = matches!(transfer.offset, Offset::Register { rm: Register::PC, .. });
            if transfer.rn == Register::PC || of_index {
                steps.push(constant(Register::PC, base));
            }
            steps.push(of_transfer(&transfer));
        }
        Operation::BlockTransfer(transfer) => steps.push(of_several(&transfer)),
        Operation::Branch { link: true, .. } => steps.push(constant(Register::LR, following)),
        Operation::BranchToThumb { .. } => steps.push(constant(Register::LR, following)),
        Operation::BranchExchange { rm, link } => {
            let step = Step::new(compute::exchange).m(rm).s(u8::from(link));
            steps.push(step.imm(following | u32::from(thumb)));
        }
        Operation::BranchPrefix { offset } => {
            steps.push(constant(Register::LR, r15.wrapping_add_signed(offset)));
        }
        Operation::BranchSuffix { .. } if known => {
            steps.push(constant(Register::LR, following | 1));
        }
        Operation::BranchSuffix { offset, exchange } => {
            steps.push(Step::new(compute::suffix).imm(offset).s(u8::from(exchange)));
            steps.push(constant(Register::LR, following | 1));
        }
        Operation::ReadStatus { rd, saved: false } => {
            steps.push(Step::new(compute::read_status).d(rd));
        }
        Operation::Coprocessor(_) => steps.push(Step::new(missed::line_operation)),
        Operation::WriteStatus {
            saved: false,
            mask,
            operand: Operand::Immediate { value, .. },
        } => {
            steps.push(constant(Register::PC, value));
            steps.push(of_status(mask, Register::PC));
        }
        Operation::WriteStatus {
            saved: false,
            mask,
            operand: Operand::Shifted { rm, shift: Shift::Lsl, amount: 0 },
        } if rm != Register::PC => steps.push(of_status(mask, rm)),
        Operation::WriteStatus { .. } | Operation::ReadStatus { .. } => {
            steps.push(Step::new(step::system));
        }
        _ => {}
    }
    steps
}

/// MSR to the bits `mask` of CPSR, in a privileged mode.
fn of_status(mask: u32, rm: Register) -> Step {
    Step::new(compute::write_status).m(rm).imm(mask & Psr::DEFINED & !Psr::T)
}

fn constant(rd: Register, value: u32) -> Step {
    Step::new(compute::constant).d(rd).imm(value)
}

fn of_data(
    operation: DataOperation,
    s: bool,
    [rd, rn]: [Register; 2],
    operand: Operand,
    thumb: bool,
) -> Step {
    let compares = !operation.has_result();
    let (rm, amount, imm) = match operand {
        Operand::Immediate { value, carry } => (rn, u8::from(carry == Some(true)), value),
        Operand::Shifted { rm, amount, .. } => (rm, amount, 0),
        Operand::ShiftedBy { rm, rs, .. } => (rm, step::byte(rs), 0),
    };
    let second = second(operand);
    let jumps = rd == Register::PC && !compares;
    let handler = if jumps {
        compute::of_jump(operation, second)
    } else {
        compute::of_data(operation, second, s || compares)
    };
    let step = Step::new(handler).d(rd).n(rn).m(rm).s(amount).imm(imm);
    if jumps { Step { d: u8::from(thumb), ..step } } else { step }
}

fn of_product(operation: Operation) -> Step {
    match operation {
        Operation::Multiply { s, rd, rm, rs, rn } => {
            let handler = match (rn.is_some(), s) {
                (false, false) => compute::multiply::<false, false>,
                (false, true) => compute::multiply::<false, true>,
                (true, false) => compute::multiply::<true, false>,
                (true, true) => compute::multiply::<true, true>,
            };
            Step::new(handler).d(rd).n(rm).m(rs).s(rn.map_or(0, step::byte))
        }
        Operation::MultiplyLong { signed, accumulate, s, high, low, rm, rs } => {
            let how = u32::from(signed) | u32::from(accumulate) << 1 | u32::from(s) << 2;
            Step::new(compute::multiply_long).d(high).n(rm).m(rs).s(step::byte(low)).imm(how)
        }
        Operation::Clz { rd, rm } => Step::new(compute::leading_zeros).d(rd).m(rm),
        _ => Step::new(compute::constant).d(Register::PC),
    }
}

fn of_transfer(transfer: &Transfer) -> Step {
    let Transfer { load, item, rd, rn, offset, index } = *transfer;
    let (moved, rm, amount, imm) = match offset {
        Offset::Immediate(offset) | Offset::Literal(offset) => {
            (OffsetKind::Immediate, rn, 0, offset.cast_unsigned())
        }
        Offset::Register { rm, shift: Shift::Lsl, amount, subtract: false } => {
            (OffsetKind::Added, rm, amount, 0)
        }
        Offset::Register { rm, shift: Shift::Lsl, amount, subtract: true } => {
            (OffsetKind::Subtracted, rm, amount, 0)
        }
        Offset::Register { rm, shift, amount, subtract } => {
            (OffsetKind::Shifted, rm, amount, access::encoded(shift, subtract))
        }
    };
    let handler = if load {
        access::of_load(item, moved, index, rd == Register::PC)
    } else {
        access::of_store(item, moved, index)
    };
    assert!(index != Index::PostUser, "left to the reference");
    Step::new(handler).d(rd).n(rn).m(rm).s(amount).imm(imm)
}

fn of_several(transfer: &BlockTransfer) -> Step {
    let BlockTransfer { load, rn, list, up, before, writeback, .. } = *transfer;
    let count = u8::try_from(list.count_ones()).unwrap_or(16);
    let down = if up { 0 } else { 4 * count };
    let lowest = u8::from(before == up) * 4;
    let handler = match (load, list >> 15 != 0) {
        (true, true) => access::load_several_jump,
        (true, false) => access::load_several,
        (false, _) => access::store_several,
    };
    let step = Step::new(handler).n(rn).s(lowest.wrapping_sub(down)).imm(u32::from(list));
    Step { m: count, d: u8::from(writeback) | u8::from(!up) << 1, ..step }
}
