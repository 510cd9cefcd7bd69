//! The registers that a loop carries from one round to the next.
//!
//! Layer: rank 3. Function: [`carried`]. The frame has the guest's registers. A loop that writes one in
//! each round and reads it in the next would wait for the memory of the host. So it keeps the value in a
//! register of the host instead, until it is left.

use super::super::class::{Class, class};
use super::{Node, Step};
use crate::instruction::Operation;
use crate::timing::{Outcome, RegisterSet, Timing};

/// The registers that compiled code uses for an instruction.
#[derive(Debug, Clone, Copy)]
pub(in crate::compiler) struct Uses {
    /// Those read; none if the reference executes it.
    pub(in crate::compiler) read: RegisterSet,
    /// Those that may be written.
    pub(in crate::compiler) written: RegisterSet,
}

/// The registers of `step`.
pub(in crate::compiler) fn uses(step: &Step) -> Uses {
    let timing = Timing::of(&step.instruction, Outcome::Executed);
    let read = match step.instruction.operation {
        _ if class(&step.instruction) == Class::Called => 0,
        Operation::BlockTransfer(transfer) if !transfer.load => timing.operands | transfer.list,
        _ => timing.operands | timing.stored | timing.accumulated,
    };
    Uses { read, written: timing.written }
}

/// For each node the registers that its innermost loop carries, if only nodes that continue it are in
/// that loop: those that a round may write and the next may read.
pub(super) fn carried(nodes: &[Node], edges: &[Vec<usize>]) -> Vec<RegisterSet> {
    // The nodes that lead to each one, from the last that continues no other.
    let mut paths: Vec<Vec<usize>> = (0..nodes.len()).map(|index| vec![index]).collect();
    let mut rounds: Vec<Option<Vec<usize>>> = vec![None; nodes.len()];
    for (index, next) in edges.iter().enumerate() {
        for &next in next {
            // It has the greater index.
            if nodes[next].continues {
                let path = paths[index].clone();
                paths[next].splice(0..0, path);
            } else if next == paths[index][0] {
                let shorter =
                    rounds[next].as_ref().is_none_or(|round| round.len() > paths[index].len());
                if shorter {
                    rounds[next] = Some(paths[index].clone());
                }
            }
        }
    }
    let of_round = |round: &Option<Vec<usize>>| {
        let (mut read, mut written, mut always) = (0, 0, 0);
        for step in round.iter().flatten().flat_map(|node| &nodes[*node].steps) {
            let uses = uses(step);
            read |= uses.read & !always;
            written |= uses.written;
            always |= if step.always() { uses.written } else { 0 };
        }
        read & written
    };
    rounds.iter().map(of_round).collect()
}
