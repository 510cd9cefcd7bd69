//! Loads and stores: through the look-aside if it hits, otherwise by the reference.
//!
//! Layer: rank 3. An instruction has no effect before all its lines hit: the reference can still
//! execute it.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::Variable;

use super::super::class::{Class, class};
use super::super::frame::{Tally, Terms, at, status};
use super::super::plan::{Place, Step};
use super::values::{indices, place_of};
use super::{Lower, Path, Registers};
use crate::instruction::{BlockTransfer, Item, Offset, Register, Transfer};
use crate::memory::lookaside::{DataLayout, READS, WRITES};
use crate::timing::RegisterSet;

const fn layout(load: bool) -> DataLayout {
    if load { READS } else { WRITES }
}

/// The end of a fast and a slow path.
struct Join {
    done: Block,
    /// The registers that were known before.
    registers: Registers,
    /// Those that are not in the frame after the fast path.
    pending: RegisterSet,
    /// Those that both write.
    written: Vec<(usize, Variable)>,
}

/// A unit of a block transfer: its first address, and the host address of its table entry.
#[derive(Clone, Copy)]
struct Unit {
    start: Value,
    host: Value,
}

impl Lower<'_> {
    /// Generates a load or store of one item that is not a jump.
    pub(super) fn single(&mut self, step: &Step, transfer: &Transfer) {
        let (address, moved) = self.addresses(step.place, transfer);
        let double = transfer.item == Item::Double;
        let count = 1 + u32::from(double);
        if !transfer.load {
            // Both paths then know it.
            self.get_late(transfer.rd, step.place);
        }
        let (found, host) = self.find(address, transfer);
        let slow = self.split(found);
        let before = self.path;
        if transfer.load {
            let [first, second] = self.load_item(transfer.item, host);
            self.write_base(transfer, moved);
            self.set(transfer.rd, first);
            if double {
                self.set(transfer.rd.odd(), second);
            }
        } else {
            self.store_item(step, transfer, host);
            self.write_base(transfer, moved);
        }
        let join = self.end_fast(step, before);
        if double {
            self.fall_back(slow, address, step);
        } else {
            self.access(slow, (address, moved), step, transfer);
        }
        self.join(join, accesses(transfer.load).times(count));
    }

    /// Generates the slow path of a load or store of one item.
    fn access(
        &mut self,
        slow: Block,
        (address, moved): (Value, Value),
        step: &Step,
        transfer: &Transfer,
    ) {
        self.begin_slow(slow, address);
        if !transfer.load {
            let value = self.get_late(transfer.rd, step.place);
            self.store_frame(value, at::VALUE);
        }
        let site = self.site_of(step);
        let access = if transfer.load { self.imports.load } else { self.imports.store };
        let Path { cycles, rest, .. } = self.path;
        let terms = Terms { item: transfer.item, cycles, ahead: cycles + rest };
        self.call(access, [site, terms.pack()]);
        let [write, on, out, exit] = [(); 4].map(|()| self.b.create_block());
        for block in [write, on, out, exit] {
            self.b.set_cold_block(block);
        }
        let status = self.load_frame(types::I32, at::STATUS);
        let leave = self.word(status::LEAVE);
        let leave = self.b.ins().icmp(IntCC::Equal, status, leave);
        self.b.ins().brif(leave, out, &[], write, &[]);
        self.b.switch_to_block(out);
        self.leave(site);
        self.b.switch_to_block(write);
        self.write_base(transfer, moved);
        if transfer.load {
            let value = self.load_frame(types::I32, at::VALUE);
            self.set(transfer.rd, value);
        }
        self.b.ins().brif(status, exit, &[], on, &[]);
        self.b.switch_to_block(exit);
        self.leave(site);
        self.b.switch_to_block(on);
    }

    /// A load of r15; returns the target.
    pub(super) fn load_target(&mut self, step: &Step, transfer: &Transfer) -> Value {
        let (address, moved) = self.addresses(step.place, transfer);
        let (found, host) = self.find(address, transfer);
        let slow = self.split(found);
        self.leave_slowly(slow, address, step);
        let [target, _] = self.load_item(Item::Word, host);
        self.write_base(transfer, moved);
        self.path.tally = self.path.tally.plus(Tally::READ);
        target
    }

    /// Generates LDM without r15, and STM.
    pub(super) fn several(&mut self, step: &Step, transfer: &BlockTransfer) {
        let (address, moved) = self.block_addresses(transfer);
        let (found, units) = self.find_all(address, transfer);
        let slow = self.split(found);
        let before = self.path;
        self.move_all(step, transfer, &units, (address, moved));
        let join = self.end_fast(step, before);
        self.fall_back(slow, address, step);
        self.join(join, accesses(transfer.load).times(transfer.words()));
    }

    /// LDM with r15; returns the target.
    pub(super) fn load_several(&mut self, step: &Step, transfer: &BlockTransfer) -> Value {
        let (address, moved) = self.block_addresses(transfer);
        let (found, units) = self.find_all(address, transfer);
        let slow = self.split(found);
        self.leave_slowly(slow, address, step);
        self.path.tally = self.path.tally.plus(Tally::READ.times(transfer.words()));
        self.move_all(step, transfer, &units, (address, moved))
    }

    /// Generates an instruction that the reference always executes.
    pub(super) fn call_reference(&mut self, step: &Step) {
        self.store_registers(RegisterSet::MAX);
        self.reference(step);
    }

    /// Continues in the block where `found` holds; returns the other block, which is cold.
    fn split(&mut self, found: Value) -> Block {
        let (fast, slow) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        self.b.ins().brif(found, fast, &[], slow, &[]);
        self.b.switch_to_block(fast);
        slow
    }

    /// Begins the slow path of an access to `address`. The frame then has all registers.
    fn begin_slow(&mut self, slow: Block, address: Value) {
        self.b.switch_to_block(slow);
        self.store_registers(RegisterSet::MAX);
        self.store_frame(address, at::ADDRESS);
    }

    /// Generates the slow path, where the reference executes `step`.
    fn fall_back(&mut self, slow: Block, address: Value, step: &Step) {
        self.begin_slow(slow, address);
        self.reference(step);
    }

    /// Generates the slow path of a jump, and continues on the fast one.
    fn leave_slowly(&mut self, slow: Block, address: Value, step: &Step) {
        let (fast, path) = (self.b.current_block(), self.path);
        self.fall_back(slow, address, step);
        self.path = path;
        if let Some(fast) = fast {
            self.b.switch_to_block(fast);
        }
    }

    /// Ends the fast path of `step`, which began as `before`.
    fn end_fast(&mut self, step: &Step, before: Path) -> Join {
        let done = self.b.create_block();
        let (registers, pending) = (before.registers, self.path.written);
        let written = step.uses().written;
        debug_assert_eq!(pending & !before.written & !written, 0, "registers that are not joined");
        let mut join = Join { done, registers, pending, written: Vec::new() };
        for index in indices(written) {
            let Some(value) = self.path.registers[index] else { continue };
            let variable = self.b.declare_var(types::I32);
            self.b.def_var(variable, value);
            join.written.push((index, variable));
        }
        self.b.ins().jump(done, &[]);
        self.path = before;
        join
    }

    /// Joins the slow path to the fast one. `tally` is that of the fast path; the reference counts its
    /// own.
    fn join(&mut self, Join { done, registers, pending, written }: Join, tally: Tally) {
        self.adjust(0, Tally::default().minus(tally));
        self.path.tally = self.path.tally.plus(tally);
        for &(index, variable) in &written {
            let value = self.path.registers[index];
            let value = value.unwrap_or_else(|| self.load_frame(types::I32, place_of(index)));
            self.b.def_var(variable, value);
        }
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
        (self.path.registers, self.path.written) = (registers, pending);
        for (index, variable) in written {
            self.path.registers[index] = Some(self.b.use_var(variable));
        }
    }

    /// Calls the reference for `step`; exits if the status demands it, and always after a jump.
    fn reference(&mut self, step: &Step) {
        let site = self.site_of(step);
        self.call(self.imports.instruction, [site, 0]);
        if class(&step.instruction) == Class::Jump {
            self.leave(site);
            return;
        }
        let status = self.status();
        let (out, on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(out);
        self.b.ins().brif(status, out, &[], on, &[]);
        self.b.switch_to_block(out);
        self.leave(site);
        self.b.switch_to_block(on);
        for index in indices(step.uses().written) {
            self.path.registers[index] = None;
        }
    }

    /// The address of an access, and the base with the offset.
    fn addresses(&mut self, place: Place, transfer: &Transfer) -> (Value, Value) {
        let mut base = self.get(transfer.rn, place);
        if matches!(transfer.offset, Offset::Literal(_)) && transfer.rn == Register::PC {
            base = self.word(place.pipeline_pc() & !3);
        }
        let moved = match transfer.offset {
            Offset::Immediate(constant) | Offset::Literal(constant) => {
                let constant = self.word(constant.cast_unsigned());
                self.b.ins().iadd(base, constant)
            }
            Offset::Register { rm, shift, amount, subtract } => {
                let value = self.get(rm, place);
                let (offset, _) = self.shift_by_constant(value, shift, u32::from(amount), false);
                if subtract {
                    self.b.ins().isub(base, offset)
                } else {
                    self.b.ins().iadd(base, offset)
                }
            }
        };
        (transfer.address(base, moved), moved)
    }

    fn write_base(&mut self, transfer: &Transfer, moved: Value) {
        if transfer.writes_base() {
            self.set(transfer.rn, moved);
        }
    }

    /// Whether an item hits the look-aside and is aligned; its host address.
    fn find(&mut self, address: Value, transfer: &Transfer) -> (Value, Value) {
        let (found, host) = self.look(address, layout(transfer.load), transfer.item.bytes());
        (found, self.host_of(address, host))
    }

    /// The host address of the byte at `address`, whose table entry has this one.
    fn host_of(&mut self, address: Value, host: Value) -> Value {
        let address = self.b.ins().uextend(types::I64, address);
        self.b.ins().iadd(host, address)
    }

    /// Looks up the unit of `address`: whether it hits with the alignment `size`, and its host address.
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small offsets")]
    fn look(&mut self, address: Value, layout: DataLayout, size: u32) -> (Value, Value) {
        let DataLayout { unit, mask, tag, host } = layout;
        let mask = self.word(mask);
        let place = self.b.ins().band(address, mask);
        let place = self.b.ins().uextend(types::I64, place);
        let place = self.b.ins().iadd(self.hits, place);
        let flags = MemFlagsData::trusted();
        let [host, tag] = [(types::I64, host), (types::I32, tag)]
            .map(|(kind, offset)| self.b.ins().load(kind, flags, place, offset as i32));
        let mask = self.word(!(unit - 1) | (size - 1));
        // The entry's address goes into this from memory. One of no line differs in its place.
        let (differences, zero) = (self.b.ins().bxor(tag, address), self.word(0));
        let differences = self.b.ins().band(differences, mask);
        (self.b.ins().icmp(IntCC::Equal, differences, zero), host)
    }

    fn load_item(&mut self, item: Item, host: Value) -> [Value; 2] {
        let flags = MemFlagsData::new().with_notrap();
        let first = match item {
            Item::Word | Item::Double => self.b.ins().load(types::I32, flags, host, 0),
            Item::Byte => self.b.ins().uload8(types::I32, flags, host, 0),
            Item::SignedByte => self.b.ins().sload8(types::I32, flags, host, 0),
            Item::Half => self.b.ins().uload16(types::I32, flags, host, 0),
            Item::SignedHalf => self.b.ins().sload16(types::I32, flags, host, 0),
        };
        if item == Item::Double {
            let second = self.b.ins().load(types::I32, flags, host, 4);
            return [first, second];
        }
        [first, first]
    }

    fn store_item(&mut self, step: &Step, transfer: &Transfer, host: Value) {
        let flags = MemFlagsData::new().with_notrap();
        let value = self.get_late(transfer.rd, step.place);
        match transfer.item {
            Item::Word => self.b.ins().store(flags, value, host, 0),
            Item::Byte | Item::SignedByte => self.b.ins().istore8(flags, value, host, 0),
            Item::Half | Item::SignedHalf => self.b.ins().istore16(flags, value, host, 0),
            Item::Double => {
                let second = self.get_late(transfer.rd.odd(), step.place);
                self.b.ins().store(flags, value, host, 0);
                self.b.ins().store(flags, second, host, 4)
            }
        };
    }

    /// The lowest address of a block transfer, and the base after it.
    fn block_addresses(&mut self, transfer: &BlockTransfer) -> (Value, Value) {
        let base = self.register(transfer.rn);
        let [lowest, moved] = [transfer.first(), transfer.moved()].map(|distance| {
            let distance = self.word(distance.cast_unsigned());
            self.b.ins().iadd(base, distance)
        });
        (lowest, moved)
    }

    /// Whether all units of a block transfer hit, and it is aligned and does not wrap around.
    fn find_all(&mut self, address: Value, transfer: &BlockTransfer) -> (Value, Vec<Unit>) {
        let layout = layout(transfer.load);
        let bytes = 4 * transfer.words();
        let units = (layout.unit - 4 + bytes - 1) / layout.unit + 1;
        let (mask, span) = (self.word(!(layout.unit - 1)), self.word(bytes - 4));
        let end = self.b.ins().iadd(address, span);
        let last = self.b.ins().band(end, mask);
        let first = self.b.ins().band(address, mask);
        let mut found = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, address, end);
        let mut places = Vec::new();
        for number in 0..units {
            let probe = match number {
                0 => address,
                1 if units == 2 => last,
                _ => {
                    // At most the last unit, without wrapping around.
                    let distance = self.word(number * layout.unit);
                    let span = self.b.ins().isub(last, first);
                    let distance = self.b.ins().umin(distance, span);
                    self.b.ins().iadd(first, distance)
                }
            };
            let (known, host) = self.look(probe, layout, 4);
            found = self.b.ins().band(found, known);
            let start = if number == 0 { first } else { probe };
            places.push(Unit { start, host });
        }
        (found, places)
    }

    /// Transfers all words of a block, then writes the base; returns the value loaded into r15.
    fn move_all(
        &mut self,
        step: &Step,
        transfer: &BlockTransfer,
        units: &[Unit],
        (address, moved): (Value, Value),
    ) -> Value {
        let flags = MemFlagsData::new().with_notrap();
        let mut loaded = Vec::new();
        for (number, register) in transfer.registers().enumerate() {
            let host = self.host(units, address, (number, layout(transfer.load)));
            if transfer.load {
                loaded.push((register, self.b.ins().load(types::I32, flags, host, 0)));
            } else {
                let value = self.get_late(register, step.place);
                self.b.ins().store(flags, value, host, 0);
            }
        }
        for &(register, value) in &loaded {
            self.set(register, value);
        }
        if transfer.writes_base() {
            self.set(transfer.rn, moved);
        }
        loaded.last().map_or(moved, |&(_, value)| value)
    }

    /// The host address of word `number` of a block at `address`.
    fn host(
        &mut self,
        units: &[Unit],
        address: Value,
        (number, layout): (usize, DataLayout),
    ) -> Value {
        let bytes = 4 * u32::try_from(number).unwrap_or(0);
        let distance = self.word(bytes);
        let address = self.b.ins().iadd(address, distance);
        let unit = (bytes / layout.unit) as usize;
        let mut host = units[unit].host;
        // The block may begin anywhere in its first unit, so this word is in this unit or the next.
        if let Some(next) = units.get(unit + 1).filter(|_| bytes % layout.unit != 0) {
            let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, address, next.start);
            host = self.b.ins().select(beyond, next.host, host);
        }
        self.host_of(address, host)
    }
}

/// The tally of one access.
const fn accesses(load: bool) -> Tally {
    if load { Tally::READ } else { Tally::WRITE }
}
