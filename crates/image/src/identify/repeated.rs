//! Content whose headers repeat over the flash at distances that show its shape: UBI and YAFFS2.
//!
//! Layer: rank 7. Functions: [`ubi`] and [`yaffs2`]. Sources: `drivers/mtd/ubi/ubi-media.h` of Linux
//! 6.1; the object header and the packed tags of the public yaffs2 of 2024 (`yaffs_guts.h`,
//! `yaffs_packedtags2.h`).

use super::{Confidence, Detection, Kind};
use crate::contents::Contents;
use crate::magic;
use crate::shape::{LAYOUTS, Shape, gcd};
use boardlab_sim::Bytes;
use memchr::memmem;
use std::ops::ControlFlow;

/// The bytes that are searched for headers of UBI: many blocks of the largest size.
const SEARCHED: Bytes = Bytes::mib(16);
/// The bytes that are searched at once.
const WINDOW: usize = 256 << 10;
/// The bytes of a header.
const HEADER: usize = 64;
/// Every block begins at a multiple of this, also with OOB bytes in the file.
const STEP: usize = 16;
/// The number of pages that are examined for object headers.
const PAGES: u64 = 256;

/// UBI from `at` on, where a header was found, with the shape of the flash if there are more headers.
pub(super) fn ubi(contents: &Contents, at: Bytes, detail: String) -> Detection {
    let places = erase_counters(&contents.from(at));
    let distance = Bytes::new(places.iter().fold(0, |divisor, place| gcd(divisor, place.get())));
    let mut found = Detection::new(Kind::Ubi, at, Confidence::Certain);
    found.detail = detail;
    found = found.because(at, "erase counter header `UBI#`, checksum right");
    if places.len() < 2 {
        return found;
    }
    let what = format!("{} such headers at multiples of {} bytes", places.len(), distance.get());
    found = found.because(at, what);
    let header = contents.window(at, 64);
    let number = |at: usize| header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    let number = |at| number(at).map_or(0, u32::from_be_bytes).into();
    found.shape = ubi_shape(distance, number(16), number(20));
    found
}

/// Offsets of headers with a valid checksum.
fn erase_counters(contents: &Contents) -> Vec<Bytes> {
    let mut places = Vec::new();
    contents.for_each_piece((WINDOW, HEADER), |start, bytes| {
        if start >= SEARCHED {
            return ControlFlow::Break(());
        }
        for at in memmem::find_iter(bytes, b"UBI#").filter(|at| at % STEP == 0 && *at < WINDOW) {
            if magic::is_erase_counter(&bytes[at..]) {
                places.push(start + Bytes::new(at as u64));
            }
        }
        ControlFlow::Continue(())
    });
    places
}

/// Volume headers are in the second page, or in a sub-page of the first; data follow in the next page.
fn ubi_shape(distance: Bytes, volume_header: u64, data: u64) -> Option<Shape> {
    let page = if volume_header < data / 2 { data } else { data.saturating_sub(volume_header) };
    let page = Bytes::new(page);
    if page.is_zero() {
        return None;
    }
    let plain = Shape::nand(page, Bytes::ZERO, distance);
    let layouts = LAYOUTS.iter().map(|&(page, oob)| (Bytes::new(page), Bytes::new(oob)));
    let mut fits = layouts.filter(|layout| layout.0 == page).filter_map(|(page, oob)| {
        let block = page * (distance / (page + oob));
        let shape = Shape::nand(page, oob, block);
        (block.get().is_power_of_two() && shape.raw_block() == distance).then_some(shape)
    });
    let powers = distance.get().is_power_of_two();
    Some(plain)
        .filter(|_| powers)
        .or_else(|| fits.next_back())
        .filter(|shape| shape.check().is_ok())
}

/// YAFFS2 from `at` on, when object headers are at the beginning of its pages.
pub(super) fn yaffs2(contents: &Contents, at: Bytes) -> Option<Detection> {
    let contents = contents.from(at);
    object_header(&contents.window(Bytes::ZERO, 512))?;
    let plain = LAYOUTS.iter().map(|(page, _)| (*page, 0)).filter(|(page, _)| *page >= 512);
    let layouts = LAYOUTS.iter().copied().filter(|(page, _)| *page >= 512).chain(plain);
    let ranked = layouts.map(|layout| (rank(&contents, layout.0, layout.1), layout));
    // The first of the best: the smallest page.
    let ((headers, tags), (page, oob)) =
        ranked.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    let confidence = match (headers, tags) {
        (_, 2..) | (4.., _) => Confidence::Certain,
        (2.., _) => Confidence::Likely,
        _ => return None,
    };
    let name = object_header(&contents.window(Bytes::ZERO, 512))?;
    let mut found = Detection::new(Kind::FileSystem("YAFFS2"), at, confidence)
        .because(at, format!("object header of `{name}`"))
        .because(at, format!("{headers} object headers at multiples of {} bytes", page + oob));
    if tags > 0 {
        let place = at + Bytes::new(page);
        found = found.because(place, format!("{tags} of them with tags in the spare bytes"));
    }
    found.detail = match oob {
        0 => format!("pages of {}, without spare bytes", Bytes::new(page)),
        _ => format!("pages of {} with {oob} spare bytes", Bytes::new(page)),
    };
    Some(found)
}

/// The number of pages that begin with an object header, and how many of those have tags in the OOB
/// area.
fn rank(contents: &Contents, page: u64, oob: u64) -> (usize, usize) {
    let (mut headers, mut tags) = (0, 0);
    for number in 0..PAGES {
        let at = Bytes::new((page + oob) * number);
        if object_header(&contents.window(at, 512)).is_none() {
            continue;
        }
        headers += 1;
        let spare = contents.window(at + Bytes::new(page), usize::try_from(oob).unwrap_or(0));
        tags += usize::from(oob > 0 && [0, 2].into_iter().any(|at| are_tags(&spare, at)));
    }
    (headers, tags)
}

/// The name in an object header, if it is one.
fn object_header(bytes: &[u8]) -> Option<String> {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let sound = (1..=5).contains(&number(0)?) && (1..=0x3_FFFF).contains(&number(4)?);
    let name = bytes.get(10..266)?;
    let name = &name[..name.iter().position(|&byte| byte == 0)?];
    let printable = name.iter().all(|byte| !byte.is_ascii_control() && *byte != b'/');
    let sound = sound && bytes[8..10] == [0xFF, 0xFF] && printable;
    sound.then(|| String::from_utf8_lossy(name).into_owned())
}

/// Whether there are packed tags of an object header at `at`: its sequence number and object.
fn are_tags(spare: &[u8], at: usize) -> bool {
    let number = |at: usize| spare.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    let (Some(sequence), Some(object), Some(chunk)) = (number(at), number(at + 4), number(at + 8))
    else {
        return false;
    };
    let object = u32::from_le_bytes(object) & 0x0FFF_FFFF;
    let chunk = u32::from_le_bytes(chunk);
    (0x1000..0xEFFF_FF00).contains(&u32::from_le_bytes(sequence))
        && (1..=0x3_FFFF).contains(&object)
        && (chunk == 0 || chunk & 0x8000_0000 != 0)
}
