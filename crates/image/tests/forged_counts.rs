//! Counts that an image claims, and that are far beyond what is in it: no more memory than four times
//! the image is taken for them.

#![allow(clippy::unwrap_used, reason = "the helpers of a test panic like the test")]

mod ubi_images;

use boardlab_image::{Contents, Damage, Hints, Walk, identify, open};
use boardlab_ubi::format::{crc, vtbl};
use boardlab_vfs::FileSystem;
use peak_alloc::PeakAlloc;
use ubi_images::{single, two};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Identifies, opens, checks and lists; whether that was possible.
fn read(contents: &Contents, hints: &Hints) -> bool {
    drop(identify(contents));
    let Ok(mut image) = open(contents, hints) else { return false };
    drop(Damage::of(&mut image));
    let mut walk = Walk::new(b"/", image.fs.root());
    while walk.next(&mut image.fs, &mut image.clock).is_some() {}
    true
}

/// Reads an image as it is and as a truncated one, within four times its size; whether it was opened.
fn within_limits(what: &str, bytes: &[u8], volume: Option<&str>) -> bool {
    let mut opened = false;
    for partial in [false, true] {
        let hints = Hints { partial, volume: volume.map(str::to_owned), ..Hints::default() };
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        opened |= read(&Contents::of(bytes.to_vec()), &hints);
        let (memory, size) = (MEMORY.peak_usage() - before, bytes.len());
        assert!(memory <= 4 * size, "{what}: {memory} bytes of memory for an image of {size}");
    }
    opened
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Makes the checksum of a node of UBIFS right.
fn seal(node: &mut [u8]) {
    let length = usize::try_from(number(node, 16)).unwrap();
    let sum = crc(&node[8..length]);
    put(node, 4, sum);
}

/// Fields of the superblock that are counts, some of which only together are believed.
const COUNTS: [&[usize]; 11] =
    [&[40], &[44], &[40, 44], &[48], &[56], &[60], &[40, 44, 60], &[64], &[68], &[72], &[76]];

/// What they claim.
const CLAIMS: [u32; 8] =
    [40, 1_000, 7_000, 20_000, 1 << 20, 1 << 22, i32::MAX.cast_unsigned(), u32::MAX];

fn forge_superblocks(what: &str, image: &[u8], (start, volume): (usize, Option<&str>)) {
    assert!(within_limits(what, image, volume));
    for claim in CLAIMS {
        for fields in COUNTS {
            let mut forged = image.to_vec();
            let node = &mut forged[start..start + 4_096];
            fields.iter().for_each(|&at| put(node, at, claim));
            seal(node);
            within_limits(&format!("{what}: {fields:?} are {claim}"), &forged, volume);
        }
    }
}

/// Where the tables of volumes begin with their first records.
const TABLES: [usize; 2] = [512, 16_384 + 512];

fn forge_tables(image: &[u8]) {
    let mut opened = 0;
    for claim in CLAIMS {
        let mut forged = image.to_vec();
        for copy in TABLES {
            let record = &mut forged[copy..copy + vtbl::SIZE];
            record[..4].copy_from_slice(&claim.to_be_bytes());
            let sum = crc(&record[..vtbl::SIZE - 4]);
            record[vtbl::SIZE - 4..].copy_from_slice(&sum.to_be_bytes());
        }
        let what = format!("the first volume reserves {claim}");
        opened += usize::from(within_limits(&what, &forged, Some("rootfs")));
    }
    assert!((3..CLAIMS.len()).contains(&opened), "{opened} believed");
}

// One test, because the memory of all threads is counted together.
#[test]
fn claimed_counts_take_no_memory() {
    let (image, volumes) = (single(), two());
    forge_superblocks("single", &image, (0, None));
    let start = volumes.windows(4).position(|word| word == [0x31, 0x18, 0x10, 0x06]).unwrap();
    forge_superblocks("volume", &volumes, (start, Some("rootfs")));
    forge_tables(&volumes);
}
