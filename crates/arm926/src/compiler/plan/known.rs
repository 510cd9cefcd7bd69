//! The instruction lines that are known to hit where a node begins.
//!
//! Layer: rank 3. Function: [`known`]. A line hits with the compiled contents once the region has entered
//! it, unless a walk replaces a translation or adds one that overlaps: the host then lets the region exit. So a
//! line that was entered on every way to a node is not looked up again.

use super::Node;

/// Lines by their numbers. Those of greater numbers are never known.
pub(in crate::compiler) type LineSet = u128;

/// The set of one line of `lines`, which are in order.
pub(in crate::compiler) fn line_set(lines: &[u32], line: u32) -> LineSet {
    let number = lines.binary_search(&line).ok().and_then(|number| u32::try_from(number).ok());
    number.and_then(|number| LineSet::checked_shl(1, number)).unwrap_or(0)
}

/// For each node the lines that were entered on every way to it from the first one, whose line is. `edges`
/// are the nodes that may follow each one.
pub(super) fn known(nodes: &[Node], edges: &[Vec<usize>], lines: &[u32]) -> Vec<LineSet> {
    let entered = |node: &Node| {
        node.steps.iter().fold(0, |set, step| set | line_set(lines, step.place.line()))
    };
    let entered: Vec<LineSet> = nodes.iter().map(entered).collect();
    // None for a node that is not reached.
    let mut known = vec![None; nodes.len()];
    if let (Some(first), Some(node)) = (known.first_mut(), nodes.first()) {
        *first = Some(line_set(lines, node.key.place.line()));
    }
    loop {
        let before = known.clone();
        for (index, next) in edges.iter().enumerate() {
            let Some(here) = known[index] else { continue };
            let passed = here | entered[index];
            for &next in next {
                known[next] = Some(known[next].map_or(passed, |other| other & passed));
            }
        }
        if known == before {
            return known.into_iter().map(|lines| lines.unwrap_or(0)).collect();
        }
    }
}
