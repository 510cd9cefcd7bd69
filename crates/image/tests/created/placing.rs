//! Images that are padded, and that lie around bad blocks.

use crate::folders::{compare, mounted};
use crate::planted::plant;
use crate::scratch::Scratch;
use crate::{LARGE, NOR, SMALL, flash, make, options, run, tool};
use boardlab_image::files::Taking;
use boardlab_image::make::{
    FileOptions, Flash, Jffs2Options, Made, MakeError, NewTags, Pad, Placing, of_ini, place,
};
use boardlab_sim::Bytes;
use std::fs;
use std::process::Command;

fn placing(pad: Option<Pad>, bad_blocks: &[u32]) -> Placing {
    Placing { pad, bad_blocks: bad_blocks.to_vec() }
}

fn placed(made: Made, pad: Option<Pad>, bad_blocks: &[u32]) -> Made {
    place(made, &placing(pad, bad_blocks)).unwrap_or_else(|error| panic!("{error}"))
}

/// Which blocks have the mark of Linux.
fn marked(made: &Made) -> Vec<u32> {
    let shape = made.shape;
    let at = shape.page.to_usize() + if shape.page.get() > 512 { 0 } else { 5 };
    let blocks = (0..).zip(made.bytes.chunks(shape.raw_block().to_usize()));
    blocks.filter(|(_, block)| block[at] == 0).map(|(number, _)| number).collect()
}

#[test]
fn every_filesystem_is_read_again_around_bad_blocks() {
    let scratch = Scratch::new("bad");
    plant(&scratch.0, 4);
    let bad = [0, 1, 4];
    for (fs, flash) in [
        ("jffs2", LARGE),
        ("jffs2", SMALL),
        ("yaffs2", LARGE),
        ("yaffs2", SMALL),
        ("ubifs", LARGE),
        ("logfs", LARGE),
    ] {
        let options = FileOptions { placing: placing(None, &bad), ..options(fs) };
        let plain = make(&scratch.0, &flash, &crate::options(fs));
        let blocks = plain.bytes.len() / plain.shape.raw_block().to_usize();
        let made = make(&scratch.0, &flash, &options);
        assert!(made.left_out.is_empty(), "{:?}", made.left_out);
        assert_eq!((marked(&made), &made.bad_blocks[..]), (bad.to_vec(), &bad[..]), "{fs}");
        let grown = if fs == "logfs" { blocks } else { blocks + bad.len() };
        assert_eq!(made.bytes.len() / made.shape.raw_block().to_usize(), grown, "{fs}");
        let (mut mount, mut clock) = mounted(&made.bytes);
        let names = compare(&mut mount, &mut clock, &scratch.0, b"");
        assert!(names > 100, "{fs} {flash:?}");
    }
}

#[test]
fn blocks_go_on_in_the_next_good_one() {
    let scratch = Scratch::new("order");
    scratch.write("file", vec![7; 100_000]);
    let made = || make(&scratch.0, &SMALL, &options("yaffs2"));
    let whole = made().bytes;
    let around = placed(made(), None, &[1, 3, 4, 900]);
    assert_eq!((&around.bad_blocks[..], &around.beyond[..]), (&[1, 3, 4][..], &[900][..]));
    let blocks: Vec<&[u8]> = around.bytes.chunks(32 * 528).collect();
    let good = [0, 2].into_iter().chain(5..blocks.len()).flat_map(|at| blocks[at].to_vec());
    assert!(good.collect::<Vec<u8>>() == whole);
    let bad = blocks[1].iter().filter(|byte| **byte != 0xFF).count();
    assert_eq!((bad, blocks[1][512 + 5]), (1, 0));
}

#[test]
fn padding_is_erased_blocks_as_each_filesystem_leaves_them() {
    let scratch = Scratch::new("pad");
    plant(&scratch.0, 4);
    for (fs, flash) in
        [("jffs2", LARGE), ("jffs2", NOR), ("yaffs2", LARGE), ("ubifs", LARGE), ("ubifs", NOR)]
    {
        let made = || make(&scratch.0, &flash, &options(fs));
        let raw = made().shape.raw_block().to_usize();
        let (length, blocks) = (made().bytes.len(), made().bytes.len() / raw + 5);
        let padded = placed(made(), Some(Pad::Blocks(blocks as u64)), &[]);
        assert_eq!(padded.bytes.len(), blocks * raw, "{fs}");
        assert!(padded.bytes[..length] == made().bytes);
        // A part of a block counts as a whole one.
        let size = flash.block * (blocks as u64 - 1) + Bytes::new(1);
        assert!(placed(made(), Some(Pad::Bytes(size)), &[]).bytes == padded.bytes);
        let erased = &padded.bytes[length..length + raw];
        let programmed = erased.iter().filter(|byte| **byte != 0xFF).count();
        let expected = match (fs, flash.oob) {
            ("jffs2", Some(_)) => 8,
            ("jffs2", None) => 12,
            _ => 0,
        };
        assert_eq!(programmed, expected, "{fs}");
        let (mut mount, mut clock) = mounted(&padded.bytes);
        compare(&mut mount, &mut clock, &scratch.0, b"");
    }
}

#[test]
fn jffs2_is_padded_as_by_mkfs_jffs2() {
    let Some(mkfs) = tool("mkfs.jffs2") else { return };
    let scratch = Scratch::new("pad-mkfs");
    let tree = scratch.0.join("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), "x").unwrap();
    let target = scratch.0.join("image");
    let taking = Taking { squash: true, latest: Some(0), ..Taking::default() };
    for cleanmarkers in [true, false] {
        let mut command = Command::new(&mkfs);
        command.args(["--pad=100000", "-f", "-U", "-l", "-m", "none", "-e", "16384"]);
        command.args((!cleanmarkers).then_some("-n"));
        run(command.arg("-r").arg(&tree).arg("-o").arg(&target));
        let jffs2 = Jffs2Options { cleanmarkers, ..Jffs2Options::default() };
        let options = FileOptions { jffs2, taking, ..options("jffs2") };
        let made = make(&tree, &flash(1, 0, 16_384), &options);
        let mut ours = placed(made, Some(Pad::Bytes(Bytes::new(100_000))), &[]).bytes;
        assert_eq!(ours.len(), 7 * 16_384);
        let theirs = fs::read(&target).unwrap();
        // Without cleanmarkers mkfs.jffs2 stops in the middle of a block.
        ours.truncate(theirs.len());
        assert!(ours == theirs, "{cleanmarkers}: {} bytes", theirs.len());
    }
}

#[test]
fn bad_blocks_count_towards_the_padded_size() {
    let scratch = Scratch::new("both");
    scratch.write("file", "x");
    let made = make(&scratch.0, &LARGE, &options("jffs2"));
    let made = placed(made, Some(Pad::Blocks(6)), &[0, 3, 7]);
    assert_eq!((marked(&made), made.bytes.len()), (vec![0, 3], 6 * 64 * 2_112));
    let markers = made.bytes.chunks(64 * 2_112).map(|block| block[2_050]);
    assert_eq!(markers.collect::<Vec<_>>(), [0xFF, 0x85, 0x85, 0xFF, 0x85, 0x85]);
}

#[test]
fn an_image_of_an_ini_lies_around_bad_blocks_too() {
    let scratch = Scratch::new("ini-bad");
    let data = scratch.write("data", vec![3; 300_000]);
    let text =
        format!("[v]\nmode=ubi\nvol_id=0\nvol_name=v\nvol_type=static\nimage={}\n", data.display());
    let ini = scratch.write("ini", text);
    let made = of_ini(&ini, &LARGE, crate::SEED).unwrap();
    let length = made.bytes.len();
    let made = placed(made, Some(Pad::Blocks(12)), &[0, 2]);
    assert!(made.bytes.len() > length);
    assert_eq!(marked(&made), [0, 2]);
    let identity = boardlab_image::identify(&boardlab_image::Contents::of(made.bytes));
    assert_eq!(identity.main().confidence, boardlab_image::Confidence::Certain);
}

#[test]
fn what_cannot_be_placed_is_refused_with_the_reason() {
    let scratch = Scratch::new("refused");
    scratch.write("file", vec![7; 300_000]);
    let refused = |flash: &Flash, options: FileOptions, pad, bad: &[u32]| {
        let options = FileOptions { placing: placing(pad, bad), ..options };
        let made = crate::try_make(&scratch.0, flash, &options);
        let error = made.expect_err("it cannot be placed");
        (error.to_string(), error.help())
    };
    let bare = flash(2_048, 0, 131_072);
    for fs in ["jffs2", "ubifs"] {
        let (said, _) = refused(&bare, options(fs), None, &[3]);
        assert!(said.starts_with("--oob SIZE is missing: the mark of a bad block"), "{said}");
    }
    let in_band = FileOptions { tags: NewTags::InBand, ..options("yaffs2") };
    assert!(refused(&bare, in_band, None, &[3]).0.contains("--oob SIZE"));
    let start = FileOptions { tags: NewTags::Start, ..options("yaffs2") };
    let (said, help) = refused(&LARGE, start.clone(), None, &[3]);
    assert!(said.contains("--bad-blocks has no effect here: with --tags start"), "{said}");
    assert_eq!(help, "leave out --bad-blocks");
    let padded = crate::try_make(&scratch.0, &LARGE, &start).unwrap();
    assert_eq!(placed(padded, Some(Pad::Blocks(9)), &[]).bytes.len(), 9 * 64 * 2_112);
    let volume = FileOptions { volume: None, ..options("ubifs") };
    for (pad, bad) in [(Some(Pad::Blocks(90)), &[][..]), (None, &[1])] {
        assert!(refused(&bare, volume.clone(), pad, bad).0.contains("a volume alone"));
    }
    let (said, _) = refused(&LARGE, options("logfs"), Some(Pad::Blocks(90)), &[]);
    assert!(said.contains("its last superblock lies at the end"), "{said}");
    let (_, help) = refused(&LARGE, options("logfs"), None, &[64]);
    assert_eq!(help, "expected blocks of the flash, which --max-blocks gives 64");
    let (said, help) = refused(&LARGE, options("jffs2"), Some(Pad::Blocks(1)), &[0]);
    assert_eq!(said, "--pad 1blocks does not fit");
    assert!(help.contains("blocks or more, which the files take"), "{help}");
    let (said, help) =
        refused(&LARGE, options("jffs2"), Some(Pad::Bytes(Bytes::mib(17 << 10))), &[]);
    assert_eq!(
        (said.as_str(), help.as_str()),
        ("--pad 17GiB does not fit", "expected the size of a flash, up to 131072 blocks")
    );
    let all: Vec<u32> = (0..64).collect();
    let (said, _) = refused(&LARGE, options("logfs"), None, &all[..60]);
    assert_eq!(said, "good segments is 4, expected 28");
    let first = crate::try_make(&scratch.0, &LARGE, &options("jffs2"));
    let error = place(first.unwrap(), &placing(Some(Pad::Blocks(0)), &[])).unwrap_err();
    assert!(matches!(error, MakeError::Value { option: "--pad", .. }));
}
