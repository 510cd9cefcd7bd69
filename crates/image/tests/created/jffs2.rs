//! JFFS2 images of folders, read again.

use crate::folders::{compare, mounted};
use crate::planted::plant;
use crate::scratch::Scratch;
use crate::{LARGE, NOR, SMALL, flash, make, options, told, try_make};
use boardlab_image::check::check;
use boardlab_image::files::Taking;
use boardlab_image::make::report::report;
use boardlab_image::make::{Compression, FileOptions, Flash, Jffs2Options, MakeError, NewTags};
use boardlab_image::{ByteOrder, Contents, Hints, identify};
use boardlab_sim::Bytes;
use boardlab_vfs::{FileSystem, Kind};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;

/// An NOR, NAND with and without spare bytes, small and large pages, a strong code.
const FLASHES: [Flash; 6] = [
    NOR,
    SMALL,
    LARGE,
    flash(2_048, 0, 131_072),
    Flash { ecc: Some((8, Bytes::new(512))), ..flash(4_096, 224, 262_144) },
    flash(1, 0, 8_192),
];

const COMPRESSIONS: [Compression; 7] = [
    Compression::None,
    Compression::Priority,
    Compression::Size,
    Compression::Lzo,
    Compression::Zlib,
    Compression::Rtime,
    Compression::FavorLzo,
];

#[test]
fn a_folder_is_read_again_from_images_for_every_flash_with_every_compression() {
    for seed in 0..4 {
        let scratch = Scratch::new(&format!("jffs2-{seed}"));
        plant(&scratch.0, seed);
        let cases =
            FLASHES.iter().zip(COMPRESSIONS.iter().cycle().skip(usize::try_from(seed).unwrap()));
        for (number, (flash, compression)) in cases.enumerate() {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let jffs2 = Jffs2Options {
                    summary: number % 2 == usize::from(order == ByteOrder::Big),
                    cleanmarkers: (flash.page > Bytes::new(1) && flash.oob.is_none())
                        || (seed + u64::try_from(number).unwrap()) % 3 > 0,
                };
                let compression = Some(*compression);
                let options = FileOptions { compression, order, jffs2, ..options("jffs2") };
                let case = format!("{flash:?} {options:?}");
                let made = make(&scratch.0, flash, &options);
                assert!(made.left_out.is_empty(), "{:?}", made.left_out);
                let (mut mount, mut clock) = mounted(&made.bytes);
                assert!(compare(&mut mount, &mut clock, &scratch.0, b"") > 100, "{case}");
                let findings = check(&Contents::of(made.bytes.clone()), &Hints::default()).unwrap();
                assert!(findings.is_empty(), "{case}: {findings:?}");
                let again = make(&scratch.0, flash, &options);
                assert!(again.bytes == made.bytes, "{case}");
            }
        }
    }
}

#[test]
fn a_flash_is_recognised_by_its_cleanmarkers_or_summaries() {
    let scratch = Scratch::new("jffs2-shape");
    plant(&scratch.0, 9);
    for (flash, jffs2) in [
        (NOR, Jffs2Options::default()),
        (SMALL, Jffs2Options::default()),
        (LARGE, Jffs2Options::default()),
        (LARGE, Jffs2Options { summary: true, cleanmarkers: false }),
        (flash(4_096, 224, 262_144), Jffs2Options::default()),
    ] {
        let made = make(&scratch.0, &flash, &FileOptions { jffs2, ..options("jffs2") });
        let shape = identify(&Contents::of(made.bytes)).main().shape.unwrap();
        let oob = flash.oob.unwrap_or(Bytes::ZERO);
        assert_eq!((shape.page, shape.oob, shape.block), (flash.page, oob, flash.block));
    }
}

#[test]
fn the_cleanmarker_of_nand_is_in_the_free_spare_bytes_of_each_block() {
    let scratch = Scratch::new("jffs2-marker");
    scratch.write("file", vec![7; 300_000]);
    let none = FileOptions { compression: Some(Compression::None), ..options("jffs2") };
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let made = make(&scratch.0, &LARGE, &FileOptions { order, ..none.clone() });
        let marker: [u8; 8] = match order {
            ByteOrder::Little => [0x85, 0x19, 0x03, 0x20, 8, 0, 0, 0],
            ByteOrder::Big => [0x19, 0x85, 0x20, 0x03, 0, 0, 0, 8],
        };
        for (number, block) in made.bytes.chunks(64 * 2_112).enumerate() {
            for (page, bytes) in block.chunks(2_112).enumerate() {
                let has = bytes[2_050..2_058] == marker;
                assert_eq!(has, page == 0, "block {number}, page {page}");
            }
        }
    }
    let jffs2 = Jffs2Options { cleanmarkers: false, ..Jffs2Options::default() };
    let made = make(&scratch.0, &LARGE, &FileOptions { jffs2, ..none });
    assert!(made.bytes.chunks(2_112).all(|page| page[2_050..2_088] == [0xFF; 38]));
}

#[test]
fn times_of_folders_and_what_the_root_is_are_kept() {
    let scratch = Scratch::new("jffs2-times");
    fs::create_dir_all(scratch.0.join("a/b")).unwrap();
    fs::create_dir(scratch.0.join("empty")).unwrap();
    scratch.write("a/file", "x");
    let set = |name: &str, seconds: u64| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        File::open(scratch.0.join(name)).unwrap().set_modified(time).unwrap();
    };
    for (name, seconds) in [("a/file", 5_000), ("a/b", 6_000), ("a", 1_000), ("empty", 3), ("", 2)]
    {
        set(name, seconds);
    }
    fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o1711)).unwrap();
    let taking = Taking { squash: true, ..Taking::default() };
    let made = make(&scratch.0, &NOR, &FileOptions { taking, ..options("jffs2") });
    let modes: Vec<_> = ["/", "/a", "/a/b", "/a/file", "/empty"]
        .iter()
        .map(|path| told(&made.bytes, path))
        .map(|(_, mode, uid, _, time)| (mode, uid, time))
        .collect();
    let expected =
        [(0o1711, 0, 2), (0o755, 0, 1_000), (0o755, 0, 6_000), (0o644, 0, 5_000), (0o755, 0, 3)];
    assert_eq!(modes, expected);
}

#[test]
fn what_jffs2_has_no_place_for_is_left_out_and_told() {
    let scratch = Scratch::new("jffs2-limits");
    scratch.write(&"n".repeat(255), "x");
    scratch.write(&"n".repeat(254), "x");
    std::os::unix::fs::symlink("x".repeat(255), scratch.0.join("long")).unwrap();
    fs::create_dir_all(scratch.0.join("d".repeat(255)).join("in/side")).unwrap();
    File::create(scratch.0.join("large")).unwrap().set_len(0xFFFF_FFFF).unwrap();
    fs::hard_link(scratch.0.join("large"), scratch.0.join("larger")).unwrap();
    File::create(scratch.0.join("fits")).unwrap().set_len(0xFFFF_FFFE).unwrap();
    let early = File::create(scratch.0.join("early")).unwrap();
    early.set_modified(std::time::UNIX_EPOCH - std::time::Duration::from_secs(5)).unwrap();
    let made = make(&scratch.0, &NOR, &options("jffs2"));
    let mut why: Vec<_> = made.left_out.iter().map(|one| one.why.to_string()).collect();
    why.sort();
    assert_eq!(
        why,
        [
            "4294967295 bytes are more than a file can have",
            "its folder was left out",
            "its folder was left out",
            "its name of 255 bytes: there is room for 254",
            "its name of 255 bytes: there is room for 254",
            "its target of 255 bytes: there is room for 254",
            "its time, -5 seconds from 1970: times go from 1970 to 2106",
            "the first name of this file was left out",
        ]
    );
    assert_eq!(told(&made.bytes, "/early").4, 0);
    let (mut mount, mut clock) = mounted(&made.bytes);
    assert_eq!(mount.lstat(&mut clock, "/fits").unwrap().size, 0xFFFF_FFFE);
    assert_eq!(mount.readdir(&mut clock, "/").unwrap().len(), 3);
    let told = report("folder", "image", &made);
    assert!(!told.whole && told.run.table("skipped").unwrap().rows.len() == 8);
}

#[test]
fn extended_attributes_are_in_the_image_and_shared() {
    use rustix::fs::{XattrFlags, lsetxattr};
    let scratch = Scratch::new("jffs2-attributes");
    let paths = ["one", "two"].map(|name| scratch.write(name, "x"));
    let set = |number: usize, name: &str, value: &[u8]| {
        lsetxattr(&paths[number], name, value, XattrFlags::empty())
    };
    if set(0, "user.note", b"shared").is_err() {
        eprintln!("skipped: needs a temporary folder with extended attributes");
        return;
    }
    set(1, "user.note", b"shared").unwrap();
    set(1, "user.long", &[1; 300]).unwrap();
    for summary in [false, true] {
        let jffs2 = Jffs2Options { summary, ..Jffs2Options::default() };
        let options = FileOptions { jffs2, ..options("jffs2") };
        let made = make(&scratch.0, &NOR, &options);
        assert!(made.left_out.is_empty(), "{:?}", made.left_out);
        let shared = made.bytes.windows(6).filter(|bytes| bytes == b"shared").count();
        assert_eq!(shared, 1);
        let (mount, mut clock) = mounted(&made.bytes);
        let mut fs = mount.into_fs();
        let root = fs.root();
        for (name, count) in [(&b"one"[..], 1), (b"two", 2)] {
            let ino = fs.lookup(&mut clock, root, name).unwrap();
            assert_eq!(fs.getxattr(&mut clock, ino, b"user.note").unwrap(), b"shared");
            assert_eq!(fs.listxattr(&mut clock, ino).unwrap().len(), count);
        }
    }
}

#[test]
fn options_without_a_meaning_are_refused() {
    let scratch = Scratch::new("jffs2-useless");
    scratch.write("file", "x");
    let refused = |flash: Flash, options: FileOptions| match try_make(&scratch.0, &flash, &options)
    {
        Err(MakeError::Useless { option, .. } | MakeError::Value { option, .. }) => option,
        other => panic!("{other:?}"),
    };
    let plain = || options("jffs2");
    let unmarked = Jffs2Options { cleanmarkers: false, ..Jffs2Options::default() };
    let bare = flash(2_048, 0, 131_072);
    for (flash, options, option) in [
        (NOR, FileOptions { max_lebs: 9, ..plain() }, "--max-blocks"),
        (LARGE, FileOptions { tags: NewTags::Start, ..plain() }, "--tags"),
        (Flash { ecc: Some((4, Bytes::new(512))), ..bare }, plain(), "--ecc"),
        (bare, FileOptions { jffs2: unmarked, ..plain() }, "--no-cleanmarkers"),
        (NOR, FileOptions { compression: Some(Compression::Zstd), ..plain() }, "--compression"),
        (Flash { oob: Some(Bytes::new(16)), ..NOR }, plain(), "--oob"),
        (Flash { block: Bytes::new(3_000), ..NOR }, plain(), "--block"),
    ] {
        assert_eq!(refused(flash, options), option);
    }
}

#[test]
fn nobody_but_the_owner_may_write_where_modes_are_squashed() {
    let scratch = Scratch::new("jffs2-modes");
    let path = scratch.write("file", "x");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4777)).unwrap();
    std::os::unix::fs::symlink("file", scratch.0.join("link")).unwrap();
    let taking = Taking { squash_modes: true, ..Taking::default() };
    for fs in ["jffs2", "ubifs", "yaffs2", "logfs"] {
        let flash = if fs == "ubifs" { flash(2_048, 0, 131_072) } else { LARGE };
        let made = make(&scratch.0, &flash, &FileOptions { taking, ..options(fs) });
        assert_eq!(told(&made.bytes, "/file").1, 0o4755, "{fs}");
        let link = told(&made.bytes, "/link");
        assert_eq!((link.0, link.1), (Kind::Symlink, 0o777), "{fs}");
    }
}

#[test]
fn no_file_is_later_than_the_latest_time_in_any_filesystem() {
    let scratch = Scratch::new("latest");
    let early = scratch.write("early", "x");
    scratch.write("late", "x");
    fs::create_dir(scratch.0.join("dir")).unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000);
    File::open(early).unwrap().set_modified(time).unwrap();
    let taking = Taking { latest: Some(1_000_000), ..Taking::default() };
    for fs in ["jffs2", "ubifs", "yaffs2", "logfs"] {
        let options = FileOptions { taking, ..options(fs) };
        let first = make(&scratch.0, &LARGE, &options);
        for (path, seconds) in [("/early", 1_000), ("/late", 1_000_000), ("/dir", 1_000_000)] {
            assert_eq!(told(&first.bytes, path).4, seconds, "{fs} {path}");
        }
        // Another time that is later, too, gives the same image.
        let now = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
        for name in ["late", "dir", ""] {
            File::open(scratch.0.join(name)).unwrap().set_modified(now).unwrap();
        }
        assert!(make(&scratch.0, &LARGE, &options).bytes == first.bytes, "{fs}");
        let unlimited = FileOptions { taking: Taking::default(), ..options };
        assert!(make(&scratch.0, &LARGE, &unlimited).bytes != first.bytes, "{fs}");
    }
}
