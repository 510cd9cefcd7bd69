//! Images of a folder and of the metadata that were written beside it.

use crate::scratch::Scratch;
use crate::tars::{Tar, entry};
use crate::{LARGE, SEED, make, options, try_make};
use boardlab_image::diff::diff;
use boardlab_image::files::{Taking, Tree};
use boardlab_image::fs::ALL;
use boardlab_image::gather::{Gathered, gather};
use boardlab_image::make::{FileOptions, Files, MakeError, of_files};
use boardlab_image::metadata::{Applied, metadata};
use boardlab_image::{Beside, Contents, Hints, Limits, MountedImage, extract, open};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// An image with all that a filesystem can hold: owners, devices, attributes, hard links of every kind, modes that keep their
/// owner out, names that are not UTF-8.
fn rich(fs: &str) -> Vec<u8> {
    let (attributes, early) = (fs != "logfs", fs == "ubifs");
    let with = |one: crate::tars::Entry, name: &str, value: &[u8]| {
        if attributes { one.xattr(name, value) } else { one }
    };
    let mut tar = Tar::default();
    tar.add(entry(b"./", '5').owned(1, 2).mode(0o1755).time(7));
    tar.add(entry(b"dev", '5').mode(0o755).owned(0, 5).time(8));
    tar.add(entry(b"dev/console", '3').device(5, 1).mode(0o600).owned(0, 5).time(9));
    tar.add(entry(b"dev/again", '1').link(b"dev/console"));
    tar.add(entry(b"dev/disk", '4').device(8, 200).mode(0o660));
    tar.add(entry(b"dev/pipe", '6').mode(0o622).owned(3, 4));
    tar.add(with(entry(b"bin/su", '0').mode(0o6111).data(b"su"), "user.a", b"1\n2=\0\xff\\"));
    tar.add(entry(b"bin/closed", '0').mode(0).owned(60_000, 60_001).data(b"nobody reads it"));
    tar.add(entry(b"bin/hard", '1').link(b"bin/su"));
    tar.add(entry(b"bin/sh", '2').link(b"su").owned(8, 9).time(11));
    tar.add(entry(b"bin/sh2", '1').link(b"bin/sh"));
    tar.add(with(entry(b"x\ny \xff\\", '5').mode(0o2300), "user.folder", b""));
    tar.add(entry(b"x\ny \xff\\/big", '0').data(&[7; 50_000]).time(4_000_000_000));
    tar.add(entry(b"then", '0').time(if early { -86_400 } else { 0 }));
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, &tar.end()).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let made = of_files(Files::Archive(file), &LARGE, &options(fs), (SEED, ALL)).unwrap();
    assert!(made.left_out.is_empty(), "{fs}: {:?}", made.left_out);
    made.bytes
}

fn opened(bytes: &[u8]) -> MountedImage {
    open(&Contents::of(bytes.to_vec()), &Hints::default()).unwrap()
}

fn gathered(bytes: &[u8]) -> Gathered {
    gather(opened(bytes), b"/", u64::MAX, &Taking::default()).unwrap()
}

/// Extracts an image beside its metadata: a folder, and a file.
fn extracted(scratch: &Scratch, fs: &str, bytes: &[u8]) -> (PathBuf, PathBuf) {
    let target = scratch.0.join(fs);
    let mut image = opened(bytes);
    let beside = Beside { is_readable: true, ..Beside::of(&mut image).unwrap() };
    let MountedImage { mut fs, mut clock, .. } = image;
    let done = extract(fs.as_mut(), &mut clock, b"/", &target, beside, Limits::default());
    assert!(done.unwrap().is_whole());
    let text = metadata("a", &gathered(bytes).tree);
    let json = scratch.write(&format!("{}.json", target.display()), text);
    (target, json)
}

fn with(fs: &str, json: &Path) -> FileOptions {
    FileOptions { metadata: Some(json.into()), ..options(fs) }
}

fn changes(one: &Tree, other: &Tree) -> Vec<(String, String)> {
    let changes = diff(one, other).into_iter();
    changes
        .map(|one| (String::from_utf8_lossy(&one.path).into_owned(), one.what.to_string()))
        .collect()
}

#[test]
fn what_a_folder_cannot_keep_comes_back_in_every_filesystem() {
    let scratch = Scratch::new("metadata");
    for fs in ["ubifs", "jffs2", "yaffs2", "logfs"] {
        let before = rich(fs);
        let (folder, json) = extracted(&scratch, fs, &before);
        let mode = |path: &str| folder.join(path).metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("bin/closed"), mode("bin/su")), (0o400, 0o511), "readable here");
        let made = make(&folder, &LARGE, &with(fs, &json));
        assert!(made.left_out.is_empty(), "{fs}: {:?}", made.left_out);
        let applied = made.metadata.unwrap();
        let names = gathered(&before).tree.nodes.len() as u64;
        assert_eq!((applied.made, applied.applied), (4, names - 4), "{fs}: {applied:?}");
        assert_eq!((applied.newer, applied.unlisted, applied.separate), (0, 0, 0), "{fs}");
        let (before, after) = (gathered(&before), gathered(&made.bytes));
        let changes = changes(&before.tree, &after.tree);
        assert!(changes.is_empty(), "{fs}: {changes:?}");
        assert!(before.is_whole() && after.is_whole());
        if fs == "ubifs" {
            let then = after.tree.nodes.iter().find(|node| node.path == b"/then").unwrap();
            assert_eq!(then.modified.seconds, -86_400);
        }
    }
}

#[test]
fn what_was_edited_since_is_taken_from_the_folder_and_told() {
    let scratch = Scratch::new("edited");
    let before = rich("ubifs");
    let (folder, json) = extracted(&scratch, "ubifs", &before);
    fs::write(folder.join("bin/closed.new"), "an editor writes a new file").unwrap();
    fs::rename(folder.join("bin/closed.new"), folder.join("bin/closed")).unwrap();
    fs::write(folder.join("bin/hard.new"), "two files now").unwrap();
    fs::rename(folder.join("bin/hard.new"), folder.join("bin/hard")).unwrap();
    fs::write(folder.join("added"), "new").unwrap();
    fs::remove_file(folder.join("then")).unwrap();
    fs::remove_file(folder.join("bin/sh2")).unwrap();
    fs::create_dir(folder.join("bin/sh2")).unwrap();
    let made = make(&folder, &LARGE, &with("ubifs", &json));
    let told: Vec<_> = made.left_out.iter().map(|one| one.why.to_string()).collect();
    let other = "which are those of a symbolic link: it is a directory";
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.contains(&"a file of the metadata that is missing in the folder".to_owned()));
    assert!(told.iter().any(|one| one.ends_with(other)), "{told:?}");
    let after = gathered(&made.bytes);
    let node =
        |path: &str| after.tree.nodes.iter().find(|node| node.path == path.as_bytes()).unwrap();
    let closed = node("/bin/closed");
    assert_eq!((closed.mode, closed.uid, closed.gid), (0, 60_000, 60_001));
    assert!(closed.modified.seconds > 1_000_000_000, "the time of the change");
    assert_eq!((node("/bin/hard").links, node("/bin/hard").mode), (1, 0o6111));
    assert_eq!((node("/bin/sh").uid, node("/dev/console").uid), (8, 0));
    let applied = made.metadata.unwrap();
    // The new file, and the folder in place of a link.
    assert_eq!((applied.unlisted, applied.separate, applied.made), (2, 1, 4), "{applied:?}");
    assert!(applied.newer >= 3, "{applied:?}");
    // A device in a folder that was removed.
    fs::remove_dir_all(folder.join("dev")).unwrap();
    let made = make(&folder, &LARGE, &with("ubifs", &json));
    let folders = made.left_out.iter().filter(|one| one.path.starts_with(b"/dev"));
    let folders: Vec<_> = folders.map(|one| one.why.to_string()).collect();
    assert_eq!(folders.len(), 5, "{folders:?}");
    assert_eq!(folders[1], "its folder was left out");
}

#[test]
fn squashing_and_a_table_go_over_the_metadata() {
    let scratch = Scratch::new("squashed");
    let (folder, json) = extracted(&scratch, "jffs2", &rich("jffs2"));
    let table = scratch.write("table", "/bin/su f 4700 5 6\n");
    let taking = Taking { squash: true, squash_modes: true, latest: Some(1_000) };
    let options = FileOptions { devices: Some(table), taking, ..with("jffs2", &json) };
    let after = gathered(&make(&folder, &LARGE, &options).bytes);
    let told = |path: &str| {
        let node = after.tree.nodes.iter().find(|node| node.path == path.as_bytes()).unwrap();
        (node.mode, node.uid, node.modified.seconds)
    };
    assert_eq!(told("/bin/su"), (0o4700, 5, 0));
    assert_eq!(told("/dev/disk"), (0o640, 0, 0));
    assert_eq!(told("/bin/sh"), (0o644, 0, 11));
    let big = after.tree.nodes.iter().find(|node| node.path.ends_with(b"/big")).unwrap();
    assert_eq!(big.modified.seconds, 1_000);
}

#[test]
fn metadata_that_cannot_be_understood_are_refused_with_their_place() {
    let scratch = Scratch::new("refused");
    let (folder, json) = extracted(&scratch, "jffs2", &rich("jffs2"));
    let text = fs::read_to_string(&json).unwrap();
    let wrong = |bytes: &[u8]| {
        let json = scratch.write("wrong.json", bytes);
        match try_make(&folder, &LARGE, &with("jffs2", &json)) {
            Err(problem @ MakeError::InFile { .. }) => {
                assert_eq!(problem.path(), Some(json.as_path()));
                (problem.place().unwrap(), problem.to_string())
            }
            other => panic!("{other:?}"),
        }
    };
    let place = wrong(text.replace("\"/bin/su\"", "\"bin/su\"").as_bytes());
    let line = text.lines().position(|line| line.contains("\"path\":\"/bin/su\"")).unwrap() + 1;
    assert!(place.0.0 <= line && place.1.contains("`bin/su` is no path"), "{place:?} {line}");
    assert_eq!(wrong(b"{\n\xff").0, (2, 1));
    assert!(wrong(b"").1.contains("EOF"));
    let none = with("jffs2", &scratch.0.join("none"));
    let none = try_make(&folder, &LARGE, &none).unwrap_err();
    assert!(matches!(none, MakeError::UnreadableTable { .. }), "{none}");
    // Of an empty list nothing is taken.
    let empty = "{\"format\":\"boardlab-metadata\",\"image\":\"\",\"version\":1,\"files\":[]}";
    let json = scratch.write("empty.json", empty);
    let made = make(&folder, &LARGE, &with("jffs2", &json));
    let applied = made.metadata.unwrap();
    assert_eq!(applied, Applied { unlisted: applied.unlisted, ..Applied::default() });
    assert!(applied.unlisted > 5);
}
