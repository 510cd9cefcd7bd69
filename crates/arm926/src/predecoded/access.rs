//! The handlers of loads and stores that hit the look-aside.
//!
//! Layer: rank 3. An access that misses, or is unaligned, exits the block before it changes anything;
//! `missed` then performs it. Semantics: ARM DDI 0100E, A5.2 to A5.4, as in `execute`.

use super::compute::canonical;
use super::missed::{self, Miss};
use super::port::Port;
use super::step::{Core, Exit, Handler, Step, dispatch};
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
/// The offset is `m` shifted by `s`, of the kind [`encoded`] in `imm`.
const SHIFTED: u8 = 3;

const OFFSET: u8 = 0;
const PRE: u8 = 1;
const POST: u8 = 2;

/// The base with the offset.
#[inline(always)]
fn moved<const OFF: u8>(core: &Core, step: &Step) -> u32 {
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

/// A bit of `imm` with [`SHIFTED`]: the offset is subtracted.
const SUBTRACT: u32 = 8;

/// Encodes a kind of shift, and whether the offset is subtracted, for `imm`.
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

/// The address of the access, and the base with the offset.
#[inline(always)]
fn address<const OFF: u8, const INDEX: u8>(core: &Core, step: &Step) -> (u32, u32) {
    let moved = moved::<OFF>(core, step);
    (if INDEX == POST { core.get(step.n) } else { moved }, moved)
}

/// Loads `N` bytes at an offset of the data cache that is a multiple of `N`.
#[inline(always)]
fn bytes<const N: usize>(data: &[u8], offset: usize) -> Option<[u8; N]> {
    data.as_chunks().0.get(offset / N).copied()
}

/// Loads one item; `None` if it misses.
#[inline(always)]
fn read<const ITEM: u8>(core: &Core, port: &mut Port<'_>, at: u32) -> Option<u32> {
    let (hits, data) = port.hits(core);
    match ITEM {
        WORD => bytes(data, hits.read(at, 4)?).map(u32::from_le_bytes),
        BYTE => bytes(data, hits.read(at, 1)?).map(|[byte]: [u8; 1]| u32::from(byte)),
        HALF_WORD => bytes(data, hits.read(at, 2)?).map(|half| u32::from(u16::from_le_bytes(half))),
        SIGNED_BYTE => bytes(data, hits.read(at, 1)?)
            .map(|byte| i32::from(i8::from_le_bytes(byte)).cast_unsigned()),
        _ => bytes(data, hits.read(at, 2)?)
            .map(|half| i32::from(i16::from_le_bytes(half)).cast_unsigned()),
    }
}

/// Stores `N` bytes at an offset of the data cache that is a multiple of `N`.
#[inline(always)]
fn put<const N: usize>(data: &mut [u8], offset: usize, bytes: [u8; N]) -> Option<()> {
    *data.as_chunks_mut().0.get_mut(offset / N)? = bytes;
    Some(())
}

/// Stores one item; `None` if it misses.
#[inline(always)]
fn write<const ITEM: u8>(core: &Core, port: &mut Port<'_>, at: u32, value: u32) -> Option<()> {
    let bytes = value.to_le_bytes();
    let (hits, data) = port.hits(core);
    match ITEM {
        WORD => put(data, hits.write(at, 4)?, bytes),
        BYTE => put(data, hits.write(at, 1)?, [bytes[0]]),
        _ => put(data, hits.write(at, 2)?, [bytes[0], bytes[1]]),
    }
}

/// The item with this number.
#[inline(always)]
pub(super) const fn item(number: u8) -> Item {
    match number {
        WORD => Item::Word,
        BYTE => Item::Byte,
        HALF_WORD => Item::Half,
        SIGNED_BYTE => Item::SignedByte,
        SIGNED_HALF => Item::SignedHalf,
        _ => Item::Double,
    }
}

/// An access of one item that misses; `moved` is the base with the offset.
#[inline(always)]
const fn miss<const INDEX: u8>(core: &Core, step: &Step, [at, moved]: [u32; 2]) -> Miss {
    [at, if INDEX == OFFSET { core.get(step.n) } else { moved }]
}

/// Loads one item.
fn load<const ITEM: u8, const OFF: u8, const INDEX: u8>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    let (at, moved) = address::<OFF, INDEX>(core, step);
    let Some(value) = read::<ITEM>(core, port, at) else {
        return missed::load::<ITEM>(core, steps, port, miss::<INDEX>(core, step, [at, moved]));
    };
    core.progress.reads += 1;
    if INDEX != OFFSET {
        core.set(step.n, moved);
    }
    core.set(step.d, value);
    dispatch(core, rest, port)
}

/// Loads a word to r15.
fn load_jump<const ITEM: u8, const OFF: u8, const INDEX: u8>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
) -> Exit {
    let [step, ..] = steps else { return Exit::EXECUTED };
    let (at, moved) = address::<OFF, INDEX>(core, step);
    let Some(value) = read::<ITEM>(core, port, at) else {
        return missed::load_jump(core, steps, port, miss::<INDEX>(core, step, [at, moved]));
    };
    core.progress.reads += 1;
    if INDEX != OFFSET {
        core.set(step.n, moved);
    }
    core.progress.target = canonical(value);
    Exit::DYNAMIC
}

/// Stores one item.
fn store<const ITEM: u8, const OFF: u8, const INDEX: u8>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    let (at, moved) = address::<OFF, INDEX>(core, step);
    if write::<ITEM>(core, port, at, core.get(step.d)).is_none() {
        return missed::store::<ITEM>(core, steps, port, miss::<INDEX>(core, step, [at, moved]));
    }
    core.progress.writes += 1;
    if INDEX != OFFSET {
        core.set(step.n, moved);
    }
    dispatch(core, rest, port)
}

/// LDRD.
fn load_double<const ITEM: u8, const OFF: u8, const INDEX: u8>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    let (at, moved) = address::<OFF, INDEX>(core, step);
    let (hits, data) = port.hits(core);
    let pair = if at & 7 == 0 { hits.read(at, 4) } else { None };
    let Some([a, b, c, d, e, f, g, h]) = pair.and_then(|offset| bytes(data, offset)) else {
        return missed::load::<ITEM>(core, steps, port, miss::<INDEX>(core, step, [at, moved]));
    };
    core.progress.reads += 2;
    if INDEX != OFFSET {
        core.set(step.n, moved);
    }
    core.set(step.d, u32::from_le_bytes([a, b, c, d]));
    core.set(step.d | 1, u32::from_le_bytes([e, f, g, h]));
    dispatch(core, rest, port)
}

/// STRD.
fn store_double<const ITEM: u8, const OFF: u8, const INDEX: u8>(
    core: &mut Core,
    steps: &[Step],
    port: &mut Port<'_>,
) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    let (at, moved) = address::<OFF, INDEX>(core, step);
    let (hits, data) = port.hits(core);
    let pair = if at & 7 == 0 { hits.write(at, 4) } else { None };
    let value = u64::from(core.get(step.d)) | u64::from(core.get(step.d | 1)) << 32;
    if pair.and_then(|offset| put(data, offset, value.to_le_bytes())).is_none() {
        return missed::store::<ITEM>(core, steps, port, miss::<INDEX>(core, step, [at, moved]));
    }
    core.progress.writes += 2;
    if INDEX != OFFSET {
        core.set(step.n, moved);
    }
    dispatch(core, rest, port)
}

/// The kind of an access's offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OffsetKind {
    Immediate,
    Added,
    Subtracted,
    Shifted,
}

macro_rules! by_address {
    ($family:ident, $item:expr, $moved:expr, $index:expr) => {
        match ($moved, $index) {
            (OffsetKind::Immediate, Index::Offset) => $family::<{ $item }, IMMEDIATE, OFFSET>,
            (OffsetKind::Immediate, Index::Pre) => $family::<{ $item }, IMMEDIATE, PRE>,
            (OffsetKind::Immediate, _) => $family::<{ $item }, IMMEDIATE, POST>,
            (OffsetKind::Added, Index::Offset) => $family::<{ $item }, ADDED, OFFSET>,
            (OffsetKind::Added, Index::Pre) => $family::<{ $item }, ADDED, PRE>,
            (OffsetKind::Added, _) => $family::<{ $item }, ADDED, POST>,
            (OffsetKind::Subtracted, Index::Offset) => $family::<{ $item }, SUBTRACTED, OFFSET>,
            (OffsetKind::Subtracted, Index::Pre) => $family::<{ $item }, SUBTRACTED, PRE>,
            (OffsetKind::Subtracted, _) => $family::<{ $item }, SUBTRACTED, POST>,
            (OffsetKind::Shifted, Index::Offset) => $family::<{ $item }, SHIFTED, OFFSET>,
            (OffsetKind::Shifted, Index::Pre) => $family::<{ $item }, SHIFTED, PRE>,
            (OffsetKind::Shifted, _) => $family::<{ $item }, SHIFTED, POST>,
        }
    };
}

/// The handler of a load; `jump` if it is of r15.
pub(super) fn of_load(item: Item, moved: OffsetKind, index: Index, jump: bool) -> Handler {
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

/// The handler of a store.
pub(super) fn of_store(item: Item, moved: OffsetKind, index: Index) -> Handler {
    match item {
        Item::Word => by_address!(store, WORD, moved, index),
        Item::Byte | Item::SignedByte => by_address!(store, BYTE, moved, index),
        Item::Half | Item::SignedHalf => by_address!(store, HALF_WORD, moved, index),
        Item::Double => by_address!(store_double, DOUBLE, moved, index),
    }
}

/// A run of words in one line or half-line: its offset in the data cache, and its length in bytes.
type Span = (usize, usize);

/// The spans of `count` words from `at` on; `None` if one of them misses.
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

/// Removes the lowest register from a list and returns it.
#[inline(always)]
pub(super) fn take_lowest(list: &mut u32) -> u8 {
    let lowest = u8::try_from(list.trailing_zeros() & 15).unwrap_or(0);
    *list &= list.wrapping_sub(1);
    lowest
}

/// The lowest address of a block transfer, and the base after it. `imm` is the list, `m` the number of
/// words, `s` the offset of the lowest word from the base. Bit 0 of `d`: write-back; bit 1: descending.
#[inline(always)]
fn several(core: &Core, step: &Step) -> Miss {
    let base = core.get(step.n);
    let at = base.wrapping_add_signed(i32::from(step.s.cast_signed()));
    let bytes = 4 * u32::from(step.m);
    let moved = if step.d & 2 != 0 { base.wrapping_sub(bytes) } else { base.wrapping_add(bytes) };
    [at, if step.d & 1 != 0 { moved } else { base }]
}

#[inline(always)]
fn load_all(core: &mut Core, step: &Step, port: &mut Port<'_>, [at, moved]: Miss) -> Option<()> {
    let (hits, data) = port.hits(core);
    let (spans, used) = spans::<false>(hits, at, step.m)?;
    core.set(step.n, moved);
    let mut list = step.imm;
    for &(offset, length) in spans.get(..used)? {
        let (words, _) = data.get(offset..offset + length)?.as_chunks();
        for &word in words {
            core.r[usize::from(take_lowest(&mut list)) & 15] = u32::from_le_bytes(word);
        }
    }
    core.progress.reads += u64::from(step.m);
    Some(())
}

/// LDM without r15.
pub(super) fn load_several(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    let access = several(core, step);
    match load_all(core, step, port, access) {
        Some(()) => dispatch(core, rest, port),
        None => missed::load_several(core, steps, port, access),
    }
}

/// LDM with r15.
pub(super) fn load_several_jump(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let [step, ..] = steps else { return Exit::EXECUTED };
    let access = several(core, step);
    match load_all(core, step, port, access) {
        Some(()) => {
            core.progress.target = canonical(core.r[15]);
            Exit::DYNAMIC
        }
        None => missed::load_several_jump(core, steps, port, access),
    }
}

#[inline(always)]
fn store_all(core: &mut Core, step: &Step, port: &mut Port<'_>, [at, moved]: Miss) -> Option<()> {
    let (hits, data) = port.hits(core);
    let (spans, used) = spans::<true>(hits, at, step.m)?;
    let mut list = step.imm;
    for &(offset, length) in spans.get(..used)? {
        let (words, _) = data.get_mut(offset..offset + length)?.as_chunks_mut();
        for word in words {
            *word = core.r[usize::from(take_lowest(&mut list)) & 15].to_le_bytes();
        }
    }
    core.set(step.n, moved);
    core.progress.writes += u64::from(step.m);
    Some(())
}

/// STM.
pub(super) fn store_several(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    let access = several(core, step);
    match store_all(core, step, port, access) {
        Some(()) => dispatch(core, rest, port),
        None => missed::store_several(core, steps, port, access),
    }
}
