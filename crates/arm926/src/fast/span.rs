//! What an instruction accesses, to be remembered as hits once the reference has done it.
//!
//! Layer: rank 3. Main type: [`Span`].

use super::block::Piece;
use crate::address::{LINE, Virtual};
use crate::execute;
use crate::instruction::{BlockTransfer, Index, Item, Offset, Operation, Register, Transfer};
use crate::memory::Memory;
use crate::memory::lookaside::HALF;
use crate::processor::Processor;
use crate::registers::Registers;

/// Bytes that are read or written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    first: u32,
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
                let bytes = if transfer.item == Item::Double { 8 } else { 4 };
                (single(registers, &transfer, piece.at.0), bytes, transfer.load)
            }
            Operation::BlockTransfer(transfer) => {
                (several(registers, &transfer), 4 * transfer.list.count_ones(), transfer.load)
            }
            _ => return None,
        };
        let privileged = status.mode().privileged();
        Some(Self { first: first & !3, bytes, write: !load, privileged })
    }

    /// Remembers which of its lines or half-lines hit now.
    pub(super) fn remember(span: Option<Self>, memory: &mut Memory) {
        let Some(span) = span else { return };
        span.remember_all(memory);
    }

    fn remember_all(self, memory: &mut Memory) {
        let unit = if self.write { HALF } else { LINE };
        let mut at = self.first & !(unit - 1);
        loop {
            let place = Virtual(at);
            if let Some(offset) = memory.data_line(place, self.privileged, self.write)
                && let Ok(offset) = u32::try_from(offset)
            {
                if self.write {
                    memory.lookaside().add_write(place, self.privileged, offset);
                } else {
                    memory.lookaside().add_read(place, self.privileged, offset);
                }
            }
            at = at.wrapping_add(unit);
            if at.wrapping_sub(self.first) >= self.bytes {
                break;
            }
        }
    }
}

/// Where a single transfer accesses.
fn single(registers: &Registers, transfer: &Transfer, at: u32) -> u32 {
    let base = match transfer.offset {
        Offset::Literal(_) => execute::read(registers, transfer.rn, at) & !3,
        _ => execute::read(registers, transfer.rn, at),
    };
    match transfer.index {
        Index::Offset | Index::Pre => {
            base.wrapping_add(execute::offset(registers, &transfer.offset, at))
        }
        Index::Post | Index::PostUser => base,
    }
}

/// The lowest address of a transfer of several.
fn several(registers: &Registers, transfer: &BlockTransfer) -> u32 {
    let BlockTransfer { rn, list, up, before, .. } = *transfer;
    let base = if rn == Register::PC { 0 } else { registers.r[rn.index()] };
    let lowest = if up { base } else { base.wrapping_sub(4 * list.count_ones()) };
    if before == up { lowest.wrapping_add(4) } else { lowest }
}
