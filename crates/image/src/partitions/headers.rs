//! Headers that [`magic`](crate::magic) knows, with what more they say, and blocks that repeat theirs.
//!
//! Layer: rank 7. Functions: [`recognise`], [`repeated`]. Sources: those of [`magic`](crate::magic), and
//! `include/image.h` of U-Boot for the names of systems and types.

use super::{FlashData, tree};
use crate::detection::{Confidence, Detection, Kind};
use crate::magic::{self, Head};
use boardlab_sim::Bytes;

/// The bytes of a device tree that are read.
const TREE: usize = 32 << 20;
/// The bytes of an image whose checksum is verified.
const IMAGE: u64 = 256 << 20;
/// The bytes that are read at once.
const PIECE: usize = 1 << 20;
/// Blocks of other content within one that repeats its headers: erased and bad ones, and those without any.
const GAP: u64 = 64;

/// The content that begins at `at` with a header that says more than a magic number.
pub(super) fn recognise(flash: &mut FlashData, at: Bytes, head: &[u8]) -> Option<Detection> {
    let hit = magic::recognise(head)?;
    if hit.kind == Kind::Text || hit.confidence == Confidence::Possible {
        return None;
    }
    let found = hit.found(at);
    let head = Head(head);
    match found.kind {
        Kind::UImage => Some(u_image(flash, found, &head)),
        Kind::DeviceTree => device_tree(flash, found),
        Kind::FileSystem("SquashFS") => squashfs(found, &head),
        Kind::Compressed => compressed(flash, found, &head),
        Kind::Elf => Some(elf(found, &head)),
        Kind::Trx => Some(Detection { size: Some(Bytes::new(head.le32(4).into())), ..found }),
        _ => Some(found),
    }
}

fn u_image(flash: &mut FlashData, mut found: Detection, head: &Head<'_>) -> Detection {
    const SYSTEMS: [(u8, &str); 4] =
        [(5, "Linux"), (14, "VxWorks"), (17, "U-Boot"), (0, "no system")];
    const KINDS: [(u8, &str); 8] = [
        (1, "program"),
        (2, "kernel"),
        (3, "RAM disk"),
        (4, "several files"),
        (5, "firmware"),
        (6, "script"),
        (7, "filesystem"),
        (8, "device tree"),
    ];
    const PACKED: [(u8, &str); 6] =
        [(0, "not compressed"), (1, "gzip"), (2, "bzip2"), (3, "lzma"), (4, "lzo"), (5, "lz4")];
    let name = |all: &[(u8, &'static str)], value: u8| {
        all.iter().find(|(number, _)| *number == value).map_or("another", |(_, name)| *name)
    };
    let [system, _, kind, packed] = head.array(28);
    found.detail = format!(
        "{}: {} {}, {}",
        found.detail,
        name(&SYSTEMS, system),
        name(&KINDS, kind),
        name(&PACKED, packed)
    );
    let start = found.at + Bytes::new(64);
    let length = u64::from(head.be32(12)).min(IMAGE);
    let mut sum = crc32fast::Hasher::new();
    let mut done = 0;
    while done < length {
        let piece =
            flash.read(start + Bytes::new(done), PIECE.min(Bytes::new(length - done).to_usize()));
        if piece.is_empty() {
            break;
        }
        sum.update(&piece);
        done += piece.len() as u64;
    }
    if sum.finalize() == head.be32(24) {
        found.because(start, "checksums of header and data right")
    } else {
        found.confidence = Confidence::Likely;
        found.because(start, "checksum of the header right, of the data wrong")
    }
}

/// A tree or FIT image whose structure is within it.
fn device_tree(flash: &mut FlashData, mut found: Detection) -> Option<Detection> {
    let size = found.size.filter(|size| size.get() >= 40)?;
    let bytes = flash.read(found.at, size.to_usize().min(TREE));
    let tree = tree::describe(&bytes)?;
    found.detail = if tree.is_fit { format!("FIT image: {}", tree.text) } else { tree.text };
    if !tree.whole {
        found.confidence = Confidence::Possible;
        return Some(found.because(size, "its structure does not come to an end"));
    }
    let at = found.at;
    Some(found.because(at, "its structure is right to the end"))
}

fn squashfs(mut found: Detection, head: &Head<'_>) -> Option<Detection> {
    const PACKED: [&str; 7] = ["", "gzip", "lzma", "lzo", "xz", "lz4", "zstd"];
    let size = found.size?;
    let packed = PACKED.get(usize::from(head.le16(20))).copied().filter(|name| !name.is_empty())?;
    let (block, shift) = (head.le32(12), head.le16(22));
    if size < Bytes::new(96) || 1_u32.checked_shl(shift.into()) != Some(block) {
        return None;
    }
    found.detail = format!("{}, {packed}, blocks of {}", found.detail, Bytes::new(block.into()));
    let at = found.at;
    Some(found.because(at, "block size and its logarithm agree"))
}

/// A magic number of two bytes is not enough: more of each header is looked at.
fn compressed(flash: &FlashData, mut found: Detection, head: &Head<'_>) -> Option<Detection> {
    let sound = match found.detail.as_str() {
        "gzip" => {
            let [flags, .., extra, system] = head.array::<7>(3);
            flags & 0xE0 == 0 && [0, 2, 4].contains(&extra) && (system <= 13 || system == 255)
        }
        "lzma" => {
            let size = head.le64(5);
            size == u64::MAX || size < 1 << 32
        }
        "xz" => crc32fast::hash(&head.array::<2>(6)) == head.le32(8),
        "bzip2" => head.has(4, b"1AY&SY"),
        _ => true,
    };
    if !sound {
        return None;
    }
    if found.detail == "gzip" && head.array::<1>(3)[0] & 8 != 0 {
        found.detail = format!("gzip of {}", crate::names::shown(head.text(10, 64).as_bytes()));
    }
    // What is packed says nothing of its end: it is that of the blocks that are not erased.
    let (step, mut end) = (Bytes::kib(4), found.at);
    while end < flash.length() {
        let bytes = flash.stored(end, step);
        if boardlab_mtd::is_erased(&bytes) || bytes.iter().all(|&byte| byte == 0) {
            break;
        }
        if end > found.at {
            let is_other = magic::recognise(&bytes)
                .is_some_and(|hit| hit.confidence == Confidence::Certain && hit.kind != Kind::Elf);
            if is_other {
                break;
            }
        }
        end += step;
    }
    found.size = Some(end.min(flash.length()) - found.at);
    let at = found.at;
    Some(
        found.because(
            at,
            "further bytes of its header are sound; its end is that of programmed bytes",
        ),
    )
}

/// A program ends behind its table of sections.
fn elf(mut found: Detection, head: &Head<'_>) -> Detection {
    let [class, order] = head.array(4);
    let half = |at: usize| {
        let bytes = head.array(at);
        u64::from(if order == 1 { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let offset = match (class, order) {
        (1, 1) => head.le32(32).into(),
        (1, _) => head.be32(32).into(),
        (_, 1) => head.le64(40),
        _ => u64::from_be_bytes(head.array(40)),
    };
    let (size, count) = if class == 1 { (half(46), half(48)) } else { (half(58), half(60)) };
    let end = offset.checked_add(size * count).filter(|_| offset > 0);
    found.size = end.map(Bytes::new);
    found
}

/// UBI or JFFS2, whose blocks begin with their headers.
pub(super) fn repeated(
    flash: &mut FlashData,
    at: Bytes,
    head: &[u8],
    step: Bytes,
) -> Option<Detection> {
    let test: fn(&[u8]) -> bool = match head {
        [b'U', b'B', b'I', b'#', ..] if magic::is_erase_counter(head) => magic::is_erase_counter,
        _ if is_jffs2(head) => is_jffs2,
        _ => return None,
    };
    let is_ubi = head.starts_with(b"UBI#");
    let block = flash.block().filter(|block| block.is_multiple_of(step));
    let block = block.or_else(|| distance(flash, at, step, test)).unwrap_or(step);
    let (mut end, mut next, mut gap, mut count) = (at + block, at + block, 0, 1_u64);
    while next < flash.length() && gap < GAP {
        let head = flash.read(next, 64);
        if head.starts_with(b"UBI#") == is_ubi && test(&head) {
            end = next + block;
            count += 1;
            gap = 0;
        } else if !boardlab_mtd::is_erased(&head)
            && magic::recognise(&flash.read(next, magic::HEAD))
                .is_some_and(|hit| hit.confidence == Confidence::Certain)
        {
            break;
        } else {
            gap += 1;
        }
        next += block;
    }
    let kind = if is_ubi { Kind::Ubi } else { Kind::FileSystem("JFFS2") };
    let mut found = Detection::new(kind, at, Confidence::Certain);
    found.size = Some(end.min(flash.length()) - at);
    found.detail = format!(
        "{} of {block}",
        boardlab_result::prose::counted(count.try_into().unwrap_or(usize::MAX), "block")
    );
    let what = if is_ubi { "erase counter headers" } else { "nodes" };
    Some(found.because(at, format!("{what} with right checksums begin {count} blocks")))
}

/// The distance of the next block with such a header.
fn distance(
    flash: &mut FlashData,
    at: Bytes,
    step: Bytes,
    test: fn(&[u8]) -> bool,
) -> Option<Bytes> {
    const MOST: Bytes = Bytes::mib(4);
    let mut next = step;
    while next <= MOST && at + next < flash.length() {
        if test(&flash.read(at + next, 64)) && next.get().is_power_of_two() {
            return Some(next);
        }
        next += step;
    }
    None
}

/// A node of JFFS2 whose header has a right checksum.
fn is_jffs2(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<12>() else { return false };
    let head = Head(header);
    let sum = boardlab_codec::crc::crc32(0, &header[..8]);
    let little = head.has(0, &[0x85, 0x19]) && head.le32(8) == sum;
    little || (head.has(0, &[0x19, 0x85]) && head.be32(8) == sum)
}
