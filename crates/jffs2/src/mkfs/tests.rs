//! Images that are made node by node, mounted, and their summaries.

use super::*;
use crate::format::{Header, NodeType, SummaryView, Trailer};
use crate::options::CompressionMode;
use crate::{Jffs2, Options};
use boardlab_mtd::{Mtd, RamMtd};
use boardlab_sim::Bytes;
use boardlab_vfs::{Device, Errno, FileSystem};

const BLOCK: u32 = 8_192;
const FORMAT: Format = Format {
    block: BLOCK,
    order: ByteOrder::Big,
    cleanmarkers: true,
    compression: Compression {
        mode: CompressionMode::Priority,
        zlib: true,
        lzo: true,
        rtime: true,
    },
    summary: true,
};

fn inode(kind: Kind, size: u32) -> Inode {
    Inode { kind, mode: 0o640, uid: 7, gid: 8, size, time: 1_000 }
}

/// Adds a name of the root, and returns its inode.
fn named(builder: &mut Builder, name: &[u8], kind: Kind) -> u32 {
    let ino = builder.next_ino();
    builder.entry(&Name { parent: ROOT, name, ino, kind, time: 5 }).unwrap();
    ino
}

/// A file of 100,000 bytes with a hole in it and one at its end, a link to it, a directory, a device, and
/// attributes.
fn image(format: Format) -> Vec<u8> {
    let mut builder = Builder::new(format);
    builder.inode(ROOT, &inode(Kind::Directory, 0), 9, &[]).unwrap();
    let file = named(&mut builder, b"file", Kind::File);
    let mut open = Builder::file(file, &inode(Kind::File, 100_000));
    for page in (0..20_u32).filter(|page| *page != 7) {
        let data: Vec<u8> = (0..4_096_u32).map(|at| ((at * at) >> 9).to_le_bytes()[0]).collect();
        builder.data(&mut open, page * 4_096, &data).unwrap();
    }
    builder.end(open).unwrap();
    let link = named(&mut builder, b"link", Kind::Symlink);
    builder.inode(link, &inode(Kind::Symlink, 0), 1, b"file").unwrap();
    let device = Kind::Block(Device { major: 259, minor: 70_000 });
    let special = named(&mut builder, b"device", device);
    builder.inode(special, &inode(device, 0), 1, &[]).unwrap();
    for ino in [file, special] {
        let stored = builder.stored_attribute(b"user.note", b"shared").unwrap();
        builder.attribute(ino, stored).unwrap();
    }
    builder.finish()
}

fn mounted(image: &[u8]) -> (Jffs2<RamMtd>, Clock) {
    let mut clock = Clock::new();
    let blocks = u32::try_from(image.len()).unwrap() / BLOCK + 6;
    let mut flash = RamMtd::nor(blocks, Bytes::new(BLOCK.into()));
    flash.program(&mut clock, Bytes::ZERO, image).unwrap();
    let fs = Jffs2::mount(&mut clock, flash, Options::default()).unwrap();
    (fs, clock)
}

#[test]
fn what_was_added_is_found_in_a_mount() {
    for summary in [true, false] {
        for mode in [CompressionMode::Priority, CompressionMode::None, CompressionMode::Size] {
            let compression = Compression { mode, ..FORMAT.compression };
            let image = image(Format { summary, compression, ..FORMAT });
            let (mut fs, mut clock) = mounted(&image);
            let root = fs.root();
            let stat = fs.getattr(&mut clock, root).unwrap();
            assert_eq!((stat.mode, stat.uid, stat.modified.seconds), (0o640, 7, 1_000));
            let file = fs.lookup(&mut clock, root, b"file").unwrap();
            assert_eq!(fs.getattr(&mut clock, file).unwrap().size, 100_000);
            let mut page = vec![1; 4_096];
            for (number, byte) in [(6, 0x12), (7, 0), (19, 0x12), (20, 0), (23, 0)] {
                fs.read_page(&mut clock, file, number, &mut page).unwrap();
                assert_eq!((page[0], page[4_000]), (0, byte), "page {number}");
            }
            let link = fs.lookup(&mut clock, root, b"link").unwrap();
            assert_eq!(fs.readlink(&mut clock, link).unwrap(), b"file");
            let device = fs.lookup(&mut clock, root, b"device").unwrap();
            let kind = Kind::Block(Device { major: 259, minor: 70_000 });
            assert_eq!(fs.getattr(&mut clock, device).unwrap().kind, kind);
            for ino in [file, device] {
                assert_eq!(fs.getxattr(&mut clock, ino, b"user.note").unwrap(), b"shared");
            }
            assert_eq!(
                fs.lookup(&mut clock, root, b"none").unwrap_err().errno(),
                Some(Errno::NoEnt)
            );
        }
    }
}

#[test]
fn a_summary_names_the_nodes_of_its_block() {
    let compression = Compression { mode: CompressionMode::None, ..FORMAT.compression };
    let image = image(Format { compression, ..FORMAT });
    let blocks: Vec<&[u8]> = image.chunks(to_usize(BLOCK)).collect();
    assert!(blocks.len() > 5, "{}", blocks.len());
    for (number, block) in blocks.iter().enumerate() {
        let Some(trailer) = Trailer::parse(block, ByteOrder::Big) else {
            assert_eq!(number + 1, blocks.len(), "only the last block has no summary");
            continue;
        };
        let view = SummaryView::new(&block[to_usize(trailer.offset)..], ByteOrder::Big).unwrap();
        assert_eq!((view.cleanmarker(), view.padded()), (12, 0));
        let entries: Vec<_> = view.entries().map(Result::unwrap).collect();
        let mut at = 12;
        for entry in entries {
            let header = Header::parse(&block[at..], ByteOrder::Big).unwrap();
            assert_eq!((at, header.length), (to_usize(entry.offset()), entry.length()));
            at += to_usize(pad(header.length));
        }
        let header = Header::parse(&block[at..], ByteOrder::Big).unwrap();
        assert_eq!((at, header.node_type), (to_usize(trailer.offset), NodeType::Summary));
        // Content that can be split leaves less than the smallest piece of it unused.
        assert!(block.len() - at < 68 + 128 + 18 + 40 + 18 * to_usize(view.count()) + 4);
    }
}

#[test]
fn attributes_that_have_no_place_are_refused() {
    let builder = Builder::new(FORMAT);
    let takes = |name: &[u8], value: &[u8]| builder.stored_attribute(name, value).is_some();
    assert!(takes(b"user.x", &[0; 8_000]) && takes(b"trusted.x", b"") && takes(b"security.x", b""));
    assert!(!takes(b"user.x", &[0; 8_192 - 12 - 58 - 34 + 1]) && !takes(b"user.", b"x"));
    assert!(takes(b"user.x", &[0; 8_192 - 12 - 58 - 34 - 2]));
    assert!(!takes(&[b"user.".to_vec(), vec![b'x'; 256]].concat(), b"") && !takes(b"other", b""));
    assert!(!takes(b"system.posix_acl_access", b"no list"));
}
