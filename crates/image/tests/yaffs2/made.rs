//! Images that are made of a folder, read again.

use crate::asked::{damage, faults, info, opened};
use crate::images::told;
use boardlab_image::files::Taking;
use boardlab_image::make::report::report;
use boardlab_image::make::{FileOptions, Flash, Made, MakeError, NewTags, is_on_flash, of_folder};
use boardlab_image::{ByteOrder, Contents, Hints, Kind, identify};
use boardlab_result::Value;
use boardlab_sim::{Bytes, Seed};
use std::fs;
use std::path::PathBuf;

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = format!("boardlab-yaffs2-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const fn flash(page: u64, oob: u64, block: u64) -> Flash {
    Flash { oob: Some(Bytes::new(oob)), ..Flash::of(Bytes::new(page), Bytes::new(block)) }
}

fn made(folder: &Scratch, flash: &Flash) -> Result<Made, MakeError> {
    made_as(folder, flash, (NewTags::Free, ByteOrder::Little))
}

fn made_as(
    folder: &Scratch,
    flash: &Flash,
    (tags, order): (NewTags, ByteOrder),
) -> Result<Made, MakeError> {
    let options = FileOptions {
        fs: "yaffs2".into(),
        tags,
        order,
        volume: None,
        taking: Taking { squash: true, latest: Some(1_000_000_000), ..Taking::default() },
        ..FileOptions::default()
    };
    of_folder(&folder.0, flash, &options, Seed::new(1))
}

fn filled(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let at = |name: &str| scratch.0.join(name);
    fs::create_dir_all(at("etc/init.d")).unwrap();
    fs::write(at("etc/motd"), "welcome\n").unwrap();
    fs::write(at("etc/empty"), "").unwrap();
    let content: Vec<u8> = (0..100_000_u32).map(|at| (at * 31 % 251).to_le_bytes()[0]).collect();
    fs::write(at("large"), &content).unwrap();
    // A hole of some pages, in the middle and at the end.
    let mut sparse = vec![0; 90_000];
    sparse[..7].copy_from_slice(b"in here");
    sparse[50_000..50_007].copy_from_slice(b"in here");
    fs::write(at("sparse"), &sparse).unwrap();
    fs::hard_link(at("large"), at("etc/same")).unwrap();
    std::os::unix::fs::symlink("../large", at("etc/link")).unwrap();
    fs::write(at("n".repeat(255).as_str()), "x").unwrap();
    scratch
}

#[test]
fn an_image_of_an_empty_folder_is_recognised_by_its_root() {
    let folder = Scratch::new("empty");
    for (tags, order, flash, name) in [
        (NewTags::Free, ByteOrder::Little, flash(2_048, 64, 131_072), "YAFFS2"),
        (NewTags::Free, ByteOrder::Big, flash(4_096, 128, 262_144), "YAFFS2"),
        (NewTags::Start, ByteOrder::Little, flash(2_048, 64, 131_072), "YAFFS2"),
        (NewTags::InBand, ByteOrder::Little, flash(2_048, 0, 131_072), "YAFFS2"),
        (NewTags::InBand, ByteOrder::Big, flash(2_048, 64, 131_072), "YAFFS2"),
        (NewTags::Free, ByteOrder::Little, flash(512, 16, 16_384), "YAFFS1"),
    ] {
        let made = made_as(&folder, &flash, (tags, order)).unwrap();
        let identity = identify(&Contents::of(made.bytes.clone()));
        assert_eq!(identity.main().kind, Kind::FileSystem(name), "{tags:?} {order:?}");
        let found = format!("{:?}", identity.main());
        assert!(found.contains("object header of `/`"), "{found}");
        let told = info(&made.bytes);
        assert!(told.whole, "{tags:?} {order:?}: {:?}", told.run.warnings);
        let mut image = opened(&made.bytes, &Hints::default()).unwrap();
        let root = image.fs.root();
        let inside = image.fs.readdir(&mut image.clock, root).unwrap();
        assert!(inside.iter().all(|entry| entry.name == b"lost+found"), "{inside:?}");
        assert!(faults(&made.bytes).is_empty(), "{tags:?} {order:?}");
    }
}

#[test]
fn an_image_of_a_folder_has_its_files() {
    let folder = filled("files");
    let mut manifests = Vec::new();
    for flash in [flash(2_048, 64, 131_072), flash(4_096, 128, 262_144), flash(8_192, 448, 524_288)]
    {
        let made = made(&folder, &flash).unwrap();
        let oob = flash.oob.unwrap();
        assert_eq!(made.bytes.len() as u64 % ((flash.page + oob) * 64).get(), 0);
        let whole = info(&made.bytes);
        assert!(whole.whole && whole.run.findings.is_empty(), "{whole:?}");
        let faults = faults(&made.bytes);
        assert!(faults.is_empty(), "{faults:?}");
        assert!(damage(&made.bytes).is_whole());
        manifests.push(told(&made.bytes));
        let told = report("folder", "image", &made);
        let count = told.run.table("filesystem").unwrap().cell("yaffs2", "file_count").unwrap();
        assert_eq!((told.whole, &count.value), (true, &Value::Int(5)));
    }
    assert!(manifests.iter().all(|manifest| *manifest == manifests[0]));
    let lines: Vec<&str> = manifests[0].lines().collect();
    assert_eq!(lines.len(), 10, "{lines:#?}");
    let has =
        |line: &str| assert!(lines.iter().any(|one| one.starts_with(line)), "{line}: {lines:#?}");
    has("etc/motd f 0644 0 0 1 8 ");
    has("etc/same f 0644 0 0 2 100000 ");
    has("etc/link l 0777 0 0 1 8 ");
    has("sparse f 0644 0 0 1 90000 ");
}

#[test]
fn every_place_of_tags_and_both_byte_orders_hold_the_same_files() {
    let folder = filled("places");
    let expected = told(&made(&folder, &flash(2_048, 64, 131_072)).unwrap().bytes);
    let bare = |page, block| Flash { oob: None, ..flash(page, 0, block) };
    for order in [ByteOrder::Little, ByteOrder::Big] {
        for (tags, flash) in [
            (NewTags::Free, flash(2_048, 64, 131_072)),
            (NewTags::Start, flash(2_048, 64, 131_072)),
            (NewTags::Start, flash(4_096, 128, 262_144)),
            (NewTags::InBand, bare(2_048, 131_072)),
            (NewTags::InBand, bare(4_096, 262_144)),
            (NewTags::InBand, flash(2_048, 64, 131_072)),
            // YAFFS1.
            (NewTags::Free, flash(512, 16, 16_384)),
        ] {
            if flash.page == Bytes::new(512) && order == ByteOrder::Big {
                let refused = made_as(&folder, &flash, (tags, order)).unwrap_err();
                assert!(matches!(refused, MakeError::Useless { option: "--big-endian", .. }));
                continue;
            }
            let case = format!("{tags:?} {order} {} {:?}", flash.page, flash.oob);
            let made = made_as(&folder, &flash, (tags, order)).unwrap();
            assert_eq!(told(&made.bytes), expected, "{case}");
            assert_eq!(faults(&made.bytes), [""; 0], "{case}");
            let name = if flash.page == Bytes::new(512) { "YAFFS1" } else { "YAFFS2" };
            let identity = identify(&Contents::of(made.bytes.clone()));
            assert_eq!(identity.main().kind, Kind::FileSystem(name), "{case}");
        }
    }
}

#[test]
fn a_block_that_is_larger_than_the_usual_one_is_no_second_filesystem() {
    let folder = filled("block");
    // One block of 128 pages, and nothing that shows its size.
    let made = made(&folder, &flash(2_048, 64, 262_144)).unwrap();
    assert_eq!(faults(&made.bytes), [""; 0]);
    assert!(damage(&made.bytes).is_whole());
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let folder = filled("same");
    let of = || made(&folder, &flash(2_048, 64, 131_072)).unwrap().bytes;
    assert_eq!(of(), of());
    assert!(opened(&of(), &Hints::default()).is_ok());
}

#[test]
fn what_does_not_fit_is_refused_or_told() {
    let folder = filled("refused");
    let little = |tags| (tags, ByteOrder::Little);
    let refused = made_as(&folder, &flash(512, 16, 16_384), little(NewTags::Start)).unwrap_err();
    assert!(refused.help().contains("1 KiB or more"), "{refused}: {}", refused.help());
    let refused = made(&folder, &flash(512, 64, 16_384)).unwrap_err();
    assert_eq!(refused.help(), "expected 16 for YAFFS1");
    let refused = made_as(&folder, &flash(2_048, 16, 131_072), little(NewTags::Start)).unwrap_err();
    assert_eq!(refused.help(), "expected 28 or more");
    let weak = Some((1, Bytes::new(256)));
    for (flash, tags) in [
        (flash(512, 16, 16_384), NewTags::Free),
        (flash(2_048, 64, 131_072), NewTags::Start),
        (Flash { oob: None, ..flash(2_048, 64, 131_072) }, NewTags::InBand),
    ] {
        let refused = made_as(&folder, &Flash { ecc: weak, ..flash }, little(tags)).unwrap_err();
        assert!(matches!(refused, MakeError::Useless { option: "--ecc", .. }), "{refused}");
    }
    let refused = made(&folder, &flash(2_048, 32, 131_072)).unwrap_err();
    assert_eq!(refused.help(), "expected 28 bytes for the tags beside the ECC");
    let refused = made(&folder, &Flash { oob: None, ..flash(2_048, 64, 131_072) }).unwrap_err();
    assert!(matches!(refused, MakeError::Missing { .. }), "{refused}");
    // More than 2^20 chunks of 512 bytes, none of which takes room.
    let large = folder.0.join("large");
    fs::File::create(&large).unwrap().set_len(600 << 20).unwrap();
    let yaffs1 = made(&folder, &flash(512, 16, 16_384)).unwrap();
    let left_out: Vec<_> = yaffs1.left_out.iter().map(|one| one.path.as_slice()).collect();
    assert_eq!(left_out, [&b"/large"[..], b"/etc/same"], "its other name too");
    fs::remove_file(&large).unwrap();
    std::os::unix::fs::symlink("x".repeat(200), folder.0.join("long")).unwrap();
    let made = made(&folder, &flash(2_048, 64, 131_072)).unwrap();
    assert_eq!(made.left_out.len(), 1);
    assert_eq!(made.left_out[0].why.to_string(), "its target of 200 bytes: there is room for 159");
    assert!(is_on_flash("YAFFS2") && !is_on_flash("ubifs"));
}

#[test]
fn few_headers_are_found_among_content_that_looks_like_them() {
    let folder = Scratch::new("look-alikes");
    let at = |name: &str| folder.0.join(name);
    // Blocks that hold nothing but letters.
    fs::create_dir_all(at("d")).unwrap();
    fs::write(at("d/a"), "O".repeat(300_000)).unwrap();
    let alike: Vec<u8> = [b"\0\0\0\x01\0\0\0\xff\xffname\0", &[7; 18][..]].concat().repeat(30_000);
    fs::write(at("d/b"), &alike).unwrap();
    let mut image = made(&folder, &flash(2_048, 64, 128 << 10)).unwrap().bytes;
    // As after garbage collection: the block with the headers is the last one.
    image.rotate_left(64 * 2_112);
    let identity = identify(&Contents::of(image.clone()));
    assert_eq!(identity.main().kind, Kind::FileSystem("YAFFS2"), "{identity:?}");
    assert!(faults(&image).is_empty());
}
