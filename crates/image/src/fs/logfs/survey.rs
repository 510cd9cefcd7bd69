//! From a superblock to the flash that it lies on.
//!
//! Layer: rank 7. Main function: [`recognise`]. A superblock says where both copies lie and where the journal does;
//! the pages, with or without OOB bytes in the file, are those with which both are there.

use super::{Image, TYPE};
use crate::contents::Contents;
use crate::detection::{Confidence, Detection, Kind};
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_logfs::format::journal::EntryHeader;
use boardlab_logfs::format::{Superblock, segment, superblock};
use boardlab_logfs::{Logfs, Options};
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};

/// The smallest page of NAND.
const PAGE_MIN: u64 = 512;
/// The page of a file without OOB bytes, unless less is written at once.
const PAGE: u64 = 2_048;
/// Bits of the magic number that may be wrong in a superblock which is worth correcting.
const WRONG_BITS: u32 = 8;
/// Bytes at the beginning of a segment of the journal that are looked at.
const HEAD: usize = 16_384;

/// A superblock with a way to read the flash around it.
struct Fit {
    image: Image,
    /// The place of the superblock in the file.
    place: Bytes,
    /// Entries of the journal that are right, what of a mount succeeds, and whether both copies are right.
    right: (usize, u8, bool),
}

/// Of two, that with which more is right; the first of equals.
fn better(best: Fit, other: Fit) -> Fit {
    if other.right > best.right { other } else { best }
}

/// The filesystem with a superblock at one of these places.
pub(super) fn recognise(
    contents: &Contents,
    places: &[Bytes],
    other: &[Detection],
) -> Option<(Detection, Image)> {
    let fits = places.iter().filter_map(|&place| best(contents, place));
    let best = fits.reduce(better)?;
    let Fit { image, place, right: (entries, _, copies) } = best;
    if other.iter().any(|one| one.covers(place)) {
        return None;
    }
    let certain = entries > 0 || copies;
    let confidence = if certain { Confidence::Certain } else { Confidence::Likely };
    let mut found = Detection::new(Kind::FileSystem(TYPE.name), image.at, confidence);
    found.detail = "big-endian".into();
    let pages = match image.shape.oob.get() {
        0 => "without spare bytes".to_owned(),
        oob => format!("with {oob} spare bytes after every {}", image.shape.page),
    };
    found = found.because(place, format!("superblock, checksums right, {pages}"));
    if entries > 0 {
        let what = format!("{entries} entries of the journal with their checksums right");
        found = found.because(image.at, what);
    }
    found.shape = Some(image.shape);
    found.size = Some(image.needed() - image.at);
    Some((found, image))
}

/// The way to read the flash with which most is right.
fn best(contents: &Contents, place: Bytes) -> Option<Fit> {
    let superblock = superblock(contents, place)?;
    let mut images = Vec::new();
    for shape in shapes(contents, &superblock) {
        for copy in superblock.places {
            let start = shape.in_file(Bytes::new(copy));
            if start <= place {
                images.push(Image { at: place - start, shape, superblock: superblock.clone() });
            }
        }
    }
    let most = |read: fn(&Contents, &Image) -> usize, images: &[Image]| {
        let counts: Vec<usize> = images.iter().map(|image| read(contents, image)).collect();
        let most = counts.iter().copied().max().unwrap_or_default();
        (most, counts)
    };
    let (mut entries, mut counts) = most(entries, &images);
    if entries == 0 {
        (entries, counts) = most(corrected_entries, &images);
    }
    // Only equals are mounted.
    let equals = images.into_iter().zip(counts).filter(|(_, count)| *count == entries);
    let equals: Vec<Image> = equals.map(|(image, _)| image).collect();
    let one = equals.len() == 1;
    let fits = equals.into_iter().map(|image| {
        let mounts = if one { 0 } else { mounts(contents, &image) };
        let right = (entries, mounts, copies(contents, &image));
        Fit { image, place, right }
    });
    fits.reduce(better)
}

/// The superblock at a place of the file, as it is or corrected by the ECC of its page.
fn superblock(contents: &Contents, place: Bytes) -> Option<Superblock> {
    let bytes = contents.window(place, superblock::SIZE);
    if let Ok(found) = Superblock::parse(&bytes) {
        return Some(found);
    }
    let magic = bytes.get(superblock::MAGIC_AT..)?.first_chunk()?;
    if (u64::from_be_bytes(*magic) ^ superblock::MAGIC).count_ones() > WRONG_BITS {
        return None;
    }
    let from = contents.from(place);
    let layouts = contents.layouts().into_iter().filter(|layout| layout.0 >= PAGE_MIN);
    layouts.into_iter().find_map(|(page, oob)| {
        let page = Bytes::new(page);
        let shape = Shape::nand(page, Bytes::new(oob), page * 64);
        let mut data = from.window(Bytes::ZERO, page.to_usize());
        let spare = from.window(page, shape.oob.to_usize());
        let found = Spare::detect_usual(&from, shape, Bytes::ZERO);
        let whole = Bytes::of(&data) == page && Bytes::of(&spare) == shape.oob;
        let _ = whole.then(|| found.correct(&mut data, &spare))?;
        Superblock::parse(&data).ok()
    })
}

/// The shapes that a flash with this superblock may have in a file.
fn shapes(contents: &Contents, superblock: &Superblock) -> Vec<Shape> {
    let block = Bytes::new(1 << superblock.segment_shift);
    let write = 1_u64 << superblock.write_shift;
    if write < PAGE_MIN {
        return vec![Shape::nor(block)];
    }
    let bare = Shape::nand(Bytes::new(write.min(PAGE)), Bytes::ZERO, block);
    let known = contents.layouts().into_iter();
    let known = known.filter(|layout| (PAGE_MIN..=write).contains(&layout.0));
    let shape = |(page, oob): (u64, u64)| Shape::nand(Bytes::new(page), Bytes::new(oob), block);
    [bare].into_iter().chain(known.map(shape)).filter(|shape| shape.check().is_ok()).collect()
}

/// How far a mount comes: 1 when it succeeds, 2 when a whole block of the segment file is right too. Pages of several
/// sizes have as many spare bytes for each byte, so that all segments begin where they should.
fn mounts(contents: &Contents, image: &Image) -> u8 {
    let mut clock = Clock::new();
    let options = Options { read_only: true, ..Options::default() };
    let Ok(dump) = image.dump(contents) else { return 0 };
    match Logfs::mount(&mut clock, dump, options) {
        Ok(mut fs) => 1 + u8::from(fs.segment_entries(&mut clock).is_ok()),
        Err(_) => 0,
    }
}

/// Entries at the beginning of the segments of the journal that are right, as they are in the file.
fn entries(contents: &Contents, image: &Image) -> usize {
    let shape = image.shape;
    let segments = image.superblock.journal.into_iter().filter(|&segment| segment > 0);
    let right = segments.map(|number| {
        let start = shape.block * u64::from(number);
        let step = if shape.is_nand() { shape.page } else { Bytes::new(HEAD as u64) };
        let mut bytes = Vec::with_capacity(HEAD);
        while bytes.len() < HEAD {
            let at = image.at + shape.in_file(start + Bytes::of(&bytes));
            let piece = contents.window(at, step.to_usize());
            if Bytes::of(&piece) < step {
                break;
            }
            bytes.extend(piece);
        }
        entries_in(&bytes)
    });
    right.sum()
}

/// The same after correction.
fn corrected_entries(contents: &Contents, image: &Image) -> usize {
    let Ok(mut dump) = image.dump(contents) else { return 0 };
    let mut clock = Clock::new();
    let segments = image.superblock.journal.into_iter().filter(|&segment| segment > 0);
    let right = segments.map(|number| {
        let mut bytes = vec![0; HEAD];
        let start = image.shape.block * u64::from(number);
        match dump.read(&mut clock, start, &mut bytes) {
            Ok(_) | Err(boardlab_mtd::Error::Uncorrectable { .. }) => entries_in(&bytes),
            Err(_) => 0,
        }
    });
    right.sum()
}

fn entries_in(bytes: &[u8]) -> usize {
    let (mut at, mut right) = (segment::JOURNAL_START, 0);
    while let Some(rest) = usize::try_from(at).ok().and_then(|at| bytes.get(at..)) {
        let Ok(header) = EntryHeader::parse(rest) else { break };
        if header.check(rest).is_err() {
            break;
        }
        right += 1;
        at += header.stored();
    }
    right
}

/// Whether both copies are right.
fn copies(contents: &Contents, image: &Image) -> bool {
    image.superblock.places.into_iter().all(|copy| {
        let at = image.at + image.shape.in_file(Bytes::new(copy));
        superblock(contents, at).is_some_and(|found| found.agrees_with(&image.superblock))
    })
}
