//! Accesses that are no known hits, performed by the memory system.
//!
//! Layer: rank 3. [`perform`] takes over from a step of `access`, which has computed the address and changed nothing. The order of accesses and of
//! changes of registers is that of `execute::transfer` and `execute::block`; what is not aligned is left to these. What hits from
//! then on is remembered.

use super::access::take_lowest;
use super::compute::canonical;
use super::step::{Leave, Miss, MissKind, Step, Working};
use crate::address::{Cycles, Virtual};
use crate::bus::{Bus, Width};
use crate::instruction::Item;
use crate::memory::{Abort, Access, Memory};

/// The memory system at an instant, with a privilege.
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
        self.memory.write(self.access(at, width), value, self.bus, self.now)
    }

    /// Remembers the lines that `bytes` from `at` on were read from.
    fn learn_read(&mut self, at: u32, bytes: u32) {
        self.memory.learn_last(Virtual(at), bytes, (self.privileged, false));
    }

    /// Remembers the half-lines that `bytes` from `at` on were written to, if no write missed since there were `misses`.
    fn learn_written(&mut self, at: u32, bytes: u32, misses: u64) {
        if self.memory.write_misses() == misses {
            self.memory.learn_last(Virtual(at), bytes, (self.privileged, true));
        }
    }
}

/// Performs the access that `step` missed, at `now`, which waits put later; how the step ends. Nothing where it is not aligned: nothing is done then.
///
/// # Errors
///
/// An [`Abort`], with the registers as before.
pub(super) fn perform<B: Bus>(
    core: &mut Working,
    step: &Step,
    (memory, bus): (&mut Memory, &mut B),
    now: &mut Cycles,
) -> Result<Option<Leave>, Abort> {
    let Miss { what, at, base } = core.progress.missed;
    let alignment = match what {
        MissKind::Load(item) | MissKind::Store(item) => item.bytes(),
        _ => 4,
    };
    if at & (alignment - 1) != 0 {
        return Ok(None);
    }
    let mut port = Port { memory, bus, now, privileged: core.privileged() };
    match what {
        MissKind::Load(item) => load(core, step, &mut port, item).map(Some),
        MissKind::LoadJump => {
            let value = port.read(at, Width::Word)?;
            port.learn_read(at, 4);
            core.set(step.n, base);
            core.progress.target = canonical(value);
            Ok(Some(Leave::DYNAMIC))
        }
        MissKind::Store(item) => store(core, step, &mut port, item).map(Some),
        MissKind::LoadSeveral => load_several(core, step, &mut port).map(Some),
        MissKind::LoadSeveralJump => {
            load_several(core, step, &mut port)?;
            core.progress.target = canonical(core.r[15]);
            Ok(Some(Leave::DYNAMIC))
        }
        MissKind::StoreSeveral => store_several(core, step, &mut port).map(Some),
    }
}

fn load<B: Bus>(
    core: &mut Working,
    step: &Step,
    port: &mut Port<'_, B>,
    item: Item,
) -> Result<Leave, Abort> {
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
    port.learn_read(at, item.bytes());
    Ok(Leave::EXECUTED)
}

fn store<B: Bus>(
    core: &mut Working,
    step: &Step,
    port: &mut Port<'_, B>,
    item: Item,
) -> Result<Leave, Abort> {
    let Miss { at, base, .. } = core.progress.missed;
    let misses = port.memory.write_misses();
    let value = core.get(step.d);
    if item == Item::Double {
        port.write(at, Width::Word, value)?;
        port.write(at.wrapping_add(4), Width::Word, core.get(step.d | 1))?;
    } else {
        port.write(at, item.width(), item.stored(value))?;
    }
    core.set(step.n, base);
    port.learn_written(at, item.bytes(), misses);
    Ok(Leave::EXECUTED)
}

fn load_several<B: Bus>(
    core: &mut Working,
    step: &Step,
    port: &mut Port<'_, B>,
) -> Result<Leave, Abort> {
    let Miss { at, base, .. } = core.progress.missed;
    let mut words = [0; 16];
    let mut list = step.imm;
    let mut place = at;
    while list != 0 {
        words[usize::from(take_lowest(&mut list))] = port.read(place, Width::Word)?;
        place = place.wrapping_add(4);
    }
    core.set(step.n, base);
    list = step.imm;
    while list != 0 {
        let register = take_lowest(&mut list);
        core.set(register, words[usize::from(register)]);
    }
    port.learn_read(at, 4 * u32::from(step.m));
    Ok(Leave::EXECUTED)
}

fn store_several<B: Bus>(
    core: &mut Working,
    step: &Step,
    port: &mut Port<'_, B>,
) -> Result<Leave, Abort> {
    let Miss { at, base, .. } = core.progress.missed;
    let misses = port.memory.write_misses();
    let mut list = step.imm;
    let mut place = at;
    while list != 0 {
        port.write(place, Width::Word, core.get(take_lowest(&mut list)))?;
        place = place.wrapping_add(4);
    }
    core.set(step.n, base);
    port.learn_written(at, 4 * u32::from(step.m), misses);
    Ok(Leave::EXECUTED)
}
