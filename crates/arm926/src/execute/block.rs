//! LDM and STM.
//!
//! Layer: rank 3. The lowest register has the lowest address. All words are loaded before a register
//! changes, so that an abort changes no register. Source: ARM DDI 0100E, A5.4; for a base in the list
//! see [`super`].

use super::transfer::{Place, put};
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
    place: Place,
    moved: u32,
) -> Result<(), Abort> {
    let mut words = [0; 16];
    let words = &mut words[..transfer.registers().count()];
    let Processor { memory, bus, now, .. } = &mut *processor;
    memory.read_words(place.access(Width::Word), words, bus, now)?;
    let jumps = transfer.jumps();
    let loaded = transfer.registers().zip(&*words);
    if transfer.user && !jumps {
        let mut user = processor.registers.user();
        loaded.for_each(|(register, word)| user[register.index()] = *word);
        processor.registers.set_user(user);
    } else {
        loaded.for_each(|(register, word)| write(&mut processor.registers, register, *word));
    }
    if transfer.writes_base() {
        write(&mut processor.registers, transfer.rn, moved);
    }
    // r15 is the highest register.
    if let Some(&target) = words.last().filter(|_| jumps) {
        if transfer.user {
            return_to(processor, target);
        } else {
            put(processor, Register::PC, target);
        }
    }
    Ok(())
}

fn store<B: Bus>(
    processor: &mut Processor<B>,
    transfer: &BlockTransfer,
    place: Place,
    at: u32,
) -> Result<(), Abort> {
    let mut words = [0; 16];
    let words = &mut words[..transfer.registers().count()];
    let registers = &processor.registers;
    let user = if transfer.user { Some(registers.user()) } else { None };
    for (register, word) in transfer.registers().zip(&mut *words) {
        *word = match user {
            Some(user) if register != Register::PC => user[register.index()],
            _ => read_late(registers, register, at),
        };
    }
    let Processor { memory, bus, now, .. } = processor;
    memory.write_words(place.access(Width::Word), words, bus, now)
}
