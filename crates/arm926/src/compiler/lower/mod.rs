//! The translation of a plan to Cranelift's IR.
//!
//! Layer: rank 3. The frame has the guest's registers, flags, counts and cycles, but for what a loop
//! carries from one round to the next: see [`Carried`]. A [`Path`] leads from a check of the budget
//! through nodes that continue each other. A node knows the registers that it read or wrote, and stores
//! what it wrote where it ends, leaves, or calls the host; those that a loop carries are known all along
//! the path. The operands that set the flags go to the frame at its end.
//! For conditions after it the flags are also variables: one result for N and Z, and one each for C and
//! V. `values`: registers, flags, conditions. `data`: shifter and data processing. `multiply`: products.
//! `transfer`: loads and stores. `jump`: edges between nodes, and exits.

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
use super::plan::{Key, LineSet, Node, Place, Plan, Step, line_set};
use crate::instruction::{Instruction, Operation, Register};
use crate::memory::lookaside::LineHit;
use crate::timing::{Pipeline, RegisterSet};

/// The addresses of what compiled code calls with its frame, which has the arguments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Imports {
    /// Executes an instruction by the reference: `(site)`.
    pub(super) instruction: u64,
    /// Loads one item: `(site, terms)`.
    pub(super) load: u64,
    /// Stores one item: `(site, terms)`.
    pub(super) store: u64,
    /// Adds the tally to the counts and refills the cycle budget: `(cycles, lines)`.
    pub(super) refill: u64,
    /// Looks up a line that misses the look-aside: `(line, lines)`.
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
    /// The maximum number of cycles to the next check of the budget, including this instruction.
    pub(super) rest: u32,
    /// Where execution continues.
    pub(super) exit: Exit,
    /// The instruction, if the reference executes it.
    pub(super) instruction: Option<Instruction>,
    /// Whether it is a jump.
    pub(super) jumps: bool,
    /// Its cycles without stalls.
    pub(super) executed: u32,
}

impl Site {
    /// The budget that is required up to the next check, without stalls.
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

/// The flags as variables of the function.
struct Variables {
    result: Variable,
    carry: Variable,
    overflow: Variable,
}

/// The state of the translation of a region.
struct Lower<'a> {
    b: FunctionBuilder<'a>,
    plan: &'a Plan,
    lines: &'a [LineHit],
    imports: Imports,
    variables: Variables,
    /// The parameters: the frame and the look-aside.
    frame: Value,
    hits: Value,
    thunk: SigRef,
    /// The block where the region returns the site of the exit.
    exit: Block,
    /// The blocks of nodes that do not continue another one.
    bodies: BTreeMap<usize, Block>,
    /// The checks in front of them, by node and by the line of the instruction before.
    entries: BTreeMap<(usize, u32), Block>,
    sites: Vec<Site>,
    /// What each node carries.
    carried: Vec<Carried>,
    path: Path,
}

/// What a loop carries from one round to the next outside the frame.
#[derive(Clone, Default)]
struct Carried {
    registers: Vec<(Register, Variable)>,
    /// The budget; none if nothing is carried.
    left: Option<Variable>,
}

/// What is known and pending on the path from the last check of the budget to the current step.
#[derive(Clone, Copy, Default)]
struct Path {
    /// Cycles not yet subtracted from the budget.
    cycles: u32,
    /// Counts not yet added to those of the frame.
    tally: Tally,
    /// The maximum number of cycles to the next check.
    rest: u32,
    /// The operands of the comparison that set the current flags, if any.
    compared: Option<(Value, Value)>,
    flags: Flags,
    registers: Registers,
    /// The registers that were written and are not yet in the frame.
    written: RegisterSet,
    /// What has the budget instead of the frame.
    left: Option<Variable>,
    /// The first node.
    root: usize,
    /// The lines that are known to hit.
    lines: LineSet,
}

/// The known values of r0 to r14. The frame has the others.
type Registers = [Option<Value>; 15];

/// Flags that are not yet in the frame. The other fields take precedence over `operands`.
#[derive(Clone, Copy, Default)]
struct Flags {
    /// The operands that set the flags; true for a difference, false for a sum.
    operands: Option<(Value, Value, bool)>,
    result: Option<Value>,
    carry: Option<Value>,
    overflow: Option<Value>,
}

/// The signature of a region: frame, look-aside; returns the exit's site.
pub(super) fn signature(convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend([AbiParam::new(types::I64); 2]);
    signature.returns.push(AbiParam::new(types::I32));
    signature
}

/// The signature of a thunk: the parameters of a region, which therefore stay in their registers.
pub(super) fn thunk_signature() -> Signature {
    let mut signature = Signature::new(CallConv::PreserveAll);
    signature.params.extend([AbiParam::new(types::I64); 2]);
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
    let frame = b.block_params(block)[0];
    let mut host = Signature::new(target.default_call_conv);
    host.params.push(AbiParam::new(types::I64));
    let host = b.import_signature(host);
    let callee = b.ins().iconst(types::I64, address.cast_signed());
    b.ins().call_indirect(host, callee, &[frame]);
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
    for (index, block) in lower.bodies.clone() {
        lower.begin(index, block);
        lower.node(index, plan.nodes[index].key.place.line());
    }
    lower.entry_blocks();
    let Lower { mut b, sites, exit, .. } = lower;
    b.switch_to_block(exit);
    let site = b.block_params(exit)[0];
    b.ins().return_(&[site]);
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
        let [frame, hits] = [0, 1].map(|index| b.block_params(entry)[index]);
        let word = |b: &mut FunctionBuilder<'_>| b.declare_var(types::I32);
        let variables =
            Variables { result: word(&mut b), carry: word(&mut b), overflow: word(&mut b) };
        let first = plan.nodes.iter().enumerate().filter(|(_, node)| !node.continues);
        let bodies = first.map(|(index, _)| (index, b.create_block())).collect();
        let carried = plan.nodes.iter().map(|node| carried(&mut b, node)).collect();
        let exit = b.create_block();
        b.set_cold_block(exit);
        b.append_block_param(exit, types::I32);
        let thunk = b.import_signature(thunk_signature());
        let mut lower = Self {
            b,
            plan,
            lines,
            imports,
            variables,
            frame,
            hits,
            thunk,
            exit,
            bodies,
            entries: BTreeMap::new(),
            sites: Vec::new(),
            carried,
            path: Path::default(),
        };
        lower.enter();
        lower
    }

    /// Loads the flags and jumps to the first node.
    fn enter(&mut self) {
        let Variables { result, carry, overflow } = self.variables;
        let words = [(result, at::RESULT), (carry, at::CARRY), (overflow, at::OVERFLOW)];
        for (variable, offset) in words {
            let value = self.load_frame(types::I32, offset);
            self.b.def_var(variable, value);
        }
        self.go(self.plan.nodes[0].key.place, 0);
    }

    /// Begins a path at `block`, where the node `index` is entered.
    fn begin(&mut self, index: usize, block: Block) {
        self.b.switch_to_block(block);
        let Carried { registers, left } = self.carried[index].clone();
        let node = &self.plan.nodes[index];
        let lines = node.known | line_set(&self.plan.lines, node.key.place.line());
        self.path = Path { root: index, left, lines, ..Path::default() };
        for (register, variable) in registers {
            let value = self.b.use_var(variable);
            self.set(register, value);
        }
    }

    /// Generates the body of a node that is entered from `line`, and of those that continue it. The
    /// cycles of a path are bounded, and thereby the depth.
    fn node(&mut self, index: usize, mut line: u32) {
        let node = &self.plan.nodes[index];
        let mut rest = node.cycles_max;
        for (number, step) in node.steps.iter().enumerate() {
            if step.place.line() != line {
                self.cross_line(step, line);
                line = step.place.line();
            }
            self.path.rest = rest;
            let last = number + 1 == node.steps.len();
            if class(&step.instruction) == Class::Jump {
                self.jump_step(step, node.prefix());
            } else if last {
                self.last_step(step);
            } else {
                self.step(step);
            }
            rest -= step.cycles_max();
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
        let written = step.uses().written;
        self.store_registers(written);
        let (holds, behind) = self.branch_on(step);
        self.b.switch_to_block(holds);
        let common = step.skipped.cycles;
        let skip = Tally::INSTRUCTION.plus(Tally::SKIPPED);
        let before = self.path;
        self.execute(step);
        // After the join both paths count as skipped, so this one is corrected by the difference.
        let difference = self.path.tally.minus(before.tally).minus(Tally::SKIPPED);
        self.path.tally = before.tally;
        self.adjust(i64::from(step.executed.cycles) - i64::from(common), difference);
        if flags {
            self.store_flags();
        }
        self.store_registers(written);
        // What was read or written under the condition is in the frame alone.
        let after = std::mem::replace(&mut self.path, before).registers;
        for (value, after) in self.path.registers.iter_mut().zip(after) {
            *value = value.filter(|value| after == Some(*value));
        }
        self.path.compared = before.compared.filter(|_| !flags);
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
        let before = self.path;
        self.b.switch_to_block(holds);
        self.execute(step);
        self.spend(step.executed.cycles, Tally::INSTRUCTION);
        self.edge(step.place, edge(step.executed.after));
        self.path = before;
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

    /// Adds to the pending cycles and counts.
    fn spend(&mut self, cycles: u32, tally: Tally) {
        self.path.cycles += cycles;
        self.path.tally = self.path.tally.plus(tally);
    }

    /// Subtracts from the budget and adds to the counts. The frame alone has the counts, which leaves a
    /// register of the host for those of the guest.
    fn adjust(&mut self, cycles: i64, tally: Tally) {
        if cycles != 0 {
            let value = self.left();
            let difference = self.double(cycles);
            let value = self.b.ins().isub(value, difference);
            self.set_left(value);
        }
        if tally != Tally::default() {
            let value = self.load_frame(types::I64, at::COUNTS);
            let difference = self.double(tally.0.cast_signed());
            let value = self.b.ins().iadd(value, difference);
            self.store_frame(value, at::COUNTS);
        }
    }

    /// The budget.
    fn left(&mut self) -> Value {
        match self.path.left {
            Some(variable) => self.b.use_var(variable),
            None => self.load_frame(types::I64, at::LEFT),
        }
    }

    fn set_left(&mut self, value: Value) {
        match self.path.left {
            Some(variable) => self.b.def_var(variable, value),
            None => self.store_frame(value, at::LEFT),
        }
    }

    /// Moves the budget to a variable, or to the frame.
    fn move_left(&mut self, to: Option<Variable>) {
        if to != self.path.left {
            let value = self.left();
            self.path.left = to;
            self.set_left(value);
        }
    }

    /// Settles the pending cycles and counts, and moves the flags into the frame.
    fn settle(&mut self) {
        self.store_flags();
        let Path { cycles, tally, .. } = self.path;
        self.adjust(i64::from(cycles), tally);
        (self.path.cycles, self.path.tally) = (0, Tally::default());
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

/// Declares what a node carries.
fn carried(b: &mut FunctionBuilder<'_>, node: &Node) -> Carried {
    let registers = (0..15).map(Register::field);
    let registers = registers.filter(|r| node.carried >> r.number() & 1 != 0);
    let registers: Vec<_> =
        registers.map(|register| (register, b.declare_var(types::I32))).collect();
    let left = (!registers.is_empty()).then(|| b.declare_var(types::I64));
    Carried { registers, left }
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
