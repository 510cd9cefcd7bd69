//! Images that mkfs.jffs2 and Linux wrote, opened as they are.
//!
//! `BOARDLAB_JFFS2_SAMPLES` names a folder of samples with manifests, as `oracles/` makes them; without
//! it the small one in the tree is read.
#![allow(clippy::unwrap_used, reason = "tests")]

mod damage;
mod forged_jffs2;
mod further;
mod hostile;

use boardlab_image::walk::Item;
use boardlab_image::{Contents, Error, Hints, MountedImage, Shape, Spare, Walk, identify, open};
use boardlab_sim::{Bytes, Seed};
use boardlab_vfs::{FileSystem, Kind, Mount, PAGE_SIZE};
use boardlab_workload::tree::manifest;
use std::path::{Path, PathBuf};

/// `mkfs.jffs2 --big-endian --eraseblock=8KiB` of mtd-utils 2.1.5, of 18 names.
const BOARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/board.jffs2");

/// Pages of half a KiB, as small NAND has them.
const SMALL: Shape = Shape::nand(Bytes::new(512), Bytes::new(16), Bytes::kib(8));
const LARGE: Shape = Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(8));

/// The image in the pages of a NAND, with the codes of Linux in its spare bytes.
fn with_oob(shape: Shape) -> Vec<u8> {
    let spare = Spare::linux(shape, 1, Bytes::new(256)).unwrap();
    let (page, block) = (shape.page.to_usize(), shape.block.to_usize());
    let mut data = std::fs::read(BOARD).unwrap();
    data.resize(data.len().next_multiple_of(block), 0xFF);
    let protected = |page: &[u8]| [page, &spare.protect(page, &[])].concat();
    data.chunks(page).flat_map(protected).collect()
}

fn items(opened: &mut MountedImage) -> Vec<Item> {
    let mut walk = Walk::new(b"/", opened.fs.root());
    std::iter::from_fn(|| walk.next(&mut opened.fs, &mut opened.clock)).collect()
}

fn told(contents: &Contents) -> String {
    let MountedImage { fs, mut clock, .. } = open(contents, &Hints::default()).unwrap();
    manifest(&mut Mount::new(fs), &mut clock).unwrap()
}

#[test]
fn an_image_of_mkfs_jffs2_is_read_without_being_told_anything() {
    let mut opened = open(&Contents::open(Path::new(BOARD)).unwrap(), &Hints::default()).unwrap();
    let items = items(&mut opened);
    assert_eq!(items.len(), 18);
    assert!(items.iter().any(|item| item.path == b"/etc/init.d/S40network"), "{items:?}");
    assert!(items.iter().all(|item| item.problem.is_none()), "{items:?}");
    let root = opened.fs.root();
    let etc = opened.fs.lookup(&mut opened.clock, root, b"etc").unwrap();
    let motd = opened.fs.lookup(&mut opened.clock, etc, b"motd").unwrap();
    let mut page = vec![0; PAGE_SIZE];
    opened.fs.read_page(&mut opened.clock, motd, 0, &mut page).unwrap();
    assert!(page.starts_with(b"Welcome to the board.\n\0"));
    assert_eq!(opened.fs.getattr(&mut opened.clock, etc).unwrap().kind, Kind::Directory);
}

#[test]
fn the_same_image_in_a_dump_with_spare_bytes_is_the_same_tree() {
    let plain = told(&Contents::open(Path::new(BOARD)).unwrap());
    for shape in [SMALL, LARGE] {
        let contents = Contents::of(with_oob(shape));
        assert_eq!(identify(&contents).main().shape, Some(shape));
        assert_eq!(told(&contents), plain);
    }
}

#[test]
fn wrong_bits_are_corrected_before_the_files_are_read() {
    let plain = told(&Contents::open(Path::new(BOARD)).unwrap());
    let mut bytes = with_oob(LARGE);
    // One in every 256 bytes that the correction is over, in most pages: too many for the checksums.
    for page in bytes.chunks_mut(LARGE.raw_page().to_usize()).take(4) {
        for (number, step) in page[..2_048].chunks_mut(256).enumerate() {
            step[number * 31 % 256] ^= 1 << (number % 8);
        }
    }
    let damaged = Contents::of(bytes);
    let hints = Hints { page: Some(LARGE.page), oob: Some(LARGE.oob), ..Hints::default() };
    let MountedImage { fs, mut clock, .. } = open(&damaged, &hints).unwrap();
    assert_eq!(manifest(&mut Mount::new(fs), &mut clock).unwrap(), plain);
}

#[test]
fn every_wrong_shape_is_refused_in_one_message_with_the_right_one() {
    let contents = Contents::of(with_oob(LARGE));
    for (page, oob) in [(512, 16), (2_048, 0), (2_048, 128), (4_096, 128), (4_096, 224), (256, 8)] {
        let (page, oob) = (Some(Bytes::new(page)), Some(Bytes::new(oob)));
        let error = open(&contents, &Hints { page, oob, ..Hints::default() }).unwrap_err();
        assert!(matches!(error, Error::WrongPages { .. }), "{error}");
        assert!(error.help().ends_with("give --page 2KiB --oob 64"), "{}", error.help());
    }
    for block in [4, 16, 64, 1_024].map(|kib| Some(Bytes::kib(kib))) {
        let error = open(&contents, &Hints { block, ..Hints::default() }).unwrap_err();
        assert!(matches!(error, Error::WrongBlock { .. }), "{error}");
        assert!(error.help().ends_with("give --block 8KiB"), "{}", error.help());
    }
}

#[test]
fn a_truncated_image_gives_what_there_is_when_that_is_wanted() {
    let mut bytes = std::fs::read(BOARD).unwrap();
    bytes.truncate(bytes.len() - 9);
    let contents = Contents::of(bytes);
    let refused = open(&contents, &Hints::default()).unwrap_err();
    assert!(matches!(refused, Error::Truncated { .. }), "{refused}");
    let partial = Hints { partial: true, ..Hints::default() };
    let mut opened = open(&contents, &partial).unwrap();
    let items = items(&mut opened);
    let damaged = items.iter().filter(|item| item.problem.is_some()).count();
    assert_eq!((items.len(), damaged), (18, 1), "{items:?}");
}

#[test]
fn a_damaged_image_is_read_or_refused_and_nothing_else() {
    let whole = [std::fs::read(BOARD).unwrap(), with_oob(SMALL), with_oob(LARGE)];
    let mut noise = Seed::new(1).stream("image.damage");
    let (mut opened, mut refused) = (0, 0);
    for number in 0..600 {
        let mut bytes = whole[number % 3].clone();
        for _ in 0..noise.below(40) {
            let at = usize::try_from(noise.below(bytes.len() as u64)).unwrap();
            bytes[at] = noise.below(256).to_le_bytes()[0];
        }
        if noise.below(4) == 0 {
            bytes.truncate(usize::try_from(noise.below(bytes.len() as u64)).unwrap());
        }
        let partial = number % 2 == 0;
        match open(&Contents::of(bytes), &Hints { partial, ..Hints::default() }) {
            Ok(mut image) => {
                opened += 1;
                for item in items(&mut image) {
                    // Any answer is one.
                    let _ = image.fs.read_page(&mut image.clock, item.ino, 0, &mut [0; PAGE_SIZE]);
                }
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty() && !error.help().is_empty());
            }
        }
    }
    assert!(opened > 200 && refused > 20, "{opened} opened, {refused} refused");
}

#[test]
fn samples_of_linux_and_mkfs_jffs2_are_what_their_manifests_say() {
    let Some(folder) = std::env::var_os("BOARDLAB_JFFS2_SAMPLES") else {
        eprintln!("skipped: needs BOARDLAB_JFFS2_SAMPLES");
        return;
    };
    let images = images_in(Path::new(&folder));
    assert!(images.len() >= 20, "{images:?}");
    for (image, expected) in images {
        let expected = std::fs::read_to_string(expected).unwrap();
        let found = told(&Contents::open(&image).unwrap());
        let name = image.display();
        assert_eq!(found.lines().count(), expected.lines().count(), "{name}");
        let made = image.extension().is_some_and(|kind| kind == "img");
        for (found, said) in found.lines().zip(expected.lines()) {
            match made {
                true => assert_eq!(as_mkfs_has_it(found), as_mkfs_has_it(said), "{name}"),
                false => assert_eq!(found, said, "{name}"),
            }
        }
    }
}

/// A line of a manifest without what mkfs.jffs2 changes: the folder that the tree lay in, the times of
/// directories, device numbers of more than two bytes, and attributes that it was not told to take.
fn as_mkfs_has_it(line: &str) -> String {
    let mut fields: Vec<&str> = line.split(' ').collect();
    match (fields[0], fields[1]) {
        (".", _) => return String::new(),
        (_, "d") => fields[7] = "",
        _ => {}
    }
    fields[10] = "";
    fields.join(" ").replace(" 300:70000 ", " 61:112 ")
}

/// Images with their manifests: `kernel/NAME.oob` with `NAME.manifest`, `mkfs/TREE-KIND.img` with
/// `TREE.manifest`.
fn images_in(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut images = Vec::new();
    for part in ["kernel", "mkfs"] {
        for entry in std::fs::read_dir(folder.join(part)).unwrap() {
            let image = entry.unwrap().path();
            let name = image.file_stem().unwrap().to_str().unwrap();
            let tree = if part == "mkfs" { name.split('-').next().unwrap() } else { name };
            let said = image.with_file_name(format!("{tree}.manifest"));
            if image.extension().is_some_and(|kind| kind != "manifest") && said.exists() {
                images.push((image, said));
            }
        }
    }
    images.sort();
    images
}
