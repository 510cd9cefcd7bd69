//! Changes of an input of pieces that keep most of them meaningful: pieces are put in, copied, moved,
//! taken out and changed field by field. The checksums are made right when the flash is made.
//!
//! Layouts: `docs/formats/ubi.md`, `docs/formats/ubifs.md`. Everything is drawn from the seed that
//! libFuzzer gives.

use crate::untrusted::pieces::{
    AS_IT_IS, Blocks, Contents, DATA_SUM, Input, Kind, NEW_PAGE, Piece, RECORD,
};
use boardlab_sim::{Seed, Stream};

/// What the mutator must know of a target.
pub struct Target {
    /// The number of shapes.
    pub shapes: usize,
    /// The blocks of a shape.
    pub blocks: fn(u8) -> Blocks,
    /// New pieces for an input, which belong together.
    pub template: fn(&Input, &mut Stream) -> Vec<Piece>,
}

/// Called by libFuzzer: changes the input in place and gives its new length.
pub fn mutate(
    target: &Target,
    data: &mut [u8],
    (size, max_size): (usize, usize),
    seed: u32,
) -> usize {
    let mut random = Seed::new(u64::from(seed)).stream("mutate");
    if size < 8 || random.chance(1, 40) {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let mut input = Input::parse(&data[..size]);
    for _ in 0..=random.below(4) {
        change(target, &mut input, &mut random);
    }
    let bytes = input.emit();
    let length = bytes.len().min(max_size);
    data[..length].copy_from_slice(&bytes[..length]);
    length
}

/// A number below `bound`; 0 if that is 0.
pub fn below(random: &mut Stream, bound: usize) -> usize {
    usize::try_from(random.below(bound.max(1) as u64)).expect("below a usize")
}

/// A number below `bound` as a byte.
pub fn small(random: &mut Stream, bound: usize) -> u8 {
    u8::try_from(below(random, bound.min(256))).expect("below 256")
}

fn change(target: &Target, input: &mut Input, random: &mut Stream) {
    if input.pieces.is_empty() || random.chance(1, 8) {
        let block = input.pieces.get(below(random, input.pieces.len())).map(|piece| piece.block);
        let new = (target.template)(input, random);
        let same = |piece: &Piece| Some(piece.block) == block;
        let end = input.pieces.iter().rposition(same).map_or(0, |last| last + 1);
        input.pieces.splice(end..end, new);
        return;
    }
    let (from, to) = (below(random, input.pieces.len()), below(random, input.pieces.len()));
    match random.below(32) {
        0 => input.shape = small(random, target.shapes),
        1 | 2 => input.options ^= 1 << random.below(8),
        3 => {
            let flags = [AS_IT_IS, NEW_PAGE, DATA_SUM];
            input.pieces[to].flags ^= flags[below(random, flags.len())];
        }
        4 => input.pieces.swap(from, to),
        5 => drop(input.pieces.remove(to)),
        6 | 7 => {
            let block = input.pieces[to].block;
            let copy = Piece { block, ..input.pieces[from].clone() };
            input.pieces.insert(to + 1, copy);
        }
        8 => input.pieces[to].block = small(random, (target.blocks)(input.shape).count),
        9 => move_block(target, input, random),
        10 => {
            let length = below(random, input.pieces[to].bytes.len() + 1);
            input.pieces[to].bytes.truncate(length);
        }
        11..13 => by_the_fuzzer(&mut input.pieces[to]),
        13..16 => refer(target, input, (from, to), random),
        16..18 => copy_field(input, (from, to), random),
        _ => field(&mut input.pieces[to], random),
    }
}

/// Puts all pieces of a block into another one.
fn move_block(target: &Target, input: &mut Input, random: &mut Stream) {
    let from = input.pieces[below(random, input.pieces.len())].block;
    let to = small(random, (target.blocks)(input.shape).count);
    for piece in &mut input.pieces {
        if piece.block == from {
            piece.block = to;
        } else if piece.block == to {
            piece.block = from;
        }
    }
}

/// Lets libFuzzer change a piece, which knows the operands of comparisons.
fn by_the_fuzzer(piece: &mut Piece) {
    let size = piece.bytes.len();
    let most = size + 16;
    piece.bytes.resize(most, 0);
    let length = libfuzzer_sys::fuzzer_mutate(&mut piece.bytes, size, most);
    piece.bytes.truncate(length);
}

/// Puts the place of one piece into another: LEB, offset and length.
fn refer(target: &Target, input: &mut Input, (from, to): (usize, usize), random: &mut Stream) {
    let contents = Contents::of(input, (target.blocks)(input.shape));
    let (block, range) = contents.places[from].clone();
    let words = [block, range.start, range.len()].map(|word| u32::try_from(word).expect("small"));
    let bytes = &mut input.pieces[to].bytes;
    let at = 4 * below(random, bytes.len() / 4);
    let count = if random.chance(1, 2) { 3 } else { 1 };
    for (word, field) in words.iter().zip(bytes[at..].chunks_exact_mut(4)).take(count) {
        field.copy_from_slice(&word.to_le_bytes());
    }
}

/// Copies a field between pieces, at the same offset if possible.
fn copy_field(input: &mut Input, (from, to): (usize, usize), random: &mut Stream) {
    let size = [4, 8, 16][below(random, 3)];
    let source = &input.pieces[from].bytes;
    let at = 4 * below(random, source.len() / 4);
    let Some(field) = source.get(at..at + size).map(<[u8]>::to_vec) else { return };
    if let Some(place) = input.pieces[to].bytes.get_mut(at..at + size) {
        place.copy_from_slice(&field);
    }
}

/// Sets a field of a piece.
fn field(piece: &mut Piece, random: &mut Stream) {
    let length = piece.bytes.len();
    match piece.kind() {
        Kind::Lpt => bits(&mut piece.bytes, random),
        Kind::Table => {
            let at = below(random, length.div_ceil(RECORD)) * RECORD;
            let end = length.min(at + RECORD);
            number(&mut piece.bytes[at..end], 36, random);
        }
        Kind::Header | Kind::Fastmap => number(&mut piece.bytes, length, random),
        Kind::Node if random.chance(1, 2) => number(&mut piece.bytes, 96, random),
        _ => number(&mut piece.bytes, length, random),
    }
}

/// Sets a number in the first bytes: to a small one, a large one, one at a border.
fn number(bytes: &mut [u8], first: usize, random: &mut Stream) {
    let reach = bytes.len().min(first);
    if reach < 4 || random.chance(1, 4) {
        if let Some(byte) = bytes.get_mut(below(random, reach)) {
            *byte = if random.chance(1, 2) { *byte ^ (1 << random.below(8)) } else { 0 };
        }
        return;
    }
    let big = bytes.starts_with(b"UBI") || bytes.starts_with(&[0x7B, 0x11]);
    let at = 4 * below(random, reach / 4);
    let word: [u8; 4] = bytes[at..at + 4].try_into().expect("four bytes");
    let old = if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) };
    let few = |random: &mut Stream, most| u32::try_from(random.below(most)).expect("small");
    let value = match random.below(9) {
        0 => 0,
        1 => u32::MAX,
        2 => 1 << random.below(32),
        3 => old.wrapping_add(1),
        4 => old.wrapping_sub(1),
        5 => 512 * few(random, 40),
        6 => old ^ (1 << random.below(32)),
        7 => old.wrapping_add(8).wrapping_sub(few(random, 16)),
        _ => few(random, 70),
    };
    let word = if big { value.to_be_bytes() } else { value.to_le_bytes() };
    bytes[at..at + 4].copy_from_slice(&word);
}

/// Sets a few bits behind the checksum of 16 bits, all to 0, to 1, or at random.
fn bits(bytes: &mut [u8], random: &mut Stream) {
    let count = bytes.len() * 8;
    if count <= 20 {
        return;
    }
    let start = 16 + below(random, count - 16);
    let fill = random.below(3);
    for bit in start..count.min(start + 1 + below(random, 16)) {
        let mask = 1 << (bit % 8);
        match fill {
            0 => bytes[bit / 8] &= !mask,
            1 => bytes[bit / 8] |= mask,
            _ => bytes[bit / 8] ^= if random.chance(1, 2) { mask } else { 0 },
        }
    }
}
