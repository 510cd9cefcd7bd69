//! Trees of files: of archives that GNU tar writes and reads, of images, of what is no archive.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod planted;
mod scratch;
mod tars;

use boardlab_image::convert::convert;
use boardlab_image::diff::{What, blocks, diff};
use boardlab_image::files::{ArchiveProblem, Taking, Tree};
use boardlab_image::fs::ALL;
use boardlab_image::gather::{Gathered, gather};
use boardlab_image::make::{FileOptions, Files, Flash, MakeError, of_files};
use boardlab_image::{Contents, Hints, open};
use boardlab_sim::{Bytes, Seed};
use boardlab_vfs::Kind;
use planted::{below, plant};
use scratch::Scratch;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::Path;
use std::process::Command;
use tars::{Tar, entry};

/// A file without a name that has these bytes.
fn spooled(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    file
}

fn read(bytes: &[u8]) -> Result<Tree, MakeError> {
    Tree::of_archive(spooled(bytes), &Taking::default())
}

fn written(tree: &mut Tree) -> Vec<u8> {
    let mut bytes = Vec::new();
    tree.archive(&mut bytes, u64::MAX).unwrap();
    assert!(tree.left_out.is_empty(), "{:?}", tree.left_out);
    bytes
}

fn assert_same(one: &Tree, other: &Tree, what: &str) {
    let changes: Vec<_> = diff(one, other).into_iter().map(|one| one.what.to_string()).collect();
    assert!(changes.is_empty(), "{what}: {changes:?}");
    assert_eq!(one.nodes.len(), other.nodes.len());
}

/// Everything that an archive can hold and an ordinary user cannot make.
fn rich() -> Vec<u8> {
    let long = vec![b'l'; 250];
    let mut tar = Tar::default();
    tar.add(entry(b"./", '5').owned(1, 2).mode(0o1755).time(-5));
    tar.add(entry(b"dev/console", '3').device(5, 1));
    tar.add(entry(b"dev/disk", '4').device(8, 300));
    tar.add(entry(b"pipe", '6'));
    tar.add(entry(b"link", '2').link(&[b'x'; 300]));
    tar.add(entry(b"linked", '1').link(b"link"));
    tar.add(entry(b"big", '0').owned(3_000_000, 4_000_000_000).mode(0o6755).data(b"content"));
    tar.add(entry(&[b"a/", long.as_slice(), b"/b"].concat(), '0').data(&[7; 5_000]));
    tar.add(entry(b"a/hard", '1').link(b"./big"));
    tar.add(entry(b"x\ny", '0').xattr("user.a", b"1\n2=\0").xattr("user.b", b""));
    tar.add(entry(b"late", '0').time(5_000_000_000));
    tar.end()
}

#[test]
fn every_format_of_gnu_tar_gives_the_tree_of_the_folder() {
    let scratch = Scratch::new("formats");
    plant(&scratch.0, 3);
    let folder = Tree::of(&scratch.0, &Taking::default()).unwrap();
    for format in [
        &["--format=gnu"][..],
        &["--format=gnu", "--sparse"],
        &["--format=oldgnu", "--sparse"],
        &["--format=posix"],
        &["--format=posix", "--sparse", "--sparse-version=0.0"],
        &["--format=posix", "--sparse", "--sparse-version=0.1"],
        &["--format=posix", "--sparse", "--sparse-version=1.0"],
    ] {
        let made = Command::new("tar")
            .args(format)
            .args(["--numeric-owner", "--create", "--file=-", "--directory"])
            .arg(&scratch.0)
            .arg(".")
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let tree = read(&made.stdout).unwrap();
        assert!(tree.left_out.is_empty());
        assert_same(&folder, &tree, &format.join(" "));
    }
}

#[test]
fn gnu_tar_reads_our_archives() {
    let [scratch, other] = ["ours", "theirs"].map(Scratch::new);
    plant(&scratch.0, 4);
    let mut folder = Tree::of(&scratch.0, &Taking::default()).unwrap();
    let archives = Scratch::new("archives");
    let file = archives.write("ours.tar", written(&mut folder));
    let done = Command::new("tar")
        .args(["--extract", "--preserve-permissions", "--file"])
        .arg(&file)
        .arg("--directory")
        .arg(&other.0)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_same(&folder, &Tree::of(&other.0, &Taking::default()).unwrap(), "tar");
}

#[test]
fn an_archive_comes_back_whole_and_the_same_files_give_the_same_bytes() {
    let mut tree = read(&rich()).unwrap();
    let first = written(&mut tree);
    let mut again = read(&first).unwrap();
    assert_same(&tree, &again, "rich");
    assert_eq!(written(&mut again), first);
    let node = |path: &[u8]| again.nodes.iter().find(|node| node.path == path).unwrap();
    assert_eq!((node(b"/").mode, node(b"/").modified.seconds), (0o1755, -5));
    assert_eq!((node(b"/big").uid, node(b"/big").gid), (3_000_000, 4_000_000_000));
    assert_eq!(node(b"/a").mode, 0o755, "what no entry describes");
    assert_eq!(node(b"/x\ny").attributes[0].1, b"1\n2=\0");
    assert_eq!(node(b"/linked").kind, Kind::Symlink);
    assert_eq!(node(b"/big").links, 2);
    let limited = again.archive(&mut Vec::new(), 5_000).unwrap();
    assert_eq!((limited.files, again.left_out.len()), (3, 1), "{:?}", again.left_out);
}

#[test]
fn of_two_entries_with_one_path_the_later_one_holds() {
    let mut tar = Tar::default();
    tar.add(entry(b"a", '0').data(b"old"));
    tar.add(entry(b"b", '1').link(b"a"));
    tar.add(entry(b"a", '0').data(b"new one"));
    tar.add(entry(b"d", '5'));
    tar.add(entry(b"d/x", '0'));
    tar.add(entry(b"d", '5').mode(0o700));
    tar.add(entry(b"e", '5'));
    tar.add(entry(b"e", '2').link(b"d"));
    tar.add(entry(b"d", '0').data(b"no"));
    tar.add(entry(b"e/y", '0'));
    let tree = read(&tar.end()).unwrap();
    let paths: Vec<_> = tree.nodes.iter().map(|node| node.path.as_slice()).collect();
    assert_eq!(paths, [&b"/"[..], b"/a", b"/b", b"/d", b"/e", b"/d/x"]);
    assert_eq!((tree.nodes[1].links, tree.nodes[2].links), (1, 1));
    assert_eq!((tree.nodes[3].mode, tree.nodes[4].kind), (0o700, Kind::Symlink));
    let why: Vec<_> = tree.left_out.iter().map(|one| one.why.to_string()).collect();
    assert_eq!(why, ["its folder has another one of this name", "its folder was left out"]);
}

#[test]
fn hostile_archives_stay_within_and_say_what_they_lose() {
    let big = vec![b'n'; 256];
    for (name, one, why) in [
        ("..", entry(b"../x", '0'), "its path leads out of the archive"),
        ("inner ..", entry(b"a/../../x", '0'), "its path leads out of the archive"),
        ("NUL", entry(b"a\0b", '0'), "its path leads out of the archive"),
        ("no name", entry(b".", '0').data(b"x"), "it has no name"),
        ("long name", entry(&big, '0'), "its name has 256 bytes of at most 255"),
        ("link to nothing", entry(b"a", '1').link(b"none"), "`none`, which is no file before it"),
        ("link out", entry(b"a", '1').link(b"../../etc/passwd"), "which is no file before it"),
        ("link to itself", entry(b"a", '1').link(b"a"), "which is no file before it"),
        ("link to a folder", entry(b"a", '1').link(b"."), "which is no file before it"),
        ("volume", entry(b"a", 'V'), "entries of type `V`"),
        ("escape", entry(b"a", '\u{1b}'), "entries of type `\\u{1b}`"),
        ("list", entry(b"a", '0').pax("SCHILY.acl.access", b"user::rw-"), "`SCHILY.acl.access`"),
    ] {
        let mut tar = Tar::default();
        tar.add(one);
        let tree = read(&tar.end()).unwrap();
        let said: Vec<_> = tree.left_out.iter().map(|one| one.why.to_string()).collect();
        assert!(said.len() == 1 && said[0].contains(why), "{name}: {said:?}");
    }
    // An absolute path is one within the archive, as tar has it.
    let mut tar = Tar::default();
    tar.add(entry(b"/etc/passwd", '0').data(b"x"));
    tar.add(entry(b"s", '2').link(b"/etc"));
    tar.add(entry(b"s/x", '0'));
    let tree = read(&tar.end()).unwrap();
    let paths: Vec<_> = tree.nodes.iter().map(|node| node.path.as_slice()).collect();
    assert_eq!(paths, [&b"/"[..], b"/etc", b"/s", b"/etc/passwd"]);
    assert_eq!(tree.left_out.len(), 1);
}

#[test]
fn what_is_no_archive_is_refused_with_the_place() {
    let problem = |bytes: &[u8]| match read(bytes) {
        Err(MakeError::Archive { at, problem }) => (at, problem),
        other => panic!("{other:?}"),
    };
    let whole = rich();
    assert!(matches!(problem(b""), (0, ArchiveProblem::NoEnd)));
    assert!(matches!(problem(b"\x1f\x8b\x08"), (0, ArchiveProblem::Compressed { by: "gzip" })));
    assert!(matches!(problem(&[b'x'; 2_048]), (0, ArchiveProblem::NoHeader)));
    assert!(matches!(problem(&whole[..700]), (_, ArchiveProblem::Short { length: 700, .. })));
    let end = whole.len() - 1_024;
    assert!(matches!(problem(&whole[..end]), (_, ArchiveProblem::NoEnd)));
    let mut wrong = whole.clone();
    wrong[3] ^= 1;
    assert!(matches!(problem(&wrong), (0, ArchiveProblem::Checksum { .. })));
    let one = |entry| {
        let mut tar = Tar::default();
        tar.add(entry);
        tar.end()
    };
    let map = |map: &str| entry(b"a", '0').data(map.as_bytes()).pax("GNU.sparse.major", b"1");
    let map = |text, size| map(text).pax("GNU.sparse.realsize", size);
    for (name, bytes) in [
        ("a map of 2^40 parts", one(map("1099511627776\n", b"5"))),
        ("a map that ends", one(map("3\n0\n1\n", b"5"))),
        ("parts beyond the size", one(map("1\n4\n2\n", b"5"))),
        ("parts over each other", one(map("2\n0\n3\n2\n1\n", b"5"))),
        ("parts without data", one(map("1\n0\n5\n", b"5"))),
        ("a part of 2^64", one(map("1\n18446744073709551615\n1\n", b"18446744073709551615"))),
    ] {
        let found = problem(&bytes);
        assert!(matches!(found, (1_024, ArchiveProblem::Sparse)), "{name}: {found:?}");
    }
    let sized = |size: &str| one(entry(b"a", '0').pax("size", size.as_bytes()));
    assert!(matches!(problem(&sized("99999999")), (_, ArchiveProblem::Short { .. })));
    let overflow = problem(&sized("18446744073709551615"));
    assert!(matches!(overflow, (_, ArchiveProblem::Number { field: "size" })), "{overflow:?}");
    let number = problem(&one(entry(b"a", '0').pax("uid", b"4294967296")));
    assert!(matches!(number, (_, ArchiveProblem::Number { field: "uid" })));
    let record = problem(&one(entry(b"a", 'x').data(b"9 path=a")));
    assert!(matches!(record, (_, ArchiveProblem::Record)), "{record:?}");
}

#[test]
fn damaged_archives_never_panic() {
    let (whole, mut stream) = (rich(), Seed::new(9).stream("damage"));
    // One block of zeros is an end as well.
    for cut in (0..whole.len() - 512).step_by(97) {
        assert!(read(&whole[..cut]).is_err(), "cut at {cut}");
    }
    for _ in 0..2_000 {
        let mut wrong = whole.clone();
        for _ in 0..=below(&mut stream, 3) {
            let at = below(&mut stream, wrong.len());
            wrong[at] = u8::try_from(below(&mut stream, 256)).unwrap();
            let begin = at / 512 * 512;
            // Right checksums let more of it be read.
            tars::checksum(&mut wrong[begin..begin + 512]);
        }
        if let Ok(mut tree) = read(&wrong) {
            tree.archive(&mut Vec::new(), 1 << 20).unwrap();
        }
    }
}

fn flash(oob: Option<u64>) -> Flash {
    let flash = Flash::of(Bytes::kib(2), Bytes::kib(128));
    Flash { image_seq: Some(7), oob: oob.map(Bytes::new), ..flash }
}

fn options(fs: &str) -> FileOptions {
    FileOptions {
        fs: fs.into(),
        max_lebs: if ["yaffs2", "jffs2"].contains(&fs) { 0 } else { 256 },
        ..FileOptions::default()
    }
}

fn opened(bytes: &[u8]) -> Gathered {
    let image = open(&Contents::of(bytes.to_vec()), &Hints::default()).unwrap();
    gather(image, b"/", u64::MAX, &Taking::default()).unwrap()
}

#[test]
fn images_become_images_of_every_other_filesystem_with_all_that_they_hold() {
    let scratch = Scratch::new("convert");
    plant(&scratch.0, 5);
    let makers = [
        ("ubifs", None),
        ("ubifs", Some(64)),
        ("yaffs2", Some(64)),
        ("logfs", Some(64)),
        ("jffs2", None),
        ("jffs2", Some(64)),
    ];
    let first = |(fs, oob): (&str, Option<u64>)| {
        let files = Files::Folder(&scratch.0);
        of_files(files, &flash(oob), &options(fs), (Seed::new(1), ALL)).unwrap().bytes
    };
    for one in makers {
        let image = first(one);
        for other in makers {
            let mut from = opened(&image);
            let done =
                convert(&mut from, &flash(other.1), &options(other.0), Seed::new(2)).unwrap();
            // YAFFS2 has 159 bytes for the target of a link.
            let long = |path: &[u8]| {
                let node = from.tree.nodes.iter().find(|node| node.path == path);
                node.is_some_and(|node| node.target.len() > 159)
            };
            assert!(done.made.left_out.iter().all(|one| other.0 == "yaffs2" && long(&one.path)));
            let changes: Vec<_> =
                done.changes.iter().map(|one| (one.path.clone(), one.what.to_string())).collect();
            assert!(changes.is_empty(), "{one:?} to {other:?}: {changes:?}");
        }
    }
}

#[test]
fn owners_devices_and_attributes_go_through_images_and_what_does_not_is_told() {
    let make = |fs: &str, bytes: &[u8]| {
        let files = Files::Archive(spooled(bytes));
        of_files(files, &flash(Some(64)), &options(fs), (Seed::new(1), ALL)).unwrap()
    };
    let made = make("ubifs", &rich());
    assert!(made.left_out.is_empty(), "{:?}", made.left_out);
    let mut ubifs = opened(&made.bytes);
    assert_same(&read(&rich()).unwrap(), &ubifs.tree, "UBIFS");
    let again = read(&written(&mut ubifs.tree)).unwrap();
    assert_same(&ubifs.tree, &again, "archive of UBIFS");
    // YAFFS2 has no time before 1970, 8 bits for the parts of a device and 159 bytes for targets.
    let done = convert(&mut ubifs, &flash(Some(64)), &options("yaffs2"), Seed::new(1)).unwrap();
    let mut left_out: Vec<_> =
        done.made.left_out.iter().map(|one| String::from_utf8_lossy(&one.path)).collect();
    left_out.sort();
    assert_eq!(left_out, ["/dev/disk", "/link", "/linked"]);
    let mut changed: Vec<_> =
        done.changes.iter().map(|one| (one.path.as_slice(), one.what.class())).collect();
    changed.sort();
    assert_eq!(changed, [(&b"/"[..], "time")]);
}

#[test]
fn every_kind_of_difference_is_found() {
    let of = |change: &dyn Fn(&mut Tar)| {
        let mut tar = Tar::default();
        tar.add(entry(b"./", '5'));
        tar.add(entry(b"same", '0').data(&[1; 9_000]));
        change(&mut tar);
        read(&tar.end()).unwrap()
    };
    let file = || entry(b"f", '0').data(&[1; 9_000]).xattr("user.a", b"1");
    let before = of(&|tar| tar.add(file()));
    for (class, how, after) in [
        ("removed", "file", None),
        ("mode", "0644 → 0600", Some(file().mode(0o600))),
        ("owner", "0:0 → 1:2", Some(file().owned(1, 2))),
        ("time", "0 s → 7 s", Some(file().time(7))),
        ("time", "0 s → -1.25 s", Some(file().pax("mtime", b"-1.25"))),
        ("attribute", "user.a: another value", Some(file().xattr("user.a", b"2"))),
        ("attribute", "user.b: added", Some(file().xattr("user.b", b"2"))),
        ("content", "1 block of 4 KiB, from byte 4500 on", {
            let mut data = [1; 9_000];
            data[4_500] = 2;
            data[4_700] = 2;
            Some(file().data(&data))
        }),
        ("size", "9000 → 9001 bytes", Some(file().data(&[[1; 9_000].as_slice(), &[0]].concat()))),
        ("hard link", "a first name → another name of /a", None),
        ("kind", "file → named pipe", Some(entry(b"f", '6').xattr("user.a", b"1"))),
    ] {
        let after = of(&|tar| match &after {
            Some(one) => tar.add(one.clone()),
            None if class == "hard link" => {
                tar.add(entry(b"a", '0').data(&[1; 9_000]).xattr("user.a", b"1"));
                tar.add(entry(b"f", '1').link(b"a"));
            }
            None => {}
        });
        let found = diff(&before, &after);
        let found: Vec<_> =
            found.iter().map(|one| (one.what.class(), one.what.to_string())).collect();
        assert!(found.contains(&(class, how.to_owned())), "{class}: {found:?}");
        let is_more = found.len() > 1;
        assert_eq!(is_more, class == "hard link", "{found:?}");
        assert!(diff(&after, &after).is_empty());
    }
    let target = |target: &'static [u8]| of(&|tar| tar.add(entry(b"l", '2').link(target)));
    let found = diff(&target(b"x"), &target(b"y\x1b"));
    assert!(matches!(&found[..], [one] if matches!(one.what, What::Target(..))));
    assert_eq!(found[0].what.to_string(), "x → y\\u{1b}");
}

#[test]
fn blocks_that_differ_are_counted_and_what_only_one_has_differs() {
    let before = Contents::of(vec![0; 400_000]);
    let mut bytes = vec![0; 400_100];
    for at in [5, 131_071, 131_072, 399_999] {
        bytes[at] = 1;
    }
    let found = blocks(&before, &Contents::of(bytes), Bytes::kib(128)).unwrap();
    let found: Vec<_> = found.iter().map(|run| (run.first, run.count, run.bytes)).collect();
    assert_eq!(found, [(0, 2, 3), (3, 1, 101)]);
    assert!(blocks(&before, &before.clone(), Bytes::kib(128)).unwrap().is_empty());
}

#[test]
fn a_damaged_image_becomes_an_archive_of_what_there_is() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/board.jffs2");
    let mut bytes = fs::read(Path::new(path)).unwrap();
    let whole = opened(&bytes);
    assert!(whole.is_whole());
    // The data of a node, whose checksum is then wrong.
    let motd = bytes.windows(8).position(|window| window == b"Welcome ");
    let at = motd.unwrap_or(4_300);
    bytes[at] ^= 0x10;
    let hurt = opened(&bytes);
    assert!(!hurt.is_whole());
    assert!(!hurt.tree.left_out.is_empty() || hurt.damage.may_miss_names());
    let mut again = hurt.tree;
    let archived = again.archive(&mut Vec::new(), u64::MAX).unwrap();
    assert!(archived.files > 0 && archived.directories > 0);
}
