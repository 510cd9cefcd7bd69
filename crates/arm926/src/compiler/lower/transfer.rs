//! Loads and stores: through the look-aside where it knows the line, else by the reference.
//!
//! Layer: rank 3. Nothing of the instruction is done before all its lines are found, so the reference can execute it as a whole.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};

use super::super::class::{Class, class};
use super::super::frame::{Tally, at, status};
use super::super::plan::{Place, Step};
use super::Lower;
use crate::address::LINE;
use crate::instruction::{BlockTransfer, Item, Offset, Operation, Register, Transfer};
use crate::memory::lookaside::{DATA_ENTRIES, DataHit, HALF, Hits};

/// A table of the look-aside, and the bytes that one entry covers.
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

/// Where the tag's fellow is in an entry of a table.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a small structure")]
const SHIFT: i32 = std::mem::offset_of!(DataHit, shift) as i32;

/// Where one word of several lies: the start of its unit, and what is added to an address there for its place in the data cache.
#[derive(Clone, Copy)]
struct Unit {
    start: Value,
    shift: Value,
}

impl Lower<'_> {
    /// A load or store of one item that is no jump.
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
            self.hand_over(slow, address, step);
        } else {
            self.access(slow, (address, moved), step, transfer);
        }
        self.join(done, accesses(transfer.load).times(count));
    }

    /// Writes the block where one item is loaded or stored that the look-aside does not know.
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
        self.call(self.ties.access, site);
        let left = self.load_frame(types::I64, at::LEFT);
        self.b.def_var(self.variables.left, left);
        let [write, on, out, told] = [(); 4].map(|()| self.b.create_block());
        for block in [write, on, out, told] {
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
        self.b.ins().brif(status, told, &[], on, &[]);
        for block in [out, told] {
            self.b.switch_to_block(block);
            self.leave(site);
        }
        self.b.switch_to_block(on);
    }

    /// A load of r15: where it leads.
    pub(super) fn load_target(&mut self, step: &Step, transfer: &Transfer) -> Value {
        let (address, moved) = self.addresses(step.place, transfer);
        let (found, host) = self.find(address, transfer);
        let slow = self.split(found);
        let fast = self.b.current_block();
        self.hand_over(slow, address, step);
        if let Some(fast) = fast {
            self.b.switch_to_block(fast);
        }
        let [target, _] = self.load_item(Item::Word, host);
        self.write_base(transfer, moved);
        self.tally = self.tally.plus(Tally::READ);
        target
    }

    /// LDM without r15, and STM.
    pub(super) fn several(&mut self, step: &Step, transfer: &BlockTransfer) {
        let (address, moved) = self.block_addresses(transfer);
        let (found, units) = self.find_all(address, transfer);
        let done = self.b.create_block();
        let slow = self.split(found);
        self.move_all(step, transfer, &units, (address, moved));
        self.b.ins().jump(done, &[]);
        self.hand_over(slow, address, step);
        self.join(done, accesses(transfer.load).times(transfer.words()));
    }

    /// LDM with r15: where it leads.
    pub(super) fn load_several(&mut self, step: &Step, transfer: &BlockTransfer) -> Value {
        let (address, moved) = self.block_addresses(transfer);
        let (found, units) = self.find_all(address, transfer);
        let slow = self.split(found);
        let fast = self.b.current_block();
        self.hand_over(slow, address, step);
        if let Some(fast) = fast {
            self.b.switch_to_block(fast);
        }
        self.tally = self.tally.plus(Tally::READ.times(transfer.words()));
        self.move_all(step, transfer, &units, (address, moved))
    }

    /// An instruction that is always executed by the reference.
    pub(super) fn call_reference(&mut self, step: &Step) {
        self.reference(step);
    }

    /// Branches: the current block becomes the one where `found` holds; the other one, which is rare.
    fn split(&mut self, found: Value) -> Block {
        let (fast, slow) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        self.b.ins().brif(found, fast, &[], slow, &[]);
        self.b.switch_to_block(fast);
        slow
    }

    /// Writes the block where the reference takes over.
    fn hand_over(&mut self, slow: Block, address: Value, step: &Step) {
        self.b.switch_to_block(slow);
        self.store_frame(address, at::ADDRESS);
        self.reference(step);
    }

    /// Goes on at `done` from the reference, which counts for itself what the other way counts by `tally`.
    fn join(&mut self, done: Block, tally: Tally) {
        self.adjust(0, Tally::default().minus(tally));
        self.tally = self.tally.plus(tally);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Has the reference execute `step`; leaves if it says so, and always behind a jump.
    fn reference(&mut self, step: &Step) {
        let site = self.site_of(step);
        let left = self.b.use_var(self.variables.left);
        self.store_frame(left, at::LEFT);
        self.call(self.ties.instruction, site);
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

    /// The address of an access, and what the base becomes if it changes.
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

    /// Whether the look-aside knows the place of one item, which is aligned; where it is then.
    fn find(&mut self, address: Value, transfer: &Transfer) -> (Value, Value) {
        let (found, shift) = self.look(address, table(transfer.load), transfer.item.bytes());
        (found, self.host_of(address, shift))
    }

    /// Where the byte at `address` is on the host.
    fn host_of(&mut self, address: Value, shift: Value) -> Value {
        let offset = self.b.ins().iadd(address, shift);
        let offset = self.b.ins().uextend(types::I64, offset);
        self.b.ins().iadd(self.data, offset)
    }

    /// Whether `table` knows the unit of `address`, which is a multiple of `size`; what is added to an address there for its place in the data cache.
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

    /// The address of the lowest word of a block, and what the base becomes.
    fn block_addresses(&mut self, transfer: &BlockTransfer) -> (Value, Value) {
        let base = self.b.use_var(self.variables.r[transfer.rn.index()]);
        let [lowest, moved] = [transfer.first(), transfer.moved()].map(|distance| {
            let distance = self.word(distance.cast_unsigned());
            self.b.ins().iadd(base, distance)
        });
        (lowest, moved)
    }

    /// Whether the look-aside knows all units of a block, which is aligned and does not go beyond the highest address.
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
                    // Not beyond the last one, nor beyond the highest address.
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

    /// Moves all words of a block, whose units are found, and then the base; what is loaded into r15.
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

    /// Where word `number` of a block from `address` on is on the host.
    fn host(&mut self, units: &[Unit], address: Value, (number, table): (usize, Table)) -> Value {
        let bytes = 4 * u32::try_from(number).unwrap_or(0);
        let distance = self.word(bytes);
        let address = self.b.ins().iadd(address, distance);
        let unit = (bytes / table.unit) as usize;
        let mut shift = units[unit].shift;
        // The first word of a unit's length may be anywhere in its unit; this one is there, or in the next.
        if let Some(next) = units.get(unit + 1).filter(|_| bytes % table.unit != 0) {
            let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, address, next.start);
            shift = self.b.ins().select(beyond, next.shift, shift);
        }
        self.host_of(address, shift)
    }
}

/// The count of one access.
const fn accesses(load: bool) -> Tally {
    if load { Tally::READ } else { Tally::WRITE }
}

/// The registers that the reference may have written, bit n for register n.
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
