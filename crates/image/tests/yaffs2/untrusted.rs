//! Every truncation and every changed byte of small images: any answer is one, but a panic or a hang is none.

use crate::images::{RAW, in_band, large, small};
use crate::maker::{self, Maker};
use boardlab_image::check::check;
use boardlab_image::{Contents, Damage, Hints, MountedImage, Walk, open};
use boardlab_sim::Seed;
use boardlab_vfs::{FileSystem, Kind, PAGE_SIZE};

/// Identifies, opens, checks, lists and reads; whether that was possible.
fn read(bytes: Vec<u8>) -> bool {
    let contents = Contents::of(bytes);
    let hints = Hints { partial: true, ..Hints::default() };
    drop(check(&contents, &hints));
    let Ok(mut image) = open(&contents, &hints) else { return false };
    Damage::of(&mut image).unwrap();
    let MountedImage { fs, clock, .. } = &mut image;
    let mut walk = Walk::new(b"/", fs.root());
    let mut page = [0; PAGE_SIZE];
    while let Some(item) = walk.next(fs, clock) {
        let file = item.attributes.filter(|found| found.kind == Kind::File);
        let pages = file.map_or(0, |found| found.size.div_ceil(4_096));
        for number in (0..pages.min(4)).chain(pages.saturating_sub(1)..pages) {
            let _ = fs.read_page(clock, item.ino, number, &mut page);
        }
        for name in fs.listxattr(clock, item.ino).unwrap_or_default() {
            let _ = fs.getxattr(clock, item.ino, &name);
        }
        let _ = fs.evict_inode(clock, item.ino);
    }
    true
}

fn images() -> Vec<Vec<u8>> {
    let cut = |bytes: Vec<u8>, pages: usize, raw: usize| bytes[..pages * raw].to_vec();
    let [around, _, packed] = small();
    let made = maker::tree(Maker::usual());
    vec![
        cut(large(), 112, RAW),
        cut(in_band(), 112, RAW),
        cut(around, 256, 528),
        cut(packed, 256, 528),
        made,
    ]
}

fn full() -> bool {
    std::env::var_os("BOARDLAB_FULL").is_some()
}

#[test]
fn every_truncation_is_read_or_refused() {
    let mut noise = Seed::new(1).stream("yaffs2.truncated");
    for image in images() {
        let mut opened = 0;
        let rounds = if full() { image.len() as u64 } else { 25 };
        for round in 0..rounds {
            let length = if full() { round } else { noise.below(image.len() as u64) };
            let length = usize::try_from(length).unwrap();
            opened += u64::from(read(image[..length].to_vec()));
        }
        assert!(opened * 2 > rounds, "{opened} of {rounds}");
    }
}

#[test]
fn every_changed_byte_is_read_or_refused() {
    let mut noise = Seed::new(1).stream("yaffs2.changed");
    for image in images() {
        let mut opened = 0;
        let rounds = if full() { image.len() as u64 } else { 40 };
        for round in 0..rounds {
            let at = if full() { round } else { noise.below(image.len() as u64) };
            let mut changed = image.clone();
            changed[usize::try_from(at).unwrap()] = noise.below(256).to_le_bytes()[0];
            opened += u64::from(read(changed));
        }
        assert_eq!(opened, rounds);
    }
}

/// Single bytes seldom meet a field, so those of tags and headers are changed, several at once.
#[test]
fn changed_tags_and_headers_are_read_or_refused() {
    let mut noise = Seed::new(1).stream("yaffs2.fields");
    let rounds = if full() { 20_000 } else { 50 };
    for (number, image) in images().into_iter().enumerate() {
        let (raw, data) = if number == 2 || number == 3 { (528, 512) } else { (RAW, 2_048) };
        for _ in 0..rounds {
            let mut changed = image.clone();
            for _ in 0..1 + noise.below(6) {
                let page = noise.below((image.len() / raw) as u64);
                let within = match noise.below(4) {
                    0 => noise.below(12),
                    1 => 268 + noise.below(36),
                    2 => 488 + noise.below(24),
                    _ => data + noise.below((raw as u64 - data).min(40)),
                };
                let at = usize::try_from(page * raw as u64 + within).unwrap();
                let kinds = [0, 0xFF, 1, 2, 3, 4, 5, 0x10, 0x80, noise.below(256)];
                let kind = usize::try_from(noise.below(10)).unwrap();
                changed[at] = kinds[kind].to_le_bytes()[0];
            }
            read(changed);
        }
    }
}
