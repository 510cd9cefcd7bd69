//! Wrong bits: what is corrected, and what is told of the rest.

use crate::asked::{damage, faults, info, opened};
use crate::images::{MANIFEST, PAGES, RAW, linux, told};
use boardlab_image::{Error, Hints, MountedImage, Walk};
use boardlab_sim::Seed;

fn is_programmed(raw: &[u8]) -> bool {
    raw.iter().any(|&byte| byte != 0xFF)
}

#[test]
fn one_wrong_bit_in_every_step_is_corrected_and_told() {
    let mut image = linux();
    let mut noise = Seed::new(1).stream("logfs.damage");
    for raw in image.chunks_mut(RAW).filter(|raw| is_programmed(raw)) {
        for step in 0..8 {
            let at = step * 256 + usize::try_from(noise.below(256)).unwrap();
            raw[at] ^= 1 << noise.below(8);
        }
    }
    assert_eq!(told(&image), MANIFEST);
    let told = info(&image);
    assert!(told.whole, "{:?}", told.run.warnings);
    let damage = damage(&image);
    assert!(damage.corrected_bits > 400, "{}", damage.corrected_bits);
    assert_eq!((damage.uncorrectable_steps, damage.audit.places.len()), (0, 0));
}

/// The tree with all problems, or nothing where it cannot be read to its end.
fn listing(image: &mut MountedImage) -> Vec<String> {
    let MountedImage { fs, clock, .. } = image;
    let mut walk = Walk::new(b"/", fs.root());
    let mut lines = Vec::new();
    while let Some(item) = walk.next(fs, clock) {
        let mut line =
            format!("{:?} {:?} {:?} {:?}", item.path, item.attributes, item.target, item.problem);
        let size = item.attributes.map_or(0, |found| found.size.min(1 << 21));
        for page in 0..size.div_ceil(4_096) {
            let mut buffer = [0; 4_096];
            let read = fs.read_page(clock, item.ino, page, &mut buffer).is_ok();
            let sum =
                buffer.iter().fold(5_381, |sum: u32, &byte| sum.wrapping_mul(33) ^ u32::from(byte));
            line += &format!(" {read} {sum:08x}");
        }
        lines.push(line);
    }
    lines
}

/// Two wrong bits in a step of each page in turn: what they touch is told, and everything else is there.
#[test]
fn two_wrong_bits_are_told_or_touch_nothing() {
    let bytes = linux();
    let whole = listing(&mut opened(&bytes, &Hints::default()).unwrap());
    let programmed = bytes.chunks(RAW).enumerate().filter(|(_, raw)| is_programmed(raw));
    let pages: Vec<usize> = programmed.map(|(page, _)| page).collect();
    let (mut lost, mut harmless, mut refused) = (0, 0, 0);
    let each = if std::env::var_os("BOARDLAB_FULL").is_some() { 7 } else { 35 };
    for &page in pages.iter().step_by(each) {
        for step in [0, 3] {
            let mut bytes = bytes.clone();
            let start = page * RAW + step * 256;
            bytes[start + 9] ^= 1;
            bytes[start + 77] ^= 8;
            let Ok(mut image) = opened(&bytes, &Hints::default()) else {
                refused += 1;
                assert!(
                    page / PAGES < 5 || page / PAGES == 12 || page / PAGES == 13,
                    "page {page}"
                );
                continue;
            };
            let found = listing(&mut image);
            let damage = damage(&bytes);
            if found == whole {
                harmless += 1;
                continue;
            }
            lost += 1;
            let told = damage.audit.places.iter().any(|place| place.is_loss);
            assert!(told, "page {page}, step {step}: {:?}", damage.audit);
            assert!(!faults(&bytes).is_empty());
        }
    }
    assert!(lost > 0 && harmless > 20, "{lost} {harmless} {refused}");
}

#[test]
fn without_its_last_commit_the_image_is_not_mounted() {
    let mut image = linux();
    // The last commit is in segment 2, which has two pages. The last one in segment 1 leads to objects whose data
    // are not here any more.
    image[2 * PAGES * RAW..2 * PAGES * RAW + 4 * RAW].fill(0);
    let refused = opened(&image, &Hints::default()).unwrap_err();
    assert!(matches!(refused, Error::Mount(_)), "{refused}");
    assert!(faults(&image)[0].contains("cannot be mounted"), "{:?}", faults(&image));
}
