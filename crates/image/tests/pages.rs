//! Pages in another form: corrected, without spare bytes, and with other ones.
#![allow(clippy::unwrap_used, reason = "tests")]

use boardlab_image::error::PagesProblem;
use boardlab_image::files::linux_spare;
use boardlab_image::make::{FileOptions, Files, Flash, of_files};
use boardlab_image::pages::{Rewriting, Rewritten, pages_of, rewrite};
use boardlab_image::{Contents, Error, Hints, Shape, fs::ALL};
use boardlab_sim::{Bytes, Seed, Stream};
use std::io::Write;
use tar::Header;

const PAGE: usize = 2_048;
const RAW: usize = PAGE + 64;

/// An archive of one file.
fn archive() -> std::fs::File {
    let mut file = tempfile::tempfile().unwrap();
    let content: Vec<u8> = (0..300_000_u32).map(|at| ((at * 31) >> 3).to_le_bytes()[0]).collect();
    let mut header = Header::new_ustar();
    header.set_path("file").unwrap();
    header.set_size(300_000);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(5);
    header.set_cksum();
    file.write_all(header.as_bytes()).unwrap();
    file.write_all(&content).unwrap();
    file.write_all(&[0; 2_048]).unwrap();
    file
}

/// A UBI image with such spare bytes.
fn image(oob: Option<u64>, ecc: Option<(u32, u64)>) -> Vec<u8> {
    let flash = Flash {
        erase_counter: 3,
        image_seq: Some(7),
        oob: oob.map(Bytes::new),
        ecc: ecc.map(|(bits, step)| (bits, Bytes::new(step))),
        ..Flash::of(Bytes::kib(2), Bytes::kib(128))
    };
    let options = FileOptions { fs: "ubifs".into(), max_lebs: 100, ..FileOptions::default() };
    let files = Files::Archive(archive());
    of_files(files, &flash, &options, (Seed::new(1), ALL)).unwrap().bytes
}

fn rewritten(bytes: &[u8], hints: &Hints, how: &Rewriting) -> Result<(Vec<u8>, Rewritten), Error> {
    let dump = pages_of(&Contents::of(bytes.to_vec()), hints)?;
    let mut output = Vec::new();
    let done = rewrite(&dump, how, &mut output)?;
    assert_eq!(done.length, output.len() as u64);
    Ok((output, done))
}

/// Flips a bit of each page that is not erased, in the data or, in every fifth page, in the code. Returns how many.
fn flip(bytes: &mut [u8], stream: &mut Stream, code: std::ops::Range<usize>) -> u64 {
    let mut flipped = 0;
    for (number, page) in bytes.chunks_mut(RAW).enumerate() {
        if page.iter().all(|&byte| byte == 0xFF) {
            continue;
        }
        let range = if number % 5 == 4 { code.clone() } else { 0..PAGE };
        let length = u64::try_from(range.len()).unwrap();
        let at = range.start + usize::try_from(stream.below(length)).unwrap();
        // The last four bits of a code of BCH mean nothing.
        page[at] ^= 0x10 << stream.below(4);
        flipped += 1;
    }
    flipped
}

#[test]
fn flipped_bits_are_corrected_in_data_and_codes() {
    let mut stream = Seed::new(4).stream("flips");
    // The codes of Hamming are the last 24 bytes, those of BCH the last 28.
    for (ecc, code) in [((1, 256), 2_088..2_112), ((4, 512), 2_084..2_112)] {
        let right = image(Some(64), Some(ecc));
        let mut wrong = right.clone();
        let flipped = flip(&mut wrong, &mut stream, code);
        assert!(flipped > 100);
        let (found, done) = rewritten(&wrong, &Hints::default(), &Rewriting::Correct).unwrap();
        assert!(found == right, "{ecc:?}: {done:?}");
        assert_eq!((done.corrected, done.bits, done.lost_count), (flipped, flipped, 0), "{ecc:?}");
        assert!(done.is_whole());
    }
}

#[test]
fn a_page_that_cannot_be_corrected_stays_and_is_told() {
    let right = image(Some(64), Some((1, 256)));
    let mut wrong = right.clone();
    let lost = 70 * RAW;
    wrong[lost + 5] ^= 0x11;
    wrong[lost + 700] ^= 0x10;
    let (found, done) = rewritten(&wrong, &Hints::default(), &Rewriting::Correct).unwrap();
    assert!(found == wrong);
    assert_eq!((done.lost.as_slice(), done.lost_count, done.corrected), (&[70][..], 1, 0));
    assert!(!done.is_whole());
}

#[test]
fn spare_bytes_go_and_come_and_are_those_of_create() {
    let (plain, hamming, bch) =
        (image(None, None), image(Some(64), None), image(Some(64), Some((4, 512))));
    let (stripped, done) = rewritten(&hamming, &Hints::default(), &Rewriting::Strip).unwrap();
    assert!(stripped == plain, "{done:?}");
    let shape = Shape::nand(Bytes::new(2_048), Bytes::new(64), Bytes::kib(128));
    let spare = linux_spare(shape, Some((4, Bytes::new(512)))).unwrap();
    let protect = Rewriting::Protect(Box::new(spare));
    let none = Hints { oob: Some(Bytes::ZERO), page: Some(Bytes::new(2_048)), ..Hints::default() };
    assert!(rewritten(&plain, &none, &protect).unwrap().0 == bch);
    let (other, done) = rewritten(&hamming, &Hints::default(), &protect).unwrap();
    assert!(other == bch && done.is_whole(), "{done:?}");
    // Bytes at the end are told.
    let cut = [hamming.as_slice(), &[1, 2, 3]].concat();
    let (_, done) = rewritten(&cut, &Hints::default(), &Rewriting::Correct).unwrap();
    assert_eq!((done.rest, done.is_whole()), (3, false));
}

#[test]
fn pages_without_a_code_or_a_size_are_refused() {
    let plain = image(None, None);
    let refused = rewritten(&plain, &Hints::default(), &Rewriting::Correct).unwrap_err();
    assert!(matches!(refused, Error::Pages(PagesProblem::NoCode)), "{refused}");
    let refused = rewritten(&[7; 9_000], &Hints::default(), &Rewriting::Strip).unwrap_err();
    assert!(matches!(refused, Error::Pages(PagesProblem::Unknown)), "{refused}");
}
