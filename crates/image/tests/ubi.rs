//! UBI and UBIFS images that Linux, mkfs.ubifs and ubinize wrote, opened as they are.
//!
//! `BOARDLAB_UBI_SAMPLES` names a folder of flashes of Linux (`X.oob`, `X.bin`) with what Linux found in
//! them (`X.manifest`); without it the small ones in the tree are read.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod causes;
mod changes;
mod made;
mod older;
mod ubi_images;
mod volumes;

use boardlab_image::check::check;
use boardlab_image::fs::ALL;
use boardlab_image::{
    Beside, Contents, Damage, Error, Hints, Kind, Limits, MountedImage, PendingDamage, Shape, Walk,
    carve, extract, identify, open, tables,
};
use boardlab_sim::Bytes;
use boardlab_vfs::FileSystem;
use boardlab_vfs::Mount;
use boardlab_workload::tree::manifest;
use std::path::Path;
use ubi_images::{linux, single, two};

fn told(contents: &Contents) -> String {
    let MountedImage { fs, mut clock, .. } = match open(contents, &Hints::default()) {
        Ok(image) => image,
        Err(problem) => return format!("{problem}\n"),
    };
    manifest(&mut Mount::new(fs), &mut clock).unwrap()
}

#[test]
fn flashes_of_linux_hold_what_linux_found() {
    let Some(folder) = std::env::var_os("BOARDLAB_UBI_SAMPLES") else {
        eprintln!("skipped: needs BOARDLAB_UBI_SAMPLES");
        return;
    };
    let mut problems = Vec::new();
    let mut files: Vec<_> =
        std::fs::read_dir(Path::new(&folder)).unwrap().map(|one| one.unwrap().path()).collect();
    files.sort();
    for file in files {
        let Ok(expected) = std::fs::read_to_string(file.with_extension("manifest")) else {
            continue;
        };
        if file.extension().is_some_and(|ending| ending == "manifest") {
            continue;
        }
        let found = told(&Contents::open(&file).unwrap());
        if found != expected {
            let line =
                found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
            problems.push(format!("{}: {line:?}", file.display()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// An image of mkfs.jffs2.
const BOARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/board.jffs2");

fn paths(bytes: &[u8], hints: &Hints) -> Result<Vec<String>, Error> {
    let mut image = open(&Contents::of(bytes.to_vec()), hints)?;
    let mut walk = Walk::new(b"/", image.fs.root());
    let items = std::iter::from_fn(|| walk.next(&mut image.fs, &mut image.clock));
    Ok(items.map(|item| String::from_utf8_lossy(&item.path).into_owned()).collect())
}

fn named(name: &str) -> Hints {
    Hints { volume: Some(name.into()), ..Hints::default() }
}

const NAMES: [&str; 8] = [
    "/",
    "/binary",
    "/etc",
    "/etc/init.d",
    "/etc/init.d/S40network",
    "/etc/link",
    "/etc/motd",
    "/etc/text",
];

#[test]
fn an_image_of_mkfs_ubifs_is_read_without_being_told_anything() {
    let mut found = paths(&single(), &Hints::default()).unwrap();
    found.sort();
    assert_eq!(found, NAMES);
    let mut image = open(&Contents::of(single()), &Hints::default()).unwrap();
    let damage = Damage::of(&mut image).unwrap();
    assert!(damage.is_whole() && damage.audit.nodes > 10, "{damage:?}");
}

#[test]
fn a_flash_of_linux_with_spare_bytes_holds_what_linux_found() {
    let expected = include_str!("data/linux-512.manifest");
    assert_eq!(told(&Contents::of(linux())), expected);
    let identity = identify(&Contents::of(linux()));
    let shape = Shape::nand(Bytes::new(512), Bytes::new(16), Bytes::kib(16));
    assert_eq!((identity.main().kind, identity.main().shape), (Kind::Ubi, Some(shape)));
}

#[test]
fn of_several_volumes_the_named_one_is_read() {
    let refused = paths(&two(), &Hints::default()).unwrap_err();
    let text = "the UBI image has not one UBIFS volume, but these: rootfs (UBIFS), data (UBIFS), \
                kernel (ELF program)";
    assert_eq!(refused.to_string(), text);
    assert_eq!(refused.help(), "give --volume with one of: rootfs, data");
    let mut found = paths(&two(), &named("rootfs")).unwrap();
    found.sort();
    assert_eq!(found, NAMES);
    assert_eq!(paths(&two(), &named("1")).unwrap().len(), 6);
    let refused = paths(&two(), &named("kernel")).unwrap_err();
    let text = "the volume `kernel` holds no UBIFS (ELF program), but these: ";
    assert!(refused.to_string().starts_with(text), "{refused}");
    assert!(refused.help().ends_with("extract IMAGE kernel.bin --volume kernel --raw"));
    let refused = paths(&two(), &named("none")).unwrap_err();
    assert!(
        refused.to_string().starts_with("no volume is called `none`, but these: "),
        "{refused}"
    );
}

#[test]
fn an_image_that_is_not_searched_is_the_one_that_a_search_finds() {
    let whole = two();
    let block = whole[1..].windows(4).position(|bytes| bytes == b"UBI#").unwrap() + 1;
    let erased = |blocks: &[usize]| {
        let mut bytes = whole.clone();
        blocks.iter().for_each(|at| bytes[at * block..(at + 1) * block].fill(0xFF));
        bytes
    };
    let with = |more: &[u8]| [&whole[..], more].concat();
    // Whole, and with OOB bytes, each is covered by the blocks that a search finds.
    for bytes in [whole.clone(), linux()] {
        let contents = Contents::of(bytes);
        let covered = ALL.iter().find_map(|one| (one.search)().covers(&contents)).unwrap();
        assert_eq!(Some(covered.shape()), identify(&contents).main().shape);
    }
    // A copy of the volume table is erased, or the file goes on behind the last block.
    for bytes in [erased(&[0]), erased(&[1]), with(&vec![0xFF; block]), with(&[0xFF; 4_096])] {
        let hints = Hints { partial: true, ..named("rootfs") };
        let mut found = paths(&bytes, &hints).unwrap();
        found.sort();
        assert_eq!(found, NAMES);
    }
}

#[test]
fn a_flash_of_another_shape_is_refused() {
    let hints = Hints { page: Some(Bytes::kib(2)), ..Hints::default() };
    let refused = paths(&linux(), &hints).unwrap_err();
    assert!(matches!(refused, Error::WrongShape { .. }), "{refused}");
}

#[test]
fn a_damaged_node_is_told_with_its_file() {
    let whole = single();
    // The content of the last data node.
    let magic = 0x0610_1831_u32.to_le_bytes();
    let is_data = |&at: &usize| whole[at..].starts_with(&magic) && whole[at + 20] == 1;
    let at = (0..whole.len() - 24).step_by(8).rfind(is_data).unwrap();
    let mut bytes = whole.clone();
    bytes[at + 60] ^= 1;
    let mut image = open(&Contents::of(bytes), &Hints::default()).unwrap();
    let damage = Damage::of(&mut image).unwrap();
    assert!(!damage.is_whole());
    assert_eq!((damage.audit.damaged, damage.audit.inode_damage.len()), (1, 1));
    assert_eq!(damage.audit.places[0].at, Some(Bytes::new(at as u64)));
}

#[test]
fn an_audit_beside_an_extraction_reports_what_one_before_it_does() {
    let whole = single();
    let magic = 0x0610_1831_u32.to_le_bytes();
    let nodes = (0..whole.len() - 24).step_by(8).filter(|at| whole[*at..].starts_with(&magic));
    // The first inode behind the superblock, the first of the data, names and indexing nodes.
    let first = |kind| nodes.clone().find(|at| *at > 0x1_000 && whole[at + 20] == kind).unwrap();
    for at in [0, 1, 2, 9].map(first) {
        let mut bytes = whole.clone();
        bytes[at + 40] ^= 1;
        let contents = Contents::of(bytes);
        let hints = Hints { partial: true, ..Hints::default() };
        let target = std::env::temp_dir().join(format!("boardlab-beside-{}", std::process::id()));
        let extracted = |beside: bool| {
            let mut image = open(&contents, &hints).ok()?;
            let threads = match beside {
                true => Beside::of(&mut image).unwrap(),
                false => Damage::of(&mut image).unwrap().into(),
            };
            let are_two = matches!(threads.damage, PendingDamage::Audit(_));
            assert_eq!((are_two, threads.reader.is_some()), (beside, beside));
            let MountedImage { fs, clock, .. } = &mut image;
            let done = extract(fs, clock, b"/", &target, threads, Limits::default()).unwrap();
            std::fs::remove_dir_all(&target).unwrap();
            Some(format!("{:?}", tables::extracted("x", "out", &done)))
        };
        let before = extracted(false);
        assert_eq!(extracted(true), before, "a node at {at}");
        assert!(before.is_some_and(|told| told.contains("whole: false")), "a node at {at}");
    }
}

/// Reads everything that can be read.
fn exercise(bytes: Vec<u8>, volume: &str) {
    let contents = Contents::of(bytes);
    drop(identify(&contents));
    drop(check(&contents, &Hints::default()));
    for partial in [false, true] {
        let hints = Hints { partial, ..named(volume) };
        let hints = if volume.is_empty() { Hints { volume: None, ..hints } } else { hints };
        drop(carve(&contents, &hints, Bytes::mib(2), &mut std::io::sink()));
        for number in 0..2 {
            let commit = Hints { commit: Some(number), ..hints.clone() };
            let Ok(mut image) = open(&contents, &commit) else { continue };
            drop(Damage::of(&mut image));
            drop(manifest(&mut Mount::new(image.fs), &mut image.clock));
        }
        drop(tables::info("x", &contents, &identify(&contents), &hints, None));
        let Ok(mut image) = open(&contents, &hints) else { continue };
        drop(Damage::of(&mut image));
        let MountedImage { fs, mut clock, .. } = image;
        drop(manifest(&mut Mount::new(fs), &mut clock));
    }
}

#[test]
fn truncated_images_are_refused_or_survived() {
    for (whole, volume) in [(single(), ""), (two(), "rootfs")] {
        let near = [0, 1, 63, 64, 511, 512, 4_095, 4_096, 15_872, 16_383, 16_384, 16_385, 32_768];
        for length in near.into_iter().chain((40_000..whole.len()).step_by(21_013)) {
            exercise(whole[..length].to_vec(), volume);
        }
    }
    let refused = paths(&single()[..100_000], &Hints::default()).unwrap_err();
    assert!(matches!(refused, Error::Truncated { .. }), "{refused}");
}

#[test]
fn changed_bytes_are_refused_or_survived() {
    for (whole, volume) in [(single(), ""), (two(), "rootfs")] {
        let used: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] != 0xFF).collect();
        for &at in used.iter().step_by(397) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            exercise(bytes, volume);
        }
    }
}
