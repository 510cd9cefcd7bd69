//! LDM and STM.
//!
//! Layer: rank 3. The lowest register has the lowest address. All words are loaded before a register
//! changes, so that an abort changes no register. Source: ARM DDI 0100E, A5.4; for a base in the list
//! see [`super`].

use super::transfer::{Place, put, read_at, write_at};
use super::{End, read, read_late, return_to, write};
use crate::bus::{Bus, Width};
use crate::instruction::{BlockTransfer, Register};
use crate::memory::Abort;
use crate::processor::Processor;

/// LDM and STM.
pub(super) fn block<B: Bus>(
    processor: &mut Processor<B>,
    transfer: &BlockTransfer,
    at: u32,
) -> End {
    let base = read(&processor.registers, transfer.rn, at);
    let address = base.wrapping_add_signed(transfer.first());
    let moved = base.wrapping_add_signed(transfer.moved());
    let privileged = processor.registers.cpsr().privileged();
    let place = Place { address, privileged };
    let done = if transfer.load {
        load(processor, transfer, place, moved)
    } else {
        store(processor, transfer, place, at).map(|()| {
            if transfer.writes_base() {
                write(&mut processor.registers, transfer.rn, moved);
            }
        })
    };
    done.map_or_else(End::Abort, |()| End::EXECUTED)
}

fn load<B: Bus>(
    processor: &mut Processor<B>,
    transfer: &BlockTransfer,
    mut place: Place,
    moved: u32,
) -> Result<(), Abort> {
    let mut words = [0; 16];
    for register in transfer.registers() {
        words[register.index()] = read_at(processor, place, Width::Word)?;
        place = place.next();
    }
    let jumps = transfer.jumps();
    for register in transfer.registers() {
        let word = words[register.index()];
        if transfer.user && !jumps {
            processor.registers.set_user(register.index(), word);
        } else {
            write(&mut processor.registers, register, word);
        }
    }
    if transfer.writes_base() {
        write(&mut processor.registers, transfer.rn, moved);
    }
    if jumps && transfer.user {
        return_to(processor, words[15]);
    } else if jumps {
        put(processor, Register::PC, words[15]);
    }
    Ok(())
}

fn store<B: Bus>(
    processor: &mut Processor<B>,
    transfer: &BlockTransfer,
    mut place: Place,
    at: u32,
) -> Result<(), Abort> {
    for register in transfer.registers() {
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
