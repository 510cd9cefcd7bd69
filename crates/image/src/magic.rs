//! The magic numbers and headers of everything that occurs where a flash image was expected.
//!
//! Layer: rank 7. Main function: [`recognise`]. Sources: the headers of Linux 6.1 (`squashfs_fs.h`,
//! `ext4.h`, `cramfs_fs.h`, `romfs_fs.h`, `f2fs_fs.h`, `erofs_fs.h`, `ubi-media.h`, `ubifs-media.h`,
//! `elf.h`), `include/image.h` of U-Boot, `sparse_format.h` and `bootimg.h` of Android, and RFC 1952
//! and its relatives for the compressors. Only what stands at fixed places is looked at.

use crate::detection::Kind::{self, FileSystem};
use crate::detection::{Confidence, Detection};
use boardlab_sim::Bytes;

/// A recognised header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignatureMatch {
    pub(crate) kind: Kind,
    pub(crate) confidence: Confidence,
    /// The offset of the magic number within the content.
    pub(crate) at: usize,
    pub(crate) evidence: String,
    pub(crate) detail: String,
    pub(crate) size: Option<Bytes>,
}

impl SignatureMatch {
    /// The content that begins at `at` with this header.
    pub(crate) fn found(self, at: Bytes) -> Detection {
        let magic = at + Bytes::new(self.at as u64);
        let found = Detection::new(self.kind, at, self.confidence).because(magic, self.evidence);
        Detection { size: self.size, detail: self.detail, ..found }
    }
}

/// The bytes that [`recognise`] needs.
pub(crate) const HEAD: usize = 2_048;

/// The beginning of some content; numbers beyond its end are zero.
pub(crate) struct Head<'a>(pub(crate) &'a [u8]);

impl Head<'_> {
    pub(crate) fn has(&self, at: usize, bytes: &[u8]) -> bool {
        self.0.get(at..at + bytes.len()) == Some(bytes)
    }

    pub(crate) fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let found = self.0.get(at..at + N).and_then(|bytes| bytes.try_into().ok());
        found.unwrap_or([0; N])
    }

    pub(crate) fn le16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }

    pub(crate) fn le32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    pub(crate) fn be32(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.array(at))
    }

    pub(crate) fn le64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }

    /// Printable text of at most `length` bytes.
    pub(crate) fn text(&self, at: usize, length: usize) -> String {
        let bytes = self.0.get(at..).unwrap_or_default();
        let bytes = bytes.iter().take(length).take_while(|byte| **byte != 0);
        bytes.map(|&byte| char::from(byte)).filter(|c| c.is_ascii_graphic() || *c == ' ').collect()
    }
}

/// The confidence of a magic number alone.
const ALONE: Confidence = Confidence::Possible;

fn hit(kind: Kind, confidence: Confidence, magic: (usize, &str), detail: String) -> SignatureMatch {
    let (at, name) = magic;
    SignatureMatch { kind, confidence, at, evidence: name.into(), detail, size: None }
}

type Test = fn(&Head<'_>) -> Option<SignatureMatch>;

/// In order of decreasing confidence.
const TESTS: &[Test] = &[
    ubi,
    ubifs,
    logfs,
    squashfs,
    cramfs,
    romfs,
    ext,
    f2fs,
    erofs,
    littlefs,
    kernel,
    u_image,
    device_tree,
    android_sparse,
    android_boot,
    elf,
    trx,
    partition_table,
    fat,
    compressed,
    archive,
    text,
];

/// Recognises the content at the beginning of `bytes`.
pub(crate) fn recognise(bytes: &[u8]) -> Option<SignatureMatch> {
    TESTS.iter().find_map(|test| test(&Head(bytes)))
}

/// CRC-32 of UBI and UBIFS: starts from all ones, not inverted at the end.
fn ubi_crc(bytes: &[u8]) -> u32 {
    !crc32fast::hash(bytes)
}

/// Whether the checksum of an erase counter header is valid.
pub(crate) fn is_erase_counter(bytes: &[u8]) -> bool {
    bytes.get(..60).map(ubi_crc) == Some(Head(bytes).be32(60))
}

fn ubi(head: &Head<'_>) -> Option<SignatureMatch> {
    if !head.has(0, b"UBI#") {
        return None;
    }
    let found = (0, "erase counter header `UBI#`");
    if !is_erase_counter(head.0) {
        return Some(hit(Kind::Ubi, ALONE, found, "its checksum is wrong".into()));
    }
    let detail = format!("volume header at {}, data at {}", head.be32(16), head.be32(20));
    Some(hit(Kind::Ubi, Confidence::Certain, found, detail))
}

fn ubifs(head: &Head<'_>) -> Option<SignatureMatch> {
    if head.le32(0) != 0x0610_1831 {
        return None;
    }
    if head.le32(20) & 0xFF != 6 {
        return Some(hit(FileSystem("UBIFS"), ALONE, (0, "node header 0x06101831"), String::new()));
    }
    let detail = format!(
        "{} logical erase blocks of {}, writes of {}",
        head.le32(40),
        Bytes::new(head.le32(36).into()),
        Bytes::new(head.le32(32).into())
    );
    Some(hit(FileSystem("UBIFS"), Confidence::Certain, (0, "superblock node 0x06101831"), detail))
}

fn logfs(head: &Head<'_>) -> Option<SignatureMatch> {
    let magic = [0x7A, 0x3A, 0x8E, 0x5C, 0xB9, 0xD5, 0xBF, 0x67];
    let found = head.has(24, &magic);
    let name = (24, "superblock 0x7a3a8e5cb9d5bf67");
    found.then(|| hit(FileSystem("LogFS"), Confidence::Certain, name, String::new()))
}

fn squashfs(head: &Head<'_>) -> Option<SignatureMatch> {
    let little = head.has(0, b"hsqs");
    if !little && !head.has(0, b"sqsh") {
        return None;
    }
    let magic = if little { "superblock `hsqs`" } else { "superblock `sqsh`" };
    let version: [u8; 4] = head.array(28);
    let number = |pair: [u8; 2]| {
        if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
    };
    let (major, minor) = (number([version[0], version[1]]), number([version[2], version[3]]));
    let known = (1..=4).contains(&major);
    let order = if little { "little" } else { "big" };
    let detail = format!("version {major}.{minor}, {order}-endian");
    let confidence = if known { Confidence::Certain } else { ALONE };
    let size = (little && major == 4).then(|| Bytes::new(head.le64(40)));
    Some(SignatureMatch { size, ..hit(FileSystem("SquashFS"), confidence, (0, magic), detail) })
}

fn cramfs(head: &Head<'_>) -> Option<SignatureMatch> {
    let (little, big) = (head.le32(0) == 0x28CD_3D45, head.be32(0) == 0x28CD_3D45);
    if !little && !big {
        return None;
    }
    let signed = head.has(16, b"Compressed ROMFS");
    let order = if little { "little-endian" } else { "big-endian" };
    let size = if little { head.le32(4) } else { head.be32(4) };
    let confidence = if signed { Confidence::Certain } else { ALONE };
    let found = hit(FileSystem("cramfs"), confidence, (0, "superblock 0x28cd3d45"), order.into());
    Some(SignatureMatch { size: signed.then(|| Bytes::new(size.into())), ..found })
}

fn romfs(head: &Head<'_>) -> Option<SignatureMatch> {
    let found = head.has(0, b"-rom1fs-");
    let size = Some(Bytes::new(head.be32(8).into()));
    let detail = head.text(16, 32);
    let made =
        || hit(FileSystem("romfs"), Confidence::Certain, (0, "superblock `-rom1fs-`"), detail);
    found.then(|| SignatureMatch { size, ..made() })
}

/// The second, third and fourth extended filesystem differ by their features only.
fn ext(head: &Head<'_>) -> Option<SignatureMatch> {
    const SUPERBLOCK: usize = 1_024;
    let (blocks, shift) = (head.le32(SUPERBLOCK + 4), head.le32(SUPERBLOCK + 24));
    let states = head.le16(SUPERBLOCK + 58);
    if head.le16(SUPERBLOCK + 56) != 0xEF53 || shift > 6 || states > 7 || blocks == 0 {
        return None;
    }
    let journal = head.le32(SUPERBLOCK + 92) & 0x4 != 0;
    let of_ext4 =
        head.le32(SUPERBLOCK + 96) & 0x2C0 != 0 || head.le32(SUPERBLOCK + 100) & 0x478 != 0;
    let kind = match (of_ext4, journal) {
        (true, _) => FileSystem("ext4"),
        (false, true) => FileSystem("ext3"),
        (false, false) => FileSystem("ext2"),
    };
    let block = Bytes::new(1_024 << shift);
    let found = (SUPERBLOCK + 56, "superblock 0xef53");
    let detail = format!("{blocks} blocks of {block}");
    let size = Some(block * u64::from(blocks));
    Some(SignatureMatch { size, ..hit(kind, Confidence::Certain, found, detail) })
}

fn f2fs(head: &Head<'_>) -> Option<SignatureMatch> {
    let name = (1_024, "superblock 0xf2f52010");
    (head.le32(1_024) == 0xF2F5_2010)
        .then(|| hit(FileSystem("F2FS"), Confidence::Certain, name, String::new()))
}

fn erofs(head: &Head<'_>) -> Option<SignatureMatch> {
    let name = (1_024, "superblock 0xe0f5e1e2");
    (head.le32(1_024) == 0xE0F5_E1E2)
        .then(|| hit(FileSystem("EROFS"), Confidence::Certain, name, String::new()))
}

fn littlefs(head: &Head<'_>) -> Option<SignatureMatch> {
    let name = (8, "superblock `littlefs`");
    head.has(8, b"littlefs")
        .then(|| hit(FileSystem("littlefs"), Confidence::Certain, name, String::new()))
}

/// The image that a boot loader starts: zImage of ARM, Image of ARM64 and RISC-V. Sources: Linux 6.1,
/// `arch/arm/boot/compressed/head.S`, `Documentation/arm64/booting.rst`,
/// `Documentation/riscv/boot-image-header.rst`.
fn kernel(head: &Head<'_>) -> Option<SignatureMatch> {
    let sure = Confidence::Certain;
    if head.le32(0x24) == 0x016F_2818 {
        let length = head.le32(0x2C).checked_sub(head.le32(0x28)).map(|it| Bytes::new(it.into()));
        let found = hit(Kind::Kernel, sure, (0x24, "zImage 0x016f2818"), "zImage, ARM".into());
        return Some(SignatureMatch { size: length, ..found });
    }
    let name = [(b"ARM\x64", "Image, ARM64"), (b"RSC\x05", "Image, RISC-V")];
    let (_, detail) = name.into_iter().find(|(magic, _)| head.has(0x38, *magic))?;
    let size = Some(Bytes::new(head.le64(0x10))).filter(|size| !size.is_zero());
    let found = hit(Kind::Kernel, sure, (0x38, "Image header"), detail.into());
    Some(SignatureMatch { size, ..found })
}

fn u_image(head: &Head<'_>) -> Option<SignatureMatch> {
    if head.be32(0) != 0x2705_1956 {
        return None;
    }
    let mut header: [u8; 64] = head.array(0);
    header[4..8].fill(0);
    let right = crc32fast::hash(&header) == head.be32(4);
    let confidence = if right { Confidence::Certain } else { ALONE };
    let found = hit(Kind::UImage, confidence, (0, "header 0x27051956"), head.text(32, 32));
    Some(SignatureMatch { size: right.then(|| Bytes::new(64 + u64::from(head.be32(12)))), ..found })
}

fn device_tree(head: &Head<'_>) -> Option<SignatureMatch> {
    let known = (16..=17).contains(&head.be32(20));
    if head.be32(0) != 0xD00D_FEED || !known {
        return None;
    }
    let found = (0, "header 0xd00dfeed");
    let size = Some(Bytes::new(head.be32(4).into()));
    Some(SignatureMatch {
        size,
        ..hit(Kind::DeviceTree, Confidence::Certain, found, String::new())
    })
}

fn android_sparse(head: &Head<'_>) -> Option<SignatureMatch> {
    if head.le32(0) != 0xED26_FF3A {
        return None;
    }
    let known = head.le16(4) == 1 && head.le16(8) == 28 && head.le16(10) == 12;
    let confidence = if known { Confidence::Certain } else { ALONE };
    let detail = format!("{} blocks of {}", head.le32(16), Bytes::new(head.le32(12).into()));
    Some(hit(Kind::AndroidSparse, confidence, (0, "header 0xed26ff3a"), detail))
}

fn android_boot(head: &Head<'_>) -> Option<SignatureMatch> {
    let name = (0, "header `ANDROID!`");
    head.has(0, b"ANDROID!")
        .then(|| hit(Kind::AndroidBoot, Confidence::Certain, name, String::new()))
}

fn elf(head: &Head<'_>) -> Option<SignatureMatch> {
    let [class, order] = head.array(4);
    if !head.has(0, b"\x7fELF") || !(1..=2).contains(&class) || !(1..=2).contains(&order) {
        return None;
    }
    let order = if order == 1 { "little" } else { "big" };
    let detail = format!("{} bits, {order}-endian", u32::from(class) * 32);
    Some(hit(Kind::Elf, Confidence::Certain, (0, "header `\\x7fELF`"), detail))
}

fn trx(head: &Head<'_>) -> Option<SignatureMatch> {
    let known = (1..=2).contains(&head.le16(14));
    (head.has(0, b"HDR0") && known)
        .then(|| hit(Kind::Trx, Confidence::Likely, (0, "header `HDR0`"), String::new()))
}

fn partition_table(head: &Head<'_>) -> Option<SignatureMatch> {
    if head.has(512, b"EFI PART") {
        let name = (512, "header `EFI PART`");
        return Some(hit(Kind::Gpt, Confidence::Certain, name, String::new()));
    }
    let sound = |number: usize| {
        let (at, kind) = (446 + 16 * number, head.array::<1>(450 + 16 * number)[0]);
        let status = head.array::<1>(at)[0];
        (status == 0 || status == 0x80) && (kind == 0) == (head.le32(at + 12) == 0)
    };
    let used = (0..4).any(|number| head.le32(458 + 16 * number) > 0);
    let fat = head.has(54, b"FAT") || head.has(82, b"FAT");
    (head.has(510, &[0x55, 0xAA]) && (0..4).all(sound) && used && !fat)
        .then(|| hit(Kind::Mbr, Confidence::Likely, (510, "signature 55 aa"), String::new()))
}

fn fat(head: &Head<'_>) -> Option<SignatureMatch> {
    let names = [(54, "FAT12"), (54, "FAT16"), (82, "FAT32"), (3, "EXFAT"), (3, "NTFS")];
    let (at, name) = names.into_iter().find(|(at, name)| head.has(*at, name.as_bytes()))?;
    let found = (at, "name of the filesystem in the boot sector");
    head.has(510, &[0x55, 0xAA])
        .then(|| hit(FileSystem("FAT-like"), Confidence::Certain, found, name.into()))
}

fn compressed(head: &Head<'_>) -> Option<SignatureMatch> {
    const FORMATS: &[(&[u8], &str)] = &[
        (&[0x1F, 0x8B, 8], "gzip"),
        (&[0xFD, b'7', b'z', b'X', b'Z', 0], "xz"),
        (&[0x28, 0xB5, 0x2F, 0xFD], "zstd"),
        (&[0x04, 0x22, 0x4D, 0x18], "lz4"),
        (&[0x02, 0x21, 0x4C, 0x18], "lz4"),
        (&[0x89, b'L', b'Z', b'O', 0, 0x0D, 0x0A, 0x1A, 0x0A], "lzop"),
        (b"BZh", "bzip2"),
        (&[0x5D, 0, 0, 0x80, 0], "lzma"),
    ];
    let (_, name) = FORMATS.iter().find(|(magic, _)| head.has(0, magic))?;
    let found = (0, "magic number");
    Some(hit(Kind::Compressed, Confidence::Likely, found, (*name).into()))
}

fn archive(head: &Head<'_>) -> Option<SignatureMatch> {
    let formats: [(usize, &[u8], &str); 4] = [
        (257, b"ustar", "tar"),
        (0, b"070701", "cpio"),
        (0, b"070707", "cpio"),
        (0, b"PK\x03\x04", "zip"),
    ];
    let (at, _, name) = formats.into_iter().find(|(at, magic, _)| head.has(*at, magic))?;
    Some(hit(Kind::Archive, Confidence::Likely, (at, "magic number"), name.into()))
}

/// Dumps as text: Intel HEX, S-records, what `nanddump --prettyprint`, `hexdump` and U-Boot print.
fn text(head: &Head<'_>) -> Option<SignatureMatch> {
    let printable = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    // A page full of one letter is the content of a file.
    let differ = head.0.iter().any(|byte| *byte != head.0[0]);
    let enough = head.0.len() >= 16 && head.0.iter().all(printable) && differ;
    let detail = match head.0 {
        [b':', ..] => "perhaps Intel HEX",
        [b'S', b'0'..=b'9', ..] => "perhaps S-records",
        _ => "",
    };
    enough.then(|| hit(Kind::Text, Confidence::Likely, (0, "printable bytes alone"), detail.into()))
}
