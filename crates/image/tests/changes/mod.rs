//! Every byte of a small image changed, and every length of it: damage is told with its place, or nothing
//! is lost.
//!
//! `BOARDLAB_FULL` takes every byte and every length; without it a sample is drawn from a seed.

use crate::named;
use crate::ubi_images::{single, two};
use boardlab_image::{Contents, Damage, Hints, MountedImage, open};
use boardlab_sim::{Seed, Stream};
use boardlab_vfs::Mount;
use boardlab_workload::tree::manifest;

/// The shape of both images: LEBs, and the blocks of UBI with two headers.
const LEB: usize = 15_872;
const BLOCK: usize = 16_384;
const VID: usize = 256;
const DATA: usize = 512;
/// Bytes of a header, of which a checksum covers all.
const HEADER: usize = 64;

/// One of so many bytes, or of so many lengths, without `BOARDLAB_FULL`.
const SAMPLE: u64 = 400;

/// What an image tells of itself.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    /// It is refused: why.
    Refused(String),
    /// It is damaged: the places.
    Damaged(String),
    /// It is whole: all that is in it.
    Whole(String),
}

fn looked_at(bytes: Vec<u8>, hints: &Hints) -> Told {
    let mut image = match open(&Contents::of(bytes), hints) {
        Ok(image) => image,
        Err(problem) => return Told::Refused(problem.to_string()),
    };
    let damage = Damage::of(&mut image).unwrap();
    let MountedImage { fs, mut clock, .. } = image;
    let found = manifest(&mut Mount::new(fs), &mut clock);
    if damage.is_whole() {
        Told::Whole(found.unwrap_or_else(|error| format!("{error:?}")))
    } else {
        let places = damage.audit.places.iter().map(|place| place.what.clone());
        Told::Damaged(places.collect::<Vec<_>>().join("; "))
    }
}

fn number(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()).try_into().unwrap()
}

/// Marks the bytes of a LEB of UBIFS that nobody needs: what is erased behind its content; what lies behind
/// the superblock; the second master node, as the first one is enough; and what fills pages
/// between nodes, which is in no node but those of padding.
fn unneeded_of_leb(number_of_leb: usize, leb: &[u8]) -> Vec<bool> {
    const MAGIC: [u8; 4] = 0x0610_1831_u32.to_le_bytes();
    const PADDING: u8 = 5;
    let used = leb.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1);
    let mut unneeded = vec![false; leb.len()];
    unneeded[used..].fill(true);
    match number_of_leb {
        0 => unneeded[4_096..].fill(true),
        2 => unneeded.fill(true),
        _ if leb.starts_with(&MAGIC) => {
            unneeded.fill(true);
            let mut at = 0;
            while at + 24 <= used {
                let is_node = leb[at..].starts_with(&MAGIC);
                let length = if is_node { number(leb, at + 16) } else { 8 };
                if is_node && leb[at + 20] != PADDING {
                    unneeded[at..at + length].fill(false);
                }
                at = (at + length).next_multiple_of(8);
            }
        }
        _ => {}
    }
    unneeded
}

/// Marks the bytes of a block of UBI that nobody needs to read volume 0: the erase counter and what
/// fills the pages of headers; other volumes; the volume table, of which there are two; and the header
/// of a LEB that nobody needs.
fn unneeded_of_block(block: &[u8]) -> Vec<bool> {
    let word = |at: usize| u32::from_be_bytes(block[VID + at..VID + at + 4].try_into().unwrap());
    let mut unneeded = vec![true; block.len()];
    if block[VID..].starts_with(b"UBI!") && word(8) == 0 {
        let leb = unneeded_of_leb(word(12).try_into().unwrap(), &block[DATA..]);
        unneeded[VID..VID + HEADER].fill(leb.iter().all(|&unneeded| unneeded));
        unneeded[DATA..].copy_from_slice(&leb);
    }
    unneeded
}

/// An image, how it is opened, and the bytes that nobody needs.
fn images() -> [(Vec<u8>, Hints, Vec<bool>); 2] {
    let lebs = single();
    let unneeded =
        lebs.chunks(LEB).enumerate().flat_map(|(leb, bytes)| unneeded_of_leb(leb, bytes));
    let unneeded = unneeded.collect();
    let blocks = two();
    let of_blocks = blocks.chunks(BLOCK).flat_map(unneeded_of_block).collect();
    [(lebs, Hints::default(), unneeded), (blocks, named("rootfs"), of_blocks)]
}

fn is_taken(stream: &mut Stream) -> bool {
    std::env::var_os("BOARDLAB_FULL").is_some() || stream.chance(1, SAMPLE)
}

/// What is told has a place, or names the volume with its damage.
fn check_words(words: &str, place: &str) {
    let has_place = words.contains(|one: char| one.is_ascii_digit());
    assert!(has_place || words.contains("rootfs ("), "{place}: {words}");
}

#[test]
fn every_changed_byte_is_told_or_harmless() {
    let mut stream = Seed::new(20).stream("image.changes.bytes");
    for (image, hints, unneeded) in images() {
        let whole = looked_at(image.clone(), &hints);
        let (mut told, mut harmless) = (0, 0);
        for (at, &unneeded) in unneeded.iter().enumerate() {
            let bit = stream.below(8);
            if !is_taken(&mut stream) {
                continue;
            }
            let mut bytes = image.clone();
            bytes[at] ^= 1 << bit;
            let found = looked_at(bytes, &hints);
            if let Told::Refused(words) | Told::Damaged(words) = &found {
                check_words(words, &format!("byte {at:#x}"));
                told += 1;
                continue;
            }
            assert!(found == whole, "byte {at:#x}, bit {bit}: a loss is not told");
            assert!(unneeded, "byte {at:#x}, bit {bit}: a change of what is needed is not told");
            harmless += 1;
        }
        assert!(told > 100 && harmless > 100, "{told} told, {harmless} harmless");
    }
}

#[test]
fn every_length_is_told_or_harmless() {
    let mut stream = Seed::new(20).stream("image.changes.lengths");
    for (image, hints, _) in images() {
        let whole = looked_at(image.clone(), &hints);
        let mut readable = 0;
        for length in (0..image.len()).filter(|_| is_taken(&mut stream)) {
            for partial in [false, true] {
                let hints = Hints { partial, ..hints.clone() };
                match looked_at(image[..length].to_vec(), &hints) {
                    Told::Refused(words) => assert!(!words.is_empty(), "{length} bytes"),
                    Told::Damaged(_) => assert!(partial, "{length} bytes are read unasked"),
                    found @ Told::Whole(_) => assert!(found == whole, "{length} bytes"),
                }
                readable += usize::from(partial);
            }
        }
        assert!(readable > 200, "{readable}");
    }
}
