//! What a check finds that no mount minds.

use crate::asked::{faults, findings};
use crate::images::{RAW, large};
use crate::maker::{Maker, directory, file};
use boardlab_codec::hamming;
use boardlab_image::finding::{Finding, Severity};

#[test]
fn two_objects_of_one_name_are_told() {
    let mut maker = Maker::usual();
    maker.header(1, &directory(1, b""));
    maker.header(300, &file(1, b"twice", 0));
    maker.header(301, &file(1, b"twice", 0));
    assert_eq!(faults(&maker.bytes), ["the name `/twice`: belongs to several objects"]);
}

/// Makes the ECC of a page right.
fn seal(raw: &mut [u8]) {
    let (data, spare) = raw.split_at_mut(2_048);
    for (step, code) in data.chunks(256).zip(spare[40..].chunks_mut(3)) {
        code.copy_from_slice(&hamming::calculate(hamming::Step::Bytes256, step));
    }
}

#[test]
fn a_header_that_contradicts_its_tags_is_told() {
    let image = large();
    let told: Vec<_> = (0..image.len() / RAW)
        .filter_map(|page| {
            let start = page * RAW;
            let is_file = image[start + 2_061] & 0x80 != 0 && image[start] == 1;
            // Its size.
            let mut changed = image.clone();
            changed[start + 292] ^= 1;
            seal(&mut changed[start..start + RAW]);
            is_file.then(|| faults(&changed))
        })
        .collect();
    // Of each file one header counts; the others are replaced.
    let counted = told.iter().filter(|faults| !faults.is_empty());
    let right = |faults: &&Vec<String>| faults.len() == 1 && faults[0].contains(": size: ");
    assert_eq!((counted.clone().filter(right).count(), counted.count()), (9, 9), "{told:?}");
}

#[test]
fn a_wrong_summary_is_told_and_takes_nothing_away() {
    let mut image = large();
    let start = 15 * RAW;
    // The sum of the entries.
    image[start + 12] ^= 1;
    seal(&mut image[start..start + RAW]);
    assert_eq!(
        faults(&image),
        ["a block summary: is not right, so all tags of the block are read"]
    );
    assert_eq!(crate::images::told(&image), crate::images::TREE);
}

#[test]
fn a_summary_that_lies_is_told() {
    let mut image = large();
    // Two entries change places, so that the sum stays right.
    let start = 3 * 16 * RAW + 15 * RAW + 16;
    let (one, other) = image[start..start + 24].split_at_mut(12);
    one.swap_with_slice(other);
    seal(&mut image[start - 16..start - 16 + RAW]);
    let faults = faults(&image);
    let lies = faults.iter().filter(|fault| fault.starts_with("a block summary: says object"));
    assert_eq!(lies.count(), 2, "{faults:?}");
}

#[test]
fn tags_that_cannot_be_corrected_contradict_nothing() {
    let image = large();
    let mut told = 0;
    // Pages that the summaries of their blocks describe; not all are in use. The first of a block has its number.
    for page in (0..32).filter(|page| (1..15).contains(&(page % 16))) {
        let mut image = image.clone();
        image[page * RAW + 2_051] ^= 4;
        image[page * RAW + 2_059] ^= 0x10;
        assert_eq!(faults(&image), [""; 0], "page {page}");
        let tags = |one: &&Finding| one.found.starts_with("tags with more wrong bits");
        told += findings(&image).iter().filter(tags).count();
    }
    assert!(told > 10, "{told}");
}

#[test]
fn a_file_that_ends_with_a_hole_is_noted() {
    let mut maker = Maker::usual();
    maker.header(1, &directory(1, b""));
    maker.header(300, &file(1, b"sparse", 100_000));
    maker.data(300, b"begin");
    let notes = findings(&maker.bytes);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0].severity, Severity::Note);
    assert_eq!(notes[0].found, "has 100000 bytes, and its data end at 5");
}
