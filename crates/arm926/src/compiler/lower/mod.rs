//! The translation of a plan to Cranelift's IR.
//!
//! Layer: rank 3. Guest registers are variables; each write also goes to the frame's registers, so
//! that exits and calls of the reference need no stores. At the end of a node the operands that set the
//! flags go to the frame. For conditions within the region the flags are also variables: one result for
//! N and Z, and one each for C and V. Cycles and counts of a node are constants. `values`: registers,
//! flags, conditions. `data`: shifter and data processing. `multiply`: products. `transfer`: loads and
//! stores. `jump`: edges between nodes, and exits.

mod data;
mod jump;
mod multiply;
mod transfer;
mod values;

use std::collections::BTreeMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, Function, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};

use super::class::{Class, class};
use super::frame::{Tally, at};
use super::plan::{Key, Node, Place, Plan, Step};
use crate::instruction::{Instruction, Item, Operation};
use crate::memory::lookaside::LineHit;
use crate::timing::Pipeline;

/// The addresses of what compiled code calls and reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Imports {
    /// Executes an instruction by the reference: `(frame, site)`.
    pub(super) instruction: u64,
    /// Loads one item: `(frame, site)`.
    pub(super) load: u64,
    /// Stores one item: `(frame, site)`.
    pub(super) store: u64,
    /// Adds the tally to the counts and refills the cycle budget: `(frame, cycles)`.
    pub(super) refill: u64,
    /// Looks up a line that misses the look-aside: `(frame, line)`.
    pub(super) line: u64,
}

/// A place where compiled code may exit or call the reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    /// The next instruction.
    pub(super) place: Place,
    /// The current instruction line.
    pub(super) line: u32,
    /// The pipeline state before it.
    pub(super) pipeline: Pipeline,
    /// Cycles not yet subtracted from the budget.
    pub(super) cycles: u32,
    /// Counts not yet added to the frame.
    pub(super) tally: Tally,
    /// The maximum number of cycles of the rest of the node, including this instruction.
    pub(super) rest: u32,
    /// Where execution continues.
    pub(super) exit: Exit,
    /// The instruction, if the reference executes it.
    pub(super) instruction: Option<Instruction>,
    /// What it loads or stores, if it is a single transfer.
    pub(super) item: Item,
    /// Whether it is a jump.
    pub(super) jumps: bool,
    /// Its cycles without stalls.
    pub(super) executed: u32,
}

impl Site {
    /// The budget that the rest of the node requires, without stalls.
    pub(super) fn ahead(&self) -> i64 {
        i64::from(self.cycles) + i64::from(self.rest)
    }
}

/// Where execution continues after an exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// At the site's place.
    Here,
    /// At the frame's target, in the same state.
    Jump,
    /// At the frame's target, whose bit 0 is the state.
    Exchange,
}

/// The variables of the function.
struct Variables {
    r: [Variable; 15],
    result: Variable,
    carry: Variable,
    overflow: Variable,
    left: Variable,
}

/// The state of the translation of a region.
struct Lower<'a> {
    b: FunctionBuilder<'a>,
    plan: &'a Plan,
    lines: &'a [LineHit],
    imports: Imports,
    variables: Variables,
    /// The parameters: the frame, the look-aside, the data cache.
    frame: Value,
    hits: Value,
    data: Value,
    thunk: SigRef,
    /// The nodes' blocks.
    bodies: Vec<Block>,
    /// The checks in front of them, by node and by the line of the instruction before.
    entries: BTreeMap<(usize, u32), Block>,
    sites: Vec<Site>,
    /// Cycles and counts of the current node that are pending.
    cycles: u32,
    tally: Tally,
    /// The maximum number of cycles from the current step to the end of the node.
    rest: u32,
    /// The operands of the comparison in this node that set the current flags, if any.
    compared: Option<(Value, Value)>,
    /// The flags of the current node that are not yet in the frame.
    pending: Pending,
}

/// Flags that are not yet in the frame. The other fields take precedence over `operands`.
#[derive(Clone, Copy, Default)]
struct Pending {
    /// The operands that set the flags; true for a difference, false for a sum.
    operands: Option<(Value, Value, bool)>,
    result: Option<Value>,
    carry: Option<Value>,
    overflow: Option<Value>,
}

/// The signature of a region: frame, look-aside, data cache; returns the exit's site.
pub(super) fn signature(convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend([AbiParam::new(types::I64); 3]);
    signature.returns.push(AbiParam::new(types::I32));
    signature
}

/// The signature of a thunk: frame, number.
pub(super) fn thunk_signature(convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend([AbiParam::new(types::I64), AbiParam::new(types::I32)]);
    signature
}

/// Generates a thunk, which preserves all registers and calls the host function at `address`.
pub(super) fn thunk(
    function: &mut Function,
    context: &mut FunctionBuilderContext,
    address: u64,
    target: TargetFrontendConfig,
) {
    let mut b = FunctionBuilder::new(function, context);
    let block = b.create_block();
    b.append_block_params_for_function_params(block);
    b.switch_to_block(block);
    b.seal_block(block);
    let arguments = b.block_params(block).to_vec();
    let signature = b.import_signature(thunk_signature(target.default_call_conv));
    let callee = b.ins().iconst(types::I64, address.cast_signed());
    b.ins().call_indirect(signature, callee, &arguments);
    b.ins().return_(&[]);
    b.finalize(target);
}

/// Generates the region `plan`, which spans `lines`; returns its sites by number.
pub(super) fn region(
    function: &mut Function,
    context: &mut FunctionBuilderContext,
    (plan, lines): (&Plan, &[LineHit]),
    imports: Imports,
    target: TargetFrontendConfig,
) -> Vec<Site> {
    let mut lower = Lower::new(FunctionBuilder::new(function, context), plan, lines, imports);
    for (index, node) in plan.nodes.iter().enumerate() {
        lower.node(index, node);
    }
    lower.entry_blocks();
    let Lower { mut b, sites, .. } = lower;
    b.seal_all_blocks();
    b.finalize(target);
    sites
}

impl<'a> Lower<'a> {
    fn new(
        mut b: FunctionBuilder<'a>,
        plan: &'a Plan,
        lines: &'a [LineHit],
        imports: Imports,
    ) -> Self {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let [frame, hits, data] = [0, 1, 2].map(|index| b.block_params(entry)[index]);
        let word = |b: &mut FunctionBuilder<'_>| b.declare_var(types::I32);
        let variables = Variables {
            r: [(); 15].map(|()| word(&mut b)),
            result: word(&mut b),
            carry: word(&mut b),
            overflow: word(&mut b),
            left: b.declare_var(types::I64),
        };
        let bodies = plan.nodes.iter().map(|_| b.create_block()).collect();
        let thunk = b.import_signature(thunk_signature(CallConv::PreserveAll));
        let mut lower = Self {
            b,
            plan,
            lines,
            imports,
            variables,
            frame,
            hits,
            data,
            thunk,
            bodies,
            entries: BTreeMap::new(),
            sites: Vec::new(),
            cycles: 0,
            tally: Tally::default(),
            rest: 0,
            compared: None,
            pending: Pending::default(),
        };
        lower.enter();
        lower
    }

    /// Loads all variables and jumps to the first node.
    fn enter(&mut self) {
        for index in 0..15 {
            self.reload(index);
        }
        let Variables { result, carry, overflow, left, .. } = self.variables;
        let words = [(result, at::RESULT), (carry, at::CARRY), (overflow, at::OVERFLOW)];
        for (variable, offset) in words {
            let value = self.load_frame(types::I32, offset);
            self.b.def_var(variable, value);
        }
        let value = self.load_frame(types::I64, at::LEFT);
        self.b.def_var(left, value);
        let head = self.plan.nodes[0].key.place;
        let first = self.entry_block(head, 0);
        self.b.ins().jump(first, &[]);
    }

    /// Generates the body of a node.
    fn node(&mut self, index: usize, node: &Node) {
        self.b.switch_to_block(self.bodies[index]);
        (self.cycles, self.tally, self.compared) = (0, Tally::default(), None);
        self.pending = Pending::default();
        self.rest = node.cycles_max;
        let mut line = node.key.place.line();
        for (number, step) in node.steps.iter().enumerate() {
            if step.place.line() != line {
                self.cross_line(step, line);
                line = step.place.line();
            }
            let before = number.checked_sub(1).map(|number| node.steps[number].instruction);
            let last = number + 1 == node.steps.len();
            if class(&step.instruction) == Class::Jump {
                self.jump_step(step, before.map(|instruction| instruction.operation));
            } else if last {
                self.last_step(step);
            } else {
                self.step(step);
            }
            self.rest -= step.cycles_max();
        }
    }

    /// Generates an instruction that is not the last of its node.
    fn step(&mut self, step: &Step) {
        if step.always() {
            self.execute(step);
            self.spend(step.executed.cycles, Tally::INSTRUCTION);
            return;
        }
        let flags = sets_flags(&step.instruction.operation);
        if flags {
            self.store_flags();
        }
        let (holds, behind) = self.branch_on(step);
        self.b.switch_to_block(holds);
        let common = step.skipped.cycles;
        let skip = Tally::INSTRUCTION.plus(Tally::SKIPPED);
        let tally = self.tally;
        let compared = self.compared;
        self.execute(step);
        // After the join both paths count as skipped, so this one is corrected by the difference.
        let difference = self.tally.minus(tally).minus(Tally::SKIPPED);
        self.tally = tally;
        self.adjust(i64::from(step.executed.cycles) - i64::from(common), difference);
        self.compared = compared.filter(|_| !flags);
        if flags {
            self.store_flags();
        }
        self.b.ins().jump(behind, &[]);
        self.b.switch_to_block(behind);
        self.spend(common, skip);
    }

    /// Generates the last instruction of a node that does not end with a jump.
    fn last_step(&mut self, step: &Step) {
        let next = step.place.following();
        let edge = |pipeline| Key { place: next, pipeline };
        if step.always() {
            self.execute(step);
            self.spend(step.executed.cycles, Tally::INSTRUCTION);
            self.edge(step.place, edge(step.executed.after));
            return;
        }
        let (holds, behind) = self.branch_on(step);
        let before = (self.cycles, self.tally, self.pending);
        self.b.switch_to_block(holds);
        self.execute(step);
        self.spend(step.executed.cycles, Tally::INSTRUCTION);
        self.edge(step.place, edge(step.executed.after));
        (self.cycles, self.tally, self.pending) = before;
        self.b.switch_to_block(behind);
        self.skip(step);
    }

    /// Ends a node whose last condition failed.
    fn skip(&mut self, step: &Step) {
        self.spend(step.skipped.cycles, Tally::INSTRUCTION.plus(Tally::SKIPPED));
        let key = Key { place: step.place.following(), pipeline: step.skipped.after };
        self.edge(step.place, key);
    }

    /// Branches on the condition of a step; returns the blocks where it holds and where it fails.
    fn branch_on(&mut self, step: &Step) -> (Block, Block) {
        let condition = self.condition(step.instruction.condition);
        let (holds, fails) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, holds, &[], fails, &[]);
        (holds, fails)
    }

    /// Generates an instruction that is not a jump, without its condition.
    fn execute(&mut self, step: &Step) {
        if class(&step.instruction) == Class::Called {
            self.call_reference(step);
            return;
        }
        let place = step.place;
        match step.instruction.operation {
            Operation::Data { .. } => self.data_operation(step),
            Operation::Address { rd, offset } => {
                let value = (place.pipeline_pc() & !3).wrapping_add(offset);
                let value = self.word(value);
                self.set(rd, value);
            }
            Operation::BranchPrefix { offset } => {
                let value = self.word(place.pipeline_pc().wrapping_add_signed(offset));
                self.set(crate::instruction::Register::LR, value);
            }
            Operation::Transfer(transfer) => self.single(step, &transfer),
            Operation::BlockTransfer(transfer) => self.several(step, &transfer),
            _ => self.multiplication(&step.instruction.operation),
        }
    }

    /// Adds to the pending cycles and counts of the node.
    fn spend(&mut self, cycles: u32, tally: Tally) {
        self.cycles += cycles;
        self.tally = self.tally.plus(tally);
    }

    /// Corrects budget and counts on one of two paths that join. The counts are in the frame alone, which
    /// leaves a register of the host for those of the guest.
    fn adjust(&mut self, cycles: i64, tally: Tally) {
        let left = self.variables.left;
        if cycles != 0 {
            let (value, difference) = (self.b.use_var(left), self.double(cycles));
            let value = self.b.ins().isub(value, difference);
            self.b.def_var(left, value);
        }
        if tally != Tally::default() {
            let value = self.load_frame(types::I64, at::COUNTS);
            let difference = self.double(tally.0.cast_signed());
            let value = self.b.ins().iadd(value, difference);
            self.store_frame(value, at::COUNTS);
        }
    }

    /// Settles the pending cycles and counts, and moves the flags into the frame.
    fn settle(&mut self) {
        self.store_flags();
        let (cycles, tally) = (self.cycles, self.tally);
        self.adjust(i64::from(cycles), tally);
        (self.cycles, self.tally) = (0, Tally::default());
    }

    fn load_frame(&mut self, kind: Type, offset: i32) -> Value {
        self.b.ins().load(kind, MemFlagsData::trusted(), self.frame, offset)
    }

    fn store_frame(&mut self, value: Value, offset: i32) {
        self.b.ins().store(MemFlagsData::trusted(), value, self.frame, offset);
    }

    /// Whether the frame's status is not zero.
    fn status(&mut self) -> Value {
        let status = self.load_frame(types::I32, at::STATUS);
        let zero = self.word(0);
        self.b.ins().icmp(IntCC::NotEqual, status, zero)
    }
}

/// Whether the operation may change N, Z, C or V.
const fn sets_flags(operation: &Operation) -> bool {
    match operation {
        Operation::Data { s, .. }
        | Operation::Multiply { s, .. }
        | Operation::MultiplyLong { s, .. } => *s,
        _ => false,
    }
}
