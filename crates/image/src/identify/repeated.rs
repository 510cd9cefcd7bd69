//! Content whose headers repeat over the flash at distances that show its shape: UBI.
//!
//! Layer: rank 7. Function: [`ubi`]. Source: `drivers/mtd/ubi/ubi-media.h` of Linux 6.1.

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
