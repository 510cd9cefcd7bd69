//! What `image` tells and writes of the volumes of a UBI image.

use crate::bench::{Scratch, limited, run_in};
use boardlab_mtd::{BlockIndex, Mtd, RamMtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{NewVolume, Options, Ubi};
use std::fs;

/// Bytes of a block.
const BLOCK: usize = 16_384;

/// A SquashFS as far as it is recognised.
fn squashfs() -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..40_000_u32).map(|n| (n * 31 % 253).to_le_bytes()[0]).collect();
    bytes[..4].copy_from_slice(b"hsqs");
    bytes[28..32].copy_from_slice(&[4, 0, 0, 0]);
    bytes
}

/// A flash whose only volume is static and holds [`squashfs`].
fn flash() -> Vec<u8> {
    let mut clock = Clock::new();
    let flash = RamMtd::nand(64, 32, Bytes::new(512), Bytes::new(16));
    let mut ubi = Ubi::attach(&mut clock, flash, &Options::default()).unwrap();
    let volume = NewVolume::fixed("rootfs", Bytes::new(100_000));
    let id = ubi.create_volume(&mut clock, &volume).unwrap();
    ubi.update_volume(&mut clock, id, &squashfs()).unwrap();
    let mut device = ubi.into_device();
    let mut file = Vec::new();
    for block in 0..64 {
        let range = device.geometry().block_range(BlockIndex(block)).unwrap();
        let mut bytes = vec![0; BLOCK];
        device.read(&mut clock, range.start, &mut bytes).unwrap();
        file.extend(bytes);
    }
    file
}

#[test]
fn the_error_of_an_image_that_holds_only_squashfs_gives_the_command_that_writes_it_out() {
    let scratch = Scratch::new();
    scratch.write("my dump.bin", flash());
    let refused = run_in(scratch.path(), &["image", "extract", "my dump.bin", "out"]);
    assert_eq!(refused.status, 2, "{refused:?}");
    let text = "the UBI image has not one UBIFS volume, but these: rootfs (SquashFS filesystem)";
    assert!(refused.stderr.contains(text), "{}", refused.stderr);
    let command = "boardlab image extract 'my dump.bin' rootfs.bin --volume rootfs --raw";
    assert!(refused.stderr.contains(command), "{}", refused.stderr);
    assert_eq!(scratch.names("."), ["my dump.bin"]);
    let arguments =
        ["image", "extract", "my dump.bin", "rootfs.bin", "--volume", "rootfs", "--raw"];
    let done = run_in(scratch.path(), &arguments).success();
    assert!(done.contains("right in 3 LEBs"), "{done}");
    assert!(fs::read(scratch.path().join("rootfs.bin")).unwrap() == squashfs());
}

#[test]
fn a_volume_is_written_to_a_new_file_completely_or_not_at_all() {
    let scratch = Scratch::new();
    let whole = flash();
    let start = squashfs();
    let at = (0..whole.len()).step_by(512).find(|&at| whole[at..].starts_with(&start[..512]));
    let mut damaged = whole.clone();
    damaged[at.unwrap() + 100] ^= 1;
    scratch.write("whole.bin", &whole);
    scratch.write("damaged.bin", &damaged);
    scratch.write("there", "precious");
    let raw = |image: &str, target: &str, more: &[&str]| {
        let fixed = ["--format", "json", "image", "extract", image, target, "--raw"];
        run_in(scratch.path(), &[&fixed[..], more].concat())
    };
    let refused = raw("whole.bin", "there", &[]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("the file exists"), "{}", refused.stderr);
    assert_eq!(scratch.read("there"), "precious");
    let refused = raw("damaged.bin", "new", &[]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("the volume `rootfs` is damaged: LEB 0"), "{}", refused.stderr);
    let refused = raw("whole.bin", "new", &["--max-size", "10KiB"]);
    assert!(refused.stderr.contains("raise the limit with --max-size"), "{}", refused.stderr);
    let full = limited(8, scratch.path(), &["image", "extract", "whole.bin", "new", "--raw"]);
    assert_eq!(full.status, 2, "{full:?}");
    assert_eq!(scratch.names("."), ["damaged.bin", "there", "whole.bin"]);
    let told = raw("damaged.bin", "new", &["--partial"]);
    assert_eq!(told.status, 1);
    assert!(told.stdout.contains("the checksum is 0x"), "{}", told.stdout);
    assert_eq!(fs::read(scratch.path().join("new")).unwrap().len(), start.len());
    let told = raw("whole.bin", "whole", &["--volume", "0"]);
    assert_eq!(told.status, 0, "{}", told.stderr);
    for more in [&["/etc"][..], &["--commit", "3"], &["--max-names", "3"]] {
        assert_eq!(raw("whole.bin", "other", more).status, 2);
    }
}

#[test]
fn one_volume_is_shown_alone_and_its_damage_gives_status_one() {
    let scratch = Scratch::new();
    let whole = flash();
    let mut damaged = whole.clone();
    let at = (0..whole.len()).step_by(512).find(|&at| whole[at..].starts_with(b"hsqs")).unwrap();
    damaged[at + 100] ^= 1;
    for (name, file, status) in [("whole.bin", &whole, 0), ("damaged.bin", &damaged, 1)] {
        scratch.write(name, file);
        let outcome = run_in(scratch.path(), &["image", "info", name, "--volume", "rootfs"]);
        assert_eq!(outcome.status, status, "{outcome:?}");
        assert!(outcome.stdout.contains("SquashFS filesystem"), "{}", outcome.stdout);
        assert!(!outcome.stdout.contains("evidence – Evidence"), "{}", outcome.stdout);
        assert_eq!(outcome.stdout.contains("Volume rootfs is damaged: LEB 0"), status == 1);
    }
    let refused = run_in(scratch.path(), &["image", "info", "whole.bin", "--volume", "kernel"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("no volume is called `kernel`"), "{}", refused.stderr);
}
