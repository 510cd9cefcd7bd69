//! What an instruction accesses, to be remembered as hits once the reference has done it.
//!
//! Layer: rank 3. Main type: [`Span`].

use super::block::Piece;
use crate::address::Virtual;
use crate::execute;
use crate::instruction::{Offset, Operation, Transfer};
use crate::memory::Memory;
use crate::processor::Processor;
use crate::registers::Registers;

/// Bytes that are read or written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    first: Virtual,
    bytes: u32,
    write: bool,
    privileged: bool,
}

impl Span {
    /// What `piece`, which is executed next, accesses.
    pub(super) fn of<B>(processor: &Processor<B>, piece: &Piece) -> Option<Self> {
        let registers = &processor.registers;
        let status = registers.cpsr();
        if !piece.instruction.condition.holds(status) {
            return None;
        }
        let (first, bytes, load) = match piece.instruction.operation {
            Operation::Transfer(transfer) => {
                let first = single(registers, &transfer, piece.at.0);
                (first, transfer.item.bytes(), transfer.load)
            }
            Operation::BlockTransfer(transfer) => {
                let base = execute::read(registers, transfer.rn, piece.at.0);
                let first = base.wrapping_add_signed(transfer.first()) & !3;
                (first, 4 * transfer.words(), transfer.load)
            }
            _ => return None,
        };
        let privileged = status.mode().privileged();
        Some(Self { first: Virtual(first), bytes, write: !load, privileged })
    }

    /// Remembers which of its lines or half-lines hit now.
    pub(super) fn learn(span: Option<Self>, memory: &mut Memory) {
        if let Some(Self { first, bytes, write, privileged }) = span {
            memory.learn(first, bytes, (privileged, write));
        }
    }
}

/// Where a single transfer accesses.
fn single(registers: &Registers, transfer: &Transfer, at: u32) -> u32 {
    let base = match transfer.offset {
        Offset::Literal(_) => execute::read(registers, transfer.rn, at) & !3,
        _ => execute::read(registers, transfer.rn, at),
    };
    let moved = base.wrapping_add(execute::offset(registers, &transfer.offset, at));
    transfer.address(base, moved)
}
