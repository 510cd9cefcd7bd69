//! Loads and stores of one item, and SWP.
//!
//! Layer: rank 3. The base is written after the access, so that an abort does not change it, and a
//! loaded register after the base. Source: ARM DDI 0100E, A5.2, A5.3 and A4.1.

use super::{End, exchange, jump, offset, read, read_late, write};
use crate::address::Virtual;
use crate::bus::{Bus, Width};
use crate::instruction::{Index, Item, Offset, Register, Transfer};
use crate::memory::{Abort, Access};
use crate::processor::Processor;
use crate::timing::Outcome;

/// LDR, STR and their variants.
#[inline]
pub(super) fn single<B: Bus>(processor: &mut Processor<B>, transfer: &Transfer, at: u32) -> End {
    let registers = &processor.registers;
    let base = match transfer.offset {
        Offset::Literal(_) => read(registers, transfer.rn, at) & !3,
        _ => read(registers, transfer.rn, at),
    };
    let moved = base.wrapping_add(offset(registers, &transfer.offset, at));
    let place = Place {
        address: transfer.address(base, moved),
        privileged: transfer.index != Index::PostUser && registers.cpsr().privileged(),
    };
    let done = if transfer.load {
        load(processor, transfer, place, moved)
    } else {
        store(processor, transfer, place, at).map(|()| {
            write_base(processor, transfer, moved);
            Outcome::Executed
        })
    };
    done.map_or_else(End::Abort, End::Done)
}

/// The address of a transfer, and the privilege of its access.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) address: u32,
    pub(super) privileged: bool,
}

impl Place {
    pub(super) const fn access(self, width: Width) -> Access {
        Access { at: Virtual(self.address), width, privileged: self.privileged }
    }

    /// The following word.
    const fn next(self) -> Self {
        Self { address: self.address.wrapping_add(4), ..self }
    }
}

/// Reads at `place`.
#[inline]
pub(super) fn read_at<B: Bus>(
    processor: &mut Processor<B>,
    place: Place,
    width: Width,
) -> Result<u32, Abort> {
    let Processor { memory, bus, now, .. } = processor;
    memory.read(place.access(width), bus, now)
}

/// Writes at `place`.
#[inline]
pub(super) fn write_at<B: Bus>(
    processor: &mut Processor<B>,
    place: Place,
    width: Width,
    value: u32,
) -> Result<(), Abort> {
    let Processor { memory, bus, now, .. } = processor;
    memory.write(place.access(width), value, bus, now)
}

/// Performs the write-back of the base, if the transfer has one.
#[inline]
fn write_base<B: Bus>(processor: &mut Processor<B>, transfer: &Transfer, moved: u32) {
    if transfer.writes_base() {
        write(&mut processor.registers, transfer.rn, moved);
    }
}

#[inline]
fn load<B: Bus>(
    processor: &mut Processor<B>,
    transfer: &Transfer,
    place: Place,
    moved: u32,
) -> Result<Outcome, Abort> {
    let item = transfer.item;
    let bits = read_at(processor, place, item.width())?;
    if item == Item::Double {
        let second = read_at(processor, place.next(), Width::Word)?;
        write_base(processor, transfer, moved);
        put(processor, transfer.rd, bits);
        put(processor, transfer.rd.odd(), second);
        return Ok(Outcome::Executed);
    }
    let rotation = if item == Item::Word { 8 * (place.address & 3) } else { 0 };
    write_base(processor, transfer, moved);
    put(processor, transfer.rd, item.loaded(bits).rotate_right(rotation));
    let unaligned = place.address & (item.bytes() - 1) != 0;
    Ok(if unaligned { Outcome::Unaligned } else { Outcome::Executed })
}

/// Writes a loaded value. In r15 bit 0 is the state, unless the L4 bit selects ARMv4 loads.
#[inline]
pub(super) fn put<B: Bus>(processor: &mut Processor<B>, rd: Register, value: u32) {
    match processor.registers.r.get_mut(rd.index()) {
        Some(place) => *place = value,
        None if processor.memory.armv4_loads() => jump(&mut processor.registers, value),
        None => exchange(&mut processor.registers, value),
    }
}

#[inline]
fn store<B: Bus>(
    processor: &mut Processor<B>,
    transfer: &Transfer,
    place: Place,
    at: u32,
) -> Result<(), Abort> {
    let value = read_late(&processor.registers, transfer.rd, at);
    let item = transfer.item;
    if item == Item::Double {
        let second = read_late(&processor.registers, transfer.rd.odd(), at);
        write_at(processor, place, Width::Word, value)?;
        return write_at(processor, place.next(), Width::Word, second);
    }
    write_at(processor, place, item.width(), item.stored(value))
}

/// SWP and SWPB: loads `rd` from, and stores `rm` to, the address in `rn`.
pub(super) fn swap<B: Bus>(
    processor: &mut Processor<B>,
    byte: bool,
    [rd, rm, rn]: [Register; 3],
    at: u32,
) -> End {
    let registers = &processor.registers;
    let privileged = registers.cpsr().privileged();
    let place = Place { address: read(registers, rn, at), privileged };
    let value = read_late(registers, rm, at);
    let low = place.address & 3;
    let (width, value, rotation, outcome) = match (byte, low) {
        (true, _) => (Width::Byte, value & 0xFF, 0, Outcome::Executed),
        (false, 0) => (Width::Word, value, 0, Outcome::Executed),
        (false, _) => (Width::Word, value, 8 * low, Outcome::Unaligned),
    };
    let swapped = read_at(processor, place, width)
        .and_then(|loaded| write_at(processor, place, width, value).map(|()| loaded));
    match swapped {
        Ok(loaded) => {
            write(&mut processor.registers, rd, loaded.rotate_right(rotation));
            End::Done(outcome)
        }
        Err(abort) => End::Abort(abort),
    }
}
