//! Images that are made to lead a program astray: out of the folder, onto the terminal, into endless work.
//!
//! Each is listed, extracted into a folder, and written as an archive. Nothing may appear outside, nothing may have rights that
//! the user did not give, and no control character may reach a terminal.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod forged_jffs2;
mod scratch;

use boardlab_image::files::{LeftOut, Taking};
use boardlab_image::fs::ALL;
use boardlab_image::gather::{Gathered, gather};
use boardlab_image::make::{FileOptions, Files, Flash, of_files};
use boardlab_image::tables::{self, ImageReport};
use boardlab_image::{Contents, Damage, Hints, Limits, extract, open};
use boardlab_result::Value;
use boardlab_sim::{Bytes, Seed};
use boardlab_vfs::FileSystem;
use forged_jffs2::{DIRECTORY, FILE, Node, dirent, image, inode};
use scratch::Scratch;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};

const LINK: (u32, u8) = (0o120_777, 10);

/// What is to be tried.
struct Case {
    name: String,
    nodes: Vec<Node>,
}

fn case(name: impl Into<String>, nodes: impl IntoIterator<Item = Vec<Node>>) -> Case {
    Case { name: name.into(), nodes: nodes.into_iter().flatten().collect() }
}

fn file(parent: u32, ino: u32, name: &[u8]) -> Vec<Node> {
    vec![inode((ino, 1), FILE.0, (0, 4), b"text"), dirent(parent, ino, FILE.1, name)]
}

fn folder(parent: u32, ino: u32, name: &[u8]) -> Vec<Node> {
    vec![inode((ino, 1), DIRECTORY.0, (0, 0), b""), dirent(parent, ino, DIRECTORY.1, name)]
}

fn link(parent: u32, ino: u32, name: &[u8], target: &[u8]) -> Vec<Node> {
    let length = u32::try_from(target.len()).unwrap();
    vec![inode((ino, 1), LINK.0, (0, length), target), dirent(parent, ino, LINK.1, name)]
}

/// A node of any mode and type of entry.
fn special(ino: u32, name: &[u8], (mode, kind): (u32, u8), data: &[u8]) -> Vec<Node> {
    let length = u32::try_from(data.len()).unwrap();
    vec![inode((ino, 1), mode, (0, length), data), dirent(1, ino, kind, name)]
}

/// Names that lead elsewhere, mean something to a shell, or something to a terminal.
fn names() -> Vec<Case> {
    let long = [b'n'; 255];
    let names: [&[u8]; 32] = [
        b"..",
        b".",
        b"",
        b"/",
        b"a/b",
        b"../victim",
        b"../../victim",
        b"/etc/passwd",
        b"a/../../victim",
        b"./x",
        b"x\0y",
        b"new\nline",
        b"return\rback",
        b"tab\there",
        b"\x1b[2Jclear",
        b"\x1b]0;title\x07",
        b"bell\x07",
        b"back\x08\x08space",
        b"delete\x7f",
        b"\xc2\x9b31mred",
        "\u{202e}gpj.exe".as_bytes(),
        "zero\u{200b}width".as_bytes(),
        b"\xff\xfe",
        b"\xc0\xaf..\xc0\xaf",
        b"space ",
        b"back\\slash",
        b"-rf",
        b"~",
        b"$(touch victim)",
        b"`touch victim`",
        b".boardlab-extract-unfinished",
        &long,
    ];
    let of = |name: &&[u8]| {
        let label = format!("name {}", name.escape_ascii());
        case(label, [file(1, 2, name), folder(1, 3, b"good"), file(3, 4, name)])
    };
    let as_folders: [&[u8]; 4] = [b"..", b"../out", b"/tmp", b"a/b"];
    let below = |name: &&[u8]| {
        let label = format!("folder {}", name.escape_ascii());
        case(
            label,
            [folder(1, 2, name), file(2, 3, b"victim"), folder(2, 4, b"d"), file(4, 5, b"x")],
        )
    };
    names.iter().map(of).chain(as_folders.iter().map(below)).collect()
}

/// Links, and what is to be written through them.
fn links() -> Vec<Case> {
    let long = vec![b'l'; 4_095];
    let targets: [&[u8]; 8] =
        [b"..", b"/", b"../victim", b"/etc/passwd", b"", b"\x1b[2J\n", &long, b"."];
    let of = |target: &&[u8]| {
        let label = format!("link to {}", target[..target.len().min(20)].escape_ascii());
        case(label, [link(1, 2, b"l", target), file(2, 3, b"victim"), file(1, 4, b"good")])
    };
    let mut cases: Vec<_> = targets.iter().map(of).collect();
    cases.extend([
        case(
            "a link and a folder of one name",
            [link(1, 2, b"a", b".."), folder(1, 3, b"a"), file(3, 4, b"victim")],
        ),
        case(
            "a folder and a link of one name",
            [folder(1, 2, b"a"), file(2, 3, b"victim"), link(1, 4, b"a", b"..")],
        ),
        case("a link and a file of one name", [link(1, 2, b"a", b"../victim"), file(1, 3, b"a")]),
        case(
            "a hard link to a link",
            [
                link(1, 2, b"a", b"../victim"),
                vec![dirent(1, 2, LINK.1, b"b"), dirent(1, 2, FILE.1, b"c")],
            ],
        ),
        case("a link to itself", [link(1, 2, b"a", b"a")]),
        case("two links to each other", [link(1, 2, b"a", b"b"), link(1, 3, b"b", b"a")]),
        case(
            "a hard link to a folder",
            [
                folder(1, 2, b"a"),
                file(2, 3, b"x"),
                vec![dirent(1, 2, FILE.1, b"b"), dirent(2, 2, DIRECTORY.1, b"self")],
            ],
        ),
    ]);
    cases
}

/// Files that are more than files, and entries that lie.
fn kinds() -> Vec<Case> {
    let mut cases: Vec<Case> = [
        ("a character device", (0o020_666, 2), &[1, 3][..]),
        ("a block device", (0o060_666, 6), &[8, 0]),
        ("a device of large numbers", (0o020_666, 2), &[255, 255, 255, 255]),
        ("a device without a number", (0o020_666, 2), &[]),
        ("a pipe", (0o010_666, 1), &[]),
        ("a socket", (0o140_777, 12), &[]),
        ("set-user-ID", (0o104_755, 8), b"text"),
        ("set-group-ID", (0o102_755, 8), b"text"),
        ("all bits", (0o107_777, 8), b"text"),
        ("no bits", (0o100_000, 8), b"text"),
        ("no kind", (0o000_644, 8), b"text"),
        ("an unknown kind", (0o170_644, 8), b"text"),
        ("an entry of an unknown type", (0o100_644, 99), b"text"),
        ("a file that calls itself a folder", (0o100_644, 4), b"text"),
        ("a folder that calls itself a file", (0o040_755, 8), b""),
        ("a link that calls itself a file", (0o120_777, 8), b"../victim"),
        ("a file that calls itself a link", (0o100_644, 10), b"../victim"),
    ]
    .into_iter()
    .map(|(name, kind, data)| case(name, [special(2, b"a", kind, data), file(2, 3, b"victim")]))
    .collect();
    cases.extend([
        case("a folder in itself", [folder(1, 2, b"a"), vec![dirent(2, 2, DIRECTORY.1, b"a")]]),
        case(
            "folders in each other",
            [folder(1, 2, b"a"), folder(2, 3, b"b"), vec![dirent(3, 2, DIRECTORY.1, b"c")]],
        ),
        case("the root in a folder", [folder(1, 2, b"a"), vec![dirent(2, 1, DIRECTORY.1, b"r")]]),
        case(
            "a folder with two names",
            [folder(1, 2, b"a"), vec![dirent(1, 2, DIRECTORY.1, b"b")], file(2, 3, b"x")],
        ),
        case("an entry without an inode", [vec![dirent(1, 9, FILE.1, b"none")]]),
        case(
            "a size of four gigabytes",
            [vec![
                inode((2, 1), FILE.0, (u32::MAX - 8, 4), b"last"),
                dirent(1, 2, FILE.1, b"large"),
            ]],
        ),
    ]);
    cases
}

/// Whether a text can do nothing to a terminal.
fn is_harmless(text: &str) -> bool {
    text.chars().all(|one| !one.is_control() && !"\u{202e}\u{200b}".contains(one))
}

fn assert_harmless(told: &ImageReport, name: &str) {
    let run = &told.run;
    let texts = run.tables.iter().flat_map(|table| &table.rows).flat_map(|row| {
        let cells = row.cells.values().filter_map(|cell| match &cell.value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        });
        cells.chain([row.id.clone()])
    });
    for text in texts.chain(run.warnings.iter().cloned()) {
        assert!(is_harmless(&text), "{name}: {text:?}");
    }
}

/// All that is below a folder, without following links.
fn found(folder: &Path) -> BTreeSet<Vec<u8>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let kind = metadata.file_type();
        let is_special = kind.is_char_device() || kind.is_block_device() || kind.is_fifo();
        assert!(!is_special && !kind.is_socket(), "{}", path.display());
        assert!(kind.is_symlink() || metadata.mode() & 0o7000 == 0, "{}", path.display());
        names.insert(path.as_os_str().as_bytes().to_vec());
        if kind.is_dir() {
            names.extend(found(&path));
        }
    }
    names
}

/// Tries an image, and returns how many names the archive has.
fn try_image(name: &str, bytes: &[u8], scratch: &Scratch) -> u64 {
    let around = scratch.0.join("around");
    fs::create_dir(&around).unwrap();
    scratch.write("around/victim", "whole");
    let opened = || open(&Contents::of(bytes.to_vec()), &Hints::default()).unwrap();
    let mut image = opened();
    let damage = Damage::of(&mut image).unwrap();
    let (fs_of_it, clock) = (&mut image.fs, &mut image.clock);
    let limits = Limits { content: Bytes::mib(64), ..Limits::default() };
    let listed = tables::listing("x", fs_of_it, clock, b"/", &damage, limits).unwrap();
    assert_harmless(&listed, name);
    let target = around.join("out");
    let done = extract(fs_of_it, clock, b"/", &target, damage, limits).unwrap();
    assert_harmless(&tables::extracted("x", "out", &done), name);
    let inside = found(&target);
    assert!(!inside.iter().any(|path| path.ends_with(b"-unfinished")) || name.contains("boardlab"));
    assert_untouched(name, &around);
    let mut from: Gathered = gather(opened(), b"/", limits.names, &Taking::default()).unwrap();
    let mut archive = Vec::new();
    let archived = from.tree.archive(&mut archive, limits.content.get()).unwrap();
    assert_harmless(&tables::archived("x", "out", &from, &archived), name);
    extract_archive(name, &archive, &around);
    assert_untouched(name, &around);
    let names = archived.files + archived.directories;
    // What is not in it is told.
    let told: Vec<&LeftOut> = from.tree.left_out.iter().collect();
    assert!(names > 0 || !told.is_empty(), "{name}");
    fs::remove_dir_all(&around).unwrap();
    names
}

/// Outside of the folder is what was there.
fn assert_untouched(name: &str, around: &Path) {
    let outside = fs::read_dir(around).unwrap().map(|one| one.unwrap().file_name());
    let outside: BTreeSet<_> = outside.collect();
    assert_eq!(outside, ["out", "victim"].map(Into::into).into(), "{name}");
    assert_eq!(fs::read(around.join("victim")).unwrap(), b"whole", "{name}");
}

/// Has GNU tar extract an archive, which tells of each path that would lead out of the folder.
fn extract_archive(name: &str, archive: &[u8], around: &Path) {
    let target = around.join("out").join("tarred");
    fs::create_dir(&target).unwrap();
    let mut tar = Command::new("tar")
        .args(["--extract", "--file=-", "--no-same-owner", "--directory"])
        .arg(&target)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    tar.stdin.take().unwrap().write_all(archive).unwrap();
    let done = tar.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!told.contains("emoving leading") && !told.contains("'..'"), "{name}: {told}");
    // Without root it makes no devices.
    assert!(done.status.success() || told.contains("mknod"), "{name}: {told}");
}

#[test]
fn no_image_leads_out_of_its_folder_or_onto_the_terminal() {
    let cases: Vec<Case> = names().into_iter().chain(links()).chain(kinds()).collect();
    assert!(cases.len() >= 70, "{} cases", cases.len());
    let (scratch, mut names) = (Scratch::new("escapes"), BTreeSet::new());
    for Case { name, nodes } in cases {
        assert!(names.insert(name.clone()), "{name} twice");
        try_image(&name, &image(nodes), &scratch);
    }
}

const FLASH: Flash = Flash {
    image_seq: Some(7),
    oob: Some(Bytes::new(64)),
    ..Flash::of(Bytes::kib(2), Bytes::kib(128))
};

fn options(fs: &str) -> FileOptions {
    FileOptions {
        fs: fs.into(),
        max_lebs: if fs == "yaffs2" { 0 } else { 256 },
        ..FileOptions::default()
    }
}

#[test]
fn sizes_of_a_terabyte_take_no_time_and_no_space() {
    let (scratch, source) = (Scratch::new("sizes"), Scratch::new("size"));
    let large = fs::File::create(source.0.join("large")).unwrap();
    for (fs, size) in [("ubifs", 1_u64 << 40), ("logfs", 1 << 38), ("yaffs2", 1 << 31)] {
        large.set_len(size).unwrap();
        let files = Files::Folder(&source.0);
        let made = of_files(files, &FLASH, &options(fs), (Seed::new(1), ALL)).unwrap();
        assert!(made.left_out.is_empty(), "{fs}: {:?}", made.left_out);
        let begun = std::time::Instant::now();
        assert!(try_image(fs, &made.bytes, &scratch) >= 2, "{fs}");
        assert!(
            begun.elapsed() < std::time::Duration::from_secs(20),
            "{fs}: {:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn the_next_data_are_where_pages_have_them() {
    let source = Scratch::new("next");
    let large = fs::File::create(source.0.join("sparse")).unwrap();
    large.set_len(40_000 * 4_096 + 5).unwrap();
    let places = [0, 1, 2, 16, 17, 511, 512, 4_095, 4_096, 20_000, 39_999, 40_000];
    for page in places {
        std::os::unix::fs::FileExt::write_all_at(&large, b"x", page * 4_096 + 3).unwrap();
    }
    for fs in ["ubifs", "logfs", "yaffs2"] {
        let files = Files::Folder(&source.0);
        let made = of_files(files, &FLASH, &options(fs), (Seed::new(1), ALL)).unwrap();
        let mut image = open(&Contents::of(made.bytes), &Hints::default()).unwrap();
        let (fs_of_it, clock) = (&mut image.fs, &mut image.clock);
        let root = fs_of_it.root();
        let ino = fs_of_it.lookup(clock, root, b"sparse").unwrap();
        let (mut page, mut found) = (0, Vec::new());
        while let Some(next) = fs_of_it.next_data(clock, ino, page).unwrap() {
            assert!(next >= page, "{fs}: {next} after {page}");
            found.push(next);
            page = next + 1;
        }
        assert_eq!(found, places, "{fs}");
        assert_eq!(fs_of_it.next_data(clock, ino, 1 << 50).unwrap(), None, "{fs}");
    }
}
