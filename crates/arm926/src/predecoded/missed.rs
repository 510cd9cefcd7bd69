//! Accesses and lines that miss the look-aside, left to the memory system.
//!
//! Layer: rank 3. The functions continue steps of `access`, which have computed the address and changed
//! nothing. The order of accesses and register writes is that of `execute`, which also executes
//! unaligned accesses. What hits afterwards is added to the look-aside. An error is the exit of the
//! chain, if something comes before the next step.

use super::access::{item, take_lowest};
use super::cache::CachedBlock;
use super::compute::canonical;
use super::port::Port;
use super::step::{Cause, Core, Exit, Progress, Step, byte, dispatch};
use crate::address::{Cycles, Virtual};
use crate::bus::Width;
use crate::instruction::{Item, Operation, Register};
use crate::memory::lookaside::{LineHit, LineLookup};
use crate::memory::{Abort, Access, Memory};

/// An access that misses: its lowest address, and the base register after it.
pub(super) type Miss = [u32; 2];

const fn access(core: &Core, at: u32, width: Width) -> Access {
    Access { at: Virtual(at), width, privileged: core.privileged() }
}

/// The exit before the first of `steps` if its access is not aligned to `bytes`.
const fn aligned(steps: &[Step], at: u32, bytes: u32) -> Result<(), Exit> {
    if at & (bytes - 1) == 0 { Ok(()) } else { Err(Exit::at(steps, Cause::Reference)) }
}

/// Performs the access of the first of `steps` by `perform`, and adds its stalls to the base.
#[inline(always)]
fn at_its_time(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    perform: impl FnOnce(&mut Core, &mut Port<'_>, &mut Cycles) -> Result<(), Abort>,
) -> Result<(), Exit> {
    let source = port.code.source(steps.len());
    let begin = core.progress.base.wrapping_add(u64::from(source.before));
    let mut now = Cycles(begin);
    if let Err(abort) = perform(core, port, &mut now) {
        return Err(port.aborted(abort, now, Exit::at(steps, Cause::DataAbort)));
    }
    core.progress.stepped += 1;
    core.progress.base = core.progress.base.wrapping_add(now.0 - begin);
    if port.memory.touched() {
        return Err(Exit::at(steps, Cause::Touched));
    }
    let is_last = u32::from(source.piece) + 1 == port.code.count;
    if is_last || port.is_in_time(core) { Ok(()) } else { Err(Exit::at(steps, Cause::Boundary)) }
}

/// Adds the lines that `bytes` from `at` on were just accessed in, unless a write has missed: then there
/// were `misses` before it.
#[inline(always)]
fn learn(memory: &mut Memory, privileged: bool, (at, bytes): (u32, u32), misses: Option<u64>) {
    if misses.is_none_or(|misses| misses == memory.write_misses()) {
        memory.learn_last(Virtual(at), bytes, (privileged, misses.is_some()));
    }
}

/// Loads one item, or a pair of words, into `d`.
#[inline(never)]
fn item_loaded<const ITEM: u8>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    [at, base]: Miss,
) -> Result<(), Exit> {
    let item = item(ITEM);
    let [step, ..] = steps else { return Ok(()) };
    aligned(steps, at, item.bytes())?;
    at_its_time(core, steps, port, |core, Port { memory, bus, .. }, now| {
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
        learn(memory, core.privileged(), (at, item.bytes()), None);
        Ok(())
    })
}

/// Loads a word to r15.
#[inline(never)]
fn target_loaded(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    [at, base]: Miss,
) -> Result<(), Exit> {
    let [step, ..] = steps else { return Ok(()) };
    aligned(steps, at, 4)?;
    at_its_time(core, steps, port, |core, Port { memory, bus, .. }, now| {
        let value = memory.read(access(core, at, Width::Word), *bus, now)?;
        core.set(step.n, base);
        core.progress.target = canonical(value);
        learn(memory, core.privileged(), (at, 4), None);
        Ok(())
    })
}

/// Stores one item, or a pair of words.
#[inline(never)]
fn item_stored<const ITEM: u8>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    [at, base]: Miss,
) -> Result<(), Exit> {
    let item = item(ITEM);
    let [step, ..] = steps else { return Ok(()) };
    aligned(steps, at, item.bytes())?;
    at_its_time(core, steps, port, |core, Port { memory, bus, .. }, now| {
        let misses = memory.write_misses();
        let value = core.get(step.d);
        if item == Item::Double {
            memory.write_quickly(access(core, at, Width::Word), value, *bus, now)?;
            let (at, value) = (at.wrapping_add(4), core.get(step.d | 1));
            memory.write_quickly(access(core, at, Width::Word), value, *bus, now)?;
        } else {
            memory.write_quickly(access(core, at, item.width()), item.stored(value), *bus, now)?;
        }
        core.set(step.n, base);
        learn(memory, core.privileged(), (at, item.bytes()), Some(misses));
        Ok(())
    })
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

/// Jumps, as the first of `steps` does.
fn jump(performed: Result<(), Exit>) -> Exit {
    performed.map_or_else(Exit::of_jump, |()| Exit::DYNAMIC)
}

/// Loads one item, or a pair of words, into `d`.
#[inline(never)]
pub(super) fn load<const ITEM: u8>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    miss: Miss,
) -> Exit {
    let loaded = item_loaded::<ITEM>(core, steps, port, miss);
    go_on(core, steps, port, loaded)
}

/// Loads a word to r15.
pub(super) fn load_jump(core: &mut Core, steps: &[Step], port: &mut Port<'_>, miss: Miss) -> Exit {
    jump(target_loaded(core, steps, port, miss))
}

/// Stores one item, or a pair of words.
#[inline(never)]
pub(super) fn store<const ITEM: u8>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    miss: Miss,
) -> Exit {
    let stored = item_stored::<ITEM>(core, steps, port, miss);
    go_on(core, steps, port, stored)
}

/// Loads several words.
#[inline(never)]
pub(super) fn load_several(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    miss: Miss,
) -> Exit {
    let loaded = words_loaded(core, steps, port, miss);
    go_on(core, steps, port, loaded)
}

/// Loads several words, the last one to r15.
pub(super) fn load_several_jump(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    miss: Miss,
) -> Exit {
    jump(words_loaded(core, steps, port, miss))
}

/// Stores several words.
#[inline(never)]
pub(super) fn store_several(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    miss: Miss,
) -> Exit {
    let stored = words_stored(core, steps, port, miss);
    go_on(core, steps, port, stored)
}

/// Performs the operation of coprocessor 15 on a cache line, or on the buffers.
pub(super) fn line_operation(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let operated = line_operated(core, steps, port);
    go_on(core, steps, port, operated)
}

/// Enters the line `wanted`, which the first of `steps` enters.
#[inline(never)]
pub(super) fn line(core: &mut Core, steps: &[Step], port: &mut Port<'_>, wanted: LineHit) -> Exit {
    let entered = line_entered(core, steps, port, wanted);
    go_on(core, steps, port, entered)
}

/// The registers in the list of `step`.
fn registers(step: &Step) -> impl Iterator<Item = u8> {
    let mut list = step.imm;
    (0..step.m).map(move |_| take_lowest(&mut list))
}

/// Loads several words; the last one may be r15's, which becomes the target of a jump.
#[inline(never)]
fn words_loaded(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    [at, base]: Miss,
) -> Result<(), Exit> {
    let [step, ..] = steps else { return Ok(()) };
    aligned(steps, at, 4)?;
    at_its_time(core, steps, port, |core, Port { memory, bus, .. }, now| {
        let mut values = [0; 16];
        let first = access(core, at, Width::Word);
        memory.read_words(first, &mut values[..usize::from(step.m)], *bus, now)?;
        core.set(step.n, base);
        registers(step).zip(values).for_each(|(register, value)| core.set(register, value));
        core.progress.target = canonical(core.r[15]);
        learn(memory, core.privileged(), (at, 4 * u32::from(step.m)), None);
        Ok(())
    })
}

/// Stores several words.
#[inline(never)]
fn words_stored(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
    [at, base]: Miss,
) -> Result<(), Exit> {
    let [step, ..] = steps else { return Ok(()) };
    aligned(steps, at, 4)?;
    at_its_time(core, steps, port, |core, Port { memory, bus, .. }, now| {
        let misses = memory.write_misses();
        let mut values = [0; 16];
        registers(step).zip(&mut values).for_each(|(register, value)| *value = core.get(register));
        let first = access(core, at, Width::Word);
        memory.write_words_quickly(first, &values[..usize::from(step.m)], *bus, now)?;
        core.set(step.n, base);
        learn(memory, core.privileged(), (at, 4 * u32::from(step.m)), Some(misses));
        Ok(())
    })
}

/// Performs the operation of coprocessor 15 on a cache line, or on the buffers.
#[inline(never)]
fn line_operated(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Result<(), Exit> {
    let code = port.code;
    let piece = &code.block.pieces[usize::from(code.source(steps.len()).piece)];
    let Operation::Coprocessor(access) = piece.instruction.operation else {
        return Err(Exit::at(steps, Cause::System));
    };
    at_its_time(core, steps, port, |core, Port { memory, bus, .. }, now| {
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
    })
}

/// Enters the line `wanted`, which the first of `steps` enters.
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
            core.progress.line = line;
            core.progress.lines += 1;
            return Ok(());
        }
        LineLookup::Hit(_) => return Err(Exit::at(steps, Cause::Changed)),
        LineLookup::Miss(missing) => missing,
        LineLookup::Other => return Err(Exit::at(steps, Cause::Reference)),
    };
    if let Err(abort) = port.fetch(core, missing, source.before) {
        let now = Cycles(core.progress.base.wrapping_add(u64::from(source.before)));
        return Err(port.aborted(abort, now, Exit::at(steps, Cause::FetchAbort)));
    }
    if core.progress.line == wanted && port.is_in_time(core) && !port.memory.touched() {
        return Ok(());
    }
    Err(Exit::at(steps, Cause::Fetched))
}

/// Enters the line in which `following` begins. `false`, with nothing done, if it is not that line, or
/// would do more than miss.
///
/// # Errors
///
/// What comes before its first instruction, after the fetch of the line.
#[inline(never)]
pub(super) fn entry(
    core: &mut Core,
    port: &mut Port<'_>,
    following: &CachedBlock,
) -> Result<bool, Cause> {
    let line = following.line;
    match port.memory.find_line(following.block.key.at, core.privileged()) {
        LineLookup::Hit(found) if found == line => {
            core.progress.line = line;
            core.progress.lines += 1;
            return Ok(true);
        }
        LineLookup::Miss(missing) => {
            if let Err(abort) = port.fetch(core, missing, 0) {
                port.abort = Some((abort, Cycles(core.progress.base)));
                return Err(Cause::FetchAbort);
            }
        }
        LineLookup::Hit(_) | LineLookup::Other => return Ok(false),
    }
    let Progress { base, line: fetched, .. } = core.progress;
    if fetched == LineHit::NONE || base >= port.stop || port.memory.touched() {
        return Err(Cause::Fetched);
    }
    Ok(fetched == line && base.wrapping_add(u64::from(following.longest)) < port.stop)
}
