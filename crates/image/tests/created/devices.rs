//! Tables of devices in every filesystem, and what is wrong in them.

use crate::folders::mounted;
use crate::scratch::Scratch;
use crate::{LARGE, flash, make, options, run, told, tool, try_make};
use boardlab_image::files::Taking;
use boardlab_image::make::{FileOptions, MakeError};
use boardlab_vfs::{Device, Kind};
use std::fs;
use std::process::Command;

const TABLE: &str = "\
# A comment, and an empty line.

/dev          d 755  0 0  - - - - -
/dev/console  c 600  0 5  5 1
/dev/mtd      c 640  0 6  90 0  0 2 4
/dev/loop     b 660  1 2  7 3   10 1 3
/dev/log      p 622  0 0
/bin/su       f 4755 0 0  - - - - -
/bin          d 711  7 8
/bin/sh       l 777  5 6
/srv//deep/   d 700  1 1
";

fn planted(name: &str) -> (Scratch, std::path::PathBuf) {
    let scratch = Scratch::new(name);
    let tree = scratch.0.join("tree");
    fs::create_dir_all(tree.join("bin")).unwrap();
    fs::create_dir_all(tree.join("srv")).unwrap();
    fs::write(tree.join("bin/su"), "su").unwrap();
    fs::hard_link(tree.join("bin/su"), tree.join("again")).unwrap();
    std::os::unix::fs::symlink("su", tree.join("bin/sh")).unwrap();
    (scratch, tree)
}

#[test]
fn every_filesystem_has_what_the_table_says() {
    let (scratch, tree) = planted("table");
    let devices = Some(scratch.write("table", TABLE));
    let taking = Taking { squash: true, squash_modes: true, latest: Some(5_000) };
    for fs in ["jffs2", "ubifs", "yaffs2", "logfs"] {
        let options = FileOptions { devices: devices.clone(), taking, ..options(fs) };
        let made = make(&tree, &LARGE, &options);
        assert!(made.left_out.is_empty(), "{fs}: {:?}", made.left_out);
        let device = |major, minor| Device { major, minor };
        for (path, kind, mode, uid, gid) in [
            ("/dev", Kind::Directory, 0o755, 0, 0),
            ("/dev/console", Kind::Character(device(5, 1)), 0o600, 0, 5),
            ("/dev/mtd0", Kind::Character(device(90, 0)), 0o640, 0, 6),
            ("/dev/mtd3", Kind::Character(device(90, 6)), 0o640, 0, 6),
            ("/dev/loop10", Kind::Block(device(7, 3)), 0o660, 1, 2),
            ("/dev/loop12", Kind::Block(device(7, 5)), 0o660, 1, 2),
            ("/dev/log", Kind::Fifo, 0o622, 0, 0),
            ("/bin/su", Kind::File, 0o4755, 0, 0),
            ("/again", Kind::File, 0o4755, 0, 0),
            ("/bin", Kind::Directory, 0o711, 7, 8),
            ("/bin/sh", Kind::Symlink, 0o777, 5, 6),
            ("/srv/deep", Kind::Directory, 0o700, 1, 1),
        ] {
            assert_eq!(told(&made.bytes, path), (kind, mode, uid, gid, 5_000), "{fs} {path}");
        }
        let (mut mount, mut clock) = mounted(&made.bytes);
        assert_eq!(mount.readdir(&mut clock, "/dev").unwrap().len(), 9, "{fs}");
        assert_eq!(mount.lstat(&mut clock, "/bin/su").unwrap().links, 2);
        let filesystem = made.filesystem.unwrap();
        assert_eq!((filesystem.files.special, filesystem.files.directories), (9, 5), "{fs}");
    }
}

#[test]
fn mkfs_ubifs_makes_the_same_devices_of_a_table() {
    let Some(mkfs) = tool("mkfs.ubifs") else { return };
    let (scratch, tree) = planted("table-ubifs");
    let table = scratch.write("table", "/dev d 755 0 0 - - - - -\n/dev/hda b 640 0 6 3 1 1 1 15\n");
    let target = scratch.0.join("image");
    let mut command = Command::new(mkfs);
    command.args(["-m2048", "-e126976", "-c400", "-D"]).arg(&table).arg("-r").arg(&tree);
    run(command.arg("-o").arg(&target));
    let theirs = fs::read(&target).unwrap();
    let options = FileOptions { devices: Some(table), ..options("ubifs") };
    let ours = make(&tree, &flash(2_048, 0, 131_072), &options).bytes;
    let names = |bytes: &[u8]| {
        let (mut mount, mut clock) = mounted(bytes);
        let listed = mount.readdir(&mut clock, "/dev").unwrap();
        let mut found: Vec<_> = listed
            .into_iter()
            .map(|entry| String::from_utf8(entry.name).unwrap())
            .map(|name| {
                let stat = mount.lstat(&mut clock, format!("/dev/{name}")).unwrap();
                (name, stat.kind, stat.mode, stat.gid)
            })
            .collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found
    };
    assert_eq!(names(&ours), names(&theirs));
    assert_eq!(names(&ours).len(), 15);
}

#[test]
fn a_wrong_line_is_refused_with_its_place_and_what_would_fit() {
    let (scratch, tree) = planted("table-wrong");
    let first = "/dev d 755 0 0\n";
    for (line, place, says, help) in [
        ("/x", (2, 1), "the line has 1 fields", "name type mode uid gid major"),
        ("/x c 600 0", (2, 1), "the line has 4 fields", "expected name"),
        ("/x c 600 0 0 1 3 0 0 0 0", (2, 1), "has 11 fields", "expected name"),
        ("/x  s 600 0 0", (2, 5), "type cannot be `s`", "f (file), d (folder)"),
        ("/x c 68 0 0 1 3", (2, 6), "mode cannot be `68`", "octal number up to 7777"),
        ("/x c 100644 0 0 1 3", (2, 6), "mode cannot be `100644`", "up to 7777"),
        ("/x c 600 -1 0 1 3", (2, 10), "uid cannot be `-1`", "number of a user"),
        ("/x c 600 0 4294967296 1 3", (2, 12), "gid cannot be", "user or group"),
        ("/x c 600 0 0 4096 3", (2, 14), "major cannot be `4096`", "up to 4095"),
        ("/x c 600 0 0 1 1048576", (2, 16), "minor cannot be", "up to 1048575"),
        ("/x c 600 0 0 1 0 0 1 65537", (2, 22), "count cannot be `65537`", "up to 65536"),
        ("/x c 600 0 0 1 9 0 1048575 2", (2, 28), "count cannot be `2`", "last minor number"),
        ("/x c 600 0 0 1 9 1 1 0", (2, 22), "count cannot be `0`", "above 0"),
        ("/x d 755 0 0 1", (2, 14), "major cannot be `1`", "only devices have it"),
        ("/x p 755 0 0 - - - - 4", (2, 22), "count cannot be `4`", "only devices"),
        ("/bin/sh l 755 0 0", (2, 11), "mode cannot be `755`", "777"),
        ("x c 600 0 0 1 3", (2, 1), "`x` is no name in the tree", "a path from / on"),
        ("/../x c 600 0 0 1 3", (2, 1), "`/../x` is no name in the tree", "no . or .."),
        ("/dev/./x c 600 0 0 1 3", (2, 1), "is no name in the tree", "no . or .."),
        ("\t/none/x c 600 0 0 1 3", (2, 2), "no folder `/none` for `/none/x`", "/none d 755 0 0"),
        ("/bin/su/x c 600 0 0 1 3", (2, 1), "`/bin/su` is no folder", "links are not followed"),
        ("/bin/sh/x c 600 0 0 1 3", (2, 1), "`/bin/sh` is no folder", "links are not followed"),
        ("/new f 600 0 0", (2, 1), "there is no file `/new`", "makes none"),
        ("/new l 777 0 0", (2, 1), "there is no file `/new`", "makes none"),
        ("/bin f 600 0 0", (2, 1), "`/bin` is a folder, not a file", "the type of a folder"),
        ("/ c 600 0 0 1 3", (2, 1), "`/` is a folder, not a character device", "another name"),
        ("/äö  q 600 0 0", (2, 6), "type cannot be `q`", "f (file)"),
    ] {
        let table = scratch.write("table", format!("{first}{line}\n"));
        let options = FileOptions { devices: Some(table.clone()), ..options("jffs2") };
        let error = try_make(&tree, &LARGE, &options).unwrap_err();
        let (said, hint) = (error.to_string(), error.help());
        assert!(said.contains(says) && hint.contains(help), "{line}: {said}; {hint}");
        assert_eq!(error.place(), Some(place), "{line}");
        assert_eq!(error.path(), Some(&*table), "{line}");
    }
    let long = format!("/{} c 600 0 0 1 3 0 1 9\n", "n".repeat(255));
    for text in [long.as_bytes(), b"/dev d 755 0 0\n/\xff c 600 0 0 1 3\n"] {
        let table = scratch.write("table", text);
        let options = FileOptions { devices: Some(table), ..options("jffs2") };
        let error = try_make(&tree, &LARGE, &options).unwrap_err();
        assert!(matches!(error, MakeError::InFile { .. }), "{error}");
    }
    let missing = FileOptions { devices: Some(scratch.0.join("none")), ..options("jffs2") };
    let error = try_make(&tree, &LARGE, &missing).unwrap_err();
    assert!(error.to_string().contains("no such file") && error.place().is_none(), "{error}");
}
