//! The instructions of a region: those that direct branches reach from its head, as nodes.
//!
//! Layer: rank 3. [`Plan::new`] explores breadth first, within the instruction cache and a size limit;
//! beyond these, the region exits. A [`Node`] is a run of instructions with one entry, for one pipeline
//! state on entry: the same code may be in several, so that all cycles except stalls are constants.

mod carried;
mod known;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use super::class::{Class, class};
use crate::address::LINE;
use crate::decode;
use crate::instruction::{Condition, Instruction, Operation};
use crate::timing::{Outcome, Pipeline, RegisterSet, Timing};
pub(super) use known::{LineSet, line_set};

/// The maximum number of instructions of a region, including copies.
const INSTRUCTIONS_MAX: usize = 1000;

/// The maximum number of instructions of a node.
const NODE_MAX: usize = 64;

/// The maximum number of cycles of a node together with those that continue it. A single node may take
/// more.
const PATH_MAX: u32 = 256;

/// The address of an instruction and its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) at: u32,
    pub(super) thumb: bool,
}

impl Place {
    /// The place of the next instruction.
    pub(super) const fn following(self) -> Self {
        Self { at: self.at.wrapping_add(if self.thumb { 2 } else { 4 }), ..self }
    }

    /// The value that an instruction here reads as r15.
    pub(super) const fn pipeline_pc(self) -> u32 {
        self.at.wrapping_add(if self.thumb { 4 } else { 8 })
    }

    /// The address of its line.
    pub(super) const fn line(self) -> u32 {
        self.at & !(LINE - 1)
    }
}

/// The key of a node: its first place, and the pipeline state there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) place: Place,
    pub(super) pipeline: Pipeline,
}

/// The cycles of an instruction with one outcome, and the pipeline state after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transition {
    pub(super) cycles: u32,
    pub(super) after: Pipeline,
}

/// The registers that compiled code uses for an instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Uses {
    /// Those read; none if the reference executes it.
    pub(super) read: RegisterSet,
    /// Those that may be written.
    pub(super) written: RegisterSet,
}

/// One instruction of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) place: Place,
    pub(super) instruction: Instruction,
    pub(super) before: Pipeline,
    pub(super) executed: Transition,
    pub(super) skipped: Transition,
}

impl Step {
    fn new(place: Place, instruction: Instruction, before: Pipeline) -> Self {
        let transition = |outcome| {
            let mut after = before;
            let cycles = after.advance(&instruction, outcome);
            Transition { cycles, after }
        };
        let (executed, skipped) = (transition(Outcome::Executed), transition(Outcome::Skipped));
        Self { place, instruction, before, executed, skipped }
    }

    /// The maximum number of cycles without stalls.
    pub(super) fn cycles_max(&self) -> u32 {
        self.executed.cycles.max(self.skipped.cycles)
    }

    /// Whether the instruction is unconditional.
    pub(super) fn always(&self) -> bool {
        self.instruction.condition == Condition::Al
    }

    /// The registers that it uses.
    pub(super) fn uses(&self) -> Uses {
        let timing = Timing::of(&self.instruction, Outcome::Executed);
        let read = match self.instruction.operation {
            _ if class(&self.instruction) == Class::Called => 0,
            Operation::BlockTransfer(transfer) if !transfer.load => timing.operands | transfer.list,
            _ => timing.operands | timing.stored | timing.accumulated,
        };
        Uses { read, written: timing.written }
    }

    /// Whether both outcomes lead to the same pipeline state.
    pub(super) fn joins(&self) -> bool {
        self.always() || self.executed.after == self.skipped.after
    }
}

/// A run of instructions with one entry.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) key: Key,
    pub(super) steps: Vec<Step>,
    /// The maximum number of cycles without stalls, with the nodes that continue it.
    pub(super) cycles_max: u32,
    /// Whether it continues the only node from which it is entered, without a check of the budget.
    pub(super) continues: bool,
    /// The registers whose values each predecessor passes on outside the frame.
    pub(super) carried: RegisterSet,
    /// The lines that are known to hit when it is entered.
    pub(super) known: LineSet,
}

impl Node {
    /// The operation before its last one: the first half of a Thumb call, unless that is in another node.
    pub(super) fn prefix(&self) -> Option<&Operation> {
        let before = self.steps.len().checked_sub(2)?;
        Some(&self.steps[before].instruction.operation)
    }

    /// The last instruction, if it is a jump whose target the node does not tell.
    fn indirect(&self) -> Option<&Step> {
        let last = self.steps.last().filter(|last| class(&last.instruction) == Class::Jump)?;
        target(last.place, &last.instruction.operation, self.prefix()).is_none().then_some(last)
    }
}

/// Returns the contents of a line in the instruction cache.
pub(super) type Fetch<'a> = &'a dyn Fn(u32) -> Option<[u8; 32]>;

/// The instructions of a region.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) nodes: Vec<Node>,
    indices: HashMap<Key, usize>,
    /// The return addresses of calls, as likely targets of indirect jumps.
    pub(super) returns: Vec<Place>,
    /// The addresses of its lines, in order.
    pub(super) lines: Vec<u32>,
}

impl Plan {
    /// Plans the region from `head` on; `None` if its first instruction cannot be compiled.
    pub(super) fn new(head: Key, fetch: Fetch<'_>) -> Option<Self> {
        let reach = Reach::explore(head.place, fetch);
        let mut plan = Self { returns: reach.returns.clone(), ..Self::default() };
        let mut worklist = VecDeque::from([head]);
        if reach.indirect {
            let idle = |&place| Key { place, pipeline: Pipeline::IDLE };
            worklist.extend(reach.returns.iter().map(idle));
        }
        let mut count = 0;
        let mut successors = Vec::new();
        while let Some(key) = worklist.pop_front() {
            if plan.indices.contains_key(&key) || count >= INSTRUCTIONS_MAX {
                continue;
            }
            let Some(node) = reach.node(key) else { continue };
            count += node.steps.len();
            let keys = reach.successors(&node);
            worklist.extend(&keys);
            successors.push(keys);
            plan.indices.insert(key, plan.nodes.len());
            plan.nodes.push(node);
        }
        let edges: Vec<Vec<usize>> = successors
            .iter()
            .map(|keys| keys.iter().filter_map(|key| plan.find(*key)).collect())
            .collect();
        plan.form_paths(&edges);
        let carried = carried::carried(&plan.nodes, &edges);
        plan.nodes.iter_mut().zip(carried).for_each(|(node, carried)| node.carried = carried);
        plan.note_known(edges);
        (plan.indices.get(&head) == Some(&0)).then_some(plan)
    }

    /// Lets nodes continue the one from which alone they are entered.
    fn form_paths(&mut self, edges: &[Vec<usize>]) {
        let mut entries = vec![0; self.nodes.len()];
        edges.iter().flatten().for_each(|node| entries[*node] += 1);
        // A node found from another one has the greater index, so those that continue it are known.
        for index in (0..self.nodes.len()).rev() {
            let own = self.nodes[index].cycles_max;
            for &next in &edges[index] {
                let node = &mut self.nodes[next];
                let total = own + node.cycles_max;
                let returns = self.returns.contains(&node.key.place);
                if next > index && entries[next] == 1 && total <= PATH_MAX && !returns {
                    node.continues = true;
                    self.nodes[index].cycles_max = total.max(self.nodes[index].cycles_max);
                }
            }
        }
    }

    /// Notes which lines are known to hit at each node. `edges` are without indirect jumps.
    fn note_known(&mut self, mut edges: Vec<Vec<usize>>) {
        let lines = self.nodes.iter().flat_map(|node| &node.steps).map(|step| step.place.line());
        self.lines = lines.collect::<BTreeSet<_>>().into_iter().collect();
        for (node, edges) in self.nodes.iter().zip(&mut edges) {
            if let Some(last) = node.indirect() {
                let key = |&place: &Place| Key { place, pipeline: last.executed.after };
                edges.extend(self.returns.iter().map(key).filter_map(|key| self.find(key)));
            }
        }
        let known = known::known(&self.nodes, &edges, &self.lines);
        self.nodes.iter_mut().zip(known).for_each(|(node, known)| node.known = known);
    }

    /// The index of the node `key`.
    pub(super) fn find(&self, key: Key) -> Option<usize> {
        self.indices.get(&key).copied()
    }
}

/// The reachable instructions, and the places where nodes begin.
struct Reach {
    instructions: HashMap<Place, Instruction>,
    leaders: HashSet<Place>,
    returns: Vec<Place>,
    indirect: bool,
}

impl Reach {
    fn explore(head: Place, fetch: Fetch<'_>) -> Self {
        let mut reach = Self {
            instructions: HashMap::new(),
            leaders: HashSet::from([head]),
            returns: Vec::new(),
            indirect: false,
        };
        let mut worklist = VecDeque::from([head]);
        while let Some(place) = worklist.pop_front() {
            if reach.instructions.len() < INSTRUCTIONS_MAX {
                reach.run(place, fetch, &mut worklist);
            }
        }
        reach
    }

    /// Follows a run of instructions to its end.
    fn run(&mut self, mut place: Place, fetch: Fetch<'_>, worklist: &mut VecDeque<Place>) {
        loop {
            if self.instructions.contains_key(&place) {
                return;
            }
            let Some(line) = fetch(place.line()) else { return };
            let instruction = decode::in_line(&line, place.at, place.thumb);
            let class = class(&instruction);
            if class == Class::Unsupported {
                return;
            }
            self.instructions.insert(place, instruction);
            if class == Class::Jump {
                self.jump(place, &instruction, worklist);
                return;
            }
            place = place.following();
        }
    }

    /// Adds the successors of a jump.
    fn jump(&mut self, place: Place, jump: &Instruction, worklist: &mut VecDeque<Place>) {
        let next = place.following();
        let target = self.target(place, &jump.operation);
        self.indirect |= target.is_none();
        let falls = jump.condition != Condition::Al;
        let links = links(&jump.operation);
        if links && !self.returns.contains(&next) {
            self.returns.push(next);
        }
        let behind = (falls || links).then_some(next);
        for place in target.into_iter().chain(behind) {
            self.leaders.insert(place);
            worklist.push_back(place);
        }
    }

    /// The target of a jump, if it is direct.
    fn target(&self, place: Place, operation: &Operation) -> Option<Place> {
        let previous = Place { at: place.at.wrapping_sub(2), ..place };
        let prefix = self.instructions.get(&previous).map(|prefix| &prefix.operation);
        target(place, operation, prefix)
    }

    /// The node `key`, if its first instruction is reachable.
    fn node(&self, key: Key) -> Option<Node> {
        let Key { mut place, mut pipeline } = key;
        let mut steps = Vec::new();
        while let Some(&instruction) = self.instructions.get(&place) {
            if steps.len() == NODE_MAX || (!steps.is_empty() && self.leaders.contains(&place)) {
                break;
            }
            let step = Step::new(place, instruction, pipeline);
            steps.push(step);
            if class(&instruction) == Class::Jump || !step.joins() {
                break;
            }
            (place, pipeline) = (place.following(), step.executed.after);
        }
        let cycles_max = steps.iter().map(Step::cycles_max).sum();
        let (continues, carried, known) = (false, 0, 0);
        let node = Node { key, steps, cycles_max, continues, carried, known };
        (!node.steps.is_empty()).then_some(node)
    }

    /// The keys of the nodes that may follow `node`.
    fn successors(&self, node: &Node) -> Vec<Key> {
        let Some(last) = node.steps.last() else { return Vec::new() };
        let next = last.place.following();
        let mut keys = Vec::new();
        if class(&last.instruction) == Class::Jump {
            let target = self.target(last.place, &last.instruction.operation);
            keys.extend(target.map(|place| Key { place, pipeline: last.executed.after }));
        } else {
            keys.push(Key { place: next, pipeline: last.executed.after });
        }
        if !last.always() {
            keys.push(Key { place: next, pipeline: last.skipped.after });
        }
        keys
    }
}

/// Whether a jump writes the return address.
const fn links(operation: &Operation) -> bool {
    match operation {
        Operation::Branch { link, .. } | Operation::BranchExchange { link, .. } => *link,
        Operation::BranchToThumb { .. } | Operation::BranchSuffix { .. } => true,
        _ => false,
    }
}

/// The target of the jump at `place`, if it is direct; `prefix` is the instruction before it.
pub(super) fn target(
    place: Place,
    operation: &Operation,
    prefix: Option<&Operation>,
) -> Option<Place> {
    let (at, thumb) = operation.target(place.at, place.thumb, prefix)?;
    Some(Place { at, thumb })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plan of a region that begins with this code, at address 0.
    fn plan_of(code: &[u8], thumb: bool) -> Plan {
        let fetch = |at: u32| {
            let mut line = [0; LINE as usize];
            let here = code.chunks(line.len()).nth((at / LINE) as usize)?;
            line[..here.len()].copy_from_slice(here);
            Some(line)
        };
        let head = Key { place: Place { at: 0, thumb }, pipeline: Pipeline::IDLE };
        Plan::new(head, &fetch).unwrap()
    }

    /// The plan of a region that begins with these ARM instructions.
    fn plan(words: &[u32]) -> Plan {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        plan_of(&code, false)
    }

    /// For each node its address, whether it continues another one, and what it carries.
    fn nodes(plan: &Plan) -> Vec<(u32, bool, RegisterSet)> {
        let node = |node: &Node| (node.key.place.at, node.continues, node.carried);
        plan.nodes.iter().map(node).collect()
    }

    #[test]
    fn a_node_with_one_predecessor_continues_it_and_an_inner_loop_carries_what_it_reads_and_writes()
    {
        let plan = plan(&[
            0xE3A0_7003, // mov r7, #3
            0xE085_5007, // add r5, r5, r7: the inner loop
            0xE1A0_6005, // mov r6, r5
            0xE257_7001, // subs r7, r7, #1
            0x1AFF_FFFB, // bne to the addition
            0xE258_8001, // subs r8, r8, #1
            0x1AFF_FFF8, // bne to the beginning
            0xEAFF_FFFE, // b to itself
        ]);
        let carried = 1 << 5 | 1 << 7;
        // The last has itself as the second predecessor.
        let expected = [(0, false, 0), (4, false, carried), (20, true, 0), (28, false, 0)];
        assert_eq!(nodes(&plan), expected);
        let [first, inner, ..] = &plan.nodes[..] else { panic!() };
        // A loop is not entered before its budget is checked; what follows is within the same check.
        assert_eq!((first.cycles_max, inner.cycles_max), (1, 6 + 4));
    }

    #[test]
    fn a_loop_over_two_nodes_carries_what_it_reads_and_writes() {
        let plan = plan(&[
            0xE085_51E5, // add r5, r5, r5, ror #3
            0xE257_7001, // subs r7, r7, #1
            0x0A00_0002, // beq out of the loop
            0xE025_6007, // eor r6, r5, r7
            0xEAFF_FFFA, // b to the addition
            0xEAFF_FFFE, // b to itself
            0xEAFF_FFFE, // b to itself
        ]);
        let found = nodes(&plan);
        assert_eq!(found[0], (0, false, 1 << 5 | 1 << 7));
        assert!(found.contains(&(12, true, 0)), "{found:?}");
    }

    #[test]
    fn a_line_is_known_where_every_way_has_entered_it() {
        let plan = plan(&[
            0xE350_0000, // cmp r0, #0
            0x0A00_000D, // beq the third line
            0xEA00_0004, // b the second line
            0,
            0,
            0,
            0,
            0,
            0xE1A0_0000, // nop: the second line
            0xEA00_0005, // b the third line
            0,
            0,
            0,
            0,
            0,
            0,
            0xE1A0_0000, // nop: the third line
            0xE351_0000, // cmp r1, #0
            0x1AFF_FFEC, // bne to the beginning
            0x0AFF_FFF3, // beq the second line
            0xEAFF_FFFE, // b to itself
        ]);
        let known = |at| {
            let node = plan.nodes.iter().find(|node| node.key.place.at == at).unwrap();
            [0, 32, 64].map(|line| node.known & line_set(&plan.lines, line) != 0)
        };
        assert_eq!(known(0), [true, false, false]);
        assert_eq!(known(8), [true, false, false]);
        assert_eq!(known(32), [true, false, false]);
        assert_eq!(known(64), [true, false, false]);
        assert_eq!(known(80), [true, false, true]);
    }

    #[test]
    fn a_thumb_call_that_is_jumped_into_may_return_anywhere() {
        // The second half of the call is reached from the branch too, with any link register.
        let mut halves = vec![
            0x2800, // cmp r0, #0
            0xD001, // beq the second half of the call
            0x46C0, // nop
            0xF000, // bl the third line: its first half
            0xF81B, // its second half
            0xE7F9, // b to the beginning
        ];
        halves.resize(32, 0x46C0);
        halves.push(0xE7FE); // b to itself: the third line
        let code: Vec<u8> = halves.iter().flat_map(|half: &u16| half.to_le_bytes()).collect();
        let plan = plan_of(&code, true);
        let returns = plan.nodes.iter().filter(|node| node.key.place.at == 10);
        let known: Vec<_> = returns.map(|node| node.known).collect();
        assert!(!known.is_empty());
        assert!(known.iter().all(|known| *known == line_set(&plan.lines, 0)), "{known:x?}");
    }

    #[test]
    fn lines_of_great_numbers_are_never_known() {
        let lines: Vec<u32> = (0..200).map(|number| 32 * number).collect();
        assert_eq!(line_set(&lines, 127 * 32), 1 << 127);
        assert_eq!(line_set(&lines, 128 * 32), 0);
    }

    #[test]
    fn a_path_has_an_end() {
        let words: Vec<u32> = (0..500).map(|_| 0x1A00_0200).collect();
        let plan = plan(&words);
        let ends = plan.nodes.iter().filter(|node| !node.continues).count();
        assert!(ends > 4, "{ends}");
        assert!(plan.nodes.iter().all(|node| node.cycles_max <= PATH_MAX));
    }

    #[test]
    fn a_return_address_continues_no_node() {
        // bl to the third; b to itself; the third: cmp; bxeq lr; b to itself
        let plan = plan(&[0xEB00_0000, 0xEAFF_FFFE, 0xE350_0000, 0x012F_FF1E, 0xEAFF_FFFE]);
        let found = nodes(&plan);
        assert!(found.contains(&(4, false, 0)) && found.contains(&(8, true, 0)), "{found:?}");
        assert!(!found.contains(&(4, true, 0)), "{found:?}");
    }
}
