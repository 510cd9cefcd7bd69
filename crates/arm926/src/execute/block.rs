//! LDM and STM.
//!
//! Layer: rank 3. The lowest register has the lowest address. All words are loaded before any register changes, so that an
//! abort leaves every register. Source: ARM DDI 0100E, A5.4; the base in the list: see [`super`].

use super::transfer::{Place, put, read_at, write_at};
use super::{End, read, read_late, return_to, write};
use crate::bus::{Bus, Width};
use crate::instruction::{BlockTransfer, Register};
use crate::memory::Abort;
use crate::processor::Processor;

/// Bytes that an empty list moves the base.
const EMPTY: u32 = 0x40;

/// LDM and STM.
pub(super) fn block<B: Bus>(
    processor: &mut Processor<B>,
    transfer: &BlockTransfer,
    at: u32,
) -> End {
    let base = read(&processor.registers, transfer.rn, at);
    let bytes = if transfer.list == 0 { EMPTY } else { 4 * transfer.list.count_ones() };
    let (lowest, moved) = if transfer.up {
        (base, base.wrapping_add(bytes))
    } else {
        (base.wrapping_sub(bytes), base.wrapping_sub(bytes))
    };
    let address = if transfer.before == transfer.up { lowest.wrapping_add(4) } else { lowest };
    let privileged = processor.registers.cpsr().mode().privileged();
    let place = Place { address, privileged };
    let done = if transfer.load {
        load(processor, transfer, place, moved)
    } else {
        store(processor, transfer, place, at).map(|()| {
            if transfer.writeback {
                write(&mut processor.registers, transfer.rn, moved);
            }
        })
    };
    done.map_or_else(End::Abort, |()| End::EXECUTED)
}

/// The registers of a list, in order.
fn registers(list: u16) -> impl Iterator<Item = Register> {
    (0..16).filter(move |&number| list >> number & 1 != 0).map(Register::field)
}

fn load<B: Bus>(
    processor: &mut Processor<B>,
    transfer: &BlockTransfer,
    mut place: Place,
    moved: u32,
) -> Result<(), Abort> {
    let mut words = [0; 16];
    for register in registers(transfer.list) {
        words[register.index()] = read_at(processor, place, Width::Word)?;
        place = place.next();
    }
    let jumps = transfer.list >> 15 != 0;
    for register in registers(transfer.list & 0x7FFF) {
        let word = words[register.index()];
        if transfer.user && !jumps {
            processor.registers.set_user(register.index(), word);
        } else {
            write(&mut processor.registers, register, word);
        }
    }
    if transfer.writeback && !base_stays(transfer) {
        write(&mut processor.registers, transfer.rn, moved);
    }
    if jumps && transfer.user {
        return_to(processor, words[15]);
    } else if jumps {
        put(processor, Register::PC, words[15]);
    }
    Ok(())
}

/// The base keeps what was loaded into it: it is the last of several.
const fn base_stays(transfer: &BlockTransfer) -> bool {
    let above = transfer.list >> transfer.rn.index();
    above == 1 && transfer.list.count_ones() > 1
}

fn store<B: Bus>(
    processor: &mut Processor<B>,
    transfer: &BlockTransfer,
    mut place: Place,
    at: u32,
) -> Result<(), Abort> {
    for register in registers(transfer.list) {
        let value = if transfer.user && register != Register::PC {
            processor.registers.user(register.index())
        } else {
            read_late(&processor.registers, register, at)
        };
        write_at(processor, place, Width::Word, value)?;
        place = place.next();
    }
    Ok(())
}
