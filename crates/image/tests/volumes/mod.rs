//! What is in volumes, and their bytes.

use crate::made::{
    BLOCK, DATA, LEB, add_dynamic, add_static, blocks_of, committed, file_of, flash, squashfs,
};
use crate::{BOARD, named};
use boardlab_image::error::RawFault;
use boardlab_image::fs::RawVolumeReport;
use boardlab_image::{Contents, Error, Hints, VolumeError, carve, identify, open, tables};
use boardlab_result::Value;
use boardlab_sim::Bytes;

const LIMIT: Bytes = Bytes::mib(1);

fn written(file: &[u8], hints: &Hints) -> Result<(Vec<u8>, RawVolumeReport), Error> {
    let mut bytes = Vec::new();
    let done = carve(&Contents::of(file.to_vec()), hints, LIMIT, &mut bytes)?;
    Ok((bytes, done))
}

/// The text of a cell of the table of volumes.
fn told(file: &[u8], volume: &str, column: &str) -> String {
    let contents = Contents::of(file.to_vec());
    let report = tables::info("x", &contents, &identify(&contents), &Hints::default(), None);
    let cell = report.run.table("volumes").unwrap().cell(volume, column).unwrap().value.clone();
    match cell {
        Value::Text(text) => text,
        other => format!("{other:?}"),
    }
}

/// The header of a U-Boot image, with its checksum.
fn u_image() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..4].copy_from_slice(&0x2705_1956_u32.to_be_bytes());
    bytes[12..16].copy_from_slice(&700_u32.to_be_bytes());
    bytes[32..38].copy_from_slice(b"Linux!");
    let crc = !boardlab_ubi::format::crc(&bytes);
    bytes[4..8].copy_from_slice(&crc.to_be_bytes());
    bytes.resize(764, 7);
    bytes
}

#[test]
fn the_content_of_every_volume_is_named() {
    let mut ubi = flash();
    add_static(&mut ubi, "squash", &squashfs(40_000));
    add_static(&mut ubi, "kernel", &u_image());
    add_dynamic(&mut ubi, "late", &[(3, b"console=ttyS0 root=ubi0:rootfs\n")]);
    add_static(&mut ubi, "text", b"bootdelay=3\nbaudrate=115200\n");
    add_dynamic(&mut ubi, "none", &[]);
    add_static(&mut ubi, "jffs2", &std::fs::read(BOARD).unwrap());
    let mut z_image = vec![0; 2_048];
    z_image[0x24..0x28].copy_from_slice(&0x016F_2818_u32.to_le_bytes());
    z_image[0x2C..0x30].copy_from_slice(&0x0012_3456_u32.to_le_bytes());
    add_dynamic(&mut ubi, "zimage", &[(0, &z_image)]);
    let file = file_of(ubi);
    assert_eq!(told(&file, "squash", "content"), "SquashFS filesystem");
    assert_eq!(told(&file, "squash", "detail"), "version 4.0, little-endian");
    assert_eq!(told(&file, "kernel", "content"), "U-Boot image");
    assert_eq!(told(&file, "kernel", "detail"), "Linux!");
    assert_eq!(told(&file, "late", "content"), "text from LEB 3 on");
    assert_eq!(told(&file, "text", "content"), "text");
    assert_eq!(told(&file, "none", "content"), "empty");
    assert_eq!(told(&file, "jffs2", "content"), "JFFS2 filesystem");
    assert_eq!(told(&file, "zimage", "content"), "Linux kernel");
    assert_eq!(told(&file, "zimage", "detail"), "zImage, ARM");
}

#[test]
fn a_static_volume_is_written_to_its_last_byte_and_verified() {
    let mut ubi = flash();
    let data = squashfs(2 * LEB + 777);
    add_static(&mut ubi, "squash", &data);
    let (bytes, done) = written(&file_of(ubi), &named("squash")).unwrap();
    assert_eq!(bytes, data);
    assert_eq!((done.length, done.lebs, done.verified), (Bytes::of(&data), (3, 0), 3));
    let run = tables::carved("x", "y", &done).run;
    let cell = run.table("volume").unwrap().cell("squash", "checksums").unwrap().value.clone();
    assert_eq!(cell, Value::Text("right in 3 LEBs".into()));
}

#[test]
fn a_dynamic_volume_is_written_to_its_last_mapped_leb() {
    let mut ubi = flash();
    add_static(&mut ubi, "other", b"something else");
    add_dynamic(&mut ubi, "data", &[(0, b"first"), (2, b"third")]);
    let file = file_of(ubi);
    for name in ["data", "1"] {
        let (bytes, done) = written(&file, &named(name)).unwrap();
        assert_eq!((bytes.len(), done.lebs), (3 * LEB, (3, 1)));
        assert!(bytes.starts_with(b"first\xff") && bytes[2 * LEB..].starts_with(b"third\xff"));
        assert!(bytes[LEB..2 * LEB].iter().all(|&byte| byte == 0xFF));
    }
    let refused = written(&file, &Hints::default()).unwrap_err();
    assert!(
        matches!(refused, Error::Volume(VolumeError::Choice { wanted: None, .. })),
        "{refused}"
    );
    let refused = written(&file, &named("none")).unwrap_err();
    let text = "no volume is called `none`, but these: other (text), data (unknown content)";
    assert!(refused.to_string().starts_with("no volume is called `none`"), "{refused} {text}");
}

#[test]
fn damage_of_a_static_volume_is_told_with_its_place_and_written_only_when_that_is_wanted() {
    let mut ubi = flash();
    let data = squashfs(3 * LEB + 10);
    add_static(&mut ubi, "squash", &data);
    let whole = file_of(ubi);
    let blocks = blocks_of(&whole, 0);
    let partial = Hints { partial: true, ..named("squash") };
    let mut file = whole.clone();
    file[blocks[&1] * BLOCK + DATA + 5] ^= 1;
    let refused = written(&file, &named("squash")).unwrap_err();
    let Error::Volume(VolumeError::Damaged { damage, .. }) = &refused else { panic!("{refused}") };
    assert!(matches!(damage[0].what, RawFault::Checksum { .. }));
    let text =
        format!("the volume `squash` is damaged: LEB 1 in block {}: the checksum", blocks[&1]);
    assert!(refused.to_string().starts_with(&text), "{refused}");
    let (bytes, done) = written(&file, &partial).unwrap();
    let differ = bytes.iter().zip(&data).filter(|(one, other)| one != other).count();
    assert_eq!((differ, bytes.len(), done.verified), (1, data.len(), 3));
    assert!(!tables::carved("x", "y", &done).whole);
    assert_eq!(told(&file, "squash", "state"), "damaged");
    // A block that is not there.
    let mut file = whole;
    file[blocks[&1] * BLOCK..(blocks[&1] + 1) * BLOCK].fill(0xFF);
    let refused = written(&file, &named("squash")).unwrap_err();
    assert_eq!(refused.to_string(), "the volume `squash` is damaged: LEB 1: no block holds it");
    let (bytes, _) = written(&file, &partial).unwrap();
    assert_eq!(bytes.len(), data.len());
    assert!(bytes[LEB..2 * LEB].iter().all(|&byte| byte == 0xFF));
    let contents = Contents::of(file);
    let report = tables::info("x", &contents, &identify(&contents), &named("squash"), None);
    assert!(!report.whole);
    assert_eq!(report.run.warnings, ["Volume squash is damaged: LEB 1: no block holds it."]);
}

#[test]
fn a_volume_beyond_the_limit_is_not_written() {
    let mut ubi = flash();
    add_static(&mut ubi, "squash", &squashfs(70 * LEB));
    let refused = written(&file_of(ubi), &named("squash")).unwrap_err();
    assert!(matches!(refused, Error::Volume(VolumeError::Limit { .. })), "{refused}");
    assert!(refused.help().contains("--max-size"));
}

#[test]
fn where_nothing_can_be_mounted_the_help_says_how_to_write_it_out() {
    let mut ubi = flash();
    add_static(&mut ubi, "root fs", &squashfs(40_000));
    let refused = open(&Contents::of(file_of(ubi)), &Hints::default()).unwrap_err();
    let text = "the UBI image has not one UBIFS volume, but these: root fs (SquashFS filesystem)";
    assert_eq!(refused.to_string(), text);
    // A name with a space is no word of a shell.
    let command = "boardlab image extract IMAGE 0.bin --volume 0 --raw";
    assert!(refused.help().ends_with(command), "{}", refused.help());
}

#[test]
fn options_for_volumes_are_refused_where_there_are_none() {
    let board = Contents::of(std::fs::read(BOARD).unwrap());
    let refused = open(&board, &named("root")).unwrap_err();
    assert_eq!(refused.to_string(), "--volume is not for an image without UBI");
    let refused = carve(&board, &Hints::default(), LIMIT, &mut Vec::new()).unwrap_err();
    assert_eq!(refused.to_string(), "--raw is not for an image without UBI");
    let single = Contents::of(crate::single());
    assert!(matches!(open(&single, &named("0")), Err(Error::NotFor { .. })));
    let identity = identify(&single);
    let refused = identity.filesystem.unwrap().is_mountable(&named("0"));
    assert!(matches!(refused, Err(Error::NotFor { .. })), "{refused:?}");
}

#[test]
fn a_volume_with_ubifs_is_written_out_as_an_image_of_one_volume() {
    let (file, _) = committed();
    let (bytes, _) = written(&file, &named("root")).unwrap();
    let mut image =
        open(&Contents::of(bytes), &Hints { partial: true, ..Hints::default() }).unwrap();
    let root = image.fs.root();
    assert_eq!(image.fs.readdir(&mut image.clock, root).unwrap().len(), 4);
}
