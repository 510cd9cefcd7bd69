//! The registers that a loop carries from one round to the next.
//!
//! Layer: rank 3. Function: [`carried`]. The frame has the guest's registers. A loop that writes one in
//! each round and reads it in the next would wait for the memory of the host. So it keeps the value in a
//! register of the host instead, until it is left.

use super::Node;
use crate::timing::RegisterSet;

/// For each node the registers that its innermost loop carries, if only nodes that continue it are in
/// that loop: those that a round may write and the next may read.
pub(super) fn carried(nodes: &[Node], edges: &[Vec<usize>]) -> Vec<RegisterSet> {
    // The nodes that lead to each one, from the last that continues no other.
    let mut paths: Vec<Vec<usize>> = (0..nodes.len()).map(|index| vec![index]).collect();
    // The last node of the shortest round from each one.
    let mut ends: Vec<Option<usize>> = vec![None; nodes.len()];
    for (index, next) in edges.iter().enumerate() {
        for &next in next {
            // It has the greater index.
            if nodes[next].continues {
                paths[next] = [&paths[index][..], &[next]].concat();
            } else if next == paths[index][0]
                && ends[next].is_none_or(|end| paths[end].len() > paths[index].len())
            {
                ends[next] = Some(index);
            }
        }
    }
    let of_round = |end: &Option<usize>| {
        let (mut read, mut written, mut always) = (0, 0, 0);
        let round = end.map(|end| &paths[end]);
        for step in round.into_iter().flatten().flat_map(|node| &nodes[*node].steps) {
            let uses = step.uses();
            read |= uses.read & !always;
            written |= uses.written;
            always |= if step.always() { uses.written } else { 0 };
        }
        read & written
    };
    ends.iter().map(of_round).collect()
}
