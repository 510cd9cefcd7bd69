//! Steps that load and store, where the access is a known hit.
//!
//! Layer: rank 3. An access that is not a known hit, or not aligned, leaves the block in front of the instruction with nothing changed. Source of
//! the semantics: ARM DDI 0100E, A5.2 to A5.4, as in `execute::transfer` and `execute::block`.

use super::compute::canonical;
use super::step::{Leave, Run, Step, Working, go_on, left};
use crate::address::LINE;
use crate::execute::arithmetic;
use crate::instruction::{Index, Item, Shift};
use crate::memory::lookaside::{HALF, Hits};

const WORD: u8 = 0;
const BYTE: u8 = 1;
const HALF_WORD: u8 = 2;
const SIGNED_BYTE: u8 = 3;
const SIGNED_HALF: u8 = 4;
const DOUBLE: u8 = 5;

/// The offset is `imm`.
const IMMEDIATE: u8 = 0;
/// The offset is `m` shifted left by `s`.
const ADDED: u8 = 1;
/// The offset is `m` shifted left by `s`, subtracted.
const SUBTRACTED: u8 = 2;
/// The offset is `m` shifted as [`encoded`] in `imm` by `s`.
const SHIFTED: u8 = 3;

const OFFSET: u8 = 0;
const PRE: u8 = 1;
const POST: u8 = 2;

/// The base moved by the offset.
#[inline(always)]
fn moved<const OFF: u8>(core: &Working, step: &Step) -> u32 {
    let (base, index) = (core.get(step.n), core.get(step.m));
    match OFF {
        IMMEDIATE => base.wrapping_add(step.imm),
        ADDED => base.wrapping_add(index << (step.s & 31)),
        SUBTRACTED => base.wrapping_sub(index << (step.s & 31)),
        _ => {
            let amount = u32::from(step.s);
            let (offset, _) = arithmetic::shift(index, decoded(step.imm), amount, core.c != 0);
            base.wrapping_add(if step.imm & SUBTRACT != 0 { offset.wrapping_neg() } else { offset })
        }
    }
}

/// In `imm` with [`SHIFTED`]: the offset is subtracted.
const SUBTRACT: u32 = 8;

/// A kind of shift, and whether the offset is subtracted, as `imm`.
pub(super) const fn encoded(shift: Shift, subtract: bool) -> u32 {
    let kind = match shift {
        Shift::Lsl => 0,
        Shift::Lsr => 1,
        Shift::Asr => 2,
        Shift::Ror => 3,
        Shift::Rrx => 4,
    };
    if subtract { kind | SUBTRACT } else { kind }
}

#[inline(always)]
const fn decoded(imm: u32) -> Shift {
    match imm & 7 {
        0 => Shift::Lsl,
        1 => Shift::Lsr,
        2 => Shift::Asr,
        3 => Shift::Ror,
        _ => Shift::Rrx,
    }
}

/// The address and the base afterwards.
#[inline(always)]
fn address<const OFF: u8, const INDEX: u8>(core: &Working, step: &Step) -> (u32, u32) {
    let moved = moved::<OFF>(core, step);
    (if INDEX == POST { core.get(step.n) } else { moved }, moved)
}

/// `N` bytes at an offset of the data cache's array.
#[inline(always)]
fn bytes<const N: usize>(data: &[u8], offset: usize) -> Option<[u8; N]> {
    data.get(offset..)?.first_chunk().copied()
}

#[inline(always)]
fn word(data: &[u8], offset: usize) -> Option<u32> {
    bytes(data, offset).map(u32::from_le_bytes)
}

/// What a load of one item brings.
#[inline(always)]
fn read<const ITEM: u8>(hits: &Hits, data: &[u8], at: u32) -> Option<u32> {
    match ITEM {
        WORD => word(data, hits.read(at, 4)?),
        BYTE => bytes(data, hits.read(at, 1)?).map(|[byte]: [u8; 1]| u32::from(byte)),
        HALF_WORD => bytes(data, hits.read(at, 2)?).map(|half| u32::from(u16::from_le_bytes(half))),
        SIGNED_BYTE => bytes(data, hits.read(at, 1)?)
            .map(|byte| i32::from(i8::from_le_bytes(byte)).cast_unsigned()),
        _ => bytes(data, hits.read(at, 2)?)
            .map(|half| i32::from(i16::from_le_bytes(half)).cast_unsigned()),
    }
}

/// Stores one item; nothing if that is not a hit.
#[inline(always)]
fn write<const ITEM: u8>(hits: &Hits, data: &mut [u8], at: u32, value: u32) -> Option<()> {
    let bytes = value.to_le_bytes();
    match ITEM {
        WORD => *data.get_mut(hits.write(at, 4)?..)?.first_chunk_mut()? = bytes,
        BYTE => *data.get_mut(hits.write(at, 1)?)? = bytes[0],
        _ => *data.get_mut(hits.write(at, 2)?..)?.first_chunk_mut()? = [bytes[0], bytes[1]],
    }
    Some(())
}

/// A load of one item.
fn load<const ITEM: u8, const OFF: u8, const INDEX: u8>(
    core: &mut Working,
    steps: &[Step],
    hits: &Hits,
    data: &mut [u8],
) -> Leave {
    let [step, rest @ ..] = steps else { return Leave::Executed };
    let (at, moved) = address::<OFF, INDEX>(core, step);
    let Some(value) = read::<ITEM>(hits, data, at) else { return Leave::Slow(left(steps)) };
    core.reads += 1;
    if INDEX != OFFSET {
        core.set(step.n, moved);
    }
    core.set(step.d, value);
    go_on(core, rest, hits, data)
}

/// A load to r15.
fn load_jump<const ITEM: u8, const OFF: u8, const INDEX: u8>(
    core: &mut Working,
    steps: &[Step],
    hits: &Hits,
    data: &mut [u8],
) -> Leave {
    let [step, ..] = steps else { return Leave::Executed };
    let (at, moved) = address::<OFF, INDEX>(core, step);
    let Some(value) = read::<ITEM>(hits, data, at) else { return Leave::Slow(left(steps)) };
    core.reads += 1;
    if INDEX != OFFSET {
        core.set(step.n, moved);
    }
    core.target = canonical(value);
    Leave::Dynamic
}

/// A store of one item.
fn store<const ITEM: u8, const OFF: u8, const INDEX: u8>(
    core: &mut Working,
    steps: &[Step],
    hits: &Hits,
    data: &mut [u8],
) -> Leave {
    let [step, rest @ ..] = steps else { return Leave::Executed };
    let (at, moved) = address::<OFF, INDEX>(core, step);
    if write::<ITEM>(hits, data, at, core.get(step.d)).is_none() {
        return Leave::Slow(left(steps));
    }
    core.writes += 1;
    if INDEX != OFFSET {
        core.set(step.n, moved);
    }
    go_on(core, rest, hits, data)
}

/// LDRD.
fn load_double<const ITEM: u8, const OFF: u8, const INDEX: u8>(
    core: &mut Working,
    steps: &[Step],
    hits: &Hits,
    data: &mut [u8],
) -> Leave {
    let [step, rest @ ..] = steps else { return Leave::Executed };
    let (at, moved) = address::<OFF, INDEX>(core, step);
    let pair = if at & 7 == 0 { hits.read(at, 4) } else { None };
    let Some(Some([a, b, c, d, e, f, g, h])) = pair.map(|offset| bytes(data, offset)) else {
        return Leave::Slow(left(steps));
    };
    core.reads += 2;
    if INDEX != OFFSET {
        core.set(step.n, moved);
    }
    core.set(step.d, u32::from_le_bytes([a, b, c, d]));
    core.set(step.d | 1, u32::from_le_bytes([e, f, g, h]));
    go_on(core, rest, hits, data)
}

/// STRD.
fn store_double<const ITEM: u8, const OFF: u8, const INDEX: u8>(
    core: &mut Working,
    steps: &[Step],
    hits: &Hits,
    data: &mut [u8],
) -> Leave {
    let [step, rest @ ..] = steps else { return Leave::Executed };
    let (at, moved) = address::<OFF, INDEX>(core, step);
    let pair = if at & 7 == 0 { hits.write(at, 4) } else { None };
    let value = u64::from(core.get(step.d)) | u64::from(core.get(step.d | 1)) << 32;
    let Some(Some(place)) = pair.map(|offset| data.get_mut(offset..offset + 8)) else {
        return Leave::Slow(left(steps));
    };
    place.copy_from_slice(&value.to_le_bytes());
    core.writes += 2;
    if INDEX != OFFSET {
        core.set(step.n, moved);
    }
    go_on(core, rest, hits, data)
}

/// How the offset of an access is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    Immediate,
    Added,
    Subtracted,
    Shifted,
}

macro_rules! by_address {
    ($family:ident, $item:expr, $moved:expr, $index:expr) => {
        match ($moved, $index) {
            (Moved::Immediate, Index::Offset) => $family::<{ $item }, IMMEDIATE, OFFSET>,
            (Moved::Immediate, Index::Pre) => $family::<{ $item }, IMMEDIATE, PRE>,
            (Moved::Immediate, _) => $family::<{ $item }, IMMEDIATE, POST>,
            (Moved::Added, Index::Offset) => $family::<{ $item }, ADDED, OFFSET>,
            (Moved::Added, Index::Pre) => $family::<{ $item }, ADDED, PRE>,
            (Moved::Added, _) => $family::<{ $item }, ADDED, POST>,
            (Moved::Subtracted, Index::Offset) => $family::<{ $item }, SUBTRACTED, OFFSET>,
            (Moved::Subtracted, Index::Pre) => $family::<{ $item }, SUBTRACTED, PRE>,
            (Moved::Subtracted, _) => $family::<{ $item }, SUBTRACTED, POST>,
            (Moved::Shifted, Index::Offset) => $family::<{ $item }, SHIFTED, OFFSET>,
            (Moved::Shifted, Index::Pre) => $family::<{ $item }, SHIFTED, PRE>,
            (Moved::Shifted, _) => $family::<{ $item }, SHIFTED, POST>,
        }
    };
}

/// The function of a load; `jump`: of a word to r15.
pub(super) fn of_load(item: Item, moved: Moved, index: Index, jump: bool) -> Run {
    match item {
        Item::Word if jump => by_address!(load_jump, WORD, moved, index),
        Item::Word => by_address!(load, WORD, moved, index),
        Item::Byte => by_address!(load, BYTE, moved, index),
        Item::Half => by_address!(load, HALF_WORD, moved, index),
        Item::SignedByte => by_address!(load, SIGNED_BYTE, moved, index),
        Item::SignedHalf => by_address!(load, SIGNED_HALF, moved, index),
        Item::Double => by_address!(load_double, DOUBLE, moved, index),
    }
}

/// The function of a store.
pub(super) fn of_store(item: Item, moved: Moved, index: Index) -> Run {
    match item {
        Item::Word => by_address!(store, WORD, moved, index),
        Item::Byte | Item::SignedByte => by_address!(store, BYTE, moved, index),
        Item::Half | Item::SignedHalf => by_address!(store, HALF_WORD, moved, index),
        Item::Double => by_address!(store_double, DOUBLE, moved, index),
    }
}

/// A run of words in one line or half-line: where it begins in the array, and its length in bytes.
type Span = (usize, usize);

/// The spans of `count` words from `at` on; nothing if one of them is not a hit.
#[inline(always)]
fn spans<const WRITE: bool>(hits: &Hits, mut at: u32, count: u8) -> Option<([Span; 5], usize)> {
    let unit = if WRITE { HALF } else { LINE };
    let mut bytes = 4 * u32::from(count);
    let (mut spans, mut used) = ([(0, 0); 5], 0);
    while bytes != 0 {
        let length = bytes.min(unit - at % unit);
        let offset = if WRITE { hits.write(at, 4)? } else { hits.read(at, 4)? };
        *spans.get_mut(used)? = (offset, length as usize);
        used += 1;
        bytes -= length;
        at = at.wrapping_add(length);
    }
    Some((spans, used))
}

/// Takes the lowest register out of a list.
#[inline(always)]
fn take_lowest(list: &mut u32) -> u8 {
    let lowest = u8::try_from(list.trailing_zeros() & 15).unwrap_or(0);
    *list &= list.wrapping_sub(1);
    lowest
}

/// The words' lowest address, and the base afterwards. Of several transfers `imm` is the list, `m` the count, `s` the distance from the
/// base to the lowest word, and `d` its bit 0 whether the base moves, its bit 1 whether downwards.
#[inline(always)]
fn several(core: &Working, step: &Step) -> (u32, u32) {
    let base = core.get(step.n);
    let at = base.wrapping_add_signed(i32::from(step.s.cast_signed()));
    let bytes = 4 * u32::from(step.m);
    let moved = if step.d & 2 != 0 { base.wrapping_sub(bytes) } else { base.wrapping_add(bytes) };
    (at, if step.d & 1 != 0 { moved } else { base })
}

#[inline(always)]
fn load_all(core: &mut Working, step: &Step, hits: &Hits, data: &[u8]) -> Option<()> {
    let (at, moved) = several(core, step);
    let (spans, used) = spans::<false>(hits, at, step.m)?;
    core.set(step.n, moved);
    let mut list = step.imm;
    for &(offset, length) in spans.get(..used)? {
        let (words, _) = data.get(offset..offset + length)?.as_chunks();
        for &word in words {
            core.set(take_lowest(&mut list), u32::from_le_bytes(word));
        }
    }
    core.reads += u64::from(step.m);
    Some(())
}

/// LDM without r15.
pub(super) fn load_several(
    core: &mut Working,
    steps: &[Step],
    hits: &Hits,
    data: &mut [u8],
) -> Leave {
    let [step, rest @ ..] = steps else { return Leave::Executed };
    match load_all(core, step, hits, data) {
        Some(()) => go_on(core, rest, hits, data),
        None => Leave::Slow(left(steps)),
    }
}

/// LDM with r15.
pub(super) fn load_several_jump(
    core: &mut Working,
    steps: &[Step],
    hits: &Hits,
    data: &mut [u8],
) -> Leave {
    let [step, ..] = steps else { return Leave::Executed };
    match load_all(core, step, hits, data) {
        Some(()) => {
            core.target = canonical(core.r[15]);
            Leave::Dynamic
        }
        None => Leave::Slow(left(steps)),
    }
}

#[inline(always)]
fn store_all(core: &mut Working, step: &Step, hits: &Hits, data: &mut [u8]) -> Option<()> {
    let (at, moved) = several(core, step);
    let (spans, used) = spans::<true>(hits, at, step.m)?;
    let mut list = step.imm;
    for &(offset, length) in spans.get(..used)? {
        let (words, _) = data.get_mut(offset..offset + length)?.as_chunks_mut();
        for word in words {
            *word = core.get(take_lowest(&mut list)).to_le_bytes();
        }
    }
    core.set(step.n, moved);
    core.writes += u64::from(step.m);
    Some(())
}

/// STM.
pub(super) fn store_several(
    core: &mut Working,
    steps: &[Step],
    hits: &Hits,
    data: &mut [u8],
) -> Leave {
    let [step, rest @ ..] = steps else { return Leave::Executed };
    match store_all(core, step, hits, data) {
        Some(()) => go_on(core, rest, hits, data),
        None => Leave::Slow(left(steps)),
    }
}
