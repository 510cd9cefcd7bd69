//! Images of every kind, from literal headers.

use super::*;
use crate::fs::Hints;
use crate::fs::jffs2::tests::Writer;
use crate::open::open;
use crate::shape::Shape;
use boardlab_jffs2::format::ByteOrder;

const PAGE_2K: Bytes = Bytes::kib(2);
const OOB_64: Bytes = Bytes::new(64);
const BLOCK: Bytes = Bytes::kib(128);

pub(crate) fn u_image(length: u32) -> Vec<u8> {
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
        (Kind::FileSystem("SquashFS"), b(4_096, &[(0, b"hsqs"), (28, &[4, 0, 0, 0])])),
        (Kind::FileSystem("SquashFS"), b(4_096, &[(0, b"sqsh"), (28, &[0, 3, 0, 1])])),
        (
            Kind::FileSystem("cramfs"),
            b(4_096, &[(0, &[0x45, 0x3D, 0xCD, 0x28]), (16, b"Compressed ROMFS")]),
        ),
        (
            Kind::FileSystem("cramfs"),
            b(4_096, &[(0, &[0x28, 0xCD, 0x3D, 0x45]), (16, b"Compressed ROMFS")]),
        ),
        (Kind::FileSystem("romfs"), b(4_096, &[(0, b"-rom1fs-")])),
        (Kind::FileSystem("ext2"), ext(0, 2)),
        (Kind::FileSystem("ext3"), ext(4, 2)),
        (Kind::FileSystem("ext4"), ext(4, 0x42)),
        (Kind::FileSystem("F2FS"), b(4_096, &[(1_024, &[0x10, 0x20, 0xF5, 0xF2])])),
        (Kind::FileSystem("EROFS"), b(4_096, &[(1_024, &[0xE2, 0xE1, 0xF5, 0xE0])])),
        (Kind::FileSystem("littlefs"), b(4_096, &[(8, b"littlefs")])),
        (
            Kind::FileSystem("LogFS"),
            b(4_096, &[(24, &[0x7A, 0x3A, 0x8E, 0x5C, 0xB9, 0xD5, 0xBF, 0x67])]),
        ),
        (Kind::FileSystem("UBIFS"), b(4_096, &[(0, &[0x31, 0x18, 0x10, 6]), (20, &[6])])),
        (Kind::FileSystem("FAT-like"), b(4_096, &[(54, b"FAT16   "), (510, &[0x55, 0xAA])])),
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
        (Kind::Unknown, b"O".repeat(70_000)),
    ];
    for (kind, bytes) in cases {
        let identity = identify(&Contents::of(bytes));
        assert_eq!(identity.main().kind, kind, "{identity:#?}");
        assert_eq!(identity.main().at, Bytes::ZERO);
    }
}

#[test]
fn other_content_is_refused_by_its_name_and_place() {
    let cases: [(Vec<u8>, [&str; 2]); 7] = [
        (Vec::new(), ["the image is empty", "take it again"]),
        (
            bytes_with(9_000, &[(0, b"hsqs"), (28, &[4, 0, 0, 0])]),
            [
                "found a SquashFS filesystem instead of JFFS2 or UBIFS or YAFFS2 or LogFS (version 4.0, little-endian): superblock \
              `hsqs` at 0x0",
                "expected JFFS2 or UBIFS or YAFFS2 or LogFS; unsquashfs reads it: unsquashfs -o 0 FILE",
            ],
        ),
        (
            bytes_with(9_000, &[(0, b"ANDROID!")]),
            [
                "found an Android boot image instead of JFFS2 or UBIFS or YAFFS2 or LogFS",
                "expected JFFS2 or UBIFS or YAFFS2 or LogFS",
            ],
        ),
        (bytes_with(9_000, &[(0, &[0x1F, 0x8B, 8])]), ["compressed data instead", "unpack"]),
        (
            vec![0xFF; 9_000],
            ["found erased flash instead of JFFS2 or UBIFS or YAFFS2 or LogFS", "right partition"],
        ),
        (
            vec![0; 9_000],
            ["found zeros instead of JFFS2 or UBIFS or YAFFS2 or LogFS", "did the reading"],
        ),
        (
            bytes_with(9_000, &[]),
            [
                "unknown content instead of JFFS2 or UBIFS or YAFFS2 or LogFS: first bytes 80 87 8e",
                "checksum",
            ],
        ),
    ];
    for (bytes, texts) in cases {
        let error = open(&Contents::of(bytes), &Hints::default()).unwrap_err();
        assert!(error.to_string().contains(texts[0]), "{error}");
        assert!(error.help().contains(texts[1]), "{}", error.help());
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
        page[268..272].copy_from_slice(&0o040_755_u32.to_le_bytes());
        page
    };
    for (oob, at) in [(0, 0), (64, 0), (64, 2)] {
        let mut file = Vec::new();
        for name in [&b"etc"[..], b"bin", b"lib"] {
            file.extend(object(name));
            let tags = [1, 0x10, 0, 0, 1, 1, 0, 0x30, 1, 0, 0, 0x80, 0, 0, 0, 0];
            let parts: [(usize, &[u8]); 1] = [(at, &tags)];
            file.extend(bytes_with(oob, if oob > 0 { &parts } else { &[] }));
        }
        let identity = identify(&Contents::of(file));
        let found = identity.main();
        assert_eq!(found.kind, Kind::FileSystem("YAFFS2"), "{identity:#?}");
        let confidence = if oob > 0 { Confidence::Certain } else { Confidence::Likely };
        assert_eq!(found.confidence, confidence);
        let last = format!("in spare bytes {at} to {}", at + 15);
        let said = if oob > 0 { &last } else { "3 object headers at multiples of 2 KiB" };
        assert!(found.evidence.iter().any(|one| one.what.contains(said)), "{found:?}");
        let shape = found.shape.map(|shape| (shape.page, shape.oob));
        assert_eq!(shape, (oob > 0).then_some((PAGE_2K, Bytes::new(oob as u64))));
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
