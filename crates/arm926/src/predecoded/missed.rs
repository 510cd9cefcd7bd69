//! Accesses that miss the look-aside, performed by the memory system.
//!
//! Layer: rank 3. [`perform`] continues a step of `access`, which has computed the address and changed
//! nothing. The order of accesses and register writes is that of `execute`, which also executes
//! unaligned accesses. What hits afterwards is added to the look-aside.

use super::access::take_lowest;
use super::compute::canonical;
use super::step::{Core, Exit, Miss, MissKind, Step};
use crate::address::{Cycles, Virtual};
use crate::bus::{Bus, Width};
use crate::instruction::Item;
use crate::memory::{Abort, Access, Memory};

/// The memory system at a time and privilege.
struct Port<'a, B> {
    memory: &'a mut Memory,
    bus: &'a mut B,
    now: &'a mut Cycles,
    privileged: bool,
}

impl<B: Bus> Port<'_, B> {
    const fn access(&self, at: u32, width: Width) -> Access {
        Access { at: Virtual(at), width, privileged: self.privileged }
    }

    fn read(&mut self, at: u32, width: Width) -> Result<u32, Abort> {
        self.memory.read(self.access(at, width), self.bus, self.now)
    }

    fn write(&mut self, at: u32, width: Width, value: u32) -> Result<(), Abort> {
        self.memory.write_quickly(self.access(at, width), value, self.bus, self.now)
    }

    fn read_words(&mut self, at: u32, values: &mut [u32]) -> Result<(), Abort> {
        self.memory.read_words(self.access(at, Width::Word), values, self.bus, self.now)
    }

    fn write_words(&mut self, at: u32, values: &[u32]) -> Result<(), Abort> {
        self.memory.write_words_quickly(self.access(at, Width::Word), values, self.bus, self.now)
    }
}

/// Performs the access of `step`, which missed, and adds its stalls to `now`. Returns the exit of the
/// step; `None`, with nothing done, if it is unaligned.
///
/// # Errors
///
/// An [`Abort`], with unchanged registers.
pub(super) fn perform<B: Bus>(
    core: &mut Core,
    step: &Step,
    (memory, bus): (&mut Memory, &mut B),
    now: &mut Cycles,
) -> Result<Option<Exit>, Abort> {
    let Miss { what, at, .. } = core.progress.missed;
    let (bytes, alignment) = match what {
        MissKind::Load(item) | MissKind::Store(item) => (item.bytes(), item.bytes()),
        MissKind::LoadJump => (4, 4),
        _ => (4 * u32::from(step.m), 4),
    };
    if at & (alignment - 1) != 0 {
        return Ok(None);
    }
    let mut port = Port { memory, bus, now, privileged: core.privileged() };
    let misses = port.memory.write_misses();
    match what {
        MissKind::Load(item) => load(core, step, &mut port, item)?,
        MissKind::LoadJump => load(core, step, &mut port, Item::Word)?,
        MissKind::LoadSeveral | MissKind::LoadSeveralJump => load_several(core, step, &mut port)?,
        MissKind::Store(item) => store(core, step, &mut port, item)?,
        MissKind::StoreSeveral => store_several(core, step, &mut port)?,
    }
    if port.memory.write_misses() == misses {
        let write = matches!(what, MissKind::Store(_) | MissKind::StoreSeveral);
        port.memory.learn_last(Virtual(at), bytes, (port.privileged, write));
    }
    if matches!(what, MissKind::LoadJump | MissKind::LoadSeveralJump) {
        core.progress.target = canonical(core.r[15]);
        return Ok(Some(Exit::DYNAMIC));
    }
    Ok(Some(Exit::EXECUTED))
}

/// Loads one item, or a pair of words, into `d`; r15 is the last register of the state.
fn load<B: Bus>(
    core: &mut Core,
    step: &Step,
    port: &mut Port<'_, B>,
    item: Item,
) -> Result<(), Abort> {
    let Miss { at, base, .. } = core.progress.missed;
    let value = port.read(at, item.width())?;
    if item == Item::Double {
        let second = port.read(at.wrapping_add(4), Width::Word)?;
        core.set(step.n, base);
        core.set(step.d, value);
        core.set(step.d | 1, second);
    } else {
        core.set(step.n, base);
        core.set(step.d, item.loaded(value));
    }
    Ok(())
}

fn store<B: Bus>(
    core: &mut Core,
    step: &Step,
    port: &mut Port<'_, B>,
    item: Item,
) -> Result<(), Abort> {
    let Miss { at, base, .. } = core.progress.missed;
    let value = core.get(step.d);
    if item == Item::Double {
        port.write(at, Width::Word, value)?;
        port.write(at.wrapping_add(4), Width::Word, core.get(step.d | 1))?;
    } else {
        port.write(at, item.width(), item.stored(value))?;
    }
    core.set(step.n, base);
    Ok(())
}

/// The registers in the list of `step`.
fn registers(step: &Step) -> impl Iterator<Item = u8> {
    let mut list = step.imm;
    (0..step.m).map(move |_| take_lowest(&mut list))
}

fn load_several<B: Bus>(core: &mut Core, step: &Step, port: &mut Port<'_, B>) -> Result<(), Abort> {
    let Miss { at, base, .. } = core.progress.missed;
    let mut values = [0; 16];
    port.read_words(at, &mut values[..usize::from(step.m)])?;
    core.set(step.n, base);
    registers(step).zip(values).for_each(|(register, value)| core.set(register, value));
    Ok(())
}

fn store_several<B: Bus>(
    core: &mut Core,
    step: &Step,
    port: &mut Port<'_, B>,
) -> Result<(), Abort> {
    let Miss { at, base, .. } = core.progress.missed;
    let mut values = [0; 16];
    registers(step).zip(&mut values).for_each(|(register, value)| *value = core.get(register));
    port.write_words(at, &values[..usize::from(step.m)])?;
    core.set(step.n, base);
    Ok(())
}
