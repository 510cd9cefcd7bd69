//! JFFS2 images byte for byte as mkfs.jffs2 and sumtool of mtd-utils make them, and read by jffs2reader.

use crate::folders::{compare, mounted};
use crate::planted::plant;
use crate::scratch::Scratch;
use crate::{flash, make, options, run, tool};
use boardlab_image::ByteOrder;
use boardlab_image::files::Taking;
use boardlab_image::make::{Compression, FileOptions, Jffs2Options};
use boardlab_jffs2::format::{Header, NodeType, SummaryView, Trailer};
use boardlab_jffs2::summary_builder::SummaryBuilder;
use boardlab_sim::Bytes;
use boardlab_vfs::script::content;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What both are asked for: all times 1970, and everything root's.
fn taking() -> Taking {
    Taking { squash: true, squash_modes: true, latest: Some(0) }
}

/// Files of many lengths, without a block of zeros, and links of both kinds, at every depth.
fn plant_dense(folder: &Path, lengths: &[usize]) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let mut parent = folder.to_path_buf();
    for (number, length) in (0..).zip(lengths) {
        if number % 7 == 3 {
            parent.push(format!("folder{number}"));
            fs::create_dir(&parent).unwrap();
            fs::create_dir(folder.join(format!("empty{number}"))).unwrap();
        }
        if number % 13 == 12 {
            parent = folder.to_path_buf();
        }
        let mut bytes = content(*length, number);
        bytes.iter_mut().step_by(1_000).for_each(|byte| *byte |= 1);
        fs::write(parent.join(format!("file{number}")), bytes).unwrap();
        symlink(format!("to/file{number}"), parent.join(format!("link{number}"))).unwrap();
        if number % 5 == 4 {
            // Before and behind its first name in the order of mkfs.jffs2.
            let first = parent.join(format!("file{number}"));
            fs::hard_link(&first, folder.join(format!("again{number}"))).unwrap();
            fs::hard_link(&first, parent.join(format!("zz{number}"))).unwrap();
        }
        if number % 11 == 0 {
            run(Command::new("mkfifo").arg(parent.join(format!("pipe{number}"))));
        }
    }
}

/// What mkfs.jffs2 makes of the folder.
fn theirs(folder: &Path, target: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let mkfs = tool("mkfs.jffs2")?;
    let mut command = Command::new(mkfs);
    command.args(["--pad", "--faketime", "--squash"]).args(arguments);
    run(command.arg("--root").arg(folder).arg("--output").arg(target));
    Some(fs::read(target).unwrap())
}

const ORDERS: [(ByteOrder, &str); 2] =
    [(ByteOrder::Little, "--little-endian"), (ByteOrder::Big, "--big-endian")];

fn first_difference(one: &[u8], other: &[u8]) -> String {
    let at = one.iter().zip(other).position(|(one, other)| one != other);
    format!("lengths {} and {}, first difference at {at:?}", one.len(), other.len())
}

#[test]
fn an_image_is_byte_for_byte_that_of_mkfs_jffs2() {
    let scratch = Scratch::new("mkfs");
    let (tree, target) = (scratch.0.join("tree"), scratch.0.join("image"));
    fs::create_dir(&tree).unwrap();
    plant_dense(&tree, &(0..60).map(|number| number * number * 11 % 9_500).collect::<Vec<_>>());
    for (compression, arguments) in [
        (Compression::None, &["-m", "none"][..]),
        (Compression::Rtime, &["-x", "zlib"]),
        (Compression::Zlib, &["-x", "rtime"]),
        (Compression::Priority, &[]),
        (Compression::Size, &["-m", "size"]),
    ] {
        for block in [8_192, 16_384, 65_536, 131_072] {
            for (order, word) in ORDERS {
                for cleanmarkers in [true, false] {
                    let size = format!("--eraseblock={block}");
                    let mut arguments = [arguments, &[word, &size]].concat();
                    arguments.extend((!cleanmarkers).then_some("--no-cleanmarkers"));
                    let Some(theirs) = theirs(&tree, &target, &arguments) else { return };
                    let jffs2 = Jffs2Options { cleanmarkers, summary: false };
                    let compression = Some(compression);
                    let (taking, options) = (taking(), options("jffs2"));
                    let options = FileOptions { compression, order, jffs2, taking, ..options };
                    let ours = make(&tree, &flash(1, 0, block), &options).bytes;
                    let told = first_difference(&ours, &theirs);
                    assert!(ours == theirs, "{arguments:?}: {told}");
                }
            }
        }
    }
}

#[test]
fn an_image_for_nand_is_that_of_mkfs_jffs2_without_cleanmarkers() {
    let scratch = Scratch::new("mkfs-nand");
    let (tree, target) = (scratch.0.join("tree"), scratch.0.join("image"));
    fs::create_dir(&tree).unwrap();
    plant_dense(&tree, &[9_000, 80_000, 1, 0, 300_000]);
    let arguments = ["-m", "none", "-n", "-l", "-e", "131072"];
    let Some(theirs) = theirs(&tree, &target, &arguments) else { return };
    let none = Some(Compression::None);
    let options = FileOptions { compression: none, taking: taking(), ..options("jffs2") };
    assert!(make(&tree, &flash(2_048, 0, 131_072), &options).bytes == theirs);
    let raw = make(&tree, &flash(2_048, 64, 131_072), &options).bytes;
    let data: Vec<u8> = raw.chunks(2_112).flat_map(|page| page[..2_048].to_vec()).collect();
    assert!(data == theirs);
}

#[test]
fn a_table_of_devices_gives_what_mkfs_jffs2_makes_of_it() {
    let scratch = Scratch::new("mkfs-table");
    let (tree, target) = (scratch.0.join("tree"), scratch.0.join("image"));
    fs::create_dir(&tree).unwrap();
    plant_dense(&tree, &[900, 1, 0, 30, 70_000]);
    let table = "# name type mode uid gid major minor start inc count\n\
        /dev d 755 0 0 - - - - -\n/dev/console c 600 0 5 5 1 - - -\n\
        /dev/mtdblock b 640 0 6 31 0 0 1 8\n\n  /dev/tty c 666 7 8 4 64 0 2 3\n\
        /dev/pipe p 610 0 0 - - - - -\n/file1 f 4751 3 4 - - - - -\n\
        /empty3 d 1777 0 0 - - - - -\n/file0 f 444 9 9\n";
    let table = scratch.write("table", table);
    // The modes are those of the table, also with --squash: both squash only what is in the folder.
    let taking = Taking { squash_modes: false, ..taking() };
    let Some(mkfs) = tool("mkfs.jffs2") else { return };
    let mut command = Command::new(mkfs);
    command.args(["-p", "-f", "-m", "none", "-n", "-l", "-e", "16384", "-U", "-D"]).arg(&table);
    run(command.arg("-r").arg(&tree).arg("-o").arg(&target));
    let theirs = fs::read(&target).unwrap();
    let options = FileOptions {
        compression: Some(Compression::None),
        devices: Some(table),
        taking,
        ..options("jffs2")
    };
    let ours = make(&tree, &flash(2_048, 0, 16_384), &options).bytes;
    assert!(ours == theirs, "{}", first_difference(&ours, &theirs));
}

#[test]
fn extended_attributes_and_access_lists_are_those_of_mkfs_jffs2() {
    use rustix::fs::{XattrFlags, lsetxattr};
    let scratch = Scratch::new("mkfs-attributes");
    let (tree, target) = (scratch.0.join("tree"), scratch.0.join("image"));
    fs::create_dir(&tree).unwrap();
    fs::set_permissions(&tree, fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(tree.join(name), name).unwrap();
    }
    let set = |name: &str, attribute: &str, value: &[u8]| {
        lsetxattr(tree.join(name), attribute, value, XattrFlags::empty())
    };
    if set("a", "user.note", b"shared").is_err() {
        eprintln!("skipped: needs a temporary folder with extended attributes");
        return;
    }
    set("b", "user.note", b"shared").unwrap();
    // An access list: version 2, then owner, user 1, group, mask, others.
    let mut list = vec![2, 0, 0, 0];
    for (tag, who) in [(1_u16, u32::MAX), (2, 1), (4, u32::MAX), (16, u32::MAX), (32, u32::MAX)] {
        list.extend([tag.to_le_bytes(), 4_u16.to_le_bytes()].concat());
        list.extend(who.to_le_bytes());
    }
    // Some filesystems have none.
    let _ = set("c", "system.posix_acl_access", &list);
    for (order, word) in ORDERS {
        let arguments = ["--with-xattr", word, "-m", "none", "-e", "16384"];
        let Some(theirs) = theirs(&tree, &target, &arguments) else { return };
        let compression = Some(Compression::None);
        let options = FileOptions { compression, order, taking: taking(), ..options("jffs2") };
        let made = make(&tree, &flash(1, 0, 16_384), &options);
        assert!(made.left_out.is_empty(), "{:?}", made.left_out);
        assert!(made.bytes == theirs, "{}", first_difference(&made.bytes, &theirs));
    }
}

/// The nodes of an image but cleanmarkers, padding and summaries, one after the other.
fn nodes(image: &[u8], order: ByteOrder) -> Vec<u8> {
    let mut nodes = Vec::new();
    let mut at = 0;
    while at + 12 <= image.len() {
        let Ok(header) = Header::parse(&image[at..], order) else {
            at += 4;
            continue;
        };
        let end = at + usize::try_from(header.length.next_multiple_of(4)).unwrap();
        if !matches!(header.node_type, NodeType::Cleanmarker | NodeType::Summary) {
            nodes.extend_from_slice(&image[at..end]);
        }
        at = end;
    }
    nodes
}

#[test]
fn nodes_and_summaries_are_those_of_sumtool() {
    let Some(sumtool) = tool("sumtool") else { return };
    let scratch = Scratch::new("sumtool");
    let (tree, target) = (scratch.0.join("tree"), scratch.0.join("image"));
    fs::create_dir(&tree).unwrap();
    // So short that no file is split at the end of a block, and so many that summaries matter.
    plant_dense(&tree, &(0..400).map(|number| number * 7 % 129).collect::<Vec<_>>());
    for block in [8_192, 16_384, 65_536] {
        for (order, word) in ORDERS {
            for cleanmarkers in [true, false] {
                let size = format!("--eraseblock={block}");
                let mut arguments = vec![word, &size, "-m", "none"];
                arguments.extend((!cleanmarkers).then_some("--no-cleanmarkers"));
                let Some(_) = theirs(&tree, &target, &arguments) else { return };
                let summed = scratch.0.join("summed");
                let mut command = Command::new(&sumtool);
                let endian = if order == ByteOrder::Little { "-l" } else { "-b" };
                command.args([endian, "-p", "-e", &block.to_string()]);
                command.args((!cleanmarkers).then_some("-n")).arg("-i").arg(&target);
                run(command.arg("-o").arg(&summed));
                let theirs = fs::read(&summed).unwrap();
                let jffs2 = Jffs2Options { cleanmarkers, summary: true };
                let (compression, taking) = (Some(Compression::None), taking());
                let options = FileOptions { compression, order, jffs2, taking, ..options("jffs2") };
                let ours = make(&tree, &flash(1, 0, block), &options).bytes;
                assert!(
                    ours.len() <= theirs.len(),
                    "{} bytes, {} of sumtool",
                    ours.len(),
                    theirs.len()
                );
                assert!(nodes(&ours, order) == nodes(&theirs, order), "{arguments:?}");
                let marker = if cleanmarkers { 12 } else { 0 };
                summaries_as_here(&theirs, (order, usize::try_from(block).unwrap()), marker);
            }
        }
    }
}

/// Each summary of an image is what our encoder makes of its entries.
fn summaries_as_here(image: &[u8], (order, size): (ByteOrder, usize), marker: u32) {
    let mut count = 0;
    for block in image.chunks(size) {
        let Some(trailer) = Trailer::parse(block, order) else { continue };
        let node = &block[usize::try_from(trailer.offset).unwrap()..];
        let view = SummaryView::new(node, order).unwrap();
        let mut builder = SummaryBuilder::default();
        view.entries().for_each(|entry| builder.add(entry.unwrap()));
        let length = |bytes: usize| u32::try_from(bytes).unwrap();
        assert!(builder.node(length(node.len()), length(size), marker, order) == node);
        count += 1;
    }
    assert!(count + 1 >= image.len() / size, "{count} summaries");
}

#[test]
fn an_image_with_summaries_is_smaller_than_that_of_sumtool() {
    let Some(sumtool) = tool("sumtool") else { return };
    let scratch = Scratch::new("sumtool-size");
    let (tree, target) = (scratch.0.join("tree"), scratch.0.join("image"));
    fs::create_dir(&tree).unwrap();
    plant_dense(&tree, &(0..80).map(|number| number * 400).collect::<Vec<_>>());
    let Some(_) = theirs(&tree, &target, &["-l", "-n", "-e", "16384", "-m", "none"]) else {
        return;
    };
    let summed = scratch.0.join("summed");
    let mut command = Command::new(&sumtool);
    command.args(["-l", "-n", "-p", "-e", "16384", "-i"]).arg(&target);
    run(command.arg("-o").arg(&summed));
    let theirs = fs::read(&summed).unwrap().len();
    let jffs2 = Jffs2Options { summary: true, ..Jffs2Options::default() };
    let compression = Some(Compression::None);
    let options = FileOptions { compression, jffs2, ..options("jffs2") };
    let ours = make(&tree, &flash(2_048, 0, 16_384), &options).bytes.len();
    assert!(ours * 100 < theirs * 80, "{ours} bytes, {theirs} of sumtool");
}

#[test]
fn lzo_takes_about_the_room_of_mkfs_jffs2() {
    let scratch = Scratch::new("mkfs-lzo");
    let (tree, target) = (scratch.0.join("tree"), scratch.0.join("image"));
    fs::create_dir(&tree).unwrap();
    for number in 0..300_u64 {
        let words = (number..number + 600).map(|word| format!("word {} ", word * word % 977));
        fs::write(tree.join(format!("text{number}")), words.collect::<String>()).unwrap();
    }
    for (compression, arguments) in [
        (Compression::Lzo, &["-x", "zlib", "-x", "rtime", "-X", "lzo"][..]),
        (Compression::FavorLzo, &["-X", "lzo", "-y", "80:lzo", "-m", "size"]),
    ] {
        let arguments = [arguments, &["-l", "-n", "-e", "8192"]].concat();
        let Some(theirs) = theirs(&tree, &target, &arguments) else { return };
        let options = FileOptions { compression: Some(compression), ..options("jffs2") };
        let ours = make(&tree, &flash(2_048, 0, 8_192), &options).bytes.len();
        let theirs = theirs.len();
        assert!(ours * 100 < theirs * 106, "{compression}: {ours} bytes, {theirs} of mkfs.jffs2");
    }
}

/// All regular files in a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn jffs2reader_finds_the_files_of_an_image() {
    let Some(reader) = tool("jffs2reader") else { return };
    let scratch = Scratch::new("reader");
    let (tree, target) = (scratch.0.join("tree"), scratch.0.join("image"));
    fs::create_dir(&tree).unwrap();
    // It never finds the name of version 0, which is the first one.
    fs::write(tree.join("aaa"), "x").unwrap();
    // In images of mkfs.jffs2 too, it takes the second node of a file from the wrong place.
    plant_dense(&tree, &(0..70).map(|number| number * 58).collect::<Vec<_>>());
    for (compression, summary) in [(Compression::None, false), (Compression::Zlib, true)] {
        let jffs2 = Jffs2Options { summary, ..Jffs2Options::default() };
        let options = FileOptions { compression: Some(compression), jffs2, ..options("jffs2") };
        fs::write(&target, make(&tree, &flash(1, 0, 1 << 20), &options).bytes).unwrap();
        let paths = files(&tree).into_iter().filter(|path| !path.ends_with("aaa"));
        let paths: Vec<_> = paths.collect();
        assert!(paths.len() > 70, "{}", paths.len());
        for path in paths {
            let name = path.strip_prefix(&tree).unwrap();
            let inside = [b"/", name.as_os_str().as_bytes()].concat();
            let inside = std::ffi::OsStr::from_bytes(&inside);
            let found = run(Command::new(&reader).arg(&target).arg("-f").arg(inside));
            assert!(found == fs::read(&path).unwrap(), "{}", name.display());
        }
    }
}

#[test]
fn an_image_of_mkfs_jffs2_has_the_same_files_for_us() {
    let scratch = Scratch::new("mkfs-read");
    let (tree, target) = (scratch.0.join("tree"), scratch.0.join("image"));
    fs::create_dir(&tree).unwrap();
    plant(&tree, 6);
    let Some(mkfs) = tool("mkfs.jffs2") else { return };
    run(Command::new(mkfs)
        .args(["-p", "-l", "-e", "65536", "-r"])
        .arg(&tree)
        .arg("-o")
        .arg(&target));
    let (mut theirs, mut clock) = mounted(&fs::read(&target).unwrap());
    let ours = make(&tree, &flash(1, 0, 65_536), &options("jffs2")).bytes;
    let (mut ours, mut other) = mounted(&ours);
    let names = compare(&mut ours, &mut other, &tree, b"");
    let mut seen = 0;
    let mut folders = vec![Vec::new()];
    while let Some(folder) = folders.pop() {
        seen += 1;
        let path = if folder.is_empty() { b"/".to_vec() } else { folder.clone() };
        for entry in theirs.readdir(&mut clock, &path).unwrap() {
            let path = [&folder[..], b"/", &entry.name].concat();
            let [one, same] =
                [theirs.lstat(&mut clock, &path).unwrap(), ours.lstat(&mut other, &path).unwrap()];
            assert_eq!((one.kind, one.mode, one.size), (same.kind, same.mode, same.size));
            if one.kind == boardlab_vfs::Kind::Directory {
                folders.push(path);
            } else {
                seen += 1;
            }
        }
    }
    assert_eq!(seen, names);
}

#[test]
fn an_empty_folder_has_a_root() {
    let scratch = Scratch::new("mkfs-empty");
    let made = make(&scratch.0, &flash(1, 0, 65_536), &options("jffs2"));
    assert_eq!(Bytes::of(&made.bytes), Bytes::kib(64));
    let (mut mount, mut clock) = mounted(&made.bytes);
    assert_eq!(compare(&mut mount, &mut clock, &scratch.0, b""), 1);
}
