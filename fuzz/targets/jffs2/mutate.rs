//! Changes of a JFFS2 image that keep it one: nodes are put in, copied, taken out and changed field by
//! field, and most check sums are made right again.
//!
//! Layouts: `docs/formats/jffs2.md`. Everything is drawn from the seed that libFuzzer gives.

use crate::untrusted::jffs2::{Block, Input, SHAPES};
use boardlab_codec::{crc32, lzo, rtime, zlib};
use boardlab_sim::{Seed, Stream};
use std::ops::Range;

const INODE: u16 = 0xE002;
const DIRENT: u16 = 0xE001;
const XATTR: u16 = 0xE008;
const XREF: u16 = 0xE009;
const SUMMARY: u16 = 0x2006;
const CLEANMARKER: u16 = 0x2003;
const PADDING: u16 = 0x2004;

/// Bytes of a node before its data, by type.
fn fixed(kind: u16) -> usize {
    match kind | 0x2000 {
        INODE => 68,
        DIRENT => 40,
        XATTR | SUMMARY => 32,
        XREF => 28,
        _ => 12,
    }
}

/// A node that was found by its magic number.
#[derive(Debug, Clone, Copy)]
struct Node {
    at: usize,
    kind: u16,
    little: bool,
    /// Its total length, as far as the block goes.
    length: usize,
}

/// Called by libFuzzer: changes the input in place and gives its new length.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Seed::new(u64::from(seed)).stream("mutate");
    let mut size = size;
    if random.chance(1, 3) || size < 5 {
        size = libfuzzer_sys::fuzzer_mutate(data, size, max_size);
        if random.chance(1, 4) {
            return size;
        }
    }
    let mut input = Input::parse(&data[..size]);
    for _ in 0..random.below(4) {
        change(&mut input, &mut random);
    }
    for block in &mut input.blocks {
        repair(&mut block.bytes, &mut random);
    }
    let bytes = emit(&input);
    let length = bytes.len().min(max_size);
    data[..length].copy_from_slice(&bytes[..length]);
    length
}

fn emit(input: &Input) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(input.shape).expect("a few"), input.options];
    for block in &input.blocks {
        // 65,535 is the most that a length says; no block is larger by more than a byte.
        let length = block.bytes.len().min(0xFFFF);
        bytes.push(block.flags);
        bytes.extend(u16::try_from(length).expect("was cut").to_le_bytes());
        bytes.extend(&block.bytes[..length]);
    }
    bytes
}

fn below(random: &mut Stream, bound: usize) -> usize {
    usize::try_from(random.below(bound.max(1) as u64)).expect("below a usize")
}

fn change(input: &mut Input, random: &mut Stream) {
    let room = input.shape().block();
    if input.blocks.is_empty() || random.chance(1, 20) {
        let at = below(random, input.blocks.len() + 1);
        input.blocks.insert(at, Block { flags: 2, bytes: Vec::new() });
    }
    let count = input.blocks.len();
    let (from, to) = (below(random, count), below(random, count));
    match random.below(16) {
        0 => input.shape = below(random, SHAPES.len()),
        1 => input.options ^= 1 << random.below(6),
        2 => input.blocks[to].flags ^= 1 << random.below(3),
        3 => input.blocks.swap(from, to),
        4..7 => {
            let node = template(random);
            insert(&mut input.blocks[to].bytes, &node, random);
        }
        7 | 8 => {
            let bytes = input.blocks[from].bytes.clone();
            if let Some(node) = pick(&bytes, random) {
                insert(&mut input.blocks[to].bytes, &bytes[node.at..node.at + node.length], random);
            }
        }
        9 => {
            let bytes = &mut input.blocks[to].bytes;
            if let Some(node) = pick(bytes, random) {
                bytes.drain(node.at..node.at + node.length);
            }
        }
        10 => pack(&mut input.blocks[to].bytes, random),
        11 => summarise(&mut input.blocks[to].bytes, room),
        _ => field(&mut input.blocks[to].bytes, random),
    }
    input.blocks.truncate(input.shape().blocks as usize);
    let room = input.shape().block();
    for block in &mut input.blocks {
        block.bytes.truncate(room);
    }
}

/// All that look like nodes, at every place where one may begin.
fn nodes(bytes: &[u8]) -> Vec<Node> {
    let mut found = Vec::new();
    let mut at = 0;
    while at + 12 <= bytes.len() {
        let little = match bytes[at..at + 2] {
            [0x85, 0x19] => true,
            [0x19, 0x85] => false,
            _ => {
                at += 4;
                continue;
            }
        };
        let kind = get16(bytes, at + 2, little);
        let total = get(bytes, at + 4, little) as usize;
        let sane = total >= 12 && total <= bytes.len() - at;
        let length = if sane { total } else { fixed(kind).min(bytes.len() - at) };
        found.push(Node { at, kind, little, length });
        at += if sane { total.next_multiple_of(4) } else { 4 };
    }
    found
}

fn pick(bytes: &[u8], random: &mut Stream) -> Option<Node> {
    let nodes = nodes(bytes);
    nodes.get(below(random, nodes.len())).copied()
}

/// Between two nodes, or at the end.
fn insert(bytes: &mut Vec<u8>, node: &[u8], random: &mut Stream) {
    let end = bytes.len().next_multiple_of(4);
    bytes.resize(end, 0xFF);
    let mut node = node.to_vec();
    node.resize(node.len().next_multiple_of(4), 0xFF);
    let at = match pick(bytes, random) {
        Some(before) if random.chance(1, 2) => before.at,
        _ => end,
    };
    bytes.splice(at..at, node);
}

/// A node of any kind with small numbers.
fn template(random: &mut Stream) -> Vec<u8> {
    let kinds = [INODE, INODE, DIRENT, DIRENT, XATTR, XREF, CLEANMARKER, PADDING];
    let kind = kinds[below(random, kinds.len())];
    let data = below(random, 40);
    let mut node = vec![0; fixed(kind) + if kind == XREF { 0 } else { data }];
    for (index, byte) in node.iter_mut().enumerate().skip(12) {
        let low = index % 4 == 0 || index >= fixed(kind);
        *byte = if low { u8::try_from(random.below(6)).expect("small") } else { 0 };
    }
    put16(&mut node, 0, 0x1985);
    put16(&mut node, 2, kind);
    let length = u32::try_from(node.len()).expect("short");
    put(&mut node, 4, length, true);
    let data = u8::try_from(data).expect("short");
    match kind {
        DIRENT => {
            node[28] = data;
            node[29] = [4, 8, 10, 1, 2, 6, 12, 0][below(random, 8)];
            node[40..].iter_mut().for_each(|byte| *byte += b'a');
        }
        INODE => {
            let modes = [0o40755, 0o100_644, 0o120_777, 0o10644, 0o20644, 0o60644, 0o140_644];
            put(&mut node, 20, modes[below(random, 7)], true);
            put(&mut node, 48, data.into(), true);
            put(&mut node, 52, data.into(), true);
            node[56] = [0, 0, 1, 2, 6, 7, 4][below(random, 7)];
        }
        XATTR if data > 2 => {
            node[21] = data / 2;
            node[22] = data - data / 2 - 1;
            node[32 + usize::from(data / 2)] = 0;
        }
        _ => {}
    }
    node
}

/// Sets a field of a node: to a small number, a large one, one at a border, or one from elsewhere.
fn field(bytes: &mut [u8], random: &mut Stream) {
    let Some(node) = pick(bytes, random) else { return };
    let words = node.length.min(fixed(node.kind)) / 4;
    let at = node.at + 4 * below(random, words);
    let old = get(bytes, at, node.little);
    let value = match random.below(8) {
        0 => 0,
        1 => u32::MAX,
        2 => 1 << random.below(32),
        3 => old.wrapping_add(1),
        4 => old.wrapping_sub(1),
        5 => 4096 * u32::try_from(random.below(20)).expect("small"),
        6 => old ^ (1 << random.below(32)),
        _ => u32::try_from(random.below(70)).expect("small"),
    };
    put(bytes, at, value, node.little);
}

/// Gives an inode node data that are really compressed.
fn pack(bytes: &mut Vec<u8>, random: &mut Stream) {
    let Some(node) = pick(bytes, random) else { return };
    if node.kind | 0x2000 != INODE || node.length < 68 {
        return;
    }
    let size = 1 + below(random, 4096);
    let mut text = vec![0; size];
    random.fill(&mut text[..size / 16]);
    let mut stream = vec![0; 2 * 4096];
    let (kind, length) = match random.below(3) {
        0 => (2, rtime::compress(&text, &mut stream).map(|done| done.produced)),
        1 => (6, zlib::Jffs2Deflate::new().compress(&text, &mut stream).map(|done| done.produced)),
        _ => (7, lzo::Lzo::new().compress(&text, &mut stream)),
    };
    let Some(length) = length else { return };
    let mut data = stream[..length].to_vec();
    let total = u32::try_from(68 + length).expect("short");
    data.resize(length.next_multiple_of(4), 0xFF);
    let end = (node.at + node.length.next_multiple_of(4)).min(bytes.len());
    bytes.splice(node.at + 68..end, data);
    put(bytes, node.at + 4, total, node.little);
    put(bytes, node.at + 48, total - 68, node.little);
    put(bytes, node.at + 52, u32::try_from(size).expect("a page"), node.little);
    bytes[node.at + 56] = kind;
}

/// Ends a block with a summary of its nodes.
fn summarise(bytes: &mut Vec<u8>, room: usize) {
    let mut entries = Vec::new();
    let mut count = 0;
    let little = nodes(bytes).first().is_none_or(|node| node.little);
    for node in nodes(bytes) {
        let field = |at: usize| &bytes[node.at + at..node.at + at + 4];
        let offset = u32::try_from(node.at).expect("in a block");
        let offset = if little { offset.to_le_bytes() } else { offset.to_be_bytes() };
        if node.length < fixed(node.kind) {
            continue;
        }
        let kind = &bytes[node.at + 2..node.at + 4];
        match node.kind | 0x2000 {
            INODE => entries.extend([kind, field(12), field(16), &offset, field(4)].concat()),
            DIRENT => {
                let name = usize::from(bytes[node.at + 28]).min(node.length - 40);
                let name = &bytes[node.at + 40..node.at + 40 + name];
                let parts = [kind, field(4), &offset, field(12), field(16), field(20)];
                entries.extend(parts.concat());
                entries.extend(&bytes[node.at + 28..node.at + 30]);
                entries.extend(name);
            }
            XATTR => entries.extend([kind, field(12), field(16), &offset, field(4)].concat()),
            XREF => entries.extend([kind, &offset[..]].concat()),
            _ => continue,
        }
        count += 1;
    }
    let start = bytes.len().next_multiple_of(4);
    if start + 32 + entries.len() + 8 > room {
        return;
    }
    bytes.resize(room, 0xFF);
    let length = u32::try_from(room - start).expect("in a block");
    let first = if little { [0x85, 0x19, 0x06, 0x20] } else { [0x19, 0x85, 0x20, 0x06] };
    bytes[start..start + 4].copy_from_slice(&first);
    put(bytes, start + 4, length, little);
    put(bytes, start + 12, count, little);
    put(bytes, start + 16, 0, little);
    put(bytes, start + 20, 0, little);
    bytes[start + 32..start + 32 + entries.len()].copy_from_slice(&entries);
    put(bytes, room - 8, u32::try_from(start).expect("in a block"), little);
    put(bytes, room - 4, 0x0285_1885, little);
}

/// Makes most check sums right: that of the header, that of the data, and that of the node.
fn repair(bytes: &mut [u8], random: &mut Stream) {
    for node in nodes(bytes) {
        if random.chance(1, 40) {
            continue;
        }
        check(bytes, node, 0..8, 8);
        if node.length < fixed(node.kind) {
            continue;
        }
        let long = |at: usize| get(bytes, node.at + at, node.little) as usize;
        let byte = |at: usize| usize::from(bytes[node.at + at]);
        let (data, data_sum, own, own_sum) = match node.kind | 0x2000 {
            INODE => (long(48), 60, 60, 64),
            DIRENT => (byte(28), 36, 32, 32),
            XATTR => {
                let value = get16(bytes, node.at + 22, node.little);
                (byte(21) + 1 + usize::from(value), 24, 28, 28)
            }
            XREF => (0, 24, 24, 24),
            SUMMARY => (node.length - 32, 24, 24, 28),
            _ => continue,
        };
        let start = fixed(node.kind);
        check(bytes, node, start..start.saturating_add(data), data_sum);
        check(bytes, node, 0..own, own_sum);
    }
}

/// The check sum of a range of a node, as far as it lies in the block, to its place.
fn check(bytes: &mut [u8], node: Node, range: Range<usize>, to: usize) {
    let limit = bytes.len() - node.at;
    let range = range.start.min(limit)..range.end.min(limit);
    let sum = crc32(0, &bytes[node.at..][range]);
    put(bytes, node.at + to, sum, node.little);
}

fn get(bytes: &[u8], at: usize, little: bool) -> u32 {
    let word = bytes[at..at + 4].try_into().expect("four bytes");
    if little { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) }
}

fn get16(bytes: &[u8], at: usize, little: bool) -> u16 {
    let word = [bytes[at], bytes[at + 1]];
    if little { u16::from_le_bytes(word) } else { u16::from_be_bytes(word) }
}

fn put(bytes: &mut [u8], at: usize, value: u32, little: bool) {
    let word = if little { value.to_le_bytes() } else { value.to_be_bytes() };
    bytes[at..at + 4].copy_from_slice(&word);
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}
