//! Images that nobody wrote in good faith: no panic, no hang, no endless tree, and one clear answer.
use boardlab_jffs2::block::{List, Space};
use boardlab_jffs2::format::inode::Compressor;
use boardlab_jffs2::format::{
    ByteOrder, Dirent, Header, Inode, NodeType, Xattr, XattrPrefix, Xref, crc, summary,
};
use boardlab_jffs2::{Jffs2, MountError, Options};
use boardlab_mtd::{BlockIndex, Mtd, PageIndex, RamMtd};
use boardlab_sim::{Bytes, Clock, Seed, Stream};
use boardlab_vfs::{Errno, Error, FileSystem, Ino, Kind, PAGE_SIZE};

const ORDER: ByteOrder = ByteOrder::Little;
const BLOCK: usize = 4096;
const BLOCKS: u32 = 16;

/// An image that grows node by node.
struct Image {
    bytes: Vec<u8>,
}

impl Image {
    fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Puts a node in, in the next block when it does not fit.
    fn put(&mut self, node: &[u8]) -> &mut Self {
        let left = BLOCK - self.bytes.len() % BLOCK;
        if left < node.len() {
            self.bytes.resize(self.bytes.len() + left, 0xFF);
        }
        self.bytes.extend_from_slice(node);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0xFF);
        self
    }

    fn dirent(&mut self, parent: u32, ino: u32, kind: u8, name: &[u8]) -> &mut Self {
        self.put(&dirent(parent, ino, kind, name))
    }

    fn directory(&mut self, ino: u32) -> &mut Self {
        self.put(&inode(Inode { mode: 0o040_755, ..file(ino, 1) }, b""))
    }

    fn content(&mut self, node: Inode, data: &[u8]) -> &mut Self {
        self.put(&inode(node, data))
    }

    fn mount_as(&self, options: Options) -> Result<Jffs2<RamMtd>, MountError> {
        let (mut flash, mut clock) = (RamMtd::nor(BLOCKS, bytes(BLOCK)), Clock::new());
        let mut image = self.bytes.clone();
        image.truncate(BLOCK * usize::try_from(BLOCKS).unwrap());
        flash.program(&mut clock, Bytes::ZERO, &image).unwrap();
        Jffs2::mount(&mut clock, flash, options)
    }

    fn mount(&self) -> Jffs2<RamMtd> {
        let fs = self.mount_as(Options::default()).unwrap();
        fs.check_tables().unwrap();
        fs
    }
}

fn bytes(length: usize) -> Bytes {
    Bytes::new(u64::try_from(length).unwrap())
}

fn dirent(parent: u32, ino: u32, kind: u8, name: &[u8]) -> Vec<u8> {
    let node = Dirent { parent, version: ino, ino, mctime: 1, kind, name };
    let mut bytes = vec![0; usize::try_from(node.length()).unwrap()];
    node.emit(&mut bytes, ORDER);
    bytes
}

fn file(ino: u32, version: u32) -> Inode {
    Inode {
        ino,
        version,
        mode: 0o100_644,
        uid: 0,
        gid: 0,
        isize: 0,
        atime: 0,
        mtime: 0,
        ctime: 0,
        offset: 0,
        csize: 0,
        dsize: 0,
        compressor: Compressor::None,
        user_compressor: 0,
        flags: 0,
        data_crc: 0,
    }
}

/// A node with the header that fits its data, whatever `csize` says.
fn inode(node: Inode, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 68];
    let node = Inode { data_crc: crc(0, data), ..node };
    Inode { csize: node.csize.min(1 << 20), ..node }.emit(&mut bytes, ORDER);
    bytes[48..52].copy_from_slice(&node.csize.to_le_bytes());
    let length = u32::try_from(68 + data.len()).unwrap();
    Header::new(NodeType::Inode, length).emit(&mut bytes, ORDER);
    let sum = crc(0, &bytes[..60]);
    bytes[64..68].copy_from_slice(&sum.to_le_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn with_data(ino: u32, version: u32, offset: u32, data: &[u8]) -> (Inode, Vec<u8>) {
    let size = u32::try_from(data.len()).unwrap();
    let isize = offset.saturating_add(size);
    let node = Inode { isize, offset, csize: size, dsize: size, ..file(ino, version) };
    (node, data.to_vec())
}

/// Walks everything that can be reached, reads the first pages of every file and all attributes, and
/// gives the number of entries.
fn walk(fs: &mut Jffs2<RamMtd>) -> usize {
    let (mut clock, mut seen) = (Clock::new(), 0);
    let mut left = vec![fs.root()];
    while let Some(ino) = left.pop() {
        seen += 1;
        assert!(seen < 100_000, "a tree without an end");
        let Ok(attributes) = fs.getattr(&mut clock, ino) else { continue };
        for name in fs.listxattr(&mut clock, ino).unwrap_or_default() {
            let _ = fs.getxattr(&mut clock, ino, &name);
        }
        match attributes.kind {
            Kind::Directory => {
                let entries = fs.readdir(&mut clock, ino).unwrap_or_default();
                left.extend(entries.iter().map(|entry| entry.ino));
            }
            Kind::File => {
                let mut page = vec![0; PAGE_SIZE];
                for number in (0..4).chain([attributes.size / 4096, u64::MAX / 4096, u64::MAX]) {
                    let _ = fs.read_page(&mut clock, ino, number, &mut page);
                }
            }
            _ => drop(fs.readlink(&mut clock, ino)),
        }
    }
    seen
}

/// Mounts and does everything, before and after the check.
fn exercise(image: &Image) {
    for read_only in [false, true] {
        let Ok(mut fs) = image.mount_as(Options { read_only, ..Options::default() }) else {
            continue;
        };
        fs.check_tables().unwrap();
        walk(&mut fs);
        fs.check_all(&mut Clock::new()).unwrap();
        fs.check_tables().unwrap();
        walk(&mut fs);
        let _ = fs.structures();
    }
}

fn names(fs: &mut Jffs2<RamMtd>, directory: u32) -> Vec<String> {
    let entries = fs.readdir(&mut Clock::new(), Ino(u64::from(directory))).unwrap();
    entries.iter().map(|entry| entry.name.escape_ascii().to_string()).collect()
}

#[test]
fn a_directory_is_never_its_own_ancestor() {
    let mut image = Image::new();
    image.directory(2).directory(3).dirent(1, 2, 4, b"a").dirent(2, 3, 4, b"b");
    image.dirent(3, 2, 4, b"loop").dirent(3, 3, 4, b"self").dirent(3, 1, 4, b"root");
    image.dirent(3, 2, 8, b"as-file").dirent(2, 1, 8, b"root-as-file");
    let mut fs = image.mount();
    assert_eq!(walk(&mut fs), 3);
    assert_eq!((names(&mut fs, 1), names(&mut fs, 2)), (vec!["a".to_string()], vec!["b".into()]));
    exercise(&image);
}

#[test]
fn a_directory_that_only_calls_itself_a_file_is_not_followed() {
    let mut image = Image::new();
    image.directory(2).dirent(1, 2, 8, b"a").dirent(2, 2, 8, b"b");
    let mut fs = image.mount();
    assert_eq!(fs.getattr(&mut Clock::new(), Ino(2)).unwrap_err().errno(), Some(Errno::Io));
    exercise(&image);
}

#[test]
fn names_that_no_path_can_hold_are_left_out() {
    let mut image = Image::new();
    let (node, data) = with_data(5, 1, 0, b"content");
    image.content(node, &data);
    for name in [&b"a/b"[..], b"/", b"..", b".", b"", b"\0", b"good"] {
        image.dirent(1, 5, 8, name);
    }
    assert_eq!(names(&mut image.mount(), 1), ["good"]);
    exercise(&image);
}

#[test]
fn directories_in_a_circle_that_nobody_reaches_do_no_harm() {
    let mut image = Image::new();
    image.directory(2).directory(3).dirent(2, 3, 4, b"a").dirent(3, 2, 4, b"b");
    let mut fs = image.mount();
    assert_eq!(walk(&mut fs), 1);
    fs.check_all(&mut Clock::new()).unwrap();
    exercise(&image);
}

#[test]
fn lies_about_sizes_give_errors_and_not_memory() {
    let mut image = Image::new();
    let huge = u32::MAX;
    for (ino, node) in [
        (10, Inode { isize: huge, dsize: huge, csize: 8, ..file(10, 1) }),
        (
            11,
            Inode {
                isize: huge,
                dsize: huge,
                csize: 8,
                compressor: Compressor::Zlib,
                ..file(11, 1)
            },
        ),
        (12, Inode { isize: huge, dsize: huge, csize: huge, ..file(12, 1) }),
        (13, Inode { isize: huge, offset: huge, dsize: huge, csize: 8, ..file(13, 1) }),
        (
            14,
            Inode { isize: huge, dsize: 4, csize: 8, compressor: Compressor::Rtime, ..file(14, 1) },
        ),
        (
            15,
            Inode {
                isize: 9,
                dsize: 9,
                csize: 8,
                compressor: Compressor::Unknown(77),
                ..file(15, 1)
            },
        ),
    ] {
        image.content(node, b"12345678").dirent(1, ino, 8, format!("f{ino}").as_bytes());
    }
    let (mut fs, mut page) = (image.mount(), vec![0; PAGE_SIZE]);
    for ino in [10, 11, 15] {
        let read = fs.read_page(&mut Clock::new(), Ino(ino), 0, &mut page);
        assert_eq!(read.unwrap_err().errno(), Some(Errno::Io), "inode {ino}");
    }
    exercise(&image);
}

#[test]
fn a_file_of_4_gib_without_data_is_brought_down_to_what_there_is() {
    let mut image = Image::new();
    let (node, data) = with_data(5, 1, 0, b"content");
    image.content(Inode { isize: u32::MAX, ..node }, &data).dirent(1, 5, 8, b"f");
    let attributes = image.mount().getattr(&mut Clock::new(), Ino(5)).unwrap();
    assert_eq!(attributes.size, 7);
}

#[test]
fn a_hole_of_4_gib_is_read_as_zeros() {
    let mut image = Image::new();
    let hole =
        Inode { isize: u32::MAX, dsize: u32::MAX, compressor: Compressor::Zero, ..file(5, 1) };
    image.content(hole, b"").dirent(1, 5, 8, b"f");
    let (mut fs, mut page) = (image.mount(), vec![1; PAGE_SIZE]);
    let last = u64::from(u32::MAX) / 4096;
    fs.read_page(&mut Clock::new(), Ino(5), last, &mut page).unwrap();
    assert_eq!(page, vec![0; PAGE_SIZE]);
    exercise(&image);
}

#[test]
fn of_overlapping_nodes_the_newer_one_is_seen() {
    let mut image = Image::new();
    for (version, offset, text) in
        [(3, 4, &b"NEW"[..]), (1, 0, b"aaaaaaaaaa"), (4, 9, b"Z"), (2, 2, b"bbbbbb")]
    {
        let (node, data) = with_data(5, version, offset, text);
        image.content(Inode { isize: 10, ..node }, &data);
    }
    image.dirent(1, 5, 8, b"f");
    let (mut fs, mut page) = (image.mount(), vec![1; PAGE_SIZE]);
    fs.read_page(&mut Clock::new(), Ino(5), 0, &mut page).unwrap();
    assert_eq!(&page[..11], b"aabbNEWbaZ\0");
    fs.check_tables().unwrap();
}

#[test]
fn a_damaged_node_leaves_the_older_content_to_be_seen() {
    let mut image = Image::new();
    let (old, data) = with_data(5, 1, 0, b"older");
    image.content(old, &data);
    let (new, data) = with_data(5, 2, 0, b"newer");
    let mut node = inode(new, &data);
    *node.last_mut().unwrap() ^= 1;
    image.put(&node).dirent(1, 5, 8, b"f");
    let (mut fs, mut page) = (image.mount(), vec![1; PAGE_SIZE]);
    fs.read_page(&mut Clock::new(), Ino(5), 0, &mut page).unwrap();
    assert_eq!(&page[..6], b"older\0");
}

#[test]
fn a_link_whose_node_tells_no_size_is_as_long_as_its_target() {
    let mut image = Image::new();
    let node = Inode { mode: 0o120_777, csize: 6, dsize: 6, ..file(5, 1) };
    image.content(node, b"target").dirent(1, 5, 10, b"link");
    assert_eq!(image.mount().getattr(&mut Clock::new(), Ino(5)).unwrap().size, 6);
}

#[test]
fn a_name_whose_only_node_is_damaged_at_the_end_of_nor_leads_where_it_led_before() {
    let mut image = Image::new();
    let (old, data) = with_data(5, 1, 0, b"older");
    image.content(old, &data).dirent(1, 5, 8, b"f").dirent(1, 6, 8, b"f");
    let (new, data) = with_data(6, 1, 0, b"newer");
    let mut node = inode(new, &data);
    *node.last_mut().unwrap() ^= 1;
    let mut fs = image.put(&node).mount();
    assert_eq!(fs.lookup(&mut Clock::new(), Ino(1), b"f"), Ok(Ino(5)));
    exercise(&image);
}

#[test]
fn a_file_that_holds_nothing_but_names_is_not_there() {
    let mut image = Image::new();
    image.content(file(5, 1), b"").dirent(1, 2, 8, b"f").dirent(2, 5, 8, b"within");
    assert!(names(&mut image.mount(), 1).is_empty());
    exercise(&image);
}

#[test]
fn a_node_shorter_than_its_header_or_longer_than_its_block_hides_nothing() {
    for length in [5_000, u32::MAX, 11, 4, 0] {
        let mut image = Image::new();
        let mut header = [0; 12];
        Header::new(NodeType::Inode, length).emit(&mut header, ORDER);
        let (node, data) = with_data(5, 1, 0, b"content");
        image.put(&header).content(node, &data).dirent(1, 5, 8, b"f");
        // In one of eight blocks it would tell of a wrong block size.
        for version in 2..20 {
            let (node, data) = with_data(5, version, 0, &[7; 3900]);
            image.content(node, &data);
        }
        assert_eq!(names(&mut image.mount(), 1), ["f"], "a node of {length} bytes");
    }
}

#[test]
fn a_mount_counts_what_it_finds_and_turns_its_lists_by_the_sum_of_all_versions() {
    let mut image = Image::new();
    let (node, data) = with_data(5, 3, 0, b"content");
    let value = Xattr { xid: 2, version: 1, prefix: XattrPrefix::User, name: b"n", value: b"" };
    let mut attribute = vec![0; usize::try_from(value.length()).unwrap()];
    value.emit(&mut attribute, ORDER);
    let mut reference = [0; 28];
    Xref { ino: 5, xid: 2, sequence: 2, removed: false }.emit(&mut reference, ORDER);
    image.content(node, &data).dirent(1, 5, 8, b"f").put(&attribute).put(&reference);
    let strange = bytes(image.bytes.len());
    let fs = image.put(&[7; 12]).mount();
    let findings = fs.findings();
    assert_eq!((findings.nodes, findings.strange_words), (4, 3));
    assert_eq!(findings.first_strange, Some(strange));
    // Versions 3 and 5, and attribute 2; of the blocks to be erased block 1 was the first of 15.
    assert_eq!(fs.volume().blocks().first(List::ErasePending), Some(BlockIndex(1 + 10)));
}

#[test]
fn a_directory_with_two_names_is_in_the_one_that_the_root_leads_to() {
    let mut image = Image::new();
    image.dirent(3, 2, 4, b"loop").directory(2).directory(3);
    image.dirent(1, 2, 4, b"a").dirent(2, 3, 4, b"b");
    let mut fs = image.mount();
    assert_eq!((names(&mut fs, 1), names(&mut fs, 3)), (vec!["a".to_string()], vec![]));
    exercise(&image);
}

#[test]
fn an_entry_is_in_no_other_directory_than_its_node_says() {
    let mut image = Image::new();
    image.content(file(5, 1), b"").dirent(7, 5, 8, b"f");
    let inode = summary::Entry::Inode { ino: 5, version: 1, offset: 0, length: 68 };
    let (length, offset, parent, version, ino, kind, name) = (41, 68, 1, 5, 5, 8, &b"f"[..]);
    let lie = summary::Entry::Dirent { length, offset, parent, version, ino, kind, name };
    summarise(&mut image, &[inode, lie], 200);
    let mut fs = image.mount();
    assert_eq!(fs.findings().summaries, 1);
    assert!(names(&mut fs, 1).is_empty());
}

#[test]
fn a_node_that_ends_within_its_fields_is_not_taken_for_one() {
    let mut image = Image::new();
    let mut node = inode(file(5, 1), b"");
    Header::new(NodeType::Inode, 20).emit(&mut node, ORDER);
    let sum = crc(0, &node[..60]);
    node[64..68].copy_from_slice(&sum.to_le_bytes());
    let fs = image.put(&node).dirent(1, 5, 8, b"f").mount();
    assert_eq!((fs.findings().nodes, fs.findings().damaged_nodes), (1, 1));
}

#[test]
fn the_last_byte_of_a_node_is_verified_wherever_its_pages_end() {
    for length in 1..600 {
        let mut image = Image::new();
        let (old, older) = with_data(5, 1, 0, &vec![0x0F; length]);
        let (new, newer) = with_data(5, 2, 0, &vec![0xF0; length]);
        let mut node = inode(new, &newer);
        *node.last_mut().unwrap() ^= 1;
        image.content(old, &older).put(&node).dirent(1, 5, 8, b"f");
        image.bytes.resize(image.bytes.len().next_multiple_of(512), 0xFF);
        let nor = RamMtd::nor(BLOCKS, bytes(BLOCK));
        let nand = RamMtd::nand(BLOCKS, 8, bytes(BLOCK / 8), Bytes::new(16));
        for mut flash in [nor, nand] {
            let (mut clock, mut page) = (Clock::new(), vec![0; PAGE_SIZE]);
            flash.program(&mut clock, Bytes::ZERO, &image.bytes).unwrap();
            let mut fs = Jffs2::mount(&mut clock, flash, Options::default()).unwrap();
            fs.read_page(&mut clock, Ino(5), 0, &mut page).unwrap();
            assert_eq!(page[..length], older, "{length} bytes");
        }
    }
}

#[test]
fn a_name_removed_stays_removed_wherever_its_nodes_lie() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut image = Image::new();
        let (node, data) = with_data(5, 1, 0, b"content");
        image.content(node, &data).dirent(1, 5, 8, b"kept");
        let entry =
            |version, ino| Dirent { parent: 1, version, ino, mctime: 1, kind: 8, name: b"f" };
        let nodes = [entry(10, 5), entry(11, 0), entry(9, 5)];
        for index in order {
            let mut bytes = vec![0; 41];
            nodes[index].emit(&mut bytes, ORDER);
            image.put(&bytes);
        }
        assert_eq!(names(&mut image.mount(), 1), ["kept"], "{order:?}");
    }
}

#[test]
fn summaries_that_lie_are_not_believed() {
    let entry = |offset, length| summary::Entry::Inode { ino: 5, version: 1, offset, length };
    let content = with_data(5, 1, 0, b"content");
    for entries in [
        vec![entry(12, 75), entry(12, 75)],
        vec![entry(12, u32::MAX)],
        vec![entry(u32::MAX - 3, 75)],
        vec![entry(13, 75)],
        vec![entry(4000, 75)],
        vec![entry(12, 8)],
        vec![entry(88, 75), entry(12, 75)],
        vec![summary::Entry::Xref { offset: 4096 }],
        vec![summary::Entry::Dirent {
            length: 40,
            offset: 12,
            parent: 1,
            version: 1,
            ino: 5,
            kind: 8,
            name: b"",
        }],
    ] {
        let mut image = Image::new();
        let mut marker = vec![0; 12];
        Header::new(NodeType::Cleanmarker, 12).emit(&mut marker, ORDER);
        image.put(&marker).content(content.0, &content.1).dirent(1, 5, 8, b"f");
        let mut node = vec![0; 200];
        let frame = summary::Frame { offset: 3896, cleanmarker: 12, padded: 0 };
        summary::emit(&mut node, ORDER, frame, entries.iter().copied());
        image.bytes.resize(3896, 0xFF);
        image.put(&node);
        let mut fs = image.mount();
        assert_eq!(fs.findings().wrong_summaries, 1, "{entries:?}");
        assert_eq!(names(&mut fs, 1), ["f"], "{entries:?}");
        exercise(&image);
    }
}

#[test]
fn a_summary_with_other_inodes_than_its_nodes_shows_nothing_of_theirs() {
    let mut image = Image::new();
    let (node, data) = with_data(5, 1, 0, b"secret");
    image.content(node, &data);
    let mut bytes = vec![0; 200];
    let frame = summary::Frame { offset: 3896, cleanmarker: 0, padded: 0 };
    let lie = summary::Entry::Inode { ino: 6, version: 1, offset: 0, length: 74 };
    let name = b"f";
    let entry = summary::Entry::Dirent {
        length: 41,
        offset: 76,
        parent: 1,
        version: 1,
        ino: 6,
        kind: 8,
        name,
    };
    image.dirent(1, 6, 8, name);
    summary::emit(&mut bytes, ORDER, frame, [lie, entry]);
    image.bytes.resize(3896, 0xFF);
    image.put(&bytes);
    let mut fs = image.mount();
    assert_eq!(fs.findings().summaries, 1);
    assert_eq!(fs.getattr(&mut Clock::new(), Ino(6)).unwrap_err().errno(), Some(Errno::Io));
    exercise(&image);
}

/// Puts a summary of these entries at the end of the first block.
fn summarise(image: &mut Image, entries: &[summary::Entry<'_>], length: usize) {
    let mut bytes = vec![0; length];
    let offset = u32::try_from(BLOCK - length).unwrap();
    let frame = summary::Frame { offset, cleanmarker: 0, padded: 0 };
    summary::emit(&mut bytes, ORDER, frame, entries.iter().copied());
    image.bytes.resize(BLOCK - length, 0xFF);
    image.put(&bytes);
}

#[test]
fn a_summary_that_ends_within_an_entry_is_not_believed() {
    let mut image = Image::new();
    let (node, data) = with_data(5, 1, 0, b"content");
    image.content(node, &data).dirent(1, 5, 8, b"f");
    let inode = summary::Entry::Inode { ino: 5, version: 1, offset: 0, length: 75 };
    summarise(&mut image, &[inode, summary::Entry::Xref { offset: 120 }], 64);
    let node = &mut image.bytes[BLOCK - 64..];
    node[12..16].copy_from_slice(&3_u32.to_le_bytes());
    let sum = crc(0, &node[..24]);
    node[28..32].copy_from_slice(&sum.to_le_bytes());
    let mut fs = image.mount();
    assert_eq!((fs.findings().summaries, fs.findings().wrong_summaries), (0, 1));
    assert_eq!(names(&mut fs, 1), ["f"]);
}

#[test]
fn a_summary_that_is_not_aligned_or_tells_of_another_cleanmarker_is_not_believed() {
    for (length, cleanmarker) in [(200, 24), (198, 0), (201, 0)] {
        let mut image = Image::new();
        let (node, data) = with_data(5, 1, 0, b"content");
        image.content(node, &data).dirent(1, 5, 8, b"f");
        let start = BLOCK - length;
        let mut bytes = vec![0; length];
        let frame =
            summary::Frame { offset: u32::try_from(start).unwrap(), cleanmarker, padded: 0 };
        summary::emit(&mut bytes, ORDER, frame, []);
        image.bytes.resize(start, 0xFF);
        image.bytes.extend(bytes);
        let mut fs = image.mount();
        assert_eq!((fs.findings().summaries, fs.findings().wrong_summaries), (0, 1));
        assert_eq!(names(&mut fs, 1), ["f"]);
    }
}

#[test]
fn a_summary_tells_what_each_byte_of_its_block_is() {
    let mut image = Image::new();
    let mut marker = vec![0; 12];
    Header::new(NodeType::Cleanmarker, 12).emit(&mut marker, ORDER);
    let (node, data) = with_data(5, 1, 0, b"content");
    image.put(&marker).content(node, &data).dirent(1, 5, 8, b"f");
    let inode = summary::Entry::Inode { ino: 5, version: 1, offset: 12, length: 75 };
    let (name, kind) = (b"f", 8);
    let dirent = summary::Entry::Dirent {
        length: 41,
        offset: 88,
        parent: 1,
        version: 5,
        ino: 5,
        kind,
        name,
    };
    let mut bytes = vec![0; 200];
    let frame = summary::Frame { offset: 3896, cleanmarker: 12, padded: 0 };
    summary::emit(&mut bytes, ORDER, frame, [inode, dirent]);
    image.bytes.resize(3896, 0xFF);
    let fs = image.put(&bytes).mount();
    let space = *fs.volume().blocks().block(BlockIndex(0)).space();
    // The entry was read to open the root.
    let (used, unchecked) = (12 + 200 + 44, 76);
    let dirty = 4_096 - used - unchecked;
    assert_eq!(space, Space { used, unchecked, dirty, ..Space::default() });
}

#[test]
fn of_two_entries_that_a_summary_calls_different_names_the_newer_one_counts() {
    for versions in [[1, 2], [2, 1]] {
        let mut image = Image::new();
        let mut entries = Vec::new();
        for (ino, version, name) in [(5, versions[0], b"a"), (6, versions[1], b"b")] {
            let offset = u32::try_from(image.bytes.len()).unwrap();
            image.content(file(ino, 1), b"");
            let node = Dirent { parent: 1, version, ino, mctime: 1, kind: 8, name: b"f" };
            let mut bytes = vec![0; 41];
            node.emit(&mut bytes, ORDER);
            image.put(&bytes);
            entries.push(summary::Entry::Inode { ino, version: 1, offset, length: 68 });
            let (length, offset, parent, kind) = (41, offset + 68, 1, 8);
            entries.push(summary::Entry::Dirent {
                length,
                offset,
                parent,
                version,
                ino,
                kind,
                name,
            });
        }
        summarise(&mut image, &entries, 200);
        let mut fs = image.mount();
        assert_eq!(fs.findings().summaries, 1);
        let newer = if versions == [1, 2] { 6 } else { 5 };
        assert_eq!(fs.lookup(&mut Clock::new(), Ino(1), b"f"), Ok(Ino(newer)));
        assert_eq!(names(&mut fs, 1), ["f"]);
        fs.check_tables().unwrap();
    }
}

#[test]
fn unknown_nodes_are_treated_as_their_type_demands() {
    let node = |number: u16| {
        let mut bytes = vec![0; 20];
        Header::new(NodeType::of(number), 20).emit(&mut bytes, ORDER);
        bytes
    };
    let with = |number| {
        let mut image = Image::new();
        let (content, data) = with_data(5, 1, 0, b"content");
        image.content(content, &data).put(&node(number)).dirent(1, 5, 8, b"f");
        image
    };
    let refused = with(0xE0FF).mount_as(Options::default()).unwrap_err();
    let expected =
        MountError::Incompatible { node_type: NodeType::Unknown(0xE0FF), at: Bytes::new(76) };
    assert_eq!(refused, expected);
    let fs = with(0xA0FF).mount();
    assert_eq!(fs.findings().read_only_feature.unwrap().1, Bytes::new(76));
    assert!(fs.is_read_only());
    let copied = with(0x60FF).mount();
    assert_eq!(copied.volume().blocks().totals().used, 20 + 44);
    let deleted = with(0x20FF).mount();
    assert_eq!(deleted.volume().blocks().totals().used, 44);
}

#[test]
fn many_equal_names_and_versions_that_wrap_are_one_name() {
    let mut image = Image::new();
    let (node, data) = with_data(5, u32::MAX, 0, b"content");
    image.content(node, &data);
    for version in [u32::MAX, 0, 1, u32::MAX - 1] {
        let node = Dirent { parent: 1, version, ino: 5, mctime: 1, kind: 8, name: b"f" };
        let mut bytes = vec![0; 41];
        node.emit(&mut bytes, ORDER);
        image.put(&bytes);
    }
    assert_eq!(names(&mut image.mount(), 1), ["f"]);
    exercise(&image);
}

#[test]
fn a_reference_to_an_attribute_that_is_gone_does_not_give_its_inode_a_newer_one() {
    let (mut clock, mut image) = (Clock::new(), Image::new());
    for (ino, name) in [(2, b"old"), (3, b"new")] {
        image.content(file(ino, 1), b"").dirent(1, ino, 8, name);
    }
    let mut reference = [0; 28];
    Xref { ino: 2, xid: 1, sequence: 2, removed: false }.emit(&mut reference, ORDER);
    let mut fs = image.put(&reference).mount();
    fs.setxattr(&mut clock, Ino(3), b"user.colour", Some(b"blue")).unwrap();
    let mut fs = Jffs2::mount(&mut clock, fs.into_device(), Options::default()).unwrap();
    assert_eq!(fs.listxattr(&mut clock, Ino(3)).unwrap(), [b"user.colour"]);
    assert!(fs.listxattr(&mut clock, Ino(2)).unwrap().is_empty(), "an attribute never set");
}

#[test]
fn an_erased_flash_is_an_empty_filesystem() {
    let mut fs = Image::new().mount();
    assert_eq!(walk(&mut fs), 1);
}

#[test]
fn what_is_no_jffs2_is_said_with_what_was_found() {
    let mut image = Image::new();
    image.bytes = b"hsqs".iter().copied().chain(vec![7; 20_000]).collect();
    let error = image.mount_as(Options::default()).unwrap_err();
    assert!(matches!(error, MountError::NotJffs2 { at: Bytes::ZERO, .. }), "{error}");
    assert!(error.to_string().contains("\"hsqs"), "{error}");
}

#[test]
fn erased_pages_with_anything_in_their_spare_bytes_are_no_empty_jffs2() {
    for spare in [&[0][..], &[0xFF, 0], &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE]] {
        let mut flash = RamMtd::nand(BLOCKS, 8, bytes(BLOCK / 8), Bytes::new(16));
        flash.program_oob(&mut Clock::new(), PageIndex(8), &[], spare).unwrap();
        let error = Jffs2::mount(&mut Clock::new(), flash, Options::default()).unwrap_err();
        assert!(matches!(error, MountError::NotJffs2 { .. }), "{spare:?}: {error}");
    }
}

#[test]
fn the_wrong_byte_order_is_said_and_the_right_one_found() {
    let mut image = Image::new();
    let (node, data) = with_data(5, 1, 0, b"content");
    image.content(node, &data).dirent(1, 5, 8, b"f");
    let given = Options { byte_order: Some(ByteOrder::Big), ..Options::default() };
    let error = image.mount_as(given).unwrap_err();
    let expected = MountError::ByteOrder { given: ByteOrder::Big, nodes: 2, at: Bytes::ZERO };
    assert_eq!(error, expected);
    assert_eq!(image.mount().volume().byte_order(), ByteOrder::Little);
}

#[test]
fn a_block_size_that_does_not_fit_is_said() {
    // Nodes that fill blocks of 4096 bytes with 1000 each cross the ends of blocks of 1024.
    let mut image = Image::new();
    for version in 1..40 {
        let (node, data) = with_data(5, version, version * 900, &[7; 932]);
        image.content(node, &data);
    }
    let (mut flash, mut clock) = (RamMtd::nor(64, Bytes::new(1024)), Clock::new());
    flash.program(&mut clock, Bytes::ZERO, &image.bytes).unwrap();
    let error = Jffs2::mount(&mut clock, flash, Options::default()).unwrap_err();
    assert!(matches!(error, MountError::BlockSize { given: 1024, .. }), "{error}");
}

#[test]
fn a_block_size_that_is_too_large_is_known_by_cleanmarkers_inside() {
    let mut image = Image::new();
    let mut marker = vec![0; 12];
    Header::new(NodeType::Cleanmarker, 12).emit(&mut marker, ORDER);
    for version in 1..17 {
        let (node, data) = with_data(5, version, 0, &[7; 3900]);
        image.put(&marker).content(node, &data);
        image.bytes.resize(image.bytes.len().next_multiple_of(BLOCK), 0xFF);
    }
    let (mut flash, mut clock) = (RamMtd::nor(8, Bytes::new(16_384)), Clock::new());
    flash.program(&mut clock, Bytes::ZERO, &image.bytes).unwrap();
    let error = Jffs2::mount(&mut clock, flash, Options::default()).unwrap_err();
    let fits = |error: &MountError| {
        matches!(error, MountError::BlockSize { given: 16_384, fits: Some(4096), .. })
    };
    assert!(fits(&error), "{error}");
}

#[test]
fn cleanmarkers_at_the_beginning_of_blocks_say_nothing_of_their_size() {
    let mut image = Image::new();
    let mut marker = vec![0; 12];
    Header::new(NodeType::Cleanmarker, 12).emit(&mut marker, ORDER);
    for version in 1..9 {
        let (node, data) = with_data(5, version, 0, &[7; 3900]);
        image.put(&marker).content(node, &data);
        image.bytes.resize(image.bytes.len().next_multiple_of(BLOCK), 0xFF);
    }
    // An image for NOR on NAND, whose cleanmarkers are elsewhere.
    let mut flash = RamMtd::nand(BLOCKS, 8, bytes(BLOCK / 8), Bytes::new(16));
    flash.program(&mut Clock::new(), Bytes::ZERO, &image.bytes).unwrap();
    let fs = Jffs2::mount(&mut Clock::new(), flash, Options::default()).unwrap();
    assert_eq!((fs.findings().nodes, fs.findings().inner_cleanmarkers), (8, 0));
}

#[test]
fn of_two_blocks_with_as_much_space_left_the_first_is_written_on() {
    let mut image = Image::new();
    for version in [1, 2] {
        let (node, data) = with_data(5, version, 0, b"content");
        image.content(node, &data).dirent(1, 5, 8, b"f");
        image.bytes.resize(image.bytes.len().next_multiple_of(BLOCK), 0xFF);
    }
    let fs = image.mount();
    let [first, second] = [0, 1].map(|block| fs.volume().blocks().block(BlockIndex(block)).list());
    assert_eq!((first, second), (List::None, List::VeryDirty));
}

#[test]
fn a_flash_of_too_few_blocks_is_refused_unless_nothing_is_written() {
    let flash = RamMtd::nor(4, bytes(BLOCK));
    let error = Jffs2::mount(&mut Clock::new(), flash.clone(), Options::default()).unwrap_err();
    assert_eq!(error, MountError::TooSmall { blocks: 4, least: 5 });
    let options = Options { read_only: true, ..Options::default() };
    assert!(Jffs2::mount(&mut Clock::new(), flash, options).is_ok());
}

/// A number that breaks things.
fn awkward(stream: &mut Stream) -> u32 {
    let small = u32::try_from(stream.below(8)).unwrap();
    match stream.below(6) {
        0 => u32::MAX - small,
        1 => small * 1024,
        2 => u32::try_from(stream.below(1 << 32)).unwrap(),
        _ => small,
    }
}

/// A node that is right in itself and means harm, or is broken.
fn hostile(stream: &mut Stream) -> Vec<u8> {
    let length = usize::try_from(stream.below(200)).unwrap();
    let mut data = vec![0; length];
    stream.fill(&mut data);
    let mut node = match stream.below(8) {
        0..3 => {
            let names = [&b"a"[..], b"b", b"c", b"..", b"x/y", b"", b"long long name"];
            let name = names[usize::try_from(stream.below(7)).unwrap()];
            let kind = u8::try_from(stream.below(3)).unwrap() * 4;
            let (parent, version) = (awkward(stream), awkward(stream));
            let node = Dirent {
                parent,
                version,
                ino: awkward(stream),
                mctime: awkward(stream),
                kind,
                name,
            };
            let mut bytes = vec![0; usize::try_from(node.length()).unwrap()];
            node.emit(&mut bytes, ORDER);
            bytes
        }
        3..6 => {
            let modes = [0o100_644, 0o040_755, 0o120_777, 0o020_600, 0o060_600, 0o140_000, 0o17];
            let fits = stream.chance(3, 4);
            let csize = if fits { u32::try_from(length).unwrap() } else { awkward(stream) };
            let node = Inode {
                mode: modes[usize::try_from(stream.below(7)).unwrap()],
                isize: awkward(stream),
                offset: awkward(stream),
                csize,
                dsize: awkward(stream),
                compressor: Compressor::of(u8::try_from(stream.below(9)).unwrap()),
                ..file(awkward(stream), awkward(stream))
            };
            inode(node, &data)
        }
        6 => {
            let (xid, version) = (awkward(stream), awkward(stream));
            let prefix = XattrPrefix::of(u8::try_from(stream.below(7)).unwrap());
            let node = Xattr { xid, version, prefix, name: b"n", value: &data };
            let mut bytes = vec![0; usize::try_from(node.length()).unwrap()];
            node.emit(&mut bytes, ORDER);
            bytes
        }
        _ => {
            let removed = stream.chance(1, 4);
            let (ino, xid, sequence) = (awkward(stream), awkward(stream), awkward(stream) & !1);
            let mut bytes = vec![0; 28];
            Xref { ino, xid, sequence, removed }.emit(&mut bytes, ORDER);
            bytes
        }
    };
    if stream.chance(1, 10) {
        let at = usize::try_from(stream.below(node.len().try_into().unwrap())).unwrap();
        node[at] ^= 1 << stream.below(8);
    }
    node
}

/// What a summary says of a node, with a lie now and then.
fn summarised<'a>(
    stream: &mut Stream,
    offset: usize,
    node: &'a [u8],
) -> Option<summary::Entry<'a>> {
    let get = |at: usize| Some(ORDER.u32(node.get(at..at + 4)?.try_into().ok()?));
    let mut lie = |truth: u32| if stream.chance(1, 20) { awkward(stream) } else { truth };
    let (length, offset) = (lie(get(4)?), lie(u32::try_from(offset).unwrap()));
    let (first, second) = (lie(get(12)?), lie(get(16)?));
    Some(match get(0)? >> 16 {
        0xE001 => {
            let end = 40 + usize::from(*node.get(28)?);
            let (ino, kind, name) = (lie(get(20)?), *node.get(29)?, node.get(40..end)?);
            let (parent, version) = (first, second);
            summary::Entry::Dirent { length, offset, parent, version, ino, kind, name }
        }
        0xE002 => summary::Entry::Inode { ino: first, version: second, offset, length },
        0xE008 => summary::Entry::Xattr { xid: first, version: second, offset, length },
        0xE009 => summary::Entry::Xref { offset },
        _ => return None,
    })
}

fn hostile_image(stream: &mut Stream) -> Image {
    let (mut image, mut nodes) = (Image::new(), Vec::new());
    for _ in 0..stream.below(120) {
        let node = hostile(stream);
        image.put(&node);
        nodes.push((image.bytes.len() - node.len().next_multiple_of(4), node));
    }
    if stream.chance(1, 3) {
        // A summary over whatever is there.
        let mut node = vec![0; 1_400];
        let start = BLOCK - node.len();
        let offset = u32::try_from(start).unwrap();
        let cleanmarker = if stream.chance(1, 8) { awkward(stream) % 3 * 12 } else { 0 };
        let frame = summary::Frame { offset, cleanmarker, padded: 0 };
        let of_block = nodes.iter().filter(|(at, node)| at + node.len() <= start);
        let entries: Vec<_> =
            of_block.filter_map(|(at, node)| summarised(stream, *at, node)).collect();
        summary::emit(&mut node, ORDER, frame, entries);
        image.bytes.resize(image.bytes.len().max(BLOCK), 0xFF);
        image.bytes[start..BLOCK].copy_from_slice(&node);
    }
    image
}

#[test]
fn random_hostile_images_neither_panic_nor_hang() {
    let count = if std::env::var_os("BOARDLAB_FULL").is_some() { 100_000 } else { 1_000 };
    for number in 0..count {
        eprintln!("image {number}");
        let mut stream = Seed::new(number).stream("hostile");
        exercise(&hostile_image(&mut stream));
    }
}

#[test]
fn every_error_names_a_place_or_a_number() {
    let mut image = Image::new();
    let node = Inode { isize: 9, dsize: 9, csize: 8, compressor: Compressor::Zlib, ..file(5, 1) };
    image.content(node, b"12345678").dirent(1, 5, 8, b"f");
    let (mut fs, mut page) = (image.mount(), vec![0; PAGE_SIZE]);
    let Err(Error::Damaged(cause)) = fs.read_page(&mut Clock::new(), Ino(5), 0, &mut page) else {
        panic!("a damaged node was read");
    };
    assert_eq!(cause.to_string(), "node at 0x0: its data cannot be decompressed (compressor 6)");
}
