//! Which instructions make a region: what is reached from its head by branches that are known, cut into nodes.
//!
//! Layer: rank 3. [`Plan::new`] explores from a head, breadth first, as far as lines are in the instruction cache and a bound allows.
//! A [`Node`] is a run of instructions with one entry, for one state of the pipeline on entry: the same code may be there twice,
//! so that every cycle but those of waiting is a constant. Where the plan ends, compiled code leaves.

use std::collections::{HashMap, HashSet, VecDeque};

use super::class::{Class, class};
use crate::address::LINE;
use crate::decode;
use crate::instruction::{Condition, Instruction, Operation};
use crate::timing::{Outcome, Pipeline};

/// Instructions that one region takes in at most, copies included.
const INSTRUCTIONS_MAX: usize = 1000;

/// Instructions of one node at most.
const NODE_MAX: usize = 64;

/// Where an instruction lies, and in which state it is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) at: u32,
    pub(super) thumb: bool,
}

impl Place {
    /// The next place in order.
    pub(super) const fn following(self) -> Self {
        Self { at: self.at.wrapping_add(if self.thumb { 2 } else { 4 }), ..self }
    }

    /// What r15 reads as here.
    pub(super) const fn pipeline_pc(self) -> u32 {
        self.at.wrapping_add(if self.thumb { 4 } else { 8 })
    }

    /// The first byte of its line.
    pub(super) const fn line(self) -> u32 {
        self.at & !(LINE - 1)
    }
}

/// A node's name: where it begins, and what is pending there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) place: Place,
    pub(super) pipeline: Pipeline,
}

/// What one outcome of an instruction takes and leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) cycles: u32,
    pub(super) after: Pipeline,
}

/// One instruction of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) place: Place,
    pub(super) instruction: Instruction,
    pub(super) before: Pipeline,
    pub(super) executed: Way,
    pub(super) skipped: Way,
}

impl Step {
    fn new(place: Place, instruction: Instruction, before: Pipeline) -> Self {
        let way = |outcome| {
            let mut after = before;
            let cycles = after.advance(&instruction, outcome);
            Way { cycles, after }
        };
        let (executed, skipped) = (way(Outcome::Executed), way(Outcome::Skipped));
        Self { place, instruction, before, executed, skipped }
    }

    /// The cycles that it takes at most, waiting left out.
    pub(super) fn cycles_max(&self) -> u32 {
        self.executed.cycles.max(self.skipped.cycles)
    }

    /// Whether it is always executed.
    pub(super) fn always(&self) -> bool {
        self.instruction.condition == Condition::Al
    }

    /// Whether both outcomes leave the same pipeline.
    pub(super) fn joins(&self) -> bool {
        self.always() || self.executed.after == self.skipped.after
    }
}

/// A run of instructions with one entry.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) key: Key,
    pub(super) steps: Vec<Step>,
    /// The cycles that it takes at most, waiting left out.
    pub(super) cycles_max: u32,
}

/// What reads a line of the instruction cache.
pub(super) type Fetch<'a> = &'a dyn Fn(u32) -> Option<[u8; 32]>;

/// A region.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) nodes: Vec<Node>,
    names: HashMap<Key, usize>,
    /// The places behind calls, to which an indirect jump may go.
    pub(super) returns: Vec<Place>,
}

impl Plan {
    /// The region from `head` on; nothing if its first instruction cannot be compiled.
    pub(super) fn new(head: Key, fetch: Fetch<'_>) -> Option<Self> {
        let reach = Reach::explore(head.place, fetch);
        let mut plan = Self { returns: reach.returns.clone(), ..Self::default() };
        let mut waiting = VecDeque::from([head]);
        if reach.indirect {
            let idle = |&place| Key { place, pipeline: Pipeline::IDLE };
            waiting.extend(reach.returns.iter().map(idle));
        }
        let mut count = 0;
        while let Some(key) = waiting.pop_front() {
            if plan.names.contains_key(&key) || count >= INSTRUCTIONS_MAX {
                continue;
            }
            let Some(node) = reach.node(key) else { continue };
            count += node.steps.len();
            waiting.extend(reach.successors(&node));
            plan.names.insert(key, plan.nodes.len());
            plan.nodes.push(node);
        }
        (plan.names.get(&head) == Some(&0)).then_some(plan)
    }

    /// The number of the node `key`.
    pub(super) fn find(&self, key: Key) -> Option<usize> {
        self.names.get(&key).copied()
    }

    /// The lines that it was read from.
    pub(super) fn lines(&self) -> HashSet<u32> {
        let steps = self.nodes.iter().flat_map(|node| &node.steps);
        steps.map(|step| step.place.line()).collect()
    }
}

/// The instructions that can be reached, and where runs begin.
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
        let mut waiting = VecDeque::from([head]);
        while let Some(place) = waiting.pop_front() {
            if reach.instructions.len() < INSTRUCTIONS_MAX {
                reach.run(place, fetch, &mut waiting);
            }
        }
        reach
    }

    /// Follows a run to the end of what is known.
    fn run(&mut self, mut place: Place, fetch: Fetch<'_>, waiting: &mut VecDeque<Place>) {
        loop {
            if self.instructions.contains_key(&place) {
                return;
            }
            let Some(line) = fetch(place.line()) else { return };
            let instruction = decode::in_line(&line, place.at, place.thumb);
            let class = class(&instruction);
            if class == Class::Foreign {
                return;
            }
            self.instructions.insert(place, instruction);
            if class == Class::Jump {
                self.jump(place, &instruction, waiting);
                return;
            }
            place = place.following();
        }
    }

    /// Notes where a jump goes to.
    fn jump(&mut self, place: Place, jump: &Instruction, waiting: &mut VecDeque<Place>) {
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
            waiting.push_back(place);
        }
    }

    /// The target of a jump, if it is known.
    fn target(&self, place: Place, operation: &Operation) -> Option<Place> {
        let previous = Place { at: place.at.wrapping_sub(2), ..place };
        let prefix = self.instructions.get(&previous).map(|prefix| &prefix.operation);
        target(place, operation, prefix)
    }

    /// The node `key`, if its first instruction is known.
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
        (!steps.is_empty()).then_some(Node { key, steps, cycles_max })
    }

    /// The nodes that may follow `node`.
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

/// Whether a jump leaves a return address.
const fn links(operation: &Operation) -> bool {
    match operation {
        Operation::Branch { link, .. } | Operation::BranchExchange { link, .. } => *link,
        Operation::BranchToThumb { .. } | Operation::BranchSuffix { .. } => true,
        _ => false,
    }
}

/// The target of the jump at `place`, if it is known; `prefix` is what lies before it.
pub(super) fn target(
    place: Place,
    operation: &Operation,
    prefix: Option<&Operation>,
) -> Option<Place> {
    let (at, thumb) = operation.target(place.at, place.thumb, prefix)?;
    Some(Place { at, thumb })
}
