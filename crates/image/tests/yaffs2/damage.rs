//! Wrong bits: what is corrected, and what is told of the rest.

use crate::asked::{damage, info, opened};
use crate::images::{LINUX_MANIFEST, RAW, TREE, large, linux, moved, told};
use boardlab_image::audit::Place;
use boardlab_image::{Hints, MountedImage, Walk};
use boardlab_sim::Seed;
use boardlab_vfs::{FileSystem, Kind, Mount};
use boardlab_workload::tree::manifest;

fn is_programmed(raw: &[u8]) -> bool {
    raw.iter().any(|&byte| byte != 0xFF)
}

#[test]
fn one_wrong_bit_in_every_step_and_all_tags_is_corrected_and_told() {
    let mut image = linux();
    let mut noise = Seed::new(1).stream("yaffs2.damage");
    for raw in image.chunks_mut(RAW).filter(|raw| is_programmed(raw)) {
        for step in 0..8 {
            let at = step * 256 + usize::try_from(noise.below(256)).unwrap();
            // Erased steps of a page have erased codes, which say the same of one wrong bit.
            raw[at] ^= 1 << noise.below(8);
        }
        let at = usize::try_from(noise.below(128)).unwrap();
        raw[2_050 + at / 8] ^= 1 << (at % 8);
    }
    assert_eq!(told(&image), LINUX_MANIFEST);
    let told = info(&image);
    assert!(told.whole, "{:?}", told.run.warnings);
    let damage = damage(&image);
    // 119 chunks are in use.
    assert!((119 * 8..130 * 8).contains(&damage.corrected_bits), "{}", damage.corrected_bits);
    assert_eq!(damage.uncorrectable_steps, 0);
    assert_eq!(damage.audit.places.len(), 119);
    let what = "tags with a wrong bit";
    assert!(damage.audit.places.iter().all(|place| place.what == what && !place.is_loss));
    assert!(damage.steps.iter().filter(|step| !step.inodes.is_empty()).count() > 80 * 8);
    // The same with all of it in other places.
    let moved = moved(&image, |_, spare| [&spare[40..], &spare[2..30], &[0xFF; 76]].concat());
    assert_eq!(crate::images::told(&moved), LINUX_MANIFEST);
}

/// The manifest with all problems, or nothing where it cannot be read to its end.
fn listing(image: &mut MountedImage) -> Vec<String> {
    let MountedImage { fs, clock, .. } = image;
    let mut walk = Walk::new(b"/", fs.root());
    let mut lines = Vec::new();
    while let Some(item) = walk.next(fs, clock) {
        if item.name() == b"lost+found" {
            continue;
        }
        let mut line =
            format!("{:?} {:?} {:?} {:?}", item.path, item.attributes, item.target, item.problem);
        let attributes = item.attributes.filter(|found| found.kind == Kind::File);
        for page in 0..attributes.map_or(0, |found| found.size.div_ceil(4_096)) {
            let mut buffer = [0; 4_096];
            let read = fs.read_page(clock, item.ino, page, &mut buffer).is_ok();
            line += &format!(" {read} {:08x}", crc32(&buffer));
        }
        lines.push(line);
    }
    lines
}

fn crc32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(5_381, |sum: u32, &byte| sum.wrapping_mul(33) ^ u32::from(byte))
}

#[test]
fn two_wrong_bits_in_a_step_or_in_tags_are_told_or_touch_nothing() {
    let bytes = large();
    let whole = listing(&mut opened(&bytes, &Hints::default()).unwrap());
    let programmed = bytes.chunks(RAW).enumerate().filter(|(_, raw)| is_programmed(raw));
    let pages: Vec<usize> = programmed.map(|(page, _)| page).collect();
    let (mut lost, mut harmless) = (0, 0);
    // The eight steps of the data and the tags.
    for &page in &pages {
        for step in [0, 1, 3, 7, 8] {
            let start = page * RAW + if step < 8 { step * 256 } else { 2_050 };
            let mut bytes = bytes.clone();
            bytes[start + 1] ^= 4;
            bytes[start + 9] ^= 0x10;
            let mut image = opened(&bytes, &Hints::default()).unwrap();
            let found = listing(&mut image.copy().unwrap());
            let damage = boardlab_image::Damage::of(&mut image).unwrap();
            if damage.is_whole() {
                harmless += 1;
                assert_eq!(found, whole, "page {page}, step {step}");
            } else {
                lost += 1;
                let told = damage.uncorrectable_steps > 0 || !damage.audit.places.is_empty();
                assert!(told, "page {page}, step {step}: {damage:?}");
            }
        }
    }
    assert!(lost > 100 && harmless > 100, "{lost} lost, {harmless} harmless");
}

#[test]
fn a_lost_piece_and_a_lost_header_are_told_by_their_names() {
    let bytes = large();
    let mut touched = (0, 0);
    for page in 0..bytes.len() / RAW {
        let mut bytes = bytes.clone();
        let raw = &mut bytes[page * RAW..(page + 1) * RAW];
        if !is_programmed(raw) {
            continue;
        }
        raw[0] ^= 3;
        let damage = damage(&bytes);
        let Some(words) = damage.audit.inode_damage.values().next() else { continue };
        touched.0 += usize::from(words.starts_with("bytes "));
        touched.1 += usize::from(words.starts_with("its header cannot be read"));
        assert_eq!(damage.uncorrectable_steps, 1);
    }
    assert!(touched.0 > 10 && touched.1 > 10, "{touched:?}");
}

#[test]
fn a_bad_block_by_a_wrong_bit_is_told_and_one_that_is_bad_is_not_read() {
    let mut bytes = large();
    bytes[16 * RAW + 2_048] ^= 8;
    assert_eq!(damage(&bytes).audit.doubtful_blocks, [1]);
    assert!(!info(&bytes).whole);
    let mut bytes = large();
    // An erased block far behind.
    for raw in bytes[50 * 16 * RAW..].chunks_mut(RAW).take(2) {
        raw[2_048..2_050].fill(0);
    }
    let damage = damage(&bytes);
    assert!(damage.is_whole() && damage.audit.doubtful_blocks.is_empty());
    assert_eq!(told(&bytes), TREE);
}

#[test]
fn copies_of_an_image_are_read_side_by_side() {
    let image = opened(&linux(), &Hints::default()).unwrap();
    let copy = image.copy().unwrap();
    let of =
        |MountedImage { fs, mut clock, .. }| manifest(&mut Mount::new(fs), &mut clock).unwrap();
    assert_eq!(of(image), of(copy));
}

#[test]
fn a_dump_of_two_filesystems_is_told() {
    let one = large();
    let both = damage(&[one.clone(), one.clone()].concat());
    assert!(!both.is_whole());
    let what = |place: &Place| place.what.ends_with("with the sequence number of another block");
    assert_eq!(both.audit.places.iter().filter(|place| what(place)).count(), 1);
    assert!(!damage(&one).audit.places.iter().any(what));
}

#[test]
fn a_page_whose_data_and_tags_are_wrong_is_a_loss_also_where_a_summary_knows_it() {
    let bytes = large();
    let mut told = 0;
    for page in 1..15 {
        let mut bytes = bytes.clone();
        for start in [page * RAW, page * RAW + 2_050] {
            bytes[start + 1] ^= 4;
            bytes[start + 9] ^= 0x10;
        }
        let damage = damage(&bytes);
        let both = |place: &&Place| place.what.ends_with("and data too");
        let here = damage.audit.places.iter().filter(both).count();
        told += here;
        assert_eq!(here > 0, !damage.is_whole(), "page {page}: {:?}", damage.audit.places);
    }
    assert!(told > 5, "{told}");
}
