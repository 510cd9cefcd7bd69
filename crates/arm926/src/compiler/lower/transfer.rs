//! Loads and stores: through the look-aside if it hits, otherwise by the reference.
//!
//! Layer: rank 3. An instruction has no effect before all its lines hit: the reference can still
//! execute it.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};

use super::super::class::{Class, class};
use super::super::frame::{Tally, at, status};
use super::super::plan::{Place, Step};
use super::Lower;
use crate::address::LINE;
use crate::instruction::{BlockTransfer, Item, Offset, Operation, Register, Transfer};
use crate::memory::lookaside::{DATA_ENTRIES, DataHit, HALF, Hits};

/// A table of the look-aside, and the bytes that an entry covers.
#[derive(Clone, Copy)]
struct Table {
    offset: i32,
    unit: u32,
}

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "some kilobytes")]
const fn table(load: bool) -> Table {
    if load {
        Table { offset: std::mem::offset_of!(Hits, reads) as i32, unit: LINE }
    } else {
        Table { offset: std::mem::offset_of!(Hits, writes) as i32, unit: HALF }
    }
}

/// The offset of the shift in a table entry.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a small structure")]
const SHIFT: i32 = std::mem::offset_of!(DataHit, shift) as i32;

/// A unit of a block transfer: its first address, and the shift of its table entry.
#[derive(Clone, Copy)]
struct Unit {
    start: Value,
    shift: Value,
}

impl Lower<'_> {
    /// Generates a load or store of one item that is not a jump.
    pub(super) fn single(&mut self, step: &Step, transfer: &Transfer) {
        let (address, moved) = self.addresses(step.place, transfer);
        let (found, host) = self.find(address, transfer);
        let done = self.b.create_block();
        let slow = self.split(found);
        let double = transfer.item == Item::Double;
        let count = 1 + u32::from(double);
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
        self.b.ins().jump(done, &[]);
        if double {
            self.fall_back(slow, address, step);
        } else {
            self.access(slow, (address, moved), step, transfer);
        }
        self.join(done, accesses(transfer.load).times(count));
    }

    /// Generates the slow path of a load or store of one item.
    fn access(
        &mut self,
        slow: Block,
        (address, moved): (Value, Value),
        step: &Step,
        transfer: &Transfer,
    ) {
        self.b.switch_to_block(slow);
        self.store_frame(address, at::ADDRESS);
        if !transfer.load {
            let value = self.get_late(transfer.rd, step.place);
            self.store_frame(value, at::VALUE);
        }
        let left = self.b.use_var(self.variables.left);
        self.store_frame(left, at::LEFT);
        let site = self.site_of(step);
        let access = if transfer.load { self.imports.load } else { self.imports.store };
        self.call(access, site);
        let left = self.load_frame(types::I64, at::LEFT);
        self.b.def_var(self.variables.left, left);
        let [write, on, out, exit] = [(); 4].map(|()| self.b.create_block());
        for block in [write, on, out, exit] {
            self.b.set_cold_block(block);
        }
        let status = self.load_frame(types::I32, at::STATUS);
        let leave = self.word(status::LEAVE);
        let leave = self.b.ins().icmp(IntCC::Equal, status, leave);
        self.b.ins().brif(leave, out, &[], write, &[]);
        self.b.switch_to_block(write);
        self.write_base(transfer, moved);
        if transfer.load {
            let value = self.load_frame(types::I32, at::VALUE);
            self.set(transfer.rd, value);
        }
        self.b.ins().brif(status, exit, &[], on, &[]);
        for block in [out, exit] {
            self.b.switch_to_block(block);
            self.leave(site);
        }
        self.b.switch_to_block(on);
    }

    /// A load of r15; returns the target.
    pub(super) fn load_target(&mut self, step: &Step, transfer: &Transfer) -> Value {
        let (address, moved) = self.addresses(step.place, transfer);
        let (found, host) = self.find(address, transfer);
        let slow = self.split(found);
        let fast = self.b.current_block();
        self.fall_back(slow, address, step);
        if let Some(fast) = fast {
            self.b.switch_to_block(fast);
        }
        let [target, _] = self.load_item(Item::Word, host);
        self.write_base(transfer, moved);
        self.tally = self.tally.plus(Tally::READ);
        target
    }

    /// Generates LDM without r15, and STM.
    pub(super) fn several(&mut self, step: &Step, transfer: &BlockTransfer) {
        let (address, moved) = self.block_addresses(transfer);
        let (found, units) = self.find_all(address, transfer);
        let done = self.b.create_block();
        let slow = self.split(found);
        self.move_all(step, transfer, &units, (address, moved));
        self.b.ins().jump(done, &[]);
        self.fall_back(slow, address, step);
        self.join(done, accesses(transfer.load).times(transfer.words()));
    }

    /// LDM with r15; returns the target.
    pub(super) fn load_several(&mut self, step: &Step, transfer: &BlockTransfer) -> Value {
        let (address, moved) = self.block_addresses(transfer);
        let (found, units) = self.find_all(address, transfer);
        let slow = self.split(found);
        let fast = self.b.current_block();
        self.fall_back(slow, address, step);
        if let Some(fast) = fast {
            self.b.switch_to_block(fast);
        }
        self.tally = self.tally.plus(Tally::READ.times(transfer.words()));
        self.move_all(step, transfer, &units, (address, moved))
    }

    /// Generates an instruction that the reference always executes.
    pub(super) fn call_reference(&mut self, step: &Step) {
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

    /// Generates the slow path, where the reference executes `step`.
    fn fall_back(&mut self, slow: Block, address: Value, step: &Step) {
        self.b.switch_to_block(slow);
        self.store_frame(address, at::ADDRESS);
        self.reference(step);
    }

    /// Joins the slow path at `done`. `tally` is that of the fast path; the reference counts its own.
    fn join(&mut self, done: Block, tally: Tally) {
        self.adjust(0, Tally::default().minus(tally));
        self.tally = self.tally.plus(tally);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Calls the reference for `step`; exits if the status demands it, and always after a jump.
    fn reference(&mut self, step: &Step) {
        let site = self.site_of(step);
        let left = self.b.use_var(self.variables.left);
        self.store_frame(left, at::LEFT);
        self.call(self.imports.instruction, site);
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
        let left = self.load_frame(types::I64, at::LEFT);
        self.b.def_var(self.variables.left, left);
        for index in 0..15 {
            if written(&step.instruction.operation) >> index & 1 != 0 {
                self.reload(index);
            }
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
        let (found, shift) = self.look(address, table(transfer.load), transfer.item.bytes());
        (found, self.host_of(address, shift))
    }

    /// The host address of the byte at `address`.
    fn host_of(&mut self, address: Value, shift: Value) -> Value {
        let offset = self.b.ins().iadd(address, shift);
        let offset = self.b.ins().uextend(types::I64, offset);
        self.b.ins().iadd(self.data, offset)
    }

    /// Looks up the unit of `address`: whether it hits with the alignment `size`, and its shift.
    fn look(&mut self, address: Value, table: Table, size: u32) -> (Value, Value) {
        let unit = self.word(table.unit.trailing_zeros());
        let most = self.word(u32::try_from(DATA_ENTRIES - 1).unwrap_or(0));
        let place = self.b.ins().ushr(address, unit);
        let place = self.b.ins().band(place, most);
        let place = self.b.ins().uextend(types::I64, place);
        let three = self.double(3);
        let place = self.b.ins().ishl(place, three);
        let place = self.b.ins().iadd(self.hits, place);
        let flags = MemFlagsData::trusted();
        let shift = self.b.ins().load(types::I32, flags, place, table.offset + SHIFT);
        let tag = self.b.ins().load(types::I32, flags, place, table.offset);
        let mask = self.word(!(table.unit - 1) | (size - 1));
        let wanted = self.b.ins().band(address, mask);
        (self.b.ins().icmp(IntCC::Equal, wanted, tag), shift)
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
        let base = self.b.use_var(self.variables.r[transfer.rn.index()]);
        let [lowest, moved] = [transfer.first(), transfer.moved()].map(|distance| {
            let distance = self.word(distance.cast_unsigned());
            self.b.ins().iadd(base, distance)
        });
        (lowest, moved)
    }

    /// Whether all units of a block transfer hit, and it is aligned and does not wrap around.
    fn find_all(&mut self, address: Value, transfer: &BlockTransfer) -> (Value, Vec<Unit>) {
        let table = table(transfer.load);
        let bytes = 4 * transfer.words();
        let units = (table.unit - 4 + bytes - 1) / table.unit + 1;
        let (mask, span) = (self.word(!(table.unit - 1)), self.word(bytes - 4));
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
                    let distance = self.word(number * table.unit);
                    let span = self.b.ins().isub(last, first);
                    let distance = self.b.ins().umin(distance, span);
                    self.b.ins().iadd(first, distance)
                }
            };
            let (known, shift) = self.look(probe, table, 4);
            found = self.b.ins().band(found, known);
            let start = if number == 0 { first } else { probe };
            places.push(Unit { start, shift });
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
            let host = self.host(units, address, (number, table(transfer.load)));
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
    fn host(&mut self, units: &[Unit], address: Value, (number, table): (usize, Table)) -> Value {
        let bytes = 4 * u32::try_from(number).unwrap_or(0);
        let distance = self.word(bytes);
        let address = self.b.ins().iadd(address, distance);
        let unit = (bytes / table.unit) as usize;
        let mut shift = units[unit].shift;
        // The block may begin anywhere in its first unit, so this word is in this unit or the next.
        if let Some(next) = units.get(unit + 1).filter(|_| bytes % table.unit != 0) {
            let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, address, next.start);
            shift = self.b.ins().select(beyond, next.shift, shift);
        }
        self.host_of(address, shift)
    }
}

/// The tally of one access.
const fn accesses(load: bool) -> Tally {
    if load { Tally::READ } else { Tally::WRITE }
}

/// The registers that the reference may write: bit n for register n.
fn written(operation: &Operation) -> u16 {
    let base = |writes: bool, rn: Register| u16::from(writes) << rn.index();
    match *operation {
        Operation::Transfer(transfer) => {
            let Transfer { load, item, rd, rn, .. } = transfer;
            let loaded = match (load, item) {
                (false, _) => 0,
                (true, Item::Double) => 1 << rd.index() | 1 << rd.odd().index(),
                (true, _) => 1 << rd.index(),
            };
            loaded | base(transfer.writes_base(), rn)
        }
        Operation::BlockTransfer(BlockTransfer { load, rn, list, writeback, .. }) => {
            (if load { list } else { 0 }) | base(writeback, rn)
        }
        _ => u16::MAX,
    }
}
