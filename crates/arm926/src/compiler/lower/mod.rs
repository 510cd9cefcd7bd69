//! From a plan to a function of Cranelift.
//!
//! Layer: rank 3. Guest registers are variables, and each write is also stored to the processor's registers at once, so that
//! leaving needs no stores and a call of the reference finds them. Flags are stored to the frame where a node ends, as the operands that
//! they are from; for conditions of the region N and Z are also one variable (a result), C and V one each. Cycles and counts of a node are constants, added where it ends.
//! `values`: registers, flags, conditions. `data`: shifter, data operations, multiplication. `transfer`: loads and stores. `jump`: edges
//! between nodes, and ways out.

mod data;
mod jump;
mod multiply;
mod transfer;
mod values;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, Function, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};

use super::class::{Class, class};
use super::frame::{Tally, at};
use super::plan::{Key, Node, Place, Plan, Step};
use crate::instruction::{Instruction, Operation};
use crate::timing::Pipeline;

/// What compiled code calls and reads by address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ties {
    /// Runs one instruction by the reference: `(frame, site)`.
    pub(super) instruction: u64,
    /// Loads or stores one item: `(frame, site)`.
    pub(super) access: u64,
    /// Notes counts, and gives more cycles if there are so many: `(frame, cycles)`.
    pub(super) refill: u64,
    /// Looks at a line that is not known to hit: `(frame, line)`.
    pub(super) line: u64,
    /// The lines of the region with their contents, as the look-aside names them, as an array.
    pub(super) lines: u64,
}

/// A place where compiled code may leave, or hand an instruction to the reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    /// The instruction that comes next.
    pub(super) place: Place,
    /// What is pending in front of it.
    pub(super) pipeline: Pipeline,
    /// Cycles not yet subtracted from the frame's.
    pub(super) cycles: u32,
    /// Counts not yet added to the frame's.
    pub(super) tally: Tally,
    /// Cycles that the rest of the node takes at most, this instruction included.
    pub(super) rest: u32,
    /// Where execution goes on.
    pub(super) exit: Exit,
    /// The instruction, where the reference executes it.
    pub(super) instruction: Option<Instruction>,
    /// It is a jump.
    pub(super) jumps: bool,
    /// Its cycles, waiting left out.
    pub(super) executed: u32,
}

impl Site {
    /// The cycles that must be left so that the node can be ended, waiting left out.
    pub(super) fn ahead(&self) -> i64 {
        i64::from(self.cycles) + i64::from(self.rest)
    }

    /// What the instruction does.
    pub(super) fn operation(&self) -> Option<&Operation> {
        self.instruction.as_ref().map(|instruction| &instruction.operation)
    }
}

/// Where execution goes on after leaving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// At the site's place.
    Here,
    /// At the frame's target, in the state that there is.
    Jump,
    /// At the frame's target, with bit 0 as the state.
    Exchange,
}

/// Variables of the function.
struct Variables {
    r: [Variable; 15],
    result: Variable,
    carry: Variable,
    overflow: Variable,
    left: Variable,
    counts: Variable,
}

/// The ways into a node.
#[derive(Clone, Copy)]
struct Doors {
    /// From the same line.
    stay: Block,
    /// From another line.
    cross: Block,
    /// Behind the checks.
    body: Block,
    crossed: bool,
    stayed: bool,
}

/// What is known while one region is written.
struct Lower<'a> {
    b: FunctionBuilder<'a>,
    plan: &'a Plan,
    lines: &'a [u32],
    ties: Ties,
    variables: Variables,
    /// Parameters: the processor's registers, the frame, the look-aside, the data cache.
    registers: Value,
    frame: Value,
    hits: Value,
    data: Value,
    thunk: SigRef,
    doors: Vec<Doors>,
    sites: Vec<Site>,
    /// Of the node in progress: cycles and counts not yet in the variables.
    cycles: u32,
    tally: Tally,
    /// Cycles of the node from the step in progress on, at most.
    rest: u32,
    /// The operands of the comparison that the flags are from, if it is in this node.
    compared: Option<(Value, Value)>,
    /// Flags of the node in progress that are not yet in the frame.
    pending: Pending,
}

/// Flags that are not yet in the frame. What is nothing is as the frame says.
#[derive(Clone, Copy, Default)]
struct Pending {
    /// The operands of a sum or (true) difference that the others are from which are nothing here.
    operands: Option<(Value, Value, bool)>,
    result: Option<Value>,
    carry: Option<Value>,
    overflow: Option<Value>,
}

/// The signature of a region: registers, frame, look-aside, data cache; the number of the site where it was left.
pub(super) fn signature(convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend([AbiParam::new(types::I64); 4]);
    signature.returns.push(AbiParam::new(types::I32));
    signature
}

/// The signature of a thunk: frame, a number.
pub(super) fn thunk_signature(convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend([AbiParam::new(types::I64), AbiParam::new(types::I32)]);
    signature
}

/// Writes a thunk: it keeps every register for its caller, and calls the host function at `address`.
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

/// Writes the region `plan`, whose lines are `lines`; the sites by number.
pub(super) fn region(
    function: &mut Function,
    context: &mut FunctionBuilderContext,
    (plan, lines): (&Plan, &[u32]),
    ties: Ties,
    target: TargetFrontendConfig,
) -> Vec<Site> {
    let mut lower = Lower::new(FunctionBuilder::new(function, context), plan, lines, ties);
    for (index, node) in plan.nodes.iter().enumerate() {
        lower.node(index, node);
    }
    for index in 0..plan.nodes.len() {
        lower.entrances(index);
    }
    let Lower { mut b, sites, .. } = lower;
    b.seal_all_blocks();
    b.finalize(target);
    sites
}

impl<'a> Lower<'a> {
    fn new(mut b: FunctionBuilder<'a>, plan: &'a Plan, lines: &'a [u32], ties: Ties) -> Self {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let [registers, frame, hits, data] = [0, 1, 2, 3].map(|index| b.block_params(entry)[index]);
        let word = |b: &mut FunctionBuilder<'_>| b.declare_var(types::I32);
        let variables = Variables {
            r: [(); 15].map(|()| word(&mut b)),
            result: word(&mut b),
            carry: word(&mut b),
            overflow: word(&mut b),
            left: b.declare_var(types::I64),
            counts: b.declare_var(types::I64),
        };
        let doors = plan.nodes.iter().map(|_| Doors {
            stay: b.create_block(),
            cross: b.create_block(),
            body: b.create_block(),
            crossed: false,
            stayed: false,
        });
        let doors = doors.collect();
        let thunk = b.import_signature(thunk_signature(CallConv::PreserveAll));
        let mut lower = Self {
            b,
            plan,
            lines,
            ties,
            variables,
            registers,
            frame,
            hits,
            data,
            thunk,
            doors,
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

    /// Loads all variables, and goes to the first node.
    fn enter(&mut self) {
        for index in 0..15 {
            self.reload(index);
        }
        let Variables { result, carry, overflow, left, counts, .. } = self.variables;
        let words = [(result, at::RESULT), (carry, at::CARRY), (overflow, at::OVERFLOW)];
        for (variable, offset) in words {
            let value = self.load_frame(types::I32, offset);
            self.b.def_var(variable, value);
        }
        for (variable, offset) in [(left, at::LEFT), (counts, at::COUNTS)] {
            let value = self.load_frame(types::I64, offset);
            self.b.def_var(variable, value);
        }
        self.doors[0].stayed = true;
        let first = self.doors[0].stay;
        self.b.ins().jump(first, &[]);
    }

    /// The body of a node.
    fn node(&mut self, index: usize, node: &Node) {
        self.b.switch_to_block(self.doors[index].body);
        (self.cycles, self.tally, self.compared) = (0, Tally::default(), None);
        self.pending = Pending::default();
        self.rest = node.cycles_max;
        let mut line = node.key.place.line();
        for (number, step) in node.steps.iter().enumerate() {
            if step.place.line() != line {
                line = step.place.line();
                self.cross_line(step);
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

    /// An instruction that the node goes on behind.
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
        // The other way counts as it is; this one is corrected by the difference.
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

    /// The last instruction of a node that ends without a jump.
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

    /// A condition was not met, at the end of a node.
    fn skip(&mut self, step: &Step) {
        self.spend(step.skipped.cycles, Tally::INSTRUCTION.plus(Tally::SKIPPED));
        let key = Key { place: step.place.following(), pipeline: step.skipped.after };
        self.edge(step.place, key);
    }

    /// Branches on a step's condition: where it holds, and where it does not.
    fn branch_on(&mut self, step: &Step) -> (Block, Block) {
        let condition = self.condition(step.instruction.condition);
        let (holds, fails) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, holds, &[], fails, &[]);
        (holds, fails)
    }

    /// An instruction whose condition is met, and that is no jump.
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

    /// Adds to what the node has taken so far.
    fn spend(&mut self, cycles: u32, tally: Tally) {
        self.cycles += cycles;
        self.tally = self.tally.plus(tally);
    }

    /// Corrects the variables on one of two ways that join.
    fn adjust(&mut self, cycles: i64, tally: Tally) {
        let Variables { left, counts, .. } = self.variables;
        if cycles != 0 {
            let (value, difference) = (self.b.use_var(left), self.double(cycles));
            let value = self.b.ins().isub(value, difference);
            self.b.def_var(left, value);
        }
        if tally != Tally::default() {
            let (value, difference) = (self.b.use_var(counts), self.double(tally.0.cast_signed()));
            let value = self.b.ins().iadd(value, difference);
            self.b.def_var(counts, value);
        }
    }

    /// Puts what the node has taken into the variables, and its flags into the frame.
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

/// Whether N, Z, C or V may change.
const fn sets_flags(operation: &Operation) -> bool {
    match operation {
        Operation::Data { s, .. }
        | Operation::Multiply { s, .. }
        | Operation::MultiplyLong { s, .. } => *s,
        _ => false,
    }
}
