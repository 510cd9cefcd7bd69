//! Images of JFFS2 of nodes that no program writes, each with right checksums.

use boardlab_jffs2::format::inode::Compressor;
use boardlab_jffs2::format::{ByteOrder, Dirent, Header, Inode, NodeType, crc};

pub(crate) const ORDER: ByteOrder = ByteOrder::Little;
pub(crate) const BLOCK: usize = 64 << 10;
pub(crate) const DIRECTORY: (u32, u8) = (0o040_755, 4);
pub(crate) const FILE: (u32, u8) = (0o100_644, 8);

pub(crate) type Node = Vec<u8>;

pub(crate) fn dirent(parent: u32, ino: u32, kind: u8, name: &[u8]) -> Node {
    let dirent = Dirent { parent, version: ino, ino, mctime: 0, kind, name };
    let mut bytes = vec![0xFF; (40 + name.len()).next_multiple_of(4)];
    dirent.emit(&mut bytes, ORDER);
    bytes
}

/// A node with `data`, or a hole of `dsize` bytes without.
pub(crate) fn inode(
    (ino, version): (u32, u32),
    mode: u32,
    (offset, dsize): (u32, u32),
    data: &[u8],
) -> Node {
    let csize = u32::try_from(data.len()).unwrap();
    let compressor = if data.is_empty() { Compressor::Zero } else { Compressor::None };
    let node = Inode {
        ino,
        version,
        mode,
        uid: 0,
        gid: 0,
        isize: offset.saturating_add(dsize),
        atime: 0,
        mtime: 1_000_000_000,
        ctime: 0,
        offset,
        csize,
        dsize,
        compressor,
        user_compressor: 0,
        flags: 0,
        data_crc: crc(0, data),
    };
    let mut bytes = vec![0xFF; (68 + data.len()).next_multiple_of(4)];
    node.emit(&mut bytes, ORDER);
    bytes[68..68 + data.len()].copy_from_slice(data);
    bytes
}

pub(crate) fn image(nodes: impl IntoIterator<Item = Node>) -> Vec<u8> {
    let mut mark = [0; 12];
    Header::new(NodeType::Cleanmarker, 12).emit(&mut mark, ORDER);
    let mut image = Vec::new();
    for node in nodes {
        if BLOCK - image.len() % BLOCK < node.len() {
            image.resize(image.len().next_multiple_of(BLOCK), 0xFF);
        }
        if image.len().is_multiple_of(BLOCK) {
            image.extend(mark);
        }
        image.extend(node);
    }
    image.resize(image.len().next_multiple_of(BLOCK).max(3 * BLOCK), 0xFF);
    for block in image.chunks_mut(BLOCK).filter(|block| block[0] == 0xFF) {
        block[..12].copy_from_slice(&mark);
    }
    image
}
