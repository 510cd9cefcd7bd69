//! Inputs of UBI and UBIFS: what is written to erase blocks, piece by piece.
//!
//! A piece is a structure with a checksum: a header, a node, a table. It names its block and lies behind
//! the piece before in the same block; the kind of a piece says how its checksum is made right when
//! the flash is made. So a change anywhere in an input is one that a reader looks at.
//!
//! ```text
//!  shape 1 | options 1 | piece: block 1 | kind and flags 1 | length 2 | bytes | next piece ...
//! ```
//! Zeros at the end of a structure of known length are left out.

use boardlab_codec::crc::crc16;
use boardlab_ubi::format::crc;
use std::ops::Range;

/// The checksum, or the whole piece, stays as it is.
pub(crate) const AS_IT_IS: u8 = 0x10;
/// The piece begins at the next page.
pub(crate) const NEW_PAGE: u8 = 0x20;
/// A VID header has the checksum of the data of the next piece.
pub(crate) const DATA_SUM: u8 = 0x40;

/// Bytes of a header of UBI.
pub(crate) const HEADER: usize = 64;
/// Bytes of a record of the volume table.
pub(crate) const RECORD: usize = 172;
/// The most bytes that a node of UBIFS is extended to.
const NODE_MAX: usize = 8_192;
/// Bytes of a padding node.
const PADDING: usize = 28;

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bytes.
    Raw,
    /// A node of UBIFS.
    Node,
    /// A node of the LEB properties tree.
    Lpt,
    /// An EC or VID header of UBI.
    Header,
    /// A volume table; vacant records follow the given ones.
    Table,
    /// A fastmap.
    Fastmap,
    /// The block is marked bad.
    BadBlock,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Raw,
        Self::Node,
        Self::Lpt,
        Self::Header,
        Self::Table,
        Self::Fastmap,
        Self::BadBlock,
    ];
}

/// One piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The number of its block.
    pub(crate) block: u8,
    /// Bits 0 to 3: the kind; the others are flags.
    pub(crate) flags: u8,
    pub(crate) bytes: Vec<u8>,
}

impl Piece {
    pub(crate) fn new(block: u8, kind: Kind, flags: u8, bytes: Vec<u8>) -> Self {
        let number = Kind::ALL.iter().position(|&one| one == kind).expect("it is in the list");
        Self { block, flags: flags | u8::try_from(number).expect("a few"), bytes }
    }

    pub(crate) fn kind(&self) -> Kind {
        Kind::ALL[usize::from(self.flags & 0x0F) % Kind::ALL.len()]
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// What an input stands for, as far as UBI and UBIFS have it in common.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Input {
    /// The number of a shape; any number is one.
    pub(crate) shape: u8,
    pub(crate) options: u8,
    pub(crate) pieces: Vec<Piece>,
}

impl Input {
    /// Reads an input; every input can be read.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let (&[shape, options], mut rest) = bytes.split_first_chunk().unwrap_or((&[0, 0], &[]));
        let mut pieces = Vec::new();
        while let Some((&[block, flags, low, high], behind)) = rest.split_first_chunk() {
            let length = usize::from(u16::from_le_bytes([low, high])).min(behind.len());
            pieces.push(Piece { block, flags, bytes: behind[..length].to_vec() });
            rest = &behind[length..];
        }
        Self { shape, options, pieces }
    }

    /// The bytes of the input.
    pub(crate) fn emit(&self) -> Vec<u8> {
        let mut bytes = vec![self.shape, self.options];
        for piece in &self.pieces {
            let length = u16::try_from(piece.bytes.len()).unwrap_or(u16::MAX);
            bytes.extend([piece.block, piece.flags]);
            bytes.extend(length.to_le_bytes());
            bytes.extend(&piece.bytes[..usize::from(length)]);
        }
        bytes
    }
}

/// Blocks of some kind: erase blocks, or LEBs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks {
    pub(crate) count: usize,
    pub(crate) size: usize,
    /// The smallest write.
    pub(crate) page: usize,
    /// The smallest write of a header.
    pub(crate) sub_page: usize,
}

/// The contents of blocks.
#[derive(Debug)]
pub(crate) struct Contents {
    /// By block, what is written from its beginning on, in whole pages.
    pub(crate) blocks: Vec<Vec<u8>>,
    /// The marked blocks.
    pub(crate) bad: Vec<usize>,
    /// By piece, where it lies in its block.
    pub(crate) places: Vec<(usize, Range<usize>)>,
}

impl Contents {
    /// Puts the pieces into blocks.
    pub(crate) fn of(input: &Input, shape: Blocks) -> Self {
        let mut contents =
            Self { blocks: vec![Vec::new(); shape.count], bad: Vec::new(), places: Vec::new() };
        for (index, piece) in input.pieces.iter().enumerate() {
            let number = usize::from(piece.block) % shape.count;
            let behind = input.pieces[index + 1..].iter();
            let next = behind.clone().find(|next| next.block == piece.block);
            let content = &mut contents.blocks[number];
            if piece.kind() == Kind::BadBlock {
                contents.bad.push(number);
            } else {
                align(content, piece, shape);
            }
            let start = content.len();
            let room = shape.size.saturating_sub(start);
            let mut bytes = made_right(piece, next, room);
            if piece.kind() == Kind::Header {
                bytes.resize(bytes.len().next_multiple_of(shape.sub_page), 0);
            }
            bytes.truncate(room);
            content.extend(bytes);
            contents.places.push((number, start..content.len()));
        }
        for (number, content) in contents.blocks.iter_mut().enumerate() {
            let of_block = |piece: &&Piece| usize::from(piece.block) % shape.count == number;
            let last = input.pieces.iter().rfind(of_block).map(Piece::kind);
            fill(content, shape.page, (last == Some(Kind::Node), shape.size));
        }
        contents
    }
}

/// Fills a block up to where a piece begins.
fn align(content: &mut Vec<u8>, piece: &Piece, shape: Blocks) {
    let unit = match piece.kind() {
        Kind::Header => shape.sub_page,
        _ if piece.has(NEW_PAGE) => shape.page,
        Kind::Node => 8,
        _ => 1,
    };
    fill(content, unit, (piece.kind() == Kind::Node, shape.size));
}

/// Fills a block up to whole units, as UBIFS does behind nodes: from the next multiple of 8 bytes on
/// with a padding node, if there is room for one.
fn fill(content: &mut Vec<u8>, unit: usize, (padded, size): (bool, usize)) {
    let end = content.len().next_multiple_of(unit).min(size);
    if !padded {
        content.resize(end, 0xFF);
        return;
    }
    content.resize(content.len().next_multiple_of(8).min(end), 0);
    let gap = end - content.len();
    if gap >= PADDING {
        content.extend(padding(gap));
        content.resize(end, 0);
    } else {
        content.resize(end, 0xCE);
    }
}

/// A padding node of UBIFS for a gap.
fn padding(gap: usize) -> Vec<u8> {
    let mut node = vec![0; PADDING];
    node[..4].copy_from_slice(&0x0610_1831_u32.to_le_bytes());
    node[16] = 28;
    node[20] = 5;
    node[24..].copy_from_slice(&word(gap - PADDING).to_le_bytes());
    seal_node(&mut node);
    node
}

fn word(value: usize) -> u32 {
    u32::try_from(value).expect("within a block")
}

/// The bytes of a piece with the right checksum, in a block with `room` left.
fn made_right(piece: &Piece, next: Option<&Piece>, room: usize) -> Vec<u8> {
    let mut bytes = piece.bytes.clone();
    if piece.has(AS_IT_IS) {
        return bytes;
    }
    match piece.kind() {
        Kind::Raw | Kind::BadBlock => {}
        Kind::Node => {
            let claimed = bytes.get(16..20).map_or(0, |word| get32(word) as usize);
            if claimed <= NODE_MAX && claimed > bytes.len() {
                bytes.resize(claimed, 0);
            }
            seal_node(&mut bytes);
        }
        Kind::Lpt if bytes.len() > 2 => {
            let sum = crc16(&bytes[2..]);
            bytes[..2].copy_from_slice(&sum.to_le_bytes());
        }
        Kind::Lpt => {}
        Kind::Header => seal_header(&mut bytes, piece, next, room),
        Kind::Table => {
            bytes.resize((room / RECORD).min(128) * RECORD, 0);
            bytes.chunks_exact_mut(RECORD).for_each(|record| seal(record, RECORD - 4));
        }
        Kind::Fastmap => {
            bytes.resize(room, 0);
            if room > 12 {
                bytes[8..12].fill(0);
                let sum = crc(&bytes);
                bytes[8..12].copy_from_slice(&sum.to_be_bytes());
            }
        }
    }
    bytes
}

/// The checksum of a node over as much of it as there is.
pub(crate) fn seal_node(bytes: &mut [u8]) {
    let claimed = bytes.get(16..20).map_or(0, |word| get32(word) as usize);
    let end = claimed.min(bytes.len());
    if end >= 8 {
        let sum = crc(&bytes[8..end]);
        bytes[4..8].copy_from_slice(&sum.to_le_bytes());
    }
}

fn seal_header(bytes: &mut Vec<u8>, piece: &Piece, next: Option<&Piece>, room: usize) {
    bytes.resize(HEADER, 0);
    if piece.has(DATA_SUM)
        && let Some(next) = next
    {
        let mut data = made_right(next, None, room);
        let size = u32::from_be_bytes(bytes[20..24].try_into().expect("four bytes"));
        data.resize((size as usize).min(room), 0xFF);
        let sum = crc(&data);
        bytes[32..36].copy_from_slice(&sum.to_be_bytes());
    }
    seal(bytes, HEADER - 4);
}

/// The checksum of the first bytes, behind them.
fn seal(bytes: &mut [u8], covered: usize) {
    let sum = crc(&bytes[..covered]);
    bytes[covered..covered + 4].copy_from_slice(&sum.to_be_bytes());
}

fn get32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}
