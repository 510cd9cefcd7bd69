//! The tags of YAFFS1: eight bytes among the sixteen spare bytes of a page of 512.
//!
//! Layer: rank 5, format. Main type: [`Layout1`]; [`parse`] and [`emit`].
//!
//! ```text
//!  first word: chunk 20 bits, serial 2, bytes 10       second word: object 18, code 12, bits 30 and 31
//! ```
//! Two layouts exist. YAFFS itself places the eight bytes around the page status, which it clears to delete a
//! chunk, and has a code that corrects one bit of the tags; the ECC of the data is its own, too. The driver of
//! Linux 2.6 has the bytes in the free spare bytes of MTD, and clears bit 30 to delete: packed tags 1.
//!
//! ```text
//!  around:  t0 t1 t2 t3 page block t4 t5 ecc1 ecc1 ecc1 t6 t7 ecc2 ecc2 ecc2
//! ```
//! Source: `core/yaffs_tagscompat.c`, `core/yaffs_packedtags1.c`, `struct yaffs_spare` in `core/yaffs_guts.h`.

use super::tags::Checked;
use super::{ByteOrder, Tags};
use boardlab_codec::hamming;

/// Bytes of the tags.
pub const SIZE: usize = 8;
/// Spare bytes of a page.
pub const SPARE: usize = 16;

/// Where the tags of YAFFS1 lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout1 {
    /// Around the status of the page, in spare bytes that are all free: YAFFS Direct, Linux 2.4.
    Around,
    /// Packed tags 1 in the free spare bytes of MTD: Linux 2.6.
    Packed,
}

/// The positions of the tags around the status.
const AROUND: [usize; SIZE] = [0, 1, 2, 3, 6, 7, 11, 12];
const PAGE_STATUS: usize = 4;
/// The bit that packed tags have cleared in a deleted chunk.
const NOT_DELETED: u32 = 1 << 30;

fn gather(spare: &[u8], layout: Layout1) -> [u8; SIZE] {
    match layout {
        Layout1::Around => AROUND.map(|at| spare[at]),
        Layout1::Packed => spare[..SIZE].try_into().expect("eight bytes"),
    }
}

/// The largest number of a chunk in its file.
pub const CHUNK_MAX: u32 = 0xF_FFFF;

/// The positions of the two codes of the data among the [`SPARE`] bytes. Their first two bytes are in the order
/// of SmartMedia.
pub const CODES: [usize; 2] = [8, 13];

/// Puts the codes of 512 bytes of data into spare bytes with tags around the status.
///
/// # Panics
/// When there are fewer than [`SPARE`].
pub fn protect(data: &[u8], spare: &mut [u8]) {
    for (step, at) in data.chunks(256).zip(CODES) {
        let [upper, lower, columns] = hamming::calculate(hamming::Step::Bytes256, step);
        spare[at..at + 3].copy_from_slice(&[lower, upper, columns]);
    }
}

/// The tags as spare bytes: [`SPARE`] of them around the status, [`SIZE`] packed ones.
#[must_use]
pub fn emit(tags: &Tags, order: ByteOrder, layout: Layout1) -> Vec<u8> {
    let mut packed = [0; SIZE];
    let first =
        tags.chunk & CHUNK_MAX | (u32::from(tags.serial) & 3) << 20 | (tags.bytes & 0x3FF) << 22;
    let second = tags.object & 0x3_FFFF;
    match layout {
        Layout1::Packed if tags.deleted => {
            // All other bits stay.
            order.put32(&mut packed, 0..4, u32::MAX);
            order.put32(&mut packed, 4..8, !NOT_DELETED);
            packed.to_vec()
        }
        Layout1::Packed => {
            let second = second | NOT_DELETED;
            order.put32(&mut packed, 0..4, first);
            order.put32(&mut packed, 4..8, second | code(first, second) << 18);
            packed.to_vec()
        }
        Layout1::Around => {
            let mut spare = vec![0xFF; SPARE];
            if tags.deleted {
                spare[PAGE_STATUS] = 0;
                return spare;
            }
            // The high bits of the count are for chunks of 1 KiB and more, which YAFFS1 never had.
            let second = second | 3 << 30;
            let code = code(first, second);
            order.put32(&mut packed, 0..4, first);
            order.put32(&mut packed, 4..8, second | code << 18);
            for (at, byte) in AROUND.into_iter().zip(packed) {
                spare[at] = byte;
            }
            spare
        }
    }
}

/// The tags in spare bytes, after correction; `None` on a chunk that was not programmed.
///
/// # Panics
/// When there are fewer bytes than [`emit`] gives.
#[must_use]
pub fn parse(spare: &[u8], order: ByteOrder, layout: Layout1) -> (Option<Tags>, Checked) {
    let length = if layout == Layout1::Around { SPARE } else { SIZE };
    if boardlab_mtd::is_erased(&spare[..length]) {
        return (None, Checked::Right);
    }
    let packed = gather(spare, layout);
    let mut words = [order.get32(&packed, 0..4), order.get32(&packed, 4..8)];
    let (deleted, checked) = match layout {
        Layout1::Packed => {
            let deleted = words[1] & NOT_DELETED == 0;
            words[1] |= NOT_DELETED;
            (deleted, correct(&mut words))
        }
        Layout1::Around => (spare[PAGE_STATUS].count_ones() < 7, correct(&mut words)),
    };
    let tags = Tags {
        object: words[1] & 0x3_FFFF,
        chunk: words[0] & CHUNK_MAX,
        bytes: words[0] >> 22,
        serial: u8::try_from(words[0] >> 20 & 3).expect("two bits"),
        deleted,
        ..Tags::default()
    };
    (Some(tags), checked)
}

/// The code over the tags: the exclusive or of the positions of all set bits, counted from 1, without the
/// bits of the code.
fn code(first: u32, second: u32) -> u32 {
    let bits = u64::from(second & !(0xFFF << 18)) << 32 | u64::from(first);
    (0..64).filter(|bit| bits >> bit & 1 == 1).fold(0, |code, bit| code ^ (bit + 1))
}

fn correct(words: &mut [u32; 2]) -> Checked {
    match (words[1] >> 18 & 0xFFF) ^ code(words[0], words[1]) {
        0 => Checked::Right,
        hit @ 1..=64 => {
            let bit = hit - 1;
            words[usize::from(bit >= 32)] ^= 1 << (bit % 32);
            Checked::Corrected
        }
        _ => Checked::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: ByteOrder = ByteOrder::Little;

    fn sample() -> Tags {
        Tags { object: 257, chunk: 3, bytes: 512, serial: 2, ..Tags::default() }
    }

    #[test]
    fn tags_come_back_in_both_layouts() {
        for layout in [Layout1::Around, Layout1::Packed] {
            let spare = emit(&sample(), ORDER, layout);
            assert_eq!(parse(&spare, ORDER, layout), (Some(sample()), Checked::Right));
            assert_eq!(parse(&[0xFF; SPARE], ORDER, layout).0, None);
        }
        let spare = emit(&sample(), ORDER, Layout1::Packed);
        let code = [1, 2, 22, 32, 33, 41, 63].into_iter().fold(0_u32, |code, bit| code ^ bit);
        let second = 257 | code << 18 | 1 << 30;
        assert_eq!(spare[..4], [3, 0, 0x20, 0x80]);
        assert_eq!(spare[4..], second.to_le_bytes());
    }

    #[test]
    fn a_second_program_deletes() {
        let deleted = Tags { deleted: true, ..sample() };
        for layout in [Layout1::Around, Layout1::Packed] {
            let mut spare = emit(&sample(), ORDER, layout);
            let second = emit(&deleted, ORDER, layout);
            spare.iter_mut().zip(second).for_each(|(old, new)| *old &= new);
            assert_eq!(parse(&spare, ORDER, layout), (Some(deleted), Checked::Right));
        }
    }

    /// A wrong bit of the code itself is taken for one of the tags: that is how YAFFS1 is.
    #[test]
    fn one_wrong_bit_of_the_tags_is_corrected() {
        for layout in [Layout1::Around, Layout1::Packed] {
            let right = emit(&sample(), ORDER, layout);
            for bit in (0..64).filter(|bit| !(50..62).contains(bit)) {
                let mut packed = gather(&right, layout);
                packed[bit / 8] ^= 1 << (bit % 8);
                let mut spare = right.clone();
                let places: Vec<usize> = match layout {
                    Layout1::Around => AROUND.to_vec(),
                    Layout1::Packed => (0..SIZE).collect(),
                };
                places.into_iter().zip(packed).for_each(|(at, byte)| spare[at] = byte);
                let (tags, checked) = parse(&spare, ORDER, layout);
                if layout == Layout1::Packed && bit == 62 {
                    assert!(tags.unwrap().deleted);
                } else {
                    assert_eq!((tags, checked), (Some(sample()), Checked::Corrected), "{bit}");
                }
            }
        }
    }
}
