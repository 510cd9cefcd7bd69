//! Images of every kind, from literal headers and from nodes that are put together here.

use super::*;
use boardlab_jffs2::format::inode::Compressor;
use boardlab_jffs2::format::{Header, Inode, NodeType, OobCleanmarker, crc};

const PAGE_2K: Bytes = Bytes::kib(2);
const OOB_64: Bytes = Bytes::new(64);
const BLOCK: Bytes = Bytes::kib(128);

fn header(order: ByteOrder, kind: NodeType, length: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    Header::new(kind, length).emit(&mut bytes, order);
    bytes
}

/// A flash that nodes are written to, one after another, none across the border of a block.
pub(crate) struct Writer {
    order: ByteOrder,
    shape: Shape,
    pub(crate) data: Vec<u8>,
    /// Cleanmarkers are nodes at the beginning of blocks.
    pub(crate) marks: bool,
}

impl Writer {
    pub(crate) fn new(order: ByteOrder, shape: Shape) -> Self {
        let mut writer = Self { order, shape, data: Vec::new(), marks: true };
        writer.marks = shape.oob.is_zero();
        writer
    }

    fn write(&mut self, node: &[u8]) {
        let block = self.shape.block.to_usize();
        let left = block - self.data.len() % block;
        if node.len() > left {
            self.data.resize(self.data.len() + left, 0xFF);
        }
        if self.marks && self.data.len().is_multiple_of(block) {
            self.data.extend(header(self.order, NodeType::Cleanmarker, 12));
        }
        self.data.extend(node);
        self.data.resize(self.data.len().next_multiple_of(4), 0xFF);
    }

    /// A node with this content, which is not compressed.
    fn inode(&mut self, content: &[u8]) {
        let length = u32::try_from(content.len()).unwrap();
        let inode = Inode {
            ino: 2,
            version: 1,
            mode: 0o100_644,
            uid: 0,
            gid: 0,
            isize: length,
            atime: 0,
            mtime: 0,
            ctime: 0,
            offset: 0,
            csize: length,
            dsize: length,
            compressor: Compressor::None,
            user_compressor: 0,
            flags: 0,
            data_crc: crc(0, content),
        };
        let mut node = vec![0; 68];
        inode.emit(&mut node, self.order);
        node.extend(content);
        self.write(&node);
    }

    /// So many nodes of changing lengths.
    pub(crate) fn inodes(&mut self, count: usize) {
        for number in 0..count {
            let content: Vec<u8> =
                (0..50 + number * 997 % 4_000).map(|n| n.to_le_bytes()[0]).collect();
            self.inode(&content);
        }
    }

    /// The file: the last block filled up, spare bytes with cleanmarkers put in.
    pub(crate) fn file(mut self) -> Contents {
        let block = self.shape.block.to_usize();
        self.data.resize(self.data.len().next_multiple_of(block), 0xFF);
        if self.shape.oob.is_zero() {
            return Contents::of(self.data);
        }
        let (page, oob) = (self.shape.page.to_usize(), self.shape.oob.to_usize());
        let mut file = Vec::new();
        for (number, data) in self.data.chunks(page).enumerate() {
            file.extend(data);
            let start = file.len();
            file.resize(start + oob, 0xFF);
            if number % (block / page) == 0 {
                let marker = OobCleanmarker.bytes(self.order);
                let at = start + if page == 512 { 8 } else { 2 };
                file[at..at + 8].copy_from_slice(&marker);
            }
        }
        Contents::of(file)
    }
}

fn jffs2_of(contents: &Contents) -> Jffs2 {
    let identity = identify(contents);
    let found = identity.main();
    assert_eq!((found.kind, found.confidence), (Kind::Jffs2, Confidence::Certain), "{identity:#?}");
    found.jffs2.clone().unwrap()
}

#[test]
fn the_flash_of_a_dump_is_told_by_its_nodes() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        for (page, oob, block) in
            [(512, 16, 16), (2_048, 64, 128), (4_096, 224, 256), (8_192, 448, 512)]
        {
            let shape = Shape::nand(Bytes::new(page), Bytes::new(oob), Bytes::kib(block));
            let mut writer = Writer::new(order, shape);
            writer.inodes(700);
            let found = jffs2_of(&writer.file());
            assert_eq!((found.order, found.shape), (order, shape));
            assert_eq!((found.damaged, found.truncated), (0, None));
            assert_eq!(found.cleanmarkers, Cleanmarkers::Oob);
        }
    }
}

#[test]
fn the_flash_of_an_empty_filesystem_is_told_by_its_cleanmarkers() {
    for (page, oob, block, marker) in [(512, 16, 16, 8), (2_048, 64, 128, 2), (4_096, 128, 256, 2)]
    {
        let shape = Shape::nand(Bytes::new(page), Bytes::new(oob), Bytes::kib(block));
        let mut writer = Writer::new(ByteOrder::Little, shape);
        writer.data.resize(4 * shape.block.to_usize(), 0xFF);
        let identity = identify(&writer.file());
        let found = identity.of_kind(Kind::Jffs2).and_then(|found| found.jffs2.clone()).unwrap();
        assert_eq!((found.shape, found.marker), (shape, Some(marker)));
    }
}

#[test]
fn an_image_without_spare_bytes_has_cleanmarkers_in_its_blocks() {
    for block in [8, 64, 128, 256] {
        let shape = Shape::nor(Bytes::kib(block));
        let mut writer = Writer::new(ByteOrder::Little, shape);
        writer.inodes(700);
        let found = jffs2_of(&writer.file());
        assert_eq!((found.shape, found.block_known), (shape, true));
        assert_eq!(found.cleanmarkers, Cleanmarkers::Data);
    }
}

#[test]
fn without_cleanmarkers_the_block_is_the_smallest_that_no_node_crosses() {
    let shape = Shape::nor(Bytes::kib(64));
    let mut writer = Writer::new(ByteOrder::Big, shape);
    writer.marks = false;
    writer.inodes(700);
    let found = jffs2_of(&writer.file());
    assert_eq!((found.shape, found.block_known), (shape, false));
    assert_eq!(found.cleanmarkers, Cleanmarkers::None);
}

#[test]
fn erased_blocks_in_front_and_damaged_nodes_change_nothing() {
    let shape = Shape::nand(PAGE_2K, OOB_64, BLOCK);
    let mut writer = Writer::new(ByteOrder::Little, shape);
    writer.inodes(300);
    let file = writer.file();
    let length = file.length().to_usize();
    let mut bytes = vec![0xFF; 3 * shape.raw_block().to_usize()];
    bytes.extend(file.window(Bytes::ZERO, length));
    for at in (500_000..800_000).step_by(40_000) {
        bytes[at] ^= 0xFF;
    }
    let contents = Contents::of(bytes);
    let found = jffs2_of(&contents);
    assert_eq!(found.shape, shape);
    assert!(found.damaged > 0 && found.first >= shape.raw_block() * 3);
    assert_eq!(identify(&contents).main().at, Bytes::ZERO);
}

#[test]
fn a_truncated_image_says_how_long_it_should_be() {
    let shape = Shape::nand(PAGE_2K, OOB_64, BLOCK);
    let mut writer = Writer::new(ByteOrder::Little, shape);
    writer.inodes(300);
    let file = writer.file();
    let bytes = file.window(Bytes::ZERO, 300_000);
    let found = jffs2_of(&Contents::of(bytes));
    assert_eq!((found.shape, found.truncated), (shape, Some(shape.raw_block() * 3)));

    let mut writer = Writer::new(ByteOrder::Little, Shape::nor(BLOCK));
    writer.inodes(100);
    writer.inode(&[7; 4_000]);
    let mut bytes = writer.data;
    let whole = bytes.len();
    assert_eq!(jffs2_of(&Contents::of(bytes.clone())).truncated, None);
    bytes.truncate(whole - 5);
    let needed = Some(Bytes::new(whole as u64));
    assert_eq!(jffs2_of(&Contents::of(bytes)).truncated, needed);
}

#[test]
fn a_summary_tells_its_block() {
    let mut data = vec![0xFF; 65_536];
    let summary = header(ByteOrder::Little, NodeType::Summary, 1_000);
    let start = 65_536 - 1_000;
    data[start..start + 12].copy_from_slice(&summary);
    data[65_528..65_532].copy_from_slice(&u32::try_from(start).unwrap().to_le_bytes());
    data[65_532..].copy_from_slice(&0x0285_1885_u32.to_le_bytes());
    let identity = identify(&Contents::of(data.repeat(3)));
    let found = identity.main();
    assert_eq!((found.kind, found.confidence), (Kind::Jffs2, Confidence::Likely));
    let jffs2 = found.jffs2.as_ref().unwrap();
    assert_eq!((jffs2.shape, jffs2.block_known), (Shape::nor(Bytes::kib(64)), true));
}

#[test]
fn an_empty_filesystem_on_nand_is_told_by_its_cleanmarkers() {
    let shape = Shape::nand(PAGE_2K, OOB_64, BLOCK);
    let mut writer = Writer::new(ByteOrder::Little, shape);
    writer.data.resize(5 * BLOCK.to_usize(), 0xFF);
    let identity = identify(&writer.file());
    let found = identity.main();
    assert_eq!((found.kind, found.confidence), (Kind::Jffs2, Confidence::Likely));
    assert_eq!(found.shape, Some(shape));
}

#[test]
fn a_filesystem_behind_a_kernel_begins_at_its_block() {
    let mut writer = Writer::new(ByteOrder::Little, Shape::nor(Bytes::kib(64)));
    writer.inodes(300);
    let file = writer.file();
    let mut bytes = u_image(100_000);
    bytes.resize(3 * 65_536, 0xFF);
    bytes.extend(file.window(Bytes::ZERO, file.length().to_usize()));
    let identity = identify(&Contents::of(bytes));
    let kinds: Vec<_> = identity.found.iter().map(|found| (found.kind, found.at.get())).collect();
    assert_eq!(kinds, [(Kind::UImage, 0), (Kind::Jffs2, 196_608)]);
}

fn u_image(length: u32) -> Vec<u8> {
    let mut header = [0; 64];
    header[..4].copy_from_slice(&[0x27, 5, 0x19, 0x56]);
    header[12..16].copy_from_slice(&length.to_be_bytes());
    header[32..44].copy_from_slice(b"Linux-6.1.0\0");
    let sum = crc32fast::hash(&header);
    header[4..8].copy_from_slice(&sum.to_be_bytes());
    let mut bytes = header.to_vec();
    bytes.resize(64 + usize::try_from(length).unwrap(), 0x5A);
    bytes
}

/// So many bytes that fit nothing, with some of them replaced.
pub(crate) fn bytes_with(length: usize, parts: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length).map(|n| (n * 7 % 251).to_le_bytes()[0] | 0x80).collect();
    for (at, part) in parts {
        bytes[*at..at + part.len()].copy_from_slice(part);
    }
    bytes
}

fn ext(compat: u8, incompat: u8) -> Vec<u8> {
    let counts = [0x40, 0, 0, 0, 0, 1, 0, 0];
    let features = [compat, 0, 0, 0, incompat, 0, 0, 0, 1, 0, 0, 0];
    let parts: [(usize, &[u8]); 4] = [
        (1_024, &counts),
        (1_048, &[2, 0, 0, 0]),
        (1_080, &[0x53, 0xEF, 1, 0]),
        (1_116, &features),
    ];
    bytes_with(70_000, &parts)
}

fn mbr() -> Vec<u8> {
    let mut bytes = vec![0; 512];
    bytes[446..462].copy_from_slice(&[0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0]);
    bytes[510..].copy_from_slice(&[0x55, 0xAA]);
    bytes
}

#[test]
fn foreign_content_is_called_by_its_name() {
    let b = bytes_with;
    let cases: Vec<(Kind, Vec<u8>)> = vec![
        (Kind::Squashfs, b(4_096, &[(0, b"hsqs"), (28, &[4, 0, 0, 0])])),
        (Kind::Squashfs, b(4_096, &[(0, b"sqsh"), (28, &[0, 3, 0, 1])])),
        (Kind::Cramfs, b(4_096, &[(0, &[0x45, 0x3D, 0xCD, 0x28]), (16, b"Compressed ROMFS")])),
        (Kind::Cramfs, b(4_096, &[(0, &[0x28, 0xCD, 0x3D, 0x45]), (16, b"Compressed ROMFS")])),
        (Kind::Romfs, b(4_096, &[(0, b"-rom1fs-")])),
        (Kind::Ext2, ext(0, 2)),
        (Kind::Ext3, ext(4, 2)),
        (Kind::Ext4, ext(4, 0x42)),
        (Kind::F2fs, b(4_096, &[(1_024, &[0x10, 0x20, 0xF5, 0xF2])])),
        (Kind::Erofs, b(4_096, &[(1_024, &[0xE2, 0xE1, 0xF5, 0xE0])])),
        (Kind::Littlefs, b(4_096, &[(8, b"littlefs")])),
        (Kind::Logfs, b(4_096, &[(24, &[0x7A, 0x3A, 0x8E, 0x5C, 0xB9, 0xD5, 0xBF, 0x67])])),
        (Kind::Ubifs, b(4_096, &[(0, &[0x31, 0x18, 0x10, 6]), (20, &[6])])),
        (Kind::Fat, b(4_096, &[(54, b"FAT16   "), (510, &[0x55, 0xAA])])),
        (Kind::Gpt, b(4_096, &[(512, b"EFI PART")])),
        (Kind::Mbr, mbr()),
        (Kind::UImage, u_image(1_000)),
        (Kind::DeviceTree, b(4_096, &[(0, &[0xD0, 0x0D, 0xFE, 0xED]), (20, &[0, 0, 0, 17])])),
        (
            Kind::AndroidSparse,
            b(4_096, &[(0, &[0x3A, 0xFF, 0x26, 0xED, 1, 0, 0, 0, 28, 0, 12, 0])]),
        ),
        (Kind::AndroidBoot, b(4_096, &[(0, b"ANDROID!")])),
        (Kind::Trx, b(4_096, &[(0, b"HDR0"), (14, &[1, 0])])),
        (Kind::Elf, b(4_096, &[(0, b"\x7fELF\x01\x01\x01")])),
        (Kind::Compressed, b(4_096, &[(0, &[0x1F, 0x8B, 8])])),
        (Kind::Compressed, b(4_096, &[(0, &[0x28, 0xB5, 0x2F, 0xFD])])),
        (Kind::Archive, b(4_096, &[(257, b"ustar")])),
        (Kind::Archive, b(4_096, &[(0, b"PK\x03\x04")])),
        (Kind::Text, b":10000000FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF\n".repeat(4)),
        (Kind::Erased, vec![0xFF; 70_000]),
        (Kind::Zeros, vec![0; 70_000]),
        (Kind::Empty, Vec::new()),
        (Kind::Unknown, b(70_000, &[])),
    ];
    for (kind, bytes) in cases {
        let identity = identify(&Contents::of(bytes));
        assert_eq!(identity.main().kind, kind, "{identity:#?}");
        assert_eq!(identity.main().at, Bytes::ZERO);
    }
}

#[test]
fn ubi_tells_its_flash_by_the_distance_of_its_headers() {
    let mut header = *b"UBI#\x01\0\0\0\0\0\0\0\0\0\0\x01\0\0\x02\0\0\0\x08\0----------------------------------------";
    let sum = !crc32fast::hash(&header[..60]);
    header[60..].copy_from_slice(&sum.to_be_bytes());
    for oob in [0, 64] {
        let shape = Shape::nand(PAGE_2K, Bytes::new(oob), BLOCK);
        let block = bytes_with(shape.raw_block().to_usize(), &[(0, &header)]);
        let identity = identify(&Contents::of(block.repeat(8)));
        assert_eq!(identity.found.len(), 1, "{identity:#?}");
        let found = identity.main();
        assert_eq!((found.kind, found.confidence), (Kind::Ubi, Confidence::Certain));
        assert_eq!(found.shape, Some(shape));
    }
}

#[test]
fn yaffs2_is_told_by_object_headers_and_their_tags() {
    let object = |name: &[u8]| {
        let kind_and_parent = [3, 0, 0, 0, 1, 0, 0, 0, 0xFF, 0xFF];
        let mut page = bytes_with(2_048, &[(0, &kind_and_parent), (10, &[0; 256])]);
        page[10..10 + name.len()].copy_from_slice(name);
        page
    };
    for (oob, at) in [(0, 0), (64, 0), (64, 2)] {
        let mut file = Vec::new();
        for name in [&b"etc"[..], b"bin", b"lib"] {
            file.extend(object(name));
            let tags = [1, 0x10, 0, 0, 1, 1, 0, 0x30, 1, 0, 0, 0x80];
            let parts: [(usize, &[u8]); 1] = [(at, &tags)];
            file.extend(bytes_with(oob, if oob > 0 { &parts } else { &[] }));
        }
        let identity = identify(&Contents::of(file));
        let found = identity.main();
        assert_eq!(found.kind, Kind::Yaffs2, "{identity:#?}");
        let confidence = if oob > 0 { Confidence::Certain } else { Confidence::Likely };
        assert_eq!(found.confidence, confidence);
        let said = if oob > 0 { "with 64 spare bytes" } else { "without spare bytes" };
        assert!(found.detail.contains(said), "{}", found.detail);
    }
}

#[test]
fn damage_and_chance_never_make_the_identification_fail() {
    let mut writer = Writer::new(ByteOrder::Little, Shape::nand(PAGE_2K, OOB_64, Bytes::kib(16)));
    writer.inodes(40);
    let file = writer.file();
    let whole = file.window(Bytes::ZERO, file.length().to_usize());
    for length in (0..whole.len()).step_by(977) {
        let _ = identify(&Contents::of(whole[..length].to_vec()));
    }
    let mut bytes = whole;
    for at in (0..bytes.len()).step_by(101) {
        bytes[at] = bytes[at].wrapping_mul(37).wrapping_add(11);
        if at % 20 == 0 {
            let _ = identify(&Contents::of(bytes.clone()));
        }
    }
}
