//! Edges between nodes, indirect jumps, and exits.
//!
//! Layer: rank 3. A path is entered only if the budget exceeds its maximum cycles, so that a run ends at
//! the reference's boundary. A node is entered from another line only if its line hits with the compiled
//! contents.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::Switch;

use super::super::class::{Class, class};
use super::super::frame::{Tally, at};
use super::super::plan::{self, Key, Place, Step, line_set};
use super::{Carried, Exit, Lower, Path, Site};
use crate::instruction::{Operation, Register};
use crate::memory::lookaside::{Hits, LineHit};
use crate::timing::{Pipeline, RegisterSet};

impl Lower<'_> {
    /// Generates a jump; `prefix` is the operation before it in the node.
    pub(super) fn jump_step(&mut self, step: &Step, prefix: Option<&Operation>) {
        if step.always() {
            self.jump(step, prefix);
            return;
        }
        let (holds, fails) = self.branch_on(step);
        let before = self.path;
        self.b.switch_to_block(holds);
        self.jump(step, prefix);
        self.path = before;
        self.b.switch_to_block(fails);
        self.skip(step);
    }

    fn jump(&mut self, step: &Step, prefix: Option<&Operation>) {
        let operation = &step.instruction.operation;
        let next = step.place.following().at;
        if let Some(place) = plan::target(step.place, operation, prefix) {
            match operation {
                Operation::Branch { link: false, .. } => {}
                Operation::BranchSuffix { .. } => self.link(next | 1),
                _ => self.link(next),
            }
            self.spend(step.executed.cycles, Tally::INSTRUCTION);
            self.edge(step.place, Key { place, pipeline: step.executed.after });
            return;
        }
        let (target, exit) = match *operation {
            Operation::BranchExchange { rm, link } => {
                let target = self.get(rm, step.place);
                if link {
                    self.link(next | u32::from(step.place.thumb));
                }
                (target, Exit::Exchange)
            }
            Operation::BranchSuffix { offset, exchange } => {
                let (lr, offset) = (self.get(Register::LR, step.place), self.word(offset));
                let target = self.b.ins().iadd(lr, offset);
                self.link(next | 1);
                (self.with_state(target, !exchange), Exit::Exchange)
            }
            Operation::Transfer(transfer) => (self.load_target(step, &transfer), Exit::Exchange),
            Operation::BlockTransfer(transfer) => {
                (self.load_several(step, &transfer), Exit::Exchange)
            }
            _ => (self.data_result(step, false), Exit::Jump),
        };
        self.spend(step.executed.cycles, Tally::INSTRUCTION);
        self.indirect(step, target, exit);
    }

    fn link(&mut self, value: u32) {
        let value = self.word(value);
        self.set(Register::LR, value);
    }

    /// Sets the state bit of a target.
    fn with_state(&mut self, target: Value, thumb: bool) -> Value {
        if thumb {
            let one = self.word(1);
            self.b.ins().bor(target, one)
        } else {
            let mask = self.word(!3);
            self.b.ins().band(target, mask)
        }
    }

    /// Jumps to a target known at run time: a return address in this region, or an exit.
    fn indirect(&mut self, step: &Step, target: Value, exit: Exit) {
        self.settle();
        self.keep_registers(0);
        let (mut switch, mut targets) = (Switch::new(), Vec::new());
        let from = step.place;
        for &place in &self.plan.returns {
            let key = Key { place, pipeline: step.executed.after };
            let Some(node) = self.plan.find(key) else { continue };
            let reachable = exit == Exit::Exchange || place.thumb == from.thumb;
            if reachable {
                let state = u32::from(place.thumb && exit == Exit::Exchange);
                let block = self.b.create_block();
                switch.set_entry(u128::from(place.at | state), block);
                targets.push((place, node, block));
            }
        }
        let out = self.b.create_block();
        switch.emit(&mut self.b, target, out);
        self.b.switch_to_block(out);
        self.store_frame(target, at::TARGET);
        let site = self.site((from, from.line()), step.executed.after, exit);
        self.leave(site);
        let path = self.path;
        for (place, node, block) in targets {
            self.b.switch_to_block(block);
            self.path = path;
            self.adjust(0, entered(from, place));
            self.go(from, node);
        }
    }

    /// Jumps to a node from the instruction at `from`.
    pub(super) fn go(&mut self, from: Place, node: usize) {
        let Carried { registers, left } = self.carried[node].clone();
        for (register, variable) in registers {
            let value = self.register(register);
            self.b.def_var(variable, value);
        }
        self.move_left(left);
        let carried = self.plan.nodes[node].carried;
        self.store_registers(!carried);
        let entry_block = self.entry_block(from, node);
        self.b.ins().jump(entry_block, &[]);
    }

    /// Continues from the instruction at `from` with the node `key`, or exits.
    pub(super) fn edge(&mut self, from: Place, key: Key) {
        let node = self.plan.find(key);
        if let Some(index) = node {
            if self.plan.nodes[index].continues {
                self.keep_registers(self.plan.nodes[self.path.root].carried);
                self.node(index, from.line());
                return;
            }
            self.path.tally = self.path.tally.plus(entered(from, key.place));
        }
        self.settle();
        if let Some(node) = node {
            self.go(from, node);
        } else {
            let site = self.site((key.place, from.line()), key.pipeline, Exit::Here);
            self.leave(site);
        }
    }

    /// The block with the checks of a jump from `from` to `node`, which is counted if it enters a line.
    fn entry_block(&mut self, from: Place, node: usize) -> Block {
        let b = &mut self.b;
        *self.entries.entry((node, from.line())).or_insert_with(|| b.create_block())
    }

    /// Generates the entry blocks of all nodes.
    pub(super) fn entry_blocks(&mut self) {
        for ((index, from), block) in std::mem::take(&mut self.entries) {
            let node = &self.plan.nodes[index];
            let Key { place, pipeline } = node.key;
            self.begin(index, block);
            let site = self.site((place, from), pipeline, Exit::Here);
            self.check_cycles((node.cycles_max, from != place.line()), site);
            let known = node.known & line_set(&self.plan.lines, place.line()) != 0;
            if from != place.line() && !known {
                self.check_line((place, true), site);
            }
            let body = self.bodies[&index];
            self.b.ins().jump(body, &[]);
        }
    }

    /// Enters the line of `step`, on the path from the last check of the budget, from the line `from`.
    pub(super) fn cross_line(&mut self, step: &Step, from: u32) {
        let line = line_set(&self.plan.lines, step.place.line());
        if self.path.lines & line == 0 {
            let site = self.site((step.place, from), step.before, Exit::Here);
            self.check_line((step.place, false), site);
            self.path.lines |= line;
        }
        self.path.tally = self.path.tally.plus(Tally::LINE);
    }

    /// Continues if the budget exceeds `cycles`, after a refill if need be; exits otherwise. `counted`
    /// says whether the frame's counts include the line that is entered next.
    fn check_cycles(&mut self, (cycles, counted): (u32, bool), site: u32) {
        let needed = self.double(i64::from(cycles));
        let left = self.left();
        let enough = self.b.ins().icmp(IntCC::SignedGreaterThan, left, needed);
        let (on, ask) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(ask);
        self.b.ins().brif(enough, on, &[], ask, &[]);
        self.b.switch_to_block(ask);
        self.call(self.imports.refill, [cycles, u32::from(counted)]);
        self.leave_on_status(on, site);
    }

    /// Continues if the line of `place` hits with the compiled contents; exits otherwise. `counted` says
    /// whether the frame's counts include it.
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small tables")]
    fn check_line(&mut self, (place, counted): (Place, bool), site: u32) {
        let known = self.lines.iter().position(|line| line.is_of(place.at));
        let number = known.expect("a line of the plan");
        // The stamp, the upper half of the entry, belongs to one line with one contents.
        let offset = std::mem::offset_of!(Hits, lines)
            + size_of::<LineHit>() * Hits::line_place(place.at)
            + size_of::<u32>();
        let flags = MemFlagsData::trusted();
        let stamp = self.b.ins().load(types::I32, flags, self.hits, offset as i32);
        let wanted = self.word(self.lines[number].stamp());
        let hits = self.b.ins().icmp(IntCC::Equal, stamp, wanted);
        let (on, ask) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(ask);
        self.b.ins().brif(hits, on, &[], ask, &[]);
        self.b.switch_to_block(ask);
        self.call_without_budget(self.imports.line, [number as u32, u32::from(counted)]);
        self.leave_on_status(on, site);
    }

    /// Exits at `site` if the frame's status is not zero; otherwise continues at `on`.
    fn leave_on_status(&mut self, on: Block, site: u32) {
        let status = self.status();
        let out = self.b.create_block();
        self.b.set_cold_block(out);
        self.b.ins().brif(status, out, &[], on, &[]);
        self.b.switch_to_block(out);
        self.leave(site);
        self.b.switch_to_block(on);
    }

    /// Calls a thunk of a function that has the budget in the frame.
    pub(super) fn call(&mut self, address: u64, arguments: [u32; 2]) {
        let left = self.path.left;
        self.move_left(None);
        self.call_without_budget(address, arguments);
        self.move_left(left);
    }

    /// Calls a thunk of a function without use of the budget.
    fn call_without_budget(&mut self, address: u64, arguments: [u32; 2]) {
        for (offset, argument) in [0, 4].into_iter().zip(arguments) {
            let argument = self.word(argument);
            self.store_frame(argument, at::ARGUMENTS + offset);
        }
        let callee = self.double(address.cast_signed());
        self.b.ins().call_indirect(self.thunk, callee, &[self.frame, self.hits]);
    }

    /// Adds a site with the pending cycles and counts, in front of `place`, while `line` is current.
    fn site(&mut self, (place, line): (Place, u32), pipeline: Pipeline, exit: Exit) -> u32 {
        let site = self.here((place, line), pipeline);
        self.note_site(Site { exit, ..site })
    }

    /// A site with the pending cycles and counts.
    const fn here(&self, (place, line): (Place, u32), pipeline: Pipeline) -> Site {
        let Path { cycles, tally, rest, .. } = self.path;
        Site {
            place,
            line,
            pipeline,
            cycles,
            tally,
            rest,
            exit: Exit::Here,
            instruction: None,
            jumps: false,
            executed: 0,
        }
    }

    /// Adds a site before `step`, which the reference executes.
    pub(super) fn site_of(&mut self, step: &Step) -> u32 {
        let site = self.here((step.place, step.place.line()), step.before);
        let (instruction, executed) = (Some(step.instruction), step.executed.cycles);
        let jumps = class(&step.instruction) == Class::Jump;
        self.note_site(Site { instruction, jumps, executed, ..site })
    }

    fn note_site(&mut self, site: Site) -> u32 {
        self.sites.push(site);
        u32::try_from(self.sites.len() - 1).unwrap_or(u32::MAX)
    }

    /// Stores what only host registers have, and exits.
    pub(super) fn leave(&mut self, site: u32) {
        let path = self.path;
        self.store_flags();
        self.store_registers(RegisterSet::MAX);
        self.move_left(None);
        self.path = path;
        let site = self.word(site);
        self.b.ins().jump(self.exit, &[site.into()]);
    }
}

/// The count of a jump: whether it enters another line.
fn entered(from: Place, to: Place) -> Tally {
    if from.line() == to.line() { Tally::default() } else { Tally::LINE }
}
