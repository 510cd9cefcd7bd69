//! Accesses and lines that miss the look-aside, left to the memory system.
//!
//! Layer: rank 3. The functions continue steps of `access`, which have computed the address and changed
//! nothing. The order of accesses and register writes is that of `execute`, which also executes
//! unaligned accesses. What hits afterwards is added to the look-aside. An error is the exit of the
//! chain, if something comes before the next step. The accesses themselves are functions of their own
//! ([`at_its_time`]): without variables that others refer to, a step ends in a jump to the next one.

use super::access::{item, take_lowest};
use super::cache::CachedBlock;
use super::compute::canonical;
use super::port::{NoEntry, Port};
use super::step::{Cause, Core, Exit, Step, byte, dispatch};
use crate::address::{Cycles, Virtual};
use crate::bus::Width;
use crate::instruction::{Item, Operation, Register};
use crate::memory::lookaside::{LineHit, LineLookup};
use crate::memory::{Abort, Access};

/// An access that misses: its lowest address, and the base register after it.
pub(super) type Miss = [u32; 2];

const fn access(core: &Core, at: u32, width: Width) -> Access {
    Access { at: Virtual(at), width, privileged: core.privileged() }
}

const fn aligned(at: u32, bytes: u32) -> bool {
    at & (bytes - 1) == 0
}

/// Performs the access of the first of `steps` by `perform`, and adds its stalls to the base.
#[inline(never)]
fn at_its_time(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    perform: impl FnOnce(&mut Core, &mut Port<'_>, &mut Cycles) -> Result<(), Abort>,
) -> Result<(), Exit> {
    let source = port.code.source(steps.len());
    let begin = core.progress.base.wrapping_add(u64::from(source.before));
    let mut now = Cycles(begin);
    let performed = perform(core, port, &mut now);
    core.progress.stepped += 1;
    core.progress.base = core.progress.base.wrapping_add(now.0 - begin);
    if let Err(abort) = performed {
        port.abort = Some(abort);
        return Err(Exit::at(steps, Cause::DataAbort));
    }
    if port.memory.touched() {
        return Err(Exit::at(steps, Cause::Sampled));
    }
    let is_last = u32::from(source.piece) + 1 == port.code.count;
    if is_last || port.is_in_time(core) { Ok(()) } else { Err(Exit::at(steps, Cause::Boundary)) }
}

/// Goes on behind the first of `steps`.
#[inline(always)]
fn go_on(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    performed: Result<(), Exit>,
) -> Exit {
    match performed {
        Ok(()) => dispatch(core, steps.get(1..).unwrap_or(&[]), port),
        Err(exit) => exit,
    }
}

/// Loads one item, or a pair of words, into `d`.
#[inline(never)]
pub(super) fn load<const ITEM: u8>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    [at, base]: Miss,
) -> Exit {
    let [step, ..] = steps else { return Exit::EXECUTED };
    if !aligned(at, item(ITEM).bytes()) {
        return Exit::at(steps, Cause::Reference);
    }
    let loaded = at_its_time(core, steps, port, move |core, Port { memory, bus, .. }, now| {
        let item = item(ITEM);
        let value = memory.read(access(core, at, item.width()), *bus, now)?;
        if item == Item::Double {
            let second = memory.read(access(core, at.wrapping_add(4), Width::Word), *bus, now)?;
            core.set(step.n, base);
            core.set(step.d, value);
            core.set(step.d | 1, second);
        } else {
            core.set(step.n, base);
            core.set(step.d, item.loaded(value));
        }
        memory.learn_item(Virtual(at), (core.privileged(), false));
        Ok(())
    });
    go_on(core, steps, port, loaded)
}

/// Loads a word to r15.
#[inline(never)]
pub(super) fn load_jump(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    [at, base]: Miss,
) -> Exit {
    let [step, ..] = steps else { return Exit::EXECUTED };
    if !aligned(at, 4) {
        return Exit::at(steps, Cause::Reference);
    }
    let loaded = at_its_time(core, steps, port, move |core, Port { memory, bus, .. }, now| {
        let value = memory.read(access(core, at, Width::Word), *bus, now)?;
        core.set(step.n, base);
        core.progress.target = canonical(value);
        memory.learn_item(Virtual(at), (core.privileged(), false));
        Ok(())
    });
    loaded.err().unwrap_or(Exit::DYNAMIC)
}

/// Stores one item, or a pair of words.
#[inline(never)]
pub(super) fn store<const ITEM: u8>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    [at, base]: Miss,
) -> Exit {
    let [step, ..] = steps else { return Exit::EXECUTED };
    if !aligned(at, item(ITEM).bytes()) {
        return Exit::at(steps, Cause::Reference);
    }
    let stored = at_its_time(core, steps, port, move |core, Port { memory, bus, .. }, now| {
        let (item, value) = (item(ITEM), core.get(step.d));
        if item == Item::Double {
            memory.write_quickly(access(core, at, Width::Word), value, *bus, now)?;
            let (at, value) = (at.wrapping_add(4), core.get(step.d | 1));
            memory.write_quickly(access(core, at, Width::Word), value, *bus, now)?;
        } else {
            memory.write_quickly(access(core, at, item.width()), item.stored(value), *bus, now)?;
        }
        core.set(step.n, base);
        memory.learn_item(Virtual(at), (core.privileged(), true));
        Ok(())
    });
    go_on(core, steps, port, stored)
}

/// The registers in the list of `step`.
fn registers(step: &Step) -> impl Iterator<Item = u8> {
    let mut list = step.imm;
    (0..step.m).map(move |_| take_lowest(&mut list))
}

/// Loads several words, without going on.
fn load_words(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    [at, base]: Miss,
) -> Result<(), Exit> {
    let [step, ..] = steps else { return Ok(()) };
    if !aligned(at, 4) {
        return Err(Exit::at(steps, Cause::Reference));
    }
    at_its_time(core, steps, port, move |core, Port { memory, bus, .. }, now| {
        let mut values = [0; 16];
        let first = access(core, at, Width::Word);
        memory.read_words(first, &mut values[..usize::from(step.m)], *bus, now)?;
        core.set(step.n, base);
        registers(step).zip(values).for_each(|(register, value)| core.set(register, value));
        memory.learn_last(Virtual(at), 4 * u32::from(step.m), (core.privileged(), false));
        Ok(())
    })
}

/// Loads several words.
#[inline(never)]
pub(super) fn load_several(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    miss: Miss,
) -> Exit {
    let loaded = load_words(core, steps, port, miss);
    go_on(core, steps, port, loaded)
}

/// Loads several words, the last one to r15.
#[inline(never)]
pub(super) fn load_several_jump(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    miss: Miss,
) -> Exit {
    let loaded = load_words(core, steps, port, miss);
    core.progress.target = canonical(core.r[15]);
    loaded.err().unwrap_or(Exit::DYNAMIC)
}

/// Stores several words.
#[inline(never)]
pub(super) fn store_several(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    [at, base]: Miss,
) -> Exit {
    let [step, ..] = steps else { return Exit::EXECUTED };
    if !aligned(at, 4) {
        return Exit::at(steps, Cause::Reference);
    }
    let stored = at_its_time(core, steps, port, move |core, Port { memory, bus, .. }, now| {
        let misses = memory.write_misses();
        let mut values = [0; 16];
        registers(step).zip(&mut values).for_each(|(register, value)| *value = core.get(register));
        let first = access(core, at, Width::Word);
        memory.write_words_quickly(first, &values[..usize::from(step.m)], *bus, now)?;
        core.set(step.n, base);
        if memory.write_misses() == misses {
            memory.learn_last(Virtual(at), 4 * u32::from(step.m), (core.privileged(), true));
        }
        Ok(())
    });
    go_on(core, steps, port, stored)
}

/// Performs the operation of coprocessor 15 on a cache line, or on the buffers.
pub(super) fn line_operation(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let code = port.code;
    let piece = &code.block.pieces[usize::from(code.source(steps.len()).piece)];
    let Operation::Coprocessor(access) = piece.instruction.operation else {
        return Exit::at(steps, Cause::System);
    };
    let operated = at_its_time(core, steps, port, move |core, Port { memory, bus, .. }, now| {
        let done = if access.load {
            memory.control_read(&access, *bus, now).map(|value| match access.rd {
                Register::PC => core.set_flags(value),
                rd => core.set(byte(rd), value),
            })
        } else {
            // It reads r15 late, as a store does.
            let value = match access.rd {
                Register::PC => piece.at.0.wrapping_add(12),
                rd => core.get(byte(rd)),
            };
            core.progress.line = LineHit::NONE;
            memory.control_write(&access, value, *bus, now).map(drop)
        };
        done.expect("of its class");
        Ok(())
    });
    go_on(core, steps, port, operated)
}

/// Enters the line `wanted`, without going on.
#[inline(never)]
fn line_entered(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    wanted: LineHit,
) -> Result<(), Exit> {
    let source = port.code.source(steps.len());
    let at = port.code.block.pieces[usize::from(source.piece)].at;
    let missing = match port.memory.find_line(at, core.privileged()) {
        LineLookup::Hit(line) if line == wanted => {
            core.progress.enter(line);
            return Ok(());
        }
        LineLookup::Hit(_) => return Err(Exit::at(steps, Cause::Changed)),
        LineLookup::Miss(missing) => missing,
        LineLookup::Other => return Err(Exit::at(steps, Cause::Reference)),
    };
    if let Err(abort) = port.fetch(core, missing, source.before) {
        port.abort = Some(abort);
        return Err(Exit::at(steps, Cause::FetchAbort));
    }
    if core.progress.line == wanted && port.is_in_time(core) && !port.memory.touched() {
        return Ok(());
    }
    Err(Exit::at(steps, Cause::Fetched))
}

/// Enters the line `wanted`, which the first of `steps` enters.
#[inline(never)]
pub(super) fn line(core: &mut Core, steps: &[Step], port: &mut Port<'_>, wanted: LineHit) -> Exit {
    let entered = line_entered(core, steps, port, wanted);
    go_on(core, steps, port, entered)
}

/// Enters the line in which `following` begins, at a boundary.
///
/// # Errors
///
/// Why it may not run now.
#[inline(never)]
pub(super) fn entry(
    core: &mut Core,
    port: &mut Port<'_>,
    following: &CachedBlock,
) -> Result<(), NoEntry> {
    let line = port.line(core, following.block.key.at)?;
    if line != following.line || !following.ends_before(port.stop, core.progress.base) {
        return Err(NoEntry::Missing);
    }
    if core.progress.line != line {
        core.progress.enter(line);
    }
    Ok(())
}
