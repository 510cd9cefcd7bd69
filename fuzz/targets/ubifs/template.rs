//! New nodes of UBIFS.

use crate::pieces::{below, small};
use crate::untrusted::pieces::{Input, Kind, NEW_PAGE, Piece};
use crate::untrusted::ubifs::lebs;
use boardlab_codec::{lzo, zlib, zstd};
use boardlab_sim::Stream;
use boardlab_ubi::LebIndex;
use boardlab_ubifs::format::data::Data;
use boardlab_ubifs::format::dirent::Dirent;
use boardlab_ubifs::format::index::{Branch, IndexNode};
use boardlab_ubifs::format::inode::InodeNode;
use boardlab_ubifs::format::journal::{CommitStart, Reference, Truncation};
use boardlab_ubifs::format::key::{Key, r5};
use boardlab_ubifs::format::orphan::OrphanNode;
use boardlab_ubifs::format::{Group, Header};
use boardlab_vfs::Timestamp;

/// Nodes that a journal may have, newer than all others of the input, in the LEB of one of them.
pub fn template(input: &Input, random: &mut Stream) -> Vec<Piece> {
    let nodes = input.pieces.iter().filter(|piece| piece.kind() == Kind::Node);
    let number = |piece: &Piece| {
        let bytes = piece.bytes.get(8..16)?;
        Some(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    };
    let newest = nodes.filter_map(number).filter(|number| number >> 48 == 0).max().unwrap_or(0);
    let blocks = lebs(input.shape).count;
    let block = match input.pieces.get(below(random, input.pieces.len())) {
        Some(piece) if random.chance(3, 4) => piece.block,
        _ => small(random, blocks),
    };
    let mut new = Vec::new();
    let count = 1 + random.below(3);
    for number in 1..=count {
        let mut node = node(random, (newest, blocks));
        let group = match random.below(4) {
            0 if number < count => Group::In,
            0 => Group::Last,
            _ => Group::None,
        };
        Header::fill(&mut node, newest + number, group);
        let flags = if random.chance(1, 4) { NEW_PAGE } else { 0 };
        new.push(Piece::new(block, Kind::Node, flags, node));
    }
    new
}

/// The root, or one of the first inodes.
fn ino(random: &mut Stream) -> u32 {
    if random.chance(1, 4) { 1 } else { 64 + u32::from(small(random, 6)) }
}

fn node(random: &mut Stream, (newest, blocks): (u64, usize)) -> Vec<u8> {
    let leb = LebIndex(u32::from(small(random, blocks)));
    match random.below(12) {
        0..3 => inode(random, newest),
        3 | 4 => entry(random, false),
        5 => entry(random, true),
        6 | 7 => content(random),
        8 => {
            let (old, new) = (random.below(9_000), random.below(9_000));
            Truncation { inum: ino(random), old_size: old, new_size: new }.emit()
        }
        9 => {
            let offs = 512 * u32::from(small(random, 8));
            Reference { lnum: leb, offs, jhead: u32::from(small(random, 3)) }.emit()
        }
        10 if random.chance(1, 2) => CommitStart { cmt_no: random.below(6) }.emit(),
        10 => {
            let inos = (0..=random.below(3)).map(|_| u64::from(ino(random))).collect();
            OrphanNode { cmt_no: random.below(6), last: random.chance(1, 2), inos }.emit()
        }
        _ => {
            let branch = |key| Branch { lnum: leb, offs: 0, len: 160, key };
            let branches =
                (0..=u32::from(small(random, 4))).map(|ino| branch(Key::inode(64 + ino)));
            IndexNode { level: u16::from(small(random, 2)), branches: branches.collect() }.emit()
        }
    }
}

fn inode(random: &mut Stream, newest: u64) -> Vec<u8> {
    let modes = [0o40755, 0o100_644, 0o120_777, 0o10644, 0o20644, 0o60644, 0o140_644];
    let time = Timestamp::default();
    let attribute = random.chance(1, 4);
    let length = if random.chance(1, 2) { 0 } else { below(random, 12) };
    let node = InodeNode {
        key: Key::inode(ino(random)),
        creat_sqnum: newest,
        size: [0, 160, 5_000, length as u64][below(random, 4)],
        accessed: time,
        changed: time,
        modified: time,
        nlink: u32::from(small(random, 4)),
        uid: 0,
        gid: 0,
        mode: modes[below(random, modes.len())],
        flags: if attribute { 0x21 } else { 1 },
        xattr_cnt: u32::from(small(random, 3)),
        xattr_size: 0,
        xattr_names: 0,
        compr_type: u16::from(small(random, 4)),
        data: vec![b'd'; length],
    };
    node.emit()
}

fn entry(random: &mut Stream, attribute: bool) -> Vec<u8> {
    let letter = b'a' + small(random, 5);
    let name = if attribute { [b"user.", &[letter][..]].concat() } else { vec![letter] };
    let (parent, hash) = (ino(random), r5(&name));
    let key = if attribute { Key::xattr(parent, hash) } else { Key::dirent(parent, hash) };
    let inum = if random.chance(1, 5) { 0 } else { u64::from(ino(random)) };
    Dirent { key, inum, itype: small(random, 7), cookie: 0, name }.emit()
}

fn content(random: &mut Stream) -> Vec<u8> {
    let size = 1 + below(random, 4_096);
    let mut text = vec![0; size];
    random.fill(&mut text[..size / 16]);
    let mut packed = vec![0; 3 * 4_096];
    let compr_type = random.below(4);
    let length = match compr_type {
        1 => lzo::Lzo::new().compress(&text, &mut packed),
        2 => zlib::RawDeflate::ubifs().compress(&text, &mut packed),
        3 => zstd::Compressor::new().compress(&text, &mut packed),
        _ => None,
    };
    let data = length.map_or(&text[..size.min(200)], |length| &packed[..length]);
    let compressor = if length.is_some() { compr_type } else { 0 };
    let node = Data {
        key: Key::data(ino(random), u32::from(small(random, 3))),
        size: u32::try_from(if length.is_some() { size } else { data.len() }).expect("a block"),
        compr_type: u16::try_from(compressor).expect("a few"),
        compr_size: 0,
        data,
    };
    node.emit()
}
