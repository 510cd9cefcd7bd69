//! Images that somebody has changed: no panic, no endless loop, no wrong bytes without a word.

use crate::asked::opened;
use crate::images::{MANIFEST, linux, plain};
use crate::mend::mend;
use boardlab_image::{Contents, Damage, Hints, identify, open};
use boardlab_sim::Seed;
use boardlab_vfs::Mount;
use boardlab_workload::tree::manifest;

/// Opens, reads and audits it, whatever comes of that.
fn examine(bytes: Vec<u8>) -> Option<String> {
    let contents = Contents::of(bytes);
    let _ = identify(&contents);
    let hints = Hints { partial: true, ..Hints::default() };
    let mut image = open(&contents, &hints).ok()?;
    let _ = Damage::of(&mut image);
    let mut clock = image.clock;
    manifest(&mut Mount::new(image.fs), &mut clock).ok()
}

/// The beginning of the image: superblock, journal, segment file and inodes.
fn head() -> Vec<u8> {
    plain(&linux())[..64 << 17].to_vec()
}

#[test]
fn images_of_any_length_are_refused_or_read() {
    let whole = plain(&linux());
    let mut noise = Seed::new(3).stream("logfs.length");
    for _ in 0..60 {
        let length = usize::try_from(noise.below(whole.len() as u64)).unwrap();
        examine(whole[..length].to_vec());
    }
    for length in (0..5_000).step_by(97) {
        examine(whole[..length].to_vec());
    }
}

/// Changes bytes where something is, and makes the checksums of headers right again in half of the cases.
#[test]
fn changed_bytes_are_survived() {
    let head = head();
    let programmed: Vec<usize> = (0..head.len())
        .step_by(512)
        .filter(|&at| head[at..at + 512].iter().any(|&it| it != 0xFF))
        .collect();
    let mut noise = Seed::new(5).stream("logfs.bytes");
    let (mut read, mut same) = (0, 0);
    for round in 0..400 {
        let mut bytes = head.clone();
        for _ in 0..=noise.below(4) {
            let page = programmed[usize::try_from(noise.below(programmed.len() as u64)).unwrap()];
            let at = page + usize::try_from(noise.below(512)).unwrap();
            bytes[at] = bytes[at].wrapping_add(1 + u8::try_from(noise.below(255)).unwrap());
        }
        if round % 2 == 0 {
            mend(&mut bytes, 1 << 17);
        }
        if let Some(found) = examine(bytes) {
            read += 1;
            same += usize::from(found == MANIFEST);
        }
    }
    assert!(read > 100, "{read} of 400 could be read, {same} were whole");
}

#[test]
fn the_whole_image_still_is_what_it_was() {
    let mut bytes = plain(&linux());
    mend(&mut bytes, 1 << 17);
    let found = opened(&bytes, &Hints::default()).unwrap();
    let mut clock = found.clock;
    assert_eq!(manifest(&mut Mount::new(found.fs), &mut clock).unwrap(), MANIFEST);
}
