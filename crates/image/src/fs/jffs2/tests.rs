//! Images from nodes that are put together here.

use super::*;
use crate::identify::identify;
use crate::identify::sweep::Sweep;
use crate::identify::tests::u_image;
use boardlab_jffs2::format::inode::Compressor;
use boardlab_jffs2::format::{ByteOrder, Header, Inode, NodeType, OobCleanmarker, crc};

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

/// What is found where nothing else is.
pub(super) fn image_of(contents: &Contents) -> Image {
    let mut nodes = Nodes::default();
    Sweep::of(contents, &mut [&mut nodes]);
    recognise(nodes, contents, &[]).unwrap().1
}

fn flash_of(contents: &Contents) -> Flash {
    let identity = identify(contents);
    let found = identity.main();
    let certain = (Kind::FileSystem("JFFS2"), Confidence::Certain);
    assert_eq!((found.kind, found.confidence), certain, "{identity:#?}");
    image_of(contents).flash
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
            let found = flash_of(&writer.file());
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
        let found = image_of(&writer.file()).flash;
        assert_eq!((found.shape, found.marker), (shape, Some(marker)));
    }
}

#[test]
fn an_image_without_spare_bytes_has_cleanmarkers_in_its_blocks() {
    for block in [8, 64, 128, 256] {
        let shape = Shape::nor(Bytes::kib(block));
        let mut writer = Writer::new(ByteOrder::Little, shape);
        writer.inodes(700);
        let found = flash_of(&writer.file());
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
    let found = flash_of(&writer.file());
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
    let found = flash_of(&contents);
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
    let found = flash_of(&Contents::of(bytes));
    assert_eq!((found.shape, found.truncated), (shape, Some(shape.raw_block() * 3)));

    let mut writer = Writer::new(ByteOrder::Little, Shape::nor(BLOCK));
    writer.inodes(100);
    writer.inode(&[7; 4_000]);
    let mut bytes = writer.data;
    let whole = bytes.len();
    assert_eq!(flash_of(&Contents::of(bytes.clone())).truncated, None);
    bytes.truncate(whole - 5);
    let needed = Some(Bytes::new(whole as u64));
    assert_eq!(flash_of(&Contents::of(bytes)).truncated, needed);
}

#[test]
fn a_summary_tells_its_block() {
    let mut data = vec![0xFF; 65_536];
    let summary = header(ByteOrder::Little, NodeType::Summary, 1_000);
    let start = 65_536 - 1_000;
    data[start..start + 12].copy_from_slice(&summary);
    data[65_528..65_532].copy_from_slice(&u32::try_from(start).unwrap().to_le_bytes());
    data[65_532..].copy_from_slice(&0x0285_1885_u32.to_le_bytes());
    let contents = Contents::of(data.repeat(3));
    let identity = identify(&contents);
    let found = identity.main();
    assert_eq!((found.kind, found.confidence), (Kind::FileSystem("JFFS2"), Confidence::Likely));
    let flash = image_of(&contents).flash;
    assert_eq!((flash.shape, flash.block_known), (Shape::nor(Bytes::kib(64)), true));
}

#[test]
fn an_empty_filesystem_on_nand_is_told_by_its_cleanmarkers() {
    let shape = Shape::nand(PAGE_2K, OOB_64, BLOCK);
    let mut writer = Writer::new(ByteOrder::Little, shape);
    writer.data.resize(5 * BLOCK.to_usize(), 0xFF);
    let identity = identify(&writer.file());
    let found = identity.main();
    assert_eq!((found.kind, found.confidence), (Kind::FileSystem("JFFS2"), Confidence::Likely));
    assert_eq!(found.shape, Some(shape));
}

/// A header of any size in front of an image, as tools of vendors write it.
#[test]
fn a_filesystem_behind_a_header_begins_at_its_first_node() {
    for marked in [false, true] {
        for header in [64, 512, 5_000, 65_536] {
            let shape = Shape::nor(Bytes::kib(128));
            let mut writer = Writer::new(ByteOrder::Little, shape);
            writer.marks = marked;
            writer.inodes(300);
            let file = writer.file();
            let mut bytes = vec![0x5A; header];
            bytes.extend(file.window(Bytes::ZERO, file.length().to_usize()));
            let contents = Contents::of(bytes);
            let found = flash_of(&contents);
            let identity = identify(&contents);
            // Behind a short header without cleanmarkers, blocks from the beginning may fit as well.
            if marked || header > 4_096 {
                assert_eq!((found.origin.get(), found.shape.block), (header as u64, shape.block));
                assert_eq!(identity.main().at.get(), header as u64);
            }
            let mounted = identity.filesystem.unwrap().mount(&contents, &Hints::default());
            assert!(mounted.is_ok(), "{:?}", mounted.err());
        }
    }
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
    assert_eq!(kinds, [(Kind::UImage, 0), (Kind::FileSystem("JFFS2"), 196_608)]);
}

/// A JFFS2 on a controller with a code of its own: bit errors in its nodes are corrected.
#[test]
fn the_code_of_a_controller_corrects_the_nodes() {
    use crate::controller::{CodePattern, Constant, PageCode, named};
    let shape = Shape::nand(PAGE_2K, OOB_64, BLOCK);
    let mut writer = Writer::new(ByteOrder::Little, shape);
    writer.inodes(300);
    writer.data.resize(writer.data.len().next_multiple_of(BLOCK.to_usize()), 0xFF);
    let layout = named("pmecc").unwrap();
    let pattern: CodePattern = "4/512:lsb".parse().unwrap();
    let code = (layout.codes)(2_048, 64).into_iter().find(|code| pattern.means(code)).unwrap();
    let code = PageCode::new(layout, 2_048, 64, code, Constant::Zero).unwrap();
    let spare = Spare::of_controller(code).unwrap();
    let mut file = Vec::new();
    for (number, data) in writer.data.chunks(2_048).enumerate() {
        let marker = OobCleanmarker.bytes(ByteOrder::Little);
        let free = if number % 64 == 0 { &marker[..] } else { &[] };
        let is_erased = boardlab_mtd::is_erased(data);
        let oob = spare.protect(if is_erased { &[] } else { data }, free);
        file.extend([data, &oob].concat());
    }
    for at in (1_000..file.len()).step_by(7_001).filter(|at| at % 2_112 < 2_048) {
        file[at] ^= 0x10;
    }
    let contents = Contents::of(file);
    let image = image_of(&contents);
    assert_eq!(image.flash.shape, shape);
    let found = DetectedFileSystem::spare(&image, &contents).unwrap();
    assert_eq!(found.to_string(), "BCH, 4 bits in 512 B, in the layout pmecc");
    let mut mounted = image.mount(&contents, &crate::fs::Hints::default()).unwrap();
    let damage = crate::Damage::of(&mut mounted).unwrap();
    assert!(damage.audit.places.is_empty(), "{:?}", damage.audit.places);
    let health = mounted.fs.dump().health();
    assert!(health.corrected_bits() > 50 && health.uncorrectable_steps() == 0, "{health:?}");
}
