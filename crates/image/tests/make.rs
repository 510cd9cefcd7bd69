//! New images, read again; held against the folders that they were made of, ubinize and mkfs.ubifs.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod folders;
mod planted;
mod scratch;

use boardlab_image::files::Taking;
use boardlab_image::make::report::report;
use boardlab_image::make::{
    Compression, FileOptions, Files, Flash, Made, MakeError, of_files, of_folder, of_ini,
};
use boardlab_image::{Contents, Damage, Hints, open};
use boardlab_sim::{Bytes, Seed};
use boardlab_vfs::FileSystem;
use boardlab_vfs::script::content;
use folders::{compare, mounted};
use planted::plant;
use scratch::Scratch;
use std::fs;
use std::path::Path;
use std::process::Command;

const SEED: Seed = Seed::new(1);

fn nand() -> Flash {
    let flash = Flash::of(Bytes::kib(2), Bytes::kib(128));
    Flash { sub_page: Some(Bytes::new(512)), image_seq: Some(7), ..flash }
}

fn options(compression: Compression) -> FileOptions {
    FileOptions {
        fs: "ubifs".into(),
        max_lebs: 400,
        compression: Some(compression),
        ..FileOptions::default()
    }
}

fn lzo() -> FileOptions {
    options(Compression::Lzo)
}

fn make(folder: &Path, flash: &Flash, options: &FileOptions) -> Made {
    of_folder(folder, flash, options, SEED).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_folder_is_read_again_from_images_for_every_flash_with_every_compression() {
    let scratch = Scratch::new("round");
    plant(&scratch.0, 1);
    let nor = Flash { page: Bytes::new(1), block: Bytes::kib(64), sub_page: None, ..nand() };
    let small = Flash { page: Bytes::new(512), block: Bytes::kib(16), sub_page: None, ..nand() };
    let shifted = Flash { vid_offset: Some(Bytes::kib(2)), sub_page: None, ..nand() };
    let spare = Flash { oob: Some(Bytes::new(64)), ..nand() };
    let strong = Flash { oob: Some(Bytes::new(128)), ecc: Some((8, Bytes::new(512))), ..nand() };
    let compressions = [
        Compression::None,
        Compression::Lzo,
        Compression::Zlib,
        Compression::Zstd,
        Compression::FavorLzo,
    ];
    let flashes = [nand(), nor, small, shifted, spare, strong];
    for (number, (flash, compression)) in
        flashes.iter().zip(compressions.iter().cycle()).enumerate()
    {
        let options =
            FileOptions { max_lebs: 900, fix_up: number % 2 == 0, ..options(*compression) };
        let made = make(&scratch.0, flash, &options);
        assert!(made.left_out.is_empty(), "{:?}", made.left_out);
        let (mut mount, mut clock) = mounted(&made.bytes);
        assert!(compare(&mut mount, &mut clock, &scratch.0, b"") > 100);
        if flash.oob.is_none() {
            let alone = make(&scratch.0, flash, &FileOptions { volume: None, ..options });
            let (mut mount, mut clock) = mounted(&alone.bytes);
            compare(&mut mount, &mut clock, &scratch.0, b"");
        }
    }
}

#[test]
fn the_same_folder_gives_the_same_bytes_and_the_seed_another_identity() {
    let scratch = Scratch::new("same");
    plant(&scratch.0, 2);
    let flash = Flash { image_seq: None, ..nand() };
    let image = make(&scratch.0, &flash, &lzo()).bytes;
    assert!(make(&scratch.0, &flash, &lzo()).bytes == image);
    let other = of_folder(&scratch.0, &flash, &lzo(), Seed::new(2)).unwrap().bytes;
    let differ = image.iter().zip(&other).filter(|(one, other)| one != other).count();
    // UUID and superblock's checksum; the number of the image and a checksum in each block.
    let blocks = image.len() / (128 << 10);
    assert!(differ > 4 * blocks && differ <= 24 + 8 * blocks, "{differ} in {blocks} blocks");
}

#[test]
fn owners_times_and_the_name_of_the_volume_are_those_asked_for() {
    let scratch = Scratch::new("taking");
    scratch.write("file", "x");
    let taking = Taking { squash: true, latest: Some(86_400), ..Taking::default() };
    let options = FileOptions { taking, volume: Some("data".into()), ..lzo() };
    let flash = Flash { erase_counter: 5, ..nand() };
    let made = make(&scratch.0, &flash, &options);
    let (mut mount, mut clock) = mounted(&made.bytes);
    for path in [&b"/"[..], b"/file"] {
        let stat = mount.lstat(&mut clock, path).unwrap();
        assert_eq!((stat.uid, stat.gid, stat.modified.seconds), (0, 0, 86_400));
    }
    let hints = Hints { volume: Some("data".into()), ..Hints::default() };
    assert!(open(&Contents::of(made.bytes.clone()), &hints).is_ok());
    assert_eq!(made.bytes[8..16], 5_u64.to_be_bytes());
    assert_eq!(made.bytes[24..28], 7_u32.to_be_bytes());
}

#[test]
fn extended_attributes_are_taken_and_what_ubifs_cannot_have_is_told() {
    use rustix::fs::{XattrFlags, lsetxattr};
    let scratch = Scratch::new("attributes");
    let path = scratch.write("file", "x");
    let set = |name: &str, value: &[u8]| lsetxattr(&path, name, value, XattrFlags::empty());
    if set("user.note", b"one").is_err() {
        eprintln!("skipped: needs a temporary folder with extended attributes");
        return;
    }
    // An access list: version 2, then owner, user 1, group, mask, others.
    let mut list = vec![2, 0, 0, 0];
    for (tag, bits, who) in [
        (1_u16, 6_u16, u32::MAX),
        (2, 4, 1),
        (4, 4, u32::MAX),
        (16, 6, u32::MAX),
        (32, 4, u32::MAX),
    ] {
        list.extend([tag.to_le_bytes(), bits.to_le_bytes()].concat());
        list.extend(who.to_le_bytes());
    }
    let has_list = set("system.posix_acl_access", &list).is_ok();
    let made = make(&scratch.0, &nand(), &lzo());
    let (mount, mut clock) = mounted(&made.bytes);
    let mut fs = mount.into_fs();
    let root = fs.root();
    let ino = fs.lookup(&mut clock, root, b"file").unwrap();
    assert_eq!(fs.getxattr(&mut clock, ino, b"user.note").unwrap(), b"one");
    assert_eq!(fs.listxattr(&mut clock, ino).unwrap().len(), 1);
    assert_eq!(made.left_out.len(), usize::from(has_list));
    let told = report("folder", "image", &made);
    assert_eq!(told.whole, !has_list);
    if has_list {
        let why = told.run.table("skipped").unwrap().rows[0].cells["why"].clone();
        assert!(format!("{why:?}").contains("system.posix_acl_access"), "{why:?}");
    }
}

#[test]
fn a_bit_that_flips_in_an_image_with_spare_bytes_is_corrected() {
    let scratch = Scratch::new("spare");
    plant(&scratch.0, 3);
    let flash = Flash { oob: Some(Bytes::new(64)), ..nand() };
    let mut bytes = make(&scratch.0, &flash, &lzo()).bytes;
    assert_eq!(bytes.len() % (2_112 * 64), 0);
    // In the third page of the block of the superblock.
    bytes[2 * 2_112 * 64 + 2 * 2_112 + 100] ^= 4;
    let mut image = open(&Contents::of(bytes), &Hints::default()).unwrap();
    let damage = Damage::of(&mut image).unwrap();
    assert_eq!((damage.corrected_bits, damage.uncorrectable_steps), (1, 0));
    assert!(damage.is_whole());
}

fn tool(name: &str) -> Option<String> {
    let found = ["/usr/sbin", "/sbin"].iter().map(|folder| format!("{folder}/{name}"));
    let found = found.into_iter().find(|path| Path::new(path).exists());
    if found.is_none() {
        eprintln!("skipped: needs {name}");
    }
    found
}

fn run(tool: &str, arguments: &[&str]) {
    let output = Command::new(tool).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_ini_gives_the_bytes_that_ubinize_makes_of_it() {
    let Some(ubinize) = tool("ubinize") else { return };
    let scratch = Scratch::new("ini");
    let (long, short) =
        (scratch.write("long", content(400_000, 1)), scratch.write("short", content(70_001, 2)));
    let (long, short) = (long.display(), short.display());
    let configurations = [
        format!("[a]\nmode=ubi\nimage={long}\nvol_id=0\nvol_name=a\nvol_type=dynamic\n"),
        format!(
            "; two\n[kernel]\nMODE = ubi\nimage = \"{short}\" # static\nvol_id=3\nvol_type=static\n\
             vol_name='the kernel'\nvol_flags=skip-check\n\n[rootfs]\nmode=ubi\nvol_id=0x1\n\
             vol_name=rootfs\nvol_size=2 MiB\nimage={long}\nvol_flags=autoresize\n"
        ),
        format!(
            "[b]\nmode=ubi\nvol_id=90\nvol_name=b\nvol_size=300KiB\n[a]\nmode=ubi\nvol_id=2\n\
             vol_name=a\nvol_alignment=4096\nimage={long}\nvol_size=1000000\n"
        ),
    ];
    let shifted = Flash { vid_offset: Some(Bytes::kib(2)), erase_counter: 9, ..nand() };
    let page = Flash { sub_page: None, image_seq: Some(0xFFFF_FFFE), ..nand() };
    let small = Flash { page: Bytes::new(512), block: Bytes::kib(16), ..nand() };
    let small = Flash { sub_page: Some(Bytes::new(256)), ..small };
    for (number, text) in configurations.iter().enumerate() {
        let ini = scratch.write("volumes.ini", text);
        for flash in [nand(), shifted, page, small] {
            let ours = of_ini(&ini, &flash, SEED).unwrap_or_else(|error| panic!("{error}")).bytes;
            let target = scratch.0.join("image");
            let size = |bytes: Bytes| bytes.get().to_string();
            let mut arguments = vec![
                "-o".to_owned(),
                target.display().to_string(),
                format!("-p{}", size(flash.block)),
                format!("-m{}", size(flash.page)),
                format!("-e{}", flash.erase_counter),
                format!("-Q{}", flash.image_seq.unwrap()),
            ];
            arguments.extend(flash.sub_page.map(|sub| format!("-s{}", size(sub))));
            arguments.extend(flash.vid_offset.map(|offset| format!("-O{}", size(offset))));
            arguments.push(ini.display().to_string());
            run(&ubinize, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(ours == fs::read(&target).unwrap(), "configuration {number}, {flash:?}");
        }
    }
}

#[test]
fn the_image_of_a_folder_is_what_ubinize_makes_of_its_volume() {
    let Some(ubinize) = tool("ubinize") else { return };
    let scratch = Scratch::new("wrapped");
    fs::create_dir(scratch.0.join("tree")).unwrap();
    let tree = scratch.0.join("tree");
    plant(&tree, 4);
    let made = make(&tree, &nand(), &lzo());
    let alone = make(&tree, &nand(), &FileOptions { volume: None, ..lzo() });
    let (volume, target) = (scratch.write("volume", &alone.bytes), scratch.0.join("image"));
    let size = made.volumes[0].new.size.get();
    let text = format!(
        "[v]\nmode=ubi\nvol_id=0\nvol_name=rootfs\nvol_size={size}\nvol_flags=autoresize\nimage={}\n",
        volume.display()
    );
    let ini = scratch.write("ini", text);
    let (target, ini) = (target.display().to_string(), ini.display().to_string());
    run(&ubinize, &["-o", &target, "-p131072", "-m2048", "-s512", "-Q7", &ini]);
    assert!(made.bytes == fs::read(&target).unwrap());
    assert!(of_ini(Path::new(&ini), &nand(), SEED).unwrap().bytes == made.bytes);
}

#[test]
fn an_image_is_as_small_as_that_of_mkfs_ubifs() {
    let Some(mkfs) = tool("mkfs.ubifs") else { return };
    let scratch = Scratch::new("size");
    let tree = scratch.0.join("tree");
    fs::create_dir(&tree).unwrap();
    for number in 0..400_u64 {
        let words = (number..number + 200).map(|word| format!("word {} ", word * word % 977));
        fs::write(tree.join(format!("text{number}")), words.collect::<String>().repeat(3)).unwrap();
        fs::write(tree.join(format!("data{number}")), content(9_000, number)).unwrap();
    }
    let target = scratch.0.join("image");
    let [root, image] = [&tree, &target].map(|path| path.display().to_string());
    for (name, compression) in [
        ("none", Compression::None),
        ("lzo", Compression::Lzo),
        ("zlib", Compression::Zlib),
        ("zstd", Compression::Zstd),
        ("favor_lzo", Compression::FavorLzo),
    ] {
        let small =
            Flash { page: Bytes::new(512), block: Bytes::kib(16), sub_page: None, ..nand() };
        let options = FileOptions { max_lebs: 1_000, volume: None, ..options(compression) };
        let ours = make(&tree, &small, &options).bytes.len();
        let layout = ["-m512", "-e15360", "-c1000", "-x", name, "-r", &root, &image];
        run(&mkfs, &layout);
        let theirs = fs::read(&target).unwrap().len();
        assert!(ours * 100 < theirs * 104, "{name}: {ours} bytes, {theirs} of mkfs.ubifs");
    }
}

fn refused(made: Result<Made, MakeError>) -> (String, String) {
    let error = made.unwrap_err();
    (error.to_string(), error.help())
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let scratch = Scratch::new("refused");
    scratch.write("file", content(3_000_000, 1));
    let of =
        |flash: Flash, options: FileOptions| refused(of_folder(&scratch.0, &flash, &options, SEED));
    let (said, help) = of(nand(), FileOptions { max_lebs: 20, ..lzo() });
    let needed: u32 = help.split(' ').nth(2).unwrap().parse().unwrap();
    assert!(said.contains(&format!("need {needed} logical erase blocks")), "{said}");
    assert!(
        of_folder(&scratch.0, &nand(), &FileOptions { max_lebs: needed, ..lzo() }, SEED).is_ok()
    );
    let less = FileOptions { max_lebs: needed - 1, ..lzo() };
    assert!(of_folder(&scratch.0, &nand(), &less, SEED).is_err());
    let (said, help) = of(nand(), FileOptions { fs: "cramfs".into(), ..lzo() });
    assert_eq!(
        (said.as_str(), help.as_str()),
        ("no image of `cramfs` can be made", "expected jffs2 or ubifs or yaffs2 or logfs")
    );
    let rtime = FileOptions { compression: Some(Compression::Rtime), ..lzo() };
    let (said, help) = of(nand(), rtime);
    assert_eq!(said, "--compression rtime does not fit");
    assert!(help.contains("favor-lzo, for UBIFS"), "{help}");
    for (flash, option) in [
        (Flash { page: Bytes::new(3_000), ..nand() }, "--page 3000B"),
        (Flash { page: Bytes::ZERO, ..nand() }, "--page"),
        (Flash { block: Bytes::kib(129), ..nand() }, "--block 129KiB"),
        (Flash { block: Bytes::ZERO, ..nand() }, "--block"),
        (Flash { sub_page: Some(Bytes::kib(4)), ..nand() }, "--sub-page 4KiB"),
        (Flash { sub_page: Some(Bytes::ZERO), ..nand() }, "--sub-page"),
        (Flash { vid_offset: Some(Bytes::new(8)), ..nand() }, "--vid-offset"),
        (Flash { vid_offset: Some(Bytes::kib(128)), ..nand() }, "--vid-offset"),
        (Flash { oob: Some(Bytes::ZERO), ..nand() }, "--oob 0"),
        (Flash { oob: Some(Bytes::new(16)), ..nand() }, "--ecc 1/256"),
    ] {
        let (said, help) = of(flash, lzo());
        assert!(said.starts_with(option) && help.starts_with("expected"), "{said}: {help}");
    }
    let tiny = Flash { block: Bytes::kib(16), ..nand() };
    assert!(of(tiny, lzo()).0.contains("the size of a LEB"));
    let (said, _) = refused(of_folder(&scratch.0.join("none"), &nand(), &lzo(), SEED));
    assert!(said.contains("no such file"), "{said}");
}

#[test]
fn a_wrong_ini_is_refused_with_the_place_and_what_would_fit() {
    let scratch = Scratch::new("wrong");
    let data = scratch.write("data", content(200_000, 1)).display().to_string();
    let empty = scratch.write("empty", "").display().to_string();
    let base = "[v]\nmode=ubi\nvol_name=v\n";
    for (text, place, says, help) in [
        (format!("{base}vol_id=0\n"), (1, 1), "[v] has no `image`", "add image=FILE"),
        (format!("{base}vol_size=1\n"), (1, 1), "[v] has no `vol_id`", "add vol_id="),
        ("[v]\nvol_id=0\n".into(), (1, 1), "[v] has no `mode`", "add mode=ubi"),
        ("[v]\nmode=jffs2\n".into(), (2, 6), "mode cannot be `jffs2`", "expected ubi"),
        (format!("{base}vol_id=128\n"), (4, 8), "vol_id cannot be `128`", "from 0 to 127"),
        (format!("{base}vol_id=0\nvol_type=fixed\n"), (5, 10), "`fixed`", "dynamic or static"),
        (format!("{base}vol_id=0\nvol_size=1MB\n"), (5, 10), "`1MB`", "16MiB"),
        (format!("{base}vol_id=0\nvol_type=static\nvol_size=1\n"), (1, 1), "no `image`", "image="),
        (format!("{base}vol_id=0\nimage={empty}\n"), (5, 7), "image cannot be", "with content"),
        (format!("{base}vol_id=0\nimage=/none\n"), (5, 7), "cannot read `/none`", "paths count"),
        (format!("{base}vol_id=0\nimage=/dev/zero\n"), (5, 7), "not a regular file", "paths count"),
        (
            format!("{base}vol_id=0\nimage={data}\nvol_size=1KiB\n"),
            (6, 10),
            "200000 bytes, the volume 1024",
            "vol_size=200000",
        ),
        (
            format!("{base}vol_id=0\nvol_size=9\nvol_flags=resize\n"),
            (6, 11),
            "resize",
            "autoresize",
        ),
        (
            format!("{base}vol_id=0\nvol_size=9\nvol_flags=skip-check\n"),
            (6, 11),
            "skip-check",
            "for static volumes",
        ),
        (
            format!("{base}vol_id=0\nvol_size=9\nvol_alignment=3\n"),
            (6, 15),
            "`3`",
            "multiple of 2048",
        ),
        (
            format!(
                "{base}vol_id=0\nvol_size=9\n[w]\nmode=ubi\nvol_id=0\nvol_name=w\nvol_size=9\n"
            ),
            (8, 8),
            "vol_id `0` is that of another volume, in line 4",
            "its own number",
        ),
        (format!("{base}vol_id=0\nvol_sise=9\n"), (5, 1), "unknown key `vol_sise`", "`vol_size`"),
        (format!("{base}colour=red\n"), (4, 1), "unknown key `colour`", "mode, image, vol_id"),
        (format!("[v]\nmode=ubi\nvol_id=1\nvol_name={}\n", "x".repeat(128)), (4, 10), "xxx", "127"),
    ] {
        let ini = scratch.write("ini", &text);
        let error = of_ini(&ini, &nand(), SEED).unwrap_err();
        let (said, hint) = (error.to_string(), error.help());
        assert!(said.contains(says) && hint.contains(help), "{text}: {said}; {hint}");
        assert_eq!(error.place(), Some(place), "{text}");
    }
    fs::create_dir(scratch.0.join("sub")).unwrap();
    let ini = scratch.write("sub/ini", format!("{base}vol_id=0\nimage=beside\n"));
    scratch.write("sub/beside", "x");
    assert!(of_ini(&ini, &nand(), SEED).unwrap_err().help().contains("run it beside the file"));
}

#[test]
fn another_filesystem_makes_images_with_an_entry_in_the_list() {
    use boardlab_image::fs::{ALL, FileSystemType};
    let scratch = Scratch::new("toy");
    scratch.write("file", "x");
    let toy = FileSystemType {
        name: "Toy",
        create: Some(|tree, volume| {
            let names: Vec<u8> = tree.nodes.iter().flat_map(|node| node.path.clone()).collect();
            assert_eq!(volume.leb_size, 129_024);
            let (leb_count, volume_lebs) = (1, 1);
            Ok(boardlab_image::make::NewFileSystem {
                bytes: names,
                leb_count,
                volume_lebs,
                ..Default::default()
            })
        }),
        create_dump: None,
        ..ALL[0]
    };
    let options = FileOptions { fs: "toy".into(), volume: None, ..lzo() };
    let made = of_files(Files::Folder(&scratch.0), &nand(), &options, (SEED, &[toy])).unwrap();
    assert_eq!(made.bytes, b"//file");
}
