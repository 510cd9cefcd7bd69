//! What `check` finds in images that are right, damaged and forged.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

use boardlab_codec::zlib::Inflate;
use boardlab_image::check::{check, report};
use boardlab_image::finding::{Finding, Severity};
use boardlab_image::{Contents, Error, Hints};
use boardlab_sim::{Bytes, Seed, Stream};
use boardlab_ubi::format::crc;

fn unpacked(packed: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Inflate::new().raw(packed, &mut bytes).unwrap();
    bytes
}

/// `mkfs.ubifs -m 512 -e 15872 -c 60 -x zlib`.
fn single() -> Vec<u8> {
    unpacked(include_bytes!("data/tree.ubifs.deflate"), 206_336)
}

/// `ubinize -m 512 -p 16384 -s 256`: the volumes rootfs, data and kernel.
fn two() -> Vec<u8> {
    unpacked(include_bytes!("data/two-volumes.ubi.deflate"), 475_136)
}

/// A flash with OOB bytes that Linux 6.1 wrote.
fn linux() -> Vec<u8> {
    unpacked(include_bytes!("data/linux-512.oob.deflate"), 17_301_504)
}

const BLOCK: usize = 16_384;
const LEB: usize = 15_872;

fn found(bytes: &[u8]) -> Vec<Finding> {
    check(&Contents::of(bytes.to_vec()), &Hints::default()).unwrap()
}

/// The findings of this severity, in words.
fn words(bytes: &[u8], severity: Severity) -> Vec<String> {
    let findings = found(bytes);
    let of = findings.iter().filter(|one| one.severity == severity);
    of.map(|one| format!("{}: {}", one.what, one.found)).collect()
}

#[test]
fn right_images_have_no_fault() {
    let jffs2 = include_bytes!("data/board.jffs2").to_vec();
    for image in [single(), two(), linux(), jffs2] {
        let findings = found(&image);
        let bad = findings.iter().find(|one| one.severity != Severity::Note);
        assert_eq!(bad, None);
        let told = report("image", &findings);
        assert!(told.whole && told.run.table("summary").is_some());
    }
}

#[test]
fn what_is_no_image_is_refused() {
    let refused = check(&Contents::of(b"text\n".repeat(99)), &Hints::default()).unwrap_err();
    assert!(matches!(refused, Error::OtherContent { .. }), "{refused}");
    let refused = check(&Contents::of(Vec::new()), &Hints::default()).unwrap_err();
    assert!(matches!(refused, Error::Empty), "{refused}");
    let hints = Hints { volume: Some("none".into()), ..Hints::default() };
    let refused = check(&Contents::of(two()), &hints).unwrap_err();
    assert!(matches!(refused, Error::Volume { .. }), "{refused}");
    let hints = Hints { block: Some(Bytes::kib(32)), ..Hints::default() };
    let refused = check(&Contents::of(two()), &hints).unwrap_err();
    assert!(matches!(refused, Error::WrongShape { .. }), "{refused}");
}

/// The blocks of `two` with this volume, by the number in their header.
fn blocks_of(image: &[u8], volume: u32) -> Vec<usize> {
    let header = |block: &usize| &image[block * BLOCK + 256..block * BLOCK + 320];
    let all = 0..image.len() / BLOCK;
    all.filter(|block| header(block)[8..12] == volume.to_be_bytes()).collect()
}

/// Makes the checksum of a header of UBI right.
fn seal(header: &mut [u8]) {
    let sum = crc(&header[..60]);
    header[60..64].copy_from_slice(&sum.to_be_bytes());
}

#[test]
fn faults_of_headers_are_found_with_their_place() {
    let mut image = two();
    image[5 * BLOCK + 20] ^= 1;
    assert_eq!(words(&image, Severity::Error), [""; 0]);
    let warnings = words(&image, Severity::Warning);
    assert!(warnings[0].starts_with("the erase counter header: "), "{warnings:?}");
    let place = &found(&image)[0].place;
    assert_eq!((place.block, place.at), (Some(5), Some(Bytes::new(5 * 16_384))));

    let mut image = two();
    image[5 * BLOCK + 256 + 20] ^= 1;
    let errors = words(&image, Severity::Error);
    assert!(errors[0].starts_with("the volume header: "), "{errors:?}");

    let mut image = two();
    image[5 * BLOCK + 27] ^= 1;
    seal(&mut image[5 * BLOCK..5 * BLOCK + 64]);
    let errors = words(&image, Severity::Error);
    assert!(errors[0].starts_with("the number of the image: "), "{errors:?}");
}

#[test]
fn a_ubifs_without_its_superblock_is_an_error_though_no_block_of_ubi_is_wrong() {
    let first = blocks_of(&two(), 0)[0];
    let mut image = two();
    image[first * BLOCK + 512 + 40] ^= 1;
    assert_eq!(words(&image, Severity::Error), ["the superblock of UBIFS: is damaged"]);
}

#[test]
fn faults_of_the_volume_table_are_found() {
    let table = blocks_of(&two(), 0x7FFF_EFFF);
    assert_eq!(table.len(), 2);
    let mut image = two();
    image[table[1] * BLOCK + 512 + 20] ^= 1;
    let warnings = words(&image, Severity::Warning);
    assert!(warnings[0].starts_with("copy 1 of the volume table: record 0"), "{warnings:?}");
    assert_eq!(words(&image, Severity::Error), [""; 0]);
    // The last of the copies has another flag in the record of the first volume.
    let mut image = two();
    let record = table[1] * BLOCK + 512;
    image[record + 144] ^= 1;
    let sum = crc(&image[record..record + 168]);
    image[record + 168..record + 172].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(words(&image, Severity::Warning), ["the volume table: differs"]);
    let mut image = two();
    for block in &table {
        image[block * BLOCK + 512 + 20] ^= 1;
    }
    let errors = words(&image, Severity::Error);
    assert!(errors.contains(&"the volume table: is lost".to_owned()), "{errors:?}");
}

#[test]
fn two_copies_of_a_leb_are_told_and_equal_sequence_numbers_are_an_error() {
    let mut image = two();
    let block = blocks_of(&image, 0)[9];
    let copy = image[block * BLOCK..(block + 1) * BLOCK].to_vec();
    image.extend(&copy);
    let errors = words(&image, Severity::Error);
    assert!(errors[0].contains("two copies, the other one in block"), "{errors:?}");
    let header = image.len() - BLOCK + 256;
    image[header + 47] = 9;
    seal(&mut image[header..header + 64]);
    assert_eq!(words(&image, Severity::Error), [""; 0]);
    let notes = words(&image, Severity::Note);
    assert!(notes.iter().any(|note| note.contains("two copies")), "{notes:?}");
    // A LEB that the table has no room for, and one of no volume.
    for (at, says) in [(14, "the number of the LEB"), (11, "which is not in the table")] {
        let mut image = image.clone();
        image[header + at] = 40;
        seal(&mut image[header..header + 64]);
        let all: Vec<String> =
            found(&image).iter().map(|one| format!("{}: {}", one.what, one.found)).collect();
        assert!(all.iter().any(|one| one.contains(says)), "{says}: {all:?}");
    }
}

/// The first node of this kind: its place.
fn node(image: &[u8], kind: u8) -> usize {
    let magic = 0x0610_1831_u32.to_le_bytes();
    let is_one = |at: &usize| image[*at..].starts_with(&magic) && image[at + 20] == kind;
    (0..image.len() - 24).step_by(8).find(is_one).unwrap()
}

fn seal_node(image: &mut [u8], at: usize) {
    let length = u32::from_le_bytes(image[at + 16..at + 20].try_into().unwrap());
    let length = usize::try_from(length).unwrap().clamp(24, image.len() - at);
    let sum = crc(&image[at + 8..at + length]);
    image[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn faults_of_ubifs_are_found_with_leb_and_offset() {
    let whole = single();
    let mut image = whole.clone();
    let at = node(&image, 1);
    image[at + 50] ^= 1;
    let errors: Vec<Finding> =
        found(&image).into_iter().filter(|one| one.severity == Severity::Error).collect();
    assert_eq!(errors[0].place.at, Some(Bytes::new(at as u64)));
    assert!(errors[0].found.starts_with("data: node at LEB"), "{errors:?}");

    // Both master nodes: the size of the index, then the free bytes.
    for (field, says) in
        [(72, "the index of the last commit"), (80, "the space of LEBs: free bytes")]
    {
        let mut image = whole.clone();
        for leb in [1, 2] {
            image[leb * LEB + field] ^= 8;
            seal_node(&mut image, leb * LEB);
        }
        let errors = words(&image, Severity::Error);
        assert!(errors.len() == 1 && errors[0].starts_with(says), "{errors:?}");
    }

    // A link count too many.
    let mut image = whole.clone();
    let at = 10 * LEB + node(&image[10 * LEB..], 0);
    image[at + 92] += 1;
    seal_node(&mut image, at);
    let errors = words(&image, Severity::Error);
    assert!(errors[0].contains("the links of"), "{errors:?}");

    // The first node of the tree of LEB properties, behind the log of 4 LEBs.
    let mut image = whole;
    let tree = (0..30)
        .map(|leb| leb * LEB)
        .find(|&at| at > 3 * LEB && image.get(at..at + 4).is_some_and(|first| *first != [0xFF; 4]));
    image[tree.unwrap() + 3] ^= 1;
    let errors = words(&image, Severity::Error);
    assert!(errors.iter().any(|one| one.contains("LEB properties tree")), "{errors:?}");
}

#[test]
fn a_truncated_image_is_checked_as_far_as_it_goes() {
    let half = &single()[..150_000];
    let refused = check(&Contents::of(half.to_vec()), &Hints::default()).unwrap_err();
    assert!(matches!(refused, Error::Truncated { .. }), "{refused}");
    let hints = Hints { partial: true, ..Hints::default() };
    let findings = check(&Contents::of(half.to_vec()), &hints).unwrap();
    assert_eq!(findings[0].severity, Severity::Error);
}

fn below(stream: &mut Stream, bound: usize) -> usize {
    usize::try_from(stream.below(u64::try_from(bound).unwrap())).unwrap()
}

/// Changes a byte of a node or a header, and makes its checksum right.
fn forge(image: &mut [u8], is_ubi: bool, stream: &mut Stream) {
    let magic = 0x0610_1831_u32.to_le_bytes();
    let change = |stream: &mut Stream, byte: u8| match stream.below(3) {
        0 => 0,
        1 => 0xFF,
        _ => byte ^ (1 << stream.below(8)),
    };
    if is_ubi && stream.chance(1, 2) {
        let header = below(stream, image.len() / BLOCK) * BLOCK + 256 * below(stream, 2);
        let at = header + 4 + below(stream, 56);
        image[at] = change(stream, image[at]);
        return seal(&mut image[header..header + 64]);
    }
    let nodes: Vec<usize> =
        (0..image.len() - 24).step_by(8).filter(|&at| image[at..].starts_with(&magic)).collect();
    let node = nodes[below(stream, nodes.len())];
    let at = (node + 8 + below(stream, 150)).min(image.len() - 1);
    image[at] = change(stream, image[at]);
    seal_node(image, node);
}

#[test]
fn forged_images_are_checked_without_a_panic() {
    let mut stream = Seed::new(3).stream("check.forged");
    let rounds = if std::env::var_os("BOARDLAB_FULL").is_some() { 3_000 } else { 60 };
    for (whole, is_ubi) in [(single(), false), (two(), true)] {
        let mut errors = 0;
        for _ in 0..rounds {
            let mut image = whole.clone();
            for _ in 0..=stream.below(3) {
                forge(&mut image, is_ubi, &mut stream);
            }
            let partial = stream.chance(1, 3);
            let hints = Hints { partial, ..Hints::default() };
            let findings = check(&Contents::of(image), &hints).unwrap_or_default();
            errors += usize::from(findings.iter().any(|one| one.severity == Severity::Error));
        }
        assert!(errors * 3 > rounds, "{errors} of {rounds} had an error");
    }
}
